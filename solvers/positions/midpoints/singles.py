"""Exact bounds among the numbers of single precision (float32), held as float64: sums are split without error.

A sum of two floats is a float and a remainder that is one as well (TwoSum), so that which float32 lies next to the
exact sum is decided without rounding. All arrays are float64 and hold float32 values unless said otherwise.

Source: Knuth, "The Art of Computer Programming", vol. 2, 4.2.2, theorem B; Shewchuk, "Adaptive precision
floating-point arithmetic and fast robust geometric predicates", Discrete & Computational Geometry 18, 1997.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LARGEST = float(np.finfo(np.float32).max)


def before(x: Floats) -> Floats:
    """Return the next smaller number of single precision; below the smallest: -infinity."""
    return -after(-x)


def after(x: Floats) -> Floats:
    """Return the next greater number of single precision; above the largest: infinity."""
    with np.errstate(over="ignore", under="ignore"):
        return np.nextafter(x.astype(np.float32), np.float32(np.inf)).astype(np.float64)


def at_most(x: Floats) -> Floats:
    """Return the greatest number of single precision that is at most x (any float64); -infinity where there is none."""
    with np.errstate(over="ignore", under="ignore"):
        near = x.astype(np.float32).astype(np.float64)
    return np.where(near > x, before(near), np.where(np.isposinf(near), LARGEST, near))


def at_least(x: Floats) -> Floats:
    """Return the least number of single precision that is at least x (any float64); infinity where there is none."""
    return -at_most(-x)


def difference(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return floats s and e with x - y = s + e exactly and s the float nearest to it; x and y any finite float64."""
    s = x - y
    back = s - x
    return s, (x - (s - back)) - (y + back)


def most_left(x: Floats, y: Floats) -> Floats:
    """Return the greatest number of single precision that is at most x - y exactly."""
    s, e = difference(x, y)
    near = at_most(s)
    return np.where((near == s) & (e < 0), before(near), near)


def least_left(x: Floats, y: Floats) -> Floats:
    """Return the least number of single precision that is at least x - y exactly."""
    return -most_left(y, x)


def tiny_from(threshold: Floats) -> Floats:
    """Return from which size on both numbers of a midpoint make it exact: 2^-28 of the threshold's power of two.

    Halves of two float32 of at least this size are multiples of a number 2^53 times smaller than their sum can be.
    """
    return np.where(threshold == 0, 0.0, np.ldexp(1.0, np.frexp(threshold)[1] - 29))


def surely_exact(threshold: Floats) -> NDArray[np.bool_]:
    """Return which thresholds no rounding can have made: no float32 is so near to twice them that the other is tiny."""
    double = 2 * threshold
    with np.errstate(over="ignore", under="ignore"):
        near = double.astype(np.float32).astype(np.float64)
    sure: NDArray[np.bool_] = (threshold == 0) | (np.abs(double - near) > 4 * tiny_from(threshold))
    return sure


def raw_ends(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the least and greatest float64 that round to numbers of single precision from low to high.

    Ties go to the even one; no end where there is none.
    """
    return -_last_rounded(-low), _last_rounded(high)


def _last_rounded(x: Floats) -> Floats:
    """Return the greatest float64 that rounds to x or to less in single precision."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = np.where(x == LARGEST, LARGEST + 2.0**103, x / 2 + after(x) / 2)
        held = middle.astype(np.float32).astype(np.float64) == x
    return np.where(np.isinf(x), x, np.where(held, middle, np.nextafter(middle, -np.inf)))
