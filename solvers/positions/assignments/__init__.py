"""Rows distinguished, and the leaves of every tree that each can lie in: propagation, labels, one world."""

__all__ = ["domains", "propagation", "world"]
