"""One world that proves much at once: every item has no row in it, or at least k of each of several classes.

It leaves no group and no cell of less than k rows, and nobody whose class follows.
"""

from __future__ import annotations

from solvers.engines.groups.candidates import CandidateCells
from solvers.engines.groups.items import SEVERAL, Items, items_of
from solvers.engines.groups.leaf_values import world_model
from solvers.engines.groups.smallest import IN_ALL, MAX_CELLS, WHOLE, WorkLeft
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import FOUND
from solvers.statements.release import Release

STARTS = (2, 2, 4)  # further vertices whose cells are enough for a world, before each search


def known_mixed_world(release: Release, k: int, limits: Limits) -> Ints | None:
    """Return such a world over the cells of `items_of`, None where none was found or its rows are no world.

    Cost: that of the cells, and at most as many solves as `STARTS`.
    """
    if release.domain.labels < 2 or release.unstated or release.coarse:
        return None
    try:
        items = items_of(release, limits)
        if items.system.bounds.conflict is not None or len(items.system.free) > MAX_CELLS:
            return None
        return mixed_world(items, k, limits, WorkLeft(IN_ALL))
    except (Unsupported, Inconclusive):
        return None


def mixed_world(items: Items, k: int, limits: Limits, work: WorkLeft) -> Ints | None:
    """Return such a world, None where none was found; of many cells it is searched for over a few."""
    if len(items.system.free) <= WHOLE:
        return among(items, k, limits, work)
    candidates = CandidateCells(items, limits)
    for starts in STARTS:
        few = candidates.widened(starts)
        z = None if few is None else among(few, k, limits, work)
        if z is not None:
            return z
    return None


def among(items: Items, k: int, limits: Limits, work: WorkLeft) -> Ints | None:
    """Return such a world, every item with all its classes or with no row; checked against every statement."""
    worlds, whole = world_model(items.system, limits)
    if not whole:
        return None
    worlds.model.clear_objective()  # type: ignore[no-untyped-call]
    model = worlds.model.clone()
    for cells in items.members:
        live = [c for c in cells if c in worlds.variables or worlds.lower[c]]
        filled = model.new_bool_var("")
        if len(set(items.label[live].tolist())) < 2 and SEVERAL not in items.label[live]:
            model.add(filled == 0)
        for c in live:
            rows = worlds.variables.get(c, int(worlds.lower[c]))
            model.add(rows >= k).only_enforce_if(filled)
            model.add(rows == 0).only_enforce_if(~filled)
    status, solver = work.run(model, limits)
    return worlds.histogram(solver.value) if status in FOUND else None
