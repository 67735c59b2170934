"""Greedy learners: in how many data sets their rule chooses what it chose, column by column, with rigorous bounds."""

__all__ = ["gains", "marginals", "rule_lists", "sampling", "states", "tree_counts"]
