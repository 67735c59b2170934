"""Published tables of many areas as users hold them: cells, areas in areas, counts.

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
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import AttributeCuts, Condition, Domain
from encoders.domain.values import Categorical, Grid, Position, Ranges, Test, from_text, intersection
from recon.io.files.tables import counts_rows, reading, text_columns
from recon.queries.tables.counts import GroupedCounts, TopNames, coded, empty
from solvers.foundation.errors import ReleaseError, TooLarge
from solvers.tables.atoms import Cells, Ints, Top

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

    @property
    def label(self) -> str:
        """Return its name, and the table that it is in."""
        return f"{self.name} ({self.table})" if self.table else self.name


def definitions(path: str) -> dict[str, list[str]]:
    """Return the columns of a file of definitions (CSV or Parquet) as texts; `ReleaseError` where it is not a table."""
    if path.lower().endswith(".parquet"):
        from recon.readers.frames.selections import read_table

        return _texts(read_table(path))
    with reading(path):
        columns = text_columns(path)
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
        raise ReleaseError(f"the column '{name}' is not an attribute of the domain")
    return Test(values=tuple(from_text(part, domain.all[k]) for part in text.split("|")))


def _between(start: str, end: str) -> Test:
    try:
        low, high = (int(x) if x else None for x in (start, end))
    except ValueError:
        raise ReleaseError(f"'{start}' to '{end}' is no range of whole numbers") from None
    if low is not None and high is not None and low > high:
        raise ReleaseError(f"'{start}' to '{end}' counts nobody: the range ends before it begins")
    return Test(low=low, high=high)


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


def _parents_of(areas: Any) -> dict[str, str | None] | None:
    """Return area -> the area that it lies in; `ReleaseError` for an area in two others. None: nothing was said."""
    if areas is None or isinstance(areas, dict):
        return areas or None
    if hasattr(areas, "columns"):
        areas = list(zip(areas["area"], areas["parent"], strict=True))
    out: dict[str, str | None] = {}
    for name, parent in areas:
        above = None if empty(parent) else str(parent)
        if out.setdefault(str(name), above) != above:
            raise ReleaseError(f"area '{name}' lies in '{out[str(name)]}' and in '{above}'", place="areas")
    return out or None


MAX_DENSE = 200_000_000  # areas times cells of one top area
NO_NOISE = "all tables count the same people, each once, without noise"
ASSUMED = (
    "the domain is as declared: nobody lies outside it",
    "everybody in an area that has parts lives in one of the parts listed",
    NO_NOISE,
)


@dataclass(frozen=True, eq=False)
class Tables:
    """Counts of people by cell and area: `recon.Tables(values, cells, areas, complete=..., domain=...)`.

    `values`: a frame or file with the columns area, cell, value; `cells`: a frame or file of definitions
    (`recon.queries.tables.tables`), or `Cell`s; `areas`: a frame with area and parent, a dictionary, or None:
    "a:b" lies in "a". `complete`: the tables whose cells are 0 where an area that publishes tables of their level does
    not list them (True: all). `schema`: names that stand for lists of attributes (`recon variability --schema`).
    `disjoint`: tables in which no two cells of one level may count the same people; checked where cells are resolved.
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
    counts: GroupedCounts
    complete: frozenset[str]
    domain: Domain
    area: str = "area"
    files: tuple[str, ...] = ()
    hashes: tuple[str, ...] = ()
    schema: dict[str, tuple[str, ...]] = field(default_factory=dict)
    disjoint: tuple[str, ...] = ()
    derived: dict[str, Any] = field(default_factory=dict, repr=False)
    silent: Ints = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)  # cells whose counts are not used
    noisy: bool = field(default=False, repr=False)  # but bounds on them

    def __init__(
        self, values: Any, cells: Any, areas: Any = None, complete: Sequence[str] | bool = False,
        domain: Domain | None = None, area: str = "area", files: Sequence[str] = (), hashes: Sequence[str] = (),
        schema: Mapping[str, Sequence[str]] | None = None, disjoint: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Read and check everything; see the class."""
        if isinstance(cells, (str, os.PathLike)):
            cells, domain = defined(definitions(os.fspath(cells)), domain, os.fspath(cells))
        if hasattr(cells, "columns"):
            cells, domain = defined(_texts(cells), domain, cells.attrs.get("file", ""))
        if domain is None:
            raise ReleaseError("the cells are conditions on a domain: give domain=")
        place = _numbered(cells)
        parents = _parents_of(areas)
        counts = values
        if not isinstance(values, GroupedCounts):
            counts = GroupedCounts(held=parents is not None)
            coded(values, place, counts)
        tables = {cell.table for cell in cells}
        chosen = frozenset(tables if complete is True else complete or ())
        for key, told in (("complete", chosen), ("disjoint", set(disjoint))):
            if unknown := sorted(told - tables):
                raise ReleaseError(f"'{unknown[0]}' is the table of no cell", place=key)
        store = object.__setattr__
        store(self, "cells", tuple(cells))
        store(self, "counts", counts.finished(parents, [cell.name for cell in cells]))
        store(self, "complete", chosen)
        store(self, "domain", domain)
        store(self, "area", area)
        store(self, "files", tuple(files))
        store(self, "hashes", tuple(hashes))
        store(self, "schema", {name: tuple(parts) for name, parts in (schema or {}).items()})
        store(self, "disjoint", tuple(disjoint))
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
                        known[name, id(test)] = self._ranges_of(name, test, cell)
                    k, ranges = known[name, id(test)]
                    one[k] = intersection(one[k], ranges) if k in one else ranges
                resolved.append(one)
            out.append(resolved)
        return out

    def _ranges_of(self, name: str, test: Test, cell: Cell) -> tuple[int, Ranges]:
        try:
            (found,) = self.domain.resolve(((name, test),), f"cell '{cell.name}'").items()
        except ReleaseError as error:
            raise error.at(file=(*self.files, "")[0]) from None
        return found

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
        found = Cells.of([c.label for c in self.cells], shape, regions, [box(r) for r in self._impossible])
        self._refuse_overlaps(found)
        return found

    def _refuse_overlaps(self, found: Cells) -> None:
        """Raise `ReleaseError` where two cells of a table that is declared disjoint count the same people."""
        kinds: dict[tuple[str, str], list[int]] = {}
        for k, cell in enumerate(self.cells):
            if cell.table in self.disjoint:
                kinds.setdefault((cell.table, cell.level), []).append(k)
        for (table, _), members in kinds.items():
            matrix = found.matrix[members].tocsc()
            twice = np.flatnonzero(np.diff(matrix.indptr) > 1)
            if len(twice):
                one, other = (self.cells[members[i]].name for i in sorted(matrix[:, [twice[0]]].indices[:2].tolist()))
                said = f"the cells '{one}' and '{other}' of table '{table}', declared disjoint, count some people twice"
                raise ReleaseError(said, place="disjoint", file=(*self.files, "")[0])

    def uncounted(self) -> Tables:
        """Return the same tables without their counts: what every process needs that is given top areas."""
        out = object.__new__(Tables)
        out.__dict__.update(self.__dict__ | {"counts": GroupedCounts(), "system": self.system})
        return out

    @property
    def top_names(self) -> TopNames:
        """Return the names of the areas that lie in no other."""
        return TopNames(self.counts)

    def tops(self) -> Iterator[Top]:
        """Yield every top area with the areas in it and what is known of them."""
        for k in range(self.counts.tops):
            yield self.top(k)

    def top(self, k: int) -> Top:
        """Return top area k."""
        part, local = self.counts.of_top(k)
        mine, rows, cell, value = part.top(local)
        names = tuple(part.areas.names[i] for i in mine)
        if len(mine) * len(self.cells) > MAX_DENSE:
            raise TooLarge(f"area '{names[0]}' has {len(mine):,} areas in it: too many for one")
        dense = np.full((len(mine), len(self.cells)), -1, np.int64)
        dense[rows, cell] = value
        levels, complete = self.levels
        for level in np.unique(levels[complete]):
            cells = np.flatnonzero(levels == level)
            publishes = np.flatnonzero((dense[:, cells] >= 0).any(axis=1))
            zero = np.ix_(publishes, np.flatnonzero((levels == level) & complete))
            listed = dense[zero]
            dense[zero] = np.where(listed < 0, 0, listed)
        place = {int(a): i for i, a in enumerate(mine)}
        parent = np.array([place.get(int(p), -1) for p in part.areas.parent[mine]], np.int64)
        parted, told = len(mine) > 1, dense[:, self.silent] >= 0
        below, above = (self.silent[told[i:].any(axis=0)] for i in (int(parted), len(mine)))
        if self.noisy and parted:
            above = self.silent[told[0]]
        dense[:, self.silent] = -1
        return Top(names, parent, dense, below, above)

    @cached_property
    def levels(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Return a number per cell for its level (its table where it has none), and whether its table is complete."""
        keys = [("level", c.level) if c.level else ("table", c.table or c.name) for c in self.cells]
        numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        return np.array([numbers[k] for k in keys]), np.array([c.table in self.complete for c in self.cells])

    def without_counts(self, left_out: Collection[str], noisy: bool = False) -> Tables:
        """Return the same tables, of which the counts of some are not used: what they distinguish stays distinguished.

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
        """Return the same tables without some, which then distinguish nothing; `ReleaseError` for an unknown name."""
        if not left_out:
            return self
        kept = self._kept_cells(left_out)
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        out = object.__new__(Tables)
        changed = {
            "cells": tuple(c for c, k in zip(self.cells, kept, strict=True) if k),
            "counts": self.counts.of_cells(number), "complete": self.complete - set(left_out),
            "derived": {}, "silent": self.silent[:0], "noisy": False,
        }  # fmt: skip
        for name in ("domain", "area", "files", "hashes", "schema", "disjoint", *changed):
            object.__setattr__(out, name, changed.get(name, getattr(self, name)))
        whole = self.system  # cuts that the others do not need stay: tuples that nothing tells apart are one class
        cells = Cells(tuple(c.label for c in out.cells), whole.shape, whole.tuples, whole.matrix[np.flatnonzero(kept)])
        out.__dict__.update(cuts=self.cuts, system=cells)
        return out

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Return what every answer assumes."""
        names = ", ".join(sorted(self.complete)[:40])
        one = len(self.complete) == 1
        said = f"the table {names} is complete: what it does not list is 0" if one else (
            f"the tables {names} are complete: what they do not list is 0")  # fmt: skip
        whole = (f"{name} is whole, though its last line does not end" for name in self.counts.unended)
        return (*ASSUMED, *self.domain.notes, *((said,) if self.complete else ()), *whole)

    def __repr__(self) -> str:
        """Return the sizes in a line."""
        return f"Tables({len(self.cells):,} cells, {self.counts.tops:,} top areas, {self.counts.number:,} counts)"


def _numbered(cells: Sequence[Cell]) -> dict[str, int]:
    place: dict[str, int] = {}
    for i, cell in enumerate(cells):
        if place.setdefault(cell.name, i) != i:
            raise ReleaseError(f"the cell '{cell.name}' is defined twice", place="cells")
    return place
