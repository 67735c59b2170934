"""The experiment: BRL and DP-BRL under three target laws, four budgets, the thesis's steps and longer chains.

AUC by budget, how chains mixed, the tables of interpretability and scores, and chains as they walk: traces, how they
come together, and what a step costs (the thesis's 6.1, 6.2 and 6.3).
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata

from recon.experiments.experiment import Declaration, Point, Row
from recon.experiments.fits import TrainTestSplit, shuffled
from recon.learners.private.private_mining import Mining, mine_exactly
from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier, DPBayesianRuleListClassifier
from recon.learners.rule_lists.brl_posterior import (
    Chosen,
    RuleListLaw,
    RuleListPrior,
    Scores,
    bit_mask,
    sensitivity,
    tempered,
)
from recon.learners.rule_lists.brl_sampling import draw_prior, run_chain, split_r_hat
from recon.learners.rule_lists.estimator import Antecedent, training_data
from recon.learners.rule_lists.greedy_rule_list import rule_masks
from solvers.foundation.limits import Limits
from solvers.statements.noise.sampling import Randomness

PLAIN = "plain"
MINED = "base_measure, mined privately"
SUPPORT = 0.1  # of the training rows
MAX_ANTECEDENTS = 300  # antecedents, as many as the thesis has
CHAINS = 4
WIDTH = 1.0  # the prior's expected literals per rule, as in the thesis


def run(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a row per seed: one random split, one fitted list."""
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
    """Return the figures of one list: AUC on either side, size, log posterior (of the true rows), how chains mixed.

    `used`: how many of its rules capture a training row.
    """
    sizes = [len(antecedent) for antecedent, _ in fitted.rules_[:-1]]
    chosen = tuple(fitted.antecedents_.index(antecedent) for antecedent, _ in fitted.rules_[:-1])
    of, diagnosed = scores_of(fitted, fitted.antecedents_, some), fitted.diagnostics_
    prior, likelihood = of.of(chosen)
    exact = diagnosed["method"] == "enumeration"
    return {
        "seed": seed,
        "auc": auc(some.y_test.to_numpy(), fitted.predict_proba(some.x_test)[:, 1]),
        "train_auc": auc(some.y.to_numpy(), fitted.predict_proba(some.x)[:, 1]),
        "rules": len(sizes), "used": sum(zeros + ones > 0 for zeros, ones in of.captures(chosen)[:-1]),
        "width": float(np.mean(sizes)) if sizes else None, "antecedents": len(fitted.antecedents_),
        "log_prior": prior, "log_likelihood": likelihood, "train_rows": some.rows, "exact": exact,
        "r_hat": 1.0 if exact else diagnosed["r_hat"]["log_weight"],
        "r_hat_length": 1.0 if exact else diagnosed["r_hat"]["length"],
        "effective_size": None if exact else diagnosed["effective_size"]["log_weight"],
    }  # fmt: skip


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


DECLARED = Declaration("belardo2018", CHAINS=CHAINS)
EACH = DECLARED["EACH"]
THIRD = 1 / 3  # of epsilon draws the list, as in the thesis


def _traced(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a row per chain and mark: log weight per row, length of the list, CPU seconds of the chain so far."""
    seed, some = point["seed"], shuffled(frame, point["rows"], point["seed"])
    of = scores_of(learner(point, some, seed), associated(some.x, some.y), some)
    law = RuleListLaw()
    if point["law"] != PLAIN:
        law = tempered(point["law"], point["epsilon"] * THIRD, sensitivity("replace", some.rows, (1.0, 1.0)))
    dice = Randomness(seed)
    rows: list[Row] = []
    for chain in range(CHAINS):
        state: Chosen = (0,) if not chain and of.prior.longest else draw_prior(of.prior, dice)
        spent = 0.0
        for step in range(EACH, point["steps"] + 1, EACH):
            limits.check("a chain was followed")
            begun = time.process_time()
            walked = run_chain(of, law, state, EACH, dice)
            spent += time.process_time() - begun
            state = walked.lists[-1]
            rows.append({"chain": chain + 1, "step": step, "per_row": float(walked.log_weights[-1]) / some.rows,
                         "length": len(state), "seconds": spent})  # fmt: skip
    return rows


def _trace_frames(traces: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the chains that were followed, and split R-hat by steps walked."""
    traces, mixing = DECLARED.frame("traces", traces), []
    for (name, told), part in traces.groupby(["title", "told"], sort=False):
        chains = [one["per_row"].to_numpy() for _, one in part.groupby("chain")]
        for end in np.unique(np.linspace(8, len(chains[0]), 20).astype(int)).tolist():
            value = split_r_hat([chain[:end] for chain in chains])
            if value is not None:
                mixing.append({"title": name, "told": told, "steps": end * EACH, "r_hat": value})
    return {"traces": traces, "convergence": pd.DataFrame(mixing)}


EXPERIMENT = DECLARED.experiment({"": run, "trace": _traced}, {"trace": _trace_frames})
