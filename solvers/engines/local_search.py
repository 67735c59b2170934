"""One world where nothing tells rows apart and the cells may be too many: rows moved until every statement holds.

Source: simulated annealing over rows, see solvers.programs.local_search.loops.
"""

from __future__ import annotations

from solvers.cells.worlds import RandomSource
from solvers.foundation.limits import Limits
from solvers.programs.columns.single_partitions import world_bounds, world_of
from solvers.statements.questions.answers import Answer, CountAnswer, WorldsAnswer
from solvers.statements.questions.engine import Engine, no_coupling, not_searched, unanswered
from solvers.statements.questions.query import Count, MostLikely, Query
from solvers.statements.release import Release

SEARCHED_NOTE = "found by local search; not proved to be the heaviest, and whether others exist is not decided"
MANY = (
    "one of many, found by local search: the others are not counted, and the middle of what is proved of a row "
    "is as good a guess"
)
ATTAINED = "a data set was found that the statements hold of; how many there are is not defined"


class LocalSearchEngine(Engine):
    """One world of partitions and counts; never a proof that there is none."""

    name = "local_search"
    answers = (Count, MostLikely)
    about = "one world where rows cannot be distinguished: rows moved between leaves until all counts hold"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no world is searched for, or None."""
        if release.bags:
            return "the bags are known: counts of the rows alone do not make a world"
        if (reason := not_searched(release)) is not None:
            return reason
        if isinstance(query, Count) and not release.rows.exact:
            return "the number of rows is open"
        if release.domain.relative and release.rows.high is not None:
            return None  # rows as boxes of parts: what number of a part stands there makes no difference
        if release.domain.relative:
            return "the number of rows is open"
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world, or bounds on the number of worlds from one; raises `Inconclusive` where none is found."""
        limits = limits.limited()
        alone = release.domain.relative and isinstance(query, MostLikely)
        share = (
            limits
            if alone
            else limits.stage("local search for a count" if isinstance(query, Count) else "local search")
        )
        if not isinstance(query, Count | MostLikely):
            raise unanswered(query, self.name)
        from solvers.programs.local_search.finding import known_rows

        seed = query.seed if isinstance(query, MostLikely) else 0
        rows = known_rows(release, seed, share)
        if isinstance(query, Count) and release.domain.relative:
            return CountAnswer("bounds", convention=query.convention, relative=True, attained=True, trail=(ATTAINED,))
        if isinstance(query, Count):
            return world_bounds(release, query.convention, rows, "", limits, True)
        note = MANY if release.domain.relative else SEARCHED_NOTE
        return WorldsAnswer("exact", worlds=iter([world_of(release, rows, RandomSource(seed), note)]))
