"""Worlds and bounds of one system, and verdicts on many profiles: one linear program, and worlds that settle the rest.

In turn, each only for what is still open: the least and greatest rows by linear programs, every one from the basis of
the last (other costs leave a basis feasible); the corners that they end in, where these are whole, are worlds; worlds
near known ones (`solvers.programs.nearby`); worlds by random objectives; CP-SAT, profile by profile.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.histograms.system_membership import Overlap, before_release, overlaps
from solvers.programs.cell_model import CellModel, SolveResult
from solvers.programs.linear.linear_program import Relaxation
from solvers.programs.linear.mixed_integer import first_histogram
from solvers.programs.nearby import Nearby
from solvers.questions.answers import Answer, DecideAnswer
from solvers.questions.query import Decide
from solvers.statements.release import UNBOUNDED

MANY = 2_000  # free cells; from here on HiGHS finds a first world sooner than CP-SAT
POOL = 12  # worlds found first; many verdicts are settled by two of them
NO_WORLD = "no possible world was found in time, and none was excluded: what is said holds if there is one"
SPARE = (
    0,
    1,
    1,
    0,
    1,
    0,
)  # rows that stay where there are some, pass by pass over what is open, for worlds near a known one
FEW = 8  # profiles that CP-SAT is asked about the most and fewest rows of; of more, only whether there are any


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
            if self.limits.left() < 1.0 or self.limits.expired():
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
    """Return proved bounds on the rows of every selection, and which verdicts stay open.

    Shares of worlds are NaN where they are not 0 or 1.
    """
    system, selections = prover.system, query.selections
    found = overlaps(system, selections, prover.limits)
    number = {key: i for i, key in enumerate(dict.fromkeys((met.inside, met.cells) for met in found))}
    first = {number[met.inside, met.cells]: met for met in reversed(found)}
    verdicts = SelectionVerdicts(system, [first[i] for i in range(len(first))])
    for z in prover.pool:
        verdicts.see(z)
    bound(prover, verdicts)
    if prover.pool:
        near(prover, verdicts)
        before = len(prover.pool)
        if verdicts.unsettled.any() and before < POOL:
            prover.widen()
            for z in prover.pool[before:]:
                verdicts.see(z)
            near(prover, verdicts)
        left = np.flatnonzero(verdicts.unsettled).tolist()
        if len(left) > FEW:
            attainable(prover, verdicts, left)
        for i in np.flatnonzero(verdicts.unsettled).tolist():
            exactly(prover, verdicts, i)
    at = np.array([number[met.inside, met.cells] for met in found], dtype=np.int64)
    low, high, unsettled = verdicts.low[at], verdicts.high[at], verdicts.unsettled[at]
    rows = system.release.rows
    prior = before_release(system, selections, query.convention, [rows.low]) if rows.exact else None
    partial = np.array([met.inside != met.cells for met in found], dtype=bool)
    fixed = (low == high) & ~(partial & (high > 0))
    return DecideAnswer.of(low, high, prior, expected=np.where(fixed, low.astype(np.float64), np.nan), open=unsettled)


def bound(prover: VerdictProver, verdicts: SelectionVerdicts) -> None:
    """Bound the rows of every selection by linear programs; corners that are worlds are kept."""
    most, some = prover.system.release.rows.high, prover.limits.stage("linear programs of profiles")
    for i, met in enumerate(verdicts.met):
        prover.limits.report(f"profiles: {i} of {len(verdicts.met)}")
        late = some.expired()
        for greatest, cells in ((False, met.inside), (True, met.cells)):
            found = prover.outer(indicator(cells, prover.system), greatest, quick=late)
            if greatest:
                verdicts.high[i] = found if most is None else min(found, most)
            else:
                verdicts.low[i] = max(0, found)
            z = None if late else prover.corner()
            if z is not None and (verdicts.see(z) or not prover.pool):
                prover.keep(z)


def near(prover: VerdictProver, verdicts: SelectionVerdicts) -> None:
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


def attainable(prover: VerdictProver, verdicts: SelectionVerdicts, selections: list[int]) -> None:
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


def exactly(prover: VerdictProver, verdicts: SelectionVerdicts, i: int) -> None:
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
    start = np.cumsum([0, *(len(one) for one in cells)])
    at = np.fromiter((c for one in cells for c in one), dtype=np.int64, count=int(start[-1]))
    return csr_array((np.ones(len(at), dtype=np.int64), at, start), shape=(len(cells), columns))
