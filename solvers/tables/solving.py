"""A top area solved: bounds of every count, what is open, how many data sets there are, who is certain.

The search for a short list of statements that fix every count one after the other (`recon.queries.tables.proofs`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import comb, inf, log2, prod

import numpy as np

from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.exact import (
    Factor,
    NumberBounds,
    factorial_ratio,
    log2_factorial_ratio,
    log2_multisets,
    merged_factors,
    product,
)
from solvers.tables import counting, two_way
from solvers.tables.atoms import (
    ANY,
    Cells,
    ClashError,
    ClashingCountsError,
    Design,
    Intervals,
    Ints,
    LiveCounts,
    Rows,
    Top,
    live,
    merge_statements,
    propagated,
)
from solvers.tables.contradictions import contradiction, contradiction_of
from solvers.tables.distances import total_of

START = 1 << 36


def _log2(n: int) -> float:
    return log2(n) if n else -inf


def steps_for(live: LiveCounts) -> list[int] | None:
    """Return statements that fix every count when they are applied in turn; None where propagation leaves some open.

    Statements that fix all that is open in them go first; only where there is none, one that narrows a count.
    """
    return _Search(live.rows, len(live.leaf)).run()


class _Search:
    def __init__(self, rows: Rows, variables: int) -> None:
        self.rows = rows
        self.low, self.high = [0] * variables, [START] * variables
        self.columns = [rows.columns[a:b].tolist() for a, b in pairwise(rows.starts.tolist())]
        self.value = rows.value.tolist()
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        order = np.argsort(rows.columns, kind="stable")
        ends = np.searchsorted(rows.columns[order], np.arange(variables + 1))
        self.of = [owner[order[a:b]].tolist() for a, b in pairwise(ends.tolist())]
        self.least = [0] * len(rows)
        self.most = [START * len(c) for c in self.columns]
        self.open = [len(c) for c in self.columns]
        self.steps: list[int] = []
        self.queue = deque(sorted(range(len(rows)), key=lambda r: len(self.columns[r])))

    def run(self) -> list[int] | None:
        while True:
            while self.queue:
                r = self.queue.popleft()
                if self.open[r] and (self.value[r] in {self.least[r], self.most[r]} or self.open[r] == 1):
                    self.apply(r)
            if not any(self.open):
                return self.steps
            best = self.narrowing()
            if best is None:
                return None
            self.apply(best)

    def apply(self, r: int) -> None:
        """Apply statement r once, every count by the bounds that the others had before."""
        self.steps.append(r)
        value, least, most = self.value[r], self.least[r], self.most[r]
        for j in self.columns[r]:
            low, high = self.low[j], self.high[j]
            if low == high:
                continue
            a, b = max(low, value - (most - high)), min(high, value - (least - low))
            if (a, b) == (low, high):
                continue
            self.low[j], self.high[j] = a, b
            for s in self.of[j]:
                self.least[s] += a - low
                self.most[s] += b - high
                self.open[s] -= a == b
                if self.open[s]:
                    self.queue.append(s)

    def narrowing(self) -> int | None:
        """Return a statement that narrows counts most, None where none does."""
        rows = self.rows
        owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
        low, high = np.array(self.low)[rows.columns], np.array(self.high)[rows.columns]
        value, least, most = (np.array(x)[owner] for x in (self.value, self.least, self.most))
        gain: Ints = np.maximum(0, high - (value - least + low)) + np.maximum(0, value - most + high - low)
        by_row = np.bincount(owner, np.minimum(gain, START), len(rows))
        best = int(by_row.argmax()) if len(by_row) else 0
        return best if len(by_row) and by_row[best] > 0 else None


MAX_NESTED, MAX_LISTED, MAX_BEGUN = 8, 64, 20_000  # rounds; counts of a component, solutions begun
MAX_WITHIN = 50_000  # counts of an area with noise
MAX_COMPONENT = 400  # counts of a component whose solutions are counted
Range = tuple[int, int]  # a number between two, both exact


@dataclass(frozen=True, eq=False)
class TwoWay:
    """The two-way table of a group: its live counts (`rows`) and classes V (`columns`), with the sums of the latter."""

    rows: Ints
    columns: Ints
    sums: Ints


@dataclass(frozen=True, eq=False)
class SolvedArea:
    """What is proved of a top area: bounds of every live count by its leaf's tables alone, and by all tables."""

    cells: Cells
    live: LiveCounts
    alone_low: Ints
    alone_high: Ints
    low: Ints
    high: Ints

    @cached_property
    def open(self) -> Ints:
        """Return the counts that propagation leaves open."""
        return np.flatnonzero(self.low < self.high)

    @property
    def people(self) -> Range:
        """Return the number of people, or what it lies between."""
        return int(self.people_of[0].sum()), int(self.people_of[1].sum())

    @cached_property
    def people_of(self) -> tuple[Ints, Ints]:
        """Return how many people every area without parts has, at least and at most; 0 for the others."""
        areas = len(self.live.top.names)
        low, high = (np.bincount(self.live.leaf, x, areas).astype(np.int64) for x in (self.low, self.high))
        for leaf in np.flatnonzero(low < high).tolist():
            if (n := total_of(self.live, leaf, self.live.leaf == leaf)) is not None:
                low[leaf] = high[leaf] = n
        return low, high

    @cached_property
    def solutions(self) -> Range:
        """Return how many data sets there are over the cells of `live`, or numbers that they lie between.

        `ContradictionError` where there is none.
        """
        least, most = 1, 1
        for matrix, left, at in counting.components(self.live.rows, self.low, self.high):
            low, high = self.low[at], self.high[at]
            n = counting.number(matrix, left, low, high) if len(at) <= MAX_COMPONENT else None
            if n == 0:
                raise contradiction_of(self.cells, self.live, np.arange(len(self.live.rows)))
            least, most = least * (n or 0), most * (n or prod((high - low + 1).tolist()))
        return least, most

    @cached_property
    def unique(self) -> bool | None:
        """Return whether one data set fits over the cells of `live`; None where that is not decided."""
        least, most = self.solutions
        return True if most == 1 else False if least > 1 else None

    def two_ways(self) -> Iterator[TwoWay]:
        """Yield the two-way table of every split group that has people."""
        system = self.live
        design = system.design
        group = system.atom_group[system.atom]
        inside = np.flatnonzero((system.atom_pair[system.atom] < 0) & (self.high > 0))
        inside = inside[np.argsort(group[inside], kind="stable")]
        seen, first = np.unique(design.pair_v, return_index=True)
        chosen = np.flatnonzero((system.v_count[seen] > 0) & system.split[design.group[first]])
        columns, of = seen[chosen], design.group[first[chosen]]
        order = np.argsort(of, kind="stable")
        columns, of = columns[order], of[order]
        for g in np.unique(of).tolist():
            at = columns[slice(*np.searchsorted(of, [g, g + 1]))]
            yield TwoWay(inside[slice(*np.searchsorted(group[inside], [g, g + 1]))], at, system.v_count[at])

    @cached_property
    def extensions(self) -> Range:
        """Return how many ways the split tables can be filled, at least and at most, whatever the open counts are."""
        least, most = 1, 1
        for table in self.two_ways():
            low, high = self.low[table.rows], self.high[table.rows]
            settled = np.array_equal(low, high)
            n = two_way.number(low.tolist(), table.sums.tolist()) if settled else None
            least *= n or 1
            most *= n or two_way.table_count_bound(
                [] if not settled else low.tolist(), table.sums.tolist(), len(table.rows)
            )
        return least, most

    @cached_property
    def multisets(self) -> NumberBounds:
        """Return the number of unordered data sets, or what it lies between (0: that there is one is not proved)."""
        size, low, high = self._outside()
        ends = zip(self.solutions, self.extensions, (low, high), strict=True)
        least, most = (
            _log2(a) + _log2(b) + sum(log2_multisets(s, x) for s, x in zip(size, z, strict=True)) for a, b, z in ends
        )
        same = all(s == 1 or a == b for s, a, b in zip(size, low, high, strict=True))
        one = same and all(a == b for a, b in (self.solutions, self.extensions))
        return NumberBounds.of((least, most), one, self._written)

    def _written(self, end: int) -> int:
        size, *of = self._outside()
        number = self.solutions[end] * self.extensions[end]
        return prod((comb(s + z - 1, z) for s, z in zip(size, of[end], strict=True)), start=number)

    @cached_property
    def sequences(self) -> NumberBounds:
        """Return the number of sequences of people, or what it lies between."""
        people = self.people
        if len(self.open):
            low, high = self.multisets.log2
            high += log2_factorial_ratio(people[1], ())

            def write(end: int) -> int:
                return self._written(end) * (product(factorial_ratio(people[1], ())) if end else 1)

            return NumberBounds.of((low, high), False, write)
        size, z, _ = self._outside()
        ratios = [(people[0], z)]
        ratios += [
            (int(t.sums.sum()), [x for x in [*self.low[t.rows].tolist(), *t.sums.tolist()] if x > 1])
            for t in self.two_ways()
        ]
        inside = [(s, x) for s, x in zip(size, z, strict=True) if s > 1 and x]
        bits = sum(log2_factorial_ratio(n, below) for n, below in ratios) + sum(x * log2(s) for s, x in inside)

        def written(end: int) -> int:
            factors: list[Factor] = [f for n, below in ratios for f in factorial_ratio(n, below)]
            return product(merged_factors(factors + inside))

        return NumberBounds.of((bits, bits), True, written)

    def _outside(self) -> tuple[list[int], list[int], list[int]]:
        pair = self.live.atom_pair[self.live.atom]
        at = np.flatnonzero((pair >= 0) & (self.high > 0))
        return self.live.design.size[pair[at]].tolist(), self.low[at].tolist(), self.high[at].tolist()

    @cached_property
    def certain_of(self) -> Ints:
        """Return of every area without parts how many people are the same in every data set (0 for the others).

        Sums of least counts over all that tables tell apart: exact where the counts over the cells of `live` are the
        only ones, else a lower bound.
        """
        sure, live = np.zeros(len(self.low), np.int64), self.live
        for table in self.two_ways():
            sure[table.rows] = two_way.least_entries(self.low[table.rows], table.sums).sum(axis=1)
        pair = live.atom_pair[live.atom]
        single = np.flatnonzero((pair >= 0) & (live.design.size[pair] == 1))
        sure[single] = self.low[single]
        return np.bincount(live.leaf, sure, len(live.top.names)).astype(np.int64)

    @property
    def certain(self) -> int:
        """Return how many people are the same in every data set."""
        return int(self.certain_of.sum())

    @cached_property
    def settled_leaves(self) -> tuple[Ints, Ints]:
        """Return the leaves whose counts are fixed by their own tables alone, and by all tables."""
        leaves, leaf = self.live.top.leaves, self.live.leaf
        alone = np.setdiff1d(leaves, leaf[self.alone_low < self.alone_high])
        return alone, np.setdiff1d(leaves, leaf[self.open])


@dataclass
class Designs:
    """Designs by the pattern of what is known: areas with the same tables share one."""

    cells: Cells
    known: dict[tuple[bytes, bytes], Design] = field(default_factory=dict)

    def of(self, top: Top) -> Design:
        """Return the design of a top area's tables."""
        lower, upper = top.pattern
        key = lower.tobytes(), upper.tobytes()
        if key not in self.known:
            self.known[key] = Design.of(self.cells, lower, upper)
        return self.known[key]


def solve_area(designs: Designs, top: Top) -> SolvedArea:
    """Return the bounds of a top area's counts; `ContradictionError` naming areas and cells where none fit."""
    cells, system = designs.cells, _live_counts(designs, top)
    n, rows = len(system.leaf), np.arange(len(system.rows))
    _refuse_loose(system, system.rows)
    low, high = np.zeros(n, np.int64), np.full(n, ANY, np.int64)
    own = np.flatnonzero(system.own)
    try:
        low, high = alone = propagated(system.rows.chosen(own), low, high)
    except ClashError as clash:  # of the leaf that the statement is about
        rows = own[system.row_area[own] == system.row_area[own[clash.rows[0]]]]
        raise contradiction_of(cells, system, rows) from None
    try:
        low, high = propagated(system.rows, low, np.minimum(high, int(system.rows.value.max(initial=0))))
        low, high = _narrowed(system, low, high)
    except ClashError:
        raise contradiction_of(cells, system, rows) from None
    return SolvedArea(cells, system, *alone, low, high)


def _live_counts(designs: Designs, top: Top) -> LiveCounts:
    try:
        return live(top, designs.of(top))
    except ClashingCountsError as clash:
        raise contradiction(designs.cells, top, designs.of(top), clash.told) from None


@dataclass(frozen=True, eq=False)
class AreaWithin:
    """A top area by exact counts and by sums that lie between two numbers.

    `rows` are all statements, over the counts and behind them one for each such sum (what it does not use); `own` says
    which of them are about a single leaf; `alone` and `whole` bound all of these.
    """

    one: SolvedArea
    rows: Rows
    own: np.ndarray
    alone: tuple[Ints, Ints]
    whole: tuple[Ints, Ints]


def solve_area_within(designs: Designs, top: Top, low: Ints, high: Ints) -> AreaWithin:
    """Return what follows one by one from a top area's counts and from `low` <= sums <= `high` (high -1: unknown).

    `Inconclusive` where nothing bounds how many people there are, `ClashError` where none fit, `TooLarge` where the
    exact counts leave more than `MAX_WITHIN` counts alive.
    """
    system = _live_counts(designs, top)
    if len(system.leaf) > MAX_WITHIN:
        raise TooLarge(
            f"with noise on them {len(system.leaf):,} counts of area '{top.names[0]}' may be above 0, more than "
            f"{MAX_WITHIN:,}: put it on fewer tables (--without), so that zeros of the others rule some out"
        )
    n, told = len(system.leaf), Intervals.of(system, low, high)
    rows, own = told.among(system.rows, n), np.concatenate([system.own, told.own])
    _refuse_loose(system, rows)
    nothing = np.zeros(n + len(told.room), np.int64)
    most = np.concatenate([np.full(n, max(0, int(rows.value.max(initial=0)))), told.room])
    alone = propagated(rows.chosen(np.flatnonzero(own)), nothing, np.where(np.arange(len(most)) < n, ANY, most))
    whole = propagated(rows, np.maximum(alone[0], nothing), np.minimum(alone[1], most))
    one = SolvedArea(designs.cells, system, *(x[:n] for x in (*alone, *whole)))
    return AreaWithin(one, rows, own, alone, whole)


def _refuse_loose(system: LiveCounts, rows: Rows) -> None:
    """Raise `Inconclusive` where no statement is about a count."""
    n = len(system.leaf)
    if (loose := np.flatnonzero(np.bincount(rows.columns, minlength=n)[:n] == 0)).size:
        name = system.top.names[int(system.leaf[loose[0]])]
        raise Inconclusive(f"no published count bounds how many people area '{name}' has: list the count of everybody")


def _narrowed(system: LiveCounts, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return bounds that statements prove two at a time, and all at once where a component has few solutions.

    `ClashError` where nothing fits.
    """
    rows = system.rows
    for _ in range(MAX_NESTED):
        more = counting.differences(rows, low, high)
        if more is None:
            break
        known = len(rows)
        rows, _ = merge_statements(rows.plus(more), len(low))
        low, high = propagated(rows, low, high)
        if len(rows) == known:
            break
    low, high = low.copy(), high.copy()
    for matrix, left, at in counting.components(system.rows, low, high):
        if len(at) > MAX_LISTED:
            continue
        found = counting.listed_solutions(matrix, left, low[at], high[at], MAX_BEGUN)
        if found is not None and not len(found):
            raise ClashError([])
        if found is not None:
            low[at], high[at] = found.min(axis=0), found.max(axis=0)
    return low, high
