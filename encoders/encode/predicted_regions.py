"""The regions in which a model predicts each class: the leaves of a tree, the rules of a list, the vote of a forest.

Source: Breiman, "Random forests", 2001 (the vote); scikit-learn predicts the class of the greatest mean share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from encoders.domain.domain import Domain
from encoders.domain.values import Ranges, complement, intersection
from encoders.models.models import (
    MEANING,
    AnyModel,
    Forest,
    PublishedModel,
    RuleList,
    Tree,
    kind_words,
    kinds_of,
    unsupported,
)
from solvers.foundation.errors import Unsupported

MAX_REGIONS = 4_096  # in which a model predicts
NEAR = 1e-9  # sums of shares of trees that are closer may be ordered either way
ADDED_UP = ("AdaBoost", "Boosting", "LightGBM", "XGBoost", "CatBoost")  # whose trees are no votes, by their format
Region = dict[int, Ranges]  # by attribute the positions that are in it


@dataclass(frozen=True)
class Predicted:
    """A region of rows, and the labels of which the model predicts one there: several where they tie."""

    box: Region
    labels: frozenset[int]


def predicted_regions(model: AnyModel, domain: Domain) -> list[Predicted]:
    """Return disjoint regions that hold every row, each with what the model predicts there.

    Of a forest they are the regions of all trees together, until the others cannot change the vote. Raises
    `Unsupported` naming the model where its predictions do not follow from what was read, or are too many regions.
    """
    named = f"the {kind_words(model)} '{model.name}'"
    form = "" if model.origin is None else model.origin.format
    notes = () if model.origin is None else model.origin.notes
    if model.scores or any(word in form for word in ADDED_UP):
        raise Unsupported(f"{named} adds up scores: a model card is about a tree, a forest or a rule list")
    kinds = kinds_of(model)
    if not set(kinds) <= {"exact", "bag", "distinct"} or any("are multiples" in note for note in notes):
        said = "; ".join(MEANING[kind] for kind in kinds if kind not in ("exact", "bag", "distinct")) or "weighted rows"
        raise Unsupported(f"what {named} predicts does not follow from what was read of it ({said})")
    return _regions_of(model, domain)


@singledispatch
def _regions_of(model: PublishedModel, domain: Domain) -> list[Predicted]:
    """Return the regions in which a model predicts; kinds that are registered do."""
    raise unsupported(model, "a model card is about a tree, a forest or a rule list")


@_regions_of.register
def _(model: Tree, domain: Domain) -> list[Predicted]:
    return _by_counts(model, domain, _of_tree(model, domain, {}))


@_regions_of.register
def _(model: RuleList, domain: Domain) -> list[Predicted]:
    return _by_counts(model, domain, _of_rules(model, domain))


def _classes(domain: Domain) -> int:
    """Return how many classes there are."""
    assert domain.label is not None
    return int(domain.label.known[1])


def _by_counts(
    model: Tree | RuleList, domain: Domain, pairs: Iterable[tuple[Region, Sequence[Any] | None]]
) -> list[Predicted]:
    """Return what is predicted by the most frequent class: scikit-learn takes the first of those that tie."""
    label, out = domain.label, list[Predicted]()
    assert label is not None
    values = [label.value_at(i) for i in range(_classes(domain))]
    first = model.origin is not None and model.origin.format.startswith("scikit-learn")
    first = first and values == sorted(values, key=lambda v: (isinstance(v, str), v))
    for box, counts in pairs:
        out.append(Predicted(box, _commonest(counts, first, len(values))))
        _hold_regions(len(out), model)
    return out


def _commonest(counts: Sequence[Any] | None, first: bool, classes: int) -> frozenset[int]:
    """Return the classes of which one has most rows; every class where nothing is counted."""
    every = frozenset(range(classes))
    if counts is None or not any(counts):
        return every
    found = [i for i, n in enumerate(counts) if n == max(counts) and i < classes]
    return frozenset(found[:1] if first else found)


def _hold_regions(found: int, model: PublishedModel) -> None:
    """Refuse more regions than are encoded."""
    if found > MAX_REGIONS:
        raise Unsupported(
            f"the {kind_words(model)} '{model.name}' predicts in more than {MAX_REGIONS:,} regions: a model card of it "
            "is not encoded"
        )


def shared_region(box: Region, held: Region) -> Region | None:
    """Return what two regions share, None for nothing."""
    out = dict(box)
    for k, ranges in held.items():
        out[k] = intersection(out[k], ranges) if k in out else ranges
        if not out[k]:
            return None
    return out


def _remaining_regions(box: Region, held: Region, domain: Domain) -> Iterator[Region]:
    """Yield disjoint regions that make up what of a region is not in another."""
    rest = dict(box)
    for k, ranges in held.items():
        span = domain.all[k].span
        left = intersection(rest.get(k, (span,)), complement(ranges, span))
        if left:
            yield {**rest, k: left}
        rest[k] = intersection(rest.get(k, (span,)), ranges)
        if not rest[k]:
            return


def _of_tree(tree: Tree, domain: Domain, box: Region) -> Iterator[tuple[Region, Sequence[Any] | None]]:
    """Yield the leaves of a tree that meet a region, as regions in it, each with its counts by class."""
    nodes = tree.nodes
    held = [domain.resolve(condition) for condition in nodes.conditions]
    inner = nodes.inner
    stack = [(0, box)]
    while stack:
        at, here = stack.pop()
        if not inner[at]:
            yield here, nodes.counts[at].counts
            continue
        test = held[int(nodes.condition[at])]
        then, otherwise = nodes.children[at].tolist()
        stack += ((otherwise, rest) for rest in _remaining_regions(here, test, domain))
        if (inside := shared_region(here, test)) is not None:
            stack.append((then, inside))


def _of_rules(model: RuleList, domain: Domain) -> Iterator[tuple[Region, Sequence[Any] | None]]:
    """Yield the regions of a rule list, each with the counts of the rule that is the first to hold there."""
    left: list[Region] = [{}]
    for rule in model.rules:
        held, rest = domain.resolve(rule.condition), list[Region]()
        for box in left:
            if (inside := shared_region(box, held)) is not None:
                yield inside, rule.support.counts
            rest += _remaining_regions(box, held, domain)
            _hold_regions(len(rest), model)
        left = rest
    for box in left:  # a list without a last rule
        yield box, None


@_regions_of.register
def _(model: Forest, domain: Domain) -> list[Predicted]:
    classes = _classes(domain)
    done: list[Predicted] = []
    open_ones: list[tuple[Region, Any]] = [({}, np.zeros(classes))]
    for t, tree in enumerate(model.trees):
        further = []
        for box, votes in open_ones:
            for inside, counts in _of_tree(tree, domain, box):
                if counts is None or not any(counts):
                    raise Unsupported(f"a leaf of {tree.name} of the forest '{model.name}' counts no class")
                total = votes + np.array(counts[:classes], dtype=np.float64) / sum(counts)
                order = np.sort(total)
                if classes < 2 or order[-1] - order[-2] > len(model.trees) - 1 - t + NEAR:
                    done.append(Predicted(inside, frozenset([int(total.argmax())])))
                else:
                    further.append((inside, total))
                _hold_regions(len(done) + len(further), model)
        open_ones = further
    done += (Predicted(box, frozenset(np.flatnonzero(v >= v.max() - NEAR).tolist())) for box, v in open_ones)
    return done
