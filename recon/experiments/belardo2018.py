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

from recon.experiments.declaration import Declaration, named_lines, where
from recon.experiments.experiment import Point, Row
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
LAWS = ("base_measure", "monotone", "tempered_prior", MINED)
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


BASE = "base_measure"
DECLARED = Declaration("belardo2018", CHAINS=CHAINS)
TITLES: dict[str, str] = DECLARED["TITLES"]
EACH, MIXED = DECLARED["EACH"], DECLARED["MIXED"]
PUBLISHED = DECLARED.published("auc")
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


def _fit_frames(fits: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the lists in frames: means, those with the fewest steps beside the thesis's, longer chains, other laws."""
    mixing = fits[["r_hat", "r_hat_length"]].astype(float).fillna(np.inf).max(axis=1)
    posterior = fits["log_prior"] + fits["log_likelihood"]
    known = fits.assign(mixing=mixing, mixed=mixing <= MIXED, log_posterior=posterior,
                        per_row=posterior / fits["train_rows"])  # fmt: skip
    means = DECLARED.aggregate("means", known).sort_values(["steps", "epsilon"], kind="stable")
    means = named_lines(named_lines(means, [PLAIN, *LAWS], "law"), TITLES)
    means = means.reset_index(drop=True).astype({"rows": int})
    means = means.assign(unmixed=~(means["r_hat"] <= MIXED))
    long = DECLARED["LONG"]
    printed = np.where(means["dataset"] == long["dataset"], f"{long['least']} to {long['greatest']}", "")
    theirs = PUBLISHED[["dataset", "epsilon", "outside", "inside"]]
    theirs = theirs.rename(columns={"outside": "published_auc", "inside": "published_train_auc"})
    longer = means["steps"] > means.groupby("dataset")["steps"].transform("min")
    private = means[means["epsilon"].notna()].assign(finite=np.isfinite(means["r_hat"]))
    private = private.assign(longer=np.where(longer[private.index], ", longer", ""))
    base = means[means["law"].isin([PLAIN, BASE])]
    few = base.groupby("dataset")["steps"].transform("min")
    base = base[base["steps"] == few].assign(few=few)
    return {
        "means": means, "private": private, "interpretability": means.assign(published=printed),
        "scores": means.merge(theirs, on=["dataset", "epsilon"], how="left"),
        "first": _drawn_lines(means[means["steps"] == means.groupby(["dataset", "law"])["steps"].transform("min")]),
        "more": _drawn_lines(means[longer]), "base": base, "longer": _longer(means),
        "plain-mixing": _plain_mixing(means, longer), "thesis": PUBLISHED.dropna(subset=["epsilon"]).iloc[::-1],
        "apart": _laws_apart(fits), "beside": PUBLISHED.merge(base, on=["dataset", "epsilon"]),
    }  # fmt: skip


def _drawn_lines(means: pd.DataFrame) -> pd.DataFrame:
    """Return private lists, and beside them what the plain list has."""
    found, plain = means[means["epsilon"].notna()], where(means, law=PLAIN)
    first = plain.assign(unmixed=plain["r_hat"] > MIXED).drop_duplicates("dataset").set_index("dataset")
    own = {f"plain_{name}": found["dataset"].map(first[name]) for name in ("auc", "train_auc", "unmixed")}
    return found.assign(unmixed=found["r_hat"] > MIXED, **own)


def _plain_mixing(means: pd.DataFrame, longer: pd.Series) -> pd.DataFrame:
    """Return how the plain list's chains mixed, at every budget of the others."""
    plain = where(means[np.isfinite(means["r_hat"])], law=PLAIN)
    plain = plain.assign(longer=np.where(longer[plain.index], ", longer", ""))
    budgets = means[["dataset", "epsilon"]].dropna().drop_duplicates().sort_values("epsilon")
    return plain.drop(columns="epsilon").merge(budgets, on="dataset")


def _laws_apart(fits: pd.DataFrame) -> pd.DataFrame:
    """Return what the other laws change in AUC on the same splits, each with its fewest steps."""
    keys = ["dataset", "epsilon", "seed"]
    some = fits[fits["epsilon"].notna()]
    some = some[some["steps"] == some.groupby(["dataset", "law"])["steps"].transform("min")]
    base = where(some, law=BASE)[[*keys, "auc", "steps"]].rename(columns={"steps": "base_steps"})
    both = some[some["law"] != BASE].merge(base, on=keys, suffixes=("", "_base"))
    both = both.assign(apart=both["auc"] - both["auc_base"]).dropna(subset=["apart"])
    found = both.groupby(["dataset", "base_steps", "law", "steps", "epsilon"], as_index=False)["apart"].agg(
        ["mean", "std", "count"]
    )
    found = found[found["count"] > 1].assign(error=lambda lines: lines["std"] / np.sqrt(lines["count"]))
    return named_lines(named_lines(found, LAWS, "law"), TITLES)


def _longer(means: pd.DataFrame) -> pd.DataFrame:
    """Return the AUC of the fewest and of the most steps."""
    some = where(means, law=BASE).sort_values("epsilon", ascending=False)
    ends = [some[some["steps"] == some.groupby("dataset")["steps"].transform(end)] for end in ("min", "max")]
    more = ends[1][["dataset", "epsilon", "steps", "auc"]].rename(columns={"steps": "more_steps", "auc": "more_auc"})
    found = ends[0].merge(more, on=["dataset", "epsilon"])
    return named_lines(found[found["steps"] < found["more_steps"]], TITLES)


def _trace_frames(traces: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the chains that were followed, split R-hat by steps walked, and mean seconds by steps."""
    title = [
        f"{TITLES[name]}, {rows:,} rows"
        for name, rows in zip(traces["dataset"], traces["rows"].astype(int), strict=True)
    ]
    budget = [f", epsilon {e:g}" if np.isfinite(e) else "" for e in traces["epsilon"].astype(float)]
    traces = traces.assign(title=title, told=traces["law"] + budget).astype({"step": int, "length": int})
    mixing = []
    for (name, told), part in traces.groupby(["title", "told"], sort=False):
        chains = [one["per_row"].to_numpy() for _, one in part.groupby("chain")]
        for end in np.unique(np.linspace(8, len(chains[0]), 20).astype(int)).tolist():
            value = split_r_hat([chain[:end] for chain in chains])
            if value is not None:
                mixing.append({"title": name, "told": told, "steps": end * EACH, "r_hat": value})
    seconds = traces.groupby(["title", "told", "step"], as_index=False, sort=False)[["seconds"]].mean()
    return {"traces": traces, "convergence": pd.DataFrame(mixing), "run-time": seconds}


EXPERIMENT = DECLARED.experiment({"": run, "trace": _traced}, {"": _fit_frames, "trace": _trace_frames})
