"""Groups that follow from published counts without any search: a region, or what one holds beside another inside it.

Regions are leaves, inner nodes (leaves of one tree that make up a box), rules, counts of tables, and everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solvers.cells.bit_boxes import Layout
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.numbering import ROWS
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Loose, Partition, Release

MAX_PAIRS = 2_000_000  # pairs of regions compared
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

    def small(self, k: int) -> bool:
        """Return whether it has 1 to k - 1 rows in every world."""
        return self.low >= 1 and self.high < k


def published_groups(release: Release, by_label: bool = False) -> Iterator[ProvedGroup]:
    """Yield the regions whose rows were published; `by_label`: those of one label too."""
    rows = release.rows
    yield ProvedGroup((Region(Box()),), rows.low, UNBOUNDED if rows.high is None else rows.high, ROWS)
    for block in release.blocks:
        if isinstance(block, Partition):
            yield from of_partition(release, block, by_label)
        elif isinstance(block, Loose):
            for s in block:
                boxes = (s.region.box, *s.region.minus)
                named = any(k == release.domain.label for box in boxes for k, _ in box.literals)
                if s.of is None and (by_label or not named):
                    yield ProvedGroup((s.region,), max(0, s.low), s.high, s.source)


def of_partition(release: Release, block: Partition, by_label: bool) -> Iterator[ProvedGroup]:
    """Yield the regions of a partition with the sums of their counts, then inner nodes, then those of one label."""
    k, everybody = len(block.boxes), UNBOUNDED if release.rows.high is None else release.rows.high
    low = np.bincount(block.region, weights=block.low.astype(np.float64), minlength=k)
    top = np.minimum(block.high, everybody).astype(np.float64)
    high = np.minimum(np.bincount(block.region, weights=top, minlength=k), float(everybody))
    ends = [(int(a), int(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    for j, (least, most) in enumerate(ends):
        yield ProvedGroup((block.region_of(j),), least, min(most, everybody), f"{block.kind}, {block.names[j]}")
    if not block.first_match:
        yield from inner_nodes(release, block, ends, everybody)
    if by_label:
        for s in np.flatnonzero(block.label != ANY_LABEL).tolist():
            region, most = block.statement(s, release.domain).region, min(everybody, int(block.high[s]))
            yield ProvedGroup((region,), int(block.low[s]), most, block.source(s))


def inner_nodes(
    release: Release, block: Partition, ends: list[tuple[int, int]], everybody: int
) -> Iterator[ProvedGroup]:
    """Yield boxes that two disjoint boxes of a tree make up, from its leaves upwards."""
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
    for literals in list(known)[len(ends) :]:
        low, high = known[literals]
        yield ProvedGroup((Region(Box(literals)),), low, min(high, everybody), names)


def small_published(release: Release, k: int, by_label: bool, limits: Limits) -> ProvedGroup | None:
    """Return the smallest published group, or difference of two, with 1 to k - 1 rows in every world, if any.

    Cost: the regions sorted, and those whose counts differ by less than k compared, at most `MAX_PAIRS`.
    """
    groups = [one for one in published_groups(release, by_label) if one.high > 0]
    best = min((one for one in groups if one.small(k)), key=lambda one: one.high, default=None)
    boxes = [one for one in groups if not one.regions[0].minus and one.high < UNBOUNDED]
    found = nested(release, boxes, k if best is None else best.high, limits)
    return best if found is None else found


def nested(release: Release, groups: list[ProvedGroup], k: int, limits: Limits) -> ProvedGroup | None:
    """Return the smallest difference of two boxes, one inside the other, with 1 to k - 1 rows in every world."""
    if len(groups) < 2 or k < 2:
        return None
    words = Layout(release.domain).rows(Boxes.of([one.regions[0].box for one in groups]))
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
                region = without(release, outer.regions[0].box, inner.regions[0].box)
                source = f"{outer.source} without {inner.source}"
                found = ProvedGroup((region,), int(low[a] - high[b]), most, source, published=False)
    return found


def without(release: Release, outer: Box, inner: Box) -> Region:
    """Return a box without one inside it: a box where they differ in one attribute only."""
    held, full = dict(outer.literals), [a.full for a in release.domain.attributes]
    other = [(k, held.get(k, full[k]) & ~mask) for k, mask in inner.literals if held.get(k, full[k]) & ~mask]
    return Region(outer & Box(tuple(other))) if len(other) == 1 else Region(outer, (inner,))
