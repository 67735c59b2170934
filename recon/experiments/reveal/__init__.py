"""What membership attacks guess of black boxes and of their explainers: REVEAL's tables, and what they leave out."""

__all__ = []
