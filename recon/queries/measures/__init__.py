"""How much uncertainty a release leaves, over one partition or a coupled system."""

__all__ = ["attribute_bits", "figures", "measures", "sweeping"]
