"""Whether a system has a solution in whole numbers: what propagation, a linear program and a search say, in turn.

Source: Farkas, "Theorie der einfachen Ungleichungen", 1902 (multipliers that refute); docs/engines.md, "Bounds in whole
numbers" (rounded to whole numbers and checked exactly); CP-SAT (Perron, Furnon, OR-Tools) where neither refutes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.exact import MAX_SUM
from solvers.foundation.limits import Limits
from solvers.histograms.branches import branches_of
from solvers.programs.linear_program import CellProgram

SMALL_MEMORY = 1 << 20  # a layered graph only where it is quicker than a search
SMALL_ROOM = 256
MAX_ENTRIES = 2_000_000  # of a linear program


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Whether there is a solution, None where the limits leave that open.

    `multipliers` (one per statement, positive for the lower side, negative for the upper one) refute the system
    within its bounds, where they were found.
    """

    solvable: bool | None
    multipliers: Ints | None = None


def verdict(system: CellSystem, limits: Limits) -> Feasibility:
    """Return whether a system has a solution. Cost: a linear program, then at most a search of some seconds."""
    if system.bounds.conflict is not None:
        return Feasibility(False)
    found = _by_program(system, limits)
    if found.solvable is not None:
        return found
    rooms = (system.bounds.upper - system.bounds.lower)[system.free]
    if int(rooms.max(initial=0)) <= SMALL_ROOM:
        try:
            return Feasibility(bool(branches_of(system, replace(limits, memory=SMALL_MEMORY))))
        except (Unsupported, Inconclusive):
            pass
    return Feasibility(None if limits.expired() else _searched(system, limits.stage("search for feasibility")))


def _by_program(system: CellSystem, limits: Limits) -> Feasibility:
    """Return what the linear program of least total violation says, checked in whole numbers.

    Its solution, where whole, is one; its multipliers, rounded, refute. Choices are left out: they only refuse more.
    """
    linear, bounds = system.linear, system.bounds
    if not linear.columns or len(linear.coef) > MAX_ENTRIES or limits.expired():
        return Feasibility(None)
    program = CellProgram(linear.take(system.always), bounds.lower, bounds.upper)
    found = program.violation(limits.stage("linear program of feasibility"))
    if found is None:
        return Feasibility(None)
    z = np.rint(found.z).astype(np.int64)
    whole = bool(((z >= bounds.lower) & (z <= bounds.upper)).all()) and not len(linear.broken(z))
    if whole and not system.choices:
        return Feasibility(True)
    refuted = program.refutation(found)
    return Feasibility(None) if refuted is None else Feasibility(False, refuted[1])


def _searched(system: CellSystem, limits: Limits) -> bool | None:
    """Return whether CP-SAT finds a solution or proves that there is none, None where it does not in time.

    The sums of a statement must fit in 64 bits: where values are summed and nothing bounds the number of rows,
    solutions with more rows are left out.
    """
    from ortools.sat.python import cp_model

    from solvers.programs.cpsat import FOUND, CellVariables, run

    linear, bounds = system.linear, system.bounds
    fair = MAX_SUM // (max(1, int(np.abs(linear.coef).max(initial=1))) * max(1, linear.columns))
    try:
        cells = CellVariables(bounds.lower, np.minimum(bounds.upper, np.maximum(bounds.lower, fair)), limits)
        cells.statements(linear, np.flatnonzero(system.always).tolist())
        cells.alternatives(linear, system.choices)
        status, _ = run(cells.model, limits, workers=1)
    except Inconclusive:
        return None
    return True if status in FOUND else False if status == cp_model.INFEASIBLE else None
