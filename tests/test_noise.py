"""Noise laws held against definitions: decimals of 80 digits and more, scipy's laws, sums, quadrature, brute force."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections import Counter
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction as F
from functools import cache
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from solvers.foundation.errors import ReleaseError
from solvers.statements.noise import tails
from solvers.statements.noise.laws import LawName, NoiseLaw, per_statement, scale_of, truncation_of
from solvers.statements.noise.sampling import Randomness

NAMES = get_args(LawName)
SCALES = (F(1, 50), F(3, 10), F(1), F(17, 10), F(9), F(300))
TIES = F(1, 2)
OPTIONS = list(itertools.product([False, True], repeat=2))  # rounded, clamped
FALSE_ALARM = 1e-7  # of every statistical test here, before its seed was fixed


def law(name, scale, bound=None, **options):
    """The law; `bound` (default: three scales) is for the one that has one."""
    return NoiseLaw(name, F(scale), (bound or 3 * scale) if name == "truncated_laplace" else None, **options)


def laws():
    for name, scale in itertools.product(NAMES, SCALES):
        for bound in (scale / 3, 2 * scale, 50 * scale) if name == "truncated_laplace" else (None,):
            yield NoiseLaw(name, scale, bound)


def dec(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


# ---- the oracle: every probability from its definition, in decimals ----


def pi():
    """Gauss-Legendre."""
    a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal("0.25"), Decimal(1)
    for _ in range(12):
        a, b, t, p = (a + b) / 2, (a * b).sqrt(), t - p * ((a - b) / 2) ** 2, 2 * p
    return (a + b) ** 2 / (4 * t)


def normal_beyond(z):
    """P(N > z), z >= 0, by the alternating series of erf, with digits enough for its cancellation."""
    with localcontext() as context:
        context.prec = 120 + int(z * z)
        x = dec(z)
        term, total, k = x, x, 0
        while abs(term) > Decimal(10) ** -(100 + int(z * z)):
            k += 1
            term = -term * x * x / (2 * k)
            total += term / (2 * k + 1)
        return Decimal(1) / 2 - total / (2 * pi()).sqrt()


@cache
def gaussian_weights(scale, m, digits):
    """Σ_{k>=m} e^(-k²/2s²); `digits` are those of the context, for the cache."""
    total, k = Decimal(0), m
    while True:
        term = (-dec(F(k * k) / (2 * scale * scale))).exp()
        total += term
        if k > 0 and term < total * Decimal(10) ** -70:
            return total
        k += 1


def beyond(noise, t):
    """P(noise > t) of a continuous law or P(noise >= t) of a discrete one; t >= 0."""
    if noise.name == "gaussian":
        return normal_beyond(t / noise.scale)
    if noise.name == "discrete_gaussian":
        digits = getcontext().prec
        return gaussian_weights(noise.scale, int(t), digits) / (1 + 2 * gaussian_weights(noise.scale, 1, digits))
    e = (-dec(t / noise.scale)).exp()
    if noise.name == "discrete_laplace":
        return e / (1 + (-dec(1 / noise.scale)).exp())
    if noise.name == "laplace":
        return e / 2
    edge = (-dec(noise.bound / noise.scale)).exp()
    return max(e - edge, Decimal(0)) / (1 - edge) / 2


def probability(noise, published, count):
    """Density or probability of publishing that number, from the definition of the law."""
    gap, half = abs(published - count), TIES if noise.rounded and not noise.discrete else F(0)
    if noise.clamped and published == 0:
        edge = F(count) - half
        return beyond(noise, edge) if edge >= 0 else 1 - beyond(noise, -edge)
    if noise.name == "discrete_gaussian":
        total = 1 + 2 * gaussian_weights(noise.scale, 1, getcontext().prec)
        return (-dec(gap * gap / (2 * noise.scale**2))).exp() / total
    if noise.discrete:
        return beyond(noise, gap) - beyond(noise, gap + 1)
    if half:
        return beyond(noise, gap - half) - beyond(noise, gap + half) if gap else 1 - 2 * beyond(noise, half)
    if noise.name == "gaussian":
        return (-dec(gap * gap / (2 * noise.scale**2))).exp() / (dec(noise.scale) * (2 * pi()).sqrt())
    inside = 1 if noise.bound is None else 1 - (-dec(noise.bound / noise.scale)).exp()
    out = noise.bound is not None and gap > noise.bound
    return Decimal(0) if out else (-dec(gap / noise.scale)).exp() / (2 * dec(noise.scale) * inside)


def close(got, expected, relative):
    if expected == 0:
        assert got == -math.inf
        return
    log = expected.ln()
    assert abs(Decimal(got) - log) <= Decimal(relative) * max(abs(log), Decimal("1e-300")), (got, log)


# ---- tails, proved ----


@pytest.mark.parametrize(
    "x", [F(1), F(-1), F(0), F(1, 3), F(-1000), F(700), F(-50_000), F(1, 10**18), F(-1, 10**30), F(0.1)]
)
def test_exp_lies_between_its_bounds(x):
    low, high = tails.exp(x)
    with localcontext() as context:
        context.prec = 100
        true, error = dec(x).exp(), Decimal(10) ** -98
        assert dec(low) <= true * (1 + error)
        assert dec(high) >= true * (1 - error)
        assert dec(high - low) <= true * Decimal(10) ** -70


def test_exp_far_out():
    low, high = tails.exp(F(-(10**40)))
    assert low == 0
    assert 0 < high < F(1, 10**20_000)
    with pytest.raises(OverflowError):
        tails.exp(F(10**6))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("noise", list(laws()), ids=str)
def test_tails_lie_between_their_bounds(noise):
    with localcontext() as context:
        context.prec = 80
        for multiple in (F(0), F(1, 100), F(1, 3), F(99, 50), F(2), F(5), F(12)):
            t = multiple * noise.scale
            low, high = noise.tail(t)
            outside = F(math.floor(t) + 1) if noise.discrete else t
            true = 2 * beyond(noise, outside)
            error = true * Decimal(10) ** -60 if noise.name == "discrete_gaussian" else Decimal(10) ** -75
            assert dec(low) - error <= true <= dec(high) + error
            assert high - low <= high / 10**18
    assert noise.tail(F(-1, 7)) == (1, 1)


@pytest.mark.parametrize("m", [1, 5, 256, 1300, 3000])
@pytest.mark.parametrize("scale", [F(256), F(901, 2), F(1000)])
def test_both_ways_to_sum_a_gaussian_agree(scale, m):
    one, two = tails._summed(m, scale * scale), tails._integrated(m, scale)
    assert max(one[0], two[0]) <= min(one[1], two[1])
    assert max(one[1] - one[0], two[1] - two[0]) < one[1] / 10**35


def test_bounds_do_not_depend_on_how_deep_a_probability_lies():
    for noise in (law("laplace", 3), law("discrete_laplace", 3), law("gaussian", 3), law("discrete_gaussian", 3)):
        for t in (100, 600, 1200):
            low, high = noise.tail(F(t))
            assert 0 < high - low <= low / 10**18
        for huge in (10**9, 10**17):
            low, high = noise.tail(F(huge))
            assert 0 <= low <= high < F(1, 10**1000)


@pytest.mark.parametrize("noise", list(laws()), ids=str)
def test_tails_fall(noise):
    points = [noise.scale * F(k, 5) for k in range(40)]
    ends = [noise.tail(t) for t in points]
    assert all(b[1] <= a[1] and b[0] <= a[0] for a, b in itertools.pairwise(ends))


def test_tails_and_radii_of_scipy():
    for scale in (0.3, 1.7, 40.0):
        known = {
            "laplace": stats.laplace(scale=scale),
            "gaussian": stats.norm(scale=scale),
            "discrete_laplace": stats.dlaplace(1 / scale),
        }
        for name, theirs in known.items():
            noise = law(name, F(scale))
            for alpha in (0.5, 0.05, 1e-6):
                radius = float(noise.radius(F(alpha)))
                assert 2 * theirs.sf(radius) <= alpha * (1 + 1e-9)
                expected = theirs.isf(alpha / 2)
                if noise.discrete:
                    assert radius == 0 or 2 * theirs.sf(radius - 1) > alpha * (1 - 1e-9)
                else:
                    assert radius == pytest.approx(expected, rel=1e-9)


ALPHAS = st.one_of(
    st.fractions(F(1, 10**6), 1, max_denominator=10**6),
    st.integers(2, 400).map(lambda k: F(1, 10**k)),
    st.integers(2, 30).map(lambda k: 1 - F(1, 10**k)),
)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.sampled_from(NAMES), st.fractions(F(1, 100), 10**5, max_denominator=1000), ALPHAS, st.integers(1, 300))
def test_a_radius_is_the_least_that_is_proved(name, scale, alpha, times):
    noise = law(name, scale, scale * F(times, 10))
    radius = noise.radius(alpha)
    assert noise.tail(radius)[1] <= alpha
    smaller = radius - 1 if noise.discrete else radius * (1 - F(1, 10**9))
    if radius > 0:
        assert noise.tail(smaller)[0] > alpha
    if noise.bounded:
        assert radius <= noise.bound
    same = NoiseLaw(name, scale, noise.bound, rounded=True, clamped=True)
    assert same.radius(alpha) == radius


@pytest.mark.parametrize("scale", [F(1, 10**18), F(1, 1000), F(10**18)])
@pytest.mark.parametrize("name", NAMES)
def test_radii_at_the_ends(name, scale):
    noise = law(name, scale, scale)
    assert noise.radius(F(1)) == 0
    radius = noise.radius(F(1, 10**3000))
    assert noise.tail(radius)[1] <= F(1, 10**3000)
    if noise.bounded:
        assert noise.radius(F(0)) == scale
        assert noise.tail(scale) == (0, 0)
    else:
        with pytest.raises(ReleaseError, match="close to 1"):
            noise.radius(F(0))


# ---- which counts a published number leaves ----


def outcomes(noise, count, value):
    """Every number that may be published for this count and this noise."""
    result = count + value
    found = {result}
    if noise.rounded:
        down = math.floor(result)
        found = {F(down)} if result - down < TIES else {F(down + 1)} if result - down > TIES else {F(down), F(down + 1)}
    return {F(0) if noise.clamped and x < 0 else x for x in found}


@pytest.mark.parametrize(("rounded", "clamped"), OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_intervals_hold_exactly_the_counts_that_some_noise_allows(name, rounded, clamped):
    noise = law(name, 1, F(3), rounded=rounded, clamped=clamped)
    step = 1 if noise.discrete else F(1, 4)
    for radius in (F(0), F(1, 4), F(1), F(7, 4), F(2), F(5, 2)):
        reachable = {}
        steps = math.floor(radius / step)
        for count, k in itertools.product(range(12), range(-steps, steps + 1)):
            for published in outcomes(noise, count, k * step):
                reachable.setdefault(published, set()).add(count)
        for quarter in range(-16, 33):
            published = F(quarter, 4)
            low, high = noise.interval(published, radius)
            assert set(range(low, high + 1)) == reachable.get(published, set())
            if low > high:
                assert (low, high) == (0, -1)


def test_intervals_of_bounded_noise():
    noise = NoiseLaw("truncated_laplace", F(1), F(5, 2))
    assert noise.interval(F(10), F(100)) == noise.interval(F(10), F(5, 2)) == (8, 12)
    assert noise.impossible(F(-5, 2)) is None
    assert "within" in noise.impossible(F(-51, 20))
    tight = NoiseLaw("truncated_laplace", F(1), F(1, 4))
    assert "within" in tight.impossible(F(1, 2))
    assert tight.impossible(F(3, 4)) is None
    assert NoiseLaw("truncated_laplace", F(1), F(1, 4), clamped=True).impossible(F(0)) is None


def test_numbers_that_no_count_gives():
    zero = np.arange(4)
    cases = [
        (law("discrete_laplace", 1), F(1, 2), "fractional"),
        (law("laplace", 1, rounded=True), F(1, 3), "rounded"),
        (law("gaussian", 1, clamped=True), F(-1), "negative"),
        (law("gaussian", 1), F(10**30), "2^62"),
    ]
    for noise, published, words in cases:
        assert words in noise.impossible(published)
        assert noise.interval(published, F(10)) == (0, -1)
        assert (noise.log_likelihood(published, zero) == -np.inf).all()
    for name in ("laplace", "gaussian"):
        assert law(name, 1).impossible(F(-1000)) is None
        assert law(name, 1).interval(F(-1000), F(10)) == (0, -1)


# ---- log-likelihoods ----


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("rounded", "clamped"), OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_log_likelihoods_are_those_of_the_definition(name, rounded, clamped):
    with localcontext() as context:
        context.prec = 320 if name == "gaussian" else 100
        for scale in SCALES[:5]:
            for bound in (scale / 3, F(9, 4), 2 * scale, 50 * scale) if name == "truncated_laplace" else (None,):
                noise = NoiseLaw(name, scale, bound, rounded, clamped)
                published = [F(0), F(3), *([] if clamped else [F(-4)])]
                published += [] if rounded or noise.discrete else [F(7, 2)]
                counts = [
                    c for c in (0, 1, 2, 3, 4, 7, 40, 41, int(6 * scale)) if "gaussian" not in name or c < 15 * scale
                ]
                for number in published:
                    got = noise.log_likelihood(number, np.array(counts, dtype=np.int64)).tolist()
                    for count, value in zip(counts, got, strict=True):
                        if "gaussian" in name and abs(number - count) > 15 * scale:
                            continue  # the oracle's series would need too many digits
                        close(value, probability(noise, number, count), 1e-12)


def test_log_likelihoods_far_out():
    far = np.array([10**3, 10**6, 10**9, 10**15, 10**18])
    for name in NAMES[:4]:
        for rounded, clamped in OPTIONS:
            noise = law(name, F(5, 2), rounded=rounded, clamped=clamped)
            for published in (F(0), F(7)):
                got = noise.log_likelihood(published, far)
                assert np.isfinite(got).all()
                gap = far - float(published)
                leading = -gap / 2.5 if "laplace" in name else -0.5 * (gap / 2.5) ** 2
                assert got[1:] == pytest.approx(
                    leading[1:], rel=2e-5 if rounded or clamped or "laplace" in name else 1e-9
                )
    noise = law("gaussian", F(5, 2))
    assert noise.log_likelihood(F(7), far)[0] == pytest.approx(stats.norm.logpdf(993, scale=2.5), rel=1e-13)
    edge = NoiseLaw("truncated_laplace", F(10**6), F(10**17) + F(1, 3), rounded=True)
    inside, outside = edge.log_likelihood(F(0), np.array([10**17, 10**17 + 1]))
    assert inside == pytest.approx(math.log(5 / 12 * 1e-6) - 1e11, rel=1e-14)  # width 5/6, density at the edge
    assert outside == -np.inf


def test_log_likelihoods_of_scipy():
    counts = np.arange(200)
    for scale in (0.4, 3.0, 70.0):
        theirs = {
            "laplace": stats.laplace(scale=scale).logpdf(17.25 - counts),
            "gaussian": stats.norm(scale=scale).logpdf(17.25 - counts),
        }
        for name, expected in theirs.items():
            assert law(name, F(scale)).log_likelihood(F(69, 4), counts) == pytest.approx(expected, rel=1e-12)
        got = law("discrete_laplace", F(scale)).log_likelihood(F(17), counts)
        pmf = stats.dlaplace(1 / scale).pmf(17 - counts)
        assert np.exp(got) == pytest.approx(pmf, rel=1e-9, abs=1e-250)


def integral(f, a, b):
    """Gauss-Legendre, exact to double precision for what is smooth between a and b."""
    nodes, weights = np.polynomial.legendre.leggauss(120)
    at = (a + b) / 2 + (b - a) / 2 * nodes
    return (b - a) / 2 * math.fsum(f(x) * w for x, w in zip(at.tolist(), weights.tolist(), strict=True))


@pytest.mark.sampled(1, 7)
@pytest.mark.parametrize("scale", [F(1, 5), F(1), F(9, 2), F(8), F(33)])
@pytest.mark.parametrize("name", NAMES)
def test_probabilities_sum_to_one(name, scale):
    """Whatever is published for a count: whole numbers by a sum, densities by quadrature."""
    wide = int((9 if "gaussian" in name else 27) * scale) + 5
    for rounded, clamped, count in itertools.product([False, True], [False, True], (0, 1, 6)):
        noise = law(name, scale, 2 * scale, rounded=rounded, clamped=clamped)
        at = np.array([count])

        def mass(published, noise=noise, at=at):
            return math.exp(noise.log_likelihood(F(published), at)[0])

        if noise.discrete or rounded:
            total = math.fsum(mass(k) for k in range(0 if clamped else count - wide, count + wide + 1))
        else:
            reach = 2 * float(scale) if noise.bounded else 27 * float(scale)
            start = max(count - reach, 0.0) if clamped else count - reach
            total = mass(0) if clamped else 0.0
            ends = sorted({start, max(float(count), start), count + reach})
            total += sum(integral(mass, a, b) for a, b in itertools.pairwise(ends))
        assert total == pytest.approx(1, abs=1e-10)


def test_truncated_density_by_quadrature():
    noise = NoiseLaw("truncated_laplace", F(7, 5), F(23, 10))
    at = np.array([0])
    area, _ = integrate.quad(lambda x: math.exp(noise.log_likelihood(F(x), at)[0]), -2.3, 2.3, points=[0])
    assert area == pytest.approx(1, abs=1e-9)
    outer, _ = integrate.quad(lambda x: math.exp(noise.log_likelihood(F(x), at)[0]), 1.1, 2.3)
    assert float(noise.tail(F(11, 10))[0]) == pytest.approx(2 * outer, rel=1e-9)
    assert noise.log_likelihood(F(23, 10), at)[0] > -1000  # exactly at the bound: inside
    assert noise.log_likelihood(F(23, 10) + F(1, 10**30), at)[0] == -np.inf


@pytest.mark.parametrize(("rounded", "clamped"), OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_log_likelihoods_are_concave_in_the_count(name, rounded, clamped):
    counts = np.arange(600)
    for scale in (F(1, 5), F(1), F(17, 2), F(90), F(5000)):
        noise = law(name, scale, F(53, 4), rounded=rounded, clamped=clamped)
        for published in (F(0), F(3), F(250)):
            values = noise.log_likelihood(published, counts)
            inside = np.flatnonzero(np.isfinite(values))
            assert len(inside) == inside[-1] - inside[0] + 1
            kept = values[inside]
            bends = np.diff(kept, n=2)
            assert (bends <= 1e-12 * (1 + np.abs(kept[1:-1]))).all()


# ---- levels and parameters ----


@pytest.mark.parametrize("m", [1, 2, 3, 7, 40, 150])
@pytest.mark.parametrize("alpha", [F(1, 20), F(999, 1000), F(1, 10**6), F(1, 10**25), F(0.1), F(0)])
def test_levels_per_statement_keep_the_joint_level_exactly(alpha, m):
    x = per_statement(alpha, m)
    assert (1 - x) ** m >= 1 - alpha
    if alpha:
        assert (1 - x * (1 + F(1, 10**15))) ** m < 1 - alpha


@pytest.mark.parametrize("alpha", [F(1, 20), F(1, 10**12), 1 - F(1, 10**12)])
def test_levels_per_statement_of_a_large_forest(alpha):
    m = 300_000
    with localcontext() as context:
        context.prec = 60
        x = dec(per_statement(alpha, m))
        exact = 1 - ((1 - dec(alpha)).ln() / m).exp()
        assert 0 <= exact - x <= exact * Decimal("1e-15")


@pytest.mark.parametrize("name", NAMES)
def test_joint_coverage_is_what_was_asked_for(name):
    """All of m independent intervals hold: exactly the product of their probabilities."""
    alpha, m = F(1, 20), 60
    level = per_statement(alpha, m)
    noise = law(name, 4, F(40))
    radius = noise.radius(level)
    with localcontext() as context:
        context.prec = 60
        outside = F(math.floor(radius) + 1) if noise.discrete else radius
        covered = (1 - 2 * beyond(noise, outside)) ** m
        assert covered >= Decimal("0.95") - Decimal(10) ** -40
        if not noise.discrete:
            assert covered <= Decimal("0.95") + Decimal("1e-9")
        else:
            assert (1 - 2 * beyond(noise, outside - 1)) ** m < Decimal("0.95")


def draw_many(randomness, noise, k):
    sample = randomness.sampler(noise)
    return [sample() for _ in range(k)]


def test_a_clamped_or_rounded_number_is_covered():
    """The interval holds the count for every noise within the radius, whatever is done to the sum."""
    rng = np.random.default_rng(3)
    for name, rounded, clamped in itertools.product(NAMES, [False, True], [False, True]):
        noise = law(name, 2, F(6), rounded=rounded, clamped=clamped)
        radius = noise.radius(F(1, 10))
        for count, value in zip(rng.integers(0, 9, 60).tolist(), draw_many(Randomness(4), noise, 60), strict=True):
            if abs(value) > radius:
                continue
            for published in outcomes(noise, count, value):
                low, high = noise.interval(published, radius)
                assert low <= count <= high
                assert np.isfinite(noise.log_likelihood(published, np.array([count])))[0]


def gaussian_delta(sigma, epsilon):
    """Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ) in decimals."""
    near, far = 1 / (2 * sigma) - epsilon * sigma, 1 / (2 * sigma) + epsilon * sigma
    first = 1 - normal_beyond(near) if near > 0 else normal_beyond(-near)
    return first - dec(epsilon).exp() * normal_beyond(far)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(F(1), F(1, 10**5)), (F(1, 10), F(1, 10**6)), (F(10), F(1, 10**9)), (F(1, 1000), F(1, 100)), (F(3), F(9, 10))],
)
def test_analytic_gaussian_is_the_least_scale(epsilon, delta):
    for name, sensitivity in (("gaussian", F(1)), ("discrete_gaussian", F(7, 3))):
        sigma = scale_of(name, epsilon, delta, sensitivity) / sensitivity
        with localcontext() as context:
            context.prec = 110
            assert gaussian_delta(sigma, epsilon) <= dec(delta)
            assert gaussian_delta(sigma * (1 - F(1, 10**12)), epsilon) > dec(delta)


def test_analytic_gaussian_of_the_literature():
    assert float(scale_of("gaussian", F(1), F(1, 10**5), F(1))) == pytest.approx(3.730631634816464, rel=1e-11)
    for epsilon, delta in ((0.1, 1e-5), (0.5, 1e-6), (0.99, 1e-4)):  # the classical scale is never smaller
        assert scale_of("gaussian", F(epsilon), F(delta), F(1)) < math.sqrt(2 * math.log(1.25 / delta)) / epsilon


@pytest.mark.parametrize("name", ["laplace", "discrete_laplace"])
def test_laplace_scales_keep_epsilon(name):
    """The log-likelihoods of neighbouring counts differ by epsilon at most, and by exactly that somewhere."""
    epsilon, sensitivity = F(3, 10), 2
    scale = scale_of(name, epsilon, F(0), F(sensitivity))
    assert scale == F(20, 3)
    counts = np.arange(60)
    found = NoiseLaw(name, scale).log_likelihood(F(30), counts)
    assert np.abs(found[sensitivity:] - found[:-sensitivity]).max() == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta", "shift"), [(1.0, 1e-3, 1), (0.1, 0.05, 2), (4.0, 1e-6, 1), (2.0, 0.5, 3)])
def test_truncated_laplace_keeps_epsilon_and_delta(epsilon, delta, shift):
    """Its hockey-stick divergence ∫ max(0, p(x) - e^ε p'(x)) dx between counts 0 and `shift` is delta."""
    scale = scale_of("truncated_laplace", F(epsilon), F(delta), F(shift))
    bound = truncation_of(F(epsilon), F(delta), F(shift))
    exact = shift / epsilon * math.log1p(math.expm1(epsilon) / (2 * delta))
    assert exact * (1 - 1e-14) <= float(bound) <= exact * (1 + 2e-12)
    noise, counts, edge = NoiseLaw("truncated_laplace", scale, bound), np.array([0, shift]), float(bound)

    def excess(x):
        here, there = np.exp(noise.log_likelihood(F(x), counts))
        return max(0.0, here - math.exp(epsilon) * there * (1 + 1e-12))

    alone = integral(excess, -edge, shift - edge)
    both = integral(excess, shift - edge, edge)
    assert alone == pytest.approx(delta, rel=1e-8)
    assert both == 0
    assert scale == F(shift) / F(epsilon)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: NoiseLaw("cauchy", F(1)), "unknown noise law 'cauchy'"),
        (lambda: NoiseLaw("laplace", F(0)), "positive"),
        (lambda: NoiseLaw("laplace", F(-1)), "positive"),
        (lambda: NoiseLaw("gaussian", float("nan")), "not a finite number"),
        (lambda: NoiseLaw("gaussian", float("inf")), "not a finite number"),
        (lambda: NoiseLaw("gaussian", None), "not a finite number"),
        (lambda: NoiseLaw("laplace", F(10**19)), "between 1e-18 and 1e"),
        (lambda: NoiseLaw("laplace", F(1), F(3)), "has no bound"),
        (lambda: NoiseLaw("truncated_laplace", F(1)), "needs a bound"),
        (lambda: NoiseLaw("truncated_laplace", F(1), F(0)), "positive"),
        (lambda: law("laplace", 1).radius(F(-1, 10)), "between 0 and 1"),
        (lambda: law("laplace", 1).radius(F(11, 10)), "between 0 and 1"),
        (lambda: law("laplace", 1).radius(F(1, 10**20_000)), "close to 1"),
        (lambda: per_statement(F(1), 3), "joint level"),
        (lambda: per_statement(F(-1, 2), 3), "joint level"),
        (lambda: per_statement(F(1, 2), 0), "joint level"),
        (lambda: scale_of("uniform", F(1), F(0), F(1)), "unknown noise law"),
        (lambda: scale_of("laplace", F(0), F(0), F(1)), "epsilon"),
        (lambda: scale_of("laplace", F(1), F(0), F(-1)), "sensitivity"),
        (lambda: scale_of("discrete_laplace", F(1), F(1, 100), F(1)), "delta 0"),
        (lambda: scale_of("gaussian", F(1), F(0), F(1)), "delta"),
        (lambda: scale_of("discrete_gaussian", F(1), F(1), F(1)), "delta"),
        (lambda: scale_of("gaussian", F(-1), F(1, 10), F(1)), "epsilon"),
        (lambda: scale_of("gaussian", F(10**5), F(1, 10), F(1)), "above 10,000"),
        (lambda: scale_of("gaussian", F(1), F(1, 10**20_000), F(1)), "too small"),
        (lambda: scale_of("truncated_laplace", F(1), F(0), F(1)), "delta"),
        (lambda: truncation_of(F(1), F(3, 5), F(1)), "at most 0.5"),
        (lambda: truncation_of(F(1), F(1, 10), F(0)), "sensitivity"),
        (lambda: Randomness(-1), "seed"),
        (lambda: Randomness(0).bernoulli_exp(F(-1)), "gamma"),
        (lambda: Randomness(0).discrete_laplace(F(0)), "positive"),
        (lambda: Randomness(0).discrete_gaussian(F(-1)), "positive"),
        (lambda: Randomness(0).exact_choice([], F(1)), "candidate"),
        (lambda: Randomness(0).choice_log_weights([]), "log-weights"),
        (lambda: Randomness(0).choice_log_weights([0.0, float("nan")]), "log-weights"),
        (lambda: Randomness(0).choice_log_weights([-np.inf, -np.inf]), "log-weights"),
    ],
)
def test_nonsense_is_refused(make, words):
    with pytest.raises(ReleaseError, match=words):
        make()


def test_the_laws_load_no_scipy():
    code = "import sys, solvers.statements.noise.laws; print('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# ---- samplers ----


def agrees(drawn, probabilities):
    """Chi-square of the draws over the values expected eight times or more, and a binomial test of all others."""
    counts, total = Counter(drawn), len(drawn)
    named = {k: p for k, p in probabilities.items() if p * total >= 8}
    seen, share = [counts[k] for k in named], math.fsum(named.values())
    others = stats.binomtest(total - sum(seen), total, max(0.0, 1 - share)).pvalue
    expected = [p / share * sum(seen) for p in named.values()]
    return others > FALSE_ALARM and (len(named) == 1 or stats.chisquare(seen, expected).pvalue > FALSE_ALARM)


@pytest.mark.sampled(1, 4)
@pytest.mark.parametrize("scale", [F(1, 3), F(1), F(7, 2), F(0.1), F(23)])
@pytest.mark.parametrize("name", ["discrete_laplace", "discrete_gaussian"])
def test_discrete_samplers_draw_from_their_law(name, scale):
    noise = law(name, scale)
    drawn = draw_many(Randomness(11), noise, 30_000)
    values = np.arange(-300, 301)
    mass = np.exp(noise.log_likelihood(F(0), values))
    assert mass.sum() == pytest.approx(1, abs=1e-5)
    assert agrees(drawn, dict(zip(values.tolist(), mass.tolist(), strict=True)))
    wrong = np.exp(law(name, scale * F(11, 10)).log_likelihood(F(0), values))  # the test sees a scale off by 10 %
    assert scale < F(1, 2) or not agrees(drawn, dict(zip(values.tolist(), wrong.tolist(), strict=True)))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("gamma", [F(0), F(1, 10**6), F(1, 3), F(1), F(5, 2), F(4)])
def test_bernoulli_exp(gamma):
    randomness = Randomness(5)
    hits = sum(randomness.bernoulli_exp(gamma) for _ in range(60_000))
    assert stats.binomtest(hits, 60_000, math.exp(-gamma)).pvalue > FALSE_ALARM
    assert gamma == 0 or gamma == F(1, 10**6) or stats.binomtest(hits, 60_000, math.exp(-gamma) * 0.8).pvalue < 1e-3


def test_whole_numbers():
    randomness = Randomness(9)
    for n in (1, 2, 3, 7, 8, 9):
        assert agrees([randomness.below(n) for _ in range(20_000)], dict.fromkeys(range(n), 1 / n))
    drawn = [randomness.geometric() for _ in range(20_000)]
    assert agrees(drawn, {k: (1 - 1 / math.e) * math.exp(-k) for k in range(40)})


@pytest.mark.sampled(1)
@pytest.mark.parametrize("rate", [F(0), F(1), F(13, 4), F(-2)])
def test_exponential_mechanism_is_exact(rate):
    scores = [F(0), F(1, 3), F(-2), F(1, 3), F(7, 5)]
    weights = [math.exp(float(rate * s)) for s in scores]
    randomness = Randomness(21)
    drawn = [randomness.exact_choice(scores, rate) for _ in range(20_000)]
    assert agrees(drawn, {i: w / sum(weights) for i, w in enumerate(weights)})


@pytest.mark.slow
def test_choice_by_log_weights():
    randomness = Randomness(2)
    logs = np.array([-np.inf, -1000.0, -1001.0, -np.inf, -999.5, -np.inf])
    weights = np.exp(logs + 1000)
    drawn = [randomness.choice_log_weights(logs) for _ in range(20_000)]
    assert agrees(drawn, dict(enumerate((weights / weights.sum()).tolist())))
    assert set(drawn) == {1, 2, 4}


def test_a_rounded_up_product_chooses_nothing_impossible():
    randomness = Randomness(0)
    randomness.uniform = lambda: 1.0
    assert randomness.choice_log_weights([0.0, -1.0, -np.inf]) == 1


@pytest.mark.slow
def test_continuous_samplers_draw_from_their_law():
    randomness, k = Randomness(8), 20_000

    def truncated(x):
        return 0.5 + np.sign(x) * np.expm1(-np.abs(x) / 2) / np.expm1(-3 / 2) / 2

    pairs = [
        ([randomness.laplace(2.0) for _ in range(k)], stats.laplace(scale=2).cdf),
        ([randomness.gaussian(3.0) for _ in range(k)], stats.norm(scale=3).cdf),
        ([randomness.cauchy() for _ in range(k)], stats.cauchy.cdf),
        ([randomness.uniform() for _ in range(k)], stats.uniform.cdf),
        ([float(x) for x in draw_many(randomness, law("laplace", F(2)), k)], stats.laplace(scale=2).cdf),
        ([float(x) for x in draw_many(randomness, law("gaussian", F(3)), k)], stats.norm(scale=3).cdf),
        ([float(x) for x in draw_many(randomness, law("truncated_laplace", F(2), F(3)), k)], truncated),
    ]
    for drawn, cdf in pairs:
        assert stats.kstest(drawn, cdf).pvalue > FALSE_ALARM
        assert stats.kstest(np.array(drawn) * 1.1, cdf).pvalue < 1e-3


@pytest.mark.parametrize("bound", [F(1, 10**6), F(0.1), F(5)])
def test_truncated_draws_stay_inside(bound):
    noise = NoiseLaw("truncated_laplace", F(1), bound)
    assert all(abs(x) <= bound for x in draw_many(Randomness(1), noise, 2000))


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_itself(name):
    noise = law(name, F(5, 2))
    first = draw_many(Randomness(42), noise, 50)
    again = Randomness(42)
    assert [again.draw(noise) for _ in range(50)] == first
    assert draw_many(Randomness(43), noise, 50) != first
    fresh = draw_many(Randomness(None), noise, 50)
    assert fresh != first  # the operating system's randomness: equal once in 2^100 runs
    assert all(isinstance(x, F) for x in fresh)
