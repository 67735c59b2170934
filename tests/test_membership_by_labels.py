"""Attacks by labels alone: robustness against exact values, thresholds against brute force, degeneration shown."""

from __future__ import annotations

import math
from itertools import pairwise, product
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon.attacks.membership.attacks import (
    Agnostic,
    LabelOnly,
    Perturbations,
    _best_threshold,
    _of_bits,
    _of_numbers,
    _robustness,
)
from recon.attacks.membership.shadow_data import knowledge
from recon.queries.inputs import RecordColumns, predicted
from solvers.foundation.errors import ReleaseError

TWO_BITS = RecordColumns(("a", "b"), (False, False))
TWO_NUMBERS = RecordColumns(("p", "q"), (True, True))
K = 20_000


class Formula:
    """A black box by a formula for class 1; counts the rows that it is asked about."""

    def __init__(self, formula):
        self.classes_, self.formula, self.asked = np.array([0, 1]), formula, 0

    def predict_proba(self, X):
        self.asked += len(X)
        one = np.asarray(self.formula(X)).astype(float)
        return np.column_stack([1 - one, one])


BOTH = Formula(lambda x: (x[:, 0] > 0.5) & (x[:, 1] > 0.5))


def near(found, exact, n=K):
    return abs(found - exact) <= 4.5 * math.sqrt(max(exact * (1 - exact), 1 / n) / n)


def exact_flips(formula, row, p):
    """Return the share of flips of a row, by enumeration, that leave the label."""
    label, total = formula(np.array([row], dtype=float))[0], 0.0
    for flips in product((0, 1), repeat=len(row)):
        turned = np.array([[bit ^ flip for bit, flip in zip(row, flips, strict=True)]], dtype=float)
        chance = math.prod(p if flip else 1 - p for flip in flips)
        total += chance * bool(formula(turned)[0] == label)
    return total


def exact_moves(x, threshold, low, high):
    """Return the chance that x · (1 ± u) stays on its side of a threshold, by a fine grid of u."""
    u = np.linspace(low, high, 200_001)
    stays = [((x * (1 + sign * u) > threshold) == (x > threshold)).mean() for sign in (-1, 1)]
    return sum(stays) / 2


@pytest.mark.parametrize("p", [0.1, 0.6])
@pytest.mark.parametrize("attack", [LabelOnly, lambda **more: Agnostic(additive=True, **more)])
def test_robustness_of_bits_is_the_enumerated_share(p, attack):
    known = knowledge("random", TWO_BITS, 2, 40, np.random.default_rng(0))
    draws = attack(flips=p).draws(known, K, np.random.default_rng(1))
    rows = np.array(list(product((0, 1), repeat=2)), dtype=float)
    found = _robustness(BOTH, draws, rows, predicted(BOTH, rows, 2), 2)
    exact = [exact_flips(BOTH.formula, row.astype(int), p) for row in rows]
    assert all(map(near, found, exact))
    assert near(found[-1], (1 - p) ** 2)
    assert near(found[0], 1 - p * p)


def test_a_one_hot_group_turns_to_each_other_value_alike_and_stays_one_hot():
    columns = RecordColumns(("r", "g", "b", "x"), (False,) * 4, ((0, 1, 2),))
    known = knowledge("random", columns, 2, 40, np.random.default_rng(0))
    draws = LabelOnly(flips=0.3).draws(known, K, np.random.default_rng(1))
    turned = draws.of(np.array([[0.0, 1.0, 0.0, 1.0]]))
    assert (turned[:, :3].sum(axis=1) == 1).all()
    assert near(turned[:, 0].mean(), 0.15)
    assert near(turned[:, 1].mean(), 0.7)
    assert near(turned[:, 3].mean(), 0.7)
    green = Formula(lambda x: x[:, 1] > 0.5)
    assert near(_robustness(green, draws, np.array([[0.0, 1, 0, 1]]), np.array([1]), 2)[0], 0.7)
    assert near(_robustness(green, draws, np.array([[1.0, 0, 0, 0]]), np.array([0]), 2)[0], 0.85)


@pytest.mark.parametrize("value", [0.2, 0.45, 0.9])
def test_robustness_of_numbers_is_that_of_the_normal_and_of_the_moved_value(value):
    known = knowledge("random", TWO_NUMBERS, 2, 400, np.random.default_rng(0))
    above = Formula(lambda x: x[:, 0] > 0.5)
    row = np.array([[value, 0.3]])
    label = predicted(above, row, 2)
    draws = LabelOnly(noise=0.7).draws(known, K, np.random.default_rng(1))
    stays = NormalDist().cdf(abs(value - 0.5) / (0.7 * known.x[:, 0].std()))
    assert near(_robustness(above, draws, row, label, 2)[0], stays)
    moved = Agnostic().draws(known, K, np.random.default_rng(2))
    assert near(_robustness(above, moved, row, label, 2)[0], exact_moves(value, 0.5, 0.1, 0.5))


def test_a_wrong_label_scores_0_equal_rows_alike_and_whatever_is_asked_beside():
    known = knowledge("random", TWO_NUMBERS, 2, 400, np.random.default_rng(0))
    above = Formula(lambda x: x[:, 0] > 0.5)
    trained = LabelOnly(perturbations=50, trees=5).train(above, known, 0)
    x = np.random.default_rng(9).random((60, 2))
    x[30:] = x[:30]
    y = np.concatenate([predicted(above, x[:30], 2), 1 - predicted(above, x[:30], 2)])
    scores = trained.scores(above, x, y)
    assert (scores[30:] == 0).all()
    assert (scores[:30] > 0).all()
    assert (trained.scores(above, x[7:9], y[7:9]) == scores[7:9]).all()
    same = trained.scores(above, np.vstack([x[:30], x[:30]]), np.concatenate([y[:30], y[:30]]))
    assert (same[:30] == same[30:]).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(1, 9), st.sampled_from([1, 3, 8, 63, 64, 65, 130]), st.integers(1, 12))
def test_packed_bits_give_the_labels_of_unpacked_ones(seed, rows, width, count):
    rng = np.random.default_rng(seed)
    columns = RecordColumns(tuple(f"b{j}" for j in range(width)), (False,) * width, ((0, 1, 2),) if width > 2 else ())
    known = knowledge("random", columns, 2, 10, rng)
    draws = LabelOnly(flips=0.4).draws(known, count, rng)
    weights = rng.normal(size=width)
    box = Formula(lambda x: x @ weights > 0)
    x = rng.integers(0, 2, (rows, width)).astype(float)
    packed, plain = _of_bits(box, draws, x, 2, 2, None), _of_numbers(box, draws, x, 2, 3, None)
    by_hand = [[predicted(box, turned[None], 2)[0] for turned in draws.of(row[None])] for row in x]
    assert (packed == plain).all()
    assert (packed == by_hand).all()


def test_each_distinct_row_of_bits_is_asked_about_once_and_the_target_is_who_is_asked():
    known = knowledge("random", TWO_BITS, 2, 100, np.random.default_rng(0))
    box = Formula(BOTH.formula)
    x = np.random.default_rng(1).integers(0, 2, (500, 2)).astype(float)
    trained = LabelOnly(perturbations=300, trees=5).train(box, known, 0)
    assert box.asked == 200  # who is in one class, and the labels: the shadow model answers the perturbed rows
    trained.scores(box, x, predicted(BOTH, x, 2))
    assert box.asked == 200 + 500 + 4


def test_the_threshold_may_come_from_the_target_where_both_models_agree():
    known = knowledge("random", TWO_NUMBERS, 2, 200, np.random.default_rng(0))
    box = Formula(lambda x: x[:, 0] > 0.5)
    attack = LabelOnly(perturbations=40, trees=3, asked="target")
    trained = attack.train(box, known, 3)
    assert box.asked > 200 * 40 / 2
    assert -1 <= trained.threshold <= 1
    assert trained.threshold == attack.train(box, known, 3).threshold


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=12))
def test_the_threshold_is_the_lowest_of_the_most_accurate(rows):
    scores, member = np.array([s / 4 for s, _ in rows]), np.array([m for _, m in rows])
    found = _best_threshold(scores, member)
    values = sorted(set(scores.tolist()))
    cuts = [values[0] - 1, *((a + b) / 2 for a, b in pairwise(values)), values[-1]]
    right = [sum((s > cut) == m for s, m in zip(scores, member, strict=True)) for cut in cuts]
    assert found == cuts[right.index(max(right))]


def test_aloa_degenerates_on_a_tree_of_bits_and_says_so():
    sklearn = pytest.importorskip("sklearn.tree")
    rng = np.random.default_rng(0)
    columns = RecordColumns(tuple("abcdef"), (False,) * 6, ((0, 1, 2),))
    known = knowledge("random", columns, 2, 300, rng)
    x = knowledge("random", columns, 2, 400, rng).x
    y = ((x[:, 0] + x[:, 3] > 0) ^ (rng.random(400) < 0.2)).astype(np.int64)
    tree = sklearn.DecisionTreeClassifier(random_state=0).fit(x, y)
    trained = Agnostic(perturbations=200, trees=5).train(tree, known, 0)
    assert (trained.scores(tree, x, y) == (tree.predict(x) == y)).all()  # right 1, wrong 0: nothing else
    assert "no continuous columns" in Agnostic().refuses(tree, known)
    additive = Agnostic(additive=True, perturbations=200, trees=5)
    assert additive.name == "aloa (additive)"
    assert additive.refuses(tree, known) is None
    assert len(np.unique(additive.train(tree, known, 0).scores(tree, x, y))) > 2


def test_degeneration_on_mixed_columns_is_measured():
    columns = RecordColumns(("bit", "number"), (False, True))
    known = knowledge("random", columns, 2, 100, np.random.default_rng(0))
    by_bit, by_number = Formula(lambda x: x[:, 0] > 0.5), Formula(lambda x: x[:, 1] > 0.5)
    assert "none of 100 shadow rows" in Agnostic().refuses(by_bit, known)
    assert Agnostic().refuses(by_number, known) is None
    assert LabelOnly().refuses(by_bit, known) is None
    assert "none of 100 shadow rows" in LabelOnly(flips=0.0).refuses(by_bit, known)
    everyone = Formula(lambda x: x[:, 1] > -9)
    assert "class 1 for all 100 rows" in LabelOnly().refuses(everyone, known)
    for attack in (LabelOnly(), Agnostic()):
        with pytest.raises(ReleaseError, match="class 1 for all 100 rows"):
            attack.train(everyone, known, 0)


def test_a_constant_column_gets_no_noise():
    rows = np.column_stack([np.random.default_rng(0).random(60), np.full(60, 0.1)])
    known = knowledge("noise", TWO_NUMBERS, 2, 50, np.random.default_rng(1), rows)
    draws = LabelOnly().draws(known, 100, np.random.default_rng(2))
    assert (draws.added[:, 1] == 0).all()
    assert (draws.added[:, 0] != 0).all()


def test_draws_by_hand():
    draws = Perturbations(
        np.array([[2.0, 1.0]]), np.array([[1.0, 0.0]]), np.array([[False, True]]), np.zeros((1, 0), int)
    )
    assert draws.of(np.array([[3.0, 0.0], [5.0, 1.0]])).tolist() == [[7.0, 1.0], [11.0, 0.0]]


@pytest.mark.parametrize("wrong", [{"perturbations": 0}, {"flips": 1.2}, {"flips": float("nan")}, {"trees": 0},
                                   {"sample": 1}, {"noise": -1.0}, {"asked": "nobody"}])  # fmt: skip
def test_settings_that_make_no_attack_are_refused(wrong):
    with pytest.raises(ReleaseError):
        LabelOnly(**wrong)
    if not wrong.keys() & {"noise", "asked"}:
        with pytest.raises(ReleaseError):
            Agnostic(**wrong)


def test_aloa_moves_by_shares_in_order():
    with pytest.raises(ReleaseError, match=r"not by 0.5, 0.1"):
        Agnostic(low=0.5, high=0.1)
