"""Cells that were suppressed, or published as an interval: which counts they can still have over all worlds.

What is published of such a cell is not a count: the smallest of 1..9 is not "1 row". What other figures leave of it is
its feasible interval, and where that is one number the suppression has failed: the cell is recovered.
Of releases that are tables of counts and nothing else their cells are the unknowns (`solvers.suppression`): the row
space of all attributes may be too large to look at.

Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (auditing of suppressed tables: the feasibility
interval of every primary cell; Fischetti and Salazar, Management Science 47, 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import PublishedFigure
from recon.queries.bounds.disclosure import tells
from solvers.engines.chain import ask
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.leaf_values.blocks import KIND, TOTALS
from solvers.statements.questions.answers import DecideAnswer, ExtremeAnswer
from solvers.statements.questions.query import Decide, Extreme
from solvers.statements.release import UNBOUNDED
from solvers.suppression.intervals import cell_intervals
from solvers.suppression.linked_cells import LinkedCells, tables_of

MAX_CELLS = 10_000  # that are asked about


@dataclass(frozen=True)
class UnpublishedCell:
    """A cell whose count was not published: the interval that was, and the one that is left over all worlds.

    `published`: least and greatest count as published (None: no such end). `suppressed`: which rule hid it ("": it was
    published as an interval, or left open by the number of rows). `feasible`: proved outer bounds on its rows, `tight`:
    both ends are those of some world.
    """

    name: str
    published: tuple[int | None, int | None]
    suppressed: str
    feasible: tuple[int, int]
    tight: bool

    @property
    def width(self) -> int:
        """Return how many rows the greatest count that is left has more than the least."""
        return self.feasible[1] - self.feasible[0]

    @property
    def recovered(self) -> bool:
        """Return whether one count is left."""
        return not self.width

    def to_json(self) -> dict[str, Any]:
        """Return the cell as an object ready for JSON."""
        return {
            "name": self.name,
            "suppressed": self.suppressed or None,
            "published": list(self.published),
            "feasible": list(self.feasible),
            "width": self.width,
            "recovered": self.recovered,
            "tight": self.tight,
        }


@dataclass(frozen=True)
class IntervalCells:
    """The cells of a release whose counts were not published; `left_out`: how many more were not asked about."""

    cells: tuple[UnpublishedCell, ...] = ()
    left_out: int = 0

    @property
    def recovered(self) -> int:
        """Return how many have only one count left."""
        return sum(cell.recovered for cell in self.cells)


def interval_cells(release: EncodedRelease, limits: Limits) -> IntervalCells:
    """Return every suppressed or interval cell of a release's exact tables, and counts that the rows leave open.

    Tight in one batch where histograms are counted; else sharpened cell by cell while there is time (all together no
    longer than 30 s of work), proved outer bounds from there on. Noisy counts are not among them:
    their intervals are of the noise.
    """
    if release.rows.high is None:
        return IntervalCells()
    limits = limits.stage("interval cells")
    found = _table_cells(release)
    kept = found[:MAX_CELLS]
    conditions = [figure.condition for _, figure in kept]
    feasible = _ranges(release, conditions, limits) if kept else []
    cells = [
        UnpublishedCell(
            name, (figure.low, figure.high), figure.suppressed or "", *_feasible_interval(figure.low, figure.high, ends)
        )
        for (name, figure), ends in zip(kept, feasible, strict=True)
    ]
    return IntervalCells((*cells, *_open_counts(release, limits)), len(found) - len(kept))


def _table_cells(release: EncodedRelease) -> list[tuple[str, PublishedFigure]]:
    """Return the figures of exact tables that are suppressed or intervals, each with its name in words."""
    from encoders.kinds.table import source_of

    exact = [model for model in release.models if model.noise is None]
    every = ((source_of(model, i), figure) for model in exact for i, figure in enumerate(model.figures()))
    return [(name, f) for name, f in every if f.suppressed or (f.count is None and _open_(f))]


def _open_(figure: PublishedFigure) -> bool:
    """Return whether a figure is an interval of more than one count."""
    if figure.statistic is not None or figure.linear is not None:
        return False
    return figure.low is None or figure.low != figure.high


def _feasible_interval(low: int | None, high: int | None, ends: tuple[int, int, bool]) -> tuple[tuple[int, int], bool]:
    """Return the feasible interval inside the published one, and whether it is tight."""
    minimum, maximum, tight = ends
    return (max(minimum, low or 0), maximum if high is None else min(maximum, high)), tight


def _ranges(release: EncodedRelease, conditions: Sequence[Condition], limits: Limits) -> list[tuple[int, int, bool]]:
    """Return (least, most, tight) rows that meet each condition, over all worlds."""
    outer = _within_tables(release, conditions, limits)
    if outer is not None and all(tight for _, _, tight in outer):
        return outer
    found = _by_worlds(release, conditions, limits)
    if outer is None:
        return found
    both = zip(outer, found, strict=True)
    return [(max(a, c), min(b, d), p or q or max(a, c) == min(b, d)) for (a, b, p), (c, d, q) in both]


def _within_tables(
    release: EncodedRelease, conditions: Sequence[Condition], limits: Limits
) -> list[tuple[int, int, bool]] | None:
    """Return (least, most, tight) rows of each condition by the cells of linked tables; None where it is other things.

    Tight where a data set reaches both ends. Raises `ContradictionError` where the tables add up to nothing.
    """
    cells = interval_tables(release)
    boxes = [release.cut.box(release.domain.resolve(one)) for one in conditions]
    places = [] if cells is None else [cells.place.get(box) for box in boxes]
    if cells is None or None in places:
        return None
    asked = np.array(places, dtype=np.int64)
    limits.report(f"suppressed and interval cells: {len(asked):,} cells of linked tables")
    found = cell_intervals(cells, asked, limits)
    if not found.possible:
        return None  # the statements contradict each other: whoever counts says which
    ends = zip(found.low[asked].tolist(), found.high[asked].tolist(), found.tight[asked].tolist(), strict=True)
    return [(low, high, (tight and cells.exact) or low == high) for low, high, tight in ends]


def interval_tables(release: EncodedRelease) -> LinkedCells | None:
    """Return the cells of a release that is tables of exact counts and nothing else; None of any other."""
    if release.noisy:
        return None
    try:
        return tables_of(release.statements)
    except Unsupported:
        return None


def _by_worlds(release: EncodedRelease, conditions: Sequence[Condition], limits: Limits) -> list[tuple[int, int, bool]]:
    """Return (least, most, tight) rows that meet each condition, by cells of the row space."""
    from recon.readers.frames.selections import select_conditions
    from solvers.engines.figures.system import SystemFigures

    rows = release.rows.high or 0
    selections = select_conditions(release, list(conditions))
    try:
        found = ask(release.statements, Decide(selections, "ordered"), DecideAnswer, limits)
    except (Inconclusive, Unsupported):
        return [(0, rows, False)] * len(conditions)
    exact = found.status == "exact"
    out = [(int(a), int(b), exact or a == b) for a, b in zip(found.low, found.high, strict=True)]
    if exact or release.statements.unstated:
        return [(a, b, tight and not release.statements.loosened) for a, b, tight in out]
    try:
        sums = SystemFigures.of(release.statements, limits).selections(selections)
    except (Inconclusive, Unsupported):
        return out
    todo = [i for i, (_, _, tight) in enumerate(out) if not tight]
    for at, i in enumerate(todo):
        one = limits.stage("interval cell", parts=len(todo) - at)
        if limits.expired():
            break
        limits.report(f"suppressed and interval cells: {at} of {len(todo)}")
        out[i] = _sharper(release, out[i], sums[i], one)
    return out


def _sharper(
    release: EncodedRelease,
    known: tuple[int, int, bool],
    sums: tuple[NDArray[np.int64], NDArray[np.int64]],
    limits: Limits,
) -> tuple[int, int, bool]:
    """Return the least of the first sum and the greatest of the second over all worlds, and whether both are proved."""
    low, high, tight = known[0], known[1], True
    for greatest, coefs in enumerate(sums):
        try:
            share = limits if greatest else limits.stage("lesser end")
            found = ask(release.statements, Extreme(coefs, bool(greatest)), ExtremeAnswer, share)
        except (Inconclusive, Unsupported):
            tight = False
            continue
        low, high = (low, min(high, found.outer(True))) if greatest else (max(low, found.outer(False)), high)
        tight = tight and found.status == "exact"
    return low, high, tight or low == high


def _open_counts(release: EncodedRelease, limits: Limits) -> list[UnpublishedCell]:
    """Return the counts of trees and rule lists that an open number of rows leaves open."""
    out = []
    for b, block in release.statements.partitions.items():
        if tells(block) and not release.noisy and block.kind not in (KIND, TOTALS):
            for s in np.flatnonzero(block.low != block.high).tolist():
                minimum, maximum, tight = _of_statement(release, b, s, limits)
                published = None if int(block.high[s]) == UNBOUNDED else int(block.high[s])
                out.append(
                    UnpublishedCell(block.source(s), (int(block.low[s]), published), "", (minimum, maximum), tight)
                )
    return out


def _of_statement(release: EncodedRelease, b: int, s: int, limits: Limits) -> tuple[int, int, bool]:
    """Return the least and greatest rows that statement s of partition b counts; see `sharper`."""
    from solvers.engines.figures.system import SystemFigures

    if PartitionFigures.refusal(release.statements) is None:
        counts = [int(v[s]) for v in PartitionFigures.of(release.statements, limits).vectors]
        return min(counts), max(counts), True
    known = 0, release.rows.high or 0, False
    try:
        coefs = SystemFigures.of(release.statements, limits).statement(b, s)
    except (Inconclusive, Unsupported):
        return known
    return _sharper(release, known, (coefs, coefs), limits)
