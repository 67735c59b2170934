"""Rows that somebody has, searched in a stored model: which of their values stand in it, and where.

A value is searched that few rows share (at most three have it in its column): as a number in double and single
precision, as an integer, as a text. Three such values of one row in one object: the row is stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recon.readers.inspection.findings.findings import Finding
from recon.readers.inspection.ledger.entries import parts_of
from recon.readers.inspection.objects.traversal import GraphPlace, is_sparse, traverse
from recon.readers.stored.objects.things import Thing

if TYPE_CHECKING:
    import pandas as pd

FEW = 3  # rows that share a value which tells one of them
CELLS = 3  # such values of one row in one object: the row
SHOWN = 3  # of them in a sentence
_KEPT = "take it out before saving, or do not release the file"
Cell = tuple[int, str, Any]  # row (from 0 on), column, value


@dataclass(frozen=True)
class _Values:
    """Values that few rows share: by number, by number in single precision, by text; and the cells that have them."""

    numbers: dict[float, list[Cell]]
    singles: dict[float, list[Cell]]
    texts: dict[str, list[Cell]]


def searched(root: Any, rows: pd.DataFrame) -> list[Finding]:
    """Return the findings on rows whose values stand in a graph of stored objects: linear in both.

    "stored-row": at least three values of a row that few others share stand in one object; "stored-value": one or two.
    """
    values = _values(rows)
    found = []
    for place in traverse(root):
        cells: dict[int, dict[str, Any]] = defaultdict(dict)
        for row, column, value in _cells(place, values):
            cells[row].setdefault(column, value)
        if cells:
            found.append(_finding(place, cells))
    return found


def _values(rows: pd.DataFrame) -> _Values:
    """Return the values that at most three rows have in a column."""
    import pandas as pd

    out = _Values(defaultdict(list), defaultdict(list), defaultdict(list))
    for name in rows.columns:
        column = rows[name]
        count = column.map(column.value_counts())
        for row, (value, times) in enumerate(zip(column.tolist(), count.tolist(), strict=True)):
            if pd.isna(value) or times > FEW:
                continue
            cell = (row, str(name), value)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                out.numbers[float(value)].append(cell)
                out.singles[float(np.float32(value))].append(cell)
            out.texts[str(value)].append(cell)
    return out


def _cells(place: GraphPlace, values: _Values) -> Iterator[Cell]:
    """Yield the cells whose values stand at a place, without what the walk goes on to."""
    value = place.value
    if is_sparse(value):
        for part in value.attributes.values():
            if isinstance(part, np.ndarray):
                yield from _of_array(part, values)
    elif isinstance(value, np.ndarray) and value.dtype != object:
        yield from _of_array(value, values)
    elif not isinstance(value, Thing):
        for part in parts_of(value) or [value]:
            if isinstance(part, str):
                yield from values.texts.get(part, ())
                if len(part) > SHOWN:
                    for word in (
                        part.replace(";", ",").replace("|", ",").replace("\n", ",").replace(" ", ",").split(",")
                    ):
                        yield from values.texts.get(word, ()) if word != part else ()
            elif isinstance(part, (int, float)) and not isinstance(part, bool) and abs(part) < 1e300:
                yield from values.numbers.get(float(part), ())


def _of_array(array: np.ndarray[Any, Any], values: _Values) -> Iterator[Cell]:
    """Yield the cells whose values an array holds, in each field of records."""
    if array.dtype.names:
        for name in array.dtype.names:
            yield from _of_array(array[name], values)
        return
    if array.dtype.kind in "US":
        for text in np.unique(array).tolist():
            yield from values.texts.get(str(text), ())
        return
    if array.dtype.kind not in "iuf":
        return
    known = values.singles if array.dtype.itemsize <= 4 and array.dtype.kind == "f" else values.numbers
    different = np.unique(array).astype(np.float64)
    for number in different[np.isin(different, np.fromiter(known, dtype=np.float64, count=len(known)))].tolist():
        yield from known[number]


def _finding(place: GraphPlace, cells: dict[int, dict[str, Any]]) -> Finding:
    """Return that rows, or single values of them, stand at a place."""
    whole = sorted(row for row, held in cells.items() if len(held) >= CELLS)
    row = whole[0] if whole else min(cells)
    shown = ", ".join(f"{name} {value}" for name, value in list(cells[row].items())[:SHOWN])
    path = place.path or "(the object)"
    if whole:
        text = f"row {row + 1:,} of the data stands here ({shown}), with {len(whole) - 1:,} others"
        return Finding(
            "critical", "stored-row", path, f"{len(whole):,} rows of the data", text, _KEPT, entries=len(whole)
        )
    text = f"{shown} of row {row + 1:,} stands here, and values of {len(cells) - 1:,} other rows"
    return Finding("medium", "stored-value", path, f"values of {len(cells):,} rows of the data", text, _KEPT)
