"""How stored scikit-learn trees and forests were fitted, as far as files say it: by which rule, on which rows.

Source: scikit-learn, tree/_classes.py, `BaseDecisionTree._fit` (fractions are rounded up to whole rows, numbers of
columns down), ensemble/_forest.py and ensemble/_bagging.py (what a forest hands to its trees).

Ensembles that were fitted in several calls (`warm_start`): the trees of the last call, where others saw other rows.

Every call of `fit` draws from the rows that it was given, and nothing says that two calls were given the same ones. The
file has the number of rows of the last call only; trees of other calls are told by the number of rows that they drew.

The rows that each tree of a forest was fitted on, from the seeds that scikit-learn stores with the trees.

What is drawn, and how, is scikit-learn's ensemble/_forest.py (`_generate_sample_indices`), ensemble/_bagging.py
(`_generate_bagging_indices`) and utils/_random.pyx (`sample_without_replacement`), releases 1.2 to 1.9. Up to 1.8 rows
are drawn uniformly; from 1.9 on with probabilities `_sample_weight`. A bag counts only if it agrees with the number of
distinct rows that each tree stores of its root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from encoders.models.learner_facts import Learner
from recon.readers.formats.sklearn.trees.arrays import TreeArrays
from recon.readers.stored.pickled.pickles import Thing

Counts = npt.NDArray[np.int32]
MAX_DRAWS = 250_000_000  # trees times rows: 1 GB of multiplicities
SEARCH_DRAWS = 50_000_000  # spent on finding an unknown number of rows: a second
_SEEDS = 2**31 - 1  # scikit-learn draws the seeds of the members below it


@dataclass(frozen=True)
class EnsembleBags:
    """The bags of an ensemble: how often each training row (by position) is in each one, or why they are not known.

    `seeds` is the attribute that they follow from, `checked` the number of trees whose root has been compared.
    """

    multiplicities: Counts | None
    why: str
    seeds: str = ""
    checked: int = 0


@dataclass(frozen=True)
class Root:
    """What a tree stores of its root: distinct rows, and rows by weight."""

    distinct: int
    weight: float


def bags(forest: Thing) -> Counts | None:
    """Return how often each training row is in each tree's bag, trees x rows, as the stored seeds prove it.

    None where the trees were fitted on all rows, no seed is stored or the sizes disagree: `explain_bags` says which.
    Draws trees x rows random numbers.
    """
    return explain_bags(forest).multiplicities


def explain_bags(forest: Thing) -> EnsembleBags:
    """Return the bags of a scikit-learn forest or bagging ensemble with the reason, where there are none."""
    members = forest.get("estimators_")
    if not isinstance(members, list) or not members or not all(isinstance(m, Thing) for m in members):
        return EnsembleBags(None, "it has no list of fitted members")
    if forest.has("estimators_features_"):
        return _bagging(forest, members)
    if forest.get("bootstrap") is not True:
        return EnsembleBags(None, "every tree was fitted on all rows")
    roots = [root_of(m) for m in members]
    if any(r is None for r in roots):
        return EnsembleBags(None, "its members are not scikit-learn trees")
    try:
        return _forest(forest, members, [r for r in roots if r is not None])
    except (TypeError, ValueError, OverflowError):
        return EnsembleBags(None, "its settings are none that scikit-learn stores")


def root_of(member: Thing) -> Root | None:
    """Return the root of a fitted scikit-learn tree, None where there is none."""
    tree = member.get("tree_")
    if not isinstance(tree, Thing):
        return None
    nodes = tree.get("nodes")
    if not isinstance(nodes, np.ndarray) or not len(nodes) or nodes.dtype.names is None:
        return None
    if not {"n_node_samples", "weighted_n_node_samples"} <= set(nodes.dtype.names):
        return None
    return Root(int(nodes["n_node_samples"][0]), float(nodes["weighted_n_node_samples"][0]))


def _forest(forest: Thing, members: list[Thing], roots: list[Root]) -> EnsembleBags:
    """Return the bags of a random forest or of extremely randomised trees."""
    seeds, source = _tree_seeds(forest, members)
    if seeds is None:
        return EnsembleBags(None, source)
    weights = forest.get("_sample_weight")
    share = None
    if isinstance(weights, np.ndarray):
        if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
            return EnsembleBags(None, "_sample_weight is not a vector of weights")
        share = weights / np.sum(weights)
    sizes, sure = _sizes(forest, roots, None if share is None else len(share))
    found, spent = None, 0
    for rows, drawn in sizes:
        spent += max(rows, drawn)
        if max(rows, drawn) * len(seeds) > MAX_DRAWS or spent > SEARCH_DRAWS:
            return EnsembleBags(None, f"{len(seeds):,} bags of about {rows:,} rows are more than this program draws")
        one = _agreeing(seeds, roots, rows, drawn, share)
        if one is not None and found is not None:
            return EnsembleBags(None, "the number of training rows is not stored, and several would fit")
        found = one if found is None else found
        if found is not None and sure:
            break
    if found is None:
        return EnsembleBags(None, "the bags of these seeds do not have the distinct rows that the trees say")
    return EnsembleBags(found, "each tree's number of distinct rows agrees", source, len(seeds))


def _agreeing(
    seeds: list[int], roots: list[Root], rows: int, drawn: int, share: npt.NDArray[np.float64] | None
) -> Counts | None:
    """Return the bags if each has the distinct rows that its tree says; the first that has not ends it."""
    found = None
    for k, (seed, root) in enumerate(zip(seeds, roots, strict=True)):
        bag = _bootstrap_counts(seed, rows, drawn, share)
        if int(np.count_nonzero(bag)) != root.distinct:
            return None
        if found is None:  # only now: most of the sizes that are tried fail at the first tree
            found = np.zeros((len(seeds), rows), np.int32)
        found[k] = bag
    return found


def _bootstrap_counts(seed: int, rows: int, drawn: int, share: npt.NDArray[np.float64] | None) -> Counts:
    """Return how often each row is drawn by one tree's seed."""
    generator = np.random.RandomState(seed)
    if share is None:
        return np.bincount(generator.randint(0, rows, drawn, dtype=np.int32), minlength=rows).astype(np.int32)
    return np.bincount(generator.choice(rows, drawn, replace=True, p=share), minlength=rows).astype(np.int32)


def _tree_seeds(forest: Thing, members: list[Thing]) -> tuple[list[int] | None, str]:
    """Return the seed of each tree and where it stands, or None and why not."""
    stored = [m.get("random_state") for m in members]
    if all(_is_seed(s) for s in stored):
        return stored, "estimators_[*].random_state"
    first = forest.get("random_state")
    if _is_seed(first):  # the trees' seeds were drawn from it, one by one
        generator = np.random.RandomState(first)
        return [int(generator.randint(_SEEDS)) for _ in members], "random_state"
    return None, "no seeds are stored with the trees"


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32


def _sizes(forest: Thing, roots: list[Root], weighted: int | None) -> tuple[list[tuple[int, int]], bool]:
    """Return possible numbers of training rows and of draws per tree, and whether the first that fits is sure."""
    rows = weighted or forest.get("_n_samples")
    for name in ("oob_decision_function_", "oob_prediction_"):
        stored = forest.get(name)
        rows = len(stored) if rows is None and isinstance(stored, np.ndarray) and stored.ndim else rows
    share, known = forest.get("max_samples"), forest.get("_n_samples_bootstrap")
    of_roots = {round(r.weight) for r in roots} if all(abs(r.weight - round(r.weight)) < 1e-6 for r in roots) else set()
    whole = of_roots.pop() if len(of_roots) == 1 else None
    if isinstance(rows, int) and rows > 0:
        guesses = [known, whole, share if isinstance(share, int) else None]
        guesses += [max(round(rows * share), 1), max(int(rows * share), 1)] if isinstance(share, float) else [rows]
        return [(rows, g) for g in dict.fromkeys(g for g in guesses if isinstance(g, int)) if g > 0], True
    if share is None and whole is not None and forest.get("class_weight") is None:
        return [(whole, whole)], True
    about = whole or round(float(np.mean([r.weight for r in roots])))
    about = round(about / share) if isinstance(share, float) and share > 0 else about
    if (isinstance(share, int) and not isinstance(share, bool)) or about > 1_000_000:
        return [], False
    minimum, maximum = max([r.distinct for r in roots] + [about // 2, 1]), about + about // 2 + 5
    settled = len(roots) >= 8  # so many distinct counts agree for one number of rows only
    near = sorted(range(minimum, maximum + 1), key=lambda guess: abs(guess - about))
    if share is None:
        return [(guess, guess) for guess in near], settled
    exact = [(guess, max(round(guess * share), 1)) for guess in near]
    return [pair for pair in exact if whole is None or pair[1] == whole], settled


def _bagging(forest: Thing, members: list[Thing]) -> EnsembleBags:
    """Return the bags of a BaggingClassifier, BaggingRegressor or IsolationForest."""
    seeds, source = _bagging_seeds(forest, len(members))
    if seeds is None:
        return EnsembleBags(None, source)
    rows, drawn, taken = (forest.get(n) for n in ("_n_samples", "_max_samples", "_max_features"))
    columns = forest.get("n_features_in_", forest.get("n_features_"))
    if not all(isinstance(v, int) and v > 0 for v in (rows, drawn, taken, columns)):
        return EnsembleBags(None, "its numbers of rows and columns are not stored")
    if max(rows, drawn) * len(seeds) > MAX_DRAWS or columns > 1_000_000:
        return EnsembleBags(None, f"{len(seeds):,} bags of {rows:,} rows are more than this program holds")
    weights = forest.get("_sample_weight")
    share = weights / np.sum(weights) if isinstance(weights, np.ndarray) and weights.shape == (rows,) else None
    features, with_rows = forest.get("estimators_features_"), forest.get("bootstrap") is True
    found, checked = np.zeros((len(seeds), rows), np.int32), 0
    for k, (seed, member) in enumerate(zip(seeds, members, strict=True)):
        generator = np.random.RandomState(seed)
        wanted = _draw(generator, forest.get("bootstrap_features") is True, columns, taken)
        if not np.array_equal(wanted, np.asarray(features[k])):
            return EnsembleBags(None, "the columns that these seeds draw are not those of the members")
        if share is None:
            indices = _draw(generator, with_rows, rows, drawn)
        else:
            indices = generator.choice(rows, drawn, replace=with_rows, p=share)
        found[k] = np.bincount(indices, minlength=rows)
        root = root_of(member)
        if root is not None and int(np.count_nonzero(found[k])) != root.distinct:
            return EnsembleBags(None, "the bags of these seeds do not have the distinct rows that the trees say")
        checked += root is not None
    return EnsembleBags(found, "each member's columns and number of distinct rows agree", source, checked)


def _bagging_seeds(forest: Thing, members: int) -> tuple[list[int] | None, str]:
    """Return the seed of each member and where it stands, or None and why not."""
    stored, first = forest.get("_seeds"), forest.get("random_state")
    if isinstance(stored, np.ndarray) and stored.dtype.kind in "iu" and stored.shape == (members,):
        seeds = stored.tolist()
        return (seeds, "_seeds") if all(_is_seed(s) for s in seeds) else (None, "_seeds are no seeds")
    if _is_seed(first):
        return np.random.RandomState(first).randint(_SEEDS, size=members).tolist(), "random_state"
    return None, "no seeds are stored"


def _draw(generator: np.random.RandomState, again: bool, population: int, wanted: int) -> npt.NDArray[Any]:
    """Return indices drawn as scikit-learn draws them: with replacement, or without by one of three methods."""
    if again:
        return generator.randint(0, population, wanted)
    share = wanted / population
    if 0.01 < share < 0.99:
        return generator.permutation(population)[:wanted]
    if share < 0.2:
        chosen: dict[int, None] = {}
        while len(chosen) < wanted:
            chosen[int(generator.randint(population))] = None
        return np.array(list(chosen), dtype=np.int64)
    kept = np.arange(wanted)
    for i in range(wanted, population):
        j = generator.randint(0, i + 1)
        if j < wanted:
            kept[j] = i
    return kept


def _class_weights(tree: Any, classes: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
    """Return the weight of every class and the number of rows in every node of a tree with one output."""
    if not isinstance(tree, Thing):
        return None
    nodes, values = tree.get("nodes"), tree.get("values")
    if not isinstance(nodes, np.ndarray) or not {"n_node_samples", "weighted_n_node_samples"} <= set(
        nodes.dtype.names or ()
    ):
        return None
    if not isinstance(values, np.ndarray) or values.shape != (len(nodes), 1, classes) or values.dtype.kind != "f":
        return None
    totals = values.sum(axis=2)
    if not len(nodes) or not np.isfinite(values).all() or not (totals > 0).all():
        return None
    weights = values[:, 0] * (nodes["weighted_n_node_samples"][:, None] / totals)
    return weights, nodes["n_node_samples"].astype(float)


def labels_from_weights(forest: Thing) -> tuple[npt.NDArray[np.int64] | None, str]:
    """Return the class (its index in `classes_`) of every training row as `_sample_weight` gives it away, or why not.

    With class weights every row's weight is its class's. Which weight is which class follows from the trees: the rows
    of one weight in a bag must be as many as its root says of that class (without bags: every node's rows must add up).
    """
    weights, classes = forest.get("_sample_weight"), forest.get("classes_")
    members = forest.get("estimators_")
    if not isinstance(weights, np.ndarray) or weights.ndim != 1 or not isinstance(classes, np.ndarray):
        return None, "there are no row weights of one classification"
    levels, group = np.unique(weights, return_inverse=True)
    if len(levels) > len(classes):
        return None, f"there are {len(levels):,} different weights for {len(classes)} classes"
    if len(levels) < len(classes):
        return None, f"there are only {len(levels)} different weights for {len(classes)} classes"
    trees = [m.get("tree_") for m in members if isinstance(m, Thing)] if isinstance(members, list) else []
    tables = [_class_weights(t, len(classes)) for t in trees]
    notes = [t for t in tables if t is not None]
    if not notes or len(notes) < len(tables):
        return None, "its trees do not say how many rows of each class they have"
    if forest.get("bootstrap") is True:
        known = bags(forest)
        if known is None:
            return None, "its bags are not known"
        sums = np.stack([known[:, group == v].sum(axis=1) for v in range(len(levels))], axis=1).astype(float)
        of_class = np.array([weights[0] for weights, _ in notes])
        fits = np.isclose(sums[:, :, None], of_class[:, None, :], rtol=1e-9, atol=1e-6).all(axis=0)
    else:  # every node has n rows and in class k the weight w_k c_k: n = sum of weight_k / w_k in all nodes
        nodes, rows = np.concatenate([weights for weights, _ in notes]), np.concatenate([rows for _, rows in notes])
        inverse, _, rank, _ = np.linalg.lstsq(nodes, rows, rcond=None)
        if rank < len(classes) or not np.allclose(nodes @ inverse, rows, rtol=1e-6):
            return None, "the trees do not say the classes' weights"
        fits = np.isclose(levels[:, None] * inverse[None, :], 1.0, rtol=1e-6)
    if not ((fits.sum(axis=0) == 1).all() and (fits.sum(axis=1) == 1).all()):
        return None, "which weight belongs to which class is not settled by the trees"
    return fits.argmax(axis=1)[group].astype(np.int64), "settled by the trees' class counts"


SAME_ROWS = "warm_start is set: all calls of fit are taken to have been given the same rows"
WHOLE_TOLERANCE = 1e-6  # weighted rows of a root are whole numbers to this precision


@dataclass(frozen=True)
class Calls:
    """The ensemble as the last call of `fit` left it (`last`), its first member's number, and what is to be said."""

    last: Thing
    first: int
    assumes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def last_call(forest: Thing) -> Calls:
    """Return an ensemble without the members that an earlier call of `fit` fitted on another number of rows.

    Without `warm_start` there was one call; with it, and equal numbers of rows, that the rows are the same is assumed.
    """
    members = forest.get("estimators_")
    if forest.get("warm_start") is not True or not isinstance(members, list) or len(members) < 2:
        return Calls(forest, 0)
    roots = [root_of(m) for m in members]
    known = [root for root in roots if root is not None]
    if len(known) < len(roots) or not all(abs(r.weight - round(r.weight)) < WHOLE_TOLERANCE for r in known):
        return Calls(forest, 0, (SAME_ROWS,))
    drawn = _drawn_by(known)
    first = len(drawn) - 1
    while first and drawn[first - 1] == drawn[-1]:
        first -= 1
    if not first or _in_blocks(drawn) > len(drawn) // 2 + 1:  # one call; or totals that weights made
        return Calls(forest, 0, (SAME_ROWS,))
    others = ", ".join(f"{n:,}" for n in dict.fromkeys(drawn[:first]))
    note = (
        f"the ensemble was fitted in several calls (warm_start): its first {first:,} trees drew {others} rows, those "
        f"of the last call {drawn[-1]:,}; the first ones may be about other rows and are left out"
    )
    return Calls(_without(forest, first), first, (SAME_ROWS,) if _in_blocks(drawn) > 2 else (), (note,))


def _drawn_by(roots: list[Root]) -> list[int]:
    """Return how many rows every tree drew."""
    return [round(root.weight) for root in roots]


def _in_blocks(drawn: list[int]) -> int:
    """Return the number of runs of equal numbers."""
    return 1 + int(np.count_nonzero(np.diff(drawn)))


def _without(forest: Thing, first: int) -> Thing:
    """Return the ensemble from its member number `first` on."""
    fields: dict[str, Any] = dict(forest.fields())
    for name in ("estimators_", "estimators_features_"):
        held = forest.get(name)
        if isinstance(held, list):
            fields[name] = held[first:]
    return Thing(forest.callable, forest.how, forest.args, forest.kwargs, fields)


TREES = {"DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"}
FORESTS = {
    "RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor",
    "BaggingClassifier", "BaggingRegressor",
}  # fmt: skip
SOURCE = "the file"


class _UnknownError(Exception):
    """A setting that is not what scikit-learn takes, or cannot be worked out."""


def tree_settings(thing: Thing, arrays: TreeArrays) -> Learner | None:
    """Return the settings of a fitted tree; None for other classes (imodels), and where a setting makes no sense."""
    if thing.class_name not in TREES:
        return None
    try:
        found = Learner("sklearn tree", **_limits(thing, _features_of(thing), int(arrays.rows[0])))
    except _UnknownError:
        return None
    weighted = thing.get("class_weight") is not None or not np.array_equal(arrays.rows, arrays.weighted)
    return replace(found, source=SOURCE, weighted=weighted, monotonic=_signs(thing), version=_version(thing))


def forest_settings(forest: Thing, members: Sequence[Any], rows: int | None, resampled: bool) -> Learner | None:
    """Return the settings of a forest's trees, `rows` being the rows of each; None where they are not known.

    `bootstrap` says that each tree saw a resample, whether rows were put back or not. Trees that were given some of the
    columns each (a bag's `max_features`) have no settings: no column is a candidate in all of them.
    """
    trees = [one for one in members if isinstance(one, Thing) and one.class_name in TREES]
    if forest.class_name not in FORESTS or not trees or len(trees) < len(members):
        return None
    columns, first = _features_of(forest), trees[0]
    if columns is None or any(_features_of(one) not in {None, columns} for one in trees):
        return None
    try:
        found = Learner("sklearn forest", **_limits(first, columns, rows))
        if any(_limits(one, columns, rows) != _limits(first, columns, rows) for one in trees[1:]):
            return None  # fitted in several calls, with other settings in between
    except _UnknownError:
        return None
    weighted = any(one.get("class_weight") is not None for one in (forest, first))
    weighted = weighted or forest.get("_sample_weight") is not None
    monotonic = _signs(forest) or _signs(first)
    version = _version(forest) or _version(first)
    return replace(found, source=SOURCE, weighted=weighted, monotonic=monotonic, version=version, bootstrap=resampled)


def _features_of(thing: Thing) -> int | None:
    """Return on how many columns an estimator was fitted, None where it does not say."""
    number = thing.get("n_features_in_", thing.get("n_features_"))
    return int(number) if _is_integer(number) else None


def _limits(thing: Thing, columns: int | None, rows: int | None) -> dict[str, Any]:
    """Return what a tree's own parameters say, as fields of `Learner`; `_UnknownError` for what makes no sense."""
    criterion, splitter = thing.get("criterion"), thing.get("splitter", "best")
    if not isinstance(criterion, str) or not 0 < len(criterion) < 40 or not is_one_of(splitter, "best", "random"):
        raise _UnknownError
    split, share = _rows(thing.get("min_samples_split", 2), rows), _amount(thing.get("min_weight_fraction_leaf", 0.0))
    if share > 0.5:
        raise _UnknownError
    return {
        "columns": columns,
        "criterion": criterion,
        "splitter": splitter,
        "max_depth": _optional(thing.get("max_depth"), 1),
        "min_samples_split": max(2, split),
        "min_samples_leaf": max(1, _rows(thing.get("min_samples_leaf", 1), rows)),
        "min_weight_fraction_leaf": share,
        "max_features": _columns(thing, columns),
        "max_leaf_nodes": _optional(thing.get("max_leaf_nodes"), 2),
        "min_impurity_decrease": _amount(thing.get("min_impurity_decrease", 0.0)),
        "ccp_alpha": _amount(thing.get("ccp_alpha", 0.0)),
    }


def is_one_of(given: Any, *words: str) -> bool:
    """Return whether a setting is one of some words; a stored array is none."""
    return isinstance(given, str) and given in words


def _rows(given: Any, rows: int | None) -> int:
    """Return a least number of rows; of a fraction that of all rows, rounded up."""
    if _is_integer(given):
        return int(given)
    if _amount(given) > 1 or rows is None:
        raise _UnknownError
    return math.ceil(float(given) * rows)


def _columns(thing: Thing, columns: int | None) -> int | None:
    """Return how many columns are tried at each node, None for all."""
    given = thing.get("max_features")
    if given is None or (is_one_of(given, "auto") and thing.class_name.endswith("Regressor")):
        return None
    if columns is None:
        raise _UnknownError
    if is_one_of(given, "sqrt", "auto"):
        found = max(1, int(np.sqrt(columns)))
    elif is_one_of(given, "log2"):
        found = max(1, int(np.log2(columns)))
    elif _is_integer(given) and given:
        found = int(given)
    else:
        found = max(1, int(_amount(given) * columns))
    return None if found >= columns else found


def _optional(given: Any, least: int) -> int | None:
    if given is None:
        return None
    if not _is_integer(given) or given < least:
        raise _UnknownError
    return int(given)


def _is_integer(given: Any) -> bool:
    return isinstance(given, (int, np.integer)) and not isinstance(given, bool) and bool(given >= 0)


def _amount(given: Any) -> float:
    numeric = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    if not numeric or not math.isfinite(given) or given < 0:
        raise _UnknownError
    return float(given)


def fitted_by(*things: Thing) -> tuple[int, int]:
    """Return the version of scikit-learn that wrote a model, as the first object says that does; (0, 0): none does."""
    said = next((found for one in things if (found := one.get("_sklearn_version")) is not None), None)
    parts = str(said).split(".")[:2]
    known = len(parts) == 2 and all(p.isdecimal() and len(p) < 6 for p in parts)
    return (int(parts[0]), int(parts[1])) if known else (0, 0)


def _signs(thing: Thing) -> bool:
    """Return whether splits were held to signs (`monotonic_cst`)."""
    found = thing.get("monotonic_cst")
    return found is not None and bool(np.any(np.asarray(found) != 0))


def _version(thing: Thing) -> str:
    found = thing.get("_sklearn_version")
    return found if isinstance(found, str) and len(found) < 40 else ""
