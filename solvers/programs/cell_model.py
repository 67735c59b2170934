"""A system as a CP-SAT model over its free cells: one integer per cell, one Boolean per alternative.

Source: `solvers.programs.cpsat`; histograms over cells, Ferry et al., SaTML 2024.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from solvers.cells.components import known_presolve, simplified
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import CellVariables, refuse, rounded, run, solutions


@dataclass(frozen=True, eq=False)
class SolveResult:
    """What a solve said: `bounds` on the extreme asked for (equal where proved), the best histogram, or `none`."""

    bounds: tuple[int, int]
    histogram: Ints | None
    none: bool = False
    proved: bool = False


class CellModel(CellVariables):
    """The CP-SAT model of a system; solved as often as asked, each time with another objective."""

    def __init__(self, system: CellSystem, limits: Limits | None = None) -> None:
        """Build the model; raises `Inconclusive` when time is up."""
        super().__init__(system.bounds.lower, system.bounds.upper, limits)
        self.system = system
        if all(p.matrix is not None for p in known_presolve(system, self.limits).components):
            linear = simplified(system, self.limits)
            self.statements(linear, range(len(linear)))
        else:
            self.statements(system.linear, np.flatnonzero(system.always).tolist())
        self.alternatives(system.linear, system.choices)

    def histogram(self, value: Any) -> Ints:
        """Return the histogram of a solution, checked against every statement."""
        z = self.values(value)
        if not self.system.satisfied(z):
            raise EngineError("CP-SAT gave a histogram that breaks a statement")
        return z

    def solve(self, objective: Any, greatest: bool, limits: Limits, model: Any = None) -> SolveResult:
        """Return the extreme of an expression over the free cells (None: any histogram).

        `model`: a clone of this model that says more, to be solved in its place.
        """
        model = model or self.model
        model.clear_objective()
        if objective is not None:
            (model.maximize if greatest else model.minimize)(objective)
        status, solver = run(model, limits)
        refuse(model, status)
        if status == cp_model.INFEASIBLE:
            return SolveResult((0, 0), None, none=True)
        if status == cp_model.UNKNOWN:
            return SolveResult((0, 0), None)
        z = self.histogram(solver.value)
        if objective is None:
            return SolveResult((0, 0), z, proved=True)
        value, proved = round(solver.objective_value), status == cp_model.OPTIMAL
        limit = value if proved else rounded(solver.best_objective_bound, greatest)
        ends = (value, max(value, limit)) if greatest else (min(value, limit), value)
        return SolveResult(ends, z, proved=proved)

    def every(self, limits: Limits) -> Iterator[Ints]:
        """Yield every histogram once; raises `Inconclusive` after what was found when limits end the search."""
        self.model.clear_objective()  # type: ignore[no-untyped-call]
        yield from solutions(self.model, self.histogram, limits)
