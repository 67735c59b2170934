"""Files opened, read and written: within one budget, whole or not at all."""

__all__ = ["budget", "named_files", "opening", "tables", "writing"]
