"""Noisy counts made consistent: the histogram with the greatest sum of concave functions of its counts.

Such is the log-likelihood of every noise law. In order: the linear relaxation and the bound that it proves
(`solvers.programs.concave.fractional`, `solvers.programs.concave.terms`); whole rows from it
(`solvers.programs.concave.terms`); better ones by moving rows (`solvers.programs.concave.local_search`); HiGHS'
branch and bound; CP-SAT for a proof, with secants in the functions' place (`solvers.programs.concave.local_search`).
Where no two counts share a cell (one noisy tree), the optimum is found directly (`solvers.programs.concave.separable`).

Source: the maximum-likelihood fit of noisy counts after Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of
differentially private histograms through consistency", VLDB 2010; docs/mathematics.md, "Noise".
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import ContradictionError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.programs.concave.fractional import ConcaveRelaxation, relax
from solvers.programs.concave.local_search import GAP, MAX_STEPS, Exact, StartHistogram, improved
from solvers.programs.concave.separable import Shares, multipliers_by_block, separable, shares_of
from solvers.programs.concave.terms import ConcaveTerm, Gains, gain_bound, proved_anywhere, rounded_histogram

ROOMS = (1e3, 1e6, 1e9, 1e12)  # nats below the best counts, where a first histogram is looked for
ROUNDS = 60  # times that CP-SAT gets more secants
PROVABLE = 400_000  # entries of a system, beyond which CP-SAT is only asked where nothing else found a histogram
MARGIN = 1.0  # nats below the best histogram known that are still looked at


@dataclass(frozen=True, eq=False)
class Likeliest:
    """The most likely histogram found (rows per cell) and how good it is, in nats (natural logarithms).

    `bound` is proved to be at least the log-likelihood of every histogram; `proved`: it is within 1e-4 of this one's.
    `relaxed` is the optimum of the linear relaxation, to the solver's tolerance (NaN where it was not solved in time).
    """

    histogram: Ints
    log_likelihood: float
    bound: float
    proved: bool
    relaxed: float

    @property
    def gap(self) -> float:
        """Return how far the bound is above the log-likelihood, in nats."""
        return self.bound - self.log_likelihood

    def figures(self) -> dict[str, float | bool]:
        """Return the figures by the names that JSON output gives them."""
        return {
            "log_likelihood": self.log_likelihood,
            "log_likelihood_bound": self.bound,
            "gap": self.gap,
            "proved": self.proved,
        }

    def describe(self, of: str) -> str:
        """Return how likely the histogram is, and that no other `of` its kind can be likelier, in words."""
        text = f"log-likelihood {self.log_likelihood:.4f} nats, "
        if self.proved:
            return text + "proved optimal"
        share = f", {self.gap / abs(self.bound):.2%}" if self.bound else ""
        return f"{text}at most {self.bound:.4f} for any {of} (gap {self.gap:.4f}{share})"


def greatest(
    system: CellSystem, some: Sequence[ConcaveTerm], limits: Limits, steps: int = MAX_STEPS, exact: bool = True
) -> Likeliest:
    """Return the histogram with the greatest sum of gains found; see `solvers.noisy.likelihood.most_likely`.

    `steps` bounds the moves of the local search, `exact` says whether CP-SAT is asked.
    """
    limits = limits.limited()
    gains = Gains(some)
    if (shares := shares_of(system, gains)) is not None and (found := _directly(system, gains, shares)) is not None:
        return found
    relaxed = relax(system, gains, limits)
    limits.report(f"linear relaxation: log-likelihood at most {relaxed.bound:.4f}")
    best = _from_the_relaxation(system, gains, relaxed, limits, steps)
    value = -math.inf if best is None else gains.total(system.linear.sums(best))
    bound = relaxed.bound
    if best is not None and bound - value > GAP and exact and _small(system) and not limits.expired():
        best, value = _by_branches(system, gains, relaxed, best, limits)
    if bound - value > GAP and exact and _worth_a_proof(system, gains, best, limits):
        best, value, bound = _by_cp_sat(system, gains, relaxed, best, limits)
    if best is None:
        raise Inconclusive("no possible histogram was found in time, and none was excluded")
    bound = max(bound, value)
    return Likeliest(best, value, bound, bound - value <= GAP, relaxed.value)


def greatest_of_some(system: CellSystem, gains: Gains, limits: Limits, steps: int = MAX_STEPS) -> Likeliest:
    """Return the best histogram found over a system of some rows only, with a bound that holds for all rows.

    The bound is that of every tree by itself, or that of the counts alone.
    """
    relaxed = relax(system, gains, limits)
    alone = multipliers_by_block(system, gains)
    bound = min(proved_anywhere(system, gains, y) for y in (alone, np.zeros(len(gains))))
    best = _from_the_relaxation(system, gains, replace(relaxed, bound=bound), limits, steps)
    if best is None:
        raise Inconclusive("no possible dataset was found over the rows that were tried: there are too many cells")
    value = gains.total(system.linear.sums(best))
    bound = max(bound, value)
    return Likeliest(best, value, bound, bound - value <= GAP, math.nan)


def _directly(system: CellSystem, gains: Gains, shares: Shares) -> Likeliest | None:
    """Return the optimum where no two counts share a cell, with its proof; None where there is none or it failed."""
    found = separable(system, gains, shares)
    if found is None or not system.satisfied(found[0]):
        return None
    value = gains.total(system.linear.sums(found[0]))
    none = np.zeros(0, dtype=np.int64)
    bound = max(value, gain_bound(system, gains, np.full(len(gains), found[1]), none, np.zeros(0)))
    return Likeliest(found[0], value, bound, True, bound) if bound - value <= GAP else None


def _from_the_relaxation(
    system: CellSystem, gains: Gains, relaxed: ConcaveRelaxation, limits: Limits, steps: int
) -> Ints | None:
    """Return the best whole histogram near the fractional one after moves of rows; None where none was found.

    Without a fractional one, rows are put anywhere.
    """

    def score(z: Ints) -> float:
        return _soft_total(gains, system.linear.sums(z)[gains.statement])

    rows = system.bounds.lower.astype(np.float64) if relaxed.rows is None else relaxed.rows
    loss = np.zeros(len(rows)) if relaxed.rows is None else relaxed.loss
    start = rounded_histogram(system, rows, score)
    if start is None:
        return None
    share = limits.stage("moved rows") if _small(system) else limits
    found = improved(system, gains, StartHistogram(start, loss), share, relaxed.bound - GAP, steps)
    return None if found is None else found[0]


def _soft_total(gains: Gains, counts: Ints) -> float:
    """Return the sum of gains at counts, 1,000 nats less for every row outside their ranges."""
    inside = np.clip(counts, gains.low, gains.high)
    lost = gains.values(np.arange(len(gains), dtype=np.int64), inside)
    return float(lost.sum()) - 1e3 * float(np.abs(counts - inside).sum())


def _small(system: CellSystem) -> bool:
    """Return whether CP-SAT can be expected to prove something about so many cells and counts."""
    return len(system.linear.row) <= PROVABLE


def _worth_a_proof(system: CellSystem, gains: Gains, best: Ints | None, limits: Limits) -> bool:
    """Return whether CP-SAT is asked: for a first histogram, or a proof where the system is not too large."""
    if best is not None and (limits.expired() or not len(gains)):
        return False
    if best is None or _small(system):
        return True
    limits.report(f"no proof by CP-SAT: {len(system.linear.row):,} entries are more than {PROVABLE:,}")
    return False


def _by_branches(
    system: CellSystem, gains: Gains, relaxed: ConcaveRelaxation, best: Ints, limits: Limits
) -> tuple[Ints, float]:
    """Return the best of a histogram and what HiGHS' branch and bound makes of it; its own bound is not believed."""
    limits.report("most likely histogram: branch and bound")
    z = relaxed.program.whole(best, limits.stage("branch and bound"))
    value, other = gains.total(system.linear.sums(best)), gains.total(system.linear.sums(z))
    return (z, other) if other > value and system.satisfied(z) else (best, value)


def _by_cp_sat(
    system: CellSystem, gains: Gains, relaxed: ConcaveRelaxation, best: Ints | None, limits: Limits
) -> tuple[Ints | None, float, float]:
    """Return the best histogram, its sum and the least bound that CP-SAT finds in the time left."""
    tops = math.fsum(gains.top.tolist())
    starts = [_starts_of(g, c) for g, c in zip(gains.each, _counts_of(gains, relaxed), strict=True)]
    some: Sequence[ConcaveTerm] = gains.each
    value, bound = -math.inf if best is None else gains.total(system.linear.sums(best)), relaxed.bound
    if tops - value > ROOMS[0]:  # too far for whole numbers to hold likelihoods down to it
        other = _near_the_published(system, some, starts, limits)
        if other is not None and (here := gains.total(system.linear.sums(other))) > value:
            best, value = other, here
    if best is not None:
        some = [g.within(tops - value + MARGIN) for g in some]
    search = Exact(system, some)
    for i, ks in enumerate(starts):
        search.add(i, ks)
    if best is not None:
        search.hint(best)
    for turn in range(ROUNDS):
        limits.report(f"most likely histogram: round {turn}, log-likelihood {value:.4f}, at most {bound:.4f}")
        z, over = search.solve(limits)
        bound = min(bound, tops + over / search.unit)
        if z is None:
            break
        counts = system.linear.sums(z)
        here = gains.total(counts)
        if here > value:
            best, value = z, here
        if bound - value <= GAP or limits.expired():
            break
        if not search.refine(counts):
            finer = search.finer(tops - value + MARGIN)
            if finer is None:
                break
            search = finer
        search.hint(z if best is None else best)
    return best, value, bound


def _counts_of(gains: Gains, relaxed: ConcaveRelaxation) -> list[float]:
    """Return the fractional counts, the best ones where there are none."""
    found: list[float] = (gains.best if relaxed.counts is None else relaxed.counts).tolist()
    return found


def _starts_of(g: ConcaveTerm, count: float) -> set[int]:
    """Return where the first secants of a gain start: around the best count and around a fractional one."""
    k = math.floor(count)
    return g.starts() | {s for s in (k - 1, k, k + 1) if g.low <= s < g.high}


def _near_the_published(
    system: CellSystem, gains: Sequence[ConcaveTerm], starts: Sequence[set[int]], limits: Limits
) -> Ints | None:
    """Return a histogram whose counts are not far below the best ones, None where none was found.

    Whole numbers do not hold likelihoods over all counts where those are very many: first near ones, then others.
    """
    for room in ROOMS:
        near = [g.within(room) for g in gains]
        if limits.expired() or all((g.low, g.high) == (n.low, n.high) for g, n in zip(gains, near, strict=True)):
            return None
        search = Exact(system, near)
        for i, ks in enumerate(starts):
            search.add(i, ks)
        with contextlib.suppress(ContradictionError):  # only of these counts
            return search.solve(limits)[0]
    return None
