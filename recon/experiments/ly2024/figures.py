"""Figures beside accuracy: how large noise is (the paper's figure 1), and membership inference (figures 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.ly2024.fits import GREEDY, MECHANISMS
from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier

NOISY = ("smooth Laplace", "smooth Cauchy", "global Laplace", "global Gauss")
ROWS, SUPPORT, LONGEST = 5_049, 0.05, 5  # training rows of COMPAS, the rows of a rule, rules
CANDIDATES = 918  # rules of two literals with that support
SHOWN = (0.1, 1.0, 10.0)
AT = (252, 300, 400, 500, 700, 1_000, 1_500, 2_000, 3_000, 4_000, 5_049)  # rows left at a node


def amplitudes() -> PanelFigure:
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
    about = (
        "Scale of the noise (Gauss: standard deviation) on the impurity of every candidate rule against the rows that "
        f"are left at the node; lists of at most {LONGEST} rules, support {SUPPORT:g}, the paper's division of "
        "epsilon; dashed: an impurity is at most one half. By formula, nothing is drawn."
    )
    return PanelFigure("noise-amplitude", about, panels)


def membership(attacks: pd.DataFrame, titles: Mapping[tuple[str, str], str], rows: Mapping[str, str]) -> PanelFigure:
    """Return true against false positive rates of membership inference on rule lists, both axes logarithmic."""
    panels = []
    for (dataset, without), title in titles.items():
        some = attacks[(attacks["dataset"] == dataset) & (attacks["without"] == without)] if len(attacks) else attacks
        lines = []
        for (learner, epsilon), part in some.groupby(["learner", "epsilon"], dropna=False, sort=False):
            mean = part.groupby("fpr")["tpr"].mean()
            mean = mean[mean > 0]
            label = GREEDY if learner == GREEDY else f"{learner}, epsilon {epsilon:g}"
            lines.append(PlotLine(label, mean.index.tolist(), mean.tolist()))
        if lines:
            ends = [float(some["fpr"].min()), 1.0]
            lines.append(PlotLine("no information", ends, ends, style="dashed"))
            shown = f"{title}, {rows[dataset]} rows, {some['seed'].nunique()} splits"
            panels.append(Panel(shown, "false positive rate", "true positive rate", lines, "log", "log"))
    about = (
        "Membership inference on rule lists (ART's black-box attack: a random forest on predicted probabilities and "
        "label): true against false positive rates, means over random splits; dashed: chance."
    )
    return PanelFigure("membership", about, panels)


def membership_sentences(attacks: pd.DataFrame, titles: Mapping[tuple[str, str], str]) -> list[str]:
    """Return the AUC of the attack by list, and its true positives where hardly anybody is called one wrongly."""
    out = []
    for (dataset, without), title in titles.items():
        some = attacks[(attacks["dataset"] == dataset) & (attacks["without"] == without)] if len(attacks) else attacks
        told = []
        for (learner, epsilon), part in some.groupby(["learner", "epsilon"], dropna=False, sort=False):
            label = GREEDY if learner == GREEDY else f"{learner} at epsilon {epsilon:g}"
            least = part[part["fpr"] == part["fpr"].min()]
            told.append(f"{label} {part.drop_duplicates('seed')['auc'].mean():.3f} (true positives at a false positive "
                        f"rate of {least['fpr'].iloc[0]:g}: {least['tpr'].mean():.4f})")  # fmt: skip
        if told:
            out.append(f"{title}, membership inference, AUC: {'; '.join(told)}.")
    return out
