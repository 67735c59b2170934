"""Which states a column can have at every leaf of a tree that a greedy learner chose, in whole numbers only.

A state is how many of a leaf's rows of each class have a 1 in the column. Sets of states are arrays of booleans; up
the tree those of two children are added (every sum of two states), and what the learner's comparison forbids is taken
out; down the tree what is left at a node is taken apart again. No probability, window or logarithm is used, so that
what this finds impossible or certain rests on the comparison of gains alone (`solvers.greedy.gains`). Because the
conditions of one column form a tree, what is left at a leaf is just what some filling of the whole column has there.
Source: arc consistency on trees is complete: Freuder, A sufficient condition for backtrack-free search, JACM 29, 1982.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ContradictionError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.greedy.chosen import ChosenTree, GreedyRule, two_classes
from solvers.greedy.gains import leaves_allowed, splits_allowed

Mask = NDArray[np.bool_]
BYTES = 24  # per state of the root: the sums of two sets, and a few copies


@dataclass(eq=False)
class StateSupports:
    """The states that columns can have at the leaves; what columns share is worked out once.

    `rule` None: the learner's rule is not used, so that every filling of the leaves is a world.
    """

    tree: ChosenTree
    rule: GreedyRule | None
    limits: Limits
    allowed: dict[int, Mask] = field(default_factory=dict)
    known: dict[int, dict[int, Mask]] = field(default_factory=dict)
    unused: dict[int, Mask] = field(default_factory=dict)

    def leaves(self, column: int) -> dict[int, Mask]:
        """Return, by leaf, which states (n0 + 1, n1 + 1) of a column some filling of the whole column has there.

        Raises `ContradictionError` naming the node where no filling is left, `Inconclusive` at the limits. Cost: per
        inner node the product of the numbers of runs of states of its children, once for all columns not split on.
        """
        if column not in self.known:
            if (self.tree.column == column).any():
                self.known[column] = self._leaves(column)
            else:
                self.unused = self.unused or self._leaves(-2)
                self.known[column] = self.unused
        return self.known[column]

    def _leaves(self, column: int) -> dict[int, Mask]:
        two_classes(self.tree.counts)
        n0, n1 = self._counts(0)
        if BYTES * (n0 + 1) * (n1 + 1) > self.limits.memory:
            raise Inconclusive(f"the memory is too small for {(n0 + 1) * (n1 + 1):,} states of a column")
        tree, order = self.tree, nodes_above(self.tree, column)
        up: dict[int, Mask] = {}
        for node in reversed(order):
            self.limits.check("the states of a column were listed")
            up[node] = self._up(node, column, up)
            if not up[node].any():
                raise ContradictionError(f"node {node} leaves column {column} no filling", (f"node {node}",))
        down = {0: up[0]}
        for node in order:
            self.limits.check("the states of a column were listed")
            if tree.column[node] < 0:
                continue
            then, otherwise = int(tree.then[node]), int(tree.otherwise[node])
            if tree.column[node] == column:
                self._constant(then, down, 1)
                self._constant(otherwise, down, 0)
                continue
            for child, sibling in ((then, otherwise), (otherwise, then)):
                down[child] = up[child] & apart(down[node], up[sibling], up[child].shape)
        return {node: mask for node, mask in down.items() if tree.column[node] < 0}

    def fits(self, column: int, held: dict[int, Mask]) -> bool:
        """Return whether a column has a filling whose states at some leaves are among those held, by leaf."""
        up: dict[int, Mask] = {}
        for node in reversed(nodes_above(self.tree, column)):
            self.limits.check("the states of a column were listed")
            up[node] = self._up(node, column, up)
            if node in held:
                up[node] = up[node] & held[node]
            if not up[node].any():
                return False
        return True

    def _up(self, node: int, column: int, up: dict[int, Mask]) -> Mask:
        """Return what the subtree of a node leaves of its states."""
        tree, (n0, n1) = self.tree, self._counts(node)
        if tree.column[node] == column:
            out = np.zeros((n0 + 1, n1 + 1), dtype=bool)
            out[self._counts(int(tree.then[node]))] = True
            return out
        if tree.column[node] < 0:
            return self._allowed(node)
        return together(up[int(tree.then[node])], up[int(tree.otherwise[node])]) & self._allowed(node)

    def _allowed(self, node: int) -> Mask:
        """Return which states let a node's choice stand."""
        if node not in self.allowed:
            tree, counts = self.tree, self._counts(node)
            a, b = np.arange(counts[0] + 1)[:, None], np.arange(counts[1] + 1)[None, :]
            found = np.ones((counts[0] + 1, counts[1] + 1), dtype=bool)
            if self.rule is not None and tree.column[node] >= 0:
                found, _ = splits_allowed(counts, self._counts(int(tree.then[node])), a, b, self.rule)
            elif self.rule is not None and tree.open_leaf[node] and min(counts):  # pure ones are never open
                found, _ = leaves_allowed(counts, a, b, self.rule)
            self.allowed[node] = found
        return self.allowed[node]

    def _constant(self, node: int, down: dict[int, Mask], value: int) -> None:
        """Set the states of the leaves below a node in which the column has one value."""
        for leaf in nodes_above(self.tree, -2, node):
            if self.tree.column[leaf] < 0:
                n0, n1 = self._counts(leaf)
                down[leaf] = np.zeros((n0 + 1, n1 + 1), dtype=bool)
                down[leaf][n0 * value, n1 * value] = True

    def _counts(self, node: int) -> tuple[int, int]:
        return int(self.tree.counts[node, 0]), int(self.tree.counts[node, 1])


def nodes_above(tree: ChosenTree, column: int, root: int = 0) -> list[int]:
    """Return a node and those below it, each after its parent, without those below a split on a column."""
    out = [root]
    for node in out:
        if tree.column[node] >= 0 and tree.column[node] != column:
            out += [int(tree.then[node]), int(tree.otherwise[node])]
    return out


def runs(states: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the runs of True along the rows of an array: row, first column, column after the last."""
    edges = np.zeros((states.shape[0], states.shape[1] + 2), dtype=np.int8)
    edges[:, 1:-1] = states
    change = np.diff(edges, axis=1)
    rows, first = np.nonzero(change == 1)
    _, after = np.nonzero(change == -1)
    return rows, first, after


def together(one: Mask, two: Mask) -> Mask:
    """Return which states are a sum of a state of one set and a state of the other (s + s' - 1, t + t' - 1)."""
    shape = (one.shape[0] + two.shape[0] - 1, one.shape[1] + two.shape[1] - 1)
    few, many = sorted((runs(one), runs(two)), key=lambda r: len(r[0]))
    change = np.zeros((shape[0], shape[1] + 1), dtype=np.int32)
    for row, first, after in zip(*(x.tolist() for x in few), strict=True):
        # a run of one set and one of the other make a run; in one row of the other no two runs begin or end together
        change[many[0] + row, many[1] + first] += 1
        change[many[0] + row, many[2] + after - 1] -= 1
    return np.asarray(np.cumsum(change, axis=1)[:, :-1] > 0)


def apart(sums: Mask, sibling: Mask, shape: tuple[int, ...]) -> Mask:
    """Return (shape) which states have, with some state of the sibling, a sum in `sums`."""
    found = together(sums, sibling[::-1, ::-1])
    i, j = sibling.shape[0] - 1, sibling.shape[1] - 1
    return found[i : i + shape[0], j : j + shape[1]]
