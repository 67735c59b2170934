"""The most likely world of a noisy release: a histogram of maximum likelihood, its rows spread inside the cells.

Source: `solvers.noisy.likelihood.most_likely` and what it names.
"""

from __future__ import annotations

from dataclasses import replace

from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import Answer, WorldsAnswer, refuted
from solvers.statements.questions.engine import COARSE, Engine, no_coupling, unanswered
from solvers.statements.questions.query import MostLikely, Query
from solvers.statements.release import Release


class LikeliestEngine(Engine):
    """Releases with noisy counts; a world whose counts make the published figures most likely."""

    name = "likeliest"
    answers = (MostLikely,)
    needs = ("ortools", "scipy", "highspy")
    about = "the most likely world of noisy counts: linear relaxation, moves of rows, CP-SAT for a proof"
    coarse = False

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no most likely world is looked for, or None."""
        if not any(release.observed):
            return "no noisy counts"
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world of maximum likelihood; its note says how good it is proved to be.

        Status "bounds" where the optimum is not proved in time, "unsat" where no world has a positive likelihood.
        """
        from solvers.cells.worlds import RandomSource, filled_cells, spread_world
        from solvers.noisy.likelihood.most_likely import most_likely_of
        from solvers.statements.observations import observations

        if not isinstance(query, MostLikely):
            raise unanswered(query, self.name)
        if release.coarse:
            raise Unsupported(COARSE)
        try:
            system, found = most_likely_of(release, observations(release), limits)
        except ContradictionError as error:
            return refuted(query, error.conflict)
        world = spread_world(release.domain, filled_cells(system, found.histogram), RandomSource(query.seed))
        world = replace(world, note=found.describe("world"), figures=found.figures())
        return WorldsAnswer("exact" if found.proved else "bounds", worlds=iter([world]))
