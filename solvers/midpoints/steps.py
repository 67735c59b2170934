"""What is done to find values between midpoints, in order, so that a checker can do it again."""

from __future__ import annotations

from dataclasses import dataclass

from solvers.foundation.array_types import Ints


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
class Boxed:
    """Some rows: values dropped whose leaf has no room left for the row, and the row narrowed to the leaves left."""

    rows: Ints


Step = Applied | Attained | Cycled | Barred | Boxed
