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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.domain.cuts import AttributeCuts
from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Categorical, Grid, Position, Ranges, Test, from_text, intersection
from recon.io.files.opening import current
from recon.io.files.tables import counts_rows, csv_columns, csv_lines, read_parquet, reading, table_text
from solvers.foundation.errors import ContradictionError, ReleaseError, TooLarge
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


def definitions(path: str) -> dict[str, list[str]]:
    """Return the columns of a file of definitions (CSV or Parquet) as texts; `ReleaseError` where it is no table."""
    if path.lower().endswith(".parquet"):
        from recon.readers.frames.selections import read_table

        return _texts(read_table(path))
    with reading(path):
        columns = csv_columns(path)
    first = next(iter(columns))
    if len(columns) > 1 and counts_rows(first, columns[first]):
        del columns[first]
    return columns


def _texts(frame: pd.DataFrame) -> dict[str, list[str]]:
    lines = frame.fillna("").astype(str)
    return {str(n): lines.iloc[:, i].tolist() for i, n in enumerate(lines.columns)}


def defined(columns: dict[str, list[str]], domain: Domain | None, file: str = "") -> tuple[list[Cell], Domain]:
    """Return the cells of a table of definitions, and their domain: as given, or read off the definitions.

    Raises `ReleaseError` naming file, line and value.
    """
    names = list(columns)
    if "cell" not in names:
        raise ReleaseError(
            f"the definitions have no column 'cell': their columns are {', '.join(names[:10])}", file=file
        )
    ranges = [n.removeprefix("start_") for n in names if n.startswith("start_") and f"end_{n[6:]}" in names]
    ends = {f"{end}_{n}" for n in ranges for end in ("start", "end")}
    plain = [n for n in names if n not in NOT_READ and n not in ends]
    values = {
        n: [v for v in dict.fromkeys(x for cell in dict.fromkeys(columns[n]) for x in cell.split("|")) if v]
        for n in plain
    }
    yes_no = [
        n
        for n in plain
        if "two" in names and names.index(n) < names.index("two") and values[n] and set(values[n]) <= {"Y", "N"}
    ]
    found = domain if domain is not None else _domain(columns, values, ranges, yes_no, file)
    cells, test, between = [], cache(partial(_test, found)), cache(_between)
    nothing = [""] * len(columns["cell"])
    two, table, level = (columns.get(n, nothing) for n in ("two", "table", "level"))
    spans = [(n, columns[f"start_{n}"], columns[f"end_{n}"]) for n in ranges]
    both = [tuple((n, Test(values=("Y",))) for n in pair) for pair in itertools.combinations(yes_no, 2)]
    for i, told in enumerate(two):
        try:
            pairs = [(n, test(n, columns[n][i])) for n in plain if columns[n][i]]
            pairs += [(n, between(start[i], end[i])) for n, start, end in spans if start[i] or end[i]]
        except ReleaseError as error:
            raise ReleaseError(error.message, place=f"line {i + 2}", file=file) from None
        if told not in {"", "two"}:
            raise ReleaseError(f"'two' is empty or \"two\", not {told!r}", place=f"line {i + 2}", file=file)
        conditions = tuple((*pairs, *further) for further in (both if told else [()]))
        cells.append(Cell(columns["cell"][i], conditions, table[i], level[i]))
    return cells, found


def _test(domain: Domain, name: str, text: str) -> Test:
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
    columns: dict[str, list[str]], values: dict[str, list[str]], ranges: list[str], yes_no: list[str], file: str
) -> Domain:
    attributes: list[AnyAttribute] = []
    for n, found in values.items():
        if not found:
            raise ReleaseError(f"no cell says anything of '{n}': give the domain, or leave the column out", file=file)
        attributes.append(Categorical(n, ("N", "Y") if set(found) <= {"N", "Y"} else tuple(found)))
    for n in ranges:
        try:
            numbers = [int(x) for end in ("start", "end") for x in columns[f"{end}_{n}"] if x]
        except ValueError:
            raise ReleaseError(f"start_{n} and end_{n} are not all whole numbers", file=file) from None
        attributes.append(Grid.between(n, min(numbers), max(numbers)))
    impossible = (tuple((n, Test(values=("N",))) for n in yes_no),) if yes_no else ()
    notes = (ONE_OF_THEM.format(", ".join(yes_no)),) if yes_no else ()
    return Domain(tuple(attributes), None, {}, impossible, "declared", notes)


PIECE = 50_000  # lines
LARGEST = 1 << 36
Triples = tuple[list[Any], list[Any], list[Any]]  # areas, cells and values of some lines


class Counts(NamedTuple):
    """The names of areas, and of every count its area, cell and value, as numbers."""

    names: list[str]
    area: Ints
    cell: Ints
    value: Ints


def coded(values: Any, cells: Mapping[str, int]) -> Counts:
    """Return every count by the numbers of its area and cell.

    `values`: a frame, triples, or the path of a CSV or Parquet file with the columns area, cell and value. Raises
    `ReleaseError` naming the line, or entry, for an unknown cell, and for what is no whole number of people. Cost: a
    piece of the file at a time, and 24 bytes a count.
    """
    names: dict[str, int] = {}
    parts: list[tuple[Ints, Ints, Ints]] = []
    file = os.fspath(values) if isinstance(values, (str, os.PathLike)) else ""
    first = 2
    for piece in _pieces(values):
        parts.append(_codes(piece, names, cells, first, file))
        current().bytes(24 * len(piece[0]), "the counts")
        first += len(piece[0])
    if not sum(len(part[0]) for part in parts):
        raise ReleaseError("there is no count in the tables", place="values", file=file)
    area, cell, value = (np.concatenate(x) for x in zip(*parts, strict=True))
    return Counts(list(names), area, cell, value)


def _pieces(values: Any) -> Iterator[Triples]:
    if hasattr(values, "columns"):
        at = _three(list(values.columns))
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
            yield from _pieces(read_parquet(path))
            return
        with table_text(path) as text:
            told = csv_lines(text)
            i, j, k = _three(next(told))
            while piece := list(itertools.islice(told, PIECE)):
                yield [x[i] for x in piece], [x[j] for x in piece], [x[k] for x in piece]


def _three(names: list[str]) -> list[int]:
    if missing := [c for c in ("area", "cell", "value") if c not in names]:
        raise ReleaseError(f"the counts have no column '{missing[0]}'")
    return [names.index(c) for c in ("area", "cell", "value")]


def _codes(
    piece: Triples, names: dict[str, int], cells: Mapping[str, int], first: int, file: str
) -> tuple[Ints, Ints, Ints]:
    def refuse(bad: NDArray[np.bool_], why: str, column: int) -> None:
        at = int(np.flatnonzero(bad)[0])
        place = f"line {first + at}" if file else f"values[{first + at - 2}]"  # a file's first line names the columns
        raise ReleaseError(f"{str(piece[column][at])[:60]!r} {why}", place=place, file=file)

    areas, asked, told = piece
    number = _numbers(told)
    if (bad := ~np.isfinite(number)).any():
        refuse(bad, "is no count", 2)
    if (bad := number < 0).any():
        refuse(bad, "is negative: nothing counts fewer than 0 people", 2)
    if (bad := number != np.floor(number)).any():
        refuse(bad, "is no whole number of people: noisy tables are not read here", 2)
    if (bad := number >= LARGEST).any():
        refuse(bad, "is more people than there are", 2)
    place = {a: -1 if _empty(a) else names.setdefault(str(a), len(names)) for a in dict.fromkeys(areas)}
    area = np.fromiter(map(place.__getitem__, areas), np.int64, len(areas))
    known = {c: -2 if _empty(c) else cells.get(str(c), -1) for c in dict.fromkeys(asked)}
    cell = np.fromiter(map(known.__getitem__, asked), np.int64, len(asked))
    if (bad := (area < 0) | (cell < -1)).any():
        refuse(bad, "stands without an area or a cell", 2)
    if (bad := cell < 0).any():
        refuse(bad, "is no published cell of the definitions", 1)
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

    return np.asarray(pd.to_numeric(pd.Series(told, dtype=object), errors="coerce"), float)


def _empty(name: Any) -> bool:
    return name is None or name == "" or name != name  # noqa: PLR0124 - NaN


def _parents_of(areas: Any) -> dict[str, str | None] | None:
    """Return area -> the area that it lies in; `ReleaseError` for an area in two others. None: nothing was said."""
    if areas is None or isinstance(areas, dict):
        return areas or None
    if hasattr(areas, "columns"):
        areas = list(zip(areas["area"], areas["parent"], strict=True))
    out: dict[str, str | None] = {}
    for name, parent in areas:
        above = None if _empty(parent) else str(parent)
        if out.setdefault(str(name), above) != above:
            raise ReleaseError(f"area '{name}' lies in '{out[str(name)]}' and in '{above}'", place="areas")
    return out or None


Ints = NDArray[np.int64]
MAX_DENSE = 200_000_000  # areas times cells of one top area
NO_NOISE = "all tables count the same people, each once, without noise"
ASSUMED = (
    "the domain is as declared: nobody lies outside it",
    "everybody in an area that has parts lives in one of the parts listed",
    NO_NOISE,
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
    not list them (True: all). `schema`: names that stand for lists of attributes (`recon variability --schema`).
    Raises `ReleaseError` naming file, line and value, `ContradictionError` where a count is given twice and differs.

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
    schema: dict[str, tuple[str, ...]] = field(default_factory=dict)
    derived: dict[str, Any] = field(default_factory=dict, repr=False)
    silent: Ints = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)  # cells whose counts are not used
    noisy: bool = field(default=False, repr=False)  # but bounds on them

    def __init__(
        self, values: Any, cells: Any, areas: Any = None, complete: Sequence[str] | bool = False,
        domain: Domain | None = None, area: str = "area", files: Sequence[str] = (), hashes: Sequence[str] = (),
        schema: Mapping[str, Sequence[str]] | None = None,
    ) -> None:  # fmt: skip
        """Read and check everything; see the class."""
        if isinstance(cells, (str, os.PathLike)):
            cells, domain = defined(definitions(os.fspath(cells)), domain, os.fspath(cells))
        if hasattr(cells, "columns"):
            cells, domain = defined(_texts(cells), domain, cells.attrs.get("file", ""))
        if domain is None:
            raise ReleaseError("the cells are conditions on a domain: give domain=")
        place = _numbered(cells)
        names, of_area, of_cell, value = values if isinstance(values, Counts) else coded(values, place)
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
        order, kept = _unique_counts(codes[of_area], of_cell, value, every, self.cells)
        store(self, "of_area", codes[of_area][order][kept])
        store(self, "of_cell", of_cell[order][kept])
        store(self, "value", value[order][kept])
        store(self, "complete", chosen)
        store(self, "domain", domain)
        store(self, "area", area)
        store(self, "files", tuple(files))
        store(self, "hashes", tuple(hashes))
        store(self, "schema", {name: tuple(parts) for name, parts in (schema or {}).items()})
        store(self, "derived", {})
        store(self, "silent", np.zeros(0, np.int64))
        store(self, "noisy", False)

    @cached_property
    def cuts(self) -> tuple[AttributeCuts, ...]:
        """Return every attribute cut where some cell is."""
        positions: dict[int, set[Position]] = {}
        every = (*(r for cell in self._resolved for r in cell), *self._impossible)
        for k, ranges in {item for resolved in every for item in resolved.items()}:
            self.domain.cut_points({k: ranges}, positions)
        return tuple(AttributeCuts.at(a, positions.get(k, set())) for k, a in enumerate(self.domain.all))

    @cached_property
    def _resolved(self) -> list[list[Any]]:
        known: dict[tuple[str, int], tuple[int, Ranges]] = {}  # published cells name the same few parts
        out = []
        for cell in self.cells:
            resolved = []
            for condition in cell.conditions:
                one: dict[int, Ranges] = {}
                for name, test in condition:
                    if (name, id(test)) not in known:
                        (known[name, id(test)],) = self.domain.resolve(((name, test),), f"cell '{cell.name}'").items()
                    k, ranges = known[name, id(test)]
                    one[k] = intersection(one[k], ranges) if k in one else ranges
                resolved.append(one)
            out.append(resolved)
        return out

    @cached_property
    def _impossible(self) -> list[Any]:
        return [self.domain.resolve(c, f"domain.impossible[{i}]") for i, c in enumerate(self.domain.impossible)]

    @cached_property
    def system(self) -> Cells:
        """Return the cells over every combination of parts; `TooLarge` above 4 million of them."""
        shape = tuple(len(c.sizes) for c in self.cuts)

        masks: dict[tuple[int, Ranges], NDArray[np.bool_]] = {}

        def box(resolved: dict[int, Ranges]) -> list[tuple[int, NDArray[np.bool_]]]:
            for k, ranges in resolved.items():
                if (k, ranges) not in masks:
                    bits = self.cuts[k].mask(ranges)
                    masks[k, ranges] = np.array([bits >> p & 1 for p in range(shape[k])], bool)
            return [(item[0], masks[item]) for item in resolved.items()]

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
        levels, complete = self.levels
        for level in np.unique(levels[complete]):
            cells = np.flatnonzero(levels == level)
            publishes = np.flatnonzero((dense[:, cells] >= 0).any(axis=1))
            zero = np.ix_(publishes, np.flatnonzero((levels == level) & complete))
            part = dense[zero]
            dense[zero] = np.where(part < 0, 0, part)
        parent = np.array([place.get(int(p), -1) for p in self.areas.parent[mine]], np.int64)
        parted, told = len(mine) > 1, dense[:, self.silent] >= 0
        below, above = (self.silent[told[i:].any(axis=0)] for i in (int(parted), len(mine)))
        if self.noisy and parted:
            above = self.silent[told[0]]
        dense[:, self.silent] = -1
        return Top(tuple(self.areas.names[i] for i in mine), parent, dense, below, above)

    def _parents_first(self, mine: Ints) -> Ints:
        depth, at = np.zeros(len(mine), np.int64), mine
        while (at >= 0).any():
            up = np.where(at >= 0, self.areas.parent[at], -1)
            depth += up >= 0
            at = up
        return mine[np.lexsort((mine, depth))]

    @cached_property
    def levels(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Return a number per cell for its level (its table where it has none), and whether its table is complete."""
        keys = [("level", c.level) if c.level else ("table", c.table or c.name) for c in self.cells]
        numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[k] for k in keys]), np.array([c.table in self.complete for c in self.cells])

    def without_counts(self, left_out: Collection[str], noisy: bool = False) -> Tables:
        """Return the same tables, of which the counts of some are not used: what they tell apart stays told apart.

        `noisy`: bounds are known in place of them. `ReleaseError` for a name that none has, and, unless noisy, where
        none is left.
        """
        if not left_out:
            return self
        kept = self._kept_cells(left_out, noisy)
        out = object.__new__(Tables)
        changed = {"system": self.system, "derived": {}, "silent": np.flatnonzero(~kept), "noisy": noisy}
        out.__dict__.update(self.__dict__ | changed)
        return out

    def _kept_cells(self, left_out: Collection[str], all_of_them: bool = False) -> NDArray[np.bool_]:
        if unknown := sorted(set(left_out) - {c.table for c in self.cells}):
            raise ReleaseError(f"'{unknown[0]}' is the table of no cell", place="without")
        kept = np.array([c.table not in left_out for c in self.cells])
        if not kept.any() and not all_of_them:
            raise ReleaseError("no table is left", place="without")
        return kept

    def without(self, left_out: Collection[str]) -> Tables:
        """Return the same tables but for some, which tell nothing apart; `ReleaseError` for a name that none has."""
        if not left_out:
            return self
        kept = self._kept_cells(left_out)
        number = np.cumsum(kept) - 1
        told = kept[self.of_cell]
        out = object.__new__(Tables)
        changed = {
            "cells": tuple(c for c, k in zip(self.cells, kept, strict=True) if k),
            "of_cell": number[self.of_cell[told]],
            "of_area": self.of_area[told], "value": self.value[told], "complete": self.complete - set(left_out),
            "derived": {}, "silent": self.silent[:0], "noisy": False,
        }  # fmt: skip
        for name in ("areas", "domain", "area", "files", "hashes", "schema", *changed):
            object.__setattr__(out, name, changed.get(name, getattr(self, name)))
        whole = self.system  # cuts that the others do not need stay: tuples that nothing tells apart are one class
        cells = Cells(tuple(c.name for c in out.cells), whole.shape, whole.tuples, whole.matrix[np.flatnonzero(kept)])
        out.__dict__.update(cuts=self.cuts, system=cells)
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


def _unique_counts(
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
