"""Fits thousands of small LightGBM models over all options and checks that the truth is inside every figure.

Usage: python tests/bench/lightgbm_bounds.py [MODELS] [SEED] (default 1000 0). Prints per kind of option how many models
have figures, the worst used part of an interval (at most 1 where the truth is inside; with weights far
beyond), and why the others have none. Ends with status 1 where the truth is outside. Needs lightgbm.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter, defaultdict
from typing import Any

import lightgbm
import numpy as np
from leaf_values import rounded_text
from numpy.typing import NDArray

from encoders.kinds.boosting import _boosted_tree
from encoders.models.models import Boosting
from recon.readers.formats.boosters.lightgbm.file import LightGBMFile, json_booster, text_booster
from recon.readers.formats.boosters.lightgbm.model import LightGBMFeatures, _grow, read_lightgbm, read_lightgbm_text
from solvers.leaf_values.combining import interval_use
from solvers.statements.gradients.boosted import Boosted

PLAIN = ("plain", "rate", "ridge", "sigmoid", "no average", "threads", "columns", "missing", "categories", "extra")
PLAIN += ("goss", "classes", "rounded", "large", "strong", "continued", "schedule", "json", "deep", "zero as missing")
PLAIN += ("pool", "rows", "stopped", "forced rows", "constraints")
ODD = ("weights", "bagging", "unbalance", "init score", "refit", "scaled", "dart", "l1", "quantized", "path", "delta")
ODD += ("monotone", "random forest", "ova", "regression")


def data(rng: np.random.Generator, n: int, kind: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return features and labels."""
    columns = int(rng.integers(2, 9))
    x = rng.integers(0, int(rng.integers(2, 40)), (n, columns)).astype(float)
    if rng.random() < 0.4:
        x[:, 0] = rng.normal(size=n)
    if rng.random() < 0.3:
        x = np.where(rng.random(x.shape) < rng.uniform(0, 0.9), 0.0, x)  # sparse: bins that are left out
    strength = 8.0 if kind == "strong" else 2.0
    z = strength * (x - x.mean(0)) @ rng.normal(size=columns) / (1e-9 + x.std(0).sum()) + rng.normal() * 1.5
    if kind in ("classes", "ova"):
        k = int(rng.integers(3, 6))
        cuts = np.quantile(z + rng.logistic(size=n) * 0.5, np.sort(rng.random(k - 1)))
        y = np.searchsorted(cuts, z + rng.logistic(size=n) * 0.5).astype(np.int64)
        y[:k] = np.arange(k)
    else:
        y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(np.int64)
        y[:2] = 0, 1
    if kind == "missing":
        x[rng.random(x.shape) < 0.1] = np.nan
    if kind == "categories":
        x[:, -1] = rng.integers(0, int(rng.integers(2, 12)), n)
    return x, y


def options(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """Return parameters of a kind of model, other choices at random."""
    out: dict[str, Any] = {"verbose": -1, "num_threads": 1, "objective": "binary", "seed": int(rng.integers(1 << 20))}
    out |= {"num_leaves": int(rng.integers(2, 40)), "min_data_in_leaf": int(rng.choice([1, 5, 20]))}
    out |= {"learning_rate": float(rng.choice([0.1, 0.05, 0.3, 1.0])), "max_bin": int(rng.choice([255, 15, 1000]))}
    more: dict[str, dict[str, Any]] = {
        "rate": {"learning_rate": float(rng.choice([round(rng.random(), 7), rng.random(), 0.7, 2e-3]))},
        "ridge": {"lambda_l2": float(rng.choice([1.0, rng.random() * 10, 0.5, 100]))},
        "sigmoid": {"sigmoid": float(rng.choice([0.5, 2.0, round(rng.random() + 0.1, 3)]))},
        "no average": {"boost_from_average": False},
        "threads": {"num_threads": 4},
        "columns": {"feature_fraction": 0.5, "feature_fraction_bynode": 0.7},
        "extra": {"extra_trees": True, "min_gain_to_split": 0.1},
        "goss": {"data_sample_strategy": "goss", "learning_rate": 0.3},
        "classes": {"objective": "multiclass"},
        "deep": {"num_leaves": 200, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1e-9},
        "zero as missing": {"zero_as_missing": True},
        "pool": {"histogram_pool_size": 0.01},
        "rows": {"force_row_wise": True, "num_threads": 4},
        "forced rows": {"force_col_wise": True, "enable_bundle": False},
        "categories": {"max_cat_to_onehot": int(rng.choice([1, 4, 10])), "min_data_per_group": 5, "cat_smooth": 1.0},
        "constraints": {"interaction_constraints": [[0], [1]]},
        "bagging": {"bagging_fraction": 0.7, "bagging_freq": 1},
        "unbalance": {"is_unbalance": True},
        "scaled": {"scale_pos_weight": 2.0},
        "dart": {"boosting": "dart", "drop_rate": 0.5},
        "l1": {"lambda_l1": 0.5},
        "quantized": {"use_quantized_grad": True},
        "path": {"path_smooth": 1.0},
        "delta": {"max_delta_step": 0.3},
        "random forest": {"boosting": "rf", "bagging_fraction": 0.7, "bagging_freq": 1},
        "ova": {"objective": "multiclassova"},
        "regression": {"objective": "regression"},
    }
    out |= more.get(kind, {})
    if kind == "categories" and rng.random() < 0.5:
        out |= {"lambda_l2": 0.5, "cat_l2": float(rng.choice([0.0, 3.0, 10.0]))}
    return out


def trained(rng: np.random.Generator, kind: str) -> tuple[lightgbm.Booster, NDArray[np.float64], NDArray[np.int64]]:
    """Return a model of a kind with its training rows."""
    n = int(rng.choice([30, 100, 400, 1500])) if kind != "large" else 20_000
    x, y = data(rng, n, kind)
    how, rounds = options(rng, kind), int(rng.choice([3, 10, 40]))
    if kind in ("classes", "ova"):
        how["num_class"] = int(y.max()) + 1
    if kind == "monotone":
        how["monotone_constraints"] = [1] * x.shape[1]
    if kind == "strong":
        rounds, how["learning_rate"] = 200, 0.3
    more: dict[str, Any] = {"categorical_feature": [x.shape[1] - 1]} if kind == "categories" else {}
    if kind == "weights":
        more["weight"] = rng.integers(1, 3, n)
    if kind == "init score":
        more["init_score"] = rng.normal(size=n)
    held = lightgbm.Dataset(x, y, params={"verbose": -1}, free_raw_data=False, **more)
    after: list[Any] = []
    if kind == "schedule":
        after = [lightgbm.reset_parameter(learning_rate=lambda t: 0.2 * 0.99**t)]
    model = lightgbm.train(how, held, rounds, callbacks=after)
    if kind == "continued":
        again = lightgbm.Dataset(x, y, params={"verbose": -1}, free_raw_data=False)
        model = lightgbm.train(how | {"learning_rate": 0.05}, again, rounds, init_model=model)
    if kind == "refit":
        model = model.refit(x, y)
    return model, x, y


def places(booster: LightGBMFile) -> list[list[int]]:
    """Return, per tree with a split, the number in the file of every leaf in the order of the published tree."""
    columns = LightGBMFeatures.of(booster)
    grown = [_grow(tree, columns) for tree in booster.trees if tree.feature]
    return [[g.children[i][0] for i in g.leaves] for g in grown]


def worst(model: Boosting, booster: LightGBMFile, leaf: NDArray[np.int64], y: NDArray[np.int64]) -> float:
    """Return the largest used part of an interval for the true rows; `leaf` (rows, trees): leaves as in the file."""
    trees = tuple(_boosted_tree(t, s, i) for i, (t, s) in enumerate(zip(model.trees, model.sums, strict=True)))
    boosted = Boosted(model.name, model.gradients, model.start, model.base, model.labels, trees)
    split = [t for t, tree in enumerate(booster.trees) if tree.feature and sum(tree.count) == len(y)]
    orders = [
        o
        for o, t in zip(places(booster), (t for t in booster.trees if t.feature), strict=True)
        if sum(t.count) == len(y)
    ]
    inverse = [np.argsort(order) for order in orders]
    leaves = np.stack([inv[leaf[:, t]] for inv, t in zip(inverse, split, strict=True)], axis=1).astype(np.int64)
    points, at = np.unique(leaves, axis=0, return_inverse=True)
    times = np.zeros((len(points), len(model.labels)), dtype=np.int64)
    np.add.at(times, (at.reshape(-1), y), 1)
    return max((float(part.max()) for part in interval_use(boosted, points, times) if len(part)), default=0.0)


def checked(rng: np.random.Generator, kind: str) -> tuple[str, float, float]:
    """Return "" or why nothing is used, the worst used part, the share of figures of no width."""
    booster, x, y = trained(rng, kind)
    text = booster.model_to_string()
    if kind == "rounded":
        text = rounded_text(text, int(rng.integers(3, 10)))
    if kind == "json":
        dumped = json.loads(json.dumps(booster.dump_model()))
        draft, parsed = read_lightgbm(dumped), json_booster(dumped)
    else:
        draft, parsed = read_lightgbm_text(text), text_booster(text)
    model = draft.models[0]
    if not isinstance(model, Boosting):
        return "; ".join(draft.reader_notes) or type(model).__name__, 0.0, 0.0
    leaf = booster.predict(x, pred_leaf=True).reshape(len(x), -1)
    if kind == "json":
        text_trees = text_booster(text)
        renumbered(parsed, text_trees, leaf)
    width = np.concatenate([s.high - s.low for s in model.sums])
    return "", worst(model, parsed, leaf, y), float((width == 0).mean())


def renumbered(parsed: LightGBMFile, stored: LightGBMFile, leaf: NDArray[np.int64]) -> None:
    """Turn leaves as in the text form into those of the JSON form, which counts them depth first."""
    for t, (tree, other) in enumerate(zip(parsed.trees, stored.trees, strict=True)):
        order: list[int] = []
        todo = [0] if other.feature else []
        while todo:
            node = todo.pop()
            if node < 0:
                order.append(-1 - node)
            else:
                todo += [other.right[node], other.left[node]]
        if order:
            assert len(tree.value) == len(order)
            inverse = np.argsort(order)
            leaf[:, t] = inverse[leaf[:, t]]


def main() -> None:
    """Fit models of every kind in turn and print what was found."""
    warnings.filterwarnings("ignore")
    many = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds = PLAIN + ODD
    parts: dict[str, list[tuple[float, float]]] = defaultdict(list)
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    outside = 0
    for i in range(many):
        kind = kinds[i % len(kinds)]
        try:
            why, part, exact = checked(np.random.default_rng([seed, i]), kind)
        except Exception as error:  # a model without splits, or a fault to look at
            why, part, exact = f"{type(error).__name__}: {error}"[:90], 0.0, 0.0
        if why:
            reasons[kind][why] += 1
            continue
        parts[kind].append((part, exact))
        if kind in PLAIN and part > 1:
            outside += 1
            print(f"OUTSIDE: {kind}, model {i}, used {part:.3g}", flush=True)
    for kind in kinds:
        found = parts[kind]
        line = f"{len(found)} with figures" if found else "none with figures"
        if found:
            used_, exact_ = np.array(found).T
            line += f", used {used_.min():.2g} to {used_.max():.3g}, {exact_.mean():.0%} of figures exact"
        print(f"{kind:16}{line}; {dict(reasons[kind])}")
    sys.exit(1 if outside else 0)


if __name__ == "__main__":
    main()
