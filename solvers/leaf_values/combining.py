"""Real linear statements on whole numbers of rows, and what weighted sums of them imply, rounding bounded.

Rigorous in doubles: every bound holds for the exact sums of the doubles that are given, by the usual bounds on the
errors of inner products (Higham, "Accuracy and stability of numerical algorithms", 2002, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
UNIT = 2.0**-53
TINY = 1e-290  # what underflow may take off


@dataclass(frozen=True, eq=False)
class Statements:
    """m statements low <= A x <= high on n whole numbers lower <= x <= upper, x >= 0.

    A lies within `radius` of `middle` (m, n), entry by entry. `source[i]` is the number of statement i in proofs
    (`solvers.kernel.claims.Form`), `column[j]` that of x[j].
    """

    middle: Floats
    radius: Floats
    low: Floats
    high: Floats
    source: NDArray[np.int64]
    column: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


def implied(given: Statements, forms: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return bounds (k,), (k,) on `forms` (k, n) @ x that the sums of statements with `weights` (k, m) imply.

    For every x within its bounds: forms x = weights (A x) + (forms - weights A) x. Cost: k m n.
    """
    slack = 4 * (len(given.low) + len(given.lower) + 4) * UNIT
    size = np.abs(weights)
    rest = forms - weights @ given.middle
    error = (size @ np.abs(given.middle) + np.abs(forms)) * slack + size @ given.radius * (1 + slack) + TINY
    more, less = rest + error, rest - error
    lower, upper = given.lower.astype(np.float64), given.upper.astype(np.float64)
    positive, negative = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    top = positive @ given.high + negative @ given.low + np.maximum(more * lower, more * upper).sum(axis=1)
    bottom = positive @ given.low + negative @ given.high + np.minimum(less * lower, less * upper).sum(axis=1)
    ends = np.maximum(np.abs(given.low), np.abs(given.high))
    off = slack * (size @ ends + (np.maximum(np.abs(more), np.abs(less)) * upper).sum(axis=1)) + TINY
    return bottom - off, top + off
