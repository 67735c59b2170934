"""The compiled loops as propagation calls them."""

from __future__ import annotations

import numpy as np

from solvers.assignments.compiled.flows import flow_tree
from solvers.assignments.compiled.narrowing import DONE, ENDED, narrow
from solvers.assignments.propagation.state import State
from solvers.assignments.propagation.tables import Tables
from solvers.kernel.claims import Counted, Hall, Removal, Revised


class Compiled:
    """The inner loops compiled, see `propagation.fixpoint.Loops`."""

    def narrow(self, tables: Tables, state: State, budget: int) -> tuple[list[Removal], bool | None]:
        """Revise rows and bound counts, see `propagation.fixpoint.Loops`."""
        found, end = narrow(tables, state, budget)
        steps: list[Removal] = [Revised(x) if x >= 0 else Counted(-1 - x) for x in found.tolist()]
        return steps, None if end == ENDED else end == DONE

    def flow(self, tables: Tables, state: State, t: int) -> tuple[list[Removal], bool]:
        """Filter the flows of a tree, see `propagation.fixpoint.Loops`."""
        times, full, members, contradicted = flow_tree(tables, state, t)
        steps: list[Removal] = []
        for m, side, words in zip(times.tolist(), full.tolist(), members, strict=True):
            values = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")) + tables.value[t]
            steps.append(Hall(t, m, side, tuple(values.tolist())))
        return steps, contradicted
