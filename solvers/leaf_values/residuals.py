"""How much of its interval every figure of a boosted model uses for given numbers of rows: at most 1 where it holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.gradients.floating import by_tree, coefficients
from solvers.leaf_values.combining import UNIT
from solvers.statements.boosted import Boosted


def used(boosted: Boosted, leaves: NDArray[np.int64], times: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Return per tree and figure how far its sum is from the middle of its interval, over half the interval's width.

    Above 1: no sum of numbers within the coefficients' intervals is in the figure's interval. `leaves` (points, trees)
    are the leaves of every point, `times` (points, classes) its rows. Cost: figures times points times classes.
    """
    out = []
    for t, (tree, rows) in enumerate(by_tree(boosted, leaves)):
        found = coefficients(tree, rows, leaves[:, t])
        n, size = times.astype(np.float64), np.abs(found.middle)
        total = np.einsum("fpc,pc->f", found.middle, n)
        error = np.einsum("fpc,pc->f", found.radius + size * (UNIT * (n.size + 4)), n)
        middle, half = (tree.low + tree.high) / 2, (tree.high - tree.low) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.abs(total - middle) / (half + error)
        out.append(np.where(half + error > 0, part, np.where(total == middle, 0.0, np.inf)))
    return out
