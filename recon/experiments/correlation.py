"""The experiment: three variables on a grid, three to ten at random, with and without a released model.

Points with shadow models: cells of the grid of three variables, and random targets by number of variables.

Points without shadow models: the model-less attack, intervals of linear models, marginals.

Results as tables: means over cells and over targets, beside baselines and the published figures; maps of the grid.

What intervals leave open stands beside accuracies, and the baselines that the paper leaves out in every figure.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import expon, lognorm

from recon.attacks.correlation import model_less
from recon.attacks.correlation.intervals import linear_intervals, pair_interval, three_variables
from recon.attacks.correlation.matrices import (
    Marginal,
    constrained_matrices,
    copula,
    correlation_after,
    correlation_before,
    empirical,
    pearson_correlations,
    random_matrices,
)
from recon.attacks.correlation.model_based import METAS, CorrelationVerdicts, crossed, pairs, verdicts
from recon.attacks.correlation.model_less import GRID, bin_of, decided, overlaps
from recon.attacks.correlation.shadow_models import (
    TARGET,
    Access,
    Kind,
    Shadows,
    ShadowSetting,
    answers,
    auxiliary,
    dataset,
    fitted,
    of_matrices,
    shadows,
)
from recon.experiments.drawing import Heat, Panel
from recon.experiments.experiment import Declaration, Point, Row, records, where
from recon.queries.inputs import Floats, Ints
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

DECLARED = Declaration("correlation")
KINDS: dict[str, str] = DECLARED["KINDS"]
SEEN: dict[str, str] = DECLARED["SEEN"]
THEIRS = DECLARED.published("grid")
FINE = 100  # tiles on a side of the map that is exact
TILES = {"logistic": 8, "network": 5}  # on a side of the maps of cells that were run
CLOSED = "closed form"
TRAINED = "1,000 rows"  # of a target model
MIN_ACCURACY = 1 / 3  # the accuracy at which colours begin


def _frames(results: pd.DataFrame) -> dict[str, Any]:
    """Return the accuracies of the model-less attack on three variables, and the maps of the grid."""
    exact, cells, grid = (where(results, part=name) for name in ("model-less, exact", "model-less, cells", "grid"))
    found: dict[str, Any] = {"model-less": _model_less_table(exact, cells)}
    return found | ({"grid-maps": _maps(grid)} if len(grid) else {})


def _model_less_table(exact: pd.DataFrame, cells: pd.DataFrame) -> pd.DataFrame:
    """Return every accuracy of the model-less attack on three variables."""
    lines = []
    for line in records(where(exact, what="whole")):
        named = {"bins": int(line["bins"]), "majority": line["majority"]}
        lines += [{"how": "quadrature, both constraints uniform", "accuracy": line["accuracy"], **named},
                  {"how": "quadrature, uniform over matrices of three variables", "accuracy": line["elliptope"],
                   "bins": named["bins"]}]  # fmt: skip
    for line in records(cells):
        named_cells = f"{line['cells']:.0f} cells, {line['matrices']:.0f} matrices each"
        lines += [{"how": f"{named_cells}: as their intervals promise", "accuracy": line["accuracy"], "bins": 3},
                  {"how": f"{named_cells}: as they turn out", "accuracy": line["right"], "bins": 3}]  # fmt: skip
    return pd.DataFrame(lines)


def _maps(rows: pd.DataFrame) -> list[Panel]:
    """Return maps of the accuracy over both correlations with the label: without a model exactly, with one by tiles."""
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


DRAWN = 40  # values of one constraint, the other fixed
OTHERS = (0.0, 0.3, 0.6, 0.9)
MIXED = 400  # draws for the accuracy at two constraints: none, it is exact
REGULAR = 1e-6  # least eigenvalue of matrices whose weights are asked for


def exact(point: Point, _: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return the accuracy of the model-less attack by quadrature, the masses of bins, and its course by constraints."""
    bins = point["bins"]
    masses = model_less.class_masses(bins)
    low, high = float(masses[0]), float(masses[-1])
    limits.check("accuracies were integrated")
    rows: list[Row] = [{
        "what": "whole", "accuracy": model_less.exact_accuracy(bins, point["side"]),
        "elliptope": model_less.exact_accuracy(bins, 1000, "elliptope"), "majority": float(masses.max()),
        "least_bin": low, "most_bin": high,
    }]  # fmt: skip
    for other in OTHERS:
        for one in np.linspace(-1, 1, DRAWN + 1)[1:-1].tolist():
            ends = pair_interval(one, other)
            share = float(model_less.overlaps(*ends, bins).max() / (ends[1] - ends[0]))
            rows.append({"what": "at", "one": one, "other": other, "accuracy": share})
    return rows


def protocol(point: Point, _: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return what the paper's cell protocol gives."""
    found = model_less.cell_accuracy(
        point["matrices"], np.random.default_rng(point["seed"]), point["every"], limits=limits
    )
    return [{"accuracy": found.promised, "right": found.right, "cells": found.cells}]


def by_variables(point: Point, _: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return the accuracy of the model-less attack on random matrices, by pair."""
    rng = np.random.default_rng([point["seed"], point["n"]])
    found = model_less.accuracy_by_pair(point["n"], point["targets"], rng, limits=limits)
    return [{
        "accuracy": float(found.accuracy.mean()), "std": float(found.accuracy.std()),
        "majority": float(found.majority.mean()),
    }]  # fmt: skip


def linear(point: Point, _: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return how wide the intervals of a released linear model's whole law are, and what they say of bins."""
    n, rng = point["n"], np.random.default_rng([point["seed"], point["n"]])
    one, other = np.triu_indices(n - 1, 1)
    rows: list[Row] = []
    for matrix in random_matrices(point["targets"], n, rng):
        limits.check("intervals were found")
        rho, columns = matrix[:-1, -1], matrix[:-1, :-1]
        if np.linalg.eigvalsh(matrix)[0] < REGULAR:
            continue
        found = linear_intervals(np.linalg.solve(columns, rho), rho)
        if found is None:
            continue
        low, high = found[0][one, other], found[1][one, other]
        outer = pair_interval(rho[one], rho[other])
        truth = model_less.bin_of(columns[one, other])
        rows.append({
            "width": float((high - low).mean()), "width_without": float((outer[1] - outer[0]).mean()),
            "held": float(((low <= columns[one, other] + 1e-5) & (columns[one, other] <= high + 1e-5)).mean()),
            "certain": float(model_less.in_one_bin(low, high).mean()),
            "certain_without": float(model_less.in_one_bin(*outer).mean()),
            "right": float((model_less.decided(low, high, rng=rng) == truth).mean()),
            "right_without": float((model_less.decided(*outer, rng=rng) == truth).mean()),
        })  # fmt: skip
    return rows


MARGINALS: dict[str, Marginal | None] = {
    "standard normal": None,
    "exponential": expon.ppf,
    "bits, a third of them 1": empirical([0, 0, 1]),
    "log-normal": lognorm(1).ppf,
}


def marginals(point: Point, _: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return Pearson's correlation of copulas with other marginals, with and without adjustment."""
    rng, rows = np.random.default_rng(point["seed"]), []
    for name, marginal in MARGINALS.items():
        for wanted in (-0.6, -0.3, 0.3, 0.6):
            limits.check("marginals were adjusted")
            row: Row = {"marginal": name, "wanted": wanted}
            row["unadjusted"] = float(correlation_after(wanted, marginal, None))
            try:
                before = correlation_before(wanted, marginal, None)
                data = copula(np.array([[[1.0, before], [before, 1.0]]]), point["rows"], rng, [marginal, None])
                row |= {"copula": before, "measured": float(pearson_correlations(data)[0, 0, 1])}
            except ReleaseError as error:
                row["refused"] = str(error)
            rows.append(row)
    return rows


CELLS, TARGETS, SHADOW = 1, 2, 3  # what a generator is for
BY_ACCURACY = replace(TARGET, stop="accuracy")
PLASTIC = 1.32471795724474602596  # x^3 = x + 1


def _accesses(kind: Kind) -> tuple[Access, ...]:
    """Return what is compared for a kind of model: neurons have an order, coefficients have none."""
    return ("predictions", "weights", "both") if kind == "logistic" else ("predictions", "weights", "canonical", "both")


def grid(point: Point, _: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return the accuracies on some cells of the grid; a cell is the same one for every kind of model."""
    rows: list[Row] = []
    for number in range(point["first_seed"], point["first_seed"] + point["seeds"]):
        rows += cell(point, number, _corner(number), limits)
    return rows


def _corner(number: int) -> Floats:
    """Return the lower corner of a cell (2,): any first so many cells lie evenly over the grid.

    Cells drawn independently would do, with larger errors. Source: Roberts 2018, the R2 sequence, begun at random.
    """
    begun = np.random.default_rng(CELLS).random(2)
    place = (begun + number * np.array([1 / PLASTIC, 1 / PLASTIC**2])) % 1.0
    found: Floats = (np.floor(place * 2 * GRID) - GRID) / GRID
    return found


def cell(point: Point, number: int, low_corner: Floats, limits: Limits) -> list[Row]:
    """Return a row per access and attack model: by folds as in the paper, and on further models of the same cell."""
    kind, count = point["kind"], point["shadows"]
    rng = np.random.default_rng([SHADOW, number])
    rho = low_corner + rng.random((count + point["further"], 2)) / GRID
    known = shadows(rho, ShadowSetting(kind, _accesses(kind)), rng, limits=limits)
    truth = bin_of(known.truth[:, 0, 1])[:, None]
    inside, outside = known.take(slice(0, count)), known.take(slice(count, None))
    middle = low_corner + 0.5 / GRID
    low, high = pair_interval(*middle)
    less = decided(low, high, rng=rng)
    shared: Row = {
        "cell": number, "one": float(middle[0]), "other": float(middle[1]),
        "model_less": float((truth == less).mean()), "majority": float(np.bincount(truth[:, 0]).max() / len(truth)),
    }  # fmt: skip
    rows: list[Row] = []
    for access in _accesses(kind):
        for meta in METAS:
            by_folds = crossed(inside.features[access], truth[:count], rng, meta, limits=limits)
            right = float((by_folds == truth[:count]).mean())
            said = verdicts(inside, access, outside.features[access], rho[count:], rng, meta, limits=limits)
            rows.append({
                **shared, "access": access, "meta": meta, "accuracy": right, **further(said, truth[count:])
            })  # fmt: skip
    if kind == "logistic":
        weights = known.features["weights"][:, :2]
        for name, given in (
            ("closed form", rho),
            ("closed form, middle of the cell", np.broadcast_to(middle, rho.shape)),
        ):
            guess = three_variables(weights, given)
            error = float(np.median(np.abs(guess - known.truth[:, 0, 1])))
            rows.append({**shared, "access": name, "meta": "none", "error": error,
                         "accuracy": float((bin_of(guess) == truth[:, 0]).mean())})  # fmt: skip
    return rows


def trainers(point: Point, _: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return accuracies from predictions of networks that are trained otherwise, scikit-learn's among them."""
    rows: list[Row] = []
    for number in range(point["first_seed"], point["first_seed"] + point["seeds"]):
        rng = np.random.default_rng([SHADOW, number])
        rho = _corner(number) + rng.random((point["shadows"], 2)) / GRID
        setting, matrices = ShadowSetting("network"), constrained_matrices(rho, rng)
        x, y = dataset(matrices, setting, rng)
        asked = auxiliary(rho[np.arange(setting.asked) % len(rho)], setting, rng)
        truth = bin_of(matrices[:, 0, 1])[:, None]
        seen = {
            "here, stopped by loss": answers(fitted(x, y, "network", rng, limits=limits), asked),
            "here, stopped by accuracy": answers(fitted(x, y, "network", rng, BY_ACCURACY, limits), asked),
            "scikit-learn, stopped by accuracy": _of_scikit_learn(x, y, asked, limits),
        }
        for name, features in seen.items():
            right = crossed(features, truth, np.random.default_rng(number), limits=limits) == truth
            rows.append({"cell": number, "trainer": name, "accuracy": float(right.mean())})
    return rows


def _of_scikit_learn(x: Floats, y: Ints, asked: Floats, limits: Limits) -> Floats:
    """Return (m, asked) the probabilities of class 1 by scikit-learn's networks with the same settings."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    found = []
    for seed, (rows, labels) in enumerate(limits.paced(zip(x, y, strict=True), "networks were trained", 10)):
        model = MLPClassifier(TARGET.hidden, learning_rate_init=TARGET.rate, max_iter=TARGET.epochs, alpha=0.0,
                              early_stopping=True, n_iter_no_change=TARGET.patience, random_state=seed)  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows, labels)
        found.append(np.asarray(model.predict_proba(asked), dtype=np.float64)[:, -1])
    return np.array(found)


def further(said: CorrelationVerdicts, truth: Ints) -> Row:
    """Return the accuracies on models that took no part in anything."""
    return {
        "further_model_less": float((said.model_less == truth).mean()),
        "further_model_based": float((said.model_based == truth).mean()),
        "further_stacked": float((said.stacked == truth).mean()),
        "trusted": float(said.trusted.mean()),
    }


def targets(point: Point, _: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a row per target, pair of columns and access: what each attack names, and the truth."""
    rows: list[Row] = []
    for number in range(point["first_seed"], point["first_seed"] + point["seeds"]):
        (matrix,) = random_matrices(1, point["n"], np.random.default_rng([TARGETS, point["n"], number]))
        rows += _target(point, number, matrix, limits)
    return rows


def _target(point: Point, number: int, matrix: Floats, limits: Limits) -> list[Row]:
    """Return a row per pair and access of one target."""
    kind, d = point["kind"], point["n"] - 1
    rng = np.random.default_rng([SHADOW, point["n"], number])
    seen: tuple[Access, ...] = ("predictions", "weights") if kind == "logistic" else ("predictions", "canonical")
    setting, rho = ShadowSetting(kind, seen), matrix[:-1, -1]
    known = shadows(np.broadcast_to(rho, (point["shadows"], d)), setting, rng, limits=limits)
    released = of_matrices(matrix[None], setting, rng, asked=known.asked, limits=limits)
    one, other = pairs(d)
    truth = bin_of(matrix[one, other])
    rows: list[Row] = []
    formula = _closed_form_bins(released, rho, rng) if kind == "logistic" else None
    for access in seen:
        said = verdicts(known, access, released.features[access], rho[None], rng, limits=limits)
        for k, (i, j) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
            row: Row = {
                "target": number, "i": i, "j": j, "access": access, "truth": int(truth[k]),
                "one": float(rho[i]), "other": float(rho[j]), "model_less": int(said.model_less[0, k]),
                "model_based": int(said.model_based[0, k]), "stacked": int(said.stacked[0, k]),
                "trusted": bool(said.trusted[0, k]), "expected": float(said.expected[0, k]),
                "expected_without": float(said.expected_without[0, k]),
            }  # fmt: skip
            if formula is not None:
                row["closed_form"] = int(formula[k])
            rows.append(row)
    return rows


def _closed_form_bins(released: Shadows, rho: Floats, rng: np.random.Generator) -> Ints:
    """Return the bins that a released linear model's weights name without shadow models, by pair.

    The formula for two columns; the interval's decision for more, of the constraints alone where no matrix has the
    weights (which come from a sample).
    """
    weights = released.features["weights"][0, :-1]
    if len(rho) == 2:
        return bin_of(three_variables(weights, rho))
    one, other = pairs(len(rho))
    low, high = pair_interval(rho[one], rho[other])
    found = linear_intervals(weights, rho)
    if found is not None:
        low, high = found[0][one, other], found[1][one, other]
    return decided(low, high, rng=rng)


PARTS = {
    "model-less, exact": exact,
    "model-less, cells": protocol,
    "model-less, variables": by_variables,
    "linear intervals": linear,
    "marginals": marginals,
    "grid": grid,
    "targets": targets,
    "trainers": trainers,
}


EXPERIMENT = DECLARED.experiment(PARTS, _frames)
