"""A released tree over any columns as its learner grew it: the splits, and the values that reach a leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.encode.encoder import EncodedRelease
from encoders.models.learner_facts import Learner
from encoders.models.models import AnyModel, Tree
from recon.learner_rule.chosen import check_limits, exact_refusals, least_rows, limits_of
from recon.learner_rule.estimating.columns import SeenAttribute, seen_of, total_columns
from solvers.foundation.displayed import named
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.greedy.gains import ChosenTree

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittedTree:
    """A tree as scikit-learn grew it: rows go to `left` where their column has at most a number.

    Arrays by node: `left`, `right` (-1 at leaves), `attribute` and `column` (of that attribute's) that it splits on,
    `threshold` (NaN: not known to the last digit), `goes_left` per inner node (values,) which values do, `counts`
    (nodes, classes), `open_leaf` (see `solvers.greedy.gains.ChosenTree`). `chosen`: the same for exact counts, the
    attributes that are one binary column numbered first (`bits`, attribute numbers), every other test after them.
    """

    seen: tuple[SeenAttribute, ...]
    learner: Learner
    left: Ints
    right: Ints
    attribute: Ints
    column: Ints
    threshold: NDArray[np.float64]
    goes_left: tuple[Bools | None, ...]
    counts: Ints
    open_leaf: Bools
    least: int
    chosen: ChosenTree
    bits: tuple[int, ...]

    @property
    def known_thresholds(self) -> bool:
        """Return whether every threshold on a column of more than two numbers is known to the last digit."""
        wide = [
            len(self.seen[k].distinct[j]) > 2
            for k, j in zip(self.attribute.tolist(), self.column.tolist(), strict=True)
            if k >= 0
        ]
        return not (np.isnan(self.threshold[self.attribute >= 0]) & np.array(wide, dtype=bool)).any()

    def order(self) -> list[int]:
        """Return the nodes, each before those below it."""
        found, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            found.append(node)
            if self.left[node] >= 0:
                waiting += [int(self.left[node]), int(self.right[node])]
        return found

    def reaching(self, attribute: int) -> list[Bools]:
        """Return, by node, which values of an attribute rows of the node can have."""
        out = [np.ones(self.seen[attribute].values, dtype=bool)] * len(self.left)
        for node in self.order():
            if self.left[node] < 0:
                continue
            passes = self.goes_left[node] if self.attribute[node] == attribute else None
            out[self.left[node]] = out[node] if passes is None else out[node] & passes
            out[self.right[node]] = out[node] if passes is None else out[node] & ~passes
        return out


def grown_of(release: EncodedRelease, model: AnyModel, learner: Learner) -> FittedTree:
    """Return a released tree as its learner grew it.

    Raises `Unsupported` naming why the rule says nothing here (the settings, the domain, the counts), and
    `ContradictionError` naming the node and the limit where the learner could not have grown the tree.
    """
    domain, name = release.domain, named(model.name)
    if not isinstance(model, Tree):
        raise Unsupported(f"{name} is no tree but a {model.kind.replace('_', ' ')}")
    seen = seen_of(domain)
    if reasons := exact_refusals(learner, total_columns(seen)):
        raise Unsupported(f"no share of worlds of {name} is estimated under its learner's rule", reasons)
    nodes = model.nodes
    counts = _class_counts(model, domain)
    first, second = (nodes.children[:, side].astype(np.int64) for side in (0, 1))
    splits = [_split_of(domain, seen, c, f"a node of {name}") for c in nodes.conditions]
    size = len(nodes)
    left, right, attribute, column = (np.full(size, -1, dtype=np.int64) for _ in range(4))
    goes_left: list[Bools | None] = [None] * size
    threshold = np.full(size, np.nan)
    for node in np.flatnonzero(nodes.inner).tolist():
        attribute[node], column[node], goes_left[node], then_left = splits[nodes.condition[node]]
        left[node], right[node] = (first[node], second[node]) if then_left else (second[node], first[node])
        if nodes.learnt is not None:
            threshold[node] = nodes.learnt.threshold[node]
    bits = tuple(k for k, one in enumerate(seen) if one.bit)
    number = {k: i for i, k in enumerate(bits)}
    test = np.full(size, -1, dtype=np.int64)
    for node in np.flatnonzero(nodes.inner).tolist():
        code = int(nodes.condition[node])
        test[node] = number.get(int(attribute[node]), len(bits) + code)
    chosen = ChosenTree(right, left, test, counts, np.zeros(size, dtype=bool))
    for node in (grown := FittedTree(seen, learner, left, right, attribute, column, threshold, tuple(goes_left), counts,
                                chosen.open_leaf, 1, chosen, bits)).order()[::-1]:  # fmt: skip
        if left[node] >= 0:
            counts[node] = counts[left[node]] + counts[right[node]]
    words = [named(seen[k].names[0]) for k in bits] + [f"test {i}" for i in range(len(splits))]
    stored = model.origin is not None and model.origin.format.startswith("scikit-learn")
    check_limits(learner, chosen, name, words, stored)
    open_leaf = limits_of(learner, chosen)
    chosen = ChosenTree(right, left, test, counts, open_leaf)
    return FittedTree(seen, learner, left, right, attribute, column, threshold, grown.goes_left, counts, open_leaf,
                 max(1, least_rows(learner, int(counts[0].sum()))), chosen, bits)  # fmt: skip


def _class_counts(model: Tree, domain: Domain) -> Ints:
    """Return (nodes, classes) the counts of the leaves, 0 elsewhere; `Unsupported` where some leaf has none."""
    assert domain.label is not None
    table, leaf = model.nodes.leaf_counts, ~model.nodes.inner
    if model.noise is not None or not table.by_class.all() or table.values.dtype != np.int64:
        raise Unsupported(f"{named(model.name)}: the learner's rule needs exact counts per class at every leaf")
    counts = np.zeros((len(leaf), domain.label.known[1]), dtype=np.int64)
    counts[leaf] = table.values.reshape(len(table), -1)
    return counts


def _split_of(
    domain: Domain, seen: Sequence[SeenAttribute], condition: Condition, place: str
) -> tuple[int, int, Bools, bool]:
    """Return a condition as a split: the attribute, its column, which values go left, whether those that pass do."""
    resolved = domain.resolve(condition, place)
    ((k, ranges),) = resolved.items() if len(resolved) == 1 else ((-1, ()),)
    if not 0 <= k < len(seen):
        raise Unsupported(f"{place} tests more than one attribute, or the label: no scikit-learn tree does")
    passes = np.zeros(seen[k].values, dtype=bool)
    for start, end in ranges:
        passes[start:end] = True
    if passes.all() or not passes.any():
        raise Unsupported(f"{place} tests nothing: all rows or none pass")
    asked = {name for name, _ in condition}
    columns = sorted(range(len(seen[k].names)), key=lambda j: seen[k].names[j] not in asked)
    for j in columns:
        numbers = seen[k].numbers[j]
        for then_left, side in ((True, passes), (False, ~passes)):
            if numbers[side].max() < numbers[~side].min():
                return k, j, side, then_left
    raise Unsupported(f"{place}: no column that the learner saw of {named(seen[k].name)} has such a threshold")


def refuse_empty(grown: FittedTree, node: int, values: Bools, attribute: int) -> None:
    """Raise `ContradictionError` where a leaf has rows and an attribute no value there."""
    if not values.any() and grown.counts[node].sum():
        line = f"node {node} has rows, and {named(grown.seen[attribute].name)} no value that reaches it"
        raise ContradictionError(line, (line,))
