"""The attack without a model: bins, decisions and ties, and the published and exact accuracies."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad

from recon.attacks.correlation import model_less
from recon.attacks.correlation.intervals import pair_interval
from solvers.foundation.errors import ReleaseError


def test_edges_belong_to_the_bin_above():
    assert model_less.bin_of([-1, -1 / 3 - 1e-9, -1 / 3, 0, 1 / 3, 1]).tolist() == [0, 0, 1, 1, 2, 2]
    assert model_less.bin_of([-1, 0, 1], 2).tolist() == [0, 1, 1]
    with pytest.raises(ReleaseError, match="at least 2 bins"):
        model_less._edges(1)


def plain(low, high, bins):
    """Return the bins that the paper's rule may name, in its own words."""
    cut = [-1 + 2 * k / bins for k in range(bins + 1)]
    covered = [k for k in range(bins) if low <= cut[k] + 1e-12 and cut[k + 1] <= high + 1e-12]
    if covered:
        return covered
    shared = [min(high, b) - max(low, a) for a, b in pairwise(cut)]
    return [k for k, length in enumerate(shared) if length >= max(shared) - 1e-12]


ENDS = st.one_of(st.floats(-1, 1), st.integers(-15, 15).map(lambda k: k / 15))  # edges of bins among them


@pytest.mark.slow
@given(ENDS, ENDS, st.sampled_from([2, 3, 5]))
@settings(max_examples=150, deadline=None)
def test_the_decision_is_the_rule_in_words(one, other, bins):
    low, high = min(one, other), max(one, other)
    if high - low < 1e-6:
        return
    allowed = plain(low, high, bins)
    rng = np.random.default_rng(0)
    assert int(model_less.decided(low, high, bins)) in allowed
    drawn = {int(model_less.decided(low, high, bins, rng)) for _ in range(40)}
    assert drawn <= set(allowed)
    if len(allowed) > 1:
        assert len(drawn) > 1


def test_a_number_lies_in_its_bin_and_certainty_is_one_bin():
    assert model_less.decided(0.5, 0.5) == 2
    assert model_less.in_one_bin([0.5, 0.2, -0.3], [0.5, 0.5, 0.3]).tolist() == [True, False, True]


def test_the_exact_accuracy_is_the_reference_and_a_second_integration_agrees():
    assert abs(model_less.exact_accuracy(side=1000) - 0.563027) < 1e-4

    def right(a, b):
        half = sqrt((1 - a * a) * (1 - b * b))
        low, high = a * b - half, a * b + half
        return max(max(0, min(high, (k + 2) / 3) - max(low, k / 3)) for k in (-3, -1, 1)) / (high - low)

    # half of [0, 1]^2 suffices: both constraints are alike
    found = 2 * dblquad(right, 0, 1, 0, lambda a: a, epsabs=2e-4, epsrel=2e-4)[0]
    assert abs(found - 0.563027) < 5e-4


@pytest.mark.long
def test_the_exact_accuracy_to_more_digits():
    assert abs(model_less.exact_accuracy(side=4000) - 0.563027) < 2e-6


def test_monte_carlo_agrees_with_the_quadrature():
    rng = np.random.default_rng(0)
    rho = rng.uniform(-1, 1, (2, 400_000))
    low, high = pair_interval(*rho)
    truth = rng.uniform(low, high)
    right = (model_less.bin_of(truth) == model_less.decided(low, high)).mean()
    assert abs(right - 0.563027) < 4 * 0.5 / np.sqrt(400_000)
    masses = np.bincount(model_less.bin_of(truth)) / 400_000
    np.testing.assert_allclose(model_less.class_masses(side=500), [0.29754, 0.40492, 0.29754], atol=1e-4)
    np.testing.assert_allclose(masses, [0.29754, 0.40492, 0.29754], atol=4 * 0.5 / np.sqrt(400_000))


def test_the_uniform_law_on_matrices_of_three_variables():
    rho = np.random.default_rng(1).uniform(-1, 1, (3, 600_000))
    a, b, c = rho[:, 1 + 2 * rho[0] * rho[1] * rho[2] - (rho**2).sum(axis=0) > 0]
    right = (model_less.bin_of(c) == model_less.decided(*pair_interval(a, b))).mean()
    assert abs(right - model_less.exact_accuracy(side=500, law="elliptope")) < 4 * 0.5 / np.sqrt(len(a))


@pytest.mark.slow
def test_the_cell_protocol_promises_what_is_published():
    found = model_less.cell_accuracy(1500, np.random.default_rng(0), every=5)
    assert found.cells == 400
    assert abs(found.promised - 0.560) < 0.003
    assert abs(found.right - 0.5630) < 0.003
    with pytest.raises(ReleaseError, match="odd divisor"):
        model_less.cell_accuracy(10, np.random.default_rng(0), every=2)


@pytest.mark.long
def test_the_cell_protocol_on_all_cells():
    found = model_less.cell_accuracy(1500, np.random.default_rng(0))
    assert found.cells == 10_000
    assert abs(found.promised - 0.56024) < 0.0005
    assert abs(found.right - 0.56308) < 0.0005


@pytest.mark.parametrize(("n", "published"), [(3, 0.518), (4, 0.518), (6, 0.527), (10, 0.534)])
def test_accuracy_on_random_matrices(n, published):
    found = model_less.accuracy_by_pair(n, 20_000, np.random.default_rng(n))
    assert found.accuracy.shape == ((n - 1) * (n - 2) // 2,)
    assert abs(found.accuracy.mean() - published) < (0.012 if n == 3 else 0.006)
    assert (found.majority < found.accuracy).all()


@pytest.mark.parametrize("quadrature", [model_less.class_masses, model_less.exact_accuracy])
def test_a_quadrature_holds_a_part_of_its_squares(quadrature):
    """By 1,500 x 1,500 squares, of some 200 bytes each."""
    tracemalloc.start()
    try:
        quadrature(side=1_500)
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()
