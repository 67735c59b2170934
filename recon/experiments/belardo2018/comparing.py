"""The lists of the experiment: BRL and DP-BRL under three target laws, and what a fitted list is measured by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from recon.experiments.experiment import Point, Row
from recon.experiments.splits import TrainTestSplit, shuffled
from recon.learners.private.private_mining import Mining, mine_exactly
from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier, DPBayesianRuleListClassifier
from recon.learners.rule_lists.brl_posterior import RuleListPrior, Scores, bit_mask
from recon.learners.rule_lists.estimator import Antecedent, training_data
from recon.learners.rule_lists.greedy_rule_list import rule_masks
from solvers.foundation.limits import Limits

PLAIN = "plain"
MINED = "base_measure, mined privately"
LAWS = ("base_measure", "monotone", "tempered_prior", MINED)
SUPPORT = 0.1  # of the training rows
MAX_ANTECEDENTS = 300  # antecedents, as many as the thesis has
CHAINS = 4
WIDTH = 1.0  # the prior's expected literals per rule, as in the thesis


def run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return a row per seed: one random split, one fitted list."""
    assert frame is not None
    found = []
    for seed in range(point["first_seed"], point["first_seed"] + point["seeds"]):
        limits.check("rule lists were drawn")
        some = shuffled(frame, point["rows"], seed)
        found.append(_row(seed, learner(point, some, seed).fit(some.x, some.y), some))
    return found


def learner(point: Point, some: TrainTestSplit, seed: int) -> BayesianRuleListClassifier | DPBayesianRuleListClassifier:
    """Return a point's learner.

    The thesis splits epsilon in three: mining, drawing the list, counts. Where antecedents are chosen on the training
    rows without privacy, as it does, the first third is not spent.
    """
    common: dict[str, Any] = {
        "expected_length": point["expected_length"], "expected_width": WIDTH, "min_support": SUPPORT,
        "max_antecedents": MAX_ANTECEDENTS, "steps": point["steps"], "chains": CHAINS, "random_state": seed,
    }  # fmt: skip
    law, epsilon = point["law"], point["epsilon"]
    if law == MINED:  # ones in a row: a fact of the encoding, public
        return DPBayesianRuleListClassifier(epsilon=epsilon, most_items=int(some.whole.iloc[:, :-1].sum(axis=1).max()),
                                            classes=(0, 1), **common)  # fmt: skip
    common["antecedents"] = associated(some.x, some.y)
    if law == PLAIN:
        return BayesianRuleListClassifier(**common)
    if law == "monotone":
        common |= {"neighbours": "add_remove", "n_max": some.rows}
    return DPBayesianRuleListClassifier(epsilon=epsilon * 2 / 3, target=law, classes=(0, 1), **common)


def associated(x: pd.DataFrame, y: pd.Series) -> list[Antecedent]:
    """Return the antecedents of one or two columns with enough support and the largest chi-square against the label.

    Nothing about this is private; the thesis says so of its own.
    """
    names, bits, label = training_data(x, y)
    found = mine_exactly(names, bits, Mining(2, np.ceil(SUPPORT * len(bits)))).antecedents
    met = rule_masks(found, names, bits)
    n = met.sum(axis=1)
    score = (met @ label - n * label.mean()) ** 2 / (n * (1 - n / len(bits)) + 1e-9)
    return [found[i] for i in sorted(np.argsort(-score, kind="stable")[:MAX_ANTECEDENTS])]


def _row(seed: int, fitted: Any, some: TrainTestSplit) -> Row:
    """Return the figures of one list: AUC on either side, size, log posterior (of the true rows), how chains mixed."""
    sizes = [len(antecedent) for antecedent, _ in fitted.rules_[:-1]]
    prior, likelihood, used = _scores(fitted, some)
    found: Row = {
        "seed": seed,
        "auc": auc(some.y_test.to_numpy(), fitted.predict_proba(some.x_test)[:, 1]),
        "train_auc": auc(some.y.to_numpy(), fitted.predict_proba(some.x)[:, 1]),
        "rules": len(sizes),
        "used": used,
        "width": float(np.mean(sizes)) if sizes else None,
        "antecedents": len(fitted.antecedents_),
        "log_prior": prior,
        "log_likelihood": likelihood,
        "train_rows": some.rows,
    }
    diagnosed = fitted.diagnostics_
    if diagnosed["method"] == "enumeration":
        return found | {"exact": True, "r_hat": 1.0, "r_hat_length": 1.0, "effective_size": None}
    return found | {
        "exact": False,
        "r_hat": diagnosed["r_hat"]["log_weight"],
        "r_hat_length": diagnosed["r_hat"]["length"],
        "effective_size": diagnosed["effective_size"]["log_weight"],
    }


def _scores(fitted: Any, some: TrainTestSplit) -> tuple[float, float, int]:
    """Return a list's log prior, its log likelihood on the training rows, and how many of its rules capture some."""
    antecedents = fitted.antecedents_
    chosen = tuple(antecedents.index(antecedent) for antecedent, _ in fitted.rules_[:-1])
    of = scores_of(fitted, antecedents, some)
    used = sum(zeros + ones > 0 for zeros, ones in of.captures(chosen)[:-1])
    return *of.of(chosen), used


def scores_of(learner: Any, antecedents: list[Antecedent], some: TrainTestSplit) -> Scores:
    """Return the prior and likelihood on the training rows of every list of some antecedents."""
    names, bits, label = training_data(some.x, some.y)
    prior = RuleListPrior(
        tuple(map(len, antecedents)), learner.expected_length, learner.expected_width, len(antecedents)
    )
    masks = [bit_mask(met) for met in rule_masks(antecedents, names, bits)]
    return Scores(masks, bit_mask(label == 1), len(bits), prior, learner.alpha, learner.normalised)


def auc(labels: NDArray[Any], given: NDArray[Any]) -> float:
    """Return the area under the ROC curve, ties counting one half (Mann-Whitney); NaN without both classes."""
    ranks, ones = rankdata(given), labels == 1
    n, m = int(ones.sum()), int((~ones).sum())
    return float((ranks[ones].sum() - n * (n + 1) / 2) / (n * m)) if n and m else float("nan")
