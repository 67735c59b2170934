"""The nodes of a tree as arrays, and what they count; a `ModelNode` or `Support` is a view, made when asked for.

A forest has hundreds of thousands of nodes and a few hundred different tests: conditions stand once in a table, which
the trees of a forest may share, and every inner node has its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Condition

Published = int | Fraction  # a number of rows, or what noise made of one
LEAF = -1  # the condition's number of a node without one
UNPUBLISHED = int(np.iinfo(np.int64).min)  # no number of different rows


@dataclass(frozen=True, slots=True)
class Support:
    """How many training rows: per class (`counts`) or in all (`count`); at most one is given.

    Whole numbers, or exact fractions where the model carries noise. `distinct`: how many different training rows they
    are (a row of a bootstrap sample may count several times); None: not published.
    """

    counts: tuple[Published, ...] | None = None
    count: Published | None = None
    distinct: int | None = None

    @property
    def total(self) -> int | None:
        """Return the number of rows, None where nothing was published. Of models without noise only."""
        found = sum(self.counts) if self.counts is not None else self.count
        return None if found is None else int(found)


@dataclass(frozen=True, slots=True)
class ModelNode:
    """A node of a tree: an inner node has a condition and two children, a leaf has a support."""

    support: Support
    condition: Condition | None = None
    then: int = -1
    otherwise: int = -1
    name: str | None = None


def as_integers(values: Sequence[Any]) -> NDArray[Any]:
    """Return numbers as int64, or as they are (object) where one is not a whole number of 64 bits."""
    if values:
        found = np.array(values)
        if found.dtype == np.int64 and found.ndim == 1:
            return found
    out = np.empty(len(values), dtype=object if values else np.int64)
    out[:] = values
    return out


@dataclass(frozen=True, eq=False)
class CountTable:
    """What n nodes or rules publish: entry i has the figures `values[start[i]:start[i + 1]]`.

    They are counts per class where `by_class[i]`, else one count in all, or none. `values` is int64, or object where
    counts are fractions (noise) or beyond 64 bits. `distinct`: different rows per entry (UNPUBLISHED: not given), None
    where no entry gives them.
    """

    start: NDArray[np.int64]
    values: NDArray[Any]
    by_class: NDArray[np.bool_]
    distinct: NDArray[Any] | None = None

    @classmethod
    def of(cls, supports: Sequence[Support]) -> CountTable:
        """Return the table of the given supports."""
        figures = [s.counts if s.counts is not None else () if s.count is None else (s.count,) for s in supports]
        by_class = np.array([s.counts is not None for s in supports], dtype=bool)
        distinct = [s.distinct for s in supports]
        return cls.of_figures(figures, by_class, distinct)

    @classmethod
    def of_figures(
        cls, figures: Sequence[Sequence[Any]], by_class: NDArray[np.bool_], distinct: Sequence[int | None] = ()
    ) -> CountTable:
        """Return the table of figures per entry; `distinct` may be left out where no entry has any."""
        start = np.zeros(len(figures) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, figures), np.int64, len(figures)), out=start[1:])
        given = any(d is not None for d in distinct)
        different = as_integers([UNPUBLISHED if d is None else d for d in distinct]) if given else None
        return cls(start, as_integers(list(chain.from_iterable(figures))), by_class, different)

    @classmethod
    def grid(
        cls, table: NDArray[np.int64], given: NDArray[np.bool_], distinct: NDArray[np.int64] | None = None
    ) -> CountTable:
        """Return the counts per class of the rows of a table (given entries, classes), nothing for other entries."""
        start = np.zeros(len(given) + 1, dtype=np.int64)
        np.cumsum(np.where(given, table.shape[1], 0), out=start[1:])
        return cls(start, table.ravel(), given, distinct)

    def __len__(self) -> int:
        return len(self.by_class)

    def __getitem__(self, i: int) -> Support:
        figures = tuple(self.values[self.start[i] : self.start[i + 1]].tolist())
        different = None if self.distinct is None else int(self.distinct[i])
        different = None if different == UNPUBLISHED else different
        if self.by_class[i]:
            return Support(figures, None, different)
        return Support(None, figures[0] if figures else None, different)

    def __iter__(self) -> Iterator[Support]:
        ends, figures, by_class = self.start.tolist(), self.values.tolist(), self.by_class.tolist()
        different = [None] * len(self) if self.distinct is None else self.distinct.tolist()
        for i, (counted, d) in enumerate(zip(by_class, different, strict=True)):
            own = figures[ends[i] : ends[i + 1]]
            unique = None if d == UNPUBLISHED else d
            yield Support(tuple(own), None, unique) if counted else Support(None, own[0] if own else None, unique)

    @property
    def width(self) -> NDArray[np.int64]:
        """Return how many figures every entry has."""
        return np.diff(self.start)

    @cached_property
    def published(self) -> NDArray[np.bool_]:
        """Return which entries publish counts, per class or in all."""
        return self.by_class | (self.width > 0)

    @property
    def totals(self) -> NDArray[Any]:
        """Return the sum of every entry's figures, 0 where there are none."""
        out = np.zeros(len(self), dtype=self.values.dtype)
        np.add.at(out, self.owner, self.values)
        return out

    @property
    def owner(self) -> NDArray[np.int64]:
        """Return the entry that every figure belongs to."""
        return np.repeat(np.arange(len(self)), self.width)

    @property
    def different(self) -> NDArray[Any]:
        """Return `distinct` with an entry each, UNPUBLISHED where there are none."""
        return np.full(len(self), UNPUBLISHED, dtype=np.int64) if self.distinct is None else self.distinct

    def take(self, entries: NDArray[np.int64]) -> CountTable:
        """Return the table of some of the entries."""
        width = self.width[entries]
        start = np.zeros(len(entries) + 1, dtype=np.int64)
        np.cumsum(width, out=start[1:])
        at = np.arange(int(start[-1])) + np.repeat(self.start[entries] - start[:-1], width)
        distinct = None if self.distinct is None else self.distinct[entries]
        return CountTable(start, self.values[at], self.by_class[entries], distinct)


@dataclass(frozen=True, eq=False)
class Learnt:
    """What a learner stored of every node (leaves: anything), where thresholds lie halfway between two training values.

    A row goes left where its feature, number `feature[i]` of the model, is at most `threshold[i]` in single precision.
    The threshold is (a + b) / 2 in double precision for the greatest value a on the left and the least value b on the
    right among the node's training rows (scikit-learn's splitter "best"): conditions may be rounded, these are not.

    Per feature of the model: `ends` (features, 2) what it has where its attribute has the least and the greatest value
    of the domain (NaN: no such values), `plain`: it is the attribute's value in single precision.
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    ends: NDArray[np.float64]
    plain: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Nodes(Sequence[ModelNode]):
    """The nodes of a tree, read like a sequence of `ModelNode`; node 0 is the root.

    `condition[i]` is a number in the table `conditions` (LEAF: node i is a leaf), `children` (nodes, 2) then and else:
    int64, or object where a file names a node beyond 64 bits. `names`: what nodes are called, () where none has a name.
    `learnt`: None where thresholds are not known to lie halfway between training values; it says nothing about rows.
    """

    conditions: tuple[Condition, ...]
    condition: NDArray[np.int64]
    children: NDArray[Any]
    counts: CountTable
    names: tuple[str | None, ...] = ()
    learnt: Learnt | None = None

    @classmethod
    def of(cls, nodes: Iterable[ModelNode]) -> Nodes:
        """Return the arrays of the given nodes; themselves where they are arrays already."""
        if isinstance(nodes, Nodes):
            return nodes
        listed = list(nodes)
        seen: dict[int, int] = {}  # the same object often stands at many nodes: it is hashed once
        table: dict[Condition, int] = {}
        codes = []
        for node in listed:
            if node.condition is None:
                codes.append(LEAF)
                continue
            code = seen.get(id(node.condition))
            if code is None:
                code = seen[id(node.condition)] = table.setdefault(node.condition, len(table))
            codes.append(code)
        children = as_integers([child for node in listed for child in (node.then, node.otherwise)]).reshape(-1, 2)
        names = tuple(node.name for node in listed)
        return cls(
            tuple(table),
            np.array(codes, dtype=np.int64),
            children,
            CountTable.of([node.support for node in listed]),
            names if any(name is not None for name in names) else (),
        )

    def __len__(self) -> int:
        return len(self.condition)

    @overload
    def __getitem__(self, at: int) -> ModelNode: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ModelNode, ...]: ...
    def __getitem__(self, at: int | slice) -> ModelNode | tuple[ModelNode, ...]:
        """Return one node, or several."""
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        i = range(len(self))[at]
        code = int(self.condition[i])
        then, otherwise = self.children[i].tolist()
        condition = None if code == LEAF else self.conditions[code]
        return ModelNode(self.counts[i], condition, then, otherwise, self.names[i] if self.names else None)

    def __iter__(self) -> Iterator[ModelNode]:
        names = self.names or (None,) * len(self)
        columns = (self.counts, self.condition.tolist(), self.children.tolist(), names)
        for support, code, (then, otherwise), name in zip(*columns, strict=True):
            yield ModelNode(support, None if code == LEAF else self.conditions[code], then, otherwise, name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Nodes, tuple)):
            return NotImplemented
        return self is other or (len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True)))

    def __hash__(self) -> int:
        return hash(tuple(self))

    @property
    def inner(self) -> NDArray[np.bool_]:
        """Return which nodes have a condition."""
        found: NDArray[np.bool_] = self.condition != LEAF
        return found

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """Return the leaves in file order."""
        return np.flatnonzero(self.condition == LEAF)

    @property
    def leaf_counts(self) -> CountTable:
        """Return what the leaves publish, in file order."""
        return self.counts.take(self.leaves)

    def first_nodes(self) -> Iterator[tuple[int, int]]:
        """Yield the number of every condition that is tested and the first node it stands at, in order of nodes."""
        inner = np.flatnonzero(self.inner)
        codes, first = np.unique(self.condition[inner], return_index=True)
        order = np.argsort(first)
        yield from zip(codes[order].tolist(), inner[first[order]].tolist(), strict=True)

    def tested(self) -> Iterator[Condition]:
        """Yield every condition that is tested, once."""
        return (self.conditions[code] for code, _ in self.first_nodes())

    def translated(self, translate: Callable[[Condition], Condition]) -> Nodes:
        """Return the same links and counts with every condition translated; equal ones become one."""
        table: dict[Condition, int] = {}
        codes = np.full(len(self.conditions) + 1, LEAF, dtype=np.int64)  # the last entry is that of leaves
        for code, _ in self.first_nodes():
            codes[code] = table.setdefault(translate(self.conditions[code]), len(table))
        return replace(self, conditions=tuple(table), condition=codes[self.condition])

    def counting(self, counts: CountTable) -> Nodes:
        """Return the same tests and links with other counts."""
        return replace(self, counts=counts)

    def counting_leaves(self, supports: Iterable[Support]) -> Nodes:
        """Return the same tests and links with counts of the leaves, in file order, and none of inner nodes."""
        each, nothing = iter(supports), Support()
        return self.counting(CountTable.of([nothing if inner else next(each) for inner in self.inner.tolist()]))
