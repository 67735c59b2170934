"""Propagation on one problem: its state, its steps so far, and what is done in which order."""

from __future__ import annotations

import math

import numpy as np

from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits, ended
from solvers.kernel.claims import Labelled, Removal
from solvers.positions.assignments.domains import Domains
from solvers.positions.assignments.labels import label_steps
from solvers.positions.assignments.propagation.fixpoint import Loops, Vectorised, fastest, propagate
from solvers.positions.assignments.propagation.probing import WIDEST, Prober
from solvers.positions.assignments.propagation.state import DomainState
from solvers.positions.assignments.propagation.tables import ProblemTables, packed
from solvers.statements.meetings import Meetings
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import RowProblem

SMALL = 100_000  # rows times values below which numba takes longer to load than it saves
MANY = 400  # trials, likewise


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
        self._tables: ProblemTables | None = None
        self._state: DomainState | None = None
        self._given = loops
        self._trials = 0.0  # seconds that values were tried for
        self._labels: tuple[int, float] | None = None  # labels left when they were last tried in vain, in how much time

    def run(self, limits: Limits) -> None:
        """Go on from the state reached, to the end or to the limits."""
        if self.complete:
            return
        try:
            tables, state = self._prepared(limits)
            settled = self._worked_out(tables, state, limits)
        except Inconclusive as error:
            self.note = str(error)
            return
        if settled is None:
            self.note = f"{ended(limits)} while rows were told apart"
        elif settled and not tables.compared:
            room, most = Meetings.room(self.problem) >> 20, limits.memory >> 20
            self.note = f"leaves of different trees are not compared: that takes {room:,} MB of memory, above {most:,}"
        else:
            self.complete, self.contradicted, self.note = True, not settled, ""
            self._tables = self._state = None

    def _prepared(self, limits: Limits) -> tuple[ProblemTables, DomainState]:
        """Return the tables and the state, made where they are not there yet or memory now allows more."""
        if self._tables is not None and not self._tables.compared and Meetings.room(self.problem) <= limits.memory:
            self._tables = self._state = None
        if self._tables is None:
            self._tables = ProblemTables.of(self.problem, limits)
        if self._state is None:
            self._state = DomainState.of(self.domains.words, self._tables)
        return self._tables, self._state

    def _worked_out(self, tables: ProblemTables, state: DomainState, limits: Limits) -> bool | None:
        """Propagate, settle labels as long as that settles some, then try values; see `propagate` for the result."""
        loops = self._loops(self.problem.rows * len(self.problem.tree) >= SMALL, limits)
        tried = not tables.compared
        while True:
            settled = propagate(loops, tables, state, self.steps, limits)
            if not settled:
                return settled
            steps = self._label_steps(limits)
            if tried and not steps:
                return True
            for step in steps:
                self.steps.append(step)
                if not labelled(tables, state, self.problem, step):
                    return False
            if not steps:
                tried = True
                settled = self._tried(tables, state, limits)
                if not settled:
                    return settled

    def _loops(self, much: bool, limits: Limits) -> Loops:
        """Return the loops for much work, or for less than it takes to load compiled ones."""
        return self._given or (fastest(limits) if much else Vectorised())

    def _label_steps(self, limits: Limits) -> list[Labelled]:
        """Return proofs of labels; none where fewer were open, or more time was left, when none was found."""
        left, seconds = int(self.domains.labels().sum()), limits.left()
        if self._labels is not None and self._labels[0] <= left and self._labels[1] >= seconds:
            return []
        steps = list(label_steps(self.problem, self.domains, limits))
        self._labels = None if steps else (left, seconds)
        return steps

    def _tried(self, tables: ProblemTables, state: DomainState, limits: Limits) -> bool | None:
        """Try values with a part of the time, that spent on it before taken off: nobody waits for it twice."""
        sizes = self.domains.sizes()
        loops = self._loops(int(sizes[(sizes > 1) & (sizes <= WIDEST)].sum()) >= MANY, limits)
        share = limits.stage("values tried")
        before = share.left()
        own = before - self._trials
        settled = Prober(loops, tables, state, self.steps).run(limits if math.isinf(own) else limits.lasting(own))
        self._trials += 0.0 if math.isinf(own) else before - share.left()
        return settled


def labelled(tables: ProblemTables, state: DomainState, problem: RowProblem, step: Labelled) -> bool:
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
