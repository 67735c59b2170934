"""Random draws for differentially private learners: exact where a guarantee rests on them.

The discrete samplers and the exponential mechanism work on integers alone and draw from exactly the law they name.
Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential Privacy", NeurIPS 2020, Algorithms 1-3.
The continuous ones are floats: their gaps leak (Mironov, "On Significance of the Least Significant Bits for
Differential Privacy", CCS 2012), so a guarantee for them holds on paper only.
"""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from solvers.foundation.errors import ReleaseError
from solvers.statements.noise.laws import NoiseLaw


class Randomness:
    """A source of random draws: `seed` None takes the operating system's randomness, a number repeats itself.

    Whoever publishes for real must use None: with a seed, or with the Mersenne Twister behind it, the noise can be
    computed and taken off again. Seeded draws are for experiments and tests.
    """

    def __init__(self, seed: int | None) -> None:
        if seed is not None and seed < 0:
            raise ReleaseError("the seed has to be a whole number, 0 or more")
        self.source: random.Random = secrets.SystemRandom() if seed is None else random.Random(seed)

    def below(self, n: int) -> int:
        """Return a whole number uniform in 0..n-1, n >= 1, exactly."""
        bits, length = self.source.getrandbits, (n - 1).bit_length()
        drawn = bits(length)
        while drawn >= n:
            drawn = bits(length)
        return drawn

    def bernoulli_exp(self, gamma: Fraction) -> bool:
        """Return True with probability exactly e^-gamma, gamma >= 0 (Algorithm 1). Cost: about 2 draws."""
        if gamma < 0:
            raise ReleaseError("e^-gamma is a probability for gamma >= 0 only")
        return self.decays(gamma.numerator, gamma.denominator)

    def decays(self, above: int, under: int) -> bool:
        """Return True with probability exactly e^-(above/under), in whole numbers.

        For a ratio up to 1 the first failure among Bernoulli(ratio/k), k = 1, 2, ..., comes at an odd k with
        that probability; a larger ratio must survive e^-1 as often as it holds 1.
        """
        below = self.below
        while above > under:
            if not self.decays(1, 1):
                return False
            above -= under
        k = 1
        while below(under * k) < above:
            k += 1
        return k % 2 == 1

    def geometric(self) -> int:
        """Return k >= 0 with probability exactly (1 - 1/e) e^-k."""
        k = 0
        while self.decays(1, 1):
            k += 1
        return k

    def discrete_laplace(self, scale: Fraction) -> int:
        """Return k with probability exactly ∝ e^(-|k|/scale), scale > 0 (Algorithm 2). Cost: about 10 µs."""
        if scale <= 0:
            raise ReleaseError("the scale of the noise has to be positive")
        t, s = scale.numerator, scale.denominator
        while True:
            u = self.below(t)
            if not self.decays(u, t):
                continue
            size = (u + t * self.geometric()) // s
            if self.below(2) == 0:
                return size
            if size:  # minus 0 is drawn again, else 0 would come twice as often
                return -size

    def discrete_gaussian(self, sigma2: Fraction) -> int:
        """Return k with probability exactly ∝ e^(-k²/2 sigma2), sigma2 > 0 (Algorithm 3). Cost: about 20 µs."""
        if sigma2 <= 0:
            raise ReleaseError("the variance of the noise has to be positive")
        a, b = sigma2.numerator, sigma2.denominator
        t = math.isqrt(a // b) + 1
        wide, under = Fraction(t), 2 * a * b * t * t
        while True:
            k = self.discrete_laplace(wide)
            if self.decays((abs(k) * b * t - a) ** 2, under):  # (|k| - σ²/t)² / 2σ²
                return k

    def uniform(self) -> float:
        """Return a float uniform in [0, 1), a multiple of 2^-53."""
        return self.source.random()

    def exponential(self) -> float:
        """Return a float with density e^-x, x >= 0; at most 37, where its 53 bits end."""
        return -math.log1p(-self.uniform())

    def sign(self) -> float:
        """Return -1 or 1, each with probability 1/2."""
        return 1.0 if self.source.getrandbits(1) else -1.0

    def laplace(self, scale: float) -> float:
        """Return a float of the Laplace law; which floats can occur leaks the count (Mironov 2012)."""
        return self.sign() * scale * self.exponential()

    def truncated_laplace(self, scale: float, bound: float) -> float:
        """Return a float with density ∝ e^(-|x|/scale) on [-bound, bound]; leaks like `laplace`."""
        size = -scale * math.log1p(self.uniform() * math.expm1(-bound / scale))
        return self.sign() * min(size, bound)

    def gaussian(self, sigma: float) -> float:
        """Return a float of the normal law with standard deviation sigma; leaks like `laplace`."""
        return self.source.normalvariate(0.0, sigma)

    def cauchy(self) -> float:
        """Return a float of the Cauchy law, density ∝ 1/(1 + x²); leaks like `laplace`."""
        return math.tan(math.pi * (self.uniform() - 0.5))

    def choice_log_weights(self, logw: ArrayLike) -> int:
        """Return i with probability ∝ e^logw[i], in floats: off by about 1e-16 times their number, so not proved.

        Minus infinity is never chosen. `ReleaseError` where no weight is positive, or one is infinite or not a number.
        """
        logs = np.asarray(logw, dtype=np.float64)
        top = float(logs.max(initial=-np.inf))
        if not math.isfinite(top):
            raise ReleaseError("a choice needs finite log-weights, or minus infinity for what must not be chosen")
        reached = np.cumsum(np.exp(logs - top))
        chosen = int(np.searchsorted(reached, self.uniform() * reached[-1], side="right"))
        return min(chosen, int(np.flatnonzero(logs > -np.inf)[-1]))  # the product may be rounded up to the whole

    def exact_choice(self, scores: Sequence[Fraction], rate: Fraction) -> int:
        """Return i with probability exactly ∝ e^(rate * scores[i]): the exponential mechanism (McSherry, Talwar 2007).

        A uniform candidate is kept with probability e^(score - greatest score), else drawn again: at most
        len(scores) rounds on average.
        """
        if not scores:
            raise ReleaseError("a choice needs at least one candidate")
        weighed = [Fraction(rate) * score for score in scores]
        top = max(weighed)
        while True:
            i = self.below(len(weighed))
            if self.bernoulli_exp(top - weighed[i]):
                return i

    def draw(self, law: NoiseLaw) -> Fraction:
        """Return one noise value of a law, before rounding and clamping: exact for the discrete laws, else a float."""
        return self.sampler(law)()

    def sampler(self, law: NoiseLaw) -> Callable[[], Fraction]:
        """Return a function that draws one noise value of the law per call."""
        scale, square, width = law.scale, law.scale**2, float(law.scale)
        if law.bound is not None:
            bound = law.bound
            return lambda: max(-bound, min(bound, Fraction(self.truncated_laplace(width, float(bound)))))
        if law.name == "discrete_laplace":
            return lambda: Fraction(self.discrete_laplace(scale))
        if law.name == "discrete_gaussian":
            return lambda: Fraction(self.discrete_gaussian(square))
        if law.name == "gaussian":
            return lambda: Fraction(self.gaussian(width))
        return lambda: Fraction(self.laplace(width))
