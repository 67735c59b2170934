"""Lines of linked tables, and boxes of cells whose corners can move together while every sum stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product

from solvers.cells.linear_system import SparseStatements
from solvers.foundation.array_types import Bits, Ints
from solvers.statements.boxes import Box
from solvers.suppression.linked_cells import LinkedCells

MOVES = 400  # boxes that are looked at for one cell
TableLine = tuple[int, Ints, Ints]  # attribute, cells of a relation, their signs


def relations_of(linear: SparseStatements) -> Iterator[Ints]:
    """Yield the cells of every relation."""
    for r in range(len(linear)):
        yield linear.col[linear.start[r] : linear.start[r + 1]]


class TableLines:
    """The relations of cells as lines of tables: which cells stand beside a cell along an attribute."""

    def __init__(self, cells: LinkedCells) -> None:
        self.cells, linear = cells, cells.relations
        self.named = [dict(box.literals) for box in cells.boxes]
        self.of: dict[int, list[TableLine]] = {}
        self.at: dict[int, list[tuple[int, int]]] = {}
        for r, members in enumerate(relations_of(linear)):
            signs = linear.coef[linear.start[r] : linear.start[r + 1]]
            first, second = (self.named[c] for c in members[:2].tolist())
            axis = next(k for k in {*first, *second} if first.get(k) != second.get(k))
            for c in members.tolist():
                self.of.setdefault(c, []).append((axis, members, signs))
            for c, sign in zip(members.tolist(), signs.tolist(), strict=True):
                self.at.setdefault(c, []).append((r, sign))

    def moves(self, p: int, loose: Bits, up: Ints, down: Ints) -> Iterator[tuple[dict[int, int], int, int]]:
        """Yield boxes of loose cells that move together: which way each goes as p goes up, how far up, how far down.

        `up`, `down`: how far each cell may go. Cost: at most 400 boxes are looked at.
        """
        boxes = ((lines, chosen) for _, lines in self.through(p) for chosen in product(*self._others(p, lines, loose)))
        for lines, chosen in islice(boxes, MOVES):
            own = [int(signs[members == p][0]) for _, members, signs in lines]
            ways = dict(self.corners(p, [line[0] for line in lines], chosen, own) or ())
            if len(ways) != 1 << len(lines) or not all(loose[c] for c in ways) or not self._balanced(ways):
                continue
            rise = min(int(up[c] if way > 0 else down[c]) for c, way in ways.items())
            fall = min(int(down[c] if way > 0 else up[c]) for c, way in ways.items())
            if rise or fall:
                yield ways, rise, fall

    def through(self, p: int) -> Iterator[tuple[int, tuple[TableLine, ...]]]:
        """Yield (table, lines) for each group of lines through a cell, one along each attribute of a table."""
        for number, table in enumerate(self.cells.tables):
            axes = [
                [line for line in self.of.get(p, ()) if line[0] == k and self._in_table(line, table)]
                for k in sorted(table)
            ]
            if table.issuperset(self.named[p]) and all(axes):
                for lines in product(*axes):
                    yield number, lines

    def _others(self, p: int, lines: Sequence[TableLine], loose: Bits) -> list[list[tuple[int, int]]]:
        """Return the loose cells of each line, and their signs, without the cell itself."""
        return [
            [(c, s) for c, s in zip(members.tolist(), signs.tolist(), strict=True) if c != p and loose[c]]
            for _, members, signs in lines
        ]

    def _balanced(self, ways: Mapping[int, int]) -> bool:
        """Return whether cells that each go one way leave every relation as it is."""
        sums: dict[int, int] = {}
        for c, way in ways.items():
            for r, sign in self.at.get(c, ()):
                sums[r] = sums.get(r, 0) + sign * way
        return not any(sums.values())

    def _in_table(self, line: TableLine, table: frozenset[int]) -> bool:
        """Return whether the cells of a line name no attribute beside those of a table."""
        return table.issuperset(self.named[int(line[1][-1])]) and table.issuperset(self.named[int(line[1][0])])

    def corners(
        self, p: int, axes: Sequence[int], chosen: Sequence[tuple[int, int]], own: Sequence[int]
    ) -> list[tuple[int, int]] | None:
        """Return the corners of the box between a cell and others along some attributes, and which way each moves."""
        out = []
        for take in product((False, True), repeat=len(axes)):
            named, way = dict(self.named[p]), 1
            for k, (c, sign), mine, other in zip(axes, chosen, own, take, strict=True):
                if other:
                    named.pop(k, None)
                    if k in self.named[c]:
                        named[k] = self.named[c][k]
                    way *= -mine * sign
            at = self.cells.place.get(Box(tuple(sorted(named.items()))))
            if at is None:
                return None
            out.append((at, way))
        return out
