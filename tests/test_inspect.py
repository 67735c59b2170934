"""recon inspect: every leak is found where it is, what is said to follow does follow, and a copy predicts the same."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import importlib
import io
import json
import os
import pickle
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from extras import extra
from typer.testing import CliRunner

from recon.cli.commands import inspecting as command
from recon.io.console.output import of_error
from recon.readers.formats.detection import read_draft
from recon.readers.formats.release.reading import parse
from recon.readers.formats.sklearn.trees.settings import bags, explain_bags, labels_from_weights
from recon.readers.inspection import stripping
from recon.readers.inspection.claims import listed_values
from recon.readers.inspection.documents.documents import LEARNER_RULES
from recon.readers.inspection.findings.findings import is_counting
from recon.readers.inspection.inspecting import inspect, inspect_bytes
from recon.readers.inspection.objects.traversal import traverse
from recon.readers.inspection.stripping import strip, stripped_bytes
from recon.readers.stored.binary.rds import read_rds
from recon.readers.stored.objects.node_tables import leaf_of, points_of
from recon.readers.stored.pickled.pickles import Thing
from recon.readers.stored.pickled.stored_files import open_stored
from solvers.foundation.errors import EngineError, ReleaseError, Unsupported

extra("sklearn")
MODELS = Path(__file__).parent / "golden" / "models"
INDEX = {e["file"]: e for e in json.loads((MODELS / "index.json").read_text(encoding="utf-8"))}
N = 37
RNG = np.random.default_rng(0)
WHOLE = RNG.integers(0, 9, (N, 4)).astype(float)
X = WHOLE + RNG.integers(0, 10, (N, 4)) / 10
BITS = RNG.integers(0, 2, (N, 4))
Y = np.r_[0, 1, 2, RNG.choice(3, N - 3, p=[0.6, 0.3, 0.1])]
YES = (Y > 0).astype(int)
TEXTS = [f"word{i % 7} word{i % 5} rare{i}" for i in range(N)]


def make(name, **parameters):
    """Return an estimator of scikit-learn by its class and module."""
    module, _, kind = name.rpartition(".")
    return getattr(importlib.import_module(f"sklearn.{module}"), kind)(**parameters)


def fitted(name, x=X, y=Y, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make(name, **parameters).fit(x, y)


def opened(model):
    """Return the graph of a model's pickle."""
    return open_stored(pickle.dumps(model)).root


def found(model, rule):
    """Return the findings of one rule on a model's pickle."""
    return [f for f in inspect_bytes(pickle.dumps(model)).findings if f.rule == rule]


# class, parameters, rule, path, level[, data]
LEAKS = [
    ("neighbors.KNeighborsClassifier", {}, "neighbours", "_fit_X", "critical"),
    ("neighbors.KNeighborsClassifier", {}, "neighbours-labels", "_y", "critical"),
    ("neighbors.KNeighborsRegressor", {}, "neighbours-labels", "_y", "critical"),
    ("neighbors.RadiusNeighborsClassifier", {"algorithm": "ball_tree"}, "neighbours-tree", "_tree", "critical"),
    ("neighbors.NearestNeighbors", {}, "neighbours", "_fit_X", "critical"),
    ("neighbors.KernelDensity", {}, "neighbours-tree", "tree_", "critical"),
    ("neighbors.LocalOutlierFactor", {"novelty": True}, "outlier-factors", "negative_outlier_factor_", "high"),
    ("impute.KNNImputer", {}, "neighbours", "_fit_X", "critical"),
    ("svm.SVC", {}, "support-vectors", "support_vectors_", "critical"),
    ("svm.SVC", {}, "support-positions", "support_", "high"),
    ("svm.OneClassSVM", {}, "support-vectors", "support_vectors_", "critical"),
    ("gaussian_process.GaussianProcessRegressor", {}, "gaussian-process", "X_train_", "critical"),
    ("gaussian_process.GaussianProcessClassifier", {}, "gaussian-process",
     "base_estimator_.estimators_[*].X_train_", "critical"),
    ("kernel_ridge.KernelRidge", {}, "kernel-rows", "X_fit_", "critical"),
    ("kernel_ridge.KernelRidge", {}, "kernel-targets", "dual_coef_", "critical"),
    ("decomposition.KernelPCA", {"kernel": "rbf"}, "kernel-rows", "X_fit_", "critical"),
    ("kernel_approximation.Nystroem", {"n_components": 9}, "kernel-sample", "components_", "critical"),
    ("semi_supervised.LabelSpreading", {}, "label-propagation-labels", "transduction_", "critical"),
    ("cluster.KMeans", {"n_clusters": 3, "n_init": 1}, "clusters", "labels_", "high"),
    ("cluster.Birch", {"n_clusters": 3}, "clusters", "labels_", "high"),
    ("cluster.Birch", {"threshold": 0.01}, "subclusters", None, "critical"),
    ("cluster.DBSCAN", {"eps": 9}, "core-rows", "components_", "critical"),
    ("cluster.AffinityPropagation", {}, "exemplars", "cluster_centers_", "critical"),
    ("cluster.AgglomerativeClustering", {}, "clusters", "labels_", "high"),
    ("manifold.SpectralEmbedding", {}, "embedding", "embedding_", "high"),
    ("cross_decomposition.PLSRegression", {"n_components": 2}, "scores", None, "high"),
    ("linear_model.HuberRegressor", {}, "inliers", "outliers_", "high"),
    ("linear_model.RidgeCV", {"store_cv_results": True}, "errors-per-row", "cv_results_", "high"),
    ("covariance.MinCovDet", {}, "inliers", "support_", "high"),
    ("preprocessing.StandardScaler", {}, "moments", "mean_", "medium"),
    ("preprocessing.MinMaxScaler", {}, "extremes", "data_min_", "medium"),
    ("preprocessing.MaxAbsScaler", {}, "extremes", "max_abs_", "medium"),
    ("preprocessing.RobustScaler", {}, "medians", "center_", "medium"),
    ("preprocessing.QuantileTransformer", {}, "quantiles", "quantiles_", "critical"),
    ("preprocessing.QuantileTransformer", {"n_quantiles": 5}, "quantiles", "quantiles_", "medium"),
    ("preprocessing.KBinsDiscretizer", {"n_bins": 3, "strategy": "uniform"}, "bins", "bin_edges_", "medium"),
    ("preprocessing.PowerTransformer", {}, "shape", "lambdas_", "medium"),
    ("preprocessing.OneHotEncoder", {}, "categories", "categories_", "high"),
    ("preprocessing.OrdinalEncoder", {}, "categories", "categories_", "high"),
    ("preprocessing.TargetEncoder", {"target_type": "continuous"}, "encodings", "encodings_", "medium"),
    ("impute.SimpleImputer", {}, "fill-values", "statistics_", "medium"),
    ("naive_bayes.BernoulliNB", {}, "contingency", "feature_count_", "high", BITS),
    ("naive_bayes.CategoricalNB", {}, "contingency", "category_count_", "high", BITS),
    ("naive_bayes.MultinomialNB", {}, "contingency", "feature_count_", "high", BITS),
    ("naive_bayes.GaussianNB", {}, "class-moments", "theta_", "medium"),
    ("discriminant_analysis.LinearDiscriminantAnalysis", {}, "class-means", "means_", "medium"),
    ("dummy.DummyClassifier", {}, "class-shares", "class_prior_", "medium"),
    ("decomposition.PCA", {}, "column-means", "mean_", "medium"),
    ("linear_model.BayesianRidge", {}, "column-means", "X_offset_", "medium"),
    ("isotonic.IsotonicRegression", {}, "isotonic", "X_thresholds_", "critical", X[:, 0]),
    ("feature_extraction.text.TfidfVectorizer", {}, "vocabulary", "vocabulary_", "medium", TEXTS),
    ("feature_extraction.text.TfidfVectorizer", {}, "document-counts", "_tfidf.idf_", "medium", TEXTS),
    ("tree.DecisionTreeClassifier", {}, "tree", "tree_.nodes", "high"),
    ("ensemble.HistGradientBoostingClassifier", {"max_iter": 1}, "bins", "_bin_mapper.bin_thresholds_", "medium"),
    ("ensemble.RandomForestClassifier", {"n_estimators": 9, "oob_score": True}, "out-of-bag",
     "oob_decision_function_", "high"),
    ("ensemble.RandomForestClassifier", {"n_estimators": 3}, "bag-seeds", "estimators_[*].random_state", "high"),
    ("ensemble.BaggingClassifier", {"n_estimators": 3}, "bag-seeds", "_seeds", "high"),
]  # fmt: skip


@pytest.mark.sampled(49)
@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: f"{leak[0].rpartition('.')[2]}-{leak[2]}")
def test_leak_is_found_where_it_is(leak):
    name, parameters, rule, path, level = leak[:5]
    model = fitted(name, leak[5] if len(leak) > 5 else X, Y.astype(float) if "Target" in name else Y, **parameters)
    there = found(model, rule)
    assert [f.level for f in there][:1] == [level]
    assert path is None or there[0].path == path
    assert len(there[0].values) <= 3  # a few examples, never the data


def test_leaks_inside_of_a_pipeline_have_paths():
    from sklearn.pipeline import make_pipeline

    steps = make("preprocessing.StandardScaler"), make("neighbors.KNeighborsClassifier")
    inspected = inspect_bytes(pickle.dumps(make_pipeline(*steps).fit(X, Y)))
    assert {"steps[0][1].mean_", "steps[1][1]._fit_X"} <= {f.path for f in inspected.findings}
    assert inspected.rows == N


def attributes_with_rows(value, path="", seen=None):
    """Yield the paths of everything in a live object that has a dimension of N; what inspect must not miss."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, type):
        return
    seen.add(id(value))
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and N in shape:
        yield path
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from (p for i, v in enumerate(value.ravel()) for p in attributes_with_rows(v, f"{path}[{i}]", seen))
    elif isinstance(value, dict):
        yield from (p for k, v in value.items() for p in attributes_with_rows(v, f"{path}[{k!r}]", seen))
    elif isinstance(value, list | tuple):
        yield from (p for i, v in enumerate(value) for p in attributes_with_rows(v, f"{path}[{i}]", seen))
    elif hasattr(value, "__dict__"):
        for name, part in vars(value).items():
            yield from attributes_with_rows(part, f"{path}.{name}" if path else name, seen)


def named(findings):
    """Return the paths that findings name, those that they name together with another included."""
    for one in findings:
        path = re.sub(r"\[\d+\]", "[*]", one.path)
        yield path
        for other in one.what.partition(", with ")[2].split(", "):
            yield f"{path.rpartition('.')[0]}.{other}".strip(".")


def check_nothing_is_missed(model):
    there = list(named(inspect_bytes(pickle.dumps(model)).findings))
    for path in attributes_with_rows(model):
        plain = re.sub(r"\[\d+\]", "[*]", path)
        assert any(plain == p or plain.startswith((f"{p}.", f"{p}[")) for p in there), path


SOME = sorted({(leak[0], json.dumps(leak[1])) for leak in LEAKS if len(leak) == 5 and "Target" not in leak[0]})


@pytest.mark.parametrize("one", SOME, ids=lambda one: one[0].rpartition(".")[2])
def test_no_array_with_one_entry_per_row_is_missed(one):
    check_nothing_is_missed(fitted(one[0], **json.loads(one[1])))


METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples", "kneighbors", "mahalanobis")


def outputs(model, x):
    """Return what every method gives that applies to rows."""
    found = {}
    for method in METHODS:
        with contextlib.suppress(Exception):  # not every estimator has every method
            found[method] = getattr(model, method)(x)
    return {k: v.toarray() if hasattr(v, "toarray") else np.asarray(v) for k, v in found.items() if not is_pair(v)}


def is_pair(value):
    return isinstance(value, tuple)


def same_outputs(a, b):
    return a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=a[k].dtype.kind == "f") for k in a)


@pytest.fixture(autouse=True)
def drawn_alike():
    """Models without a seed of their own are the same in every run."""
    np.random.seed(0)


@pytest.mark.long
def test_every_estimator_of_scikit_learn():
    from sklearn.utils import all_estimators
    from sklearn.utils._test_common.instance_generator import _construct_instances

    tried = 0
    for name, kind in all_estimators():
        if name in {"FrozenEstimator"}:
            continue
        model = None
        for x in (X, BITS):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = next(iter(_construct_instances(kind))).fit(x, Y)
                break
            except Exception:  # needs other data
                continue
        if model is None:
            continue
        tried += 1
        check_nothing_is_missed(model)
        before = outputs(model, x)
        try:
            _, copy = stripped_bytes(pickle.dumps(model), "a", "b")
        except Unsupported:
            continue
        assert same_outputs(before, outputs(pickle.loads(copy), x)), name
    assert tried > 120


# ------------------------------------------------------------------ what is said to follow does follow


def members(name, **parameters):
    return fitted(f"ensemble.{name}", n_estimators=4, **parameters)


FORESTS = {
    "forest": ("RandomForestClassifier", {}),
    "seeded": ("RandomForestClassifier", {"random_state": 3}),
    "half": ("RandomForestClassifier", {"max_samples": 0.5}),
    "eleven": ("RandomForestRegressor", {"max_samples": 11}),
    "extra": ("ExtraTreesClassifier", {"bootstrap": True}),
    "balanced": ("RandomForestClassifier", {"class_weight": "balanced"}),
    "subsample": ("RandomForestClassifier", {"class_weight": "balanced_subsample"}),
    "bagging": ("BaggingClassifier", {}),
    "columns": ("BaggingClassifier", {"max_features": 0.5, "bootstrap_features": True}),
    "part": ("BaggingClassifier", {"bootstrap": False, "max_samples": 0.3}),
    "isolation": ("IsolationForest", {"max_samples": 20}),
}


@pytest.mark.parametrize("name", FORESTS)
def test_bags_are_those_of_the_library(name):
    kind, parameters = FORESTS[name]
    model = members(kind, **parameters)
    true = [np.bincount(drawn, minlength=N) for drawn in model.estimators_samples_]
    assert np.array_equal(bags(opened(model)), true)


def test_bags_drawn_with_weights():
    model = make("ensemble.BaggingClassifier", n_estimators=4).fit(X, Y, sample_weight=RNG.uniform(0.5, 2, N))
    true = [np.bincount(drawn, minlength=N) for drawn in model.estimators_samples_]
    assert np.array_equal(bags(opened(model)), true)


def test_bags_follow_from_the_forests_own_seed():
    model = members("RandomForestClassifier", random_state=3)
    true = bags(opened(model))
    for tree in model.estimators_:
        tree.random_state = None
    again = explain_bags(opened(model))
    assert again.seeds == "random_state"
    assert np.array_equal(again.multiplicities, true)


def test_bags_are_not_claimed_where_sizes_disagree():
    model = members("RandomForestClassifier")
    for tree in model.estimators_:
        tree.random_state += 1
    assert bags(opened(model)) is None
    assert "distinct rows" in explain_bags(opened(model)).why
    model.estimators_[2].random_state = None
    assert bags(opened(model)) is None
    assert bags(opened(members("RandomForestClassifier", bootstrap=False))) is None
    huge = members("RandomForestClassifier")
    huge._n_samples = 10**13
    assert "more than" in explain_bags(opened(huge)).why


GOLDEN = [k for k, e in INDEX.items() if e["truth"].get("bootstrap") and k.endswith((".pkl", ".skops", ".joblib"))]


@pytest.mark.sampled(77)
@pytest.mark.parametrize("file", GOLDEN)
def test_bags_of_all_versions(file):
    root = open_stored((MODELS / file).read_bytes()).root
    root = root.get("steps")[-1][1] if root.class_name == "Pipeline" else root
    assert bags(root).tolist() == [tree["bag"] for tree in INDEX[file]["truth"]["trees"]]


@pytest.mark.parametrize("weights", ["balanced", {0: 1.0, 1: 2.5, 2: 7.0}])
@pytest.mark.parametrize("bootstrap", [True, False])
def test_labels_follow_from_class_weights(weights, bootstrap):
    model = members("RandomForestClassifier", class_weight=weights, bootstrap=bootstrap)
    labels, _ = labels_from_weights(opened(model))
    assert np.array_equal(labels, Y)
    (finding,) = found(model, "row-weights")
    assert (finding.level, finding.path) == ("critical", "_sample_weight")
    assert ", ".join(map(str, np.bincount(Y))) in finding.follows


def test_labels_are_not_claimed_without_proof():
    even = np.repeat([0, 1], [18, 18])
    model = fitted("ensemble.RandomForestClassifier", X[:36], even, n_estimators=3, class_weight="balanced")
    assert labels_from_weights(opened(model))[0] is None  # one weight for both classes
    forest = make("ensemble.RandomForestClassifier", n_estimators=3).fit(X, Y, sample_weight=RNG.integers(1, 4, N))
    assert labels_from_weights(opened(forest))[0] is None  # weights of rows, as many as there are classes
    assert found(forest, "row-weights")[0].level == "high"


def test_sums_follow_from_moments():
    scaler = found(fitted("preprocessing.StandardScaler", WHOLE), "moments")[0].follows
    assert listed_values(WHOLE.sum(axis=0)) in scaler
    assert listed_values((WHOLE**2).sum(axis=0)) in scaler
    assert "exact" in scaler
    assert "exact" not in found(fitted("preprocessing.StandardScaler", WHOLE + 0.25), "moments")[0].follows
    assert listed_values(WHOLE.sum(axis=0)) in found(fitted("decomposition.PCA", WHOLE), "column-means")[0].follows
    bayes = found(fitted("naive_bayes.GaussianNB", WHOLE), "class-moments")[0].follows
    assert listed_values(np.array([WHOLE[c == Y].sum(axis=0) for c in range(3)])) in bayes
    assert listed_values(np.bincount(Y)) in bayes
    model = fitted("naive_bayes.GaussianNB")
    squares = model.class_count_[:, None] * (model.var_ - model.epsilon_ + model.theta_**2)
    assert np.allclose(squares, [(X[c == Y] ** 2).sum(axis=0) for c in range(3)])


def test_contingency_tables_are_those_of_the_data():
    told = found(fitted("naive_bayes.BernoulliNB", BITS), "contingency")[0].follows
    assert listed_values(np.array([BITS[c == Y].sum(axis=0) for c in range(3)])) in told
    table = np.array([[(BITS[c == Y, 0] == v).sum() for v in (0, 1)] for c in range(3)])
    assert listed_values(table) in found(fitted("naive_bayes.CategoricalNB", BITS), "contingency")[0].follows
    weighted = make("naive_bayes.BernoulliNB").fit(BITS, Y, sample_weight=RNG.uniform(0.5, 2, N))
    assert "exact" not in found(weighted, "contingency")[0].follows


def test_sorted_columns_stand_in_a_quantile_transformer():
    model = fitted("preprocessing.QuantileTransformer", n_quantiles=100)
    assert np.allclose(model.quantiles_, np.sort(X, axis=0), atol=1e-12)
    assert "sorted" in found(model, "quantiles")[0].follows
    equal = fitted("preprocessing.QuantileTransformer", n_quantiles=N)  # N rows or more: the file cannot tell
    assert found(equal, "quantiles")[0].level == "medium"


def test_other_claims():
    ridge = fitted("kernel_ridge.KernelRidge", y=X[:, 0], alpha=0.7, kernel="rbf", gamma=0.1)
    kernel = np.exp(-0.1 * ((ridge.X_fit_[:, None] - ridge.X_fit_) ** 2).sum(axis=2))
    assert np.allclose((kernel + 0.7 * np.eye(N)) @ ridge.dual_coef_, X[:, 0])
    machine = fitted("svm.SVC")
    assert np.array_equal(X[machine.support_], machine.support_vectors_)
    assert np.array_equal(Y[machine.support_], np.repeat([0, 1, 2], machine.n_support_))  # class by class
    assert "class by class" in found(machine, "support-positions")[0].follows
    clusters = fitted("cluster.KMeans", n_clusters=3, n_init=1)
    assert f"the smallest of {np.bincount(clusters.labels_).min()} rows" in found(clusters, "clusters")[0].follows
    alone = fitted("cluster.KMeans", n_clusters=30, n_init=1)
    (centres,) = found(alone, "centres")
    single = np.bincount(alone.labels_) == 1
    assert f"{single.sum()} clusters have one row" in centres.follows
    assert all((np.isclose(X, c).all(axis=1)).any() for c in alone.cluster_centers_[single])
    encoder = fitted("preprocessing.TargetEncoder", BITS, Y.astype(float), target_type="continuous", smooth=3.0)
    mean = (Y[BITS[:, 0] == 1].sum() + 3 * Y.mean()) / ((BITS[:, 0] == 1).sum() + 3)
    assert np.isclose(encoder.encodings_[0][1], mean)
    words = fitted("feature_extraction.text.TfidfVectorizer", TEXTS)
    counts = (N + 1) / np.exp(words.idf_ - 1) - 1
    assert np.isclose(counts[words.vocabulary_["word0"]], sum("word0 " in f"{t} " for t in TEXTS))
    bins = fitted("ensemble.HistGradientBoostingClassifier", WHOLE, max_iter=1)._bin_mapper.bin_thresholds_[0]
    values = np.unique(WHOLE[:, 0])
    assert np.allclose(bins, (values[1:] + values[:-1]) / 2)


def test_declared_categories_are_no_leak():
    given = fitted("preprocessing.OneHotEncoder", BITS, categories=[[0, 1]] * 4)
    assert found(given, "categories")[0].level == "info"
    assert found(fitted("preprocessing.OneHotEncoder", BITS), "categories")[0].level == "medium"


class Homemade:
    """A class that no rule knows."""

    def __init__(self):
        self.rows, self.labels, self.frame = X, Y, pd.DataFrame(X)
        self.words = [f"person {i}" for i in range(30)]
        self.weights = np.zeros((50, 50))


def test_rows_that_a_rule_tells_are_told_once(tmp_path):
    """Shape alone would say once more that there is one entry per row, and that no rule knows the attribute."""
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(fitted("neighbors.KNeighborsClassifier")))
    found = [one for one in inspect(path).findings if one.level in ("critical", "high")]
    assert {one.path for one in found} >= {"_y", "_fit_X"}
    assert len({one.path for one in found}) == len(found)
    assert "one-per-row" not in {one.rule for one in found}


def test_what_nobody_knows_is_found_by_its_shape():
    inspected = inspect_bytes(pickle.dumps(Homemade()))
    level = {(f.path, f.rule): f.level for f in inspected.findings}
    assert inspected.rows == N
    assert level["rows", "one-per-row"] == "critical"
    assert level["labels", "one-per-row"] == "high"
    assert level["frame", "table"] == "critical"
    assert level["words", "not-understood"] == "unknown"
    assert level["weights", "not-understood"] == "unknown"


ROWS = {k: e["rows"] for k, e in INDEX.items() if k.startswith("sklearn-1.") and "weight_01" not in k}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", sorted({k.partition("/")[0] for k in ROWS}))
def test_number_of_rows_of_golden_files(version):
    for file, rows in ROWS.items():
        if file.startswith(f"{version}/") and file.endswith((".pkl", ".joblib", ".skops")):
            assert inspect(MODELS / file).rows == rows, file


# ------------------------------------------------------------------ copies without what can go


STRIPPED = [
    ("ensemble.RandomForestClassifier", {"n_estimators": 4, "random_state": 1, "oob_score": True}),
    ("ensemble.RandomForestClassifier", {"n_estimators": 4, "class_weight": "balanced"}),
    ("ensemble.ExtraTreesClassifier", {"n_estimators": 4, "bootstrap": True}),
    ("ensemble.BaggingClassifier", {"n_estimators": 4, "max_features": 0.5, "random_state": 0}),
    ("ensemble.IsolationForest", {"n_estimators": 4, "random_state": 0}),
    ("ensemble.GradientBoostingClassifier", {"n_estimators": 2, "subsample": 0.5, "random_state": 0}),
    ("ensemble.HistGradientBoostingClassifier", {"max_iter": 2}),
    ("cluster.KMeans", {"n_clusters": 3, "n_init": 1, "random_state": 0}),
    ("cluster.Birch", {}),
    ("cluster.AffinityPropagation", {"random_state": 0}),
    ("cluster.MeanShift", {}),
    ("cross_decomposition.PLSRegression", {}),
    ("covariance.EllipticEnvelope", {"random_state": 0}),
    ("linear_model.HuberRegressor", {}),
    ("linear_model.RANSACRegressor", {"random_state": 0}),
    ("linear_model.RidgeCV", {"store_cv_results": True}),
    ("kernel_approximation.Nystroem", {"n_components": 9, "random_state": 0}),
    ("neighbors.LocalOutlierFactor", {"novelty": True}),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("one", STRIPPED, ids=lambda one: one[0].rpartition(".")[2])
def test_a_copy_predicts_the_same_without_the_findings(one, tmp_path):
    model = fitted(one[0], **one[1])
    path, out = tmp_path / "model.pkl", tmp_path / "copy.pkl"
    path.write_bytes(pickle.dumps(model))
    before = path.read_bytes()
    done = strip(path, out)
    assert done.removed
    assert path.read_bytes() == before
    left = {(f.rule, f.path) for f in inspect(out).findings}
    assert not left & {(f.rule, f.path) for f in done.removed}
    assert not any(f.removable for f in inspect(out).findings)
    copy = pickle.loads(out.read_bytes())
    assert type(copy) is type(model)
    assert outputs(model, X)
    assert same_outputs(outputs(model, X), outputs(copy, X))


def test_a_stripped_forest_does_not_give_its_bags_away(tmp_path):
    path, out = tmp_path / "model.pkl", tmp_path / "copy.pkl"
    path.write_bytes(pickle.dumps(members("RandomForestClassifier", random_state=1, class_weight="balanced")))
    done = strip(path, out)
    copy = pickle.loads(out.read_bytes())
    assert (copy.random_state, copy._sample_weight) == (None, None)
    assert {t.random_state for t in copy.estimators_} == {None}
    assert bags(open_stored(out.read_bytes()).root) is None
    assert "4 trees were walked" in done.proof[1]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("file", [
    "sklearn-1.9.1/forest.skops", "sklearn-1.9.1/gradient_boosting.skops", "sklearn-1.9.1/forest.z3.joblib",
    "sklearn-1.9.1/forest.joblib", "sklearn-1.9.1/forest.p2.pkl", "sklearn-1.2.2/forest_oob.pkl",
    "sklearn-1.6.1/forest_missing.pkl", "imodels-3.0.4/figs.pkl", "imodels-3.0.4/brs.pkl", "imodels-3.0.4/skope.pkl",
])  # fmt: skip
def test_copies_of_golden_files(file, tmp_path):
    done = strip(MODELS / file, tmp_path / "copy")
    left = {f.path for f in inspect(tmp_path / "copy").findings}
    assert done.removed
    assert not left & {f.path for f in done.removed}
    inherent = {f for f in done.after.findings if is_counting(f.rule) or f.rule == "leaf-values"}
    assert not any(f.level in {"critical", "high"} and f not in inherent for f in done.after.findings)
    assert (done.after.format == "skops") == file.endswith(".skops")


def test_a_searched_seed_is_taken_out_everywhere(tmp_path):
    search = make(
        "model_selection.GridSearchCV",
        estimator=make("ensemble.RandomForestClassifier", n_estimators=3, random_state=8),
        param_grid={"random_state": [5], "max_depth": [2, 3]}, cv=2,
    ).fit(X, YES)  # fmt: skip
    path, out = tmp_path / "model.pkl", tmp_path / "copy.pkl"
    path.write_bytes(pickle.dumps(search))
    assert "best_estimator_.estimators_[*].random_state" in {f.path for f in inspect(path).findings}
    strip(path, out)
    copy = pickle.loads(out.read_bytes())
    assert (copy.best_params_["random_state"], copy.param_grid["random_state"], copy.cv_results_) == (None, None, None)
    assert copy.estimator.random_state is None
    assert copy.best_params_["max_depth"] == search.best_params_["max_depth"]
    assert same_outputs(outputs(search, X), outputs(copy, X))


def test_joblib_loads_the_copy(tmp_path):
    joblib = importlib.import_module("joblib")
    model = members("RandomForestClassifier")
    joblib.dump(model, tmp_path / "model.joblib", compress=3)
    strip(tmp_path / "model.joblib", tmp_path / "copy.joblib")
    assert same_outputs(outputs(model, X), outputs(joblib.load(tmp_path / "copy.joblib"), X))


def test_what_cannot_be_taken_out_is_said(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(fitted("neighbors.KNeighborsClassifier")))
    with pytest.raises(Unsupported, match="nothing in it can be taken out"):
        strip(path, tmp_path / "copy.pkl")
    assert not (tmp_path / "copy.pkl").exists()
    assert "cannot be taken out" in inspect(path).findings[0].remove
    text = tmp_path / "tree.dot"
    text.write_text("digraph Tree {}")
    with pytest.raises(Unsupported, match="only copies of pickle"):
        strip(text, tmp_path / "copy.dot")


def test_the_file_itself_is_never_overwritten(tmp_path):
    path, link, other = tmp_path / "model.pkl", tmp_path / "link.pkl", tmp_path / "hard.pkl"
    path.write_bytes(pickle.dumps(members("RandomForestClassifier")))
    link.symlink_to(path)
    os.link(path, other)
    before = path.read_bytes()
    for out in (path, link, other, tmp_path / "." / "model.pkl"):
        with pytest.raises(ReleaseError, match="overwrite the file itself"):
            strip(path, out)
    with pytest.raises(ReleaseError, match="cannot be written"):
        strip(path, tmp_path / "missing" / "copy.pkl")
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("damage", ["threshold", "values", "order", "parameter"])
def test_nothing_is_written_where_the_copy_differs(damage, tmp_path, monkeypatch):
    path, out = tmp_path / "model.pkl", tmp_path / "copy.pkl"
    path.write_bytes(pickle.dumps(members("RandomForestClassifier")))
    write = stripping.write_pickle

    def damaged(root, protocol):
        tree = root.get("estimators_")[1].get("tree_")
        if damage == "parameter":
            root.state["n_estimators"] = 5
        elif damage == "order":
            members_ = root.state["estimators_"]
            members_[0], members_[1] = members_[1], members_[0]
        else:
            nodes, values = tree.get("nodes").copy(), tree.get("values").copy()
            nodes["threshold"][0] += 1e-7
            values[0] += 1e-12
            tree.state["nodes" if damage == "threshold" else "values"] = nodes if damage == "threshold" else values
        return write(root, protocol)

    monkeypatch.setattr(stripping, "write_pickle", damaged)
    with pytest.raises(EngineError, match="nothing was written"):
        strip(path, out)
    assert not out.exists()


def test_trees_that_would_never_end_are_refused(tmp_path):
    path = tmp_path / "model.pkl"
    root = opened(fitted("tree.DecisionTreeClassifier", random_state=1))
    nodes = root.get("tree_").get("nodes").copy()
    nodes["left_child"][1] = 0
    root.get("tree_").state["nodes"] = nodes
    path.write_bytes(stripping.write_pickle(root, 4))
    with pytest.raises(EngineError, match="not in order"):
        strip(path, tmp_path / "copy.pkl")


def test_trees_walk_as_the_library_does():
    model = fitted("tree.DecisionTreeClassifier", np.where(BITS, X, np.nan), max_depth=5)
    tree = opened(model).get("tree_")
    points = points_of(tree.get("nodes"), 1_000, 1_000, np.random.default_rng(1))
    points = np.hstack([points, np.zeros((len(points), 4 - points.shape[1]), np.float32)])
    true = model.tree_.predict(points)
    assert np.isnan(points).any()
    assert np.array_equal(tree.get("values")[leaf_of(tree.get("nodes"), points)].reshape(true.shape), true)


# ------------------------------------------------------------------ files without objects


def labels(name):
    frame = pd.read_csv(MODELS / "data" / f"{name}.csv")
    return frame[frame.columns[-1]]


def test_an_rpart_object_holds_labels_and_leaves():
    root = read_rds((MODELS / "rpart-4.1.19" / "people.rds").read_bytes())
    parts = dict(root.parts)
    truth = labels("people")
    assert [sorted(set(truth))[int(v) - 1] for v in parts["y"].values] == truth.tolist()
    inspected = inspect(MODELS / "rpart-4.1.19" / "people.rds")
    assert inspected.rows == len(truth)
    assert {f.path: f.level for f in inspected.findings} == {
        "m$y": "critical", "m$where": "high", "m$frame": "high",
    }  # fmt: skip
    leaves = np.asarray(dict(parts["frame"].parts)["n"].values)[np.asarray(parts["where"].values) - 1]
    assert (np.bincount(parts["where"].values)[parts["where"].values] == leaves).all()


@pytest.mark.parametrize("name", ["shop_in_function.rds", "shop_ascii.rds"])
def test_a_formula_drags_the_training_data_along(name):
    (table,) = (f for f in inspect(MODELS / "rpart-4.1.19" / name).findings if f.rule == "table")
    assert table.path == 'attr(m$terms, ".Environment")$rows'
    assert "100 x 5" in table.what
    assert not [f for f in inspect(MODELS / "rpart-4.1.19" / "shop.rds").findings if f.rule == "table"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["people.rds", "shop_ascii.rds"])
def test_broken_r_files_are_refused(name):
    raw = (MODELS / "rpart-4.1.19" / name).read_bytes()
    content = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    generator = np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(content)
        for place in generator.integers(20, len(content), 3):
            broken[place] = generator.integers(256)
        for data in (bytes(broken), content[: generator.integers(20, len(content))]):
            try:
                inspect_bytes(data)
            except ReleaseError:
                pass
            except Unsupported:
                assert data[:2] not in {b"X\n", b"A\n"}


def test_pmml():
    inspected = inspect(MODELS / "pmml-written" / "forest_majority.pmml")
    assert inspected.rows == 90
    extremes = next(f for f in inspected.findings if f.rule == "extremes")
    assert "children from 0 to 4" in extremes.follows
    text = """<?xml version="1.0"?><PMML xmlns="http://www.dmg.org/PMML-4_4"><Header/><TreeModel>
    <ModelVerification recordCount="2"><InlineTable><row><a>1</a></row><row><a>2</a></row></InlineTable>
    </ModelVerification></TreeModel></PMML>"""
    (rows,) = inspect_bytes(text.encode()).findings
    assert (rows.level, rows.rule, rows.what) == ("critical", "verification-rows", "2 rows")
    bomb = '<?xml version="1.0"?><!DOCTYPE PMML [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><PMML>&b;</PMML>'
    with pytest.raises(ReleaseError, match="entities"):
        inspect_bytes(bomb.encode())
    with pytest.raises(ReleaseError, match="broken"):
        inspect_bytes(b"<PMML><a></PMML>")
    with pytest.raises(ReleaseError, match="nested"):
        inspect_bytes(b"<PMML>" + b"<a>" * 100_000)


def test_boosters_write_extremes_and_categories():
    shop = pd.read_csv(MODELS / "data" / "shop.csv")
    for file in ("categories.txt", "categories.json", "categories.pkl"):
        findings = inspect(MODELS / "lightgbm-4.7.0" / file).findings
        told = next(f.follows for f in findings if f.rule == "extremes")
        assert f"age from {shop['age'].min()} to {shop['age'].max()}" in told
        assert sorted(shop["city"].unique())[:3] == next(list(f.values) for f in findings if "Berne" in f.values)
    counted = shop["city"].map({c: i for i, c in enumerate(sorted(shop["city"].unique()))}).value_counts().index
    listed_ = next(f for f in inspect(MODELS / "lightgbm-4.7.0" / "categories.txt").findings if f.rule == "categories")
    assert f"city: -1:{':'.join(map(str, counted))}" in listed_.follows  # most frequent first
    findings = inspect(MODELS / "xgboost-3.2.0" / "categories.json").findings
    assert ("Berne", "Oslo", "Rome") in {f.values for f in findings}
    assert "leaf-hessians" in {f.rule for f in inspect(MODELS / "xgboost-3.2.0" / "categories.dump.json").findings}


def test_texts_and_tables():
    tree = inspect(MODELS / "sklearn-1.9.1" / "text_people_2.txt")
    assert (tree.rows, tree.findings[0].rule) == (90, "counts")
    assert inspect(MODELS / "sklearn-1.9.1" / "text_people_default.txt").findings[0].rule == "thresholds"
    assert inspect(MODELS / "sklearn-1.9.1" / "dot_people_default.dot").rows == 90
    assert inspect(MODELS / "sklearn-1.9.1" / "dot_people_proportion.dot").findings[0].rule == "shares"
    assert inspect(MODELS / "rpart-4.1.19" / "people.txt").rows == 90
    assert inspect(MODELS / "rpart-4.1.19" / "people.json").rows == 90
    assert inspect(MODELS / "corels-1.1.29" / "list_with_counts.txt").rows == 120
    table = inspect_bytes(b"sex,age,count\nf,young,3\nm,young,0\nm,old,c\n").findings[0].follows
    assert "2 cells, 1 of them 0, 1 from 1 to 9, 1 hidden" in table
    kept = {"frame": {"n": [9, 4, 5]}, "y": [1] * 9, "where": [2] * 9}
    assert [f.path for f in inspect_bytes(json.dumps(kept).encode()).findings] == ["y", "frame", "where"]
    for other in (b"", b"a,b\n1,2\n", b"\xff\xfe\x00", b"[1, 2]", b'{"a": 1}', b"<html></html>"):
        with pytest.raises(Unsupported, match="not a file that inspect knows"):
            inspect_bytes(other)
    with pytest.raises(ReleaseError, match="nested"):
        inspect_bytes(b"[" * 200_000)


def test_release_files():
    leaf = [{"counts": [3, 6]}]
    trees = {"kind": "forest", "trees": [{"nodes": leaf}], "resample": "with", "multiplicities": [[1] * 9]}
    models = [
        {"kind": "tree", "nodes": leaf},
        {"kind": "tree", "nodes": leaf, "noise": {"law": "discrete_laplace", "scale": 1}},
        trees,
    ]
    domain = {"attributes": [{"name": "a", "values": [0, 1]}], "label": {"name": "l", "values": ["y", "n"]}}
    release = json.dumps({"recon": 1, "rows": 9, "domain": domain, "models": models}).encode()
    for data in (release, gzip.compress(release)):
        inspected = inspect_bytes(data)
        told = {f.path: (f.level, f.rule, f.follows.partition(":")[0]) for f in inspected.findings}
        assert told.pop("models[1]") == (
            "info", "noisy-counts", "counts with discrete_laplace noise",
        )  # fmt: skip
        assert told == {
            "models[2].multiplicities": (
                "high",
                "bags",
                "how often each training row is in each tree's bag, by its position in the training file",
            ),
            "models[0]": ("high", "counts", "exact counts"),
            "models[2]": ("high", "bag-distinct-counts", "bag counts"),
        }
        assert inspected.rows == 9
    for broken in (b'{"recon": 1}', b'{"recon": 1, "rows": NaN}', release.replace(b'"rows": 9', b'"rows": NaN')):
        with pytest.raises(ReleaseError) as read:
            parse(broken, "release.json")
        with pytest.raises(ReleaseError, match=f"^{re.escape(str(read.value))}$"):
            inspect_bytes(broken, "release.json")


def readable():
    """Yield the golden files that a reader reads, with what it says."""
    for file in sorted(MODELS.glob("[!s]*/*")) + sorted(MODELS.glob("sklearn-1.9.1/*")):
        try:
            draft = read_draft(file.read_bytes(), 1 << 30)
        except (ReleaseError, Unsupported):
            continue
        if draft is not None:
            yield file, draft


@pytest.mark.slow
def test_whatever_is_read_is_inspected():
    counted = dict.fromkeys(("exact", "bag", "size", "distinct"))
    seen = 0
    for file, draft in readable():
        inspected, shown = inspect(file), str(file.relative_to(MODELS))
        if draft.rows is not None and draft.rows.exact:
            assert inspected.rows == draft.rows.low, shown
        assert {f.rule for f in inspected.findings} & LEARNER_RULES, shown
        if counted.keys() & set(draft.origin.counts):
            assert any(f.level in {"medium", "high"} and f.rule in LEARNER_RULES for f in inspected.findings), shown
        text = inspected.to_text()
        assert ("not found in it" in text) == (inspected.rows is None)
        seen += 1
    assert seen > 150
    (found_,) = inspect(MODELS / "corels-1.1.29" / "list_with_counts.save.pkl").findings
    assert (found_.level, found_.rule, found_.what) == (
        "high", "published-counts", "CORELS saved rule list (pickle), 4 rules",
    )  # fmt: skip
    assert "exact counts: training rows per class; recon count and recon audit" in found_.follows
    assert {f.level for f in inspect(MODELS / "corels-1.1.29" / "classifier.pkl").findings} == {"info"}


@pytest.mark.parametrize("file", [
    "sklearn-1.9.1/text_people_2.txt", "sklearn-1.9.1/dot_people_default.dot", "rpart-4.1.19/people.json",
    "pmml-written/knime_sets.pmml", "lightgbm-4.7.0/binary.txt", "pystreed-1.4.0/bits.dot",
])  # fmt: skip
def test_gzip_around_text(file):
    data = (MODELS / file).read_bytes()
    zipped = gzip.compress(data)
    plain_, packed = inspect_bytes(data), inspect_bytes(zipped)
    assert packed.sha256 == hashlib.sha256(zipped).hexdigest()
    assert (packed.findings, packed.rows, packed.format) == (plain_.findings, plain_.rows, plain_.format + ", gzip")
    with pytest.raises(ReleaseError, match="holds more than"):
        inspect_bytes(gzip.compress(data), memory=100)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_tables_of_counts(delimiter):
    text = "sex,age,count\nf,young,3\nm,young,0\nm,old,40\n".replace(",", delimiter)
    for data in (text.encode(), gzip.compress(text.encode()), text.encode("utf-16")):
        (one,) = inspect_bytes(data).findings
        assert (one.rule, one.what) == ("counts", "3 cells")
        assert "3 cells, 1 of them 0, 1 from 1 to 9" in one.follows


def test_values_that_nobody_writes_are_refused():
    pmml = '<PMML><TreeModel><Node recordCount="{}"/></TreeModel></PMML>'
    hostile = [
        pmml.format("inf").encode(), pmml.format("nan").encode(), b'{"frame": {"n": [Infinity]}}',
        b'digraph Tree {\n0 [label="samples = 1.2.3"] ;\n}', b"|--- a\n|   |--- weights: [1.2.3] class: 1\n",
    ]  # fmt: skip
    for data in hostile:
        with pytest.raises(ReleaseError, match=r"^model: holds values that no such file has"):
            inspect_bytes(data, "model")


@pytest.mark.parametrize("file", [
    "imodels-3.0.4/greedy.pkl", "sklearn-1.9.1/pipeline_columns_forest.pkl", "sklearn-1.9.1/hist_boosting.pkl",
    "lightgbm-4.7.0/categories.json", "xgboost-3.2.0/categories.json", "rpart-4.1.19/people.json",
])  # fmt: skip
def test_damaged_files_end_in_a_sentence(file):
    data = (MODELS / file).read_bytes()
    generator = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, on numbers that overflow
        for _ in range(25):
            broken = bytearray(data)
            for place in generator.integers(0, len(data), 3):
                broken[place] = generator.integers(256)
            with contextlib.suppress(ReleaseError, Unsupported):
                assert inspect_bytes(bytes(broken), "model").file == "model"


@pytest.mark.parametrize("value", [b"model", 3, None, Homemade(), ["model.pkl"]])
def test_only_paths_are_taken(value, tmp_path):
    for function in (inspect, lambda v: strip(v, tmp_path / "copy.pkl")):
        with pytest.raises(ReleaseError, match=f"path of a file, not a value of type {type(value).__name__}"):
            function(value)


# ------------------------------------------------------------------ the command


@pytest.fixture
def run():
    """Return a function that runs `recon inspect` and returns exit code, output and error text."""
    app = typer.Typer()
    app.command()(command.inspect)

    def call(*arguments, stdin=None):
        result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
        error = result.exception
        code = of_error(error) if error is not None and not isinstance(error, SystemExit) else result.exit_code
        return code, result.stdout, result.stderr or str(error)

    return call


def test_command_prints_findings(run, tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(members("RandomForestClassifier", class_weight="balanced")))
    code, text, _ = run(path)
    assert code == 0
    assert text.index("CRITICAL") < text.index("_sample_weight") < text.index("HIGH") < text.index("tree_.nodes")
    assert f"{N} training rows" in text
    code, text, _ = run(path, "--json")
    told = json.loads(text)
    assert {"file", "format", "sha256", "rows", "findings"} <= told.keys()
    assert told["findings"][0]["path"] == "_sample_weight"
    assert len(told["findings"][0]["values"]) <= 3
    assert run(path, "--out", tmp_path / "found.txt")[1] == ""
    assert "CRITICAL" in (tmp_path / "found.txt").read_text()


def test_command_strips(run, tmp_path):
    path, out = tmp_path / "model.pkl", tmp_path / "copy.pkl"
    path.write_bytes(pickle.dumps(members("RandomForestClassifier", class_weight="balanced")))
    code, text, error = run(path, "--strip", out)
    assert (code, out.exists()) == (0, True)
    assert "_sample_weight" in text
    assert "proved: the copy was read again" in error
    code, text, _ = run(path, "--strip", tmp_path / "other.pkl", "--json")
    told = json.loads(text)["stripped"]
    assert "_sample_weight" in told["removed"]
    assert [f["rule"] for f in told["left"] if f["level"] in {"critical", "high"}] == ["tree"]
    assert "run recon audit" in told["advice"]
    assert "can still reveal rows" in error
    code, _, error = run(out, "--strip", tmp_path / "third.pkl")
    assert (code, (tmp_path / "third.pkl").exists()) == (3, False)
    assert "nothing in it can be taken out" in error


def test_command_reads_standard_input(run, tmp_path):
    model = MODELS / "sklearn-1.9.1" / "forest.pkl"
    stdin = model.read_bytes()
    told = json.loads(run("-", "--json", stdin=stdin)[1])
    assert told | {"file": str(model)} == json.loads(run(model, "--json")[1])
    assert run("-", "--strip", tmp_path / "copy.pkl", stdin=stdin)[0] == 0
    assert "bag-seeds" not in {f.rule for f in inspect(tmp_path / "copy.pkl").findings}
    code, text, error = run("-", "--strip", "-", stdin=stdin)
    assert (code, "HIGH" in text, "standard output" in error) == (3, True, True)


def test_refused_copies_come_after_the_findings(run, tmp_path):
    for name in ("leaky/KNeighborsClassifier.pkl", "sklearn-1.9.1/text_people_2.txt"):
        code, text, error = run(MODELS / name, "--strip", tmp_path / "copy.pkl")
        assert (code, text) == (3, inspect(MODELS / name).to_text() + "\n")
        assert error.startswith(f"{MODELS / name}: ")
        code, text, _ = run(MODELS / name, "--strip", tmp_path / "copy.pkl", "--json")
        assert (code, json.loads(text)) == (3, inspect(MODELS / name).to_json())
    assert not list(tmp_path.iterdir())


def test_copies_of_compressed_files(run, tmp_path):
    model = MODELS / "sklearn-1.9.1" / "forest.xz.joblib"
    _, _, error = run(model, "--strip", tmp_path / "copy.joblib")
    assert "compressed with lzma before, the copy with nothing" in error.replace("xz", "lzma")
    _, _, error = run(model, "--strip", tmp_path / "copy.pkl.gz")
    assert "the copy with gzip" in error
    assert gzip.decompress((tmp_path / "copy.pkl.gz").read_bytes()) == (tmp_path / "copy.joblib").read_bytes()
    for name in ("copy.bz2", "copy.pkl.xz", "copy.z"):
        with pytest.raises(ReleaseError, match=f"as the name {name} says"):
            strip(model, tmp_path / name)
    with pytest.raises(ReleaseError, match="a name without it"):
        strip(MODELS / "sklearn-1.9.1" / "forest.skops", tmp_path / "copy.skops.gz")
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_left_comes_with_its_remedy(run, tmp_path):
    path = tmp_path / "model.pkl"
    model = {"forest": members("RandomForestClassifier"), "X": pd.DataFrame(X)}
    path.write_bytes(pickle.dumps(model))
    _, text, error = run(path, "--strip", tmp_path / "copy.pkl")
    remedy = next(f.remove for f in inspect(path).findings if f.path == "['X']")
    assert f"still in it: ['X']: {remedy}" in error
    assert remedy in text
    assert "cannot be taken out" not in error


def test_without_trees_none_is_said_to_be_walked():
    done, _ = stripped_bytes(pickle.dumps(fitted("linear_model.HuberRegressor")), "model", "copy")
    assert len(done.proof) == 1
    assert "read again" in done.proof[0]


def test_command_refuses_what_it_cannot_read(run, tmp_path):
    assert run(tmp_path / "missing.pkl")[0] == 3
    (tmp_path / "text").write_bytes(b"hello")
    assert run(tmp_path / "text")[0] == 3
    (tmp_path / "broken.pkl").write_bytes(pickle.dumps(members("RandomForestClassifier"))[:-20])
    assert run(tmp_path / "broken.pkl")[0] == 3


@pytest.mark.slow
def test_inspecting_imports_no_model_library(tmp_path):
    code = "import sys; from recon.readers.inspection.inspecting import inspect; inspect(sys.argv[1])\n"
    code += "print('sklearn' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(MODELS / "sklearn-1.9.1" / "forest.pkl")],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert done.stdout.strip() == "False"


def test_walk_meets_everything_once():
    shared = [1.5, np.arange(3)]
    model = Homemade()
    model.twice, model.again = shared, shared
    model.itself = model
    places = list(traverse(open_stored(pickle.dumps(model)).root))
    assert sum(p.path.startswith(("twice", "again")) for p in places) == 4  # two lists, what is inside one of them
    assert len({p.path for p in places}) == len(places)
    assert [p.path for p in places if isinstance(p.value, Thing) and p.value.class_name == "Homemade"] == ["", "itself"]


@contextlib.contextmanager
def deeper():
    """Let Python's own pickler recurse."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.slow
def test_deep_and_wide_graphs_end():
    deep = current = []
    for _ in range(20_000):
        current.append([np.float64(1)])
        current = current[-1]
    buffer = io.BytesIO()
    pickler = pickle._Pickler(buffer, 4)
    with deeper():
        pickler.dump(deep)
    begun = time.process_time()
    (one,) = inspect_bytes(buffer.getvalue()).findings
    assert (one.level, one.what) == ("unknown", "160,000 bytes of list of 1 not understood")
    leaves = fitted("cluster.Birch", np.random.default_rng(0).random((1_500, 2)), None, threshold=1e-6, n_clusters=None)
    with deeper():
        content = pickle.dumps(leaves)
    assert "subclusters" in {f.rule for f in inspect_bytes(content).findings}  # a chain of leaves
    assert time.process_time() - begun < 20
