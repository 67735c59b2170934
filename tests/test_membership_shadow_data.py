"""Shadow data against what their definitions say: shares, frequencies, one-hot groups, refusals by name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon.attacks.membership.shadow_data import constant_columns, knowledge, labelled, one_class
from recon.queries.inputs import RecordColumns
from solvers.foundation.errors import ReleaseError

MIXED = RecordColumns(("a", "b", "red", "green", "blue", "age", "pay"), (False,) * 5 + (True,) * 2, ((2, 3, 4),))


class Rule:
    """Names class 1 where a column is above a threshold."""

    def __init__(self, column, above):
        self.classes_, self.column, self.above = np.array([0, 1]), column, above

    def predict_proba(self, X):
        one = (X[:, self.column] > self.above).astype(float)
        return np.column_stack([1 - one, one])


def mixed_rows(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.random(n) < 0.3
    hue = np.eye(3)[rng.choice(3, n, p=[0.6, 0.3, 0.1])]
    return np.column_stack([a, a, hue, rng.normal(40, 9, n), rng.exponential(1e4, n)]).astype(float)


def within(found, share, n):
    """Return whether a frequency is within 4.5 standard deviations of a probability."""
    return abs(found - share) <= 4.5 * math.sqrt(share * (1 - share) / n)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(["random", "statistical", "noise"]), st.integers(4, 60), st.floats(0, 1))
def test_shadow_rows_have_the_shape_one_hot_groups_and_values_of_the_columns(seed, kind, size, share):
    rows = mixed_rows(60, seed % 7)
    before = rows.copy()
    x = knowledge(kind, MIXED, 2, size, np.random.default_rng(seed), rows, share=share).x
    assert x.shape == (size, 7)
    assert (rows == before).all()
    assert np.isin(x[:, :5], (0.0, 1.0)).all()
    assert (x[:, 2:5].sum(axis=1) == 1).all()
    if kind == "random":
        assert ((x[:, 5:] >= 0) & (x[:, 5:] <= 1)).all()
    else:
        assert all(np.isin(x[:, j], rows[:, j]).all() for j in range(7))
    assert (x == knowledge(kind, MIXED, 2, size, np.random.default_rng(seed), rows, share=share).x).all()


def test_random_data_are_fair_coins_even_groups_and_uniform_numbers():
    n = 20_000
    low, high = np.array([0, 0, 0, 0, 0, 17, 0.0]), np.array([1, 1, 1, 1, 1, 90, 1e5])
    x = knowledge("random", MIXED, 2, n, np.random.default_rng(3), ranges=(low, high)).x
    assert all(within(x[:, j].mean(), 0.5, n) for j in (0, 1))
    assert all(within(x[:, j].mean(), 1 / 3, n) for j in (2, 3, 4))
    assert within((x[:, 0] == x[:, 1]).mean(), 0.5, n)
    for j in (5, 6):
        assert low[j] <= x[:, j].min() < x[:, j].max() <= high[j]
        assert all(within((x[:, j] < low[j] + q * (high[j] - low[j])).mean(), q, n) for q in (0.1, 0.5, 0.8))


def test_statistical_data_keep_each_column_s_frequencies_and_no_dependence():
    rows, n = mixed_rows(500, 1), 20_000
    x = knowledge("statistical", MIXED, 2, n, np.random.default_rng(4), rows).x
    share = rows.mean(axis=0)
    assert all(within(x[:, j].mean(), share[j], n) for j in range(5))
    assert (rows[:, 0] == rows[:, 1]).all()
    assert within((x[:, 0] * x[:, 1]).mean(), share[0] ** 2, n)
    assert within((x[:, 5] <= np.median(rows[:, 5])).mean(), (rows[:, 5] <= np.median(rows[:, 5])).mean(), n)


def test_noise_draws_a_tenth_of_the_values_again_a_group_as_one():
    rows = mixed_rows(6_000, 2)
    x = knowledge("noise", MIXED, 2, 6_000, np.random.default_rng(5), rows).x
    plain = knowledge("noise", MIXED, 2, 6_000, np.random.default_rng(5), rows, share=0.0).x
    order = np.lexsort(rows.T)
    assert (plain[np.lexsort(plain.T)] == rows[order]).all()  # each unused row once
    changed = (x != plain).mean(axis=0)
    share = rows.mean(axis=0)
    assert within(changed[5], 0.1 * (1 - 1 / 6_000), 6_000)  # all ages differ: only a value drawn upon itself stays
    assert within(changed[0], 0.1 * 2 * share[0] * (1 - share[0]), 6_000)
    other_hue = 1 - (share[2:5] ** 2).sum()
    assert within((x[:, 2:5] != plain[:, 2:5]).any(axis=1).mean(), 0.1 * other_hue, 6_000)


def test_constant_columns_are_named_and_keep_their_value():
    rows = mixed_rows(50, 0)
    rows[:, 6] = 7.5
    for kind in ("statistical", "noise"):
        x = knowledge(kind, MIXED, 2, 30, np.random.default_rng(0), rows).x
        assert (x[:, 6] == 7.5).all()
        assert "pay" in constant_columns(MIXED, x)
    assert constant_columns(MIXED, rows) == ("pay",)
    with pytest.raises(ReleaseError, match="constant: a, b, red, green, blue, age, pay"):
        knowledge("statistical", MIXED, 2, 30, np.random.default_rng(0), np.tile(rows[:1], (9, 1)))


@pytest.mark.parametrize(
    ("kind", "more", "said"),
    [
        ("noise", {"rows": None}, "'noise' of 30 rows need 30 unused rows at least; 0 are given"),
        ("noise", {"rows": mixed_rows(29, 0)}, "need 30 unused rows at least; 29"),
        ("statistical", {"rows": None}, "need 1 unused rows at least; 0"),
        ("statistical", {"rows": np.zeros((5, 2))}, r"shape \(5, 2\), but there are 7 columns"),
        ("random", {"classes": 1}, "two classes at least, not 1"),
        ("random", {"size": 3}, "4 rows at least, not 3"),
        ("gaussian", {}, "no shadow data 'gaussian'"),
        ("noise", {"share": 1.5}, "not 1.5"),
        ("random", {"ranges": (np.ones(7), np.zeros(7))}, "each of 7 columns"),
    ],
)
def test_what_is_no_shadow_data_is_refused(kind, more, said):
    given_ = {"columns": MIXED, "classes": 2, "size": 30, "rng": np.random.default_rng(0), "rows": mixed_rows(60, 0)}
    with pytest.raises(ReleaseError, match=said):
        knowledge(kind, **(given_ | more))


def test_labels_are_the_target_s_and_one_class_only_is_refused_by_name():
    known = knowledge("random", MIXED, 2, 40, np.random.default_rng(0))
    rule = Rule(0, 0.5)
    assert (labelled(rule, known) == known.x[:, 0]).all()
    assert one_class(rule, known) is None
    with pytest.raises(ReleaseError, match="class 1 for all 40 rows of the shadow data 'random'"):
        labelled(Rule(0, -1.0), known)
