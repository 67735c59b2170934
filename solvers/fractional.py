"""The greatest sum of gains over fractional histograms, by linear programs (HiGHS), and a good whole one near it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array, csr_array, eye_array, hstack, vstack

from solvers.gains import Floats, Gain, total
from solvers.limits import Limits
from solvers.linear import Ints
from solvers.natively import natively
from solvers.release import UNBOUNDED
from solvers.system import System

SECONDS = 60.0  # where no limit is given
ROUNDS = 60  # times that secants are added
NEAR = 1e-7  # nats that a linear program may be above the function before it gets another secant


def relax(system: System, gains: Sequence[Gain], limits: Limits) -> tuple[float, list[set[int]], Ints | None]:
    """Return (optimum over fractional histograms or NaN, where secants start that matter, a good histogram or None).

    The histogram is checked against every statement. Alternatives are left out of the optimum, and the functions are
    taken as linear between whole counts.
    """
    program = Program.of(system, gains)
    starts = [g.starts() for g in gains]
    for i, ks in enumerate(starts):
        for k in ks:
            program.cut(i, k)
    bound = math.nan
    for _ in range(ROUNDS):
        found = program.solve(limits)
        if found is None:
            return math.nan, starts, None
        bound, counts, reached = found
        fresh = False
        for i, g in enumerate(gains):
            k = min(max(math.floor(counts[i]), g.low), g.high - 1)
            if k < g.low or k in starts[i]:
                continue
            a, slope = g.above(k)
            if reached[i] > a + slope * (counts[i] - k) + NEAR:
                starts[i].add(k)
                program.cut(i, k)
                fresh = True
        if not fresh:
            break
    z = system.bounds.lower.copy()
    whole = program.whole(limits)
    if whole is not None:
        z[system.free] = whole
    good = whole is not None and system.satisfied(z) and total(gains, system.linear.sums(z)) > -math.inf
    return bound + math.fsum(g.top for g in gains), starts, z if good else None


@dataclass(eq=False)
class Program:
    """The linear program over (free cells, counts, gains): maximise the sum of the gains under their secants."""

    gains: Sequence[Gain]
    equal: Any
    equal_to: Floats
    within: Any
    within_to: Floats
    ends: list[tuple[float, float]]
    cuts: list[tuple[int, float, float]] = field(default_factory=list)  # gain i <= slope * count i + constant

    @classmethod
    def of(cls, system: System, gains: Sequence[Gain]) -> Program:
        """Return the program without secants."""
        linear, bounds, free, m = system.linear, system.bounds, system.free, len(gains)
        place = np.full(linear.columns, -1, dtype=np.int64)
        place[free] = np.arange(len(free))
        kept = place[linear.col] >= 0
        shape = (len(linear), len(free))
        matrix = csr_array(
            coo_array((linear.coef[kept].astype(np.float64), (linear.row[kept], place[linear.col[kept]])), shape=shape)
        )
        fixed = np.where(bounds.fixed, bounds.lower, 0)
        base = linear.sums(fixed)
        at = np.array([g.statement for g in gains], dtype=np.int64)
        equal = hstack([matrix[at], -eye_array(m), csr_array((m, m))]) if m else csr_array((0, len(free)))
        sides, limits_to = [], []
        for sign, side, none in (
            (1, linear.high, linear.high == UNBOUNDED),
            (-1, linear.low, linear.low <= -UNBOUNDED),
        ):
            rows = np.flatnonzero(~none & system.always)
            sides.append(sign * matrix[rows])
            limits_to.append(sign * (side[rows] - base[rows]).astype(np.float64))
        stacked = vstack(sides)
        within = csr_array(hstack([stacked, csr_array((stacked.shape[0], 2 * m))]))
        ends = [(float(a), float(b)) for a, b in zip(bounds.lower[free], bounds.upper[free], strict=True)]
        ends += [(float(g.low), float(g.high)) for g in gains] + [(-math.inf, 0.0)] * m
        return cls(gains, csr_array(equal), -base[at].astype(np.float64), within, np.concatenate(limits_to), ends)

    def cut(self, i: int, k: int) -> None:
        """Add the secant of gain i through k and k + 1."""
        a, slope = self.gains[i].above(k)
        self.cuts.append((i, slope, a - slope * k))

    def rows(self) -> tuple[Any, Floats, Floats]:
        """Return (matrix, upper bounds, cost): the statements and secants, and what is minimised."""
        m, width = len(self.gains), len(self.ends)
        row = np.arange(len(self.cuts))
        which = np.array([i for i, _, _ in self.cuts], dtype=np.int64)
        slope = np.array([-s for _, s, _ in self.cuts])
        entries = np.concatenate([slope, np.ones(len(row))])
        places = np.concatenate([row, row]), np.concatenate([width - 2 * m + which, width - m + which])
        secants = coo_array((entries, places), shape=(len(row), width))
        matrix = csr_array(vstack([self.within, secants]))
        sides = np.concatenate([self.within_to, np.array([b for _, _, b in self.cuts])])
        return matrix, sides, np.concatenate([np.zeros(width - m), -np.ones(m)])

    def solve(self, limits: Limits) -> tuple[float, Floats, Floats] | None:
        """Return the optimum, the counts and the gains that reach it; None where HiGHS found none in time."""
        m, width = len(self.gains), len(self.ends)
        if not m or limits.expired():
            return None
        matrix, sides, cost = self.rows()
        options: Any = {"time_limit": max(0.01, min(limits.left(), SECONDS))}

        def work() -> Any:
            return linprog(cost, matrix, sides, self.equal, self.equal_to, self.ends, "highs", options=options)

        found = natively(work, limits.stop)
        if found.status != 0:
            return None
        return -float(found.fun), found.x[width - 2 * m : width - m], found.x[width - m :]

    def whole(self, limits: Limits) -> Ints | None:
        """Return whole numbers of rows of the free cells, best as far as HiGHS knows; rounded, not checked.

        There are many more cells than statements, so that it finds them sooner than CP-SAT. Takes a third of the time.
        """
        if limits.expired():
            return None
        matrix, sides, cost = self.rows()
        cells = len(self.ends) - 2 * len(self.gains)
        low, high = np.array(self.ends).T
        options: Any = {"time_limit": max(0.01, limits.left() / 3), "mip_rel_gap": 0.0}

        def work() -> Any:
            return milp(
                cost,
                constraints=[
                    LinearConstraint(matrix, -np.inf, sides),
                    LinearConstraint(self.equal, self.equal_to, self.equal_to),
                ],
                bounds=Bounds(low, high),
                integrality=(np.arange(len(cost)) < cells).astype(np.int64),
                options=options,
            )

        found = natively(work, limits.stop)
        return None if found.x is None else np.rint(found.x[:cells]).astype(np.int64)
