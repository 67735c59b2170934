"""Stored scikit-learn boosting: sizes and classes of its trees, and what leaf values say of the rows."""

__all__ = ["boosting"]
