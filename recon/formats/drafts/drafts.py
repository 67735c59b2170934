"""What a file says before a domain is known: published models in the file's own terms.

A reader returns a `Draft`: models whose conditions name the file's features and thresholds, what the file says about
the values of the attributes (`hints`), and how its counts came about (`Provenance`). Bound to a domain, the draft
becomes models of the release; without one, a domain is guessed from the draft (`recon.formats.drafts.guessing`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from encoders.models.models import AnyModel, Boosting, Figure, Forest, Rule, RuleList, RuleSet, Tree
from encoders.models.nodes import CountTable, Nodes, Support
from recon.formats.drafts.binding import Binder
from recon.formats.drafts.facts import DraftFacts

# How the note of a model begins that is about an unknown part of the training rows: it is joined with nothing.
SUBSET = "about a subset"


@dataclass(frozen=True)
class Draft(DraftFacts):
    """What a file says, and the models it makes over a domain; readers with more to say are subclasses."""

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the models over the binder's domain, counts in the order of its label's values.

        Raises `ReleaseError` naming the feature for a test that does not fit the domain.
        """
        return tuple(replace(bind(model, binder), origin=self.origin) for model in self.models)


def bind(model: AnyModel, binder: Binder) -> AnyModel:
    """Return the model with its conditions and counts in the domain's terms."""

    def support(of: Support) -> Support:
        return of if of.counts is None else replace(of, counts=binder.counts(of.counts))

    def nodes(of: Nodes) -> Nodes:
        found = of.translated(binder.translate)
        return found.counting(CountTable.of([support(s) for s in of.counts]))

    def rule(of: Rule) -> Rule:
        return replace(of, condition=binder.translate(of.condition), support=support(of.support))

    def figure(of: Figure) -> Figure:
        return replace(of, condition=binder.translate(of.condition))

    if isinstance(model, Tree):
        return replace(model, nodes=nodes(model.nodes))
    if isinstance(model, Forest):
        return replace(model, trees=tuple(replace(t, nodes=nodes(t.nodes)) for t in model.trees))
    if isinstance(model, Boosting):
        trees = tuple(replace(t, nodes=nodes(t.nodes)) for t in model.trees)
        return replace(model, trees=trees, labels=binder.label_numbers(model.labels))
    if isinstance(model, (RuleList, RuleSet)):
        return replace(model, rules=tuple(rule(r) for r in model.rules))
    return replace(model, statements=tuple(figure(f) for f in model.statements))
