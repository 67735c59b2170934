"""Better histograms by moving rows from cell to cell: simulated annealing, a heat bath over the cell a row moves to.

What a row more, or less, is worth in every cell is kept up to date, so that a move costs what its counts touch. Rows
may also come and go where their number is not known: they then move from and to a cell of no count.

Source: Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated annealing", Science 220, 1983; heat bath: Creutz,
Physical Review D 21, 1980.

The CP-SAT model of the greatest sum of gains: secants in whole numbers, rounded outwards.

Its bound holds for the gains themselves up to their floating-point error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cell_model import CellModel
from solvers.programs.concave.terms import ConcaveTerm, Gains, binding
from solvers.programs.cpsat import refuse, run
from solvers.statements.release import UNBOUNDED

GAP = 1e-4  # nats between a histogram and the bound that count as proved
FINE = 100_000  # units of the objective per nat and per noisy statement
FINER = 1_000  # times as fine, where rounding keeps an optimum from being proved
FLOAT = 1e-6  # units that are taken for errors of floating point
MAX_UNITS = 1 << 57  # the objective's greatest number
STRETCH = 1 << 14  # counts among which the greatest gain is looked for one by one
MAX_COMMON = 10_000  # slopes are whole numbers of units where their common denominator is at most this


@dataclass(eq=False)
class Exact:
    """The CP-SAT model: cells, one count (less the best) and gain per noisy statement, in units of 1 / `unit` nats."""

    system: CellSystem
    given: Sequence[ConcaveTerm]
    fine: int = FINE
    model: CellModel = field(init=False)
    unit: int = field(init=False)
    counts: list[Any] = field(default_factory=list)
    gains: list[Any] = field(default_factory=list)
    lines: list[set[tuple[int, int]]] = field(default_factory=list)
    starts: list[set[int]] = field(default_factory=list)
    maximum: float = 0.0

    def __post_init__(self) -> None:
        """Make the variables; gains are bounded by secants alone."""
        self.model, linear = CellModel(self.system), self.system.linear
        falls = [g.top - float(g.value(np.array([g.low, g.high], dtype=np.int64)).min()) for g in self.given]
        if sum(falls) > MAX_UNITS:
            raise Unsupported(
                f"likelihoods of the counts that the statements leave differ by {sum(falls):.3g} nats, more than is "
                "computed: look at the scale of the noise and at the number of rows"
            )
        common = math.lcm(*(g.denominator for g in self.given))
        self.maximum = MAX_UNITS / (1 + sum(falls))
        common = common if common <= max(MAX_COMMON, self.maximum) else 1
        wanted = min(self.fine * len(self.given), self.maximum)
        exact = all(g.whole for g in self.given) and common > 1
        self.unit = common if exact else max(1, round(wanted) // common) * common
        for g, fall in zip(self.given, falls, strict=True):
            span = slice(int(linear.start[g.statement]), int(linear.start[g.statement + 1]))
            expression, base = self.model.sum_of(linear.col[span])
            # Counts are told from the best one: products with slopes then stay as small as the gains are.
            count = self.model.model.new_int_var(g.low - g.best, g.high - g.best, "")
            self.model.model.add(expression + (base - g.best) == count)
            self.counts.append(count)
            self.gains.append(self.model.model.new_int_var(-math.ceil(fall * self.unit) - 2, 0, ""))
            self.lines.append(set())
            self.starts.append(set())

    def finer(self, room: float) -> Exact | None:
        """Return the model in smaller units, which round less, of counts at most `room` nats below their best ones.

        None where whole numbers hold no more.
        """
        found = Exact(self.system, [g.within(room) for g in self.given], self.fine * FINER)
        if found.unit <= self.unit:
            return None
        for i, starts in enumerate(self.starts):
            found.add(i, starts)
        return found

    def add(self, i: int, starts: set[int]) -> bool:
        """Add secants of gain i, rounded so that they stay above it; tell whether any was new."""
        g, fresh = self.given[i], False
        self.starts[i] |= starts
        # What stood further out is now at the end.
        for k in {min(max(k, g.low), g.high - 1) for k in starts} if g.low < g.high else ():
            line = _outwards(g, k, self.unit)
            if line not in self.lines[i]:
                self.lines[i].add(line)
                self.model.model.add(self.gains[i] <= line[0] * self.counts[i] + line[1])
                fresh = True
        return fresh

    def refine(self, counts: Ints) -> bool:
        """Add the secants that end at the counts found; tell whether any was new."""
        fresh = False
        for i, g in enumerate(self.given):
            c = int(counts[g.statement])
            fresh |= self.add(i, {k for k in (c - 1, c) if g.low <= k < g.high})
        return fresh

    def solve(self, limits: Limits) -> tuple[Ints | None, float]:
        """Return a best histogram under the secants (None: not found in time), and a bound in units."""
        from ortools.sat.python import cp_model

        model = self.model.model
        model.maximize(sum(self.gains))
        status, solver = run(model, limits, absolute_gap_limit=max(0.5, self.unit * GAP / 4))
        refuse(model, status)
        if status == cp_model.INFEASIBLE:
            raise ContradictionError("no dataset agrees with the exact statements and the support of the noise", ())
        if status == cp_model.UNKNOWN:
            return None, 0.0
        return self.model.histogram(solver.value), solver.best_objective_bound + 1e-6

    def hint(self, z: Ints) -> None:
        """Start the next solve at a histogram."""
        self.model.model.clear_hints()  # type: ignore[no-untyped-call]
        self.model.hint(z)
        counts = self.system.linear.sums(z)
        for i, g in enumerate(self.given):  # CP-SAT takes up a hint at once only where it names every variable
            c = int(counts[g.statement]) - g.best
            self.model.model.add_hint(self.counts[i], c)
            self.model.model.add_hint(self.gains[i], min([0, *(slope * c + base for slope, base in self.lines[i])]))


def _outwards(g: ConcaveTerm, k: int, unit: int) -> tuple[int, int]:
    """Return (slope, constant) in whole units of a line above the gain at every count, near its secant from k.

    The line is a function of the count less the best one. It is rounded to be less steep, and raised where that would
    cut off counts between it and the best one.
    """
    a, slope = g.above(k)
    falling = k >= g.best
    whole = math.ceil(slope * unit - FLOAT) if falling else math.floor(slope * unit + FLOAT)
    anchor, value = (k, a) if falling else (k + 1, a + slope)
    constant = math.ceil(value * unit - FLOAT) - whole * (anchor - g.best)

    def over(counts: Ints) -> Floats:
        return unit * (g.value(counts) - g.top) - whole * (counts - g.best) - constant

    between = _summit(over, min(g.best, anchor), max(g.best, anchor))
    return whole, constant + max(0, math.ceil(float(over(between).max()) - FLOAT))


def _summit(concave: Callable[[Ints], Floats], low: int, high: int) -> Ints:
    """Return whole numbers from low to high with the one where a concave function is greatest: all where they are few.

    Else a stretch of it, wide enough for what floats blur. Cost: logarithmic in the range.
    """
    while high - low > STRETCH:
        middle = (low + high) // 2
        left, right = concave(np.array([middle - STRETCH // 8, middle + STRETCH // 8], dtype=np.int64))
        if left < right:
            low = middle - STRETCH // 8
        else:
            high = middle + STRETCH // 8
    return np.arange(low, high + 1, dtype=np.int64)


REACH = 100  # counts on both sides of the present one whose values are kept
CANDIDATES = 8_000  # cells that rows may move to: those worth most by the relaxation
PENALTY = 20.0  # what a row too many or too few costs, in steps of a usual gain
HOT, WARM, COLD = 0.8, 0.5, 0.15  # temperatures, in steps of a usual gain
PATIENCE = 3  # rounds without anything better before the search ends
MAX_STEPS = 1_000_000
LOOK = 64  # steps between looks at the clock
DRIFT = 1 << 14  # steps between sums computed anew


@dataclass(frozen=True, eq=False)
class StartHistogram:
    """A histogram to start from, and by how much a row in each cell is worth less than the best (0 where not known)."""

    rows: Ints
    loss: Floats


def improved(
    system: CellSystem,
    gains: Gains,
    start: StartHistogram,
    limits: Limits,
    bound: float = math.inf,
    steps: int = MAX_STEPS,
) -> tuple[Ints, float] | None:
    """Return the best histogram found that meets every statement, and its sum; None where none was met.

    Stops at the bound, after so many steps, when the time is up, or where rounds of doubling length bring nothing more.
    The same steps are taken whatever the machine does, until the time is up. Cost: 50 to 500 us per step.
    """
    best, value = start.rows, gains.total(system.linear.sums(start.rows))
    found = (best, value) if value > -math.inf and system.satisfied(best) else None
    search, enough = ConcaveSearch(system, gains, start), bound - math.fsum(gains.top.tolist())
    search.approach(limits, enough)
    length, idle, turn = max(50, min(2_000, len(search.cells))), 0, 0
    while steps > 0 and idle < PATIENCE and not limits.expired() and (found is None or found[1] < bound):
        hot = WARM if turn % 2 == 0 else HOT
        search.anneal(min(length, steps), hot * search.unit, COLD * search.unit, limits, enough)
        steps, turn = steps - length, turn + 1
        z = search.best_histogram()
        value = gains.total(system.linear.sums(z)) if system.satisfied(z) else -math.inf
        idle += 1
        if value > -math.inf and (found is None or value > found[1] + 1e-9):
            found, idle = (z, value), 0
        if found is not None:
            limits.report(f"local search: round {turn}, log-likelihood {found[1]:.4f}, at most {bound:.4f}")
        length *= 2
    return found


class ConcaveSearch:
    """The state of a search: rows per cell, counts, and what a row more or less is worth in every cell.

    Moves are of `stride` rows at once.
    """

    def __init__(self, system: CellSystem, gains: Gains, start: StartHistogram, seed: int = 0) -> None:
        self.random, self.stride = np.random.default_rng(seed), 1
        self.system, self.start = system, start.rows
        stated = binding(system)
        stated[gains.statement] = False
        if system.total is not None:
            stated[system.total] = False
        linear = system.linear
        odd = np.zeros(len(linear), dtype=bool)
        odd[linear.row[linear.coef != 1]] = True
        hard = ~system.always | (stated & odd)
        soft = np.flatnonzero(stated & ~odd)
        rows = system.release.rows
        maximum = rows.high if rows.high is not None else sum(start.rows.tolist())
        self.gains = Gains(
            [*gains.each, *(_limit_of(s, linear.low[s], min(linear.high[s], maximum)) for s in soft.tolist())]
        )
        self.unit = _usual(gains)
        self._cells(start, hard)
        spare = np.array([maximum - sum(start.rows.tolist())])
        self.rows = np.concatenate([start.rows[self.cells], spare])
        self.lower = np.concatenate([system.bounds.lower[self.cells], [0]])
        self.upper = np.concatenate([system.bounds.upper[self.cells], [max(0, maximum - rows.low)]])
        self.refresh()
        self.best, self.best_score = self.rows.copy(), self.score

    def _cells(self, start: StartHistogram, hard: NDArray[np.bool_]) -> None:
        """Choose the cells, and say which counts each is in and which cells rows may be exchanged with."""
        from scipy.sparse import coo_array, csr_array

        linear, free = self.system.linear, self.system.free
        rank = np.where(start.rows[free] > self.system.bounds.lower[free], -1.0, start.loss[free])
        occupied = int((rank < 0).sum())
        self.cells = np.sort(free[np.argsort(rank, kind="stable")[: max(CANDIDATES, occupied)]]).astype(np.int64)
        place = np.full(linear.columns, -1, dtype=np.int64)
        place[self.cells] = np.arange(len(self.cells))
        gain = np.full(len(linear), -1, dtype=np.int64)
        gain[self.gains.statement] = np.arange(len(self.gains))
        kept = (gain[linear.row] >= 0) & (place[linear.col] >= 0)
        at = place[linear.col[kept]], gain[linear.row[kept]]
        shape = len(self.cells) + 1, len(self.gains)
        self.by_cell: Any = csr_array(coo_array((np.ones(len(at[0])), at), shape=shape))
        self.by_cell.sort_indices()
        self.by_gain: Any = csr_array(self.by_cell.T)
        key: list[list[tuple[int, int]]] = [[] for _ in range(shape[0])]
        for e in np.flatnonzero(hard[linear.row] & (place[linear.col] >= 0)).tolist():
            key[place[linear.col[e]]].append((int(linear.row[e]), int(linear.coef[e])))
        kinds: dict[tuple[tuple[int, int], ...], int] = {}
        self.kind = np.array([kinds.setdefault(tuple(sorted(k)), len(kinds)) for k in key], dtype=np.int64)
        self.one_kind = len(kinds) == 1

    def refresh(self) -> None:
        """Compute counts, values and worths anew."""
        z = self.histogram(self.rows)
        self.counts = self.system.linear.sums(z)[self.gains.statement]
        every = np.arange(len(self.gains), dtype=np.int64)
        self.first = self.counts - REACH * self.stride
        self.table = self.values(every)
        self.up, self.down = np.zeros(len(every)), np.zeros(len(every))
        self.look(every)
        self.more, self.less = self.by_cell @ self.up, self.by_cell @ self.down
        self.score = float(self.table[:, REACH].sum())

    def values(self, which: Ints) -> Floats:
        """Return the gains around their counts, less PENALTY for every row outside their range."""
        counts = self.first[which, None] + self.stride * np.arange(2 * REACH + 1)
        inside = np.clip(counts, self.gains.low[which, None], self.gains.high[which, None])
        again = np.broadcast_to(which[:, None], counts.shape)
        return np.asarray(self.gains.values(again, inside) - PENALTY * self.unit * np.abs(counts - inside))

    def look(self, which: Ints) -> None:
        """Look up what a row more and less is worth to these gains."""
        at = (self.counts[which] - self.first[which]) // self.stride
        beyond = which[(at < 1) | (at >= 2 * REACH)]
        if len(beyond):
            self.first[beyond] = self.counts[beyond] - REACH * self.stride
            self.table[beyond] = self.values(beyond)
            at = (self.counts[which] - self.first[which]) // self.stride
        here = self.table[which, at]
        self.up[which], self.down[which] = self.table[which, at + 1] - here, self.table[which, at - 1] - here

    def gains_of(self, cell: int) -> Ints:
        """Return the gains in which a cell counts."""
        return np.asarray(self.by_cell.indices[self.by_cell.indptr[cell] : self.by_cell.indptr[cell + 1]])

    def spread(self, gains: Ints, values: Floats) -> Floats:
        """Return per cell the sum of the values of those of the gains in which it counts."""
        begin, end = self.by_gain.indptr[gains], self.by_gain.indptr[gains + 1]
        length = end - begin
        if 4 * int(length.sum()) > self.by_cell.nnz:
            whole = np.zeros(len(self.gains))
            whole[gains] = values
            return np.asarray(self.by_cell @ whole)
        cells = np.concatenate([self.by_gain.indices[b:e] for b, e in zip(begin.tolist(), end.tolist(), strict=True)])
        return np.bincount(cells, np.repeat(values, length), len(self.rows)).astype(np.float64)

    def worth(self, cell: int) -> Floats:
        """Return what moving a row from a cell to each other is worth; -inf where it may not."""
        out: Floats = self.less[cell] + self.more
        shared = self.gains_of(cell)
        bent = -(self.up[shared] + self.down[shared])  # a count that keeps its row has neither
        curved = bent != 0
        if curved.any():
            out += self.spread(shared[curved], bent[curved])
        out[cell] = 0.0
        out[(self.rows > self.upper - self.stride) & (np.arange(len(out)) != cell)] = -np.inf
        if not self.one_kind:
            out[self.kind != self.kind[cell]] = -np.inf
        return out

    def move(self, a: int, b: int, worth: float) -> None:
        """Move a row from cell a to b, and bring what depends on it up to date."""
        self.rows[a] -= self.stride
        self.rows[b] += self.stride
        changed = np.setxor1d(self.gains_of(a), self.gains_of(b), assume_unique=True)
        self.counts[self.gains_of(a)] -= self.stride
        self.counts[self.gains_of(b)] += self.stride
        up, down = self.up[changed], self.down[changed]
        self.look(changed)
        for before, now, sums in ((up, self.up, self.more), (down, self.down, self.less)):
            step = now[changed] - before
            moved = step != 0
            if moved.any():
                np.add(sums, self.spread(changed[moved], step[moved]), out=sums)
        self.score += worth
        if self.score > self.best_score + 1e-9:
            self.best, self.best_score = self.rows.copy(), self.score

    def approach(self, limits: Limits, enough: float) -> None:
        """Move many rows at once, ever fewer, where the counts are far from their best ones."""
        far = int(np.abs(self.counts - self.gains.best).max(initial=0))
        for power in range(far.bit_length() - 1, 0, -1):
            self.stride = 1 << power
            warmth = COLD * self.unit * self.stride
            self.anneal(max(50, min(400, len(self.cells))), warmth, warmth / 2, limits, enough)
        self.stride = 1

    def anneal(self, steps: int, hot: float, cold: float, limits: Limits, enough: float) -> None:
        """Take so many steps from the best histogram, ever colder; stop at a score that is enough."""
        self.rows = self.best.copy()
        self.refresh()
        self.best_score = self.score
        for step in range(steps):
            if step % LOOK == 0 and (limits.expired() or self.best_score >= enough):
                return
            if step % DRIFT == DRIFT - 1:
                self.refresh()
            warmth = hot * (cold / hot) ** (step / steps)
            held = np.flatnonzero(self.rows >= self.lower + self.stride)
            if not len(held):
                return
            a = int(held[self.random.integers(len(held))])
            worth = self.worth(a)
            odds = np.cumsum(np.exp((worth - worth.max()) / warmth))
            b = int(np.searchsorted(odds, self.random.random() * odds[-1], side="right"))
            if b != a and b < len(odds):
                self.move(a, b, float(worth[b]))

    def histogram(self, rows: Ints) -> Ints:
        """Return rows per cell of the system."""
        z = self.start.copy()
        z[self.cells] = rows[:-1]
        return z

    def best_histogram(self) -> Ints:
        """Return the best rows per cell so far."""
        return self.histogram(self.best)


def _limit_of(statement: int, low: int, high: int) -> ConcaveTerm:
    """Return a gain that only keeps a count between bounds."""
    first = max(0, int(low)) if low > -UNBOUNDED else 0
    return ConcaveTerm(statement, np.zeros_like, first, int(high), first, 0.0, shape="limits")


def _usual(gains: Gains) -> float:
    """Return what a count usually loses by the first step from its best, in nats."""
    which = np.arange(len(gains), dtype=np.int64)
    steps: Sequence[Floats] = [-gains.values(which, gains.best + sign) for sign in (1, -1)]
    lost = np.concatenate(steps)
    lost = lost[np.isfinite(lost) & (lost > 0)]
    return float(np.median(lost)) if len(lost) else 1.0
