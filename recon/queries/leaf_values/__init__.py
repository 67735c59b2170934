"""What the leaf values of boosted models give back, in figures and words, and what publishing them otherwise leaves."""

__all__ = ["determined", "remedies"]
