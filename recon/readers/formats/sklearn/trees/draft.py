"""Drafts of scikit-learn trees: kept as arrays until the domain is known, because a forest has a million nodes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Test, Value, equals, is_number
from encoders.models.models import AnyModel, Forest, PublishedFigure, Table, Tree
from encoders.models.nodes import LEAF, UNPUBLISHED, CountTable, Learnt, Nodes
from recon.readers.formats.drafts.binding import IS_MISSING, Binder, comparison, single_limits
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.sklearn.trees.arrays import NodeCounts, TreeArrays


@dataclass(frozen=True, eq=False)
class CountedTree:
    """A tree's arrays, what its nodes count, and the features it numbers (indices into the draft's).

    `midpoints`: its thresholds lie halfway between two training values. `ruled`: where a node saw no missing value, it
    sends missing ones to the child with more rows (else to the right, where no node sends any to the left).
    """

    arrays: TreeArrays
    counts: NodeCounts
    columns: NDArray[np.int64] | None = None
    midpoints: bool = False
    ruled: bool = False

    @property
    def feature(self) -> NDArray[np.int64]:
        """Return the draft's feature that every node tests."""
        if self.columns is None:
            return self.arrays.feature
        return np.where(self.arrays.leaf, -1, self.columns[np.where(self.arrays.leaf, 0, self.arrays.feature)])


CategorySplit = tuple[tuple[Value, ...], tuple[Value, ...]]  # the categories that go left, and the others


@dataclass(frozen=True, eq=False)
class TreesDraft(Draft):
    """Trees that test float32(value) <= threshold; several are a forest.

    `resampled`: each tree counts a resample of the rows, `drawn` with (bootstrap) or without replacement;
    `multiplicities` (trees, rows): how often each row was drawn, where it is known. `misplaced`: the version that
    fitted the trees put rows into wrong leaves where training values were missing. `sets`: of features with
    categories, by their number: pairs of sets of values, left and right; their splits hold its number as threshold.
    `labels`: the class of every row by its position.
    """

    trees: tuple[CountedTree, ...] = ()
    forest: bool = False
    resampled: bool = False
    replaced: bool = True
    multiplicities: NDArray[np.int32] | None = None
    misplaced: bool = False
    sets: Mapping[int, Sequence[CategorySplit]] = field(default_factory=dict)
    labels: tuple[int, ...] | None = None

    def tests(self) -> Iterator[tuple[str, Test]]:
        """Yield every feature's lowest and highest threshold, and where missing values are told from others."""
        found = [(t.feature[~t.arrays.leaf], t.arrays.threshold[~t.arrays.leaf]) for t in self.trees]
        features, thresholds = (np.concatenate(column) for column in zip(*found, strict=True))
        finite = np.isfinite(thresholds) & ~np.isin(features, list(self.sets))
        for feature, pairs in self.sets.items():
            yield from (
                (self.features[feature].name, Test(values=values)) for pair in pairs for values in pair if values
            )
        for feature in np.unique(features[finite]).tolist():
            of = thresholds[finite & (features == feature)]
            for end in {float(of.min()), float(of.max())}:
                yield self.features[feature].name, Test(high=end)
        for name in self.missing():
            yield name, IS_MISSING

    def missing(self) -> Iterator[str]:
        """Yield the features of which some training rows had no value, as the trees show."""
        seen = {int(f) for t in self.trees for f in missing_seen(t)}
        for t in self.trees:
            seen |= set(t.feature[~t.arrays.leaf & ~np.isfinite(t.arrays.threshold)].tolist())
        for feature in sorted(seen):
            yield self.features[feature].name

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the tree or the forest over the binder's domain; nodes keep their numbers."""
        if self.misplaced and any(a.missing for a in binder.domain.attributes):
            return replace(self, misplaced=False, trees=tuple(map(_root_only, self.trees))).bound(binder)
        bag = self.resampled and self.replaced
        splits, numbers = _split_tests(self, binder)
        seen = _seen_ends(self, binder)
        trees = tuple(
            Tree(_nodes(t, splits, at, binder, bag, seen), f"tree {i}")
            for i, (t, at) in enumerate(zip(self.trees, numbers, strict=True))
        )
        if not self.forest:
            return (Tree(trees[0].nodes, "tree", origin=self.origin),)
        found = Forest(
            trees,
            "forest",
            origin=self.origin,
            bootstrap=bag,
            multiplicities=self.multiplicities,
            subsample=self.resampled and not self.replaced,
        )
        if self.labels is None:
            return (found,)
        numbered = binder.label_numbers(self.labels)
        return (
            found if self.multiplicities is None else replace(found, labels=numbered),
            self._rows_of_targets(binder),
        )

    def _rows_of_targets(self, binder: Binder) -> Table:
        """Return how many rows have each target."""
        assert self.labels is not None
        assert self.classes is not None
        figures = [
            PublishedFigure(binder.condition(self.label, equals(value)), count=count, name=f"target {value}")
            for value, count in zip(self.classes, np.bincount(self.labels).tolist(), strict=True)
        ]
        return Table(
            (PublishedFigure((), count=len(self.labels), name="all rows"), *figures), "targets", origin=self.origin
        )


def _root_only(tree: CountedTree) -> CountedTree:
    """Return the tree without its splits: what it says about all the training rows together."""
    fields = ("threshold", "missing_left", "impurity", "rows", "weighted", "value")
    cut = {name: getattr(tree.arrays, name)[:1] for name in fields}
    none = np.full(1, -1, dtype=np.int64)
    arrays = replace(tree.arrays, left=none, right=none, feature=none, **cut)
    counts, drawn = tree.counts, tree.counts.drawn
    kept = replace(counts, classes=counts.classes[:1], size=counts.size[:1], drawn=None if drawn is None else drawn[:1])
    return replace(tree, arrays=arrays, counts=kept)


def missing_seen(tree: CountedTree) -> NDArray[np.int64]:
    """Return the features of which some training value was missing, as far as the tree shows it.

    Where a node saw none, it sends missing values to the child with more rows (scikit-learn's rule), or all nodes send
    them to the right (versions without missing values).
    """
    arrays = tree.arrays
    inner = np.flatnonzero(~arrays.leaf)
    more_left = arrays.rows[arrays.left[inner]] > arrays.rows[arrays.right[inner]]
    revealed = (arrays.missing_left[inner] != more_left) & (tree.ruled or arrays.missing_left.any())
    return np.unique(tree.feature[inner[revealed]])


Split = tuple[Condition, bool]  # the test of the left branch; True: it says "is missing", which is the right branch


@dataclass(frozen=True, eq=False)
class TreeTests:
    """The tests of all trees: `conditions`, and per test its number there and whether its branches are swapped."""

    conditions: tuple[Condition, ...]
    code: NDArray[np.int64]
    swapped: NDArray[np.bool_]

    @classmethod
    def of(cls, found: Sequence[Split]) -> TreeTests:
        """Return the table of the tests; a condition object that several have stands in it once."""
        place: dict[int, int] = {}
        code = [place.setdefault(id(condition), len(place)) for condition, _ in found]
        table = {at: condition for at, (condition, _) in zip(code, found, strict=True)}
        return cls(tuple(table.values()), np.array(code, dtype=np.int64), np.array([s for _, s in found], dtype=bool))


def _nodes(tree: CountedTree, splits: TreeTests, at: NDArray[np.int64], binder: Binder, bag: bool, seen: Seen) -> Nodes:
    """Return the nodes of one tree, given the numbers of the tests of its inner nodes in order, and `seen_ends`."""
    leaf = tree.arrays.leaf
    condition = np.full(len(leaf), LEAF, dtype=np.int64)
    condition[~leaf] = splits.code[at]
    children = np.stack([tree.arrays.left, tree.arrays.right], axis=1)
    inner = np.flatnonzero(~leaf)[splits.swapped[at]]
    children[inner] = children[inner, ::-1]
    return Nodes(
        splits.conditions, condition, children, _leaf_counts(tree, leaf, binder, bag), learnt=_learnt(tree, seen)
    )


def _learnt(tree: CountedTree, seen: Seen) -> Learnt | None:
    """Return the thresholds as they are stored where they are midpoints; NaN where rows with missing values went by."""
    if not tree.midpoints:
        return None
    gaps = np.isin(tree.feature, missing_seen(tree))
    return Learnt(tree.feature, np.where(gaps | tree.arrays.leaf, np.nan, tree.arrays.threshold), *seen)


Seen = tuple[NDArray[np.float64], NDArray[np.bool_]]


def _seen_ends(draft: TreesDraft, binder: Binder) -> Seen:
    """Return per feature what the model compares at the ends of its attribute, and whether that is the value itself."""
    ends = np.full((len(draft.features), 2), np.nan)
    plain = np.zeros(len(draft.features), dtype=bool)
    for f, (name, compare, attribute) in enumerate(_numbers_behind(draft, binder)):
        if attribute is None or compare is None:
            continue
        plain[f] = binder.features[name].make is None
        if isinstance(attribute, Continuous) and not attribute.bounded:
            continue
        values = [compare(attribute.value_at(p)) for p in (attribute.known[0], _last(attribute))]
        if all(is_number(x) for x in values):
            ends[f] = values
    return ends, plain


def _last(attribute: AnyAttribute) -> Any:
    """Return the position of the greatest number of an attribute."""
    return attribute.known[1] if isinstance(attribute, Continuous) else attribute.known[1] - 1


def _numbers_behind(
    draft: TreesDraft, binder: Binder
) -> Iterator[tuple[str, Callable[[Value | None], Value] | None, AnyAttribute | None]]:
    """Yield every feature with what the model compares of it, and its attribute where that has numbers in order."""
    for name in (f.name for f in draft.features):
        feature = binder.features.get(name)
        k = None if feature is None else binder.domain.place.get(feature.attribute)
        attribute = None if k is None else binder.domain.all[k]
        if feature is None or attribute is None or (isinstance(attribute, Categorical) and not attribute.numeric):
            yield name, None, None
        else:
            yield name, comparison(binder.draft, feature), attribute


def _leaf_counts(tree: CountedTree, leaf: NDArray[np.bool_], binder: Binder, bag: bool) -> CountTable:
    """Return what the leaves publish: their classes, or their size alone; of a bag also how many rows are different."""
    classes, size = tree.counts.classes, tree.counts.size
    counted = leaf & (classes.min(axis=1) >= 0) if classes.shape[1] else np.zeros(len(leaf), dtype=bool)
    per_class = binder.class_table(classes[counted]) if counted.any() else np.zeros((0, 0), dtype=np.int64)
    width = np.where(counted, per_class.shape[1], leaf)
    start = np.zeros(len(leaf) + 1, dtype=np.int64)
    np.cumsum(width, out=start[1:])
    by_class = np.repeat(counted, width)
    values = np.empty(len(by_class), dtype=np.int64)
    drawn = tree.counts.drawn if bag else None
    values[by_class], values[~by_class] = per_class.ravel(), (size if drawn is None else drawn)[leaf & ~counted]
    told = counted if drawn is None else leaf  # how many rows are different stands beside how many were drawn
    return CountTable(start, values, counted, np.where(told, size, UNPUBLISHED) if bag else None)


def _split_tests(draft: TreesDraft, binder: Binder) -> tuple[TreeTests, list[NDArray[np.int64]]]:
    """Return the tests of all trees, and per tree the number of that of every inner node; each is translated once."""
    inner = [~t.arrays.leaf for t in draft.trees]
    keys = np.concatenate(
        [
            np.stack([t.feature[at].astype(float), t.arrays.threshold[at], t.arrays.missing_left[at].astype(float)])
            for t, at in zip(draft.trees, inner, strict=True)
        ],
        axis=1,
    )
    order = np.lexsort(keys[::-1])
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (keys[:, order[1:]] != keys[:, order[:-1]]).any(axis=0)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(fresh) - 1
    found: list[Split] = []
    for feature, thresholds, missing in _by_feature(keys[:, order[fresh]]):
        name, sets = draft.features[feature].name, draft.sets.get(feature)
        found += (
            _feature_splits(binder, name, thresholds, missing)
            if sets is None
            else [_category_split(binder, name, sets[int(t)], m) for t, m in zip(thresholds, missing, strict=True)]
        )
    return TreeTests.of(found), np.split(number, np.cumsum([int(at.sum()) for at in inner])[:-1])


def _by_feature(keys: NDArray[np.float64]) -> Iterator[tuple[int, list[float], list[bool]]]:
    """Yield the thresholds of every feature, ascending, with what the missing values do; keys are sorted by feature."""
    features = keys[0].astype(np.int64)
    starts = [*np.flatnonzero(np.diff(features, prepend=-1)).tolist(), len(features)]
    for start, end in pairwise(starts):
        yield int(features[start]), keys[1, start:end].tolist(), keys[2, start:end].astype(bool).tolist()


def _feature_splits(binder: Binder, name: str, thresholds: list[float], missing: list[bool]) -> list[Split]:
    """Return the tests of one feature in the domain's terms; x <= inf holds for everything that is not missing.

    Thresholds of a continuous attribute stand as they are once the outermost two are within its range.
    """
    plain = binder.unchanged(name)
    if plain is None or np.inf in thresholds or len(thresholds) < 3:
        return _distinct_splits(binder, name, thresholds, missing)
    for end in (thresholds[0], thresholds[-1]):
        binder.resolved(name, Test(high=end))
    if binder.draft.single:
        thresholds = single_limits(np.array(thresholds)).tolist()
    if not plain.missing:
        return [(((plain.name, Test(None, None, t)),), False) for t in thresholds]
    pairs = zip(thresholds, missing, strict=True)
    return [(((plain.name, Test(None, None, t, False, False, m)),), False) for t, m in pairs]


def _category_split(binder: Binder, name: str, sides: CategorySplit, missing: bool) -> Split:
    """Return the test of a split on categories: of the side to which missing and unknown ones do not go."""
    return binder.condition(name, Test(values=sides[missing])), missing


def _distinct_splits(binder: Binder, name: str, thresholds: list[float], missing: list[bool]) -> list[Split]:
    """Return the tests of one feature; thresholds between the same two values that are compared share one."""
    values = _compared(binder, name, len(thresholds))
    known: dict[tuple[int, bool], Condition] = {}
    out: list[Split] = []
    for i, (t, m) in enumerate(zip(thresholds, missing, strict=True)):
        if t == np.inf:
            out.append((binder.condition(name, IS_MISSING), True))
            continue
        key = (i if values is None else bisect_right(values, t), m)
        if key not in known:
            known[key] = binder.resolved(name, Test(None, None, t, False, False, m))
        out.append((known[key], False))
    return out


def _compared(binder: Binder, name: str, maximum: int) -> list[int | float] | None:
    """Return, ascending, the numbers that the model may compare for a feature; None if over `maximum`."""
    feature = binder.features.get(name)
    if feature is None:
        return None
    k, compare = binder.domain.place.get(feature.attribute), comparison(binder.draft, feature)
    if k is None:
        values = [compare(0), compare(1)]
    else:
        attribute = binder.domain.all[k]
        if isinstance(attribute, Continuous) or attribute.known[1] > maximum:
            return None
        values = [compare(attribute.value_at(i)) for i in range(attribute.known[1])]
        if attribute.missing:
            values.append(compare(None))
    return sorted(v for v in values if is_number(v))
