"""One world where nothing tells rows apart and the cells may be too many: rows moved until every statement holds.

Source: simulated annealing over rows, see solvers.local_search.loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from solvers.columns.single_partitions import world_bounds, world_of
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.questions.engine import Engine, no_coupling
from solvers.questions.query import Answer, Count, MostLikely, Query, WorldsAnswer
from solvers.questions.relaxed import refused
from solvers.statements.release import Loose, Partition, Release
from solvers.worlds.row_lists import RandomSource

SHARE = 0.3  # of the time left where other engines look for a world too, and may prove that there is none
COUNT_SHARE = 0.15  # the same where a world is only the lower end of bounds
NOTE = "found by local search; not proved to be the heaviest, and whether others exist is not decided"
MANY = (
    "one of many, found by local search: the others are not counted, and the middle of what is proved of a row "
    "is as good a guess"
)


class LocalSearchEngine(Engine):
    """One world of partitions and counts; never a proof that there is none."""

    name = "local_search"
    answers = (Count, MostLikely)
    about = "one world where rows cannot be told apart: rows moved between leaves until all counts hold"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no world is searched for, or None."""
        if release.bags:
            return "the bags are known: counts of the rows alone do not make a world"
        if release.loosened:
            return refused(release)
        if any(not isinstance(block, Partition | Loose) for block in release.blocks):
            return "statements of which only one holds are not searched for"
        if any(statement.of is not None for block in release.loose.values() for statement in block):
            return "sums of values are not searched for"
        if isinstance(query, Count) and not release.rows.exact:
            return "the number of rows is open"
        if release.domain.relative and isinstance(query, MostLikely) and release.rows.high is not None:
            return None  # rows as boxes of parts: what number of a part stands there makes no difference
        if release.domain.relative:
            return "a continuous attribute has no 'resolution': a world bounds no number of worlds"
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world, or bounds on the number of worlds from one; raises `Inconclusive` where none is found."""
        limits = limits.limited()
        alone = release.domain.relative and isinstance(query, MostLikely)
        share = limits if alone else limits.share(COUNT_SHARE if isinstance(query, Count) else SHARE)
        rows = known_rows(release, getattr(query, "seed", 0), share)
        if isinstance(query, Count):
            return world_bounds(release, query.convention, rows, "", limits)
        note = MANY if release.domain.relative else NOTE
        return WorldsAnswer(
            "exact", worlds=iter([world_of(release, rows, RandomSource(getattr(query, "seed", 0)), note)])
        )


@dataclass(slots=True)
class Searched:
    """Worlds that were found, by seed, and how many seconds a search took that found none."""

    rows: dict[int, Ints] = field(default_factory=dict)
    seconds: float = 0.0


def known_rows(release: Release, seed: int, limits: Limits) -> Ints:
    """Return (rows, attributes) parts of a world, -1 where nothing names an attribute; from memory if known.

    Every statement has been evaluated anew on them. Raises `Inconclusive` where none is found.
    """
    remembered = release.derived.part(Searched)
    if seed in remembered.rows:
        return remembered.rows[seed]
    if limits.left() <= remembered.seconds:
        raise Inconclusive("no world was found in more time than is left")
    from solvers.local_search.annealing import search
    from solvers.local_search.problem import problem_of
    from solvers.local_search.verifying import broken

    begun = limits.left()
    problem = problem_of(release, limits)
    found, off = search(problem, seed, limits)
    if found is None:
        remembered.seconds = begun if not limits.stop.is_set() else 0.0
        raise Inconclusive(f"no world was found, and none was excluded (at best {off:,} rows off)")
    rows = np.full((problem.rows, len(release.domain.attributes)), -1, dtype=np.int64)
    rows[:, problem.attributes] = found
    if (wrong := broken(release, rows)) is not None:
        raise EngineError(f"local search found rows that are no world: {wrong}")
    remembered.rows[seed] = rows
    return rows
