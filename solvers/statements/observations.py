"""The noisy figures of a release, numbered like the statements of its system.

Source: docs/mathematics.md, "Noise" (a noisy count is count + noise of a known law).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from solvers.noise.laws import Law
from solvers.statements.release import UNBOUNDED, Block, Choice, Observed, Partition, Release, Rows


@dataclass(frozen=True, slots=True)
class Observation:
    """One noisy figure: `published` = the count of `statement` (its row in `System.linear`) + noise of `law`."""

    statement: int
    law: Law
    published: Fraction
    source: str


def observations(release: Release) -> tuple[Observation, ...]:
    """Return every noisy figure, numbered like the statements of the system (`first_statements`)."""
    if not release.observed:
        return ()
    out: list[Observation] = []
    for b, first in first_statements(release).items():
        block, seen = release.blocks[b], release.observed[b]
        if seen is None or isinstance(block, Choice):
            continue
        for s, published in enumerate(seen.published):
            if published is not None:
                source = block.source(s) if isinstance(block, Partition) else block[s].source
                out.append(Observation(first + s, seen.law, published, source))
    return tuple(out)


def first_statements(release: Release) -> dict[int, int]:
    """Return the number of every block's first statement in the system: partitions in block order, then the others."""
    out: dict[int, int] = {}
    first = 0
    for b in sorted(range(len(release.blocks)), key=lambda b: not isinstance(release.blocks[b], Partition)):
        block, out[b] = release.blocks[b], first
        first += sum(map(len, block.alternatives)) if isinstance(block, Choice) else len(block)
    return out


def widened(release: Release) -> Release:
    """Return the release with nothing but certainty: noisy counts within the bound of their noise, or anything.

    Its rows are those known whatever the noise, not those that the intervals at some confidence left.
    """
    blocks = tuple(certain_blocks(release.blocks, release.observed))
    rows = release.rows if release.certain_rows is None else release.certain_rows
    return replace(release, blocks=blocks, rows=rows, confidence=Fraction(1) if release.observed else None)


def within_noise(wide: Release, alpha: Fraction) -> Release:
    """Return a widened release with no more rows than some partition counts without noise rarer than alpha.

    A dataset with more rows has a count that needs noise so large that noise as large has probability alpha at most.
    """
    most = [
        rows_at_most(block, seen, alpha)
        for block, seen in zip(wide.blocks, wide.observed, strict=True)
        if isinstance(block, Partition) and seen is not None
    ]
    high = min(most, default=UNBOUNDED)
    if high >= UNBOUNDED or (wide.rows.high is not None and wide.rows.high <= high):
        return wide
    return replace(wide, rows=Rows(wide.rows.low, max(high, wide.rows.low)))


def rows_at_most(block: Partition, seen: Observed, alpha: Fraction) -> int:
    """Return the rows that a widened partition counts at most, all its noise likelier than alpha; UNBOUNDED for any."""
    reach = Fraction(0) if seen.law.bounded else seen.law.radius(alpha) + seen.law.slack
    tops = [
        high if figure is None or seen.law.bounded else max(0, math.floor(figure + reach))
        for figure, high in zip(seen.published, block.high.tolist(), strict=True)
    ]
    return UNBOUNDED if max(tops, default=0) >= UNBOUNDED else sum(tops)


def certain_rows(blocks: Sequence[Block], observed: Sequence[Observed | None], known: Rows) -> Rows:
    """Return what is known of the number of rows whatever the noise: declared, exact counts and bounded noise."""
    return rows_between(certain_blocks(blocks, observed), known)


def rows_between(blocks: Sequence[Block], known: Rows) -> Rows:
    """Return the numbers of rows that every partition's intervals allow (`known` where none is left)."""
    low, high = known.low, known.high
    for block in blocks:
        if isinstance(block, Partition):
            low = max(low, int(block.low.sum()))
            tops = block.high.tolist()
            if max(tops, default=0) < UNBOUNDED:
                high = sum(tops) if high is None else min(high, sum(tops))
    return known if high is not None and low > high else Rows(low, high)


def certain_blocks(blocks: Sequence[Block], observed: Sequence[Observed | None]) -> list[Block]:
    """Return the blocks with certain bounds on their noisy counts."""
    pairs = zip(blocks, observed or (None,) * len(blocks), strict=True)
    return [block if seen is None else widened_block(block, seen) for block, seen in pairs]


def widened_block(block: Block, seen: Observed) -> Block:
    """Return a block with certain bounds on its noisy counts."""
    bounds = [None if figure is None else certain_bounds(seen.law, figure) for figure in seen.published]
    if isinstance(block, Partition):
        known = [(int(a), int(b)) for a, b in zip(block.low, block.high, strict=True)]
        low, high = zip(*(k if b is None else b for k, b in zip(known, bounds, strict=True)), strict=True)
        return replace(block, low=np.array(low, dtype=np.int64), high=np.array(high, dtype=np.int64))
    if isinstance(block, Choice):
        return block
    return tuple(s if b is None else replace(s, low=b[0], high=b[1]) for s, b in zip(block, bounds, strict=True))


def certain_bounds(law: Law, published: Fraction) -> tuple[int, int]:
    """Return the counts that the noise cannot exclude; (1, 0) where there is none."""
    if not law.bounded:
        return 0, UNBOUNDED
    low, high = law.interval(published, law.radius(Fraction(0)))
    return (low, high) if low <= high else (1, 0)
