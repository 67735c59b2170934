"""Greedy learners: in how many data sets their rule chooses what it chose, column by column, with rigorous bounds.

The shares of columns with 0, 1 or 2 ones among the two rows of the first class, and 0 or 1 in the row of the second:

>>> from solvers.greedy.states import free_leaf
>>> free_leaf((2, 1), cut=0.0).mass.tolist()
[[0.25, 0.25], [0.5, 0.5], [0.25, 0.25]]
"""

__all__ = ["gains", "marginals", "rule_lists", "sampling", "states", "tree_counts"]
