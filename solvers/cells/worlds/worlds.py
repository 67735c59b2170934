"""From histograms to worlds: inside its cell every row is chosen freely, so worlds are listed, drawn and spread.

Source: Ferry et al., SaTML 2024, eq. 9 (rows are independent given their cells); docs/mathematics.md, "Possible worlds
and their conventions".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem
from solvers.cells.worlds.row_lists import (
    RandomSource,
    RowList,
    Runs,
    draw_boxes,
    index_type,
    multisets,
    random_multiset,
)
from solvers.foundation.array_types import Ints
from solvers.questions.query import Convention
from solvers.statements.boxes import Box, RowSpace
from solvers.statements.release import RowWorld


@dataclass(frozen=True, eq=False)
class CellRows:
    """The raw rows of one cell: how many, the disjoint boxes they make up, and how to draw k of them uniformly."""

    domain: RowSpace
    size: int
    boxes: Callable[[], Iterator[Box]]
    draw: Callable[[int, RandomSource], NDArray[Any]]

    def rows(self) -> RowList:
        """Return the rows by number."""
        return RowList(self.domain, self.boxes(), self.size)

    def distinct(self, k: int, random: RandomSource) -> NDArray[Any]:
        """Return k distinct rows, drawn uniformly."""
        if self.size <= 4 * k:
            rows = self.rows()
            taken = range(self.size) if self.size <= k else sorted(random.exact.sample(range(self.size), k))
            return np.array([rows[i] for i in taken], dtype=index_type(self.domain))
        found: dict[tuple[object, ...], None] = {}
        while len(found) < k:
            for row in self.draw(k - len(found), random).tolist():
                found.setdefault(tuple(row))
        return np.array(list(found), dtype=index_type(self.domain))


def filled_cells(system: CellSystem, z: Ints) -> list[tuple[CellRows, int]]:
    """Return the cells of a histogram that hold rows, with how many."""
    domain = system.release.domain

    def rows(c: int) -> CellRows:
        boxes = [system.boxes[i] for i in system.pieces[c]]
        sizes = [system.piece_sizes[i] for i in system.pieces[c]]
        draw = partial(draw_boxes, domain, boxes, sizes)
        return CellRows(domain, system.sizes[c], partial(iter, boxes), draw)

    return [(rows(c), int(z[c])) for c in np.flatnonzero(z).tolist()]


Filled = Sequence[tuple[CellRows, int]]  # cells that hold rows, and how many


def list_worlds(domain: RowSpace, filled: Filled) -> Iterator[RowWorld]:
    """Yield every world of a histogram once up to row order, lazily: an odometer over the cells' multisets."""
    lists = [cell.rows() for cell, _ in filled]
    wheels = [multisets(cell.size, c) for cell, c in filled]
    shown = [next(wheel) for wheel in wheels]
    while True:
        yield assemble(domain, lists, shown)
        i = len(wheels) - 1
        while i >= 0 and (turned := next(wheels[i], None)) is None:
            wheels[i] = multisets(lists[i].size, filled[i][1])
            shown[i] = next(wheels[i])
            i -= 1
        if i < 0:
            break
        shown[i] = turned if turned is not None else shown[i]


def assemble(domain: RowSpace, lists: list[RowList], shown: list[Runs]) -> RowWorld:
    """Return the world of the given runs."""
    rows = [rows[i] for rows, runs in zip(lists, shown, strict=True) for i, _ in runs]
    values: NDArray[Any] = np.empty((len(rows), len(domain.attributes)), dtype=index_type(domain))
    for i, row in enumerate(rows):
        values[i] = row
    return RowWorld(values, np.array([t for runs in shown for _, t in runs], dtype=np.int64))


def draw_world(domain: RowSpace, filled: Filled, convention: Convention, random: RandomSource) -> RowWorld:
    """Return a world of a histogram, uniform in the convention's sense.

    `assigned` and `ordered`: rows independent and uniform inside their cells. `multiset`: a Pólya urn per cell.
    """
    pieces = []
    for cell, c in filled:
        if convention == "multiset":
            fresh, chosen = random_multiset(cell.size, c, random)
            pieces.append(cell.draw(fresh, random)[chosen])
        else:
            pieces.append(cell.draw(c, random))
    values = joined(domain, pieces)
    return RowWorld(values, np.ones(len(values), dtype=np.int64))


def spread_world(domain: RowSpace, filled: Filled, random: RandomSource) -> RowWorld:
    """Return a world of a histogram whose rows are spread as evenly as they can be: the heaviest one.

    A cell with at least as many rows as raw rows gets each of them equally often (up to one); a larger cell gets
    distinct rows, drawn with the dice.
    """
    pieces, times = [], []
    for cell, c in filled:
        piece = cell.distinct(c, random)
        base, extra = divmod(c, len(piece))
        pieces.append(piece)
        times.append(np.array([base + (i < extra) for i in range(len(piece))], dtype=np.int64))
    return RowWorld(joined(domain, pieces), np.concatenate(times) if times else np.zeros(0, dtype=np.int64))


def joined(domain: RowSpace, pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Return drawn rows as one array."""
    return np.concatenate(pieces) if pieces else np.empty((0, len(domain.attributes)), dtype=index_type(domain))
