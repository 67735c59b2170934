"""The compiled loops as propagation calls them."""

from __future__ import annotations

import numpy as np

from solvers.assignments.compiled.counts import count_tree
from solvers.assignments.compiled.flows import flow_tree
from solvers.assignments.compiled.revision import revise_rows
from solvers.assignments.propagation.state import HallSet, State
from solvers.assignments.propagation.tables import Tables
from solvers.foundation.array_types import Ints


class Compiled:
    """The inner loops compiled, see `propagation.fixpoint.Loops`."""

    def revise(self, tables: Tables, state: State, rows: Ints) -> tuple[list[int], bool]:
        """Revise rows: those that lost values, and whether the last of them is contradicted."""
        found, contradicted = revise_rows(tables, state, rows)
        return found.tolist(), contradicted

    def count(self, tables: Tables, state: State, t: int) -> tuple[list[int], bool]:
        """Bound counts: the values that removed something, and whether the last of them is contradicted."""
        found, contradicted = count_tree(tables, state, t)
        return found.tolist(), contradicted

    def flow(self, tables: Tables, state: State, t: int) -> tuple[list[HallSet], bool]:
        """Filter flows: the sets that removed something, and whether the last of them is contradicted."""
        times, full, members, contradicted = flow_tree(tables, state, t)
        found = []
        for m, side, words in zip(times.tolist(), full.tolist(), members, strict=True):
            values = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")) + tables.value[t]
            found.append(HallSet(m, side, values))
        return found, contradicted
