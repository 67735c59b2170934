"""What is disclosed of groups: the smallest one, people whose class follows, people fully known.

People whose class follows: those in items that hold one class only in every world, the fewest over all worlds.

A cell that some world fills shows its class possible there. Worlds that show as many new classes as they can are asked
for until none shows another; the items that have one class then have one in every world, and the fewest rows that they
hold together is the figure. From above it is bounded by the rows of any world in items that have not shown two classes:
one world in which every item with rows has two proves that no class is disclosed.

One world that proves much at once: every item has no row in it, or at least k of each of several classes.

It leaves no group and no cell of less than k rows, and nobody whose class follows.

People fully known: rows that are in every world, in cells of one possible row.

Of a cell of one possible row as many people are pinned down as it has rows in every world. Worlds in which these cells
have as few rows as can be found bound the figure from above: two that share none of them prove that it is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.engines.groups.published import (
    SEVERAL,
    CandidateCells,
    Items,
    ProvedGroup,
    items_of,
    least_published,
    small_difference,
)
from solvers.engines.groups.smallest import (
    IN_ALL,
    MAX_CELLS,
    MAX_FREE_CELLS,
    ProvingWorld,
    SmallestGroup,
    WorkLeft,
    searched,
    world_model,
)
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cell_model import CellModel
from solvers.programs.cpsat import FOUND, rounded_bound
from solvers.programs.linear_program import Relaxation
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, Partition, Release

WORLDS = 8  # asked for
PINNED_STARTS = 1  # vertices whose cells are enough for a world, before each
OPEN = "more people than those in every world that was found may be fully known"


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
        few = items if candidates is None else candidates.widened(PINNED_STARTS, left & (number > 1))
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


MIXED_STARTS = (2, 2, 4)  # further vertices whose cells are enough for a world, before each search


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
        return _mixed_world(items, k, limits, WorkLeft(IN_ALL))
    except (Unsupported, Inconclusive):
        return None


def _mixed_world(items: Items, k: int, limits: Limits, work: WorkLeft) -> Ints | None:
    """Return such a world, None where none was found; of many cells it is searched for over a few."""
    if len(items.system.free) <= MAX_FREE_CELLS:
        return _among(items, k, limits, work)
    candidates = CandidateCells(items, limits)
    for starts in MIXED_STARTS:
        few = candidates.widened(starts)
        z = None if few is None else _among(few, k, limits, work)
        if z is not None:
            return z
    return None


def _among(items: Items, k: int, limits: Limits, work: WorkLeft) -> Ints | None:
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


Mask = NDArray[np.bool_]
SHOWN = 200  # worlds
STARTS = 12  # vertices whose cells are enough for worlds
UNDECIDED = "which classes are possible where was not settled within the limits"


@dataclass(frozen=True, eq=False)
class KnownClasses:
    """People whose class follows: between `low` and `high` of them in every world (UNBOUNDED: no upper bound).

    `groups`: the items of one class that prove `low`, by label (number, group). `world`: rows of a world in items of
    one class, and all of its rows, where that proves `high`. `why`: what kept it open. `always`: bounds prove `high`,
    see `Items.never_small`.
    """

    low: int
    high: int
    groups: tuple[tuple[int, ProvedGroup], ...] = ()
    world: tuple[int, int] | None = None
    why: str = ""
    always: bool = False


def known_classes(
    release: Release, most: int, limits: Limits, mixed: Callable[[], Ints | None] | None = None
) -> KnownClasses | None:
    """Return how many people's class follows, at least so far that it is more than `most` or not; None without classes.

    `mixed`: a world over the cells of `items_of` to try first, see `solvers.engines.groups.disclosure`. Cost: as
    `solvers.engines.groups.disclosure.smallest_group`, at most `SHOWN` solves.
    """
    if release.domain.labels < 2:
        return None
    everybody = UNBOUNDED if release.rows.high is None else release.rows.high
    block = release.single
    if block is not None and not release.unstated and bool((block.low == block.high).all()):
        rows = _rows_of_one(block, release.domain.labels)
        return KnownClasses(rows, rows)
    try:
        items = items_of(release, limits)
        if release.boosted and items.always_several():
            return KnownClasses(0, 0, always=True)
        found = Classes(items, limits)
        if len(items.system.free) > MAX_CELLS:
            sure, low = found.of_one(found.live), items.rows(items.system.bounds.lower)
            why = f"{len(items.system.free):,} cells are too many to follow classes in"
            return KnownClasses(int(low[sure].sum()), everybody, found.named(sure, found.live), why=why)
        return found.known(most, everybody, world_model(items.system, limits)[1], mixed)
    except (Unsupported, Inconclusive) as error:
        return KnownClasses(0, everybody, why=str(error))


def _rows_of_one(block: Partition, labels: int) -> int:
    """Return the rows of a partition of exact counts in regions of one class."""
    rows = 0
    for statements in block.by_region.values():
        counts = block.low[statements]
        if len(statements) == labels and (counts > 0).sum() == 1:
            rows += int(counts.sum())
    return rows


class Classes:
    """The items of a release with the classes that worlds have shown in them."""

    def __init__(self, items: Items, limits: Limits) -> None:
        """Refuse statements that contradict each other."""
        system = items.system
        if system.bounds.conflict is not None:
            raise Unsupported("no dataset fits")
        self.items, self.limits, self.work = items, limits, WorkLeft(IN_ALL)
        self.whole = len(system.free) <= MAX_FREE_CELLS
        self.label = items.label
        self.live = system.bounds.upper > 0
        self.pool: list[Ints] = []

    @cached_property
    def worlds(self) -> CellModel:
        """Return the model of the worlds; of some over a few cells, where there are too many."""
        few = self.items if self.whole else CandidateCells(self.items, self.limits).widened(STARTS)
        if few is None:
            raise Inconclusive(UNDECIDED)
        return world_model(few.system, self.limits)[0]

    def of_one(self, possible: Mask) -> Ints:
        """Return the items of which the possible cells (a mask) have one class."""
        count = len(self.items)
        low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
        at = np.flatnonzero(possible)
        np.minimum.at(low, self.items.item[at], self.label[at])
        np.maximum.at(high, self.items.item[at], self.label[at])
        return np.flatnonzero((low == high) & (low != SEVERAL)).astype(np.int64)

    def shown(self) -> Mask:
        """Return a mask of the cells that some world fills."""
        out: Mask = self.items.system.bounds.lower > 0
        for z in self.pool:
            out = out | (z > 0)
        return out

    def known(
        self, most: int, everybody: int, whole: bool, mixed: Callable[[], Ints | None] | None = None
    ) -> KnownClasses:
        """Return the people whose class follows; see `known_classes`. `whole`: worlds of the statements are worlds."""
        sure = self.of_one(self.live)
        least = int(self.items.rows(self.items.system.bounds.lower)[sure].sum())
        if whole and not least:
            z = None if mixed is None else mixed()
            z = _mixed_world(self.items, 1, self.limits, self.work) if z is None else z
            if z is not None and not len(self.of_one(z > 0)):
                return KnownClasses(0, 0, world=(0, int(z.sum())))
        low, fewest = self.fewest(sure)
        if not whole or low > most:
            return KnownClasses(low, everybody, self.named(sure, self.live), why="" if low > most else UNDECIDED)
        high, world = everybody, None
        if fewest is not None:
            self.pool.append(fewest)
        for _ in range(SHOWN):
            self.limits.check("classes were followed")
            shown = self.shown()
            left = np.setdiff1d(np.arange(len(self.items)), self.several(shown))
            for z in self.pool:
                inside = int(self.items.rows(z)[left].sum())
                if inside < high or world is None:
                    high, world = min(high, inside), (inside, int(z.sum()))
            if high <= most:
                return KnownClasses(low, max(low, high), self.named(sure, self.live), world)
            fresh = np.flatnonzero(self.live & ~shown & np.isin(self.items.item, left))
            if not len(fresh):
                return self.settled(left, shown)
            found = self.another(fresh)
            if found is None:
                break
            if found.any():
                self.pool.append(found)
            else:
                self.live[fresh] = False
        return KnownClasses(low, max(low, high), self.named(sure, self.live), world, UNDECIDED)

    def several(self, shown: Mask) -> Ints:
        """Return the items in which worlds have shown more than one class, or no single one."""
        filled = np.unique(self.items.item[shown])
        return np.setdiff1d(filled, self.of_one(shown))

    def settled(self, left: Ints, shown: Mask) -> KnownClasses:
        """Return the figure where every class that is possible was shown."""
        low, z = self.fewest(left)
        world = None if z is None else (int(self.items.rows(z)[left].sum()), int(z.sum()))
        high = low if world is None else world[0]
        return KnownClasses(low, high, self.named(self.of_one(shown), shown), world)

    def fewest(self, items: Ints) -> tuple[int, Ints | None]:
        """Return a proved least number of rows in some items over all worlds, and the best world found."""
        from ortools.sat.python import cp_model

        inside = np.isin(self.items.item, items).astype(np.int64)
        rows, base = self.worlds.weighted(inside)
        model = self.worlds.model.clone()
        model.minimize(rows)
        status, solver = self.work.run(model, self.limits)
        if status == cp_model.INFEASIBLE:
            raise Unsupported("no dataset fits")
        lower = int(self.items.system.bounds.lower @ inside)
        if not self.whole:
            lower = max(lower, Relaxation(self.items.system, self.limits).bound(inside, False, self.limits))
            return lower, self.worlds.histogram(solver.value) if status in FOUND else None
        if status not in FOUND:
            return lower, None
        z = self.worlds.histogram(solver.value)
        bound = rounded_bound(solver.best_objective_bound, False) + base
        return max(lower, int(inside @ z) if status == cp_model.OPTIMAL else bound), z

    def another(self, fresh: Ints) -> Ints | None:
        """Return a world that fills as many of some empty cells as it can; zeros for none, None where that is open."""
        from ortools.sat.python import cp_model

        model = self.worlds.model.clone()
        filled = []
        for c in (c for c in fresh.tolist() if c in self.worlds.variables):
            one = model.new_bool_var("")
            model.add(self.worlds.variables[c] >= 1).only_enforce_if(one)
            filled.append(one)
        model.maximize(cp_model.LinearExpr.sum(filled))
        status, solver = self.work.run(model, self.limits)
        if status not in FOUND:
            return None
        z = self.worlds.histogram(solver.value)
        if z[fresh].any():
            return z
        return np.zeros_like(z) if self.whole and status == cp_model.OPTIMAL else None

    def named(self, items: Ints, possible: Mask) -> tuple[tuple[int, ProvedGroup], ...]:
        """Return the items of one class by their label; their least and most rows are those of the bounds of cells."""
        system, k = self.items.system, self.items.system.release.domain.label
        out = []
        wanted = np.isin(self.items.item, items) & possible
        for label in np.unique(self.label[wanted]).tolist():
            cells = np.flatnonzero(wanted & (self.label == label)).tolist()
            pieces = [p for c in cells for p in system.pieces[c]]
            bare = (Box(tuple(p for p in b.literals if p[0] != k)) for b in system.layout.boxes(system.words[pieces]))
            regions = tuple(Region(box) for box in dict.fromkeys(bare))
            low, high = int(system.bounds.lower[cells].sum()), int(system.bounds.upper[cells].sum())
            out.append((label - 1, ProvedGroup(regions, low, high, "cells of one class", published=False)))
        return tuple(out)


FEW_BLOCKS = 8  # models: of more, cells are not made only to learn how much smaller a small group is


def smallest_group(
    release: Release, k: int, limits: Limits, by_label: bool = False, mixed: Callable[[], Ints | None] | None = None
) -> SmallestGroup:
    """Return whether there is a group of 1 to k - 1 rows, as bounds on the smallest; `by_label`: labels are kept.

    `mixed`: a world over the cells of `items_of` to try first, see `solvers.engines.groups.disclosure`.

    Published groups and differences of two come first; then the loop over cells, bounded by work as well as by time.
    What the limits do not decide is open: `low` 1. Worlds of statements that leave out something published prove
    nothing. Cost: see `solvers.engines.groups.published` and `items_of`, then at most `ROUNDS` solves of `WORK`.
    """
    least = least_published(release, by_label)
    outer = SmallestGroup(1, UNBOUNDED if least is None else least.high, least)
    block = release.single
    if block is not None and not release.unstated and bool((block.low == block.high).all()):
        if least is None:
            return SmallestGroup(UNBOUNDED, UNBOUNDED)
        held = block.low > 0
        filled = int(held.sum()) if by_label else len(np.unique(block.region[held]))
        return replace(outer, low=least.high, world=ProvingWorld(1, filled, least.high))
    try:
        found = small_difference(release, min(k, outer.high), by_label, limits)
    except Inconclusive as error:
        return replace(outer, why=str(error))
    outer = outer if found is None else SmallestGroup(1, found.high, found)
    if outer.high < k and len(release.blocks) > FEW_BLOCKS:
        return outer
    try:
        if release.boosted and outer.high >= k and items_of(release, limits, by_label).never_small(k, by_label):
            return replace(outer, low=k, always=True)
        z = mixed() if mixed is not None and outer.high >= k else None
        if z is not None:
            each = z if by_label else items_of(release, limits).rows(z)
            rows = each[each > 0]
            if int(rows.min(initial=k)) >= k:
                return replace(outer, low=k, world=ProvingWorld(1, len(rows), int(rows.min()) if len(rows) else 0))
        return searched(release, items_of(release, limits, by_label), k, outer, limits)
    except (Unsupported, Inconclusive) as error:
        return replace(outer, why=str(error))
