"""What commands print besides single objects."""

__all__ = ["printing", "streaming", "under_rule"]
