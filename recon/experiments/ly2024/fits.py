"""The rule lists of the experiment: GreedyRL, every mechanism of DP-GreedyRL, and what a fitted list is measured by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.experiment import Point, Row
from recon.experiments.ly2024.attacked import curves
from recon.experiments.splits import TrainTestSplit, shuffled
from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier
from recon.learners.rule_lists.estimator import Antecedent, RuleListClassifier, distinct_rows, training_data
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier
from recon.learners.rule_lists.mining import conjunctions, mine, rule_masks
from recon.learners.rule_lists.vulnerability import vulnerability_of
from solvers.foundation.limits import Limits

GREEDY = "GreedyRL"
UNBOUNDED = "GreedyRL, any support"  # a rule may capture any number of rows: support 0
PLAIN = (GREEDY, UNBOUNDED)
TRAINED = 0.7  # of the rows
CLASSES = (0, 1)  # the label's values, public
SMOOTH = {"min_support": True}  # the support test is what their sensitivity rests on
MECHANISMS: dict[str, dict[str, Any]] = {
    "smooth Laplace": {"mechanism": "smooth_laplace", **SMOOTH},
    "smooth Cauchy": {"mechanism": "smooth_cauchy", **SMOOTH},
    "global Laplace": {"mechanism": "global_laplace"},
    "global Gauss": {"mechanism": "global_gaussian"},
    "exponential": {"mechanism": "exponential"},
    "noisy counts": {"mechanism": "noisy_counts"},
    "pure": {"mechanism": "pure"},
    "smooth Laplace, repaired": {"mechanism": "smooth_laplace", "repaired": True, **SMOOTH},
    "exponential, repaired": {"mechanism": "exponential", "repaired": True},
}


def run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return a row per seed: one random split, one fitted list; of a point of attacks a row per false positive rate."""
    assert frame is not None
    kept = without(frame, point["without"])
    rules = None if point["learner"] in PLAIN else public_rules(kept, point["width"], point["support"])
    found = []
    for seed in range(point["first_seed"], point["first_seed"] + point["seeds"]):
        limits.check("rule lists were fitted")
        some = shuffled(kept, int(TRAINED * len(kept)), seed)
        fitted = learner(point, rules, seed).fit(some.x, some.y)
        found += curves(fitted, some, seed, limits) if "part" in point.parameters else [row(seed, fitted, some)]
    return found


def without(frame: pd.DataFrame, prefixes: str) -> pd.DataFrame:
    """Return the columns whose names begin with none of the words (separated by ", "), the label last."""
    words = tuple(prefixes.split(", ")) if prefixes else ()
    label = frame.columns[-1]
    return frame[[name for name in frame.columns if name == label or not name.startswith(words)]]


def public_rules(frame: pd.DataFrame, width: int, support: float) -> list[Antecedent]:
    """Return the conjunctions that `support` to 1 - `support` of all rows meet, as if they were public.

    The paper takes its rules as public too; the authors' code mines them on the training rows, which nothing covers.
    """
    names, bits, _ = training_data(frame.iloc[:, :-1], frame.iloc[:, -1])
    distinct, back = distinct_rows(bits)
    rules = conjunctions(names, width)
    met = rule_masks(rules, names, distinct).astype(float)
    weight = np.bincount(back).astype(float)
    return mine(rules, met, weight, support * len(bits), (1 - support) * len(bits))[0]


def learner(point: Point, rules: list[Antecedent] | None, seed: int) -> RuleListClassifier:
    """Return a point's learner; GreedyRL draws nothing."""
    if rules is None:
        return GreedyRuleListClassifier(point["width"], point["support"], point["max_length"], ties="fewest")
    settings = dict(MECHANISMS[point["learner"]])
    settings["min_support"] = point["support"] if settings.get("min_support") else 0
    return DPGreedyRuleListClassifier(
        epsilon=point["epsilon"], rules=rules, classes=CLASSES, max_length=point["max_length"], random_state=seed,
        **settings,
    )  # fmt: skip


def row(seed: int, fitted: Any, some: TrainTestSplit) -> Row:
    """Return the figures of one list: accuracies, vulnerability by the formula and as the authors compute it, size."""
    train, test = (some.x, some.y), (some.x_test, some.y_test)
    label = some.whole.iloc[:, -1]
    private = isinstance(fitted, DPGreedyRuleListClassifier)
    return {
        "seed": seed,
        "accuracy": fitted.score(*test),
        "train_accuracy": fitted.score(*train),
        "v": vulnerability_of(fitted, train, test),
        "v_authors": vulnerability_of(fitted, train, test, "authors"),
        "rules": len(fitted.rules_) - 1,
        "candidates": fitted.candidates_ if private else None,
        "standing": fitted.ledger_.standing if private else "none",
        "majority": float(max(label.mean(), 1 - label.mean())),
    }
