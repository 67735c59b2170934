"""Findings: what they say, what follows from them, how grave they are."""

__all__ = ["findings", "leaf_values", "rules", "severity"]
