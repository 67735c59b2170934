"""Figures of the paper with the baselines that it leaves out, and what intervals leave open."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd

from recon.attacks.correlation.intervals import pair_interval
from recon.attacks.correlation.model_less import overlaps
from recon.experiments.correlation.published import BY_VARIABLES, NAMES
from recon.experiments.correlation.tables import GROUPS, by_correlation, linear_table, part, variables_table
from recon.experiments.drawing import Heat, Panel, PanelFigure, PlotLine

SHORT = {"logistic": "regression", "network": "network"}
SEEN = {"predictions": "predictions", "weights": "weights", "canonical": "canonical weights",
        "both": "predictions and weights"}  # fmt: skip
FINE = 100  # tiles on a side of the map that is exact
TILES = {"logistic": 8, "network": 5}  # on a side of the maps of cells that were run
CLOSED = "closed form"
TRAINED = "1,000 rows"  # of a target model
LEAST = 1 / 3  # the accuracy at which colours begin


def line(table: pd.DataFrame, label: str, y: str, x: str = "n", style: Literal["line", "dashed"] = "line") -> PlotLine:
    """Return a column as a line; gaps are left out."""
    some = table[table[y].notna()].sort_values(x)
    return PlotLine(label, some[x].astype(float).tolist(), some[y].astype(float).tolist(), style=style)


def by_variables(results: pd.DataFrame) -> PanelFigure:
    """Return accuracies on random targets by number of variables, mean and deviation over pairs of columns."""
    table, panels = variables_table(results), []
    for kind, title in NAMES.items():
        some = table[table["kind"] == kind].sort_values("n") if len(table) else table
        if not len(some):
            continue
        lines: list[PlotLine] = []
        for access in SEEN:
            one, seen = some[some["access"] == access], called(kind, access)
            if len(one):
                low, high = one["accuracy"] - one["std_of_pairs"], one["accuracy"] + one["std_of_pairs"]
                lines.append(PlotLine(seen, one["n"].tolist(), one["accuracy"].tolist(), low.tolist(), high.tolist()))
                theirs = BY_VARIABLES.get((kind, access), {})
                if theirs:
                    lines.append(PlotLine(f"{seen}, published", list(theirs), list(theirs.values()), style="points",
                                      like=seen))  # fmt: skip
        first = some.drop_duplicates("n")
        lines += [line(first, f"{called(kind, 'predictions')}, stacked", "stacked"),
                  line(first, "no model, same targets", "model_less")]  # fmt: skip
        if first["closed_form"].notna().any():
            lines.append(line(first, called(kind, CLOSED), "closed_form"))
        lines += [line(first, "no model, 100,000 targets", "model_less_many", style="dashed"),
                  line(first, "most frequent bin", "majority_many", style="dashed")]  # fmt: skip
        panels.append(Panel(f"{title}, {TRAINED}", "variables, the label included", "accuracy", lines))
    about = (
        "Share of pairs of columns whose correlation is put into the right one of three bins, by number of "
        "variables; random matrices (Algorithm 1), their correlations with the label known; bands: standard "
        "deviation over pairs."
    )
    return PanelFigure("by-variables", about, panels)


def called(kind: str, access: str) -> str:
    """Return a target model and what is seen of it in words."""
    return f"{SHORT[kind]}: {SEEN.get(access, access)}"


def over_grid(results: pd.DataFrame) -> PanelFigure:
    """Return maps of the accuracy over both correlations with the label: without a model exactly, with one by tiles."""
    rows = part(results, "grid")
    if not len(rows):
        return PanelFigure("grid", "", [])
    panels = [Panel("no model, exact", "ρ(X1, Y)", "ρ(X2, Y)", heat=exact_map())]
    for kind, title in NAMES.items():
        for access in ("predictions", "weights", CLOSED):
            some = rows[(rows["kind"] == kind) & (rows["access"] == access) & rows["meta"].isin(["regression", "none"])]
            if len(some):
                name = f"{title}: {SEEN.get(access, access)}, {some['cell'].nunique()} cells, {TRAINED}"
                panels.append(Panel(name, "ρ(X1, Y)", "ρ(X2, Y)", heat=tiled(some, TILES[kind])))
    about = (
        "Accuracy of the attack on the correlation of two columns by their correlations with the label (three bins, "
        "three variables): without a model by quadrature, with one the means of the cells run in each tile (white: no "
        "cell of the grid was run there). The paper's figures 4 and 5."
    )
    return PanelFigure("grid", about, panels)


def exact_map() -> Heat:
    """Return the accuracy of the attack without a model over the whole grid."""
    middles = (np.arange(FINE) + 0.5) * 2 / FINE - 1
    low, high = pair_interval(*np.meshgrid(middles, middles))
    values = overlaps(low, high).max(axis=-1) / (high - low)
    return Heat(middles.tolist(), middles.tolist(), values.tolist(), LEAST, 1.0)


def tiled(cells: pd.DataFrame, side: int) -> Heat:
    """Return the mean accuracy of the cells in every tile."""
    at = [np.minimum((cells[name].to_numpy(dtype=float) + 1) / 2 * side, side - 1).astype(int)
          for name in ("other", "one")]  # fmt: skip
    total, number = np.zeros((side, side)), np.zeros((side, side))
    np.add.at(total, tuple(at), cells["accuracy"].to_numpy(dtype=float))
    np.add.at(number, tuple(at), 1)
    middles = ((np.arange(side) + 0.5) * 2 / side - 1).tolist()
    values = [[t / n if n else None for t, n in zip(*pair, strict=True)]
              for pair in zip(total.tolist(), number.tolist(), strict=True)]  # fmt: skip
    return Heat(middles, middles, values, LEAST, 1.0)


def by_strength(results: pd.DataFrame) -> PanelFigure:
    """Return accuracies on cells by how strongly the columns correlate with the label."""
    table, panels = by_correlation(results), []
    for of, title in GROUPS.items():
        some = table[table["of"] == of] if len(table) else table
        lines: list[PlotLine] = []
        for kind in SHORT:
            for access in ("predictions", "weights", "canonical", CLOSED):
                one = some[(some["kind"] == kind) & (some["access"] == access)] if len(some) else some
                if len(one) and not (kind == "network" and access == "weights"):
                    lines.append(line(one, called(kind, access), "accuracy", "correlation"))
        first = some[(some["kind"] == "logistic") & (some["access"] == "predictions")] if len(some) else some
        if len(first):
            lines.append(line(first, "no model", "model_less", "correlation", "dashed"))
        if lines:
            by = f"{title} |correlation with the label|"
            panels.append(Panel(f"cells of the grid, {TRAINED}", by, "accuracy", lines))
    about = (
        "Accuracy on cells of the grid of three variables by the smaller, the larger and the mean of both columns' "
        "absolute correlations with the label (groups of .2)."
    )
    return PanelFigure("by-correlation", about, panels)


def intervals(results: pd.DataFrame) -> PanelFigure:
    """Return how wide intervals of correlations are, and what they are right about, given a linear model's weights."""
    table = linear_table(results)
    if not len(table):
        return PanelFigure("linear-intervals", "", [])
    panels = [
        Panel("random matrices, exact weights: mean width", "variables, the label included", "width", [
            line(table, "weights and correlations with the label", "width"),
            line(table, "correlations with the label", "width_without", style="dashed"),
        ]),
        Panel("random matrices, exact weights: bin named", "variables, the label included", "accuracy", [
            line(table, "weights and correlations with the label", "right"),
            line(table, "correlations with the label", "right_without", style="dashed"),
        ]),
    ]  # fmt: skip
    about = (
        "Exact intervals of the correlation of two columns, given the weights of a linear model of the whole law and "
        "the correlations with the label, or these alone; random matrices (Algorithm 1)."
    )
    return PanelFigure("linear-intervals", about, panels)


def without_model(results: pd.DataFrame) -> PanelFigure:
    """Return the exact accuracy of the model-less attack by one constraint, the other fixed."""
    rows = part(results, "model-less, exact")
    if not len(rows) or "what" not in rows:
        return PanelFigure("model-less", "", [])
    panels = []
    for bins, some in rows[rows["what"] == "at"].groupby("bins"):
        lines = [line(one, f"other column {other}", "accuracy", "one") for other, one in some.groupby("other")]
        panels.append(Panel(f"{bins} bins, exact", "correlation of one column with the label", "accuracy", lines))
    about = "Exact accuracy of the attack without a model, by the correlations of both columns with the label."
    return PanelFigure("model-less", about, panels)
