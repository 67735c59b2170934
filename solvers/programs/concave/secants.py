"""The CP-SAT model of the greatest sum of gains: secants in whole numbers, rounded outwards.

Its bound holds for the gains themselves up to their floating-point error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cell_model import CellModel
from solvers.programs.concave.terms import ConcaveTerm
from solvers.programs.cpsat import refuse, run

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
