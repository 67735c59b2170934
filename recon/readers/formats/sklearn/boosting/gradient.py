"""GradientBoosting*: what leaf values, means and variances say of sums of gradients, in rigorous intervals.

scikit-learn 1.9.1, sklearn/ensemble/_gb.py, sklearn/_loss/{_loss.pyx.tp,link.py}; u = 2^-53.

Scores. `_init_raw_predictions` takes the link of stored shares of classes, or a stored constant,
`_update_terminal_regions` adds learning_rate * value, product and sum rounded: `step` is that product, bit for bit.
Logarithms of shares are the one number that the file does not hold: another scipy or libm may have computed another
last bit, and sums of steps may round differently from then on (`score_error`).

Gradients. `cgradient_half_binomial`: (1 - y - y e) / (1 + e), e = exp(-F): exp is off by at most 3 units in the last
place (glibc: below 1), which enters with p or 1 - p, then a sum and a quotient: off by at most 8 u of their size.
`CyHalfMultinomialLoss.gradient`: e_k = exp(F_k - max F) is off by d = (6 + R) u of its size for scores at most R apart,
p_k = e_k / Σe by 2 d of p (1 - p) and (K + 1) u of p, and p_k - 1 by u more. `cgradient_half_squared_error`: F - y,
rounded.

Residuals and their squares: `recon.readers.formats.sklearn.boosting.gradient`.

Leaf values of classifiers. `compute_update`: a quotient of two averages `np.average(..., weights=1)`, that is of sums
by pairs (d additions, `pairwise`) over the exact n: of r, and of h' = p'(1 - p') with p' = y - r. As these are off
by 6 u p (1 - p) + 3 u each, h' is off by at most 10 u h + 5 u (two classes), or by what `Rough` says. With v the value:
|Σr - v Σh| <= d u Σ|r| + |v| Σh (d + 4 + 10) u + 5 u n |v|. |v| Σh is at most |v| n / 4, and Σ|r| up to rounding.
Of K > 2 classes the value is (K - 1) / K times that: three roundings more.

What values and impurities of GradientBoosting's trees say of residuals in their nodes, in rigorous intervals.

scikit-learn 1.9.1, sklearn/tree/_criterion.pyx, `RegressionCriterion`, `MSE`; u = 2^-53. In a node of n rows with
residuals r = -g: S = Σr, Q = Σr², A = Σ|r|, and V = Q - S²/n is n times the impurity, up to rounding (`variances`):

- sums of the root are taken one term after the other (`init`): S is off by n u A, Q by (n + 2) u Q; so is S where a
  node publishes it, n times its value (`init` again), two roundings more;
- S of a split's left side is taken so as well, or as the node's minus the right side's rows where these are fewer
  (`update`), Q always (`children_impurity`); those of the right side are the node's minus the left side's;
- V is off by what Q is, 2 |S| / n times what S is, its square over n, and roundings: u (Q + 4 S²/n + V), pow(x, 2)
  being off by one unit in the last place.

The means of residuals of leaves are overwritten by leaf values (`_update_terminal_regions`), but follow (`pairs`): V of
a node exceeds that of its children by D = (S_L - n_L/n S)² n / (n_L n_R): S_L = n_L/n S ± sqrt(D n_L n_R / n).
Which of the two it is follows from leaf values v = S / H: H lies between 0 and n / 4, and as |r| = r² + h for
log loss, (Q + H)² = A² <= n Q by Cauchy and Schwarz.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import TreeSums
from recon.readers.formats.sklearn.boosting.draft import (
    OWN,
    UNIT,
    BoostedLeafValues,
    Floats,
    GradientFigures,
    ScoreEnds,
    pairwise,
    rounding_interval,
    stacked,
)
from recon.readers.formats.sklearn.trees.arrays import TreeArrays
from recon.readers.stored.pickled.pickles import Thing
from solvers.statements.gradients.boosted import Gradients


@dataclass(frozen=True, eq=False)
class Residuals:
    """Bounds per node: S in [low, high] where `known`, V within `error` of `variance`, Σ|r| at most `absolute`."""

    low: Floats
    high: Floats
    known: NDArray[np.bool_]
    variance: Floats
    error: Floats
    absolute: Floats

    def squares(self, rows: Floats) -> tuple[Floats, Floats]:
        """Return the ends of Q = V + S²/n of nodes of so many rows; only where S is known."""
        low, high = np.where(self.known, self.low, 0.0), np.where(self.known, self.high, 0.0)
        least = np.where((low < 0) & (high > 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
        most = np.maximum(np.abs(low), np.abs(high))
        low, high = self.variance + least**2 / rows, self.variance + most**2 / rows
        return rounding_interval(low, self.error + 8 * UNIT * high)[0], rounding_interval(
            high, self.error + 8 * UNIT * high
        )[1]


def _residuals(tree: TreeArrays, mean: Floats, cap: float) -> Residuals:
    """Return what means say; `mean` bounds |S| / n, `cap` every |r|.

    Without a cap (a regression) values are means everywhere, else S of leaves is not known yet.
    """
    n = tree.rows.astype(np.float64)
    variance, error, absolute = _variances(tree, mean, cap)
    total = n * tree.value[:, 0]
    low, high = rounding_interval(total, UNIT * (n * absolute + 3 * np.abs(total)))
    known = ~tree.leaf | bool(np.isinf(cap))
    return Residuals(np.where(known, low, -np.inf), np.where(known, high, np.inf), known, variance, error, absolute)


def _variances(tree: TreeArrays, mean: Floats, cap: float) -> tuple[Floats, Floats, Floats]:
    """Return V per node, how far it may be off, and an upper bound on Σ|r|."""
    n = tree.rows.astype(np.float64)
    inner = np.flatnonzero(~tree.leaf)
    left, right = tree.left[inner], tree.right[inner]
    above = n.copy()
    above[left], above[right] = n[inner], n[inner]
    square = np.minimum(cap * cap, _second_moments(tree, mean, n, above))
    total, absolute = n * square, n * np.sqrt(square)
    off, off_squares = n * UNIT * absolute, (n + 2) * UNIT * total
    whole = n[inner] * UNIT * absolute[inner]
    off[left] = np.where(n[left] <= n[right], off[left], whole + n[right] * UNIT * absolute[inner])
    off[right] = whole + off[left] + UNIT * absolute[right]
    off_squares[right] = (n[inner] + 2) * UNIT * total[inner] + off_squares[left] + UNIT * total[right]
    size = np.minimum(mean, cap)
    rounding = UNIT * (total + 4 * n * size * size + np.abs(n * tree.impurity))
    error = off_squares + 2 * size * off + off * off / n + 2 * rounding
    return n * tree.impurity, error * OWN, absolute


def _second_moments(tree: TreeArrays, mean: Floats, n: Floats, above: Floats) -> Floats:
    """Return upper bounds on Q / n: the impurity, the mean's square, and a crude bound on their rounding.

    With N rows in the node above, whose Q is at most that of the root, the impurity is off by at most
    8 (N + 8) u sqrt(N / n) Q / n.
    """
    found = np.maximum(tree.impurity, 0.0) + mean * mean
    whole = n[0] * found[0] * (1 + 1e-3)
    bounds: Floats = found * (1 + 1e-9) + UNIT * 8 * (above + 8) * np.sqrt(above / n) * whole / n
    return bounds


def _pairs(tree: TreeArrays, given: Residuals, newton: Floats, off: Floats) -> Residuals:
    """Return the residuals with S of leaves, where it follows from the leaf beside and the node above.

    `newton` are leaf values S / H, up to `off` for S - v H.
    """
    low, high = given.low.copy(), given.high.copy()
    inner = np.flatnonzero(~tree.leaf)
    both = np.stack([tree.left[inner], tree.right[inner]], axis=1)
    leaves = tree.leaf[both].sum(axis=1)
    here, sides = inner[leaves == 1], both[leaves == 1]
    first = tree.leaf[sides[:, 0]]
    leaf, other = np.where(first, sides[:, 0], sides[:, 1]), np.where(first, sides[:, 1], sides[:, 0])
    low[leaf] = np.nextafter(low[here] - high[other], -np.inf)
    high[leaf] = np.nextafter(high[here] - low[other], np.inf)
    here, left, right = inner[leaves == 2], both[leaves == 2, 0], both[leaves == 2, 1]
    ends = [_quadratic(tree, given, here, left, right, sign) for sign in (1.0, -1.0)]
    fits = [
        _possible(tree, given, newton, off, left, a[0], a[1]) & _possible(tree, given, newton, off, right, a[2], a[3])
        for a in ends
    ]
    for a, only in ((ends[0], fits[0] & ~fits[1]), (ends[1], fits[1] & ~fits[0])):
        low[left[only]], high[left[only]] = a[0][only], a[1][only]
        low[right[only]], high[right[only]] = a[2][only], a[3][only]
    known = np.isfinite(low) & np.isfinite(high)
    return Residuals(low, high, known, given.variance, given.error, given.absolute)


Ends = tuple[Floats, Floats, Floats, Floats]


def _quadratic(
    tree: TreeArrays,
    given: Residuals,
    here: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    sign: float,
) -> Ends:
    """Return the ends of S of two leaves below a node, the left mean above (sign 1) or below the right one (-1)."""
    n, a, b = (tree.rows[at].astype(np.float64) for at in (here, left, right))
    terms = [given.variance[at] for at in (here, left, right)]
    difference = terms[0] - terms[1] - terms[2]
    error = sum(given.error[at] for at in (here, left, right)) + 4 * UNIT * sum(np.abs(t) for t in terms)
    factor = a * b / n
    least = np.sqrt(np.maximum(difference - error * OWN, 0.0) * factor) * (1 - 8 * UNIT)
    most = np.sqrt(np.maximum(difference + error * OWN, 0.0) * factor) * (1 + 8 * UNIT)
    low, high = (least, most) if sign > 0 else (-most, -least)
    whole = np.maximum(np.abs(given.low[here]), np.abs(given.high[here]))
    slack = 8 * UNIT * (whole + most)
    return (
        a / n * given.low[here] + low - slack,
        a / n * given.high[here] + high + slack,
        b / n * given.low[here] - high - slack,
        b / n * given.high[here] - low + slack,
    )


def _possible(
    tree: TreeArrays, given: Residuals, newton: Floats, off: Floats, at: NDArray[np.int64], low: Floats, high: Floats
) -> NDArray[np.bool_]:
    """Return whether leaves can have S between the ends: with 0 <= H <= n / 4 and (Q + H)² <= n Q."""
    n, v, off = tree.rows[at].astype(np.float64), newton[at], off[at] * OWN
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (low - off) / v, (high + off) / v
        first, second = np.where(v > 0, first, (high + off) / v), np.where(v > 0, second, (low - off) / v)
    weight = np.maximum(first * (1 - 1e-12), 0.0)  # the least H
    fits = (second >= 0) & (weight <= n / 4 * (1 + 1e-12))
    size = np.maximum(np.abs(low), np.abs(high))
    squares = np.maximum(given.variance[at] + given.error[at] + size**2 / n, 0.0) * (1 + 1e-12)  # the greatest Q
    least = np.maximum(given.variance[at] - given.error[at], 0.0)
    fits &= (least + weight) ** 2 <= n * squares * (1 + 1e-12)
    return np.where(v == 0, True, fits)


TINY = 1e-290  # exp(-F) may overflow or underflow
OLD = 8 * UNIT  # versions before 1.4 take y - expit(F)
SATURATED = 30.0  # scores beyond which p (1 - p) may be lost in rounding
LEAST_SHARE = 1e-12  # of a class: shares are cut to what doubles tell from 0
NOT_KNOWN = "the model that it starts from is not known"


@dataclass(frozen=True)
class Rough:
    """How far computed p and h' may be off, in units of 2^-53: `relative` times their size, and `absolute`."""

    relative: float
    absolute: float


def leaf_values(
    thing: Thing, trees: list[TreeArrays], rate: float, classes: int, recent: bool = True
) -> BoostedLeafValues | str:
    """Return what a model says, or why nothing is read off its leaf values.

    `classes` 0: of a regression; `recent`: fitted by version 1.4 or a later one, otherwise of at most two classes.
    """
    scores = classes if classes > 2 else 1
    found = _first_scores(thing.get("init_"), classes)
    if isinstance(found, str):
        return found
    start, error = found
    steps = [rate * tree.value[tree.leaf, 0] for tree in trees]
    ends = ScoreEnds.of(start, steps)
    drift = error + 2 * UNIT * ends.travelled * OWN if error else 0.0
    if not classes:
        every = tuple(_tree_means(tree, step, t) for t, (tree, step) in enumerate(zip(trees, steps, strict=True)))
        return BoostedLeafValues(Gradients("squared_error", score_error=drift, start_error=error), start, (), every)
    rough = Rough(10.0, 5.0)
    law = Gradients(
        "log_loss", relative=8 * UNIT, absolute=TINY if recent else OLD, score_error=drift, start_error=error
    )
    if classes > 2:
        off = 4 * (6.0 + 2 * float(ends.size[:-1].max()))
        rough = Rough(off + 2 * classes + 8, classes + 8.0)
        law = Gradients("softmax", "float64", "float64", 1.0, 1.0, off * UNIT, (classes + 4) * UNIT, drift, error)
    factor = (classes - 1) / classes if classes > 2 else 1.0
    every = tuple(
        _tree_sums(tree, step, (t // scores, t % scores), factor, rough, bool(ends.size[t // scores] < SATURATED))
        for t, (tree, step) in enumerate(zip(trees, steps, strict=True))
    )
    return BoostedLeafValues(law, start, tuple(range(classes)), every)


def _first_scores(init: Any, classes: int) -> tuple[tuple[float, ...], float] | str:
    """Return the scores before the first tree and how far they may be off, or why they are not known."""
    from scipy.special import logit

    if init == "zero":
        return (0.0,) * (classes if classes > 2 else 1), 0.0
    if not isinstance(init, Thing):
        return NOT_KNOWN
    if not classes:
        constant = init.get("constant_") if init.class_name == "DummyRegressor" else None
        if not isinstance(constant, np.ndarray) or constant.dtype != np.float64 or constant.size != 1:
            return NOT_KNOWN
        return (float(constant.ravel()[0]),), 0.0
    prior = init.get("class_prior_") if init.class_name == "DummyClassifier" else None
    if init.get("strategy") != "prior" or not isinstance(prior, np.ndarray) or prior.shape != (classes,):
        return NOT_KNOWN
    shares = prior.astype(np.float64)
    if not ((shares > LEAST_SHARE) & (shares < 1 - LEAST_SHARE)).all():
        return NOT_KNOWN
    if classes == 2:
        start = float(logit(shares[1]))
        return (start,), 0.0 if shares[1] == 0.5 else 8 * UNIT * (1.0 + abs(start))
    logs = np.log(shares)
    several = np.log(shares / np.exp(logs.mean()))  # as `MultinomialLogit.link` with scipy's gmean
    return tuple(several.tolist()), 4 * (classes + 8) * UNIT * (1.0 + float(np.abs(logs).max()))


def _tree_sums(
    tree: TreeArrays, step: Floats, at: tuple[int, int], factor: float, rough: Rough, sane: bool
) -> TreeSums:
    """Return the figures of one tree of a classifier, number `at` = (round, score).

    Its values are `factor` times Σr / Σh; `sane`: no score is so great that p (1 - p) is lost.
    """
    n, leaf = tree.rows.astype(np.float64), tree.leaf
    newton = tree.value[:, 0] / factor
    mean = np.where(leaf, np.minimum(np.abs(newton) / 4 + 1e-9, 1.0), np.abs(tree.value[:, 0]))
    found = _residuals(tree, mean, 1.0)
    depth, size = pairwise(n), np.minimum(np.abs(newton) * n / 4, found.absolute * OWN)
    off = UNIT * (depth * found.absolute + (depth + 8 + rough.relative) * size + rough.absolute * n * np.abs(newton))
    found = _pairs(tree, found, newton, off)
    ratio = np.flatnonzero(leaf & (sane | (newton != 0)))  # 0 is also what saturated leaves get: `_safe_divide`
    low, high = rounding_interval(np.zeros(len(ratio)), off[ratio])
    sums = np.flatnonzero(found.known)
    squares = np.flatnonzero(found.known & (leaf | (np.arange(len(n)) == 0)))
    ends = found.squares(n)
    return stacked(
        (*at, step),
        GradientFigures("value", ratio, 1.0, newton[ratio], 0.0, low, high),
        GradientFigures("residuals", sums, 1.0, 0.0, 0.0, -found.high[sums], -found.low[sums]),
        GradientFigures("squares", squares, 0.0, 0.0, 1.0, ends[0][squares], ends[1][squares]),
    )


def _tree_means(tree: TreeArrays, step: Floats, round_: int) -> TreeSums:
    """Return the figures of one tree of a regression: its values are means of residuals, in leaves too."""
    found = _residuals(tree, np.abs(tree.value[:, 0]), np.inf)
    every = np.arange(len(tree.rows))
    ends = found.squares(tree.rows.astype(np.float64))
    return stacked(
        (round_, 0, step),
        GradientFigures("residuals", every, 1.0, 0.0, 0.0, -found.high, -found.low),
        GradientFigures("squares", every, 0.0, 0.0, 1.0, *ends),
    )
