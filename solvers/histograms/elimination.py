"""In which order the cells of a component are settled, so that few statements are open at a time.

A statement is open from its first cell to its last; the states of `solvers.histograms.decision_diagram` multiply over
the open ones, so the greatest number of them at once (the width) decides whether histograms can be counted.
"""

from __future__ import annotations

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.foundation.numeric_limits import OPEN

WINDOW = 2_048  # candidates compared for one place; of wider statements those that open fewest others
EVERY = 256  # places between two looks at the clock
CLOSED = OPEN


def elimination_order(matrix: Ints, limits: Limits | None = None) -> list[int]:
    """Return the cells (columns of `matrix`, one row per statement) in an order of small width.

    Greedy: of the cells of the open statement with fewest cells left, the one that opens fewest new statements.
    Raises `Inconclusive` when time is up. Cost: the entries that are not 0, plus per cell the statements and at most
    `WINDOW` candidates.
    """
    greedy, order = Greedy(matrix), []
    for place in range(matrix.shape[1]):
        if limits is not None and place % EVERY == 0:
            if limits.expired():
                raise Inconclusive(f"the time was up while cells were put in order ({place:,} of {matrix.shape[1]:,})")
            limits.report(f"order of cells: {place:,} of {matrix.shape[1]:,}")
        order.append(greedy.take())
    return order


def width(matrix: Ints, order: list[int]) -> int:
    """Return the greatest number of statements open at once when the cells are settled in an order."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    used = matrix != 0
    first, last = np.where(used, place, len(order)).min(axis=1), np.where(used, place, -1).max(axis=1)
    change = np.zeros(len(order) + 1, dtype=np.int64)
    np.add.at(change, first[last >= 0], 1)
    np.add.at(change, last[last >= 0], -1)
    return int(np.cumsum(change).max())


class Greedy:
    """What is open, and what every cell would open; each entry of the matrix is looked at a fixed number of times."""

    def __init__(self, matrix: Ints) -> None:
        used = matrix != 0
        self.left: Ints = used.sum(axis=1)
        self.length: Ints = np.full(len(matrix), CLOSED)  # cells left of the open statements
        self.cells = [np.flatnonzero(row) for row in used]
        by_cell, row = np.nonzero(np.ascontiguousarray(used.T))
        self.rows = np.split(row, np.searchsorted(by_cell, np.arange(1, matrix.shape[1])))
        # Statements that a cell would open, less those that it would end; CLOSED and above: it is settled.
        self.price: Ints = used.sum(axis=0) - used[self.left == 1].sum(axis=0)
        self.opened = np.zeros(len(matrix), dtype=bool)
        self.every = EliminationWindow(np.arange(matrix.shape[1]))
        self.of: dict[int, EliminationWindow] = {}

    def take(self) -> int:
        """Return the next cell."""
        candidates = self.every
        if len(self.length) and self.length[r := int(self.length.argmin())] < CLOSED:
            candidates = self.of[r]
        c = candidates.best(self.price)
        self.price[c] = CLOSED
        rows = self.rows[c]
        for s in rows[~self.opened[rows]].tolist():
            self.price[self.cells[s]] -= 1
            self.of[s] = EliminationWindow(self.cells[s])
        self.opened[rows] = True
        self.left[rows] -= 1
        left = self.left[rows]
        self.length[rows] = np.where(left > 0, left, CLOSED)
        for s in rows[left == 1].tolist():
            last = self.cells[s]
            self.price[last[self.price[last] < CLOSED // 2]] -= 1
        for s in rows[left == 0].tolist():
            del self.of[s]
        return c


class EliminationWindow:
    """The cells of one statement that are not settled; of many only a window is compared, renewed when half is gone."""

    def __init__(self, cells: Ints) -> None:
        self.cells = self.window = cells
        self.taken = 0
        self.wide = len(cells) > WINDOW

    def best(self, price: Ints) -> int:
        """Return the cell of the lowest price, the first of equals."""
        if self.wide and self.taken % (WINDOW // 2) == 0:
            self.renew(price)
        found = self.window[int(price[self.window].argmin())]
        if price[found] >= CLOSED // 2:  # the others of the statement were settled as cells of others
            self.renew(price)
            found = self.window[int(price[self.window].argmin())]
        self.taken += 1
        return int(found)

    def renew(self, price: Ints) -> None:
        """Compare the cells that open fewest statements from here on."""
        self.cells = self.cells[price[self.cells] < CLOSED // 2]
        self.wide, self.window = len(self.cells) > WINDOW, self.cells
        if self.wide:
            self.window = np.sort(self.cells[np.argpartition(price[self.cells], WINDOW)[:WINDOW]])
