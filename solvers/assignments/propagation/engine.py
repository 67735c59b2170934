"""Propagation on one problem: its state, its steps so far, and what is done in which order."""

from __future__ import annotations

import math
import time

import numpy as np

from solvers.assignments.domains import Domains
from solvers.assignments.labels import label_step
from solvers.assignments.propagation.fixpoint import Loops, fastest, propagate
from solvers.assignments.propagation.probing import Prober
from solvers.assignments.propagation.state import State
from solvers.assignments.propagation.tables import Tables, meet_bytes, packed
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits, ended
from solvers.kernel.claims import Labelled, Removal
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import RowProblem

TRIALS = 0.5  # part of the time left that values are tried for


class Propagation:
    """What follows on one problem so far: `domains`, and the `steps` that removed the rest, in order.

    `contradicted`: there is no world. `complete`: nothing more is tried. `note`: why it is not complete.
    """

    def __init__(self, problem: RowProblem, loops: Loops | None = None) -> None:
        self.problem = problem
        self.domains = Domains(problem)
        self.steps: list[Removal] = []
        self.contradicted = self.domains.contradicted()
        self.complete = self.contradicted
        self.note = ""
        self._tables: Tables | None = None
        self._state: State | None = None
        self._loops = loops or fastest()
        self._trials = 0.0  # seconds that values were tried for

    def run(self, limits: Limits) -> None:
        """Go on from the state reached, to the end or to the limits."""
        if self.complete:
            return
        if (size := meet_bytes(self.problem)) > limits.memory:
            leaves, most = len(self.problem.tree), limits.memory >> 20
            self.note = f"{leaves:,} leaf counts need {size >> 20:,} MB, above {most:,} MB"
            return
        try:
            settled = self._worked_out(*self._prepared(limits), limits)
        except Inconclusive as error:
            self.note = str(error)
            return
        if settled is None:
            self.note = f"{ended(limits)} while rows were told apart"
            return
        self.complete, self.contradicted, self.note = True, not settled, ""
        self._tables = self._state = None

    def _prepared(self, limits: Limits) -> tuple[Tables, State]:
        """Return the tables and the state, made where they are not there yet."""
        if self._tables is None:
            self._tables = Tables.of(self.problem, limits)
        if self._state is None:
            self._state = State.of(self.domains.words, self._tables)
        return self._tables, self._state

    def _worked_out(self, tables: Tables, state: State, limits: Limits) -> bool | None:
        """Propagate, settle labels as long as that settles some, then try values; see `propagate` for the result."""
        while True:
            settled = propagate(self._loops, tables, state, self.steps, limits)
            if not settled:
                return settled
            step = label_step(self.problem, self.domains, limits)
            if step is None:
                break
            self.steps.append(step)
            if not labelled(tables, state, self.problem, step):
                return False
        return self._tried(tables, state, limits)

    def _tried(self, tables: Tables, state: State, limits: Limits) -> bool | None:
        """Try values with a part of the time, that spent on it before taken off: nobody waits for it twice."""
        share = limits.share(TRIALS)
        begun, own = share.started, share.left() - self._trials
        settled = Prober(self._loops, tables, state, self.steps).run(limits if math.isinf(own) else limits.lasting(own))
        self._trials += time.monotonic() - begun
        return settled


def labelled(tables: Tables, state: State, problem: RowProblem, step: Labelled) -> bool:
    """Remove what gives rows other labels; return whether every row has a value left in every tree that saw it."""
    rows, label = np.array(step.rows, dtype=np.int64), np.array(step.labels, dtype=np.int64)
    for k in np.unique(label).tolist():
        bits = np.zeros((1, len(tables.owner) * 64), dtype=bool)
        bits[:, tables.at] = (problem.label == k) | (problem.label == ANY_LABEL)
        own = rows[label == k]
        left = state.words[own] & packed(bits)
        for i, lost in zip(own.tolist(), left != state.words[own], strict=True):
            trees = np.unique(tables.owner[lost])
            state.changed[i, trees] = state.counts[trees] = state.flows[trees] = True
        state.words[own] = left
    found = np.zeros(state.changed.shape, dtype=bool)
    for t in range(len(tables.most)):
        found[:, t] = state.words[:, int(tables.word[t]) : int(tables.word[t + 1])].any(axis=1)
    return bool((found | (tables.times.T == 0)).all())
