"""The experiment: seven questions beyond the paper's figures, on the paper's data, splits and learners."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pandas as pd

from recon.experiments.beyond.findings import findings
from recon.experiments.beyond.groups import by_group
from recon.experiments.beyond.joined import together
from recon.experiments.beyond.noise import noised
from recon.experiments.beyond.rashomon import nearly_best
from recon.experiments.beyond.sizes import attributes, matched, widths
from recon.experiments.experiment import Experiment, Point, Row, Scalar, Size
from recon.experiments.ferry2024.fits import FITS
from recon.experiments.splits import TrainTestSplit, split
from solvers.foundation.limits import Limits

DATASETS = ("compas27", "adult24")
SEEDS = (0, 1, 2)
SUPPORT = 0.01  # training rows in a leaf or rule, a share of all
DEPTH = 5  # of trees where they are not matched by size
EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)
DRAWS = 5  # of noise per point
NOISE_CAP = 3.0  # seconds for the worlds at the confidence of one draw

QUESTIONS: dict[str, Callable[[Point, TrainTestSplit, Limits], list[Row]]] = {
    "matched size": matched,
    "nearly best trees": nearly_best,
    "groups": by_group,
    "true attributes": attributes,
    "rule width": widths,
    "joined": together,
    "noise": noised,
}


def points(size: Size) -> list[Point]:
    """Return the points of all questions."""
    quick = size == "quick"
    seeds = SEEDS[:1] if quick else SEEDS
    return [p for dataset in DATASETS for seed in seeds for p in points_of(dataset, seed, quick)]


def points_of(dataset: str, seed: int, quick: bool) -> list[Point]:
    """Return the points of one data set and split; the quick ones are some of the others."""

    def asked(question: str, cost: float, **named: Scalar) -> Point:
        return Point(dataset, {"question": question, "seed": seed, "support": SUPPORT, **named}, cost)

    out = []
    if not quick or dataset == DATASETS[0]:
        out.append(asked("matched size", 35.0, most_leaves=11, cap_seconds=240.0))
    for depth, cost in ((2, 0.5), (3, 2.5), (4, 14.0))[: 2 if quick else 3]:
        for minimal in (True, False)[: 1 if quick or depth > 3 else 2]:  # with needless splits: only more of them
            out.append(asked("nearly best trees", cost, depth=depth, slack=2.0, minimal=minimal, cap_seconds=120.0))
    for learner in FITS:
        for question, cost in (("groups", 2.0), ("true attributes", 2.0)):
            if not quick or learner.startswith("optimal"):
                out.append(asked(question, cost, learner=learner, depth=DEPTH, cap_seconds=60.0))
    for width, cost in ((1, 1.0), (2, 1.0), (3, 6.0))[: 2 if quick else 3]:
        out.append(asked("rule width", cost, kind="greedy", width=width))
    for width, cap in ((1, 20.0), (2, 15.0))[: 1 if quick else 2]:
        out.append(asked("rule width", cap, kind="optimal", width=width, cap_seconds=cap))
    small: dict[str, Scalar] = {"depth": 2, "rules": 3, "forest_trees": 3, "forest_depth": 2}
    large: dict[str, Scalar] = {"depth": 3, "rules": 5, "forest_trees": 3, "forest_depth": 3}
    for rows, of, cap in ((100, small, 10.0), (0, large, 5.0))[: 1 if quick else 2]:
        out.append(asked("joined", 8 * cap, rows=rows, cap_seconds=cap, fit_seconds=20.0, **of))
    for learner, limit in (("optimal trees", 3), ("optimal rule lists", 5))[: 1 if quick else 2]:
        for rows, epsilon in product((200,) if quick else (200, 0), EPSILONS[::2] if quick else EPSILONS):
            named: dict[str, Scalar] = {"learner": learner, "depth": 3, "limit": limit, "rows": rows}
            cost = 20.0 if epsilon < 0.5 else 2.0
            out.append(asked("noise", cost, epsilon=epsilon, draws=DRAWS, cap_seconds=NOISE_CAP, **named))
    return out


def run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return the rows of a point: those of its question."""
    assert frame is not None
    return QUESTIONS[point["question"]](point, split(point.dataset, frame, point["seed"]), limits)


EXPERIMENT = Experiment(
    "beyond",
    "what the SaTML 2024 paper left open",
    "Questions beyond Ferry, Aïvodji, Gambs, Huguet, Siala, Probabilistic Dataset Reconstruction from Interpretable "
    "Models, SaTML 2024; same data, splits and learners.",
    points,
    run,
    findings,
    version=2,
    needs={"sklearn": "sklearn"},
    figures={question.replace(" ", "-"): {"question": (question,)} for question in QUESTIONS},
)
