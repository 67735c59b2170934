"""The cells of some blocks, walked anew for proofs: box by box from the domain, no bound propagated on the way.

And datasets over them: whether one is a possible world, and has a row of some kind.

What re-checks a proof must not trust what found it. This walk shares only the arithmetic of boxes
(`solvers.cells.cutting`) with the engines: it cuts the row space by the regions of the
given blocks, drops rows that a region which counts 0 holds, and joins pieces that all statements treat alike.

Source: docs/mathematics.md, "Cells and histograms"; docs/certificates.md, "What has to be trusted".

The statements of a release as proofs read them, and a fingerprint of everything that a proof can read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.cells import cutting
from solvers.cells.cutting import (
    AnyCut,
    Index,
    WordLayout,
    Words,
    beyond,
    joined_entries,
    labels_of,
    meeting,
    split_pieces,
    with_labels,
    zeros_first,
)
from solvers.cells.linear_system import SparseStatements, same_rows
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
from solvers.kernel.claims import AnyClaim, AnyProof, Possible, Witness
from solvers.kernel.proof_format import printable
from solvers.statements.boxes import Box
from solvers.statements.observations import StatementIndex
from solvers.statements.release import Choice, Loose, Partition, Release, Statement

MAX_PIECES = 1_000_000
COPIES = 8  # of the pieces that a step of a walk holds at a time


class NumberedStatements(StatementIndex):
    """The numbered statements as a proof reads them: unknown numbers are refused, within limits."""

    def __init__(self, release: Release, limits: Limits | None = None) -> None:
        super().__init__(release)
        self.limits = limits or Limits()

    def make_room(self, pieces: int, width: int) -> None:
        """Refuse to hold so many pieces of `width` words, or to go on when time is up, with `NotVerified`."""
        maximum = min(MAX_PIECES, self.limits.room // (8 * COPIES * max(1, width)))
        if pieces > maximum:
            raise NotVerified(
                f"not verified: the regions cut the row space into more than {maximum:,} pieces (--memory)"
            )
        if self.limits.expired():
            raise NotVerified("not verified: the time was up")

    def within(self, blocks: Iterable[int]) -> NDArray[np.bool_]:
        """Return which statements are of some blocks, or the number of rows."""
        out = self.of_blocks(blocks)
        out[self.rows] = True
        return out

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Return a mask of the statements that do not bar rows: those of alternatives, and those above 0."""
        return ~self.unconditional | (self.high > 0)

    def block_of(self, s: int) -> int:
        """Return the block of a statement that is not the number of rows."""
        if not 0 <= s < self.rows:
            raise CertificateError(f"there is no statement {s} in a block of this release")
        return super().block_of(s)

    def alternatives(self, b: int) -> tuple[Ints, ...]:
        """Return the statement numbers of every alternative of a choice."""
        if b not in self.release.choices:
            raise CertificateError(f"block {b} is no choice")
        return super().alternatives(b)

    @cached_property
    def fingerprint(self) -> str:
        """Return a SHA-256 over domain, rows, impossible boxes and statements, as lower case hexadecimal."""
        digest = hashlib.sha256()
        for part in self._parts():
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.hexdigest()

    def _parts(self) -> Iterator[bytes]:
        """Yield everything that statements and row space say, in a fixed form."""
        release = self.release
        yield repr([(a.name, a.sizes) for a in release.domain.attributes]).encode()
        yield repr((release.domain.label, release.rows.low, release.rows.high)).encode()
        yield repr([b.literals for b in release.impossible]).encode()
        for block in release.blocks:
            if isinstance(block, Choice):
                yield repr(
                    ("Choice", [_as_tuple(s) for s in block.members], [len(a) for a in block.alternatives])
                ).encode()
            elif isinstance(block, Loose):  # "tuple": what the fingerprint has always called it
                yield repr(("tuple", [_as_tuple(s) for s in block.members], [len(block)])).encode()
            if not isinstance(block, Partition):
                continue
            yield repr((block.kind, block.first_match, block.names, block.labels)).encode()
            for numbers in (block.boxes.start, block.boxes.attribute, block.region, block.label, block.low, block.high):
                yield np.ascontiguousarray(numbers, dtype="<i8").tobytes()
            yield repr(block.boxes.mask.tolist()).encode()
        for bags in release.bags:
            yield repr(("Bags", bags.name, bags.times.shape, bags.blocks)).encode()
            yield np.ascontiguousarray(bags.times, dtype="<i4").tobytes()
            for tree in bags.trees:
                yield repr((tree.kind, tree.names, tree.labels)).encode()
                boxes = tree.boxes
                for numbers in (boxes.start, boxes.attribute, tree.region, tree.label, tree.count, tree.distinct):
                    yield np.ascontiguousarray(numbers, dtype="<i8").tobytes()
                yield repr(boxes.mask.tolist()).encode()
            if (known := bags.known).attributes:
                yield repr(("KnownValues", known.attributes, [each.shape for each in known.allowed])).encode()
                yield np.ascontiguousarray(known.codes, dtype="<i8").tobytes()
                yield from (np.packbits(each).tobytes() for each in known.allowed)
        for model in release.boosted:
            yield repr((model.name, model.gradients, model.start, model.base, model.labels)).encode()
            for leaves in model.trees:
                yield repr((leaves.block, leaves.round, leaves.of, leaves.names)).encode()
                for members in (leaves.start, leaves.leaf):
                    yield np.ascontiguousarray(members, dtype="<i8").tobytes()
                for reals in (leaves.step, leaves.gradient, leaves.hessian, leaves.square, leaves.low, leaves.high):
                    yield np.ascontiguousarray(reals, dtype="<f8").tobytes()


def _as_tuple(s: Statement) -> tuple[object, ...]:
    """Return a loose statement as plain numbers and words."""
    one, *more = s.summands
    if more or one.times != 1 or len(one.factors) > 1:
        each = [([b.literals for b in one.boxes], one.times, one.factors) for one in s.summands]
        return "linear", each, s.low, s.high, s.source, s.coarse
    of, coefs = one.factors[0] if one.factors else (None, ())
    return [b.literals for b in one.boxes], s.low, s.high, s.source, of, coefs, s.coarse


SAFE = 1 << 61  # sums below stay exact in 64 bits
Parts = tuple[tuple[int, ...], ...]
Dataset = tuple[Parts, tuple[int, ...]]  # rows by their parts, and how often each occurs

MAX_PAIRWISE = 1 << 22  # rows times pieces: so many are compared one by one


@dataclass(frozen=True, eq=False)
class Live:
    """The pieces that can hold rows, the cell that each is part of, and every statement of the blocks over cells.

    `linear` numbers statements as `NumberedStatements` does; `keys` tell the cells apart.
    """

    layout: WordLayout
    words: Words
    cell: Ints
    linear: SparseStatements
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
        """Return which cells share a row with a box."""
        return self._any(meeting(self.layout, self.words, box))

    def inside(self, box: Box) -> Bits:
        """Return which cells lie inside a box as a whole."""
        return ~self._any(beyond(self.layout, self.words, box))

    def pieces_meeting(self, box: Box) -> Ints:
        """Return the pieces that share a row with a box."""
        found: Ints = np.flatnonzero(meeting(self.layout, self.words, box)).astype(np.int64)
        return found

    def _any(self, pieces: Bits) -> Bits:
        out = np.zeros(self.cells, dtype=bool)
        out[self.cell[pieces]] = True
        return out


def cuts_of(facts: NumberedStatements, blocks: Sequence[int]) -> list[AnyCut]:
    """Return what cuts the row space for the given blocks; raises `CertificateError` for one that does not exist."""
    for b in blocks:
        if not 0 <= b < len(facts.release.blocks):
            raise CertificateError(f"there is no block {b} in this release")
    return cutting.cuts_of(facts, blocks)


def start_of(facts: NumberedStatements, cuts: Sequence[AnyCut], words: Words | None = None) -> Words:
    """Return the possible rows (all, or of the given pieces), labels apart where some statement tells them apart."""
    layout = WordLayout(facts.release.domain)
    words = subtract(facts, layout.full[None].copy() if words is None else words, facts.release.impossible)
    return with_labels(layout, words, cuts)


def subtract(facts: NumberedStatements, words: Words, boxes: Sequence[Box]) -> Words:
    """Return pieces without some boxes."""
    layout = WordLayout(facts.release.domain)
    for box in boxes:
        _, _, words, _ = split_pieces(layout, words, box)
        facts.make_room(len(words), words.shape[1])
    return words


def _atoms(
    facts: NumberedStatements, cuts: Sequence[AnyCut], words: Words, dead: bool = True, maximum: int | None = None
) -> tuple[Words, list[Ints], Index]:
    """Return the finest pieces, per cut the value of each, and which of `words` each comes from.

    `dead`: rows in regions that count 0 are dropped, first of all those of loose counts, which then have no column.
    Raises `NotVerified` above `maximum` pieces, or where the limits of the facts are met.
    """
    values, allowed = list[Ints](), facts.allowed if dead else np.ones(len(facts), dtype=bool)
    came, (barring, others) = np.arange(len(words), dtype=np.int64), zeros_first(cuts, allowed)
    for zero in barring:
        words, origin, _ = zero.apply(words, came, allowed, facts.make_room)
        came = came[origin]
    labels = labels_of(WordLayout(facts.release.domain), words)
    for cut in others:
        before = words
        words, origin, value = cut.apply(before, labels, allowed, facts.make_room)
        if words is not before:
            values = [v[origin] for v in values]
            labels, came = labels[origin], came[origin]
        values.append(value)
        facts.make_room(len(words), words.shape[1] + len(values))
        if maximum is not None and len(words) > maximum:
            raise NotVerified(f"not verified: the regions cut the row space into more than {maximum:,} pieces")
    return words, values, came


def live_cells(facts: NumberedStatements, blocks: Sequence[int], maximum: int | None = None) -> Live:
    """Return the cells that the regions of some blocks leave, with their statements. Cost: pieces times blocks."""
    cuts = cuts_of(facts, blocks)
    words, values, _ = _atoms(facts, cuts, start_of(facts, cuts), maximum=maximum)
    _, cutting_on = zeros_first(cuts, facts.allowed)
    matrix = np.stack(values, axis=1) if values else np.zeros((len(words), 0), dtype=np.int64)
    first, cell = same_rows(matrix)
    everybody = np.full(len(first), facts.rows), np.arange(len(first)), np.ones(len(first), dtype=np.int64)
    each = [everybody, *(cut.entries(value[first]) for cut, value in zip(cutting_on, values, strict=True))]
    linear = SparseStatements.of(*joined_entries(each, cutting_on), (facts.low, facts.high), len(first))
    return Live(WordLayout(facts.release.domain), words, cell, linear, np.ascontiguousarray(matrix[first]), tuple(cuts))


def _points(layout: WordLayout, parts: Sequence[Sequence[int]]) -> Words:
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


def cells_at(facts: NumberedStatements, live: Live, parts: Sequence[Sequence[int]]) -> Ints:
    """Return the cell of every row given by its parts; raises `CertificateError` for rows that cannot exist.

    Cost: few rows are looked for among all pieces, many are walked like the whole space.
    """
    words = _points(live.layout, parts)
    out = np.full(len(words), -1, dtype=np.int64)
    if len(words) * len(live.words) <= MAX_PAIRWISE:
        for i, row in enumerate(words):
            holds = np.flatnonzero(((live.words & row) == row).all(axis=1))
            out[i] = live.cell[holds[0]] if len(holds) else -1
    else:
        possible = np.arange(len(words), dtype=np.int64)
        for box in facts.release.impossible:
            _, _, words, kept = split_pieces(live.layout, words, box)
            possible = possible[kept]
        _, values, came = _atoms(facts, live.cuts, words)
        keys = np.stack(values, axis=1) if values else np.zeros((len(came), 0), dtype=np.int64)
        for i, key in zip(possible[came].tolist(), np.ascontiguousarray(keys), strict=True):
            out[i] = live.number[key.tobytes()]
    if (out < 0).any():
        row = list(parts[int(np.argmin(out))])
        raise CertificateError(f"no row can have the parts {row}: it is impossible, or in a region that counts 0 rows")
    return out


def statement_sums(facts: NumberedStatements, parts: Sequence[Sequence[int]], times: Sequence[int]) -> Ints:
    """Return what every statement of the release counts in a dataset of rows given by parts, nothing left out."""
    cuts = cuts_of(facts, range(len(facts.release.blocks)))
    words = _points(WordLayout(facts.release.domain), parts)
    _, values, came = _atoms(facts, cuts, words, dead=False)
    often = np.array(times, dtype=np.int64)[came] if len(came) else np.zeros(0, dtype=np.int64)
    out = np.zeros(len(facts), dtype=np.int64)
    for cut, value in zip(cuts, values, strict=True):
        s, piece, coef = cut.entries(value)
        np.add.at(out, s, coef * often[piece])
    out[facts.rows] = sum(times)
    return out


def check_witness(facts: NumberedStatements, claim: AnyClaim, proof: AnyProof, known: set[Dataset]) -> None:
    """Check a possible world with a row of the claim; `known` are worlds checked before, which many profiles share."""
    if not isinstance(claim, Possible) or not isinstance(proof, Witness):
        raise CertificateError("a world proves what is possible; nothing else does, and it proves nothing else")
    if (world := (proof.parts, proof.times)) not in known:
        check_world(facts, *world)
        known.add(world)
    rows = proof.parts
    if proof.instead is not None:
        _check_exchange(facts, proof)
        rows = (proof.instead[1],)
    if not any(all(mask >> row[k] & 1 for k, mask in claim.box.literals) for row in rows):
        raise CertificateError("no row of the world is one that the claim is about")


def _check_exchange(facts: NumberedStatements, proof: Witness) -> None:
    """Refuse a row in the place of another that some statement does not weigh alike, or that cannot exist."""
    i, row = proof.instead or (0, ())
    if not 0 <= i < len(proof.parts):
        raise CertificateError(f"the world has no row {printable(i)} to exchange")
    cells_at(facts, live_cells(facts, ()), (row,))
    if (statement_sums(facts, (row,), (1,)) != statement_sums(facts, (proof.parts[i],), (1,))).any():
        raise CertificateError("some statement tells the row that is exchanged from the one in its place")


def check_world(facts: NumberedStatements, parts: tuple[tuple[int, ...], ...], times: tuple[int, ...]) -> None:
    """Refuse a dataset, rows given by their parts, that does not meet every statement."""
    if facts.release.unstated:
        raise CertificateError("not all that was published is stated exactly: which worlds are possible is not checked")
    if len(parts) != len(times) or any(t < 1 for t in times):
        raise CertificateError("the world does not say how often each of its rows occurs")
    if len(set(parts)) != len(parts):
        raise CertificateError("the world lists a row twice")
    if sum(times) > SAFE:
        raise CertificateError("the world has more rows than can be added up")
    cells_at(facts, live_cells(facts, ()), parts)  # no impossible row, no part that does not exist
    sums = statement_sums(facts, parts, times)
    met = (sums >= facts.low) & (sums <= facts.high)
    wrong = np.flatnonzero(facts.unconditional & ~met)
    if len(wrong):
        s = int(wrong[0])
        raise CertificateError(f"the world has {sums[s]} where {facts.statement(s).source} says otherwise")
    for b, block in enumerate(facts.release.blocks):
        if isinstance(block, Choice) and sum(bool(met[a].all()) for a in facts.alternatives(b)) != 1:
            raise CertificateError(f"the world does not meet {block.name}")
        for statement in block.members if isinstance(block, Choice | Loose) else ():
            if statement.coarse:
                raise CertificateError(f"{statement.source}: only bounds on what was published can be checked")
