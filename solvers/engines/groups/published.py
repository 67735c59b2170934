"""Groups that follow from published counts without any search: a region, or what one holds beside another inside it.

Regions are leaves, inner nodes (leaves of one tree that make up a box), rules, counts of tables, and everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from solvers.cells.bit_boxes import WordLayout
from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.observations import ROWS
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Loose, Partition, Release, Statement

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
