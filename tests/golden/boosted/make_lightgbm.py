"""Writes the LightGBM models of tests/test_boosted_lightgbm.py: `python make_lightgbm.py`, with lightgbm 4.7.0.

500 synthetic rows of binned data, no real person is in it; label "no" or "yes" (or "low", "mid", "high").
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd

HERE = Path(__file__).parent / f"lightgbm-{lightgbm.__version__}"


def rows() -> pd.DataFrame:
    """Return the training rows; the last two columns are labels."""
    rng = np.random.default_rng(15)
    n = 500
    frame = pd.DataFrame(
        {
            "male": rng.integers(0, 2, n),
            "age": rng.choice(4, n, p=[0.1, 0.3, 0.4, 0.2]),
            "priors": rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]),
            "felony": (rng.random(n) < 0.6).astype(int),
            "juvenile": (rng.random(n) < 0.1).astype(int),
        }
    )
    risk = 0.5 * frame.priors - 0.6 * frame.age + 0.4 * frame.male + 0.8 * frame.juvenile + rng.logistic(size=n)
    yes = np.where(risk > 0.4, "yes", "no")
    return frame.assign(again=yes, level=np.select([risk < -0.5, risk < 1], ["low", "mid"], "high"))


def main() -> None:
    """Write all files."""
    HERE.mkdir(parents=True, exist_ok=True)
    frame = rows()
    frame.to_csv(HERE / "rows.csv", index=False)
    x, y = frame.drop(columns=["again", "level"]), frame["again"]
    how: dict = {"verbose": -1, "n_jobs": 1}

    def model(**more: object) -> lightgbm.LGBMClassifier:
        """Return a fitted model of two classes."""
        return lightgbm.LGBMClassifier(**how, **more).fit(x, y)

    defaults = model(n_estimators=45)
    (HERE / "defaults.txt").write_text(defaults.booster_.model_to_string(), encoding="utf-8")
    (HERE / "few.pkl").write_bytes(pickle.dumps(model(n_estimators=5, num_leaves=7)))
    ridge = model(n_estimators=4, num_leaves=7, reg_lambda=1.2345678, learning_rate=0.1234567)
    (HERE / "ridge.txt").write_text(ridge.booster_.model_to_string(), encoding="utf-8")
    (HERE / "ridge.json").write_text(json.dumps(ridge.booster_.dump_model()), encoding="utf-8")
    goss = model(n_estimators=8, num_leaves=7, learning_rate=0.25, data_sample_strategy="goss")
    (HERE / "goss.txt").write_text(goss.booster_.model_to_string(), encoding="utf-8")
    classes = lightgbm.LGBMClassifier(n_estimators=8, num_leaves=7, **how).fit(x, frame["level"])
    (HERE / "classes.txt").write_text(classes.booster_.model_to_string(), encoding="utf-8")
    listed = lightgbm.LGBMClassifier(
        n_estimators=6, num_leaves=6, cat_smooth=1, min_data_per_group=5, max_cat_to_onehot=4, **how
    ).fit(x, y, categorical_feature=["age", "priors"])
    (HERE / "categories.txt").write_text(listed.booster_.model_to_string(), encoding="utf-8")
    weights = np.random.default_rng(0).integers(1, 3, len(x))
    heavier = lightgbm.LGBMClassifier(n_estimators=10, num_leaves=7, **how).fit(x, y, sample_weight=weights)
    (HERE / "weights.txt").write_text(heavier.booster_.model_to_string(), encoding="utf-8")
    again = lightgbm.LGBMClassifier(n_estimators=3, num_leaves=7, learning_rate=0.05, **how)
    again.fit(x, y, init_model=model(n_estimators=4, num_leaves=7).booster_)
    (HERE / "continued.txt").write_text(again.booster_.model_to_string(), encoding="utf-8")


if __name__ == "__main__":
    main()
