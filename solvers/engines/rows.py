"""Where the cells are too many: one world row by row, and bounds that every single partition gives.

Source: the row-by-row formulation of Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML
2024, for any statements.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import cells_known, system_of
from solvers.cells.worlds import RandomSource
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.assignments.world import assigned
from solvers.positions.known_world import known_world
from solvers.programs.columns.single_partitions import decide_without_cells, world_bounds, world_of
from solvers.programs.linear_program import verdict
from solvers.statements.questions.answers import Answer, WorldsAnswer, refuted
from solvers.statements.questions.engine import COARSE, Engine, no_coupling, unanswered
from solvers.statements.questions.query import Count, Decide, MostLikely, Query
from solvers.statements.release import Release
from solvers.statements.row_problem import anchored

NO_WORLD = "no possible world was found in time, and none was excluded"
ROWS_NOTE = "found row by row; not proved to be the heaviest, and whether others exist is not decided"


class RowsEngine(Engine):
    """One world, or honest bounds, without cells."""

    name = "rows"
    answers = (Count, Decide, MostLikely)
    needs = ("ortools",)
    about = "where the cells are too many: a world row by row, bounds from each tree alone"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why rows cannot be written out, or None."""
        if not release.rows.exact:
            return "the number of rows is open"
        if isinstance(query, MostLikely) and release.coarse:
            return COARSE
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world, or bounds on the number of worlds from a world and from every partition alone."""
        limits = limits.limited()
        if isinstance(query, Decide):
            return decide_without_cells(release, query, limits)
        if not isinstance(query, Count | MostLikely):
            raise unanswered(query, self.name)
        seed = query.seed if isinstance(query, MostLikely) else 0
        over_cells = isinstance(query, Count) and cells_known(release)
        status, rows, note = _over_cells(release, limits) if over_cells else _first_world(release, seed, limits)
        if status == "none":
            return refuted(query)
        if isinstance(query, Count):
            return world_bounds(release, query.convention, rows, note, limits, status == "found")
        if rows is None:
            return Answer("unknown", trail=(note,))
        return WorldsAnswer("exact", worlds=iter([world_of(release, rows, RandomSource(seed), ROWS_NOTE)]))


def _over_cells(release: Release, limits: Limits) -> tuple[str, None, str]:
    """Return whether there is a world, where the cells are known: row by row the program is larger, and bounds no more.

    The status is as that of `_first_world`.
    """
    solvable = verdict(system_of(release, limits), limits).solvable
    return ("none", None, "") if solvable is False else ("found", None, "") if solvable else ("unknown", None, NO_WORLD)


def _first_world(release: Release, seed: int, limits: Limits) -> tuple[str, NDArray[np.int64] | None, str]:
    """Return a world by the parts of its rows, distinguished where a tree or table does that, and why there is none.

    The status is "found", "none" (there is none) or "unknown".
    """
    from solvers.programs.row_model import RowModel

    try:
        if anchored(release) and (state := assigned(release, limits)) is not None:
            known = known_world(state, limits, seed)
            if seed in known.parts or known.contradicted:
                return "none" if known.contradicted else "found", known.parts.get(seed), ""
        status, rows = RowModel(release, limits).first()
        return status, rows, "" if rows is not None else NO_WORLD
    except (Inconclusive, Unsupported) as error:
        return "unknown", None, str(error)
