"""Mechanisms against each other on the same splits, and against the first trial."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from recon.experiments.ly2024.published import CLAIM, TRIAL, TRIAL_RUNS

SMOOTH = ("smooth Laplace", "smooth Cauchy")
GLOBAL = ("global Laplace", "global Gauss", "exponential", "noisy counts")
CLEAR = 2.0  # standard errors from which a difference is called one
ENOUGH = 10  # runs from which a standard error is believed
Titles = Mapping[tuple[str, str], str]
Budgets = list[float]


def paired(results: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Return by budget the mean difference in accuracy on the same splits, and its standard error."""
    keys = ["epsilon", "seed"]
    both = [results[results["learner"] == name].set_index(keys)["accuracy"] for name in (one, other)]
    apart = (both[0] - both[1]).dropna()
    found = apart.groupby(level="epsilon").agg(["mean", "std", "count"])
    found = found[found["count"] >= ENOUGH]
    return pd.DataFrame({"mean": found["mean"], "error": found["std"] / np.sqrt(found["count"])})


def of(results: pd.DataFrame, dataset: str, without: str) -> pd.DataFrame:
    """Return the private fits of one setting."""
    named = (results["dataset"] == dataset) & (results["without"] == without) & results["epsilon"].notna()
    return results[named]


def ahead(results: pd.DataFrame, one: str, others: tuple[str, ...]) -> tuple[Budgets, Budgets, dict[float, str]]:
    """Return at which budgets one mechanism is clearly ahead of all others, at which neither, and whom it is behind."""
    there = [name for name in others if (results["learner"] == name).any()]
    apart = {name: paired(results, one, name) for name in there}
    better, level, behind = [], [], {}
    for epsilon in sorted(set.intersection(*(set(found.index) for found in apart.values())) if apart else ()):
        at = {name: found.loc[epsilon] for name, found in apart.items()}
        worse = [name for name, found in at.items() if found["mean"] < -CLEAR * found["error"]]
        if worse:
            behind[float(epsilon)] = " and ".join(worse)
        elif all(found["mean"] > CLEAR * found["error"] for found in at.values()):
            better.append(float(epsilon))
        else:
            level.append(float(epsilon))
    return better, level, behind


def claim_sentences(results: pd.DataFrame, titles: Titles) -> list[str]:
    """Return where smooth sensitivity is more accurate than every mechanism of global sensitivity."""
    out = []
    for (dataset, without), title in titles.items():
        some = of(results, dataset, without)
        for mechanism in SMOOTH:
            better, level, behind = ahead(some, mechanism, GLOBAL)
            if not (better or level or behind):
                continue
            parts = []
            if better:
                parts.append(f"more accurate than every mechanism of global sensitivity at epsilon {listed(better)}")
            if level:
                parts.append(f"not clearly apart from the best of them at {listed(level)}")
            if behind:
                parts.append(f"less accurate at {listed([f'{e:g} (than {who})' for e, who in behind.items()])}")
            out.append(f"{title}, {mechanism}: {'; '.join(parts)} (by {CLEAR:g} standard errors on the same splits).")
    return [f"The paper's claim: {CLAIM}.", *out] if out else []


def pure_sentences(results: pd.DataFrame, titles: Titles) -> list[str]:
    """Return how the exponential mechanism on rows times impurity, which is not the paper's, does beside it."""
    out = []
    for (dataset, without), title in titles.items():
        apart = paired(of(results, dataset, without), "pure", "smooth Laplace")
        if len(apart):
            clear = apart[apart["mean"] > CLEAR * apart["error"]]
            worse = apart[apart["mean"] < -CLEAR * apart["error"]]
            most = apart.reset_index().sort_values("mean").to_dict("records")[-1]
            out.append(
                f"{title}: pure, which is not the paper's and needs no delta, is more accurate than smooth Laplace at "
                f"epsilon {listed(clear.index)}, less at {listed(worse.index)} (by {CLEAR:g} standard errors); the "
                f"most at {most['epsilon']:g}: {most['mean']:+.4f} ± {most['error']:.4f}."
            )
    return out


def trial_sentences(results: pd.DataFrame) -> list[str]:
    """Return how far we are from a first trial, by means over budgets: a seed has like noise at all of them."""
    near, far = 0, []
    for (dataset, learner), figures in TRIAL.items():
        some = of(results, dataset, {"compas27": "", "adult24": "age"}[dataset])
        table = some[some["learner"] == learner].pivot_table(index="seed", columns="epsilon", values="accuracy")
        shared = [epsilon for epsilon in figures if epsilon in table]
        if len(table) < ENOUGH or not shared:
            continue
        ours = table[shared].mean(axis=1)
        theirs = float(np.mean([figures[epsilon] for epsilon in shared]))
        error = float(ours.std(ddof=1) * np.sqrt(1 / len(ours) + 1 / TRIAL_RUNS[dataset]))
        apart = abs(ours.mean() - theirs) / error
        if apart <= CLEAR:
            near += 1
        else:
            far.append(f"{dataset} {learner} {ours.mean():.4f} here, {theirs:.4f} there ({apart:.1f} standard errors)")
    if not near + len(far):
        return []
    text = (
        f"Mean accuracies over epsilon of {near} of {near + len(far)} mechanisms lie within {CLEAR:g} standard errors"
    )
    return [f"{text} of a first trial's (COMPAS 15 runs, Adult 3){'; not: ' + '; '.join(far) if far else ''}."]


def listed(values: object) -> str:
    """Return values in words, "none" of none."""
    found = [one if isinstance(one, str) else f"{one:g}" for one in values]  # type: ignore[attr-defined]
    return ", ".join(found) if found else "none"
