"""Files and fitted models in, one encoded release out."""

__all__ = ["asking", "attaching", "known_positions", "loading", "settled"]
