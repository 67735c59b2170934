"""Exact counting over histograms: a multivalued decision diagram per component, and what it answers.

Two statements over three cells; at most one of them is open between two cells in this order:

>>> import numpy as np
>>> from solvers.histograms.decision_diagram import elimination_order, width
>>> statements = np.array([[1, 1, 0], [0, 1, 1]])
>>> width(statements, elimination_order(statements))
1
"""

__all__ = ["answering", "branches", "decision_diagram", "partition_membership", "short_vectors", "system_membership"]
