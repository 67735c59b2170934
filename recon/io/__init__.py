"""What commands and readers share of the outside: files opened in one place, options and output of the console."""

__all__ = ["console", "files"]
