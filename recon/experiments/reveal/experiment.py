"""The experiment: black boxes, global and local explainers, attacks on all of them, by data set and fold."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from recon.experiments.experiment import Experiment, Point, Row, Scalar, Size
from recon.experiments.reveal.cases import FOLDS
from recon.experiments.reveal.findings import findings
from recon.experiments.reveal.local import COUNTS, local_rows
from recon.experiments.reveal.measuring import attribute_rows, global_rows, reference_rows
from solvers.foundation.limits import Limits

DATASETS = ("compas27", "adult24", "")
TARGETS = ("DT", "RF", "NN", "TREPAN-RF", "TREPAN-NN", "enriched-RF", "enriched-NN")
LOCAL = ("LORE-RF", "LORE-NN")
SHADOWS = ("noise", "random")
PARTS: dict[str, Callable[[Point, pd.DataFrame | None, Limits], list[Row]]] = {
    "global": global_rows, "local": local_rows, "reference": reference_rows, "attributes": attribute_rows,
}  # fmt: skip


def run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return one point's rows; `kind` says what a row is about."""
    return PARTS[point["part"]](point, frame, limits)


def points(size: Size) -> list[Point]:
    """Return a point per data set, fold and target, and shadow data of local ones; quick: some of Adult's first."""
    found = []
    for dataset in DATASETS:
        for fold in range(FOLDS):
            found += [Point(dataset, {"part": "global", "target": name, "fold": fold}, 10.0) for name in TARGETS]
            found += [Point(dataset, {"part": "local", "target": name, "fold": fold, "shadow": kind,
                                      "explanations": COUNTS[-1]}, 25.0)
                      for name in LOCAL for kind in SHADOWS]  # fmt: skip
            if dataset != "compas27":
                found.append(Point(dataset, {"part": "reference", "target": "RF", "fold": fold}, 15.0))
            found.append(Point(dataset, {"part": "attributes", "target": "RF", "fold": fold}, 2.0))
    return [one for one in found if size == "full" or quick(one)]


def quick(point: Point) -> bool:
    """Return whether a point is one of the quick ones."""
    if point.dataset != "adult24" or point["fold"] > 0 or "NN" in point["target"]:
        return False
    return bool(point["part"] != "local" or point["shadow"] == "noise")


FIGURES: dict[str, dict[str, tuple[Scalar, ...]]] = {
    "recall-by-fpr": {"part": ("global", "local")},
    "gain-and-auc": {"part": ("global", "local")},
    "curves": {"part": ("global", "reference"), "target": ("RF",)},
    "local": {"part": ("local",), "target": ("LORE-RF",)},
    "ranks": {"part": ("global",)},
}


EXPERIMENT = Experiment(
    "reveal",
    "what membership attacks find out from black boxes and from their explainers, and what recall does not say",
    "Naretto, Monreale, Giannotti, Evaluating the Privacy Exposure of Interpretable Global and Local Explainers, "
    "Transactions on Data Privacy 18 (2025): Tables 1 to 5 with the columns that they leave out.",
    points,
    run,
    findings,
    needs={"sklearn": "sklearn", "scikit_posthocs": "attacks"},
    figures=FIGURES,
)
