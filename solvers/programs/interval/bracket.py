"""Rigorous bounds on the number of worlds of a system that is too coupled to count, within a given time.

Components that can be counted are; of the others, the upper bound is that of
`solvers.programs.interval.lagrangian_dual` with the mixtures of `solvers.programs.interval.lagrangian_dual`, the lower
bound that of a heavy histogram and the blocks around it (`solvers.programs.interval.neighbourhoods`).

Source: docs/engines.md, "Coupled worlds, bounded"; the modules named give theirs.

A heavy histogram by CP-SAT and HiGHS: any histogram that meets the statements is a valid start for a lower bound.

The logs of the weights are concave in the count, so that tangents and chords in whole numbers describe them; the
search looks around the mean of the tilted law.

Source: Perron, Didier, "The CP-SAT-LP solver", CP 2023; histograms after docs/mathematics.md, "Cells and histograms".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Component, known_presolve, presolve
from solvers.cells.linear_system import FREE, Propagated, SparseStatements
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import EngineError, Inconclusive, Unsupported
from solvers.foundation.exact import log2_factorial_ratio, log2_multisets
from solvers.foundation.limits import STAGES, Limits
from solvers.histograms.branches import weights_of
from solvers.histograms.decision_diagram import EDGE_BYTES, Layers, layers_of
from solvers.programs.cpsat import FOUND, CellVariables, run
from solvers.programs.interval.lagrangian_dual import (
    PIVOT_WORK,
    TABLEAU_BYTES,
    DualProblem,
    Mixture,
    Tableau,
    newton_work,
)
from solvers.programs.interval.neighbourhoods import Blocks, HistogramNeighbourhood, log2_ratio, moves_of
from solvers.programs.linear_program import by_column, whole_point, whole_program
from solvers.statements.questions.query import Convention

UNIT = 1_000  # a nat in the objective
CHORDS = 14  # breakpoints per cell
MAX_GAIN = 1 << 40
DEAREST = 50.0  # price of a row away from the mean, over that of a cell with variance 1
ENOUGH = 1e6  # relative gap: the first solution will do, CP-SAT improves it
Outcome = Literal["found", "none", "unknown"]


class HeavyHistogramSearch(CellVariables):
    """A CP-SAT model over cells that looks for a heavy histogram."""

    def __init__(self, lower: Ints, upper: Ints) -> None:
        """Make a variable per cell that is not fixed."""
        super().__init__(lower, upper)
        self.gains: list[Any] = []

    def prefer(
        self, tilt: DualProblem, slope: Floats, at: Sequence[int] | None = None, hint: Ints | None = None
    ) -> None:
        """Reward heavy counts of a tilted component, and hint at a start (None: the mean).

        `at` are its cells' places in this model (None: all).
        """
        _, mean, variance = tilt.moments(slope, np.ones(tilt.cells))
        place = list(range(tilt.cells)) if at is None else at
        for bucket in tilt.buckets:
            for i, c in enumerate(bucket.at.tolist()):
                room = int(tilt.part.room[c])
                reach = 5 * math.sqrt(variance[c]) + 3
                other = mean[c] if hint is None else hint[c]
                low, high = min(mean[c], other), max(mean[c], other)
                first, last = max(0, int(low - reach)), min(room, int(high + reach) + 1)
                points = np.unique(np.linspace(first, last, min(CHORDS, last - first + 1)).round().astype(np.int64))
                start = min(room, round(float(mean[c]))) if hint is None else int(hint[c])
                if (cell := self.variables.get(place[c])) is not None:
                    first_row = int(self.lower[place[c]])
                    self.reward(cell - first_row, points, bucket.logs[i])
                    self.model.add_hint(cell, first_row + start)

    def reward(self, y: Any, points: Ints, logs: Floats) -> None:
        """Add a concave gain of y rows: below every chord between neighbouring points."""
        values = np.rint(UNIT * (logs[points] - logs[points].max())).astype(np.int64).tolist()
        if len(points) < 2:
            return
        gain = self.model.new_int_var(-MAX_GAIN, 0, "")
        self.gains.append(gain)
        for p, q, at_p, at_q in zip(points.tolist(), points.tolist()[1:], values, values[1:], strict=False):
            self.model.add((q - p) * gain <= at_p * (q - p) + (at_q - at_p) * (y - p))

    def run(self, limits: Limits, seed: int = 0) -> tuple[Outcome, Ints]:
        """Return ("found", z), ("none", -) where there is provably no histogram, or ("unknown", -) out of time."""
        from ortools.sat.python import cp_model

        options: dict[str, Any] = {"random_seed": seed, "relative_gap_limit": 1e-4}
        if self.gains:
            self.model.maximize(sum(self.gains))
        status, solver = run(self.model, limits.share(0.6), **options)
        if status == cp_model.UNKNOWN and self.gains:
            self.model.clear_objective()  # type: ignore[no-untyped-call]  # any histogram will do
            status, solver = run(self.model, limits, **options)
        if status == cp_model.INFEASIBLE:
            return "none", np.zeros(0, dtype=np.int64)
        return ("found", self.values(solver.value)) if status in FOUND else ("unknown", np.zeros(0, dtype=np.int64))


def _heaviest_of(tilt: DualProblem, slope: Floats, near: Ints | None, limits: Limits) -> tuple[Outcome, Ints]:
    """Return a heavy y of one component by CP-SAT, starting at `near` where one is known (it is the least found)."""
    part = tilt.part
    if part.matrix is None:
        raise TypeError("the component has no matrix")
    search = HeavyHistogramSearch(np.zeros(tilt.cells, dtype=np.int64), part.room)
    for row, low, high in zip(part.matrix, part.low.tolist(), part.high.tolist(), strict=True):
        at = np.flatnonzero(row).astype(np.int64)
        search.state(at, row[at], low, high)
    search.prefer(tilt, slope, hint=near)
    found, y = search.run(limits)
    return ("found", near) if found == "unknown" and near is not None else (found, y)


def _nearest(tilt: DualProblem, slope: Floats, limits: Limits) -> Ints | None:
    """Return a y that meets the statements and is near the mean under the tilt (HiGHS), None where none was found.

    Minimises Σ |y - mean| / deviation. Its answer is checked in whole numbers, its refusals are not believed.
    """
    part = tilt.part
    if part.matrix is None:
        raise TypeError("the component has no matrix")
    _, mean, variance = tilt.moments(slope, np.ones(tilt.cells))
    base = np.clip(np.rint(mean), 0, part.room)
    price = np.minimum(1.0 / (np.sqrt(variance) + 1e-3), DEAREST)
    row, cell = np.nonzero(part.matrix)
    coef, k = part.matrix[row, cell], tilt.cells
    shift = part.matrix @ base.astype(np.int64)
    low = np.where(part.low <= -FREE, -np.inf, part.low - shift)
    high = np.where(part.high >= FREE, np.inf, part.high - shift)
    up_and_down = by_column(np.tile(row, 2), np.concatenate([cell, cell + k]), np.concatenate([coef, -coef]), 2 * k)
    costs, room = np.concatenate([price, price]), np.concatenate([part.room - base, base])
    moved = whole_program(costs, up_and_down, (low, high), room, limits, ENOUGH)
    if moved is None:
        return None
    y = (base + moved[: tilt.cells] - moved[tilt.cells :]).astype(np.int64)
    return y if _meets(part.matrix, part.low, part.high, y) and bool((y <= part.room).all()) else None


def _meets(matrix: NDArray[np.int64], low: Ints, high: Ints, y: Ints) -> bool:
    """Return whether y meets the statements, computed anew."""
    sums = matrix @ y
    return bool(((sums >= low) & (sums <= high)).all() and (y >= 0).all())


Bounds = tuple[float, float]
SET_UP = STAGES["set-up of bounds"].floor
COUNTED_EDGES = 150_000  # of a component that is counted exactly
PER_CELL = 8e-5  # of work: of setting up a cell for a bound or a search, about; not interrupted
STEP = 5e-5  # of work: of a step of whatever looks at the limits here, where nothing else is said
PER_PIECE = 0.1  # of work: of the search for a histogram of one component, about
TERM_BYTES = 48  # of a possible number of rows of a cell: logarithm, magnitude, and terms on the way
ALIVE = 1e-3  # variance under the tilt of a cell worth a place in a basis
ROUNDS = 6  # of mixing and tilting anew
PER_ROUND = 40
CIRCUIT = 24  # cells of the longest circuit tried as a move
SEEDS = 40


def _newton_step(tilt: DualProblem) -> float:
    """Return the work of one Newton step: moments of all cells, and a system of all statements."""
    return 1e-6 * tilt.cells + newton_work(len(tilt.row))


@dataclass(frozen=True)
class WorkStretch:
    """A stretch of work; fractions of it end stages."""

    limits: Limits
    seconds: float
    started: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "started", self.limits.meter.used)

    def left(self, fraction: float) -> float:
        """Return the work until this fraction of it is used."""
        return max(0.0, self.started + fraction * self.seconds - self.limits.meter.used)

    def until(self, fraction: float, each: float = STEP) -> Callable[[], bool]:
        """Return a function that tells whether this fraction is used; each time it is asked counts as so much work."""

        def used() -> bool:
            self.limits.charge(each)
            return self.limits.late() or self.left(fraction) <= 0.0

        return used

    def stage(self, fraction: float, memory: int) -> Limits:
        """Return limits that end when this fraction of the time is used."""
        return replace(self.limits.lasting(self.left(fraction)), memory=min(memory, self.limits.memory))


@dataclass(frozen=True, eq=False)
class BracketCase:
    """A system with a known number of rows: bounds on its cells, the statements in force whatever the choices."""

    system: CellSystem
    linear: SparseStatements
    bounds: Propagated
    rows: int
    convention: Convention

    @cached_property
    def most(self) -> float:
        """An upper bound of log2 of so many rows in the cells that may hold any, whatever the statements say."""
        size = sum(self.system.sizes[c] for c in np.flatnonzero(self.bounds.upper > 0).tolist())
        if not size or not self.rows:
            return 0.0 if not self.rows else -math.inf
        found = log2_multisets(size, self.rows) if self.convention == "multiset" else self.rows * math.log2(size)
        return found + 2.0**-48 * abs(found)

    def around(self, part: Component, y: Ints) -> HistogramNeighbourhood:
        """Return a component with one of its histograms."""
        sizes = tuple(self.system.sizes[c] for c in part.cells.tolist())
        return HistogramNeighbourhood(part, y, sizes, self.bounds.lower[part.cells], self.convention)

    def weight(self, z: Ints, cells: NDArray[np.bool_]) -> Bounds:
        """Return bounds of log2 of the worlds that the counts z of some cells stand for (the orders of all rows)."""
        filled = [(self.system.sizes[c], int(z[c])) for c in np.flatnonzero(cells & (z > 0)).tolist()]
        if self.convention == "multiset":
            terms = [log2_multisets(size, count) for size, count in filled]
        else:
            terms = [count * math.log2(size) for size, count in filled]
            terms.append(log2_factorial_ratio(self.rows, (count for _, count in filled)))
        # Every term is right to a few units in the last place, and fsum adds exactly.
        found, slack = math.fsum(terms), 2.0**-48 * math.fsum(map(abs, terms))
        return found - slack, found + slack


@dataclass(eq=False)
class Piece:
    """A component on the way: its dual problem and λ, the least upper bound (log2), a histogram y and its blocks.

    `counted`: the exact count over the weight of y, as bounds of its log2.
    """

    part: Component
    tilt: DualProblem | None = None
    lam: Floats | None = None
    upper: float = math.inf
    y: Ints | None = None
    counted: Bounds | None = None
    blocks: Blocks | None = None


class Bracket:
    """Bounds on log2 of the number of worlds of one case; `low` and `high` hold whenever the work is stopped."""

    def __init__(self, case: BracketCase, budget: WorkStretch, count_small: bool = True) -> None:
        """Cut the case into components; `count_small` False bounds even those that could be counted."""
        self.case, self.budget, self.count_small = case, budget, count_small
        whole = case.linear is case.system.linear and case.bounds is case.system.bounds and not case.system.choices
        if whole:
            self.presolved = known_presolve(case.system, budget.limits)
        else:
            self.presolved = presolve(case.linear, case.bounds, (), budget.limits)
        self.pieces = [Piece(p) for p in self.presolved.components]
        self.refuted = False
        self.relaxed = bool(case.system.choices)  # the components then leave out what the choices say
        self.lower_bound = -math.inf
        if any(p.part.matrix is None for p in self.pieces):
            raise Unsupported("a component is too large to bound")
        cells = sum(len(p.part.cells) for p in self.pieces)
        if PER_CELL * cells > max(SET_UP, budget.left(1.0)):
            raise Inconclusive(f"too little time to bound {cells:,} cells: that takes about {PER_CELL * cells:,.0f} s")
        held = sum(TERM_BYTES * float(np.exp2(np.ceil(np.log2(p.part.room + 1))).sum()) for p in self.pieces)
        budget.limits.hold(held, f"the bounds on {cells:,} cells")
        budget.limits.keep(self, held)

    @property
    def high(self) -> float:
        """Return the upper bound."""
        if self.refuted:
            return -math.inf
        z, known = self.case.bounds.lower.copy(), self.case.bounds.fixed.copy()
        total = []
        for piece in self.pieces:
            if piece.counted is not None and piece.y is not None:
                z[piece.part.cells] += piece.y
                known[piece.part.cells] = True
                total.append(piece.counted[1])
            else:
                total.append(piece.upper)
        total.append(self.case.weight(z, known)[1])
        if math.inf in total:
            return self.case.most
        return min(self.case.most, math.fsum(total) + 2.0**-50 * math.fsum(map(abs, total)))

    @property
    def low(self) -> float:
        """Return the lower bound; there is a world as soon as there is a histogram, and their number is whole."""
        return -math.inf if self.refuted else self.lower_bound

    def run(self) -> None:
        """Work until everything is tried or the time is up."""
        self.count_pieces()
        open_pieces = [p for p in self.pieces if p.counted is None]
        for i, piece in enumerate(open_pieces):
            self.tilt(piece, 0.08 + 0.20 * (i + 1) / len(open_pieces))
        self.say()
        if self.refuted:
            return
        found = self.choose() if self.case.system.choices else self.search(open_pieces)
        if found == "none":
            self.refuted = True
        if self.refuted:
            return
        self.gather()
        self.say()
        for i, piece in enumerate(open_pieces):
            self.sharpen(piece, 0.72 + 0.14 * (i + 1) / len(open_pieces))
        self.say()
        around = [p for p in self.pieces if p.blocks is not None]
        for i, piece in enumerate(around):
            self.grow(piece, 0.86 + 0.12 * (i + 1) / len(around))
            self.gather()
        self.say()
        if self.low > self.high:
            raise EngineError(f"the lower bound {self.low} exceeds the upper bound {self.high}")

    def say(self) -> None:
        """Report the bounds so far."""
        self.budget.limits.report(f"between 2^{self.low:,.2f} and 2^{self.high:,.2f} worlds")

    def count_pieces(self) -> None:
        """Count the components whose graphs are small."""
        for piece in self.pieces if self.count_small else ():
            try:
                graph = layers_of(piece.part, self.budget.stage(0.08, COUNTED_EDGES * EDGE_BYTES))
                if graph is None:
                    self.refuted = True
                    return
                y = next(graph.paths())
                counted = self.exactly(graph, piece.part, y)
            except (Unsupported, Inconclusive):
                continue
            piece.y, piece.counted = y, counted

    def exactly(self, graph: Layers, part: Component, y: Ints) -> Bounds:
        """Return bounds of log2 of a component's exact count over the weight of y."""
        lower, sizes = self.case.bounds.lower, self.case.system.sizes
        weights = [
            weights_of(sizes[c], int(lower[c]), room, self.case.convention)
            for c, room in zip(part.cells.tolist(), part.room.tolist(), strict=True)
        ]
        own = math.prod(w[k] for w, k in zip(weights, y.tolist(), strict=True))
        return log2_ratio(graph.count(weights)[0], own)

    def tilt(self, piece: Piece, fraction: float) -> None:
        """Find a component's Lagrangian bound."""
        system = self.case.system
        limits = self.budget.stage(fraction, self.budget.limits.room)
        piece.tilt = DualProblem.of(piece.part, system.sizes, self.case.bounds.lower, self.case.convention, limits)
        start = np.zeros(len(piece.tilt.row))
        piece.lam = piece.tilt.minimise(
            start, np.ones(piece.tilt.cells), self.budget.until(fraction, _newton_step(piece.tilt))
        )
        self.improve(piece, piece.tilt.bound_of(piece.lam))

    def improve(self, piece: Piece, bound: float) -> None:
        """Keep an upper bound (natural log) of a component where it is lower than the one known."""
        found = bound / math.log(2)
        piece.upper = min(piece.upper, found + 2.0**-50 * abs(found))

    def sharpen(self, piece: Piece, fraction: float) -> None:
        """Mix sets of determined cells into a component's bound, and tilt anew."""
        tilt, lam = piece.tilt, piece.lam
        if tilt is None or lam is None or self.budget.until(fraction)():
            return
        late = self.budget.until(fraction, _newton_step(tilt))
        slope = tilt.slope(lam)
        alive = tilt.moments(slope, np.ones(tilt.cells))[2] > ALIVE
        entries = int(alive.sum()) * int((piece.part.low == piece.part.high).sum())
        expired = self.budget.until(fraction, STEP + PIVOT_WORK * entries)
        if not entries or not self.budget.limits.fits(TABLEAU_BYTES * entries) or expired():
            return
        mixture = Mixture(tilt, slope, alive, expired)
        self.improve(piece, tilt.bound_of(lam, mixture.whole_share))
        for _ in range(ROUNDS):
            before = piece.upper
            mixture.grow(tilt.slope(lam), PER_ROUND, expired)
            lam = tilt.minimise(lam, mixture.share, late)
            self.improve(piece, tilt.bound_of(lam, mixture.whole_share))
            if expired() or before - piece.upper < 0.01:
                break

    def search(self, pieces: list[Piece]) -> Outcome:
        """Look for a heavy histogram of every open component: first for any near the mean, then for heavier ones.

        "unknown" at once where even a little time for each is too much: without all of them there is no lower bound.
        """
        if PER_PIECE * len(pieces) > self.budget.limits.work_left() + STAGES["histograms of components"].floor:
            self.budget.limits.report(f"the time left is too short for a histogram of {len(pieces):,} components")
            return "unknown"
        for i, piece in enumerate(pieces):
            seconds = 0.95 * self.budget.left(0.72) * (0.7 if i + 1 < len(pieces) else 1.0)
            if piece.tilt is not None and piece.lam is not None and seconds > 0.1:
                near = _nearest(piece.tilt, piece.tilt.slope(piece.lam), self.budget.limits.lasting(seconds))
                if near is None:  # any histogram is better than none, and sooner found
                    near = whole_point(piece.part, self.budget.limits.lasting(0.95 * self.budget.left(0.85)))
                if near is not None:
                    self.start(piece, near)
        self.gather()
        outcome: Outcome = "found"
        begun = 1.0 - self.budget.left(1.0) / max(self.budget.seconds, 1e-9)
        for i, piece in enumerate(pieces):
            if piece.tilt is None or piece.lam is None:
                raise AssertionError("the component was not tilted")
            seconds = self.budget.left(begun + (0.72 - begun) * (i + 1) / len(pieces))
            if piece.y is not None and seconds < 1.0:
                continue
            if PER_CELL * piece.tilt.cells > max(SET_UP, seconds):  # a model of the cells would not be made in time
                outcome = "unknown"
                continue
            own = self.budget.limits.lasting(max(0.2, seconds))
            found, y = _heaviest_of(piece.tilt, piece.tilt.slope(piece.lam), piece.y, own)
            if found == "none":
                return "none"
            if found == "found":
                self.start(piece, y)
            else:
                outcome = "unknown"
        return outcome

    def start(self, piece: Piece, y: Ints) -> None:
        """Take a histogram of a component, checked."""
        part = piece.part
        if part.matrix is None or not _meets(part.matrix, part.low, part.high, y) or bool((y > part.room).any()):
            raise EngineError("a histogram found by search does not meet its statements")
        piece.y = y
        piece.blocks = Blocks(self.case.around(part, y))

    def choose(self) -> Outcome:
        """Look for a histogram that meets one alternative of every choice; its blocks keep that alternative."""
        system, search = self.case.system, HeavyHistogramSearch(self.case.bounds.lower, self.case.bounds.upper)
        search.statements(self.case.linear, np.flatnonzero(system.always).tolist())
        search.alternatives(system.linear, system.choices)
        for piece in self.pieces:
            if piece.tilt is None:
                self.tilt(piece, 0.28)
            if piece.tilt is not None and piece.lam is not None:
                search.prefer(piece.tilt, piece.tilt.slope(piece.lam), piece.part.cells.tolist())
        found, z = search.run(self.budget.limits.lasting(max(0.2, self.budget.left(0.72))))
        if found == "found":
            self.settle(z)
        return found

    def settle(self, z: Ints) -> None:
        """Take the blocks' lower bound from the components that z's alternatives leave."""
        system, active = self.case.system, self.case.system.always.copy()
        wrong = set(system.linear.broken(z).tolist())
        for choice in system.choices:
            met = [a for a in choice if not wrong & set(a)]
            if len(met) != 1:
                raise EngineError("a histogram found by search does not meet one alternative of a choice")
            active[list(met[0])] = True
        linear = system.linear.take(active)
        linear = replace(linear, low=np.maximum(linear.low, self.case.linear.low),
                         high=np.minimum(linear.high, self.case.linear.high))  # fmt: skip
        case = replace(self.case, linear=linear)
        if len(linear.broken(z)):
            raise EngineError("a histogram found by search does not meet its statements")
        inner = Bracket(case, self.budget, self.count_small)
        inner.relaxed = False
        inner.count_pieces()
        for piece in inner.pieces:
            if piece.counted is None:
                inner.start(piece, z[piece.part.cells] - case.bounds.lower[piece.part.cells])
                inner.grow(piece, 0.98)
        inner.gather()
        self.lower_bound = inner.lower_bound

    def gather(self) -> None:
        """Put the lower bound together: the weight of a whole histogram times what the blocks add."""
        if self.relaxed or any(p.y is None for p in self.pieces):
            return
        z = self.case.bounds.lower.copy()
        gains = []
        for piece in self.pieces:
            if piece.y is None:
                return
            z[piece.part.cells] += piece.y
            if piece.counted is not None:
                gains.append(piece.counted[0])
            elif piece.blocks is not None:
                gains.append(piece.blocks.log2)
        low = self.case.weight(z, np.ones(len(z), dtype=bool))[0]
        total = math.fsum([low, *gains])
        self.lower_bound = max(self.lower_bound, total - 2.0**-50 * abs(total))

    def grow(self, piece: Piece, fraction: float) -> None:
        """Grow a component's blocks: by moves of two cells up and two down first, then by circuits of many bases."""
        blocks, expired = piece.blocks, self.budget.until(fraction)
        if blocks is None or piece.part.matrix is None or expired():
            return
        limits = self.budget.stage(fraction, self.budget.limits.room)
        blocks.grow(moves_of(blocks.around, limits), limits)
        counts = (blocks.around.y + blocks.around.minimum).astype(np.float64)
        cells = np.flatnonzero(counts > 0)
        if piece.tilt is not None and piece.lam is not None:
            variance = piece.tilt.moments(piece.tilt.slope(piece.lam), np.ones(piece.tilt.cells))[2]
            cells = np.flatnonzero(variance > ALIVE)
            counts = variance + counts
        entries = len(piece.part.matrix) * len(cells)
        expired = self.budget.until(fraction, STEP + PIVOT_WORK * entries)
        if not limits.fits(TABLEAU_BYTES * entries):
            return
        random = np.random.default_rng(20031)
        for seed in range(SEEDS):
            if expired() or not len(cells):
                return
            noise = np.exp(random.normal(size=len(cells))) if seed else np.ones(len(cells))
            table = Tableau(piece.part.matrix[:, cells], counts[cells] * noise, expired)
            circuits = [tuple(cells[list(c)].tolist()) for c in table.circuits() if len(c) <= CIRCUIT]
            blocks.failed.clear()
            blocks.grow(circuits, limits)
