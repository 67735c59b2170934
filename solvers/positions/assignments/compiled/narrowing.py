"""Rows revised and counts bounded in turn, compiled: what `propagation.vectorised.narrow` does."""

from __future__ import annotations

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.positions.assignments.compiled.bits import compiled
from solvers.positions.assignments.compiled.counts import count_tree, roomy
from solvers.positions.assignments.compiled.revision import revise_rows
from solvers.positions.assignments.propagation.state import DomainState
from solvers.positions.assignments.propagation.tables import ProblemTables

DONE, CONTRADICTED, ENDED = 0, 1, 2


@compiled
def narrow(tables: ProblemTables, state: DomainState, budget: int) -> tuple[Ints, int]:
    """Return the steps (a row i as i, a value v as -1 - v) and how it ended; see `vectorised.narrow`."""
    steps, length = np.empty(64, dtype=np.int64), 0
    n, trees = state.changed.shape
    unit = max(1, tables.meet.size, tables.times.size)
    while True:
        rows, open_rows = np.empty(n, dtype=np.int64), 0
        for i in range(n):
            if state.changed[i].any() and open_rows < max(1, budget):
                rows[open_rows] = i
                open_rows += 1
        budget -= open_rows
        found, contradicted = revise_rows(tables, state, rows[:open_rows])
        for i in found:
            steps = roomy(steps, length)
            steps[length] = i
            length += 1
        if contradicted:
            return steps[:length], CONTRADICTED
        if budget <= 0:
            return steps[:length], ENDED
        for t in range(trees):
            if not state.counts[t]:
                continue
            if budget <= 0:
                return steps[:length], ENDED
            budget -= 1 + n * (tables.value[t + 1] - tables.value[t]) // unit
            found, contradicted = count_tree(tables, state, t)
            for v in found:
                steps = roomy(steps, length)
                steps[length] = -1 - v
                length += 1
            if contradicted:
                return steps[:length], CONTRADICTED
        if not state.changed.any():
            return steps[:length], DONE
        if budget <= 0:
            return steps[:length], ENDED
