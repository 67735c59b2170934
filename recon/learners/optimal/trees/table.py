"""The rows that a tree is learned from, distinguished as far as they can be, and the boxes that its nodes stand for.

A node of a tree is a box: the points that pass all tests on its path. Points are the distinct training rows themselves
where a leaf matters by its rows alone, or the values of the attributes behind the columns where its size matters too.

Trees over binary columns: their shape, and the training rows of every node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import AttributeCuts, Domain
from encoders.domain.values import Position, Test
from encoders.models.models import Tree
from encoders.models.nodes import ModelNode, Nodes, Support
from solvers.foundation.errors import ReleaseError

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


def counted_nodes(shape: Shape, bits: NDArray[np.bool_], weight: NDArray[np.int64]) -> tuple[TreeNode, ...]:
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


def leaf_of_rows(nodes: Sequence[TreeNode], bits: NDArray[np.bool_]) -> NDArray[np.intp]:
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


Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class PointGroups:
    """What boxes are made of: points in groups, a box being one non-empty set of points per group.

    `group` (points,), `owner` (columns,) the group of each column, `truth` (columns, points) whether a column is 1
    there, `size` (points,) in values of the domain, `inside` (rows, groups) the point that each distinct row has.
    """

    group: NDArray[np.intp]
    owner: NDArray[np.intp]
    truth: NDArray[np.bool_]
    size: NDArray[np.float64]
    inside: NDArray[np.intp]

    @cached_property
    def groups(self) -> int:
        """Return how many groups there are."""
        return int(self.inside.shape[1])

    @cached_property
    def sides(self) -> Words:
        """Return (columns, 2, words) the points kept by "column = 0" and by "column = 1", as bits."""
        own = self.group[None, :] == self.owner[:, None]
        return np.stack([pack_sets(~(own & self.truth)), pack_sets(~(own & ~self.truth))], axis=1)


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """Distinct training rows: `bits` (rows, columns), `weight` (rows, classes) how many training rows each stands for.

    `points` says what boxes are made of, `sized` whether they have sizes (a domain was given).
    """

    bits: NDArray[np.bool_]
    weight: NDArray[np.int64]
    points: PointGroups
    sized: bool

    @property
    def total(self) -> int:
        """Return the number of training rows."""
        return int(self.weight.sum())

    @cached_property
    def floor(self) -> NDArray[np.int64]:
        """Return how many training rows of each distinct row any classifier gets wrong: those not of its commonest."""
        found: NDArray[np.int64] = self.weight.sum(axis=1) - self.weight.max(axis=1)
        return found

    @property
    def bits_of_a_row(self) -> float:
        """Return log2 of the number of possible rows: the columns, or the attributes of the domain."""
        if not self.sized:
            return float(self.bits.shape[1])
        sums = np.bincount(self.points.group, self.points.size)
        return float(np.log2(sums).sum())


def distinct_rows(
    bits: NDArray[np.bool_],
    codes: NDArray[np.intp],
    classes: int,
    domain: Domain | None = None,
    names: Sequence[str] = (),
) -> DistinctRows:
    """Return the distinct rows of a table of bits with class codes; boxes are sized where a domain is given.

    `names` are those of the columns. Raises `ReleaseError` for a column that the domain does not know and for a row
    that it says is impossible.
    """
    unique, back = np.unique(bits, axis=0, return_inverse=True)
    weight = np.zeros((len(unique), classes), dtype=np.int64)
    np.add.at(weight, (back.reshape(-1), codes.reshape(-1)), 1)
    return DistinctRows(
        unique,
        weight,
        _plain_points(unique) if domain is None else _sized_points(unique, domain, names),
        domain is not None,
    )


def _plain_points(bits: NDArray[np.bool_]) -> PointGroups:
    """Return every distinct row as a point of one group: boxes are the sets of rows they hold."""
    rows, columns = bits.shape
    own = np.zeros(rows, dtype=np.intp)
    return PointGroups(own, np.zeros(columns, dtype=np.intp), bits.T, np.ones(rows), np.arange(rows)[:, None])


def _sized_points(bits: NDArray[np.bool_], domain: Domain, names: Sequence[str]) -> PointGroups:
    """Return the parts into which the columns cut every attribute; parts that all columns see alike are one point."""
    if domain.impossible:
        raise ReleaseError("sizes of leaves are products over attributes: the domain may list no impossible boxes")
    attributes = [k for k, a in enumerate(domain.all) if domain.label is None or a.name != domain.label.name]
    ones = [_ranges_of(domain, name) for name in names]
    group: list[int] = []
    size: list[float] = []
    truth: list[NDArray[np.bool_]] = []
    inside = np.zeros((len(bits), len(attributes)), dtype=np.intp)
    owner = np.zeros(len(names), dtype=np.intp)
    for g, k in enumerate(attributes):
        mine = [c for c, (at, _) in enumerate(ones) if at == k]
        owner[mine] = g
        ends: set[Position] = {p for c in mine for pair in ones[c][1] for p in pair}
        cuts = AttributeCuts.at(domain.all[k], ends)
        if cuts.unsized:
            raise ReleaseError(f"the attribute '{domain.all[k].name}' has no ends, so leaves have no size")
        masks = [cuts.mask(ones[c][1]) for c in mine]
        sizes: dict[tuple[bool, ...], int] = {}
        for part, count in enumerate(cuts.sizes):
            seen = tuple(bool(mask >> part & 1) for mask in masks)
            sizes[seen] = sizes.get(seen, 0) + count
        place = {pattern: len(group) + i for i, pattern in enumerate(sizes)}
        for r, row in enumerate(bits[:, mine].tolist()):
            if tuple(row) not in place:
                raise ReleaseError(
                    f"no value of '{domain.all[k].name}' has {_row_text(mine, names, row)}, a training row does"
                )
            inside[r, g] = place[tuple(row)]
        for pattern, count in sizes.items():
            group.append(g)
            size.append(float(count))
            full = np.zeros(len(names), dtype=bool)
            full[mine] = pattern
            truth.append(full)
    return PointGroups(np.array(group, dtype=np.intp), owner, np.stack(truth, axis=1), np.array(size), inside)


def _ranges_of(domain: Domain, name: str) -> tuple[int, tuple[tuple[Position, Position], ...]]:
    """Return the attribute that a column of 0 and 1 belongs to, and where it is 1."""
    from encoders.domain.values import equals

    return domain.ranges(name, equals(1))


def _row_text(mine: Sequence[int], names: Sequence[str], row: Sequence[bool]) -> str:
    """Return some columns of a row in words."""
    return ", ".join(f"{names[c]} = {int(v)}" for c, v in zip(mine, row, strict=True))


def pack_sets(bits: NDArray[np.bool_]) -> Words:
    """Return the last axis as words of 64 bits."""
    short = np.packbits(bits, axis=-1, bitorder="little")
    words = max(1, -(-bits.shape[-1] // 64))
    full = np.zeros((*bits.shape[:-1], 8 * words), dtype=np.uint8)
    full[..., : short.shape[-1]] = short
    return full.view("<u8").astype(np.uint64, copy=False)


def unpack_sets(words: Words, count: int) -> NDArray[np.bool_]:
    """Return (sets, count) booleans of sets of points."""
    return np.unpackbits(words.astype("<u8", copy=False).view(np.uint8), axis=1, bitorder="little", count=count).view(
        bool
    )
