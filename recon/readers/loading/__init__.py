"""Files and fitted models in, one encoded release out."""

__all__ = ["adversary", "attaching", "known_positions", "loading", "settled"]
