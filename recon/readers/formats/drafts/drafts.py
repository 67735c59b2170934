"""What a file says before a domain is known: published models in the file's own terms.

A reader returns a `Draft`: models whose conditions name the file's features and thresholds, what the file says about
the values of the attributes (`hints`), and how its counts came about (`Provenance`). Bound to a domain, the draft
becomes models of the release; without one, a domain is guessed from the draft
(`recon.readers.formats.drafts.guessing`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from encoders.models.column_figures import ColumnFigures
from encoders.models.models import AnyModel, Boosting, Forest, PublishedFigure, Rule, RuleList, RuleSet, Tree
from encoders.models.nodes import CountTable, Nodes, Support
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.drafts.facts import DraftFacts
from solvers.foundation.errors import Unsupported

# How the note of a model begins that is about an unknown part of the training rows: it is joined with nothing.
SUBSET = "about a subset"
CLASSES = "classes_"  # what the figures of the label are called
EACH = "every class that the model names has a training row, and no other class has one (classes_)"
ONLY = "no class has a training row that the model does not name (classes_)"


@dataclass(frozen=True)
class Draft(DraftFacts):
    """What a file says, and the models it makes over a domain; readers with more to say are subclasses."""

    def of_forest(self) -> Draft:
        """Return what the file says of one tree of a bootstrap forest; `Unsupported` where it says that itself."""
        raise Unsupported(
            "the file says itself how the rows of its trees were drawn: --from-forest is for what export_text printed"
        )

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

    def figure(of: PublishedFigure) -> PublishedFigure:
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


def with_classes(models: tuple[AnyModel, ...], draft: Draft, binder: Binder) -> tuple[AnyModel, ...]:
    """Return the models with what the file's list of classes says beside their counts, if it says more than these."""
    label, order = binder.domain.label, binder.order
    if not draft.occurring or label is None or order is None or any(map(_counts_classes, models)):
        return models
    values = [label.value_at(i) for i, c in enumerate(order) if c is not None]
    absent = None in order[: label.known[1]]
    drawn = {k for m in models if isinstance(m, Forest) for t in m.trees for k in _counted(t)}
    each = draft.occurring == "each" and not {i for i, c in enumerate(order) if c is not None} <= drawn
    if not absent and not each:
        return models
    first, *rest = models
    origin = first.origin or draft.origin
    said = ColumnFigures(
        label.name, CLASSES, values=frozenset(values) if each else None, among=frozenset(values), gap=False
    )
    notes = (*origin.notes, EACH if each else ONLY)
    return (replace(first, origin=replace(origin, columns=(*origin.columns, said), notes=notes)), *rest)


def _counts_classes(model: AnyModel) -> bool:
    """Return whether a model counts the rows of every class, all rows together, or its leaf values do."""
    if isinstance(model, Boosting):
        return bool(model.labels) or bool(model.trees[0].nodes.leaf_counts.by_class.all())
    if isinstance(model, Forest):
        return not model.resampled and any(_by_class(tree) for tree in model.trees)
    return isinstance(model, Tree) and _by_class(model)


def _by_class(tree: Tree) -> bool:
    """Return whether every leaf of a tree has its classes."""
    table = tree.nodes.leaf_counts
    return bool(table.by_class.all())


def _counted(tree: Tree) -> set[int]:
    """Return the classes that some leaf of a tree counts a row of."""
    table = tree.nodes.leaf_counts
    width = np.diff(table.start)
    leaf = np.repeat(np.arange(len(width)), width)
    at = np.flatnonzero(table.by_class[leaf] & (table.values > 0))
    return set((at - table.start[leaf[at]]).tolist())
