"""What follows for every row of a release whose rows can be told apart: propagation to its end, remembered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from solvers.assignments.domains import Domains, Places
from solvers.foundation.limits import Limits
from solvers.kernel.claims import Removal
from solvers.statements.release import Release
from solvers.statements.row_problem import RowProblem, problem_of


@dataclass(frozen=True, eq=False)
class Assigned:
    """What is left for every row, and the steps that removed the rest.

    `contradicted`: some row has nowhere to be, there is no world. `complete`: nothing more follows by propagation; else
    a limit was met on the way, and what is removed is removed all the same.
    """

    problem: RowProblem
    domains: Domains
    steps: tuple[Removal, ...]
    contradicted: bool
    complete: bool

    @cached_property
    def places(self) -> Places:
        """Return where every row can be."""
        return self.domains.places()


@dataclass(slots=True)
class Remembered:
    """The problem on rows of a release and what followed from it."""

    problem: RowProblem | None = None
    assigned: Assigned | None = None


def row_problem(release: Release) -> RowProblem | None:
    """Return a release as a problem on rows, remembered; None where rows cannot be told apart."""
    known = release.derived.part(Remembered)
    if known.problem is None:
        known.problem = problem_of(release)
    return known.problem


def assigned(release: Release, limits: Limits) -> Assigned | None:
    """Return what follows for every row, None where rows cannot be told apart."""
    known = release.derived.part(Remembered)
    if known.assigned is None and (problem := row_problem(release)) is not None:
        domains = Domains(problem)
        known.assigned = Assigned(problem, domains, (), domains.contradicted(), False)
    return known.assigned
