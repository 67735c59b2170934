"""The noisy figures of a release, numbered like the statements of its system.

Source: design.md, section 2 (a noisy count is count + noise of a known law).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from solvers.noise import Law
from solvers.release import UNBOUNDED, Block, Choice, Observed, Partition, Release


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
    """Return the release with nothing but certainty: noisy counts within the bound of their noise, or anything."""
    pairs = zip(release.blocks, release.observed or (None,) * len(release.blocks), strict=True)
    blocks = tuple(block if seen is None else widened_block(block, seen) for block, seen in pairs)
    return replace(release, blocks=blocks, confidence=Fraction(1) if release.observed else None)


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
