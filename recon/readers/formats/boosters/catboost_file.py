"""The forms of CatBoost models taken apart: `.cbm` (what pickles hold too) and the JSON of save_model.

A .cbm file is "CBM1", the size of its core, the core (FlatBuffers: catboost/libs/model/flatbuffers/model.fbs) and,
for models with categories, tables of these. A symmetric tree is a list of splits: bit i of a leaf's number says
whether split i holds (value > border). Formats of CatBoost 1.2.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from recon.readers.formats.boosters.shared import MAX_NODES, refuse
from solvers.foundation.errors import ReleaseError, Unsupported

if TYPE_CHECKING:
    from recon.readers.stored.binary.flatbuffers import FlatbufferTable

MAGIC = b"CBM1"
DEEPEST = 16  # splits of a symmetric tree; the library allows no more
MEMORY = 1 << 30
_OFFSETS, _EACH_TEST = 24, 80  # bytes of a .cbm file that are not read: offsets of parts, and of tests on categories
VERSIONS = ("FlabuffersModel_v1",)  # sic
NAN = {"AsIs": False, "AsFalse": False, "AsTrue": True}


@dataclass(frozen=True)
class CatBoostColumn:
    """A column of numbers: its name, whether missing values pass "value > border", and whether there were any."""

    name: str
    missing_right: bool
    gaps: bool


@dataclass(frozen=True)
class Symmetric:
    """A tree of one split per level: (column, border), None where it is on categories; per leaf weight and value."""

    splits: tuple[tuple[int, float] | None, ...]
    weight: tuple[float, ...]
    value: tuple[float, ...]

    @property
    def of_leaves(self) -> tuple[float, ...]:
        """Return the weights of the leaves."""
        return self.weight


@dataclass(frozen=True)
class Branching:
    """Any other tree: per node its split (None: on categories) and children, both -1 at a leaf; weight of leaves.

    `value` of leaves is () where there are several of each.
    """

    splits: tuple[tuple[int, float] | None, ...]
    children: tuple[tuple[int, int], ...]
    weight: tuple[float, ...]
    value: tuple[float, ...] = ()

    @property
    def of_leaves(self) -> tuple[float, ...]:
        """Return the weights of the leaves."""
        return tuple(w for w, (left, _) in zip(self.weight, self.children, strict=True) if left < 0)


@dataclass(frozen=True)
class Training:
    """One of several trainings that a model is made of: its settings, and how many trees it kept at most."""

    params: dict[str, Any]
    trees: int
    summed: bool


def _trainings(stated: Mapping[str, Any], prefix: str = "", summed: bool = False) -> tuple[Training, ...]:
    """Return the trainings that a model names, in the order of their trees: of `init_model`, of `sum_models`."""
    begin = f"{prefix}model"
    named = (key[len(begin) :].partition(":") for key in stated if key.startswith(begin))
    numbers = sorted({int(text) for text, colon, _ in named if colon and re.fullmatch(r"[0-9]{1,9}", text)})
    if numbers:
        return tuple(one for k in numbers for one in _trainings(stated, f"{prefix}model{k}:", True))
    before = f"{prefix}initModel:"
    begun = _trainings(stated, before, summed) if any(key.startswith(before) for key in stated) else ()
    metrics = _parsed_object(stated.get(f"{prefix}training")).get("metrics")
    history = metrics.get("learn_metrics_history") if isinstance(metrics, dict) else None
    rounds = len(history) if isinstance(history, list) else 0
    return (*begun, Training(_parsed_object(stated.get(f"{prefix}params")), rounds, summed))


@dataclass(frozen=True)
class CatBoostFile:
    """A model file. `names`: all columns as they were given, `params` and `classes` what it says of its training.

    `bias`: the score every row starts at (None: several, or scaled). `tables`: bytes of tables of categories. `idle`:
    bytes of a .cbm file that no part of a model leads to. `trainings`: those that it names, one alone included.
    """

    form: str
    names: tuple[str, ...]
    named: bool
    columns: tuple[CatBoostColumn, ...]
    trees: tuple[Symmetric | Branching, ...]
    params: dict[str, Any]
    classes: dict[str, Any]
    bias: float | None
    tables: int = 0
    borders: int = 0
    more: tuple[str, ...] = field(default=())
    stated: dict[str, str] = field(default_factory=dict)  # texts about the training, of a .cbm file
    idle: int = 0
    trainings: tuple[Training, ...] = ()


def looks_like_cbm(head: bytes) -> bool:
    """Return whether bytes begin like a model of CatBoost."""
    return head[:4] == MAGIC


# ------------------------------------------------------------------ .cbm


def cbm_booster(data: bytes, memory: int = MEMORY) -> CatBoostFile:
    """Return the parts of a .cbm file; `memory`: bytes they may take.

    Raises `ReleaseError` naming the byte or tree where it is broken, `Unsupported` for another version of the format.
    """
    from recon.readers.stored.binary.flatbuffers import Buffer

    size = int.from_bytes(data[4:8], "little")
    if data[:4] != MAGIC or len(data) < 8 + size:
        raise ReleaseError("is not a CatBoost model: its core is cut short")
    root = Buffer(data[8 : 8 + size], memory).root()
    version, core = root.text(0), root.inner(1)
    if version not in VERSIONS or core is None:
        raise Unsupported(f"CatBoost's format {version[:40]!r} is not read: save the model as JSON (format='json')")
    columns, order = [], {}
    splits: list[tuple[int, float] | None] = []
    for k, one in enumerate(core.tables(5)):
        at = one.whole(2, -1)
        columns.append(CatBoostColumn(one.text(4), one.whole(5, 0, "<i1") == 2, bool(one.whole(0, 0, "<u1"))))
        order[at] = (one.text(4), k)
        splits += [(k, _finite(b, "a border")) for b in one.numbers(3, "<f4").tolist()]
    borders = len(splits)
    for kind in (4, 12, 18):  # categories, texts, embeddings
        for one in core.tables(kind):
            order.setdefault(one.whole(1, -1), (one.text(2), -1))
    stated = {t.text(0): t.text(1) for t in root.tables(2)}
    names, named, columns = _called(order, columns)
    trees = _cbm_trees(core, splits)
    return CatBoostFile(
        "CatBoost, .cbm", names, named, tuple(columns), tuple(trees),
        _parsed_object(stated.get("params")), _parsed_object(stated.get("class_params")), _cbm_bias(core),
        len(data) - 8 - size,
        borders,
        tuple(root.texts(3)), stated, _idle(core), _trainings(stated),
    )  # fmt: skip


def _idle(core: FlatbufferTable) -> int:
    """Return the bytes of a file that nothing in it leads to, beyond those that offsets and tests on categories take.

    Where trees begin follows from their sizes, and packed splits from the splits: no more of them are passed over.
    """
    begins, sizes = core.numbers(3, "<i4"), core.numbers(2, "<i4")
    follow = np.array_equal(begins, np.cumsum(sizes) - sizes)
    more = max(0, core.count(17) - core.count(1)) * 4 + (0 if follow else begins.nbytes)
    core.bytes(17, 4)
    return more + max(0, core.buffer.idle() - _OFFSETS - _EACH_TEST * (core.count(6) + core.count(7)))


def _cbm_bias(core: FlatbufferTable) -> float | None:
    """Return the score that every row starts at, None where there are several or where scores are scaled."""
    biases = core.numbers(16, "<f8").tolist()
    if core.real(14, 1.0) != 1.0 or len(biases) > 1:
        return None
    return _finite(biases[0] if biases else core.real(15, 0.0), "the bias")


def _cbm_trees(core: FlatbufferTable, known: Sequence[tuple[int, float] | None]) -> list[Symmetric | Branching]:
    """Return the trees of the core; splits beyond the `known` ones are on categories or texts."""
    dimension = core.whole(0, 1)
    chosen, sizes = core.numbers(1, "<i4").tolist(), core.numbers(2, "<i4").tolist()
    values, weights = core.numbers(8, "<f8"), core.numbers(9, "<f8")
    if not 0 < dimension <= 10_000 or any(n < 0 for n in sizes) or sum(sizes) != len(chosen):
        raise refuse("the sizes of the trees do not add up", "TreeSizes")
    if any(s < 0 for s in chosen):
        raise refuse("a split has a negative number", "TreeSplits")
    if not len(weights):
        raise Unsupported("the CatBoost model holds no leaf weights: it says nothing about numbers of rows")
    if len(values) != len(weights) * dimension:
        raise refuse(f"{len(values)} values of {len(weights)} leaves", "LeafValues")
    splits = [known[s] if s < len(known) else None for s in chosen]
    steps = core.place(10)
    if steps is not None:
        start = core.buffer.pointed(steps)
        count = core.buffer.number(start, "<u4")
        if count:
            diffs = core.buffer.array(start + 4, "<u2", 2 * count).reshape(-1, 2)
            leaves = core.numbers(11, "<u4")
            return _branching(splits, sizes, diffs, leaves, (weights, values), dimension)
    out: list[Symmetric | Branching] = []
    at = leaf = 0
    for t, size in enumerate(sizes):
        if size > DEEPEST:
            raise refuse(f"{size} levels", f"tree {t}")
        end = leaf + (1 << size)
        if end > len(weights):
            raise refuse(f"{end} leaves of {len(weights)}", f"tree {t}")
        one = values[leaf:end] if dimension == 1 else values[:0]
        out.append(Symmetric(tuple(splits[at : at + size]), _weighed(weights[leaf:end], t), tuple(one.tolist())))
        at, leaf = at + size, end
    if leaf != len(weights):
        raise refuse(f"{len(weights)} leaf weights for {leaf} leaves", "LeafWeights")
    return out


def _branching(
    splits: Sequence[tuple[int, float] | None], sizes: Sequence[int], diffs: Any, leaves: Any, figures: Any, wide: int
) -> list[Symmetric | Branching]:
    """Return trees whose nodes name how much further their children stand (0: here ends the way, at this leaf)."""
    if len(diffs) != len(splits) or len(leaves) != len(splits):
        raise refuse("not every node has its children", "NonSymmetricStepNodes")
    out: list[Symmetric | Branching] = []
    weights, values = figures
    start = 0
    for t, size in enumerate(sizes):
        grown: list[tuple[int, int]] = []
        tests: list[tuple[int, float] | None] = []
        weight: list[float] = []
        value: list[float] = []
        for i in range(size):
            left, right = (int(d) for d in diffs[start + i])
            tests.append(splits[start + i])
            grown.append((i + left if left else -1, i + right if right else -1))
            leaf = int(leaves[start + i])
            mine = weights[leaf // wide : leaf // wide + 1] if leaf != 0xFFFFFFFF else np.zeros(1)
            if len(mine) != 1 or i + max(left, right) >= size or (leaf == 0xFFFFFFFF and not (left and right)):
                raise refuse(f"the links of node {i} make no tree", f"tree {t}")
            weight += _weighed(mine, t)
            value.append(_finite(float(values[leaf]), f"tree {t}") if wide == 1 and leaf != 0xFFFFFFFF else 0.0)
        out.append(_with_leaves(tests, grown, weight, value if wide == 1 else [], t))
        start += size
    return out


def _with_leaves(
    tests: list[tuple[int, float] | None], grown: list[tuple[int, int]], weight: list[float], value: list[float], t: int
) -> Branching:
    """Return the tree with a leaf of its own on every side that ends at a node with one child."""
    for i in range(len(grown)):
        left, right = grown[i]
        if (left < 0) != (right < 0):
            grown[i] = (len(grown), right) if left < 0 else (left, len(grown))
            grown.append((-1, -1))
            tests.append(None)
            weight.append(weight[i])
            weight[i] = 0.0
            value += value[i : i + 1]
            value[i : i + 1] = [0.0] if value else []
    reached = [c for pair in grown for c in pair if c >= 0]
    if len(set(reached)) != len(reached) or len(reached) != len(grown) - 1 or len(grown) > MAX_NODES:
        raise refuse("some node is reached by no path or by two", f"tree {t}")
    return Branching(tuple(tests), tuple(grown), tuple(weight), tuple(value))


# ------------------------------------------------------------------ JSON


def json_booster(found: Any) -> CatBoostFile:
    """Return the parts of a model saved as JSON."""
    if not isinstance(found["features_info"], dict):
        raise ReleaseError("is not JSON of CatBoost's save_model(format='json')")
    features, columns = found["features_info"], []
    order: dict[int, tuple[str, int]] = {}
    borders = 0
    for k, one in enumerate(_objects(features, "float_features")):
        how = one.get("nan_value_treatment", "AsIs")
        if how not in NAN:
            raise refuse(f"missing values are treated {str(how)[:20]!r}", f"float_features[{k}]")
        name = str(one.get("feature_id", ""))
        columns.append(CatBoostColumn(name, NAN[how], one.get("has_nans") is True))
        order[_place_of(one)] = (name, k)
        borders += len(one["borders"]) if isinstance(one.get("borders"), list) else 0
    for kind in ("categorical_features", "text_features", "embedding_features"):
        for one in _objects(features, kind):
            order.setdefault(_place_of(one), (str(one.get("feature_id", "")), -1))
    names, named, columns = _called(order, columns)
    info = found.get("model_info")
    stated = info if isinstance(info, dict) else {}
    trees: list[Symmetric | Branching] = []
    for t, tree in enumerate(found.get("oblivious_trees") or ()):
        trees.append(_json_symmetric(tree, t, len(columns)))
    for t, tree in enumerate(found.get("trees") or ()):
        trees.append(_json_branching(tree, t, len(columns)))
    tables = found.get("ctr_data")
    return CatBoostFile(
        "CatBoost, save_model JSON", names, named, tuple(columns), tuple(trees), _parsed_object(stated.get("params")),
        _parsed_object(stated.get("class_params")), _json_bias(found.get("scale_and_bias")),
        len(json.dumps(tables)) if tables else 0, borders, trainings=_trainings(stated),
    )  # fmt: skip


def _json_bias(found: Any) -> float | None:
    """Return the score that every row starts at, from [scale, [bias]]; None where that is not one number."""
    if found is None:
        return 0.0
    if not isinstance(found, list) or len(found) != 2 or found[0] != 1:
        return None
    biases = found[1] if isinstance(found[1], list) else [found[1]]
    return _finite(biases[0], "scale_and_bias") if len(biases) == 1 else None


def _json_symmetric(tree: Any, t: int, columns: int) -> Symmetric:
    splits = tree.get("splits") if isinstance(tree, dict) else None
    if splits is None and isinstance(tree, dict):
        splits = []  # a tree of one leaf
    if not isinstance(splits, list) or len(splits) > DEEPEST:
        raise refuse("no list of splits", f"oblivious_trees[{t}]")
    weight, value = tree.get("leaf_weights"), tree.get("leaf_values")
    if weight is None:
        raise Unsupported("the CatBoost model holds no leaf weights: it says nothing about numbers of rows")
    if not isinstance(weight, list) or len(weight) != 1 << len(splits) or not isinstance(value, list):
        raise refuse(f"not {1 << len(splits)} leaves", f"oblivious_trees[{t}]")
    single = len(value) == len(weight)
    return Symmetric(
        tuple(_json_split(s, t, columns) for s in splits),
        _weighed(weight, t),
        tuple(_finite(v, f"tree {t}") for v in value) if single else (),
    )


def _json_branching(root: Any, t: int, columns: int) -> Branching:
    """Return one nested tree, its nodes numbered depth first."""
    tests: list[tuple[int, float] | None] = []
    grown: list[tuple[int, int]] = []
    weight: list[float] = []
    value: list[float] = []
    todo: list[tuple[Any, int, int]] = [(root, -1, 0)]
    while todo:
        node, parent, side = todo.pop()
        if not isinstance(node, dict):
            raise refuse("a node is not an object", f"trees[{t}]")
        here = len(grown)
        if parent >= 0:
            a, b = grown[parent]
            grown[parent] = (here, b) if side == 0 else (a, here)
        grown.append((-1, -1))
        if "split" not in node:
            tests.append(None)
            weight += _weighed([node.get("weight")], t)
            value += [_finite(node["value"], f"trees[{t}]")] if isinstance(node.get("value"), (int, float)) else []
            continue
        tests.append(_json_split(node["split"], t, columns))
        weight.append(0.0)
        value.append(0.0)
        todo += [(node.get("right"), here, 1), (node.get("left"), here, 0)]
    return Branching(tuple(tests), tuple(grown), tuple(weight), tuple(value) if len(value) == len(weight) else ())


def _json_split(found: Any, t: int, columns: int) -> tuple[int, float] | None:
    """Return the column and border of a split, None for one on categories or texts."""
    kind = found.get("split_type") if isinstance(found, dict) else None
    if not isinstance(kind, str):
        raise refuse("a split has no type", f"tree {t}")
    if kind != "FloatFeature":
        return None
    column = found.get("float_feature_index")
    if not isinstance(column, int) or not 0 <= column < columns:
        raise refuse(f"column {str(column)[:20]} is none of {columns}", f"tree {t}")
    return column, _finite(found.get("border"), f"tree {t}")


# ------------------------------------------------------------------ both


def _called(
    order: dict[int, tuple[str, int]], columns: list[CatBoostColumn]
) -> tuple[tuple[str, ...], bool, list[CatBoostColumn]]:
    """Return the names of all columns in the order of the data (numbered where the file has none), and the columns."""
    places = sorted(order)
    if len(places) < len(columns) or min(places, default=0) < 0:
        raise refuse("the columns are not numbered one by one", "features_info")
    # A model fitted without names calls its columns by their numbers, or not at all.
    named = not all(name in {"", str(at)} for at, (name, _) in order.items())
    names = [order[at][0] if named and order[at][0] else f"x{at}" for at in places]
    if len(set(names)) < len(names):
        raise refuse("a name stands twice", "features_info")
    out = list(columns)
    for name, at in zip(names, places, strict=True):
        k = order[at][1]
        if k >= 0:
            out[k] = CatBoostColumn(name, columns[k].missing_right, columns[k].gaps)
    return tuple(names), named, out


def _objects(found: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of objects, empty where there is none."""
    value = found.get(key) or []
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise refuse("no list of objects", f"features_info.{key}")
    return value


def _place_of(one: dict[str, Any]) -> int:
    """Return a column's number in the data."""
    at = one.get("flat_feature_index")
    if not isinstance(at, int):
        raise refuse("a column has no flat_feature_index", "features_info")
    return at


def _parsed_object(found: Any) -> dict[str, Any]:
    """Return what the model says of its training: an object, or the text of one; empty where it is neither."""
    if isinstance(found, str):
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}


def _finite(found: Any, place: str) -> float:
    """Return a finite number."""
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found):
        raise refuse(f"{str(found)[:40]!r} is not a finite number", place)
    return float(found)


def _weighed(found: Any, t: int) -> tuple[float, ...]:
    """Return the weights of leaves: finite and not negative."""
    out = tuple(_finite(w, f"tree {t}, leaf weight") for w in (found if isinstance(found, list) else found.tolist()))
    if any(w < 0 for w in out):
        raise refuse("a leaf weight is negative", f"tree {t}")
    return out
