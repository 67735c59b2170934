"""What parts of attributes are as values: least and greatest, how many are left, and how wide that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.domain.cuts import AttributeCuts
from encoders.domain.values import MISSING, Continuous, Listed, Value, is_number
from encoders.encode.encoder import EncodedRelease
from recon.queries.located.known_ranges import KnownRanges
from recon.readers.frames.selections import untested
from solvers.questions.answers import LocatedAnswer

Floats = NDArray[np.float64]
LISTED = 100  # values of a cell that are listed one by one; of more on a grid the ends say as much
WHOLE = 1 << 60  # more values than this are counted as so many


@dataclass(frozen=True, eq=False)
class PositionColumn:
    """What is left of one attribute in every row; all arrays are (rows,).

    `low`, `high`: the least and the greatest number left (infinite: no end is known; NaN: the values are no numbers, or
    there is none). `left`: how many values, 0 where they cannot be counted. `exact`: one is left. `missing`: the value
    may be missing. `width`: how much of the column is left, between 0 (one value) and 1 (all of it). `middle`: the
    number, or the index of the value, in the middle. `values[values_of[i]]` are those left (None: too many to list).
    """

    low: Floats
    high: Floats
    left: NDArray[np.int64]
    exact: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    width: Floats
    middle: Floats
    values: tuple[tuple[Value, ...] | None, ...]
    values_of: NDArray[np.int64]


def columns_of(release: EncodedRelease, found: LocatedAnswer, ranges: KnownRanges) -> list[PositionColumn]:
    """Return what is left of every attribute, the label last. Linear in rows times attributes, or parts of sets."""
    out, unsaid = [], untested(release)
    for k, cuts in enumerate(release.cut.cuts):
        start, end = found.start[:, k], found.end[:, k]
        if k in unsaid:  # 0 and 1 for want of anything better: nobody said which values there are
            out.append(unknown(len(start)))
            continue
        if isinstance(cuts.attribute, Continuous):
            out.append(continuous(cuts, start, end, ranges.of(cuts.attribute)))
            continue
        if k in found.sets:
            place = np.arange(found.sets[k].shape[1])
            allowed = found.sets[k] & (place >= start[:, None]) & (place < end[:, None])
            different, back = np.unique(allowed, axis=0, return_inverse=True)
            patterns = [runs(row) for row in different]
        else:
            pairs, back = np.unique(np.stack([start, end], axis=1), axis=0, return_inverse=True)
            patterns = [[(int(a), int(b))] if a < b else [] for a, b in pairs]
        out.append(finite(cuts, patterns, back.reshape(-1)))
    return out


def unknown(rows: int) -> PositionColumn:
    """Return an attribute of which nothing is known, in so many rows."""
    none, no = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
    end = np.full(rows, np.inf)
    return PositionColumn(-end, end, none, no, no, np.ones(rows), np.zeros(rows), (None,), none)


def runs(allowed: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of True as (first, behind)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], allowed, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def continuous(
    cuts: AttributeCuts, start: NDArray[np.int64], end: NDArray[np.int64], known: tuple[float, float] | None
) -> PositionColumn:
    """Return an attribute whose values are any numbers: the edges of the parts that are left.

    `known`: the least and the greatest value of the column, where they are; without them the width is counted in parts.
    """
    edges, last = cuts.edges, cuts.attribute.known[1]
    numbers = np.array([float(min(edge, last)[0]) for edge in edges])
    low, high = numbers[start], numbers[end]
    from_gap = np.array([edge >= last for edge in edges])  # behind all numbers only "missing" is left
    gone, missing = from_gap[start], np.array([edge > last for edge in edges])[end]
    if known is not None:
        low, high = np.maximum(low, known[0]), np.minimum(high, known[1])
        width = np.clip((high - low) / (known[1] - known[0]), 0.0, 1.0)
    else:
        width = (end - start) / (len(edges) - 1)
    low, high = np.where(gone, np.nan, low), np.where(gone, np.nan, high)
    width = np.where(gone, 0.0, width)
    return PositionColumn(
        low,
        high,
        np.zeros(len(start), dtype=np.int64),
        gone,
        missing,
        width,
        between(low, high),
        ((MISSING,), None),
        np.where(gone, 0, 1),
    )


def between(low: Floats, high: Floats) -> Floats:
    """Return the middle of intervals; of one without an end its other end, of one without any 0."""
    least, most = np.where(np.isinf(low), high, low), np.where(np.isinf(high), low, high)
    with np.errstate(invalid="ignore"):
        middle = least / 2 + most / 2
    return np.where(np.isfinite(middle), middle, np.where(np.isnan(low), np.nan, 0.0))


def finite(cuts: AttributeCuts, patterns: list[list[tuple[int, int]]], back: NDArray[np.int64]) -> PositionColumn:
    """Return an attribute with single values; `patterns` are the different sets of parts, `back` that of each row."""
    spans = [[(cuts.bounds(a)[0], cuts.bounds(b - 1)[1]) for a, b in pattern] for pattern in patterns]
    return of_spans(cuts, spans, back)


def of_spans(cuts: AttributeCuts, every: list[list[tuple[int, int]]], back: NDArray[np.int64]) -> PositionColumn:
    """Return an attribute with single values; `every` has the different spans of indices, `back` those of each row."""
    total = cuts.attribute.span[1]
    made = [left_of(cuts, spans) for spans in every]
    low, high, middle = (np.array([one[i] for one in made], dtype=np.float64)[back] for i in range(3))
    left = np.array([min(one[3], WHOLE) for one in made], dtype=np.int64)[back]
    missing = np.array([one[4] for one in made], dtype=bool)[back]
    width = np.clip((left - 1) / max(1, min(total, WHOLE) - 1), 0.0, 1.0)
    return PositionColumn(low, high, left, left == 1, missing, width, middle, tuple(one[5] for one in made), back)


def left_of(
    cuts: AttributeCuts, spans: list[tuple[int, int]]
) -> tuple[float, float, float, int, bool, tuple[Value, ...] | None]:
    """Return least, greatest, index in the middle, how many values spans hold, whether missing is one, and all."""
    attribute, known = cuts.attribute, cuts.attribute.known[1]
    left = sum(b - a for a, b in spans)
    missing = bool(spans) and spans[-1][1] > known
    numbers = [(a, min(b, known)) for a, b in spans if a < known]
    low = high = math.nan
    if numbers and not (isinstance(attribute, Listed) and not attribute.numeric):
        ends = attribute.value(numbers[0][0]), attribute.value(numbers[-1][1] - 1)
        low, high = (float(x) if is_number(x) else math.nan for x in ends)
    values: tuple[Value, ...] | None = None
    if left <= LISTED or isinstance(attribute, Listed):
        cells = (attribute.value(i) for a, b in spans for i in range(a, b))
        values = tuple(MISSING if cell is None else cell for cell in cells)
    return low, high, float(index_at(spans, left // 2)) if left else math.nan, left, missing, values


def index_at(spans: list[tuple[int, int]], place: int) -> int:
    """Return the index that stands at a place of the values of some spans."""
    for a, b in spans:
        if place < b - a:
            return a + place
        place -= b - a
    return spans[-1][1] - 1
