"""Correlation inference: random correlation matrices, copulas, and attacks with and without a model."""

__all__ = ["intervals", "matrices", "model_based", "model_less", "shadow_models"]
