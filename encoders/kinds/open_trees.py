"""Trees of a boosted model that do not say how many rows their leaves have: what their sums of hessians leave of it.

XGBoost publishes the sum of a leaf's hessians; in later rounds it is no number of rows, but no row's hessian is above
factor * scale² / 4, so that the sum needs some rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from encoders.kinds.tree import tree_total
from encoders.models.models import Boosting, Tree, TreeSums
from encoders.models.nodes import Support
from solvers.foundation.errors import ReleaseError
from solvers.laws.gradients.boosted import Gradients
from solvers.statements.release import Block, Partition


def is_open(tree: Tree) -> bool:
    """Return whether no leaf says how many rows it has."""
    return bool(len(tree.nodes)) and not tree.nodes.counts.published[tree.nodes.leaves].any()


def counted(model: Boosting, place: str = "") -> Boosting:
    """Return the model with all rows in the first leaf of every open tree; `ReleaseError` where no tree counts rows."""
    if not any(map(is_open, model.trees)):
        return model
    known = next((tree for tree in model.trees if not is_open(tree)), None)
    if known is None:
        raise ReleaseError("no tree says how many rows its leaves have", place=f"{place}.trees")
    total = tree_total(known)
    return replace(model, trees=tuple(filled(tree, total) if is_open(tree) else tree for tree in model.trees))


def filled(tree: Tree, total: int) -> Tree:
    """Return the tree with all rows in its first leaf."""
    each = [Support(count=total if i == 0 else 0) for i in range(len(tree.nodes.leaves))]
    return replace(tree, nodes=tree.nodes.counting_leaves(each))


def with_bounds(model: Boosting, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks of a `counted` model, those of its open trees with intervals of rows per leaf."""
    out: list[Block] = []
    for tree, sums, block in zip(model.trees, model.sums, blocks, strict=True):
        if is_open(tree) and isinstance(block, Partition):
            low, high = bounds(tree, sums, model.gradients, int(block.low.sum()))
            out.append(replace(block, low=low, high=high))
        else:
            out.append(block)
    return tuple(out)


def bounds(tree: Tree, sums: TreeSums, law: Gradients, total: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return between how many rows every leaf has, of `total` rows, by the sums of its hessians."""
    low = np.zeros(len(tree.nodes), dtype=np.int64)
    most = 1.0 if law.loss == "squared_error" else law.factor * (law.scale**2 if law.loss == "log_loss" else 1.0) / 4
    most = (most * (1 + law.relative) + law.absolute) * (1 + 2.0**-20)  # and rounded to float32
    plain = (sums.gradient == 0) & (sums.square == 0) & (sums.hessian > 0) & (sums.low > 0)
    if most > 0:
        needed = np.ceil(sums.low[plain] / sums.hessian[plain] / most * (1 - 2.0**-40)).astype(np.int64)
        np.maximum.at(low, sums.node[plain], needed)
    least = low[tree.nodes.leaves]
    return least, np.maximum(total - (int(least.sum()) - least), least)
