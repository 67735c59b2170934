"""A boosted model: a partition per tree, as of a forest, and beside them sums of gradients in intervals.

Source: docs/mathematics.md, "Boosted models"; `solvers.statements.gradients.boosted`.

Trees of a boosted model that do not say how many rows their leaves have: what their sums of hessians leave of it.

XGBoost publishes the sum of a leaf's hessians; in later rounds it is no number of rows, but no row's hessian is above
factor * scale² / 4, so that the sum needs some rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.kinds.forest import ForestEncoder
from encoders.kinds.tree import shape, tree_total
from encoders.models.models import Boosting, Tree, TreeSums
from encoders.models.nodes import Support
from encoders.parts.base import CutDomain, Encoder, Resolutions
from solvers.foundation.errors import EngineError, ReleaseError
from solvers.statements.gradients.boosted import Boosted, BoostedTree, Gradients
from solvers.statements.release import Block, Partition, RowCount


def _is_open(tree: Tree) -> bool:
    """Return whether no leaf says how many rows it has."""
    return bool(len(tree.nodes)) and not tree.nodes.counts.published[tree.nodes.leaves].any()


def _with_rows_in_first_leaves(model: Boosting, place: str = "") -> Boosting:
    """Return the model with all rows in the first leaf of every open tree; `ReleaseError` where no tree counts rows."""
    if not any(map(_is_open, model.trees)):
        return model
    known = next((tree for tree in model.trees if not _is_open(tree)), None)
    if known is None:
        raise ReleaseError("no tree says how many rows its leaves have", place=f"{place}.trees")
    total = tree_total(known)
    return replace(model, trees=tuple(_filled(tree, total) if _is_open(tree) else tree for tree in model.trees))


def _filled(tree: Tree, total: int) -> Tree:
    """Return the tree with all rows in its first leaf."""
    each = [Support(count=total if i == 0 else 0) for i in range(len(tree.nodes.leaves))]
    return replace(tree, nodes=tree.nodes.counting_leaves(each))


def _with_bounds(model: Boosting, blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks of a `counted` model, those of its open trees with intervals of rows per leaf."""
    out: list[Block] = []
    for tree, sums, block in zip(model.trees, model.sums, blocks, strict=True):
        if _is_open(tree) and isinstance(block, Partition):
            low, high = _bounds(tree, sums, model.gradients, int(block.low.sum()))
            out.append(replace(block, low=low, high=high))
        else:
            out.append(block)
    return tuple(out)


def _bounds(tree: Tree, sums: TreeSums, law: Gradients, total: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


class BoostingEncoder(Encoder[Boosting]):
    """Boosted models: every tree counts all the rows, and says sums of gradients."""

    def __init__(self) -> None:
        self.forest = ForestEncoder()

    def check(self, model: Boosting, domain: Domain, place: str) -> None:
        """Refuse what a forest is refused for, and sums that do not fit trees, scores or label."""
        self.forest.check(_with_rows_in_first_leaves(model, place).forest, domain, place)
        _check_scores(model, domain, place)
        last = 0
        for t, (tree, sums) in enumerate(zip(model.trees, model.sums, strict=True)):
            if sums.round < last:
                message = f"round {sums.round} after round {last}: trees must be in the order of their rounds"
                raise ReleaseError(message, place=f"{place}.trees[{t}].round")
            last = sums.round
            _check_sums(model, tree, sums, f"{place}.trees[{t}]")

    def resolve(self, model: Boosting, domain: Domain, place: str, into: Resolutions) -> None:
        """Add what all trees test."""
        self.forest.resolve(model.forest, domain, place, into)

    def total(self, model: Boosting) -> int | None:
        """Return the number of rows that every tree counts."""
        return self.forest.total(_with_rows_in_first_leaves(model).forest)

    def assumes(self, model: Boosting) -> tuple[str, ...]:
        """Return what leaf values rest on."""
        named = f"{model.name}: leaf values are those of training on all the rows, none of them weighted"
        return (*self.forest.assumes(model.forest), named)

    def loosens(self, model: Boosting) -> tuple[str, ...]:
        """Return what is published and not used."""
        return self.forest.loosens(model.forest)

    def blocks(
        self, model: Boosting, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return one partition per tree."""
        return _with_bounds(
            model, self.forest.blocks(_with_rows_in_first_leaves(model).forest, cut, resolved, rows, place)
        )

    def boosted(self, model: Boosting, blocks: Sequence[Block], first: int) -> tuple[Boosted, ...]:
        """Return the sums of gradients; without trees with sums nothing."""
        trees = tuple(
            _boosted_tree(tree, sums, first + t)
            for t, (tree, sums) in enumerate(zip(model.trees, model.sums, strict=True))
        )
        if not any(map(len, trees)):
            return ()
        return (Boosted(model.name, model.gradients, model.start, model.base, model.labels, trees),)


def _check_scores(model: Boosting, domain: Domain, place: str) -> None:
    """Refuse numbers of scores and labels that do not fit the loss, with `ReleaseError`."""
    loss, classes = model.gradients.loss, len(model.labels)
    scores = classes if loss == "softmax" else 1
    if len(model.sums) != len(model.trees):
        raise ReleaseError(f"{len(model.sums)} lists of sums for {len(model.trees)} trees", place=place)
    for name, given in (("start", model.start), ("base", model.base)):
        if len(given) != scores:
            message = f"'{loss}' with {classes} classes has {scores} scores to start from, not {len(given)}"
            raise ReleaseError(message, place=f"{place}.{name}")
    if loss == "squared_error":
        if classes:
            raise ReleaseError("the target of 'squared_error' is a number, it has no classes", place=f"{place}.labels")
        return
    size = 0 if domain.label is None else domain.label.span[1]
    fit = len(set(model.labels)) == classes and all(0 <= k < size for k in model.labels)
    if not fit or (loss == "log_loss" and classes != 2):
        raise ReleaseError(f"the label has {size} values, the model {classes} classes", place=f"{place}.labels")


def _check_sums(model: Boosting, tree: Tree, sums: TreeSums, place: str) -> None:
    """Refuse sums of nodes that do not exist, intervals without numbers, steps that do not fit the leaves."""
    if len(sums.step) != len(tree.nodes.leaves):
        raise ReleaseError(f"{len(sums.step)} steps for {len(tree.nodes.leaves)} leaves", place=f"{place}.step")
    if not 0 <= sums.of < len(model.start):
        raise ReleaseError(f"there is no score {sums.of}", place=f"{place}.of")
    arrays = (sums.gradient, sums.hessian, sums.square, sums.low, sums.high)
    if any(len(a) != len(sums.node) for a in (*arrays, sums.what)):
        raise ReleaseError("the lists of the sums are not equally long", place=f"{place}.sums")
    if len(sums.node) and not 0 <= int(sums.node.min()) <= int(sums.node.max()) < len(tree.nodes):
        raise ReleaseError("a sum is about a node that does not exist", place=f"{place}.sums")
    finite = all(np.isfinite(a).all() for a in (sums.step, *arrays))
    if not finite or bool((sums.low > sums.high).any()):
        raise ReleaseError("an interval is empty, or a number is not finite", place=f"{place}.sums")


def _boosted_tree(tree: Tree, sums: TreeSums, block: int) -> BoostedTree:
    """Return the sums of a checked tree by leaves; its leaves are the regions of a block, in file order."""
    below = _leaves_below(tree, np.unique(sums.node))
    members = [below[int(i)] for i in sums.node.tolist()]
    start = np.zeros(len(members) + 1, dtype=np.int64)
    np.cumsum([len(m) for m in members], out=start[1:])
    leaf = np.concatenate([np.zeros(0, dtype=np.int32), *members])
    named = tree.nodes.names or (None,) * len(tree.nodes)
    names = tuple(
        f"{tree.name}, {named[i] or ('node' if tree.nodes.inner[i] else 'leaf') + f' {i}'}, {what}"
        for i, what in zip(sums.node.tolist(), sums.what, strict=True)
    )
    arrays = (sums.gradient, sums.hessian, sums.square, sums.low, sums.high)
    return BoostedTree(block, sums.round, sums.of, sums.step, start, leaf, *arrays, names)


def _leaves_below(tree: Tree, nodes: NDArray[np.int64]) -> dict[int, NDArray[np.int32]]:
    """Return the leaves below some nodes, as numbers in file order."""
    links = shape(tree.nodes)
    if links is None:
        raise EngineError("a tree is encoded only after it was checked")
    number = np.cumsum(~links.inner) - 1
    below: dict[int, list[int]] = {}
    for level in reversed(links.levels):
        for i in level.tolist():
            then, otherwise = links.children[i].tolist() if links.inner[i] else (-1, -1)
            below[i] = below[then] + below[otherwise] if links.inner[i] else [int(number[i])]
    return {i: np.array(sorted(below[i]), dtype=np.int32) for i in nodes.tolist()}
