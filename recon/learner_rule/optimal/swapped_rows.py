"""How often another column would do better in the place of a last split, or at a leaf that may be split: exactly.

The released model with one of its last splits on another column, or with one more split where its limits allow it, is a
model of the same class. Whether it makes fewer errors depends on one column and on the rows of one node alone: on how
many rows of either class have a 1 there, binomial numbers. Columns are independent, and so are rows of different nodes,
so the share of worlds in which no such replacement is better is a product over nodes and columns.
Proved in docs/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import PublishedModel, RuleList, Tree
from recon.learner_rule.optimal.classes import ModelClass, tested
from solvers.foundation.limits import Limits

MOST_STATES = 1 << 25  # pairs of numbers of ones at a node; larger nodes are left out, which leaves more worlds
TINY = 1e-280  # a probability below it may have lost digits: it counts as 0


@dataclass(frozen=True)
class NodeReplacement:
    """A node where no other column may do better: `bits` it removes at least, over all its `columns` together.

    `what`: "split" (its last split replaced) or "leaf" (split); `node`: of the tree, or the number of the rule (the
    default rule: how many others there are); `counts`: its rows per class, `errors` those that the model gets wrong.
    """

    what: str
    node: int
    counts: tuple[int, int]
    errors: int
    columns: int
    bits: float


def replaced_nodes(release: EncodedRelease, models: ModelClass, limits: Limits) -> tuple[NodeReplacement, ...]:
    """Return the nodes where replacements give something away; none where rows or columns are not independent.

    Their bits add up to a lower bound on what the rule removes. Two classes, one model, nothing else known. Cost: the
    product of a node's class counts.
    """
    domain, statements = release.domain, release.statements
    if len(release.models) != 1 or models.labels != 2 or release.known is not None:
        return ()
    if statements.impossible or not release.rows.exact or release.domain.continuous:
        return ()
    viewed = {view.attribute for view in domain.columns.values()}
    free = frozenset(n for n in models.columns if n in domain.place and n not in viewed)
    return _node_replacements(release.models[0], models, free, limits)


@singledispatch
def _node_replacements(
    model: PublishedModel, models: ModelClass, free: frozenset[str], limits: Limits
) -> tuple[NodeReplacement, ...]:
    """Return the nodes of a model where replacements give something away; of kinds without an optimal learner none."""
    return ()


@dataclass(frozen=True)
class ReplacedNode:
    """A node as replacements see it: rows per class, errors, columns that may stand there, the search's gap."""

    what: str
    node: int
    counts: tuple[int, int]
    errors: int
    columns: int
    gap: int

    def priced(self, limits: Limits) -> NodeReplacement:
        """Return the place with its bits."""
        least = self.errors - self.gap
        bits = self.columns * _one_column(self.counts, least, limits) if least > 0 and self.columns else 0.0
        return NodeReplacement(self.what, self.node, self.counts, self.errors, self.columns, bits)


@_node_replacements.register(Tree)
def _of_tree(model: Tree, models: ModelClass, free: frozenset[str], limits: Limits) -> tuple[NodeReplacement, ...]:
    """Return the places of a tree: last splits, or leaves below the limits where these say more."""
    nodes, out = model.nodes, []
    inner = sum(node.condition is not None for node in nodes)
    wider = models.leaves is None or inner + 1 < models.leaves

    def leaf(at: int, path: frozenset[str], depth: int) -> ReplacedNode:
        counts = _counts_of(nodes[at].support.counts)
        allowed = wider and depth < models.depth
        return ReplacedNode("leaf", at, counts, min(counts), len(free - path) if allowed else 0, models.gap)

    stack: list[tuple[int, frozenset[str], int]] = [(0, frozenset(), 0)]
    while stack:
        at, path, depth = stack.pop()
        node = nodes[at]
        if node.condition is None:
            out.append(leaf(at, path, depth).priced(limits))  # its parent is no last split
            continue
        below = path | {name for name, _ in tested([node.condition], models.columns)}
        if any(nodes[child].condition is not None for child in (node.then, node.otherwise)):
            stack += [(node.then, below, depth + 1), (node.otherwise, below, depth + 1)]
            continue
        ends = [leaf(child, below, depth + 1) for child in (node.then, node.otherwise)]
        out += _better_of(_parent_node("split", at, ends, len(free - below)), ends, limits)
    return tuple(sorted((one for one in out if one.bits > 0.0), key=lambda one: -one.bits))


@_node_replacements.register(RuleList)
def _of_list(model: RuleList, models: ModelClass, free: frozenset[str], limits: Limits) -> tuple[NodeReplacement, ...]:
    """Return the place at the end of a list: its last rule, or one more before the default rule."""
    rules = [rule for rule in model.rules if rule.condition]
    last = [rule for rule in model.rules if not rule.condition]
    if len(last) != 1 or any(len(rule.condition) != 1 for rule in rules):
        return ()  # rows left by wider rules are no box
    paths = [
        frozenset(n for n, _ in tested([r.condition for r in rules[:k]], models.columns)) for k in range(len(rules) + 1)
    ]
    ends = [
        ReplacedNode("leaf", k, counts := _counts_of(rule.support.counts), min(counts), 0, models.gap)
        for k, rule in [*enumerate(rules), (len(rules), last[0])]
    ]
    more = len(free - paths[-1]) if len(rules) < models.length else 0
    default = ReplacedNode("leaf", len(rules), ends[-1].counts, ends[-1].errors, more, models.gap)
    if not rules:
        found = [default.priced(limits)]
    else:
        found = _better_of(_parent_node("split", len(rules) - 1, ends[-2:], len(free - paths[-1])), [default], limits)
    return tuple(one for one in found if one.bits > 0.0)


def _counts_of(counts: Sequence[object] | None) -> tuple[int, int]:
    """Return the rows of two classes."""
    assert counts is not None
    zero, one = (int(c) for c in counts)  # type: ignore[call-overload]
    return zero, one


def _parent_node(what: str, node: int, ends: Sequence[ReplacedNode], columns: int) -> ReplacedNode:
    """Return the node above two leaves."""
    zero, one = (sum(end.counts[k] for end in ends) for k in (0, 1))
    return ReplacedNode(what, node, (zero, one), sum(end.errors for end in ends), columns, ends[0].gap)


def _better_of(above: ReplacedNode, below: Sequence[ReplacedNode], limits: Limits) -> list[NodeReplacement]:
    """Return a node, or the leaves below it, whichever says more: they look at the same rows."""
    one, several = above.priced(limits), [end.priced(limits) for end in below]
    return [one] if one.bits >= sum(end.bits for end in several) else several


def _one_column(counts: tuple[int, int], errors: int, limits: Limits) -> float:
    """Return bits that one column removes at least where its split may not make fewer than `errors` errors.

    -log2 of the share of its fillings in which it does not, rounded down. Cost: the product of the counts.
    """
    states = (counts[0] + 1) * (counts[1] + 1)
    limits.check("replacements of splits are counted")
    if states > min(MOST_STATES, limits.room // 64):
        return 0.0
    zero, one = (np.arange(n + 1, dtype=np.int64) for n in counts)
    left = np.minimum(zero[:, None], one[None, :])
    wrong = left + np.minimum(counts[0] - zero[:, None], counts[1] - one[None, :])
    p, q = (_binomial(n) for n in counts)
    # Every term is right to a few units in the last place, and so is a sum of terms of one sign to as many as it has.
    violated = float((p[:, None] * q[None, :])[wrong < errors].sum()) * (1.0 - (states + 16) * 2.0**-52)
    return max(0.0, -math.log1p(-violated) / math.log(2.0) * (1.0 - 2.0**-48)) if violated < 1.0 else 0.0


def _binomial(n: int) -> NDArray[np.float64]:
    """Return C(n, k) / 2^n for k = 0..n, each the nearest float; what is tiny is 0."""
    value, out = 1, []
    for k in range(n + 1):
        out.append(value)
        value = value * (n - k) // (k + 1)
    found = np.array([c / (1 << n) for c in out])
    return np.where(found < TINY, 0.0, found)
