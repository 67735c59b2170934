"""A released tree over any columns as its learner grew it: the splits, and the values that reach a leaf.

What was estimated or bounded under a learner's rule, as figures that say what they are.

What a learner saw of every attribute: numbers by column, and all the splits that it may compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import AnyAttribute, Continuous, is_number
from encoders.encode.encoder import EncodedRelease
from encoders.models.learner_facts import Learner
from encoders.models.models import AnyModel, Tree
from recon.learner_rule.chosen_model import check_limits, exact_refusals, least_rows, limits_of
from recon.learner_rule.figures import Bits, bits_text, interval
from solvers.foundation.displayed import Displayed, DisplayFacts, quote
from solvers.foundation.errors import ContradictionError, Unsupported
from solvers.foundation.structures import BinaryTree
from solvers.greedy.gains import ChosenTree

GAP = np.float32(1e-7)  # scikit-learn's FEATURE_THRESHOLD: closer values are not distinguished
MOST_VALUES = 1 << 14
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenAttribute:
    """What the learner saw of one attribute: `numbers` (columns, values), what each column has where it has a value.

    Numbers are those that scikit-learn computes with: single precision, here in doubles. `names` of the columns. A
    candidate is a column and a number but the greatest: rows go left where they have at most that number. Candidates
    stand in the order of columns, then numbers.
    """

    name: str
    names: tuple[str, ...]
    numbers: Floats

    @cached_property
    def values(self) -> int:
        """Return how many values the attribute has."""
        return int(self.numbers.shape[1])

    @cached_property
    def distinct(self) -> tuple[Floats, ...]:
        """Return the numbers of every column, ascending."""
        return tuple(np.unique(column) for column in self.numbers)

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """Return (candidates,) the column of each."""
        return np.repeat(np.arange(len(self.distinct)), [len(u) - 1 for u in self.distinct])

    @cached_property
    def bit(self) -> bool:
        """Return whether the attribute is one independent binary column."""
        return self.numbers.shape == (1, 2) and len(self.distinct[0]) == 2

    @cached_property
    def alike(self) -> NDArray[np.int64]:
        """Return (values,) a number for each, the same for values that no column tells apart."""
        if not len(self.numbers):
            return np.zeros(self.values, dtype=np.int64)
        return np.asarray(np.unique(self.numbers.T, axis=0, return_inverse=True)[1]).reshape(-1)

    def left(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (draws, candidates, classes) rows that go left, for tables (draws, values, classes)."""
        parts = []
        for column, numbers in zip(self.numbers, self.distinct, strict=True):
            if len(numbers) == 2:
                parts.append(table[:, column == numbers[0]].sum(axis=1)[:, None])
                continue
            order = np.argsort(column, kind="stable")
            ends = np.searchsorted(column[order], numbers[:-1], side="right") - 1
            parts.append(table[:, order].cumsum(axis=1)[:, ends])
        empty = np.zeros((len(table), 0, table.shape[2]), dtype=np.int64)
        return np.concatenate([empty, *parts], axis=1)


def seen_of(domain: Domain) -> tuple[SeenAttribute, ...]:
    """Return what the learner saw of the attributes of a domain, in their order, by its columns.

    Raises `Unsupported` naming the attribute whose values no scikit-learn learner computes with as they are, or of
    which no share of worlds can be estimated, and what to do.
    """
    if domain.label is None:
        raise Unsupported("the learner's rule is about classes: the domain has no label")
    viewed = {view.attribute for view in domain.columns.values()}
    given = domain.in_order or (*(a.name for a in domain.attributes if a.name not in viewed), *domain.columns)
    found: list[list[tuple[str, Floats]]] = [[] for _ in domain.attributes]
    for name in given:
        k = domain.place[name] if name in domain.place else domain.view_ranges(name)[0]
        if k >= len(domain.attributes):
            continue
        found[k].append((name, _numbers_of(domain, name, domain.attributes[k])))
    out = []
    for attribute, columns in zip(domain.attributes, found, strict=True):
        _refuse(attribute)
        held = [(name, numbers) for name, numbers in columns if len(np.unique(numbers)) > 1]
        shape = (len(held), attribute.known[1])
        out.append(
            SeenAttribute(
                attribute.name, tuple(name for name, _ in held), np.reshape([n for _, n in held], shape).astype(float)
            )
        )
    return tuple(out)


def _refuse(attribute: AnyAttribute) -> None:
    """Raise `Unsupported` for an attribute of which no share of worlds can be estimated."""
    why = None
    if isinstance(attribute, Continuous):
        why = "may be any number, so that midpoints have no share: --learner midpoints counts with them"
    elif attribute.missing:
        why = "may be missing, and where missing values go is part of the rule: declare a domain without"
    elif attribute.known[1] > MOST_VALUES:
        why = f"has {attribute.known[1]:,} values, {MOST_VALUES:,} at most are drawn: declare a coarser resolution"
    if why is not None:
        raise Unsupported(f"no share is estimated: {quote(attribute.name)} {why}")


def _numbers_of(domain: Domain, name: str, attribute: AnyAttribute) -> Floats:
    """Return (values,) the number, as the learner computes with it, that a column has at every value."""
    _refuse(attribute)
    if name not in domain.place:
        ones = np.zeros(attribute.known[1])
        for start, end in domain.view_ranges(name)[1]:
            ones[start:end] = 1.0
        return ones
    values = [attribute.value_at(i) for i in range(attribute.known[1])]
    if not all(is_number(v) for v in values):
        raise Unsupported(f"{quote(name)} has values that are not numbers: declare the columns that the learner saw")
    single = np.array(values, dtype=np.float64).astype(np.float32)
    gaps = np.diff(np.unique(single))
    if len(np.unique(single)) < len(values) or (gaps <= GAP).any():
        raise Unsupported(f"{quote(name)} has values that scikit-learn does not distinguish: declare it coarser")
    return single.astype(np.float64)


def total_columns(seen: Sequence[SeenAttribute]) -> int:
    """Return how many columns the learner chose among."""
    return sum(len(one.names) for one in seen)


@dataclass(frozen=True, repr=False)
class EstimatedShare(Displayed):
    """An estimate, never exact: the share of a release's worlds in which the learner could have chosen its models.

    `log2_share`: an interval of log2 of the share that holds it with probability `confidence` at least, over the draws;
    `share` the same as numbers (0 below about 1e-308), `middle` the estimate itself (-inf: never seen). `draws` per
    event, `hits` of the `events` (each (hits, draws)): one event of whole worlds, or several of single attributes.
    `exact_bits`: bounds on the part of log2 that was counted and not drawn. `random`: what is random, in words.
    `contains`: whether the set estimated contains that of the rule (a threshold not known), () or why. `kind`: what
    the figure is.
    """

    learner: Learner
    draws: int
    events: tuple[tuple[int, int], ...]
    log2_share: Bits
    middle: float
    confidence: float
    random: str
    exact_bits: Bits = (0.0, 0.0)
    contains: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    kind: Literal["estimate"] = "estimate"

    @property
    def hits(self) -> int:
        """Return the draws of all events in which the choices stood."""
        return sum(hits for hits, _ in self.events)

    @property
    def share(self) -> tuple[float, float]:
        """Return the interval of the share itself."""
        low, high = self.log2_share
        return 2.0**low if low > -1100 else 0.0, 2.0**high if high > -1100 else 0.0

    @property
    def extra_bits(self) -> Bits:
        """Return the interval of the bits that the rule removes: 0 or more."""
        return max(0.0, -self.log2_share[1]), max(0.0, -self.log2_share[0])

    def _facts(self) -> DisplayFacts:
        bits = f"{bits_text(self.extra_bits)} at confidence {self.confidence:g}"
        pairs: list[tuple[str, object]] = [("draws per event", self.draws), ("random", self.random)]
        pairs += [("counted, not drawn", bits_text((max(0.0, -self.exact_bits[1]), -self.exact_bits[0])))]
        lines = [(hits, draws) for hits, draws in self.events]

        def shown() -> Sequence[Sequence[object]]:
            return lines

        line = f"an estimate: the learner's rule removes {bits}"
        return DisplayFacts(line, pairs, ("hits", "draws"), shown, len(lines), self.assumptions, "to_json()")

    def to_json(self) -> dict[str, Any]:
        """Return the figures as an object ready for JSON; "is" says that they are an estimate."""
        return {
            "is": self.kind,
            "learner": asdict(self.learner),
            "draws": self.draws,
            "hits": self.hits,
            "events": [list(one) for one in self.events],
            "share": list(self.share),
            "log2_share": interval(self.log2_share),
            "estimate": self.middle if math.isfinite(self.middle) else None,
            "confidence": self.confidence,
            "random": self.random,
            "log2_counted": interval(self.exact_bits),
            "contains": list(self.contains),
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, repr=False)
class WorldsUpperBound(Displayed):
    """A rigorous upper bound on the worlds in which the learner could have chosen its models, from some conditions.

    `bits`: bounds on log2 of the worlds (`ordered`) without the rule; `most`: log2 of the worlds under it is at most
    this. `share`: log2 of the share of the one model's worlds that the conditions used leave, at most (None: several
    models). `columns`, `nodes`: whose conditions were used (nodes None: all).
    """

    learner: Learner
    bits: Bits
    most: float
    share: float | None
    columns: tuple[str, ...]
    nodes: tuple[int, ...] | None
    assumptions: tuple[str, ...] = ()

    @property
    def least_removed(self) -> float:
        """Return how many bits the rule removes at least, 0 where nothing follows."""
        return max(0.0, self.bits[0] - self.most)

    def _facts(self) -> DisplayFacts:
        where = f"{len(self.columns):,} columns" + ("" if self.nodes is None else f", {len(self.nodes):,} nodes")
        line = f"at most {self.most:,.3f} bits of worlds under the rule, of {bits_text(self.bits)}, from {where}"
        pairs: list[tuple[str, object]] = [("removed, at least", f"{self.least_removed:,.3f} bits")]
        return DisplayFacts(line, pairs, (), lambda: (), 0, self.assumptions, "to_json()")

    def to_json(self) -> dict[str, Any]:
        """Return the figures as an object ready for JSON; "is" says that they are a bound."""
        finite = math.isfinite(self.most)
        return {
            "is": "upper bound",
            "learner": asdict(self.learner),
            "convention": "ordered",
            "world_bits": interval(self.bits),
            "world_bits_at_most": self.most if finite else None,
            "log2_share_at_most": self.share if self.share is not None and math.isfinite(self.share) else None,
            "bits_removed_at_least": self.least_removed if math.isfinite(self.least_removed) else None,
            "columns": list(self.columns),
            "nodes": None if self.nodes is None else list(self.nodes),
            "assumptions": list(self.assumptions),
        }


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
        return BinaryTree.of_sides(self.left, self.right).downwards

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
    domain, name = release.domain, quote(model.name)
    if not isinstance(model, Tree):
        raise Unsupported(f"{name} is not a tree but a {model.kind.replace('_', ' ')}")
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
    words = [quote(seen[k].names[0]) for k in bits] + [f"test {i}" for i in range(len(splits))]
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
        raise Unsupported(f"{quote(model.name)}: the learner's rule needs exact counts per class at every leaf")
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
    raise Unsupported(f"{place}: no column that the learner saw of {quote(seen[k].name)} has such a threshold")


def refuse_empty(grown: FittedTree, node: int, values: Bools, attribute: int) -> None:
    """Raise `ContradictionError` where a leaf has rows and an attribute no value there."""
    if not values.any() and grown.counts[node].sum():
        line = f"node {node} has rows, and {quote(grown.seen[attribute].name)} no value that reaches it"
        raise ContradictionError(line, (line,))
