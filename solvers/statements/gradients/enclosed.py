"""Gradients and hessians per raw score as exact enclosures: whole numbers of 2^-`BITS`, every end rounded outwards.

What proofs are checked with. Nothing here is a float but what is given: exp by argument reduction and Taylor's series
in whole numbers, its error bounded by hand; a library's rounding is a monotone function of exact numbers.

Source: Brent, Zimmermann, "Modern Computer Arithmetic", 2010, section 4.3 (argument reduction); IEEE 754-2019,
section 4.3.1 (to the nearest, ties to even).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache

from solvers.statements.gradients.boosted import Gradients, Precision

BITS = 120  # what coefficients are whole numbers of: 2^-BITS
WORK = 192  # bits behind the point while exp is worked out
PAD = 1 << 20  # units of 2^-WORK that cover all roundings of `exp_of_minus`, for a number in [1, 2)
TERMS = 24  # of Taylor's series, of arguments below 2^-SQUARED
SQUARED = 8
FARTHEST = 4_096 << WORK  # beyond, exp(-x) is only said to lie between 0 and exp(-4,096)
QUOTIENT = 256  # bits behind the point of a quotient before it is rounded to float32
CUT = 11_626_086 << WORK - 17  # 88.7 in single precision
FLOOR = 15_111_573, 77  # 1e-16 in single precision, as (m, e): m * 2^-e
DIGITS: dict[Precision, tuple[int, int, int]] = {"float64": (53, 1_074, 1_024), "float32": (24, 149, 128)}

Ends = tuple[int, int]  # low, high
Dyadic = tuple[int, int, int]  # low, high, s: the interval from low * 2^-s to high * 2^-s


@dataclass(frozen=True, slots=True)
class Contribution:
    """What a row adds to sums of gradients (by class) and of hessians: ends in units of 2^-BITS."""

    gradient: tuple[Ends, ...]
    hessian: Ends


def contribution(law: Gradients, scores: tuple[float, ...], of: int, classes: int, first: bool) -> Contribution:
    """Return what rows with these scores contribute to trees of score `of`; `first`: in the first round.

    Raises `ValueError` for a target that is not a class, and for laws or scores without meaning. Cost: some 20 µs.
    """
    error = law.start_error if first else law.score_error
    numbers = (law.scale, law.factor, law.relative, law.absolute, error, *scores)
    if not all(map(math.isfinite, numbers)) or not 0 <= law.relative < 1 or min(law.absolute, error) < 0:
        raise ValueError("scores, or errors of gradients, are not numbers that mean anything")
    if law.stages == "float32":
        return _single_stages(law, scores[0], error)
    if law.loss == "log_loss":
        p, size, own = _sigmoid(scores[0], law.scale, error), law.scale, classes - 1
    elif law.loss == "softmax":
        p, size, own = _softmax(scores, of, error), 1.0, of
    else:
        raise ValueError("targets of regression are not classes")
    low, high, s = p
    one = 1 << s
    absent, present = (
        _computed_ends(law, _times(p, size)),
        _computed_ends(law, _times((low - one, high - one, s), size)),
    )
    q = [low * (one - low), high * (one - high)]
    curve = min(q), (1 << 2 * s - 2) if 2 * low <= one <= 2 * high else max(q), 2 * s
    n, e = _times((1, 1, 0), size)[1:]
    squared = (curve[0] * n * n, curve[1] * n * n, curve[2] + 2 * e)
    return Contribution(
        tuple(present if k == own else absent for k in range(classes)), _computed_ends(law, _times(squared, law.factor))
    )


def _single_stages(law: Gradients, score: float, error: float) -> Contribution:
    """Return what a row contributes whose gradients are computed step by step in single precision: monotone steps.

    Raises `ValueError` for other laws than log loss of scale and factor 1.
    """
    if law.loss != "log_loss" or law.scale != 1 or law.factor != 1:
        raise ValueError("single precision step by step is that of log loss, not scaled")
    (a, b), (e, f) = ratio(score), ratio(error)
    s = max(b, f)
    middle, off = -(a << s - b), e << s - f
    least = _single_share(law, above(middle + off, s, WORK), most=True)
    most = _single_share(law, below(middle - off, s, WORK), most=False)
    absent, present, curve = (
        (_units(*low)[0], _units(*high)[1])
        for low, high in (
            (least, most),
            (_less_one(*least), _less_one(*most)),
            (_single_curve(least, most), _single_curve(most, least)),
        )
    )
    return Contribution((absent, present), curve)


def _single_share(law: Gradients, x: int, most: bool) -> tuple[int, int]:
    """Return 1 / (1 + exp(x)) in single precision, as (m, e): m * 2^-e; x in units of 2^-WORK.

    exp is off by the relative error before it is rounded, upwards if `most`, else downwards.
    """
    x = min(x, CUT)
    low, high, s = _exp_of_minus(abs(x))
    if x > 0:
        low, high = (1 << 2 * s) // high, -(-(1 << 2 * s) // low)
    n, d = ratio(law.relative)
    m, e = _nearest((high << d) + high * n if most else (low << d) - low * n, s + d, "float32")
    m, e = (m, e) if e >= 0 else (m << -e, 0)
    m, e = _nearest(m + (1 << e), e, "float32")
    m, e = (m, e) if e >= 0 else (m << -e, 0)
    whole, rest = divmod(1 << e + QUOTIENT, m)
    return _nearest(2 * whole + (rest > 0), QUOTIENT + 1, "float32")  # what is left of the division breaks ties


def _less_one(m: int, e: int) -> tuple[int, int]:
    """Return p - 1 in single precision, for p = m * 2^-e up to 1."""
    return _nearest(m - (1 << e), e, "float32")


def _single_curve(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """Return a (1 - b), not below 1e-16, in single precision."""
    m, e = _less_one(*b)
    n, f = _nearest(-a[0] * m, a[1] + e, "float32")
    g, h = FLOOR
    return (n, f) if n << h > g << f else FLOOR


def _units(m: int, e: int) -> Ends:
    """Return m * 2^-e in units of 2^-BITS, rounded down and up."""
    return below(m, e, BITS), above(m, e, BITS)


def _sigmoid(score: float, scale: float, error: float) -> Dyadic:
    """Return 1 / (1 + exp(-scale F)) for every F that is off from the score by at most the error."""
    (a, b), (c, d), (e, f) = (ratio(x) for x in (score, abs(scale), error))
    middle, off = a * c if scale >= 0 else -a * c, e * c
    s = max(b, f) + d
    top = (middle << s - b - d) + (off << s - f - d), (middle << s - b - d) - (off << s - f - d)
    ends = [_logistic(below(top[1], s, WORK)), _logistic(above(top[0], s, WORK))]
    s = max(end[2] for end in ends)
    return ends[0][0] << s - ends[0][2], ends[1][1] << s - ends[1][2], s


@lru_cache(1 << 14)
def _logistic(x: int) -> Dyadic:
    """Return 1 / (1 + exp(-x)) for a number in units of 2^-WORK."""
    low, high, s = _exp_of_minus(abs(x))
    one = 1 << s
    if x >= 0:
        return (one << s) // (one + high), -(-(one << s) // (one + low)), s
    return (low << s) // (one + low), -(-(high << s) // (one + high)), s


def _softmax(scores: tuple[float, ...], of: int, error: float) -> Dyadic:
    """Return the share of one class for scores that are each off by at most the error."""
    known = [ratio(x) for x in scores]
    s = max(e for _, e in known)
    exact = [n << s - e for n, e in known]
    top = max(exact)
    odds = [_exp_between(below(top - n, s, WORK), above(top - n, s, WORK)) for n in exact]
    n, e = ratio(error)
    odds.append(_exp_between(below(2 * n, e, WORK), above(2 * n, e, WORK)))
    s = max(one[2] for one in odds)
    aligned = [(low << s - at, high << s - at) for low, high, at in odds]
    (k, _), own = aligned.pop(), aligned.pop(of)  # all others e^(2 error) times as large: own times exp(-2 error)
    others = sum(low for low, _ in aligned), sum(high for _, high in aligned)
    # own k / (own k + others) and own / (own + others k), with k <= 1 in units of 2^-s
    low = (own[0] * k << s) // (own[0] * k + (others[1] << s))
    high = -(-(own[1] << 2 * s) // ((own[1] << s) + others[0] * k)) if own[1] else 0
    return low, high, s


def _exp_between(low: int, high: int) -> Dyadic:
    """Return exp(-x) for every x between two numbers >= 0 in units of 2^-WORK."""
    least, most = _exp_of_minus(high), _exp_of_minus(low)
    s = max(least[2], most[2])
    return least[0] << s - least[2], most[1] << s - most[2], s


def _exp_of_minus(x: int) -> Dyadic:
    """Return exp(-x) for x >= 0 in units of 2^-WORK, to 2^-170 of its size.

    exp(-x) = 2^-k exp(r), r = k ln 2 - x in [0, ln 2]; exp(r) = (exp(r / 2^SQUARED))^(2^SQUARED). Every rounding is
    downwards by less than a unit: that of r by k < 2^13 units, of the series by 2 TERMS, of the squares by 2^SQUARED
    times both and one more each: below 2^15 units times 2 in all, far below PAD.
    """
    if x == 0:
        return 1 << WORK, 1 << WORK, WORK
    if x > FARTHEST:
        return 0, *_exp_of_minus(FARTHEST)[1:]
    ln2 = _two_logarithm()
    k = -(-x // ln2)
    r = k * ln2 - x >> SQUARED
    total = term = 1 << WORK
    for i in range(1, TERMS):
        term = (term * r >> WORK) // i
        if not term:
            break
        total += term
    for _ in range(SQUARED):
        total = total * total >> WORK
    return total - PAD, total + PAD, WORK + k


@cache
def _two_logarithm() -> int:
    """Return ln 2 in units of 2^-WORK, rounded down: Σ 1 / (i 2^i), in more digits first."""
    guard = 64
    total = sum((1 << WORK + guard - i) // i for i in range(1, WORK + guard))
    return total >> guard  # each term is down by less than 1, what is left out is below 1: below 2^9 of 2^64


def ratio(number: float) -> tuple[int, int]:
    """Return (n, e): the float is n * 2^-e, e >= 0."""
    n, d = number.as_integer_ratio()
    return n, d.bit_length() - 1


def _times(of: Dyadic, number: float) -> Dyadic:
    """Return an interval times a float, exactly."""
    n, e = ratio(number)
    low, high = sorted((of[0] * n, of[1] * n))
    return low, high, of[2] + e


def below(n: int, s: int, bits: int) -> int:
    """Return n * 2^-s in units of 2^-bits, rounded down."""
    return n << bits - s if bits >= s else n >> s - bits


def above(n: int, s: int, bits: int) -> int:
    """Return n * 2^-s in units of 2^-bits, rounded up."""
    return n << bits - s if bits >= s else -(-n >> s - bits)


def _computed_ends(law: Gradients, true: Dyadic) -> Ends:
    """Return where the numbers lie that a library computes for true ones in an interval, in units of 2^-BITS."""
    low, high, s = true
    (a, b), (c, d) = ratio(law.relative), ratio(law.absolute)
    low, high, s = (low << b) - abs(low) * a, (high << b) + abs(high) * a, s + b
    if d > s:
        low, high, s = low << d - s, high << d - s, d
    low, high = low - (c << s - d), high + (c << s - d)
    n, e = _nearest(low, s, law.rounded)
    m, f = _nearest(high, s, law.rounded)
    return below(n, e, BITS), above(m, f, BITS)


def _nearest(n: int, s: int, precision: Precision) -> tuple[int, int]:
    """Return the number of a precision that is nearest to n * 2^-s, ties to even, as (m, e): m * 2^-e.

    Raises `ValueError` for numbers beyond the largest.
    """
    digits, least, most = DIGITS[precision]
    size = abs(n)
    drop = max(size.bit_length() - digits, s - least)
    if drop > 0:
        kept, half = size >> drop, 1 << drop - 1
        rest = size - (kept << drop)
        size, s = kept + (rest > half or (rest == half and kept & 1 == 1)), s - drop
    if size.bit_length() - s > most:
        raise ValueError(f"a gradient is beyond the largest number of {precision}")
    return (size if n >= 0 else -size), s


def add_step(score: float, step: float, precision: Precision) -> float:
    """Return a score and what a leaf adds to it, rounded once to a precision; exact where precision is kept."""
    (a, b), (c, d) = ratio(score), ratio(step)
    s = max(b, d)
    n, e = _nearest((a << s - b) + (c << s - d), s, precision)
    return math.ldexp(n, -e)
