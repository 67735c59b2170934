"""One world under which trees on bags that nobody knows are likely to count what they counted.

A world must explain the counts; the more rows a leaf holds, the more ways there are to draw what it counted. Measured,
such worlds are nearer to the truth than others that fit (docs/measured.md).

Source: Metropolis over worlds, see solvers.programs.local_search.finding.
"""

from __future__ import annotations

from dataclasses import replace

from solvers.cells.worlds import RandomSource
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.programs.columns.single_partitions import world_of
from solvers.statements.questions.answers import Answer, WorldsAnswer
from solvers.statements.questions.engine import Engine, not_searched, unanswered
from solvers.statements.questions.query import MostLikely, Query
from solvers.statements.release import Release

EFFORT = 1 << 10  # moves per statement and row there
DRAWN_NOTE = (
    "of the worlds found, one that makes the bags' counts most likely (uniform prior over datasets with these rows, "
    "not proved the most likely)"
)


class DrawsEngine(Engine):
    """One likely world of trees on unknown bags; never a proof that there is none."""

    name = "draws"
    answers = (MostLikely,)
    about = "one world that makes the counts of trees on unknown bags likely: rows moved as long as all counts hold"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no world is searched for, or None."""
        if not any(block.draws is not None for block in release.partitions.values()):
            return "no tree has a bag that is not known"
        if release.bags:
            return "other bags are known: counts of the rows alone do not make a world"
        if (reason := not_searched(release)) is not None:
            return reason
        return None if release.rows.exact else "the number of rows is open"

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world; raises `Inconclusive` where none is found, or no second one where others may prove that."""
        from solvers.programs.local_search.finding import likely_rows

        if not isinstance(query, MostLikely):
            raise unanswered(query, self.name)
        limits, seed = limits.limited(), query.seed
        if release.domain.relative:
            rows, _ = likely_rows(release, seed, limits)
            world = world_of(release, rows, RandomSource(seed), DRAWN_NOTE)
        else:
            rows, several = likely_rows(release, seed, limits.stage("drawn bags"), EFFORT)
            if not several:
                raise Inconclusive("no second world was met: whether there is one others may prove")
            world = replace(world_of(release, rows, RandomSource(seed), DRAWN_NOTE), unique=False)
        return WorldsAnswer("exact", worlds=iter([world]))
