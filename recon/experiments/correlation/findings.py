"""What the results say, each figure in a sentence with the paper's.

Figures of the paper with the baselines that it leaves out, and what intervals leave open.

Results as tables: means over cells and over targets, beside baselines and the published figures.

Figures of the paper, to stand beside ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd

from recon.attacks.correlation.intervals import pair_interval
from recon.attacks.correlation.model_less import overlaps
from recon.experiments.drawing import Heat, Panel, PanelFigure, PlotLine
from recon.experiments.experiment import ExperimentFindings
from recon.experiments.findings import Texts

MODEL_LESS = 0.560  # three variables, the grid of 40,000 cells, k = 1500
EXACT = 0.563027  # not in the paper: what that estimates, by quadrature
CELLS, SHADOWS, TARGETS = 40_000, 1500, 1000  # of the paper's grid; shadow models; targets by number of variables


@dataclass(frozen=True)
class AccuracyGrid:
    """Accuracy over the grid of three variables, by kind of the model and what the attacker sees."""

    kind: str
    access: str
    accuracy: float


GRID = (
    AccuracyGrid("logistic", "predictions", 0.956),
    AccuracyGrid("logistic", "weights", 0.944),
    AccuracyGrid("logistic", "both", 0.956),
    AccuracyGrid("network", "predictions", 0.822),
    AccuracyGrid("network", "weights", 0.562),
    AccuracyGrid("network", "canonical", 0.653),
    AccuracyGrid("network", "both", 0.821),
)
# (kind, access) -> number of variables -> accuracy on random targets, mean over pairs of columns
BY_VARIABLES = {
    ("logistic", "predictions"): {3: 0.962, 6: 0.600, 10: 0.500},
    ("logistic", "weights"): {3: 0.950, 6: 0.600, 10: 0.560},
    ("network", "predictions"): {3: 0.819, 6: 0.624, 10: 0.555},
}

NOT_RUN = (
    "Not reproduced: all 40,000 cells with k = 1500 (60 million logistic regressions, as many networks; cells spread "
    "evenly over the grid stand for them), and 1000 targets by number of variables with k = 1500 (fewer of both). The "
    "real data sets of the paper's last experiments, and their marginals, are not to be had offline: copulas take any "
    "marginals, but the experiments here are the synthetic ones with standard normal marginals."
)
NAMES = {"logistic": "logistic regression", "network": "network (20, 10)"}


ANSWERS = ("model_based", "model_less", "stacked")
KEYS = ["kind", "access", "meta"]
BY = ["kind", "n", "access"]
WHOLE_COLUMNS = (
    "n",
    "bins",
    "shadows",
    "cell",
    "target",
    "rows",
    "cells",
    "matrices",
    "targets",
)  # gaps of other parts made them floats
STEP = 0.2  # of |correlation|: cells are grouped by it
GROUPS = {"least": "the smaller", "greatest": "the larger", "mean": "the mean"}


def part(results: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of one part, without the columns that it does not have."""
    found = results[results["part"] == name].dropna(axis=1, how="all")
    return found.astype({column: np.int64 for column in WHOLE_COLUMNS if column in found})


def grid_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies on the cells: a line per kind of model, access and attack model."""
    rows = part(results, "grid")
    if not len(rows):
        return rows
    rows = rows.reindex(columns=[*rows.columns, *(c for c in ("error", "trusted") if c not in rows)])
    names = {f"further_{name}": name for name in ANSWERS}
    rows = rows.assign(gain=rows["further_stacked"] - rows["further_model_less"])
    table = rows.groupby(KEYS, as_index=False, sort=False).agg(
        cells=("cell", "nunique"), shadows=("shadows", "first"), accuracy=("accuracy", "mean"), std=("accuracy", "std"),
        model_less=("model_less", "mean"), majority=("majority", "mean"), median_error=("error", "mean"),
        **{f"further_{name}": (column, "mean") for column, name in names.items()}, gain=("gain", "mean"),
        gain_std=("gain", "std"),
    )  # fmt: skip
    root = np.sqrt(table["cells"])
    table.insert(5, "standard_error", table.pop("std") / root)
    table["gain_error"] = table.pop("gain_std") / root
    theirs = {(one.kind, one.access): one.accuracy for one in GRID}
    table["published"] = [theirs.get((line["kind"], line["access"])) for line in table.to_dict("records")]
    return table


def _of_targets(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of random targets with what each attack is right about."""
    rows = part(results, "targets")
    if not len(rows):
        return rows
    answers = [*ANSWERS, *(["closed_form"] if "closed_form" in rows else [])]
    return rows.assign(**{f"right_{name}": rows[name].eq(rows["truth"]).where(rows[name].notna()).astype(float)
                          for name in answers})  # fmt: skip


def variables_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies by number of variables: means over pairs with their deviation, errors over targets."""
    rows, lines = _of_targets(results), []
    if not len(rows):
        return rows
    whole = part(results, "model-less, variables")
    exact = {line["n"]: line for line in whole.to_dict("records")}
    for names, some in rows.groupby(BY, sort=False):
        kind, n, access = str(names[0]), int(float(str(names[1]))), str(names[2])
        by_pair = some.groupby(["i", "j"])["right_model_based"].mean()
        by_target = some.groupby("target").mean(numeric_only=True)
        count, gain = len(by_target), by_target["right_stacked"] - by_target["right_model_less"]
        line: dict[str, Any] = {
            "kind": kind, "n": n, "access": access, "targets": count, "pairs": len(by_pair),
            "shadows": int(some["shadows"].iloc[0]), "accuracy": by_pair.mean(),
            "std_of_pairs": by_pair.std(ddof=0), "standard_error": by_target["right_model_based"].std() / count**0.5,
            "expected": some["expected"].mean(), "model_less": some["right_model_less"].mean(),
            "stacked": some["right_stacked"].mean(), "gain": gain.mean(), "gain_error": gain.std() / count**0.5,
            "trusted": some["trusted"].astype(float).mean(),
            "closed_form": some["right_closed_form"].mean() if "right_closed_form" in some else None,
            "majority": some["truth"].value_counts(normalize=True).max(),
            "model_less_many": exact.get(n, {}).get("accuracy"), "majority_many": exact.get(n, {}).get("majority"),
            "published": BY_VARIABLES.get((kind, access), {}).get(n),
        }  # fmt: skip
        lines.append(line)
    return pd.DataFrame(lines)


def by_correlation(results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies on cells by |correlation| of the columns with the label: the smaller, the larger, the mean."""
    rows = part(results, "grid")
    if not len(rows):
        return rows
    best = rows[rows["meta"].isin(["regression", "none"])]
    sizes = best[["one", "other"]].abs()
    values = {"least": sizes.min(axis=1), "greatest": sizes.max(axis=1), "mean": sizes.mean(axis=1)}
    found = []
    for name, value in values.items():
        at = (np.minimum(value // STEP, 1 / STEP - 1) + 0.5) * STEP
        grouped = best.assign(of=name, correlation=at).groupby(["of", "kind", "access", "correlation"], as_index=False)
        found.append(grouped.agg(cells=("cell", "nunique"), accuracy=("accuracy", "mean"),
                                 model_less=("model_less", "mean")))  # fmt: skip
    return pd.concat(found, ignore_index=True)


def model_less_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return every accuracy of the model-less attack on three variables."""
    lines = []
    for line in part(results, "model-less, exact").to_dict("records"):
        if line["what"] == "whole":
            named = {"bins": line["bins"], "majority": line["majority"]}
            lines += [{"how": "quadrature, both constraints uniform", "accuracy": line["accuracy"], **named},
                      {"how": "quadrature, uniform over matrices of three variables", "accuracy": line["elliptope"],
                       "bins": line["bins"]}]  # fmt: skip
    for line in part(results, "model-less, cells").to_dict("records"):
        cells = f"{line['cells']:.0f} cells, {line['matrices']:.0f} matrices each"
        lines += [{"how": f"{cells}: as their intervals promise", "accuracy": line["accuracy"], "bins": 3},
                  {"how": f"{cells}: as they turn out", "accuracy": line["right"], "bins": 3}]  # fmt: skip
    return pd.DataFrame(lines)


def without_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return the accuracy of the model-less attack on random matrices by number of variables."""
    rows = part(results, "model-less, variables")
    wanted = ["n", "targets", "accuracy", "std", "majority"]
    return rows[[name for name in wanted if name in rows]].reset_index(drop=True)


def linear_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return what the weights of the whole law leave open, by number of variables."""
    rows = part(results, "linear intervals")
    if not len(rows):
        return rows
    columns = ["width", "width_without", "held", "certain", "certain_without", "right", "right_without"]
    grouped = rows.groupby("n")[columns]
    return grouped.mean().assign(matrices=grouped.size()).reset_index()


def trainers_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies from predictions by how the networks were trained: means over the same cells."""
    rows = part(results, "trainers")
    if not len(rows):
        return rows
    return rows.groupby("trainer", as_index=False, sort=False).agg(
        cells=("cell", "nunique"), shadows=("shadows", "first"), accuracy=("accuracy", "mean"), std=("accuracy", "std")
    )


def marginals_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return correlations of copulas by marginal."""
    rows = part(results, "marginals")
    wanted = ["marginal", "wanted", "unadjusted", "copula", "measured", "rows", "refused"]
    return rows[[name for name in wanted if name in rows]].reset_index(drop=True)


TEXTS = Texts("correlation", CELLS=CELLS, EXACT=EXACT, MODEL_LESS=MODEL_LESS)

SHORT_NAMES = {"logistic": "regression", "network": "network"}
SEEN = {"predictions": "predictions", "weights": "weights", "canonical": "canonical weights",
        "both": "predictions and weights"}  # fmt: skip
FINE = 100  # tiles on a side of the map that is exact
TILES = {"logistic": 8, "network": 5}  # on a side of the maps of cells that were run
CLOSED = "closed form"
TRAINED = "1,000 rows"  # of a target model
MIN_ACCURACY = 1 / 3  # the accuracy at which colours begin


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
    return TEXTS.figure("by-variables", panels)


def _called(kind: str, access: str) -> str:
    """Return a target model and what is seen of it in words."""
    return f"{SHORT_NAMES[kind]}: {SEEN.get(access, access)}"


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
    return TEXTS.figure("grid", panels)


def _exact_map() -> Heat:
    """Return the accuracy of the attack without a model over the whole grid."""
    middles = (np.arange(FINE) + 0.5) * 2 / FINE - 1
    low, high = pair_interval(*np.meshgrid(middles, middles))
    values = overlaps(low, high).max(axis=-1) / (high - low)
    return Heat(middles.tolist(), middles.tolist(), values.tolist(), MIN_ACCURACY, 1.0)


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
    return Heat(middles, middles, values, MIN_ACCURACY, 1.0)


def _by_strength(results: pd.DataFrame) -> PanelFigure:
    """Return accuracies on cells by how strongly the columns correlate with the label."""
    table, panels = by_correlation(results), []
    for of, title in GROUPS.items():
        some = table[table["of"] == of] if len(table) else table
        lines: list[PlotLine] = []
        for kind in SHORT_NAMES:
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
    return TEXTS.figure("by-correlation", panels)


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
    return TEXTS.figure("linear-intervals", panels)


def _without_model(results: pd.DataFrame) -> PanelFigure:
    """Return the exact accuracy of the model-less attack by one constraint, the other fixed."""
    rows = part(results, "model-less, exact")
    if not len(rows) or "what" not in rows:
        return PanelFigure("model-less", "", [])
    panels = []
    for bins, some in rows[rows["what"] == "at"].groupby("bins"):
        lines = [_line(one, f"other column {other}", "accuracy", "one") for other, one in some.groupby("other")]
        panels.append(Panel(f"{bins} bins, exact", "correlation of one column with the label", "accuracy", lines))
    return TEXTS.figure("model-less", panels)


CLEAR = 2.0  # standard errors from which a difference is called one
Lines = list[dict[Any, Any]]


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all results that are there."""
    grid, variables = grid_table(results), variables_table(results)
    found = [
        TEXTS.table("grid", grid),
        TEXTS.table("by-variables", variables),
        TEXTS.table("model-less", model_less_table(results)),
        TEXTS.table("model-less-by-variables", without_table(results)),
        TEXTS.table("by-correlation", by_correlation(results)),
        TEXTS.table("linear-intervals", linear_table(results)),
        TEXTS.table("trainers", trainers_table(results)),
        TEXTS.table("marginals", marginals_table(results)),
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
        *_trainer_sentences(trainers_table(results).to_dict("records")),
        *_access_sentences(lines),
        *_stacked_sentences(lines),
        *_variable_sentences(variables.to_dict("records")),
        *_strength_sentences(by_correlation(results)),
        *_interval_sentences(linear_table(results).to_dict("records")),
        *_marginal_sentences(marginals_table(results)),
        NOT_RUN,
    ]
    return ExperimentFindings([t for t in found if len(t.frame)], [f for f in drawn if f.panels], sentences)


def _without_sentences(results: pd.DataFrame) -> list[str]:
    """Return the model-less attack beside the paper, and what constants reach."""
    out = []
    for line in part(results, "model-less, exact").to_dict("records"):
        if line["what"] == "whole" and line["bins"] == 3:
            masses = 1 - line["least_bin"] - line["most_bin"]
            out.append(TEXTS.say("without-2", line=line, masses=masses))
    for line in part(results, "model-less, cells").to_dict("records"):
        out.append(TEXTS.say("without", line=line))
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
        out.append(TEXTS.say("grid", formula=formula))
    return out


def _trainer_sentences(table: Lines) -> list[str]:
    """Return what the training of networks does to their predictions."""
    if not table:
        return []
    theirs = next(one.accuracy for one in GRID if (one.kind, one.access) == ("network", "predictions"))
    parts = ", ".join(f"{line['trainer']} {line['accuracy']:.3f}" for line in table)
    return [TEXTS.say("trainer", table=table, parts=parts, theirs=theirs)]


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
            out.append(TEXTS.say("strength", name=name, first=first, last=last))
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
    return [TEXTS.say("marginal", worst=worst, missed=missed)]
