"""Attacks with a model: what is published is reached, the stacked one never falls below, released models are asked."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from recon.attacks.correlation.intervals import three_variables
from recon.attacks.correlation.matrices import empirical, random_matrices
from recon.attacks.correlation.model_based import _fit, _folds, crossed, verdicts
from recon.attacks.correlation.model_less import bin_of
from recon.attacks.correlation.shadow_models import (
    LogisticModels,
    Networks,
    NetworkTraining,
    ShadowSetting,
    _observed_features,
    dataset,
    fitted,
    shadows,
)
from solvers.foundation.errors import ReleaseError

FEW = NetworkTraining(epochs=15, patience=3)


def cells(count, size, setting, seed):
    """Yield shadow models of random cells of the grid, their constraints and true bins."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        rho = rng.integers(-100, 100, 2) / 100 + rng.random((size, 2)) / 100
        known = shadows(rho, setting, rng)
        yield known, rho, bin_of(known.truth[:, 0, 1])[:, None], rng


def accuracies(count, size, seed, meta="regression", setting=None):
    setting = setting or ShadowSetting()
    found = {name: [] for name in (*setting.accesses, "closed", "constant")}
    for known, rho, truth, rng in cells(count, size, setting, seed):
        for access in setting.accesses:
            found[access].append((crossed(known.features[access], truth, rng, meta) == truth).mean())
        if setting.kind == "logistic":
            formula = bin_of(three_variables(known.features["weights"][:, :2], rho))
            found["closed"].append((formula == truth[:, 0]).mean())
        found["constant"].append(np.bincount(truth[:, 0]).max() / size)
    return {name: np.mean(values) for name, values in found.items() if values}


@pytest.mark.slow
def test_logistic_regressions_give_correlations_away():
    found = accuracies(12, 150, 5)
    assert found["predictions"] > 0.9
    assert found["weights"] > 0.88
    assert found["constant"] < 0.75


@pytest.mark.long
@pytest.mark.parametrize("meta", ["regression", "network"])
def test_published_accuracies_on_sixty_cells(meta):
    found = accuracies(60, 400, 0, meta)
    assert found["predictions"] >= 0.93
    assert found["weights"] >= 0.91
    assert found["closed"] >= 0.87


@pytest.mark.slow
def test_the_closed_form_needs_no_shadow_models():
    rng = np.random.default_rng(0)
    rho = rng.uniform(-1, 1, (800, 2))
    known = shadows(rho, ShadowSetting(accesses=("weights",)), rng)
    said = three_variables(known.features["weights"][:, :2], rho)
    assert (bin_of(said) == bin_of(known.truth[:, 0, 1])).mean() >= 0.87
    assert np.median(np.abs(said - known.truth[:, 0, 1])) < 0.04


@pytest.mark.long
def test_networks_give_correlations_away_on_ten_cells():
    setting = ShadowSetting("network", ("predictions", "weights", "canonical"))
    found = accuracies(10, 400, 3, setting=setting)
    assert found["predictions"] > found["canonical"] > found["weights"]
    assert found["predictions"] > 0.75


@pytest.mark.slow
def test_networks_give_something_away():
    found = accuracies(2, 90, 4, setting=ShadowSetting("network", ("predictions",), rows=400, training=FEW))
    assert found["predictions"] > 0.5


@pytest.mark.slow
def test_the_stacked_attack_does_not_fall_below_the_model_less_one():
    right = {"stacked": [], "model_less": [], "model_based": []}
    rng = np.random.default_rng(8)
    for n in (3, 5, 7):
        for target in random_matrices(8, n, rng):
            rho = np.broadcast_to(target[:-1, -1], (200, n - 1))
            setting = ShadowSetting(accesses=("weights",), rows=300)
            known, other = shadows(rho[:100], setting, rng), shadows(rho[100:], setting, rng)
            truth = bin_of(other.truth[:, *np.triu_indices(n - 1, 1)])
            said = verdicts(known, "weights", other.features["weights"], rho[100:], rng)
            assert (said.stacked == np.where(said.trusted, said.model_based, said.model_less)).all()
            assert (said.model_less == truth)[said.certain].all()
            assert not (said.trusted & said.certain).any()
            for name, values in right.items():
                values.append((getattr(said, name) == truth).mean())
    assert np.mean(right["stacked"]) > np.mean(right["model_less"]) + 0.05
    assert np.mean(right["stacked"]) > np.mean(right["model_based"]) - 0.01
    gained = np.subtract(right["stacked"], right["model_less"])
    assert gained.min() > -4 * 0.5 / np.sqrt(100)  # of a single target: no more than chance


def test_folds_and_their_guards():
    rng = np.random.default_rng(0)
    assert sorted(np.bincount(_folds(13, 5, rng))) == [2, 2, 3, 3, 3]
    with pytest.raises(ReleaseError, match="4 shadow models are too few for 5 folds"):
        crossed(np.zeros((4, 2)), np.zeros((4, 1), dtype=int), rng)
    with pytest.raises(ReleaseError, match="regression or network, not 'tree'"):
        _fit(np.zeros((4, 2)), np.zeros((4, 1), dtype=int), rng, "tree")


def test_constant_features_are_left_out():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=60), np.full(60, 7.0)])
    y = (x[:, :1] > 0).astype(int)
    for meta in ("regression", "network"):
        found = _fit(x, y, rng, meta, 2)
        np.testing.assert_array_equal(found.named(x), found.named(x * [1, 100]))
        assert (found.named(x) == y).mean() > 0.9


def test_what_each_access_sees():
    rng = np.random.default_rng(0)
    x, y = dataset(random_matrices(3, 4, rng), ShadowSetting(rows=50), rng)
    asked = rng.normal(size=(7, 3))
    line, net = fitted(x, y, "logistic", rng), fitted(x, y, "network", rng, FEW)
    assert isinstance(line, LogisticModels)
    assert isinstance(net, Networks)
    assert [_observed_features(line, a, asked).shape[1] for a in ("predictions", "weights", "canonical", "both")] == [
        7,
        4,
        4,
        11,
    ]
    size = 3 * 20 + 20 + 200 + 10 + 22
    assert [_observed_features(net, a, asked).shape[1] for a in ("predictions", "weights", "canonical", "both")] == [
        7,
        size,
        size,
        7 + size,
    ]
    theirs = LogisticRegression(solver="liblinear", tol=1e-10).fit(x[1], y[1])
    for access in ("predictions", "weights", "both"):
        parts = [theirs.predict_proba(asked)[:, 1]] if access != "weights" else []
        parts += [theirs.coef_[0], theirs.intercept_] if access != "predictions" else []
        np.testing.assert_allclose(np.concatenate(parts), _observed_features(line, access, asked)[1], atol=1e-4)
    with pytest.raises(ReleaseError, match="not 'all'"):
        _observed_features(line, "all", asked)
    with pytest.raises(ReleaseError, match="not 'forest'"):
        fitted(x, y, "forest", rng)


def test_labels_of_marginals_are_cut_at_their_median():
    rng = np.random.default_rng(0)
    setting = ShadowSetting(rows=400, marginals=[None, empirical([1, 2, 9]), lambda u: -np.log1p(-u)])
    x, y = dataset(random_matrices(2, 3, rng), setting, rng)
    assert set(np.unique(x[..., 1])) == {1, 2, 9}
    assert y.mean() == 0.5
