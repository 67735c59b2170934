"""The row space of a release and regions of it: attributes cut into parts, boxes of parts, boxes minus boxes.

A box allows some parts of an attribute, as a mask of bits. A threshold on an attribute of n parts allows a run of them:
as a number that takes n bits, a tree of n leaves over n parts n^2; kept as its two ends (`RunMasks`) it takes 16 bytes,
and becomes a number where somebody asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints


def spans(mask: int) -> list[tuple[int, int]]:
    """Return the runs of set bits of a mask as (first, behind the last), in order.

    Cost: linear in the length of the mask, whatever the number of runs; asking bit by bit is quadratic, because each
    shift copies the mask.
    """
    if mask <= 0:
        return []
    low, high = (mask & -mask).bit_length() - 1, mask.bit_length()
    if mask.bit_count() == high - low:
        return [(low, high)]
    bits = np.unpackbits(np.frombuffer(mask.to_bytes((high + 7) // 8, "little"), dtype=np.uint8), bitorder="little")
    edges = np.flatnonzero(np.diff(bits, prepend=np.uint8(0), append=np.uint8(0))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


@dataclass(frozen=True, eq=False)
class RunMasks:
    """Masks of one run each, `first[i]` to `end[i]` (not included; equal: no part), read like an array of numbers."""

    first: NDArray[np.int64]
    end: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.first)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice | NDArray[Any]) -> NDArray[np.object_]: ...
    def __getitem__(self, at: int | slice | NDArray[Any]) -> int | NDArray[np.object_]:
        """Return one mask, or an array of them (dtype object)."""
        if isinstance(at, (int, np.integer)):
            return _run(int(self.first[at]), int(self.end[at]))
        found = np.empty(len(self.first[at]), dtype=object)
        found[:] = [_run(a, b) for a, b in zip(self.first[at].tolist(), self.end[at].tolist(), strict=True)]
        return found

    def tolist(self) -> list[int]:
        """Return the masks as numbers."""
        return [_run(a, b) for a, b in zip(self.first.tolist(), self.end.tolist(), strict=True)]


def _run(first: int, end: int) -> int:
    """Return the mask of the parts from `first` to before `end`."""
    return (1 << end) - (1 << first)


@dataclass(frozen=True)
class Attribute:
    """One attribute as the statements see it: its name and how many raw values each part holds."""

    name: str
    sizes: tuple[int, ...]

    @cached_property
    def total(self) -> int:
        """Return the number of raw values."""
        return sum(self.sizes)

    @cached_property
    def full(self) -> int:
        """Return the bit mask that allows every part."""
        return (1 << len(self.sizes)) - 1

    @cached_property
    def ends(self) -> tuple[int, ...]:
        """Return how many raw values lie before each part, and in all behind the last."""
        return (0, *accumulate(self.sizes))

    def weight(self, mask: int) -> int:
        """Return how many raw values the parts in `mask` hold. Cost: linear in the length of the mask in words."""
        return sum(self.ends[end] - self.ends[start] for start, end in spans(mask & self.full))


@dataclass(frozen=True)
class RowSpace:
    """The row space: attributes, the label among them (or None), sizes exact.

    `relative` says that some attribute is continuous without a grid: sizes then are proportional to volumes,
    and only ratios of sizes mean anything.
    """

    attributes: tuple[Attribute, ...]
    label: int | None = None
    relative: bool = False

    @cached_property
    def size(self) -> int:
        """Return the number of rows of the full product, label included."""
        return math.prod(a.total for a in self.attributes)

    @cached_property
    def part_sizes(self) -> tuple[tuple[int, ...], ...]:
        """Return the part sizes of every attribute."""
        return tuple(a.sizes for a in self.attributes)

    @property
    def labels(self) -> int:
        """Return the number of label values (1 without a label)."""
        return 1 if self.label is None else self.attributes[self.label].total


@dataclass(frozen=True, slots=True)
class Box:
    """Allowed parts per attribute, sparse: sorted (attribute, bit mask) pairs; absent means all.

    A mask of 0 makes the box empty.
    """

    literals: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, literals: Iterable[tuple[int, int]]) -> Box:
        """Return the box of the given pairs; pairs on one attribute are intersected."""
        masks: dict[int, int] = {}
        for attribute, mask in literals:
            masks[attribute] = masks[attribute] & mask if attribute in masks else mask
        return cls(tuple(sorted(masks.items())))

    def __and__(self, other: Box) -> Box:
        return Box.of(self.literals + other.literals)

    @property
    def empty(self) -> bool:
        """Return whether some attribute allows no part."""
        return any(mask == 0 for _, mask in self.literals)

    def size(self, domain: RowSpace) -> int:
        """Return the number of rows in the box, a product."""
        named = dict(self.literals)
        return math.prod(a.weight(named[k]) if k in named else a.total for k, a in enumerate(domain.attributes))


@dataclass(frozen=True, slots=True)
class Region:
    """The rows of a box that are in none of the boxes `minus`."""

    box: Box
    minus: tuple[Box, ...] = ()

    def holds(self, parts: Sequence[int]) -> bool:
        """Return whether the row with these parts (one per attribute) is in the region."""

        def inside(box: Box) -> bool:
            return all(mask >> parts[k] & 1 for k, mask in box.literals)

        return inside(self.box) and not any(inside(b) for b in self.minus)


@dataclass(frozen=True, eq=False)
class Boxes:
    """k boxes in compressed rows: box i has the literals start[i]..start[i+1].

    `attribute` is (literals,) int32; `mask` is (literals,) uint64, or where an attribute has more than 64 parts:
    object, or `RunMasks`, which gives numbers as object does and holds their ends.
    """

    start: NDArray[np.int64]
    attribute: NDArray[np.int32]
    mask: NDArray[np.generic] | RunMasks

    @classmethod
    def of(cls, boxes: Sequence[Box]) -> Boxes:
        """Return the table of the given boxes."""
        start = np.zeros(len(boxes) + 1, dtype=np.int64)
        np.cumsum([len(b.literals) for b in boxes], out=start[1:])
        flat = [pair for b in boxes for pair in b.literals]
        wide = any(mask >> 64 for _, mask in flat)
        mask = np.empty(len(flat), dtype=object if wide else np.uint64)
        mask[:] = [m for _, m in flat]
        return cls(start, np.array([k for k, _ in flat], dtype=np.int32), mask)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __getitem__(self, i: int) -> Box:
        if not 0 <= i < len(self):
            raise IndexError(i)
        span = slice(int(self.start[i]), int(self.start[i + 1]))
        masks = self.mask[span].tolist()
        return Box(tuple(zip(self.attribute[span].tolist(), masks, strict=True)))

    def __iter__(self) -> Iterator[Box]:
        return (self[i] for i in range(len(self)))


def masks_of(boxes: Iterable[Box], k: int) -> Iterable[int]:
    """Yield the values that every box allows of an attribute."""
    return (dict(box.literals)[k] for box in boxes)


def runs_of(boxes: Boxes) -> tuple[Ints, Ints, Bits]:
    """Return of every literal the first allowed part, the one behind the last, and whether all between are allowed."""
    masks = boxes.mask
    if isinstance(masks, RunMasks):
        return masks.first, masks.end, np.ones(len(masks), dtype=bool)
    found = [spans(int(mask)) or [(0, 0)] for mask in masks.tolist()]
    begin = np.array([runs[0][0] for runs in found], dtype=np.int64)
    behind = np.array([runs[-1][1] for runs in found], dtype=np.int64)
    return begin, behind, np.array([len(runs) == 1 for runs in found], dtype=bool)
