"""A second order of cells, by a treewidth heuristic, for components whose graph is too large in the greedy order.

Statements that share a cell are joined, eliminated one by one, each time one with fewest neighbours (min-degree), and
taken in the post-order of the elimination tree: what hangs together is settled together. Whether that order is worth
trying is estimated (`log2_states`): narrower does not mean fewer states, because figures bound the sums.

Source: Bodlaender and Koster, "Treewidth computations I: upper bounds", Information and Computation 208(3), 2010; the
heuristic is networkx's. docs/measured.md has the trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from solvers.cells.components import Component
from solvers.cells.linear_system import Ints
from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits
from solvers.histograms.decision_diagram import Layers, layers_of
from solvers.histograms.elimination import elimination_order

MOST_ENTRIES = 1 << 21  # of the matrix: beyond, no order helped in the trial
MOST_BITS = 80.0  # log2 of the states in the greedy order: beyond, no order helped in the trial
PHASE = "cells were put in another order"
Order = list[int]


def counted_layers(part: Component, limits: Limits) -> Layers | None:
    """Return the layered graph as `layers_of`, in a second order of the cells where it is too large in the first."""
    try:
        return layers_of(part, limits)
    except TooLarge:
        order = second_order(part, limits)
        if order is None:
            raise
    return layers_of(part, limits, order)


def second_order(part: Component, limits: Limits) -> Order | None:
    """Return the order of the heuristic where it is estimated to leave fewer states than the greedy one."""
    if part.matrix is None or part.matrix.size > MOST_ENTRIES:
        return None
    known = log2_states(part, elimination_order(part.matrix, limits))
    if known > MOST_BITS:
        return None
    order = tree_order(part.matrix, limits)
    return order if log2_states(part, order) < known else None


def tree_order(matrix: Ints, limits: Limits) -> Order:
    """Return the cells (columns of `matrix`, one row per statement), statement by statement in the tree's post-order.

    The same for the same matrix. Raises `Inconclusive` when time is up. Cost: per cell the square of its statements,
    and what eliminating takes (128 statements over 402 cells: 0.04 s).
    """
    from networkx import Graph
    from networkx.algorithms.approximation.treewidth import MinDegreeHeuristic, treewidth_decomp

    used = matrix != 0
    graph: Graph[int] = Graph()
    graph.add_nodes_from(range(len(matrix)))
    for column in limits.paced(used.T, PHASE):
        graph.add_edges_from(combinations(np.flatnonzero(column).tolist(), 2))
    heuristic = MinDegreeHeuristic(graph)
    order: Order = []
    later: list[set[int]] = []

    def recorded(left: Mapping[int, set[int]]) -> int | None:
        limits.check(PHASE)
        node: int | None = heuristic.best_node(left)
        if node is not None:
            order.append(node)
            later.append(set(left[node]))
        return node

    treewidth_decomp(graph, recorded)
    rest = sorted(set(graph) - set(order))  # joined to one another: any order of them is as good
    later += [set(rest[i + 1 :]) for i in range(len(rest))]
    rows = [np.flatnonzero(row).tolist() for row in used]
    cells = dict.fromkeys(c for s in post_order(order + rest, later) for c in rows[s])
    return list(cells | dict.fromkeys(range(matrix.shape[1])))


def post_order(order: Order, later: list[set[int]]) -> Order:
    """Return the post-order of the elimination tree, the largest subtree first.

    `later`: the neighbours of each node that are eliminated after it; the next of them is its parent.
    """
    place, root = {v: i for i, v in enumerate(order)}, -1
    children: dict[int, Order] = {v: [] for v in (root, *order)}
    size = dict.fromkeys((root, *order), 1)
    for v, left in zip(order, later, strict=True):
        parent = min(left, key=place.__getitem__) if left else root
        children[parent].append(v)
        size[parent] += size[v]
    out: Order = []
    stack = [root]
    while stack:  # parents first, the largest subtree last; turned round at the end
        v = stack.pop()
        out.append(v)
        stack += sorted(children[v], key=size.__getitem__, reverse=True)
    return out[:0:-1]


def log2_states(part: Component, order: Order) -> float:
    """Return log2 of the sum over the places of an order of how many states the open statements allow, at most.

    What an open statement has seen lies between what the cells so far can add and what those to come can mend.
    """
    if part.matrix is None:
        raise TypeError("the component has no matrix")
    matrix = part.matrix[:, order]
    added, used = matrix * part.room[order], matrix != 0
    least, most = np.cumsum(np.minimum(added, 0), axis=1), np.cumsum(np.maximum(added, 0), axis=1)
    high = np.minimum(most, part.high[:, None] - (least[:, -1:] - least))
    low = np.maximum(least, part.low[:, None] - (most[:, -1:] - most))
    place = np.arange(len(order))
    first, last = np.where(used, place, len(place)).min(axis=1), np.where(used, place, -1).max(axis=1)
    last[list(part.keep)] = len(place)
    opened = (first[:, None] <= place) & (place < last[:, None])
    bits = np.where(opened, np.log2(1.0 + np.maximum(high - low, 0)), 0.0).sum(axis=0)
    return float(np.logaddexp2.reduce(bits))
