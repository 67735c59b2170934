"""All trees of a depth that are nearly as accurate as the best: how many, and which of them leaks least."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from encoders.encode.encoder import encode
from recon.experiments.beyond.sizes import domain_of
from recon.experiments.experiment import Point, Row
from recon.experiments.ferry2024.fits import least_rows
from recon.experiments.splits import TrainTestSplit
from recon.learners.optimal.trees.nodes import TreeNode, leaves
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from recon.queries.measures.measures import measure
from solvers.foundation.limits import Limits


def nearly_best(point: Point, some: TrainTestSplit, limits: Limits) -> list[Row]:
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
                "choice": in_words(tree, names, learner.classes_.tolist()),
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


def in_words(nodes: Sequence[TreeNode], names: Sequence[str], classes: Sequence[object]) -> str:
    """Return a tree as text: (test ? where it holds : where not), and at leaves the class and its share of rows.

    >>> node = TreeNode(0, 1, 2, (5, 4))
    >>> in_words([node, TreeNode(None, -1, -1, (5, 1)), TreeNode(None, -1, -1, (0, 3))], ["a"], [0, 1])
    '(a ? 1 [3 of 3] : 0 [5 of 6])'
    """

    def at(number: int) -> str:
        node = nodes[number]
        if node.column is None:
            best = max(range(len(node.counts)), key=lambda c: node.counts[c])
            return f"{classes[best]} [{node.counts[best]} of {sum(node.counts)}]"
        return f"({names[node.column]} ? {at(node.one)} : {at(node.zero)})"

    return at(0)
