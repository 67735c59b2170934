"""The noisy figures of a release, numbered like its statements.

Source: docs/mathematics.md, "Noise" (a noisy count is count + noise of a known law).

The one numbering of a release's statements, and the way back: from a number to its block, source and words.

Statement numbers are positions in `Release.statements()`: block by block, the statements of a choice's alternatives
one after the other; the number of rows comes last. Systems, certificates, programs and exports all use them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints
from solvers.statements.boxes import Box, Region
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.release import UNBOUNDED, Block, Loose, Observed, Partition, Release, RowCount, Statement

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
            return Statement.count(Region(Box()), int(self.low[s]), int(self.high[s]), ROWS)
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


@dataclass(frozen=True, slots=True)
class Observation:
    """One noisy figure: `published` = the count of `statement` (its row in `System.linear`) + noise of `law`."""

    statement: int
    law: NoiseLaw
    published: Fraction
    source: str


def observations(release: Release) -> tuple[Observation, ...]:
    """Return every noisy figure, numbered by `solvers.statements.observations`."""
    if not release.observed:
        return ()
    index, out = StatementIndex(release), list[Observation]()
    for b, seen in enumerate(release.observed):
        for s, published in enumerate(seen.published if seen is not None else ()):
            if seen is not None and published is not None:
                out.append(Observation(index.first[b] + s, seen.law, published, release.blocks[b].source(s)))
    return tuple(out)


def widened(release: Release) -> Release:
    """Return the release with nothing but certainty: noisy counts within the bound of their noise, or anything.

    Its rows are those known whatever the noise, not those that the intervals at some confidence left.
    """
    blocks = tuple(_certain_blocks(release.blocks, release.observed))
    rows = release.rows if release.certain_rows is None else release.certain_rows
    return replace(release, blocks=blocks, rows=rows, confidence=Fraction(1) if release.observed else None)


def within_noise(wide: Release, alpha: Fraction) -> Release:
    """Return a widened release with no more rows than some partition counts without noise rarer than alpha.

    A dataset with more rows has a count that needs noise so large that noise as large has probability alpha at most.
    """
    maximum = [
        _rows_at_most(block, seen, alpha)
        for b, block in wide.partitions.items()
        if b < len(wide.observed) and (seen := wide.observed[b]) is not None
    ]
    high = min(maximum, default=UNBOUNDED)
    if high >= UNBOUNDED or (wide.rows.high is not None and wide.rows.high <= high):
        return wide
    return replace(wide, rows=RowCount(wide.rows.low, max(high, wide.rows.low)))


def _rows_at_most(block: Partition, seen: Observed, alpha: Fraction) -> int:
    """Return the rows that a widened partition counts at most, all its noise likelier than alpha; UNBOUNDED for any."""
    reach = Fraction(0) if seen.law.bounded else seen.law.radius(alpha) + seen.law.slack
    tops = [
        high if figure is None or seen.law.bounded else max(0, math.floor(figure + reach))
        for figure, high in zip(seen.published, block.high.tolist(), strict=True)
    ]
    return UNBOUNDED if max(tops, default=0) >= UNBOUNDED else sum(tops)


def certain_rows(blocks: Sequence[Block], observed: Sequence[Observed | None], known: RowCount) -> RowCount:
    """Return what is known of the number of rows whatever the noise: declared, exact counts and bounded noise."""
    return rows_between(_certain_blocks(blocks, observed), known)


def rows_between(blocks: Sequence[Block], known: RowCount) -> RowCount:
    """Return the numbers of rows that the intervals of partitions and of sums over everybody allow.

    `known` where none is left. Cost: linear in the statements; of loose ones only sums over everybody are looked at.
    """
    low, high = known.low, known.high
    for block in blocks:
        if isinstance(block, Partition):
            low = max(low, int(block.low.sum()))
            tops = block.high.tolist()
            found = [] if max(tops, default=0) == UNBOUNDED else [sum(tops)]
        elif isinstance(block, Loose):
            spans = [_rows_of_sum(one) for one in block]
            low = max([low, *(least for least, _ in spans)])
            found = [most for _, most in spans if most is not None]
        else:
            continue
        high = min(found if high is None else [high, *found], default=None)
    return known if high is not None and low > high else RowCount(low, high)


def _rows_of_sum(statement: Statement) -> tuple[int, int | None]:
    """Return how many rows there are at least and at most by a sum to which every row adds; (0, None) by any other."""
    least = greatest = 0
    for one in statement.summands:
        low, high = one.extremes
        some = any(box.literals for box in one.boxes)  # rows outside the region add nothing
        least, greatest = least + (min(0, low) if some else low), greatest + (max(0, high) if some else high)
    low, high = statement.low, statement.high
    if greatest < 0:
        least, greatest, low, high = -greatest, -least, -high, -low
    if least <= 0:
        return 0, None
    return max(0, -(-low // greatest)), None if high == UNBOUNDED else max(0, high // least)


def _certain_blocks(blocks: Sequence[Block], observed: Sequence[Observed | None]) -> list[Block]:
    """Return the blocks with certain bounds on their noisy counts."""
    pairs = zip(blocks, observed or (None,) * len(blocks), strict=True)
    return [block if seen is None else _widened_block(block, seen) for block, seen in pairs]


def _widened_block(block: Block, seen: Observed) -> Block:
    """Return a block with certain bounds on its noisy counts."""
    low, high = block.low.copy(), block.high.copy()
    for s, figure in enumerate(seen.published):
        if figure is not None:
            low[s], high[s] = certain_bounds(seen.law, figure)
    return block.bounded(low, high)


def certain_bounds(law: NoiseLaw, published: Fraction) -> tuple[int, int]:
    """Return the counts that the noise cannot exclude; (1, 0) where there is none."""
    if not law.bounded:
        return 0, UNBOUNDED
    low, high = law.interval(published, law.radius(Fraction(0)))
    return (low, high) if low <= high else (1, 0)
