"""Model files (pickle, joblib, skops) read as inert data: nothing in them is imported, built or run."""

__all__ = ["binary", "objects", "pickled", "rewriting"]
