"""Findings: what they say, what follows from them, how grave they are."""

__all__ = ["findings", "rules"]
