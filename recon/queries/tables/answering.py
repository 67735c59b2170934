"""Questions to published tables, answered one top area after the other; what is proved of each is a small record.

Answers about tables in words and as JSON.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from recon.queries.tables.kept import MAX_LINES, StoredSequence
from recon.queries.tables.proofs import certificate
from recon.queries.tables.tables import Tables
from solvers.foundation.errors import Inconclusive, ReleaseError
from solvers.foundation.exact import (
    NumberBounds,
    decimal,
    log2_multinomial,
    multinomial_factors,
    product,
    tree_product,
)
from solvers.foundation.limits import Limits
from solvers.tables import two_way
from solvers.tables.atoms import Ints, Top
from solvers.tables.distances import OpenCounts
from solvers.tables.solving import Designs, Range, SolvedArea, solve_area

if TYPE_CHECKING:
    import pandas as pd

SIZES = (1, 10, 50, 100, 250, 500, 1000)  # of areas: 1-9 people, 10-49, ...


@dataclass(frozen=True)
class AreaFigures:
    """What is proved of one top area.

    `unique`: one data set fits over the cells that lower areas see (None: not decided); `multisets`, `sequences`: how
    many data sets there are over all that the tables tell apart, unordered and in order; `multiset`, `ordered`: the
    same in whole numbers, equal ones where exact (None: too long); `certain`: people who are the same in all of them;
    `leaves`: per smallest area its people, whether its own tables settle it, and all, and how many people are certain.
    """

    name: str
    people: Range
    unique: bool | None
    solutions: Range
    multisets: NumberBounds
    sequences: NumberBounds
    certain: int
    leaves: tuple[tuple[str, int, bool, bool, int], ...]

    @property
    def exact(self) -> bool:
        """Return whether every figure is exact."""
        return self.unique is True and self.multisets.exact

    @property
    def multiset(self) -> Range | None:
        """Return the number of unordered data sets, or what it lies between; None: too long to be written out."""
        return self.multisets.whole

    @property
    def ordered(self) -> Range | None:
        """Return the number of sequences of people, or what it lies between; None: too long to be written out."""
        return self.sequences.whole


@dataclass(frozen=True)
class TablesAnswer:
    """What is proved of all areas: see `AreaFigures`; numbers of data sets are products over the top areas."""

    areas: Sequence[AreaFigures]
    assumptions: tuple[str, ...]
    not_solved: tuple[str, ...] = field(default=())

    @cached_property
    def people(self) -> Range:
        """Return the number of people."""
        return sum(a.people[0] for a in self.areas), sum(a.people[1] for a in self.areas)

    @cached_property
    def certain(self) -> int:
        """Return how many people are reconstructed for certain."""
        return sum(a.certain for a in self.areas)

    @cached_property
    def multisets(self) -> NumberBounds:
        """Return the number of unordered data sets, or what it lies between: a product over the top areas."""
        return _product([a.multisets for a in self.areas])

    @cached_property
    def sequences(self) -> NumberBounds:
        """Return the number of sequences of people, or what it lies between: rows of different areas may mix."""
        inside = _product([a.sequences for a in self.areas])
        people = [[a.people[end] for a in self.areas] for end in (0, 1)]
        low, high = (b + log2_multinomial(n) for b, n in zip(inside.log2, people, strict=True))
        exact = inside.exact and people[0] == people[1]

        def written(end: int) -> int:
            return _multiplied([a.sequences for a in self.areas], end) * product(multinomial_factors(people[end]))

        return NumberBounds.of((low, high), exact, written)

    @property
    def multiset(self) -> Range | None:
        """Return `multisets` in whole numbers, equal ones where exact; None: too long to be written out."""
        return self.multisets.whole

    @property
    def ordered(self) -> Range | None:
        """Return `sequences` in whole numbers, equal ones where exact; None: too long to be written out."""
        return self.sequences.whole

    @property
    def status(self) -> str:
        """Return "exact" where everything is, "unknown" where an area was not solved, else "bounds"."""
        if self.not_solved:
            return "unknown"
        return "exact" if all(a.exact for a in self.areas) else "bounds"


def _product(numbers: Sequence[NumberBounds]) -> NumberBounds:
    """Return the product of numbers that are known, or bounded, each by itself."""
    low, high = (math.fsum(n.log2[end] for n in numbers) for end in (0, 1))
    return NumberBounds.of((low, high), all(n.exact for n in numbers), lambda end: _multiplied(numbers, end))


def _multiplied(numbers: Sequence[NumberBounds], end: int) -> int:
    """Return an end of the product as a whole number; where that is short, so are all factors, but beside a 0."""
    ends = [n.ends[end] for n in numbers]
    return 0 if 0 in ends else tree_product([x for x in ends if x is not None])


def _solutions(tables: Tables, limits: Limits) -> Iterator[SolvedArea]:
    """Yield every top area solved; `Inconclusive` where the time is up."""
    designs = Designs(tables.system)
    for k, top in enumerate(tables.tops()):
        if limits.expired():
            raise Inconclusive(f"the time was up after {k:,} of {tables.counts.tops:,} areas")
        limits.report(f"area {top.names[0]}: {k:,} of {tables.counts.tops:,}")
        yield solve_area(designs, top)


def _figures(one: SolvedArea) -> AreaFigures:
    """Return the figures of a solved top area."""
    names, leaves = one.live.top.names, one.live.top.leaves
    alone, all_tables = (set(x.tolist()) for x in one.settled_leaves)
    people, sure = one.people_of[0].tolist(), one.certain_of.tolist()
    told = tuple((names[i], people[i], i in alone, i in all_tables, sure[i]) for i in leaves.tolist())
    return AreaFigures(names[0], one.people, one.unique, one.solutions, one.multisets, one.sequences, one.certain, told)


def count_areas(
    tables: Tables, limits: Limits | None = None, each: Callable[[SolvedArea], None] = lambda one: None
) -> TablesAnswer:
    """Return what is proved of every top area: data sets, people certain. Areas that time left out are named.

    `each` sees every top area once it is solved. Raises `ContradictionError` naming area, cells and counts where
    none fit.
    """
    limits = limits or Limits()
    found, left = StoredSequence(), tuple[str, ...]()
    try:
        for one in _solutions(tables, limits):
            found.append(_figures(one))
            each(one)
    except Inconclusive:
        if not limits.expired():
            raise
        left = tables.top_names[len(found) :]
    return TablesAnswer(found if len(found) > MAX_LINES else tuple(found), tables.assumptions, left)


PUBLISHED, BETWEEN, FOLLOWING = "published", "by differencing between areas", "by all counts together"
MAX_LISTED = 1_000  # small groups that are kept, those with the fewest people first


@dataclass
class SmallAreaGroups:
    """Groups that surely have 1 to `below` - 1 people, of every top area that was added.

    `listed`: people, place and how it is known, the fewest first (`MAX_LISTED`); `number`: how many there are, by how.
    `fewest`: people of the smallest group that surely has some (None: there is none); `none_below`: proved of every
    area: in one of its data sets no combination has 1 to none_below - 1 people, so that no group has (1: not proved).
    """

    below: int
    listed: list[tuple[int, str, str]] = field(default_factory=list)
    number: Counter[str] = field(default_factory=Counter)
    fewest: int | None = None
    none_below: int | None = None

    def add(self, tables: Tables, one: SolvedArea) -> None:
        """Look at a top area: its counts, what they leave for parts that do not list a cell, and what follows."""
        top = one.live.top
        found = [(top.values, PUBLISHED), (_outside_of_parts(top), BETWEEN)]
        for values, how in found:
            area, cell = np.nonzero(values > 0)
            names = (
                f"{top.names[a]}: {tables.cells[c].name}" for a, c in zip(area.tolist(), cell.tolist(), strict=True)
            )
            self._note_groups(values[area, cell], names, how)
        sure = np.flatnonzero(one.low > 0)
        leaf = one.live.leaf[sure].tolist()
        names = (f"{top.names[i]}: a combination of the attributes" for i in leaf)
        self._note_groups(one.high[sure], names, FOLLOWING)
        least = 1
        if not self.fewest or self.fewest >= self.below:  # else nothing more is asked
            least = self._least(one)
        self.none_below = min(least, least if self.none_below is None else self.none_below)

    def _note_groups(self, people: Ints, names: Iterable[str], how: str) -> None:
        if len(people):
            self.fewest = min(int(people.min()), self.fewest or int(people.min()))
        small = people < self.below
        self.number[how] += int(small.sum())
        self.listed += [(n, name, how) for n, name, few in zip(people.tolist(), names, small, strict=True) if few]
        if len(self.listed) > 2 * MAX_LISTED:
            self.listed = self.smallest

    @property
    def smallest(self) -> list[tuple[int, str, str]]:
        """Return the listed groups, the fewest people first."""
        return sorted(self.listed, key=lambda x: x[0])[:MAX_LISTED]

    @staticmethod
    def _least(one: SolvedArea) -> int:
        """Return the fewest people of a combination that has some, in a data set of an area; 1: none was found."""
        from solvers.tables.widths import one_data_set

        live = one.live
        if live.split.any() and live.v_count.any():  # finer tables of the top area: no data set is at hand
            return 1
        held = one.low if not len(one.open) else one_data_set(OpenCounts.of(live.rows, one.low, one.high))
        return 1 if held is None or not held.any() else int(held[held > 0].min())


def _outside_of_parts(top: Top) -> Ints:
    """Return per area and cell how many people are in the parts that do not list it, where others do; else 0."""
    out, known = np.zeros_like(top.values), top.values.copy()
    for area in range(len(top.names))[::-1]:  # parts stand behind the area that they lie in
        parts = np.flatnonzero(top.parent == area)
        if not len(parts):
            continue
        told = known[parts] >= 0
        sums = np.where(told, known[parts], 0).sum(axis=0)
        some = (known[area] >= 0) & told.any(axis=0) & ~told.all(axis=0)
        out[area, some] = (known[area] - sums)[some]
        following = (known[area] < 0) & told.all(axis=0)
        known[area, following] = sums[following]
    return out


@dataclass(frozen=True)
class ProfileTuples:
    """Profiles over the parts of the attributes: `tuples[i]` those that profile i allows, `area[i]` where it lives."""

    area: tuple[str | None, ...]
    tuples: tuple[NDArray[np.bool_], ...]


def _profile_tuples(tables: Tables, profiles: pd.DataFrame) -> ProfileTuples:
    """Return the profiles of a frame; the area may be left open, as any attribute.

    Raises `ReleaseError` for names and values that the domain does not have, an area that is none, and a value that
    stands inside of what no cell tells apart is taken for all of it.
    """
    from recon.readers.frames.selections import frame_ranges, missing

    areas: list[str | None] = [None] * len(profiles)
    if tables.area in profiles.columns:
        areas = [None if missing(a) or a == "" else str(a) for a in profiles[tables.area]]
    for i, a in enumerate(areas):
        if a is not None and tables.counts.of_name(a)[2] < 0:
            raise ReleaseError(f"'{a}' is not an area of the tables", place=f"row {i + 1}, column '{tables.area}'")
    rest = profiles.drop(columns=[tables.area], errors="ignore")
    rest.attrs = profiles.attrs
    shape, cells = tables.system.shape, tables.system.tuples
    parts = np.unravel_index(cells, shape)
    allowed = [np.ones(len(cells), bool) for _ in range(len(profiles))]
    for k, (codes, ranges) in frame_ranges(rest, tables.domain).items():
        masks = []
        for one in ranges:
            bits = tables.cuts[k].meeting(one)
            masks.append(np.array([bits >> p & 1 for p in range(shape[k])], bool)[parts[k]])
        for i, code in enumerate(codes.tolist()):
            allowed[i] &= masks[code]
    return ProfileTuples(tuple(areas), tuple(allowed))


def _narrower(tables: Tables, profiles: pd.DataFrame) -> list[bool]:
    """Return for every profile whether it names values inside of a part that no cell tells apart."""
    from recon.readers.frames.selections import frame_ranges

    rest = profiles.drop(columns=[tables.area], errors="ignore")
    rest.attrs = profiles.attrs
    out = [False] * len(profiles)
    for k, (codes, ranges) in frame_ranges(rest, tables.domain).items():
        inside = []
        for one in ranges:
            bits, sizes = tables.cuts[k].meeting(one), tables.cuts[k].sizes
            inside.append(sum(b - a for a, b in one) < sum(s for p, s in enumerate(sizes) if bits >> p & 1))
        out = [was or inside[code] for was, code in zip(out, codes.tolist(), strict=True)]
    return out


def _bounds(one: SolvedArea, area: str | None, tuples: NDArray[np.bool_]) -> tuple[int, int, bool]:
    """Return the least and greatest number of people in an area (None: the whole) with one of the tuples.

    And whether both are attained: the counts are the only ones, and of every two-way table a rectangle is asked about.
    """
    live, design = one.live, one.live.design
    leaf = np.ones(len(live.leaf), bool) if area is None else np.isin(live.leaf, _below(one, area))
    asked_pairs = np.bincount(design.pair, tuples, len(design.size)).astype(np.int64)
    low = high = 0
    exact = not len(one.open)
    pair = live.atom_pair[live.atom]
    outside = np.flatnonzero((pair >= 0) & leaf & (one.high > 0))
    some, size = asked_pairs[pair[outside]], design.size[pair[outside]]
    low += int(one.low[outside][some == size].sum())
    high += int(one.high[outside][some > 0].sum())
    chosen = np.flatnonzero(asked_pairs)
    wanted = set(zip(design.pair_b[chosen].tolist(), design.pair_v[chosen].tolist(), strict=True))
    groups = set(design.group[chosen].tolist())
    for table in one.two_ways():
        if not len(table.rows) or int(live.atom_group[live.atom[table.rows[0]]]) not in groups:
            continue
        b = live.atom_b[live.atom[table.rows]]
        hit = np.array([[(int(x), int(v)) in wanted for v in table.columns] for x in b], bool)
        hit = np.logical_and(hit, leaf[table.rows][:, None])
        rows, columns = hit.any(axis=1), hit.any(axis=0)
        total, column = int(table.sums.sum()), int(table.sums[columns].sum())
        least, most = int(one.low[table.rows][rows].sum()), int(one.high[table.rows][rows].sum())
        if np.array_equal(hit, rows[:, None] & columns[None, :]):
            low, high = low + max(0, least + column - total), high + min(most, column)
            continue
        entries = two_way.least_entries(one.low[table.rows], table.sums)
        caps = np.minimum(one.high[table.rows][:, None], table.sums[None, :])
        low, high = low + int(entries[hit].sum()), high + min(int(caps[hit].sum()), most, column)
        exact = False
    return low, high, exact or low == high


def _below(one: SolvedArea, area: str) -> NDArray[np.int64]:
    names, parent = one.live.top.names, one.live.top.parent
    inside = np.array([name == area for name in names])
    for i in range(len(names)):  # parents come first
        inside[i] |= parent[i] >= 0 and inside[parent[i]]
    return np.flatnonzero(inside)


def certified(tables: Tables, profiles: pd.DataFrame, limits: Limits | None = None) -> pd.DataFrame:
    """Return per profile a verdict (certain, possible, impossible, unknown), and the least and greatest count of it.

    A profile narrower than what the cells tell apart is certain never. Cost: every top area solved once.
    """
    import pandas as pd

    limits = limits or Limits()
    wanted, narrow = _profile_tuples(tables, profiles), _narrower(tables, profiles)
    low, high = np.zeros(len(profiles), np.int64), np.zeros(len(profiles), np.int64)
    exact = np.ones(len(profiles), bool)
    for one in _solutions(tables, limits):
        inside = set(one.live.top.names)
        for i, (area, tuples) in enumerate(zip(wanted.area, wanted.tuples, strict=True)):
            if area is None or area in inside:
                least, most, attained = _bounds(one, area, tuples)
                low[i], high[i] = low[i] + least, high[i] + most
                exact[i] &= attained
    verdicts = []
    for a, b, attained, inner in zip(low.tolist(), high.tolist(), exact.tolist(), narrow, strict=True):
        if b == 0:
            verdicts.append("impossible")
        elif inner:
            verdicts.append("possible" if attained else "unknown")
        else:
            verdicts.append("certain" if a > 0 else "possible" if attained else "unknown")
    lows = [0 if inner else a for a, inner in zip(low.tolist(), narrow, strict=True)]
    return pd.DataFrame({"verdict": verdicts, "min_count": lows, "max_count": high.tolist()})


DIGITS = 30


def number_text(n: Range, digits: int = DIGITS) -> str:
    """Return a number with commas, about 10^x, or the two numbers that it lies between."""
    return bounds_text(_as_bounds(n), digits)


def _as_bounds(n: Range) -> NumberBounds:
    low, high = (math.log2(x) if x else -math.inf for x in n)
    return NumberBounds((low, high), n[0] == n[1], n)


def bounds_text(n: NumberBounds, digits: int = DIGITS) -> str:
    """Return a number of data sets: exact with commas, about 10^x, or the two numbers that it lies between."""
    low, high = (_end_text(n, end, digits) for end in (0, 1))
    return low if n.exact else f"between {low} and {high}"


def _end_text(n: NumberBounds, end: int, digits: int) -> str:
    bits, whole = n.log2[end], n.ends[end]
    return f"{whole:,}" if whole is not None and bits < 3.3 * digits else f"about 10^{bits * 0.30102999566398120:,.2f}"


def _number_json(n: NumberBounds, digits: int) -> dict[str, Any]:
    """Return a number of data sets for JSON: its value where exact and short, and log2 of both bounds."""
    whole = n.ends[0] if n.exact and n.log2[0] < 3.3 * digits else None
    return {"value": None if whole is None else decimal(whole), "exact": n.exact, "log2": n.logs}


def by_size(answer: TablesAnswer) -> list[dict[str, Any]]:
    """Return per size of the smallest areas: how many there are, and how many of them their tables settle."""
    keys = ("areas", "people", "people_certain", "settled_alone", "settled")
    sums = np.zeros((len(SIZES), len(keys)), np.int64)
    for a in answer.areas:
        for leaf in a.leaves:
            if leaf[1]:
                sums[int(np.searchsorted(SIZES, leaf[1], side="right")) - 1] += (1, leaf[1], leaf[4], leaf[2], leaf[3])
    out = []
    for i, least in enumerate(SIZES):
        below = SIZES[i + 1] if i + 1 < len(SIZES) else None
        out.append({"people_least": least, "people_below": below} | dict(zip(keys, sums[i].tolist(), strict=True)))
    return out


def count_lines(answer: TablesAnswer) -> list[str]:
    """Return what `count` prints of tables."""
    people, exact = answer.people, answer.multisets.exact
    unique = sum(a.unique is True for a in answer.areas)
    lines = [
        f"data sets that agree with the tables: {bounds_text(answer.multisets)}"
        f"   [convention: multiset; {'exact' if exact else 'bounds'}]",
        f"with the order of rows: {bounds_text(answer.sequences)}   [ordered]",
        f"people: {number_text(people)}, of them the same in every data set: {at_least(answer)}",
        f"areas that lie in no other: {len(answer.areas):,}; one data set only over the cells that their smallest areas"
        f" distinguish, in {unique:,}",
    ]
    if answer.not_solved:
        lines.append(f"NOT SOLVED, the time was up: {len(answer.not_solved):,} areas, from '{answer.not_solved[0]}' on")
    return [*lines, "assuming: " + "; ".join(answer.assumptions)]


def at_least(answer: TablesAnswer) -> str:
    """Return how many people are certain, in words: a lower bound where not all is decided."""
    sure = all(a.unique is True for a in answer.areas)
    return f"{answer.certain:,}" if sure else f"at least {answer.certain:,}"


def answer_json(answer: TablesAnswer, digits: int, certificates: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an answer as JSON, with the certificate of every area that has one."""
    return {
        "kind": "tables", "status": answer.status, "people": list(answer.people), "people_certain": answer.certain,
        "people_certain_exact": all(a.unique is True for a in answer.areas) and not answer.not_solved,
        "multiset": _number_json(answer.multisets, digits), "ordered": _number_json(answer.sequences, digits),
        "by_size": by_size(answer), "areas": [_area_json(a, digits, certificates or {}) for a in answer.areas],
        "not_solved": list(answer.not_solved), "assumptions": list(answer.assumptions),
    }  # fmt: skip


LEAF = ("area", "people", "settled_alone", "settled", "people_certain")


def _area_json(a: AreaFigures, digits: int, certificates: dict[str, Any]) -> dict[str, Any]:
    return {
        "area": a.name, "people": list(a.people), "unique": a.unique, "people_certain": a.certain,
        "over_lower_cells": _number_json(_as_bounds(a.solutions), digits),
        "multiset": _number_json(a.multisets, digits), "ordered": _number_json(a.sequences, digits),
        "certificate": certificates.get(a.name),
        "smallest_areas": [dict(zip(LEAF, x, strict=True)) for x in a.leaves],
    }  # fmt: skip


def counted_with_proofs(
    tables: Tables, limits: Limits, small: SmallAreaGroups | None = None, wanted: bool = True
) -> tuple[TablesAnswer, dict[str, Any]]:
    """Return what is proved of every top area, and the certificates by area; `small` groups are looked for.

    `wanted` False: without certificates.
    """
    proofs: dict[str, Any] = {}

    def proved(one: SolvedArea) -> None:
        if small is not None:
            small.add(tables, one)
        if wanted and not len(one.open):
            proofs[one.live.top.names[0]] = certificate(tables, one)

    return count_areas(tables, limits, proved), proofs
