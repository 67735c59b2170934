"""Noise laws of released counts: log-likelihoods in floats, tails and confidence radii proved in rationals.

A law says how a published number comes from a count: published = count + noise, perhaps rounded to an integer, perhaps
with negative results published as 0. Every law here is log-concave and stays so when rounded or clamped (sums of
a log-concave law over windows of fixed shape are log-concave), so the log-likelihood is concave in the count.

Sources: Dwork, McSherry, Nissim, Smith, TCC 2006 (Laplace); Ghosh, Roughgarden, Sundararajan, STOC 2009 (discrete
Laplace, "geometric"); Canonne, Kamath, Steinke, NeurIPS 2020 (discrete Gaussian); Balle, Wang, ICML 2018, Theorem 8
(scale of the Gaussian mechanism); Geng, Ding, Guo, Kumar, AISTATS 2020 (truncated Laplace).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Floats
from solvers.foundation.errors import ReleaseError
from solvers.foundation.exact import short_number
from solvers.statements.noise import tails
from solvers.statements.noise.tails import Enclosure, least_proved, ln, refined

LawName = Literal["laplace", "discrete_laplace", "gaussian", "discrete_gaussian", "truncated_laplace"]
Neighbours = Literal["add_remove", "replace"]
Counts = NDArray[np.int64]

LARGEST = 10**18  # scales and bounds lie between 1/LARGEST and LARGEST
SMALLEST_ALPHA = Fraction(1, 10**10_000)
PUBLISHED_BELOW = 1 << 62  # so that differences from counts fit into 64 bits
HALF = Fraction(1, 2)
LN_2 = math.log(2)


def _size(value: Fraction, name: str) -> Fraction:
    """Return a positive number as a fraction; `ReleaseError` where it is not between 1/LARGEST and LARGEST."""
    try:
        exact = Fraction(value)
    except (TypeError, ValueError, OverflowError):
        raise ReleaseError(f"the {name} {value!r} is not a finite number") from None
    if exact <= 0:
        raise ReleaseError(f"the {name} of the noise has to be positive")
    if not Fraction(1, LARGEST) <= exact <= LARGEST:
        raise ReleaseError(f"the {name} of the noise has to lie between {1 / LARGEST:g} and {LARGEST:g}")
    return exact


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """published = count + noise, and what `scale` means.

    Laplace: density ∝ e^(-|x|/scale); truncated: the same on [-bound, bound]; Gaussian: scale = σ; discrete Laplace
    P(k) ∝ e^(-|k|/scale); discrete Gaussian P(k) ∝ e^(-k²/(2 scale²)). `rounded`: the nearest integer was published
    (ties either way). `clamped`: negative results were published as 0, so that 0 says count + noise <= 0, and
    count + noise <= 1/2 when rounded.
    """

    name: LawName
    scale: Fraction
    bound: Fraction | None = None
    rounded: bool = False
    clamped: bool = False

    def __post_init__(self) -> None:
        if self.name not in get_args(LawName):
            raise ReleaseError(f"unknown noise law {self.name!r}; known are {', '.join(get_args(LawName))}")
        object.__setattr__(self, "scale", _size(self.scale, "scale"))
        if (self.bound is None) == (self.name == "truncated_laplace"):
            wrong = "needs a" if self.bound is None else "has no"
            raise ReleaseError(f"the noise law {self.name} {wrong} bound")
        if self.bound is not None:
            object.__setattr__(self, "bound", _size(self.bound, "bound"))

    def divided(self, unit: Fraction) -> NoiseLaw:
        """Return the law of the noise over a positive number; of whole or rounded noise over 1 only."""
        if unit == 1:
            return self
        if self.discrete or self.rounded:
            raise ValueError("whole noise over another number is no law")
        return replace(self, scale=self.scale / unit, bound=None if self.bound is None else self.bound / unit)

    @property
    def discrete(self) -> bool:
        """Return whether the noise is a whole number."""
        return self.name in ("discrete_laplace", "discrete_gaussian")

    @property
    def bounded(self) -> bool:
        """Return whether the noise is bounded, so that an interval holds with certainty."""
        return self.bound is not None

    @property
    def slack(self) -> Fraction:
        """Return by how much rounding moves a number at most (whole noise is not moved)."""
        return HALF if self.rounded and not self.discrete else Fraction(0)

    def malformed(self, published: Fraction) -> str | None:
        """Return why such a number is never published under this law, whatever noise was drawn; None: it may be."""
        if published.denominator != 1 and (self.discrete or self.rounded):
            return "it is fractional, but the noise is discrete" if self.discrete else "it is fractional, but rounded"
        if abs(published) >= PUBLISHED_BELOW:
            return "it is beyond 2^62, larger than any count"
        return "it is negative, but negative results were published as 0" if self.clamped and published < 0 else None

    def impossible(self, published: Fraction) -> str | None:
        """Return why no count >= 0 gives this published number; None where some count does."""
        reason = self.malformed(published)
        if reason is None and self.bound is not None and self.interval(published, self.bound) == (0, -1):
            return f"no count is within the noise's bound, {short_number(self.bound)}, of it"
        return reason

    def log_likelihood(self, published: Fraction, counts: Counts) -> Floats:
        """Return ln of the density or probability of publishing that number, per true count >= 0.

        A probability for discrete and rounded laws and for a clamped 0, else a density; minus infinity outside the
        support. Concave in the count. Accurate to about 1e-13 relative, however far out in the tail.
        """
        if self.malformed(published) is not None:
            return np.full(counts.shape, -np.inf)
        if self.clamped and published == 0:
            return _log_at_most_zero(self, counts)
        if self.slack:
            return _log_window(self, np.abs(int(published) - counts))
        whole = math.floor(published)
        gap = np.abs((whole - counts).astype(np.float64) + float(published - whole))
        found = _log_density(self, gap)
        if self.bound is not None:  # decided in integers: a float could leave out a count exactly at the bound
            low, high = math.ceil(published - self.bound), math.floor(published + self.bound)
            found[(counts < low) | (counts > high)] = -np.inf
        return found

    def tail(self, t: Fraction) -> Enclosure:
        """Return rationals around P(|noise| > t), before rounding and clamping, proved.

        Their relative distance is below 1e-18 (mostly 1e-38) for probabilities above e^-100,000. Cost: below 5 ms.
        """
        if t < 0:
            return Fraction(1), Fraction(1)
        if self.bound is not None:
            return tails.truncated_laplace(t, self.scale, self.bound)
        if self.name == "laplace":
            return tails.laplace(t, self.scale)
        if self.name == "gaussian":
            return tails.gaussian(t / self.scale)
        m = math.floor(t) + 1
        law = tails.discrete_laplace if self.name == "discrete_laplace" else tails.discrete_gaussian
        return law(m, self.scale)

    def radius(self, alpha: Fraction) -> Fraction:
        """Return the least t with P(|noise| > t) <= alpha, proved by `tail`; at alpha 0 the bound.

        Discrete laws: exactly the least whole number; else at most 1e-12 (relative) more than the least.
        `ReleaseError` for alpha 0 under a law without bound, or outside 0..1. Cost: 1 ms, at most 0.1 s; remembered.
        """
        if not 0 <= alpha <= 1:
            raise ReleaseError(f"one minus the confidence has to lie between 0 and 1, not {short_number(alpha)}")
        if alpha == 0 and self.bound is not None:
            return self.bound
        if alpha < SMALLEST_ALPHA:
            raise ReleaseError(
                f"the noise law {self.name} has no radius at a confidence this close to 1: choose a lower one"
            )
        return _radius_of(NoiseLaw(self.name, self.scale, self.bound), alpha)

    def interval(self, published: Fraction, radius: Fraction) -> tuple[int, int]:
        """Return the least and greatest count >= 0 from which |noise| <= radius leads to the published number.

        (0, -1) where there is none. A radius beyond a law's bound counts as the bound. A clamped 0 (count + noise <= 0)
        needs no case of its own: counts from 0 to the radius are left, as for a 0 that was not clamped.
        """
        if self.malformed(published) is not None:
            return 0, -1
        reach = radius if self.bound is None else min(radius, self.bound)
        reach = (Fraction(math.floor(reach)) if self.discrete else reach) + self.slack
        low, high = math.ceil(published - reach), math.floor(published + reach)
        return (max(low, 0), high) if max(low, 0) <= high else (0, -1)


def _log_complement(y: Floats) -> Floats:
    """Return ln(1 - e^-y) for y > 0 to full precision (Mächler 2012); minus infinity for y <= 0."""
    found = np.full(y.shape, -np.inf)
    small, large = (y > 0) & (y < LN_2), y >= LN_2
    found[small] = np.log(-np.expm1(-y[small]))
    found[large] = np.log1p(-np.exp(-y[large]))
    return found


def _log_minus_exp(y: float) -> float:
    """Return ln(1 - e^-y), y > 0."""
    return float(_log_complement(np.array([y]))[0])


def _log_density(law: NoiseLaw, gap: Floats) -> Floats:
    """Return ln of the density or probability at distance `gap` from the count, the bound left aside."""
    scale = float(law.scale)
    if law.name in ("gaussian", "discrete_gaussian"):
        total = math.log(scale) + math.log(2 * math.pi) / 2 if law.name == "gaussian" else _log_theta(scale)
        return np.asarray(-0.5 * (gap / scale) ** 2 - total)
    if law.name == "discrete_laplace":  # (1 - q) / (1 + q), q = e^(-1/scale)
        total = math.log1p(math.exp(-1 / scale)) - _log_minus_exp(1 / scale)
    else:
        total = LN_2 + math.log(scale)
        total += _log_minus_exp(float(law.bound / law.scale)) if law.bound is not None else 0.0
    return np.asarray(-gap / scale - total)


def _log_theta(scale: float) -> float:
    """Return ln Σ_k e^(-k²/2 scale²) over all integers, for scale > 1 by Poisson's summation formula."""
    rate = 1 / (2 * scale * scale) if scale <= 1 else 2 * (math.pi * scale) ** 2
    factor = 0.0 if scale <= 1 else math.log(scale) + math.log(2 * math.pi) / 2
    return factor + math.log1p(2 * math.fsum(math.exp(-rate * k * k) for k in range(1, 10)))


def _log_beyond(law: NoiseLaw, whole: Counts, before: float) -> Floats:
    """Return ln P(noise > whole - before), whole >= before in {0, 1/2}, of a continuous law."""
    gap, scale = whole - before, float(law.scale)
    if law.name == "gaussian":
        from scipy.special import log_ndtr

        return np.asarray(log_ndtr(-gap / scale))
    found = np.asarray(-gap / scale - LN_2)
    if law.bound is not None:
        floor = math.floor(law.bound)  # taken out, so that no digits are lost where the gap is close to the bound
        left = np.maximum(floor - whole + (float(law.bound - floor) + before), 0.0)
        found += _log_complement(left / scale) - _log_minus_exp(float(law.bound / law.scale))
    return found


def _log_window(law: NoiseLaw, distance: Counts) -> Floats:
    """Return ln P(distance - 1/2 < noise < distance + 1/2) of a continuous law: the published number was rounded."""
    scale, found = float(law.scale), np.empty(distance.shape)
    zero, off = distance == 0, distance[distance > 0]
    reach = HALF if law.bound is None else min(HALF, law.bound)
    if law.name == "gaussian":
        from scipy.special import erf, erfc

        half = 0.5 / (scale * math.sqrt(2))
        found[zero] = math.log(erf(half)) if half < 0.5 else math.log1p(-erfc(half))
        found[~zero] = _log_gaussian_window(off, scale)
        return found
    found[zero] = _log_minus_exp(float(reach / law.scale))
    if law.bound is None:
        found[~zero] = -(off - 0.5) / scale - LN_2 + _log_minus_exp(1 / scale)
        return found
    whole = _log_minus_exp(float(law.bound / law.scale))
    floor = math.floor(law.bound)
    width = np.clip(floor - off + float(law.bound - floor + HALF), 0.0, 1.0)
    found[zero] -= whole
    found[~zero] = -(off - 0.5) / scale - LN_2 + _log_complement(width / scale) - whole
    return found


def _log_gaussian_window(distance: Counts, scale: float) -> Floats:
    """Return ln P(distance - 1/2 < N < distance + 1/2), N normal with σ = scale, distance >= 1.

    Where the density changes by less than e over the window, a difference of tails would lose digits: there
    the density at the centre times the mean of cosh(zu) e^(-u²/2) by Gauss-Legendre quadrature.
    """
    from scipy.special import erfcx

    z, half = distance / scale, 0.5 / scale
    found, flat = np.empty(z.shape), distance < scale * scale
    near, inner = z[flat], (distance[~flat] - 0.5) / scale
    nodes, weights = np.polynomial.legendre.leggauss(12)
    mean = np.cosh(np.multiply.outer(near * half, nodes)) @ (weights * np.exp(-0.5 * (half * nodes) ** 2)) / 2
    found[flat] = -0.5 * near**2 + np.log(mean) - math.log(scale) - math.log(2 * math.pi) / 2
    # P(N > x) = e^(-x²/2) erfcx(x/√2) / 2: exponents are subtracted before they are rounded
    first, second = erfcx(inner / math.sqrt(2)), erfcx((inner + 2 * half) / math.sqrt(2))
    fall = np.asarray(2 * half * (inner + half) + np.log(first / second), dtype=np.float64)
    found[~flat] = -0.5 * inner**2 + np.log(first) - LN_2 + _log_complement(fall)
    return found


def _log_at_most_zero(law: NoiseLaw, counts: Counts) -> Floats:
    """Return ln P(count + noise <= 0), or <= 1/2 when rounded: a clamped 0 was published."""
    if law.name == "discrete_laplace":
        return np.asarray(-counts / float(law.scale) - math.log1p(math.exp(-1 / float(law.scale))))
    if law.name == "discrete_gaussian":
        return _log_gaussian_sum(counts, float(law.scale)) - _log_theta(float(law.scale))
    before = float(law.slack)
    found = _log_beyond(law, np.maximum(counts, math.ceil(before)), before)
    if law.slack:  # at count 0 the number 1/2 is above the centre: one minus the tail beyond 1/2
        found[counts == 0] = np.log1p(-np.exp(_log_beyond(law, np.ones(1, dtype=np.int64), before)[0]))
    return found


def _log_gaussian_sum(counts: Counts, scale: float) -> Floats:
    """Return ln Σ_{k>=c} e^(-k²/2 scale²): at most 80 terms, or Euler-Maclaurin where those would not do."""
    from scipy.special import erfcx

    c, inverse = counts.astype(np.float64), 1 / (scale * scale)
    total, flat = np.empty(c.shape), (c * inverse < 0.5) & (scale >= 8)
    steep, z = c[~flat], c[flat]
    sums = np.ones(steep.shape)
    for j in range(1, 80):
        sums += np.exp(-j * (steep + 0.5 * j) * inverse)
    slope, before, h = z * inverse, np.ones(z.shape), z * inverse
    series = scale * math.sqrt(math.pi / 2) * erfcx(z / (scale * math.sqrt(2))) + 0.5
    for j, coefficient in enumerate(tails.corrections()[:7]):
        series += float(coefficient) * h
        for n in (2 * j + 1, 2 * j + 2):
            before, h = h, slope * h - n * inverse * before
    total[~flat], total[flat] = np.log(sums), np.log(series)
    return np.asarray(total - 0.5 * (c / scale) ** 2)


def _normal_quantile(alpha: Fraction) -> float:
    """Return about the z with P(|N| > z) = alpha."""
    from scipy.special import erfcinv, ndtri_exp

    return float(math.sqrt(2) * erfcinv(float(alpha)) if alpha > Fraction(1, 100) else -ndtri_exp(ln(alpha / 2)))


@lru_cache(maxsize=1024)
def _radius_of(law: NoiseLaw, alpha: Fraction) -> Fraction:
    """Return the radius of a law that is neither rounded nor clamped, see `Law.radius`; alpha > 0."""
    scale = float(law.scale)
    guess = scale * _normal_quantile(alpha) if "gaussian" in law.name else -scale * ln(alpha)
    if law.discrete:
        return Fraction(least_proved(lambda n: law.tail(Fraction(n))[1] <= alpha, math.floor(guess)))
    if law.bound is None:
        return refined(lambda t: law.tail(t)[1] <= alpha, guess)
    inside = -math.expm1(-float(law.bound / law.scale))
    if alpha > HALF:
        guess = -scale * math.log1p(-float(1 - alpha) * inside)
    else:
        guess = -scale * float(np.logaddexp(ln(alpha) + math.log(inside), -float(law.bound / law.scale)))
    return min(law.bound, refined(lambda t: law.tail(t)[1] <= alpha, min(guess, float(law.bound))))


def per_statement(alpha: Fraction, statements: int) -> Fraction:
    """Return 1 - (1 - alpha)^(1/statements) rounded down by at most 1e-15 of itself: the level of each statement.

    Independent statements that each hold with probability at least 1 - x hold together with at least (1 - x)^m >=
    1 - alpha: proved in integers rounded down. Cost: about 1 ms for any number of statements.
    """
    if not 0 <= alpha < 1 or statements < 1:
        raise ReleaseError("a joint level needs 0 <= alpha < 1 and at least one statement")
    if statements == 1 or alpha * 10**18 < 1:
        return alpha / statements  # (1 - alpha/m)^m >= 1 - alpha (Bernoulli), and alpha/m is within alpha/2 of the most
    one = 1 << 256 + 2 * statements.bit_length()

    def fails(x: Fraction) -> bool:
        base, power, left = one - one * x.numerator // x.denominator - 1, one, statements
        while left:
            power, base, left = (power * base // one if left & 1 else power), base * base // one, left >> 1
        return power * alpha.denominator < (alpha.denominator - alpha.numerator) * one

    guess = -math.expm1(ln(1 - alpha) / statements)
    above = refined(fails, guess, fine=54)
    return above - tails.unit(guess, fine=54)


def _check_parameters(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, largest_delta: Fraction) -> None:
    """Refuse parameters that an approximate guarantee does not have; `ReleaseError`."""
    _size(sensitivity, "sensitivity")
    if _size(epsilon, "epsilon") > 10_000:
        raise ReleaseError("an epsilon above 10,000 protects nothing: give the scale of the noise instead")
    if not 0 < delta < 1 or delta > largest_delta:
        raise ReleaseError(f"this noise law needs a delta above 0 and at most {short_number(largest_delta)}")
    if delta < SMALLEST_ALPHA:
        raise ReleaseError("delta is too small to compute with: give the scale of the noise instead")


def scale_of(name: LawName, epsilon: Fraction, delta: Fraction, sensitivity: Fraction) -> Fraction:
    """Return the scale that gives (epsilon, delta)-differential privacy for counts with that sensitivity.

    Laplace laws: sensitivity (in the 1-norm) / epsilon, exact. Gaussian: the least σ with
    Φ(Δ/2σ - εσ/Δ) - e^ε Φ(-Δ/2σ - εσ/Δ) <= δ (Balle, Wang 2018), for every ε, proved in rationals and at most 1e-12
    above the least; Δ is the sensitivity in the 2-norm. The discrete Gaussian is given the same σ by
    convention; its own δ there (Canonne, Kamath, Steinke 2020, Theorem 7) is larger: measured at sensitivity 1, by 3 %
    at ε = 1, δ = 1e-5, and twice as large at ε = 5, δ = 1e-9. `ReleaseError` for parameters out of range. Cost: 5 ms
    for a Gaussian, remembered.
    """
    if name not in get_args(LawName):
        raise ReleaseError(f"unknown noise law {name!r}; known are {', '.join(get_args(LawName))}")
    if "gaussian" in name:
        _check_parameters(epsilon, delta, sensitivity, Fraction(1))
        return sensitivity * _least_sigma(epsilon, delta)
    if name == "truncated_laplace":
        _check_parameters(epsilon, delta, sensitivity, HALF)
    elif delta != 0:
        raise ReleaseError(f"the {name} mechanism has delta 0")
    return _size(sensitivity, "sensitivity") / _size(epsilon, "epsilon")


def truncation_of(epsilon: Fraction, delta: Fraction, sensitivity: Fraction) -> Fraction:
    """Return the bound of the truncated Laplace mechanism, (Δ/ε) ln(1 + (e^ε - 1)/2δ), at most 1e-12 above it.

    Theorem 1 of Geng et al. 2020 holds for δ up to 1/2, where the bound is Δ itself; `ReleaseError` beyond.
    """
    _check_parameters(epsilon, delta, sensitivity, HALF)
    top = 1 + (tails.exp(epsilon)[1] - 1) / (2 * delta)
    guess = float(np.logaddexp(0.0, float(epsilon) + _log_minus_exp(float(epsilon)) - LN_2 - ln(delta)))
    return sensitivity / epsilon * refined(lambda y: tails.exp(y)[0] >= top, guess)


@lru_cache(maxsize=256)
def _least_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the σ of the analytic Gaussian mechanism at sensitivity 1, see `scale_of`."""
    from scipy.special import log_ndtr

    growth, low, high = float(epsilon), math.log(1e-3), math.log(1e18)
    for _ in range(60):  # a guess in floats: a bad one costs time only
        sigma = math.exp((low + high) / 2)
        first, second = log_ndtr(np.array([0.5, -0.5]) / sigma - growth * sigma)
        spread = first - growth - second
        found = first + _log_minus_exp(spread) if spread > 0 else -math.inf
        low, high = ((low + high) / 2, high) if found > ln(delta) else (low, (low + high) / 2)
    return refined(lambda sigma: tails.gaussian_delta(sigma, epsilon)[1] <= delta, math.exp(high))
