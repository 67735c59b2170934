"""Subsets of a release's statements: each as a system over its own cells, and whether it has a world.

Statements outside a subset are unbounded, blocks without a statement in it are left out. Only rows that some
statement asks for are looked at: a row that nothing asks for may as well be absent.

Source: docs/mathematics.md, "Cells and histograms"; Liffiton, Sakallah, "Algorithms for computing minimal unsatisfiable
subsets of constraints", JAR 40, 2008 (subsets judged one by one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress, pairwise

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import WordLayout, Words, minus
from solvers.cells.refinement import refine
from solvers.cells.system import CellSystem, assemble, propagated
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.numeric_limits import MAX_SUM
from solvers.statements.boxes import Box, Boxes
from solvers.statements.numbering import StatementIndex
from solvers.statements.regions.row_space import Space
from solvers.statements.release import (
    ANY_LABEL,
    NO_COUNT,
    UNBOUNDED,
    Block,
    Choice,
    Loose,
    Partition,
    Release,
    RowCount,
    Statement,
)

MAX_ROWS = 1 << 40  # looked for where values are summed and nothing bounds the number of rows
MAX_BOXES = 500  # regions looked at one by one; beyond, the whole row space is
MAX_CUT_REGIONS = 16  # so few regions of a partition are cut out of the rest, which stays whole

Mask = NDArray[np.bool_]  # (statements, 2): is the lower side, is the upper side, part of a subset?


class Book(StatementIndex):
    """The statements of a release and their subsets.

    A subset is a `Mask` over their sides. A choice is told by the lower side of its first statement.
    """

    @cached_property
    def stated(self) -> Mask:
        """Return the sides that say something."""
        low = self.low > 0
        for b, block in self.release.loose.items():
            summed = np.array([s.of is not None for s in block], dtype=bool)
            low[self.span(b)] |= summed & (block.low > -UNBOUNDED)
        out = np.stack([low, self.high < UNBOUNDED], axis=1)
        for b in self.release.choices:
            out[self.span(b)] = False
            out[self.first[b], 0] = True
        return out

    @cached_property
    def unit(self) -> Ints:
        """Return the number of the first statement that was published together with each."""
        out = np.arange(len(self.low), dtype=np.int64)
        for b, block in self.release.loose.items():
            for i, (before, statement) in enumerate(pairwise(block.members), start=self.first[b] + 1):
                if together(before, statement):
                    out[i] = out[i - 1]
        return out

    def groups(self, on: Mask) -> list[Ints]:
        """Return the sides of a subset as flat indices, one array per published statement, preferred ones first.

        Preferred in a conflict: the number of rows, then tables and rule sets, then partitions: short ones.
        """
        sides = np.flatnonzero(on)
        key, n = self.unit[sides // 2], len(on)
        key = key - np.where(key == self.rows, 3 * n, np.where(self.partitioned[key], 0, 2 * n))
        order = np.argsort(key, kind="stable")
        return np.split(sides[order], np.flatnonzero(np.diff(key[order])) + 1) if len(sides) else []

    def mask(self, groups: Sequence[Ints]) -> Mask:
        """Return the subset of groups of sides."""
        out = np.zeros((len(self.low), 2), dtype=bool)
        if groups:
            out.reshape(-1)[np.concatenate(groups)] = True
        return out

    def whole(self, on: Mask) -> Mask:
        """Return the subset with all sides of the published statements that it has a side of."""
        return self.stated & np.isin(self.unit, self.unit[on.any(axis=1)])[:, None]

    def lines(self, on: Mask) -> tuple[str, ...]:
        """Return every statement of a subset in words, with the sides that matter; each line once."""
        notes = [self.line(s, on[s]) for s in np.flatnonzero(on.any(axis=1)).tolist()]
        return tuple(dict.fromkeys([*notes[-1:], *notes[:-1]] if on[self.rows].any() else notes))

    def line(self, s: int, sides: Mask) -> str:
        """Return statement s in words; of values that are summed the source says what was published."""
        source = self.source(s)
        if s != self.rows and (not self.unconditional[s] or self.statement(s).of is not None):
            return source
        low, high = int(self.low[s]), int(self.high[s])
        if low > high:
            return f"{source}: {NO_COUNT}"
        if sides.all() and low < high:
            text = f"{low} to {high}"
        elif sides.all() or (sides[1] and high == 0):
            text = str(high)
        else:
            text = f"at least {low}" if sides[0] else f"at most {high}"
        if s == self.rows:
            return f"{source}: {text}"
        return f"{source}: {text} {'row' if text.split()[-1] == '1' else 'rows'}"


def together(a: Statement, b: Statement) -> bool:
    """Return whether two loose statements were published as one: a mean from both sides, and that it is of somebody."""
    if a.source == b.source:
        return True
    somebody = a.of is None and b.of is not None and (a.low, a.high) == (1, UNBOUNDED) and a.region == b.region
    return somebody and a.source.partition(" (")[0] == b.source.partition(" (")[0]


def whole(release: Release) -> Words:
    """Return the row space without impossible rows."""
    layout = WordLayout(release.domain)
    return minus(layout, layout.full[None].copy(), release.impossible)


def asked_for(book: Book, on: Mask) -> Words | None:
    """Return disjoint boxes that hold every row a subset asks for, None for the whole row space.

    A row outside them helps no statement: whatever world there is, it is one without that row.
    """
    release, layout = book.release, WordLayout(book.release.domain)
    if on[book.rows, 0]:
        return None
    boxes: list[Box] = []
    for b, block in enumerate(release.blocks):
        sides = on[book.span(b)]
        wanted = sides[:, 0].copy()
        if b in release.choices:
            wanted[:] = sides.any()
        elif b in release.loose:
            wanted |= sides[:, 1] & [s.of is not None for s in release.loose[b]]
        elif wanted.sum() > MAX_BOXES:
            return None
        boxes += [block.statement(s, release.domain).region.box for s in np.flatnonzero(wanted).tolist()]
    boxes = list(dict.fromkeys(boxes))
    if len(boxes) > MAX_BOXES:
        return None
    words = layout.rows(Boxes.of(boxes))
    found = [words[:0]]
    for i in range(len(boxes)):
        common = np.logical_or.reduceat((words[:i] & words[i]) != 0, layout.at[:-1], axis=1).all(axis=1)
        before = [boxes[j] for j in np.flatnonzero(common).tolist()]
        found.append(minus(layout, words[i : i + 1], [*release.impossible, *before]))
    return np.concatenate(found)


def part_of(book: Book, on: Mask) -> tuple[Release, Ints]:
    """Return the release of a subset, and the number of each of its statements (-1: one that says nothing)."""
    low = np.where(on[:, 0], book.low, -UNBOUNDED)
    high = np.where(on[:, 1], book.high, UNBOUNDED)
    blocks: list[Block] = []
    numbers: list[Ints] = []
    for b, block in enumerate(book.release.blocks):
        at = book.span(b)
        every, active = np.arange(at.start, at.stop, dtype=np.int64), on[at, 0] | on[at, 1]
        if not active.any():
            continue
        if b in book.release.partitions:
            stated = book.release.partitions[b].bounded(np.maximum(low[at], 0), high[at])
            made, of = coarsened(stated, active)
            blocks.append(made)
            numbers.append(np.where(of < 0, -1, of + at.start))
        elif b in book.release.choices:
            blocks.append(block)
            numbers.append(every)
        else:
            bounded = book.release.loose[b].bounded(low[at], high[at])
            blocks.append(Loose(tuple(compress(bounded, active.tolist()))))
            numbers.append(every[active])
    minimum = int(low[-1]) if on[-1, 0] else 0
    maximum = int(high[-1]) if on[-1, 1] else enough(blocks, minimum)
    release = replace(book.release, rows=RowCount(minimum, maximum), blocks=tuple(blocks), assumptions=())
    return release, np.concatenate([*numbers, np.array([book.rows])]).astype(np.int64)


def coarsened(block: Partition, active: Mask) -> tuple[Partition, Ints]:
    """Return a partition with its inactive regions as one, where the active ones are few, and its statements' numbers.

    The new statement, about the rest, has the number -1.
    """
    regions = np.unique(block.region[active])
    if len(regions) > max(MAX_CUT_REGIONS, len(block.boxes) // 8):
        return block, np.arange(len(block), dtype=np.int64)
    if block.first_match:
        regions = np.arange(regions[-1] + 1, dtype=regions.dtype)  # what a rule captures depends on those before it
    kept = np.flatnonzero(np.isin(block.region, regions))
    boxes = Boxes.of([*(block.boxes[j] for j in regions.tolist()), Box()])
    region = np.append(np.searchsorted(regions, block.region[kept]), len(regions)).astype(np.int32)
    label = np.append(block.label[kept], ANY_LABEL).astype(np.int32)
    low, high = np.append(block.low[kept], 0), np.append(block.high[kept], UNBOUNDED)
    made = Partition(block.kind, boxes, True, region, label, low, high, (), block.labels)
    return made, np.append(kept, -1).astype(np.int64)


def enough(blocks: Sequence[Block], minimum: int) -> int:
    """Return a number of rows that suffices: if the blocks and at least `minimum` rows have a world, so with no more.

    Counts ask for no more than the sum of their lower sides. Where values are summed, it is merely large.
    """
    listed = [s for block in blocks if isinstance(block, Choice | Loose) for s in block.members]
    if any(isinstance(block, Choice) for block in blocks) or any(s.of is not None for s in listed):
        return MAX_ROWS
    return max(1, minimum + sum(int(np.maximum(block.low, 0).sum()) for block in blocks))


def system_of(book: Book, on: Mask, limits: Limits) -> tuple[CellSystem, Ints]:
    """Return the system of a subset and its statements' numbers in the release, the number of rows last.

    Sizes are left out, and the number of rows is a statement like any other. Raises `Unsupported` for too many
    cells, `Inconclusive` when time is up.
    """
    release, numbers = part_of(book, on)
    words = asked_for(book, on)
    refined, index = refine(release, limits, whole(release) if words is None else words), StatementIndex(release)
    linear, cell = assemble(index, refined, True, limits)
    n = linear.columns
    maximum, far = release.rows.high or 0, MAX_SUM // (max(1, n) * int(np.abs(linear.coef).max(initial=1)))
    if maximum > far and on[book.rows, 1]:
        raise Unsupported("sums of values times rows exceed 2^62")
    maximum = min(maximum, far)
    linear = replace(linear, high=np.append(linear.high[:-1], maximum if on[book.rows, 1] else UNBOUNDED))
    return CellSystem(
        release, Space(release.domain, None), refined.layout, refined.words, cell, (), (), linear, index.choices,
        propagated(linear, index, maximum, limits), None, False,
    ), numbers  # fmt: skip
