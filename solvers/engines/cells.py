"""Engines over cells: histograms counted exactly, listed by CP-SAT or likeliest under noise; bounds by programs.

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

Rigorous outer bounds by linear programming alone, and contradictions that it proves (Farkas).

Source: Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming", 2004.

A rigorous interval for the number of worlds where statements are too coupled to count.

Source: docs/engines.md, "Coupled worlds, bounded"; `solvers.programs.interval.bracket` and the modules that it names.

Rigorous outer bounds where the cells are too many: linear programming over columns that pricing brings in.

Source: column generation, Lübbecke and Desrosiers, "Selected topics in column generation", 2005; see
solvers.programs.columns.master.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from solvers.cells.linear_system import propagate
from solvers.cells.system import CellSystem, cells_fit, keep_system, system_of
from solvers.engines.figures.system import sharpened
from solvers.engines.independent_groups import count_by_groups, decide_by_groups
from solvers.foundation.errors import ContradictionError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.answering import answer_from, attain, joint
from solvers.histograms.branches import HistogramBranch, WeightedHistograms, branches_of
from solvers.histograms.short_vectors import short_worlds
from solvers.programs.columns.master import decide_without_cells
from solvers.statements.questions.answers import (
    COARSE,
    FEW_CELLS,
    Answer,
    BoxMultipliers,
    CountAnswer,
    DecideAnswer,
    Engine,
    ExtremeAnswer,
    PerCellAnswer,
    Side,
    WorldsAnswer,
    no_coupling,
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
    Selections,
    ShareQuery,
)
from solvers.statements.release import Release

if TYPE_CHECKING:
    from solvers.programs.interval.bracket import BracketCase

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


class LinearProgramEngine(Engine):
    """Outer bounds on linear figures, and contradictions; never a world. Bounds on profiles `cpsat` has from it."""

    name = "lp"
    answers = (Count, Extreme)
    needs = ("highspy",)
    about = "rigorous outer bounds by linear programming over cells, and contradictions that it proves"
    cells = "few"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why there is nothing to bound, or None."""
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return an outer bound, or that there is no world."""
        from solvers.programs.linear_program import Relaxation

        system = system_of(release, limits)
        relaxation = Relaxation(system, limits)
        if system.bounds.conflict is not None or relaxation.refutes(limits):
            return refuted(query)
        if isinstance(query, Count):
            raise Unsupported("linear programming does not count worlds")
        if not isinstance(query, Extreme):
            raise unanswered(query, self.name)
        value = relaxation.bound(query.coefs, query.greatest, limits)
        return ExtremeAnswer("bounds", bounds=(None, value) if query.greatest else (value, None))


MAX_NUMBERS = 200  # possible numbers of rows


class IntervalEngine(Engine):
    """Any statements with known bounds on the number of rows; bounds on log2 of the count."""

    name = "interval"
    answers = (Count,)
    needs = ("ortools",)
    about = "forests and tables too coupled to count: rigorous bounds on the number of worlds"
    cells = "few"
    coarse = False

    def __init__(self, count_small: bool = True) -> None:
        """Make the engine; `count_small` False bounds even the components that could be counted."""
        self.count_small = count_small

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no interval is given, or None."""
        if release.rows.high is None:
            return "the number of rows is unbounded"
        if getattr(query, "convention", None) == "assigned":
            return "'assigned' worlds need one partition with exact counts"
        if release.domain.relative:
            return "a continuous attribute has no 'resolution': only ratios of counts mean anything"
        if release.rows.high - release.rows.low >= MAX_NUMBERS:
            return f"more than {MAX_NUMBERS} possible numbers of rows"
        return None

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return bounds on log2 of the number of worlds, or that there is none.

        Takes the time that is left, at most the stage "interval". Raises `Unsupported` where cells are too many.
        """
        reason = self.refuses(release, query)
        if reason is not None:
            raise Unsupported(reason)
        if not isinstance(query, Count):
            raise unanswered(query, self.name)
        system = system_of(release, limits)
        if system.coarse:
            raise Unsupported("an attribute whose values are summed has too many values to cut at each: no counting")
        convention: Convention = query.convention
        if system.bounds.conflict is not None:
            return CountAnswer("unsat", convention=convention)
        brackets, trail = self.brackets(system, convention, limits)
        low, high = _add_logs([b[0] for b in brackets], False), _add_logs([b[1] for b in brackets], True)
        if high < 0.0:  # fewer worlds than one
            return CountAnswer("unsat", convention=convention, trail=trail)
        return CountAnswer("bounds", convention=convention, bounds=(low, high), trail=trail)

    def brackets(
        self, system: CellSystem, convention: Convention, limits: Limits
    ) -> tuple[list[tuple[float, float]], tuple[str, ...]]:
        """Return the bounds for every possible number of rows, and how far presolve got on the first."""
        from solvers.programs.interval.bracket import Bracket, WorkStretch

        rows = system.release.rows
        numbers = range(rows.low, (rows.low if rows.high is None else rows.high) + 1)
        limits = limits.stage("interval")
        seconds = limits.work_left()
        out: list[tuple[float, float]] = []
        trail: tuple[str, ...] = ()
        whole = WorkStretch(limits, seconds)
        for done, n in enumerate(numbers):
            case = _case_of(system, n, convention)
            if case is None:
                continue
            share = whole.left(1.0) / (len(numbers) - done)
            bracket = Bracket(case, WorkStretch(limits, share), self.count_small)
            trail = trail or (str(bracket.presolved),)
            try:
                bracket.run()
            except Inconclusive as error:  # wherever it stopped, the bounds found by then hold
                trail = (*trail, str(error))
            out.append((bracket.low, bracket.high))
        return out, trail


def _case_of(system: CellSystem, n: int, convention: Convention) -> BracketCase | None:
    """Return the system with n rows, None where propagation refutes it."""
    from solvers.programs.interval.bracket import BracketCase

    linear = system.linear.take(system.always) if system.choices else system.linear
    if system.total is None or system.release.rows.exact:
        return BracketCase(system, linear, system.bounds, n, convention)
    low, high = linear.low.copy(), linear.high.copy()
    low[system.total] = high[system.total] = n
    linear = replace(linear, low=low, high=high)
    upper = np.minimum(system.bounds.upper, n)
    if bool((upper < system.bounds.lower).any()):
        return None
    found = propagate(linear, system.bounds.lower, upper, trace=False)
    return None if found.conflict is not None else BracketCase(system, linear, found, n, convention)


def _add_logs(logs: list[float], up: bool) -> float:
    """Return log2 Σ 2^x, rounded up or down; one term stays as it is."""
    top = max(logs, default=-math.inf)
    if len(logs) < 2 or math.isinf(top):
        return top
    found = top + math.log2(math.fsum(2.0 ** (x - top) for x in logs))
    slack = 2.0**-46 * (1.0 + abs(found))
    return found + slack if up else max(top, found - slack)


class ColumnsEngine(Engine):
    """Outer bounds on numbers of rows without cells; never a world, never a share."""

    name = "columns"
    answers = (Decide, Count)
    needs = ("ortools", "highspy")
    about = "where the cells are too many: rigorous outer bounds by column generation, and contradictions"
    cells = "many"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why there is nothing to bound, or None."""
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return outer bounds, or that there is no world."""
        limits = limits.limited()
        if cells_fit(release, limits):
            raise Unsupported(FEW_CELLS)
        if isinstance(query, Count):
            from solvers.programs.columns.master import MasterProgram

            if MasterProgram.of(release, limits).refutes(limits.stage("contradiction by columns")) is not None:
                return refuted(query)
            if (counted := count_by_groups(release, query.convention, limits)) is not None:
                return counted
            raise Unsupported("column generation does not count worlds, and found no contradiction")
        if not isinstance(query, Decide):
            raise unanswered(query, self.name)
        begun = sharpened(release, query.selections, decide_without_cells(release, query, limits), settled=True)
        apart = decide_by_groups(release, query, begun, limits)
        if apart is None:
            return refuted(query)
        found = _tighter(release, query.selections, apart, limits)
        return Answer("unsat") if found is None else found


def _tighter(release: Release, chosen: Selections, known: DecideAnswer, limits: Limits) -> DecideAnswer | None:
    """Return the bounds on selections made tighter where their verdict is open, None where no world exists.

    The nearest to a verdict come first. Ends with what is proved when time is up.
    """
    from solvers.programs.columns.master import MasterProgram

    low, high = known.low.copy(), known.high.copy()
    left = np.flatnonzero(known.open)[np.argsort(known.high[known.open], kind="stable")].tolist()
    if not left or limits.expired():
        return known
    try:
        master, boxes = MasterProgram.of(release, limits), chosen.boxes()
        if master.refutes(limits.stage("fractional world")) is not None:
            return None
    except (Inconclusive, TooLarge) as error:  # what single partitions say stands
        return replace(known, trail=(*known.trail, f"columns: {error}"))
    master, multipliers, trail = master.copied(), dict[Side, BoxMultipliers](), dict[str, None]()
    for done, q in enumerate(left):
        limits.report(f"column generation: {done} of {len(left)} open profiles")
        for box, greatest, sides in ((boxes[q][0], True, 1), (boxes[q][1], False, 2)):
            if limits.expired():
                break
            if box.empty or (low[q] > 0 or high[q] <= 0) or master.hopeless(box, greatest):
                continue
            some = limits.stage("side of a box", parts=2 * (len(left) - done) + 1 - sides)
            try:
                bound = master.bound(box, greatest, some, verdict=True)
            except (Inconclusive, Unsupported) as error:  # what is proved by then stands
                trail[f"columns: {error}"] = None
                continue
            multipliers[box, greatest], value = BoxMultipliers(bound.multipliers, bound.scale), bound.value
            low[q], high[q] = (low[q], min(high[q], value)) if greatest else (max(low[q], value), high[q])
            if low[q] > high[q]:
                return None
    before = known.before, known.expected_before
    return DecideAnswer.of(low, high, before, multipliers=multipliers, trail=(*known.trail, *trail))
