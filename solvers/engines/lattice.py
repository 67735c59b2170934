"""Worlds of releases whose sums say more than there is to say: all histograms, by lattice reduction.

Source: docs/engines.md, "Labels and rows from sums"; `solvers.histograms.short_vectors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from solvers.cells.components import known_presolve
from solvers.cells.system import CellSystem, system_of
from solvers.foundation.errors import EngineError, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.answering import answer_from
from solvers.histograms.branches import HistogramBranch
from solvers.histograms.short_vectors import MAX_SOLUTIONS, OPEN, Solutions, solutions
from solvers.statements.questions.answers import Answer, refuted
from solvers.statements.questions.engine import COARSE, Engine, no_coupling
from solvers.statements.questions.query import (
    Count,
    Decide,
    Enumerate,
    Extreme,
    LeaveOneOut,
    MostLikely,
    PerCell,
    Query,
    Sample,
    ShareQuery,
)
from solvers.statements.release import Loose, Release


class LatticeEngine(Engine):
    """Sums with long coefficients over few cells: every histogram that has them."""

    name = "lattice"
    answers = (PerCell, Count, Decide, LeaveOneOut, ShareQuery, Enumerate, Sample, MostLikely, Extreme)
    needs = ("flint",)
    extra = "lattice"
    about = (
        "sums of values over few cells (labels of known rows): lattice reduction, with a proof that finds all worlds"
    )
    cells = "few"
    coarse = False

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why no lattice is reduced, or None."""
        if (reason := no_coupling(release, query)) is not None:
            return reason
        if not release.rows.exact:
            return "the number of rows is open"
        if all(one.region is not None for b in release.blocks if isinstance(b, Loose) for one in b.members):
            return "no values are summed"
        return None

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the exact answer, or a world; raises `Unsupported` where sums leave too many worlds."""
        system = system_of(release, limits)
        if system.bounds.conflict is not None:
            return refuted(query)
        if system.coarse or system.choices:
            raise Unsupported(COARSE if system.coarse else "statements of which only one holds are not reduced")
        known = system.derived.part(KnownWorlds)
        if known.branches is None:
            known.branches = _all_histograms(system, limits)
        if isinstance(known.branches, str):
            raise Unsupported(known.branches)
        return answer_from(system, known.branches, query, limits)


@dataclass(slots=True)
class KnownWorlds:
    """The histograms of a system as branches, or why not all are known."""

    branches: tuple[HistogramBranch, ...] | str | None = None


def _all_histograms(system: CellSystem, limits: Limits) -> tuple[HistogramBranch, ...] | str:
    """Return a branch per histogram, or why they are not known; raises `Inconclusive` when time is up."""
    presolved = known_presolve(system, limits)
    found: list[Solutions] = []
    for part in presolved.components:
        try:
            found.append(solutions(part, limits.stage("lattice of cells")))
        except (Unsupported, TooLarge, EngineError) as error:
            return str(error)
        if not found[-1].all:
            return OPEN
    if np.prod([len(one.found) for one in found]) > MAX_SOLUTIONS:
        return f"more than {MAX_SOLUTIONS} histograms"
    out = []
    for chosen in product(*(one.found for one in found)):
        z = system.bounds.lower.copy()
        for part, rows in zip(presolved.components, chosen, strict=True):
            z[part.cells] += rows
        if not system.satisfied(z):
            raise EngineError("lattice reduction gave rows that break a statement")
        out.append(HistogramBranch.single(system, z))
    return tuple(out)
