"""How good a membership guess is: against brute force, scikit-learn, scipy and published critical values."""

from __future__ import annotations

import builtins
import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from recon.attacks.evaluation import (
    DELTAS,
    _area,
    _deltas,
    _neighbours,
    always_in,
    averaged,
    balanced,
    both_sides,
    clopper_pearson,
    critical_difference,
    curve,
    duplicates,
    evaluated,
    fold_mean,
    folded,
    meaning,
    unique_rows,
)
from solvers.foundation.errors import ReleaseError, Unsupported

scored = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.25, 0.5, 2.0, math.inf]), st.booleans(), st.booleans()),
                  min_size=2, max_size=25).filter(lambda rows: len({inside for _, _, inside in rows}) == 2)  # fmt: skip


def arrays(rows):
    scores, decided, member = zip(*rows, strict=True)
    return np.array(scores), np.array(decided), np.array(member)


@pytest.mark.slow
@given(scored)
@settings(max_examples=50)
def test_rates_are_those_of_scikit_learn(rows):
    scores, decided, member = arrays(rows)
    found = evaluated(scores, decided, member)
    assert found.recall == pytest.approx(metrics.recall_score(member, decided))
    assert found.accuracy == pytest.approx(metrics.accuracy_score(member, decided))
    assert found.f1 == pytest.approx(metrics.f1_score(member, decided, zero_division=0))
    assert found.fpr == pytest.approx(1 - metrics.recall_score(~member, ~decided))
    assert found.advantage == pytest.approx(metrics.balanced_accuracy_score(member, decided, adjusted=True))
    finite = np.where(np.isinf(scores), 9.0, scores)
    assert found.auc == pytest.approx(metrics.roc_auc_score(member, finite))
    if decided.any():
        assert found.precision == pytest.approx(metrics.precision_score(member, decided))
        if found.recall:
            assert found.f1 == pytest.approx(2 * found.precision * found.recall / (found.precision + found.recall))
    else:
        assert math.isnan(found.precision)
    assert found.called == pytest.approx(decided.mean())
    assert (found.members, found.others) == (member.sum(), (~member).sum())


@pytest.mark.slow
@given(scored)
def test_auc_is_the_share_of_pairs_in_order(rows):
    scores, decided, member = arrays(rows)
    pairs = [(a > b) + (a == b) / 2 for a, b in itertools.product(scores[member], scores[~member])]
    found = evaluated(scores, decided, member)
    assert found.auc == pytest.approx(sum(pairs) / len(pairs))
    assert found.auc_low <= found.auc <= found.auc_high


@pytest.mark.parametrize(("others", "rate"), [(999, 0.001), (1000, 0.001), (2000, 0.001), (99, 0.01), (700, 0.01)])
def test_rates_at_a_false_positive_rate_by_trying_every_threshold(others, rate):
    rng = np.random.default_rng(others)
    scores = np.round(rng.normal(size=others + 300), 1) + np.r_[np.ones(300), np.zeros(others)]  # many ties
    member = np.arange(len(scores)) < 300
    best = max(
        (scores[member] > t).mean()
        for t in [-math.inf, *scores, math.inf]
        if (scores[~member] > t).sum() * round(1 / rate) <= others
    )
    found = evaluated(scores, scores > 0, member)
    ours = found.tpr_at_001 if rate == 0.001 else found.tpr_at_01
    assert ours == best
    if others * rate < 1:
        assert best == (scores[member] > scores[~member].max()).mean()  # no false positive is allowed


@pytest.mark.slow
@given(scored)
def test_rates_at_low_false_positive_rates_lie_on_the_curve(rows):
    scores, decided, member = arrays(rows)
    fpr, tpr = curve(scores, member)
    found = evaluated(scores, decided, member)
    assert found.tpr_at_001 == found.tpr_at_01 == max(tpr[fpr == 0])
    assert (fpr[-1], tpr[-1]) == (1, 1)
    area_under = float(np.sum(np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2))
    assert area_under == pytest.approx(found.auc)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (1, 1), (0, 1)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_clopper_pearson_is_scipys(k, n, confidence):
    theirs = scipy.stats.binomtest(k, n).proportion_ci(confidence, "exact")
    assert clopper_pearson(k, n, confidence) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_clopper_pearson_covers_at_least_as_often_as_it_says():
    n = 17
    ends = [clopper_pearson(k, n) for k in range(n + 1)]
    for p in np.linspace(0.01, 0.99, 99):
        law = scipy.stats.binom.pmf(np.arange(n + 1), n, p)
        assert sum(law[k] for k, (low, high) in enumerate(ends) if low <= p <= high) >= 0.95


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (0, 0)])
def test_what_is_no_share_is_refused(k, n):
    with pytest.raises(ReleaseError, match=f"{k} of {n} is not a share"):
        clopper_pearson(k, n)


def test_the_interval_of_the_auc_covers():
    rng, hits = np.random.default_rng(5), 0
    truth = scipy.stats.norm.cdf(0.5 / math.sqrt(2))
    for _ in range(400):
        _, low, high = _area(rng.normal(0.5, 1, 60), rng.normal(0, 1, 90))
        hits += low <= truth <= high
    assert scipy.stats.binomtest(hits, 400, 0.95).pvalue > 0.001


@pytest.mark.parametrize("members", [1, 3, 80])
def test_always_in_knows_nothing(members):
    found = always_in(np.arange(100) < members)
    assert (found.recall, found.fpr, found.advantage, found.auc, found.tpr_at_01) == (1, 1, 0, 0.5, 0)
    assert found.precision == found.accuracy == members / 100


def test_deltas_are_of_all_four():
    member = np.array([True, True, False, False])
    one = evaluated(np.array([3.0, 2, 1, 0]), member, member)
    other = always_in(member)
    found = _deltas(one, other)
    assert tuple(found) == DELTAS
    assert found == pytest.approx({"precision": 0.5, "recall": 0, "f1": 1 / 3, "accuracy": 0.5})


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 9))
def test_a_balanced_set_has_as_many_members_as_others(flags, seed):
    member = np.array(flags)
    found = balanced(member, np.random.default_rng(seed))
    assert len(set(found.tolist())) == len(found) == 2 * min(member.sum(), (~member).sum())
    assert member[found].sum() * 2 == len(found)
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize(
    ("scores", "decided", "member", "said"),
    [
        ([1.0], [True], [True], "without any row outside"),
        ([1.0], [True], [False], "without any member"),
        ([1.0, math.nan], [True, True], [True, False], "score of row 1 is not a number"),
        ([1.0], [True, True], [True, False], "1 scores, 2 decisions and the truth of 2 rows"),
        ([], [], [], "each of the 0 rows"),
    ],
)
def test_what_cannot_be_judged_is_refused(scores, decided, member, said):
    with pytest.raises(ReleaseError, match=said):
        evaluated(np.array(scores), np.array(decided, dtype=bool), np.array(member, dtype=bool))


def invented(rng, rate_in, rate_out, shift):
    member = np.arange(4000) < 2000
    decided = rng.random(4000) < np.where(member, rate_in, rate_out)
    return evaluated(rng.normal(size=4000) + shift * member, decided, member)


def test_sentences_say_what_a_gain_of_recall_is_worth():
    rng = np.random.default_rng(2)
    box = invented(rng, 0.43, 0.43, 0)
    everybody = meaning("X", invented(rng, 0.93, 0.93, 0), box)
    assert "delta recall +0.5" in everybody
    assert "calls nearly everybody a member (92% of the rows), and its scores do not tell" in everybody
    assert everybody.endswith("recall says nothing")
    assert "calls more rows members, inside and outside alike" in meaning("X", invented(rng, 0.7, 0.7, 0), box)
    assert "hardly anybody" in meaning("X", invented(rng, 0.02, 0.02, 0), box)
    real = meaning("X", invented(rng, 0.8, 0.3, 1), box)
    assert real.endswith("its scores tell members from others to a degree")
    assert "wrong way" in meaning("X", invented(rng, 0.43, 0.43, -1), box)


@pytest.mark.parametrize("values", [[0.5, 0.7, 0.4], [1.0, 1.0, 1.0, 1.0], [0.1, 0.2]])
def test_intervals_over_folds_are_students(values):
    found = fold_mean([*values, math.nan])
    assert found.folds == len(values)
    assert found.mean == pytest.approx(np.mean(values))
    if np.std(values):
        theirs = scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    else:
        assert found.low == found.high == 1


def test_one_fold_has_no_interval():
    assert math.isnan(fold_mean([0.5]).low)
    assert math.isnan(fold_mean([]).mean)
    member = np.arange(10) < 4
    found = averaged([always_in(member), always_in(~member)])
    assert found["precision"].mean == pytest.approx(0.5)
    assert found["advantage"].low == 0


@given(st.integers(2, 50), st.integers(2, 9))
def test_folds_share_no_row(rows, folds):
    if rows < folds:
        with pytest.raises(ReleaseError, match=f"{rows} rows cannot be cut into {folds} folds"):
            folded(rows, folds, np.random.default_rng(0))
        return
    parts = folded(rows, folds, np.random.default_rng(0))
    assert sorted(np.concatenate(parts).tolist()) == list(range(rows))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=2, max_size=10))
@settings(max_examples=40)
def test_no_score_by_row_beats_the_best_one(rows):
    number, member = np.array([n for n, _ in rows]), np.array([m for _, m in rows])
    found = duplicates(number, member)
    assert both_sides(number, member).tolist() == [
        any(other == n and inside != m for other, inside in rows) for n, m in rows
    ]
    assert found.members_both + found.others_both == both_sides(number, member).sum()
    if member.all() or not member.any():
        assert (found.best_auc, found.best_advantage) == (0.5, 0)
        return
    distinct = sorted(set(number.tolist()))
    areas, advantages = [], []
    for order in itertools.permutations(range(len(distinct))):  # every strict order; ties never do better
        scores = np.array([order[distinct.index(n)] for n in number.tolist()], dtype=float)
        areas.append(metrics.roc_auc_score(member, scores))
        advantages += [(scores >= t)[member].mean() - (scores >= t)[~member].mean() for t in range(len(distinct) + 1)]
    assert found.best_auc == pytest.approx(max(areas))
    assert found.best_advantage == pytest.approx(max(advantages))
    assert found.sentence()


def test_rows_that_occur_once_are_a_fair_test_set_and_one_sided_rows_are_not():
    """Two thirds are inside at random: copies tell nothing among single rows, but do where both-sided rows go."""
    rng = np.random.default_rng(4)
    number = rng.integers(0, 3000, 6000)
    copies = np.bincount(number, minlength=3000)[number]
    member = rng.random(6000) < 2 / 3
    single = unique_rows(number)
    assert (single == (copies == 1)).all()
    assert scipy.stats.binomtest(int(member[single].sum()), int(single.sum()), 2 / 3).pvalue > 0.001
    left = ~both_sides(number, member)
    _, low, _ = _area(copies[left & member].astype(float), copies[left & ~member].astype(float))
    assert low > 0.5


@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (8, 3.031), (10, 3.164)])
def test_critical_differences_are_those_of_the_published_table(k, q):
    """Demšar 2006, table 5(a): q for alpha .05 by the number of classifiers."""
    table = pd.DataFrame(np.random.default_rng(k).normal(size=(14, k)), columns=[f"c{i}" for i in range(k)])
    found = critical_difference(table)
    assert found.critical_difference == pytest.approx(q * math.sqrt(k * (k + 1) / (6 * 14)), rel=5e-4)


DEMSAR = [  # Demšar 2006, table 6: AUC of C4.5, +m, +cf, +m+cf on 14 data sets; its ranks tell .975 (2) from .975 (3)
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9754, 0.9746], [0.957, 0.978, 0.946, 0.970],
]  # fmt: skip


def test_the_worked_example_of_demsar():
    """Mean ranks 3.143, 2.000, 2.893, 1.964; chi-square 9.28; critical difference 1.25 (Demšar 2006, page 14)."""
    found = critical_difference(pd.DataFrame(DEMSAR, columns=["C4.5", "+m", "+cf", "+m+cf"]))
    assert dict(zip(found.treatments, np.round(found.ranks, 3), strict=True)) == pytest.approx(
        {"+m+cf": 1.964, "+m": 2.000, "+cf": 2.893, "C4.5": 3.143}, abs=1e-3
    )
    assert found.critical_difference == pytest.approx(1.25, abs=0.01)
    theirs = scipy.stats.friedmanchisquare(*np.array(DEMSAR).T)
    assert (found.statistic, found.p) == pytest.approx((theirs.statistic, theirs.pvalue))
    squares = float(np.square(found.ranks).sum())
    assert 12 * 14 / 20 * (squares - 25) == pytest.approx(9.28, abs=0.01)  # as printed, without scipy's word for ties
    assert found.groups == (("+m+cf", "+m", "+cf", "C4.5"),)  # 3.143 - 1.964 = 1.179 < 1.25
    apart = np.abs(np.subtract.outer(found.ranks, found.ranks))
    assert ((found.pairs.to_numpy() < 0.05) == (apart > found.critical_difference)).all()
    assert "mean ranks over 14 conditions: +m+cf 1.96" in found.sentence()


def test_lower_may_be_better_and_gaps_are_left_out():
    table = pd.DataFrame({"a": [1.0, 2, 1, 9], "b": [2.0, 3, 2, 9], "c": [3.0, 4, 3, None]})
    assert critical_difference(table, greater_is_better=False).treatments == ("a", "b", "c")
    found = critical_difference(table)
    assert found.treatments == ("c", "b", "a")
    assert (found.blocks, found.left_out) == (3, 1)


@pytest.mark.parametrize("table", [pd.DataFrame({"a": [1.0, 2], "b": [1.0, 2]}),
                                   pd.DataFrame({"a": [1.0], "b": [1.0], "c": [2.0]})])  # fmt: skip
def test_too_few_treatments_or_conditions_are_refused(table):
    with pytest.raises(ReleaseError, match="three treatments and two conditions"):
        critical_difference(table)


def test_all_ties_are_no_difference():
    found = critical_difference(pd.DataFrame(np.ones((5, 3)), columns=["a", "b", "c"]))
    assert (found.statistic, found.p, found.ranks) == (0, 1, (2, 2, 2))
    assert found.groups == (("a", "b", "c"),)


def test_neighbours_are_the_largest_runs():
    assert _neighbours(list("abcde"), [1.0, 1.5, 2.2, 4.0, 4.1], 1.0) == (("a", "b"), ("b", "c"), ("d", "e"))
    assert _neighbours(list("ab"), [1.0, 2.0], 0.5) == ()


def test_without_scikit_posthocs_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def gone(name, *rest, **more):
        if name == "scikit_posthocs":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", gone)
    with pytest.raises(Unsupported, match=r"\.\[attacks\]"):
        critical_difference(pd.DataFrame(np.ones((5, 3))))
