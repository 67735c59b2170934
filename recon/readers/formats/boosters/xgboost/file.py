"""The two JSON forms of XGBoost models taken apart: `save_model` and `dump_model(with_stats=True)`.

Format: XGBoost, doc/model.schema and src/tree/tree_model.cc, versions 1.0 to 3.2 (categories' names: 3.1 and later).

How many rows the nodes of XGBoost's first round have, in all and of one class, proved from covers and weights.

A node of n rows with k of the class, all at share p: H = n h, G = n p - k, weight w = -G / (H + lambda), a leaf's
value eta w. So k = n p + w (H + lambda), at a leaf k = n p + v H / eta + v lambda / eta. Neither eta nor lambda is in
the file: they are found by trying every count of two leaves, and taken only if one pair makes all nodes whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import AnyAttribute, Categorical, Test, Value, is_number
from recon.readers.formats.boosters.shared import (
    MAX_NODES,
    MAX_TRIES,
    BoosterSplit,
    BoosterTree,
    different,
    refuse,
    split_of,
    sums,
)
from solvers.foundation.errors import ReleaseError, Unsupported

WHOLES = 2.0**24  # whole numbers up to it are float32 numbers
LARGEST = float(np.finfo(np.float32).max)


@dataclass
class StoredXGBoostTree:
    """One tree: its nodes, and per node cover and weight (at leaves times the learning rate; NaN: not said)."""

    place: str
    group: int
    grown: BoosterTree = field(default_factory=BoosterTree)
    cover: list[float] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)


@dataclass
class XGBoostFile:
    """A model file; `base` are the starting scores as written, None where the form does not say them."""

    form: str
    names: list[str]
    named: bool
    objective: str
    classes: int
    base: tuple[float, ...] | None
    parallel: int
    trees: list[StoredXGBoostTree]
    averaged: bool = False  # the starting scores are what the training rows average to (XGBoost 3.1 and later)
    hints: dict[str, AnyAttribute] = field(default_factory=dict)
    dart: bool = False
    max_delta_step: float = 0.0

    @property
    def dump(self) -> bool:
        """Return whether the form is a dump."""
        return self.base is None


def part(found: Any, *keys: str) -> Mapping[str, Any]:
    """Return a nested object; `ReleaseError` naming what is missing."""
    place = "learner"
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
        place = f"{place}.{key}"
    if not isinstance(found, dict):
        raise refuse("is missing or no object", place)
    return found


def real(found: Any, place: str) -> float:
    """Return a finite number, written as such or as text; `ReleaseError` naming the place."""
    try:
        value = float(found) if isinstance(found, (str, int, float)) and not isinstance(found, bool) else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not abs(value) <= LARGEST:
        raise refuse(f"{str(found)[:40]!r} is not a finite float32 number", place)
    return value


def _single(found: Any, place: str) -> float:
    """Return the float32 number that was written in its shortest form; `ReleaseError` naming the place."""
    return float(np.float32(real(found, place)))


def _integer(found: Any, place: str) -> int:
    """Return a whole number, written as such or as text; `ReleaseError` naming the place."""
    value = real(found, place)
    if value != int(value) or abs(value) >= 1 << 53:
        raise refuse(f"{str(found)[:40]!r} is not a whole number", place)
    return int(value)


def _list(found: Mapping[str, Any], key: str, place: str, size: int | None = None) -> list[Any]:
    """Return a list of a known length; `ReleaseError` naming the place."""
    value = found.get(key)
    if not isinstance(value, list) or (size is not None and len(value) != size):
        raise refuse(f"a list{'' if size is None else f' of {size}'} is expected", f"{place}.{key}")
    return value


def json_booster(found: Any, form: str = "XGBoost, save_model JSON") -> XGBoostFile:
    """Return the parts of a saved model; `form` is what it was read from."""
    if not isinstance(found, dict) or not isinstance(found.get("learner"), dict):
        raise ReleaseError("is not JSON of XGBoost's save_model(): 'learner' is missing")
    learner = found["learner"]
    booster = part(learner, "gradient_booster")
    dart = booster.get("name") == "dart"
    if dart:
        booster = part(learner, "gradient_booster", "gbtree")
    elif booster.get("name") != "gbtree":
        raise Unsupported(f"XGBoost's booster {str(booster.get('name'))[:40]!r} has no trees")
    model, params = part(booster, "model"), part(learner, "learner_model_param")
    size = _integer(params.get("num_feature", 0), "learner.learner_model_param.num_feature")
    if not 0 < size <= MAX_NODES or _integer(params.get("num_target", 1), "num_target") != 1:
        raise Unsupported("XGBoost models without features or of several targets are not read")
    names = learner.get("feature_names") or []
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names) or len(names) not in (0, size):
        raise refuse(f"{size} names are expected", "learner.feature_names")
    if len(set(names)) != len(names):
        raise refuse("a name stands twice", "learner.feature_names")
    called = names or [f"f{i}" for i in range(size)]
    categories = _category_names(model.get("cats"), called)
    types = learner.get("feature_types")
    typed = zip(called, types, strict=False) if isinstance(types, list) else ()
    whole = {name for name, kind in typed if kind in ("int", "i")}
    groups = _list(model, "tree_info", "model")
    trees = _list(model, "trees", "model", len(groups))
    parallel = part(model, "gbtree_model_param").get("num_parallel_tree", 1)
    objective = part(learner, "objective")
    weigh = objective.get("reg_loss_param")
    if isinstance(weigh, dict) and real(weigh.get("scale_pos_weight", 1), "reg_loss_param.scale_pos_weight") != 1:
        raise Unsupported("the XGBoost model weighs its classes (scale_pos_weight): its covers are not numbers of rows")
    poisson = objective.get("poisson_regression_param")
    step = real(poisson.get("max_delta_step", 0.7), "max_delta_step") if isinstance(poisson, dict) else 0.0
    hints: dict[str, AnyAttribute] = {}
    for n, values in categories.items():
        if values and len(set(values)) == len(values):
            ascending = values if isinstance(values[0], str) else sorted(values)
            hints[n] = Categorical(n, tuple(ascending))
    return XGBoostFile(
        form,
        called,
        bool(names),
        str(objective.get("name", "")),
        _integer(params.get("num_class", 0), "learner.learner_model_param.num_class"),
        _base_scores(params.get("base_score", "5E-1")),
        max(1, _integer(parallel, "model.gbtree_model_param.num_parallel_tree")),
        [
            _json_tree(tree, f"trees[{t}]", _integer(group, "model.tree_info"), called, categories, whole)
            for t, (tree, group) in enumerate(zip(trees, groups, strict=True))
        ],
        str(params.get("boost_from_average")) == "1" and _version_of(found) >= [3, 1],
        hints,
        dart,
        step,
    )


def _version_of(found: Mapping[str, Any]) -> list[int]:
    """Return the version that wrote the file, [0] where it does not say."""
    version = found.get("version")
    return version if isinstance(version, list) and version and all(type(v) is int for v in version) else [0]


def _base_scores(found: Any) -> tuple[float, ...]:
    """Return the starting scores: "5E-1", or a vector "[4.2E-1,...]" since XGBoost 3.1."""
    place = "learner.learner_model_param.base_score"
    text = str(found).strip()
    parts = text[1:-1].split(",") if text.startswith("[") and text.endswith("]") else [text]
    return tuple(real(x.strip(), place) for x in parts)


def _category_names(found: Any, names: Sequence[str]) -> dict[str, list[Value]]:
    """Return the values behind categories' codes, where the file has them."""
    out: dict[str, list[Value]] = {}
    encoded = found.get("enc") if isinstance(found, dict) else None
    if not isinstance(encoded, list) or len(encoded) != len(names):
        return out
    for name, one in zip(names, encoded, strict=True):
        values, offsets = (one.get("values"), one.get("offsets")) if isinstance(one, dict) else (None, None)
        if not isinstance(values, list) or not values or not all(is_number(v) for v in values):
            continue
        if offsets is None:
            out[name] = list(values)
            continue
        try:
            raw = bytes(v & 255 for v in values)
            out[name] = [raw[a:b].decode() for a, b in pairwise(offsets)]
        except (TypeError, ValueError, UnicodeDecodeError):
            raise refuse(f"the categories of '{name}' are not texts", "cats.enc") from None
    return out


def _json_tree(
    found: Any,
    place: str,
    group: int,
    names: Sequence[str],
    categories: Mapping[str, list[Value]],
    whole: Set[str] = frozenset(),
) -> StoredXGBoostTree:
    """Return one tree from its arrays; `whole` are the features that are whole numbers."""
    if not isinstance(found, dict):
        raise refuse("no object", place)
    out, left = StoredXGBoostTree(place, group), _list(found, "left_children", place)
    size = len(left)
    if not 0 < size <= MAX_NODES or group < 0:
        raise refuse(f"{size} nodes", place)
    keys = ("right_children", "split_indices", "split_conditions", "base_weights", "sum_hessian", "default_left")
    right, feature, condition, weight, cover, default = (_list(found, key, place, size) for key in keys)
    kinds = found.get("split_type") or [0] * size
    if not isinstance(kinds, list) or len(kinds) != size:
        raise refuse(f"a list of {size} is expected", f"{place}.split_type")
    sets = _category_sets(found, place) if any(kinds) else {}
    todo, seen = [(0, -1, 0)], 0
    while todo:
        node, parent, side = todo.pop()
        seen += 1
        if not isinstance(node, int) or not 0 <= node < size or seen > size:
            raise refuse(f"the link to node {str(node)[:20]} makes no tree", place)
        here = len(out.grown.splits)
        if parent >= 0:
            a, b = out.grown.children[parent]
            out.grown.children[parent] = (here, b) if side == 0 else (a, here)
        out.grown.children.append((-1, -1))
        out.cover.append(_single(cover[node], f"{place}.sum_hessian[{node}]"))
        if left[node] == -1:
            out.grown.splits.append(None)
            out.weight.append(_single(condition[node], f"{place}.split_conditions[{node}]"))
            continue
        out.weight.append(_single(weight[node], f"{place}.base_weights[{node}]"))
        k = _integer(feature[node], f"{place}.split_indices[{node}]")
        if not 0 <= k < len(names):
            raise refuse(f"feature {k} is none of {len(names)}", f"{place}.split_indices[{node}]")
        missing_left = bool(default[node])
        if kinds[node]:  # the listed categories go right
            values = _values_of(sets.get(node, ()), names[k], categories, place)
            out.grown.splits.append(BoosterSplit(names[k], Test(values=values, missing=not missing_left), None))
            todo += [(left[node], here, 1), (right[node], here, 0)]
            continue
        end, is_open = _below_single(_single(condition[node], f"{place}.split_conditions[{node}]"), names[k] in whole)
        out.grown.splits.append(split_of(names[k], Test(high=end, high_open=is_open, missing=missing_left), True))
        todo += [(right[node], here, 1), (left[node], here, 0)]
    return out


def _below_single(threshold: float, whole: bool) -> tuple[float, bool]:
    """Return the end, and whether it is open, of the numbers that are below a threshold once rounded to float32.

    XGBoost rounds every value first, and its thresholds are often values of the training rows: 13.05 itself is below
    the float32 nearest to it, 13.0500002, yet goes right. The end lies midway to the float32 before; a tie goes to the
    even one. `whole`: values are whole numbers, of which small ones are not rounded.
    """
    if threshold == 0 or (whole and abs(threshold) <= WHOLES):
        return threshold, True
    single = np.float32(threshold)
    before = np.nextafter(single, np.float32(-np.inf))
    return (float(before) + threshold) / 2, int(single.view(np.uint32)) & 1 == 0


def _category_sets(found: Mapping[str, Any], place: str) -> dict[int, tuple[int, ...]]:
    """Return the categories that go right, per node."""
    every = [_integer(v, f"{place}.categories") for v in _list(found, "categories", place)]
    nodes = _list(found, "categories_nodes", place)
    starts, lengths = (_list(found, f"categories_{k}", place, len(nodes)) for k in ("segments", "sizes"))
    out = {}
    for node, start, length in zip(nodes, starts, lengths, strict=True):
        a, n = _integer(start, f"{place}.categories_segments"), _integer(length, f"{place}.categories_sizes")
        if a < 0 or n < 1 or a + n > len(every):
            raise refuse(f"the categories {a}..{a + n} are not there", f"{place}.categories_segments")
        out[_integer(node, f"{place}.categories_nodes")] = tuple(every[a : a + n])
    return out


def _values_of(codes: Sequence[int], name: str, categories: Mapping[str, list[Value]], place: str) -> tuple[Value, ...]:
    """Return the values behind categories' codes."""
    known = categories.get(name)
    if not codes or min(codes) < 0 or (known is not None and max(codes) >= len(known)):
        raise refuse(f"the categories {list(codes[:6])} of '{name}' are not all known", place)
    return tuple(codes) if known is None else tuple(known[c] for c in codes)


NUMBERED = re.compile(r"f(0|[1-9]\d{0,5})")  # how a dump calls features without names, by their place


def dump_booster(found: Any) -> XGBoostFile:
    """Return the parts of a dump with statistics."""
    if not isinstance(found, list) or not found:
        raise ReleaseError("is not JSON of XGBoost's dump_model(dump_format='json'): a list of trees is expected")
    names: dict[str, None] = {}
    trees = [_dump_tree(tree, f"trees[{t}]", names) for t, tree in enumerate(found)]
    numbers = [int(n[1:]) for n in names if NUMBERED.fullmatch(n)]
    named = len(numbers) < len(names) or not names
    every = list(names) if named else [f"f{k}" for k in range(max(numbers) + 1)]
    return XGBoostFile("XGBoost, dump_model JSON", every, named, "", 0, None, 1, trees)


def _dump_tree(root: Any, place: str, names: dict[str, None]) -> StoredXGBoostTree:
    """Return one nested tree, its nodes numbered depth first; new feature names are added to `names`."""
    out = StoredXGBoostTree(place, 0)
    todo: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while todo:
        node, parent, side = todo.pop()
        if not isinstance(node, dict):
            raise refuse("a node is not an object", place)
        here, at = len(out.grown.splits), f"{place}, node {str(node.get('nodeid'))[:20]}"
        if "cover" not in node:
            raise Unsupported("the XGBoost dump has no covers: dump it again with with_stats=True")
        if parent >= 0:
            a, b = out.grown.children[parent]
            out.grown.children[parent] = (here, b) if side == 0 else (a, here)
        out.grown.children.append((-1, -1))
        out.cover.append(real(node["cover"], f"{at}.cover"))
        if "leaf" in node:
            out.grown.splits.append(None)
            out.weight.append(real(node["leaf"], f"{at}.leaf"))
            continue
        out.weight.append(math.nan)
        name, condition, below = node.get("split"), node.get("split_condition"), node.get("children")
        if not isinstance(name, str) or not isinstance(below, list) or len(below) != 2:
            raise refuse("a split needs a feature and two children", at)
        names.setdefault(name)
        by_id = {str(c.get("nodeid")): c for c in below if isinstance(c, dict)}
        yes, no, gone = (str(node.get(key)) for key in ("yes", "no", "missing"))
        if {yes, no} != set(by_id) or gone not in by_id:
            raise refuse("'yes', 'no' and 'missing' do not name its two children", at)
        if isinstance(condition, list):
            codes = tuple(_integer(c, f"{at}.split_condition") for c in condition)
            split = BoosterSplit(name, Test(values=_values_of(codes, name, {}, at), missing=gone == yes), None)
        elif condition is None:
            raise Unsupported(f"{at}: the split of indicator '{name}' has no condition: use save_model('model.json')")
        else:
            end, is_open = _below_single(_single(condition, f"{at}.split_condition"), whole=False)
            split = split_of(name, Test(high=end, high_open=is_open, missing=gone == yes), True)
        out.grown.splits.append(split)
        todo += [(by_id[no], here, 1), (by_id[yes], here, 0)]
    return out


SINGLE = 2.0**-23  # relative error of a float32 figure, twice over
MAX_LEFT = 5_000  # explanations by the leaves that are compared with the inner nodes
UNIT_HESSIAN = {"reg:squarederror", "reg:linear"}  # every row's hessian is 1 in every round
ROBUST = {"reg:absoluteerror", "reg:quantileerror"}  # the same; leaf values are quantiles of residuals
LOGISTIC = {"binary:logistic", "binary:logitraw", "reg:logistic"}  # hessian p (1 - p)


@dataclass(frozen=True, eq=False)
class Cover:
    """Rows per node, the share of the class that every row starts at, and how far that may be off."""

    rows: NDArray[np.int64]
    share: float = 0.5
    off: float = 0.0


@dataclass(frozen=True)
class ObjectiveStart:
    """What an objective says about covers: where rows start, and what one row adds to a first cover.

    `shares`: the share that rows start at, per class with trees; () where covers of no class are known. `factor`: of
    the hessian p (1 - p), or the hessian itself. `every`: covers of all rounds are rows. `classes`: labels are 0 and 1.
    `margin`: the score of the first round, None where later covers are not predicted. `balanced`: an estimated
    base_score makes all gradients sum to 0.
    """

    shares: tuple[float, ...]
    factor: float = 1.0
    every: bool = False
    classes: bool = False
    margin: float | None = None
    balanced: bool = True


def starting_shares(booster: XGBoostFile) -> ObjectiveStart:
    """Return what a booster's objective and base_score say about covers.

    Raises `Unsupported` for objectives whose covers are no sizes.
    """
    if booster.base is None:
        return ObjectiveStart((0.5,), classes=True, margin=0.0)
    if booster.objective in UNIT_HESSIAN | ROBUST:
        return ObjectiveStart((), every=True, balanced=booster.objective in UNIT_HESSIAN)
    if booster.objective in LOGISTIC and len(booster.base) == 1:
        base = booster.base[0]
        if booster.objective == "binary:logitraw":  # its base_score is a score, not a share
            return ObjectiveStart(
                (1 / (1 + math.exp(-max(-80.0, min(80.0, base)))),), classes=True, margin=base, balanced=False
            )
        share = float(np.float32(base))
        if not 0 < share < 1:
            raise Unsupported(f"the XGBoost model's base_score {base:g} is not a share")
        return ObjectiveStart(
            (share,), classes=booster.objective != "reg:logistic", margin=math.log(share / (1 - share))
        )
    if booster.objective in ("multi:softprob", "multi:softmax") and 2 <= booster.classes <= 10_000:
        scores = booster.base if len(booster.base) == booster.classes else (0.0,) * booster.classes
        top = max(scores)
        powers = [math.exp(max(-700.0, s - top)) for s in scores]
        return ObjectiveStart(tuple(x / sum(powers) for x in powers), 2.0, classes=True)
    if booster.objective == "count:poisson" and len(booster.base) == 1 and 0 < booster.base[0] < 1e6:
        return ObjectiveStart((), booster.base[0] * math.exp(booster.max_delta_step))
    raise Unsupported(
        f"covers of XGBoost's objective {booster.objective[:40]!r} are sums that depend on the target from the first "
        "round on, so that they are not numbers of rows: fit it with binary:logistic, multi:softprob, count:poisson, "
        "reg:squarederror, reg:absoluteerror or reg:quantileerror, or publish fewer figures"
    )


def sizes(tree: StoredXGBoostTree, share: float | None, factor: float) -> Cover | None:
    """Return the rows of every node, None where some cover is not a whole number of equal hessians."""
    cover = np.array(tree.cover)
    h = factor if share is None else factor * share * (1 - share)
    if h <= 0:
        return None
    off = 0.0 if share is None else _share_error(share)
    rows = cover / h
    error = rows * (4 * SINGLE + (off * abs(1 - 2 * (share or 0.5)) * factor / h)) + 1e-6
    near = np.rint(rows)
    if bool((np.abs(rows - near) > error).any()) or bool((error >= 0.25).any()):
        return None
    found = near.astype(np.int64)
    leaves = {i: int(found[i]) for i in tree.grown.leaves}
    if sums(tree.grown, leaves) != found.tolist() or min(leaves.values()) < 1:
        return None
    return Cover(found, 0.5 if share is None else share, off)


def _share_error(share: float) -> float:
    """Return how far float32 arithmetic may take the share through the logarithm and back."""
    if share == 0.5:
        return 0.0
    margin = abs(math.log(share / (1 - share)))
    return share * (1 - share) * SINGLE * (2 + margin + 1 / (1 - share)) + share * SINGLE


def class_counts(tree: StoredXGBoostTree, cover: Cover) -> list[int] | None:
    """Return the rows of the class per node, None unless exactly one learning rate and lambda make them whole."""
    leaves = tree.grown.leaves
    at = np.array(leaves)
    rows, value = cover.rows[at], np.array(tree.weight)[at]
    weight = np.array(tree.cover)[at]
    base, error = rows * cover.share, rows * (cover.off + SINGLE) + 1e-6
    try:
        with np.errstate(all="raise", under="ignore"):
            tried = _pairs_tried(base, value * weight, value, rows, error)
    except ArithmeticError:  # too many rows for float32
        return None
    found = [c for c in tried[:MAX_LEFT] if _fits_inside(tree, cover, leaves, c)]
    if len(found) != 1 or len(tried) > MAX_LEFT:
        return None
    return sums(tree.grown, dict(zip(leaves, found[0].tolist(), strict=True)))


def _pairs_tried(
    base: NDArray[np.float64],
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    rows: NDArray[np.int64],
    error: NDArray[np.float64],
) -> list[NDArray[np.int64]]:
    """Return all whole counts base + a * first + b * second in 0..rows with a > 0, b >= 0.

    The counts of the two smallest leaves of different sizes give a and b; the others must then come out whole.
    """
    order = np.argsort(rows, kind="stable")
    order = order[np.abs(second[order]) > 1e-9]
    if not len(order):
        return []
    i = int(order[0])
    others = [int(j) for j in order[1:] if rows[j] != rows[i]]
    if not others or (rows[i] + 1) * (rows[others[0]] + 1) * len(rows) > MAX_TRIES:
        return []
    j = others[0]
    det = first[i] * second[j] - first[j] * second[i]
    by_i = (first * second[j] - second * first[j]) / det  # what one more row in leaf i does to every leaf
    by_j = (second * first[i] - first * second[i]) / det
    wrong = error + np.abs(by_i) * error[i] + np.abs(by_j) * error[j]
    ki, kj = (x.ravel() for x in np.meshgrid(np.arange(rows[i] + 1), np.arange(rows[j] + 1), indexing="ij"))
    di, dj = ki - base[i], kj - base[j]
    a, b = (di * second[j] - dj * second[i]) / det, (dj * first[i] - di * first[j]) / det
    slack = SINGLE * 100 * (1 + np.abs(a) * float(rows.max()))
    kept = (a > 0) & (b >= -slack)
    size = np.abs(di[kept, None] * by_i) + np.abs(dj[kept, None] * by_j)
    counts = base + di[kept, None] * by_i + dj[kept, None] * by_j
    worst = wrong + size.max(axis=0, initial=0.0) * 8 * SINGLE
    return different(counts, rows, worst)


def _fits_inside(tree: StoredXGBoostTree, cover: Cover, leaves: list[int], counts: NDArray[np.int64]) -> bool:
    """Return whether one lambda explains the weights of all inner nodes (they are not times the learning rate)."""
    every = np.array(sums(tree.grown, dict(zip(leaves, counts.tolist(), strict=True))))
    inner = np.array([i for i, split in enumerate(tree.grown.splits) if split is not None])
    weight, hessian = np.array(tree.weight)[inner], np.array(tree.cover)[inner]
    if bool(np.isnan(weight).any()):
        return True
    # G = w (H + lambda): each node allows an interval of lambda
    moved = every[inner] - cover.rows[inner] * cover.share
    error = cover.rows[inner] * (cover.off + SINGLE) + (np.abs(weight) * hessian + np.abs(moved)) * 4 * SINGLE + 1e-6
    steep = np.abs(weight) > 1e-6 + error / np.maximum(hessian, 1e-9)
    if bool((np.abs(moved - weight * hessian)[~steep] > error[~steep] + 1e-3 * cover.rows[inner][~steep]).any()):
        return False
    middle, wide = moved[steep] / weight[steep] - hessian[steep], error[steep] / np.abs(weight[steep])
    low, high = (middle - wide).max(initial=0.0), (middle + wide).min(initial=np.inf)
    return bool(low <= high)
