"""Bounds on cells by linear programs, where propagation leaves open what the statements nearly determine.

Propagation looks at one statement at a time. Where the statements are about as many as the cells that are left, one
program per end of every cell often fixes nearly all of them; the next begins at the basis of the last.

Source: optimality-based bound tightening (Gleixner, Berthold, Müller, Weltge, "Three enhancements for
optimization-based bound tightening", Journal of Global Optimization 67, 2017); every bound is a dual one, in whole
numbers (`solvers.programs.linear.dual_bounds`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.cells.components import known_presolve
from solvers.cells.linear_system import Propagated, propagate
from solvers.cells.system import CellSystem
from solvers.foundation.limits import Limits
from solvers.programs.linear.linear_program import Relaxation

MAX_CELLS = 2_000  # open ones: two programs each, some milliseconds at first
NEAR = 0.75  # statements per open cell from which on bounds are looked for
ROUNDS = 4  # over all open cells, propagation after each


@dataclass(slots=True)
class _KnownTightening:
    """The system with tightened bounds, None where there is none, once it was looked for."""

    looked: bool = False
    system: CellSystem | None = None


def tightened(system: CellSystem, limits: Limits) -> CellSystem | None:
    """Return the system with bounds by linear programs on the cells that propagation left open.

    None where the statements are few for the cells, or nothing moved; remembered. The bounds hold for every histogram,
    wherever time ends the search. Cost: two linear programs per open cell and round.
    """
    known = system.derived.part(_KnownTightening)
    if not known.looked and not limits.expired():
        known.looked, known.system = True, _tightened(system, limits) if _promising(system, limits) else None
    return known.system


def _promising(system: CellSystem, limits: Limits) -> bool:
    """Return whether presolve keeps nearly as many statements as there are open cells, and these are not too many."""
    cells = len(system.free)
    return 0 < cells <= MAX_CELLS and known_presolve(system, limits).kept >= NEAR * cells


def _tightened(system: CellSystem, limits: Limits) -> CellSystem | None:
    found = system
    for _ in range(ROUNDS):
        bounds = _round(found, limits)
        if bounds is None:
            break
        found = replace(found, bounds=bounds)
        if not len(found.free) or limits.expired():
            break
    return None if found is system else found


def _round(system: CellSystem, limits: Limits) -> Propagated | None:
    """Return the bounds after a program per end of every open cell, and propagation; None where nothing moved."""
    lower, upper = system.bounds.lower.copy(), system.bounds.upper.copy()
    relaxation = Relaxation(system, limits)
    for done, cell in enumerate(system.free.tolist()):
        if limits.expired():
            break
        limits.report(f"bounds by linear programs: {done} of {len(system.free)} cells")
        one = np.zeros(len(system.sizes), dtype=np.int64)
        one[cell] = 1
        lower[cell] = max(lower[cell], relaxation.bound(one, False, limits))
        upper[cell] = min(upper[cell], relaxation.bound(one, True, limits))
    moved = (lower > system.bounds.lower) | (upper < system.bounds.upper)
    if not moved.any() or (lower > upper).any():  # a contradiction is proved elsewhere, with its statements
        return None
    bounds = propagate(system.linear.take(system.always), lower, upper, limits.expired, trace=False)
    return None if bounds.conflict is not None else bounds
