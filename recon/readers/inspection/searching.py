"""Rows that somebody has, searched in a model file of any kind: which of their values stand in it, and where.

A value is searched that few rows share (at most three have it in its column): as a number in double and single
precision, as an integer, as a text. Three such values of one row in one object, list, vector, tag
or line: the row is stored.
"""

from __future__ import annotations

import contextlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from recon.readers.inspection.documents.documents import json_and_replaced, parsed_document, text_of
from recon.readers.inspection.findings.findings import Finding, merge_findings
from recon.readers.inspection.inspecting import blobs_of
from recon.readers.inspection.ledger.entries import parts_of
from recon.readers.inspection.objects.r_objects import VECTORS, is_r_file, looked_at
from recon.readers.inspection.objects.traversal import GraphPlace, is_sparse, traverse
from recon.readers.stored.binary.rds import RObject, read_rds
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import gunzip, open_stored
from solvers.foundation.displayed import many
from solvers.foundation.errors import ReconError

if TYPE_CHECKING:
    import pandas as pd

MAX_SHARING_ROWS = 3  # rows that share a value which tells one of them
CELLS = 3  # such values of one row in one object: the row
_COMMON = 1_000  # whole numbers below it are sizes, places and parameters as well
SHOWN = 3  # of them in a sentence
_KEPT = "take it out before saving, or do not release the file"
_BETWEEN = re.compile(r"[^\w.+-]+")  # signs between words and numbers
Cell = tuple[int, str, Any]  # row (from 0 on), column, value


@dataclass(frozen=True)
class _Values:
    """Values that few rows share: by number, by number in single precision, by text, with their cells; all numbers."""

    numbers: dict[float, list[Cell]]
    singles: dict[float, list[Cell]]
    texts: dict[str, list[Cell]]
    columns: dict[str, np.ndarray[Any, Any]]


def searched(data: bytes, rows: pd.DataFrame, memory: int = 1 << 30) -> list[Finding]:
    """Return the findings on rows whose values stand in a file: linear in both.

    "stored-row": at least three values of a row that few others share stand in one object, list, vector or line;
    "stored-value": one or two. `memory`: bytes that its content may take.
    """
    values = _values(rows)
    found = []
    for path, cells_of in _places(data, memory):
        cells: dict[int, dict[str, Any]] = defaultdict(dict)
        for row, column, value in cells_of(values):
            cells[row].setdefault(column, value)
        if any(len(held) >= CELLS or any(map(_is_telling, held.values())) for held in cells.values()):
            found.append(_finding(path, cells))
    return merge_findings(found)


def _is_telling(value: Any) -> bool:
    """Return whether a value by itself says something: small whole numbers stand in every file."""
    return isinstance(value, str) or value != int(value) or abs(value) >= _COMMON


def _places(data: bytes, memory: int) -> Iterator[tuple[str, Callable[[_Values], Iterator[Cell]]]]:
    """Yield the path of everything in a file that values may stand in, and what yields the cells that do."""
    stored = open_stored(data, memory)
    content = data if stored is not None else gunzip(data, memory)
    if stored is None and is_r_file(content):
        for vector, _, _ in looked_at(read_rds(content, memory), {}, None):
            yield vector.path, partial(_of_vectors, list(_vectors_in(vector.part)))
        return
    lines = stored is not None or content[:4] == b"tree"  # LightGBM's text: lines that no reader knows count too
    parsed = None if lines else parsed_document(content, memory)
    root = stored.root if stored is not None else parsed[1] if parsed is not None else None
    with contextlib.suppress(ValueError, RecursionError):
        for place in traverse(json_and_replaced(text_of(content))[1]) if parsed is not None else ():
            yield f"(repeated keys){place.path}", partial(_cells, place)
    if root is not None:
        for place in traverse(root):
            yield place.path, partial(_cells, place)
            for path, raw in blobs_of([place]):
                yield from ((f"{path}({inner})", cells) for inner, cells in _places_inside(raw, memory))
        return
    for number, line in enumerate(re.split("[\n<]", text_of(content))):
        yield f"lines[{number}]", partial(_of_text, line)


def _places_inside(data: bytes, memory: int) -> Iterator[tuple[str, Callable[[_Values], Iterator[Cell]]]]:
    """Yield the same of a file inside another, nothing of one that cannot be read."""
    with contextlib.suppress(ReconError):
        yield from _places(data, memory)


def _of_vectors(vectors: list[RObject], values: _Values) -> Iterator[Cell]:
    """Yield the cells whose values the vectors of a table have, or a vector by itself."""
    arrays = [np.asarray(["" if v is None else v for v in one.values]) for one in vectors if len(one.values)]
    for array in arrays:
        yield from _of_array(array, values)
    tables = [array for array in arrays if array.dtype.kind in "iuf" and array.shape == arrays[0].shape]
    if len(tables) >= CELLS:
        yield from _of_matrix(np.column_stack(tables), values)


def _vectors_in(part: RObject) -> Iterator[RObject]:
    """Yield a vector, or those of a table."""
    stack = [part]
    while stack:
        one = stack.pop()
        if one.kind in VECTORS and one.values is not None:
            yield one
        stack += [value for _, value in one.parts if value.kind not in {"environment", "reference"}]


def _values(rows: pd.DataFrame) -> _Values:
    """Return the values that at most three rows have in a column."""
    import pandas as pd

    numeric = rows.select_dtypes("number")
    columns = {str(name): numeric[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in numeric.columns}
    out = _Values(defaultdict(list), defaultdict(list), defaultdict(list), columns)
    for name in rows.columns:
        column = rows[name]
        count = column.map(column.value_counts())
        for row, (value, times) in enumerate(zip(column.tolist(), count.tolist(), strict=True)):
            if pd.isna(value) or times > MAX_SHARING_ROWS:
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
                yield from _of_text(part, values)
            elif isinstance(part, (int, float)) and not isinstance(part, bool) and abs(part) < 1e300:
                yield from values.numbers.get(float(part)) or values.singles.get(float(part)) or ()


def _of_text(text: str, values: _Values) -> Iterator[Cell]:
    """Yield the cells whose values a text is, or has among its words and numbers."""
    yield from values.texts.get(text, ())
    for word in _BETWEEN.split(text) if len(text) > SHOWN else ():
        if word != text and word:
            yield from values.texts.get(word) or _of_number(word, values)


def _of_number(word: str, values: _Values) -> Iterator[Cell]:
    """Yield the cells whose value a word is, however it is written."""
    if word[-1] in "0123456789.":
        with contextlib.suppress(ValueError):
            number = float(word)
            yield from values.numbers.get(number) or values.singles.get(number) or ()


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
    if array.ndim > 1:
        matrix = array.reshape(-1, array.shape[-1])
        yield from _of_matrix(matrix, values)
        yield from _of_matrix(matrix.T, values)
    known = values.singles if array.dtype.itemsize <= 4 and array.dtype.kind == "f" else values.numbers
    different = np.unique(array).astype(np.float64)
    for number in different[np.isin(different, np.fromiter(known, dtype=np.float64, count=len(known)))].tolist():
        yield from known[number]


def _of_matrix(matrix: np.ndarray[Any, Any], values: _Values) -> Iterator[Cell]:
    """Yield the cells of rows that lines of a matrix are, in at least three columns, whoever else has the values.

    A column of it is one of the rows' where all values that it has stand there.
    """
    near = np.float32 if matrix.dtype.itemsize <= 4 and matrix.dtype.kind == "f" else np.float64
    pairs, left = [], {name: np.unique(column.astype(near)) for name, column in values.columns.items() if len(column)}
    some = matrix[[0, len(matrix) // 2, -1]].astype(np.float64) if matrix.size else np.zeros((1, 0))
    may_be = np.zeros(some.shape[1], dtype=bool)  # all at once: a matrix may have as many columns as rows
    for known in left.values():
        may_be |= np.isin(some, known).all(axis=0)
    for at in np.flatnonzero(may_be).tolist():
        mine = np.unique(matrix[:, at].astype(np.float64))
        for name, known in left.items() if len(mine) >= CELLS else ():
            if (known[np.searchsorted(known, mine).clip(max=len(known) - 1)] == mine).all():
                pairs.append((at, name))
                del left[name]
                break
    if len(pairs) < CELLS:
        return
    rows: dict[tuple[float, ...], int] = {}
    for row, line in enumerate(zip(*(values.columns[name].astype(near).tolist() for _, name in pairs), strict=True)):
        rows.setdefault(line, row)
    for line in map(tuple, matrix[:, [at for at, _ in pairs]].astype(np.float64).tolist()):
        if line in rows:
            yield from ((rows[line], name, value) for (_, name), value in zip(pairs, line, strict=True))


def _finding(path: str, cells: dict[int, dict[str, Any]]) -> Finding:
    """Return that rows, or single values of them, stand at a place."""
    whole = sorted(row for row, held in cells.items() if len(held) >= CELLS)
    telling = [r for r, held in cells.items() if any(map(_is_telling, held.values()))]
    row = whole[0] if whole else min(telling or cells)
    shown = ", ".join(f"{name} {value}" for name, value in list(cells[row].items())[:SHOWN])
    path = path or "(the object)"
    if whole:
        text = (
            f"row {row + 1:,} of the data stands here ({shown}), with {len(whole) - 1:,} others"
            if len(whole) > 1
            else f"row {row + 1:,} of the data stands here ({shown})"
        )
        return Finding(
            "critical", "stored-row", path, f"{many(len(whole), 'row')} of the data", text, _KEPT, entries=len(whole)
        )
    text = f"{shown} of row {row + 1:,} stands here" + (
        f", and values of {many(len(cells) - 1, 'other row')}" if len(cells) > 1 else ""
    )
    return Finding("medium", "stored-value", path, f"values of {many(len(cells), 'row')} of the data", text, _KEPT)
