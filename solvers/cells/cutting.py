"""Cuts: how the regions of a release's statements refine boxes of the row space, one block or region at a time.

Plain arithmetic on boxes, which searches nothing: the cells that engines use (`solvers.cells.system`) and the cells
of proofs (`solvers.kernel.cells`) are made by the same cuts. Who calls says which statements allow no row (pruning) and
what may be held.

Boxes of a row space as words of bits, thousands at a time: intersected with partitions, split by boxes.

A piece is a box that no statement read so far tells apart inside. All pieces of one refinement are disjoint.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import compress, count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints
from solvers.foundation.exact import EXACT
from solvers.statements.boxes import Box, Boxes, Region, RowSpace
from solvers.statements.observations import StatementIndex
from solvers.statements.release import ANY_LABEL, Partition, Summand

Words = NDArray[np.uint64]
Index = NDArray[np.int64]
WORD = (1 << 64) - 1
LOOKED_UP = 8  # attributes with at most so many parts are looked up by their mask, wider ones by distinct mask
CHUNK = 1 << 22  # words of hits held at a time


@dataclass(frozen=True, eq=False)
class WordLayout:
    """Where the parts of each attribute stand in the words of a box: `at[k]..at[k+1]`."""

    domain: RowSpace

    @cached_property
    def at(self) -> tuple[int, ...]:
        """Return the first word of each attribute, and the number of words."""
        out = [0]
        for a in self.domain.attributes:
            out.append(out[-1] + -(-len(a.sizes) // 64))
        return tuple(out)

    @cached_property
    def full(self) -> Words:
        """Return the whole row space as one row of words."""
        return np.array([w for a in self.domain.attributes for w in _words_of(a.full)], dtype=np.uint64)

    def rows(self, boxes: Boxes) -> Words:
        """Return (boxes, words): every box, attributes that it does not name full."""
        out = np.repeat(self.full[None], len(boxes), axis=0)
        of = np.repeat(np.arange(len(boxes)), np.diff(boxes.start))
        first = np.array(self.at, dtype=np.int64)
        width = np.diff(first)[boxes.attribute] if len(boxes.attribute) else np.zeros(0, dtype=np.int64)
        one = width == 1
        out[of[one], first[boxes.attribute[one]]] = boxes.mask[one].astype(np.uint64)
        for i in np.flatnonzero(~one).tolist():
            k = int(boxes.attribute[i])
            out[of[i], self.at[k] : self.at[k + 1]] = padded(int(boxes.mask[i]), self.at[k + 1] - self.at[k])
        return out

    def boxes(self, words: Words) -> list[Box]:
        """Return pieces as boxes."""
        out: list[list[tuple[int, int]]] = [[] for _ in range(len(words))]
        for k, a in enumerate(self.domain.attributes):
            distinct, back = distinct_words(words[:, self.span(k)])
            at = back.tolist()
            masks = [sum(w << (64 * j) for j, w in enumerate(row)) & a.full for row in distinct.tolist()]
            for i in np.flatnonzero((words[:, self.span(k)] != self.full[self.span(k)]).any(axis=1)).tolist():
                out[i].append((k, masks[at[i]]))
        return [Box(tuple(pairs)) for pairs in out]

    def span(self, k: int) -> slice:
        """Return the words of attribute k."""
        return slice(self.at[k], self.at[k + 1])

    def parts(self, words: Words, k: int) -> NDArray[np.bool_]:
        """Return (pieces, parts): which parts of attribute k each piece holds."""
        found = np.unpackbits(_octets(words[:, self.span(k)]), axis=1, bitorder="little")
        return found[:, : len(self.domain.attributes[k].sizes)].astype(bool)

    def sizes(self, words: Words) -> NDArray[Any]:
        """Return how many raw rows each piece holds: int64, or Python integers where the row space is larger."""
        kind: type = np.int64 if self.domain.size < EXACT else object
        out: NDArray[Any] = np.ones(len(words), dtype=kind)
        for k, a in enumerate(self.domain.attributes):
            distinct, back = distinct_words(words[:, self.span(k)])
            bits = (np.unpackbits(row, bitorder="little").tobytes() for row in _octets(distinct))
            weight: NDArray[Any] = np.array([sum(compress(a.sizes, held)) for held in bits], dtype=kind)
            out = out * weight[back]
        return out

    def parts_of(self, distinct: Words, k: int) -> list[list[bool]]:
        """Return, for words of attribute k alone, which parts they hold."""
        bits = np.unpackbits(_octets(distinct), axis=1, bitorder="little")
        found: list[list[bool]] = bits[:, : len(self.domain.attributes[k].sizes)].astype(bool).tolist()
        return found


def _octets(words: Words) -> NDArray[np.uint8]:
    """Return words as bytes, the least first."""
    return np.ascontiguousarray(words).view(np.uint8)


def distinct_words(words: Words) -> tuple[Words, Index]:
    """Return the distinct rows, and which of them every row is."""
    # One word is compared as a number: by rows it takes ten times as long.
    found, back = np.unique(words if words.shape[1] != 1 else words[:, 0], axis=0, return_inverse=True)
    return found.reshape(len(found), words.shape[1]), back.reshape(-1)


def _words_of(mask: int) -> list[int]:
    """Return a bit mask as words, least first, at least one."""
    out = [mask & WORD]
    while mask := mask >> 64:
        out.append(mask & WORD)
    return out


def padded(mask: int, width: int) -> Words:
    """Return a bit mask as exactly `width` words."""
    found = _words_of(mask)
    return np.array(found + [0] * (width - len(found)), dtype=np.uint64)


def pack_rows(rows: NDArray[np.bool_]) -> Words:
    """Return boolean rows (m, k) as (m, ceil(k/64)) words."""
    width = max(1, -(-rows.shape[1] // 64)) * 64
    wide = np.zeros((rows.shape[0], width), dtype=bool)
    wide[:, : rows.shape[1]] = rows
    return np.packbits(wide, axis=1, bitorder="little").view(np.uint64)


class Covering:
    """Disjoint boxes (a tree's leaves, known rows, then a last one of everything), ready to be met by many pieces."""

    def __init__(self, layout: WordLayout, boxes: Boxes) -> None:
        self.layout, self.rows = layout, layout.rows(boxes)
        self.named = sorted(set(boxes.attribute.tolist()))
        self._by_part: dict[int, Words] = {}
        self._by_mask: dict[int, Words] = {}

    def meet(self, words: Words, alive: Words) -> tuple[Index, Index]:
        """Return the pairs (piece, box) that share a row; `alive` (pieces, words of boxes) are boxes allowed."""
        step = max(1, CHUNK // alive.shape[1])
        found = [self._meet(words[i : i + step], alive[i : i + step], i) for i in range(0, len(words), step)]
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return np.concatenate([p for p, _ in found]), np.concatenate([b for _, b in found])

    def _meet(self, words: Words, alive: Words, offset: int) -> tuple[Index, Index]:
        hits = alive.copy()
        for k in self.named:
            hits &= self._table(k, words[:, self.layout.span(k)])
        piece, word = np.nonzero(hits)
        bits = np.unpackbits(hits[piece, word].view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        at, bit = np.nonzero(bits)
        return piece[at] + offset, word[at] * 64 + bit

    def _table(self, k: int, masks: Words) -> Words:
        """Return, per piece, the boxes that share a part of attribute k with it."""
        if k not in self._by_part:
            self._by_part[k] = self._boxes_by_part(k)
        by_part = self._by_part[k]
        if len(by_part) <= LOOKED_UP:
            if k not in self._by_mask:
                table = np.zeros((1 << len(by_part), by_part.shape[1]), dtype=np.uint64)
                for p, row in enumerate(by_part):
                    table[1 << p : 2 << p] = table[: 1 << p] | row
                self._by_mask[k] = table
            return self._by_mask[k][masks[:, 0].astype(np.intp)]
        distinct, back = np.unique(masks, axis=0, return_inverse=True)
        out = np.zeros((len(distinct), by_part.shape[1]), dtype=np.uint64)
        for i, mask in enumerate(_octets(distinct)):
            held = np.flatnonzero(np.unpackbits(mask, bitorder="little"))
            out[i] = np.bitwise_or.reduce(by_part[held], axis=0)
        return out[back.reshape(-1)]

    def _boxes_by_part(self, k: int) -> Words:
        """Return the boxes that hold each part of attribute k, 64 parts at a time: all as numbers take 8 times that."""
        span = self.layout.span(k)
        found = []
        for at in range(span.start, span.stop):
            bits = np.unpackbits(_octets(self.rows[:, at : at + 1]), axis=1, bitorder="little")
            found.append(pack_rows(bits.astype(bool).T))
        return np.concatenate(found)[: len(self.layout.domain.attributes[k].sizes)]

    def cut(self, words: Words, piece: Index, box: Index) -> Words:
        """Return the intersections of the pairs."""
        out = words[piece]
        for k in self.named:
            out[:, self.layout.span(k)] &= self.rows[:, self.layout.span(k)][box]
        return out


def split_pieces(layout: WordLayout, words: Words, box: Box) -> tuple[Words, Index, Words, Index]:
    """Return the pieces inside a box and those outside, each with the number of the piece it comes from."""
    origin = np.arange(len(words), dtype=np.int64)
    meets = np.ones(len(words), dtype=bool)
    sides = [(layout.span(k), padded(mask, layout.at[k + 1] - layout.at[k])) for k, mask in box.literals]
    for span, mask in sides:
        meets &= (words[:, span] & mask).any(axis=1)
    outside, outside_of = [words[~meets]], [origin[~meets]]
    rest, rest_of = words[meets], origin[meets]
    for span, mask in sides:
        beyond = rest[:, span] & ~mask
        some = beyond.any(axis=1)
        if some.any():
            out = rest[some]
            out[:, span] = beyond[some]
            outside.append(out)
            outside_of.append(rest_of[some])
            rest = rest.copy()
            rest[:, span] &= mask
    return rest, rest_of, np.concatenate(outside), np.concatenate(outside_of)


def meeting(layout: WordLayout, words: Words, box: Box) -> NDArray[np.bool_]:
    """Return which pieces share a row with a box."""
    out = np.ones(len(words), dtype=bool)
    for k, mask in box.literals:
        span = layout.span(k)
        out &= (words[:, span] & padded(mask, span.stop - span.start)).any(axis=1)
    return out


def beyond(layout: WordLayout, words: Words, box: Box) -> NDArray[np.bool_]:
    """Return which pieces have a row outside a box."""
    out = np.zeros(len(words), dtype=bool)
    for k, mask in box.literals:
        span = layout.span(k)
        out |= (words[:, span] & ~padded(mask, span.stop - span.start)).any(axis=1)
    return out


def minus(layout: WordLayout, words: Words, boxes: Iterable[Box]) -> Words:
    """Return disjoint pieces that make up the given ones without the boxes."""
    for box in boxes:
        _, _, words, _ = split_pieces(layout, words, box)
    return words


def disjoint_pieces(layout: WordLayout, words: Words, region: Region, room: Callable[[int, int], None]) -> Words:
    """Return disjoint pieces that make up the given ones without a region, a box minus boxes.

    `room` is asked before every cut, for so many pieces of so many words; it raises where limits are met.
    """
    inside, _, rest, _ = split_pieces(layout, words, region.box)
    kept = [rest]
    for box in region.minus:
        room(len(inside), words.shape[1])
        hit, _, inside, _ = split_pieces(layout, inside, box)
        kept.append(hit)
    return np.concatenate(kept)


def split_parts(layout: WordLayout, words: Words, k: int, masks: Sequence[int]) -> tuple[Words, Index, Index]:
    """Return the pieces split by disjoint sets of parts of attribute k, with origins and set numbers."""
    span = layout.span(k)
    held = words[:, span]
    each = np.array([padded(mask, held.shape[1]) for mask in masks], dtype=np.uint64).reshape(-1, held.shape[1])
    step = max(1, CHUNK // max(1, held.size))
    found, origins, sets = [words[:0]], [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for first in range(0, len(each), step):
        kept = held & each[first : first + step, None]  # (sets, pieces, words)
        number, at = np.nonzero(kept.any(axis=2))
        out = words[at]
        out[:, span] = kept[number, at]
        found.append(out)
        origins.append(at)
        sets.append(first + number)
    return np.concatenate(found), np.concatenate(origins), np.concatenate(sets)


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
    def apart(self) -> bool:
        """Return whether the boxes but the last, which holds everything, are seen to be disjoint: known rows are.

        They test the same attributes, for sets that are equal or disjoint, and no two test the same sets.
        """
        boxes, n = self.block.boxes, len(self.block.boxes) - 1
        tested = np.diff(boxes.start)
        if n < 1 or tested[n] or not tested[0] or (tested[:n] != tested[0]).any():
            return False
        attributes = boxes.attribute[: boxes.start[n]].reshape(n, -1)
        if (attributes != attributes[0]).any():
            return False
        masks: list[int] = boxes.mask[: boxes.start[n]].tolist()
        for j in range(attributes.shape[1]):
            sets = set(masks[j :: attributes.shape[1]])
            if sum(mask.bit_count() for mask in sets) > reduce(int.__or__, sets).bit_count():
                return False
        return len({tuple(masks[i : i + int(tested[0])]) for i in range(0, len(masks), int(tested[0]))}) == n

    @cached_property
    def covering(self) -> Covering:
        """Return the boxes, ready to be met."""
        return Covering(self.layout, self.block.boxes)

    def apply(self, words: Words, labels: Ints, allowed: NDArray[np.bool_], room: Room) -> tuple[Words, Index, Ints]:
        """Return the finer pieces, which piece each comes from, and its statement; none of one that is not allowed."""
        counted = allowed[self.table]
        if not self.block.first_match or (self.apart and not counted[-1].any()):
            piece, region = self.covering.meet(words, pack_rows(counted.T)[labels])
            room(len(piece), words.shape[1])
            if self.block.first_match:  # known rows come out in their order
                order = np.argsort(region, kind="stable")
                piece, region = piece[order], region[order]
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
