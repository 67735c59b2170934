"""Variable orders of small cut: which attribute a decision diagram should ask about first.

The diagram of "in none of these boxes" has at most 2^cut nodes at a place of the order where `cut` boxes have
attributes on both sides, so the estimate minimised is Σ 2^cut over the places.

Source: FORCE, Aloul, Markov, Sakallah, "FORCE: a fast and easy-to-implement variable-ordering heuristic",
GLSVLSI 2003; random starts and a local search of single moves on top.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.limits import Limits

IntArray = NDArray[np.int64]

EASY = 1 << 13  # below this estimate a diagram is built faster than a better order is found
TRIVIAL = 1 << 9  # below this estimate not even one more round pays
STARTS = 200
ROUNDS = 40
KICK = 5  # nodes moved at random between two descents
SEED = 20240409
PRICE, PER_EDGE = 4e-5, 4e-7  # of work to price the places of a node, and per place of an edge on top
WORTH = 3e-7  # seconds of search per node expected: about a tenth of the time the diagram takes
MAX_CUT = 60  # 2^cut is capped here: beyond it every order is hopeless


@dataclass(frozen=True, eq=False)
class _Graph:
    """Hyperedges over the nodes 0..n-1 in compressed rows, every edge non-empty, every node in an edge."""

    n: int
    node: IntArray
    start: IntArray
    length: IntArray

    @classmethod
    def of(cls, n: int, edges: Sequence[Sequence[int]]) -> _Graph:
        length = np.array([len(e) for e in edges], dtype=np.int64)
        start = np.concatenate(([0], np.cumsum(length)[:-1]))
        return cls(n, np.array([v for e in edges for v in e], dtype=np.int64), start, length)

    @cached_property
    def transposed(self) -> _Graph:
        """The same incidences, listed node by node."""
        edge = np.repeat(np.arange(len(self.length)), self.length)
        length = np.bincount(self.node, minlength=self.n)
        start = np.concatenate(([0], np.cumsum(length)[:-1]))
        return _Graph(len(self.length), edge[np.argsort(self.node, kind="stable")], start, length)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of `values` (s, n) over each edge, (s, edges)."""
        sums: NDArray[np.float64] = np.add.reduceat(values[:, self.node], self.start, axis=1)
        return sums / self.length

    def cuts(self, rank: IntArray) -> IntArray:
        """Return how many edges cross the gap after each place, (s, n), for the ranks (s, n)."""
        at = rank[:, self.node]
        first = np.minimum.reduceat(at, self.start, axis=1)
        last = np.maximum.reduceat(at, self.start, axis=1)
        s = len(rank)
        row = (np.arange(s) * (self.n + 1))[:, None]
        size = s * (self.n + 1)
        opened = np.bincount((first + row).ravel(), minlength=size)
        closed = np.bincount((last + row).ravel(), minlength=size)
        crossing: IntArray = np.cumsum((opened - closed).reshape(s, self.n + 1), axis=1)[:, :-1]
        return crossing

    def costs(self, rank: IntArray) -> NDArray[np.float64]:
        """Return Σ 2^cut for each row of ranks, (s,)."""
        return np.asarray(np.exp2(np.minimum(self.cuts(rank), MAX_CUT)).sum(axis=1), dtype=np.float64)


def _ranks(values: NDArray[np.float64]) -> IntArray:
    rank = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(rank, np.argsort(values, axis=1, kind="stable"), np.arange(values.shape[1])[None, :], axis=1)
    return rank


def _force(graph: _Graph, rank: IntArray, rounds: int, best: float = float("inf")) -> tuple[IntArray, float]:
    """Return the best ranks (n,) met while every start moves towards its neighbours, and their cost."""
    winner = rank[0]
    for _ in range(rounds):
        costs = graph.costs(rank)
        minimum = int(np.argmin(costs))
        if costs[minimum] < best:
            best, winner = float(costs[minimum]), rank[minimum]
            if best < TRIVIAL:
                break
        moved = _ranks(graph.transposed.means(graph.means(rank.astype(np.float64))))
        if np.array_equal(moved, rank):
            break
        rank = moved
    return winner, best


class _NodeMoves:
    """Moves of single nodes to their best place: all places of one node are priced in O(nodes + edges)."""

    def __init__(self, edges: Sequence[Sequence[int]], rank: IntArray) -> None:
        self.n = len(rank)
        self.rank = rank.copy()
        wide = max(len(e) for e in edges)
        # Rows padded with a node of the same edge: minimum and maximum stay what they are.
        self.edges = np.array([[*e, *[e[0]] * (wide - len(e))] for e in edges], dtype=np.int64)
        self.each = PRICE + PER_EDGE * self.edges.size  # of work
        self.others: list[IntArray] = []
        self.apart: list[IntArray] = []
        for v in range(self.n):
            mine = [[u for u in e if u != v] for e in edges if v in e]
            self.others.append(np.array([[*e, *[e[0]] * (wide - len(e))] for e in mine], dtype=np.int64))
            self.apart.append(np.flatnonzero(~(self.edges == v).any(axis=1)))

    def prices(self, v: int) -> tuple[IntArray, NDArray[np.float64]]:
        """Return the ranks without v (closed up), and Σ 2^cut with v put at place 0..n-1."""
        m = self.n - 1
        without = self.rank - (self.rank > self.rank[v])
        at = without[self.edges[self.apart[v]]]
        cut = np.cumsum(np.bincount(at.min(axis=1), minlength=m) - np.bincount(at.max(axis=1), minlength=m))
        mine = without[self.others[v]]
        # Left of v an edge of v crosses a gap iff it began before it, right of v iff it ends after it.
        begun = np.cumsum(np.bincount(mine.min(axis=1), minlength=m))
        open_ = len(mine) - np.concatenate(([0], np.cumsum(np.bincount(mine.max(axis=1), minlength=m))))
        before = np.concatenate(([0.0], np.cumsum(np.exp2(np.minimum(cut + begun, MAX_CUT)))))
        right = np.exp2(np.minimum(np.concatenate(([0], cut)) + open_, MAX_CUT))
        return without, before + np.cumsum(right[::-1])[::-1]

    def move(self, v: int, place: int, without: IntArray) -> None:
        """Put v at the place."""
        self.rank = without + (without >= place)
        self.rank[v] = place

    def descend(self, cost: float, rng: np.random.Generator, limits: Limits) -> float:
        """Move nodes until no single move helps or time is up; return the cost reached."""
        idle = 0
        while idle < self.n:
            for v in rng.permutation(self.n):
                without, prices = self.prices(int(v))
                place = int(np.argmin(prices))
                if prices[place] < cost * (1 - 1e-9):
                    self.move(int(v), place, without)
                    cost, idle = float(prices[place]), 0
                else:
                    idle += 1
                if idle >= self.n:
                    break
            limits.charge(self.n * self.each)
            if limits.expired():
                break
        return cost


def _polish(edges: Sequence[Sequence[int]], rank: IntArray, cost: float, limits: Limits) -> IntArray:
    """Return the ranks after a local search of single moves, restarted from small random kicks."""
    rng = np.random.default_rng(SEED)
    search = _NodeMoves(edges, rank)
    cost = search.descend(cost, rng, limits)
    while not limits.expired() and cost > EASY:
        kept = search.rank
        kicked = cost
        for v in rng.choice(search.n, size=min(search.n, KICK), replace=False):
            without, prices = search.prices(int(v))
            near = int(np.clip(search.rank[v] + rng.integers(-search.n // 4, search.n // 4 + 1), 0, search.n - 1))
            search.move(int(v), near, without)
            kicked = float(prices[near])
        reached = search.descend(kicked, rng, limits)
        if reached <= cost:
            cost = reached
        else:
            search.rank = kept
    return search.rank


def _arrange(n: int, edges: Sequence[Sequence[int]], limits: Limits) -> list[int]:
    """Return the nodes 0..n-1 of one connected component in a good order."""
    graph = _Graph.of(n, edges)
    rank, cost = _force(graph, np.arange(n)[None, :], 12)
    if cost > EASY:
        rng = np.random.default_rng(SEED)
        starts = min(STARTS, 1 + 20_000_000 // (len(graph.node) * ROUNDS))
        rank, cost = _force(graph, _ranks(rng.random((starts, n))), ROUNDS, cost)
        if cost > 4 * EASY and not limits.late():
            rank = _polish(edges, rank, cost, limits.at_most(cost * WORTH))
    return [int(v) for v in np.argsort(rank)]


def _components(n: int, edges: Sequence[Sequence[int]]) -> list[int]:
    """Return the component of each node 0..n-1 as the smallest node in it (union-find)."""
    parent = list(range(n))

    def find(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for edge in edges:
        for v in edge[1:]:
            a, b = find(edge[0]), find(v)
            parent[max(a, b)] = min(a, b)
    return [find(v) for v in range(n)]


def estimate(order: Sequence[int], edges: Sequence[Sequence[int]]) -> float:
    """Return Σ 2^cut over the places of an order of the nodes 0..n-1."""
    rank = np.empty((1, len(order)), dtype=np.int64)
    rank[0, list(order)] = np.arange(len(order))
    return float(_Graph.of(len(order), edges).costs(rank)[0])


def good_order(n: int, edges: Sequence[Sequence[int]], limits: Limits | None = None) -> list[int]:
    """Return the nodes 0..n-1 in an order of small Σ 2^cut; the same wherever work alone ends the search (`limits`).

    `edges` are the attributes of each box, non-empty. Components follow one another. A node in a single edge
    never widens a cut inside that edge's span, so those nodes are left out of the search and put back.
    Cost: a few milliseconds where the cut is small, else up to the stage "variable order" for all hard components.
    """
    within = (limits or Limits()).stage("variable order")
    degree = [0] * n
    for edge in edges:
        for v in edge:
            degree[v] += 1
    cores = sorted({core for e in edges if len(core := tuple(v for v in e if degree[v] > 1)) > 1})
    label = _components(n, cores)
    groups: dict[int, list[tuple[int, ...]]] = {}
    for core in cores:
        groups.setdefault(label[core[0]], []).append(core)
    order: list[int] = []
    for group in groups.values():
        nodes = sorted({v for e in group for v in e})
        at = {v: i for i, v in enumerate(nodes)}
        order += [nodes[i] for i in _arrange(len(nodes), [[at[v] for v in e] for e in group], within)]
    return _put_back(n, edges, degree, order)


def _put_back(n: int, edges: Sequence[Sequence[int]], degree: Sequence[int], order: list[int]) -> list[int]:
    """Return the order with the nodes of degree one placed just before the last other node of their edge."""
    place = {v: i for i, v in enumerate(order)}
    before: dict[int, list[int]] = {}
    loose: list[int] = []
    for edge in edges:
        lone = [v for v in edge if degree[v] == 1]
        last = max((place[v] for v in edge if v in place), default=-1)
        if last >= 0:
            before.setdefault(last, []).extend(lone)
        else:
            # A star around one node, or an edge of its own: keep its nodes together.
            loose += [v for v in edge if v not in place]
    full = [v for i, core in enumerate(order) for v in (*before.get(i, ()), core)]
    seen = set(full)
    for v in (*loose, *range(n)):
        if v not in seen:
            seen.add(v)
            full.append(v)
    return full
