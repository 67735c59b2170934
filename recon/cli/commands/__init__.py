"""The commands that stand in groups of their own."""

__all__ = [
    "difference",
    "inspecting",
    "labels",
    "magnitudes",
    "noise",
    "population",
    "positions",
    "proof",
    "queries",
    "variability",
]
