"""A decision tree as a partition: every leaf is a box.

Trees are checked and encoded level by level on arrays, because a forest has hundreds of thousands of nodes; what
is wrong is then named node by node.

Source: Ferry et al., SaTML 2024, eq. 11 (the rows that reach a leaf are the product of its reduced domains).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.models.models import Tree
from encoders.models.nodes import LEAF, UNPUBLISHED, Nodes
from encoders.parts.base import (
    MAX_ROWS,
    CutDomain,
    Encoder,
    PartitionSupports,
    Resolutions,
    SplitTable,
    check_support,
    fits,
    partition,
)
from solvers.foundation.errors import EngineError, ReleaseError
from solvers.foundation.structures import BinaryTree
from solvers.statements.boxes import Boxes, RunMasks
from solvers.statements.release import Block, Partition, RowCount


class TreeEncoder(Encoder[Tree]):
    """Trees: exact class counts or plain counts per leaf; inner counts are checked."""

    def check(self, model: Tree, domain: Domain, place: str) -> None:
        """Refuse missing children, cycles, unreached nodes, leaves without counts, inner counts that differ."""
        check_tree(model, domain, place)

    def resolve(self, model: Tree, domain: Domain, place: str, into: Resolutions) -> None:
        """Add what the inner nodes test."""
        into.add_nodes(model.nodes, domain, place)

    def total(self, model: Tree) -> int:
        """Return the number of rows in all leaves."""
        return tree_total(model)

    def blocks(
        self, model: Tree, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return the leaves as disjoint boxes, in file order."""
        return (tree_partition(model, model.name, cut, resolved),)

    def loosens(self, model: Tree) -> tuple[str, ...]:
        """Return that counts of inner nodes are not used where they say more than the leaves."""
        return unused_counts(model, model.name)


def shape(nodes: Nodes) -> BinaryTree | None:
    """Return the links by level, None where they do not make one tree with node 0 as its root."""
    return BinaryTree.of(nodes.children, nodes.inner)


def check_tree(model: Tree, domain: Domain, place: str, repeated: bool = False) -> None:
    """Refuse a malformed tree with `ReleaseError`, naming the node; `repeated`: its counts are of repeated rows."""
    nodes = model.nodes
    if not len(nodes):
        raise ReleaseError("the tree has no nodes", place=f"{place}.nodes")
    found = shape(nodes)
    if found is None:
        _refuse_links(nodes, place)
    if not fits(nodes.counts, domain):
        for i, support in enumerate(nodes.counts):
            check_support(support, domain, f"{place}.nodes[{i}]")
    for i in np.flatnonzero(~(found.inner | nodes.counts.published)).tolist():
        raise ReleaseError("a leaf needs 'counts' or 'count'", place=f"{place}.nodes[{i}]")
    of_label = _label_names(domain)
    for code, i in nodes.first_nodes():
        condition = nodes.conditions[code]
        if len(condition) != 1 or condition[0][0] in of_label:
            _check_split(condition, domain, f"{place}.nodes[{i}]")
    _check_inner_counts(model, found, place)
    if nodes.counts.distinct is not None:
        _check_distinct(model, found, place, repeated)


def unused_counts(model: Tree, name: str) -> tuple[str, ...]:
    """Return in words that inner nodes count classes where leaves below count rows only; () where none does."""
    table, inner = model.nodes.counts, model.nodes.inner
    plain = table.published & ~table.by_class
    if not (table.by_class & inner).any() or not (plain & ~inner).any():
        return ()
    found = shape(model.nodes)
    some = plain & ~inner
    for level in () if found is None else reversed(found.levels):
        parents = level[inner[level]]
        some[parents] = some[model.nodes.children[parents]].any(axis=1)
    at = np.flatnonzero(some & inner & table.by_class).tolist()
    text = f"{name}: counts per class of inner nodes are not used where leaves below count rows of any class"
    return (f"{text} (node {at[0]})",) if at else ()


def tree_total(model: Tree) -> int:
    """Return the number of rows in all leaves."""
    found = model.nodes.leaf_counts.values
    if found.dtype == object:
        return int(sum(found.tolist()))
    return (int((found >> 32).sum()) << 32) + int((found & 0xFFFFFFFF).sum())  # the sum may be beyond 64 bits


def _refuse_links(nodes: Nodes, place: str) -> NoReturn:
    """Raise `ReleaseError` for a child that does not exist, a node reached twice (a cycle) or never."""
    seen: dict[int, int] = {0: -1}
    stack = [0]
    while stack:
        i = stack.pop()
        if not nodes.inner[i]:
            continue
        for word, child in zip(("then", "else"), nodes.children[i].tolist(), strict=True):
            at = f"{place}.nodes[{i}].{word}"
            if not 0 <= child < len(nodes):
                raise ReleaseError(f"there is no node {child} ({len(nodes)} nodes)", place=at)
            if child in seen:
                before = "the root" if child == 0 else f"a child of node {seen[child]}"
                raise ReleaseError(f"node {child} is already {before}: not a tree", place=at)
            seen[child] = i
            stack.append(child)
    for i in range(len(nodes)):
        if i not in seen:
            raise ReleaseError("no other node leads to this one", place=f"{place}.nodes[{i}]")
    raise EngineError("the links of a tree were refused, and nothing is wrong with them")


def _label_names(domain: Domain) -> set[str]:
    """Return the names behind which the label stands: its own, and those of the columns that view it."""
    if domain.label is None:
        return set()
    label = domain.label.name
    return {label, *(name for name, view in domain.columns.items() if view.attribute == label)}


def check_label(condition: Condition, domain: Domain, place: str) -> None:
    """Refuse a test on the label, which would mix counts per class with classes."""
    if domain.label is not None and domain.label.name in _attribute_names(condition, domain):
        raise ReleaseError(f"a test on the label '{domain.label.name}' mixes classes and regions", place=f"{place}.if")


def _attribute_names(condition: Condition, domain: Domain) -> set[str]:
    """Return the attributes behind the names of a condition (a column is a view on one)."""
    return {domain.columns[name].attribute if name in domain.columns else name for name, _ in condition}


def _check_split(condition: Condition, domain: Domain, place: str) -> None:
    """Refuse a split on the label, and one on several attributes or none."""
    check_label(condition, domain, place)
    if len(_attribute_names(condition, domain)) != 1:
        message = "a split must test exactly one attribute (else its 'else' side is not a box)"
        raise ReleaseError(message, place=f"{place}.if")


def _check_inner_counts(model: Tree, found: BinaryTree, place: str) -> None:
    """Refuse an inner node whose counts are not the sum of its leaves', and a tree of more than 2^53 rows."""
    table = model.nodes.counts
    if (rows := tree_total(model)) > MAX_ROWS:
        raise ReleaseError(f"the counts sum to {rows}, more than 2^53 rows", place=place)
    if not (table.published & found.inner).any():
        return
    counted, plain = table.by_class, table.published & ~table.by_class
    some = np.flatnonzero(counted)
    width = int(table.width[some].max(initial=0))
    published = np.zeros((len(table), width), dtype=np.int64)
    published[some] = table.take(some).values.reshape(len(some), width)
    total = table.totals
    sums, totals, complete = published.copy(), total.copy(), counted.copy()
    for level in reversed(found.levels):
        parents = level[found.inner[level]]
        then, otherwise = found.children[parents].T
        sums[parents] = sums[then] + sums[otherwise]
        totals[parents] = totals[then] + totals[otherwise]
        complete[parents] = complete[then] & complete[otherwise]
    for i in np.flatnonzero(counted & complete & (published != sums).any(axis=1)).tolist():
        message = f"the node says {published[i].tolist()}, its leaves sum to {sums[i].tolist()}"
        raise ReleaseError(message, place=f"{place}.nodes[{i}]")
    for i in np.flatnonzero((counted | plain) & (total != totals)).tolist():
        raise ReleaseError(f"the node says {total[i]}, its leaves sum to {totals[i]}", place=f"{place}.nodes[{i}]")


def _check_distinct(model: Tree, found: BinaryTree, place: str, repeated: bool) -> None:
    """Refuse numbers of different rows that no rows can have, and of an inner node those that its leaves contradict."""
    table = model.nodes.counts
    different, published = table.different, table.published
    given = different != UNPUBLISHED
    total = np.where(published, table.totals, tree_total(model))
    minimum = np.bincount(table.owner, weights=table.values != 0, minlength=len(table)).astype(np.int64)
    repeats = given & published & (different != total) if not repeated else np.zeros(len(table), dtype=bool)
    impossible = given & ((different < minimum) | (different > total))
    for i in np.flatnonzero(repeats | impossible).tolist():
        at, rows = f"{place}.nodes[{i}].distinct", f"{different[i]} different rows"
        if repeats[i]:
            raise ReleaseError(f"{rows} among {total[i]}: only a bootstrap sample repeats rows", place=at)
        raise ReleaseError(f"{rows}, but the counts are those of {minimum[i]} to {total[i]}", place=at)
    sums, known = np.where(given & ~found.inner, different, 0), given & ~found.inner
    for level in reversed(found.levels):
        parents = level[found.inner[level]]
        then, otherwise = found.children[parents].T
        sums[parents] = sums[then] + sums[otherwise]
        known[parents] = known[then] & known[otherwise]
        for i in parents[given[parents] & known[parents] & (different[parents] != sums[parents])].tolist():
            message = f"the node says {different[i]} different rows, its leaves sum to {sums[i]}"
            raise ReleaseError(message, place=f"{place}.nodes[{i}].distinct")


def tree_partition(model: Tree, kind: str, cut: CutDomain, resolved: Resolutions) -> Partition:
    """Return the leaves of a checked tree as disjoint boxes, in file order."""
    boxes, supports = leaf_boxes(model, cut, resolved), PartitionSupports.of(model.nodes.leaf_counts)
    return partition(kind, boxes, supports, leaf_names(model.nodes), cut.domain, first_match=False)


def leaf_names(nodes: Nodes) -> list[str]:
    """Return what the leaves are called in words, in file order."""
    if not nodes.names:
        return [f"leaf {i}" for i in nodes.leaves.tolist()]
    return [nodes.names[i] or f"leaf {i}" for i in nodes.leaves.tolist()]


@dataclass(frozen=True, eq=False)
class InnerTests:
    """What the inner nodes of a tree test: `column[i]` of the `attributes`, and the parts that go each way.

    `sides` is (nodes, 2): the parts for then and else, uint64, or object where an attribute has more than 64.
    """

    attributes: NDArray[np.int32]
    full: NDArray[Any]
    column: NDArray[np.int64]
    sides: NDArray[Any]


def splits(model: Tree, cut: CutDomain, resolved: Resolutions) -> InnerTests:
    """Return the tests of the inner nodes as masks; every test is turned into one once."""
    table, codes, of_node = _tested(model, resolved)
    # Every split tests one attribute (`check_tree`), so both of its sides are boxes.
    attributes, column = np.unique(table.attribute[codes], return_inverse=True)
    full = [(1 << len(cut.cuts[k].sizes)) - 1 for k in attributes.tolist()]
    dtype = np.dtype(object) if any(f >> 64 for f in full) else np.dtype(np.uint64)
    sides = np.empty((max(1, len(codes)), 2), dtype=dtype)
    for at, (mask, k) in enumerate(zip(table.masks(codes, cut.cuts), column.tolist(), strict=True)):
        sides[at] = mask, full[k] & ~mask
    whole = np.empty(len(full), dtype=dtype)
    whole[:] = full
    return InnerTests(attributes, whole, np.append(column, 0)[of_node], sides[of_node])


def _tested(model: Tree, resolved: Resolutions) -> tuple[SplitTable, NDArray[np.int64], NDArray[np.int64]]:
    """Return the table, the numbers in it that a tree tests, and per node the place among these (leaves: 0)."""
    condition = model.nodes.condition
    codes, back = np.unique(condition[condition != LEAF], return_inverse=True)
    of_node = np.zeros(len(condition), dtype=np.int64)
    of_node[condition != LEAF] = back
    return resolved.table(model.nodes), codes, of_node


def leaf_boxes(model: Tree, cut: CutDomain, resolved: Resolutions) -> Boxes:
    """Return the boxes of the leaves in file order: the conjunction of the tests on the path to each.

    Level by level: which parts each node allows of each attribute that the tree tests, and which of them are
    named. Cost: nodes times attributes tested, in arrays.
    """
    tree = shape(model.nodes)
    if tree is None:
        raise EngineError("a tree is encoded only after it was checked")
    if (runs := _run_splits(model, cut, resolved)) is not None:
        return _run_boxes(tree, runs)
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
    start, order = _by_leaf(tree, np.concatenate(ids, axis=1))
    return Boxes(start, np.concatenate(attributes)[order], np.concatenate(masks)[order])


def _by_leaf(tree: BinaryTree, found: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return where the literals of each leaf begin, and their order; `found`: (2, literals) node and column."""
    leaves, (nodes, columns) = np.flatnonzero(~tree.inner), found
    start = np.zeros(len(leaves) + 1, dtype=np.int64)
    np.cumsum(np.bincount(nodes, minlength=len(tree.inner))[leaves], out=start[1:])
    return start, np.lexsort((columns, nodes))


@dataclass(frozen=True, eq=False)
class RunSplits:
    """The tests of a tree all of whose sides are runs of parts that reach an end: thresholds.

    `sides` is (nodes, 2, 2): for then and else the first part and the one behind the last.
    """

    attributes: NDArray[np.int32]
    parts: NDArray[np.int64]
    column: NDArray[np.int64]
    sides: NDArray[np.int64]


def _run_splits(model: Tree, cut: CutDomain, resolved: Resolutions) -> RunSplits | None:
    """Return the tests as runs, None where one is not a threshold, or no attribute has more than 64 parts."""
    table, codes, of_node = _tested(model, resolved)
    attributes, column = np.unique(table.attribute[codes], return_inverse=True)
    parts = np.array([len(cut.cuts[k].sizes) for k in attributes.tolist()], dtype=np.int64)
    if parts.max(initial=0) <= 64:
        return None
    passed, single = table.runs(codes, cut.cuts)
    (first, end), of = passed.T, parts[column]
    if not (single & ((first == 0) | (end == of))).all():
        return None
    lower = first == 0
    failed = np.stack([np.where(lower, end, 0), np.where(lower, of, first)], axis=1)
    sides = np.stack([passed, failed], axis=1)
    return RunSplits(attributes, parts, column[of_node], sides[of_node])


def _run_boxes(tree: BinaryTree, split: RunSplits) -> Boxes:
    """Return the boxes of the leaves in file order, as `leaf_boxes`; cost: nodes times attributes, no more.

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
    start, order = _by_leaf(tree, np.concatenate(ids, axis=1))
    masks = RunMasks(np.concatenate(firsts)[order], np.concatenate(ends)[order])
    return Boxes(start, np.concatenate(attributes)[order], masks)
