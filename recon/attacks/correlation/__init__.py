"""Correlation inference: random correlation matrices, copulas, and attacks with and without a model."""
