"""The trusted kernel: claims, cells walked anew, the checker of proofs, unit propagation. Nothing here searches.

>>> from solvers.kernel.rup import check
>>> check([[1, 2], [-1, 2], [1, -2], [-1, -2]], ["1 0", "0"])
"""

__all__ = [
    "alignment",
    "cells",
    "checker",
    "claims",
    "leaf_values",
    "located",
    "proof_format",
    "removals",
    "subset_counts",
]
