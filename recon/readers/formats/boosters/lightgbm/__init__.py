"""LightGBM's model files."""

__all__ = ["model"]
