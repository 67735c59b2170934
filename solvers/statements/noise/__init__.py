"""Noise laws of released counts: log-likelihoods, and tails proved in rationals."""

__all__ = ["laws", "sampling"]
