"""The two forms of LightGBM model files taken apart: the text of `save_model`, the JSON of `dump_model`.

Format: LightGBM, src/io/tree.cpp and src/boosting/gbdt_model_text.cpp, versions 3 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from encoders.domain.values import Value, is_number
from recon.readers.formats.boosters.shared import MAX_NODES, refuse
from recon.readers.formats.release.reading import strict_json
from solvers.foundation.errors import ReleaseError, Unsupported

NONE, IS_ZERO, IS_NAN = 0, 1, 2  # what counts as missing at a split


@dataclass
class StoredLightGBMTree:
    """One tree as its file holds it; inner nodes 0.., leaves as -1 - leaf; `start`: the root's value."""

    place: str
    feature: list[int] = field(default_factory=list)
    threshold: list[float | tuple[int, ...]] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)  # bits: 1 categorical, 2 missing goes left, 4 and 8 what is missing
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    inner: list[int] = field(default_factory=list)  # rows of inner nodes, -1: not said; []: of none
    start: float = 0.0
    rate: float = 1.0


@dataclass
class LightGBMFile:
    """A model file, whichever form it had, or some of its trees, from number `first` on.

    `params` None: the form has no parameters. `continued`: they, and ranges of features, are those of later trees.
    """

    form: str
    names: list[str]
    objective: str
    per_round: int
    average: bool
    monotone: bool
    infos: dict[str, tuple[float, float] | tuple[int, ...]]
    params: dict[str, str] | None
    categories: list[list[Value]]
    trees: list[StoredLightGBMTree]
    first: int = 0
    continued: bool = False


def looks_like_lightgbm_text(head: str) -> bool:
    """Return whether a text begins like a LightGBM model file."""
    return head.startswith("tree\n") and "num_class=" in head


def looks_like_lightgbm_json(found: Any) -> bool:
    """Return whether a parsed JSON value is what `Booster.dump_model()` gives."""
    return isinstance(found, dict) and "tree_info" in found and "feature_names" in found


# ------------------------------------------------------------------ the text form


def text_booster(text: str) -> LightGBMFile:
    """Return the parts of a model file."""
    if not looks_like_lightgbm_text(text[:4096]):
        raise ReleaseError("is not a LightGBM model file: it must start with 'tree' and name 'num_class'")
    head, *blocks = text.split("\nTree=")
    if not blocks:
        raise Unsupported("the LightGBM model has no trees")
    top = _pairs(head)
    blocks[-1], _, tail = blocks[-1].partition("end of trees")
    names = top.get("feature_names", "").split()
    infos = top.get("feature_infos", "").split()
    monotone = any(x not in ("0", "") for x in top.get("monotone_constraints", "").split())
    params = {}
    for line in tail.partition("parameters:")[2].partition("end of parameters")[0].splitlines():
        key, colon, value = line.strip().strip("[]").partition(":")
        if colon:
            params[key] = value.strip()
    rows = [line for line in tail.splitlines() if line.startswith("pandas_categorical:")]
    categories = strict_json(rows[-1].partition(":")[2]) if rows and rows[-1] != "pandas_categorical:null" else []
    return LightGBMFile(
        "LightGBM, model file",
        names,
        top.get("objective", ""),
        _per_round(top),
        "average_output" in top,
        monotone,
        {n: info for n, text_ in zip(names, infos, strict=False) if (info := _text_info(text_)) is not None},
        params if params else None,
        _value_lists(categories),
        [_text_tree(block, t) for t, block in enumerate(blocks)],
    )


def _pairs(block: str) -> dict[str, str]:
    """Return the key=value lines of a block (a line without "=" is a key)."""
    return {key: value for key, _, value in (line.partition("=") for line in block.splitlines()) if key}


def _text_info(text: str) -> tuple[float, float] | tuple[int, ...] | None:
    """Return the range "[a:b]" or the categories "a:b:c" of a feature, None for what says nothing."""
    try:
        if text.startswith("["):
            low, high = text.strip("[]").split(":")
            ends = float(low), float(high)
            return ends if -1e300 < ends[0] <= ends[1] < 1e300 else None
        return tuple(int(x) for x in text.split(":"))
    except ValueError:  # "none"
        return None


def _text_tree(block: str, t: int) -> StoredLightGBMTree:
    """Return the arrays of one tree."""
    found, place = _pairs(block), f"Tree={t}"

    def numbers(key: str, size: int) -> list[float]:
        parts = found.get(key, "").split()
        if len(parts) != size:
            raise refuse(f"there are {len(parts)} numbers, not {size}", f"{place}.{key}")
        try:
            read = list(map(float, parts))
            if all(map(math.isfinite, read)):
                return read
        except ValueError:
            pass
        return [_real(x, f"{place}.{key}") for x in parts]  # which names the one that is none

    def integers(key: str, size: int) -> list[int]:
        read = numbers(key, size)
        if all(map(float.is_integer, read)) and max(map(abs, read), default=0) < 1 << 53:
            return list(map(int, read))
        return [_integer(x, f"{place}.{key}") for x in read]

    leaves = _integer(found.get("num_leaves", ""), f"{place}.num_leaves")
    if not 1 <= leaves <= MAX_NODES:
        raise refuse(f"{leaves} leaves", f"{place}.num_leaves")
    out = StoredLightGBMTree(place, rate=_real(found.get("shrinkage", "1"), f"{place}.shrinkage"))
    if leaves == 1:
        out.start = _real(found.get("leaf_value", "0"), f"{place}.leaf_value")
        return out
    if not found.get("leaf_count"):
        raise Unsupported(f"{place}: 'leaf_count' is missing: save the model again with save_model()")
    inner = leaves - 1
    out.feature, out.kind = integers("split_feature", inner), integers("decision_type", inner)
    out.left, out.right = integers("left_child", inner), integers("right_child", inner)
    out.value = numbers("leaf_value", leaves)
    # Before 2.3 there are no weights; leaves of linear trees have no one value: then only counts are used.
    plain = found.get("leaf_weight") and not _integer(found.get("is_linear", "0"), f"{place}.is_linear")
    out.weight = numbers("leaf_weight", leaves) if plain else [0.0] * leaves
    out.count = integers("leaf_count", leaves)
    out.inner = integers("internal_count", inner) if found.get("internal_count") else []
    out.start = numbers("internal_value", inner)[0]
    found["threshold"] = found.get("threshold", "").replace("inf", "1e308")  # only missing values go right
    out.threshold = list(numbers("threshold", inner))
    if any(kind & 1 for kind in out.kind):
        sets = _integer(found.get("num_cat", "0"), f"{place}.num_cat")
        ends = integers("cat_boundaries", sets + 1) if 0 < sets <= inner else [0]
        words = integers("cat_threshold", ends[-1]) if 0 <= ends[-1] <= MAX_NODES else []
        for i, kind in enumerate(out.kind):
            if kind & 1:
                out.threshold[i] = _bit_set(cast(float, out.threshold[i]), ends, words, f"{place}.threshold")
    return out


def _bit_set(index: float, ends: list[int], words: list[int], place: str) -> tuple[int, ...]:
    """Return the categories in one of a tree's bit sets."""
    k = int(index)
    if not 0 <= k < len(ends) - 1 or not 0 <= ends[k] <= ends[k + 1] <= len(words):
        raise refuse(f"the bit set {index:g} is not in the tree", place)
    own = words[ends[k] : ends[k + 1]]
    return tuple(32 * w + bit for w, word in enumerate(own) for bit in range(32) if word >> bit & 1)


def _real(text: Any, place: str) -> float:
    """Return a finite number; `ReleaseError` naming the place."""
    try:
        found = float(text) if isinstance(text, (str, int, float)) and not isinstance(text, bool) else math.nan
    except (ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise refuse(f"{str(text)[:40]!r} is not a finite number", place)
    return found


def _integer(text: Any, place: str) -> int:
    """Return a whole number; `ReleaseError` naming the place."""
    found = _real(text, place)
    if found != int(found) or abs(found) >= 1 << 53:
        raise refuse(f"{str(text)[:40]!r} is not a whole number", place)
    return int(found)


def _per_round(found: Mapping[str, Any]) -> int:
    """Return how many trees are grown per round; `ReleaseError` where that is none."""
    many = _integer(found.get("num_tree_per_iteration", 1), "num_tree_per_iteration")
    if many < 1:
        raise refuse(f"{many} trees per round", "num_tree_per_iteration")
    return many


def _value_lists(found: Any) -> list[list[Value]]:
    """Return pandas' categories per categorical column."""
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(c, list) for c in found):
        raise refuse("lists of categories are expected", "pandas_categorical")
    if not all(isinstance(v, str) or is_number(v) for c in found for v in c):
        raise refuse("a category is neither text nor a number", "pandas_categorical")
    return found


# ------------------------------------------------------------------ the JSON form


def json_booster(found: Any) -> LightGBMFile:
    """Return the parts of a dumped model."""
    if not looks_like_lightgbm_json(found):
        raise ReleaseError("is not JSON of LightGBM's dump_model(): 'tree_info' or 'feature_names' is missing")
    names, info, trees = found["feature_names"], found.get("feature_infos", {}), found["tree_info"]
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise refuse("a list of names is expected", "feature_names")
    if not isinstance(trees, list) or not trees or not all(isinstance(t, dict) for t in trees):
        raise refuse("a list of trees is expected", "tree_info")
    return LightGBMFile(
        "LightGBM, dump_model() JSON",
        names,
        str(found.get("objective", "")),
        _per_round(found),
        found.get("average_output") is True,
        found.get("monotone_constraints") not in (None, [], [0] * len(names)),
        dict(_json_infos(info if isinstance(info, dict) else {})),
        None,
        _value_lists(found.get("pandas_categorical")),
        [_json_tree(tree, f"tree_info[{t}]") for t, tree in enumerate(trees)],
    )


def _json_infos(found: Mapping[str, Any]) -> Iterator[tuple[str, tuple[float, float] | tuple[int, ...]]]:
    """Yield the range or the categories of every feature that has one."""
    for name, one in found.items():
        if not isinstance(one, dict):
            continue
        listed, low, high = one.get("values"), one.get("min_value"), one.get("max_value")
        if isinstance(listed, list) and listed and all(type(v) is int for v in listed):
            yield name, tuple(listed)
        elif not listed and is_number(low) and is_number(high) and -1e300 < low <= high < 1e300:
            yield name, (float(low), float(high))


def _json_tree(found: dict[str, Any], place: str) -> StoredLightGBMTree:
    """Return the arrays of one nested tree, its nodes numbered depth first."""
    out = StoredLightGBMTree(place, rate=_real(found.get("shrinkage", 1), f"{place}.shrinkage"))
    root = found.get("tree_structure")
    if isinstance(root, dict) and "split_feature" in root:
        out.start = _real(root.get("internal_value", 0), f"{place}.tree_structure.internal_value")
    else:
        held = root.get("leaf_value", 0) if isinstance(root, dict) else 0
        out.start = _real(held, f"{place}.tree_structure.leaf_value")
        return out
    todo: list[tuple[Any, str, list[int], int]] = [(root, f"{place}.tree_structure", [], 0)]
    while todo:
        node, here, links, at = todo.pop()
        if not isinstance(node, dict):
            raise refuse("a node is missing", here)
        if "split_feature" not in node:
            links[at] = -1 - len(out.value)
            out.value.append(_real(node.get("leaf_value"), f"{here}.leaf_value"))
            plain = "leaf_const" not in node  # leaves of linear trees have no one value
            out.weight.append(_real(node.get("leaf_weight"), f"{here}.leaf_weight") if plain else 0.0)
            out.count.append(_integer(node.get("leaf_count"), f"{here}.leaf_count"))
            continue
        i = len(out.feature)
        if links:
            links[at] = i
        out.feature.append(_integer(node["split_feature"], f"{here}.split_feature"))
        out.threshold.append(_json_threshold(node, here))
        words = {"None": NONE, "Zero": IS_ZERO, "NaN": IS_NAN}
        missing = words.get(str(node.get("missing_type")))
        if missing is None:
            raise refuse(f"{str(node.get('missing_type'))[:40]!r} is not None, Zero or NaN", f"{here}.missing_type")
        out.inner.append(_integer(node.get("internal_count", -1), f"{here}.internal_count"))
        listed = isinstance(out.threshold[-1], tuple)
        out.kind.append(int(listed) | 2 * bool(node.get("default_left")) | 4 * missing)
        out.left.append(0)
        out.right.append(0)
        short = here if len(here) < 200 else "..." + here[-100:]
        todo.append((node.get("right_child"), f"{short}.right_child", out.right, i))
        todo.append((node.get("left_child"), f"{short}.left_child", out.left, i))
    return out


def _json_threshold(node: Mapping[str, Any], here: str) -> float | tuple[int, ...]:
    """Return a node's threshold, or the categories that go left."""
    how, threshold = node.get("decision_type"), node.get("threshold")
    if how == "<=":
        return _real(threshold, f"{here}.threshold")
    if how != "==":
        raise refuse(f"{str(how)[:40]!r} is neither '<=' nor '=='", f"{here}.decision_type")
    return tuple(_integer(x, f"{here}.threshold") for x in str(threshold).split("||"))
