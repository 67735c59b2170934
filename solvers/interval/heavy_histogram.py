"""A heavy histogram by CP-SAT and HiGHS: any histogram that meets the statements is a valid start for a lower bound.

The logs of the weights are concave in the count, so that tangents and chords in whole numbers describe them; the
search looks around the mean of the tilted law.

Source: Perron, Didier, "The CP-SAT-LP solver", CP 2023; histograms after docs/mathematics.md, "Cells and histograms".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model
from scipy.sparse import csr_array, hstack

from solvers.cells.linear_system import FREE, Ints
from solvers.foundation.threads import solve
from solvers.interval.lagrangian_dual import Floats, Tilt
from solvers.programs.mixed_integer import whole_program

UNIT = 1_000  # a nat in the objective
CHORDS = 14  # breakpoints per cell
MOST_GAIN = 1 << 40
DEAREST = 50.0  # price of a row away from the mean, over that of a cell with variance 1
ENOUGH = 1e6  # relative gap: the first solution will do, CP-SAT improves it
WORKERS = 2
Outcome = Literal["found", "none", "unknown"]


@dataclass
class Search:
    """A CP-SAT model over cells y (0..room); `outcome` "none" means proved that no histogram exists."""

    room: Ints
    model: Any = field(default_factory=cp_model.CpModel)
    gains: list[Any] = field(default_factory=list)
    cells: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make a variable per cell."""
        self.cells = [self.model.new_int_var(0, int(r), "") for r in self.room.tolist()]

    def state(self, at: Ints, coef: Ints, bounds: tuple[int, int], only_if: Any = None) -> None:
        """Add low <= Σ coef * y[at] <= high, in force where the literal `only_if` holds."""
        low, high = (min(max(b, -FREE), FREE) for b in bounds)
        if not len(at):  # an empty sum is settled here: CP-SAT knows no empty expression
            if not low <= 0 <= high:
                self.model.add_bool_or([] if only_if is None else [only_if.negated()])
            return
        members = [self.cells[i] for i in at.tolist()]
        total = cp_model.LinearExpr.weighted_sum(members, coef.tolist())
        made = self.model.add_linear_constraint(total, low, high)
        if only_if is not None:
            made.only_enforce_if(only_if)

    def prefer(self, tilt: Tilt, slope: Floats, at: Sequence[int] | None = None, hint: Ints | None = None) -> None:
        """Reward heavy counts of a tilted component, and hint at a start (None: the mean).

        `at` are its cells' places in this model (None: all).
        """
        _, mean, variance = tilt.moments(slope, np.ones(tilt.cells))
        place = list(range(tilt.cells)) if at is None else at
        for bucket in tilt.buckets:
            for i, c in enumerate(bucket.at.tolist()):
                room = int(tilt.part.room[c])
                reach = 5 * math.sqrt(variance[c]) + 3
                other = mean[c] if hint is None else hint[c]
                low, high = min(mean[c], other), max(mean[c], other)
                first, last = max(0, int(low - reach)), min(room, int(high + reach) + 1)
                points = np.unique(np.linspace(first, last, min(CHORDS, last - first + 1)).round().astype(np.int64))
                self.reward(place[c], points, bucket.logs[i])
                start = min(room, round(float(mean[c]))) if hint is None else int(hint[c])
                self.model.add_hint(self.cells[place[c]], start)

    def reward(self, cell: int, points: Ints, logs: Floats) -> None:
        """Add a concave gain: below every chord between neighbouring points."""
        values = np.rint(UNIT * (logs[points] - logs[points].max())).astype(np.int64).tolist()
        if len(points) < 2:
            return
        gain = self.model.new_int_var(-MOST_GAIN, 0, "")
        self.gains.append(gain)
        y = self.cells[cell]
        for p, q, at_p, at_q in zip(points.tolist(), points.tolist()[1:], values, values[1:], strict=False):
            self.model.add((q - p) * gain <= at_p * (q - p) + (at_q - at_p) * (y - p))

    def run(self, seconds: float, stop: Event, seed: int = 0) -> tuple[Outcome, Ints]:
        """Return ("found", y), ("none", -) where there is provably no histogram, or ("unknown", -) out of time."""
        if self.gains:
            self.model.maximize(sum(self.gains))
        status, solver = self.solve(max(0.1, 0.6 * seconds), seed, stop)
        if status == cp_model.UNKNOWN and self.gains:
            self.model.clear_objective()  # any histogram will do
            status, solver = self.solve(max(0.1, 0.4 * seconds), seed, stop)
        if status == cp_model.INFEASIBLE:
            return "none", np.zeros(0, dtype=np.int64)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return "unknown", np.zeros(0, dtype=np.int64)
        return "found", np.array([solver.value(v) for v in self.cells], dtype=np.int64)

    def solve(self, seconds: float, seed: int, stop: Event) -> tuple[Any, Any]:
        """Return CP-SAT's status and the solver with its values."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = WORKERS
        solver.parameters.random_seed = seed
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.relative_gap_limit = 1e-4
        return solve(solver, self.model, stop), solver


def heaviest_of(tilt: Tilt, slope: Floats, near: Ints | None, seconds: float, stop: Event) -> tuple[Outcome, Ints]:
    """Return a heavy y of one component by CP-SAT, starting at `near` where one is known (it is the least found)."""
    part = tilt.part
    if part.matrix is None:
        raise TypeError("the component has no matrix")
    search = Search(part.room)
    for row, low, high in zip(part.matrix, part.low.tolist(), part.high.tolist(), strict=True):
        at = np.flatnonzero(row).astype(np.int64)
        search.state(at, row[at], (low, high))
    search.prefer(tilt, slope, hint=near)
    found, y = search.run(seconds, stop)
    return ("found", near) if found == "unknown" and near is not None else (found, y)


def nearest(tilt: Tilt, slope: Floats, seconds: float, stop: Event) -> Ints | None:
    """Return a y that meets the statements and is near the mean under the tilt (HiGHS), None where none was found.

    Minimises Σ |y - mean| / deviation. Its answer is checked in whole numbers, its refusals are not believed.
    """
    part = tilt.part
    if part.matrix is None:
        raise TypeError("the component has no matrix")
    _, mean, variance = tilt.moments(slope, np.ones(tilt.cells))
    base = np.clip(np.rint(mean), 0, part.room)
    price = np.minimum(1.0 / (np.sqrt(variance) + 1e-3), DEAREST)
    matrix = csr_array(part.matrix.astype(np.float64))
    shift = matrix @ base
    low = np.where(part.low < -FREE // 2, -np.inf, part.low - shift)
    high = np.where(part.high > FREE // 2, np.inf, part.high - shift)

    moved = whole_program(
        np.concatenate([price, price]),
        hstack([matrix, -matrix]).tocsr(),
        (low, high),
        np.concatenate([part.room - base, base]),
        seconds,
        stop,
        ENOUGH,
    )
    if moved is None:
        return None
    y = (base + moved[: tilt.cells] - moved[tilt.cells :]).astype(np.int64)
    return y if meets(part.matrix, part.low, part.high, y) and bool((y <= part.room).all()) else None


def meets(matrix: NDArray[np.int64], low: Ints, high: Ints, y: Ints) -> bool:
    """Tell whether y meets the statements, computed anew."""
    sums = matrix @ y
    return bool(((sums >= low) & (sums <= high)).all() and (y >= 0).all())
