"""Findings in stored objects."""

__all__ = ["blobs", "entries", "generic", "r_objects", "traversal"]
