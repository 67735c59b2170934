"""Cuts: how the regions of a release's statements refine boxes of the row space, one block or region at a time.

Plain arithmetic on boxes, which searches nothing: the cells that engines use (`solvers.cells.refinement`) and the cells
of proofs (`solvers.kernel.cells`) are made by the same cuts. Who calls says which statements allow no row (pruning) and
what may be held.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

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
from solvers.statements.release import ANY_LABEL, Partition, Summand

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
    """All loose statements of one region that count its rows (`of` None), or sum numbers of the same attributes."""

    layout: WordLayout
    region: Region
    of: tuple[int, ...] | None
    statements: tuple[int, ...]
    classes: tuple[tuple[int, ...], ...]  # per class (one if rows count alike): every statement's coefficient
    masks: tuple[tuple[int, ...], ...] = ()  # per attribute of `of`: the parts of each of its classes

    def apply(self, words: Words, labels: Ints, allowed: NDArray[np.bool_], room: Room) -> tuple[Words, Index, Ints]:
        """Return the finer pieces, which piece each comes from, and its class (OUTSIDE the region: -1).

        Where a count in the region is not allowed, no piece inside is returned. Where the region cuts no piece, the
        same pieces are returned in their order.
        """
        if not self.masks and not self.region.minus and not self.bars(allowed):
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
        for k, masks in zip(self.of or (), self.masks, strict=True):
            inside, back, part = split_parts(self.layout, inside, k, masks)
            room(len(inside) + held, words.shape[1])
            inside_of, inner = inside_of[back], inner[back] * len(masks) + part
        if self.bars(allowed):
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
    loose: dict[tuple[Region, tuple[int, ...] | None, int], dict[int, Summand]] = {}
    partitions: list[PartitionCut] = []
    for b in blocks:
        if b in release.partitions:
            partitions.append(PartitionCut(layout, release.partitions[b], b, index.first[b]))
            continue
        block = release.blocks[b]
        for i, s in enumerate(range(index.first[b], index.first[b + 1])):
            statement = block.statement(i, layout.domain)
            for one in statement.summands:
                of = None if statement.region is not None else tuple(k for k, _ in one.factors)
                again = next(n for n in count() if s not in loose.get((one.region, of, n), ()))
                loose.setdefault((one.region, of, again), {})[s] = one
    partitions.sort(key=lambda cut: cut.block.first_match)
    found: list[AnyCut] = [*partitions]
    return [*found, *(_region_cut(layout, region, of, summands) for (region, of, _), summands in loose.items())]


def _region_cut(
    layout: WordLayout, region: Region, of: tuple[int, ...] | None, summands: dict[int, Summand]
) -> RegionCut:
    """Return the cut of the summands of one region, by statement: a class per number of every attribute's parts."""
    classes, every = [tuple(one.times for one in summands.values())], list[tuple[int, ...]]()
    for i in range(len(of or ())):
        masks: dict[tuple[int, ...], int] = {}
        for part, weights in enumerate(zip(*(one.factors[i][1] for one in summands.values()), strict=True)):
            masks[weights] = masks.get(weights, 0) | 1 << part
        classes = [tuple(x * y for x, y in zip(a, b, strict=True)) for a in classes for b in masks]
        every.append(tuple(masks.values()))
    return RegionCut(layout, region, of, tuple(summands), tuple(classes), tuple(every))


def joined_entries(parts: Sequence[Entries], cuts: Iterable[AnyCut]) -> Entries:
    """Return the entries of cuts as one list; of a statement that stands in several, one per piece: their sum."""
    row, piece, coef = (np.concatenate(part).astype(np.int64) for part in zip(*parts, strict=True))
    often = Counter(s for cut in cuts if isinstance(cut, RegionCut) for s in cut.statements)
    several = np.isin(row, [s for s, times in often.items() if times > 1])
    if not several.any():
        return row, piece, coef
    at = np.flatnonzero(several)
    at = at[np.lexsort((piece[at], row[at]))]
    first = np.append(True, (np.diff(row[at]) != 0) | (np.diff(piece[at]) != 0))
    sums, kept = np.add.reduceat(coef[at], np.flatnonzero(first)), at[first]
    alone = (part[~several] for part in (row, piece, coef))
    rows, pieces, coefs = map(np.concatenate, zip(alone, (row[kept], piece[kept], sums), strict=True))
    return rows, pieces, coefs


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
