"""The optimal trees of every number of leaves, from the same nodes as those of every depth.

Every column is an independent bit here, so that a tree takes from each row as many bits as the row is tested: of
equally accurate trees with as many leaves, those that test the rows least (most) leave most (least) open. Numbers of
errors and of tests add up over leaves, and so does a whole number made of both, errors first.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from threading import Event
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from recon.learners.optimal.trees.lattice import LEAF, Edges, Lattice, errors_of, grown
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from recon.learners.optimal.trees.table import Shape, counted, errors
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

Keys = NDArray[np.int64]
Tests = Literal["fewest", "most"]
NONE = 1 << 60  # no tree; two of them add up without an overflow, and no sum with one is half of it
BATCH = 1 << 19  # splits looked at together


@dataclass(frozen=True, eq=False)
class SizedTrees:
    """Of all trees with `leaves` leaves and the fewest `errors`: the tests on the way of all rows, fewest and most.

    `fewest_tree`, `most_tree`: a fitted tree each. Bits left open: rows x columns - tests.
    """

    leaves: int
    errors: int
    fewest: int
    most: int
    fewest_tree: OptimalTreeClassifier
    most_tree: OptimalTreeClassifier


def trees_by_leaves(
    X: Any, y: ArrayLike, most_leaves: int, min_support: float | int = 1, seconds: float = 60.0, memory: int = 4 << 30,  # noqa: N803
    stop: Event | None = None,
) -> list[SizedTrees]:  # fmt: skip
    """Return the optimal trees with exactly 2, 3, ... `most_leaves` leaves; sizes that no tree has are left out.

    A tree with k leaves has at most k - 1 tests on a path, so nothing limits the depth. Raises `Inconclusive` where
    time or memory is up or `stop` is set, and what `OptimalTreeClassifier.fit` raises for bad input. Cost: see `grown`,
    and splits x leaves².
    """
    began = time.monotonic()
    limits = Limits(seconds=seconds, memory=memory, stop=stop or Event())
    learner = OptimalTreeClassifier(max(1, most_leaves - 1), min_support, seconds, "own")
    rows, least = learner.prepared(X, y)
    lattice = grown(rows, most_leaves - 1, least, limits, prune=False)
    if not lattice.complete:
        raise Inconclusive(f"not all trees were looked at: {lattice.stopped}")
    unit = rows.total * most_leaves + 1  # more than all tests: an error weighs more
    ends: tuple[Tests, ...] = ("fewest", "most")
    found = {which: _keys_of(lattice, most_leaves, unit, which, limits) for which in ends}
    out = []
    for size in range(2, most_leaves + 1):
        trees, tests = {}, {}
        for which, keys in found.items():
            key = int(keys[0][0, size - 1])
            if key == NONE:
                break
            tree = OptimalTreeClassifier(max(1, most_leaves - 1), min_support, seconds, "own")
            tree.prepared(X, y)
            tree.nodes_ = counted(_member(lattice, keys, unit, which, (0, 0, size)), rows.bits, rows.weight)
            tree.errors_ = tree.bound_ = errors(tree.nodes_)
            tree.claimed_, tree.certified_by_ = True, "own"
            tree.finished(time.monotonic() - began)
            trees[which], tests[which] = tree, abs(key - tree.errors_ * unit)
        if len(trees) == len(found):
            one = trees["fewest"]
            out.append(SizedTrees(size, one.errors_, tests["fewest"], tests["most"], one, trees["most"]))
    return out


def _keys_of(lattice: Lattice, most_leaves: int, unit: int, which: Tests, limits: Limits) -> list[Keys]:
    """Return per level and node the least key of a subtree with 1, 2, ... leaves; `NONE` where there is none.

    A key is errors x unit plus (or, for the most tests, minus) the tests of the rows from the root on.
    """
    out: list[Keys] = []
    for depth in range(len(lattice.levels) - 1, -1, -1):
        level, below = lattice.levels[depth], out[-1] if out else None
        widest = max(1, most_leaves - depth)  # every test above has another branch
        keys = np.full((len(level.boxes), widest), NONE, dtype=np.int64)
        if len(keys):
            keys[:, 0] = _leaf_keys(level.counts, depth, unit, which)
        assert level.edges is not None
        edges = level.edges
        for some in _whole_nodes(edges):
            limits.check("trees are put together by their leaves")
            zero, one = (_child_keys(edges, some, side, depth + 1, below, widest, unit, which) for side in (0, 1))
            first = np.flatnonzero(np.diff(edges.node[some], prepend=-1))
            for size in range(2, widest + 1):
                best = np.min([zero[:, i - 1] + one[:, size - i - 1] for i in range(1, size)], axis=0)
                least = np.minimum.reduceat(best, first)
                keys[edges.node[some][first], size - 1] = np.where(least >= NONE >> 1, NONE, least)
        out.append(keys)
    return out[::-1]


def _whole_nodes(edges: Edges) -> list[slice]:
    """Return runs of splits, those of a node in one run."""
    starts, total = [0], len(edges.node)
    while starts[-1] < total:
        last = min(starts[-1] + BATCH, total) - 1
        starts.append(int(np.searchsorted(edges.node, edges.node[last], side="right")))
    return [slice(a, b) for a, b in pairwise(starts)]


def _leaf_keys(counts: NDArray[np.int32], depth: int, unit: int, which: Tests) -> Keys:
    """Return the keys of leaves at a depth from their rows per class."""
    tests = counts.sum(axis=-1).astype(np.int64) * depth
    found: Keys = errors_of(counts) * unit + (tests if which == "fewest" else -tests)
    return found


def _child_keys(
    edges: Edges, some: slice, side: int, depth: int, below: Keys | None, widest: int, unit: int, which: Tests
) -> Keys:
    """Return (splits, leaves) the keys of one child of some splits."""
    keys = np.full((some.stop - some.start, max(1, widest - 1)), NONE, dtype=np.int64)
    keys[:, 0] = _leaf_keys(edges.counts[some, side], depth, unit, which)
    if below is not None:
        child = edges.child[some, side]
        inner = child != LEAF
        keys[inner] = below[child[inner], : keys.shape[1]]
    return keys


def _member(lattice: Lattice, keys: list[Keys], unit: int, which: Tests, at: tuple[int, int, int]) -> Shape:
    """Return a subtree with the least key of a node: its level, its number, and how many leaves it has."""
    depth, node, size = at
    if size == 1:
        return None
    level = lattice.levels[depth]
    assert level.edges is not None
    start, end = (int(i) for i in np.searchsorted(level.edges.node, (node, node + 1)))
    below = keys[depth + 1] if depth + 1 < len(keys) else None
    widest = keys[depth].shape[1]
    zero, one = (
        _child_keys(level.edges, slice(start, end), side, depth + 1, below, widest, unit, which) for side in (0, 1)
    )
    for i in range(1, size):
        hit = np.flatnonzero(zero[:, i - 1] + one[:, size - i - 1] == keys[depth][node, size - 1])
        if len(hit):
            e = int(hit[0])
            parts = [
                None if child == LEAF else _member(lattice, keys, unit, which, (depth + 1, int(child), k))
                for child, k in zip(level.edges.child[start + e], (i, size - i), strict=True)
            ]
            return int(level.edges.column[start + e]), parts[0], parts[1]
    raise AssertionError("a key that no tree has")
