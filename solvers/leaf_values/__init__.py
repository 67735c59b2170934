"""Boosted models: how many rows each cell and label have, tree by tree, from sums of gradients that leaves publish."""
