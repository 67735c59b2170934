"""Verdicts on many profiles over one system: one linear program for all of them, and worlds that settle the rest.

In turn, each only for what is still open: the least and greatest rows by linear programs, every one from the basis of
the last (other costs leave a basis feasible); the corners that they end in, where these are whole, are worlds; worlds
near known ones (`solvers.programs.nearby`); worlds by random objectives; CP-SAT, profile by profile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from solvers.cells.system import System
from solvers.foundation.array_types import Bits, Ints
from solvers.histograms.system_membership import Overlap, before_release, overlaps
from solvers.programs.nearby import Nearby
from solvers.questions.answers import DecideAnswer
from solvers.questions.query import Decide
from solvers.statements.release import UNBOUNDED

if TYPE_CHECKING:
    from solvers.programs.bounded_answers import Prover

BOUNDING = 0.6  # of the time left, for linear programs
SPARE = (
    0,
    1,
    1,
    0,
    1,
    0,
)  # rows that stay where there are some, pass by pass over what is open, for worlds near a known one
FEW = 8  # profiles that CP-SAT is asked about the most and fewest rows of; of more, only whether there are any
SECONDS = 5.0  # of CP-SAT for one end of one profile


class Verdicts:
    """What is known of the rows of some selections: proved ends `low`, `high`, and those that worlds attain."""

    def __init__(self, system: System, met: list[Overlap]) -> None:
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


def decide(prover: Prover, query: Decide) -> DecideAnswer:
    """Return proved bounds on the rows of every selection, and which verdicts stay open.

    Shares of worlds are NaN where they are not 0 or 1.
    """
    system, selections = prover.system, query.selections
    found = overlaps(system, selections, prover.limits)
    number = {key: i for i, key in enumerate(dict.fromkeys((met.inside, met.cells) for met in found))}
    first = {number[met.inside, met.cells]: met for met in reversed(found)}
    verdicts = Verdicts(system, [first[i] for i in range(len(first))])
    for z in prover.pool:
        verdicts.see(z)
    bound(prover, verdicts)
    if prover.pool:
        near(prover, verdicts)
        before = len(prover.pool)
        if verdicts.unsettled.any() and before < prover.wide:
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


def bound(prover: Prover, verdicts: Verdicts) -> None:
    """Bound the rows of every selection by linear programs; corners that are worlds are kept."""
    most, begun = prover.system.release.rows.high, prover.limits.left()
    for i, met in enumerate(verdicts.met):
        prover.limits.report(f"profiles: {i} of {len(verdicts.met)}")
        late = prover.limits.left() < (1 - BOUNDING) * begun
        for greatest, cells in ((False, met.inside), (True, met.cells)):
            found = prover.outer(indicator(cells, prover.system), greatest, quick=late)
            if greatest:
                verdicts.high[i] = found if most is None else min(found, most)
            else:
                verdicts.low[i] = max(0, found)
            z = None if late else prover.corner()
            if z is not None and (verdicts.see(z) or not prover.pool):
                prover.keep(z)


def near(prover: Prover, verdicts: Verdicts) -> None:
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


def attainable(prover: Prover, verdicts: Verdicts, selections: list[int]) -> None:
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
            found = prover.attained([coefs(i) for i in group], some, SECONDS)
            if found is not None and found.histogram is not None:
                verdicts.see(found.histogram)
            elif found is not None and found.none and len(group) == 1 and some:
                verdicts.high[group] = 0
            elif found is not None and found.none and len(group) == 1:
                verdicts.low[group] = np.maximum(1, verdicts.low[group])


def exactly(prover: Prover, verdicts: Verdicts, i: int) -> None:
    """Ask CP-SAT for the ends of one selection that no world attains."""
    for greatest, cells in ((False, verdicts.met[i].inside), (True, verdicts.met[i].cells)):
        if not (verdicts.within if greatest else verdicts.without)[i]:
            continue
        answer = prover.exactly(indicator(cells, prover.system), greatest, seconds=SECONDS)
        if answer.histogram is not None:
            if greatest:
                verdicts.high[i] = min(int(verdicts.high[i]), answer.bounds[1])
            else:
                verdicts.low[i] = max(int(verdicts.low[i]), answer.bounds[0])
            verdicts.see(answer.histogram)


def indicator(cells: tuple[int, ...], system: System) -> Ints:
    """Return the coefficients that count the rows in some cells."""
    out = np.zeros(len(system.sizes), dtype=np.int64)
    out[list(cells)] = 1
    return out


def _indicators(cells: list[tuple[int, ...]], columns: int) -> csr_array:
    """Return a row per tuple of cells that counts the rows in them."""
    start = np.cumsum([0, *(len(one) for one in cells)])
    at = np.fromiter((c for one in cells for c in one), dtype=np.int64, count=int(start[-1]))
    return csr_array((np.ones(len(at), dtype=np.int64), at, start), shape=(len(cells), columns))
