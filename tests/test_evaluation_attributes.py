"""Attribute inference: what a model gives away of a column beyond what the other columns say by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.tree import DecisionTreeClassifier

from recon.attacks.attribute_guesses import (
    AGREEMENT,
    BOTH,
    IMPUTED,
    MOST_FREQUENT,
    _agreement,
    _confusion_of,
    _numbered,
    attribute_inference,
)
from recon.queries.inputs import RecordColumns, Records
from solvers.foundation.errors import ReleaseError


def records(rng, rows, label):
    """Return rows of a number and four bits, the last two a one-hot group; `label` makes the label of them."""
    bit = rng.integers(0, 2, (rows, 3))
    x = np.column_stack([rng.normal(size=rows), bit, 1 - bit[:, 2]]).astype(float)
    columns = RecordColumns(("n", "a", "s", "g1", "g2"), (True, False, False, False, False), ((3, 4),))
    return Records(x, label(x, rng), columns, (0, 1))


def of(x, y):
    return DecisionTreeClassifier(random_state=0).fit(x, y)


def noisy_bit(x, rng):
    """The label is the sensitive bit, of one in five rows the other one."""
    return np.where(rng.random(len(x)) < 0.8, x[:, 2], 1 - x[:, 2]).astype(np.int64)


@pytest.fixture(scope="module")
def overfitted():
    """Return training rows, others, rows that the attacker has, and a tree that knows the training rows by heart."""
    rng = np.random.default_rng(0)
    train, others, known = (records(rng, n, noisy_bit) for n in (400, 400, 600))
    rows = Records(np.vstack([train.x, others.x]), np.concatenate([train.y, others.y]), train.columns, (0, 1))
    return of(train.x, train.y), rows, np.arange(800) < 400, known


@pytest.mark.slow
def test_a_model_that_overfits_gives_away_training_rows_only(overfitted):
    target, rows, member, known = overfitted
    found = {one.way: one for one in attribute_inference(target, rows, member, [2], known, 0)}
    assert tuple(found) == (MOST_FREQUENT, IMPUTED, AGREEMENT, BOTH)
    assert found[AGREEMENT].members > found[IMPUTED].members + 0.02  # the bit that the tree was given agrees
    assert found[AGREEMENT].gain_low > found[AGREEMENT].others - found[IMPUTED].others  # outside it gains nothing
    assert found[AGREEMENT].advantage > 0.02
    assert abs(found[IMPUTED].advantage) < 0.06  # nothing of the model in it
    assert found[IMPUTED].gain == 0
    for one in found.values():
        assert one.members_low <= one.members <= one.members_high
        assert one.others_low <= one.others <= one.others_high


def test_a_constant_model_adds_nothing(overfitted):
    _, rows, member, known = overfitted
    constant = of(np.zeros((4, 5)), [1, 1, 1, 1])
    found = {one.way: one for one in attribute_inference(constant, rows, member, [2], known, 0)}
    assert found[AGREEMENT].members == found[MOST_FREQUENT].members
    assert found[AGREEMENT].others == found[MOST_FREQUENT].others
    assert found[BOTH].gain == pytest.approx(0, abs=0.03)


def test_a_one_hot_group_is_guessed_as_one_column(overfitted):
    target, rows, member, known = overfitted
    found = {one.way: one for one in attribute_inference(target, rows, member, [3, 4], known, 1)}
    assert found[IMPUTED].others == pytest.approx(0.5, abs=0.1)


def test_the_agreement_is_that_by_hand(overfitted):
    target, rows, _, known = overfitted
    some = rows.take(np.arange(30))
    confusion = _confusion_of(target, known, 2)
    counts = confusion_matrix(known.y, target.predict(known.x)).T + 1
    assert confusion == pytest.approx(counts / counts.sum(axis=1, keepdims=True))
    found = _agreement(target, some, [2], np.array([[0.0], [1.0]]), confusion)
    for i in range(len(some)):
        for v in (0, 1):
            x = some.x[i].copy()
            x[2] = v
            assert found[i, v] == confusion[target.predict([x])[0], some.y[i]]


def test_what_cannot_be_guessed_is_refused(overfitted):
    target, rows, member, known = overfitted
    alike = Records(known.x.copy(), known.y, known.columns, known.classes)
    alike.x[:, 2] = 1
    with pytest.raises(ReleaseError, match="column s has one value only"):
        attribute_inference(target, rows, member, [2], alike, 0)
    with pytest.raises(ReleaseError, match=r"row 1 has \[3\.0\] in the column to be guessed"):
        _numbered(np.array([[0.0], [3.0]]), np.array([[0.0], [1.0]]))
    with pytest.raises(ReleaseError, match="one of both is missing"):
        attribute_inference(target, rows, np.ones(800, dtype=bool), [2], known, 0)
