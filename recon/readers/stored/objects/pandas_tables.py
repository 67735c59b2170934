"""Tables and series of pandas in stored objects that were never built: their cells by column, or by index.

Read are the blocks that pandas 1.3 to 3.1 writes, with columns and indexes of numpy's numbers and objects, and texts of
pyarrow; other columns of pyarrow are not.

Source: pandas 2.2 and 3.1, _libs/internals.pyx (`BlockManager.__reduce__`, `_unpickle_block`), core/internals.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.objects.raw import RawThing
from solvers.foundation.errors import ReleaseError

MAX_CELLS = 5_000_000


def frame_columns(thing: RawThing, place: str = "") -> dict[str, list[Any]]:
    """Return the cells of a DataFrame by the names of its columns, in their order; NaN is None.

    Raises `ReleaseError` for blocks that are not known, and for columns that have no name of their own.
    """
    return _frame(thing, place)[0]


def indexed_columns(thing: RawThing, place: str) -> dict[str, dict[Any, Any]]:
    """Return the cells of a DataFrame by column and by index; see `frame_columns`."""
    columns, index = _frame(thing, place)
    _check_index(index, place)
    return {name: dict(zip(index, cells, strict=True)) for name, cells in columns.items()}


def series_of(thing: Any, name: str) -> dict[Any, float]:
    """Return the numbers of a pandas Series by its index, texts and numbers; NaN is None.

    Raises `ReleaseError` for what is no Series of numbers.
    """
    place = f"mapping['{name[:60]}']"
    try:
        inner = _manager(thing).state[3]["0.14.1"]
        values = np.asarray(resolve(inner["blocks"][0]["values"])).reshape(-1)
        keys = _index(inner["axes"][0], len(values))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ReleaseError("is not pandas Series of codes, or of a version that is not known", place=place) from error
    if len(keys) != len(values) or values.dtype.kind not in "iuf":
        raise ReleaseError("is not pandas Series of numbers", place=place)
    _check_index(keys, place)
    return dict(zip(keys, values.astype(np.float64).tolist(), strict=True))


def _frame(thing: RawThing, place: str) -> tuple[dict[str, list[Any]], list[Any]]:
    """Return the cells of a DataFrame by column, and its index."""
    try:
        blocks, (names, index) = _manager(thing).args
        found: dict[int, list[Any]] = {}
        rows = -1
        for block in blocks:
            values, placement, _ = block.args
            cells = stored_cells(values)
            where = _places(placement)
            if cells.ndim == 1 and len(where) == 1:
                cells = cells[None]
            if (
                cells.size > MAX_CELLS
                or cells.ndim != 2
                or len(cells) != len(where)
                or rows not in {-1, cells.shape[1]}
            ):
                raise TypeError("blocks of other shapes")
            rows = cells.shape[1]
            found |= dict(zip(where, (_plain_cells(one) for one in cells), strict=True))
        columns, keys = _index(names, len(found)), _index(index, rows)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ReleaseError(
            "is a pandas DataFrame of a version or with columns that are not known", place=place
        ) from error
    if sorted(found) != list(range(len(columns))) or len(keys) != rows or len(set(columns)) != len(columns):
        raise ReleaseError("is a pandas DataFrame whose blocks do not fit its columns", place=place)
    return {str(name): found[k] for k, name in enumerate(columns)}, keys


def _manager(thing: Any) -> RawThing:
    """Return what holds the blocks."""
    found = thing.fields()["_mgr"]
    if not isinstance(found, RawThing):
        raise TypeError("no manager of blocks")
    return found


def stored_cells(value: Any) -> np.ndarray[Any, Any]:
    """Return the array of a block or an index, of texts in an array of their own too.

    Raises `AttributeError`, `LookupError`, `TypeError` or `ValueError` for what is no array.
    """
    if isinstance(value, RawThing) and value.class_name == "StringArray":
        arrays = (one for one in value.state if isinstance(one, RawThing) and one.class_name == "ndarray")
        value = next(arrays, None)
    if isinstance(value, RawThing) and value.class_name == "ArrowStringArray":
        return _texts(value.fields()["_pa_array"])
    found = resolve(value)
    if not isinstance(found, np.ndarray):
        raise TypeError("no array of numpy")
    return found


def _texts(array: RawThing) -> np.ndarray[Any, Any]:
    """Return pyarrow's texts, which are their ends, and all of them one after the other; None where there is none."""
    kind, size, _, first, buffers, *_ = array.args[0]
    if kind.args != ("large_string",) or first != 0 or not 0 <= size <= MAX_CELLS:
        raise TypeError("no texts of pyarrow")
    known, ends, data = (None if one is None else _bytes_of(one.args[0]) for one in buffers)
    if ends is None or len(ends) < 8 * (size + 1):
        raise TypeError("texts without ends")
    at = np.frombuffer(ends, "<i8", size + 1).tolist()
    if sorted(at) != at or at[0] < 0 or at[-1] > len(data or b""):
        raise TypeError("texts beyond their end")
    there = np.ones(size, bool) if known is None else np.unpackbits(np.frombuffer(known, "u1"), bitorder="little")
    out = np.empty(size, dtype=object)
    for i in range(size):
        out[i] = (data or b"")[at[i] : at[i + 1]].decode() if there[i] else None
    return out


def arrow_texts(array: RawThing) -> list[str] | None:
    """Return the texts of pyarrow's array where it holds them and nothing else: no gap, no byte beside them."""
    try:
        _, _, gaps, _, (known, ends, data), below, values = array.args[0]
        texts: list[str] = _texts(array).tolist()
        held = [b"" if one is None else _bytes_of(one.args[0]) for one in (ends, data)]
        each = np.cumsum([0, *(len(text.encode()) for text in texts)], dtype="<i8").tobytes()
        plain = known is None and gaps == 0 and below == [] and values is None
    except (AttributeError, LookupError, TypeError, ValueError):
        return None
    return texts if plain and held == [each, "".join(texts).encode()] else None


def _bytes_of(made: Any) -> bytes:
    """Return bytes that stand in a file, or what makes them: in old protocols a text of their codes."""
    inner = made
    for _ in range(2):  # bytearray(encode(text, "latin1"))
        inner = inner.args[0] if isinstance(inner, RawThing) else inner
    return inner.encode("latin-1") if isinstance(inner, str) else bytes(inner)


def _places(placement: Any) -> list[int]:
    """Return which columns a block holds."""
    if isinstance(placement, RawThing) and placement.class_name == "slice":
        first, last, step = placement.args
        return list(range(first, min(last, MAX_CELLS), step))
    return [int(one) for one in stored_cells(placement).tolist()]


def _index(index: Any, size: int) -> list[Any]:
    """Return the values of an index, of so many."""
    kind, data = index.args
    if kind.name == "RangeIndex":
        found = range(data["start"], data["stop"], data["step"])
        if len(found) != size:
            raise TypeError("an index of another length")
        return list(found)
    return _plain_cells(stored_cells(data["data"]))


def _plain_cells(cells: np.ndarray[Any, Any]) -> list[Any]:
    """Return cells as Python's objects, NaN as None."""
    return [None if isinstance(one, float) and math.isnan(one) else one for one in cells.tolist()]


def _check_index(keys: list[Any], place: str) -> None:
    """Raise `ReleaseError` for categories that are no texts or numbers, or that an index has twice."""
    if not all(isinstance(one, str | int | float | type(None)) for one in keys):
        raise ReleaseError("has categories that are neither texts nor numbers", place=place)
    if len(set(keys)) != len(keys):
        raise ReleaseError("has a category twice", place=place)
