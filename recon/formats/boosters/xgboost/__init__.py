"""XGBoost's model files."""
