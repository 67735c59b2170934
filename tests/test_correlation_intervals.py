"""Intervals of correlations: by constraints, by tables of bits, and by a released linear model, against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from recon.attacks.correlation import intervals
from recon.attacks.correlation.intervals import linear_intervals, three_variables
from recon.attacks.correlation.matrices import constrained_matrices, random_matrices
from solvers.foundation.errors import ReleaseError

SEEDS = st.integers(0, 2**32 - 1)


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_the_pair_interval_is_where_the_matrix_is_positive(one, other, r):
    low, high = intervals.pair_interval(one, other)
    least = np.linalg.eigvalsh([[1, r, one], [r, 1, other], [one, other, 1]])[0]
    if low + 1e-4 < r < high - 1e-4:
        assert least > -1e-9
    if r < low - 1e-3 or r > high + 1e-3:
        assert least < 0
    for end in (low, high):
        assert np.linalg.eigvalsh([[1, end, one], [end, 1, other], [one, other, 1]])[0] > -1e-9


def sampled_interval(rho, count, rng):
    """Return the least and greatest correlation of every pair (n - 1, n - 1) in random matrices with these constraints.

    `rho` (n - 1,) or one row a matrix (count, n - 1). The exact interval is `pair_interval`, which this approaches from
    within. Source: Cretu et al. 2021, the model-less attack with k = 1500 matrices of Algorithm 3.
    """
    given = np.broadcast_to(np.asarray(rho, dtype=np.float64), (count, np.shape(rho)[-1]))
    found = constrained_matrices(given, rng)[:, :-1, :-1]
    return found.min(axis=0), found.max(axis=0)


@pytest.mark.parametrize("rho", [(0.5, -0.2), (0.9, 0.8, -0.1), (0.3, 0.1, 0.7, -0.6)])
def test_sampled_intervals_come_near_the_exact_one_from_within(rho):
    low, high = sampled_interval(rho, 20000, np.random.default_rng(0))
    exact = intervals.pair_interval(rho[0], rho[1])
    assert exact[0] - 1e-9 <= low[0, 1] < exact[0] + 0.05
    assert exact[1] + 1e-9 >= high[0, 1] > exact[1] - 0.05


def brute(x, z, y):
    """Return the least and greatest correlation of bits over all ways to match rows within classes of the label."""
    parts = []
    for value in np.unique(y):
        a, b = x[y == value], z[y == value]
        parts.append({sum(p) for p in (np.logical_and(a, np.array(q)) for q in product((0, 1), repeat=len(b))
                      if sum(q) == b.sum()) for p in [p]})  # fmt: skip
    found = []
    for both in product(*parts):
        n, p, q = len(x), x.sum(), z.sum()
        found.append((n * sum(both) - p * q) / np.sqrt(p * (n - p) * q * (n - q)))
    return min(found), max(found)


def test_correlations_with_the_label_and_constant_columns():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    found = intervals.label_correlations(x, y)
    np.testing.assert_allclose(found, [np.corrcoef(x[:, i], y)[0, 1] for i in range(3)])
    x[:, 1] = 4
    with pytest.raises(ReleaseError, match="column 'b' is constant"):
        intervals.label_correlations(x, y, "abc")
    with pytest.raises(ReleaseError, match="column 2 is constant"):
        intervals.label_correlations(x, y)
    with pytest.raises(ReleaseError, match="label has one value"):
        intervals.label_correlations(x[:, :1], np.ones(30))


@pytest.mark.slow
@given(SEEDS, st.floats(0.01, 100))
@settings(max_examples=60, deadline=None)
def test_three_variables_follow_from_weights(seed, scale):
    (found,) = random_matrices(1, 3, np.random.default_rng(seed))
    assume(np.linalg.eigvalsh(found)[0] > 1e-3)
    w = scale * np.linalg.solve(found[:2, :2], found[:2, 2])
    assume(abs(w[1] * found[1, 2] - w[0] * found[0, 2]) > 1e-4 * scale)
    np.testing.assert_allclose(three_variables(w, found[:2, 2]), [found[0, 1]], atol=1e-7)
    low, high = linear_intervals(w, found[:2, 2])
    assert low[0, 1] - 1e-5 <= found[0, 1] <= high[0, 1] + 1e-5
    assert high[0, 1] - low[0, 1] < 1e-4


@pytest.mark.slow
@given(st.integers(4, 8), SEEDS, st.floats(0.1, 10))
@settings(max_examples=40, deadline=None)
def test_linear_intervals_hold_the_truth(n, seed, scale):
    (found,) = random_matrices(1, n, np.random.default_rng(seed))
    assume(np.linalg.eigvalsh(found)[0] > 1e-4)
    rho, others = found[:-1, -1], found[:-1, :-1]
    low, high = linear_intervals(scale * np.linalg.solve(others, rho), rho)
    assert (low - 1e-6 <= others).all()
    assert (others <= high + 1e-6).all()
    outer = intervals.pair_interval(rho[:, None], rho[None, :])
    off = ~np.eye(n - 1, dtype=bool)
    assert (low >= outer[0] - 1e-6)[off].all()
    assert (high <= outer[1] + 1e-6)[off].all()


@pytest.mark.sampled(1, 3)
@pytest.mark.parametrize(("n", "seed"), [(4, 0), (4, 1), (4, 5), (5, 0), (5, 2), (6, 3)])
def test_linear_intervals_are_no_wider_than_matrices_reach(n, seed):
    """A second method: unit vectors whose products meet the linear equations, the pair's pushed both ways."""
    (found,) = random_matrices(1, n, np.random.default_rng(seed))
    rho, others, d = found[:-1, -1], found[:-1, :-1], n - 1
    w = np.linalg.solve(others, rho)
    low, high = linear_intervals(w, rho)

    def vectors(z):
        x = z[:-1].reshape(d, d)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    equations = [
        {"type": "eq", "fun": lambda z: vectors(z) @ (vectors(z).T @ w) - z[-1] * rho},
        {"type": "ineq", "fun": lambda z: np.array([z[-1] - w @ rho])},
    ]
    reached = []
    for sign in (1, -1):
        best = np.inf
        for start in range(4):
            noise = np.random.default_rng(start).normal(0, 0.2, d * d)
            begun = np.concatenate([np.linalg.cholesky(others).ravel() + noise, [1.0]])
            run = minimize(lambda z, s=sign: s * (vectors(z)[0] @ vectors(z)[1]), begun, method="SLSQP",
                           constraints=equations, options={"maxiter": 300, "ftol": 1e-10})  # fmt: skip
            if np.abs(equations[0]["fun"](run.x)).max() < 1e-6 and equations[1]["fun"](run.x)[0] > -1e-6:
                best = min(best, run.fun)
        reached.append(sign * best)
    np.testing.assert_allclose(reached, [low[0, 1], high[0, 1]], atol=5e-3)


def test_weights_that_no_matrix_gives_have_no_interval():
    assert linear_intervals([1.0, 1.0], [-0.5, -0.2]) is None  # points away from the label
    assert linear_intervals([0.0, 0.0], [0.5, 0.2]) is None
    assert linear_intervals([5.0, 0.1, 0.1], [0.3, 0.9, 0.9]) is None  # one side is longer than the others together
    with pytest.raises(ReleaseError, match="not a number"):
        linear_intervals([1.0, np.nan], [0.5, 0.2])
    with pytest.raises(ReleaseError, match="shape"):
        linear_intervals([1.0, 1.0], [0.5, 0.2, 0.1])


def test_weights_of_nought_say_nothing_of_directions_across():
    low, high = linear_intervals([1.0, 0.5, 0.0], [0.6, 0.3, 0.0])
    assert low[0, 2] <= -0.3 < 0.3 <= high[0, 2]


def test_a_weight_of_rounding_errors_does_not_cut_off_the_truth():
    """Columns without a part in the model: weights of 1e-15 are noughts, not directions."""
    found = random_matrices(100, 10, np.random.default_rng([0, 10]))[76]
    rho, others = found[:-1, -1], found[:-1, :-1]
    weights = np.linalg.solve(others, rho)
    assert np.abs(weights).min() < 1e-12 * np.abs(weights).max()
    low, high = linear_intervals(weights, rho)
    assert (low - 1e-7 <= others).all()
    assert (others <= high + 1e-7).all()
