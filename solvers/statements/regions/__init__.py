"""Exact sizes of regions: a box minus boxes, by products, diagrams, inclusion and exclusion."""

__all__ = ["captures"]
