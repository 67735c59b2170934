"""Weights for statements from linear programs: what a Farkas certificate is made of, before it is checked exactly.

Nothing here is trusted: floating-point duals are rounded to small fractions, and whoever uses them proves the sum
they make in whole numbers.

Source: Farkas, 1902; the elastic program of phase one, whose duals are bounded by 1 (Chinneck, "Feasibility and
Infeasibility in Optimization", 2008, section 6.1); HiGHS (Huangfu, Hall 2018), through scipy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, identity, vstack

from solvers.cells.linear_system import Ints, Linear
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.foundation.threads import natively
from solvers.kernel.claims import Sum
from solvers.statements.release import UNBOUNDED

Floats = NDArray[np.float64]
DENOMINATORS = (1, 2, 3, 4, 6, 12, 60, 840, 1 << 20)
TINY = 1e-9


class Program:
    """The statements over cells that are not fixed, as one sparse linear program."""

    def __init__(self, linear: Linear, lower: Ints, upper: Ints) -> None:
        self.free = np.flatnonzero(lower < upper)
        place = np.full(linear.columns, -1, dtype=np.int64)
        place[self.free] = np.arange(len(self.free))
        at = place[linear.col] >= 0
        used = np.unique(linear.row[at])
        self.statements = used[(linear.low[used] > -UNBOUNDED) | (linear.high[used] < UNBOUNDED)]
        row_place = np.full(len(linear), -1, dtype=np.int64)
        row_place[self.statements] = np.arange(len(self.statements))
        at &= row_place[linear.row] >= 0
        shape = len(self.statements), len(self.free)
        entries = linear.coef[at].astype(np.float64), (row_place[linear.row[at]], place[linear.col[at]])
        self.matrix = csr_array(entries, shape=shape)
        base = linear.sums(lower)[self.statements]
        low, high = linear.low[self.statements], linear.high[self.statements]
        self.low = np.where(low <= -UNBOUNDED, -math.inf, low - base.astype(np.float64))
        self.high = np.where(high >= UNBOUNDED, math.inf, high - base.astype(np.float64))
        self.room = (upper - lower)[self.free].astype(np.float64)

    def bounding(self, weights: Ints, limits: Limits) -> Floats | None:
        """Return weights of the statements whose sum bounds weights @ z from above; None where HiGHS found none."""
        return self._solve(-weights[self.free].astype(np.float64), self.matrix, self.room, limits)

    def refuting(self, limits: Limits) -> Floats | None:
        """Return weights in [-1, 1] whose sum of statements no rows can meet, None where the program is feasible."""
        many = len(self.statements)
        slack = identity(many, format="csr")
        cost = np.concatenate([np.zeros(len(self.free)), np.ones(2 * many)])
        room = np.concatenate([self.room, np.full(2 * many, math.inf)])
        found = self._solve(cost, hstack([self.matrix, slack, -slack], format="csr"), room, limits)
        return found if found is not None and np.abs(found).max(initial=0.0) > TINY else None

    def _solve(self, cost: Floats, matrix: Any, room: Floats, limits: Limits) -> Floats | None:
        """Return the duals of the least cost @ y, one per statement: positive where it bounds from above."""
        above, below = np.flatnonzero(np.isfinite(self.high)), np.flatnonzero(np.isfinite(self.low))
        if not len(above) + len(below):
            return None
        options: Any = {} if math.isinf(limits.left()) else {"time_limit": max(0.01, limits.left())}
        limit = np.concatenate([self.high[above], -self.low[below]])
        stacked = vstack([matrix[above], -matrix[below]], format="csr")
        bounds = [(0.0, most) for most in room.tolist()]
        try:
            found = natively(
                lambda: linprog(cost, A_ub=stacked, b_ub=limit, bounds=bounds, method="highs", options=options),
                limits.stop,
                None,
                limits.left(),
            )
        except Inconclusive:
            return None
        if found.status != 0:
            return None
        duals = -np.array(found.ineqlin.marginals, dtype=np.float64)
        out = np.zeros(len(self.statements))
        np.add.at(out, above, duals[: len(above)])
        np.add.at(out, below, -duals[len(above) :])
        return out

    def sums(self, weights: Floats, scale: int = 1) -> Iterator[Sum]:
        """Yield the weights rounded to fractions, small denominators first, each `scale` times as large."""
        seen: set[tuple[tuple[tuple[int, int], ...], int]] = set()
        for over in DENOMINATORS:
            y = np.rint(weights * over).astype(np.int64)
            y = np.where((y > 0) & np.isinf(self.high) | (y < 0) & np.isinf(self.low), 0, y)
            at = np.flatnonzero(y)
            pairs = tuple((int(self.statements[i]), int(y[i]) * scale) for i in at)
            if pairs and (pairs, over) not in seen:
                seen.add((pairs, over))
                yield Sum(over, pairs)
