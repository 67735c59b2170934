"""Stored scikit-learn trees, forests and bags of trees as drafts, without importing scikit-learn, of any version.

Predictions compare float32(x) with the threshold; the cut is put where that comparison changes on the attribute's own
values (`recon.readers.formats.drafts.binding`). What a node counts is recovered in
`recon.readers.formats.sklearn.trees.arrays`.

The trees of a forest number the classes; the labels and the names of the features are on the forest. A bootstrapped
forest counts drawn rows, and its stored seeds give the bags away (`recon.readers.formats.sklearn.trees.settings`): they
go into the draft where they fit what the trees say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Categorical, Grid, Test, Value, is_number, plain_number
from encoders.models.learner_facts import Learner
from encoders.models.models import AnyModel, CountKind, Provenance, PublishedFigure, Statistic, Table, UnusedPublication
from recon.readers.formats.drafts.binding import Binder, Feature, free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.arrays import (
    EXACT,
    NodeCounts,
    TreeArrays,
    bag_counts,
    drawn_sizes,
    even,
    only_sizes,
    row_counts,
    weighting_of,
)
from recon.readers.formats.sklearn.trees.draft import CategorySplit, CountedTree, TreesDraft, missing_seen
from recon.readers.formats.sklearn.trees.settings import (
    EnsembleBags,
    explain_bags,
    fitted_by,
    forest_settings,
    last_call,
    tree_settings,
)
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")
ASSUMES = "no sample_weight, or the same for all rows; rows of weight 0 do not count as training rows"
ANY_WEIGHT = "no sample_weight, where leaf values are used; rows of weight 0 count as training rows"
ZEROS_STORED = (
    "rows of weight 0 count as training rows: _sample_weight stores how likely each row was to be drawn, no tree was "
    "fitted on those"
)
SPREADS = "means and spreads of the target in its leaves"
NUMBERS = "a target that is a number is not worked with beyond its totals"
REPEATED = (
    "the tree counts rows several times, as one of a bootstrap forest does, or with whole weights: rows that it did not"
    " draw may be in any leaf"
)
NO_MEMBER = "the tree was fitted on all training rows with weights: it is not a tree of a bootstrap forest"
MAX_FEATURES = 1_000_000
MISPLACING = (1, 3), (1, 8)  # versions that put rows with missing values into wrong leaves (scikit-learn #32351)
HALVED = (0, 20)  # from this version on halves are added, in double precision
RULED = (1, 6), (1, 3)  # from which versions on missing values go to the child with more rows: drawn thresholds, others
MISPLACED = (
    "this version of scikit-learn put rows into wrong leaves where training values were missing (fixed in 1.8): with "
    "a domain in which values may be missing, only what is said of all rows together is read"
)


def _read_tree(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted tree."""
    names, named = feature_names(thing)
    if thing.class_name.endswith("Regressor"):
        return _regression(thing, form, names, named)
    classes = class_values(thing)
    tree = _counted_tree(thing, len(names), classes)
    bag = None if tree.counts.whole else _repeated(thing, tree, classes)
    tree = tree if bag is None else replace(tree, counts=bag)
    misplaced = misplacing(thing, tree)
    n, learner = int(tree.arrays.rows[0]), tree_settings(thing, tree.arrays)
    kinds: tuple[CountKind, ...] = ("exact",) if bag is None else ("bag", "distinct")
    plain = tree.counts.whole or tree.arrays.unweighted
    notes = (REPEATED,) if bag is not None else () if plain else (NO_MEMBER,)
    origin = provenance(thing, form, [tree.counts], kinds, notes, learner if bag is None else None)
    return TreesDraft(
        replace(origin, unused=hidden_values([tree.counts])),
        tuple(Feature(n, n) for n in names),
        classes=classes,
        rows=RowCount(n, n if bag is None else None),
        named=named,
        single=True,
        occurring=occurring([tree.counts]),
        reader_notes=counting_notes([tree.counts]) + ((MISPLACED,) if misplaced and len(missing_seen(tree)) else ()),
        trees=(tree,),
        misplaced=misplaced,
        forest=bag is not None,
        resampled=bag is not None,
    )


def _repeated(thing: Thing, tree: CountedTree, classes: Sequence[Value]) -> NodeCounts | None:
    """Return the counts of a tree whose rows weigh whole numbers: drawn several times, if it is one of a forest."""
    arrays = tree.arrays
    if constrained(thing) is not None or not even(weighting_of(thing.get("class_weight"), classes)):
        return None
    total = round(float(arrays.weighted[0]))
    found = bag_counts(arrays, total, None)
    return found if found.whole and total > arrays.rows[0] else None


def occurring(counts: Sequence[NodeCounts], plain: bool = True) -> Literal["each", "only"]:
    """Return what `classes_` says of the rows that are counted: those of weight 0 are not, and may be a whole class.

    `plain`: rows were not weighted, as far as the file tells beside the counts.
    """
    return "each" if plain and all(c.whole for c in counts) else "only"


def provenance(
    thing: Thing,
    form: str,
    counts: Sequence[NodeCounts],
    kinds: tuple[CountKind, ...],
    notes: Sequence[str] = (),
    learner: Learner | None = None,
) -> Provenance:
    """Return where trees were found: sizes where no tree has classes, both where only some nodes have."""
    drawn = "exact" not in kinds  # weights are then the probabilities of being drawn
    if not any((c.classes >= 0).any() for c in counts):
        kinds = ("distinct",) if "bag" in kinds else ("size",)
    elif not all(c.whole for c in counts):
        kinds = (*kinds, "size")
    weights = thing.get("_sample_weight")
    zeros = drawn and isinstance(weights, np.ndarray) and weights.dtype.kind in "fiu" and not weights.all()
    assumes = ZEROS_STORED if zeros else ANY_WEIGHT if thing.class_name.startswith("Hist") else ASSUMES
    version = thing.get("_sklearn_version")
    by = f" {version}" if isinstance(version, str) and len(version) < 40 else ""
    return Provenance(f"scikit-learn{by} {thing.class_name} ({form})", kinds, (assumes, *notes), learner=learner)


def hidden_values(counts: Sequence[NodeCounts]) -> tuple[UnusedPublication, ...]:
    """Return that values of trees are not used which hide their classes; nothing where all classes are known."""
    why = next((c.note for c in counts if not c.whole), None)
    return (
        ()
        if why is None
        else (UnusedPublication("its values", why or "they hide the classes", labels=len(counts) == 1),)
    )


def misplacing(thing: Thing, *trees: CountedTree) -> bool:
    """Return whether the version that wrote the file misplaced rows with missing values."""
    version = fitted_by(thing)
    if not any(version):
        return any(len(missing_seen(t)) for t in trees)
    return MISPLACING[0] <= version < MISPLACING[1]


def _splitting(tree: Thing, model: Thing) -> tuple[bool, bool]:
    """Return `midpoints` and `ruled` of a stored tree (`CountedTree`).

    scikit-learn's tree/_splitter.pyx: `node_split_best` puts thresholds at a/2 + b/2 in double precision for float32
    training values a, b, releases 0.20 to 1.9 (older ones add in single precision), and knows missing values from 1.3
    on; `node_split_random` (extra trees) draws thresholds, and knows missing values from 1.6 on.
    """
    best = tree.class_name.startswith("DecisionTree") and tree.get("splitter") == "best"
    version = fitted_by(model, tree)
    return best and version >= HALVED, version >= RULED[best]


def counting_notes(counts: Sequence[NodeCounts]) -> tuple[str, ...]:
    """Return how counts were recovered, every sentence once."""
    return tuple(dict.fromkeys(c.note for c in counts if c.note))


def _counted_tree(thing: Thing, features: int, classes: Sequence[Value], place: str = "tree_") -> CountedTree:
    """Return the arrays and training rows per class of one fitted tree that saw every row once."""
    arrays = stored_arrays(thing, features, place)
    check_classes(arrays, len(classes), place)
    weighting = weighting_of(thing.get("class_weight"), classes)
    signs, criterion = constrained(thing), thing.get("criterion")
    tree = CountedTree(arrays, row_counts(arrays, criterion, signs, weighting), None, *_splitting(thing, thing))
    wrong = misplacing(thing, tree) and len(missing_seen(tree))
    arrays.agree(place, None if wrong or signs is not None else criterion)
    return tree


def stored_arrays(thing: Any, features: int, place: str) -> TreeArrays:
    """Return the checked arrays of a fitted tree."""
    if not isinstance(thing, Thing) or not thing.has("tree_"):
        raise ReleaseError("is not fitted: it has no tree", place=place)
    refuse_outputs(thing)
    return TreeArrays.of(thing.get("tree_"), features, place)


def refuse_outputs(thing: Thing) -> None:
    """Refuse models of several labels at once."""
    outputs = thing.get("n_outputs_", 1)
    if not isinstance(outputs, int) or outputs != 1:
        raise Unsupported(f"a {thing.class_name} with several outputs is not read: fit one per output")


def check_classes(arrays: TreeArrays, classes: int, place: str) -> None:
    """Refuse values of other classes than the file names."""
    if arrays.value.shape[1] != classes:
        raise ReleaseError(f"has values for {arrays.value.shape[1]} classes, but {classes} are named", place=place)
    if (arrays.value < 0).any() or (arrays.weighted < 0).any():
        raise ReleaseError("has negative counts", place=place)


def constrained(thing: Thing) -> NDArray[np.int64] | None:
    """Return the monotonic constraint of every feature (1, 0, -1), None where there are none."""
    found = thing.get("monotonic_cst")
    if found is None:
        return None
    try:
        signs = np.asarray(found, dtype=float)
    except (TypeError, ValueError, OverflowError):
        signs = np.full(1, np.nan)
    if signs.ndim != 1 or not np.isin(signs, (-1, 0, 1)).all():
        raise ReleaseError("has monotonic constraints other than 1, 0 and -1", place="monotonic_cst")
    return signs.astype(np.int64) if signs.any() else None


FITTED = ("tree_", "estimators_", "_predictors", "classes_", "n_outputs_", "n_features_", "best_estimator_", "steps")


def feature_names(thing: Thing) -> tuple[list[str], bool]:
    """Return the name of every feature, and whether the file has names (else x0, x1, ...)."""
    stored, number = thing.get("feature_names_in_"), _feature_number(thing)
    if isinstance(stored, np.ndarray) and stored.ndim == 1 and all(isinstance(n, str) for n in stored.tolist()):
        names = [str(n) for n in stored.tolist()]
        if len(set(names)) < len(names):
            double = next(n for i, n in enumerate(names) if n in names[:i])
            raise ReleaseError(f"has two features called '{double}'", place="feature_names_in_")
        if isinstance(number, int) and number != len(names):
            raise ReleaseError(f"has {len(names)} feature names for {number} features", place="feature_names_in_")
        return names, True
    if not isinstance(number, int) or not 0 < number <= MAX_FEATURES:
        if not any(thing.has(name) for name in FITTED):
            raise ReleaseError("is not fitted: it has nothing that fitting makes", place="n_features_in_")
        raise ReleaseError("does not say on how many features it was fitted, if it was", place="n_features_in_")
    return [f"x{i}" for i in range(number)], False


def _feature_number(thing: Thing) -> Any:
    """Return on how many features a model was fitted; before scikit-learn 0.24 some say it by their members alone."""
    members = thing.get("estimators_")
    flat = members.ravel().tolist() if isinstance(members, np.ndarray) else members
    first = flat[0] if isinstance(flat, list) and flat and isinstance(flat[0], Thing) else None
    inner = None if first is None else first.get("n_features_in_", first.get("n_features_"))
    return thing.get("n_features_in_", thing.get("n_features_", inner))


def class_values(thing: Thing, name: str = "classes_") -> tuple[Value, ...]:
    """Return the classes as plain values."""
    stored = thing.get(name)
    if isinstance(stored, list):
        raise Unsupported("a tree with several outputs is not read: fit one tree per output")
    if not isinstance(stored, np.ndarray) or stored.ndim != 1 or not len(stored):
        raise ReleaseError("does not name its classes", place=name)
    return tuple(plain_class(v, name) for v in stored.tolist())


def plain_class(value: Any, place: str = "classes_") -> Value:
    """Return a class as a number or text: 1.0 is 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (str, bool, int)) or is_number(value):
        return value
    raise ReleaseError(f"has the class {value!r}, which is neither a number nor text", place=place)


@dataclass(frozen=True, eq=False)
class RegressionDraft(TreesDraft):
    """A regression tree: rows per leaf, and the leaf's total of the label where the domain has a numeric one."""

    totals: tuple[float, ...] = ()

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the tree of sizes, and a table of the totals."""
        trees = super().bound(binder)
        label = binder.domain.label
        if not isinstance(label, (Grid, Categorical)) or (isinstance(label, Categorical) and not label.numeric):
            return trees
        step = label.step if isinstance(label, Grid) else 0
        figures = []
        paths = node_conditions(self.trees[0], [f.name for f in self.features], self.sets)
        for leaf in np.flatnonzero(self.trees[0].arrays.leaf).tolist():
            total, rows = self.totals[leaf], int(self.trees[0].arrays.rows[leaf])
            found = Statistic("total", label.name, total, EXACT * max(1.0, abs(total)))
            if step == 1 and abs(total - round(total)) <= EXACT * max(1, rows):
                found = Statistic("total", label.name, round(total))
            figures.append(PublishedFigure(binder.translate(paths[leaf]), statistic=found, name=f"leaf {leaf}"))
        return (*trees, Table(tuple(figures), "totals of the label", origin=self.origin))


def node_conditions(
    tree: CountedTree, names: Sequence[str], sets: Mapping[int, Sequence[CategorySplit]] | None = None
) -> dict[int, tuple[tuple[str, Test], ...]]:
    """Return every node with the tests on its path; `sets` as of `TreesDraft`."""
    arrays, out = tree.arrays, {}
    stack: list[tuple[int, tuple[tuple[str, Test], ...]]] = [(0, ())]
    while stack:
        node, path = stack.pop()
        out[node] = path
        if arrays.left[node] < 0:
            continue
        name, at = names[tree.feature[node]], float(arrays.threshold[node])
        missing = bool(arrays.missing_left[node])
        sides = Test(high=at, missing=missing), Test(low=at, low_open=True, missing=not missing)
        if sets and (pairs := sets.get(int(tree.feature[node]))):
            left, right = pairs[int(at)]
            sides = Test(values=left), Test(values=right)
        stack.append((int(arrays.right[node]), (*path, (name, sides[1]))))
        stack.append((int(arrays.left[node]), (*path, (name, sides[0]))))
    return out


def _regression(thing: Thing, form: str, names: Sequence[str], named: bool) -> Draft:
    """Return the draft of a regression tree: sizes, and totals where rows were not weighted and means are means."""
    arrays = stored_arrays(thing, len(names), "tree_")
    if arrays.value.shape[1] != 1:
        raise ReleaseError("has several values per node", place="tree_")
    arrays.agree("tree_")
    plain = arrays.unweighted
    squared = thing.get("criterion") in {"squared_error", "mse", "friedman_mse"} and constrained(thing) is None
    sizes = only_sizes(arrays.rows, 1, "") if plain else drawn_sizes(arrays)
    bag, n = sizes.drawn is not None, int(arrays.rows[0])
    tree = CountedTree(arrays, sizes, None, *_splitting(thing, thing))
    misplaced = misplacing(thing, tree)
    means = plain and squared and not misplaced and not np.isinf(arrays.threshold[~arrays.leaf]).any()
    notes = (
        "a regression tree: the number of rows per leaf; with a domain whose label is numeric on a grid also its total",
        *(() if means else ("its values are no plain means of the label: only sizes are read",)),
        *((MISPLACED,) if misplaced and len(missing_seen(tree)) else ()),
    )
    weighed = () if plain else (REPEATED,) if bag else (NO_MEMBER,)
    learner = None if bag else tree_settings(thing, arrays)
    origin = provenance(thing, form, [tree.counts], ("bag", "distinct") if bag else ("size",), weighed, learner)
    fields: dict[str, Any] = {
        "origin": replace(origin, unused=(UnusedPublication(SPREADS, NUMBERS, labels=True),)),
        "features": tuple(Feature(n, n) for n in names),
        "rows": RowCount(n, None if bag else n),
        "named": named,
        "single": True,
        "reader_notes": notes,
        "trees": (tree,),
        "misplaced": misplaced,
        "forest": bag,
        "resampled": bag,
    }
    if not means:
        return TreesDraft(**fields)
    return RegressionDraft(**fields, totals=tuple((arrays.value[:, 0] * arrays.rows).tolist()))


QUANTILES = ("RandomForestQuantileRegressor", "ExtraTreesQuantileRegressor")  # of quantile_forest
FORESTS = (
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


def _read_forest(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted forest, extra trees or bagging of trees."""
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
    how = _splitting(estimator, forest)
    if classes is None:
        sizes = drawn_sizes(arrays) if resampled else only_sizes(arrays.rows, 1, "")
        return CountedTree(arrays, sizes, own, *how)
    check_classes(arrays, len(classes), place)
    declared = forest.get("class_weight", estimator.get("class_weight"))
    if resampled and forest.get("_sample_weight") is not None and declared != "balanced_subsample":
        declared = None  # from 1.9 on such weights are probabilities of being drawn, and counts are of drawn rows
    weighting = weighting_of(declared, classes)
    if forest.class_name.startswith("Bagging"):  # its trees number the classes
        weighting = weighting_of(estimator.get("class_weight"), range(len(classes)))
    if resampled:
        return CountedTree(arrays, bag_counts(arrays, drawn, weighting), own, *how)
    weighting = "balanced" if weighting == "balanced_subsample" else weighting  # without bags there are no subsamples
    monotonic = _constraints_of(estimator, forest)
    return CountedTree(arrays, row_counts(arrays, estimator.get("criterion"), monotonic, weighting), own, *how)


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


KINDS = (*TREES, *FORESTS)


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted tree, forest or bagging; `form` is the container's word (pickle, joblib, skops).

    Raises `ReleaseError` for arrays that make no tree, `Unsupported` for several outputs and other base learners.
    Cost: linear in nodes; rebuilding the bags of a forest draws as many numbers as the trees drew rows.
    """
    return (_read_forest if thing.class_name in FORESTS else _read_tree)(thing, form)
