"""Whether a system has a solution in whole numbers: what propagation, a linear program and a search say, in turn.

Source: Farkas, "Theorie der einfachen Ungleichungen", 1902 (multipliers that refute); docs/engines.md, "Bounds in whole
numbers" (rounded to whole numbers and checked exactly); CP-SAT (Perron, Furnon, OR-Tools) where neither refutes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.linear_system import Ints
from solvers.cells.system import MOST_SUM, System
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.threads import solve
from solvers.histograms.branches import branches_of
from solvers.statements.release import UNBOUNDED

SECONDS = 5.0  # one program or search
SMALL_MEMORY = 1 << 20  # a layered graph only where it is quicker than a search
SMALL_ROOM = 256
MOST_ENTRIES = 2_000_000  # of a linear program
SCALES = (1, 2, 12, 360, 1 << 20)  # multipliers are rounded to fractions with these denominators
FAR = 1 << 40  # as good as no bound, for a program in floating point


@dataclass(frozen=True, eq=False)
class Verdict:
    """Whether there is a solution, None where the limits leave that open.

    `multipliers` (one per statement, positive for the lower side, negative for the upper one) refute the system
    within its bounds, where they were found.
    """

    solvable: bool | None
    multipliers: Ints | None = None


def verdict(system: System, limits: Limits) -> Verdict:
    """Return whether a system has a solution. Cost: a linear program, then at most a search of some seconds."""
    if system.bounds.conflict is not None:
        return Verdict(False)
    found = by_program(system, limits)
    if found.solvable is not None:
        return found
    rooms = (system.bounds.upper - system.bounds.lower)[system.free]
    if int(rooms.max(initial=0)) <= SMALL_ROOM:
        try:
            return Verdict(bool(branches_of(system, replace(limits, memory=SMALL_MEMORY))))
        except (Unsupported, Inconclusive):
            pass
    return Verdict(None if limits.expired() else searched(system, min(SECONDS, limits.left()), limits.stop))


def by_program(system: System, limits: Limits) -> Verdict:
    """Return what the linear program of least total violation says, checked in whole numbers.

    Its solution, where whole, is one; its multipliers, rounded, refute. Choices are left out: they only refuse more.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix, hstack, identity, vstack

    linear, bounds = system.linear, system.bounds
    at_least = np.flatnonzero(system.always & (linear.low > -UNBOUNDED))
    at_most = np.flatnonzero(system.always & (linear.high < UNBOUNDED))
    if not linear.columns or len(linear.coef) > MOST_ENTRIES or limits.expired():
        return Verdict(None)
    rows = csr_matrix((linear.coef.astype(float), (linear.row, linear.col)), shape=(len(linear), linear.columns))
    sides: Any = vstack([-rows[at_least], rows[at_most]])
    matrix: Any = hstack([sides, -identity(sides.shape[0])])
    cost = np.concatenate([np.zeros(linear.columns), np.ones(sides.shape[0])])
    top = np.where(bounds.upper < FAR, bounds.upper, np.inf)
    box = np.concatenate([np.stack([bounds.lower, top], axis=1), np.tile(np.array([0.0, np.inf]), (sides.shape[0], 1))])
    limit = np.concatenate([-linear.low[at_least], linear.high[at_most]]).astype(float)
    solve: Any = linprog  # its stubs know no sparse matrix
    found = solve(
        cost,
        A_ub=matrix,
        b_ub=limit,
        bounds=box,
        method="highs",
        options={"time_limit": min(SECONDS, limits.left())},
    )
    if found.status != 0:
        return Verdict(None)
    z = np.rint(found.x[: linear.columns]).astype(np.int64)
    whole = bool(((z >= bounds.lower) & (z <= bounds.upper)).all()) and not len(linear.broken(z))
    if whole and not system.choices:
        return Verdict(True)
    force = np.zeros(len(linear))
    force[at_least] -= found.ineqlin.marginals[: len(at_least)]
    force[at_most] += found.ineqlin.marginals[len(at_least) :]
    for scale in SCALES if found.fun > 1e-6 else ():
        multipliers = np.rint(force * scale).astype(np.int64)
        if refutes(system, multipliers):
            return Verdict(False, multipliers)
    return Verdict(None)


def refutes(system: System, multipliers: Ints) -> bool:
    """Tell whether the statements times multipliers, added up, cannot be met within the bounds. Exact.

    A lower side counts with its multiplier, an upper side (negative) likewise: the sum of cells must reach what the
    sides add up to.
    """
    linear, bounds = system.linear, system.bounds
    used = np.flatnonzero(multipliers)
    weight = combined(system, multipliers)
    need = sum(
        int(multipliers[s]) * int(linear.low[s] if multipliers[s] > 0 else linear.high[s]) for s in used.tolist()
    )
    cells = np.flatnonzero(weight).tolist()
    most = sum(int(weight[c]) * int(bounds.upper[c] if weight[c] > 0 else bounds.lower[c]) for c in cells)
    return most < need


def combined(system: System, multipliers: Ints) -> NDArray[np.object_]:
    """Return how often every cell counts in the statements times multipliers, as Python integers."""
    terms = system.linear.coef.astype(object) * multipliers[system.linear.row]
    out = np.zeros(system.linear.columns, dtype=object)
    np.add.at(out, system.linear.col, terms)
    return out


def searched(system: System, seconds: float, stop: Event) -> bool | None:
    """Tell whether CP-SAT finds a solution or proves that there is none, None where it does not in time.

    The sums of a statement must fit in 64 bits: where values are summed and nothing bounds the number of rows,
    solutions with more rows are left out.
    """
    from ortools.sat.python import cp_model

    linear, bounds, model = system.linear, system.bounds, cp_model.CpModel()
    fair = MOST_SUM // (max(1, int(np.abs(linear.coef).max(initial=1))) * max(1, linear.columns))
    upper = np.minimum(bounds.upper, np.maximum(bounds.lower, fair))
    cells = [model.new_int_var(low, high, "") for low, high in zip(bounds.lower.tolist(), upper.tolist(), strict=True)]
    enforced = {}
    for choice in system.choices:
        picks = [model.new_bool_var("") for _ in choice]
        model.add_exactly_one(picks)
        enforced.update({s: pick for pick, alternative in zip(picks, choice, strict=True) for s in alternative})
    for s in range(len(linear)):
        span = slice(int(linear.start[s]), int(linear.start[s + 1]))
        low, high = max(-MOST_SUM, int(linear.low[s])), min(MOST_SUM, int(linear.high[s]))
        terms = [cells[c] for c in linear.col[span].tolist()]
        total = cp_model.LinearExpr.weighted_sum(terms, linear.coef[span].tolist())
        stated = model.add_linear_expression_in_domain(total, cp_model.Domain(low, high))
        if s in enforced:
            stated.only_enforce_if(enforced[s])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, seconds
    status = solve(solver, model, stop)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return True
    return False if status == cp_model.INFEASIBLE else None
