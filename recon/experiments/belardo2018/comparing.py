"""What the results say in words, beside the thesis's tables and its claim.

The lists of the experiment: BRL and DP-BRL under three target laws, and what a fitted list is measured by.

The thesis's tables, as far as data and figures are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
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

# Table 6.1 (other rows) and Table A.1 (training rows): AUC by epsilon, None: without privacy; means over 5 runs, 4,000
# and 1,000 other rows. Titanic is left out: the file cannot be had.
OUT_OF_SAMPLE: dict[str, dict[float | None, float]] = {
    "mushroom": {None: 0.997, 0.9: 0.978, 0.5: 0.974, 0.1: 0.972, 0.01: 0.613},
    "adult24": {None: 0.711, 0.9: 0.663, 0.5: 0.609, 0.1: 0.642, 0.01: 0.605},
}
IN_SAMPLE: dict[str, dict[float | None, float]] = {
    "adult24": {None: 0.832, 0.9: 0.817, 0.5: 0.810, 0.1: 0.779, 0.01: 0.726},
    "mushroom": {None: 0.965, 0.9: 0.966, 0.5: 0.958, 0.1: 0.878, 0.01: 0.767},
}
DEVIATIONS = {("adult24", None): 0.042, ("mushroom", None): 0.005, ("mushroom", 0.01): 0.314}  # of Table 6.1, over runs
LENGTHS = {"mushroom": (8.4, 12.6)}  # Table 6.2: rules of the shortest and longest mean list over all epsilon

CLAIM = '"the proposed algorithm is able to output rule lists with good accuracy and decent interpretability"'


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


BASE = "base_measure"
Titles = Mapping[str, str]


def sentences(fits: pd.DataFrame, means: pd.DataFrame, titles: Titles, mixed: float) -> list[str]:
    """Return all sentences that the results allow."""
    return [
        *(text for dataset in OUT_OF_SAMPLE for text in _beside_published(means, dataset, titles[dataset])),
        *(text for dataset in OUT_OF_SAMPLE for text in _in_and_out(means, dataset, titles[dataset])),
        *(text for dataset in titles for text in _order(means, dataset, titles[dataset])),
        *(text for dataset in titles for text in _lengths(means, dataset, titles[dataset])),
        *(text for dataset in titles for text in _laws_apart(fits, dataset, titles[dataset])),
        *(text for dataset in titles for text in _posteriors(means, dataset, titles[dataset])),
        *_mixing_sentences(means, titles, mixed),
        *_longer_sentences(means, titles),
        f"The thesis's claim: {CLAIM}; its antecedents, like ours but in {MINED!r}, are chosen on the training rows "
        "without privacy, so that those lists have no guarantee, whatever epsilon.",
    ]


def _fewest(means: pd.DataFrame, dataset: str) -> int:
    """Return the fewest steps of the plain list's chains and of those it is held against, 0 where there are none."""
    steps = means.loc[(means["dataset"] == dataset) & means["law"].isin([PLAIN, BASE]), "steps"]
    return int(steps.min()) if len(steps) else 0


def _at(means: pd.DataFrame, dataset: str, law: str, epsilon: float | None, steps: int | None = None) -> Any:
    """Return the line of one law and budget, with the fewest steps unless given; None where it is not there."""
    steps = _fewest(means, dataset) if steps is None else steps
    some = means[(means["dataset"] == dataset) & (means["law"] == law)]
    some = some[some["epsilon"].isna()] if epsilon is None else some[some["epsilon"] == epsilon]
    some = some[some["steps"] == steps]
    return some.iloc[0] if len(some) else None


def _beside_published(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return our AUC beside Table 6.1, budget by budget."""
    parts = []
    for epsilon, theirs in OUT_OF_SAMPLE[dataset].items():
        ours = _at(means, dataset, PLAIN if epsilon is None else BASE, epsilon)
        if ours is not None:
            spread = DEVIATIONS.get((dataset, epsilon))
            printed = f"{theirs:.3f}" + ("" if spread is None else f" ± {spread:.3f}")
            parts.append(f"{'plain' if epsilon is None else f'epsilon {epsilon:g}'} {_spread_of(ours)} ({printed})")
    return [
        f"{title}, AUC on other rows with {BASE} after {_fewest(means, dataset):,} steps (± standard deviation over "
        f"splits; in brackets the thesis's Table 6.1): {', '.join(parts)}."
    ] if parts else []  # fmt: skip


def _spread_of(ours: Any) -> str:
    """Return a mean AUC with its standard deviation, where there are several splits."""
    return f"{ours['auc']:.3f}" + (f" ± {ours['auc_sd']:.3f}" if ours["splits"] > 1 else "")


def _in_and_out(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return how far AUC on training rows and on other rows are apart, here and in the thesis."""
    apart, theirs = [], []
    for epsilon, inside in IN_SAMPLE[dataset].items():
        ours = _at(means, dataset, PLAIN if epsilon is None else BASE, epsilon)
        if ours is not None:
            apart.append(float(ours["train_auc"] - ours["auc"]))
            theirs.append(inside - OUT_OF_SAMPLE[dataset][epsilon])
    if not apart:
        return []
    return [
        f"{title}: AUC on training rows less that on other rows lies between {min(apart):+.3f} and {max(apart):+.3f} "
        f"over plain and all epsilon; in the thesis (A.1 less 6.1) between {min(theirs):+.3f} and {max(theirs):+.3f}."
    ]


def _order(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return whether AUC falls with the budget."""
    lines = [_at(means, dataset, PLAIN, None), *(_at(means, dataset, BASE, e) for e in (0.9, 0.5, 0.1, 0.01))]
    found = [float(line["auc"]) for line in lines if line is not None]
    if len(found) < len(lines):
        return []
    falls = sum(a > b for a, b in pairwise(found))
    return [
        f"{title}: from plain over epsilon 0.9, 0.5 and 0.1 to 0.01 the mean AUC of {BASE} falls in {falls} of 4 "
        f"steps; plain ({found[0]:.3f}) above 0.9 ({found[1]:.3f}) above 0.01 ({found[-1]:.3f}): "
        f"{'yes' if found[0] > found[1] > found[-1] else 'no'}."
    ]


def _lengths(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return how long lists are under each law."""
    some = means[(means["dataset"] == dataset) & means["epsilon"].notna()]
    parts = [
        f"{law} {part['rules'].min():.1f} to {part['rules'].max():.1f} rules ({part['used'].min():.1f} to "
        f"{part['used'].max():.1f} of them capture a row)"
        for law, part in some.groupby("law", sort=False)
    ]
    plain = _at(means, dataset, PLAIN, None)
    if not parts or plain is None:
        return []
    text = f"{title}: mean lengths over all epsilon: {', '.join(parts)}; plain {plain['rules']:.1f}"
    if dataset in LENGTHS:
        low, high = LENGTHS[dataset]
        text += f"; in the thesis {low} to {high}"
        tempered = some.loc[some["law"] == "tempered_prior", "rules"]
        if len(tempered) and tempered.min() > high:
            text += ", too few for tempered_prior, the law that it prints"
    return [text + "."]


def _laws_apart(fits: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return what the other laws change in AUC on the same splits."""
    some = fits[(fits["dataset"] == dataset) & fits["epsilon"].notna()]
    steps = some.groupby("law")["steps"].min()
    some = some[some["steps"] == some["law"].map(steps)]
    table = some.pivot_table(index=["epsilon", "seed"], columns="law", values="auc")
    parts = []
    for law in ("monotone", "tempered_prior", MINED):
        if BASE not in table or law not in table:
            continue
        apart = (table[law] - table[BASE]).dropna().groupby(level="epsilon").agg(["mean", "std", "count"])
        shown = [
            f"{line['mean']:+.3f} ± {line['std'] / np.sqrt(line['count']):.3f} at {epsilon:g}"
            for epsilon, line in apart.iterrows()
            if line["count"] > 1
        ]
        if shown:
            parts.append(f"{law} ({steps[law]:,}) {', '.join(shown)}")
    if not parts:
        return []
    return [
        f"{title}: AUC less that of {BASE} ({steps[BASE]:,} steps) on the same splits (± standard error): "
        f"{'; '.join(parts)}."
    ]


def _posteriors(means: pd.DataFrame, dataset: str, title: str) -> list[str]:
    """Return how much log posterior privacy costs."""
    plain = _at(means, dataset, PLAIN, None)
    ours = [(e, line) for e in (0.9, 0.5, 0.1, 0.01) if (line := _at(means, dataset, BASE, e)) is not None]
    if plain is None or not ours:
        return []
    parts = [f"{line['per_row']:.3f} at epsilon {epsilon:g}" for epsilon, line in ours]
    return [f"{title}: log posterior per training row, {BASE}: {', '.join(parts)}; plain {plain['per_row']:.3f} nats."]


def _mixing_sentences(means: pd.DataFrame, titles: Titles, limit: float) -> list[str]:
    """Return where chains have not mixed, by data set and number of steps."""
    out = []
    for (dataset, steps), part in means.groupby(["dataset", "steps"], sort=False):
        bad = part[~(part["r_hat"] <= limit)]
        named = [
            PLAIN if law == PLAIN else f"{law} (epsilon {', '.join(f'{e:g}' for e in some['epsilon'])})"
            for law, some in bad.groupby("law", sort=False)
        ]
        out.append(
            f"{titles[str(dataset)]}, {steps:,} steps: median split R-hat is at most {limit} in {len(part) - len(bad)} "
            f"of {len(part)} cases; chains have not mixed: {'; '.join(named) if named else 'none'}."
        )
    return out


def _longer_sentences(means: pd.DataFrame, titles: Titles) -> list[str]:
    """Return what longer chains change."""
    out = []
    for dataset, title in titles.items():
        some = means[(means["dataset"] == dataset) & (means["law"] == BASE)]
        if some["steps"].nunique() < 2:
            continue
        few, many = int(some["steps"].min()), int(some["steps"].max())
        parts = []
        for epsilon in sorted(some["epsilon"].unique(), reverse=True):
            one, other = _at(means, dataset, BASE, epsilon, few), _at(means, dataset, BASE, epsilon, many)
            if one is not None and other is not None:
                parts.append(f"{one['auc']:.3f} and {other['auc']:.3f} at epsilon {epsilon:g}")
        if parts:
            out.append(f"{title}, AUC of {BASE} after {few:,} and after {many:,} steps: {', '.join(parts)}.")
    return out
