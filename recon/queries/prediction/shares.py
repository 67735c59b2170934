"""What leaves and rules answer: shares of the rows that they count, or what they add to scores."""

from __future__ import annotations

import numpy as np

from encoders.models.models import Boosting, Forest, RuleList, Tree, TreeSums
from encoders.models.nodes import CountTable, Nodes
from recon.queries.prediction.records import Floats, Ints


def tables_of(model: Tree | Forest | RuleList) -> list[CountTable]:
    """Return what the leaves of every tree, or the rules, count."""
    if isinstance(model, RuleList):
        return [CountTable.of([rule.support for rule in model.rules])]
    return [tree.nodes.leaf_counts for tree in (model.trees if isinstance(model, Forest) else (model,))]


def clipped(table: CountTable, classes: int) -> Floats:
    """Return (entries, classes) counts as floats; what noise made negative is 0."""
    counts = np.array([float(v) for v in table.values.tolist()]) if table.values.dtype == object else table.values
    return np.maximum(counts.astype(np.float64).reshape(len(table), classes), 0.0)


def rule_shares(counts: Floats) -> Floats:
    """Return (rules, classes) shares; a rule without rows has those of all rules, or equal ones."""
    overall = counts.sum(axis=0) if counts.any() else np.ones(counts.shape[1])
    held = np.where(counts.any(axis=1, keepdims=True), counts, overall)
    shares: Floats = held / held.sum(axis=1, keepdims=True)
    return shares


def leaf_shares(nodes: Nodes, classes: int) -> Floats:
    """Return (nodes, classes) shares at the leaves; a leaf without rows has those of the nearest node above with some.

    Equal ones where the tree counts no rows at all. Cost: linear in nodes.
    """
    held = np.zeros((len(nodes), classes))
    held[nodes.leaves] = clipped(nodes.leaf_counts, classes)
    if not held[nodes.leaves].any(axis=1).all():
        levels = levels_of(nodes)
        children = nodes.children
        for level in reversed(levels):
            inner = level[nodes.inner[level]]
            held[inner] = held[children[inner, 0].astype(np.int64)] + held[children[inner, 1].astype(np.int64)]
        if not held[0].any():
            held[0] = 1.0
        for level in levels:
            parents = np.repeat(level[nodes.inner[level]], 2)
            below = children[level[nodes.inner[level]]].astype(np.int64).ravel()
            empty = ~held[below].any(axis=1)
            held[below[empty]] = held[parents[empty]]
    total = held.sum(axis=1, keepdims=True)
    shares: Floats = held / np.where(total == 0, 1.0, total)
    return shares


def leaf_steps(nodes: Nodes, sums: TreeSums, scores: int) -> Floats:
    """Return (nodes, scores) what each leaf of one tree of a boosted model adds to the scores."""
    found = np.zeros((len(nodes), scores))
    found[nodes.leaves, sums.of] = sums.step
    return found


def linked(model: Boosting, scores: Floats, classes: int) -> Floats:
    """Return (rows, classes) the probabilities of a boosted model's scores; 0 for labels that it never saw."""
    found = np.zeros((len(scores), classes))
    if model.gradients.loss == "log_loss":
        from scipy.special import expit

        one = expit(model.gradients.scale * scores[:, 0])
        found[:, list(model.labels)] = np.column_stack([1.0 - one, one])
        return found
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    found[:, list(model.labels)] = shifted / shifted.sum(axis=1, keepdims=True)
    return found


def levels_of(nodes: Nodes) -> list[Ints]:
    """Return the nodes by level, the root first."""
    out, level = [], np.zeros(1, dtype=np.int64)
    while len(level):
        out.append(level)
        level = nodes.children[level[nodes.inner[level]]].astype(np.int64).ravel()
    return out
