"""What a threshold halfway between two training values says of the rows at its node.

Both values occur there and none between them; where several pairs of values of the domain have this midpoint, one of
them does. Of a resample, or of weighted rows (of which some may weigh nothing), only that the values occur.

Source: scikit-learn, tree/_splitter.pyx, `node_split_best`.

The nodes of a tree as groups of rows: what leads to each, how many rows it has, and how deep it lies.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from encoders.domain.domain import Domain, sizes
from encoders.domain.values import AnyAttribute, Ranges, complement, intersection
from encoders.kinds.tree import shape
from encoders.models.learner_facts import GroupCount, LearnerFact, Where
from encoders.models.models import Tree
from encoders.parts.statistics import Positions, Singles, as_ranges, positions_in, singles, threshold_ranges
from solvers.foundation.errors import ContradictionError, EngineError


@dataclass(frozen=True, slots=True)
class NodeRegion:
    """A node: its number, depth (root: 0), the positions that its rows have, their number (of a leaf per class, too).

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
    rows, classes = _node_counts(tree)
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


def _node_counts(tree: Tree) -> tuple[list[int], list[tuple[int, ...] | None]]:
    """Return the rows of every node, and the classes of leaves that count them."""
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
    return rows, classes


NOT_STORED = "thresholds that are not known as the learner stored them"
NOT_PLAIN = "thresholds of what the model makes of an attribute, or of text"
CONTINUOUS = "thresholds of attributes without a grid, or of too many values"
MISSING = "thresholds of attributes that may be missing"
MANY = "thresholds that more pairs of values have than are looked at"


@dataclass
class Midpoints:
    """Works out the facts of the splits of a model's trees; `left_out` counts what it says nothing of, by reason.

    `certain`: all rows of the model's counts took part with a weight; else rows outside of the sample are not told.
    `written`: thresholds stand in the conditions as the learner stored them. `pairs`: at most so many readings.
    """

    domain: Domain
    certain: bool
    written: bool
    pairs: int
    left_out: dict[str, int] = field(default_factory=dict)
    known: dict[int, Singles | None] = field(default_factory=dict)

    def facts(self, tree: Tree, name: str, nodes: list[NodeRegion]) -> list[LearnerFact]:
        """Return the facts of a tree; `ContradictionError` for a threshold that no two values of the domain have."""
        return [f for node in nodes if node.tests >= 0 and (f := self.fact(tree, name, node)) is not None]

    def fact(self, tree: Tree, name: str, node: NodeRegion) -> LearnerFact | None:
        """Return what the threshold of an inner node says beyond the counts; None for nothing."""
        k = node.tests
        attribute = self.domain.all[k]
        ((tested, _),) = tree.nodes.conditions[int(tree.nodes.condition[node.number])]
        if tested in self.domain.columns or (not attribute.missing and sizes(attribute) == 2):
            return None  # there are two values only: both children have rows, as the counts say
        threshold = self.threshold(tree, node.number)
        if isinstance(threshold, str):
            return self.without(threshold)
        if k not in self.known:
            self.known[k] = singles(attribute)
        values = self.known[k]
        if attribute.missing or values is None:
            return self.without(MISSING if attribute.missing else CONTINUOUS)
        at = positions_in(node.within(k, self.domain), attribute)
        own, passed = values[at], np.isin(at, positions_in(node.passed, attribute))
        left = own.astype(np.float64) <= threshold  # else the threshold would be rounded too
        if (left != passed).any() and (left == passed).any():
            return self.without(NOT_PLAIN)
        said = f"{name}, node {node.number}: '{attribute.name}' split at {threshold!r}"
        found = threshold_ranges(np.unique(own[left]), np.unique(own[~left]), threshold)
        if not found:
            raise ContradictionError(
                f"no training set has this model: {said} lies halfway between no two values of the domain "
                f"({attribute.describe()}) that can reach the node",
                (said,),
            )
        split = MidpointSplit(node, k, attribute, at, own, left, said)
        return split.sampled(found) if not self.certain else self.readings(split, found)

    def readings(self, split: MidpointSplit, found: list[tuple[np.float32, np.float32]]) -> LearnerFact | None:
        """Return the readings of a split all of whose rows are known to have taken part."""
        kept = [split.pair(lo, hi) for lo, hi in found[: self.pairs]]
        if len(found) > self.pairs:
            lo, hi = found[self.pairs - 1]
            if any(a >= lo or b <= hi for a, b in found[self.pairs :]):
                return self.without(MANY)
            kept.append(split.beyond(lo, hi))
        return split.stating(tuple(kept)) if kept[0] else None  # no other values are left: the only pair

    def threshold(self, tree: Tree, i: int) -> float | str:
        """Return the threshold of a node as it is stored, or why it is not known."""
        learnt = tree.nodes.learnt
        if learnt is not None:
            if not np.isfinite(learnt.threshold[i]):
                return MISSING
            return float(learnt.threshold[i]) if learnt.plain[learnt.feature[i]] else NOT_PLAIN
        if not self.written:
            return NOT_STORED
        ((_, test),) = tree.nodes.conditions[int(tree.nodes.condition[i])]
        if test.values is not None or test.missing or (test.low is None) == (test.high is None):
            return NOT_PLAIN
        end, closed = (test.high, not test.high_open) if test.low is None else (test.low, test.low_open)
        return float(end) if closed and isinstance(end, int | float) else NOT_PLAIN

    def without(self, why: str) -> LearnerFact | None:
        """Return None, and count a split of which nothing is said."""
        self.left_out[why] = self.left_out.get(why, 0) + 1
        return None


@dataclass(frozen=True)
class MidpointSplit:
    """A split: node, attribute, and of every value that can reach the node its position, itself and its side."""

    node: NodeRegion
    k: int
    attribute: AnyAttribute
    at: Positions
    own: Singles
    left: np.ndarray[tuple[int], np.dtype[np.bool_]]
    said: str

    def pair(self, lo: np.float32, hi: np.float32) -> tuple[GroupCount, ...]:
        """Return that both values occur and none between; what the counts of the children say is left out."""
        between = (self.own > lo) & (self.own < hi)
        out = [*self.occurs(self.own == lo, True), *self.occurs(self.own == hi, False)]
        if between.any():
            out.append(GroupCount(self.having(between), 0, 0, f"no row strictly between {lo} and {hi}"))
        return tuple(out)

    def occurs(self, which: np.ndarray[tuple[int], np.dtype[np.bool_]], left: bool) -> list[GroupCount]:
        """Return that some row has one of these values; nothing where a child has no others."""
        side = self.left if left else ~self.left
        if which.sum() == side.sum():
            return []
        values = [self.attribute.value_at(int(p)) for p in self.at[which][:3]]
        shown = ", ".join(map(str, values)) + (", ..." if which.sum() > 3 else "")
        return [GroupCount(self.having(which), 1, None, f"a row with {shown} just {'below' if left else 'above'} it")]

    def beyond(self, lo: np.float32, hi: np.float32) -> tuple[GroupCount, ...]:
        """Return that the values around the threshold lie farther off than these."""
        inside = (self.own >= lo) & (self.own <= hi)
        return (GroupCount(self.having(inside), 0, 0, f"no row from {lo} to {hi}"),)

    def sampled(self, found: list[tuple[np.float32, np.float32]]) -> LearnerFact | None:
        """Return what holds of the training rows where the node's rows are a sample: some of the values occur."""
        lows, highs = (np.array(x, dtype=np.float32) for x in zip(*found, strict=True))
        said = (*self.occurs(np.isin(self.own, lows), True), *self.occurs(np.isin(self.own, highs), False))
        return self.stating((said,)) if said else None

    def stating(self, readings: tuple[tuple[GroupCount, ...], ...]) -> LearnerFact:
        """Return the fact that one of the readings holds."""
        return LearnerFact(self.said, readings, self.node.rows, self.node.number, self.k)

    def having(self, which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[tuple[int, Ranges], ...]:
        """Return the node's rows with some of the values."""
        return self.node.having(self.k, as_ranges(self.at[which]))
