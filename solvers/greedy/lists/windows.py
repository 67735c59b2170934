"""Shares of all fillings of a column by its state, the ones of each class among some rows: windows that lie apart.

Where next to nothing is left of the default rule's states, that is in corners far from each other; each has a window of
its own (`solvers.greedy.states`), in its own scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.limits import Limits
from solvers.greedy.convolutions import convolved
from solvers.greedy.states import StateWindow, U, binomials, free_leaf, kept, log2_of, normalised, point

Bools = NDArray[np.bool_]
Mask = Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[Bools, Bools]]  # ones of both classes -> possible, sure
UPWARDS = 1e-6  # by which logarithms of what is lost or doubted are rounded up
DEEP = 700  # bits below the most probable state: less is lost
BLOCK = 1 << 20  # states looked at together
GAP = 48  # states between windows that are kept apart
MOST = 24  # windows


@dataclass(frozen=True, eq=False)
class Mass:
    """The windows; `lost` and `doubt`: log2 of bounds.

    `lost`: on the share of states that are in no window. `doubt`: on that of states which are kept although the learner
    may have chosen otherwise there.
    """

    windows: tuple[StateWindow, ...]
    lost: float = -math.inf
    doubt: float = -math.inf

    def found(self) -> tuple[float, float]:
        """Return bounds on log2 of the share of all states that are kept, in doubt or not."""
        if not self.windows:
            return -math.inf, self.lost
        top = max(w.exponent for w in self.windows)
        totals = [(w.total, w.exponent - top) for w in self.windows]
        slack = 2 * len(totals) * U
        low = math.fsum(math.ldexp(total[0], power) for total, power in totals) * (1 - slack)
        high = math.fsum(math.ldexp(total[1], power) for total, power in totals) * (1 + slack)
        return log2_of((low, low), top)[0], added(log2_of((high, high), top)[1], self.lost)

    def bounds(self) -> tuple[float, float]:
        """Return bounds on log2 of the share of the states in which the learner chooses as it did."""
        low, high = self.found()
        if self.doubt == -math.inf or low == -math.inf:
            return low, high
        certain = 1.0 - math.exp2(min(0.0, self.doubt - low + UPWARDS))
        return (low + math.log2(certain) - UPWARDS if certain > 0 else -math.inf), high


def added(a: float, b: float) -> float:
    """Return an upper bound on log2(2^a + 2^b)."""
    if a < b:
        a, b = b, a
    if b == -math.inf:
        return a
    return a + 1.5 * math.exp2(max(b - a, -1000.0)) + 4 * U * (abs(a) + 1)  # log2(1 + x) < 1.5 x


def at(state: tuple[int, int]) -> Mass:
    """Return a state that is certain."""
    return Mass((point(*state),))


def free(rows: tuple[int, int], cut: float) -> Mass:
    """Return the states of so many rows of each class, of which nothing is known."""
    return Mass((free_leaf(rows, cut),))


def left(rows: tuple[int, int], mask: Mask, limits: Limits) -> Mass:
    """Return the states of so many rows that a mask leaves, wherever they are; cost: linear in all states."""
    sides = binomials(rows[0]), binomials(rows[1])
    first, second = (np.log2(mantissas) + exponents for mantissas, exponents in sides)
    ones = np.arange(rows[1] + 1)
    found: list[NDArray[np.int64]] = []
    unsure: list[Bools] = []
    best, dropped = -math.inf, 0
    step = max(1, BLOCK // len(ones))
    for start in range(0, rows[0] + 1, step):
        limits.check("the states of the default rule are listed")
        a = np.arange(start, min(start + step, rows[0] + 1))
        possible, sure = mask(a[:, None], ones[None, :])
        height = np.where(possible, first[a][:, None] + second[None, :], -np.inf)
        best = max(best, float(height.max()))
        near = possible & (height >= best - DEEP)
        dropped += int(possible.sum() - near.sum())
        found.append(np.argwhere(near) + np.array([start, 0]))
        unsure.append(~sure[near])
    states, doubt = np.concatenate(found), np.concatenate(unsure)
    if not len(states):
        return Mass(())
    near = first[states[:, 0]] + second[states[:, 1]] >= best - DEEP
    dropped += int((~near).sum())
    states, doubt = states[near], doubt[near]
    return Mass(
        tuple(_window(part, sides) for part in _parts(states)),
        math.log2(dropped) + best - DEEP + UPWARDS if dropped else -math.inf,
        math.log2(int(doubt.sum())) + best + UPWARDS if doubt.any() else -math.inf,
    )


def _window(states: NDArray[np.int64], sides: tuple[tuple[NDArray[np.float64], NDArray[np.int64]], ...]) -> StateWindow:
    """Return the window around some states, with nothing at the others."""
    (p, e), (q, g) = sides
    low, high = states.min(axis=0), states.max(axis=0)
    power = e[states[:, 0]] + g[states[:, 1]]
    top = int(power.max())
    mass = np.zeros((int(high[0] - low[0]) + 1, int(high[1] - low[1]) + 1))
    value = p[states[:, 0]] * q[states[:, 1]]
    mass[states[:, 0] - low[0], states[:, 1] - low[1]] = np.ldexp(value, (power - top).astype(np.int32))
    return normalised(StateWindow(int(low[0]), int(low[1]), mass, top, 4 * U))


def _parts(states: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the states in groups with gaps between them, all together where there are too many groups."""
    parts = [states]
    for axis in (0, 1, 0, 1):
        split = []
        for part in parts:
            order = part[np.argsort(part[:, axis], kind="stable")]
            split += np.split(order, np.flatnonzero(np.diff(order[:, axis]) > GAP) + 1)
        parts = split
    return parts if len(parts) <= MOST else [states]


def grown(mass: Mass, group: StateWindow, limits: Limits) -> Mass:
    """Return the states once the rows of a group are added (`group`: its states, see `free_leaf`)."""
    limits.check("the states of a column are added up")
    return replace(mass, windows=tuple(convolved(window, group, limits) for window in mass.windows))


def agree(mass: Mass, one: Mask, other: Mask) -> bool:
    """Return whether two masks leave the same of the states that are there, and doubt the same."""
    for window in mass.windows:
        (possible, sure), (also, certain) = (mask(*window.states()) for mask in (one, other))
        if (((possible != also) | (sure != certain)) & (window.mass > 0)).any():
            return False
    return True


def masked(mass: Mass, mask: Mask, cut: float) -> Mass:
    """Return the states that a mask leaves; windows lose a part `cut` of their sums at their edges."""
    windows, lost, doubt = [], mass.lost, mass.doubt
    for window in mass.windows:
        possible, sure = mask(*window.states())
        unsure = float(window.mass[possible & ~sure].sum())
        if unsure > 0:
            doubt = added(doubt, math.log2(unsure) + window.exponent + UPWARDS)
        found = kept(window, possible, cut)
        if found.mass.any():
            windows.append(found)
        elif found.lost > 0:
            lost = added(lost, math.log2(found.lost) + found.exponent + UPWARDS)
    return Mass(tuple(windows), lost, doubt)
