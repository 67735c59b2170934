"""Worlds that meet leaf values of boosted models too: a model of the cells, tied to the coordinates of a lattice.

Figures of boosted models are real linear statements on the cells. In the coordinates of a lattice that is reduced for
them (`solvers.leaf_values.worlds`) what they determine is a constant, and what is left takes small whole numbers.
Statements are rounded outwards, so that "there is none" is certain; worlds are evaluated before they are believed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, floor, isinf
from typing import TYPE_CHECKING, Any

import numpy as np

from solvers.cells.system import CellSystem
from solvers.engines.groups.items import Items
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cell_model import CellModel
from solvers.programs.cpsat import state
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.release import UNBOUNDED, Partition

if TYPE_CHECKING:
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
