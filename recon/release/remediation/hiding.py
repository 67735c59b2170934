"""Which cells of a table of counts to hide so that none below a threshold is given away, beside earlier releases too.

A count below the threshold is sensitive: it is hidden, and what is shown has to leave it as many possible counts as the
threshold says. All that is published counts, the tables linked by their cells and earlier releases among it.

Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012, chapter 4 (secondary suppression); the search is
`solvers.suppression.patterns`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import PublishedFigure, Table
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.suppression.intervals import solution_of
from solvers.suppression.linked_cells import LinkedCells, linked_cells
from solvers.suppression.patterns import (
    SuppressionPattern,
    SuppressionTask,
    cheapest_pattern,
    hypercube_pattern,
    incremental_pattern,
)
from solvers.suppression.rounding import MovedCounts, adjusted_counts, audited_counts, rounded_counts

SEARCHED = 3_000  # cells: of more, the pattern is made cell by cell, and no bound on the least cost is proved
METHODS = ("cheapest", "hypercube", "rounding", "adjustment")


@dataclass(frozen=True, eq=False)
class HiddenCells:
    """Tables with cells hidden: the pattern, that of the hypercube heuristic, and the exact audit of both.

    `sensitive`: counts below `threshold`, or hidden before; `least`: the narrowest interval that is left of one, with a
    `width` of any hidden cell; `attackable` cells are narrower than they must be.
    """

    tables: tuple[Table, ...]
    threshold: int
    sensitive: int
    pattern: SuppressionPattern
    other: SuppressionPattern
    least: int | None
    cells: int
    width: int = 0

    @property
    def holds(self) -> bool:
        """Return whether the exact audit finds every sensitive cell wide enough."""
        return not len(self.pattern.attackable)


def hide_cells(
    release: EncodedRelease, threshold: int, limits: Limits, earlier: int = 0, method: str = "cheapest", width: int = 0
) -> HiddenCells:
    """Return the tables of a release with so many cells hidden that no count below the threshold is given away.

    `width`: how far apart the least and the most of every hidden cell have to be, of further ones too. `earlier`: how
    many of its models, the last ones, are out already and stay as they are. `method`: "cheapest" (CP-SAT with attacks;
    of more than 3,000 cells a flow for each sensitive cell) or "hypercube". Raises `Unsupported` for what is not tables
    of counts, and where no pattern is enough.
    """
    own = release.models[: len(release.models) - earlier]
    task, place = _task(release, threshold, len(own), width)
    other, last = _widened(task, "hypercube", width, limits)
    pattern = other
    if method != "hypercube":
        pattern, last = _widened(task, "cell by cell" if len(task.values) > SEARCHED else method, width, limits)
    after = tuple(_with_hidden(release, cast("Table", model), pattern, place) for model in own)
    found = last.audited(pattern.hidden, limits)
    widths = (found.high - found.low)[last.sensitive]
    least = int(widths.min()) if len(widths) else None
    return HiddenCells(after, threshold, int(task.sensitive.sum()), pattern, other, least, len(task.values), width)


def _widened(
    task: SuppressionTask, method: str, width: int, limits: Limits
) -> tuple[SuppressionPattern, SuppressionTask]:
    """Return a pattern in which further hidden cells are so wide too, and the task that asks for it.

    Whatever hidden cell is narrower becomes one that is asked about, until none is: at most one turn for each cell.
    """
    asked, bound = task, None
    while True:
        found = _pattern_of(asked, method, limits)
        bound = found.bound if bound is None else bound  # of less that is asked: no pattern costs less
        further = found.hidden & asked.open
        seen = replace(asked, sensitive=found.hidden).audited(found.hidden, limits)
        narrow = further & (seen.met[1] - seen.met[0] < width)
        if not narrow.any():
            cost = task.cost_of(found.hidden)
            return replace(found, cost=cost, bound=min(bound, cost)), asked
        asked = replace(
            asked, open=asked.open & ~narrow, sensitive=asked.sensitive | narrow,
            need=np.where(narrow, width, asked.need),
        )  # fmt: skip


def _pattern_of(task: SuppressionTask, method: str, limits: Limits) -> SuppressionPattern:
    """Return the pattern that a method finds, with its exact audit."""
    if method == "hypercube":
        return _audited(task, hypercube_pattern(task, limits), "hypercubes", limits)
    if method == "cell by cell":
        return _audited(task, incremental_pattern(task, limits), "a flow for each sensitive cell", limits)
    return cheapest_pattern(task, limits)


@dataclass(frozen=True, eq=False)
class MovedTables:
    """Tables whose counts were rounded or adjusted: as intervals, as the counts to print, and the audit of them."""

    tables: tuple[Table, ...]
    printed: tuple[Table, ...]
    threshold: int
    sensitive: int
    moved: MovedCounts
    cells: int

    @property
    def holds(self) -> bool:
        """Return whether the exact audit finds every sensitive cell wide enough."""
        return not len(self.moved.attackable)


def move_counts(
    release: EncodedRelease, threshold: int, limits: Limits, earlier: int = 0, base: int | None = None, width: int = 0
) -> MovedTables:
    """Return the tables with counts rounded to multiples of a base, or (None) adjusted, so that they still add up.

    Every count is published as moved by less than a number; the audit is of the intervals that this leaves, of `width`
    at least for every count. Raises `Unsupported` as `hide_cells`, and where counts are hidden already.
    """
    own = release.models[: len(release.models) - earlier]
    task, place = _task(release, threshold, len(own))
    if any(figure.count is None for _, figure, mine in _boxes(release, len(own)) if mine):
        raise Unsupported("counts are rounded or adjusted in tables without hidden cells: give the complete table")
    moved = adjusted_counts(task, limits) if base is None else rounded_counts(task, base, limits)
    if width:
        every = task.sensitive | task.open
        moved = audited_counts(
            replace(task, sensitive=every, need=np.where(every, np.maximum(task.need, width), 0)), moved, limits
        )
    tables = [cast("Table", model) for model in own]  # whatever is none was refused
    intervals = tuple(_with_moved(release, model, moved, place, moved.below) for model in tables)
    printed = tuple(_with_moved(release, model, moved, place, 1) for model in tables)
    return MovedTables(intervals, printed, threshold, int(task.sensitive.sum()), moved, len(task.values))


def _with_moved(
    release: EncodedRelease, model: Table, moved: MovedCounts, place: Mapping[Box, int], below: int
) -> Table:
    """Return a table with counts moved by less than a number (1: the counts themselves)."""
    out = []
    for figure in model.statements:
        count = int(moved.counts[place[release.cut.box(release.domain.resolve(figure.condition))]])
        least, most = max(0, count - below + 1), count + below - 1
        new = replace(figure, count=count) if below == 1 else replace(figure, count=None, low=least, high=most)
        out.append(new)
    return replace(model, statements=tuple(out))


def _audited(task: SuppressionTask, hidden: np.ndarray, how: str, limits: Limits) -> SuppressionPattern:
    """Return a pattern as it was found, with its exact audit; of its least cost nothing is proved."""
    return SuppressionPattern(hidden, task.cost_of(hidden), 0, task.attackable(hidden, limits), how)


def _boxes(release: EncodedRelease, models: int) -> Iterator[tuple[Box, PublishedFigure, bool]]:
    """Yield the box of every figure, and whether it is of the first so many models; `Unsupported` for other kinds."""
    for number, model in enumerate(release.models):
        if model.kind != "table" or model.noise is not None or cast("Table", model).complete:
            what = "a table that is complete" if model.kind == "table" else f"a model of the kind '{model.kind}'"
            what = what if getattr(model, "noise", None) is None else "noisy counts"
            raise Unsupported(f"cells are hidden in tables of exact counts: {what} is not one")
        for figure in model.figures():
            if figure.statistic is not None or figure.linear is not None:
                raise Unsupported("cells are hidden in tables of counts: a mean, total, median or sum is not one")
            yield release.cut.box(release.domain.resolve(figure.condition)), figure, number < models


def _task(
    release: EncodedRelease, threshold: int, models: int, width: int = 0
) -> tuple[SuppressionTask, Mapping[Box, int]]:
    """Return what is asked of a pattern, and the cell of every box."""
    rows = release.rows.high
    if rows is None:
        raise Unsupported("the number of rows is open: publish a total, or say it (--rows)")
    known: dict[Box, tuple[int, int]] = {Box(): (release.rows.low, rows)}
    counts: dict[Box, tuple[int, int]] = {}
    for box, figure, mine in _boxes(release, models):
        ends = (figure.low or 0, rows if figure.high is None else figure.high)
        low, high = (int(figure.count), int(figure.count)) if figure.count is not None else ends
        for into, ends in ((known, (0, rows) if mine and figure.count is not None and box != Box() else (low, high)),
                           *([(counts, (low, high))] if mine else [])):  # fmt: skip
            before = into.get(box, (0, rows))
            into[box] = max(before[0], ends[0]), min(before[1], ends[1])
    cells = linked_cells(release.statements.domain, known, release.statements.impossible)
    values, lows, highs = _true_values(cells, counts)
    if 0 < values[cells.place[Box()]] < threshold:
        raise Unsupported(f"no pattern is enough: there are {values[cells.place[Box()]]:,} rows in all")
    own = np.zeros(len(cells), dtype=bool)
    own[[cells.place[box] for box in counts if box != Box()]] = True
    exact, certain = own & (lows == highs), cells.low == cells.high
    small = exact & (values > 0) & (values < threshold)
    sensitive = (small | (own & ~exact)) & ~certain
    if gone := int((small & certain).sum()):
        raise Unsupported(
            f"{gone:,} of the counts below {threshold:,} follow from what is out already: none can be hidden"
        )
    if told := int((sensitive & (cells.low > 0) & (cells.high < threshold)).sum()):
        raise Unsupported(
            f"no pattern is enough: {told:,} counts are 1 to {threshold - 1:,} by an interval that is published, "
            "here or in what is out already: hide those here wholly (*)"
        )
    need = np.where(sensitive, np.minimum(max(threshold - 1, width), cells.high - cells.low), 0)
    nowhere = ~own & ~certain
    cost = np.maximum(1, values)
    return SuppressionTask(cells, values, exact & ~small & ~certain, sensitive, nowhere, cost, need), cells.place


def _true_values(cells: LinkedCells, counts: Mapping[Box, tuple[int, int]]) -> tuple[Ints, Ints, Ints]:
    """Return numbers of all cells that meet everything, and the ends of the own ones; `ReleaseError` where none do."""
    low, high = cells.low.copy(), cells.high.copy()
    for box, (least, most) in counts.items():
        at = cells.place[box]
        low[at], high[at] = max(int(low[at]), least), min(int(high[at]), most)
    values = solution_of(replace(cells, low=low, high=high), Limits())
    if values is None:
        raise ReleaseError("the counts do not add up: no data set agrees with all of them")
    return values, low, high


def _with_hidden(release: EncodedRelease, model: Table, pattern: SuppressionPattern, place: Mapping[Box, int]) -> Table:
    """Return a table with the counts of hidden cells taken out: of none is said why."""
    out = []
    for figure in model.statements:
        at = place[release.cut.box(release.domain.resolve(figure.condition))]
        gone = figure.count is not None and bool(pattern.hidden[at])
        out.append(replace(figure, count=None, suppressed="unknown") if gone else figure)
    return replace(model, statements=tuple(out))
