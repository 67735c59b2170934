"""How many rows of each multiplicity a value has: bounds from its weight and its number of different rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.positions.assignments.propagation.tables import EXACT, MOST_SUMS, ProblemTables


def tightened(tables: ProblemTables, values: Ints, q: Ints, p: Ints) -> tuple[Ints, Ints, Bits]:
    """Return bounds on n_m for some values of a tree, and for which there is no solution.

    `q`, `p` (values, multiplicities from 1): the rows that surely and possibly lie in a value. With w, low and high of
    the value: Σ n_m in [low, high] and Σ (m - c) n_m in [w - c high, w - c low] for every c from 0 to the greatest
    multiplicity (`MOST_SUMS` at most), to the fixpoint; for w <= `EXACT` from all solutions.
    """
    low, high = q.copy(), p.copy()
    none = np.zeros(len(values), dtype=bool)
    weight = tables.weight[values]
    for w in np.unique(weight[weight <= EXACT]).tolist():
        some = np.flatnonzero(weight == w)
        low[some], high[some], none[some] = by_all_ways(tables, w, values[some], q[some], p[some])
    some = np.flatnonzero(weight > EXACT)
    if len(some):
        low[some], high[some], none[some] = by_sums(
            weight[some], tables.low[values[some]], tables.high[values[some]], q[some], p[some]
        )
    return low, high, none


def by_all_ways(tables: ProblemTables, w: int, values: Ints, q: Ints, p: Ints) -> tuple[Ints, Ints, Bits]:
    """Return the least and greatest n_m over all ways to make the weight `w` that the bounds admit."""
    ways: NDArray[np.int32] = tables.ways[int(tables.way[w]) : int(tables.way[w + 1])]
    width = min(q.shape[1], ways.shape[1])  # of greater multiplicities no row fits
    ways = ways[(ways[:, width:] == 0).all(axis=1), :width]
    size = ways.sum(axis=1)
    fits = (size >= tables.low[values][:, None]) & (size <= tables.high[values][:, None])
    fits &= (q[:, width:] == 0).all(axis=1)[:, None]
    for m in range(width):
        fits &= (ways[:, m] >= q[:, m, None]) & (ways[:, m] <= p[:, m, None])
    none: Bits = np.asarray(~fits.any(axis=1))
    low, high = np.zeros_like(q), np.zeros_like(p)
    low[none], high[none] = EXACT + 1, -1
    for m in range(width):
        low[:, m] = np.where(fits, ways[:, m], EXACT + 1).min(axis=1, initial=EXACT + 1)
        high[:, m] = np.where(fits, ways[:, m], -1).max(axis=1, initial=-1)
    return low, high, none


def by_sums(w: Ints, least: Ints, greatest: Ints, q: Ints, p: Ints) -> tuple[Ints, Ints, Bits]:
    """Return bounds on n_m by the weighted sums of `tightened`, to the fixpoint."""
    most = q.shape[1]
    m = np.arange(1, most + 1)
    sums = [(m - c, w - c * greatest, w - c * least) for c in range(min(most, MOST_SUMS) + 1)]
    sums.append((np.ones(most, dtype=np.int64), least, greatest))
    low, high = q.copy(), p.copy()
    none: Bits = np.asarray((low > high).any(axis=1))
    while True:
        before = low.copy(), high.copy()
        for a, below, above in sums:
            up, down = np.flatnonzero(a > 0), np.flatnonzero(a < 0)
            smallest = np.where(a > 0, a * low, a * high)
            greatest_part = np.where(a > 0, a * high, a * low)
            room = above[:, None] - (smallest.sum(axis=1)[:, None] - smallest)
            need = below[:, None] - (greatest_part.sum(axis=1)[:, None] - greatest_part)
            none[(smallest.sum(axis=1) > above) | (greatest_part.sum(axis=1) < below)] = True
            high[:, up] = np.minimum(high[:, up], room[:, up] // a[up])
            low[:, up] = np.maximum(low[:, up], -(-need[:, up] // a[up]))
            high[:, down] = np.minimum(high[:, down], need[:, down] // a[down])
            low[:, down] = np.maximum(low[:, down], -(-room[:, down] // a[down]))
            none[(low > high).any(axis=1)] = True
        if none.any():  # without a solution bounds may cross for ever
            low[none], high[none] = q[none], p[none]
        if np.array_equal(low, before[0]) and np.array_equal(high, before[1]):
            return low, high, none
