"""Smooth sensitivity of the Gini impurity after a split, and the threshold of the noisy support test.

Source: Ly, Ferry, Huguet, Gambs, Aivodji, "Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule
Lists", 2024, after Nissim, Raskhodnikova, Smith, "Smooth Sensitivity and Sampling in Private Data Analysis", STOC
2007. The paper's closed form is clamped here: its maximiser can lie outside 0 <= k <= n - least.
"""

from __future__ import annotations

from math import ceil, exp, floor, log, sqrt

from solvers.foundation.errors import ReleaseError


def impurity_step(n: int) -> float:
    """Return g(n) = 2n/(n+1)^2: how much one added row moves the impurity of n >= 1 rows of two classes at most."""
    return 2 * n / (n + 1) ** 2


def smooth_bound(n: int, least: int, beta: float, two_sided: bool = False) -> float:
    """Return S* = max over 0 <= k <= n - least of e^(-beta k) g(max(least, n - k)), in constant time.

    `n`: rows at the node; `least` >= 1: rows that the support test demands; `beta` > 0: smoothness. `two_sided`
    puts h(n) = g(max(1, n - 1)) in g's place: g covers added rows only, h covers removed ones too. For n < least
    (the noisy test erred) the value is that of `least`, as in the authors' code; it is no sound bound there.
    """
    if least < 1 or not beta > 0:
        raise ReleaseError(f"smooth sensitivity needs a support of at least 1 and beta > 0, not {least} and {beta}")
    if two_sided:
        return smooth_bound(max(n - 1, 0), max(1, least - 1), beta)
    last = max(0, n - least)
    candidates = {0, last}
    if beta < 3 - 2 * sqrt(2):  # else no stationary point: the maximum lies at an end
        lowest = (1 - beta - sqrt((1 - beta) ** 2 - 4 * beta)) / (2 * beta)
        top = n - lowest
        candidates |= {min(max(k, 0), last) for k in (floor(top), ceil(top))}
    return max(exp(-beta * k) * impurity_step(max(least, n - k)) for k in candidates)


def margin_of_confidence(confidence: float, epsilon: float) -> int:
    """Return the paper's T = ceil(-(ln 2 + ln(1 - C)) / epsilon) + 1, with epsilon that of one support test."""
    return ceil(-(log(2) + log(1 - confidence)) / epsilon) + 1


def margin_of_delta(delta: float, epsilon: float) -> int:
    """Return T with P(a node below the support passes one test) <= delta, for Laplace noise and its discrete twin.

    Such a node passes when the noise reaches T + 1: probability e^(-(T+1) epsilon) / (1 + e^(-epsilon)) for discrete
    Laplace noise, which is at most e^(-T epsilon) / 2.
    """
    return max(0, ceil(log(1 / (2 * delta)) / epsilon))
