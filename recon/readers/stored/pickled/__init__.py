"""Machines that read pickle, joblib and skops without running anything."""

__all__ = ["joblib_files", "pickles", "skops_files"]
