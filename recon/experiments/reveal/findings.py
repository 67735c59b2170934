"""All that follows from the results: the tables, the figures, and the ranks with their critical differences."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from recon.attacks.evaluation.ranks import Ranking, critical_difference
from recon.experiments.drawing import Panel, PanelFigure, PlotLine, Ranks
from recon.experiments.experiment import ExperimentFindings, ResultTable
from recon.experiments.reveal.cases import ROWS_OF, TITLES
from recon.experiments.reveal.measuring import ALWAYS, PAPER
from recon.experiments.reveal.sentences import sentences
from recon.experiments.reveal.tables import chosen, complete, means, tables

MODELS = ("DT", "RF", "NN", "TREPAN-RF", "TREPAN-NN", "enriched-RF", "enriched-NN", "LORE-RF", "LORE-NN",
          "merged LORE-RF", "merged LORE-NN")  # fmt: skip
GLOBAL = MODELS[:7]
RANKED = {"recall": "recall, as in the paper", "auc": "AUC"}


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all results that are there."""
    whole = complete(results)
    average = means(whole)
    ranked = rankings(average)
    figures = [by_fpr(average), gains(average), curves(whole), local(average), ranks(ranked)]
    found = tables(whole, average)
    if ranked:
        found.append(ResultTable("ranks", rank_table(ranked),
                                 "Mean ranks (1: most exposed) of global targets over data "
                           "sets, attacks and shadow data, by recall and by AUC, with Friedman's p and Nemenyi's "
                           "critical difference at .05."))  # fmt: skip
    return ExperimentFindings(found, [one for one in figures if one.panels], sentences(whole, average, ranked))


def panels(average: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the attacks of each data set that is there, on the paper's test set."""
    some = average[(average["test_set"] == PAPER) & (average["part"] != "reference") & (average["attack"] != ALWAYS)]
    parts = [(f"{title}, {ROWS_OF[dataset]}", some[some["dataset"] == dataset]) for dataset, title in TITLES.items()]
    return [(title, part) for title, part in parts if len(part)]


def by_fpr(average: pd.DataFrame) -> PanelFigure:
    """Return recall against the false positive rate: a point per attack, targets by colour."""
    found = []
    for title, part in panels(average):
        lines = [PlotLine(name, some["fpr"].tolist(), some["recall"].tolist(), style="points")
                 for name in MODELS if len(some := part[part["model"] == name])]  # fmt: skip
        chance = PlotLine("no information", [0, 1], [0, 1], style="dashed")
        found.append(Panel(title, "false positive rate", "recall", [*lines, chance]))
    about = (
        "Recall against the false positive rate of every attack under all shadow data, means over folds, a colour per "
        "target; on the dashed line an attack knows nothing of membership, whatever its recall."
    )
    return PanelFigure("recall-by-fpr", about, found)


def gains(average: pd.DataFrame) -> PanelFigure:
    """Return AUC against the delta of recall: a point per attack on an explainer."""
    found = []
    for title, part in panels(average):
        there = part[part["delta_recall"].notna()]
        lines = [PlotLine(name, some["delta_recall"].tolist(), some["auc"].tolist(), style="points")
                 for name in MODELS[3:] if len(some := there[there["model"] == name])]  # fmt: skip
        if lines:
            ends = [float(there["delta_recall"].min()), float(there["delta_recall"].max())]
            found.append(
                Panel(title, "delta recall", "AUC", [*lines, PlotLine("chance", ends, [0.5, 0.5], style="dashed")])
            )
    about = (
        "AUC of every attack on an explainer against its gain of recall over the black box (the paper's measure of "
        "exposure), means over folds; dashed: scores that tell nothing."
    )
    return PanelFigure("gain-and-auc", about, found)


def curves(results: pd.DataFrame) -> PanelFigure:
    """Return the curves of LiRA and the other attacks on random forests, both axes logarithmic."""
    some = results[results["kind"] == "curve"]
    found = []
    for dataset, title in TITLES.items():
        part = some[some["dataset"] == dataset]
        lines = []
        for name in dict.fromkeys(part["attack"].tolist()):
            mean = part[part["attack"] == name].groupby("fpr")["recall"].mean()
            mean = mean[mean > 0]
            lines.append(PlotLine(name, mean.index.tolist(), mean.tolist(), style="step"))
        if lines:
            ends = [float(part["fpr"].min()), float(part["fpr"].max())]
            lines.append(PlotLine("no information", ends, ends, style="dashed"))
            found.append(
                Panel(
                    f"{title}, {ROWS_OF[dataset]}, RF", "false positive rate", "true positive rate", lines, "log", "log"
                )
            )
    about = (
        "True against false positive rates of LiRA (16 shadow models), of the attacks by shadow models (class of the "
        "attack model predicted or true) and by labels on random forests, means over folds; dashed: chance."
    )
    return PanelFigure("curves", about, found)


def local(average: pd.DataFrame) -> PanelFigure:
    """Return recall and AUC of ensembles against the number of explained records."""
    found = []
    for title, part in panels(average):
        some = part[(part["part"] == "local") & (part["model"] == "LORE-RF")]
        for figure, what in (("recall", "recall"), ("auc", "AUC")):
            lines = [PlotLine(f"{attack}, {shadow}", one["explanations"].tolist(),
                          one[figure].tolist())
                     for (attack, shadow), one in some.groupby(["attack", "shadow"], sort=False)]  # fmt: skip
            if lines:
                found.append(Panel(title, "explained records", what, lines))
    about = (
        "Recall and AUC of ensembles of attacks on local trees (LORE of RF) against the number of explained records, "
        "means over folds; aloa does not apply to the bits of COMPAS and Adult."
    )
    return PanelFigure("local", about, found)


def rankings(average: pd.DataFrame) -> dict[str, Ranking]:
    """Return the ranks of global targets by recall and by AUC, where enough conditions have all of them."""
    some = chosen(average, part="global", test_set=PAPER)
    some = some[some["attack"] != ALWAYS]
    found = {}
    for figure in RANKED:
        table = some.pivot_table(index=["dataset", "attack", "shadow"], columns="model", values=figure, sort=False)
        table = table[[name for name in GLOBAL if name in table.columns]]
        if table.shape[1] >= 3 and len(table.dropna()) >= 2:
            found[figure] = critical_difference(table)
    return found


def ranks(ranked: dict[str, Ranking]) -> PanelFigure:
    """Return critical-difference diagrams: targets by mean rank, bars below join those that are not apart."""
    found = []
    for figure, of in ranked.items():
        drawn = Ranks(of.treatments, of.ranks, of.pairs.to_numpy().tolist(), of.critical_difference)
        title = f"by {RANKED[figure]}, {of.blocks} combinations"
        found.append(Panel(title, "", "", ranks=drawn))
    about = (
        "Critical-difference diagrams: mean ranks (1: most exposed) of global targets over data sets, attacks and "
        "shadow data, by recall (left) and by AUC (right); bars join targets that Nemenyi's test does not tell apart "
        "at .05; below, the critical difference."
    )
    return PanelFigure("ranks", about, found)


def rank_table(ranked: dict[str, Ranking]) -> pd.DataFrame:
    """Return the mean ranks by both figures."""
    lines: list[Sequence[object]] = [
        (figure, name, rank, of.blocks, of.left_out, of.p, of.critical_difference)
        for figure, of in ranked.items() for name, rank in zip(of.treatments, of.ranks, strict=True)
    ]  # fmt: skip
    columns = ["by", "target", "mean_rank", "conditions", "left_out", "friedman_p", "critical_difference"]
    return pd.DataFrame(lines, columns=columns)
