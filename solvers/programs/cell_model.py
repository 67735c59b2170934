"""A system as a CP-SAT model over its free cells: one integer per cell, one Boolean per alternative.

Source: CP-SAT (Google OR-Tools 9.15); docs/engines.md, "Worlds, extremes and refutations". Enumeration needs one worker
and no objective, and is complete only when the status says OPTIMAL (docs/engines.md, "Traps of the native libraries").
"""

from __future__ import annotations

import math
import os
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from ortools.sat.python import cp_model

from solvers.cells.components import known_presolve
from solvers.cells.linear_system import FREE, Ints
from solvers.cells.system import System
from solvers.foundation.errors import EngineError, Inconclusive, ReconError
from solvers.foundation.limits import Limits
from solvers.foundation.threads import solve

T = TypeVar("T")
WORKERS = min(8, os.cpu_count() or 1)
CAP = 1 << 60  # CP-SAT refuses bounds near 2^62
PHASE = "a model of the cells was built"
LOOK = 0.1  # seconds between two looks at the clock while a search says nothing
PENDING = 64  # solutions kept ahead of whoever asks for them


@dataclass(frozen=True, eq=False)
class Found:
    """What a solve said: `bounds` on the extreme asked for (equal where proved), the best histogram, or `none`."""

    bounds: tuple[int, int]
    histogram: Ints | None
    none: bool = False
    proved: bool = False


class CellModel:
    """The CP-SAT model of a system; solved as often as asked, each time with another objective."""

    def __init__(self, system: System, limits: Limits | None = None) -> None:
        """Build the model; raises `Inconclusive` when time is up."""
        self.system, self.model, self.limits = system, cp_model.CpModel(), limits or Limits()
        lower, upper = system.bounds.lower, system.bounds.upper
        self.variables: dict[int, Any] = {
            c: self.model.new_int_var(int(lower[c]), int(upper[c]), f"z{c}")
            for c in self.limits.paced(system.free.tolist(), PHASE)
        }
        self._always()
        self.alternatives = [[self._alternative(a) for a in choice] for choice in system.choices]
        for literals in self.alternatives:
            self.model.add_exactly_one(literals)

    def _always(self) -> None:
        """Add the unconditional statements, as presolve leaves them."""
        linear, lower = self.system.linear, self.system.bounds.lower
        for part in known_presolve(self.system, self.limits).components:
            if part.matrix is None:
                for s in np.unique(linear.row[self.system.always[linear.row]]).tolist():
                    span = slice(int(linear.start[s]), int(linear.start[s + 1]))
                    self._row(linear.col[span], linear.coef[span], int(linear.low[s]), int(linear.high[s]), None)
                return
            cells = part.cells
            for weights, low, high in zip(part.matrix, part.low.tolist(), part.high.tolist(), strict=True):
                at = np.flatnonzero(weights)
                base = int(weights[at] @ lower[cells[at]])
                ends = -FREE if low <= -FREE else low + base, FREE if high >= FREE else high + base
                self._row(cells[at], weights[at], *ends, None)

    def _row(self, cells: Ints, coefs: Ints, low: int, high: int, literal: Any) -> None:
        """Add one statement, enforced by a literal where one is given."""
        self.limits.check(PHASE)
        terms, weights, base = [], [], 0
        for c, a in zip(cells.tolist(), coefs.tolist(), strict=True):
            if c in self.variables:
                terms.append(self.variables[c])
                weights.append(a)
            else:
                base += a * int(self.system.bounds.lower[c])
        inside = cp_model.Domain(max(-CAP, low - base), min(CAP, high - base))
        added = self.model.add_linear_expression_in_domain(cp_model.LinearExpr.weighted_sum(terms, weights), inside)
        if literal is not None:
            added.only_enforce_if(literal)

    def _alternative(self, statements: tuple[int, ...]) -> Any:
        """Return the Boolean that enforces an alternative's statements."""
        literal, linear = self.model.new_bool_var(""), self.system.linear
        for s in statements:
            at = slice(int(linear.start[s]), int(linear.start[s + 1]))
            self._row(linear.col[at], linear.coef[at], int(linear.low[s]), int(linear.high[s]), literal)
        return literal

    def histogram(self, value: Any) -> Ints:
        """Return the histogram of a solution, checked against every statement."""
        z = self.system.bounds.lower.copy()
        for c, variable in self.variables.items():
            z[c] = value(variable)
        if not self.system.satisfied(z):
            raise EngineError("CP-SAT gave a histogram that breaks a statement")
        return z

    def solve(self, objective: Any, greatest: bool, limits: Limits, seconds: float | None = None) -> Found:
        """Return the extreme of an expression over the free cells (None: any histogram)."""
        self.model.clear_objective()  # type: ignore[no-untyped-call]
        if objective is not None:
            (self.model.maximize if greatest else self.model.minimize)(objective)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = WORKERS
        left = min(limits.left(), float("inf") if seconds is None else seconds)
        if left != float("inf"):
            solver.parameters.max_time_in_seconds = left
        status = solve(solver, self.model, limits.stop)
        if status == cp_model.MODEL_INVALID:
            raise EngineError(f"CP-SAT refuses the model: {self.model.validate()}")
        if status == cp_model.INFEASIBLE:
            return Found((0, 0), None, none=True)
        if status == cp_model.UNKNOWN:
            return Found((0, 0), None)
        z = self.histogram(solver.value)
        if objective is None:
            return Found((0, 0), z, proved=True)
        value, proved = round(solver.objective_value), status == cp_model.OPTIMAL
        limit = value if proved else rounded(solver.best_objective_bound, greatest)
        ends = (value, max(value, limit)) if greatest else (min(value, limit), value)
        return Found(ends, z, proved=proved)

    def weighted(self, coefs: Ints) -> tuple[Any, int]:
        """Return Σ coefs z over the free cells as an expression, and what the fixed cells add."""
        free = [c for c in self.variables if coefs[c]]
        base = int(coefs @ self.system.bounds.lower) - sum(
            int(coefs[c]) * int(self.system.bounds.lower[c]) for c in self.variables
        )
        terms = [self.variables[c] for c in free]
        return cp_model.LinearExpr.weighted_sum(terms, [int(coefs[c]) for c in free]), base

    def sum_of(self, cells: Ints) -> tuple[Any, int]:
        """Return the sum of the free ones among some cells as an expression, and what the fixed ones add."""
        free = [self.variables[c] for c in cells.tolist() if c in self.variables]
        base = sum(int(self.system.bounds.lower[c]) for c in cells.tolist() if c not in self.variables)
        return cp_model.LinearExpr.sum(free), base

    def every(self, limits: Limits) -> Iterator[Ints]:
        """Yield every histogram once; raises `Inconclusive` behind the last found when the limits end the search."""
        self.model.clear_objective()  # type: ignore[no-untyped-call]
        yield from solutions(self.model, self.histogram, limits)


def rounded(bound: float, greatest: bool) -> int:
    """Return a bound on an integer objective as an integer, outwards by a hair."""
    return math.floor(bound + 1e-6) if greatest else math.ceil(bound - 1e-6)


def solutions(model: cp_model.CpModel, read: Callable[[Any], T], limits: Limits) -> Iterator[T]:
    """Yield what `read` makes of every solution; raises `Inconclusive` where the search was not complete.

    The search runs in a thread of its own and waits when it is ahead, so that nothing is built in advance.
    """
    found: queue.Queue[Any] = queue.Queue(maxsize=PENDING)
    stop = threading.Event()
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.enumerate_all_solutions = True
    if limits.left() != float("inf"):
        solver.parameters.max_time_in_seconds = max(0.001, limits.left())
    listener = Listener(read, found, stop, limits)
    complete: list[bool] = []

    def run() -> None:
        solver.parameters.catch_sigint_signal = False
        status = solver.solve(model, listener)
        complete.append(status in (cp_model.OPTIMAL, cp_model.INFEASIBLE))
        put(found, None, stop)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seen = 0
    try:
        while (item := next_of(found, solver, limits)) is not None:
            if isinstance(item, ReconError):
                raise item
            yield item
            seen += 1
        if not complete[0]:
            raise Inconclusive(f"the time was up after {seen:,} solutions")
    finally:
        stop.set()
        solver.stop_search()
        thread.join()


def next_of(found: queue.Queue[Any], solver: cp_model.CpSolver, limits: Limits) -> Any:
    """Return the next item of a search in another thread, which is told to stop when the limits end."""
    while True:
        try:
            return found.get(timeout=LOOK)
        except queue.Empty:
            if limits.expired():
                solver.stop_search()


def put(found: queue.Queue[Any], item: Any, stop: threading.Event) -> bool:
    """Put an item as soon as there is room; False where nobody wants it any more."""
    while not stop.is_set():
        try:
            found.put(item, timeout=0.1)
        except queue.Full:
            continue
        return True
    return False


class Listener(cp_model.CpSolverSolutionCallback):
    """Hands every solution over, and stops the search when nobody listens."""

    def __init__(
        self, read: Callable[[Any], Any], found: queue.Queue[Any], stop: threading.Event, limits: Limits
    ) -> None:
        super().__init__()
        self.read, self.found, self.stop, self.limits = read, found, stop, limits

    def on_solution_callback(self) -> None:
        """Pass a solution on."""
        try:
            item = self.read(self.value)
        except ReconError as error:
            item = error
        if not put(self.found, item, self.stop) or self.limits.expired():
            self.stop_search()
