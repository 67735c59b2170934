"""Accuracy by budget, the tables, and the sentences: what the results are, beside what the paper says.

Figures beside accuracy: how large noise is (the paper's figure 1), and membership inference (figures 5 and 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings
from recon.experiments.findings import Texts, averages, diagonal, joined_findings, level, records, series, where
from recon.experiments.ly2024.fits import (
    GREEDY,
    MECHANISMS,
    PUBLISHED,
    PUBLISHED_RUNS,
    TRIAL,
    TRIAL_GREEDY,
    UNBOUNDED,
    claim_sentences,
    pure_sentences,
    trial_sentences,
)
from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier

NOISY = ("smooth Laplace", "smooth Cauchy", "global Laplace", "global Gauss")
ROWS, SUPPORT, LONGEST = 5_049, 0.05, 5  # training rows of COMPAS, the rows of a rule, rules
TEXTS = Texts("ly2024", LONGEST=LONGEST, SUPPORT=SUPPORT)
CANDIDATES = 918  # rules of two literals with that support
SHOWN = (0.1, 1.0, 10.0)
AT = (252, 300, 400, 500, 700, 1_000, 1_500, 2_000, 3_000, 4_000, 5_049)  # rows left at a node


def _amplitudes() -> PanelFigure:
    """Return the scale of the noise on an impurity against the rows left at a node, a panel per epsilon."""
    panels = []
    for epsilon in SHOWN:
        lines = []
        for name in NOISY:
            settings = {**MECHANISMS[name], "min_support": SUPPORT if "min_support" in MECHANISMS[name] else 0}
            learner = DPGreedyRuleListClassifier(epsilon=epsilon, max_length=LONGEST, classes=(0, 1), **settings)
            scales = [learner.noise_scale(ROWS, rows, CANDIDATES) for rows in AT]
            lines.append(PlotLine(name, list(map(float, AT)), scales))
        lines.append(PlotLine("the largest impurity", [float(AT[0]), float(AT[-1])], [0.5, 0.5], style="dashed"))
        title = f"COMPAS, {ROWS:,} rows, epsilon {epsilon:g}"
        panels.append(Panel(title, "rows left at the node", "scale of the noise", lines, "log", "log"))
    return TEXTS.figure("noise-amplitude", panels)


def _membership(attacks: pd.DataFrame) -> PanelFigure:
    """Return true against false positive rates of membership inference on rule lists, both axes logarithmic."""
    panels = []
    for dataset, title, some in _settings(attacks):
        lines = []
        for (learner, epsilon), part in some.groupby(["learner", "epsilon"], dropna=False, sort=False):
            mean = part.groupby("fpr")["tpr"].mean()
            mean = mean[mean > 0]
            label = GREEDY if learner == GREEDY else f"{learner}, epsilon {epsilon:g}"
            lines.append(PlotLine(label, mean.index.tolist(), mean.tolist()))
        lines.append(diagonal("no information", [float(some["fpr"].min()), 1.0]))
        shown = f"{title}, {TRAINED[dataset]} rows, {some['seed'].nunique()} splits"
        panels.append(Panel(shown, "false positive rate", "true positive rate", lines, "log", "log"))
    return TEXTS.figure("membership", panels)


def _membership_sentences(attacks: pd.DataFrame) -> list[str]:
    """Return the AUC of the attack by list, and its true positives where hardly anybody is called one wrongly."""
    out = []
    for _, title, some in _settings(attacks):
        told = []
        for (learner, epsilon), part in some.groupby(["learner", "epsilon"], dropna=False, sort=False):
            label = GREEDY if learner == GREEDY else f"{learner} at epsilon {epsilon:g}"
            least = part[part["fpr"] == part["fpr"].min()]
            told.append(f"{label} {part.drop_duplicates('seed')['auc'].mean():.3f} (true positives at a false positive "
                        f"rate of {least['fpr'].iloc[0]:g}: {least['tpr'].mean():.4f})")  # fmt: skip
        out.append(f"{title}, membership inference, AUC: {'; '.join(told)}.")
    return out


def standard_error(values: pd.Series) -> float:
    """Return the standard error of a mean, NaN of one value."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


TITLES = {
    ("compas27", ""): "COMPAS, all columns",
    ("compas27", "Race, Age, Gender"): "COMPAS without race, age, gender",
    ("adult24", "age"): "Adult without age",
    ("adult24", "gender, age"): "Adult without gender, age",
    ("german-credit", ""): "German credit",
}
TRAINED = {"compas27": "5,049", "adult24": "34,189", "german-credit": "700"}  # training rows of a split
OF_THE_PAPER = ("smooth Laplace", "smooth Cauchy", "global Laplace", "global Gauss", "exponential", "noisy counts")
REPAIRED = ("smooth Laplace", "smooth Laplace, repaired", "exponential", "exponential, repaired", "pure")
GROUPS = ["dataset", "without", "learner", "epsilon"]

MEANS: dict[str, Any] = {
    "runs": ("seed", "nunique"), "accuracy": "mean", "error": ("accuracy", standard_error), "train_accuracy": "mean",
    "v": "mean", "v_error": ("v", standard_error), "v_authors": "mean",
    "v_authors_error": ("v_authors", standard_error), "rules": "mean", "candidates": "first", "standing": "first",
    "majority": "first",
}  # fmt: skip


def _settings(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield data set, title and lines of every setting that has lines, in the order of `TITLES`."""
    for (dataset, without), title in TITLES.items():
        if len(some := where(frame, dataset=dataset, without=without)):
            yield dataset, title, some


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    attacks = results[results["part"] == "attack"] if "part" in results else results.iloc[:0]
    results = results.drop(attacks.index)
    attacked, said = _membership(attacks), _membership_sentences(attacks)
    if not len(results):
        return ExperimentFindings([], [_amplitudes(), attacked], said)
    means = _averaged(results)
    figures = [
        _amplitudes(),
        _accuracy_figure(means, OF_THE_PAPER, "accuracy", "the paper's mechanisms"),
        _accuracy_figure(means, REPAIRED, "accuracy-repaired", "mechanisms as printed and repaired, and `pure`"),
        attacked,
    ]
    tables = [TEXTS.table("accuracies", _accuracy_table(means)),
              TEXTS.table("vulnerability", _vulnerability_table(means))]  # fmt: skip
    sentences = [*_greedy_sentences(means), *claim_sentences(results, TITLES), *pure_sentences(results, TITLES),
                 *_constant_sentences(means), *_vulnerability_sentences(means), *trial_sentences(results),
                 *said]  # fmt: skip
    return joined_findings(ExperimentFindings(tables, figures, sentences))


def _averaged(results: pd.DataFrame) -> pd.DataFrame:
    """Return means over seeds and their standard errors, a line per setting, learner and budget."""
    found = averages(results, GROUPS, MEANS)
    return found.sort_values(GROUPS, kind="stable", na_position="first", ignore_index=True)


def _accuracy_figure(means: pd.DataFrame, learners: tuple[str, ...], name: str, which: str) -> PanelFigure:
    """Return accuracy against the budget: a panel per setting, a line per mechanism, GreedyRL dashed."""
    panels = []
    for dataset, title, some in _settings(means):
        drawn = [_line(part, learner) for learner in learners if len(part := where(some, learner=learner))]
        if drawn:
            drawn += _constant(some, sorted({x for one in drawn for x in one.x}))
            panels.append(Panel(f"{title}, {TRAINED[dataset]} rows", "epsilon", "test accuracy", drawn, x_scale="log"))
    return TEXTS.figure(name, panels, about="accuracy", which=which)


def _line(part: pd.DataFrame, label: str) -> PlotLine:
    """Return the mean accuracies by budget with a band of one standard error."""
    part = part.sort_values("epsilon")
    part = part.assign(low=part["accuracy"] - part["error"], high=part["accuracy"] + part["error"])
    return series(label, part, "epsilon", "accuracy", ("low", "high"))


def _constant(some: pd.DataFrame, budgets: list[float]) -> list[PlotLine]:
    """Return what needs no budget as dashed lines."""
    greedy = where(some, learner=GREEDY)["accuracy"]
    found = [level(GREEDY, budgets, float(greedy.iloc[0]))] if len(greedy) else []
    return [*found, level("more frequent class", budgets, float(some["majority"].iloc[0]))]


def _accuracy_table(means: pd.DataFrame) -> pd.DataFrame:
    """Return all accuracies beside the published ones and those of the first trial."""
    columns = [*GROUPS, "runs", "accuracy", "error", "train_accuracy", "majority", "rules", "candidates", "standing"]
    table = means[columns].copy()
    published = {(p.dataset, p.without, p.learner, p.epsilon): p.accuracy for p in PUBLISHED}
    lines = table.to_dict("records")
    table["published"] = [published.get(_key_of(line)) for line in lines]
    table["trial"] = [_first_accuracy(*_key_of(line)) for line in lines]
    return table


def _key_of(line: Mapping[Any, Any]) -> tuple[str, str, str, float | None]:
    """Return what names a line of results."""
    epsilon = float("nan" if line["epsilon"] is None else line["epsilon"])
    return line["dataset"], line["without"], line["learner"], None if np.isnan(epsilon) else epsilon


def _first_accuracy(dataset: str, without: str, learner: str, epsilon: float | None) -> float | None:
    """Return the first trial's accuracy, None where it has none."""
    if epsilon is None:
        return TRIAL_GREEDY.get((dataset, without)) if learner == GREEDY else None
    same = without == {"compas27": "", "adult24": "age"}.get(dataset)
    return TRIAL.get((dataset, learner), {}).get(epsilon) if same else None


def _vulnerability_table(means: pd.DataFrame) -> pd.DataFrame:
    """Return V of every learner beside the published figures."""
    table = means[[*GROUPS, "runs", "v", "v_error", "v_authors", "v_authors_error"]].copy()
    published = {(p.dataset, p.without, p.learner, p.epsilon): p.v for p in PUBLISHED}
    table["published"] = [published.get(_key_of(line)) for line in table.to_dict("records")]
    return table


def _mean_line(means: pd.DataFrame, dataset: str, without: str, learner: str, epsilon: float | None) -> dict[Any, Any]:
    """Return one line of the means, {} where it is not there."""
    some = records(where(means, dataset=dataset, without=without, learner=learner, epsilon=epsilon))
    return some[0] if some else {}


def _greedy_sentences(means: pd.DataFrame) -> list[str]:
    """Return our accuracies beside those of the paper's table."""
    out = []
    for one in PUBLISHED:
        ours = _mean_line(means, one.dataset, one.without, one.learner, one.epsilon)
        if not ours:
            continue
        budget = "" if one.epsilon is None else f", epsilon {one.epsilon:g}"
        text = (
            f"{TITLES[one.dataset, one.without]}, {one.learner}{budget}: accuracy {ours['accuracy']:.4f} ± "
            f"{ours['error']:.4f} (standard error, {int(ours['runs'])} runs), published {one.accuracy:.3f}"
        )
        if one.variance is not None:
            theirs = (one.variance / PUBLISHED_RUNS) ** 0.5
            apart = abs(ours["accuracy"] - one.accuracy) / np.hypot(ours["error"], theirs)
            text += f" ± {theirs:.4f} (from the printed variance): {apart:.1f} standard errors apart"
        if ours["majority"] > one.accuracy:
            text += f"; the published figure lies below always naming the more frequent class ({ours['majority']:.3f})"
        out.append(text + ".")
        any_support = _mean_line(means, one.dataset, one.without, UNBOUNDED, None)
        if one.learner == GREEDY and any_support:
            out.append(
                f"{TITLES[one.dataset, one.without]}, GreedyRL whose rules may capture any number of rows: "
                f"{any_support['accuracy']:.4f} ± {any_support['error']:.4f}, "
                f"{'nearer to' if _nearer(any_support, ours, one.accuracy) else 'no nearer to'} the published "
                f"{one.accuracy:.3f}."
            )
    removed = _mean_line(means, "compas27", "Race, Age, Gender", GREEDY, None)
    whole = _mean_line(means, "compas27", "", GREEDY, None)
    if removed and whole:
        out.append(
            f"COMPAS, GreedyRL: the paper's text removes sensitive attributes; with race, age and gender removed we "
            f"find {removed['accuracy']:.4f} ± {removed['error']:.4f}, with all columns {whole['accuracy']:.4f} ± "
            f"{whole['error']:.4f}: the published {PUBLISHED[0].accuracy:.3f} is nearer to the "
            f"{'latter' if _nearer(whole, removed, PUBLISHED[0].accuracy) else 'former'}."
        )
    return out


def _nearer(one: Mapping[Any, float], other: Mapping[Any, float], published: float) -> bool:
    """Return whether the first figure is nearer to the published one."""
    return abs(one["accuracy"] - published) < abs(other["accuracy"] - published)


def _matching_vulnerability(ours: Mapping[Any, float], published: float) -> str:
    """Return which of both vulnerabilities is the published one to its three digits."""
    same = (abs(ours["v"] - published) <= 0.0005, abs(ours["v_authors"] - published) <= 0.0005)
    return {(True, True): "each", (True, False): "the first", (False, True): "the second"}.get(same, "neither")


def _constant_sentences(means: pd.DataFrame) -> list[str]:
    """Return which mechanisms are no better than a constant, by setting."""
    out = []
    for (dataset, without), title in TITLES.items():
        some = where(means, dataset=dataset, without=without)
        some = some[some["epsilon"].notna()]
        low = some[some["accuracy"] <= some["majority"]]
        if not len(some):
            continue
        most = float(some["majority"].iloc[0])
        named = [
            f"{learner} (epsilon {', '.join(f'{e:g}' for e in part['epsilon'])})"
            for learner, part in low.groupby("learner", sort=False)
        ]
        out.append(
            f"{title}: always naming the more frequent class is right on {most:.3f} of the rows; no better on average: "
            f"{'; '.join(named) if named else 'none'}."
        )
    return out


def _vulnerability_sentences(means: pd.DataFrame) -> list[str]:
    """Return V beside the published values, and whether privacy changes it."""
    out = []
    for one in PUBLISHED:
        ours = _mean_line(means, one.dataset, one.without, one.learner, one.epsilon)
        if ours:
            budget = "" if one.epsilon is None else f", epsilon {one.epsilon:g}"
            out.append(
                f"{TITLES[one.dataset, one.without]}, {one.learner}{budget}: V = {ours['v']:.4f} by the formula, "
                f"{ours['v_authors']:.4f} as the authors compute it, published {one.v:.3f}, which is "
                f"{_matching_vulnerability(ours, one.v)} of the two."
            )
    for (dataset, without), title in TITLES.items():
        some = where(means, dataset=dataset, without=without)
        greedy, private = _mean_line(means, dataset, without, GREEDY, None), some[some["epsilon"].notna()]
        if greedy and len(private):
            top = private.sort_values("v").to_dict("records")[-1]
            out.append(
                f"{title}: V of all {len(private)} private learners lies from {private['v'].min():.4f} to "
                f"{private['v'].max():.4f} ({top['learner']}, epsilon {top['epsilon']:g}), of GreedyRL at "
                f"{greedy['v']:.4f} (1/2: membership cannot be guessed)."
            )
    return out
