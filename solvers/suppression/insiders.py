"""What follows for whoever knows one hidden cell: of each sensitive cell a move that leaves the known one as it is.

A move is a solution less the true one. A sensitive cell that some move changes does not follow for whoever knows a cell
that the move leaves alone; so few moves of few cells settle a cell for nearly everybody. Boxes of a table are tried
first, then the linear program of the shortest move; what neither settles is audited, the known cell as a shown one.

Source: Daalmans and de Waal, "An improved formulation of the disclosure auditing problem for secondary cell
suppression", Transactions on Data Privacy 3, 2010 (singletons).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.programs.linear_program import LinearProgram, by_column
from solvers.suppression.intervals import cell_intervals, components_of
from solvers.suppression.linked_cells import LinkedCells
from solvers.suppression.table_lines import TableLines


def followed(
    cells: LinkedCells, values: Ints, sensitive: Bits, insiders: Bits, lines: TableLines, limits: Limits,
    audited: bool = True,
) -> Iterator[tuple[int, Ints]]:  # fmt: skip
    """Yield (insider, sensitive cells that follow) of every hidden cell whose value somebody alone knows.

    `cells`: shown ones have equal ends, `values`: the true ones. Without `audited` cells may be among them that no move
    was found for, and that do not follow. What follows anyway follows for everybody. Two cells of one respondent each,
    one inside of the other, are of the same: that one follows from the other tells nobody anything.

    Cost: a few boxes for each sensitive cell, linear programs of the hidden cells for what these leave.
    """
    loose = cells.low < cells.high
    known = np.flatnonzero(loose & insiders)
    if not len(known):
        return
    anyway = _without_second_value(cells, values, sensitive, limits)
    unsettled = _unsettled(cells, values, sensitive & ~anyway, insiders, lines, limits)
    for insider in known.tolist():
        asked = np.zeros(len(cells), dtype=bool)
        asked[unsettled.get(insider, [])] = True
        lost = anyway.copy()
        if not audited:
            lost |= asked
        elif asked.any():
            low, high = cells.low.copy(), cells.high.copy()
            low[insider] = high[insider] = values[insider]
            lost |= _without_second_value(replace(cells, low=low, high=high), values, asked, limits)
        lost[insider] = False
        if lost.any():
            yield insider, np.flatnonzero(lost).astype(np.int64)


def _without_second_value(cells: LinkedCells, values: Ints, asked: Bits, limits: Limits) -> Bits:
    """Return which of the cells that are asked about are not proved to have two values."""
    two = np.ones_like(values), cells.low, cells.high
    least, most = cell_intervals(cells, np.flatnonzero(asked), limits, values, enough=two).met
    return asked & (least >= most)


def _unsettled(
    cells: LinkedCells, values: Ints, asked: Bits, insiders: Bits, lines: TableLines, limits: Limits
) -> dict[int, list[int]]:
    """Return for each insider the sensitive cells that no move shows to be free beside the known one."""
    group, loose = components_of(cells, limits), cells.low < cells.high
    near: dict[int, set[int]] = {}
    for insider in np.flatnonzero(loose & insiders).tolist():
        near.setdefault(int(group[insider]), set()).add(insider)
    left = {p: near.get(int(group[p]), set()) - {p} for p in np.flatnonzero(asked).tolist()}
    up, down = cells.high - values, values - cells.low
    for p, some in left.items():
        for ways, _, _ in lines.moves(p, loose, up, down) if some else ():
            some.intersection_update(ways)
            if not some:
                break
    moves, out = _ShortestMoves(cells, values), dict[int, list[int]]()
    for p, some in left.items():
        while some and not limits.late():
            insider = min(some)
            if insiders[p] and _nested(cells, p, insider):
                some.discard(insider)
                continue
            move = moves.move(p, insider, limits)
            for q in move:
                left.get(q, set()).intersection_update(move)
            if not move:
                some.discard(insider)
                out.setdefault(insider, []).append(p)
        for insider in some:
            out.setdefault(insider, []).append(p)
    return out


def _nested(cells: LinkedCells, one: int, other: int) -> bool:
    """Return whether one of two cells lies in the other."""
    first, second = cells.boxes[one], cells.boxes[other]
    return first & second in (first, second)


class _ShortestMoves:
    """The linear program of the shortest move of one cell by at least 1, from basis to basis."""

    def __init__(self, cells: LinkedCells, values: Ints) -> None:
        self.cells, self.values = cells, values
        self.free = np.flatnonzero(cells.low < cells.high)
        self.place = {int(c): k for k, c in enumerate(self.free)}
        self.room = np.concatenate([(cells.high - values)[self.free], (values - cells.low)[self.free]]).astype(float)
        linear, n = cells.relations, len(self.free)
        column = np.full(len(values), -1, dtype=np.int64)
        column[self.free] = np.arange(n)
        at = column[linear.col] >= 0
        row, col, coef = linear.row[at], column[linear.col[at]], linear.coef[at]
        nothing = np.zeros(len(linear))
        self.program = LinearProgram(nothing, nothing)
        entries = by_column(
            np.concatenate([row, row]), np.concatenate([col, col + n]), np.concatenate([coef, -coef]), 2 * n
        )
        self.program.add(np.ones(2 * n), (np.zeros(2 * n), self.room), entries)

    def move(self, p: int, fixed: int, limits: Limits) -> dict[int, int]:
        """Return how far each cell goes in the shortest move of cell p without cell `fixed`, {} where none is whole."""
        n, at = len(self.free), self.place[fixed]
        for column in (at, at + n):
            self.program.close(column)
        found: dict[int, int] = {}
        for column in (self.place[p], self.place[p] + n):
            other = (column + n) % (2 * n)
            if found or self.room[column] < 1:
                continue
            self.program.between(column, 1.0, self.room[column])
            self.program.close(other)
            solution = self.program.run(limits)
            if solution.optimal:
                found = self._whole(solution.x)
            for one in (column, other):
                self.program.between(one, 0.0, self.room[one])
        for column in (at, at + n):
            self.program.between(column, 0.0, self.room[column])
        return found

    def _whole(self, x: np.ndarray) -> dict[int, int]:
        """Return the move of a solution, once it is checked in whole numbers; {} where it is none."""
        n = len(self.free)
        step = np.rint(x[:n]).astype(np.int64) - np.rint(x[n:]).astype(np.int64)
        z = self.values.copy()
        z[self.free] += step
        if (z < self.cells.low).any() or (z > self.cells.high).any() or len(self.cells.relations.broken(z)):
            return {}
        return {int(self.free[k]): int(step[k]) for k in np.flatnonzero(step)}
