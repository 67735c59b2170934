"""LightGBM's model files."""

__all__ = ["file", "model"]
