"""Weights for statements from linear programs: what a Farkas certificate is made of, before it is checked exactly.

Nothing here is trusted: floating-point duals are rounded to small fractions, and whoever uses them proves the sum
they make in whole numbers.

Source: `solvers.programs.linear.linear_program`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from solvers.cells.linear_system import SparseStatements
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.limits import Limits
from solvers.kernel.claims import Sum
from solvers.programs.linear.dual_bounds import rounded
from solvers.programs.linear.linear_program import CellProgram


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
        for over, y in rounded(duals, self.linear.low, self.linear.high):
            yield Sum(over, tuple((s, -int(y[s]) * scale) for s in np.flatnonzero(y).tolist()))
