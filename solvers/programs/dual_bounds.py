"""What multipliers of statements prove, in whole numbers: valid under whatever rounding found the multipliers.

Whole multipliers y over D prove, for every z with low <= A z <= high and lower <= z <= upper,

    D c z >= Σ_j min(y_j low_j, y_j high_j) + Σ_c min(r_c lower_c, r_c upper_c)    with r = D c - y A.

Source: safe dual bounds, Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99, 2004; Farkas' lemma (1902) where c = 0 and the right-hand side is above 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.linear_system import FREE, SparseStatements
from solvers.foundation.array_types import Ints
from solvers.foundation.exact import EXACT, exact_dot, magnitude

# Duals are often small fractions: small denominators keep exact what 2^-20 would blur, and numbers short.
DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 360, 840, 1 << 20)
LARGEST = 1 << 52  # of a multiplier, so that floats hold it exactly
Whole = NDArray[Any]  # whole numbers, in 64 bits or as Python integers


def rounded_duals(duals: NDArray[np.float64], low: Ints, high: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield (D, y): duals (positive for the lower side) rounded to whole multipliers over D, small D first."""
    known: tuple[int, Ints] | None = None
    for over in DENOMINATORS:
        y = usable(integer_duals(duals, over), low, high)
        if y.any() and (known is None or not np.array_equal(y * known[0], known[1] * over)):
            known = over, y
            yield known


def integer_duals(duals: NDArray[np.float64], over: int) -> Ints:
    """Return duals as whole multiples of 1 / over, at most LARGEST of them; what is not finite becomes 0."""
    finite = np.nan_to_num(duals * over, nan=0.0, posinf=0.0, neginf=0.0)
    return np.clip(np.rint(finite), -LARGEST, LARGEST).astype(np.int64)


def usable(y: Ints, low: Ints, high: Ints) -> Ints:
    """Return the multipliers, 0 where one would make use of a side that is open."""
    return np.where((y > 0) & (low <= -FREE) | (y < 0) & (high >= FREE), 0, y)


def statement_minimum(y: Whole, low: Ints, high: Ints) -> int:
    """Return Σ min(y_j low_j, y_j high_j) exactly: what the statements say at least, times multipliers."""
    at = np.flatnonzero(y)
    return exact_dot(y[at], np.where(y[at] > 0, low[at], high[at]))


def _box_minimum(weights: Whole, lower: Ints, upper: Ints) -> int:
    """Return the minimum of weights @ z over lower <= z <= upper exactly."""
    return exact_dot(weights, np.where(weights > 0, lower, upper))


def combined(linear: SparseStatements, y: Whole) -> Whole:
    """Return y A exactly: how often every cell counts in the statements times multipliers."""
    fits = magnitude(y) * magnitude(linear.coef) * max(1, len(linear)) < EXACT
    kind = np.int64 if fits else object
    out: Whole = np.zeros(linear.columns, dtype=kind)
    np.add.at(out, linear.col, linear.coef.astype(kind) * y[linear.row].astype(kind))
    return out


def safe_bound(linear: SparseStatements, ends: tuple[Ints, Ints], costs: Ints, y: Ints, over: int = 1) -> int:
    """Return a whole number that costs @ z reaches at least, for all whole z between `ends` that meet the statements.

    `y` are whole multipliers over `over`, one per statement; with costs of 0 a bound above 0 refutes the statements.
    Exact, whatever the multipliers are. Cost: linear in the entries.
    """
    y = usable(y, linear.low, linear.high)
    sums = combined(linear, y)
    kind = np.int64 if magnitude(costs) * over + magnitude(sums) < EXACT else object
    reduced = costs.astype(kind) * over - sums.astype(kind)
    return -(-(statement_minimum(y, linear.low, linear.high) + _box_minimum(reduced, *ends)) // over)
