"""Linear and mixed-integer programs in HiGHS: one model, changed and solved again; its duals, rounded, prove bounds.

What HiGHS says is in floating point: solutions are checked by whoever takes them, duals prove what
`solvers.programs.dual_bounds` makes of them in whole numbers.

Source: HiGHS (Huangfu, Hall, "Parallelizing the dual revised simplex method", 2018); the elastic program of phase one,
whose duals are bounded by 1 (Chinneck, "Feasibility and Infeasibility in Optimization", 2008, section 6.1).

Weights for statements from linear programs: what a Farkas certificate is made of, before it is checked exactly.

Nothing here is trusted: floating-point duals are rounded to small fractions, and whoever uses them proves the sum
they make in whole numbers.

Source: `solvers.programs.linear_program`.

A first histogram for large systems: each component as an integer program for HiGHS.

What HiGHS finds is rounded and checked exactly; that it finds nothing proves nothing.
Source: HiGHS (Huangfu, Hall, "Parallelizing the dual revised simplex method", 2018).

Bounds on cells by linear programs, where propagation leaves open what the statements nearly determine.

Propagation looks at one statement at a time. Where the statements are about as many as the cells that are left, one
program per end of every cell often fixes nearly all of them; the next begins at the basis of the last.

Source: optimality-based bound tightening (Gleixner, Berthold, Müller, Weltge, "Three enhancements for
optimization-based bound tightening", Journal of Global Optimization 67, 2017); every bound is a dual one, in whole
numbers (`solvers.programs.dual_bounds`).

Whether a system has a solution in whole numbers: what propagation, a linear program and a search say, in turn.

Source: Farkas, "Theorie der einfachen Ungleichungen", 1902 (multipliers that refute); docs/engines.md, "Bounds in whole
numbers" (rounded to whole numbers and checked exactly); CP-SAT (Perron, Furnon, OR-Tools) where neither refutes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Component, known_presolve, presolve, simplified
from solvers.cells.linear_system import FREE, Propagated, SparseStatements, propagate
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.exact import MAX_SUM
from solvers.foundation.limits import Limits
from solvers.foundation.native import run_in_thread
from solvers.histograms.branches import branches_of
from solvers.kernel.claims import Sum
from solvers.programs.dual_bounds import rounded_duals, safe_bound

if TYPE_CHECKING:
    import highspy

Array = NDArray[Any]  # whole numbers or floats, which HiGHS takes as floats
PRIMAL = 4  # HiGHS' number of the primal simplex method: new columns leave the basis feasible
FAR = 1 << 40  # as good as no bound, for a program in floating point
TINY = 1e-9  # duals at most this large are none
PIVOT, PER_ENTRY = 1e-4, 2e-8  # of work: of a pivot, and per coefficient on top
MIP_STEP = 8  # pivots that a step of branch and bound stands for
ROOT = 8e-6  # of work: of a step before there are branches, per coefficient; its pivots are told at the end alone
MIP_PIVOT, MIP_ENTRY = 2e-4, 1e-7  # of work: of a pivot of branch and bound with all around it, measured
LARGE = 1e6  # from which on the digits of a float leave less of what is behind the point
NEAR = 1e-6  # what a bound may lack of the optimum in floating point


class _Pivots:
    """Counts the steps of a solve, as work, and ends it where that is more than there is.

    HiGHS asks at every pivot, and at every step of branch and bound, whether to go on. How many pivots those took it
    says at the end: they are what is charged.
    """

    def __init__(self, solver: highspy.Highs) -> None:
        self.steps, self.most, self.each, self.root, self.ended, self.entries = 0.0, math.inf, PIVOT, 0.0, False, 0
        solver.cbSimplexInterrupt.subscribe(lambda event: self._step(event, 1))
        solver.cbMipInterrupt.subscribe(self._branch)

    def begin(self, work: float, entries: int) -> None:
        """Begin to count, up to so much work."""
        self.steps, self.each, self.entries = 0.0, PIVOT + PER_ENTRY * entries, entries
        self.most, self.root = work / self.each, ROOT * entries / self.each

    def end(self, pivots: int = 0) -> float:
        """Return the work of the solve; `pivots`: of one with branches, all of them."""
        told = pivots * (MIP_PIVOT + MIP_ENTRY * self.entries)
        return max(told, self.most * self.each) if told and self.ended else told or self.steps * self.each

    def _branch(self, event: Any) -> None:
        self._step(event, MIP_STEP + (self.root if event.data_out.mip_node_count <= 0 else 0.0))

    def _step(self, event: Any, steps: float) -> None:
        if self.ended and not self.steps:  # HiGHS keeps what it was told at the last solve
            event.data_in.user_interrupt = self.ended = False
        self.steps += steps
        if self.steps > self.most:
            self.ended = True
            event.interrupt()


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """What HiGHS found: whether its `x` is optimal, or that there is none; `duals` are positive for lower sides."""

    optimal: bool
    infeasible: bool
    value: float
    x: Floats
    duals: Floats


class LinearProgram:
    """The least costs @ x with low <= A x <= high and lower <= x <= upper, by columns; kept from solve to solve."""

    def __init__(self, low: Floats, high: Floats, *, presolve: bool = False, primal: bool = False) -> None:
        """Make the rows, empty. Without `presolve` the basis is kept for the next solve."""
        import highspy

        self.solver, self.columns, self.busy, self.whole = highspy.Highs(), 0, False, False
        self.solver.HandleUserInterrupt = True
        self.pivots = _Pivots(self.solver)
        self.solver.silent()
        self.option("threads", 1)
        if not presolve:
            self.option("presolve", "off")
        if primal:
            self.option("simplex_strategy", PRIMAL)
        nothing = np.zeros(0, dtype=np.int32)
        # All at once: one by one, HiGHS touches the whole program for every row and column.
        ends = (np.ascontiguousarray(a, dtype=np.float64) for a in (low, high))
        self.solver.addRows(len(low), *ends, 0, nothing, nothing, nothing.astype(np.float64))

    def option(self, name: str, value: Any) -> None:
        """Set an option of HiGHS."""
        self.solver.setOptionValue(name, value)

    def add(self, costs: Array, room: tuple[Array, Array], entries: tuple[Array, Array, Array]) -> None:
        """Add columns between the ends of `room`; `entries` are (start, row, coefficient), column by column."""
        k, (start, row, coef) = len(costs), entries
        if k:
            begin, index, value = start[:k].astype(np.int32), row.astype(np.int32), coef.astype(np.float64)
            ends = (np.ascontiguousarray(a, dtype=np.float64) for a in room)
            self.solver.addCols(k, costs.astype(np.float64), *ends, len(index), begin, index, value)
            self.columns += k

    def price(self, costs: Array, first: int = 0) -> None:
        """Give the columns from `first` on new costs."""
        columns = np.arange(first, first + len(costs), dtype=np.int32)
        self.solver.changeColsCost(len(costs), columns, costs.astype(np.float64))

    def integral(self, columns: Ints) -> None:
        """Make some columns whole numbers: from now on HiGHS solves by branch and bound."""
        import highspy

        kinds = np.full(len(columns), highspy.HighsVarType.kInteger)
        self.solver.changeColsIntegrality(len(columns), columns.astype(np.int32), kinds)
        self.whole = True

    def close(self, column: int) -> None:
        """Fix a column at 0."""
        self.between(column, 0.0, 0.0)

    def between(self, column: int, low: float, high: float) -> None:
        """Give a column other ends."""
        self.solver.changeColBounds(column, low, high)

    def state(self, row: int, low: float, high: float) -> None:
        """Give a row other ends."""
        self.solver.changeRowBounds(row, low, high)

    def start(self, x: Floats) -> None:
        """Give a solution to begin the next branch and bound with."""
        import highspy

        known = highspy.HighsSolution()
        known.col_value = x.tolist()
        self.solver.setSolution(known)

    def warm(self, other: LinearProgram) -> None:
        """Begin the next solve at the basis of a program with the same rows and columns."""
        self.solver.setBasis(other.solver.getBasis())

    def run(self, limits: Limits) -> ProgramSolution:
        """Return what HiGHS finds in the time left, nothing where that is up.

        Raises `Inconclusive` where HiGHS does not end when it should: it is `busy` from then on, and not to be touched.
        """
        import highspy

        solver, nothing = self.solver, np.zeros(0)
        if self.busy or limits.expired():
            return ProgramSolution(False, False, math.nan, nothing, nothing)
        self.option("time_limit", float(solver.getRunTime() + limits.solver_seconds()))
        self.busy = True
        self.pivots.begin(limits.work_left(), self.solver.getNumNz())
        given = limits.solver_seconds(), limits.processor_seconds()
        with limits.noted():
            run_in_thread(solver.run, limits.stop, solver.cancelSolve, *given)
        self.busy = False
        limits.charge(self.pivots.end(solver.getInfo().simplex_iteration_count if self.whole else 0))
        status, found = solver.getModelStatus(), solver.getSolution()
        return ProgramSolution(
            status == highspy.HighsModelStatus.kOptimal,
            status == highspy.HighsModelStatus.kInfeasible,
            float(solver.getInfo().objective_function_value),
            np.array(found.col_value, dtype=np.float64),
            np.array(found.row_dual, dtype=np.float64),
        )


def by_column(row: Ints, column: Ints, coef: Ints | Floats, columns: int) -> tuple[Ints, Ints, Floats]:
    """Return entries given in any order as (start, row, coefficient), column by column."""
    order = np.argsort(column, kind="stable")
    start = np.searchsorted(column[order], np.arange(columns + 1)).astype(np.int64)
    return start, row[order], coef[order].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Violation:
    """The least total violation of statements within the bounds of the cells, where it is reached, and its duals."""

    total: float
    z: Floats
    duals: Floats

    @property
    def refutes(self) -> bool:
        """Return whether the duals say anything."""
        return bool(np.abs(self.duals).max(initial=0.0) > TINY)


class CellProgram:
    """The linear relaxation of statements over cells between bounds; only cells that are not fixed are columns."""

    def __init__(self, linear: SparseStatements, lower: Ints, upper: Ints, *, again: bool = False) -> None:
        """Take down the statements. `again`: it will be solved with several costs, each from the last basis."""
        self.linear, self.ends, self.again = linear, (lower, upper), again
        self.free = np.flatnonzero(lower < upper)
        place = np.full(linear.columns, -1, dtype=np.int64)
        place[self.free] = np.arange(len(self.free))
        at = place[linear.col] >= 0
        used = np.unique(linear.row[at])
        self.statements = used[(linear.low[used] > -FREE) | (linear.high[used] < FREE)]
        row = np.full(len(linear), -1, dtype=np.int64)
        row[self.statements] = np.arange(len(self.statements))
        at &= row[linear.row] >= 0
        self.entries = by_column(row[linear.row[at]], place[linear.col[at]], linear.coef[at], len(self.free))
        base = linear.sums(lower)[self.statements].astype(np.float64)
        low, high = linear.low[self.statements], linear.high[self.statements]
        self.low = np.where(low <= -FREE, -math.inf, low - base)
        self.high = np.where(high >= FREE, math.inf, high - base)
        self.room = (upper - lower)[self.free].astype(np.float64)
        self._kept: LinearProgram | None = None
        self._corner: Floats | None = None

    def _program(self, room: Floats) -> LinearProgram:
        """Return the program of the free cells, costs 0."""
        program = LinearProgram(self.low, self.high, presolve=not self.again)
        nothing = np.zeros(len(self.free))
        program.add(nothing, (nothing, room), self.entries)
        return program

    def solve(self, costs: Ints, limits: Limits) -> ProgramSolution | None:
        """Return the optimum of least costs @ z over the free cells, None where HiGHS found none in time."""
        program, self._kept = self._kept or self._program(self.room), None
        program.price(costs[self.free])
        try:
            found = program.run(limits)
        except Inconclusive:
            return None
        self._kept = program if self.again else None
        self._corner = found.x if found.optimal else None
        if self.again and found.optimal:
            program.option("simplex_strategy", PRIMAL)  # other costs leave the basis feasible, not its duals
        return found if found.optimal else None

    def corner(self) -> Ints | None:
        """Return where the last optimum was attained, once, if that is whole; it is not checked."""
        x, self._corner = self._corner, None
        if x is None or np.abs(x - np.rint(x)).max(initial=0.0) > NEAR * max(1.0, np.abs(x).max(initial=0.0) / LARGE):
            return None
        z = self.ends[0].copy()
        z[self.free] += np.rint(x).astype(np.int64)
        return z

    def duals(self, costs: Ints, limits: Limits) -> Floats | None:
        """Return a dual value per statement (positive for its lower side) of least costs @ z, None for none in time."""
        found = self.solve(costs, limits) if len(self.statements) else None
        return None if found is None else self.spread(found.duals)

    def spread(self, duals: Floats) -> Floats:
        """Return duals of the program's rows as one per statement."""
        out = np.zeros(len(self.linear))
        out[self.statements] = duals
        return out

    def bound(self, costs: Ints, limits: Limits) -> int:
        """Return a proved lower bound on costs @ z: the cells' own where HiGHS found nothing in time."""
        nothing = np.zeros(len(self.linear), dtype=np.int64)
        best = safe_bound(self.linear, self.ends, costs, nothing)
        found = self.solve(costs, limits) if len(self.statements) and costs[self.free].any() else None
        if found is None:
            return best
        fixed = costs.astype(np.float64) @ self.ends[0]
        wanted = math.ceil(found.value + fixed - NEAR)
        for over, y in rounded_duals(self.spread(found.duals), self.linear.low, self.linear.high):
            best = max(best, safe_bound(self.linear, self.ends, costs, y, over))
            if best >= wanted:
                break
        return best

    def violation(self, limits: Limits) -> Violation | None:
        """Return the least total violation of the statements, None where HiGHS found none in time.

        Duals are within [-1, 1]; where the total is above 0 they are what refutes the statements (`refutation`).
        """
        many = len(self.statements)
        if not many:
            return None
        each = np.arange(many, dtype=np.int64)
        slack = np.arange(2 * many + 1, dtype=np.int64), np.repeat(each, 2), np.tile([1.0, -1.0], many)
        program = self._program(np.where(self.room < FAR, self.room, np.inf))
        program.add(np.ones(2 * many), (np.zeros(2 * many), np.full(2 * many, np.inf)), slack)
        try:
            found = program.run(limits)
        except Inconclusive:
            return None
        if not found.optimal:
            return None
        z = self.ends[0].astype(np.float64)
        z[self.free] += found.x[: len(self.free)]
        return Violation(found.value, z, self.spread(found.duals))

    def refutation(self, found: Violation) -> tuple[int, Ints] | None:
        """Return (D, y), whole multipliers over D that prove that no z meets the statements; None for none."""
        nothing = np.zeros(self.linear.columns, dtype=np.int64)
        for over, y in rounded_duals(found.duals, self.linear.low, self.linear.high) if found.refutes else ():
            if safe_bound(self.linear, self.ends, nothing, y, over) > 0:
                return over, y
        return None


class Relaxation:
    """The relaxation of the unconditional statements, solved again and again with other objectives."""

    def __init__(self, system: CellSystem, limits: Limits | None = None) -> None:
        """Presolve the system; raises `Inconclusive` when time is up."""
        linear = simplified(system, limits or Limits())
        self.program = CellProgram(linear, system.bounds.lower, system.bounds.upper, again=True)

    def bound(self, coefs: Ints, greatest: bool, limits: Limits) -> int:
        """Return a proved bound on the least (greatest) coefs @ z over all histograms."""
        return -self.program.bound(-coefs, limits) if greatest else self.program.bound(coefs, limits)

    def refutes(self, limits: Limits) -> bool:
        """Return whether the statements are proved to contradict each other."""
        found = self.program.violation(limits)
        return found is not None and self.program.refutation(found) is not None


def whole_program(
    costs: Floats, matrix: tuple[Ints, Ints, Floats], ends: tuple[Floats, Floats], room: Floats, limits: Limits,
    gap: float = 0.0,
) -> Ints | None:  # fmt: skip
    """Return whole x, 0 <= x <= room, with ends on matrix @ x and low costs, None where HiGHS found none in time.

    `matrix` as `by_column` gives it. Rounded, not checked. `gap`: how far above the least costs is near enough.
    """
    import highspy

    program = LinearProgram(*ends, presolve=True)
    program.option("mip_rel_gap", gap)
    program.add(costs, (np.zeros(len(room)), room), matrix)
    program.integral(np.arange(len(room), dtype=np.int64))
    try:
        found = program.run(limits)
    except Inconclusive:
        return None
    some = program.solver.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return np.rint(found.x).astype(np.int64) if some else None


class SumSearch:
    """Candidates of weighted sums of statements that bound a sum over cells from above, or that no rows can meet."""

    def __init__(self, linear: SparseStatements, lower: Ints, upper: Ints, *, again: bool = False) -> None:
        """Start; `again`: sums over cells will be bounded several times, each from where the last one ended."""
        self.linear, self.program = linear, CellProgram(linear, lower, upper, again=again)

    def bounding(self, weights: Ints, limits: Limits) -> Iterator[Sum] | None:
        """Return sums that may bound weights @ z from above, small denominators first; None where HiGHS found none."""
        duals = self.program.duals(-weights, limits)
        return None if duals is None else self._sums(duals)

    def refuting(self, scale: int, limits: Limits) -> Iterator[Sum] | None:
        """Return sums that no rows may meet, each `scale` times as large; None where HiGHS found none."""
        found = self.program.violation(limits)
        return None if found is None or not found.refutes else self._sums(found.duals, scale)

    def _sums(self, duals: Floats, scale: int = 1) -> Iterator[Sum]:
        """Yield the duals as weights that are positive where an upper side counts."""
        for over, y in rounded_duals(duals, self.linear.low, self.linear.high):
            yield Sum(over, tuple((s, -int(y[s]) * scale) for s in np.flatnonzero(y).tolist()))


def first_histogram(linear: SparseStatements, bounds: Propagated, limits: Limits) -> Ints | None:
    """Return a histogram within the bounds that meets every statement, None where none was found in time.

    Cost: an integer program without an objective per component.
    """
    z = bounds.lower.copy()
    parts = presolve(linear, bounds, (), limits).components
    for i, part in enumerate(parts):
        if part.matrix is None or limits.expired():
            return None
        limits.report(f"a first world: component {i} of {len(parts)}, {len(part.cells):,} cells")
        y = whole_point(part, limits)
        if y is None:
            return None
        z[part.cells] += y
    return z if not len(linear.broken(z)) else None


def whole_point(part: Component, limits: Limits) -> Ints | None:
    """Return whole numbers within a component's room that meet its statements, None where HiGHS found none."""
    if part.matrix is None or not len(part.low):
        return np.zeros(len(part.cells), dtype=np.int64)
    low = np.where(part.low <= -FREE, -math.inf, part.low)
    high = np.where(part.high >= FREE, math.inf, part.high)
    room, (row, cell) = part.room.astype(np.float64), np.nonzero(part.matrix)
    entries = by_column(row, cell, part.matrix[row, cell], len(room))
    found = whole_program(np.zeros(len(room)), entries, (low, high), room, limits)
    if found is None:
        return None
    y = np.clip(found, 0, part.room)
    sums = part.matrix @ y
    return y if bool(((sums >= part.low) & (sums <= part.high)).all()) else None


MAX_CELLS = 2_000  # open ones: two programs each, some milliseconds at first
TIGHTENING_NEAR = 0.75  # statements per open cell from which on bounds are looked for
ROUNDS = 4  # over all open cells, propagation after each


@dataclass(slots=True)
class _KnownTightening:
    """The system with tightened bounds, None where there is none, once it was looked for."""

    looked: bool = False
    system: CellSystem | None = None


def tightened(system: CellSystem, limits: Limits) -> CellSystem | None:
    """Return the system with bounds by linear programs on the cells that propagation left open.

    None where the statements are few for the cells, or nothing moved; remembered. The bounds hold for every histogram,
    wherever time ends the search. Cost: two linear programs per open cell and round.
    """
    known = system.derived.part(_KnownTightening)
    if not known.looked and not limits.expired():
        known.looked, known.system = True, _tightened(system, limits) if _promising(system, limits) else None
    return known.system


def _promising(system: CellSystem, limits: Limits) -> bool:
    """Return whether presolve keeps nearly as many statements as there are open cells, and these are not too many."""
    cells = len(system.free)
    return 0 < cells <= MAX_CELLS and known_presolve(system, limits).kept >= TIGHTENING_NEAR * cells


def _tightened(system: CellSystem, limits: Limits) -> CellSystem | None:
    found = system
    for _ in range(ROUNDS):
        bounds = _round(found, limits)
        if bounds is None:
            break
        found = replace(found, bounds=bounds)
        if not len(found.free) or limits.expired():
            break
    return None if found is system else found


def _round(system: CellSystem, limits: Limits) -> Propagated | None:
    """Return the bounds after a program per end of every open cell, and propagation; None where nothing moved."""
    lower, upper = system.bounds.lower.copy(), system.bounds.upper.copy()
    relaxation = Relaxation(system, limits)
    for done, cell in enumerate(system.free.tolist()):
        if limits.expired():
            break
        limits.report(f"bounds by linear programs: {done} of {len(system.free)} cells")
        one = np.zeros(len(system.sizes), dtype=np.int64)
        one[cell] = 1
        lower[cell] = max(lower[cell], relaxation.bound(one, False, limits))
        upper[cell] = min(upper[cell], relaxation.bound(one, True, limits))
    moved = (lower > system.bounds.lower) | (upper < system.bounds.upper)
    if not moved.any() or (lower > upper).any():  # a contradiction is proved elsewhere, with its statements
        return None
    bounds = propagate(system.linear.take(system.always), lower, upper, limits.expired, trace=False)
    return None if bounds.conflict is not None else bounds


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
