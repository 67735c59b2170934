"""Random correlation matrices and copulas: the parametrisation both ways, the laws of the fills, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recon.attacks.correlation import matrices
from recon.attacks.correlation.intervals import pair_interval
from solvers.foundation.errors import ReleaseError

SEEDS = st.integers(0, 2**32 - 1)


def plain_factor(angles):
    """Return B by the printed products, in plain Python."""
    n = len(angles)
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            found[i, j] = np.prod([np.sin(angles[i, k]) for k in range(j)])
            if j < i:
                found[i, j] *= np.cos(angles[i, j])
    return found


@given(st.integers(2, 7), SEEDS)
@settings(max_examples=40, deadline=None)
def test_factors_and_matrices_are_one_another(n, seed):
    angles = np.tril(np.random.default_rng(seed).uniform(0.05, 3.09, (4, n, n)), -1)
    factor = np.array([plain_factor(one) for one in angles])
    found = matrices._correlations_of(factor)
    np.testing.assert_allclose(found, [one @ one.T for one in factor], atol=1e-12)
    if np.linalg.eigvalsh(found).min() > 1e-4:
        np.testing.assert_allclose(matrices.factors_of(found), np.linalg.cholesky(found), atol=1e-6)


@given(st.integers(2, 8), SEEDS)
@settings(max_examples=30, deadline=None)
def test_random_matrices_are_correlation_matrices(n, seed):
    found = matrices.random_matrices(50, n, np.random.default_rng(seed))
    assert found.shape == (50, n, n)
    assert (found[:, np.arange(n), np.arange(n)] == 1).all()
    np.testing.assert_allclose(found, found.transpose(0, 2, 1), atol=0)
    assert np.linalg.eigvalsh(found).min() > -1e-10


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=7), SEEDS)
@settings(max_examples=60, deadline=None)
def test_constrained_matrices_have_their_constraints(rho, seed):
    found = matrices.constrained_matrices(np.array([rho] * 20), np.random.default_rng(seed))
    np.testing.assert_allclose(found[:, :-1, -1], np.array([rho] * 20), atol=1e-12)
    assert np.linalg.eigvalsh(found).min() > -1e-10
    low, high = pair_interval(np.array(rho)[:, None], np.array(rho)[None, :])
    off = ~np.eye(len(rho), dtype=bool)
    assert (found[:, :-1, :-1] >= low - 1e-9)[:, off].all()
    assert (found[:, :-1, :-1] <= high + 1e-9)[:, off].all()


def naive_fill(first, rng):
    """Return C as the algorithm is printed: by ranges of correlations, one after the other."""
    n = len(first) + 1
    b, c = np.zeros((n, n)), np.eye(n)
    b[0, 0] = 1
    for i in range(1, n):
        b[i, 0] = c[i, 0] = c[0, i] = first[i - 1]
        for j in range(1, i):
            base = b[i, :j] @ b[j, :j]
            half = b[j, j] * np.sqrt(max(0, 1 - b[i, :j] @ b[i, :j]))
            c[i, j] = c[j, i] = base if half < matrices.STABLE else rng.uniform(base - half, base + half)
            b[i, j] = (c[i, j] - base) / b[j, j]
        b[i, i] = np.sqrt(max(0, 1 - b[i, :i] @ b[i, :i]))
    return c


def test_the_fill_by_norms_has_the_law_of_the_printed_one():
    rng, first = np.random.default_rng(3), np.array([0.3, -0.5, 0.7])
    ours = matrices._correlations_of(matrices._filled(np.tile(first, (3000, 1)), rng))
    theirs = np.array([naive_fill(first, rng) for _ in range(3000)])
    for i, j in ((1, 2), (1, 3), (2, 3)):
        assert stats.ks_2samp(ours[:, i, j], theirs[:, i, j]).pvalue > 1e-3


def test_three_variables_leave_the_third_correlation_uniform():
    found = matrices.constrained_matrices(np.tile([0.8, -0.3], (4000, 1)), np.random.default_rng(0))[:, 0, 1]
    low, high = pair_interval(0.8, -0.3)
    assert stats.kstest(found, stats.uniform(low, high - low).cdf).pvalue > 1e-3


def test_random_matrices_treat_variables_alike():
    found = matrices.random_matrices(6000, 4, np.random.default_rng(0))
    assert stats.ks_2samp(found[:3000, 0, 1], found[3000:, 2, 3]).pvalue > 1e-3


def test_constraints_that_no_matrix_has_are_named():
    rng = np.random.default_rng(0)
    with pytest.raises(ReleaseError, match=r"correlation of 'age' with the label is 1\.2: no matrix"):
        matrices.constrained_matrices(np.array([[0.1, 1.2]]), rng, ["sex", "age"])
    with pytest.raises(ReleaseError, match="variable 1 with the label is nan"):
        matrices.checked_constraints(np.array([np.nan, 0.0]))
    with pytest.raises(ReleaseError, match="2 variables at least"):
        matrices.random_matrices(3, 1, rng)


def test_matrices_that_no_variables_have_are_refused():
    with pytest.raises(ReleaseError, match="negative eigenvalue"):
        matrices.factors_of(np.array([[1.0, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]]))


@pytest.mark.parametrize("seed", range(3))
def test_copulas_have_their_correlations(seed):
    rng, rows = np.random.default_rng(seed), 4000
    wanted = matrices.random_matrices(8, 5, rng)
    found = matrices.pearson_correlations(matrices.copula(wanted, rows, rng))
    assert np.abs(found - wanted).max() < 3 / np.sqrt(rows) * 1.3  # of 80 correlations the largest error
    assert (np.abs(found - wanted) < 3 / np.sqrt(rows)).mean() > 0.99


def test_marginals_are_the_ones_asked_for():
    rng = np.random.default_rng(1)
    ages = rng.integers(18, 90, 300)
    data = matrices.copula(np.array([[[1, 0.5], [0.5, 1.0]]]), 20000, rng, [stats.expon.ppf, matrices.empirical(ages)])[
        0
    ]
    assert stats.kstest(data[:, 0], stats.expon.cdf).pvalue > 1e-3
    assert set(data[:, 1]) <= set(ages.tolist())
    assert abs(data[:, 1].mean() - ages.mean()) < 4 * ages.std() / np.sqrt(20000)


@pytest.mark.parametrize("wanted", [-0.4, 0.3, 0.7])
def test_adjusted_correlations_are_those_of_the_columns(wanted):
    rng, rows = np.random.default_rng(2), 40000
    one, other = stats.expon.ppf, matrices.empirical([0, 0, 1])
    if wanted == 0.7:  # more than an exponential column and such a bit can have: 0.68 at rho = 1 at most
        other = matrices.empirical([0, 1, 2, 3])
    before = matrices.correlation_before(wanted, one, other)
    data = matrices.copula(np.array([[[1, before], [before, 1.0]]]), rows, rng, [one, other])
    assert abs(before) > abs(wanted)
    assert abs(matrices.pearson_correlations(data)[0, 0, 1] - wanted) < 3 / np.sqrt(rows) + 0.01
    assert abs(float(matrices.correlation_after(before, one, other)) - wanted) < 1e-4
    np.testing.assert_allclose(matrices.adjusted([wanted], [one], other), [before])


@pytest.mark.parametrize(
    ("marginal", "share"),
    [
        (stats.lognorm(1).ppf, (np.e - 1) ** -0.5),
        (matrices.empirical([0, 0, 0, 1]), stats.norm.pdf(stats.norm.ppf(0.75)) / (3 / 16) ** 0.5),
        (stats.uniform.ppf, (3 / np.pi) ** 0.5),
    ],
)
def test_correlations_with_a_normal_column_are_known_in_closed_form(marginal, share):
    rho = np.array([-0.8, -0.1, 0.5])
    np.testing.assert_allclose(matrices.correlation_after(rho, marginal, None), share * rho, atol=2e-3)
    np.testing.assert_allclose(matrices.correlation_after(rho, None, marginal), share * rho, atol=4e-3)


def test_normal_marginals_need_no_adjustment():
    np.testing.assert_allclose(
        matrices.correlation_after(np.array([-0.9, 0.0, 0.4]), None, None), [-0.9, 0, 0.4], atol=3e-3
    )


def test_correlations_beyond_marginals_are_refused_by_name():
    with pytest.raises(ReleaseError, match=r"'age': these marginals have no correlation of -0\.9: they admit -0\.6"):
        matrices.adjusted([-0.9], [stats.expon.ppf], stats.expon.ppf, ["age"])
    with pytest.raises(ReleaseError, match="second marginal is constant"):
        matrices.correlation_before(0.1, None, matrices.empirical([3.0]))
    with pytest.raises(ReleaseError, match="one number at least"):
        matrices.empirical([])
    with pytest.raises(ReleaseError, match="1 marginals for 2 variables"):
        matrices.copula(np.eye(2)[None], 5, np.random.default_rng(0), [None])
