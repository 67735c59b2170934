"""CP-SAT as everything here uses it: statements written into a model, one solve under limits, every solution.

Source: CP-SAT (Perron, Didier, "The CP-SAT-LP solver", CP 2023; Google OR-Tools 9.15). Enumeration needs one worker and
no objective, and is complete only when the status says OPTIMAL: with two workers it stopped at 755 of 2,002 solutions.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from solvers.cells.linear_system import SparseStatements
from solvers.foundation.array_types import Ints
from solvers.foundation.displayed import quote
from solvers.foundation.errors import Inconclusive, ReconError, Unsupported
from solvers.foundation.exact import OPEN, exact_dot
from solvers.foundation.limits import Limits
from solvers.foundation.native import run_in_thread

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

T = TypeVar("T")
Choices = tuple[tuple[tuple[int, ...], ...], ...]  # choice -> alternative -> statements
WORKERS = 1  # with more, which solution is found depends on the machine, and rarely is it found sooner
PHASE = "a model of the cells was built"
LOOK = 0.1  # seconds between two looks at the clock while a search says nothing
PENDING = 64  # solutions kept ahead of whoever asks for them
FOUND = (4, 2)  # cp_model.OPTIMAL, cp_model.FEASIBLE: loading ortools takes half a second and 160 MB of disk
# Seconds of work, measured over models of 8 to 20,000 variables: of any model, of a term or variable that is read and
# presolved, a value read, and a unit of deterministic time. That leaves out what every step takes of any model, which
# shows where there are FEW variables, and most of what goes through all variables: all of that where statements have
# `THIN` terms a variable, the less the more terms there are, but never less than `LEAST` of it.
STARTED, TERM, VALUE = 7e-4, 6e-6, 1e-6
UNIT, STEP, FEW, VARIABLE, THIN, LEAST = 0.5, 1.0, 150, 1 / 800, 1.4, 0.1


def state(
    model: cp_model.CpModel,
    columns: Sequence[int],
    coefs: Sequence[int],
    ends: tuple[int | None, int | None],
    literal: int | None = None,
    name: str = "",
) -> None:
    """Add low <= Σ coefs x <= high over variables given by their numbers, where a literal holds if one is given.

    None, and what is beyond OPEN, is an open side; where low > high nothing meets it, so that its literal is false.
    Written into the model itself: expressions take ten times as long.
    """
    low, high = ends
    if low is not None and high is not None and low > high:
        columns, coefs, low, high = (), (), 1, 1  # CP-SAT takes no empty domain: 0 = 1 instead
    added = model.proto.constraints.add()
    if name:
        added.name = name
    if literal is not None:
        added.enforcement_literal.append(literal)
    added.linear.vars.extend(columns)
    added.linear.coeffs.extend(coefs)
    added.linear.domain.extend([-OPEN if low is None else max(-OPEN, low), OPEN if high is None else min(OPEN, high)])


class CellVariables:
    """Cells between bounds as variables of a model; those with one value left are numbers."""

    def __init__(self, lower: Ints, upper: Ints, limits: Limits | None = None) -> None:
        """Make the variables; raises `Inconclusive` when time is up."""
        from ortools.sat.python import cp_model

        self.model, self.lower, self.limits = cp_model.CpModel(), lower, limits or Limits()
        self.column = np.full(len(lower), -1, dtype=np.int64)
        self.variables: dict[int, Any] = {}
        for c in self.limits.paced(np.flatnonzero(lower < upper).tolist(), PHASE):
            self.variables[c] = variable = self.model.new_int_var(int(lower[c]), int(upper[c]), "")
            self.column[c] = variable.index

    def state(self, cells: Ints, coefs: Ints, low: int, high: int, literal: Any = None) -> None:
        """Add low <= Σ coefs z <= high over some cells, in force where the literal holds."""
        column = self.column[cells]
        free = column >= 0
        base = exact_dot(coefs[~free], self.lower[cells[~free]])
        ends, only_if = (low - base, high - base), None if literal is None else literal.index
        state(self.model, column[free].tolist(), coefs[free].tolist(), ends, only_if)

    def statements(self, linear: SparseStatements, which: Iterable[int], literal: Any = None) -> None:
        """Add some statements of a system; raises `Inconclusive` when time is up."""
        for s in self.limits.paced(which, PHASE):
            at = slice(int(linear.start[s]), int(linear.start[s + 1]))
            self.state(linear.col[at], linear.coef[at], int(linear.low[s]), int(linear.high[s]), literal)

    def alternatives(self, linear: SparseStatements, choices: Choices) -> None:
        """Add the statements of alternatives: of every choice exactly one holds."""
        for choice in choices:
            literals = [self.model.new_bool_var("") for _ in choice]
            for literal, alternative in zip(literals, choice, strict=True):
                self.statements(linear, alternative, literal)
            self.model.add_exactly_one(literals)

    def values(self, value: Callable[[Any], int]) -> Ints:
        """Return the cells of a solution."""
        z = self.lower.copy()
        for c, variable in self.variables.items():
            z[c] = value(variable)
        return z

    def weighted(self, coefs: Ints) -> tuple[Any, int]:
        """Return Σ coefs z over the free cells as an expression, and what the fixed cells add."""
        from ortools.sat.python import cp_model

        free = [c for c in self.variables if coefs[c]]
        fixed = self.column < 0
        terms = [self.variables[c] for c in free]
        return cp_model.LinearExpr.weighted_sum(terms, coefs[free].tolist()), exact_dot(coefs[fixed], self.lower[fixed])

    def sum_of(self, cells: Ints) -> tuple[Any, int]:
        """Return the sum of the free ones among some cells as an expression, and what the fixed ones add."""
        from ortools.sat.python import cp_model

        free = [self.variables[c] for c in cells.tolist() if c in self.variables]
        base = sum(self.lower[cells[self.column[cells] < 0]].tolist())
        return cp_model.LinearExpr.sum(free), base

    def hint(self, z: Ints) -> None:
        """Start the next solve at a histogram."""
        for c, variable in self.variables.items():
            self.model.add_hint(variable, int(z[c]))


def _terms(constraint: Any) -> int:
    """Return how many literals and terms a constraint has, one of a sort that is rare here."""
    if constraint.has_linear():
        return 1 + len(constraint.linear.vars) + len(constraint.enforcement_literal)
    for name in ("bool_or", "bool_and", "exactly_one", "at_most_one"):
        if getattr(constraint, f"has_{name}")():
            return 1 + len(getattr(constraint, name).literals) + len(constraint.enforcement_literal)
    return 1


@dataclass(frozen=True, slots=True)
class ModelWork:
    """What CP-SAT takes of a model in seconds of work: before it searches, and for a unit of its deterministic time."""

    begun: float
    unit: float

    @classmethod
    def of(cls, model: cp_model.CpModel) -> ModelWork:
        """Return what a model takes, by its variables and terms."""
        variables = max(1, len(model.proto.variables))
        terms = sum(map(_terms, model.proto.constraints))
        through = VARIABLE * variables * min(1.0, max(LEAST, (THIN * variables / max(1, terms)) ** 2))
        return cls(STARTED + TERM * (variables + terms), UNIT + STEP * min(1.0, FEW / variables) + through)

    def units(self, work: float) -> float:
        """Return the deterministic time for so much work; never 0, which CP-SAT takes for no limit."""
        return max(1e-4, (work - self.begun) / self.unit)


def run(
    model: cp_model.CpModel, limits: Limits, workers: int = WORKERS, **parameters: Any
) -> tuple[Any, cp_model.CpSolver]:
    """Return CP-SAT's status and the solver, which stops with the best it has when limits end or `stop` is set.

    Its work is counted by its own deterministic time and the size of the model (`ModelWork`). It is told of no time by
    its own clock, at which it would end early, by as long as its longest step took: then nobody knew that the clock cut
    it. `parameters` are CP-SAT's own, and `best_bound_callback`.
    """
    from ortools.sat.python import cp_model

    price = ModelWork.of(model)
    solver = cp_model.CpSolver()
    given = {"num_workers": workers, "catch_sigint_signal": False, **parameters}
    solver.best_bound_callback = given.pop("best_bound_callback", None)
    work = min(price.units(limits.work_left()), given.get("max_deterministic_time", math.inf))
    if math.isfinite(work):
        given["max_deterministic_time"] = work
    for name, to in given.items():
        setattr(solver.parameters, name, to)
    most = limits.solver_seconds(), limits.processor_seconds()
    with limits.noted():
        status = run_in_thread(lambda: solver.solve(model), limits.stop, solver.stop_search, *most)
    limits.charge(price.begun + price.unit * solver.response_proto.deterministic_time)
    return status, solver


def refuse(model: cp_model.CpModel, status: Any) -> None:
    """Raise `Unsupported` where CP-SAT says that the model is not valid (sums beyond 64 bits): others are asked."""
    from ortools.sat.python import cp_model

    if status == cp_model.MODEL_INVALID:
        raise Unsupported(f"CP-SAT refuses the model: {quote(model.validate().partition(chr(10))[0], 200)}")


def rounded_bound(bound: float, greatest: bool) -> int:
    """Return a bound on an integer objective as an integer, outwards by a hair."""
    return math.floor(bound + 1e-6) if greatest else math.ceil(bound - 1e-6)


def solutions(model: cp_model.CpModel, read: Callable[[Any], T], limits: Limits) -> Iterator[T]:
    """Yield what `read` makes of every solution; raises `Inconclusive` where the search was not complete.

    The search runs in a thread of its own and waits when it is ahead, so that nothing is built in advance.
    """
    from ortools.sat.python import cp_model

    found: queue.Queue[Any] = queue.Queue(maxsize=PENDING)
    stop = threading.Event()
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.enumerate_all_solutions = True
    price = ModelWork.of(model)
    if math.isfinite(most := limits.work_left()):
        solver.parameters.max_deterministic_time = price.units(most)
    listener = _listener(read, found, stop, limits)
    complete: list[bool] = []
    each, units = VALUE * len(model.proto.variables), 0.0
    limits.charge(price.begun)

    def run() -> None:
        solver.parameters.catch_sigint_signal = False
        status = solver.solve(model, listener)
        complete.append(status in (cp_model.OPTIMAL, cp_model.INFEASIBLE))
        _put_item(found, None, stop)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seen = 0
    try:
        while (told := _next_of(found, solver, limits)) is not None:
            item, now = told
            limits.charge(each + price.unit * (now - units))
            units = now
            if isinstance(item, ReconError):
                raise item
            yield item
            seen += 1
        limits.charge(price.unit * (solver.response_proto.deterministic_time - units))
        if not complete[0]:
            raise Inconclusive(f"the time was up after {seen:,} solutions")
    finally:
        stop.set()
        solver.stop_search()
        thread.join()


def _next_of(found: queue.Queue[Any], solver: cp_model.CpSolver, limits: Limits) -> Any:
    """Return the next item of a search in another thread, which is told to stop when the limits end."""
    while True:
        try:
            return found.get(timeout=LOOK)
        except queue.Empty:
            if limits.late():
                solver.stop_search()


def _put_item(found: queue.Queue[Any], item: Any, stop: threading.Event) -> bool:
    """Put an item as soon as there is room; False where nobody wants it any more."""
    while not stop.is_set():
        try:
            found.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False


def _listener(
    read: Callable[[Any], Any], found: queue.Queue[Any], stop: threading.Event, limits: Limits
) -> cp_model.CpSolverSolutionCallback:
    """Return what hands every solution over, and stops the search when nobody listens."""
    from ortools.sat.python import cp_model

    class Listener(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            """Pass a solution on."""
            try:
                item = read(self.value)
            except ReconError as error:
                item = error
            if not _put_item(found, (item, self.deterministic_time), stop) or limits.late():
                self.stop_search()

    return Listener()
