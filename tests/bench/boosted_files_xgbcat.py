"""Writes XGBoost and CatBoost models of COMPAS14 at library defaults, T trees, into a folder; not part of the tests.

Usage: python tests/bench/boosted_files_xgbcat.py [FOLDER] (default /tmp/boosted): {xgb,cat}_nN_tT.json, and
data_nN.csv, the rows they were fitted on. Needs xgboost and catboost.
"""

from __future__ import annotations

import sys
from pathlib import Path

import catboost
import xgboost

sys.path.insert(0, str(Path(__file__).parents[1]))
from boosted_cases import compas14, features_and_label

SIZES = (7206, 2000, 500, 100)


def main() -> None:
    """Write all files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp/boosted")
    folder.mkdir(parents=True, exist_ok=True)
    for n in SIZES:
        frame, _ = compas14(n)
        frame.to_csv(folder / f"data_n{n}.csv", index=False)
        x, y = features_and_label(frame)
        for trees in (100, 10):
            light = catboost.CatBoostClassifier(iterations=trees, verbose=0, allow_writing_files=False, thread_count=2)
            light.fit(x, y)
            light.save_model(str(folder / f"cat_n{n}_t{trees}.json"), format="json")
            light.save_model(str(folder / f"cat_n{n}_t{trees}.cbm"))
            # XGBoost refuses the brackets and signs of the columns' names: they go by number
            plain = xgboost.XGBClassifier(n_estimators=trees)
            plain.fit(x.to_numpy(), y.to_numpy())
            plain.get_booster().feature_names = [str(c).replace("<", "lt") for c in x.columns]
            plain.save_model(folder / f"xgb_n{n}_t{trees}.json")
            print(folder, n, trees, flush=True)


if __name__ == "__main__":
    main()
