"""Convolutions of windows of states: what two children's states sum to, with a bound on every rounding.

Sums of products of numbers that are not negative have a relative error of (terms + 2) units of roundoff at most, in
any order. By Fourier transforms the error is absolute: one transform of length N = 2^k changes a vector by at most a
relative part of its 2-norm per pass, see `transform_error`, from which follows, with Parseval's equation and
|A| <= |a|_1 for the transform A of a, the bound in `_by_transform`. Sources: Higham, Accuracy and Stability of
Numerical Algorithms, 2nd edition 2002, sections 3.1, 3.6 and theorem 24.2; Brisebarre, Joldes, Muller, Naneş & Picot,
Error analysis of some operations involved in the Cooley-Tukey fast Fourier transform, TOMS 46(2), 2020.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.greedy.states import TINY, UP, Floats, Mask, StateWindow, U, normalised

FEW = 48  # states of a window that others are shifted by, one after the other
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
    if np.count_nonzero(small.mass) <= FEW:
        mass, terms = _by_shifts(large.mass, small.mass, shape), FEW
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
    return _together(one, two, mass, terms, noise, factors)


def transform_error(length: int) -> float:
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


def _together(
    one: StateWindow, two: StateWindow, mass: Floats, terms: int, noise: float, factors: tuple[Floats, Floats] | None
) -> StateWindow:
    sums = [w.total[1] for w in (one, two)]
    rounding = terms * U / (1 - terms * U)
    relative = ((1 + one.relative) * (1 + two.relative) * (1 + rounding) - 1) * UP + 4 * U
    lost = (one.lost * sums[1] + two.lost * sums[0] + noise) * UP
    if _least(one) * _least(two) < 2 * TINY:  # also where products were too small for a float
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
    if 8 * (4 * math.prod(_padded(shape)) + 6 * math.prod(shape)) > limits.memory:
        raise Inconclusive(f"the memory is too small for {math.prod(shape):,} states of a node")


def _least(window: StateWindow) -> float:
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
    error = transform_error(padded[0] * padded[1]) * (1 + 1e-6)
    sums, norms = (float(a.sum()), float(b.sum())), (float(np.linalg.norm(a)), float(np.linalg.norm(b)))
    first, second = norms[0] * sums[1], sums[0] * norms[1]
    noise = error * (first + second) + (error + 4 * U) * min(first, second)
    return np.maximum(mass, 0.0), math.sqrt(shape[0] * shape[1]) * noise * (1 + 1e-6)
