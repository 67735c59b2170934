"""The ledger of a file: every object and figure with one status, and what is known of attributes."""

__all__ = ["attributes", "entries", "forms", "implied", "lines"]
