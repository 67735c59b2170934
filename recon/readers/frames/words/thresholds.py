"""Thresholds in short decimals: the words are for people, the exact numbers stay in the files.

Models that compare 32-bit numbers (scikit-learn, and what says of itself that its numbers are such) cannot tell the
numbers of one gap apart, between two neighbouring 32-bit numbers. Any decimal of the gap then says the same as the
threshold; the one with the fewest digits is shown. What holds of the shown test instead of the exact one:

- 32-bit numbers x pass both or neither, where x and the decimal s are compared as 32-bit numbers; where they are
  compared as 64-bit numbers as well, unless s is "the name" of a 32-bit number: the only decimal of up to 6 digits that
  is rounded to it (26.1 for 26.10000038). Then that one number is s for people, and a little off for a computer that
  widens it.
- Decimals of up to 6 significant digits, kept in 64 bits, pass both or neither: no two of them lie in one gap, nor
  are rounded to the same 32-bit number (of normal size).
- Whole numbers up to 2^24 are 32-bit numbers. Thresholds beyond are shown exactly, because 64-bit whole numbers lie in
  the gaps there.
- Other 64-bit numbers may differ in the seventh digit.

Other models compare 64-bit numbers. Their thresholds are shown as they are, but for last digits that arithmetic left
next to a short decimal (LightGBM's 39.50000000000001): decimals of up to 15 digits pass both or neither, other 64-bit
numbers may differ in the sixteenth.

Source: D. W. Matula, "In-and-out conversions", Communications of the ACM 11, 1968 (10^6 < 2^23: 6
digits survive 32 bits; 10^15 < 2^52: 15 digits survive 64).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from encoders.domain.cuts import AttributeCuts
from encoders.domain.values import Position, plain

Shown = tuple[str, int]  # the number, and the side of the cut: 1 "at most", 0 "below"

SURVIVE, LONGER = 6, 15  # decimal digits that survive 32 and 64 bits
NOISE = 4  # digits that must go, for a 64-bit threshold not to be shown in full
WHOLE = 2.0**24  # up to here whole numbers are 32-bit numbers
LONG = 10**16  # from here on whole numbers are written with a power of ten
FAR = 10**300  # beyond all 32-bit numbers, and still a 64-bit one
DIGITS = 9  # decimal digits that tell every 32-bit number from the next


def edge_text(cuts: AttributeCuts, edge: int, single: bool) -> Shown:
    """Return the number to show for an edge between the parts of a continuous attribute, and its side.

    `single`: every threshold is one of 32-bit numbers. The texts of one attribute's edges are different and in order,
    whatever they are. "" at an open end. Cost: O(1); some microseconds.
    """
    x, side = cuts.edges[edge]
    if isinstance(x, float):
        return "", side
    side = min(int(side), 1)
    if not 0 < edge < len(cuts.edges) - 1 or abs(x) > WHOLE:
        return in_full(x), side
    if not single:
        alone = all(rounded(cuts.edges[e]) != rounded((x, side)) for e in (edge - 1, edge + 1))
        return without_noise(x, side) if alone else (in_full(x), side)
    found = shortest(float(x), side, position(cuts.edges[edge - 1]), position(cuts.edges[edge + 1]))
    return (in_full(x), side) if found is None else (written(found[0]), found[1])


def rounded(edge: Position) -> float:
    """Return the number of an edge to 15 digits."""
    return float(f"{position(edge)[0]:.{LONGER}g}")


def without_noise(x: Fraction, side: int) -> Shown:
    """Return the test that passes the same decimals of 15 digits as one at x, where it is much shorter; else that one.

    The decimal of 15 digits nearest to x is the last one below x, or the first above.
    """
    full, near = in_full(x), rounded((x, side))
    short = written(near)
    if len(short) > len(full) - NOISE:
        return full, side
    return short, int(Fraction(repr(near)) < x)


def in_full(x: Fraction) -> str:
    """Return a number as it was written: whole ones in digits, or with a power of ten where they are longer."""
    number = plain(x)
    if LONG <= abs(number) < FAR and Fraction(repr(float(number))) == x:
        return repr(float(number))
    return str(number)


def position(edge: Position) -> tuple[float, int]:
    """Return an edge with its number as the 64-bit number that it was read from; far beyond 32 bits, any such."""
    return float(max(-FAR, min(FAR, edge[0]))), int(edge[1])


def written(number: float) -> str:
    """Return a number in digits, whole ones without a point."""
    return str(int(number)) if number.is_integer() else repr(number)


def shortest(x: float, side: int, before: tuple[float, int], after: tuple[float, int]) -> tuple[float, int] | None:
    """Return number and side (1: at most it, 0: below it) of the shortest test that passes the same 32-bit numbers.

    `x` and `side`: the test; `before` and `after`: the neighbouring edges. None where another edge lies in the same
    gap, or where the gap has an end at infinity.
    """
    low, high = gap(x, side)
    if not (math.isfinite(low) and math.isfinite(high)) or before >= (low, 1) or after <= (high, 0):
        return None
    last, first = (x, math.nextafter(x, math.inf)) if side else (math.nextafter(x, -math.inf), x)
    most, below = decimal_in(low, last), decimal_in(first, high)
    options = [(*found, at) for found, at in ((most, 1), (below, 0)) if found is not None]
    if all(digits > SURVIVE for digits, _, _ in options) and single(last) == low and single(first) == high:
        # The test is float32(value) <= low for every value: low, or high, may have a name just outside of the gap.
        for named, at, alone in ((low, 1, before <= (step(low, -1), 0)), (high, 0, after >= (step(high, 1), 1))):
            name = named if not alone else float(f"{named:.{SURVIVE}g}")
            if alone and single(name) == named:
                options.append((SURVIVE, name, at))
    if not options:
        return None
    _, number, at = min(options, key=lambda one: (one[0], one[2] != side))
    return number, at


def gap(x: float, side: int) -> tuple[float, float]:
    """Return the neighbouring 32-bit numbers of which one passes the test (at most x; side 0: below x), one not."""
    near = single(x)
    passes = near <= x if side else near < x
    return (near, step(near, 1)) if passes else (step(near, -1), near)


def single(x: float) -> float:
    """Return the nearest 32-bit number."""
    with np.errstate(over="ignore"):  # beyond the greatest lies infinity
        return float(np.float32(x))


def step(x: float, way: int) -> float:
    """Return the 32-bit number above (way 1) or below (-1) a 32-bit number."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.nextafter(np.float32(x), np.float32(way * math.inf)))


def decimal_in(low: float, high: float) -> tuple[int, float] | None:
    """Return the decimal of fewest digits in [low, high] and its digits; None where it has more than 9 digits.

    A decimal of so many digits lies in the interval only if the one nearest to its middle does.
    """
    if low > high:
        return None
    if low <= 0 <= high:
        return 0, 0.0
    middle = low / 2 + high / 2
    for digits in range(1, DIGITS + 1):
        found = float(f"{middle:.{digits - 1}e}")
        if low <= found <= high:
            return digits, found
    return None
