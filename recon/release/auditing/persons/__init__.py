"""Persons: verdicts on given profiles, and which training rows are most exposed."""

__all__ = ["exposed_rows", "people", "row_groups", "wording"]
