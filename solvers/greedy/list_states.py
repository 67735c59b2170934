"""Probabilities of a column's state, the ones of each of two classes among some rows: windows, what is lost, errors.

A column of independent bits is a fair coin per row, so that the state of rows that are added is two binomial numbers.
Conditions may leave states whose probability is far below the range of doubles, so that each window has a power of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
UNIT = 2.0**-53  # relative error of one rounding
STEP = 1e-6  # what bounds on lost mass (log2) are rounded up by
BLOCK = 1 << 20  # states looked at together
GAP = 48  # states between windows that are kept apart
MOST = 24  # windows
SMALL = 2.0**-1000  # products of doubles below it may lose digits
Mask = Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[Bools, Bools]]  # ones of both classes -> possible, sure


@dataclass(frozen=True, eq=False)
class Window:
    """States from `low` on: `mass` (ones of class 0, ones of class 1) times 2^`scale`."""

    low: tuple[int, int]
    mass: Floats
    scale: int

    @property
    def top(self) -> float:
        """Return log2 of the largest entry."""
        found: float = math.log2(float(self.mass.max())) + self.scale
        return found


@dataclass(frozen=True, eq=False)
class Mass:
    """Probabilities of states, each known to a relative `error`.

    `lost`: log2 of a bound on the probability of all states that are left out. `doubt`: log2 of a bound on that of
    states which are kept although the learner may have chosen otherwise there.
    """

    windows: tuple[Window, ...]
    lost: float = -math.inf
    doubt: float = -math.inf
    error: float = 0.0

    def bounds(self) -> tuple[float, float]:
        """Return bounds on log2 of the probability of all states."""
        if not self.windows:
            return -math.inf, self.lost
        most = max(w.scale for w in self.windows)
        total = math.fsum(math.ldexp(float(w.mass.sum()), w.scale - most) for w in self.windows)
        rows = max(sum(w.mass.shape) for w in self.windows)
        error = self.error + (rows + len(self.windows) + 256) * UNIT
        value = math.log2(total) + most
        slack = 1.5 * error + 4 * UNIT * (abs(value) + abs(most) + 1)  # 1 / ln 2 < 1.5
        certain = 1.0 - math.exp2(min(0.0, self.doubt - value + slack + STEP))
        low = value - slack + math.log2(certain) - 4 * UNIT if certain > 0 else -math.inf
        return low, added(value + slack, self.lost) if self.lost > -math.inf else value + slack


def added(a: float, b: float) -> float:
    """Return an upper bound on log2(2^a + 2^b)."""
    if a < b:
        a, b = b, a
    if b == -math.inf:
        return a
    return a + 1.5 * math.exp2(max(b - a, -1000.0)) + 4 * UNIT * (abs(a) + 1)  # log2(1 + x) < 1.5 x


@dataclass(frozen=True, eq=False)
class Binomial:
    """All weights C(m, a) / 2^m as `mantissa` [0.5, 1) times 2^`exponent`, each with a relative error of `error`."""

    mantissa: Floats
    exponent: NDArray[np.int64]
    error: float

    @property
    def log2(self) -> Floats:
        """Return the logarithms, to about 1e-9."""
        found: Floats = np.log2(self.mantissa) + self.exponent
        return found

    def kernel(self, bits: float) -> tuple[int, Floats, int, float]:
        """Return first index, weights and their power of two, of all within so many bits of the largest.

        Last: log2 of a bound on all the others together, -inf where there are none.
        """
        height = self.log2
        kept = np.flatnonzero(height >= height.max() - bits)
        low, high = int(kept[0]), int(kept[-1]) + 1
        scale = int(self.exponent[low:high].max())
        weights = np.ldexp(self.mantissa[low:high], (self.exponent[low:high] - scale).astype(np.int32))
        others = len(height) - (high - low)
        return low, weights, scale, math.log2(others) + float(height.max()) - bits + STEP if others else -math.inf


def binomial(m: int) -> Binomial:
    """Return the weights of the number of ones among m fair coins. Cost: linear."""
    x, e = 1.0, -m
    found, powers = [x], [e]
    for a in range(m // 2):
        x = x * (m - a) / (a + 1)  # two roundings
        if x >= 2.0**500:
            x, e = math.ldexp(x, -500), e + 500
        found.append(x)
        powers.append(e)
    mirrored = slice(None, None, -1) if m % 2 else slice(-2, None, -1)
    mantissa, own = np.frexp(np.array(found + found[mirrored]))
    return Binomial(mantissa, np.array(powers + powers[mirrored], dtype=np.int64) + own, (m + 2) * UNIT)


def at(state: tuple[int, int]) -> Mass:
    """Return a state that is certain."""
    return Mass((Window(state, np.ones((1, 1)), 0),))


def free(rows: tuple[int, int], bits: float, limits: Limits) -> Mass:
    """Return the states of so many rows of each class, of which nothing is known."""
    return grown(at((0, 0)), (binomial(rows[0]), binomial(rows[1])), bits, limits)


def left(rows: tuple[int, int], mask: Mask, bits: float, limits: Limits) -> Mass:
    """Return the states of so many rows that a mask leaves, wherever they are; cost: linear in all states.

    States more than `bits` below the most probable that is left are lost.
    """
    sides = binomial(rows[0]), binomial(rows[1])
    first, second = sides[0].log2, sides[1].log2
    ones = np.arange(rows[1] + 1)
    kept: list[NDArray[np.int64]] = []
    doubtful: list[NDArray[np.bool_]] = []
    best, dropped = -math.inf, 0
    step = max(1, BLOCK // len(ones))
    for start in range(0, rows[0] + 1, step):
        limits.check("the states of the default rule are listed")
        a = np.arange(start, min(start + step, rows[0] + 1))
        possible, sure = mask(a[:, None], ones[None, :])
        height = np.where(possible, first[a][:, None] + second[None, :], -np.inf)
        best = max(best, float(height.max()))
        near = possible & (height >= best - bits)
        dropped += int(possible.sum() - near.sum())
        kept.append(np.argwhere(near) + np.array([start, 0]))
        doubtful.append(~sure[near])
    states, doubt = np.concatenate(kept), np.concatenate(doubtful)
    if not len(states):
        return Mass(())
    near = first[states[:, 0]] + second[states[:, 1]] >= best - bits
    dropped += int((~near).sum())
    states, doubt = states[near], doubt[near]
    lost = math.log2(dropped) + best - bits + STEP if dropped else -math.inf
    unsure = math.log2(int(doubt.sum())) + best + STEP if doubt.any() else -math.inf
    windows = tuple(_window(part, sides) for part in _parts(states))
    return Mass(windows, lost, unsure, sides[0].error + sides[1].error + 2 * UNIT)


def _window(states: NDArray[np.int64], sides: tuple[Binomial, Binomial]) -> Window:
    """Return the window around some states, nothing at the others."""
    low, high = states.min(axis=0), states.max(axis=0)
    power = sides[0].exponent[states[:, 0]] + sides[1].exponent[states[:, 1]]
    value = sides[0].mantissa[states[:, 0]] * sides[1].mantissa[states[:, 1]]
    scale = int(power.max())
    mass = np.zeros((int(high[0] - low[0]) + 1, int(high[1] - low[1]) + 1))
    mass[states[:, 0] - low[0], states[:, 1] - low[1]] = np.ldexp(value, np.maximum(power - scale, -1000).astype(int))
    return Window((int(low[0]), int(low[1])), mass, scale)


def _parts(states: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the states in groups with gaps between them, all together where there are too many groups."""
    parts, axes = [states], [0, 1, 0, 1]
    for axis in axes:
        split = []
        for part in parts:
            order = part[np.argsort(part[:, axis], kind="stable")]
            cuts = np.flatnonzero(np.diff(order[:, axis]) > GAP) + 1
            split += np.split(order, cuts)
        parts = split
    return parts if len(parts) <= MOST else [states]


def grown(mass: Mass, sides: Sequence[Binomial], bits: float, limits: Limits) -> Mass:
    """Return the states once the rows of a group are added, whose ones of each class are binomial."""
    kernels = [side.kernel(bits) for side in sides]
    windows, lost = [], mass.lost
    inner = max((max(w.mass.shape) for w in mass.windows), default=0)
    for window in mass.windows:
        limits.check("the states of a column are added up")
        shape = [n + len(k[1]) - 1 for n, k in zip(window.mass.shape, kernels, strict=True)]
        need = 8 * sum(a * (b + c) for a, b, c in ((shape[0], *window.mass.shape), (shape[1], shape[0], shape[1])))
        if need > limits.memory:
            raise TooLarge(
                f"the states of a column take {need / 1e9:.1f} GB under the learner's rule: give more --memory"
            )
        found = _convolved(window.mass, kernels[0][1])
        found = _convolved(found.T, kernels[1][1]).T
        least = window.mass[window.mass > 0].min() * kernels[0][1].min() * kernels[1][1].min()
        scale = window.scale + kernels[0][2] + kernels[1][2]
        if least < SMALL:  # what underflows is lost
            lost = added(lost, math.log2(found.size) + scale - 1060)
        low = window.low[0] + kernels[0][0], window.low[1] + kernels[1][0]
        windows.append(Window(low, found, scale))
    for kernel in kernels:
        if kernel[3] > -math.inf and windows:
            lost = added(lost, mass.bounds()[1] + kernel[3]) + STEP
    terms = 2 * inner + 2 * max(len(k[1]) for k in kernels) + len(windows) + 16
    error = mass.error + sum(side.error for side in sides) + terms * UNIT
    return replace(mass, windows=tuple(_merged(windows)), lost=lost, error=error)


def _convolved(mass: Floats, kernel: Floats) -> Floats:
    """Return the convolution along the first axis, by one matrix product: sums of terms that are not negative."""
    n = len(mass)
    if len(kernel) == 1:
        return np.asarray(mass * kernel[0])
    padded = np.concatenate([np.zeros(n - 1), kernel, np.zeros(n - 1)])
    found: Floats = np.ascontiguousarray(sliding_window_view(padded, n)[:, ::-1]) @ mass
    return found


def _merged(windows: list[Window]) -> list[Window]:
    """Return the windows, those that overlap added up where that makes no large one of them."""
    out: list[Window] = []
    for window in windows:
        one = window
        for other in list(out):
            low = min(one.low[0], other.low[0]), min(one.low[1], other.low[1])
            ends = [max(w.low[i] + w.mass.shape[i] for w in (one, other)) for i in (0, 1)]
            area = (ends[0] - low[0]) * (ends[1] - low[1])
            if area <= one.mass.size + other.mass.size and abs(one.scale - other.scale) < 500:
                scale, mass = max(one.scale, other.scale), np.zeros((ends[0] - low[0], ends[1] - low[1]))
                for w in (one, other):
                    i, j = w.low[0] - low[0], w.low[1] - low[1]
                    mass[i : i + w.mass.shape[0], j : j + w.mass.shape[1]] += np.ldexp(w.mass, w.scale - scale)
                out.remove(other)
                one = Window(low, mass, scale)
        out.append(one)
    return out


def agree(mass: Mass, one: Mask, other: Mask) -> bool:
    """Return whether two masks leave the same of the states that are there, and doubt the same."""
    for window in mass.windows:
        a, b = (low + np.arange(n) for low, n in zip(window.low, window.mass.shape, strict=True))
        differs = [x != y for x, y in zip(one(a[:, None], b[None, :]), other(a[:, None], b[None, :]), strict=True)]
        if ((differs[0] | differs[1]) & (window.mass > 0)).any():
            return False
    return True


def masked(mass: Mass, mask: Mask, bits: float) -> Mass:
    """Return the states that a mask leaves; those more than `bits` below the most probable of them are lost."""
    windows: list[Window] = []
    doubt = mass.doubt
    for window in mass.windows:
        a, b = (low + np.arange(n) for low, n in zip(window.low, window.mass.shape, strict=True))
        possible, sure = mask(a[:, None], b[None, :])
        kept = np.where(possible, window.mass, 0.0)
        if not kept.any():
            continue
        windows.append(Window(window.low, kept, window.scale))
        unsure = float(kept[~sure].sum())
        if unsure > 0:
            doubt = added(doubt, math.log2(unsure) + window.scale + STEP)
    if not windows:
        return replace(mass, windows=(), doubt=doubt)
    return _trimmed(replace(mass, windows=tuple(windows), doubt=doubt), max(w.top for w in windows) - bits)


def _trimmed(mass: Mass, least: float) -> Mass:
    """Return the windows cut to the entries of at least 2^least, with their largest entry between 1 and 2."""
    windows, lost = [], mass.lost
    for window in mass.windows:
        near = window.mass >= math.exp2(min(max(least - window.scale, -1020.0), 1020.0))
        rows, columns = np.flatnonzero(near.any(axis=1)), np.flatnonzero(near.any(axis=0))
        if not len(rows):
            lost = added(lost, math.log2(float(window.mass.sum())) + window.scale + STEP)
            continue
        i, j = int(rows[0]), int(columns[0])
        cut = window.mass[i : int(rows[-1]) + 1, j : int(columns[-1]) + 1]
        rest = math.fsum(
            float(p.sum())
            for p in (window.mass[:i], window.mass[int(rows[-1]) + 1 :], cut_sides(window.mass, rows, columns))
        )
        if rest > 0:
            lost = added(lost, math.log2(rest) + window.scale + STEP)
        power = int(np.frexp(cut.max())[1]) - 1
        windows.append(Window((window.low[0] + i, window.low[1] + j), np.ldexp(cut, -power), window.scale + power))
    return replace(mass, windows=tuple(windows), lost=lost)


def cut_sides(mass: Floats, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Floats:
    """Return the entries left and right of the kept columns, in the kept rows."""
    part = mass[int(rows[0]) : int(rows[-1]) + 1]
    return np.concatenate([part[:, : int(columns[0])].ravel(), part[:, int(columns[-1]) + 1 :].ravel()])
