"""Weights of the states of a column at a node: a window of floats in one scale, with a bound on all that it is not.

A window stands for a function f >= 0 of states (a, b): f = 2^exponent (g + d), where |g - mass| <= relative * mass
entry by entry, outside the window g is 0, and the absolute values of d sum to `lost` at most. What is cut off, the
noise of Fourier transforms and what is too small for a float go into `lost`; roundings of products and sums of numbers
that are not negative go into `relative`. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition
2002, sections 3.1 (running bounds) and 3.4 (inner products).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

U = 2.0**-53  # unit roundoff
UP = 1.0 + 2.0**-40  # makes up for the roundings of a bound computed in floats
TINY = 1e-280  # smaller entries, beside a greatest one of about 1, are dropped and accounted for
SMALL = 4_096  # windows with so many states at most are never cut
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class StateWindow:
    """Weights `mass` (s, t) of the states (first + i, second + j); what they stand for: see the module.

    `factors`: (s,) and (t,) whose products the weights are (one more rounding each), where they are known.
    """

    first: int
    second: int
    mass: Floats
    exponent: int = 0
    relative: float = 0.0
    lost: float = 0.0
    factors: tuple[Floats, Floats] | None = None

    @property
    def total(self) -> tuple[float, float]:
        """Return bounds on the sum of f, without the scale; the low one may be negative."""
        mass = float(self.mass.sum())
        slack = self.relative + (self.mass.size + 2) * U
        return mass * (1.0 - slack * UP) - self.lost * UP, (mass * (1.0 + slack * UP) + self.lost) * UP

    def states(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the states as columns (s, 1) and rows (1, t)."""
        return (
            np.arange(self.first, self.first + self.mass.shape[0])[:, None],
            np.arange(self.second, self.second + self.mass.shape[1])[None, :],
        )


def log2_of(bounds: tuple[float, float], exponent: int) -> tuple[float, float]:
    """Return bounds on the logarithm of a number between two bounds in a scale; -inf where it may be 0."""
    low, high = (math.log2(x) + exponent if x > 0 else -math.inf for x in bounds)
    slack = 8 * U * (abs(exponent) + 1_100)  # more than any logarithm of a float, and the sum's rounding
    return low - slack, high + slack


def point(first: int, second: int) -> StateWindow:
    """Return weight 1 at one state."""
    return StateWindow(first, second, np.ones((1, 1)))


def binomials(n: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return C(n, a) / 2^n for a = 0..n as mantissas and exponents of 2, each rounded once; n steps in integers."""
    mantissas, exponents, c = np.empty(n + 1), np.empty(n + 1, dtype=np.int64), 1
    for a in range(n // 2 + 1):
        shift = max(0, c.bit_length() - 53)
        head = c >> shift
        head += (c >> (shift - 1)) & 1 if shift else 0
        mantissas[a], exponents[a] = math.frexp(head)
        exponents[a] += shift - n
        c = c * (n - a) // (a + 1)
    half = n // 2
    mantissas[half + 1 :], exponents[half + 1 :] = mantissas[: n - half][::-1], exponents[: n - half][::-1]
    return mantissas, exponents


def free_leaf(counts: tuple[int, int], cut: float) -> StateWindow:
    """Return the shares of all fillings of a leaf's rows by their state: a product of two binomial distributions."""
    parts = [
        _cut_line(*_scaled(*binomials(n)), cut if (counts[0] + 1) * (counts[1] + 1) > SMALL else 0.0) for n in counts
    ]
    (p, first, e, lost), (q, second, g, missed) = parts
    mass = np.outer(p, q)
    gone = (lost * float(q.sum()) + missed * float(p.sum()) + lost * missed) * UP + _dropped(mass)
    return normalised(StateWindow(first, second, mass, e + g, 3 * U * UP, gone, (p, q)))


def choice_of_leaf(counts: tuple[int, int], kept: Mask) -> StateWindow:
    """Return the shares of the fillings of a leaf's rows for the states kept (n0 + 1, n1 + 1), not one cut off."""
    (p, e), (q, g) = binomials(counts[0]), binomials(counts[1])
    rows, columns = (np.flatnonzero(kept.any(axis=axis)) for axis in (1, 0))
    if not rows.size:
        return StateWindow(0, 0, np.zeros((1, 1)))
    i, j = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    powers = e[i, None] + g[None, j]
    top = int(powers[kept[i, j]].max())
    below = np.where(kept[i, j], powers - top, 0)
    mass = np.where(kept[i, j], np.ldexp(np.outer(p[i], q[j]), np.maximum(below, -1000).astype(np.int32)), 0.0)
    gone = float((below < -900).sum()) * 2.0**-900
    return normalised(StateWindow(int(rows[0]), int(columns[0]), mass, top, 3 * U * UP, gone + _dropped(mass)))


def normalised(window: StateWindow) -> StateWindow:
    """Return the same in the scale in which the greatest weight is at least 1/2 and below 1; exact."""
    top = float(window.mass.max())
    if top <= 0:
        return replace(window, factors=None)
    shift = math.frexp(top)[1]
    if not shift:
        return window
    scale = 2.0**-shift
    factors = None if window.factors is None else (window.factors[0] * scale, window.factors[1])
    return replace(
        window,
        mass=window.mass * scale,
        exponent=window.exponent + shift,
        lost=window.lost * scale,
        factors=factors,
    )


def kept(window: StateWindow, allowed: Mask, cut: float) -> StateWindow:
    """Return a window restricted to the states allowed (s, t), and cut where little is left at its edges."""
    every = bool(allowed.all())
    mass = window.mass if every else np.where(allowed, window.mass, 0.0)
    if not mass.any():
        return replace(window, mass=mass, factors=None)
    smaller = trimmed(replace(window, mass=mass, factors=window.factors if every else None), cut)
    return normalised(smaller)


def trimmed(window: StateWindow, cut: float) -> StateWindow:
    """Return a window without the rows and columns at its edges that hold a part `cut` of its sum, or of its error."""
    mass = window.mass
    part = 0.0
    if mass.size > SMALL:  # beside what is lost already, a little more is nothing
        part = max(cut, window.lost / max(float(mass.sum()), TINY) / 20) / 4
    bounds, lost = [], window.lost
    for axis in (1, 0):
        line = mass.sum(axis=axis)
        low, high = _edges(line, part * float(line.sum()))
        lost += float(line[:low].sum() + line[high:].sum()) * UP * (1 + window.relative)
        bounds.append((low, high))
    (i, k), (j, m) = bounds
    factors = None if window.factors is None else (window.factors[0][i:k], window.factors[1][j:m])
    return replace(
        window,
        first=window.first + i,
        second=window.second + j,
        mass=mass[i:k, j:m],
        lost=lost * UP,
        factors=factors,
    )


def _edges(line: Floats, part: float) -> tuple[int, int]:
    """Return where a line of weights begins and ends if each end gives up so much at most."""
    low = int(np.searchsorted(np.cumsum(line), part, side="right"))
    high = len(line) - int(np.searchsorted(np.cumsum(line[::-1]), part, side="right"))
    return (low, high) if low < high else (0, len(line))


def _scaled(mantissas: Floats, exponents: NDArray[np.int64]) -> tuple[Floats, int]:
    """Return numbers in the scale of their greatest; what is below 2^-1000 of it becomes 0."""
    top = int(exponents.max())
    below = exponents - top
    return np.where(below >= -1000, np.ldexp(mantissas, np.maximum(below, -1000).astype(np.int32)), 0.0), top


def _cut_line(line: Floats, exponent: int, cut: float) -> tuple[Floats, int, int, float]:
    low, high = _edges(line, cut / 4 * float(line.sum()))
    lost = float(line[:low].sum() + line[high:].sum()) * UP + (2.0**-1000 * len(line) if line.min() <= 0 else 0.0)
    return line[low:high], low, exponent, lost


def _dropped(mass: Floats) -> float:
    """Set entries that are too small to 0, in place, and return a bound on what they sum to."""
    small = (mass < TINY) & (mass > 0)
    number = int(small.sum())
    mass[small] = 0.0
    return number * TINY
