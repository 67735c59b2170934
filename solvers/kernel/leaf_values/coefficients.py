"""What a row of every cell and label adds to a figure of a boosted model: exact enclosures, ends rounded outwards.

Source: `solvers.statements.gradients.boosted` (what figures say); docs/certificates.md, "Leaf values".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import CertificateError
from solvers.kernel.leaf_values.cutting import LeafCells
from solvers.statements.gradients.boosted import Boosted, BoostedTree
from solvers.statements.gradients.enclosed import BITS, Contribution, above, add_step, below, contribution, ratio

Whole = NDArray[Any]  # Python integers
Key = tuple[tuple[float, ...], int, bool]  # scores, the score that is added to, whether it is the first round


@dataclass(frozen=True, eq=False)
class SourceWeights:
    """What a source weighs: `low` to `high` (units of 2^-BITS) per column, which are all different; others 0."""

    columns: Ints
    low: Whole
    high: Whole


@dataclass(frozen=True, eq=False)
class TreeRows:
    """Contributions in one tree: `number` (cells,) says which of the distinct ones each cell has."""

    number: Ints
    gradient: tuple[tuple[Whole, Whole], ...]
    square: tuple[tuple[Whole, Whole], ...]
    hessian: tuple[Whole, Whole]


class FigureCoefficients:
    """The coefficients of a model's figures over cells; contributions are worked out once per distinct score."""

    def __init__(self, boosted: Boosted, labels: int) -> None:
        self.boosted, self.labels = boosted, labels
        self.first = np.concatenate([[0], np.cumsum([len(tree) for tree in boosted.trees])]).astype(np.int64)
        self._known: dict[Key, Contribution] = {}
        self._trees: dict[int, TreeRows] = {}
        self._scores: list[Floats] = []
        self._inside: dict[int, NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        return int(self.first[-1])

    def over(self, cells: LeafCells) -> None:
        """Be about other cells from now on."""
        self.cells = cells
        self.leaves = cells.regions[:, cells.regions.shape[1] - cells.trees :]
        self._trees, self._scores = {}, _scores_before(self.boosted, self.leaves)

    def place(self, i: int) -> tuple[int, int]:
        """Return the tree of figure i, and its number there; refuses figures of trees that did not cut yet."""
        t = int(np.searchsorted(self.first, i, side="right")) - 1
        if t >= self.cells.trees:
            raise CertificateError(f"figure {i} is of a tree that has not cut the cells yet")
        return t, i - int(self.first[t])

    def row(self, i: int) -> SourceWeights:
        """Return the coefficients of figure i over the columns of the present cells."""
        t, at = self.place(i)
        tree, rows = self.boosted.trees[t], self.tree(t)
        inside = np.zeros(len(tree.step), dtype=bool)
        inside[tree.members(at)] = True
        here = np.flatnonzero(inside[self.leaves[:, t]])
        distinct, back = np.unique(rows.number[here], return_inverse=True)
        columns, low, high = [], [], []
        for k, label in enumerate(self.boosted.labels):
            ends = [np.zeros(len(distinct), dtype=object), np.zeros(len(distinct), dtype=object)]
            for factor, (least, most) in (
                (tree.gradient[at], rows.gradient[k]),
                (tree.hessian[at], rows.hessian),
                (tree.square[at], rows.square[k]),
            ):
                _weighed(ends, float(factor), least[distinct], most[distinct])
            columns.append(here * self.labels + label)
            low.append(ends[0][back])
            high.append(ends[1][back])
        if not columns:
            raise CertificateError("the figures of a model without classes say nothing about rows")
        return SourceWeights(np.concatenate(columns), np.concatenate(low), np.concatenate(high))

    def ends(self, i: int, bits: int) -> tuple[int, int]:
        """Return between which whole numbers of 2^-bits figure i lies, rounded outwards; refuses what is no number."""
        t, at = self.place(i)
        low, high = float(self.boosted.trees[t].low[at]), float(self.boosted.trees[t].high[at])
        if not (math.isfinite(low) and math.isfinite(high)):
            raise CertificateError(f"figure {i} has an end that is not a number")
        return below(*ratio(low), bits), above(*ratio(high), bits)

    def tree(self, t: int) -> TreeRows:
        """Return what rows of every cell contribute in a tree."""
        if t not in self._trees:
            self._trees[t] = self.contributions(self.boosted.trees[t], self._scores[t])
        return self._trees[t]

    def contributions(self, tree: BoostedTree, scores: Floats) -> TreeRows:
        """Return the contributions in a tree for the scores (cells, scores) before it."""
        distinct, number = np.unique(scores, axis=0, return_inverse=True)
        of, first, classes = tree.of, tree.round == 0, len(self.boosted.labels)
        found = list[Contribution]()
        for row in distinct.tolist():
            key = tuple(row), of, first
            if key not in self._known:
                try:
                    self._known[key] = contribution(self.boosted.gradients, key[0], of, classes, first)
                except (ValueError, OverflowError) as error:
                    raise CertificateError(f"gradients cannot be worked out: {error}") from None
            found.append(self._known[key])
        hessian = column([c.hessian[0] for c in found]), column([c.hessian[1] for c in found])
        gradient = tuple(
            (column([c.gradient[k][0] for c in found]), column([c.gradient[k][1] for c in found]))
            for k in range(classes)
        )
        return TreeRows(number.reshape(-1), gradient, tuple(_squared(*ends) for ends in gradient), hessian)


def _scores_before(boosted: Boosted, leaves: NDArray[np.int32]) -> list[Floats]:
    """Return per tree that cut the cells the scores (cells, scores) that its round starts from."""
    cells, known = leaves.shape
    precision = boosted.gradients.scores
    sums = np.tile(np.array(boosted.base, dtype=np.float64), (cells, 1))
    before = np.tile(np.array(boosted.start, dtype=np.float64), (cells, 1))
    out, last = [], 0
    for t, tree in enumerate(boosted.trees[:known]):
        if tree.round != last:
            before, last = sums.copy(), tree.round
        out.append(before)
        if precision == "float64":
            with np.errstate(over="ignore", invalid="ignore"):
                sums[:, tree.of] += tree.step[leaves[:, t]]
            continue
        pairs = np.stack([sums[:, tree.of], tree.step[leaves[:, t]]], axis=1)
        distinct, back = np.unique(pairs, axis=0, return_inverse=True)
        try:
            new = np.array([add_step(a, b, precision) for a, b in distinct.tolist()], dtype=np.float64)
        except (ValueError, OverflowError):
            raise CertificateError("the scores are not numbers") from None
        sums[:, tree.of] = new[back.reshape(-1)]
    return out


def _weighed(ends: list[Whole], factor: float, low: Whole, high: Whole) -> None:
    """Add a factor times an interval to the two ends, rounded outwards."""
    if not math.isfinite(factor):
        raise CertificateError("a figure weighs gradients by what is not a number")
    n, e = ratio(factor)
    if n == 0:
        return
    least, most = (low, high) if n > 0 else (high, low)
    ends[0] += least * n >> e
    ends[1] += -(-most * n >> e)


def _squared(low: Whole, high: Whole) -> tuple[Whole, Whole]:
    """Return the squares of intervals in units of 2^-BITS."""
    a, b = low * low, high * high
    least = np.where((low <= 0) & (high >= 0), 0, np.minimum(a, b))
    return least >> BITS, -(-np.maximum(a, b) >> BITS)


def column(numbers: list[int]) -> Whole:
    """Return Python integers as an array of objects."""
    out = np.empty(len(numbers), dtype=object)
    out[:] = numbers
    return out
