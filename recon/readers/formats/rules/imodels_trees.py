"""Models of imodels around scikit-learn trees: hierarchical shrinkage, pruned trees, boosted rules.

Those without exact counts are refused with a word on why.

Hierarchical shrinkage rewrites the share v of every node as S = S(parent) + (v - v(parent)) / (1 + reg / n(parent)); n
stands beside it, so v is solved for from the root down, and the impurities, which are not rewritten, prove it right.
Source: imodels 3.0.4, hierarchical_shrinkage.py (`_shrink_tree`); Agarwal et al., ICML 2022.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Value
from encoders.models.models import CountKind, Provenance
from recon.readers.formats.drafts.binding import free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import as_features, model_features, number, parts
from recon.readers.formats.sklearn.trees import trees as sklearn_trees
from recon.readers.formats.sklearn.trees.arrays import NodeCounts, TreeArrays, impurities, only_sizes, row_counts
from recon.readers.formats.sklearn.trees.draft import CountedTree, TreesDraft
from recon.readers.formats.sklearn.trees.trees import (
    check_classes,
    class_values,
    counting_notes,
    hidden_values,
    stored_arrays,
)
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

SHRUNK = ("HSTreeClassifier", "HSTreeRegressor", "HSTreeClassifierCV", "HSTreeRegressorCV")
PLAIN = ("GreedyTreeClassifier", "GreedyTreeRegressor")
WRAPPED = ("DecisionTreeCCPClassifier", "DecisionTreeCCPRegressor")
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreesRegressor")
LOOK = "(recon inspect shows what else the file stores)"
SUBSAMPLED = f"its rules' supports are shares of subsamples of the training rows, no counts of them {LOOK}"
REFUSED = {
    "BayesianRuleSetClassifier": f"it stores rules without counts {LOOK}: it may hold which row meets which rule",
    "SkopeRulesClassifier": SUBSAMPLED,
    "FPSkopeClassifier": SUBSAMPLED,
    "RuleFitClassifier": SUBSAMPLED,
    "RuleFitRegressor": SUBSAMPLED,
    "FPLassoClassifier": SUBSAMPLED,
    "FPLassoRegressor": SUBSAMPLED,
    "C45TreeClassifier": f"it stores shares rounded to three digits, no counts {LOOK}",
    "TaoTreeClassifier": f"its tree was changed after its counts were taken, which are of another tree {LOOK}",
    "TaoTreeRegressor": f"its tree was changed after its counts were taken, which are of another tree {LOOK}",
    "SlipperClassifier": f"its rules are fitted on random parts of the rows and store no counts {LOOK}",
    "BoostedRulesRegressor": f"its trees are fitted on weighted resamples of the rows {LOOK}",
}
KINDS = (*SHRUNK, *PLAIN, *WRAPPED, "BoostedRulesClassifier", *REFUSED)
SHRUNK_AGAIN = "the stored shares are not those of one shrinkage: only the number of rows per leaf is known"
PRECISE = 1e-6  # shares and impurities are recomputed to this precision (measured error: 3e-14)


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a model around scikit-learn trees.

    Raises `ReleaseError` for arrays that make no tree, `Unsupported` saying why for models without exact counts.
    Cost: linear in nodes.
    """
    name = thing.class_name
    if name in REFUSED:
        raise Unsupported(f"an imodels {name} is not read: {REFUSED[name]}")
    if name in PLAIN:
        return sklearn_trees.read(thing, form)
    if name in WRAPPED:
        inner = thing.get("estimator_")
        if not isinstance(inner, Thing) or inner.class_name not in sklearn_trees.TREES:
            raise ReleaseError("holds no fitted decision tree", place="estimator_")
        return sklearn_trees.read(inner, form)
    return _boosted(thing, form) if name == "BoostedRulesClassifier" else _shrunk(thing, form)


def _draft(
    thing: Thing,
    form: str,
    trees: Sequence[CountedTree],
    names: tuple[list[str], bool],
    classes: tuple[Value, ...] | None,
) -> TreesDraft:
    """Return the draft of trees that all saw every row."""
    counted = [t.counts for t in trees]
    kinds: list[CountKind] = ["exact"] if any((c.classes >= 0).any() for c in counted) else []
    kinds += [] if all(c.whole for c in counted) else ["size"]
    unused = hidden_values(counted)
    return TreesDraft(
        Provenance(f"imodels {thing.class_name} ({form})", tuple(kinds), (sklearn_trees.ASSUMES,), unused=unused),
        as_features(names[0]),
        classes=classes,
        label=free_label(names[0]),
        rows=RowCount(int(trees[0].arrays.rows[0]), int(trees[0].arrays.rows[0])),
        named=names[1],
        single=True,
        reader_notes=counting_notes(counted),
        trees=tuple(trees),
        forest=len(trees) > 1,
    )


def _shrunk(thing: Thing, form: str) -> Draft:
    """Return the draft of a tree with hierarchical shrinkage, or of a forest that saw every row."""
    inner = thing.get("estimator_")
    if not isinstance(inner, Thing):
        raise ReleaseError("holds no fitted estimator", place="estimator_")
    regressor = thing.class_name.startswith("HSTreeRegressor")
    source = thing if thing.has("classes_") else inner
    classes = None if regressor else class_values(source)
    fitted = thing if thing.has("n_features_in_") or thing.has("feature_names_in_") else inner
    names = model_features(fitted)
    several = inner.class_name in FORESTS
    bootstrap = inner.get("bootstrap")
    if several and (not isinstance(bootstrap, (bool, int)) or bootstrap):
        raise Unsupported(
            f"a shrunk {inner.class_name} of bootstrap samples is not read: give the forest itself, before shrinkage"
        )
    if not several and inner.class_name not in sklearn_trees.TREES:
        raise Unsupported(f"a shrunk {inner.class_name} is not read: only trees and forests of trees are")
    stored = parts(inner.get("estimators_"), "trees", "estimator_.estimators_") if several else [inner]
    trees = []
    for i, tree in enumerate(stored):
        place = f"estimator_.estimators_[{i}].tree_" if several else "estimator_.tree_"
        arrays = stored_arrays(tree, len(names[0]), place)
        if classes is None:
            trees.append(CountedTree(arrays, only_sizes(arrays.rows, 1, "")))
            continue
        if arrays.value.shape[1] != len(classes):
            raise ReleaseError(f"has values for {arrays.value.shape[1]} classes of {len(classes)}", place=place)
        trees.append(CountedTree(arrays, _unshrunk_counts(thing, tree, arrays)))
    return _draft(thing, form, trees, names, classes)


def _unshrunk_counts(thing: Thing, tree: Thing, arrays: TreeArrays) -> NodeCounts:
    """Return the rows per class behind shrunk shares; sizes alone where the impurities say otherwise."""
    raw = thing.get("reg_param")
    reg = 1.0 if raw is None else number(raw, "reg_param")
    share = _unshrunk(arrays, str(thing.get("shrinkage_scheme_")), reg)
    sizes = only_sizes(arrays.rows, arrays.value.shape[1], SHRUNK_AGAIN)
    if share is None or not np.isfinite(share).all() or (share < -PRECISE).any():
        return sizes
    impurity = impurities(share, str(tree.get("criterion")))
    if impurity is None or not np.allclose(impurity, arrays.impurity, rtol=0, atol=PRECISE):
        return sizes
    if not np.allclose(share.sum(axis=1), 1, rtol=0, atol=PRECISE):
        return sizes
    found = replace(arrays, value=np.clip(share, 0, 1) * arrays.weighted[:, None])
    return row_counts(found, tree.get("criterion"), None, tree.get("class_weight"))


def _unshrunk(arrays: TreeArrays, scheme: str, reg: float) -> NDArray[np.float64] | None:
    """Return the share of each class per node before shrinkage, None for an unknown scheme; level by level."""
    after, weight = arrays.value, arrays.weighted
    if scheme not in {"node_based", "constant", "leaf_based"} or (weight <= 0).any():
        return None
    before = after.copy()
    if scheme == "leaf_based":
        leaf = arrays.leaf
        before[leaf] = after[0] + (after[leaf] - after[0]) * (1 + reg / weight[leaf])[:, None]
        return before
    level = np.zeros(1, dtype=np.int64)
    while len(level):
        level = level[arrays.left[level] >= 0]
        factor = 1 + reg / weight[level] if scheme == "node_based" else np.full(len(level), 1 + reg)
        for child in (arrays.left[level], arrays.right[level]):
            before[child] = before[level] + (after[child] - after[level]) * factor[:, None]
        level = np.concatenate([arrays.left[level], arrays.right[level]])
    return before


def _boosted(thing: Thing, form: str) -> Draft:
    """Return the draft of boosted rules: classes of the first tree, which saw equal weights, sizes of the others."""
    names, classes = model_features(thing), class_values(thing)
    trees: list[CountedTree] = []
    for i, tree in enumerate(parts(thing.get("estimators_"), "trees", "estimators_")):
        place = f"estimators_[{i}].tree_"
        if not isinstance(tree, Thing) or tree.class_name not in sklearn_trees.TREES:
            inner = tree.class_name if isinstance(tree, Thing) else type(tree).__name__
            raise Unsupported(f"boosted rules of {inner} are not read: only those of decision trees are")
        arrays = stored_arrays(tree, len(names[0]), place)
        check_classes(arrays, len(classes), place)
        trees.append(CountedTree(arrays, _boosted_counts(tree, arrays, first=not i)))
    # A row of weight 0 is in no node: such a later tree is about fewer rows, and left out.
    full = [t for t in trees if t.arrays.rows[0] == trees[0].arrays.rows[0]]
    return _draft(thing, form, full, names, classes)


def _boosted_counts(tree: Any, arrays: TreeArrays, first: bool) -> NodeCounts:
    """Return what the nodes of one boosting stage count; rows weigh 1/n in the first."""
    text = "later trees of a boosted model weigh the rows: only their number of rows per leaf is known"
    if not first or arrays.weighted[0] <= 0:
        return only_sizes(arrays.rows, arrays.value.shape[1], text)
    scale = float(arrays.rows[0]) / float(arrays.weighted[0])
    shares = arrays.value / np.maximum(arrays.value.sum(axis=1), 1e-300)[:, None]
    even = replace(arrays, weighted=arrays.weighted * scale, value=shares * (arrays.weighted * scale)[:, None])
    return row_counts(even, tree.get("criterion"), sklearn_trees.constrained(tree), tree.get("class_weight"))
