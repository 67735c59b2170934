"""Concave functions of counts, such as the log-likelihood of every noise law, and their secants.

Between whole counts a gain is replaced by its secants, which lie on or above it at every whole count and meet it at
their ends, so that a linear objective with the right secants is exact.

Source: Kelley, "The cutting-plane method for solving convex programs", J. SIAM 8, 1960.

What multipliers prove about the greatest sum of gains, in whole numbers: a bound that no rounding can break.

With a multiplier y_i of every gain's count and w_j of every other statement, every histogram has

    Σ f_i(A_i z) <= Σ_i max_k (f_i(k) - y_i k) + Σ_j max(w_j low_j, w_j high_j) + max_z (Σ_i y_i A_i - Σ_j w_j A_j) z

where the last maximum is over the bounds of the cells and the number of rows alone. Multipliers are rounded to
multiples of 2^-BITS and all products are taken in integers; gains are floats: their error is added on the safe side.

Source: weak Lagrangian duality, Geoffrion, Math. Programming Study 2, 1974; safe dual bounds, Neumaier and Shcherbina,
"Safe bounds in linear and mixed-integer linear programming", Mathematical Programming 99, 2004.

Whole rows from a fractional histogram, their number kept: by largest remainders, and dependent rounding at random.

Source: systematic sampling, Madow, Annals of Mathematical Statistics 20, 1949 (every cell is rounded up with the
probability of its fraction, and the sum stays); Gandhi, Khuller, Parthasarathy, Srinivasan, "Dependent rounding and its
applications to approximation algorithms", JACM 53, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.exact import exact_dot
from solvers.programs.dual_bounds import combined, integer_duals, statement_minimum, usable
from solvers.statements.release import UNBOUNDED

TRIES = 30
NEAR = 1e-6  # a fraction this close to a whole number is one


def rounded_histogram(system: CellSystem, rows: Floats, score: Callable[[Ints], float], seed: int = 0) -> Ints | None:
    """Return the best whole histogram of some roundings of a fractional one; None where their number of rows is none.

    Cells stay within their bounds, the number of rows is a possible one; other statements are left to the score.
    """
    bounds, stated = system.bounds, system.release.rows
    whole = np.clip(np.floor(rows + NEAR).astype(np.int64), bounds.lower, bounds.upper)
    fraction = np.where(whole < bounds.upper, np.clip(rows - whole, 0.0, 1.0), 0.0)
    fraction[fraction < NEAR] = 0.0
    n = max(stated.low, round(float(rows.sum())))
    n = n if stated.high is None else min(n, stated.high)
    more = n - sum(whole.tolist())
    if more < 0:
        return None
    random, best, maximum = np.random.default_rng(seed), None, -np.inf
    for turn in range(TRIES if more and fraction.any() else 1):
        drawn = np.zeros(len(whole), dtype=np.int64)
        if turn:
            drawn[_systematic(fraction, random)] = 1
        up = _rows_to_add(drawn, fraction, bounds.upper - whole, more)
        if up is None:
            return None
        here = score(whole + up)
        if best is None or here > maximum:
            best, maximum = whole + up, here
    return best


def _systematic(fraction: Floats, random: np.random.Generator) -> Ints:
    """Return cells, each drawn with the probability of its fraction, as many as these sum up to, give or take one."""
    order = random.permutation(np.flatnonzero(fraction))
    ends = np.floor(np.cumsum(fraction[order]) + random.random())
    return np.asarray(order[np.diff(ends, prepend=0.0) > 0], dtype=np.int64)


def _rows_to_add(up: Ints, fraction: Floats, room: Ints, more: int) -> Ints | None:
    """Return the rows added so that they are `more`, by largest remainders, and wherever there is room; or None."""
    out, missing = up.copy(), more - int(up.sum())
    order = np.argsort(-fraction, kind="stable")
    if missing < 0:
        drawn = order[out[order] > 0]
        out[drawn[missing:]] = 0
        return out
    free = order[(out[order] == 0) & (room[order] > 0) & (fraction[order] > 0)][:missing]
    out[free] = 1
    missing -= len(free)
    for c in order.tolist() if missing else ():
        extra = min(missing, int(room[c] - out[c]))
        out[c] += extra
        missing -= extra
        if not missing:
            break
    return out if not missing else None


@dataclass(frozen=True, eq=False)
class ConcaveTerm:
    """A concave function of the count of one statement, finite on low..high and greatest at `best` (there `top`)."""

    statement: int
    value: Callable[[Ints], Floats]
    low: int
    high: int
    best: int
    top: float
    denominator: int = 1  # a number of units per nat that makes its usual slopes whole
    whole: bool = False  # and every slope
    shape: Hashable = None  # gains of one shape are one function, each moved by its shift; None: of no known shape
    shift: int = 0

    def above(self, k: int) -> tuple[float, float]:
        """Return the secant through k and k + 1 as (value at k less the top, slope)."""
        a, b = (self.value(np.array([k, k + 1], dtype=np.int64)) - self.top).tolist()
        return a, b - a

    def within(self, room: float) -> ConcaveTerm:
        """Return the gain on the counts that are at most `room` nats below the top: others are in no better total."""

        def near(count: int) -> bool:
            return float(self.value(np.array([count], dtype=np.int64))[0]) >= self.top - room

        ends = []
        for end in (self.low, self.high):
            inside, outside = self.best, end
            while abs(outside - inside) > 1 and not near(outside):
                middle = (inside + outside) // 2
                inside, outside = (middle, outside) if near(middle) else (inside, middle)
            ends.append(outside if near(outside) else inside)
        return replace(self, low=ends[0], high=ends[1])

    def starts(self) -> set[int]:
        """Return where the first secants start: at the best count and in doubling steps from it."""
        steps = [0, *(1 << i for i in range((self.high - self.low).bit_length()))]
        every = {self.best + sign * step - (sign < 0) for step in steps for sign in (-1, 1)}
        return {k for k in every if self.low <= k < self.high}


def _total(gains: Sequence[ConcaveTerm], counts: Ints) -> float:
    """Return the sum of the gains at the counts of the statements, -inf outside their support."""
    return math.fsum(float(g.value(counts[g.statement : g.statement + 1])[0]) for g in gains)


@dataclass(eq=False)
class Gains:
    """Many gains, looked up together; their values here are less their tops, so that the best count has value 0."""

    each: Sequence[ConcaveTerm]
    statement: Ints = field(init=False)
    low: Ints = field(init=False)
    high: Ints = field(init=False)
    best: Ints = field(init=False)
    top: Floats = field(init=False)
    shift: Ints = field(init=False)
    kind: Ints = field(init=False)
    first: list[ConcaveTerm] = field(init=False)

    def __post_init__(self) -> None:
        """Group the gains by their shapes."""

        def whole(values: Sequence[int]) -> Ints:
            return np.array(values, dtype=np.int64)

        gains, kinds = self.each, dict[Hashable, int]()
        self.statement, self.shift = whole([g.statement for g in gains]), whole([g.shift for g in gains])
        self.low, self.high = whole([g.low for g in gains]), whole([g.high for g in gains])
        self.best, self.top = whole([g.best for g in gains]), np.array([g.top for g in gains], dtype=np.float64)
        keys = [("alone", i) if g.shape is None else g.shape for i, g in enumerate(gains)]
        self.kind = whole([kinds.setdefault(key, len(kinds)) for key in keys])
        self.first = [gains[i] for i in np.unique(self.kind, return_index=True)[1].tolist()]

    def __len__(self) -> int:
        return len(self.each)

    def values(self, which: Ints, counts: Ints) -> Floats:
        """Return gain `which` at `counts`, element by element, less its top; -inf outside low..high.

        Cost: one call per shape.
        """
        inside = (counts >= self.low[which]) & (counts <= self.high[which])
        out = np.full(counts.shape, -np.inf)
        kinds = self.kind[which]
        for k in [0] if len(self.first) == 1 else np.unique(kinds[inside]).tolist():
            here, first = inside & (kinds == k), self.first[k]
            at = which[here]
            out[here] = first.value(counts[here] - self.shift[at] + first.shift) - self.top[at]
        return out

    def total(self, counts: Ints) -> float:
        """Return the sum of the gains at the counts of the statements, tops included; -inf outside their support."""
        which = np.arange(len(self), dtype=np.int64)
        found = self.values(which, counts[self.statement])
        return math.fsum(found.tolist()) + math.fsum(self.top.tolist()) if np.isfinite(found).all() else -math.inf


BITS = 40
ERROR = 4e-13  # relative error of a gain (documented: 1e-13), of two of them and of their difference
STEPS = 70  # of the search for the best count: counts are below 2^62


def gain_bound(
    system: CellSystem, gains: Gains, on_gains: Floats, others: Ints, on_others: Floats, anywhere: bool = False
) -> float:
    """Return an upper bound on the sum of the gains over every histogram of the system, from any multipliers.

    `on_gains` (gains,) and `on_others` for the statements `others`, unconditional ones; what is not finite counts as 0.
    Rigorous as far as the gains' values have their documented accuracy. Cost: linear in the system's entries.
    """
    every = np.nan_to_num(np.concatenate([on_gains, on_others]), nan=0.0, posinf=0.0, neginf=0.0)
    bits = min(BITS, 52 - math.ceil(math.log2(max(1.0, float(np.abs(every).max(initial=0.0))))))
    scale = 1 << max(0, bits)
    multipliers = integer_duals(every, scale)
    low, high = system.linear.low[others], system.linear.high[others]
    y, w = multipliers[: len(gains)], usable(-multipliers[len(gains) :], low, high)  # positive for the lower side
    weights = np.zeros(len(system.linear), dtype=object)
    np.add.at(weights, gains.statement, y.astype(object))
    np.add.at(weights, others, w.astype(object))
    counts, best, slack = conjugates(gains, y / scale)
    inner = (
        (_dearest if anywhere else _heaviest)(system, weights) - statement_minimum(w, low, high) - exact_dot(y, counts)
    )
    exact = Fraction(inner, scale) + Fraction(math.fsum(best.tolist())) + Fraction(slack)
    exact = _on_the_grid(gains, exact)
    tops = math.fsum(gains.top.tolist())
    return math.nextafter(float(exact + Fraction(tops)) + ERROR * math.fsum(np.abs(gains.top).tolist()), math.inf)


def proved_anywhere(system: CellSystem, gains: Gains, on_gains: Floats) -> float:
    """Return an upper bound like `proved` that holds for every dataset, also of rows that the system does not know.

    A row counts in one statement of a partition at most, and at most once in every other noisy one.
    """
    return gain_bound(system, gains, on_gains, np.zeros(0, dtype=np.int64), np.zeros(0), anywhere=True)


def _dearest(system: CellSystem, weights: NDArray[np.object_]) -> int:
    """Return an upper bound on Σ_s weights[s] (count of s) over all datasets, whatever their rows."""
    index, worth = system.index, 0
    for b in system.release.partitions:
        worth += max([0, *(int(w) for w in weights[index.span(b)])])
    others = ~index.partitioned[: len(weights)]
    worth += sum(max(0, int(w)) for w in weights[others])
    return worth * (system.release.rows.high or 0)


def binding(system: CellSystem) -> NDArray[np.bool_]:
    """Return which statements are not implied by non-negative cells alone, choices left aside."""
    linear = system.linear
    negative = np.zeros(len(linear), dtype=bool)
    negative[linear.row[linear.coef < 0]] = True
    below = (linear.low > -UNBOUNDED) & ((linear.low > 0) | negative)
    return np.asarray(system.always & (below | (linear.high != UNBOUNDED)))


def _on_the_grid(gains: Gains, bound: Fraction) -> Fraction:
    """Return the bound (less the tops), rounded down where all gains are multiples of one number at every count."""
    if not all(g.whole for g in gains.each):
        return bound
    common = math.lcm(*(g.denominator for g in gains.each))
    return Fraction(math.floor(bound * common), common)


def conjugates(gains: Gains, y: Floats) -> tuple[Ints, Floats, float]:
    """Return (count, gain less top there, slack): f(k) - y k at the count, plus its slack, is the greatest of all k.

    The slack covers what floats blur: a count is best where no slope to the right exceeds y, none to the left is less.
    """
    which = np.arange(len(gains), dtype=np.int64)
    low, high = gains.low.copy(), gains.high.copy()
    for _ in range(STEPS):
        if not (low < high).any():
            break
        middle = low + (high - low) // 2
        rising = rise(gains, which, middle) > y
        low = np.where((low < high) & rising, middle + 1, low)
        high = np.where((low < high) & ~rising, middle, high)
    best = gains.values(which, low)
    to_right, to_left = (rise(gains, which, low), rise(gains, which, low - 1))
    error = ERROR * (np.abs(best) + np.abs(gains.top) + 1)
    right = np.where(low < gains.high, np.maximum(0, _over(to_right, y, error)), 0.0) * (gains.high - low)
    left = np.where(low > gains.low, np.maximum(0, _over(y, to_left, error)), 0.0) * (low - gains.low)
    return low, best, math.fsum((np.maximum(right, left) + error).tolist())


def _over(a: Floats, b: Floats, error: Floats) -> Floats:
    """Return a - b, on the safe side: slopes have errors of their own size too."""
    with np.errstate(invalid="ignore"):
        found = a - b + error + ERROR * np.abs(np.where(np.isfinite(a), a, 0.0))
    return np.asarray(np.where(np.isfinite(found), found, 0.0))


def rise(gains: Gains, which: Ints, counts: Ints) -> Floats:
    """Return what each gain grows by from a count to the next; -inf to the right of its range, +inf to the left."""
    inside = np.clip(counts, gains.low[which], np.maximum(gains.low[which], gains.high[which] - 1))
    single = gains.low[which] == gains.high[which]
    found = np.where(
        single,
        0.0,
        gains.values(which, np.minimum(inside + 1, gains.high[which])) - gains.values(which, inside),
    )
    found = np.where((counts >= gains.high[which]), -np.inf, found)
    return np.asarray(np.where(counts < gains.low[which], np.inf, found))


def _heaviest(system: CellSystem, weights: NDArray[np.object_]) -> int:
    """Return the greatest Σ_s weights[s] A_s z over all z between the cells' bounds with a possible number of rows."""
    linear, bounds, rows = system.linear, system.bounds, system.release.rows
    if rows.high is None:
        raise TypeError("the number of rows is unbounded")
    worth, lower, upper = combined(linear, weights), bounds.lower, bounds.upper
    value = exact_dot(worth, lower)
    held = sum(lower.tolist())
    must, may = max(0, rows.low - held), max(0, rows.high - held)
    for c in np.argsort(-worth, kind="stable").tolist():
        price = int(worth[c])
        if may <= 0 or (price <= 0 and must <= 0):
            break
        taken = min(int(upper[c] - lower[c]), may if price > 0 else must)
        value += price * taken
        must, may = must - taken, may - taken
    return value
