"""The compiled loops as propagation calls them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.foundation.native.compiling import fingerprint, kept, ready
from solvers.kernel.claims import CountRevision, Hall, Removal, Revised
from solvers.positions.assignments.compiled.bits import OPTIONS
from solvers.positions.assignments.compiled.flows import flow_tree
from solvers.positions.assignments.compiled.narrowing import DONE, ENDED, narrow
from solvers.positions.assignments.propagation.state import DomainState
from solvers.positions.assignments.propagation.tables import ProblemTables
from solvers.statements.meetings import Words


class Compiled:
    """The inner loops compiled, see `propagation.fixpoint.Loops`."""

    def __init__(self) -> None:
        here = Path(__file__).parent
        beside = here.parent / "propagation"
        sources = fingerprint([*here.glob("*.py"), beside / "state.py", beside / "tables.py"])

        def narrowed(tables: ProblemTables, state: DomainState, budget: int) -> tuple[Ints, int]:
            return narrow(tables, state, budget) if sources else (np.empty(0, dtype=np.int64), ENDED)

        def filtered(tables: ProblemTables, state: DomainState, t: int) -> tuple[Ints, Bits, Words, bool]:
            return flow_tree(tables, state, t if sources else -1)

        self._narrowed, self._filtered = kept(narrowed, **OPTIONS), kept(filtered, **OPTIONS)

    def ready(self, limits: Limits) -> bool:
        """Return whether they can be called: compiled before, or time enough to do it now."""
        return ready((self._narrowed, self._filtered), limits)

    def narrow(self, tables: ProblemTables, state: DomainState, budget: int) -> tuple[list[Removal], bool | None]:
        """Revise rows and bound counts, see `propagation.fixpoint.Loops`."""
        found, end = self._narrowed(tables, state, budget)
        steps: list[Removal] = [Revised(x) if x >= 0 else CountRevision(-1 - x) for x in found.tolist()]
        return steps, None if end == ENDED else end == DONE

    def flow(self, tables: ProblemTables, state: DomainState, t: int) -> tuple[list[Removal], bool]:
        """Filter the flows of a tree, see `propagation.fixpoint.Loops`."""
        times, full, members, contradicted = self._filtered(tables, state, t)
        steps: list[Removal] = []
        for m, side, words in zip(times.tolist(), full.tolist(), members, strict=True):
            values = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")) + tables.value[t]
            steps.append(Hall(t, m, side, tuple(values.tolist())))
        return steps, contradicted


@cache
def compiled_loops() -> Compiled:
    """Return the compiled loops, read from disk once in a process."""
    return Compiled()
