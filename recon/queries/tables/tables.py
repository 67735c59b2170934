"""Published tables of many areas as users hold them: cells, areas in areas, counts."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.cuts import AttributeCuts
from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Position
from recon.queries.tables.definitions import Cell, defined
from solvers.foundation.errors import ContradictionError, ReleaseError, TooLarge
from solvers.tables.areas import Top
from solvers.tables.atoms import Cells

if TYPE_CHECKING:
    import pandas as pd

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
    (`recon.queries.tables.definitions`), or `Cell`s; `areas`: a frame with area and parent, a dictionary, or None:
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
        from recon.queries.tables.values import coded, parents_of

        if isinstance(cells, (str, os.PathLike)):
            cells = _definitions(os.fspath(cells))
        if hasattr(cells, "columns"):
            cells, domain = defined(cells, domain, cells.attrs.get("file", ""))
        if domain is None:
            raise ReleaseError("the cells are conditions on a domain: give domain=")
        place = _numbered(cells)
        names, of_area, of_cell, value = coded(values, place)
        parents = parents_of(areas)
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
