"""Objects of stored files that were never built: names, arrays, numbers."""

__all__ = ["arrays", "raw", "things"]
