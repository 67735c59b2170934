"""Where the cells are too many: row by row by SAT, which refutes, finds worlds and settles profiles one by one.

Source: the row-by-row formulation of Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML
2024, for any statements; `solvers.cells.clauses.lowering` for the clauses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.cells.clauses.gates import FALSE
from solvers.cells.clauses.lowering import Lowering, clauses_needed, lower, state_clauses
from solvers.cells.clauses.sat import LiteralQuestion, SatResult, satisfy, solve_questions
from solvers.cells.worlds import RandomSource
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.columns.single_partitions import decide_apart, decide_by_rows, world_of
from solvers.statements.boxes import Box, Region
from solvers.statements.questions.answers import Answer, DecideAnswer, WorldsAnswer, refuted
from solvers.statements.questions.engine import COARSE, Engine, no_coupling, unanswered
from solvers.statements.questions.query import Count, Decide, MostLikely, Query, Selections
from solvers.statements.release import Release

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
