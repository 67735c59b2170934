"""Model files (pickle, joblib, skops) read as inert data: nothing in them is imported, built or run."""
