"""Worlds and bounds of one system, and verdicts on many profiles: one linear program, and worlds that settle the rest.

In turn, each only for what is still open: the least and greatest rows by linear programs, every one from the basis of
the last (other costs leave a basis feasible); the corners that they end in, where these are whole, are worlds; worlds
near known ones (`solvers.programs.verdicts`); worlds by random objectives; CP-SAT, profile by profile.

Worlds near a known one: a linear program moves as few rows as it can so that a cell gets a row, or loses all it has.

What moves no statement is mostly whole, or becomes whole times a small number (the moves between two-way tables with
the same margins are +1, -1, -1, +1: Diaconis, Sturmfels, "Algebraic algorithms for sampling from conditional
distributions", Annals of Statistics 26, 1998). Every world is checked; that none is found proves nothing.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from solvers.cells.linear_system import FREE, SparseStatements
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import Overlap, before_release, overlaps
from solvers.programs.cell_model import CellModel, SolveResult
from solvers.programs.linear_program import LinearProgram, Relaxation, by_column, first_histogram
from solvers.statements.questions.answers import Answer, DecideAnswer
from solvers.statements.questions.query import Decide
from solvers.statements.release import UNBOUNDED

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TIMES = (1, 2, 3, 4, 6, 12)  # moves are tried so many times, as fractions of halves, thirds, ... need
TRIED = 3  # cells of one selection


class Nearby:
    """Moves from a world, each by the same linear program with other bounds on a few columns.

    `base` is the world where the next move starts: the last one found by `reaching`.
    """

    def __init__(self, system: CellSystem, linear: SparseStatements, base: Ints, spare: int, seed: int = 0) -> None:
        """Set up the program; `linear` are the statements, those left out are checked at the end only.

        `spare`: so many rows stay in a cell that has them, so that moves lead to worlds with rows in ever more cells.
        `seed`: 0, or rows of some cells cost more to move than those of others, so that other moves are found.
        """
        self.system, self.linear, self.base, self.spare = system, linear, base, spare
        n, room = linear.columns, self._room()
        start, row, coef = by_column(linear.row, linear.col, linear.coef, n)
        self.ends = self._ends()
        self.program = LinearProgram(*self.ends)
        costs = np.random.default_rng(seed).uniform(1, 2, n) if seed else np.ones(n)
        for sign, most in zip((1.0, -1.0), room, strict=True):
            self.program.add(costs, (np.zeros(n), most), (start, row, sign * coef))

    def reaching(self, cells: Sequence[int], limits: Limits) -> Ints | None:
        """Return a world with a row in one of the cells, None where none was found."""
        room = self._room()[0]
        for c in [c for c in cells if room[c] >= 1][:TRIED]:
            found = self._moved({c: 1.0}, 0, limits)
            if found is not None:
                self._walk(found)
                return found
        return None

    def leaving(self, cells: Sequence[int], limits: Limits) -> Ints | None:
        """Return a world without a row in the cells, None where none was found."""
        rows = {c: float(self.base[c]) for c in cells if self.base[c]}
        if any(self.system.bounds.lower[c] > 0 for c in rows):
            return None
        return self._moved(rows, 1, limits)

    def _room(self) -> tuple[Floats, Floats]:
        """Return how many rows every cell can take, and give."""
        bounds = self.system.bounds
        gives = np.maximum(0, self.base - np.maximum(bounds.lower, np.minimum(self.base, self.spare)))
        return (bounds.upper - self.base).astype(np.float64), gives.astype(np.float64)

    def _ends(self) -> tuple[Floats, Floats]:
        """Return how much every statement lets its sum fall (not above 0), and rise."""
        sums, low, high = self.linear.sums(self.base), self.linear.low, self.linear.high
        return np.where(low <= -FREE, -np.inf, low - sums), np.where(high >= FREE, np.inf, high - sums)

    def _moved(self, least: dict[int, float], side: int, limits: Limits) -> Ints | None:
        """Return the world after the smallest move with at least so many rows more (side 1: fewer) in some cells."""
        first, room = side * len(self.base), self._room()[side]
        for c, rows in least.items():
            self.program.between(first + c, rows, max(rows, float(room[c])))
        try:
            found = self.program.run(limits)
        except Inconclusive:
            return None
        for c in least:
            self.program.between(first + c, 0.0, float(room[c]))
        return self._world(found.x, TIMES if side == 0 else TIMES[:1]) if found.optimal else None

    def _world(self, x: Floats, times: Sequence[int]) -> Ints | None:
        """Return the world after a move, or after several times that move where only these are whole."""
        bounds, n = self.system.bounds, len(self.base)
        for k in times:
            z = self.base + np.rint(k * (x[:n] - x[n:])).astype(np.int64)
            if bool(((z >= bounds.lower) & (z <= bounds.upper)).all()) and self.system.satisfied(z):
                return z
        return None

    def _walk(self, z: Ints) -> None:
        """Go on from another world."""
        changed, ends = np.flatnonzero(z != self.base), self.ends
        self.base = z
        for first, room in zip((0, len(z)), self._room(), strict=True):
            for c in changed.tolist():
                self.program.between(first + c, 0.0, float(room[c]))
        low, high = self.ends = self._ends()
        for r in np.flatnonzero((low != ends[0]) | (high != ends[1])).tolist():
            self.program.state(r, float(low[r]), float(high[r]))


MANY = 2_000  # free cells; from here on HiGHS finds a first world sooner than CP-SAT
POOL = 12  # worlds found first; many verdicts are settled by two of them
NO_WORLD = "no possible world was found in time, and none was excluded: what is said holds if there is one"
TIME_UP, STAGE_UP = "the time was up", "the time of single profiles was up"  # that of the stage "profile"
SPARE = (0, 1, 0, 0, 0, 0, 1, 0, 0, 0)  # rows that stay where there are some, for worlds near a known one, by pass
MAX_COUNTED_PROFILES = (
    8  # profiles that CP-SAT is asked about the most and fewest rows of; of more, only whether there are any
)


@dataclass(slots=True)
class KnownHistograms:
    """The first histogram found of a system, and others far from each other: where every question starts."""

    first: Ints | None = None
    others: list[Ints] | None = None


class VerdictProver:
    """A system with its models, and the histograms found for one question."""

    def __init__(self, system: CellSystem, limits: Limits) -> None:
        self.system, self.limits = system, limits
        self.model, self.relaxation = CellModel(system, limits), Relaxation(system, limits)
        self.known = system.derived.part(KnownHistograms)
        self.pool: list[Ints] = [] if self.known.first is None else [self.known.first]

    def start(self, limits: Limits) -> Answer | None:
        """Find a first histogram within limits; return the answer where there is none or none was found."""
        if self.pool:
            return None
        if not self.system.choices and len(self.system.free) > MANY:
            z = first_histogram(self.system.linear, self.system.bounds, limits.stage("first world by HiGHS"))
            if z is not None:
                self.keep(z)
                return None
        found = self.model.solve(None, True, limits)
        if found.none:
            return Answer("unsat")
        if found.histogram is None:
            return Answer("unknown", trail=(NO_WORLD,))
        self.keep(found.histogram)
        return None

    def keep(self, z: Ints) -> None:
        """Keep a histogram; from the first one every question about the system starts."""
        if self.known.first is None:
            self.known.first = z
        self.pool.append(z)

    def widen(self) -> None:
        """Find more histograms, far from each other: random objectives over the free cells; kept if all were tried."""
        if self.known.others is not None:
            self.pool += self.known.others
            return
        source, before = random.Random(1), len(self.pool)
        for i in range(POOL):
            if self.limits.work_left() < 1.0 or self.limits.expired():
                return
            coefs = np.zeros(len(self.system.sizes), dtype=np.int64)
            coefs[self.system.free] = [source.choice((-1, 0, 1)) for _ in range(len(self.system.free))]
            self.limits.report(f"worlds of different kinds: {i} of {POOL}")
            expression, _ = self.model.weighted(coefs)
            found = self.model.solve(expression, True, self.limits.stage("different worlds"))
            if found.histogram is not None:
                self.pool.append(found.histogram)
        self.known.others = self.pool[before:]

    def outer(self, coefs: Ints, greatest: bool, quick: bool = False) -> int:
        """Return a proved bound from the cells' own bounds, sharper by the relaxation while there is time.

        `quick`: without the relaxation.
        """
        lower, upper = self.system.bounds.lower, self.system.bounds.upper
        ends = np.where((coefs > 0) == greatest, upper, lower)
        plain = int(coefs @ ends)
        if quick or not coefs[self.system.free].any() or self.limits.expired():
            return plain
        found = self.relaxation.bound(coefs, greatest, self.limits)
        return min(plain, found) if greatest else max(plain, found)

    def corner(self) -> Ints | None:
        """Return where the linear program attained the last bound, if that is a histogram, else None."""
        z = self.relaxation.program.corner()
        return z if z is not None and self.system.satisfied(z) else None

    def attained(self, sums: Sequence[Ints], some: bool, limits: Limits) -> SolveResult | None:
        """Return what CP-SAT says about a world with rows of every sum (not `some`: of none), None when time is up."""
        if self.limits.expired():
            return None
        model = self.model.model.clone()
        for coefs in sums:
            expression, base = self.model.weighted(coefs)
            model.add(expression + base >= 1 if some else expression + base <= 0)
        found = self.model.solve(None, True, limits, model)
        if found.histogram is not None:
            self.keep(found.histogram)
        return found

    def exactly(self, coefs: Ints, greatest: bool, limits: Limits) -> SolveResult:
        """Return what CP-SAT says about an extreme (nothing when time is up); its histogram joins the pool."""
        if self.limits.expired():
            return SolveResult((0, 0), None)
        expression, base = self.model.weighted(coefs)
        found = self.model.solve(expression, greatest, limits)
        if found.histogram is not None:
            self.pool.append(found.histogram)
        return replace(found, bounds=(found.bounds[0] + base, found.bounds[1] + base))


class SelectionVerdicts:
    """What is known of the rows of some selections: proved ends `low`, `high`, and those that worlds attain."""

    def __init__(self, system: CellSystem, met: list[Overlap]) -> None:
        self.system, self.met = system, met
        self.inside = _indicators([one.inside for one in met], len(system.sizes))
        self.meets = _indicators([one.cells for one in met], len(system.sizes))
        self.low, self.high = np.zeros(len(met), dtype=np.int64), np.full(len(met), UNBOUNDED)
        self.least, self.most = self.high.copy(), self.low.copy()  # of the worlds seen

    def see(self, z: Ints) -> bool:
        """Note how many rows a world has in every selection; return whether that settles something."""
        before = int(self.without.sum()) + int(self.within.sum())
        self.least = np.minimum(self.least, self.inside @ z)
        self.most = np.maximum(self.most, self.meets @ z)
        return int(self.without.sum()) + int(self.within.sum()) < before

    @property
    def open(self) -> Bits:
        """Return which verdicts no bound settles."""
        out: Bits = (self.low <= 0) & (self.high > 0)
        return out

    @property
    def without(self) -> Bits:
        """Return for which selections a world without them is still looked for."""
        out: Bits = self.open & (self.least > 0)
        return out

    @property
    def within(self) -> Bits:
        """Return for which selections a world with one of their rows is still looked for."""
        out: Bits = self.open & (self.most == 0)
        return out

    @property
    def unsettled(self) -> Bits:
        """Return which verdicts are open; of a coarse system all that no bound settles: its histograms may be none."""
        return self.open if self.system.coarse else self.without | self.within


def decide(prover: VerdictProver, query: Decide) -> DecideAnswer:
    """Return proved bounds on the rows of every selection, and which verdicts stay open; "unsat" where no world is.

    Shares of worlds are NaN where they are not 0 or 1. Few selections are bounded before a first world is looked for:
    that may take all the time, and the bounds hold without one.
    """
    system, selections, trail = prover.system, query.selections, tuple[str, ...]()
    found = overlaps(system, selections, prover.limits)
    number = {key: i for i, key in enumerate(dict.fromkeys((met.inside, met.cells) for met in found))}
    first = {number[met.inside, met.cells]: met for met in reversed(found)}
    verdicts = SelectionVerdicts(system, [first[i] for i in range(len(first))])
    bounded = not prover.pool and len(verdicts.met) <= MAX_COUNTED_PROFILES
    if bounded:
        _bound(prover, verdicts)
    settled = bounded and not verdicts.open.any()  # a world would only show that there is one
    first_world = prover.start(prover.limits.stage("profile" if settled else "first world: decide"))
    if first_world is not None:
        if first_world.status == "unsat":
            return DecideAnswer("unsat")
        trail = first_world.trail
    for z in prover.pool:
        verdicts.see(z)
    if not bounded:
        _bound(prover, verdicts)
    if prover.pool:
        trail = ()
        _near(prover, verdicts)
        before = len(prover.pool)
        if verdicts.unsettled.any() and before < POOL:
            prover.widen()
            for z in prover.pool[before:]:
                verdicts.see(z)
            _near(prover, verdicts)
        left = np.flatnonzero(verdicts.unsettled).tolist()
        if len(left) > MAX_COUNTED_PROFILES:
            _attainable(prover, verdicts, left)
        for i in np.flatnonzero(verdicts.unsettled).tolist():
            _exactly(prover, verdicts, i)
    at = np.array([number[met.inside, met.cells] for met in found], dtype=np.int64)
    low, high, unsettled = verdicts.low[at], verdicts.high[at], verdicts.unsettled[at]
    rows = system.release.rows
    prior = before_release(system, selections, query.convention, [rows.low]) if rows.exact else None
    partial = np.array([met.inside != met.cells for met in found], dtype=bool)
    fixed = (low == high) & ~(partial & (high > 0))
    expected = np.where(fixed, low.astype(np.float64), np.nan)
    answer = DecideAnswer.of(low, high, prior, expected=expected, open=unsettled)
    if trail or not unsettled.any():
        return replace(answer, trail=trail)
    return replace(answer, trail=(TIME_UP if prover.limits.late() else STAGE_UP,))


def _bound(prover: VerdictProver, verdicts: SelectionVerdicts) -> None:
    """Bound the rows of every selection by linear programs; corners that are worlds are kept."""
    most, some = prover.system.release.rows.high, prover.limits.stage("linear programs of profiles")
    for i, met in enumerate(verdicts.met):
        prover.limits.report(f"profiles: {i} of {len(verdicts.met)}")
        late = some.expired()
        for greatest, cells in ((False, met.inside), (True, met.cells)):
            if not greatest and verdicts.least[i] == 0:
                continue  # a world without them was seen: the least number is 0
            found = prover.outer(indicator(cells, prover.system), greatest, quick=late)
            if greatest:
                verdicts.high[i] = found if most is None else min(found, most)
            else:
                verdicts.low[i] = max(0, found)
            z = None if late else prover.corner()
            if z is not None and (verdicts.see(z) or not prover.pool):
                prover.keep(z)


def _near(prover: VerdictProver, verdicts: SelectionVerdicts) -> None:
    """Look for worlds near known ones that settle what is open, from worlds with rows in ever more cells."""
    for seed, spare in () if prover.system.choices else enumerate(SPARE):
        wanted = verdicts.without | verdicts.within
        if not wanted.any():
            return
        base = max(prover.pool, key=lambda z: int(np.count_nonzero(z)))
        moves = Nearby(prover.system, prover.relaxation.program.linear, base, spare, seed)
        for i in np.flatnonzero(wanted).tolist():
            met = verdicts.met[i]
            for found in (
                moves.reaching(met.cells, prover.limits) if verdicts.within[i] else None,
                moves.leaving(met.inside, prover.limits) if verdicts.without[i] else None,
            ):
                if found is not None and verdicts.see(found):
                    prover.keep(found)


def _attainable(prover: VerdictProver, verdicts: SelectionVerdicts, selections: list[int]) -> None:
    """Ask CP-SAT for any world with rows of some selections, or without: first of all together, then of each."""
    system = prover.system
    for some in (True, False):

        def coefs(i: int, some: bool = some) -> Ints:
            met = verdicts.met[i]
            return indicator(met.cells if some else met.inside, system)

        missing = verdicts.within if some else verdicts.without
        asked = [i for i in selections if missing[i]]
        for group in (asked, *([i] for i in asked)):
            missing = verdicts.within if some else verdicts.without
            if not group or not missing[group].any():
                continue
            found = prover.attained([coefs(i) for i in group], some, prover.limits.stage("profile"))
            if found is not None and found.histogram is not None:
                verdicts.see(found.histogram)
            elif found is not None and found.none and len(group) == 1 and some:
                verdicts.high[group] = 0
            elif found is not None and found.none and len(group) == 1:
                verdicts.low[group] = np.maximum(1, verdicts.low[group])


def _exactly(prover: VerdictProver, verdicts: SelectionVerdicts, i: int) -> None:
    """Ask CP-SAT for the ends of one selection that no world attains."""
    for greatest, cells in ((False, verdicts.met[i].inside), (True, verdicts.met[i].cells)):
        if not (verdicts.within if greatest else verdicts.without)[i]:
            continue
        answer = prover.exactly(indicator(cells, prover.system), greatest, prover.limits.stage("profile"))
        if answer.histogram is not None:
            if greatest:
                verdicts.high[i] = min(int(verdicts.high[i]), answer.bounds[1])
            else:
                verdicts.low[i] = max(int(verdicts.low[i]), answer.bounds[0])
            verdicts.see(answer.histogram)


def indicator(cells: tuple[int, ...], system: CellSystem) -> Ints:
    """Return the coefficients that count the rows in some cells."""
    out = np.zeros(len(system.sizes), dtype=np.int64)
    out[list(cells)] = 1
    return out


def _indicators(cells: list[tuple[int, ...]], columns: int) -> csr_array:
    """Return a row per tuple of cells that counts the rows in them."""
    from scipy.sparse import csr_array

    start = np.cumsum([0, *(len(one) for one in cells)])
    at = np.fromiter((c for one in cells for c in one), dtype=np.int64, count=int(start[-1]))
    return csr_array((np.ones(len(at), dtype=np.int64), at, start), shape=(len(cells), columns))
