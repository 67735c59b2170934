"""Exact answers as users read them, and what is known where no engine answered."""

__all__ = ["compared", "counting", "exact"]
