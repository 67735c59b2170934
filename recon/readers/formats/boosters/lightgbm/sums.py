"""LightGBM's leaf values and leaf weights as sums of gradients, in intervals that hold whatever was rounded.

With G and H the sums of gradients and hessians over a leaf's rows its weight is H and its value -rate G / (H + lambda);
the starting score is added to the first tree's values, so that scores are sums of leaf values, in double and in this
order. Files print values and weights with 17 digits, parameters with 6.

Every bound is derived from LightGBM 4.7.0: src/objective/binary_objective.hpp, multiclass_objective.hpp (gradients in
double, stored as float), src/treelearner/feature_histogram.hpp (CalculateSplittedLeafOutput, SplitInfo),
include/LightGBM/tree.h (Shrinkage, AddBias), src/boosting/gbdt.cpp (TrainOneIter). The library's own sums:
`recon.readers.formats.boosters.lightgbm.rates`. What files do not say is solved from the first round or stands in
`why`.

Between which scores all rows lie before every round, whoever they are: bounds over boxes of feature values.

The least and greatest leaf of every tree added up would do, but no row is in all of them: the thresholds that matter
most cut the space into boxes, and in each box only those leaves count whose path it meets.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import Boosting, TreeSums
from recon.readers.formats.boosters.lightgbm.file import NONE, LightGBMFile, StoredLightGBMTree
from recon.readers.formats.boosters.lightgbm.rates import (
    EPSILON,
    OFF,
    UNIT,
    BoostingSetting,
    Grove,
    NumberSpan,
    Sizes,
    by_list,
    digits,
    errors,
    number,
    rate_of,
    solve_rate,
    span,
)
from recon.readers.formats.boosters.lightgbm.rates import value_above as above_of
from recon.readers.formats.boosters.shared import PREDICTED, RoundMoves, first_of_other_rows
from solvers.foundation.errors import Unsupported
from solvers.statements.gradients.boosted import Gradients

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


def _score_ranges(
    trees: Sequence[tuple[int, int, StoredLightGBMTree]], start: Floats, off: float, boxes: int = MAX_BOXES
) -> Iterator[Reach]:
    """Yield per tree (round, score it adds to, tree) between which scores rows lie before its round.

    `start`: those of the first round; scores add up from 0. `off`: how far a leaf's value may be from what was added.
    Trees come round by round. Cost: boxes times leaves times features that are cut.
    """
    cuts = _chosen_cuts([tree for _, _, tree in trees], boxes)
    shape = (cuts.cell.shape[1], len(start))
    low, high = np.zeros(shape), np.zeros(shape)
    first = _meetings(trees[0][2], cuts)
    found, last = Reach(start, start, np.outer((start[0], -start[0]), np.ones(len(first)))), 0
    for turn, of, tree in trees:
        if turn != last:
            odds = (np.where(first, end, -np.inf).max(axis=1) for end in (high[:, 0], -low[:, 0]))
            found, last = Reach(low.min(axis=0), high.max(axis=0), np.stack(list(odds))), turn
        yield found
        values, met = np.array(tree.value), _meetings(tree, cuts)
        slack = off + 2.0**-50 * (1.0 + np.abs(values).max() + max(np.abs(low).max(), np.abs(high).max()))
        low[:, of] += np.where(met, values[:, None], np.inf).min(axis=0) - slack
        high[:, of] += np.where(met, values[:, None], -np.inf).max(axis=0) + slack


def _chosen_cuts(trees: Sequence[StoredLightGBMTree], boxes: int) -> FeatureCuts:
    """Return the thresholds with the greatest spread of leaves on their trees, up to so many boxes."""
    weight: Counter[tuple[int, float]] = Counter()
    for tree in trees:
        spread = max(tree.value) - min(tree.value)
        for feature, threshold, kind in zip(tree.feature, tree.threshold, tree.kind, strict=True):
            if isinstance(threshold, float) and _is_plain_split(kind):
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


def _is_plain_split(kind: int) -> bool:
    """Return whether a split compares numbers, of which none counts as missing."""
    return not kind & 1 and kind >> 2 & 3 == NONE


def _meetings(tree: StoredLightGBMTree, cuts: FeatureCuts) -> NDArray[np.bool_]:
    """Return which leaves meet which boxes (leaves, boxes), at least those that do."""
    sides = {feature: np.ones((len(tree.value), len(t) + 1), dtype=np.bool_) for feature, t in cuts.thresholds.items()}
    ends = {feature: t.tolist() for feature, t in cuts.thresholds.items()}
    todo: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while todo:
        node, spans = todo.pop()
        if node < 0:
            for feature, (low, high) in spans.items():
                if feature in sides:  # cell k has thresholds[k - 1] < x <= thresholds[k], the path low < x <= high
                    first, end = bisect_right(ends[feature], low), bisect_left(ends[feature], high)
                    sides[feature][-1 - node, :first] = False
                    sides[feature][-1 - node, end + 1 :] = False
            continue
        feature, threshold = tree.feature[node], tree.threshold[node]
        left = right = spans
        if isinstance(threshold, float) and _is_plain_split(tree.kind[node]):
            low, high = spans.get(feature, (-np.inf, np.inf))
            left = {**spans, feature: (low, min(high, threshold))}
            right = {**spans, feature: (max(low, threshold), high)}
        todo += [(tree.left[node], left), (tree.right[node], right)]
    out = np.ones((len(tree.value), cuts.cell.shape[1]), dtype=np.bool_)
    for i, found in enumerate(sides.values()):
        out &= found[:, cuts.cell[i]]
    return out


Floats = NDArray[np.float64]
LARGE = 1e7


def _odd_parameter(booster: LightGBMFile) -> str | None:
    """Return why leaf values are no function of sums of plain gradients, None where nothing says so."""
    kind = booster.objective.partition(" ")[0]
    if kind not in ("binary", "multiclass"):
        return f"the objective is '{kind or 'a function of its own'}'"
    return _odd_training(booster)


def _odd_training(booster: LightGBMFile) -> str | None:
    """Return which setting makes leaf values no function of sums of gradients, None where nothing says so."""
    params = booster.params or {}
    if booster.average or params.get("boosting", "gbdt") not in ("gbdt", "gbrt", "goss"):
        return f"boosting is '{params.get('boosting', 'rf')}'"
    later = {tree.rate for tree in booster.trees[booster.per_round :]}
    if booster.params is None and len(later) > 1:
        return "learning rates differ from tree to tree, as dart leaves them, which JSON does not say: use save_model"
    if params.get("device_type", "cpu") != "cpu":
        return f"sums of '{params['device_type']}' are not those of a processor"
    keys = ("lambda_l1", "max_delta_step", "path_smooth", "linear_tree", "use_quantized_grad", "is_unbalance")
    found = [key for key in keys if number(params, key, 0.0)]
    found += ["scale_pos_weight"] if number(params, "scale_pos_weight", 1.0) != 1 else []
    found += ["forcedsplits_filename"] if params.get("forcedsplits_filename") else []
    found += ["monotone_constraints"] if booster.monotone or params.get("monotone_constraints") else []
    found += ["num_machines"] if number(params, "num_machines", 1.0) > 1 else []
    return f"'{found[0]}' is set" if found else None


def boosting(
    booster: LightGBMFile, groves: Sequence[Grove], proved: Mapping[int, Sequence[int]], last: float
) -> Boosting:
    """Return the model with what its leaf values say; `proved`: rows of a class per leaf of the first round's trees.

    From round `last` on rows were sampled. Raises `Unsupported` with the reason where leaf values cannot be used.
    Cost: linear in nodes, but for the bounds of scores (`recon.readers.formats.boosters.lightgbm.sums`).
    """
    reason = _odd_parameter(booster)
    if reason is not None:
        raise Unsupported(reason)
    per_round = booster.per_round
    if any(t not in proved for t in range(per_round)) or [g.number for g in groves[:per_round]] != [*range(per_round)]:
        raise Unsupported(
            "the rows of each class in the first round are not proved: of a model without weights they are"
        )
    if not all(_sensible(g.stored) for g in groves):
        raise Unsupported("some leaf value, weight or learning rate is not a figure of training")
    rate, setting = solve_rate(booster, groves[:per_round], proved, _shared_setting(booster, groves, proved))
    last = min(last, _complete(booster, groves))
    found = []
    for g, known in zip(groves, _gradient_sizes(groves, proved, setting), strict=True):
        turn, of = divmod(g.number, per_round)
        own = rate if not turn else rate_of(booster, g.stored, rate, setting.value)
        steps = np.array(g.stored.value)[g.order]
        use = turn < last
        found.append(_tree_sums(booster, g, setting, known, own) if use else TreeSums(turn, of, steps, *_nothing()))
    trees, base = tuple(g.tree for g in groves), (0.0,) * per_round
    return Boosting(trees, tuple(found), setting.law, setting.start, base, (*range(max(2, per_round)),))


def other_rows(booster: LightGBMFile, last: float) -> int:
    """Return the first tree that was fitted on other rows than those before it, as leaf values show; else all.

    The sum of gradients over all rows before a tree is what the one before makes it (`first_of_other_rows`): of squared
    error exactly, of log loss nearly. From round `last` on rows were sampled. Cost: linear in leaves.
    """
    kind, trees = booster.objective.partition(" ")[0], booster.trees
    sharp = {"binary": _sigmoid_of(booster), "regression": 0.0}.get(kind)
    grown = next((t for t, tree in enumerate(trees) if not tree.feature), len(trees))
    end = int(min(last, grown))
    if sharp is None or (kind == "binary" and sharp <= 0) or _odd_training(booster) or booster.per_round != 1:
        return len(trees)
    if not all(map(_sensible, trees[:end])) or any(kind & 1 for tree in trees[:end] for kind in tree.kind):
        return len(trees)
    ridge = (0.0, math.inf)
    if booster.params is not None:
        found = span(booster.params.get("lambda_l2"), 0.0)
        ridge = found.low, found.high
    off = digits([tree.value for tree in trees[:end]])
    # From the rows' own average all gradients add up to 0, but of drawn or weighted rows, which only JSON hides.
    rate = 0.0 if booster.params is not None or end < 2 else 1 / trees[1].rate
    k = first_of_other_rows((_moves(tree, not t, rate, sharp, off) for t, tree in enumerate(trees[:end])), ridge)
    return len(trees) if k is None else k


def _moves(tree: StoredLightGBMTree, first: bool, rate: float, sharp: float, off: float) -> RoundMoves:
    """Return what a tree says of the gradients of all its rows; `off`: rounding of each printed value.

    `rate`: one over the learning rate of a first tree that starts from an average, 0: all its gradients add up to 0.
    """
    biased = first and tree.rate == 1 and tree.start != 0
    value, hessian = np.array(tree.value), np.array(tree.weight)
    step = value - tree.start if biased else value
    each = rate if biased else 1 / tree.rate
    wide = (off + (abs(tree.start) if biased else 0.0) * PREDICTED) * float(hessian.sum()) * (1.0 + each)
    wide += 2 * PREDICTED * each * float((np.abs(step) * hessian).sum())
    return RoundMoves(-each * float((step * hessian).sum()), -each * float(step.sum()), wide, step, hessian, sharp)


def _sensible(tree: StoredLightGBMTree) -> bool:
    """Return whether the figures of a tree are of a size that training can give."""
    values = max(map(abs, tree.value)) < LARGE and 1 / LARGE < tree.rate < LARGE
    return values and min(tree.weight) >= 0 and max(tree.weight) < LARGE * LARGE


def _shared_setting(
    booster: LightGBMFile, groves: Sequence[Grove], proved: Mapping[int, Sequence[int]]
) -> BoostingSetting:
    """Return what the trees share, with what parameters say."""
    rows, params = sum(groves[0].stored.count), booster.params or {}
    value, weight = digits([g.stored.value for g in groves]), digits([g.stored.weight for g in groves])
    start = tuple(_starting(booster, groves[t].stored, sum(proved[t]), rows) for t in range(booster.per_round))
    ridge, extra = (span(params.get(key), otherwise) for key, otherwise in (("lambda_l2", 0.0), ("cat_l2", 10.0)))
    listed = NumberSpan(ridge.low + extra.low, ridge.high + extra.high)
    onehot = int(number(params, "max_cat_to_onehot", 4.0))
    return BoostingSetting(_law_of(booster, start, groves, value), start, ridge, listed, onehot, value, weight, rows)


def _complete(booster: LightGBMFile, groves: Sequence[Grove]) -> float:
    """Return the first round of which some tree is not among those that count all the rows.

    A tree without a split adds its value to every score: 0 after the first round.
    """
    held = {g.number for g in groves}
    gone = [t for t, s in enumerate(booster.trees) if t not in held and (s.feature or s.start != 0)]
    return gone[0] // booster.per_round if gone else math.inf


def _starting(booster: LightGBMFile, tree: StoredLightGBMTree, total: int, rows: int) -> float:
    """Return the score from which a class with so many rows starts: 0 if the first tree has no bias."""
    if booster.objective.startswith("multiclass"):
        return math.log(total / rows)
    if tree.rate != 1 or number(booster.params or {}, "boost_from_average", 1.0) == 0 or 2 * total == rows:
        return 0.0
    share = total / rows
    return math.log(share / (1 - share)) / _sigmoid_of(booster)


def _sigmoid_of(booster: LightGBMFile) -> float:
    """Return the factor of scores in a logistic loss."""
    words = dict(word.partition(":")[::2] for word in booster.objective.split())
    return number(words, "sigmoid", 1.0)


def _law_of(booster: LightGBMFile, start: tuple[float, ...], groves: Sequence[Grove], off: float) -> Gradients:
    """Return how gradients follow from scores; `off`: rounding of each printed value.

    Binary: r = -y s / (1 + exp(y s F)), h = |r| (s - |r|) in double, exp within 4 ulp, s F rounded: r is off by
    |s F| u + 8 u relative, s - |r| by as much of s. Softmax: exp(F_k - max F) over their sum, p - 1 and 1 - p by as
    much absolutely.
    Binary objective of src/objective/binary_objective.hpp, GetGradients; Common::Softmax of utils/common.h.
    """
    farthest = max(map(abs, start)) + sum(max(map(abs, g.stored.value)) for g in groves)
    turns = 1 + groves[-1].number // booster.per_round
    error, first = turns * off * (1 + OFF), max(1.0, *map(abs, start)) * 2.0**-50
    if booster.objective.startswith("multiclass"):
        k = booster.per_round
        far = UNIT * (k + 16 + min(farthest * 2, 1500.0))
        return Gradients("softmax", "float64", "float32", 1.0, k / (k - 1), far, 2 * far, error, first)
    s = _sigmoid_of(booster)
    far = UNIT * (16 + min(s * farthest, 750.0))
    return Gradients("log_loss", "float64", "float32", s, 1.0, far, 16 * UNIT * max(1.0, s * s), error, first)


def _nothing() -> tuple[NDArray[np.int64], Floats, Floats, Floats, Floats, Floats, tuple[str, ...]]:
    """Return the figures of a tree of which nothing is used."""
    none = np.zeros(0)
    return np.zeros(0, dtype=np.int64), none, none, none, none, none, ()


def _tree_sums(
    booster: LightGBMFile, g: Grove, setting: BoostingSetting, known: tuple[Sizes, Sizes], rate: NumberSpan
) -> TreeSums:
    """Return the figures of a tree's leaves: values and weights.

    `known`: the sizes of gradients and hessians that rows can have in its round.
    """
    turn, of = divmod(g.number, booster.per_round)
    off = errors(g.grown, g.rows(), *known)
    units = tuple(one.unit if one.exact else 0.0 for one in known)
    lists = by_list(booster, g, setting.onehot)
    figures: list[tuple[int, str, tuple[float, float, float, float]]] = []
    for node, j in zip(g.grown.leaves, g.order, strict=True):
        weight = g.stored.weight[j]
        by = off.hessian[node] + setting.weight + 2 * UNIT * weight
        if lists[j] is not None:
            above = above_of(g.stored.value[j], setting, of, turn)
            ridge = setting.listed if lists[j] else setting.ridge
            mine = (off.gradient[node], off.hessian[node])
            figures.append((node, "value", _of_value(above, weight, ridge, rate, mine, units[0], setting)))
        figures.append((node, "weight", (0.0, 1.0, *_snapped(weight - by, weight + by, units[1]))))
    numbers = np.array([found for _, _, found in figures]).reshape(-1, 4).T
    nodes = np.array([node for node, _, _ in figures], dtype=np.int64)
    steps, square = np.array(g.stored.value)[g.order], np.zeros(len(nodes))
    what = tuple(word for _, word, _ in figures)
    return TreeSums(turn, of, steps, nodes, numbers[0], numbers[1], square, numbers[2], numbers[3], what)


def _of_value(
    above: tuple[float, float],
    weight: float,
    ridge: NumberSpan,
    rate: NumberSpan,
    off: tuple[float, float],
    unit: float,
    setting: BoostingSetting,
) -> tuple[float, float, float, float]:
    """Return the coefficients of G and H, and the interval: what a leaf's value says.

    -rate G / (H + lambda) with the weight for H, which differs from the H of the division by kEpsilon and its rounding
    (SplitInfo). Where weights were rounded in print, H is left as a sum of its own.
    """
    value, wide = above
    if not setting.weight:
        more = 2 * EPSILON + 4 * UNIT * weight
        ends = [
            -v * h / r
            for v in (value - wide, value + wide)
            for h in (weight + ridge.low - more, weight + ridge.high + more)
            for r in (rate.low, rate.high)
        ]
        low, high = min(ends), max(ends)
        low, high = low - abs(low) * OFF - off[0], high + abs(high) * OFF + off[0]
        return 1.0, 0.0, *_snapped(low, high, unit)
    slope = value * 2 / (rate.low + rate.high)
    most = weight + setting.weight + ridge.high + off[1] + EPSILON
    ends = [-value * x / r for x in (ridge.low, ridge.high) for r in (rate.low, rate.high)]
    wide = wide / rate.low + abs(value) * (1 / rate.low - 1 / rate.high) + abs(slope) * OFF
    more = wide * most + abs(slope) * (off[1] + 2 * EPSILON) + off[0] + max(map(abs, ends)) * OFF
    return 1.0, slope, min(ends) - more, max(ends) + more


def _snapped(low: float, high: float, unit: float) -> tuple[float, float]:
    """Return the interval cut to multiples of a unit (0: none); as it is where there is none inside.

    All sums are such multiples and doubles (`Sizes`). Without one inside no rows fit, and the interval says so.
    """
    if unit and abs(low) < 2.0**52 * unit and abs(high) < 2.0**52 * unit:
        down, up = math.ceil(low / unit) * unit, math.floor(high / unit) * unit
        if down <= up:
            return down, up
    return low, high


def _gradient_sizes(
    groves: Sequence[Grove], proved: Mapping[int, Sequence[int]], setting: BoostingSetting
) -> list[tuple[Sizes, Sizes]]:
    """Return, per tree, the sizes of gradients and hessians that its rows can have: rough ones if they do."""
    per_round, start = len(setting.start), np.array(setting.start)
    places = [(*divmod(g.number, per_round), g.stored) for g in groves]
    out: list[tuple[Sizes, Sizes]] = []
    for boxes in (1, MAX_BOXES):
        found = zip(groves, _score_ranges(places, start, setting.value, boxes), strict=True)
        out = [_sizes(setting, reach, g, groves[0], proved) for g, reach in found]
        if all(one.exact for pair in out for one in pair):
            break
    return out


def _sizes(
    setting: BoostingSetting, reach: Reach, g: Grove, first: Grove, proved: Mapping[int, Sequence[int]]
) -> tuple[Sizes, Sizes]:
    """Return the sizes of gradients and hessians of all rows whose scores lie within `reach`.

    Sums of hessians are at most the tree's weights; of gradients: those of one label are p, of the other p - 1, and the
    first round says how many rows of each are in which leaf.
    """
    law, of = setting.law, g.number % len(setting.start)
    off = 1e-6 + abs(law.scale) * (law.score_error + law.start_error)
    if law.loss == "log_loss":
        odds = (law.scale * float(reach.low[0]), law.scale * float(reach.high[0]))
        ones, rows = np.array(proved[0]), np.array(first.stored.count)
        sides = (law.scale * reach.odds + off, (rows - ones, ones))
        total = law.scale * max(float((n * _shares(x)).sum()) for x, n in zip(*sides, strict=True))
    else:
        others = np.delete(np.stack([reach.low, reach.high]), of, axis=1)
        below, above = (
            float(own[of] - end.max() - math.log(np.exp(end - end.max()).sum()))
            for own, end in ((reach.low, others[1]), (reach.high, others[0]))
        )
        mine = sum(proved[of])
        odds, total = (below, above), float(max(mine, setting.rows - mine))
    least = float(min(_shares(np.array([odds[0] - off, -odds[1] - off]))))  # of p and of 1 - p
    size, more = law.scale if law.loss == "log_loss" else 1.0, 1 + 1e-6
    gradient = Sizes(least * size / more, size * more, total * more)
    curve = law.factor * size * size
    weights = sum(g.stored.weight) + len(g.stored.weight) * setting.weight
    return gradient, Sizes(curve * least * (1 - least) / more, curve / 4 * more, weights * more + 1e-9)


def _shares(odds: Floats) -> Floats:
    """Return 1 / (1 + exp(-odds))."""
    return 1 / (1 + np.exp(-np.clip(odds, -700.0, 700.0)))
