"""Windows of weights and their convolutions: what they say of themselves holds, against whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.greedy import states as convolutions
from solvers.greedy.states import (
    StateWindow,
    U,
    _transform_error,
    _trimmed_window,
    binomials,
    choice_of_leaf,
    convolved,
    free_leaf,
    log2_of,
    point,
    restricted_window,
    sums_reached,
)

LIMITS = Limits()


def law(n0, n1):
    """The exact shares of the states of a free leaf."""
    return {
        (a, b): Fraction(math.comb(n0, a) * math.comb(n1, b), 1 << (n0 + n1))
        for a in range(n0 + 1)
        for b in range(n1 + 1)
    }


def entries(window):
    """The states of a window with their weights as they stand, exactly."""
    scale = Fraction(2) ** window.exponent
    return {
        (window.first + int(i), window.second + int(j)): Fraction(float(window.mass[i, j])) * scale
        for i, j in np.argwhere(window.mass)
    }


def says_the_truth(window, exact):
    """Whether |f - mass| is at most relative * mass + d with the sum of d at most `lost`, and the sum's bounds hold."""
    said, scale = entries(window), Fraction(2) ** window.exponent
    beyond = Fraction(0)
    for state in said.keys() | exact.keys():
        mass = said.get(state, Fraction(0))
        beyond += max(Fraction(0), abs(exact.get(state, Fraction(0)) - mass) - Fraction(window.relative) * mass)
    low, high = window.total
    total = sum(exact.values()) / scale
    return beyond <= Fraction(window.lost) * scale and low <= total <= high


def product(one, two):
    out = {}
    for (a, b), x in one.items():
        for (c, d), y in two.items():
            out[a + c, b + d] = out.get((a + c, b + d), 0) + x * y
    return out


@pytest.mark.parametrize("n", [0, 1, 2, 7, 60, 301, 1100])
def test_binomials_are_rounded_once(n):
    mantissas, exponents = binomials(n)
    for a in (0, n // 3, n // 2, (n + 1) // 2, n):
        exact = Fraction(math.comb(n, a), 1 << n)
        found = Fraction(float(mantissas[a])) * Fraction(2) ** int(exponents[a])
        assert abs(found - exact) <= Fraction(U) * exact


@pytest.mark.parametrize(("n0", "n1", "cut"), [(0, 3, 0), (5, 4, 0), (70, 64, 0), (80, 70, 1e-3), (90, 50, 1e-12)])
def test_free_leaves(n0, n1, cut):
    window = free_leaf((n0, n1), cut)
    assert says_the_truth(window, law(n0, n1))
    assert (window.lost > 0) == (cut > 0)
    assert np.allclose(np.outer(*window.factors), window.mass)


def test_what_is_cut_off_is_told():
    """Without the bound on what is lost the sum would be missed."""
    window = free_leaf((80, 70), 1e-3)
    mass = float(window.mass.sum()) * 2.0**window.exponent
    assert mass < 1 - 1e-5
    low, high = log2_of(window.total, window.exponent)
    assert low <= 0 <= high < 1e-2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2**32))
def test_leaves_with_few_states(n0, n1, seed):
    mask = np.random.default_rng(seed).random((n0 + 1, n1 + 1)) < 0.2
    exact = {state: x for state, x in law(n0, n1).items() if mask[state]}
    assert says_the_truth(choice_of_leaf((n0, n1), mask), exact)


def test_the_ends_of_a_large_leaf_are_kept():
    mask = np.zeros((1501, 901), dtype=bool)
    mask[0, 0] = mask[-1, -1] = True
    window = choice_of_leaf((1500, 900), mask)
    assert log2_of(window.total, window.exponent) == pytest.approx((-2399, -2399), abs=1e-9)


def random_window(rng, shape, spread=30.0):
    mass = np.exp2(-spread * rng.random(shape)) * (rng.random(shape) < 0.9)
    return StateWindow(int(rng.integers(5)), int(rng.integers(5)), mass, int(rng.integers(-50, 50)))


PATHS = {"direct": 1e9, "transforms": 0.0}


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(sorted(PATHS)), st.tuples(*[st.integers(1, 9)] * 4))
def test_convolutions_against_whole_numbers(seed, path, shapes):
    rng = np.random.default_rng(seed)
    one, two = random_window(rng, shapes[:2]), random_window(rng, shapes[2:])
    found = convolved(one, two, LIMITS, direct=PATHS[path])
    assert says_the_truth(found, product(entries(one), entries(two)))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("path", sorted(PATHS))
def test_larger_convolutions(path):
    rng = np.random.default_rng(7)
    one, two = random_window(rng, (17, 21)), random_window(rng, (12, 9))
    found = convolved(one, two, LIMITS, direct=PATHS[path])
    exact = product(entries(one), entries(two))
    assert says_the_truth(found, exact)
    if path == "transforms":  # small entries are noise: without the bound the window would not tell the truth
        assert found.lost > 0
        bare = StateWindow(found.first, found.second, found.mass, found.exponent, 1e-13)
        assert not says_the_truth(bare, exact)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("length", [64, 4096, 1 << 16])
def test_noise_of_transforms_is_within_its_bound(length):
    """Against integers: the 2-norm of what comes back from a transform and its inverse, and of a convolution."""
    from scipy import fft

    rng = np.random.default_rng(length)
    values = rng.random(length) * np.exp2(-40 * rng.random(length))
    back = fft.irfft(fft.rfft(values), length)
    assert np.linalg.norm(back - values) <= 2 * _transform_error(length) * np.linalg.norm(values)
    assert _transform_error(length) < 1e-13
    whole = rng.integers(0, 1 << 20, (2, length // 2))
    exact = convolve_whole(whole[0], whole[1])
    got = fft.irfft(fft.rfft(whole[0].astype(float), length) * fft.rfft(whole[1].astype(float), length), length)
    norms, sums = np.linalg.norm(whole.astype(float), axis=1), whole.sum(axis=1)
    bound = 3 * (_transform_error(length) + 4 * U) * max(norms[0] * sums[1], norms[1] * sums[0])
    error = np.linalg.norm(np.array([float(Fraction(g) - e) for g, e in zip(got[:-1], exact, strict=True)]))
    assert 0 < error <= bound


def convolve_whole(one, two):
    """The convolution of whole numbers as the product of two long ones, 64 bits for each entry."""
    numbers = [int.from_bytes(line.astype("<u8").tobytes(), "little") for line in (one, two)]
    size = len(one) + len(two) - 1
    data = (numbers[0] * numbers[1]).to_bytes(8 * (size + 1), "little")
    return [int(x) for x in np.frombuffer(data, dtype="<u8")[:size]]


@pytest.mark.slow
def test_two_free_leaves_are_one():
    one, two = free_leaf((70, 64), 1e-18), free_leaf((80, 90), 1e-18)
    found = convolved(one, two, LIMITS)
    assert found.factors is not None
    assert says_the_truth(found, law(150, 154))


def test_lines_beside_a_window():
    rng = np.random.default_rng(3)
    leaf, other = free_leaf((12, 9), 0.0), random_window(rng, (11, 13))
    assert says_the_truth(convolved(leaf, other, LIMITS), product(entries(leaf), entries(other)))


def test_underflow_is_told():
    tiny = np.full((9, 9), 1e-200)
    tiny[0, 0] = 1.0
    one = StateWindow(0, 0, tiny)
    found = convolved(one, one, LIMITS)
    assert found.lost > 0
    assert says_the_truth(found, product(entries(one), entries(one)))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e-6, 1e-1]))
def test_restricting_and_cutting(seed, cut):
    rng = np.random.default_rng(seed)
    window = random_window(rng, (70, 66))
    mask = rng.random((70, 66)) < 0.5
    exact = {(a, b): x for (a, b), x in entries(window).items() if mask[a - window.first, b - window.second]}
    found = restricted_window(window, mask, cut)
    assert says_the_truth(found, exact)
    assert found.lost > 0 or cut < 1e-1
    assert 0.5 <= found.mass.max() < 1


def test_small_windows_are_never_cut():
    window = free_leaf((30, 30), 0.5)
    assert _trimmed_window(window, 0.5).mass.shape == (31, 31)
    assert window.lost == 0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_states_reached(seed):
    rng = np.random.default_rng(seed)
    one, two = rng.random((6, 9)) < 0.3, rng.random((4, 3)) < 0.3
    found = {tuple(s) for s in np.argwhere(sums_reached(one, two, LIMITS)).tolist()}
    assert found == {(a + c, b + d) for a, b in np.argwhere(one).tolist() for c, d in np.argwhere(two).tolist()}


def test_memory():
    big = StateWindow(0, 0, np.ones((300, 300)))
    with pytest.raises(Inconclusive, match="memory"):
        convolved(big, big, Limits(memory=1 << 20))
    with pytest.raises(Inconclusive, match="memory"):
        sums_reached(big.mass > 0, big.mass > 0, Limits(memory=1 << 20))


def test_a_point_shifts():
    window = convolved(point(3, 4), free_leaf((2, 1), 0.0), LIMITS)
    assert (window.first, window.second) == (3, 4)
    assert says_the_truth(window, {(a + 3, b + 4): x for (a, b), x in law(2, 1).items()})


@pytest.mark.slow
def test_rounding_counts():
    """A bound without the roundings of a direct convolution is missed."""
    rng = np.random.default_rng(1)
    one, two = (StateWindow(0, 0, rng.random((20, 20))) for _ in range(2))
    found = convolved(one, two, LIMITS, direct=1e9)
    exact = product(entries(one), entries(two))
    assert says_the_truth(found, exact)
    assert not says_the_truth(StateWindow(0, 0, found.mass, found.exponent), exact)
    assert convolutions.PASS > 7.7 * U
