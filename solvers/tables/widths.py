"""How far data sets of an area can lie apart: the width, of any two, and the radius, from one of them.

Of few data sets all pairs are looked at. Else at least by data sets, checked in whole numbers; at most by whole
multipliers (`solvers.tables.distances`) or, where these do not close it, by CP-SAT within a bounded amount of work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.tables import counting
from solvers.tables.atoms import Ints, LiveCounts, Rows, propagated
from solvers.tables.distances import SCALE, Distances, OpenCounts, bound_of, distance, linear_program, total_of
from solvers.tables.solving import MAX_COMPONENT, AreaWithin, SolvedArea

NODES = 500  # of a search for data sets
WORK = 0.5  # of CP-SAT, in its own unit
MAX_SEARCHED, MAX_PAIRED = 3_000, 250  # counts of a search for bounds, for pairs
BEGINNINGS, TURNS = 4, 8  # of pairs that are found in turns
LISTED, BEGUN, PAIRED = 24, 2_000, 200  # counts, solutions begun, solutions of which all pairs are looked at
NONE = np.zeros(0, np.int64)
Between = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Width:
    """The greatest distance (L1): `low` by the data sets `x`, `y`, `high` by `multipliers` or, else, by a search."""

    low: int
    high: int
    x: Ints = field(default_factory=lambda: NONE)
    y: Ints = field(default_factory=lambda: NONE)
    multipliers: Ints = field(default_factory=lambda: NONE)
    by_multipliers: bool = True

    def with_pair(self, d: Distances, x: Ints, y: Ints) -> Width:
        """Return the same with these two solutions, checked in whole numbers, where they lie further apart."""
        if not (len(x) and _fits(d, x) and _fits(d, y)):
            return self
        apart = int(np.abs(x - y)[d.inside].sum())
        return replace(self, low=apart, x=x, y=y) if apart > self.low or not len(self.x) else self


def width(d: Distances, around: Ints | None = None, listing: bool = False) -> Width:
    """Return bounds on the greatest distance of two solutions, or of one from the solution `around`.

    `listing`: few solutions are looked at one by one, which gives no multipliers. Data sets are checked in whole
    numbers. What one linear program over all does not close is closed component by component.
    """
    if listing and (found := _listed_width(d, around)) is not None:
        return found
    from scipy.optimize import linprog

    program: Any = linprog
    cost, upper, ends, equal, sums, bounds = linear_program(d, around)
    solved = program(cost, A_ub=upper, b_ub=ends, A_eq=equal, b_eq=sums, bounds=bounds, method="highs")
    multipliers, total = np.zeros(d.matrix.shape[0], np.int64), None
    high = bound_of(d, multipliers, around)
    if solved.status == 0:
        told, total = np.rint(-SCALE * np.asarray(solved.eqlin.marginals)).astype(np.int64), solved.x[: len(d.room)]
        if (better := bound_of(d, told, around)) < high:
            high, multipliers = better, told
    high = d.rounded(high)
    first = Width(0, high, multipliers=multipliers)
    if total is not None:
        first = first.with_pair(d, *_pair_at(d, np.rint(total).astype(np.int64), around))
    return first if first.low == high else _width_by_components(d, first, total, around, listing)


def _width_by_components(
    d: Distances, first: Width, total: NDArray[np.float64] | None, around: Ints | None, listing: bool
) -> Width:
    """Return the width as the sum of those of components that share no statement."""
    low, high, parts = 0, 0, []
    for rows, at, one in d.components:
        center = None if around is None else around[at]
        found = _listed_width(one, center) if listing else None
        if found is None:
            told = first.multipliers[rows]
            found = Width(0, one.rounded(min(bound_of(one, m, center) for m in (told, 0 * told))))
            if len(first.x):
                found = found.with_pair(one, first.x[at], first.y[at])
            found = _closed_width(one, found, None if total is None else total[at], center)
        low, high = low + found.low, high + found.high
        parts.append((at, found))
    high = min(high, first.high)
    found = replace(first, high=high, by_multipliers=high == first.high)
    if low <= first.low or not all(len(one.x) for _, one in parts):
        return found
    x, y = np.zeros((2, len(d.room)), np.int64)
    for at, part in parts:
        x[at], y[at] = part.x, part.y
    return found.with_pair(d, x, y)


def _closed_width(d: Distances, found: Width, total: NDArray[np.float64] | None, around: Ints | None) -> Width:
    """Return a width of one component with closer bounds."""
    for tried in _pairs(d, total, around):
        if found.low == found.high and len(found.x):
            break
        found = found.with_pair(d, *tried)
    step = 2 if d.even else 1
    while found.low < found.high and len(found.x) and d.matrix.shape[1] <= MAX_SEARCHED:
        pair, low = _searched(d, found.low + step, found.high, around), found.low
        if pair is None:
            break
        found = found.with_pair(d, *pair) if len(pair[0]) else replace(found, high=low)
        if low == found.low < found.high:  # a pair that does not fit: nothing is learned from it
            break
    return found


def _listed_width(d: Distances, around: Ints | None) -> Width | None:
    """Return the width by all solutions where they are few, else None."""
    few = _all_solutions(d) if len(d.columns) <= LISTED else None
    if few is None:
        return None
    ends = few if around is None else around[None, :]
    apart = np.abs(few[:, None, d.inside] - ends[None, :, d.inside]).sum(axis=2)
    i, j = np.unravel_index(int(apart.argmax()), apart.shape)
    most = int(apart[i, j])
    return Width(most, most, few[i], ends[j], np.zeros(d.matrix.shape[0], np.int64))


def _all_solutions(d: Distances) -> NDArray[np.int64] | None:
    """Return all solutions where they are few, else None."""
    n, k = len(d.columns), len(d.left) - len(d.sums)
    room = d.room[:n]
    x = counting.listed_solutions(d.matrix[:k, :n], d.left[:k], 0 * room, room, BEGUN)
    if x is None or not 0 < len(x) <= PAIRED:
        return None
    return np.concatenate([x, -(d.matrix[k:, :n] @ x.T).T], axis=1)


def _searched(d: Distances, low: int, high: int, around: Ints | None) -> tuple[Ints, Ints] | None:
    """Return two solutions whose distance lies between two numbers, by CP-SAT; empty ones where it proves none does.

    None where it decides nothing within so much work. The solver is believed that there is none.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    copies: list[list[Any]] = [[model.new_int_var(0, u, "") for u in d.room.tolist()]]
    if around is None:
        copies.append([model.new_int_var(0, u, "") for u in d.room.tolist()])
    else:
        copies.append(around.tolist())
    m = d.matrix
    for r in range(m.shape[0]):
        at = slice(m.indptr[r], m.indptr[r + 1])
        terms = list(zip(m.indices[at].tolist(), m.data[at].tolist(), strict=True))
        for copy in copies if around is None else copies[:1]:
            model.add(sum(a * copy[j] for j, a in terms) == int(d.left[r]))
    apart = []
    for j in np.flatnonzero(d.inside).tolist():
        u, x, y = int(d.room[j]), copies[0][j], copies[1][j]
        both = model.new_int_var(0, u, "")
        model.add(both >= x + y - u)
        if u > 1:
            model.add_min_equality(both, [x, y])
        apart.append(x + y - 2 * both)
    model.add(sum(apart) <= high)
    model.add(sum(apart) >= low)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = WORK
    solver.parameters.linearization_level = 2
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return NONE, NONE
    if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
        return None
    x, y = (np.array([v if isinstance(v, int) else solver.value(v) for v in copy], np.int64) for copy in copies)
    return x, y


def _solution(cost: Any, rows: list[Any], top: Any, kinds: Any, least: Any = 0) -> NDArray[np.int64]:
    """Return a whole solution that HiGHS finds within so many nodes, rounded; empty where it finds none."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    limits = [LinearConstraint(*row) for row in rows]
    found = milp(cost, constraints=limits, bounds=Bounds(least, top), integrality=kinds,
                 options={"node_limit": NODES})  # fmt: skip
    return NONE if found.x is None else np.rint(found.x).astype(np.int64)


def _fits(d: Distances, x: Ints) -> bool:
    return bool(np.array_equal(d.matrix @ x, d.left) and (x >= 0).all() and (x <= d.room).all())


def _pairs(d: Distances, total: NDArray[np.float64] | None, around: Ints | None) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs of solutions far apart, the cheapest first; `total`: what a linear program says of their sum."""
    if total is not None:
        yield _pair_at(d, np.rint(total).astype(np.int64), around)
    if d.matrix.shape[1] > MAX_PAIRED and total is not None:
        yield from _pairs_by_turns(d, total, around)
    else:
        yield _distant_pair(d, around)


def _pair_at(d: Distances, total: Ints, around: Ints | None) -> tuple[Ints, Ints]:
    """Return two solutions whose sum is `total`, as far apart as it lets them; two empty arrays where none are found.

    Around a data set, `total` and that. A count inside lies at one of its two ends.
    """
    if around is not None:
        return total, around
    if not np.array_equal(d.matrix @ total, 2 * d.left):
        return NONE, NONE
    from scipy.sparse import csr_array

    least, most = np.maximum(0, total - d.room), np.minimum(total, d.room)
    step = np.where(d.inside, most - least, 1)
    scaled, left = csr_array(d.matrix.multiply(step)), d.left - d.matrix @ least
    top = np.where(d.inside, most > least, most - least)
    z = _solution(np.zeros(len(total)), [(scaled, left, left)], top, np.ones(len(total), np.int64))
    return (least + step * z, total - least - step * z) if len(z) else (NONE, NONE)


def _pairs_by_turns(d: Distances, total: NDArray[np.float64], around: Ints | None) -> Iterator[tuple[Ints, Ints]]:
    """Yield pairs of which each is far from the other by a line between the ends of every count, in turns.

    They begin with solutions drawn towards the ends of counts that `total` leaves between them.
    """
    room, draw = d.room, np.random.default_rng(0)
    between = np.where(d.inside, np.minimum(total, 2 * room - total) / np.maximum(1, room), 0.0)
    kinds, statements = np.ones(len(room), np.int64), [(d.matrix, d.left, d.left)]

    def far(x: Ints) -> Ints:
        return _solution(np.where(d.inside, 2 * x / np.maximum(1, room) - 1, 0.0), statements, room, kinds)

    for _ in range(BEGINNINGS if around is None else 1):
        x = (
            around
            if around is not None
            else _solution(draw.choice([-1, 1], len(room)) * between, statements, room, kinds)
        )
        apart = -1
        for _ in range(TURNS if around is None else 1):
            y = far(x) if len(x) else NONE
            if not (len(y) and _fits(d, x) and _fits(d, y)) or np.abs(x - y)[d.inside].sum() <= apart:
                break
            apart = int(np.abs(x - y)[d.inside].sum())
            yield (y, x)
            x = y


def _distant_pair(d: Distances, around: Ints | None) -> tuple[Ints, Ints]:
    """Return two solutions far apart; two empty arrays where none were found."""
    import scipy.sparse as sp

    n, at = d.matrix.shape[1], np.flatnonzero(d.inside)
    k, room = len(at), d.room[at]
    copies = 2 if around is None else 1
    many = np.flatnonzero(room > 1)
    z = len(many)
    pick = sp.csr_matrix((np.ones(k), (np.arange(k), at)), shape=(k, n))
    matrix, left = d.matrix, d.left
    eye, wide = sp.identity(k, format="csr"), sp.csr_matrix((matrix.shape[0], k + z))
    caps = sp.csr_matrix((room[many].astype(float), (np.arange(z), np.arange(z))), shape=(z, z))
    rows: list[Any] = [
        (sp.hstack([*(matrix if c == i else 0 * matrix for c in range(copies)), wide]), left, left)
        for i in range(copies)
    ]
    # what both have in common is the least of the two: w >= x + y - U, and above one w >= x - U z, w >= y - U (1 - z)
    other = [pick] if around is None else []
    fixed = np.zeros(k, np.int64) if around is None else around[at]
    rows.append((sp.hstack([pick, *other, -eye, sp.csr_matrix((k, z))]), -np.inf, room - fixed))
    if z:
        none = 0 * pick[many]
        rows.append((sp.hstack([pick[many], *(none for _ in other), -eye[many], -caps]), -np.inf, 0))
        rows.append((sp.hstack([none, *(p[many] for p in other), -eye[many], caps]), -np.inf, (room - fixed)[many]))
    cost = np.zeros(copies * n + k + z)
    for c in range(copies):
        cost[c * n + at] = -1
    cost[copies * n : copies * n + k] = 2
    top = np.concatenate([*(d.room for _ in range(copies)), room, np.ones(z)])
    kinds = np.concatenate([np.ones(copies * n), np.zeros(k), np.ones(z)]).astype(np.int64)
    found = _solution(cost, rows, top, kinds)
    return found[:n], found[n : 2 * n] if around is None else around


def one_data_set(system: OpenCounts) -> Ints | None:
    """Return a value for every count, so that all statements hold; None where HiGHS finds none in time."""
    if not len(system.at):
        return system.base.copy()
    ones = np.ones(len(system.at), np.int64)
    matrix, left, _ = system.less
    x = _solution(np.zeros(len(ones)), [(matrix, left, left)], system.room, ones)
    ok = len(x) and np.array_equal(system.matrix @ x, system.left) and (x >= 0).all() and (x <= system.room).all()
    return system.values(np.arange(len(x)), x, system.base) if ok else None


@dataclass(frozen=True, eq=False)
class ProvedDistance:
    """What is proved of a distance, by which data sets (a value of every count of the top area, or of the leaf)."""

    bounds: Between
    x: Ints | None = None
    y: Ints | None = None
    rows: dict[int, int] = field(default_factory=dict)  # statement -> multiplier
    sums: dict[int, int] = field(default_factory=dict)  # group -> multiplier
    by_multipliers: bool = True


ZERO = ProvedDistance((0, 0))


@dataclass(frozen=True, eq=False)
class AreaWidth:
    """The greatest distances in a smallest area by its own tables alone, and by all of them (`coupled`).

    `people`: how many it has, None where that is open; then `least`. `radius_alone`, `radius`: from one data set;
    `relaxed`: from where the solver stopped, by the area's own tables, those above as upper bounds (see `relaxed`).
    """

    leaf: int
    people: int | None
    least: int
    alone: ProvedDistance
    coupled: ProvedDistance
    radius_alone: Between | None = None
    radius: Between | None = None
    relaxed: Between | None = None


@dataclass(frozen=True, eq=False)
class Widths:
    """The widths of a solved top area's smallest areas; `label`: the group of every count within its area.

    `around`: a data set, a value of every count, for radii (`radii` without it: one that the solver finds, radii that
    are unknown where it finds none). `coupled` False: by the areas' own tables alone twice.
    """

    one: SolvedArea
    label: Ints
    around: Ints | None = None
    coupled: bool = True
    relaxed: bool = False
    radii: bool = False
    multipliers: bool = False  # wanted wherever they bound
    within: AreaWithin | None = None  # `one` with sums that lie between two numbers

    @cached_property
    def _all(self) -> AreaWithin:
        one = self.one
        alone, whole = (one.alone_low, one.alone_high), (one.low, one.high)
        return self.within or AreaWithin(one, one.live.rows, one.live.own, alone, whole)

    @cached_property
    def _alone(self) -> OpenCounts:
        own = np.flatnonzero(self._all.own)
        found = OpenCounts.of(self._all.rows.chosen(own), *self._all.alone)
        return replace(found, rows=own[found.rows])

    @cached_property
    def _whole(self) -> OpenCounts:
        return OpenCounts.of(self._all.rows, *self._all.whole)

    @cached_property
    def _found(self) -> Ints | None:
        """Return the data set given, else one that the solver finds; behind its counts what sums do not use."""
        if self.around is None:
            return one_data_set(self._whole)
        rows, n, told = self._all.rows, len(self.one.live.leaf), len(self.one.live.rows)
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        counted = rows.columns < n
        used = np.bincount(owner[counted], self.around[rows.columns[counted]], len(rows)).astype(np.int64)
        return np.concatenate([self.around, (rows.value - used)[told:]])

    @cached_property
    def _some(self) -> Ints:
        """Return a data set of the whole top area; least values where none is found in time: then it is no proof."""
        return self._whole.base if self._found is None else self._found

    @cached_property
    def _bounded(self) -> OpenCounts:
        return _relaxed_counts(self.one)

    @cached_property
    def data_sets(self) -> dict[int, Between]:
        """Return how many data sets the own tables of each leaf leave, or what they lie between, where above one."""
        one, live, out = self.one, self.one.live, dict[int, Between]()
        own = live.rows.chosen(np.flatnonzero(live.own))
        for matrix, left, at in counting.components(own, one.alone_low, one.alone_high):
            low, high = one.alone_low[at], one.alone_high[at]
            n = counting.number(matrix, left, low, high) if len(at) <= MAX_COMPONENT else None
            least, most = out.get(int(live.leaf[at[0]]), (1, 1))
            out[int(live.leaf[at[0]])] = least * (n or 1), most * (n or prod((high - low + 1).tolist()))
        return out

    def __iter__(self) -> Iterator[AreaWidth]:
        """Yield the widths of every smallest area that has people."""
        one, live = self.one, self.one.live
        people_low, people_high = (np.bincount(live.leaf, x, len(live.top.names)).astype(np.int64)
                                   for x in (one.low, one.high))  # fmt: skip
        open_alone = np.bincount(live.leaf, one.alone_low < one.alone_high, len(live.top.names)) > 0
        for leaf in live.top.leaves.tolist():
            least = int(people_low[leaf])
            if not people_high[leaf]:
                continue
            if not open_alone[leaf] and people_high[leaf] == least:
                nothing = (0, 0) if self.radii else None
                yield AreaWidth(leaf, least, least, ZERO, ZERO, nothing, nothing, (0, 0) if self.relaxed else None)
                continue
            yield self._of(leaf, least, least == people_high[leaf])

    def _of(self, leaf: int, least: int, settled: bool) -> AreaWidth:
        live = self.one.live
        mine = live.leaf == leaf
        n = least if settled else total_of(live, leaf, mine)
        further = len(self._all.alone[0]) - len(mine)
        label = np.concatenate([np.where(mine, self.label, -1), np.full(further, -1)])
        alone = self._proved(self._alone, label, None)
        closed = alone.bounds[1] == 0 or not self.coupled
        coupled = alone if closed else self._coupled(label, alone)
        radius_alone = radius = bounded = None
        if self.radii:
            radius_alone, radius = self._radii(label, alone, coupled)
        if self.relaxed:
            bounded = (0, 0) if alone.bounds[1] == 0 else self._relaxed(label)
        return AreaWidth(leaf, n, least, alone, coupled, radius_alone, radius, bounded)

    def _proved(self, system: OpenCounts, label: Ints, around: Ints | None) -> ProvedDistance:
        """Return the width by some statements (the radius `around` a data set)."""
        d = system.distances(label)
        if d is None:
            return ZERO
        found = width(d, None if around is None else _distance_solution(system, d, around), not self.multipliers)
        base = self._some if system is self._whole else system.base
        x, y = (system.values(d.columns, v, base) if len(v) else None for v in (found.x, found.y))
        told = system.multipliers(d, found.multipliers)
        return ProvedDistance((found.low, found.high), x, y, *told, found.by_multipliers)

    def _coupled(self, label: Ints, alone: ProvedDistance) -> ProvedDistance:
        """Return the width by all tables: by the area's own, where the pair that these have is part of data sets."""
        x = self._extended(label, alone.x)
        y = None if x is None else self._extended(label, alone.y)
        low = 0 if y is None else alone.bounds[0]
        if y is not None and low == alone.bounds[1]:
            return replace(alone, x=x, y=y)
        second = self._proved(self._whole, label, None)
        by = second if second.bounds[1] <= alone.bounds[1] else alone
        if second.bounds[0] >= low:
            low, x, y = second.bounds[0], second.x, second.y
        return ProvedDistance((low, by.bounds[1]), x, y, by.rows, by.sums, by.by_multipliers)

    def _extended(self, label: Ints, values: Ints | None) -> Ints | None:
        """Return a data set of the whole top area with the values of a leaf's counts; None where none is found."""
        system, some = self._whole, self._some
        if values is None:
            return None
        inner = label >= 0
        mine = inner[system.at]
        rest = (values - system.base)[system.at[mine]]
        fixed = inner.copy()
        fixed[system.at] = False
        apart = (rest < 0).any() or (rest > system.room[mine]).any()
        if apart or not np.array_equal(values[fixed], system.base[fixed]):
            return None
        out = np.where(inner, values, some)
        if not mine.any():
            return out
        rows, columns = system.beside(np.flatnonzero(mine))
        matrix, left = system.less[0][rows][:, columns], system.less[1][rows]
        least, most = np.zeros(len(columns), np.int64), system.room[columns].copy()
        least[mine[columns]] = most[mine[columns]] = rest
        x = _solution(np.zeros(len(columns)), [(matrix, left, left)], most, np.ones(len(columns), np.int64), least)
        if not len(x) or not np.array_equal(matrix @ x, left) or (x < least).any() or (x > most).any():
            return None
        return system.values(columns, x, out)

    def _radii(self, label: Ints, alone: ProvedDistance, coupled: ProvedDistance) -> tuple[Between, Between]:
        """Return the radii from `around`, alone and coupled: bounds of widths bound them too."""
        center = self._found
        if center is None:
            return (0, alone.bounds[1]), (0, coupled.bounds[1])
        first = self._proved(self._alone, label, center)
        low = max([first.bounds[0], *(distance(center, v, label) for v in (alone.x, alone.y) if v is not None)])
        radius_alone = low, min(first.bounds[1], alone.bounds[1])
        if not self.coupled:
            return radius_alone, radius_alone
        known = [distance(center, v, label) for v in (coupled.x, coupled.y) if v is not None]
        low, high = max([0, *known]), min(radius_alone[1], coupled.bounds[1])
        if low < high and first.x is not None and self._extended(label, first.x) is not None:
            low = max(low, first.bounds[0])
        if low < high:
            second = self._proved(self._whole, label, center)
            low, high = max(low, second.bounds[0]), min(high, second.bounds[1])
        return radius_alone, (low, high)

    def _relaxed(self, label: Ints) -> Between:
        system = self._bounded
        told = np.concatenate([label, np.full(len(system.base) - len(label), -1)])
        d = system.distances(told)
        if d is None:
            return 0, 0
        kinds = np.ones(d.matrix.shape[1], np.int64)
        center = _solution(np.zeros(len(kinds)), [(d.matrix, d.left, d.left)], d.room, kinds)
        if not len(center) or not _fits(d, center):
            return 0, int(2 * d.room[d.inside].sum())
        found = width(d, center, listing=True)
        return found.low, found.high


def _distance_solution(system: OpenCounts, d: Distances, values: Ints) -> Ints:
    """Return a data set as a solution of a system of distances."""
    at = system.at[d.columns]
    x = values[at] - system.base[at]
    sums = -(d.matrix[len(d.left) - len(d.sums) :][:, : len(x)] @ x)
    return np.concatenate([x, sums])


def _relaxed_counts(one: SolvedArea) -> OpenCounts:
    """Return the counts that each leaf's own statements leave open, all other statements as upper bounds on one leaf.

    The relaxation of Abowd et al. (4.9, 4.10): other leaves are left out; behind the counts stands what each
    statement about more than the leaf leaves unused. Of the tables above, what follows for a group of cells by
    subtraction is a bound too.
    """
    live: LiveCounts = one.live
    others = np.flatnonzero(~live.own)
    rest = live.rows.chosen(others)
    owner = np.repeat(np.arange(len(rest)), np.diff(rest.starts))
    keys, piece = np.unique(owner * len(live.top.names) + live.leaf[rest.columns], return_inverse=True)
    n, value = len(live.leaf), rest.value[keys // len(live.top.names)]
    columns = np.concatenate([rest.columns, n + np.arange(len(keys))])
    order = np.argsort(np.concatenate([piece.ravel(), np.arange(len(keys))]), kind="stable")
    starts = np.concatenate([[0], np.cumsum(1 + np.bincount(piece.ravel(), minlength=len(keys)))]).astype(np.int64)
    rows = live.rows.chosen(np.flatnonzero(live.own)).plus(Rows(starts, columns[order], value))
    low = np.concatenate([one.alone_low, np.zeros(len(keys), np.int64)])
    high = np.concatenate([one.alone_high, value])
    return OpenCounts.of(rows, *propagated(rows, low, high))
