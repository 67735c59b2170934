"""The report as one JSON document: its published schema, made from findings, read back."""

__all__ = ["schema"]
