"""Models of terms as interpret writes them to JSON, binned by plain counting that shares no code with recon.

The form is that of interpret 0.7.8 (`to_json`): a value is in bin k where k - 1 ends are at most it; 0 is missing.
"""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product
from typing import Any

import numpy as np
import pandas as pd

import recon


def drawn(seed: int, rows: int = 0, columns: int = 0, values: int = 0) -> pd.DataFrame:
    """Return rows of whole numbers, of texts in a column where a number may be missing in another."""
    rng = np.random.default_rng(seed)
    n, width = rows or int(rng.integers(3, 40)), columns or int(rng.integers(2, 5))
    frame = pd.DataFrame({f"c{k}": rng.integers(0, values or rng.integers(2, 12), n) for k in range(width)})
    if not values:
        frame["town"] = rng.choice(["Ulm", "Bonn", "Kiel"], n)
        if seed % 2:
            frame["part"] = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 5, n) / 4)
    return frame


def cuts(column: pd.Series, bins: int) -> list[float]:
    """Return ends halfway between values, all of them or quantiles."""
    known = np.unique(column.dropna())
    ends = ((known[1:] + known[:-1]) / 2).tolist()
    return ends if len(ends) < bins else ends[:: -(-len(ends) // (bins - 1))]


def places(column: pd.Series, feature: dict[str, Any], level: int) -> np.ndarray:
    """Return the bin of every value."""
    if feature["type"] == "nominal":
        order = feature["categories"][0]
        return np.array([0 if pd.isna(v) else 1 + order.index(str(v)) for v in column])
    ends = feature["cuts"][min(level, len(feature["cuts"]) - 1)]
    return np.array([0 if pd.isna(v) else 1 + sum(end <= v for end in ends) for v in column])


def _pairs(text: str) -> tuple[tuple[int, int], ...]:
    """Return pairs written as a column and those it is paired with, by number to the base of 30."""
    return tuple((int(one[0], 30), int(other, 30)) for one in text.split() for other in one[1:])


# The 90 pairs that interpret 0.7.8 chose by default (ExplainableBoostingClassifier(n_jobs=1)) for the rows 0, 11, ...,
# 539 of scikit-learn's breast cancer data, and with outer_bags=1 for `data.sample(50, random_state=1)` and, of 100,
# `data.sample(100, random_state=1)`: there pairs of the last 14 columns alone.
PAIRED = _pairs(
    "068fgjqs 167dor 28fgijqs 3fgjqs 467gr 5hkms 69klmn 7ls 8ckmn 9fgr aejr cejknor delr eh fkmn gin "
    "hopr ir jkmn kloqrst lmnor moqrst noqrs"
)
PAIRED_OF_ALL = _pairs(
    "04678bloqrs 1kn 267opqrst 367loqrs 4ckn 5kmn 6dkn 79adkmn 8kmn 9ackmnr ast bkn dpqrs ekn fkn gkn "
    "hkn ikn jkn klopqrst ln moqrs nopqrst rt"
)
PAIRED_OF_A_HUNDRED = tuple(combinations(range(16, 30), 2))[1:]


def model(frame: pd.DataFrame, pairs: int | tuple[tuple[int, int], ...], seed: int, bins: int = 64) -> dict[str, Any]:
    """Return the content of a file about the rows: all columns, and pairs of them (a number: so many at random)."""
    features: list[dict[str, Any]] = []
    for name in frame.columns:
        column = frame[name]
        if not pd.api.types.is_numeric_dtype(column):
            features.append({"name": name, "type": "nominal", "categories": [sorted(set(map(str, column.dropna())))]})
            continue
        wide, narrow = cuts(column, max(bins, 1024 if bins > 2 else 2)), cuts(column, bins)
        known = {"min": float(column.min()), "max": float(column.max())}
        features.append({"name": name, "type": "continuous", "cuts": [wide, narrow], **known})
    every = list(combinations(range(len(features)), 2))
    drawn = () if isinstance(pairs, tuple) else np.random.default_rng(seed).permutation(len(every))[:pairs].tolist()
    chosen = pairs if isinstance(pairs, tuple) else tuple(every[k] for k in drawn)
    terms = []
    for which in [*((i,) for i in range(len(features))), *chosen]:
        at = [places(frame.iloc[:, i], features[i], len(which) - 1) for i in which]
        shape = [
            len(f["categories"][0]) + 2 if f["type"] == "nominal" else len(f["cuts"][len(which) - 1]) + 3
            for f in (features[i] for i in which)
        ]
        weights = np.zeros(shape)
        np.add.at(weights, tuple(at), 1)
        terms.append(
            {"term_features": [features[i]["name"] for i in which], "scores": [], "bin_weights": weights.tolist()}
        )
    return {"version": "1.0", "ebm": {"outputs": [], "intercept": [0.0], "features": features, "terms": terms}}


def small_domain(frame: pd.DataFrame, values: int) -> recon.Domain:
    """Return the domain of columns of whole numbers below `values`."""
    whole = pd.DataFrame({name: range(values) for name in frame.columns})
    return recon.Domain.from_frame(whole, label=None)


def alike(found: dict[str, Any], frame: pd.DataFrame, values: int) -> int:
    """Return how many multisets of as many rows have the bins and the extremes of a file."""
    features = found["ebm"]["features"]
    number = {f["name"]: i for i, f in enumerate(features)}
    same = 0
    for rows in combinations_with_replacement(list(product(range(values), repeat=len(features))), len(frame)):
        table = pd.DataFrame(list(rows), columns=list(frame.columns))
        fits = all(table[f["name"]].min() == f["min"] and table[f["name"]].max() == f["max"] for f in features)
        for term in found["ebm"]["terms"] if fits else ():
            which = [number[name] for name in term["term_features"]]
            weights = np.zeros(np.array(term["bin_weights"]).shape)
            np.add.at(weights, tuple(places(table.iloc[:, i], features[i], len(which) - 1) for i in which), 1)
            fits = fits and bool((weights == np.array(term["bin_weights"])).all())
        same += fits
    return same
