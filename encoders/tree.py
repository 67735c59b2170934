"""A decision tree as a partition: every leaf is a box.

Source: Ferry et al., SaTML 2024, eq. 11 (the rows that reach a leaf are the product of its reduced domains).
"""

from __future__ import annotations

from encoders.domain import Condition, Domain
from encoders.encoder import CutDomain, Encoder, Supports, check_support, partition
from encoders.models import Tree
from encoders.values import Ranges
from solvers.errors import ReleaseError
from solvers.release import Block, Box, Rows


class KindEncoder(Encoder[Tree]):
    """Trees: exact class counts or plain counts per leaf; inner counts are checked."""

    def check(self, model: Tree, domain: Domain, place: str) -> None:
        """Refuse missing children, cycles, unreached nodes, leaves without counts, inner counts that differ."""
        if not model.nodes:
            raise ReleaseError("the tree has no nodes", place=f"{place}.nodes")
        order = walk(model, place)
        for i in order:
            node, here = model.nodes[i], f"{place}.nodes[{i}]"
            check_support(node.support, domain, here)
            if node.condition is None and node.support.total is None:
                raise ReleaseError("a leaf needs 'counts' or 'count'", place=here)
            check_label(node.condition, domain, here)
            if node.condition is not None and len(named(node.condition, domain)) != 1:
                message = "a split must test exactly one attribute (else its 'else' side is no box)"
                raise ReleaseError(message, place=f"{here}.if")
        check_inner_counts(model, order, place)

    def conditions(self, model: Tree, place: str) -> list[tuple[Condition, str]]:
        """Return the condition of every inner node."""
        return [
            (node.condition, f"{place}.nodes[{i}].if")
            for i, node in enumerate(model.nodes)
            if node.condition is not None
        ]

    def total(self, model: Tree) -> int:
        """Return the number of rows in all leaves."""
        return sum(node.support.total or 0 for node in model.nodes if node.condition is None)

    def blocks(
        self, model: Tree, cut: CutDomain, resolved: list[dict[int, Ranges]], rows: Rows | None
    ) -> tuple[Block, ...]:
        """Return the leaves as disjoint boxes, in file order."""
        found = iter(resolved)
        boxes = leaf_boxes(model, cut, [None if n.condition is None else next(found) for n in model.nodes])
        supports, names = Supports(), []
        order = sorted(boxes)
        for region, i in enumerate(order):
            supports.add(region, model.nodes[i].support)
            names.append(model.nodes[i].name or f"leaf {i}")
        return (partition(model.name, [boxes[i] for i in order], supports, names, cut.domain, first_match=False),)


def walk(model: Tree, place: str) -> list[int]:
    """Return the nodes in the order of a depth-first walk.

    Raises `ReleaseError` for a child that does not exist, a node reached twice (a cycle) or never.
    """
    seen: dict[int, int] = {0: -1}
    stack, order = [0], []
    while stack:
        i = stack.pop()
        order.append(i)
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
    return order


def check_label(condition: Condition | None, domain: Domain, place: str) -> None:
    """Refuse a split on the label, which would mix counts per class with classes."""
    if condition is not None and domain.label is not None and domain.label.name in named(condition, domain):
        raise ReleaseError(f"a test on the label '{domain.label.name}' mixes classes and regions", place=f"{place}.if")


def named(condition: Condition, domain: Domain) -> set[str]:
    """Return the attributes behind the names of a condition (a column is a view on one)."""
    return {domain.columns[name].attribute if name in domain.columns else name for name, _ in condition}


def check_inner_counts(model: Tree, order: list[int], place: str) -> None:
    """Refuse an inner node whose counts are not the sum of its leaves'; `order` has parents before children."""
    sums: dict[int, tuple[tuple[int, ...] | None, int]] = {}
    for i in reversed(order):
        node, counts = model.nodes[i], model.nodes[i].support.counts
        if node.condition is None:
            sums[i] = counts, node.support.total or 0
            continue
        (left, below), (right, beside) = sums.pop(node.then), sums.pop(node.otherwise)
        both = None if left is None or right is None else tuple(map(sum, zip(left, right, strict=True)))
        sums[i] = both, below + beside
        if counts is not None and both is not None and counts != both:
            message = f"the node says {list(counts)}, its leaves sum to {list(both)}"
            raise ReleaseError(message, place=f"{place}.nodes[{i}]")
        if node.support.total is not None and node.support.total != sums[i][1]:
            message = f"the node says {node.support.total}, its leaves sum to {sums[i][1]}"
            raise ReleaseError(message, place=f"{place}.nodes[{i}]")


def leaf_boxes(model: Tree, cut: CutDomain, resolved: list[dict[int, Ranges] | None]) -> dict[int, Box]:
    """Return leaf index -> box: the conjunction of the tests on its path.

    Every split tests one attribute (`check`), so both of its sides are boxes.
    """
    boxes: dict[int, Box] = {}
    stack: list[tuple[int, dict[int, int]]] = [(0, {})]
    while stack:
        i, path = stack.pop()
        test = resolved[i]
        if test is None:
            boxes[i] = Box(tuple(sorted(path.items())))
            continue
        (k, ranges), *_ = test.items()
        full = (1 << len(cut.cuts[k].sizes)) - 1
        mask, before = cut.cuts[k].mask(ranges), path.get(k, full)
        for child, side in ((model.nodes[i].otherwise, full & ~mask), (model.nodes[i].then, mask)):
            kept = before & side
            child_path = dict(path)
            child_path[k] = kept
            if kept == full:
                del child_path[k]
            stack.append((child, child_path))
    return boxes
