"""Boosted trees: the first tree exactly, later ones as far as it is proved."""
