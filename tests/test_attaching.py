"""Counts attached to models that carry none: against the libraries' own counts, their predictions, and brute force."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from extras import extra

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, equals
from encoders.models.models import Provenance, PublishedFigure, Statistic, Table
from recon.readers.formats.drafts.binding import Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.formats.rules import corels_saved, dl85, streed
from recon.readers.frames.world import violations
from recon.readers.loading.attaching import COUNTED, OTHER_ROWS, attach_counts
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import ReleaseError, Unsupported

GOLDEN = Path(__file__).parent / "golden" / "models"
TRUTH = {e["file"]: e["truth"] for e in json.loads((GOLDEN / "index.json").read_text())}


def bits():
    frame = pd.read_csv(GOLDEN / "data" / "bits.csv")
    return frame.drop(columns="recid"), frame["recid"]


def golden(file):
    root = open_stored((GOLDEN / file).read_bytes()).root
    if not isinstance(root, Thing):
        return corels_saved.read_saved(root, "pickle")
    return (dl85 if file.startswith("pydl8.5") else corels_saved).read(root, "pickle")


def leaves(model):
    """Return the counts of the leaves, left (then) first, or of the rules."""
    if not hasattr(model, "nodes"):
        return [list(r.support.counts) for r in model.rules]
    out, stack = [], [0]
    while stack:
        node = model.nodes[stack.pop()]
        if node.condition is None:
            out.append(list(node.support.counts))
        else:
            stack += [node.otherwise, node.then]
    return out


@dataclass
class Predicts:
    """A draft with a predict method, as fitted objects have one."""

    given: Any
    asked: list = field(default_factory=list)

    def predict(self, x):
        self.asked.append(x)
        return self.given


# ---------------------------------------------------------------- models of other libraries


@pytest.mark.parametrize("file", ["pydl8.5-0.1.8/depth_2.pkl", "pydl8.5-0.1.8/depth_3.pkl"])
def test_leaves_of_dl85_get_their_training_rows(file):
    x, y = bits()
    for features in (x, x.to_numpy()):
        release = attach_counts(golden(file), features, y)
        assert leaves(release.models[0]) == TRUTH[file]["counts"]
        assert release.rows.low == release.rows.high == 120
        assert release.models[0].origin.counts == ("exact",)
        assert COUNTED in release.models[0].origin.notes
    frame = x.assign(recid=y)
    assert violations(attach_counts(golden(file), x, y), frame) == []


@pytest.mark.parametrize("name", ["list.save", "classifier", "list_with_counts.save"])
def test_rules_of_corels_get_their_training_rows(name):
    file = f"corels-1.1.29/{name}.pkl"
    x, y = bits()
    release = attach_counts(golden(file), x, y)
    assert leaves(release.models[0]) == TRUTH[file]["counts"]
    assert violations(release, x.assign(recid=y)) == []


def test_a_path_is_read_like_a_draft(tmp_path):
    x, y = bits()
    path = GOLDEN / "corels-1.1.29/list.save.pkl"
    assert leaves(attach_counts(path, x, y).models[0]) == TRUTH["corels-1.1.29/list.save.pkl"]["counts"]
    saved = tmp_path / "release.json"
    release = attach_counts(path, x, y)
    saved.write_text(dump(release_json(release.domain, release.models, release.declared)))
    again = recon.load(str(saved))
    assert leaves(again.models[0]) == leaves(release.models[0])
    assert recon.count(again).value == recon.count(release).value
    with pytest.raises(ReleaseError, match="release file"):
        attach_counts(saved, x, y)


@pytest.mark.parametrize("seed", range(25))
def test_rules_against_brute_force(seed):
    dice = random.Random(seed)
    names = ["a", "b", "c", "d"]
    rows = [row for row in product((0, 1), repeat=4) for _ in range(dice.randint(0, 3))]
    rows += [(0, 1, 0, 1), (1, 0, 1, 0)]  # both values of every column occur
    y = np.array([dice.randint(0, 1) for _ in rows[1:]] + [0])
    y[:2] = 0, 1
    rules = [
        {
            "antecedents": [a * dice.choice([1, -1]) for a in dice.sample([1, 2, 3, 4], dice.randint(1, 3))],
            "prediction": 0,
        }
        for _ in range(dice.randint(1, 4))
    ]
    rules.append({"antecedents": [0], "prediction": 1})
    wanted = [[0, 0] for _ in rules]
    for row, label in zip(rows, y.tolist(), strict=True):
        hit = next(i for i, r in enumerate(rules) if all(row[abs(a) - 1] == (a > 0) for a in r["antecedents"] if a))
        wanted[hit][label] += 1
    draft = corels_saved.read_saved({"f": names, "r": rules, "p": "y"}, "pickle")
    frame = pd.DataFrame(rows, columns=names)
    domain = Domain(tuple(Categorical(n, (0, 1)) for n in names), Categorical("y", (0, 1)))
    release = attach_counts(draft, frame, y, domain=domain)
    assert leaves(release.models[0]) == wanted
    assert release.domain is domain


# ---------------------------------------------------------------- scikit-learn: counts that are known, missing values


def people(rows=400, holes=False):
    rng = np.random.default_rng(3)
    bmi = np.round(rng.normal(27, 4, rows), 1)
    x = pd.DataFrame({"age": rng.integers(18, 80, rows), "bmi": bmi, "smoker": rng.integers(0, 2, rows)})
    y = pd.Series(np.where((x.age > 50) + x.smoker + rng.integers(0, 2, rows) > 1, "ill", "well"), name="state")
    if holes:
        x = x.mask(rng.random(x.shape) < 0.15)
    return x, y


@pytest.mark.parametrize("holes", [False, True])
def test_a_tree_of_scikit_learn_keeps_its_own_counts(holes):
    x, y = people(holes=holes)
    model = extra("sklearn.tree").DecisionTreeClassifier(max_leaf_nodes=20, random_state=0).fit(x, y)
    release = attach_counts(model, x, y)
    assert release.reader_notes == ()
    where = model.apply(x)
    classes = [release.domain.label.value(i) for i in range(2)]
    for i, node in enumerate(release.models[0].nodes):
        if node.condition is None:
            assert list(node.support.counts) == [int(((where == i) & (y == c)).sum()) for c in classes]
    assert violations(release, x.assign(state=y)) == []


def test_a_bootstrapped_forest_gets_counts_of_training_rows():
    x, y = people()
    model = extra("sklearn.ensemble").RandomForestClassifier(5, max_leaf_nodes=9, random_state=0).fit(x, y)
    release = attach_counts(model, x, y)
    assert not release.models[0].resampled
    assert release.reader_notes == ()
    for tree, fitted in zip(release.models[0].trees, model.estimators_, strict=True):
        where = fitted.apply(x.to_numpy().astype(np.float32))
        totals = [int((where == i).sum()) for i, node in enumerate(tree.nodes) if node.condition is None]
        assert totals == [node.support.total for node in tree.nodes if node.condition is None]


def test_other_rows_than_those_of_training_are_said():
    x, y = people()
    model = extra("sklearn.tree").DecisionTreeClassifier(max_leaf_nodes=9, random_state=0).fit(x, y)
    found = attach_counts(model, x.iloc[:300], y.iloc[:300])
    assert found.reader_notes == (OTHER_ROWS,)
    assert found.rows.low == 300


# ---------------------------------------------------------------- predictions, labels, tables


def test_predictions_are_compared_with_leaves_and_known_classes(monkeypatch):
    x, y = bits()
    draft = golden("pydl8.5-0.1.8/depth_2.pkl")
    monkeypatch.setattr("recon.readers.loading.attaching._source_of", lambda model: draft)
    tree = TRUTH["pydl8.5-0.1.8/depth_2.pkl"]["tree"]

    def predict(row):
        node = tree
        while "feat" in node:
            node = node["left"] if row[node["feat"]] == 1 else node["right"]
        return node["value"]

    good = np.array([predict(row) for row in x.to_numpy()])
    assert attach_counts(Predicts(good), x, y).reader_notes == ()
    assert attach_counts(Predicts(good.astype(str)), x, y).reader_notes == ()
    one_off = good.copy()
    one_off[7] = 1 - one_off[7]
    for bad in (one_off, 1 - good):
        with pytest.raises(ReleaseError, match="not encoded as the model was fitted"):
            attach_counts(Predicts(bad), x, y)
    assert "failed on X" in attach_counts(Broken(), x, y).reader_notes[0]
    assert "gave 3 of 120" in attach_counts(Predicts(good[:3]), x, y).reader_notes[0]
    assert "has no predict" in attach_counts(draft, x, y).reader_notes[0]


class Broken:
    def predict(self, x):
        raise RuntimeError("no")


def test_a_table_of_labels_becomes_counts_of_its_groups():
    x, y = bits()
    groups = [(("juvenile", equals(1)),), (("juvenile", equals(0)), ("priors:>3", equals(1)))]
    figures = tuple(PublishedFigure(g, statistic=Statistic("mean", "recid=1", 0.75, 0.25)) for g in groups)
    features = tuple(Feature(c, c) for c in x.columns)
    draft = Draft(Provenance("text", ("label",)), features, (Table(figures),), (0, 1), "recid")
    release = attach_counts(draft, x, y)
    inside = [x.juvenile == 1, (x.juvenile == 0) & (x["priors:>3"] == 1)]
    wanted = [[int((i & (y == c)).sum()) for c in (0, 1)] for i in inside]
    assert leaves(release.models[0]) == wanted
    assert release.models[0].kind == "rule_set"
    assert violations(release, x.assign(recid=y)) == []


def test_rows_that_do_not_fit_are_named():
    x, y = bits()
    draft = golden("corels-1.1.29/list.save.pkl")
    for args, word in [
        ((x, y.iloc[1:]), "120 rows and y 119"),
        ((x.iloc[:0], y.iloc[:0]), "no rows"),
        ((x, y.where(y.index != 4)), "missing labels"),
        ((x["juvenile"], y), "dimensions"),
        ((x.drop(columns="priors:>3"), y), "priors:>3"),
    ]:
        with pytest.raises(ReleaseError, match=word):
            attach_counts(draft, *args)
    with pytest.raises(ReleaseError, match="6 unnamed features, X has 2"):
        attach_counts(golden("pydl8.5-0.1.8/depth_2.pkl"), x.iloc[:, :2], y)
    with pytest.raises(ReleaseError, match="no label"):
        attach_counts(draft, x, y, domain=Domain(tuple(Categorical(c, (0, 1)) for c in x.columns)))
    with pytest.raises(Unsupported, match="not read"):
        attach_counts(object(), x, y)


# ---------------------------------------------------------------- STreeD, which lives in memory only


@dataclass
class Node:
    """A node as pystreed's C++ class shows it."""

    num_instances_per_class: list
    feature: int = -1
    left_child: Any = None
    right_child: Any = None

    @property
    def num_instances(self):
        return sum(self.num_instances_per_class)

    def is_leaf_node(self):
        return self.left_child is None


def as_streed(kind):
    kind.__module__, kind.__name__ = "pystreed.classification", "STreeDClassifier"
    return kind


@dataclass
class Parts:
    """A binarizer, or a part of one."""

    binary_columns: list = field(default_factory=list)
    categorical_columns: list = field(default_factory=list)
    continuous_columns: list = field(default_factory=list)
    categorical_binarizer: Any = None
    continuous_binarizer: Any = None
    binary_feature_limiter: Any = None
    categories_: list = field(default_factory=list)
    thresholds_: list = field(default_factory=list)
    column_names_: list = field(default_factory=list)
    select_features_: list = field(default_factory=list)


def fake(limited=None):
    """Return rows, labels and a model whose tree tests city, age and smoker, like pystreed binarises them."""
    rng = np.random.default_rng(2)
    x = pd.DataFrame({"smoker": rng.integers(0, 2, 90), "age": rng.integers(18, 70, 90)})
    x.insert(1, "city", rng.choice(["A", "B", "C", "D"], 90))
    y = rng.choice([1, 2], 90)
    columns = [x.smoker == 1, x.city == "A", x.city.isin(["B", "C"]), x.city == "D", x.age <= 30.5, x.age <= 44]

    def grow(rows, tests):
        counts = [0, int((y[rows] == 1).sum()), int((y[rows] == 2).sum())]
        if not tests:
            return Node(counts)
        one = columns[tests[0]].to_numpy()
        at = tests[0] if limited is None else limited.index(tests[0])
        return Node(counts, at, grow(rows & ~one, tests[1:]), grow(rows & one, tests[1:]))

    @as_streed
    class Model:
        classes_ = [np.int64(1), np.int64(2)]  # noqa: RUF012
        tree_ = grow(np.ones(90, dtype=bool), [5, 2, 0])
        binarizer_ = Parts(["smoker"], ["city"], ["age"])

        def predict(self, table):
            return np.zeros(len(table))

    ages = ["age <= 30.5", "age <= 44"]
    Model.binarizer_.categorical_binarizer = Parts(categories_=[["A", ["B", "C"], "D"]])
    Model.binarizer_.categorical_binarizer.column_names_ = [["city == 'A'", "city in ['B','C']", "city == 'D'"]]
    Model.binarizer_.continuous_binarizer = Parts(thresholds_=[np.array([30.5, 44.0])], column_names_=[ages])
    if limited is not None:
        written = ["smoker", *Model.binarizer_.categorical_binarizer.column_names_[0], *ages]
        Model.binarizer_.binary_feature_limiter = Parts(select_features_=[written[c] for c in limited])
    return x, y, Model()


@pytest.mark.parametrize("limited", [None, [2, 5, 0, 1]])
def test_a_tree_of_streed_carries_its_counts(limited):
    x, y, model = fake(limited)
    draft = streed.of_model(model)
    assert draft.origin.counts == ("exact",)
    release = attach_counts(model, x, y)
    assert leaves(release.models[0]) == leaves(draft.models[0])
    assert sum(map(sum, leaves(release.models[0]))) == 90
    assert release.reader_notes == ()
    assert violations(release, x.assign(label=y)) == []


def test_a_stored_or_unfitted_streed_is_refused():
    _, _, model = fake()
    type(model).tree_ = None
    with pytest.raises(ReleaseError, match="not fitted"):
        streed.of_model(model)
    with pytest.raises(Unsupported, match="cannot be pickled"):
        streed.read(open_stored(b"\x80\x02cpystreed.classification\nSTreeDClassifier\n)\x81.").root, "pickle")


def test_a_printed_corels_list_keeps_its_order(tmp_path):
    """Without counts the text says little of its rules; with the rows at hand it is a rule list all the same."""
    text = "OPTIMAL RULE LIST\nif ({a}) then ({y:1})\nelse if ({b,not c}) then ({y:0})\nelse ({y:1})\n"
    path = tmp_path / "list.txt"
    path.write_text(text, encoding="utf-8")
    frame = pd.DataFrame([(1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 0, 0), (1, 0, 1)], columns=["a", "b", "c"])
    release = attach_counts(path, frame, pd.Series([1, 0, 1, 0, 1], name="y"))
    assert leaves(release.models[0]) == [[0, 2], [1, 0], [1, 1]]
    assert release.models[0].kind == "rule_list"
