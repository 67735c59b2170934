"""Persons: verdicts on given profiles, and which training rows are most exposed."""
