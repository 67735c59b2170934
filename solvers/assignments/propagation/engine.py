"""Propagation on one problem: its state, its steps so far, and what is done in which order."""

from __future__ import annotations

from solvers.assignments.domains import Domains
from solvers.assignments.propagation.fixpoint import Loops, fastest, propagate
from solvers.assignments.propagation.state import State
from solvers.assignments.propagation.tables import Tables, meet_bytes
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits, ended
from solvers.kernel.claims import Removal
from solvers.statements.row_problem import RowProblem


class Propagation:
    """What follows on one problem so far: `domains`, and the `steps` that removed the rest, in order.

    `contradicted`: there is no world. `complete`: nothing more follows. `note`: why it is not complete.
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

    def run(self, limits: Limits) -> None:
        """Go on from the state reached, to the fixpoint or to the limits."""
        if self.complete:
            return
        if (size := meet_bytes(self.problem)) > limits.memory:
            self.note = (
                f"{len(self.problem.tree):,} leaf counts need {size >> 20:,} MB, above {limits.memory >> 20:,} MB"
            )
            return
        try:
            tables, state = self._prepared(limits)
            settled = propagate(self._loops, tables, state, self.steps, limits)
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
