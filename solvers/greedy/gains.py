"""A learner's own comparison of splits, over whole windows of states: which states let it choose what it chose.

A state (a, b) of a binary column at a node with (n0, n1) rows of two classes: the ones among each class. The right
child has (a, b), the left one (n0 - a, n1 - b). Source: scikit-learn 1.9.1, sklearn/tree/_criterion.pyx
(`proxy_impurity_improvement`, `impurity_improvement`, `children_impurity` of Gini and Entropy), _splitter.pyx
(`node_split_best`: strict >), _tree.pyx (`EPSILON`), _utils.pyx (`log`). Docs: docs/mathematics.md.

A tree that a greedy learner chose, the learner's rule, and the answer: how much of the worlds the rule leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.structures import BinaryTree


@dataclass(frozen=True, eq=False)
class ChosenTree:
    """A tree over binary columns with the class counts of every node; node 0 is the root.

    `then` and `otherwise` (nodes,): children by node, -1 at leaves; `then` takes the rows whose column is 1
    (scikit-learn's right child). `column` (nodes,): the column an inner node splits on, -1 at leaves. `counts`
    (nodes, classes): rows of each class. `open_leaf` (nodes,): impure leaves that no limit stopped (not the depth,
    `min_samples_split`, twice `min_samples_leaf`, the weight, nor the number of leaves), so that only the lack of an
    admissible split can have.
    """

    then: NDArray[np.int64]
    otherwise: NDArray[np.int64]
    column: NDArray[np.int64]
    counts: NDArray[np.int64]
    open_leaf: NDArray[np.bool_]

    @cached_property
    def links(self) -> BinaryTree:
        """Return the links alone."""
        return BinaryTree.of_sides(self.otherwise, self.then)


@dataclass(frozen=True)
class GreedyRule:
    """How a greedy learner compares splits; rows are unweighted and every column is a candidate at every node.

    `rows`: in all, at the root. `min_samples_leaf`: least rows of a child (a least weight fraction of the rows,
    rounded up to whole rows, is the same limit). `arithmetic`: "float64", scikit-learn's own expressions in its own
    order without fused multiplications, "exact": gains as they are, an upper bound on what floats can have chosen.
    """

    rows: int
    criterion: Literal["gini", "entropy"] = "gini"
    min_samples_leaf: int = 1
    min_impurity_decrease: float = 0.0
    arithmetic: Literal["float64", "exact"] = "float64"


@dataclass(frozen=True)
class RuleShare:
    """The share of a release's worlds (`assigned`) in which the learner could have chosen the model, in bits.

    `log2`: bounds [low, high] on its logarithm, at most 0; -inf where no world is left. `by_column` (columns): the
    same of each column alone; the share is their product. `by_node` (nodes): bounds on the bits, 0 or more, that the
    condition at an inner node or the rule of an open leaf takes away, given the conditions at the nodes below it,
    summed over the columns; they add up to -`log2`. `nothing_at`: the (node, column) where the lowest condition leaves
    no filling of a column, None where every column has one. `exact`: whether the set counted is just the set of the
    worlds in which some sequence of draws chooses the model, otherwise it contains that set.
    """

    log2: tuple[float, float]
    by_column: list[tuple[float, float]]
    by_node: list[tuple[float, float]]
    nothing_at: tuple[int, int] | None
    exact: bool = True


def two_classes(counts: NDArray[np.int64]) -> None:
    """Raise `Unsupported` where (nodes, classes) counts have more than two classes: states would be too many."""
    if counts.ndim != 2 or counts.shape[1] != 2:
        raise Unsupported(f"exact counts under the learner's rule need two classes, there are {counts.shape[-1]}")


EPSILON = float(np.finfo(float).eps)  # as in sklearn/tree/_tree.pyx
MARGIN = 2.0**-45  # 256 units of roundoff: twice what logarithms of another library can shift a sum of four terms by
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Counts = tuple[int, int]


def splits_allowed(
    counts: Counts, chosen: Counts, a: Ints, b: Ints, rule: GreedyRule, strict: bool = False
) -> tuple[Mask, bool]:
    """Return where a column leaves the chosen split standing, for states a (s, 1) by b (1, t), and whether exactly.

    That is where the column is constant, its split inadmissible, or its gain at most that of the chosen state
    (`strict`: below it). "float64": the sums that scikit-learn compares, bit by bit where its binary rounds each
    operation (no fused multiplication, the logarithm of the same C library). The second value is False for "exact".
    """
    admitted = ~_free_states(counts, a, b, rule)
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = _proxies(rule.criterion, counts, a, b)
        target = _proxies(rule.criterion, counts, np.array([[chosen[0]]]), np.array([[chosen[1]]]))[0, 0]
        allowed = gains < target if strict else gains <= target
        near = admitted & (np.abs(gains - target) <= MARGIN * sum(counts))
    if rule.arithmetic == "exact" or rule.criterion == "entropy":
        better = _exactly(counts, chosen, rule) if rule.arithmetic == "exact" else _in_floats(counts, chosen)
        for i, j in np.argwhere(near):
            sign = better(int(a[i, 0]), int(b[0, j]))
            allowed[i, j] = sign < 0 if strict else sign <= 0
    return allowed | ~admitted, rule.arithmetic == "float64"


def leaves_allowed(counts: Counts, a: Ints, b: Ints, rule: GreedyRule, strict: bool = False) -> tuple[Mask, bool]:
    """Return where a column lets an open impure leaf be one, for states a (s, 1) by b (1, t), and whether exactly.

    That is where it is constant, its split inadmissible, or, with a least decrease, improves too little. What
    scikit-learn looks at is the improvement of the split whose sum is greatest: where rounding puts two splits into
    one order by sums and another by improvements, more states are allowed than it would have (the second value is
    False), with `strict` as many as are sure to leave the leaf.
    """
    free = _free_states(counts, a, b, rule)
    if rule.min_impurity_decrease <= 0:
        return free, True
    every_a, every_b = np.arange(counts[0] + 1)[:, None], np.arange(counts[1] + 1)[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        small = _improve_too_little(counts, every_a, every_b, rule)
        sums = _proxies(rule.criterion, counts, every_a, every_b)
    admitted = ~_free_states(counts, every_a, every_b, rule)
    small &= admitted
    kept = small
    if not strict and small.any():
        top = sums[small].max() + (MARGIN * sum(counts) if rule.criterion == "entropy" else 0.0)
        kept = admitted & (sums <= top)
    same = bool((kept == small).all()) and rule.arithmetic == "float64"
    return free | kept[a, b], same or strict


def _free_states(counts: Counts, a: Ints, b: Ints, rule: GreedyRule) -> Mask:
    """Return where a column is constant or its split breaks `min_samples_leaf`, for states a (s, 1) by b (1, t)."""
    ones, least = a + b, max(1, rule.min_samples_leaf)
    return np.asarray((ones < least) | (sum(counts) - ones < least))


def check_choice(tree: ChosenTree, rule: GreedyRule) -> None:
    """Raise `ContradictionError` where a split of the tree breaks a limit of its own rule, whatever the rows are.

    `ReleaseError` where least decreases are of another number of rows than the root has.
    """
    if rule.min_impurity_decrease > 0 and rule.rows != tree.counts[0].sum():
        raise ReleaseError(f"the learner's rule is of {rule.rows} rows, the root has {tree.counts[0].sum()}")
    nodes: list[tuple[int, frozenset[int]]] = [(0, frozenset())]
    while nodes:
        node, above = nodes.pop()
        column = int(tree.column[node])
        if column < 0:
            continue
        n0, n1 = (int(n) for n in tree.counts[node])
        a, b = (int(n) for n in tree.counts[tree.then[node]])
        why = f"column {column} is constant there" if column in above else _broken_condition((n0, n1), (a, b), rule)
        if why:
            raise ContradictionError(f"the learner cannot have split node {node}: {why}", (f"node {node}: {why}",))
        nodes += [(int(child), above | {column}) for child in (tree.then[node], tree.otherwise[node])]


def _broken_condition(counts: Counts, chosen: Counts, rule: GreedyRule) -> str:
    n, ones = sum(counts), sum(chosen)
    if min(counts) <= 0:
        return f"its {n} rows have one class only"
    if min(ones, n - ones) < max(1, rule.min_samples_leaf):
        return f"children of {n - ones} and {ones} rows, min_samples_leaf is {rule.min_samples_leaf}"
    if rule.min_impurity_decrease > 0:
        small = _improve_too_little(counts, np.array([[chosen[0]]]), np.array([[chosen[1]]]), rule)
        if small[0, 0]:
            return f"its split improves less than min_impurity_decrease, {rule.min_impurity_decrease:g}"
    return ""


def _proxies(criterion: str, counts: Counts, a: Ints, b: Ints) -> Floats:
    """Return scikit-learn's sums, for entropy with NumPy's logarithm (some units in the last place away)."""
    right, left = (a.astype(float), b.astype(float)), ((counts[0] - a).astype(float), (counts[1] - b).astype(float))
    of = _gini if criterion == "gini" else _entropy
    weight = right[0] + right[1], left[0] + left[1]
    return np.asarray(-weight[0] * of(*right, weight[0]) - weight[1] * of(*left, weight[1]))


def _gini(first: Floats, second: Floats, n: Floats) -> Floats:
    return np.asarray(1.0 - (first * first + second * second) / (n * n))


def _entropy(first: Floats, second: Floats, n: Floats) -> Floats:
    out = np.zeros(np.broadcast(first, second).shape)
    for count in (first, second):
        p = np.where(count > 0, count, n) / n  # no rows: log 1
        out -= p * (np.log(p) / math.log(2.0))
    return out


def _improve_too_little(counts: Counts, a: Ints, b: Ints, rule: GreedyRule) -> Mask:
    """Return where `improvement + EPSILON < min_impurity_decrease`."""
    n = float(sum(counts))
    of = _gini if rule.criterion == "gini" else _entropy
    right, left = (a.astype(float), b.astype(float)), ((counts[0] - a).astype(float), (counts[1] - b).astype(float))
    nr, nl = right[0] + right[1], left[0] + left[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        parent = of(np.array(float(counts[0])), np.array(float(counts[1])), np.array(n))
        better = (n / rule.rows) * (parent - (nr / n * of(*right, nr)) - (nl / n * of(*left, nl)))
    if rule.arithmetic == "exact":
        return np.asarray(better < rule.min_impurity_decrease + MARGIN)
    small = better + EPSILON < rule.min_impurity_decrease
    if rule.criterion == "entropy":
        near = np.abs(better + EPSILON - rule.min_impurity_decrease) <= MARGIN
        for i, j in np.argwhere(near & (nr > 0) & (nl > 0)):
            small[i, j] = _improvement(counts, (int(a[i, 0]), int(b[0, j])), rule.rows) + EPSILON < (
                rule.min_impurity_decrease
            )
    return np.asarray(small)


def _impurity(first: int, second: int) -> float:
    """Return the entropy of two counts with the C library's logarithm, in scikit-learn's order."""
    n, out = float(first + second), 0.0
    for count in (first, second):
        if count > 0:
            p = count / n
            out -= p * (math.log(p) / math.log(2.0))
    return out


def _improvement(counts: Counts, state: Counts, rows: int) -> float:
    n, nr = float(sum(counts)), float(sum(state))
    nl = n - nr
    right, left = _impurity(*state), _impurity(counts[0] - state[0], counts[1] - state[1])
    return (n / rows) * (_impurity(*counts) - (nr / n * right) - (nl / n * left))


def _in_floats(counts: Counts, chosen: Counts) -> Callable[[int, int], float]:
    """Return the sign of (gain of a state - gain of the chosen one) for entropy in float64, one state at a time."""

    def gain(a: int, b: int) -> float:
        nr, n = float(a + b), float(sum(counts))
        return -nr * _impurity(a, b) - (n - nr) * _impurity(counts[0] - a, counts[1] - b)

    target = gain(*chosen)
    return lambda a, b: gain(a, b) - target


def _exactly(counts: Counts, chosen: Counts, rule: GreedyRule) -> Callable[[int, int], int]:
    """Return the sign of (gain of a state - gain of the chosen one), exactly, one state at a time."""

    def gini(a: int, b: int) -> Fraction:
        left = counts[0] - a, counts[1] - b
        return Fraction(a * a + b * b, a + b) + Fraction(left[0] ** 2 + left[1] ** 2, sum(left))

    def powers(a: int, b: int) -> tuple[int, int]:  # sums of k log k, as integers: up to n log2 n bits
        left = counts[0] - a, counts[1] - b
        over = math.prod(k**k for k in (a, b, *left) if k)
        return over, (a + b) ** (a + b) * sum(left) ** sum(left)

    if rule.criterion == "gini":
        best = gini(*chosen)
        return lambda a, b: (gini(a, b) > best) - (gini(a, b) < best)
    over, under = powers(*chosen)

    def sign(a: int, b: int) -> int:
        if {(a, b), (counts[0] - a, counts[1] - b)} == {chosen, (counts[0] - chosen[0], counts[1] - chosen[1])}:
            return 0
        mine = powers(a, b)
        first, second = mine[0] * under, over * mine[1]
        return (first > second) - (first < second)

    return sign
