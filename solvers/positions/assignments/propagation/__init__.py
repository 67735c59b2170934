"""What follows for rows told apart: rows revised, values counted, flows, values tried, until nothing changes."""

__all__ = ["engine", "fixpoint", "tables"]
