"""The rule lists of the experiment: GreedyRL, every mechanism of DP-GreedyRL, and what a fitted list is measured by.

Membership inference on released rule lists, private and not: the curves of the paper's figures 5 and 6.

Source: Ly et al. 2024: ART's black-box attack (a random forest on the predicted probabilities and the
label, trained on half of the members and half of the others), and attacks by labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.evaluation import curve
from recon.experiments.experiment import Point, Row
from recon.experiments.splits import TrainTestSplit, shuffled
from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier
from recon.learners.rule_lists.estimator import Antecedent, RuleListClassifier, distinct_rows, training_data
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier, conjunctions, mine, rule_masks
from recon.learners.rule_lists.vulnerability import vulnerability_of
from solvers.foundation.limits import Limits

TREES = 100
RATES = tuple(float(f"{x:.3g}") for x in np.logspace(-3, 0, 25))  # false positive rates that curves are read at


def _curves(fitted: Any, some: TrainTestSplit, seed: int, limits: Limits) -> list[Row]:
    """Return the curve of the attack on one list: a row per false positive rate, with the AUC."""
    limits.check("a list was attacked")
    scores, member = _attacked(fitted, some, seed)
    fpr, tpr = curve(scores, member)
    rates = np.interp(RATES, fpr, tpr)  # between thresholds: the line, a coin between them
    area = float(np.trapezoid(tpr, fpr))
    return [{"seed": seed, "auc": area, "fpr": x, "tpr": float(y)} for x, y in zip(RATES, rates, strict=True)]


def _attacked(fitted: Any, some: TrainTestSplit, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of membership and who is a member, of the rows that the attack was not trained on.

    As many members as others, half of either known to the attacker.
    """
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng([seed, len(some.x)])
    n = min(len(some.x), len(some.x_test)) // 2 * 2
    sides = []
    for x, y in ((some.x, some.y), (some.x_test, some.y_test)):
        at = rng.permutation(len(x))[:n]
        sides.append(_observed_outputs(fitted, x.iloc[at], y.iloc[at]))
    features, member = np.concatenate(sides), np.repeat([1, 0], n)
    known = np.tile(np.arange(n) < n // 2, 2)
    forest = RandomForestClassifier(TREES, random_state=seed, n_jobs=1).fit(features[known], member[known])
    scores: np.ndarray = forest.predict_proba(features[~known])[:, 1]
    return scores, member[~known].astype(bool)


def _observed_outputs(fitted: Any, x: pd.DataFrame, y: pd.Series) -> np.ndarray:
    """Return what the attacker sees of rows: predicted probabilities and the true label."""
    found: np.ndarray = np.column_stack([fitted.predict_proba(x), y.to_numpy(dtype=float)])
    return found


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
    rules = None if point["learner"] in PLAIN else _public_rules(kept, point["width"], point["support"])
    found = []
    for seed in range(point["first_seed"], point["first_seed"] + point["seeds"]):
        limits.check("rule lists were fitted")
        some = shuffled(kept, int(TRAINED * len(kept)), seed)
        fitted = learner(point, rules, seed).fit(some.x, some.y)
        found += _curves(fitted, some, seed, limits) if "part" in point.parameters else [_row(seed, fitted, some)]
    return found


def without(frame: pd.DataFrame, prefixes: str) -> pd.DataFrame:
    """Return the columns whose names begin with none of the words (separated by ", "), the label last."""
    words = tuple(prefixes.split(", ")) if prefixes else ()
    label = frame.columns[-1]
    return frame[[name for name in frame.columns if name == label or not name.startswith(words)]]


def _public_rules(frame: pd.DataFrame, width: int, support: float) -> list[Antecedent]:
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


def _row(seed: int, fitted: Any, some: TrainTestSplit) -> Row:
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
