"""Objects of stored files that were never built: names, arrays, numbers."""

__all__ = ["arrays", "node_tables", "pandas_tables", "raw"]
