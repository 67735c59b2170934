"""Statements on one attribute of all rows, and the values that they do not tell apart.

What preprocessing publishes of a column is such a statement: a sum or a sum of squares, the least and the greatest
value, the categories. They do not cut the row space: boxes are products, so that within a box the values of one
attribute are chosen without regard to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import distinct_words
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Unsupported

MAX_VALUES = 100_000  # of one attribute
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Marginal:
    """`low <= Σ weights[v] <= high` over the values v of one attribute in all rows; `source` says what it is.

    `weights` has a whole number per value index of the attribute (0..total-1, parts in order).
    """

    attribute: int
    weights: Ints
    low: int
    high: int
    source: str

    def met(self, values: Ints, times: Ints) -> bool:
        """Return whether rows with these values of the attribute, so many of each, meet the statement."""
        return self.low <= int(self.weights[values] @ times) <= self.high


@dataclass(frozen=True, eq=False)
class AllowedValues:
    """The classes (sets, classes) and values (sets, values) that distinct sets of parts allow; `of`: each box's set."""

    classes: Mask
    values: Mask
    of: Ints

    @property
    def live(self) -> Mask:
        """Return whether each box has a value that can occur."""
        live: Mask = np.asarray(self.classes.any(axis=1))
        return live[self.of]


@dataclass(frozen=True, eq=False)
class MarginalColumn:
    """An attribute with marginals: `of` (values,) is the class of a value, -1 where it cannot occur.

    Values of one class have equal weights: `weights` is (marginals, classes), between `low` and `high`.
    """

    attribute: int
    of: Ints
    weights: Ints
    low: Ints
    high: Ints

    @classmethod
    def of_marginals(cls, attribute: int, size: int, found: Sequence[Marginal]) -> MarginalColumn:
        """Return an attribute of so many values with its marginals; those that rule values out are no more."""
        if size > MAX_VALUES:
            raise Unsupported(f"an attribute has {size:,} values, too many for figures of single columns")
        excluded = np.zeros(size, dtype=bool)
        stated = []
        for one in found:
            if one.high == 0 and one.low <= 0 and bool((one.weights >= 0).all()):
                excluded |= one.weights > 0
            else:
                stated.append(one)
        weights = np.stack([one.weights for one in stated]) if stated else np.zeros((0, size), dtype=np.int64)
        kept = np.flatnonzero(~excluded)
        unique, back = np.unique(weights[:, kept], axis=1, return_inverse=True)
        of = np.full(size, -1, dtype=np.int64)
        of[kept] = back.reshape(-1) if stated else 0
        low, high = (np.array([getattr(one, end) for one in stated], dtype=np.int64) for end in ("low", "high"))
        return cls(attribute, of, unique, low, high)

    def allowed(self, system: CellSystem) -> AllowedValues:
        """Return the values that the boxes of a system allow."""
        k, layout = self.attribute, system.layout
        distinct, back = distinct_words(system.words[:, layout.span(k)])
        sizes = system.release.domain.attributes[k].sizes
        values = np.array([np.repeat(parts, sizes) for parts in layout.parts_of(distinct, k)], dtype=bool)
        values &= self.of >= 0
        classes = np.zeros((len(distinct), self.weights.shape[1]), dtype=bool)
        at, value = np.nonzero(values)
        classes[at, self.of[value]] = True
        return AllowedValues(classes, values, back)


def columns_of(system: CellSystem, marginals: Sequence[Marginal]) -> list[MarginalColumn]:
    """Return the attributes that marginals are about, in order."""
    by_attribute: dict[int, list[Marginal]] = {}
    for one in marginals:
        by_attribute.setdefault(one.attribute, []).append(one)
    attributes = system.release.domain.attributes
    return [
        MarginalColumn.of_marginals(k, sum(attributes[k].sizes), found) for k, found in sorted(by_attribute.items())
    ]
