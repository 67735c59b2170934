"""Random fits over the settings of five libraries: model files and the rows they were trained on.

`python making.py FOLDER NUMBER [SEED] [LIBRARY]` writes FOLDER/K/ with one or more model files and `rows.csv`. It needs
the packages of requirements.txt and nothing of recon; `checking.py` reads what it wrote.
"""

from __future__ import annotations

import json
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

LIBRARIES = ("xgboost", "lightgbm", "catboost", "sklearn", "hist")


class Drawn:
    """Random settings and data of one fit."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.seed = seed

    def one(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def maybe(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def data(self, classes: int, missing: bool, rows: int | None = None) -> pd.DataFrame:
        rng = self.rng
        n = rows or int(rng.integers(20, 400))
        columns = int(rng.integers(2, 6))
        width = self.one(2, 4, 8)
        x = rng.integers(-2 if self.maybe(0.3) else 0, width, (n, columns)).astype(float)
        if self.maybe(0.2):
            x = np.round(rng.normal(size=(n, columns)), self.one(1, 3))
        score = x @ rng.normal(size=columns) + rng.normal(size=n) * self.one(0.1, 1, 3)
        if classes:
            cuts = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1] * self.one(1, 1, 0.5))
            y = np.searchsorted(cuts, score)
            y[:classes] = np.arange(classes)
        else:
            y = np.round(score, 2)
        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(columns)])
        if missing:
            frame = frame.mask(rng.random(frame.shape) < self.one(0.02, 0.1, 0.3))
        return frame.assign(y=y)

    def weights(self, n: int):
        kind = (
            self.one(
                "none",
            )
            if not self.maybe(0.15)
            else self.one("twos", "whole", "real", "zeros")
        )
        if kind == "twos":
            return kind, np.full(n, 2.0)
        if kind == "whole":
            return kind, self.rng.integers(1, 4, n).astype(float)
        if kind == "zeros":
            return kind, self.rng.integers(0, 2, n).astype(float)
        return kind, None if kind == "none" else self.rng.random(n) + 0.5


def sparse(x: pd.DataFrame):
    import scipy.sparse

    return scipy.sparse.csr_matrix(x.to_numpy())


def xgboost(d: Drawn, folder: Path) -> dict:
    import xgboost as xgb

    classes = d.one(2, 2, 2, 3, 0)
    how = d.one("dense", "dense", "dense", "nan", "sparse", "marker")
    frame = d.data(classes, how == "nan")
    x, y = frame.drop(columns="y"), frame["y"]
    marker = {"marker": d.one(0.0, -1.0)}.get(how, np.nan)
    kind, weight = d.weights(len(frame))
    params = {
        "max_depth": d.one(1, 2, 3, 6),
        "tree_method": d.one("hist", "hist", "exact", "approx"),
        "seed": d.seed,
        "subsample": d.one(1, 1, 0.5, 0.8),
        "colsample_bytree": d.one(1, 0.7),
        "eta": d.one(0.3, 0.1),
        "lambda": d.one(1, 0, 2),
        "nthread": 1,
    }
    params["objective"] = {
        0: d.one("reg:squarederror", "reg:absoluteerror", "reg:quantileerror"),
        2: d.one("binary:logistic", "binary:logistic", "binary:logitraw", "reg:logistic"),
    }.get(classes, "multi:softprob")
    if params["objective"] == "reg:quantileerror":
        params["quantile_alpha"] = 0.4
    if classes > 2:
        params["num_class"] = classes
    if d.maybe(0.4) and classes:
        params["base_score"] = 0.5
    if d.maybe(0.1):
        params["booster"], params["rate_drop"] = "dart", 0.3
    data = xgb.DMatrix(sparse(x) if how == "sparse" else x, y, weight=weight, missing=marker)
    rounds = d.one(1, 1, 2, 5, 20)
    model = xgb.train(params, data, rounds)
    more = d.maybe(0.1)
    if more:
        other = d.data(classes, False, len(frame))
        other = other.reindex(columns=frame.columns, fill_value=0.0).assign(y=other["y"])
        model = xgb.train(params, xgb.DMatrix(other.drop(columns="y"), other["y"]), 2, xgb_model=model)
    model.save_model(folder / "model.json")
    model.save_model(folder / "model.ubj")
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    model.dump_model(folder / "dump.json", with_stats=True, dump_format="json")
    frame.to_csv(folder / "rows.csv", index=False)
    return {**params, "how": how, "rounds": rounds, "weights": kind, "continued": more, "marker": str(marker)}


def lightgbm(d: Drawn, folder: Path) -> dict:
    import lightgbm as lgb

    classes = d.one(2, 2, 2, 3, 0)
    how = d.one("dense", "dense", "nan", "sparse", "zero")
    frame = d.data(classes, how == "nan")
    x, y = frame.drop(columns="y"), frame["y"]
    kind, weight = d.weights(len(frame))
    params = {
        "objective": {0: d.one("regression", "regression_l1", "poisson"), 2: "binary"}.get(classes, "multiclass"),
        "num_leaves": d.one(2, 4, 31),
        "min_data_in_leaf": d.one(1, 5, 20),
        "verbose": -1,
        "seed": d.seed,
        "num_threads": 1,
        "learning_rate": d.one(0.1, 0.3),
        "lambda_l2": d.one(0, 0, 1),
        "boosting": d.one("gbdt", "gbdt", "gbdt", "goss", "dart", "rf"),
        "min_sum_hessian_in_leaf": d.one(1e-3, 0),
    }
    if params["objective"] == "poisson":
        y = y - y.min()
        frame = frame.assign(y=y)
    if classes > 2:
        params["num_class"] = classes
    if d.maybe(0.4) or params["boosting"] == "rf":
        params |= {"bagging_fraction": d.one(0.5, 0.8), "bagging_freq": d.one(1, 1, 5)}
    if params["boosting"] == "goss":
        params = {k: v for k, v in params.items() if not k.startswith("bagging")}
    if how == "zero":
        params["zero_as_missing"] = True
    if d.maybe(0.2):
        params["boost_from_average"] = False
    if d.maybe(0.1):
        params["linear_tree"] = params["boosting"] == "gbdt" and classes != 3 and how != "sparse"
    data = lgb.Dataset(
        sparse(x) if how == "sparse" else x,
        y,
        weight=weight,
        feature_name=list(x.columns),
        params={"verbose": -1, "min_data_in_bin": 1},
        free_raw_data=False,
    )
    rounds = d.one(1, 2, 5, 20)
    model = lgb.train(params, data, rounds)
    more = d.maybe(0.1) and not params.get("linear_tree")
    if more:
        other = d.data(classes, False, len(frame))
        other = other.reindex(columns=frame.columns, fill_value=0.0).assign(y=other["y"])
        if params["objective"] == "poisson":
            other["y"] -= other["y"].min()
        model = lgb.train(
            params, lgb.Dataset(other.drop(columns="y"), other["y"], free_raw_data=False), 2, init_model=model
        )
    model.save_model(folder / "model.txt")
    (folder / "dump.json").write_text(json.dumps(model.dump_model()), encoding="utf-8")
    frame.to_csv(folder / "rows.csv", index=False)
    return {**params, "how": how, "rounds": rounds, "weights": kind, "continued": more}


def catboost(d: Drawn, folder: Path) -> dict:
    import catboost as cat

    classes = d.one(2, 2, 3, 0)
    frame = d.data(classes, d.maybe(0.3))
    x, y = frame.drop(columns="y"), frame["y"]
    kind, weight = d.weights(len(frame))
    params = {
        "iterations": d.one(1, 2, 5, 20),
        "depth": d.one(1, 2, 4, 6),
        "random_seed": d.seed,
        "verbose": 0,
        "allow_writing_files": False,
        "thread_count": 1,
        "bootstrap_type": d.one("MVS", "Bayesian", "No", "Bernoulli"),
        "boosting_type": d.one("Plain", "Ordered"),
        "grow_policy": d.one("SymmetricTree", "SymmetricTree", "Depthwise"),
        "loss_function": {0: "RMSE", 2: "Logloss"}.get(classes, "MultiClass"),
    }
    if params["grow_policy"] == "Depthwise":
        params["boosting_type"] = "Plain"
    if d.maybe(0.1) and classes == 2:
        params["class_weights"] = d.one([1, 2], [2, 3], [2, 2])
    model = cat.CatBoost(params).fit(x, y, sample_weight=weight)
    more = d.maybe(0.1)
    if more:
        other = d.data(classes, False, len(frame))
        other = other.reindex(columns=frame.columns, fill_value=0.0).assign(y=other["y"])
        again = cat.CatBoost({**params, "iterations": 2, "boosting_type": "Plain"})
        model = again.fit(other.drop(columns="y"), other["y"], init_model=model)
    model.save_model(str(folder / "model.cbm"))
    model.save_model(str(folder / "model.json"), format="json")
    frame.to_csv(folder / "rows.csv", index=False)
    return {**params, "weights": kind, "continued": more}


def sklearn(d: Drawn, folder: Path) -> dict:
    import joblib
    from sklearn import ensemble, tree

    classes = d.one(2, 2, 3, 0)
    kind, weight = d.weights(400)
    model = d.one("tree", "tree", "forest", "extra", "bagging", "boosting", "ada")
    frame = d.data(classes, model in ("tree", "forest") and d.maybe(0.2))
    x, y = frame.drop(columns="y"), frame["y"]
    weight = None if weight is None else weight[: len(frame)]
    if weight is not None and (not weight.any() or (classes and len(set(y[weight > 0])) < classes)):
        kind, weight = "none", None
    shape = {"max_depth": d.one(None, 2, 4), "min_samples_leaf": d.one(1, 5), "random_state": d.seed}
    if classes and d.maybe(0.2) and model != "boosting":
        shape["class_weight"] = d.one("balanced", {0: 2, 1: 3, 2: 1} if classes == 3 else {0: 2, 1: 3})
    if model == "tree":
        made = (tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor)(**shape)
    elif model in ("forest", "extra"):
        name = {"forest": "RandomForest", "extra": "ExtraTrees"}[model] + ("Classifier" if classes else "Regressor")
        made = getattr(ensemble, name)(n_estimators=5, bootstrap=d.maybe(0.7), **shape)
    elif model == "bagging":
        base = (tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor)(**shape)
        name = "BaggingClassifier" if classes else "BaggingRegressor"
        made = getattr(ensemble, name)(
            base, n_estimators=4, max_samples=d.one(1.0, 0.6), bootstrap=d.maybe(0.7), random_state=d.seed
        )
    elif model == "ada" and classes:
        made = ensemble.AdaBoostClassifier(
            tree.DecisionTreeClassifier(max_depth=2), n_estimators=4, random_state=d.seed
        )
    else:
        model, shape = "boosting", {k: v for k, v in shape.items() if k != "class_weight"}
        made = (ensemble.GradientBoostingClassifier if classes else ensemble.GradientBoostingRegressor)(
            n_estimators=d.one(1, 5, 20), subsample=d.one(1.0, 0.6), **shape
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made.fit(x, y, **({} if weight is None else {"sample_weight": weight}))
    joblib.dump(made, folder / "model.joblib")
    if model == "tree" and classes:
        text = tree.export_text(made, feature_names=list(x.columns), show_weights=True, decimals=10, max_depth=50)
        (folder / "tree.txt").write_text(text, encoding="utf-8")
        dot = tree.export_graphviz(
            made, feature_names=list(x.columns), class_names=[str(c) for c in made.classes_], precision=10
        )
        (folder / "tree.dot").write_text(dot, encoding="utf-8")
    frame.to_csv(folder / "rows.csv", index=False)
    return {"model": model, "weights": kind, "classes": classes, **{k: str(v) for k, v in shape.items()}}


def hist(d: Drawn, folder: Path) -> dict:
    import joblib
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    classes = d.one(2, 2, 3, 0)
    frame = d.data(classes, d.maybe(0.3))
    x, y = frame.drop(columns="y"), frame["y"]
    kind, weight = d.weights(len(frame))
    made = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(
        max_iter=d.one(1, 3, 20),
        min_samples_leaf=d.one(1, 5, 20),
        random_state=d.seed,
        early_stopping=d.maybe(0.2),
        warm_start=False,
        **({"class_weight": "balanced"} if classes and d.maybe(0.1) else {}),
    )
    made.fit(x, y, sample_weight=weight)
    joblib.dump(made, folder / "model.joblib")
    frame.to_csv(folder / "rows.csv", index=False)
    return {"weights": kind, "classes": classes, "settings": str(made)}


def main(folder: str, number: str, seed: str = "0", library: str = "") -> None:
    """Write so many fits."""
    warnings.simplefilter("ignore")
    for k in range(int(seed), int(seed) + int(number)):
        drawn = Drawn(k)
        name = library or LIBRARIES[k % len(LIBRARIES)]
        here = Path(folder) / f"{k:05d}"
        here.mkdir(parents=True, exist_ok=True)
        try:
            said = globals()[name](drawn, here)
        except Exception as error:  # a library refuses its own settings: no fit
            said = {"failed": f"{type(error).__name__}: {error}"[:300]}
        (here / "settings.json").write_text(
            json.dumps({"library": name, "seed": k, **said}, default=str), encoding="utf-8"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
