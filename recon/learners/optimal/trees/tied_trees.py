"""How many trees make the fewest errors (or a few more), and between which scores they lie: exact, none is listed.

A score adds up over leaves; here it is the bits that a tree leaves open about its training rows (Dist_G, numerator).
All trees with E errors below a node are a split, and trees with E0 and E1 errors below its children, E0 + E1 = E: so
numbers of trees multiply and add up, least and greatest scores add up and are compared. Nodes from which no tree stays
within the slack are left out first.
Source: Ferry et al., SaTML 2024, eq. 11 (the score); Xin et al., NeurIPS 2022 (sets of almost optimal trees, listed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from recon.learners.optimal.trees.lattice import (
    LEAF,
    Edges,
    Lattice,
    LatticeLevel,
    SubtreeErrorBounds,
    bounds,
    children,
    errors_of,
    tree_lattice,
)
from recon.learners.optimal.trees.table import DistinctRows, Shape, TreeNode, counted_nodes
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

Floats = NDArray[np.float64]
Score = Callable[
    [NDArray[np.int32], int, Floats], Floats
]  # rows per class (k, classes), depth, log2 sizes (k,) -> (k,)
Which = Literal["least", "most"]


@dataclass(frozen=True, slots=True)
class Ties:
    """All trees with `errors` errors: how many, and the `least` and `most` score among them, with a tree each.

    Trees differ where their splits do: another column at some node, or a leaf here where the other splits. Scores are
    sums of floats, so they are right up to rounding. `bits`: of all training rows before anything is released.
    """

    errors: int
    trees: int
    least: float
    most: float
    least_tree: tuple[TreeNode, ...]
    most_tree: tuple[TreeNode, ...]
    bits: float

    @property
    def dist_g(self) -> tuple[float, float]:
        """Return the least and greatest Dist_G, where the score is `open_bits`."""
        return self.least / self.bits, self.most / self.bits


@dataclass(frozen=True, eq=False)
class TiedNodes:
    """The nodes of a level that some tree within the slack has, and the splits of such trees.

    `nodes`: their numbers in the level; `place` the other way; `number` (nodes, slack + 1) of trees with so many errors
    more than the best there, `least` and `most` (nodes, slack + 1) their scores (inf and -inf: no tree).
    """

    nodes: NDArray[np.int64]
    place: NDArray[np.int64]
    edges: Edges
    number: NDArray[Any]
    least: Floats
    most: Floats


@dataclass(frozen=True, eq=False)
class TiedSpread:
    """What the trees within a slack are made of; see `spread`."""

    lattice: Lattice
    bounds: SubtreeErrorBounds
    kept: list[TiedNodes]
    score: Score
    minimal: bool


def _open_bits(rows: DistinctRows) -> Score:
    """Return the bits that a leaf leaves open about its rows: log2 of the rows it can hold, for each of its rows.

    With a domain its size there; without one every column is an independent bit, and every test on the path fixes one.
    """
    columns = rows.bits.shape[1]

    def score(counts: NDArray[np.int32], depth: int, sizes: Floats) -> Floats:
        each: Any = sizes if rows.sized else columns - depth
        return np.asarray(counts.sum(axis=-1) * each, dtype=np.float64)

    return score


def tied_trees(
    rows: DistinctRows, depth: int, least: int, *, slack: int = 0, minimal: bool = True, score: Score | None = None,
    limits: Limits | None = None,
) -> tuple[Ties, ...]:  # fmt: skip
    """Return, for every number of errors from the optimum to `slack` more, all trees that make them; see `Ties`.

    Numbers of errors that no tree makes are left out. `least`: training rows per leaf. `minimal`: only trees in which
    no split could be a leaf without more errors (then no two leaves of one class meet needlessly); else all trees.
    `score` of a leaf: by default `open_bits`. It may depend on the box only where `rows` are sized by a domain.
    Raises `Inconclusive` where time is up, `TooLarge` where memory is. Cost: see `grown`, then nodes within the slack x
    columns x slack².
    """
    limits = limits or Limits()
    lattice = tree_lattice(rows, depth, least, limits, prune=minimal)
    if not lattice.complete:
        raise Inconclusive(f"not all trees were looked at: {lattice.stopped}")
    found = _trees_at_nodes(lattice, slack, minimal, score or _open_bits(rows), limits)
    best, numbers = found.bounds.least, found.kept[0].number[0]
    return tuple(_ties(found, best + j, j) for j in range(slack + 1) if numbers[j])


def _ties(found: TiedSpread, total: int, extra: int) -> Ties:
    """Return the trees with a number of errors, `extra` more than the best."""
    top, rows = found.kept[0], found.lattice.rows
    low, high = (
        counted_nodes(_member(found, 0, 0, extra, which), rows.bits, rows.weight) for which in ("least", "most")
    )
    least, most = float(top.least[0, extra]), float(top.most[0, extra])
    return Ties(total, int(top.number[0, extra]), least, most, low, high, rows.total * rows.bits_of_a_row)


def _trees_at_nodes(lattice: Lattice, slack: int, minimal: bool, score: Score, limits: Limits) -> TiedSpread:
    """Return numbers and scores of trees at every node that a tree within the slack has."""
    found = bounds(lattice)
    alive = _nodes_within_slack(lattice, found, slack)
    kept: list[TiedNodes] = []
    for depth in range(len(lattice.levels) - 1, -1, -1):
        limits.check("tied trees are counted")
        below = (kept[-1], found.high[depth + 1]) if kept else None
        nodes, edges = alive[depth]
        kept.append(
            _level_of(
                lattice.levels[depth], depth, nodes, edges, found.high[depth], below, slack, minimal, score, limits
            )
        )
    return TiedSpread(lattice, found, kept[::-1], score, minimal)


def _nodes_within_slack(
    lattice: Lattice, found: SubtreeErrorBounds, slack: int
) -> list[tuple[NDArray[np.int64], Edges]]:
    """Return per level the nodes and splits that some tree with at most `slack` errors more than the best has."""
    budget = np.array([found.least + slack], dtype=np.int64)
    out = []
    for depth, level in enumerate(lattice.levels):
        assert level.edges is not None
        below = found.high[depth + 1] if depth + 1 < len(lattice.levels) else None
        both = children(level.edges, below)
        spare = budget[level.edges.node] - both.sum(axis=1)
        kept = spare >= 0
        edges = Edges(*(getattr(level.edges, name)[kept] for name in Edges.__dataclass_fields__))
        out.append((np.flatnonzero(budget >= found.high[depth]), edges))
        if below is None:
            break
        budget = np.full(len(below), -1, dtype=np.int64)
        for side in (0, 1):  # what the other child does not need at least
            inner = edges.child[:, side] != LEAF
            np.maximum.at(budget, edges.child[inner, side], spare[kept][inner] + both[kept][inner, side])
    return out


def _level_of(
    level: LatticeLevel, depth: int, nodes: NDArray[np.int64], edges: Edges, best: NDArray[np.int64],
    below: tuple[TiedNodes, NDArray[np.int64]] | None, slack: int, minimal: bool, score: Score, limits: Limits,
) -> TiedNodes:  # fmt: skip
    """Return a level's numbers and scores from those of the next level."""
    width = slack + 1
    place = np.full(len(level.boxes), -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    number = np.zeros((len(nodes), width), dtype=object)
    low, high = np.full((len(nodes), width), np.inf), np.full((len(nodes), width), -np.inf)
    alone = errors_of(level.counts[nodes])
    extra = alone - best[nodes]
    fits = extra <= slack
    number[fits, extra[fits]] = 1
    own = score(level.counts[nodes], depth, level.sizes[nodes])
    low[fits, extra[fits]] = high[fits, extra[fits]] = own[fits]
    at = place[edges.node]
    sides = [_side_of(edges, side, depth + 1, below, width, score) for side in (0, 1)]
    base = sides[0].best + sides[1].best - best[edges.node]
    most = np.minimum(slack, extra[at] - 1) if minimal else np.full(len(at), slack)
    flat = number.reshape(-1)
    for i in range(width):
        for j in range(width - i):
            limits.check("tied trees are counted")
            some = np.flatnonzero((base + i + j <= most) & (sides[0].number[:, i] != 0) & (sides[1].number[:, j] != 0))
            if not len(some):
                continue
            to = at[some] * width + base[some] + i + j
            _add_to(flat, to, sides[0].number[some, i] * sides[1].number[some, j])
            np.minimum.at(low.reshape(-1), to, sides[0].least[some, i] + sides[1].least[some, j])
            np.maximum.at(high.reshape(-1), to, sides[0].most[some, i] + sides[1].most[some, j])
    return TiedNodes(nodes, place, edges, number, low, high)


def _add_to(flat: NDArray[Any], to: NDArray[np.int64], numbers: NDArray[Any]) -> None:
    """Add whole numbers of any size at places that may repeat."""
    np.add.at(flat, to, numbers)


@dataclass(frozen=True, eq=False)
class SplitSide:
    """What one child of every split offers: its fewest errors, and numbers and scores by errors beyond them."""

    best: NDArray[np.int64]
    number: NDArray[Any]
    least: Floats
    most: Floats


def _side_of(
    edges: Edges, side: int, depth: int, below: tuple[TiedNodes, NDArray[np.int64]] | None, width: int, score: Score
) -> SplitSide:
    """Return one child of every split: a leaf, or a node of the next level."""
    counts = edges.counts[:, side]
    best = errors_of(counts)
    number = np.zeros((len(best), width), dtype=object)
    number[:, 0] = 1
    low, high = np.full((len(best), width), np.inf), np.full((len(best), width), -np.inf)
    low[:, 0] = high[:, 0] = score(counts, depth, edges.sizes[:, side].astype(np.float64))
    if below is not None:
        kept, fewest = below
        inner = np.flatnonzero(edges.child[:, side] != LEAF)
        child = edges.child[inner, side]
        best[inner] = fewest[child]
        place = kept.place[child]
        number[inner], low[inner], high[inner] = kept.number[place], kept.least[place], kept.most[place]
    return SplitSide(best, number, low, high)


def _member(found: TiedSpread, depth: int, node: int, extra: int, which: Which) -> Shape:
    """Return a tree below a node with `extra` errors more than the best there and the least (greatest) score."""
    level, kept = found.lattice.levels[depth], found.kept[depth]
    best = found.bounds.high[depth]
    scores = kept.least if which == "least" else kept.most
    goal = scores[kept.place[node], extra]
    mine = np.arange(node, node + 1)
    own = found.score(level.counts[mine], depth, level.sizes[mine])[0]
    alone = int(errors_of(level.counts[node])) - int(best[node])
    if alone == extra and own == goal:
        return None
    some = slice(*(int(i) for i in np.searchsorted(kept.edges.node, (node, node + 1))))
    edges = Edges(*(getattr(kept.edges, name)[some] for name in Edges.__dataclass_fields__))
    below = (found.kept[depth + 1], found.bounds.high[depth + 1]) if depth + 1 < len(found.kept) else None
    zero, one = (_side_of(edges, side, depth + 1, below, scores.shape[1], found.score) for side in (0, 1))
    base = zero.best + one.best - int(best[node])
    for e in np.flatnonzero(base <= extra):
        for i in range(extra - int(base[e]) + 1):
            j = extra - int(base[e]) - i
            values = [s.least if which == "least" else s.most for s in (zero, one)]
            if zero.number[e, i] and one.number[e, j] and values[0][e, i] + values[1][e, j] == goal:
                parts = [
                    None if child == LEAF else _member(found, depth + 1, int(child), k, which)
                    for child, k in zip(edges.child[e], (i, j), strict=True)
                ]
                return int(edges.column[e]), parts[0], parts[1]
    raise AssertionError("a score that no tree has")
