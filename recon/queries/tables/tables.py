"""Published tables of many areas as users hold them: cells, areas in areas, counts.

Counts by area and cell from a long table, read piece by piece: each name is kept once, each count as a number.

Published cells from a table of definitions, one a line: who each of them counts.

Columns: `cell` (its name), `table`, `level`; then, per attribute, a column with its name (the value that the cell
counts, several with "|", empty: any), or `start_NAME` and `end_NAME` (numbers, both inclusive). A column `two` with the
entry "two" counts those with a Y in at least two of the columns left of it that hold Y and N; everybody has one there.
`title` is not read.
"""

from __future__ import annotations

import itertools
import os
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.cuts import AttributeCuts
from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Grid, Listed, Position, Test
from recon.io.files.opening import current
from recon.io.files.tables import read_parquet, table_text
from solvers.foundation.errors import ContradictionError, ReleaseError, TooLarge, installing
from solvers.tables.atoms import Cells, Top

if TYPE_CHECKING:
    import pandas as pd

    from encoders.domain.values import AnyAttribute

NOT_READ = {"cell", "table", "level", "title", "two"}
ONE_OF_THEM = "everybody has a Y in one of the columns {}: what is 'two' counts two or more of them"


@dataclass(frozen=True)
class Cell:
    """A published cell: whom it counts (one of the conditions holds), its table, the kind of areas it is given for."""

    name: str
    conditions: tuple[Condition, ...]
    table: str = ""
    level: str = ""


def defined(frame: pd.DataFrame, domain: Domain | None, file: str = "") -> tuple[list[Cell], Domain]:
    """Return the cells of a table of definitions, and their domain: as given, or read off the definitions.

    Raises `ReleaseError` naming file, line and value.
    """
    lines = frame.fillna("").astype(str)
    names = [str(c) for c in lines.columns]
    if "cell" not in names:
        raise ReleaseError(
            f"the definitions have no column 'cell': their columns are {', '.join(names[:10])}", file=file
        )
    ranges = [n.removeprefix("start_") for n in names if n.startswith("start_") and f"end_{n[6:]}" in names]
    ends = {f"{end}_{n}" for n in ranges for end in ("start", "end")}
    plain = [n for n in names if n not in NOT_READ and n not in ends]
    values = {
        n: [v for v in dict.fromkeys(x for cell in lines[n].unique() for x in cell.split("|")) if v] for n in plain
    }
    yes_no = [
        n
        for n in plain
        if "two" in names and names.index(n) < names.index("two") and values[n] and set(values[n]) <= {"Y", "N"}
    ]
    found = domain if domain is not None else _domain(lines, values, ranges, yes_no, file)
    cells = []
    columns = {n: lines[n].tolist() for n in [*names]}
    for i in range(len(lines)):
        try:
            pairs = [(n, _test(columns[n][i], found, n)) for n in plain if columns[n][i]]
            pairs += [(n, _between(columns[f"start_{n}"][i], columns[f"end_{n}"][i])) for n in ranges
                      if columns[f"start_{n}"][i] or columns[f"end_{n}"][i]]  # fmt: skip
        except ReleaseError as error:
            raise ReleaseError(error.message, place=f"line {i + 2}", file=file) from None
        told = columns.get("two", [""] * len(lines))[i]
        if told not in {"", "two"}:
            raise ReleaseError(f"'two' is empty or \"two\", not {told!r}", place=f"line {i + 2}", file=file)
        further = itertools.combinations(yes_no, 2) if told else [()]
        conditions = tuple((*pairs, *((n, Test(values=("Y",))) for n in some)) for some in further)
        cells.append(
            Cell(columns["cell"][i], conditions, *(columns[k][i] if k in columns else "" for k in ("table", "level")))
        )
    return cells, found


def _test(text: str, domain: Domain, name: str) -> Test:
    from recon.readers.frames.selections import from_text

    k = domain.place.get(name)
    if k is None:
        raise ReleaseError(f"the column '{name}' is no attribute of the domain")
    return Test(values=tuple(from_text(part, domain.all[k]) for part in text.split("|")))


def _between(start: str, end: str) -> Test:
    try:
        return Test(low=None if not start else int(start), high=None if not end else int(end))
    except ValueError:
        raise ReleaseError(f"'{start}' to '{end}' is no range of whole numbers") from None


def _domain(
    lines: pd.DataFrame, values: dict[str, list[str]], ranges: list[str], yes_no: list[str], file: str
) -> Domain:
    attributes: list[AnyAttribute] = []
    for n, found in values.items():
        if not found:
            raise ReleaseError(f"no cell says anything of '{n}': give the domain, or leave the column out", file=file)
        attributes.append(Listed(n, ("N", "Y") if set(found) <= {"N", "Y"} else tuple(found)))
    for n in ranges:
        try:
            numbers = [int(x) for end in ("start", "end") for x in lines[f"{end}_{n}"] if x]
        except ValueError:
            raise ReleaseError(f"start_{n} and end_{n} are not all whole numbers", file=file) from None
        attributes.append(Grid.between(n, min(numbers), max(numbers)))
    impossible = (tuple((n, Test(values=("N",))) for n in yes_no),) if yes_no else ()
    notes = (ONE_OF_THEM.format(", ".join(yes_no)),) if yes_no else ()
    return Domain(tuple(attributes), None, {}, impossible, "declared", notes)


PIECE = 500_000  # lines
LARGEST = 1 << 36


def coded(values: Any, cells: Mapping[str, int]) -> tuple[list[str], Ints, Ints, Ints]:
    """Return the names of the areas, and the area, cell and value of every count.

    `values`: a frame, triples, or the path of a CSV or Parquet file with the columns area, cell and value. Raises
    `ReleaseError` naming the line, or entry, for an unknown cell, and for what is no whole number of people.
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
        place = f"line {first + at}" if file else f"values[{first + at - 2}]"  # a file's first line names the columns
        raise ReleaseError(f"{str(piece[column].iloc[at])[:60]!r} {why}", place=place, file=file)

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


def _parents_of(areas: Any) -> dict[str, str | None] | None:
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


Ints = NDArray[np.int64]
MAX_DENSE = 200_000_000  # areas times cells of one top area
ASSUMED = (
    "the domain is as declared: nobody lies outside it",
    "everybody in an area that has parts lives in one of the parts listed",
    "all tables count the same people, each once, without noise",
)


@dataclass(frozen=True, eq=False)
class Areas:
    """Areas by name, the area that each lies in (-1: none), and the top area of each."""

    names: tuple[str, ...]
    parent: Ints
    top: Ints

    @classmethod
    def of(cls, names: Sequence[str], parents: Mapping[str, str | None] | None) -> Areas:
        """Return the areas; without parents, "a:b" lies in "a" where that is an area too.

        Raises `ReleaseError` for a parent that is no area, and for areas that lie in themselves.
        """
        place = {name: i for i, name in enumerate(names)}
        parent = np.full(len(names), -1, np.int64)
        for i, name in enumerate(names):
            above = name.rpartition(":")[0] if parents is None else parents.get(name)
            if above is not None and above in place:
                parent[i] = place[above]
            elif above is not None and parents is not None:
                raise ReleaseError(f"area '{name}' lies in '{above}', which is no area", place="areas")
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
class Tables:
    """Counts of people by cell and area: `recon.Tables(values, cells, areas, complete=..., domain=...)`.

    `values`: a frame or file with the columns area, cell, value; `cells`: a frame or file of definitions
    (`recon.queries.tables.tables`), or `Cell`s; `areas`: a frame with area and parent, a dictionary, or None:
    "a:b" lies in "a". `complete`: the tables whose cells are 0 where an area that publishes tables of their level does
    not list them (True: all). Raises `ReleaseError` naming file, line and value, `ContradictionError` where a count is
    given twice and differs.

    >>> import pandas as pd
    >>> import recon
    >>> cells = pd.DataFrame({"cell": ["men", "women", "old"], "sex": ["M", "F", ""], "age": ["", "", "old"]})
    >>> values = pd.DataFrame({"area": "here", "cell": ["men", "women", "old"], "value": [3, 1, 4]})
    >>> tables = recon.Tables(values, cells)
    >>> found = recon.count(tables)
    >>> found.people, found.certain, found.multiset
    ((4, 4), 4, (1, 1))
    """

    cells: tuple[Cell, ...]
    areas: Areas
    of_area: Ints
    of_cell: Ints
    value: Ints
    complete: frozenset[str]
    domain: Domain
    area: str = "area"
    files: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    derived: dict[str, Any] = field(default_factory=dict, repr=False)

    def __init__(
        self, values: Any, cells: Any, areas: Any = None, complete: Sequence[str] | bool = False,
        domain: Domain | None = None, area: str = "area", files: Sequence[str] = (), hashes: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Read and check everything; see the class."""
        if isinstance(cells, (str, os.PathLike)):
            cells = _definitions(os.fspath(cells))
        if hasattr(cells, "columns"):
            cells, domain = defined(cells, domain, cells.attrs.get("file", ""))
        if domain is None:
            raise ReleaseError("the cells are conditions on a domain: give domain=")
        place = _numbered(cells)
        names, of_area, of_cell, value = coded(values, place)
        parents = _parents_of(areas)
        every = tuple(dict.fromkeys((*(parents or {}), *names))) if parents else tuple(names)
        if parents and (unlisted := [n for n in names if n not in parents]):
            raise ReleaseError(f"area '{unlisted[0]}' has counts and is not listed among the areas", place="values")
        tables = {cell.table for cell in cells}
        chosen = frozenset(tables if complete is True else complete or ())
        if unknown := sorted(chosen - tables):
            raise ReleaseError(f"'{unknown[0]}' is the table of no cell", place="complete")
        at = {n: i for i, n in enumerate(every)}
        codes = np.array([at[n] for n in names], np.int64)
        store = object.__setattr__
        store(self, "cells", tuple(cells))
        store(self, "areas", Areas.of(every, parents))
        order, kept = _once(codes[of_area], of_cell, value, every, self.cells)
        store(self, "of_area", codes[of_area][order][kept])
        store(self, "of_cell", of_cell[order][kept])
        store(self, "value", value[order][kept])
        store(self, "complete", chosen)
        store(self, "domain", domain)
        store(self, "area", area)
        store(self, "files", tuple(files))
        store(self, "hashes", tuple(hashes))
        store(self, "derived", {})

    @cached_property
    def cuts(self) -> tuple[AttributeCuts, ...]:
        """Return every attribute cut where some cell is."""
        positions: dict[int, set[Position]] = {}
        for resolved in (*(r for cell in self._resolved for r in cell), *self._impossible):
            self.domain.cut_points(resolved, positions)
        return tuple(AttributeCuts.at(a, positions.get(k, set())) for k, a in enumerate(self.domain.all))

    @cached_property
    def _resolved(self) -> list[list[Any]]:
        known: dict[Condition, Any] = {}
        out = []
        for cell in self.cells:
            for c in cell.conditions:
                if c not in known:
                    known[c] = self.domain.resolve(c, f"cell '{cell.name}'")
            out.append([known[c] for c in cell.conditions])
        return out

    @cached_property
    def _impossible(self) -> list[Any]:
        return [self.domain.resolve(c, f"domain.impossible[{i}]") for i, c in enumerate(self.domain.impossible)]

    @cached_property
    def system(self) -> Cells:
        """Return the cells over every combination of parts; `TooLarge` above 4 million of them."""
        shape = tuple(len(c.sizes) for c in self.cuts)
        masks = {}

        def box(resolved: Any) -> list[tuple[int, NDArray[np.bool_]]]:
            out = []
            for k, ranges in resolved.items():
                if (k, ranges) not in masks:
                    bits = self.cuts[k].mask(ranges)
                    masks[k, ranges] = np.array([bits >> p & 1 for p in range(shape[k])], bool)
                out.append((k, masks[k, ranges]))
            return out

        regions = [[box(r) for r in cell] for cell in self._resolved]
        return Cells.of([c.name for c in self.cells], shape, regions, [box(r) for r in self._impossible])

    @cached_property
    def _by_top(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Return values in the order of their top areas, where each begins, and the same of areas."""
        top = self.areas.top
        values = np.argsort(top[self.of_area], kind="stable")
        areas = np.lexsort((np.arange(len(top)), self.areas.parent >= 0, top))
        tops = np.unique(top)
        return values, np.searchsorted(top[self.of_area][values], tops), areas, np.searchsorted(top[areas], tops)

    @cached_property
    def top_names(self) -> tuple[str, ...]:
        """Return the names of the areas that lie in no other."""
        return tuple(self.areas.names[i] for i in np.unique(self.areas.top))

    def tops(self) -> Iterator[Top]:
        """Yield every top area with the areas in it and what is known of them."""
        for k in range(len(self.top_names)):
            yield self.top(k)

    def top(self, k: int) -> Top:
        """Return top area k."""
        values, value_starts, areas, area_starts = self._by_top
        mine = areas[area_starts[k] : area_starts[k + 1] if k + 1 < len(area_starts) else None]
        mine = self._parents_first(mine)
        at = values[value_starts[k] : value_starts[k + 1] if k + 1 < len(value_starts) else None]
        if len(mine) * len(self.cells) > MAX_DENSE:
            raise TooLarge(f"area '{self.areas.names[mine[0]]}' has {len(mine):,} areas in it: too many for one")
        place = {int(a): i for i, a in enumerate(mine)}
        rows = np.array([place[int(a)] for a in self.of_area[at]], np.int64)
        dense = np.full((len(mine), len(self.cells)), -1, np.int64)
        dense[rows, self.of_cell[at]] = self.value[at]
        levels, complete = self._levels
        for level in np.unique(levels[complete]):
            cells = np.flatnonzero(levels == level)
            publishes = np.flatnonzero((dense[:, cells] >= 0).any(axis=1))
            zero = np.ix_(publishes, np.flatnonzero((levels == level) & complete))
            part = dense[zero]
            dense[zero] = np.where(part < 0, 0, part)
        parent = np.array([place.get(int(p), -1) for p in self.areas.parent[mine]], np.int64)
        return Top(tuple(self.areas.names[i] for i in mine), parent, dense)

    def _parents_first(self, mine: Ints) -> Ints:
        depth, at = np.zeros(len(mine), np.int64), mine
        while (at >= 0).any():
            up = np.where(at >= 0, self.areas.parent[at], -1)
            depth += up >= 0
            at = up
        return mine[np.lexsort((mine, depth))]

    @cached_property
    def _levels(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Return a number per cell for its level (its table where it has none), and whether its table is complete."""
        keys = [("level", c.level) if c.level else ("table", c.table or c.name) for c in self.cells]
        numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[k] for k in keys]), np.array([c.table in self.complete for c in self.cells])

    def without(self, left_out: Collection[str]) -> Tables:
        """Return the same tables but for some, which count nothing; `ReleaseError` for a name that none has."""
        if unknown := sorted(set(left_out) - {c.table for c in self.cells}):
            raise ReleaseError(f"'{unknown[0]}' is the table of no cell", place="without")
        if not left_out:
            return self
        kept = np.array([c.table not in left_out for c in self.cells])
        number = np.cumsum(kept) - 1
        told = kept[self.of_cell]
        out = object.__new__(Tables)
        changed = {
            "cells": tuple(c for c, k in zip(self.cells, kept, strict=True) if k),
            "of_cell": number[self.of_cell[told]],
            "of_area": self.of_area[told], "value": self.value[told], "complete": self.complete - set(left_out),
            "derived": {},
        }  # fmt: skip
        for name in ("areas", "domain", "area", "files", "hashes", *changed):
            object.__setattr__(out, name, changed.get(name, getattr(self, name)))
        return out

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what every answer assumes."""
        said = f"the tables {', '.join(sorted(self.complete)[:40])} are complete: what they do not list is 0"
        return (*ASSUMED, *self.domain.notes, *((said,) if self.complete else ()))

    def __repr__(self) -> str:
        """Return the sizes in a line."""
        return f"Tables({len(self.cells):,} cells, {len(self.areas.names):,} areas, {len(self.value):,} counts)"


def _numbered(cells: Sequence[Cell]) -> dict[str, int]:
    place: dict[str, int] = {}
    for i, cell in enumerate(cells):
        if place.setdefault(cell.name, i) != i:
            raise ReleaseError(f"the cell '{cell.name}' is defined twice", place="cells")
    return place


def _definitions(path: str) -> pd.DataFrame:
    from recon.readers.frames.selections import read_table

    return read_table(path)


def _once(
    area: Ints, cell: Ints, value: Ints, names: Sequence[str], cells: Sequence[Cell]
) -> tuple[Ints, NDArray[np.bool_]]:
    """Return an order of the counts, and which stay so that each stands once; `ContradictionError` where two differ."""
    order = np.lexsort((cell, area))
    same = (np.diff(area[order]) == 0) & (np.diff(cell[order]) == 0)
    bad = np.flatnonzero(same & (np.diff(value[order]) != 0))
    if len(bad):
        i, j = order[bad[0]], order[bad[0] + 1]
        what = f"{names[area[i]]}: {cells[cell[i]].name}"
        raise ContradictionError("a count is given twice", (f"{what} = {value[i]:,}", f"{what} = {value[j]:,}"))
    return order, np.concatenate([np.ones(min(1, len(order)), bool), ~same])
