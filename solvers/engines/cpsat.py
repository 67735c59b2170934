"""Worlds found and bounded by CP-SAT, where histograms are few enough to list or too many to count.

Every histogram that CP-SAT gives is checked against all statements; bounds on numbers of rows come from the linear
relaxation in exact arithmetic and from CP-SAT's own proofs.

Source: CP-SAT (Google OR-Tools); docs/engines.md, "Worlds, extremes and refutations".
"""

from __future__ import annotations

from dataclasses import dataclass

from solvers.cells.system import system_of
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.answering import answer_from
from solvers.histograms.branches import HistogramBranch
from solvers.statements.questions.answers import Answer, PerCellAnswer, refuted
from solvers.statements.questions.engine import COARSE, Engine, no_coupling
from solvers.statements.questions.query import (
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
