"""The commands that stand in groups of their own."""

__all__ = ["difference", "inspecting", "labels", "magnitudes", "noise", "positions", "proof", "variability"]
