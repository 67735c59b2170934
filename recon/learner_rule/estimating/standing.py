"""Whether a learner's choice stands: every candidate split of an attribute against the chosen one, for many worlds.

The comparison is scikit-learn's own, in double precision: sums over classes in their order, strict > from one candidate
to the next, columns in any order and the numbers of one column upwards. Source: scikit-learn 1.9.1,
sklearn/tree/_splitter.pyx (`node_split_best`), _criterion.pyx (Gini and Entropy: `children_impurity`,
`proxy_impurity_improvement`, `impurity_improvement`), _tree.pyx (`EPSILON`). Docs: docs/mathematics.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from recon.learner_rule.estimating.columns import SeenAttribute
from recon.learner_rule.estimating.grown import FittedTree

EPSILON = float(np.finfo(float).eps)
NEAR = 2.0**-45  # relative to the rows: logarithms of two libraries differ by less
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def stands(grown: FittedTree, attribute: int, node: int, table: Ints) -> Bools:
    """Return (draws,) whether an attribute leaves what was chosen at a node standing.

    `table` (draws, values, classes): rows of the node by the attribute's value and class. At a split: no candidate of
    the attribute is better than the chosen one, none of the chosen column before it as good, and its threshold lies
    halfway where it is known. At an open leaf: no candidate is admissible, or improves by `min_impurity_decrease`.
    """
    seen, counts = grown.seen[attribute], grown.counts[node]
    left = seen.left(table)
    rows = left.sum(axis=2)
    admissible = (rows >= grown.least) & (counts.sum() - rows >= grown.least)
    criterion = "gini" if grown.learner.criterion == "gini" else "entropy"
    if grown.left[node] < 0:
        if not grown.open_leaf[node]:
            return np.ones(len(table), dtype=bool)
        if grown.learner.min_impurity_decrease <= 0:
            return np.asarray(~admissible.any(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            better = improvements(criterion, left, counts, float(grown.counts[0].sum()))
        small = better + EPSILON < grown.learner.min_impurity_decrease
        return np.asarray((small | ~admissible).all(axis=1))
    target_left = grown.counts[grown.left[node]]
    signs = compared(criterion, left, target_left, counts, admissible)
    out = ~(admissible & (signs > 0)).any(axis=1)
    if grown.attribute[node] == attribute:
        column = int(grown.column[node])
        earlier = admissible & (seen.owner == column) & (rows < target_left.sum()) & (signs >= 0)
        out &= ~earlier.any(axis=1)
        out &= halfway(seen, column, table, int(target_left.sum()), float(grown.threshold[node]))
    return np.asarray(out)


def compared(criterion: str, left: Ints, chosen: Ints, counts: Ints, admissible: Bools) -> NDArray[np.int8]:
    """Return (draws, candidates) the sign of each gain minus the chosen one, in the learner's arithmetic."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gains = proxies(criterion, left, counts)
        target = proxies(criterion, chosen[None, None], counts)[0, 0]
        apart = np.where(admissible, gains - target, -1.0)
    signs = np.sign(apart).astype(np.int8)
    if criterion == "entropy":  # the learner takes the logarithm of the C library, not NumPy's
        near = admissible & (np.abs(apart) <= NEAR * counts.sum())
        states, back = np.unique(left[near], axis=0, return_inverse=True)
        exact = plain_proxy(chosen, counts)
        found = np.array([np.sign(plain_proxy(s, counts) - exact) for s in states], dtype=np.int8)
        signs[near] = found[np.asarray(back).reshape(-1)] if len(states) else 0
    return signs


def proxies(criterion: str, left: Ints, counts: Ints) -> Floats:
    """Return the sums that the learner compares, for (..., classes) rows that go left."""
    ours, theirs = left.astype(float), (counts - left).astype(float)
    n_left, n_right = ours.sum(axis=-1), theirs.sum(axis=-1)
    return np.asarray(-n_right * impurity(criterion, theirs, n_right) - n_left * impurity(criterion, ours, n_left))


def impurity(criterion: str, rows: Floats, total: Floats) -> Floats:
    """Return the impurity of (..., classes) rows."""
    if criterion == "gini":
        return np.asarray(1.0 - (rows * rows).sum(axis=-1) / (total * total))
    out = np.zeros(np.shape(total))
    for k in range(rows.shape[-1]):
        share = np.where(rows[..., k] > 0, rows[..., k], total) / total
        out -= share * (np.log(share) / math.log(2.0))
    return out


def plain_proxy(left: Ints, counts: Ints) -> float:
    """Return the sum of one candidate with the C library's logarithm."""
    sides = []
    for rows in (counts - left, left):
        n, out = float(rows.sum()), 0.0
        for count in rows.tolist():
            if count > 0:
                share = count / n
                out -= share * (math.log(share) / math.log(2.0))
        sides.append((n, out))
    (n_right, right), (n_left, ours) = sides
    return -n_right * right - n_left * ours


def improvements(criterion: str, left: Ints, counts: Ints, rows: float) -> Floats:
    """Return the weighted decrease of impurity of (..., classes) candidates."""
    ours, theirs = left.astype(float), (counts - left).astype(float)
    n_left, n_right, n = ours.sum(axis=-1), theirs.sum(axis=-1), float(counts.sum())
    parent = impurity(criterion, counts.astype(float), np.array(n))
    after = parent - (n_right / n * impurity(criterion, theirs, n_right))
    return np.asarray((n / rows) * (after - (n_left / n * impurity(criterion, ours, n_left))))


def halfway(seen: SeenAttribute, column: int, table: Ints, left: int, threshold: float) -> Bools:
    """Return (draws,) whether a threshold lies halfway between the last number on the left and the next one.

    `left` rows of the node go left. True where the column has two numbers, or the threshold is not known.
    """
    numbers = seen.distinct[column]
    if len(numbers) == 2 or math.isnan(threshold):
        return np.ones(len(table), dtype=bool)
    order = np.argsort(seen.numbers[column], kind="stable")
    rows = table.sum(axis=2)[:, order]
    held, reached = rows > 0, rows.cumsum(axis=1)
    own = seen.numbers[column][order]
    low = np.where(held & (reached <= left), own, -np.inf).max(axis=1)
    high = np.where(held & (reached > left), own, np.inf).min(axis=1)
    middle = low / 2.0 + high / 2.0
    middle = np.where((middle == high) | ~np.isfinite(middle), low, middle)
    return np.asarray(middle == threshold)
