"""What a learner saw of every attribute: numbers by column, and all the splits that it may compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.domain.values import AnyAttribute, Continuous, is_number
from solvers.foundation.displayed import named
from solvers.foundation.errors import Unsupported

GAP = np.float32(1e-7)  # scikit-learn's FEATURE_THRESHOLD: closer values are not told apart
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
        raise Unsupported(f"no share is estimated: {named(attribute.name)} {why}")


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
        raise Unsupported(f"{named(name)} has values that are no numbers: declare the columns that the learner saw")
    single = np.array(values, dtype=np.float64).astype(np.float32)
    gaps = np.diff(np.unique(single))
    if len(np.unique(single)) < len(values) or (gaps <= GAP).any():
        raise Unsupported(f"{named(name)} has values that scikit-learn does not tell apart: declare it coarser")
    return single.astype(np.float64)


def total_columns(seen: Sequence[SeenAttribute]) -> int:
    """Return how many columns the learner chose among."""
    return sum(len(one.names) for one in seen)
