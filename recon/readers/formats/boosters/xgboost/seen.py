"""Whether XGBoost's first round saw all training rows: what later trees of the file say about it.

A root's cover is the sum of its rows' hessians. Where all rows start at an estimated score, their gradients sum to 0;
rows drawn for the tree (`subsample`) do not. The second tree's root has hessians that follow from the first tree's
leaves: their sum is predicted to within float32, and drawn rows miss it. A file without either says nothing.
Source: XGBoost 3.2, src/objective/regression_loss.h, src/tree/param.h; doc/parameter.rst (`subsample`, per iteration).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from recon.readers.formats.boosters.xgboost.counts import WHOLE, Cover, ObjectiveStart
from recon.readers.formats.boosters.xgboost.file import StoredXGBoostTree, XGBoostFile

BALANCED = 1e-5  # of the rows: how far float32 takes the sum of gradients from 0
PREDICTED = 1e-5  # relative: how far float32 takes the sum of hessians from what the first tree's leaves say
EQUAL = 3  # roots with the same number of rows tell that none was drawn from so many trees on


def all_rows_seen(
    booster: XGBoostFile, start: ObjectiveStart, trees: Sequence[tuple[int, StoredXGBoostTree]], covers: Sequence[Cover]
) -> bool | None:
    """Return whether the first round saw all rows: True, False, None where the file does not tell."""
    if start.every:
        roots = {int(cover.rows[0]) for cover in covers}
        if len(roots) > 1 or len(covers) >= EQUAL:
            return len(roots) == 1
    if booster.averaged and start.balanced:
        first = [(tree, cover) for (t, tree), cover in zip(trees, covers, strict=True) if t < max(1, booster.classes)]
        scale = 1.0 if start.classes else max(abs(w) for tree, _ in first for w in tree.weight) * 4
        return all(abs(tree.weight[0]) * tree.cover[0] <= BALANCED * scale * int(c.rows[0]) for tree, c in first)
    if start.margin is None or len(booster.trees) < 2 or booster.parallel > 1 or booster.dart or trees[0][0] != 0:
        return None
    leaves = trees[0][1].grown.leaves
    step = np.array(trees[0][1].weight)[leaves]
    share = 1 / (1 + np.exp(-np.clip(start.margin + step, -80.0, 80.0)))
    expected = float((covers[0].rows[leaves] * share * (1 - share)).sum())
    return math.isclose(booster.trees[1].cover[0], expected, rel_tol=PREDICTED, abs_tol=1e-6)


def same_rows(booster: XGBoostFile, trees: Sequence[tuple[int, StoredXGBoostTree]], covers: Sequence[Cover]) -> int:
    """Return how many of the trees, from the first one on, nothing in the file shows to be of other rows.

    Their roots have as many rows. Of squared error: from one root to the next the weight -G / (n + lambda) moves by
    what the leaves between them add up to, over n + lambda; one lambda must explain all of it.
    """
    others = [k for k, cover in enumerate(covers) if int(cover.rows[0]) != int(covers[0].rows[0])]
    trees = trees[: others[0]] if others else trees
    if booster.objective not in WHOLE or booster.parallel > 1 or booster.dart or trees[-1][0] + 1 > len(trees):
        return len(trees)
    low, high = 0.0, math.inf
    for k, ((_, tree), cover) in enumerate(zip(trees[:-1], covers, strict=False)):
        leaves, rows = tree.grown.leaves, int(cover.rows[0])
        moved = float((np.array(tree.weight)[leaves] * cover.rows[leaves]).sum())
        size = float((np.abs(np.array(tree.weight)[leaves]) * cover.rows[leaves]).sum())
        by = tree.weight[0] - trees[k + 1][1].weight[0]
        off = (size + (abs(by) + abs(tree.weight[0])) * rows) * PREDICTED
        if abs(by) * rows <= off and abs(moved) <= off:  # nothing moved, whatever lambda is
            continue
        ends = sorted((moved + sign * off) / by - rows for sign in (-1, 1)) if by else [math.inf, math.inf]
        low, high = max(low, ends[0]), min(high, ends[1] + rows * PREDICTED)
        if low > high:
            return k + 1
    return len(trees)
