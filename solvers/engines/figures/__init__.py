"""Figures of a release over its cells: sizes, bits, groups, and sums of rows that questions are asked about."""

__all__ = ["partition", "system"]
