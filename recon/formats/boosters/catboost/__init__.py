"""CatBoost's model files."""
