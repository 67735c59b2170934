"""Published counts of one or several tables as cells that add up: a parent is the sum of its children.

A cell is a box. The boxes over the same attributes make a table; of each attribute a table knows some groups of values
(districts, regions, everybody), and a cell for every combination of them, published or not. A group that is not one of
the finest is split into smaller ones: so many relations "parent = sum of children". Tables are linked by the cells that
they share: the marginal cells over common attributes. Where the tables' attributes form no circle, every solution of
these relations in whole numbers is a data set (tables with equal margins extend to one of all attributes: Vorob'ev).

Source: Vorob'ev, "Consistent families of measures and their extensions", Theory of Probability 7, 1962; Graham's
reduction (Yu and Ozsoyoglu 1979) for circles; linked tables: Hundepool et al., "Statistical Disclosure Control", 2012.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from solvers.cells.linear_system import SparseStatements
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Unsupported
from solvers.statements.boxes import Box, RowSpace
from solvers.statements.release import Release

MAX_CELLS = 400_000  # of all tables, those that nobody published among them
MASKS = 2_000  # groups of values of one attribute
KnownGroups = dict[int, set[int]]  # attribute -> masks of its parts that a table knows, everybody left out
Entries = tuple[Ints, Ints, Ints]  # relation, cell, coefficient


@dataclass(frozen=True, eq=False)
class LinkedCells:
    """Cells between `low` and `high` (int64) that meet `relations`; `boxes` says what each one counts.

    `place`: box -> cell, `tables`: the attributes of each table. `exact`: every solution in whole numbers is that of
    some data set; else there may be more solutions than data sets, and what is proved of them all holds of these.
    """

    boxes: tuple[Box, ...]
    place: Mapping[Box, int]
    relations: SparseStatements
    low: Ints
    high: Ints
    exact: bool
    tables: tuple[frozenset[int], ...]

    def __len__(self) -> int:
        return len(self.boxes)


def tables_of(release: Release) -> LinkedCells | None:
    """Return the cells of a release that says nothing but counts of boxes; None of another, or without an end of rows.

    Raises `Unsupported` where there are more than 400,000 cells. Cost: linear in the cells.
    """
    others = release.bags or release.boosted or release.observed or len(release.loose) < len(release.blocks)
    if release.rows.high is None or others:
        return None
    counts: dict[Box, tuple[int, int]] = {Box(): (release.rows.low, release.rows.high)}
    for one in (one for block in release.loose.values() for one in block):
        region = one.region
        if region is None or region.minus or region.box.empty:
            return None
        box = Box(tuple((k, m) for k, m in region.box.literals if m != release.domain.attributes[k].full))
        low, high = counts.get(box, (0, release.rows.high))
        counts[box] = max(low, one.low), min(high, one.high)
    found = linked_cells(release.domain, counts, release.impossible)
    return replace(found, exact=False) if release.loosened else found


def linked_cells(space: RowSpace, counts: Mapping[Box, tuple[int, int]], empty: Sequence[Box] = ()) -> LinkedCells:
    """Return the cells of counts (box -> least and most rows, that of everybody among them); nobody is in `empty`."""
    named = {frozenset(k for k, _ in box.literals) for box in counts}
    tables = sorted((one for one in named if not any(one < other for other in named)), key=sorted)
    groups = _comparable([_groups_of(space, table, counts) for table in tables])
    sizes = [math.prod(1 + len(masks) for masks in one.values()) for one in groups]
    if sum(sizes) > MAX_CELLS or any(len(masks) > MASKS for one in groups for masks in one.values()):
        raise Unsupported(f"the tables have more than {MAX_CELLS:,} cells, those that nobody published among them")
    place: dict[Box, int] = {}
    entries = [_table_relations(space, one, place) for one in groups]
    boxes, everybody = tuple(place), counts[Box()][1]
    low, high = np.zeros(len(boxes), dtype=np.int64), np.full(len(boxes), everybody, dtype=np.int64)
    for box, (least, most) in counts.items():
        low[place[box]], high[place[box]] = max(0, least), min(everybody, most)
    for box in empty:
        inside = [i for i, one in enumerate(boxes) if _lies_in(dict(one.literals), box)]
        high[inside] = np.minimum(high[inside], 0)
    exact = _acyclic(tables) and all(_told_by(box, groups) for box in empty)
    return LinkedCells(boxes, place, _equations(entries, len(boxes)), low, high, exact, tuple(tables))


def _groups_of(space: RowSpace, table: frozenset[int], counts: Iterable[Box]) -> KnownGroups:
    """Return the groups of values that boxes of a table name, and the finest that these tell apart."""
    out: KnownGroups = {k: set() for k in sorted(table)}
    for box in counts:
        if table.issuperset(k for k, _ in box.literals):
            for k, mask in box.literals:
                out[k].add(mask)
    return {k: masks | _atoms(space.attributes[k].full, masks) for k, masks in out.items()}


def _atoms(full: int, masks: Iterable[int]) -> set[int]:
    """Return the classes of parts that no mask tells apart. Cost: masks times classes."""
    atoms = {full}
    for mask in masks:
        atoms = {part for atom in atoms for part in (atom & mask, atom & ~mask) if part}
    return atoms


def _finest(masks: Iterable[int]) -> set[int]:
    """Return the masks that hold no other one."""
    ordered = sorted(masks, key=int.bit_count)
    out: list[int] = []
    seen = 0
    for mask in ordered:  # the finest are disjoint: a mask that meets none before is one of them
        if not mask & seen:
            out.append(mask)
            seen |= mask
    return set(out)


def _comparable(tables: list[KnownGroups]) -> list[KnownGroups]:
    """Return the tables with groups of an attribute such that of two tables one knows all that the other tells apart.

    The finer one gets the groups of the other, by which they are linked; of two that are neither, each gets both.
    """
    changed = True
    while changed:
        changed = False
        for one, other in product(tables, tables):
            for k in one.keys() & other.keys():
                mine, theirs = _finest(one[k]), _finest(other[k])
                finer = all(any(a & b == a for b in theirs) for a in mine)
                coarser = all(any(a & b == b for a in mine) for b in theirs)
                if (more := other[k] - one[k]) and (finer or not coarser):
                    union = one[k] | more
                    everything = 0
                    for mask in union:
                        everything |= mask
                    one[k] = union if finer else union | _atoms(everything, union)
                    changed = True
    return tables


def _table_relations(space: RowSpace, groups: KnownGroups, place: dict[Box, int]) -> Entries:
    """Return the relations of a table's cells; `place` gets those that it has not."""
    names = list(groups)
    masks = [[space.attributes[k].full, *sorted(groups[k] - {space.attributes[k].full})] for k in names]
    every = product(*masks)
    fulls = [space.attributes[k].full for k in names]
    number = []
    for chosen in every:
        box = Box(tuple((k, m) for k, m, full in zip(names, chosen, fulls, strict=True) if m != full))
        number.append(place.setdefault(box, len(place)))
    cells = np.array(number, dtype=np.int64).reshape([len(some) for some in masks])
    rows, cols, coefs, first = list[Ints](), list[Ints](), list[Ints](), 0
    for axis, some in enumerate(masks):
        for at, mask in enumerate(some):
            if not (children := _children(mask, some)):
                continue
            parents = cells.take(at, axis=axis).ravel()
            which = first + np.arange(len(parents))
            first += len(parents)
            for k, sign in ((at, -1), *((child, 1) for child in children)):
                rows.append(which)
                cols.append(cells.take(k, axis=axis).ravel())
                coefs.append(np.full(len(which), sign, dtype=np.int64))
    if not rows:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    return np.concatenate(rows), np.concatenate(cols), np.concatenate(coefs)


def _children(mask: int, among: Sequence[int]) -> list[int]:
    """Return the places of the largest disjoint masks inside one that make it up; [] of one of the finest."""
    left, out = mask, []
    for i in sorted(range(len(among)), key=lambda i: (-among[i].bit_count(), i)):
        if among[i] != mask and among[i] & mask == among[i] and among[i] & left == among[i]:
            out.append(i)
            left &= ~among[i]
    return out if not left else []


def _equations(entries: Sequence[Entries], cells: int) -> SparseStatements:
    """Return relations of several tables as one system, each sum equal to 0."""
    rows, first = [], 0
    for row, _, _ in entries:
        rows.append(row + first)
        first += int(row.max(initial=-1)) + 1
    col, coef = (np.concatenate([part[i] for part in entries]) for i in (1, 2))
    nothing = np.zeros(first, dtype=np.int64)
    return SparseStatements.of(np.concatenate(rows), col, coef, (nothing, nothing), cells)


def _lies_in(cell: Mapping[int, int], box: Box) -> bool:
    """Return whether a cell lies in a box."""
    return all(k in cell and not cell[k] & ~mask for k, mask in box.literals)


def _told_by(box: Box, groups: Sequence[KnownGroups]) -> bool:
    """Return whether a box is made of finest cells of some table."""
    return any(
        all(k in one and all(not a & mask or not a & ~mask for a in _finest(one[k])) for k, mask in box.literals)
        for one in groups
    )


def _acyclic(tables: Sequence[frozenset[int]]) -> bool:
    """Return whether Graham's reduction of the sets of attributes ends with nothing."""
    left = list(tables)
    while True:
        alone = {k for k in set().union(*left) if sum(k in one for one in left) == 1}
        smaller = [one - alone for one in left]
        kept = [
            one
            for i, one in enumerate(smaller)
            if not any(one < o or (one == o and j < i) for j, o in enumerate(smaller))
        ]
        if len(kept) == len(left) and not alone:
            return len(kept) <= 1
        left = kept
