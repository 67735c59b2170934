"""The cells of some blocks, walked anew for proofs: box by box from the domain, no bound propagated on the way.

What re-checks a proof must not trust what found it. This walk shares only the arithmetic of boxes
(`solvers.cells.bit_boxes`) with the engines: it cuts the row space by the regions of the given blocks, drops rows that
a region which counts 0 holds, and joins pieces that all statements treat alike.

Source: docs/mathematics.md, "Cells and histograms"; docs/certificates.md, "What has to be trusted".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import Covering, Index, Layout, Words, packed, padded, split, split_parts
from solvers.cells.linear_system import Ints, Linear, same_rows
from solvers.foundation.errors import CertificateError, NotVerified
from solvers.statements.numbering import Facts, loose_of
from solvers.statements.release import ANY_LABEL, Box, Partition, Region

FEW = 1 << 22  # rows times pieces: so many are compared one by one
Bits = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PartitionCut:
    """One partition: every piece comes out with the number of the statement that counts its rows."""

    facts: Facts
    b: int

    @cached_property
    def block(self) -> Partition:
        """Return the block."""
        found = self.facts.release.blocks[self.b]
        if not isinstance(found, Partition):
            raise TypeError("the block is no partition")
        return found

    @cached_property
    def table(self) -> Ints:
        """Return (regions, labels): the number of the statement for a region and a label."""
        labels = self.facts.release.domain.labels
        out = np.zeros((len(self.block.boxes), labels), dtype=np.int64)
        for s, (j, label) in enumerate(zip(self.block.region.tolist(), self.block.label.tolist(), strict=True)):
            if label == ANY_LABEL:
                out[j] = s
            else:
                out[j, label] = s
        return out + self.facts.first[self.b]

    @cached_property
    def covering(self) -> Covering:
        """Return the boxes of a tree, ready to be met."""
        return Covering(Layout(self.facts.release.domain), self.block.boxes)

    def apply(self, words: Words, labels: Ints, dead: bool) -> tuple[Words, Index, Ints]:
        """Return the finer pieces, which piece each comes from, and its statement; no piece that must be empty."""
        counted = self.facts.high[self.table] > 0 if dead else np.ones_like(self.table, dtype=bool)
        if not self.block.first_match:
            piece, region = self.covering.meet(words, packed(counted.T)[labels])
            self.facts.make_room(len(piece), words.shape[1])
            return self.covering.cut(words, piece, region), piece, self.table[region, labels[piece]]
        layout, rest, rest_of = self.covering.layout, words, np.arange(len(words), dtype=np.int64)
        found, origins, statements = [], [], []
        for j, box in enumerate(self.block.boxes):
            inside, inside_of, rest, outside_of = split(layout, rest, box)
            origin, rest_of = rest_of[inside_of], rest_of[outside_of]
            kept = np.flatnonzero(counted[j, labels[origin]])
            found.append(inside[kept])
            origins.append(origin[kept])
            statements.append(self.table[j, labels[origin[kept]]])
            self.facts.make_room(len(rest) + sum(map(len, found)), words.shape[1])
        return np.concatenate(found), np.concatenate(origins), np.concatenate(statements)

    def entries(self, value: Ints) -> tuple[Ints, Ints, Ints]:
        """Return (statement, piece, coefficient) of all pieces."""
        return value, np.arange(len(value), dtype=np.int64), np.ones(len(value), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LooseCut:
    """All loose statements of one region that sum one attribute's values, or count."""

    facts: Facts
    region: Region
    of: int | None
    statements: tuple[int, ...]
    classes: tuple[tuple[int, ...], ...]  # per class of parts (one if rows are counted): every statement's coefficient
    masks: tuple[int, ...]  # per class: its parts

    def apply(self, words: Words, labels: Ints, dead: bool) -> tuple[Words, Index, Ints]:
        """Return the finer pieces, which piece each comes from, and its class (-1 outside the region)."""
        layout = Layout(self.facts.release.domain)
        inside, inside_of, outside, outside_of = split(layout, words, self.region.box)
        out, out_of = [outside], [outside_of]
        for box in self.region.minus:
            hit, hit_of, inside, rest_of = split(layout, inside, box)
            self.facts.make_room(len(inside) + sum(map(len, out)), words.shape[1])
            out.append(hit)
            out_of.append(inside_of[hit_of])
            inside_of = inside_of[rest_of]
        inner = np.zeros(len(inside), dtype=np.int64)
        if self.of is not None:
            inside, back, inner = split_parts(layout, inside, self.of, self.masks)
            inside_of = inside_of[back]
        elif dead and any(self.facts.usable[s] and self.facts.high[s] <= 0 for s in self.statements):
            inside, inside_of, inner = inside[:0], inside_of[:0], inner[:0]
        outer = np.full(sum(map(len, out)), -1, dtype=np.int64)
        return np.concatenate([inside, *out]), np.concatenate([inside_of, *out_of]), np.concatenate([inner, outer])

    def entries(self, value: Ints) -> tuple[Ints, Ints, Ints]:
        """Return (statement, piece, coefficient) of the pieces inside the region."""
        at = np.flatnonzero(value >= 0)
        coefs = np.array(self.classes, dtype=np.int64)[value[at]]
        numbers = np.array(self.statements, dtype=np.int64)
        return np.repeat(numbers[None], len(at), axis=0).ravel(), np.repeat(at, len(numbers)), coefs.ravel()


AnyCut = PartitionCut | LooseCut


def cuts_of(facts: Facts, blocks: Sequence[int]) -> list[AnyCut]:
    """Return what cuts the row space for the given blocks: trees, then lists, then loose regions."""
    release, out = facts.release, []
    loose: dict[tuple[Region, int | None], list[int]] = {}
    for b in blocks:
        if not 0 <= b < len(release.blocks):
            raise CertificateError(f"there is no block {b} in this release")
        block = release.blocks[b]
        if isinstance(block, Partition):
            out.append(PartitionCut(facts, b))
            continue
        for s, statement in enumerate(loose_of(block), start=facts.first[b]):
            loose.setdefault((statement.region, statement.of), []).append(s)
    out.sort(key=lambda cut: cut.block.first_match)
    found: list[AnyCut] = [*out]
    for (region, of), numbers in loose.items():
        coefs = [facts.statement(s).coefs for s in numbers]
        if of is None:
            found.append(LooseCut(facts, region, None, tuple(numbers), ((1,) * len(numbers),), (0,)))
            continue
        masks: dict[tuple[int, ...], int] = {}
        for part, weights in enumerate(zip(*coefs, strict=True)):
            masks[weights] = masks.get(weights, 0) | 1 << part
        found.append(LooseCut(facts, region, of, tuple(numbers), tuple(masks), tuple(masks.values())))
    return found


@dataclass(frozen=True, eq=False)
class Live:
    """The pieces that can hold rows, the cell that each is part of, and every statement of the blocks over cells.

    `linear` numbers statements as `Facts` does; `keys` tell the cells apart.
    """

    layout: Layout
    words: Words
    cell: Ints
    linear: Linear
    keys: Ints
    cuts: tuple[AnyCut, ...]

    @property
    def cells(self) -> int:
        """Return the number of cells."""
        return self.linear.columns

    @cached_property
    def number(self) -> dict[bytes, int]:
        """Return key -> cell."""
        return {key.tobytes(): c for c, key in enumerate(self.keys)}

    def sizes(self) -> list[int]:
        """Return how many raw rows every cell holds."""
        out = [0] * self.cells
        for c, size in zip(self.cell.tolist(), self.layout.sizes(self.words).tolist(), strict=True):
            out[c] += size
        return out

    def meeting(self, box: Box) -> Bits:
        """Tell which cells share a row with a box."""
        return self._any(self._meets(box))

    def inside(self, box: Box) -> Bits:
        """Tell which cells lie inside a box as a whole."""
        beyond = np.zeros(len(self.words), dtype=bool)
        for k, mask in box.literals:
            span = self.layout.span(k)
            beyond |= (self.words[:, span] & ~padded(mask, span.stop - span.start)).any(axis=1)
        return ~self._any(beyond)

    def pieces_meeting(self, box: Box) -> Ints:
        """Return the pieces that share a row with a box."""
        found: Ints = np.flatnonzero(self._meets(box)).astype(np.int64)
        return found

    def _meets(self, box: Box) -> Bits:
        out = np.ones(len(self.words), dtype=bool)
        for k, mask in box.literals:
            span = self.layout.span(k)
            out &= (self.words[:, span] & padded(mask, span.stop - span.start)).any(axis=1)
        return out

    def _any(self, pieces: Bits) -> Bits:
        out = np.zeros(self.cells, dtype=bool)
        out[self.cell[pieces]] = True
        return out


def start_of(facts: Facts, cuts: Sequence[AnyCut], words: Words | None = None) -> Words:
    """Return the possible rows (all, or of the given pieces), labels apart where some statement tells them apart."""
    layout, k = Layout(facts.release.domain), facts.release.domain.label
    words = subtract(facts, layout.full[None].copy() if words is None else words, facts.release.impossible)
    apart = any(isinstance(c, PartitionCut) and bool((c.block.label != ANY_LABEL).any()) for c in cuts)
    if k is not None and apart:
        singles = [1 << p for p in range(len(facts.release.domain.attributes[k].sizes))]
        words, _, _ = split_parts(layout, words, k, singles)
    return words


def labels_of(layout: Layout, words: Words) -> Ints:
    """Return the label of every piece (0 where there is none, or pieces hold several)."""
    k = layout.domain.label
    if k is None:
        return np.zeros(len(words), dtype=np.int64)
    found: Ints = np.argmax(layout.parts(words, k), axis=1).astype(np.int64)
    return found


def subtract(facts: Facts, words: Words, boxes: Sequence[Box]) -> Words:
    """Return pieces without some boxes."""
    layout = Layout(facts.release.domain)
    for box in boxes:
        _, _, words, _ = split(layout, words, box)
        facts.make_room(len(words), words.shape[1])
    return words


def walk(
    facts: Facts, cuts: Sequence[AnyCut], words: Words, dead: bool = True, most: int | None = None
) -> tuple[Words, list[Ints], Index]:
    """Return the finest pieces, per cut the value of each, and which of `words` each comes from.

    `dead`: rows in regions that count 0 are dropped. Raises `NotVerified` above `most` pieces, or where the limits of
    the facts are met.
    """
    layout, values = Layout(facts.release.domain), list[Ints]()
    labels, came = labels_of(layout, words), np.arange(len(words), dtype=np.int64)
    for cut in cuts:
        words, origin, value = cut.apply(words, labels, dead)
        values = [v[origin] for v in values] + [value]
        labels, came = labels[origin], came[origin]
        facts.make_room(len(words), words.shape[1] + len(values))
        if most is not None and len(words) > most:
            raise NotVerified(f"not verified: the regions cut the row space into more than {most:,} pieces")
    return words, values, came


def live_cells(facts: Facts, blocks: Sequence[int], most: int | None = None) -> Live:
    """Return the cells that the regions of some blocks leave, with their statements. Cost: pieces times blocks."""
    cuts = cuts_of(facts, blocks)
    words, values, _ = walk(facts, cuts, start_of(facts, cuts), most=most)
    matrix = np.stack(values, axis=1) if values else np.zeros((len(words), 0), dtype=np.int64)
    first, cell = same_rows(matrix)
    row, col, coef = [np.full(len(first), facts.rows)], [np.arange(len(first))], [np.ones(len(first), dtype=np.int64)]
    for cut, value in zip(cuts, values, strict=True):
        s, c, a = cut.entries(value[first])
        row.append(s)
        col.append(c)
        coef.append(a)
    entries = [np.concatenate(x).astype(np.int64) for x in (row, col, coef)]
    linear = Linear.of(entries[0], entries[1], entries[2], (facts.low, facts.high), len(first))
    return Live(Layout(facts.release.domain), words, cell, linear, np.ascontiguousarray(matrix[first]), tuple(cuts))


def points(layout: Layout, parts: Sequence[Sequence[int]]) -> Words:
    """Return rows given by their parts as pieces; raises `CertificateError` for parts that do not exist."""
    attributes = layout.domain.attributes
    out = np.zeros((len(parts), layout.at[-1]), dtype=np.uint64)
    if any(len(row) != len(attributes) for row in parts):
        raise CertificateError(f"a row has not the {len(attributes)} attributes of the domain")
    if any(not 0 <= part < len(a.sizes) for row in parts for part, a in zip(row, attributes, strict=True)):
        raise CertificateError("a row has a part that does not exist")
    table = np.array(parts, dtype=np.int64).reshape(len(parts), len(attributes))
    for k in range(len(attributes)):
        column = table[:, k]
        out[np.arange(len(parts)), layout.at[k] + column // 64] = np.left_shift(
            np.uint64(1), (column % 64).astype(np.uint64)
        )
    return out


def cells_at(facts: Facts, live: Live, parts: Sequence[Sequence[int]]) -> Ints:
    """Return the cell of every row given by its parts; raises `CertificateError` for rows that cannot exist.

    Cost: few rows are looked for among all pieces, many are walked like the whole space.
    """
    words = points(live.layout, parts)
    out = np.full(len(words), -1, dtype=np.int64)
    if len(words) * len(live.words) <= FEW:
        for i, row in enumerate(words):
            holds = np.flatnonzero(((live.words & row) == row).all(axis=1))
            out[i] = live.cell[holds[0]] if len(holds) else -1
    else:
        possible = np.arange(len(words), dtype=np.int64)
        for box in facts.release.impossible:
            _, _, words, kept = split(live.layout, words, box)
            possible = possible[kept]
        _, values, came = walk(facts, live.cuts, words)
        keys = np.stack(values, axis=1) if values else np.zeros((len(came), 0), dtype=np.int64)
        for i, key in zip(possible[came].tolist(), np.ascontiguousarray(keys), strict=True):
            out[i] = live.number[key.tobytes()]
    if (out < 0).any():
        row = list(parts[int(np.argmin(out))])
        raise CertificateError(f"no row can have the parts {row}: it is impossible, or in a region that counts 0 rows")
    return out


def statement_sums(facts: Facts, parts: Sequence[Sequence[int]], times: Sequence[int]) -> Ints:
    """Return what every statement of the release counts in a dataset of rows given by parts, nothing left out."""
    cuts = cuts_of(facts, range(len(facts.release.blocks)))
    words = points(Layout(facts.release.domain), parts)
    _, values, came = walk(facts, cuts, words, dead=False)
    often = np.array(times, dtype=np.int64)[came] if len(came) else np.zeros(0, dtype=np.int64)
    out = np.zeros(len(facts), dtype=np.int64)
    for cut, value in zip(cuts, values, strict=True):
        s, piece, coef = cut.entries(value)
        np.add.at(out, s, coef * often[piece])
    out[facts.rows] = sum(times)
    return out
