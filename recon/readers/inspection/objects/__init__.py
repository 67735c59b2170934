"""Findings in stored objects."""

__all__ = ["entries", "generic", "r_objects", "traversal"]
