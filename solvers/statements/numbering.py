"""The one numbering of a release's statements, and the way back: from a number to its block, source and words.

Statement numbers are positions in `Release.statements()`: block by block, the statements of a choice's alternatives
one after the other; the number of rows comes last. Systems, certificates, programs and exports all use them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, Release, Statement

Mask = NDArray[np.bool_]
Choices = tuple[tuple[tuple[int, ...], ...], ...]  # choice -> alternative -> statements
ROWS = "the number of rows"  # the source of the last statement


class StatementIndex:
    """Statement s says low[s] <= ... <= high[s]; those of block b are first[b]..first[b + 1], `rows` is the last."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.first = [0]
        for block in release.blocks:
            self.first.append(self.first[-1] + len(block))
        self.rows = self.first[-1]
        top = UNBOUNDED if release.rows.high is None else release.rows.high
        self.low: Ints = np.concatenate([*(b.low for b in release.blocks), [release.rows.low]]).astype(np.int64)
        self.high: Ints = np.concatenate([*(b.high for b in release.blocks), [top]]).astype(np.int64)

    def __len__(self) -> int:
        return len(self.low)

    def span(self, b: int) -> slice:
        """Return the numbers of a block's statements."""
        return slice(self.first[b], self.first[b + 1])

    def block_of(self, s: int) -> int:
        """Return the block of a statement that is not the number of rows; `IndexError` where there is none."""
        if not 0 <= s < self.rows:
            raise IndexError(s)
        return bisect_right(self.first, s) - 1

    def of_blocks(self, blocks: Iterable[int]) -> Mask:
        """Return a mask of the statements of some blocks."""
        out = np.zeros(len(self), dtype=bool)
        for b in blocks:
            out[self.span(b)] = True
        return out

    @cached_property
    def unconditional(self) -> Mask:
        """Return a mask of the statements that hold in every world: those of no alternative."""
        return ~self.of_blocks(self.release.choices)

    @cached_property
    def partitioned(self) -> Mask:
        """Return a mask of the statements of partitions."""
        return self.of_blocks(self.release.partitions)

    @cached_property
    def choices(self) -> Choices:
        """Return, per choice and alternative, the numbers of its statements."""
        return tuple(tuple(tuple(a.tolist()) for a in self.alternatives(b)) for b in self.release.choices)

    def alternatives(self, b: int) -> tuple[Ints, ...]:
        """Return the statement numbers of every alternative of the choice that is block b."""
        ends = accumulate((len(a) for a in self.release.choices[b].alternatives), initial=self.first[b])
        return tuple(np.arange(i, j, dtype=np.int64) for i, j in pairwise(ends))

    def statement(self, s: int) -> Statement:
        """Return a statement as a view, the number of rows too."""
        if s == self.rows:
            return Statement(Region(Box()), int(self.low[s]), int(self.high[s]), ROWS)
        b = self.block_of(s)
        return self.release.blocks[b].statement(s - self.first[b], self.release.domain)

    def source(self, s: int) -> str:
        """Return a human-readable source of statement s."""
        if s == self.rows:
            return ROWS
        b = self.block_of(s)
        return self.release.blocks[b].source(s - self.first[b])

    def sources(self) -> Iterator[str]:
        """Yield where every statement comes from, in their order, without the number of rows. Cost: linear."""
        return (block.source(s) for block in self.release.blocks for s in range(len(block)))
