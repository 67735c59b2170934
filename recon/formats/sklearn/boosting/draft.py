"""Drafts of boosting whose leaf values are statements: trees as of a forest, and sums of gradients beside them."""

from __future__ import annotations

from dataclasses import dataclass

from encoders.models.models import AnyModel, Boosting, Forest, TreeSums
from recon.formats.drafts.binding import Binder
from recon.formats.sklearn.trees.draft import TreesDraft
from solvers.statements.boosted import Gradients


@dataclass(frozen=True, eq=False)
class LeafValues:
    """What the trees of a boosted model say beside counts; `labels` are class numbers of the draft, () for a target."""

    gradients: Gradients
    start: tuple[float, ...]
    labels: tuple[int, ...]
    sums: tuple[TreeSums, ...]


@dataclass(frozen=True, eq=False)
class BoostingDraft(TreesDraft):
    """Trees of a boosted model that all count the same rows, and their leaf values where these can be used."""

    values: LeafValues | None = None

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the model over the binder's domain: a boosted one, or a forest where leaf values are not used."""
        models = super().bound(binder)
        forest, found = models[0], self.values
        if found is None or not isinstance(forest, Forest) or (found.labels and binder.domain.label is None):
            return models
        labels = binder.label_numbers(found.labels) if found.labels else ()
        return (
            Boosting(
                forest.trees,
                found.sums,
                found.gradients,
                found.start,
                found.start,
                labels,
                "boosting",
                None,
                self.origin,
            ),
        )
