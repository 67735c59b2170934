"""The form of JSON documents of each kind: what keys there are, of which types, and which lists go together in length.

`documents.json` is made by tests/golden/harmless/documents.py from models that libraries wrote. What a document has
beside its form is not understood: other keys, other types, longer texts, lists longer than those beside them.

Lists of documents whose length another figure of the document fixes: by nodes, leaves, classes and columns.

A list that is longer holds more than a model, and a node that no other leads to is none. Nothing is raised: what lacks
the figure that fixes a list has no place for its entries.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from recon.readers.formats.detection import ADDITIVE, CATBOOST
from recon.readers.inspection.findings.findings import About
from recon.readers.inspection.ledger.entries import CONTRADICTION, FileLedger, LedgerEntry, Status
from recon.readers.inspection.ledger.implied import of_document

_Extra = Iterator[tuple[str, int]]
_INNER = (
    "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child", "internal_value",
    "internal_weight", "internal_count",
)  # fmt: skip
_LEAVES = ("leaf_value", "leaf_weight", "leaf_count", "leaf_const", "num_features")
_NODES = (
    "base_weights", "default_left", "left_children", "loss_changes", "parents", "right_children", "split_conditions",
    "split_indices", "split_type", "sum_hessian",
)  # fmt: skip
_OF_BINS = ("bin_weights", "scores", "standard_deviations", "bagged_scores")
_CATEGORIES = ("categories_nodes", "categories_segments", "categories_sizes")


def longer(kind: str, content: Any) -> dict[str, int]:
    """Return path -> entries that have no place in lists, 0 where all have, of lists whose length a figure fixes.

    Linear in the document.
    """
    found: dict[str, int] = {}
    for path, more in _OF_KINDS[kind](content) if kind in _OF_KINDS and isinstance(content, dict) else ():
        found[path] = found.get(path, 0) + max(0, more)
    return found


def _list(held: Any, key: str) -> list[Any]:
    value = held.get(key) if isinstance(held, dict) else None
    return value if isinstance(value, list) else []


def _dicts(held: Any, key: str) -> list[dict[str, Any]]:
    return [one for one in _list(held, key) if isinstance(one, dict)]


def _nonnegative_integer(value: Any) -> int:
    """Return a whole number, also one that is a text, at least 0; 0 of everything else."""
    try:
        return max(0, int(value)) if isinstance(value, (int, str)) else 0
    except ValueError:
        return 0


def _more(held: Any, path: str, most: Mapping[str, int]) -> _Extra:
    """Yield how many entries lists of a dict have above the most that they may have."""
    for key, number in most.items():
        yield f"{path}.{key}", len(_list(held, key)) - number


def _unreached_nodes(left: list[Any], right: list[Any], nodes: int) -> int:
    """Return how many nodes of a tree no other leads to, or more than one, but for its root. Linear."""
    met = {0}
    for child in (*left, *right):
        number = _nonnegative_integer(child) if not isinstance(child, str) or child[:1] != "-" else 0
        if 0 < number < nodes:
            met.add(number)
    return nodes - len(met)


def _of_lightgbm(content: dict[str, Any]) -> _Extra:
    columns, trees = _nonnegative_integer(content.get("max_feature_idx")) + 1, _dicts(content, "trees")
    ranges = sum(isinstance(one, str) and one[:1] == "[" for one in _list(content, "feature_infos"))
    every = ("feature_names", "feature_infos", "monotone_constraints")
    yield from _more(content, "", {**dict.fromkeys(every, columns), "tree_sizes": len(trees),
                                   "pandas_categorical": columns - ranges})  # fmt: skip
    codes = [one.removeprefix("codes ") for one in _list(content, "feature_infos") if isinstance(one, str)]
    yield from _of_levels(content, [_nonnegative_integer(one) for one in codes if one.isdigit()])
    for tree in trees:
        leaves, sets = _nonnegative_integer(tree.get("num_leaves")), _nonnegative_integer(tree.get("num_cat"))
        bounds, each = _list(tree, "cat_boundaries"), _list(tree, "num_features")
        used = sum(map(_nonnegative_integer, each))
        yield from _more(tree, ".trees.*", {
            **dict.fromkeys(_INNER, leaves - 1), **dict.fromkeys(_LEAVES, leaves),
            "cat_boundaries": sets + 1 if sets else 0,
            "cat_threshold": _nonnegative_integer(bounds[-1]) if bounds else 0,
            "leaf_features": used, "leaf_coeff": used,
        })  # fmt: skip
        left, right = _list(tree, "left_child"), _list(tree, "right_child")
        yield ".trees.*.left_child", _unreached_nodes(left, right, leaves - 1)


def _of_lightgbm_dump(content: dict[str, Any]) -> _Extra:
    columns, infos = _nonnegative_integer(content.get("max_feature_idx")) + 1, content.get("feature_infos")
    held = list(infos.values()) if isinstance(infos, dict) else []
    ranges = sum(isinstance(one, dict) and not one.get("values") for one in held)
    yield from _more(content, "", {"feature_names": columns, "monotone_constraints": columns,
                                   "pandas_categorical": columns - ranges})  # fmt: skip
    yield from _of_levels(content, [
        min(max(map(_nonnegative_integer, codes)), 2 * len(codes)) for one in held if (codes := _list(one, "values"))
    ])  # fmt: skip


def _of_levels(content: dict[str, Any], last: list[int]) -> _Extra:
    """Yield the categories of pandas in a model of LightGBM above the codes that occur; `last`: of each column.

    A few more may have been declared.
    """
    sizes = [len(one) for one in _list(content, "pandas_categorical") if isinstance(one, list)]
    most = max(last, default=-1) + 1 + MAX_LOOSE_ENTRIES
    yield (
        ".pandas_categorical.*",
        sum(sizes) if max(sizes, default=0) > most or sum(sizes) > sum(last) + len(last) + most else 0,
    )


def _of_xgboost(content: dict[str, Any]) -> _Extra:
    learner, at = content.get("learner"), ".learner"
    param = learner.get("learner_model_param") if isinstance(learner, dict) else None
    columns = _nonnegative_integer(param.get("num_feature")) if isinstance(param, dict) else 0
    yield from _more(learner, at, {"feature_names": columns, "feature_types": columns})
    booster = learner.get("gradient_booster") if isinstance(learner, dict) else None
    at += ".gradient_booster"
    inner = booster.get("gbtree") if isinstance(booster, dict) else None  # of dart
    if isinstance(inner, dict):
        trees = len(_list(inner.get("model"), "trees"))
        yield from _more(booster, at, {"weight_drop": trees})
        booster, at = inner, f"{at}.gbtree"
    model, at = (booster.get("model") if isinstance(booster, dict) else None), f"{at}.model"
    trees = len(_list(model, "trees"))
    yield from _more(model, at, {"tree_info": trees, "iteration_indptr": trees + 1, "weight_drop": trees})
    yield from _of_categories(model, f"{at}.cats", columns)
    for tree in _dicts(model, "trees"):
        yield from _of_xgboost_tree(tree, f"{at}.trees.*")


def _of_xgboost_tree(tree: dict[str, Any], path: str) -> _Extra:
    param = tree.get("tree_param")
    stated = param if isinstance(param, dict) else {}
    nodes, values = (
        _nonnegative_integer(stated.get("num_nodes")),
        max(1, _nonnegative_integer(stated.get("size_leaf_vector"))),
    )
    sets = sum(one == 1 for one in _list(tree, "split_type"))
    listed = sum(map(_nonnegative_integer, _list(tree, "categories_sizes")[:sets]))
    most = {**dict.fromkeys(_NODES, nodes), **dict.fromkeys(_CATEGORIES, sets), "categories": listed}
    yield from _more(tree, path, {**most, "base_weights": nodes * values, "leaf_weights": nodes * values})
    left, right = _list(tree, "left_children"), _list(tree, "right_children")
    yield f"{path}.left_children", _unreached_nodes(left, right, nodes)  # what pruning took out still has its figures
    leaves = [at for at, child in enumerate(left) if child == -1]
    for key in ("loss_changes", "split_indices", "default_left"):
        given = _list(tree, key)
        yield f"{path}.{key}", sum(at < len(given) and given[at] != 0 for at in leaves)


def _of_categories(model: Any, path: str, columns: int) -> _Extra:
    """Yield what lists of categories have beyond the columns, and beyond where the last text ends."""
    stored = model.get("cats") if isinstance(model, dict) else None
    encoded = _dicts(stored, "enc")
    texts = sum(max(1, len(_list(one, "offsets")) - 1, 0 if "offsets" in one else len(_list(one, "values")))
                for one in encoded)  # fmt: skip
    yield from _more(stored, path, {"enc": columns, "feature_segments": columns + 1, "sorted_idx": texts})
    for one in encoded:
        ends = _list(one, "offsets")
        rising = all(isinstance(end, int) for end in ends) and ends == sorted(ends) and (not ends or ends[0] == 0)
        yield f"{path}.enc.*.offsets", 0 if rising else len(ends)
        yield f"{path}.enc.*.values", 0 if not rising or _are_names(_list(one, "values"), ends) else len(ends)
        yield (
            f"{path}.enc.*.values",
            len(_list(one, "values")) - (_nonnegative_integer(ends[-1]) if ends else len(_list(one, "values"))),
        )


def _of_rpart(content: dict[str, Any]) -> _Extra:
    frame = content.get("frame")
    nodes = len(_list(content, "node")) or len(_list(frame, "n"))
    yield from _more(content, "", {"frame": nodes})
    rows = _list(frame, "yval2") if isinstance(frame, dict) else [one.get("yval2") for one in _dicts(content, "frame")]
    yield from _more(frame, ".frame", dict.fromkeys(frame, nodes) if isinstance(frame, dict) else {})
    values = _list(frame, "yval") if isinstance(frame, dict) else [one.get("yval") for one in _dicts(content, "frame")]
    wide = len(rows[0]) if rows and isinstance(rows[0], list) else 0
    classes = (wide - 2) // 2 if wide else max(map(_nonnegative_integer, values), default=0)
    yield from _more(content, "", {"ylevels": classes, "split_names": len(_list(content, "splits"))})


def _of_catboost(content: dict[str, Any]) -> _Extra:
    """Yield borders that no split of a tree uses (a model keeps none), and values beyond the leaves of its trees."""
    trees = _dicts(content, "oblivious_trees")
    leaves = [2 ** min(30, len(_list(tree, "splits"))) for tree in trees]
    sizes = [len(_list(tree, "leaf_values")) for tree in trees]
    biases = [len(one) for one in _list(content, "scale_and_bias") if isinstance(one, list)]
    each = max(1, min([*biases, *(size // most for size, most in zip(sizes, leaves, strict=True))], default=1))
    for tree, size, most in zip(trees, sizes, leaves, strict=True):
        yield ".oblivious_trees.*.leaf_values", size - each * most
        yield ".oblivious_trees.*.leaf_weights", len(_list(tree, "leaf_weights")) - most
    held = content.get("features_info")
    columns = {one.get("feature_index", one.get("flat_feature_index")): one for one in _dicts(held, "float_features")}
    used: dict[Any, set[Any]] = {}
    stack: list[Any] = [*_list(content, "oblivious_trees"), *_list(content, "trees")]
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            stack += one
        elif isinstance(one, dict):
            if "border" in one and "float_feature_index" in one:
                used.setdefault(one["float_feature_index"], set()).add(one["border"])
            stack += [value for key, value in one.items() if isinstance(value, (dict, list)) and key != "leaf_values"]
    for index, column in columns.items():
        mine = used.get(index, set())
        more = sum(isinstance(one, (dict, list)) or one not in mine for one in _list(column, "borders"))
        yield ".features_info.float_features.*.borders", more


_ADDITIVE = ".ebm.terms.*."


def _of_additive(content: dict[str, Any]) -> _Extra:
    """Yield figures of terms beyond their bins, and bins of columns that no term has."""
    model = content.get("ebm")
    columns, terms = _dicts(model, "features"), _dicts(model, "terms")
    yield from _more(content, "", {"edits": 0})
    levels = {
        one.get("name"): _list(one, "cuts" if one.get("type") == "continuous" else "categories") for one in columns
    }
    numbers = {one.get("name") for one in columns if one.get("type") == "continuous"}
    classes = max((len(_list(one, "classes")) for one in _dicts(model, "outputs")), default=0)
    each, bags = classes if classes > 2 else 1, len(_list(model, "bag_weights"))
    widest: Counter[Any] = Counter()
    for term in terms:
        names = [name for name in _list(term, "term_features") if isinstance(name, str)]
        size = 1
        for name in names:
            widest[name] = max(widest[name], len(names))
            mine = levels.get(name) or [[]]
            last = mine[min(len(mine), len(names)) - 1]
            held = len(last) if isinstance(last, list) else 0
            size *= held + 3 if name in numbers else max(held, 1) + 1 + bool(held)
        yield f"{_ADDITIVE}term_features", len(_list(term, "term_features")) - len(levels)
        for key, most in (
            ("bin_weights", 1),
            ("scores", each),
            ("standard_deviations", each),
            ("bagged_scores", each * bags),
        ):
            yield f"{_ADDITIVE}{key}", _scalars(term.get(key)) - size * most
    yield from ((f"{_ADDITIVE}{key}{'.*' * depth}", 0) for key in _OF_BINS for depth in range(1, 6))
    for one in columns:
        title, at = one.get("name"), ".ebm.features.*"
        yield f"{at}.cuts", len(_list(one, "cuts")) - widest[title]
        yield f"{at}.categories", len(_list(one, "categories")) - widest[title]
        values = _nonnegative_integer(one.get("num_unique_vals"))
        for level in levels.get(title, ()) if "num_unique_vals" in one else ():
            yield f"{at}.cuts", len(level) - values if isinstance(level, list) and title in numbers else 0
        yield f"{at}.histogram_weights", len(_list(one, "histogram_weights")) - min(LEVELS, max(values, WORDS) + 3)
    yield from ((f".ebm.features.*.{key}", 0) for key in ("cuts.*", "cuts.*.*", "categories.*", "categories.*.*"))
    yield ".ebm.terms", len(terms) - len({tuple(map(str, _list(term, "term_features"))) for term in terms})
    yield ".ebm.features", len(columns) - len(levels)


def _scalars(value: Any) -> int:
    """Return how many values stand in lists in lists."""
    stack, found = [value], 0
    while stack:
        one = stack.pop()
        if isinstance(one, list):
            stack += one
        else:
            found += one is not None
    return found


def _are_names(letters: list[Any], ends: list[int]) -> bool:
    """Return whether the texts of categories, whose letters stand in one list, are names, and no more than `LEVELS`."""
    text = "".join(chr(one & 255) if isinstance(one, int) else "" for one in letters)
    return len(ends) <= LEVELS and all(is_name(text[a:b]) for a, b in pairwise(ends))


_OF_KINDS: Mapping[str, Callable[[dict[str, Any]], _Extra]] = {
    "LightGBM model as text": _of_lightgbm, "LightGBM dump": _of_lightgbm_dump, "XGBoost model": _of_xgboost,
    "rpart": _of_rpart, CATBOOST: _of_catboost, ADDITIVE: _of_additive,
}  # fmt: skip


HERE = Path(__file__).parent
NAME = 64  # characters of the name of a column, class or parameter
NUMBER = 8  # bytes
MOST_SETTINGS = 2_048  # bytes of all settings of a model
MAX_LOOSE_ENTRIES = 8  # entries of a list that goes with no other
LEVELS = 256  # categories of a column that are names: more of them are of rows
INNER = frozenset(["left_child", "right_child", "children", "left", "right"])  # nodes inside nodes
# Maps whose keys are names of columns or parameters, and what a finding of its own tells wholly.
NAMED = frozenset(["feature_infos", "feature_importances", "parameters", "xlevels", "variable.importance", "params",
                   "monotone_constraints", "learn_best_error", "test_best_error", "*history"])  # fmt: skip
SINGLE = frozenset([".na[]"])  # lists of one number, however large the model is
TOLD = {"rpart": (".y", ".where", ".x", ".model")}
OF_CATEGORIES = frozenset(["cat_boundaries[]", "cat_threshold[]"])  # of LightGBM: as many as its splits have words
WORDS = 32  # of a split on categories, of 32 categories each
OPAQUE = frozenset(["ctr_data"])
# Figures of documents by their keys: what statements may carry, what tells more to anyone who knows the learner.
FIGURES: tuple[tuple[Status, str, frozenset[str], str], ...] = (
    ("used", "counts", frozenset([
        "leaf_count", "internal_count", "data_count", "sum_hess", "sum_hessian", "cover", "leaf_weights", "weight",
        "frame", "node", "bin_weights",
    ]), "numbers of rows"),
    ("used", "values", frozenset([
        "leaf_value", "leaf_weight", "leaf_values", "leaf", "base_weights", "internal_value", "internal_weight",
    ]), "sums over the rows of leaves"),
    ("assumed", "", frozenset([
        "threshold", "split_conditions", "split_condition", "borders", "split_gain", "loss_changes", "gain",
        "split_feature", "split_indices", "split", "splits", "num_leaves",
        "decision_type", "default_left", "default_direction", "missing", "left_children", "right_children", "parents",
        "left_child", "right_child", "yes", "no", "cat_threshold", "cat_boundaries", "csplit", "categories",
        "categories_nodes", "categories_segments", "categories_sizes", "base_score", "scale_and_bias",
        "feature_importances",
    ]), "which split, at which value and gain: says more to anyone who knows the learner's rule and arithmetic"),
    ("unused", "", frozenset([
        "feature_infos", "min_value", "max_value", "values", "pandas_categorical", "xlevels", "ylevels", "enc",
        "ctr_data", "class_names", "y", "where",
    ]), "about the training rows, told by a finding of its own"),
)  # fmt: skip
WITH_LEAVES = frozenset(["sum_hessian", "base_weights", "cover", "frame", "n"])  # of inner nodes and leaves
SCORES = frozenset(["learn_best_error", "learn_metrics_history", "test_best_error", "test_metrics_history", "cptable"])
# Of interpret's models: what figures beside the counts are about.
_BESIDE_BINS: tuple[tuple[About, frozenset[str], str], ...] = (
    ("sizes", frozenset(["histogram_weights", "bag_weights"]), "rows of bins of equal width, and of every bag"),
    ("columns", frozenset([
        "min", "max", "num_unique_vals", "cuts", "categories", "min_target", "max_target", "intercept",
        "bagged_intercept", "scores", "standard_deviations", "bagged_scores", "classes",
    ]), "extremes and ends of bins of columns, and fitted coefficients: functions of all training rows"),
)  # fmt: skip
_SCORE = "scores of the labels of all rows: what they say of single ones is not worked out"
LISTED = re.compile(r"-?(?<!\d)\d+(?:\.\d+)?\s*[,;|]")  # of a list of numbers in a text
_MANY = 4
# More numbers one behind the other than a date with its time has, by whatever they are parted.
IN_A_ROW = re.compile(r"(?:(?<![\d.])-?\d+(?:\.\d+)?[^\w.]|(?<![\d.])\d+_){7}")
_OF_PART = re.compile(r"^(?:(?:model\d{1,4}|initModel):)+")  # before what CatBoost keeps of each model of a sum
_WORDS = re.compile(r"[a-z_]{1,40}")  # a key that holds no number


@cache
def _forms() -> Mapping[str, Any]:
    """Return kind -> (path -> types and the most characters or entries, path -> groups of lists) of the made table."""
    return cast("Mapping[str, Any]", json.loads((HERE / "documents.json").read_text(encoding="utf-8")))


def sentences() -> list[str]:
    """Return the parts of sentences of recon's private learners, a zero character where something is put in."""
    return cast("list[str]", json.loads((HERE / "sentences.json").read_text(encoding="utf-8")))


def _letter(value: Any) -> str:
    """Return the type of a value: null or truth value, number (also as text), text, list or dict."""
    if value is None or isinstance(value, bool):
        return "b"
    if isinstance(value, (int, float)):
        return "n"
    if isinstance(value, str):
        return "n" if _number_of(value) is not None else "t"
    return "l" if isinstance(value, list) else "d"


def _number_of(text: str) -> float | None:
    """Return the number that a text is, None of all others."""
    try:
        return float(text.strip("[]")) if len(text) <= 30 else None
    except ValueError:
        return None


def _below(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values right in a dict or list with their paths in the form.

    Indexes are `*`, nodes inside nodes have the path of their root, keys of maps by name are `<name>`.
    """
    last = _last_of(path)
    if isinstance(value, dict):
        for key, one in value.items():
            inside = key in INNER and not (one and _is_flat(one))  # numbers of nodes are figures of their own
            yield path if inside else f"{path}.{'<name>' if last in NAMED else _OF_PART.sub('', key)}", one
    elif isinstance(value, list):
        for one in value:
            yield f"{path}.*" if not path.endswith(".*") or isinstance(one, list) else path, one


def _last_of(path: str) -> str:
    """Return the last step of a path; of entries of a history of losses, that they are."""
    return "*history" if path.endswith("_history.*") else path.rpartition(".")[2]


def _lengths(held: Mapping[str, Any]) -> dict[str, int]:
    """Return the lengths of the lists in a dict (`key[]`), and its whole numbers; those of dicts right in it too."""
    found: dict[str, int] = {}
    inner = [("", held), *((f"{key}.", one) for key, one in held.items() if isinstance(one, dict) and key not in NAMED)]
    for before, one in inner:
        for key, value in one.items():
            if before.rstrip(".") in INNER or (key in INNER and not _is_flat(value)):
                continue
            whole = _number_of(value) if isinstance(value, str) else value
            if isinstance(value, list) or (isinstance(value, dict) and key in NAMED):
                found[f"{before}{key}[]"] = len(value)
            elif (
                isinstance(whole, (int, float)) and not isinstance(whole, bool) and 0 <= whole < 1e9 and whole % 1 == 0
            ):
                found[before + key] = int(whole)
    return found


def _is_flat(value: Any) -> bool:
    """Return whether a value is a list in which no dict stands."""
    return isinstance(value, list) and not any(isinstance(one, dict) for one in value)


def size_of_json(value: Any) -> int:
    """Return the bytes that a parsed value can hold, keys too. Iterative."""
    total, stack = 0, [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            total += sum(len(str(key).encode("utf-8", "replace")) for key in one)
            stack += one.values()
        elif isinstance(one, list):
            stack += one
        elif isinstance(one, str):
            total += len(one.encode("utf-8", "replace"))
        elif isinstance(one, int) and not isinstance(one, bool):
            total += max(NUMBER, (one.bit_length() + 7) // 8)
        else:
            total += 1 if one is None or isinstance(one, bool) else NUMBER
    return total


def more_than_settings(content: Any) -> bool:
    """Return whether parsed values are more than settings by name: long texts or lists, numbers in keys, many bytes."""
    stack, total = [content], 0
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            if not all(_WORDS.fullmatch(key) for key in one):
                return True
            stack += one.values()
        elif isinstance(one, list):
            if len(one) > MAX_LOOSE_ENTRIES:
                return True
            stack += one
        else:
            total += size_of_json(one)
            if total > MOST_SETTINGS or (isinstance(one, str) and not is_name(one)):
                return True
    return False


def is_name(text: str, most: int = 0) -> bool:
    """Return whether a text is no longer than names, or than those of the form, and no list of numbers."""
    return len(text) <= max(NAME, most) and (not is_listing(text) or len(text) <= most)


def is_listing(text: str) -> bool:
    """Return whether a text is a list of numbers: rows may stand in it."""
    return len(LISTED.findall(text)) >= _MANY or IN_A_ROW.search(text) is not None


def _size_of_numbers(value: Any) -> int:
    """Return the bytes of a list of numbers, or of short texts that are numbers; 0 of everything else."""
    kinds = set(map(type, value)) if isinstance(value, list) else set()
    if kinds == {str} and max(map(len, value)) <= 30:
        try:
            return sum(map(len, value)) if list(map(float, value)) and "".join(value).isascii() else 0
        except ValueError:
            return 0
    short = bool(kinds) and kinds <= {int, float} and all(type(one) is float or abs(one) < 1 << 63 for one in value)
    return NUMBER * len(value) if short else 0


def document_ledger(kind: str, content: Any, whole: bool = False) -> FileLedger:
    """Return the ledger of parsed JSON of a kind; linear in it. `whole`: with what is implied, too."""
    paths, groups = _forms().get(kind, ({}, {}))  # of a kind without a form nothing is understood
    fixed = longer(kind, content)
    known, odd, small = Counter[str](), Counter[str](), Counter[str]()
    stack = [("", content)]
    while stack:
        path, value = stack.pop()
        types, most = paths.get(path, ("", 0))
        form, last = _letter(value), _last_of(path)
        if path in TOLD.get(kind, ()):
            known[path] += size_of_json(value)
        elif form not in types and not (types and (form == "b" or (form in "ld" and not value))):
            if form == "d" and _WORDS.fullmatch(last) and all(_WORDS.fullmatch(key) for key in value):
                stack += _below(path, value)
            else:
                few = form in "bnt" and size_of_json(value) <= NUMBER and _WORDS.fullmatch(last) is not None
                (small if few else odd)[path] += size_of_json(value) + (0 if few else len(last))  # the key, too
        elif last in OPAQUE:
            known[path] += size_of_json(value)
        elif form == "t":
            (known if is_name(value, most) else odd)[path] += size_of_json(value)
        elif form in "bn":
            (known if size_of_json(value) <= 4 * NUMBER else odd)[path] += size_of_json(value)
        elif (
            path.endswith(".*") and form == "l" and path not in fixed and len(value) > max(MAX_LOOSE_ENTRIES, 2 * most)
        ):
            odd[path] += size_of_json(value)
        else:
            inner = path if path.endswith(".*") else f"{path}.*"
            size = _size_of_numbers(value) if "n" in paths.get(inner, ("", 0))[0] else 0
            if size:
                known[inner] += size
                continue
            stack += _below(path, value)
            if isinstance(value, dict):
                told = {one for one in TOLD.get(kind, ()) if not path}
                odd += _longer(
                    path, {k: v for k, v in value.items() if f".{k}" not in told}, groups.get(path, []), paths, fixed
                )
                if last in NAMED:
                    odd[path] += sum(len(key) for key in value if not is_name(str(key)))
    odd += Counter({path: NUMBER * more for path, more in fixed.items() if not odd[path]})
    made = of_document(kind, content, whole)
    entries = [_implied(_entry(path, size), made) for path, size in known.items() if path not in odd]
    entries += [LedgerEntry(path[1:], "unknown", "values", size, small=True) for path, size in small.items()]
    return FileLedger(
        (*entries, *(LedgerEntry(path[1:], "unknown", "values", size) for path, size in odd.items() if size))
    )


def _entry(path: str, size: int) -> LedgerEntry:
    """Return the entry of values that have their place in the form."""
    steps = path.replace(".*", "").split(".")
    if SCORES & set(steps):
        return LedgerEntry(path[1:], "unused", "scores", size, "info", "labels", _SCORE)
    for about, words, why in _BESIDE_BINS if steps[1:2] == ["ebm"] else ():
        if steps[-1] in words:
            return LedgerEntry(path[1:], "unused", "values of the model", size, None, about, why)
    for status, figures, words, why in FIGURES:
        if words & set(steps[-2:]):
            return LedgerEntry(path[1:], status, "values of the model", size, why=why, figures=figures)
    return LedgerEntry(
        path[1:], "harmless", "settings and names", size, why="of the form of such files, bounded in length"
    )


def _implied(entry: LedgerEntry, made: Mapping[str, str]) -> LedgerEntry:
    """Return an entry with what is implied: figures of inner nodes, or all, or that they contradict each other."""
    words = [made[word] for word in entry.path.replace(".*", "").split(".")[-2:] if word in made]
    if not words:
        return entry
    if words[0] == CONTRADICTION:
        return replace(entry, status="unknown", why=CONTRADICTION)
    if WITH_LEAVES & set(entry.path.replace(".*", "").split(".")[-2:]):
        return replace(entry, more=f"of inner nodes {words[0]}")
    return replace(entry, status="implied", why=words[0])


def _longer(
    path: str, held: Mapping[str, Any], groups: list[dict[str, int]], paths: Mapping[str, Any], fixed: Collection[str]
) -> Counter[str]:
    """Return the bytes of lists in a dict that are longer than those they go with, or than lists by themselves are.

    `fixed`: paths of lists whose length figures of the document say.
    """
    sizes, found = _lengths(held), Counter[str]()
    if "cat_boundaries[]" in sizes:
        splits = min(sizes.get("num_cat", 0), max(0, sizes.get("num_leaves", 0) - 1))
        most = {"cat_boundaries": splits + 1, "cat_threshold": WORDS * splits}
        for key, number in most.items():
            more = sizes.get(f"{key}[]", 0) - number
            found[f"{path}.{key}"] += NUMBER * max(0, more)
    near = 0  # entries of the longest list that goes with others
    alone = {key for key in sizes if key.endswith("[]") and "." not in key} - OF_CATEGORIES
    for group in groups:
        mine = {key: sizes[key] - less for key, less in group.items() if key in sizes}
        if len(mine) > 1:
            alone -= set(mine)
            times = Counter(mine.values())
            right = min(value for value, number in times.items() if number == max(times.values()))
            near = max(near, *(sizes[key] for key, value in mine.items() if value == right))
            for key, value in mine.items():
                if key.endswith("[]") and value > right:
                    found[f"{path}.{key[:-2]}"] += NUMBER * (value - right)
    for key in alone:  # losses of every step are as many as there are steps
        most = paths.get(f"{path}.{key[:-2]}", ("", 0))[1]
        if (
            not isinstance(held[key[:-2]], dict)
            and not all(isinstance(one, dict) and one for one in held[key[:-2]])  # with entries of their own
            and f"{path}.{key[:-2]}" not in fixed
            and not key.endswith("_history[]")
            and sizes[key]
            > max(MAX_LOOSE_ENTRIES, 4 * (near + 1) if near and f"{path}.{key}" not in SINGLE else 2 * most)
        ):
            found[f"{path}.{key[:-2]}"] += NUMBER * sizes[key]
    return found
