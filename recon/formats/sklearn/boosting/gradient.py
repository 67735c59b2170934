"""GradientBoostingClassifier: what leaf values and mean residuals say of sums of gradients, in rigorous intervals.

scikit-learn 1.9.1, sklearn/ensemble/_gb.py, sklearn/tree/_criterion.pyx, sklearn/_loss/_loss.pyx.tp; u = 2^-53.

Scores. `_init_raw_predictions` takes the logit of the stored share of class 1, `_update_terminal_regions` adds
learning_rate * value, product and sum rounded: `step` is that product, bit for bit. The logit is the one number that
the file does not hold: another scipy or libm may have computed another last bit, and sums of steps may round
differently from then on (`score_error`).

Gradients. `cgradient_half_binomial`: (1 - y - y e) / (1 + e), e = exp(-F): exp is off by at most 3 units in the last
place (glibc: below 1), which enters with p or 1 - p, then a sum and a quotient: relative error below 8 u.

Residuals and their squares: `recon.formats.sklearn.boosting.residuals`.

Leaf values. `compute_update`: a quotient of two averages `np.average(..., weights=1)`, that is of sums by pairs (d
additions, `pairwise`) over the exact n: of r, and of h' = p'(1 - p') with p' = y - r. p' and 1 - p' are off by at
most 2 u p q + 4 u each, so h' by 2 u h + 8 u. With v the value: |Σr - v Σh| <= d u Σ|r| + |v| Σh (d + 8) u + 8 u n |v|.
|v| Σh is at most |v| n / 4, and Σ|r| up to rounding.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from encoders.models.models import TreeSums
from recon.formats.sklearn.boosting.draft import LeafValues
from recon.formats.sklearn.boosting.figures import Figures, stacked
from recon.formats.sklearn.boosting.residuals import pairs, residuals
from recon.formats.sklearn.boosting.rounding import OWN, UNIT, Floats, around, pairwise, score_ends
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
    n, leaf = tree.rows.astype(np.float64), tree.leaf
    newton = tree.value[:, 0] / factor
    mean = np.where(leaf, np.minimum(np.abs(newton) / 4 + 1e-9, 1.0), np.abs(newton * factor))
    found = residuals(tree, mean, 1.0)
    depth, size = pairwise(n), np.minimum(np.abs(newton) * n / 4, found.absolute * OWN)
    off = UNIT * (depth * found.absolute + (depth + 12) * size + 8 * n * np.abs(newton))
    found = pairs(tree, found, newton, off)
    ratio = np.flatnonzero(leaf & (sane | (newton != 0)))  # 0 is also what saturated leaves get: `_safe_divide`
    low, high = around(np.zeros(len(ratio)), off[ratio])
    sums = np.flatnonzero(found.known)
    squares = np.flatnonzero(found.known & (leaf | (np.arange(len(n)) == 0)))
    ends = found.squares(n)
    return stacked(
        (round_, of, step),
        Figures("value", ratio, 1.0, newton[ratio], 0.0, low, high),
        Figures("residuals", sums, 1.0, 0.0, 0.0, -found.high[sums], -found.low[sums]),
        Figures("squares", squares, 0.0, 0.0, 1.0, ends[0][squares], ends[1][squares]),
    )
