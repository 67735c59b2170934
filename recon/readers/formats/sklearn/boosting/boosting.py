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
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from encoders.domain.values import Categorical, Value, exact
from encoders.models.models import UnusedPublication
from recon.readers.formats.drafts.binding import Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.boosting.draft import MOST_ROWS, BoostedLeafValues, BoostingDraft
from recon.readers.formats.sklearn.boosting.histogram import CategoryColumns, categories_of, histogram_stages
from recon.readers.formats.sklearn.boosting.histogram import leaf_values as histogram_values
from recon.readers.formats.sklearn.trees.arrays import NodeCounts, TreeArrays, masses, only_sizes, row_counts
from recon.readers.formats.sklearn.trees.draft import CountedTree
from recon.readers.formats.sklearn.trees.settings import fitted_by
from recon.readers.formats.sklearn.trees.trees import (
    check_classes,
    class_values,
    counting_notes,
    feature_names,
    provenance,
    stored_arrays,
)
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

KINDS = (
    "AdaBoostClassifier",
    "GradientBoostingClassifier",
    "HistGradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingRegressor",
)
CRITERIA = {"deprecated", "friedman_mse", "squared_error", "mse"}  # all of them publish variances
COMMON_LOSSES = (1, 4)  # the version in which gradient boosting took over the losses of histogram gradient boosting
MOST_HELD_OUT = 0.999  # the share of rows held out up to which their number is looked for
MOST_FIGURE = 1e100  # squares and sums of what is larger are no finite doubles
DOUBLE, SINGLE = 1e-9, 4e-6  # relative error of a leaf value: computed in double, or from single precision
LATER = "of the first tree classes are known, of later ones only how many rows are in each leaf"
HIDDEN = "the classes are hidden, in the first tree too: only how many rows are in each leaf is known"
UNUSED = "its leaf values"
WEIGHED = "later trees weigh rows by what is not known"
REGRESSION = "a regression model: only how many rows are in each leaf is read"
VALUES = "every leaf value is a statement on sums of gradients over the rows of its leaf"
REGRESSED = "a regression model: how many rows are in each leaf, and their mean residual, is read"
BOUNDED = ", the latter with a domain whose label has a least and a greatest value"
BY_CATEGORY = "sums of gradients over sets of categories are not derived"
OTHER_ROWS = "its trees count different rows, training was continued"
HELD_OUT = "rows were held out for early stopping"
HELD_OUT_ROWS = "rows held out for early stopping may be in any leaf: a leaf's count is a least number of training rows"
NO_ZEROS = "no row had weight 0: how many rows there were follows from the share held out, of those with weight 0, too"
CONTINUED = "warm_start is set: training was not continued on other rows"


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted boosting classifier or regressor.

    Raises `ReleaseError` for arrays that make no trees. Cost: linear in nodes.
    """
    names, named = feature_names(thing)
    classes = None if thing.class_name.endswith("Regressor") else class_values(thing)
    histogram = thing.class_name.startswith("Hist")
    columns = categories_of(thing, len(names)) if histogram else CategoryColumns(np.zeros(0, dtype=np.int64), {})
    if histogram:
        stages = histogram_stages(thing, len(names), columns)
        arrays = [tree for stage in stages for tree in stage]
    else:
        arrays = [stored_arrays(e, len(names), f"estimators_[{i}]") for i, e in enumerate(_base_trees(thing))]
    for i, one in enumerate(arrays):
        place = f"tree {i} of _predictors" if histogram else f"tree {i} of estimators_"
        one.agree(place, rows="count" if histogram else "n_node_samples")
    counts = [only_sizes(a.rows, 1 if classes is None else len(classes), "") for a in arrays]
    first = None if classes is None else _first_counts(thing, arrays[0], len(classes))
    counts[0] = counts[0] if first is None else first
    out = _held_out(thing)
    part = out or _subsampled(thing)
    same = [i for i, a in enumerate(arrays) if part or a.rows[0] == arrays[0].rows[0]]
    values = leaf_values(thing, arrays, classes) if len(same) == len(arrays) else OTHER_ROWS
    values = BY_CATEGORY if columns.sets and not isinstance(values, str) else values
    notes = [HELD_OUT_ROWS, *([] if histogram else [NO_ZEROS])] if out else []
    notes += ["every tree was fitted on a part of the rows"] if _subsampled(thing) else []
    notes += [CONTINUED] if thing.get("warm_start") and len(arrays) > 1 else []
    lines = (*counting_notes([counts[0]]), *([LATER] if len(same) > 1 else []))
    if first is None:
        lines = (REGRESSION if classes is None else HIDDEN,)
    if not isinstance(values, str):
        known = REGRESSED if classes is None else VALUES
        lines = (*(lines if first is not None else ()), known + (BOUNDED if values.per_size else ""))
    elif values:
        lines = (*lines, f"leaf values say nothing more: {values}")
    n = int(arrays[0].rows[0])
    origin = provenance(thing, form, [counts[i] for i in same], ("exact",), notes)
    if isinstance(values, str) and (len(arrays) > 1 or first is None):
        alone = len(arrays) == 1 and not part
        origin = replace(origin, unused=(UnusedPublication(UNUSED, values or WEIGHED, labels=alone),))
    return BoostingDraft(
        replace(origin, counts=("distinct",)) if part else origin,  # rows that were left out may be in any leaf
        tuple(Feature(x, x) for x in names),
        classes=classes,
        rows=RowCount(n) if _subsampled(thing) else _with_held_out(thing, n) if out else RowCount(n, n),
        named=named,
        single=not histogram,
        occurring="" if classes is None else _classes_said(thing, arrays, first),
        reader_notes=lines,
        trees=tuple(CountedTree(arrays[i], counts[i], ruled=histogram) for i in same),
        forest=True,
        resampled=part,
        replaced=False,
        values=None if isinstance(values, str) else values,
        sets=columns.sets,
        hints={names[f]: _category_values(names[f], of.values()) for f, of in columns.values.items()},
    )


def _category_values(name: str, values: Collection[Value]) -> Categorical:
    """Return the attribute of a feature with these categories, numbers ascending."""
    texts = any(isinstance(v, str) for v in values)
    return Categorical(name, tuple(values) if texts else tuple(sorted(values, key=exact)))


def _held_out(thing: Thing) -> bool:
    """Return whether a part of the rows was held out for early stopping, as far as the file says so."""
    if thing.class_name.startswith("Hist"):
        kept = thing.get("_use_validation_data", thing.get("validation_fraction", 0.1) is not None)
        return bool(thing.get("do_early_stopping_", True) and kept)
    return not thing.class_name.startswith("Ada") and thing.get("n_iter_no_change") is not None


def _with_held_out(thing: Thing, seen: int) -> RowCount:
    """Return how many rows there were where trees saw these: of n rows ceil(share * n) were held out, or n - share.

    sklearn/model_selection/_split.py, `_validate_shuffle_split`. Histogram boosting may have been given a table of its
    own instead (X_val), which no file tells: then the rows are those that the trees saw.
    """
    share = thing.get("validation_fraction", 0.1)
    if isinstance(share, int) and not isinstance(share, bool) and 0 < share < MOST_ROWS:
        totals = [seen + share]
    elif isinstance(share, float) and 0 < share <= MOST_HELD_OUT and seen < MOST_ROWS:
        each = 1 / (1 - share)  # so many numbers of rows leave as many
        near = range(round(seen * each) - 3, round((seen + 1) * each) + 4)
        totals = [n for n in near if n - math.ceil(share * n) == seen]
    else:
        totals = []
    if not totals:
        return RowCount(seen)
    return RowCount(seen if thing.class_name.startswith("Hist") else totals[0], totals[-1])


def _classes_said(thing: Thing, trees: Sequence[TreeArrays], first: NodeCounts | None) -> Literal["each", "only"]:
    """Return what `classes_` says of the rows that the trees count: not held out, and of no weight but 0 alone."""
    if thing.class_name.startswith("Ada"):
        return "only" if first is None else "each"
    if thing.class_name.startswith("Hist"):  # rows of weight 0 count
        return "only" if _held_out(thing) else "each"
    plain = _subsampled(thing) or all((t.rows == t.weighted).all() for t in trees)
    return "each" if plain and not _held_out(thing) else "only"


def leaf_values(thing: Thing, trees: list[TreeArrays], classes: Sequence[Value] | None) -> BoostedLeafValues | str:
    """Return what leaf values say of a model whose trees all have the same rows, or why nothing ("": as ever)."""
    from recon.readers.formats.sklearn.boosting.gradient import leaf_values as gradient_values

    if thing.class_name.startswith("Ada"):
        return ""
    histogram, rate, loss = thing.class_name.startswith("Hist"), thing.get("learning_rate"), thing.get("loss")
    if not isinstance(loss, str):
        return "its loss is none of the library's"
    if loss not in ({"squared_error", "ls", "least_squares"} if classes is None else {"log_loss", "deviance"}):
        return f"its loss is {loss[:40]!r}"
    if why := _unusual(thing, trees):
        return why
    number = 0 if classes is None else len(classes)
    if number == 1 or len(trees) % (number if number > 2 else 1):
        return "its trees do not fit its classes"
    if not isinstance(rate, (int, float)) or not 0 < rate < math.inf:
        return "its learning rate is not a number above 0"
    if int(trees[0].rows[0]) > MOST_ROWS or not all(map(_trained, trees)):
        return "its figures are not those of training"
    recent = fitted_by(thing) >= COMMON_LOSSES
    if number > 2 and not recent:
        return "so old a version (before 1.4) computes shares of classes in another way"
    found = histogram_values if histogram else gradient_values
    return found(thing, trees, float(rate), number, recent)


def _trained(tree: TreeArrays) -> bool:
    """Return whether figures of a tree are numbers of a sane size, and rows of nodes those of their children."""
    inner = ~tree.leaf
    below = tree.rows[tree.left[inner]] + tree.rows[tree.right[inner]]
    numbers = np.concatenate([tree.value.ravel(), tree.impurity])
    return bool((tree.rows > 0).all() and (below == tree.rows[inner]).all() and (np.abs(numbers) < MOST_FIGURE).all())


def _unusual(thing: Thing, trees: list[TreeArrays]) -> str:
    """Return why training was not that of all rows alike from the start, "" where it may have been."""
    if _subsampled(thing):
        return "every tree was fitted on a part of the rows"
    if _held_out(thing):
        return HELD_OUT
    if thing.get("class_weight") is not None:
        return "classes were weighted (class_weight)"
    if any((t.rows != t.weighted).any() for t in trees):
        return "rows were weighted (sample_weight)"
    if thing.get("warm_start"):
        return "training may have been continued (warm_start)"
    criterion = thing.get("criterion", "deprecated")
    if not thing.class_name.startswith("Hist") and not (isinstance(criterion, str) and criterion in CRITERIA):
        return "its trees hold no variances of gradients (criterion)"
    if thing.get("monotonic_cst") is not None:
        return "values are clipped by monotonic constraints (monotonic_cst)"
    return ""


def _base_trees(thing: Thing) -> list[Any]:
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


def _subsampled(thing: Thing) -> bool:
    """Return whether every stage saw only a random part of the rows."""
    share = thing.get("subsample", 1.0)
    return not (isinstance(share, (int, float)) and share >= 1.0)


def _first_counts(thing: Thing, tree: TreeArrays, classes: int) -> NodeCounts | None:
    """Return the rows per class of the first tree, None where they are hidden."""
    if thing.class_name.startswith("Ada"):
        check_classes(tree, classes, "estimators_[0]")
        each = float(tree.weighted[0]) / max(int(tree.rows[0]), 1)  # the first stage weighs every row alike: 1/n
        unit = replace(tree, weighted=tree.weighted / each, value=masses(tree) / each)
        found = row_counts(unit, None, None, None)
        return NodeCounts(found.classes, found.size) if found.whole else None
    if classes != 2 or thing.get("class_weight") is not None:
        return None
    if thing.class_name.startswith("Hist"):
        raw, rate, ridge = thing.get("_baseline_prediction"), thing.get("learning_rate"), thing.get("l2_regularization")
        start = np.asarray(raw, dtype=float).ravel() if isinstance(raw, (np.ndarray, float)) else np.zeros(0)
        if len(start) != 1 or not all(isinstance(x, (int, float)) for x in (rate, ridge)) or not rate:
            return None
        return _solved_leaves(tree, 1 / (1 + math.exp(-float(start[0]))), float(rate), float(ridge), SINGLE)
    init = thing.get("init_")
    prior = init.get("class_prior_") if isinstance(init, Thing) and init.class_name == "DummyClassifier" else None
    if not isinstance(prior, np.ndarray) or len(prior) != 2 or thing.get("loss") not in ("log_loss", "deviance"):
        return None
    if not tree.unweighted:
        return None
    return _solved_leaves(tree, float(prior[1]), 1.0, 0.0, DOUBLE)


def _solved_leaves(tree: TreeArrays, p: float, rate: float, ridge: float, error: float) -> NodeCounts | None:
    """Return the classes of every leaf from its value; None where they are not whole within the rounding error.

    The root's share of class 1 must be p over all rows: the leaves then add up to it. Of a tree of one leaf p alone
    says it: the residuals of all rows add up to 0, whatever the classes are.
    """
    leaf, n = tree.leaf, tree.rows.astype(float)
    if not 0 < p < 1 or n[0] * error * 8 > 1:
        return None
    values = tree.value[:, 0] if len(tree.left) > 1 else np.zeros(1)
    ones = values / rate * (n * p * (1 - p) + ridge) + n * p
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
