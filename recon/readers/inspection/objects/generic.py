"""What no rule names: the sizes of models, and arrays that have one entry for each of the training rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import inf
from typing import Any

import numpy as np

from recon.readers.formats.boosters.catboost_file import cbm_booster
from recon.readers.inspection.findings.findings import EXAMPLES, Finding, Level, not_understood
from recon.readers.inspection.findings.rules import RULES, LeakRule
from recon.readers.inspection.ledger.entries import Decision, base_of, class_key, decided, is_known_class
from recon.readers.inspection.objects.traversal import GraphPlace, described, entries_of, shape_of
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.objects.raw import Name
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReconError

MOST_STEPS = 200  # of a fit by reweighted least squares, which ends after 100 where nobody says otherwise
MIN_ROWS = 4  # rows from which on a length says anything
_FRAMES = ("pandas.", "polars.", "pyarrow.")
_ON_ALL_ROWS = frozenset(
    [
        "AdaBoostClassifier",
        "AdaBoostRegressor",
        "VotingClassifier",
        "VotingRegressor",
        "StackingClassifier",
        "StackingRegressor",
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "BoostedRulesClassifier",
        "BoostedRulesRegressor",
    ]
)
MOST_SIZE = 1_000_000  # columns, classes and members that a bound grows with
_COLUMNS = ("n_features_in_", "_n_features", "n_features_")
_CLASSES = ("n_classes_", "_n_classes")
_CATEGORIES = "pandas_categorical:"
_COUNTERS = ("_n_samples", "n_samples_fit_", "n_samples_seen_", "n_samples_", "n_train_", "_n_train")


def rows_known(things: list[Thing], places: Iterable[GraphPlace]) -> Counter[int]:
    """Return possible numbers of training rows with how many values say so; folds and subsamples are among them."""
    found: Counter[int] = Counter()
    for thing in things:
        found.update(_stated_rows(thing))
        found.update(_tree_rows(thing))
    for place in places:
        known = None if place.owner is None else rules_of(place.owner.class_name).get(place.attribute)
        if known is not None and known[0].each and not place.nested and place.shape:
            found[place.shape[0]] += 1
    return found or _shared_lengths(things)


def _stated_rows(thing: Thing) -> list[int]:
    """Return the numbers of rows that an object states: counters, the shape of the fit, the classes' counts."""
    values = [thing.get(name) for name in _COUNTERS if thing.has(name)]
    shape = thing.get("shape_fit_") if thing.has("shape_fit_") else None
    values += [shape[0]] if isinstance(shape, tuple) and shape else []
    counts = thing.get("class_count_") if thing.has("class_count_") else None
    values += [float(counts.sum())] if isinstance(counts, np.ndarray) and counts.dtype.kind == "f" else []
    made, asked = thing.get("n_quantiles_"), thing.get("n_quantiles")
    values += [made] if isinstance(made, int) and isinstance(asked, int) and made < asked else []
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return [int(v) for v in numbers if 0 < v < 1e12 and v == int(v)]


def _tree_rows(thing: Thing) -> list[int]:
    """Return the rows of the roots of trees that were fitted on all rows, or on all but a fold."""
    if thing.class_name == "TreePredictor":
        nodes = thing.get("nodes")
        if not isinstance(nodes, np.ndarray) or "count" not in (nodes.dtype.names or ()) or not len(nodes):
            return []
        return [int(nodes["count"][0])]
    if thing.class_name == "CalibratedClassifierCV":
        return _of_folds(thing)
    if thing.class_name in {"GreedyRuleListClassifier", "OneRClassifier", "FastFrugalTreeClassifier"}:
        rules = _members(thing.get("rules_"))
        first = rules[0].get("num_pts") if rules and isinstance(rules[0], dict) else None
        return [int(first)] if isinstance(first, (int, float)) and first > 0 else []
    whole = thing.class_name in _ON_ALL_ROWS or thing.get("bootstrap") is False
    if not whole or thing.has("estimators_features_") or thing.get("subsample", 1.0) != 1.0:
        return []
    return [n for m in _members(thing.get("estimators_")) if isinstance(m, Thing) for n in _root(m)]


def _of_folds(thing: Thing) -> list[int]:
    """Return the number of rows of which each of k trees has seen all but its own fold: their sum / (k - 1)."""
    inner = [m.get("estimator") for m in _members(thing.get("calibrated_classifiers_")) if isinstance(m, Thing)]
    sizes = [n for m in inner if isinstance(m, Thing) for n in _root(m)]
    folds = len(sizes)
    return [sum(sizes) // (folds - 1)] if folds > 1 and sum(sizes) % (folds - 1) == 0 else sizes[:1]


def _root(model: Thing) -> list[int]:
    tree = model.get("tree_")
    nodes = tree.get("nodes") if isinstance(tree, Thing) else None
    if not isinstance(nodes, np.ndarray) or "n_node_samples" not in (nodes.dtype.names or ()) or not len(nodes):
        return []
    return [int(nodes["n_node_samples"][0])]


def lone_tree_rows(things: list[Thing]) -> list[int]:
    """Return the rows of trees that stand alone (or in a pipeline): members of ensembles may have seen fewer."""
    inside: set[int] = set()
    for thing in things:
        for name in ("estimators_", "calibrated_classifiers_"):
            members = _members(thing.get(name)) if thing.has(name) else []
            inside.update(id(m) for m in members)
            inside.update(id(m.get("estimator")) for m in members if isinstance(m, Thing))
    return [n for t in things if id(t) not in inside for n in _root(t)]


def widths_of(place: GraphPlace) -> tuple[int, int]:
    """Return the numbers of columns and classes of the model that a place belongs to; what none has where not known."""
    columns, classes, _ = _stated_sizes(place)
    return columns or MOST_SIZE, classes or MOST_SIZE


def sizes_of(place: GraphPlace) -> tuple[int, int, int]:
    """Return the numbers of columns, classes and members of the model that a place belongs to; 1 where not known."""
    columns, classes, members = _stated_sizes(place)
    return columns or 1, classes or 1, members or 1


def _stated_sizes(place: GraphPlace) -> tuple[int, int, int]:
    """Return the same, 0 for what is not known."""
    at: GraphPlace | None = place
    columns = classes = members = 0
    while at is not None and not (columns and classes and members):
        owner = at.owner
        if owner is not None:
            columns = columns or _number(owner, _COLUMNS) or _columns_of_catboost(owner)
            classes = classes or _length_of(owner, "classes_") or _number(owner, _CLASSES)
            members = members or _length_of(owner, "estimators_")
        at = at.above
    return columns, classes, members


def _number(owner: Thing, attributes: Iterable[str]) -> int:
    """Return the first of some attributes that an object has: a number of columns or classes, 0 where there is none.

    1 where it is anything else, which no honest model has: it bounds nothing.
    """
    given = next((owner.get(name) for name in attributes if owner.has(name)), None)
    return 0 if given is None else given if isinstance(given, int) and 0 < given < MOST_SIZE else 1


def _length_of(owner: Thing, attribute: str) -> int:
    """Return how many parts a list or array of an object has, 0 where it has none."""
    held = owner.fields().get(attribute)
    shape = shape_of(held if isinstance(held, (list, tuple)) else owner.get(attribute)) if held is not None else ()
    return min(shape[0], MOST_SIZE) if shape else 0


def _columns_of_catboost(owner: Thing) -> int:
    """Return the number of columns that the model inside of an object of CatBoost names, 0 where there is none."""
    model = owner.fields().get("__model") if owner.kind.startswith("catboost.") else None
    try:
        return len(cbm_booster(bytes(model)).names) if isinstance(model, (bytes, bytearray)) else 0
    except ReconError:
        return 0


def may_have_lists(place: GraphPlace, decision: Decision | None) -> bool:
    """Return whether lists may stand in the lists of an attribute: those of parameters, as far as a decision says."""
    most, value = decision.most if decision is not None else "", place.value
    if _is_fit_history(place):
        return True
    if "p" in most:
        return isinstance(value, list) and all(isinstance(one, (list, tuple)) and len(one) == 2 for one in value)
    return bool(most) and "f" not in most and not _is_fitted(place)


def _is_fitted(place: GraphPlace) -> bool:
    """Return whether an attribute of scikit-learn is worked out by its fit: parameters may have any form."""
    name, owner = place.attribute, place.owner
    return (
        owner is not None
        and base_of(class_key(owner)).startswith("sklearn.")
        and (name.endswith("_") or name.startswith("_"))
    )


def _is_fit_history(place: GraphPlace) -> bool:
    """Return whether a place has what statsmodels' GLM keeps of each step: coefficients and deviance, nothing else."""
    value, owner = place.value, place.owner
    if place.attribute != "fit_history" or owner is None or not isinstance(value, dict):
        return False
    steps, told = value.get("params"), value.get("deviance")
    if set(value) != {"params", "deviance", "iteration"} or not isinstance(steps, list) or not isinstance(told, list):
        return False
    last = resolve(owner.get("params")) if owner.has("params") else None
    each = [one for one in map(resolve, steps) if not (isinstance(one, float) and one == inf)]  # before the first step
    return (
        isinstance(last, np.ndarray)
        and len(steps) == len(told) <= MOST_STEPS
        and all(isinstance(resolve(one), float) for one in told)
        and all(isinstance(one, np.ndarray) and (one.dtype, one.shape) == (last.dtype, last.shape) for one in each)
        and bool(each)
        and np.allclose(each[-1], last, rtol=1e-6, atol=1e-9)
        and isinstance(value["iteration"], int)
        and 0 <= value["iteration"] <= MOST_STEPS
    )


def is_unlike_model(place: GraphPlace) -> bool:
    """Return whether lists of categories of a LightGBM object are not those that its model text has."""
    owner, value = place.owner, place.value
    if owner is None or place.attribute != "pandas_categorical" or not owner.kind.startswith("lightgbm.") or not value:
        return False
    text = next((owner.get(k) for k in ("_handle", "handle") if isinstance(owner.get(k), str)), "")
    rows = [line for line in text.rpartition("end of parameters")[2].splitlines() if line.startswith(_CATEGORIES)]
    try:
        return len(rows) != 1 or json.loads(rows[0][len(_CATEGORIES) :]) != value
    except (ValueError, RecursionError):
        return True


def _members(value: Any) -> list[Any]:
    """Return the objects of a list or of an array of objects."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return list(value.reshape(-1))
    return value if isinstance(value, list) else []


def _shared_lengths(things: list[Thing]) -> Counter[int]:
    """Return the first lengths that at least two arrays of one object share, one of them a matrix: rows and labels."""
    found: Counter[int] = Counter()
    for thing in things:
        if is_known_class(class_key(thing)):
            continue
        shapes = {name: shape_of(value) for name, value in thing.attributes.items()}
        lengths = Counter(shape[0] for shape in shapes.values() if shape and shape[0] >= 10)
        matrices = {s[0] for s in shapes.values() if len(s) == 2 and s[0] > s[1]}
        found.update({n: times for n, times in lengths.items() if times >= 2 and n in matrices})
    return found


def table_finding(place: GraphPlace) -> Finding | None:
    """Return that a table of pandas, polars or arrow stands in the file, None for everything else.

    A table whose rows are named by values may be one of aggregates: what its rows are is then not known, unless there
    is a decision on the attribute that it stands in.
    """
    value = place.value
    if not isinstance(value, Thing) or not value.kind.startswith(_FRAMES) or place.shown.endswith(")"):
        return None
    if value.class_name in {"DataFrame", "Table", "LazyFrame"} or (value.class_name == "Series" and _numbered(value)):
        return _finding(place, "critical", "table", "a table of data is stored with the model: look at it, row by row")
    decision = None if place.owner is None else decided(class_key(place.owner), place.attribute)
    if value.class_name == "Series" and decision is not None and decision.about in {"labels", "columns", "sizes"}:
        return _finding(place, "medium", f"ledger-{decision.about}", decision.why)
    if value.class_name == "Series":
        return _finding(
            place, "unknown", "series", "a column with a name for each value: of rows, or of groups of them"
        )
    return None


def _numbered(series: Thing) -> bool:
    """Return whether the values of a series have no names but their numbers, as rows of a file have."""
    stack: list[Any] = [series]
    met: set[int] = set()
    while stack:
        one = stack.pop()
        if id(one) in met:
            continue
        met.add(id(one))
        if isinstance(one, Thing):
            if any(isinstance(name, Name) and name.name == "RangeIndex" for name in (one.callable, *one.args)):
                return True
            stack += [*one.args, one.state, *one.items]
        elif isinstance(one, (list, tuple)):
            stack += one
        elif isinstance(one, dict):
            stack += one.values()
    return False


def row_finding(place: GraphPlace, rows: set[int]) -> Finding | None:
    """Return that a value has one entry per training row, None where no length of it is a number of training rows."""
    shape = place.shape
    return _one_per_row(place, shape, rows) if any(n >= MIN_ROWS and n in rows for n in shape) else None


def _one_per_row(place: GraphPlace, shape: tuple[int, ...], rows: set[int]) -> Finding:
    """Return that an array has one entry per training row: rows and texts are worse than single numbers."""
    size = next(n for n in shape if n in rows)
    level: Level = "critical" if len(shape) == 2 and shape[0] == size and shape[1] > 1 else "high"
    text = f"one entry for each of the {size:,} training rows"
    by_chance = _same_length(place.owner, size)
    if by_chance:
        text += f" (or by chance: {by_chance} {size:,} too)"
        level = "high"
    return _finding(place, level, "one-per-row", text)


def _same_length(owner: Thing | None, size: int) -> str:
    """Return what else of the object has this length."""
    if owner is None:
        return ""
    for name in ("n_features_in_", "n_estimators", "node_count", "n_components", "n_clusters"):
        if owner.has(name) and owner.get(name) == size:
            return f"{name} is"
    classes = owner.get("classes_") if owner.has("classes_") else None
    return "the classes are" if shape_of(classes)[:1] == (size,) else ""


def _finding(place: GraphPlace, level: Level, rule: str, follows: str) -> Finding:
    remove = "no rule knows this attribute: take it out before saving if predictions do not need it"
    return Finding(level, rule, place.path or "(the object)", described(place.value), follows, remove, False,
                   examples(place.value), entries=entries_of(place.value))  # fmt: skip


def examples(value: Any) -> tuple[Any, ...]:
    """Return the first few values of an array, list or number."""
    if isinstance(value, np.ndarray):
        flat: list[Any] = list(value.reshape(-1)[:EXAMPLES]) if value.dtype.names is None else []
        return tuple(v for v in flat if not isinstance(v, (Thing, np.ndarray, list, tuple, dict)))
    if isinstance(value, (list, tuple)):
        return tuple(v for v in value[:EXAMPLES] if isinstance(v, (str, int, float, bool)))
    return (value,) if isinstance(value, (str, int, float)) else ()


ODD = 8  # bytes


def odd_findings(size: int, form: str, path: str = "") -> list[Finding]:
    """Return that bytes of a container belong to nothing in it: popped values, gaps, notes in headers."""
    return (
        []
        if size <= ODD
        else [not_understood(f"{path}(beside the content)", size, f"a {form} that nothing in it reaches")]
    )


@cache
def rules_of(class_name: str) -> dict[str, tuple[LeakRule, int]]:
    """Return attribute -> (its rule, its place in the rule) for a class, by the class's name."""
    found: dict[str, tuple[LeakRule, int]] = {}
    for rule in RULES:
        if rule.classes == "*" or class_name in rule.classes.split():
            for place, attribute in enumerate(rule.attributes.split()):
                found.setdefault(attribute, (rule, place))
    return found
