"""The settings of stored scikit-learn trees and forests: which rule chose their splits, as far as the file says it.

Source: scikit-learn, tree/_classes.py, `BaseDecisionTree._fit` (fractions are rounded up to whole rows, numbers of
columns down), ensemble/_forest.py and ensemble/_bagging.py (what a forest hands to its trees).

Ensembles that were fitted in several calls (`warm_start`): the trees of the last call, where others saw other rows.

Every call of `fit` draws from the rows that it was given, and nothing says that two calls were given the same ones. The
file has the number of rows of the last call only; trees of other calls are told by the number of rows that they drew.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.models.learner_facts import Learner
from recon.readers.formats.sklearn.trees.arrays import TreeArrays
from recon.readers.formats.sklearn.trees.seeds import Root, root_of
from recon.readers.stored.objects.things import Thing

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
    """Return the settings of a fitted tree; None for other classes, and where a setting makes no sense."""
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
    if not isinstance(criterion, str) or not 0 < len(criterion) < 40 or splitter not in ("best", "random"):
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
    if given is None or (given == "auto" and thing.class_name.endswith("Regressor")):
        return None
    if columns is None:
        raise _UnknownError
    if given in ("sqrt", "auto"):
        found = max(1, int(np.sqrt(columns)))
    elif given == "log2":
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


def _signs(thing: Thing) -> bool:
    """Return whether splits were held to signs (`monotonic_cst`)."""
    found = thing.get("monotonic_cst")
    return found is not None and bool(np.any(np.asarray(found) != 0))


def _version(thing: Thing) -> str:
    found = thing.get("_sklearn_version")
    return found if isinstance(found, str) and len(found) < 40 else ""
