"""A forest as one partition per tree, all of the same rows; of trees on resamples what their counts imply.

Source: Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML 2024 (every leaf of every tree
is a statement about one dataset); `encoders.kinds.forest` for bootstrap samples and subsets.

Trees fitted on a resample of the rows, a bag: what their counts say about the training rows.

A leaf counts c_k rows of class k with repetition, d different ones (where that is published). With r_k training rows
in the leaf, rows whose repetitions give these counts exist exactly where some d_k add up to d with d_k = 0 for c_k = 0
and 1 <= d_k <= min(c_k, r_k) else, that is where r_k >= 1 for every c_k > 0 and Σ_k min(c_k, r_k) >= d. A sum of
minima is at least d exactly where every choice between the two is: for every set S of classes with c_k > 0,
Σ_{k in S} r_k >= d - Σ_{k not in S} c_k. A count of 0 says nothing: the bag may have left out who is there.

Without replacement all counted rows are different, so that r_k >= c_k is all that is said.

Source: Breiman, "Bagging predictors", Machine Learning 24, 1996 (bootstrap samples); docs/mathematics.md, "Resampled
forests".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.kinds.tree import check_tree, leaf_boxes, leaf_names, tree_partition, tree_total, unused_counts
from encoders.models.models import Forest, Tree
from encoders.models.nodes import UNPUBLISHED as NOT_GIVEN
from encoders.parts.base import CutDomain, Encoder, PartitionSupports, Resolutions, label_texts, partition
from solvers.foundation.errors import EngineError, ReleaseError
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.release import (
    ANY_LABEL,
    NOTHING,
    UNBOUNDED,
    BagCounts,
    Block,
    BootstrapCounts,
    KnownValues,
    Loose,
    Partition,
    RowCount,
    Statement,
    TreeBags,
)

Ints = NDArray[np.int64]
MAX_CLASSES = 6  # in one leaf; the statements about sets of them are 2^classes
UNPUBLISHED = -1


@dataclass(frozen=True, eq=False)
class Leaves:
    """The published counts of a tree's leaves, one entry per count: its leaf, its class (ANY_LABEL: any), rows.

    `distinct` has one entry per leaf (UNPUBLISHED: none), `low` and `high` what each count says about training rows.
    """

    leaf: Ints
    label: Ints
    count: Ints
    distinct: Ints
    low: Ints
    high: Ints

    def sums(self, values: Ints) -> Ints:
        """Return the sum of some values of every leaf's counts."""
        out = np.zeros(len(self.distinct), dtype=np.int64)
        np.add.at(out, self.leaf, values)
        return out

    @property
    def positive(self) -> Ints:
        """Return how many counts of every leaf are not 0."""
        return self.sums((self.count > 0).astype(np.int64))

    @property
    def fewest(self) -> Ints:
        """Return the fewest training rows of every leaf that explain its counts."""
        return np.maximum(self.sums(self.low), self.distinct)


def _check_labels(labels: Sequence[int], rows: int, domain: Domain, place: str) -> None:
    """Refuse labels by position that are not one number of the label's values per row, with `ReleaseError`."""
    if domain.label is None:
        raise ReleaseError("the domain has no label", place=place)
    if len(labels) != rows:
        raise ReleaseError(f"{len(labels)} labels for {rows} rows", place=place)
    if strange := [one for one in labels if not 0 <= one < domain.label.span[1]]:
        raise ReleaseError(f"{strange[0]} is no number of a value of '{domain.label.name}'", place=place)


def _check_bags(forest: Forest, domain: Domain, place: str) -> None:
    """Refuse multiplicities that are not those of the trees' counts, with `ReleaseError`."""
    bags, at = forest.multiplicities, f"{place}.multiplicities"
    if bags is None:
        if forest.labels is not None:
            raise ReleaseError("labels by position need 'multiplicities'", place=f"{place}.labels")
        return
    if forest.labels is not None:
        _check_labels(forest.labels, bags.shape[1], domain, f"{place}.labels")
    if len(bags) != len(forest.trees):
        raise ReleaseError(f"{len(bags)} bags for {len(forest.trees)} trees", place=at)
    if forest.subsample and bags.max(initial=0) > 1:
        raise ReleaseError(f"a row counts {bags.max()} times in a sample without replacement", place=at)
    for t, tree in enumerate(forest.trees):
        drawn, different = int(bags[t].sum(dtype=np.int64)), int(np.count_nonzero(bags[t]))
        if drawn != (total := tree_total(tree)):
            raise ReleaseError(f"they sum to {drawn}, but the tree counts {total} rows", place=f"{at}[{t}]")
        distinct = _distinct_rows(tree)
        if distinct is not None and distinct != different:
            message = f"{different} different rows are drawn, but the tree counts {distinct} ('distinct')"
            raise ReleaseError(message, place=f"{at}[{t}]")
    if (minimum := _minimum_rows(forest)) > bags.shape[1]:
        raise ReleaseError(f"they are of {bags.shape[1]} rows, but the counts need {minimum}", place=at)


def _distinct_rows(tree: Tree) -> int | None:
    """Return how many different rows a tree publishes that it saw: at its root or in all its leaves; None: neither."""
    if (root := tree.nodes[0].support.distinct) is not None:
        return root
    found = tree.nodes.leaf_counts.different
    return None if (found == NOT_GIVEN).any() else int(found.sum())


def _leaves_of(forest: Forest, t: int) -> Leaves:
    """Return the counts of the leaves of tree t, with the training rows that each implies."""
    published = forest.trees[t].nodes.leaf_counts
    stated = PartitionSupports.of(published)
    leaf, count = stated.region.astype(np.int64), stated.low.astype(np.int64)
    distinct = np.where(published.different == NOT_GIVEN, UNPUBLISHED, published.different).astype(np.int64)
    none = np.zeros(0, dtype=np.int64)
    bare = Leaves(leaf, stated.label.astype(np.int64), count, distinct, none, none)
    low = count.copy()
    if forest.bootstrap:
        low = np.minimum(count, np.maximum(1, distinct[leaf] - (bare.sums(count)[leaf] - count)))
    high = np.full(len(count), UNBOUNDED, dtype=np.int64)
    if forest.multiplicities is not None:
        fewest, maximum = _rows_for(count, forest.multiplicities[t])
        low, high = np.maximum(low, fewest), maximum
    return Leaves(leaf, bare.label, count, distinct, low, high)


def _rows_for(count: Ints, bag: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """Return how many rows at least and at most can have repetitions in a bag that add up to each count.

    The fewest are those repeated most often, the most are those left out and then those repeated least. A count that
    is more than the whole bag is that of no rows: one row more than there are.
    """
    ordered = np.sort(bag)
    ascending, descending = np.cumsum(ordered, dtype=np.int64), np.cumsum(ordered[::-1], dtype=np.int64)
    fewest = np.where(count > 0, np.searchsorted(descending, count, side="left") + 1, 0)
    return fewest.astype(np.int64), np.searchsorted(ascending, count, side="right").astype(np.int64)


def _minimum_rows(forest: Forest) -> int:
    """Return the fewest training rows that explain every tree's counts, each tree by itself."""
    roots = [tree.nodes[0].support.distinct or 0 for tree in forest.trees]
    return max(max(int(_leaves_of(forest, t).fewest.sum()), roots[t]) for t in range(len(forest.trees)))


def _bag_blocks(
    forest: Forest, t: int, kind: str, cut: CutDomain, resolved: Resolutions, rows: RowCount
) -> Iterator[Block]:
    """Yield what tree t says about the training rows: a partition of lower bounds, and sums that it does not imply.

    Sums over all classes are a second partition, others are loose statements.
    """
    tree, found = forest.trees[t], _leaves_of(forest, t)
    boxes, names = leaf_boxes(tree, cut, resolved), leaf_names(tree.nodes)
    leaf, label = found.leaf.astype(np.int32), found.label.astype(np.int32)
    bounds = _exact_bounds(found.low, found.high, rows)
    stated = partition(kind, boxes, PartitionSupports(leaf, label, *bounds), names, cut.domain, first_match=False)
    yield stated if forest.multiplicities is not None else replace(stated, draws=_draws_of(found, forest.bootstrap))
    if not forest.bootstrap:
        return
    classes = 0 if cut.domain.label is None else cut.domain.label.span[1]
    implied = found.sums(found.low)
    whole = (found.positive == classes) & (found.distinct > implied)
    if whole.any():
        low = np.where(whole, found.distinct, implied)
        every = np.arange(len(low), dtype=np.int32)
        open_above = np.full(len(low), UNBOUNDED, dtype=np.int64)
        sums = PartitionSupports(
            every, np.full(len(low), ANY_LABEL, dtype=np.int32), *_exact_bounds(low, open_above, rows)
        )
        named = [f"{name}, distinct rows" for name in names]
        yield partition(kind, boxes, sums, named, cut.domain, first_match=False)
    if loose := tuple(_sums_of_classes(found, boxes, [f"{kind}, {name}" for name in names], cut)):
        yield Loose(loose)


def _draws_of(found: Leaves, bootstrap: bool) -> BootstrapCounts:
    """Return what a tree counted of its bag; without replacement, all draws are different rows."""
    return BootstrapCounts(found.count, found.distinct if bootstrap else found.sums(found.count))


def _known_bags(forest: Forest, blocks: Sequence[Block], first: int, cut: CutDomain) -> TreeBags:
    """Return what the trees of a forest count of bags that are known; `blocks` are those of `bag_blocks`, tree by tree.

    Without replacement all counted rows are different, so that every leaf's sum is its number of different rows.
    """
    if forest.multiplicities is None:
        raise EngineError("the bags of this forest are not known")
    trees: list[BagCounts] = []
    for block in blocks:
        if not isinstance(block, Partition) or (trees and block.boxes is trees[-1].boxes):
            continue
        found = _leaves_of(forest, len(trees))
        draws, label = _draws_of(found, forest.bootstrap), found.label.astype(np.int32)
        counts = block.boxes, found.leaf.astype(np.int32), label, draws.count, draws.distinct
        trees.append(BagCounts(block.kind, *counts, block.names, block.labels))
    numbers = tuple(range(first, first + len(blocks)))
    known = NOTHING
    if forest.labels is not None:
        parts = len(label_texts(cut.domain))
        known = KnownValues(
            (len(cut.cuts) - 1,), np.array([forest.labels], dtype=np.int64), (np.eye(parts, dtype=np.bool_),)
        )
    return TreeBags(forest.name, forest.multiplicities, tuple(trees), numbers, known)


def _exact_bounds(low: Ints, high: Ints, rows: RowCount) -> tuple[Ints, Ints]:
    """Return the bounds of a partition, exact where the number of rows leaves only one possibility."""
    if len(low) == 1:  # everybody is counted there
        maximum = UNBOUNDED if rows.high is None else rows.high
        return np.maximum(low, rows.low), np.minimum(high, max(maximum, int(low[0])))
    return (low, low.copy()) if rows.high == int(low.sum()) and bool((low <= high).all()) else (low, high)


def _sums_of_classes(found: Leaves, boxes: Boxes, names: list[str], cut: CutDomain) -> Iterator[Statement]:
    """Yield the statements on sets of two or more classes of a leaf that single classes do not imply.

    Those on all the classes of the label are left to the second partition. In leaves with more than MAX_CLASSES
    classes only the sets of all of them and of all but one.
    """
    texts, k = label_texts(cut.domain), len(cut.cuts) - 1
    starts = np.searchsorted(found.leaf, np.arange(len(found.distinct)))
    several = np.flatnonzero((found.positive >= 2) & (found.distinct > found.sums(found.low)))
    for j in several.tolist():
        counts = found.count[starts[j] : starts[j] + len(texts)].tolist()
        lows = found.low[starts[j] : starts[j] + len(texts)].tolist()
        held = [c for c, n in enumerate(counts) if n]
        widths = range(2, len(held) + 1) if len(held) <= MAX_CLASSES else (len(held) - 1, len(held))
        for chosen in (s for width in widths for s in combinations(held, width)):
            need = int(found.distinct[j]) - sum(counts[c] for c in held if c not in chosen)
            if need > sum(lows[c] for c in chosen) and len(chosen) < len(texts):
                at = boxes[j] & Box(((k, sum(1 << c for c in chosen)),))
                text = " or ".join(texts[c] for c in chosen)
                yield Statement.count(Region(at), need, UNBOUNDED, f"{names[j]}, class {text}")


def _known_line(forest: Forest) -> str:
    """Return what answers assume where the bags are known."""
    return (
        f"{forest.name}: the bags are known (multiplicities), so that rows are distinguished by their position in the "
        "training file; engines over unordered rows, and exports, use what follows from them"
    )


def left_out(forest: Forest) -> tuple[str, ...]:
    """Return what the statements leave out of what is published, so that they hold in more worlds than there are.

    Where the bags are known, the release has the leaves' counts whole (`known_bags`), not those of inner nodes.
    """
    out, known = [], forest.multiplicities is not None
    every = [_leaves_of(forest, t) for t in range(len(forest.trees))] if forest.bootstrap else []
    if not known and any(bool(((x.positive > MAX_CLASSES) & (x.distinct > x.sums(x.low))).any()) for x in every):
        out.append(f"{forest.name}: of leaves with more than {MAX_CLASSES} classes, 'distinct' is used in part only")
    if any(_has_unused_sizes(tree, x, known) for tree, x in zip(forest.trees, every, strict=bool(every))):
        out.append(f"{forest.name}: 'distinct' of inner nodes is not used where leaves below have none")
    return tuple(out)


def _has_unused_sizes(tree: Tree, leaves: Leaves, known: bool) -> bool:
    """Return whether inner nodes publish numbers of different rows that their leaves do not.

    At the root it is that of the bag where it is `known`.
    """
    inner = tree.nodes.inner & (tree.nodes.counts.different != NOT_GIVEN)
    return bool(inner[int(known) :].any() and (leaves.distinct == UNPUBLISHED).any())


UNNAMED = "forest"


class ForestEncoder(Encoder[Forest]):
    """Forests: every tree counts all the rows, or those of its bag."""

    def check(self, model: Forest, domain: Domain, place: str) -> None:
        """Refuse what a tree is refused for, and trees or bags that do not fit together."""
        if not model.trees:
            raise ReleaseError("the forest has no trees", place=f"{place}.trees")
        if model.bootstrap and model.subsample:
            message = "rows are drawn with replacement ('bootstrap') or without, not both"
            raise ReleaseError(message, place=f"{place}.resample")
        for t, tree in enumerate(model.trees):
            check_tree(tree, domain, f"{place}.trees[{t}]", repeated=model.bootstrap)
        if model.resampled:
            _check_bags(model, domain, place)
            return
        if model.multiplicities is not None or model.labels is not None:
            raise ReleaseError("only resampled rows have them: give 'bootstrap': true", place=f"{place}.multiplicities")
        first = tree_total(model.trees[0])
        for t, tree in enumerate(model.trees):
            if (total := tree_total(tree)) != first:
                message = f"the tree counts {total} rows, trees[0] counts {first}: without bootstrap all are the same"
                raise ReleaseError(message, place=f"{place}.trees[{t}]")

    def resolve(self, model: Forest, domain: Domain, place: str, into: Resolutions) -> None:
        """Add what all trees test."""
        for t, tree in enumerate(model.trees):
            into.add_nodes(tree.nodes, domain, f"{place}.trees[{t}]")

    def total(self, model: Forest) -> int | None:
        """Return the number of rows that every tree counts, or that the bags are drawn from, if that is known."""
        if model.multiplicities is not None:
            return int(model.multiplicities.shape[1])
        return None if model.resampled else tree_total(model.trees[0])

    def least(self, model: Forest) -> int:
        """Return the fewest rows that explain the counts; those that the bags are drawn from where that is known."""
        known = self.total(model)
        return _minimum_rows(model) if known is None else known

    def evidence(self, model: Forest, minimum: int) -> str:
        """Return why there are that many rows."""
        if not model.resampled:
            return super().evidence(model, minimum)
        if model.multiplicities is not None:
            return f"the multiplicities are of {minimum}"
        return f"the counts of the resamples need {minimum} different rows"

    def assumes(self, model: Forest) -> tuple[str, ...]:
        """Return how the rows of a tree were drawn."""
        if not model.resampled:
            return ("each tree was fitted on all the rows (no bootstrap)",)
        how = "a bootstrap sample (drawn with replacement)" if model.bootstrap else "some of the rows, each once"
        return (
            f"{model.name}: each tree was fitted on {how}: a count above 0 proves rows, a count of 0 proves nothing",
            f"{model.name}: possible worlds weigh the same, however likely they make the draws behind its counts",
            *((_known_line(model),) if model.multiplicities is not None else ()),
        )

    def loosens(self, model: Forest) -> tuple[str, ...]:
        """Return what is published and not used: counts of inner nodes, numbers of different rows in resamples."""
        inner = (line for tree in model.trees for line in unused_counts(tree, f"{model.name}, {tree.name}"))
        return (*islice(inner, 1), *(left_out(model) if model.resampled else ()))

    def blocks(
        self, model: Forest, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return one partition per tree; of a tree on a resample what its counts imply."""
        named = "" if model.name == UNNAMED else f"{model.name}, "
        if not model.resampled:
            return tuple(tree_partition(tree, named + tree.name, cut, resolved) for tree in model.trees)
        kinds = [named + tree.name for tree in model.trees]
        return tuple(b for t, kind in enumerate(kinds) for b in _bag_blocks(model, t, kind, cut, resolved, rows))

    def bags(self, model: Forest, blocks: Sequence[Block], first: int, cut: CutDomain) -> tuple[TreeBags, ...]:
        """Return what the trees count of their bags, where those are known."""
        return () if model.multiplicities is None else (_known_bags(model, blocks, first, cut),)
