"""Every node that some tree of a depth can have, found once: level by level, nodes with the same box being one.

Two paths that lead to the same box at the same depth lead to the same subtrees. So trees are never listed: COMPAS (27
columns, 746 distinct rows) has 36,625 different inner nodes up to depth 5 with leaves of 57 rows, and 10^20 trees.
From the lattice follows the least number of errors: exact, or bounds where it was not grown whole.
Source: Nijssen, Fromont, KDD 2007 (DL8: trees from the lattice of itemsets), here with arrays, level by level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.learners.optimal.trees.table import DistinctRows, Shape, Words, pack_sets, unpack_sets
from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.limits import Limits

BATCH = 64 << 20  # bytes of one batch's largest array
CELL, EDGE = 2e-10, 5e-7  # of work: of a node per row, column and figure, and of a split, measured
Errors = NDArray[np.int64]
LEAF = -1  # a child that cannot be split further
SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it loses no bit


@dataclass(frozen=True, eq=False)
class Edges:
    """Splits of the nodes of a level, those of a node together; axis 1 of pairs is "column = 0", "column = 1".

    `node`, `column` (edges,); `child` (edges, 2) its number in the next level, or LEAF; `counts` (edges, 2, classes)
    and `sizes` (edges, 2) what the two children hold: training rows per class, log2 of the box (0 without a domain).
    """

    node: NDArray[np.int64]
    column: NDArray[np.int32]
    child: NDArray[np.int32]
    counts: NDArray[np.int32]
    sizes: NDArray[np.float32 | np.float64]


@dataclass(frozen=True, eq=False)
class LatticeLevel:
    """The nodes of one depth that can be split: boxes, rows per class, log2 sizes, and errors nobody avoids.

    `edges`: their splits, None where they were not looked at (time or memory was up).
    """

    boxes: Words
    counts: NDArray[np.int32]
    sizes: NDArray[np.float64]
    floor: NDArray[np.int64]
    edges: Edges | None = None


@dataclass(frozen=True, eq=False)
class Lattice:
    """All nodes that can be split, by depth; the last level's children are leaves where `complete`."""

    rows: DistinctRows
    depth: int
    least: int
    levels: list[LatticeLevel]
    stopped: str = ""

    @property
    def complete(self) -> bool:
        """Return whether every split of every node was looked at."""
        return not self.stopped


def tree_lattice(rows: DistinctRows, depth: int, least: int, limits: Limits, *, prune: bool) -> Lattice:
    """Return the lattice of trees of at most so many tests on a path and at least so many training rows in a leaf.

    `prune`: nodes in which no split makes fewer errors (all of a class, or distinguished no further) are not split.
    Where time or memory is up: the levels found so far. Cost: nodes x distinct rows x columns, a million nodes of
    COMPAS (depth 10, leaves of 57 rows) in 17 s and 1 GB.
    """
    top = unpack_sets(pack_sets(np.ones((1, len(rows.points.group)), dtype=bool)), len(rows.points.group))
    counts = rows.weight.sum(axis=0, keepdims=True).astype(np.int32)
    root = LatticeLevel(pack_sets(top), counts, np.array([rows.bits_of_a_row]), rows.floor.sum(keepdims=True))
    levels, used = [root], 0
    if depth < 1 or rows.total < 2 * least:
        return Lattice(rows, 0, least, [LatticeLevel(root.boxes, root.counts, root.sizes, root.floor, _no_edges(rows))])
    for at in range(depth):
        try:
            edges, after = _expanded(rows, levels[-1], least, limits, used, last=at == depth - 1, prune=prune)
        except (Inconclusive, TooLarge) as error:
            return Lattice(rows, depth, least, levels, str(error))
        now = levels.pop()
        levels.append(LatticeLevel(now.boxes, now.counts, now.sizes, now.floor, edges))
        used += _size_of(edges) + _size_of(now)
        if not len(after.boxes):
            break
        levels.append(after)
    return Lattice(rows, depth, least, levels)


def _no_edges(rows: DistinctRows) -> Edges:
    """Return no splits."""
    classes = rows.weight.shape[1]
    return Edges(
        np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros((0, 2), np.int32), np.zeros((0, 2, classes), np.int32),
        np.zeros((0, 2)),
    )  # fmt: skip


def _size_of(thing: Any) -> int:
    """Return the bytes of the arrays of a level or of edges."""
    return sum(value.nbytes for value in vars(thing).values() if isinstance(value, np.ndarray))


def _expanded(
    rows: DistinctRows, level: LatticeLevel, least: int, limits: Limits, used: int, *, last: bool, prune: bool
) -> tuple[Edges, LatticeLevel]:
    """Return all splits of a level and the next level; `Inconclusive` for time, `TooLarge` for memory."""
    parts: list[Edges] = []
    found: list[tuple[NDArray[Any], ...]] = []  # box, counts, size, floor of children
    held, begun = used, 0
    for some in _batches(rows, level):
        limits.check("nodes of trees are listed")
        if held > limits.room:
            raise TooLarge(f"trees have too many different nodes for {limits.memory >> 20:,} MB: raise --memory")
        edges, floor = _splits(rows, level, some, least)
        limits.charge(CELL * len(some) * rows.bits.size * (rows.weight.shape[1] + 1) + EDGE * len(edges.node))
        if not last:
            inner = edges.counts.sum(axis=2) >= 2 * least
            if prune:
                inner &= edges.counts.sum(axis=2) - edges.counts.max(axis=2) > floor
            e, side = np.nonzero(inner)
            boxes = level.boxes[edges.node[e]] & rows.points.sides[edges.column[e], side]
            first, number = _same(boxes)  # here first, so that few boxes wait for the other batches
            one = (boxes[first], edges.counts[e, side][first], edges.sizes[e, side][first], floor[e, side][first])
            found.append(one)
            edges.child[e, side] = begun + number
            begun += len(first)
            held += sum(part.nbytes for part in one)
        parts.append(edges)
        held += _size_of(edges)
    edges = Edges(*(np.concatenate([getattr(p, f) for p in parts]) for f in Edges.__dataclass_fields__))
    if last or not found:
        return edges, LatticeLevel(level.boxes[:0], level.counts[:0], level.sizes[:0], level.floor[:0])
    boxes, counts, sizes, floors = (np.concatenate(one) for one in zip(*found, strict=True))
    first, number = _same(boxes)
    split = edges.child != LEAF
    edges.child[split] = number[edges.child[split]]
    return edges, LatticeLevel(boxes[first], counts[first], sizes[first].astype(np.float64), floors[first])


def _batches(rows: DistinctRows, level: LatticeLevel) -> Iterator[NDArray[np.int64]]:
    """Yield the numbers of the nodes of a level, so many at a time that no array of theirs grows large."""
    width = max(8 * len(rows.bits), 16 * rows.bits.shape[1] * (rows.weight.shape[1] + 2), 8 * len(rows.points.group))
    step = max(1, BATCH // width)
    for start in range(0, len(level.boxes), step):
        yield np.arange(start, min(start + step, len(level.boxes)))


def _splits(
    rows: DistinctRows, level: LatticeLevel, some: NDArray[np.int64], least: int
) -> tuple[Edges, NDArray[np.int64]]:
    """Return the allowed splits of some nodes, and (edges, 2) the errors that no subtree below avoids."""
    points, columns = rows.points, rows.bits.shape[1]
    kind = np.float32 if rows.total < 1 << 24 else np.float64  # whole numbers are exact in both
    held = unpack_sets(level.boxes[some], len(points.group))
    member: NDArray[Any] = held.astype(kind)
    if rows.sized:
        near: NDArray[Any] = np.zeros((len(points.group), len(rows.bits)), dtype=kind)
        near[points.inside, np.arange(len(rows.bits))[:, None]] = 1
        member = np.equal(member @ near, points.groups).astype(kind)
    figures = np.concatenate([rows.weight, rows.floor[:, None]], axis=1).astype(kind)  # classes, then floor
    total = member @ figures
    ones = np.stack([member @ (rows.bits * f[:, None]).astype(kind) for f in figures.T], axis=2)
    zeros = total[:, None, :] - ones
    allowed = (ones[..., :-1].sum(axis=2) >= least) & (zeros[..., :-1].sum(axis=2) >= least)
    s, c = np.nonzero(allowed)
    both = np.stack([zeros[s, c], ones[s, c]], axis=1)
    sizes: NDArray[Any] = np.zeros((len(s), 2), dtype=np.float32)
    if rows.sized:
        sizes = _halves(rows, held, level.sizes[some], s, c)
    empty = np.full((len(s), 2), LEAF, dtype=np.int32)
    assert columns == allowed.shape[1]
    edges = Edges(some[s], c.astype(np.int32), empty, both[..., :-1].astype(np.int32), sizes)
    return edges, np.rint(both[..., -1]).astype(np.int64)


def _halves(
    rows: DistinctRows, held: NDArray[np.bool_], sizes: NDArray[np.float64], s: NDArray[np.intp], c: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return (edges, 2) log2 sizes of the children: the parent's, with the split column's group cut down."""
    points = rows.points
    weighed = held * points.size
    member = (points.group[:, None] == np.arange(points.groups)).astype(float)
    whole = (weighed @ member)[:, points.owner]
    own = points.group[None, :] == points.owner[:, None]
    ones = weighed @ (own & points.truth).T.astype(float)
    kept = np.stack([(whole - ones)[s, c], ones[s, c]], axis=1)
    found: NDArray[np.float64] = sizes[s, None] + np.log2(kept) - np.log2(whole[s, c])[:, None]
    return found


def _same(boxes: Words) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first place of every different box, and the number of each one's kind."""
    if boxes.shape[1] == 1:
        _, first, number = np.unique(boxes[:, 0], return_index=True, return_inverse=True)
        return first, number.reshape(-1)
    key = np.zeros(len(boxes), dtype=np.uint64)
    for word in boxes.T:
        key = (key ^ word) * SPREAD
        key ^= key >> np.uint64(29)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    number = number.reshape(-1)
    if all(
        np.array_equal(boxes[first[number[i : i + 65536]]], boxes[i : i + 65536]) for i in range(0, len(boxes), 65536)
    ):
        return first, number
    _, first, number = np.unique(boxes, axis=0, return_index=True, return_inverse=True)  # two boxes had one key
    return first, number.reshape(-1)


@dataclass(frozen=True, eq=False)
class SubtreeErrorBounds:
    """For every node of every level: no subtree makes fewer errors than `low`, some subtree makes `high`.

    `least`, `most`: those of the whole tree.
    """

    low: list[Errors]
    high: list[Errors]

    @property
    def least(self) -> int:
        """Return a proved lower bound on the errors of every tree."""
        return int(self.low[0][0])

    @property
    def most(self) -> int:
        """Return the errors of a tree that was found."""
        return int(self.high[0][0])


def errors_of(counts: NDArray[np.int32]) -> Errors:
    """Return the errors of leaves from their rows per class (last axis)."""
    found: Errors = (counts.sum(axis=-1) - counts.max(axis=-1)).astype(np.int64)
    return found


def bounds(lattice: Lattice) -> SubtreeErrorBounds:
    """Return bounds on the errors of all nodes; low = high where the lattice is complete. Cost: its splits."""
    low: list[Errors] = []
    high: list[Errors] = []
    for level in reversed(lattice.levels):
        alone = errors_of(level.counts)
        if level.edges is None:
            low.append(level.floor.copy())
            high.append(alone)
            continue
        for values in (low, high):
            below = alone.copy()
            if len(level.edges.node):
                np.minimum.at(
                    below, level.edges.node, children(level.edges, values[-1] if values else None).sum(axis=1)
                )
            values.append(below)
    return SubtreeErrorBounds(low[::-1], high[::-1])


def children(edges: Edges, below: Errors | None) -> Errors:
    """Return (edges, 2) the errors of both children, given those of the next level."""
    found = errors_of(edges.counts)
    if below is not None:
        inner = edges.child != LEAF
        found[inner] = below[edges.child[inner]]
    return found


def best_tree(lattice: Lattice, found: SubtreeErrorBounds) -> Shape:
    """Return a tree with `found.most` errors; a node is a leaf where that is as good."""

    def at(depth: int, node: int) -> Shape:
        level = lattice.levels[depth]
        goal = int(found.high[depth][node])
        if level.edges is None or goal == int(errors_of(level.counts[node])):
            return None
        start, end = np.searchsorted(level.edges.node, (node, node + 1))
        some = slice(int(start), int(end))
        below = found.high[depth + 1] if depth + 1 < len(found.high) else None
        child = level.edges.child[some]
        both = errors_of(level.edges.counts[some])
        if below is not None:
            both[child != LEAF] = below[child[child != LEAF]]
        e = int(np.argmin(both.sum(axis=1)))
        zero, one = (None if c == LEAF else at(depth + 1, int(c)) for c in child[e])
        return int(level.edges.column[some][e]), zero, one

    return at(0, 0)
