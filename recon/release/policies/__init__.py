"""Policies for releases: thresholds with their sources, read from TOML, and what figures say against them."""

__all__ = ["assessing", "checks", "facts", "magnitudes", "policy", "rules"]
