"""The greatest sum of gains where no two noisy counts share a cell: one tree, one rule list, disjoint counts.

Rows are then given out, or taken back, one by one where that costs least, which is optimal for concave gains; where
very many are, by a multiplier. The optimum is proved by that multiplier (`solvers.programs.concave.terms`), not
by this search.

Source: Gross (1956), Fox, "Discrete optimization via marginal analysis", Management Science 13, 1966; Ibaraki, Katoh,
"Resource Allocation Problems", 1988, chapters 4 and 5.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.programs.concave.terms import Gains, binding, conjugates, rise

ONE_BY_ONE = 20_000  # rows that are moved one by one, beyond by a multiplier
HALVINGS = 120  # of the multiplier's range


@dataclass(frozen=True, eq=False)
class Shares:
    """Which gain every cell counts in (-1: in none), and the rows that cells of no gain must and may hold."""

    of: Ints
    minimum: int
    maximum: int


def shares_of(system: CellSystem, gains: Gains) -> Shares | None:
    """Return how cells are shared out where no cell is in two gains and only the rows are stated besides; or None."""
    linear, bounds, stated = system.linear, system.bounds, binding(system)
    stated[gains.statement] = False
    if system.total is not None:
        stated[system.total] = False
    if system.choices or stated.any() or len(np.unique(gains.statement)) < len(gains):
        return None
    place = np.full(len(linear), -1, dtype=np.int64)
    place[gains.statement] = np.arange(len(gains))
    counted = place[linear.row] >= 0
    col = linear.col[counted]
    if len(np.unique(col)) < len(col):
        return None
    of = np.full(linear.columns, -1, dtype=np.int64)
    of[col] = place[linear.row[counted]]
    rest = of < 0
    return Shares(of, sum(bounds.lower[rest].tolist()), sum(bounds.upper[rest].tolist()))


def separable(system: CellSystem, gains: Gains, shares: Shares) -> tuple[Ints, float] | None:
    """Return the histogram with the greatest sum and the multiplier that proves it; None where rows do not fit.

    Cost: one look per gain and a logarithmic one per row that is moved.
    """
    rows, counts = system.release.rows, gains.best.copy()
    if rows.high is None:
        raise TypeError("the number of rows is unbounded")
    total = sum(counts.tolist())
    if total + shares.minimum > rows.high:
        goal, sign = rows.high - shares.minimum, -1
    elif total + shares.maximum < rows.low:
        goal, sign = rows.low - shares.maximum, 1
    else:
        goal, sign = total, 0
    minimum, maximum = sum(gains.low.tolist()), sum(gains.high.tolist())
    if not minimum <= goal <= maximum:
        return None
    multiplier = 0.0
    if abs(goal - total) > ONE_BY_ONE:
        counts, multiplier = _by_multiplier(gains, goal)
    elif sign:
        counts, multiplier = _by_steps(gains, counts, sign, abs(goal - total))
    filled = _fill(system, shares, counts)
    missing = rows.low - sum(filled.tolist())
    return _fill_up(system, filled, shares.of < 0, max(0, missing)), multiplier


def _by_steps(gains: Gains, counts: Ints, sign: int, steps: int) -> tuple[Ints, float]:
    """Return the counts after so many steps up (sign 1) or down, each where it costs least, and what the last cost."""
    which = np.arange(len(gains), dtype=np.int64)
    cost = -gains.values(which, counts + sign)
    heap = [(c, i) for i, c in enumerate(cost.tolist()) if c < np.inf]
    heapq.heapify(heap)
    last = 0.0
    for _ in range(steps):
        last, i = heap[0]
        counts[i] += sign
        here = gains.each[i].value(np.array([counts[i], counts[i] + sign], dtype=np.int64))
        if gains.low[i] <= counts[i] + sign <= gains.high[i]:
            heapq.heapreplace(heap, (float(here[0] - here[1]), i))
        else:
            heapq.heappop(heap)
    return counts, -sign * last


def _by_multiplier(gains: Gains, goal: int) -> tuple[Ints, float]:
    """Return the counts that sum to the goal, best up to what floats blur, and their multiplier."""
    which = np.arange(len(gains), dtype=np.int64)
    ends = np.concatenate([rise(gains, which, gains.low), rise(gains, which, gains.high - 1)])
    ends = ends[np.isfinite(ends)]
    less, more = float(ends.max(initial=0.0)) + 1.0, float(ends.min(initial=0.0)) - 1.0
    low, many = conjugates(gains, np.full(len(gains), less))[0], conjugates(gains, np.full(len(gains), more))[0]
    for _ in range(HALVINGS):
        middle = (less + more) / 2
        if not more < middle < less:
            break
        counts = conjugates(gains, np.full(len(gains), middle))[0]
        if sum(counts.tolist()) <= goal:
            low, less = counts, middle
        else:
            many, more = counts, middle
    room, left = (many - low).tolist(), goal - sum(low.tolist())
    for i, r in enumerate(room):  # all of these rows are worth the same
        low[i] += min(r, left)
        left -= min(r, left)
    return low, less


def multipliers_by_block(system: CellSystem, gains: Gains) -> Floats:
    """Return a multiplier per gain, the same within a partition: that of its best counts alone with as many rows.

    They prove what each tree says by itself, however many cells there are.
    """
    rows, out = system.release.rows, np.zeros(len(gains))
    index = system.index
    for b, block in system.release.partitions.items():
        at = np.flatnonzero(index.of_blocks([b])[gains.statement])
        if len(at) < len(block):
            continue
        some = Gains([gains.each[i] for i in at.tolist()])
        total = sum(some.best.tolist())
        goal = min(max(total, rows.low), rows.high if rows.high is not None else total)
        if goal != total and sum(some.low.tolist()) <= goal <= sum(some.high.tolist()):
            sign, steps = (1 if goal > total else -1), abs(goal - total)
            small = steps <= ONE_BY_ONE
            out[at] = _by_steps(some, some.best.copy(), sign, steps)[1] if small else _by_multiplier(some, goal)[1]
    return out


def _fill(system: CellSystem, shares: Shares, counts: Ints) -> Ints:
    """Return a histogram with these counts: every cell its least rows, then what is left to the first with room."""
    z, lower = system.bounds.lower.copy(), system.bounds.lower
    held = np.zeros(len(counts), dtype=np.int64)
    inside = np.flatnonzero(shares.of >= 0)
    np.add.at(held, shares.of[inside], lower[inside])
    left = counts - held
    order = inside[np.argsort(shares.of[inside], kind="stable")]
    for c in order.tolist():
        i = shares.of[c]
        if left[i] > 0:
            more = min(int(left[i]), int(system.bounds.upper[c] - z[c]))
            z[c] += more
            left[i] -= more
    return z


def _fill_up(system: CellSystem, z: Ints, allowed: NDArray[np.bool_], missing: int) -> Ints:
    """Return the histogram with so many rows more in the cells allowed."""
    for c in np.flatnonzero(allowed).tolist():
        if missing <= 0:
            break
        more = min(missing, int(system.bounds.upper[c] - z[c]))
        z[c] += more
        missing -= more
    return z
