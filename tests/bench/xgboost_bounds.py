"""Thousands of small XGBoost models over settings: are the rows they were fitted on inside every figure's interval?

Usage: python tests/bench/xgboost_bounds.py [MODELS] [SEED]. Prints what was read, the largest used part of an interval
(at most 1), and ends with status 1 where the truth was outside. Needs xgboost; synthetic rows.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import xgboost

sys.path.insert(0, str(Path(__file__).parents[1]))
from boosted_cases import true_points
from bounded import Worst, synthetic

import recon


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


def main(models: int, seed: int) -> int:
    """Fit and compare; return the status."""
    random, worst, read = np.random.default_rng(seed), Worst(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for k in range(models):
            frame, domain = synthetic(random, gaps=k % 5 == 0)
            x, y = frame.iloc[:, :-1], frame.iloc[:, -1]
            chosen = settings(random)
            model = xgboost.XGBClassifier(**chosen).fit(x, y)
            path = Path(folder) / f"model.{['json', 'ubj'][k % 2]}"
            model.save_model(path)
            try:
                release = recon.load(path, domain=domain)
            except recon.ReconError as error:
                read[f"{str(error)[:90]}"] += 1
                continue
            if not release.statements.boosted:
                read["counts: " + "; ".join(release.reader_notes)[-90:]] += 1
                continue
            read["leaf values"] += 1
            worst.add(*true_points(release, frame), (k, len(frame), chosen))
    for what, n in read.most_common():
        print(f"{n:6} {what}")
    return worst.report()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
