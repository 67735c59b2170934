"""The noisy figures of a release, numbered like its statements.

Source: docs/mathematics.md, "Noise" (a noisy count is count + noise of a known law).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.numbering import StatementIndex
from solvers.statements.release import UNBOUNDED, Block, Observed, Partition, Release, RowCount


@dataclass(frozen=True, slots=True)
class Observation:
    """One noisy figure: `published` = the count of `statement` (its row in `System.linear`) + noise of `law`."""

    statement: int
    law: NoiseLaw
    published: Fraction
    source: str


def observations(release: Release) -> tuple[Observation, ...]:
    """Return every noisy figure, numbered by `solvers.statements.numbering`."""
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
    """Return the numbers of rows that every partition's intervals allow (`known` where none is left)."""
    low, high = known.low, known.high
    for block in blocks:
        if isinstance(block, Partition):
            low = max(low, int(block.low.sum()))
            tops = block.high.tolist()
            if max(tops, default=0) < UNBOUNDED:
                high = sum(tops) if high is None else min(high, sum(tops))
    return known if high is not None and low > high else RowCount(low, high)


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
