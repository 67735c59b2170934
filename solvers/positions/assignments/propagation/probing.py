"""Values tried one by one: what leads to a row without values is removed, with the steps that show it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.kernel.claims import Removal, ValueRemoval
from solvers.positions.assignments.propagation.fixpoint import Loops, propagate
from solvers.positions.assignments.propagation.state import DomainState
from solvers.positions.assignments.propagation.tables import ProblemTables
from solvers.positions.assignments.propagation.vectorised import values_left

WIDEST = 5  # values left of a row in a tree that is tried
BUDGET = 2_000  # rows and trees that one trial may look at
WINDOW, YIELD = 2_000, 0.01  # trials looked back at, and the part of the values that could go that they must remove


@dataclass(slots=True, eq=False)
class Prober:
    """Tries values on a state at its fixpoint, and goes on from there where something is removed."""

    loops: Loops
    tables: ProblemTables
    state: DomainState
    steps: list[Removal]

    def run(self, limits: Limits) -> bool | None:
        """Try values while it pays; return whether every row has a value left, None where the time ended.

        Rows and trees with the fewest values left come first. Stops where the last `WINDOW` trials, with what followed
        from them, removed less than the part `YIELD` of the values left beyond one each.
        """
        gains: list[int] = []
        spare = self.left() - int((self.tables.times > 0).sum())
        while True:
            before = len(gains)
            for i, t, v in self.smallest():
                if limits.expired():
                    return None
                if v not in (own := values_left(self.tables, self.state.words[i], t)) or len(own) < 2:
                    continue
                left = self.left()
                if self.refuted(i, t, v):
                    settled = propagate(self.loops, self.tables, self.state, self.steps, limits)
                    if not settled:
                        return settled
                gains.append(left - self.left())
                spare -= gains[-1]
                if len(gains) >= WINDOW and sum(gains[-WINDOW:]) < YIELD * spare:
                    return True
            if not sum(gains[before:]):
                return True

    def left(self) -> int:
        """Return how many values are left in all."""
        return int(np.bitwise_count(self.state.words).sum())

    def smallest(self) -> list[tuple[int, int, int]]:
        """Return (row, tree, value) of rows with two to `WIDEST` values left in a tree, the fewest first."""
        word = self.tables.word
        counts = np.cumsum(np.bitwise_count(self.state.words), axis=1, dtype=np.int64)
        ends = np.concatenate([np.zeros((len(counts), 1), dtype=np.int64), counts], axis=1)[:, word]
        sizes: Ints = np.diff(ends, axis=1)
        i, t = np.nonzero((sizes >= 2) & (sizes <= WIDEST))
        order = np.argsort(sizes[i, t], kind="stable")
        found = zip(i[order].tolist(), t[order].tolist(), strict=True)
        return [(i, t, v) for i, t in found for v in values_left(self.tables, self.state.words[i], t).tolist()]

    def refuted(self, i: int, t: int, v: int) -> bool:
        """Try a value; where it leads to a row without values, remove it and note the steps."""
        word, bit = divmod(int(self.tables.at[v]), 64)
        one = np.uint64(1) << np.uint64(bit)
        trial = self.state.copy()
        trial.words[i, int(self.tables.word[t]) : int(self.tables.word[t + 1])] = 0
        trial.words[i, word] = one
        trial.changed[i, t] = trial.counts[t] = True
        found, settled = self.loops.narrow(self.tables, trial, BUDGET)
        if settled is not False:
            return False
        self.steps.append(ValueRemoval(i, v, tuple(found)))
        self.state.words[i, word] &= ~one
        self.state.changed[i, t] = self.state.counts[t] = self.state.flows[t] = True
        return True
