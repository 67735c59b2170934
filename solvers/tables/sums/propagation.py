"""Bounds of counts that follow from sums of them, applied until nothing changes, for all areas at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from solvers.foundation.errors import ReconError
from solvers.tables.sums.atoms import Ints, expanded, sums_of

MAX_ROUNDS = 10_000


class ClashError(ReconError):
    """Statements that no counts fit; `rows` are their numbers."""

    def __init__(self, rows: list[int]) -> None:
        self.rows = rows
        super().__init__("counts contradict each other")


@dataclass(frozen=True, eq=False)
class Rows:
    """Statements `sum of x over the columns of row r = value[r]`, row by row: `columns[starts[r]:starts[r + 1]]`."""

    starts: Ints
    columns: Ints
    value: Ints

    def __len__(self) -> int:
        return len(self.value)

    def chosen(self, rows: Ints) -> Rows:
        """Return some of the statements, in the order asked for."""
        at, owner = expanded(self.starts, rows)
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(rows)))]).astype(np.int64)
        return Rows(starts, self.columns[at], self.value[rows])

    def plus(self, more: Rows) -> Rows:
        """Return these statements, and more behind them."""
        starts = np.concatenate([self.starts, self.starts[-1] + more.starts[1:]])
        return Rows(starts, np.concatenate([self.columns, more.columns]), np.concatenate([self.value, more.value]))


def merged(rows: Rows, variables: int) -> tuple[Rows, Ints]:
    """Return every statement once, and the first of the given rows that says it; `ClashError` where two values differ.

    Rows are alike whose random sums of 64 bits and lengths are equal; a clash is looked at entry by entry.
    """
    weights = np.random.default_rng(1).integers(0, 2**63, size=max(1, variables), dtype=np.uint64)
    lengths = np.diff(rows.starts).astype(np.uint64)
    keys = np.stack([sums_of(weights[rows.columns], rows.starts), lengths], axis=1)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    differ = np.flatnonzero(rows.value != rows.value[first[group.ravel()]])
    kept = np.sort(first)
    for r in differ.tolist():
        twin = int(first[group.ravel()[r]])
        one, other = (np.sort(rows.columns[rows.starts[i] : rows.starts[i + 1]]) for i in (twin, r))
        if np.array_equal(one, other):
            raise ClashError([twin, r])
    if len(differ):  # different statements with one sum: keep them
        kept = np.union1d(kept, differ)
    return rows.chosen(kept), kept


def propagated(rows: Rows, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return the bounds that follow from the statements one by one, until none does; `ClashError` where none fit."""
    low, high = low.copy(), high.copy()
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    column, value, ids = rows.columns, rows.value.copy(), np.arange(len(rows))
    for _ in range(MAX_ROUNDS):
        is_open = (low < high)[column]
        np.subtract.at(value, owner[~is_open], low[column[~is_open]])
        used = np.zeros(len(value), bool)
        used[owner[is_open]] = True
        if len(bad := np.flatnonzero(~used & (value != 0))):
            _clash(ids[bad])
        column, owner = column[is_open], (np.cumsum(used) - 1)[owner[is_open]]
        value, ids = value[used], ids[used]
        if not len(column):
            break
        least, greatest = low[column], high[column]
        sums = [np.bincount(owner, x, len(value)).astype(np.int64) for x in (least, greatest)]
        if len(bad := np.flatnonzero((sums[0] > value) | (sums[1] < value))):
            _clash(ids[bad])
        new_low, new_high = low.copy(), high.copy()
        np.minimum.at(new_high, column, value[owner] - sums[0][owner] + least)
        np.maximum.at(new_low, column, value[owner] - sums[1][owner] + greatest)
        if len(bad := np.flatnonzero(new_low > new_high)):
            _clash(ids[np.unique(owner[np.isin(column, bad)])])
        if np.array_equal(new_low, low) and np.array_equal(new_high, high):
            break
        low, high = new_low, new_high
    return low, high


def _clash(rows: Ints) -> NoReturn:
    raise ClashError(rows.tolist())
