"""A release as clauses for other solvers, a model per world of a convention, and rows back from models.

Source: `solvers.cells.clauses.lowering`; conventions row by row: `solvers.proofs.export.world_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.clauses.gates import CLAUSE_BYTES, size_error
from solvers.cells.clauses.lowering import (
    ADDER_CLAUSES,
    NO_PART,
    PRESENT,
    Bit,
    Lowered,
    Lowering,
    clauses_needed,
    stated,
)
from solvers.foundation.errors import EngineError
from solvers.foundation.limits import Limits
from solvers.positions.worlds import part_of
from solvers.proofs.export.world_rows import WorldRows
from solvers.questions.query import Convention
from solvers.statements.release import Release, RowWorld

ClauseBit = Bit  # what a variable of a row says
NOT_A_PART = NO_PART  # the part of a bit that says how far along in a part's values its row is
EXISTS = PRESENT  # the attribute of a bit that says that its row exists


@dataclass(frozen=True, eq=False)
class ClauseForm:
    """The clauses of a release in a convention: `lowered`, one model per world, and what its rows are."""

    lowered: Lowered
    rows: WorldRows

    @classmethod
    def of(cls, release: Release, convention: Convention, limits: Limits) -> ClauseForm:
        """Return the clauses; raises `Unsupported` or `TooLarge` where they cannot be written."""
        rows = WorldRows.of(release, convention)
        drawn = sum(len(one.rows) * max(n for _, n in one.rows).bit_length() for one in rows.of_bags if one.rows)
        needed = clauses_needed(rows.rest, raw=True) + ADDER_CLAUSES * drawn
        if drawn and not release.domain.relative and needed * CLAUSE_BYTES > limits.memory:
            raise size_error(needed)
        made = stated(rows.rest, limits, raw=True, sorted_rows=convention == "multiset")
        _fix_leaves(made, rows)
        _state_bags(made, rows)
        return cls(replace(made.finish(), release=release), rows)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of the variables, x1 first."""
        return tuple(f"x{v}" for v in range(1, self.lowered.variables + 1))

    @property
    def projection(self) -> tuple[str, ...]:
        """Return the names of the variables that a model is determined by."""
        return tuple(f"x{v}" for v in self.lowered.projection())

    def world(self, values: Sequence[int]) -> RowWorld:
        """Return the rows of a model given by the value of every variable; `EngineError` where it is none."""
        found = self.lowered.decode([v for v, x in enumerate(values, 1) if x])
        if (found >= np.array([a.total for a in self.lowered.release.domain.attributes], dtype=object)).any():
            raise EngineError("no model: a row has a value beyond the last of its attribute")
        if why := self.rows.broken(found):
            raise EngineError(f"no model: {why}")
        return RowWorld(found, np.ones(len(found), dtype=np.int64))

    def values(self, rows: NDArray[Any]) -> dict[str, int]:
        """Return the variables of the projection in the model of rows given by their raw values."""
        rows, attributes = self.rows.arranged(rows), self.lowered.release.domain.attributes
        out = {}
        for bit in self.lowered.bits:
            here = bit.row < len(rows)
            if bit.attribute != PRESENT and here:
                attribute, value = attributes[bit.attribute], int(rows[bit.row, bit.attribute])
                part = part_of(attribute, value)
                place = (value - attribute.ends[part]) >> bit.offset & 1
                here = bool(place) if bit.part == NO_PART else part == bit.part
            out[f"x{bit.variable}"] = int(here)
        return out

    def weights(self, values: Sequence[int]) -> dict[str, int]:
        """Return for how many worlds a model stands: one of its convention."""
        del values
        return {self.rows.convention: 1}


def _fix_leaves(made: Lowering, rows: WorldRows) -> None:
    """State that every row is in the leaf that is known beforehand."""
    for i, s in enumerate(rows.leaves):
        made.out.add((-made.present[i], made.region(i, rows.region(s))))


def _state_bags(made: Lowering, rows: WorldRows) -> None:
    """State what trees on known bags count, multiplicities being weights."""
    for one in rows.of_bags:
        terms = [(made.region(i, one.region), weight) for i, weight in one.rows]
        if all(weight == 1 for _, weight in terms):
            found = made.out.counted((x for x, _ in terms), one.total, one.total)
        else:
            found = made.out.summed(terms, one.total, one.total)
        for x in found:
            made.out.add((x,))
