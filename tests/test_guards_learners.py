"""Guards of what trees and forests of scikit-learn say of how they were fitted: bags, labels, settings."""

from __future__ import annotations

import numpy as np
import pytest
from changed_objects import GONE, changed, root_of
from test_guards_sklearn import NAN, Y, fitted

from recon.readers.formats.detection import draft_of_object
from recon.readers.formats.sklearn.trees.settings import explain_bags, labels_from_weights

NO_SEEDS = {"random_state": None, **{f"estimators_.{k}.random_state": None for k in range(3)}}
FIRST = "estimators_.0.tree_.nodes"
BAGS = [
    ("forest", {}, "each tree's number of distinct rows agrees"),
    ("forest", {"_n_samples": GONE, "_n_samples_bootstrap": GONE}, "each tree's number of distinct rows agrees"),
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
