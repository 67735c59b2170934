"""A decision tree as a partition: every leaf is a box.

Trees are checked and encoded level by level on arrays, because a forest has hundreds of thousands of nodes; what
is wrong is then named node by node.

Source: Ferry et al., SaTML 2024, eq. 11 (the rows that reach a leaf are the product of its reduced domains).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.models.models import Node, Tree
from encoders.parts.base import Encoder
from encoders.parts.cut_domain import CutDomain, Resolved
from encoders.parts.supports import MOST_ROWS, Supports, check_support, fits, partition
from solvers.foundation.errors import EngineError, ReleaseError
from solvers.statements.boxes import Boxes
from solvers.statements.masks import RunMasks
from solvers.statements.release import Block, Partition, Rows


class KindEncoder(Encoder[Tree]):
    """Trees: exact class counts or plain counts per leaf; inner counts are checked."""

    def check(self, model: Tree, domain: Domain, place: str) -> None:
        """Refuse missing children, cycles, unreached nodes, leaves without counts, inner counts that differ."""
        check_tree(model, domain, place)

    def conditions(self, model: Tree, place: str) -> Iterator[tuple[Condition, str]]:
        """Yield the conditions of the inner nodes."""
        return ((c, f"{place}.nodes[{i}].if") for c, i in tests(model.nodes))

    def total(self, model: Tree) -> int:
        """Return the number of rows in all leaves."""
        return tree_total(model)

    def blocks(
        self, model: Tree, cut: CutDomain, resolved: Mapping[Condition, Resolved], rows: Rows, place: str
    ) -> tuple[Block, ...]:
        """Return the leaves as disjoint boxes, in file order."""
        return (tree_partition(model, model.name, cut, resolved),)


@dataclass(frozen=True, eq=False)
class Shape:
    """The links of a tree as arrays: `inner` (nodes,), `children` (nodes, 2) then and else, nodes by level."""

    inner: NDArray[np.bool_]
    children: NDArray[np.int64]
    levels: tuple[NDArray[np.int64], ...]


def shape(nodes: Sequence[Node]) -> Shape | None:
    """Return the links as arrays, None where they do not make one tree with node 0 as its root."""
    inner = np.array([n.condition is not None for n in nodes], dtype=bool)
    try:
        children = np.array([(n.then, n.otherwise) for n in nodes], dtype=np.int64)
    except OverflowError:
        return None
    linked = children[inner].ravel()
    if len(linked) and (linked.min() < 0 or linked.max() >= len(nodes)):
        return None
    parents = np.bincount(linked, minlength=len(nodes))
    if parents[0] or (parents[1:] != 1).any():
        return None
    levels, level, seen = [], np.zeros(1, dtype=np.int64), 0
    while len(level):  # ends: no node has two parents, and the root has none
        levels.append(level)
        seen += len(level)
        level = children[level[inner[level]]].ravel()
    return Shape(inner, children, tuple(levels)) if seen == len(nodes) else None


def check_tree(model: Tree, domain: Domain, place: str, repeated: bool = False) -> None:
    """Refuse a malformed tree with `ReleaseError`, naming the node; `repeated`: its counts are of repeated rows."""
    nodes = model.nodes
    if not nodes:
        raise ReleaseError("the tree has no nodes", place=f"{place}.nodes")
    found = shape(nodes)
    if found is None:
        refuse_links(model, place)
    supports = [n.support for n in nodes]
    if not fits(supports, domain):
        for i, support in enumerate(supports):
            check_support(support, domain, f"{place}.nodes[{i}]")
    for i in np.flatnonzero(~found.inner).tolist():
        if supports[i].counts is None and supports[i].count is None:
            raise ReleaseError("a leaf needs 'counts' or 'count'", place=f"{place}.nodes[{i}]")
    for condition, i in tests(nodes):
        here = f"{place}.nodes[{i}]"
        check_label(condition, domain, here)
        if len(named(condition, domain)) != 1:
            message = "a split must test exactly one attribute (else its 'else' side is no box)"
            raise ReleaseError(message, place=f"{here}.if")
    check_inner_counts(model, found, place)
    if any(s.distinct is not None for s in supports):
        check_distinct(model, found, place, repeated)


def tests(nodes: Sequence[Node]) -> Iterator[tuple[Condition, int]]:
    """Yield the conditions of a tree and the first node each stands at; one object is given once."""
    seen: set[int] = set()
    for i, node in enumerate(nodes):
        if node.condition is not None and id(node.condition) not in seen:
            seen.add(id(node.condition))
            yield node.condition, i


def tree_total(model: Tree) -> int:
    """Return the number of rows in all leaves."""
    return sum(node.support.total or 0 for node in model.nodes if node.condition is None)


def refuse_links(model: Tree, place: str) -> NoReturn:
    """Raise `ReleaseError` for a child that does not exist, a node reached twice (a cycle) or never."""
    seen: dict[int, int] = {0: -1}
    stack = [0]
    while stack:
        i = stack.pop()
        node = model.nodes[i]
        if node.condition is None:
            continue
        for word, child in (("then", node.then), ("else", node.otherwise)):
            at = f"{place}.nodes[{i}].{word}"
            if not 0 <= child < len(model.nodes):
                raise ReleaseError(f"there is no node {child} ({len(model.nodes)} nodes)", place=at)
            if child in seen:
                before = "the root" if child == 0 else f"a child of node {seen[child]}"
                raise ReleaseError(f"node {child} is already {before}: not a tree", place=at)
            seen[child] = i
            stack.append(child)
    for i in range(len(model.nodes)):
        if i not in seen:
            raise ReleaseError("no other node leads to this one", place=f"{place}.nodes[{i}]")
    raise EngineError("the links of a tree were refused, and nothing is wrong with them")


def check_label(condition: Condition, domain: Domain, place: str) -> None:
    """Refuse a split on the label, which would mix counts per class with classes."""
    if domain.label is not None and domain.label.name in named(condition, domain):
        raise ReleaseError(f"a test on the label '{domain.label.name}' mixes classes and regions", place=f"{place}.if")


def named(condition: Condition, domain: Domain) -> set[str]:
    """Return the attributes behind the names of a condition (a column is a view on one)."""
    return {domain.columns[name].attribute if name in domain.columns else name for name, _ in condition}


def check_inner_counts(model: Tree, found: Shape, place: str) -> None:
    """Refuse an inner node whose counts are not the sum of its leaves', and a tree of more than 2^53 rows."""
    supports = [n.support for n in model.nodes]
    if (rows := tree_total(model)) > MOST_ROWS:
        raise ReleaseError(f"the counts sum to {rows}, more than 2^53 rows", place=place)
    counted = np.array([s.counts is not None for s in supports], dtype=bool)
    plain = np.array([s.count is not None for s in supports], dtype=bool) & ~counted
    rows_of = [s.counts for s in supports if s.counts is not None]
    said = np.zeros((len(supports), len(rows_of[0]) if rows_of else 1), dtype=np.int64)
    if rows_of:
        said[counted] = rows_of
    total = said.sum(axis=1)
    total[plain] = [s.count for s in supports if s.counts is None and s.count is not None]
    sums, totals, complete = said.copy(), total.copy(), counted.copy()
    for level in reversed(found.levels):
        parents = level[found.inner[level]]
        then, otherwise = found.children[parents].T
        sums[parents] = sums[then] + sums[otherwise]
        totals[parents] = totals[then] + totals[otherwise]
        complete[parents] = complete[then] & complete[otherwise]
    for i in np.flatnonzero(counted & complete & (said != sums).any(axis=1)).tolist():
        message = f"the node says {said[i].tolist()}, its leaves sum to {sums[i].tolist()}"
        raise ReleaseError(message, place=f"{place}.nodes[{i}]")
    for i in np.flatnonzero((counted | plain) & (total != totals)).tolist():
        raise ReleaseError(f"the node says {total[i]}, its leaves sum to {totals[i]}", place=f"{place}.nodes[{i}]")


def check_distinct(model: Tree, found: Shape, place: str, repeated: bool) -> None:
    """Refuse numbers of different rows that no rows can have, and of an inner node those that its leaves contradict."""
    everybody = tree_total(model)
    for i, node in enumerate(model.nodes):
        said, at = node.support.distinct, f"{place}.nodes[{i}].distinct"
        if said is None:
            continue
        total = everybody if node.support.total is None else node.support.total
        numbers = node.support.counts if node.support.counts is not None else (node.support.count,)
        least = sum(1 for n in numbers if n)
        if not repeated and said != total and node.support.total is not None:
            raise ReleaseError(f"{said} different rows among {total}: only a bootstrap sample repeats rows", place=at)
        if not least <= said <= total:
            raise ReleaseError(f"{said} different rows, but the counts are those of {least} to {total}", place=at)
    sums = [node.support.distinct if node.condition is None else None for node in model.nodes]
    for level in reversed(found.levels):
        for i in level[found.inner[level]].tolist():
            then, otherwise = (sums[j] for j in found.children[i].tolist())
            sums[i] = None if then is None or otherwise is None else then + otherwise
            said = model.nodes[i].support.distinct
            if said is not None and sums[i] is not None and said != sums[i]:
                message = f"the node says {said} different rows, its leaves sum to {sums[i]}"
                raise ReleaseError(message, place=f"{place}.nodes[{i}].distinct")


def tree_partition(model: Tree, kind: str, cut: CutDomain, resolved: Mapping[Condition, Resolved]) -> Partition:
    """Return the leaves of a checked tree as disjoint boxes, in file order."""
    leaves, boxes = leaf_boxes(model, cut, resolved)
    nodes = [model.nodes[i] for i in leaves]
    names = [node.name or f"leaf {i}" for i, node in zip(leaves, nodes, strict=True)]
    return partition(kind, boxes, Supports.of([n.support for n in nodes]), names, cut.domain, first_match=False)


@dataclass(frozen=True, eq=False)
class Splits:
    """What the inner nodes of a tree test: `column[i]` of the `attributes`, and the parts that go each way.

    `sides` is (nodes, 2): the parts for then and else, uint64, or object where an attribute has more than 64.
    """

    attributes: NDArray[np.int32]
    full: NDArray[Any]
    column: NDArray[np.int64]
    sides: NDArray[Any]


def splits(model: Tree, cut: CutDomain, resolved: Mapping[Condition, Resolved]) -> Splits:
    """Return the tests of the inner nodes as masks; every test is turned into one once."""
    tested = [c for c, _ in tests(model.nodes)]
    code = {id(c): at for at, c in enumerate(tested)}
    # Every split tests one attribute (`check_tree`), so both of its sides are boxes.
    found = [next(iter(resolved[c].items())) for c in tested]
    attributes = sorted({k for k, _ in found})
    full = [(1 << len(cut.cuts[k].sizes)) - 1 for k in attributes]
    dtype = np.dtype(object) if any(f >> 64 for f in full) else np.dtype(np.uint64)
    place = {k: at for at, k in enumerate(attributes)}
    sides = np.empty((len(found), 2), dtype=dtype)
    for at, (k, ranges) in enumerate(found):
        mask = cut.cuts[k].mask(ranges)
        sides[at] = mask, full[place[k]] & ~mask
    of_node = np.array([0 if n.condition is None else code[id(n.condition)] for n in model.nodes], dtype=np.int64)
    column = np.array([place[k] for k, _ in found], dtype=np.int64)
    if not found:
        return Splits(np.zeros(0, np.int32), np.zeros(0, dtype), of_node, np.zeros((len(of_node), 2), dtype))
    return Splits(np.array(attributes, np.int32), np.array(full, dtype), column[of_node], sides[of_node])


def leaf_boxes(model: Tree, cut: CutDomain, resolved: Mapping[Condition, Resolved]) -> tuple[list[int], Boxes]:
    """Return the leaves in file order and the box of each: the conjunction of the tests on its path.

    Level by level: which parts each node allows of each attribute that the tree tests, and which of them are
    named. Cost: nodes times attributes tested, in arrays.
    """
    tree = shape(model.nodes)
    if tree is None:
        raise EngineError("a tree is encoded only after it was checked")
    if (runs := run_splits(model, cut, resolved)) is not None:
        return run_boxes(tree, runs)
    split = splits(model, cut, resolved)
    allowed = split.full[None, :].copy()
    narrowed = np.zeros(allowed.shape, dtype=bool)
    ids, attributes, masks = [], [], []
    for level in tree.levels:
        inner = tree.inner[level]
        rows, columns = np.nonzero(narrowed[~inner])
        ids.append(np.stack([level[~inner][rows], columns]))
        attributes.append(split.attributes[columns])
        masks.append(allowed[~inner][rows, columns])
        parents = level[inner]
        allowed, narrowed = np.repeat(allowed[inner], 2, axis=0), np.repeat(narrowed[inner], 2, axis=0)
        at, column = np.arange(2 * len(parents)), np.repeat(split.column[parents], 2)
        side = split.sides[parents].ravel()
        allowed[at, column] &= side
        narrowed[at, column] |= side != split.full[column]
    leaves, start, order = by_leaf(tree, np.concatenate(ids, axis=1))
    return leaves, Boxes(start, np.concatenate(attributes)[order], np.concatenate(masks)[order])


def by_leaf(tree: Shape, found: NDArray[np.int64]) -> tuple[list[int], NDArray[np.int64], NDArray[np.int64]]:
    """Return the leaves, where the literals of each begin, and their order; `found`: (2, literals) node and column."""
    leaves, (nodes, columns) = np.flatnonzero(~tree.inner), found
    start = np.zeros(len(leaves) + 1, dtype=np.int64)
    np.cumsum(np.bincount(nodes, minlength=len(tree.inner))[leaves], out=start[1:])
    return leaves.tolist(), start, np.lexsort((columns, nodes))


@dataclass(frozen=True, eq=False)
class RunSplits:
    """The tests of a tree all of whose sides are runs of parts that reach an end: thresholds.

    `sides` is (nodes, 2, 2): for then and else the first part and the one behind the last.
    """

    attributes: NDArray[np.int32]
    parts: NDArray[np.int64]
    column: NDArray[np.int64]
    sides: NDArray[np.int64]


def run_splits(model: Tree, cut: CutDomain, resolved: Mapping[Condition, Resolved]) -> RunSplits | None:
    """Return the tests as runs, None where one is no threshold, or no attribute has more than 64 parts."""
    tested = [c for c, _ in tests(model.nodes)]
    found = [next(iter(resolved[c].items())) for c in tested]
    attributes = sorted({k for k, _ in found})
    parts = {k: len(cut.cuts[k].sizes) for k in attributes}
    if max(parts.values(), default=0) <= 64:
        return None
    sides = np.empty((len(found), 2, 2), dtype=np.int64)
    for at, (k, ranges) in enumerate(found):
        if len(ranges) != 1:
            return None
        first, end = cut.cuts[k].run(ranges[0])
        if first and end != parts[k]:
            return None
        sides[at] = (first, end), ((end, parts[k]) if first == 0 else (0, first))
    place, code = {k: at for at, k in enumerate(attributes)}, {id(c): at for at, c in enumerate(tested)}
    of_node = np.array([0 if n.condition is None else code[id(n.condition)] for n in model.nodes], dtype=np.int64)
    column = np.array([place[k] for k, _ in found], dtype=np.int64)
    wide = np.array([parts[k] for k in attributes], dtype=np.int64)
    return RunSplits(np.array(attributes, np.int32), wide, column[of_node], sides[of_node])


def run_boxes(tree: Shape, split: RunSplits) -> tuple[list[int], Boxes]:
    """Return the leaves in file order and the box of each, as `leaf_boxes`; cost: nodes times attributes, no more.

    A tree of n thresholds has boxes of n parts: as bits they would take n^2 of memory and time.
    """
    first, end = np.zeros((1, len(split.parts)), dtype=np.int64), split.parts[None, :].copy()
    ids, attributes, firsts, ends = [], [], [], []
    for level in tree.levels:
        inner = tree.inner[level]
        leaf = ~inner
        rows, columns = np.nonzero((first[leaf] > 0) | (end[leaf] < split.parts))
        ids.append(np.stack([level[leaf][rows], columns]))
        attributes.append(split.attributes[columns])
        a, b = first[leaf][rows, columns], end[leaf][rows, columns]
        firsts.append(np.where(a < b, a, 0))
        ends.append(np.where(a < b, b, 0))
        parents = level[inner]
        first, end = np.repeat(first[inner], 2, axis=0), np.repeat(end[inner], 2, axis=0)
        at, column = np.arange(2 * len(parents)), np.repeat(split.column[parents], 2)
        side = split.sides[parents].reshape(-1, 2)
        first[at, column] = np.maximum(first[at, column], side[:, 0])
        end[at, column] = np.minimum(end[at, column], side[:, 1])
    leaves, start, order = by_leaf(tree, np.concatenate(ids, axis=1))
    masks = RunMasks(np.concatenate(firsts)[order], np.concatenate(ends)[order])
    return leaves, Boxes(start, np.concatenate(attributes)[order], masks)
