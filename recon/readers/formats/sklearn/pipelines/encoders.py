"""OneHotEncoder and OrdinalEncoder as they stand in a file: a map per column they put out.

Source: `_BaseEncoder._transform`, `_map_infrequent_categories`, `OneHotEncoder.transform` and
`OrdinalEncoder.transform` in sklearn/preprocessing/_encoders.py, versions 1.0 to 1.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.domain.values import Value, is_number
from encoders.models.models import ColumnFigures
from recon.readers.formats.sklearn.pipelines.binding import Hints
from recon.readers.formats.sklearn.pipelines.columns import Coded, OneOf, StepColumn
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported

REFUSED = "the encoder refuses values that it was not fitted on: no training row has them, whatever the domain lists"
UNKNOWN = ("error", "ignore", "infrequent_if_exist", "warn", "use_encoded_value")


@dataclass(frozen=True)
class Categories:
    """The categories of one column in the encoder's order, NaN or None (`gap`, an index) among them.

    `group`: per category the number after rare ones were put together; `rare`: that of the rare ones.
    """

    values: tuple[Value, ...]
    gap: int | None
    group: tuple[int, ...]
    rare: int | None

    @property
    def groups(self) -> int:
        """Return how many numbers there are."""
        return max(self.group, default=-1) + 1

    def of(self, number: int) -> list[Value]:
        """Return the categories that have a number, missing left out."""
        return [v for i, v in enumerate(self.values) if self.group[i] == number and i != self.gap]


def categories_of(thing: Thing, columns: Sequence[object], place: str) -> list[Categories]:
    """Return the categories of every column; `ReleaseError` unless there is one set for each."""
    stored = thing.get("categories_")
    if not isinstance(stored, list) or len(stored) != len(columns):
        raise ReleaseError(f"has not one set of categories for each of its {len(columns)} columns", place=place)
    rare = thing.get("_infrequent_indices") if thing.get("_infrequent_enabled") is True else None
    if rare is None:
        rare = [None] * len(columns)
    if not isinstance(rare, list) or len(rare) != len(columns):
        raise ReleaseError("has not one set of infrequent categories per column", place=place)
    kept = thing.class_name == "OrdinalEncoder"
    return [
        _one_set(s, r, kept, f"{place}.categories_[{i}]") for i, (s, r) in enumerate(zip(stored, rare, strict=True))
    ]


def _one_set(stored: Any, rare: Any, apart: bool, place: str) -> Categories:
    """Return one column's categories; `apart`: missing is no category when rare ones are put together."""
    if not isinstance(stored, np.ndarray) or stored.ndim != 1 or not len(stored):
        raise ReleaseError("are no categories", place=place)
    raw = stored.tolist()
    gaps = [i for i, v in enumerate(raw) if v is None or (isinstance(v, float) and math.isnan(v))]
    if len(gaps) > 1:
        raise Unsupported(f"{place}: both None and NaN are categories, which a domain does not distinguish: use one")
    gap = gaps[0] if gaps else None
    values = tuple("" if i == gap else plain_category(v, place) for i, v in enumerate(raw))
    known = [v for i, v in enumerate(values) if i != gap]
    if len(set(known)) < len(known):
        raise ReleaseError("lists a category twice", place=place)
    inside = _rare_indices(rare, len(values), place)
    if not inside:
        return Categories(values, gap, tuple(range(len(values))), None)
    frequent = [i for i in range(len(values)) if i not in inside and not (apart and i == gap)]
    number = {i: k for k, i in enumerate(frequent)}
    group = [number.get(i, len(frequent)) for i in range(len(values))]
    return Categories(values, gap, tuple(group), len(frequent))


def _rare_indices(rare: Any, size: int, place: str) -> set[int]:
    """Return the indices of infrequent categories."""
    if rare is None:
        return set()
    found = rare.tolist() if isinstance(rare, np.ndarray) and rare.dtype.kind in "iu" and rare.ndim == 1 else None
    if found is None or not all(0 <= i < size for i in found):
        raise ReleaseError("has infrequent categories that are none of its categories", place=place)
    return set(found)


def plain_category(value: Any, place: str) -> Value:
    """Return a category as text or a number: 1.0 is 1, "1" is not."""
    if isinstance(value, str):
        return value
    if is_number(value) and abs(value) < 1 << 63:
        return int(value) if isinstance(value, float) and value == int(value) else value
    raise ReleaseError(f"has the value {str(value)[:40]}, which is neither text nor a number of 64 bits", place=place)


def _handling(thing: Thing, place: str) -> str:
    """Return what the encoder does with values that it does not know."""
    found = thing.get("handle_unknown", "error")
    if not isinstance(found, str) or found not in UNKNOWN:
        raise ReleaseError("has a setting handle_unknown that no version knows", place=place)
    return found


OF_CATEGORIES = "categories_ _n_features_outs drop_idx_ _drop_idx_after_grouping _missing_indices"


def _note(thing: Thing, column: StepColumn, known: Categories, unknown: str, hints: Hints) -> None:
    """Note what the encoder says about the values of a raw column."""
    values = [v for i, v in enumerate(known.values) if i != known.gap]
    given = not isinstance(thing.get("categories", "auto"), str)
    hints.listed(column, values, known.gap is not None, given and unknown != "error")
    if unknown == "error":
        hints.reader_notes[REFUSED] = None


def _state(thing: Thing, columns: Sequence[StepColumn], found: Sequence[Categories], hints: Hints, place: str) -> None:
    """Note that all categories occur and nothing else, unless they were given; which are rare is said by counts."""
    if any(one.rare is not None for one in found) or not isinstance(thing.get("categories", "auto"), str):
        return
    for column, one in zip(columns, found, strict=True):
        values = frozenset(v for i, v in enumerate(one.values) if i != one.gap)
        figures = ColumnFigures("", f"{place}.categories_", values=values, gap=one.gap is not None)
        hints.state(column, thing, OF_CATEGORIES, figures)


def one_hot(thing: Thing, columns: Sequence[StepColumn], hints: Hints, place: str) -> list[StepColumn]:
    """Return the columns of a OneHotEncoder: one per category (or group of rare ones) that was not dropped."""
    found, unknown = categories_of(thing, columns, place), _handling(thing, place)
    dropped = _dropped_numbers(thing, found, place)
    _state(thing, columns, found, hints, place)
    out = []
    for column, known, drop in zip(columns, found, dropped, strict=True):
        _note(thing, column, known, unknown, hints)
        every = frozenset(v for i, v in enumerate(known.values) if i != known.gap)
        by_number: dict[int, list[Value]] = {}
        for i, k in enumerate(known.group):
            by_number.setdefault(k, []).extend([known.values[i]] if i != known.gap else [])
        gap = None if known.gap is None else known.group[known.gap]
        grouped = unknown in {"infrequent_if_exist", "warn"}
        for k in range(known.groups):
            if k != drop:
                other = grouped and k == known.rare
                missing = k == gap or (gap is None and other)
                title = "infrequent_sklearn" if k == known.rare else "nan" if not by_number[k] else by_number[k][0]
                step = OneOf(frozenset(by_number[k]), every, missing, other)
                out.append(column.then(step, f"{column.name}_{title}"))
    return out


def _dropped_numbers(thing: Thing, found: Sequence[Categories], place: str) -> list[int | None]:
    """Return the number of the category that every column leaves out, None: none."""
    stored = thing.get("_drop_idx_after_grouping") if thing.has("_drop_idx_after_grouping") else thing.get("drop_idx_")
    if stored is None:
        return [None] * len(found)
    drops: list[int | None] | None = stored.tolist() if isinstance(stored, np.ndarray) and stored.ndim == 1 else None
    if drops is None or len(drops) != len(found):
        raise ReleaseError("does not say which category of each column is dropped", place=place)
    for drop, known in zip(drops, found, strict=True):
        if drop is not None and not (isinstance(drop, int) and 0 <= drop < known.groups):
            raise ReleaseError(f"drops a category that is none of its {known.groups}", place=place)
    return drops


def ordinal_codes(thing: Thing, columns: Sequence[StepColumn], hints: Hints, place: str) -> list[StepColumn]:
    """Return the columns of an OrdinalEncoder: the number of the category."""
    found, unknown = categories_of(thing, columns, place), _handling(thing, place)
    other = _code_of(thing.get("unknown_value"), place) if unknown == "use_encoded_value" else -1.0
    missing = _code_of(thing.get("encoded_missing_value", math.nan), place)
    _state(thing, columns, found, hints, place)
    out = []
    for column, known in zip(columns, found, strict=True):
        _note(thing, column, known, unknown, hints)
        codes = {v: float(known.group[i]) for i, v in enumerate(known.values) if i != known.gap}
        numbers = [float(v) for v in codes if is_number(v)]
        ordered = (
            tuple(numbers)
            if unknown == "error" and known.rare is None and len(numbers) == len(codes) and numbers == sorted(numbers)
            else None
        )
        gap = missing if known.gap is not None else other if unknown == "use_encoded_value" else None
        out.append(column.then(Coded(codes, gap, other, ordered)))
    return out


def _code_of(value: Any, place: str) -> float | None:
    """Return the code of missing or unknown values, None for NaN."""
    if isinstance(value, (int, float)) and abs(value) <= 1e15:
        return float(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    raise ReleaseError("has a code for unknown or missing values that is not a number", place=place)
