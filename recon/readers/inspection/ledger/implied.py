"""What follows from other figures of a model, checked by computing it: sums of inner nodes, impurities, values.

A figure that comes out says nothing more than those it follows from ("implied"). One that cannot be worked out stays
what it was. Numbers of rows that do not add up are a contradiction: somebody has changed them, or they are no counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from recon.readers.inspection.ledger.entries import CONTRADICTION, FAR, NEAR, SUM, Floats, TreeShape

NEWTON = "what the sums of its leaves give for one regularization, which it is"
_REGULARIZED = (1.0, 0.0, 0.001, 0.01, 0.1, 0.5, 2.0, 3.0, 5.0, 10.0)  # lambdas that are tried


def _of_arrays(shape: TreeShape, rows: Floats, weight: Floats, value: Floats, gain: Floats) -> dict[str, str]:
    """Return "rows", "weight", "value" and "gain" -> why inner nodes' figures are implied by those of the leaves.

    `value` of a leaf is -Σg / (Σh + lambda) times any rate, `weight` Σh; lambda is one of those that people use.
    """
    if len(rows) and shape.off(rows) > FAR:
        return {"rows": CONTRADICTION}
    found = {}
    if len(rows) and shape.off(rows) <= NEAR:
        found["rows"] = SUM
    if len(weight) and shape.off(weight) <= NEAR:
        found["weight"] = SUM
    if not len(weight) or not len(value) or not len(shape.inner):
        return found
    inner = shape.inner
    for extra in _REGULARIZED:
        sums = value * (weight + extra)
        sums = np.where(shape.leaf(), sums / shape.rate(sums), sums)
        made = (sums[shape.left] + sums[shape.right]) / (weight[inner] + extra)
        if not np.allclose(made, value[inner], rtol=1e-3, atol=1e-3 * float(np.abs(value).max(initial=0.0))):
            continue
        found["value"] = NEWTON
        squares = sums**2 / (weight + extra)
        lost = squares[shape.left] + squares[shape.right] - squares[inner]
        if len(gain) and len(inner) > 2 and _is_multiple(gain[inner], lost):
            found["gain"] = NEWTON
        break
    return found


def _is_multiple(given: Floats, made: Floats) -> bool:
    """Return whether figures are those that were computed times one factor, a learning rate."""
    size = float(np.abs(made).max(initial=0.0))
    factor = float(given[np.abs(made).argmax()] / made[np.abs(made).argmax()]) if size else 0.0
    return factor > 0 and np.allclose(given, factor * made, rtol=1e-2, atol=1e-2 * factor * size)


def _of_xgboost(content: Mapping[str, Any], whole: bool) -> dict[str, str]:
    """Return key -> why it is implied in all trees of a parsed model of XGBoost."""
    model = content["learner"]["gradient_booster"]
    trees = (model.get("model") or model["gbtree"]["model"])["trees"]
    each = []
    for tree in trees:
        shape = TreeShape.of(tree["left_children"], tree["right_children"])
        weight = _numbers(tree["sum_hessian"])
        if len(weight) and shape.off(weight) > FAR:
            return {"sum_hessian": CONTRADICTION}
        if not whole:
            continue
        value = _numbers(tree["base_weights"])
        found = _of_arrays(shape, np.zeros(0), weight, value, _numbers(tree["loss_changes"]))
        parents = np.asarray(tree["parents"], dtype=np.int64)
        if (parents[shape.left] == shape.inner).all() and (parents[shape.right] == shape.inner).all():
            found["parents"] = "which node has which children, which it is"
        each.append(found)
    keys = {"weight": "sum_hessian", "value": "base_weights", "gain": "loss_changes", "parents": "parents"}
    return _in_all(each, keys)


def _of_lightgbm_text(content: Mapping[str, Any], whole: bool) -> dict[str, str]:
    """Return key -> why it is implied in all trees of LightGBM's model text as values."""
    each = []
    for tree in content["trees"]:
        leaves = int(tree["num_leaves"])
        if leaves < 2:
            continue
        children = [np.array(tree[key], dtype=np.int64) for key in ("left_child", "right_child")]
        inner = leaves - 1  # inner nodes come first, leaf k is -k - 1
        if {len(c) for c in children} != {inner}:
            raise ValueError("another number of nodes than the tree says")
        left, right = (np.r_[np.where(c < 0, inner - c - 1, c), np.full(leaves, -1)] for c in children)
        shape = TreeShape.of(left, right)
        rows, weight, value = (
            np.r_[_numbers(tree[f"internal_{key}"]), _numbers(tree[f"leaf_{key}"])]
            if f"internal_{key}" in tree and f"leaf_{key}" in tree
            else np.zeros(0)
            for key in (("count", "weight", "value") if whole else ("count", "", ""))
        )
        gain = np.r_[_numbers(tree["split_gain"]), np.zeros(leaves)] if whole else np.zeros(0)
        each.append(_of_arrays(shape, rows, weight, value, gain))
    keys = {"rows": "internal_count", "weight": "internal_weight", "value": "internal_value", "gain": "split_gain"}
    return _in_all(each, keys)


def _of_lightgbm_dump(content: Mapping[str, Any], whole: bool) -> dict[str, str]:
    """Return key -> why it is implied in all trees of LightGBM's `dump_model()`."""
    each = []
    for one in content["tree_info"]:
        nodes = list(_below(one["tree_structure"]))
        if len(nodes) < 2:
            continue
        at = {id(node): k for k, node in enumerate(nodes)}
        left, right = ([at[id(n[key])] if key in n else -1 for n in nodes] for key in ("left_child", "right_child"))
        rows, weight, value = (
            _numbers([n.get(f"internal_{key}", n.get(f"leaf_{key}")) for n in nodes]) if key else np.zeros(0)
            for key in (("count", "weight", "value") if whole else ("count", "", ""))
        )
        gain = _numbers([n.get("split_gain", 0.0) for n in nodes]) if whole else np.zeros(0)
        each.append(_of_arrays(TreeShape.of(left, right), rows, weight, value, gain))
    keys = {"rows": "internal_count", "weight": "internal_weight", "value": "internal_value", "gain": "split_gain"}
    return _in_all(each, keys)


def _of_xgboost_dump(content: Sequence[Mapping[str, Any]], _: bool) -> dict[str, str]:
    """Return key -> why it is implied in all trees of XGBoost's dump."""
    each = []
    for root in content:
        nodes = [one for one in _below(root, "children") if "cover" in one]
        at = {one["nodeid"]: k for k, one in enumerate(nodes)}
        left, right = ([at.get(n.get(key), -1) for n in nodes] for key in ("yes", "no"))
        shape = TreeShape.of(left, right)
        cover, none = _numbers([n["cover"] for n in nodes]), np.zeros(0)
        found = _of_arrays(shape, none, cover, none, none)
        each.append({"weight": CONTRADICTION} if shape.off(cover) > FAR else found)
    return _in_all(each, {"weight": "cover"})


def of_rpart(numbers: Sequence[Any], rows: Sequence[Any]) -> dict[str, str]:
    """Return that the rows of inner nodes of rpart follow: node k has the children 2k and 2k + 1."""
    of = {int(k): float(n) for k, n in zip(numbers, rows, strict=True)}
    for k, n in of.items():
        if 2 * k in of and 2 * k + 1 in of and abs(n - of[2 * k] - of[2 * k + 1]) > FAR * n:
            return {"n": CONTRADICTION}
    return {"n": SUM}


OF_KINDS: Mapping[str, Callable[[Any, bool], dict[str, str]]] = {
    "XGBoost model": _of_xgboost, "XGBoost dump": _of_xgboost_dump, "LightGBM dump": _of_lightgbm_dump,
    "LightGBM model as text": _of_lightgbm_text,
    "rpart": lambda content, _: of_rpart(content["node"], [row["n"] for row in _rows(content["frame"])]),
}  # fmt: skip


def of_document(kind: str, content: Any, whole: bool) -> dict[str, str]:
    """Return key -> why figures under it are implied, or `CONTRADICTION`; {} where they cannot be worked out.

    Not `whole`: nothing but contradictions.
    """
    try:
        return OF_KINDS[kind](content, whole) if kind in OF_KINDS else {}
    except (KeyError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError):  # not as libraries write it
        return {}


def _rows(frame: Any) -> list[Mapping[str, Any]]:
    """Return the rows of a data frame as JSON has it: by row, or by column."""
    return frame if isinstance(frame, list) else [{"n": n} for n in frame["n"]]


def _below(root: Any, key: str = "") -> Iterator[Mapping[str, Any]]:
    """Yield the nodes of a nested tree, parents first. Iterative."""
    stack = [root]
    while stack:
        one = stack.pop()
        yield one
        stack += one.get(key, []) if key else [one[name] for name in ("right_child", "left_child") if name in one]


def _numbers(values: Any) -> Floats:
    return np.array([float(v) for v in values], dtype=float)


def _in_all(each: Sequence[Mapping[str, str]], keys: Mapping[str, str]) -> dict[str, str]:
    """Return what is implied in every tree, under the keys of the file; a contradiction in one is one of all."""
    found = {}
    for name, key in keys.items():
        whys = {one.get(name, "") for one in each}
        if CONTRADICTION in whys:
            found[key] = CONTRADICTION
        elif whys and "" not in whys:
            found[key] = min(whys)
    return found
