"""`classes_` of a stored scikit-learn model: each class that it lists has a row, and no other class has one.

Where counts say so already nothing is added. The oracle goes through all training sets of a tiny domain.
"""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Grid, Test
from encoders.encode.encoder import encode as encode_models
from encoders.encode.encoder import figures_of
from encoders.encode.marginals import marginals_of
from encoders.models.models import ColumnFigures, Provenance, Tree
from encoders.models.nodes import ModelNode, Support
from recon.readers.frames.world import violations
from recon.readers.inspection.inspecting import inspect
from recon.readers.loading.loading import encode, load
from recon.release.auditing.together import _pinned_by_columns
from solvers.foundation.limits import Limits
from solvers.statements.release import ANY_LABEL

LABELS = ("a", "b", "c", "d")
DOMAIN = Domain((Grid.between("x", 0, 3), Categorical("b", (0, 1))), Categorical("y", LABELS))
FOREST = RandomForestClassifier(3, max_depth=2, random_state=0)


def people(n=30, classes=3):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.integers(0, 4, n), "b": rng.integers(0, 2, n)})
    return frame.assign(y=np.array(LABELS)[np.arange(n) % classes])


def fitted(model, frame, weight=None):
    return model.fit(frame[["x", "b"]], frame["y"], **({} if weight is None else {"sample_weight": weight}))


def absent_rows(release):
    """Return the most rows that each partition with classes allows of the class that the model does not name."""
    blocks = [b for b in release.statements.partitions.values() if (b.label != ANY_LABEL).all()]
    return [int(block.high[block.label == 3].max()) for block in blocks]


@pytest.mark.parametrize("model", [FOREST, VotingClassifier([("one", FOREST), ("two", FOREST)])])
def test_a_bootstrap_forest_has_no_row_of_a_class_that_it_does_not_name(model):
    frame = people()
    release = encode(fitted(model, frame), DOMAIN)
    found = absent_rows(release)
    assert found
    assert not any(found)
    assert not figures_of(release)  # its counts say it
    assert not list(violations(release, frame))
    assert any("no class has a training row that the model does not name" in line for line in release.assumptions)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=2),
        RandomForestClassifier(3, max_depth=2, bootstrap=False),
        AdaBoostClassifier(n_estimators=2),
        GradientBoostingClassifier(n_estimators=2),
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2),
    ],
)
def test_where_counts_or_leaf_values_say_which_classes_occur_nothing_is_added(model):
    release = encode(fitted(model, people()), DOMAIN)
    assert not any(m.origin.columns for m in release.models)
    assert not any("classes_" in line for line in release.assumptions)


def test_a_class_that_no_bag_drew_has_a_row():
    frame = people(12, 2)
    frame.loc[11, "y"] = "c"
    forests = (fitted(RandomForestClassifier(1, random_state=seed), frame) for seed in range(100))
    model = next(one for one in forests if one.estimators_[0].tree_.value[0, 0, 2] == 0)
    release = encode(model, DOMAIN)
    (said,) = (one for m in release.models for one in m.origin.columns)
    assert (said.column, said.values) == ("y", frozenset("abc"))
    wanted = {one.source: (one.low, one.high) for one in marginals_of(release)}
    assert wanted["classes_, value c of y"] == (1, 12)
    assert wanted["classes_, no other value of y"] == (0, 0)


def test_weights_may_be_0_for_a_whole_class_so_that_only_the_others_are_excluded():
    frame, rng = people(), np.random.default_rng(0)
    weight = rng.random(len(frame)) + 0.5
    weight[frame["y"] == "c"] = 0
    release = encode(fitted(DecisionTreeClassifier(max_depth=2), frame, weight), DOMAIN)
    assert release.models[0].origin.counts == ("size",)
    (said,) = figures_of(release)
    assert (said.values, said.among) == (None, frozenset("abc"))
    values = np.stack([frame["x"], frame["b"], [LABELS.index(y) for y in frame["y"]]], axis=1)[weight > 0]
    assert all(one.met(values[:, one.attribute], np.ones(len(values), dtype=np.int64)) for one in marginals_of(release))


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize(("each", "values"), [(True, 2), (False, 2), (True, 3), (False, 3)])
def test_people_pinned_down_beside_the_classes_are_never_too_few(each, values):
    """Sizes of leaves and the classes: as many rows as classes, in leaves of one value, say who is there."""
    domain, pinned = Domain((Categorical("x", tuple(range(values))),), Categorical("y", (0, 1, 2))), 0
    every = list(product(range(values), (0, 1, 2)))
    for sizes in product((0, 1, 2, 3), repeat=2):
        for classes in ({0}, {0, 1}, {0, 1, 2}):
            worlds = [
                Counter(rows) for rows in combinations_with_replacement(every, sum(sizes))
                if all(sum(min(x, 1) == v for x, _ in rows) == sizes[v] for v in (0, 1))
                and ({y for _, y in rows} == classes if each else {y for _, y in rows} <= classes)
            ]  # fmt: skip
            if not worlds:
                continue
            common = worlds[0]
            for world in worlds:
                common = common & world
            found = _pinned_by_columns(of_sizes(sizes, classes, each, domain), 0, Limits())
            assert found.low <= sum(common.values()) <= found.high
            pinned += sum(common.values())
    assert pinned


def of_sizes(sizes, classes, each, domain):
    """Return the release of a tree with one leaf per value of x, whose sizes and classes are known."""
    figures = ColumnFigures(
        "y", "classes_", values=frozenset(classes) if each else None, among=frozenset(classes), gap=False
    )
    nodes = (ModelNode(Support(), (("x", Test((0,))),), 1, 2), *(ModelNode(Support(None, n)) for n in sizes))
    origin = Provenance("", ("size",), columns=(figures,))
    return encode_models(domain, [Tree(nodes, origin=origin)])


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), FOREST, HistGradientBoostingClassifier(max_iter=2)])
def test_the_ledger_says_that_classes_are_used(model, tmp_path):
    path = tmp_path / "m.pkl"
    path.write_bytes(pickle.dumps(fitted(model, people())))
    entries = [e for e in inspect(str(path)).ledger.entries if e.path.endswith("classes_") and "n_" not in e.path]
    assert {e.status for e in entries} <= {"used", "harmless"}
    assert any(e.status == "used" for e in entries)


def test_rows_hidden_in_a_list_of_classes_are_still_told(tmp_path):
    model = fitted(DecisionTreeClassifier(), people())
    model.classes_ = np.array(["x" * 300, "b", "c"])
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(model))
    told = {e.path: e.status for e in inspect(str(tmp_path / "m.pkl")).ledger.entries}
    assert told["classes_"] == "unknown"
    assert load(str(tmp_path / "m.pkl")).models
