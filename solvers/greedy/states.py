"""Weights of the states of a column at a node: a window of floats in one scale, with a bound on all that it is not.

A window stands for a function f >= 0 of states (a, b): f = 2^exponent (g + d), where |g - mass| <= relative * mass
entry by entry, outside the window g is 0, and the absolute values of d sum to `lost` at most. What is cut off, the
noise of Fourier transforms and what is too small for a float go into `lost`; roundings of products and sums of numbers
that are not negative go into `relative`. Source: Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition
2002, sections 3.1 (running bounds) and 3.4 (inner products).

Convolutions of windows of states: what two children's states sum to, with a bound on every rounding.

Sums of products of numbers that are not negative have a relative error of (terms + 2) units of roundoff at most, in
any order. By Fourier transforms the error is absolute: one transform of length N = 2^k changes a vector by at most a
relative part of its 2-norm per pass, see `transform_error`, from which follows, with Parseval's equation and
|A| <= |a|_1 for the transform A of a, the bound in `_by_transform`. Sources: Higham, Accuracy and Stability of
Numerical Algorithms, 2nd edition 2002, sections 3.1, 3.6 and theorem 24.2; Brisebarre, Joldes, Muller, Naneş & Picot,
Error analysis of some operations involved in the Cooley-Tukey fast Fourier transform, TOMS 46(2), 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits

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
        _cut_line(*_common_scale(*binomials(n)), cut if (counts[0] + 1) * (counts[1] + 1) > SMALL else 0.0)
        for n in counts
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


def restricted_window(window: StateWindow, allowed: Mask, cut: float) -> StateWindow:
    """Return a window restricted to the states allowed (s, t), and cut where little is left at its edges."""
    every = bool(allowed.all())
    mass = window.mass if every else np.where(allowed, window.mass, 0.0)
    if not mass.any():
        return replace(window, mass=mass, factors=None)
    smaller = _trimmed_window(replace(window, mass=mass, factors=window.factors if every else None), cut)
    return normalised(smaller)


def _trimmed_window(window: StateWindow, cut: float) -> StateWindow:
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


def _common_scale(mantissas: Floats, exponents: NDArray[np.int64]) -> tuple[Floats, int]:
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


MAX_SHIFTED_STATES = 48  # states of a window that others are shifted by, one after the other
DIRECT = 3e6  # products below which a direct convolution is faster than transforms
PASS = 16 * U  # a bound on the relative error of one pass of a transform of radix 2, twice that of theorem 24.2


def convolved(one: StateWindow, two: StateWindow, limits: Limits, *, direct: float = DIRECT) -> StateWindow:
    """Return the window of the sums of two states, one of each window; `direct`: products before transforms are used.

    Raises `Inconclusive` where it would take more memory than the limits allow.
    """
    large, small = (one, two) if one.mass.size >= two.mass.size else (two, one)
    shape = (large.mass.shape[0] + small.mass.shape[0] - 1, large.mass.shape[1] + small.mass.shape[1] - 1)
    _fits(shape, limits)
    noise, factors = 0.0, None
    if np.count_nonzero(small.mass) <= MAX_SHIFTED_STATES:
        mass, terms = _by_shifts(large.mass, small.mass, shape), MAX_SHIFTED_STATES
    elif one.factors and two.factors:
        lines = [np.convolve(p, q) for p, q in zip(one.factors, two.factors, strict=True)]
        factors = lines[0], lines[1]
        mass, terms = np.outer(*factors), sum(small.mass.shape) + 4
    elif one.factors or two.factors:
        of, other = (one, two) if one.factors else (two, one)
        mass, terms = _by_lines(other.mass, of), sum(of.mass.shape) + 4
    elif one.mass.size * float(two.mass.size) <= direct:
        mass, terms = _by_rows(large.mass, small.mass, shape), small.mass.size + 2
    else:
        mass, noise = _by_transform(one, two, shape)
        terms = 0
    return _sum_window(one, two, mass, terms, noise, factors)


def _transform_error(length: int) -> float:
    """Return a bound on |computed - exact|_2 / |exact|_2 of one transform of so many (a power of two) numbers.

    Theorem 24.2 for radix 2 with factors that are off by mu: log2(N) eta / (1 - log2(N) eta) where
    eta = mu + gamma_4 (sqrt 2 + mu), below 8 units of roundoff for mu of two units. Twice that is taken: a pass of
    radix 4 or 8 in pocketfft rounds on no path more than two or three passes of radix 2 do, and a transform of reals
    computes half of that of complex numbers.
    """
    passes = length.bit_length() * PASS
    return passes / (1 - passes)


def sums_reached(one: Mask, two: Mask, limits: Limits) -> Mask:
    """Return which states are sums of one state of each of two sets, exactly: whole numbers are told from noise.

    Raises `Inconclusive` where the states are too many for the memory, or to tell 0 from 1.
    """
    shape = (one.shape[0] + two.shape[0] - 1, one.shape[1] + two.shape[1] - 1)
    _fits(shape, limits)
    pairs, noise = _by_transform(StateWindow(0, 0, one.astype(float)), StateWindow(0, 0, two.astype(float)), shape)
    if noise / math.sqrt(pairs.size) >= 0.5:
        raise Inconclusive(f"{shape[0] * shape[1]:,} states of a node are too many to tell which are reached")
    return np.asarray(pairs > 0.5)


def _sum_window(
    one: StateWindow, two: StateWindow, mass: Floats, terms: int, noise: float, factors: tuple[Floats, Floats] | None
) -> StateWindow:
    sums = [w.total[1] for w in (one, two)]
    rounding = terms * U / (1 - terms * U)
    relative = ((1 + one.relative) * (1 + two.relative) * (1 + rounding) - 1) * UP + 4 * U
    lost = (one.lost * sums[1] + two.lost * sums[0] + noise) * UP
    if _least_value(one) * _least_value(two) < 2 * TINY:  # also where products were too small for a float
        mass[mass < TINY] = 0.0
        lost += 2 * TINY * mass.size
    exponent = one.exponent + two.exponent
    return normalised(
        StateWindow(one.first + two.first, one.second + two.second, mass, exponent, relative, lost, factors)
    )


def _padded(shape: tuple[int, int]) -> tuple[int, int]:
    return 1 << (shape[0] - 1).bit_length(), 1 << (shape[1] - 1).bit_length()


def _fits(shape: tuple[int, int], limits: Limits) -> None:
    """Raise `Inconclusive` where two transforms, what they make and some copies take more than the memory given."""
    if 8 * (4 * math.prod(_padded(shape)) + 6 * math.prod(shape)) > limits.room:
        raise Inconclusive(f"the memory is too small for {math.prod(shape):,} states of a node")


def _least_value(window: StateWindow) -> float:
    return float(window.mass.min(where=window.mass > 0, initial=1.0))


def _by_shifts(large: Floats, small: Floats, shape: tuple[int, int]) -> Floats:
    out = np.zeros(shape)
    for i, j in np.argwhere(small):
        out[i : i + large.shape[0], j : j + large.shape[1]] += small[i, j] * large
    return out


def _toeplitz(line: Floats, width: int) -> Floats:
    """Return T (width, width + len - 1) with x @ T the convolution of a line of that width with this one."""
    padded = np.concatenate([np.zeros(width - 1), line, np.zeros(width - 1)])
    return sliding_window_view(padded, width + len(line) - 1)[::-1]


def _by_lines(mass: Floats, of: StateWindow) -> Floats:
    """Convolve with a product of two lines: along rows, then along columns."""
    assert of.factors is not None
    p, q = of.factors
    along = mass @ _toeplitz(q, mass.shape[1])
    return np.asarray(_toeplitz(p, mass.shape[0]).T @ along)


def _by_rows(large: Floats, small: Floats, shape: tuple[int, int]) -> Floats:
    """Convolve directly: row by row of the smaller window, each a product with a Toeplitz matrix."""
    out = np.zeros(shape)
    for k in range(small.shape[0]):
        if small[k].any():
            out[k : k + large.shape[0]] += large @ _toeplitz(small[k], large.shape[1])
    return out


def _by_transform(one: StateWindow, two: StateWindow, shape: tuple[int, int]) -> tuple[Floats, float]:
    """Return the convolution by Fourier transforms, and a bound on the sum of the absolute errors of its entries.

    With e the relative error of a transform, the 2-norm of the error is at most
    e (|a|_2 |b|_1 + |a|_1 |b|_2) + (e + 4u) min(|a|_2 |b|_1, |a|_1 |b|_2); the sum over K entries is sqrt(K) times it.
    """
    from scipy import fft

    a, b = one.mass, two.mass
    padded = _padded(shape)
    product = fft.rfft2(a, padded)
    product *= fft.rfft2(b, padded)
    mass = fft.irfft2(product, padded, overwrite_x=True)[: shape[0], : shape[1]]
    error = _transform_error(padded[0] * padded[1]) * (1 + 1e-6)
    sums, norms = (float(a.sum()), float(b.sum())), (float(np.linalg.norm(a)), float(np.linalg.norm(b)))
    first, second = norms[0] * sums[1], sums[0] * norms[1]
    noise = error * (first + second) + (error + 4 * U) * min(first, second)
    return np.maximum(mass, 0.0), math.sqrt(shape[0] * shape[1]) * noise * (1 + 1e-6)
