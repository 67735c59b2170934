"""The experiment: seven questions beyond the paper's figures, on the paper's data, splits and learners.

All trees of a depth that are nearly as accurate as the best: how many, and which of them leaks least.

What noise on the counts leaves: by the posterior of two priors and at a confidence, beside exact counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease, encode
from encoders.models.models import Noise
from recon.experiments.beyond.findings import DECLARED, findings
from recon.experiments.beyond.groups import (
    attributes,
    by_group,
    domain_of,
    joint_worlds,
    matched,
    models,
    released,
    widths,
)
from recon.experiments.experiment import Point, Row, Scalar, Size
from recon.experiments.ferry2024.experiment import FITS, least_rows
from recon.experiments.splits import TrainTestSplit, train_test_sample
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from recon.learners.optimal.trees.table import TreeNode, leaves
from recon.queries.answers.counting import count
from recon.queries.measures.measures import measure
from recon.queries.measures.sweeping import accuracy, exact_counts, removed_per_row, taken_by_the_prior, with_noise
from recon.queries.noisy.posterior import posterior
from solvers.foundation.errors import EmptyConfidenceSet
from solvers.foundation.limits import Limits
from solvers.noisy.posteriors.posterior import Prior
from solvers.statements.noise.laws import NoiseLaw
from solvers.statements.noise.sampling import Randomness

PRIORS: tuple[Prior, ...] = ("counts", "worlds")


def _noised(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return a line per draw of discrete Laplace noise on the counts of one model, and one without noise (ε 0).

    The model is of the first `rows` training rows (0: of all). ε is that of the counts, add or remove one row; the
    model's shape was chosen on exact rows and is not private.
    """
    n = point["rows"] or some.rows
    part = replace(some, x=some.x.head(n), y=some.y.head(n))
    fit = next(f for f in models(point, part, point["learner"], point["depth"], limits) if f.limit == point["limit"])
    release = released(fit, domain_of(some))
    block, truth = exact_counts(release)
    left = count(release, "ordered", limits).bounds[1]
    out: list[Row] = [{
        "epsilon": 0.0, "draw": 0, "accuracy": accuracy(block, truth, truth.astype(np.float64)), "counts": len(truth),
        "removed_confidence": removed_per_row(release, left, limits), "log2_confidence": left, "status": "exact",
        **{f"removed_{prior}": removed_per_row(release, left, limits) for prior in PRIORS},
        **{f"prior_alone_{prior}": taken_by_the_prior(release, truth, prior, limits) for prior in PRIORS},
    }]  # fmt: skip
    dice = Randomness(point["seed"])
    epsilon = Fraction(repr(float(point["epsilon"])))
    noise = Noise(NoiseLaw("discrete_laplace", 1 / epsilon), epsilon, Fraction(0), Fraction(1), "add_remove")
    for draw in range(point["draws"]):
        limits.check("noise is drawn")
        noisy = [int(c) + dice.discrete_laplace(noise.law.scale) for c in truth]
        private = with_noise(release, noisy, noise)
        line: Row = {"epsilon": float(epsilon), "draw": draw, "counts": len(truth)}
        line["accuracy"] = accuracy(block, truth, np.array(noisy, dtype=np.float64))
        out.append(line | _left_by(private, point["cap_seconds"], limits))
    return out


def _left_by(private: EncodedRelease, seconds: float, limits: Limits) -> Row:
    """Return what noisy counts leave: posteriors of both priors, and the worlds at the joint confidence of 0.95.

    Of worlds that are only bounded the most there can be: what is removed for certain at the confidence.
    """
    line: Row = {}
    for prior in PRIORS:
        left = posterior(private, prior, limits).entropy_bits
        line |= {f"log2_{prior}": left, f"removed_{prior}": removed_per_row(private, left, limits)}
    try:
        found = count(private, "ordered", limits.lasting(min(seconds, limits.left())))
    except EmptyConfidenceSet:
        return line | {"status": "empty"}
    high = found.bounds[1]
    if not math.isfinite(high):
        return line | {"status": "empty" if high < 0 else "unknown"}
    return line | {
        "status": found.status, "log2_confidence": high, "removed_confidence": removed_per_row(private, high, limits)
    }  # fmt: skip


def _nearly_best(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
    """Return a line per number of errors from the fewest to `slack` percent of the rows more: all trees up to there.

    `trees`: how many make at most so many errors (as text: they are many). `least`, `most`: Dist_G over them;
    `choice`: the one that leaves most open, in words, with its leaves and accuracies. `returned`: Dist_G of the tree
    that the learner returns. Dist_G counts columns as independent bits.
    """
    slack = math.floor(point["slack"] * some.rows / 100 + 1e-9)
    learner = OptimalTreeClassifier(point["depth"], least_rows(point, some), point["cap_seconds"], "own")
    within = limits.lasting(min(point["cap_seconds"], limits.left()))
    found = learner.ties(some.x, some.y, slack=slack, minimal=point["minimal"], limits=within)
    learner.fit(some.x, some.y)
    names = [str(n) for n in learner.feature_names_in_]
    model = learner.to_model(label_values=learner.classes_.tolist())
    returned = measure(encode(domain_of(some), [model]), "assigned", limits).dist_g
    out: list[Row] = []
    trees, least, most = 0, math.inf, -math.inf
    chosen: Row = {}
    for one in found:
        trees, least = trees + one.trees, min(least, one.dist_g[0])
        if one.dist_g[1] > most + 1e-12:
            most, tree = one.dist_g[1], one.most_tree
            learner.nodes_ = tree
            chosen = {
                "choice": _in_words(tree, names, learner.classes_.tolist()),
                "choice_errors": one.errors,
                "choice_leaves": len(leaves(tree)),
                "choice_test_accuracy": float(np.mean(learner.predict(some.x_test) == some.y_test)),
            }
        out.append({
            "errors": one.errors, "loss": 100 * (one.errors - found[0].errors) / some.rows,
            "accuracy": 1 - one.errors / some.rows, "trees": str(trees), "least": least, "most": most,
            "returned": returned, **chosen,
        })  # fmt: skip
    return out


def _in_words(nodes: Sequence[TreeNode], names: Sequence[str], classes: Sequence[object]) -> str:
    """Return a tree as text: (test ? where it holds : where not), and at leaves the class and its share of rows.

    >>> node = TreeNode(0, 1, 2, (5, 4))
    >>> _in_words([node, TreeNode(None, -1, -1, (5, 1)), TreeNode(None, -1, -1, (0, 3))], ["a"], [0, 1])
    '(a ? 1 [3 of 3] : 0 [5 of 6])'
    """

    def at(number: int) -> str:
        node = nodes[number]
        if node.column is None:
            best = max(range(len(node.counts)), key=lambda c: node.counts[c])
            return f"{classes[best]} [{node.counts[best]} of {sum(node.counts)}]"
        return f"({names[node.column]} ? {at(node.one)} : {at(node.zero)})"

    return at(0)


DATASETS = ("compas27", "adult24")
SEEDS = (0, 1, 2)
SUPPORT = 0.01  # training rows in a leaf or rule, a share of all
DEPTH = 5  # of trees where they are not matched by size
EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)
NOISE_DRAWS = 5  # of noise per point
NOISE_CAP = 3.0  # seconds for the worlds at the confidence of one draw

QUESTIONS: dict[str, Callable[[Point, TrainTestSplit, Limits], list[Row]]] = {
    "matched size": matched,
    "nearly best trees": _nearly_best,
    "groups": by_group,
    "true attributes": attributes,
    "rule width": widths,
    "joined": joint_worlds,
    "noise": _noised,
}


def _points(size: Size) -> list[Point]:
    """Return the points of all questions."""
    quick = size == "quick"
    seeds = SEEDS[:1] if quick else SEEDS
    return [p for dataset in DATASETS for seed in seeds for p in _points_of(dataset, seed, quick)]


def _points_of(dataset: str, seed: int, quick: bool) -> list[Point]:
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
            out.append(asked("noise", cost, epsilon=epsilon, draws=NOISE_DRAWS, cap_seconds=NOISE_CAP, **named))
    return out


def _run(point: Point, frame: pd.DataFrame | None, limits: Limits) -> list[Row]:
    """Return the rows of a point: those of its question."""
    assert frame is not None
    return QUESTIONS[point["question"]](point, train_test_sample(point.dataset, frame, point["seed"]), limits)


EXPERIMENT = DECLARED.experiment(_points, _run, findings)
