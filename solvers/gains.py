"""Concave functions of counts, such as the log-likelihood of every noise law, and their secants.

Between whole counts a gain is replaced by its secants, which lie on or above it at every whole count and meet it at
their ends, so that a linear objective with the right secants is exact.

Source: Kelley, "The cutting-plane method for solving convex programs", J. SIAM 8, 1960.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.linear import Ints

Floats = NDArray[np.float64]


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

    def within(self, room: float) -> Gain:
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


def total(gains: Sequence[Gain], counts: Ints) -> float:
    """Return the sum of the gains at the counts of the statements, -inf outside their support."""
    return math.fsum(float(g.value(counts[g.statement : g.statement + 1])[0]) for g in gains)
