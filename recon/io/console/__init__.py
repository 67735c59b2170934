"""What all commands share: exit codes, options, progress, one place that prints."""
