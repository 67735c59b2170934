"""Proofs by leaf values of boosted models: cells cut tree by tree, figures with exact coefficients, sums re-checked."""

__all__ = ["blocks", "coefficients", "cutting", "replay"]
