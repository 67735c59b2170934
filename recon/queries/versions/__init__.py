"""Models of related data sets: who left between two of them, who came, and what both say of those who stayed."""

__all__ = ["difference", "population", "positions"]
