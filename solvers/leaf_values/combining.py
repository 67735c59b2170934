"""Real linear statements on whole numbers of rows, and what weighted sums of them imply, rounding bounded.

Rigorous in doubles: every bound holds for the exact sums of the doubles that are given, by the usual bounds on the
errors of inner products (Higham, "Accuracy and stability of numerical algorithms", 2002, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
UNIT = 2.0**-53
TINY = 1e-290  # what underflow may take off


@dataclass(frozen=True, eq=False)
class Statements:
    """m statements low <= A x <= high on n whole numbers lower <= x <= upper.

    A lies within `radius` of `middle` (m, n), entry by entry; both may be sparse (scipy, by rows). `source[i]` is the
    number of statement i in proofs (`solvers.kernel.claims.Form`), `column[j]` that of x[j].
    """

    middle: Any
    radius: Any
    low: Floats
    high: Floats
    source: NDArray[np.int64]
    column: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


def implied(given: Statements, forms: Any, weights: Floats) -> tuple[Floats, Floats]:
    """Return bounds (k,), (k,) on `forms` (k, n) @ x that the sums of statements with `weights` (k, m) imply.

    For every x within its bounds: forms x = weights (A x) + (forms - weights A) x. Cost: k times the entries of A.
    """
    slack = 4 * (terms(given.middle) + 4) * UNIT
    size = np.abs(weights)
    rest = forms - weights @ given.middle
    spread = abs(given.middle) * slack + given.radius
    error = (size @ spread) * (1 + 2 * slack) + np.abs(forms) * slack + TINY
    more, less = rest + error, rest - error
    lower, upper = given.lower.astype(np.float64), given.upper.astype(np.float64)
    positive, negative = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    top = positive @ given.high + negative @ given.low + np.maximum(more * lower, more * upper).sum(axis=1)
    bottom = positive @ given.low + negative @ given.high + np.minimum(less * lower, less * upper).sum(axis=1)
    ends = np.maximum(np.abs(given.low), np.abs(given.high))
    slack = 4 * (len(given.low) + len(given.lower) + 4) * UNIT
    reach = np.maximum(np.abs(lower), np.abs(upper))
    off = slack * (size @ ends + (np.maximum(np.abs(more), np.abs(less)) * reach).sum(axis=1)) + TINY
    return bottom - off, top + off


def around(given: Statements, at: NDArray[np.int64]) -> Statements:
    """Return the statements on x - at, for whole numbers `at`: sums of large counts then cost no digits. A is sparse."""
    low, high = moved(given.middle, given.radius, at, given.low, given.high)
    return replace(given, low=low, high=high, lower=given.lower - at, upper=given.upper - at)


def moved(middle: Any, radius: Any, at: NDArray[np.int64], low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return what is left of the intervals low..high behind A `at`, rounded outwards, for every A within its radius."""
    wide = np.longdouble
    epsilon = float(np.finfo(wide).eps)
    each = middle.data.astype(wide) * at[middle.indices]
    total, size = by_row(each, middle.indptr), by_row(np.abs(each), middle.indptr)
    count = int(np.diff(middle.indptr).max(initial=0))
    error = size * ((count + 8) * epsilon) + (radius @ np.abs(at).astype(np.float64)) * (1 + 2.0**-40)
    ends = []
    for end, sign in ((low, -1), (high, 1)):
        left = end.astype(wide) - total + sign * (error + (np.abs(end) + np.abs(total)) * 2 * epsilon)
        ends.append(np.nextafter(left.astype(np.float64), sign * np.inf))
    return ends[0], ends[1]


def by_row(values: NDArray[Any], start: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of values[start[i]:start[i + 1]] for every i."""
    out = np.zeros(len(start) - 1, dtype=values.dtype)
    some = np.flatnonzero(np.diff(start))
    if len(some):
        out[some] = np.add.reduceat(values, start[some])
    return out


def terms(matrix: Any) -> int:
    """Return how many entries a column has at most that are not zero."""
    if isinstance(matrix, np.ndarray):
        return int(matrix.shape[0])
    return int(matrix.getnnz(axis=0).max(initial=0))
