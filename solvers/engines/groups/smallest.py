"""The smallest group: how many rows a set of people has at most that in every world has one, from both sides.

s is the least, over all sets of items that no world leaves empty, of the most rows that a world has in the set. It is
at least k where some world has 0 or at least k rows in every item: a set that is never empty holds one of them whole.
It is less than k where a set is found that has 1 to k - 1 rows in every world. Sets that fit all worlds known so far
are asked for, and a world that refutes each, until there is no such set or no such world: counterexample-guided
search, as in Solar-Lezama et al., "Combinatorial sketching for finite programs", ASPLOS 2006.

Worlds that meet leaf values of boosted models too: a model of the cells, tied to the coordinates of a lattice.

Figures of boosted models are real linear statements on the cells. In the coordinates of a lattice that is reduced for
them (`solvers.leaf_values.worlds`) what they determine is a constant, and what is left takes small whole numbers.
Statements are rounded outwards, so that "there is none" is certain; worlds are evaluated before they are believed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import ceil, floor, isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from solvers.cells.system import CellSystem
from solvers.engines.groups.published import (
    CandidateCells,
    Items,
    ProvedGroup,
    items_of,
)
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.exact import OPEN
from solvers.foundation.limits import Limits
from solvers.programs.cell_model import CellModel
from solvers.programs.cpsat import FOUND, refuse, run, state
from solvers.statements.boxes import Box, Region
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.release import UNBOUNDED, Partition, Release

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from solvers.leaf_values.combining import IntegerStatements
    from solvers.leaf_values.worlds import LatticeProgram

MAX_OPEN_CELLS = 200  # open cells: a lattice of more takes too long
PROGRAMS = 80  # linear programs of one search, the first of them towards random vertices
RANDOM = 24
# Of work: to read a coefficient of a program, a step of the simplex method, and a coefficient in a step.
READ, STEP, PER_ENTRY = 2e-7, 3e-5, 7e-10
SET_BYTES, SET_WORK = 4, 2e-8  # of a cell in a set that is tried, with copies while they are sorted; of work
SURE = 1e-3  # rows
MARGIN = 1e-6  # of scaled statements, in programs: their proofs are evaluated without it
PHASE = "groups were bounded by leaf values"
SIZE = 1 << 56  # of a coordinate times a coefficient: sums stay within 64 bits


class LeafValueModel(CellModel):
    """The CP-SAT model of a system whose worlds meet the leaf values of all its boosted models."""

    def __init__(self, system: CellSystem, limits: Limits) -> None:
        """Build the model; raises `Unsupported` where leaf values cannot be stated, `Inconclusive` when time is up."""
        super().__init__(system, limits)
        self.programs = [self.stated(boosted) for boosted in system.release.boosted]

    def stated(self, boosted: Boosted) -> LatticeProgram:
        """State what a boosted model says; return the program that it is evaluated with."""
        from solvers.leaf_values.worlds import NONE, LatticeProgram

        program = LatticeProgram.of(_statements_of(self.system, boosted), self.limits)
        if program is None:
            raise Unsupported(NONE)
        far = [max(map(abs, ends)) for ends in program.room]
        if any(abs(v) * reach > SIZE for vector, reach in zip(program.basis, far, strict=True) for v in vector):
            raise Unsupported("what leaf values leave open takes numbers too large for a program")
        _, steps = program.written(False, self.model)
        index = [step.index for step in steps]
        for i, c in enumerate(program.free.tolist()):
            terms = [(s, -vector[i]) for s, vector in zip(index, program.basis, strict=True) if vector[i]]
            columns, coefs = [self.variables[c].index, *(s for s, _ in terms)], [1, *(v for _, v in terms)]
            state(self.model, columns, coefs, (program.point[i], program.point[i]))
        return program

    def histogram(self, value: Any) -> Ints:
        """Return the histogram of a solution, checked against every statement and figure."""
        from solvers.leaf_values.worlds import NEARLY

        z = super().histogram(value)
        if not all(program.meets(z) for program in self.programs):
            raise Inconclusive(NEARLY)
        return z


def _statements_of(system: CellSystem, boosted: Boosted) -> IntegerStatements:
    """Return what counts and the figures of a boosted model say of the cells; raises `Unsupported` for others."""
    from scipy.sparse import csr_matrix, vstack

    from solvers.leaf_values.cells import figures
    from solvers.leaf_values.combining import IntegerStatements

    bounds, linear = system.bounds, system.linear
    if system.choices or bool((bounds.upper >= UNBOUNDED).any()):
        raise Unsupported("leaf values are not used together with alternatives, or an open number of rows")
    leaves, classes = _leaves_of(system, boosted), _classes_of(system, boosted)
    given = figures(boosted, leaves, len(linear))
    at = given.row, given.cell
    own = np.arange(len(given.cell)), classes[given.cell]
    shape = len(given), linear.columns
    middle, radius = (csr_matrix((v[own], at), shape=shape) for v in (given.middle, given.radius))
    counts = csr_matrix((linear.coef.astype(np.float64), (linear.row, linear.col)), shape=(len(linear), linear.columns))
    low, high = (
        np.where(np.abs(ends) >= UNBOUNDED, sign * np.inf, ends.astype(np.float64))
        for ends, sign in ((linear.low, -1), (linear.high, 1))
    )
    nothing = csr_matrix(counts.shape)
    return IntegerStatements(
        vstack([counts, middle]).tocsr(), vstack([nothing, radius]).tocsr(), np.concatenate([low, given.low]),
        np.concatenate([high, given.high]), np.arange(len(linear) + len(given), dtype=np.int64),
        np.arange(linear.columns, dtype=np.int64), bounds.lower, bounds.upper,
    )  # fmt: skip


def _leaves_of(system: CellSystem, boosted: Boosted) -> Ints:
    """Return the leaf of every cell in every tree (cells, trees)."""
    linear, index = system.linear, system.index
    out = np.full((linear.columns, len(boosted.trees)), -1, dtype=np.int64)
    for t, b in enumerate(boosted.blocks):
        block = system.release.blocks[b]
        assert isinstance(block, Partition)
        span = slice(int(linear.start[index.first[b]]), int(linear.start[index.first[b + 1]]))
        out[linear.col[span], t] = block.region[linear.row[span] - index.first[b]]
    if (out < 0).any():
        raise Unsupported("a cell is in no leaf of a tree")
    return out


def _classes_of(system: CellSystem, boosted: Boosted) -> Ints:
    """Return the class of every cell; raises `Unsupported` where one can hold several, or none of the model's."""
    release = system.release
    k = release.domain.label
    if k is None:
        raise Unsupported("the domain has no label")
    number = {1 << label: i for i, label in enumerate(boosted.labels)}
    out = np.full(len(system.sizes), -1, dtype=np.int64)
    masks = np.zeros(len(system.sizes), dtype=np.int64)
    held = system.layout.parts_of(system.words[:, system.layout.span(k)], k)
    for c, parts in zip(system.cell.tolist(), held, strict=True):
        masks[c] |= sum(1 << p for p, one in enumerate(parts) if one)
    for c, mask in enumerate(masks.tolist()):
        out[c] = number.get(mask, -1)
    if ((out < 0) & (system.bounds.upper > 0)).any():
        raise Unsupported("a cell can hold rows of several classes")
    return np.maximum(out, 0)


@dataclass(slots=True)
class KnownModel:
    """The model of the worlds of a system, and whether what meets it is a world."""

    model: CellModel | None = None
    whole: bool = False


def world_model(system: CellSystem, limits: Limits) -> tuple[CellModel, bool]:
    """Return a model of the worlds of a system, and whether all that was published is in it. Remembered.

    Leaf values are left out where they cannot be stated: with more than `MOST` open cells, or without python-flint.
    """
    from solvers.leaf_values.lattice import unavailable

    known, release = system.derived.part(KnownModel), system.release
    if known.model is not None:
        return known.model, known.whole
    labelled = all(one.labels for one in release.boosted)
    if release.boosted and labelled and len(system.free) <= MAX_OPEN_CELLS and not unavailable():
        try:
            known.model = LeafValueModel(system, limits)
        except (Unsupported, EngineError):
            known.model = None
    used = known.model is not None or not release.boosted
    known.whole = used and not release.loosened and not release.bags and not release.coarse
    if known.model is None:
        known.model = CellModel(system, limits)
    return known.model, known.whole


class LeafValueRelaxation:
    """The linear relaxation of what counts and the leaf values of one boosted model say of cells."""

    def __init__(self, system: CellSystem, boosted: Boosted, limits: Limits) -> None:
        from scipy.sparse import csr_matrix, vstack

        self.limits = limits
        given = _statements_of(system, boosted)
        most = (abs(given.middle) + given.radius) @ given.upper.astype(np.float64) * (1 + 2.0**-40) + 1
        self.given = replace(given, low=np.maximum(given.low, -most), high=np.minimum(given.high, most))
        scale = np.maximum(abs(self.given.middle).max(axis=1).toarray().ravel(), 1e-12)
        scaled = csr_matrix(self.given.middle.multiply(1 / scale[:, None]))
        self.scale = scale
        self.matrix: Any = vstack([scaled, -scaled]).tocsr()
        radius = abs(given.radius) @ given.upper.astype(np.float64)
        self.ends = np.concatenate([(self.given.high + radius) / scale, (radius - self.given.low) / scale]) + MARGIN
        self.box: Any = list(zip(given.lower.astype(float).tolist(), given.upper.astype(float).tolist(), strict=True))

    def least(self, goal: Any) -> tuple[Any, Any]:
        """Return a vertex with the least goal (None: not found), and the weights of statements that prove it so.

        Raises `Inconclusive` where there is no time to begin.
        """
        from scipy.optimize import linprog  # a quarter of a second, which few commands need

        entries, left = self.matrix.nnz, self.limits.work_left()
        each = STEP + PER_ENTRY * entries
        if not self.limits.pay(READ * entries):
            raise Inconclusive(f"the time was up while {PHASE}")
        most: Any = {} if isinf(left) else {"maxiter": max(1, int(left / each))}
        found = linprog(goal, self.matrix, self.ends, bounds=self.box, method="highs", options=most)
        self.limits.charge(each * found.nit)
        if found.status != 0:
            return None, None
        by = found.ineqlin.marginals
        return found.x, (by[: len(self.scale)] - by[len(self.scale) :]) / self.scale

    def ends_of(self, inside: Any, down: Any, up: Any) -> tuple[int, int]:
        """Return whole bounds on the rows inside that sums of statements with two lists of weights prove."""
        from solvers.leaf_values.combining import implied

        forms = np.stack([inside, inside]).astype(np.float64)
        bottom, top = implied(self.given, forms, np.stack([down, -up]))
        return ceil(bottom[0]), floor(top[1])


def small_by_programs(items: Items, k: int, limits: Limits) -> tuple[list[int], int, int] | None:
    """Return items with 1 to k - 1 rows in every world, and their least and most rows, by linear programs; None: none.

    Tried are single items and what lies in a leaf of one tree and in a leaf of another, of as many pairs of trees as
    memory and work allow for. Cost: `PROGRAMS` programs, or twice as many.
    """
    system = items.system
    if (
        len(system.release.boosted) != 1
        or not system.release.boosted[0].labels
        or len(system.free) > 10 * MAX_OPEN_CELLS
    ):
        return None
    try:
        relaxed, leaves = (
            LeafValueRelaxation(system, system.release.boosted[0], limits),
            _leaves_of(system, system.release.boosted[0]),
        )
    except Unsupported:
        return None
    held = len(items) * len(items.item)
    limits.hold(SET_BYTES * held, f"sets of {len(items.item):,} cells that are tried")
    sets = [np.arange(len(items))[:, None] == items.item]
    for one, other in combinations(leaves.T, 2):
        both = one * (int(other.max()) + 1) + other
        distinct = np.unique(both)
        held += len(distinct) * len(both)
        if not limits.fits(SET_BYTES * held) or not limits.pay(SET_WORK * len(distinct) * len(both)):
            break
        sets.append(distinct[:, None] == both)
    tried = np.unique(np.concatenate(sets), axis=0)
    random = np.random.default_rng(len(items))
    for number in range(PROGRAMS):
        limits.check(PHASE)
        if not len(tried):
            return None
        goal = random.uniform(-1, 1, tried.shape[1]) if number < RANDOM else tried[0].astype(np.float64)
        (x, down), (most, up) = relaxed.least(goal), (None, None) if number < RANDOM else relaxed.least(-goal)
        if number >= RANDOM:
            tried = tried[1:]
            low, high = (0, 0) if x is None or most is None else relaxed.ends_of(goal, down, up)
            if 0 < low <= high < k:
                return np.unique(items.item[goal > 0]).tolist(), low, high
        for vertex in (x, most):  # None: the solver gave up
            if vertex is not None:
                tried = tried[(tried @ vertex > SURE) & (tried @ vertex < k)]
    return None


WORK = 3.0  # of CP-SAT's own measure, for one solve: about as many seconds, the same on every machine
IN_ALL = 8.0  # of it for one question
ROUNDS = 200  # sets of items tried
MAX_CELLS = 60_000
MAX_FREE_CELLS = 1_000  # free cells: of more, worlds are searched for over a few of them
STARTS = (2, 4, 8, 16, 32)  # further vertices of the linear program, before each search over the cells that they fill
SMALL = 200  # cells: of so few the smallest group is searched for where a small one is known already
UNUSED = "what was published is not all in the statements over cells"
EXHAUSTED = "the work set aside for small groups was done before they were found or excluded"
NOT_FOUND = "no world with enough rows in every cell was found, nor a small group"


@dataclass(frozen=True, slots=True)
class ProvingWorld:
    """Worlds that leave no small group: how many, and of the last one the items with rows and the fewest of these."""

    worlds: int
    items: int
    fewest: int


@dataclass(frozen=True, eq=False)
class SmallestGroup:
    """The rows of the smallest group between `low` and `high` (UNBOUNDED: none is known; both: there is none).

    `group` proves `high`, `world` proves `low` where that is more than 1, `why` says why they do not meet the size that
    was asked about. `always`: bounds prove `low`, see `Items.never_small`.
    """

    low: int
    high: int
    group: ProvedGroup | None = None
    world: ProvingWorld | None = None
    why: str = ""
    always: bool = False


def searched(release: Release, items: Items, k: int, outer: SmallestGroup, limits: Limits) -> SmallestGroup:
    """Return what the search over cells adds to what is known."""
    free = len(items.system.free)
    if outer.high < k and free > SMALL:
        return outer
    if free > MAX_CELLS:
        return replace(outer, why=f"{free:,} cells are too many to search for groups")
    search = SmallestGroupSearch(items, limits)
    by_values = _by_programs(search, min(k, outer.high)) if release.boosted else None
    if by_values is not None:
        return by_values
    whole = world_model(items.system, limits)[1]
    best, bar = outer, min(k, outer.high)
    while True:
        found = search.group(bar)
        if isinstance(found, ProvedGroup):
            best, bar = SmallestGroup(1, found.high, found), found.high
            continue
        if found is None or not whole:
            why = "" if best.high < k else UNUSED if found is not None else NOT_FOUND
            return replace(best, why=why)
        low = UNBOUNDED if best.high == UNBOUNDED and found.fewest == 0 else bar
        return replace(best, low=min(low, best.high), world=found)


def smallest_by_programs(release: Release, k: int, limits: Limits, by_label: bool = False) -> SmallestGroup | None:
    """Return a group of 1 to k - 1 rows that linear programs on leaf values prove; None where they prove none.

    Nothing but them is tried. Cost: see `solvers.engines.groups.smallest.small_by_programs`.
    """
    with suppress(Unsupported, Inconclusive):
        return _by_programs(SmallestGroupSearch(items_of(release, limits, by_label), limits), k)
    return None


def _by_programs(search: SmallestGroupSearch, k: int) -> SmallestGroup | None:
    """Return the group that linear programs prove, as a figure."""
    found = small_by_programs(search.items, k, search.limits)
    if found is None:
        return None
    group = search.named(*found)
    return SmallestGroup(1, group.high, group)


@dataclass(slots=True)
class WorkLeft:
    """What is left of CP-SAT's work for one question."""

    left: float

    def run(self, model: cp_model.CpModel, limits: Limits) -> tuple[Any, cp_model.CpSolver]:
        """Return the status of a solve and the solver; raises `Inconclusive` where nothing is left."""
        if self.left <= 0:
            raise Inconclusive(EXHAUSTED)
        status, solver = run(model, limits, workers=1, max_deterministic_time=min(WORK, self.left))
        refuse(model, status)
        self.left -= solver.response_proto.deterministic_time
        return status, solver


@dataclass(eq=False)
class SmallestGroupSearch:
    """Worlds found so far, and the models that find sets and worlds."""

    items: Items
    limits: Limits
    pool: list[Ints] = field(default_factory=list)  # rows of the items
    none: bool = False
    work: WorkLeft = field(default_factory=lambda: WorkLeft(IN_ALL))

    def __post_init__(self) -> None:
        """Refuse statements that contradict each other."""
        bounds = self.items.system.bounds
        if bounds.conflict is not None:
            raise Unsupported("no dataset fits")
        self.upper = self.items.rows(np.minimum(bounds.upper, OPEN // max(1, len(bounds.upper))))

    @cached_property
    def worlds(self) -> CellModel:
        """Return the model of the worlds."""
        return world_model(self.items.system, self.limits)[0]

    @cached_property
    def sums(self) -> list[tuple[Any, int]]:
        """Return the rows of every item as an expression over the free cells, and what fixed ones add."""
        return [self.worlds.sum_of(np.array(cells, dtype=np.int64)) for cells in self.items.members]

    def group(self, k: int) -> ProvedGroup | ProvingWorld | None:
        """Return a group of less than k rows, worlds that leave none, or None where the limits leave it open."""
        if k <= 1:
            return self.proof(k)
        if len(self.items.system.free) > MAX_FREE_CELLS:
            return self.among_few(k)
        z = self.world(self.clean(k))
        if z is not None:
            self.pool.append(z)
            return self.proof(k)
        for _ in range(ROUNDS):
            self.limits.check("small groups were searched for")
            chosen = self.set_of(k)
            if chosen is None or chosen == []:
                return None if chosen is None else self.proof(k)
            ends = self.refuted(chosen, k)
            if ends is not None:
                return None if ends[1] < 0 else self.named(chosen, *ends)
        return None

    def among_few(self, k: int) -> ProvingWorld | None:
        """Return a world over few cells that leaves no group of less than k rows, None where none was found."""
        candidates = CandidateCells(self.items, self.limits)
        for starts in STARTS:
            self.limits.check("a world with enough rows in every cell was searched for")
            items = candidates.widened(starts)
            if items is None:
                continue
            few = SmallestGroupSearch(items, self.limits, work=self.work)
            z = few.world(few.clean(k))
            if z is not None:
                self.pool.append(z)
                return self.proof(k)
        return None

    def proof(self, k: int) -> ProvingWorld:
        """Return the worlds that leave no group of less than k rows; of the one with the fewest such items."""
        if not self.pool:
            return ProvingWorld(0, 0, 0)
        last = min(self.pool, key=lambda rows: int(((rows > 0) & (rows < k)).sum()))
        filled = last[last > 0]
        alone = 1 if not len(filled) or int(filled.min()) >= k else len(self.pool)
        return ProvingWorld(alone, len(filled), int(filled.min(initial=UNBOUNDED)) if len(filled) else 0)

    def world(self, model: cp_model.CpModel) -> Ints | None:
        """Return the rows of every item in a world of a model; None where none was found. See `self.none`."""
        from ortools.sat.python import cp_model

        status, solver = self.work.run(model, self.limits)
        self.none = status == cp_model.INFEASIBLE
        return self.items.rows(self.worlds.histogram(solver.value)) if status in FOUND else None

    def fresh(self) -> cp_model.CpModel:
        """Return a copy of the model of the worlds, without an objective."""
        self.worlds.model.clear_objective()  # type: ignore[no-untyped-call]
        return self.worlds.model.clone()

    def clean(self, k: int) -> cp_model.CpModel:
        """Return the model of the worlds in which every item has 0 or at least k rows."""
        from ortools.sat.python import cp_model

        model = self.fresh()
        for (rows, base), most in zip(self.sums, self.upper.tolist(), strict=True):
            if not most:
                continue
            ends = [[0, 0], [k, most]] if most >= k else [[0, 0]]
            model.add_linear_expression_in_domain(rows + base, cp_model.Domain.from_intervals(ends))
        return model

    def set_of(self, k: int) -> list[int] | None:
        """Return items that have 1 to k - 1 rows together in every known world; [] for none, None where open."""
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        usable = self.upper > 0
        for rows in self.pool:
            usable &= rows < k
        at = np.flatnonzero(usable)
        chosen = {int(i): model.new_bool_var("") for i in at}
        for rows in self.pool:
            some = [int(i) for i in at if rows[i]]
            state(model, [chosen[i].index for i in some], [int(rows[i]) for i in some], (1, k - 1))
        model.add_bool_or(list(chosen.values()))
        model.minimize(cp_model.LinearExpr.sum(list(chosen.values())))
        status, solver = self.work.run(model, self.limits)
        if status == cp_model.INFEASIBLE:
            return []
        return [i for i, one in chosen.items() if solver.value(one)] if status in FOUND else None

    def refuted(self, chosen: list[int], k: int) -> tuple[int, int] | None:
        """Return the least and most rows of items that have 1 to k - 1 in every world; else a world joins the pool.

        (0, -1) where the limits leave it open.
        """
        from ortools.sat.python import cp_model

        rows = sum((self.sums[i][0] for i in chosen), start=0)
        base = sum(self.sums[i][1] for i in chosen)
        for ends in ((0, 0), (k, OPEN)):
            model = self.fresh()
            model.add_linear_expression_in_domain(rows + base, cp_model.Domain(*ends))
            z = self.world(model)
            if z is not None:
                self.pool.append(z)
                return None
            if not self.none:
                return 0, -1
        return self.extreme(rows, base, False), self.extreme(rows, base, True)

    def extreme(self, rows: Any, base: int, greatest: bool) -> int:
        """Return the least or most that a sum of 1 to k - 1 can be."""
        found = self.worlds.solve(rows, greatest, self.limits)
        if found.none:
            raise Unsupported("no dataset fits")
        if found.histogram is None:
            raise Inconclusive("the time was up while a group was bounded")
        if not found.proved:
            raise EngineError("a bounded sum was not settled")
        return found.bounds[1 if greatest else 0] + base

    def named(self, chosen: list[int], low: int, high: int) -> ProvedGroup:
        """Return items as a group."""
        boxes = self.items.boxes(chosen)
        k = self.items.system.release.domain.label
        if k is not None and len(self.items) < len(self.items.item):
            boxes = list(dict.fromkeys(Box(tuple(p for p in box.literals if p[0] != k)) for box in boxes))
        return ProvedGroup(tuple(Region(box) for box in boxes), low, high, "cells together", published=False)
