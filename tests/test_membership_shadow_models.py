"""Shokri's attack: what its attack models learn, classes with too little, a second implementation, refusals."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon.attacks.membership import attacks as shadow_models
from recon.attacks.membership.attacks import ShadowModels, _balanced, _forest, _half
from recon.attacks.membership.shadow_data import Knowledge, knowledge
from recon.queries.inputs import RecordColumns
from solvers.foundation.errors import Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits

pytest.importorskip("sklearn")

NUMBERS = RecordColumns(tuple("abcd"), (True,) * 4)


class Always:
    """Gives every row the same shares."""

    def __init__(self, *shares):
        self.classes_, self.shares = np.arange(len(shares)), shares

    def predict_proba(self, X):
        return np.tile(self.shares, (len(X), 1))


def rows(n, seed):
    """Return rows whose label a model can only learn by heart, for the most part."""
    rng = np.random.default_rng(seed)
    x = rng.random((n, 4))
    return x, (x[:, 0] + rng.normal(0, 0.5, n) > 0.5).astype(np.int64)


def overfitted(x, y, trees=40):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, random_state=0).fit(x, y)


def known(size=600, kind="noise", classes=2, seed=11):
    return knowledge(kind, NUMBERS, classes, size, np.random.default_rng(seed), rows(900, seed)[0])


def auc(scores, member):
    """Return how often a member scores above another row, ties half."""
    inside, outside = scores[member][:, None], scores[~member][None]
    return (inside > outside).mean() + (inside == outside).mean() / 2


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, 99))
def test_undersampling_keeps_as_many_members_as_others(member, seed):
    member = np.array(member)
    kept = _balanced(np.arange(len(member)), member, np.random.default_rng(seed))
    assert len(np.unique(kept)) == len(kept) == 2 * min(member.sum(), (~member).sum())
    assert 2 * member[kept].sum() == len(kept)
    inside = _half(len(member), np.random.default_rng(seed))
    assert inside.sum() == len(member) // 2


def test_attack_models_learn_members_shares_per_class():
    """Members of class 0 are answered with .9, of class 1 with .6: the opposite of what the other rows are."""
    rng = np.random.default_rng(0)
    member = rng.random(2000) < 0.7
    belongs = rng.integers(0, 2, 2000)
    sure = np.where(member == (belongs == 0), 0.9, 0.6)
    shares = np.where((belongs == 0)[:, None], np.column_stack([sure, 1 - sure]), np.column_stack([1 - sure, sure]))
    trained = ShadowModels().taught(shares, belongs, member, rng, None)
    assert trained.few == ()
    for p0, called in ((0.9, True), (0.6, False), (0.4, True), (0.1, False)):
        said = trained.scores(Always(p0, 1 - p0), np.zeros((3, 4)), np.zeros(3, dtype=np.int64))
        assert ((said > trained.threshold) == called).all()
    assert trained.scores(Always(0.9, 0.1), np.zeros((1, 4)), np.zeros(1, dtype=np.int64))[0] > 0.95


def test_a_class_with_few_rows_uses_the_forest_of_all():
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.5
    belongs = np.where(np.arange(400) < 6, 2, np.arange(400) % 2)  # class 2: six rows, class 3: none
    shares = np.eye(4)[belongs] * 0.6 + np.where(member, 0.1, 0.05)[:, None]
    trained = ShadowModels(trees=5, attack_trees=5).taught(shares, belongs, member, rng, None)
    assert trained.few == (2, 3)
    assert trained.models[2] is trained.models[3]
    assert trained.models[2] is not trained.models[0]


def test_classes_that_a_shadow_model_never_saw():
    """Class 2 is so rare that most shadow halves have none of it; the attack works all the same."""

    class Rare:
        classes_ = np.array([0, 1, 2])

        def predict_proba(self, X):
            rare = X[:, 1] > np.sort(X[:, 1])[-3] - 1e-12 if len(X) > 99 else np.zeros(len(X), dtype=bool)
            one = np.where(rare, 0.0, 0.3 + 0.4 * (X[:, 0] > 0.5))
            return np.column_stack([1 - one - rare, one, rare.astype(float)])

    trained = ShadowModels(shadows=3, trees=5, attack_trees=5).train(Rare(), known(100, classes=3), 0)
    assert trained.few == (2,)
    scores = trained.scores(Rare(), rows(150, 2)[0], np.zeros(150, dtype=np.int64))
    assert ((scores >= 0) & (scores <= 1)).all()
    rare = Always(0.1, 0.2, 0.7)
    assert np.isfinite(trained.scores(rare, np.zeros((2, 4)), np.array([2, 2]))).all()


@pytest.mark.slow
@pytest.mark.parametrize("by", ["predicted", "true"])
def test_it_agrees_with_a_second_implementation_that_shares_no_code(by):
    """Shokri's attack with histograms instead of forests as attack models ranks rows alike, and finds as much."""
    from scipy.stats import spearmanr

    x, y = rows(1000, 1)
    member = np.arange(1000) < 500
    target, data = overfitted(x[:500], y[:500]), known(800)
    ours = ShadowModels(by=by).train(target, data, 0).scores(target, x, y)

    labels, counts = target.predict(data.x), np.ones((2, 2, 21))
    rng = np.random.default_rng(77)
    for _ in range(6):
        order = rng.permutation(800)
        shadow = overfitted(data.x[order[:400]], labels[order[:400]])
        shares = shadow.predict_proba(data.x)[:, 1]
        for place, row in enumerate(order):
            group = labels[row] if by == "true" else int(shares[row] > 0.5)
            counts[group, int(place < 400), round(20 * shares[row])] += 1
    counts /= counts.sum(axis=2, keepdims=True)
    likely = counts[:, 1] / counts.sum(axis=1)
    shares = target.predict_proba(x)[:, 1]
    groups = y if by == "true" else (shares > 0.5).astype(int)
    theirs = np.array([likely[g, round(20 * p)] for g, p in zip(groups, shares, strict=True)])
    assert spearmanr(ours, theirs).statistic > 0.85
    assert auc(ours, member) == pytest.approx(auc(theirs, member), abs=0.03)
    assert auc(ours, member) > 0.6


def test_shadow_models_learn_the_target_s_labels_of_their_half(monkeypatch):
    target, data, taught = overfitted(*rows(300, 1)), known(100), []

    def remembered(x, y, trees, rng, leaf=1):
        taught.append((x, y, trees))
        return _forest(x, y, trees, rng, leaf)

    monkeypatch.setattr(shadow_models, "_forest", remembered)
    ShadowModels(shadows=3, trees=7, attack_trees=5).train(target, data, 0)
    halves = [(x, y) for x, y, trees in taught if trees == 7]
    assert len(halves) == 3
    for x, y in halves:
        assert (y == target.predict(x)).all()
        assert len({tuple(row) for row in x.tolist()} & {tuple(row) for row in data.x.tolist()}) == len(x) == 50
    assert (halves[0][0] != halves[1][0]).any()


def test_one_class_and_bare_labels_are_refused_by_name():
    data = known()
    always = Always(0.3, 0.7)
    assert "class 1 for all 600 rows" in ShadowModels().refuses(always, data)
    with pytest.raises(ReleaseError, match="class 1 for all 600 rows of the shadow data 'noise'"):
        ShadowModels().train(always, data, 0)
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(random_state=0).fit(*rows(500, 1))
    assert "no probabilities" in ShadowModels().refuses(tree, data)
    assert ShadowModels(by="true").refuses(tree, data) is None
    assert ShadowModels().refuses(overfitted(*rows(500, 1)), data) is None


def test_names_say_whose_class_and_settings_are_checked():
    assert ShadowModels().name == "mia"
    assert ShadowModels(by="true").name == "mia (true class)"
    with pytest.raises(ReleaseError, match="one of each at least"):
        ShadowModels(shadows=0)
    with pytest.raises(ReleaseError, match="not 'both'"):
        ShadowModels(by="both")


def test_time_that_is_up_ends_it_and_without_scikit_learn_it_is_refused(monkeypatch):
    target, data = overfitted(*rows(300, 1)), known(100)
    with pytest.raises(Inconclusive, match="shadow models were trained"):
        ShadowModels().train(target, data, 0, Limits(seconds=0.0))
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(Unsupported, match="pip install"):
        ShadowModels().train(target, data, 0)


def test_equal_rows_score_equal_and_a_constant_black_box_gives_one_score_per_class():
    target, data = overfitted(*rows(300, 1)), Knowledge("noise", rows(200, 5)[0], NUMBERS, 2)
    trained = ShadowModels(trees=10).train(target, data, 0)
    x = rows(50, 3)[0]
    scores = trained.scores(target, np.vstack([x, x]), np.zeros(100, dtype=np.int64))
    assert (scores[:50] == scores[50:]).all()
    assert len(np.unique(trained.scores(Always(0.2, 0.8), x, np.zeros(50, dtype=np.int64)))) == 1
    assert len(trained.scores(target, x[:0], np.zeros(0, dtype=np.int64))) == 0
