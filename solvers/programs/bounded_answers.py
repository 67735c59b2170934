"""Answers one solve at a time: rigorous bounds from outside, worlds found from inside, exact where they meet."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch

import numpy as np

from solvers.cells.system import CellSystem
from solvers.cells.worlds import RandomSource, draw_world, filled_cells, list_worlds, spread_world
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import share_of_counts
from solvers.programs.verdicts import POOL, VerdictProver, decide
from solvers.statements.questions.answers import (
    COARSE,
    Answer,
    DecideAnswer,
    ExtremeAnswer,
    LeaveOneOutAnswer,
    ShareAnswer,
    WorldsAnswer,
    each_once,
    unanswered,
)
from solvers.statements.questions.query import (
    Decide,
    Enumerate,
    Extreme,
    LeaveOneOut,
    MostLikely,
    Query,
    Sample,
    Selections,
    ShareQuery,
)
from solvers.statements.release import RowWorld

FIRST = {MostLikely: "first world: most-likely", Extreme: "first world: extreme"}
LOG_SCALE = 1 << 10  # logarithms in the objective of the heaviest histogram are whole multiples of 1/1024
STEPS = 64  # segments of a cell's concave objective
NOT_UNIFORM = "found by CP-SAT with random objectives: a possible world, not a uniform draw"
NOT_HEAVIEST = "a possible world, not proved to be the heaviest"


def prove(system: CellSystem, query: Query, limits: Limits) -> Answer:
    """Return what CP-SAT and the relaxation say; status "unsat" where no histogram exists, "unknown" if not found."""
    limits = limits.limited()
    if system.coarse and query.lists_worlds:
        raise Unsupported(COARSE)
    if isinstance(query, LeaveOneOut):
        return LeaveOneOutAnswer("bounds", share=np.full(len(query.inner), np.nan))
    prover = VerdictProver(system, limits)
    if isinstance(query, Enumerate):
        return WorldsAnswer("exact", worlds=_enumerate_worlds(prover))
    if isinstance(query, Decide):
        return decide(prover, query)
    return prover.start(limits.stage(FIRST.get(type(query), "first world: others"))) or _answer(query, prover)


@singledispatch
def _answer(query: Query, prover: VerdictProver) -> Answer:
    """Return what single solves say to a question, once a world is known; `Unsupported` of any other kind."""
    raise unanswered(query, "CP-SAT without all histograms")


@_answer.register(ShareQuery)
def _(query: ShareQuery, prover: VerdictProver) -> Answer:
    def counts(some: Selections) -> DecideAnswer:
        return decide(prover, Decide(some, "ordered"))

    lower, upper = share_of_counts(*(each_once(x, counts) for x in (query.inner, query.other)))
    return ShareAnswer("bounds", lower=lower, upper=upper)


@_answer.register(Sample)
def _(query: Sample, prover: VerdictProver) -> Answer:
    return WorldsAnswer("bounds", worlds=_draw(prover, query), trail=(NOT_UNIFORM,))


@_answer.register(Extreme)
def _(query: Extreme, prover: VerdictProver) -> Answer:
    return _extreme(prover, query)


@_answer.register(MostLikely)
def _(query: MostLikely, prover: VerdictProver) -> Answer:
    return WorldsAnswer("exact", worlds=iter([_heaviest(prover, query)]))


def _enumerate_worlds(prover: VerdictProver) -> Iterator[RowWorld]:
    """Yield every world once up to row order, one histogram after the other."""
    for z in prover.model.every(prover.limits):
        yield from list_worlds(prover.system.release.domain, filled_cells(prover.system, z))


def _draw(prover: VerdictProver, query: Sample) -> Iterator[RowWorld]:
    """Yield k possible worlds that random objectives led to; they are not uniform, and say so."""
    random = RandomSource(query.seed)
    for _ in range(query.k):
        coefs = np.zeros(len(prover.system.sizes), dtype=np.int64)
        coefs[prover.system.free] = [random.exact.randrange(-8, 9) for _ in range(len(prover.system.free))]
        found = prover.exactly(coefs, True, prover.limits.stage("drawn world"))
        z = found.histogram if found.histogram is not None else prover.pool[-1]
        del prover.pool[POOL:]  # what is drawn is not kept
        world = draw_world(prover.system.release.domain, filled_cells(prover.system, z), query.convention, random)
        yield replace(world, note=NOT_UNIFORM)


def _extreme(prover: VerdictProver, query: Extreme) -> ExtremeAnswer:
    """Return proved bounds on an extreme, exact where CP-SAT proves it, with the best world found."""
    found = prover.exactly(query.coefs, query.greatest, prover.limits)
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


def _heaviest(prover: VerdictProver, query: MostLikely) -> RowWorld:
    """Return the world of the heaviest histogram that CP-SAT found in half of the time left.

    With the number of rows open, the most rows that any world was found to have come first.
    """
    system, model = prover.system, prover.model.model.clone()
    complete = True
    if not system.release.rows.exact:
        maximum = prover.exactly(np.ones(len(system.sizes), dtype=np.int64), True, prover.limits.stage("most rows"))
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
    found = prover.model.solve(sum(terms), False, prover.limits.stage("heaviest histogram"), model)
    z = found.histogram if found.histogram is not None else hint
    world = spread_world(system.release.domain, filled_cells(system, z), RandomSource(query.seed))
    several = any((z != other).any() for other in prover.pool) or any(system.sizes[c] > 1 for c in np.flatnonzero(z))
    note = "" if found.proved and complete else NOT_HEAVIEST
    return replace(world, unique=False if several else None, note=note)
