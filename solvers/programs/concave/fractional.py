"""The greatest sum of gains over fractional histograms, by linear programs (HiGHS), and a bound proved from it.

Every count is its best one plus segments upwards less segments downwards, each with the gain's slope there; segments
are split where the multipliers favour a count inside. Many cells come in by their prices, as columns are generated.

Source: Dantzig, "Linear Programming and Extensions", 1963, chapter 24 (separable functions); Gilmore, Gomory,
Operations Research 9, 1961 (columns by their prices); Hay, Rastogi, Miklau, Suciu, VLDB 2010 (consistency).

A rough fractional histogram for noisy counts by multiplicative weights: it says with which cells to begin.

Source: Arora, Hazan, Kale, "The multiplicative weights update method", Theory of Computing 8, 2012; Hardt, Ligett,
McSherry, "A simple and practical algorithm for differentially private data release" (MWEM), NIPS 2012.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.programs.concave.separable import multipliers_by_block
from solvers.programs.concave.terms import Gains, binding, conjugates, gain_bound
from solvers.programs.linear_program import LinearProgram
from solvers.statements.release import UNBOUNDED

if TYPE_CHECKING:
    from scipy.sparse import csc_array

WEIGHING_ROUNDS = 100
STEP = 2.0  # greatest change of a logarithm in the first round
MIN_LOG = 0.3  # what a count of nothing is taken for, and the least logarithm's number


def _weighed(gains: Gains, by_cell: Any, rows: int, limits: Limits) -> Floats:
    """Return weights (cells,) that sum to the number of rows, with counts near the best ones; `by_cell` (cells, gains).

    Every round weights grow where a row more is worth more: secants as wide as half of the mean distance from the best
    counts stand for the slopes. Cost: two products with the matrix per round.
    """
    from scipy.sparse import csr_array

    matrix = csr_array(by_cell, dtype=np.float32)
    by_gain = csr_array(matrix.T)
    which = np.arange(len(gains), dtype=np.int64)
    sizes = np.maximum(1.0, np.diff(by_gain.indptr))
    logs = matrix @ np.log(np.maximum(gains.best, MIN_LOG) / sizes) / max(1.0, matrix.nnz / matrix.shape[0])
    for turn in range(WEIGHING_ROUNDS):
        weights = np.exp(np.maximum(logs - logs.max(), -60.0))
        weights *= rows / weights.sum()
        if limits.expired():
            break
        counts = by_gain @ weights
        reach = max(1.0, float(np.abs(counts - gains.best).mean()) / 2)
        below = np.clip(np.rint(counts - reach), gains.low, gains.high).astype(np.int64)
        above = np.clip(np.rint(counts + reach), gains.low, gains.high).astype(np.int64)
        slope = (gains.values(which, above) - gains.values(which, below)) / np.maximum(1, above - below)
        worth = matrix @ slope
        worth -= float(worth @ weights) / rows
        logs = np.log(np.maximum(weights, np.exp(-60.0))) + STEP / (1 + turn / 4) ** 0.5 * worth / max(
            1e-300, float(np.abs(worth).max())
        )
    return np.asarray(weights, dtype=np.float64)


ROUNDS = 200  # of columns and segments
NEAR = 1e-7  # nats that a count may be worth more than its segment says before it is split
SAME = 1e-9  # relative difference of slopes that are taken as one segment
MAX_FIRST_ENTRIES = 300_000  # entries of cells that are taken into the first program all at once
FIRST = 2  # cells per gain that begin, where they are more
EACH_ROUND = 1_000  # cells that come in at once, at most
CHEAP = 1e-7  # nats below which a cell's price is none


@dataclass(frozen=True, eq=False)
class ConcaveRelaxation:
    """What the linear relaxation says: `bound` is proved to be at least the sum of every histogram.

    `value` is the optimum to the solver's tolerance (NaN where it was not reached), `rows` (cells,) a fractional
    histogram (a rough one where the program was not solved; None: not even that), `counts` those of the gains, `loss`
    (cells,) by how much a row there is worth less than the best, in nats; `worth` (statements,): its sum over the
    statements that count a row is the row's worth. `program` goes on from there.
    """

    bound: float
    value: float
    rows: Floats | None
    counts: Floats | None
    loss: Floats
    worth: Floats
    program: ConcaveMaster


def relax(system: CellSystem, gains: Gains, limits: Limits) -> ConcaveRelaxation:
    """Return what the linear relaxation says in half of the time left, all of it where its optimum was found sooner.

    Alternatives are left out, so that the bound holds for each of them. Cost: a linear program over gains and cells.
    """
    share = limits.stage("concave relaxation")
    master = ConcaveMaster(system, gains, share)
    alone = multipliers_by_block(system, gains)
    bound = gain_bound(system, gains, alone, master.others, np.zeros(len(master.others)))
    value, tops = math.nan, math.fsum(gains.top.tolist())
    for turn in range(ROUNDS):
        if not len(gains) or not master.solve():
            break
        limits.report(f"linear relaxation: round {turn}, {master.taken.sum():,} cells, log-likelihood "
                      f"{tops - master.lost:.4f}")  # fmt: skip
        fresh = master.split()
        if not (master.enter() or fresh):
            value = tops - master.lost
            break
    if master.rows is not None:
        bound = min(bound, gain_bound(system, gains, master.duals[0], master.others, -master.duals[1]))
    worth = np.zeros(len(system.linear))
    worth[gains.statement], worth[master.others] = master.duals
    rows = master.rough() if master.rows is None else master.rows
    return ConcaveRelaxation(bound, value, rows, master.counts, np.maximum(0.0, master.loss()), worth, master)


@dataclass(eq=False)
class ConcaveMaster:
    """The linear program over some cells and the segments of every gain: it minimises what is lost against the tops."""

    system: CellSystem
    gains: Gains
    limits: Limits
    others: Ints = field(init=False)
    program: LinearProgram = field(init=False)
    taken: NDArray[np.bool_] = field(init=False)
    rows: Floats | None = None
    counts: Floats | None = None
    lost: float = math.inf
    duals: tuple[Floats, Floats] = field(init=False)

    def __post_init__(self) -> None:
        """Make the rows, the segments and the first cells."""
        from scipy.sparse import coo_array, csc_array, csr_array

        system, gains, linear = self.system, self.gains, self.system.linear
        stated = binding(system)
        stated[gains.statement] = False
        self.others = np.flatnonzero(stated).astype(np.int64)
        self.duals = np.zeros(len(gains)), np.zeros(len(self.others))
        order = np.concatenate([gains.statement, self.others])
        place = np.full(len(linear), -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        kept = place[linear.row] >= 0
        entries = linear.coef[kept].astype(np.float64), (place[linear.row[kept]], linear.col[kept])
        self.matrix = csc_array(coo_array(entries, shape=(len(order), linear.columns)))
        self.by_cell = csr_array(self.matrix.T)
        fixed = system.bounds.fixed
        base = self.matrix @ np.where(fixed, system.bounds.lower, 0).astype(np.float64)
        low = np.concatenate([gains.best, linear.low[self.others]]).astype(np.float64)
        high = np.concatenate([gains.best, linear.high[self.others]]).astype(np.float64)
        low[low <= -UNBOUNDED], high[high >= UNBOUNDED] = -math.inf, math.inf
        self.program = LinearProgram(low - base, high - base, presolve=True, primal=True)
        self.cells: list[int] = []
        self.column_of_cell: list[int] = []
        self.segments = Segments()
        self.column_of_segment: list[int] = []
        self.add_segments(_first_segments(gains))
        self.taken = fixed.copy()
        self.add_cells(self.first_cells())

    def first_cells(self) -> Ints:
        """Return the cells of the first program: all where they are few, else those that a rough solution fills."""
        free, m, rows = self.system.free, len(self.gains), self.system.release.rows
        if self.matrix.nnz <= MAX_FIRST_ENTRIES or not m or not rows.high:
            return free
        weights = _weighed(self.gains, self.by_cell[:, :m], rows.high, self.limits)
        return np.sort(free[np.argsort(-weights[free], kind="stable")[: FIRST * m]])

    def rough(self) -> Floats | None:
        """Return a fractional histogram that is near the noisy counts and heeds nothing else."""
        rows, fixed = self.system.release.rows, self.system.bounds.fixed
        if not rows.high or not len(self.gains) or fixed.any():
            return None
        return _weighed(self.gains, self.by_cell[:, : len(self.gains)], rows.high, self.limits)

    def whole(self, start: Ints, limits: Limits) -> Ints:
        """Return whole rows found by HiGHS' branch and bound from a histogram; rounded, not checked."""
        program, cells = self.program, np.array(self.column_of_cell, dtype=np.int64)
        if program.busy:
            return start.copy()
        program.integral(cells)
        away = self.system.linear.sums(start)[self.gains.statement] - self.gains.best
        some, values = self.segments, np.zeros(program.columns)
        values[cells] = start[self.cells]
        inside = np.clip(some.sign * away[some.gain] - some.begin, 0, some.end - some.begin)
        values[self.column_of_segment] = inside
        program.start(values)
        z = start.copy()
        try:
            found = program.run(limits).x
        except Inconclusive:
            return z
        if len(found) == program.columns and len(self.gains):
            z[self.cells] = np.rint(found[cells]).astype(np.int64)
        return z

    def add_cells(self, cells: Ints) -> None:
        """Take cells into the program."""
        some, bounds = self.matrix[:, cells], self.system.bounds
        self.add_columns(np.zeros(len(cells)), bounds.lower[cells], bounds.upper[cells], some)
        self.column_of_cell += range(self.program.columns - len(cells), self.program.columns)
        self.cells += cells.tolist()
        self.taken[cells] = True

    def add_segments(self, new: Segments) -> None:
        """Take segments into the program: upwards they count less, downwards more, so that a row stays at the best."""
        from scipy.sparse import coo_array, csc_array

        k = len(new.gain)
        if k:
            shape = self.matrix.shape[0], k
            some = csc_array(coo_array((-new.sign.astype(float), (new.gain, np.arange(k))), shape=shape))
            self.add_columns(new.slope, np.zeros(k), new.end - new.begin, some)
            self.column_of_segment += range(self.program.columns - k, self.program.columns)
            self.segments = self.segments.joined(new)

    def add_columns(self, cost: Floats, low: Ints | Floats, high: Ints | Floats, some: csc_array) -> None:
        """Take columns into the program."""
        self.program.add(cost, (low, high), (some.indptr, some.indices, some.data))

    def solve(self) -> bool:
        """Solve the program; tell whether its optimum was found in time. With too few cells all are taken in."""
        try:
            found = self.program.run(self.limits)
        except Inconclusive:
            return False
        if found.infeasible and not self.taken.all():
            self.add_cells(np.flatnonzero(~self.taken).astype(np.int64))
            return self.solve()
        if not found.optimal:
            return False
        m = len(self.gains)
        rows: Floats = np.where(self.system.bounds.fixed, self.system.bounds.lower, 0).astype(np.float64)
        rows[self.cells] = found.x[self.column_of_cell]
        self.rows = rows
        inside = found.x[self.column_of_segment]
        moved = np.bincount(self.segments.gain, self.segments.sign * inside, m).astype(np.float64)
        self.counts, self.duals = self.gains.best + moved, (found.duals[:m], found.duals[m:])
        self.lost = found.value
        return True

    def prices(self) -> Floats:
        """Return the reduced cost of every cell: below 0 a row more in it would lose less."""
        return np.asarray(-(self.by_cell @ np.concatenate(self.duals)))

    def loss(self) -> Floats:
        """Return the prices, of cells that must stay as they are infinity."""
        return np.where(self.system.bounds.fixed, np.inf, self.prices())

    def enter(self) -> bool:
        """Take in the cells with the best prices; tell whether there were any."""
        prices = np.where(self.taken, 0.0, self.prices())
        cheap = np.flatnonzero(prices < -CHEAP)
        some = cheap[np.argsort(prices[cheap], kind="stable")[:EACH_ROUND]]
        self.add_cells(np.sort(some).astype(np.int64))
        return bool(len(some))

    def split(self) -> bool:
        """Split segments where the multipliers make a count inside them worth more than they say; tell of any.

        Where there are none, the program's optimum is that of the gains themselves.
        """
        segments, gains = self.segments, self.gains
        wanted = conjugates(gains, self.duals[0])[0] - gains.best
        at = np.flatnonzero(segments.end - segments.begin > 1)
        gain, sign, begin, end = (a[at] for a in (segments.gain, segments.sign, segments.begin, segments.end))
        k = sign * wanted[gain]
        inside = (k > begin) & (k < end)

        def value(places: Ints) -> Floats:
            return gains.values(gain, gains.best[gain] + sign * places)

        inner = np.clip(k, begin, end)
        predicted = value(begin) - segments.slope[at] * (inner - begin)
        cut = inside & (value(inner) > predicted + NEAR)
        ends = [begin, np.maximum(begin, inner - 1), inner, np.minimum(end, inner + 1), end]
        for i in at[cut].tolist():
            self.program.close(self.column_of_segment[i])
        kept = np.ones(len(segments.gain), dtype=bool)
        kept[at[cut]] = False
        self.column_of_segment = np.array(self.column_of_segment, dtype=np.int64)[kept].tolist()
        self.segments = segments.take(kept)
        for p, q in itertools.pairwise(ends):
            slope = (value(p) - value(q)) / np.maximum(1, q - p)
            self.add_segments(Segments(gain, sign, p, q, slope).take(cut & (q > p)))
        return bool(cut.any())


@dataclass(frozen=True, eq=False)
class Segments:
    """Stretches of counts, told from the best: `begin`..`end` rows above (sign 1) or below, lost per row: `slope`."""

    gain: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sign: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    begin: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    end: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    slope: Floats = field(default_factory=lambda: np.zeros(0))

    def take(self, kept: NDArray[np.bool_]) -> Segments:
        """Return those where the mask holds."""
        return Segments(self.gain[kept], self.sign[kept], self.begin[kept], self.end[kept], self.slope[kept])

    def joined(self, other: Segments) -> Segments:
        """Return these and the others behind them."""
        names = ("gain", "sign", "begin", "end", "slope")
        return Segments(*(np.concatenate([getattr(self, n), getattr(other, n)]) for n in names))


def _first_segments(gains: Gains) -> Segments:
    """Return segments of doubling length on both sides of every best count; those of one slope are one."""
    which, out = np.arange(len(gains), dtype=np.int64), Segments()
    for sign, room in ((1, gains.high - gains.best), (-1, gains.best - gains.low)):
        begin, at, slope = (
            np.zeros(len(gains), dtype=np.int64),
            np.zeros(len(gains), dtype=np.int64),
            np.zeros(len(gains)),
        )
        step = 1
        while (at < room).any():
            end = np.minimum(at + step, room)
            with np.errstate(invalid="ignore", divide="ignore"):
                lost = gains.values(which, gains.best + sign * at) - gains.values(which, gains.best + sign * end)
                new = lost / (end - at)
            longer = (at > begin) & (end > at) & (np.abs(new - slope) > SAME * np.abs(new))
            out = out.joined(Segments(which, sign + 0 * which, begin, at, slope).take(longer))
            begin, slope = np.where(longer, at, begin), np.where((end > at) & (longer | (at == begin)), new, slope)
            at, step = end, 2 * step if (at > 0).any() else step
        out = out.joined(Segments(which, sign + 0 * which, begin, at, slope).take(at > begin))
    return out
