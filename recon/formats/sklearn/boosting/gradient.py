"""GradientBoostingClassifier: what leaf values and mean residuals say of sums of gradients, in rigorous intervals.

scikit-learn 1.9.1, sklearn/ensemble/_gb.py, sklearn/tree/_criterion.pyx, sklearn/_loss/_loss.pyx.tp; u = 2^-53.

Scores. `_init_raw_predictions` takes the logit of the stored share of class 1, `_update_terminal_regions` adds
learning_rate * value, product and sum rounded: `step` is that product, bit for bit. The logit is the one number that
the file does not hold: another scipy or libm may have computed another last bit, and sums of steps may round
differently from then on (`score_error`).

Gradients. `cgradient_half_binomial`: (1 - y - y e) / (1 + e), e = exp(-F): exp is off by at most 3 units in the last
place (glibc: below 1), which enters with p or 1 - p, then a sum and a quotient: relative error below 8 u.

Mean residuals of inner nodes. `RegressionCriterion.init` adds the n residuals of the node one after the other in
double, `node_value` divides by n: |n value - Σr| <= n u Σ|r| + 2 u |n value|.

Leaf values. `compute_update`: a quotient of two averages `np.average(..., weights=1)`, that is of sums by pairs (d
additions, `pairwise`) over the exact n: of r, and of h' = p'(1 - p') with p' = y - r. p' and 1 - p' are off by at
most 2 u p q + 4 u each, so h' by 2 u h + 8 u. With v the value: |Σr - v Σh| <= d u Σ|r| + |v| Σh (d + 8) u + 8 u n |v|.
|v| Σh is at most |v| n / 4, and Σ|r| up to rounding.

Σ|r| <= n, and sqrt(n Σr²) by Cauchy and Schwarz, where Σr² follows from the impurity (`moments`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from encoders.models.models import TreeSums
from recon.formats.sklearn.boosting.draft import LeafValues
from recon.formats.sklearn.boosting.rounding import UNIT, Floats, around, pairwise, score_ends
from recon.formats.sklearn.trees.arrays import TreeArrays
from recon.stored.objects.things import Thing
from solvers.statements.boosted import Gradients

RELATIVE = 8 * UNIT
TINY = 1e-290  # exp(-F) may overflow or underflow
SATURATED = 30.0  # scores beyond which p (1 - p) may be lost in rounding


def leaf_values(thing: Thing, trees: list[TreeArrays], rate: float) -> LeafValues | str:
    """Return what a model of two classes says, or why nothing is read off its leaf values."""
    found = log_odds(thing)
    if isinstance(found, str):
        return found
    start, error = found
    steps = [rate * tree.value[tree.leaf, 0] for tree in trees]
    low, high = score_ends(start, steps)
    size = np.maximum(np.abs(low), np.abs(high))
    drift = error + 2 * UNIT * float(size.sum()) * 1.01 if error else 0.0
    law = Gradients("log_loss", relative=RELATIVE, absolute=TINY, score_error=drift, start_error=error)
    every = tuple(
        tree_sums(tree, step, t, 0, 1.0, bool(size[t] < SATURATED))
        for t, (tree, step) in enumerate(zip(trees, steps, strict=True))
    )
    return LeafValues(law, (start,), (0, 1), every)


def log_odds(thing: Thing) -> tuple[float, float] | str:
    """Return the score before the first tree and how far it may be off, or why it is not known."""
    init = thing.get("init_")
    if init == "zero":
        return 0.0, 0.0
    known = isinstance(init, Thing) and init.class_name == "DummyClassifier" and init.get("strategy") == "prior"
    prior = init.get("class_prior_") if known and isinstance(init, Thing) else None
    if not isinstance(prior, np.ndarray) or prior.shape != (2,) or not 1e-12 < float(prior[1]) < 1 - 1e-12:
        return "the model that it starts from is not known"
    start = float(logit(float(prior[1])))
    return start, 0.0 if prior[1] == 0.5 else 8 * UNIT * (1.0 + abs(start))


def tree_sums(tree: TreeArrays, step: Floats, round_: int, of: int, factor: float, sane: bool) -> TreeSums:
    """Return the figures of one tree; its values are `factor` times Σr / Σh. `sane`: no score is saturated."""
    n, value, leaf = tree.rows.astype(np.float64), tree.value[:, 0], tree.leaf
    newton = value / factor
    mean = np.where(leaf, np.minimum(np.abs(newton) / 4 + 1e-9, 1.0), np.abs(value))
    absolute = n * np.minimum(1.0, np.sqrt(moments(tree, mean)))
    depth = pairwise(n)
    size = np.minimum(np.abs(newton) * n / 4, absolute * 1.01)
    of_leaf = UNIT * (depth * absolute + (depth + 12) * size + 8 * n * np.abs(newton))
    of_inner = UNIT * (n * absolute + 3 * np.abs(n * value))
    low, high = around(np.where(leaf, 0.0, -n * value), np.where(leaf, of_leaf, of_inner))
    used = np.flatnonzero(~leaf | sane | (value != 0))  # 0 is also what saturated leaves get: `_safe_divide`
    inner: NDArray[np.bool_] = ~leaf[used]
    return TreeSums(
        round_,
        of,
        step,
        used.astype(np.int64),
        np.ones(len(used)),
        np.where(inner, 0.0, newton[used]),
        np.zeros(len(used)),
        low[used],
        high[used],
        tuple("mean residual" if i else "value" for i in inner.tolist()),
    )


def moments(tree: TreeArrays, mean: Floats) -> Floats:
    """Return upper bounds on the mean squares of the residuals in every node; `mean` bounds the size of their means.

    The impurity is their variance, up to errors of sums over the parent's N rows (`children_impurity`): those of the
    squares are at most (2 N + 4) u N, those of the residuals enter with at most twice (2 N + 2) u N.
    """
    above = tree.rows.astype(np.float64)
    inner = np.flatnonzero(~tree.leaf)
    for side in (tree.left, tree.right):
        above[side[inner]] = tree.rows[inner]
    n = np.maximum(tree.rows, 1)
    found: Floats = tree.impurity * (1 + 4 * UNIT) + mean * mean * 1.0001 + UNIT * (8 * (above + 8) * above / n)
    return np.maximum(found, 0.0)
