"""Groups that follow from published counts without any search: a region, or what one holds beside another inside it.

Regions are leaves, inner nodes (leaves of one tree that make up a box), rules, counts of tables, and everybody.

Cells as sets of people: those that differ by label only are one item, because a group leaves the label out.

Every possible row lies in one item. A group is a set of items (or of cells, where labels are kept); rows inside a cell
can be exchanged, so that a set that is never empty still is without the cells that it holds in part.

Source: docs/policy.md, "Met and violated".

`CandidateCells`: few cells that are enough for a world, those of vertices of the linear relaxation, where rows gather
in few items.

A vertex has no more cells with rows than there are statements. Costs that fall where rows lie already gather them
(Candès, Wakin, Boyd, "Enhancing sparsity by reweighted l1 minimization", J. Fourier Anal. Appl. 14, 2008). A world over
these cells is a world; that there is none says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import simplified
from solvers.cells.cutting import WordLayout
from solvers.cells.linear_system import propagate, same_rows
from solvers.cells.system import CellSystem, system_of
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits
from solvers.programs.linear_program import CellProgram
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.observations import ROWS
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Choice, Loose, Partition, Release, Statement

SEVERAL = 0  # stands for a cell of several labels, or of a label that is a range of values
MAX_KEYS = 40_000_000  # entries of the table by which cells are sorted into items


@dataclass(frozen=True, eq=False)
class Items:
    """The cells of a system sorted into items: `item` (cells,) is the number of each cell's."""

    system: CellSystem
    item: Ints

    def __len__(self) -> int:
        return int(self.item.max(initial=-1)) + 1

    @cached_property
    def members(self) -> list[list[int]]:
        """Return the cells of every item."""
        out: list[list[int]] = [[] for _ in range(len(self))]
        for c, i in enumerate(self.item.tolist()):
            out[i].append(c)
        return out

    def rows(self, z: Ints) -> Ints:
        """Return the rows of every item in a histogram."""
        out = np.zeros(len(self), dtype=np.int64)
        np.add.at(out, self.item, z)
        return out

    def never_small(self, k: int, by_label: bool = False) -> bool:
        """Return whether bounds leave no item 1 to k - 1 rows in any world, so that the true rows are no such world.

        Then no group has so few in all worlds, and whatever else leaf values say of the cells cannot change that: the
        true rows agree with it, and rows inside their cells can be exchanged. A world that was found proves less: it
        meets leaf values within their rounding only. `by_label`: groups keep labels, so each cell must have one.
        """
        bounds = self.system.bounds
        if by_label and not self.of_one_label:
            return False
        least, most = self.rows(bounds.lower), np.zeros(len(self), dtype=np.bool_)
        most[self.item[bounds.upper > 0]] = True
        return bounds.conflict is None and bool((least[most] >= k).all())

    @property
    def of_one_label(self) -> bool:
        """Return whether every cell that can have rows has one label: leaf values tell those inside others apart."""
        return not bool((self.label[self.system.bounds.upper > 0] == SEVERAL).any())

    def always_several(self) -> bool:
        """Return whether every item that can have rows has rows of two classes in every world, as `never_small`."""
        bounds, count = self.system.bounds, len(self)
        held = np.flatnonzero((bounds.lower > 0) & (self.label != SEVERAL))
        first, last, live = np.full(count, np.iinfo(np.int64).max), np.zeros(count, dtype=np.int64), self.item
        np.minimum.at(first, live[held], self.label[held])
        np.maximum.at(last, live[held], self.label[held])
        at = np.unique(live[bounds.upper > 0])
        return bounds.conflict is None and bool((first[at] < last[at]).all())

    @cached_property
    def labels(self) -> list[int]:
        """Return the labels that each cell can have as bits (1 where there are none)."""
        system, k = self.system, self.system.release.domain.label
        out = [0] * len(system.sizes)
        if k is None:
            return [1] * len(out)
        held = system.layout.parts_of(system.words[:, system.layout.span(k)], k)
        for c, parts in zip(system.cell.tolist(), held, strict=True):
            out[c] |= sum(1 << p for p, one in enumerate(parts) if one)
        return out

    @cached_property
    def label(self) -> Ints:
        """Return the number of each cell's one label (from 1), or `SEVERAL`."""
        k = self.system.release.domain.label
        sizes = self.system.release.domain.attributes[k].sizes if k is not None else (1,)
        single = {1 << p: p + 1 for p, size in enumerate(sizes) if size == 1}
        return np.array([single.get(mask, SEVERAL) for mask in self.labels], dtype=np.int64)

    def boxes(self, chosen: list[int]) -> list[Box]:
        """Return disjoint boxes that make up some items and cells that can hold rows."""
        system = self.system
        pieces = [p for i in chosen for c in self.members[i] for p in system.pieces[c]]
        return system.layout.boxes(system.words[pieces])


def items_of(release: Release, limits: Limits, by_label: bool = False) -> Items:
    """Return the items of a release, from memory if they are known; `by_label`: every cell is one.

    Raises `TooLarge` or `Unsupported` for too many cells, `Inconclusive` when time is up. Cost: that of the system.
    """
    if by_label:
        system = system_of(release, limits)
        return Items(system, np.arange(len(system.sizes), dtype=np.int64))
    known = release.derived.part(KnownItems)
    if known.items is None:
        system = system_of(_label_free(release), limits)
        known.items = Items(system, _same_people(system, limits))
    return known.items


@dataclass(slots=True)
class KnownItems:
    """The items of a release."""

    items: Items | None = None


def _label_free(release: Release) -> Release:
    """Return the release cut by all its boxes without their labels too, so that no cell reaches over two items.

    Itself where only counts per class name the label.
    """
    k = release.domain.label
    if k is None:
        return release
    named = [box for box in release.impossible if any(a == k for a, _ in box.literals)]
    for block in release.blocks:
        if isinstance(block, Loose | Choice):
            named += [box for s in block.members for one in s.summands if k in one.mentioned for box in one.boxes]
    bare = dict.fromkeys(Box(tuple(p for p in box.literals if p[0] != k)) for box in named)
    free = tuple(Statement.count(Region(box), -UNBOUNDED, UNBOUNDED, "") for box in bare if box.literals)
    return replace(release, blocks=(*release.blocks, Loose(free)), observed=()) if free else release


def _same_people(system: CellSystem, limits: Limits) -> Ints:
    """Return the item of every cell: cells in the same regions whatever their label are one."""
    release, index, linear = system.release, system.index, system.linear
    k, columns = release.domain.label, []
    if len(release.blocks) * max(1, linear.columns) > MAX_KEYS:
        raise TooLarge(f"{linear.columns:,} cells of {len(release.blocks):,} blocks are too many to sort into groups")
    for b, block in enumerate(release.blocks):
        limits.check("cells were sorted into groups")
        span = slice(int(linear.start[index.first[b]]), int(linear.start[index.first[b + 1]]))
        row, col, coef = linear.row[span] - index.first[b], linear.col[span], linear.coef[span]
        if isinstance(block, Partition):
            column = np.full(linear.columns, -1, dtype=np.int64)
            column[col] = block.region[row]
            columns.append(column)
            continue
        for s, statement in enumerate(block.statement(i, release.domain) for i in range(len(block))):
            if k in statement.mentioned:
                continue
            column = np.zeros(linear.columns, dtype=np.int64)
            column[col[row == s]] = coef[row == s]
            columns.append(column)
    if not columns:
        return np.zeros(linear.columns, dtype=np.int64)
    return same_rows(np.stack(columns, axis=1))[1]


ROUNDS = 4  # programs from each start, every one with costs from the rows of the one before
SCALE = 1_000
AVOIDED = 10 * SCALE
Mask = NDArray[np.bool_]


class CandidateCells:
    """The cells of vertices found so far; more starts give more."""

    def __init__(self, items: Items, limits: Limits) -> None:
        """Presolve the system; raises `Inconclusive` when time is up."""
        bounds, self.items, self.limits = items.system.bounds, items, limits
        linear = simplified(items.system, limits)
        self.program = CellProgram(linear, bounds.lower, bounds.upper, again=True)
        self.held = bounds.lower > 0
        self.random = np.random.default_rng(len(linear))

    def widened(self, starts: int, avoided: Mask | None = None) -> Items | None:
        """Return the items with no cells but those of the items that some vertex fills, after so many more starts.

        None where propagation shows that these hold no world: programs over them rest on bounds that do not conflict.
        `avoided`: a mask of cells that vertices leave empty where they can; those of earlier starts are forgotten.
        """
        items, bounds = self.items, self.items.system.bounds
        beside = 0 if avoided is None else avoided * AVOIDED
        self.held = bounds.lower > 0 if avoided is not None else self.held
        for _ in range(starts):
            costs = self.random.integers(0, SCALE, len(self.held)).astype(np.int64)
            for _ in range(ROUNDS):
                self.limits.check("cells for a world were chosen")
                found = self.program.solve(costs + beside, self.limits)
                if found is None:
                    break
                z = bounds.lower.astype(np.float64)
                z[self.program.free] += found.x
                self.held |= z > 0.5
                rows = np.zeros(len(items))
                np.add.at(rows, items.item, z)
                noise = self.random.integers(0, SCALE // 30, len(costs))
                costs = (SCALE / (1 + np.maximum(rows, 0)))[items.item].astype(np.int64) + noise
        chosen = np.isin(items.item, items.item[self.held])
        upper = np.where(chosen, bounds.upper, bounds.lower)
        linear = items.system.linear.take(items.system.always)
        narrowed = propagate(linear, bounds.lower, upper, self.limits.expired, trace=False)
        if narrowed.conflict is not None:
            return None
        return Items(replace(items.system, bounds=narrowed), items.item)


MAX_PAIRS = 2_000_000  # pairs of regions compared
MAX_REGIONS = 20_000
MERGED = 4  # times the leaves of a tree: so many inner nodes are made of them
PHASE = "published groups were compared"
Literals = tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class ProvedGroup:
    """Disjoint regions that in every world hold between `low` and `high` rows together; `source`: what they are.

    `published`: nobody has to work it out.
    """

    regions: tuple[Region, ...]
    low: int
    high: int
    source: str
    published: bool = True


@dataclass(frozen=True, eq=False)
class PublishedRegions:
    """Regions of one block with their least and most rows (k,); `group` makes one of them."""

    low: Ints
    high: Ints
    group: Callable[[int], ProvedGroup]
    tree: Partition | None = None


def _published(release: Release, by_label: bool = False) -> Iterator[PublishedRegions]:
    """Yield the regions whose rows were published, block by block; `by_label`: those of one label too."""
    rows, everybody = release.rows, UNBOUNDED if release.rows.high is None else release.rows.high
    for block in release.blocks:
        if isinstance(block, Partition):
            yield _regions_of(block, everybody)
            if by_label:
                at = np.flatnonzero(block.label != ANY_LABEL)
                yield _labelled(release, block, at, everybody)
        elif isinstance(block, Loose):
            k = release.domain.label
            some = [s for s in block if s.region is not None and (by_label or k not in s.mentioned)]
            low = np.array([max(0, s.low) for s in some], dtype=np.int64)
            high = np.array([min(everybody, s.high) for s in some], dtype=np.int64)
            yield PublishedRegions(low, high, partial(_of_statement, some, low, high))
    whole = ProvedGroup((Region(Box()),), rows.low, everybody, ROWS)
    low, high = np.array([[rows.low], [everybody]], dtype=np.int64)
    yield PublishedRegions(low, high, lambda _: whole)


def _of_statement(some: Sequence[Statement], low: Ints, high: Ints, i: int) -> ProvedGroup:
    return ProvedGroup((some[i].summands[0].region,), int(low[i]), int(high[i]), some[i].source)


def _regions_of(block: Partition, everybody: int) -> PublishedRegions:
    """Return the regions of a partition with the sums of their counts."""
    k = len(block.boxes)
    low = np.zeros(k, dtype=np.int64)
    np.add.at(low, block.region, block.low)
    top = np.zeros(k)
    np.add.at(top, block.region, np.minimum(block.high, everybody).astype(np.float64))
    high = np.where(top >= everybody, everybody, top).astype(np.int64)

    def group(j: int) -> ProvedGroup:
        return ProvedGroup((block.region_of(j),), int(low[j]), int(high[j]), f"{block.kind}, {block.names[j]}")

    return PublishedRegions(low, high, group, None if block.first_match else block)


def _labelled(release: Release, block: Partition, at: Ints, everybody: int) -> PublishedRegions:
    """Return the statements of a partition that count one label."""
    low, high = block.low[at], np.minimum(block.high[at], everybody)

    def group(i: int) -> ProvedGroup:
        region = block.statement(int(at[i]), release.domain).summands[0].region
        return ProvedGroup((region,), int(low[i]), int(high[i]), block.source(int(at[i])))

    return PublishedRegions(low, high, group)


def least_published(release: Release, by_label: bool = False) -> ProvedGroup | None:
    """Return the published region with a row that surely has the fewest, None for none."""
    best, least = None, UNBOUNDED
    for one in _published(release, by_label):
        at = np.flatnonzero(one.low > 0)
        if len(at) and int(one.high[at].min()) < least:
            least = int(one.high[at].min())
            best = one.group(int(at[one.high[at].argmin()]))
    return best


def _inner_nodes(release: Release, block: Partition, leaves: PublishedRegions) -> Iterator[ProvedGroup]:
    """Yield boxes that two disjoint boxes of a tree make up, from its leaves upwards."""
    ends = zip(leaves.low.tolist(), leaves.high.tolist(), strict=True)
    known = {box.literals: one for box, one in zip(block.boxes, ends, strict=True)}
    fresh, most = list(known), MERGED * len(known)
    attributes = release.domain.attributes
    by_rest: dict[tuple[int, Literals], list[tuple[int, Literals]]] = {}
    while fresh and len(known) <= most:
        made = []
        for literals in fresh:
            for k, mask in literals:
                rest = tuple(p for p in literals if p[0] != k)
                for other, twin in by_rest.setdefault((k, rest), []):
                    both = mask | other
                    joined = tuple(sorted((*rest, (k, both)))) if both != attributes[k].full else rest
                    if other & mask or joined in known:
                        continue
                    known[joined] = known[literals][0] + known[twin][0], known[literals][1] + known[twin][1]
                    made.append(joined)
                by_rest[k, rest].append((mask, literals))
        fresh = made
    names = f"{block.kind}, leaves together"
    for literals in list(known)[len(block.boxes) :]:
        yield ProvedGroup((Region(Box(literals)),), *known[literals], names)


def small_difference(release: Release, k: int, by_label: bool, limits: Limits) -> ProvedGroup | None:
    """Return the smallest difference of two published boxes with 1 to k - 1 rows in every world, None for none found.

    The ends of both together are then less than k - 1 apart: of others, such as counts of resamples, there is none.
    Cost: the boxes sorted, and those whose counts differ by less than k compared, at most `MAX_PAIRS`.
    """
    groups: list[ProvedGroup] = []
    for one in _published(release, by_label):
        limits.check(PHASE)
        near = np.flatnonzero((one.high - one.low < k - 1) & (one.high > 0) & (one.high < UNBOUNDED))
        if len(groups) + len(near) > MAX_REGIONS:
            return None
        groups += [group for j in near.tolist() if not (group := one.group(j)).regions[0].minus]
        if one.tree is not None and len(near) and int((one.high - one.low).sum()) < k - 1:
            groups += _inner_nodes(release, one.tree, one)
    return _nested(release, groups, k, limits)


def _nested(release: Release, groups: list[ProvedGroup], k: int, limits: Limits) -> ProvedGroup | None:
    """Return the smallest difference of two boxes, one inside the other, with 1 to k - 1 rows in every world."""
    if len(groups) < 2 or k < 2:
        return None
    words = WordLayout(release.domain).rows(Boxes.of([one.regions[0].box for one in groups]))
    low, high = (np.array([getattr(one, end) for one in groups], dtype=np.int64) for end in ("low", "high"))
    order = np.argsort(high, kind="stable")
    best, pairs, found = k, 0, None
    for a in limits.paced(range(len(groups)), PHASE):
        # rows beside B in A: at least low[A] - high[B], at most high[A] - low[B]
        first, end = np.searchsorted(high[order], (low[a] - best + 1, low[a]))
        at = order[first:end]
        at = at[high[a] - low[at] < best]
        pairs += len(at)
        if pairs > MAX_PAIRS:
            return found
        at = at[~(words[at] & ~words[a]).any(axis=1)]
        for b in at.tolist():
            if (most := int(high[a] - low[b])) < best:
                best = most
                outer, inner = groups[a], groups[b]
                region = _without(release, outer.regions[0].box, inner.regions[0].box)
                source = f"{outer.source} without {inner.source}"
                found = ProvedGroup((region,), int(low[a] - high[b]), most, source, published=False)
    return found


def _without(release: Release, outer: Box, inner: Box) -> Region:
    """Return a box without one inside it: a box where they differ in one attribute only."""
    held, full = dict(outer.literals), [a.full for a in release.domain.attributes]
    other = [(k, held.get(k, full[k]) & ~mask) for k, mask in inner.literals if held.get(k, full[k]) & ~mask]
    return Region(outer & Box(tuple(other))) if len(other) == 1 else Region(outer, (inner,))
