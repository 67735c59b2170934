"""The release file: its schema, read and written."""

__all__ = ["parts", "reading", "schema", "writing"]
