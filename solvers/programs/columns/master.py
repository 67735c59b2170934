"""Bounds where the cells are too many to be written down: a linear program that gets its columns one by one.

The restricted program knows some possible rows; what a row that is missing could add is found by pricing. Its
multipliers prove a bound at any time, whatever rounding HiGHS did and however far pricing came: for whole y, whole t
at least as great as every D c(x) - Σ_j y_j a_j(x), D Σ c(x) z_x <= Σ_j max(y_j low_j, y_j high_j) + t Σ z_x.

Source: column generation and its Lagrangian bound, Lübbecke and Desrosiers, "Selected topics in column generation",
Operations Research 53, 2005; safe dual bounds, Neumaier and Shcherbina, Mathematical Programming 99, 2004.

Where the cells are too many: what every partition alone says, and a world of rows that were found by their parts.

What both together say of the number of worlds is here too.

Shared by the engines that write rows out.

Source: one partition has cells that are known without the others: Ferry et al., SaTML 2024 (captured rows; eq. 9 for
the number of worlds).
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import cells_of
from solvers.cells.system import Space
from solvers.cells.worlds import RandomSource, draw_box
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.exact import log2_multinomial, log2_worlds
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import PriorMembership, decide
from solvers.programs.columns.pricing import UNLIMITED, Pricer, rows_within
from solvers.programs.dual_bounds import statement_minimum, usable
from solvers.programs.linear_program import LinearProgram
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import CountAnswer, DecideAnswer
from solvers.statements.questions.query import Convention, Decide
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Block, Partition, Release, RowWorld
from solvers.statements.row_problem import exact_partitions


def partition_releases(release: Release) -> list[Release]:
    """Return every partition with exact counts, cross-tables too, as a release of its own (more worlds).

    Each keeps its cells.
    """
    known = release.derived.part(Partitions)
    if known.releases is None:
        known.releases = [
            Release(release.domain, release.rows, (block,), release.impossible) for block in exact_partitions(release)
        ]
    return known.releases


@dataclass(slots=True)
class Partitions:
    """The partitions of a release with exact counts, each a release of its own."""

    releases: list[Release] | None = None


def decide_apart(release: Release, query: Decide, limits: Limits) -> DecideAnswer:
    """Return the best bounds that any partition alone gives on the rows of every selection."""
    found: list[DecideAnswer] = []
    for one in partition_releases(release):
        limits.report(f"one tree at a time: {len(found)}")
        cells = cells_of(one, limits)
        found.append(decide(cells, cells.vectors, query))
        if limits.expired():
            break
    if not found:
        raise Unsupported("no partition with exact counts")
    low, high = np.max([f.low for f in found], axis=0), np.min([f.high for f in found], axis=0)
    return DecideAnswer.of(low, high, (found[0].before, found[0].expected_before))


def decide_without_cells(release: Release, query: Decide, limits: Limits) -> DecideAnswer:
    """Return what every partition alone says, or, where none has exact counts, what the number of rows says."""
    return (decide_apart if partition_releases(release) else decide_by_rows)(release, query, limits)


def decide_by_rows(release: Release, query: Decide, limits: Limits) -> DecideAnswer:
    """Return what the number of rows alone says about every selection."""
    none, before = np.zeros(len(query.selections), dtype=np.int64), None
    if release.rows.exact:
        rows = {ANY_LABEL: release.rows.low}
        prior = PriorMembership(Space.of(release, limits), query.selections, query.convention, {ANY_LABEL})
        before = -np.expm1(prior.log_absent(rows)), prior.expected(rows)
    return DecideAnswer.of(none, none + (release.rows.high or 0), before)


def world_of(release: Release, rows: NDArray[np.int64], random: RandomSource, note: str) -> RowWorld:
    """Return a world of rows given by their parts, free attributes drawn with the dice; `note` says how found."""
    values = [
        draw_box(release.domain, Box(tuple((k, 1 << p) for k, p in enumerate(row) if p >= 0)), 1, random)
        for row in rows.tolist()
    ]
    width = len(release.domain.attributes)
    return RowWorld(
        np.concatenate(values) if values else np.zeros((0, width), dtype=np.int64),
        np.ones(len(rows), dtype=np.int64),
        note=note,
    )


def world_bounds(
    release: Release, convention: Convention, rows: NDArray[np.int64] | None, note: str, limits: Limits, found: bool
) -> CountAnswer:
    """Return bounds on log2 of the number of worlds: no more than any partition alone allows.

    No less than one where one was `found`, and than the orders of its rows where they are known.
    """
    n = release.rows.low
    upper = n * math.log2(max(1, Space.of(release, limits).size))
    for done, one in enumerate(partition_releases(release)):
        if done and limits.expired():  # some of them bound it too
            break
        cells = cells_of(one, limits)
        upper = min(upper, log2_worlds(cells.high, cells.block.low, convention))
    if upper == -math.inf:  # a partition counts rows where none can be
        return CountAnswer("unsat", convention=convention)
    lower = -math.inf
    if found and not release.coarse:
        lower = 0.0
        if (
            rows is not None and convention == "ordered"
        ):  # the orders of one dataset of distinct rows, or of equal ones where they must be
            groups = Counter(map(tuple, rows.tolist()))
            lower = log2_multinomial(list(groups.values()))
    return CountAnswer(
        "bounds",
        convention=convention,
        bounds=(lower, upper),
        relative=release.domain.relative,
        trail=(note,) if note else (),
    )


BATCH = 200  # rows that one round of pricing may start from, and add
PENALTY = 4.0  # what a unit of slack costs at first, and how much more when slack remains
MAX_PENALTY = 1 << 12
MIN_SCALE, MAX_SCALE = 1 << 20, 1 << 36
SMALL = 1e-6
TRIES = 4  # searches that find nothing before CP-SAT is asked
KEPT = 512  # fractional worlds remembered, to tell which questions they settle
PIVOT, PER_STATEMENT = 1e-4, 8e-9  # seconds of a pivot, and per statement on top: about half of what was measured


@dataclass(frozen=True, eq=False)
class Bound:
    """An outer bound on the rows in a box, and what proves it.

    With s = 1 (greatest) or -1: s scale [x in box] <= Σ_j multipliers_j a_j(x) for every possible row x, so that
    s scale (rows in box) <= Σ_j max(multipliers_j low_j, multipliers_j high_j). Rows that a statement with high 0
    counts are not possible. `proved`: no further column can improve the bound by more than rounding.
    """

    value: int
    multipliers: dict[int, int]
    scale: int
    proved: bool = False


class MasterProgram:
    """The restricted program of a release over the rows generated so far."""

    def __init__(self, release: Release, limits: Limits = UNLIMITED) -> None:
        """Start the program; raises `Inconclusive` where the time left cannot suffice, `TooLarge` for many boxes."""
        if release.rows.high is None:
            raise Unsupported("the number of rows is unbounded: no linear program over it")
        _check_time(release, limits)
        self.release, self.pricer = release, Pricer(release, limits)
        self.incidence = x = self.pricer.incidence
        self.low, self.high = x.bounds
        self.sides = (
            np.array([-UNBOUNDED if a is None else a for a in self.low], dtype=np.int64),
            np.array([UNBOUNDED if b is None else b for b in self.high], dtype=np.int64),
        )
        either = [j for j in range(x.total + 1) if (self.low[j], self.high[j]) != (None, None)]
        stated = [j for j in either if not x.empty[j] or (self.low[j] or 0) > 0]
        self.stated = np.array(stated, dtype=np.int64)
        self.place = np.full(x.total + 1, -1, dtype=np.int64)
        self.place[self.stated] = np.arange(len(stated))
        biggest = [y.statement.largest for y in x.loose]
        rounding = len(x.partitions) + sum(biggest) + 2
        self.scale = MIN_SCALE
        while self.scale < min(MAX_SCALE, 128 * rounding * max(1, release.rows.high)):
            self.scale *= 2
        self.tolerance = max(rounding, self.scale >> 20)
        self.rows = np.zeros((0, len(release.domain.attributes)), dtype=np.int64)
        self._seen: set[bytes] = set()
        self._worlds: list[NDArray[np.float64]] = []
        self._penalty = PENALTY
        self._program = self._empty_program()
        nothing = np.zeros(x.total + 1, dtype=np.int64)
        self.add(np.unique(self.pricer.improve(self._drawn(Box()), nothing, 0, Box(), limits=limits), axis=0))

    @classmethod
    def of(cls, release: Release, limits: Limits = UNLIMITED) -> MasterProgram:
        """Return the program that all questions about a release start from, made once.

        It knows the rows of a first fractional world (`refutes`) and is asked nothing else: every question is asked of
        a copy (`copied`), so that no bound depends on earlier questions. Raises `Inconclusive` where the time left
        cannot suffice, `TooLarge` where the boxes do not fit into the memory.
        """
        known = release.derived.part(KnownMaster)
        if known.master is None or known.master.busy:
            known.master = cls(release, limits)
        return known.master

    @property
    def busy(self) -> bool:
        """Return whether HiGHS did not end when it should: it may still be at work, and is not to be touched."""
        return self._program.busy

    def copied(self) -> MasterProgram:
        """Return a program of its own with the same rows, fractional worlds and basis. Cost: that of its matrix."""
        other = copy.copy(self)
        other.pricer = self.pricer.copied()
        other.rows, other._seen, other._worlds = self.rows[:0], set(), list(self._worlds)
        other._program = other._empty_program()
        other.add(self.rows)
        other._program.warm(self._program)
        return other

    def _empty_program(self) -> LinearProgram:
        """Return the program without rows: slack on every side of every statement, so that it is always feasible."""
        low, high = (side[self.stated] for side in self.sides)
        ends = np.where(low == -UNBOUNDED, -np.inf, low), np.where(high == UNBOUNDED, np.inf, high)
        program, m = LinearProgram(*ends, primal=True), len(low)
        n, slack = 2 * m, (np.arange(2 * m), np.repeat(np.arange(m), 2), np.tile([1.0, -1.0], m))
        program.add(np.full(n, self._penalty), (np.zeros(n), np.full(n, np.inf)), slack)
        return program

    def add(self, rows: Ints) -> int:
        """Add the possible ones among the rows that no column stands for yet; return how many."""
        if not len(rows):
            return 0
        statements, coefs, possible = self.incidence.columns(rows)
        kept, indices, values = [], [], []
        for i in np.flatnonzero(possible).tolist():
            key = rows[i].tobytes()
            if key in self._seen:
                continue
            self._seen.add(key)
            at, inverse = self.place[statements[i]], coefs[i]
            used = (at >= 0) & (inverse != 0)
            indices.append(at[used].astype(np.int32))
            values.append(inverse[used].astype(np.float64))
            kept.append(i)
        if kept:
            none, start = np.zeros(len(kept)), np.cumsum([0, *map(len, indices)])
            entries = start, np.concatenate(indices), np.concatenate(values)
            self._program.add(none, (none, np.full(len(kept), np.inf)), entries)
        self.rows = np.concatenate([self.rows, rows[kept]])
        return len(kept)

    def bound(self, box: Box, greatest: bool, limits: Limits, verdict: bool = False) -> Bound:
        """Return an outer bound on the greatest (least) number of rows in a box over all worlds.

        With `verdict`, the search ends as soon as it is known whether the bound can tell that no row, or that some
        row, is in the box. Contradictory statements may give a bound below 0, or above the number of rows.
        """
        best = self.apart(box, greatest)
        for candidate in self._rounds(box, 1 if greatest else -1, limits):
            if candidate is None:
                if verdict and self.hopeless(box, greatest):
                    break
                continue
            better = candidate.value < best.value if greatest else candidate.value > best.value
            if better or (candidate.proved and candidate.value == best.value):
                best = candidate
            elif candidate.proved:  # both are proved: rounding alone makes them differ
                best = replace(best, proved=True)
            if verdict and (best.value <= 0 if greatest else best.value >= 1):
                break
        return best

    def refutes(self, limits: Limits) -> Bound | None:
        """Return multipliers that prove that there is no world, None where none were found."""
        if self._worlds:
            return None
        for candidate in self._rounds(Box(), 0, limits):
            if candidate is not None and candidate.value < 0:
                return candidate
            if candidate is None and self._worlds:
                return None
        return None

    def hopeless(self, box: Box, greatest: bool) -> bool:
        """Return whether a known fractional world has a row (none) in the box, so that no bound can settle it."""
        inside = rows_within(self.rows, box)
        sums = [float(z @ inside[: len(z)]) for z in self._worlds]
        return any(s >= 1 - SMALL if greatest else s <= SMALL for s in sums)

    def _rounds(self, box: Box, sign: int, limits: Limits) -> Iterator[Bound | None]:
        """Yield None after every solution of the restricted program, and bounds as they are proved, until no better.

        `sign` 1 bounds the rows in the box from above, -1 from below, 0 asks whether there is a world at all.
        """
        bonus = sign * self.scale
        if sign:
            nothing = np.zeros(self.incidence.total + 1, dtype=np.int64)
            self.add(np.unique(self.pricer.improve(self._drawn(box), nothing, 0, box, box, limits), axis=0))
        while not limits.expired():
            if (solved := self._solve(box, sign, limits)) is None:
                return
            weights, used, slack = solved
            yield None
            if limits.expired():
                return
            if any(self._priced(used, weights, bonus, box, limits) for _ in range(TRIES)):
                continue
            try:
                best = self.pricer.best(weights, bonus, box, self.tolerance, limits)
            except Inconclusive:  # what was proved so far stands
                return
            closed = best.bound <= self.tolerance
            yield self.proof(weights, best.bound, sign, closed and slack <= SMALL)
            if closed and slack > SMALL and self._penalty < MAX_PENALTY:
                self._penalty *= PENALTY
                self._program.price(np.full(2 * len(self.stated), self._penalty))
            elif closed or best.row is None or not self.add(best.row[None]):
                return

    def _drawn(self, box: Box) -> Ints:
        """Return random rows inside a box."""
        columns, masks = [], dict(box.literals)
        for k, a in enumerate(self.release.domain.attributes):
            parts = [p for p in range(len(a.sizes)) if masks.get(k, a.full) >> p & 1]
            if not parts:
                return self.rows[:0]
            columns.append(self.pricer.random.choice(parts, size=BATCH))
        return np.stack(columns, axis=1).astype(np.int64)

    def _solve(self, box: Box, sign: int, limits: Limits) -> tuple[Ints, Ints, float] | None:
        """Return (multipliers, rows in use, slack in use) of the restricted program, None where time is up."""
        first = 2 * len(self.stated)
        self._program.price(-float(sign) * rows_within(self.rows, box), first)
        found = self._program.run(limits)
        if not found.optimal:
            return None
        values, dual = found.x, found.duals
        slack, z = float(values[:first].sum()), values[first:]
        if slack <= SMALL:
            self._worlds = [*self._worlds[-KEPT:], z]
        weights = np.zeros(self.incidence.total + 1, dtype=np.int64)
        weights[self.stated] = -np.rint(dual * self.scale).astype(np.int64)
        return -usable(-weights, *self.sides), self.rows[z > SMALL], slack

    def _priced(self, used: Ints, weights: Ints, bonus: int, box: Box, limits: Limits) -> int:
        """Add rows that a search near those in use finds to be worth something; return how many."""
        if not self.pricer.fits(weights):
            raise Unsupported("multipliers of one row may exceed 2^58")
        used = used[self.pricer.random.permutation(len(used))[: 4 * BATCH]]
        fresh = self.rows[self.pricer.random.integers(len(self.rows), size=BATCH)] if len(self.rows) else self.rows
        rows = self.pricer.improve(np.concatenate([used, fresh]), weights, max(0, -bonus), box, limits=limits)
        if bonus > 0:  # random rows miss a small box, so that it is searched on its own
            inside = np.concatenate([self.rows[rows_within(self.rows, box)][-BATCH // 4 :], self._drawn(box)])
            rows = np.concatenate([rows, self.pricer.improve(inside, weights, 0, box, box, limits)])
        if not len(rows):
            return 0
        rows = np.unique(rows, axis=0)
        worth, possible = self.pricer.worth(rows, weights)
        worth = worth + bonus * rows_within(rows, box)
        good = np.flatnonzero(possible & (worth > self.tolerance))
        return self.add(rows[good[np.argsort(-worth[good])[:BATCH]]])

    def proof(self, weights: Ints, maximum: int, sign: int, proved: bool = False) -> Bound:
        """Return what multipliers prove whose rows are worth at most `maximum`: it is added to those of every row."""
        exact = weights.copy()
        exact[self.incidence.total] += maximum
        value = -statement_minimum(-exact, *self.sides) // self.scale
        multipliers = {j: int(exact[j]) for j in np.flatnonzero(exact).tolist()}
        return Bound(-value if sign < 0 else value, multipliers, self.scale, proved)

    def apart(self, box: Box, greatest: bool) -> Bound:
        """Return the best bound that one partition alone, or the number of rows, gives on the rows in a box."""
        x, sign = self.incidence, 1 if greatest else -1
        weights = np.zeros(x.total + 1, dtype=np.int64)
        weights[x.total] = self.scale if greatest else 0
        found = self.proof(weights, 0, sign)
        ends = self.high if greatest else self.low
        for block, first_box, first in x.partitions:
            chosen = self._counted(block, slice(first_box, first_box + len(block.boxes)), box, greatest)
            at = first + np.flatnonzero(chosen)
            if greatest and any(ends[j] is None for j in at.tolist()):
                continue
            weights = np.zeros(x.total + 1, dtype=np.int64)
            weights[[j for j in at.tolist() if ends[j] is not None]] = sign * self.scale
            other = self.proof(weights, 0, sign)
            if (other.value < found.value) if greatest else (other.value > found.value):
                found = other
        return found

    def _counted(self, block: Partition, span: slice, box: Box, meets: bool) -> NDArray[np.bool_]:
        """Return which statements of a partition may count a row of the box (`meets`), or count only such rows."""
        out = np.ones(len(block), dtype=bool)
        for k, mask in box.literals:
            sizes = self.release.domain.attributes[k].sizes
            allowed = np.array([bool(mask >> p & 1) for p in range(len(sizes))])
            held = np.ones((len(sizes), len(block.boxes)), dtype=bool)
            if k in self.incidence.held:
                held = self.incidence.held[k][:, span]
            fits = (held[allowed].any(axis=0) if meets else ~held[~allowed].any(axis=0))[block.region]
            if k == self.release.domain.label and self.incidence.labelled:
                fits = np.where(block.label == ANY_LABEL, fits, allowed[block.label])
            out &= fits
        return out


@dataclass(slots=True)
class KnownMaster:
    """The program that all questions about a release start from."""

    master: MasterProgram | None = None


def _check_time(release: Release, limits: Limits) -> None:
    """Raise `Inconclusive` where the first solve would not end in the time left, whatever is asked.

    No row is known at first, so that every statement that wants rows costs a pivot at least.
    """
    held: list[Block] = [*release.partitions.values(), *release.loose.values()]
    wanting, statements = sum(int((block.low > 0).sum()) for block in held), sum(map(len, held))
    if not limits.affords(wanting * (PIVOT + PER_STATEMENT * statements)):
        raise Inconclusive(f"the time left is too short for a linear program over {statements:,} statements (--time)")
