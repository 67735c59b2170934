"""What a reader must find in a model file: computed from the live object and the training data, never from the file.

A row's leaf comes from the library's own `apply` on the training data, its weight from the library's own bootstrap
sample; both are compared with the node sizes that the model stores before they are written down.
"""

from __future__ import annotations

import json
import math
from collections import UserList
from pathlib import Path
from typing import Any

import make_data
import numpy as np

HERE = Path(__file__).parent
INDEX = HERE / "index.json"


def plain(value: Any) -> Any:
    """Return the value as JSON holds it; infinities and NaN become strings."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | UserList):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def tally(leaf: np.ndarray, leaves: np.ndarray, y: np.ndarray, classes: np.ndarray, weight: np.ndarray) -> list:
    """Return the rows per leaf and class, each row counted `weight` times."""
    return [[int(weight[(leaf == k) & (y == c)].sum()) for c in classes] for k in leaves]


def tree(model: Any, x: np.ndarray, y: np.ndarray, classes: Any, bag: np.ndarray | None = None) -> dict:
    """Return one fitted tree: leaves in node order, raw rows per leaf and class, the tests of the inner nodes.

    `classes` None: a regressor or a booster's stage of a regressor; sums of y and y² per leaf instead of counts.
    """
    nodes = model.tree_
    leaf = nodes.apply(np.ascontiguousarray(x, dtype=np.float32))
    inner, leaves = np.flatnonzero(nodes.children_left != -1), np.flatnonzero(nodes.children_left == -1)
    weight = np.ones(len(x), dtype=int) if bag is None else bag
    found: dict = {"leaves": leaves, "tests": [[nodes.feature[k], nodes.threshold[k]] for k in inner]}
    if hasattr(nodes, "missing_go_to_left"):
        found["missing_left"] = nodes.missing_go_to_left[inner].astype(int)
    if bag is not None:
        found["distinct"] = [int((weight[leaf == k] > 0).sum()) for k in leaves]
    if classes is None:
        found["rows"] = [int(weight[leaf == k].sum()) for k in leaves]
        found["sum"] = [float((weight * y)[leaf == k].sum()) for k in leaves]
        found["sum_of_squares"] = [float((weight * y * y)[leaf == k].sum()) for k in leaves]
    elif y.ndim == 2:
        found["counts"] = [tally(leaf, leaves, y[:, j], classes[j], weight) for j in range(y.shape[1])]
    else:
        found["counts"] = tally(leaf, leaves, y, classes, weight)
    return found | disagreement(model, x, found, [int((weight[leaf == k] > 0).sum()) for k in leaves])


def disagreement(model: Any, x: np.ndarray, found: dict, seen: list[int]) -> dict:
    """Return what the model stores where that is not what `apply` says: only with missing values, before 1.8.

    scikit-learn #28254, #32178: while fitting, some rows with a missing value went the other way than later.
    """
    nodes, leaves, more = model.tree_, found["leaves"], {}
    if seen != nodes.n_node_samples[leaves].tolist():
        more["stored_rows"] = nodes.n_node_samples[leaves]
    share, size = nodes.value[leaves], nodes.weighted_n_node_samples[leaves]
    if "counts" in found and share.shape[1] == 1 < share.shape[2] and getattr(model, "monotonic_cst", None) is None:
        counts = share[:, 0, :] / share[:, 0, :].sum(axis=1, keepdims=True) * size[:, None]
        weighted = np.abs(counts - counts.round()).max() > 1e-6 or np.abs(size.sum() - np.sum(found["counts"])) > 1e-6
        if not weighted and (counts.round() != found["counts"]).any():
            more["stored_counts"] = counts.round()
    assert not more or np.isnan(x).any(), more
    return more


def bags(model: Any, n: int) -> list[np.ndarray]:
    """Return per tree how often each training row was drawn, by the library's own generator."""
    try:
        drawn = model.estimators_samples_
    except AttributeError:  # forests before 1.4 have the generator only
        from sklearn.ensemble._forest import _generate_sample_indices, _get_n_samples_bootstrap

        size = _get_n_samples_bootstrap(n, model.max_samples)
        drawn = [_generate_sample_indices(t.random_state, n, size) for t in model.estimators_]
    return [np.bincount(np.where(d)[0] if d.dtype == bool else d, minlength=n) for d in drawn]


def ensemble(model: Any, x: np.ndarray, y: np.ndarray) -> dict:
    """Return a forest or a bag of trees, with each tree's multiplicities where rows were drawn."""
    classes = getattr(model, "classes_", None)
    columns = getattr(model, "estimators_features_", None)
    sampled = bool(model.bootstrap) or columns is not None
    drawn = bags(model, len(x)) if sampled else [None] * len(model.estimators_)
    found = []
    for k, (member, bag) in enumerate(zip(model.estimators_, drawn, strict=True)):
        part = x if columns is None else x[:, columns[k]]
        one = tree(member, part, y, classes, bag)
        found.append(one | ({} if bag is None else {"bag": bag}) | ({} if columns is None else {"columns": columns[k]}))
    return {"bootstrap": sampled, "trees": found}


def histogram_stages(model: Any, x: Any, y: np.ndarray) -> list:
    """Return HistGradientBoosting's stages: rows per leaf and class by walking each stored predictor."""
    table = model._preprocess_X(x, reset=False) if hasattr(model, "_preprocess_X") else np.asarray(x, dtype=float)
    return [[walk(p, np.asarray(table, dtype=float), y, model.classes_) for p in stage] for stage in model._predictors]


def walk(predictor: Any, x: np.ndarray, y: np.ndarray, classes: np.ndarray) -> dict:
    """Return the rows per leaf and class of one histogram tree."""
    nodes, sets = predictor.nodes, predictor.raw_left_cat_bitsets
    leaf = np.zeros(len(x), dtype=int)
    for i, row in enumerate(x):
        k = 0
        while not nodes[k]["is_leaf"]:
            node, value = nodes[k], row[nodes[k]["feature_idx"]]
            if np.isnan(value):
                left = node["missing_go_to_left"]
            elif node["is_categorical"]:
                left = sets[node["bitset_idx"]][int(value) // 32] >> (int(value) % 32) & 1
            else:
                left = value <= node["num_threshold"]
            k = node["left"] if left else node["right"]
        leaf[i] = k
    leaves = np.flatnonzero(nodes["is_leaf"])
    counts = tally(leaf, leaves, y, classes, np.ones(len(x), dtype=int))
    assert [sum(c) for c in counts] == nodes["count"][leaves].tolist()
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    tests = [[nodes[k]["feature_idx"], nodes[k]["num_threshold"], nodes[k]["is_categorical"]] for k in inner]
    return {"leaves": leaves, "counts": counts, "tests": tests}


def folds(model: Any, x: np.ndarray, y: np.ndarray) -> list:
    """Return the members of CalibratedClassifierCV, each on the rows that its fold was fitted on."""
    from sklearn.model_selection import StratifiedKFold

    found = []
    for (train, _), member in zip(StratifiedKFold(model.cv).split(x, y), model.calibrated_classifiers_, strict=True):
        inner = member.estimator
        found.append(tree(inner, x[train], y[train], inner.classes_) | {"rows_used": train})
    return found


def learned(step: Any) -> dict:
    """Return what a transformer has stored of the data, by attribute name."""
    names = ("mean_", "var_", "scale_", "categories_", "bin_edges_", "statistics_", "n_samples_seen_", "data_min_")
    return {n: getattr(step, n) for n in names if hasattr(step, n)}


def pipeline(model: Any, x: Any, y: np.ndarray) -> dict:
    """Return the last step's truth on transformed data, with the transformers' stored values."""
    table = model[:-1].transform(x)
    found = describe(model[-1], np.asarray(table), y)
    steps = {}
    for name, step in model.steps[:-1]:
        inner = step.transformers_ if hasattr(step, "transformers_") else [(name, step, None)]
        steps[name] = {n: {"columns": c, **learned(t)} for n, t, c in inner if not isinstance(t, str)}
    return found | {"steps": steps, "columns": model[:-1].get_feature_names_out()}


def describe(model: Any, x: Any, y: Any) -> dict:
    """Return the truth of any fitted model of the list in make.py."""
    y = np.asarray(y)
    kind = type(model).__name__
    if kind == "Pipeline":
        return pipeline(model, x, y)
    if kind == "GridSearchCV":
        return describe(model.best_estimator_, x, y)
    found = {k: getattr(model, k + "_") for k in ("classes", "feature_names_in") if hasattr(model, k + "_")}
    if kind == "HistGradientBoostingClassifier":
        return found | {"stages": histogram_stages(model, x, y)}
    table = np.asarray(x)
    if kind == "GradientBoostingClassifier":
        stages = [[tree(t, table, y, model.classes_) for t in stage] for stage in model.estimators_]
        return found | {"stages": stages}
    if kind == "CalibratedClassifierCV":
        return found | {"trees": folds(model, table, y)}
    if kind == "VotingClassifier":
        return found | {"trees": [tree(t, table, model.le_.transform(y), t.classes_) for t in model.estimators_]}
    if kind == "AdaBoostClassifier":
        return found | {"trees": [tree(t, table, y, t.classes_) for t in model.estimators_]}
    if hasattr(model, "estimators_"):
        return found | ensemble(model, table, y)
    return found | {"trees": [tree(model, table, y, getattr(model, "classes_", None))]}


def entries() -> list[dict]:
    """Return what index.json holds."""
    return json.loads(INDEX.read_text(encoding="utf-8")) if INDEX.exists() else []


def write(found: list[dict]) -> None:
    """Write index.json: one line per file, in the order of the files' names."""
    lines = [json.dumps(e, separators=(",", ":"), allow_nan=False) for e in sorted(found, key=lambda e: e["file"])]
    INDEX.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


def record(file: str, data: str, library: str, model: Any, found: dict, **more: Any) -> None:
    """Put one entry into index.json in place of the one that this file had."""
    rows = len(make_data.read(data)[0])
    text = " ".join(repr(model).split()) if not isinstance(model, str) else model
    entry = {"file": file, "data": f"data/{data}.csv", "library": library, "model": text, "rows": rows}
    write([e for e in entries() if e["file"] != file] + [plain(entry | more | {"truth": found})])


def folder(name: str) -> Path:
    """Return the folder of one library and version, made if absent."""
    (HERE / name).mkdir(exist_ok=True)
    return HERE / name
