"""Many small models at once: against scikit-learn's, against differences, and canonical weights."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neural_network import MLPClassifier

from recon.attacks.correlation import shadow_models as trainers
from recon.attacks.correlation.matrices import random_matrices
from recon.attacks.correlation.shadow_models import ShadowSetting, dataset
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits


def data(count, n, rows, seed):
    rng = np.random.default_rng(seed)
    return dataset(random_matrices(count, n, rng), ShadowSetting(rows=rows), rng)


@pytest.mark.parametrize(("n", "c"), [(3, 1.0), (5, 1.0), (4, 50.0)])
def test_logistic_regressions_are_those_of_liblinear(n, c):
    x, y = data(12, n, 300, 1)
    x[0] *= 30  # scales that differ by far
    y[1] = (x[1, :, 0] > 0).astype(int)  # distinguished wholly
    found = trainers._logistic(x, y, c)
    for one, rows, labels in zip(found, x, y, strict=True):
        theirs = LogisticRegression(solver="liblinear", C=c, tol=1e-12, max_iter=10_000).fit(rows, labels)
        np.testing.assert_allclose(one, [*theirs.coef_[0], theirs.intercept_[0]], rtol=1e-4, atol=1e-4)


def test_one_class_alone_has_a_minimum():
    x, y = data(2, 3, 100, 2)
    found = trainers._logistic(x, np.ones_like(y))
    assert np.isfinite(found).all()
    assert (found[:, -1] > 1).all()


@pytest.mark.slow
def test_softmax_regressions_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    noisy = x[:, :4] + rng.normal(0, 1.5, (300, 4))
    y = np.digitize(noisy, [-0.7, 0.7])
    found = trainers.softmax_regressions(x, y, 3)
    for k, one in enumerate(found):
        theirs = LogisticRegression(tol=1e-8, max_iter=5000).fit(x, y[:, k])
        scores = trainers.with_ones(x) @ one
        np.testing.assert_allclose(trainers._softmax(scores), theirs.predict_proba(x), atol=2e-3)
        assert (scores.argmax(axis=1) == theirs.predict(x)).mean() > 0.99


def networks(count, sizes, seed):
    parts = trainers._initial(count, sizes, np.random.default_rng(seed))
    return trainers.Networks(tuple(parts[::2]), tuple(parts[1::2]))


def test_gradients_are_differences():
    rng = np.random.default_rng(0)
    parts = [part.astype(np.float64) for part in trainers._initial(2, (3, 5, 4, 3), rng)]
    x, y = rng.normal(size=(2, 20, 3)), rng.integers(0, 3, (2, 20))
    found = trainers._gradients([part.copy() for part in parts], x, (y[..., None] == np.arange(3)).astype(float))
    for k, part in enumerate(parts):
        at = (1, *(rng.integers(0, size) for size in part.shape[1:]))
        ends = []
        for sign in (1, -1):
            moved = [other.copy() for other in parts]
            moved[k][at] += sign * 1e-5
            ends.append(trainers._losses(moved, x, y)[1])
        np.testing.assert_allclose(found[k][at], (ends[0] - ends[1]) / 2e-5, rtol=1e-4, atol=1e-7)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_canonical_weights_are_the_same_whatever_the_order_of_neurons(seed):
    rng = np.random.default_rng(seed)
    one = networks(3, (4, 7, 5, 2), seed)
    weights, biases = [w.copy() for w in one.weights], [b.copy() for b in one.biases]
    for layer in range(2):
        for m in range(3):
            order = rng.permutation(weights[layer].shape[2])
            weights[layer][m] = weights[layer][m][:, order]
            biases[layer][m] = biases[layer][m][order]
            weights[layer + 1][m] = weights[layer + 1][m][order]
    other = trainers.Networks(tuple(weights), tuple(biases))
    x = rng.normal(size=(50, 4))
    np.testing.assert_allclose(other.probabilities(x), one.probabilities(x), atol=1e-5)
    assert not np.array_equal(other.flat(), one.flat())
    assert np.array_equal(other.canonical().flat(), one.canonical().flat())
    np.testing.assert_allclose(one.canonical().probabilities(x), one.probabilities(x), atol=1e-5)
    assert np.array_equal(one.canonical().canonical().flat(), one.canonical().flat())


def test_canonical_order_of_equal_sums_is_by_bias():
    w = np.array([[[1.0, 2.0], [2.0, 1.0]]])
    one = trainers.Networks((w, np.array([[[1.0], [5.0]]])), (np.array([[3.0, -1.0]]), np.zeros((1, 1))))
    assert one.canonical().biases[0].tolist() == [[-1.0, 3.0]]
    assert one.canonical().weights[1].tolist() == [[[5.0], [1.0]]]


def test_the_paper_has_so_many_parameters():
    assert networks(1, (2, 20, 10, 2), 0).flat().shape == (1, 292)  # the paper's text says 441


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stop", ["loss", "accuracy"])
def test_networks_are_as_good_as_those_of_scikit_learn(stop):
    x, y = data(12, 4, 1000, 3)
    train, rest = slice(0, 700), slice(700, 1000)
    training = replace(trainers.TARGET, stop=stop)
    ours = trainers.trained(x[:, train], y[:, train], 2, training, np.random.default_rng(0))
    said = ours.probabilities(x[:, rest])
    accuracy, loss = [], []
    for k in range(12):
        theirs = MLPClassifier((20, 10), learning_rate_init=0.05, max_iter=100, early_stopping=True, random_state=k,
                               n_iter_no_change=5, alpha=0.0)  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs.fit(x[k, train], y[k, train])
        accuracy.append(theirs.score(x[k, rest], y[k, rest]))
        loss.append(log_loss(y[k, rest], theirs.predict_proba(x[k, rest]), labels=[0, 1]))
    ours_loss = [log_loss(y[k, rest], said[k], labels=[0, 1]) for k in range(12)]
    right = (said.argmax(axis=-1) == y[:, rest]).mean()
    assert abs(right - np.mean(accuracy)) < 0.02
    assert np.mean(ours_loss) < np.mean(loss) + 0.03


def test_networks_share_rows_and_each_stops_in_its_own_time():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 200, 2))
    easy, hard = (x[0, :, 0] > 0).astype(int), rng.integers(0, 2, 200)
    training = trainers.NetworkTraining((8,), 0.05, 60, 4, 0.2, 0.0, 50)
    found = trainers.trained(x, np.stack([easy, hard, 1 - easy]), 2, training, rng)
    right = found.probabilities(x[0]).argmax(axis=-1)
    assert (right[0] == easy).mean() > 0.93
    assert (right[2] == 1 - easy).mean() > 0.93
    assert found.take(np.array([2])).flat().shape == (1, 2 * 8 + 8 + 8 * 2 + 2)


def test_training_ends_when_time_is_up():
    x, y = data(2, 3, 50, 0)
    for train in (lambda limits: trainers._logistic(x, y, limits=limits),
                  lambda limits: trainers.trained(x, y, 2, trainers.TARGET, np.random.default_rng(0), limits),
                  lambda limits: trainers.softmax_regressions(x[0], y.T, 2, limits=limits)):  # fmt: skip
        with pytest.raises(Inconclusive, match="time was up while"):
            train(Limits(seconds=0.0))
