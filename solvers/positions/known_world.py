"""One world of rows told apart, searched for once and remembered with the release: the leaves of its rows, and its box.

Whatever a row of it is, another of the same leaves may stand in its place where nothing but the trees was published.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError
from solvers.foundation.limits import Limits
from solvers.positions.assignments.solving import Assigned
from solvers.statements.row_problem import RowProblem


@dataclass(slots=True)
class PositionWorlds:
    """Worlds that were found, by seed; why none was found in the longest search, its seconds, whether there is none."""

    parts: dict[int, Ints] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0
    contradicted: bool = False


def known_world(state: Assigned, limits: Limits, seed: int | None = None) -> PositionWorlds:
    """Return what is known of one world; searched for where none is, and more time is left than was spent in vain.

    `seed` None: any world will do. Its parts, (rows, attributes), meet every statement of the release: evaluated.
    """
    known = state.problem.release.derived.part(PositionWorlds)
    wanted = 0 if seed is None else seed
    if wanted in known.parts or (seed is None and known.parts) or known.contradicted:
        return known
    left = limits.left()
    if known.reason and left <= known.seconds:
        return known
    from solvers.positions.assignments.world import find_world

    found = find_world(state, limits, wanted)
    if found.parts is not None:
        known.parts[wanted] = found.parts
    else:
        known.reason, known.contradicted = found.reason or "no world was found", found.contradicted
        known.seconds = 0.0 if limits.stop.is_set() else max(known.seconds, left)
    return known


def values_in(problem: RowProblem, parts: Ints) -> Ints:
    """Return (rows, trees): the value of every tree that rows given by their parts lie in, -1 where it saw them not.

    Raises `EngineError` where a row lies in none or in several. Cost: rows times values times attributes.
    """
    chosen = np.full((problem.rows, problem.trees), -1, dtype=np.int64)
    for t in range(problem.trees):
        seen = np.flatnonzero(problem.times[t] > 0)
        values = np.array(problem.values(t), dtype=np.int64)
        held = np.ones((len(seen), len(values)), dtype=bool)
        for k in range(parts.shape[1]):
            at = parts[seen, k]
            if k in problem.sets:
                held &= problem.sets[k][values][:, at].T
            else:
                held &= (at[:, None] >= problem.start[values, k]) & (at[:, None] < problem.end[values, k])
        if (held.sum(axis=1) != 1).any():
            raise EngineError("a row of a world lies in no leaf of a tree, or in several")
        chosen[seen, t] = values[held.argmax(axis=1)] if len(values) else -1
    return chosen
