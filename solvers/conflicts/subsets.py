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

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import Layout, Words, minus
from solvers.cells.linear_system import Ints, Linear, propagate, same_rows
from solvers.cells.refinement import loose_statements, refine
from solvers.cells.system import MOST_SUM, System, assemble
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.regions.row_space import Space
from solvers.statements.release import (
    ANY_LABEL,
    NO_COUNT,
    UNBOUNDED,
    Block,
    Box,
    Boxes,
    Choice,
    Partition,
    Release,
    Rows,
    Statement,
)

MOST_ROWS = 1 << 40  # looked for where values are summed and nothing bounds the number of rows
MOST_BOXES = 500  # regions looked at one by one; beyond, the whole row space is
FEW_REGIONS = 16  # so few regions of a partition are cut out of the rest, which stays whole

Mask = NDArray[np.bool_]  # (statements, 2): is the lower side, is the upper side, part of a subset?


class Book:
    """Every statement of a release numbered: partitions in block order, then loose ones, then the number of rows.

    A subset is a `Mask` over their sides. A choice is told by the lower side of its first statement.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self.loose = loose_statements(release)
        partitions = [b for b, block in enumerate(release.blocks) if isinstance(block, Partition)]
        others = [b for b in range(len(release.blocks)) if b not in set(partitions)]
        self.first: dict[int, int] = {}
        at = 0
        for b in (*partitions, *others):
            self.first[b] = at
            at += length(release.blocks[b])
        self.partitioned = at - len(self.loose)
        self.rows = at
        top = UNBOUNDED if release.rows.high is None else release.rows.high
        blocks = [release.blocks[b] for b in partitions]
        self.ends = [self.first[b] + length(release.blocks[b]) for b in range(len(release.blocks))]
        low = [b.low for b in blocks if isinstance(b, Partition)]
        high = [b.high for b in blocks if isinstance(b, Partition)]
        low.append(np.array([*(s.low for s in self.loose), release.rows.low], dtype=np.int64))
        high.append(np.array([*(s.high for s in self.loose), top], dtype=np.int64))
        self.low, self.high = np.concatenate(low), np.concatenate(high)

    def span(self, b: int) -> slice:
        """Return the numbers of a block's statements."""
        return slice(self.first[b], self.ends[b])

    @cached_property
    def stated(self) -> Mask:
        """Return the sides that say something."""
        counts = np.ones(len(self.low), dtype=bool)
        counts[self.partitioned : self.rows] = [s.of is None for s in self.loose]
        low = np.where(counts, self.low > 0, self.low > -UNBOUNDED)
        out = np.stack([low, self.high < UNBOUNDED], axis=1)
        for b, block in enumerate(self.release.blocks):
            if isinstance(block, Choice):
                out[self.span(b)] = False
                out[self.first[b], 0] = True
        return out

    @cached_property
    def unit(self) -> Ints:
        """Return the number of the first statement that was published together with each."""
        out = np.arange(len(self.low), dtype=np.int64)
        for b, block in enumerate(self.release.blocks):
            if isinstance(block, tuple):
                for i in range(1, len(block)):
                    if together(block[i - 1], block[i]):
                        out[self.first[b] + i] = out[self.first[b] + i - 1]
        return out

    def groups(self, on: Mask) -> list[Ints]:
        """Return the sides of a subset as flat indices, one array per published statement, preferred ones first.

        Preferred in a conflict: the number of rows, then tables and rule sets, then partitions: short ones.
        """
        sides = np.flatnonzero(on)
        key, n = self.unit[sides // 2], len(on)
        key = key - np.where(key == self.rows, 3 * n, np.where(key >= self.partitioned, 2 * n, 0))
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
        said = [self.line(s, on[s]) for s in np.flatnonzero(on.any(axis=1)).tolist()]
        return tuple(dict.fromkeys([*said[-1:], *said[:-1]] if on[self.rows].any() else said))

    def line(self, s: int, sides: Mask) -> str:
        """Return statement s in words; of values that are summed the source says what was published."""
        source = self.source(s)
        if self.partitioned <= s < self.rows and (self.loose[s - self.partitioned].of is not None or self.chosen(s)):
            return source
        low, high = int(self.low[s]), int(self.high[s])
        if low > high:
            return f"{source}: {NO_COUNT}"
        if sides.all() and low < high:
            said = f"{low} to {high}"
        elif sides.all() or (sides[1] and high == 0):
            said = str(high)
        else:
            said = f"at least {low}" if sides[0] else f"at most {high}"
        if s == self.rows:
            return f"{source}: {said}"
        return f"{source}: {said} {'row' if said.split()[-1] == '1' else 'rows'}"

    def chosen(self, s: int) -> bool:
        """Tell whether a statement belongs to a choice."""
        return any(
            isinstance(block, Choice) and self.span(b).start <= s < self.span(b).stop
            for b, block in enumerate(self.release.blocks)
        )

    def source(self, s: int) -> str:
        """Return in words where statement s comes from."""
        if s == self.rows:
            return "the number of rows"
        if s >= self.partitioned:
            return self.loose[s - self.partitioned].source
        for b, block in enumerate(self.release.blocks):
            if isinstance(block, Partition) and s < self.first[b] + len(block) and s >= self.first[b]:
                return block.source(s - self.first[b])
        raise IndexError(s)


def length(block: Block) -> int:
    """Return the number of statements in a block."""
    return sum(map(len, block.alternatives)) if isinstance(block, Choice) else len(block)


def together(a: Statement, b: Statement) -> bool:
    """Tell whether two loose statements were published as one: a mean from both sides, and that it is of somebody."""
    if a.source == b.source:
        return True
    somebody = a.of is None and b.of is not None and (a.low, a.high) == (1, UNBOUNDED) and a.region == b.region
    return somebody and a.source.partition(" (")[0] == b.source.partition(" (")[0]


def whole(release: Release) -> Words:
    """Return the row space without impossible rows."""
    layout = Layout(release.domain)
    return minus(layout, layout.full[None].copy(), release.impossible)


def asked_for(book: Book, on: Mask) -> Words | None:
    """Return disjoint boxes that hold every row a subset asks for, None for the whole row space.

    A row outside them helps no statement: whatever world there is, it is one without that row.
    """
    release, layout = book.release, Layout(book.release.domain)
    if on[book.rows, 0]:
        return None
    boxes: list[Box] = []
    for b, block in enumerate(release.blocks):
        sides = on[book.span(b)]
        if isinstance(block, Choice):
            boxes += [s.region.box for every in block.alternatives for s in every] if sides.any() else []
        elif isinstance(block, Partition):
            if sides[:, 0].sum() > MOST_BOXES:
                return None
            boxes += [block.statement(s, release.domain).region.box for s in np.flatnonzero(sides[:, 0]).tolist()]
        else:
            boxes += [s.region.box for s, (a, b) in zip(block, sides, strict=True) if a or (b and s.of is not None)]
    boxes = list(dict.fromkeys(boxes))
    if len(boxes) > MOST_BOXES:
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
    numbers: list[list[Ints]] = [[], []]
    for b, block in enumerate(book.release.blocks):
        at = book.span(b)
        every = np.arange(at.start, at.stop)
        if not on[at].any():
            continue
        if isinstance(block, Partition):
            made, of = coarsened(replace(block, low=np.maximum(low[at], 0), high=high[at]), np.any(on[at], axis=1))
            blocks.append(made)
            numbers[0].append(np.where(of < 0, -1, of + at.start))
        elif isinstance(block, Choice):
            blocks.append(block)
            numbers[1].append(every)
        else:
            kept = every[on[at].any(axis=1)]
            loose = (replace(book.loose[s - book.partitioned], low=int(low[s]), high=int(high[s])) for s in kept)
            blocks.append(tuple(loose))
            numbers[1].append(kept)
    few = int(low[-1]) if on[-1, 0] else 0
    most = int(high[-1]) if on[-1, 1] else enough(blocks, few)
    release = replace(book.release, rows=Rows(few, most), blocks=tuple(blocks), assumptions=())
    return release, np.concatenate([*numbers[0], *numbers[1], np.array([book.rows])]).astype(np.int64)


def coarsened(block: Partition, active: Mask) -> tuple[Partition, Ints]:
    """Return a partition with its inactive regions as one, where the active ones are few, and its statements' numbers.

    The new statement, about the rest, has the number -1.
    """
    regions = np.unique(block.region[active])
    if len(regions) > max(FEW_REGIONS, len(block.boxes) // 8):
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


def enough(blocks: Sequence[Block], few: int) -> int:
    """Return a number of rows that suffices: if the blocks and at least `few` rows have a world, so with no more.

    Counts ask for no more than the sum of their lower sides. Where values are summed, it is merely large.
    """
    rows = few
    for block in blocks:
        if isinstance(block, Choice) or (isinstance(block, tuple) and any(s.of is not None for s in block)):
            return MOST_ROWS
        rows += int(block.low.sum()) if isinstance(block, Partition) else sum(max(0, s.low) for s in block)
    return max(1, rows)


def system_of(book: Book, on: Mask, limits: Limits) -> tuple[System, Ints]:
    """Return the system of a subset and its statements' numbers in the release, the number of rows last.

    Sizes are left out, and the number of rows is a statement like any other. Raises `Unsupported` for too many
    cells, `Inconclusive` when time is up.
    """
    release, numbers = part_of(book, on)
    words = asked_for(book, on)
    refined = refine(release, limits, whole(release) if words is None else words)
    keys, (row, piece, coef), (low, high), choices = assemble(release, refined)
    first, cell = same_rows(keys)
    chosen = np.zeros(len(cell), dtype=bool)
    chosen[first] = True
    kept = chosen[piece]
    n = len(first)
    row = np.concatenate([row[kept], np.full(n, len(low), dtype=np.int64)])
    col = np.concatenate([cell[piece[kept]], np.arange(n, dtype=np.int64)])
    coef = np.concatenate([coef[kept], np.ones(n, dtype=np.int64)])
    most, far = release.rows.high or 0, MOST_SUM // (max(1, n) * int(np.abs(coef).max(initial=1)))
    if most > far and on[book.rows, 1]:
        raise Unsupported("sums of values times rows exceed 2^62")
    most = min(most, far)
    low, high = np.append(low, release.rows.low), np.append(high, most if on[book.rows, 1] else UNBOUNDED)
    linear = Linear.of(row, col, coef, (low, high), n)
    always = np.ones(len(low), dtype=bool)
    always[[s for choice in choices for alternative in choice for s in alternative]] = False
    start = np.zeros(n, dtype=np.int64)
    bounds = propagate(linear.take(always), start, np.full(n, most, dtype=np.int64), limits.expired)
    space = Space(release.domain, None)
    return System(
        release, space, refined.layout, refined.words, cell, (), (), linear, choices, bounds, None, False
    ), numbers  # fmt: skip
