"""Equations x + y = 2·threshold between two rows of a column: an odd cycle of them settles all its rows.

A chain of equations has one free number: every row of it is that number plus or minus a constant. A cycle of odd
length says both plus and minus of one row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints


@dataclass(frozen=True, eq=False)
class Equations:
    """Equation e: the values of the two `rows[e]` in a column add up to twice a threshold, as node `node[e]` says."""

    node: Ints
    column: Ints
    rows: Ints
    threshold: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OddCycle:
    """A closed walk of nodes from `row` back to it whose equations settle its value."""

    row: int
    column: int
    value: Fraction
    nodes: Ints


def settled_by_cycles(equations: Equations) -> Iterator[OddCycle]:
    """Yield for every connected set of rows with an odd cycle one closed walk that settles a row. Cost: linear."""
    beside: dict[tuple[int, int], list[tuple[int, int, float]]] = {}
    parts = equations.column.tolist(), equations.rows.tolist(), equations.node.tolist(), equations.threshold.tolist()
    for column, (a, b), node, threshold in zip(*parts, strict=True):
        beside.setdefault((column, a), []).append((b, node, threshold))
        beside.setdefault((column, b), []).append((a, node, threshold))
    seen: dict[tuple[int, int], tuple[int, Fraction, int, int]] = {}  # sign, constant, row before, node
    for root in beside:
        if root in seen:
            continue
        column = root[0]
        seen[root] = 1, Fraction(0), -1, -1
        queue, found = deque([root[1]]), False
        while queue:
            row = queue.popleft()
            sign, constant, _, _ = seen[column, row]
            for other, node, threshold in beside[column, row]:
                if (column, other) not in seen:
                    seen[column, other] = -sign, 2 * Fraction(threshold) - constant, row, node
                    queue.append(other)
                elif not found and seen[column, other][0] == sign:  # sign·r + c on both sides: r is known
                    found = True
                    yield closed(seen, column, root[1], row, other, node, threshold)


def closed(
    seen: dict[tuple[int, int], tuple[int, Fraction, int, int]],
    column: int,
    root: int,
    row: int,
    other: int,
    node: int,
    threshold: float,
) -> OddCycle:
    """Return the walk from the root to a row, over a node to another row, and back to the root."""

    def path(at: int) -> list[int]:
        nodes = []
        while at != root:
            _, _, before, over = seen[column, at]
            nodes.append(over)
            at = before
        return nodes

    sign = seen[column, row][0]
    value = (2 * Fraction(threshold) - seen[column, row][1] - seen[column, other][1]) / (2 * sign)
    walk = [*reversed(path(row)), node, *path(other)]
    return OddCycle(root, column, value, np.array(walk, dtype=np.int64))
