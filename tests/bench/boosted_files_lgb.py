"""Writes LightGBM models at library defaults into a folder, for other benches; not part of the tests.

Usage: python tests/bench/boosted_files_lgb.py [FOLDER] (default /tmp/boosted): lgb_nN_tT.txt and .json of COMPAS14 with
data_nN.csv, the rows they were fitted on, lgb_nN_t100_kD.txt with leaf values and weights rounded to D decimals, and
lgb_adult19_t200.txt (48,842 rows). Needs lightgbm.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import lightgbm
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
from boosted_cases import DATA, compas14, features_and_label

SIZES = (7206, 2000, 500, 100)
ROUNDED = (8, 6, 5, 4)


def fitted(frame: pd.DataFrame, trees: int) -> lightgbm.Booster:
    """Return a model of the last column; LightGBM refuses colons in names."""
    x, y = features_and_label(frame)
    x = x.rename(columns=lambda name: str(name).replace(":", "_"))
    return lightgbm.LGBMClassifier(n_estimators=trees, n_jobs=1, verbose=-1).fit(x, y).booster_


def rounded(text: str, decimals: int) -> str:
    """Return a model file with leaf values and weights rounded."""

    def line(found: re.Match[str]) -> str:
        numbers = (f"{float(x):.{decimals}f}" for x in found[2].split())
        return f"{found[1]}={' '.join(numbers)}"

    return re.sub(r"^(leaf_value|leaf_weight)=(.*)$", line, text, flags=re.MULTILINE)


def main() -> None:
    """Write all files."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/tmp/boosted")
    folder.mkdir(parents=True, exist_ok=True)
    for n in SIZES:
        frame, _ = compas14(n)
        frame.to_csv(folder / f"data_n{n}.csv", index=False)
        for trees in (100, 10):
            booster = fitted(frame, trees)
            text = booster.model_to_string()
            (folder / f"lgb_n{n}_t{trees}.txt").write_text(text, encoding="utf-8")
            (folder / f"lgb_n{n}_t{trees}.json").write_text(json.dumps(booster.dump_model()), encoding="utf-8")
            for decimals in ROUNDED if trees == 100 else ():
                (folder / f"lgb_n{n}_t{trees}_k{decimals}.txt").write_text(rounded(text, decimals), encoding="utf-8")
        print(folder, n, flush=True)
    adult = pd.read_csv(DATA / "adult19.csv.gz")
    (folder / "lgb_adult19_t200.txt").write_text(fitted(adult, 200).model_to_string(), encoding="utf-8")


if __name__ == "__main__":
    main()
