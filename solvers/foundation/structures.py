"""Structures that many rooms use: binary trees as arrays of links, and results kept with the object they follow from.

A tree is one structure with one walk, whatever stands beside its nodes. What a node tests, counts or is called stands
in columns with an entry per node; a walk goes level by level, so that a forest of hundreds of thousands of nodes is
walked in arrays.

What was worked out about one object, kept with it: every room keeps its own results, under a class of its own.

A part is made empty when it is first asked for, typed by its class, and no room can name another room's part without
importing it. What is kept must follow from the object alone (and from limits, where it says so), so that no answer
depends on what was asked before. An object that is made from another one (`dataclasses.replace`) starts with nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints


@dataclass(frozen=True, eq=False)
class BinaryTree:
    """The links of a tree with node 0 as its root: `children` (nodes, 2) int64, -1 at leaves, `inner` (nodes,).

    Its users know that the links make one tree (`of` checks it).
    """

    children: Ints
    inner: Bits

    @classmethod
    def of_sides(cls, left: NDArray[Any], right: NDArray[Any]) -> Self:
        """Return the tree whose nodes have these children, below 0 at leaves."""
        inner = np.asarray(left) >= 0
        children = np.stack([left, right], axis=1).astype(np.int64)
        children[~inner] = -1
        return cls(children, inner)

    @classmethod
    def of(cls, children: NDArray[Any], inner: Bits) -> Self | None:
        """Return the tree of links that anybody may have written; None where they make no tree with node 0 as its root.

        Cost: linear in the nodes.
        """
        linked = children[inner].ravel()
        if len(linked) and (linked.min() < 0 or linked.max() >= len(inner)):
            return None
        parents = np.bincount(linked.astype(np.int64), minlength=len(inner))
        if parents[0] or (parents[1:] != 1).any():
            return None
        links = np.full((len(inner), 2), -1, dtype=np.int64)
        links[inner] = linked.astype(np.int64).reshape(-1, 2)
        found = cls(links, inner)  # its walk ends: no node has two parents, and the root has none
        return found if sum(map(len, found.levels)) == len(inner) else None

    @cached_property
    def levels(self) -> tuple[Ints, ...]:
        """Return the nodes of every depth, the root first."""
        levels, level = [], np.zeros(1, dtype=np.int64)
        while len(level):
            levels.append(level)
            level = self.children[level[self.inner[level]]].ravel()
        return tuple(levels)

    @property
    def downwards(self) -> list[int]:
        """Return the nodes level by level: each before those below it."""
        return np.concatenate(self.levels).tolist()  # type: ignore[no-any-return]

    @property
    def upwards(self) -> list[int]:
        """Return the inner nodes, each behind those below it."""
        order = np.concatenate(self.levels)[::-1]
        return order[self.inner[order]].tolist()  # type: ignore[no-any-return]

    @property
    def depths(self) -> Ints:
        """Return (nodes,) how many nodes stand above each."""
        found = np.zeros(len(self.inner), dtype=np.int64)
        for depth, level in enumerate(self.levels):
            found[level] = depth
        return found

    def below(self, chosen: Any) -> Bits:
        """Return (nodes,) which nodes stand below one of some nodes."""
        gone = np.zeros(len(self.inner), dtype=bool)
        marked = np.zeros(len(self.inner), dtype=bool)
        marked[list(chosen)] = True
        for level in self.levels:
            parents = level[self.inner[level]]
            gone[self.children[parents]] = (gone[parents] | marked[parents])[:, None]
        return gone

    def leaves_below(self, node: int) -> list[int]:
        """Return the leaves below a node, in the order of nodes; itself, where it is one."""
        found, level = [], np.array([node], dtype=np.int64)
        while len(level):
            inner = self.inner[level]
            found += level[~inner].tolist()
            level = self.children[level[inner]].ravel()
        return sorted(found)


T = TypeVar("T")


class Derived:
    """The parts kept with one object, at most one of each class."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: dict[type, object] = {}

    def __bool__(self) -> bool:
        return bool(self._parts)

    def __reduce__(self) -> tuple[type[Derived], tuple[()]]:
        """Copy and pickle as one without parts: they are worked out anew, and some (locks, solvers) cannot travel."""
        return Derived, ()

    def __contains__(self, kind: type) -> bool:
        return kind in self._parts

    def part(self, kind: type[T]) -> T:
        """Return the part of this class, `kind()` where it was not asked for before."""
        found = self._parts.get(kind)
        if not isinstance(found, kind):
            found = self._parts[kind] = kind()
        return found
