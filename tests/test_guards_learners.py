"""Guards of what trees and forests of scikit-learn say of how they were fitted: bags, labels, settings."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from changed_objects import GONE, changed, root_of, sentence_of
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, KBinsDiscretizer, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from test_guards_sklearn import NAN, X, Y, fitted
from test_guards_sklearn import tree as fresh

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous
from encoders.encode.encoder import encode
from recon.readers.formats.detection import draft_of_object
from recon.readers.formats.sklearn.trees.settings import explain_bags, labels_from_weights
from recon.readers.frames.world import violations
from recon.readers.loading.loading import bind_draft

NO_SEEDS = {"random_state": None, **{f"estimators_.{k}.random_state": None for k in range(3)}}
FIRST = "estimators_.0.tree_.nodes"
BAGS = [
    ("forest", {}, "each tree's number of distinct rows agrees"),
    ("forest", {"_n_samples": GONE, "_n_samples_bootstrap": GONE}, "each tree's number of distinct rows agrees"),
    ("forest of one", {"_n_samples": GONE, "_n_samples_bootstrap": GONE}, "each tree's number of distinct rows agrees"),
    ("forest", {"_n_samples": GONE, "_n_samples_bootstrap": GONE, f"{FIRST}.weighted_n_node_samples.0": 8.0},
     "each tree's number of distinct rows agrees"),
    ("forest", {"estimators_": []}, "it has no list of fitted members"),
    ("forest", {"bootstrap": False}, "every tree was fitted on all rows"),
    ("forest", {"estimators_.0.tree_": None}, "its members are not scikit-learn trees"),
    ("forest", {FIRST: lambda nodes: nodes[:0]}, "its members are not scikit-learn trees"),
    ("forest", {FIRST: lambda nodes: nodes[["threshold"]]}, "its members are not scikit-learn trees"),
    ("forest", {FIRST: np.zeros(3)}, "its members are not scikit-learn trees"),
    ("forest", NO_SEEDS, "no seeds are stored with the trees"),
    ("forest", {"_sample_weight": np.zeros(12)}, "_sample_weight is not a vector of weights"),
    ("forest", {"_sample_weight": np.full(12, NAN)}, "_sample_weight is not a vector of weights"),
    ("forest", {"_sample_weight": np.array([-1.0, *[2] * 11])}, "_sample_weight is not a vector of weights"),
    ("forest", {"_n_samples": 10**9, "_n_samples_bootstrap": 10**9}, "are more than this program draws"),
    ("forest", {f"{FIRST}.n_node_samples.0": 1}, "do not have the distinct rows that the trees say"),
    ("forest of one", {"_n_samples": GONE, "_n_samples_bootstrap": GONE, "class_weight": "balanced"},
     "the number of training rows is not stored, and several would fit"),
    ("weighed forest", {"_n_samples_bootstrap": GONE}, "each tree's number of distinct rows agrees"),
    ("weighed forest", {"_n_samples_bootstrap": GONE, "_n_samples": GONE},
     "each tree's number of distinct rows agrees"),  # as many rows as weights
    ("weighed bag", {}, "each member's columns and number of distinct rows agree"),
    ("bag", {}, "each member's columns and number of distinct rows agree"),
    ("bag", {"random_state": None}, "each member's columns and number of distinct rows agree"),
    ("bag", {"_seeds": GONE}, "each member's columns and number of distinct rows agree"),
    ("bag", {"_seeds": GONE, "random_state": None}, "no seeds are stored"),
    ("bag", {"_seeds": np.array([-1, 2])}, "_seeds are no seeds"),
    ("bag", {"_n_samples": 0}, "its numbers of rows and columns are not stored"),
    ("bag", {"_n_samples": 10**9}, "are more than this program holds"),
    ("bag", {"estimators_features_.0": lambda found: 1 - found}, "the columns that these seeds draw are not those of"),
    ("bag", {f"{FIRST}.n_node_samples.0": 1}, "do not have the distinct rows that the trees say"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "changes", "why"), BAGS)
def test_bags_follow_from_seeds_or_have_their_reason(model, changes, why):
    found = explain_bags(changed(root_of(fitted(model)), changes))
    assert why in found.why
    assert (found.multiplicities is None) == ("agree" not in why)


WEIGHTS = [
    ({}, "settled by the trees' class counts"),
    ({"_sample_weight": None}, "there are no row weights of one classification"),
    ({"_sample_weight": np.arange(12.0)}, "there are 12 different weights for 2 classes"),
    ({"_sample_weight": np.ones(12)}, "there are only 1 different weights for 2 classes"),
    ({"estimators_.0.tree_": None}, "its trees do not say how many rows of each class they have"),
    ({FIRST: lambda nodes: nodes[["threshold"]]}, "its trees do not say how many rows of each class they have"),
    ({"estimators_.0.tree_.values": np.zeros(3)}, "its trees do not say how many rows of each class they have"),
    ({"estimators_.0.tree_.values": lambda found: found * NAN}, "its trees do not say how many rows of each class"),
    ({"estimators_.0.tree_.values": lambda found: found * 0}, "its trees do not say how many rows of each class"),
    (NO_SEEDS, "its bags are not known"),
    ({"bootstrap": False}, "the trees do not say the classes' weights"),
    ({"estimators_.0.tree_.values": lambda found: found[..., ::-1]}, "which weight belongs to which class is not"),
]


@pytest.mark.parametrize(("changes", "why"), WEIGHTS)
def test_labels_follow_from_weights_or_have_their_reason(changes, why):
    found, said = labels_from_weights(changed(root_of(fitted("weighed forest")), changes))
    assert why in said
    assert found is None or found.tolist() == Y.tolist()


NO_NUMBER = {"n_features_in_": GONE}
SETTINGS = [  # a model, a change, and settings of its learner (None: the learner is not known)
    ("tree", {}, {"max_depth": 2, "criterion": "gini", "columns": 2, "min_samples_split": 2, "max_features": None}),
    ("tree", {"criterion": 7}, None),
    ("tree", {"splitter": "worst"}, None),
    ("tree", {"min_weight_fraction_leaf": 0.6}, None),
    ("tree", {"min_samples_split": 1.5}, None),
    ("tree", {"min_samples_split": 0.5}, {"min_samples_split": 6}),
    ("tree", {"max_depth": 0}, None),
    ("tree", {"max_depth": None}, {"max_depth": None}),
    ("tree", {"max_leaf_nodes": 1}, None),
    ("tree", {"min_impurity_decrease": -1.0}, None),
    ("tree", {"ccp_alpha": NAN}, None),
    ("tree", {"ccp_alpha": True}, None),
    ("tree", {"max_features": "sqrt"}, {"max_features": 1}),
    ("tree", {"max_features": "auto"}, {"max_features": 1}),
    ("tree", {"max_features": 5}, {"max_features": None}),
    ("tree", {"max_features": 1}, {"max_features": 1}),
    ("tree", NO_NUMBER, {"columns": None}),
    ("tree", {**NO_NUMBER, "max_features": "sqrt"}, None),
    ("numbers", {"max_features": "auto"}, {"max_features": None, "criterion": "squared_error"}),
    ("forest", {}, {"max_depth": 2, "bootstrap": True}),
    ("forest", {"estimators_.1.max_depth": 5}, None),
    ("forest", NO_NUMBER, None),
    ("bag", {}, None),
    ("outliers", {}, None),
]


@pytest.mark.parametrize(("model", "changes", "known"), SETTINGS)
def test_settings_of_learners_are_those_of_the_file(model, changes, known):
    learner = draft_of_object(changed(root_of(fitted(model)), changes), "pickle").origin.learner
    assert (learner is None) == (known is None)
    assert {name: getattr(learner, name) for name in known or ()} == (known or {})


HIDDEN = "the classes are hidden, in the first tree too"
SOLVED = "the first tree's classes were solved for from its leaf values, exactly"
EVERY = "every leaf value is a statement on sums of gradients"
START = "the model that it starts from is not known"
FIRST_TREE = "estimators_.0.0.tree_"
BAYES = GaussianNB().fit(X, Y)


def moved(values):
    """Return leaf values of a stump that give its left leaf one event more than it has rows, the right one less."""
    tree = fitted("boosted").estimators_[0, 0].tree_
    n, p = tree.n_node_samples[1:].astype(float), Y.mean()
    events = np.array([n[0] + 1, Y.sum() - n[0] - 1])
    return np.array([values[0], *((events - n * p) / (n * p * (1 - p)))[:, None, None]])


SAID = [  # a boosted model, a change, and what its reader says of classes and of leaf values
    ("boosted", {}, SOLVED),
    ("boosted", {"loss": 7}, "leaf values say nothing more: its loss is none of the library's"),
    ("boosted", {"loss": "exponential"}, "leaf values say nothing more: its loss is 'exponential'"),
    ("boosted", {"loss": "exponential"}, HIDDEN),
    ("boosted", {"init_": None}, HIDDEN),
    ("boosted", {"init_": None}, START),
    ("boosted", {"init_": lambda _: root_of(BAYES)}, HIDDEN),
    ("boosted", {"init_": lambda _: root_of(BAYES)}, START),
    ("boosted", {"init_.class_prior_": np.array([0.5, 0.5])}, EVERY),
    ("boosted", {"init_.class_prior_": np.array([1.0, 0.0])}, HIDDEN),
    ("boosted", {"init_.class_prior_": np.ones(3) / 3}, HIDDEN),
    ("boosted", {f"{FIRST_TREE}.nodes.weighted_n_node_samples": lambda found: found * 2}, HIDDEN),
    ("boosted", {f"{FIRST_TREE}.values.1.0.0": 0.123}, EVERY),
    ("boosted", {f"{FIRST_TREE}.values": moved}, EVERY),
    ("boosted numbers", {}, "and their mean residual, is read"),
    ("boosted numbers", {"init_": None}, START),
    ("boosted numbers", {"init_": lambda _: root_of(fitted("boosted")).get("init_")}, START),
    ("histogram", {}, SOLVED),
    ("histogram", {"_baseline_prediction": "x"}, HIDDEN),
    ("histogram", {"_baseline_prediction": "x"}, "the scores that it starts from are not known"),
    ("histogram", {"l2_regularization": None}, HIDDEN),
    ("histogram", {"learning_rate": 0}, HIDDEN),
    ("histogram of numbers", {}, "and their mean residual, is read"),
    ("ada", {}, "of the first tree classes are known"),
    ("ada", {"estimators_.0.tree_.values": lambda found: found * 0 + 0.5}, HIDDEN),
]


@pytest.mark.parametrize(("model", "changes", "words"), SAID)
def test_what_boosted_models_say_of_classes_and_leaf_values(model, changes, words):
    draft = draft_of_object(changed(root_of(fitted(model)), changes), "pickle")
    assert any(words in line for line in draft.reader_notes), draft.reader_notes
    assert (draft.values is None) == (any("nothing more" in line for line in draft.reader_notes) or model == "ada")
    assert any(SOLVED in line for line in draft.reader_notes) == (words == SOLVED)
    if model == "ada":
        assert draft.occurring == ("only" if changes else "each")


def test_gains_that_are_no_numbers_say_nothing():
    model = HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=2, max_depth=3).fit(X, Y)
    kinds = []
    for changes in ({}, {"_predictors.0.0.nodes.gain.0": np.nan}):
        kinds.append(set(draft_of_object(changed(root_of(model), changes), "pickle").values.sums[0].what))
    assert kinds == [{"value", "gain"}, {"value"}]


def loaded(model, frame, label=None, **columns):
    """Return by which sentence a model is refused over the domain of a frame, "" where it is read."""
    draft = draft_of_object(root_of(model), "pickle")
    return sentence_of(lambda: encode(*bind_draft(draft, Domain.from_frame(frame, label=label)), draft.rows))


FRAME = X.assign(y=Y)
GAPPED = X.assign(a=X["a"].mask(X["a"] > 8))
BINS = KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform")
OVER_DOMAINS = [
    (make_pipeline(StandardScaler(), fresh()).fit(X.to_numpy(), Y), FRAME.assign(c=[0, 1] * 6), "fitted on 2 unnamed"),
    (make_pipeline(SimpleImputer(add_indicator=True), fresh()).fit(GAPPED, GAPPED["a"].isna()), FRAME,
     "the model tests whether 'a' is missing, but the domain has no missing value of it"),
    (make_pipeline(BINS, DecisionTreeRegressor(max_depth=2)).fit(X[["a"]], (X["a"] // 3 == 2) * 9), "continuous",
     "is binned one-hot for a model that is not a tree: declare a domain (--domain) that gives it a 'resolution'"),
    (make_pipeline(Binarizer(), LogisticRegression()).fit(X, Y), FRAME, "--known-columns"),
    (KBinsDiscretizer(3, strategy="kmeans").fit(X), X, "the file has no figure of a column"),
    (StandardScaler().fit(X), FRAME.rename(columns={"a": "c", "b": "d"}), "none of the columns of its steps"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "frame", "words"), OVER_DOMAINS, ids=lambda one: one if isinstance(one, str) else "")
def test_pipelines_over_domains_that_they_do_not_fit(model, frame, words):
    if isinstance(frame, str):
        own = Domain((Continuous("a", 0, 11),), Categorical("y", (0, 9)))
        draft = draft_of_object(root_of(model), "pickle")
        assert words in sentence_of(lambda: encode(*bind_draft(draft, own), draft.rows))
        return
    assert words in loaded(model, frame, None if frame is X else "y")


def test_a_fold_that_is_not_there(tmp_path):
    path = tmp_path / "folds.pkl"
    path.write_bytes(pickle.dumps(fitted("calibrated")))
    assert "there are 2 models of folds, no number 3" in sentence_of(recon.load, f"{path}#3")


def test_tests_for_gaps_behind_a_step():
    """A tree that sends gaps one way, of a column whose gaps pass a scaler; where they were filled nothing can."""
    fit = make_pipeline(StandardScaler(), fresh()).fit(GAPPED[["a"]], GAPPED["a"].isna())
    rows = GAPPED[["a"]].assign(y=GAPPED["a"].isna().astype(int))
    draft = draft_of_object(root_of(fit), "pickle")
    release = encode(*bind_draft(draft, Domain.from_frame(rows, label="y")), draft.rows)
    assert violations(release, rows) == []
    filled = make_pipeline(SimpleImputer(), fresh()).fit(X[["a"]], Y)
    root = changed(root_of(filled), {"steps.1.1.tree_.nodes.threshold.0": np.inf})
    draft = draft_of_object(root, "pickle")
    words = sentence_of(lambda: encode(*bind_draft(draft, Domain.from_frame(rows, label="y")), draft.rows))
    assert "is missing, but all its gaps are filled before" in words
