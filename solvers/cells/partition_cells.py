"""Cells of a release that is one partition: its statements with their exact sizes, computed once.

Every statement of a partition is a disjoint cell of the row space, so worlds are counted cell by cell. A cell is
a box (a leaf), or a box minus boxes (a rule of a list; anything where impossible boxes are declared).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, overload

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import Space
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Box
from solvers.statements.release import ANY_LABEL, Partition, Release

if TYPE_CHECKING:
    from solvers.statements.regions.captures import Captures

MAX_PROJECTIONS = 2_000
MAX_DIAGRAM_WORK = 20_000  # projections times boxes: about a second with diagrams


@dataclass(frozen=True, eq=False)
class CellBoxes(Sequence[Box]):
    """The box of each statement of a partition, its label folded in; made when asked for, since they can be long."""

    release: Release
    block: Partition

    def __len__(self) -> int:
        return len(self.block)

    @overload
    def __getitem__(self, s: int) -> Box: ...
    @overload
    def __getitem__(self, s: slice) -> tuple[Box, ...]: ...
    def __getitem__(self, s: int | slice) -> Box | tuple[Box, ...]:
        """Return the box of statement s, or those of several."""
        if isinstance(s, slice):
            return tuple(self[i] for i in range(*s.indices(len(self))))
        region, label = int(self.block.region[s]), int(self.block.label[s])
        return _labelled(self.block.boxes[region], self.release, label)


@dataclass(frozen=True, eq=False)
class PartitionCells:
    """The k statements of a partition as cells.

    `low`, `high` are rigorous bounds on the number of raw rows in each cell, equal where exact (Python
    integers, label included where the statement names none). `space` is the row space without impossible
    rows. `captures` counts regions that are boxes
    minus boxes; None where every cell is a box.
    """

    release: Release
    block: Partition
    low: tuple[int, ...]
    high: tuple[int, ...]
    space: Space
    captures: Captures | None

    @cached_property
    def exact(self) -> bool:
        """Return whether every size is known exactly."""
        return self.low == self.high

    @cached_property
    def boxes(self) -> Sequence[Box]:
        """Return the box of each cell, its label folded in; earlier rules are not subtracted. Made when asked for."""
        return CellBoxes(self.release, self.block)

    def known_rows(self, counts: NDArray[np.int64], convention: str) -> dict[int, int]:
        """Return how many rows are known to have each label (`assigned`), or in all."""
        if convention != "assigned":
            return {ANY_LABEL: int(counts.sum())}
        labels = self.block.label
        return {label: int(counts[labels == label].sum()) for label in set(labels.tolist())}

    @property
    def skipped(self) -> int:
        """Return how many impossible boxes stand before the regions in `captures`."""
        return len(self.release.impossible)

    def sizes_within(self, smaller: dict[int, tuple[int, ...]]) -> tuple[list[int], list[int]]:
        """Return bounds on every cell's size when attributes have only the given part sizes."""
        if self.captures is None:
            attributes = [
                Attribute(a.name, smaller.get(k, a.sizes)) for k, a in enumerate(self.release.domain.attributes)
            ]
            return (sizes := [_within_box(b, attributes) for b in self.boxes]), sizes
        return _statement_bounds(self.release, self.block, self.captures, smaller)

    @cached_property
    def occupied(self) -> NDArray[np.int64]:
        """Return the cells that may hold rows."""
        return np.flatnonzero(self.block.high > 0)

    @cached_property
    def vectors(self) -> list[NDArray[np.int64]]:
        """Return the count vectors (k,) that the release allows: one, or one per possible number of rows."""
        block = self.block
        loose = np.flatnonzero(block.low != block.high)
        if not len(loose):
            return [block.low]
        out, s = [], int(loose[0])
        for value in range(int(block.low[s]), int(block.high[s]) + 1):
            if value and self.high[s] == 0:
                break
            vector = block.low.copy()
            vector[s] = value
            out.append(vector)
        return out

    @cached_property
    def tight(self) -> Sequence[Box]:
        """Return the smallest box around each cell: per attribute the parts that some row of the cell has.

        Boxes themselves where cells are boxes; else one restricted count per part of every attribute that is
        named, or the cells' own boxes where that would be too many counts.
        """
        if self.captures is None or not self.exact:
            return self.boxes
        domain = self.release.domain
        named = sorted({k for b in (*self.release.impossible, *self.boxes) for k, _ in b.literals})
        counts = sum(len(domain.attributes[k].sizes) for k in named)
        costly = self.captures.method == "bdd" and counts * len(self.captures.lower) > MAX_DIAGRAM_WORK
        if counts > MAX_PROJECTIONS or costly:
            return self.boxes
        literals: list[list[tuple[int, int]]] = [list(b.literals) for b in self.boxes]
        for k in named:
            sizes, seen = domain.attributes[k].sizes, [0] * len(self.boxes)
            for p in range(len(sizes)):
                only = tuple(z if q == p else 0 for q, z in enumerate(sizes))
                for s, size in enumerate(self.sizes_within({k: only})[0]):
                    seen[s] |= (size > 0) << p
            for s, mask in enumerate(seen):
                if mask != domain.attributes[k].full:
                    literals[s].append((k, mask))
        return tuple(Box.of(pairs) for pairs in literals)

    def product(self, s: int) -> bool:
        """Return whether cell s is a product of attribute sets: as large as the smallest box around it."""
        return self.captures is None or self.low[s] == self.high[s] == self.tight[s].size(self.release.domain)


def _labelled(box: Box, release: Release, label: int) -> Box:
    """Return the box with a label folded in."""
    k = release.domain.label
    return box if label == ANY_LABEL or k is None else box & Box(((k, 1 << label),))


def _within_box(box: Box, attributes: Sequence[Attribute]) -> int:
    """Return the size of a box over attributes with other part sizes."""
    named = dict(box.literals)
    return math.prod(a.weight(named[k]) if k in named else a.total for k, a in enumerate(attributes))


def _statement_bounds(
    release: Release, block: Partition, found: Captures, smaller: dict[int, tuple[int, ...]]
) -> tuple[list[int], list[int]]:
    """Return bounds on the size of every statement from the captures of its regions.

    The label is an attribute of the row space like any other; a statement for one label counts the part of its
    region with that label: an equal share, unless an impossible box names the label.
    """
    k, skip = release.domain.label, len(release.impossible)
    names_label = k is not None and any(a == k for b in release.impossible for a, _ in b.literals)
    labels = sorted(set(block.label.tolist()))
    by_label: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
    whole = found.within(smaller) if smaller else (found.lower, found.upper)
    for label in labels:
        if label == ANY_LABEL or k is None:
            by_label[label] = whole
            continue
        parts = smaller.get(k, release.domain.attributes[k].sizes)
        if names_label:
            one = tuple(s if p == label else 0 for p, s in enumerate(parts))
            by_label[label] = found.within({**smaller, k: one})
        elif not sum(parts):
            by_label[label] = whole
        else:
            share, total = parts[label], sum(parts)
            by_label[label] = (
                tuple(x * share // total for x in whole[0]),
                tuple(x * share // total for x in whole[1]),
            )
    pairs = list(zip(block.region.tolist(), block.label.tolist(), strict=True))
    return (
        [by_label[label][0][skip + j] for j, label in pairs],
        [by_label[label][1][skip + j] for j, label in pairs],
    )


@dataclass(slots=True)
class KnownCells:
    """The cells of a release, and the seconds and bytes that there were to measure them."""

    cells: PartitionCells | None = None
    seconds: float = 0.0
    memory: int = 0


def cells_of(release: Release, limits: Limits) -> PartitionCells:
    """Return the cells of a release that is one partition.

    From memory if they are known exactly, or were counted with as much time and memory as there is now.
    Cost: a product per leaf; for rule lists and impossible boxes see `solvers.statements.regions.captures.captures`.
    """
    known, left = release.derived.part(KnownCells), limits.remaining()
    if known.cells is not None and (known.cells.exact or (left[0] <= known.seconds and limits.room <= known.memory)):
        return known.cells
    if (block := release.single) is None:
        raise TypeError("the release is not one partition")
    part_sizes = release.domain.part_sizes
    space = Space.of(release, limits)
    found = None
    if block.first_match or release.impossible:
        from solvers.statements.regions.captures import captures  # loads the decision diagrams, which boxes do without

        found = captures(part_sizes, [*release.impossible, *block.boxes], limits)
        low, high = _statement_bounds(release, block, found, {})
    else:
        low = _box_sizes(release, block)
        high = low
    cells = PartitionCells(release, block, tuple(low), tuple(high), space, found)
    known.cells, known.seconds, known.memory = cells, limits.spent(left), limits.room
    return cells


def _box_sizes(release: Release, block: Partition) -> list[int]:
    """Return the size of every cell that is a box: the row space, with named attributes' totals replaced."""
    domain = release.domain
    memo: dict[tuple[int, int], int] = {}

    def weight(k: int, mask: int) -> int:
        if mask >> 64:  # to keep long ones, most of them different, takes more than to measure them
            return domain.attributes[k].weight(mask)
        if (k, mask) not in memo:
            memo[k, mask] = domain.attributes[k].weight(mask)
        return memo[k, mask]

    regions = []
    for box in block.boxes:
        named = math.prod(weight(k, m) for k, m in box.literals)
        regions.append(domain.size // math.prod(domain.attributes[k].total for k, _ in box.literals) * named)
    if domain.label is None:
        return [regions[j] for j in block.region.tolist()]
    total, sizes = domain.labels, domain.attributes[domain.label].sizes
    shares: dict[tuple[int, int], int] = {}  # long numbers, the same of labels of one size: held once
    found = []
    for j, label in zip(block.region.tolist(), block.label.tolist(), strict=True):
        size = total if label == ANY_LABEL else sizes[label]
        if (j, size) not in shares:
            shares[j, size] = regions[j] * size // total
        found.append(shares[j, size])
    return found
