"""The experiment: BRL and DP-BRL under three target laws, four budgets, the thesis's steps and longer chains.

AUC by budget, how chains mixed, the tables of interpretability and scores.

Chains as they walk: traces, how they come together, and what a step costs (the thesis's 6.1, 6.2 and 6.3).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd

from recon.experiments.belardo2018.comparing import (
    CHAINS,
    IN_SAMPLE,
    LAWS,
    LENGTHS,
    MINED,
    OUT_OF_SAMPLE,
    PLAIN,
    associated,
    learner,
    run,
    scores_of,
    sentences,
)
from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import (
    Experiment,
    ExperimentFindings,
    Point,
    Row,
    Scalar,
    Size,
    in_chunks,
)
from recon.experiments.findings import Texts, averages, joined_findings, level, series, where
from recon.experiments.splits import TrainTestSplit, shuffled
from recon.learners.rule_lists.brl_posterior import Chosen, RuleListLaw, sensitivity, tempered
from recon.learners.rule_lists.brl_sampling import draw_prior, run_chain, split_r_hat
from solvers.foundation.limits import Limits
from solvers.statements.noise.sampling import Randomness

EACH = 25  # steps between two marks of a trace
THIRD = 1 / 3  # of epsilon draws the list, as in the thesis


def _traced(point: Point, some: TrainTestSplit, seed: int, limits: Limits) -> list[Row]:
    """Return a row per chain and mark: log weight per row, length of the list, CPU seconds of the chain so far."""
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


def _law_label(law: str, epsilon: float) -> str:
    """Return a law with its budget in words."""
    return law if law == PLAIN else f"{law}, epsilon {epsilon:g}"


def _cases(traces: pd.DataFrame, titles: Mapping[str, str]) -> list[tuple[str, str, pd.DataFrame]]:
    """Return data, law and rows of everything that was followed."""
    if not len(traces):
        return []
    parts = traces.groupby(["dataset", "law", "epsilon"], dropna=False, sort=False)
    return [(f"{titles[str(d)]}, {int(part['rows'].iloc[0]):,} rows", _law_label(str(law), float(str(e))), part)
            for (d, law, e), part in parts]  # fmt: skip


def _trace_figure(traces: pd.DataFrame, titles: Mapping[str, str]) -> PanelFigure:
    """Return the log weight per training row against the steps, a line per chain."""
    panels = [
        Panel(f"{title}: {law}", "step", "log weight per row (nats)",
              [PlotLine(f"chain {chain}", one["step"].tolist(), one["per_row"].tolist(), style="step")
               for chain, one in part.groupby("chain")])
        for title, law, part in _cases(traces, titles)
    ]  # fmt: skip
    return TEXTS.figure("traces", panels)


def _convergence_figure(traces: pd.DataFrame, titles: Mapping[str, str], mixed: float) -> PanelFigure:
    """Return split R-hat of the log weight against the steps walked, a line per law."""
    panels: dict[str, list[PlotLine]] = {}
    for title, law, part in _cases(traces, titles):
        chains = [one["per_row"].to_numpy() for _, one in part.groupby("chain")]
        ends = np.unique(np.linspace(8, len(chains[0]), 20).astype(int)).tolist()
        values = [split_r_hat([chain[:end] for chain in chains]) for end in ends]
        known = [(end * EACH, value) for end, value in zip(ends, values, strict=True) if value is not None]
        panels.setdefault(title, []).append(PlotLine(law, [x for x, _ in known], [y for _, y in known]))
    drawn = []
    for title, lines in panels.items():
        ends = [min(line.x[0] for line in lines), max(line.x[-1] for line in lines)]
        reference = PlotLine("have mixed below", ends, [mixed, mixed], style="dashed")
        drawn.append(Panel(title, "steps walked", "split R-hat", [*lines, reference], "linear", "log"))
    return TEXTS.figure("convergence", drawn)


def _time_figure(traces: pd.DataFrame, titles: Mapping[str, str]) -> PanelFigure:
    """Return CPU seconds of a chain against its steps, a line per law; mean over chains."""
    panels: dict[str, list[PlotLine]] = {}
    for title, law, part in _cases(traces, titles):
        mean = part.groupby("step")["seconds"].mean()
        panels.setdefault(title, []).append(PlotLine(law, mean.index.tolist(), mean.tolist()))
    drawn = [Panel(title, "steps", "CPU seconds of a chain", lines) for title, lines in panels.items()]
    return TEXTS.figure("run-time", drawn)


def _trace_sentences(traces: pd.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """Return what 1,000 steps cost, and how far chains still are from each other at their ends."""
    out = []
    for title, law, part in _cases(traces, titles):
        last = part[part["step"] == part["step"].max()]
        steps, seconds = int(last["step"].iloc[0]), float(last["seconds"].mean())
        ends = sorted(last["per_row"])
        jumps = [abs(b - a) for a, b in pairwise(ends)]
        out.append(f"Chains, {title}, {law}: {1000 * seconds / steps:.2f} CPU seconds per 1,000 steps; after {steps:,} "
                   f"steps log weights per row from {ends[0]:.4f} to {ends[-1]:.4f} (neighbours at most "
                   f"{max(jumps):.4f} apart), lists of {int(last['length'].min())} to {int(last['length'].max())} "
                   "rules.")  # fmt: skip
    return out


TITLES = {
    "mushroom": "mushroom",
    "adult24": "Adult",
    "kr-vs-kp": "kr-vs-kp",
    "german-credit": "German credit",
    "tic-tac-toe": "tic-tac-toe",
}
MIXED = 1.1  # split R-hat from which on chains have not mixed (Gelman et al., Bayesian Data Analysis, 2013)
TEXTS = Texts("belardo2018", CHAINS=CHAINS, EACH=EACH, MIXED=MIXED)
GROUPS = ["dataset", "law", "epsilon", "steps"]
THESIS = tuple(OUT_OF_SAMPLE)
OTHERS = tuple(name for name in TITLES if name not in THESIS)
SIDES = {"auc": ("other rows", OUT_OF_SAMPLE), "train_auc": ("training rows", IN_SAMPLE)}

MEANS: dict[str, Any] = {
    "splits": ("seed", "nunique"), "rows": ("train_rows", "first"), "auc": "mean", "auc_sd": ("auc", "std"),
    "train_auc": "mean", "train_auc_sd": ("train_auc", "std"), "rules": "mean", "rules_sd": ("rules", "std"),
    **dict.fromkeys(("used", "width", "antecedents", "log_prior", "log_likelihood", "log_posterior"), "mean"),
    "per_row": "mean", "r_hat": ("mixing", "median"), "mixed": "mean",
}  # fmt: skip


def _findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    followed = results[results["part"] == "trace"] if "part" in results else results.iloc[:0]
    results = results.drop(followed.index)
    chains = [
        _trace_figure(followed, TITLES),
        _convergence_figure(followed, TITLES, MIXED),
        _time_figure(followed, TITLES),
    ]
    chains = [figure for figure in chains if figure.panels]
    if not len(results):
        return ExperimentFindings([], chains, _trace_sentences(followed, TITLES))
    fits = results.assign(mixing=_mixing(results))
    means = _averaged(fits)
    first = means[means["steps"] == means.groupby(["dataset", "law"])["steps"].transform("min")]
    longer = means[means["steps"] > means.groupby("dataset")["steps"].transform("min")]
    figures = [
        _auc_figure(first, "auc-by-epsilon", "as many steps as in the thesis", THESIS, SIDES),
        _auc_figure(
            longer, "auc-longer-chains", "ten (mushroom) and four (Adult) times the thesis's steps", THESIS, SIDES
        ),
        _auc_figure(first, "auc-further-data", "data that the thesis does not have", OTHERS, ("auc",)),
        _mixing_figure(means),
    ]
    tables = [
        TEXTS.table("interpretability", _interpretability(means)),
        TEXTS.table("scores", _score_table(means)),
    ]  # fmt: skip
    said = [*sentences(fits, means, TITLES, MIXED), *_trace_sentences(followed, TITLES)]
    return joined_findings(ExperimentFindings(tables, [*figures, *chains], said))


def _mixing(results: pd.DataFrame) -> pd.Series:
    """Return the larger split R-hat of every fit, infinite where one is undefined."""
    return results[["r_hat", "r_hat_length"]].astype(float).fillna(np.inf).max(axis=1)


def _averaged(fits: pd.DataFrame) -> pd.DataFrame:
    """Return means and standard deviations over seeds, a line per data set, law, budget and number of steps."""
    posterior = fits["log_prior"] + fits["log_likelihood"]
    known = fits.assign(log_posterior=posterior, per_row=posterior / fits["train_rows"], mixed=fits["mixing"] <= MIXED)
    found = averages(known, GROUPS, MEANS)
    order = {law: k for k, law in enumerate((PLAIN, *LAWS))}
    place = [found["dataset"].map({name: k for k, name in enumerate(TITLES)}), found["law"].map(order)]
    keyed = found.assign(first=place[0], second=place[1])
    keyed = keyed.sort_values(["first", "second", "steps", "epsilon"], kind="stable", ignore_index=True)
    return keyed.drop(columns=["first", "second"])


def _auc_figure(
    means: pd.DataFrame, name: str, which: str, datasets: Iterable[str], sides: Iterable[str]
) -> PanelFigure:
    """Return AUC against the budget: a panel per data set and side, a line per law, the plain list dashed."""
    panels = []
    for dataset, side in product(datasets, sides):
        some = where(means, dataset=dataset)
        budgets = sorted(some["epsilon"].dropna().unique().tolist())
        rows, published = SIDES[side]
        if not budgets:
            continue
        drawn = [_line(part, law, side) for law in LAWS if len(part := where(some, law=law))]
        plain = where(some, law=PLAIN)
        if len(plain):
            hollow = [bool(plain["r_hat"].iloc[0] > MIXED)] * len(budgets)
            drawn.append(replace(level("plain BRL", budgets, float(plain[side].iloc[0])), hollow=hollow))
        if known := {e: v for e, v in published.get(dataset, {}).items() if e is not None}:
            drawn.append(PlotLine("thesis", sorted(known), [known[e] for e in sorted(known)], style="points"))
        title = f"{TITLES[dataset]}, {int(some['rows'].iloc[0]):,} training rows, on {rows}"
        panels.append(Panel(title, "epsilon", "AUC", drawn, x_scale="log"))
    return TEXTS.figure(name, panels, about="auc", which=which)


def _line(part: pd.DataFrame, label: str, side: str) -> PlotLine:
    """Return one law's mean AUC by budget, hollow where chains have not mixed."""
    part = part.sort_values("epsilon")
    error = part[f"{side}_sd"] / np.sqrt(part["splits"])
    part = part.assign(low=part[side] - error, high=part[side] + error)
    return series(label, part, "epsilon", side, ("low", "high"), part["r_hat"] > MIXED)


def _mixing_figure(means: pd.DataFrame) -> PanelFigure:
    """Return split R-hat against the budget for the thesis's data, a line per law and length of chains."""
    panels = []
    for dataset in THESIS:
        some, drawn = where(means, dataset=dataset), []
        budgets = sorted(some["epsilon"].dropna().unique().tolist())
        for (law, steps), part in some[np.isfinite(some["r_hat"])].groupby(["law", "steps"], sort=False):
            label = f"{law}{', longer' if steps > some['steps'].min() else ''}"
            if law == PLAIN:
                drawn.append(level(label, budgets, float(part["r_hat"].iloc[0])))
            else:
                drawn.append(series(label, part.sort_values("epsilon"), "epsilon", "r_hat"))
        if budgets:
            drawn.append(level("have mixed below", budgets, MIXED))
            title = f"{TITLES[dataset]}, {int(some['rows'].iloc[0]):,} rows"
            panels.append(Panel(title, "epsilon", "split R-hat", drawn, "log", "log"))
    return TEXTS.figure("mixing", panels)


def _interpretability(means: pd.DataFrame) -> pd.DataFrame:
    """Return how long lists are."""
    columns = ["splits", "rules", "rules_sd", "used", "width", "antecedents"]
    table = means[[*GROUPS, *columns]].copy()
    known = [LENGTHS.get(name) for name in table["dataset"]]
    table["published"] = ["" if pair is None else f"{pair[0]} to {pair[1]}" for pair in known]
    return table


def _score_table(means: pd.DataFrame) -> pd.DataFrame:
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


BUDGETS = (0.01, 0.1, 0.5, 0.9)


@dataclass(frozen=True)
class ChainSetting:
    """A data set: training rows, the prior's expected length, and per number of steps the random splits.

    `runs`: (steps, splits) of every law but `tempered_prior`, whose lists of hundreds of rules cost most: `tempered`.
    `cost`: expected seconds of 1,000 steps of all chains.
    """

    dataset: str
    rows: int
    expected_length: float
    runs: tuple[tuple[int, int], ...]
    tempered: tuple[int, int]
    cost: float


# Rows, expected lengths and the first number of steps of mushroom and Adult are the thesis's, the rest is ours.
SETTINGS = (
    ChainSetting("mushroom", 7_000, 7.0, ((1_500, 15), (15_000, 5)), (1_500, 5), 0.25),
    ChainSetting("adult24", 30_000, 13.0, ((3_000, 5), (12_000, 3)), (3_000, 4), 0.6),
    ChainSetting("kr-vs-kp", 2_500, 7.0, ((6_000, 5),), (1_500, 5), 0.15),
    ChainSetting("german-credit", 800, 7.0, ((6_000, 5),), (1_500, 5), 0.15),
    ChainSetting("tic-tac-toe", 750, 7.0, ((6_000, 5),), (1_500, 5), 0.15),
)
CHUNK = 5
TRIALS = (5_000, 3_000)  # steps of the chains that are followed: the thesis's trial on mushroom; Adult's own steps


def _points(size: Size) -> list[Point]:
    """Return a point per data set, law, budget, number of steps and chunk of seeds."""
    found = []
    for setting in SETTINGS[:2] if size == "quick" else SETTINGS:
        for law in (PLAIN, *LAWS):
            runs: tuple[tuple[int, int], ...] = (setting.tempered,) if law == "tempered_prior" else setting.runs
            if law == MINED or size == "quick":
                runs = runs[:1]
            budgets = (None,) if law == PLAIN else BUDGETS[::3] if size == "quick" else BUDGETS
            for epsilon in budgets:
                for steps, seeds in runs:
                    found += _chunks(setting, law, epsilon, steps, 1 if size == "quick" else seeds)
    return found + _traces(size)


def _traces(size: Size) -> list[Point]:
    """Return the points of chains that are followed: the thesis's data and steps of its trials, one split."""
    out = []
    for setting, steps in zip(SETTINGS[:2], TRIALS, strict=True):
        for law, epsilon in ((PLAIN, None), ("base_measure", 0.9), ("base_measure", 0.01))[
            : 1 if size == "quick" else 3
        ]:
            named: dict[str, Scalar] = {
                "part": "trace", "law": law, "epsilon": epsilon, "steps": 500 if size == "quick" else steps,
                "rows": setting.rows, "expected_length": setting.expected_length, "seed": 0,
            }  # fmt: skip
            out.append(Point(setting.dataset, named, setting.cost * steps / 1_000))
    return out


def _run_point(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return the rows of a point: fitted lists, or chains that are followed."""
    if "part" not in point.parameters:
        return run(point, frame, limits)
    assert frame is not None
    return _traced(point, shuffled(frame, point["rows"], point["seed"]), point["seed"], limits)


def _chunks(setting: ChainSetting, law: str, epsilon: float | None, steps: int, runs: int) -> list[Point]:
    """Return the points of one law with one budget and number of steps."""
    named: dict[str, Scalar] = {
        "law": law, "epsilon": epsilon, "steps": steps, "rows": setting.rows,
        "expected_length": setting.expected_length,
    }  # fmt: skip
    seconds = setting.cost * (5.0 if law == "tempered_prior" else 1.0) * steps / 1_000
    return in_chunks(setting.dataset, named, runs, CHUNK, seconds)


FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    "auc-by-epsilon": {"steps": (1_500, 3_000), "seeds": tuple(range(1, CHUNK + 1))},
    "auc-longer-chains": {"steps": (1_500, 15_000, 3_000, 12_000), "seeds": tuple(range(1, CHUNK + 1))},
    "auc-further-data": {"steps": (6_000, 1_500), "seeds": tuple(range(1, CHUNK + 1))},
    "mixing": {"seeds": tuple(range(1, CHUNK + 1))},
    **{name: {"part": ("trace",)} for name in ("traces", "convergence", "run-time")},
}


EXPERIMENT = Experiment(
    "belardo2018",
    "what differentially private Bayesian rule lists cost in AUC, and how long they are",
    "Belardo, Knowledge Discovery From Sensitive Data: Differentially Private Bayesian Rule Lists, Colgate University, "
    "2018: Tables 6.1, 6.2 and A.1.",
    _points,
    _run_point,
    _findings,
    figures=FIGURES,
)
