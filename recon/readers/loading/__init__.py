"""Files and fitted models in, one encoded release out."""

__all__ = ["attaching", "known_positions", "loading", "settled"]
