"""People pinned down: rows that are in every world, in cells of one possible row.

Of a cell of one possible row as many people are pinned down as it has rows in every world. Worlds in which these cells
have as few rows as can be found bound the figure from above: two that share none of them prove that it is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.engines.groups.candidates import CandidateCells
from solvers.engines.groups.items import Items, items_of
from solvers.engines.groups.smallest import IN_ALL, MAX_CELLS, MAX_FREE_CELLS, WorkLeft
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cell_model import CellModel
from solvers.programs.cpsat import FOUND
from solvers.statements.release import UNBOUNDED, Release

WORLDS = 8  # asked for
STARTS = 1  # vertices whose cells are enough for a world, before each
OPEN = "more people than those in every world that was found may be pinned down"


@dataclass(frozen=True)
class PinnedPeople:
    """Between `low` and `high` people are pinned down; `worlds` prove `high`, `why` says what kept them apart.

    `always`: bounds on cells of one possible row prove `high`, see `Items.never_small`.
    """

    low: int
    high: int
    worlds: int = 0
    why: str = ""
    always: bool = False


def pinned_people(release: Release, most: int, limits: Limits, known: Ints | None = None) -> PinnedPeople:
    """Return how many people are pinned down, at least so far that it is more than `most` or not.

    Sizes of cells must be numbers of rows. `known`: a world over the cells of `items_of`, to begin with. Cost: that of
    the cells, and at most `WORLDS` solves.
    """
    everybody = UNBOUNDED if release.rows.high is None else release.rows.high
    try:
        items = items_of(release, limits)
        system = items.system
        bounds = system.bounds
        if bounds.conflict is not None:
            raise Unsupported("no dataset fits")
        single = np.array([size == 1 for size in system.sizes], dtype=bool)
        low, high = int(bounds.lower[single].sum()), min(everybody, sum(bounds.upper[single].tolist()))
        if low > most or high <= max(low, most):
            always = low == high and items.of_one_label and not release.coarse
            return PinnedPeople(low, high, why="" if low == high else OPEN, always=always)
        if release.unstated or release.coarse or len(system.free) > MAX_CELLS:
            return PinnedPeople(low, high, why=OPEN)
        least = np.where(single, bounds.upper if known is None else known, 0)
        first = PinnedPeople(low, min(high, sum(least.tolist())), 0 if known is None else 1, OPEN)
        return _lowered(items, least, first, most, limits)
    except (Unsupported, Inconclusive) as error:
        return PinnedPeople(0, everybody, why=str(error))


def _lowered(items: Items, least: Ints, known: PinnedPeople, most: int, limits: Limits) -> PinnedPeople:
    """Return the people in cells of one row (`least` of each so far) that worlds leave in all of them together."""
    lower, work = items.system.bounds.lower, WorkLeft(IN_ALL)
    whole = len(items.system.free) <= MAX_FREE_CELLS
    candidates = None if whole else CandidateCells(items, limits)
    for number in range(known.worlds + 1, WORLDS + 1):
        if known.high <= max(known.low, most):
            break
        left = least > lower
        few = items if candidates is None else candidates.widened(STARTS, left & (number > 1))
        if few is None:
            continue
        worlds = CellModel(few.system, limits)
        if whole or number > 1:
            worlds.model.minimize(worlds.weighted(left.astype(np.int64))[0])
        status, solver = work.run(worlds.model, limits)
        if status not in FOUND:
            continue
        least, before = np.minimum(least, worlds.histogram(solver.value)), least
        known = PinnedPeople(known.low, min(known.high, int(least.sum())), number, OPEN)
        if whole and (before == least).all():
            break
    return replace(known, why="") if known.low == known.high else known
