"""What tests of greedy trees share: trees as scikit-learn chose them, and the rule in plain Python, row by row.

Nothing here looks at the engine: gains are computed one state at a time from counted rows, in scikit-learn's order of
operations, and all matrices are listed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from solvers.greedy.gains import ChosenTree


def chosen_tree(fitted, max_depth=99, min_samples_split=2, min_samples_leaf=1) -> ChosenTree:
    """Read a fitted DecisionTreeClassifier of two classes over columns of 0 and 1."""
    t = fitted.tree_
    leaf, n = t.children_left < 0, t.n_node_samples
    counts = np.rint(t.value[:, 0] * n[:, None]).astype(np.int64)
    depth = np.zeros(t.node_count, dtype=int)
    for v in np.flatnonzero(~leaf):
        depth[[t.children_left[v], t.children_right[v]]] = depth[v] + 1
    stopped = (depth >= max_depth) | (n < min_samples_split) | (n < 2 * min_samples_leaf)
    return ChosenTree(
        t.children_right.astype(np.int64),
        t.children_left.astype(np.int64),
        np.where(leaf, -1, t.feature).astype(np.int64),
        counts,
        leaf & (counts.min(axis=1) > 0) & ~stopped,
    )


def impurity(counts, criterion) -> float:
    n, out = float(sum(counts)), 0.0
    if criterion == "gini":
        for count in counts:
            out += float(count) * float(count)
        return 1.0 - out / (n * n)
    for count in counts:
        if count:
            p = count / n
            out -= p * (math.log(p) / math.log(2.0))
    return out


def gain(rows, column, criterion) -> float | None:
    """scikit-learn's sum for a split of (row of 0 and 1, class) pairs on a column; None where it is constant."""
    left, right = [0, 0], [0, 0]
    for row, label in rows:
        (right if row[column] else left)[label] += 1
    if not sum(left) or not sum(right):
        return None
    return -float(sum(right)) * impurity(right, criterion) - float(sum(left)) * impurity(left, criterion)


def improvement(rows, column, criterion, total) -> float:
    sides = [[0, 0], [0, 0]]
    for row, label in rows:
        sides[row[column]][label] += 1
    n, (left, right) = float(len(rows)), sides
    both = [left[0] + right[0], left[1] + right[1]]
    return (n / total) * (
        impurity(both, criterion)
        - (sum(right) / n * impurity(right, criterion))
        - (sum(left) / n * impurity(left, criterion))
    )


def could_choose(tree, node, rows, settings, strict=False) -> bool:
    """Whether greedy choice makes this tree of these rows for some sequence of draws (`strict`: for every one)."""
    criterion, least = settings["criterion"], settings["min_samples_leaf"]
    decrease, total = settings["min_impurity_decrease"], settings["rows"]
    gains = {}
    for column in range(len(rows[0][0])):
        ones = sum(row[column] for row, _ in rows)
        if min(ones, len(rows) - ones) >= least:
            gains[column] = gain(rows, column, criterion)
    best = max(gains.values(), default=None)
    if tree.column[node] < 0:
        if not tree.open_leaf[node] or not gains:
            return True
        winners = [improvement(rows, c, criterion, total) for c in gains if gains[c] == best]
        return (max if strict else min)(winners) + 2.0**-52 < decrease
    column = int(tree.column[node])
    if gains.get(column) != best or (strict and sum(g == best for g in gains.values()) > 1):
        return False
    sides = [[(row, label) for row, label in rows if row[column] == side] for side in (0, 1)]
    below = zip((tree.otherwise[node], tree.then[node]), sides, strict=True)
    return all(could_choose(tree, int(child), part, settings, strict) for child, part in below)


def leaves_of(tree) -> list[tuple[int, dict[int, int]]]:
    """The leaves in the order of their nodes, with the columns that their path fixes."""
    out = {}

    def walk(node, fixed):
        if tree.column[node] < 0:
            out[node] = fixed
            return
        column = int(tree.column[node])
        walk(int(tree.otherwise[node]), {**fixed, column: 0})
        walk(int(tree.then[node]), {**fixed, column: 1})

    walk(0, {})
    return sorted(out.items())


def labelled(tree) -> list[tuple[dict[int, int], int]]:
    """The fixed columns and the class of every row, leaf by leaf, class by class."""
    return [
        (fixed, label)
        for leaf, fixed in leaves_of(tree)
        for label in (0, 1)
        for _ in range(int(tree.counts[leaf, label]))
    ]


def worlds(tree, columns) -> Iterator[list[tuple[tuple[int, ...], int]]]:
    """All matrices that agree with the tree's counts, as rows with their classes."""
    kinds = labelled(tree)
    values = [[(fixed[c],) if c in fixed else (0, 1) for c in range(columns)] for fixed, _ in kinds]
    for rows in itertools.product(*[list(itertools.product(*v)) for v in values]):
        yield [(row, label) for row, (_, label) in zip(rows, kinds, strict=True)]
