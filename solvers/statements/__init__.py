"""A release as statements about one unknown dataset, laws of noise, and questions about it, as data."""

__all__ = [
    "bags",
    "boxes",
    "gradients",
    "meetings",
    "noise",
    "observations",
    "questions",
    "regions",
    "release",
    "row_problem",
]
