"""What the results of the four questions say: tables, figures and sentences of correlations and explanations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.attacking.correlations import DEFINITE, DISCRETE, WORLDS
from recon.attacks.correlation.model_less import bin_of, exact_accuracy
from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings, ResultTable
from recon.experiments.joint.membership_findings import memberships, noise
from recon.experiments.splits import NAMES

NOISE = ("noise epsilon=10", "noise epsilon=1", "noise epsilon=0.1")
ATTACKERS = (DEFINITE, DISCRETE, *NOISE[::-1], WORLDS)
SKETCHED = dict(zip((DEFINITE, DISCRETE, WORLDS, *NOISE), (1.887, 0.913, 0.506, 0.507, 0.517, 0.614), strict=True))
ROUNDING = 1e-9
DRAWN = "greedy rule list, 4 rules, width 1"
MODEL = ["dataset", "columns", "model", "counted"]


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all questions that have results."""
    found = []
    for question, of in QUESTIONS.items():
        some = results[results["question"] == question]
        if len(some):
            found.append(of(some.reset_index(drop=True)))
    return ExperimentFindings(
        [table for one in found for table in one.tables if len(table.frame)],
        [figure for one in found for figure in one.figures if figure.panels],
        [sentence for one in found for sentence in one.sentences],
    )


def model_names(some: pd.DataFrame) -> list[str]:
    """Return what each line's model is called: its learner and size."""
    return [model_name(line) for line in some.to_dict("records")]


def model_name(line: dict[Any, Any]) -> str:
    """Return what a line's model is called."""
    size = f"{line['rules']:.0f} rules" if "list" in line["learner"] else f"depth {line['depth']:.0f}"
    width = f", width {line['width']:.0f}" if line["learner"] == "greedy rule list" else ""
    return f"{line['learner']}, {size}{width}"


def correlations(some: pd.DataFrame) -> ExperimentFindings:
    """Return how wide the attackers' intervals are, whether they hold the truth, and what they say of its bin."""
    some = some.assign(model=model_names(some))
    table = widths(some)
    about = (
        "Intervals of correlations by attacker, each knowing what the one before knows (see the page): columns that "
        "the model tests, pairs of them, mean width, shares of intervals that hold the truth, that are exact (both "
        "ends attained), whose bin (negative, low, positive) is the true one, that lie in one bin. `covered`: draws of "
        "noise inside their joint 95 % intervals. `columns` four: those of the sketch, tested or not."
    )
    tables = [ResultTable("correlations", table, about)]
    sketch = table[table["columns"] == "four"]
    if len(sketch):
        wide = sketch.assign(sketch=sketch["attacker"].map(SKETCHED))
        wide = wide.pivot_table(index=["attacker", "sketch"], columns=["counted", "model"], values="width", sort=False)
        wide.columns = pd.Index([": ".join(map(str, pair)) for pair in wide.columns])
        said = (
            "Mean width over the six pairs of the sketch's four columns of COMPAS: the sketch (a list of four rules "
            "that it does not print) and greedy lists on these columns."
        )
        tables.append(ResultTable("correlations-sketch", wide.reset_index(), said))
    return ExperimentFindings(tables, [width_figure(table)], correlation_sentences(some, table))


def widths(some: pd.DataFrame) -> pd.DataFrame:
    """Return a line per model, way of counting and attacker; means over pairs and draws."""
    out = []
    for key, part in some.groupby(MODEL, sort=False):
        for attacker in ATTACKERS:
            lines = part[part["attacker"] == attacker]
            if not len(lines):
                continue
            by_draw = lines.drop_duplicates("draw")["covered"].dropna()
            out.append(dict(zip(MODEL, key, strict=True)) | {
                "attacker": attacker, "columns_used": int(lines["columns_used"].iloc[0]),
                "rows": int(lines["rows"].iloc[0]),
                "pairs": len(lines.drop_duplicates(["first", "second"])), "width": lines["interval"].mean(),
                "holds": lines["holds"].astype(float).mean(), "exact": (lines["status"] == "exact").mean(),
                "bin_right": lines["bin_right"].astype(float).mean(),
                "bin_sure": lines["bin_sure"].astype(float).mean(), "draws": lines["draw"].nunique(),
                "covered": int(by_draw.astype(bool).sum()) if len(by_draw) else None,
            })  # fmt: skip
    return pd.DataFrame(out)


def width_figure(table: pd.DataFrame) -> PanelFigure:
    """Return mean widths against epsilon, the attackers without noise dashed."""
    panels = []
    wanted = table[(table["columns"] == "used") & table["model"].str.startswith(DRAWN)]
    for (dataset, counted, model), part in wanted.groupby(["dataset", "counted", "model"], sort=False):
        by = part.set_index("attacker")["width"]
        noisy = [name for name in NOISE if name in by]
        x = [float(name.split("=")[1]) for name in noisy]
        lines = [
            PlotLine(n, x, [float(by[n])] * len(x), style="dashed") for n in (DEFINITE, DISCRETE, WORLDS) if n in by
        ]
        lines.append(PlotLine("worlds under noise", x, [float(by[name]) for name in noisy]))
        name = f"{NAMES[str(dataset)]}, {int(part['rows'].iloc[0]):,} rows"
        title = f"{name}, {counted}: {str(model).partition(', width')[0]}"
        panels.append(Panel(title, "epsilon", "mean width", lines, "log"))
    about = (
        "Mean width of the interval of the correlation of two columns that a released model tests, by what the "
        "attacker knows; below: worlds under discrete Laplace noise of each epsilon, joint confidence 95 %. 2: nothing "
        "is known."
    )
    return PanelFigure("correlations", about, panels)


def correlation_sentences(some: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Return whether the truth is held, whether intervals are nested, how wide they are, and what they say of bins."""
    sure, noisy = some[some["confidence"] == 1], some[some["confidence"] < 1]
    inside = noisy[noisy["covered"].astype(bool)]
    nested, pairs, other = nesting(some)
    out = [
        f"Correlations: the true one lies in {int(sure['holds'].sum()):,} of {len(sure):,} intervals without noise, in "
        f"{int(inside['holds'].sum()):,} of {len(inside):,} of draws whose noise lies inside its joint 95 % intervals "
        f"and in {int(noisy['holds'].sum()):,} of all {len(noisy):,} with noise.",
        f"Correlations: with each attacker's interval inside that of the one who knows less (positive definite, exact "
        f"discrete, worlds under noise, worlds) {nested:,} of {pairs:,} chains of a pair and a draw are nested; "
        f"of draws whose noise lies outside its joint intervals, about which nothing follows, there are {other:,}.",
    ]
    lists = table[(table["columns"] == "used") & table["model"].str.contains("list")]
    for (dataset, counted), part in lists.groupby(["dataset", "counted"], sort=False):
        by = part.groupby("attacker")["width"].mean()
        shown = ", ".join(f"{name} {by[name]:.3f}" for name in ATTACKERS if name in by)
        where = f"{NAMES[str(dataset)]}, rule lists, {counted!s}"
        out.append(f"Correlations, {where}: mean width {shown}.")
    used = some[some["columns"] == "used"].astype({"bin_right": float, "bin_sure": float})
    rates: dict[Any, dict[Any, Any]] = used.groupby("attacker")[["bin_right", "bin_sure"]].mean().to_dict("index")
    said = [f"{name} {rates[name]['bin_right']:.0%} right, {rates[name]['bin_sure']:.0%} for certain"
            for name in (DEFINITE, DISCRETE, WORLDS) if name in rates]  # fmt: skip
    if said:
        truths = used.drop_duplicates(["first", "second", *MODEL])["truth"].to_numpy(dtype=np.float64)
        commonest = np.bincount(bin_of(truths)).max() / len(truths)
        out.append(
            f"Bins (negative, low, positive) of the columns that models test: {'; '.join(said)}; on the uniform grid "
            f"of the literature the first of them is right in {exact_accuracy(side=400):.1%}. Here the commonest bin "
            f"alone is right in {commonest:.0%}."
        )
    return [*out, *sketch_sentences(table)]


def nesting(some: pd.DataFrame) -> tuple[int, int, int]:
    """Return how many chains (a pair, a draw, an epsilon) are nested, of how many, and draws left out.

    A draw whose noise lies outside its joint intervals is left out: it need not hold what exact counts leave.
    """
    keys = [*MODEL, "first", "second"]
    ends = {name: some[some["attacker"] == name].set_index(keys)[["low", "high"]] for name in
            (DEFINITE, DISCRETE, WORLDS)}  # fmt: skip
    nested = total = other = 0
    for _, part in some[some["attacker"].isin(NOISE)].groupby(["attacker", "draw"]):
        covered = part["covered"].astype(bool)
        other += int(part.loc[~covered].groupby(MODEL).ngroups)
        lines = part[covered].set_index(keys)[["low", "high"]]
        chain = [ends[DEFINITE].loc[lines.index], ends[DISCRETE].loc[lines.index], lines, ends[WORLDS].loc[lines.index]]
        good = np.ones(len(lines), dtype=bool)
        for outer, inner in pairwise(chain):
            good &= (outer["low"].to_numpy() <= inner["low"].to_numpy() + ROUNDING) & (
                inner["high"].to_numpy() <= outer["high"].to_numpy() + ROUNDING
            )
        nested, total = nested + int(good.sum()), total + len(lines)
    return nested, total, other


def sketch_sentences(table: pd.DataFrame) -> list[str]:
    """Return our widths on the sketch's columns beside the sketch's."""
    some = table[(table["columns"] == "four") & (table["counted"] == "bits")]
    out = []
    for model, part in some.groupby("model", sort=False):
        by = part.set_index("attacker")["width"]
        shown = ", ".join(f"{name} {by[name]:.3f} ({SKETCHED[name]:.3f})" for name in ATTACKERS if name in by)
        out.append(
            f"Correlations on the sketch's four columns of COMPAS ({model}; the sketch's list is not printed): {shown}."
        )
    return out


def explanations(some: pd.DataFrame) -> ExperimentFindings:
    """Return how many bits explanations with their counts take away, beside REVEAL's difference of recalls."""
    shown = ["dataset", "rows", "what", "explained", "statements", "distinct", "before_per_row", "removed_low",
             "removed_high", "exact", "engine", "recall_black_box", "recall_explainer", "delta_recall",
             "fpr_black_box", "fpr_explainer", "auc_black_box", "auc_explainer", "fidelity"]  # fmt: skip
    table = some.reindex(columns=shown).sort_values(shown[:4], ignore_index=True)
    table = table.astype(dict.fromkeys(["rows", "explained", "statements", "distinct"], int))
    about = (
        "Explanations of a forest of 100 trees, released with the numbers of training rows per class that meet each "
        "rule (LORE: `statements` different rules of so many explained records; TREPAN: leaves of one tree): bits "
        "removed of `before_per_row` per row (rows in order, true attributes), exact or between rigorous bounds; "
        "beside them Shokri's attack on the forest and on its explainers (local ones: the ensemble), shadow data "
        "'noise'."
    )
    panels = []
    for dataset, part in table.groupby("dataset", sort=False):
        lines = []
        for rows, of in part[part["what"] == "LORE"].groupby("rows"):
            low, high = of["removed_low"].tolist(), of["removed_high"].tolist()
            lines.append(
                PlotLine(f"{rows} rows", of["explained"].tolist(), low, low, high, [not e for e in of["exact"]])
            )
        for rows, of in part[part["what"] == "TREPAN"].groupby("rows"):
            x = [0.0, float(part["explained"].max())]
            lines.append(PlotLine(f"TREPAN, {rows} rows", x, [float(of["removed_low"].iloc[0])] * 2, style="dashed",
                              like=f"{rows} rows"))  # fmt: skip
        title = f"{NAMES[str(dataset)]}, {' and '.join(map(str, sorted(set(part['rows']))))} rows"
        panels.append(Panel(title, "explained records", "bits removed per row", lines))
        recall = [PlotLine(f"{rows} rows", of["explained"].tolist(), of["delta_recall"].tolist())
                  for rows, of in part[part["what"] == "LORE"].groupby("rows")]  # fmt: skip
        panels.append(Panel(title, "explained records", "delta recall", recall))
    drawn = (
        "Left: bits removed per training row by local explanations with their counts, at least (band: and at most), "
        "dashed: by TREPAN's tree. Right: REVEAL's delta recall of the ensemble of attacks on the same surrogates."
    )
    return ExperimentFindings([ResultTable("explanations", table, about)], [PanelFigure("explanations", drawn, panels)],
                    explanation_sentences(table))  # fmt: skip


def explanation_sentences(table: pd.DataFrame) -> list[str]:
    """Return per data set and number of rows what explanations take away, and what the difference of recalls says."""
    out = []
    for (dataset, rows), part in table.groupby(["dataset", "rows"], sort=False):
        shown = "; ".join(amount(line) for line in part.to_dict("records"))
        out.append(
            f"Explanations, {NAMES[str(dataset)]}, a forest of {rows} rows, of {part['before_per_row'].iloc[0]:.2f} "
            f"bits per row: {shown}."
        )
    known = table.dropna(subset=["delta_recall"])
    if len(known):
        local = known[known["what"] == "LORE"]
        spread = ", ".join(f"{what} {part['delta_recall'].min():+.2f} to {part['delta_recall'].max():+.2f}"
                           for what, part in known.groupby("what"))  # fmt: skip
        out.append(
            f"Explanations: delta recall of the same surrogates is {spread}, their AUC "
            f"{known['auc_explainer'].min():.3f} to {known['auc_explainer'].max():.3f} (the forests' "
            f"{known['auc_black_box'].min():.3f} to {known['auc_black_box'].max():.3f}): "
            f"it {agreement(local)} as more explanations take more bits away."
        )
    return out


def amount(line: dict[Any, Any]) -> str:
    """Return in words what one set of explanations takes away."""
    what = "TREPAN's tree" if line["what"] == "TREPAN" else f"{line['explained']} explanations"
    low, high = line["removed_low"], line["removed_high"]
    return f"{what} remove{'s' if what.startswith('T') else ''} " + (
        f"{low:.2f}" if line["exact"] else f"{low:.2f} to {high:.2f}"
    )


def agreement(local: pd.DataFrame) -> str:
    """Return whether the difference of recalls grows with the number of explanations."""
    steps = [np.diff(part.sort_values("explained")["delta_recall"]) for _, part in local.groupby(["dataset", "rows"])]
    every = np.concatenate(steps) if steps else np.zeros(0)
    if not len(every):
        return "was not measured for several numbers"
    grown = int((every > 0).sum())
    return f"grows in {grown} of {len(every)} steps"


QUESTIONS: dict[str, Callable[[pd.DataFrame], ExperimentFindings]] = {
    "correlations": correlations,
    "membership": memberships,
    "explanations": explanations,
    "noise": noise,
}
