"""Trees with as few training errors as possible, proved, and the spread over all trees that are as good."""

__all__ = ["optimal_tree", "table", "tied_trees"]
