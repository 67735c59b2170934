"""Results as tables: means over cells and over targets, beside baselines and the published figures; maps of the grid.

What intervals leave open stands beside accuracies, and the baselines that the paper leaves out in every figure.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from recon.attacks.correlation.intervals import pair_interval
from recon.attacks.correlation.model_less import overlaps
from recon.experiments.declaration import Declaration, named_lines, where
from recon.experiments.drawing import Heat, Panel
from recon.experiments.experiment import ExperimentFindings

DECLARED = Declaration("correlation")
KINDS: dict[str, str] = DECLARED["KINDS"]
SEEN: dict[str, str] = DECLARED["SEEN"]
SHORT: dict[str, str] = DECLARED["SHORT"]
GRID = DECLARED.published("grid")
ANSWERS = ("model_based", "model_less", "stacked")
BY = ["kind", "n", "access"]
WHOLE_COLUMNS = ("n", "bins", "shadows", "cell", "target", "rows", "cells", "matrices", "targets")  # floats by gaps
STEP = 0.2  # of |correlation|: cells are grouped by it
GROUPS = {"least": "the smaller", "greatest": "the larger", "mean": "the mean"}
FINE = 100  # tiles on a side of the map that is exact
TILES = {"logistic": 8, "network": 5}  # on a side of the maps of cells that were run
CLOSED = "closed form"
TRAINED = "1,000 rows"  # of a target model
MIN_ACCURACY = 1 / 3  # the accuracy at which colours begin
CLEAR = 2.0  # standard errors from which a difference is called one


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all results that are there."""
    cells, grid, variables = part(results, "grid"), grid_table(results), variables_table(results)
    exact, strengths = part(results, "model-less, exact"), by_correlation(results)
    frames = {
        "grid": grid, "variables": variables, "model-less": model_less_table(results), "by-correlation": strengths,
        "model-less-by-variables": _columns_of(results, "model-less, variables",
                                               ["n", "targets", "accuracy", "std", "majority"]),
        "intervals": linear_table(results), "trainers": trainers_table(results), "marginals": marginals_table(results),
        "exact": exact, "exact-course": where(exact, what="at").sort_values("bins", kind="stable")
        if "what" in exact else pd.DataFrame(),
        "cells": part(results, "model-less, cells"), **_grid_frames(grid), **_variable_frames(variables),
        **_strength_frames(strengths),
    }  # fmt: skip
    return DECLARED.findings(frames, {"grid": _maps(cells)})


def part(results: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the rows of one part, without the columns that it does not have."""
    found = results[results["part"] == name].dropna(axis=1, how="all")
    return found.astype({column: np.int64 for column in WHOLE_COLUMNS if column in found})


def grid_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies on the cells: a line per kind of model, access and attack model."""
    rows = part(results, "grid")
    if not len(rows):
        return rows
    table = DECLARED.aggregate("grid", rows.assign(gain=rows["further_stacked"] - rows["further_model_less"]))
    errors = {name: table[name] / np.sqrt(table["cells"]) for name in ("standard_error", "gain_error")}
    return table.assign(**errors).merge(GRID, on=["kind", "access"], how="left")


def variables_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies by number of variables: means over pairs with their deviation, errors over targets."""
    rows, lines = part(results, "targets"), []
    if not len(rows):
        return rows
    answers = [*ANSWERS, *(["closed_form"] if "closed_form" in rows else [])]
    rows = rows.assign(**{f"right_{name}": rows[name].eq(rows["truth"]).where(rows[name].notna()).astype(float)
                          for name in answers})  # fmt: skip
    for (kind, n, access), some in rows.groupby(BY, sort=False):
        by_pair = some.groupby(["i", "j"])["right_model_based"].mean()
        by_target = some.groupby("target").mean(numeric_only=True)
        count, gain = len(by_target), by_target["right_stacked"] - by_target["right_model_less"]
        lines.append({
            "kind": kind, "n": n, "access": access, "targets": count, "pairs": len(by_pair),
            "shadows": int(some["shadows"].iloc[0]), "accuracy": by_pair.mean(),
            "std_of_pairs": by_pair.std(ddof=0), "standard_error": by_target["right_model_based"].std() / count**0.5,
            "expected": some["expected"].mean(), "model_less": some["right_model_less"].mean(),
            "stacked": some["right_stacked"].mean(), "gain": gain.mean(), "gain_error": gain.std() / count**0.5,
            "trusted": some["trusted"].astype(float).mean(),
            "closed_form": some["right_closed_form"].mean() if "right_closed_form" in some else None,
            "majority": some["truth"].value_counts(normalize=True).max(),
        })  # fmt: skip
    many = part(results, "model-less, variables").reindex(columns=["n", "accuracy", "majority"])
    many = many.drop_duplicates("n", keep="last").rename(
        columns={"accuracy": "model_less_many", "majority": "majority_many"}
    )
    found = pd.DataFrame(lines).merge(many, on="n", how="left")
    return found.merge(DECLARED.published("variables"), on=["kind", "access", "n"], how="left")


def by_correlation(results: pd.DataFrame) -> pd.DataFrame:
    """Return accuracies on cells by |correlation| of the columns with the label: the smaller, the larger, the mean."""
    rows = part(results, "grid")
    if not len(rows):
        return rows
    best = where(rows, meta=("regression", "none"))
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
    return DECLARED.aggregate("trainers", rows) if len(rows) else rows


def marginals_table(results: pd.DataFrame) -> pd.DataFrame:
    """Return correlations of copulas by marginal."""
    names = ["marginal", "wanted", "unadjusted", "copula", "measured", "rows", "refused"]
    return _columns_of(results, "marginals", names)


def _columns_of(results: pd.DataFrame, name: str, wanted: list[str]) -> pd.DataFrame:
    """Return those columns of a part that it has."""
    rows = part(results, name)
    return rows[[one for one in wanted if one in rows]].reset_index(drop=True)


def _grid_frames(grid: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the better attack model of every kind and access, and where the stacked attack was tried."""
    if not len(grid):
        return dict.fromkeys(("best_of_grid", "best_by_access", "gained"), grid)
    best = grid.loc[grid.groupby(["kind", "access"], sort=False)["accuracy"].idxmax()]
    beside = GRID[["kind", "access"]].merge(best, on=["kind", "access"])
    error = beside["standard_error"].where(beside["standard_error"] != 0)
    first = grid.drop_duplicates("kind").set_index("kind")["model_less"]
    seen = named_lines(named_lines(best, SEEN, "access", "seen"), KINDS, "kind", "name")
    gained = grid[grid["gain"].notna()]
    return {
        "best_of_grid": beside.assign(apart=(beside["accuracy"] - beside["published"]) / error),
        "best_by_access": seen.assign(first_model_less=seen["kind"].map(first)),
        "gained": gained,
    }  # fmt: skip


def _variable_frames(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return accuracies by number of variables as they are drawn and told."""
    if not len(table):
        return {"courses": table}
    ordered = named_lines(table.sort_values("n", kind="stable"), KINDS, "kind", "name")
    ordered = ordered.assign(short=ordered["kind"].map(SHORT))
    seen = named_lines(ordered, SEEN, "access", "seen")
    seen = seen.assign(label=seen["short"] + ": " + seen["seen"], low=seen["accuracy"] - seen["std_of_pairs"],
                       high=seen["accuracy"] + seen["std_of_pairs"])  # fmt: skip
    theirs = DECLARED.published("variables")[["kind", "access"]].drop_duplicates()
    courses = theirs.merge(seen, on=["kind", "access"])
    groups = courses.groupby(["kind", "access"], sort=False)
    courses = courses[groups["published"].transform("count") > 0]
    before = courses.groupby(["kind", "access"], sort=False)[["accuracy", "standard_error", "n"]].shift()
    error = np.hypot(courses["standard_error"], before["standard_error"])
    rises = courses["accuracy"] - before["accuracy"] > CLEAR * error
    courses = courses.assign(rises=rises, before=before["n"].fillna(0).astype(int))
    own = seen.assign(style="line", like="", place=seen.groupby(["kind", "access"], sort=False).ngroup())
    lines = own.drop_duplicates("place")[["kind", "access", "label", "place"]]
    beside = (
        DECLARED.published("variables").rename(columns={"published": "accuracy"}).merge(lines, on=["kind", "access"])
    )
    beside = beside.assign(like=beside["label"], label=beside["label"] + ", published", style="points")
    seen = pd.concat([own, beside]).sort_values(["place", "style"], kind="stable")
    return {"by-kind": ordered.drop_duplicates(["kind", "n"]), "seen": seen, "courses": courses}


def _strength_frames(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return accuracies by strength of the correlations with the label as they are drawn and told."""
    if not len(table):
        return {"strengths": table}
    places = {name: SEEN.get(name, name) for name in ("predictions", "weights", "canonical", CLOSED)}
    some = table[(table["kind"] != "network") | (table["access"] != "weights")]
    drawn = named_lines(named_lines(some, places, "access", "seen"), KINDS, "kind", "name")
    drawn = named_lines(drawn.assign(label=drawn["kind"].map(SHORT) + ": " + drawn["seen"]), GROUPS, "of")
    told = where(drawn, access="predictions", of="greatest").sort_values("correlation", kind="stable")
    return {"by-strength": drawn, "strengths": named_lines(told, KINDS, "kind", "name")}


def _maps(rows: pd.DataFrame) -> list[Panel]:
    """Return maps of the accuracy over both correlations with the label: without a model exactly, with one by tiles."""
    if not len(rows):
        return []
    panels = [Panel("no model, exact", "ρ(X1, Y)", "ρ(X2, Y)", heat=_exact_map())]
    for kind, title in KINDS.items():
        for access in ("predictions", "weights", CLOSED):
            some = where(rows, kind=kind, access=access, meta=("regression", "none"))
            if len(some):
                name = f"{title}: {SEEN.get(access, access)}, {some['cell'].nunique()} cells, {TRAINED}"
                panels.append(Panel(name, "ρ(X1, Y)", "ρ(X2, Y)", heat=_tiled(some, TILES[kind])))
    return panels


def _exact_map() -> Heat:
    """Return the accuracy of the attack without a model over the whole grid."""
    middles = (np.arange(FINE) + 0.5) * 2 / FINE - 1
    low, high = pair_interval(*np.meshgrid(middles, middles))
    values = overlaps(low, high).max(axis=-1) / (high - low)
    return Heat(middles.tolist(), middles.tolist(), values.tolist(), MIN_ACCURACY, 1.0)


def _tiled(cells: pd.DataFrame, side: int) -> Heat:
    """Return the mean accuracy of the cells in every tile."""
    at = {name: np.minimum((cells[name] + 1) / 2 * side, side - 1).astype(int) for name in ("other", "one")}
    means = cells.assign(**at).pivot_table(index="other", columns="one", values="accuracy")
    means = means.reindex(index=range(side), columns=range(side)).astype(object)
    middles = ((np.arange(side) + 0.5) * 2 / side - 1).tolist()
    return Heat(middles, middles, means.where(means.notna(), None).to_numpy().tolist(), MIN_ACCURACY, 1.0)
