"""What follows from other figures of a model, checked by computing it: sums of inner nodes, impurities, values.

A figure that comes out says nothing more than those it follows from ("implied"). One that cannot be worked out stays
what it was. Numbers of rows that do not add up are a contradiction: somebody has changed them, or they are no counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEAR = 1e-4  # relative: sums of float32, printed with six digits and more
FAR = 2e-2  # beyond which numbers of rows contradict each other
EXACT = 1e-6  # of doubles
SUM = "the sum of its children, which it is"
MEAN = "the mean of its children by their weights, which it is"
IMPURITY = "a function of the rows of every class, which it is"
NEWTON = "what the sums of its leaves give for one regularization, which it is"
CONTRADICTION = "numbers of rows of nodes are not the sums of their children's"
_REGULARIZED = (1.0, 0.0, 0.001, 0.01, 0.1, 0.5, 2.0, 3.0, 5.0, 10.0)  # lambdas that are tried


@dataclass(frozen=True, eq=False)
class TreeShape:
    """A tree: the children of every inner node, nodes by number."""

    inner: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, left: Any, right: Any) -> TreeShape:
        """Return the tree of two arrays of children, below 0 at leaves (or both 0); `ValueError` for no tree."""
        lefts, rights = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        inner = np.flatnonzero((lefts >= 0) & (rights >= 0) & (lefts != rights))
        size = len(lefts)
        if size and (max(lefts.max(), rights.max()) >= size or len(rights) != size):
            raise ValueError("children that are no nodes")
        return cls(inner, lefts[inner], rights[inner], size)

    def leaf(self) -> NDArray[np.bool_]:
        """Return which nodes are leaves."""
        found = np.ones(self.size, dtype=bool)
        found[self.inner] = False
        return found

    def rate(self, sums: Floats) -> float:
        """Return by which rate leaves are smaller than inner nodes: 1, or what a node over two leaves gives."""
        leaf = self.leaf()
        over = np.flatnonzero(leaf[self.left] & leaf[self.right] & (sums[self.inner] != 0))
        if not len(over):
            return 1.0
        at = over[np.abs(sums[self.inner][over]).argmax()]
        found = float((sums[self.left[at]] + sums[self.right[at]]) / sums[self.inner[at]])
        return found if 0 < found <= 1 else 1.0

    def off(self, figures: Floats) -> float:
        """Return by how much, relative to the root, a figure of inner nodes is not the sum of its children."""
        if not len(self.inner):
            return 0.0
        gap = np.abs(figures[self.inner] - figures[self.left] - figures[self.right])
        return float((gap / np.maximum(np.abs(figures[self.inner]), 1e-12)).max())


def _entropy(shares: Floats) -> Floats:
    """Return the entropy of shares of classes, in bits."""
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    found: Floats = -(shares * logs).sum(axis=-1)
    return found


def impurity(shares: Floats, criterion: Any) -> Floats | None:
    """Return the impurity of shares of classes, None for a criterion that is not known."""
    if criterion == "gini":
        found: Floats = 1.0 - (shares**2).sum(axis=-1)
        return found
    return _entropy(shares) if criterion in {"entropy", "log_loss"} else None


def of_sklearn(nodes: Any, values: Any, criterion: Any, kept: bool, whole: bool) -> dict[str, str]:
    """Return field of a tree of scikit-learn ("values" too) -> why it is implied; `CONTRADICTION` where counts are off.

    `kept`: values stand as the fit put them there: neither boosting nor monotonic constraints have changed them. Not
    `whole`: nothing but contradictions.
    """
    names = nodes.dtype.names or ()
    if not {"left_child", "right_child", "n_node_samples"} <= set(names) or not len(nodes):
        return {}
    shape = TreeShape.of(nodes["left_child"], nodes["right_child"])
    rows = nodes["n_node_samples"].astype(float)
    if shape.off(rows) > FAR:
        return {"n_node_samples": CONTRADICTION}
    if not whole:
        return {}
    weight = nodes["weighted_n_node_samples"].astype(float) if "weighted_n_node_samples" in names else rows
    found = {}
    if np.array_equal(weight, rows):
        found["weighted_n_node_samples"] = "the number of rows, which it is"
    elif shape.off(weight) <= EXACT:
        found["weighted_n_node_samples"] = SUM
    if not kept or not isinstance(values, np.ndarray) or values.ndim != 3 or len(values) != len(nodes):
        return found
    given = nodes["impurity"].astype(float) if "impurity" in names else None
    if values.shape[2] > 1:
        totals = values.sum(axis=2, keepdims=True)
        shares = values / np.where(totals > 0, totals, 1.0)
        made = impurity(shares, criterion)
        if given is not None and made is not None and np.allclose(made.mean(axis=1), given, rtol=0, atol=EXACT):
            found["impurity"] = IMPURITY
        return found
    mean = values[:, 0, 0]
    if given is not None and criterion in {"squared_error", "friedman_mse", "mse"}:
        parent, children = shape.inner, (shape.left, shape.right)
        squares = weight * (given + mean**2)
        made = squares[children[0]] + squares[children[1]]
        if np.allclose(made, squares[parent], rtol=EXACT, atol=EXACT * float(np.abs(squares).max(initial=0.0))):
            found["impurity"] = "of inner nodes what the means and spreads of its leaves give, which it is"
    return found


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
