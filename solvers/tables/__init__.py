"""Published counts of a hierarchy of areas: each top area by itself, over the coarsest cells that lose nothing."""

__all__ = ["atoms", "replay", "solving", "two_way", "widths"]
