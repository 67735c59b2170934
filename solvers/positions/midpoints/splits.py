"""Splits whose thresholds a learner put halfway between two training values, and the steps of proofs about them.

Which rows lie, or may lie, on either side of every split, as the leaves left for them say.

Exact bounds among the numbers of single precision (float32), held as float64: sums are split without error.

A sum of two floats is a float and a remainder that is one as well (TwoSum), so that which float32 lies next to the
exact sum is decided without rounding. All arrays are float64 and hold float32 values unless said otherwise.

Source: Knuth, "The Art of Computer Programming", vol. 2, 4.2.2, theorem B; Shewchuk, "Adaptive precision
floating-point arithmetic and fast robust geometric predicates", Discrete & Computational Geometry 18, 1997.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.positions.assignments.domains import Domains
from solvers.statements.row_problem import RowProblem

LARGEST = float(np.finfo(np.float32).max)


def _previous_float(x: Floats) -> Floats:
    """Return the next smaller number of single precision; below the smallest: -infinity."""
    return -next_float(-x)


def next_float(x: Floats) -> Floats:
    """Return the next greater number of single precision; above the largest: infinity."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(x.astype(np.float32), np.float32(np.inf)).astype(np.float64)


def at_most(x: Floats) -> Floats:
    """Return the greatest number of single precision that is at most x (any float64); -infinity where there is none."""
    with np.errstate(over="ignore", under="ignore"):
        near = x.astype(np.float32).astype(np.float64)
    return np.where(near > x, _previous_float(near), np.where(np.isposinf(near), LARGEST, near))


def at_least(x: Floats) -> Floats:
    """Return the least number of single precision that is at least x (any float64); infinity where there is none."""
    return -at_most(-x)


def _difference(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return floats s and e with x - y = s + e exactly and s the float nearest to it; x and y any finite float64."""
    s = x - y
    back = s - x
    return s, (x - (s - back)) - (y + back)


def most_left(x: Floats, y: Floats) -> Floats:
    """Return the greatest number of single precision that is at most x - y exactly."""
    s, e = _difference(x, y)
    near = at_most(s)
    return np.where((near == s) & (e < 0), _previous_float(near), near)


def least_left(x: Floats, y: Floats) -> Floats:
    """Return the least number of single precision that is at least x - y exactly."""
    return -most_left(y, x)


def tiny_from(threshold: Floats) -> Floats:
    """Return from which size on both numbers of a midpoint make it exact: 2^-28 of the threshold's power of two.

    Halves of two float32 of at least this size are multiples of a number 2^53 times smaller than their sum can be.
    """
    return np.where(threshold == 0, 0.0, np.ldexp(1.0, np.frexp(threshold)[1] - 29))


def surely_exact(threshold: Floats) -> NDArray[np.bool_]:
    """Return which thresholds no rounding can have made: no float32 is so near to twice them that the other is tiny."""
    double = 2 * threshold
    with np.errstate(over="ignore", under="ignore"):
        near = double.astype(np.float32).astype(np.float64)
    sure: NDArray[np.bool_] = (threshold == 0) | (np.abs(double - near) > 4 * tiny_from(threshold))
    return sure


def raw_ends(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the least and greatest float64 that round to numbers of single precision from low to high.

    Ties go to the even one; no end where there is none.
    """
    return -_last_rounded(-low), _last_rounded(high)


def _last_rounded(x: Floats) -> Floats:
    """Return the greatest float64 that rounds to x or to less in single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.where(x == LARGEST, LARGEST + 2.0**103, x / 2 + next_float(x) / 2)
        held = middle.astype(np.float32).astype(np.float64) == x
    return np.where(np.isinf(x), x, np.where(held, middle, np.nextafter(middle, -np.inf)))


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeSplits:
    """Splits of trees of a problem on rows. Node s sends values of its column up to `threshold[s]` left, others right.

    A column is a feature as the trees saw it, in single precision: `attribute[c]` of the solver's domain stands behind
    it, `names[c]` is what it is called. Of node s: `tree` (of the problem), `column`, `threshold` (as stored, finite),
    `part`: parts of the attribute below it go left. `first_leaf[t] + region` numbers leaves of all trees; those of leaf
    j pass the nodes `node[start[j]:start[j + 1]]`, on the left where `left` says so. Of a column also `ends`
    (columns, 2), its values at the ends of the attribute in the declared domain (NaN: none), and `plain`: it is the
    attribute's value in single precision, with nothing in between.
    """

    attribute: Ints
    names: tuple[str, ...]
    tree: Ints
    column: Ints
    threshold: Floats
    part: Ints
    first_leaf: Ints
    start: Ints
    node: Ints
    left: Bits
    ends: Floats
    plain: Bits

    @cached_property
    def last_left(self) -> Floats:
        """Return the greatest number of single precision that each node sends left."""
        return at_most(self.threshold)

    def edges(self, problem: RowProblem) -> tuple[tuple[Floats, Floats], ...]:
        """Return per column the least and the greatest value that every part of its attribute can hold.

        Nodes that share a cut differ in thresholds only where no value of the domain lies between them.
        """
        out = []
        for c, k in enumerate(self.attribute.tolist()):
            parts = problem.parts[k]
            low, high = np.full(parts + 1, -LARGEST), np.full(parts + 1, LARGEST)
            own = self.column == c
            np.maximum.at(low, self.part[own], next_float(self.last_left[own]))
            np.minimum.at(high, self.part[own], self.last_left[own])
            out.append((np.maximum.accumulate(low)[:-1], np.minimum.accumulate(high[::-1])[::-1][1:]))
        return tuple(out)


@dataclass(frozen=True, eq=False)
class Applied:
    """Each of some nodes: the values around it narrowed by the rows beside it, and they by the values."""

    nodes: Ints


@dataclass(frozen=True, eq=False)
class Attained:
    """Only one row can have the least (or `greatest`) value of a column: it has it.

    Rows that the equations of `nodes` prove to be greater (smaller) than another, or equal to an earlier one, do not
    count.
    """

    column: int
    greatest: bool
    nodes: Ints


@dataclass(frozen=True, eq=False)
class Cycled:
    """Nodes whose equations x + y = 2·threshold lead from a row back to it in an odd number of steps: they settle it.

    In order: each node's pair has one row in common with the next one's, the first and the last have `row`.
    """

    row: int
    column: int
    nodes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Barred:
    """Members that cannot have the value next to their threshold, as chains of the equations of `nodes` say.

    `keys`: side * rows + row; side 2·s is the left of node s, 2·s + 1 its right.
    """

    nodes: Ints
    keys: Ints


@dataclass(frozen=True, eq=False)
class NarrowedRows:
    """Some rows: values dropped whose leaf has no room left for the row, and the row narrowed to the leaves left."""

    rows: Ints


Step = Applied | Attained | Cycled | Barred | NarrowedRows


@dataclass(frozen=True, eq=False)
class RowValuePairs:
    """The values left, one entry per row and value, by row, then value: `group` numbers pairs of a row and a tree."""

    row: Ints
    value: Ints
    group: Ints

    @classmethod
    def of(cls, problem: RowProblem, domains: Domains, trees: Ints) -> RowValuePairs:
        """Return the values that rows have left in some trees."""
        rows, values = [], []
        for t in trees.tolist():
            row, value = np.nonzero(domains.of_tree(t))
            rows.append(row)
            values.append(value + int(problem.first[t]))
        return cls.numbered(problem, np.concatenate(rows), np.concatenate(values))

    @classmethod
    def numbered(cls, problem: RowProblem, row: Ints, value: Ints) -> RowValuePairs:
        """Return pairs in any order as sorted ones."""
        order = np.lexsort((value, row))
        row, value = row[order].astype(np.int64), value[order].astype(np.int64)
        key = row * problem.trees + problem.tree[value]
        group = np.cumsum(np.diff(key, prepend=-1) != 0) - 1
        return cls(row, value, group.astype(np.int64))

    @property
    def heads(self) -> Ints:
        """Return the first pair of every group."""
        return np.flatnonzero(np.diff(self.group, prepend=-1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Members:
    """The rows on either side of every node: entries of side 2·s (left of node s) or 2·s + 1 (right), by side.

    Entries of side e are `start[e]` to `start[e + 1]`; `sure`: the row lies there in every case; `barred`: it does not
    have the value next to the threshold.
    """

    start: Ints
    row: Ints
    sure: Bits
    barred: Bits

    @classmethod
    def of(cls, problem: RowProblem, splits: TreeSplits, pairs: RowValuePairs, barred: Ints) -> Members:
        """Return the rows that lie, or may lie, on either side; `barred`: `keys` of those known to be.

        Cost: pairs times the depth of leaves, sorted once.
        """
        leaf = splits.first_leaf[problem.tree[pairs.value]] + problem.region[pairs.value]
        begin, width = splits.start[leaf], splits.start[leaf + 1] - splits.start[leaf]
        pair = np.repeat(np.arange(len(leaf)), width)
        at = np.arange(len(pair)) - np.repeat(np.cumsum(width) - width, width) + np.repeat(begin, width)
        side = 2 * splits.node[at] + ~splits.left[at]
        key, count = np.unique(side * problem.rows + pairs.row[pair], return_counts=True)
        side, row = key // problem.rows, key % problem.rows
        start = np.searchsorted(side, np.arange(2 * len(splits.threshold) + 1)).astype(np.int64)
        total = np.zeros((problem.rows, problem.trees), dtype=np.int64)
        np.add.at(total, (pairs.row, problem.tree[pairs.value]), 1)
        sure = count == total[row, splits.tree[side // 2]]
        return cls(start, row.astype(np.int64), sure, np.isin(key, barred))

    def keys(self, rows: int) -> Ints:
        """Return the number of every entry among all sides and so many rows, ascending."""
        found: Ints = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start)) * rows + self.row
        return found


def ranged(start: Ints, chosen: Ints) -> tuple[Ints, Ints]:
    """Return the entries `start[c]` to `start[c + 1]` of every c chosen, and where those of each begin."""
    width = start[chosen + 1] - start[chosen]
    first = np.cumsum(width) - width
    return np.arange(int(width.sum())) - np.repeat(first - start[chosen], width), first
