"""Answers one solve at a time: rigorous bounds from outside, worlds found from inside, exact where they meet."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from solvers.cells.system import System
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import share_of_counts
from solvers.linear.linear_program import Relaxation
from solvers.linear.mixed_integer import first_histogram
from solvers.programs.cell_model import CellModel, SolveResult
from solvers.programs.verdicts import decide
from solvers.questions.answers import (
    Answer,
    DecideAnswer,
    ExtremeAnswer,
    LeaveOneOutAnswer,
    ShareAnswer,
    WorldsAnswer,
    each_once,
)
from solvers.questions.engine import COARSE
from solvers.questions.query import (
    Decide,
    Enumerate,
    Extreme,
    LeaveOneOut,
    MostLikely,
    Query,
    Sample,
    Selections,
    Share,
)
from solvers.statements.release import World
from solvers.worlds.row_lists import RandomSource
from solvers.worlds.worlds import draw_world, filled_cells, list_worlds, spread_world

MANY = 2_000  # free cells; from here on HiGHS finds a first world sooner than CP-SAT
POOL = 12  # worlds found first; many verdicts are settled by two of them
FIRST = {Decide: 0.5, MostLikely: 0.75, Extreme: 0.75}  # of the time left: a first world; others answer without one
LOG_SCALE = 1 << 10  # logarithms in the objective of the heaviest histogram are whole multiples of 1/1024
STEPS = 64  # segments of a cell's concave objective
NOT_UNIFORM = "found by CP-SAT with random objectives: a possible world, not a uniform draw"
NO_WORLD = "no possible world was found in time, and none was excluded: what is said holds if there is one"
NOT_HEAVIEST = "a possible world, not proved to be the heaviest"


def prove(system: System, query: Query, limits: Limits) -> Answer:
    """Return what CP-SAT and the relaxation say; status "unsat" where no histogram exists, "unknown" if not found."""
    limits = limits.limited()
    if system.coarse and isinstance(query, Enumerate | Sample | MostLikely):
        raise Unsupported(COARSE)
    prover = Prover(system, limits)
    if isinstance(query, Enumerate):
        return WorldsAnswer("exact", worlds=enumerate_worlds(prover))
    if isinstance(query, LeaveOneOut):
        return LeaveOneOutAnswer("bounds", share=np.full(len(query.inner), np.nan))
    first = prover.start(FIRST.get(type(query), 1.0) * limits.left())
    if first is not None:
        if first.status == "unknown" and isinstance(query, Decide):
            answer = decide(prover, query)
            return answer if prover.pool else replace(answer, trail=first.trail)
        return first
    if isinstance(query, Decide):
        return decide(prover, query)
    if isinstance(query, Share):

        def counts(some: Selections) -> DecideAnswer:
            return decide(prover, Decide(some, "ordered"))

        lower, upper = share_of_counts(*(each_once(x, counts) for x in (query.inner, query.other)))
        return ShareAnswer("bounds", lower=lower, upper=upper)
    if isinstance(query, Sample):
        return WorldsAnswer("bounds", worlds=draw(prover, query), trail=(NOT_UNIFORM,))
    if isinstance(query, Extreme):
        return extreme(prover, query)
    if isinstance(query, MostLikely):
        return WorldsAnswer("exact", worlds=iter([heaviest(prover, query)]))
    raise Unsupported(f"{type(query).__name__} needs all histograms")


@dataclass(slots=True)
class KnownHistograms:
    """The first histogram found of a system, and others far from each other: where every question starts."""

    first: Ints | None = None
    others: list[Ints] | None = None


class Prover:
    """A system with its models, and the histograms found for one question."""

    def __init__(self, system: System, limits: Limits) -> None:
        self.system, self.limits = system, limits
        self.model, self.relaxation = CellModel(system, limits), Relaxation(system, limits)
        self.known = system.derived.part(KnownHistograms)
        self.pool: list[Ints] = [] if self.known.first is None else [self.known.first]

    def start(self, seconds: float) -> Answer | None:
        """Find a first histogram in so many seconds; return the answer where there is none or none was found."""
        if self.pool:
            return None
        if not self.system.choices and len(self.system.free) > MANY:
            z = first_histogram(self.system.linear, self.system.bounds, self.limits, seconds / 2)
            if z is not None:
                self.keep(z)
                return None
        found = self.model.solve(None, True, self.limits, seconds)
        if found.none:
            return Answer("unsat")
        if found.histogram is None:
            return Answer("unknown", trail=(NO_WORLD,))
        self.keep(found.histogram)
        return None

    wide = POOL  # so many histograms are enough to begin with

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
            found = self.model.solve(expression, True, self.limits, seconds=min(1.0, self.limits.left() / 20))
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

    def attained(self, sums: Sequence[Ints], some: bool, seconds: float) -> SolveResult | None:
        """Return what CP-SAT says about a world with rows of every sum (not `some`: of none), None when time is up."""
        if self.limits.expired():
            return None
        model = self.model.model.clone()
        for coefs in sums:
            expression, base = self.model.weighted(coefs)
            model.add(expression + base >= 1 if some else expression + base <= 0)
        found = self.model.solve(None, True, self.limits, seconds, model)
        if found.histogram is not None:
            self.keep(found.histogram)
        return found

    def exactly(self, coefs: Ints, greatest: bool, seconds: float) -> SolveResult:
        """Return what CP-SAT says about an extreme (nothing when time is up); its histogram joins the pool."""
        if self.limits.expired():
            return SolveResult((0, 0), None)
        expression, base = self.model.weighted(coefs)
        found = self.model.solve(expression, greatest, self.limits, seconds)
        if found.histogram is not None:
            self.pool.append(found.histogram)
        return replace(found, bounds=(found.bounds[0] + base, found.bounds[1] + base))


def enumerate_worlds(prover: Prover) -> Iterator[World]:
    """Yield every world once up to row order, one histogram after the other."""
    for z in prover.model.every(prover.limits):
        yield from list_worlds(prover.system.release.domain, filled_cells(prover.system, z))


def draw(prover: Prover, query: Sample) -> Iterator[World]:
    """Yield k possible worlds that random objectives led to; they are not uniform, and say so."""
    random = RandomSource(query.seed)
    for _ in range(query.k):
        coefs = np.zeros(len(prover.system.sizes), dtype=np.int64)
        coefs[prover.system.free] = [random.exact.randrange(-8, 9) for _ in range(len(prover.system.free))]
        found = prover.exactly(coefs, True, seconds=2.0)
        z = found.histogram if found.histogram is not None else prover.pool[-1]
        del prover.pool[POOL:]  # what is drawn is not kept
        world = draw_world(prover.system.release.domain, filled_cells(prover.system, z), query.convention, random)
        yield replace(world, note=NOT_UNIFORM)


def extreme(prover: Prover, query: Extreme) -> ExtremeAnswer:
    """Return proved bounds on an extreme, exact where CP-SAT proves it, with the best world found."""
    found = prover.exactly(query.coefs, query.greatest, prover.limits.left())
    outer = prover.outer(query.coefs, query.greatest)
    values = [int(query.coefs @ z) for z in prover.pool]
    inner = max(values) if query.greatest else min(values)
    best = prover.pool[values.index(inner)]
    if found.histogram is not None:
        outer = min(outer, found.bounds[1]) if query.greatest else max(outer, found.bounds[0])
    bounds = (inner, outer) if query.greatest else (outer, inner)
    world = None
    if prover.system.coarse:
        return ExtremeAnswer("bounds", bounds=bounds)
    if not prover.system.release.domain.relative:
        world = spread_world(prover.system.release.domain, filled_cells(prover.system, best), RandomSource(query.seed))
    return ExtremeAnswer("exact" if inner == outer else "bounds", bounds=bounds, histogram=best, world=world)


def heaviest(prover: Prover, query: MostLikely) -> World:
    """Return the world of the heaviest histogram that CP-SAT found in half of the time left.

    With the number of rows open, the most rows that any world was found to have come first.
    """
    system, model = prover.system, prover.model.model.clone()
    complete = True
    if not system.release.rows.exact:
        maximum = prover.exactly(np.ones(len(system.sizes), dtype=np.int64), True, prover.limits.left() / 4)
        complete = maximum.proved
        total, base = prover.model.weighted(np.ones(len(system.sizes), dtype=np.int64))
        model.add(total + base == max(int(z.sum()) for z in prover.pool))
    terms = []
    for c in system.free.tolist():
        low, room = int(system.bounds.lower[c]), int(system.bounds.upper[c] - system.bounds.lower[c])
        steps = [round(LOG_SCALE * math.log(-(-i // system.sizes[c]))) for i in range(low + 1, low + room + 1)]
        reached = np.concatenate([[0], np.cumsum(steps)]).tolist()
        total = model.new_int_var(0, 1 << 40, "")
        chosen = np.unique(np.linspace(1, room, min(room, STEPS)).astype(int)).tolist()
        complete = complete and len(chosen) == room
        for i in chosen:  # convex: the greatest of its tangents
            model.add(total >= reached[i - 1] + steps[i - 1] * (prover.model.variables[c] - low - i + 1))
        terms.append(total)
    hint = max(prover.pool, key=lambda z: int(z.sum()))
    for c, variable in prover.model.variables.items():
        model.add_hint(variable, int(hint[c]))
    found = prover.model.solve(sum(terms), False, prover.limits, prover.limits.left() / 2, model)
    z = found.histogram if found.histogram is not None else hint
    world = spread_world(system.release.domain, filled_cells(system, z), RandomSource(query.seed))
    several = any((z != other).any() for other in prover.pool) or any(system.sizes[c] > 1 for c in np.flatnonzero(z))
    note = "" if found.proved and complete else NOT_HEAVIEST
    return replace(world, unique=False if several else None, note=note)
