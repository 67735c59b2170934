"""Guards of readers of scikit-learn's objects: one thing changed in what was fitted, and the words that refuse it."""

from __future__ import annotations

import functools
import math
import re
from contextlib import nullcontext, suppress
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
from changed_objects import GONE, changed, named, put, refusal, root_of
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import (
    RFE,
    SelectFdr,
    SelectFpr,
    SelectFwe,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
)
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sksurv.tree import SurvivalTree
from sksurv.util import Surv

import recon
from encoders.domain.values import Categorical, Continuous, Grid, Test
from recon.readers.formats.detection import draft_of_object
from recon.readers.formats.drafts.binding import Feature, passes
from recon.readers.formats.drafts.binding import single as rounded
from recon.readers.formats.sklearn.pipelines import steps
from recon.readers.formats.sklearn.pipelines.binding import Hints, _among, either
from recon.readers.formats.sklearn.pipelines.columns import (
    Above,
    Binned,
    ByQuantiles,
    Imputed,
    InBin,
    OutsideTest,
    ScaledMap,
    StepColumn,
)
from recon.readers.formats.sklearn.pipelines.steps import columns_after
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

X = pd.DataFrame({"a": np.arange(12.0), "b": np.arange(12.0) % 4})
Y = pd.Series([0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1])
WEIGHED = {0: 1.3, 1: 0.7}
LINES = LinearRegression()
CODES = np.arange(80.0)[:, None] % 4
BITS = CODES[:, 0] % 2
GAPS = X.mask(X == 3)
SMALL = {"max_depth": 2, "random_state": 0}
NAN = math.nan


def tree():
    return DecisionTreeClassifier(**SMALL)


MODELS = {
    "tree": lambda: tree().fit(X, Y),
    "plain": lambda: tree().fit(X.to_numpy(), Y),
    "signed": lambda: DecisionTreeClassifier(monotonic_cst=[1, 0], **SMALL).fit(X, Y),
    "numbers": lambda: DecisionTreeRegressor(**SMALL).fit(X, Y),
    "forest": lambda: RandomForestClassifier(3, **SMALL).fit(X, Y),
    "weighed forest": lambda: RandomForestClassifier(3, class_weight=WEIGHED, max_samples=8, **SMALL).fit(X, Y),
    "forest of one": lambda: RandomForestClassifier(1, **SMALL).fit(X, Y),
    "weighed bag": lambda: BaggingClassifier(tree(), 2, random_state=0).fit(X, Y, sample_weight=np.arange(12) + 1.0),
    "outliers": lambda: IsolationForest(n_estimators=2, random_state=0).fit(X),
    "bag": lambda: BaggingClassifier(tree(), 2, max_features=1, random_state=0).fit(X, Y),
    "ada": lambda: AdaBoostClassifier(tree(), n_estimators=2, random_state=0).fit(X, Y),
    "boosted": lambda: GradientBoostingClassifier(n_estimators=2, max_depth=1).fit(X, Y),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2).fit(X, Y),
    "categories": lambda: HistGradientBoostingClassifier(max_iter=1, categorical_features=[0]).fit(CODES, BITS),
    "boosted numbers": lambda: GradientBoostingRegressor(n_estimators=2, max_depth=1).fit(X, X["a"]),
    "histogram of numbers": lambda: HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2).fit(X, X["a"]),
    "towns": lambda: HistGradientBoostingClassifier(max_iter=1, categorical_features=["a"]).fit(
        pd.DataFrame({"a": pd.Categorical([["Ulm", "Kiel", "Bonn", "Rom"][int(c)] for c in CODES[:, 0]])}), BITS
    ),
    "survival": lambda: SurvivalTree(max_depth=1).fit(X, Surv.from_arrays(Y == 1, np.arange(12) % 5 + 1.0)),
    "vote": lambda: VotingClassifier([("a", tree()), ("b", tree())]).fit(X, Y),
    "calibrated": lambda: CalibratedClassifierCV(tree(), cv=2).fit(X, Y),
    "calibrated once": lambda: CalibratedClassifierCV(tree(), cv=2, ensemble=False).fit(X, Y),
    "search": lambda: GridSearchCV(tree(), {"max_depth": [1, 2]}, cv=2).fit(X, Y),
    "threshold": lambda: TunedThresholdClassifierCV(tree().fit(X, Y), cv="prefit", refit=False).fit(X, Y),
    "pipeline": lambda: make_pipeline(StandardScaler(), tree()).fit(X, Y),
    "two scalers": lambda: make_pipeline(StandardScaler(), QuantileTransformer(n_quantiles=12)).fit(X),
    "pipeline in pipeline": lambda: make_pipeline(
        StandardScaler(), make_pipeline(MinMaxScaler(), tree())
    ).fit(X, Y),
    "of one column": lambda: make_pipeline(StandardScaler(), tree()).fit(X[["a"]], Y),
    "of few rows": lambda: tree().fit(X[:6], Y[:6]),
    "vote of numbers": lambda: VotingRegressor([("a", DecisionTreeRegressor(**SMALL)), ("b", LINES)]).fit(X, X["a"]),
    "vote of lines": lambda: VotingClassifier([("a", LogisticRegression()), ("b", LogisticRegression())]).fit(X, Y),
    "called missing": lambda: make_pipeline(OneHotEncoder(), tree()).fit(
        pd.DataFrame({"a": ["missing", "x", None, "x"] * 3}), Y
    ),
    "standard": lambda: StandardScaler().fit(X),
    "above": lambda: FeatureUnion([("b", Binarizer()), ("s", StandardScaler())]).fit(X),
    "robust": lambda: RobustScaler().fit(X),
    "min-max": lambda: MinMaxScaler().fit(X),
    "bins": lambda: KBinsDiscretizer(3).fit(X),
    "quantiles": lambda: QuantileTransformer(n_quantiles=5).fit(X),
    "filled": lambda: SimpleImputer(add_indicator=True).fit(GAPS),
    "constant": lambda: SimpleImputer(strategy="constant", fill_value=7.0).fit(GAPS),
    "one-hot": lambda: OneHotEncoder(drop="first").fit(X),
    "rare": lambda: OneHotEncoder(min_frequency=3).fit(X),
    "codes": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(X),
    "binarized": lambda: make_pipeline(Binarizer(), tree()).fit(X, Y),
    "function": lambda: make_pipeline(FunctionTransformer(), tree()).fit(X, Y),
    "chosen": lambda: make_pipeline(SelectKBest(k=1), tree()).fit(X, Y),
    "varying": lambda: make_pipeline(VarianceThreshold(), tree()).fit(X, Y),
    "union": lambda: FeatureUnion([("s", StandardScaler()), ("m", MinMaxScaler())]).fit(X),
    "parted": lambda: ColumnTransformer([("s", StandardScaler(), ["a"]), ("m", MinMaxScaler(), ["b"])]).fit(X),
    "words": lambda: CountVectorizer().fit(["a few words", "words more"]),
    "weighed words": lambda: TfidfVectorizer().fit(["some few words", "words more"]),
    "scaled words": lambda: make_pipeline(CountVectorizer(), StandardScaler(with_mean=False)).fit(["ab cd", "cd"]),
}  # fmt: skip
fitted = functools.cache(lambda name: MODELS[name]())
NODES = "tree_.nodes"
CIRCLE = {"left_child": [1, -1, -1, 4, 3], "right_child": [2, -1, -1, 3, 4]}


def piped(step):
    """Return a step in a pipeline in a pipeline, 30 times over."""
    for _ in range(30):
        step = put(root_of(fitted("pipeline")), ["steps"], [("one", step)])
    return step


def nested():
    """Return a search whose best model is a search, 30 times over."""
    found = root_of(fitted("search"))
    for _ in range(30):
        found = put(root_of(fitted("search")), ["best_estimator_"], found)
    return found


def field(name, at, value):
    """Return the change of one figure of a node."""
    return {f"{NODES}.{name}.{at}": value}


REFUSED = [
    # trees
    ("tree", {"tree_": GONE}, "tree_: is not fitted: it has no tree"),
    ("tree", {"tree_": "x"}, "tree_: holds no fitted tree"),
    ("tree", {NODES: lambda nodes: nodes[["threshold"]]}, "no node array with the fields of a tree (left_child"),
    ("tree", {"tree_": lambda tree: Thing(Name("other", "ObliqueTree"), tree.how, (), {}, tree.fields())}, "no fitted"),
    ("tree", {NODES: lambda nodes: nodes[None]}, "no node array with the fields of a tree ()"),
    ("tree", {NODES: None}, "no node array with the fields of a tree (left_child"),
    ("tree", {"tree_.values": np.zeros((7, 2))}, "has no array of values per node, output and class"),
    ("tree", {"tree_.values": None}, "has no array of values per node, output and class"),
    ("tree", {"tree_.values": lambda values: values.astype(int)}, "has no array of values per node, output and class"),
    ("tree", {NODES: lambda nodes: nodes[:0], "tree_.values": lambda values: values[:0]}, "has 0 nodes and values of"),
    ("tree", {"tree_.values": lambda values: values[:2]}, "nodes and values of 2"),
    ("tree", {"tree_.values": lambda values: values[:, [0, 0]]}, "a tree with several outputs is not read"),
    (
        "tree",
        {NODES: lambda nodes: nodes.astype([(n, object) for n in nodes.dtype.names])} | field("feature", 0, "x"),
        "has node fields that are not numbers",
    ),
    ("tree", field("left_child", 0, 99), "node 0 has the left_child 99 of"),
    ("tree", field("left_child", 0, 0), "node 0 has the left_child 0 of"),
    ("tree", field("right_child", 0, 0), "node 0 has the right_child 0 of"),
    ("tree", field("right_child", 0, 1), "node 1 is the child of 2 nodes"),
    ("tree", field("feature", 0, 2), "node 0 tests feature 2 of 2"),
    ("tree", field("feature", 0, -1), "node 0 tests feature -1 of 2"),
    ("tree", field("threshold", 0, NAN), "has a threshold that is not a number"),
    ("tree", field("threshold", 0, -math.inf), "has a threshold that is not a number"),
    ("tree", field("n_node_samples", 0, -1), "has figures that are not numbers of rows"),
    ("tree", field("n_node_samples", 0, (1 << 53) + 1), "has figures that are not numbers of rows"),
    ("tree", field("n_node_samples", 0, 1 << 53), "says 9.0072e+15 rows, but its two children"),
    ("tree", field("n_node_samples", 0, 0), "says 0 rows, but its two children"),
    ("tree", field("weighted_n_node_samples", 0, NAN), "has figures that are not numbers of rows"),
    ("tree", field("n_node_samples", 0, 13), "tree_.nodes['n_node_samples'][0] says 13 rows, but its two children"),
    ("tree", field("weighted_n_node_samples", 0, 13), "values sum to 1, not to its 13 rows|both cannot be true"),
    ("tree", field("impurity", 0, 0.1), "tree_.nodes['impurity'][0] is 0.1, but tree_.values[0] has the impurity"),
    ("tree", {"tree_.values": lambda values: values * 3}, "node 0: its values sum to 3, not to its 12 rows"),
    ("tree", {"tree_.values": lambda values: -values}, "has negative counts"),
    ("tree", {"n_outputs_": 2}, "a DecisionTreeClassifier with several outputs is not read"),
    ("tree", {"n_outputs_": "1"}, "a DecisionTreeClassifier with several outputs is not read"),
    ("tree", {"classes_": np.arange(3)}, "has values for 2 classes, but 3 are named"),
    ("tree", {"classes_": [np.arange(2)]}, "a tree with several outputs is not read"),
    ("tree", {"classes_": np.zeros(0)}, "classes_: does not name its classes"),
    ("tree", {"classes_": np.array([0, NAN])}, "has the class nan, which is neither a number nor text"),
    ("tree", {"monotonic_cst": [2, 0]}, "has monotonic constraints other than 1, 0 and -1"),
    ("tree", {"monotonic_cst": "up"}, "has monotonic constraints other than 1, 0 and -1"),
    ("tree", {"feature_names_in_": np.array(["a", "a"], dtype=object)}, "has two features called 'a'"),
    ("tree", {"feature_names_in_": np.array(["a"], dtype=object)}, "has 1 feature names for 2 features"),
    ("plain", {"n_features_in_": "2"}, "does not say on how many features it was fitted, if it was"),
    ("plain", {"n_features_in_": 0}, "does not say on how many features it was fitted, if it was"),
    ("signed", {"monotonic_cst": [1]}, "has 1 monotonic constraints, but more features"),
    ("numbers", {"tree_.values": lambda values: np.concatenate([values, values], axis=2)}, "several values per node"),
    # forests
    ("forest", {"estimators_": []}, "estimators_: is not fitted: it has no trees"),
    ("forest", {"estimators_": None}, "estimators_: is not fitted: it has no trees"),
    ("forest", {"estimators_.1": 7}, "a RandomForestClassifier of int is not read: only ensembles of decision trees"),
    ("forest", {"bootstrap": "yes"}, "bootstrap: has the setting bootstrap='yes'"),
    ("bag", {"estimators_features_": lambda found: found[:1]}, "has not one set of features per tree"),
    ("bag", {"estimators_features_": "all"}, "has not one set of features per tree"),
    ("bag", {"estimators_features_.0": np.zeros(1)}, "estimators_features_[0]: are not numbers of features"),
    ("bag", {"estimators_features_.0": np.array([5])}, "estimators_features_[0]: names feature 5 of 2"),
    ("bag", {"estimators_features_.0": np.array([-1])}, "estimators_features_[0]: names feature -1 of 2"),
    # boosting
    ("ada", {"estimators_": []}, "estimators_: is not fitted: it has no trees"),
    ("ada", {"estimators_": "none"}, "estimators_: is not fitted: it has no trees"),
    ("ada", {"estimators_.0": 7}, "a AdaBoostClassifier of int is not read: only ensembles of decision trees"),
    ("ada", {"classes_": np.arange(3)}, "has values for 2 classes, but 3 are named"),
    ("histogram", {"_predictors": []}, "_predictors: is not fitted: it has no trees"),
    ("histogram", {"_predictors": [[]]}, "_predictors: is not fitted: it has no trees"),
    ("histogram", {"_predictors.0.0": 7}, "_predictors[0][0]: has no node array with the fields of a tree"),
    ("histogram", {"_predictors.0.0.nodes": lambda nodes: nodes[["value"]]}, "no node array with the fields of a tree"),
    ("histogram", {"_predictors.0.0.nodes.feature_idx.0": 2}, "tests a feature that is none of its 2"),
    ("histogram", {"_predictors.0.0.nodes.left.0": 99}, "_predictors[0][0]: node 0 has the left_child 99 of"),
    (
        "categories",
        {"_predictors.0.0.nodes.is_categorical.0": 0},
        "compares a feature with categories with a threshold",
    ),
    ("categories", {"_predictors.0.0.nodes.bitset_idx.0": 9}, "has no set of categories of a split"),
    ("categories", {"_predictors.0.0.raw_left_cat_bitsets": None}, "has no set of categories of a split"),
    ("categories", {"_bin_mapper": None}, "_bin_mapper: names no categories of its columns with categories"),
    ("categories", {"_bin_mapper.bin_thresholds_.0": np.array([0.5])}, "a code of a category that is none of 0 to 255"),
    ("categories", {"_bin_mapper.bin_thresholds_.0": np.array([-1.0])}, "a code of a category that is none of 0 to"),
    ("categories", {"_bin_mapper.bin_thresholds_.0": np.array([256.0])}, "a code of a category that is none of 0 to"),
    ("categories", {"_bin_mapper.bin_thresholds_.0": np.array([255.0])}, "_preprocessor: names no categories"),
    ("categories", {"_bin_mapper.bin_thresholds_.0": np.array([9.0])}, "_preprocessor: names no categories"),
    ("towns", {"_preprocessor.transformers_": []}, "_preprocessor: names no categories of its columns"),
    ("towns", {"_preprocessor.transformers_.0": ("x",)}, "_preprocessor: names no categories of its columns"),
    ("towns", {"_preprocessor.transformers_.0.1": "x"}, "_preprocessor: names no categories of its columns"),
    ("towns", {"_preprocessor.transformers_.0.1.categories_": []}, "_preprocessor: names no categories of its"),
    ("towns", {"_preprocessor.transformers_.0.1.categories_.0": np.array([None] * 4)}, "is a NoneType, neither text"),
    ("towns", {"_predictors.0.0.raw_left_cat_bitsets": lambda found: found * 0}, "splits on categories that the model"),
    # survival trees
    ("survival", {"unique_times_": None}, "has no list of the training times: it is not fitted"),
    ("survival", {"is_event_time_": np.ones(5)}, "is_event_time_: does not say which times are of events"),
    ("survival", {"unique_times_.1": 9.0}, "unique_times_: has times that do not ascend"),
    ("survival", {"unique_times_.4": math.inf}, "unique_times_: has times that do not ascend"),
    ("survival", {"tree_.values": np.zeros(3)}, "tree_: has no array of values per node and time"),
    ("survival", {"tree_.values": lambda values: -values}, "has hazards that fall, or are no numbers"),
    ("survival", {"tree_.values": lambda values: values * NAN}, "has hazards that fall, or are no numbers"),
    ("survival", {"is_event_time_": np.zeros(5, dtype=bool)}, "where nobody had one"),
    # what holds models
    ("vote", {"estimators_": []}, "estimators_: is a VotingClassifier that is not fitted"),
    ("vote", {"cv": "prefit"}, "the members of a VotingClassifier with cv='prefit' may know different rows"),
    ("vote", {"estimators_": ["a", "b"]}, "no member of the VotingClassifier is read (a, b): recon inspect it"),
    ("vote", {"estimators_.0.classes_": np.array([0, 5])}, "classes that are not numbers of the classes of the vote"),
    (
        "vote",
        {"estimators_.1": lambda _: root_of(fitted("of few rows"))},
        "one member was fitted on 12 rows, another on 6",
    ),
    ("search", {"best_estimator_": lambda _: nested()}, "models are nested too deeply in one another, or are too many"),
    ("calibrated", {"calibrated_classifiers_": []}, "is a CalibratedClassifierCV that is not fitted"),
    ("calibrated", {"cv": "custom"}, "with splits of its own may share or lack any rows"),
    ("calibrated", {"calibrated_classifiers_.0": 7}, "is a CalibratedClassifierCV without a fitted model"),
    ("calibrated once", {"ensemble": True}, "a CalibratedClassifierCV of 1 models is not read"),
    ("calibrated once", {"calibrated_classifiers_.0": 7}, "is a CalibratedClassifierCV without a fitted model"),
    ("search", {"best_estimator_": None}, "the GridSearchCV has no best model: fit it with refit=True"),
    ("threshold", {"cv": 2}, "the TunedThresholdClassifierCV was fitted on a part of the rows"),
    ("threshold", {"estimator_": None}, "is a TunedThresholdClassifierCV without a fitted model"),
    # pipelines
    ("pipeline", {"steps": []}, "Pipeline: has no steps: it is not fitted"),
    ("pipeline", {"steps": tuple}, "Pipeline: has no steps: it is not fitted"),
    ("pipeline", {"steps.0": list}, "Pipeline: has steps that are no named steps"),
    ("pipeline", {"steps.0": ("s",)}, "Pipeline: has steps that are no named steps"),
    ("pipeline", {"steps.0.0": 7}, "Pipeline: has steps that are no named steps"),
    ("binarized", {"steps.1.1": "passthrough"}, "the pipeline ends without a model"),
    ("pipeline", {"steps.0.1": 7}, "is not a transformer but a int"),
    (
        "pipeline",
        {"steps.1.1.n_features_in_": 3, "steps.1.1.feature_names_in_": GONE},
        "the model takes 3 columns, the",
    ),
    ("pipeline in pipeline", {"steps.1.1.steps.0.1.n_features_in_": 3}, "data_min_: has not one number per column (3)"),
    (
        "pipeline in pipeline",
        {"steps.1.1": lambda _: root_of(fitted("of one column"))},
        "takes 1 columns, the pipeline",
    ),
    (
        "pipeline",
        {"steps.1.1": lambda _: root_of(fitted("categories"))},
        "the model takes 1 columns, the pipeline gives 2",
    ),
    ("standard", {"n_features_in_": 3, "feature_names_in_": GONE}, "has not one number per column (3)"),
    ("standard", {"scale_.0": 0.0}, "scale_: has a scale that is not positive"),
    ("standard", {"mean_.0": NAN}, "mean_: has numbers that are not finite"),
    ("standard", {"with_mean": "yes"}, "with_mean: is neither true nor false"),
    ("min-max", {"feature_range": (0,)}, "feature_range: has a range that is not a pair of numbers"),
    ("min-max", {"feature_range": ("a", "b")}, "feature_range: has a range that is not a pair of numbers"),
    ("bins", {"encode": "twice"}, "encode: has an encoding that no version knows"),
    ("bins", {"dtype": np.float32}, "bins 32-bit numbers: leave its dtype to the default"),
    ("bins", {"bin_edges_": lambda found: found[:1]}, "bin_edges_: has not one set of edges per column"),
    ("bins", {"bin_edges_.0": np.zeros(1)}, "bin_edges_: has a column without edges"),
    ("bins", {"bin_edges_.0": np.array([3.0, 1.0])}, "bin_edges_: has edges that do not ascend"),
    ("bins", {"bin_edges_.0": np.array([1.0, NAN])}, "bin_edges_: has edges that do not ascend"),
    ("quantiles", {"quantiles_": lambda found: found[:, :1]}, "quantiles_: has not one list of quantiles per column"),
    ("quantiles", {"quantiles_.0.0": 99.0}, "quantiles_: has quantiles that do not ascend"),
    ("quantiles", {"quantiles_.0.0": NAN}, "quantiles_: has quantiles that do not ascend"),
    ("filled", {"statistics_": np.zeros(3)}, "statistics_: has not one value to fill in per column"),
    ("filled", {"missing_values": Name("somewhere", "GAP")}, "missing_values: marks gaps by an object"),
    ("filled", {"indicator_": None}, "indicator_: has no indicator"),
    ("filled", {"indicator_.features_": "all"}, "does not say of which columns it tells gaps"),
    ("filled", {"indicator_.features_": np.array([2])}, "tells of columns that are none of the 2"),
    ("constant", {"statistics_.0": NAN}, "fills gaps with NaN: leave it out"),
    ("one-hot", {"categories_": lambda found: found[:1]}, "has not one set of categories for each of its 2 columns"),
    ("one-hot", {"categories_.0": np.zeros(0)}, "categories_[0]: are no categories"),
    ("one-hot", {"categories_.0": np.array([1.0, 1.0])}, "categories_[0]: lists a category twice"),
    ("one-hot", {"categories_.0": np.array([None, NAN], dtype=object)}, "both None and NaN are categories"),
    (
        "one-hot",
        {"categories_.0": np.array([b"x"], dtype=object)},
        "has the value b'x', which is neither text nor a number of 64 bits",
    ),
    ("constant", {"statistics_.0": math.inf}, "has the value inf, which is neither text nor a number of 64 bits"),
    ("one-hot", {"handle_unknown": "guess"}, "has a setting handle_unknown that no version knows"),
    ("one-hot", {"drop_idx_": np.zeros(3), "_drop_idx_after_grouping": GONE}, "does not say which category of each"),
    ("one-hot", {"drop_idx_": 0, "_drop_idx_after_grouping": GONE}, "does not say which category of each column is"),
    ("one-hot", {"drop_idx_": np.array([0, 9]), "_drop_idx_after_grouping": GONE}, "drops a category that is none of"),
    ("rare", {"_infrequent_indices": lambda found: found[:1]}, "has not one set of infrequent categories per column"),
    ("rare", {"_infrequent_indices.0": np.array([99])}, "has infrequent categories that are none of its categories"),
    ("codes", {"unknown_value": "x"}, "has a code for unknown or missing values that is not a number"),
    ("binarized", {"steps.0.1.threshold": "x"}, "threshold: has a threshold that is not a number"),
    ("function", {"steps.0.1.func": "f"}, "is not read, because its function is code, which is not run"),
    ("chosen", {"steps.0.1.k": "x"}, "has a setting k that is not a number"),
    ("chosen", {"steps.0.1.scores_": np.zeros(3)}, "scores_: has not one number per column (2)"),
    ("chosen", {"steps.0.1.k": 0}, "the steps of the pipeline leave no column to the model"),
    ("varying", {"steps.0.1.threshold": "x"}, "has a setting threshold that is not a number"),
    ("varying", {"steps.0.1.variances_": np.zeros(1)}, "variances_: has not one number per column (2)"),
    ("union", {"transformer_weights": {"s": -1.0}}, "transformer_weights: has a weight that is not a positive number"),
    ("union", {"transformer_weights": 3}, "transformer_weights: has a weight that is not a positive number"),
    ("parted", {"transformers_.0.2": slice(0, 1), "_transformer_to_input_indices": GONE}, "is too old (before 1.0)"),
    ("parted", {"transformers_.0.2": "a", "_transformer_to_input_indices": GONE}, "does not say which columns it gets"),
    ("parted", {"_transformer_to_input_indices.s": [5]}, "gets columns that are none of the 2"),
    (
        "two scalers",
        {"steps.0.1.n_samples_seen_": 13, "steps.1.1.n_quantiles": 99},
        "one step was fitted on 12 rows, another on 13",
    ),
    (
        "two scalers",
        {"steps.0.1.n_samples_seen_": np.array([12, 13]), "steps.1.1.n_quantiles": 99},
        "n_samples_seen_: 13 rows of a column, 12 of all",
    ),
    ("parted", {"transformers_.0.1.n_features_in_": 5}, "parted|does not take the 1 columns that it gets"),
    ("pipeline", {"steps.0.1": piped}, "pipelines are nested too deeply, or have too many columns"),
    ("quantiles", {"references_": None}, "quantiles_: has not one list of quantiles per column"),
    ("rare", {"_infrequent_indices.0": "x"}, "has infrequent categories that are none of its categories"),
    ("scaled words", {"steps": lambda found: found[::-1]}, "a StandardScaler before texts become words is not read"),
    (
        "tree",
        {f"{NODES}.left_child": [-1, 2, 1, -1, -1, 6, -1][:5], f"{NODES}.right_child": [-1, 3, 4, -1, -1]},
        "4 of its nodes cannot be reached from the root",
    ),
    # words
    ("words", {"vocabulary_": GONE}, "vocabulary_: has no words: the vectorizer is not fitted"),
    ("words", {"vocabulary_.few": 9}, "vocabulary_: has the column 9 of 3"),
    ("words", {"vocabulary_.few": 1}, "vocabulary_: does not number its words from 0 on"),
    ("weighed words", {"_tfidf.idf_": np.ones(2)}, "idf_: has not one weight for each of the 4 words"),
    ("weighed words", {"_tfidf.idf_.0": 0.5}, "idf_: 0.5 is no weight of a word"),
    ("weighed words", {"_tfidf.idf_.0": NAN}, "idf_: nan is no weight of a word"),
]


@pytest.mark.parametrize(("model", "changes", "said"), REFUSED, ids=lambda one: one if isinstance(one, str) else "")
def test_a_changed_model_is_refused_with_the_reason(model, changes, said):
    found = refusal(fitted(model), changes)
    assert any(words in found for words in said.split("|")), found


@pytest.mark.parametrize(
    ("model", "changes", "said"),
    [
        ("standard", {"mean_": [0.0, 1.0]}, "step.mean_: has not one number per column (2)"),
        ("standard", {"mean_": np.array(["a", "b"])}, "step.mean_: has not one number per column (2)"),
        ("min-max", {"feature_range": 1}, "feature_range: has a range that is not a pair of numbers"),
        ("min-max", {"feature_range": (0, "x")}, "feature_range: has a range that is not a pair of numbers"),
        ("quantiles", {"references_": lambda found: found[:, None]}, "has not one list of quantiles per column"),
        ("quantiles", {"quantiles_": None}, "has not one list of quantiles per column"),
        ("quantiles", {"quantiles_": lambda found: found.astype(int)}, "has not one list of quantiles per column"),
        (
            "quantiles",
            {"quantiles_": lambda found: found[:1], "references_": lambda found: found[:1]},
            "has not one list of quantiles per column",
        ),
        ("bins", {"bin_edges_.0": [0.0, 4.0]}, "has a column without edges"),
        ("bins", {"bin_edges_.0": np.zeros((3, 3))}, "has a column without edges"),
        ("bins", {"bin_edges_.0": np.array(["a", "b"])}, "has a column without edges"),
        ("bins", {"bin_edges_.0": np.array([0.0, 5.0, 3.0, 11.0])}, "has edges that do not ascend"),
        ("bins", {"bin_edges_.0": np.array([-math.inf, 5.0, math.inf])}, "has edges that do not ascend"),
        ("filled", {"statistics_": [1.0, 2.0]}, "has not one value to fill in per column"),
        ("filled", {"indicator_.features_": np.zeros((1, 1), dtype=int)}, "does not say of which columns it tells"),
        ("filled", {"indicator_.features_": np.array([0.0])}, "does not say of which columns it tells"),
        ("filled", {"indicator_.features_": np.array([0, 2])}, "tells of columns that are none of the 2"),
        ("filled", {"indicator_.features_": np.array([-1, 1])}, "tells of columns that are none of the 2"),
        ("parted", {"_transformer_to_input_indices": GONE, "transformers_.0.2": [0, 2]}, "that are none of the 2"),
        ("parted", {"_transformer_to_input_indices": GONE, "transformers_.0.2": [-1]}, "that are none of the 2"),
        ("parted", {"_transformer_to_input_indices": GONE, "transformers_.0.2": [True]}, "that are none of the 2"),
        ("parted", {"_transformer_to_input_indices": GONE, "transformers_.0.2": [0.0]}, "that are none of the 2"),
        ("union", {"transformer_weights": {"s": "x"}}, "has a weight that is not a positive number"),
        ("union", {"transformer_weights": {"s": 0}}, "has a weight that is not a positive number"),
        ("union", {"transformer_weights": {"s": 1e300}}, "has a weight that is not a positive number"),
        ("above", {"transformer_list.0.1.threshold": 1e300}, "has a threshold that is not a number"),
        ("above", {"transformer_list.0.1.threshold": -1e300}, "has a threshold that is not a number"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_step_that_no_library_writes_is_refused(model, changes, said):
    with pytest.raises(ReleaseError, match=re.escape(said)):
        hints_of(fitted(model), changes)


@pytest.mark.parametrize(("version", "pushed"), [("1.0.2", True), ("1.1.0", False), (GONE, False)])
def test_bins_of_the_first_versions_push_values_up(version, pushed):
    bins = KBinsDiscretizer(3, encode="ordinal").fit(X)
    (column, _) = hints_of(bins, {"_sklearn_version": version})[1]
    edge = float(bins.bin_edges_[0][1])
    assert column.make(edge * (1 - 1e-6)) == float(pushed)
    assert (column.make(edge), column.make(edge * (1 - 1e-4))) == (1, 0)


TIED = np.array([1.0, 3.0, 3.0, NAN, 2.0])
SMALL_P = np.array([0.05, 0.01, 0.05, 0.2, 0.025])
SELECTIONS = [
    *((SelectKBest(k=k), {"scores_": TIED}) for k in (0, 1, 2, 3, 5, "all")),
    *((SelectPercentile(percentile=share), {"scores_": TIED}) for share in (0, 19, 20, 40, 50, 60, 80, 99, 100)),
    *((kind(alpha=alpha), {"pvalues_": SMALL_P}) for kind in (SelectFpr, SelectFdr, SelectFwe)
      for alpha in (0, 0.01, 0.025, 0.05, 0.0625, 0.25, 1)),
    *((VarianceThreshold(limit), {"variances_": np.array([0.0, 1.0, 2.0, 0.5, 1.0])}) for limit in (0, 0.5, 1)),
    *((RFE(tree(), n_features_to_select=n), {}) for n in (1, 4)),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("selection", "figures"), SELECTIONS, ids=named)
def test_the_columns_that_a_selection_keeps_are_the_librarys(selection, figures):
    rows = pd.DataFrame(np.random.default_rng(0).random((12, 5)) * 100, columns=list("abcde"))
    fit = clone(selection).fit(rows, Y)
    vars(fit).update(figures)
    kept = [column.name for column in hints_of(fit, {}, rows)[1]]
    assert kept == rows.columns[fit.get_support()].tolist()


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (SelectKBest(k=1), {"k": -1}),
        (SelectKBest(k=1), {"k": 1e300}),
        (SelectKBest(k=1), {"scores_": [1.0, 2.0]}),
        (SelectKBest(k=1), {"scores_": np.array([1, 2])}),
    ],
    ids=named,
)
def test_a_selection_without_its_figures_is_refused(model, changes):
    with pytest.raises(ReleaseError, match=r"that is not a number|has not one number per column"):
        hints_of(model.fit(X, Y), changes)


@pytest.mark.parametrize(("inside", "refused"), [(0, False), (2, False), (3, True)])
@pytest.mark.parametrize("limit", [{"DEEPEST": 2}, {"MAX_WORK": 9}])  # a step of two columns is work of 3
def test_steps_that_are_too_deep_or_too_much_work(limit, inside, refused, monkeypatch):
    for name, value in limit.items():
        monkeypatch.setattr(steps, name, value)
    step = StandardScaler()
    for _ in range(inside):
        step = FeatureUnion([("one", step)])
    with pytest.raises(ReleaseError, match="nested too deeply, or have too many") if refused else nullcontext():
        hints_of(step.fit(X), {})


def test_parts_that_pass_on_or_are_dropped():
    parts = [("s", StandardScaler()), ("p", "passthrough"), ("d", "drop")]
    assert [c.name for c in hints_of(FeatureUnion(parts).fit(X), {})[1]] == ["s__a", "s__b", "p__a", "p__b"]
    named_parts = ColumnTransformer([(*part, ["b"]) for part in parts], verbose_feature_names_out=True).fit(X)
    assert [c.name for c in hints_of(named_parts, {})[1]] == ["s__b", "p__b"]
    assert [c.name for c in hints_of(named_parts, {"verbose_feature_names_out": False})[1]] == ["b", "b"]
    with pytest.raises(ReleaseError, match="is not a transformer but a str"):
        hints_of(named_parts, {"transformers_.0.1": "other"})
    old = {"n_features_in_": GONE}
    assert draft_of_object(changed(root_of(StandardScaler().fit(X.to_numpy())), old), "pickle").features == (
        Feature("x0", "x0"),
        Feature("x1", "x1"),
    )


def test_what_imputers_and_bins_say_of_columns():
    gaps = X.assign(b=X["b"].mask(X["b"] == 3))
    for model, said in (
        (SimpleImputer(add_indicator=True), {0: False, 1: True}),
        (SimpleImputer(), {0: True, 1: True}),  # any column may have had gaps
        (MissingIndicator(), {1: True}),
        (MissingIndicator(missing_values=2.0), {}),
    ):
        rows = X if getattr(model, "missing_values", 0) == 2 else gaps
        assert hints_of(model.fit(rows), {})[0].gaps == said
    mean, median = (SimpleImputer(strategy=way).fit(gaps) for way in ("mean", "median"))
    means, medians = (hints_of(one, {})[0].stated[1].figures for one in (mean, median))
    assert (means.mean, means.quantiles) == (1.0, ())
    assert (medians.mean, medians.quantiles) == (None, ((1, 2, 1.0),))
    bins = (KBinsDiscretizer(3, strategy=way).fit(X) for way in ("uniform", "quantile"))
    even, parts = (hints_of(one, {})[0].stated[0].figures for one in bins)
    assert (len(even.quantiles), len(parts.quantiles)) == (0, 2)
    one_value = hints_of(MinMaxScaler().fit(X.assign(b=5.0)), {})[0]
    assert [(one.figures.least, one.figures.greatest) for one in one_value.stated] == [(0, 11), (5, 5)]
    free = hints_of(MaxAbsScaler().fit(X), {"clip": GONE})[1][0]  # the first versions have no such setting
    assert free.make(22.0) == 2.0
    empty = SimpleImputer(keep_empty_features=False).fit(X.assign(b=NAN))
    for changes in ({}, {"keep_empty_features": GONE}):  # the first versions have no such setting
        assert [c.name for c in hints_of(empty, changes)[1]] == ["a"]
    for changes in ({"strategy": "constant"}, {"keep_empty_features": True}):
        with pytest.raises(Unsupported, match="fills gaps with NaN"):
            hints_of(empty, changes)


@pytest.mark.filterwarnings("ignore")
def test_a_column_of_one_value_has_one_bin():
    for strategy in ("uniform", "quantile", "kmeans"):
        bins = KBinsDiscretizer(3, encode="ordinal", strategy=strategy).fit(X.assign(b=5.0))
        hints, (_, column) = hints_of(bins, {})
        assert [column.make(v) for v in (-1e300, 5.0, 7.0)] == [0.0] * 3
        assert set(hints.ranges) == {0}
        assert all(one.column.source == 0 for one in hints.stated)


NOT_READ = {"called missing": "'a' has gaps and a category 'missing': give a domain (--domain)"}


@pytest.mark.parametrize("model", MODELS)
def test_the_models_are_read_as_they_are(model):
    assert refusal(fitted(model), {}) == NOT_READ.get(model, "")


READ = [
    ("towns", {"_preprocessor": None}),
    ("tree", {"criterion": "mystery"}),
    ("filled", {"missing_values": Name("pandas._libs.missing", "NA")}),
    ("standard", {"n_samples_seen_": "x"}),
    ("standard", {"n_samples_seen_": 0}),
    ("standard", {"mean_": lambda found: found.astype(np.float32)}),
    ("standard", {"var_.0": NAN}),
    ("standard", {"var_": None}),
    ("bins", {"bin_edges_.0": np.array([0.0, 4.0, 4.0, 11.0])}),
    ("filled", {"missing_values": None}),
    ("filled", {"indicator_.features_": np.zeros(0, dtype=int)}),
    ("parted", {"transformers_.0.1": "passthrough"}),
    ("union", {"transformer_weights": {"s": 1e-300}}),
    ("constant", {"add_indicator": GONE}),
    ("filled", {"missing_values": lambda _: Thing(Name("pandas", "NAType"), root_of(fitted("tree")).how, (), {}, {})}),
]


@pytest.mark.parametrize(("model", "changes"), READ, ids=named)
def test_what_says_less_is_read(model, changes):
    assert not refusal(fitted(model), changes)


def hints_of(model, changes, frame=X):
    """Return what the steps of a changed transformer say of its columns, and the columns."""
    hints = Hints()
    columns = [StepColumn(name, i) for i, name in enumerate(frame.columns)]
    return hints, columns_after(changed(root_of(model), changes), columns, hints, "step")


STATED = [  # a transformer, a change, and how many figures of columns it states
    (StandardScaler(), {}, 2),
    (StandardScaler(), {"n_samples_seen_": 0}, 0),
    (StandardScaler(), {"n_samples_seen_": 11.5}, 0),
    (StandardScaler(), {"mean_": lambda found: found.astype(np.float32)}, 0),
    (StandardScaler(), {"var_": lambda found: found * 4}, 0),
    (RobustScaler(with_centering=False), {}, 0),
    (SimpleImputer(), {}, 2),
    (SimpleImputer(strategy="constant", fill_value=7.0), {}, 0),
    (SimpleImputer(missing_values=-1.0), {}, 0),
    (SimpleImputer(), {"statistics_.1": NAN}, 0),
    (SimpleImputer(), {"statistics_": np.array(["a", 1.0], dtype=object)}, 0),
    (KBinsDiscretizer(3), {}, 2),
    (StandardScaler(), {"n_samples_seen_": np.array([12.0, 0.0])}, 0),
    (StandardScaler(), {"var_.0": lambda found: found * 4}, 0),
    (StandardScaler(), {"var_": lambda found: found[:1]}, 2),
    (KBinsDiscretizer(3, dtype=np.float64), {}, 2),
    (QuantileTransformer(n_quantiles=2), {}, 2),
    (KBinsDiscretizer(3), {"n_bins": 4}, 0),
    (KBinsDiscretizer(np.array([3, 4])), {}, 2),
    (KBinsDiscretizer([4, 3]), {"n_bins": [4, 5]}, 1),
    (KBinsDiscretizer([3, 3]), {"n_bins": [3]}, 0),
    (KBinsDiscretizer(3, strategy="uniform"), {"bin_edges_.0": np.array([0.0, 1.0, 11.0])}, 1),
    (QuantileTransformer(n_quantiles=5), {}, 2),
    (QuantileTransformer(n_quantiles=5), {"references_.1": 0.3}, 0),
    (QuantileTransformer(n_quantiles=5, ignore_implicit_zeros=True), {}, 0),
    (OneHotEncoder(), {}, 2),
    (OneHotEncoder(categories=[np.arange(12.0), np.arange(4.0)]), {}, 0),
    (OneHotEncoder(min_frequency=3), {}, 0),
    (OrdinalEncoder(), {}, 2),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("model", "changes", "stated"), STATED, ids=named)
def test_figures_of_columns_are_stated_where_the_file_holds_them(model, changes, stated):
    assert len(hints_of(clone(model).fit(X), changes)[0].stated) == stated


def test_what_figures_are_of():
    """Variances that are no numbers are none; of a sample they are named so, of all rows not."""
    said = [
        hints_of(clone(model).fit(X), changes)[0].stated[0].figures
        for model, changes in (
            (StandardScaler(), {"var_.0": NAN}), (StandardScaler(), {}), (KBinsDiscretizer(3, subsample=20), {}),
            (KBinsDiscretizer(3, subsample=20), {"subsample": "x"}), (QuantileTransformer(n_quantiles=5), {}),
            (QuantileTransformer(n_quantiles=12), {"n_quantiles": 99}),
        )
    ]  # fmt: skip
    assert [one.variance for one in said[:2]] == [None, pytest.approx(143 / 12)]
    assert [one.drawn for one in said[2:]] == [20, None, 10_000, None]
    assert [one.rows for one in said[4:]] == [None, 12]


def test_only_raw_values_become_values_of_a_domain():
    codes = make_pipeline(KBinsDiscretizer(3, encode="ordinal"), OneHotEncoder()).fit(X)
    assert hints_of(codes, {})[0].values == {}
    assert set(hints_of(OneHotEncoder().fit(X), {})[0].values) == {0, 1}
    assert [column.direction for column in hints_of(OrdinalEncoder().fit(X), {})[1]] == [1, 1]
    known = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(X)
    assert [column.direction for column in hints_of(known, {})[1]] == [0, 0]
    rare = OneHotEncoder(min_frequency=4).fit(X)
    counts = [len(hints_of(rare, {"_infrequent_enabled": on})[1]) for on in (True, False)]
    assert counts == [1 + 1, 12 + 4]


@pytest.mark.parametrize("step", [QuantileTransformer(n_quantiles=5), KBinsDiscretizer(3, strategy="uniform")])
@pytest.mark.parametrize(("drawn", "known"), [(12, True), (11, False), (None, True)])
def test_the_range_of_a_sample_is_none_of_all_rows(step, drawn, known):
    step = clone(step).set_params(subsample=drawn)
    ends = (0, 11) if known else (None, None)
    for model in (
        make_pipeline(step, tree()),
        make_pipeline(FeatureUnion([("rows", StandardScaler()), ("step", step)])),
        make_pipeline(step, CalibratedClassifierCV(tree(), cv=2)),  # fits on folds of rows that no file numbers
        step,
    ):
        found = draft_of_object(root_of(model.fit(X, Y)), "pickle").hints["a"]
        unsaid = drawn and (model is step or isinstance(model[-1], CalibratedClassifierCV))
        assert (found.minimum, found.maximum) == ((None, None) if unsaid else ends)


@pytest.mark.parametrize(
    ("values", "fill", "known"),
    [
        ([0.0, 0.0, 1.0, 2.0, NAN], 0.0, (0, 1, 2)),  # rows of 0 are no gaps
        ([1.0, 1.0, 1.0, 2.0, NAN], 0.0, (0, 1, 2)),  # nor can one know that there are none
        (["x", "y", "none", "x", None], "none", ("none", "x", "y")),
        (["x", "y", "x", "x", None], "missing", ("x", "y")),  # what gaps are called anyway
    ],
)
@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()])
def test_what_gaps_are_filled_with_may_be_a_value_too(values, fill, known, encoder):
    model = make_pipeline(SimpleImputer(strategy="constant", fill_value=fill), encoder, DecisionTreeClassifier())
    found = draft_of_object(root_of(model.fit(pd.DataFrame({"a": values}), [0, 0, 1, 1, 0])), "pickle").hints["a"]
    assert found == Categorical("a", known, missing=True)


def test_columns_that_are_too_many(monkeypatch):
    monkeypatch.setattr(steps, "MAX_COLUMNS", 3)
    for names in (["a"], ["b"]):  # of 12 values, and of 4, of which one is left out
        few = OneHotEncoder(drop="first")
        for model in (clone(few).fit(X[names]), ColumnTransformer([("s", few, names)]).fit(X)):
            assert ("gives more than 3 columns" in refusal(model, {})) == (names == ["a"])


def test_numbers_of_rows_that_scalers_say():
    gaps = X.assign(b=X["b"].mask(X["b"] == 3))
    drafts = [draft_of_object(root_of(model.fit(gaps)), "pickle") for model in (StandardScaler(), SimpleImputer())]
    assert [one.rows for one in drafts] == [RowCount(12, None), None]
    words = draft_of_object(root_of(CountVectorizer(max_df=1).fit(["a few words", "words more"])), "pickle")
    assert {figure.high for figure in words.figures} == {1}
    given = CountVectorizer(vocabulary=["few", "words"]).fit(["a few words"])
    assert draft_of_object(changed(root_of(given), {"vocabulary_": {"few": 0}}), "pickle").figures == ()


def test_attributes_of_folds_are_joined():
    whole, open_end = Continuous("a", 0, 1), Continuous("a")
    listed, other = Categorical("a", (2, 4)), Categorical("a", (1, 3), missing=True)
    assert (either(whole, open_end).minimum, either(whole, open_end).maximum) == (None, None)
    wide = either(whole, Continuous("a", -1, 3))
    assert (wide.minimum, wide.maximum) == (-1, 3)
    assert either(listed, other) == Categorical("a", (1, 2, 3, 4), missing=True)
    assert either(listed, whole) is None
    assert either(None, whole) is None
    grid = Grid.between("a", 0, 9, 1)
    assert either(grid, grid) == grid


@pytest.mark.parametrize("missing", [False, True])
def test_values_of_a_grid_are_gone_through(missing):
    """Every set of six values, and whether missing ones are among them: the test that is made passes these alone."""
    grid = replace(Grid.between("a", 0, 5, 1), missing=missing)
    for inside in (set(some) for n in range(7) for some in combinations(range(6), n)):
        for gap in (False, True) if missing else (False,):
            held = [*(value in inside for value in range(6)), *([gap] if missing else [])]
            compare = lambda value, s=inside, g=gap: float(g) if value is None else float(value in s)  # noqa: E731
            try:
                found = _among(grid, Feature("f", "a"), Test(low=0.5), compare)
            except ReleaseError:
                assert len(set(held[:6])) == 1
                assert len(set(held)) == 1 or (gap and not inside) is False
                continue
            told = [*(passes(found, v) for v in range(6)), *([found.missing] if missing else [])]
            assert told == held or (found == Test() and held == [True] * 6 + [False]), (inside, gap, found)
    with pytest.raises(ReleaseError, match="too many for the one-hot column 'f'"):
        _among(Grid.between("a", 0, 200_000, 1), Feature("f", "a"), Test(low=0.5), lambda value: 1.0)


def test_what_has_no_value_stays_so_unless_it_is_filled():
    for step in (
        ScaledMap(add=1.0),
        Binned((1.0,)),
        Binned((1.0,), True),
        InBin(0, 2),
        Above(0.0),
        ByQuantiles((0.0, 1.0), (0.0, 1.0)),
    ):
        assert math.isnan(StepColumn("a", 0, (step,)).make(None))
        assert not math.isnan(StepColumn("a", 0, (Imputed(7.0), step)).make(None))
    assert math.isnan(StepColumn("a", 0, (Binned((1.0,)), InBin(0, 2))).make(NAN))


def test_what_a_chain_of_steps_makes_of_numbers():
    scaled = StepColumn("a", 0, (Imputed(7.0), ScaledMap(subtract=1.0, divide=2.0), ScaledMap(multiply=3.0, add=5.0)))
    assert scaled.linear == (Fraction(3, 2), Fraction(7, 2))
    assert StepColumn("a", 0, (ScaledMap(clip=(0.0, 1.0)),)).linear is None
    assert StepColumn("a", 0, (ScaledMap(multiply=0.0),)).linear is None
    assert StepColumn("a", 0, (Above(1.0),)).linear is None
    with pytest.raises(ReleaseError, match="takes numbers where the domain has 'x'"):
        scaled.make("x")
    with pytest.raises(ReleaseError, match="is too large for a 64-bit number"):
        scaled.make(10**400)
    assert scaled.make(NAN) == scaled.make(7.0)
    flat = StepColumn("a", 0, (ScaledMap(multiply=1e-200), ScaledMap(multiply=1e-200)))
    with pytest.raises(ReleaseError, match="does not tell values of 'a' apart"):
        flat.inverse("f", "a", False)(Test(high=1.0))
    assert flat.back(math.inf) is None or flat.back(1.0) is not None


NUMBERS = [-3.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.5, 6.0, 8.0, 11.0, 12.5, 40.0]
STEPS = {
    "standard": StandardScaler(),
    "without mean": StandardScaler(with_mean=False),
    "without deviation": StandardScaler(with_std=False),
    "robust": RobustScaler(),
    "min-max": MinMaxScaler((1, 3)),
    "clipped": MinMaxScaler(clip=True),
    "largest": MaxAbsScaler(),
    "bins": KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
    "one bin each": KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"),
    "quantiles": QuantileTransformer(n_quantiles=5),
    "normal quantiles": QuantileTransformer(n_quantiles=5, output_distribution="normal"),
    "above": Binarizer(threshold=2),
    "scaled bins": make_pipeline(StandardScaler(), KBinsDiscretizer(3, encode="ordinal", strategy="uniform")),
    "filled": SimpleImputer(strategy="median", add_indicator=True),
    "marked": SimpleImputer(missing_values=2.0, strategy="median"),
    "gaps": MissingIndicator(features="all"),
    "codes": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "codes of gaps": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    "categories": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    "rare": OneHotEncoder(min_frequency=4, handle_unknown="infrequent_if_exist", sparse_output=False),
    "dropped": OneHotEncoder(drop="first", sparse_output=False, handle_unknown="ignore"),
    "rare codes": OrdinalEncoder(min_frequency=4, handle_unknown="use_encoded_value", unknown_value=-1),
    "weighed": FeatureUnion([("s", StandardScaler()), ("m", MinMaxScaler())], transformer_weights={"m": 3.0}),
    "left out": ColumnTransformer([("s", StandardScaler(), ["b"]), ("m", "drop", ["a"])]),
    "parted": ColumnTransformer([("s", StandardScaler(), ["b"]), ("m", "passthrough", ["a"])]),
}
WITH_GAPS = {"standard", "robust", "min-max", "clipped", "largest", "filled", "gaps", "codes", "codes of gaps",
             "categories", "rare", "dropped", "rare codes", "quantiles"}  # fmt: skip


def followed(name):
    """Return a fitted transformer of two columns, and the columns that it makes as the reader follows them."""
    gaps = name in WITH_GAPS
    frame = X.assign(b=X["b"].mask(X["b"] == 3)) if gaps else X
    fit = clone(STEPS[name]).fit(frame)
    columns = columns_after(root_of(fit), [StepColumn("a", 0), StepColumn("b", 1)], Hints(), "step")
    values = [*NUMBERS, *([NAN] if gaps else [])]
    return fit, columns, pd.DataFrame({"a": values, "b": values})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STEPS)
def test_columns_are_what_the_library_makes_of_every_value(name):
    fit, columns, frame = followed(name)
    made = fit.transform(frame)
    assert made.shape[1] == len(columns)
    for j, column in enumerate(columns):
        found = [column.make(value) for value in frame.iloc[:, column.source].tolist()]
        np.testing.assert_allclose(found, made[:, j].astype(float), rtol=1e-12, err_msg=column.name)


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("name", [name for name in STEPS if "codes" not in name and name != "normal quantiles"])
def test_tests_on_columns_are_turned_back_to_those_of_the_values(name, single):
    """Every threshold, of numbers of 64 bits and of 32: the same values pass, or nothing tells them apart."""
    turned = 0
    for column in followed(name)[1]:
        made = sorted({column.make(value) for value in NUMBERS})
        ends = [*made, *((a + b) / 2 for a, b in pairwise(made))]
        tests = [Test(**{side: end, f"{side}_open": is_open}) for end in ends
                 for side in ("low", "high") for is_open in (False, True)]  # fmt: skip
        for test in tests if column.maps else ():
            held = [passes(test, rounded(column.make(v)) if single else column.make(v)) for v in NUMBERS]
            with suppress(ReleaseError):
                found = column.inverse(column.name, "a", single)(test)
                turned += 1
                inside = [passes(found, rounded(v) if column.near and single else v) for v in NUMBERS]
                assert held == [one != isinstance(found, OutsideTest) for one in inside], (test, found)
                continue
            assert len(set(held)) == 1 or column.direction == 0, (test, held)
    assert turned > 10 or name in {"gaps", "marked", "categories", "rare", "dropped"}


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (PowerTransformer(), "its powers are not turned back into the values of a column"),
        (SplineTransformer(), "its splines are not turned back into the values of a column"),
        (PolynomialFeatures(), "it does not make every column from one column alone"),
        (KernelCenterer(), "recon does not know how it makes its columns"),
    ],
)
def test_a_step_that_is_not_read_is_refused_for_its_own_reason(step, why, tmp_path):
    path = tmp_path / "model.joblib"
    joblib.dump(make_pipeline(step, DecisionTreeClassifier(max_depth=1)).fit(np.eye(4), [0, 1, 0, 1]), path)
    with pytest.raises(recon.Unsupported, match=why):
        recon.load(str(path))
