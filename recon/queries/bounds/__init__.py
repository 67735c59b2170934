"""Bounds on statistics of the training rows over all worlds."""

__all__ = ["bounding", "disclosure", "placed"]
