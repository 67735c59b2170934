"""Lists of documents whose length another figure of the document fixes: by nodes, leaves, classes and columns.

A list that is longer holds more than a model, and a node that no other leads to is none. Nothing is raised: what lacks
the figure that fixes a list has no place for its entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

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


def _whole(value: Any) -> int:
    """Return a whole number, also one that is a text, at least 0; 0 of everything else."""
    try:
        return max(0, int(value)) if isinstance(value, (int, str)) else 0
    except ValueError:
        return 0


def _more(held: Any, path: str, most: Mapping[str, int]) -> _Extra:
    """Yield how many entries lists of a dict have above the most that they may have."""
    for key, number in most.items():
        yield f"{path}.{key}", len(_list(held, key)) - number


def _unreached(left: list[Any], right: list[Any], nodes: int) -> int:
    """Return how many nodes of a tree no other leads to, or more than one, but for its root. Linear."""
    met = {0}
    for child in (*left, *right):
        number = _whole(child) if not isinstance(child, str) or child[:1] != "-" else 0
        if 0 < number < nodes:
            met.add(number)
    return nodes - len(met)


def _of_lightgbm(content: dict[str, Any]) -> _Extra:
    columns, trees = _whole(content.get("max_feature_idx")) + 1, _dicts(content, "trees")
    ranges = sum(isinstance(one, str) and one[:1] == "[" for one in _list(content, "feature_infos"))
    every = ("feature_names", "feature_infos", "monotone_constraints")
    yield from _more(content, "", {**dict.fromkeys(every, columns), "tree_sizes": len(trees),
                                   "pandas_categorical": columns - ranges})  # fmt: skip
    for tree in trees:
        leaves, sets = _whole(tree.get("num_leaves")), _whole(tree.get("num_cat"))
        bounds, each = _list(tree, "cat_boundaries"), _list(tree, "num_features")
        used = sum(map(_whole, each))
        yield from _more(tree, ".trees.*", {
            **dict.fromkeys(_INNER, leaves - 1), **dict.fromkeys(_LEAVES, leaves),
            "cat_boundaries": sets + 1 if sets else 0, "cat_threshold": _whole(bounds[-1]) if bounds else 0,
            "leaf_features": used, "leaf_coeff": used,
        })  # fmt: skip
        left, right = _list(tree, "left_child"), _list(tree, "right_child")
        yield ".trees.*.left_child", _unreached(left, right, leaves - 1)


def _of_lightgbm_dump(content: dict[str, Any]) -> _Extra:
    columns, infos = _whole(content.get("max_feature_idx")) + 1, content.get("feature_infos")
    held = list(infos.values()) if isinstance(infos, dict) else []
    ranges = sum(isinstance(one, dict) and not one.get("values") for one in held)
    yield from _more(content, "", {"feature_names": columns, "monotone_constraints": columns,
                                   "pandas_categorical": columns - ranges})  # fmt: skip


def _of_xgboost(content: dict[str, Any]) -> _Extra:
    learner, at = content.get("learner"), ".learner"
    param = learner.get("learner_model_param") if isinstance(learner, dict) else None
    columns = _whole(param.get("num_feature")) if isinstance(param, dict) else 0
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
    nodes, values = _whole(stated.get("num_nodes")), max(1, _whole(stated.get("size_leaf_vector")))
    sets = sum(one == 1 for one in _list(tree, "split_type"))
    listed = sum(map(_whole, _list(tree, "categories_sizes")))
    most = {**dict.fromkeys(_NODES, nodes), **dict.fromkeys(_CATEGORIES, sets), "categories": listed}
    yield from _more(tree, path, {**most, "base_weights": nodes * values, "leaf_weights": nodes * values})
    left, right = _list(tree, "left_children"), _list(tree, "right_children")
    yield f"{path}.left_children", _unreached(left, right, nodes)  # what pruning took out still has its figures
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
        yield f"{path}.enc.*.offsets", sum(not isinstance(end, int) for end in ends)
        yield (
            f"{path}.enc.*.values",
            len(_list(one, "values")) - (_whole(ends[-1]) if ends else len(_list(one, "values"))),
        )


def _of_rpart(content: dict[str, Any]) -> _Extra:
    frame = content.get("frame")
    nodes = len(_list(content, "node")) or len(_list(frame, "n"))
    yield from _more(content, "", {"frame": nodes})
    rows = _list(frame, "yval2") if isinstance(frame, dict) else [one.get("yval2") for one in _dicts(content, "frame")]
    yield from _more(frame, ".frame", dict.fromkeys(frame, nodes) if isinstance(frame, dict) else {})
    values = _list(frame, "yval") if isinstance(frame, dict) else [one.get("yval") for one in _dicts(content, "frame")]
    wide = len(rows[0]) if rows and isinstance(rows[0], list) else 0
    classes = (wide - 2) // 2 if wide else max(map(_whole, values), default=0)
    yield from _more(content, "", {"ylevels": classes, "split_names": len(_list(content, "splits"))})


def _of_catboost(content: dict[str, Any]) -> _Extra:
    """Yield borders that no split of a tree uses: a model keeps none of these."""
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


_OF_KINDS: Mapping[str, Callable[[dict[str, Any]], _Extra]] = {
    "LightGBM model as text": _of_lightgbm, "LightGBM dump": _of_lightgbm_dump, "XGBoost model": _of_xgboost,
    "rpart": _of_rpart, "CatBoost model as JSON": _of_catboost,
}  # fmt: skip
