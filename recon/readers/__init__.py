"""From the files that people have to one encoded release: formats read, stored objects, tables, findings."""

__all__ = ["formats", "frames", "inspection", "loading", "stored"]
