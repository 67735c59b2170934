"""Counts of people by area and cell: read piece by piece, held in memory or, where they are many, grouped on disk.

Areas lie in areas; what is asked is asked of one top area (an area that lies in no other) at a time. Above `MAX_HELD`
counts, areas are told to `PARTS` files by the beginning of their names (up to the first ":"), so that every file has
whole top areas: one of them is in memory at a time, in whichever order the counts stood.
"""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.domain.infer import plain_columns
from recon.io.files.opening import current, open_regular
from recon.io.files.tables import csv_lines, parquet_frames, reading, table_text
from solvers.foundation.errors import ContradictionError, ReleaseError, TooLarge
from solvers.tables.atoms import Ints

PIECE = 50_000  # lines
LARGEST = 1 << 36
Triples = tuple[list[Any], list[Any], list[Any]]  # areas, cells and values of some lines


class Counts(NamedTuple):
    """The names of areas, and of every count its area, cell and value, as numbers."""

    names: list[str]
    area: Ints
    cell: Ints
    value: Ints


def coded(values: Any, cells: Mapping[str, int], into: GroupedCounts) -> None:
    """Add every count, by the numbers of its area and cell, to `into`.

    `values`: a frame, triples, or the path of a CSV or Parquet file with the columns area, cell and value. Raises
    `ReleaseError` naming the line, or entry, for an unknown cell, and for what is not a whole number of people. Cost: a
    piece of the file at a time.
    """
    file, first = os.fspath(values) if isinstance(values, (str, os.PathLike)) else "", 2
    for piece in _pieces(values):
        into.add(*_codes(piece, into.names, cells, first, file))
        first += len(piece[0])
    if first == 2:
        raise ReleaseError("there is no count in the tables", place="values", file=file)
    if file.lower().endswith(".csv") and not _ended(file):
        into.unended.append(os.path.basename(file))


def _ended(file: str) -> bool:
    """Return whether the last line of a file ends."""
    with open_regular(file) as (stream, size):
        stream.seek(max(0, size - 1))
        return stream.read(1) in {b"\n", b"\r"}


def _pieces(values: Any, alone: bool = False) -> Iterator[Triples]:
    """Yield areas, cells and values, a piece at a time; files (`alone`) have no further column, frames may."""
    if hasattr(values, "columns"):
        at = _three(list(values.columns), alone)
        for i in range(0, len(values), PIECE):
            area, cell, value = (values.iloc[i : i + PIECE, k].tolist() for k in at)
            yield area, cell, value
        return
    if not isinstance(values, (str, os.PathLike)):
        lines = [tuple(line) for line in values]
        if any(len(line) != 3 for line in lines):
            raise ReleaseError("every count is an area, a cell and a value", place="values")
        if lines:
            area, cell, value = map(list, zip(*lines, strict=True))
            yield area, cell, value
        return
    path = os.fspath(values)
    with reading(path):
        if path.lower().endswith(".parquet"):
            for frame in parquet_frames(path):
                yield from _pieces(plain_columns(frame), alone=True)
            return
        with table_text(path, held=False) as text:
            told = csv_lines(text)
            i, j, k = _three(next(told), alone=True)
            while piece := list(itertools.islice(told, PIECE)):
                yield [x[i] for x in piece], [x[j] for x in piece], [x[k] for x in piece]


def _three(names: list[str], alone: bool) -> list[int]:
    wanted = ("area", "cell", "value")
    if missing := [c for c in wanted if c not in names]:
        raise ReleaseError(f"the counts have no column '{missing[0]}'")
    if alone and (more := [name for name in names if name not in wanted]):
        raise ReleaseError(f"the column '{more[0]}' is not used, and may say more than the counts: leave it out")
    return [names.index(c) for c in wanted]


def _codes(
    piece: Triples, names: dict[str, int], cells: Mapping[str, int], first: int, file: str
) -> tuple[Ints, Ints, Ints]:
    def refuse(bad: NDArray[np.bool_], why: str, column: int) -> None:
        at = int(np.flatnonzero(bad)[0])
        place = f"line {first + at}" if file else f"values[{first + at - 2}]"  # a file's first line names the columns
        raise ReleaseError(f"{str(piece[column][at])[:60]!r} {why}", place=place, file=file)

    areas, asked, told = piece
    number = _numbers(told)
    if (bad := np.isnan(number)).any():
        refuse(bad, "is not a count: leave out what is suppressed", 2)
    if (bad := number < 0).any():
        refuse(bad, "is negative: nothing counts fewer than 0 people", 2)
    if (bad := number != np.floor(number)).any():
        refuse(bad, "is not a whole number of people: noisy tables are not read here", 2)
    if (bad := number >= LARGEST).any():
        refuse(bad, "is more people than there are", 2)
    place = {a: -1 if empty(a) else names.setdefault(str(a), len(names)) for a in dict.fromkeys(areas)}
    area = np.fromiter(map(place.__getitem__, areas), np.int64, len(areas))
    known = {c: -2 if empty(c) else cells.get(str(c), -1) for c in dict.fromkeys(asked)}
    cell = np.fromiter(map(known.__getitem__, asked), np.int64, len(asked))
    if (bad := (area < 0) | (cell < -1)).any():
        refuse(bad, "has no area or cell beside it", 2)
    if (bad := cell < 0).any():
        refuse(bad, "is not a published cell of the definitions", 1)
    return area, cell, number.astype(np.int64)


def _numbers(told: list[Any]) -> NDArray[Any]:
    """Return values as numbers, NaN for what is none."""
    if all(isinstance(x, str) for x in told):
        digits = "".join(told)
        if digits.isascii() and digits.isdigit() and all(0 < len(x) < 18 for x in told):
            return np.fromiter(map(int, told), np.int64, len(told))
    if all(type(x) is int and abs(x) < 1 << 62 for x in told):
        return np.array(told, np.int64)
    import pandas as pd

    told = [float("inf") if type(x) is int and x >= LARGEST else x for x in told]  # floats end somewhere
    return np.asarray(pd.to_numeric(pd.Series(told, dtype=object), errors="coerce"), float)


def empty(name: Any) -> bool:
    """Return whether a cell of a table has nothing in it."""
    return name is None or name == "" or name != name  # noqa: PLR0124 - NaN


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas by name, the area that each lies in (-1: none), and the top area of each."""

    names: tuple[str, ...]
    parent: Ints
    top: Ints

    @classmethod
    def of(cls, names: Sequence[str], parents: Mapping[str, str | None] | None) -> Areas:
        """Return the areas; without parents, "a:b" lies in "a" where that is an area too.

        Raises `ReleaseError` for a parent that is not an area, and for areas that lie in themselves.
        """
        place = {name: i for i, name in enumerate(names)}
        parent = np.full(len(names), -1, np.int64)
        for i, name in enumerate(names):
            above = name.rpartition(":")[0] if parents is None else parents.get(name)
            if above is not None and above in place:
                parent[i] = place[above]
            elif above is not None and parents is not None:
                raise ReleaseError(f"area '{name}' lies in '{above}', which is not an area", place="areas")
        top = np.arange(len(names))
        for _ in range(len(names) + 1):
            up = parent[top]
            if (up < 0).all():
                return cls(tuple(names), parent, top)
            top = np.where(up >= 0, up, top)
            if _ > 64:
                break
        raise ReleaseError("areas lie in each other in a circle, or more than 64 deep", place="areas")


@dataclass(frozen=True, eq=False)
class AreaCounts:
    """Whole top areas with their counts, each once, by area and cell."""

    areas: Areas
    of_area: Ints
    of_cell: Ints
    value: Ints

    @classmethod
    def of(cls, counts: Counts, parents: Mapping[str, str | None] | None, cells: Sequence[str]) -> AreaCounts:
        """Return the counts by top area; `ReleaseError` for areas, `ContradictionError` for counts that differ."""
        names, of_area, of_cell, value = counts
        every = tuple(dict.fromkeys((*(parents or {}), *names))) if parents else tuple(names)
        if parents and (unlisted := [n for n in names if n not in parents]):
            raise ReleaseError(f"area '{unlisted[0]}' has counts and is not listed among the areas", place="values")
        at = {n: i for i, n in enumerate(every)}
        codes = np.array([at[n] for n in names], np.int64)
        order, kept = _unique_counts(codes[of_area], of_cell, value, every, cells)
        chosen = order[kept]
        return cls(Areas.of(every, parents), codes[of_area][chosen], of_cell[chosen], value[chosen])

    def of_cells(self, number: Ints) -> AreaCounts:
        """Return the same counts of other cells: `number` per cell, -1 for one that is left out."""
        told = number[self.of_cell] >= 0
        return AreaCounts(self.areas, self.of_area[told], number[self.of_cell[told]], self.value[told])

    @cached_property
    def _by_top(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return values in the order of their top areas, where each begins, and the same of areas."""
        top = self.areas.top
        values = np.argsort(top[self.of_area], kind="stable")
        areas = np.lexsort((np.arange(len(top)), self.areas.parent >= 0, top))
        tops = self.tops
        return values, np.searchsorted(top[self.of_area][values], tops), areas, np.searchsorted(top[areas], tops)

    @cached_property
    def tops(self) -> Ints:
        """Return the areas that lie in no other."""
        return np.unique(self.areas.top)

    @cached_property
    def place(self) -> dict[str, int]:
        """Return the number of every area by its name."""
        return {name: i for i, name in enumerate(self.areas.names)}

    @cached_property
    def smallest(self) -> NDArray[np.bool_]:
        """Return which areas have no parts."""
        parent = self.areas.parent
        return ~np.isin(np.arange(len(parent)), parent)

    @cached_property
    def lower_cells(self) -> Ints:
        """Return the cells that are known of areas which lie in others, or are top areas without parts."""
        return np.unique(self.of_cell[(self.smallest | (self.areas.parent >= 0))[self.of_area]])

    def top(self, k: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Return the areas of top area k, parents first; of its counts the place among these, cell, value."""
        values, value_starts, areas, area_starts = self._by_top
        mine = areas[area_starts[k] : area_starts[k + 1] if k + 1 < len(area_starts) else None]
        mine = self._parents_first(mine)
        at = values[value_starts[k] : value_starts[k + 1] if k + 1 < len(value_starts) else None]
        place = {int(a): i for i, a in enumerate(mine)}
        rows = np.array([place[int(a)] for a in self.of_area[at]], np.int64)
        return mine, rows, self.of_cell[at], self.value[at]

    def _parents_first(self, mine: Ints) -> Ints:
        depth, at = np.zeros(len(mine), np.int64), mine
        while (at >= 0).any():
            up = np.where(at >= 0, self.areas.parent[at], -1)
            depth += up >= 0
            at = up
        return mine[np.lexsort((mine, depth))]


MAX_HELD = 2_000_000  # counts
PARTS = 256
SPARE = 1 << 30  # bytes of the disk that stay free


def _group(area: str) -> int:
    return zlib.crc32(area.partition(":")[0].encode()) % PARTS


class GroupedCounts:
    """Counts that are added piece by piece, then asked about by top area: `finished` before anything is asked.

    `held`: they stay in memory, however many they are. Numbers of areas are those of `names` until the next piece.
    """

    def __init__(self, held: bool = False) -> None:
        self.names: dict[str, int] = {}
        self.held, self.number = held, 0
        self.pieces: list[tuple[Ints, Ints, Ints]] = []
        self.files: list[IO[bytes]] = []
        self.parts: list[AreaCounts] = []
        self.unended: list[str] = []  # files whose last line does not end
        self.starts = np.zeros(1, np.int64)  # of the top areas of every part
        self.cells: Sequence[str] = ()
        self.renumbered: Ints | None = None
        self.source: GroupedCounts | None = None
        self.last: tuple[int, AreaCounts] | None = None
        self.lower_cells = np.zeros(0, np.int64)

    def add(self, area: Ints, cell: Ints, value: Ints) -> None:
        """Add the counts of a piece, whose areas are numbered by `names`."""
        self.number += len(area)
        self.pieces.append((area, cell, value))
        if self.held or (not self.files and self.number <= MAX_HELD):
            current().bytes(24 * len(area), "the counts")
            return
        self._written()

    def _written(self) -> None:
        """Write what is in memory to the files of its groups."""
        if not self.files:
            self.files = [tempfile.TemporaryFile() for _ in range(PARTS)]  # noqa: SIM115 - they end with the counts
            for file in self.files:
                weakref.finalize(self, file.close)
        if shutil.disk_usage(tempfile.gettempdir()).free < SPARE:
            raise TooLarge(f"the counts do not fit into '{tempfile.gettempdir()}': set TMPDIR to a larger folder")
        area, cell, value = (np.concatenate(x) for x in zip(*self.pieces, strict=True))
        names = list(self.names)
        group = np.array([_group(name) for name in names], np.int64)
        order = np.argsort(group[area], kind="stable")
        area, cell, value = area[order], cell[order], value[order]
        groups, first = np.unique(group[area], return_index=True)
        for g, a, b in zip(groups.tolist(), first.tolist(), [*first[1:].tolist(), len(area)], strict=True):
            seen, place = np.unique(area[a:b], return_inverse=True)
            told = [names[i] for i in seen.tolist()], place.astype(np.int32), cell[a:b].astype(np.int32), value[a:b]
            pickle.dump(told, self.files[g], protocol=5)
        self.names, self.pieces = {}, []

    def finished(self, parents: Mapping[str, str | None] | None, cells: Sequence[str]) -> GroupedCounts:
        """Group what was added, and check it; return itself."""
        self.cells = cells
        if not self.files:
            area, cell, value = (np.concatenate(x) for x in zip(*self.pieces, strict=True))
            self.parts = [AreaCounts.of(Counts(list(self.names), area, cell, value), parents, cells)]
        elif self.pieces:
            self._written()
        self.names, self.pieces = {}, []
        ends, seen, self.number, lower = [0], 0, 0, self.lower_cells
        for part in self:
            seen, self.number = seen + len(part.tops), self.number + len(part.value)
            ends.append(seen)
            lower = np.union1d(lower, part.lower_cells)
        self.starts, self.lower_cells = np.array(ends, np.int64), lower
        return self

    def __iter__(self) -> Iterator[AreaCounts]:
        """Yield every part."""
        for i in range(len(self.parts) or PARTS):
            yield self._part(i)

    def _part(self, i: int) -> AreaCounts:
        if self.parts:
            return self.parts[i]
        if self.last is None or self.last[0] != i:
            self.last = None
            self.last = i, self._read(i)
        return self.last[1]

    def _read(self, i: int) -> AreaCounts:
        names: dict[str, int] = {}
        pieces: list[tuple[Any, Any, Any]] = [(np.zeros(0, np.int64),) * 3]
        file = self.files[i]
        end = file.seek(0, os.SEEK_END)
        file.seek(0)
        while file.tell() < end:
            told, area, cell, value = pickle.load(file)  # what this process wrote
            code = np.array([names.setdefault(n, len(names)) for n in told], np.int64)
            pieces.append((code[area], cell.astype(np.int64), value))
        counts = Counts(list(names), *(np.concatenate(x) for x in zip(*pieces, strict=True)))
        found = AreaCounts.of(counts, None, self.cells)
        return found if self.renumbered is None else found.of_cells(self.renumbered)

    def of_cells(self, number: Ints) -> GroupedCounts:
        """Return the same counts of other cells: `number` per cell, -1 for one that is left out."""
        out = GroupedCounts()
        out.__dict__.update(self.__dict__)
        out.last, out.source = None, self  # whose end is that of the files
        out.parts = [part.of_cells(number) for part in self.parts]
        out.renumbered = (
            number if self.renumbered is None else np.where(self.renumbered < 0, -1, number[self.renumbered])
        )
        out.lower_cells = number[self.lower_cells][number[self.lower_cells] >= 0]
        return out

    @property
    def tops(self) -> int:
        """Return how many areas lie in no other."""
        return int(self.starts[-1])

    def of_top(self, k: int) -> tuple[AreaCounts, int]:
        """Return the part that has top area k, and its number there."""
        i = int(np.searchsorted(self.starts, k, side="right")) - 1
        return self._part(i), k - int(self.starts[i])

    def of_name(self, name: str) -> tuple[AreaCounts, int, int]:
        """Return the part that may have an area, the number of its first top area, and that of the area (-1: none)."""
        i = 0 if self.parts else _group(name)
        part = self._part(i)
        return part, int(self.starts[i]), part.place.get(name, -1)


@dataclass(frozen=True)
class TopNames(Sequence[str]):
    """The names of the areas that lie in no other, looked up when they are asked for."""

    counts: GroupedCounts

    def __len__(self) -> int:
        """Return how many there are."""
        return self.counts.tops

    def __getitem__(self, k: Any) -> Any:
        """Return the name of top area k, or those of a slice."""
        if isinstance(k, slice):
            return tuple(self[i] for i in range(*k.indices(len(self))))
        if not -len(self) <= k < len(self):
            raise IndexError(k)
        part, local = self.counts.of_top(k % len(self))
        return part.areas.names[int(part.tops[local])]

    def index(self, name: Any, start: int = 0, stop: int | None = None) -> int:
        """Return the number of a top area by its name; `ValueError` where there is none."""
        part, first, i = self.counts.of_name(str(name))
        if i < 0 or part.areas.top[i] != i:
            raise ValueError(name)
        return first + int(np.searchsorted(part.tops, i))

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a top area."""
        part, _, i = self.counts.of_name(str(name))
        return i >= 0 and int(part.areas.top[i]) == i


def _unique_counts(
    area: Ints, cell: Ints, value: Ints, names: Sequence[str], cells: Sequence[str]
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return an order of the counts, and which stay so that each stands once; `ContradictionError` where two differ."""
    order = np.lexsort((cell, area))
    same = (np.diff(area[order]) == 0) & (np.diff(cell[order]) == 0)
    bad = np.flatnonzero(same & (np.diff(value[order]) != 0))
    if len(bad):
        i, j = order[bad[0]], order[bad[0] + 1]
        what = f"{names[area[i]]}: {cells[cell[i]]}"
        raise ContradictionError("a count is given twice", (f"{what} = {value[i]:,}", f"{what} = {value[j]:,}"))
    return order, np.concatenate([np.ones(min(1, len(order)), bool), ~same])
