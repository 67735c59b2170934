"""Noisy counts made consistent: the histogram with the greatest sum of concave functions of its counts.

Such is the log-likelihood of every noise law. Secants stand in its place (`solvers.gains`) and are added where a
solution needs them; CP-SAT proves the optimum in whole numbers (`solvers.secants`).

Source: the maximum-likelihood fit of noisy counts after Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of
differentially private histograms through consistency", VLDB 2010; design.md, section 2.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from solvers.errors import ContradictionError, Inconclusive
from solvers.fractional import ROUNDS, SECONDS, relax
from solvers.gains import Gain, total
from solvers.limits import Limits
from solvers.linear import Ints
from solvers.secants import GAP, Exact
from solvers.system import System

ROOMS = (1e3, 1e6, 1e9, 1e12)  # nats below the best counts, where a first histogram is looked for
MARGIN = 1.0  # nats below the best histogram known that are still looked at


@dataclass(frozen=True, eq=False)
class Likeliest:
    """The most likely histogram found (rows per cell) and how good it is, in nats (natural logarithms).

    `bound` is at least the log-likelihood of every histogram; `proved`: it is within 1e-4 of this one's. `relaxed` is
    the optimum of the linear relaxation, to the solver's tolerance (NaN where it was not solved in time).
    """

    histogram: Ints
    log_likelihood: float
    bound: float
    proved: bool
    relaxed: float


def greatest(system: System, gains: Sequence[Gain], limits: Limits) -> Likeliest:
    """Return the histogram with the greatest sum of gains; see `solvers.likeliest`."""
    if math.isinf(limits.left()):
        limits = limits.lasting(SECONDS)
    tops = math.fsum(g.top for g in gains)
    relaxed, starts, best = relax(system, gains, limits)
    value, bound = -math.inf, tops
    best = near_the_published(system, gains, starts, limits) if best is None else best
    if best is not None:
        value = total(gains, system.linear.sums(best))
        gains = [g.within(tops - value + MARGIN) for g in gains]
    search = Exact(system, gains)
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
        here = total(gains, counts)
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
    if best is None:
        raise Inconclusive("no possible histogram was found in time, and none was excluded")
    bound = max(bound, value)
    return Likeliest(best, value, bound, bound - value <= GAP, relaxed)


def near_the_published(
    system: System, gains: Sequence[Gain], starts: Sequence[set[int]], limits: Limits
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


def denoised(system: System, found: Likeliest) -> Ints:
    """Return the count of every statement of the system in the most likely histogram.

    Non-negative integers that add up: they are the counts of one possible dataset.
    """
    return system.linear.sums(found.histogram)
