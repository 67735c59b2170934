"""What a file says before a domain is known: published models in the file's own terms.

A reader returns a `Draft`: models whose conditions name the file's features and thresholds, what the file says about
the values of the attributes (`hints`), and how its counts came about (`Provenance`). Bound to a domain, the draft
becomes models of the release; without one, a domain is guessed from the draft (`recon.formats.drafts.guessing`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Test, Value
from encoders.models.models import (
    AnyModel,
    Figure,
    Forest,
    Node,
    Provenance,
    Rule,
    RuleList,
    RuleSet,
    Support,
    Table,
    Tree,
)
from solvers.statements.release import Rows

if TYPE_CHECKING:
    from recon.formats.drafts.binding import Binder

# How the note of a model begins that is about an unknown part of the training rows: it is joined with nothing.
SUBSET = "about a subset"


@dataclass(frozen=True)
class Feature:
    """One input of a model: the attribute behind it, and how preprocessing makes it from the attribute's value.

    `make` (None: the value itself) gives what the model compares, for a value or for None where it is missing; it must
    increase (weakly) with a numeric attribute. `invert` turns a test on what is compared into one on the value:
    for attributes that turn out to be continuous.
    """

    name: str
    attribute: str
    make: Callable[[Value | None], Value] | None = None
    invert: Callable[[Test], Test] | None = None


@dataclass(frozen=True)
class Draft:
    """The models of one file in its own terms.

    `features` in the file's order; `named` is False where the file only numbers them, `more` says that there may be
    more of them than it shows. `classes` is the order of the counts (None: there are none per class), `label` the name
    the file gives the label. `rows`: what the file says about the number of training rows. `single`: values are
    compared as float32(value). `slack`: thresholds were printed with few digits and may be off by so much. `said`:
    sentences for the reader of the file, not assumptions.
    """

    origin: Provenance
    features: tuple[Feature, ...]
    models: tuple[AnyModel, ...] = ()
    classes: tuple[Value, ...] | None = None
    label: str = "label"
    rows: Rows | None = None
    hints: Mapping[str, AnyAttribute] = field(default_factory=dict)
    named: bool = True
    more: bool = False
    single: bool = False
    slack: Callable[[Value], Fraction] | None = None
    said: tuple[str, ...] = ()

    def tests(self) -> Iterator[tuple[str, Test]]:
        """Yield the features that the models name, with the tests on them."""
        for model in self.models:
            for condition in conditions(model):
                yield from condition

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models over the binder's domain, counts in the order of its label's values.

        Raises `ReleaseError` naming the feature for a test that does not fit the domain.
        """
        return tuple(replace(bind(model, binder), origin=self.origin) for model in self.models)


def conditions(model: AnyModel) -> Iterator[Condition]:
    """Yield every condition of a model."""
    if isinstance(model, Forest):
        for tree in model.trees:
            yield from conditions(tree)
    elif isinstance(model, Tree):
        yield from (node.condition for node in model.nodes if node.condition is not None)
    elif isinstance(model, Table):
        yield from (figure.condition for figure in model.statements)
    else:
        yield from (rule.condition for rule in model.rules)


def bind(model: AnyModel, binder: Binder) -> AnyModel:
    """Return the model with its conditions and counts in the domain's terms."""

    def support(of: Support) -> Support:
        return of if of.counts is None else replace(of, counts=binder.counts(of.counts))

    def node(of: Node) -> Node:
        condition = None if of.condition is None else binder.translate(of.condition)
        return replace(of, support=support(of.support), condition=condition)

    def rule(of: Rule) -> Rule:
        return replace(of, condition=binder.translate(of.condition), support=support(of.support))

    def figure(of: Figure) -> Figure:
        return replace(of, condition=binder.translate(of.condition))

    if isinstance(model, Tree):
        return replace(model, nodes=tuple(node(n) for n in model.nodes))
    if isinstance(model, Forest):
        return replace(model, trees=tuple(replace(t, nodes=tuple(node(n) for n in t.nodes)) for t in model.trees))
    if isinstance(model, (RuleList, RuleSet)):
        return replace(model, rules=tuple(rule(r) for r in model.rules))
    return replace(model, statements=tuple(figure(f) for f in model.statements))
