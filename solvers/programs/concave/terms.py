"""Concave functions of counts, such as the log-likelihood of every noise law, and their secants.

Between whole counts a gain is replaced by its secants, which lie on or above it at every whole count and meet it at
their ends, so that a linear objective with the right secants is exact.

Source: Kelley, "The cutting-plane method for solving convex programs", J. SIAM 8, 1960.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from solvers.foundation.array_types import Floats, Ints


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


def total(gains: Sequence[ConcaveTerm], counts: Ints) -> float:
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
