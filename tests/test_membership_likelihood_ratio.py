"""LiRA against a scalar implementation of its formulas on the same shadow models, and who is in which of them."""

from __future__ import annotations

import math
from statistics import NormalDist, fmean

import numpy as np
import pytest

from recon.attacks.membership.shadow_data import Knowledge, LikelihoodRatio, population
from recon.queries.inputs import RecordColumns, Records
from solvers.foundation.errors import Inconclusive, ReleaseError
from solvers.foundation.limits import Limits

NUMBERS = RecordColumns(("a", "b"), (True, True))
KNOWN = Knowledge("noise", np.zeros((4, 2)), NUMBERS, 2)


class Near:
    """A model that leaks in proportion: of the nearest three training rows, the label's share."""

    def __init__(self, x, y):
        self.classes_, self.x, self.y = np.array([0, 1]), x, y

    def predict_proba(self, X):
        nearest = ((X[:, None] - self.x[None]) ** 2).sum(axis=2).argsort(axis=1, kind="stable")[:, :3]
        one = self.y[nearest].mean(axis=1)
        return np.column_stack([1 - one, one])


class Fits:
    """Fits models and remembers them."""

    def __init__(self):
        self.models, self.seeds = [], []

    def __call__(self, x, y, seed):
        self.models.append(Near(x, y))
        self.seeds.append(seed)
        return self.models[-1]


def rows(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 2))
    return Records(x, (x[:, 0] + rng.normal(0, 0.5, n) > 0.5).astype(np.int64), NUMBERS, (0, 1))


def logit(model, row, label, clip):
    p = min(max(float(model.predict_proba(row[None])[0, label]), clip), 1 - clip)
    return math.log(p / (1 - p))


def deviations(groups, pooled, floor):
    """Return a deviation per group of logits, about the groups' own means."""
    squares = [[(v - fmean(group)) ** 2 for v in group] for group in groups]
    if pooled:
        everything = [s for group in squares for s in group]
        return [max(math.sqrt(fmean(everything)), floor)] * len(groups)
    return [max(math.sqrt(fmean(group)), floor) for group in squares]


@pytest.mark.parametrize("pooled", [True, False])
def test_online_is_the_ratio_by_hand_on_the_same_shadow_models(pooled):
    fits, asked = Fits(), rows(14, 1)
    target = Near(asked.x[:7], asked.y[:7])
    attack = LikelihoodRatio(population(rows(80, 2)), fits, 20, shadows=8, clip=0.01, pooled=pooled)
    found = attack.train(target, KNOWN, 5).scores(target, asked.x, asked.y)
    assert len(fits.models) == 8
    assert all(len(model.x) == 20 for model in fits.models)
    inside, outside = [], []
    for row, label in zip(asked.x, asked.y, strict=True):
        had = [bool((model.x == row).all(axis=1).any()) for model in fits.models]
        assert sum(had) == 4  # exactly half of them
        logits = [logit(model, row, label, 0.01) for model in fits.models]
        inside.append([v for v, h in zip(logits, had, strict=True) if h])
        outside.append([v for v, h in zip(logits, had, strict=True) if not h])
    deviation_in, deviation_out = deviations(inside, pooled, 0.1), deviations(outside, pooled, 0.1)
    for k, (row, label) in enumerate(zip(asked.x, asked.y, strict=True)):
        value = logit(target, row, label, 0.01)
        laws = NormalDist(fmean(inside[k]), deviation_in[k]), NormalDist(fmean(outside[k]), deviation_out[k])
        z = [(value - law.mean) / law.stdev for law in laws]
        ratio = (-(z[0] ** 2) / 2 - math.log(laws[0].stdev)) - (-(z[1] ** 2) / 2 - math.log(laws[1].stdev))
        assert found[k] == pytest.approx(ratio, abs=1e-9)
        if max(map(abs, z)) < 30:
            assert found[k] == pytest.approx(math.log(laws[0].pdf(value) / laws[1].pdf(value)), abs=1e-9)


def test_offline_is_the_standardised_logit_and_its_models_have_only_rows_of_the_sample():
    fits, asked, own = Fits(), rows(10, 1), rows(60, 2)
    target = Near(asked.x[:5], asked.y[:5])
    attack = LikelihoodRatio(population(own), fits, 30, shadows=5, online=False, clip=0.01, pooled=False, level=0.1)
    trained = attack.train(target, KNOWN, 5)
    found = trained.scores(target, asked.x, asked.y)
    assert attack.name == "lira (offline)"
    assert len(fits.models) == len(set(fits.seeds)) == 5
    assert all({tuple(r) for r in model.x.tolist()} <= {tuple(r) for r in own.x.tolist()} for model in fits.models)
    for k, (row, label) in enumerate(zip(asked.x, asked.y, strict=True)):
        logits = [logit(model, row, label, 0.01) for model in fits.models]
        (deviation,) = deviations([logits], False, 0.1)
        assert found[k] == pytest.approx((logit(target, row, label, 0.01) - fmean(logits)) / deviation, abs=1e-9)
    assert trained.threshold == pytest.approx(NormalDist().inv_cdf(0.9))


def test_many_rows_come_in_batches_and_equal_rows_score_equal():
    fits, asked = Fits(), rows(50, 1)
    target = Near(asked.x[:10], asked.y[:10])
    attack = LikelihoodRatio(population(rows(80, 2)), fits, 10, shadows=4)
    x, y = np.vstack([asked.x, asked.x[:6]]), np.concatenate([asked.y, asked.y[:6]])
    found = attack.train(target, KNOWN, 0).scores(target, x, y)
    assert len(fits.models) == 4 * 3  # 50 distinct rows, 20 at once
    assert (found[50:] == found[:6]).all()
    again = attack.train(target, KNOWN, 0).scores(target, x, y)
    assert (found == again).all()
    assert (found != attack.train(target, KNOWN, 1).scores(target, x, y)).any()
    assert attack.train(target, KNOWN, 0).scores(target, x[:0], y[:0]).shape == (0,)


def test_bare_labels_give_finite_scores():
    class Label(Near):
        def predict_proba(self, X):
            return np.eye(2)[super().predict_proba(X).argmax(axis=1)]

    asked = rows(30, 1)
    attack = LikelihoodRatio(population(rows(80, 2)), lambda x, y, seed: Label(x, y), 30, shadows=4)
    target = Label(asked.x[:15], asked.y[:15])
    assert np.isfinite(attack.train(target, KNOWN, 0).scores(target, asked.x, asked.y)).all()


def test_one_class_only_is_refused_by_name():
    one = Records(np.zeros((9, 2)), np.ones(9, dtype=np.int64), NUMBERS, (0, 1))
    attack = LikelihoodRatio(population(one), lambda x, y, seed: Near(x, y), 5, online=False)
    with pytest.raises(ReleaseError, match="5 rows of one class only: class 1"):
        attack.train(Near(one.x, one.y), KNOWN, 0)
    lone = Near(one.x, one.y)
    lone.classes_ = np.array([1])
    assert "class 1 only" in attack.refuses(lone, KNOWN)
    assert attack.refuses(Near(one.x, one.y), KNOWN) is None


@pytest.mark.parametrize("wrong", [{"shadows": 3}, {"shadows": 0}, {"size": 1}, {"clip": 0.5}, {"floor": 0.0},
                                   {"level": 1.0}])  # fmt: skip
def test_settings_that_make_no_attack_are_refused(wrong):
    with pytest.raises(ReleaseError, match="LiRA needs"):
        LikelihoodRatio(**({"sample": population(rows(9, 1)), "fit": Fits(), "size": 9} | wrong))


def test_time_that_is_up_ends_it():
    asked = rows(10, 1)
    target = Near(asked.x, asked.y)
    for online in (True, False):
        attack = LikelihoodRatio(population(rows(20, 2)), Fits(), 10, online=online)
        with pytest.raises(Inconclusive, match="shadow models were trained"):
            attack.train(target, KNOWN, 0, Limits(seconds=0.0)).scores(target, asked.x, asked.y)
