"""The release file: its schema, read and written."""

__all__ = ["marked", "parts", "reading", "schema", "writing"]
