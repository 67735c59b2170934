"""How far computed sums are from the true ones: bounds, not estimates.

u = 2^-53 is the unit roundoff. A sum of n terms, added in whatever order, is off by at most (n - 1) u Σ|terms| up to
terms of order u² (Higham, "Accuracy and stability of numerical algorithms", 2002, section 4.2); one whose terms pass
through at most d additions each by d u Σ|terms|. Every bound is used times `OWN`, for the second order and for the
rounding of the bound itself: n u stays below 10^-4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
UNIT = 2.0**-53
OWN = 1.01
MOST_ROWS = 1 << 39  # n u < 10^-4


def pairwise(rows: Floats) -> Floats:
    """Return through how many additions a term of numpy's sum of so many doubles passes at most.

    numpy/_core/src/umath/loops_utils.h.src, `pairwise_sum`: below 8 terms one after the other; up to 128 in eight sums
    of every eighth term (15 additions), these by pairs (3), then up to 7 remaining terms; more are halved, at a
    multiple of 8, until blocks have at most 128. One addition more for what a reduction starts from.
    """
    halvings = np.ceil(np.log2(np.maximum(rows / 128, 1.0))) + 1
    return np.minimum(rows, 27.0 + halvings)


def around(middle: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Return the ends of intervals that surely reach `error` to both sides of the middle."""
    return np.nextafter(middle - error * OWN, -np.inf), np.nextafter(middle + error * OWN, np.inf)


def score_ends(start: float, steps: list[Floats]) -> tuple[Floats, Floats]:
    """Return the least and greatest score (rounds + 1) that any row can have before each round, and at the end."""
    low = start + np.cumsum([0.0, *(float(s.min()) for s in steps)])
    high = start + np.cumsum([0.0, *(float(s.max()) for s in steps)])
    slack = 1e-9 * (1.0 + np.maximum(np.abs(low), np.abs(high)))
    return low - slack, high + slack
