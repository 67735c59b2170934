"""Guards of readers of stored rule lists and trees: one thing of an object that is read is wrong, and is named."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest
from extras import extra
from scipy.stats import beta
from test_rule_readers import GOLDEN, READERS, dl85_thing, figs_thing, listed, plants, shrunk_thing

from encoders.domain.values import equals
from recon.readers.formats.rules import corels_saved, dl85, imodels_figs, imodels_lists, plain_values, streed
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import ReconError
from solvers.statements.release import RowCount

DEFAULT = {"antecedents": [0], "prediction": 0}
SAVED = {
    "f": ["a", "b", "c"],
    "r": [{"antecedents": [1], "prediction": 1}, {"antecedents": [2, -3], "prediction": 0}, DEFAULT],
    "p": "y",
}
COUNTED = SAVED | {"r": [rule | {"train_labels": [1, 2]} for rule in SAVED["r"]]}
STEPS = [
    {"index_col": 0, "cutoff": 0.5, "val": 0.5, "val_right": 1.0, "num_pts": 6, "num_pts_right": 2},
    {"index_col": 1, "cutoff": 1.5, "val": 0.0, "val_right": 1.0, "num_pts": 4, "num_pts_right": 2},
    {"val": 0.0, "num_pts": 2},
]
LEAF = {"value": 1, "error": 2}
GROWN = {"feat": 0, "left": LEAF, "right": {"feat": 1, "left": dict(LEAF), "right": {"value": 0, "error": 1}}}
TREE = Thing(Name("sklearn.tree", "DecisionTreeClassifier"), "newobj", state={})
SOME = Thing(Name("x", "Y"), "newobj", state={})
FOREST = Thing(Name("sklearn.ensemble", "RandomForestClassifier"), "newobj", state={})  # does not say how it drew rows


def thing(kind, **state):
    return Thing(Name("imodels", kind), "newobj", state={"n_features_in_": 2, **state})


def bayesian():
    """Return the state of a Bayesian list, without the bins of its own that its class may have."""
    return dict(open_stored((GOLDEN / "imodels-3.0.4/brl.pkl").read_bytes()).root.state)


def saved(content):
    return corels_saved.read_saved(content, "pickle")


def greedy(rules):
    return READERS["GreedyRuleListClassifier"](listed(rules, ["a", "b"]), "pickle")


def frugal(rules):
    return imodels_lists.read(listed(rules, ["a", "b"], "FastFrugalTreeClassifier"), "pickle")


def of_bayes(state):
    return imodels_lists.read(thing("BayesianRuleListClassifier", **state), "pickle")


def grown(tree):
    return dl85.read(dl85_thing(tree), "pickle")


def figs(parts):
    """Return the draft of a sum of one tree whose root has other parts."""
    found = figs_thing([[4, 4], [3, 1], [1, 3]], [8, 4, 4])
    for key, value in parts.items():
        (found if key in {"trees_", "Y"} else found.state["trees_"][0]).state[key] = value
    return imodels_figs.read(found, "pickle")


def of_kind(parts):
    """Return the draft of an object of a class around others."""
    return READERS[parts["kind"]](thing(parts["kind"], **{k: v for k, v in parts.items() if k != "kind"}), "pickle")


STATE = bayesian()
RULES = len(STATE["theta"])
CASES = [
    # CORELS
    (saved, SAVED, "f", [], "features: names no features, or one twice"),
    (saved, SAVED, "f", ["a", "b", "a"], "features: names no features, or one twice"),
    (saved, SAVED, "f", [1, 2, 3], "features: names no features, or one twice"),
    (saved, SAVED, "r", [], "rules: holds no rules: the model is not fitted"),
    (saved, SAVED, "r.0", 3, r"rules\[0\]: is not a rule"),
    (saved, SAVED, "r.0.antecedents", [True], r"rules\[0\].antecedents: names a column that is none of the 3 features"),
    (saved, SAVED, "r.0.antecedents", [4], r"rules\[0\].antecedents: names a column that is none of the 3 features"),
    (saved, SAVED, "r.2.antecedents", [1], r"rules\[2\].antecedents: is \[1\]: the last rule must be the default"),
    (saved, SAVED, "r.1.antecedents", [0], r"rules\[1\].antecedents: is \[0\]: only the last rule may take all rows"),
    (saved, SAVED, "r.1.antecedents", [1, -1], r"rules\[1\].antecedents: asks for 'a' and for its opposite"),
    (saved, SAVED, "r.1.prediction", "1", r"rules\[1\].prediction: is neither 0 nor 1"),
    (saved, COUNTED, "r.1", SAVED["r"][1], r"rules\[1\]: has no train_labels, others have"),
    (saved, COUNTED, "r.1.train_labels", [1, 2, 3], r"rules\[1\].train_labels: holds 3 counts, not two"),
    (saved, COUNTED, "r.1.train_labels", [1, -2], r"rules\[1\].train_labels: holds -2, which is not a number of rows"),
    (saved, COUNTED, "r.1.train_labels", [1, True], "holds True, which is not a number of rows"),
    (saved, COUNTED, "r.1.train_labels", [1, 1.5], "holds 1.5, which is not a whole number of rows"),
    (saved, COUNTED, "r.1.train_labels", [1, 1 << 70], "holds a huge number, which is not a number of rows"),
    (of_kind, {"kind": "CorelsClassifier"}, "rl_", None, "rl_: holds no rule list: the model is not fitted"),
    # lists of imodels
    (greedy, STEPS, "0", 7, r"rules_\[0\]: is not a rule"),
    (greedy, STEPS, "1.num_pts", 5, r"rules_\[1\].num_pts: holds 5 rows, but 4 are left by the rules before"),
    (greedy, STEPS, "1", {"val": 0.5, "num_pts": 4}, r"rules_\[1\]: takes all rows, and rules follow"),
    (greedy, STEPS, "1.num_pts_right", 5, r"rules_\[1\].num_pts_right: holds 5 of 4 rows"),
    (greedy, STEPS, "0.flip", "no", r"rules_\[0\].flip: is neither True nor False"),
    (greedy, STEPS, "0.cutoff", None, r"rules_\[0\].cutoff: holds None, which is not a number"),
    (greedy, STEPS, "0.cutoff", True, r"rules_\[0\].cutoff: holds True, which is not a number"),
    (greedy, STEPS, "0.cutoff", float("nan"), r"rules_\[0\].cutoff: holds nan, which is not a number"),
    (greedy, STEPS, "0.index_col", 2, r"rules_\[0\].index_col: names feature 2 of 2"),
    (greedy, STEPS, "0.index_col", 1.0, r"rules_\[0\].index_col: names feature 1.0 of 2"),
    (greedy, STEPS, "0.index_col", True, r"rules_\[0\].index_col: names feature True of 2"),
    (greedy, STEPS, "0.val_right", 0.3, r"rules_\[0\].val_right: holds 0.3, which is not a share of 2 rows"),
    (greedy, STEPS, "0.val_right", 1.5, r"rules_\[0\].val_right: holds 1.5, which is not a share of 2 rows"),
    (greedy, STEPS, "0.val", 0.25, r"rules_\[0\].val: leaves 1 rows of class 1, the rules after it hold 2"),
    (frugal, STEPS, "0.val_right", 0.5, r"rules_\[0\]: decides for neither class"),
    (frugal, STEPS, "0.val_right", [1], r"rules_\[0\]: decides for neither class"),
    (frugal, STEPS, "0.val_right", "1", r"rules_\[0\]: decides for neither class"),
    (of_bayes, STATE, "alpha", [1.0], "alpha: holds no two pseudocounts"),
    (of_bayes, STATE, "alpha", [1.0, 0.0], "alpha: holds pseudocounts that are not positive"),
    (of_bayes, STATE, "theta", STATE["theta"][:-1], r"theta: holds \d means and \d intervals for \d rules"),
    (of_bayes, STATE, "ci_theta.0", 0.5, r"ci_theta\[0\]: holds no interval"),
    (of_bayes, STATE, "ci_theta.0", (0.6, 0.5), r"theta\[0\]: holds no posterior mean with an interval around it"),
    (of_bayes, STATE, "theta.0", 1.0, r"theta\[0\]: holds no posterior mean with an interval around it"),
    (of_bayes, STATE, "d_star.0", True, r"d_star\[0\]: names an itemset that is not there"),
    (of_bayes, STATE, "alpha", [1.0, 1e17], "alpha: holds pseudocounts that are not positive"),
    (of_bayes, STATE, "ci_theta.0", (0.5, 0.5), r"theta\[0\]: holds no posterior mean with an interval around it"),
    (of_bayes, STATE, "ci_theta.0", (0.1, 0.2, 0.3), r"ci_theta\[0\]: holds no interval"),
    (of_bayes, STATE, "theta.0", 0.0, r"theta\[0\]: holds no posterior mean with an interval around it"),
    (of_bayes, STATE, "d_star.0", 1.0, r"d_star\[0\]: names an itemset that is not there"),
    (of_bayes, STATE, "d_star.0", len(STATE["itemsets"]), r"d_star\[0\]: names an itemset that is not there"),
    (of_bayes, STATE, f"itemsets.{STATE['d_star'][0]}", 5, r"itemsets\[\d+\]: is not a set of columns"),
    (of_bayes, STATE, f"itemsets.{STATE['d_star'][0]}", ([],), r"itemsets\[\d+\]: is not a set of columns"),
    (of_bayes, STATE, f"itemsets.{STATE['d_star'][0]}", (*STATE["itemsets"][STATE["d_star"][0]], "nobody"),
     r"itemsets\[\d+\]: is not a set of columns"),
    (of_bayes, STATE, "d_star.0", 999, r"d_star\[0\]: names an itemset that is not there"),
    (of_bayes, STATE, "d_star.0", 0, r"d_star\[0\]: takes all rows, and rules follow"),
    (of_bayes, STATE, "d_star", [i for i in STATE["d_star"] if i], "d_star: has no default rule"),
    (of_bayes, STATE, f"itemsets.{STATE['d_star'][0]}", ("nobody",), r"itemsets\[\d+\]: is not a set of columns"),
    (of_bayes, STATE, f"itemsets.{STATE['d_star'][0]}", (), r"itemsets\[\d+\]: is not a set of columns"),
    (of_kind, {"kind": "GreedyRuleListClassifier", "rules_": STEPS}, "classes_", np.array([0, 1, 2]),
     "classes_: has 3 classes, not two"),
    # DL8.5
    (grown, GROWN, "right.left", 3, "tree_ node 3: is not a node of a tree"),
    (grown, GROWN, "feat", True, "tree_ node 0: tests feature True"),
    (grown, GROWN, "feat", "0", "tree_ node 0: tests feature '0'"),
    (grown, GROWN, "feat", -1, "tree_ node 0: tests feature -1"),
    (grown, GROWN, "feat", 100_000, "tree_ node 0: tests feature 100000"),
    (grown, GROWN, "left.value", 7, "tree_ node 1: predicts 7, which is not a class"),
    (grown, GROWN, "left.value", None, "tree_ node 1: predicts None, which is not a class"),
    (grown, GROWN, "left.value", np.array([0, 1]), "tree_ node 1: predicts a ndarray, which is not a class"),
    (grown, GROWN, "left.error", "2", "tree_ node 1.error: holds '2', which is not a number of rows"),
    (grown, GROWN, "left.error", -1, "tree_ node 1.error: holds -1, which is not a number of rows"),
    # FIGS
    (figs, {}, "trees_", [SOME], r"trees_\[0\]: is not a node of a tree"),
    (figs, {}, "trees_", [5], r"trees_\[0\]: is not a node of a tree"),
    (figs, {}, "left", None, r"trees_\[0\] node 1: is not a node of a tree"),
    (figs, {}, "right", None, r"trees_\[0\] node 2: is not a node of a tree"),
    (figs, {}, "value_sklearn", np.array(["4", "4"]), "value_sklearn: holds no rows per class"),
    (figs, {}, "left", SOME, r"trees_\[0\] node 1: is not a node of a tree"),
    (figs, {}, "feature", 1, r"trees_\[0\].feature: names feature 1 of 1"),
    (figs, {}, "value_sklearn", [4, 4], "value_sklearn: holds no rows per class"),
    (figs, {}, "value_sklearn", np.array([4, np.nan]), "value_sklearn: holds no rows per class"),
    (figs, {}, "value_sklearn", np.array([[4, 4]]), "value_sklearn: holds no rows per class"),
    (figs, {}, "value_sklearn", np.array([4, 4, 0]), "value_sklearn: holds 3 classes of 2"),
    (of_kind, {"kind": "FIGSClassifierCV"}, "figs", None, "figs: holds no fitted model"),
    # trees of scikit-learn inside
    (of_kind, {"kind": "DecisionTreeCCPClassifier"}, "estimator_", None, "estimator_: holds no fitted decision tree"),
    (of_kind, {"kind": "DecisionTreeCCPClassifier"}, "estimator_", SOME, "estimator_: holds no fitted decision tree"),
    (of_kind, {"kind": "HSTreeClassifier"}, "estimator_", None, "estimator_: holds no fitted estimator"),
    (of_kind, {"kind": "HSTreeClassifier", "classes_": np.array([0, 1])}, "estimator_", SOME, "a shrunk Y is not read"),
    (of_kind, {"kind": "HSTreeClassifier", "classes_": np.array([0, 1])}, "estimator_", FOREST,
     "a shrunk RandomForestClassifier of bootstrap samples is not read"),
    (of_kind, {"kind": "BoostedRulesClassifier", "classes_": np.array([0, 1])}, "estimators_", [SOME],
     "boosted rules of Y are not read: only those of decision trees are"),
    (of_kind, {"kind": "BoostedRulesClassifier", "classes_": np.array([0, 1])}, "estimators_", [3],
     "boosted rules of int are not read"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "good", "place", "value", "said"), CASES)
def test_an_object_with_one_thing_wrong_is_refused_by_name(read, good, place, value, said):
    with pytest.raises(ReconError, match=said):
        read(with_other(good, place, value))


def with_other(good, place, value):
    """Return a copy of lists and dicts with another value at a place."""
    found = copy.deepcopy(good)
    *way, last = place.split(".")
    inner = found
    for step in way:
        at = int(step) if isinstance(inner, list) else step
        inner[at] = list(inner[at]) if isinstance(inner[at], tuple) else inner[at]
        inner = inner[at]
    inner[int(last) if isinstance(inner, list) else last] = value
    return found


def test_as_they_stand_the_objects_are_read():
    for draft in (saved(SAVED), saved(COUNTED), greedy(STEPS), frugal(STEPS), of_bayes(STATE), grown(GROWN), figs({})):
        assert draft.models


@pytest.mark.parametrize(
    ("module", "limit", "most", "read", "good", "said"),
    [
        (corels_saved, "MAX_LITERALS", 2, saved, SAVED, "rules: holds more than 2 antecedents"),
        (plain_values, "MAX_PARTS", 2, saved, SAVED, "rules: holds 3 rules, more than 2"),
        (imodels_lists, "MAX_RULES", RULES - 1, of_bayes, STATE, f"the list has {RULES} rules, more than {RULES - 1}"),
        (dl85, "MAX_PARTS", 4, grown, GROWN, "tree_: has more than 4 nodes"),
        (dl85, "MAX_TESTS", 4, grown, GROWN, "tree_: has more than 4 tests on its paths"),
        (imodels_figs, "MAX_PARTS", 2, figs, {}, r"trees_\[0\]: has more than 2 nodes"),
    ],
)
def test_objects_beyond_a_limit_are_refused_and_none_at_it(module, limit, most, read, good, said, monkeypatch):
    monkeypatch.setattr(module, limit, most)
    with pytest.raises(ReconError, match=said):
        read(good)
    monkeypatch.setattr(module, limit, most + 1)
    assert read(good).origin


def test_what_a_list_of_corels_says_of_rows_that_are_no_box_is_nothing():
    def boxes(*antecedents):
        rules = [{"antecedents": a, "prediction": 1} for a in antecedents]
        found = saved({"f": ["a", "b", "c"], "r": [*rules, DEFAULT], "p": "y"}).models[0].statements
        return [[(name, test.values) for name, test in figure.condition if name != "y"] for figure in found]

    one, no = (1,), (0,)
    assert boxes([1], [2]) == [[("a", one)], [("b", one), ("a", no)]]
    assert boxes([1], [1, 2]) == [[("a", one)]]  # all rows of the second are the first's
    assert boxes([1, 2], [3]) == [[("a", one), ("b", one)]]  # what is left of the second is two boxes
    assert boxes([1], [-1]) == [[("a", one)], [("a", no)]]


def test_names_of_a_list_of_corels_are_told_from_numbers_of_columns():
    assert saved(SAVED).named
    assert {name for name, _ in saved(SAVED).tests()} == {"a", "b", "c"}
    assert not saved(SAVED | {"f": ["feature1", "feature2", "feature3"]}).named
    for name, label in (("", "label"), ("y" * 1000,) * 2, ("y" * 1001, "label"), (7, "label"), ("a", "a_")):
        assert saved(SAVED | {"p": name}).label == label


def test_what_rules_of_corels_that_are_not_compared_say_is_unused(monkeypatch):
    monkeypatch.setattr(corels_saved, "MAX_COMPARED", 2)
    assert saved(SAVED).origin.unused == ()
    monkeypatch.setattr(corels_saved, "MAX_COMPARED", 1)
    (only,) = saved(SAVED).origin.unused
    assert only.what == "the classes of the last 1 rules"


def test_leaf_values_of_figs_are_unused_where_counts_do_not_say_them():
    def unused(values, *more):
        found = figs_thing(values, [8, 4, 4])
        found.state["trees_"] += [figs_thing(values, [8, 4, 4]).state["trees_"][0] for _ in more]
        return [(one.labels, one.why[:25]) for one in imodels_figs.read(found, "pickle").origin.unused]

    counts, weights = [[4, 4], [3, 1], [1, 3]], [[4, 4], [3.2, 0.8], [0.8, 3.2]]
    assert unused(counts) == []
    assert unused(weights) == [(True, "rows were weighted: only ")]
    assert unused(counts, "two") == [(False, "they are means of what ot")]


def test_what_leaves_of_dl85_do_not_say_is_left_out():
    def figures(tree, **more):
        found = dl85.read(dl85_thing(tree, **more), "pickle").models[0].statements
        return [figure.name for figure in found]

    assert figures(GROWN, min_sup=True) == figures(GROWN, min_sup=0) == figures(GROWN, min_sup="5") == figures(GROWN)
    assert not any(name.startswith("rows of") for name in figures(GROWN, min_sup=1))
    assert len([name for name in figures(GROWN, min_sup=5) if name.startswith("rows of")]) == 3
    again = GROWN | {"right": GROWN["right"] | {"feat": 0}}  # asks the same twice: one leaf is nobody's
    assert len([name for name in figures(again) if name.startswith("errors of")]) == 2
    rounded = with_other(GROWN, "left.error", 1234570.0)
    assert len([name for name in figures(rounded) if name.startswith("errors of")]) == 2


@pytest.mark.parametrize(
    ("error", "rows"),
    [(3, 3), (3.0, 3), (99_999.0, 99_999), (100_000.0, None), (100_000, 100_000), (1_234_567, 1_234_567), (2.5, None),
     (float("nan"), None), (float("inf"), None), (0, 0), (0.0, 0)],
)  # fmt: skip
def test_errors_of_dl85_are_rows_where_all_their_digits_are_there(error, rows):
    found = grown(with_other(GROWN, "left.error", error)).models[0].statements
    assert [f.count for f in found if f.name == "errors of leaf 1"] == ([] if rows is None else [rows])


ONE = {"feat": 0, "left": {"value": 1, "error": 1}, "right": {"value": 0, "error": 0}, "proba": [0.0, 1.0]}
ROOT = {"feat": 0, "left": LEAF, "right": {"value": 0, "error": 1}, "proba": [0.25, 0.75]}


@pytest.mark.parametrize(
    ("tree", "accuracy", "rows"),
    [
        (ROOT, 0.9925, [100, 300]),
        (ROOT, None, None),
        (ROOT, 1.0, None),
        (ROOT, 0.0, None),
        (ROOT, 0.9999999, None),
        (ROOT, 0.999999, None),
        (ROOT, 0.99, [75, 225]),
        (ROOT, float("nan"), None),
        (ROOT, float("inf"), None),
        (ROOT | {"proba": [0.0, 1.0]}, 0.0, None),
        (ROOT | {"proba": [0.0, 1.0]}, -0.5, None),
        (ROOT | {"proba": [1.0, "x"]}, 0.9925, None),
        (ONE, 0.875, [0, 8]),
        (ONE, 0.874999, [0, 8]),  # 1 in 8 is at the end of what is left
        (ONE, 0.998999, None),  # 999 rows, or 1,000 at the end
        (ONE | {"proba": [1 / 3, 2 / 3]}, 0.875, None),  # no multiple of three
        (ONE | {"proba": [1.0, 0.0]}, 0.875, [8, 0]),
        (ROOT | {"proba": [1.0]}, 0.9925, None),
        (ROOT | {"proba": [0.25, 0.5]}, 0.9925, None),
        (ROOT | {"proba": [0.25, "x"]}, 0.9925, None),
        (ROOT | {"proba": [1.25, -0.25]}, 0.9925, None),
        (ROOT | {"proba": [True, False]}, 0.9925, None),
        (ROOT | {"proba": None}, 0.9925, None),
        (ROOT | {"left": {"value": 1, "error": 1234570.0}, "right": {"value": 0, "error": 3}}, 0.9925, None),
        (ROOT | {"proba": [0.25 + 1e-12, 0.75 - 1e-12]}, 0.9925, None),
        (ROOT | {"left": {"value": 1, "error": 0}, "right": {"value": 0, "error": 0}}, 0.9925, None),
    ],
)
def test_the_rows_behind_the_shares_of_dl85_are_said_where_one_number_fits(tree, accuracy, rows):
    found = dl85.read(dl85_thing(tree, accuracy_=accuracy), "pickle")
    totals = [f.count for f in found.models[0].statements if f.name.startswith("all rows")]
    assert (totals or None, found.rows is not None) == (rows, rows is not None)


def test_weights_and_errors_of_its_own_hide_the_rows_of_dl85():
    for more in ({"sample_weight": [0.5]}, {"error_function": Name("mine", "f")}):
        found = dl85.read(dl85_thing(ROOT, accuracy_=0.9925, **more), "pickle")
        assert (found.models, found.rows) == ((), None)


def test_rows_that_figs_stores_count_only_where_they_fit():
    labels = np.repeat([[1, 0], [0, 1]], 4, axis=0)
    inside = [np.ones(8, bool), np.arange(8) % 4 < 2, np.arange(8) % 4 >= 2]

    def counts(y, rows):
        found = figs_thing([[4, 4], [3, 1], [1, 3]], [8, 4, 4])
        root = found.state["trees_"][0]
        for node, here in zip((root, root.state["left"], root.state["right"]), rows, strict=True):
            node.state["idxs"] = here
        found.state["Y"] = y
        tree = imodels_figs.read(found, "pickle").models[0]
        return [node.support.counts for node in tree.nodes if node.condition is None]

    assert counts(labels, inside) == [(2, 2), (2, 2)]
    stored = [(3, 1), (1, 3)]
    wide, below, twice = np.eye(3, dtype=int)[[0, 1] * 4], labels.copy(), labels.copy()
    below[0], twice[0] = (2, -1), (1, 1)
    for y in (
        wide,
        below,
        twice,
        labels * 2,
        labels[:, :1],
        labels.astype(str),
        labels.tolist(),
        np.ones((8, 2)),
        labels[:, 0],
    ):
        assert counts(y, inside) == stored
    for last in (
        inside[2].astype(int),
        inside[2][:4],
        np.append(inside[2], False),
        inside[2].tolist(),
        np.ones(8, bool),
    ):
        assert counts(labels, [*inside[:2], last]) == stored


def fake_streed(**more):
    """Return a fitted STreeDClassifier of two leaves, as far as it is read."""

    def leaf(each, n):
        return SimpleNamespace(is_leaf_node=lambda: True, num_instances_per_class=each, num_instances=n)

    root = SimpleNamespace(
        is_leaf_node=lambda: False, feature=0, left_child=leaf([3, 0], 3), right_child=leaf([1, 2], 3)
    )
    maker = SimpleNamespace(
        binary_columns=["a"], categorical_columns=[], continuous_columns=[], binary_feature_limiter=None
    )
    return SimpleNamespace(**({"tree_": root, "classes_": np.array([0, 1]), "binarizer_": maker} | more))


def test_a_fitted_streed_tree_is_read_or_refused_by_name(monkeypatch):
    (tree,) = streed.of_model(fake_streed()).models
    assert streed.of_model(fake_streed()).rows == RowCount(6, 6)
    (three,) = streed.of_model(fake_streed(classes_=np.array([0, 1, 2]))).models
    assert [node.support.counts for node in three.nodes[1:]] == [(1, 2, 0), (3, 0, 0)]
    assert [node.support.counts for node in tree.nodes[1:]] == [(1, 2), (3, 0)]
    assert tree.nodes[0].condition == (("a", equals(1)),)
    root = fake_streed().tree_
    root.left_child.num_instances = 4
    for model, said in (
        (fake_streed(tree_=None), "is not fitted: it has no tree"),
        (fake_streed(classes_=np.array(["no", "yes"])), "counts labels 0, 1, ...: fit it on these, not on"),
        (fake_streed(classes_=np.array([-1, 1])), "counts labels 0, 1, ...: fit it on these, not on"),
        (fake_streed(tree_=root), r"node 2: counts \[3, 0\] of 4 rows"),
    ):
        with pytest.raises(ReconError, match=said):
            streed.of_model(model)
    monkeypatch.setattr(streed, "MAX_PARTS", 3)
    assert streed.of_model(fake_streed()).models
    monkeypatch.setattr(streed, "MAX_PARTS", 2)
    with pytest.raises(ReconError, match="the tree has more than 2 nodes"):
        streed.of_model(fake_streed())


@pytest.mark.parametrize(("zeros", "ones"), [(0, 1), (1, 0), (300, 2)])
def test_an_interval_of_little_prior_may_end_at_0_or_1(zeros, ones):
    low, high = (float(end) for end in beta.interval(0.95, ones + 1e-3, zeros + 1e-3))
    found = imodels_lists._beta_counts((ones + 1e-3) / (zeros + ones + 2e-3), (low, high), (1e-3, 1e-3), 0)
    assert found == (zeros, ones)


def test_an_interval_beside_the_one_of_its_mean_is_refused():
    ends = [float(end) for end in beta.interval(0.95, 21, 43)]
    assert imodels_lists._beta_counts(21 / 64, (ends[0], ends[1]), (1.0, 1.0), 0) == (42, 20)
    with pytest.raises(ReconError, match="is not a posterior mean of whole numbers of rows with its interval"):
        imodels_lists._beta_counts(21 / 64, (ends[0] + 1e-5, ends[1] + 1e-5), (1.0, 1.0), 0)


def test_an_interval_that_several_numbers_of_rows_have_is_refused():
    ends = tuple(float(end) for end in beta.interval(0.95, 10**8 + 1, 10**8 + 1))
    with pytest.raises(ReconError, match="and its interval fit several numbers of rows"):
        imodels_lists._beta_counts(0.5, ends, (1.0, 1.0), 0)


def test_shrunk_trees_say_sizes_where_classes_do_not_follow():
    trees, (x, y) = extra("sklearn.tree"), plants()
    model = trees.DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(x, y)
    names = list(x.columns)
    with pytest.raises(ReconError, match=r"estimator_.tree_: has values for 3 classes of 2"):
        READERS["HSTreeClassifier"](shrunk_thing(model, 5, "node_based", names, [0, 1]), "pickle")
    for scheme, reg in (("another", 0), ("node_based", -1)):
        draft = READERS["HSTreeClassifier"](shrunk_thing(model, reg, scheme, names, [0, 1, 2]), "pickle")
        assert draft.origin.counts == ("size",)
    mean = trees.DecisionTreeRegressor(max_leaf_nodes=4, random_state=0).fit(x, y)
    found = shrunk_thing(mean, 5, "node_based", names, [0, 1, 2])
    draft = READERS["HSTreeRegressor"](Thing(Name("imodels", "HSTreeRegressor"), "newobj", state=found.state), "pickle")
    assert (draft.origin.counts, draft.classes) == (("size",), None)


INF, NAN = float("inf"), float("nan")
PLAIN = {  # what reads a value, and values -> what they are, None where they are refused
    "number": [(1e300, 1e300), (-1e300, -1e300), (1.1e300, None), (-1.1e300, None), (INF, None), (-INF, None),
               (NAN, None), (True, None), ("1", None), (None, None), (10**400, None), (3, 3.0)],
    "count": [(1 << 53, 1 << 53), ((1 << 53) + 1, None), (2.0**53, 1 << 53), (0, 0), (-0.0, 0), (-1, None), (0.5, None),
              (INF, None), (NAN, None), (True, None), ("1", None), (None, None), ([1], None)],
    "parts": [([1], [1]), ((1, 2), [1, 2]), (np.array([1]), [1]), ([], None), (5, None), ("ab", None), ({1: 2}, None),
              (np.array([[1]]), None), (None, None)],
}  # fmt: skip


@pytest.mark.parametrize(("what", "value", "read"), [(what, *one) for what, each in PLAIN.items() for one in each])
def test_values_of_stored_objects_are_read_up_to_their_limits(what, value, read):
    def found():
        return (
            plain_values.parts(value, "rules", "here")
            if what == "parts"
            else getattr(plain_values, what)(value, "here")
        )

    if read is None:
        with pytest.raises(ReconError, match=r"^here: holds "):
            found()
    else:
        assert found() == read


@pytest.mark.parametrize(
    ("share", "rows", "read"),
    [(0.3, 10, 3), (1 / 3, 3, 1), (0.0, 7, 0), (1.0, 7, 7), (NAN, 0, 0), (0.31, 10, None), (1.1, 10, None),
     (-0.1, 10, None), (NAN, 3, None), (1 + 1e-9, 10, 10), (-1e-9, 10, 0), (0.3 + 1e-8, 10, 3), (0.3 + 1e-6, 10, None),
     (123_456_789 / 10**9, 10**9, 123_456_789), (123_456_789.4 / 10**9, 10**9, None),
     ((10**13 - 1) / 10**13, 10**13, 10**13 - 1)],
)  # fmt: skip
def test_a_share_of_rows_is_a_whole_number_of_them(share, rows, read):
    if read is None:
        with pytest.raises(ReconError, match=r"^here: holds "):
            plain_values.share_of(share, rows, "here")
    else:
        assert plain_values.share_of(share, rows, "here") == read


def test_names_are_told_from_what_is_none():
    cells = np.array(["a", "b"], dtype=object)
    args = (Name("pandas", "Index"), {"data": cells})
    assert plain_values.texts(Thing(Name("pandas", "_new_Index"), "reduce", args=args)) == ["a", "b"]
    index = Thing(Name("pandas", "_new_Index"), "reduce", args=(Name("pandas", "Index"), {"data": [["a", "b"]]}))
    assert plain_values.texts(np.array(["a", "b"], dtype=object)) == ["a", "b"]
    for none in (
        [],
        [1],
        ["a", 1],
        "ab",
        None,
        np.array([["a"]], dtype=object),
        index,
        Thing(Name("x", "Y"), "reduce", args=()),
    ):
        assert plain_values.texts(none) is None
    assert plain_values.two_classes(thing("X")) == (0, 1)
    for names, found in (
        (["a", "b"], (["a", "b"], True)), (["X0", "X1"], (["X0", "X1"], False)),
        (["X_0", "X_1"], (["X_0", "X_1"], False)),
        (["a", "a"], plain_values.model_features(thing("X"))), (None, plain_values.model_features(thing("X"))),
    ):  # fmt: skip
        assert plain_values.model_features(thing("X", feature_names_=names)) == found
    given = thing("X", feature_names_=["a", "b"], feature_names_in_=np.array(["c", "d"], dtype=object))
    assert plain_values.model_features(given) == (["c", "d"], True)
    assert plain_values.short_text((1 << 64) - 1) == "18446744073709551615"
    assert plain_values.short_text(1 << 64) == "a huge number"
    with pytest.raises(ReconError, match="has no complement that is one test"):
        plain_values.opposite(equals(2))
