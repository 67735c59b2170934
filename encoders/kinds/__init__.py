"""One encoder per kind of model."""

__all__ = ["known_rows", "noisy_counts", "open_leaves", "question", "split_midpoints", "table", "tree"]
