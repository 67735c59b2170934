"""Writes the XGBoost and CatBoost models of this folder and the rows they were fitted on (synthetic, seed 0).

Usage: python tests/golden/boosted/make_xgbcat.py. Needs xgboost 3.2.0 and catboost 1.2.10.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import catboost
import numpy as np
import pandas as pd
import xgboost

HERE = Path(__file__).parent


def rows(n: int = 160) -> pd.DataFrame:
    """Return bits and a small number with a label that depends on them, last."""
    random = np.random.default_rng(0)
    x = random.integers(0, 2, (n, 5))
    age = random.integers(0, 6, n)
    score = x @ np.array([1.5, -1.0, 0.7, 0.2, 0.0]) + 0.4 * age - 1.5
    y = (random.random(n) < 1 / (1 + np.exp(-score))).astype(int)
    return pd.DataFrame(x, columns=list("abcde")).assign(age=age, y=y)


def main() -> None:
    """Write all files."""
    frame = rows()
    frame.to_csv(HERE / "xgbcat.csv", index=False)
    x, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    two = np.where(np.arange(len(frame)) % 3 == 0, 2.0, 1.0)
    boosted: dict[str, tuple[dict[str, Any], Any]] = {
        "honest": ({}, None), "shrunk": ({"learning_rate": 0.1, "reg_lambda": 2.5, "base_score": 0.5}, None),
        "dart": ({"booster": "dart", "rate_drop": 0.5}, None), "alpha": ({"reg_alpha": 0.9}, None),
        "odd": ({"learning_rate": 0.123456, "reg_lambda": 1.2345}, None), "forest": ({"num_parallel_tree": 2}, None),
        "clipped": ({"max_delta_step": 0.2}, None), "weights": ({}, two), "drawn": ({"subsample": 0.6}, None),
        "long": ({"n_estimators": 50}, None),
    }  # fmt: skip
    for name, (how, weights) in boosted.items():
        model = xgboost.XGBClassifier(**{"n_estimators": 8, "max_depth": 3, "n_jobs": 1, **how})
        model.fit(x, y, sample_weight=weights)
        ending = "ubj" if name in {"shrunk", "long"} else "json"
        model.save_model(HERE / f"xgb_{name}.{ending}")
    ordered = {"boosting_type": "Ordered", "bootstrap_type": "Bayesian", "boost_from_average": True}
    light: dict[str, tuple[dict[str, Any], Any]] = {
        "honest": ({}, None), "gradient": ({"leaf_estimation_method": "Gradient"}, None), "ordered": (ordered, None),
        "lossguide": ({"grow_policy": "Lossguide"}, None), "several": ({"leaf_estimation_iterations": 3}, None),
        "monotone": ({"monotone_constraints": {"a": 1}}, None), "langevin": ({"langevin": True}, None),
        "weights": ({}, two), "long": ({"iterations": 60, "depth": 5}, None),
    }  # fmt: skip
    for name, (how, weights) in light.items():
        made = {
            "iterations": 8,
            "depth": 3,
            "learning_rate": 0.3,
            "allow_writing_files": False,
            "thread_count": 1,
            **how,
        }
        cat = catboost.CatBoostClassifier(logging_level="Silent", **made).fit(x, y, sample_weight=weights)
        ending = "json" if name in {"honest", "weights", "lossguide"} else "cbm"
        cat.save_model(str(HERE / f"cat_{name}.{ending}"), format=ending)


if __name__ == "__main__":
    main()
