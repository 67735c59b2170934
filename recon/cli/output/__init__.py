"""What commands print besides single objects."""

__all__ = ["of_tables", "printing", "streaming", "under_rule"]
