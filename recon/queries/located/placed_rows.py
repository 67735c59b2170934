"""What is proved about every position, with the figures that sum it up.

What parts of attributes are as values: least and greatest, how many are left, and how wide that is.

The least and the greatest value of columns, where they are known: given, or the ends of the declared domain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import AttributeCuts, Domain
from encoders.domain.values import MISSING, AnyAttribute, Categorical, Continuous, Grid, Value, is_number
from encoders.encode.encoder import NO_LEARNER, EncodedRelease, untested
from recon.io.console.output import seconds_said
from solvers.foundation.array_types import Bits
from solvers.foundation.errors import ReleaseError
from solvers.statements.questions.answers import LocatedAnswer
from solvers.statements.release import Choice, Loose

if TYPE_CHECKING:
    import pandas as pd

ATTAINED = "attained"  # --ranges attained: the ends of the domain are values of training rows
COLUMNS = ("attribute", "min", "max")

Ranges = Mapping[str, tuple[float, float]] | str | None


@dataclass(frozen=True)
class KnownRanges:
    """Columns whose least and greatest value among all training rows are known, by the attribute's name.

    `given`: these are attained by training rows. All others are known as far as the domain declares them.
    """

    given: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def of(self, attribute: AnyAttribute) -> tuple[float, float] | None:
        """Return the range of an attribute's numbers, None where an end is not known."""
        if attribute.name in self.given:
            return self.given[attribute.name]
        return _declared(attribute)


def _declared(attribute: AnyAttribute) -> tuple[float, float] | None:
    """Return the ends that the domain declares for an attribute of numbers, None where there are none."""
    if isinstance(attribute, Grid):
        return float(attribute.minimum), float(attribute.maximum)
    if isinstance(attribute, Continuous) and attribute.minimum is not None and attribute.maximum is not None:
        return float(attribute.minimum), float(attribute.maximum)
    return None


def known_ranges(domain: Domain, ranges: Ranges) -> KnownRanges:
    """Return the ranges of columns: given by name (or as the table of a file), or "attained", the domain's ends.

    Raises `ReleaseError` for unknown names, ends that are not numbers, and where the domain has no ends to attain.
    """
    if ranges is None:
        return KnownRanges()
    if isinstance(ranges, str):
        if ranges != ATTAINED:
            return KnownRanges(_read_ranges(domain, ranges))
        found = {a.name: ends for a in domain.attributes if (ends := _declared(a)) is not None}
        if not found:
            message = "no attribute of the domain has two ends that could be attained: declare them (--domain)"
            raise ReleaseError(message, place="ranges")
        return KnownRanges(found)
    return KnownRanges({str(name): _checked_ends(domain, str(name), ends, "ranges") for name, ends in ranges.items()})


def _read_ranges(domain: Domain, path: str) -> dict[str, tuple[float, float]]:
    """Return the ranges in a table of attribute, min, max; `ReleaseError` names the file and the line."""
    from recon.readers.frames.selections import read_table

    frame = read_table(path)
    if missing := [name for name in COLUMNS if name not in frame.columns]:
        message = f"has no column '{missing[0]}': ranges are a table with the columns {', '.join(COLUMNS)}"
        raise ReleaseError(message, file=path)
    found: dict[str, tuple[float, float]] = {}
    for row, line in enumerate(frame[list(COLUMNS)].itertuples(index=False), start=1):
        name, *ends = line
        if str(name) in found:
            raise ReleaseError(f"'{name}' stands twice", place=f"row {row}", file=path)
        try:
            found[str(name)] = _checked_ends(domain, str(name), ends, f"row {row}")
        except ReleaseError as error:
            raise error.at(file=path) from None
    return found


def _checked_ends(domain: Domain, name: str, ends: Any, place: str) -> tuple[float, float]:
    """Return the two ends of an attribute as numbers; `ReleaseError` naming what is wrong."""
    k = domain.place.get(name)
    if k is None or not isinstance(domain.all[k], Continuous | Grid):
        raise ReleaseError(f"'{name}' is not an attribute of numbers in the domain", place=place)
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        raise ReleaseError(f"'{name}' needs two numbers, min and max, not {ends!r}", place=place) from None
    if not (is_number(low) and is_number(high)) or not low <= high or math.isinf(high - low):
        raise ReleaseError(f"'{name}' needs a min that is at most its max, not {low:g} and {high:g}", place=place)
    return low, high


Floats = NDArray[np.float64]
LISTED = 100  # values of a cell that are listed one by one; of more on a grid the ends say as much
MAX_COUNTED_VALUES = 1 << 60  # more values than this are counted as so many


@dataclass(frozen=True, eq=False)
class PositionColumn:
    """What is left of one attribute in every row; all arrays are (rows,).

    `low`, `high`: the least and greatest number left (infinite: no end is known; NaN: the values are not numbers, or
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
    out, unsaid = [], untested(release.domain, release.cut)
    for k, cuts in enumerate(release.cut.cuts):
        start, end = found.start[:, k], found.end[:, k]
        if k in unsaid:  # 0 and 1 for want of anything better: nobody said which values there are
            out.append(_unknown(len(start)))
            continue
        if isinstance(cuts.attribute, Continuous):
            out.append(_continuous(cuts, start, end, ranges.of(cuts.attribute)))
            continue
        if k in found.sets:
            place = np.arange(found.sets[k].shape[1])
            allowed = found.sets[k] & (place >= start[:, None]) & (place < end[:, None])
            different, back = np.unique(allowed, axis=0, return_inverse=True)
            patterns = [_runs(row) for row in different]
        else:
            pairs, back = np.unique(np.stack([start, end], axis=1), axis=0, return_inverse=True)
            patterns = [[(int(a), int(b))] if a < b else [] for a, b in pairs]
        out.append(_finite(cuts, patterns, back.reshape(-1)))
    return out


def _unknown(rows: int) -> PositionColumn:
    """Return an attribute of which nothing is known, in so many rows."""
    none, no = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
    end = np.full(rows, np.inf)
    return PositionColumn(-end, end, none, no, no, np.ones(rows), np.zeros(rows), (None,), none)


def _runs(allowed: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the runs of True as (first, behind)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], allowed, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _continuous(
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


def _finite(cuts: AttributeCuts, patterns: list[list[tuple[int, int]]], back: NDArray[np.int64]) -> PositionColumn:
    """Return an attribute with single values; `patterns` are the different sets of parts, `back` that of each row."""
    spans = [[(cuts.bounds(a)[0], cuts.bounds(b - 1)[1]) for a, b in pattern] for pattern in patterns]
    return of_spans(cuts, spans, back)


def of_spans(cuts: AttributeCuts, every: list[list[tuple[int, int]]], back: NDArray[np.int64]) -> PositionColumn:
    """Return an attribute with single values; `every` has the different spans of indices, `back` those of each row."""
    total = cuts.attribute.span[1]
    made = [_left_of(cuts, spans) for spans in every]
    low, high, middle = (np.array([one[i] for one in made], dtype=np.float64)[back] for i in range(3))
    left = np.array([min(one[3], MAX_COUNTED_VALUES) for one in made], dtype=np.int64)[back]
    missing = np.array([one[4] for one in made], dtype=bool)[back]
    width = np.clip((left - 1) / max(1, min(total, MAX_COUNTED_VALUES) - 1), 0.0, 1.0)
    return PositionColumn(low, high, left, left == 1, missing, width, middle, tuple(one[5] for one in made), back)


def _left_of(
    cuts: AttributeCuts, spans: list[tuple[int, int]]
) -> tuple[float, float, float, int, bool, tuple[Value, ...] | None]:
    """Return least, greatest, index in the middle, how many values spans hold, whether missing is one, and all."""
    attribute, known = cuts.attribute, cuts.attribute.known[1]
    left = sum(b - a for a, b in spans)
    missing = bool(spans) and spans[-1][1] > known
    numbers = [(a, min(b, known)) for a, b in spans if a < known]
    low = high = math.nan
    if numbers and not (isinstance(attribute, Categorical) and not attribute.numeric):
        ends = attribute.value(numbers[0][0]), attribute.value(numbers[-1][1] - 1)
        low, high = (float(x) if is_number(x) else math.nan for x in ends)
    values: tuple[Value, ...] | None = None
    if left <= LISTED or isinstance(attribute, Categorical):
        cells = (attribute.value(i) for a, b in spans for i in range(a, b))
        values = tuple(MISSING if cell is None else cell for cell in cells)
    return low, high, float(_index_at(spans, left // 2)) if left else math.nan, left, missing, values


def _index_at(spans: list[tuple[int, int]], place: int) -> int:
    """Return the index that stands at a place of the values of some spans."""
    for a, b in spans:
        if place < b - a:
            return a + place
        place -= b - a
    return spans[-1][1] - 1


@dataclass(frozen=True, slots=True)
class ClassFigures:
    """What is proved of the rows of one class: those that are proved to have it, of at most `rows_most` that can.

    `share_leaves_known`: of the trees that drew any row which can be in the class, at least. `mean_width`: of the boxes
    of the proved rows, None without one. `boxes_whole`: of how many the leaf is known in every tree that drew them, so
    that the file says no more; `rows_known`: how many are fully known.
    """

    value: Value
    labels_known: int
    rows_most: int
    share_leaves_known: float
    mean_width: float | None
    boxes_whole: int
    rows_known: int

    @property
    def share_labels_known(self) -> float:
        """Return the share of labels that are proved, at least."""
        return self.labels_known / self.rows_most

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as an object ready for JSON."""
        return {
            "class": self.value,
            "rows": [self.labels_known, self.rows_most],
            "labels_known": self.labels_known,
            "share_labels_known": self.share_labels_known,
            "share_leaves_known": self.share_leaves_known,
            "mean_width": self.mean_width,
            "boxes_whole": self.boxes_whole,
            "rows_known": self.rows_known,
        }


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """What is proved about every position: one `PositionColumn` per attribute, the label last; and how it was found.

    `learner`: what was assumed of the learner. `notes`: what else there is to say. `status`: "exact" where every value
    is known, "bounds" where something is, "unknown" where nothing is but what the domain says.
    """

    release: EncodedRelease
    answer: LocatedAnswer
    columns: tuple[PositionColumn, ...]
    ranges: KnownRanges
    learner: str = "none"
    assumes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = True

    @property
    def rows(self) -> int:
        """Return the number of positions."""
        return len(self.answer.start)

    @property
    def label(self) -> int | None:
        """Return the number of the label among the columns."""
        return None if self.release.domain.label is None else len(self.columns) - 1

    @cached_property
    def data(self) -> tuple[PositionColumn, ...]:
        """Return the columns without the label."""
        return self.columns if self.label is None else self.columns[:-1]

    @cached_property
    def given(self) -> Bits:
        """Return (rows, attributes): which values were known beside the release."""
        beside = self.release.beside
        return np.zeros((self.rows, len(self.columns)), dtype=bool) if beside is None else beside.given

    @cached_property
    def wide(self) -> Floats:
        """Return (rows,) the mean width of what is left of a row's attributes, those given left out; 0 without any."""
        if not self.data:
            return np.zeros(self.rows)
        own = ~self.given[:, : len(self.data)]
        total = np.sum([c.width * own[:, k] for k, c in enumerate(self.data)], axis=0)
        return np.asarray(total / np.maximum(own.sum(axis=1), 1))

    @property
    def labels_known(self) -> int | None:
        """Return how many labels are proved; None without a label."""
        return None if self.label is None else int(self.columns[self.label].exact.sum())

    @cached_property
    def rows_known(self) -> int:
        """Return how manyrows are fully known: every value, the label among them."""
        return int(np.logical_and.reduce([c.exact for c in self.columns]).sum())

    @cached_property
    def labels_left(self) -> Bits:
        """Return (rows, labels): the labels that are left at every position; (rows, 0) without a label."""
        if self.label is None:
            return np.zeros((self.rows, 0), dtype=bool)
        place = np.arange(len(self.release.cut.cuts[self.label].inner) + 1)
        start, end = self.answer.start[:, self.label, None], self.answer.end[:, self.label, None]
        allowed: Bits = (place >= start) & (place < end)
        return allowed & self.answer.sets[self.label] if self.label in self.answer.sets else allowed

    @cached_property
    def classes(self) -> tuple[ClassFigures, ...]:
        """Return the figures of every class that a row can have, the worst-off class first; () without a label.

        Worst off is that of which most leaves are proved; among equals, most labels, then the narrowest boxes.
        """
        if self.label is None:
            return ()
        left, label = self.labels_left, self.release.domain.all[self.label]
        known = left.sum(axis=1) == 1
        wholly = np.logical_and.reduce([c.exact for c in self.columns])
        drawn, leaves = self.answer.drawn, self.answer.leaves
        if not len(drawn):
            drawn = leaves = np.zeros(self.rows, dtype=np.int64)
        found = []
        for j in np.flatnonzero(left.any(axis=0)).tolist():
            able = left[:, j]
            own, trees = able & known, int(drawn[able].sum())
            found.append(
                ClassFigures(
                    label.value_at(j),
                    int(own.sum()),
                    int(able.sum()),
                    float(leaves[own].sum() / trees) if trees else 0.0,
                    float(self.wide[own].mean()) if own.any() else None,
                    int((own & (leaves == drawn) & (drawn > 0)).sum()),
                    int((own & wholly).sum()),
                )
            )
        return tuple(sorted(found, key=_exposure))

    @cached_property
    def values_known(self) -> float:
        """Return the share of values that are known, the label left out."""
        own = ~self.given[:, : len(self.data)]
        known = sum(int((c.exact & own[:, k]).sum()) for k, c in enumerate(self.data))
        return known / int(own.sum()) if own.any() else 0.0

    @cached_property
    def width(self) -> float:
        """Return the mean width of what is left, of every column its share: 0 is known, 1 says nothing."""
        own = ~self.given[:, : len(self.data)]
        total = sum(float(c.width[own[:, k]].sum()) for k, c in enumerate(self.data))
        return total / int(own.sum()) if own.any() else 0.0 if self.rows else 1.0

    @cached_property
    def narrowed(self) -> bool:
        """Return whether anything is proved that the domain, or a range that was given, does not say by itself."""
        parts = np.array([len(cuts.inner) + 1 for cuts in self.release.cut.cuts])
        answer = self.answer
        if bool(((answer.start > 0) | (answer.end < parts)).any()):
            return True
        return any(not held.all() for held in answer.sets.values()) or any(c.exact.any() for c in self.data)

    @property
    def status(self) -> str:
        """Return "exact", "bounds" or "unknown"."""
        if self.rows and self.rows_known == self.rows:
            return "exact"
        return "bounds" if self.narrowed else "unknown"

    @property
    def width_of(self) -> str:
        """Return what widths are shares of: "range", "gaps" (between thresholds), or "range or gaps"."""
        attributes = self.release.domain.attributes
        sized = [self.ranges.of(a) is not None for a in attributes if isinstance(a, Continuous)]
        if all(sized):
            return "range"
        return "range or gaps" if any(sized) else "gaps"

    def figures(self) -> dict[str, Any]:
        """Return the summary as named figures, the same in `attrs`, in `--json` and in an audit."""
        known, rows = self.labels_known, self.rows
        return {
            "status": self.status,
            "complete": self.complete,
            "rows": rows,
            "labels": None if known is None else rows,
            "labels_known": known,
            "share_labels_known": None if known is None or not rows else known / rows,
            "rows_known": self.rows_known,
            "share_rows_known": self.rows_known / rows if rows else None,
            "share_values_known": self.values_known,
            "share_leaves_known": self.answer.leaves_proved,
            "mean_width": self.width,
            "mean_width_domain": 1.0,
            "width_of": self.width_of,
            "learner": self.learner,
            "steps": self.answer.steps,
            "classes": [one.to_dict() for one in self.classes],
            **({} if self.release.beside is None else {"known": self.release.beside.to_dict()}),
        }

    def assumed(self, lines: Sequence[str]) -> list[str]:
        """Return assumptions of the release that the lines make too: whoever follows the learner's rule uses it."""
        return [line for line in lines if self.learner == "none" or line != NO_LEARNER]

    def to_frame(self) -> pd.DataFrame:
        """Return one line per position and attribute; see `positions`."""
        import pandas as pd

        names = [a.name for a in self.release.domain.all]
        n, width = self.rows, len(names)
        low, high, exact, values = [], [], [], []
        for column in self.columns:
            low.append(column.low)
            high.append(column.high)
            exact.append(column.exact)
            listed = np.empty(len(column.values), dtype=object)
            for i, one in enumerate(column.values):
                listed[i] = None if one is None else list(one)
            values.append(listed[column.values_of])
        found = {
            "position": np.repeat(np.arange(n), width),
            "attribute": np.tile(np.array(names, dtype=object), n),
            "low": np.stack(low, axis=1).reshape(-1),
            "high": np.stack(high, axis=1).reshape(-1),
            "exact": np.stack(exact, axis=1).reshape(-1),
            "values": np.stack(values, axis=1).reshape(-1),
        }
        if self.release.beside is not None:
            found["given"] = self.given.reshape(-1)
        if any(a.missing for a in self.release.domain.all):
            found["missing"] = np.stack([c.missing for c in self.columns], axis=1).reshape(-1)
        return pd.DataFrame(found)


def _exposure(one: ClassFigures) -> tuple[float, ...]:
    """Return a key by which the worst-off class comes first."""
    width = 1.0 if one.mean_width is None else one.mean_width
    return -one.share_leaves_known, -one.share_labels_known, width, one.rows_most


def attributes(found: PlacedRows) -> dict[str, Any]:
    """Return what stands beside the lines: the figures, and how they were found."""
    return {
        **found.figures(),
        "assumptions": [*found.assumed(found.release.assumptions), *found.assumes],
        "notes": list(found.notes),
        "engine": found.answer.engine,
        "seconds": seconds_said(found.answer.seconds, 6),
        "trail": list(found.answer.trail),
        "certificate": None,
    }


def unplaced_notes(release: EncodedRelease) -> list[str]:
    """Return a sentence on figures that no position follows from, [] where there are none."""
    loose = [one for block in release.statements.blocks if isinstance(block, Loose | Choice) for one in block.members]
    if not loose:
        return []
    names = ", ".join(dict.fromkeys(one.source.partition(",")[0] for one in loose))
    return [f"not used by position, as figures about rows without an order: {names}"]
