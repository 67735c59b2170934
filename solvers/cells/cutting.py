"""Cuts: how the regions of a release's statements refine boxes of the row space, one block or region at a time.

Plain arithmetic on boxes, which searches nothing: the cells that engines use (`solvers.cells.refinement`) and the cells
of proofs (`solvers.kernel.cells`) are made by the same cuts. Who calls says which statements allow no row (pruning) and
what may be held.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import (
    Covering,
    Index,
    WordLayout,
    Words,
    beyond,
    meeting,
    pack_rows,
    split_parts,
    split_pieces,
)
from solvers.foundation.array_types import Ints
from solvers.statements.boxes import Region
from solvers.statements.observations import StatementIndex
from solvers.statements.release import ANY_LABEL, Partition

Entries = tuple[Ints, Ints, Ints]  # statement, piece, coefficient
Room = Callable[[int, int], None]  # called with how many boxes of how many words are about to be held; refuses too many
OUTSIDE = -1


@dataclass(frozen=True, eq=False)
class PartitionCut:
    """One partition: every piece comes out with the number of the statement that counts its rows."""

    layout: WordLayout
    block: Partition
    b: int
    first: int

    @cached_property
    def table(self) -> Ints:
        """Return (regions, labels): the number of the statement for a region and a label."""
        return self.block.by_label(self.layout.domain.labels) + self.first

    @cached_property
    def covering(self) -> Covering:
        """Return the boxes of a tree, ready to be met."""
        return Covering(self.layout, self.block.boxes)

    def apply(self, words: Words, labels: Ints, allowed: NDArray[np.bool_], room: Room) -> tuple[Words, Index, Ints]:
        """Return the finer pieces, which piece each comes from, and its statement; none of one that is not allowed."""
        counted = allowed[self.table]
        if not self.block.first_match:
            piece, region = self.covering.meet(words, pack_rows(counted.T)[labels])
            room(len(piece), words.shape[1])
            return self.covering.cut(words, piece, region), piece, self.table[region, labels[piece]]
        rest, rest_of = words, np.arange(len(words), dtype=np.int64)
        found, origins, statements, held = [words[:0]], [rest_of[:0]], [rest_of[:0]], 0
        for j, box in enumerate(self.block.boxes):
            inside, inside_of, rest, outside_of = split_pieces(self.layout, rest, box)
            origin, rest_of = rest_of[inside_of], rest_of[outside_of]
            statement = self.table[j, labels[origin]]
            kept = np.flatnonzero(allowed[statement])
            found.append(inside[kept])
            origins.append(origin[kept])
            statements.append(statement[kept])
            held += len(kept)
            room(len(rest) + held, words.shape[1])
        return np.concatenate(found), np.concatenate(origins), np.concatenate(statements)

    def entries(self, value: Ints) -> Entries:
        """Return (statement, piece, coefficient) of all pieces."""
        return value, np.arange(len(value), dtype=np.int64), np.ones(len(value), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class RegionCut:
    """All loose statements of one region that sum one attribute's values, or count."""

    layout: WordLayout
    region: Region
    of: int | None
    statements: tuple[int, ...]
    classes: tuple[tuple[int, ...], ...]  # per class of parts (one if rows are counted): every statement's coefficient
    masks: tuple[int, ...]  # per class: its parts

    def apply(self, words: Words, labels: Ints, allowed: NDArray[np.bool_], room: Room) -> tuple[Words, Index, Ints]:
        """Return the finer pieces, which piece each comes from, and its class (OUTSIDE the region: -1).

        Where a count in the region is not allowed, no piece inside is returned. Where the region cuts no piece, the
        same pieces are returned in their order.
        """
        if self.of is None and not self.region.minus and not self.bars(allowed):
            met = meeting(self.layout, words, self.region.box)
            if not (met & beyond(self.layout, words, self.region.box)).any():
                return words, np.arange(len(words), dtype=np.int64), np.where(met, 0, OUTSIDE)
        inside, inside_of, outside, outside_of = split_pieces(self.layout, words, self.region.box)
        out, out_of, held = [outside], [outside_of], len(outside)
        for box in self.region.minus:
            hit, hit_of, inside, rest_of = split_pieces(self.layout, inside, box)
            room(len(inside) + held, words.shape[1])
            held += len(hit)
            out.append(hit)
            out_of.append(inside_of[hit_of])
            inside_of = inside_of[rest_of]
        inner = np.zeros(len(inside), dtype=np.int64)
        if self.of is not None:
            inside, back, inner = split_parts(self.layout, inside, self.of, self.masks)
            inside_of = inside_of[back]
        elif self.bars(allowed):
            inside, inside_of, inner = inside[:0], inside_of[:0], inner[:0]
        outer = np.full(sum(map(len, out)), OUTSIDE, dtype=np.int64)
        return np.concatenate([inside, *out]), np.concatenate([inside_of, *out_of]), np.concatenate([inner, outer])

    def bars(self, allowed: NDArray[np.bool_]) -> bool:
        """Return whether some count in the region is not allowed."""
        return self.of is None and not allowed[list(self.statements)].all()

    @property
    def extent(self) -> float:
        """Return the logarithm of the part of all combinations of parts that the box around the region holds."""
        sizes = [len(a.sizes) for a in self.layout.domain.attributes]
        held = [(max(0.5, mask.bit_count()), sizes[k]) for k, mask in self.region.box.literals]
        return sum(math.log2(some / every) for some, every in held)

    def weights(self, value: Ints) -> NDArray[np.int64]:
        """Return (statements, pieces): how often a row of each piece counts."""
        by_class = np.array([*self.classes, (0,) * len(self.statements)], dtype=np.int64)  # the last is OUTSIDE's
        return np.ascontiguousarray(by_class[value].T)

    def entries(self, value: Ints) -> Entries:
        """Return (statement, piece, coefficient) of the pieces inside the region."""
        at = np.flatnonzero(value != OUTSIDE)
        coefs = np.array(self.classes, dtype=np.int64)[value[at]]
        numbers = np.array(self.statements, dtype=np.int64)
        return np.repeat(numbers[None], len(at), axis=0).ravel(), np.repeat(at, len(numbers)), coefs.ravel()


AnyCut = PartitionCut | RegionCut


def cuts_of(index: StatementIndex, blocks: Iterable[int]) -> list[AnyCut]:
    """Return what cuts the row space for the given blocks: trees, then lists, then regions of other statements."""
    release, layout = index.release, WordLayout(index.release.domain)
    loose: dict[tuple[Region, int | None], list[int]] = {}
    partitions: list[PartitionCut] = []
    for b in blocks:
        if b in release.partitions:
            partitions.append(PartitionCut(layout, release.partitions[b], b, index.first[b]))
            continue
        block = release.blocks[b]
        for i, s in enumerate(range(index.first[b], index.first[b + 1])):
            statement = block.statement(i, layout.domain)
            loose.setdefault((statement.region, statement.of), []).append(s)
    partitions.sort(key=lambda cut: cut.block.first_match)
    found: list[AnyCut] = [*partitions]
    for (region, of), numbers in loose.items():
        if of is None:
            found.append(RegionCut(layout, region, None, tuple(numbers), ((1,) * len(numbers),), (0,)))
            continue
        coefs = [index.statement(s).coefs for s in numbers]
        masks: dict[tuple[int, ...], int] = {}
        for part, weights in enumerate(zip(*coefs, strict=True)):
            masks[weights] = masks.get(weights, 0) | 1 << part
        found.append(RegionCut(layout, region, of, tuple(numbers), tuple(masks), tuple(masks.values())))
    return found


def zeros_first(cuts: Iterable[AnyCut], allowed: NDArray[np.bool_]) -> tuple[list[RegionCut], list[AnyCut]]:
    """Return the regions in which some count is not allowed, the largest first, and the other cuts in their order.

    What the first bar need not be cut by anything else: nine in ten figures of published tables are 0.
    """
    barring, others = list[RegionCut](), list[AnyCut]()
    for cut in cuts:
        if isinstance(cut, RegionCut) and cut.bars(allowed):
            barring.append(cut)
        else:
            others.append(cut)
    return sorted(barring, key=lambda cut: -cut.extent), others


def with_labels(layout: WordLayout, words: Words, cuts: Sequence[AnyCut]) -> Words:
    """Return pieces that hold one label each, where some cut tells labels apart; else the pieces."""
    k = layout.domain.label
    apart = any(isinstance(cut, PartitionCut) and bool((cut.block.label != ANY_LABEL).any()) for cut in cuts)
    if k is None or not apart:
        return words
    words, _, _ = split_parts(layout, words, k, [1 << p for p in range(len(layout.domain.attributes[k].sizes))])
    return words


def labels_of(layout: WordLayout, words: Words) -> Ints:
    """Return the label of every piece (0 where there is none, or pieces hold several)."""
    k = layout.domain.label
    if k is None:
        return np.zeros(len(words), dtype=np.int64)
    found: Ints = np.argmax(layout.parts(words, k), axis=1).astype(np.int64)
    return found
