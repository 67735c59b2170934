"""Rigorous bounds on the number of worlds where statements are too coupled to count."""

__all__ = ["bracket"]
