"""Which figures of a boosted model given numbers of rows break."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from solvers.laws.gradients.boosted import Boosted
from solvers.leaf_values.residuals import used


def broken(boosted: Boosted, leaves: NDArray[np.int64], times: NDArray[np.int64]) -> Iterator[tuple[str, float]]:
    """Yield the figures that rows break, by name, with how often half of its interval the sum is from its middle.

    `leaves` (points, trees) are the leaves of every point, `times` (points, classes) its rows. Nothing is said of
    models of a number. Cost: figures times points times classes.
    """
    if boosted.gradients.loss == "squared_error":
        return
    for tree, parts in zip(boosted.trees, used(boosted, leaves, times), strict=True):
        for i in np.flatnonzero(parts > 1).tolist():
            yield tree.names[i], float(parts[i])
