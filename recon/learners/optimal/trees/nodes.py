"""Trees over binary columns: their shape, and the training rows of every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Test
from encoders.models.models import Tree
from encoders.models.nodes import ModelNode, Nodes, Support

Shape = tuple[int, Any, Any] | None  # column, shape where it is 0, shape where it is 1; None: a leaf


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A node: the tested column (None: a leaf), its children's numbers, and training rows per class."""

    column: int | None
    zero: int
    one: int
    counts: tuple[int, ...]

    @property
    def errors(self) -> int:
        """Return the rows that are not of the commonest class."""
        return sum(self.counts) - max(self.counts)


def counted(shape: Shape, bits: NDArray[np.bool_], weight: NDArray[np.int64]) -> tuple[TreeNode, ...]:
    """Return the nodes of a tree, parents first, with the weights (rows, classes) of the rows that reach them."""
    nodes: list[TreeNode] = []

    def add(at: Any, rows: NDArray[np.intp]) -> int:
        place = len(nodes)
        counts = tuple(int(c) for c in weight[rows].sum(axis=0))
        nodes.append(TreeNode(None, -1, -1, counts))
        if at is not None:
            column, zero, one = int(at[0]), at[1], at[2]
            yes = bits[rows, column]
            nodes[place] = TreeNode(column, add(zero, rows[~yes]), add(one, rows[yes]), counts)
        return place

    add(shape, np.arange(len(bits)))
    return tuple(nodes)


def leaves(nodes: Sequence[TreeNode]) -> list[TreeNode]:
    """Return the leaves in order."""
    return [node for node in nodes if node.column is None]


def errors(nodes: Sequence[TreeNode]) -> int:
    """Return the training rows that a tree gets wrong."""
    return sum(leaf.errors for leaf in leaves(nodes))


def depth_of(nodes: Sequence[TreeNode]) -> int:
    """Return the most tests on a path."""
    depth = [0] * len(nodes)
    for i in range(len(nodes) - 1, -1, -1):
        if nodes[i].column is not None:
            depth[i] = 1 + max(depth[nodes[i].zero], depth[nodes[i].one])
    return depth[0]


def reached(nodes: Sequence[TreeNode], bits: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the number of the leaf that every row reaches."""
    at = np.zeros(len(bits), dtype=np.intp)
    for i, node in enumerate(nodes):  # parents come first
        if node.column is not None:
            here = at == i
            at[here] = np.where(bits[here, node.column], node.one, node.zero)
    return at


def as_model(nodes: Sequence[TreeNode], columns: Sequence[str], order: Sequence[int | None], name: str) -> Tree:
    """Return the published tree with class counts at its leaves, class `order[i]` (None: no rows) being label i."""
    found = []
    for node in nodes:
        if node.column is None:
            found.append(ModelNode(Support(tuple(0 if i is None else node.counts[i] for i in order))))
        else:
            found.append(ModelNode(Support(), ((columns[node.column], Test(values=(1,))),), node.one, node.zero))
    return Tree(Nodes.of(found), name)
