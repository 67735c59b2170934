"""What published counts can tell apart: every combination of parts of the attributes, grouped by the counts it is in.

A *tuple* is one part of each attribute; a *class* holds the tuples that exactly the same cells count. Incidences are
sparse matrices, so that no object stands for a single cell.

Which cells a top area is solved over: what lower areas cannot see is split off where nothing is lost.

Lower tables tell classes B apart, those of the top area classes V. Where all of a connected group of B and V meet, and
the top area's tables determine the count of every V of it, data sets over B whose sums over the group agree are
exactly those that extend: rows and columns of a two-way table with known margins.

Bounds of counts that follow from sums of them, applied until nothing changes, for all areas at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from solvers.foundation.errors import ReconError, TooLarge

MAX_TUPLES = 1 << 22
Ints = NDArray[np.int64]
Masks = Sequence[tuple[int, NDArray[np.bool_]]]  # of a box: attribute -> its allowed parts


def _incidence(shape: tuple[int, ...], regions: Sequence[Sequence[Masks]]) -> sp.csr_matrix:
    """Return (regions, tuples): 1 where a region, a union of boxes, holds a tuple; `TooLarge` above 4 million."""
    total = int(np.prod([float(s) for s in shape])) if shape else 1
    if total > MAX_TUPLES:
        raise TooLarge(f"the tables cut the attributes into {total:,} combinations, more than {MAX_TUPLES:,}")
    none = np.zeros(0, np.int64)
    columns = [
        _places(shape, r[0]) if len(r) == 1 else np.unique(np.concatenate([*(_places(shape, b) for b in r), none]))
        for r in regions
    ]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in columns])]).astype(np.int64)
    indices = np.concatenate([*columns, np.zeros(0, np.int64)])
    return sp.csr_matrix((np.ones(len(indices), np.int64), indices, starts), shape=(len(regions), total))


def _places(shape: tuple[int, ...], box: Masks) -> Ints:
    """Return the numbers of the tuples in a box, ascending."""
    allowed = dict(box)
    out = np.zeros(1, np.int64)
    for k, size in enumerate(shape):
        parts = np.flatnonzero(allowed[k]) if k in allowed else np.arange(size)
        out = (out[:, None] * size + parts).ravel()
    return out


@dataclass(frozen=True, eq=False)
class Cells:
    """Published cells over the tuples that can exist: `matrix` (cells, tuples), `tuples` their numbers in `shape`."""

    names: tuple[str, ...]
    shape: tuple[int, ...]
    tuples: Ints
    matrix: sp.csr_matrix

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        shape: tuple[int, ...],
        regions: Sequence[Sequence[Masks]],
        impossible: Sequence[Masks],
    ) -> Cells:
        """Return cells with these regions; the impossible boxes hold nobody. Cost: cells times tuples, vectorised."""
        whole = _incidence(shape, regions)
        out = np.zeros(whole.shape[1], bool)
        for box in impossible:
            out[_places(shape, box)] = True
        kept = np.flatnonzero(~out)
        return cls(tuple(names), shape, kept, whole[:, kept].tocsr())

    @cached_property
    def place(self) -> dict[str, int]:
        """Return the number of every cell by its name."""
        return {name: i for i, name in enumerate(self.names)}

    def classes(self, cells: Ints) -> Ints:
        """Return for every tuple the number of its class under some of the cells."""
        return _classes_of(self.matrix[cells])


def _classes_of(matrix: sp.csr_matrix) -> Ints:
    """Return a class per column: equal where the columns of a 0/1 matrix are equal, in the order of appearance.

    Columns are grouped by random sums of 64 bits and by length, and then compared entry by entry.
    """
    columns = matrix.tocsc()
    columns.sort_indices()
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 2**63, size=matrix.shape[0], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    lengths = np.diff(columns.indptr)
    sums = _sums_of(weights[columns.indices], columns.indptr)
    keys = np.stack([sums, lengths.astype(np.uint64)], axis=1)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.ravel()
    starts = columns.indptr[:-1]
    offset = np.arange(len(columns.indices)) - np.repeat(starts, lengths)
    like = np.repeat(starts[first[group]], lengths) + offset
    if not np.array_equal(columns.indices, columns.indices[like]):
        raise TooLarge("two combinations that the tables tell apart have the same random sum")
    order = np.argsort(np.argsort(first))
    return order[group].astype(np.int64)


def _sums_of(values: NDArray[Any], starts: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of every segment of values between two starts, 0 for empty ones."""
    out = np.zeros(len(starts) - 1, values.dtype)
    full = np.flatnonzero(np.diff(starts))
    if len(full):
        out[full] = np.add.reduceat(values, starts[full])
    return out


def expanded(starts: NDArray[Any], of: Ints) -> tuple[Ints, Ints]:
    """Return where the entries of the segments `of` stand, and which of `of` each belongs to."""
    lengths = starts[of + 1] - starts[of]
    owner = np.repeat(np.arange(len(of)), lengths)
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts[of] - before, lengths) + np.arange(len(owner)), owner


@dataclass(frozen=True, eq=False)
class Design:
    """The classes of one pattern of published cells: `lower` cells are known below the top area, `upper` of it alone.

    A *pair* is a class B and a class V that share tuples (`pair_b`, `pair_v`, `size` tuples). `group` of a pair: its
    connected group; `whole`: all B and V of the group meet, in one tuple each.
    """

    lower: Ints
    upper: Ints
    b: Ints  # of tuples
    pair: Ints  # of tuples
    pair_b: Ints
    pair_v: Ints
    size: Ints
    group: Ints
    whole: np.ndarray  # of groups
    lower_matrix: sp.csr_matrix  # (lower cells, B)
    upper_matrix: sp.csr_matrix  # (upper cells, V)

    @classmethod
    def of(cls, cells: Cells, lower: Ints, upper: Ints) -> Design:
        """Return the classes that the cells known of lower areas, and those of the top area, tell apart."""
        b, v = cells.classes(lower), cells.classes(upper)
        nb, nv = int(b.max(initial=-1)) + 1, int(v.max(initial=-1)) + 1
        keys, pair, size = np.unique(b * max(nv, 1) + v, return_inverse=True, return_counts=True)
        pair_b, pair_v = keys // max(nv, 1), keys % max(nv, 1)
        graph = sp.coo_matrix((np.ones(len(keys)), (pair_b, nb + pair_v)), shape=(nb + nv, nb + nv))
        groups, named = connected_components(graph, directed=False)
        bs, vs = np.bincount(named[:nb], minlength=groups), np.bincount(named[nb:], minlength=groups)
        group = named[pair_b].astype(np.int64)
        whole = np.bincount(group, minlength=groups) == bs * vs
        whole &= np.bincount(group, weights=size > 1, minlength=groups) == 0
        first_b, first_v = _first(b, nb), _first(v, nv)
        return cls(
            lower, upper, b, pair.ravel().astype(np.int64), pair_b, pair_v, size.astype(np.int64), group, whole,
            cells.matrix[lower][:, first_b].tocsr(), cells.matrix[upper][:, first_v].tocsr(),
        )  # fmt: skip


def _first(classes: Ints, number: int) -> Ints:
    out = np.zeros(number, np.int64)
    out[classes[::-1]] = np.arange(len(classes))[::-1]
    return out


def determined(matrix: sp.csr_matrix, values: Ints, unknown: np.ndarray) -> tuple[np.ndarray, Ints]:
    """Return which columns a system `matrix x = values` determines one row at a time, and their values.

    `unknown`: the columns that are not known to be 0. A row with one unknown column left gives its value; repeated
    until no row does. Values may come out negative: then nothing fits.
    """
    rows = matrix.tocsr()
    x = np.zeros(matrix.shape[1], np.int64)
    open_columns = unknown.copy()
    rest = values.astype(np.int64).copy()
    ids = np.arange(matrix.shape[1], dtype=np.int64)
    while open_columns.any():
        left = rows @ open_columns.astype(np.int64)
        single = np.flatnonzero(left == 1)
        if not len(single):
            break
        which = (rows[single] @ (open_columns * ids)).astype(np.int64)
        new, at = np.unique(which, return_index=True)
        x[new] = rest[single[at]]
        open_columns[new] = False
        step = np.zeros_like(x)
        step[new] = x[new]
        rest -= rows @ step
    return unknown & ~open_columns, x


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
    keys = np.stack([_sums_of(weights[rows.columns], rows.starts), lengths], axis=1)
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
