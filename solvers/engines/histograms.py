"""Histograms over cells: counted exactly, listed and bounded by CP-SAT, or the likeliest one under noise.

Exact answers for any blocks of statements: dynamic programming over cells, component by component.

Source: docs/engines.md, "Coupled worlds, exactly"; possible worlds after Ferry et al., SaTML 2024. A row-by-row
formulation of the same problem for forests: Ferry et al., "Trained Random Forests Completely Reveal your
Dataset", ICML 2024.

Worlds found and bounded by CP-SAT, where histograms are few enough to list or too many to count.

Every histogram that CP-SAT gives is checked against all statements; bounds on numbers of rows come from the linear
relaxation in exact arithmetic and from CP-SAT's own proofs.

Source: CP-SAT (Google OR-Tools); docs/engines.md, "Worlds, extremes and refutations".

The most likely world of a noisy release: a histogram of maximum likelihood, its rows spread inside the cells.

Source: `solvers.noisy.likelihood.most_likely` and what it names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from solvers.cells.system import CellSystem, keep_system, system_of
from solvers.foundation.errors import ContradictionError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.answering import answer_from, attain, joint
from solvers.histograms.branches import HistogramBranch, WeightedHistograms, branches_of
from solvers.histograms.short_vectors import short_worlds
from solvers.statements.questions.answers import (
    COARSE,
    Answer,
    Engine,
    PerCellAnswer,
    WorldsAnswer,
    no_coupling,
    refuted,
    unanswered,
)
from solvers.statements.questions.query import (
    Attain,
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
from solvers.statements.release import Release

FEWER = 0.4  # of the open cells: where programs leave more of them, graphs are not tried again


class HistogramEngine(Engine):
    """Any statements whose histograms fit into layered graphs."""

    name = "histogram"
    answers = (Attain, PerCell, Count, Decide, LeaveOneOut, ShareQuery, Enumerate, Sample, MostLikely, Extreme, Joint)
    about = "any trees, forests, rule sets and tables over the same rows: exact dynamic programming over cells"
    cells = "few"
    coarse = False

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why worlds cannot be counted, or None."""
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the exact answer; raises `Unsupported` where cells, states or combinations are too many."""
        system = system_of(release, limits)
        whole = limits
        bounds_alone = isinstance(query, Decide) and not query.shares
        # what is not done by then leaves the time to engines that bound
        limits = limits.stage("graphs for bounds alone" if bounds_alone else "graphs")
        if system.bounds.conflict is not None:
            return refuted(query)
        if system.coarse:
            raise Unsupported(COARSE)
        if isinstance(query, Attain):
            return attain(system, query, limits)
        short = short_worlds(system, limits)
        if short is not None and (short.all or (short.branches and isinstance(query, MostLikely))):
            found = answer_from(system, short.branches, query, whole)
            return found if short.all else _one_of_them(found, short.why)
        if isinstance(query, Joint):
            asked, rows = system.asking(query.sums)
            return joint(WeightedHistograms(asked, branches_of(asked, limits, rows), query.convention))
        try:
            branches = _known_branches(system, limits)
        except Unsupported:
            one_by_one = isinstance(query, Decide) and len(query.selections) < len(system.free)
            narrower = None if one_by_one else _narrowed(release, system, limits)
            if narrower is None or len(narrower.free) > FEWER * len(system.free):
                raise
            system, branches = narrower, _known_branches(narrower, limits)
        if isinstance(query, Count | Decide | LeaveOneOut | ShareQuery | Extreme):
            whole = whole.stage("passes")
        return answer_from(system, branches, query, whole)


def _one_of_them(found: Answer, why: str) -> Answer:
    """Return a world that was found, without saying that it is the only one."""
    if not isinstance(found, WorldsAnswer):
        return found
    return replace(found, worlds=(replace(world, unique=None, note=why) for world in found.worlds))


def _narrowed(release: Release, system: CellSystem, limits: Limits) -> CellSystem | None:
    """Return the system with tighter bounds on its cells, which all engines know from then on; None for none."""
    from solvers.programs.linear_program import tightened

    found = tightened(system, limits.stage("tightening"))
    if found is not None:
        keep_system(release, found)
    return found


def _known_branches(system: CellSystem, limits: Limits) -> tuple[HistogramBranch, ...]:
    """Return the branches of a system, from memory where they, or their being too many, are known."""
    known = system.derived.part(KnownBranches)
    if known.branches is None:
        if known.why is not None and limits.room <= known.room:
            raise known.why
        known.room = limits.room
        try:
            known.branches = branches_of(system, limits)
        except Unsupported as error:
            known.why = error
            raise
    return known.branches


@dataclass(slots=True)
class KnownBranches:
    """The branches of a system, or why there are none within `room` bytes."""

    branches: tuple[HistogramBranch, ...] | None = None
    why: Unsupported | None = None
    room: int = 0


class CpSatEngine(Engine):
    """Any statements over cells: all histograms if they are few, else one world at a time."""

    name = "cpsat"
    answers = (PerCell, Count, Decide, LeaveOneOut, ShareQuery, Enumerate, Sample, MostLikely, Extreme, Joint)
    needs = ("ortools", "highspy")
    about = "the same by CP-SAT: lists few histograms, else finds worlds and bounds numbers of rows"
    cells = "few"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why CP-SAT is not asked, or None."""
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the exact answer where all histograms could be listed, else what single solves prove."""
        from solvers.programs.bounded_answers import prove
        from solvers.programs.cell_model import listed_histograms

        system = system_of(release, limits)
        if system.bounds.conflict is not None:
            return refuted(query)
        remembered = system.derived.part(ListedHistograms)
        try:
            if remembered.branches is None:
                remembered.branches = listed_histograms(system, limits)
            known = remembered.branches
        except Inconclusive as error:  # not remembered: more time might list them
            known = str(error)
        if isinstance(known, tuple) and not (system.coarse and known):
            return answer_from(system, known, query, limits)
        if isinstance(query, Count | Joint):
            raise Unsupported(known if isinstance(known, str) else COARSE)
        if isinstance(query, PerCell):
            return PerCellAnswer("bounds", minimum=system.bounds.lower, maximum=system.bounds.upper)
        return prove(system, query, limits)


@dataclass(slots=True)
class ListedHistograms:
    """The histograms of a system as branches, or why they are too many to list."""

    branches: tuple[HistogramBranch, ...] | str | None = None


class LikeliestEngine(Engine):
    """Releases with noisy counts; a world whose counts make the published figures most likely."""

    name = "likeliest"
    answers = (MostLikely,)
    needs = ("ortools", "scipy", "highspy")
    about = "the most likely world of noisy counts: linear relaxation, moves of rows, CP-SAT for a proof"
    coarse = False

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no most likely world is looked for, or None."""
        if not any(release.observed):
            return "no noisy counts"
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world of maximum likelihood; its note says how good it is proved to be.

        Status "bounds" where the optimum is not proved in time, "unsat" where no world has a positive likelihood.
        """
        from solvers.cells.worlds import RandomSource, filled_cells, spread_world
        from solvers.noisy.likelihood.most_likely import most_likely_of
        from solvers.statements.observations import observations

        if not isinstance(query, MostLikely):
            raise unanswered(query, self.name)
        if release.coarse:
            raise Unsupported(COARSE)
        try:
            system, found = most_likely_of(release, observations(release), limits)
        except ContradictionError as error:
            return refuted(query, error.conflict)
        world = spread_world(release.domain, filled_cells(system, found.histogram), RandomSource(query.seed))
        world = replace(world, note=found.describe("world"), figures=found.figures())
        return WorldsAnswer("exact" if found.proved else "bounds", worlds=iter([world]))
