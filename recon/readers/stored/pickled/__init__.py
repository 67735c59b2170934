"""Machines that read pickle, joblib and skops without running anything."""

__all__ = ["pickles", "skops_files", "stored_files"]
