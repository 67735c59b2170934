"""A release as a sparse integer system over its live cells, propagated; computed once, shared by all engines.

Cells are the atoms of all regions: the statements see a dataset only through its histogram z over them, which
removes the n! symmetry of the rows. Cells with equal columns are one cell, its size the sum.

Source: docs/mathematics.md, "Cells and histograms"; Ferry et al., SaTML 2024, for possible worlds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import Layout, Words
from solvers.cells.linear_system import Ints, Linear, Propagated, propagate, same_rows
from solvers.cells.refinement import (
    NOWHERE,
    SHORT,
    Refinement,
    Splitter,
    hold,
    loose_statements,
    refine,
    statement_table,
)
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.regions.row_space import Space
from solvers.statements.release import ANY_LABEL, NO_COUNT, UNBOUNDED, Box, Choice, Partition, Release, Statement

MOST_SUM = 1 << 59  # sums over all cells stay exact in 64 bits, and below what stands for "no bound"


@dataclass(frozen=True, eq=False)
class System:
    """Statements (rows, numbered block by block) over live cells (columns).

    `sizes` are the cells' raw rows (Python integers). `words` are the disjoint boxes that make up the cells,
    `cell` says which cell each is part of. `linear` holds every statement, also those of alternatives, of which
    `choices` names the groups (choice -> alternative -> statements). `bounds` is what propagation of the
    unconditional statements leaves of every cell. `total` is the statement on the number of rows, None where a
    partition implies it. `coarse`: some statement says less than was published, so that worlds cannot be counted.
    `memo` keeps what engines found out about it.
    """

    release: Release
    space: Space
    layout: Layout
    words: Words
    cell: Ints
    piece_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    linear: Linear
    choices: tuple[tuple[tuple[int, ...], ...], ...]
    bounds: Propagated
    total: int | None
    coarse: bool
    memo: dict[Any, Any] = field(init=False, default_factory=dict, repr=False, compare=False)

    @cached_property
    def always(self) -> NDArray[np.bool_]:
        """Tell which statements hold whatever the choices."""
        out = np.ones(len(self.linear), dtype=bool)
        out[[s for choice in self.choices for alternative in choice for s in alternative]] = False
        return out

    @cached_property
    def free(self) -> Ints:
        """Return the cells whose number of rows is not fixed."""
        return np.flatnonzero(~self.bounds.fixed).astype(np.int64)

    @cached_property
    def boxes(self) -> list[Box]:
        """Return the disjoint boxes of the cells, label folded in; `cell` says whose each is."""
        return self.layout.boxes(self.words)

    @cached_property
    def pieces(self) -> list[list[int]]:
        """Return the pieces (indices into `words` and `boxes`) of every cell."""
        out: list[list[int]] = [[] for _ in self.sizes]
        for i, c in enumerate(self.cell.tolist()):
            out[c].append(i)
        return out

    def asking(self, sums: NDArray[np.int64], values: Ints | None = None) -> tuple[System, tuple[int, ...]]:
        """Return the system with sums (m, cells) as further statements, and their numbers.

        Without `values` (m,) they are without bounds, else the sums must take them.
        """
        rows = self.release.rows.high or 1
        if int(np.abs(sums).max(initial=0)) * max(1, rows) * max(1, len(self.sizes)) >= MOST_SUM:
            raise Unsupported("sums over all cells of the values asked about may exceed 2^59")
        at, col = np.nonzero(sums)
        old, first = self.linear, len(self.linear)
        none = np.full(len(sums), UNBOUNDED, dtype=np.int64)
        low, high = (-none, none) if values is None else (values, values)
        linear = Linear.of(
            np.concatenate([old.row, at + first]),
            np.concatenate([old.col, col]),
            np.concatenate([old.coef, sums[at, col]]),
            (np.concatenate([old.low, low]), np.concatenate([old.high, high])),
            old.columns,
        )
        return replace(self, linear=linear), tuple(range(first, first + len(sums)))

    def source(self, s: int) -> str:
        """Say in words where statement s comes from."""
        if s == self.total:
            return "the number of rows"
        for block in self.release.blocks:
            if isinstance(block, Partition):
                if s < len(block):
                    return block.source(s)
                s -= len(block)
        return loose_statements(self.release)[s].source

    def figure(self, s: int) -> str:
        """Say statement s with the figure that it publishes."""
        low, high = int(self.linear.low[s]), int(self.linear.high[s])
        if low > high:
            said = NO_COUNT
        elif low == high:
            said = str(low)
        elif high == UNBOUNDED:
            said = f"at least {low}"
        else:
            said = f"at most {high}" if low <= 0 else f"{low} to {high}"
        return f"{self.source(s)}: {said}"

    def satisfied(self, z: Ints) -> bool:
        """Tell whether a histogram meets every statement, exactly one alternative of each choice included."""
        wrong = set(self.linear.broken(z).tolist())
        if any(self.always[s] for s in wrong) or bool((z < 0).any()):
            return False
        return all(sum(not wrong & set(alternative) for alternative in choice) == 1 for choice in self.choices)


def system_of(release: Release, limits: Limits) -> System:
    """Return the system of a release, from memory if it, or that it has too many cells, is known.

    Raises `Unsupported` for too many cells, `Inconclusive` when time is up. Cost: pieces times blocks.
    """
    known: System | tuple[int, Unsupported] | None = release.memo.get("system")
    if isinstance(known, System):
        return known
    if known is not None and limits.cells <= known[0]:
        raise known[1]
    begun = limits.left()
    try:
        found = release.memo["system"] = build(release, limits)
    except Unsupported as error:
        release.memo["system"] = limits.cells, error
        raise
    except Inconclusive as error:
        if not limits.stop.is_set():  # whoever has no more time than was too short need not begin
            release.memo[SHORT] = max((begun, str(error)), release.memo.get(SHORT, (-1.0, "")))
        raise
    return found


def build(release: Release, limits: Limits) -> System:
    """Return the system, anew; see `system_of`."""
    refined = refine(release, limits)
    phase = "the system of cells was set up"
    limits.report(f"{len(refined.words):,} pieces of cells: {phase}")
    hold(len(refined.words) * len(refined.splitters), limits)
    keys, entries, bounds, choices = assemble(release, refined)
    limits.check(phase)
    first, cell = same_rows(keys)
    limits.check(phase)
    total = total_row(release)
    row, piece, coef = entries
    chosen = np.zeros(len(cell), dtype=bool)
    chosen[first] = True
    kept = chosen[piece]
    row, col, coef = row[kept], cell[piece[kept]], coef[kept]
    low, high = bounds
    if total:
        row = np.concatenate([row, np.full(len(first), len(low), dtype=np.int64)])
        col = np.concatenate([col, np.arange(len(first), dtype=np.int64)])
        coef = np.concatenate([coef, np.ones(len(first), dtype=np.int64)])
        n = release.rows
        low = np.append(low, n.low)
        high = np.append(high, UNBOUNDED if n.high is None else n.high)
    linear = Linear.of(row, col, coef, (low, high), len(first))
    most = release.rows.high if release.rows.high is not None else 1 << 53
    longest = int(np.bincount(linear.row).max(initial=0))
    stated = np.concatenate([low[low > -UNBOUNDED], high[high < UNBOUNDED], [0]])
    far = max(int(np.abs(linear.coef).max(initial=0)) * max(1, most) * longest, int(np.abs(stated).max()))
    if far >= MOST_SUM:
        raise Unsupported("sums over all cells of values times rows may exceed 2^59")
    limits.check(phase)
    piece_sizes = refined.layout.sizes(refined.words)
    limits.check(phase)
    conditional = np.ones(len(low), dtype=bool)
    conditional[[s for choice in choices for alternative in choice for s in alternative]] = False
    start = np.zeros(len(first), dtype=np.int64)
    always = linear if not choices else linear.take(conditional)
    found = propagate(always, start, np.full(len(first), most, dtype=np.int64), limits.expired)
    limits.report(f"{len(first):,} live cells, {int(found.fixed.sum()):,} fixed by propagation")
    return System(
        release, Space.of(release, limits), refined.layout, refined.words, cell,
        tuple(piece_sizes.tolist()), cell_sizes(piece_sizes, cell, len(first)), linear, choices, found,
        len(low) - 1 if total else None, any(s.coarse for s in loose_statements(release)),
    )  # fmt: skip


def cell_sizes(pieces: NDArray[Any], cell: Ints, cells: int) -> tuple[int, ...]:
    """Return the sum of the pieces' sizes per cell, exactly."""
    out = [0] * cells
    for c, size in zip(cell.tolist(), pieces.tolist(), strict=True):
        out[c] += size
    return tuple(out)


def total_row(release: Release) -> bool:
    """Tell whether the number of rows must be stated: no partition of exact counts implies it."""
    exact = (
        bool((b.low == b.high).all()) and release.rows.exact and int(b.low.sum()) == release.rows.low
        for b in release.blocks
        if isinstance(b, Partition)
    )
    return not any(exact)


Entries = tuple[Ints, Ints, Ints]
Choices = tuple[tuple[tuple[int, ...], ...], ...]


def assemble(release: Release, refined: Refinement) -> tuple[NDArray[np.int64], Entries, tuple[Ints, Ints], Choices]:
    """Return (keys, entries, bounds, choices): pieces with equal keys count alike in every statement.

    Entries are (statement, piece, coefficient); statements are numbered partitions first, in block order, then
    loose ones.
    """
    columns, labels, n = refined.columns(), refined.labels(), len(refined.words)
    offsets, offset = {}, 0
    low, high = [], []
    for b, block in enumerate(release.blocks):
        if isinstance(block, Partition):
            offsets[b] = offset
            offset += len(block)
            low.append(block.low)
            high.append(block.high)
    keys, rows, pieces, coefs = [], [], [], []
    every = np.arange(n, dtype=np.int64)
    for splitter, column in zip(refined.splitters, columns, strict=True):
        if splitter.block is None:
            continue
        block = release.blocks[splitter.block]
        if isinstance(block, Partition):
            statement = offsets[splitter.block] + statement_table(block, release.domain.labels)[column, labels]
            keys.append(statement)
            rows.append(statement)
            pieces.append(every)
            coefs.append(np.ones(n, dtype=np.int64))
    loose = loose_statements(release)
    by_region = [(s, c) for s, c in zip(refined.splitters, columns, strict=True) if s.block is None]
    for i, statement_view in enumerate(loose):
        weights = weights_of(statement_view, by_region)
        at = np.flatnonzero(weights)
        rows.append(np.full(len(at), offset + i, dtype=np.int64))
        pieces.append(at.astype(np.int64))
        coefs.append(weights[at])
        keys.append(weights)
    low.append(np.array([s.low for s in loose], dtype=np.int64))
    high.append(np.array([s.high for s in loose], dtype=np.int64))
    none = np.zeros(0, dtype=np.int64)
    entries = tuple(np.concatenate([none, *part]) for part in (rows, pieces, coefs))
    matrix = np.stack(keys, axis=1) if keys else np.zeros((n, 0), dtype=np.int64)
    return matrix, (entries[0], entries[1], entries[2]), (np.concatenate(low), np.concatenate(high)), (
        choices_of(release, offset)
    )  # fmt: skip


def weights_of(statement: Statement, by_region: Sequence[tuple[Splitter, Ints]]) -> Ints:
    """Return how often each piece counts in a loose statement."""
    for splitter, column in by_region:
        if splitter.region != statement.region:
            continue
        if statement.of is None:
            inside: Ints = (column != NOWHERE).astype(np.int64)
            return inside
        if splitter.of == statement.of:
            by_class = np.zeros(max(splitter.classes) + 1, dtype=np.int64)
            by_class[list(splitter.classes)] = statement.coefs
            weights: Ints = np.where(column == NOWHERE, 0, by_class[column]).astype(np.int64)
            return weights
    raise AssertionError(f"no splitter for {statement.source}")


def choices_of(release: Release, offset: int) -> Choices:
    """Return, per choice and alternative, the numbers of its statements."""
    out: list[tuple[tuple[int, ...], ...]] = []
    for block in release.blocks:
        if isinstance(block, Choice):
            groups = []
            for alternative in block.alternatives:
                groups.append(tuple(range(offset, offset + len(alternative))))
                offset += len(alternative)
            out.append(tuple(groups))
        elif not isinstance(block, Partition):
            offset += len(block)
    return tuple(out)


__all__ = ["ANY_LABEL", "System", "build", "system_of"]
