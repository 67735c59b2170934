"""What propagation leaves free, cut into parts that have nothing to do with each other.

Statements that the bounds already imply are dropped, equal ones merged, and so are sums of others that tie what is
independent without them (`solvers.cells.linear_system`); cells and statements that remain form a graph whose connected
components are solved one by one. Worlds multiply over components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from solvers.cells.linear_system import (
    FREE,
    Propagated,
    SparseStatements,
    add_up,
    groups_of,
    same_rows,
    separating_sums,
)
from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.statements.release import UNBOUNDED

if TYPE_CHECKING:
    from solvers.cells.system import CellSystem

MAX_DENSE = 20_000_000  # entries of a component's dense matrix
DENSE_BYTES = 24  # of an entry, while equal rows are merged
PHASE = "what propagation leaves free was cut into components"


@dataclass(frozen=True, eq=False)
class Component:
    """Free cells with the statements that tie them: `low <= matrix @ y <= high`, 0 <= y <= room, z = lower + y.

    `cells` are their numbers in the system. `matrix` is (statements, cells) int64, None where it would be too
    large. `statements` are the numbers of the rows in the system (of equal ones the first). `keep`: the rows whose
    sums are asked for, `asked` the statements they are, in the same order.
    """

    cells: Ints
    room: Ints
    statements: Ints
    matrix: NDArray[np.int64] | None
    low: Ints
    high: Ints
    keep: tuple[int, ...] = ()
    asked: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Presolve:
    """How far propagation and clean-up got: cells and statements before and after, and the components left."""

    cells: int
    fixed: int
    statements: int
    kept: int
    components: tuple[Component, ...]

    def __str__(self) -> str:
        largest = max((len(c.cells) for c in self.components), default=0)
        return (
            f"presolve fixed {self.fixed:,} of {self.cells:,} cells and kept {self.kept:,} of {self.statements:,} "
            f"statements; {len(self.components):,} components, the largest of {largest:,} cells"
        )


def known_presolve(system: CellSystem, limits: Limits) -> Presolve:
    """Return the components of the unconditional statements of a system, made once; see `presolve`."""
    known = system.derived.part(KnownPresolve)
    if known.presolve is None:
        linear = system.linear.take(system.always) if system.choices else system.linear
        known.presolve = presolve(linear, system.bounds, (), limits)
    return known.presolve


@dataclass(slots=True)
class KnownPresolve:
    """The components of the unconditional statements of a system."""

    presolve: Presolve | None = None


def simplified(system: CellSystem, limits: Limits) -> SparseStatements:
    """Return what presolve leaves of the unconditional statements, over the cells of the system.

    Statements of components that have no matrix are left out.
    """
    parts = [p for p in known_presolve(system, limits).components if p.matrix is not None]
    row, col, coef, low, high = ([np.zeros(0, dtype=np.int64)] for _ in range(5))
    first = 0
    for part in limits.paced(parts, PHASE):
        if part.matrix is None:
            continue
        at, cell = np.nonzero(part.matrix)
        base = part.matrix @ system.bounds.lower[part.cells]
        row.append(at + first)
        col.append(part.cells[cell])
        coef.append(part.matrix[at, cell])
        low.append(np.where(part.low <= -FREE, -UNBOUNDED, part.low + base))
        high.append(np.where(part.high >= FREE, UNBOUNDED, part.high + base))
        first += len(base)
    bounds = np.concatenate(low), np.concatenate(high)
    return SparseStatements.of(
        np.concatenate(row), np.concatenate(col), np.concatenate(coef), bounds, len(system.sizes)
    )


def presolve(
    system: SparseStatements, bounds: Propagated, keep: tuple[int, ...] = (), limits: Limits | None = None
) -> Presolve:
    """Return the components of the cells that the bounds leave free.

    `keep` are statements whose sums are asked for (the number of rows where that is open): they stay.
    Cost: linear in the entries, and the distinct statements of each component are compared once. Raises
    `Inconclusive` when time is up.
    """
    limits = limits or Limits()
    limits.check(PHASE)
    lower, upper = bounds.lower, bounds.upper
    free = lower < upper
    entry = free[system.col]
    row, col, coef = system.row[entry], system.col[entry], system.coef[entry]
    base = system.sums(lower)
    room = upper - lower
    low = np.where(system.low < -FREE, -FREE, system.low - base)
    high = np.where(system.high > FREE, FREE, system.high - base)
    minimum = add_up(np.minimum(coef, 0) * room[col], row, len(system))
    maximum = add_up(np.maximum(coef, 0) * room[col], row, len(system))
    needed = (minimum < low) | (maximum > high)
    needed[list(keep)] = True
    entry = needed[row]
    row, col, coef = row[entry], col[entry], coef[entry]
    stays = ~separating_sums(SparseStatements(row, col, coef, low, high, len(free)), keep)[row]
    row, col, coef = row[stays], col[stays], coef[stays]
    cells = np.flatnonzero(free)
    group = groups_of(row, col, len(system), len(free), keep)  # the sums asked for vary together: one component
    parts: list[Component] = []
    dense = limits.room // DENSE_BYTES  # entries of all matrices together
    cell_order = cells[np.argsort(group[cells], kind="stable")]
    row_group = group[len(free) + row]
    entry_order = np.argsort(row_group, kind="stable")
    sorted_groups = row_group[entry_order]
    starts = np.flatnonzero(np.diff(group[cell_order], prepend=-1))
    place = np.zeros(len(free), dtype=np.int64)  # of a cell in its component
    place[cell_order] = np.arange(len(cells)) - np.repeat(starts, np.diff(starts, append=len(cells)))
    for members in limits.paced(np.split(cell_order, starts[1:]) if len(cells) else [], PHASE):
        g = group[members[0]]
        first, last = np.searchsorted(sorted_groups, [g, g + 1])
        at = entry_order[first:last]
        entries = row[at], place[col[at]], coef[at]
        most = min(MAX_DENSE, dense)
        parts.append(_component(members.astype(np.int64), room, entries, (low, high), keep, most))
        if (matrix := parts[-1].matrix) is not None:
            dense -= matrix.size
            limits.keep(matrix, matrix.nbytes)
    kept = sum(len(c.statements) for c in parts)
    return Presolve(len(free), int((~free).sum()), len(system), kept, tuple(parts))


def _component(
    cells: Ints,
    room: Ints,
    entries: tuple[Ints, Ints, Ints],
    bounds: tuple[Ints, Ints],
    keep: tuple[int, ...],
    most: int,
) -> Component:
    """Return one component, equal statements merged; `entries` (statement, place among the cells, coefficient).

    `most`: the entries that its matrix may have; beyond them it has none.
    """
    row, at, coef = entries
    rows, r = np.unique(row, return_inverse=True)
    low, high = bounds[0][rows], bounds[1][rows]
    if len(rows) * len(cells) > most:
        return Component(cells, room[cells], rows, None, low, high)
    matrix = np.zeros((len(rows), len(cells)), dtype=np.int64)
    matrix[r.reshape(-1), at] = coef
    first, group = same_rows(matrix)
    tight_low, tight_high = low[first].copy(), high[first].copy()
    np.maximum.at(tight_low, group, low)
    np.minimum.at(tight_high, group, high)
    place = {int(s): int(g) for s, g in zip(rows, group, strict=True)}
    kept = tuple(place[s] for s in keep if s in place)
    asked = tuple(s for s in keep if s in place)
    return Component(cells, room[cells], rows[first], matrix[first], tight_low, tight_high, kept, asked)
