"""Accuracy by budget, vulnerability and membership inference, beside the paper's table and a first trial."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.declaration import Declaration, named_lines, records, where
from recon.experiments.experiment import ExperimentFindings
from recon.experiments.ly2024.fits import GREEDY, MECHANISMS, UNBOUNDED
from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier

DECLARED = Declaration("ly2024")
TITLES: dict[str, str] = DECLARED["TITLES"]
KEYS = ["dataset", "without", "learner", "epsilon"]
NOISY = ("smooth Laplace", "smooth Cauchy", "global Laplace", "global Gauss")
SHOWN = (0.1, 1.0, 10.0)
SMOOTH = ("smooth Laplace", "smooth Cauchy")
GLOBAL = ("global Laplace", "global Gauss", "exponential", "noisy counts")
CLEAR = DECLARED["CLEAR"]
ENOUGH = 10  # runs from which a standard error is believed


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    attacks = where(results, part="attack") if "part" in results else results.iloc[:0]
    results = _with_titles(results.drop(attacks.index))
    means = _averaged(results)
    frames = {
        "accuracies": pd.DataFrame(), "vulnerability": pd.DataFrame(), "beside": pd.DataFrame(), "means": means,
        "noise-amplitude": _amplitudes(), "private": pd.DataFrame(), "drawn": pd.DataFrame(), "curves": pd.DataFrame(),
        "claims": _claims(results), "pure": _pure(results), "attacks": pd.DataFrame(),
    }  # fmt: skip
    if len(attacks):
        frames |= _attack_frames(_with_titles(attacks))
    if len(means):
        published = means.merge(DECLARED.published("table"), on=KEYS, how="left")
        published = published.merge(DECLARED.published("trial"), on=KEYS, how="left")
        runs, v = [*KEYS, "runs"], ["v", "v_error", "v_authors", "v_authors_error"]
        seen = ["accuracy", "error", "train_accuracy", "majority", "rules", "candidates", "standing"]
        private = named_lines(means[means["epsilon"].notna()], {title: title for title in TITLES.values()}, "title")
        frames |= {
            "accuracies": published[[*runs, *seen, "published", "trial"]],
            "vulnerability": published[[*runs, *v, "published_v"]].rename(columns={"published_v": "published"}),
            "beside": _published_comparison(means), "private": private, "drawn": _drawn_lines(means),
        }  # fmt: skip
    return DECLARED.findings(frames, trials=_trials(results))


def _with_titles(frame: pd.DataFrame) -> pd.DataFrame:
    """Return lines with the title of their setting and its training rows, in the order of the titles."""
    if not len(frame):
        return frame
    setting = frame["dataset"] + "|" + frame["without"]
    return named_lines(
        frame.assign(setting=setting, trained=frame["dataset"].map(DECLARED["TRAINED"])), TITLES, "setting"
    )


def _averaged(results: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds and their standard errors, a line per setting, learner and budget."""
    if not len(results):
        return results
    means = DECLARED.aggregate("means", results, standard_error=_standard_error)
    means = means.sort_values(KEYS, kind="stable", na_position="first", ignore_index=True)
    setting = means["dataset"] + "|" + means["without"]
    return means.assign(title=setting.map(TITLES), trained=means["dataset"].map(DECLARED["TRAINED"]))


def _standard_error(values: pd.Series) -> float:
    """Return the standard error of a mean, NaN of one value."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


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


def _drawn_lines(means: pd.DataFrame) -> pd.DataFrame:
    """Return the means as they are drawn: bands of one standard error, and what needs no budget."""
    ends = {"low": means["accuracy"] - means["error"], "high": means["accuracy"] + means["error"]}
    greedy = where(means, learner=GREEDY).set_index("title")["accuracy"]
    found = means.assign(**ends, greedy=means["title"].map(greedy),
                         constant=means.groupby("title")["majority"].transform("first"))  # fmt: skip
    for name in ("PAPER", "REPAIRED"):
        place = {learner: k for k, learner in enumerate(DECLARED[name])}
        found[name.lower()] = found["learner"].map(place)
    return named_lines(found, {title: title for title in TITLES.values()}, "title")


def _published_comparison(means: pd.DataFrame) -> pd.DataFrame:
    """Return our figures beside those of the paper's table, of GreedyRL also with any support."""
    found = DECLARED.published("table").merge(means, on=KEYS)
    budget = [f", epsilon {epsilon:g}" if np.isfinite(epsilon) else "" for epsilon in found["epsilon"]]
    free = where(means, learner=UNBOUNDED)[["title", "accuracy", "error"]].assign(learner=GREEDY)
    free = free.rename(columns={"accuracy": "any_accuracy", "error": "any_error"})
    return found.assign(budget=budget).merge(free, on=["title", "learner"], how="left")


def _attack_frames(attacks: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the attacks with what their lists are called, and the mean curve of each."""
    greedy = attacks["learner"] == GREEDY
    names = {word: attacks["learner"] + [f"{joint}{epsilon:g}" if np.isfinite(epsilon) else ""
                                         for epsilon in attacks["epsilon"].astype(float)]
             for word, joint in (("label", ", epsilon "), ("told", " at epsilon "))}  # fmt: skip
    attacks = attacks.assign(**{word: name.where(~greedy, GREEDY) for word, name in names.items()},
                             splits=attacks.groupby("title")["seed"].transform("nunique"))  # fmt: skip
    order = attacks.groupby(["title", "label"], sort=False).ngroup()
    curves = attacks.assign(order=order).groupby(["order", "title", "label", "fpr"], as_index=False)[["tpr"]].mean()
    return {"attacks": attacks, "curves": curves[curves["tpr"] > 0]}


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
        for learner in SMOOTH:
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
