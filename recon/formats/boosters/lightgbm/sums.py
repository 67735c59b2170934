"""LightGBM's leaf values and leaf weights as sums of gradients, in intervals that hold whatever was rounded.

With G and H the sums of gradients and hessians over a leaf's rows its weight is H and its value -rate G / (H + lambda);
the starting score is added to the first tree's values, so that scores are sums of leaf values, in double and in this
order. Files print values and weights with 17 digits, parameters with 6.

Every bound is derived from LightGBM 4.7.0: src/objective/binary_objective.hpp, multiclass_objective.hpp (gradients in
double, stored as float), src/treelearner/feature_histogram.hpp (CalculateSplittedLeafOutput, SplitInfo),
include/LightGBM/tree.h (Shrinkage, AddBias), src/boosting/gbdt.cpp (TrainOneIter). The library's own sums:
`recon.formats.boosters.lightgbm.summing`. What files do not say is solved from the first round or stands in `why`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import Boosting, Tree, TreeSums
from recon.formats.boosters.lightgbm.counts import number
from recon.formats.boosters.lightgbm.file import Booster, Stored
from recon.formats.boosters.lightgbm.summing import EPSILON, UNIT, Sizes, errors
from recon.formats.boosters.shared import Grown, sums
from solvers.foundation.errors import Unsupported
from solvers.gradients.floating import rows_at
from solvers.statements.boosted import Gradients

Floats = NDArray[np.float64]
OFF = 2.0**-47  # relative: quotients and products of doubles, parameters read by LightGBM's own parser, and then some
SHORT = 5  # significant digits up to which a parameter printed with six is taken for the parameter itself
FULL = 13  # decimals: some value of a model has more, unless somebody rounded them


@dataclass(frozen=True)
class Span:
    """A number in [low, high]."""

    low: float
    high: float

    @classmethod
    def near(cls, value: float, relative: float) -> Span:
        """Return the numbers near a positive value."""
        return cls(value * (1 - relative), value * (1 + relative))

    def both(self, other: Span) -> Span:
        """Return the numbers in both, low > high where there are none."""
        return Span(max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True)
class Grove:
    """One tree that counts all the rows: its number in the file, as stored, as grown, as published."""

    number: int
    stored: Stored
    grown: Grown
    tree: Tree

    @property
    def order(self) -> list[int]:
        """Return the number in the file of every leaf, in the order of the nodes."""
        return [self.grown.children[i][0] for i in self.grown.leaves]

    def rows(self) -> list[int]:
        """Return the rows in every node."""
        at = zip(self.grown.leaves, self.order, strict=True)
        return sums(self.grown, {i: self.stored.count[j] for i, j in at})


@dataclass(frozen=True, eq=False)
class Setting:
    """What the trees of a model share: the law of gradients, starting scores, what was rounded in print.

    `ridge`: lambda, `listed`: lambda at leaves of splits by lists of categories, `onehot`: features up to so many
    categories are split by one of them, with `ridge`. `value`, `weight`: half a unit of the last printed place.
    """

    law: Gradients
    start: tuple[float, ...]
    ridge: Span
    listed: Span
    onehot: int
    value: float
    weight: float
    rows: int


def odd_parameter(booster: Booster) -> str | None:
    """Return why leaf values are no function of sums of plain gradients, None where nothing says so."""
    kind, params = booster.objective.partition(" ")[0], booster.params or {}
    if kind not in ("binary", "multiclass"):
        return f"the objective is '{kind or 'a function of its own'}'"
    if booster.average or params.get("boosting", "gbdt") not in ("gbdt", "gbrt", "goss"):
        return f"boosting is '{params.get('boosting', 'rf')}'"
    if params.get("device_type", "cpu") != "cpu":
        return f"sums of '{params['device_type']}' are not those of a processor"
    keys = ("lambda_l1", "max_delta_step", "path_smooth", "linear_tree", "use_quantized_grad", "is_unbalance")
    found = [key for key in keys if number(params, key, 0.0)]
    found += ["scale_pos_weight"] if number(params, "scale_pos_weight", 1.0) != 1 else []
    found += ["monotone_constraints"] if booster.monotone or params.get("monotone_constraints") else []
    found += ["num_machines"] if number(params, "num_machines", 1.0) > 1 else []
    return f"'{found[0]}' is set" if found else None


def boosting(booster: Booster, groves: Sequence[Grove], proved: Mapping[int, Sequence[int]], last: float) -> Boosting:
    """Return the model with what its leaf values say; `proved`: rows of a class per leaf of the first round's trees.

    From round `last` on rows were sampled. Raises `Unsupported` with the reason where leaf values cannot be used.
    Cost: linear in nodes.
    """
    reason = odd_parameter(booster)
    if reason is not None:
        raise Unsupported(reason)
    per_round, rows = booster.per_round, sum(groves[0].stored.count)
    if any(t not in proved for t in range(per_round)) or [g.number for g in groves[:per_round]] != [*range(per_round)]:
        raise Unsupported("the rows of each class in the first round are not proved")
    last = min(last, complete(booster, groves))
    value, weight = digits([g.stored.value for g in groves]), digits([g.stored.weight for g in groves])
    start = tuple(starting(booster, groves[t].stored, sum(proved[t]), rows) for t in range(per_round))
    law = law_of(booster, start, groves, value)
    params = booster.params or {}
    ridge, extra = (span(params.get(key), otherwise) for key, otherwise in (("lambda_l2", 0.0), ("cat_l2", 10.0)))
    listed = Span(ridge.low + extra.low, ridge.high + extra.high)
    onehot = int(number(params, "max_cat_to_onehot", 4.0))
    setting = Setting(law, start, ridge, listed, onehot, value, weight, rows)
    rate, setting = solved(booster, groves[:per_round], proved, setting)
    found = []
    low, high = np.zeros(per_round), np.zeros(per_round)
    reach, before = (np.array(start), np.array(start)), 0
    for g in groves:
        turn, of = divmod(g.number, per_round)
        if turn != before:
            reach, before = (low.copy(), high.copy()), turn
        values = np.array(g.stored.value)[g.order]
        own = rate if not turn else rate_of(g.stored, rate, value)
        use = turn < last
        found.append(tree_sums(booster, g, setting, reach, own) if use else TreeSums(turn, of, values, *nothing()))
        low[of] += values.min() - value - abs(values.min()) * OFF
        high[of] += values.max() + value + abs(values.max()) * OFF
    zeros = (0.0,) * per_round
    return Boosting(tuple(g.tree for g in groves), tuple(found), law, start, zeros, (*range(max(2, per_round)),))


def complete(booster: Booster, groves: Sequence[Grove]) -> float:
    """Return the first round of which some tree is not among those that count all the rows.

    A tree without a split adds its value to every score: 0 after the first round.
    """
    held = {g.number for g in groves}
    gone = [t for t, s in enumerate(booster.trees) if t not in held and (s.feature or s.start != 0)]
    return gone[0] // booster.per_round if gone else math.inf


def digits(lists: Sequence[Sequence[float]]) -> float:
    """Return half a unit of the last decimal place that any of the numbers has, 0 where they were not rounded."""
    places, many = 0, 0
    for numbers in lists:
        for x in numbers:
            mantissa, _, exponent = repr(x).partition("e")
            decimals = mantissa.partition(".")[2].rstrip("0")
            places, many = max(places, len(decimals) - int(exponent or 0)), many + 1
            if places >= FULL:
                return 0.0
    return 0.5 * 10.0**-places * (1 + OFF) if many > 1 else 0.0


def significant(x: float) -> int:
    """Return how many significant digits the shortest decimal form of a number has."""
    return len(repr(x).partition("e")[0].replace(".", "").replace("-", "").strip("0"))


def span(text: str | None, otherwise: float) -> Span:
    """Return the numbers that a parameter printed with six digits may stand for."""
    value = otherwise if text is None else number({"x": text}, "x", otherwise)
    return Span.near(value, OFF if significant(value) <= SHORT else 5.1e-6)


def starting(booster: Booster, tree: Stored, total: int, rows: int) -> float:
    """Return the score from which a class with so many rows starts: 0 if the first tree has no bias."""
    if booster.objective.startswith("multiclass"):
        return math.log(total / rows)
    if tree.rate != 1 or number(booster.params or {}, "boost_from_average", 1.0) == 0 or 2 * total == rows:
        return 0.0
    share = total / rows
    return math.log(share / (1 - share)) / sigmoid_of(booster)


def sigmoid_of(booster: Booster) -> float:
    """Return the factor of scores in a logistic loss."""
    words = dict(word.partition(":")[::2] for word in booster.objective.split())
    return number(words, "sigmoid", 1.0)


def law_of(booster: Booster, start: tuple[float, ...], groves: Sequence[Grove], off: float) -> Gradients:
    """Return how gradients follow from scores; `off`: rounding of each printed value.

    Binary: r = -y s / (1 + exp(y s F)), h = |r| (s - |r|) in double, exp within 4 ulp, s F rounded: r is off by
    |s F| u + 8 u relative, s - |r| by as much of s. Softmax: exp(F_k - max F) over their sum, p - 1 and 1 - p absolutely.
    """
    farthest = max(map(abs, start)) + sum(max(map(abs, g.stored.value)) for g in groves)
    turns = 1 + groves[-1].number // booster.per_round
    size = max(1.0, max(map(abs, start)))
    error, first = turns * off * (1 + OFF), size * 2.0**-50
    if booster.objective.startswith("multiclass"):
        k = booster.per_round
        far = UNIT * (k + 16 + min(farthest * 2, 1500.0))
        return Gradients("softmax", "float64", "float32", 1.0, k / (k - 1), far, 2 * far, error, first)
    s = sigmoid_of(booster)
    far = UNIT * (16 + min(s * farthest, 750.0))
    return Gradients("log_loss", "float64", "float32", s, 1.0, far, 16 * UNIT * max(1.0, s * s), error, first)


# ------------------------------------------------------------------ learning rate and lambda


def solved(
    booster: Booster, first: Sequence[Grove], proved: Mapping[int, Sequence[int]], setting: Setting
) -> tuple[Span, Setting]:
    """Return the learning rate of the first round, and the setting with lambda where the file does not say it.

    The rows of a class in the leaves give G, hence rate = -(value - start)(H + lambda) / G of every leaf.
    """
    leaves = [leaf for g in first for leaf in measured(booster, g, proved[g.number], setting)]
    rate = common(leaves, setting.ridge, setting.listed)
    if rate is None and booster.params is None:
        fit = by_pairs([leaf for leaf in leaves if not leaf.listed])
        if fit is not None:
            setting = replace(setting, ridge=fit, listed=Span(fit.low + 10 * (1 - OFF), fit.high + 10 * (1 + OFF)))
            rate = common(leaves, setting.ridge, setting.listed)
    if rate is None:
        raise Unsupported("one learning rate does not explain the first round's values")
    return rate, setting


@dataclass(frozen=True)
class Leaf:
    """A leaf of the first round: what its value is above the start, over -G (in a span), and its weight."""

    ratio: Span
    weight: Span
    listed: bool

    def rate(self, ridge: Span) -> Span:
        """Return the learning rates that explain its value."""
        low, high = self.weight.low + ridge.low, self.weight.high + ridge.high
        return Span(self.ratio.low * low * (1 - OFF), self.ratio.high * high * (1 + OFF))


def measured(booster: Booster, g: Grove, counts: Sequence[int], setting: Setting) -> list[Leaf]:
    """Return the leaves of a tree of the first round whose gradients do not cancel."""
    of, classes = g.number, max(2, booster.per_round)
    mine = 1 if setting.law.loss == "log_loss" else of
    found = rows_at(setting.law, np.array([setting.start]), of, classes, first=True).gradient
    other = 1 if mine == 0 else 0
    a, b = ((float(found.low[0, k]), float(found.high[0, k])) for k in (other, mine))
    out = []
    listed = by_list(booster, g, setting.onehot)
    for j, k in enumerate(counts):
        n, v, w = g.stored.count[j], g.stored.value[j], g.stored.weight[j]
        low, high = -((n - k) * a[1] + k * b[1]), -((n - k) * a[0] + k * b[0])
        low, high = low - abs(low) * OFF, high + abs(high) * OFF
        above, off = value_above(v, setting, of, 0)
        if low <= 0 <= high or abs(above) <= off or listed[j] is None:
            continue
        ends = [x / y for x in (above - off, above + off) for y in (low, high)]
        if min(ends) > 0:
            more = 2 * EPSILON + 4 * UNIT * w + setting.weight
            out.append(Leaf(Span(min(ends) * (1 - OFF), max(ends) * (1 + OFF)), Span(w - more, w + more), bool(listed[j])))
    return out


def common(leaves: Sequence[Leaf], ridge: Span, listed: Span) -> Span | None:
    """Return the learning rates that explain all the leaves, None where there are none."""
    found = Span(0.0, math.inf)
    for leaf in leaves:
        found = found.both(leaf.rate(listed if leaf.listed else ridge))
    return found if 0 < found.low <= found.high < math.inf else None


def by_pairs(leaves: Sequence[Leaf]) -> Span | None:
    """Return the lambdas with which the leaves of least and greatest weight have one learning rate."""
    if len(leaves) < 2:
        return None
    a, b = min(leaves, key=lambda x: x.weight.low), max(leaves, key=lambda x: x.weight.low)
    # x_a (w_a + l) = x_b (w_b + l): l = (x_b w_b - x_a w_a) / (x_a - x_b)
    below, above = a.ratio.low - b.ratio.high, a.ratio.high - b.ratio.low
    if below <= 0 <= above:
        return None
    top = (b.ratio.low * b.weight.low - a.ratio.high * a.weight.high) * (1 - OFF)
    end = (b.ratio.high * b.weight.high - a.ratio.low * a.weight.low) * (1 + OFF)
    ends = [x / y for x in (top, end) for y in (below, above)]
    low, high = min(ends) - abs(min(ends)) * OFF, max(ends) + abs(max(ends)) * OFF
    return Span(max(0.0, low), high) if high >= 0 else None


def rate_of(tree: Stored, first: Span, rounded: float) -> Span | None:
    """Return the learning rate of a later tree, printed with six digits; None where they do not say it.

    `first` is that of the first round, solved from its values (unless those were rounded in print).
    """
    if not rounded and float(f"{first.low:.6g}") <= tree.rate <= float(f"{first.high:.6g}"):
        return first
    return Span.near(tree.rate, OFF) if tree.rate > 0 and significant(tree.rate) <= SHORT else None


# ------------------------------------------------------------------ figures


def by_list(booster: Booster, g: Grove, onehot: int) -> list[bool | None]:
    """Return for every leaf of the file whether it hangs on a split by a list of categories (with cat_l2), None: unknown.

    Features of few categories are split by one of them, without cat_l2; feature_infos lists all bins, -1 among them.
    """
    out: list[bool | None] = [False] * len(g.stored.value)
    for split, links in zip(g.grown.splits, g.grown.children, strict=True):
        if split is None or split.test.values is None:
            continue
        bins = booster.infos.get(split.feature)
        many = None if bins is None else len(bins) > onehot
        for child in links:
            if g.grown.splits[child] is None:
                out[g.grown.children[child][0]] = many
    return out


def value_above(value: float, setting: Setting, of: int, turn: int) -> tuple[float, float]:
    """Return what a leaf adds to the score, and how far that is from rate times its own value at most.

    First round: start and value were added up, rounded once; the start is a logarithm within 2 ulp.
    """
    if turn:
        return value, setting.value + 1e-300
    start = setting.start[of]
    return value - start, setting.value + 2 * UNIT * abs(value) + 2.0**-50 * abs(start) + 1e-300


def nothing() -> tuple[NDArray[np.int64], Floats, Floats, Floats, Floats, Floats, tuple[str, ...]]:
    """Return the figures of a tree of which nothing is used."""
    none = np.zeros(0)
    return np.zeros(0, dtype=np.int64), none, none, none, none, none, ()


def tree_sums(
    booster: Booster, g: Grove, setting: Setting, reach: tuple[Floats, Floats], rate: Span | None
) -> TreeSums:
    """Return the figures of a tree's leaves: values (where the learning rate is known) and weights.

    `reach`: the least and greatest scores that rows can have before its round.
    """
    turn, of = divmod(g.number, booster.per_round)
    small, large = sizes(setting.law, reach, of)
    off = errors(g.grown, g.rows(), small, large)
    units = (small.unit if small.exact(setting.rows) else 0.0, large.unit if large.exact(setting.rows) else 0.0)
    lists = by_list(booster, g, setting.onehot)
    lines: list[tuple[int, float, float, float, float, str]] = []
    for node, j in zip(g.grown.leaves, g.order, strict=True):
        w, by_weight = g.stored.weight[j], off.hessian[node] + setting.weight
        if rate is not None and lists[j] is not None:
            above = value_above(g.stored.value[j], setting, of, turn)
            ridge = setting.listed if lists[j] else setting.ridge
            mine = (off.gradient[node], off.hessian[node])
            lines.append((node, *of_value(above, w, ridge, rate, mine, units[0], setting), "value"))
        lines.append((node, 0.0, 1.0, *snapped(w - by_weight, w + by_weight, units[1]), "weight"))
    node, gradient, hessian, low, high, what = zip(*lines, strict=True) if lines else ((),) * 6
    arrays = (np.array(gradient, dtype=np.float64), np.array(hessian, dtype=np.float64), np.zeros(len(lines)))
    ends = (np.array(low, dtype=np.float64), np.array(high, dtype=np.float64))
    steps = np.array(g.stored.value)[g.order]
    return TreeSums(turn, of, steps, np.array(node, dtype=np.int64), *arrays, *ends, tuple(what))


def of_value(
    above: tuple[float, float],
    weight: float,
    ridge: Span,
    rate: Span,
    off: tuple[float, float],
    unit: float,
    setting: Setting,
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
        return 1.0, 0.0, *snapped(low, high, unit)
    slope = value * 2 / (rate.low + rate.high)
    most = weight + setting.weight + ridge.high + off[1] + EPSILON
    ends = [-v * x / r for v in (value,) for x in (ridge.low, ridge.high) for r in (rate.low, rate.high)]
    wide = wide / rate.low + abs(value) * (1 / rate.low - 1 / rate.high) + abs(slope) * OFF
    more = wide * most + abs(slope) * (off[1] + 2 * EPSILON) + off[0] + max(map(abs, ends)) * OFF
    return 1.0, slope, min(ends) - more, max(ends) + more


def snapped(low: float, high: float, unit: float) -> tuple[float, float]:
    """Return the interval cut to multiples of a unit (0: none); as it is where there is none inside.

    All sums are such multiples and doubles (`Sizes`). Without one inside no rows fit, and the interval says so.
    """
    if unit and abs(low) < 2.0**52 * unit and abs(high) < 2.0**52 * unit:
        down, up = math.ceil(low / unit) * unit, math.floor(high / unit) * unit
        if down <= up:
            return down, up
    return low, high


def sizes(law: Gradients, reach: tuple[Floats, Floats], of: int) -> tuple[Sizes, Sizes]:
    """Return between which sizes the gradients and hessians lie of all rows whose scores lie within `reach`."""
    low, high = (law.scale * x for x in reach)
    if law.loss == "log_loss":
        odds = (float(low[0]), float(high[0]))
    else:
        others = np.delete(np.stack([low, high]), of, axis=1)
        odds = tuple(
            float(own - end.max() - math.log(np.exp(end - end.max()).sum()))
            for own, end in ((low[of], others[1]), (high[of], others[0]))
        )
    off = 1e-6 + abs(law.scale) * (law.score_error + law.start_error)
    least = min(share(odds[0] - off), share(-odds[1] - off))  # of p and of 1 - p
    size = law.scale if law.loss == "log_loss" else 1.0
    gradient = Sizes(least * size * (1 - 1e-6), size * (1 + 1e-6))
    curve = law.factor * size * size
    return gradient, Sizes(curve * least * (1 - least) * (1 - 1e-6), curve / 4 * (1 + 1e-6))


def share(odds: float) -> float:
    """Return 1 / (1 + exp(-odds))."""
    return 1 / (1 + math.exp(-max(-700.0, min(700.0, odds))))
