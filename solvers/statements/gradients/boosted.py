"""What the trees of a boosted model publish beside counts: sums of gradients over rows, in intervals.

A row's gradient and hessian in a round follow from its label and its raw scores, the sums of what the leaves of earlier
trees added. A leaf's value is a function of the sums over its rows, so that it is a linear statement on the numbers of
rows per cell (one leaf of every tree) and label, with coefficients that the file itself determines.

Source: Friedman, "Greedy function approximation", Annals of Statistics 29, 2001; Chen, Guestrin, "XGBoost", KDD 2016,
eq. 5; docs/mathematics.md, "Boosted models".

Gradients and hessians per raw score and label as intervals of doubles: for search, at the speed of numpy.

The exact intervals that proofs are checked with are those of `solvers.statements.gradients.enclosed`; these contain
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Loss = Literal["log_loss", "softmax", "squared_error"]
Precision = Literal["float64", "float32"]


@dataclass(frozen=True, slots=True)
class Gradients:
    """How a library computes a row's gradient g and hessian h from its raw scores F and label y.

    `log_loss` (one score, labels 0 and 1): p = 1 / (1 + exp(-scale F)), g = scale (p - y), h = factor scale² p (1 - p).
    `softmax` (a score per class): p = softmax(F)_k, g_k = p_k - [y = k], h_k = factor p_k (1 - p_k).
    `squared_error` (a real target): g = F - y, h = 1.

    What is computed lies within `relative` times its size plus `absolute` of the true g and h, and is then rounded to
    the nearest number of `rounded` precision. Scores add up in `scores` precision, each sum rounded; `score_error` is
    how far a score may be off by then (what the file does not hold to the last bit), `start_error` one before the
    first round.

    `stages` float32 (log loss, scale and factor 1): the numbers are those of single precision, rounded step by step:
    e = exp(min(-F, 88.7)), within `relative` of its size before it is rounded; p = 1 / (1 + e), g = p - y,
    h = max(p (1 - p), 1e-16). `absolute` and `rounded` are not used.
    """

    loss: Loss
    scores: Precision = "float64"
    rounded: Precision = "float64"
    scale: float = 1.0
    factor: float = 1.0
    relative: float = 0.0
    absolute: float = 0.0
    score_error: float = 0.0
    start_error: float = 0.0
    stages: Precision = "float64"


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """One tree: the leaves are the regions of the partition that is block `block` of the release, in its order.

    `step[j]` is what leaf j adds to score number `of` (regression, two classes: 0) when round `round` ends; trees of
    one round see the scores before it. Figure i is about the rows in leaves `leaf[start[i]:start[i + 1]]`:
    low[i] <= gradient[i] Σg + hessian[i] Σh + square[i] Σg² <= high[i], exactly as these doubles stand.
    """

    block: int
    round: int
    of: int
    step: NDArray[np.float64]
    start: NDArray[np.int64]
    leaf: NDArray[np.int32]
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]
    square: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.low)

    def members(self, i: int) -> NDArray[np.int32]:
        """Return the leaves that figure i is about."""
        return self.leaf[self.start[i] : self.start[i + 1]]


@dataclass(frozen=True, eq=False)
class Boosted:
    """A boosted model over all the rows, none of them weighted; trees in the order of their rounds.

    `start`: the scores (one, or one per class) from which the gradients of the first round follow; `base`: those to
    which steps add up (LightGBM's first tree contains the start: 0). `labels[k]`: the label index of class k (two
    classes: of 0 and 1), no row has another label; () where the target is a number. `left_out`: a line beside answers
    that do not use it.
    """

    name: str
    gradients: Gradients
    start: tuple[float, ...]
    base: tuple[float, ...]
    labels: tuple[int, ...]
    trees: tuple[BoostedTree, ...]

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """Return the blocks of the trees."""
        return tuple(tree.block for tree in self.trees)

    @property
    def left_out(self) -> str:
        """Return what answers from counts alone leave out."""
        return f"{self.name}: the leaf values say more than what is used of them"

    def __len__(self) -> int:
        return sum(map(len, self.trees))


Floats = NDArray[np.float64]
OWN = 2.0**-49  # relative: exp, a sum, a quotient and a product of doubles, and then some


@dataclass(frozen=True, eq=False)
class Interval:
    """Intervals of doubles, `low` <= `high`, of any shape."""

    low: Floats
    high: Floats

    @property
    def middle(self) -> Floats:
        """Return a double inside every interval."""
        return self.low + (self.high - self.low) / 2

    @property
    def radius(self) -> Floats:
        """Return how far the ends are from `middle`, rounded up."""
        middle = self.middle
        found: Floats = np.nextafter(np.maximum(self.high - middle, middle - self.low), np.inf)
        return np.where(self.high == self.low, 0.0, found)


@dataclass(frozen=True, eq=False)
class RowGradients:
    """What a row at every point contributes in one tree: `gradient` (points, classes) by class, `hessian` (points,)."""

    gradient: Interval
    hessian: Interval

    @property
    def square(self) -> Interval:
        """Return the squares of the gradients."""
        a, b = self.gradient.low**2, self.gradient.high**2
        low = np.where((self.gradient.low <= 0) & (self.gradient.high >= 0), 0.0, np.minimum(a, b))
        return _widened(low, np.maximum(a, b), 2.0**-52, 0.0)


def by_tree(boosted: Boosted, leaves: NDArray[np.int64]) -> Iterator[tuple[BoostedTree, RowGradients]]:
    """Yield every tree with what rows at every point contribute; `leaves` (points, trees) has each point's leaves.

    Of a model of classes only. Fewer columns than trees: the first trees. Cost: points times trees times classes.
    """
    points, known = leaves.shape
    sums = np.tile(np.array(boosted.base, dtype=np.float64), (points, 1))
    before = np.tile(np.array(boosted.start, dtype=np.float64), (points, 1))
    last = 0
    for t, tree in enumerate(boosted.trees[:known]):
        if tree.round != last:
            before, last = sums.copy(), tree.round
        yield tree, rows_at(boosted.gradients, before, tree.of, len(boosted.labels), tree.round == 0)
        total = sums[:, tree.of] + tree.step[leaves[:, t]]
        sums[:, tree.of] = total.astype(np.float32) if boosted.gradients.scores == "float32" else total


def rows_at(law: Gradients, scores: Floats, of: int, classes: int, first: bool) -> RowGradients:
    """Return what rows with these scores (points, scores) contribute to trees of score number `of`."""
    error = law.start_error if first else law.score_error
    if law.loss == "squared_error":
        raise ValueError("targets of regression are not classes")
    if law.stages == "float32":
        return _single_stages(law, scores[:, 0], error)
    if law.loss == "log_loss":
        share, other = _sigmoid(law.scale * scores[:, 0], abs(law.scale) * error)
    else:
        share, other = _softmax(scores, of, error)
    # p - y without cancellation: p of the other classes, -(1 - p) of the class itself
    mine = classes - 1 if law.loss == "log_loss" else of
    low, high = np.repeat(share.low[:, None], classes, axis=1), np.repeat(share.high[:, None], classes, axis=1)
    low[:, mine], high[:, mine] = -other.high, -other.low
    size = law.scale if law.loss == "log_loss" else 1.0
    gradient = _computed_interval(law, _widened(size * low, size * high, 2.0**-52, 0.0))
    h = law.factor * size * size
    hessian = _widened(h * share.low * other.low, h * share.high * other.high, 2.0**-50, 0.0)
    return RowGradients(gradient, _computed_interval(law, Interval(np.maximum(hessian.low, 0.0), hessian.high)))


def _single_stages(law: Gradients, scores: Floats, error: float) -> RowGradients:
    """Return what rows contribute whose gradients are computed step by step in single precision: monotone steps.

    Raises `ValueError` for other laws than log loss of scale and factor 1.
    """
    if law.loss != "log_loss" or law.scale != 1 or law.factor != 1:
        raise ValueError("single precision step by step is that of log loss, not scaled")
    one, off = np.float32(1), error + 2.0**-52 * np.abs(scores)
    with np.errstate(over="ignore", under="ignore"):
        low, high = (np.exp(np.minimum(-end, float(np.float32(88.7)))) for end in (scores + off, scores - off))
        odds = _widened(low, high, (law.relative + OWN) * (1 + OWN), 1e-300)
        least, most = (one / (one + odds.high.astype(np.float32))), (one / (one + odds.low.astype(np.float32)))
        floor = np.float32(1e-16)
        curve = (np.maximum(a * (one - b), floor).astype(np.float64) for a, b in ((least, most), (most, least)))
    ends = (np.stack([p, p - one], axis=1).astype(np.float64) for p in (least, most))
    return RowGradients(Interval(*ends), Interval(*curve))


def _sigmoid(scores: Floats, error: float) -> tuple[Interval, Interval]:
    """Return p = 1 / (1 + exp(-F)) and 1 - p for scores that are off by at most the error."""
    with np.errstate(over="ignore", under="ignore"):
        low, high = scores - error - 2.0**-52 * np.abs(scores), scores + error + 2.0**-52 * np.abs(scores)
        share = _widened(1 / (1 + np.exp(-low)), 1 / (1 + np.exp(-high)), OWN, 1e-300)
        other = _widened(1 / (1 + np.exp(high)), 1 / (1 + np.exp(low)), OWN, 1e-300)
    return _within_one(share), _within_one(other)


def _softmax(scores: Floats, of: int, error: float) -> tuple[Interval, Interval]:
    """Return the share of one class by softmax, and 1 less it, for scores that are off by at most the error."""
    others = np.delete(scores, of, axis=1)
    top = others.max(axis=1)
    with np.errstate(over="ignore", under="ignore"):
        odds = scores[:, of] - top - np.log(np.exp(others - top[:, None]).sum(axis=1))
    off = 2 * error + 2.0**-48 * float(np.abs(scores).max(initial=1.0) + scores.shape[1])
    return _sigmoid(odds, off)


def _widened(low: Floats, high: Floats, relative: float, absolute: float) -> Interval:
    """Return intervals with more room on both sides."""
    return Interval(low - np.abs(low) * relative - absolute, high + np.abs(high) * relative + absolute)


def _within_one(share: Interval) -> Interval:
    """Return shares cut to [0, 1]."""
    return Interval(np.clip(share.low, 0.0, 1.0), np.clip(share.high, 0.0, 1.0))


def _computed_interval(law: Gradients, true: Interval) -> Interval:
    """Return where the numbers lie that a library computes for true ones in an interval."""
    found = _widened(true.low, true.high, law.relative, law.absolute)
    if law.rounded == "float64":
        return _widened(found.low, found.high, 2.0**-53, 0.0)
    return Interval(found.low.astype(np.float32).astype(np.float64), found.high.astype(np.float32).astype(np.float64))


@dataclass(frozen=True, eq=False)
class Entries:
    """The coefficients of a tree's figures that are not zero for being elsewhere: one entry per figure and point in it.

    `figure`, `point` are (entries,), by figure, then by point; `middle` ± `radius` are (entries, classes).
    """

    figure: NDArray[np.int64]
    point: NDArray[np.int64]
    middle: Floats
    radius: Floats


def entries(tree: BoostedTree, rows: RowGradients, leaf: NDArray[np.int64]) -> Entries:
    """Return the coefficients of a tree's figures for points in the given leaves of it (points,), sparse."""
    inside = np.zeros((len(tree), len(tree.step)), dtype=bool)
    inside[np.repeat(np.arange(len(tree)), np.diff(tree.start)), tree.leaf] = True
    figure, point = np.nonzero(inside[:, leaf])
    h, square = rows.hessian, rows.square
    parts = (
        (tree.gradient, rows.gradient.middle, rows.gradient.radius),
        (tree.hessian, h.middle[:, None], h.radius[:, None]),
        (tree.square, square.middle, square.radius),
    )
    shape = (len(figure), rows.gradient.low.shape[1])
    middle, size, radius = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for factor, m, r in parts:
        if factor.any():
            f = factor[figure][:, None]
            term = f * m[point]
            middle += term
            size += np.abs(term)
            radius += np.abs(f) * r[point]
    return Entries(figure, point, middle, radius * (1 + 2.0**-50) + size * 2.0**-50)
