"""Machines that read pickle, joblib and skops without running anything."""
