"""The inner loop of the search for likely worlds: rows moved, statements broken only on the way. Whole numbers only.

Compiled like `solvers.programs.local_search.loops`, by the same rules.

Source: Metropolis et al., "Equation of state calculations by fast computing machines", J. Chem. Phys. 21, 1953.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from solvers.programs.local_search.loops import LoopState, draw, drawn_below, label_of, move, stray
from solvers.programs.local_search.problem import SearchTables

LACKING = 4 << 20  # what a row that a statement lacks, or has too many, costs on the way: 4 nats
MOST = 8  # rows by which no move makes it worse
SHIFT = 20  # of the generator's 32 bits, 12 choose one of the bars


class LeafWorths(NamedTuple):
    """What rows in leaves are worth: `value` has what each figure is worth, in units of 2^-20 nats.

    cell, stride (regions x labels,): where the figure stands that a row counts in (-1: none), and how far it goes on.
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


def shifted(d: LeafWorths, c: Climb, slot: int, more: int) -> Any:
    """Count a row more or less in what counts it; return by how much the worth grows."""
    cell = d.cell[slot]
    if cell < 0:
        return 0
    old = c.at[cell]
    new = old + more * d.stride[slot]
    c.at[cell] = new
    return d.value[new] - d.value[old]


def sway(p: SearchTables, d: LeafWorths, s: LoopState, c: Climb, iterations: int) -> None:
    """Try so many moves at one temperature, and count what is worth more, less `LACKING` by row off."""
    counters, width, labels, n = p.sizes[0], p.sizes[1], p.sizes[2], p.sizes[5]
    for _ in range(iterations):
        row = drawn_below(s.dice, n)
        lacking = stray(p, s, row)
        if lacking > MOST:
            continue
        before, after = label_of(p, s.rows, row * width), label_of(p, s.trial, 0)
        grown = -lacking * LACKING
        for t in range(counters):
            left, joined = s.region[row * counters + t] * labels + before, s.found[t] * labels + after
            if left != joined:
                grown += shifted(d, c, left, -1)
                grown += shifted(d, c, joined, 1)
        if grown >= c.bar[draw(s.dice) >> SHIFT]:
            move(p, s, row, 0)
            c.worth[0] += grown + lacking * LACKING
            c.worth[1] += 1
            continue
        for t in range(counters):
            left, joined = s.region[row * counters + t] * labels + before, s.found[t] * labels + after
            if left != joined:
                shifted(d, c, left, 1)
                shifted(d, c, joined, -1)
