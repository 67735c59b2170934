"""The inner loop of the search for likely worlds: rows moved as long as every statement holds. Whole numbers only.

Compiled like `solvers.local_search.loops`, by the same rules.

Source: Metropolis et al., "Equation of state calculations by fast computing machines", J. Chem. Phys. 21, 1953.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from solvers.local_search.loops import State, draw, drawn_below, label_of, move, stray
from solvers.local_search.problem import Tables

SHIFT = 20  # of the generator's 32 bits, 12 choose one of the bars


class Drawn(NamedTuple):
    """What rows in leaves are worth. cell, stride (regions x labels,): the figure that a row counts in (-1: none),
    and how far it moves that one on; value: what each figure is worth, in units of 2^-20 nats.
    """

    cell: Any
    stride: Any
    value: Any


class Climb(NamedTuple):
    """Where the climb stands: at (cells,): where the figure of each cell stands in `value`; worth: of all, moves taken.

    bar (4096,): by how much the worth must grow at least, one drawn per move.
    """

    at: Any
    worth: Any
    bar: Any


def shifted(d: Drawn, c: Climb, slot: int, more: int) -> Any:
    """Count a row more or less in what counts it; return by how much the worth grows."""
    cell = d.cell[slot]
    if cell < 0:
        return 0
    old = c.at[cell]
    new = old + more * d.stride[slot]
    c.at[cell] = new
    return d.value[new] - d.value[old]


def sway(p: Tables, d: Drawn, s: State, c: Climb, iterations: int) -> None:
    """Try so many moves at one temperature, from a state of cost 0 through states of cost 0."""
    counters, width, labels, n = p.sizes[0], p.sizes[1], p.sizes[2], p.sizes[5]
    for _ in range(iterations):
        row = drawn_below(s.dice, n)
        if stray(p, s, row) != 0:
            continue
        before, after = label_of(p, s.rows, row * width), label_of(p, s.trial, 0)
        grown = 0
        for t in range(counters):
            left, joined = s.region[row * counters + t] * labels + before, s.found[t] * labels + after
            if left != joined:
                grown += shifted(d, c, left, -1)
                grown += shifted(d, c, joined, 1)
        if grown >= c.bar[draw(s.dice) >> SHIFT]:
            move(p, s, row, 0)
            c.worth[0] += grown
            c.worth[1] += 1
            continue
        for t in range(counters):
            left, joined = s.region[row * counters + t] * labels + before, s.found[t] * labels + after
            if left != joined:
                shifted(d, c, left, 1)
                shifted(d, c, joined, -1)
