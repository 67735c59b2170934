"""A declared domain cut into parts where the released conditions need it: conditions become boxes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from encoders.domain.cuts import AttributeCuts
from encoders.domain.domain import Domain
from encoders.domain.values import Ranges
from solvers.foundation.derived import Derived
from solvers.statements.boxes import Attribute, Box
from solvers.statements.boxes import RowSpace as SolverDomain

Resolved = dict[int, Ranges]  # attribute -> the positions that pass


@dataclass(frozen=True)
class CutDomain:
    """A declared domain cut into parts: conditions become boxes.

    `single`: every condition is a test on 32-bit numbers, so that thresholds can be said shorter than they are written.
    """

    domain: Domain
    cuts: tuple[AttributeCuts, ...]
    single: bool = field(default=False, compare=False)
    derived: Derived = field(init=False, default_factory=Derived, repr=False, compare=False)

    @cached_property
    def solver(self) -> SolverDomain:
        """Return the row space as the engines see it."""
        return SolverDomain(
            tuple(Attribute(c.attribute.name, c.sizes) for c in self.cuts),
            label=None if self.domain.label is None else len(self.cuts) - 1,
            relative=bool(self.domain.continuous),
        )

    @property
    def unsized(self) -> tuple[str, ...]:
        """Return the attributes that are told apart and have no end: no region has a share of the row space.

        Their parts weigh alike in `sizes`, so that no figure that depends on sizes may be given.
        """
        return tuple(c.attribute.name for c in self.cuts if c.unsized)

    def box(self, resolved: Resolved) -> Box:
        """Return the box of resolved conditions; attributes that allow everything are left out."""
        pairs = ((k, self.cuts[k].mask(ranges)) for k, ranges in resolved.items())
        return Box.of((k, m) for k, m in pairs if m != (1 << len(self.cuts[k].sizes)) - 1)
