"""Drafts of boosting whose leaf values are statements: trees as of a forest, and sums of gradients beside them.

Figures of one kind about nodes of a tree, and all of a tree put together.

How far computed sums are from the true ones: bounds, not estimates.

u = 2^-53 is the unit roundoff. A sum of n terms, added in whatever order, is off by at most (n - 1) u Σ|terms| up to
terms of order u² (Higham, "Accuracy and stability of numerical algorithms", 2002, section 4.2); one whose terms pass
through at most d additions each by d u Σ|terms|. Every bound is used times `OWN`, for the second order and for the
rounding of the bound itself: n u stays below 10^-4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Categorical, Grid, exact, is_number
from encoders.models.models import AnyModel, Boosting, TreeSums, UnusedPublication
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.sklearn.trees.draft import TreesDraft
from solvers.statements.gradients.boosted import Gradients

Floats = NDArray[np.float64]
UNIT = 2.0**-53
OWN = 1.01
MOST_ROWS = 1 << 39  # n u < 10^-4


def pairwise(rows: Floats) -> Floats:
    """Return through how many additions a term of numpy's sum of so many doubles passes at most.

    numpy/_core/src/umath/loops_utils.h.src, `pairwise_sum`: below 8 terms one after the other; up to 128 in eight sums
    of every eighth term (15 additions), these by pairs (3), then up to 7 remaining terms; more are halved, at a
    multiple of 8, until blocks have at most 128. One addition more for what a reduction starts from.
    """
    halvings = np.ceil(np.log2(np.maximum(rows / 128, 1.0))) + 1
    return np.minimum(rows, 27.0 + halvings)


def rounding_interval(middle: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Return the ends of intervals that surely reach `error` to both sides of the middle."""
    return np.nextafter(middle - error * OWN, -np.inf), np.nextafter(middle + error * OWN, np.inf)


@dataclass(frozen=True, eq=False)
class ScoreEnds:
    """How great scores can be: `size` (rounds + 1) before each round and at the end."""

    size: Floats

    @property
    def travelled(self) -> float:
        """Return the sum of the greatest scores over all rounds: what roundings of sums add up to, in units."""
        return float(self.size.sum())

    @classmethod
    def of(cls, start: Sequence[float], steps: list[Floats]) -> ScoreEnds:
        """Return the bounds for trees in the order of rounds, one per score and round."""
        rounds, scores = len(steps) // len(start), len(start)
        size = np.zeros(rounds + 1)
        for k in range(scores):
            mine = steps[k::scores]
            low = start[k] + np.cumsum([0.0, *(float(s.min()) for s in mine)])
            high = start[k] + np.cumsum([0.0, *(float(s.max()) for s in mine)])
            size = np.maximum(size, np.maximum(np.abs(low), np.abs(high)))
        return cls(size + 1e-9 * (1.0 + size))


@dataclass(frozen=True, eq=False)
class GradientFigures:
    """Figures about nodes `at`: low <= gradient Σg + hessian Σh + square Σg² <= high; numbers stand for all alike."""

    what: str
    at: NDArray[np.int64]
    gradient: Floats | float
    hessian: Floats | float
    square: Floats | float
    low: Floats
    high: Floats


def stacked(tree: tuple[int, int, Floats], *kinds: GradientFigures) -> TreeSums:
    """Return the sums of a tree, given its round, its score and the steps of its leaves."""

    def joined(name: str) -> Floats:
        return np.concatenate([np.broadcast_to(getattr(k, name), len(k.at)).astype(np.float64) for k in kinds])

    node = np.concatenate([k.at for k in kinds]).astype(np.int64)
    what = tuple(k.what for k in kinds for _ in range(len(k.at)))
    gradient, hessian, square = joined("gradient"), joined("hessian"), joined("square")
    return TreeSums(*tree, node, gradient, hessian, square, joined("low"), joined("high"), what)


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

    def missing(self) -> Iterator[str]:
        """Yield the features of which some training rows had no value, also where a split is between these and all."""
        alone = (f for f, pairs in self.sets.items() if not all(left and right for left, right in pairs))
        yield from dict.fromkeys((*super().missing(), *(self.features[f].name for f in alone)))

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the model over the binder's domain: a boosted one, or a forest where leaf values are not used."""
        models = super().bound(binder)
        trees, found = models[0].members(), self.values
        if found is None:
            return models
        fits = models[0].unit == "tree" and not (found.labels and binder.domain.label is None)
        sums = found.within(_greatest_label(binder)) if fits else ()
        if not sums:
            alone = len(self.trees) == 1
            unused = UnusedPublication(
                "its leaf values", "the domain does not say which targets there can be", labels=alone
            )
            return tuple(replace(m, origin=replace(self.origin, unused=(unused,))) for m in models)
        labels = binder.label_numbers(found.labels) if found.labels else ()
        start = found.start
        return (Boosting(trees, sums, found.gradients, start, start, labels, "boosting", None, self.origin),)


def _greatest_label(binder: Binder) -> float:
    """Return the greatest size of a value of the domain's label, infinity where that is not known."""
    label = binder.domain.label
    if isinstance(label, Categorical):
        return max(abs(float(exact(v))) if is_number(v) else np.inf for v in label.values)
    if isinstance(label, Grid):
        return max(abs(float(label.minimum)), abs(float(label.maximum)))
    return float(np.inf)
