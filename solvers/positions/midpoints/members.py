"""Which rows lie, or may lie, on either side of every split, as the leaves left for them say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.positions.assignments.domains import Domains
from solvers.positions.midpoints.splits import TreeSplits
from solvers.statements.row_problem import RowProblem


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
