"""The queue: rows revised, counts bounded, flows filtered, until nothing changes, and every removal as a step."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from solvers.foundation.limits import Limits
from solvers.foundation.native.threads import installed
from solvers.kernel.claims import CountRevision, Removal, Revised
from solvers.positions.assignments.propagation.tables import DomainState, ProblemTables

WORK = 1 << 27  # words that may be looked at between two looks at the clock
PER_WORD = 5e-9  # of work


class Loops(Protocol):
    """The inner loops: in numpy (`vectorised`, `flows`) or compiled (`solvers.positions.assignments`)."""

    def narrow(self, tables: ProblemTables, state: DomainState, budget: int) -> tuple[list[Removal], bool | None]:
        """Revise rows and bound counts until nothing changes or `budget` rows and trees were looked at.

        Returns the steps in order, and whether every row has a value left in every tree that saw it, None where the
        budget ended before that was settled. The last step is the one that showed that there is none.
        """

    def flow(self, tables: ProblemTables, state: DomainState, t: int) -> tuple[list[Removal], bool]:
        """Filter a tree's values by flows; return the sets that removed something, and whether the last contradicts."""


class Vectorised:
    """The inner loops in numpy."""

    def narrow(self, tables: ProblemTables, state: DomainState, budget: int) -> tuple[list[Removal], bool | None]:
        """Revise rows and bound counts, see `vectorised.narrow`."""
        from solvers.positions.assignments.propagation.vectorised import narrow

        found, settled = narrow(tables, state, budget)
        return [Revised(x) if of_row else CountRevision(x) for of_row, x in found], settled

    def flow(self, tables: ProblemTables, state: DomainState, t: int) -> tuple[list[Removal], bool]:
        """Filter the flows of a tree, see `flows.flow`."""
        from solvers.positions.assignments.propagation.flows import flow

        return flow(tables, state, t)


def fastest(limits: Limits) -> Loops:
    """Return the compiled loops where numba is installed (extra `fast`), else those in numpy.

    These also where the others were never compiled and the time is short.
    """
    if not installed():
        return Vectorised()
    from solvers.positions.assignments.loops import compiled_loops

    made = compiled_loops()
    return made if made.ready(limits) else Vectorised()


def propagate(
    loops: Loops, tables: ProblemTables, state: DomainState, steps: list[Removal], limits: Limits
) -> bool | None:
    """Remove what follows until nothing changes; the steps are added to `steps` in order.

    Returns whether every row has a value left in every tree that saw it, None where the time ended before that was
    settled: `state` then says what is open, and another call goes on from there.
    """
    budget = max(1, WORK // tables.look)
    while True:
        settled: bool | None = None
        while settled is None:
            if limits.expired():
                return None
            found, settled = loops.narrow(tables, state, budget)
            limits.charge(PER_WORD * WORK if settled is None else 0.0)
            steps += found
        if not settled:
            return False
        for t in np.flatnonzero(state.flows).tolist():
            if limits.expired():
                return None
            found, contradicted = loops.flow(tables, state, t)
            steps += found
            if contradicted:
                return False
            if state.counts[t]:
                break
        if not (state.changed.any() or state.counts.any() or state.flows.any()):
            return True
