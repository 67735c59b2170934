"""Published tables of many areas: read, solved area by area, asked about, proved, told."""

__all__ = ["answering", "reading", "tables", "variability"]
