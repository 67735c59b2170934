"""Thousands of small XGBoost models over settings: are the rows they were fitted on inside every figure's interval?

Usage: python tests/bench/xgboost_bounds.py [MODELS] [SEED]. Prints what was read, the largest used part of an interval
(at most 1), and ends with status 1 where the truth was outside. Needs xgboost; synthetic rows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xgboost

sys.path.insert(0, str(Path(__file__).parents[1]))
from bounded import compared


def settings(random: np.random.Generator) -> dict[str, Any]:
    """Return random settings that leave figures what they are (and some that are refused by name)."""
    out: dict[str, Any] = {
        "n_estimators": int(random.choice([1, 3, 10, 40, 150], p=[0.1, 0.3, 0.4, 0.15, 0.05])),
        "max_depth": int(random.integers(1, 9)),
        "n_jobs": int(random.choice([1, 2])),
    }
    if random.random() < 0.6:
        out["learning_rate"] = float(random.choice([0.01, 0.03, 0.1, 0.25, 0.5, 1.0]))
    if random.random() < 0.5:
        out["reg_lambda"] = float(random.choice([0.0, 1e-3, 0.5, 1.0, 2.0, 10.0, 300.0]))
    if random.random() < 0.3:
        out["tree_method"] = str(random.choice(["hist", "approx", "exact"]))
    if random.random() < 0.3 and out.get("tree_method") != "exact":
        out |= {"grow_policy": "lossguide", "max_leaves": int(random.integers(2, 40))}
    if random.random() < 0.3:
        out["base_score"] = float(random.choice([0.5, 0.3, 0.01, 0.77]))
    if random.random() < 0.3:
        out["gamma"] = float(random.choice([0.1, 1, 5]))
    if random.random() < 0.3:
        out["min_child_weight"] = float(random.choice([0, 0.01, 5]))
    for name in ("colsample_bytree", "colsample_bylevel", "colsample_bynode"):
        if random.random() < 0.15 and (name, out.get("tree_method")) != ("colsample_bynode", "exact"):
            out[name] = 0.6
    if random.random() < 0.1:
        out["max_bin"] = 4
    return out


def made(random: np.random.Generator, frame: pd.DataFrame, folder: Path, k: int) -> tuple[Path, object]:
    """Return the file of a fitted model and its settings."""
    chosen = settings(random)
    model = xgboost.XGBClassifier(**chosen).fit(frame.iloc[:, :-1], frame.iloc[:, -1])
    path = folder / f"model.{['json', 'ubj'][k % 2]}"
    model.save_model(path)
    return path, chosen


if __name__ == "__main__":
    sys.exit(compared(made, gaps=True))
