"""Certificates about tables of areas, and their check from the release alone.

That one data set only fits the tables of a top area: the numbers of statements to apply in turn, each once
(`solvers.tables.replay`); the statements are made anew from the release. It is about the cells that the tables of the
smallest areas tell apart.

How far the data sets of a smallest area can lie apart: two data sets, and multipliers of statements
(`solvers.tables.distances`), under the bounds that the statements have one by one.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from recon.queries.tables.schemas import histogram_cells, labels
from recon.queries.tables.tables import Tables
from solvers.foundation.errors import CertificateError, ReconError
from solvers.foundation.limits import Limits
from solvers.tables.atoms import ANY, ClashError, ClashingCountsError, Ints, LiveCounts, live, propagated
from solvers.tables.distances import OpenCounts, bound_of, distance, total_of
from solvers.tables.replay import replayed
from solvers.tables.solving import Designs, SolvedArea, steps_for
from solvers.tables.widths import AreaWidth, ProvedDistance

KEY = "recon_tables_certificate"
KEYS = {KEY, "area", "claim", "people", "cells", "release", "steps"}
CLAIM = "one data set only over the cells that the tables of its smallest areas distinguish"
MOST_STEPS = 50_000_000
WIDTH = "recon_width_certificate"
WIDTH_KEYS = {WIDTH, "area", "top", "tables", "people", "distance", "schema", "without", "release", "x", "y", "rows",
              "sums"}  # fmt: skip
MOST_SIZE = float(1 << 50)


def certificate(tables: Tables, one: SolvedArea) -> dict[str, Any] | None:
    """Return the certificate that a top area has one data set; None where propagation leaves a count open."""
    steps = steps_for(one.live)
    if steps is None:
        return None
    packed = _pack_integers(np.diff(np.array([0, *steps], np.int64)).tolist())
    people, cells = int(one.low.sum()), int((one.low > 0).sum())
    return {KEY: 1, "area": one.live.top.names[0], "claim": CLAIM, "people": people, "cells": cells,
            "release": list(tables.hashes), "steps": packed}  # fmt: skip


def _varints(numbers: list[int]) -> bytes:
    out = bytearray()
    for n in numbers:
        rest = n
        while rest > 127:
            out.append(rest & 127 | 128)
            rest >>= 7
        out.append(rest)
    return bytes(out)


def _pack_integers(numbers: Iterable[int]) -> str:
    """Return whole numbers of either sign, packed."""
    signed = [2 * n if n >= 0 else -2 * n - 1 for n in numbers]
    return base64.b64encode(zlib.compress(_varints(signed), 9)).decode()


def _unpack_integers(text: Any) -> list[int]:
    """Return whole numbers that were packed; `CertificateError` where they are none."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(str(text), validate=True), MOST_STEPS)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise CertificateError(f"its numbers cannot be unpacked ({error})") from None
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise CertificateError("its numbers are cut off, or too many")
    out, n, shift = list[int](), 0, 0
    for byte in data:
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(n // 2 if n % 2 == 0 else -(n // 2) - 1)
            n = shift = 0
        elif shift > 56:
            raise CertificateError("its numbers are malformed")
    if shift:
        raise CertificateError("its numbers are cut off")
    return out


@dataclass(frozen=True)
class CheckedArea:
    """One certificate that was checked: the top area it is about, what it claims, and why it does not hold ("")."""

    area: str
    claim: str
    error: str


@dataclass(frozen=True, eq=False)
class _CheckedSystem:
    """A top area as a checker sees it: all statements, or each leaf's own; the bounds that they have one by one."""

    live: LiveCounts
    alone: bool
    chosen: Ints
    label: Ints
    low: Ints
    high: Ints

    @classmethod
    def of(cls, system: LiveCounts, label: Ints, alone: bool) -> _CheckedSystem:
        """Return it; `CertificateError` where the statements contradict each other."""
        chosen = np.flatnonzero(system.own) if alone else np.arange(len(system.rows))
        n = len(system.leaf)
        low, high = np.zeros(n, np.int64), np.full(n, ANY, np.int64)
        try:
            return cls(system, alone, chosen, label, *propagated(system.rows.chosen(chosen), low, high))
        except ClashError:
            raise CertificateError("the statements contradict each other") from None

    @cached_property
    def open(self) -> OpenCounts:
        """Return what the bounds leave open."""
        found = OpenCounts.of(self.live.rows.chosen(self.chosen), self.low, self.high)
        return replace(found, rows=self.chosen[found.rows])

    def people(self, leaf: int) -> int | None:
        """Return how many people a leaf has, None where that is open."""
        mine = self.live.leaf == leaf
        low, high = int(self.low[mine].sum()), int(self.high[mine].sum())
        return low if low == high else total_of(self.live, leaf, mine)

    def at_most(self, leaf: int, rows: dict[int, int], sums: dict[int, int]) -> int:
        """Return a bound on the distance of two data sets in a leaf by these multipliers, or by none."""
        label = np.where(self.live.leaf == leaf, self.label, -1)
        d = self.open.distances(label, published=True)
        if d is None:
            return 0
        told = self.open.multiplied(d, rows, sums)
        size = float(np.abs(told).sum()) * float(d.room.max() + d.left.max(initial=0) + 1) * (1 + len(d.room))
        if size >= MOST_SIZE or float(d.room.sum()) >= ANY:
            raise CertificateError("its multipliers are too large, or a count is bounded by nothing")
        return d.rounded(min(bound_of(d, told), bound_of(d, 0 * told)))

    def apart(self, leaf: int, x: Sequence[int], y: Sequence[int]) -> int:
        """Return how far two data sets lie apart in a leaf; `CertificateError` where they do not fit the statements."""
        rows, label = self.live.rows.chosen(self.chosen), np.where(self.live.leaf == leaf, self.label, -1)
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        told = [np.array(v, np.int64) for v in (x, y)]
        for v in told:
            if len(v) != len(label) or (v < 0).any() or (v > ANY).any():
                raise CertificateError("its data sets are not of this area")
            wrong = np.bincount(owner, v[rows.columns], len(rows)).astype(np.int64) != rows.value
            if (wrong & (self.live.row_area[self.chosen] == leaf) if self.alone else wrong).any():
                raise CertificateError("one of its data sets does not fit the tables")
        return distance(told[0], told[1], label)


@dataclass
class Checker:
    """What certificates of widths are checked by, made from the release: each top area once for all in it."""

    tables: Tables
    without: tuple[str, ...] = ()
    schema: tuple[str, ...] | None = None
    known: dict[tuple[str, bool], _CheckedSystem] = field(default_factory=dict)

    @cached_property
    def _less(self) -> Tables:
        return self.tables.without_counts(self.without)

    @cached_property
    def _cells(self) -> Ints | None:
        return None if self.schema is None else histogram_cells(self._less, self.schema)

    @cached_property
    def _designs(self) -> Designs:
        return Designs(self._less.system)

    def area(self, top: str, alone: bool) -> _CheckedSystem:
        """Return a top area by the tables of each leaf alone, or by all; the last one is remembered."""
        if (top, alone) not in self.known:
            self.known = {key: one for key, one in self.known.items() if key[0] == top}
            names = self._less.top_names
            if top not in names:
                raise CertificateError("there is no such area that lies in no other")
            area = self._less.top(names.index(top))
            system = live(area, self._designs.of(area))
            label = labels(self._less, system, self._cells, self.schema or ())
            self.known[top, alone] = _CheckedSystem.of(system, label, alone)
        return self.known[top, alone]

    def adopted(self, one: SolvedArea, label: Ints) -> None:
        """Take the statements of an area that was just solved, for certificates to be made."""
        self.known = {
            (one.live.top.names[0], alone): _CheckedSystem.of(one.live, label, alone) for alone in (False, True)
        }

    def certificate(self, top: str, found: AreaWidth, proved: ProvedDistance, alone: bool) -> dict[str, Any] | None:
        """Return the certificate of a width: what it proves may lie wider than what was found. None: it proves nothing.

        After `adopted`.
        """
        plain = self.area(top, alone)
        try:
            high = plain.at_most(found.leaf, proved.rows, proved.sums)
        except CertificateError:
            return None
        low, x, y = 0, proved.x, proved.y
        if x is not None and y is not None and proved.bounds[0]:
            try:
                low = plain.apart(found.leaf, x.tolist(), y.tolist())
            except CertificateError:
                low = 0
        rows, sums = (sorted(m.items()) for m in (proved.rows, proved.sums))
        return {
            WIDTH: 1, "area": plain.live.top.names[found.leaf], "top": top, "tables": "own" if alone else "all",
            "people": plain.people(found.leaf), "distance": [low, high],
            "schema": None if self.schema is None else [*self.schema],
            "without": [*self.without], "release": list(self.tables.hashes),
            "x": _pack_integers(x.tolist()) if low and x is not None else "",
            "y": _pack_integers(y.tolist()) if low and y is not None else "",
            "rows": _pack_integers(v for pair in rows for v in pair),
            "sums": _pack_integers(v for pair in sums for v in pair),
        }  # fmt: skip

    def check(self, found: Mapping[str, Any]) -> None:
        """Raise `CertificateError` where a certificate does not prove what it says."""
        if found["tables"] not in {"own", "all"}:
            raise CertificateError("it is not a certificate of this format")
        plain = self.area(str(found["top"]), found["tables"] == "own")
        names = plain.live.top.names
        if found["area"] not in names or names.index(found["area"]) not in plain.live.top.leaves:
            raise CertificateError("there is no such smallest area")
        leaf = names.index(found["area"])
        if plain.people(leaf) != found["people"]:
            raise CertificateError("it says another number of people than follows")
        low, high = found["distance"]
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in (low, high)):
            raise CertificateError("its distances are not whole numbers")
        rows, sums = (_pairs(_unpack_integers(found[key])) for key in ("rows", "sums"))
        if high < plain.at_most(leaf, rows, sums):
            raise CertificateError("its multipliers do not prove that no two data sets lie further apart")
        if low > 0 and plain.apart(leaf, _unpack_integers(found["x"]), _unpack_integers(found["y"])) < low:
            raise CertificateError("its data sets do not lie so far apart")


def _pairs(numbers: list[int]) -> dict[int, int]:
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


def _certificates_in(data: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every certificate about tables in a result."""
    if isinstance(data, dict):
        if KEY in data or WIDTH in data:
            yield data
            return
        for value in data.values():
            yield from _certificates_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from _certificates_in(value)


def verify_areas(data: Any, tables: Tables, limits: Limits) -> list[CheckedArea]:
    """Return what the check of every certificate in a result found; those that time left out say so."""
    designs, out = Designs(tables.system), []
    checkers: dict[str, Checker] = {}
    for found in _certificates_in(data):
        area = f"{found.get('area')!s:.200}"
        if WIDTH in found:
            error, said = _width_error(found, tables, checkers), _width_text(found)
        else:
            error = _error(found, tables, designs)
            said = f"{found.get('claim')!s:.200} ({found.get('people')!s:.20} people)"
        if limits.expired():
            error = "not verified: the time was up"
        out.append(CheckedArea(area, f"{area}: {said}", error))
    return out


def _width_text(found: Mapping[str, Any]) -> str:
    n, told = found.get("people"), found.get("distance")
    low, high = told if isinstance(told, list) and len(told) == 2 else (None, None)
    by = "its own tables" if found.get("tables") == "own" else "all tables"
    apart = f"{low!s:.20} to {high!s:.20}" if low != high else f"{low!s:.20}"
    only = ": one data set only" if high == 0 else ""
    return f"data sets lie apart by at most {apart} (L1; {n!s:.20} people), by {by}{only}"


def _width_error(found: Mapping[str, Any], tables: Tables, checkers: dict[str, Checker]) -> str:
    try:
        if set(found) != WIDTH_KEYS or found[WIDTH] != 1 or isinstance(found[WIDTH], bool):
            raise CertificateError("it is not a certificate of this format")
        if found["release"] != list(tables.hashes):
            raise CertificateError("it is about another release")
        key = repr((found["without"], found["schema"]))
        if key not in checkers:
            schema = None if found["schema"] is None else tuple(map(str, found["schema"]))
            checkers[key] = Checker(tables, tuple(map(str, found["without"])), schema)
        checkers[key].check(found)
    except ReconError as error:
        return str(error)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"it is malformed ({type(error).__name__})"
    return ""


def _error(found: Mapping[str, Any], tables: Tables, designs: Designs) -> str:
    try:
        if set(found) != KEYS or found[KEY] != 1 or isinstance(found[KEY], bool) or found["claim"] != CLAIM:
            raise CertificateError("it is not a certificate of this format")
        if found["release"] != list(tables.hashes):
            raise CertificateError("it is about another release")
        if found["area"] not in tables.top_names:
            raise CertificateError("there is no such area that lies in no other")
        top = tables.top(tables.top_names.index(found["area"]))
        x = replayed(live(top, designs.of(top)), np.cumsum(_unpack_integers(found["steps"])).tolist())
        if (int(x.sum()), int((x > 0).sum())) != (found["people"], found["cells"]):
            raise CertificateError("it says another number of people or cells than follows")
    except (CertificateError, ClashingCountsError) as error:
        return str(error)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"it is malformed ({type(error).__name__})"
    return ""
