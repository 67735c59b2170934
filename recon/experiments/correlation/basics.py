"""Points without shadow models: the model-less attack, intervals of linear models, marginals."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from recon.attacks.correlation import model_less
from recon.attacks.correlation.closed_form import linear_intervals
from recon.attacks.correlation.copula import (
    Marginal,
    copula,
    correlation_after,
    correlation_before,
    empirical,
    measured,
)
from recon.attacks.correlation.intervals import pair_interval
from recon.attacks.correlation.matrices import random_matrices
from recon.experiments.experiment import Point, Row
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

DRAWN = 40  # values of one constraint, the other fixed
OTHERS = (0.0, 0.3, 0.6, 0.9)
MIXED = 400  # draws for the accuracy at two constraints: none, it is exact
REGULAR = 1e-6  # least eigenvalue of matrices whose weights are asked for


def exact(point: Point, limits: Limits) -> list[Row]:
    """Return the accuracy of the model-less attack by quadrature, the masses of bins, and its course by constraints."""
    bins = point["bins"]
    low, _, high = (float(mass) for mass in model_less.class_masses(bins)[[0, bins // 2, -1]])
    masses = model_less.class_masses(bins)
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


def protocol(point: Point, limits: Limits) -> list[Row]:
    """Return what the paper's cell protocol gives."""
    found = model_less.cell_accuracy(
        point["matrices"], np.random.default_rng(point["seed"]), point["every"], limits=limits
    )
    return [{"accuracy": found.promised, "right": found.right, "cells": found.cells}]


def by_variables(point: Point, limits: Limits) -> list[Row]:
    """Return the accuracy of the model-less attack on random matrices, by pair."""
    rng = np.random.default_rng([point["seed"], point["n"]])
    found = model_less.accuracy_by_pair(point["n"], point["targets"], rng, limits=limits)
    return [{
        "accuracy": float(found.accuracy.mean()), "std": float(found.accuracy.std()),
        "majority": float(found.majority.mean()),
    }]  # fmt: skip


def linear(point: Point, limits: Limits) -> list[Row]:
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


def exponential(share: np.ndarray) -> np.ndarray:
    """Return quantiles of the exponential law."""
    found: np.ndarray = -np.log1p(-np.minimum(share, 1.0 - 1e-16))
    return found


MARGINALS: dict[str, Marginal | None] = {
    "standard normal": None,
    "exponential": exponential,
    "bits, a third of them 1": empirical([0, 0, 1]),
    "log-normal": lambda share: np.exp(ndtri(np.clip(share, 1e-16, 1.0 - 1e-16))),
}


def marginals(point: Point, limits: Limits) -> list[Row]:
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
                row |= {"copula": before, "measured": float(measured(data)[0, 0, 1])}
            except ReleaseError as error:
                row["refused"] = str(error)
            rows.append(row)
    return rows
