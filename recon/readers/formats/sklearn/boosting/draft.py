"""Drafts of boosting whose leaf values are statements: trees as of a forest, and sums of gradients beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from encoders.domain.values import Grid, Listed, exact, is_number
from encoders.models.models import AnyModel, Boosting, Forest, TreeSums, UnusedPublication
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.sklearn.boosting.rounding import Floats
from recon.readers.formats.sklearn.trees.draft import TreesDraft
from solvers.laws.gradients.boosted import Gradients


@dataclass(frozen=True, eq=False)
class BoostedLeafValues:
    """What the trees of a boosted model say beside counts; `labels` are class numbers of the draft, () for a target.

    `per_size` (trees, figures of each): by how much intervals are wider per unit of the greatest gradient, where the
    file does not bound that; `reach` is the greatest size of a score.
    """

    gradients: Gradients
    start: tuple[float, ...]
    labels: tuple[int, ...]
    sums: tuple[TreeSums, ...]
    per_size: tuple[Floats, ...] = ()
    reach: float = 0.0

    def within(self, greatest: float) -> tuple[TreeSums, ...]:
        """Return the sums for targets of at most this size; none where that is needed and not known."""
        if not self.per_size:
            return self.sums
        size = (greatest + self.reach) * (1 + 2.0**-20)  # gradients are rounded to single precision
        return tuple(
            replace(s, low=np.nextafter(s.low - w * size, -np.inf), high=np.nextafter(s.high + w * size, np.inf))
            for s, w in zip(self.sums, self.per_size, strict=True)
            if np.isfinite(size)
        )


@dataclass(frozen=True, eq=False)
class BoostingDraft(TreesDraft):
    """Trees of a boosted model that all count the same rows, and their leaf values where these can be used."""

    values: BoostedLeafValues | None = None

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the model over the binder's domain: a boosted one, or a forest where leaf values are not used."""
        models = super().bound(binder)
        forest, found = models[0], self.values
        if found is None:
            return models
        fits = isinstance(forest, Forest) and not (found.labels and binder.domain.label is None)
        sums = found.within(greatest_label(binder)) if fits else ()
        if not isinstance(forest, Forest) or not sums:
            alone = len(self.trees) == 1
            unused = UnusedPublication(
                "its leaf values", "the domain does not say which targets there can be", labels=alone
            )
            return tuple(replace(m, origin=replace(self.origin, unused=(unused,))) for m in models)
        labels = binder.label_numbers(found.labels) if found.labels else ()
        start = found.start
        return (Boosting(forest.trees, sums, found.gradients, start, start, labels, "boosting", None, self.origin),)


def greatest_label(binder: Binder) -> float:
    """Return the greatest size of a value of the domain's label, infinity where that is not known."""
    label = binder.domain.label
    if isinstance(label, Listed):
        return max(abs(float(exact(v))) if is_number(v) else np.inf for v in label.values)
    if isinstance(label, Grid):
        return max(abs(float(label.minimum)), abs(float(label.maximum)))
    return float(np.inf)
