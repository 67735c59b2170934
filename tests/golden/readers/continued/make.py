"""Continued and summed models with the rows of their trainings (lightgbm 4.7.0, xgboost 3.2.0, catboost 1.2.10)."""

import json
from pathlib import Path

import catboost as cat
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb

CATBOOST = {"loss_function": "Logloss", "iterations": 2, "depth": 2, "verbose": 0, "thread_count": 1, "random_seed": 1,
            "allow_writing_files": False, "learning_rate": 0.5}  # fmt: skip


def data(n, seed):
    r = np.random.default_rng(seed)
    x = r.integers(0, 6, (n, 2)).astype(float)
    t = np.round(x @ np.array([1, -1.0]) + r.normal(size=n), 1)
    return pd.DataFrame(x, columns=["a", "b"]), (t > 0.5).astype(int), t


parts = {"first": data(80, 1), "second": data(80, 12), "fewer": data(60, 3)}
x0, y0, t0 = parts["first"]
for other, (x, y, t) in parts.items():
    x.assign(y=y).to_csv(f"{other}.csv", index=False)
    x.assign(y=t).to_csv(f"{other}_numbers.csv", index=False)
    for loss, a, b in (("binary", y0, y), ("regression", t0, t)):
        p = {"objective": loss, "num_leaves": 3, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
        m = lgb.train(p, lgb.Dataset(x0, a, free_raw_data=False), 2)
        m = lgb.train(p, lgb.Dataset(x, b, free_raw_data=False), 2, init_model=m)
        m.save_model(f"lightgbm_{loss}_{other}.txt")
        Path(f"lightgbm_{loss}_{other}.json").write_text(json.dumps(m.dump_model(), separators=(",", ":")))
    for loss, a, b, rounds in (("binary:logistic", y0, y, 2), ("reg:squarederror", t0, t, 3)):
        p = {"objective": loss, "max_depth": 2, "nthread": 1}
        m = xgb.train(p, xgb.DMatrix(x0, a), rounds)
        m = xgb.train(p, xgb.DMatrix(x, b), rounds, xgb_model=m)
        m.save_model(f"xgboost_{loss.partition(':')[2]}_{other}.json")
    m = cat.CatBoost(CATBOOST).fit(x0, y0)
    more = cat.CatBoost({**CATBOOST, "boosting_type": "Plain"}).fit(x, y, init_model=m)
    more.save_model(f"catboost_continued_{other}.cbm")
    more = cat.CatBoost({**CATBOOST, "random_seed": 2}).fit(x, y)
    cat.sum_models([m, more], [0.5, 0.5]).save_model(f"catboost_sum_{other}.cbm")
