"""Bounds on selections that are no worse than any single published count around them, or inside them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.cells.bit_boxes import WordLayout, Words
from solvers.foundation.array_types import Bits, Ints
from solvers.statements.boxes import Boxes
from solvers.statements.questions.answers import DecideAnswer, settled_share
from solvers.statements.questions.query import Selections
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition, Release

WORK = 100_000_000  # words of counts that are compared with selections: about a second


@dataclass(frozen=True, eq=False)
class _Counts:
    """What a release counts of boxes. `whole`: the count is of all of the box, not of what earlier rules leave."""

    words: Words
    low: Ints
    high: Ints
    whole: Bits


@dataclass(slots=True)
class _KnownCounts:
    """The counts of a release."""

    counts: _Counts | None = None


def sharpened(release: Release, chosen: Selections, known: DecideAnswer, settled: bool = False) -> DecideAnswer:
    """Return bounds on selections that are no worse than those of any published count around or inside them.

    `settled`: only where that leaves one number; looser bounds would keep whoever asks on from looking for better ones.
    Cost: counts times selections whose rows are not known; beyond `WORK` words the last of these stay as they are.
    """
    if known.status == "exact" or not (known.low < known.high).any():
        return known
    low, high = _counts_around(release, chosen, np.flatnonzero(known.low < known.high))
    low, high = np.maximum(known.low, low), np.minimum(known.high, high)
    better = (low == high) & (known.low < known.high) if settled else (low > known.low) | (high < known.high)
    if not better.any() or (low > high).any():
        return known
    low, high = np.where(better, low, known.low), np.where(better, high, known.high)
    share = settled_share(low, high, known.probability)
    return replace(known, low=low, high=high, probability=share, open=known.open & (low <= 0) & (high > 0))


def _counts_around(release: Release, chosen: Selections, asked: Ints) -> tuple[Ints, Ints]:
    """Return, for the selections asked, the most rows that a count inside has, and the fewest that one around has.

    (0, UNBOUNDED) where there is none, and for the others.
    """
    counts, layout = _counts(release), WordLayout(release.domain)
    least, most = np.zeros(len(chosen), dtype=np.int64), np.full(len(chosen), UNBOUNDED)
    met = chosen.boxes()
    for i in asked[: WORK // max(1, counts.words.size)].tolist():
        outer, inner = layout.rows(Boxes.of(met[i]))
        around = counts.whole & ~(outer & ~counts.words).any(axis=1)
        most[i] = counts.high[around].min(initial=UNBOUNDED)
        inside = ~(counts.words & ~inner).any(axis=1)
        least[i] = counts.low[inside].max(initial=0)
    return least, most


def _counts(release: Release) -> _Counts:
    """Return the counts of a release that hold in every world, collected once."""
    known = release.derived.part(_KnownCounts)
    if known.counts is None:
        every = [(s, s.region) for block in release.loose.values() for s in block]
        loose = [(s, region) for s, region in every if region is not None]
        layout = WordLayout(release.domain)
        boxes = Boxes.of([region.box for _, region in loose])
        words = [layout.rows(boxes), *(_words(layout, p) for p in _parts(release))]
        ends = [
            [np.array([getattr(s, end) for s, _ in loose], dtype=np.int64), *(getattr(p, end) for p in _parts(release))]
            for end in ("low", "high")
        ]
        whole = [np.array([not region.minus for _, region in loose], dtype=bool)]
        whole += [np.full(len(p), not p.first_match) for p in _parts(release)]
        low, high = map(np.concatenate, ends)
        known.counts = _Counts(np.concatenate(words), low, high, np.concatenate(whole))
    return known.counts


def _parts(release: Release) -> list[Partition]:
    return list(release.partitions.values())


def _words(layout: WordLayout, block: Partition) -> Words:
    """Return the boxes of a partition's counts, the label folded in."""
    found: Words = layout.rows(block.boxes)[block.region]
    k = layout.domain.label
    counted = np.flatnonzero(block.label != ANY_LABEL)
    if k is not None and len(counted):
        label, first = block.label[counted].astype(np.int64), layout.at[k]
        only = np.zeros((len(counted), layout.at[k + 1] - first), dtype=np.uint64)
        only[np.arange(len(counted)), label // 64] = np.left_shift(np.uint64(1), (label % 64).astype(np.uint64))
        found[counted, first : layout.at[k + 1]] &= only
    return found
