"""Stored scikit-learn decision trees as drafts, without importing scikit-learn and whatever version wrote the file.

Predictions compare float32(x) with the threshold; the cut is put where that comparison changes on the attribute's own
values (`recon.readers.formats.drafts.binding`). What a node counts is recovered in
`recon.readers.formats.sklearn.trees.arrays`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Categorical, Grid, Test, Value, is_number
from encoders.models.learner_facts import Learner
from encoders.models.models import AnyModel, CountKind, Provenance, PublishedFigure, Statistic, Table, UnusedPublication
from recon.readers.formats.drafts.binding import Binder, Feature
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
from recon.readers.formats.sklearn.trees.settings import tree_settings
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

KINDS = ("DecisionTreeClassifier", "ExtraTreeClassifier", "DecisionTreeRegressor", "ExtraTreeRegressor")
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
MISPLACED = (
    "this version of scikit-learn put rows into wrong leaves where training values were missing (fixed in 1.8): with "
    "a domain in which values may be missing, only what is said of all rows together is read"
)


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted tree; `form` is the container's word (pickle, joblib, skops).

    Raises `ReleaseError` for arrays that make no tree, `Unsupported` for several outputs. Cost: linear in nodes.
    """
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
    plain = tree.counts.whole or bool(np.allclose(tree.arrays.rows, tree.arrays.weighted, rtol=1e-9, atol=0))
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
    version = thing.get("_sklearn_version")
    numbers = str(version).split(".")[:2]
    if not all(n.isdigit() and len(n) < 6 for n in numbers) or len(numbers) < 2:
        return any(len(missing_seen(t)) for t in trees)
    return MISPLACING[0] <= (int(numbers[0]), int(numbers[1])) < MISPLACING[1]


def midpoints(tree: Thing, model: Thing) -> bool:
    """Return whether thresholds of a stored tree are a/2 + b/2 in double precision for float32 training values a, b.

    scikit-learn's tree/_splitter.pyx, `node_split_best`, releases 0.20 to 1.9: older ones add in single precision, the
    splitter "random" (extra trees) draws thresholds.
    """
    version = str(model.get("_sklearn_version", tree.get("_sklearn_version"))).split(".")[:2]
    known = len(version) == 2 and all(n.isdigit() and len(n) < 6 for n in version)
    recent = known and (int(version[0]), int(version[1])) >= HALVED
    return recent and tree.class_name.startswith("DecisionTree") and tree.get("splitter") == "best"


def counting_notes(counts: Sequence[NodeCounts]) -> tuple[str, ...]:
    """Return how counts were recovered, every sentence once."""
    return tuple(dict.fromkeys(c.note for c in counts if c.note))


def _counted_tree(thing: Thing, features: int, classes: Sequence[Value], place: str = "tree_") -> CountedTree:
    """Return the arrays and training rows per class of one fitted tree that saw every row once."""
    arrays = stored_arrays(thing, features, place)
    check_classes(arrays, len(classes), place)
    weighting = weighting_of(thing.get("class_weight"), classes)
    signs, criterion = constrained(thing), thing.get("criterion")
    tree = CountedTree(arrays, row_counts(arrays, criterion, signs, weighting), midpoints=midpoints(thing, thing))
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
        paths = node_conditions(self.trees[0], [f.name for f in self.features])
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
    plain = bool(np.allclose(arrays.rows, arrays.weighted, rtol=1e-9, atol=0))
    squared = thing.get("criterion") in {"squared_error", "mse", "friedman_mse"} and constrained(thing) is None
    sizes = only_sizes(arrays.rows, 1, "") if plain else drawn_sizes(arrays)
    bag, n = sizes.drawn is not None, int(arrays.rows[0])
    tree = CountedTree(arrays, sizes, midpoints=midpoints(thing, thing))
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
