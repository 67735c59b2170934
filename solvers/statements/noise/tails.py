"""Proved tails of noise laws: every probability is enclosed by two rationals, no float decides anything.

A confidence interval for a noisy count is a claim that `verify` repeats, so the tail behind it is computed in
fixed-point integers with directed rounding. Sources: exp by its Taylor series after taking out ln 2; the normal law
by the series of its distribution function and by Laplace's continued fraction for Mills' ratio (Abramowitz, Stegun
26.2.10, 26.2.14), whose value always lies between that of two ends; sums of e^{-k²/2s²} term by term with a
geometric bound on the rest, or by the Euler-Maclaurin formula with its remainder bounded (Abramowitz, Stegun 23.1.30).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

Enclosure = tuple[Fraction, Fraction]  # least, greatest

BITS = 256  # of the fixed-point arithmetic: a number x is the integer x * ONE
ONE = 1 << BITS
DEEPEST = 100_000  # of e^-x with x beyond it, only 0 < e^-x < 2^-DEEPEST is said
KEPT = 160  # bits of an enclosure's ends
FINE = 44  # a real number is found as a multiple of about 2^-FINE of itself
ORDER = 10  # corrections in the Euler-Maclaurin formula


def _trim(low: Fraction, high: Fraction) -> Enclosure:
    """Return a slightly wider enclosure, inside 0..1, whose ends have at most KEPT + 1 significant bits."""
    if high <= 0:
        return Fraction(0), Fraction(0)
    shift = KEPT + high.denominator.bit_length() - high.numerator.bit_length()
    if shift < 0:
        return max(low, Fraction(0)), min(high, Fraction(1))
    down, up = (low.numerator << shift) // low.denominator, -((-high.numerator << shift) // high.denominator)
    return Fraction(max(down, 0), 1 << shift), Fraction(min(up, 1 << shift), 1 << shift)


def ln(x: Fraction) -> float:
    """Return the natural logarithm of a positive rational of any length, near 1 without cancellation."""
    if Fraction(1, 2) < x < 2:
        return math.log1p(float(x - 1))
    return math.log(x.numerator) - math.log(x.denominator)


def least_proved(proved: Callable[[int], bool], guess: int) -> int:
    """Return the least n >= 0 with `proved(n)`, which must hold from there on.

    Cost: about 2 log2 of the guess's error calls. The caller makes sure that some n is proved.
    """
    guess = max(guess, 0)
    low, high, step = guess - 1, guess, 1
    while not proved(high):
        low, high, step = high, high + step, 2 * step
    while low >= 0 and proved(low):
        low, high, step = max(low - step, -1), low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if proved(middle) else (middle, high)
    return high


def unit(guess: float, fine: int) -> Fraction:
    """Return the power of two that is between 2^-fine and 2^(1-fine) of a positive guess."""
    return Fraction(2) ** (math.frexp(max(guess, 1e-300))[1] - fine)


def refined(proved: Callable[[Fraction], bool], guess: float, fine: int = FINE) -> Fraction:
    """Return the least multiple of `unit(guess)` from which on `proved` holds."""
    step = unit(guess, fine)
    return step * least_proved(lambda n: proved(step * n), math.ceil(Fraction(guess) / step))


@lru_cache(maxsize=1)
def _ln_2() -> tuple[int, int]:
    """Return fixed-point bounds of ln 2 = Σ 2 / ((2i + 1) 3^(2i + 1)), with BITS more bits than elsewhere."""
    scale = ONE * ONE
    terms = BITS + BITS // 2  # 9^-terms is far below 2^-(2 BITS)
    low = sum(2 * scale // ((2 * i + 1) * 3 ** (2 * i + 1)) for i in range(terms))
    return low, low + terms + 1


@lru_cache(maxsize=1)
def _pi() -> tuple[int, int]:
    """Return fixed-point bounds of π = 16 arctan(1/5) - 4 arctan(1/239) (Machin)."""

    def arctan(inverse: int) -> int:
        terms = (ONE // ((2 * i + 1) * inverse ** (2 * i + 1)) * (-1) ** i for i in range(BITS))
        return sum(terms)  # off by less than BITS: each term by less than 1, the rest is below 1

    middle, off = 16 * arctan(5) - 4 * arctan(239), 20 * BITS
    return middle - off, middle + off


def _taylor(low: int, high: int) -> tuple[int, int]:
    """Return fixed-point bounds of exp on [low, high], 0 <= low, high <= 1."""
    below, above, down, up, i = ONE, ONE, ONE, ONE, 0
    while up > 1:
        i += 1
        down = (down * low >> BITS) // i
        up = ((up * high >> BITS) + i) // i  # rounded up, at least 1
        below, above = below + down, above + up
    return below, above + up  # with a ratio below 1/2 the rest is less than the last term


def exp(x: Fraction) -> Enclosure:
    """Return rationals around e^x, about 2^-250 apart (relative); 0 and 2^-DEEPEST for x < -DEEPEST.

    `OverflowError` for x > DEEPEST. Cost: 100 multiplications of BITS bits.
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    if x < -DEEPEST:
        return Fraction(0), Fraction(1, 1 << DEEPEST)
    if x > DEEPEST:
        raise OverflowError(f"e^x has too many digits for x above {DEEPEST:,}")
    small, large = _ln_2()
    at = (x.numerator << 2 * BITS) // x.denominator
    k = at // small
    while True:
        low, high = at - k * (large if k >= 0 else small), at + 1 - k * (small if k >= 0 else large)
        if low >= 0:
            break
        k -= 1
    below, above = _taylor(low >> BITS, (high >> BITS) + 1)
    shift = BITS - k
    if shift <= 0:
        return Fraction(below << -shift), Fraction(above << -shift)
    return Fraction(below, 1 << shift), Fraction(above, 1 << shift)


def _one_minus_exp(y: Fraction) -> Enclosure:
    """Return rationals around 1 - e^-y for y >= 0, relative width below 1e-18 however small y is."""
    if y < Fraction(1, 1 << 64):
        return y - y * y / 2, y
    low, high = exp(-y)
    return 1 - high, 1 - low


def laplace(t: Fraction, scale: Fraction) -> Enclosure:
    """Return rationals around P(|X| > t) of the Laplace law, e^(-t/scale), t >= 0."""
    return _trim(*exp(-t / scale))


def truncated_laplace(t: Fraction, scale: Fraction, bound: Fraction) -> Enclosure:
    """Return rationals around P(|X| > t), density ∝ e^(-|x|/scale) on [-bound, bound], t >= 0.

    e^(-t/b) (1 - e^(-(A-t)/b)) / (1 - e^(-A/b)): no cancellation near the bound.
    """
    if t >= bound:
        return Fraction(0), Fraction(0)
    first, rest, whole = exp(-t / scale), _one_minus_exp((bound - t) / scale), _one_minus_exp(bound / scale)
    return _trim(first[0] * rest[0] / whole[1], first[1] * rest[1] / whole[0])


def discrete_laplace(m: int, scale: Fraction) -> Enclosure:
    """Return rationals around P(|X| >= m) = 2 q^m / (1 + q), P(k) ∝ q^|k|, q = e^(-1/scale), m >= 1."""
    power, q = exp(-m / scale), exp(-1 / scale)
    return _trim(2 * power[0] / (1 + q[1]), 2 * power[1] / (1 + q[0]))


def _central(z: Fraction) -> tuple[int, int]:
    """Return fixed-point bounds of Σ z^(2k+1) / (2k+1)!! for 0 <= z <= 2: P(0 < N < z) / φ(z)."""
    low = (z.numerator << BITS) // z.denominator
    square_low, square_high = low * low >> BITS, ((low + 1) ** 2 >> BITS) + 1
    down, up, below, above, i = low, low + 1, low, low + 1, 1
    while up > 1 or i < 9:
        i += 2
        down = (down * square_low >> BITS) // i
        up = ((up * square_high >> BITS) + i) // i
        below, above = below + down, above + up
    return below, above + up  # z²/i < 1/2 from i = 9 on: the rest is less than the last term


def _fraction_of_mills(z: Fraction) -> Enclosure:
    """Return rationals around Mills' ratio for z >= 2 by 1/(z + 1/(z + 2/(z + 3/(z + ...)))).

    Whatever follows level n lies between z and z + n/z; the levels above only narrow that, so the enclosure holds for
    any depth. Depth 4000/z² + 40 narrows it to about 2^-170.
    """
    low = (z.numerator << BITS) // z.denominator
    levels = 40 + int(4000 / (z * z))
    inside = (low, low + 2 + levels * ONE * ONE // low)
    for level in range(levels - 1, 0, -1):
        wide = level << 2 * BITS
        inside = (low + wide // inside[1], low + 2 + wide // inside[0])
    return Fraction(ONE, inside[1]), Fraction(ONE, inside[0])


def _mills(z: Fraction) -> Enclosure:
    """Return rationals around Mills' ratio P(N > z) / φ(z) of the normal law, z >= 0."""
    if z >= 2:
        return _fraction_of_mills(z)
    low, high = _pi()
    half = Fraction(math.isqrt(low * ONE // 2), ONE), Fraction(math.isqrt(high * ONE // 2) + 1, ONE)  # √(π/2)
    grown, inner = exp(z * z / 2), _central(z)
    return half[0] * grown[0] - Fraction(inner[1], ONE), half[1] * grown[1] - Fraction(inner[0], ONE)


def gaussian(z: Fraction) -> Enclosure:
    """Return rationals around P(|N| > z) of the normal law, √(2/π) e^(-z²/2) times Mills' ratio, z >= 0.

    Cost: at most 2 ms (z near 2), 0.1 ms for z > 10.
    """
    if z == 0:
        return Fraction(1), Fraction(1)
    low, high = _pi()
    root = Fraction(math.isqrt(2 * ONE**3 // high), ONE), Fraction(math.isqrt(2 * ONE**3 // low) + 1, ONE)  # √(2/π)
    density, ratio = exp(-z * z / 2), _mills(z)
    return _trim(root[0] * density[0] * ratio[0], root[1] * density[1] * ratio[1])


def gaussian_delta(sigma: Fraction, epsilon: Fraction) -> Enclosure:
    """Return rationals around Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ), the δ of Gaussian noise at sensitivity 1.

    Source: Balle, Wang, "Improving the Gaussian Mechanism for Differential Privacy", ICML 2018, Theorem 8.
    """
    near, far = 1 / (2 * sigma) - epsilon * sigma, 1 / (2 * sigma) + epsilon * sigma
    first, second, grown = gaussian(abs(near)), gaussian(far), exp(epsilon)
    if near > 0:
        first = 2 - first[1], 2 - first[0]
    return _trim((first[0] - grown[1] * second[1]) / 2, (first[1] - grown[0] * second[0]) / 2)


def _summed(m: int, square: Fraction) -> Enclosure:
    """Return rationals around Σ_{k>=m} e^((m²-k²)/2s²), square = s², term by term, m >= 1.

    Each term is the one before times e^(-(2k+1)/2s²); those factors fall, so the rest is below a geometric series.
    """
    step, factor = exp(-1 / square), exp(-Fraction(2 * m + 1) / (2 * square))
    step_low, step_high = int(step[0] * ONE), int(step[1] * ONE) + 1
    low, high = int(factor[0] * ONE), int(factor[1] * ONE) + 1
    down, up, below, above = ONE, ONE, ONE, ONE
    while up >> BITS - KEPT - 8:
        down, up = down * low >> BITS, (up * high >> BITS) + 1
        low, high = low * step_low >> BITS, (high * step_high >> BITS) + 1
        below, above = below + down, above + up
    return Fraction(below, ONE), Fraction(above + up * high // (ONE - high) + 1, ONE)


@lru_cache(maxsize=1)
def corrections() -> tuple[Fraction, ...]:
    """Return B_2j / (2j)! for j = 1..ORDER, the coefficients of the Euler-Maclaurin formula."""
    over: list[Fraction] = [Fraction(1)]  # B_n / n!: their generating function is x / (e^x - 1)
    for n in range(1, 2 * ORDER + 1):
        over.append(-sum((over[k] / math.factorial(n + 1 - k) for k in range(n)), Fraction(0)))
    return tuple(over[2::2])


def _integrated(m: int, scale: Fraction) -> Enclosure:
    """Return rationals around Σ_{k>=m} e^((m²-k²)/2s²) by Euler-Maclaurin: s·Mills(m/s) + 1/2 + Σ c_j h_{2j-1} ± rest.

    h_n = He_n(m/s)/sⁿ (Hermite). The rest is at most c_p ∫|f^(2p)|, p = ORDER: beyond the last zero of He_2p, which is
    below √(8p + 2), the integral is |h_{2p-1}|; before it, Cramér's |He_n(u)| <= 1.0865 √n! e^(u²/4) makes it less
    than 1.93 √(2p)! e^(z²/4) s^(1-2p), where √20! < 1.6e9 and e^20.5 < 1e9. For s >= 256 and m <= s²/64 the rest
    is below 1e-42.
    """
    inverse = 1 / (scale * scale)
    slope = m * inverse
    series, before, h = Fraction(1, 2), Fraction(1), slope
    for j, c in enumerate(corrections()):
        series += c * h
        last = h
        for n in (2 * j + 1, 2 * j + 2):
            before, h = h, slope * h - n * inverse * before
    near = m * slope < 8 * ORDER + 2
    rest = abs(corrections()[-1]) * (Fraction(4 * 10**18) * scale * inverse**ORDER if near else abs(last))
    low, high = _mills(m / scale)
    return scale * low + series - rest, scale * high + series + rest


@lru_cache(maxsize=256)
def _gaussian_sum(m: int, scale: Fraction) -> Enclosure:
    """Return rationals around Σ_{k>=m} e^(-k²/2 scale²), m >= 1. Cost: at most 20 ms, whatever the scale."""
    square = scale * scale
    inside = _integrated(m, scale) if scale >= 256 and 64 * m <= square else _summed(m, square)
    first = exp(-m * m / (2 * square))
    return first[0] * inside[0], first[1] * inside[1]


def discrete_gaussian(m: int, scale: Fraction) -> Enclosure:
    """Return rationals around P(|X| >= m), P(k) ∝ e^(-k²/2 scale²), m >= 1."""
    outside, all_of_one_side = _gaussian_sum(m, scale), _gaussian_sum(1, scale)
    return _trim(2 * outside[0] / (1 + 2 * all_of_one_side[1]), 2 * outside[1] / (1 + 2 * all_of_one_side[0]))
