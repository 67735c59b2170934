"""A first histogram for large systems: each component as an integer program for HiGHS.

What HiGHS finds is rounded and checked exactly; that it finds nothing proves nothing.
Source: HiGHS (Huangfu, Hall, "Parallelizing the dual revised simplex method", 2018), through scipy.
"""

from __future__ import annotations

import math
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from solvers.cells.components import Component, presolve
from solvers.cells.linear_system import FREE, Ints, Linear, Propagated
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.foundation.threads import natively

Floats = NDArray[np.float64]


def first_histogram(linear: Linear, bounds: Propagated, limits: Limits, seconds: float) -> Ints | None:
    """Return a histogram within the bounds that meets every statement, None where none was found in time.

    Cost: an integer program without an objective per component; `seconds` is shared among them.
    """
    z = bounds.lower.copy()
    parts = presolve(linear, bounds, (), limits).components
    left = min(seconds, limits.left())
    for i, part in enumerate(parts):
        if part.matrix is None or limits.expired():
            return None
        limits.report(f"a first world: component {i} of {len(parts)}, {len(part.cells):,} cells")
        y = whole_point(part, left, limits.stop)
        if y is None:
            return None
        z[part.cells] += y
    return z if not len(linear.broken(z)) else None


def whole_point(part: Component, seconds: float, stop: Event) -> Ints | None:
    """Return whole numbers within a component's room that meet its statements, None where HiGHS found none."""
    if part.matrix is None or not len(part.low):
        return np.zeros(len(part.cells), dtype=np.int64)
    low = np.where(part.low <= -FREE, -math.inf, part.low)
    high = np.where(part.high >= FREE, math.inf, part.high)
    room = part.room.astype(np.float64)
    found = whole_program(
        np.zeros(len(room)), csr_array(part.matrix.astype(np.float64)), (low, high), room, seconds, stop
    )
    if found is None:
        return None
    y = np.clip(found, 0, part.room)
    sums = part.matrix @ y
    return y if bool(((sums >= part.low) & (sums <= part.high)).all()) else None


def whole_program(
    price: Floats,
    matrix: Any,
    bounds: tuple[Floats, Floats],
    room: Floats,
    seconds: float,
    stop: Event,
    gap: float = 0.0,
) -> Ints | None:
    """Return whole x, 0 <= x <= room, with bounds on matrix @ x and a low price, None where HiGHS found none in time.

    Rounded, not checked. `gap`: how far above the least price is near enough.
    """

    def work() -> Any:
        return milp(
            price,
            constraints=LinearConstraint(matrix, *bounds),
            bounds=Bounds(np.zeros(len(room)), room),
            integrality=np.ones(len(room), dtype=np.int64),
            options={"time_limit": max(0.01, seconds), "mip_rel_gap": gap},
        )

    try:
        found = natively(work, stop, None, seconds)
    except Inconclusive:
        return None
    return None if found.x is None else np.rint(found.x).astype(np.int64)
