"""Rigorous outer bounds by linear programming alone, and contradictions that it proves (Farkas).

Source: Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming", 2004.
"""

from __future__ import annotations

from solvers.cells.system import system_of
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import Answer, ExtremeAnswer, refuted
from solvers.statements.questions.engine import Engine, no_coupling, unanswered
from solvers.statements.questions.query import Count, Extreme, Query
from solvers.statements.release import Release


class LinearProgramEngine(Engine):
    """Outer bounds on linear figures, and contradictions; never a world. Bounds on profiles `cpsat` has from it."""

    name = "lp"
    answers = (Count, Extreme)
    needs = ("highspy",)
    about = "rigorous outer bounds by linear programming over cells, and contradictions that it proves"
    cells = "few"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why there is nothing to bound, or None."""
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return an outer bound, or that there is no world."""
        from solvers.programs.linear_program import Relaxation

        system = system_of(release, limits)
        relaxation = Relaxation(system, limits)
        if system.bounds.conflict is not None or relaxation.refutes(limits):
            return refuted(query)
        if isinstance(query, Count):
            raise Unsupported("linear programming does not count worlds")
        if not isinstance(query, Extreme):
            raise unanswered(query, self.name)
        value = relaxation.bound(query.coefs, query.greatest, limits)
        return ExtremeAnswer("bounds", bounds=(None, value) if query.greatest else (value, None))
