"""The named optimal learner, asked on one data set: the model with the fewest errors in the class, proved or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.learner_rule.optimal.alternatives import Alternative, of_list, of_tree
from recon.learner_rule.optimal.classes import ModelClass
from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier
from recon.learners.optimal.trees.by_leaves import trees_by_leaves
from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier
from recon.readers.frames.world import World
from solvers.foundation.limits import Limits

Solver = Literal["own", "streed"]
NAMES = {"own": "recon's dynamic program over trees", "streed": "STreeD", "lists": "recon's search for rule lists"}


@dataclass(frozen=True)
class BestFound:
    """The best model found on a data set: its errors, itself, whether no model of the class is proved to make fewer.

    `solver`: who says so, in words.
    """

    errors: int
    model: Alternative
    proved: bool
    solver: str


def training_table(release: EncodedRelease, world: World, models: ModelClass) -> tuple[pd.DataFrame, pd.Series]:
    """Return a world's binary columns and labels (label indices)."""
    frame = world.to_frame(views=True)
    label = release.domain.label
    assert label is not None
    values = [label.value(i) for i in range(label.span[1])]
    codes = frame[label.name].map({v: i for i, v in enumerate(values)}).astype(np.int64)
    return frame[list(models.columns)].astype(np.int64), codes


def best_on(x: pd.DataFrame, y: pd.Series, models: ModelClass, limits: Limits, solver: Solver = "own") -> BestFound:
    """Return the model of the class with the fewest errors on rows `x` of binary columns with label indices `y`.

    Raises `Inconclusive` where limits end the search before any model was found, `Unsupported` without pystreed
    ("streed"). Cost: that of the learner.
    """
    limits.check("the named learner was asked for a better model")
    seconds = limits.stage("better model").left()
    if models.kind == "rule list":
        fitted = OptimalRuleListClassifier(
            models.length, 0.0, models.negations, seconds=seconds, width=models.width
        ).fit(x, y, stop=limits.stop)
        order = [int(c) for c in fitted.classes_]
        found = of_list(fitted.rules_, order, models.least)
        return BestFound(fitted.errors_, found, bool(fitted.optimal_), NAMES["lists"])
    if models.leaves is not None:
        return sized_tree(x, y, models, seconds, limits)
    if models.depth == 0:
        return majority(y, models)
    tree = OptimalTreeClassifier(models.depth, 1, max(seconds, 0.01), solver).fit(x, y)
    return of_fitted(tree, models)


def of_fitted(tree: OptimalTreeClassifier, models: ModelClass) -> BestFound:
    """Return a fitted tree as what was found."""
    order = [int(c) for c in tree.classes_]
    model = of_tree(tree.nodes_, [str(n) for n in tree.feature_names_in_], order, models.least)
    return BestFound(tree.errors_, model, bool(tree.optimal_), NAMES[tree.certified_by_ or "own"])


def majority(y: pd.Series, models: ModelClass) -> BestFound:
    """Return the model that gives everybody the commonest class."""
    counts = np.bincount(y, minlength=models.labels)
    model = Alternative(models.kind, (((), int(counts.argmax())),), models.least)
    return BestFound(int(counts.sum() - counts.max()), model, True, NAMES["own"])


def sized_tree(x: pd.DataFrame, y: pd.Series, models: ModelClass, seconds: float, limits: Limits) -> BestFound:
    """Return the best tree with so many leaves at most; its depth follows from the leaves."""
    assert models.leaves is not None
    best = majority(y, models)
    if models.leaves < 2:
        return best
    for sized in trees_by_leaves(x, y, models.leaves, 1, max(seconds, 0.01), limits.memory, limits.stop):
        if sized.errors < best.errors:
            best = of_fitted(sized.fewest_tree, models)
    return best
