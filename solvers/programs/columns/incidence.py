"""Which statements count a row: the incidence of rows and statements, for pricing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import WordLayout
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, Boxes
from solvers.statements.numbering import StatementIndex
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition, Release, Statement

LARGEST = 1 << 20  # statements with larger coefficients are left out, which only loosens
EVERYWHERE, UNLIMITED = Box(), Limits()
HELD_BYTES = 3  # per part and box
GIBBS_BYTES, INSIDE_BYTES = 16, 4  # per row and box


@dataclass(frozen=True, eq=False)
class Priceable:
    """A statement outside partitions, with its number and the boxes of its region among all boxes."""

    statement: Statement
    number: int
    box: int
    minus: tuple[int, ...]


class Incidence:
    """Which statements count a row, and how often; statements are numbered by `solvers.statements.numbering`.

    Rows are (m, attributes), the part of every attribute.
    Statements of alternatives and those with very large coefficients count no row: leaving them out only loosens.
    """

    def __init__(self, release: Release, limits: Limits = UNLIMITED) -> None:
        """Give statements their numbers; raises `TooLarge` where what the boxes hold does not fit into the memory."""
        self.release, self.layout, self.memory = release, WordLayout(release.domain), limits.memory
        self.partitions: list[tuple[Partition, int, int]] = []  # block, first box, first statement
        self.loose: list[Priceable] = []
        tables: list[Boxes] = []
        self.index, boxes = StatementIndex(release), 0
        for b, partition in release.partitions.items():
            self.partitions.append((partition, boxes, self.index.first[b]))
            tables.append(partition.boxes)
            boxes += len(partition.boxes)
        for b, block in release.loose.items():
            for number, s in enumerate(block, start=self.index.first[b]):
                if max(map(abs, s.coefs), default=1) <= LARGEST:
                    minus = tuple(range(boxes + 1, boxes + 1 + len(s.region.minus)))
                    self.loose.append(Priceable(s, number, boxes, minus))
                    tables.append(Boxes.of([s.region.box, *s.region.minus]))
                    boxes += 1 + len(minus)
        self.impossible = range(boxes, boxes + len(release.impossible))
        self.boxes, self.total = boxes + len(release.impossible), self.index.rows
        parts = sum(len(a.sizes) for a in release.domain.attributes)
        if self.boxes * parts * HELD_BYTES > limits.memory:
            raise TooLarge(f"{self.boxes:,} boxes over {parts:,} parts do not fit into the memory (--memory)")
        words = [self.layout.rows(t) for t in (*tables, Boxes.of(release.impossible))]
        every = range(len(release.domain.attributes))
        spans = [np.concatenate([self.layout.parts(w, k) for w in words]) for k in every]
        self.held = {k: held.T.copy() for k, held in enumerate(spans) if not held.all()}  # k -> (parts, boxes)
        self.tables = [first + p.by_label(release.domain.labels) for p, _, first in self.partitions]

    @cached_property
    def bounds(self) -> tuple[list[int | None], list[int | None]]:
        """Return the least and greatest sum of every statement, None where there is none."""
        counted = self.index.partitioned.copy()
        counted[[self.total, *(x.number for x in self.loose)]] = True
        none = (-UNBOUNDED, UNBOUNDED)
        low, high = (
            [None if x in none or not c else x for x, c in zip(ends.tolist(), counted.tolist(), strict=True)]
            for ends in (self.index.low, self.index.high)
        )
        return low, high

    @cached_property
    def empty(self) -> NDArray[np.bool_]:
        """Return which statements leave no room for any row that they count."""
        out = np.array([h is not None and h <= 0 for h in self.bounds[1]])
        for x in self.loose:
            out[x.number] &= all(c >= 0 for c in x.statement.coefs)
        out[self.total] = False
        return out

    @cached_property
    def labelled(self) -> bool:
        """Return whether some partition counts per class."""
        return any(bool((p.label != ANY_LABEL).any()) for p, _, _ in self.partitions)

    def labels(self, rows: Ints) -> Ints:
        """Return the label of every row (0: it does not matter)."""
        k = self.release.domain.label
        return rows[:, k] if k is not None and self.labelled else np.zeros(len(rows), dtype=np.int64)

    def inside(self, rows: Ints) -> NDArray[np.bool_]:
        """Return (rows, boxes): which boxes hold each row."""
        out = np.ones((len(rows), self.boxes), dtype=bool)
        for k, held in self.held.items():
            out &= held[rows[:, k]]
        return out

    def chunks(self, rows: Ints, size: int) -> list[Ints]:
        """Return the rows in chunks of which every row may take `size` bytes per box."""
        step = max(1, self.memory // max(1, size * self.boxes))
        return [rows[i : i + step] for i in range(0, len(rows), step)]

    def columns(self, rows: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """Return (statements, coefs, possible), the first two (rows, counted) with coefs 0 where none counts."""
        if len(some := self.chunks(rows, INSIDE_BYTES)) > 1:
            parts = list(zip(*map(self.columns, some), strict=True))
            return np.concatenate(parts[0]), np.concatenate(parts[1]), np.concatenate(parts[2])
        held, labels = self.inside(rows), self.labels(rows)
        possible = ~held[:, list(self.impossible)].any(axis=1)
        statements, coefs = [], []
        for (block, first, _), table in zip(self.partitions, self.tables, strict=True):
            region = np.argmax(held[:, first : first + len(block.boxes)], axis=1)
            statements.append(table[region, labels])
            coefs.append(np.ones(len(rows), dtype=np.int64))
        for x in self.loose:
            of, coefs_of = x.statement.of, np.array(x.statement.coefs or (1,), dtype=np.int64)
            here = held[:, x.box] & ~held[:, list(x.minus)].any(axis=1)
            statements.append(np.full(len(rows), x.number, dtype=np.int64))
            coefs.append(here * coefs_of[0 if of is None else rows[:, of]])
        statements.append(np.full(len(rows), self.total, dtype=np.int64))
        coefs.append(np.ones(len(rows), dtype=np.int64))
        found, times = np.stack(statements, axis=1), np.stack(coefs, axis=1)
        possible &= ~(self.empty[found] & (times > 0)).any(axis=1)
        return found, times, possible
