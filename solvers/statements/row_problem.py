"""A release as a problem on rows that can be distinguished: which leaf of every tree each row lies in.

A row is a position of the training file, known by how often each tree drew it (`Release.bags`), or, where there are no
bags, a slot: a row of one leaf of the tree whose leaves tell most rows apart, of several such trees the one that shares
attributes with most others. A *value* of a row in a tree is a leaf with a class that it counts. The values that a row
takes in all trees that drew it must share a point of the row space.

Trees are those of the bags first, then the partitions with exact counts (every row counts once), without bags
cross-tables too; other statements are left out, so that what is proved here holds in every world, and a world is
checked against all of them.

Source: Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML 2024 (rows and trees as a constraint
program, bags unknown); boxes that meet pairwise share a point (Helly's theorem for axis-parallel boxes; Danzer,
Grünbaum, 1982), which holds for attributes whose masks are runs of parts.

Cross-tables are seen as partitions: loose counts over all combinations of some attributes' values. They stay loose,
with their numbers and sources: certificates name them, and the checker of proofs reads no view. What a tree of the same
leaves lets engines do they do with a view of it, which follows from the statements.
Source: Hundepool et al., "Statistical Disclosure Control", 2012 (tables and their margins).

Which values meet: packed bits for what each row can have, and for what goes with what. Two values of different trees
meet where their boxes share a part of every attribute; the label is an attribute, into whose parts each class is cut,
so that values of different classes do not meet. Tree t has words `first[t]` to `first[t + 1]` of a row; its values are
the lowest bits, in their order, the rest is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, Boxes, masks_of, runs_of
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
        for mask in masks_of(boxes, k):
            often[mask] += 1
        literals.append((k, min(often, key=lambda mask: often[mask])))
    return Box.of(literals)


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


WORD = 64
BLOCK = 1 << 24  # bits that are held at a time
GATHERED = 1 << 17  # words that are gathered at a time, for the cache's sake
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Packing:
    """Where the values of a problem stand in packed words: tree t has words `first[t]` to `first[t + 1]`, padded.

    Value v is bit `bit[v]` of word `word[v]` (`bit` counts from the lowest).
    """

    first: Ints
    word: Ints
    bit: NDArray[np.uint64]

    @classmethod
    def of(cls, problem: RowProblem) -> Packing:
        """Return the packing of a problem's values."""
        sizes = np.diff(problem.first)
        first = np.concatenate([[0], np.cumsum(np.maximum(1, -(-sizes // WORD)))]).astype(np.int64)
        place = np.arange(len(problem.tree)) - problem.first[problem.tree]
        return cls(first, first[problem.tree] + place // WORD, (place % WORD).astype(np.uint64))

    @property
    def at(self) -> Ints:
        """Return the place of every value's bit among all bits of a row."""
        return self.word * WORD + self.bit.astype(np.int64)

    @property
    def words(self) -> int:
        """Return the number of words of a row."""
        return int(self.first[-1])


class Meetings:
    """The values of a problem on rows, packed: what each row starts with, and which values meet which."""

    def __init__(self, problem: RowProblem) -> None:
        self.problem = problem
        packing = Packing.of(problem)
        self.first: Ints = packing.first
        self.bit: Ints = packing.at
        self._supports: dict[tuple[int, bytes], Words] = {}
        self._groups: dict[int, tuple[tuple[int, ...], Ints]] = {}

    @staticmethod
    def room(problem: RowProblem) -> int:
        """Return about how many bytes the bits of a problem take."""
        width = int(np.maximum(1, -(-np.diff(problem.first) // WORD)).sum())
        return 8 * width * (len(problem.tree) + 4 * problem.rows) + 8 * GATHERED

    @property
    def width(self) -> int:
        """Return the number of words of a row."""
        return int(self.first[-1])

    def span(self, t: int) -> slice:
        """Return the words of a tree."""
        return slice(int(self.first[t]), int(self.first[t + 1]))

    def packed(self, held: Bits) -> Words:
        """Return values, (..., values), as words."""
        out = np.zeros((*held.shape[:-1], self.width * WORD), dtype=bool)
        out[..., self.bit] = held
        return np.packbits(out, axis=-1, bitorder="little").view(np.uint64)

    def unpacked(self, words: Words) -> Bits:
        """Return the values of one row, (values,)."""
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        return bits[self.bit].astype(bool)

    def unpacked_tree(self, words: Words, t: int) -> Bits:
        """Return (rows, values of the tree): which of them each row has."""
        own = np.ascontiguousarray(words[:, self.span(t)]).view(np.uint8)
        return np.unpackbits(own, axis=1, bitorder="little")[:, : len(self.problem.values(t))].astype(bool)

    def mask(self, t: int, values: Iterable[int]) -> Words:
        """Return some values of a tree as its words."""
        out = np.zeros((self.first[t + 1] - self.first[t]) * WORD, dtype=bool)
        out[self.bit[list(values)] - self.first[t] * WORD] = True
        return np.packbits(out, bitorder="little").view(np.uint64)

    def by_tree(self, words: Words) -> Bits:
        """Return (..., trees): whether a tree has any bit."""
        found: Bits = np.bitwise_or.reduceat(words, self.first[:-1], axis=-1) != 0
        return found

    def sizes(self, words: Words) -> Ints:
        """Return (..., trees): how many values a row has."""
        counts = np.bitwise_count(words).astype(np.int64)
        return np.add.reduceat(counts, self.first[:-1], axis=-1).astype(np.int64)

    def column(self, words: Words, v: int) -> Bits:
        """Return (rows,): which rows have a value."""
        word, bit = divmod(int(self.bit[v]), WORD)
        return (words[:, word] >> np.uint64(bit) & np.uint64(1)).astype(bool)

    def multiplicities(self, t: int) -> tuple[tuple[int, ...], Ints]:
        """Return how often a tree counts rows, ascending, and of each row which of them; -1: it did not see it."""
        if t not in self._groups:
            times = self.problem.times[t]
            found = np.unique(times[times > 0])
            self._groups[t] = tuple(found.tolist()), np.where(times > 0, np.searchsorted(found, times), -1)
        return self._groups[t]

    @cached_property
    def start(self) -> Words:
        """Return (rows, words): the values that a row can have by how often it is counted, its slot and what is known.

        The other different rows of a value, at least `low` - 1, count once each.
        """
        problem = self.problem
        out = np.zeros((problem.rows, self.width), dtype=np.uint64)
        most = problem.weight - problem.low + 1
        for t in range(problem.trees):
            own = slice(int(problem.first[t]), int(problem.first[t + 1]))
            times, group = self.multiplicities(t)
            for g, m in enumerate(times):
                out[group == g, self.span(t)] = self.mask(t, np.flatnonzero(most[own] >= m) + own.start)
        if problem.slot is not None:
            for i, v in enumerate(problem.slot.tolist()):
                t = int(problem.tree[v])
                out[i, self.span(t)] &= self.mask(t, [v])
        for t in range(problem.trees) if problem.known.attributes else ():
            held = np.zeros((problem.rows, int(self.first[t + 1] - self.first[t]) * WORD), dtype=bool)
            values = np.array(problem.values(t), dtype=np.int64)
            held[:, self.bit[values] - self.first[t] * WORD] = problem.agreeing(values)
            out[:, self.span(t)] &= np.packbits(held, axis=1, bitorder="little").view(np.uint64)
        return out

    @cached_property
    def meet(self) -> Words:
        """Return (values, words): the values that meet each. Cost: values times words times tested attributes."""
        return self.met(Limits())

    def met(self, limits: Limits) -> Words:
        """Return what `meet` does, not kept; `Inconclusive` where the time ends."""
        problem = self.problem
        out: Words = np.full((len(problem.tree), self.width), ~np.uint64(0))
        for k, parts in enumerate(problem.parts):
            if k in problem.sets:
                self._narrow_by_sets(out, problem.sets[k], limits)
                continue
            start, end = problem.start[:, k], problem.end[:, k]
            self._narrow(out, end, np.flatnonzero(end < parts), start, np.less, limits)
            self._narrow(out, start, np.flatnonzero(start > 0), end, np.greater, limits)
        return out

    def _narrow(
        self,
        out: Words,
        ends: NDArray[np.int32],
        values: Ints,
        others: NDArray[np.int32],
        compared: np.ufunc,
        limits: Limits,
    ) -> None:
        """Leave some values only those whose other ends compare with their own."""
        found, at = np.unique(ends[values], return_inverse=True)
        order = np.argsort(at, kind="stable")
        values, at = values[order], at[order]
        step = max(1, BLOCK // max(1, self.width * WORD))
        for a in range(0, len(found), step):
            limits.check("it was looked for which leaves meet")
            table = self.packed(compared(others, found[a : a + step, None]))
            here = slice(*np.searchsorted(at, [a, a + step]).tolist())
            self._leave(out, values[here], table, at[here] - a)

    def _leave(self, out: Words, values: Ints, table: Words, at: Ints) -> None:
        """Leave each of some values what its row of a table has, some at a time."""
        step = max(1, GATHERED // max(1, self.width))
        for a in range(0, len(values), step):
            out[values[a : a + step]] &= table[at[a : a + step]]

    def _narrow_by_sets(self, out: Words, allowed: Bits, limits: Limits) -> None:
        """Leave each value only those that share an allowed part of an attribute."""
        masks, at = np.unique(allowed, axis=0, return_inverse=True)
        for j, mask in enumerate(masks):
            limits.check("it was looked for which leaves meet")
            values = np.flatnonzero(at.reshape(-1) == j)
            self._leave(out, values, self.packed((allowed & mask).any(axis=1))[None, :], np.zeros_like(values))

    def supported(self, i: int, words: Words, trees: Ints) -> Words:
        """Return the values that meet, in each of some trees, one of those that row i has there (none: no value)."""
        out: Words = np.full(self.width, ~np.uint64(0))
        changed = self.by_tree(words ^ self.start[i])[trees]
        for t in trees[~changed].tolist():  # rows start alike: their first revision is the same
            key = t, words[self.span(t)].tobytes()
            if key not in self._supports:
                self._supports[key] = self._support(words, np.array([t]))
            out &= self._supports[key]
        return out & self._support(words, trees[changed]) if changed.any() else out

    def _support(self, words: Words, trees: Ints) -> Words:
        """Return the values that meet, in each of some trees, one of those that a row has there."""
        tree = self.problem.tree
        chosen = np.zeros(self.problem.trees, dtype=bool)
        chosen[trees] = True
        at = np.flatnonzero(self.unpacked(words) & chosen[tree])
        first = np.searchsorted(tree[at], trees)
        if len(at) * self.width <= GATHERED:
            each = np.bitwise_or.reduceat(self.meet[at], first, axis=0)
        else:
            each = np.array([np.bitwise_or.reduce(self.meet[piece], axis=0) for piece in np.split(at, first[1:])])
        found: Words = np.bitwise_and.reduce(each, axis=0)
        return found

    def labels(self, words: Words) -> Bits:
        """Return (rows, labels): the labels that the values of all trees leave every row."""
        problem = self.problem
        out = problem.labels()
        for t in range(problem.trees):
            label = problem.label[int(problem.first[t]) : int(problem.first[t + 1])]
            if (label == ANY_LABEL).all():
                continue
            held, seen = self.unpacked_tree(words, t), problem.times[t] > 0
            for k in range(out.shape[1]):
                out[seen, k] &= held[seen][:, (label == k) | (label == ANY_LABEL)].any(axis=1)
        return out
