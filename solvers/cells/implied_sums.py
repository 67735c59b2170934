"""Sums that follow from sums of their parts, such as the number of rows where that of every county is given.

They say nothing more, and tie cells that are otherwise independent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from solvers.cells.linear_system import Linear
from solvers.foundation.array_types import Ints

LARGEST, ENTRIES = 32, 10_000_000  # sums that are looked at, and entries looked at for all of them, about
VISITS = 50_000  # parts that are looked at


def groups_of(row: Ints, col: Ints, rows: int, columns: int, tied: tuple[int, ...] = ()) -> Ints:
    """Return a number per column, then per row: equal where entries tie them; the `tied` rows are tied as well."""
    nodes, kept = columns + rows, columns + np.array(tied, dtype=np.int64)
    ends = np.concatenate([col, kept[:-1]]), np.concatenate([columns + row, kept[1:]])
    graph = coo_matrix((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(nodes, nodes))
    found: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return found


def separating_sums(linear: Linear, keep: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which statements are sums of others and tie what is independent without them; never one to `keep`.

    Such a statement and its parts are equations with coefficients 1, the parts are disjoint, each smaller than it, and
    their sums add up to its own (where they do not, it stays: there is no solution). So what is left out follows from
    what stays. Not all are found: the `LARGEST` statements are compared with the first parts that fit together.
    """
    sizes = np.bincount(linear.row, minlength=len(linear))
    ones = np.bincount(linear.row, weights=linear.coef == 1, minlength=len(linear)) == sizes
    sums = ones & (linear.low == linear.high) & (sizes > 0)
    wholes = sums & (sizes > 1)
    wholes[list(keep)] = False
    order = np.flatnonzero(wholes)
    number = min(LARGEST, 1 + ENTRIES // max(1, len(linear.row)))
    order = order[np.argsort(-sizes[order], kind="stable")][:number]
    implied, visits = np.zeros(len(linear), dtype=bool), VISITS
    for whole in order.tolist():
        implied[whole], visits = added_up(linear, sums, sizes, whole, visits)
        if sizes[whole] == linear.columns and not implied[whole]:
            break  # it ties all cells, and stays
    if implied.any():
        stays = ~implied[linear.row]
        group = groups_of(linear.row[stays], linear.col[stays], len(linear), linear.columns, keep)
        for whole in np.flatnonzero(implied).tolist():
            cells = linear.col[linear.start[whole] : linear.start[whole + 1]]
            implied[whole] = len(np.unique(group[cells])) > 1
    return implied


def added_up(
    linear: Linear, sums: NDArray[np.bool_], sizes: NDArray[np.int64], whole: int, visits: int
) -> tuple[bool, int]:
    """Return whether the first disjoint parts inside a statement add up to it, and how many visits are left."""
    open_cells = np.zeros(linear.columns, dtype=bool)
    open_cells[linear.col[linear.start[whole] : linear.start[whole + 1]]] = True
    inside = np.bincount(linear.row, weights=open_cells[linear.col], minlength=len(linear)) == sizes
    parts = np.flatnonzero(inside & sums & (sizes < sizes[whole])).tolist()
    covered = total = 0
    for part in parts[:visits]:
        cells = linear.col[linear.start[part] : linear.start[part + 1]]
        if open_cells[cells].all():
            open_cells[cells] = False
            covered += int(sizes[part])
            total += int(linear.low[part])
            if covered == sizes[whole]:
                break
    same = covered == int(sizes[whole]) and total == int(linear.low[whole])
    return same, max(0, visits - len(parts))
