"""What the results say, each figure in a sentence with the paper's.

Figures of the paper with the baselines that it leaves out, and what intervals leave open.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd

from recon.attacks.correlation.intervals import pair_interval
from recon.attacks.correlation.model_less import overlaps
from recon.experiments.correlation import tables
from recon.experiments.correlation.tables import (
    BY_VARIABLES,
    CELLS,
    EXACT,
    GRID,
    GROUPS,
    MODEL_LESS,
    NAMES,
    NOT_RUN,
    SHADOWS,
    TARGETS,
    by_correlation,
    linear_table,
    part,
    variables_table,
)
from recon.experiments.drawing import Heat, Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings, ResultTable

SHORT = {"logistic": "regression", "network": "network"}
SEEN = {"predictions": "predictions", "weights": "weights", "canonical": "canonical weights",
        "both": "predictions and weights"}  # fmt: skip
FINE = 100  # tiles on a side of the map that is exact
TILES = {"logistic": 8, "network": 5}  # on a side of the maps of cells that were run
CLOSED = "closed form"
TRAINED = "1,000 rows"  # of a target model
LEAST = 1 / 3  # the accuracy at which colours begin


def _line(table: pd.DataFrame, label: str, y: str, x: str = "n", style: Literal["line", "dashed"] = "line") -> PlotLine:
    """Return a column as a line; gaps are left out."""
    some = table[table[y].notna()].sort_values(x)
    return PlotLine(label, some[x].astype(float).tolist(), some[y].astype(float).tolist(), style=style)


def _by_variables(results: pd.DataFrame) -> PanelFigure:
    """Return accuracies on random targets by number of variables, mean and deviation over pairs of columns."""
    table, panels = variables_table(results), []
    for kind, title in NAMES.items():
        some = table[table["kind"] == kind].sort_values("n") if len(table) else table
        if not len(some):
            continue
        lines: list[PlotLine] = []
        for access in SEEN:
            one, seen = some[some["access"] == access], _called(kind, access)
            if len(one):
                low, high = one["accuracy"] - one["std_of_pairs"], one["accuracy"] + one["std_of_pairs"]
                lines.append(PlotLine(seen, one["n"].tolist(), one["accuracy"].tolist(), low.tolist(), high.tolist()))
                theirs = BY_VARIABLES.get((kind, access), {})
                if theirs:
                    lines.append(PlotLine(f"{seen}, published", list(theirs), list(theirs.values()), style="points",
                                      like=seen))  # fmt: skip
        first = some.drop_duplicates("n")
        lines += [_line(first, f"{_called(kind, 'predictions')}, stacked", "stacked"),
                  _line(first, "no model, same targets", "model_less")]  # fmt: skip
        if first["closed_form"].notna().any():
            lines.append(_line(first, _called(kind, CLOSED), "closed_form"))
        lines += [_line(first, "no model, 100,000 targets", "model_less_many", style="dashed"),
                  _line(first, "most frequent bin", "majority_many", style="dashed")]  # fmt: skip
        panels.append(Panel(f"{title}, {TRAINED}", "variables, the label included", "accuracy", lines))
    about = (
        "Share of pairs of columns whose correlation is put into the right one of three bins, by number of "
        "variables; random matrices (Algorithm 1), their correlations with the label known; bands: standard "
        "deviation over pairs."
    )
    return PanelFigure("by-variables", about, panels)


def _called(kind: str, access: str) -> str:
    """Return a target model and what is seen of it in words."""
    return f"{SHORT[kind]}: {SEEN.get(access, access)}"


def _over_grid(results: pd.DataFrame) -> PanelFigure:
    """Return maps of the accuracy over both correlations with the label: without a model exactly, with one by tiles."""
    rows = part(results, "grid")
    if not len(rows):
        return PanelFigure("grid", "", [])
    panels = [Panel("no model, exact", "ρ(X1, Y)", "ρ(X2, Y)", heat=_exact_map())]
    for kind, title in NAMES.items():
        for access in ("predictions", "weights", CLOSED):
            some = rows[(rows["kind"] == kind) & (rows["access"] == access) & rows["meta"].isin(["regression", "none"])]
            if len(some):
                name = f"{title}: {SEEN.get(access, access)}, {some['cell'].nunique()} cells, {TRAINED}"
                panels.append(Panel(name, "ρ(X1, Y)", "ρ(X2, Y)", heat=_tiled(some, TILES[kind])))
    about = (
        "Accuracy of the attack on the correlation of two columns by their correlations with the label (three bins, "
        "three variables): without a model by quadrature, with one the means of the cells run in each tile (white: no "
        "cell of the grid was run there). The paper's figures 4 and 5."
    )
    return PanelFigure("grid", about, panels)


def _exact_map() -> Heat:
    """Return the accuracy of the attack without a model over the whole grid."""
    middles = (np.arange(FINE) + 0.5) * 2 / FINE - 1
    low, high = pair_interval(*np.meshgrid(middles, middles))
    values = overlaps(low, high).max(axis=-1) / (high - low)
    return Heat(middles.tolist(), middles.tolist(), values.tolist(), LEAST, 1.0)


def _tiled(cells: pd.DataFrame, side: int) -> Heat:
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


def _by_strength(results: pd.DataFrame) -> PanelFigure:
    """Return accuracies on cells by how strongly the columns correlate with the label."""
    table, panels = by_correlation(results), []
    for of, title in GROUPS.items():
        some = table[table["of"] == of] if len(table) else table
        lines: list[PlotLine] = []
        for kind in SHORT:
            for access in ("predictions", "weights", "canonical", CLOSED):
                one = some[(some["kind"] == kind) & (some["access"] == access)] if len(some) else some
                if len(one) and not (kind == "network" and access == "weights"):
                    lines.append(_line(one, _called(kind, access), "accuracy", "correlation"))
        first = some[(some["kind"] == "logistic") & (some["access"] == "predictions")] if len(some) else some
        if len(first):
            lines.append(_line(first, "no model", "model_less", "correlation", "dashed"))
        if lines:
            by = f"{title} |correlation with the label|"
            panels.append(Panel(f"cells of the grid, {TRAINED}", by, "accuracy", lines))
    about = (
        "Accuracy on cells of the grid of three variables by the smaller, the larger and the mean of both columns' "
        "absolute correlations with the label (groups of .2)."
    )
    return PanelFigure("by-correlation", about, panels)


def _intervals(results: pd.DataFrame) -> PanelFigure:
    """Return how wide intervals of correlations are, and what they are right about, given a linear model's weights."""
    table = linear_table(results)
    if not len(table):
        return PanelFigure("linear-intervals", "", [])
    panels = [
        Panel("random matrices, exact weights: mean width", "variables, the label included", "width", [
            _line(table, "weights and correlations with the label", "width"),
            _line(table, "correlations with the label", "width_without", style="dashed"),
        ]),
        Panel("random matrices, exact weights: bin named", "variables, the label included", "accuracy", [
            _line(table, "weights and correlations with the label", "right"),
            _line(table, "correlations with the label", "right_without", style="dashed"),
        ]),
    ]  # fmt: skip
    about = (
        "Exact intervals of the correlation of two columns, given the weights of a linear model of the whole law and "
        "the correlations with the label, or these alone; random matrices (Algorithm 1)."
    )
    return PanelFigure("linear-intervals", about, panels)


def _without_model(results: pd.DataFrame) -> PanelFigure:
    """Return the exact accuracy of the model-less attack by one constraint, the other fixed."""
    rows = part(results, "model-less, exact")
    if not len(rows) or "what" not in rows:
        return PanelFigure("model-less", "", [])
    panels = []
    for bins, some in rows[rows["what"] == "at"].groupby("bins"):
        lines = [_line(one, f"other column {other}", "accuracy", "one") for other, one in some.groupby("other")]
        panels.append(Panel(f"{bins} bins, exact", "correlation of one column with the label", "accuracy", lines))
    about = "Exact accuracy of the attack without a model, by the correlations of both columns with the label."
    return PanelFigure("model-less", about, panels)


CLEAR = 2.0  # standard errors from which a difference is called one
Lines = list[dict[Any, Any]]


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all results that are there."""
    grid, variables = tables.grid_table(results), tables.variables_table(results)
    found = [
        ResultTable("grid", grid,
              f"Three variables, cells of width .01 spread evenly (the paper: all {CELLS:,}): accuracy by folds of "
              "the shadow models and its standard error over cells; `model_less`, `majority`: on the same models, "
              "without a released model and by the most frequent bin; `further_...`: on models that took no part; "
              "`gain`: of the stacked attack over the model-less one there; `median_error`: of the correlation "
              "itself."),
        ResultTable("by-variables", variables,
              "Random matrices (Algorithm 1) by number of variables, all pairs of columns: accuracy, standard "
              "deviation over pairs, standard error over targets; `expected`: by folds of the shadow models; "
              "`..._many`: of 100,000 targets; `closed_form`: without shadow models."),
        ResultTable("model-less", tables.model_less_table(results), "The attack without a model, three variables."),
        ResultTable("model-less-by-variables", tables.without_table(results),
              "The same on random matrices (Algorithm 1), by number of variables: mean and deviation over pairs of "
              "columns, and the most frequent bin of each pair."),
        ResultTable("by-correlation", tables.by_correlation(results),
              "Accuracy on cells by absolute correlations with the label."),
        ResultTable("linear-intervals", tables.linear_table(results),
              "Exact intervals of a linear model of the whole law: mean width with and without the weights, share "
              "that holds the truth, share within one bin, share of bins named right."),
        ResultTable("trainers", tables.trainers_table(results),
              "Three variables, predictions of networks, by how they were trained: accuracy and deviation over cells."),
        ResultTable("marginals", tables.marginals_table(results),
              "Copulas with other marginals beside a standard normal: Pearson's correlation if the copula has the "
              "wanted one, the copula's that gives it, and what data of that copula have."),
    ]  # fmt: skip
    drawn = [
        _over_grid(results),
        _by_variables(results),
        _by_strength(results),
        _intervals(results),
        _without_model(results),
    ]
    lines = grid.to_dict("records")
    sentences = [
        *_without_sentences(results),
        *_grid_sentences(lines),
        *_trainer_sentences(tables.trainers_table(results).to_dict("records")),
        *_access_sentences(lines),
        *_stacked_sentences(lines),
        *_variable_sentences(variables.to_dict("records")),
        *_strength_sentences(tables.by_correlation(results)),
        *_interval_sentences(tables.linear_table(results).to_dict("records")),
        *_marginal_sentences(tables.marginals_table(results)),
        NOT_RUN,
    ]
    return ExperimentFindings([t for t in found if len(t.frame)], [f for f in drawn if f.panels], sentences)


def _without_sentences(results: pd.DataFrame) -> list[str]:
    """Return the model-less attack beside the paper, and what constants reach."""
    out = []
    for line in tables.part(results, "model-less, exact").to_dict("records"):
        if line["what"] == "whole" and line["bins"] == 3:
            masses = 1 - line["least_bin"] - line["most_bin"]
            out.append(
                f"Without a model, three variables: right on {line['accuracy']:.6f} of the grid by quadrature "
                f"(reference {EXACT}), published {MODEL_LESS:.3f}. The bins have masses {line['least_bin']:.4f}, "
                f"{masses:.4f}, {line['most_bin']:.4f}: always naming the middle one is right on "
                f"{line['majority']:.3f}, not on a third."
            )
    for line in tables.part(results, "model-less, cells").to_dict("records"):
        out.append(
            f"The paper's protocol ({line['cells']:,.0f} cells, {line['matrices']:.0f} matrices each) gives "
            f"{line['accuracy']:.4f} as the sampled intervals promise, published {MODEL_LESS:.3f}; "
            f"{line['right']:.4f} of the matrices are in the bin named."
        )
    return out


def _grid_sentences(grid: Lines) -> list[str]:
    """Return the better attack model of every kind and access beside the published accuracy, and the closed form."""
    out = []
    for one in GRID:
        ours = [line for line in grid if line["kind"] == one.kind and line["access"] == one.access]
        if not ours:
            continue
        best = max(ours, key=lambda line: line["accuracy"])
        apart = (best["accuracy"] - one.accuracy) / best["standard_error"] if best["standard_error"] else np.nan
        out.append(
            f"Three variables, {NAMES[one.kind]}, {SEEN[one.access]}: accuracy {best['accuracy']:.3f} ± "
            f"{best['standard_error']:.3f} (standard error over {best['cells']} cells, {best['shadows']:.0f} shadow "
            f"models each, attack model: {best['meta']}), published {one.accuracy:.3f} (all cells, k = {SHADOWS}): "
            f"{apart:+.1f} standard errors; on the same cells without a model {best['model_less']:.3f}, the most "
            f"frequent bin of each cell {best['majority']:.3f}."
        )
    formula = next((line for line in grid if line["access"] == "closed form"), None)
    if formula:
        out.append(
            f"Closed form, no shadow model: {formula['accuracy']:.3f} ± {formula['standard_error']:.3f} on the same "
            "cells from the two weights of a logistic regression (not in the paper), median error of the correlation "
            f"{formula['median_error']:.3f} (mean over cells)."
        )
    return out


def _trainer_sentences(table: Lines) -> list[str]:
    """Return what the training of networks does to their predictions."""
    if not table:
        return []
    theirs = next(one.accuracy for one in GRID if (one.kind, one.access) == ("network", "predictions"))
    parts = ", ".join(f"{line['trainer']} {line['accuracy']:.3f}" for line in table)
    return [
        f"What the predictions of networks give away depends on how they are trained ({table[0]['cells']} cells, "
        f"{table[0]['shadows']} shadow models each): {parts}; published {theirs:.3f}. Batches, "
        "initial weights and by what training stops are not in the description that this follows."
    ]


def _access_sentences(grid: Lines) -> list[str]:
    """Return in a sentence per kind what no access, a black box and a white box are worth."""
    out = []
    for kind, name in NAMES.items():
        ours = [line for line in grid if line["kind"] == kind]
        best = {a: max(line["accuracy"] for line in ours if line["access"] == a) for a in SEEN
                if any(line["access"] == a for line in ours)}  # fmt: skip
        if best:
            least = ours[0]["model_less"]
            seen = ", ".join(f"{SEEN[a]} {value:.3f}" for a, value in best.items())
            word = "more" if best["both"] > best["predictions"] + 0.005 else "no more"
            out.append(
                f"Access, {name}: none {least:.3f}, {seen}; weights beside predictions tell {word} than predictions "
                "alone (the paper finds no more)."
            )
    return out


def _stacked_sentences(grid: Lines) -> list[str]:
    """Return whether the stacked attack keeps above the model-less one on further models."""
    some = [line for line in grid if not np.isnan(line["gain"])]
    if not some:
        return []
    worst = min(some, key=lambda line: line["gain"])
    text = (
        f"Stacked attack, three variables, on models that took no part: of {len(some)} kinds, accesses and attack "
        f"models the least gain over the attack without a model is {worst['gain']:+.3f} ± {worst['gain_error']:.3f} "
        f"({NAMES[worst['kind']]}, {SEEN[worst['access']]})"
    )
    plain = [line for line in some if line["further_model_based"] < line["further_model_less"]]
    named = ", ".join(
        f"{NAMES[p['kind']]}, {SEEN[p['access']]} ({p['further_model_based']:.3f} < {p['further_model_less']:.3f}, "
        f"stacked {p['further_stacked']:.3f})"
        for p in plain
    )
    return [text + (f"; the model-based attack alone falls below it: {named}." if plain else ".")]


def _variable_sentences(variables: Lines) -> list[str]:
    """Return accuracies by number of variables beside the published ones, and whether they fall."""
    out = []
    for (kind, access), theirs in BY_VARIABLES.items():
        ours = {line["n"]: line for line in variables if line["kind"] == kind and line["access"] == access}
        shared = [n for n in sorted(theirs) if n in ours]
        if not shared:
            continue
        parts = [
            f"{ours[n]['accuracy']:.3f} ± {ours[n]['standard_error']:.3f} (published {theirs[n]:.3f}; no model "
            f"{ours[n]['model_less']:.3f}) at n = {n}"
            for n in shared
        ]
        series = [ours[n] for n in sorted(ours)]
        rises = [
            f"{a['n']} to {b['n']}" for a, b in pairwise(series)
            if b["accuracy"] - a["accuracy"] > CLEAR * np.hypot(a["standard_error"], b["standard_error"])
        ]  # fmt: skip
        counts = sorted({line["targets"] for line in series})
        count = " to ".join(str(n) for n in dict.fromkeys((counts[0], counts[-1])))
        course = (
            f"from {series[0]['accuracy']:.3f} at n = {series[0]['n']} to {series[-1]['accuracy']:.3f} at n = "
            f"{series[-1]['n']}, clearly rising {'from n = ' + ', '.join(rises) if rises else 'nowhere'}"
        )
        out.append(
            f"By number of variables, {NAMES[kind]}, {SEEN[access]}: {'; '.join(parts)} (the paper: {TARGETS:,} "
            f"targets each, k = {SHADOWS}, here {count} and {series[0]['shadows']}); {course}."
        )
    behind = [line for line in variables if line["gain"] < -CLEAR * line["gain_error"]]
    below = [line for line in variables if line["accuracy"] < line["model_less"]]
    if variables:
        worst = min(variables, key=lambda line: line["gain"])
        said = f"in {len(behind)} of {len(variables)} settings clearly below" if behind else "nowhere clearly below"
        at_worst = f"{worst['gain']:+.3f} ± {worst['gain_error']:.3f}"
        text = (
            f"Stacked attack by number of variables: {said} the model-less one (at worst {at_worst}: "
            f"{NAMES[worst['kind']]}, {SEEN[worst['access']]}, n = {worst['n']}); the model-based one alone is below "
            f"it in {len(below)} of {len(variables)} settings."
        )
        theirs = BY_VARIABLES["logistic", "predictions"]
        last = next((line for line in variables if line["n"] == max(theirs) and line["model_less_many"]), None)
        if last is not None:
            text += (
                f" The paper's falls to {theirs[max(theirs)]:.3f} at n = {max(theirs)} (logistic regression, "
                f"predictions); without any model {last['model_less_many']:.3f} is reached there."
            )
        out.append(text)
    formula = [
        f"{line['closed_form']:.3f} ({line['accuracy']:.3f}) at n = {line['n']}"
        for line in sorted(variables, key=lambda line: line["n"])
        if (line["kind"], line["access"]) == ("logistic", "weights")
    ]
    if formula:
        out.append(
            f"Closed form from the weights of one sample, without shadow models (with them): {', '.join(formula)}."
        )
    return out


def _strength_sentences(table: pd.DataFrame) -> list[str]:
    """Return where attacks gain: at weak or at strong correlations with the label."""
    out = []
    for kind, name in NAMES.items():
        some = (
            table[(table["kind"] == kind) & (table["access"] == "predictions") & (table["of"] == "greatest")]
            if len(table)
            else table
        )
        if len(some) > 1:
            some = some.sort_values("correlation")
            first, last = some.iloc[0], some.iloc[-1]
            out.append(
                f"By the larger |correlation with the label|, {name}, predictions: {first['accuracy']:.3f} (no model "
                f"{first['model_less']:.3f}) around {first['correlation']:.1f}, {last['accuracy']:.3f} "
                f"({last['model_less']:.3f}) around {last['correlation']:.1f}."
            )
    return out


def _interval_sentences(table: Lines) -> list[str]:
    """Return how soon exact weights stop narrowing intervals."""
    if not table:
        return []
    parts = [f"{line['width']:.3f} of {line['width_without']:.3f} at n = {line['n']}" for line in table]
    held = min(line["held"] for line in table)
    said = "all hold the truth" if held == 1 else f"at least {held:.4f} of them hold the truth"
    return [
        "Why accuracy falls with n: exact weights of a linear model are n - 1 equations in (n - 1)(n - 2)/2 "
        f"correlations and a scale. The intervals that they leave are wide {', '.join(parts)} on average ({said})."
    ]  # fmt: skip


def _marginal_sentences(table: pd.DataFrame) -> list[str]:
    """Return how far Pearson's correlation is from the copula's with other marginals."""
    if not len(table) or "unadjusted" not in table:
        return []
    apart = (table["unadjusted"] - table["wanted"]).abs()
    missed = (table["measured"] - table["wanted"]).abs().max()
    worst = table.to_dict("records")[int(apart.argmax())]
    return [
        f"Other marginals: Pearson's correlation is not the copula's ({worst['marginal']}: {worst['unadjusted']:.3f} "
        f"where {worst['wanted']:.1f} is wanted); adjusted, data of {worst['rows']:,.0f} rows are {missed:.3f} off at "
        "most."
    ]
