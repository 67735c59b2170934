"""What follows for rows distinguished: rows revised, values counted, flows, values tried, until nothing changes."""

__all__ = ["engine"]
