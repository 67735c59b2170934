"""A heavy histogram by CP-SAT and HiGHS: any histogram that meets the statements is a valid start for a lower bound.

The logs of the weights are concave in the count, so that tangents and chords in whole numbers describe them; the
search looks around the mean of the tilted law.

Source: Perron, Didier, "The CP-SAT-LP solver", CP 2023; histograms after docs/mathematics.md, "Cells and histograms".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from solvers.cells.linear_system import FREE
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import FOUND, CellVariables, run
from solvers.programs.interval.lagrangian_dual import Tilt
from solvers.programs.linear.linear_program import by_column, whole_program

UNIT = 1_000  # a nat in the objective
CHORDS = 14  # breakpoints per cell
MAX_GAIN = 1 << 40
DEAREST = 50.0  # price of a row away from the mean, over that of a cell with variance 1
ENOUGH = 1e6  # relative gap: the first solution will do, CP-SAT improves it
Outcome = Literal["found", "none", "unknown"]


class HeavyHistogramSearch(CellVariables):
    """A CP-SAT model over cells that looks for a heavy histogram."""

    def __init__(self, lower: Ints, upper: Ints) -> None:
        """Make a variable per cell that is not fixed."""
        super().__init__(lower, upper)
        self.gains: list[Any] = []

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
                start = min(room, round(float(mean[c]))) if hint is None else int(hint[c])
                if (cell := self.variables.get(place[c])) is not None:
                    first_row = int(self.lower[place[c]])
                    self.reward(cell - first_row, points, bucket.logs[i])
                    self.model.add_hint(cell, first_row + start)

    def reward(self, y: Any, points: Ints, logs: Floats) -> None:
        """Add a concave gain of y rows: below every chord between neighbouring points."""
        values = np.rint(UNIT * (logs[points] - logs[points].max())).astype(np.int64).tolist()
        if len(points) < 2:
            return
        gain = self.model.new_int_var(-MAX_GAIN, 0, "")
        self.gains.append(gain)
        for p, q, at_p, at_q in zip(points.tolist(), points.tolist()[1:], values, values[1:], strict=False):
            self.model.add((q - p) * gain <= at_p * (q - p) + (at_q - at_p) * (y - p))

    def run(self, limits: Limits, seed: int = 0) -> tuple[Outcome, Ints]:
        """Return ("found", z), ("none", -) where there is provably no histogram, or ("unknown", -) out of time."""
        options: dict[str, Any] = {"random_seed": seed, "relative_gap_limit": 1e-4}
        if self.gains:
            self.model.maximize(sum(self.gains))
        status, solver = run(self.model, limits.share(0.6), **options)
        if status == cp_model.UNKNOWN and self.gains:
            self.model.clear_objective()  # type: ignore[no-untyped-call]  # any histogram will do
            status, solver = run(self.model, limits, **options)
        if status == cp_model.INFEASIBLE:
            return "none", np.zeros(0, dtype=np.int64)
        return ("found", self.values(solver.value)) if status in FOUND else ("unknown", np.zeros(0, dtype=np.int64))


def heaviest_of(tilt: Tilt, slope: Floats, near: Ints | None, limits: Limits) -> tuple[Outcome, Ints]:
    """Return a heavy y of one component by CP-SAT, starting at `near` where one is known (it is the least found)."""
    part = tilt.part
    if part.matrix is None:
        raise TypeError("the component has no matrix")
    search = HeavyHistogramSearch(np.zeros(tilt.cells, dtype=np.int64), part.room)
    for row, low, high in zip(part.matrix, part.low.tolist(), part.high.tolist(), strict=True):
        at = np.flatnonzero(row).astype(np.int64)
        search.state(at, row[at], low, high)
    search.prefer(tilt, slope, hint=near)
    found, y = search.run(limits)
    return ("found", near) if found == "unknown" and near is not None else (found, y)


def nearest(tilt: Tilt, slope: Floats, limits: Limits) -> Ints | None:
    """Return a y that meets the statements and is near the mean under the tilt (HiGHS), None where none was found.

    Minimises Σ |y - mean| / deviation. Its answer is checked in whole numbers, its refusals are not believed.
    """
    part = tilt.part
    if part.matrix is None:
        raise TypeError("the component has no matrix")
    _, mean, variance = tilt.moments(slope, np.ones(tilt.cells))
    base = np.clip(np.rint(mean), 0, part.room)
    price = np.minimum(1.0 / (np.sqrt(variance) + 1e-3), DEAREST)
    row, cell = np.nonzero(part.matrix)
    coef, k = part.matrix[row, cell], tilt.cells
    shift = part.matrix @ base.astype(np.int64)
    low = np.where(part.low <= -FREE, -np.inf, part.low - shift)
    high = np.where(part.high >= FREE, np.inf, part.high - shift)
    up_and_down = by_column(np.tile(row, 2), np.concatenate([cell, cell + k]), np.concatenate([coef, -coef]), 2 * k)
    costs, room = np.concatenate([price, price]), np.concatenate([part.room - base, base])
    moved = whole_program(costs, up_and_down, (low, high), room, limits, ENOUGH)
    if moved is None:
        return None
    y = (base + moved[: tilt.cells] - moved[tilt.cells :]).astype(np.int64)
    return y if meets(part.matrix, part.low, part.high, y) and bool((y <= part.room).all()) else None


def meets(matrix: NDArray[np.int64], low: Ints, high: Ints, y: Ints) -> bool:
    """Return whether y meets the statements, computed anew."""
    sums = matrix @ y
    return bool(((sums >= low) & (sums <= high)).all() and (y >= 0).all())
