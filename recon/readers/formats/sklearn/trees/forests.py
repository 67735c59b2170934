"""Stored scikit-learn forests and bags of trees as drafts, without importing scikit-learn.

The trees of a forest number the classes; the labels and the names of the features are on the forest. A bootstrapped
forest counts drawn rows, and its stored seeds give the bags away (`recon.readers.formats.sklearn.trees.settings`): they
go into the draft where they fit what the trees say.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Value, plain_number
from encoders.models.models import CountKind, UnusedPublication
from recon.readers.formats.drafts.binding import Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.arrays import bag_counts, drawn_sizes, only_sizes, row_counts, weighting_of
from recon.readers.formats.sklearn.trees.draft import CountedTree, TreesDraft, missing_seen
from recon.readers.formats.sklearn.trees.settings import EnsembleBags, explain_bags, forest_settings, last_call
from recon.readers.formats.sklearn.trees.trees import (
    MISPLACED,
    NUMBERS,
    SPREADS,
    check_classes,
    class_values,
    constrained,
    counting_notes,
    feature_names,
    hidden_values,
    midpoints,
    misplacing,
    occurring,
    provenance,
    refuse_outputs,
    stored_arrays,
)
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

QUANTILES = ("RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor")  # of quantile_forest
KINDS = (
    "RandomForestClassifier",
    "ExtraTreesClassifier",
    "BaggingClassifier",
    "RandomForestRegressor",
    "ExtraTreesRegressor",
    "BaggingRegressor",
    "IsolationForest",
    *QUANTILES,
)
UNPLACED = UnusedPublication("sorter_", "it has the target of every row by position, and the bags are not known")
TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted forest, extra trees or bagging of trees.

    Raises `ReleaseError` for arrays that make no trees, `Unsupported` for several outputs and other base learners.
    Cost: linear in nodes; rebuilding the bags draws as many numbers as the trees drew rows.
    """
    names, named = feature_names(thing)
    refuse_outputs(thing)
    calls = last_call(thing)
    thing = calls.last
    regressor = thing.class_name.endswith("Regressor") or thing.class_name == "IsolationForest"
    classes: tuple[Value, ...] | None = None if regressor else class_values(thing)
    estimators = thing.get("estimators_")
    if not isinstance(estimators, list) or not estimators:
        raise ReleaseError("is not fitted: it has no trees", place="estimators_")
    columns = thing.get("estimators_features_", [None] * len(estimators))
    if not isinstance(columns, list) or len(columns) != len(estimators):
        raise ReleaseError("has not one set of features per tree", place="estimators_features_")
    resampled, replaced, drawn = _sampling(thing)
    known = explain_bags(thing) if resampled else None
    bags = None if known is None else known.multiplicities
    drawn = int(bags[0].sum()) if drawn is None and bags is not None else drawn
    trees = [
        _one_tree(e, c, thing, len(names), classes, resampled, drawn, i)
        for i, (e, c) in enumerate(zip(estimators, columns, strict=True), start=calls.first)
    ]
    hidden = resampled and (_weights_hide(trees, bags) or (regressor and (bags is None or not replaced)))
    if hidden:  # what is left are different rows per leaf, as drawn without replacement
        trees = [replace(t, counts=only_sizes(t.arrays.rows, t.counts.classes.shape[1], t.counts.note)) for t in trees]
    kinds: tuple[CountKind, ...] = ("exact",) if not resampled else ("bag", "distinct") if replaced else ("distinct",)
    drawn_how = f"each tree was fitted on a resample of the rows, drawn {_how(replaced)} replacement"
    notes = (*((drawn_how,) if resampled else ()), *calls.assumes)
    lines = [*calls.notes, *counting_notes([t.counts for t in trees]), *([] if known is None else [_bags_line(known)])]
    rows = RowCount(bags.shape[1], bags.shape[1]) if bags is not None else _training_rows(thing, trees, resampled)
    misplaced = misplacing(thing, *trees)
    wrong = misplaced and any(len(missing_seen(t)) for t in trees)
    lines += [MISPLACED] if wrong else []
    for i, (estimator, tree) in enumerate(zip(estimators, trees, strict=True), start=calls.first):
        classed = classes is not None and not wrong and _constraints_of(estimator, thing) is None
        tree.arrays.agree(f"estimators_[{i}].tree_", estimator.get("criterion") if classed else None)
    each = rows.low if rows.exact else None  # a tree knows of all the rows, those that it did not draw included
    learner = forest_settings(thing, estimators, each, resampled)
    origin = provenance(thing, form, [t.counts for t in trees], kinds, notes, learner)
    unused = hidden_values([t.counts for t in trees]) if classes is not None else ()
    if thing.class_name.endswith("Regressor"):
        unused = (UnusedPublication(SPREADS, NUMBERS, labels=len(trees) == 1),)
    unused += tuple(UnusedPublication("the counts of earlier trees", note) for note in calls.notes)
    if thing.class_name in QUANTILES and bags is None:
        unused += (UNPLACED,)
    targets, labels = _stored_targets(thing, rows) if thing.class_name in QUANTILES else (classes, None)
    return TreesDraft(
        replace(origin, unused=unused),
        tuple(Feature(n, n) for n in names),
        classes=targets,
        label=free_label(names, "label" if labels is None else "target"),
        labels=labels,
        rows=rows,
        named=named,
        single=True,
        occurring="" if classes is None else occurring([t.counts for t in trees], not hidden),
        reader_notes=tuple(lines),
        trees=tuple(trees),
        misplaced=misplaced,
        forest=True,
        resampled=resampled,
        replaced=replaced and not hidden,
        multiplicities=_kept_bags(bags, hidden),
    )


def _stored_targets(thing: Thing, rows: RowCount) -> tuple[tuple[Value, ...], tuple[int, ...]]:
    """Return the targets that occur in a quantile forest, and which of them the row at every position has.

    The forest has them in ascending order, `sorter_` says at which position each stood.
    """
    forest, order = thing.get("forest_"), thing.get("sorter_")
    found = resolve(forest.args[0]) if isinstance(forest, Thing) and forest.args else None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ReleaseError("has no targets of the training rows: the forest is not fitted", place="forest_")
    at = order.reshape(-1) if isinstance(order, np.ndarray) and order.dtype.kind in "iu" else np.zeros(0, dtype=int)
    if not rows.exact or len(at) != rows.low or sorted(at.tolist()) != list(range(found.size)):
        raise ReleaseError("does not say the position of every target", place="sorter_")
    values, number = np.unique(found.reshape(-1), return_inverse=True)
    placed = np.empty(len(at), dtype=np.int64)
    placed[at] = number.reshape(-1)
    return tuple(plain_number(Fraction(v)) for v in values.tolist()), tuple(placed.tolist())


def _kept_bags(bags: NDArray[np.int32] | None, hidden: bool) -> NDArray[np.int32] | None:
    """Return the bags that fit what the trees' counts say: each row once where leaves count different rows.

    So it is where weights hide how many were drawn, and in isolation forests without replacement.
    """
    return np.minimum(bags, 1) if hidden and bags is not None else bags


def _bags_line(known: EnsembleBags) -> str:
    """Return what the stored seeds give away."""
    if known.multiplicities is None:
        return f"which rows each tree drew is not known: {known.why}"
    return f"which rows each tree drew follows from the stored seeds ({known.seeds}), as the trees confirm: {known.why}"


def _how(replaced: bool) -> str:
    """Return with or without."""
    return "with" if replaced else "without"


def _sampling(thing: Thing) -> tuple[bool, bool, int | None]:
    """Return whether trees saw a resample, whether rows were put back, and how many were drawn (None: unsaid)."""
    bootstrap = thing.get("bootstrap")
    if not isinstance(bootstrap, (bool, int)):
        raise ReleaseError(f"has the setting bootstrap={bootstrap!r}", place="bootstrap")
    drawn = thing.get("_max_samples", thing.get("_n_samples_bootstrap"))
    drawn = drawn if isinstance(drawn, int) and drawn > 0 else None
    n = thing.get("_n_samples")
    if bootstrap:
        if drawn is None and thing.get("max_samples") is None and isinstance(n, int):
            drawn = n
        return True, True, drawn
    share = thing.get("max_samples")
    part = thing.class_name.startswith("Bagging") and (
        share < 1.0 if isinstance(share, float) else isinstance(share, int) and share != n
    )
    part |= thing.class_name == "IsolationForest" and drawn != n  # 256 rows, unless told otherwise
    return bool(part and drawn != n), False, drawn if part else None


def _one_tree(
    estimator: Any,
    columns: Any,
    forest: Thing,
    features: int,
    classes: tuple[Value, ...] | None,
    resampled: bool,
    drawn: int | None,
    number: int,
) -> CountedTree:
    """Return one tree of a forest with what its nodes count."""
    place = f"estimators_[{number}].tree_"
    if not isinstance(estimator, Thing) or estimator.class_name not in TREES:
        name = estimator.class_name if isinstance(estimator, Thing) else type(estimator).__name__
        raise Unsupported(f"a {forest.class_name} of {name} is not read: only ensembles of decision trees are")
    own = _subset(columns, features, number)
    arrays = stored_arrays(estimator, features if own is None else len(own), place)
    halfway = midpoints(estimator, forest)
    if classes is None:
        sizes = drawn_sizes(arrays) if resampled else only_sizes(arrays.rows, 1, "")
        return CountedTree(arrays, sizes, own, halfway)
    check_classes(arrays, len(classes), place)
    declared = forest.get("class_weight", estimator.get("class_weight"))
    if resampled and forest.get("_sample_weight") is not None and declared != "balanced_subsample":
        declared = None  # from 1.9 on such weights are probabilities of being drawn, and counts are of drawn rows
    weighting = weighting_of(declared, classes)
    if forest.class_name.startswith("Bagging"):  # its trees number the classes
        weighting = weighting_of(estimator.get("class_weight"), range(len(classes)))
    if resampled:
        return CountedTree(arrays, bag_counts(arrays, drawn, weighting), own, halfway)
    weighting = "balanced" if weighting == "balanced_subsample" else weighting  # without bags there are no subsamples
    monotonic = _constraints_of(estimator, forest)
    return CountedTree(arrays, row_counts(arrays, estimator.get("criterion"), monotonic, weighting), own, halfway)


def _constraints_of(estimator: Thing, forest: Thing) -> NDArray[np.int64] | None:
    """Return the monotonic constraints of one tree, its own or its forest's; None where there are none."""
    own = constrained(estimator)
    return constrained(forest) if own is None else own


def _weights_hide(trees: list[CountedTree], bags: NDArray[np.int32] | None) -> bool:
    """Return whether weights hide how many drawn rows of each class a leaf has: trees count other numbers than drawn.

    Whole weights leave whole numbers behind; then trees differ in their totals, or from the bags where they are known.
    """
    if any(not t.counts.whole and t.counts.drawn is None for t in trees):
        return True
    totals = [int((t.counts.classes if t.counts.drawn is None else t.counts.drawn)[0].sum()) for t in trees]
    return len(set(totals)) > 1 or (bags is not None and bags.sum(axis=1).tolist() != totals)


def _subset(columns: Any, features: int, number: int) -> NDArray[np.int64] | None:
    """Return the features that one tree was given, None: all in order."""
    if columns is None:
        return None
    place = f"estimators_features_[{number}]"
    if not isinstance(columns, np.ndarray) or columns.ndim != 1 or columns.dtype.kind not in "iu" or not len(columns):
        raise ReleaseError("are not numbers of features", place=place)
    if columns.min() < 0 or columns.max() >= features:
        raise ReleaseError(f"names feature {int(columns.max())} of {features}", place=place)
    return columns.astype(np.int64)


def _training_rows(thing: Thing, trees: list[CountedTree], resampled: bool) -> RowCount:
    """Return the number of training rows, as far as the file says it.

    Versions before 1.4 do not store it beside a bootstrap: then it is only known where the bags are.
    """
    n = thing.get("_n_samples") if resampled else int(trees[0].arrays.rows[0])
    return RowCount(n, n) if isinstance(n, int) and n > 0 else RowCount(max(int(t.arrays.rows[0]) for t in trees))
