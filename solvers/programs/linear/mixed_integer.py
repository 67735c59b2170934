"""A first histogram for large systems: each component as an integer program for HiGHS.

What HiGHS finds is rounded and checked exactly; that it finds nothing proves nothing.
Source: HiGHS (Huangfu, Hall, "Parallelizing the dual revised simplex method", 2018).
"""

from __future__ import annotations

import math

import numpy as np

from solvers.cells.components import Component, presolve
from solvers.cells.linear_system import FREE, Propagated, SparseStatements
from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.programs.linear.linear_program import by_column, whole_program


def first_histogram(linear: SparseStatements, bounds: Propagated, limits: Limits) -> Ints | None:
    """Return a histogram within the bounds that meets every statement, None where none was found in time.

    Cost: an integer program without an objective per component.
    """
    z = bounds.lower.copy()
    parts = presolve(linear, bounds, (), limits).components
    for i, part in enumerate(parts):
        if part.matrix is None or limits.expired():
            return None
        limits.report(f"a first world: component {i} of {len(parts)}, {len(part.cells):,} cells")
        y = whole_point(part, limits)
        if y is None:
            return None
        z[part.cells] += y
    return z if not len(linear.broken(z)) else None


def whole_point(part: Component, limits: Limits) -> Ints | None:
    """Return whole numbers within a component's room that meet its statements, None where HiGHS found none."""
    if part.matrix is None or not len(part.low):
        return np.zeros(len(part.cells), dtype=np.int64)
    low = np.where(part.low <= -FREE, -math.inf, part.low)
    high = np.where(part.high >= FREE, math.inf, part.high)
    room, (row, cell) = part.room.astype(np.float64), np.nonzero(part.matrix)
    entries = by_column(row, cell, part.matrix[row, cell], len(room))
    found = whole_program(np.zeros(len(room)), entries, (low, high), room, limits)
    if found is None:
        return None
    y = np.clip(found, 0, part.room)
    sums = part.matrix @ y
    return y if bool(((sums >= part.low) & (sums <= part.high)).all()) else None
