"""Files opened, read and written: within one budget, whole or not at all."""

__all__ = ["archives", "named_files", "opening", "sheets", "tables", "writing"]
