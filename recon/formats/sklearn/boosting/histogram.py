"""Stored histogram gradient boosting: its trees, and what leaf values say of sums of gradients, in rigorous intervals.

scikit-learn 1.9.1, sklearn/ensemble/_hist_gradient_boosting/{gradient_boosting,grower}.py, histogram.pyx,
splitting.pyx, common.pyx, sklearn/_loss/_loss.pyx.tp; u = 2^-53.

Scores. `_baseline_prediction` is stored, leaf values are added to it as they stand (`_update_raw_predictions`), all in
double: scores are known bit for bit.

Gradients. `cgrad_hess_half_binomial`: e = exp(-F), g = (1 - y - y e) / (1 + e), h = e / (1 + e)^2 in double (exp off by
at most 3 units in the last place: relative error below 16 u), then cast to single precision.

Sums. Histograms add single precision numbers in double; one child of a node gets that of its parent minus that of its
sibling. All numbers are multiples of the last place of the smallest gradient, 2^(e - 23) for 2^e <= |g|: where
N 2^(23 - e) <= 2^53 every sum and difference is exact (`exact_sums`; scores that rows can have bound |g| below).
Where it is not, an entry at depth d is off by at most (d + 1) N (N + 2) u in all bins together (a histogram of n rows
by n u N, a subtraction by N u more), a node's sum by (d + 1) ((d + 1) (N + 2) + 257) u N, as sums of at most 256 bins
and differences to the parent's sum are taken on the way.

Values. `compute_node_value`: v = -G / (H + l2 + 1e-15), times the learning rate in leaves (`_apply_shrinkage`): five
roundings with the quotient that is taken here: |G + v (H + l2)| <= |v| ((H + l2) 6 u + 1e-15 (1 + 6 u)). Inner nodes
keep v; the root's value is 0 and says nothing. H is at most n / 4 (up to its rounding to single precision).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import TreeSums
from recon.formats.sklearn.boosting.draft import LeafValues
from recon.formats.sklearn.boosting.rounding import UNIT, Floats, around, score_ends
from recon.formats.sklearn.trees.arrays import TreeArrays
from recon.stored.objects.things import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.boosted import Gradients

RELATIVE = 16 * UNIT
TINY = 1e-290  # exp(-F) may underflow
QUARTER = 0.2500001  # h <= 1/4, rounded to single precision
BINS = 257


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


def leaf_values(thing: Thing, trees: list[TreeArrays], rate: float) -> LeafValues | str:
    """Return what a model of two classes says, or why nothing is read off its leaf values."""
    raw, ridge = thing.get("_baseline_prediction"), thing.get("l2_regularization")
    start = np.asarray(raw, dtype=float).ravel() if isinstance(raw, (np.ndarray, float)) else np.zeros(0)
    if len(start) != 1 or not np.isfinite(start).all() or not isinstance(ridge, (int, float)) or ridge < 0:
        return "the scores that it starts from are not known"
    steps = [tree.value[tree.leaf, 0] for tree in trees]
    low, high = score_ends(float(start[0]), steps)
    size = np.maximum(np.abs(low), np.abs(high))
    every = tuple(
        tree_sums(tree, step, t, 0, rate, float(ridge), float(size[t]))
        for t, (tree, step) in enumerate(zip(trees, steps, strict=True))
    )
    law = Gradients("log_loss", rounded="float32", relative=RELATIVE, absolute=TINY)
    return LeafValues(law, (float(start[0]),), (0, 1), every)


def tree_sums(
    tree: TreeArrays, step: Floats, round_: int, of: int, rate: float, ridge: float, score: float
) -> TreeSums:
    """Return the figures of one tree whose rows had scores of at most so great a size."""
    n, leaf = tree.rows.astype(np.float64), tree.leaf
    newton = np.where(leaf, tree.value[:, 0] / rate, tree.value[:, 0])
    size = np.abs(newton)
    most = np.minimum(size * (QUARTER * n + ridge), n * 1.01 + size * 1e-15)  # |v| (H + l2), which is |G|
    error = 6 * UNIT * most + size * 1.0001e-15
    if not exact_sums(float(n[0]), score):
        d = depths(tree) + 1.0
        error += d * (d * (n[0] + 2) + BINS) * UNIT * n[0] * (1 + QUARTER * size)
    low, high = around(-newton * ridge, error + 2 * UNIT * size * ridge)
    used = np.arange(1, len(n))  # nothing is said by the root
    return TreeSums(
        round_,
        of,
        step,
        used.astype(np.int64),
        np.ones(len(used)),
        newton[used],
        np.zeros(len(used)),
        low[used],
        high[used],
        ("value",) * len(used),
    )


def exact_sums(rows: float, score: float) -> bool:
    """Return whether sums over so many rows, with scores of at most this size, are exact in double."""
    if score > 60:
        return False
    share = 1 / (1 + math.exp(score))
    least = share * (1 - share) * 0.999  # of h; |g| is at least `share`
    return rows * 2.0 ** (23 - math.floor(math.log2(least))) <= 2.0**53


def depths(tree: TreeArrays) -> NDArray[np.int64]:
    """Return the depth of every node, 0 for the root."""
    found = np.zeros(len(tree.left), dtype=np.int64)
    level, d = np.zeros(1, dtype=np.int64), 0
    while len(level):
        found[level] = d
        inner = level[~tree.leaf[level]]
        level, d = np.concatenate([tree.left[inner], tree.right[inner]]), d + 1
    return found
