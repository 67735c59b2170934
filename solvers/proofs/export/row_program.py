"""A release as a CP-SAT model row by row, one solution per world: x[row, attribute] is the value of a row.

Every other variable is a function of these, so that the number of solutions is the number of worlds in the convention.

Source: the formulation of Ferry et al., SaTML 2024 and ICML 2024; `solvers.programs.row_model`, over values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.sat.python import cp_model

from solvers.foundation.errors import EngineError, Unsupported
from solvers.foundation.escaping import shown
from solvers.foundation.exact import OPEN
from solvers.foundation.limits import Limits
from solvers.programs.row_model import RowLiterals, RowModel
from solvers.proofs.export.world_rows import WorldRows
from solvers.questions.query import Convention
from solvers.statements.boxes import RowSpace, spans
from solvers.statements.release import Release, RowWorld


class _RawLiterals(RowLiterals):
    """What a row may be asked whose integers are raw values: 0 for an attribute's first, ..."""

    def __init__(self, model: cp_model.CpModel, domain: RowSpace, row: int, here: tuple[Any, ...]) -> None:
        self.row = row
        super().__init__(model, domain, range(len(domain.attributes)), here)
        for x in self.parts.values():
            for present in here:
                model.add(x == 0).only_enforce_if(~present)

    def _variable(self, k: int) -> Any:
        attribute = self.domain.attributes[k]
        return self.model.new_int_var(0, attribute.total - 1, f"x[{self.row + 1},{shown(attribute.name)}]")

    def _full(self, k: int) -> int:
        return sum(1 << p for p, size in enumerate(self.domain.attributes[k].sizes) if size)

    def _values(self, k: int, mask: int) -> cp_model.Domain:
        ends = self.domain.attributes[k].ends
        held = [(ends[a], ends[b] - 1) for a, b in spans(mask) if ends[a] < ends[b]]
        return cp_model.Domain.from_intervals([list(pair) for pair in held])


class RowProgram(RowModel):
    """The CP-SAT model of a release over raw values, a solution per world of its convention."""

    by_parts = False

    def __init__(self, release: Release, convention: Convention, limits: Limits) -> None:
        """Build the model. Raises `Unsupported` where rows cannot be written out, `TooLarge` before they are built."""
        if release.rows.high is None:
            raise Unsupported("the number of rows is unbounded: rows cannot be written out")
        if release.domain.relative:
            raise Unsupported("a continuous attribute has no 'resolution': its values are no numbers of a model")
        if release.coarse:
            raise Unsupported(
                "an attribute whose values are summed has too many values: they are no numbers of a model"
            )
        if any(not 0 < a.total < OPEN for a in release.domain.attributes):
            raise Unsupported("an attribute has no value, or more than 2^60: no model by rows")
        self.worlds = WorldRows.of(release, convention)
        self.present: list[Any] = []
        super().__init__(self.worlds.rest, limits)
        for a, b in pairwise(self.present):
            self.model.add_implication(b, a)
        for i, s in enumerate(self.worlds.leaves):
            added = self.model.add_bool_or([self.each[i].region(self.worlds.region(s))])
            added.only_enforce_if(*self.each[i].here)
        for one in self.worlds.of_bags:
            literals = [self.each[i].region(one.region) for i, _ in one.rows]
            total = cp_model.LinearExpr.weighted_sum(literals, [weight for _, weight in one.rows])
            self._linear(total, one.total, one.total, None)

    def _number(self, release: Release) -> int:
        return int(release.rows.high or 0)

    def _named(self, release: Release) -> list[int]:
        return list(range(len(release.domain.attributes)))

    def _literals(self, i: int) -> RowLiterals:
        here: tuple[Any, ...] = ()
        if i >= self.release.rows.low:
            here = (self.model.new_bool_var(f"row[{i + 1}]"),)
            self.present += here
        return _RawLiterals(self.model, self.release.domain, i, here)

    def _sort(self) -> None:
        """Sort rows by their values, attribute by attribute, where datasets have no order."""
        if self.worlds.convention != "multiset":
            return
        for a, b in pairwise(self.each):
            alike = list(b.here)
            for chunk in _chunks([x.total for x in self.release.domain.attributes]):
                left, right = (cp_model.LinearExpr.weighted_sum([r.parts[k] for k, _ in chunk], [w for _, w in chunk])
                               for r in (a, b))  # fmt: skip
                self.model.add(left <= right).only_enforce_if(*alike)
                same = self.model.new_bool_var("")
                self.model.add(left == right).only_enforce_if(same)
                self.model.add(left + 1 <= right).only_enforce_if(*alike, ~same)
                for x in alike:
                    self.model.add_implication(same, x)
                alike = [same]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables in the model's order; auxiliary ones have none."""
        return tuple(v.name for v in self.model.proto.variables)

    @property
    def projection(self) -> tuple[str, ...]:
        """Return the names of the variables that a solution is determined by."""
        return tuple(name for name in self.names if name)

    def world(self, values: Sequence[int]) -> RowWorld:
        """Return the rows of a solution given by the value of every variable; `EngineError` where it is none."""
        kept = [row for row in self.each if all(values[x.index] for x in row.here)]
        if [row.row for row in kept] != list(range(len(kept))):  # type: ignore[attr-defined]
            raise EngineError("no solution: a row exists behind one that does not")
        found = np.array([[values[row.parts[k].index] for k in self.named] for row in kept], dtype=np.int64)
        found = found.reshape(len(kept), len(self.named))
        if why := self.worlds.broken(found):
            raise EngineError(f"no solution: {why}")
        return RowWorld(found, np.ones(len(found), dtype=np.int64))

    def values(self, rows: NDArray[Any]) -> dict[str, int]:
        """Return the variables of the projection in the solution of rows given by their raw values."""
        rows, names, out = self.worlds.arranged(rows), self.names, dict[str, int]()
        for i, row in enumerate(self.each):
            out |= {names[x.index]: int(i < len(rows)) for x in row.here}
            out |= {names[x.index]: int(rows[i, k]) if i < len(rows) else 0 for k, x in row.parts.items()}
        return out

    def weights(self, values: Sequence[int]) -> dict[str, int]:
        """Return for how many worlds a solution stands: one of its convention."""
        del values
        return {self.worlds.convention: 1}


def _chunks(totals: Sequence[int]) -> list[list[tuple[int, int]]]:
    """Return the attributes in groups, each with (attribute, weight) of a number that orders them, below 2^60."""
    out: list[list[tuple[int, int]]] = []
    at: list[tuple[int, int]] = []
    size = 1
    for k, total in enumerate(totals):
        if at and size * total >= OPEN:
            out.append(at)
            at, size = [], 1
        at = [(j, weight * total) for j, weight in at] + [(k, 1)]
        size *= total
    return [*out, at] if at else out
