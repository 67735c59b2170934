"""How many whole-number solutions the open counts of one component have: states of what is left of every statement."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from solvers.tables.atoms import Ints, Rows
from solvers.tables.distances import OpenCounts

MAX_STATES = 200_000
MAX_NESTED = 3_000  # statements of a component that are compared with each other


def differences(rows: Rows, low: Ints, high: Ints) -> Rows | None:
    """Return what statements with open counts leave outside of the largest other one that lies in them; None: nothing.

    "Everybody" minus "women" is "men", who may have been published nowhere.
    """
    found = components(rows, low, high)
    starts, columns, values = [0], list[int](), list[int]()
    for matrix, left, at in found:
        if matrix.shape[0] > MAX_NESTED:
            continue
        sizes = np.diff(matrix.indptr)
        meets = (matrix @ matrix.T).tocoo()
        inside = (meets.data == sizes[meets.row]) & (sizes[meets.row] < sizes[meets.col])
        inner, outer = meets.row[inside], meets.col[inside]
        order = np.lexsort((-sizes[inner], outer))
        outer, first = np.unique(outer[order], return_index=True)
        for i, j in zip(inner[order][first].tolist(), outer.tolist(), strict=True):
            mine, others = (matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]] for r in (i, j))
            columns += at[np.setdiff1d(others, mine)].tolist()
            values.append(int(left[j] - left[i]))
            starts.append(len(columns))
    if not values:
        return None
    return Rows(np.array(starts, np.int64), np.array(columns, np.int64), np.array(values, np.int64))


def components(rows: Rows, low: Ints, high: Ints) -> list[tuple[sp.csr_matrix, Ints, Ints]]:
    """Return the components of the open counts: a matrix (statements, counts), what is left of each, the counts."""
    s, out = OpenCounts.of(rows, low, high), []
    for k in range(int(s.part.max(initial=-1)) + 1):
        columns, mine = np.flatnonzero(s.part == k), s.row_part == k
        matrix = s.matrix[mine][:, columns].tocsr()
        out.append((matrix, s.left[mine] + matrix @ low[s.at[columns]], s.at[columns]))
    return out


def listed_solutions(matrix: sp.csr_matrix, left: Ints, low: Ints, high: Ints, most: int) -> Ints | None:
    """Return (solutions, counts): every whole vector between `low` and `high` with `matrix x = left`.

    None where more than `most` are begun on the way.
    """
    left = left - matrix @ low
    columns = matrix.tocsc()
    order = _order(matrix)
    state, found = left[None, :].astype(np.int64), np.repeat(low[None, :], 1, axis=0)
    last = _last(columns, order)
    for t, j in enumerate(order):
        mine = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        room = np.minimum(state[:, mine].min(axis=1), high[j] - low[j]) if len(mine) else np.zeros(len(state), np.int64)
        owner = np.repeat(np.arange(len(state)), room + 1)
        if len(owner) > most:
            return None
        z = np.arange(len(owner)) - np.repeat(np.cumsum(room + 1) - room - 1, room + 1)
        state, found = state[owner], found[owner]
        state[:, mine] -= z[:, None]
        found[:, j] += z
        fits = (state[:, np.flatnonzero(last == t)] == 0).all(axis=1)
        state, found = state[fits], found[fits]
    return found


def _last(columns: sp.csc_matrix, order: list[int]) -> Ints:
    last = np.full(columns.shape[0], -1)
    for t, j in enumerate(order):
        last[columns.indices[columns.indptr[j] : columns.indptr[j + 1]]] = t
    return last


def number(matrix: sp.csr_matrix, left: Ints, low: Ints, high: Ints, states: int = MAX_STATES) -> int | None:
    """Return how many whole vectors between `low` and `high` have `matrix x = left`; None above so many states.

    Counts are taken in an order that closes statements soon; equal remainders are one state.
    """
    left = left - matrix @ low
    columns = matrix.tocsc()
    order = _order(matrix)
    last = _last(columns, order)
    state: NDArray[np.int64] = left[None, :].astype(np.int64)
    ways = np.ones(1, object)
    for t, j in enumerate(order):
        mine = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        new, many = [state], [ways]
        for z in range(1, int(high[j] - low[j]) + 1):
            at = np.flatnonzero((state[:, mine] >= z).all(axis=1))
            if not len(at):
                break
            taken = state[at].copy()
            taken[:, mine] -= z
            new.append(taken)
            many.append(ways[at])
        state, ways = np.concatenate(new), np.concatenate(many)
        done = np.flatnonzero(last == t)
        fits = (state[:, done] == 0).all(axis=1)
        state, ways = state[fits], ways[fits]
        state, inverse = np.unique(state, axis=0, return_inverse=True)
        if len(state) > states:
            return None
        total = np.zeros(len(state), object)
        np.add.at(total, inverse.ravel(), ways)
        ways = total
    return int(ways.sum()) if len(ways) else 0


def _order(matrix: sp.csr_matrix) -> list[int]:
    """Return the columns so that few statements are open at a time: the next one opens fewest, closes most."""
    rows, columns = matrix.tocsr(), matrix.tocsc()
    left = np.diff(rows.indptr).copy()
    begun = np.zeros(matrix.shape[0], bool)
    out, rest = list[int](), set(range(matrix.shape[1]))
    while rest:

        def cost(j: int) -> tuple[int, int]:
            mine = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
            return int((~begun[mine]).sum()) - int((left[mine] == 1).sum()), j

        near = {
            int(j)
            for r in np.flatnonzero(begun & (left > 0))
            for j in rows.indices[rows.indptr[r] : rows.indptr[r + 1]]
        }
        j = min((near & rest) or rest, key=cost)
        mine = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        begun[mine] = True
        left[mine] -= 1
        rest.remove(j)
        out.append(j)
    return out
