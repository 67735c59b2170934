"""Fitted scikit-learn trees in memory: the truth is a world, counts are exact, thresholds cut where float32 does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from extras import extra
from hypothesis import given, settings
from hypothesis import strategies as st

import recon
from encoders.domain import Domain
from encoders.values import Grid, Listed
from recon.formats.sklearn_tree import class_counts, to_tree
from recon.truth import violations

tree = extra("sklearn.tree")


@settings(max_examples=40, deadline=None)
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


def test_counts_and_fractions_are_told_apart_by_the_data():
    x = np.array([[0], [0], [1], [1], [1]])
    model = tree.DecisionTreeClassifier().fit(x, [0, 0, 0, 1, 1])

    class Old:
        """What scikit-learn stored up to 1.3: counts."""

        n_node_samples = model.tree_.n_node_samples
        weighted_n_node_samples = model.tree_.weighted_n_node_samples
        value = model.tree_.value * model.tree_.weighted_n_node_samples[:, None, None]

    assert class_counts(model.tree_).tolist() == class_counts(Old).tolist() == [[3, 2], [2, 0], [1, 2]]


def test_thresholds_follow_float32():
    """16,777,217 is 16,777,216 as float32, so it goes left of a threshold between the two."""
    domain = Domain((Grid.between("x", 0, 2**25),), Listed("y", (0, 1)))
    x = pd.DataFrame({"x": [16_777_215, 16_777_218]})
    model = tree.DecisionTreeClassifier().fit(x, [0, 1])
    found = to_tree(model, domain).nodes[0].condition[0][1].high
    values = np.arange(2**24 - 4, 2**24 + 4)
    left = model.apply(pd.DataFrame({"x": values})) == 1
    assert found == values[left].max()


def test_models_that_are_not_rows_are_refused():
    domain = Domain((Listed("x", (0, 1)),), Listed("y", (0, 1)))
    x = pd.DataFrame({"x": [0, 0, 1, 1, 1]})
    y = [0, 0, 0, 1, 1]
    with pytest.raises(recon.Unsupported, match="weights"):
        recon.encode(tree.DecisionTreeClassifier(class_weight="balanced").fit(x, y), domain)
    with pytest.raises(recon.Unsupported, match="monotonic"):
        recon.encode(tree.DecisionTreeClassifier(monotonic_cst=[1]).fit(x, y), domain)
    with pytest.raises(recon.ReleaseError, match="'z'"):
        recon.encode(tree.DecisionTreeClassifier().fit(x.rename(columns={"x": "z"}), y), domain)
    with pytest.raises(recon.ReleaseError, match="2 is not a value"):
        recon.encode(tree.DecisionTreeClassifier().fit(x, [0, 0, 0, 1, 2]), domain)
    with pytest.raises(recon.Unsupported, match="DecisionTreeRegressor"):
        recon.encode(tree.DecisionTreeRegressor().fit(x, y), domain)


def test_an_unsplit_tree_and_a_class_never_seen():
    domain = Domain((Listed("x", (0, 1)),), Listed("y", (0, 1, 2)))
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
