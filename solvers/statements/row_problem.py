"""A release as a problem on rows that can be distinguished: which leaf of every tree each row lies in.

A row is a position of the training file, known by how often each tree drew it (`Release.bags`), or, where there are no
bags, a slot: a row of one leaf of the tree whose leaves tell most rows apart, of several such trees the one that shares
attributes with most others. A *value* of a row in a tree is a leaf
with a class that it counts. The values that a row takes in all trees that drew it must share a point of the row space.

Trees are those of the bags first, then the partitions with exact counts (every row counts once), without bags
cross-tables too; other statements are left out, so that what is proved here holds in every world, and a world is
checked against all of them.

Source: Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML 2024 (rows and trees as a constraint
program, bags unknown); boxes that meet pairwise share a point (Helly's theorem for axis-parallel boxes; Danzer,
Grünbaum, 1982), which holds for attributes whose masks are runs of parts.

Cross-tables seen as partitions: loose counts over all combinations of some attributes' values.

The statements stay loose, with their numbers and sources: certificates name them, and the checker of proofs reads no
view. What a tree of the same leaves lets engines do they do with a view of it, which follows from the statements.

Source: Hundepool et al., "Statistical Disclosure Control", 2012 (tables and their margins).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.statements.boxes import Box, Boxes, RunMasks, spans
from solvers.statements.release import (
    ANY_LABEL,
    NOTHING,
    UNPUBLISHED,
    BagCounts,
    KnownValues,
    Partition,
    Release,
    Statement,
    TreeBags,
)

TABLE = "cross-table"
Layers = dict[tuple[tuple[int, int], ...], dict[Box, Statement]]


@dataclass(slots=True)
class _CrossTables:
    """The cross-tables of a release."""

    found: tuple[Partition, ...] | None = None


def _cross_tables(release: Release) -> tuple[Partition, ...]:
    """Return what the exact counts of the release's loose statements say as partitions, the largest first.

    Counts over the same attributes, of all blocks together, whose values are the same or disjoint, are one table.
    Combinations that no figure counts exactly have the rows that are left: none, or those of the only such combination;
    where several share some rows, the table is not a partition of exact counts and left out. A combination that holds
    nobody may be left out of a partition. Cost: linear in the counts, and in the pairs of an attribute's different
    values. Nothing where the number of rows is open.
    """
    known = release.derived.part(_CrossTables)
    if known.found is None:
        tables = (_partition(release, list(layer.values())) for layer in _layers(release).values())
        known.found = tuple(sorted((t for t in tables if t is not None), key=lambda t: -len(t)))
    return known.found


def exact_partitions(release: Release) -> tuple[Partition, ...]:
    """Return the partitions of exact counts: those that the release states, then its cross-tables."""
    stated = (block for block in release.partitions.values() if bool((block.low == block.high).all()))
    return (*stated, *_cross_tables(release))


def _layers(release: Release) -> Layers:
    """Return the exact counts of boxes by attributes and, per attribute, by a family of disjoint sets of values."""
    counts = [
        (s, region.box)
        for block in release.loose.values()
        for s in block
        if (region := s.region) is not None and s.low == s.high and region.box.literals and not region.minus
    ]
    families = dict[tuple[tuple[int, ...], int], dict[int, int]]()
    out: Layers = {}
    for s, box in counts:
        names = tuple(k for k, _ in box.literals)
        at = []
        for k, mask in box.literals:
            known = families.setdefault((names, k), {})
            at.append((k, _family(known, mask)))
        out.setdefault(tuple(at), {}).setdefault(box, s)
    return out


def _family(known: dict[int, int], mask: int) -> int:
    """Return the first family that a set of values is in, or is disjoint from all of; it is put into it."""
    if mask not in known:
        taken = {family for other, family in known.items() if other & mask}
        known[mask] = next(i for i in range(len(taken) + 1) if i not in taken)
    return known[mask]


def _partition(release: Release, counts: list[Statement]) -> Partition | None:
    """Return disjoint counts as a partition, None where they do not tell how many rows every combination has."""
    rest = release.rows.low - sum(s.low for s in counts)
    if not release.rows.exact or len(counts) < 2 or rest < 0:
        return None
    boxes, numbers = [s.summands[0].region.box for s in counts], [s.low for s in counts]
    if rest:
        other = _only_other(release, boxes)
        if other is None:
            return None
        boxes.append(other)
        numbers.append(rest)
    names = (*(s.source for s in counts), *(("the rest",) if rest else ()))
    low, places = np.array(numbers, dtype=np.int64), np.arange(len(boxes), dtype=np.int32)
    label = np.full(len(boxes), ANY_LABEL, dtype=np.int32)
    return Partition(TABLE, Boxes.of(boxes), False, places, label, low, low, names)


def _only_other(release: Release, boxes: list[Box]) -> Box | None:
    """Return the only combination of values that is none of some boxes over the same attributes, None if not one."""
    masks: dict[int, dict[int, None]] = {}
    for box in boxes:
        for k, mask in box.literals:
            masks.setdefault(k, {})[mask] = None
    for k, known in masks.items():
        left = release.domain.attributes[k].full & ~sum(known)
        if left:
            known[left] = None
    if math.prod(map(len, masks.values())) != len(boxes) + 1:
        return None
    # Every value is in as many combinations as there are of the other attributes, but for the one that is missing.
    literals = []
    for k, known in masks.items():
        often = dict.fromkeys(known, 0)
        for mask in _masks_of(boxes, k):
            often[mask] += 1
        literals.append((k, min(often, key=lambda mask: often[mask])))
    return Box.of(literals)


def _masks_of(boxes: Iterable[Box], k: int) -> Iterable[int]:
    """Yield the values that every box allows of an attribute."""
    return (dict(box.literals)[k] for box in boxes)


@dataclass(frozen=True, eq=False)
class RowProblem:
    """Rows x trees x values. V values in all, those of tree t are `first[t]` to `first[t + 1]`.

    `times` (trees, rows): how often a tree counts a row, 0: it did not see it. Of value v: `tree`, `region` (its leaf),
    `label` (its class, ANY_LABEL: any), `weight` (the multiplicities of its rows add up to it; above 0), `low` and
    `high` (how many different rows it has). `start`, `end` (V, attributes) int32: the first part that its box allows
    and the one behind the last; where the allowed parts of attribute k are no single run for some value, k is in
    `sets`: (V, parts), and start, end are the hull. The label is an attribute too (number `release.domain.label`), its
    own class cut in.
    `positions`: rows are positions of the training file; else slots, row i being in value `slot[i]`.
    `known`: what is known of rows beside the release.
    `exhaustive`: no statement of the release is left out. `distinct` (per tree, per leaf; UNPUBLISHED) as published.
    """

    release: Release
    times: NDArray[np.int32]
    first: Ints
    tree: NDArray[np.int32]
    region: NDArray[np.int32]
    label: NDArray[np.int32]
    weight: Ints
    low: Ints
    high: Ints
    start: NDArray[np.int32]
    end: NDArray[np.int32]
    sets: dict[int, Bits]
    distinct: tuple[Ints, ...]
    names: tuple[tuple[str, ...], ...]
    positions: bool
    exhaustive: bool
    slot: Ints | None = field(default=None)
    known: KnownValues = NOTHING

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return int(self.times.shape[1])

    @property
    def trees(self) -> int:
        """Return the number of trees."""
        return int(self.times.shape[0])

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """Return how many parts every attribute has, the label included."""
        return tuple(len(a.sizes) for a in self.release.domain.attributes)

    def values(self, t: int) -> range:
        """Return the values of a tree."""
        return range(int(self.first[t]), int(self.first[t + 1]))

    def agreeing(self, values: Ints) -> Bits:
        """Return (rows, values): whether a value's box meets what is known of a row, in every attribute by itself."""
        out = np.ones((self.rows, len(values)), dtype=bool)
        for j, k in enumerate(self.known.attributes):
            allowed = self.known.allowed[j]
            if k in self.sets:
                met = allowed @ self.sets[k][values].T
            else:
                before = np.pad(np.cumsum(allowed, axis=1), ((0, 0), (1, 0)))
                met = before[:, self.end[values, k]] > before[:, self.start[values, k]]
            out &= met[self.known.codes[j]]
        return out

    def ends(self) -> tuple[Ints, Ints, dict[int, Bits]]:
        """Return where rows can be before any tree is looked at: the first part, the one behind the last, and sets."""
        start = np.zeros((self.rows, len(self.parts)), dtype=np.int64)
        end = np.tile(np.array(self.parts, dtype=np.int64), (self.rows, 1))
        sets = {k: np.ones((self.rows, self.parts[k]), dtype=bool) for k in self.sets}
        for k in self.known.attributes:
            held = self.known.of(k)
            if held is not None:
                start[:, k], end[:, k] = held.argmax(axis=1), self.parts[k] - held[:, ::-1].argmax(axis=1)
                if k in sets:
                    sets[k] = held
        return start, end, sets

    def labels(self) -> Bits:
        """Return (rows, labels): the labels that rows can have before any tree is looked at."""
        held = self.known.of(self.release.domain.label)
        return np.ones((self.rows, self.release.domain.labels), dtype=bool) if held is None else held


def problem_of(release: Release) -> RowProblem | None:
    """Return a release as a problem on rows, None where it has no bags and no exact partition by boxes.

    Of several training files with bags the one with most values is taken; positions of two files are not known to be
    the same rows. Cost: linear in leaves times attributes.
    """
    if release.bags:
        exact = {b: p for b, p in release.partitions.items() if not p.first_match and bool((p.low == p.high).all())}
        bags = bags_with_most(release.bags)
        trees = [*bags.trees, *(_as_counts(p) for p in exact.values())]
        times = np.concatenate([bags.times, np.ones((len(exact), bags.rows), dtype=np.int32)])
        implied = {*bags.blocks, *exact}
        whole = len(implied) == len(release.blocks) and len(release.bags) == 1
        return replace(_assembled(release, times, trees, True, whole), known=bags.known)
    slots = slot_trees(release)
    if not slots:
        return None
    times = np.ones((len(slots), release.rows.low), dtype=np.int32)
    stated = sum(block in slots for block in release.partitions.values())
    return _with_slots(_assembled(release, times, list(map(_as_counts, slots)), False, stated == len(release.blocks)))


def slot_trees(release: Release) -> list[Partition]:
    """Return the partitions by boxes, with exact counts, of a known number of rows that have no positions."""
    return [p for p in exact_partitions(release) if not p.first_match] if release.rows.exact else []


def anchored(release: Release) -> bool:
    """Return whether one of several partitions tells at least half of the rows apart: each is alone in its leaf."""
    alone = [int(np.count_nonzero(tree.low == 1)) for tree in slot_trees(release)]
    return len(alone) > 1 and 0 < release.rows.low <= 2 * max(alone)


def bags_with_most(known: Sequence[TreeBags]) -> TreeBags:
    """Return the training file whose trees count most values; positions are its rows."""
    return max(known, key=lambda one: sum(int((tree.count > 0).sum()) for tree in one.trees))


def _as_counts(partition: Partition) -> BagCounts:
    """Return a partition with exact counts as counts of a bag that holds every row once."""
    none = np.full(len(partition.boxes), UNPUBLISHED, dtype=np.int64)
    return BagCounts(
        partition.kind,
        partition.boxes,
        partition.region,
        partition.label,
        partition.low,
        none,
        partition.names,
        partition.labels,
    )


def _assembled(
    release: Release, times: NDArray[np.int32], trees: list[BagCounts], positions: bool, exhaustive: bool
) -> RowProblem:
    """Return the problem of some trees; values that count nothing are left out."""
    domain = release.domain
    first, parts = [0], []
    lows, highs, distinct = [], [], []
    for t, one in enumerate(trees):
        kept = np.flatnonzero(one.count > 0)
        low, high = _distinct_bounds(one, kept, times[t])
        parts.append((np.full(len(kept), t, dtype=np.int32), one.region[kept], one.label[kept], one.count[kept]))
        lows.append(low)
        highs.append(high)
        distinct.append(one.distinct)
        first.append(first[-1] + len(kept))
    tree, region, label, weight = (np.concatenate(x) for x in zip(*parts, strict=True))
    start, end, sets = _boxes_of(release, trees, tree, region, np.array(first))
    if domain.label is not None:
        stated = label != ANY_LABEL
        start[stated, domain.label] = np.maximum(start[stated, domain.label], label[stated])
        end[stated, domain.label] = np.minimum(end[stated, domain.label], label[stated] + 1)
    return RowProblem(
        release,
        times,
        np.array(first, dtype=np.int64),
        tree,
        region,
        label,
        weight.astype(np.int64),
        np.concatenate(lows).astype(np.int64),
        np.concatenate(highs).astype(np.int64),
        start,
        end,
        sets,
        tuple(distinct),
        tuple(tuple(one.names) for one in trees),
        positions,
        exhaustive,
    )


def _distinct_bounds(one: BagCounts, kept: Ints, times: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """Return how many different rows of the bag every count above 0 has, at least and at most.

    A count w of a leaf with d different rows and counts in c classes has at most min(w, d - (c - 1)) of them and at
    least max(1, d - the most of the other classes). A row counts once at least and max(times) at most.
    """
    count, region = one.count[kept], one.region[kept]
    most = max(1, int(times.max(initial=1)))
    least_times = int(times[times > 0].min(initial=most))
    low, high = -(-count // most), count // least_times
    d = one.distinct[region]
    classes = np.bincount(region, minlength=len(one.boxes))[region]
    said = d != UNPUBLISHED
    high = np.where(said, np.minimum(high, d - (classes - 1)), high)
    total = np.zeros(len(one.boxes), dtype=np.int64)
    np.add.at(total, region, high)
    low = np.where(said, np.maximum(low, d - (total[region] - high)), low)
    return np.maximum(low, 1), high


def _boxes_of(
    release: Release, trees: list[BagCounts], tree: NDArray[np.int32], region: NDArray[np.int32], first: Ints
) -> tuple[NDArray[np.int32], NDArray[np.int32], dict[int, Bits]]:
    """Return the runs of parts of every value's box, and the allowed parts of attributes with other masks."""
    parts = np.array([len(a.sizes) for a in release.domain.attributes], dtype=np.int32)
    start = np.zeros((len(tree), len(parts)), dtype=np.int32)
    end = np.broadcast_to(parts, (len(tree), len(parts))).copy()
    others: dict[int, list[tuple[int, int]]] = {}
    for t, one in enumerate(trees):
        values = np.arange(first[t], first[t + 1])
        counts = np.diff(one.boxes.start)[region[values]]
        value = np.repeat(values, counts)
        offset = np.arange(len(value)) - np.repeat(np.cumsum(counts) - counts, counts)
        literal = one.boxes.start[region[value]] + offset
        k = one.boxes.attribute[literal]
        begin, behind, single = runs_of(one.boxes)
        start[value, k], end[value, k] = begin[literal], behind[literal]
        for at in np.flatnonzero(~single[literal]).tolist():
            others.setdefault(int(k[at]), []).append((int(value[at]), int(one.boxes.mask[int(literal[at])])))
    sets: dict[int, Bits] = {}
    for attribute, found in others.items():
        place = np.arange(parts[attribute])
        allowed = (place >= start[:, attribute, None]) & (place < end[:, attribute, None])
        for v, mask in found:
            allowed[v] = [bool(mask >> p & 1) for p in range(int(parts[attribute]))]
        sets[attribute] = allowed
    return start, end, sets


def runs_of(boxes: Boxes) -> tuple[Ints, Ints, Bits]:
    """Return of every literal the first allowed part, the one behind the last, and whether all between are allowed."""
    masks = boxes.mask
    if isinstance(masks, RunMasks):
        return masks.first, masks.end, np.ones(len(masks), dtype=bool)
    found = [spans(int(mask)) or [(0, 0)] for mask in masks.tolist()]
    begin = np.array([runs[0][0] for runs in found], dtype=np.int64)
    behind = np.array([runs[-1][1] for runs in found], dtype=np.int64)
    return begin, behind, np.array([len(runs) == 1 for runs in found], dtype=bool)


def _with_slots(problem: RowProblem) -> RowProblem:
    """Return a problem without positions whose rows are the slots of the tree with the greatest entropy of values.

    Of several the one that shares attributes with most trees: what is shared tells where its rows are in these.
    """
    n, full = problem.rows, np.array(problem.parts)
    asked = (problem.start > 0) | (problem.end < full)
    about = np.array([asked[list(problem.values(t))].any(axis=0) for t in range(problem.trees)])
    linked = (about.astype(np.int64) @ about.T > 0).sum(axis=1).tolist()
    best, slots = (-1.0, 0), np.zeros(n, dtype=np.int64)
    for t in range(problem.trees):
        values = np.array(problem.values(t), dtype=np.int64)
        share = problem.weight[values] / max(1, n)
        entropy = round(float(-(share * np.log2(share)).sum()), 9)
        if (entropy, linked[t]) > best:
            best, slots = (entropy, linked[t]), np.repeat(values, problem.weight[values])
    return replace(problem, slot=slots)
