"""Who chose a model, and with which settings: read, written, asked for, and as limits that a tree must keep."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import MISSING, fields, replace

import msgspec
import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Test
from encoders.encode.encoder import encode
from encoders.models.learner_facts import Learner
from encoders.models.ledger import PrivacyStep
from encoders.models.models import Forest, Provenance, Rule, RuleList, Tree, kinds_of
from encoders.models.nodes import ModelNode, Nodes, Support
from encoders.models.related import DataSet
from recon.cli.session import _known_learner
from recon.io.console.learner_option import AMOUNTS, SWITCHES, WHOLE_SETTINGS, WORDS, asked_of
from recon.learner_rule.chosen_model import (
    _improvements,
    _learners_of,
    check_limits,
    chosen_list,
    chosen_tree,
    columns_of,
    exact_refusals,
    greedy_rule,
    learner_of,
    least_rows,
    limits_of,
    not_used,
)
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.readers.formats.release.schema import (
    DataSetPart,
    DomainPart,
    GradientsPart,
    LearnerPart,
    LedgerEntryPart,
    learner_json,
)
from recon.readers.formats.release.writing import dump, release_json
from recon.readers.loading.loading import models_of
from recon.report.wording.headline import provenance_json, provenance_lines
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.greedy.gains import ChosenTree
from solvers.greedy.rule_lists import ListLevel
from solvers.statements.gradients.boosted import Gradients

OFF = {"source": "the file", "version": "1.9.1"}


def table(rows=90, columns=6, seed=0):
    """Return binary features and labels that depend on some of them."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame((rng.random((rows, columns)) < 0.5).astype(int), columns=[f"c{k}" for k in range(columns)])
    y = ((x.c0 + x[f"c{columns - 1}"] + rng.random(rows)) > 1.3).astype(int)
    return x, y.rename("y")


X, Y = table()
BITS = Domain.from_frame(X.assign(y=Y), label="y", independent=True)


def read(model, x=X, y=Y):
    """Return the only learner that a fitted model's readers name."""
    (found,) = {m.origin.learner for m in models_of(model.fit(x, y), BITS) if m.kind != "table"}
    return found


def said(model):
    """Return the settings of a model, without what only says where they were read."""
    return None if (found := read(model)) is None else replace(found, source="", version="")


def test_every_setting_of_a_tree_is_read():
    model = DecisionTreeClassifier(
        criterion="entropy", max_depth=4, min_samples_split=7, min_samples_leaf=3, min_weight_fraction_leaf=0.05,
        max_features=4, max_leaf_nodes=9, min_impurity_decrease=0.001, ccp_alpha=0.0005, class_weight="balanced",
        random_state=0,
    )  # fmt: skip
    wanted = Learner(
        "sklearn tree", "entropy", "best", 4, 7, 3, 0.05, 4, 9, 0.001, 0.0005, weighted=True, columns=6,
    )  # fmt: skip
    assert said(model) == wanted
    found = read(model)
    assert found.source == "the file"
    assert found.version.count(".") == 2


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.one_of(st.integers(1, 9), st.floats(0.01, 0.5)),
    st.one_of(st.integers(2, 20), st.floats(0.01, 1.0)),
    st.one_of(st.none(), st.sampled_from(["sqrt", "log2"]), st.integers(1, 6), st.floats(0.1, 1.0)),
    st.sampled_from([DecisionTreeClassifier, ExtraTreeClassifier, DecisionTreeRegressor]),
)
def test_fractions_are_worked_out_as_scikit_learn_does(leaf, split, tried, kind):
    model = kind(min_samples_leaf=leaf, min_samples_split=split, max_features=tried, random_state=0)
    found = read(model)
    rows = len(X)
    assert found.min_samples_leaf == (leaf if isinstance(leaf, int) else math.ceil(leaf * rows))
    assert found.min_samples_split == (split if isinstance(split, int) else max(2, math.ceil(split * rows)))
    assert found.max_features == (None if model.max_features_ >= 6 else model.max_features_)
    assert found.splitter == ("random" if kind is ExtraTreeClassifier else "best")
    assert not found.weighted


def test_a_weighted_tree_says_so():
    weights = np.arange(1, len(X) + 1)
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y, sample_weight=weights / 3)
    assert models_of(model, BITS)[0].origin.learner.weighted
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y, sample_weight=weights)  # or rows drawn several times
    assert models_of(model, BITS)[0].origin.learner is None
    signs = DecisionTreeClassifier(max_depth=2, monotonic_cst=[1, 0, 0, 0, 0, 0])
    assert said(signs).monotonic
    assert not said(DecisionTreeClassifier(max_depth=2, monotonic_cst=[0] * 6)).monotonic


@pytest.mark.parametrize(
    ("model", "bootstrap", "splitter", "tried"),
    [
        (RandomForestClassifier(4, max_depth=3, random_state=0), True, "best", 2),
        (
            RandomForestClassifier(4, max_depth=3, bootstrap=False, max_features=None, random_state=0),
            False,
            "best",
            None,
        ),
        (ExtraTreesClassifier(4, max_depth=3, random_state=0), False, "random", 2),
        (RandomForestRegressor(4, max_depth=3, random_state=0), True, "best", None),
        (BaggingClassifier(DecisionTreeClassifier(max_depth=3), 4, random_state=0), True, "best", None),
    ],
)
def test_forests_say_what_their_trees_were_given(model, bootstrap, splitter, tried):
    found = read(model)
    assert (found.name, found.max_depth, found.columns) == ("sklearn forest", 3, 6)
    assert (found.bootstrap, found.splitter, found.max_features) == (bootstrap, splitter, tried)


def test_fractions_of_a_forest_are_of_all_its_rows():
    model = RandomForestClassifier(3, min_samples_leaf=0.051, random_state=0)
    assert read(model).min_samples_leaf == math.ceil(0.051 * len(X))


def test_a_forest_fitted_twice_with_other_settings_has_none():
    model = RandomForestClassifier(2, max_depth=2, warm_start=True, random_state=0).fit(X, Y)
    model.set_params(n_estimators=4, max_depth=3)
    assert read(model) is None


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingClassifier(n_estimators=2),
        AdaBoostClassifier(n_estimators=2),
        IsolationForest(n_estimators=2, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, max_features=0.5, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_what_has_no_rule_of_its_own_says_none(model):
    assert read(model) is None


def test_pipelines_searches_and_votes_keep_them():
    tree = DecisionTreeClassifier(max_depth=2, criterion="entropy")
    assert read(Pipeline([("scaled", StandardScaler()), ("tree", tree)])).criterion == "entropy"
    assert read(GridSearchCV(tree, {"max_depth": [3]}, cv=2)).max_depth == 3
    vote = VotingClassifier([("a", tree), ("b", DecisionTreeClassifier(max_depth=1))]).fit(X, Y)
    assert [m.origin.learner.max_depth for m in models_of(vote, BITS)] == [2, 1]
    assert read(CalibratedClassifierCV(tree, cv=2, ensemble=False)).max_depth == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("criterion", 3), ("splitter", "other"), ("max_depth", -1), ("min_samples_leaf", "x"), ("ccp_alpha", math.nan),
     ("max_features", [1]), ("min_weight_fraction_leaf", 0.9), ("min_samples_split", 2.5), ("max_leaf_nodes", 1)],
)  # fmt: skip
def test_settings_that_make_no_sense_are_no_settings(name, value):
    model = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    setattr(model, name, value)
    assert models_of(model, BITS)[0].origin.learner is None


def numbers(name):
    """Return a strategy of the values of a whole setting."""
    return st.one_of(st.none(), st.integers(WHOLE_SETTINGS[name], 10**6))


LEARNERS = st.builds(
    Learner,
    st.sampled_from(["sklearn tree", "optimal tree"]),
    criterion=st.one_of(st.none(), st.sampled_from(WORDS["criterion"])),
    splitter=st.sampled_from(WORDS["splitter"]),
    max_depth=numbers("max_depth"), min_samples_split=st.integers(2, 99), min_samples_leaf=st.integers(1, 99),
    min_weight_fraction_leaf=st.floats(0, 0.5), max_features=numbers("max_features"),
    max_leaf_nodes=numbers("max_leaf_nodes"), min_impurity_decrease=st.floats(0, 1e6), ccp_alpha=st.floats(0, 1e6),
    weighted=st.booleans(), bootstrap=st.booleans(), columns=numbers("columns"), monotonic=st.booleans(),
    version=st.sampled_from(["", "1.9.1"]), source=st.just("the file"),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(LEARNERS)
def test_release_files_hold_settings_exactly(learner):
    model = Tree(Nodes.of(TREE.nodes), "tree", origin=Provenance("", (), learner=learner))
    text = dump(release_json(BITS, [model], None))
    (part,) = json.loads(text)["models"]
    assert part["learner"] == learner_json(learner)
    assert "read_from" not in part
    back = recon.readers.formats.release.reading.parse(text.encode(), "a")
    (found,) = recon.readers.formats.release.reading.to_models(back)
    assert found == model
    assert dump(release_json(BITS, [found], None)) == text


def small_tree():
    """Return a fitted tree of depth 2, as a model over bits."""
    return models_of(DecisionTreeClassifier(max_depth=2).fit(X, Y), BITS)[0]


TREE = small_tree()


def release_with(learner, kind="tree"):
    """Return a release file with settings as they are given."""
    rules = [{"if": {"c0": 1}, "counts": [1, 2]}, {"if": {}, "counts": [2, 1]}]
    leaves = [{"if": {"c0": 1}, "then": 1, "else": 2}, {"counts": [0, 2]}, {"counts": [2, 0]}]
    body = {
        "tree": {"nodes": leaves}, "forest": {"trees": [{"nodes": leaves}]}, "rule_list": {"rules": rules},
        "rule_set": {"rules": rules[:1]}, "table": {"statements": []},
    }[kind]  # fmt: skip
    domain = {"attributes": [{"name": "c0", "values": [0, 1]}], "label": {"name": "y", "values": [0, 1]}}
    return {"recon": 1, "domain": domain, "models": [{"kind": kind, **body, "learner": learner}]}


@pytest.mark.parametrize(
    ("learner", "kind", "why"),
    [
        ({"name": "sklearn tree", "depth": 3}, "tree", "learner.depth: unknown key"),
        ({"name": "CART"}, "tree", "learner.name: It must be 'greedy rule list'"),
        ({}, "tree", "learner.name: is missing"),
        ({"name": "sklearn tree"}, "rule_list", "learned by 'greedy rule list' or 'optimal rule list', not by"),
        ({"name": "sklearn forest"}, "tree", "a tree is learned by"),
        ({"name": "greedy rule list"}, "forest", "a forest is learned by"),
        ({"name": "sklearn tree", "width": 1}, "tree", "learner.width: belongs to rule lists"),
        ({"name": "sklearn tree", "max_depth": 0}, "tree", "learner.max_depth: It must be a whole number"),
        ({"name": "sklearn tree", "min_samples_leaf": 0.1}, "tree", "but it is 0.1"),
        ({"name": "sklearn tree", "splitter": "worst"}, "tree", "learner.splitter: It must be 'best' or 'random'"),
        ({"name": "sklearn tree", "ccp_alpha": -0.5}, "tree", "learner.ccp_alpha: It must be a number >= 0"),
        ({"name": "sklearn tree", "min_weight_fraction_leaf": 0.7}, "tree", "leaf: is at most 0.5, but it is 0.7"),
        ({"name": "sklearn tree"}, "rule_set", "unknown key"),
        ({"name": "sklearn tree"}, "table", "unknown key"),
    ],
)
def test_what_is_no_learner_is_refused(encoded, learner, kind, why):
    with pytest.raises(ReleaseError) as caught:
        encoded(release_with(learner, kind))
    assert why in str(caught.value)


def test_a_learner_alone_is_no_other_format(encoded):
    release = encoded(release_with({"name": "sklearn tree", "criterion": "gini"}))
    assert release.models[0].origin.learner == Learner("sklearn tree", "gini", source="the file")
    bare = release_with(None)
    del bare["models"][0]["learner"]
    plain = encoded(bare)
    assert kinds_of(release.models[0]) == kinds_of(plain.models[0]) == ("exact",)
    assert provenance_json(release) == provenance_json(plain)
    assert provenance_lines(release) == provenance_lines(plain)


def test_convert_keeps_settings(run, tmp_path):
    stored, out, again = tmp_path / "tree.pkl", tmp_path / "tree.json", tmp_path / "again.json"
    model = DecisionTreeClassifier(max_depth=3, min_samples_leaf=0.03, criterion="log_loss").fit(X, Y)
    stored.write_bytes(pickle.dumps(model))
    run("convert", stored, "--out", out)
    run("convert", out, "--out", again)
    release = recon.load(str(out))
    assert release.models[0].origin.learner == recon.load(str(stored)).models[0].origin.learner
    assert release.models[0].origin.learner.min_samples_leaf == 3
    assert json.loads(out.read_text())["models"] == json.loads(again.read_text())["models"]


def test_learning_a_list_writes_settings(run, tmp_path):
    data, out = tmp_path / "data.csv", tmp_path / "list.json"
    X.assign(y=Y).to_csv(data, index=False)
    run("learn", "greedy-rule-list", data, "--out", out, "--min-support", "0.1", "--max-length", "3", "--no-negations")
    found = recon.load(str(out)).models[0].origin.learner
    wanted = Learner(
        "greedy rule list", "gini", width=1, max_length=3, min_support=9, negations=False, ties="authors", columns=6,
        source="the file",
    )  # fmt: skip
    assert found == wanted
    run("learn", "optimal-rule-list", data, "--out", out, "--min-support", "0.1", "--max-length", "1")
    found = recon.load(str(out)).models[0].origin.learner
    assert (found.name, found.max_length, found.min_support) == ("optimal rule list", 2, 9)
    run("learn", "optimal-tree", data, "--out", out, "--max-depth", "2", "--solver", "own")
    found = recon.load(str(out)).models[0].origin.learner
    assert (found.name, found.max_depth, found.min_samples_leaf) == ("optimal tree", 2, 4)


def test_without_a_proof_nothing_is_claimed():
    model = OptimalTreeClassifier(max_depth=2, solver="own").fit(X, Y)
    assert model.to_model().origin.learner.name == "optimal tree"
    model.optimal_ = False
    assert model.to_model().origin is None
    charged = OptimalRuleListClassifier(max_length=1, regularisation=0.01).fit(X, Y)
    assert charged.to_model().origin is None


# What is asked for


def test_settings_on_the_command_line():
    asked = asked_of(
        "greedy:criterion=entropy,max_depth=none,min_samples_leaf=2,min_impurity_decrease=1e-3,weighted=false"
    )
    assert asked.known == "greedy"
    assert asked.settings == {
        "criterion": "entropy", "max_depth": None, "min_samples_leaf": 2, "min_impurity_decrease": 1e-3,
        "weighted": False,
    }  # fmt: skip
    assert _known_learner("auto") == "auto"
    assert {*WORDS, *WHOLE_SETTINGS, *AMOUNTS, *SWITCHES} == {f.name for f in fields(Learner)} - {
        "name",
        "source",
        "version",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cart", "choose none, midpoints, greedy, optimal or auto"),
        ("", "there is no learner ''"),
        ("auto:max_depth=3", "'auto' takes no settings"),
        ("greedy:", "'' is not a setting"),
        ("greedy:max_depth", "is not a setting: write name=value"),
        ("greedy:max_depth=0", "at least 1, not '0'"),
        ("greedy:max_depth=3,max_depth=4", "given twice"),
        ("greedy:min_samples_leaf=0.1", "fractions of the rows or columns are worked out first"),
        ("greedy:min_samples_leaf=none", "whole number of at least 1"),
        ("greedy:max_depth=99999999999999999999", "at least 1"),
        ("greedy:criterion=foo", "criterion is one of gini"),
        ("greedy:bootstrap=yes", "true or false"),
        ("greedy:min_weight_fraction_leaf=0.7", "up to 0.5"),
        ("greedy:ccp_alpha=nan", "ccp_alpha is a number"),
        ("greedy:ccp_alpha=x", "ccp_alpha is a number"),
        ("optimal:depth=3", "there is no setting 'depth'"),
    ],
)
def test_wrong_settings_are_wrong_usage(text, why):
    with pytest.raises(typer.BadParameter) as caught:
        _known_learner(text)
    assert why in str(caught.value)
    with pytest.raises(ReleaseError):
        learner_of(encode(BITS, [TREE]), text)


def test_what_the_file_says():
    release = encode(BITS, [TREE])
    stored = TREE.origin.learner
    assert learner_of(release, "none") is None
    assert learner_of(release, "auto") == learner_of(release, "greedy") == learner_of(release, "midpoints") == stored
    both = learner_of(release, "greedy:max_depth=7")
    assert both == replace(stored, max_depth=7, source="the file and --learner")
    with pytest.raises(Unsupported, match="learned by sklearn tree: --learner auto"):
        learner_of(release, "optimal")


def test_a_file_that_does_not_say():
    release = encode(BITS, [replace(TREE, origin=None)])
    assert learner_of(release, "auto") is None
    assert learner_of(release, "midpoints") == Learner("sklearn tree", source="--learner")
    with pytest.raises(Unsupported, match=r"give the settings, as in --learner greedy:criterion=gini"):
        learner_of(release, "greedy")
    given_settings = learner_of(release, "greedy:max_depth=2")
    assert given_settings == Learner("sklearn tree", "gini", max_depth=2, source="--learner")
    assert learner_of(release, "optimal:max_depth=2").name == "optimal tree"


def test_models_with_different_learners_are_asked_about_one_by_one():
    other = replace(TREE, name="other", origin=replace(TREE.origin, learner=replace(TREE.origin.learner, max_depth=9)))
    release = encode(BITS, [TREE, other])
    assert [one.max_depth for one in _learners_of(release, "auto")] == [2, 9]
    with pytest.raises(Unsupported, match="tree and other have different learners"):
        learner_of(release, "auto")
    assert learner_of(encode(BITS, [TREE, replace(TREE, name="b")]), "auto") == TREE.origin.learner
    mixed = encode(BITS, [replace(TREE, origin=None), other])
    assert _learners_of(mixed, "greedy") == (None, other.origin.learner)


def test_other_kinds_of_models_have_no_such_rule():
    boosted = recon.encode(GradientBoostingClassifier(n_estimators=2).fit(X, Y), BITS)
    assert learner_of(boosted, "auto") is None
    with pytest.raises(Unsupported, match="boosted models have no rule"):
        learner_of(boosted, "greedy")
    with pytest.raises(Unsupported, match="midpoints"):
        learner_of(boosted, "midpoints")
    extra = recon.encode(ExtraTreesClassifier(2, max_depth=2, random_state=0).fit(X, Y), BITS)
    with pytest.raises(Unsupported, match="draws thresholds"):
        learner_of(extra, "midpoints")
    assert learner_of(extra, "greedy").splitter == "random"


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"weighted": True}, "rows are weighted"),
        ({"bootstrap": True}, "bootstrap"),
        ({"splitter": "random"}, "splitter random"),
        ({"max_features": 2}, "max_features 2 of 6"),
        ({"monotonic": True}, "monotonic constraints"),
        ({"criterion": "squared_error"}, "criterion squared_error"),
        ({"columns": 9}, "chose among 9 columns, the domain has 6"),
        ({"name": "sklearn forest"}, "single greedy trees"),
        ({"name": "greedy rule list", "width": 2}, "width 2"),
    ],
)
def test_what_no_exact_count_is_made_of(change, why):
    (reason,) = exact_refusals(replace(Learner("sklearn tree", "gini", source="the file"), **change), 6)
    assert why in reason
    if "name" not in change:
        with pytest.raises(Unsupported, match=why):
            chosen_tree(encode(BITS, [TREE]), TREE, replace(TREE.origin.learner, **change))


def test_limits_never_are_a_reason():
    held = Learner(
        "sklearn tree", "log_loss", "best", 3, 5, 2, 0.1, 6, 8, 0.01, 0.02, columns=6, source="the file"
    )  # fmt: skip
    assert exact_refusals(held, 6) == ()


# The tree that was chosen


OPTIONS = st.fixed_dictionaries({
    "criterion": st.sampled_from(["gini", "entropy", "log_loss"]),
    "max_depth": st.one_of(st.none(), st.integers(1, 5)),
    "min_samples_split": st.integers(2, 12),
    "min_samples_leaf": st.integers(1, 6),
    "min_weight_fraction_leaf": st.sampled_from([0.0, 0.0, 0.03, 0.11]),
    "max_leaf_nodes": st.one_of(st.none(), st.integers(2, 12)),
    "min_impurity_decrease": st.sampled_from([0.0, 0.0, 0.002, 0.02]),
    "ccp_alpha": st.sampled_from([0.0, 0.0, 0.01]),
})  # fmt: skip


def admissible(x, y, learner, rows):
    """Return whether some column splits these rows into children that are large enough, and gains enough."""
    least = max(learner.min_samples_leaf, math.ceil(learner.min_weight_fraction_leaf * len(x)))
    part, labels = x[rows], y[rows]
    for ones in part.T.astype(bool):
        if min(ones.sum(), (~ones).sum()) < least:
            continue
        tree = DecisionTreeClassifier(criterion=learner.criterion, max_depth=1).fit(ones[:, None], labels).tree_
        if tree.node_count == 1:
            continue
        after = (tree.impurity[1:] * tree.n_node_samples[1:]).sum() / len(part)
        if len(part) / len(x) * (tree.impurity[0] - after) + 1e-9 >= learner.min_impurity_decrease:
            return True
    return False


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(OPTIONS, st.integers(0, 1_000), st.integers(10, 120))
def test_fitted_trees_keep_their_limits_and_open_leaves_have_no_split(options, seed, rows):
    x, y = table(rows, 5, seed)
    if y.nunique() < 2:
        return
    domain = recon_bits(5)
    model = DecisionTreeClassifier(**options, random_state=seed).fit(x, y)
    (found,) = models_of(model, domain)
    tree = chosen_tree(encode(domain, [found]), found, found.origin.learner)
    stored = model.tree_
    inner = stored.children_left >= 0
    assert np.array_equal(tree.then, stored.children_right)  # 1 goes right
    assert np.array_equal(tree.otherwise, stored.children_left)
    assert np.array_equal(tree.column[inner], stored.feature[inner])
    assert np.array_equal(tree.counts.sum(axis=1), stored.n_node_samples)
    at = model.apply(x)
    for node in np.flatnonzero(tree.open_leaf):
        assert not admissible(x.to_numpy(), y.to_numpy(), found.origin.learner, at == node)
    if options["max_leaf_nodes"] is None and not options["ccp_alpha"]:  # all others were stopped, or are pure
        large = np.maximum(options["min_samples_split"], 2 * least_rows(found.origin.learner, rows))
        for node in np.flatnonzero(~inner & ~tree.open_leaf & (stored.impurity > 0)):
            assert stored.n_node_samples[node] < large or tree.links.depths[node] == options["max_depth"]


def recon_bits(columns):
    """Return a domain of bits called c0, c1, ... and a label of two classes."""
    frame = pd.DataFrame([[0] * (columns + 1), [1] * (columns + 1)], columns=[f"c{k}" for k in range(columns)] + ["y"])
    return Domain.from_frame(frame, label="y", independent=True)


def test_gains_are_those_of_scikit_learn():
    for criterion in ("gini", "entropy"):
        model = DecisionTreeClassifier(criterion=criterion, max_depth=5).fit(X, Y)
        (found,) = models_of(model, BITS)
        tree, stored = chosen_tree(encode(BITS, [found]), found, found.origin.learner), model.tree_
        gain = _improvements(tree, criterion)
        for node in np.flatnonzero(stored.children_left >= 0):
            left, right = stored.children_left[node], stored.children_right[node]
            sides = sum(stored.impurity[c] * stored.n_node_samples[c] for c in (left, right))
            whole = stored.impurity[node] * stored.n_node_samples[node]
            assert gain[node] == pytest.approx((whole - sides) / len(X), abs=1e-14)


def nodes_of(**named):
    """Return a tree over columns c0 and c1 by hand: split on c0, then on c1 where it is 1."""
    counts = {"zero": (3, 1), "one_zero": (1, 2), "one_one": (0, 3), **named}
    then, otherwise = np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1])
    leaves = np.array([(0, 0), (0, 0), counts["zero"], counts["one_one"], counts["one_zero"]])
    leaves[1] = leaves[3] + leaves[4]
    leaves[0] = leaves[1] + leaves[2]
    column = np.array([0, named.pop("again", 1), -1, -1, -1])
    return ChosenTree(then, otherwise, column, leaves, np.zeros(5, dtype=bool))


GINI = Learner("sklearn tree", "gini", source="--learner")


@pytest.mark.parametrize(
    ("limits", "tree", "why"),
    [
        ({"max_depth": 1}, {}, "node 1 is split at depth 1, and max_depth is 1"),
        ({"min_samples_leaf": 4}, {}, "node 4 holds 3 rows, and min_samples_leaf is 4 rows"),
        ({"min_weight_fraction_leaf": 0.35}, {}, "min_weight_fraction_leaf is 4 rows"),
        ({"min_samples_split": 7}, {}, "node 1 is split with 6 rows, and min_samples_split is 7"),
        (
            {"min_impurity_decrease": 0.06},
            {},
            "node 1 is split with a gain of 0.0333333, and min_impurity_decrease is 0.06",
        ),
        ({"max_leaf_nodes": 2}, {}, "it has 3 leaves, and max_leaf_nodes is 2"),
        ({}, {"one_zero": (0, 2)}, "node 1 is split although its 5 rows are of one class"),
        ({}, {"one_zero": (0, 0), "one_one": (1, 3)}, "node 4 holds 0 rows, and min_samples_leaf is 1 row"),
        ({}, {"again": 0}, "node 1 splits on c0, which is constant in it"),
    ],
)
def test_limits_that_are_broken_are_named(limits, tree, why):
    check_limits(GINI, nodes_of(), "tree", ["c0", "c1"])
    with pytest.raises(ContradictionError) as caught:
        check_limits(replace(GINI, **limits), nodes_of(**tree), "tree", ["c0", "c1"])
    assert why in str(caught.value)
    assert caught.value.conflict[0] in str(caught.value)


def test_limits_just_kept_pass():
    kept = replace(GINI, max_depth=2, min_samples_leaf=3, min_samples_split=6, max_leaf_nodes=3)
    check_limits(replace(kept, min_impurity_decrease=1 / 30), nodes_of(), "tree", ["c0", "c1"])
    check_limits(replace(GINI, min_weight_fraction_leaf=0.3), nodes_of(), "tree", ["c0", "c1"])


def test_best_first_trees_are_split_in_the_order_of_their_gains():
    x, y = table(200, 6, 3)
    model = DecisionTreeClassifier(max_leaf_nodes=8).fit(x, y)
    domain = recon_bits(6)
    (found,) = models_of(model, domain)
    learner = found.origin.learner
    tree = chosen_tree(encode(domain, [found]), found, learner)
    inner = np.flatnonzero(tree.then >= 0)
    swap = np.arange(len(tree.then))
    gain = _improvements(tree, "gini")
    pairs = [
        (a, b) for a in inner for b in inner if a and b and gain[a] < gain[b] and tree.otherwise[a] > tree.otherwise[b]
    ]
    a, b = next((a, b) for a, b in pairs if tree.otherwise[b] < tree.otherwise[a])
    for one, other in ((a, b), (b, a)):
        for side in (tree.then, tree.otherwise):
            swap[side[one]] = side[other]
    # the children of the two nodes are numbered as if the worse had been split first
    back = np.argsort(swap)

    def moved(children):
        return np.where(children[back] >= 0, swap[children[back]], -1)

    wrong = ChosenTree(
        moved(tree.then), moved(tree.otherwise), tree.column[back], tree.counts[back], tree.open_leaf[back]
    )
    check_limits(learner, tree, "tree", list(X.columns), in_order=True)
    check_limits(learner, wrong, "tree", list(X.columns))
    with pytest.raises(ContradictionError, match="promised more"):
        check_limits(learner, wrong, "tree", list(X.columns), in_order=True)


def test_a_full_best_first_tree_has_no_open_leaf():
    tree = nodes_of()
    assert limits_of(GINI, tree).tolist() == [False, False, True, False, True]
    assert limits_of(replace(GINI, max_leaf_nodes=4), tree).sum() == 2
    assert not limits_of(replace(GINI, max_leaf_nodes=3), tree).any()
    assert not limits_of(replace(GINI, ccp_alpha=0.1), tree).any()
    assert limits_of(replace(GINI, max_depth=2), tree).tolist() == [False, False, True, False, False]
    assert limits_of(replace(GINI, min_samples_split=4), tree).tolist() == [False, False, True, False, False]
    assert not limits_of(replace(GINI, min_samples_leaf=3), tree).any()


def test_what_is_known_beside_is_said():
    tree = nodes_of()
    assert not_used(replace(GINI, max_leaf_nodes=4, max_depth=2), tree) == ()
    (order,) = not_used(replace(GINI, max_leaf_nodes=3), tree)
    (pruned,) = not_used(replace(GINI, ccp_alpha=0.1), tree)
    assert "max_leaf_nodes 3 is reached" in order
    assert "ccp_alpha 0.1 pruned" in pruned


def test_the_rule_that_is_counted():
    tree = nodes_of()
    found = greedy_rule(
        replace(GINI, criterion="log_loss", min_weight_fraction_leaf=0.3, min_impurity_decrease=0.01), tree
    )
    assert (found.rows, found.criterion, found.min_samples_leaf, found.min_impurity_decrease) == (
        10,
        "entropy",
        3,
        0.01,
    )
    assert greedy_rule(GINI, tree).criterion == "gini"


def domain_of(attributes, **more):
    label = {"name": "y", "values": [0, 1]}
    return recon.readers.formats.release.parts.to_domain(
        recon.readers.formats.release.reading.converted(
            {"attributes": attributes, "label": label, **more}, recon.readers.formats.release.schema.DomainPart
        )
    )


BIT = {"name": "a", "values": [0, 1]}


@pytest.mark.parametrize(
    ("domain", "why"),
    [
        (domain_of([{"name": "a", "values": [0, 1, 2]}]), "a has not two values: count binary columns as independent"),
        (domain_of([{"name": "a", "min": 0, "max": 1, "resolution": None}]), "a has not two values"),
        (domain_of([{**BIT, "missing": True}]), "a may be missing"),
        (domain_of([BIT], impossible=[{"a": 1, "y": 0}]), "rows that cannot exist"),
        (domain_of([{"name": "g", "values": ["x", "z"]}], columns={"g:x": {"attribute": "g", "in": ["x"]}}), "g:x"),
        (replace(domain_of([BIT]), label=None), "no label"),
    ],
)
def test_domains_of_other_than_bits_are_refused(domain, why):
    with pytest.raises(Unsupported, match=why):
        columns_of(domain)


def test_independent_columns_are_the_way_out(encoded):
    release = release_with({"name": "sklearn tree", "criterion": "gini"})
    release["domain"]["attributes"] = [{"name": "g", "values": ["x", "z", "w"]}]
    release["domain"]["columns"] = {"c0": {"attribute": "g", "in": ["x"]}}
    found = encoded(release)
    with pytest.raises(Unsupported, match="--independent-columns"):
        chosen_tree(found, found.models[0], learner_of(found, "auto"))
    bits = encode(found.domain.as_columns(), found.models)
    tree = chosen_tree(bits, bits.models[0], learner_of(bits, "auto"))
    assert tree.counts.tolist() == [[2, 2], [0, 2], [2, 0]]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"nodes": [{"if": {"c0": 1}, "then": 1, "else": 2}, {"count": 2}, {"counts": [2, 0]}]}, "per class"),
        ({"nodes": [{"if": {"c0": {"in": [0, 1]}}, "then": 1, "else": 2}, {"counts": [2, 2]}, {"counts": [0, 0]}]},
         "tests nothing"),
    ],
)  # fmt: skip
def test_trees_that_say_too_little_are_refused(encoded, change, why):
    release = release_with({"name": "sklearn tree", "criterion": "gini"})
    release["models"][0] |= change
    release["rows"] = 4
    found = encoded(release)
    with pytest.raises(Unsupported, match=why):
        chosen_tree(found, found.models[0], learner_of(found, "auto"))


def test_no_learner_tests_the_label_or_two_columns():
    leaves = [ModelNode(Support((0, 2))), ModelNode(Support((2, 0)))]
    label, bit = ("y", Test(values=(1,))), ("c0", Test(values=(1,)))
    for condition, why in (((label,), "tests the label"), ((bit, ("c1", Test(values=(1,)))), "tests 2 columns")):
        tree = Tree(Nodes.of([ModelNode(Support(), condition, 1, 2), *leaves]), "odd")
        with pytest.raises(Unsupported, match=why):
            chosen_tree(encode(BITS, [TREE]), tree, GINI)


def test_other_models_are_no_trees():
    forest = Forest((TREE,), "forest")
    with pytest.raises(Unsupported, match="is not a tree but a forest"):
        chosen_tree(encode(BITS, [TREE]), forest, GINI)
    with pytest.raises(Unsupported, match="is not a rule list but a tree"):
        chosen_list(encode(BITS, [TREE]), TREE, Learner("greedy rule list"))


def test_classes_without_rows_are_left_out(encoded):
    release = release_with({"name": "sklearn tree", "criterion": "gini"})
    release["domain"]["label"]["values"] = ["no", "odd", "yes"]
    release["models"][0]["nodes"][1:] = [{"counts": [0, 0, 2]}, {"counts": [2, 0, 0]}]
    found = encoded(release)
    assert chosen_tree(found, found.models[0], GINI).counts.tolist() == [[2, 2], [0, 2], [2, 0]]


def test_lists_as_their_learner_chose_them():
    model = GreedyRuleListClassifier(1, 0.05, 4).fit(X, Y)
    (found,) = (model.to_model(label_values=[0, 1]),)
    release = encode(BITS, [found])
    levels, rule = chosen_list(release, found, learner_of(release, "auto"))
    assert (rule.min_support, rule.max_length, rule.negations) == (5, 4, True)
    assert [sum(level.counts) for level in levels] == [sum(counts) for _, counts in model.rules_]
    for level, (literals, _) in zip(levels, model.rules_, strict=True):
        assert level.column == (-1 if not literals else list(X.columns).index(literals[0][0]))
        assert not literals or level.value == literals[0][1]
    assert isinstance(levels[0], ListLevel)
    open_ended = RuleList(found.rules[:-1], "open")
    with pytest.raises(Unsupported, match="default rule"):
        chosen_list(release, open_ended, learner_of(release, "auto"))
    wide = RuleList(
        (Rule((*found.rules[0].condition, *found.rules[1].condition), Support((1, 2))), found.rules[-1]), "wide"
    )
    with pytest.raises(Unsupported, match="tests 2 columns"):
        chosen_list(release, wide, learner_of(release, "auto"))


@pytest.mark.parametrize(
    ("part", "value", "own"),
    [
        (LearnerPart, Learner, {"source"}), (GradientsPart, Gradients, set()), (LedgerEntryPart, PrivacyStep, set()),
        (DataSetPart, DataSet, set()), (DomainPart, Domain, set()),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)  # fmt: skip
def test_a_part_of_the_release_file_has_the_fields_of_the_value_that_it_becomes(part, value, own):
    """docs/architecture.md, "Files and values": `own` is what no file says."""
    said = {one.name: one.default for one in msgspec.structs.fields(part)}
    held = {one.name: one.default for one in fields(value) if one.init}
    assert set(held) - set(said) == own
    assert set(said) <= set(held)
    if part in {LearnerPart, GradientsPart}:  # written where they are not at the value's default
        shared = {name: said[name] for name in said if held[name] is not MISSING}
        assert shared == {name: held[name] for name in shared}
