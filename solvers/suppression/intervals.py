"""The least and the most that hidden cells of linked tables can be, exactly, with as few linear programs as needed.

Propagation bounds every cell; what it leaves open falls into components. Of a component every solution that is met is a
witness for the bounds of all its cells, so that a program is solved only for an end that no witness has reached. Its
duals, rounded to whole multipliers, prove the bound in whole numbers; its corner, where it is whole, is the witness.
Where the corner is not whole, CP-SAT decides between the proved bound and the witness.

Source: Fischetti and Salazar, "Models and algorithms for the 2-dimensional cell suppression problem in statistical
disclosure control", Mathematical Programming 84, 1999 (attacker problems); docs/engines.md, "Bounds in whole numbers".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from solvers.cells.linear_system import SparseStatements, groups_of, propagate
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import CellVariables, rounded_bound, run
from solvers.programs.linear_program import CellProgram
from solvers.suppression.linked_cells import LinkedCells

SPREAD = 4  # programs over all open ends of a component at once, before single ones
SEARCH = 20.0  # of deterministic time: of CP-SAT about one end


@dataclass(frozen=True, eq=False)
class CellIntervals:
    """Proved bounds on every cell, and whether both ends were met by a solution; `possible`: whether there is one.

    `met`: the least and the most of each cell in solutions that were met, the least above the most where none was.
    `programs`: linear programs that were solved, `searches`: ends that CP-SAT was asked about.
    """

    low: Ints
    high: Ints
    tight: Bits
    possible: bool
    met: tuple[Ints, Ints]
    programs: int = 0
    searches: int = 0


def cell_intervals(
    cells: LinkedCells, asked: Ints, limits: Limits, known: Ints | None = None,
    enough: tuple[Ints, Ints, Ints] | None = None,
) -> CellIntervals:  # fmt: skip
    """Return the intervals of the cells that are asked about (of others: what propagation says).

    `known`: a solution, where one is. `enough`: (width, low, high) per cell: more is not asked of a cell once solutions
    that are met are so far apart and reach these values.
    Exact where `tight`: cells that the limits leave open keep proved bounds.
    """
    linear = cells.relations
    bounds = propagate(linear, cells.low, cells.high, limits.late, trace=False)
    if bounds.conflict is not None:
        return _impossible(bounds.lower, bounds.upper, 0, 0)
    low, high, tight = bounds.lower.copy(), bounds.upper.copy(), bounds.lower == bounds.upper
    wanted = np.zeros(len(cells), dtype=bool)
    wanted[asked] = True
    programs, searches, met = 0, 0, True
    seen = low.copy(), high.copy()
    for part in _components(linear, low, high):
        if known is not None and not wanted[part.cells].any():
            seen[0][part.cells] = seen[1][part.cells] = known[part.cells]
            continue
        own = None if known is None else known[part.cells]
        room = None if enough is None else (enough[0][part.cells], enough[1][part.cells], enough[2][part.cells])
        found = _ComponentEnds(part, low, high, wanted[part.cells], own, room)
        if not found.solved(limits):
            return _impossible(low, high, programs, searches)
        low[part.cells], high[part.cells] = found.low, found.high
        tight[part.cells] |= found.least_met & found.most_met
        seen[0][part.cells], seen[1][part.cells] = found.seen_low, found.seen_high
        programs, searches, met = programs + found.programs, searches + found.searches, met and found.found
    # An end is met by some solution of all cells only where every component has one.
    seen = seen if met else (seen[1] + 1, seen[1])
    return CellIntervals(low, high, tight if met else low == high, True, seen, programs, searches)


def _impossible(low: Ints, high: Ints, programs: int, searches: int) -> CellIntervals:
    """Return that no numbers meet the relations."""
    return CellIntervals(low, high, np.zeros(len(low), dtype=bool), False, (high + 1, high), programs, searches)


def solution_of(cells: LinkedCells, limits: Limits) -> Ints | None:
    """Return whole numbers for all cells that meet their ends and relations; None where none are found."""
    bounds = propagate(cells.relations, cells.low, cells.high, limits.late, trace=False)
    if bounds.conflict is not None:
        return None
    z = bounds.lower.copy()
    for part in _components(cells.relations, bounds.lower, bounds.upper):
        nobody = np.zeros(len(part.cells), dtype=bool)
        found = _ComponentEnds(part, bounds.lower, bounds.upper, nobody, None)
        if not found.solved(limits) or found.point is None:
            return None
        z[part.cells] = found.point
    return z


def components_of(cells: LinkedCells, limits: Limits) -> Ints:
    """Return a number for each cell that is open, the same where cells hang together; -1 of others."""
    bounds = propagate(cells.relations, cells.low, cells.high, limits.late, trace=False)
    out = np.full(len(cells), -1, dtype=np.int64)
    for number, part in enumerate(_components(cells.relations, bounds.lower, bounds.upper)):
        out[part.cells] = number
    return out


@dataclass(frozen=True, eq=False)
class _Part:
    """Cells that hang together, and the relations of them alone, what fixed cells add taken off."""

    cells: Ints
    linear: SparseStatements


def _components(linear: SparseStatements, low: Ints, high: Ints) -> Iterator[_Part]:
    """Yield the components of the cells that are open."""
    free = low < high
    entry = free[linear.col]
    row, col, coef = linear.row[entry], linear.col[entry], linear.coef[entry]
    fixed = linear.sums(np.where(free, 0, low))
    group = groups_of(row, col, len(linear), len(low))
    order = np.argsort(group[col], kind="stable")
    row, col, coef = row[order], col[order], coef[order]
    cells = np.flatnonzero(free)
    cells = cells[np.argsort(group[cells], kind="stable")]
    place = np.zeros(len(low), dtype=np.int64)
    for members in np.split(cells, np.flatnonzero(np.diff(group[cells])) + 1) if len(cells) else []:
        place[members] = np.arange(len(members))
        first, last = np.searchsorted(group[col], [group[members[0]], group[members[0]] + 1])
        rows, at = np.unique(row[first:last], return_inverse=True)
        ends = linear.low[rows] - fixed[rows], linear.high[rows] - fixed[rows]
        some = SparseStatements.of(at.reshape(-1), place[col[first:last]], coef[first:last], ends, len(members))
        yield _Part(members.astype(np.int64), some)


class _ComponentEnds:
    """The ends of a component's cells: proved bounds, and the extremes that solutions reached."""

    def __init__(
        self, part: _Part, low: Ints, high: Ints, wanted: Bits, known: Ints | None,
        enough: tuple[Ints, Ints, Ints] | None = None,
    ) -> None:  # fmt: skip
        self.linear, self.low, self.high = part.linear, low[part.cells].copy(), high[part.cells].copy()
        self.wanted, self.enough, self.programs, self.searches = wanted, enough, 0, 0
        self.program = CellProgram(self.linear, self.low, self.high, again=True)
        self.box = self.low.copy(), self.high.copy()  # of the program
        self.seen_low, self.seen_high = self.high.copy(), self.low.copy()
        self.found, self.point = False, None if known is None else known
        if known is not None:
            self._witness(known)

    @property
    def least_met(self) -> Bits:
        """Return which lower bounds some solution reaches."""
        return (self.seen_low <= self.low) & self.found

    @property
    def most_met(self) -> Bits:
        """Return which upper bounds some solution reaches."""
        return (self.seen_high >= self.high) & self.found

    def _settled(self, sign: int) -> Bits:
        """Return of which cells no more is asked of an end (sign -1: the upper)."""
        met = self.most_met if sign < 0 else self.least_met
        if self.enough is None:
            return met
        width, low, high = self.enough
        far = self.seen_high >= high if sign < 0 else self.seen_low <= low
        return met | (far & (self.seen_high - self.seen_low >= width))

    def solved(self, limits: Limits) -> bool:
        """Find the ends that are wanted; return whether there may be a solution."""
        ones = np.ones(len(self.low), dtype=np.int64)
        few = self.enough is not None and self.found and self.wanted.sum() <= SPREAD
        for turn in range(0 if few else SPREAD):
            for sign in (-1, 1):
                costs = sign * (ones if not turn else self._open_costs(sign))
                if costs.any() and not self._solve(costs, limits) and not self.found:
                    return self._searched(0 * ones, limits) is not False
        for sign in (-1, 1):
            for j in np.flatnonzero(self.wanted).tolist():
                if limits.late():
                    return True
                if not self._settled(sign)[j] and not self._end(j, sign, limits):
                    return False
        return True

    def _open_costs(self, sign: int) -> Ints:
        """Return costs of 1 of the cells whose end (sign -1: upper) no solution has reached."""
        return (~self._settled(sign) & self.wanted).astype(np.int64)

    def _solve(self, costs: Ints, limits: Limits) -> bool:
        """Solve the program of some costs, note its corner; return whether there is a whole one."""
        self.programs += 1
        return self.program.solve(costs, limits) is not None and self._witness(self.program.corner())

    def _witness(self, z: Ints | None) -> bool:
        """Note what a solution reaches, once it is checked in whole numbers; return whether it is one."""
        if z is None or (z < self.low).any() or (z > self.high).any() or len(self.linear.broken(z)):
            return False
        np.minimum(self.seen_low, z, out=self.seen_low)
        np.maximum(self.seen_high, z, out=self.seen_high)
        self.found, self.point = True, z if self.point is None else self.point
        return True

    def _end(self, j: int, sign: int, limits: Limits) -> bool:
        """Prove one end of one cell: the upper where the sign is -1; return whether there may be a solution."""
        costs = np.zeros(len(self.low), dtype=np.int64)
        costs[j] = sign
        self.programs += 1
        bound = self.program.bound(costs, limits)
        self._witness(self.program.corner())
        self._tighten(j, sign, bound)
        if self._settled(sign)[j]:
            return True
        found = self._searched(costs, limits)
        if found is None:
            return True
        if found is False:
            return False
        self._tighten(j, sign, found)
        return True

    def _tighten(self, j: int, sign: int, bound: int) -> None:
        """Take a proved bound on sign times cell j."""
        if sign < 0:
            self.high[j] = min(self.high[j], -bound)
        else:
            self.low[j] = max(self.low[j], bound)

    def _searched(self, costs: Ints, limits: Limits) -> int | bool | None:
        """Return CP-SAT's bound on the least of the costs, False where there is no solution, None for nothing new."""
        from ortools.sat.python import cp_model

        self.searches += 1
        try:
            known = CellVariables(self.low, self.high, limits)
            known.statements(self.linear, range(len(self.linear)))
        except Inconclusive:
            return None
        expression, base = known.weighted(costs)
        if costs.any():
            known.model.minimize(expression)
        status, solver = run(known.model, limits, max_deterministic_time=SEARCH)
        if status == cp_model.INFEASIBLE:
            return False
        if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            self._witness(known.values(solver.value))
        if not costs.any() or status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        return base + rounded_bound(solver.best_objective_bound, False)
