"""The experiment: trees, rule lists, forests, persons and one-hot groups, by depth, rows, data set and learner."""

from __future__ import annotations

from recon.experiments.experiment import Experiment, Point, Scalar, Size
from recon.experiments.learner_rule.findings import findings
from recon.experiments.learner_rule.fits import run

DEPTHS = tuple(range(1, 11))
ROWS = (100, 300, 1000, 0)  # 0: all
WIDE = ("compas27", "adult24")
FEW = 300
OTHERS = ("compas14", "adult19", "credit21", "german-credit", "tic-tac-toe", "kr-vs-kp", "mushroom")
CAP = 180.0  # seconds of one point
MANY_CAP = 1800.0  # of many rows, and of verdicts
FOREST_CAP = 30.0
LISTS = ((0.01, 5), (0.01, 8), (0.05, 5), (0.05, 8))  # support, rules at most


def points(size: Size) -> list[Point]:
    """Return the points of all questions; quick: some of them, on COMPAS."""
    if size == "quick":
        return quick()
    out = [tree(d, rows, depth) for d in WIDE for rows in ROWS for depth in DEPTHS]
    out += [tree(d, rows, depth, "entropy") for d in WIDE for rows in (100, 1000, 0) for depth in (3, 5, 10)]
    out += [tree(d, rows, depth, leaf=5) for d in WIDE for rows in (300, 1000) for depth in (3, 5, 10)]
    out += [tree(d, rows, depth) for d in OTHERS for rows in (300, 0) for depth in (3, 5, 10)]
    out += [rule_list(d, rows, *how) for d in (*WIDE, "german-credit") for rows in ROWS for how in LISTS]
    out += [forest(d, trees, depth) for d in WIDE for trees in (1, 2, 5) for depth in (5, 0)]
    out += [persons(d, rows, depth) for d in WIDE for rows in (100, 300) for depth in (3, 5, 10)]
    out += [groups(d, rows, depth) for d in WIDE for rows in (100, 300) for depth in (3, 5, 10)]
    return out


def quick() -> list[Point]:
    """Return a few points of every question."""
    out = [tree("compas27", rows, depth) for rows in (100, 300) for depth in (1, 3, 5, 10)]
    out += [tree("compas27", 100, 5, "entropy"), tree("compas27", 300, 5, leaf=5)]
    out += [rule_list("compas27", 300, 0.01, 8), forest("compas27", 1, 0)]
    return [*out, persons("compas27", 100, 5), groups("compas27", 100, 3)]


def asked(dataset: str, question: str, rows: int, cost: float, cap: float, **named: Scalar) -> Point:
    """Return a point; `rows` 0: all, `cap`: seconds at most."""
    return Point(dataset, {"question": question, "rows": rows, "seed": 0, "cap_seconds": cap, **named}, cost)


def tree(dataset: str, rows: int, depth: int, criterion: str = "gini", leaf: int = 1) -> Point:
    """Return a point of exact counts for a scikit-learn tree."""
    cost = 0.2 * depth * (40 if not rows else 1 + rows / 300)
    return asked(
        dataset, "tree", rows, cost, CAP if 0 < rows <= FEW else MANY_CAP, depth=depth, criterion=criterion, leaf=leaf
    )


def rule_list(dataset: str, rows: int, support: float, length: int) -> Point:
    """Return a point of exact counts for GreedyRL of width 1."""
    named: dict[str, Scalar] = {"support": support, "length": length, "ties": "authors"}
    return asked(dataset, "rule list", rows, 2.0 + rows / 500, MANY_CAP, **named)


def forest(dataset: str, trees: int, depth: int) -> Point:
    """Return a point of hard facts for a forest of 100 rows without resampling; depth 0: not limited."""
    return asked(dataset, "forest", 100, 30.0, FOREST_CAP, trees=trees, depth=depth or None, features="sqrt")


def persons(dataset: str, rows: int, depth: int) -> Point:
    """Return a point of verdicts on single persons."""
    named: dict[str, Scalar] = {"depth": depth, "criterion": "gini", "leaf": 1, "persons": 100}
    return asked(dataset, "persons", rows, 4.0 * depth, MANY_CAP, **named)


def groups(dataset: str, rows: int, depth: int) -> Point:
    """Return a point of an estimate over one-hot groups as attributes."""
    named: dict[str, Scalar] = {"depth": depth, "criterion": "gini", "leaf": 1, "draws": 4000}
    return asked(dataset, "groups", rows, 5.0 * depth, MANY_CAP, **named)


EXPERIMENT = Experiment(
    "learner_rule",
    "what knowing how a model was chosen gives away beside its counts",
    "The open question of Ferry, Aïvodji, Gambs, Huguet, Siala, Probabilistic Dataset Reconstruction from "
    "Interpretable Models, SaTML 2024 (arXiv 2308.15099): what an adversary learns who knows the learner's rule.",
    points,
    run,
    findings,
    figures={"by-depth": {"question": ("tree",), "criterion": ("gini",), "leaf": (1,), "rows": ROWS}},
)
