"""What published counts can tell apart: every combination of parts of the attributes, grouped by the counts it is in.

A *tuple* is one part of each attribute; a *class* holds the tuples that exactly the same cells count. Incidences are
sparse matrices, so that no object stands for a single cell.

Which cells a top area is solved over: what lower areas cannot see is split off where nothing is lost.

Lower tables tell classes B apart, those of the top area classes V. Where all of a connected group of B and V meet, and
the top area's tables determine the count of every V of it, data sets over B whose sums over the group agree are
exactly those that extend: rows and columns of a two-way table with known margins.

Bounds of counts that follow from sums of them, applied until nothing changes, for all areas at once.

A top area with all areas in it: what was published of each, and the sums over cells and areas that this states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import ReconError, TooLarge

if TYPE_CHECKING:
    import scipy.sparse as sp

MAX_TUPLES = 1 << 22
Ints = NDArray[np.int64]
Masks = Sequence[tuple[int, NDArray[np.bool_]]]  # of a box: attribute -> its allowed parts
Places = dict[Any, Ints]


def _incidence(shape: tuple[int, ...], regions: Sequence[Sequence[Masks]]) -> sp.csr_matrix:
    """Return (regions, tuples): 1 where a region, a union of boxes, holds a tuple; `TooLarge` above 4 million."""
    import scipy.sparse as sp

    total = int(np.prod([float(s) for s in shape])) if shape else 1
    if total > MAX_TUPLES:
        raise TooLarge(f"the tables cut the attributes into {total:,} combinations, more than {MAX_TUPLES:,}")
    none, known = np.zeros(0, np.int64), Places()
    columns = [_places(shape, r, known) if r else none for r in regions]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in columns])]).astype(np.int64)
    indices = np.concatenate([*columns, np.zeros(0, np.int64)])
    return sp.csr_matrix((np.ones(len(indices), np.int64), indices, starts), shape=(len(regions), total))


def _places(shape: tuple[int, ...], boxes: Sequence[Masks], known: Places) -> Ints:
    """Return the numbers of the tuples in a union of boxes, ascending.

    `known`: of the first attributes, by their masks. Boxes that differ in these alone are united there, once.
    """
    n = len(shape)
    masks = [[allowed.get(k) for k in range(n)] for allowed in map(dict, boxes)]
    first = masks[0]
    k = max((k + 1 for k in range(n) if any(m[k] is not first[k] for m in masks)), default=0)
    starts = frozenset(tuple(map(id, m[:k])) for m in masks)
    return _outer(shape, masks, known, (starts, *map(id, first[k:])), n)


def _outer(shape: tuple[int, ...], masks: Sequence[Any], known: Places, key: Any, k: int) -> Ints:
    """Return the numbers of the combinations of the first k attributes' parts that one of some boxes allows.

    `key`: how the boxes begin where they differ, and the masks (which outlive the numbering) that they share.
    """
    if key not in known:
        if len(key) > 1:
            mask, before = masks[0][k - 1], _outer(shape, masks, known, key[:-1], k - 1)
            parts = np.arange(shape[k - 1]) if mask is None else np.flatnonzero(mask)
            known[key] = (before[:, None] * shape[k - 1] + parts).ravel()
        elif not k:
            known[key] = np.zeros(1, np.int64)
        else:
            single = {tuple(map(id, m[:k])): m for m in masks}
            every = [_outer(shape, [m], known, (frozenset([()]), *one), k) for one, m in single.items()]
            known[key] = np.unique(np.concatenate(every))
    return known[key]


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
            out[_places(shape, [box], Places())] = True
        kept = np.flatnonzero(~out)
        return cls(tuple(names), shape, kept, whole[:, kept].tocsr())

    @cached_property
    def place(self) -> dict[str, int]:
        """Return the number of every cell by its name."""
        return {name: i for i, name in enumerate(self.names)}

    def classes(self, cells: Ints) -> Ints:
        """Return for every tuple the number of its class under some of the cells."""
        return classes_of(self.matrix[cells])


def classes_of(matrix: sp.csr_matrix) -> Ints:
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
        raise TooLarge("two combinations that the tables distinguish have the same random sum")
    order = np.argsort(np.argsort(first))
    return order[group].astype(np.int64)


def _sums_of(values: NDArray[Any], starts: NDArray[Any]) -> NDArray[Any]:
    """Return the sum of every segment of values between two starts, 0 for empty ones."""
    out = np.zeros(len(starts) - 1, values.dtype)
    full = np.flatnonzero(np.diff(starts))
    if len(full):
        out[full] = np.add.reduceat(values, starts[full])
    return out


def _expanded(starts: NDArray[Any], of: Ints) -> tuple[Ints, Ints]:
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
        named = connected(pair_b, nb + pair_v, nb + nv)
        groups = int(named.max(initial=-1)) + 1
        bs, vs = np.bincount(named[:nb], minlength=groups), np.bincount(named[nb:], minlength=groups)
        group = named[pair_b].astype(np.int64)
        whole = np.bincount(group, minlength=groups) == bs * vs
        whole &= np.bincount(group, weights=size > 1, minlength=groups) == 0
        first_b, first_v = _first(b, nb), _first(v, nv)
        return cls(
            lower, upper, b, pair.ravel().astype(np.int64), pair_b, pair_v, size.astype(np.int64), group, whole,
            cells.matrix[lower][:, first_b].tocsr(), cells.matrix[upper][:, first_v].tocsr(),
        )  # fmt: skip


def connected(one: Ints, other: Ints, number: int) -> Ints:
    """Return the component of each of so many nodes, counted from 0, by the edges between `one` and `other`.

    Every round hooks components to neighbours of a smaller number: rounds grow with the logarithm. (That of scipy
    loads its linear algebra.)
    """
    label = np.arange(number)
    while True:
        a, b = label[one], label[other]
        least, new = np.minimum(a, b), label.copy()
        np.minimum.at(new, a, least)
        np.minimum.at(new, b, least)
        while (shorter := new[new]).tobytes() != new.tobytes():
            new = shorter
        if np.array_equal(new, label):
            return np.unique(label, return_inverse=True)[1].ravel().astype(np.int64)
        label = new


def _first(classes: Ints, number: int) -> Ints:
    out = np.zeros(number, np.int64)
    out[classes[::-1]] = np.arange(len(classes))[::-1]
    return out


def _determined(matrix: sp.csr_matrix, values: Ints, unknown: np.ndarray) -> tuple[np.ndarray, Ints]:
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
ANY = 1 << 36  # people: more than any area has


class ClashError(ReconError):
    """Statements that no counts fit; `rows` are their numbers."""

    def __init__(self, rows: list[int]) -> None:
        self.rows = rows
        super().__init__("counts contradict each other")


PublishedCount = tuple[int, int]  # an area and a cell


class ClashingCountsError(ReconError):
    """Published counts (`told`) that no data set has; GROUP - g in place of a cell: see `LiveCounts`."""

    def __init__(self, told: list[PublishedCount]) -> None:
        self.told = told
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
        at, owner = _expanded(self.starts, rows)
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(rows)))]).astype(np.int64)
        return Rows(starts, self.columns[at], self.value[rows])

    def plus(self, more: Rows) -> Rows:
        """Return these statements, and more behind them."""
        starts = np.concatenate([self.starts, self.starts[-1] + more.starts[1:]])
        return Rows(starts, np.concatenate([self.columns, more.columns]), np.concatenate([self.value, more.value]))


def merge_statements(rows: Rows, variables: int) -> tuple[Rows, Ints]:
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


GROUP = -1  # of a statement that follows from the top area's tables: about a group of cells, see `Live.row_cell`


@dataclass(frozen=True, eq=False)
class Top:
    """One top area: `names[0]`, its parts after it, each behind the area `parent[i]` that it lies in (-1: none).

    `values` is (areas, cells): the published count, -1 where nothing is known. Everybody in an area with parts lives
    in one of its parts. `silent`, `silent_above`: cells that tell people below the top, and at the top, apart, though
    nothing is known of them.
    """

    names: tuple[str, ...]
    parent: Ints
    values: np.ndarray
    silent: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    silent_above: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def leaves(self) -> Ints:
        """Return the areas without parts."""
        return np.setdiff1d(np.arange(len(self.names)), self.parent)

    @cached_property
    def pattern(self) -> tuple[Ints, Ints]:
        """Return the cells known of some area below the top (of the top where it has no parts), and of it alone."""
        alone = len(self.names) == 1
        known = self.values >= 0
        lower = np.array(known[0] if alone else known[1:].any(axis=0), bool)
        upper = np.zeros_like(lower) if alone else known[0].copy()
        lower[self.silent], upper[self.silent_above] = True, True
        return np.flatnonzero(lower), np.flatnonzero(upper)


@dataclass(frozen=True, eq=False)
class LiveCounts:
    """The counts that may be above 0, (leaf, atom) each, and every different statement about them.

    An atom is a class B where its group was split, else a pair: `atom_b`, `atom_pair` (-1: split), `atom_group`.
    Row r is what cell `row_cell[r]` of area `row_area[r]` says; GROUP - g: the sum over group g of the whole top area.
    `own`: the rows about a single leaf. `columns`: of the classes V, their counts where they are determined.
    """

    top: Top
    design: Design
    atom_b: Ints
    atom_pair: Ints
    atom_group: Ints
    leaf: Ints
    atom: Ints
    rows: Rows
    row_area: Ints
    row_cell: Ints
    own: np.ndarray
    split: np.ndarray
    v_count: Ints
    v_alive: np.ndarray


def live(top: Top, design: Design) -> LiveCounts:
    """Return what is left of a top area once zeros are taken out; `ClashingCountsError` where that fits nothing."""
    lower = top.values[:, design.lower]
    leaves = top.leaves
    dead = design.lower_matrix.T @ (lower[leaves] == 0).T.astype(np.float32)  # (B, leaves): in how many counts of 0
    alive = np.asarray(dead) == 0
    upper = top.values[0, design.upper] if len(top.names) > 1 else np.zeros(0, np.int64)
    known = np.flatnonzero(upper >= 0)
    pair_alive = alive.any(axis=1)[design.pair_b]
    v_alive = np.zeros(design.upper_matrix.shape[1], bool)
    v_alive[design.pair_v[pair_alive]] = True
    matrix = design.upper_matrix[known]
    fixed, v_count = _determined(matrix, upper[known], v_alive)
    if (v_count < 0).any():
        first = int(design.pair_v[np.flatnonzero((v_count < 0)[design.pair_v])[0]])
        raise ClashingCountsError([(0, int(c)) for c in design.upper[known[matrix[:, [first]].nonzero()[0]]]])
    failing = np.bincount(design.group, (v_alive & ~fixed)[design.pair_v], len(design.whole)) > 0
    split = design.whole & ~failing
    rest_v = np.zeros_like(v_alive)  # classes V of groups that are not split
    rest_v[design.pair_v[~split[design.group]]] = True
    atom_b, atom_pair = _atoms(design, split)
    shown = alive[atom_b]
    at = np.flatnonzero(shown.T.ravel())
    leaf, atom = at // len(atom_b), at % len(atom_b)
    group_of_b = np.zeros(len(alive), np.int64)
    group_of_b[design.pair_b] = design.group
    atom_group = group_of_b[atom_b]
    parts = [_lower_rows(top, design, lower, leaves[leaf], atom_b[atom])]
    left = upper[known] - matrix @ np.where(rest_v, 0, v_count)
    parts.append(
        _upper_rows(design, (known, left, matrix @ rest_v > 0), atom_pair[atom], atom_group[atom], split, v_count)
    )
    area, cell, value, owner, column = (np.concatenate(x) for x in zip(*_numbered(parts), strict=True))
    order = np.argsort(owner, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(value)))]).astype(np.int64)
    rows = Rows(starts, column[order].astype(np.int64), value.astype(np.int64))
    empty = np.flatnonzero((np.diff(starts) == 0) & (value != 0))
    if len(empty):
        raise ClashingCountsError([(int(area[empty[0]]), int(cell[empty[0]]))])
    try:
        rows, kept = merge_statements(rows, len(leaf))
    except ClashError as clash:
        raise ClashingCountsError([(int(area[r]), int(cell[r])) for r in clash.rows]) from None
    own = np.isin(area[kept], leaves) & (cell[kept] >= 0)
    return LiveCounts(top, design, atom_b, atom_pair, atom_group, leaves[leaf], atom, rows, area[kept], cell[kept], own,
                split, v_count, v_alive)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Intervals:
    """Sums over counts that lie between two numbers: `rows` hold the greater one, `room` is how far below it they go.

    `area`: the area that each is about; `own`: those about a single leaf.
    """

    rows: Rows
    room: Ints
    area: Ints
    own: np.ndarray

    @classmethod
    def of(cls, system: LiveCounts, low: Ints, high: Ints) -> Intervals:
        """Return what is between `low` and `high`, each (areas, cells) as the top area's values, `high` -1: unknown."""
        top, design = system.top, system.design
        at = system.atom_b[system.atom], system.atom_pair[system.atom], system.atom_group[system.atom]
        parts = [_lower_rows(top, design, high[:, design.lower], system.leaf, at[0])]
        if len(top.names) > 1:
            upper = high[0, design.upper]
            known = np.flatnonzero(upper >= 0)
            inside = np.zeros(len(system.v_count), bool)  # classes V of groups that are split: how many are in them
            inside[design.pair_v[system.split[design.group]]] = True
            left = upper[known] - design.upper_matrix[known] @ np.where(inside, system.v_count, 0)
            stated = known, left, np.ones(len(known), bool)
            parts.append(_upper_rows(design, stated, at[1], at[2], system.split, system.v_count))
        area, cell, value, owner, column = (np.concatenate(x) for x in zip(*_numbered(parts), strict=True))
        order = np.argsort(owner, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(value)))]).astype(np.int64)
        kept = np.flatnonzero((np.diff(starts) > 0) & (cell >= 0))
        rows = Rows(starts, column[order].astype(np.int64), value.astype(np.int64)).chosen(kept)
        area, cell = area[kept], cell[kept]
        return cls(rows, (high - low)[area, cell], area, np.isin(area, top.leaves))

    def among(self, rows: Rows, counts: int) -> Rows:
        """Return statements and these behind them, each with a count of its own for what it does not use."""
        owner = np.concatenate(
            [np.repeat(np.arange(len(self.rows)), np.diff(self.rows.starts)), np.arange(len(self.rows))]
        )
        columns = np.concatenate([self.rows.columns, counts + np.arange(len(self.rows))])
        starts = self.rows.starts + np.arange(len(self.rows) + 1)
        return rows.plus(Rows(starts, columns[np.argsort(owner, kind="stable")], self.rows.value))


def _atoms(design: Design, split: np.ndarray) -> tuple[Ints, Ints]:
    divided = split[design.group]
    b = np.unique(design.pair_b[divided])
    single = np.flatnonzero(~divided)
    atom_b = np.concatenate([b, design.pair_b[single]])
    atom_pair = np.concatenate([np.full(len(b), -1), single])
    order = np.lexsort((atom_pair, atom_b))
    return atom_b[order].astype(np.int64), atom_pair[order].astype(np.int64)


Part = tuple[Ints, Ints, Ints, Ints, Ints]  # area, cell, value of rows; row and variable of entries


def _lower_rows(top: Top, design: Design, lower: np.ndarray, area: Ints, b: Ints) -> Part:
    """Return the rows of all areas below the top (of the top, where it has no parts): what each cell counts."""
    columns = design.lower_matrix.tocsc()
    areas, cells, values, owners, entries = [], [], [], [], []
    base, at, keys = 0, area.copy(), np.zeros(0, np.int64)
    variable = np.arange(len(area))
    while len(at):
        place, entry = _expanded(columns.indptr.astype(np.int64), b[variable])
        key = at[entry] * len(design.lower) + columns.indices[place]
        told = lower.ravel()[key] >= 0
        key, entry = key[told], entry[told]
        ids, owner = np.unique(key, return_inverse=True)
        keys = np.union1d(keys, ids)
        areas.append(ids // len(design.lower))
        cells.append(design.lower[ids % len(design.lower)])
        values.append(lower.ravel()[ids])
        owners.append(owner.ravel() + base)
        entries.append(variable[entry])
        base += len(ids)
        up = top.parent[at]
        variable, at = variable[up > 0], up[up > 0]
    own = lower.copy()
    own[: int(len(top.names) > 1)] = 0
    silent = np.setdiff1d(np.flatnonzero(own.ravel() > 0), keys)  # counts that nobody is left for, in any area
    areas.append(silent // len(design.lower))
    cells.append(design.lower[silent % len(design.lower)])
    values.append(lower.ravel()[silent])
    joined = [np.concatenate(x) if x else np.zeros(0, np.int64) for x in (areas, cells, values, owners, entries)]
    return joined[0], joined[1], joined[2], joined[3], joined[4]


def _upper_rows(
    design: Design, stated: tuple[Ints, Ints, np.ndarray], pair: Ints, group: Ints, split: np.ndarray, v_count: Ints
) -> Part:
    """Return the top area's rows: the total of every split group, and what its cells count outside of them."""
    known, left, mixed = stated
    number = np.full(len(split), -1)
    groups = np.flatnonzero(split)
    number[groups] = np.arange(len(groups))
    totals = np.zeros(len(split), np.int64)
    seen, first = np.unique(design.pair_v, return_index=True)
    np.add.at(totals, design.group[first], v_count[seen])
    inside = np.flatnonzero(pair < 0)
    outside = np.flatnonzero(pair >= 0)
    columns = design.upper_matrix[known].tocsc()
    place, entry = _expanded(columns.indptr.astype(np.int64), design.pair_v[pair[outside]])
    kept = mixed | (left != 0)
    renumbered = np.cumsum(kept) - 1 + len(groups)
    return (
        np.zeros(len(groups) + int(kept.sum()), np.int64),
        np.concatenate([GROUP - groups, design.upper[known[kept]]]),
        np.concatenate([totals[groups], left[kept]]),
        np.concatenate([number[group[inside]], renumbered[columns.indices[place]]]),
        np.concatenate([inside, outside[entry]]),
    )


def _numbered(parts: list[Part]) -> list[Part]:
    base, out = 0, []
    for area, cell, value, owner, column in parts:
        out.append((area, cell, value, owner + base, column))
        base += len(value)
    return out


def described(cells: Cells, live: LiveCounts, row: int) -> str:
    """Return a statement in words: the area, the cell and the count."""
    area, cell = int(live.row_area[row]), int(live.row_cell[row])
    name = cells.names[cell] if cell >= 0 else "what its tables leave for a group of cells"
    return f"{live.top.names[area]}: {name} = {int(live.rows.value[row]):,}"
