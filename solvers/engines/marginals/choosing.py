"""The values of one attribute, box by box, so that its figures come out: a linear program, then a few boxes exactly.

A vertex of the program gives all rows of a box one value but in about as many boxes as there are figures; there, and
in a few boxes more, whole numbers are searched for.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from solvers.engines.marginals.statements import Allowed, MarginalColumn, Mask
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import FOUND, run, state
from solvers.programs.linear.linear_program import LinearProgram, by_column

COSTS = 1_000
FREED = (2, 6, 20, 60)  # boxes that are chosen anew in whole numbers beside those that the program splits
WORK = 1.0  # of CP-SAT, deterministic, for each
WHOLE = 1e-6


@dataclass(frozen=True, eq=False)
class ValueChoice:
    """The choice of values of one attribute."""

    column: MarginalColumn
    allowed: Allowed

    def values(
        self, boxes: Ints, rows: Ints, avoided: Mask, random: np.random.Generator, limits: Limits
    ) -> list[Ints] | None:
        """Return the values of so many rows in each of some boxes, None where no choice was found.

        `avoided` (boxes, classes): the classes that are to be left out where that can be.
        """
        box, kind = np.nonzero(self.allowed.classes[self.allowed.of[boxes]])
        costs = random.integers(0, COSTS, len(box)) + 2 * COSTS * avoided[box, kind]
        x = self.vertex(box, kind, rows, costs, limits)
        y = None if x is None else self.whole(box, kind, rows, x, random, limits)
        if y is None:
            return None
        ends = np.searchsorted(box, np.arange(len(boxes) + 1))
        own = [slice(*pair) for pair in pairwise(ends.tolist())]
        return [np.repeat(self.members(b, kind[at], random), y[at]) for b, at in zip(boxes.tolist(), own, strict=True)]

    def members(self, box: int, kinds: Ints, random: np.random.Generator) -> Ints:
        """Return a value of every class that the box allows."""
        held = self.allowed.values[self.allowed.of[box]]
        return np.array([random.choice(np.flatnonzero(held & (self.column.of == c))) for c in kinds.tolist()], np.int64)

    def vertex(self, box: Ints, kind: Ints, rows: Ints, costs: Ints, limits: Limits) -> Floats | None:
        """Return rows of every class in every box that have the figures at least cost, not in whole numbers."""
        k, column, classes = len(rows), self.column, len(box)
        low = np.concatenate([rows, column.low]).astype(np.float64)
        high = np.concatenate([rows, column.high]).astype(np.float64)
        program = LinearProgram(low, high, presolve=True)
        figures, at = np.nonzero(column.weights[:, kind])
        entries = by_column(
            np.concatenate([box, k + figures]), np.concatenate([np.arange(classes), at]),
            np.concatenate([np.ones(classes), column.weights[figures, kind[at]].astype(np.float64)]), classes,
        )  # fmt: skip
        program.add(costs, (np.zeros(classes), rows[box].astype(np.float64)), entries)
        found = program.run(limits)
        return found.x if found.optimal else None

    def whole(
        self, box: Ints, kind: Ints, rows: Ints, x: Floats, random: np.random.Generator, limits: Limits
    ) -> Ints | None:
        """Return whole numbers of rows near a vertex that have the figures exactly."""
        y: Ints = np.rint(x).astype(np.int64)
        split = np.zeros(len(rows), dtype=bool)
        split[box[np.abs(x - y) > WHOLE]] = True
        split |= np.bincount(box, weights=y, minlength=len(rows)) != rows
        if not split.any() and self.meets(kind, y):
            return y
        width = np.bincount(box, minlength=len(rows))
        order = np.lexsort((random.random(len(rows)), -np.minimum(rows, 50), -np.minimum(width, 8)))
        for more in FREED:
            free = split.copy()
            free[order[~split[order]][:more]] = True
            found = self.solved(box, kind, rows, np.where(free[box], 0, y), free, limits)
            if found is not None:
                return found
            if free.all():
                break
        return None

    def solved(self, box: Ints, kind: Ints, rows: Ints, y: Ints, free: Mask, limits: Limits) -> Ints | None:
        """Return whole numbers in the free boxes that have the figures together with the other boxes."""
        model, at = cp_model.CpModel(), np.flatnonzero(free[box])
        variables = [model.new_int_var(0, int(rows[box[i]]), "") for i in at.tolist()]
        index = np.array([v.index for v in variables], dtype=np.int64)
        for b in np.flatnonzero(free).tolist():
            own = index[box[at] == b]
            state(model, own.tolist(), [1] * len(own), (int(rows[b]), int(rows[b])))
        for weights, low, high in zip(
            self.column.weights, self.column.low.tolist(), self.column.high.tolist(), strict=True
        ):
            base = int(weights[kind] @ y)
            state(model, index.tolist(), weights[kind[at]].tolist(), (low - base, high - base))
        status, solver = run(model, limits, workers=1, max_deterministic_time=WORK)
        if status not in FOUND:
            return None
        out = y.copy()
        out[at] = [solver.value(v) for v in variables]
        return out

    def meets(self, kind: Ints, y: Ints) -> bool:
        """Return whether the figures come out."""
        sums: NDArray[np.int64] = self.column.weights[:, kind] @ y
        return bool(((sums >= self.column.low) & (sums <= self.column.high)).all())
