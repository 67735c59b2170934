"""Which box around a profile is proved to hold a row, where attributes are any numbers and no single value is.

Nothing in a release tells the numbers between two neighbouring thresholds apart: of a profile with numbers "such a row
exists" is never proved, but "a row in this box exists" can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.counting import decide, no_positions_reason
from recon.queries.located.positions import locate_rows
from recon.readers.frames.describe import condition_text
from recon.readers.frames.selections import profile_ranges, selections_of
from recon.readers.frames.world import TrueRows
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import LocatedAnswer
from solvers.statements.questions.query import Convention, Selections
from solvers.statements.release import ANY_LABEL


@dataclass(slots=True)
class ProvedBox:
    """The narrowest box so far that holds the profile, the least number of rows in it, and log2 of its share."""

    box: Box | None = None
    rows: int = 0
    size: float = np.inf

    def take(self, box: Box, rows: int, size: float) -> None:
        """Keep a box that is proved to hold so many rows where it is narrower than the one before."""
        if rows > 0 and (size < self.size or (size == self.size and rows > self.rows)):
            self.box, self.rows, self.size = box, rows, size


def with_boxes(
    release: EncodedRelease, frame: pd.DataFrame, found: pd.DataFrame, chosen: Convention, limits: Limits | None
) -> pd.DataFrame:
    """Return verdicts with the columns `box` and `box_rows`: the narrowest box proved to hold a row, and how many.

    The box holds the profile; None and 0 where none is proved to hold a row, where the verdict is settled and where
    the profile says no number. Candidates are what the statements do not tell from the profile, the box of a row by its
    position, and the leaves that the profile lies in. Cost: profiles x rows x attributes, profiles x leaves.
    """
    limits = limits or Limits()
    open_ones = np.flatnonzero(found["verdict"].isin(["unknown", "possible"]).to_numpy())
    proved = [ProvedBox() for _ in range(len(frame))]
    if len(open_ones):
        asked = frame.iloc[open_ones]
        asked.attrs.update(frame.attrs)
        cells = _widened(release, asked)
        if cells is not None:
            kept = [proved[i] for i in open_ones.tolist()]
            _by_leaf(release, cells, kept)
            if no_positions_reason(release):
                _by_cell(release, cells, kept, chosen, limits)
            else:
                _by_row(release, cells, kept, limits)
    texts = [None if one.box is None else condition_text(release.cut, one.box) for one in proved]
    return found.assign(box=pd.Series(texts, index=found.index, dtype=object), box_rows=[one.rows for one in proved])


def _widened(release: EncodedRelease, frame: pd.DataFrame) -> Selections | None:
    """Return profiles with every number widened to the part that it lies in; None where no profile says a number."""
    ranges, fine = profile_ranges(release, frame), set(release.domain.fine)
    numbers = [k for k in ranges if release.domain.all[k].name in fine]
    for k in numbers:
        cuts, (codes, every) = release.cut.cuts[k], ranges[k]
        parts = [tuple(cuts.bounds(cuts.part(start)) for start, _ in one) for one in every]
        ranges[k] = codes, parts
    return selections_of(release, len(frame), ranges) if numbers else None


def _size_of(release: EncodedRelease, box: Box) -> float:
    """Return log2 of the share of parts that a box allows, attribute by attribute."""
    parts = (len(release.cut.cuts[k].inner) + 1 for k, _ in box.literals)
    return float(sum(np.log2(mask.bit_count() / n) for (_, mask), n in zip(box.literals, parts, strict=True)))


def _by_cell(
    release: EncodedRelease, cells: Selections, proved: list[ProvedBox], chosen: Convention, limits: Limits
) -> None:
    """Take what no statement tells from a profile, where the engines prove rows in it."""
    some = limits.stage("profiles placed")
    low = decide(release, cells, chosen, some).low.tolist()
    for one, rows, (box, _) in zip(proved, low, cells.boxes(), strict=True):
        one.take(box, int(rows), _size_of(release, box))


def _by_leaf(release: EncodedRelease, cells: Selections, proved: list[ProvedBox]) -> None:
    """Take the leaf of every tree that a profile lies in, with its class where that is said."""
    codes, back = np.unique(cells.codes, axis=0, return_inverse=True)
    names = tuple(a.name for a in release.domain.all)
    parts = tuple(np.array(table) > 0 for table in cells.sizes)
    rows = TrueRows(names, codes, np.ones(len(codes), dtype=np.int64), back.reshape(-1), parts)
    label = release.statements.domain.label
    for block in release.statements.partitions.values():
        if block.first_match:
            continue
        region = rows.regions(block.boxes)[rows.back]
        labels = np.zeros(len(region), dtype=np.int64)
        said = np.zeros(len(region), dtype=bool)
        if label is not None:
            allowed = parts[label][cells.codes[:, label]]
            labels, said = allowed.argmax(axis=1), allowed.sum(axis=1) == 1
        table = block.by_label(1 if label is None else parts[label].shape[1])
        statement = table[region, labels]
        usable = (region >= 0) & (said | (block.label[statement] == ANY_LABEL)) & (block.low[statement] > 0)
        for i in np.flatnonzero(usable).tolist():
            stated = block.statement(int(statement[i]), release.statements.domain)
            box = stated.summands[0].region.box
            proved[i].take(box, stated.low, _size_of(release, box))


def _by_row(release: EncodedRelease, cells: Selections, proved: list[ProvedBox], limits: Limits) -> None:
    """Take the narrowest box of a row by its position that holds a profile, or what no statement tells from it."""
    try:
        answer = locate_rows(release, limits.stage("profiles placed"))
    except (Inconclusive, Unsupported):
        return
    allowed = [_parts_left(answer, k, len(cuts.inner) + 1) for k, cuts in enumerate(release.cut.cuts)]
    sizes = sum(np.log2(np.maximum(left.sum(axis=1), 1) / left.shape[1]) for left in allowed)
    order = np.argsort(sizes, kind="stable")
    boxes = cells.boxes()
    for i, one in enumerate(proved):
        if i and i % 64 == 0 and limits.expired():  # a few cost nothing
            return
        wanted = [np.array(cells.sizes[k][int(code)]) > 0 for k, code in enumerate(cells.codes[i])]
        pairs = list(zip(allowed, wanted, strict=True))
        within = np.logical_and.reduce([~left[:, ~cell].any(axis=1) for left, cell in pairs])
        one.take(boxes[i][0], int(within.sum()), _size_of(release, boxes[i][0]))
        around = np.logical_and.reduce([left[:, cell].all(axis=1) for left, cell in pairs])
        if (first := order[around[order]][:1]).size:
            at = int(first[0])
            inside = np.logical_and.reduce([~left[:, ~left[at]].any(axis=1) for left in allowed])
            one.take(_row_box(allowed, at), int(inside.sum()), float(sizes[at]))


def _parts_left(answer: LocatedAnswer, k: int, parts: int) -> NDArray[np.bool_]:
    """Return (rows, parts): the parts of attribute k that every row may have."""
    place = np.arange(parts)
    left = (place >= answer.start[:, k, None]) & (place < answer.end[:, k, None])
    return left & answer.sets[k] if k in answer.sets else left


def _row_box(allowed: list[NDArray[np.bool_]], at: int) -> Box:
    literals = []
    for k, left in enumerate(allowed):
        held = np.flatnonzero(left[at]).tolist()
        if len(held) < left.shape[1]:
            literals.append((k, sum(1 << p for p in held)))
    return Box(tuple(literals))
