"""A top area with all areas in it: what was published of each, and the sums over cells and areas that this states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from solvers.foundation.errors import ContradictionError
from solvers.tables.atoms import Cells, ClashError, Design, Ints, Rows, determined, expanded, merged

GROUP = -1  # of a statement that follows from the top area's tables: about a group of cells, see `Live.row_cell`


@dataclass(frozen=True, eq=False)
class Top:
    """One top area: `names[0]`, its parts after it, each behind the area `parent[i]` that it lies in (-1: none).

    `values` is (areas, cells): the published count, -1 where nothing is known. Everybody in an area with parts lives
    in one of its parts.
    """

    names: tuple[str, ...]
    parent: Ints
    values: np.ndarray

    @cached_property
    def leaves(self) -> Ints:
        """Return the areas without parts."""
        return np.setdiff1d(np.arange(len(self.names)), self.parent)

    @cached_property
    def pattern(self) -> tuple[Ints, Ints]:
        """Return the cells known of some area below the top (of the top where it has no parts), and of it alone."""
        alone = len(self.names) == 1
        known = self.values >= 0
        lower = known[0] if alone else known[1:].any(axis=0)
        return np.flatnonzero(lower), np.flatnonzero(np.zeros_like(lower) if alone else known[0])


@dataclass(frozen=True, eq=False)
class Live:
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


def live(cells: Cells, top: Top, design: Design) -> Live:
    """Return what is left of a top area once zeros are taken out; `ContradictionError` naming areas and cells."""
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
    fixed, v_count = determined(matrix, upper[known], v_alive)
    if (v_count < 0).any():
        first = int(design.pair_v[np.flatnonzero((v_count < 0)[design.pair_v])[0]])
        _refuse(cells, top, [(0, int(c)) for c in design.upper[known[matrix[:, [first]].nonzero()[0]]]])
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
        _refuse(cells, top, [(int(area[empty[0]]), int(cell[empty[0]]))])
    try:
        rows, kept = merged(rows, len(leaf))
    except ClashError as clash:
        _refuse(cells, top, [(int(area[r]), int(cell[r])) for r in clash.rows])
    own = np.isin(area[kept], leaves) & (cell[kept] >= 0)
    return Live(top, design, atom_b, atom_pair, atom_group, leaves[leaf], atom, rows, area[kept], cell[kept], own,
                split, v_count, v_alive)  # fmt: skip


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
    base, at = 0, area.copy()
    variable = np.arange(len(area))
    while len(at):
        place, entry = expanded(columns.indptr.astype(np.int64), b[variable])
        key = at[entry] * len(design.lower) + columns.indices[place]
        told = lower.ravel()[key] >= 0
        key, entry = key[told], entry[told]
        ids, owner = np.unique(key, return_inverse=True)
        level = np.unique(at)
        listed = (level[:, None] * len(design.lower) + np.arange(len(design.lower))).ravel()
        silent = np.setdiff1d(listed[lower.ravel()[listed] > 0], ids)  # counts that no cell is left for
        ids = np.concatenate([ids, silent])
        areas.append(ids // len(design.lower))
        cells.append(design.lower[ids % len(design.lower)])
        values.append(lower.ravel()[ids])
        owners.append(owner.ravel() + base)
        entries.append(variable[entry])
        base += len(ids)
        up = top.parent[at]
        variable, at = variable[up > 0], up[up > 0]
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
    place, entry = expanded(columns.indptr.astype(np.int64), design.pair_v[pair[outside]])
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


def described(cells: Cells, live: Live, row: int) -> str:
    """Return a statement in words: the area, the cell and the count."""
    area, cell = int(live.row_area[row]), int(live.row_cell[row])
    name = cells.names[cell] if cell >= 0 else "what its tables leave for a group of cells"
    return f"{live.top.names[area]}: {name} = {int(live.rows.value[row]):,}"


def _refuse(cells: Cells, top: Top, told: list[tuple[int, int]]) -> None:
    lines = []
    for area, cell in told[:20]:
        name = cells.names[cell] if cell >= 0 else "what its tables leave for a group of cells"
        lines.append(
            f"{top.names[area]}: {name} = {int(top.values[area, cell]):,}"
            if cell >= 0
            else f"{top.names[area]}: {name}"
        )
    raise ContradictionError(f"the counts of area '{top.names[0]}' contradict each other", tuple(lines))
