"""One world of a boosted model whose leaf values do not fix every cell: numbers of rows that meet all figures.

The rows per cell and class are sought by CP-SAT in the coordinates of a reduced lattice: what figures determine is a
constant there, and steps along what is open change no figure by much more than its interval, so that small whole
coefficients say all of it. With too many columns (`lattice.MOST`) in the numbers of rows themselves. What is found is
evaluated in whole numbers before it is a world.

Source: Aardal, Hurkens, Lenstra, Mathematics of Operations Research 25, 2000; CP-SAT, see `solvers.programs.cpsat`.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from solvers.cells.cutting import minus
from solvers.cells.worlds import CellRows, RandomSource, draw_boxes, spread_world
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.leaf_values.cells import (
    AssumptionError,
    CellLevel,
    ColumnSystem,
    CutCells,
    base_blocks,
    counts,
    figures,
    first_cells,
    level_work,
    with_trees,
)
from solvers.leaf_values.combining import IntegerStatements
from solvers.leaf_values.lattice import MAX_LATTICE_COLUMNS, LatticeSearch, WeightedSums, unavailable
from solvers.leaf_values.peeling import propagate
from solvers.programs.cpsat import FOUND, refuse, run, state
from solvers.statements.boxes import Box
from solvers.statements.observations import StatementIndex
from solvers.statements.questions.answers import Answer, WorldsAnswer
from solvers.statements.questions.query import MostLikely
from solvers.statements.release import Release, RowWorld

ENTRIES = 4_000_000  # of coefficients that a program over rows takes
DIGITS = 20  # binary digits of a figure's half width in a program
LARGEST = 60  # binary digits of a sum in a program
NOTE = "it meets all leaf values, within the bounds of their rounding; not proved to be the heaviest"
ONLY = "; no other numbers of rows per cell and class do"
OTHERS = "; others do too"
NOT_FOUND = "no numbers of rows were found that meet all leaf values"
NONE = "no numbers of rows meet the leaf values and the counts"
NEARLY = "numbers of rows were found that meet the leaf values but for the last digits"


def one_world(release: Release, query: MostLikely, limits: Limits) -> Answer:
    """Return one world whose rows meet every count and figure, that there is none, or why none was found.

    A figure is met where its interval and that of the sum meet: coefficients lie in the intervals of
    `solvers.statements.gradients.boosted`, which hold the true ones, so that a world may miss a figure by as much as
    these are wide. That there is none is certain. `World.unique`: whether another world exists, where that is settled.
    Raises `Unsupported` for releases with more than partitions of disjoint boxes and one model of classes, and without
    python-flint; `TooLarge` beyond `limits.cells`.
    """
    if unavailable():
        raise Unsupported(unavailable())
    limits = limits.limited()
    problem = LeafValueProblem.of(release, limits)
    try:
        propagate(problem.level)
    except AssumptionError as error:
        return Answer("unsat", conflict=(str(error),))
    program = LatticeProgram.of(problem.statements, limits)
    if program is None:
        return Answer("unsat", conflict=(NONE,))
    found = program.solved(limits)
    if found.rows is None:
        return Answer("unsat", conflict=(NONE,)) if found.unsat else Answer("unknown", trail=(found.reason,))
    other = program.solved(limits.stage("another world"), found.steps)
    unique = True if other.unsat else (False if other.rows is not None else None)
    world = problem.world(found.rows, unique, RandomSource(query.seed))
    return WorldsAnswer("exact", worlds=iter([world]))


@dataclass(frozen=True, eq=False)
class LeafValueProblem:
    """The cells of a release with one boosted model, and what is said of rows per cell and class."""

    release: Release
    cells: CutCells
    level: CellLevel

    @staticmethod
    def of(release: Release, limits: Limits) -> LeafValueProblem:
        """Return what counts and figures say; raises `Unsupported` and `TooLarge`."""
        if len(release.boosted) != 1 or not release.boosted[0].labels or release.rows.high is None:
            raise Unsupported("a world is sought for one boosted model of classes, with a bound on the number of rows")
        (model,) = release.boosted
        base = base_blocks(release)
        if set(base) | set(model.blocks) != set(range(len(release.blocks))):
            raise Unsupported("what is published beside trees is not made up of disjoint boxes")
        cells, _ = with_trees(release, model, first_cells(release, base, limits.cells), len(model.trees), limits.cells)
        if not limits.pay(level_work(release, model, base, cells, 0, limits)):
            raise Inconclusive("the time was up while what leaf values say was put together")
        index = StatementIndex(release)
        given = ColumnSystem.joined(
            [counts(index, model, base, cells), figures(model, cells.leaves, len(index))], len(model.labels)
        )
        shape = (len(cells), len(model.labels))
        columns = np.arange(len(cells))[:, None] * release.domain.labels + np.array(model.labels)[None]
        lower, upper = np.zeros(shape, dtype=np.int64), np.full(shape, release.rows.high, dtype=np.int64)
        return LeafValueProblem(release, cells, CellLevel(given, lower, upper, len(index) + len(model), columns, str))

    @property
    def statements(self) -> IntegerStatements:
        """Return what is said of the columns, cell by cell."""
        from scipy.sparse import csr_matrix

        given, (n, classes) = self.level.given, self.level.lower.shape
        column = (given.cell[:, None] * classes + np.arange(classes)).ravel()
        at = np.repeat(given.row, classes), column
        shape = len(given), n * classes
        middle, radius = (csr_matrix((v.ravel(), at), shape=shape) for v in (given.middle, given.radius))
        lower, upper = self.level.lower.ravel(), self.level.upper.ravel()
        return IntegerStatements(
            middle, radius, given.low, given.high, given.source, np.arange(n * classes), lower, upper
        )

    def world(self, x: Ints, unique: bool | None, random: RandomSource) -> RowWorld:
        """Return the world with so many rows per cell and class, spread inside their cells."""
        domain, (model,) = self.release.domain, self.release.boosted
        times = x.reshape(self.level.lower.shape)
        assert domain.label is not None
        filled = []
        for c in np.flatnonzero(times.sum(axis=1)).tolist():
            layout = self.cells.layout
            words = minus(layout, self.cells.words[c : c + 1], self.release.impossible)
            for k, label in enumerate(model.labels):
                at = Box(((domain.label, 1 << label),))
                boxes = [b & at for b in layout.boxes(words)]
                sizes = [b.size(domain) for b in boxes]
                if times[c, k]:
                    draw = partial(draw_boxes, domain, boxes, sizes)
                    filled.append((CellRows(domain, sum(sizes), partial(iter, boxes), draw), int(times[c, k])))
        free = any(cell.size > 1 for cell, _ in filled)
        alone = False if free and unique else unique
        note = NOTE + {True: ONLY, False: OTHERS, None: ""}[unique]
        return replace(spread_world(domain, filled, random), unique=alone, note=note)


@dataclass(frozen=True, eq=False)
class WorldSolution:
    """Numbers of rows (None: none found) after `steps`, that there are none (`unsat`), or why none were found."""

    rows: Ints | None = None
    steps: list[int] = field(default_factory=list)
    unsat: bool = False
    reason: str = ""


@dataclass(frozen=True, eq=False)
class LatticeProgram:
    """x[free] = point + c basis for whole c within `room`: columns within their bounds, statements within theirs.

    `sums` are the statements with ends on both sides, numbers `finite`, over the free columns.
    """

    given: IntegerStatements
    free: Ints
    finite: Ints
    sums: WeightedSums
    point: list[int]
    basis: list[list[int]]
    room: list[tuple[int, int]]

    @staticmethod
    def of(given: IntegerStatements, limits: Limits) -> LatticeProgram | None:
        """Return a program in the coordinates of a reduced lattice, or of the columns; None where nothing meets it."""
        free = np.flatnonzero(given.lower < given.upper)
        rows = np.flatnonzero(np.isfinite(given.high - given.low))
        if len(rows) * len(free) > ENTRIES:
            raise TooLarge(f"{len(rows):,} statements on {len(free):,} numbers are too many to seek a world")
        sums = WeightedSums(given, free, rows)
        if 0 < len(free) <= MAX_LATTICE_COLUMNS:
            search = LatticeSearch(given, free, limits.stage("lattice of a world"))
            with contextlib.suppress(Inconclusive, TooLarge, EngineError):
                search.work()
                if search.contradicted:
                    return None
                return LatticeProgram.reduced(given, rows, sums, search)
        room = [(0, b - a) for a, b in zip(sums.lower, sums.upper, strict=True)]
        one = [[int(i == j) for j in range(len(free))] for i in range(len(free))]
        return LatticeProgram(given, free, rows, sums, list(sums.lower), one, room)

    @staticmethod
    def reduced(given: IntegerStatements, rows: Ints, sums: WeightedSums, search: LatticeSearch) -> LatticeProgram:
        """Return the program over the coordinates that a search left open."""
        point = search.near(search.embedding() if search.open else np.zeros((0, 0)))
        basis = [search.basis[i] for i in search.open]
        at = [sum(a * b for a, b in zip(search.dual[i], point, strict=True)) for i in search.open]
        room = [(a - v, b - v) for (a, b), v in zip(search.ranges() if search.open else [], at, strict=True)]
        return LatticeProgram(given, search.free, rows, sums, point, basis, room)

    def solved(self, limits: Limits, besides: list[int] | None = None) -> WorldSolution:
        """Return numbers of rows that meet all statements, after other steps than some.

        Statements are rounded outwards, so that "unsat" is certain; where what is found misses one, inwards.
        """
        from ortools.sat.python import cp_model

        reason = NOT_FOUND
        if any(a > b for a, b in self.room):
            return WorldSolution(unsat=True)
        for inwards in (False, True):
            model, variables = self.written(inwards)
            if besides is not None:
                if not variables:
                    return WorldSolution(unsat=True)
                model.add_forbidden_assignments(variables, [tuple(besides)])
            status, solver = run(model, limits)
            refuse(model, status)
            if status not in FOUND:
                return WorldSolution(unsat=status == cp_model.INFEASIBLE and not inwards, reason=reason)
            steps = [solver.value(v) for v in variables]
            x = self.rows(steps)
            if self.meets(x):
                return WorldSolution(x, steps)
            reason = NEARLY
        return WorldSolution(reason=reason)

    def rows(self, steps: list[int]) -> Ints:
        """Return the numbers of rows after so many steps along every vector of the basis."""
        point = list(self.point)
        for c, vector in zip(steps, self.basis, strict=True):
            if c:
                point = [a + c * b for a, b in zip(point, vector, strict=True)]
        x = self.given.lower.copy()
        x[self.free] = point
        return x

    def written(self, inwards: bool, model: Any = None) -> tuple[Any, list[Any]]:
        """Return the program, or a model with it, and its variables; statements rounded outwards or inwards."""
        from ortools.sat.python import cp_model

        model = model or cp_model.CpModel()
        variables = [model.new_int_var(a, b, "") for a, b in self.room]
        index = [v.index for v in variables]
        for j, (low, high, at) in enumerate(zip(self.sums.lower, self.sums.upper, self.point, strict=True)):
            state(model, index, [vector[j] for vector in self.basis], (low - at, high - at))
        matrix, across = self.sums.matrix, self.sums.coefs.transpose()
        along = (matrix(self.basis) * across).tolist() if self.basis else []
        has = (matrix(1, len(self.point), self.point) * across).entries() if self.point else [0] * len(self.sums.low)
        far = [max(abs(a), abs(b)) for a, b in self.room]
        for i, (low, high, base) in enumerate(zip(self.sums.low, self.sums.high, map(int, has), strict=True)):
            coefs = [int(row[i]) for row in along]
            most = sum(abs(v) * f for v, f in zip(coefs, far, strict=True))
            # fine enough for the interval, coarse enough for 64 bits
            shift = max(most.bit_length() - LARGEST, (high - low).bit_length() - DIGITS, 0)
            rounded = [v >> shift for v in coefs]
            slack = sum(f for v, f in zip(coefs, far, strict=True) if v % (1 << shift))
            ends = (low - base) >> shift, -((base - high) >> shift)
            if inwards:
                ends, slack = (ends[0] + 1, ends[1] - 1), -slack
            reach = 1 + sum(abs(v) * f for v, f in zip(rounded, far, strict=True))
            ends = max(ends[0] - slack, -reach), min(ends[1] + slack, reach)
            state(model, index, rounded, ends)
        return model, variables

    def meets(self, x: Ints) -> bool:
        """Return whether the intervals of all sums of these rows meet those of statements, in whole numbers."""
        if bool(((x < self.given.lower) | (x > self.given.upper)).any()):
            return False
        left = WeightedSums(replace(self.given, lower=x, upper=x), self.free[:0], self.finite)
        return all(a <= 0 <= b for a, b in zip(left.low, left.high, strict=True))
