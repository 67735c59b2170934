"""How likely a row has a value of a column, over the worlds in which a greedy learner could have chosen its tree.

Up the tree a column's weights by state are those of its share (`solvers.greedy.tree_counts`); down the tree what a
state leaves open elsewhere is their correlation with the sibling's. The product of both at a leaf is the joint weight
of the ones of either class among the leaf's rows. Weights are kept as lower bounds: what is cut off or rounded away is
at most what the shares of the states lack of the share of the column, so that a probability lies between what was
found, and that and the slack. Rows of one leaf and class are exchangeable and columns independent: that s rows all have
the values asked for has a probability that is a product over columns of factorial moments, from which follows by
inclusion and exclusion that none has. Sources: Baum, Petrie, Soules & Weiss, A maximization technique occurring in the
statistical analysis of probabilistic functions of Markov chains, 1970 (upward and downward passes); Feller, An
Introduction to Probability Theory and Its Applications I, 3rd edition 1968, IV.3 (inclusion and exclusion); Paley &
Zygmund 1932 (P(X > 0) >= E[X]^2 / E[X^2]).

Which states a column can have at every leaf of a tree that a greedy learner chose, in whole numbers only.

A state is how many of a leaf's rows of each class have a 1 in the column. Sets of states are arrays of booleans; up
the tree those of two children are added (every sum of two states), and what the learner's comparison forbids is taken
out; down the tree what is left at a node is taken apart again. No probability, window or logarithm is used, so that
what this finds impossible or certain rests on the comparison of gains alone (`solvers.greedy.gains`). Because the
conditions of one column form a tree, what is left at a leaf is just what some filling of the whole column has there.
Source: arc consistency on trees is complete: Freuder, A sufficient condition for backtrack-free search, JACM 29, 1982.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ContradictionError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.greedy.gains import ChosenTree, GreedyRule, leaves_allowed, splits_allowed, two_classes
from solvers.greedy.states import UP, StateWindow, U, convolved, normalised
from solvers.greedy.tree_counts import ChoiceConditions, Passes

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
        if BYTES * (n0 + 1) * (n1 + 1) > self.limits.room:
            raise Inconclusive(f"the memory is too small for {(n0 + 1) * (n1 + 1):,} states of a column")
        tree, order = self.tree, _nodes_above(self.tree, column)
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
                down[child] = up[child] & _difference_states(down[node], up[sibling], up[child].shape)
        return {node: mask for node, mask in down.items() if tree.column[node] < 0}

    def fits(self, column: int, held: dict[int, Mask]) -> bool:
        """Return whether a column has a filling whose states at some leaves are among those held, by leaf."""
        up: dict[int, Mask] = {}
        for node in reversed(_nodes_above(self.tree, column)):
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
        return _sum_states(up[int(tree.then[node])], up[int(tree.otherwise[node])]) & self._allowed(node)

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
        for leaf in _nodes_above(self.tree, -2, node):
            if self.tree.column[leaf] < 0:
                n0, n1 = self._counts(leaf)
                down[leaf] = np.zeros((n0 + 1, n1 + 1), dtype=bool)
                down[leaf][n0 * value, n1 * value] = True

    def _counts(self, node: int) -> tuple[int, int]:
        return int(self.tree.counts[node, 0]), int(self.tree.counts[node, 1])


def _nodes_above(tree: ChosenTree, column: int, root: int = 0) -> list[int]:
    """Return a node and those below it, each after its parent, without those below a split on a column."""
    out = [root]
    for node in out:
        if tree.column[node] >= 0 and tree.column[node] != column:
            out += [int(tree.then[node]), int(tree.otherwise[node])]
    return out


def _runs(states: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the runs of True along the rows of an array: row, first column, column after the last."""
    edges = np.zeros((states.shape[0], states.shape[1] + 2), dtype=np.int8)
    edges[:, 1:-1] = states
    change = np.diff(edges, axis=1)
    rows, first = np.nonzero(change == 1)
    _, after = np.nonzero(change == -1)
    return rows, first, after


def _sum_states(one: Mask, two: Mask) -> Mask:
    """Return which states are a sum of a state of one set and a state of the other (s + s' - 1, t + t' - 1)."""
    shape = (one.shape[0] + two.shape[0] - 1, one.shape[1] + two.shape[1] - 1)
    few, many = sorted((_runs(one), _runs(two)), key=lambda r: len(r[0]))
    change = np.zeros((shape[0], shape[1] + 1), dtype=np.int32)
    for row, first, after in zip(*(x.tolist() for x in few), strict=True):
        # a run of one set and one of the other make a run; in one row of the other no two runs begin or end together
        change[many[0] + row, many[1] + first] += 1
        change[many[0] + row, many[2] + after - 1] -= 1
    return np.asarray(np.cumsum(change, axis=1)[:, :-1] > 0)


def _difference_states(sums: Mask, sibling: Mask, shape: tuple[int, ...]) -> Mask:
    """Return (shape) which states have, with some state of the sibling, a sum in `sums`."""
    found = _sum_states(sums, sibling[::-1, ::-1])
    i, j = sibling.shape[0] - 1, sibling.shape[1] - 1
    return found[i : i + shape[0], j : j + shape[1]]


CUT = 1e-18
DIRECT = 3e6  # products before transforms, whose errors are absolute
SHARP = 1e-6  # widest interval that inclusion and exclusion may leave before other bounds are taken
TERMS = 400  # rows of a leaf up to which inclusion and exclusion are tried
Floats = NDArray[np.float64]
Bounds = tuple[float, float]
Counts = tuple[int, int]


@dataclass(frozen=True, eq=False)
class States:
    """How likely the states of a column at a leaf are: `weights` (s, t) of (first + i, second + j), and what they lack.

    A probability is at least its sum of weights (up to `error`, relative), and at most that and `slack`.
    """

    first: int
    second: int
    weights: Floats
    slack: float
    error: float

    def seen(self, counts: Counts, k: int) -> tuple[bool, bool]:
        """Return whether some state surely occurs in which a row of class k has a 1, and one in which some has a 0.

        False where that was not found: what is cut off may still occur.
        """
        ones = np.arange(self.weights.shape[k]) + (self.first, self.second)[k]
        occurs: NDArray[np.bool_] = self.weights.sum(axis=1 - k) > 0
        return bool(occurs[ones > 0].any()), bool(occurs[ones < counts[k]].any())

    def expected(self, factor0: Floats, factor1: Floats) -> Bounds:
        """Return bounds on the mean product of two factors in [0, 1], each by the ones of its class."""
        a = factor0[self.first : self.first + self.weights.shape[0]]
        b = factor1[self.second : self.second + self.weights.shape[1]]
        found = float(a @ self.weights @ b)
        return max(0.0, found * (1 - self.error)), min(1.0, found * (1 + self.error) + self.slack)


@dataclass(eq=False)
class StateMarginals:
    """The probabilities of the states of columns at the leaves; what columns share is worked out once."""

    tree: ChosenTree
    rule: GreedyRule
    limits: Limits
    passes: Passes = field(init=False)
    known: dict[int, dict[int, States]] = field(default_factory=dict)
    unused: dict[int, States] = field(default_factory=dict)

    def __post_init__(self) -> None:
        conditions = ChoiceConditions(self.tree, self.rule, strict=False, leaf_rule=True)
        self.passes = Passes(conditions, CUT, DIRECT, self.limits, keep=True)

    def leaves(self, column: int) -> dict[int, States]:
        """Return the states' probabilities by leaf. Cost: three convolutions per inner node. `Inconclusive`."""
        if column not in self.known:
            if (self.tree.column == column).any():
                self.known[column] = self._leaves(column)
            else:
                self.unused = self.unused or self._leaves(-2)
                self.known[column] = self.unused
        return self.known[column]

    def _leaves(self, column: int) -> dict[int, States]:
        tree, out = self.tree, dict[int, States]()
        windows, _, _ = self.passes.windows(column)
        top = windows[0].exponent
        low, high = windows[0].total
        outside = {0: replace(windows[0], mass=(windows[0].mass > 0).astype(float), exponent=0, relative=0.0, lost=0.0)}
        outside[0] = replace(outside[0], factors=None)
        for node in _nodes_above(tree, column):
            self.limits.check("the states of a column were weighed")
            then, otherwise = int(tree.then[node]), int(tree.otherwise[node])
            if tree.column[node] < 0:
                out[node] = _states(windows[node], outside[node], top, (low, high))
            elif tree.column[node] == column:
                for child, value in ((then, 1), (otherwise, 0)):
                    out |= {
                        leaf: self._constant(leaf, value)
                        for leaf in _nodes_above(tree, -2, child)
                        if tree.column[leaf] < 0
                    }
            else:
                for child, sibling in ((then, otherwise), (otherwise, then)):
                    outside[child] = self._outside(outside[node], windows[node], windows[sibling], windows[child])
        return out

    def _outside(self, outside: StateWindow, at: StateWindow, sibling: StateWindow, child: StateWindow) -> StateWindow:
        """Return for a child's states the weights of what they leave open elsewhere, where the node's stand."""
        standing = _lower(replace(outside, mass=np.where(at.mass > 0, outside.mass, 0.0)))
        turned = _lower(sibling)
        last = sibling.mass.shape[0] - 1, sibling.mass.shape[1] - 1
        turned = replace(
            turned, first=-sibling.first - last[0], second=-sibling.second - last[1], mass=turned.mass[::-1, ::-1]
        )
        return _lower(_cropped(convolved(standing, turned, self.limits, direct=DIRECT), child))

    def _constant(self, leaf: int, value: int) -> States:
        n0, n1 = (int(n) * value for n in self.tree.counts[leaf])
        return States(n0, n1, np.ones((1, 1)), 0.0, 0.0)


def _lower(window: StateWindow) -> StateWindow:
    """Return a window of lower bounds on the weights, without errors of its own."""
    mass = np.maximum(window.mass * (1 - (window.relative + 4 * U) * UP) - window.lost * UP, 0.0)
    return replace(window, mass=mass, relative=0.0, lost=0.0, factors=None)


def _cropped(window: StateWindow, to: StateWindow) -> StateWindow:
    """Return a window with the states of another one only; 0 where it has none."""
    mass: Floats = np.zeros((to.mass.shape[0], to.mass.shape[1]))
    i, j = to.first - window.first, to.second - window.second
    rows, columns = max(0, i), max(0, j)
    part = window.mass[rows : max(0, i + mass.shape[0]), columns : max(0, j + mass.shape[1])]
    mass[rows - i : rows - i + part.shape[0], columns - j : columns - j + part.shape[1]] = part
    return normalised(replace(window, first=to.first, second=to.second, mass=mass, factors=None))


def _states(inside: StateWindow, outside: StateWindow, top: int, total: Bounds) -> States:
    """Return the probabilities of the states of a leaf from their weights inside and outside of it."""
    weights = np.ldexp(_lower(inside).mass * outside.mass, inside.exponent + outside.exponent - top)
    if total[0] <= 0:
        return States(inside.first, inside.second, np.zeros(weights.shape), 1.0, 0.0)
    found = float(weights.sum()) * (1 - (weights.size + 4) * U)
    slack = (max(0.0, total[1] - found) + (total[1] - total[0])) / total[0] * UP
    # a weight is at least weight / total[1], and what is not found is in the slack
    return States(inside.first, inside.second, weights / total[1], slack, (weights.size + 8) * U)


def _falling(n: int, s: int) -> Floats:
    """Return (n + 1,) for m = 0..n the probability that s of n rows, chosen blindly, are all among m of them."""
    out = np.ones(n + 1)
    for k in range(s):
        out *= np.maximum(np.arange(n + 1) - k, 0) / (n - k)
    return out


@dataclass(frozen=True)
class ColumnMarginal:
    """A column of a profile: how likely its states at the leaf are, and the value asked for (0 or 1)."""

    states: States
    value: int


def expected_rows(leaf: Counts, asked: Sequence[ColumnMarginal]) -> tuple[Bounds, Bounds]:
    """Return bounds on the expected rows of either class of a leaf with so many that have all values asked for."""
    found = []
    for rows, number in zip(((1, 0), (0, 1)), leaf, strict=True):
        low, high = _all_match(leaf, asked, rows) if number else (0.0, 0.0)
        found.append((number * low, number * high * UP))
    return found[0], found[1]


def some_row(leaf: Counts, asked: Sequence[ColumnMarginal], among: tuple[bool, bool] = (True, True)) -> Bounds:
    """Return bounds on the probability that some row of a leaf has all values asked for.

    `leaf`: its rows of either class, `among`: which classes count. Inclusion and exclusion where that is sharp, else
    what the first two moments say. Cost: the states' products with (n0 + 1) and (n1 + 1) lines per column.
    """
    n0, n1 = (n if wanted else 0 for n, wanted in zip(leaf, among, strict=True))
    first, second = _moments(leaf, asked, (n0, n1))
    low, high = 0.0, min(1.0, first[1])
    if second[1] + first[1] > 0:
        low = max(0.0, first[0] - second[1] / 2, first[0] ** 2 / (second[1] + first[1])) * (1 - 8 * U)
        low = min(low, high)
    if n0 + n1 > TERMS or high - low <= SHARP * high:
        return low, high
    none = _none_matches(leaf, asked, (n0, n1))
    low, high = max(low, 1 - none[1] - U), min(high, 1 - none[0] + U)
    return min(low, high), high


def _all_match(leaf: Counts, asked: Sequence[ColumnMarginal], rows: Counts) -> Bounds:
    """Return bounds on the probability that so many given rows of either class have all values asked for."""
    low = high = 1.0
    for one in asked:
        factors = [_turned(_falling(n, s), one.value) for n, s in zip(leaf, rows, strict=True)]
        found = one.states.expected(factors[0], factors[1])
        low, high = low * found[0], high * found[1]
    slack = 4 * U * (len(asked) + 1) * (1 + sum(rows))
    return low * (1 - slack), min(1.0, high * (1 + slack))


def _turned(factor: Floats, value: int) -> Floats:
    """Return a factor by rows with the value as one by rows with a 1."""
    return factor if value else factor[::-1]


def _moments(leaf: Counts, asked: Sequence[ColumnMarginal], counts: Counts) -> tuple[Bounds, Bounds]:
    """Return bounds on E[X] and E[X (X - 1)] of the rows X, of so many of either class, that match."""
    n0, n1 = counts
    one, two = [0.0, 0.0], [0.0, 0.0]
    for into, rows, number in (
        (one, (1, 0), n0), (one, (0, 1), n1),
        (two, (2, 0), n0 * (n0 - 1)), (two, (1, 1), 2 * n0 * n1), (two, (0, 2), n1 * (n1 - 1)),
    ):  # fmt: skip
        if number > 0:
            found = _all_match(leaf, asked, rows)
            into[0] += number * found[0] * (1 - 2 * U)
            into[1] += number * found[1] * UP
    return (one[0], one[1]), (two[0], two[1])


def _none_matches(leaf: Counts, asked: Sequence[ColumnMarginal], counts: Counts) -> Bounds:
    """Return bounds on the probability that no row matches, by inclusion and exclusion; [0, 1] where they are wide."""
    lines = [np.array([_falling(n, s) for s in range(m + 1)]) for n, m in zip(leaf, counts, strict=True)]
    found, errors, slack = np.ones((counts[0] + 1, counts[1] + 1)), 0.0, 0.0
    for one in asked:
        p, q = (line if one.value else line[:, ::-1] for line in lines)
        states = one.states
        p = p[:, states.first : states.first + states.weights.shape[0]]
        q = q[:, states.second : states.second + states.weights.shape[1]]
        found *= p @ states.weights @ q.T
        errors += states.error + (sum(states.weights.shape) + 3 * sum(counts) + 8) * U
        slack += states.slack
    terms = [np.array([(-1.0) ** s * math.comb(m, s) for s in range(m + 1)]) for m in counts]
    every = np.outer(*terms) * found
    noise = float(np.abs(every).sum()) * (errors + 8 * U) * UP
    if not math.isfinite(noise):
        return 0.0, 1.0
    value = math.fsum(every.ravel().tolist())
    return max(0.0, value - noise - slack), min(1.0, value + noise + slack)
