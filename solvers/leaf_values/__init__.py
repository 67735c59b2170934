"""Boosted models: how many rows each cell and label have, tree by tree, from sums of gradients that leaves publish.

The short basis of a lattice, as multiples of the rows that span it:

>>> from solvers.leaf_values.lattice import transformed
>>> transformed([["1", "2"], ["3", "4"]])
[['-2', '1'], ['3', '-1']]
"""

__all__ = ["cells", "combining", "lattice", "settling", "targets", "worlds"]
