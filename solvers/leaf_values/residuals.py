"""How much of its interval every figure of a boosted model uses for given numbers of rows: at most 1 where it holds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.laws.gradients.boosted import Boosted
from solvers.laws.gradients.floating import by_tree, entries
from solvers.leaf_values.combining import UNIT

Floats = NDArray[np.float64]


def used(boosted: Boosted, leaves: NDArray[np.int64], times: NDArray[np.int64]) -> list[Floats]:
    """Return per tree and figure how far its sum is from the middle of its interval, over half the interval's width.

    Above 1: no sum of numbers within the coefficients' intervals is in the figure's interval. `leaves` (points, trees)
    are the leaves of every point, `times` (points, classes) its rows. Cost: figures times points times classes.
    """
    return [part for part, _ in evaluated(boosted, leaves, times, times)]


def evaluated(
    boosted: Boosted, leaves: NDArray[np.int64], lower: NDArray[np.int64], upper: NDArray[np.int64]
) -> list[tuple[Floats, NDArray[np.bool_]]]:
    """Return the same for rows between `lower` and `upper`, of whose sums the nearest counts, and which are known.

    The second arrays say which figures are about numbers that are all known. Fewer columns of `leaves` than trees: the
    first trees.
    """
    wide = np.longdouble
    epsilon = float(np.finfo(wide).eps)
    out = []
    for t, (tree, rows) in enumerate(by_tree(boosted, leaves)):
        found = entries(tree, rows, leaves[:, t])
        low, high = lower[found.point].astype(wide), upper[found.point].astype(wide)
        middle = found.middle.astype(wide)
        ends = middle * low, middle * high
        figure = found.figure
        least, most = (np.zeros(len(tree), dtype=wide) for _ in range(2))
        np.add.at(least, figure, np.minimum(*ends).sum(axis=1))
        np.add.at(most, figure, np.maximum(*ends).sum(axis=1))
        spread = found.radius * upper[found.point]
        size = np.maximum(np.abs(ends[0]), np.abs(ends[1])).astype(np.float64)
        count = found.point.size * middle.shape[1] + 8
        error = np.bincount(figure, (spread * (1 + 64 * UNIT) + size * (count * epsilon)).sum(axis=1), len(tree))
        center, half = (tree.low + tree.high) / 2, (tree.high - tree.low) / 2
        beyond = np.maximum(np.maximum(least - center, center - most), 0).astype(np.float64)
        room = half + error * (1 + 2.0**-40) + np.abs(center) * 2.0**-51
        with np.errstate(divide="ignore", invalid="ignore"):
            part = beyond / room
        open_ = np.bincount(figure, (lower < upper)[found.point].sum(axis=1), len(tree)) > 0
        out.append((np.where(room > 0, part, np.where(beyond == 0, 0.0, np.inf)), ~open_))
    return out
