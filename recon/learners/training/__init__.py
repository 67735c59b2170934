"""From a table of training rows to a release file."""
