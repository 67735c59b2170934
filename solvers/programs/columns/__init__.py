"""Bounds where the cells are too many: a linear program whose columns pricing brings in."""

__all__ = ["master", "pricing"]
