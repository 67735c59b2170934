"""The experiment: statistical attacks and certificates about the same rows of the same releases, four questions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pandas as pd

from recon.experiments.experiment import Experiment, Point, Row, Scalar, Size
from recon.experiments.joint.certifying import compared
from recon.experiments.joint.correlating import correlated
from recon.experiments.joint.explaining import explained
from recon.experiments.joint.findings import findings
from recon.experiments.joint.noising import noised
from recon.experiments.joint.releases import COUNTED, LEARNERS
from solvers.foundation.limits import Limits

DATASETS = ("compas27", "adult24")
SEEDS = (0, 1)
SUPPORT = 0.01  # training rows in a leaf or rule, a share of all
FIT_SECONDS = 8.0  # of a learner that proves optimality
DRAWS = 3  # of noise per point
EPSILONS = (0.0, 0.1, 1.0, 10.0)  # 0: no noise
MOST = 120  # explanations
SHADOW = "random noise"  # REVEAL's shadow data

QUESTIONS: dict[str, Callable[[Point, pd.DataFrame, Limits], list[Row]]] = {
    "correlations": correlated,
    "membership": compared,
    "explanations": explained,
    "noise": noised,
}


def points(size: Size) -> list[Point]:
    """Return the points of all questions; the quick ones are some of the others."""
    quick = size == "quick"
    datasets = DATASETS[:1] if quick else DATASETS
    found = [*correlations(quick), *explanations(quick)]
    for dataset in datasets:
        found += [*memberships(dataset, quick), *noises(dataset, quick)]
    return found


def learner(name: str, **other: Scalar) -> dict[str, Scalar]:
    """Return the parameters of a learner."""
    given: dict[str, Scalar] = {"width": 2, "rules": 10, "depth": 3 if name == "optimal tree" else 5} | other
    return {"learner": name, "support": SUPPORT, "fit_seconds": FIT_SECONDS, **given}


def correlations(quick: bool) -> list[Point]:
    """Return the points of correlation intervals: the sketch's columns of COMPAS, then columns that models test."""
    asked: dict[str, Scalar] = {"question": "correlations", "draws": DRAWS}
    four = [
        Point("compas27", {**asked, "columns": "four", "counted": counted,
                           **learner("greedy rule list", width=width, rules=3)}, 3.0)
        for width, counted in product((1, 2), COUNTED)
    ]  # fmt: skip
    models = [
        learner("greedy rule list", width=1, rules=4), learner("greedy rule list", width=2, rules=4),
        learner("optimal rule list", rules=4), learner("greedy tree", depth=3), learner("optimal tree", depth=3),
    ]  # fmt: skip
    used = [
        Point(dataset, {**asked, "columns": "used", "counted": counted, **model}, 12.0)
        for dataset, model, counted in product(DATASETS, models, COUNTED)
    ]
    return [*four[::2], used[0]] if quick else [*four, *used]


def memberships(dataset: str, quick: bool) -> list[Point]:
    """Return the points of membership: all learners."""
    names = ("greedy rule list", "full-grown tree", "TREPAN of a forest") if quick else tuple(LEARNERS)
    return [
        Point(
            dataset,
            {"question": "membership", "rows": 3_600, "asked": 2_000, "seed": seed, "shadow": SHADOW, **learner(name)},
            16.0,
        )
        for name, seed in product(names, SEEDS[:1] if quick else SEEDS)
    ]


def explanations(quick: bool) -> list[Point]:
    """Return the points of explanations: so many local ones, or one tree, of forests of few rows."""
    out = []
    for dataset, rows in product(DATASETS[:1] if quick else DATASETS, (200,) if quick else (200, 500)):
        for what, number in (("LORE", 40), ("LORE", 80), ("LORE", MOST), ("TREPAN", 0)):
            if number > 40 and (quick or rows > 200):  # too many worlds to bound them closely in a minute
                continue
            named: dict[str, Scalar] = {"question": "explanations", "what": what, "explained": number, "most": MOST}
            cost = 30.0 + number / 5
            out.append(Point(dataset, {**named, "rows": rows, "seed": 0, "cap_seconds": 25.0}, cost))
    return out


def noises(dataset: str, quick: bool) -> list[Point]:
    """Return the points of noise: every epsilon on its own."""
    out = []
    for name, rows, asked in (("greedy rule list", 2_000, 1_000), ("greedy tree", 2_000, 1_000),
                              ("full-grown tree", 500, 250)):  # fmt: skip
        for epsilon, seed in product(EPSILONS[::2] if quick else EPSILONS, SEEDS[:1] if quick else SEEDS):
            if quick and name != "greedy rule list":
                continue
            named: dict[str, Scalar] = {"question": "noise", "epsilon": epsilon, "draws": DRAWS, "rows": rows}
            named |= {"asked": asked, "seed": seed, "counted": "attributes", "cap_seconds": 3.0}
            cost = (45.0 if name == "full-grown tree" else 12.0) if epsilon else 5.0
            out.append(Point(dataset, {**named, **learner(name)}, cost))
    return out


def run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return the rows of a point: those of its question."""
    assert frame is not None
    return QUESTIONS[point["question"]](point, frame, limits)


EXPERIMENT = Experiment(
    "joint",
    "what statistical attacks guess beside what constraints prove, on the same releases and rows",
    "Naretto, Monreale, Giannotti 2025 (REVEAL) and Cretu, Guepin, de Montjoye 2021 (correlation inference), beside "
    "possible worlds (Ferry, Aïvodji, Gambs, Huguet, Siala, SaTML 2024).",
    points,
    run,
    findings,
    version=2,
    needs={"sklearn": "sklearn"},
    figures={question: {"question": (question,)} for question in QUESTIONS},
)
