"""How far two data sets of an area can lie apart: at least by a pair of them, at most by whole multipliers.

With x and y two solutions and s their sum, a count adds |x - y| <= min(s, 2 U - s) to their distance (U: its greatest
value above its least). So the linear program over s alone bounds the distance, exactly what the one over x, y and
their overlap does. Any multipliers are a bound, evaluated in whole numbers: `bound_of`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from solvers.tables.atoms import Ints, LiveCounts, Rows
from solvers.tables.counting import components
from solvers.tables.solving import SolvedArea

SCALE = 12  # multipliers are whole twelfths
SECONDS = 5.0  # of a search for two data sets
WORK = 0.5  # of CP-SAT, in its own unit
MAX_SEARCHED = 600  # counts


@dataclass(frozen=True, eq=False)
class Width:
    """The greatest distance (L1) of two data sets: `low` by the pair `x`, `y`, `high` by `multipliers` / SCALE."""

    low: int
    high: int
    x: Ints
    y: Ints
    multipliers: Ints
    by_multipliers: bool = True


def _bound_of(matrix: sp.csr_matrix, left: Ints, room: Ints, inside: NDArray[np.bool_], multipliers: Ints) -> int:
    """Return a bound on the distance inside of the chosen counts, by multipliers of the statements in twelfths.

    For every solution pair, 2 m·left + Σ max over s in [0, 2 U] of (min(s, 2 U - s) if inside, minus (mᵀA) s). Whole
    numbers throughout, rounded down at the end.
    """
    weight = matrix.T @ multipliers
    gain = np.where(inside, SCALE - weight, -weight)
    bend = np.where(inside, 2 * SCALE, 0)
    slack = room * (np.maximum(gain, 0) + np.maximum(gain - bend, 0))
    return int((2 * int(multipliers @ left) + int(slack.sum())) // SCALE)


def _width(matrix: sp.csr_matrix, left: Ints, room: Ints, inside: NDArray[np.bool_], even: bool) -> Width:
    """Return bounds on the greatest distance, inside of the chosen counts, of two x with `matrix x = left`, 0..`room`.

    `even`: both have the same sum inside, so that distances are even. The pair is checked in whole numbers.
    """
    n = matrix.shape[1]
    at = np.flatnonzero(inside)
    k = len(at)
    pick = sp.csr_matrix((np.ones(k), (np.arange(k), at)), shape=(k, n))
    eye = sp.identity(k, format="csr")
    upper = sp.vstack([sp.hstack([-pick, eye]), sp.hstack([pick, eye])], format="csr")
    ends = np.concatenate([np.zeros(k), 2 * room[at]])
    equal = sp.hstack([matrix, sp.csr_matrix((matrix.shape[0], k))], format="csr")
    program: Any = linprog
    found = program(
        np.concatenate([np.zeros(n), -np.ones(k)]), A_ub=upper, b_ub=ends, A_eq=equal, b_eq=2 * left,
        bounds=np.stack([np.zeros(n + k), np.concatenate([2 * room, room[at]])], axis=1), method="highs",
    )  # fmt: skip
    high, multipliers = int(2 * room[at].sum()), np.zeros(matrix.shape[0], np.int64)
    if found.status == 0:
        multipliers = np.rint(-SCALE * np.asarray(found.eqlin.marginals)).astype(np.int64)
    high = min(int(room[at].sum()), _bound_of(matrix, left, room, inside, multipliers))
    high -= high % 2 if even else 0
    x, y = _pair(matrix, left, room, at)
    low = int(np.abs(x - y)[at].sum()) if len(x) else 0
    if low < high and n <= MAX_SEARCHED:
        high = min(high, _searched(matrix, left, room, at, high))
        return Width(low, high, x, y, multipliers, False)
    return Width(low, high, x, y, multipliers)


def _searched(matrix: sp.csr_matrix, left: Ints, room: Ints, at: Ints, high: int) -> int:
    """Return CP-SAT's upper bound on the distance of two solutions, within so much work; the solver is believed."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    copies = [[model.new_int_var(0, int(u), "") for u in room] for _ in range(2)]
    for r in range(matrix.shape[0]):
        mine = matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]].tolist()
        for copy in copies:
            model.add(sum(copy[j] for j in mine) == int(left[r]))
    apart = []
    for j in at.tolist():
        both, x, y = model.new_int_var(0, int(room[j]), ""), copies[0][j], copies[1][j]
        model.add(both >= x + y - int(room[j]))
        if room[j] > 1:
            model.add_min_equality(both, [x, y])
        apart.append(x + y - 2 * both)
    model.add(sum(apart) <= high)
    model.maximize(sum(apart))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = WORK
    status = solver.solve(model)
    return high if status == cp_model.UNKNOWN else int(np.floor(solver.best_objective_bound + 1e-6))


def _pair(matrix: sp.csr_matrix, left: Ints, room: Ints, at: Ints) -> tuple[Ints, Ints]:
    """Return two solutions far apart, checked in whole numbers; two empty arrays where none were found."""
    n, k = matrix.shape[1], len(at)
    many = np.flatnonzero(room[at] > 1)
    z = len(many)
    nothing = sp.csr_matrix((matrix.shape[0], n))
    wide = sp.csr_matrix((matrix.shape[0], k + z))
    pick = sp.csr_matrix((np.ones(k), (np.arange(k), at)), shape=(k, n))
    eye = sp.identity(k, format="csr")
    caps = sp.csr_matrix((room[at[many]].astype(float), (many, np.arange(z))), shape=(k, z))[many]
    rows = [
        LinearConstraint(sp.hstack([matrix, nothing, wide]), left, left),
        LinearConstraint(sp.hstack([nothing, matrix, wide]), left, left),
        LinearConstraint(sp.hstack([pick, pick, -eye, sp.csr_matrix((k, z))]), -np.inf, room[at]),
    ]
    if z:
        rows.append(LinearConstraint(sp.hstack([pick[many], pick[many] * 0, -eye[many], -caps]), -np.inf, 0))
        rows.append(
            LinearConstraint(sp.hstack([pick[many] * 0, pick[many], -eye[many], caps]), -np.inf, room[at[many]])
        )
    cost = np.zeros(2 * n + k + z)
    cost[at] = cost[n + at] = -1
    cost[2 * n : 2 * n + k] = 2
    top = np.concatenate([room, room, room[at], np.ones(z)])
    kinds = np.concatenate([np.ones(2 * n), np.zeros(k), np.ones(z)]).astype(np.int64)
    found = milp(cost, constraints=rows, bounds=Bounds(0, top), integrality=kinds, options={"time_limit": SECONDS})
    if found.x is None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    x, y = (np.rint(part).astype(np.int64) for part in (found.x[:n], found.x[n : 2 * n]))
    fits = all(np.array_equal(matrix @ v, left) and (v >= 0).all() and (v <= room).all() for v in (x, y))
    return (x, y) if fits else (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class AreaWidth:
    """The greatest distance of two data sets in a smallest area: bounds by its own tables alone, and by all of them.

    `people`: how many it has, None where that is open; then `least`.
    """

    leaf: int
    people: int | None
    least: int
    alone: tuple[int, int]
    coupled: tuple[int, int]
    by_multipliers: bool


def area_widths(one: SolvedArea, coupled: bool = True) -> Iterator[AreaWidth]:
    """Yield the widths of every smallest area that has people; without `coupled`, by its own tables alone twice."""
    live = one.live
    leaves = live.leaf
    own = live.rows.chosen(np.flatnonzero(live.own))
    alone = _OpenSystem.of(own, one.alone_low, one.alone_high)
    whole = _OpenSystem.of(live.rows, one.low, one.high)
    for leaf in live.top.leaves.tolist():
        mine = leaves == leaf
        least, most = int(one.low[mine].sum()), int(one.high[mine].sum())
        if not most:
            continue
        n = _total(live, leaf, mine) if least < most else least
        first = alone.within(mine, n is not None)
        if first.high == 0 or not coupled:
            yield AreaWidth(leaf, n, least, (first.low, first.high), (first.low, first.high), first.by_multipliers)
            continue
        inner = alone.index[mine & (alone.index >= 0)]
        extended = len(first.x) > 0 and all(whole.extends(mine, alone, inner, v) for v in (first.x, first.y))
        low, high = (first.low, first.high) if extended else (0, first.high)
        sure = first.by_multipliers
        if low < high:
            second = whole.within(mine, n is not None)
            low, high = max(low, second.low), min(high, second.high)
            sure = second.by_multipliers and second.high == high
        yield AreaWidth(leaf, n, least, (first.low, first.high), (low, high), sure)


def _total(live: LiveCounts, leaf: int, mine: NDArray[np.bool_]) -> int | None:
    """Return the number of people of a leaf where a count of its own says it."""
    at = np.flatnonzero(live.own & (live.row_area == leaf) & (np.diff(live.rows.starts) == mine.sum()))
    return int(live.rows.value[at[0]]) if len(at) else None


@dataclass(frozen=True, eq=False)
class _OpenSystem:
    """The open counts of all statements: `index` of every count (-1: fixed), their component, what is left."""

    index: Ints
    part: Ints
    row_part: Ints
    matrix: Any
    left: Ints
    low: Ints
    room: Ints
    base: Ints  # of all counts

    @classmethod
    def of(cls, rows: Rows, low: Ints, high: Ints) -> _OpenSystem:
        found = components(rows, low, high)
        at = np.concatenate([np.zeros(0, np.int64), *(v for _, _, v in found)])
        index = np.full(len(low), -1)
        index[at] = np.arange(len(at))
        matrix = sp.block_diag([m for m, _, _ in found], format="csr") if found else sp.csr_matrix((0, 0))
        ids = np.arange(len(found))
        part = np.repeat(ids, [len(v) for _, _, v in found])
        row_part = np.repeat(ids, [m.shape[0] for m, _, _ in found])
        left = np.concatenate([np.zeros(0, np.int64), *(b for _, b, _ in found)])
        return cls(index, part, row_part, matrix, left - matrix @ low[at], low[at], (high - low)[at], low)

    def within(self, mine: NDArray[np.bool_], even: bool) -> Width:
        """Return the width inside of some counts, over the components that they are in."""
        inner = self.index[mine & (self.index >= 0)]
        if not len(inner):
            none = np.zeros(0, np.int64)
            return Width(0, 0, none, none, none)
        parts = np.unique(self.part[inner])
        columns, rows = np.flatnonzero(np.isin(self.part, parts)), np.flatnonzero(np.isin(self.row_part, parts))
        inside = np.isin(columns, inner)
        found = _width(self.matrix[rows][:, columns], self.left[rows], self.room[columns], inside, even)
        if not len(found.x):
            return found
        shift = self.low[columns[inside]]
        return replace(found, x=found.x[inside] + shift, y=found.y[inside] + shift)

    def extends(self, mine: NDArray[np.bool_], alone: _OpenSystem, inner: Ints, values: Ints) -> bool:
        """Return whether values of a leaf's open counts (in the order of `alone`) are part of a solution of all."""
        counts = np.flatnonzero(mine & (alone.index >= 0))
        value = dict(zip(np.sort(inner).tolist(), values.tolist(), strict=True))
        told = np.array([value[int(i)] for i in alone.index[counts]], np.int64)
        place = self.index[counts]
        fixed = place < 0
        return bool((told[fixed] == self.base[counts[fixed]]).all()) and self._fits(place[~fixed], told[~fixed])

    def _fits(self, place: Ints, values: Ints) -> bool:
        """Return whether open counts can have these values, by a solution that is checked in whole numbers."""
        rest = values - self.low[place]
        if (rest < 0).any() or (rest > self.room[place]).any():
            return False
        if not len(place):
            return True
        parts = np.unique(self.part[place])
        columns, rows = np.flatnonzero(np.isin(self.part, parts)), np.flatnonzero(np.isin(self.row_part, parts))
        matrix, left = self.matrix[rows][:, columns], self.left[rows]
        least, most = np.zeros(len(columns), np.int64), self.room[columns].copy()
        at = np.searchsorted(columns, place)
        least[at] = most[at] = rest
        found = milp(
            np.zeros(len(columns)), constraints=LinearConstraint(matrix, left, left), bounds=Bounds(least, most),
            integrality=np.ones(len(columns), np.int64), options={"time_limit": SECONDS},
        )  # fmt: skip
        if found.x is None:
            return False
        x = np.rint(found.x).astype(np.int64)
        return bool(np.array_equal(matrix @ x, left) and (x >= least).all() and (x <= most).all())
