"""Training rows in the groups whose exposure was measured: each row's leaf or rule and class, or its cell.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, eq. 9 and 11: what
a tree or rule list leaves of a row depends on the leaf or rule, and class, that it lies in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.queries.leaf_values.determined import single_rows
from recon.queries.measures.figures import Measures
from recon.readers.frames.world import TrueRows
from recon.readers.loading.settled import proofs, strengthened_release
from solvers.engines.figures.system import SystemFigures
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Boxes
from solvers.statements.release import ANY_LABEL, Partition

if TYPE_CHECKING:
    import pandas as pd

EVERY_BOX = 1 << 40  # boxes of a cell: all of them

PER_ROW = ("line", "bits_left", "share_left", "least", "most", "pinned", "given_back", "by_position", "width")

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowGroups:
    """What is known about n training rows, by position.

    `line`: the line of the measured exposure that a row lies in, -1 where no group that surely holds rows has it.
    `bits_left` and `share_left` (n,): what is left given the group; NaN where it is not known. `least`, `most` (n,):
    rows of the group over all worlds, -1 where not known. `names`, `worlds`: per line. `given_back`: rows that leaf
    values pin down, which need no group; `by_position`: rows whose bits left are those of their position. `width` (n,):
    the mean share of the range of its attributes that is left at a row's position; NaN where that is not known.
    """

    line: Numbers
    bits_left: NDArray[np.float64]
    share_left: NDArray[np.float64]
    least: Numbers
    most: Numbers
    pinned: NDArray[np.bool_]
    names: Sequence[str]
    worlds: Sequence[int | None]
    given_back: NDArray[np.bool_]
    by_position: NDArray[np.bool_]
    width: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.line)

    def at(self, rows: Numbers) -> RowGroups:
        """Return what is known about some of the rows, as often and in the order in which they are given."""
        taken = {name: getattr(self, name)[rows] for name in PER_ROW}
        return replace(self, **taken)

    def name(self, i: int) -> str | None:
        """Return the name of a row's group; None where it has none."""
        return self.names[int(self.line[i])] if self.line[i] >= 0 else None

    def worlds_per_row(self, i: int) -> int | None:
        """Return how many raw rows fit what is published of a row; None where that is not known."""
        if self.given_back[i] or (self.by_position[i] and self.pinned[i]):
            return 1
        if self.by_position[i]:
            return None
        return self.worlds[int(self.line[i])] if self.line[i] >= 0 else None

    def order(self) -> Numbers:
        """Return the rows, the most exposed first: bits left, then the rows of the group, then position.

        Rows of which no bits are known come last: those that the file narrows most by position, then small groups.
        """
        bits = np.where(np.isnan(self.bits_left), np.inf, np.round(self.bits_left, 9))
        least = np.where(self.least < 0, np.iinfo(np.int64).max, self.least)
        width = np.where(np.isnan(self.width) | ~np.isinf(bits), np.inf, self.width)
        return np.lexsort((np.arange(len(self)), least, width, bits))


def row_groups(release: EncodedRelease, measures: Measures, seen: TrueRows, limits: Limits) -> RowGroups:
    """Return the group of every row and what is left of it; `seen` are whole rows as the release sees them.

    The measures are of the same release. Conditional on the row's leaf or rule (and class), or cell, as measured.
    Raises `Inconclusive` when time is up. Cost: vectorised, rows times regions in bits.
    """
    release = strengthened_release(release, limits)
    limits.check("finding the groups of the training rows")
    lines = measures.exposure
    block = None if measures.of_cells else release.statements.single
    if block is not None and len(lines) == len(block):
        found = _statements_of(block, seen, release.statements.domain.label)
    else:
        found = _cells_of(release, lines, seen, limits)
    groups = _of_lines(release, lines, found)
    if measures.counted.relative:  # sizes are volumes there: only their ratios mean anything, and 1 is no single row
        nothing = np.full(len(groups), np.nan)
        groups = replace(groups, bits_left=nothing, share_left=nothing, worlds=[None] * len(groups.worlds))
    return given_back(release, seen, groups).at(seen.back)


def _statements_of(block: Partition, seen: TrueRows, label: int | None) -> Numbers:
    """Return the statement of one partition that counts each distinct row; -1 where the row leaves it open."""
    region = seen.regions(block.boxes)
    if label is None or (block.label == ANY_LABEL).all():
        value, known = np.zeros(len(region), dtype=np.int64), np.ones(len(region), dtype=bool)
        table = block.by_label(1)
    else:
        parts = seen.parts[label]
        value, known = parts.argmax(axis=1)[seen.codes[:, label]], (parts.sum(axis=1) == 1)[seen.codes[:, label]]
        table = block.by_label(parts.shape[1])
    return np.where((region >= 0) & known, table[region, value], -1).astype(np.int64)


def _cells_of(release: EncodedRelease, lines: pd.DataFrame, seen: TrueRows, limits: Limits) -> Numbers:
    """Return the line of the cell that each distinct row lies in, of cells that surely hold rows; -1 elsewhere."""
    nowhere = np.full(len(seen.codes), -1, dtype=np.int64)
    if not len(lines):
        return nowhere
    try:
        figures = SystemFigures.of(release.statements, limits)
    except (Inconclusive, Unsupported):
        return nowhere
    pieces = [boxes for boxes, _ in figures.boxes(lines["region"].tolist(), EVERY_BOX)]
    owner = np.repeat(np.arange(len(pieces)), [len(boxes) for boxes in pieces])
    limits.check("finding the cells of the training rows")
    found = seen.regions(Boxes.of([box for boxes in pieces for box in boxes]))
    return np.where(found >= 0, owner[found], -1).astype(np.int64) if len(owner) else nowhere


def _of_lines(release: EncodedRelease, lines: pd.DataFrame, line: Numbers) -> RowGroups:
    """Return what the lines of exposure say about rows in them."""

    def taken(name: str, none: float) -> NDArray[np.float64]:
        column = lines[name].to_numpy(dtype=np.float64) if len(lines) else np.zeros(0)
        return np.append(column, none)[line]  # -1 takes the last

    worlds: list[int | None] = lines["worlds_per_row"].tolist() if len(lines) else []
    classes = lines["class"].tolist() if len(lines) else []
    names = [
        str(name) if one is None else f"{name}, class {one}"
        for name, one in zip(lines["name"].tolist() if len(lines) else [], classes, strict=True)
    ]
    single = np.array([*(w == 1 for w in worlds), False]) & (not release.domain.continuous)
    least, most = taken("rows", -1).astype(np.int64), taken("rows_most", -1).astype(np.int64)
    pinned = single[line] & (least > 0)
    nothing, nowhere = np.zeros(len(line), dtype=bool), np.full(len(line), np.nan)
    bits, share = taken("bits_left", np.nan), taken("entropy_reduction_ratio", np.nan)
    return RowGroups(line, bits, share, least, most, pinned, names, worlds, nothing, nothing, nowhere)


def given_back(release: EncodedRelease, seen: TrueRows, found: RowGroups) -> RowGroups:
    """Return the same with the rows pinned down that leaf values of boosted models give back whole."""
    whole = np.zeros(len(seen.codes), dtype=bool)
    for _, block in proofs(release.statements):
        at = _statements_of(block, seen, release.statements.domain.label)
        single = single_rows(release, block)
        whole |= (at >= 0) & (block.low[at] > 0) & single[block.region[at]] & (block.label[at] != ANY_LABEL)
    new = whole & ~found.pinned
    if not new.any():
        return found
    return replace(
        found,
        bits_left=np.where(new, 0.0, found.bits_left),
        share_left=np.where(new, 0.0, found.share_left),
        pinned=found.pinned | new,
        given_back=new,
    )
