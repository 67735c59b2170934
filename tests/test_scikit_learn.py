"""Fitted scikit-learn trees and forests: the truth is a world, counts are exact, thresholds cut where float32 does."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from extras import extra
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous, Grid
from recon.readers.formats.sklearn.trees.trees import ZEROS_STORED
from recon.readers.frames.world import TrueRows, violations
from recon.readers.loading.loading import models_of

tree = extra("sklearn.tree")
ensemble = extra("sklearn.ensemble")


@pytest.mark.slow
@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 60), st.sampled_from([None, 2, 4]))
def test_the_truth_is_never_excluded(seed, n, depth):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "score": rng.integers(0, 11, n) / 10,
            "c:a": (kind := rng.integers(0, 3, n)) == 0,
            "c:b": kind == 1,
            "c:c": kind == 2,
            "y": rng.integers(0, 3, n),
        }
    ).astype({"c:a": int, "c:b": int, "c:c": int})
    domain = Domain.from_frame(frame, label="y", one_hot=[["c:a", "c:b", "c:c"]])
    model = tree.DecisionTreeClassifier(max_depth=depth, random_state=0).fit(frame.drop(columns="y"), frame["y"])
    release = recon.encode(model, domain)
    assert violations(release, frame) == []
    lines = recon.certify(release, frame)
    assert (lines["verdict"] != "impossible").all()
    assert release.rows.low == n
    assert "training data" in release.assumptions[0]
    others = [v for v in domain.label.values if v != frame["y"][0]]
    if others:
        wrong = frame.copy()
        wrong.loc[0, "y"] = others[0]
        assert violations(release, wrong) != []


def test_thresholds_follow_float32():
    """16,777,217 is 16,777,216 as float32, so it goes left of a threshold between the two."""
    domain = Domain((Grid.between("x", 0, 2**25),), Categorical("y", (0, 1)))
    x = pd.DataFrame({"x": [16_777_215, 16_777_218]})
    model = tree.DecisionTreeClassifier().fit(x, [0, 1])
    found = models_of(model, domain)[0].nodes[0].condition[0][1].high
    values = np.arange(2**24 - 4, 2**24 + 4)
    left = model.apply(pd.DataFrame({"x": values})) == 1
    assert found == values[left].max()


def test_models_that_do_not_fit_the_domain_are_refused():
    domain = Domain((Categorical("x", (0, 1)),), Categorical("y", (0, 1)))
    x = pd.DataFrame({"x": [0, 0, 1, 1, 1]})
    y = [0, 0, 0, 1, 1]
    with pytest.raises(recon.ReleaseError, match="'z'"):
        recon.encode(tree.DecisionTreeClassifier().fit(x.rename(columns={"x": "z"}), y), domain)
    with pytest.raises(recon.ReleaseError, match="2 is not a value"):
        recon.encode(tree.DecisionTreeClassifier().fit(x, [0, 0, 0, 1, 2]), domain)


def test_weights_per_class_are_solved_for_and_others_leave_sizes():
    domain = Domain((Categorical("x", (0, 1)),), Categorical("y", (0, 1)))
    x = pd.DataFrame({"x": [0, 0, 1, 1, 1]})
    y = [0, 0, 0, 1, 1]
    plain = recon.encode(tree.DecisionTreeClassifier().fit(x, y), domain)
    for weight in ("balanced", {0: 3, 1: 0.7}):
        found = recon.encode(tree.DecisionTreeClassifier(class_weight=weight).fit(x, y), domain)
        assert found.models[0].nodes == plain.models[0].nodes
        assert "weighted" in found.reader_notes[0]
    any_weights = recon.encode(tree.DecisionTreeClassifier().fit(x, y, sample_weight=[1, 2, 3, 4, 5.5]), domain)
    assert [n.support.count for n in any_weights.models[0].nodes if n.condition is None] == [2, 3]
    assert any_weights.models[0].origin.counts == ("size",)
    assert "hides the classes" in any_weights.reader_notes[0]


def test_a_regression_tree_gives_sizes_and_totals_of_a_numeric_label():
    frame = pd.DataFrame({"x": [0, 0, 1, 1, 1], "y": [3, 4, 10, 11, 15]})
    model = tree.DecisionTreeRegressor(max_depth=1).fit(frame[["x"]], frame["y"])
    domain = Domain((Categorical("x", (0, 1)),), Grid.between("y", 0, 20))
    release = recon.encode(model, domain)
    assert violations(release, frame) == []
    assert recon.bound(release, {"x": 1}, "y").min == recon.bound(release, {"x": 1}, "y").max == 12
    assert violations(release, frame.assign(y=[3, 4, 10, 11, 16])) != []


def random_frame(rng, n):
    return pd.DataFrame(
        {
            "age": rng.integers(18, 91, n),
            "score": rng.integers(0, 11, n) / 10,
            "smoker": rng.integers(0, 2, n),
            "y": rng.choice(["no", "perhaps", "yes"], n),
        }
    )


FORESTS = ["RandomForestClassifier", "ExtraTreesClassifier"]


@pytest.mark.slow
@pytest.mark.parametrize("family", FORESTS)
@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(2, 60), st.sampled_from([None, 3]))
def test_every_leaf_of_a_forest_counts_the_rows_that_reach_it(family, seed, n, depth):
    """The counts are those of `apply` on the training rows; the boxes agree with `apply` on other rows too."""
    rng = np.random.default_rng(seed)
    frame, others = random_frame(rng, n), random_frame(rng, 40)
    domain = Domain.from_frame(pd.concat([frame, others]), label="y")
    fit = getattr(ensemble, family)(n_estimators=4, bootstrap=False, max_depth=depth, random_state=0)
    model = fit.fit(frame.drop(columns="y"), frame["y"])
    release = recon.encode(model, domain)
    assert release.rows.low == n
    assert violations(release, frame) == []
    where = model.apply(frame.drop(columns="y"))
    elsewhere = TrueRows.of(release, others)
    for t, block in enumerate(release.statements.blocks):
        assert block.kind == f"tree {t}"
        for s in range(len(block)):
            leaf, label = block.names[block.region[s]], domain.label.values[block.label[s]]
            hit = (where[:, t] == int(leaf.removeprefix("leaf "))) & (frame["y"] == label)
            assert block.low[s] == block.high[s] == hit.sum()
        reached = elsewhere.regions(block.boxes)[elsewhere.back]
        leaves = [int(block.names[j].removeprefix("leaf ")) for j in reached]
        assert leaves == model.apply(others.drop(columns="y"))[:, t].tolist()


@pytest.mark.slow
def test_forests_that_are_not_read_say_why():
    frame = random_frame(np.random.default_rng(0), 40)
    domain, x, y = Domain.from_frame(frame, label="y"), frame.drop(columns="y"), frame["y"]
    two = ensemble.ExtraTreesClassifier(n_estimators=3).fit(x, pd.DataFrame({"a": y, "b": y}))
    with pytest.raises(recon.Unsupported, match="several outputs"):
        recon.encode(two, domain)
    with pytest.raises(recon.ReleaseError, match="'shoe'"):
        recon.encode(ensemble.ExtraTreesClassifier(n_estimators=3).fit(x.rename(columns={"age": "shoe"}), y), domain)
    with pytest.raises(recon.Unsupported, match="KNeighborsClassifier"):
        recon.encode(ensemble.BaggingClassifier(extra("sklearn.neighbors").KNeighborsClassifier()).fit(x, y), domain)
    with pytest.raises(recon.Unsupported, match=r"--known-columns.*recon inspect"):
        recon.encode(extra("sklearn.linear_model").LogisticRegression(max_iter=2000).fit(x, y), domain)
    with pytest.raises(recon.ReleaseError, match="fitted"):
        recon.encode(ensemble.RandomForestClassifier(bootstrap=False), domain)


@pytest.mark.slow
def test_a_forest_of_full_grown_trees_is_encoded_quickly(data):
    frame = pd.read_csv(data("compas14.csv.gz"))
    x, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    model = ensemble.RandomForestClassifier(n_estimators=20, bootstrap=False, random_state=0).fit(x, y)
    domain = Domain.from_frame(frame, label=y.name)
    start = time.process_time()
    release = recon.encode(model, domain)
    assert time.process_time() - start < 30  # a tenth of a second where nothing else runs
    assert violations(release, frame) == []
    leaves = sum(one.tree_.n_leaves for one in model.estimators_)
    assert sum(len(block) for block in release.statements.blocks) == 2 * leaves


def test_an_unsplit_tree_and_a_class_never_seen():
    domain = Domain((Categorical("x", (0, 1)),), Categorical("y", (0, 1, 2)))
    model = tree.DecisionTreeClassifier().fit(pd.DataFrame({"x": [0, 1]}), [1, 1])
    release = recon.encode(model, domain)
    assert recon.count(release).value == 4
    assert recon.measure(release).dist_g == 1


def test_columns_as_independent_bits(data):
    """The paper's counting: every column a bit; the tree's Dist_G is then 1 - mean depth / d."""
    frame = pd.read_csv(data("compas14.csv.gz"))
    x, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    model = tree.DecisionTreeClassifier(max_depth=6, random_state=0).fit(x, y)
    depth = np.asarray(model.decision_path(x).sum(axis=1)).mean() - 1
    bits = recon.encode(model, Domain.from_frame(frame, label=y.name, independent=True))
    assert recon.measure(bits).dist_g == pytest.approx(1 - depth / x.shape[1], abs=1e-12)
    grouped = recon.encode(model, Domain.from_frame(frame, label=y.name))
    assert recon.count(grouped).log2 < recon.count(bits).log2
    assert violations(grouped, frame) == []


SMALL = pd.DataFrame({"a": [0, 1, 2, 3, 4, 5, 6, 7], "y": [0, 0, 0, 0, 0, 0, 1, 1]})


@pytest.mark.parametrize(
    "model",
    [
        ensemble.RandomForestClassifier(3, class_weight="balanced_subsample", min_samples_leaf=4, random_state=0),
        ensemble.HistGradientBoostingClassifier(class_weight="balanced", max_iter=1),
        tree.DecisionTreeClassifier(class_weight="balanced", monotonic_cst=[1], min_samples_leaf=8),
        tree.DecisionTreeClassifier(class_weight="balanced", max_depth=1),
        ensemble.BaggingClassifier(tree.DecisionTreeClassifier(class_weight="balanced"), 3, random_state=0),
    ],
    ids=lambda m: f"{type(m).__name__} {m.get_params().get('class_weight')}",
)
def test_weights_never_pass_for_counts(model):
    """Trees with few splits: weighted classes that happen to be whole numbers are not rows."""
    release = recon.encode(model.fit(SMALL[["a"]], SMALL["y"]), Domain.from_frame(SMALL, label="y"))
    assert violations(release, SMALL) == []


@pytest.mark.parametrize("seed", range(5))
def test_random_thresholds_on_numbers_that_float32_cannot_tell_apart(seed):
    """1.7e9 seconds and fractions: float32 has steps of 128 there, and random thresholds fall between."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"t": 1.7e9 + 5_000 * rng.random(60), "y": rng.integers(0, 2, 60)})
    domain = Domain((Continuous("t", Fraction(1_699_999_999), Fraction(1_700_005_001)),), Categorical("y", (0, 1)))
    model = ensemble.ExtraTreesClassifier(4, random_state=seed).fit(frame[["t"]], frame["y"])
    release = recon.encode(model, domain)
    assert violations(release, frame) == []


def test_trees_of_one_column_and_regressors_of_negative_numbers_are_read():
    frame = SMALL.assign(b=[3, 1, 2, 5, 7, 6, 4, 0])[["a", "b", "y"]]
    bag = ensemble.BaggingClassifier(tree.DecisionTreeClassifier(), 3, max_features=1, random_state=0)
    release = recon.encode(bag.fit(frame[["a", "b"]], frame["y"]), Domain.from_frame(frame, label="y"))
    assert violations(release, frame) == []
    below = frame.assign(y=-frame["a"])
    forest = ensemble.RandomForestRegressor(3, random_state=0).fit(below[["a", "b"]], below["y"])
    assert violations(recon.encode(forest, Domain.from_frame(below, label="y")), below) == []


def test_rows_of_weight_0_count_where_the_file_stores_them(tmp_path):
    """From scikit-learn 1.9 on weights are the probabilities of being drawn: the bags are about all rows."""
    joblib, sklearn = pytest.importorskip("joblib"), pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(3)
    x, y, weights = rng.integers(0, 9, (40, 3)), rng.integers(0, 2, 40), (np.arange(40) % 3 > 0).astype(float)
    forest = sklearn.RandomForestClassifier(5, random_state=1).fit(x, y, sample_weight=weights)
    if getattr(forest, "_sample_weight", None) is None:
        pytest.skip("this version multiplies weights")
    joblib.dump(forest, tmp_path / "forest.joblib")
    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"]).assign(y=y)
    release = recon.load(tmp_path / "forest.joblib", domain=recon.Domain.from_frame(frame, label="y"))
    assert (release.rows.low, release.rows.high) == (40, 40)
    assert ZEROS_STORED in release.assumptions
    assert not any("do not count as training rows" in line for line in release.assumptions)
    assert violations(release, frame) == []
