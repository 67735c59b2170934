"""What multipliers prove about the greatest sum of gains, in whole numbers: a bound that no rounding can break.

With a multiplier y_i of every gain's count and w_j of every other statement, every histogram has

    Σ f_i(A_i z) <= Σ_i max_k (f_i(k) - y_i k) + Σ_j max(w_j low_j, w_j high_j) + max_z (Σ_i y_i A_i - Σ_j w_j A_j) z

where the last maximum is over the bounds of the cells and the number of rows alone. Multipliers are rounded to
multiples of 2^-BITS and all products are taken in integers; gains are floats: their error is added on the safe side.

Source: weak Lagrangian duality, Geoffrion, Math. Programming Study 2, 1974; safe dual bounds, Neumaier and Shcherbina,
"Safe bounds in linear and mixed-integer linear programming", Mathematical Programming 99, 2004.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.exact import exact_dot
from solvers.programs.concave.terms import Gains
from solvers.programs.linear.dual_bounds import combined, stated, usable, whole
from solvers.statements.release import UNBOUNDED

BITS = 40
ERROR = 4e-13  # relative error of a gain (documented: 1e-13), of two of them and of their difference
STEPS = 70  # of the search for the best count: counts are below 2^62


def proved(
    system: CellSystem, gains: Gains, on_gains: Floats, others: Ints, on_others: Floats, anywhere: bool = False
) -> float:
    """Return an upper bound on the sum of the gains over every histogram of the system, from any multipliers.

    `on_gains` (gains,) and `on_others` for the statements `others`, unconditional ones; what is not finite counts as 0.
    Rigorous as far as the gains' values have their documented accuracy. Cost: linear in the system's entries.
    """
    every = np.nan_to_num(np.concatenate([on_gains, on_others]), nan=0.0, posinf=0.0, neginf=0.0)
    bits = min(BITS, 52 - math.ceil(math.log2(max(1.0, float(np.abs(every).max(initial=0.0))))))
    scale = 1 << max(0, bits)
    multipliers = whole(every, scale)
    low, high = system.linear.low[others], system.linear.high[others]
    y, w = multipliers[: len(gains)], usable(-multipliers[len(gains) :], low, high)  # positive for the lower side
    weights = np.zeros(len(system.linear), dtype=object)
    np.add.at(weights, gains.statement, y.astype(object))
    np.add.at(weights, others, w.astype(object))
    counts, best, slack = conjugates(gains, y / scale)
    inner = (dearest if anywhere else heaviest)(system, weights) - stated(w, low, high) - exact_dot(y, counts)
    exact = Fraction(inner, scale) + Fraction(math.fsum(best.tolist())) + Fraction(slack)
    exact = on_the_grid(gains, exact)
    tops = math.fsum(gains.top.tolist())
    return math.nextafter(float(exact + Fraction(tops)) + ERROR * math.fsum(np.abs(gains.top).tolist()), math.inf)


def proved_anywhere(system: CellSystem, gains: Gains, on_gains: Floats) -> float:
    """Return an upper bound like `proved` that holds for every dataset, also of rows that the system does not know.

    A row counts in one statement of a partition at most, and at most once in every other noisy one.
    """
    return proved(system, gains, on_gains, np.zeros(0, dtype=np.int64), np.zeros(0), anywhere=True)


def dearest(system: CellSystem, weights: NDArray[np.object_]) -> int:
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


def on_the_grid(gains: Gains, bound: Fraction) -> Fraction:
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
    right = np.where(low < gains.high, np.maximum(0, over(to_right, y, error)), 0.0) * (gains.high - low)
    left = np.where(low > gains.low, np.maximum(0, over(y, to_left, error)), 0.0) * (low - gains.low)
    return low, best, math.fsum((np.maximum(right, left) + error).tolist())


def over(a: Floats, b: Floats, error: Floats) -> Floats:
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


def heaviest(system: CellSystem, weights: NDArray[np.object_]) -> int:
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
