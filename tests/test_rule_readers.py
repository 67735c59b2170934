"""Rule lists and trees of imodels, CORELS and pydl8.5: files by the real libraries, and what is solved for in them.

The files in golden/models were written by the real libraries; beside each stands the data it was fitted on, and in
index.json what the live model said about them. The arithmetic (posterior means, shrinkage, regions of rule lists) is
checked against the formulas written down a second time here, and by brute force.
"""

from __future__ import annotations

import json
import math
import pickle
import random
import time
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra
from scipy.stats import beta

from encoders.domain.domain import Domain
from encoders.domain.values import Test, equals, exact
from encoders.encode.encoder import encode
from recon.readers.formats.printed import streed_text
from recon.readers.formats.rules import corels_saved, dl85, imodels_figs, imodels_lists, imodels_trees, streed
from recon.readers.frames.world import violations
from recon.readers.loading.attaching import _named_by, attach_counts
from recon.readers.loading.loading import bind_draft
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

GOLDEN = Path(__file__).parent / "golden" / "models"
MODULES = (imodels_lists, imodels_figs, imodels_trees, corels_saved, dl85, streed)
READERS = {kind: module.read for module in MODULES for kind in module.KINDS}
FOLDERS = ("imodels", "corels", "pydl8.5")
INDEX = json.loads((GOLDEN / "index.json").read_text())
ENTRIES = {e["file"]: e for e in INDEX if e["file"].startswith(FOLDERS) and e["file"].endswith(".pkl")}
REFUSED = {"brs": "rules without counts", "rule_fit": "subsamples", "skope": "subsamples"}
NOT_OPENED = {"c45"}  # its pickle names xml.dom.minidom, which recon.readers.stored decides about


def stem(file):
    return Path(file).name.split(".")[0]


READ = sorted(f for f in ENTRIES if stem(f) not in {*REFUSED, *NOT_OPENED})


def draft_of(data):
    root = open_stored(data).root
    return (
        READERS[root.class_name](root, "pickle") if isinstance(root, Thing) else corels_saved.read_saved(root, "pickle")
    )


def golden(file):
    return draft_of((GOLDEN / file).read_bytes())


def training(file, draft):
    frame = pd.read_csv(GOLDEN / ENTRIES[file]["data"])
    label = frame.columns[-1]
    if draft.classes == (0, 1) and not pd.api.types.is_numeric_dtype(frame[label]):
        frame[label] = (frame[label] == "yes").astype(int)
    return frame


def released(draft, frame):
    domain = Domain.from_frame(frame, label=frame.columns[-1])
    placed = _named_by(draft, list(frame.columns[:-1]))  # DL8.5 only numbers its features
    found, models = bind_draft(placed, domain)
    return encode(found, models, draft.rows)


def leaves(tree):
    """Return the counts of the leaves, left (then) first."""
    out, stack = [], [0]
    while stack:
        node = tree.nodes[stack.pop()]
        if node.condition is None:
            out.append(list(node.support.counts or (node.support.count,)))
        else:
            stack += [node.otherwise, node.then]
    return out


# ---------------------------------------------------------------- files by the real libraries


def test_the_golden_files_are_there():
    assert {stem(f) for f in ENTRIES} >= {"greedy", "one_r", "fast_frugal", "brl", "figs", "hs_tree", "depth_2", "list"}


@pytest.mark.parametrize("file", READ)
def test_training_data_satisfy_every_statement(file):
    draft = golden(file)
    frame = training(file, draft)
    release = released(draft, frame)
    assert violations(release, frame) == []
    assert sum(1 for _ in release.statements.statements()) >= 2
    if draft.rows is not None:
        assert draft.rows == RowCount(len(frame), len(frame))


@pytest.mark.parametrize("file", READ)
def test_a_training_row_less_or_with_another_label_breaks_a_statement(file):
    draft = golden(file)
    frame = training(file, draft)
    label = frame.columns[-1]
    release = released(draft, frame)
    if draft.rows is not None:
        assert violations(release, frame.iloc[1:])
    flipped = frame.assign(**{label: frame[label].to_numpy()[::-1] if draft.classes is None else 1 - frame[label]})
    if draft.origin.counts != ("size",):
        assert violations(release, flipped)


@pytest.mark.parametrize("name", ["greedy", "greedy_bits", "one_r", "brl"])
def test_rule_lists_have_the_true_counts(name):
    file = f"imodels-3.0.4/{name}.pkl"
    draft = golden(file)
    assert draft.origin.counts == ("exact",)
    assert [list(r.support.counts) for r in draft.models[0].rules] == ENTRIES[file]["truth"]["counts"]


def test_a_frugal_tree_has_the_true_sizes_and_decides_for_the_commonest():
    file = "imodels-3.0.4/fast_frugal.pkl"
    draft, truth = golden(file), ENTRIES[file]["truth"]["counts"]
    assert [r.support.count for r in draft.models[0].rules] == [sum(c) for c in truth]
    assert len(draft.models[1].statements) == sum(any(c) for c in truth)


def test_figs_has_the_true_counts_with_and_without_the_rows_it_leaks():
    data = (GOLDEN / "imodels-3.0.4/figs.pkl").read_bytes()
    truth = [[leaf["counts"] for leaf in t] for t in ENTRIES["imodels-3.0.4/figs.pkl"]["truth"]["trees"]]
    root = open_stored(data).root
    full = READERS[root.class_name](root, "pickle")
    del root.state["Y"]
    stripped = READERS[root.class_name](root, "pickle")
    for draft in (full, stripped):
        assert [leaves(t) for t in draft.models[0].trees] == truth
    assert full.reader_notes
    assert not stripped.reader_notes


def test_a_figs_regressor_has_the_true_sizes():
    file = "imodels-3.0.4/figs_regressor.pkl"
    draft = golden(file)
    assert draft.classes is None
    assert leaves(draft.models[0]) == [[leaf["rows"]] for leaf in ENTRIES[file]["truth"]["trees"][0]]


@pytest.mark.parametrize("name", ["hs_tree", "greedy_tree", "boosted_rules"])
def test_trees_around_scikit_learn_have_the_true_counts(name):
    file = f"imodels-3.0.4/{name}.pkl"
    draft = golden(file)
    for number, (tree, truth) in enumerate(zip(draft.trees, ENTRIES[file]["truth"]["trees"], strict=True)):
        found = tree.counts.classes[tree.arrays.leaf].tolist()
        exact = name != "boosted_rules" or number == 0
        assert found == (truth["counts"] if exact else [[-1, -1]] * len(found))
        assert tree.counts.size[tree.arrays.leaf].tolist() == [sum(c) for c in truth["counts"]]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_has_no_exact_counts_is_refused_with_a_reason(name):
    with pytest.raises(Unsupported, match=REFUSED[name]):
        golden(f"imodels-3.0.4/{name}.pkl")


def test_corels_with_counts_has_the_true_ones():
    file = "corels-1.1.29/list_with_counts.save.pkl"
    draft = golden(file)
    assert draft.label == "recid"
    assert [list(r.support.counts) for r in draft.models[0].rules] == ENTRIES[file]["truth"]["counts"]


def test_corels_without_counts_says_labels_only_and_carries_what_it_assumes():
    for file in ("corels-1.1.29/list.save.pkl", "corels-1.1.29/classifier.pkl"):
        draft = golden(file)
        assert draft.origin.counts == ("label",)
        assert any("captures a training row" in note for note in draft.origin.notes)
        assert all(
            f.statistic is not None and f.statistic.of in {"recid=0", "recid=1"} for f in draft.models[0].statements
        )


@pytest.mark.parametrize("depth", [2, 3])
def test_dl85_gives_errors_rows_and_classes_exactly(depth):
    file = f"pydl8.5-0.1.8/depth_{depth}.pkl"
    draft, truth = golden(file), np.array(ENTRIES[file]["truth"]["counts"])
    figures = {f.name: f for f in draft.models[0].statements}
    assert draft.rows == RowCount(120, 120)
    assert [figures[f"all rows of class {c}"].count for c in (0, 1)] == truth.sum(axis=0).tolist()
    errors = sorted(f.count for n, f in figures.items() if n.startswith("errors"))
    assert errors == sorted(truth.min(axis=1).tolist())
    assert {f.low for n, f in figures.items() if n.startswith("rows of leaf")} == {3}


# ---------------------------------------------------------------- greedy lists, by a second fit


def greedy_rules(x, y, depth, dice):
    """Fit a list like imodels does, with random cuts in place of the best ones."""
    rules, here = [], np.ones(len(y), dtype=bool)
    for _ in range(depth):
        column = dice.randrange(x.shape[1])
        cutoff = dice.choice([0.5, 1.5, 1.0, 2.0])
        left, right = here & (x[:, column] < cutoff), here & (x[:, column] >= cutoff)
        if not left.any() or not right.any():
            continue
        flip = bool(y[left].mean() > y[right].mean())
        out, stay = (left, right) if flip else (right, left)
        rule = {"col": f"f{column}", "index_col": column, "cutoff": cutoff, "val": float(y[stay].mean()), "flip": flip}
        rules.append(
            rule | {"val_right": float(y[out].mean()), "num_pts": int(here.sum()), "num_pts_right": int(out.sum())}
        )
        here = stay
    rules.append({"val": float(y[here].mean()), "num_pts": int(here.sum())})
    return rules


def listed(rules, names, kind="GreedyRuleListClassifier", **more):
    state = {"rules_": rules, "feature_names_in_": np.array(names, dtype=object), "n_features_in_": len(names)}
    return Thing(Name("imodels", kind), "newobj", state=state | more)


@pytest.mark.parametrize("seed", range(30))
def test_greedy_lists_whatever_side_leaves(seed):
    dice = random.Random(seed)
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, (60, 3)), rng.integers(0, 2, 60)
    rules = greedy_rules(x, y, 5, dice)
    if dice.random() < 0.3 and len(rules) > 1:  # older versions: no default behind the last split
        rules = rules[:-1]
    draft = READERS["GreedyRuleListClassifier"](listed(rules, ["f0", "f1", "f2"]), "pickle")
    frame = pd.DataFrame(x, columns=["f0", "f1", "f2"]).assign(y=y)
    assert violations(released(draft, frame), frame) == []
    assert sum(sum(r.support.counts) for r in draft.models[0].rules) == 60


def test_greedy_lists_that_do_not_add_up_are_refused():
    good = greedy_rules(np.array([[0], [1], [2], [3]] * 4), np.array([0, 0, 1, 1] * 4), 2, random.Random(1))
    assert len(good) > 1
    for key, value, word in [
        ("num_pts_right", 10**30, "rows"),
        ("num_pts_right", 3, "share|left by|leaves"),
        ("val_right", 0.33, "not a share"),
        ("index_col", 9, "feature"),
        ("cutoff", float("nan"), "not a number"),
        ("flip", "yes", "neither"),
    ]:
        bad = [dict(r) for r in good]
        bad[0][key] = value
        with pytest.raises(ReleaseError, match=word):
            READERS["GreedyRuleListClassifier"](listed(bad, ["f0"]), "pickle")


def test_oner_of_another_column_is_read_by_its_name():
    rules = [
        {
            "col": "b",
            "index_col": 0,
            "cutoff": 0.5,
            "val": 0.0,
            "flip": False,
            "val_right": 1.0,
            "num_pts": 4,
            "num_pts_right": 2,
        },
        {"val": 0.0, "num_pts": 2},
    ]
    draft = READERS["OneRClassifier"](listed(rules, ["a", "b"]), "pickle")
    assert draft.models[0].rules[0].condition[0][0] == "b"


# ---------------------------------------------------------------- Bayesian rule lists


@pytest.mark.parametrize("seed", range(60))
def test_counts_behind_posterior_means_are_found(seed):
    dice = random.Random(seed)
    prior = dice.choice([(1.0, 1.0), (1.0, 2.0), (0.5, 0.5), (3.0, 1.25)])
    most = dice.choice([0, 3, 50, 1_000, 100_000])
    zero, one = dice.randint(0, most), dice.randint(0, most)
    a, b = one + prior[1], zero + prior[0]
    ends = tuple(float(e) for e in beta.interval(0.95, a, b))
    assert imodels_lists._beta_counts(a / (a + b), ends, prior, 0) == (zero, one)


def test_means_that_are_none_of_counts_are_refused():
    ends = tuple(float(e) for e in beta.interval(0.95, 5.5, 7))
    with pytest.raises(ReleaseError, match="not a posterior mean"):
        imodels_lists._beta_counts(5.5 / 12.5, ends, (1.0, 1.0), 0)
    wide = tuple(float(e) for e in beta.interval(0.95, 6, 7))
    with pytest.raises(ReleaseError, match="not a posterior mean"):
        imodels_lists._beta_counts(6 / 13 + 1e-9, wide, (1.0, 1.0), 0)
    with pytest.raises(Unsupported, match="so many rows"):
        imodels_lists._beta_counts(0.5, (0.5, 0.5 + 1e-14), (1.0, 1.0), 0)


def test_a_bayesian_list_without_intervals_or_with_bins_of_its_own_is_refused():
    root = open_stored((GOLDEN / "imodels-3.0.4/brl.pkl").read_bytes()).root
    kept = root.state.pop("ci_theta")
    with pytest.raises(Unsupported, match="credible intervals"):
        imodels_lists.read(root, "pickle")
    root.state |= {"ci_theta": kept, "discretizer": Thing(Name("imodels", "BRLDiscretizer"), "newobj", state={})}
    with pytest.raises(Unsupported, match="binned its columns"):
        imodels_lists.read(root, "pickle")


# ---------------------------------------------------------------- hierarchical shrinkage


def shrink(tree, reg, scheme):
    """Shrink the values of a fitted scikit-learn tree in place: imodels' recursion, written down again."""
    value, rows = tree.value[:, 0, :].copy(), tree.weighted_n_node_samples
    out = value.copy()

    def visit(node, parent, total):
        if parent is not None:
            factor = 1 + reg / rows[parent] if scheme == "node_based" else 1 + reg
            total = total + (value[node] - value[parent]) / factor
        leaf = tree.children_left[node] < 0
        if scheme == "leaf_based":
            out[node] = value[0] + (value[node] - value[0]) / (1 + reg / rows[node]) if leaf else value[node]
        else:
            out[node] = total
        if not leaf:
            visit(tree.children_left[node], node, total)
            visit(tree.children_right[node], node, total)

    visit(0, None, value[0])
    tree.value[:, 0, :] = out


def shrunk_thing(estimator, reg, scheme, names, classes):
    inner = open_stored(pickle.dumps(estimator)).root
    state = {"estimator_": inner, "reg_param": reg, "shrinkage_scheme_": scheme, "n_features_in_": len(names)}
    state |= {"feature_names_in_": np.array(names, dtype=object), "classes_": np.array(classes)}
    return Thing(Name("imodels.tree.hierarchical_shrinkage", "HSTreeClassifier"), "newobj", state=state)


def plants(rows=300):
    rng = np.random.default_rng(5)
    x = pd.DataFrame({"a": rng.integers(0, 9, rows), "b": rng.integers(0, 5, rows), "c": rng.integers(0, 2, rows)})
    return x, (x.a + 2 * x.b + rng.integers(0, 6, rows)) // 6 % 3


@pytest.mark.parametrize("scheme", ["node_based", "constant", "leaf_based"])
@pytest.mark.parametrize("reg", [0, 0.1, 7.5, 500])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_shrinkage_is_undone_exactly(scheme, reg, criterion):
    trees = extra("sklearn.tree")
    x, y = plants()
    model = trees.DecisionTreeClassifier(criterion=criterion, max_leaf_nodes=15, random_state=0).fit(x, y)
    truth = np.rint(model.tree_.value[:, 0, :] * model.tree_.n_node_samples[:, None]).astype(int).tolist()
    shrink(model.tree_, reg, scheme)
    draft = READERS["HSTreeClassifier"](shrunk_thing(model, reg, scheme, list(x.columns), [0, 1, 2]), "pickle")
    assert draft.trees[0].counts.classes.tolist() == truth
    frame = x.assign(y=y)
    assert violations(released(draft, frame), frame) == []


def test_what_was_shrunk_twice_or_weighted_by_row_gives_sizes_only():
    trees = extra("sklearn.tree")
    x, y = plants()
    twice = trees.DecisionTreeClassifier(max_leaf_nodes=15, random_state=0).fit(x, y)
    shrink(twice.tree_, 5, "node_based")
    shrink(twice.tree_, 5, "node_based")
    weights = np.random.default_rng(1).random(len(x)) + 0.5
    weighted = trees.DecisionTreeClassifier(max_leaf_nodes=15, random_state=0).fit(x, y, sample_weight=weights)
    shrink(weighted.tree_, 5, "node_based")
    for model in (twice, weighted):
        draft = READERS["HSTreeClassifier"](shrunk_thing(model, 5, "node_based", list(x.columns), [0, 1, 2]), "pickle")
        assert draft.origin.counts == ("size",)
        assert draft.reader_notes
        frame = x.assign(y=y)
        assert violations(released(draft, frame), frame) == []


def test_shrinkage_of_weighted_classes_is_undone_exactly():
    trees = extra("sklearn.tree")
    x, y = plants()
    model = trees.DecisionTreeClassifier(class_weight="balanced", max_leaf_nodes=15, random_state=0).fit(x, y)
    shrink(model.tree_, 9, "node_based")
    draft = READERS["HSTreeClassifier"](shrunk_thing(model, 9, "node_based", list(x.columns), [0, 1, 2]), "pickle")
    assert draft.trees[0].counts.whole
    frame = x.assign(y=y)
    assert violations(released(draft, frame), frame) == []


def test_a_shrunk_forest_is_read_without_bootstrap_and_refused_with():
    ensemble = extra("sklearn.ensemble")
    x, y = plants()
    for bootstrap in (False, True):
        model = ensemble.RandomForestClassifier(4, max_leaf_nodes=9, bootstrap=bootstrap, random_state=0).fit(x, y)
        for tree in model.estimators_:
            shrink(tree.tree_, 3, "node_based")
        thing = shrunk_thing(model, 3, "node_based", list(x.columns), [0, 1, 2])
        if bootstrap:
            with pytest.raises(Unsupported, match="bootstrap"):
                READERS["HSTreeClassifier"](thing, "pickle")
        else:
            draft, frame = READERS["HSTreeClassifier"](thing, "pickle"), x.assign(y=y)
            assert draft.origin.counts == ("exact",)
            assert violations(released(draft, frame), frame) == []


# ---------------------------------------------------------------- FIGS without the rows it leaks


def figs_thing(values, sizes, class_weight=None):
    """Return a sum of one tree of a root and two leaves."""

    def node(i, **more):
        state = {"value_sklearn": np.array(values[i], dtype=float), "n_samples_": sizes[i], "left": None, "right": None}
        return Thing(Name("imodels.tree.figs", "Node"), "newobj", state=state | more)

    root = node(0, feature=0, threshold=0.5, left=node(1), right=node(2))
    state = {"trees_": [root], "classes_": np.array([0, 1]), "class_weight": class_weight, "n_features_in_": 1}
    return Thing(Name("imodels.tree.figs", "FIGSClassifier"), "newobj", state=state)


def test_figs_with_weighted_rows_gives_sizes_only():
    plain = figs_thing([[4, 4], [3, 1], [1, 3]], [8, 4, 4])
    assert leaves(imodels_figs.read(plain, "pickle").models[0]) == [[3, 1], [1, 3]]
    pure = figs_thing([[4, 4], [4, 0], [0, 4]], [8, 4, 4])
    assert leaves(imodels_figs.read(pure, "pickle").models[0]) == [[4, 0], [0, 4]]
    for weighted in (
        figs_thing([[4, 4], [3.2, 0.8], [0.8, 3.2]], [8, 4, 4]),
        figs_thing([[4, 4], [4, 1], [0, 3]], [8, 4, 4]),
        figs_thing([[4, 4], [2.7, 0.7], [1, 3]], [8, 4, 4]),
        figs_thing([[4, 4], [3, 1.3], [1, 3]], [8, 4, 4]),
        figs_thing([[4, 4], [-1, 5], [1, 3]], [8, 4, 4]),
        figs_thing([[4, 4], [3, 1], [1, 3]], [8, 4, 4], class_weight="balanced"),  # whole by chance
    ):
        draft = imodels_figs.read(weighted, "pickle")
        assert draft.origin.counts == ("size",)
        assert leaves(draft.models[0]) == [[4], [4]]


def test_figs_nodes_in_a_circle_are_refused():
    thing = figs_thing([[4, 4], [3, 1], [1, 3]], [8, 4, 4])
    root = thing.state["trees_"][0]
    root.state["left"] = root
    with pytest.raises(ReleaseError, match="not a tree"):
        imodels_figs.read(thing, "pickle")


# ---------------------------------------------------------------- CORELS: regions of rules, labels


def random_list(dice, names):
    rules = []
    for _ in range(dice.randint(1, 5)):
        chosen = dice.sample(range(1, len(names) + 1), dice.randint(1, 3))
        rules.append({"antecedents": [a * dice.choice([1, -1]) for a in chosen], "prediction": False})
    return [*rules, {"antecedents": [0], "prediction": True}]


def first_rule(rules, row):
    for i, rule in enumerate(rules):
        if all(row[abs(a) - 1] == (a > 0) for a in rule["antecedents"] if a):
            return i
    raise AssertionError("the default rule takes all rows")


@pytest.mark.parametrize("seed", range(200))
def test_regions_of_rules_are_exactly_their_rows(seed):
    dice = random.Random(seed)
    names = ["a", "b", "c", "d", "e"]
    rules = random_list(dice, names)
    plain = [{names[abs(a) - 1]: int(a > 0) for a in r["antecedents"]} for r in rules[:-1]]
    space = list(product((0, 1), repeat=5))
    for i in range(len(plain)):
        mine = {row for row in space if first_rule(rules, row) == i}
        box = corels_saved._captured(plain[i], plain[:i])
        if box is not None:
            assert mine == {row for row in space if all(row[names.index(n)] == v for n, v in box.items())}
        else:  # never where all rules before ask for one column
            assert any(len(r) > 1 for r in plain[:i]) or not mine


@pytest.mark.sampled(23)
@pytest.mark.parametrize("seed", range(40))
def test_label_statements_hold_for_whatever_rows_the_list_was_fitted_on(seed):
    names = ["a", "b", "c", "d"]
    rows = [row for row in product((0, 1), repeat=4) for _ in range(3)]
    dice = random.Random(seed)
    counts = [[0, 0]] * 2
    while any(not sum(c) for c in counts[:-1]):  # CORELS keeps no rule without rows
        rules = random_list(dice, names)
        frame = pd.DataFrame(rows, columns=names).assign(y=[dice.randint(0, 1) for _ in rows])
        where, y = np.array([first_rule(rules, row) for row in rows]), frame["y"].to_numpy()
        counts = [[int(((where == i) & (y == c)).sum()) for c in (0, 1)] for i in range(len(rules))]
    for rule, (zero, one) in zip(rules, counts, strict=True):
        rule["prediction"] = not zero > one
    draft = corels_saved.read_saved({"f": names, "r": rules, "p": "y"}, "pickle")
    if draft.models:
        assert violations(released(draft, frame), frame) == []
    fork = [r | {"train_labels": c} for r, c in zip(rules, counts, strict=True)]
    exact = corels_saved.read_saved({"f": names, "r": fork, "p": "y"}, "pickle")
    assert violations(released(exact, frame), frame) == []


def test_a_list_fitted_without_regularisation_says_nothing_and_points_to_counting():
    rules = [{"antecedents": [1], "prediction": True}, {"antecedents": [0], "prediction": False}]
    inner = Thing(
        Name("corels.utils", "RuleList"), "newobj", state={"features": ["a"], "rules": rules, "prediction_name": "y"}
    )
    frame = pd.DataFrame({"a": [0, 1], "y": [0, 1]})
    for more, silent in [({"c": 0.0}, True), ({"ablation": 1}, True), ({"c": 0.01, "ablation": 2}, False)]:
        model = Thing(Name("corels.corels", "CorelsClassifier"), "newobj", state={"rl_": inner} | more)
        draft = corels_saved.read(model, "pickle")
        assert (not draft.models) == silent
        if silent:
            with pytest.raises(Unsupported, match="attach_counts"):
                released(draft, frame)


@pytest.mark.parametrize(
    ("rule", "word"),
    [
        ({"antecedents": [3], "prediction": True}, "none of the 2"),
        ({"antecedents": [-3], "prediction": True}, "none of the 2"),
        ({"antecedents": [1.0], "prediction": True}, "none of the 2"),
        ({"antecedents": [True], "prediction": True}, "none of the 2"),
        ({"antecedents": [1, -1], "prediction": True}, "opposite"),
        ({"antecedents": [1], "prediction": [1]}, "neither 0 nor 1"),
        ({"antecedents": [0], "prediction": True}, "only the last"),
        ({"antecedents": [], "prediction": True}, "only the last"),
        ({"antecedents": [1], "prediction": 2}, "neither 0 nor 1"),
        ({"antecedents": [1], "prediction": True, "train_labels": [1, -2]}, "number of rows"),
        ({"antecedents": [1], "prediction": True, "train_labels": [1]}, "not two"),
        ({"antecedents": "1", "prediction": True}, "not a list"),
        ([1], "not a rule"),
    ],
)
def test_broken_rules_of_corels_are_named(rule, word):
    with pytest.raises(ReleaseError, match=word) as refused:
        corels_saved.read_saved(
            {"f": ["a", "b"], "r": [rule, {"antecedents": [0], "prediction": 0}], "p": "y"}, "pickle"
        )
    assert refused.value.place.startswith("rules[0]")


# ---------------------------------------------------------------- DL8.5


def dl85_thing(tree, **more):
    state = {"tree_": tree, "classes_": np.array([0, 1]), "min_sup": 1, "sample_weight": []}
    return Thing(Name("pydl85", "DL85Classifier"), "newobj", state=state | more)


@pytest.mark.slow
def test_the_number_of_rows_is_stated_only_where_it_is_certain():
    right = known = 0
    for seed in range(3_000):
        dice = random.Random(seed)
        n = dice.randint(1, dice.choice([30, 1_000, 100_000, 3_000_000]))
        zero, wrong = dice.randint(0, n), dice.randint(0, max(0, n // 2 - 1))
        tree = {"value": 0, "error": wrong, "proba": [zero / n, (n - zero) / n]}
        accuracy = float(f"{1 - wrong / n:.6g}")
        found = dl85._class_totals(dl85_thing(tree, accuracy_=accuracy), {0: wrong}, 2)
        known += found is not None
        right += found == [zero, n - zero]
    assert right == known > 1_000


def test_other_errors_than_misclassification_say_nothing():
    tree = {"feat": 0, "left": {"value": 1, "error": 2}, "right": {"value": 0, "error": 1}}
    plain = dl85.read(dl85_thing(tree), "pickle")
    assert plain.models
    for more in (
        {"error_function": Name("mine", "f")},
        {"sample_weight": [0.5]},
        {"leaf_value_function": Name("m", "g")},
    ):
        assert not dl85.read(dl85_thing(tree, **more), "pickle").models
    with pytest.raises(Unsupported, match="found none"):
        dl85.read(dl85_thing(None), "pickle")


def test_a_printed_error_with_six_digits_is_not_taken_for_exact():
    tree = {"feat": 0, "left": {"value": 1, "error": 1234570.0}, "right": {"value": 0, "error": 3}}
    draft = dl85.read(dl85_thing(tree), "pickle")
    assert [f.count for f in draft.models[0].statements if f.count is not None] == [3]


def test_nodes_of_dl85_in_a_circle_are_refused():
    node = {"feat": 0, "left": {"value": 1, "error": 0}}
    node["right"] = node
    with pytest.raises(ReleaseError, match="not a tree"):
        dl85.read(dl85_thing(node), "pickle")


@pytest.mark.parametrize("seed", range(20))
def test_statements_of_dl85_hold_on_random_trees(seed):
    dice = random.Random(seed)
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 2, (80, 4)), rng.integers(0, 2, 80)

    def grow(rows, depth):
        column = dice.randrange(4)
        one = rows & (x[:, column] == 1)
        if depth and one.any() and (rows & ~one).any():
            return {"feat": column, "left": grow(one, depth - 1), "right": grow(rows & ~one, depth - 1)}
        value = int(y[rows].mean() > 0.5)
        return {"value": value, "error": int((y[rows] != value).sum())}

    tree = grow(np.ones(80, dtype=bool), 4)
    tree["proba"] = [float((y == 0).mean()), float((y == 1).mean())]
    draft = dl85.read(dl85_thing(tree), "pickle")
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(4)]).assign(y=y)
    assert violations(released(draft, frame), frame) == []


@pytest.mark.parametrize("classes", [2, 3, 9, 10, 11, 13, 14, 25, 101])
def test_a_leaf_of_dl85_may_hold_its_class_alone_or_as_many_of_each(classes):
    tree = {"feat": 0, "left": {"value": 1, "error": 0}, "right": {"value": 0, "error": classes - 1}}
    draft = dl85.read(dl85_thing(tree, classes_=np.arange(classes)), "pickle")
    frame = pd.DataFrame({"x0": [1] * 3 + [0] * classes, "label": [1] * 3 + list(range(classes))})
    assert violations(released(draft, frame), frame) == []


# ---------------------------------------------------------------- hostile files

JUNK = [None, -1, 0, 1, 7, 1 << 70, -(1 << 40), 0.5, float("nan"), float("inf"), "x", "", [], [[]], {}, (), True]
JUNK += [np.zeros(3), np.array([1.5, float("nan")]), np.array(["a", "a"]), np.zeros((2, 0)), b"x", Name("a", "b")]


def spots(root):
    """Return every (container, key) of a graph of Things, lists and dicts."""
    out, stack, seen = [], [root], set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        inner = node.state if isinstance(node, Thing) else node
        keys = list(inner) if isinstance(inner, dict) else range(len(inner)) if isinstance(inner, list) else []
        for key in keys:
            out.append((inner, key))
            stack.append(inner[key])
    return out


def has(container, key):
    return key < len(container) if isinstance(container, list) else key in container


def mutated(data, dice):
    root = open_stored(data).root
    places = spots(root)
    for _ in range(dice.randint(1, 3)):
        container, key = dice.choice(places)
        kind = dice.random()
        if kind < 0.5:
            container[key] = dice.choice(JUNK)
        elif kind < 0.8:
            other, at = dice.choice(places)
            container[key] = other[at]
        else:
            del container[key]
        places = [p for p in places if has(*p)]
    return root


def outcome(root):
    """Return "read", or the refusal of a mutated object; anything else is a failure."""
    if not isinstance(root, (Thing, dict)) or (isinstance(root, Thing) and root.class_name not in READERS):
        return "no model"
    try:
        if isinstance(root, dict):
            corels_saved.read_saved(root, "pickle")
        else:
            READERS[root.class_name](root, "pickle")
    except (ReleaseError, Unsupported) as error:
        return str(error)
    return "read"


def fuzz(number):
    files = [(GOLDEN / f).read_bytes() for f in READ]
    found = []
    for seed in range(number):
        dice = random.Random(seed)
        root = mutated(dice.choice(files), dice)
        begun = time.process_time()
        found.append(outcome(root))
        assert time.process_time() - begun < 30
    assert 0 < found.count("read") < number
    assert all(found)


@pytest.mark.slow
def test_mutated_objects_are_read_or_refused():
    fuzz(1_500)


@pytest.mark.long
def test_many_mutated_objects_are_read_or_refused():
    fuzz(30_000)


@pytest.mark.slow
def test_a_long_chain_of_nodes_is_no_hang():
    deep = {"value": 0, "error": 0}
    for _ in range(3_000):
        deep = {"feat": 0, "left": {"value": 1, "error": 0}, "right": deep}
    begun = time.process_time()
    with pytest.raises(ReleaseError, match="tests on its paths"):
        dl85.read(dl85_thing(deep), "pickle")
    rules = [{"antecedents": [1, 2], "prediction": True}] * 10_000 + [{"antecedents": [0], "prediction": False}]
    assert not corels_saved.read_saved({"f": ["a", "b"], "r": rules, "p": "y"}, "pickle").rows
    assert time.process_time() - begun < 30


# ---------------------------------------------------------------- what pystreed writes as text

STREED = ("bits", "people")


def streed_text_of(name, end):
    return (GOLDEN / f"pystreed-1.4.0/{name}.{end}").read_text()


def streed_data(name):
    frame = pd.read_csv(GOLDEN / f"data/{name}.csv")
    last = frame.columns[-1]
    return frame if name == "bits" else frame.assign(**{last: (frame[last] == "yes").astype(int)})


def not_satisfied_first(model):
    out, stack = [], [0]
    while stack:
        node = model.nodes[stack.pop()]
        if node.condition is None:
            out.append(list(node.support.counts))
        else:
            stack += [node.then, node.otherwise]
    return out


@pytest.mark.parametrize("name", STREED)
def test_dot_files_of_streed_have_the_true_counts(name):
    draft = streed_text.read_streed_dot(streed_text_of(name, "dot"))
    truth = next(e for e in INDEX if e["file"] == f"pystreed-1.4.0/{name}.dot")["truth"]["counts"]
    assert not_satisfied_first(draft.models[0]) == truth
    frame = streed_data(name)
    assert violations(released(draft, frame), frame) == []


@pytest.mark.parametrize("name", STREED)
def test_printed_trees_of_streed_get_the_true_counts_from_rows(name):
    draft = streed_text.read_streed_text(streed_text_of(name, "txt"))
    truth = next(e for e in INDEX if e["file"] == f"pystreed-1.4.0/{name}.txt")["truth"]["counts"]
    frame = streed_data(name)
    with pytest.raises(Unsupported, match="attach_counts"):
        released(draft, frame)
    release = attach_counts(draft, frame.iloc[:, :-1], frame.iloc[:, -1])
    assert not_satisfied_first(release.models[0]) == truth


def test_both_texts_of_streed_are_told_from_others():
    for name in STREED:
        dot, text = streed_text_of(name, "dot"), streed_text_of(name, "txt")
        assert streed_text.looks_like_streed_dot(dot[:4096])
        assert streed_text.looks_like_streed_text(text[:4096])
        assert not streed_text.looks_like_streed_dot(text)
        assert not streed_text.looks_like_streed_text(dot)
    written = 'digraph Tree {\nnode [shape=box] ;\n0 [label="a <= 1.0\\ngini = 0.5\\nsamples = 4\\nvalue = [2, 2]"] ;'
    assert not streed_text.looks_like_streed_dot(written)


@pytest.mark.parametrize(
    ("text", "test"),
    [
        ("age <= 53.0", ("age", Test(high=53))),
        ("a <= b <= 0.25", ("a <= b", Test(high=0.25))),
        ("city == 'A'", ("city", equals("A"))),
        ("city in ['B','it\\'s, so',3,2.5]", ("city", Test(values=("B", "it's, so", 3, 2.5)))),
        ("grade == 7", ("grade", equals(7))),
        ("priors:=0", ("priors:=0", equals(1))),
        ("x in or out", ("x in or out", equals(1))),
    ],
)
def test_columns_of_streed(text, test):
    assert streed_text._column_of(text, "here") == test


def test_printed_thresholds_of_streed_are_off_by_no_more_than_said():
    def formatted(t):  # pystreed/utils.py
        if int(t) == t:
            return str(t)
        if math.log10(abs(t)) >= 6 or math.log10(abs(t)) <= -4:
            return f"{t:.2e}"
        return (f"{t:.2f}" if math.log10(abs(t)) >= 2 else f"{t:f}").rstrip("0").rstrip(".")

    dice = random.Random(0)
    for _ in range(5_000):
        true = dice.choice([1, -1]) * dice.random() * 10 ** dice.randint(-7, 9)
        for value in (true, float(round(true)) + 0.0):
            (_, test) = streed_text._column_of(f"a <= {formatted(value)}", "here")
            assert abs(Fraction(value) - exact(test.high)) <= streed_text._printed_off(test.high)


@pytest.mark.slow
def test_mutated_texts_of_streed_are_read_or_refused():
    readers = {"dot": streed_text.read_streed_dot, "txt": streed_text.read_streed_text}
    found = []
    for seed in range(2_000):
        dice = random.Random(seed)
        end = dice.choice(["dot", "txt"])
        text = list(streed_text_of(dice.choice(STREED), end))
        for _ in range(dice.randint(1, 6)):
            at = dice.randrange(len(text))
            text[at : at + dice.randint(0, 2)] = dice.choice(["", "\n", "9", "[", "|   ", '"', "é", " satisfied", "0 "])
        try:
            readers[end]("".join(text))
            found.append("read")
        except ReleaseError as error:
            found.append(str(error))
    assert 0 < found.count("read") < len(found)


def test_a_huge_text_of_streed_is_no_hang():
    begun = time.process_time()
    deep = "".join("|   " * i + "a not satisfied\n" for i in range(3_000))
    for text in (deep, "|   " * 1_000_000, "a not satisfied\n" * 100_000):
        with pytest.raises(ReleaseError):
            streed_text.read_streed_text(text)
    many = "".join(f'{i} [label="a\nSamples = 1\nClass FQ = [1]", color="#222222"]\n' for i in range(10_000))
    with pytest.raises(ReleaseError):
        streed_text.read_streed_dot("digraph Tree {\n" + many)
    assert time.process_time() - begun < 30
