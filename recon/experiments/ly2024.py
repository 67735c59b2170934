"""The experiment: GreedyRL and all mechanisms of DP-GreedyRL, five budgets, on COMPAS, Adult and German credit.

Accuracy by budget, vulnerability and membership inference, beside the paper's table and a first trial.

The rule lists of the experiment: GreedyRL, every mechanism of DP-GreedyRL, and what a fitted list is measured by.

Membership inference on released rule lists, private and not: the curves of the paper's figures 5 and 6.

Source: Ly et al. 2024: ART's black-box attack (a random forest on the predicted probabilities and the
label, trained on half of the members and half of the others), and attacks by labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.evaluation import curve
from recon.experiments.experiment import Declaration, Point, Row, records, where
from recon.experiments.fits import TrainTestSplit, fitted, shuffled
from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier
from recon.learners.rule_lists.estimator import Antecedent, RuleListClassifier, distinct_rows, training_data
from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier, conjunctions, mine, rule_masks
from recon.learners.rule_lists.vulnerability import vulnerability_of
from solvers.foundation.limits import Limits

DECLARED = Declaration("ly2024")
NOISY = ("smooth Laplace", "smooth Cauchy", "global Laplace", "global Gauss")
SHOWN = (0.1, 1.0, 10.0)
SMOOTH_LEARNERS = ("smooth Laplace", "smooth Cauchy")
GLOBAL = ("global Laplace", "global Gauss", "exponential", "noisy counts")
CLEAR = DECLARED["CLEAR"]
ENOUGH = 10  # runs from which a standard error is believed


def _frames(results: pd.DataFrame) -> dict[str, Any]:
    """Return what compares mechanisms on the same splits, and the noise by formula."""
    fits = DECLARED.frame("fits", results)
    return {"noise-amplitude": _amplitudes(), "claims": _claims(fits), "pure": _pure(fits), "trials": _trials(fits)}


def _amplitudes() -> pd.DataFrame:
    """Return the scale of the noise on an impurity by budget, mechanism and the rows left at a node."""
    lines, support = [], DECLARED["SUPPORT"]
    for epsilon in SHOWN:
        for name in NOISY:
            settings = {**MECHANISMS[name], "min_support": support if "min_support" in MECHANISMS[name] else 0}
            learner = DPGreedyRuleListClassifier(epsilon=epsilon, max_length=DECLARED["LONGEST"], classes=(0, 1),
                                                 **settings)  # fmt: skip
            lines += [{"epsilon": epsilon, "learner": name, "rows": float(rows),
                       "scale": learner.noise_scale(DECLARED["ROWS"], rows, DECLARED["CANDIDATES"])}
                      for rows in DECLARED["AT"]]  # fmt: skip
    return pd.DataFrame(lines)


def _paired(results: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Return by budget the mean difference in accuracy on the same splits, and its standard error."""
    both = [where(results, learner=name).set_index(["epsilon", "seed"])["accuracy"] for name in (one, other)]
    found = (both[0] - both[1]).dropna().groupby(level="epsilon").agg(["mean", "std", "count"])
    found = found[found["count"] >= ENOUGH]
    return found.assign(error=found["std"] / np.sqrt(found["count"]))


def _private(results: pd.DataFrame) -> Iterable[tuple[Any, pd.DataFrame]]:
    """Return the private fits by title."""
    return results[results["epsilon"].notna()].groupby("title", sort=False) if len(results) else ()


def _texts(values: Iterable[float]) -> str:
    return ", ".join(f"{one:g}" for one in values)


def _claims(results: pd.DataFrame) -> pd.DataFrame:
    """Return at which budgets smooth sensitivity is clearly ahead of all others, level, and behind whom."""
    out = []
    for title, some in _private(results):
        for learner in SMOOTH_LEARNERS:
            apart = {name: _paired(some, learner, name) for name in GLOBAL if (some["learner"] == name).any()}
            lines: dict[str, list[Any]] = {"better": [], "level": [], "behind": []}
            for epsilon in sorted(set.intersection(*(set(found.index) for found in apart.values())) if apart else ()):
                at = {name: found.loc[epsilon] for name, found in apart.items()}
                worse = [name for name, found in at.items() if found["mean"] < -CLEAR * found["error"]]
                if worse:
                    lines["behind"].append(f"{epsilon:g} (than {' and '.join(worse)})")
                    continue
                ahead = all(found["mean"] > CLEAR * found["error"] for found in at.values())
                lines["better" if ahead else "level"].append(epsilon)
            if any(lines.values()):
                out.append({"title": title, "learner": learner, "better": _texts(lines["better"]),
                            "level": _texts(lines["level"]), "behind": ", ".join(lines["behind"])})  # fmt: skip
    return pd.DataFrame(out)


def _pure(results: pd.DataFrame) -> pd.DataFrame:
    """Return how the exponential mechanism on rows times impurity, which is not the paper's, does beside it."""
    out = []
    for title, some in _private(results):
        apart = _paired(some, "pure", "smooth Laplace")
        if len(apart):
            clear, worse = (apart[sign * apart["mean"] > CLEAR * apart["error"]].index for sign in (1, -1))
            most = records(apart.reset_index().sort_values("mean"))[-1]
            out.append({"title": title, "better": _texts(clear), "worse": _texts(worse), **most})
    return pd.DataFrame(out)


def _trials(results: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how far we are from a first trial, by means over budgets: a seed has like noise at all of them."""
    out = []
    trial = DECLARED.published("trial").dropna(subset=["epsilon"])
    for (dataset, without, learner), theirs in trial.groupby(["dataset", "without", "learner"], sort=False):
        some = where(results, dataset=dataset, without=without, learner=learner)
        table = some.pivot_table(index="seed", columns="epsilon", values="accuracy") if len(some) else some
        shared = theirs[theirs["epsilon"].isin(list(table))]
        if len(table) >= ENOUGH and len(shared):
            ours, there = table[list(shared["epsilon"])].mean(axis=1), float(shared["trial"].mean())
            error = float(ours.std(ddof=1) * np.sqrt(1 / len(ours) + 1 / DECLARED["TRIAL_RUNS"][dataset]))
            apart = abs(ours.mean() - there) / error
            out.append({"dataset": dataset, "learner": learner, "ours": ours.mean(), "theirs": there, "apart": apart,
                        "far": apart > CLEAR})  # fmt: skip
    return out


TREES = 100
RATES = tuple(float(f"{x:.3g}") for x in np.logspace(-3, 0, 25))  # false positive rates that curves are read at


def _curves(model: Any, some: TrainTestSplit, seed: int, limits: Limits) -> list[Row]:
    """Return the curve of the attack on one list: a row per false positive rate, with the AUC."""
    limits.check("a list was attacked")
    scores, member = _attacked(model, some, seed)
    fpr, tpr = curve(scores, member)
    rates = np.interp(RATES, fpr, tpr)  # between thresholds: the line, a coin between them
    area = float(np.trapezoid(tpr, fpr))
    return [{"seed": seed, "auc": area, "fpr": x, "tpr": float(y)} for x, y in zip(RATES, rates, strict=True)]


def _attacked(model: Any, some: TrainTestSplit, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores of membership and who is a member, of the rows that the attack was not trained on.

    As many members as others, half of either known to the attacker, who sees predicted probabilities and true labels.
    """
    rng = np.random.default_rng([seed, len(some.x)])
    n = min(len(some.x), len(some.x_test)) // 2 * 2
    sides = []
    for x, y in ((some.x, some.y), (some.x_test, some.y_test)):
        at = rng.permutation(len(x))[:n]
        sides.append(np.column_stack([model.predict_proba(x.iloc[at]), y.iloc[at].to_numpy(dtype=float)]))
    features, member = np.concatenate(sides), np.repeat([1, 0], n)
    known = np.tile(np.arange(n) < n // 2, 2)
    forest = fitted("forest", features[known], member[known], n_estimators=TREES, random_state=seed, n_jobs=1)
    scores: np.ndarray = forest.predict_proba(features[~known])[:, 1]
    return scores, member[~known].astype(bool)


GREEDY = "GreedyRL"
PLAIN = (GREEDY, "GreedyRL, any support")  # of the latter a rule may capture any number of rows: support 0
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


def run(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a row per seed: one random split, one fitted list; of a point of attacks a row per false positive rate."""
    kept = without(frame, point["without"])
    rules = None if point["learner"] in PLAIN else _public_rules(kept, point["width"], point["support"])
    found = []
    for seed in range(point["first_seed"], point["first_seed"] + point["seeds"]):
        limits.check("rule lists were fitted")
        some = shuffled(kept, int(TRAINED * len(kept)), seed)
        model = learner(point, rules, seed).fit(some.x, some.y)
        found += _curves(model, some, seed, limits) if "part" in point.parameters else [_row(seed, model, some)]
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


def _row(seed: int, model: Any, some: TrainTestSplit) -> Row:
    """Return the figures of one list: accuracies, vulnerability by the formula and as the authors compute it, size."""
    train, test = (some.x, some.y), (some.x_test, some.y_test)
    share = some.whole.iloc[:, -1].mean()
    private = isinstance(model, DPGreedyRuleListClassifier)
    return {
        "seed": seed, "accuracy": model.score(*test), "train_accuracy": model.score(*train),
        "v": vulnerability_of(model, train, test), "v_authors": vulnerability_of(model, train, test, "authors"),
        "rules": len(model.rules_) - 1, "candidates": model.candidates_ if private else None,
        "standing": model.ledger_.standing if private else "none", "majority": float(max(share, 1 - share)),
    }  # fmt: skip


EXPERIMENT = DECLARED.experiment(run, _frames)
