"""Counts by area and cell from a long table, read piece by piece: each name is kept once, each count as a number."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recon.io.files.budget import current
from recon.io.files.tables import read_parquet, table_text
from solvers.foundation.errors import ReleaseError, installing

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]
PIECE = 500_000  # lines
LARGEST = 1 << 36


def coded(values: Any, cells: Mapping[str, int]) -> tuple[list[str], Ints, Ints, Ints]:
    """Return the names of the areas, and the area, cell and value of every count.

    `values`: a frame, triples, or the path of a CSV or Parquet file with the columns area, cell and value. Raises
    `ReleaseError` naming the line for an unknown cell, and for what is no whole number of people.
    """
    names: dict[str, int] = {}
    parts: list[tuple[Ints, Ints, Ints]] = []
    file = os.fspath(values) if isinstance(values, (str, os.PathLike)) else ""
    first = 2
    for piece in _pieces(values):
        parts.append(_codes(piece, names, cells, first, file))
        current().bytes(24 * len(piece), "the counts")
        first += len(piece)
    if not sum(len(part[0]) for part in parts):
        raise ReleaseError("there is no count in the tables", place="values", file=file)
    area, cell, value = (np.concatenate(x) for x in zip(*parts, strict=True))
    return list(names), area, cell, value


def _pieces(values: Any) -> Iterator[pd.DataFrame]:
    import pandas as pd

    if not isinstance(values, (str, os.PathLike)):
        frame = (
            values
            if isinstance(values, pd.DataFrame)
            else pd.DataFrame(list(values), columns=["area", "cell", "value"])
        )
        yield from (frame.iloc[i : i + PIECE] for i in range(0, len(frame), PIECE))
        return
    path = os.fspath(values)
    try:
        if path.lower().endswith(".parquet"):
            yield from _pieces(read_parquet(path))
            return
        with table_text(path) as text:
            yield from pd.read_csv(text, chunksize=PIECE, dtype=str, keep_default_na=False, index_col=False)
    except ImportError:
        raise ReleaseError(f"Parquet needs an extra: {installing('parquet')}", file=path) from None
    except OSError as error:
        raise ReleaseError(f"cannot be read: {error.strerror or error}", file=path) from None
    except ReleaseError as error:
        raise error.at(file=path) from None
    except (ValueError, EOFError, zlib.error) as error:
        raise ReleaseError(f"is no table, or is cut off: {str(error).splitlines()[0]}", file=path) from None


def _codes(
    piece: pd.DataFrame, names: dict[str, int], cells: Mapping[str, int], first: int, file: str
) -> tuple[Ints, Ints, Ints]:
    import pandas as pd

    if missing := [c for c in ("area", "cell", "value") if c not in piece.columns]:
        raise ReleaseError(f"the counts have no column '{missing[0]}'", file=file)

    def refuse(bad: NDArray[np.bool_], why: str, column: str) -> None:
        at = int(np.flatnonzero(bad)[0])
        raise ReleaseError(f"{str(piece[column].iloc[at])[:60]!r} {why}", place=f"line {first + at}", file=file)

    number = pd.to_numeric(piece["value"], errors="coerce").to_numpy(float)
    if (bad := ~np.isfinite(number)).any():
        refuse(bad, "is no count", "value")
    if (bad := number < 0).any():
        refuse(bad, "is negative: nothing counts fewer than 0 people", "value")
    if (bad := number != np.floor(number)).any():
        refuse(bad, "is no whole number of people: noisy tables are not read here", "value")
    if (bad := number >= LARGEST).any():
        refuse(bad, "is more people than there are", "value")
    area, areas = pd.factorize(piece["area"])
    cell, found = pd.factorize(piece["cell"])
    for n in areas:
        names.setdefault(str(n), len(names))
    place = np.array([cells.get(str(n), -1) for n in found], np.int64)
    if (bad := (area < 0) | (cell < 0)).any():
        refuse(bad, "stands without an area or a cell", "value")
    if (bad := place[cell] < 0).any():
        refuse(bad, "is no published cell of the definitions", "cell")
    where = np.array([names[str(n)] for n in areas], np.int64)
    return where[area], place[cell], number.astype(np.int64)


def parents_of(areas: Any) -> dict[str, str | None] | None:
    """Return area -> the area that it lies in; `ReleaseError` for an area in two others. None: nothing was said."""
    if areas is None or isinstance(areas, dict):
        return areas or None
    if hasattr(areas, "columns"):
        areas = list(zip(areas["area"], areas["parent"], strict=True))
    out: dict[str, str | None] = {}
    for name, parent in areas:
        above = None if parent is None or parent == "" or parent != parent else str(parent)  # noqa: PLR0124 - NaN
        if out.setdefault(str(name), above) != above:
            raise ReleaseError(f"area '{name}' lies in '{out[str(name)]}' and in '{above}'", place="areas")
    return out or None
