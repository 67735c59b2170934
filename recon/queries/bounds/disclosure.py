"""Values that published means, totals and medians give away of single rows: target disclosure, without any attack.

The mean of one row is its value; so is that of many rows where it lies at the end of what their group can have.
Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (magnitude tables: cells of one respondent).

Cells that were suppressed, or published as an interval: which counts they can still have over all worlds.

What is published of such a cell is not a count: the smallest of 1..9 is not "1 row". What other figures leave of it is
its feasible interval, and where that is one number the suppression has failed: the cell is recovered.
Of releases that are tables of counts and nothing else their cells are the unknowns (`solvers.suppression`): the row
space of all attributes may be too large to look at.

Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (auditing of suppressed tables: the feasibility
interval of every primary cell; Fischetti and Salazar, Management Science 47, 2001).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Categorical, Continuous, Grid, Value, complement, intersection, plain_number
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import AnyModel, PublishedFigure, Statistic
from solvers.engines.chain import ask, no_closed_form
from solvers.engines.figures.partition import PartitionFigures
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.leaf_values.blocks import KIND, TOTALS
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import DecideAnswer, ExtremeAnswer
from solvers.statements.questions.query import Decide, Extreme
from solvers.statements.release import UNBOUNDED, Loose, Partition
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

    if no_closed_form(release.statements) is None:
        counts = [int(v[s]) for v in PartitionFigures.of(release.statements, limits).vectors]
        return min(counts), max(counts), True
    known = 0, release.rows.high or 0, False
    try:
        coefs = SystemFigures.of(release.statements, limits).statement(b, s)
    except (Inconclusive, Unsupported):
        return known
    return _sharper(release, known, (coefs, coefs), limits)


MAX_LOOSE = 2_000  # groups of no partition that are compared in pairs; more are listed, not counted


@dataclass(frozen=True)
class DisclosedGroup:
    """A published group whose rows all have one value of a numeric attribute `of`, as its mean or total says."""

    name: str
    of: str
    rows: int
    value: Value


@dataclass(frozen=True)
class ValueDisclosure:
    """What published means, totals and medians give away of single rows.

    `groups`: all that was found, the smallest first. `rows`: how many rows at least they are, counted in one model and
    one attribute; None where the release has no such figure. `alone`: without figures, rows that are alone in a leaf of
    one regression tree, whose stored value (not read) is their target.
    """

    groups: tuple[DisclosedGroup, ...] = ()
    rows: int | None = None
    alone: int = 0


@dataclass(frozen=True)
class PublishedBox:
    """A box whose number of rows is published: by which partition (None: by a loose statement), and its name there."""

    rows: int
    block: int | None
    name: str = ""


@dataclass(frozen=True)
class GroupNumbers:
    """The numbers that an attribute, or a binary column of it, can have in a group: position ranges, ascending."""

    attribute: Categorical | Grid
    ranges: tuple[tuple[int, int], ...]

    def number(self, position: int) -> Fraction:
        """Return the number at a position."""
        from encoders.parts.statistics import number

        return number(self.attribute, position)

    def between(self, low: Fraction, high: Fraction) -> list[int]:
        """Return the first two positions of numbers in a closed interval: whether there is one only."""
        found: list[int] = []
        for first, last in self.ranges:
            span = range(first, last)
            ends = bisect_left(span, low, key=self.number), bisect_right(span, high, key=self.number)
            found += span[ends[0] : ends[1]][:2]
        return found[:2]

    def extremes(self) -> tuple[list[int], list[int]]:
        """Return the positions of the two least and of the two greatest numbers, the extreme one first."""
        up = chain.from_iterable(range(*r) for r in self.ranges)
        down = chain.from_iterable(reversed(range(*r)) for r in reversed(self.ranges))
        return list(islice(up, 2)), list(islice(down, 2))


def tells(block: Partition) -> bool:
    """Return whether a partition says how many training rows its groups have; resamples mostly leave that open."""
    from encoders.kinds.known_rows import NOT_PUBLISHED

    return block.kind not in NOT_PUBLISHED and block.open_counts <= 1


def _figures(release: EncodedRelease) -> list[tuple[AnyModel, int, PublishedFigure, Statistic]]:
    """Return the means, totals and medians of a release with the tables that they stand in."""
    exact = [model for model in release.models if model.noise is None]
    every = ((model, i, f) for model in exact for i, f in enumerate(model.figures()))
    return [(t, i, f, f.statistic) for t, i, f in every if f.statistic is not None]


def regression(release: EncodedRelease) -> bool:
    """Return whether some file is that of a regression."""
    return any("Regress" in m.origin.format for m in release.models if m.origin is not None)


def numeric_target(release: EncodedRelease) -> bool:
    """Return whether the label is a number, not a class: it is a grid, is summed, or the file is of a regression."""
    label = release.domain.label
    if label is None or (isinstance(label, Categorical) and not label.numeric):
        return regression(release) and label is None  # its targets are numbers, of which the domain says nothing
    return regression(release) or isinstance(label, Grid) or any(s.of == label.name for _, _, _, s in _figures(release))


def disclosed_values(release: EncodedRelease) -> ValueDisclosure:
    """Return the groups whose figures give one value for all their rows, and how many rows these are at least.

    Groups of one row, and larger ones whose sum is the least or the greatest there can be; what follows from several
    figures together is left to `bound`. Cost: linear in the figures and in the regions of the partitions.
    """
    from encoders.kinds.table import name_of

    published = _figures(release)
    if not published:
        return ValueDisclosure(alone=_alone_in_a_leaf(release) if numeric_target(release) else 0)
    boxes = [release.cut.box(release.domain.resolve(figure.condition)) for _, _, figure, _ in published]
    known = _counted_groups(release, set(boxes))
    found: dict[tuple[str, Box], tuple[DisclosedGroup, int | None]] = {}
    for (table, i, figure, statistic), box in zip(published, boxes, strict=True):
        group = known.get(box)
        value = None if group is None else _only_value(release, figure, statistic, group.rows)
        if group is not None and value is not None:
            one = DisclosedGroup(group.name or name_of(table, i), statistic.of, group.rows, value)
            found.setdefault((statistic.of, box), (one, group.block))
    groups = sorted((one for one, _ in found.values()), key=lambda one: one.rows)
    return ValueDisclosure(tuple(groups), _rows_of(found))


def _counted_groups(release: EncodedRelease, wanted: set[Box]) -> dict[Box, PublishedBox]:
    """Return the wanted boxes whose number of rows is published exactly."""
    found: dict[Box, PublishedBox] = {}
    several = len(release.statements.blocks) > 1
    for b, block in enumerate(release.statements.blocks):
        if isinstance(block, Partition) and not block.first_match:
            for j, statements in block.by_region.items():
                if (box := block.boxes[j]) in wanted and (block.low[statements] == block.high[statements]).all():
                    name = f"{block.kind}, {block.names[j]}" if several else block.names[j]
                    found.setdefault(box, PublishedBox(int(block.low[statements].sum()), b, name))
        elif isinstance(block, Loose):
            for one in block:
                region = one.region if one.low == one.high else None
                if region is not None and not region.minus and region.box in wanted:
                    found.setdefault(region.box, PublishedBox(one.low, None))
    if release.rows.exact and Box() in wanted:
        found.setdefault(Box(), PublishedBox(release.rows.low, None))
    return found


def _only_value(release: EncodedRelease, figure: PublishedFigure, statistic: Statistic, rows: int) -> Value | None:
    """Return the one value that all of a group's rows have by a figure, None where others are possible."""
    from encoders.parts.statistics import bounds

    values = numbers_within(release.domain, figure.condition, statistic.of)
    minimum, greatest = values.extremes()
    if not rows or len(minimum) < 2:  # the condition names the value: nothing is given away by the figure
        return None
    low, high = bounds(statistic)
    if rows == 1:
        inside = values.between(low, high)
        return plain_number(values.number(inside[0])) if len(inside) == 1 else None
    if statistic.kind == "median":
        return None
    if statistic.kind == "mean":
        low, high = rows * low, rows * high
    for (end, next_to_it), least_end in ((minimum, True), (greatest, False)):
        extreme, nearest = values.number(end), values.number(next_to_it)
        if not low <= rows * extreme <= high:
            continue
        other = (rows - 1) * extreme + nearest
        if (high < other) if least_end else (low > other):
            return plain_number(extreme)
    return None


def numbers_within(domain: Domain, where: Condition, name: str) -> GroupNumbers:
    """Return the numbers that an attribute or binary column can have in rows that meet a condition.

    Raises `ReleaseError` for what has no numbers.
    """
    from encoders.parts.statistics import numeric

    k, resolved = numeric(domain, name), domain.resolve(where)
    attribute = domain.all[k]
    if isinstance(attribute, Continuous):
        raise TypeError("a continuous attribute has no numbers")
    ranges = intersection(resolved.get(k, (attribute.span,)), (attribute.known,))
    if name not in domain.columns:
        return GroupNumbers(attribute, ranges)
    ones = domain.view_ranges(name)[1]
    zeros = complement(ones, attribute.span)
    bits = [bit for bit, side in enumerate((zeros, ones)) if intersection(ranges, side)]
    return GroupNumbers(Categorical(name, (0, 1)), tuple((bit, bit + 1) for bit in bits))


def _rows_of(found: dict[tuple[str, Box], tuple[DisclosedGroup, int | None]]) -> int:
    """Return how many different rows the groups are at least: the most in one partition and one attribute.

    Groups of no partition may overlap: of these, groups that are disjoint from those before.
    """
    sums: dict[tuple[str, int | None], int] = {}
    apart: dict[str, list[Box]] = {}
    for (of, box), (group, block) in found.items():
        if block is None:
            before = apart.setdefault(of, [])
            if len(before) >= MAX_LOOSE or not all(_disjoint(box, other) for other in before):
                continue
            before.append(box)
        sums[of, block] = sums.get((of, block), 0) + group.rows
    return max(sums.values(), default=0)


def _disjoint(a: Box, b: Box) -> bool:
    """Return whether two boxes share no row."""
    return (a & b).empty


def _alone_in_a_leaf(release: EncodedRelease) -> int:
    """Return how many rows are alone in a leaf of one tree, in the tree with the most.

    Of a tree on a resample: leaves that hold one training row, however often it was drawn.
    """
    maximum = 0
    for model in release.models:
        if model.noise is not None:
            continue
        drawn = model.bootstrap
        for tree in model.members():
            counts = tree.nodes.leaf_counts
            maximum = max(maximum, int(((counts.different if drawn else counts.totals) == 1).sum()))
    return maximum
