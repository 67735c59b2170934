"""Splits whose thresholds a learner put halfway between two training values, and the steps of proofs about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.positions.midpoints.singles import LARGEST, after, at_most
from solvers.statements.row_problem import RowProblem

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
            np.maximum.at(low, self.part[own], after(self.last_left[own]))
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
