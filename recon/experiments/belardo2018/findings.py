"""AUC by budget, how chains mixed, the tables of interpretability and scores."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import pandas as pd

from recon.experiments.belardo2018.comparing import sentences
from recon.experiments.belardo2018.fits import CHAINS, LAWS, PLAIN
from recon.experiments.belardo2018.published import IN_SAMPLE, LENGTHS, OUT_OF_SAMPLE
from recon.experiments.belardo2018.traces import convergence_figure, time_figure, trace_figure, trace_sentences
from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings, ResultTable

TITLES = {
    "mushroom": "mushroom",
    "adult24": "Adult",
    "kr-vs-kp": "kr-vs-kp",
    "german-credit": "German credit",
    "tic-tac-toe": "tic-tac-toe",
}
MIXED = 1.1  # split R-hat from which on chains have not mixed (Gelman et al., Bayesian Data Analysis, 2013)
GROUPS = ["dataset", "law", "epsilon", "steps"]
THESIS = tuple(OUT_OF_SAMPLE)
OTHERS = tuple(name for name in TITLES if name not in THESIS)
SIDES = {"auc": ("other rows", OUT_OF_SAMPLE), "train_auc": ("training rows", IN_SAMPLE)}


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    followed = results[results["part"] == "trace"] if "part" in results else results.iloc[:0]
    results = results.drop(followed.index)
    chains = [
        trace_figure(followed, TITLES),
        convergence_figure(followed, TITLES, MIXED),
        time_figure(followed, TITLES),
    ]
    chains = [figure for figure in chains if figure.panels]
    if not len(results):
        return ExperimentFindings([], chains, trace_sentences(followed, TITLES))
    fits = results.assign(mixing=mixing(results))
    means = averaged(fits)
    first = means[means["steps"] == means.groupby(["dataset", "law"])["steps"].transform("min")]
    longer = means[means["steps"] > means.groupby("dataset")["steps"].transform("min")]
    figures = [
        auc_figure(first, "auc-by-epsilon", "as many steps as in the thesis", THESIS, SIDES),
        auc_figure(
            longer, "auc-longer-chains", "ten (mushroom) and four (Adult) times the thesis's steps", THESIS, SIDES
        ),
        auc_figure(first, "auc-further-data", "data that the thesis does not have", OTHERS, ("auc",)),
        mixing_figure(means),
    ]
    tables = [
        ResultTable("interpretability", interpretability(means), "Rules of the list without the default one, mean and "
              "standard deviation over random splits; `used`: rules that capture a training row; `width`: literals per "
              "rule; `published`: the thesis's least and greatest mean over all epsilon (Table 6.2)."),
        ResultTable("scores", score_table(means),
                    "Log posterior of the published list on the training rows in nats (log "
              "prior + log likelihood, without the normaliser; of the true counts, so not for publication) and AUC, "
              "with standard deviations over random splits, beside the thesis's (Tables 6.1 and A.1); `r_hat`: median "
              f"over splits of the larger split R-hat of log weight and length ({CHAINS} chains); `mixed`: share of "
              f"splits where it is at most {MIXED}."),
    ]  # fmt: skip
    said = [*sentences(fits, means, TITLES, MIXED), *trace_sentences(followed, TITLES)]
    return ExperimentFindings(tables, [*(f for f in figures if f.panels), *chains], said)


def mixing(results: pd.DataFrame) -> pd.Series:
    """Return the larger split R-hat of every fit, infinite where one is undefined."""
    return results[["r_hat", "r_hat_length"]].astype(float).fillna(np.inf).max(axis=1)


def averaged(fits: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations over seeds, a line per data set, law, budget and number of steps."""
    known = fits.assign(
        log_posterior=fits["log_prior"] + fits["log_likelihood"],
        per_row=(fits["log_prior"] + fits["log_likelihood"]) / fits["train_rows"],
        mixed=fits["mixing"] <= MIXED,
    )
    found = known.groupby(GROUPS, as_index=False, dropna=False, sort=False).agg(
        splits=("seed", "nunique"), rows=("train_rows", "first"),
        auc=("auc", "mean"), auc_sd=("auc", "std"), train_auc=("train_auc", "mean"),
        train_auc_sd=("train_auc", "std"), rules=("rules", "mean"), rules_sd=("rules", "std"), used=("used", "mean"),
        width=("width", "mean"), antecedents=("antecedents", "mean"), log_prior=("log_prior", "mean"),
        log_likelihood=("log_likelihood", "mean"), log_posterior=("log_posterior", "mean"), per_row=("per_row", "mean"),
        r_hat=("mixing", "median"), mixed=("mixed", "mean"),
    )  # fmt: skip
    order = {law: k for k, law in enumerate((PLAIN, *LAWS))}
    place = [found["dataset"].map({name: k for k, name in enumerate(TITLES)}), found["law"].map(order)]
    keyed = found.assign(first=place[0], second=place[1])
    keyed = keyed.sort_values(["first", "second", "steps", "epsilon"], kind="stable", ignore_index=True)
    return keyed.drop(columns=["first", "second"])


def auc_figure(
    means: pd.DataFrame, name: str, which: str, datasets: Iterable[str], sides: Iterable[str]
) -> PanelFigure:
    """Return AUC against the budget: a panel per data set and side, a line per law, the plain list dashed."""
    panels = []
    for dataset, side in product(datasets, sides):
        some = means[means["dataset"] == dataset]
        budgets = sorted(some["epsilon"].dropna().unique().tolist())
        rows, published = SIDES[side]
        if budgets:
            drawn = [line(some[some["law"] == law], law, side) for law in LAWS if (some["law"] == law).any()]
            plain = some[some["law"] == PLAIN]
            if len(plain):
                hollow = [bool(plain["r_hat"].iloc[0] > MIXED)] * len(budgets)
                level = [float(plain[side].iloc[0])] * len(budgets)
                drawn.append(PlotLine("plain BRL", budgets, level, hollow=hollow, style="dashed"))
            if known := {e: v for e, v in published.get(dataset, {}).items() if e is not None}:
                drawn.append(PlotLine("thesis", sorted(known), [known[e] for e in sorted(known)], style="points"))
            trained = int(some["rows"].iloc[0])
            panels.append(
                Panel(
                    f"{TITLES[dataset]}, {trained:,} training rows, on {rows}", "epsilon", "AUC", drawn, x_scale="log"
                )
            )
    about = (
        f"AUC of private Bayesian rule lists against epsilon, {which}: means over random splits (band: one standard "
        f"error); hollow: chains have not mixed (median split R-hat above {MIXED}); dashed: without privacy; points: "
        "the thesis's tables."
    )
    return PanelFigure(name, about, panels)


def line(part: pd.DataFrame, label: str, side: str) -> PlotLine:
    """Return one law's mean AUC by budget, hollow where chains have not mixed."""
    part = part.sort_values("epsilon")
    error = part[f"{side}_sd"] / np.sqrt(part["splits"])
    low, high = (part[side] - error).tolist(), (part[side] + error).tolist()
    return PlotLine(label, part["epsilon"].tolist(), part[side].tolist(), low, high, (part["r_hat"] > MIXED).tolist())


def mixing_figure(means: pd.DataFrame) -> PanelFigure:
    """Return split R-hat against the budget for the thesis's data, a line per law and length of chains."""
    panels = []
    for dataset in THESIS:
        some = means[means["dataset"] == dataset]
        budgets = sorted(some["epsilon"].dropna().unique().tolist())
        drawn = []
        for (law, steps), part in some[np.isfinite(some["r_hat"])].groupby(["law", "steps"], sort=False):
            ordered = part.sort_values("epsilon")
            label = f"{law}{', longer' if steps > some['steps'].min() else ''}"
            if law == PLAIN:
                level = [float(part["r_hat"].iloc[0])] * len(budgets)
                drawn.append(PlotLine(label, budgets, level, style="dashed"))
            else:
                drawn.append(PlotLine(label, ordered["epsilon"].tolist(), ordered["r_hat"].tolist()))
        if budgets:
            drawn.append(PlotLine("have mixed below", budgets, [MIXED] * len(budgets), style="dashed"))
            panels.append(
                Panel(
                    f"{TITLES[dataset]}, {int(some['rows'].iloc[0]):,} rows",
                    "epsilon",
                    "split R-hat",
                    drawn,
                    x_scale="log",
                    y_scale="log",
                )
            )
    about = (
        f"Split R-hat of {CHAINS} chains (the larger of log weight's and length's, median over random splits) against "
        f"epsilon; chains have mixed below {MIXED}; longer: ten (mushroom) and four (Adult) times the thesis's steps."
    )
    return PanelFigure("mixing", about, panels)


def interpretability(means: pd.DataFrame) -> pd.DataFrame:
    """Return how long lists are."""
    columns = ["splits", "rules", "rules_sd", "used", "width", "antecedents"]
    table = means[[*GROUPS, *columns]].copy()
    known = [LENGTHS.get(name) for name in table["dataset"]]
    table["published"] = ["" if pair is None else f"{pair[0]} to {pair[1]}" for pair in known]
    return table


def score_table(means: pd.DataFrame) -> pd.DataFrame:
    """Return log posteriors and AUC, beside the thesis's."""
    columns = ["splits", "log_prior", "log_likelihood", "log_posterior", "per_row", "auc", "auc_sd", "train_auc",
               "train_auc_sd", "r_hat", "mixed"]  # fmt: skip
    table = means[[*GROUPS, *columns]].copy()
    lines = table[["dataset", "epsilon"]].to_dict("records")
    for side, (_, published) in SIDES.items():
        table[f"published_{side}"] = [
            published.get(line["dataset"], {}).get(None if np.isnan(line["epsilon"]) else line["epsilon"])
            for line in lines
        ]
    return table
