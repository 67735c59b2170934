"""What a black box is asked about: rows of numbers by column, placed on the lines of the names that a model tests.

A model tests attributes or 0/1 views of them; a table may have either. Numbers that are no value of an attribute, as
attacks make them by adding noise, are taken for the nearest one, so that every row has an answer.

Rows as attacks see them: numbers by column and numbered classes, and the black boxes that are asked about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.domain.values import (
    AnyAttribute,
    Categorical,
    Continuous,
    Grid,
    Ranges,
    Test,
    Value,
    complement,
    exact,
    from_text,
    intersection,
)
from encoders.encode.encoder import EncodedRelease, untested
from encoders.models.nodes import as_integers
from recon.readers.frames.selections import columns_by_attribute, distinct_cells, doubt, frame_ranges, missing
from solvers.foundation.errors import ReleaseError, Unsupported

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]
MAX_EXACT = 1 << 53  # positions that doubles tell apart


class Target(Protocol):
    """A black box: any scikit-learn classifier fitted on class numbers, a surrogate, a released model.

    `classes_`: the class numbers it knows, ascending; `predict_proba` (rows, columns) -> (rows, len(classes_)) shares.
    """

    @property
    def classes_(self) -> NDArray[Any]:
        """Return the class numbers that it knows."""

    def predict_proba(self, X: Any) -> Any:  # noqa: N803 - scikit-learn's name
        """Return each row's shares of the classes that it knows."""


@dataclass(frozen=True)
class RecordColumns:
    """The columns of rows: their names, which are continuous (the others hold 0 and 1), and one-hot groups of bits."""

    names: tuple[str, ...]
    continuous: tuple[bool, ...]
    groups: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def of(cls, frame: pd.DataFrame, groups: Sequence[Sequence[int]] = ()) -> RecordColumns:
        """Return the columns of a frame of numbers: those with any value beside 0 and 1 are continuous."""
        values = frame.to_numpy(dtype=np.float64)
        continuous = tuple(bool(any_) for any_ in np.any(~np.isin(values, (0.0, 1.0)), axis=0).tolist())
        return cls(tuple(map(str, frame.columns)), continuous, tuple(map(tuple, groups)))

    @property
    def bits(self) -> Ints:
        """Return the numbers of the columns that hold 0 and 1."""
        return np.flatnonzero(~np.array(self.continuous, dtype=bool))

    @property
    def numbers(self) -> Ints:
        """Return the numbers of the continuous columns."""
        return np.flatnonzero(np.array(self.continuous, dtype=bool))


@dataclass(frozen=True, eq=False)
class Records:
    """Rows (n, d) as numbers and their labels (n,) as class numbers 0 .. len(classes) - 1."""

    x: Floats
    y: Ints
    columns: RecordColumns
    classes: tuple[Any, ...]

    @classmethod
    def of(cls, frame: pd.DataFrame, label: str | None = None, classes: Sequence[Any] | None = None,
           columns: RecordColumns | None = None) -> Records:  # fmt: skip
        """Return a frame's rows; its label is the last column unless named, its classes ascend unless given.

        Raises `ReleaseError` naming the column: one that holds no numbers or gaps, an unknown label, an unknown class.
        """
        label = str(frame.columns[-1]) if label is None else label
        if label not in frame.columns:
            raise ReleaseError(f"there is no column '{label}'; there are {', '.join(map(str, frame.columns))}")
        features = frame.drop(columns=label)
        for name in features.columns:
            found = pd.to_numeric(features[name], errors="coerce")
            if not np.isfinite(found.to_numpy(dtype=np.float64)).all():
                raise ReleaseError(f"column '{name}' holds something that is not a number, or a gap: encode or drop it")
        known = tuple(sorted(frame[label].unique().tolist())) if classes is None else tuple(classes)
        number = {value: k for k, value in enumerate(known)}
        unknown = next((v for v in frame[label].tolist() if v not in number), None)
        if unknown is not None:
            raise ReleaseError(f"the label '{label}' is {unknown!r} in some row, which is none of {list(known)}")
        x = features.to_numpy(dtype=np.float64)
        y = np.array([number[v] for v in frame[label].tolist()], dtype=np.int64)
        return cls(x, y, RecordColumns.of(features) if columns is None else columns, known)

    def __len__(self) -> int:
        return len(self.x)

    def take(self, index: NDArray[Any]) -> Records:
        """Return the rows of an index or a mask."""
        return Records(self.x[index], self.y[index], self.columns, self.classes)

    def numbered(self) -> Ints:
        """Return (n,) which distinct row, label included, each row is: equal numbers, equal rows."""
        whole = np.column_stack([self.x, self.y])
        number: Ints = np.unique(whole, axis=0, return_inverse=True)[1].reshape(-1)
        return number


def probabilities(target: Target, x: Floats, classes: int) -> Floats:
    """Return (rows, classes) what a black box says; 0 for classes that it does not know."""
    found = np.zeros((len(x), classes))
    if len(x):
        found[:, np.asarray(target.classes_, dtype=np.int64)] = target.predict_proba(x)
    return found


def predicted(target: Target, x: Floats, classes: int) -> Ints:
    """Return (rows,) the class numbers that a black box names: the most probable, of equal ones the first."""
    found: Ints = probabilities(target, x, classes).argmax(axis=1)
    return found


NAMES_SHOWN = 5
BIT = 0.5  # a 0/1 column above it is a 1


@dataclass(frozen=True)
class InputColumn:
    """One column of numbers: an attribute's own, a view's bit, or the bit that a listed attribute has one value."""

    name: str
    attribute: int
    view: bool = False
    value: Value | None = None


def columns_of(domain: Domain, names: Iterable[str] | None = None) -> tuple[InputColumn, ...]:
    """Return the columns of numbers behind a table's columns (default: the domain's own order), the label left out.

    A listed attribute of texts becomes a bit per value (of two values: one bit). Raises `ReleaseError` for a name that
    the domain does not have.
    """
    label = None if domain.label is None else len(domain.all) - 1
    out: list[InputColumn] = []
    named = _default_names(domain) if names is None else list(names)
    for k, places in columns_by_attribute(pd.DataFrame(columns=pd.Index(named)), domain).items():
        for name in (named[i] for i in places):
            if k == label:
                continue
            attribute = domain.all[k]
            if name not in domain.place:
                out.append(InputColumn(name, k, view=True))
            elif isinstance(attribute, Categorical) and not attribute.numeric:
                values = attribute.values[1:] if len(attribute.values) == 2 else attribute.values
                out += [InputColumn(f"{name} = {value}", k, value=value) for value in values]
            else:
                out.append(InputColumn(name, k))
    order = {name: i for i, name in enumerate(named)}
    own = {c: order[c.name if c.view else domain.all[c.attribute].name] for c in out}
    return tuple(sorted(out, key=own.__getitem__))


def _default_names(domain: Domain) -> list[str]:
    """Return the columns in the domain's own order; without one, attributes that nothing views and all views."""
    if domain.in_order is not None:
        return list(domain.in_order)
    viewed = {view.attribute for view in domain.columns.values()}
    return [*(a.name for a in domain.attributes if a.name not in viewed), *domain.columns]


def numbers(frame: pd.DataFrame, columns: Sequence[InputColumn], release: EncodedRelease) -> Floats:
    """Return (rows, columns) a table's rows as numbers.

    Raises `ReleaseError` naming row and column for an empty cell, and for one that is not a number or no listed value
    (of attributes that no test uses and nobody declared, any number is one).
    """
    x, domain, free = np.empty((len(frame), len(columns))), release.domain, untested(release.domain, release.cut)
    names = [str(c) for c in frame.columns]
    for j, column in enumerate(columns):
        attribute = domain.all[column.attribute]
        at = names.index(column.name if column.view else attribute.name)
        kind = Categorical(column.name, (0, 1)) if column.view else attribute
        kind = Continuous(column.name) if column.attribute in free and not column.view else kind
        text = bool(frame.attrs.get("text"))
        if column.value is None and not text and pd.api.types.is_numeric_dtype(frame.dtypes.iloc[at]):
            cells = frame.iloc[:, at].to_numpy(dtype=np.float64, na_value=np.nan)
            listed = not isinstance(kind, Categorical) or np.isin(cells, [float(v) for v in kind.numbers]).all()
            if np.isfinite(cells).all() and listed:
                x[:, j] = cells
                continue
        codes, values = distinct_cells(frame, at)
        found = [np.nan] + [_number_of(v, kind, column.value, text) for v in values.tolist()]
        x[:, j] = np.array(found)[codes + 1]
        if (odd := np.flatnonzero(np.isnan(x[:, j]))).size:
            row, cell = int(odd[0]), None if codes[odd[0]] < 0 else values[codes[odd[0]]]
            why = "is empty" if missing(cell) else f"holds {cell!r}, which is not a value of it ({kind.describe()})"
            message = f"column '{names[at]}' {why}: attacks need whole rows{doubt(domain)}"
            raise ReleaseError(message, place=f"row {row + 1}", file=frame.attrs.get("file", ""))
    return x


def _number_of(cell: Any, attribute: AnyAttribute, value: Value | None, text: bool) -> float:
    """Return a cell as a number, of a listed text whether it is the value; NaN where it is neither."""
    plain = from_text(cell, attribute) if text and isinstance(cell, str) else cell
    if isinstance(attribute, Categorical) and plain not in attribute.index:
        return np.nan
    if value is not None:
        return float(plain == value)
    if isinstance(plain, bool | int | float | np.number) and np.isfinite(float(plain)):
        return float(plain)
    return np.nan


def class_numbers(frame: pd.DataFrame, domain: Domain) -> Ints:
    """Return (rows,) the number among the label's values of every row's label.

    Raises `ReleaseError` where the table has no label, and naming row and value for one that the model does not know.
    """
    label, file = domain.label, frame.attrs.get("file", "")
    if label is None:
        raise Unsupported("the model has no label: there is nothing to predict")
    names = [str(c) for c in frame.columns]
    if label.name not in names:
        told = "say which column is (--label NAME), or name the label in the domain"
        raise ReleaseError(f"there is no column '{label.name}', the model's label: {told}", file=file)
    codes, values = distinct_cells(frame, names.index(label.name))
    text = bool(frame.attrs.get("text"))
    found = np.full(len(values) + 1, -1, dtype=np.int64)
    for i, cell in enumerate(values.tolist()):
        plain = from_text(cell, label) if text and isinstance(cell, str) else cell
        try:
            found[i + 1] = label.point(plain)[0]
        except ReleaseError:
            found[i + 1] = -1
    y = found[codes + 1]
    if (y < 0).any():
        row = int(np.argmax(y < 0))
        cell = "empty" if codes[row] < 0 else repr(values[codes[row]])
        message = f"the label '{label.name}' is {cell}, which the model does not know ({label.describe()})"
        raise ReleaseError(message, place=f"row {row + 1}", file=file)
    return y


def attack_columns(x: Floats, columns: Sequence[InputColumn]) -> RecordColumns:
    """Return the columns as attacks see them: bits, continuous ones, and the bits of one attribute as a group."""
    continuous = tuple(bool(np.any((x[:, j] != 0) & (x[:, j] != 1))) for j in range(len(columns)))
    of: dict[int, list[int]] = {}
    for j, column in enumerate(columns):
        if (column.view or column.value is not None) and not continuous[j]:
            of.setdefault(column.attribute, []).append(j)
    groups = tuple(tuple(g) for g in of.values() if len(g) > 1 and (x[:, g].sum(axis=1) == 1).all())
    return RecordColumns(tuple(c.name for c in columns), continuous, groups)


@dataclass(frozen=True, eq=False)
class NameLine:
    """The line of one tested name, cut where it is tested: part p begins at cut p - 1; -1 is a missing value.

    Cuts of continuous attributes are numbers and sides (0: just below, 1: just above) as complex numbers, which sort
    as these do; of others they are positions.
    """

    name: str
    attribute: AnyAttribute
    cuts: NDArray[Any]

    def parts(self, places: NDArray[Any]) -> NDArray[np.int32]:
        """Return the part of each place: a number (continuous; NaN: missing) or a position (-1: missing)."""
        if isinstance(self.attribute, Continuous):
            empty = np.isnan(places)
            found = np.searchsorted(self.cuts, np.where(empty, 0.0, places) + BIT * 1j)
        else:
            empty = places < 0
            found = np.searchsorted(self.cuts, places, side="right")
        return np.where(empty, -1, found).astype(np.int32)

    def runs(self, test: Test) -> tuple[list[tuple[int, int]], bool]:
        """Return the parts that pass a test, first and behind the last of each run, and whether missing passes."""
        spans, gap = _spans_of(self.attribute, test)
        begin = [0 if low is None else int(np.searchsorted(self.cuts, low)) + 1 for low, _ in spans]
        behind = [
            len(self.cuts) + 1 if high is None else int(np.searchsorted(self.cuts, high)) + 1 for _, high in spans
        ]
        every = list(zip(begin, behind, strict=True))
        return [run for run in every if run[0] < run[1]], gap


def _spans_of(attribute: AnyAttribute, test: Test) -> tuple[list[tuple[Any, Any]], bool]:
    """Return the ranges that pass a test as cuts (None: no end), and whether missing passes."""
    if isinstance(attribute, Continuous):
        if test.bare and test.missing:
            return [], True
        low = None if test.low is None else complex(float(test.low), test.low_open)
        high = None if test.high is None else complex(float(test.high), not test.high_open)
        return [(low, high)], test.missing
    last = attribute.known[1]
    ranges = attribute.ranges(test)
    return [(a, min(b, last)) for a, b in ranges if a < last], any(b > last for _, b in ranges)


def line(name: str, domain: Domain, tests: Iterable[Test]) -> NameLine:
    """Return the line of a tested name, cut where the tests need it."""
    k = domain.place.get(name)
    attribute = Categorical(name, (0, 1)) if k is None else domain.all[k]
    ends = {end for test in tests for span in _spans_of(attribute, test)[0] for end in span if end is not None}
    cuts = np.array(list(ends), np.complex128) if isinstance(attribute, Continuous) else as_integers(list(ends))
    return NameLine(name, attribute, np.unique(cuts))


@dataclass(frozen=True, eq=False)
class InputLayout:
    """Where the places of tested names come from in rows of numbers by column."""

    domain: Domain
    columns: tuple[InputColumn, ...]

    def demand(self, names: Iterable[str]) -> None:
        """Raise `ReleaseError` where no column says anything about a tested name."""
        known = {c.attribute for c in self.columns}
        lacking = [n for n in names if self.attribute_of(n) not in known]
        if lacking:
            raise ReleaseError(
                f"the model tests {name_list(lacking)}, of which the rows say nothing: they lack the column"
            )

    def settled(self, frame: pd.DataFrame, release: EncodedRelease, lines: Iterable[NameLine]) -> None:
        """Raise `ReleaseError` naming the row where views of an attribute leave open what a tested name is.

        Only those of whose attribute the table has views alone, and not the tested one.
        """
        own = {c.name for c in self.columns if c.value is None}
        spoken = {c.attribute for c in self.columns if not c.view}
        asked = [one for one in lines if one.name not in own and self.attribute_of(one.name) not in spoken]
        known = {self.attribute_of(one.name) for one in asked}
        views = [c.name for c in self.columns if c.attribute in known]
        if not views:
            return
        rows = frame[views].copy(deep=False)
        rows.attrs.update(frame.attrs)
        found = frame_ranges(rows, self.domain, untested(release.domain, release.cut))
        for one in asked:
            codes, every = found[self.attribute_of(one.name)]
            odd = [code for code, ranges in enumerate(every) if self.leaves_open(one, ranges)]
            if odd:
                row = int(np.flatnonzero(np.isin(codes, odd))[0]) + 1
                message = f"the model tests '{one.name}', which the columns {name_list(views)} leave open"
                raise ReleaseError(message, place=f"row {row}", file=frame.attrs.get("file", ""))

    def leaves_open(self, one: NameLine, ranges: Ranges) -> bool:
        """Return whether positions of an attribute lie in several parts of a tested name's line."""
        if one.name in self.domain.columns:
            ones = self.domain.view_ranges(one.name)[1]
            return intersection(ranges, ones) not in ((), ranges)
        ends = [tuple(complex(float(p[0]), p[1]) if isinstance(p, tuple) else p for p in span) for span in ranges]
        first = {int(np.searchsorted(one.cuts, start, side="right")) for start, _ in ends}
        return len(first | {int(np.searchsorted(one.cuts, end, side="left")) for _, end in ends}) > 1

    def attribute_of(self, name: str) -> int:
        """Return the attribute behind a tested name."""
        k = self.domain.place.get(name)
        return self.domain.view_ranges(name)[0] if k is None else k

    def places(self, name: str, x: Floats) -> NDArray[Any]:
        """Return (rows,) the place of every row on the line of a tested name (see `Line.parts`)."""
        own = next((j for j, c in enumerate(self.columns) if c.name == name and c.value is None), None)
        k = self.domain.place.get(name)
        if own is not None:
            return (x[:, own] > BIT).astype(np.int64) if k is None else _places_of(self.domain.all[k], x[:, own])
        if k is not None:
            return self.attribute_places(k, x)
        k, ones = self.domain.view_ranges(name)
        return _places_inside(self.domain.all[k], self.attribute_places(k, x), ones).astype(np.int64)

    def attribute_places(self, k: int, x: Floats) -> NDArray[Any]:
        """Return (rows,) the places of an attribute: its column's, or what the bits about it say."""
        attribute = self.domain.all[k]
        at = [j for j, c in enumerate(self.columns) if c.attribute == k]
        for j in at:
            if not self.columns[j].view and self.columns[j].value is None:
                return _places_of(attribute, x[:, j])
        bits = [j for j in at if self.columns[j].value is not None]
        if isinstance(attribute, Categorical) and bits:
            if len(bits) == 1:
                return (x[:, bits[0]] > BIT).astype(np.int64)
            found: Ints = np.argmax(x[:, bits], axis=1).astype(np.int64)
            return found
        return self.from_views(k, [j for j in at if self.columns[j].view], x)

    def from_views(self, k: int, at: Sequence[int], x: Floats) -> NDArray[Any]:
        """Return (rows,) the first place that the views of an attribute leave.

        Of bits that contradict each other, which only attacks ask about, the first ones count.
        """
        attribute = self.domain.all[k]
        known, back = np.unique(x[:, at] > BIT, axis=0, return_inverse=True)
        ones = [self.domain.view_ranges(self.columns[j].name)[1] for j in at]
        found = []
        for bits in known.tolist():
            left: Ranges = (attribute.span,)
            for bit, passed in zip(bits, ones, strict=True):
                both = intersection(left, passed if bit else _complement(passed, attribute))
                left = both or left
            found.append(_first_place(attribute, left))
        places = np.array(found, np.float64) if isinstance(attribute, Continuous) else as_integers(found)
        return places[back.reshape(-1)]


def name_list(names: Sequence[str]) -> str:
    """Return names in quotes, the first few of many."""
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(f"'{n}'" for n in names[:NAMES_SHOWN]) + more


def _complement(ranges: Ranges, attribute: AnyAttribute) -> Ranges:
    """Return the positions of an attribute in none of the ranges."""
    return complement(ranges, attribute.span)


def _first_place(attribute: AnyAttribute, ranges: Ranges) -> Any:
    """Return a place inside the first of the ranges: its first position, of continuous ones a number within."""
    start, end = ranges[0]
    if not isinstance(attribute, Continuous):
        return -1 if start >= attribute.known[1] else start
    (low, above), (high, _) = start, end
    if above and low == high:
        return np.nan  # the gap behind all values: missing
    if np.isinf(float(low)) or np.isinf(float(high)):
        return float(high) - 1 if np.isinf(float(low)) else float(low) + 1
    return (float(low) + float(high)) / 2


def _places_of(attribute: AnyAttribute, x: Floats) -> NDArray[Any]:
    """Return (rows,) the place of numbers on an attribute's line: the nearest value's; NaN stays missing."""
    if isinstance(attribute, Continuous):
        return x
    empty = np.isnan(x)
    filled = np.where(empty, 0.0, x)
    if isinstance(attribute, Grid) and attribute.count > MAX_EXACT:
        within = np.clip(filled, float(attribute.minimum), float(attribute.maximum)).tolist()
        nearest = [round((exact(number) - attribute.minimum) / attribute.step) for number in within]
        found = as_integers([min(max(k, 0), attribute.count - 1) for k in nearest])
    elif isinstance(attribute, Grid):
        steps = np.rint((filled - float(attribute.minimum)) / float(attribute.step))
        found = np.clip(steps, 0, attribute.count - 1).astype(np.int64)
    elif attribute.numeric:
        values = np.array([float(v) for v in attribute.numbers])
        found = np.searchsorted((values[1:] + values[:-1]) / 2, filled).astype(np.int64)
    else:
        raise Unsupported(f"'{attribute.name}' has texts for values: its rows need a bit per value")
    return np.where(empty, -1, found)


def _places_inside(attribute: AnyAttribute, places: NDArray[Any], ranges: Ranges) -> NDArray[np.bool_]:
    """Return which places lie in the ranges."""
    hit = np.zeros(len(places), dtype=bool)
    last = attribute.known[1]
    for start, end in ranges:
        if isinstance(attribute, Continuous):
            (low, above), (high, to) = start, end
            at = places + BIT * 1j
            hit |= (at > complex(float(low), above)) & (at < complex(float(high), min(to, 1)))
            hit |= np.isnan(places) & bool(end > last)
        else:
            hit |= (places >= start) & (places < end)
            hit |= (places < 0) & bool(end > last)
    return hit
