"""Between which scores all rows lie before every round, whoever they are: bounds over boxes of feature values.

The least and greatest leaf of every tree added up would do, but no row is in all of them: the thresholds that matter
most cut the space into boxes, and in each box only those leaves count whose path it meets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from recon.readers.formats.boosters.lightgbm.file import NONE, StoredLightGBMTree

Floats = NDArray[np.float64]
MAX_BOXES = 4096
MAX_WORK = 400_000_000  # boxes times leaves times cut features
MAX_CELLS = 4_000_000  # boxes times leaves of one tree: 32 MB


@dataclass(frozen=True, eq=False)
class FeatureCuts:
    """Features with ascending thresholds that cut the space; box b is in interval `cell[i, b]` of feature i."""

    thresholds: dict[int, Floats]
    cell: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reach:
    """The least and greatest score (scores,) of any row before a round.

    `odds`: the greatest of every leaf of the first tree, and the greatest of the negative score (2, leaves).
    """

    low: Floats
    high: Floats
    odds: Floats


def before(
    trees: Sequence[tuple[int, int, StoredLightGBMTree]], start: Floats, off: float, boxes: int = MAX_BOXES
) -> Iterator[Reach]:
    """Yield per tree (round, score it adds to, tree) between which scores rows lie before its round.

    `start`: those of the first round; scores add up from 0. `off`: how far a leaf's value may be from what was added.
    Trees come round by round. Cost: boxes times leaves times features that are cut.
    """
    cuts = chosen([tree for _, _, tree in trees], boxes)
    shape = (cuts.cell.shape[1], len(start))
    low, high = np.zeros(shape), np.zeros(shape)
    first = meetings(trees[0][2], cuts)
    found, last = Reach(start, start, np.outer((start[0], -start[0]), np.ones(len(first)))), 0
    for turn, of, tree in trees:
        if turn != last:
            odds = (np.where(first, end, -np.inf).max(axis=1) for end in (high[:, 0], -low[:, 0]))
            found, last = Reach(low.min(axis=0), high.max(axis=0), np.stack(list(odds))), turn
        yield found
        values, met = np.array(tree.value), meetings(tree, cuts)
        slack = off + 2.0**-50 * (1.0 + np.abs(values).max() + max(np.abs(low).max(), np.abs(high).max()))
        low[:, of] += np.where(met, values[:, None], np.inf).min(axis=0) - slack
        high[:, of] += np.where(met, values[:, None], -np.inf).max(axis=0) + slack


def chosen(trees: Sequence[StoredLightGBMTree], boxes: int) -> FeatureCuts:
    """Return the thresholds with the greatest spread of leaves on their trees, up to so many boxes."""
    weight: Counter[tuple[int, float]] = Counter()
    for tree in trees:
        spread = max(tree.value) - min(tree.value)
        for feature, threshold, kind in zip(tree.feature, tree.threshold, tree.kind, strict=True):
            if isinstance(threshold, float) and plain(kind):
                weight[feature, threshold] += spread  # type: ignore[assignment]
    leaves = [len(tree.value) for tree in trees]
    most = min(boxes, MAX_WORK // (12 * sum(leaves)), MAX_CELLS // max(leaves))
    taken: dict[int, list[float]] = {}
    many = 1
    for (feature, threshold), _ in weight.most_common():
        own = len(taken.get(feature, ())) + 1
        if many // own * (own + 1) <= most:
            many = many // own * (own + 1)
            taken.setdefault(feature, []).append(threshold)
    thresholds = {feature: np.array(sorted(found)) for feature, found in taken.items()}
    grid = np.indices([len(t) + 1 for t in thresholds.values()]).reshape(len(thresholds), many)
    return FeatureCuts(thresholds, grid)


def plain(kind: int) -> bool:
    """Return whether a split compares numbers, of which none counts as missing."""
    return not kind & 1 and kind >> 2 & 3 == NONE


def meetings(tree: StoredLightGBMTree, cuts: FeatureCuts) -> NDArray[np.bool_]:
    """Return which leaves meet which boxes (leaves, boxes), at least those that do."""
    sides = {feature: np.ones((len(tree.value), len(t) + 1), dtype=np.bool_) for feature, t in cuts.thresholds.items()}
    todo: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while todo:
        node, spans = todo.pop()
        if node < 0:
            for feature, (low, high) in spans.items():
                if feature in sides:  # cell k has thresholds[k - 1] < x <= thresholds[k], the path low < x <= high
                    here = cuts.thresholds[feature]
                    first, end = np.searchsorted(here, low, side="right"), np.searchsorted(here, high, side="left")
                    sides[feature][-1 - node, :first] = False
                    sides[feature][-1 - node, end + 1 :] = False
            continue
        feature, threshold = tree.feature[node], tree.threshold[node]
        left = right = spans
        if isinstance(threshold, float) and plain(tree.kind[node]):
            low, high = spans.get(feature, (-np.inf, np.inf))
            left = {**spans, feature: (low, min(high, threshold))}
            right = {**spans, feature: (max(low, threshold), high)}
        todo += [(tree.left[node], left), (tree.right[node], right)]
    out = np.ones((len(tree.value), cuts.cell.shape[1]), dtype=np.bool_)
    for i, found in enumerate(sides.values()):
        out &= found[:, cuts.cell[i]]
    return out
