"""How far computed sums are from the true ones: bounds, not estimates.

u = 2^-53 is the unit roundoff. A sum of n terms, added in whatever order, is off by at most (n - 1) u Σ|terms| up to
terms of order u² (Higham, "Accuracy and stability of numerical algorithms", 2002, section 4.2); one whose terms pass
through at most d additions each by d u Σ|terms|. Every bound is used times `OWN`, for the second order and for the
rounding of the bound itself: n u stays below 10^-4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class ScoreEnds:
    """How great scores can be: `size` (rounds + 1) before each round and at the end."""

    size: Floats

    @property
    def travelled(self) -> float:
        """Return the sum of the greatest scores over all rounds: what roundings of sums add up to, in units."""
        return float(self.size.sum())

    @classmethod
    def of(cls, start: Sequence[float], steps: list[Floats]) -> ScoreEnds:
        """Return the bounds for trees in the order of rounds, one per score and round."""
        rounds, scores = len(steps) // len(start), len(start)
        size = np.zeros(rounds + 1)
        for k in range(scores):
            mine = steps[k::scores]
            low = start[k] + np.cumsum([0.0, *(float(s.min()) for s in mine)])
            high = start[k] + np.cumsum([0.0, *(float(s.max()) for s in mine)])
            size = np.maximum(size, np.maximum(np.abs(low), np.abs(high)))
        return cls(size + 1e-9 * (1.0 + size))
