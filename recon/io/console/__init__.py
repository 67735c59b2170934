"""What all commands share: exit codes, options, progress, one place that prints."""

__all__ = ["guarding", "interrupts", "learner_option", "output", "version"]
