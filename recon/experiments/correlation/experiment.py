"""The experiment: three variables on a grid, three to ten at random, with and without a released model."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from recon.experiments.correlation import attacked
from recon.experiments.correlation import attacked as basics
from recon.experiments.correlation.findings import findings
from recon.experiments.experiment import Experiment, Point, Row, Scalar, Size, in_chunks
from solvers.foundation.limits import Limits

PARTS: dict[str, Callable[[Point, Limits], list[Row]]] = {
    "model-less, exact": basics.exact,
    "model-less, cells": basics.protocol,
    "model-less, variables": basics.by_variables,
    "linear intervals": basics.linear,
    "marginals": basics.marginals,
    "grid": attacked.grid,
    "targets": attacked.targets,
    "trainers": attacked.trainers,
}
VARIABLES = tuple(range(3, 11))
SHADOWS, FURTHER = 500, 100
GRIDS = {"logistic": (100, 10, 1.3), "network": (32, 4, 4.5)}  # cells, cells to a point, seconds of one
MANY = {3: 200, 4: 150}  # targets of few variables, whose pairs are few
TARGETS = {"logistic": (100, 400), "network": (40, 300)}  # targets, shadow models
SECONDS = {"logistic": {n: 0.1 * n - 0.1 for n in VARIABLES}, "network": {3: 1.0, 6: 2.0, 10: 3.0}}  # of a target
LONGEST = 25.0  # seconds of a point


def _points(size: Size) -> list[Point]:
    """Return a point per part, setting and chunk; quick: the first chunk of some."""
    quick = size == "quick"
    found = [Point("", {"part": "model-less, exact", "bins": 3, "side": 4000}, 10.0)]
    found += [Point("", {"part": "marginals", "rows": 100_000, "seed": 0}, 5.0)]
    if not quick:
        found += [Point("", {"part": "model-less, exact", "bins": 5, "side": 2000}, 5.0)]
        found += [Point("", {"part": "model-less, cells", "matrices": 1500, "every": 1, "seed": 0}, 30.0)]
    for n in (3, 4) if quick else VARIABLES:
        found += [Point("", {"part": "model-less, variables", "n": n, "targets": 100_000, "seed": 0}, 3.0)]
        found += [Point("", {"part": "linear intervals", "n": n, "targets": 200, "seed": 0}, 6.0)]
    for kind, (cells, chunk, seconds) in GRIDS.items():
        named: dict[str, Scalar] = {"part": "grid", "kind": kind, "shadows": SHADOWS, "further": FURTHER}
        some = in_chunks("", named, cells, chunk, seconds)
        found += some[:1] if quick else some
    if not quick:
        found += in_chunks("", {"part": "trainers", "shadows": 150}, 6, 2, 14.0)
    for kind, by_number in SECONDS.items():
        number, shadows = TARGETS[kind]
        for n, seconds in by_number.items():
            wanted = MANY.get(n, number) if kind == "logistic" else number
            of_targets: dict[str, Scalar] = {"part": "targets", "kind": kind, "n": n, "shadows": shadows}
            some = in_chunks("", of_targets, wanted, min(60, int(LONGEST / seconds)), seconds)
            if not quick:
                found += some
            elif kind == "logistic" and n in (3, 4):
                found += some[:1]
    return found


def _run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return the rows of a point's part."""
    assert frame is None
    return PARTS[point["part"]](point, limits)


FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    "by-variables": {"part": ("targets", "model-less, variables")},
    "grid": {"part": ("grid",)},
    "by-correlation": {"part": ("grid",)},
    "linear-intervals": {"part": ("linear intervals",)},
    "model-less": {"part": ("model-less, exact",)},
}


EXPERIMENT = Experiment(
    "correlation",
    "how well correlations of training columns are inferred, without a model, from its predictions and its weights",
    "Crețu, Guépin, de Montjoye, Correlation Inference Attacks against Machine Learning Models, arXiv:2112.08806 "
    "(2021).",
    _points,
    _run,
    findings,
    needs={"sklearn": "sklearn"},
    figures=FIGURES,
)
