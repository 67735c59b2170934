"""The linear relaxation of a system over its free cells: bounds that hold whatever rounding the solver did.

Source: `solvers.linear_program` and `solvers.dual_bounds`; the statements are those that presolve leaves.
"""

from __future__ import annotations

from solvers.components import simplified
from solvers.limits import Limits
from solvers.linear import Ints
from solvers.linear_program import CellProgram
from solvers.system import System


class Relaxation:
    """The relaxation of the unconditional statements, solved again and again with other objectives."""

    def __init__(self, system: System, limits: Limits | None = None) -> None:
        """Presolve the system; raises `Inconclusive` when time is up."""
        linear = simplified(system, limits or Limits())
        self.program = CellProgram(linear, system.bounds.lower, system.bounds.upper, again=True)

    def bound(self, coefs: Ints, greatest: bool, limits: Limits) -> int:
        """Return a proved bound on the least (greatest) coefs @ z over all histograms."""
        return -self.program.bound(-coefs, limits) if greatest else self.program.bound(coefs, limits)

    def refutes(self, limits: Limits) -> bool:
        """Tell whether the statements are proved to contradict each other."""
        found = self.program.violation(limits)
        return found is not None and self.program.refutation(found) is not None
