"""The ledger of a file: every object and figure with one status, and what is known of attributes."""

__all__ = ["entries", "forms", "implied", "lines"]
