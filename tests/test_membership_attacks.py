"""All membership attacks alike: they find members of what is learnt by heart, and nobody where nothing leaks."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from recon.attacks.membership.attacks import ATTACKS, CHEAP, attack, attacked, reservation
from recon.attacks.membership.shadow_data import knowledge, population
from recon.queries.inputs import RecordColumns, Records
from solvers.foundation.errors import ReleaseError, Unsupported

pytest.importorskip("sklearn")

D, N = 4, 1000  # columns, rows asked about: the first half are members
NUMBERS = RecordColumns(tuple(f"c{j}" for j in range(D)), (True,) * D)
MEMBER = np.arange(N) < N // 2
NOISE = math.sqrt((N + 1) / (12 * (N / 2) ** 2))  # deviation of the AUC of scores that know nothing (Mann-Whitney)


def rows(n, seed):
    """Return rows that a model can only learn by heart, for the most part."""
    rng = np.random.default_rng(1000 + seed)
    x = rng.random((n, D))
    return Records(x, (x[:, 0] + rng.normal(0, 0.5, n) > 0.5).astype(np.int64), NUMBERS, (0, 1))


def fit(model):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    made = {
        "forest": lambda seed: RandomForestClassifier(20, random_state=seed),
        "tree": lambda seed: DecisionTreeClassifier(random_state=seed),
        "nearest row": lambda seed: KNeighborsClassifier(1),
    }[model]
    return lambda x, y, seed: made(seed).fit(x, y)


@cache
def asked():
    return rows(N, 1)


@cache
def target(model, seed=None):
    """Return a model of the members, or of other rows by a seed."""
    taught = asked().take(MEMBER) if seed is None else rows(N // 2, seed)
    return fit(model)(taught.x, taught.y, 0)


@cache
def known(kind):
    return knowledge(kind, NUMBERS, 2, 700, np.random.default_rng(99), rows(900, 2).x)


def made(name, model="forest"):
    by_labels = {"perturbations": 60, "trees": 20, "sample": 400}
    settings = {
        "mia": {"shadows": 4, "trees": 20, "attack_trees": 20, "by": "predicted" if model == "forest" else "true"},
        "label-only": {**by_labels, "noise": 0.1},
        "aloa": {**by_labels, "low": 0.01, "high": 0.1},
        "lira": {"sample": population(rows(800, 3)), "fit": fit(model), "size": N // 2, "shadows": 6},
    }
    return attack(name, **settings[name])


def auc(scores, member):
    """Return how often a member scores above another row, ties half."""
    inside, outside = scores[member][:, None], scores[~member][None]
    return (inside > outside).mean() + (inside == outside).mean() / 2


class Always:
    """Gives every row the same shares."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.tile([0.4, 0.6], (len(X), 1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", list(ATTACKS))
@pytest.mark.parametrize("model", ["forest", "tree", "nearest row"])
def test_members_of_what_is_learnt_by_heart_are_found(name, model):
    found = attacked(made(name, model), target(model), known("noise"), asked().x, asked().y, 7)
    assert found.attack.startswith(name)
    assert auc(found.scores, MEMBER) > 0.5 + 4 * NOISE
    assert found.members[MEMBER].mean() > found.members[~MEMBER].mean()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", list(ATTACKS))
@pytest.mark.parametrize("model", ["forest", "tree"])
def test_a_model_of_other_rows_and_a_constant_one_give_nothing_away(name, model):
    x, y = asked().x, asked().y
    other = target(model, seed=5)
    found = attacked(made(name, model), other, known("noise"), x, y, 7)
    assert abs(auc(found.scores, MEMBER) - 0.5) < 4 * NOISE
    trained = made(name, model).train(target(model), known("noise"), 7)
    assert abs(auc(trained.scores(Always(), x, y), MEMBER) - 0.5) < 4 * NOISE


@pytest.mark.parametrize("name", ["mia", "label-only", "aloa"])
def test_a_constant_black_box_is_refused_and_not_reported_as_chance(name):
    with pytest.raises(Unsupported, match=f"the attack '{name}' does not apply: the black box names class 1 for all"):
        attacked(made(name), Always(), known("noise"), asked().x, asked().y, 0)


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    ("name", "kind"), [("mia", "random"), ("label-only", "statistical"), ("aloa", "random"), ("lira", "random")]
)
def test_the_seed_decides_everything(name, kind):
    x, y = asked().x[480:520], asked().y[480:520]
    first, again = (made(name).train(target("forest"), known(kind), 3) for _ in range(2))
    assert (first.scores(target("forest"), x, y) == again.scores(target("forest"), x, y)).all()
    assert first.threshold == again.threshold
    other = made(name).train(target("forest"), known(kind), 4).scores(target("forest"), x, y)
    assert (other != first.scores(target("forest"), x, y)).any()


@pytest.mark.parametrize("name", list(CHEAP))
def test_cheap_settings_make_an_attack(name):
    found = attacked(attack(name, **CHEAP[name]), target("forest"), known("noise"), asked().x, asked().y, 0)
    assert found.scores.shape == found.members.shape == (N,)
    assert found.note == ""


def test_scores_that_only_tell_right_from_wrong_carry_a_note():
    assert "scores 1:" in reservation(np.array([1.0, 0.0, 1.0]))
    assert "scores 0.5:" in reservation(np.array([0.5, 0.5]))
    assert reservation(np.array([1.0, 0.0, 0.9])) == ""
    assert reservation(np.array([-1.0, 2.0])) == ""


def test_what_degenerates_can_be_run_to_show_it_but_says_why_it_means_nothing():
    x, y, tree = asked().x, asked().y, target("tree")
    found = attacked(attack("mia", trees=5), tree, known("noise"), x, y, 0, anyway=True)
    assert "no probabilities" in found.note
    assert len(np.unique(found.scores)) <= 2  # one per predicted class
    with pytest.raises(ReleaseError, match="class 1 for all"):
        attacked(attack("mia"), Always(), known("noise"), x, y, 0, anyway=True)


def test_unknown_attacks_settings_and_no_rows_are_refused_by_name():
    with pytest.raises(ReleaseError, match="no membership attack 'art'; there are mia, label-only, aloa, lira"):
        attack("art")
    with pytest.raises(ReleaseError, match=r"'mia' does not take these settings: .*queries"):
        attack("mia", queries=3)
    with pytest.raises(ReleaseError, match=r"'lira' does not take these settings: .*sample"):
        attack("lira")
    with pytest.raises(ReleaseError, match="no rows"):
        attacked(made("mia"), target("forest"), known("noise"), asked().x[:0], asked().y[:0], 0)
