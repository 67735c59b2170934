"""LightGBM's model files."""
