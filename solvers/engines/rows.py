"""Engines over rows: rows distinguished by their leaves; where cells are too many, worlds by moves, SAT and chance.

Where the cells are too many: one world row by row, and bounds that every single partition gives.

Source: the row-by-row formulation of Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML
2024, for any statements.

One world where nothing tells rows apart and the cells may be too many: rows moved until every statement holds.

Source: simulated annealing over rows, see solvers.programs.local_search.loops.

Where the cells are too many: row by row by SAT, which refutes, finds worlds and settles profiles one by one.

Source: the row-by-row formulation of Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML
2024, for any statements; `solvers.cells.clauses.lowering` for the clauses.

One world under which trees on bags that nobody knows are likely to count what they counted.

A world must explain the counts; the more rows a leaf holds, the more ways there are to draw what it counted. Measured,
such worlds are nearer to the truth than others that fit (docs/measured.md).

Source: Metropolis over worlds, see solvers.programs.local_search.finding.

Rows distinguished: what their leaves in all trees prove by position, where the bags of the trees are known.

What every tree counts of a known resample says for each position which leaves it can lie in; leaves of one row must
share a point. Propagation over both to its end leaves places, from which verdicts, bounds and worlds follow. Without
bags, a tree or table whose leaves hold one row each tells rows apart as well: where the cells are too many, that is the
program row by row which finds a world.

Source: see `solvers.statements.row_problem`, `solvers.positions.assignments.world` and `solvers.positions`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.cells.clauses.gates import FALSE, clauses_needed
from solvers.cells.clauses.lowering import Lowering, lower, state_clauses
from solvers.cells.clauses.sat import LiteralQuestion, SatResult, satisfy, solve_questions
from solvers.cells.system import cells_fit, cells_known, system_of
from solvers.cells.worlds import RandomSource
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.exact import multinomial_factors
from solvers.foundation.limits import Limits
from solvers.positions.assignments.world import Assigned, assigned, room
from solvers.positions.known_world import (
    DeterminedRows,
    boxed,
    count_placed,
    determined_rows,
    draw_parts,
    draw_placed,
    known_world,
    list_placed,
    values_in,
)
from solvers.positions.verdicts import decide_placed, decide_settled, share_placed
from solvers.programs.columns.master import decide_apart, decide_by_rows, decide_without_cells, world_bounds, world_of
from solvers.programs.linear_program import verdict
from solvers.statements.boxes import Box, Region
from solvers.statements.questions.answers import (
    COARSE,
    FEW_CELLS,
    Answer,
    CountAnswer,
    DecideAnswer,
    Engine,
    LocatedAnswer,
    WorldsAnswer,
    no_coupling,
    not_searched,
    refuted,
    unanswered,
)
from solvers.statements.questions.query import (
    Convention,
    Count,
    Decide,
    Enumerate,
    Locate,
    MostLikely,
    Query,
    Sample,
    Selections,
    ShareQuery,
)
from solvers.statements.release import Release
from solvers.statements.row_problem import anchored, bags_with_most

NO_WORLD = "no possible world was found in time, and none was excluded"
ROWS_NOTE = "found row by row; not proved to be the heaviest, and whether others exist is not decided"


class RowsEngine(Engine):
    """One world, or honest bounds, without cells."""

    name = "rows"
    answers = (Count, Decide, MostLikely)
    needs = ("ortools",)
    about = "where the cells are too many: a world row by row, bounds from each tree alone"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why rows cannot be written out, or None."""
        if not release.rows.exact:
            return "the number of rows is open"
        if isinstance(query, MostLikely) and release.coarse:
            return COARSE
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world, or bounds on the number of worlds from a world and from every partition alone."""
        limits = limits.limited()
        if isinstance(query, Decide):
            return decide_without_cells(release, query, limits)
        if not isinstance(query, Count | MostLikely):
            raise unanswered(query, self.name)
        seed = query.seed if isinstance(query, MostLikely) else 0
        over_cells = isinstance(query, Count) and cells_known(release)
        status, rows, note = _over_cells(release, limits) if over_cells else _first_world(release, seed, limits)
        if status == "none":
            return refuted(query)
        if isinstance(query, Count):
            return world_bounds(release, query.convention, rows, note, limits, status == "found")
        if rows is None:
            return Answer("unknown", trail=(note,))
        return WorldsAnswer("exact", worlds=iter([world_of(release, rows, RandomSource(seed), ROWS_NOTE)]))


def _over_cells(release: Release, limits: Limits) -> tuple[str, None, str]:
    """Return whether there is a world, where the cells are known: row by row the program is larger, and bounds no more.

    The status is as that of `_first_world`.
    """
    solvable = verdict(system_of(release, limits), limits).solvable
    return ("none", None, "") if solvable is False else ("found", None, "") if solvable else ("unknown", None, NO_WORLD)


def _first_world(release: Release, seed: int, limits: Limits) -> tuple[str, NDArray[np.int64] | None, str]:
    """Return a world by the parts of its rows, distinguished where a tree or table does that, and why there is none.

    The status is "found", "none" (there is none) or "unknown".
    """
    from solvers.programs.row_model import RowModel

    try:
        if anchored(release) and (state := assigned(release, limits)) is not None:
            known = known_world(state, limits, seed)
            if seed in known.parts or known.contradicted:
                return "none" if known.contradicted else "found", known.parts.get(seed), ""
        status, rows = RowModel(release, limits).first()
        return status, rows, "" if rows is not None else NO_WORLD
    except (Inconclusive, Unsupported) as error:
        return "unknown", None, str(error)


SEARCHED_NOTE = "found by local search; not proved to be the heaviest, and whether others exist is not decided"
MANY = (
    "one of many, found by local search: the others are not counted, and the middle of what is proved of a row "
    "is as good a guess"
)
ATTAINED = "a data set was found that the statements hold of; how many there are is not defined"


class LocalSearchEngine(Engine):
    """One world of partitions and counts; never a proof that there is none."""

    name = "local_search"
    answers = (Count, MostLikely)
    about = "one world where rows cannot be distinguished: rows moved between leaves until all counts hold"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no world is searched for, or None."""
        if release.bags:
            return "the bags are known: counts of the rows alone do not make a world"
        if (reason := not_searched(release)) is not None:
            return reason
        if isinstance(query, Count) and not release.rows.exact:
            return "the number of rows is open"
        if release.domain.relative and release.rows.high is not None:
            return None  # rows as boxes of parts: what number of a part stands there makes no difference
        if release.domain.relative:
            return "the number of rows is open"
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world, or bounds on the number of worlds from one; raises `Inconclusive` where none is found."""
        limits = limits.limited()
        alone = release.domain.relative and isinstance(query, MostLikely)
        share = (
            limits
            if alone
            else limits.stage("local search for a count" if isinstance(query, Count) else "local search")
        )
        if not isinstance(query, Count | MostLikely):
            raise unanswered(query, self.name)
        from solvers.programs.local_search.finding import known_rows

        seed = query.seed if isinstance(query, MostLikely) else 0
        rows = known_rows(release, seed, share)
        if isinstance(query, Count) and release.domain.relative:
            return CountAnswer("bounds", convention=query.convention, relative=True, attained=True, trail=(ATTAINED,))
        if isinstance(query, Count):
            return world_bounds(release, query.convention, rows, "", limits, True)
        note = MANY if release.domain.relative else SEARCHED_NOTE
        return WorldsAnswer("exact", worlds=iter([world_of(release, rows, RandomSource(seed), note)]))


MAX_CLAUSES = 2_000_000  # beyond, a solver is rarely done within minutes
SAT_NOTE = "found row by row by SAT; not proved to be the heaviest, and whether others exist is not decided"


class SatEngine(Engine):
    """A world, a refutation, or verdicts on profiles, without cells."""

    name = "sat"
    answers = (Count, Decide, MostLikely)
    needs = ("pysat",)
    about = "where the cells are too many: contradictions, worlds and profiles row by row by SAT"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why rows cannot be written out as clauses, or None."""
        if not release.rows.exact:
            return "the number of rows is open"
        if isinstance(query, MostLikely) and release.coarse:
            return COARSE
        if (reason := no_coupling(release, query)) is not None:
            return reason
        needed = clauses_needed(release, raw=False)
        return f"about {needed:,.0f} clauses row by row are too many" if needed > MAX_CLAUSES else None

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world, bounds on profiles, or that there is no world; worlds are not counted."""
        limits = limits.limited()
        if isinstance(query, Decide):
            return _decide(release, query, limits)
        if isinstance(query, Count):
            found = _known_result(release, limits.stage("contradiction by SAT"))
            if found.status == "unsat":
                return refuted(query)
            raise Unsupported("SAT found a world row by row, and does not count worlds")
        if not isinstance(query, MostLikely):
            raise unanswered(query, self.name)
        found = _known_result(release, limits.stage("world by SAT"))
        if found.rows is None:
            return Answer("unsat")
        return WorldsAnswer("exact", worlds=iter([world_of(release, found.rows, RandomSource(query.seed), SAT_NOTE)]))


def _known_result(release: Release, limits: Limits) -> SatResult:
    """Return a world of a release or that there is none, from memory if known; raises `Inconclusive` if not found."""
    remembered = release.derived.part(RowWorldAnswer)
    if remembered.found is None:
        limits.report("a world row by row: SAT")
        found = satisfy(lower(release, limits, raw=False, sorted_rows=True), limits)
        if found.status == "unknown":
            raise Inconclusive(found.reason)
        remembered.found = found
    return remembered.found


@dataclass(slots=True)
class RowWorldAnswer:
    """A world of a release row by row, or that there is none."""

    found: SatResult | None = None


def _decide(release: Release, query: Decide, limits: Limits) -> Answer:
    """Return the bounds that partitions alone give, and for profiles these leave open whether a row can or must be.

    What the time does not settle stays open.
    """
    chosen = query.selections
    made = state_clauses(release, limits, raw=False, sorted_rows=True)
    trivial = False
    try:
        start = decide_apart(release, query, limits)
    except Unsupported:
        start, trivial = decide_by_rows(release, query, limits), True
    low, high, unsettled = start.low.copy(), np.minimum(start.high, release.rows.low), start.open.copy()
    questions: dict[LiteralQuestion, int] = {LiteralQuestion(): 0}
    about: list[tuple[int, int, int]] = []  # selection, question "can a row be there", question "can none be"
    for i in np.flatnonzero(unsettled).tolist():
        can, free = _questions_of(made, chosen, i)
        if not can.some:
            high[i] = 0
            continue
        can_be, can_miss = (questions.setdefault(q, len(questions)) for q in (can, free))
        about.append((i, can_be, can_miss))
    limits.report(f"profiles row by row: {len(about)}")
    try:
        found = solve_questions(made.finish(), list(questions), limits)
    except (Inconclusive, Unsupported) as error:
        if trivial:
            raise
        return replace(start, trail=(str(error),))
    if found.answers[0] is False:
        return Answer("unsat")
    loose = release.coarse
    for i, can_be, can_miss in about:
        high[i] = 0 if found.answers[can_be] is False else high[i]
        low[i] = max(low[i], 1) if found.answers[can_miss] is False else low[i]
        both = found.answers[can_be] is True and found.answers[can_miss] is True
        unsettled[i] = low[i] <= 0 < high[i] and (loose or not both)
    before = start.before, start.expected_before
    return DecideAnswer.of(low, high, before, open=unsettled & (low <= 0) & (high > 0))


def _questions_of(made: Lowering, chosen: Selections, i: int) -> tuple[LiteralQuestion, LiteralQuestion]:
    """Return the questions whether some row can be in selection i (none to choose from: never), and whether none can.

    A part of which some values are selected may or may not hold a selected row: it counts for the first question only.
    """
    meets, inside = [], []
    for k, code in enumerate(chosen.codes[i].tolist()):
        allowed, whole = chosen.sizes[k][code], chosen.sizes[k][0]
        some = sum(1 << p for p, size in enumerate(allowed) if size)
        every = sum(1 << p for p, size in enumerate(allowed) if size == whole[p] > 0)
        if k in made.named:
            meets.append((k, some))
            inside.append((k, every))
        else:  # every row may have any of its values: nothing but the whole attribute is sure to be met
            meets += [] if some else [(k, 0)]
            inside += [] if allowed == whole else [(k, 0)]
    can, free = (
        []
        if any(not mask for _, mask in pairs)
        else [made.region(j, Region(Box.of(pairs))) for j in range(made.maximum)]
        for pairs in (meets, inside)
    )
    return LiteralQuestion(some=tuple(x for x in can if x != FALSE)), LiteralQuestion(
        none=tuple(x for x in free if x != FALSE)
    )


EFFORT = 1 << 10  # moves per statement and row there
DRAWN_NOTE = (
    "of the worlds found, one that makes the bags' counts most likely (uniform prior over datasets with these rows, "
    "not proved the most likely)"
)


class DrawsEngine(Engine):
    """One likely world of trees on unknown bags; never a proof that there is none."""

    name = "draws"
    answers = (MostLikely,)
    about = "one world that makes the counts of trees on unknown bags likely: rows moved as long as all counts hold"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no world is searched for, or None."""
        if not any(block.draws is not None for block in release.partitions.values()):
            return "no tree has a bag that is not known"
        if release.bags:
            return "other bags are known: counts of the rows alone do not make a world"
        if (reason := not_searched(release)) is not None:
            return reason
        return None if release.rows.exact else "the number of rows is open"

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return a world; raises `Inconclusive` where none is found, or no second one where others may prove that."""
        from solvers.programs.local_search.finding import likely_rows

        if not isinstance(query, MostLikely):
            raise unanswered(query, self.name)
        limits, seed = limits.limited(), query.seed
        if release.domain.relative:
            rows, _ = likely_rows(release, seed, limits)
            world = world_of(release, rows, RandomSource(seed), DRAWN_NOTE)
        else:
            rows, several = likely_rows(release, seed, limits.stage("drawn bags"), EFFORT)
            if not several:
                raise Inconclusive("no second world was met: whether there is one others may prove")
            world = replace(world_of(release, rows, RandomSource(seed), DRAWN_NOTE), unique=False)
        return WorldsAnswer("exact", worlds=iter([world]))


UNKNOWN = "the bags are not known (multiplicities), so that rows cannot be distinguished by position"
ALIKE = "without bootstrap rows cannot be distinguished by position"
ANCHORED = "found row by row, rows distinguished by a tree or table whose leaves hold one each; one of many perhaps"
SEVERAL = "a tree or table distinguishes rows, but leaves more than one data set: other engines say how many"
CELLS = 20_000  # where no more are found in time, engines over cells are asked first
UNSETTLED = "the leaves of some rows are not known, so that its worlds are not all datasets that fit the places of rows"
NOTE = "rows in the order of the training file; the leaves of every row are proved, values inside them drawn"
FOUND = (
    "rows in the order of the training file, one of many worlds: leaves of rows that are not proved were searched for, "
    "values inside them drawn"
)


class AssignmentsEngine(Engine):
    """What follows for every position of the training file."""

    name = "assignments"
    answers = (Locate, Count, Decide, ShareQuery, Enumerate, Sample, MostLikely)
    uses_bags = True
    about = "where bags are known, or a table distinguishes rows: the leaves and places of every row, by its position"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why rows have no positions, or None."""
        if not release.bags:
            if isinstance(query, Count | Decide | MostLikely) and anchored(release):
                return FEW_CELLS if cells_known(release) else no_coupling(release, query)
            return UNKNOWN if any(part.open_counts for part in release.partitions.values()) else ALIKE
        if isinstance(query, Sample) and query.convention == "multiset":
            return "it draws datasets by position: ask for the convention 'ordered'"
        if isinstance(query, MostLikely):  # which number of a part stands for it makes no difference
            return None
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return what is left for every row, what follows for a question, or that there is no world."""
        if not release.bags:
            limits = limits.limited()
            if _has_few_cells(release, limits):
                raise Unsupported(FEW_CELLS)
            limits = limits.stage("positions of a tree")
        state = assigned(release, limits, not isinstance(query, Locate) or query.tries)
        if state is None:
            if (size := room(release)) > limits.room:
                most = limits.memory >> 20
                raise TooLarge(f"what is left for every row takes {size >> 20:,} MB, above {most:,} MB (--memory)")
            raise Unsupported(ALIKE)
        if not release.bags:
            return _by_slots(release, state, query, limits)
        conflict = _nowhere(state)
        if conflict:
            return refuted(query, conflict)
        if isinstance(query, Locate):
            return _located_answer(state)
        if isinstance(query, Count):
            return count_placed(state, query.convention, limits)
        known = determined_rows(state, limits)
        if known is not None and known.conflict:
            return Answer("unsat", conflict=(known.conflict,))
        whole = known is not None and known.free and not release.impossible
        if isinstance(query, ShareQuery):
            return share_placed(state, query, whole, limits)
        if isinstance(query, Decide):
            if whole and known:
                return decide_settled(release, known, query, limits)
            return decide_placed(release, state, query, limits)
        if isinstance(query, MostLikely) and (known is None or not known.free):
            return _one_world(release, state, query, limits)
        if isinstance(query, Enumerate | Sample | MostLikely):
            return _worlds(release, known, query, limits)
        raise unanswered(query, self.name)


def _has_few_cells(release: Release, limits: Limits) -> bool:
    """Return whether engines over cells should be asked first: they count the worlds, and prove the heaviest."""
    try:
        return cells_fit(release, replace(limits, cells=min(limits.cells, CELLS)).stage("cells of positions"))
    except Inconclusive:
        return False


def _by_slots(release: Release, state: Assigned, query: Query, limits: Limits) -> Answer:
    """Return what follows where a tree or table distinguishes rows: verdicts, a world, a count where it is alone."""
    if state.contradicted:
        return refuted(query)
    if isinstance(query, Decide):  # what is left for every row holds in all worlds, be they one or many
        return decide_placed(release, state, query, limits)
    if (state.domains.sizes() > 1).any() and not isinstance(query, MostLikely):
        raise Unsupported(SEVERAL)
    seed = getattr(query, "seed", 0)
    found = known_world(state, limits, seed)
    if seed not in found.parts:
        return refuted(query) if found.contradicted else Answer("unknown", trail=(found.reason,))
    parts, known = found.parts[seed], not (state.domains.sizes() > 1).any()
    alone = known and set(boxed(state.problem, values_in(state.problem, parts), limits).sizes) == {1}
    if isinstance(query, MostLikely):
        world = draw_parts(release, parts, "" if alone else ANCHORED, RandomSource(seed))
        return WorldsAnswer("exact", worlds=iter([replace(world, unique=True if alone else None)]))
    if not alone:
        raise Unsupported(SEVERAL)
    if isinstance(query, Count):
        return _orders(query.convention, parts)
    raise unanswered(query, AssignmentsEngine.name)


def _orders(convention: Convention, parts: Ints) -> CountAnswer:
    """Return the number of worlds where the rows are known: one, or as many as they have orders."""
    times = np.unique(parts, axis=0, return_counts=True)[1].tolist()
    factors = multinomial_factors(times) if convention == "ordered" else []
    return CountAnswer.of_rows(convention, len(parts), factors)


def _nowhere(state: Assigned) -> tuple[str, ...]:
    """Return which row has no leaf left, in words; () where all have some."""
    if not state.contradicted:
        return ()
    bags = bags_with_most(state.problem.release.bags).name
    wrong = np.argwhere((state.domains.sizes() == 0) & (state.problem.times.T > 0))
    if not len(wrong):
        return (f"{bags}: the multiplicities and the counts of the trees contradict each other",)
    i, t = wrong[0].tolist()
    return (f"{bags}, tree {t}: no leaf is left for row {i} of the training file, which its bag holds",)


def _worlds(
    release: Release, known: DeterminedRows | None, query: Enumerate | Sample | MostLikely, limits: Limits
) -> Answer:
    """Return worlds where the leaves of every row are known and nothing else was published."""
    if known is None or not known.free:
        raise Unsupported(UNSETTLED)
    rows = known.rows
    single = all(size == 1 for size in rows.sizes)
    if isinstance(query, Enumerate):
        return WorldsAnswer("exact", worlds=list_placed(release, rows, limits))
    random = RandomSource(query.seed)
    number = query.k if isinstance(query, Sample) else 1
    drawn = (draw_placed(release, rows.places, single, NOTE, random) for _ in range(number))
    return WorldsAnswer("exact", worlds=drawn)


def _one_world(release: Release, state: Assigned, query: MostLikely, limits: Limits) -> Answer:
    """Return one world, that there is none, or why none was found."""
    found = known_world(state, limits.limited(), query.seed)
    if query.seed in found.parts:
        world = draw_parts(release, found.parts[query.seed], FOUND, RandomSource(query.seed))
        return WorldsAnswer("exact", worlds=iter([world]))
    return Answer("unsat", conflict=(found.reason,)) if found.contradicted else Answer("unknown", trail=(found.reason,))


def _located_answer(state: Assigned) -> LocatedAnswer:
    """Return what is left for the row at every position."""
    places = state.places
    seen = state.problem.times.T > 0
    known = seen & (state.domains.sizes() == 1)
    share = float(known.sum() / seen.sum()) if seen.any() else 1.0
    sets = dict(places.sets)
    if (label := state.problem.release.domain.label) is not None:
        sets[label] = _labels_left(state, label)
    return LocatedAnswer(
        "exact" if share == 1.0 else "bounds",
        start=places.start.astype(np.int64),
        end=places.end.astype(np.int64),
        sets=sets,
        leaves_proved=share,
        complete=state.complete,
        trail=(state.note,) if state.note else (),
        steps=len(state.steps),
        drawn=seen.sum(axis=1),
        leaves=known.sum(axis=1),
    )


def _labels_left(state: Assigned, label: int) -> Bits:
    """Return (rows, labels): the labels left for every row."""
    places, left = state.places, state.domains.labels()
    at = np.arange(left.shape[1])
    return left & (at >= places.start[:, label, None]) & (at < places.end[:, label, None])
