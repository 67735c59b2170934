"""What follows for every row of a release whose rows can be told apart: propagation to its end, remembered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from solvers.foundation.limits import Limits
from solvers.kernel.claims import Removal
from solvers.positions.assignments.domains import Domains, Places
from solvers.positions.assignments.propagation.engine import Propagation
from solvers.statements.bags import TreeBags
from solvers.statements.meetings import WORD
from solvers.statements.release import Release
from solvers.statements.row_problem import RowProblem, problem_of, slot_trees

COPIES = 3  # of what is left: as it is, as it was found before, and what is worked with beside
BOUNDS = 16  # numbers that are held per value of a tree and multiplicity up to the greatest
FREE = 1 << 20  # bytes of them that are not looked at


@dataclass(frozen=True, eq=False)
class Assigned:
    """What is left for every row, and the steps that removed the rest.

    `contradicted`: some row has nowhere to be, there is no world. `complete`: nothing more follows by propagation; else
    a limit was met on the way, and what is removed is removed all the same. `note` says which.
    """

    problem: RowProblem
    domains: Domains
    steps: tuple[Removal, ...]
    contradicted: bool
    complete: bool
    note: str = ""

    @cached_property
    def places(self) -> Places:
        """Return where every row can be."""
        return self.domains.places()


@dataclass(slots=True)
class Remembered:
    """The problem on rows of a release, what followed from it, and how far propagation is."""

    problem: RowProblem | None = None
    assigned: Assigned | None = None
    propagation: Propagation | None = None


def _row_problem(release: Release) -> RowProblem | None:
    """Return a release as a problem on rows, remembered; None where rows cannot be told apart."""
    known = release.derived.part(Remembered)
    if known.problem is None:
        known.problem = problem_of(release)
    return known.problem


def room(release: Release) -> int:
    """Return the bytes that what is left for every row takes, copies included; nothing is built for it."""
    slots = [] if release.bags else [int(np.count_nonzero(tree.low)) for tree in slot_trees(release)]
    alike = COPIES * WORD // 8 * sum(-(-values // WORD) for values in slots) * release.rows.low
    return max((COPIES * WORD // 8 * _words_of(bags) + _bounds_of(bags) for bags in release.bags), default=alike)


def _words_of(bags: TreeBags) -> int:
    """Return the words of what is left for all rows of a training file."""
    return sum(-(-int((tree.count > 0).sum()) // WORD) for tree in bags.trees) * bags.rows


def _bounds_of(bags: TreeBags) -> int:
    """Return the bytes that counting takes in the tree where it takes most: a row may be drawn millions of times."""
    most = bags.times.max(axis=1, initial=0).tolist()
    values = [int((tree.count > 0).sum()) for tree in bags.trees]
    found = 8 * BOUNDS * max((v * m for v, m in zip(values, most, strict=True)), default=0)
    return found if found > FREE else 0


def assigned(release: Release, limits: Limits) -> Assigned | None:
    """Return what follows for every row, None where rows cannot be told apart, or all that is left outgrows the memory.

    Remembered with the release: where a run met its limits, the next call goes on from the state that it reached.
    """
    known = release.derived.part(Remembered)
    if known.propagation is None and room(release) > limits.memory:
        return None
    if (known.assigned is None or not known.assigned.complete) and (problem := _row_problem(release)) is not None:
        found = known.propagation = known.propagation or Propagation(problem)
        before = len(found.steps)
        found.run(limits)
        if known.assigned is None or found.complete or len(found.steps) > before:
            known.assigned = _snapshot(found)
    return known.assigned


def _snapshot(found: Propagation) -> Assigned:
    """Return what propagation found so far; it may go on without changing this."""
    domains = found.domains if found.complete else found.domains.copy()
    return Assigned(found.problem, domains, tuple(found.steps), found.contradicted, found.complete, found.note)
