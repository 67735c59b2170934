"""Boosted models: how many rows each cell and label have, tree by tree, from sums of gradients that leaves publish."""

__all__ = ["cells", "combining", "lattice", "settling", "targets", "worlds"]
