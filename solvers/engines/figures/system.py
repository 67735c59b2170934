"""Figures of a release over the live cells of its system, and sums of rows that questions are asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from solvers.cells.system import CellSystem, system_of
from solvers.engines.figures.partition import MAX_STEPS_OF_DIST, dist_of_mixture
from solvers.foundation.exact import MAX_SUM
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Box, RowSpace
from solvers.statements.observations import StatementIndex
from solvers.statements.questions.query import Selections
from solvers.statements.release import Release

if TYPE_CHECKING:
    from solvers.histograms.system_membership import Overlap

Coefficients = NDArray[np.int64]
LARGEST_SUM = MAX_SUM  # sums over all cells below it stay exact in 64 bits


@dataclass(frozen=True, slots=True)
class Hull:
    """The values that some cells leave every attribute (bit masks of parts), and how many raw rows there are.

    `rows` of the cells together, `combinations` of the values; `boxes` make up the cells, where they are few enough.
    """

    masks: tuple[int, ...]
    rows: int
    combinations: int
    boxes: tuple[Box, ...] | None


@dataclass(frozen=True, eq=False)
class SelectionSums:
    """Per selection: what counts the rows in the cells inside it, and those in the cells that it meets."""

    _figures: SystemFigures
    _overlaps: Sequence[Overlap]

    def __getitem__(self, i: int) -> tuple[Coefficients, Coefficients]:
        met = self._overlaps[i]
        return self._figures.counting(met.inside), self._figures.counting(met.cells)


@dataclass(frozen=True, eq=False)
class SystemFigures:
    """The live cells of a release: how many raw rows each has, the boxes that make it up, and sums over cells."""

    _system: CellSystem = field(repr=False)

    @classmethod
    def of(cls, release: Release, limits: Limits) -> SystemFigures:
        """Return the figures. Raises `Unsupported` for too many cells, `Inconclusive` out of time."""
        return cls(system_of(release, limits))

    @property
    def sizes(self) -> Sequence[int]:
        """Return the raw rows of every cell."""
        return self._system.sizes

    @property
    def upper(self) -> Coefficients:
        """Return proved upper bounds on the rows of every cell."""
        return self._system.bounds.upper

    def boxes(self, cells: Sequence[int], maximum: int) -> list[tuple[list[Box], int]]:
        """Return, per cell, at most so many of its boxes, and how many more there are."""
        system = self._system
        shown = [system.pieces[c][:maximum] for c in cells]
        every = iter(system.layout.boxes(system.words[[p for pieces in shown for p in pieces]]))
        return [
            ([next(every) for _ in pieces], max(0, len(system.pieces[c]) - maximum))
            for c, pieces in zip(cells, shown, strict=True)
        ]

    def dist(self, minimum: Coefficients, maximum: Coefficients) -> float | None:
        """Return Dist of rows in no known order from the least and greatest rows of every cell; `dist_of_mixture`.

        None where a cell has more rows in one world than in another: how often each number occurs is not known here.
        """
        held = np.flatnonzero(maximum).tolist()
        if not np.array_equal(minimum, maximum) or sum(len(self._system.pieces[c]) for c in held) > MAX_STEPS_OF_DIST:
            return None
        boxes = self.boxes(held, MAX_STEPS_OF_DIST)
        rows = ((int(maximum[c]), shown) for c, (shown, _) in zip(held, boxes, strict=True))
        return dist_of_mixture(self._system.release.domain, rows)

    def hull(self, cells: Sequence[int], maximum: int) -> Hull:
        """Return what some cells together leave every attribute; their boxes where they are at most so many."""
        system = self._system
        words, domain = system.words[[p for c in cells for p in system.pieces[c]]], system.release.domain
        held = np.bitwise_or.reduce(words, axis=0) if len(words) else np.zeros_like(system.layout.full)
        masks = []
        for k, attribute in enumerate(domain.attributes):
            full = (1 << len(attribute.sizes)) - 1
            masks.append(sum(w << (64 * j) for j, w in enumerate(held[system.layout.span(k)].tolist())) & full)
        around = Box.of((k, m) for k, m in enumerate(masks) if m != (1 << len(domain.attributes[k].sizes)) - 1)
        boxes = tuple(system.layout.boxes(words)) if len(words) <= maximum else None
        return Hull(tuple(masks), sum(system.sizes[c] for c in cells), around.size(domain), boxes)

    def counting(self, cells: Sequence[int]) -> Coefficients:
        """Return the coefficients that count the rows in some cells."""
        out = np.zeros(len(self.sizes), dtype=np.int64)
        out[list(cells)] = 1
        return out

    def selections(self, chosen: Selections) -> SelectionSums:
        """Return, by the number of a selection, what counts its rows; coefficients are made when they are asked for."""
        from solvers.histograms.system_membership import overlaps

        return SelectionSums(self, overlaps(self._system, chosen))

    def statement(self, block: int, s: int) -> Coefficients:
        """Return what counts the rows of statement s of a block (of its cells, each once)."""
        linear, row = self._system.linear, StatementIndex(self._system.release).first[block] + s
        return self.counting(linear.col[linear.start[row] : linear.start[row + 1]].tolist())

    def last(self, statements: int) -> Coefficients:
        """Return (statements, cells): the coefficients of so many statements at the end of the release's last block."""
        system, linear = self._system, self._system.linear
        first = len(linear) - (0 if system.total is None else 1) - statements
        dense = np.zeros((statements, len(system.sizes)), dtype=np.int64)
        for i in range(statements):
            at = slice(int(linear.start[first + i]), int(linear.start[first + i + 1]))
            dense[i, linear.col[at]] = linear.coef[at]
        return dense


def named_only(release: Release) -> Release:
    """Return the release with one value for every attribute that no statement names."""
    named, old = release.mentioned(), release.domain
    kept = tuple(a if k in named else Attribute(a.name, (1,)) for k, a in enumerate(old.attributes))
    return Release(RowSpace(kept, old.label, old.relative), release.rows, release.blocks, release.impossible)
