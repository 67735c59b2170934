"""Findings in stored objects."""
