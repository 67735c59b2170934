"""From all histograms to answers: what every engine that knows them all says to each question.

Source: Ferry et al., SaTML 2024 (possible worlds, equally likely); docs/mathematics.md, "Possible worlds and their
conventions" and "Membership".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem
from solvers.cells.worlds import RandomSource, draw_world, filled_cells, list_worlds, spread_world
from solvers.foundation.array_types import Ints
from solvers.foundation.exact import Factor, log2_sum, product
from solvers.foundation.limits import Limits
from solvers.histograms.branches import Final, HistogramBranch, WeightedHistograms, branches_of, extreme_histogram
from solvers.histograms.decision_diagram import Layers, incoming
from solvers.histograms.system_membership import decide_coupled, leave_one_out_coupled, share_coupled
from solvers.statements.questions.answers import (
    Answer,
    CountAnswer,
    ExtremeAnswer,
    JointAnswer,
    PerCellAnswer,
    WorldsAnswer,
    refuted,
    unanswered,
)
from solvers.statements.questions.query import (
    Attain,
    Convention,
    Count,
    Decide,
    Enumerate,
    Extreme,
    Joint,
    LeaveOneOut,
    MostLikely,
    PerCell,
    Query,
    Sample,
    ShareQuery,
)
from solvers.statements.release import RowWorld

Branches = tuple[HistogramBranch, ...]


def answer_from(system: CellSystem, branches: Branches, query: Query, limits: Limits) -> Answer:
    """Return the exact answer from every branch of a system; "unsat" where there is none.

    Raises `Inconclusive` when time is up, `TooLarge` where numbers do not fit into the memory.
    """
    for branch in branches:
        branch.hear(limits)
    if not branches:
        return refuted(query)
    return _answer(query, system, branches, limits)


@singledispatch
def _answer(query: Query, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    """Return what all histograms say to a question; `Unsupported` of a kind that is not registered here."""
    raise unanswered(query, "engines that know all histograms")


@_answer.register(PerCell)
def _(query: PerCell, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return _per_cell(branches)


@_answer.register(Count)
def _(query: Count, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return _count(_known_solution(system, branches, query.convention), query.convention)


@_answer.register(Decide)
def _(query: Decide, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return decide_coupled(_known_solution(system, branches, query.convention), query, limits)


@_answer.register(LeaveOneOut)
def _(query: LeaveOneOut, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return leave_one_out_coupled(_known_solution(system, branches, query.convention), query, limits)


@_answer.register(ShareQuery)
def _(query: ShareQuery, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return share_coupled(_known_solution(system, branches, "ordered"), query, limits)


@_answer.register(Enumerate)
def _(query: Enumerate, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return WorldsAnswer("exact", worlds=_enumerate_worlds(system, branches))


@_answer.register(Sample)
def _(query: Sample, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return WorldsAnswer("exact", worlds=_sample_worlds(_known_solution(system, branches, query.convention), query))


@_answer.register(Extreme)
def _(query: Extreme, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return _extreme(system, branches, query)


@_answer.register(Joint)
def _(query: Joint, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    asked, _ = system.asking(query.sums)
    return joint(WeightedHistograms(asked, tuple(_listed_sums(b, query.sums) for b in branches), query.convention))


@_answer.register(MostLikely)
def _(query: MostLikely, system: CellSystem, branches: Branches, limits: Limits) -> Answer:
    return WorldsAnswer("exact", worlds=iter([_most_likely(system, branches, RandomSource(query.seed))]))


def _known_solution(
    system: CellSystem, branches: tuple[HistogramBranch, ...], convention: Convention
) -> WeightedHistograms:
    """Return the solution of a convention, with everything it has computed so far."""
    known = system.derived.part(KnownSolutions).by_convention
    found = known.get(convention)
    if found is None or found.branches is not branches:
        found = known[convention] = WeightedHistograms(system, branches, convention)
    return found


@dataclass(slots=True)
class KnownSolutions:
    """The solutions of a system, with what they have computed."""

    by_convention: dict[Convention, WeightedHistograms] = field(default_factory=dict)


def _listed_sums(branch: HistogramBranch, sums: NDArray[np.int64]) -> HistogramBranch:
    """Return a branch of one histogram with the sums it has among its totals."""
    if branch.graphs:
        raise TypeError("the branch is not one histogram")
    return replace(branch, totals=np.concatenate([branch.totals, [sums @ branch.bounds.lower]], axis=1))


def _per_cell(branches: Sequence[HistogramBranch]) -> PerCellAnswer:
    """Return the least and greatest number of rows of every cell over all histograms."""
    minimum, maximum = [], []
    for branch in branches:
        low, high = branch.bounds.lower.copy(), branch.bounds.lower.copy()
        for graph in branch.graphs:
            lower, many = graph.ranges()
            low[graph.part.cells] += lower
            high[graph.part.cells] += many
        minimum.append(low)
        maximum.append(high)
    return PerCellAnswer("exact", minimum=np.min(minimum, axis=0), maximum=np.max(maximum, axis=0))


def _count(solution: WeightedHistograms, convention: Convention) -> CountAnswer:
    """Return the exact number of worlds."""
    by_rows: dict[int, list[Final]] = {}
    for final in solution.finals:
        by_rows.setdefault(solution.rows(final), []).append(final)

    def factors() -> dict[int, list[Factor]]:
        out = {}
        for n, finals in sorted(by_rows.items()):
            every = [solution.factors(f) for f in finals]
            out[n] = every[0] if len(every) == 1 else [(sum(map(product, every)), 1)]
        return out

    logs = {n: log2_sum([solution.log2[f] for f in finals]) for n, finals in sorted(by_rows.items())}
    log2 = log2_sum(list(logs.values()))
    return CountAnswer(
        "exact",
        convention=convention,
        bounds=(log2, log2),
        per_rows=factors,
        log2_per_rows=logs,
        relative=solution.system.release.domain.relative,
        trail=tuple(str(b.presolved) for b in solution.branches[:1]),
    )


def _histograms(branch: HistogramBranch) -> Iterator[Ints]:
    """Yield every histogram z of a branch once."""

    def below(g: int, z: Ints) -> Iterator[Ints]:
        if g == len(branch.graphs):
            yield z.copy()
            return
        graph = branch.graphs[g]
        for y in graph.paths():
            z[graph.part.cells] = branch.bounds.lower[graph.part.cells] + y
            yield from below(g + 1, z)

    yield from below(0, branch.bounds.lower.copy())


def _enumerate_worlds(system: CellSystem, branches: Sequence[HistogramBranch]) -> Iterator[RowWorld]:
    """Yield every world once up to row order, lazily."""
    for branch in branches:
        for z in _histograms(branch):
            yield from list_worlds(system.release.domain, filled_cells(system, z))


def _sample_worlds(solution: WeightedHistograms, query: Sample) -> Iterator[RowWorld]:
    """Yield k worlds drawn independently, exactly uniform: final state, backward walk by exact counts, rows.

    An open number of rows is drawn uniformly first.
    """
    random = RandomSource(query.seed)
    by_rows: dict[int, list[Final]] = {}
    for final in solution.finals:
        by_rows.setdefault(solution.rows(final), []).append(final)
    numbers = sorted(by_rows)
    prefixes: dict[tuple[int, int], list[NDArray[Any]]] = {}
    for _ in range(query.k):
        finals = by_rows[numbers[random.exact.randrange(len(numbers))]]
        counts = [product(solution.factors(f)) for f in finals] if len(finals) > 1 else [1]
        b, f = finals[_ticket(counts, random)]
        branch = solution.branches[b]
        z = branch.bounds.lower.copy()
        for g, graph in enumerate(branch.graphs):
            if (b, g) not in prefixes:
                prefixes[b, g] = graph.prefixes(solution.weights(b, g))
            _sample_path(graph, prefixes[b, g], solution.weights(b, g), branch.final(g, f), z, random)
        yield draw_world(solution.system.release.domain, filled_cells(solution.system, z), query.convention, random)


def _ticket(weights: Sequence[int], random: RandomSource) -> int:
    """Return an index drawn with probability proportional to its whole weight, exactly."""
    rest = random.exact.randrange(sum(weights))
    for i, w in enumerate(weights):
        if rest < w:
            return i
        rest -= w
    raise AssertionError("the weights changed while a ticket was drawn")


def _sample_path(
    graph: Layers, prefixes: list[NDArray[Any]], weights: list[list[int]], state: int, z: Ints, random: RandomSource
) -> None:
    """Add to z a histogram drawn by exact counts, walking backward from a final state."""
    for i in range(len(graph.layers) - 1, -1, -1):
        layer, cell = graph.layers[i], graph.order[i]
        edges = incoming(layer, state)
        counts = [prefixes[i][layer.source[e]] * weights[cell][layer.y[e]] for e in edges]
        e = edges[_ticket(counts, random)]
        z[graph.part.cells[cell]] += int(layer.y[e])
        state = int(layer.source[e])


def _spread_costs(system: CellSystem, branch: HistogramBranch, graph: Layers) -> list[NDArray[np.float64]]:
    """Return, per free cell, ln of how much fewer orders its rows have when spread evenly: Σ_i ln ⌈i / size⌉."""
    costs = []
    for c, room in zip(graph.part.cells.tolist(), graph.part.room.tolist(), strict=True):
        low, size = int(branch.bounds.lower[c]), system.sizes[c]
        steps = [math.log(-(-i // size)) for i in range(low + 1, low + room + 1)]
        costs.append(np.concatenate([[0.0], np.cumsum(steps)]))
    return costs


def _most_likely(system: CellSystem, branches: Sequence[HistogramBranch], random: RandomSource) -> RowWorld:
    """Return a world with the heaviest histogram: the dataset that stands for most sequences of rows.

    Exact statements leave all worlds equally likely. With the number of rows open, the largest is taken.
    """
    rows_kept = not system.release.rows.exact
    best: tuple[int, float, Ints] | None = None
    for branch in branches:
        final = int(np.argmax(branch.totals[:, 0])) if rows_kept else 0
        z, cost = branch.bounds.lower.copy(), _fixed_cost(system, branch)
        for g, graph in enumerate(branch.graphs):
            found, y = graph.extreme(_spread_costs(system, branch, graph), False, branch.final(g, final))
            z[graph.part.cells] += y
            cost += float(found)
        if best is None or (int(z.sum()), -cost) > (best[0], -best[1]):
            best = int(z.sum()), cost, z
    if best is None:
        raise AssertionError("no branch")
    world = spread_world(system.release.domain, filled_cells(system, best[2]), random)
    return replace(world, unique=not system.coarse and _is_unique(system, branches))


def _fixed_cost(system: CellSystem, branch: HistogramBranch) -> float:
    """Return ln of the factor that the least counts of all cells cost, rows spread evenly."""
    total = 0.0
    for c in np.flatnonzero(branch.bounds.lower > 0).tolist():
        z, size = int(branch.bounds.lower[c]), system.sizes[c]
        base, extra = divmod(z, size)
        if base:  # else the size may be beyond all floats, and rows that differ cost nothing
            total += (size - extra) * math.lgamma(base + 1) + extra * math.lgamma(base + 2)
    return total


def _is_unique(system: CellSystem, branches: Sequence[HistogramBranch]) -> bool:
    """Return whether there is one histogram, and one dataset for it."""
    if len(branches) > 1 or any(len(b.totals) > 1 for b in branches):
        return False
    paths = next(_histograms(branches[0]))
    several = any(g.count([[1] * (room + 1) for room in g.part.room.tolist()]) != [1] for g in branches[0].graphs)
    return not several and all(system.sizes[c] == 1 for c in np.flatnonzero(paths).tolist())


def _extreme(system: CellSystem, branches: Sequence[HistogramBranch], query: Extreme) -> ExtremeAnswer:
    """Return the extreme of a linear functional over all histograms, with a world that attains it."""
    value, z = extreme_histogram(branches, query.coefs, query.greatest)
    world = None
    if not system.release.domain.relative:
        world = spread_world(system.release.domain, filled_cells(system, z), RandomSource(query.seed))
    return ExtremeAnswer("exact", bounds=(value, value), histogram=z, world=world)


def joint(solution: WeightedHistograms) -> JointAnswer:
    """Return the joint distribution of the sums that the branches keep, behind an open number of rows."""
    if not solution.branches:
        return JointAnswer("unsat")
    first = 1 if solution.open_rows else 0
    values = np.array([solution.branches[b].totals[f, first:] for b, f in solution.finals], dtype=np.int64)
    shares = np.array([solution.shares[final] for final in solution.finals])
    distinct, back = np.unique(values, axis=0, return_inverse=True)
    added = np.bincount(back.reshape(-1), shares, minlength=len(distinct)).astype(np.float64)
    return JointAnswer("exact", values=distinct, shares=added)


def attain(system: CellSystem, query: Attain, limits: Limits) -> Answer:
    """Return a world in which the sums take the values; "unsat" where there is none."""
    asked, _ = system.asking(query.sums, query.values)
    for branch in branches_of(asked, limits):
        z = next(_histograms(branch))
        world = spread_world(system.release.domain, filled_cells(system, z), RandomSource(query.seed))
        return WorldsAnswer("exact", worlds=iter([world]))
    return Answer("unsat")
