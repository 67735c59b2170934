"""The statements of a release, numbered once and for all, and a fingerprint of everything a proof can read.

Statement numbers are positions in `Release.statements()`: block by block, the statements of a choice's alternatives
one after the other; the number of rows comes last.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
from solvers.statements.release import UNBOUNDED, Block, Box, Choice, Partition, Region, Release, Statement

Ints = NDArray[np.int64]
MOST_PIECES = 1_000_000
COPIES = 8  # of the pieces that a step of a walk holds at a time


class Facts:
    """Statement s says low[s] <= ... <= high[s]; `usable` are those that hold in every world."""

    def __init__(self, release: Release, limits: Limits | None = None) -> None:
        self.release, self.limits = release, limits or Limits()
        self.first = [0]
        low, high = [], []
        for block in release.blocks:
            if isinstance(block, Partition):
                low.append(block.low)
                high.append(block.high)
            else:
                loose = loose_of(block)
                low.append(np.array([s.low for s in loose], dtype=np.int64))
                high.append(np.array([s.high for s in loose], dtype=np.int64))
            self.first.append(self.first[-1] + len(low[-1]))
        self.rows = self.first[-1]
        top = UNBOUNDED if release.rows.high is None else release.rows.high
        self.low: Ints = np.concatenate([*low, [release.rows.low]]).astype(np.int64)
        self.high: Ints = np.concatenate([*high, [top]]).astype(np.int64)
        self.usable = np.ones(len(self.low), dtype=bool)
        for b, block in enumerate(release.blocks):
            if isinstance(block, Choice):
                self.usable[self.first[b] : self.first[b + 1]] = False

    def __len__(self) -> int:
        return len(self.low)

    def make_room(self, pieces: int, width: int) -> None:
        """Refuse to hold so many pieces of `width` words, or to go on when time is up, with `NotVerified`."""
        most = min(MOST_PIECES, self.limits.memory // (8 * COPIES * max(1, width)))
        if pieces > most:
            raise NotVerified(f"not verified: the regions cut the row space into more than {most:,} pieces (--memory)")
        if self.limits.expired():
            raise NotVerified("not verified: the time was up")

    def within(self, blocks: Iterable[int]) -> NDArray[np.bool_]:
        """Tell which statements are of some blocks, or the number of rows."""
        out = np.zeros(len(self), dtype=bool)
        for b in blocks:
            out[self.first[b] : self.first[b + 1]] = True
        out[self.rows] = True
        return out

    def block_of(self, s: int) -> int:
        """Return the block of a statement that is not the number of rows."""
        if not 0 <= s < self.rows:
            raise CertificateError(f"there is no statement {s} in a block of this release")
        return int(np.searchsorted(self.first, s, side="right")) - 1

    def alternatives(self, b: int) -> tuple[Ints, ...]:
        """Return the statement numbers of every alternative of a choice."""
        block = self.release.blocks[b] if 0 <= b < len(self.release.blocks) else None
        if not isinstance(block, Choice):
            raise CertificateError(f"block {b} is no choice")
        ends = np.cumsum([self.first[b], *(len(a) for a in block.alternatives)])
        return tuple(np.arange(i, j, dtype=np.int64) for i, j in pairwise(ends))

    def statement(self, s: int) -> Statement:
        """Return a statement as a view, the number of rows too."""
        if s == self.rows:
            return Statement(whole_space(), int(self.low[s]), int(self.high[s]), "the number of rows")
        b = self.block_of(s)
        block = self.release.blocks[b]
        if isinstance(block, Partition):
            return block.statement(s - self.first[b], self.release.domain)
        return loose_of(block)[s - self.first[b]]

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
            if not isinstance(block, Partition):
                yield repr((type(block).__name__, [told(s) for s in loose_of(block)], lengths_of(block))).encode()
                continue
            yield repr((block.kind, block.first_match, block.names, block.labels)).encode()
            for numbers in (block.boxes.start, block.boxes.attribute, block.region, block.label, block.low, block.high):
                yield np.ascontiguousarray(numbers, dtype="<i8").tobytes()
            yield repr(block.boxes.mask.tolist()).encode()


def whole_space() -> Region:
    """Return the region of all rows."""
    return Region(Box())


def told(s: Statement) -> tuple[object, ...]:
    """Return a loose statement as plain numbers and words."""
    boxes = [b.literals for b in (s.region.box, *s.region.minus)]
    return boxes, s.low, s.high, s.source, s.of, s.coefs, s.coarse


def lengths_of(block: Block) -> list[int]:
    """Return how many statements each alternative of a choice has; one number for loose statements."""
    if isinstance(block, Choice):
        return [len(a) for a in block.alternatives]
    return [len(loose_of(block))]


def loose_of(block: Block) -> list[Statement]:
    """Return the statements of a block that is no partition, in order."""
    if isinstance(block, Choice):
        return [s for alternative in block.alternatives for s in alternative]
    return [] if isinstance(block, Partition) else list(block)
