"""Gradients of boosting as libraries compute them: intervals around every coefficient of a leaf's sums."""

__all__ = ["boosted", "enclosed", "linear_sums"]
