"""Boxes of a row space as words of bits, thousands at a time: intersected with partitions, split by boxes.

A piece is a box that no statement read so far tells apart inside. All pieces of one refinement are disjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.exact import EXACT
from solvers.statements.boxes import Box, Boxes, Region, RowSpace

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
    """Disjoint boxes that cover the row space (a tree's leaves), ready to be met by many pieces."""

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
    found, origins, sets = [], [], []
    width = layout.at[k + 1] - layout.at[k]
    for i, mask in enumerate(masks):
        kept = words[:, layout.span(k)] & padded(mask, width)
        at = np.flatnonzero(kept.any(axis=1))
        if len(at):
            out = words[at]
            out[:, layout.span(k)] = kept[at]
            found.append(out)
            origins.append(at)
            sets.append(np.full(len(at), i, dtype=np.int64))
    if not found:
        return words[:0], np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate(found), np.concatenate(origins), np.concatenate(sets)
