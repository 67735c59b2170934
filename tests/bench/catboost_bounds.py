"""Thousands of small CatBoost models over settings: are the rows they were fitted on inside every figure's interval?

Usage: python tests/bench/catboost_bounds.py [MODELS] [SEED]. Prints what was read, the largest used part of an interval
(at most 1), and ends with status 1 where the truth was outside. Needs catboost; synthetic rows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import catboost
import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from bounded import compared


def settings(random: np.random.Generator) -> dict[str, Any]:
    """Return random settings that leave leaf values what they are."""
    out: dict[str, Any] = {
        "iterations": int(random.choice([1, 3, 10, 40, 150], p=[0.1, 0.3, 0.4, 0.15, 0.05])),
        "depth": int(random.integers(1, 8)),
        "random_seed": int(random.integers(1 << 30)),
        "thread_count": int(random.choice([1, 2])),
    }
    if random.random() < 0.6:
        out["learning_rate"] = float(random.choice([0.001, 0.03, 0.1, 0.3, 0.5, 1.0]))
    if random.random() < 0.5:
        out["l2_leaf_reg"] = float(random.choice([0.0, 1e-3, 0.5, 1.0, 3.7, 10.0, 300.0]))
    if random.random() < 0.5:
        out["bootstrap_type"] = str(random.choice(["Bayesian", "Bernoulli", "MVS", "No"]))
        if out["bootstrap_type"] in {"Bernoulli", "MVS"}:
            out["subsample"] = float(random.choice([0.3, 0.8]))
    if random.random() < 0.3:
        out["boosting_type"] = str(random.choice(["Ordered", "Plain"]))
    if random.random() < 0.3:
        out["boost_from_average"] = True
    if random.random() < 0.3:
        out["random_strength"] = float(random.choice([0, 1, 10]))
    if random.random() < 0.2:
        out["rsm"] = 0.6
    if random.random() < 0.2:
        out["leaf_estimation_method"] = str(random.choice(["Newton", "Gradient"]))
    if random.random() < 0.15:
        out["leaf_estimation_iterations"] = int(random.choice([1, 2, 5]))
    if random.random() < 0.25 and out.get("boosting_type") != "Ordered":
        out["grow_policy"] = str(random.choice(["Depthwise", "Lossguide"]))
    if random.random() < 0.2:
        out["approx_on_full_history"] = True
        out["boosting_type"] = "Ordered"
        out.pop("grow_policy", None)
    return out


def made(random: np.random.Generator, frame: pd.DataFrame, folder: Path, k: int) -> tuple[Path, object] | str:
    """Return the file of a fitted model and its settings, or why it was not fitted."""
    chosen = settings(random)
    model = catboost.CatBoostClassifier(logging_level="Silent", allow_writing_files=False, **chosen)
    try:
        model.fit(frame.iloc[:, :-1], frame.iloc[:, -1])
    except catboost.CatBoostError as error:
        return str(error)
    ending = ["json", "cbm"][k % 2]
    path = folder / f"model.{ending}"
    model.save_model(str(path), format=ending)
    return path, chosen


if __name__ == "__main__":
    sys.exit(compared(made))
