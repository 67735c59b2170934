"""Learning rate and lambda of a LightGBM model as intervals: printed with six digits, or solved from the first round.

Where the rows of each class in the leaves of the first round are proved, G is known for each of them, and every leaf's
value says rate / (H + lambda). Source: LightGBM 4.7.0, src/treelearner/feature_histogram.hpp
(CalculateSplittedLeafOutput), include/LightGBM/tree.h (Shrinkage, AddBias), src/io/config_auto.cpp (six digits).

How far LightGBM's own sums of gradients and hessians may be from the sums of the float32 numbers it adds.

LightGBM 4.7.0, src/treelearner: gradients and hessians are float32, sums are double. The root's sum runs over all rows,
in blocks if there are threads (leaf_splits.hpp). Every node holds a histogram per feature: that of the child with fewer
rows is summed anew, its most frequent bin is what the others leave of the node's sum (Dataset::FixHistogram), that of
the other child is its parent's minus its sibling's (feature_histogram.hpp, Subtract). A split adds bins up for one
child, the other gets the difference to the node's sum; kEpsilon is added to hessians on the way and taken off again.

*Exact case.* All gradients of a tree are float32 numbers of at least some size, hence multiples of one power of two,
`unit`. While no sum over some of the rows is above 2^53 units, every sum, difference and histogram bin is a double:
nothing is rounded, in whatever order and in however many threads. Only kEpsilon moves hessians off the multiples.

*Errors are not amplified.* Let e be the error of a node's sum. Bins but the most frequent one have errors of their own
sums alone; that bin has what they leave of e, so that a child's error is at most e plus what is rounded on its level
(u = 2^-53, a the rows of the nearest node above whose histograms were summed anew, A the sum of sizes over them): bins
2 a u A, the most frequent bin 4 a u A, adding bins up 2 a u A, and per level of differences a few u A. Adding m numbers
in any order is off by at most (m - 1) u / (1 - m u) times the sum of their sizes (Higham, "Accuracy and stability of
numerical algorithms", 2002, section 4.2).

How many rows of a class the leaves of LightGBM's first round have, proved from leaf values, weights and sizes.

Every row starts at the same score s (the log odds p of the class, or 0): its gradient is p - y and its hessian
p(1 - p) times a constant of the objective. A leaf of n rows with hessian sum H has the value s - r G / (H + lambda), so
that n p - G of its rows are of the class. r and lambda stand in a model file's parameters, not in a dump_model() JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import Tree
from recon.readers.formats.boosters.lightgbm.file import LightGBMFile, StoredLightGBMTree
from recon.readers.formats.boosters.shared import BoosterTree, integer_in, one_unknown, sums
from solvers.foundation.errors import Unsupported
from solvers.statements.gradients.boosted import Gradients, rows_at

SINGLE = 2.5e-7  # gradients and hessians are float32: four roundings, relative
SIX_DIGITS = 5e-6  # how parameters and values of inner nodes are printed, relative
MAX_STARTS = 64  # class totals that a root value of six digits may stand for


@dataclass(frozen=True, eq=False)
class Round:
    """One tree of the first round: (leaves,) sizes, hessian sums, values; whether a leaf hangs on a categorical split.

    `start` is the value of the root (six digits), `rate` the shrinkage that the tree names. `off`: how far values and
    weights may be off because somebody rounded them in print.
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    value: NDArray[np.float64]
    listed: NDArray[np.bool_]
    start: float
    rate: float
    off: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Objective:
    """How gradients arise: `factor` times p(1 - p) is the hessian; `log_share`: scores are log p, not log odds."""

    sigmoid: float = 1.0
    factor: float = 1.0
    log_share: bool = False

    def score(self, share: float) -> float:
        """Return the starting score of a class with this share of the rows."""
        return math.log(share) if self.log_share else math.log(share / (1 - share)) / self.sigmoid

    def share(self, score: float) -> float:
        """Return the share of a class from its starting score."""
        if self.log_share:
            return math.exp(min(score, 0.0))
        return 1 / (1 + math.exp(-max(-700.0, min(700.0, self.sigmoid * score))))

    def hessian(self, share: float) -> float:
        """Return the hessian of one row."""
        return self.factor * self.sigmoid**2 * share * (1 - share)


@dataclass(frozen=True)
class RateCandidates:
    """What is known of learning rate and regularisation: candidates (none: unknown)."""

    rates: tuple[float, ...]
    ridges: tuple[float, ...] = (0.0,)
    listed: tuple[float, ...] = (0.0, 10.0)
    sure: bool = False


def parameters(params: Mapping[str, str], rates: Sequence[float]) -> RateCandidates | None:
    """Return what a model file's parameters say; None where they make leaf values no function of the counts."""
    odd = ("lambda_l1", "max_delta_step", "path_smooth", "linear_tree", "use_quantized_grad", "is_unbalance")
    if any(number(params, key, 0.0) for key in odd) or params.get("monotone_constraints"):
        return None
    if number(params, "scale_pos_weight", 1.0) != 1:
        return None
    ridge, extra = number(params, "lambda_l2", 0.0), number(params, "cat_l2", 10.0)
    known = dict.fromkeys((number(params, "learning_rate", 0.1), *rates))
    return RateCandidates(tuple(known), (ridge,), (ridge, ridge + extra), True)


def number(params: Mapping[str, str], key: str, otherwise: float) -> float:
    """Return a parameter as a number."""
    try:
        found = float(params.get(key, otherwise))
    except ValueError:
        return otherwise
    return found if math.isfinite(found) else otherwise


def class_counts(tree: Round, objective: Objective, known: RateCandidates) -> tuple[int, ...] | None:
    """Return the rows of the class per leaf, None where they are not proved to be the only whole numbers."""
    try:
        with np.errstate(all="raise", under="ignore"):
            found = _explanations(tree, objective, known)
    except ArithmeticError:  # figures too large, or too many rows for float32
        return None
    return found.pop() if len(found) == 1 else None


def _explanations(tree: Round, objective: Objective, known: RateCandidates) -> set[tuple[int, ...]]:
    """Return all counts per leaf that explain the tree."""
    n = int(tree.rows.sum())
    found: set[tuple[int, ...]] = set()
    for total in _starts(tree, objective, n):
        share = total / n
        for counts in _solutions(tree, objective, known, share, objective.score(share), total):
            if sum(counts) == total:
                found.add(counts)
    if not objective.log_share and (not found or tree.rate != 1):
        # without boost_from_average everybody starts at 0, and any number of rows may be of the class
        found |= set(_solutions(tree, objective, known, 0.5, 0.0, None))
    return found


def _starts(tree: Round, objective: Objective, n: int) -> range:
    """Return the class totals whose starting score is printed as the root's value."""
    off = SIX_DIGITS * abs(tree.start) + 2e-7
    low, high = objective.share(tree.start - off) * n, objective.share(tree.start + off) * n
    first, last = max(1, math.ceil(low - 1e-6)), min(n - 1, math.floor(high + 1e-6))
    return range(first, last + 1) if last - first < MAX_STARTS else range(0)


def _solutions(
    tree: Round, objective: Objective, known: RateCandidates, share: float, start: float, total: int | None
) -> list[tuple[int, ...]]:
    """Return the counts per leaf that explain all its leaves from one starting score."""
    rows = tree.rows.astype(np.float64)
    h = objective.hessian(share)
    if bool((np.abs(tree.weight - rows * h) > rows * h * 4 * SINGLE + 1e-9 + tree.off[1]).any()):
        return []
    base, step = rows * share, (tree.value - start) / objective.sigmoid
    rates = (tree.rate,) if total is None else known.rates
    off = tree.off[0] / objective.sigmoid
    if not rates or (not known.sure and total is None):
        return _by_trial(tree, base, step, rates) if not off else []
    found = [c for rate in rates if (c := _unique_counts(tree, base, step, rate, known, off)) is not None]
    return found if found or known.sure or off else _by_trial(tree, base, step, rates)


def _by_trial(
    tree: Round, base: NDArray[np.float64], step: NDArray[np.float64], rates: Sequence[float]
) -> list[tuple[int, ...]]:
    """Return the counts for whatever learning rate (none given) or lambda makes all of them whole."""
    error: NDArray[np.float64] = SINGLE * tree.rows.astype(np.float64) + 1e-6
    if rates and rates[0] > 0:  # lambda is unknown: base + step H / rate + step lambda / rate; 0 is tried by itself
        fixed = base + step * tree.weight / rates[0]
        error = error + SIX_DIGITS * np.abs(fixed - base)
        zero = _unique_counts(tree, base, step, rates[0], RateCandidates(tuple(rates)))
        found = {tuple(c.tolist()) for c in one_unknown(fixed, step / rates[0], tree.rows, error)}
        return list(found | ({zero} if zero is not None else set()))
    return [tuple(c.tolist()) for c in one_unknown(base, step * tree.weight, tree.rows, error)]


def _unique_counts(
    tree: Round,
    base: NDArray[np.float64],
    step: NDArray[np.float64],
    rate: float,
    known: RateCandidates,
    off: float = 0.0,
) -> tuple[int, ...] | None:
    """Return the counts for one learning rate, None unless each leaf has exactly one whole number; steps are `off`."""
    if rate <= 0:
        return None
    out = []
    ridges = [known.listed if listed else known.ridges for listed in tree.listed.tolist()]
    figures = (tree.rows.tolist(), tree.weight.tolist(), base.tolist(), step.tolist(), ridges)
    for n, weight, start, by, lambdas in zip(*figures, strict=True):
        options = set()
        for ridge in lambdas:
            moved = by * (weight + ridge) / rate
            rounded = (off * (weight + ridge) + (abs(by) + off) * tree.off[1]) / rate
            count = integer_in(start + moved, SINGLE * n + SIX_DIGITS * abs(moved) + 1e-6 + rounded)
            if count is not None and 0 <= count <= n:
                options.add(count)
        if len(options) != 1:
            return None
        out.append(options.pop())
    return tuple(out)


UNIT = 2.0**-53
EPSILON = 1.2e-15  # above kEpsilon = 1e-15f
MORE = 1.01  # 1 / (1 - m u), and the rounding of what is computed here


@dataclass(frozen=True)
class Sizes:
    """What is known of all gradients (or hessians) of a tree: float32 numbers, in size between `least` and `most`.

    No sum over some of the rows is greater in size than `total`.
    """

    least: float
    most: float
    total: float

    @property
    def unit(self) -> float:
        """Return a power of two of which all of them are multiples."""
        return math.ldexp(1.0, max(-149, math.frexp(self.least)[1] - 24) if self.least > 0 else -149)

    @property
    def exact(self) -> bool:
        """Return whether no sum over rows is rounded."""
        return self.total <= 2.0**53 * self.unit


@dataclass(frozen=True)
class Errors:
    """How far a tree's stored sums may be from those of its rows, per node."""

    gradient: list[float]
    hessian: list[float]


def errors(grown: BoosterTree, rows: Sequence[int], gradient: Sizes, hessian: Sizes) -> Errors:
    """Return the errors of a tree's nodes, `rows` (nodes,) in them; children stand behind their parents."""
    return Errors(_of_gradients(grown, rows, gradient), _of_hessians(grown, rows, hessian))


def _of_gradients(grown: BoosterTree, rows: Sequence[int], of: Sizes) -> list[float]:
    """Return the errors of the sums of gradients per node."""
    return [0.0] * len(rows) if of.exact else _rounding_errors(grown, rows, of.most, 0.0)


def _of_hessians(grown: BoosterTree, rows: Sequence[int], of: Sizes) -> list[float]:
    """Return the errors of the sums of hessians per node.

    In the exact case only kEpsilon and its consequences are rounded: per level at most twelve times u H at a split, and
    six per level in what histograms hold beside their node's sum.
    """
    if not of.exact:
        return _rounding_errors(grown, rows, of.most, 8 * EPSILON)
    out, beside = [0.0] * len(rows), [0.0] * len(rows)
    for i, (split, links) in enumerate(zip(grown.splits, grown.children, strict=True)):
        if split is None:
            continue
        size = UNIT * of.most * rows[i] * MORE
        for child in links:
            out[child] = out[i] + beside[i] + 6 * EPSILON + 12 * size
            beside[child] = beside[i] + EPSILON + 6 * size
    return out


def _rounding_errors(grown: BoosterTree, rows: Sequence[int], most: float, more: float) -> list[float]:
    """Return errors of sums per node where every addition may be rounded; `more` is added on every level."""
    out = [MORE * rows[0] * UNIT * rows[0] * most] * len(rows)
    anew, depth = list(rows[:1]) * len(rows), [0] * len(rows)
    for i, (split, links) in enumerate(zip(grown.splits, grown.children, strict=True)):
        if split is None:
            continue
        off = MORE * UNIT * most * anew[i] * (8 * anew[i] + 12 * depth[i] + 24) + more
        for child, other in (links, links[::-1]):
            out[child], depth[child] = out[i] + off, depth[i] + 1
            anew[child] = rows[child] if rows[child] < rows[other] else anew[i]
    return out


OFF = 2.0**-49  # relative: eight roundings of quotients, sums and products of doubles, and as much again
READ = 2.0**-47  # relative: parameters read by LightGBM's own parser
SIX = 5.1e-6  # relative: six digits
SEVERAL = 3  # trees of one rate
PRINTED_DIGITS = 5  # significant digits up to which a parameter printed with six is taken for the parameter itself
FINE = 7  # significant digits that only the JSON form of a model has that was never read back from a text
FULL = 13  # decimals: some value of a model has more, unless somebody rounded them


@dataclass(frozen=True)
class NumberSpan:
    """A number in [low, high]."""

    low: float
    high: float

    @classmethod
    def near(cls, value: float, relative: float) -> NumberSpan:
        """Return the numbers near a positive value."""
        return cls(value * (1 - relative), value * (1 + relative))

    def both(self, other: NumberSpan) -> NumberSpan:
        """Return the numbers in both, low > high where there are none."""
        return NumberSpan(max(self.low, other.low), min(self.high, other.high))


@dataclass(frozen=True)
class Grove:
    """One tree that counts all the rows: its number in the file, as stored, as grown, as published."""

    number: int
    stored: StoredLightGBMTree
    grown: BoosterTree
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
class BoostingSetting:
    """What the trees of a model share: the law of gradients, starting scores, what was rounded in print.

    `ridge`: lambda, `listed`: lambda at leaves of splits by lists of categories, `onehot`: features up to so many
    categories are split by one of them, with `ridge`. `value`, `weight`: half a unit of the last printed place.
    """

    law: Gradients
    start: tuple[float, ...]
    ridge: NumberSpan
    listed: NumberSpan
    onehot: int
    value: float
    weight: float
    rows: int


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


def _significant(x: float) -> int:
    """Return how many significant digits the shortest decimal form of a number has."""
    return len(repr(x).partition("e")[0].replace(".", "").replace("-", "").strip("0"))


def span(text: str | None, otherwise: float) -> NumberSpan:
    """Return the numbers that a parameter printed with six digits may stand for."""
    value = otherwise if text is None else number({"x": text}, "x", otherwise)
    return NumberSpan.near(value, READ if _significant(value) <= PRINTED_DIGITS else SIX)


def solve_rate(
    booster: LightGBMFile, first: Sequence[Grove], proved: Mapping[int, Sequence[int]], setting: BoostingSetting
) -> tuple[NumberSpan, BoostingSetting]:
    """Return the learning rate of the first round, and the setting with lambda where the file does not say it.

    The rows of a class in the leaves give G, hence rate = -(value - start)(H + lambda) / G of every leaf.
    """
    leaves = [leaf for g in first for leaf in _first_leaves(booster, g, proved[g.number], setting)]
    rate, ridge = _common(leaves, setting.ridge, setting.listed), setting.ridge
    vague = ridge.high - ridge.low > SIX * ridge.high
    fit = _by_pairs([leaf for leaf in leaves if not leaf.listed]) if rate is None or vague else None
    if fit is not None:  # printed with too few digits, or not at all
        shift = NumberSpan(setting.listed.low - ridge.low, setting.listed.high - ridge.high)
        found = fit if booster.params is None else fit.both(NumberSpan.near((ridge.low + ridge.high) / 2, SIX))
        if found.low <= found.high:
            again = replace(setting, ridge=found, listed=NumberSpan(found.low + shift.low, found.high + shift.high))
            better = _common(leaves, again.ridge, again.listed)
            rate, setting = (rate, setting) if better is None else (better, again)
    if rate is None:
        raise Unsupported("one learning rate does not explain the first round's values")
    return rate, setting


@dataclass(frozen=True)
class FirstLeaf:
    """A leaf of the first round: what its value is above the start, over -G (in a span), and its weight."""

    ratio: NumberSpan
    weight: NumberSpan
    listed: bool

    def rate(self, ridge: NumberSpan) -> NumberSpan:
        """Return the learning rates that explain its value."""
        low, high = self.weight.low + ridge.low, self.weight.high + ridge.high
        return NumberSpan(self.ratio.low * low * (1 - OFF), self.ratio.high * high * (1 + OFF))


def _first_leaves(booster: LightGBMFile, g: Grove, counts: Sequence[int], setting: BoostingSetting) -> list[FirstLeaf]:
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
        if low <= 0 <= high or listed[j] is None:
            continue
        ends = [x / y for x in (above - off, above + off) for y in (low, high)]
        if min(ends) > 0:
            more = 2 * EPSILON + 4 * UNIT * w + setting.weight
            out.append(
                FirstLeaf(
                    NumberSpan(min(ends) * (1 - OFF), max(ends) * (1 + OFF)),
                    NumberSpan(w - more, w + more),
                    bool(listed[j]),
                )
            )
    return out


def _common(leaves: Sequence[FirstLeaf], ridge: NumberSpan, listed: NumberSpan) -> NumberSpan | None:
    """Return the learning rates that explain all the leaves, None where there are none."""
    found = NumberSpan(0.0, math.inf)
    for leaf in leaves:
        found = found.both(leaf.rate(listed if leaf.listed else ridge))
    return found if 0 < found.low <= found.high else None


def _by_pairs(leaves: Sequence[FirstLeaf]) -> NumberSpan | None:
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
    return NumberSpan(max(0.0, low), high) if high >= 0 else None


def rate_of(booster: LightGBMFile, tree: StoredLightGBMTree, first: NumberSpan, rounded: float) -> NumberSpan:
    """Return the learning rate of a later tree: that of the first round if it is printed alike, or as it is printed.

    Six digits are kept; fewer of them are taken for the rate itself where several trees have them (rates may be
    scheduled). `first` is solved from the first round's values, unless they were `rounded` in print.
    """
    if not rounded and float(f"{first.low:.6g}") <= tree.rate <= float(f"{first.high:.6g}"):
        return first
    places, several = _significant(tree.rate), sum(t.rate == tree.rate for t in booster.trees) >= SEVERAL
    return NumberSpan.near(tree.rate, READ if places > FINE or (several and places <= PRINTED_DIGITS) else SIX)


def by_list(booster: LightGBMFile, g: Grove, onehot: int) -> list[bool | None]:
    """Return for every leaf of the file whether it hangs on a split by listed categories (with cat_l2); None: unknown.

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


def value_above(value: float, setting: BoostingSetting, of: int, turn: int) -> tuple[float, float]:
    """Return what a leaf adds to the score, and how far that is from rate times its own value at most.

    First round: start and value were added up, rounded once; the start is a logarithm within 2 ulp.
    """
    if turn:
        return value, setting.value + 1e-300
    start = setting.start[of]
    return value - start, setting.value + 2 * UNIT * abs(value) + 2.0**-50 * abs(start) + 1e-300
