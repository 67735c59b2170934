"""Rows told apart by their position: what their leaves in all trees prove, where the bags of the trees are known.

What every tree counts of a known resample says for each position which leaves it can lie in; leaves of one row must
share a point. Propagation over both to its end leaves places, from which bounds follow.

Source: see `solvers.statements.row_problem` and `solvers.assignments.solving`.
"""

from __future__ import annotations

import numpy as np

from solvers.assignments.solving import Assigned, assigned
from solvers.foundation.array_types import Bits
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.questions.engine import Engine
from solvers.questions.query import Answer, Locate, LocatedAnswer, Query
from solvers.statements.release import Release

UNKNOWN = "the bags are not known (multiplicities), so that rows cannot be told apart by position"
ALIKE = "without bootstrap rows cannot be told apart by position"


class AssignmentsEngine(Engine):
    """What follows for every position of the training file."""

    name = "assignments"
    answers = (Locate,)
    about = "where bags are known: the leaves and the places of every row, by its position in the training file"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why rows have no positions, or None."""
        if release.bags:
            return None
        return UNKNOWN if any(part.open_counts for part in release.partitions.values()) else ALIKE

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return what is left for every row, or that there is no world."""
        state = assigned(release, limits)
        if state is None:
            raise Unsupported(ALIKE)
        if state.contradicted:
            return Answer("unsat")
        return located(state)


def located(state: Assigned) -> LocatedAnswer:
    """Return what is left for the row at every position."""
    places = state.places
    share = proved(state)
    sets = dict(places.sets)
    if (label := state.problem.release.domain.label) is not None:
        sets[label] = labels_left(state, label)
    return LocatedAnswer(
        "exact" if share == 1.0 else "bounds",
        start=places.start.astype(np.int64),
        end=places.end.astype(np.int64),
        sets=sets,
        leaves_proved=share,
        complete=state.complete,
        steps=len(state.steps),
    )


def proved(state: Assigned) -> float:
    """Return the share of (row, tree that drew it) with one leaf left; 1.0 where no tree drew any row."""
    seen = state.problem.times.T > 0
    return float((state.domains.sizes()[seen] == 1).mean()) if seen.any() else 1.0


def labels_left(state: Assigned, label: int) -> Bits:
    """Return (rows, labels): the labels left for every row."""
    places, left = state.places, state.domains.labels()
    at = np.arange(left.shape[1])
    return left & (at >= places.start[:, label, None]) & (at < places.end[:, label, None])
