"""The nodes of a tree as groups of rows: what leads to each, how many rows it has, and how deep it lies."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.domain.domain import Domain
from encoders.domain.values import Ranges, complement, intersection
from encoders.kinds.tree import shape
from encoders.models.learner_facts import Where
from encoders.models.models import Tree
from solvers.foundation.errors import EngineError


@dataclass(frozen=True, slots=True)
class NodeRegion:
    """A node: its number, depth (root: 0), the positions that its rows have, their number, and per class if counted.

    Of an inner node also the attribute that it tests and the positions that pass (-1 and () at a leaf).
    """

    number: int
    depth: int
    allowed: dict[int, Ranges]
    rows: int
    classes: tuple[int, ...] | None
    tests: int = -1
    passed: Ranges = ()

    @property
    def where(self) -> Where:
        """Return the positions as a group of rows."""
        return tuple(sorted(self.allowed.items()))

    def within(self, k: int, domain: Domain) -> Ranges:
        """Return the positions of attribute k that rows of the node may have."""
        return self.allowed.get(k, (domain.all[k].span,))

    def having(self, k: int, ranges: Ranges) -> Where:
        """Return the group of the node's rows that have one of these positions of attribute k."""
        return tuple(sorted({**self.allowed, k: ranges}.items()))


def node_regions(tree: Tree, domain: Domain) -> list[NodeRegion]:
    """Return the nodes of a checked tree without noise, by number. Cost: nodes times depth."""
    nodes, found = tree.nodes, shape(tree.nodes)
    if found is None:
        raise EngineError("a tree is encoded only after it was checked")
    rows, classes = counted(tree)
    tested: dict[int, tuple[int, Ranges]] = {}
    for code, i in nodes.first_nodes():
        ((k, ranges),) = domain.resolve(nodes.conditions[code], f"nodes[{i}].if").items()
        tested[code] = k, ranges
    out: dict[int, NodeRegion] = {}
    stack: list[tuple[int, int, dict[int, Ranges]]] = [(0, 0, {})]
    while stack:
        i, depth, allowed = stack.pop()
        if not found.inner[i]:
            out[i] = NodeRegion(i, depth, allowed, rows[i], classes[i])
            continue
        k, passed = tested[int(nodes.condition[i])]
        out[i] = NodeRegion(i, depth, allowed, rows[i], classes[i], k, passed)
        span = domain.all[k].span
        own = allowed.get(k, (span,))
        then, otherwise = nodes.children[i].tolist()
        stack.append((otherwise, depth + 1, {**allowed, k: intersection(own, complement(passed, span))}))
        stack.append((then, depth + 1, {**allowed, k: intersection(own, passed)}))
    return [out[i] for i in range(len(nodes))]


def counted(tree: Tree) -> tuple[list[int], list[tuple[int, ...] | None]]:
    """Return the rows of every node, and their classes where all leaves below count them."""
    nodes, found = tree.nodes, shape(tree.nodes)
    if found is None:
        raise EngineError("a tree is encoded only after it was checked")
    rows, classes = [0] * len(nodes), [None] * len(nodes)  # type: list[int], list[tuple[int, ...] | None]
    for i in nodes.leaves.tolist():
        support = nodes.counts[i]
        rows[i] = support.total or 0
        classes[i] = None if support.counts is None else tuple(int(c) for c in support.counts)
    for level in reversed(found.levels):
        for i in level[found.inner[level]].tolist():
            then, otherwise = nodes.children[i].tolist()
            rows[i] = rows[then] + rows[otherwise]
            a, b = classes[then], classes[otherwise]
            classes[i] = None if a is None or b is None else tuple(x + y for x, y in zip(a, b, strict=True))
    return rows, classes
