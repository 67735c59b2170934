"""Bounds on statistics of the training rows over all worlds."""
