"""Published tables of many areas: read, solved area by area, asked about, proved, told."""

__all__ = ["answering", "proofs", "reading", "tables", "variability"]
