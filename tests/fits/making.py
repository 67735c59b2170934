"""Random fits over the settings of five libraries: model files and the rows they were trained on.

`python making.py FOLDER NUMBER [SEED] [LIBRARY]` writes FOLDER/K/ with one or more model files, the table that a user
trained from (`rows.csv`, rows that the library held out included) and its settings. It needs the packages of
requirements.txt and nothing of recon; `checking.py` calls it and reads what it wrote.
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
        n = rows or int(rng.integers(20, 80 if self.maybe(0.7) else 400))
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
        kind = self.one("twos", "whole", "real", "zeros") if self.maybe(0.15) else "none"
        if kind == "twos":
            return kind, np.full(n, 2.0)
        if kind == "whole":
            return kind, self.rng.integers(1, 4, n).astype(float)
        if kind == "zeros":
            return kind, self.rng.integers(0, 2, n).astype(float)
        return kind, None if kind == "none" else self.rng.random(n) + 0.5

    def codes(self, frame: pd.DataFrame) -> str | None:
        """Turn one column into codes of categories, in place; return its name, None where no column is one."""
        if not self.maybe(0.15):
            return None
        name = self.one(*frame.columns.drop("y"))
        frame[name] = (frame[name] - frame[name].min()).round() % 7
        return None if frame[name].isna().any() else name

    def other(self, frame: pd.DataFrame, classes: int) -> pd.DataFrame:
        """Return other rows with the columns of a frame, without missing values."""
        other = self.data(classes, False, len(frame))
        return other.reindex(columns=frame.columns, fill_value=0.0).assign(y=other["y"])


def sparse(x: pd.DataFrame):
    import scipy.sparse

    return scipy.sparse.csr_matrix(x.to_numpy())


def kinds_of(**kinds: object) -> list[str]:
    """Return the names of the settings that a fit has."""
    return [name.replace("_", " ") for name, has in kinds.items() if has]


def broken_by(
    weight, class_weights: object, others: bool, dart: bool = False, drawn: bool = False, again: bool = False
) -> list[str]:
    """Return which assumptions a fit breaks: rows weighted, or drawn, trees of other rows, values scaled later.

    Weights of 0 and 1 are "zeros": rows are counted or not. `again`: training went on with the same rows, unweighted.
    """
    other = weight is not None and (weight != 1).any()
    zeros = bool(other) and set(weight) <= {0.0, 1.0}
    told = (("weighted", class_weights or (other and not zeros)), ("zeros", zeros))
    told += (("other rows", others or (again and other)), ("scaled", dart), ("drawn", drawn))
    return [name for name, so in told if so]


def weights_of(weight, y: pd.Series, classes: int, by_class: object = None) -> dict:
    """Return the positions of rows of weight 0, and the least and the greatest weight of the others, by class."""
    each = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    if by_class == "balanced":
        by_class = {c: len(y) / (classes * n) for c, n in y.value_counts().items()}
    full = each * y.map(by_class).to_numpy(dtype=float) if isinstance(by_class, dict) else each
    keys = y.astype(int).astype(str) if classes else pd.Series(["all"] * len(y), index=y.index)
    held = {k: full[(keys == k).to_numpy() & (full > 0)] for k in sorted(set(keys))}
    spans = {k: [float(w.min()), float(w.max())] for k, w in held.items() if len(w)}
    return {"zero": np.flatnonzero(full == 0).tolist(), "weighs": spans}


def keep_other(folder: Path, other: pd.DataFrame, frame: pd.DataFrame, kept: bool) -> None:
    """Write the rows of the second training, where there is one on other rows."""
    if kept and other is not frame:
        other.to_csv(folder / "other.csv", index=False)


def xgboost(d: Drawn, folder: Path) -> dict:
    import xgboost as xgb

    classes = d.one(2, 2, 2, 3, 0)
    how = d.one("dense", "dense", "dense", "nan", "nan", "sparse", "marker")
    frame = d.data(classes, how == "nan")
    category = d.codes(frame) if how in ("dense", "nan") else None
    x, y = frame.drop(columns="y"), frame["y"]
    marker = {"marker": d.one(0.0, -1.0)}.get(how, np.nan)
    kind, weight = d.weights(len(frame))
    params = {
        "max_depth": d.one(1, 2, 3, 6),
        "tree_method": d.one("hist", "hist", "approx") if category else d.one("hist", "hist", "exact", "approx"),
        "seed": d.seed,
        "subsample": d.one(1, 1, 1, 0.5, 0.8),
        d.one("colsample_bytree", "colsample_bylevel", "colsample_bynode"): d.one(1, 1, 0.7),
        "eta": d.one(0.3, 0.1),
        "lambda": d.one(1, 0, 2),
        "nthread": 1,
    }
    params["objective"] = {
        0: d.one("reg:squarederror", "reg:absoluteerror", "reg:quantileerror", "count:poisson"),
        2: d.one("binary:logistic", "binary:logistic", "binary:logitraw", "reg:logistic"),
    }.get(classes, "multi:softprob")
    if params["objective"] == "count:poisson":
        y = (y - y.min()).round()
        frame = frame.assign(y=y)
    if params["objective"] == "reg:quantileerror":
        params["quantile_alpha"] = 0.4
    if classes > 2:
        params["num_class"] = classes
    if d.maybe(0.4) and classes:
        params["base_score"] = d.one(0.5, 0.5, 0.3)
    if classes == 2 and d.maybe(0.1):
        params["scale_pos_weight"] = d.one(2, 3.5)
    if d.maybe(0.1):
        params["booster"], params["rate_drop"] = "dart", 0.3
    if d.maybe(0.05):
        params["num_parallel_tree"] = 2
    given = (
        sparse(x)
        if how == "sparse"
        else x.assign(**{category: x[category].astype(int).astype("category")})
        if category
        else x
    )
    rounds, wrapped = d.one(1, 1, 2, 5, 20), d.maybe(0.3)
    stopping, more = d.maybe(0.15), d.maybe(0.1) and not category
    other = d.other(frame, classes)
    if (classes and set(other["y"]) != set(y)) or category:
        other = frame
    if wrapped:
        names = {"nthread": "n_jobs", "seed": "random_state", "lambda": "reg_lambda", "eta": "learning_rate"}
        own = {names.get(key, key): value for key, value in params.items() if key != "num_class"}
        made = (xgb.XGBClassifier if classes else xgb.XGBRegressor)(
            n_estimators=rounds,
            missing=marker,
            enable_categorical=True,
            **own,
            **({"early_stopping_rounds": 2} if stopping else {}),
        )
        held = [(given, y)] if stopping and (category or how == "sparse") else [(other.drop(columns="y"), other["y"])]
        made.fit(given, y, sample_weight=weight, verbose=False, **({"eval_set": held} if stopping else {}))
        model, more = made.get_booster(), False
        (folder / "wrapped.pkl").write_bytes(pickle.dumps(made))
    else:
        data = xgb.DMatrix(given, y, weight=weight, missing=marker, enable_categorical=True)
        more_data = data if other is frame else xgb.DMatrix(other.drop(columns="y"), other["y"])
        how_long = {"evals": [(more_data, "held")], "early_stopping_rounds": 2, "verbose_eval": False}
        model = xgb.train(params, data, rounds, **(how_long if stopping else {}))
        if more:
            model = xgb.train(params, more_data, 2, xgb_model=model)
        (folder / "model.pkl").write_bytes(pickle.dumps(model))
    model.save_model(folder / "model.json")
    model.save_model(folder / "model.ubj")
    model.dump_model(folder / "dump.json", with_stats=True, dump_format="json")
    frame.to_csv(folder / "rows.csv", index=False)
    kinds = kinds_of(
        weights=kind != "none",
        subsample=params["subsample"] < 1,
        colsample=any(params.get(k) == 0.7 for k in params),
        early_stopping=stopping,
        missing=how in ("nan", "marker"),
        categorical=category,
        sparse=how == "sparse",
        class_weights="scale_pos_weight" in params,
        DART="booster" in params,
        base_score="base_score" in params,
        continued=more,
        multi_class=classes > 2,
    )
    others, dart, drawn = more and other is not frame, "booster" in params, params["subsample"] < 1
    broken = broken_by(weight, "scale_pos_weight" in params, others, dart, drawn)
    broken += ["marked"] if (x == {"marker": marker, "sparse": 0.0}.get(how)).any(axis=None) else []
    keep_other(folder, other, frame, more)
    by_class = {0: 1.0, 1: params["scale_pos_weight"]} if "scale_pos_weight" in params else None
    told = weights_of(weight, frame["y"], classes, by_class)
    told |= {"how": how, "rounds": rounds, "weights": kind, "marker": str(marker), "kinds": kinds, "broken": broken}
    return {**params, **told}


def lightgbm(d: Drawn, folder: Path) -> dict:
    import lightgbm as lgb

    classes = d.one(2, 2, 2, 3, 0)
    how = d.one("dense", "dense", "nan", "nan", "sparse", "zero", "unused")
    frame = d.data(classes, how in ("nan", "unused") or (how == "zero" and d.maybe(0.3)))
    category = d.codes(frame) if how != "sparse" else None
    x, y = frame.drop(columns="y"), frame["y"]
    kind, weight = d.weights(len(frame))
    params = {
        "objective": {0: d.one("regression", "regression_l1", "poisson", "huber", "quantile"), 2: "binary"}.get(
            classes, d.one("multiclass", "multiclassova")
        ),
        "num_leaves": d.one(2, 4, 31),
        "min_data_in_leaf": d.one(1, 5, 20),
        "verbose": -1,
        "seed": d.seed,
        "num_threads": 1,
        "learning_rate": d.one(0.1, 0.3),
        "lambda_l2": d.one(0, 0, 1),
        "boosting": d.one("gbdt", "gbdt", "gbdt", "gbdt", "goss", "dart", "rf"),
        "min_sum_hessian_in_leaf": d.one(1e-3, 0),
        "feature_fraction": d.one(1, 1, 1, 0.6),
    }
    if params["objective"] == "poisson":
        y = y - y.min()
        frame = frame.assign(y=y)
    if classes > 2:
        params["num_class"] = classes
    if d.maybe(0.3) or params["boosting"] == "rf":
        params |= {"bagging_fraction": d.one(0.5, 0.8), "bagging_freq": d.one(1, 1, 5)}
    if params["boosting"] == "goss":
        params = {k: v for k, v in params.items() if not k.startswith("bagging")}
    if how == "zero":
        params["zero_as_missing"] = True
    if how == "unused":
        params["use_missing"] = False
    if d.maybe(0.2):
        params["boost_from_average"] = False
    if classes == 2 and d.maybe(0.1):
        params |= d.one({"scale_pos_weight": 2.0}, {"is_unbalance": True})
    if d.maybe(0.1):
        params["linear_tree"] = params["boosting"] == "gbdt" and classes != 3 and how != "sparse"
    rounds, wrapped = d.one(1, 2, 5, 20), d.maybe(0.3) and how != "sparse" and params["objective"] != "multiclassova"
    more = (
        d.maybe(0.1) and not params.get("linear_tree") and params["boosting"] != "rf" and not category and not wrapped
    )
    stopping = d.maybe(0.15) and params["boosting"] != "dart"
    init = d.maybe(0.05) and classes != 3 and params["boosting"] != "rf" and not more
    given = x.assign(**{category: x[category].astype(int).astype("category")}) if category else x
    other = d.other(frame, classes)
    if params["objective"] == "poisson":
        other["y"] -= other["y"].min()
    if (classes and set(other["y"]) != set(y)) or category:
        other = frame
    after = given if other is frame else other.drop(columns="y")
    calls = [lgb.early_stopping(2, verbose=False)] if stopping else []
    if wrapped:
        own = {k: v for k, v in params.items() if k not in ("objective", "num_class", "num_threads", "boosting")}
        names = {0: lgb.LGBMRegressor}.get(classes, lgb.LGBMClassifier)
        made = names(
            n_estimators=rounds,
            n_jobs=1,
            objective=params["objective"],
            boosting_type=params["boosting"],
            **own,
            **({"class_weight": "balanced"} if classes and d.maybe(0.1) else {}),
        )
        params["class_weight"] = str(made.class_weight)
        made.fit(
            given, y, sample_weight=weight, **({"eval_set": [(after, other["y"])], "callbacks": calls} if calls else {})
        )
        model = made.booster_
        (folder / "wrapped.pkl").write_bytes(pickle.dumps(made))
    else:
        of = {"params": {"verbose": -1, "min_data_in_bin": 1}, "free_raw_data": False}
        data = lgb.Dataset(
            sparse(x) if how == "sparse" else given,
            y,
            weight=weight,
            feature_name=list(x.columns),
            init_score=d.rng.normal(size=len(y)).round(1) if init else None,
            **of,
        )
        held = [lgb.Dataset(after, other["y"], reference=data)] if stopping and how != "sparse" else []
        model = lgb.train(params, data, rounds, valid_sets=held, callbacks=calls if held else [])
        stopping = bool(held)
        if more:
            model = lgb.train(
                params, lgb.Dataset(other.drop(columns="y"), other["y"], free_raw_data=False), 2, init_model=model
            )
        (folder / "model.pkl").write_bytes(pickle.dumps(model))
    model.save_model(folder / "model.txt")
    (folder / "dump.json").write_text(json.dumps(model.dump_model()), encoding="utf-8")
    frame.to_csv(folder / "rows.csv", index=False)
    kinds = kinds_of(
        weights=kind != "none",
        subsample="bagging_fraction" in params,
        colsample=params["feature_fraction"] < 1,
        early_stopping=stopping,
        missing=how in ("nan", "unused", "zero"),
        categorical=category,
        sparse=how == "sparse",
        class_weights={"scale_pos_weight", "is_unbalance"} & set(params)
        or params.get("class_weight", "None") != "None",
        DART=params["boosting"] == "dart",
        GOSS=params["boosting"] == "goss",
        base_score=init or "boost_from_average" in params,
        continued=more,
        multi_class=classes > 2,
    )
    dart = params["boosting"] == "dart"
    broken = broken_by(weight, "class weights" in kinds, more and other is not frame, dart, again=more)
    keep_other(folder, other, frame, more)
    told = weights_of(weight, frame["y"], classes)
    return {
        **params,
        **told,
        "how": how,
        "rounds": rounds,
        "weights": kind,
        "init": init,
        "kinds": kinds,
        "broken": broken,
    }


def catboost(d: Drawn, folder: Path) -> dict:
    import catboost as cat

    classes = d.one(2, 2, 3, 0)
    missing = d.maybe(0.35)
    frame = d.data(classes, missing)
    category = d.codes(frame)
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
        "grow_policy": d.one("SymmetricTree", "SymmetricTree", "Depthwise", "Lossguide"),
        "loss_function": {0: d.one("RMSE", "MAE", "Quantile"), 2: d.one("Logloss", "CrossEntropy")}.get(
            classes, d.one("MultiClass", "MultiClassOneVsAll")
        ),
        "nan_mode": d.one("Min", "Max") if missing else d.one("Min", "Max", "Forbidden"),
        "rsm": d.one(1, 1, 0.6),
    }
    if params["bootstrap_type"] in ("MVS", "Bernoulli"):
        params["subsample"] = d.one(0.5, 0.8)
    if params["grow_policy"] != "SymmetricTree":
        params["boosting_type"] = "Plain"
    if d.maybe(0.1) and classes == 2:
        params |= d.one({"class_weights": d.one([1, 2], [2, 3], [2, 2])}, {"auto_class_weights": "Balanced"})
    if d.maybe(0.1) and classes == 2:
        params["boost_from_average"] = False
    given = x.assign(**{category: x[category].astype(int)}) if category else x
    how = "sparse" if not category and not missing and d.maybe(0.15) else "dense"
    given = sparse(x) if how == "sparse" else given
    stopping = d.one("", "", "", "", "eval_set", "eval_fraction")
    if stopping and how == "sparse":
        stopping = ""
    other = d.other(frame, classes)
    if category or (classes and set(other["y"]) != set(y)):
        other = frame
    if stopping == "eval_fraction":
        params |= {"eval_fraction": 0.3, "od_type": "Iter", "od_wait": 2}
    pool = cat.Pool(
        given,
        y,
        weight=weight,
        cat_features=[category] if category else None,
        feature_names=list(x.columns) if how == "sparse" else None,
    )
    held = {}
    if stopping == "eval_set":
        after = given if other is frame else other.drop(columns="y")
        held = {
            "eval_set": cat.Pool(after, other["y"], cat_features=[category] if category else None),
            "early_stopping_rounds": 2,
        }
    wrapped = d.maybe(0.3)
    name = ("CatBoostClassifier" if classes else "CatBoostRegressor") if wrapped else "CatBoost"
    model = getattr(cat, name)(**params) if wrapped else cat.CatBoost(params)
    model.fit(pool, **held)
    more = d.maybe(0.1) and not category and not stopping and how == "dense"
    if more:
        again = cat.CatBoost({**params, "iterations": 2, "boosting_type": "Plain"})
        model = again.fit(other.drop(columns="y"), other["y"], init_model=model)
    summed = not more and d.maybe(0.1) and not category and not stopping and how == "dense" and not wrapped
    if summed:
        second = cat.CatBoost({**params, "random_seed": d.seed + 1}).fit(other.drop(columns="y"), other["y"])
        model = cat.sum_models([model, second], d.one(None, [0.5, 0.5], [1, 2]))
    model.save_model(str(folder / "model.cbm"))
    if not category:
        model.save_model(str(folder / "model.json"), format="json")
    else:
        model.save_model(str(folder / "model.json"), format="json", pool=pool)
    (folder / "model.pkl").write_bytes(pickle.dumps(model))
    frame.to_csv(folder / "rows.csv", index=False)
    kinds = kinds_of(
        weights=kind != "none",
        subsample=params["bootstrap_type"] != "No",
        colsample=params["rsm"] < 1,
        early_stopping=stopping,
        missing=missing,
        categorical=category,
        sparse=how == "sparse",
        class_weights={"class_weights", "auto_class_weights"} & set(params),
        base_score="boost_from_average" in params,
        continued=more,
        summed=summed,
        multi_class=classes > 2,
    )
    broken = broken_by(weight, "class weights" in kinds, (more or summed) and other is not frame, again=more or summed)
    keep_other(folder, other, frame, more or summed)
    return {
        **params,
        **weights_of(weight, frame["y"], classes),
        "weights": kind,
        "stopping": stopping,
        "how": how,
        "kinds": kinds,
        "broken": broken,
    }


def sklearn(d: Drawn, folder: Path) -> dict:
    import joblib
    import skops.io
    from sklearn import ensemble, tree

    classes = d.one(2, 2, 3, 0)
    kind, weight = d.weights(400)
    model = d.one("tree", "tree", "forest", "extra", "bagging", "boosting", "boosting", "ada")
    missing = model in ("tree", "forest", "extra") and d.maybe(0.4)
    frame = d.data(classes, missing)
    x, y = frame.drop(columns="y"), frame["y"]
    weight = None if weight is None else weight[: len(frame)]
    if weight is not None and (not weight.any() or (classes and len(set(y[weight > 0])) < classes)):
        kind, weight = "none", None
    shape = {"max_depth": d.one(None, 2, 4), "min_samples_leaf": d.one(1, 5), "random_state": d.seed}
    shape["max_features"] = d.one(None, None, "sqrt", 0.6)
    if classes and d.maybe(0.2) and model != "boosting":
        shape["class_weight"] = d.one("balanced", {0: 2, 1: 3, 2: 1} if classes == 3 else {0: 2, 1: 3})
    stopping = more = others = False
    if model == "tree":
        made = (tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor)(**shape)
    elif model in ("forest", "extra"):
        name = {"forest": "RandomForest", "extra": "ExtraTrees"}[model] + ("Classifier" if classes else "Regressor")
        more = d.maybe(0.15) and shape.get("class_weight") != "balanced"
        shape |= {"bootstrap": d.maybe(0.7), "warm_start": more}
        if shape["bootstrap"] and d.maybe(0.3):
            shape["max_samples"] = 0.6
        made = getattr(ensemble, name)(n_estimators=5, **shape)
    elif model == "bagging":
        base = (tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor)(**shape)
        name = "BaggingClassifier" if classes else "BaggingRegressor"
        shape = {"max_samples": d.one(1.0, 0.6), "bootstrap": d.maybe(0.7), "random_state": d.seed, **shape}
        own = {k: shape[k] for k in ("max_samples", "bootstrap", "random_state")}
        made = getattr(ensemble, name)(base, n_estimators=4, **own)
    elif model == "ada" and classes:
        base = tree.DecisionTreeClassifier(**{**shape, "max_depth": 2})
        made = ensemble.AdaBoostClassifier(base, n_estimators=4, random_state=d.seed)
    else:
        model, shape = "boosting", {k: v for k, v in shape.items() if k != "class_weight"}
        stopping, more = d.maybe(0.25), d.maybe(0.15)
        shape |= {"subsample": d.one(1.0, 1.0, 0.6), "warm_start": more, "n_iter_no_change": 2 if stopping else None}
        made = (ensemble.GradientBoostingClassifier if classes else ensemble.GradientBoostingRegressor)(
            n_estimators=d.one(1, 5, 20), **shape
        )
    how = "sparse" if not missing and d.maybe(0.15) else "dense"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = sparse(x) if how == "sparse" else x
        made.fit(given, y, **({} if weight is None else {"sample_weight": weight}))
        if more:
            other = frame if d.maybe(0.5) else d.other(frame, classes)
            other = frame if classes and set(other["y"]) != set(y) else other
            others = other is not frame
            made.n_estimators += 3
            made.fit(sparse(other.drop(columns="y")) if how == "sparse" else other.drop(columns="y"), other["y"])
            keep_other(folder, other, frame, True)
    joblib.dump(made, folder / "model.joblib")
    (folder / "model.pkl").write_bytes(pickle.dumps(made))
    skops.io.dump(made, folder / "model.skops")
    if model == "tree" and classes:
        text = tree.export_text(made, feature_names=list(x.columns), show_weights=True, decimals=10, max_depth=50)
        (folder / "tree.txt").write_text(text, encoding="utf-8")
        dot = tree.export_graphviz(
            made, feature_names=list(x.columns), class_names=[str(c) for c in made.classes_], precision=10
        )
        (folder / "tree.dot").write_text(dot, encoding="utf-8")
    frame.to_csv(folder / "rows.csv", index=False)
    drawn = shape.get("bootstrap") or shape.get("max_samples", 1.0) != 1.0 or shape.get("subsample", 1.0) < 1
    kinds = kinds_of(
        weights=kind != "none",
        subsample=drawn,
        colsample=shape["max_features"],
        early_stopping=stopping,
        missing=missing,
        sparse=how == "sparse",
        class_weights=shape.get("class_weight"),
        continued=more,
        multi_class=classes > 2,
    )
    return {
        "model": model,
        "weights": kind,
        "classes": classes,
        "how": how,
        **{k: str(v) for k, v in shape.items()},
        "kinds": kinds,
        **weights_of(weight, frame["y"], classes, shape.get("class_weight")),
        "broken": broken_by(weight, shape.get("class_weight"), others, again=more),
    }


def hist(d: Drawn, folder: Path) -> dict:
    import joblib
    import skops.io
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    classes = d.one(2, 2, 3, 0)
    missing = d.maybe(0.35)
    frame = d.data(classes, missing)
    category = d.codes(frame)
    x, y = frame.drop(columns="y"), frame["y"]
    kind, weight = d.weights(len(frame))
    stopping, more = d.maybe(0.25), d.maybe(0.1)
    shape = {
        "max_iter": d.one(1, 3, 20),
        "min_samples_leaf": d.one(1, 5, 20),
        "learning_rate": d.one(0.1, 0.3),
        "l2_regularization": d.one(0, 0, 1.0),
        "max_features": d.one(1.0, 1.0, 0.6),
        "max_bins": d.one(255, 255, 4),
        "random_state": d.seed,
        "early_stopping": stopping,
        "warm_start": more,
        "categorical_features": [category] if category else None,
    }
    if stopping:
        shape |= {"validation_fraction": d.one(0.1, 0.3, None), "n_iter_no_change": d.one(2, 10)}
    if classes and d.maybe(0.1):
        shape["class_weight"] = "balanced"
    if not classes:
        shape["loss"] = d.one("squared_error", "absolute_error", "quantile")
        shape |= {"quantile": 0.4} if shape["loss"] == "quantile" else {}
    how = d.one("name", "dtype", "text") if category else ""
    if how in ("dtype", "text"):  # told by pandas' dtype, or texts told by the column's name
        frame[category] = frame[category].map("k{:.0f}".format)
        x = frame.drop(columns="y")
        x = x.assign(**{category: x[category].astype("category")}) if how == "dtype" else x
        shape["categorical_features"] = "from_dtype" if how == "dtype" else [category]
    made = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(**shape)
    made.fit(x, y, sample_weight=weight)
    others = False
    if more:
        other = d.other(frame, classes)
        other = frame if category or (classes and set(other["y"]) != set(y)) else other
        others = other is not frame
        made.max_iter += 2
        made.fit(x if other is frame else other.drop(columns="y"), other["y"])
    joblib.dump(made, folder / "model.joblib")
    (folder / "model.pkl").write_bytes(pickle.dumps(made))
    skops.io.dump(made, folder / "model.skops")
    frame.to_csv(folder / "rows.csv", index=False)
    kinds = kinds_of(
        weights=kind != "none",
        colsample=shape["max_features"] < 1,
        early_stopping=stopping,
        missing=missing,
        categorical=category,
        class_weights="class_weight" in shape,
        continued=more,
        multi_class=classes > 2,
    )
    broken = broken_by(weight, "class_weight" in shape, others, again=more)
    told = weights_of(weight, frame["y"], classes)
    return {"weights": kind, "classes": classes, **told, **shape, "kinds": kinds, "broken": broken}


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
