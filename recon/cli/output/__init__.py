"""What commands print besides single objects."""

__all__ = ["adversary", "printing", "streaming", "under_rule"]
