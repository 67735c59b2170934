"""The statements of a release as proofs read them, and a fingerprint of everything that a proof can read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
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
