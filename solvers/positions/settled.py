"""Rows whose leaves are all known: whether they meet every count, and the box of raw rows that each is in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Inconclusive
from solvers.foundation.limits import Limits
from solvers.positions.assignments.solving import Assigned
from solvers.positions.sizes import BoxedRows, boxed
from solvers.statements.bags import UNPUBLISHED
from solvers.statements.row_problem import RowProblem


@dataclass(frozen=True, eq=False)
class DeterminedRows:
    """Rows whose leaves are all known. `conflict`: why there is no world ("": none was found).

    `free`: what the boxes of the rows say is all that was published, so that any raw rows of them are a world.
    """

    rows: BoxedRows
    conflict: str
    free: bool


def settled(state: Assigned, limits: Limits) -> DeterminedRows | None:
    """Return the boxes of rows whose leaves are all known; None where some are not, or no exact sizes are found."""
    problem, chosen = state.problem, fixed_choice(state)
    if chosen is None:
        return None
    try:
        rows = boxed(problem, chosen, limits)
    except (Inconclusive, EngineError):
        return None
    conflict = disagreement(problem, chosen)
    if not conflict and not all(rows.sizes):
        conflict = f"the leaves of row {rows.sizes.index(0)} of the training file share no possible row"
    return DeterminedRows(rows, conflict, problem.exhaustive and not problem.release.loosened)


def fixed_choice(state: Assigned) -> Ints | None:
    """Return (rows, trees): the value of every row in every tree, -1 where the tree did not see it; None: not known."""
    problem = state.problem
    seen = problem.times.T > 0
    if not (state.domains.sizes()[seen] == 1).all():
        return None
    chosen = np.full((problem.rows, problem.trees), -1, dtype=np.int64)
    for t in range(problem.trees):
        row, at = np.nonzero(state.domains.of_tree(t))
        chosen[row, t] = at + int(problem.first[t])
    return np.where(seen, chosen, -1)


def disagreement(problem: RowProblem, chosen: Ints) -> str:
    """Return which count rows that take these values do not meet, in words; "": they meet all."""
    for t in range(problem.trees):
        seen = np.flatnonzero(chosen[:, t] >= 0)
        value = chosen[seen, t]
        times = problem.times[t][seen].astype(np.int64)
        weight = np.bincount(value, weights=times, minlength=len(problem.tree)).astype(np.int64)
        for v in problem.values(t):
            if weight[v] != problem.weight[v]:
                return (
                    f"{problem.names[t][problem.region[v]]}: its rows would count {weight[v]}, not {problem.weight[v]}"
                )
        said = problem.distinct[t]
        found = np.bincount(problem.region[value], minlength=len(said))
        wrong = np.flatnonzero((said != UNPUBLISHED) & (found != said))
        if len(wrong):
            return f"{problem.names[t][wrong[0]]}: {found[wrong[0]]} different rows, not {said[wrong[0]]}"
    return ""
