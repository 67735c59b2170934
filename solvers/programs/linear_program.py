"""The linear relaxation of a system over its free cells: bounds that hold whatever rounding the solver did.

A dual solution of HiGHS is rounded to multiples of 2^-20 and the bound it proves is computed in whole numbers: any
multipliers y prove c z >= Σ_j min(y_j low_j, y_j high_j) + Σ_c min(r_c l_c, r_c u_c) with r = c - y A.

Source: safe dual bounds, Neumaier and Shcherbina, "Safe bounds in linear and mixed-integer linear programming",
Mathematical Programming 99, 2004; Farkas' lemma for infeasibility.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Component, known_presolve
from solvers.cells.linear_system import FREE, Ints
from solvers.cells.system import System
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.foundation.threads import natively

SCALE = 1 << 20
WIDE = 1 << 61  # beyond, sums are taken in Python integers


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Whole multipliers (over SCALE) of the statements of the components, in order: what proves a bound."""

    statements: Ints
    values: Ints


class Relaxation:
    """The relaxation of the unconditional statements, solved again and again with other objectives."""

    def __init__(self, system: System, limits: Limits | None = None) -> None:
        """Cut the system into components; raises `Inconclusive` when time is up."""
        limits = limits or Limits()
        self.system = system
        parts = known_presolve(system, limits).components
        self.parts: list[Component] = [p for p in parts if p.matrix is not None]
        self.cells = np.concatenate([np.zeros(0, dtype=np.int64), *(p.cells for p in self.parts)]).astype(np.int64)
        self.room = np.concatenate([np.zeros(0, dtype=np.int64), *(p.room for p in self.parts)]).astype(np.int64)
        self.low = np.concatenate([np.zeros(0, dtype=np.int64), *(p.low for p in self.parts)])
        self.high = np.concatenate([np.zeros(0, dtype=np.int64), *(p.high for p in self.parts)])
        self.statements = np.concatenate([np.zeros(0, dtype=np.int64), *(p.statements for p in self.parts)])
        self._solver: Any = None

    def _model(self, limits: Limits) -> Any:
        """Return the HiGHS model, built once; raises `Inconclusive` when time is up."""
        if self._solver is None:
            solver = highspy.Highs()
            solver.HandleUserInterrupt = True
            solver.silent()
            solver.setOptionValue("threads", 1)
            solver.setOptionValue("presolve", "off")  # keeps the basis for the next objective, and gives rays
            for room in limits.paced(self.room.tolist(), "a linear program was built"):
                solver.addVar(0.0, float(room))
            offset = 0
            for part in self.parts:
                if part.matrix is None:
                    continue
                for weights, low, high in zip(part.matrix, part.low.tolist(), part.high.tolist(), strict=True):
                    at = np.flatnonzero(weights)
                    ends = -highspy.kHighsInf if low <= -FREE else low, highspy.kHighsInf if high >= FREE else high
                    solver.addRow(*ends, len(at), (offset + at).astype(np.int32), weights[at].astype(np.float64))
                offset += len(part.cells)
            self._solver = solver
        return self._solver

    def _run(self, costs: Ints, limits: Limits) -> Any:
        """Return HiGHS after it looked for the least costs @ y, None where the time was too short."""
        try:
            limits.check("a linear program was solved")
            solver = self._model(limits)
            if limits.left() != float("inf"):
                solver.setOptionValue("time_limit", float(solver.getRunTime() + max(0.001, limits.left())))
            solver.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs.astype(np.float64))
            natively(solver.run, limits.stop, solver.cancelSolve, limits.left())
        except Inconclusive:
            self._solver = None  # it may still be at work
            return None
        return solver

    def bound(self, coefs: Ints, greatest: bool, limits: Limits) -> tuple[int, Multipliers | None]:
        """Return a proved bound on the least (greatest) coefs @ z over all histograms, and what proves it."""
        sign = -1 if greatest else 1
        costs = sign * coefs[self.cells]
        fixed = sign * int(coefs @ self.system.bounds.lower)
        held = np.ones(len(self.system.sizes), dtype=bool)
        held[self.cells] = False
        loose = sign * coefs[held]  # cells in no component vary alone
        rest = int(np.minimum(0, loose * (self.system.bounds.upper - self.system.bounds.lower)[held]).sum())
        multipliers = self._duals(costs, limits) if costs.any() else None
        value = self.proved(costs, multipliers)
        return sign * (fixed + rest + value), multipliers

    def _duals(self, costs: Ints, limits: Limits) -> Multipliers | None:
        """Return rounded dual values of the least costs @ y, None where HiGHS found none in time."""
        solver = self._run(costs, limits)
        if solver is None or solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        dual = np.array(solver.getSolution().row_dual, dtype=np.float64)
        return Multipliers(self.statements, np.rint(dual * SCALE).astype(np.int64))

    def proved(self, costs: Ints, multipliers: Multipliers | None) -> int:
        """Return the bound on costs @ y (0 <= y <= room) that the multipliers prove, in whole numbers, rounded up."""
        y = np.zeros(len(self.low), dtype=object) if multipliers is None else multipliers.values.astype(object)
        y = np.where((self.high >= FREE) & (y < 0), 0, np.where((self.low <= -FREE) & (y > 0), 0, y))
        total = sum(int(v) * int(lo if v > 0 else hi) for v, lo, hi in zip(y, self.low, self.high, strict=True) if v)
        reduced = self.reduced(costs, y)
        at = np.flatnonzero(reduced < 0)
        total += sum(int(r) * int(u) for r, u in zip(reduced[at], self.room[at], strict=True))
        return -((-total) // SCALE)

    def reduced(self, costs: Ints, y: NDArray[Any]) -> NDArray[Any]:
        """Return SCALE * costs - y A, exactly."""
        wide = SCALE * int(np.abs(costs).max(initial=0)) + sum(
            max((abs(int(v)) for v in y), default=0) * int(np.abs(p.matrix).sum(axis=0).max(initial=0))
            for p in self.parts
            if p.matrix is not None
        )
        out: NDArray[Any] = costs.astype(np.int64 if wide < WIDE else object) * SCALE
        row = column = 0
        for part in self.parts:
            if part.matrix is None:
                continue
            here = y[row : row + len(part.low)]
            small = max((abs(int(v)) for v in here), default=0) * int(np.abs(part.matrix).sum(axis=0).max(initial=0))
            kind = np.int64 if small < WIDE else object
            out[column : column + len(part.cells)] -= here.astype(kind) @ part.matrix.astype(kind)
            row += len(part.low)
            column += len(part.cells)
        return out

    def refutes(self, limits: Limits) -> Multipliers | None:
        """Return multipliers that prove that the statements contradict each other, None where they do not.

        Farkas: Σ y_j (a_j z) is at least Σ min(y_j low_j, y_j high_j) and at most its greatest over the cells.
        """
        solver = self._run(np.zeros(len(self.cells), dtype=np.int64), limits)
        if solver is None or solver.getModelStatus() != highspy.HighsModelStatus.kInfeasible:
            return None
        found = solver.getDualRay()
        ray = np.array(found[-1], dtype=np.float64)
        top = np.abs(ray).max(initial=0.0)
        if not top:
            return None
        multipliers = Multipliers(self.statements, np.rint(ray / top * SCALE).astype(np.int64))
        nothing = np.zeros(len(self.cells), dtype=np.int64)
        return multipliers if self.proved(nothing, multipliers) > 0 else None
