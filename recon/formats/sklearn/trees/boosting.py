"""Stored scikit-learn boosting models: the first tree's classes exactly, the later trees' sizes.

The first stage of boosting starts from the same score for everybody, so that its leaf values are functions of class
counts alone. AdaBoost: uniform weights, counts as they stand. Gradient boosting on two classes: with p the share of
class 1 the value of a leaf of n rows is (c1 - n p) / (n p (1 - p) + λ), so that c1 is found and must be whole
(Friedman, "Greedy function approximation", 2001, section 4.5). Later stages weigh rows by what is unknown; the
number of rows in their leaves is still exact, and all that regressors say here. AdaBoostRegressor is not read: its
trees count rows drawn again and again, by weights that the file does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.formats.drafts.drafts import Draft
from recon.formats.drafts.facts import Feature
from recon.formats.sklearn.trees.arrays import TreeArrays
from recon.formats.sklearn.trees.counts import NodeCounts, masses, only_sizes, row_counts
from recon.formats.sklearn.trees.draft import CountedTree, TreesDraft
from recon.formats.sklearn.trees.trees import (
    check_classes,
    class_values,
    counting_notes,
    feature_names,
    provenance,
    stored_arrays,
)
from recon.stored.objects.things import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import Rows

KINDS = (
    "AdaBoostClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingRegressor",
)
DOUBLE, SINGLE = 1e-9, 4e-6  # relative error of a leaf value: computed in double, or from single precision
LATER = "of the first tree classes are known, of later ones only how many rows are in each leaf"
HIDDEN = "the classes are hidden, in the first tree too: only how many rows are in each leaf is known"
REGRESSION = "a regression model: only how many rows are in each leaf is read"
HELD_OUT = "rows held out for early stopping, if any, are not among the training rows counted here"


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted boosting classifier or regressor.

    Raises `ReleaseError` for arrays that make no trees, `Unsupported` where a split is on categories. Cost: linear in
    nodes.
    """
    names, named = feature_names(thing)
    classes = None if thing.class_name.endswith("Regressor") else class_values(thing)
    histogram = thing.class_name.startswith("Hist")
    if histogram:
        arrays = [tree for stage in histogram_stages(thing, len(names)) for tree in stage]
    else:
        arrays = [stored_arrays(e, len(names), f"estimators_[{i}]") for i, e in enumerate(listed(thing))]
    counts = [only_sizes(a.rows, 1 if classes is None else len(classes), "") for a in arrays]
    first = None if classes is None else first_counts(thing, arrays[0], len(classes))
    counts[0] = counts[0] if first is None else first
    part = subsampled(thing)
    same = [i for i, a in enumerate(arrays) if part or a.rows[0] == arrays[0].rows[0]]
    notes = [HELD_OUT] if thing.get("n_iter_no_change") is not None and not thing.class_name.startswith("Ada") else []
    notes += ["every tree was fitted on a part of the rows"] if part else []
    lines = (*counting_notes([counts[0]]), *([LATER] if len(same) > 1 else []))
    if first is None:
        lines = (REGRESSION if classes is None else HIDDEN,)
    n = int(arrays[0].rows[0])
    origin = provenance(thing, form, [counts[i] for i in same], ("exact",), notes)
    return TreesDraft(
        replace(origin, counts=("distinct",)) if part else origin,  # rows that were left out may be in any leaf
        tuple(Feature(x, x) for x in names),
        classes=classes,
        rows=Rows(n) if part else Rows(n, n),
        named=named,
        single=not histogram,
        reader_notes=lines,
        trees=tuple(CountedTree(arrays[i], counts[i]) for i in same),
        forest=True,
        resampled=part,
        replaced=False,
    )


def listed(thing: Thing) -> list[Any]:
    """Return the base trees, stage by stage."""
    found = thing.get("estimators_")
    flat = found.ravel().tolist() if isinstance(found, np.ndarray) and found.dtype == object else found
    if not isinstance(flat, list) or not flat:
        raise ReleaseError("is not fitted: it has no trees", place="estimators_")
    for one in flat:
        if not isinstance(one, Thing) or not one.class_name.startswith("DecisionTree"):
            name = one.class_name if isinstance(one, Thing) else type(one).__name__
            raise Unsupported(f"a {thing.class_name} of {name} is not read: only ensembles of decision trees are")
    return flat


def subsampled(thing: Thing) -> bool:
    """Return whether every stage saw only a random part of the rows."""
    share = thing.get("subsample", 1.0)
    return not (isinstance(share, (int, float)) and share >= 1.0)


def first_counts(thing: Thing, tree: TreeArrays, classes: int) -> NodeCounts | None:
    """Return the rows per class of the first tree, None where they are hidden."""
    if thing.class_name.startswith("Ada"):
        check_classes(tree, classes, "estimators_[0]")
        each = float(tree.weighted[0]) / max(int(tree.rows[0]), 1)  # the first stage weighs every row alike: 1/n
        unit = replace(tree, weighted=tree.weighted / each, value=masses(tree) / each)
        found = row_counts(unit, None, None, None)
        return NodeCounts(found.classes, found.size) if found.whole else None
    if classes != 2 or len(tree.left) == 1 or thing.get("class_weight") is not None:
        return None  # one leaf has value 0 whatever the classes are
    if thing.class_name.startswith("Hist"):
        raw, rate, ridge = thing.get("_baseline_prediction"), thing.get("learning_rate"), thing.get("l2_regularization")
        start = np.asarray(raw, dtype=float).ravel() if isinstance(raw, (np.ndarray, float)) else np.zeros(0)
        if len(start) != 1 or not all(isinstance(x, (int, float)) for x in (rate, ridge)) or not rate:
            return None
        return solved_leaves(tree, 1 / (1 + math.exp(-float(start[0]))), float(rate), float(ridge), SINGLE)
    init = thing.get("init_")
    prior = init.get("class_prior_") if isinstance(init, Thing) and init.class_name == "DummyClassifier" else None
    if not isinstance(prior, np.ndarray) or len(prior) != 2 or thing.get("loss") not in {"log_loss", "deviance"}:
        return None
    if not np.allclose(tree.rows, tree.weighted, rtol=1e-9, atol=0):
        return None
    return solved_leaves(tree, float(prior[1]), 1.0, 0.0, DOUBLE)


def solved_leaves(tree: TreeArrays, p: float, rate: float, ridge: float, error: float) -> NodeCounts | None:
    """Return the classes of every leaf from its value; None where they are not whole within the rounding error.

    The root's share of class 1 must be p over all rows: the leaves then add up to it.
    """
    leaf, n = tree.leaf, tree.rows.astype(float)
    if not 0 < p < 1 or n[0] * error * 8 > 1:
        return None
    ones = tree.value[:, 0] / rate * (n * p * (1 - p) + ridge) + n * p
    rounded = np.rint(ones)
    off = np.abs(ones - rounded)[leaf]
    if (off > np.minimum(0.25, error * 8 * n[leaf] + 1e-6)).any() or (rounded[leaf] < 0).any():
        return None
    if (rounded[leaf] > n[leaf]).any() or abs(rounded[leaf].sum() - n[0] * p) > 0.25:
        return None
    classes = np.full((len(n), 2), -1, dtype=np.int64)
    classes[leaf, 1] = rounded[leaf].astype(np.int64)
    classes[leaf, 0] = tree.rows[leaf] - classes[leaf, 1]
    classes[~leaf] = 0  # inner nodes publish nothing
    return NodeCounts(classes, tree.rows, "the first tree's classes were solved for from its leaf values, exactly")


def histogram_stages(thing: Thing, features: int) -> list[list[TreeArrays]]:
    """Return the trees of histogram gradient boosting, one list per stage."""
    categories = thing.get("is_categorical_")
    if isinstance(categories, np.ndarray) and categories.any():
        raise Unsupported("histogram gradient boosting with categorical features is not read: encode them before")
    stages = thing.get("_predictors")
    if not isinstance(stages, list) or not stages or not all(isinstance(s, list) and s for s in stages):
        raise ReleaseError("is not fitted: it has no trees", place="_predictors")
    return [
        [histogram_tree(p, features, f"_predictors[{i}][{k}]") for k, p in enumerate(stage)]
        for i, stage in enumerate(stages)
    ]


FIELDS = ("value", "count", "feature_idx", "num_threshold", "missing_go_to_left", "left", "right", "is_leaf")


def histogram_tree(predictor: Any, features: int, place: str) -> TreeArrays:
    """Return the checked arrays of one stored `TreePredictor`."""
    nodes = predictor.get("nodes") if isinstance(predictor, Thing) else None
    names: Sequence[str] = getattr(getattr(nodes, "dtype", None), "names", None) or ()
    if not isinstance(nodes, np.ndarray) or nodes.ndim != 1 or not len(nodes) or set(FIELDS) - set(names):
        raise ReleaseError("has no node array with the fields of a tree", place=place)
    inner = nodes["is_leaf"] == 0
    if "is_categorical" in names and (nodes["is_categorical"][inner] != 0).any():
        raise ReleaseError("splits on categories, but names no categorical feature", place=place)

    def linked(name: str) -> NDArray[np.int64]:
        return np.where(inner, nodes[name].astype(np.int64), -1)

    rows = nodes["count"].astype(np.int64)
    found = TreeArrays(
        linked("left"),
        linked("right"),
        linked("feature_idx"),
        nodes["num_threshold"].astype(np.float64),
        nodes["missing_go_to_left"].astype(bool),
        np.zeros(len(nodes)),
        rows,
        rows.astype(float),
        nodes["value"].astype(np.float64)[:, None],
    )
    found.check(features, place)
    return found
