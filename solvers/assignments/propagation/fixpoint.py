"""The queue: rows revised, counts bounded, flows filtered, until nothing changes, and every removal as a step."""

from __future__ import annotations

import importlib.util
from typing import Protocol

import numpy as np

from solvers.assignments.propagation.state import HallSet, State
from solvers.assignments.propagation.tables import Tables
from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.kernel.claims import Counted, Hall, Removal, Revised

WORK = 1 << 28  # words that a batch of rows may look at between two looks at the clock


class Loops(Protocol):
    """The inner loops: in numpy (`vectorised`, `flows`) or compiled (`compiled`)."""

    def revise(self, tables: Tables, state: State, rows: Ints) -> tuple[list[int], bool]:
        """Revise rows: those that lost values, and whether the last of them is contradicted."""

    def count(self, tables: Tables, state: State, t: int) -> tuple[list[int], bool]:
        """Bound counts: the values that removed something, and whether the last of them is contradicted."""

    def flow(self, tables: Tables, state: State, t: int) -> tuple[list[HallSet], bool]:
        """Filter flows: the sets that removed something, and whether the last of them is contradicted."""


class Vectorised:
    """The inner loops in numpy."""

    def revise(self, tables: Tables, state: State, rows: Ints) -> tuple[list[int], bool]:
        """Revise rows, see `vectorised.revise`."""
        from solvers.assignments.propagation.vectorised import revise

        return revise(tables, state, rows)

    def count(self, tables: Tables, state: State, t: int) -> tuple[list[int], bool]:
        """Bound the counts of a tree, see `vectorised.count`."""
        from solvers.assignments.propagation.vectorised import count

        return count(tables, state, t)

    def flow(self, tables: Tables, state: State, t: int) -> tuple[list[HallSet], bool]:
        """Filter the flows of a tree, see `flows.flow`."""
        from solvers.assignments.propagation.flows import flow

        return flow(tables, state, t)


def propagate(loops: Loops, tables: Tables, state: State, steps: list[Removal], limits: Limits) -> bool | None:
    """Remove what follows until nothing changes; the steps are added to `steps` in order.

    Returns whether every row has a value left in every tree that saw it, None where the time ended before that was
    settled: `state` then says what is open, and another call goes on from there.
    """
    batch = max(1, WORK // max(1, tables.meet.size))
    while True:
        open_rows = np.flatnonzero(state.changed.any(axis=1))
        for first in range(0, len(open_rows), batch):
            if limits.expired():
                return None
            rows, contradicted = loops.revise(tables, state, open_rows[first : first + batch])
            steps += [Revised(i) for i in rows]
            if contradicted:
                return False
        for t in np.flatnonzero(state.counts).tolist():
            if limits.expired():
                return None
            values, contradicted = loops.count(tables, state, t)
            steps += [Counted(v) for v in values]
            if contradicted:
                return False
        if state.changed.any():
            continue
        for t in np.flatnonzero(state.flows).tolist():
            if limits.expired():
                return None
            sets, contradicted = loops.flow(tables, state, t)
            steps += [Hall(t, one.times, one.full, tuple(one.values.tolist())) for one in sets]
            if contradicted:
                return False
            if state.counts[t]:
                break
        if not (state.changed.any() or state.counts.any() or state.flows.any()):
            return True


def fastest() -> Loops:
    """Return the compiled loops where numba is installed (extra `fast`), else those in numpy."""
    if importlib.util.find_spec("numba") is None:
        return Vectorised()
    from solvers.assignments.compiled.loops import Compiled

    return Compiled()
