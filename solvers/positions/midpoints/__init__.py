"""The learner's midpoints: thresholds halfway between two training values, and the values that follow from them."""

__all__ = ["alternating", "locating", "splits"]
