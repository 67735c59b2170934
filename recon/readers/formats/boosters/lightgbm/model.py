"""LightGBM models as published trees: text model files (pickles hold the same text) and `dump_model` JSON.

Every leaf names the number of its rows, exactly unless rows were sampled (bagging, GOSS); the first round also gives
the rows per class (`recon.readers.formats.boosters.lightgbm.rates`). Source: Ke et al., "LightGBM", NeurIPS 2017; the
decisions of src/io/tree.h (missing values, zero as missing, categories).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.domain.values import AnyAttribute, Categorical, Continuous, Test, Value, exact
from encoders.models.models import (
    AnyModel,
    CountKind,
    Forest,
    Provenance,
    PublishedFigure,
    Table,
    UnusedPublication,
)
from encoders.models.nodes import Support
from recon.readers.formats.boosters.lightgbm.file import (
    IS_NAN,
    IS_ZERO,
    LightGBMFile,
    StoredLightGBMTree,
    json_booster,
    looks_like_lightgbm_json,
    looks_like_lightgbm_text,
    text_booster,
)
from recon.readers.formats.boosters.lightgbm.rates import (
    Grove,
    Objective,
    RateCandidates,
    Round,
    class_counts,
    digits,
    number,
    parameters,
)
from recon.readers.formats.boosters.shared import (
    REFUTED,
    VALUES,
    BoosterSplit,
    BoosterTree,
    label_name,
    opposite,
    refuse,
    split_of,
    sums,
)
from recon.readers.formats.drafts.binding import Feature
from recon.readers.formats.drafts.drafts import OTHERS, SAME, Draft
from solvers.foundation.errors import Unsupported
from solvers.statements.release import RowCount

__all__ = ["looks_like_lightgbm_json", "looks_like_lightgbm_text", "read_lightgbm", "read_lightgbm_text"]

ZERO = 1e-35  # what LightGBM takes for zero
TINY = 1e-34  # a threshold below it is the end of zero
MAX_RATES = 8  # different learning rates of later trees that the first round may have had
ENDLESS = 1e300  # how infinite thresholds are written
SAMPLED_FOR_BINS = 200_000  # ranges and categories are those of so many rows at most
NOT_CUT = (
    "leaf values were neither cut off nor smoothed nor scaled later (lambda_l1, max_delta_step, path_smooth, quantized "
    "gradients, dart): the JSON form does not say so, use save_model"
)
CONFLICTS = 10_000  # rows from which on bundles may hold conflicts (Dataset, FindGroups)
NOT_THE_LAST = (
    "no rows were sampled (bagging, GOSS) and none weighted, and leaf values were neither cut off nor smoothed nor "
    "scaled later (lambda_l1, max_delta_step, path_smooth, quantized gradients, dart): the file has the parameters of "
    "its last training alone"
)
MAX_TRAININGS = 100  # that one file shows
SAME_ROWS = f"{SAME} (no continued training)"
ANY_WEIGHT = "rows of weight 0 count as training rows"
NOT_STATED = "no rows were sampled (bagging, GOSS) and none weighted: the JSON form does not say so, use save_model"
BUNDLED = (
    "no two features that LightGBM bundled (enable_bundle) were both set: it puts such rows, up to 1 in 10,000, wrongly"
)
LOWER_BOUNDS = "rows were sampled for every tree: a leaf's count is a least number of training rows"


def read_lightgbm_text(text: str, classes: Sequence[Value] | None = None) -> Draft:
    """Return what a model file says; `classes` are the label's values in the order of the codes 0, 1, ...

    Raises `ReleaseError` naming the tree and key, `Unsupported` for what says nothing about rows. Linear in nodes.
    """
    return _to_draft(text_booster(text.replace("\r\n", "\n")), classes)


def read_lightgbm(found: Any, classes: Sequence[Value] | None = None) -> Draft:
    """Return what the JSON of `dump_model()` says; see `read_lightgbm_text`."""
    return _to_draft(json_booster(found), classes)


def _to_draft(booster: LightGBMFile, classes: Sequence[Value] | None) -> Draft:
    """Return the statements of a booster in its own terms: of the first training, where the file shows several."""
    starts = _trainings(booster)
    if len(starts) == 1:
        return _draft_of(booster, classes)
    ends, others = [*starts[1:], len(booster.trees)], list[Draft | str]()
    for first, end in zip(starts[1:], ends[1:], strict=True):
        try:
            part = replace(_some_trees(booster, first, end), objective="")  # its leaf values go on from other rows
            others.append(_draft_of(part, None).of_others(f"{OTHERS}: {REFUTED}"))
        except Unsupported as error:
            others.append(str(error))
    return _draft_of(_some_trees(booster, 0, ends[0]), classes).before_others(ends[0], others, REFUTED)


def _trainings(booster: LightGBMFile) -> list[int]:
    """Return the first tree of every training that the file shows: 0, and where other rows begin.

    Leaf values that no training on the rows before gives say so, and another number of rows where none were sampled.
    Of JSON those of nearly all trees must agree with some other tree's: else rows were drawn.
    """
    from recon.readers.formats.boosters.lightgbm.sums import other_rows

    params = booster.params
    if booster.average or (params is not None and _bagged(params)) or number(params or {}, "linear_tree", 0.0):
        return [0]
    last = math.inf if params is None else _sparse_rounds(params)
    starts, size = [0], booster.per_round
    while starts[-1] < len(booster.trees) and len(starts) <= MAX_TRAININGS:
        part = _some_trees(booster, starts[-1], len(booster.trees))
        found = [starts[-1] + other_rows(part, last)]
        if params is not None and last == math.inf:
            rows = [sum(tree.count) for tree in part.trees if tree.feature]
            found += [t for t, tree in enumerate(booster.trees) if t >= starts[-1] and tree.feature
                      and sum(tree.count) != rows[0]]  # fmt: skip
        starts.append(min(found) // size * size)
        if starts[-1] <= starts[-2]:
            return starts[:-1]
    starts = [t for t in starts if t < len(booster.trees)]
    drawn = params is None and 2 * len(starts) > 1 + len(booster.trees)  # what JSON does not say
    return [0] if drawn else starts


def _some_trees(booster: LightGBMFile, first: int, end: int) -> LightGBMFile:
    """Return the trees of one training; parameters and ranges of features are those of the last one."""
    trees, first = booster.trees[first:end], booster.first + first
    if end == len(booster.trees):
        return replace(booster, trees=trees, first=first)
    listed = {name: info for name, info in booster.infos.items() if isinstance(info[0], int)}
    return replace(booster, trees=trees, first=first, params=None, infos=listed, continued=True)


def _draft_of(booster: LightGBMFile, classes: Sequence[Value] | None) -> Draft:
    """Return the statements of the trees of one training in the file's own terms."""
    columns = LightGBMFeatures.of(booster)
    grown = [(t, tree, _grow(tree, columns)) for t, tree in enumerate(booster.trees) if tree.feature]
    if not grown:
        raise Unsupported("no tree of the LightGBM model has a split: it says nothing about its rows")
    found = LightGBMReading(booster, grown, _labels(booster, classes))
    models, kinds, remarks = found.statements()
    full = found.exact_rows
    notes = [ANY_WEIGHT, *([SAME_ROWS] if len(booster.trees) > 1 else [])]
    if booster.params is None:
        used = any(model.scores for model in models)
        notes += [NOT_THE_LAST] if booster.continued else [NOT_STATED, NOT_CUT] if used else [NOT_STATED]
    notes += [LOWER_BOUNDS] if full is None else []
    bundles = number(booster.params or {}, "enable_bundle", 1.0) != 0 and len(columns.names) > 1
    notes += [BUNDLED] if bundles and full is not None and full >= CONFLICTS else []
    return Draft(
        Provenance(booster.form, kinds, tuple(notes), unused=tuple(found.unused)),
        tuple(Feature(name, name) for name in columns.names),
        models,
        found.classes if "exact" in kinds else None,
        found.label,
        rows=RowCount(max(sum(tree.count) for _, tree, _ in grown), None) if full is None else RowCount(full, full),
        hints={} if booster.continued else _hints(columns, full),
        named=not all(re.fullmatch(r"Column_\d+", name) for name in columns.names),
        reader_notes=tuple(remarks),
        gaps=_seen_missing(booster),
    )


def _seen_missing(booster: LightGBMFile) -> frozenset[str]:
    """Return the numeric features of which some training value was missing: only theirs have missing type NaN.

    Of categorical features rare values have it, too (src/io/bin.cpp, FindBin).
    """
    splits = (pair for tree in booster.trees for pair in zip(tree.feature, tree.kind, strict=True))
    return frozenset(booster.names[feature] for feature, kind in splits if not kind & 1 and kind >> 2 & 3 == IS_NAN)


def _labels(booster: LightGBMFile, classes: Sequence[Value] | None) -> tuple[Value, ...]:
    """Return the label's values in the order of its codes, () where the model is not a classifier of two classes on."""
    kind = booster.objective.partition(" ")[0]
    size = {"binary": 2, "multiclass": booster.per_round, "multiclassova": booster.per_round}.get(kind, 0)
    if size < 2:
        return ()
    if classes is not None and len(classes) != size:
        raise refuse(f"{len(classes)} classes are given for a model of {size}", "classes")
    return tuple(range(size)) if classes is None else tuple(classes)


# ------------------------------------------------------------------ features and splits


@dataclass(frozen=True)
class LightGBMFeatures:
    """The features: names, observed ranges or categories, what categories' codes stand for, which have missing."""

    names: tuple[str, ...]
    infos: dict[str, tuple[float, float] | tuple[int, ...]]
    coded: dict[str, list[Value]]
    gaps: frozenset[str]

    @classmethod
    def of(cls, booster: LightGBMFile) -> LightGBMFeatures:
        """Return the features of a booster. Raises where categories cannot be distinguished."""
        if len(set(booster.names)) != len(booster.names):
            raise refuse("a name stands twice", "feature_names")
        listed = [n for n in booster.names if n in booster.infos and isinstance(booster.infos[n][0], int)]
        coded: dict[str, list[Value]] = {}
        if booster.categories:
            if len(listed) != len(booster.categories):
                message = (
                    f"the LightGBM model names the categories of {len(booster.categories)} columns but has "
                    f"{len(listed)} categorical features: which is which cannot be told"
                )
                raise Unsupported(message)
            coded = dict(zip(listed, booster.categories, strict=True))
        gaps = set()
        infos = dict(booster.infos)
        for tree in booster.trees:
            for feature, kind, cut in zip(tree.feature, tree.kind, tree.threshold, strict=True):
                if not 0 <= feature < len(booster.names):
                    raise refuse(f"feature {feature} is none of {len(booster.names)}", f"{tree.place}.split_feature")
                if kind >> 2 & 3 == IS_NAN:
                    gaps.add(booster.names[feature])
                name = booster.names[feature]
                if isinstance(cut, tuple) and name not in coded:  # feature_infos may leave rare categories out
                    known = {int(v) for v in infos.get(name, ()) if isinstance(v, int)}
                    infos[name] = tuple(sorted(known | set(cut)))
        return cls(tuple(booster.names), infos, coded, frozenset(gaps))

    def lowest(self, name: str) -> float:
        """Return the least value of a feature in training, minus infinity where the file does not say it."""
        info = self.infos.get(name)
        return -math.inf if info is None or isinstance(info[0], int) else info[0]


def _grow(tree: StoredLightGBMTree, columns: LightGBMFeatures) -> BoosterTree:
    """Return the tree with its conditions, nodes depth first; leaf j of the file is found by `order`."""
    out = BoosterTree()
    file: list[int] = []
    todo: list[tuple[int, int, int]] = [(0, -1, 0)]
    inner, leaves = len(tree.feature), len(tree.value)
    reached: set[int] = set()
    while todo:
        node, parent, side = todo.pop()
        if node in reached or not -leaves <= node < inner:
            raise refuse(f"the link to node {node} makes no tree", tree.place)
        reached.add(node)
        here = len(out.splits)
        file.append(node)
        if parent >= 0:
            out.link(parent, side, here)
        if node < 0:
            out.splits.append(None)
            out.children.append((-1 - node, -1))  # leaves remember their number in the file
            continue
        split, swapped = _to_split(tree, node, columns)
        out.splits.append(split)
        out.children.append((-1, -1))
        sides = (tree.right[node], tree.left[node]) if swapped else (tree.left[node], tree.right[node])
        todo.append((sides[1], here, 1))
        todo.append((sides[0], here, 0))
    if len(out.splits) != leaves + inner:
        raise refuse("some node is reached by no path", tree.place)
    _check_counts(tree, out, file)
    return out


def _check_counts(tree: StoredLightGBMTree, grown: BoosterTree, file: Sequence[int]) -> None:
    """Refuse a tree whose inner nodes count other rows than the leaves below them; `file`: the nodes' numbers in it."""
    if not tree.inner:
        return
    held = sums(grown, {i: tree.count[grown.children[i][0]] for i in grown.leaves})
    for node, split, rows in zip(file, grown.splits, held, strict=True):
        if split is not None and tree.inner[node] not in (-1, rows):
            message = (
                f"internal_count[{node}] is {tree.inner[node]:,}, but the leaves below it have {rows:,} rows "
                "(leaf_count): both cannot be true; save the model as it was fitted"
            )
            raise refuse(message, tree.place)


def _to_split(tree: StoredLightGBMTree, node: int, columns: LightGBMFeatures) -> tuple[BoosterSplit, bool]:
    """Return the split of a node, and whether its `then` side is the file's right child."""
    name, kind, threshold = columns.names[tree.feature[node]], tree.kind[node], tree.threshold[node]
    missing, default_left = kind >> 2 & 3, bool(kind & 2)
    if isinstance(threshold, tuple):
        return BoosterSplit(name, Test(values=_category_values(name, threshold, columns, tree.place)), None), False
    if missing == IS_ZERO:
        return _zero_split(name, threshold, default_left, columns)
    gaps = missing == IS_NAN
    if gaps and 0 < threshold < TINY and default_left and columns.lowest(name) > 0:  # "missing", or any value
        return BoosterSplit(name, Test(missing=True), Test()), False
    if gaps and threshold >= ENDLESS and not default_left:  # everything that is not missing goes left
        return BoosterSplit(name, Test(), Test(missing=True)), False
    if abs(threshold) >= ENDLESS:
        raise refuse(f"the threshold {threshold:g} of '{name}' sends every row to one side", tree.place)
    # Where no value was missing in training, the library takes missing ones for zeros.
    return split_of(name, Test(high=threshold, missing=default_left if gaps else threshold >= 0), True), False


def _category_values(name: str, codes: tuple[int, ...], columns: LightGBMFeatures, place: str) -> tuple[Value, ...]:
    """Return the categories that go left, as pandas wrote them or as codes."""
    values = columns.coded.get(name)
    if not codes or (values is not None and max(codes) >= len(values)):
        raise refuse(f"the categories {list(codes[:6])} of '{name}' are not all known", place)
    return codes if values is None else tuple(values[c] for c in codes)


def _zero_split(
    name: str, threshold: float, default_left: bool, columns: LightGBMFeatures
) -> tuple[BoosterSplit, bool]:
    """Return the split of a feature whose zeros count as missing (zero_as_missing): they go the default way."""
    if (threshold >= 0) == default_left:
        test = Test(high=threshold, missing=default_left)  # missing values count as zeros
        return BoosterSplit(name, test, opposite(test, True)), False
    low, high = columns.infos.get(name, (-math.inf, math.inf))
    if not default_left and low >= 0:  # left: above zero and at most the threshold
        return BoosterSplit(name, Test(low=ZERO, low_open=True, high=threshold), None), False
    if default_left and high <= 0:
        return BoosterSplit(name, Test(low=threshold, low_open=True, high=-ZERO, high_open=True), None), True
    raise Unsupported(f"the model takes zeros of '{name}' for missing (zero_as_missing): they lie inside its range")


def _hints(columns: LightGBMFeatures, rows: int | None) -> dict[str, AnyAttribute]:
    """Return the categories, and the ranges where every row was looked at for them."""
    out: dict[str, AnyAttribute] = {}
    for name, info in columns.infos.items():
        gaps = name in columns.gaps
        if name in columns.coded:
            if columns.coded[name]:
                out[name] = _categorical(name, columns.coded[name], gaps)
        elif isinstance(info[0], int) and isinstance(info[-1], int):
            codes = sorted({int(v) for v in info if v >= 0})
            if codes:  # LightGBM leaves rare categories out (min_data_in_bin): one value stands for them
                out[name] = Categorical(name, (*codes, codes[-1] + 1), missing=gaps)
        elif rows is not None and rows <= SAMPLED_FOR_BINS and info[0] < info[-1]:
            out[name] = Continuous(name, exact(float(info[0])), exact(float(info[-1])), missing=gaps)
    return out


def _categorical(name: str, values: Sequence[Value], gaps: bool) -> Categorical:
    """Return the attribute of some categories, numbers ascending."""
    in_order = values if any(isinstance(v, str) for v in values) else sorted(values)
    return Categorical(name, tuple(in_order), missing=gaps)


# ------------------------------------------------------------------ statements


@dataclass
class LightGBMReading:
    """The statements of a model's trees: (number in the file, stored, grown), and the label's values."""

    booster: LightGBMFile
    trees: list[tuple[int, StoredLightGBMTree, BoosterTree]]
    classes: tuple[Value, ...]

    def __post_init__(self) -> None:
        for _, tree, _ in self.trees:
            if min(tree.count) < 0:
                raise refuse(f"the count {min(tree.count)} is negative", f"{tree.place}.leaf_count")
        grown = [tree for _, tree, _ in self.trees]
        self.rounded = (digits([tree.value for tree in grown]), digits([tree.weight for tree in grown]))
        self.proved = {
            t: counts
            for t, tree, grown in self.trees
            if t < self.booster.per_round and (counts := self.first_round(t, tree, grown)) is not None
        }
        self.exact_rows = self.rows()
        self.label = label_name(self.booster.names)
        self.unused: list[UnusedPublication] = []

    def rows(self) -> int | None:
        """Return the number of training rows, None where every tree saw a sample of them."""
        first = self.trees[0][1]
        params = self.booster.params
        if self.booster.average or (params is not None and _bagged(params)):
            return None
        if params is None and not (self.proved and self.undrawn()):
            return None
        if params is not None and _sparse_rounds(params) <= self.trees[0][0] // self.booster.per_round:
            return None
        return sum(first.count)

    def undrawn(self) -> bool:
        """Return whether a file without parameters shows that no rows were drawn for the first trees.

        They have a starting score (the shrinkage of the first round's trees is then 1), that of the very classes that
        they count, and all trees have as many rows. From 0 on, drawn rows leave no trace while they are the same
        (bagging_freq).
        """
        same = len({sum(tree.count) for _, tree, _ in self.trees}) == 1
        return same and all(tree.rate == 1 for i, tree, _ in self.trees if i < self.booster.per_round)

    def first_round(self, t: int, tree: StoredLightGBMTree, grown: BoosterTree) -> tuple[int, ...] | None:
        """Return the rows of the tree's class (binary: the second) per leaf of the file, where they are proved."""
        kind, _, rest = self.booster.objective.partition(" ")
        words = dict(word.partition(":")[::2] for word in rest.split())
        sigmoid = number(words, "sigmoid", 1.0)
        if sigmoid <= 0 or not self.classes:
            return None
        if self.booster.monotone:
            return None
        classes = len(self.classes)
        objective = Objective(1.0, classes / (classes - 1), True) if kind == "multiclass" else Objective(sigmoid)
        later = dict.fromkeys(x.rate for i, x, _ in self.trees if i >= self.booster.per_round)
        rates = tuple(later) if len(later) <= MAX_RATES else ()
        known = RateCandidates(rates) if self.booster.params is None else parameters(self.booster.params, rates)
        if known is None:
            return None
        if self.booster.params is None and not rates:  # nor lambda_l2: two unknown numbers explain any two leaves
            return None
        by_set = np.zeros(len(tree.value), dtype=np.bool_)
        for split, (left, right) in zip(grown.splits, grown.children, strict=True):
            if split is not None and split.test.values is not None:
                for child in (left, right):
                    if grown.splits[child] is None:
                        by_set[grown.children[child][0]] = True
        arrays = (np.array(tree.count, dtype=np.int64), np.array(tree.weight), np.array(tree.value), by_set)
        held = Round(*arrays, tree.start, tree.rate, self.rounded)
        found = class_counts(held, objective, known)
        if found is None and known.sure and known.ridges == (0.0,) and not by_set.any():
            found = class_counts(held, objective, RateCandidates(()))  # trained on, or at rates that changed: any rate
        return found

    def statements(self) -> tuple[tuple[AnyModel, ...], tuple[CountKind, ...], list[str]]:
        """Return the models, the kinds of their counts, and what to say about them."""
        if self.exact_rows is None:
            least = [
                f
                for t, tree, g in self.trees
                for f in g.at_least(by_node(g, tree.count), f"tree {t + self.booster.first}")
            ]
            why = "only least numbers of rows are stated: the trees saw samples, or the file does not say that not"
            self.unused.append(
                UnusedPublication(VALUES, "its trees saw samples of the rows, or the file does not say that not")
            )
            return (Table(tuple(least), "leaves"),), ("size",), [why]
        binary = len(self.classes) == 2 and self.booster.per_round == 1
        groves: list[Grove] = []
        figures: list[PublishedFigure] = []
        left_out = 0
        for t, tree, grown in self.trees:
            if sum(tree.count) != self.exact_rows:
                left_out += 1
                continue
            found = self.proved.get(t)
            sizes = sums(grown, {i: tree.count[grown.children[i][0]] for i in grown.leaves})
            supports = [Support(count=n) for n in sizes]
            if found is not None and binary:
                ones = sums(grown, {i: found[grown.children[i][0]] for i in grown.leaves})
                supports = [Support((n - k, k)) for n, k in zip(sizes, ones, strict=True)]
            elif found is not None:
                figures += grown.of_class(
                    by_node(grown, found), self.label, self.classes[t], f"tree {t + self.booster.first}"
                )
            groves.append(Grove(t, tree, grown, grown.tree(supports, f"tree {t + self.booster.first}")))
        notes = [f"{left_out} trees saw samples of the rows and are left out"] if left_out else []
        self.unused += [UnusedPublication(VALUES, notes[0])] if left_out else []
        kinds: tuple[CountKind, ...] = ("size",)
        if self.proved:
            kinds = ("exact", "size") if len(groves) > len(self.proved) or not binary else ("exact",)
        elif self.classes:
            notes.append("counts per class are not proved by the leaf values: only sizes are stated")
        else:
            notes.append("the model is not a classifier of one label: only sizes of leaves are stated")
        models = (groves[0].tree,) if len(groves) == 1 else (self.joined(groves, notes),)
        if len(groves) == 1 and not self.proved:
            self.unused.append(UnusedPublication(VALUES, notes[-1], labels=True))
        return (*models, Table(tuple(figures), "classes")) if figures else models, kinds, notes

    def joined(self, groves: Sequence[Grove], notes: list[str]) -> AnyModel:
        """Return the trees as a boosted model with its leaf values, or as a forest with a note that says why."""
        from recon.readers.formats.boosters.lightgbm.sums import boosting

        try:
            last = math.inf if self.booster.params is None else _sparse_rounds(self.booster.params)
            return boosting(self.booster, groves, self.proved, last)
        except Unsupported as found:
            notes.append(f"leaf values are not used: {found}")
            self.unused.append(UnusedPublication(VALUES, str(found)))
        return Forest(tuple(g.tree for g in groves))


def by_node(grown: BoosterTree, of_leaves: Sequence[int]) -> list[int]:
    """Return figures of the file's leaves by node (0 at inner nodes)."""
    return [
        of_leaves[link[0]] if split is None else 0 for split, link in zip(grown.splits, grown.children, strict=True)
    ]


def _bagged(params: dict[str, str]) -> bool:
    """Return whether every tree saw a sample of the rows."""
    shares = ("bagging_fraction", "pos_bagging_fraction", "neg_bagging_fraction")
    drawn = number(params, "bagging_freq", 0.0) > 0 and any(number(params, key, 1.0) < 1 for key in shares)
    return drawn or params.get("boosting") in ("rf", "random_forest")


def _sparse_rounds(params: dict[str, str]) -> float:
    """Return the round from which on rows are sampled by gradient (GOSS: after 1 / learning rate rounds)."""
    if "goss" not in (params.get("boosting"), params.get("data_sample_strategy")):
        return math.inf
    rate = number(params, "learning_rate", 0.1)
    return math.floor(1 / rate) if rate > 0 else 0
