"""Make the model files of this folder, each by the real library, and index.json that says what is in them.

`python make.py PART` inside an environment of make.sh, which names the versions. Run by hand once; the files are
committed and tests only read them.
"""

from __future__ import annotations

import gzip
import pickle
import sys
import warnings
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import make_data
import make_others as others
import make_written
import numpy as np
import truth
from truth import folder, record


def newest() -> bool:
    """Return whether this environment has the newest scikit-learn of make.sh."""
    return tuple(map(int, version("scikit-learn").split(".")[:2])) >= (1, 9)


# ---------------------------------------------------------------- scikit-learn


def trees() -> dict:
    """Return name -> (model, data, labels, how to fit)."""
    from sklearn.tree import DecisionTreeClassifier as Tree
    from sklearn.tree import DecisionTreeRegressor

    weights = np.random.default_rng(7)
    zero_one, any_weight = weights.integers(0, 2, 90).astype(float), np.round(weights.uniform(0.5, 3, 90), 3)
    found = {
        "tree": (Tree(max_depth=4, random_state=0), "people", 1, {}),
        "tree_full": (Tree(random_state=0), "people", 1, {}),
        "tree_numpy": (Tree(max_depth=4, random_state=0), "plants", 1, {"numpy": True}),
        "tree_bool": (Tree(max_depth=3, random_state=0), "people", 1, {"bool": True}),
        "tree_stump": (Tree(max_depth=1, random_state=0), "people", 1, {}),
        "tree_min_leaf": (Tree(min_samples_leaf=7, random_state=0), "people", 1, {}),
        "tree_balanced": (Tree(max_depth=4, class_weight="balanced", random_state=0), "plants", 1, {}),
        "tree_class_weight": (Tree(max_depth=4, class_weight={"no": 1, "yes": 2.5}, random_state=0), "people", 1, {}),
        "tree_weight_01": (Tree(max_depth=4, random_state=0), "people", 1, {"weight": zero_one}),
        "tree_weight_any": (Tree(max_depth=4, random_state=0), "people", 1, {"weight": any_weight}),
        "tree_entropy": (Tree(criterion="entropy", max_depth=4, random_state=0), "plants", 1, {}),
        "tree_two_outputs": (Tree(max_depth=4, random_state=0), "two_labels", 2, {}),
        "tree_best_first": (Tree(max_leaf_nodes=7, random_state=0), "people", 1, {}),
        "tree_pruned": (Tree(ccp_alpha=0.01, random_state=0), "people", 1, {}),
        "regressor": (DecisionTreeRegressor(max_depth=4, random_state=0), "visits", 1, {}),
    }
    if version("scikit-learn") >= "1.3":
        found["tree_missing"] = (Tree(max_depth=3, random_state=0), "gaps", 1, {})
        # the deep one contradicts its own training data in 1.3 to 1.6 (index.json: stored_counts)
        found["tree_missing_deep"] = (Tree(max_depth=5, random_state=0), "gaps", 1, {})
    if version("scikit-learn") >= "1.4":
        for name, signs in {"tree_monotonic": [0, 0, 0, 1, 1], "tree_monotonic_down": [0, 0, 0, -1, -1]}.items():
            found[name] = (Tree(max_depth=6, monotonic_cst=signs, random_state=0), "people", 1, {})
    return found


def forests() -> dict:
    """Return the bagged ensembles."""
    from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestRegressor
    from sklearn.ensemble import RandomForestClassifier as Forest
    from sklearn.tree import DecisionTreeClassifier as Tree

    few: dict = {"n_estimators": 3, "random_state": 0}
    weights = np.random.default_rng(8).integers(1, 4, 90).astype(float)
    subsample = "balanced_subsample"
    bag: dict = {"estimator": Tree(max_depth=4), **few}
    found = {
        "forest_unseeded": (Forest(n_estimators=3), "people", 1, {}),
        "forest": (Forest(**few), "people", 1, {}),
        "forest_numpy": (Forest(**few), "plants", 1, {"numpy": True}),
        "forest_ten": (Forest(n_estimators=10, max_depth=3, random_state=5), "plants", 1, {}),
        "forest_no_bootstrap": (Forest(bootstrap=False, **few), "people", 1, {}),
        "forest_half": (Forest(max_samples=0.5, **few), "people", 1, {}),
        "forest_balanced": (Forest(class_weight="balanced", max_depth=4, **few), "plants", 1, {}),
        "forest_balanced_subsample": (Forest(class_weight=subsample, max_depth=4, **few), "plants", 1, {}),
        "forest_weights": (Forest(max_depth=4, **few), "people", 1, {"weight": weights}),
        "forest_oob": (Forest(oob_score=True, max_depth=4, **few), "people", 1, {}),
        "extra_trees": (ExtraTreesClassifier(max_depth=5, **few), "people", 1, {}),
        "extra_trees_bootstrap": (ExtraTreesClassifier(bootstrap=True, max_depth=5, **few), "people", 1, {}),
        "bagging": (BaggingClassifier(**bag), "people", 1, {}),
        "bagging_features": (BaggingClassifier(max_features=0.5, **bag), "people", 1, {}),
        "bagging_half": (BaggingClassifier(bootstrap=False, max_samples=0.5, **bag), "people", 1, {}),
        "forest_regressor": (RandomForestRegressor(max_depth=4, **few), "visits", 1, {}),
    }
    if version("scikit-learn") >= "1.4":
        found["forest_missing"] = (Forest(max_depth=5, **few), "gaps", 1, {})
    return found


def boosters() -> dict:
    """Return the boosted ensembles and those of other make."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import AdaBoostClassifier, VotingClassifier
    from sklearn.ensemble import GradientBoostingClassifier as Boost
    from sklearn.ensemble import HistGradientBoostingClassifier as Hist
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier as Tree

    hist: dict = {"max_iter": 2, "max_depth": 3, "min_samples_leaf": 5, "early_stopping": False, "random_state": 0}
    pair = [("shallow", Tree(max_depth=2, random_state=0)), ("deep", Tree(max_depth=4, random_state=1))]
    grid = GridSearchCV(Tree(random_state=0), {"max_depth": [2, 3]}, cv=3)
    return {
        "ada_boost": (AdaBoostClassifier(Tree(max_depth=2), n_estimators=3, random_state=0), "people", 1, {}),
        "gradient_boosting": (Boost(n_estimators=2, max_depth=2, random_state=0), "people", 1, {}),
        "gradient_boosting_3": (Boost(n_estimators=1, max_depth=2, random_state=0), "plants", 1, {}),
        "hist_boosting": (Hist(**hist), "people", 1, {"numpy": True}),
        "hist_boosting_3": (Hist(**(hist | {"max_iter": 1})), "plants", 1, {}),
        "hist_boosting_missing": (Hist(**hist), "gaps", 1, {}),
        "hist_boosting_categories": (Hist(categorical_features=[0, 2], **hist), "people", 1, {"numpy": True}),
        "grid_search": (grid, "people", 1, {}),
        "calibrated": (CalibratedClassifierCV(Tree(max_depth=2, random_state=0), cv=3), "people", 1, {}),
        "voting": (VotingClassifier(pair), "people", 1, {}),
    }


def pipelines() -> dict:
    """Return the pipelines that end in a tree."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier as Tree

    def columns(dense: bool) -> ColumnTransformer:
        """One-hot city, ordinal grade, scaled income, age as it is."""
        one_hot = OneHotEncoder(sparse_output=not dense, drop=None if dense else "first", handle_unknown="ignore")
        grades = OrdinalEncoder(categories=[["low", "mid", "high"]])
        parts = [("city", one_hot, ["city"]), ("grade", grades, ["grade"]), ("scale", StandardScaler(), ["income"])]
        return ColumnTransformer(parts, remainder="passthrough", sparse_threshold=0)

    def bins(encode: str) -> KBinsDiscretizer:
        """Four bins of equal width."""
        return KBinsDiscretizer(4, encode=encode, strategy="uniform", subsample=None)

    last = ("tree", Tree(max_depth=4, random_state=0))
    forest = ("forest", RandomForestClassifier(n_estimators=2, max_depth=4, random_state=0))
    found = {
        "pipeline_columns": (Pipeline([("columns", columns(True)), last]), "shop", 1, {}),
        "pipeline_columns_forest": (Pipeline([("columns", columns(False)), forest]), "shop", 1, {}),
        "pipeline_bins_dense": (Pipeline([("bins", bins("onehot-dense")), last]), "plants", 1, {}),
        "pipeline_bins_ordinal": (Pipeline([("bins", bins("ordinal")), last]), "plants", 1, {}),
        "pipeline_scaler": (Pipeline([("scale", StandardScaler()), last]), "plants", 1, {}),
        "pipeline_imputer": (Pipeline([("impute", SimpleImputer(strategy="median")), last]), "gaps", 1, {}),
    }
    if version("scikit-learn") >= "1.3":
        rare = OneHotEncoder(sparse_output=False, min_frequency=30)
        parts = ColumnTransformer([("rare", rare, ["city", "grade"])], remainder="drop")
        found["pipeline_rare"] = (Pipeline([("columns", parts), last]), "shop", 1, {})
    return found


def fit(model: Any, data: str, labels: int, how: dict) -> tuple[Any, Any, dict]:
    """Fit the model; return X, y as given to it, and what index.json must add."""
    x, y = make_data.read(data, labels)
    more: dict = {}
    if how.get("numpy"):
        x, y = x.to_numpy(dtype=float), y.to_numpy()
    if how.get("bool"):
        y = y == "yes"
    if labels == 2:
        y = y.to_numpy()
    extra = {}
    if "weight" in how:
        extra["sample_weight"] = how["weight"]
        more["weights"] = how["weight"]
    model.fit(x, y, **extra)
    return x, y, more


def scikit_learn() -> None:
    """Every model of the lists above as a pickle; for the newest version other forms too; and the text forms."""
    library = f"scikit-learn {version('scikit-learn')}"
    place = folder(f"sklearn-{version('scikit-learn')}")
    for name, (model, data, labels, how) in (trees() | forests() | boosters() | pipelines()).items():
        x, y, more = fit(model, data, labels, how)
        weight = more.get("weights")
        found = truth.describe(model, x, y) if weight is None else weighted(model, x, y, weight)
        path = place / f"{name}.pkl"
        path.write_bytes(pickle.dumps(model))
        record(f"{place.name}/{path.name}", data, library, model, found, labels=labels, **more)
        other_forms(model, place / name, data, library, found, labels)
    texts(place, library)


def weighted(model: Any, x: Any, y: Any, weight: np.ndarray) -> dict:
    """Return the truth of a model fitted with row weights: rows of weight 0 are not in it."""
    if hasattr(model, "estimators_"):
        return truth.describe(model, x, y)
    used = weight > 0
    return truth.describe(model, x[used], y[used])


SKOPS = ("tree", "forest", "tree_missing", "pipeline_columns", "gradient_boosting", "hist_boosting", "bagging")
SKOPS += ("grid_search", "regressor")
JOBLIB = ("tree", "tree_missing", "forest", "pipeline_columns")


def other_forms(model: Any, stem: Path, data: str, library: str, found: dict, labels: int) -> None:
    """Protocol 2, joblib plain and compressed, and skops, for a few models; an older version: two skops files."""
    place, written = stem.parent, {}
    if newest() and stem.name in JOBLIB:
        import joblib

        (place / f"{stem.name}.p2.pkl").write_bytes(pickle.dumps(model, protocol=2))
        (place / f"{stem.name}.pkl.gz").write_bytes(gzip.compress(pickle.dumps(model), mtime=0))
        written = {"p2.pkl": "pickle protocol 2", "pkl.gz": "gzip of a pickle"}
        for end, how in {"joblib": 0, "z3.joblib": 3, "gz.joblib": ("gzip", 3), "xz.joblib": ("lzma", 3)}.items():
            joblib.dump(model, place / f"{stem.name}.{end}", compress=how)
            written[end] = f"joblib {version('joblib')}, compress={how}"
    if stem.name in (SKOPS if newest() else SKOPS[:2] if version("scikit-learn") >= "1.6" else ()):
        import skops.io

        packed = zipfile.ZIP_STORED if stem.name in SKOPS[:1] else zipfile.ZIP_DEFLATED
        skops.io.dump(model, place / f"{stem.name}.skops", compression=packed)
        written["skops"] = f"skops {version('skops')}"
    for end, by in written.items():
        record(f"{place.name}/{stem.name}.{end}", data, library, model, found, labels=labels, by=by)


def texts(place: Path, library: str) -> None:
    """The printed forms: export_text and export_graphviz, with and without names and rounded shares."""
    from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text

    for name, data in {"people": "people", "plants": "plants"}.items():
        x, y = make_data.read(data)
        model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, y)
        found, names, classes = truth.describe(model, x, y), list(x.columns), [str(c) for c in model.classes_]
        forms = {
            f"text_{name}_2.txt": export_text(model, feature_names=names, show_weights=True, decimals=2),
            f"text_{name}_10.txt": export_text(model, feature_names=names, show_weights=True, decimals=10),
            f"text_{name}_default.txt": export_text(model),
            f"dot_{name}_default.dot": export_graphviz(model),
            f"dot_{name}_named.dot": export_graphviz(
                model, feature_names=names, class_names=classes, filled=True, rounded=True, special_characters=True
            ),
            f"dot_{name}_plain_names.dot": export_graphviz(model, feature_names=names, class_names=classes),
            f"dot_{name}_proportion.dot": export_graphviz(
                model, feature_names=names, class_names=classes, proportion=True, node_ids=True, precision=6
            ),
        }
        for file, text in forms.items():
            (place / file).write_text(text, encoding="utf-8")
            record(f"{place.name}/{file}", data, library, model, found, labels=1)


def tidy() -> None:
    """Drop entries whose file is gone; refuse files without an entry and more than 3 MB in all."""
    entries = [e for e in truth.entries() if (truth.HERE / e["file"]).exists()]
    truth.write(entries)
    known = {e["file"] for e in entries}
    files = [p for p in truth.HERE.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    made = {str(p.relative_to(truth.HERE)) for p in files if p.parent not in (truth.HERE, make_data.DATA)}
    assert made <= known, made - known
    assert sum(p.stat().st_size for p in files) < 3_000_000


PARTS = {
    "tidy": tidy,
    "data": make_data.make,
    "sklearn": scikit_learn,
    "leaky": make_written.leaky,
    "written": make_written.pmml,
}
PARTS |= {"imodels": others.imodels_files, "corels": others.corels_files, "dl85": others.dl85_files}
PARTS |= {"streed": others.streed_files, "lightgbm": others.light_gbm_files, "xgboost": others.xgboost_files}
PARTS |= {
    "catboost": others.catboost_files,
    "nyoka": others.nyoka_files,
    "sklearn2pmml": others.sklearn2pmml_files,
    "r": others.r_files,
}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # deprecations of versions that this script spans; nothing here predicts
    for part in sys.argv[1:]:
        PARTS[part]()
