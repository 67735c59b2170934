"""Whole rows from a fractional histogram, their number kept: by largest remainders, and dependent rounding at random.

Source: systematic sampling, Madow, Annals of Mathematical Statistics 20, 1949 (every cell is rounded up with the
probability of its fraction, and the sum stays); Gandhi, Khuller, Parthasarathy, Srinivasan, "Dependent rounding and its
applications to approximation algorithms", JACM 53, 2006.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints

TRIES = 30
NEAR = 1e-6  # a fraction this close to a whole number is one


def rounded(system: CellSystem, rows: Floats, score: Callable[[Ints], float], seed: int = 0) -> Ints | None:
    """Return the best whole histogram of some roundings of a fractional one; None where their number of rows is none.

    Cells stay within their bounds, the number of rows is a possible one; other statements are left to the score.
    """
    bounds, stated = system.bounds, system.release.rows
    whole = np.clip(np.floor(rows + NEAR).astype(np.int64), bounds.lower, bounds.upper)
    fraction = np.where(whole < bounds.upper, np.clip(rows - whole, 0.0, 1.0), 0.0)
    fraction[fraction < NEAR] = 0.0
    n = max(stated.low, round(float(rows.sum())))
    n = n if stated.high is None else min(n, stated.high)
    more = n - sum(whole.tolist())
    if more < 0:
        return None
    random, best, maximum = np.random.default_rng(seed), None, -np.inf
    for turn in range(TRIES if more and fraction.any() else 1):
        drawn = np.zeros(len(whole), dtype=np.int64)
        if turn:
            drawn[systematic(fraction, random)] = 1
        up = settled(drawn, fraction, bounds.upper - whole, more)
        if up is None:
            return None
        here = score(whole + up)
        if best is None or here > maximum:
            best, maximum = whole + up, here
    return best


def systematic(fraction: Floats, random: np.random.Generator) -> Ints:
    """Return cells, each drawn with the probability of its fraction, as many as these sum up to, give or take one."""
    order = random.permutation(np.flatnonzero(fraction))
    ends = np.floor(np.cumsum(fraction[order]) + random.random())
    return np.asarray(order[np.diff(ends, prepend=0.0) > 0], dtype=np.int64)


def settled(up: Ints, fraction: Floats, room: Ints, more: int) -> Ints | None:
    """Return the rows added so that they are `more`, by largest remainders, and wherever there is room; or None."""
    out, missing = up.copy(), more - int(up.sum())
    order = np.argsort(-fraction, kind="stable")
    if missing < 0:
        drawn = order[out[order] > 0]
        out[drawn[missing:]] = 0
        return out
    free = order[(out[order] == 0) & (room[order] > 0) & (fraction[order] > 0)][:missing]
    out[free] = 1
    missing -= len(free)
    for c in order.tolist() if missing else ():
        extra = min(missing, int(room[c] - out[c]))
        out[c] += extra
        missing -= extra
        if not missing:
            break
    return out if not missing else None
