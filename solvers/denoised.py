"""Noisy counts made consistent: the histogram with the greatest sum of concave functions of its counts.

Such is the log-likelihood of every noise law. Between whole counts it is replaced by its secants, which lie on
or above it at every whole count and meet it at their ends, so that a linear objective with the right secants is
exact; they are added where a solution needs them. CP-SAT proves the optimum in whole numbers, each secant rounded
outwards, so that its bound holds for the log-likelihoods themselves up to their floating-point error.

Source: Kelley, "The cutting-plane method for solving convex programs", J. SIAM 8, 1960; the maximum-likelihood
fit of noisy counts after Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms
through consistency", VLDB 2010; design.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from solvers.cellmodel import WORKERS, CellModel
from solvers.errors import ContradictionError, EngineError, Inconclusive, Unsupported
from solvers.limits import Limits
from solvers.linear import Ints
from solvers.natively import natively, solve
from solvers.release import UNBOUNDED
from solvers.system import System

Floats = NDArray[np.float64]
GAP = 1e-4  # nats between a histogram and the bound that count as proved
SECONDS = 60.0  # where no limit is given
ROUNDS = 60  # times that secants are added
NEAR = 1e-7  # nats that a linear program may be above the function before it gets another secant
FINE = 100_000  # units of the objective per nat and per noisy statement
FLOAT = 1e-6  # units that are taken for errors of floating point
MOST_UNITS = 1 << 57  # the objective's greatest number
STRETCH = 1 << 14  # counts among which the greatest gain is looked for one by one
MOST_COMMON = 10_000  # slopes are whole numbers of units where their common denominator is at most this


@dataclass(frozen=True, eq=False)
class Gain:
    """A concave function of the count of one statement, finite on low..high and greatest at `best` (there `top`)."""

    statement: int
    value: Callable[[Ints], Floats]
    low: int
    high: int
    best: int
    top: float
    grain: int = 1  # a number of units per nat that makes its usual slopes whole
    whole: bool = False  # and every slope

    def above(self, k: int) -> tuple[float, float]:
        """Return the secant through k and k + 1 as (value at k less the top, slope)."""
        a, b = (self.value(np.array([k, k + 1], dtype=np.int64)) - self.top).tolist()
        return a, b - a

    def starts(self) -> set[int]:
        """Return where the first secants start: at the best count and in doubling steps from it."""
        steps = [0, *(1 << i for i in range((self.high - self.low).bit_length()))]
        every = {self.best + sign * step - (sign < 0) for step in steps for sign in (-1, 1)}
        return {k for k in every if self.low <= k < self.high}


@dataclass(frozen=True, eq=False)
class Likeliest:
    """The most likely histogram found (rows per cell) and how good it is, in nats (natural logarithms).

    `bound` is at least the log-likelihood of every histogram; `proved`: it is within 1e-4 of this one's. `relaxed` is
    the optimum of the linear relaxation, to the solver's tolerance (NaN where it was not solved in time).
    """

    histogram: Ints
    log_likelihood: float
    bound: float
    proved: bool
    relaxed: float


def greatest(system: System, gains: Sequence[Gain], limits: Limits) -> Likeliest:
    """Return the histogram with the greatest sum of gains; see `solvers.likeliest`."""
    if math.isinf(limits.left()):
        limits = limits.lasting(SECONDS)
    tops = math.fsum(g.top for g in gains)
    search = Exact(system, gains)
    relaxed, starts, best = relax(system, gains, limits)
    for i, ks in enumerate(starts):
        search.add(i, ks)
    value, bound = -math.inf, tops
    if best is not None:
        value = total(gains, system.linear.sums(best))
        search.hint(best)
    for turn in range(ROUNDS):
        limits.report(f"most likely histogram: round {turn}, log-likelihood {value:.4f}, at most {bound:.4f}")
        z, over = search.solve(limits)
        bound = min(bound, tops + over / search.unit)
        if z is None:
            break
        counts = system.linear.sums(z)
        here = total(gains, counts)
        if here > value:
            best, value = z, here
        if bound - value <= GAP or not search.refine(counts) or limits.expired():
            break
        search.hint(z if best is None else best)
    if best is None:
        raise Inconclusive("no possible histogram was found in time, and none was excluded")
    bound = max(bound, value)
    return Likeliest(best, value, bound, bound - value <= GAP, relaxed)


def denoised(system: System, found: Likeliest) -> Ints:
    """Return the count of every statement of the system in the most likely histogram.

    Non-negative integers that add up: they are the counts of one possible dataset.
    """
    return system.linear.sums(found.histogram)


def total(gains: Sequence[Gain], counts: Ints) -> float:
    """Return the sum of the gains at the counts of the statements, -inf outside their support."""
    return math.fsum(float(g.value(counts[g.statement : g.statement + 1])[0]) for g in gains)


@dataclass(eq=False)
class Exact:
    """The CP-SAT model: cells, one count and one gain per noisy statement, in whole units of 1 / `unit` nats."""

    system: System
    given: Sequence[Gain]
    model: CellModel = field(init=False)
    unit: int = field(init=False)
    counts: list[Any] = field(default_factory=list)
    gains: list[Any] = field(default_factory=list)
    lines: list[set[tuple[int, int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make the variables; gains are bounded by secants alone."""
        self.model, linear = CellModel(self.system), self.system.linear
        falls = [g.top - float(g.value(np.array([g.low, g.high], dtype=np.int64)).min()) for g in self.given]
        if sum(falls) > MOST_UNITS:
            raise Unsupported(
                f"likelihoods of the counts that the statements leave differ by {sum(falls):.3g} nats, more than is "
                "computed: look at the scale of the noise and at the number of rows"
            )
        common = math.lcm(*(g.grain for g in self.given))
        common = common if common <= MOST_COMMON else 1
        wanted = min(FINE * len(self.given), MOST_UNITS / (1 + sum(falls)))
        exact = all(g.whole for g in self.given) and common > 1
        self.unit = common if exact else max(1, round(wanted) // common) * common
        for g, fall in zip(self.given, falls, strict=True):
            at = np.zeros(len(self.system.sizes), dtype=np.int64)
            at[linear.col[linear.start[g.statement] : linear.start[g.statement + 1]]] = 1
            expression, base = self.model.weighted(at)
            count = self.model.model.new_int_var(g.low, g.high, "")
            self.model.model.add(expression + base == count)
            self.counts.append(count)
            self.gains.append(self.model.model.new_int_var(-math.ceil(fall * self.unit) - 2, 0, ""))
            self.lines.append(set())

    def add(self, i: int, starts: set[int]) -> bool:
        """Add secants of gain i, rounded so that they stay above it; tell whether any was new."""
        g, fresh = self.given[i], False
        for k in starts:
            line = outwards(g, k, self.unit)
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
        model = self.model.model
        model.maximize(sum(self.gains))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = WORKERS
        solver.parameters.max_time_in_seconds = max(0.01, limits.left())
        solver.parameters.absolute_gap_limit = max(0.5, self.unit * GAP / 4)
        status = solve(solver, model, limits.stop)
        if status == cp_model.MODEL_INVALID:
            raise EngineError(f"CP-SAT refuses the model: {model.validate()}")
        if status == cp_model.INFEASIBLE:
            raise ContradictionError("no dataset agrees with the exact statements and the support of the noise", ())
        if status == cp_model.UNKNOWN:
            return None, 0.0
        return self.model.histogram(solver.value), solver.best_objective_bound + 1e-6

    def hint(self, z: Ints) -> None:
        """Start the next solve at a histogram."""
        self.model.model.clear_hints()  # type: ignore[no-untyped-call]
        for c, variable in self.model.variables.items():
            self.model.model.add_hint(variable, int(z[c]))
        counts = self.system.linear.sums(z)
        for i, g in enumerate(self.given):  # CP-SAT takes up a hint at once only where it names every variable
            c = int(counts[g.statement])
            self.model.model.add_hint(self.counts[i], c)
            self.model.model.add_hint(self.gains[i], min([0, *(slope * c + base for slope, base in self.lines[i])]))


def outwards(g: Gain, k: int, unit: int) -> tuple[int, int]:
    """Return (slope, constant) in whole units of a line above the gain at every count, near its secant from k.

    It is rounded to be less steep, and raised where that would cut off counts between it and the best one.
    """
    a, slope = g.above(k)
    falling = k >= g.best
    whole = math.ceil(slope * unit - FLOAT) if falling else math.floor(slope * unit + FLOAT)
    anchor, value = (k, a) if falling else (k + 1, a + slope)
    constant = math.ceil(value * unit - FLOAT) - whole * anchor

    def over(counts: Ints) -> Floats:
        return unit * (g.value(counts) - g.top) - whole * counts - constant

    between = summit(over, min(g.best, anchor), max(g.best, anchor))
    return whole, constant + max(0, math.ceil(float(over(between).max()) - FLOAT))


def summit(concave: Callable[[Ints], Floats], low: int, high: int) -> Ints:
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


def relax(system: System, gains: Sequence[Gain], limits: Limits) -> tuple[float, list[set[int]], Ints | None]:
    """Return (optimum over fractional histograms or NaN, where secants start that matter, a good histogram or None).

    The histogram is checked against every statement. Alternatives are left out of the optimum, and the functions are
    taken as linear between whole counts.
    """
    program = Program.of(system, gains)
    starts = [g.starts() for g in gains]
    for i, ks in enumerate(starts):
        for k in ks:
            program.cut(i, k)
    bound = math.nan
    for _ in range(ROUNDS):
        found = program.solve(limits)
        if found is None:
            return math.nan, starts, None
        bound, counts, reached = found
        fresh = False
        for i, g in enumerate(gains):
            k = min(max(math.floor(counts[i]), g.low), g.high - 1)
            if k < g.low or k in starts[i]:
                continue
            a, slope = g.above(k)
            if reached[i] > a + slope * (counts[i] - k) + NEAR:
                starts[i].add(k)
                program.cut(i, k)
                fresh = True
        if not fresh:
            break
    z = system.bounds.lower.copy()
    whole = program.whole(limits)
    if whole is not None:
        z[system.free] = whole
    good = whole is not None and system.satisfied(z) and total(gains, system.linear.sums(z)) > -math.inf
    return bound + math.fsum(g.top for g in gains), starts, z if good else None


@dataclass(eq=False)
class Program:
    """The linear program over (free cells, counts, gains): maximise the sum of the gains under their secants."""

    gains: Sequence[Gain]
    equal: Any
    equal_to: Floats
    within: Any
    within_to: Floats
    ends: list[tuple[float, float]]
    cuts: list[tuple[int, float, float]] = field(default_factory=list)  # gain i <= slope * count i + constant

    @classmethod
    def of(cls, system: System, gains: Sequence[Gain]) -> Program:
        """Return the program without secants."""
        linear, bounds, free, m = system.linear, system.bounds, system.free, len(gains)
        place = np.full(linear.columns, -1, dtype=np.int64)
        place[free] = np.arange(len(free))
        kept = place[linear.col] >= 0
        shape = (len(linear), len(free))
        matrix = csr_array(
            coo_array((linear.coef[kept].astype(np.float64), (linear.row[kept], place[linear.col[kept]])), shape=shape)
        )
        fixed = np.where(bounds.fixed, bounds.lower, 0)
        base = linear.sums(fixed)
        at = np.array([g.statement for g in gains], dtype=np.int64)
        equal = hstack([matrix[at], -eye_array(m), csr_array((m, m))]) if m else csr_array((0, len(free)))
        sides, limits_to = [], []
        for sign, side, none in (
            (1, linear.high, linear.high == UNBOUNDED),
            (-1, linear.low, linear.low <= -UNBOUNDED),
        ):
            rows = np.flatnonzero(~none & system.always)
            sides.append(sign * matrix[rows])
            limits_to.append(sign * (side[rows] - base[rows]).astype(np.float64))
        stacked = vstack(sides)
        within = csr_array(hstack([stacked, csr_array((stacked.shape[0], 2 * m))]))
        ends = [(float(a), float(b)) for a, b in zip(bounds.lower[free], bounds.upper[free], strict=True)]
        ends += [(float(g.low), float(g.high)) for g in gains] + [(-math.inf, 0.0)] * m
        return cls(gains, csr_array(equal), -base[at].astype(np.float64), within, np.concatenate(limits_to), ends)

    def cut(self, i: int, k: int) -> None:
        """Add the secant of gain i through k and k + 1."""
        a, slope = self.gains[i].above(k)
        self.cuts.append((i, slope, a - slope * k))

    def rows(self) -> tuple[Any, Floats, Floats]:
        """Return (matrix, upper bounds, cost): the statements and secants, and what is minimised."""
        m, width = len(self.gains), len(self.ends)
        row = np.arange(len(self.cuts))
        which = np.array([i for i, _, _ in self.cuts], dtype=np.int64)
        slope = np.array([-s for _, s, _ in self.cuts])
        entries = np.concatenate([slope, np.ones(len(row))])
        places = np.concatenate([row, row]), np.concatenate([width - 2 * m + which, width - m + which])
        secants = coo_array((entries, places), shape=(len(row), width))
        matrix = csr_array(vstack([self.within, secants]))
        sides = np.concatenate([self.within_to, np.array([b for _, _, b in self.cuts])])
        return matrix, sides, np.concatenate([np.zeros(width - m), -np.ones(m)])

    def solve(self, limits: Limits) -> tuple[float, Floats, Floats] | None:
        """Return the optimum, the counts and the gains that reach it; None where HiGHS found none in time."""
        m, width = len(self.gains), len(self.ends)
        if not m or limits.expired():
            return None
        matrix, sides, cost = self.rows()
        options: Any = {"time_limit": max(0.01, min(limits.left(), SECONDS))}

        def work() -> Any:
            return linprog(cost, matrix, sides, self.equal, self.equal_to, self.ends, "highs", options=options)

        found = natively(work, limits.stop)
        if found.status != 0:
            return None
        return -float(found.fun), found.x[width - 2 * m : width - m], found.x[width - m :]

    def whole(self, limits: Limits) -> Ints | None:
        """Return whole numbers of rows of the free cells, best as far as HiGHS knows; rounded, not checked.

        There are many more cells than statements, so that it finds them sooner than CP-SAT. Takes a third of the time.
        """
        if limits.expired():
            return None
        matrix, sides, cost = self.rows()
        cells = len(self.ends) - 2 * len(self.gains)
        low, high = np.array(self.ends).T
        options: Any = {"time_limit": max(0.01, limits.left() / 3), "mip_rel_gap": 0.0}

        def work() -> Any:
            return milp(
                cost,
                constraints=[
                    LinearConstraint(matrix, -np.inf, sides),
                    LinearConstraint(self.equal, self.equal_to, self.equal_to),
                ],
                bounds=Bounds(low, high),
                integrality=(np.arange(len(cost)) < cells).astype(np.int64),
                options=options,
            )

        found = natively(work, limits.stop)
        return None if found.x is None else np.rint(found.x[:cells]).astype(np.int64)


__all__ = ["Gain", "Likeliest", "denoised", "greatest"]
