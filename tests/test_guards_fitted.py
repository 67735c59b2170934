"""Guards of what fitted trees, forests and boosters of scikit-learn say: the library's numbers, one thing changed."""

from __future__ import annotations

import functools
import math
from contextlib import nullcontext
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from changed_objects import GONE, changed, refusal, root_of, sentence_of
from scipy.stats import entropy
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from sksurv.ensemble import RandomSurvivalForest
from sksurv.tree import SurvivalTree
from sksurv.util import Surv
from test_guards_learners import NO_SEEDS
from test_guards_sklearn import SMALL, X, Y, field, fitted, hints_of

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid, Test, View
from encoders.models.models import Table
from recon.readers.formats.detection import draft_of_object
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.sklearn.boosting.boosting import _solved_leaves
from recon.readers.formats.sklearn.pipelines import steps
from recon.readers.formats.sklearn.trees.arrays import (
    TreeArrays,
    _as_declared,
    _class_totals,
    _integer_counts,
    _multiples,
    _rarer_class,
    _unique_draws,
    even,
    impurities,
    row_counts,
    weighting_of,
)
from recon.readers.formats.sklearn.trees.settings import Root, _sizes, tree_settings
from recon.readers.formats.sklearn.trees.survival import node_curve
from recon.readers.formats.sklearn.trees.trees import NO_MEMBER, REPEATED
from recon.readers.loading.loading import bind_draft
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

NAMED = {"n_features_in_": GONE, "feature_names_in_": GONE}
ONES = np.arange(12) % 3 + 1.0  # whole weights
PARTS = np.arange(12) % 3 + 0.7
UNSAID = {"_n_samples": GONE, "_n_samples_bootstrap": GONE, "_max_samples": GONE, **NO_SEEDS}
MODELS = {
    "member": lambda: fitted("forest").estimators_[0],
    "member of numbers": lambda: RandomForestRegressor(2, **SMALL).fit(X, X["a"]).estimators_[0],
    "doubled": lambda: DecisionTreeClassifier(**SMALL).fit(X, Y, sample_weight=np.full(12, 2.0)),
    "whole weights": lambda: DecisionTreeClassifier(**SMALL).fit(X, Y, sample_weight=ONES),
    "parts": lambda: DecisionTreeClassifier(**SMALL).fit(X, Y, sample_weight=PARTS),
    "whole weights and classes": lambda: DecisionTreeClassifier(class_weight={0: 3, 1: 1}, **SMALL).fit(
        X, Y, sample_weight=ONES
    ),
    "whole weights and signs": lambda: DecisionTreeClassifier(monotonic_cst=[1, 0], **SMALL).fit(
        X, Y, sample_weight=ONES
    ),
    "forest of arrays": lambda: RandomForestClassifier(3, **SMALL).fit(X.to_numpy(), Y),
    "numbers": lambda: DecisionTreeRegressor(**SMALL).fit(X, X["a"]),
    "forest of numbers": lambda: RandomForestRegressor(2, **SMALL).fit(X, X["a"]),
    "bits": lambda: DecisionTreeClassifier(max_depth=3, random_state=0).fit(X.assign(b=(X["b"] >= 2) * 1), Y),
    "extra": lambda: ExtraTreesClassifier(2, **SMALL).fit(X, Y),
    "extra tree": lambda: ExtraTreeClassifier(**SMALL).fit(X, Y),
    "balanced": lambda: DecisionTreeClassifier(class_weight="balanced", **SMALL).fit(X, Y),
    "balanced root": lambda: DecisionTreeClassifier(class_weight="balanced", **SMALL).fit(X * 0, Y),
    "balanced and weighed": lambda: DecisionTreeClassifier(class_weight="balanced", **SMALL).fit(
        X, Y, sample_weight=1 + 2.0 * Y
    ),
    "subsampled": lambda: RandomForestClassifier(3, class_weight="balanced_subsample", **SMALL).fit(X, Y),
    "weighed rows": lambda: RandomForestClassifier(3, **SMALL).fit(X, Y, sample_weight=PARTS),
    "halves": lambda: RandomForestClassifier(3, min_samples_split=0.5, random_state=0).fit(X, Y),
    "of eight": lambda: RandomForestClassifier(3, max_samples=8, **SMALL).fit(X, Y),
    "part bag": lambda: BaggingClassifier(
        DecisionTreeClassifier(**SMALL), 2, bootstrap=False, max_samples=6, random_state=0
    ).fit(X, Y),
    "whole bag": lambda: BaggingClassifier(DecisionTreeClassifier(**SMALL), 2, bootstrap=False).fit(X, Y),
    "part bag of numbers": lambda: BaggingRegressor(
        DecisionTreeRegressor(**SMALL), 2, bootstrap=False, max_samples=6, random_state=0
    ).fit(X, X["a"]),
}


@functools.cache
def model(name):
    return MODELS[name]() if name in MODELS else fitted(name)


def draft(name, changes=None):
    return draft_of_object(changed(root_of(model(name)), changes or {}), "pickle")


WEIGHTED = {"parts", "whole weights and classes", "whole weights and signs", "balanced", "balanced and weighed"}
BAG, ALONE = ("bag", "distinct"), ("exact",)
ROWS = RowCount(12, 12)


def least(name):
    """Return that a tree's different rows are not all that there were."""
    return RowCount(int(model(name).tree_.n_node_samples[0]), None)


@pytest.mark.parametrize(
    ("name", "changes", "kinds", "rows"),
    [
        ("tree", {}, ALONE, ROWS),
        ("doubled", {}, BAG, least),
        ("member", {}, BAG, least),
        ("whole weights", {}, BAG, least),
        ("parts", {}, ("size",), ROWS),
        ("whole weights and classes", {}, ("size",), ROWS),
        ("whole weights and signs", {}, ("size",), ROWS),
        ("numbers", {}, ("size",), ROWS),
        ("balanced", {}, ALONE, ROWS),
        ("balanced", {"class_weight": {0: -1}}, ("size",), ROWS),
        ("balanced root", {}, ("size",), ROWS),
        ("balanced and weighed", {}, ("size",), ROWS),
        ("signed", {}, ALONE, ROWS),
        ("subsampled", {}, BAG, ROWS),
        ("subsampled", {"class_weight": {0: 9.0, 1: 1.0}}, ("distinct",), ROWS),
        ("member of numbers", {}, ("distinct",), least),
        ("forest", {}, BAG, ROWS),
        ("forest of numbers", {}, ("distinct",), ROWS),
        ("extra", {}, ALONE, ROWS),
        ("part bag", {}, ("distinct",), ROWS),
        ("part bag", {"_seeds": GONE, "random_state": None}, ("distinct",), ROWS),
        ("whole bag", {}, ALONE, ROWS),
        ("forest", {"_n_samples_bootstrap": "x"}, BAG, ROWS),
        ("forest", {"_n_samples_bootstrap": -1}, BAG, ROWS),
        ("of eight", NO_SEEDS, BAG, ROWS),
        ("of eight", {"_n_samples_bootstrap": "x", **NO_SEEDS}, ("distinct",), ROWS),
    ],
)
def test_what_trees_count_and_how_many_rows_there_were(name, changes, kinds, rows):
    found = draft(name, changes)
    assert found.origin.counts == kinds
    assert found.rows == (rows(name) if callable(rows) else rows)
    assert (found.classes is None) == ("numbers" in name)
    assert (REPEATED in found.origin.notes) == (rows is least)
    assert (NO_MEMBER in found.origin.notes) == (name in WEIGHTED and kinds == ("size",))
    assert (found.origin.learner is None) == (rows is least)
    drawn = isinstance(root_of(model(name)).get("estimators_"), list) and "extra" not in name and name != "whole bag"
    assert any("which rows each tree drew" in line for line in found.reader_notes) == drawn
    assert (found.multiplicities is None) == (not drawn or bool(changes.get("random_state", 1) is None))


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        (DecisionTreeClassifier(), {}, "n_features_in_: is not fitted: it has nothing that fitting makes"),
        ("signed", field("impurity", 0, 0.1), ""),
        ("signed", {"monotonic_cst": [0, 0], **field("impurity", 0, 0.1)}, "tree_.nodes['impurity'][0] is 0.1"),
        ("forest", {"estimators_.0.tree_.nodes.impurity.0": 0.1}, "estimators_[0].tree_.nodes['impurity'][0] is 0.1"),
        ("forest", {"monotonic_cst": [1, 0], "estimators_.0.tree_.nodes.impurity.0": 0.1}, ""),
        ("forest of numbers", {"estimators_.0.tree_.nodes.impurity.0": 0.1}, ""),
        ("forest of arrays", NAMED, ""),
        ("forest of arrays", {"n_features_in_": GONE, "estimators_.0": 7}, "does not say on how many features"),
        ("forest of arrays", {"n_features_in_": GONE, "estimators_": []}, "does not say on how many features"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_changed_model_is_refused_or_read(name, changes, said):
    words = refusal(model(name) if isinstance(name, str) else name, changes)
    assert said in words if said else not words


def test_impurities_of_one_row_among_millions():
    shares = np.array([[1 - 5e-7, 5e-7], [1 - 1e-9, 1e-9], [1.0, 0.0], [0.5, 0.5]])
    np.testing.assert_allclose(impurities(shares, "entropy"), entropy(shares, axis=1, base=2), rtol=1e-9)
    np.testing.assert_allclose(impurities(shares, "gini"), 2 * shares[:, 0] * shares[:, 1], rtol=1e-6)
    assert impurities(shares, "mystery") is None


def comb(leaves):
    """Return a tree whose right sides are leaves of so many rows and weights."""
    n = len(leaves)
    side = np.arange(1, 2 * n - 1, 2)  # node 2k has the leaf 2k + 1 and, last of all, two of them
    left, right = np.full(2 * n - 1, -1), np.full(2 * n - 1, -1)
    left[0 : 2 * n - 2 : 2], right[0 : 2 * n - 2 : 2] = side + 1, side
    figures = np.zeros((2 * n - 1, 2))
    figures[1::2], figures[-1] = leaves[:-1], leaves[-1]
    for node in range(2 * n - 4, -1, -2):
        figures[node] = figures[node + 1] + figures[node + 2]
    none, rows = np.zeros(2 * n - 1), figures[:, 0].astype(np.int64)
    return TreeArrays(left, right, none.astype(int), none, none > 0, none, rows, figures[:, 1], none[:, None])


@pytest.mark.parametrize(
    ("leaves", "refused"),
    [
        ([(2, 1.0)] * 20, True),  # by chance once in 2 to the power of 20
        ([(2, 1.0)] * 19, False),
        ([(2, 1.0), (3, 2.0)] * 10, True),
        ([(2, 1.0), (3, 2.0)] * 9, False),
        ([(8, 1.0)] * 7, True),  # 2 to the power of 21
        ([(8, 1.0)] * 6, False),
        ([(2, 1.0)] * 20 + [(1, 1.0)], True),
        ([(2, 1.0)] * 20 + [(2, 0.5)], False),
        ([(2, 1.0)] * 20 + [(2, 1.5)], False),
        ([(2, 1.0)] * 20 + [(2, 1 + 0.9e-6)], True),
        ([(2, 1.0)] * 20 + [(2, 1 + 1.1e-6)], False),
        ([(1_000_000, 600_000.25)] * 20, False),
        ([(2_000_000, 1e6 + 0.5e-3)] * 20, True),
        ([(1, 1.0)] * 30, False),
    ],
)
def test_rows_that_weigh_less_than_1_are_no_whole_weights_in_leaf_after_leaf(leaves, refused):
    arrays = comb(leaves)
    arrays.check(1, "tree_")
    with pytest.raises(ReleaseError, match="do not add up to whole") if refused else nullcontext():
        arrays.agree("tree_")


@pytest.mark.parametrize(
    ("most", "off", "whole"),
    [
        (1, 0.9e-6, True),
        (1, -0.9e-6, True),
        (1, 1.1e-6, False),
        (1, -1.1e-6, False),
        (1e6, 0.9e-3, True),
        (1e6, 1.1e-3, False),
    ],
)
def test_numbers_are_counts_up_to_rounding(most, off, whole):
    found = _integer_counts(np.array([[0.0, most], [3 + off, most - 1]]))
    assert found.tolist() == [[0, most], [3, most - 1]] if whole else found is None


def test_links_end_before_the_nodes_do_and_nodes_without_weight_have_no_impurity():
    arrays = comb([(1, 1.0), (2, 2.0)])
    with pytest.raises(ReleaseError, match="node 0 has the right_child 3 of 3 nodes"):
        replace(arrays, right=np.where(arrays.leaf, -1, 3)).check(1, "tree_")
    empty = comb([(1, 1.0), (1, 0.0)])
    replace(empty, value=empty.weighted[:, None]).agree("tree_", "gini")


@pytest.mark.parametrize("fewest", [(2, 3), (3, 2, 2), (2, 0, 3), (0, 4), (1, 1), (7, 5, 0)])
def test_draws_of_classes_are_their_multiples_that_add_up(fewest):
    for drawn in range(1, 24):
        ways = ([0] if not one else range(one, drawn + 1, one) for one in fewest)
        assert sorted(_multiples(fewest, drawn)) == sorted([*t] for t in product(*ways) if sum(t) == drawn)


def test_of_too_many_draws_of_classes_none_is_looked_at():
    assert len(_multiples((1, 1), 1_001)) == 1_000
    assert _multiples((1, 1), 1_002) == []


def test_draws_have_the_weights_that_are_declared():
    """A class weighs as declared; where each bag is balanced, all its classes weigh alike; what was not drawn, none."""
    root = np.array([6.0, 6.0, 0.0])
    for totals, weighting, fits in (
        ((2, 3, 0), (3.0, 2.0, 9.0), True),
        ((2, 3, 0), (3.0, 2.1, 9.0), False),
        ((2, 3, 0), "balanced_subsample", True),
        ((2, 3, 0), "balanced", True),
        ((2, 3, 0), "unknown", False),
    ):
        assert _as_declared(root, totals, weighting) == fits
    assert not _as_declared(np.array([6.0, 5.0]), (2, 3), "balanced_subsample")


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_rarer_class_by_the_impurity_of_every_split_of_few_rows(criterion):
    rows, rare = np.array([(n, k) for n in range(1, 30) for k in range(n // 2 + 1)]).T
    shares = np.stack([rare / rows, 1 - rare / rows], axis=1)
    truth = entropy(shares, axis=1, base=2) if criterion == "entropy" else 2 * shares[:, 0] * shares[:, 1]
    assert _rarer_class(rows, truth, criterion).tolist() == rare.tolist()


@pytest.mark.parametrize(
    ("rows", "ones", "share", "error", "solved"),
    [
        ((4, 6), (1, 4), 0.5, 1e-9, True),
        ((4, 6), (0, 5), 0.5, 1e-9, True),
        ((4, 6), (4, 1), 0.5, 1e-9, True),
        ((4, 6), (-1, 6), 0.5, 1e-9, False),
        ((4, 6), (5, 0), 0.5, 1e-9, False),
        ((4, 6), (1, 5), 0.5, 1e-9, False),  # not as many as the share of all rows
        ((4, 6), (0, 4), 0.5, 1e-9, False),
        ((4, 6), (1 + 0.9e-6, 4 - 0.9e-6), 0.5, 1e-9, True),
        ((4, 6), (1 + 1.1e-6, 4), 0.5, 1e-9, False),
        ((4, 6), (1, 4 - 1.1e-6), 0.5, 1e-9, False),
        ((4, 6), (0, 0), 0.0, 1e-9, False),
        ((4, 6), (4, 6), 1.0, 1e-9, False),
        ((15_000, 15_000), (5_000.24, 9_999.76), 0.5, 4e-6, True),
        ((15_000, 15_000), (5_000.26, 9_999.74), 0.5, 4e-6, False),
        ((15_000, 16_251), (5_000, 10_625), 15_625 / 31_251, 4e-6, False),  # roundings may be a whole row
    ],
)
@pytest.mark.parametrize(("rate", "ridge"), [(1.0, 0.0), (0.1, 2.0)])
def test_classes_of_the_first_boosted_tree_are_whole(rows, ones, share, error, solved, rate, ridge):
    """A leaf of n rows, c of class 1, has the value rate * (c - n p) / (n p (1 - p) + ridge)."""
    tree = comb([(n, float(n)) for n in rows])
    n, ones = np.array(rows), np.array(ones)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.nan_to_num(rate * (ones - n * share) / (n * share * (1 - share) + ridge))
    found = _solved_leaves(replace(tree, value=np.array([0.0, *values])[:, None]), share, rate, ridge, error)
    assert (found is not None) == solved
    if found is not None:
        assert found.classes.tolist() == [[0, 0], *([n - c, c] for n, c in zip(rows, np.rint(ones), strict=True))]


@pytest.mark.parametrize(("off", "plain"), [(0.9e-9, True), (-1.1e-9, False), (1.0, False)])
def test_rows_weigh_1_up_to_rounding(off, plain):
    assert comb([(2, 2 + 2 * off), (3, 3.0)]).unweighted == plain


@pytest.mark.parametrize(
    ("rows", "classes"),
    [(3, -1), (4, -1), (5, (2, 3)), (7, (6, 1))],  # no class has rows below 0, none without rows weighs anything
)
@pytest.mark.parametrize("absent", [0, 1])
def test_weights_that_balance_classes_are_above_0(rows, classes, absent):
    mass = np.array([[6.0, 6.0, 0.0], [4.0, 2.0, 0.0], [2.0, 4.0, 0.0]])[:, : 2 + absent]
    arrays = replace(comb([(rows, 6.0), (12 - rows, 6.0)]), value=mass)
    found = row_counts(arrays, "gini", None, "balanced")
    assert found.classes[1].tolist()[:2] == ([-1, -1] if classes == -1 else list(classes))
    assert ("class_weight" in found.note) == (classes == -1)


@pytest.mark.parametrize(
    ("setting", "found", "alike"),
    [
        (None, None, True),
        ("balanced", "balanced", False),
        ({}, (1.0, 1.0), True),
        ({1: 2}, (1.0, 2.0), False),
        ({0: 0}, "unknown", False),
        ({0: -1}, "unknown", False),
        ({0: "x"}, "unknown", False),
        ([{0: 1}], "unknown", False),
    ],
)
def test_weights_of_classes_as_they_are_declared(setting, found, alike):
    assert weighting_of(setting, (0, 1)) == found
    assert even(found) == alike


@pytest.mark.parametrize(
    ("rows", "off", "found"),
    [
        (100, 1.1e-9, None),
        (1_000, 0.9e-9, 300),
        (1_000, 1.1e-9, None),
        (10_000, 0.9e-10, 3_000),
        (10_000, 1.1e-10, None),
    ],
)
def test_the_rarer_class_has_whole_rows_up_to_rounding(rows, off, found):
    rare = _rarer_class(np.array([rows, 10]), np.array([2 * 0.3 * 0.7 + off, 0.5]), "gini")
    assert rare is None if found is None else rare.tolist() == [found, 5]


def test_leaves_held_to_signs_whose_classes_nothing_tells_have_sizes():
    """Two leaves of four rows, one of three in one class: which of them is not told by values that are neither's."""
    arrays = comb([(4, 4.0), (4, 4.0)])
    for stored, first, said in ((0.5, -1, ", except in 2 leaves"), (0.25, 1, ", exactly")):
        shares = np.array([0.5, stored, 1 - stored])
        one = replace(arrays, impurity=np.array([0.5, 0.375, 0.375]), value=np.stack([shares, 1 - shares], axis=1))
        found = row_counts(one, "gini", np.array([0]), None)
        assert found.classes[1, 0] == first
        assert found.note.endswith(said)


@pytest.mark.slow
def test_classes_of_trees_held_to_signs_are_those_of_the_rows():
    told = 0
    for seed in range(60):
        draw = np.random.default_rng(seed)
        x, y = draw.integers(0, 6, (40, 3)).astype(float), (draw.random(40) < draw.random()).astype(int)
        kind, criterion = (DecisionTreeClassifier, ExtraTreeClassifier)[seed % 2], ("gini", "entropy")[seed // 2 % 2]
        fit = kind(criterion=criterion, monotonic_cst=draw.integers(-1, 2, 3), max_depth=5, random_state=0).fit(x, y)
        tree = draft_of_object(root_of(fit), "pickle").trees[0]
        path = fit.decision_path(x).toarray().astype(bool)
        for node in np.flatnonzero(tree.arrays.leaf & (tree.counts.classes >= 0).all(axis=1)):
            assert tree.counts.classes[node].tolist() == [(y[path[:, node]] == v).sum() for v in fit.classes_]
            told += 1
    assert told > 300


def test_shares_that_are_of_no_few_rows_have_no_counts():
    shares = 1.0, 1 / 4, 500_001 / 999_979, 968_734 / 999_983  # of 4 * 999,979 * 999,983 rows at least
    mass = np.array([[share, 0.0] for share in shares])
    assert _class_totals(np.array([[1.0, 0.0], [5e-7, 0.0]])) is None
    assert _class_totals(np.array([[1.0, 0.0], [7e-7, 0.0]])) is None
    assert _unique_draws(None, mass, 10, "balanced") is None
    assert _class_totals(np.array([[1.0, 0.0], [0.75, 0.0], [0.25, 0.0]])) == [4, 0]


def test_settings_that_are_shares_of_rows_are_known_where_their_number_is():
    assert draft("halves").origin.learner.min_samples_split == 6
    assert draft("halves", UNSAID).origin.learner is None


# ------------------------------------------------------------------ bound to a domain

LABEL = Categorical("y", (0, 1))
GRIDS = (Grid.between("a", 0, 11), Grid.between("b", 0, 3))
REALS = (Continuous("a", 0, 11), Continuous("b", 0, 3))
MISSING = tuple(replace(one, missing=True) for one in GRIDS)


def bound(name, changes=None, attributes=GRIDS, label=LABEL, **columns):
    found = draft(name, changes)
    return found.bound(Binder(found, Domain(attributes, label, columns=columns)))


def leaves(tree):
    return [(k, n.support) for k, n in enumerate(tree.nodes) if n.condition is None]


def test_leaves_have_the_rows_that_the_library_counts():
    (tree,) = bound("tree")
    own = model("tree").tree_
    assert tree.nodes.counts.distinct is None
    for k, support in leaves(tree):
        assert support.counts == tuple(np.rint(own.value[k, 0] * own.n_node_samples[k]).astype(int).tolist())
    (forest,) = bound("forest of numbers", label=None)
    for one, fit in zip(forest.trees, model("forest of numbers").estimators_, strict=True):
        for k, support in leaves(one):
            assert support.count == fit.tree_.weighted_n_node_samples[k]
            assert support.distinct == fit.tree_.n_node_samples[k]


def test_totals_of_a_regression_are_means_times_rows():
    _, table = bound("numbers", label=Grid.between("y", 0, 11))
    own = model("numbers").tree_
    for figure in table.statements:
        k = int(figure.name.removeprefix("leaf "))
        assert own.children_left[k] < 0
        assert figure.statistic.value == round(own.value[k, 0, 0] * own.n_node_samples[k])
    assert len(table.statements) == (own.children_left < 0).sum()


def test_what_thresholds_were_learnt_from():
    (tree,) = bound("tree")
    assert tree.nodes.learnt.ends.tolist() == [[0, 11], [0, 3]]
    assert tree.nodes.learnt.plain.tolist() == [True, True]
    assert bound("extra tree")[0].nodes.learnt is None
    seen = bound("bits", attributes=GRIDS[:1], b=View("a", Test(low=6)))[0].nodes.learnt
    assert seen.ends[0].tolist() == [0, 11]
    assert np.isnan(seen.ends[1]).all()
    assert seen.plain.tolist() == [True, False]


OLD = {"_sklearn_version": "1.5.0"}


def test_of_versions_that_misplaced_missing_values_the_root_alone_is_used():
    """scikit-learn #32351: where values may be missing, nodes below the root may have other rows than theirs."""
    (tree,) = bound("tree", OLD, MISSING)
    assert [n.support.counts for n in tree.nodes] == [(5, 7)]
    (forest,) = bound("forest of numbers", OLD, MISSING, None)
    for one, fit in zip(forest.trees, model("forest of numbers").estimators_, strict=True):
        assert [(n.support.count, n.support.distinct) for n in one.nodes] == [(12, fit.tree_.n_node_samples[0])]
    assert len(bound("tree", OLD)[0].nodes) == len(bound("tree")[0].nodes) > 1


def gaps():
    rows = X.assign(a=X["a"].where(Y == 0))
    return DecisionTreeClassifier(max_depth=1, random_state=0).fit(rows[["a"]], Y)


def test_a_split_on_missing_values_alone():
    MODELS["gaps"] = gaps
    assert np.isinf(model("gaps").tree_.threshold[0])
    (tree,) = bound("gaps", {}, MISSING[:1])
    assert tree.nodes[0].condition == (("a", Test(values=(), missing=True)),)
    assert tree.nodes[tree.nodes[0].then].support.counts == (0, 7)
    assert tree.nodes[tree.nodes[0].otherwise].support.counts == (5, 0)


FILLED, HOLED = np.array([[1.0], [1.0], [1.0], [9.0], [9.0]]), np.array([[1.0], [1.0], [1.0], [9.0], [np.nan]])


@pytest.mark.parametrize(
    ("kind", "version", "told"),
    [
        ("best", "1.3.0", True),
        ("best", "1.2.2", False),  # does not know missing values, and writes the same
        ("random", "1.6.0", True),
        ("random", "1.5.2", False),
        ("best", None, False),
        ("histogram", "1.0.2", True),
    ],
)
def test_a_node_that_sends_missing_values_to_fewer_rows_has_seen_some(kind, version, told):
    """Three rows go left, two right and missing ones right, which no node without missing values would do."""
    fit = (
        HistGradientBoostingClassifier(max_iter=1, max_depth=1, min_samples_leaf=1, early_stopping=False)
        if kind == "histogram"
        else DecisionTreeClassifier(max_depth=1, splitter=kind, random_state=0)
    )
    for rows, seen in ((HOLED, ["x0"]), (FILLED, [])):
        found = draft_of_object(
            changed(root_of(fit.fit(rows, [0, 0, 0, 1, 1])), {"_sklearn_version": version or GONE}), "pickle"
        )
        arrays = found.trees[0].arrays
        assert arrays.rows.tolist() == [5, 3, 2]
        assert arrays.missing_left[0] == (rows is FILLED)
        assert list(found.missing()) == (seen if told else [])


@pytest.mark.parametrize("gaps", [36, 84])
@pytest.mark.parametrize("texts", [False, True])
def test_a_split_between_missing_values_and_all_categories(gaps, texts):
    codes = np.where(np.arange(120) < gaps, np.nan, np.arange(120) % 3)
    values = [None if math.isnan(c) else "abc"[int(c)] for c in codes] if texts else codes
    frame = pd.DataFrame({"a": pd.Categorical(values) if texts else values})
    fit = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=2, categorical_features=["a"])
    found = draft_of_object(root_of(fit.fit(frame, np.isnan(codes) * 1)), "pickle")
    assert list(found.missing()) == ["a"]
    assert found.sets == {0: [((), ("a", "b", "c") if texts else (0, 1, 2))]}
    domain, (model,) = bind_draft(found, None)
    assert domain.all[0].missing
    (tree,) = model.members()
    side = tree.nodes[0].then if tree.nodes[0].condition[0][1].missing else tree.nodes[0].otherwise
    assert tree.nodes[side].support.counts == (0, gaps)
    assert "splits on categories that the model does not name" in refusal(
        fit, {"_predictors.0.0.nodes.missing_go_to_left.0": 0}
    )


@pytest.mark.parametrize("depth", [1, 6])
def test_tests_on_continuous_attributes_without_gaps_say_nothing_of_missing_values(depth):
    MODELS[depth] = lambda: DecisionTreeClassifier(max_depth=depth, random_state=0).fit(11 - X[["a"]], Y)
    own = model(depth).tree_
    inner = own.children_left >= 0
    (tree,) = bound(depth, {}, REALS[:1])
    tests = [test for node in tree.nodes if node.condition is not None for _, test in node.condition]
    assert len(tests) == inner.sum()
    assert not any(test.missing for test in tests)
    (tree,) = bound(depth, {}, (replace(REALS[0], missing=True),))
    found = [test.missing for node in tree.nodes if node.condition is not None for _, test in node.condition]
    assert found == (own.n_node_samples[own.children_left] > own.n_node_samples[own.children_right])[inner].tolist()
    assert depth == 1 or any(found)


QUANTILES = Path(__file__).parents[1] / "examples" / "releases" / "quantile_forest.joblib"


def built_with(*given):
    return lambda thing: Thing(thing.callable, thing.how, given, thing.kwargs, thing.state)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"forest_": None}, "forest_: has no targets of the training rows: the forest is not fitted"),
        ({"forest_": built_with()}, "forest_: has no targets of the training rows: the forest is not fitted"),
        ({"forest_": built_with(np.array(["a"]))}, "forest_: has no targets of the training rows"),
        ({"forest_": built_with(np.array([math.nan]))}, "forest_: has no targets of the training rows"),
        ({"sorter_": None}, "sorter_: does not say the position of every target"),
        ({"sorter_": lambda found: found[:-1]}, "sorter_: does not say the position of every target"),
        ({"sorter_": lambda found: found * 0}, "sorter_: does not say the position of every target"),
        ({}, ""),
    ],
)
def test_targets_of_a_quantile_forest(changes, said):
    root = open_stored(QUANTILES.read_bytes()).root
    assert said in sentence_of(draft_of_object, changed(root, changes), "joblib")
    if not said:
        found = draft_of_object(root, "joblib")
        assert len(found.labels) == found.rows.low
        assert sorted(set(found.labels)) == list(range(len(found.classes)))


# ------------------------------------------------------------------ survival trees

TIMES = ((1, False), (2, True), (3, None), (4, True))


def test_the_curve_of_a_node_has_the_times_of_its_events():
    """One of four has the event at 2, one of two at 4: hazards 1/4 and 3/4 (Nelson, Aalen), shares 3/4 and 3/8."""
    hazard, share = np.array([0, 0.25, 0.25, 0.75]), np.array([1, 0.75, 0.75, 0.375])
    plain = node_curve(hazard, None, TIMES, 4, "tree_, node 3")
    assert (plain.times, plain.rows, [step.survival for step in plain.steps]) == ((2, 4), None, [None, None])
    sized = node_curve(hazard, share, TIMES, 4, "tree_, node 3", sized=True)
    assert sized.rows == 4
    for value, (low, high) in zip((0.75, 0.375), [step.survival for step in sized.steps], strict=True):
        assert value - 1e-9 < low < value < high < value + 1e-9
    assert node_curve(np.zeros(4), share, TIMES, 4, "tree_, node 3", sized=True) is None
    with pytest.raises(ReleaseError, match="tree_, node 3: has an event at 1, where nobody had one"):
        node_curve(hazard + 0.5, None, TIMES, 4, "tree_, node 3")


def survival(kind, **settings):
    """Return a fitted model of rows of which the first six have no event."""
    return kind(max_depth=1, random_state=0, **settings).fit(X, Surv.from_arrays(X["a"] > 5, np.arange(12) % 4 + 1.0))


MODELS["few events"] = lambda: survival(SurvivalTree)
MODELS["forest of few events"] = lambda: survival(RandomSurvivalForest, n_estimators=3)


def test_a_leaf_without_events_says_so_unless_rows_were_drawn():
    found = draft("few events")
    assert found.rows == ROWS
    none = [node for _, node, curve in found.curves if curve is None]
    own = model("few events").tree_
    assert none == [k for k in range(own.node_count) if not own.value[k, -1, 0]]
    assert len(none) == 1
    stated = [f.name for table in bind_draft(found, None)[1] if isinstance(table, Table) for f in table.statements]
    assert f"no event in node {none[0]}" in stated
    some = draft("forest of few events")
    assert any(curve is None for _, _, curve in some.curves)
    stated = [f.name for table in bind_draft(some, None)[1] if isinstance(table, Table) for f in table.statements]
    assert stated
    assert not any("no event in node" in (name or "") for name in stated)


@pytest.mark.parametrize("name", ["boosted", "boosted numbers"])
def test_scores_before_the_first_tree_are_those_of_the_librarys_own_start(name):
    """A model of another class may have attributes of the same names, and predict something else."""
    other = {"init_": lambda one: Thing(Name("mine", "Start"), one.how, one.args, one.kwargs, one.state)}
    assert draft(name).values is not None
    assert draft(name, other).values is None


def test_steps_before_a_model_that_are_not_followed():
    """Two parts of two columns are four; rows are made up by imblearn; a gap that no category is for has no code."""
    parts = ColumnTransformer([("s", StandardScaler(), ["a", "b"]), ("m", MinMaxScaler(), ["a", "b"])]).fit(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "MAX_COLUMNS", 3)
        assert "gives more than 3 columns" in refusal(parts, {})
    made = {"steps.0.1": lambda one: Thing(Name("imblearn.over_sampling", "SMOTE"), one.how, (), {}, one.state)}
    assert "SMOTE makes up, copies or drops rows before the fit" in refusal(fitted("pipeline"), made)
    assert math.isnan(hints_of(OrdinalEncoder().fit(X), {})[1][0].make(None))
    largest = hints_of(MaxAbsScaler().fit(X), {"clip": True})[1][0]
    assert [largest.make(value) for value in (-40.0, -11.0, 5.5, 40.0)] == [-1.0, -1.0, 0.5, 1.0]


def test_where_the_numbers_of_rows_and_draws_of_bags_come_from():
    """Weights of rows are as many as the rows; a number of draws is a setting; imodels' trees have none of these."""
    weighed = draft("weighed rows", {"_n_samples": GONE})
    assert weighed.multiplicities.shape == (3, 12)
    assert weighed.rows == ROWS
    eight = changed(root_of(model("of eight")), {"_n_samples_bootstrap": GONE})
    assert _sizes(eight, [Root(5, 7.3)], None) == ([(12, 8), (12, 12)], True)
    tree = root_of(model("tree"))
    arrays = draft("tree").trees[0].arrays
    assert tree_settings(tree, arrays) is not None
    assert tree_settings(Thing(Name("imodels", "GreedyTree"), tree.how, (), {}, tree.state), arrays) is None


def test_counts_of_trees_held_to_signs_are_read_off_impurities_of_few_rows(monkeypatch):
    found = draft("signed", {"tree_.nodes.impurity.0": 0.1})
    assert found.origin.counts == ("size",)
    monkeypatch.setattr("recon.readers.formats.sklearn.trees.arrays.MAX_CLIPPED", 11)
    assert draft("signed").origin.counts == ("size",)
