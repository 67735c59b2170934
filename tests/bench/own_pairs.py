"""Columns in no pair that interpret chose: Explainable Boosting Machines of 50 people, breast cancer, eight draws.

    python tests/bench/own_pairs.py [--quick | --lines BEGINNING ...] [--check]

A column that is in no pair of a model is open to anybody; the rows of all others are certain, which
tests/test_additive_models.py proves over the pairs of two of these draws. Per setting the columns in no pair, draw by
draw, and the seconds of all fits beside those of one round. Needs interpret (`pip install interpret-core`, 0.7.8 here).
What a line says: harness.py.
"""

from __future__ import annotations

import warnings
from typing import Any

from harness import Job, Line, main, measured

ONE_ROUND = {"outer_bags": 1, "max_rounds": 1}
SETTINGS: dict[str, dict[str, int]] = {
    "defaults": {}, "one bag": {"outer_bags": 1}, "one bag, 20 rounds": {"outer_bags": 1, "max_rounds": 20},
}  # fmt: skip


def draws(every: Any) -> list[Any]:
    """Return the places of 50 rows as a user may draw them: the first, the last, every eleventh, by seeds."""
    import numpy as np

    return [
        *(np.arange(50), np.arange(519, 569), np.arange(0, 550, 11)),
        *(np.random.default_rng(0).permutation(569)[:50], np.random.default_rng(0).choice(569, 50, replace=False)),
        np.random.RandomState(0).permutation(569)[:50],
        *(every.data.sample(50, random_state=seed).index.to_numpy() for seed in (1, 42)),
    ]


def left_out(setting: dict[str, int]) -> list[int]:
    """Return how many of the 30 columns are in no pair, by draw."""
    from interpret.glassbox import ExplainableBoostingClassifier
    from sklearn.datasets import load_breast_cancer

    every, out = load_breast_cancer(as_frame=True), []
    for at in draws(every):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = ExplainableBoostingClassifier(n_jobs=1, **setting).fit(every.data.iloc[at], every.target.iloc[at])
        paired = {column for term in fit.term_features_ if len(term) == 2 for column in term}
        out.append(every.data.shape[1] - len(paired))
    return out


def fitted(name: str) -> list[Line]:
    """Fit the draws with a setting."""
    beside = measured(lambda: left_out(ONE_ROUND), repeats=1)
    work = measured(lambda: left_out(SETTINGS[name]), repeats=1)
    return [Line(name, work, "one round", beside, same={"columns in no pair": work.found})]


JOBS = {name: Job(fitted, (name,), name != "defaults", needs=("interpret",)) for name in SETTINGS}

if __name__ == "__main__":
    main("own_pairs", JOBS)
