"""Rigorous outer bounds by linear programming alone, and contradictions that it proves (Farkas).

Source: Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming", 2004.
"""

from __future__ import annotations

import numpy as np

from solvers.cells.system import system_of
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import before_release, met_cells
from solvers.questions.engine import Engine, no_coupling
from solvers.questions.query import Answer, Count, CountAnswer, Decide, DecideAnswer, Extreme, ExtremeAnswer, Query
from solvers.statements.release import Release


class LinearProgramEngine(Engine):
    """Outer bounds on numbers of rows and linear figures; never a world, never a share."""

    name = "lp"
    answers = (Count, Decide, Extreme)
    needs = ("highspy",)
    about = "rigorous outer bounds by linear programming over cells, and contradictions that it proves"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why there is nothing to bound, or None."""
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return outer bounds, or that there is no world."""
        from solvers.programs.linear_program import Relaxation

        system = system_of(release, limits)
        relaxation = Relaxation(system, limits)
        if system.bounds.conflict is not None or relaxation.refutes(limits) is not None:
            return CountAnswer("unsat", convention=query.convention) if isinstance(query, Count) else Answer("unsat")
        if isinstance(query, Extreme):
            value, _ = relaxation.bound(query.coefs, query.greatest, limits)
            ends = (-(1 << 62), value) if query.greatest else (value, 1 << 62)
            return ExtremeAnswer("bounds", bounds=ends)
        if not isinstance(query, Decide):
            raise Unsupported("linear programming does not count worlds")
        low, high = [], []
        for met in met_cells(system, query.selections, limits):
            if limits.expired():  # what no time is left for stays open
                low.append(0)
                high.append(release.rows.high or 0)
                continue
            inside, meets = np.zeros((2, len(system.sizes)), dtype=np.int64)
            inside[list(met.inside)] = meets[list(met.cells)] = 1
            low.append(max(0, relaxation.bound(inside, False, limits)[0]))
            high.append(min(relaxation.bound(meets, True, limits)[0], release.rows.high or 0))
        least, most = np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
        share = np.where(least > 0, 1.0, np.where(most == 0, 0.0, np.nan))
        unknown = np.full(len(least), np.nan)
        before = (unknown, unknown)
        if release.rows.exact:
            before = before_release(system, query.selections, query.convention, [release.rows.low])
        return DecideAnswer(
            "bounds",
            low=least,
            high=most,
            probability=share,
            before=before[0],
            expected=unknown,
            expected_before=before[1],
            open=(least <= 0) & (most > 0),
        )
