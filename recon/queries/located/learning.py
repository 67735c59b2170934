"""What the learner's midpoints add: values of numbers narrowed, some of them to the last bit that the trees saw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from encoders.domain.cuts import AttributeCuts
from encoders.domain.values import Continuous, Grid, Listed
from encoders.encode.learnt import learnt_splits, seen_ranges
from recon.queries.located.columns import Floats, PositionColumn, between, of_spans
from recon.queries.located.placed_rows import PlacedRows
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.assignments.solving import assigned
from solvers.positions.midpoints.alternating import locate_in_turn
from solvers.positions.midpoints.locating import ASSUMES, LocatedRows
from solvers.positions.midpoints.singles import raw_ends
from solvers.positions.midpoints.splits import TreeSplits

MAX_VALUES = 100_000  # of an attribute that is narrowed value by value


def with_midpoints(found: PlacedRows, limits: Limits) -> PlacedRows:
    """Return what is proved where thresholds are midpoints: an assumption, which every figure then names.

    Where no threshold is known to be one, or they contradict the leaves: what was found before, with a note on that.
    """
    release = found.release
    state = assigned(release.statements, limits)
    if state is None:
        return found
    try:
        splits = learnt_splits(release, state.problem)
    except Unsupported as error:
        return replace(found, notes=(*found.notes, str(error)))
    as_seen = [is_as_seen(found, splits, c) for c in range(len(splits.attribute))]
    limits.report("midpoints")
    ranges = ranges_of(found, splits, as_seen)
    narrowed, _ = locate_in_turn(state.problem, state.domains, splits, ranges, limits)
    if narrowed.contradiction:
        return replace(found, notes=(*found.notes, f"midpoints are not used: {narrowed.contradiction}"))
    columns = list(found.columns)
    edges = splits.edges(state.problem)
    for c, k in enumerate(splits.attribute.tolist()):
        ends = narrowed.low[:, c], narrowed.high[:, c]
        columns[k] = by_parts(release.cut.cuts[k], columns[k], edges[c], ends)
        if as_seen[c]:
            columns[k] = by_values(found, k, columns[k], ends)
    notes = notes_of(splits, as_seen, narrowed)
    return replace(
        found,
        columns=tuple(columns),
        assumes=(*found.assumes, ASSUMES),
        notes=(*found.notes, *notes),
        complete=found.complete and narrowed.complete,
        learner="midpoints",
    )


def notes_of(splits: TreeSplits, as_seen: list[bool], narrowed: LocatedRows) -> list[str]:
    """Return what is to be said of columns that a pipeline transformed."""
    names = [name for name, same in zip(splits.names, as_seen, strict=True) if not same]
    if not names:
        return []
    exact = int(narrowed.exact[:, [not same for same in as_seen]].sum())
    shown = ", ".join(dict.fromkeys(names[:3])) + (", ..." if len(names) > 3 else "")
    text = f"the trees saw {shown} transformed: of the values before it, intervals are proved"
    return [f"{text} ({exact:,} transformed values are known to the last bit)"]


def is_as_seen(found: PlacedRows, splits: TreeSplits, c: int) -> bool:
    """Return whether a column of the trees is its attribute in single precision: then its cuts are the thresholds."""
    cuts = found.release.cut.cuts[int(splits.attribute[c])]
    own = splits.column == c
    last, part = splits.last_left[own], splits.part[own]
    if isinstance(cuts.attribute, Continuous):
        numbers = np.array([float(edge[0]) for edge in cuts.edges])
        return bool((raw_ends(last, last)[1] == numbers[part]).all())
    values = single_values(cuts)
    if values is None:
        return False
    edges = np.array(cuts.edges)[part]
    inner = (edges > 0) & (edges < len(values))
    edges, last = edges[inner], last[inner]
    return bool(((values[edges - 1] <= last) & (last < values[edges])).all())


def single_values(cuts: AttributeCuts) -> Floats | None:
    """Return the values of an attribute of numbers in single precision, None for others and for too many."""
    attribute = cuts.attribute
    if attribute.known[1] > MAX_VALUES or attribute.missing:
        return None
    if isinstance(attribute, Grid) or (isinstance(attribute, Listed) and attribute.numeric):
        values = [float(attribute.value_at(i)) for i in range(attribute.known[1])]
        return np.array(values, dtype=np.float64).astype(np.float32).astype(np.float64)
    return None


def ranges_of(found: PlacedRows, splits: TreeSplits, as_seen: list[bool]) -> Floats:
    """Return (columns, 2) the least and greatest values that are given, as the trees saw them; NaN where not known.

    Of columns that a pipeline transformed where they are the ends of the domain.
    """
    out = seen_ranges(found.release, splits, found.ranges.given)
    for c, name in enumerate(splits.names):
        if as_seen[c] and name in found.ranges.given:
            out[c] = np.array(found.ranges.given[name], dtype=np.float64).astype(np.float32)
    return out


def by_parts(
    cuts: AttributeCuts, column: PositionColumn, edges: tuple[Floats, Floats], ends: tuple[Floats, Floats]
) -> PositionColumn:
    """Return an attribute of any numbers narrowed to the parts whose values, as the trees saw them, are still left."""
    if not isinstance(cuts.attribute, Continuous):
        return column
    least, most = edges
    first = np.searchsorted(most, ends[0])
    behind = np.searchsorted(least, ends[1], side="right")
    numbers = np.array([float(min(edge, cuts.attribute.known[1])[0]) for edge in cuts.edges])
    low = np.maximum(column.low, numbers[np.minimum(first, len(most) - 1)])
    high = np.minimum(column.high, numbers[np.maximum(behind, 1)])
    return narrower(column, low, high)


def narrower(column: PositionColumn, low: Floats, high: Floats) -> PositionColumn:
    """Return an attribute of any numbers with closer ends; its width shrinks with the interval, where both have one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shrunk = (high - low) / (column.high - column.low)
    width = column.width * np.where(np.isfinite(shrunk), np.clip(shrunk, 0.0, 1.0), 1.0)
    return replace(column, low=low, high=high, width=width, middle=between(low, high))


def by_values(found: PlacedRows, k: int, column: PositionColumn, ends: tuple[Floats, Floats]) -> PositionColumn:
    """Return a column narrowed to the values that single precision rounds into the intervals.

    Of any numbers: `exact` where one number of single precision is left, which `values` has; low and high are the
    numbers that round to it.
    """
    cuts = found.release.cut.cuts[k]
    if not isinstance(cuts.attribute, Continuous):
        return finite_values(cuts, column, ends)
    least, most = raw_ends(*ends)
    made = narrower(column, np.maximum(column.low, least), np.minimum(column.high, most))
    known = ends[0] == ends[1]
    values = np.unique(ends[0][known])
    place = np.where(known, np.searchsorted(values, ends[0]), len(values))
    texts = (*((float(v),) for v in values), None)
    return replace(made, exact=column.exact | known, width=np.where(known, 0.0, made.width), values=texts,
                   values_of=place, left=np.where(known, 1, 0))  # fmt: skip


def finite_values(cuts: AttributeCuts, column: PositionColumn, ends: tuple[Floats, Floats]) -> PositionColumn:
    """Return a column of single values without those outside of the intervals."""
    single = single_values(cuts)
    if single is None:
        return column
    attribute = cuts.attribute
    first, behind = np.searchsorted(single, ends[0]), np.searchsorted(single, ends[1], side="right")
    keys = np.stack([column.values_of, first, behind], axis=1)
    different, at, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    spans = []
    for (pattern, a, b), row in zip(different.tolist(), at.tolist(), strict=True):
        values = column.values[pattern]
        if values is None:  # a run of a grid
            held = [(attribute.point(plain(column.low[row]))[0], attribute.point(plain(column.high[row]))[1])]
        else:
            held = [attribute.point(value) for value in values]
        kept = [(max(start, a), min(end, b)) for start, end in held]
        spans.append([one for one in kept if one[0] < one[1]] or held)
    return of_spans(cuts, spans, back.reshape(-1))


def plain(x: float) -> int | float:
    """Return a whole number as one."""
    return int(x) if x.is_integer() else float(x)
