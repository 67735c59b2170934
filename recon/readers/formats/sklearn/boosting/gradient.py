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

Residuals and their squares: `recon.readers.formats.sklearn.boosting.residuals`.

Leaf values of classifiers. `compute_update`: a quotient of two averages `np.average(..., weights=1)`, that is of sums
by pairs (d additions, `pairwise`) over the exact n: of r, and of h' = p'(1 - p') with p' = y - r. As these are off
by 6 u p (1 - p) + 3 u each, h' is off by at most 10 u h + 5 u (two classes), or by what `Rough` says. With v the value:
|Σr - v Σh| <= d u Σ|r| + |v| Σh (d + 4 + 10) u + 5 u n |v|. |v| Σh is at most |v| n / 4, and Σ|r| up to rounding.
Of K > 2 classes the value is (K - 1) / K times that: three roundings more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from encoders.models.models import TreeSums
from recon.readers.formats.sklearn.boosting.draft import BoostedLeafValues
from recon.readers.formats.sklearn.boosting.figures import GradientFigures, stacked
from recon.readers.formats.sklearn.boosting.residuals import pairs, residuals
from recon.readers.formats.sklearn.boosting.rounding import OWN, UNIT, Floats, ScoreEnds, around, pairwise
from recon.readers.formats.sklearn.trees.arrays import TreeArrays
from recon.readers.stored.objects.things import Thing
from solvers.laws.gradients.boosted import Gradients

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
    found = first_scores(thing.get("init_"), classes)
    if isinstance(found, str):
        return found
    start, error = found
    steps = [rate * tree.value[tree.leaf, 0] for tree in trees]
    ends = ScoreEnds.of(start, steps)
    drift = error + 2 * UNIT * ends.travelled * OWN if error else 0.0
    if not classes:
        every = tuple(tree_means(tree, step, t) for t, (tree, step) in enumerate(zip(trees, steps, strict=True)))
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
        tree_sums(tree, step, (t // scores, t % scores), factor, rough, bool(ends.size[t // scores] < SATURATED))
        for t, (tree, step) in enumerate(zip(trees, steps, strict=True))
    )
    return BoostedLeafValues(law, start, tuple(range(classes)), every)


def first_scores(init: Any, classes: int) -> tuple[tuple[float, ...], float] | str:
    """Return the scores before the first tree and how far they may be off, or why they are not known."""
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


def tree_sums(tree: TreeArrays, step: Floats, at: tuple[int, int], factor: float, rough: Rough, sane: bool) -> TreeSums:
    """Return the figures of one tree of a classifier, number `at` = (round, score).

    Its values are `factor` times Σr / Σh; `sane`: no score is so great that p (1 - p) is lost.
    """
    n, leaf = tree.rows.astype(np.float64), tree.leaf
    newton = tree.value[:, 0] / factor
    mean = np.where(leaf, np.minimum(np.abs(newton) / 4 + 1e-9, 1.0), np.abs(tree.value[:, 0]))
    found = residuals(tree, mean, 1.0)
    depth, size = pairwise(n), np.minimum(np.abs(newton) * n / 4, found.absolute * OWN)
    off = UNIT * (depth * found.absolute + (depth + 8 + rough.relative) * size + rough.absolute * n * np.abs(newton))
    found = pairs(tree, found, newton, off)
    ratio = np.flatnonzero(leaf & (sane | (newton != 0)))  # 0 is also what saturated leaves get: `_safe_divide`
    low, high = around(np.zeros(len(ratio)), off[ratio])
    sums = np.flatnonzero(found.known)
    squares = np.flatnonzero(found.known & (leaf | (np.arange(len(n)) == 0)))
    ends = found.squares(n)
    return stacked(
        (*at, step),
        GradientFigures("value", ratio, 1.0, newton[ratio], 0.0, low, high),
        GradientFigures("residuals", sums, 1.0, 0.0, 0.0, -found.high[sums], -found.low[sums]),
        GradientFigures("squares", squares, 0.0, 0.0, 1.0, ends[0][squares], ends[1][squares]),
    )


def tree_means(tree: TreeArrays, step: Floats, round_: int) -> TreeSums:
    """Return the figures of one tree of a regression: its values are means of residuals, in leaves too."""
    found = residuals(tree, np.abs(tree.value[:, 0]), np.inf)
    every = np.arange(len(tree.rows))
    ends = found.squares(tree.rows.astype(np.float64))
    return stacked(
        (round_, 0, step),
        GradientFigures("residuals", every, 1.0, 0.0, 0.0, -found.high, -found.low),
        GradientFigures("squares", every, 0.0, 0.0, 1.0, *ends),
    )
