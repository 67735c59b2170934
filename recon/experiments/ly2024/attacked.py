"""Membership inference on released rule lists, private and not: the curves of the paper's figures 5 and 6.

Source: Ly et al. 2024: ART's black-box attack (a random forest on the predicted probabilities and the
label, trained on half of the members and half of the others), and attacks by labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.evaluation.figures import curve
from recon.experiments.experiment import Row
from recon.experiments.splits import TrainTestSplit
from solvers.foundation.limits import Limits

TREES = 100
RATES = tuple(float(f"{x:.3g}") for x in np.logspace(-3, 0, 25))  # false positive rates that curves are read at


def curves(fitted: Any, some: TrainTestSplit, seed: int, limits: Limits) -> list[Row]:
    """Return the curve of the attack on one list: a row per false positive rate, with the AUC."""
    limits.check("a list was attacked")
    scores, member = attacked(fitted, some, seed)
    fpr, tpr = curve(scores, member)
    rates = np.interp(RATES, fpr, tpr)  # between thresholds: the line, a coin between them
    area = float(np.trapezoid(tpr, fpr))
    return [{"seed": seed, "auc": area, "fpr": x, "tpr": float(y)} for x, y in zip(RATES, rates, strict=True)]


def attacked(fitted: Any, some: TrainTestSplit, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of membership and who is a member, of the rows that the attack was not trained on.

    As many members as others, half of either known to the attacker.
    """
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng([seed, len(some.x)])
    n = min(len(some.x), len(some.x_test)) // 2 * 2
    sides = []
    for x, y in ((some.x, some.y), (some.x_test, some.y_test)):
        at = rng.permutation(len(x))[:n]
        sides.append(seen(fitted, x.iloc[at], y.iloc[at]))
    features, member = np.concatenate(sides), np.repeat([1, 0], n)
    known = np.tile(np.arange(n) < n // 2, 2)
    forest = RandomForestClassifier(TREES, random_state=seed, n_jobs=1).fit(features[known], member[known])
    scores: np.ndarray = forest.predict_proba(features[~known])[:, 1]
    return scores, member[~known].astype(bool)


def seen(fitted: Any, x: pd.DataFrame, y: pd.Series) -> np.ndarray:
    """Return what the attacker sees of rows: predicted probabilities and the true label."""
    found: np.ndarray = np.column_stack([fitted.predict_proba(x), y.to_numpy(dtype=float)])
    return found
