"""A release as a sparse integer system over its live cells, propagated; computed once, shared by all engines.

Cells are the atoms of all regions: the statements see a dataset only through its histogram z over them, which
removes the n! symmetry of the rows. Cells with equal columns are one cell, its size the sum.

Source: docs/mathematics.md, "Cells and histograms"; Ferry et al., SaTML 2024, for possible worlds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import WordLayout, Words
from solvers.cells.cutting import PartitionCut, joined_entries
from solvers.cells.linear_system import Propagated, SparseStatements, propagate, same_columns, same_rows
from solvers.cells.refinement import Refinement, TooShort, hold, refine
from solvers.foundation.array_types import Ints
from solvers.foundation.derived import Derived
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.exact import DOUBLE, MAX_SUM
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.observations import Choices, StatementIndex
from solvers.statements.regions.row_space import Space
from solvers.statements.release import NO_COUNT, UNBOUNDED, Release

PHASE = "the system of cells was set up"


@dataclass(frozen=True, eq=False)
class CellSystem:
    """Statements (rows, numbered by `solvers.statements.observations`) over live cells (columns).

    `sizes` are the cells' raw rows (Python integers). `words` are the disjoint boxes that make up the cells,
    `cell` says which cell each is part of. `linear` holds every statement, also those of alternatives, of which
    `choices` names the groups (choice -> alternative -> statements). `bounds` is what propagation of the
    unconditional statements leaves of every cell. `total` is the statement on the number of rows, None where a
    partition implies it. `coarse`: some statement says less than was published, so that worlds cannot be counted.
    `derived` keeps what engines found out about it.
    """

    release: Release
    space: Space
    layout: WordLayout
    words: Words
    cell: Ints
    piece_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    linear: SparseStatements
    choices: Choices
    bounds: Propagated
    total: int | None
    coarse: bool
    derived: Derived = field(init=False, default_factory=Derived, repr=False, compare=False)

    @cached_property
    def always(self) -> NDArray[np.bool_]:
        """Return which statements hold whatever the choices."""
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

    def asking(self, sums: NDArray[np.int64], values: Ints | None = None) -> tuple[CellSystem, tuple[int, ...]]:
        """Return the system with sums (m, cells) as further statements, and their numbers.

        Without `values` (m,) they are without bounds, else the sums must take them.
        """
        rows = self.release.rows.high or 1
        if int(np.abs(sums).max(initial=0)) * max(1, rows) * max(1, len(self.sizes)) >= MAX_SUM:
            raise Unsupported("sums over all cells of the values asked about may exceed 2^59")
        at, col = np.nonzero(sums)
        old, first = self.linear, len(self.linear)
        none = np.full(len(sums), UNBOUNDED, dtype=np.int64)
        low, high = (-none, none) if values is None else (values, values)
        linear = SparseStatements.of(
            np.concatenate([old.row, at + first]),
            np.concatenate([old.col, col]),
            np.concatenate([old.coef, sums[at, col]]),
            (np.concatenate([old.low, low]), np.concatenate([old.high, high])),
            old.columns,
        )
        return replace(self, linear=linear), tuple(range(first, first + len(sums)))

    @cached_property
    def index(self) -> StatementIndex:
        """Return the statements by number."""
        return StatementIndex(self.release)

    def source(self, s: int) -> str:
        """Return a human-readable source of statement s."""
        return self.index.source(s)

    def figure(self, s: int) -> str:
        """Return statement s in words, with the figure that it publishes."""
        low, high = int(self.linear.low[s]), int(self.linear.high[s])
        if low > high:
            text = NO_COUNT
        elif low == high:
            text = str(low)
        elif high == UNBOUNDED:
            text = f"at least {low}"
        else:
            text = f"at most {high}" if low <= 0 else f"{low} to {high}"
        return f"{self.source(s)}: {text}"

    def satisfied(self, z: Ints) -> bool:
        """Return whether a histogram meets every statement, exactly one alternative of each choice included."""
        wrong = set(self.linear.broken(z).tolist())
        if any(self.always[s] for s in wrong) or bool((z < 0).any()):
            return False
        return all(sum(not wrong & set(alternative) for alternative in choice) == 1 for choice in self.choices)


@dataclass(slots=True)
class KnownSystem:
    """The system of a release, or why there is none with so many cells."""

    system: CellSystem | None = None
    cells: int = 0
    refusal: Unsupported | None = None


def system_of(release: Release, limits: Limits) -> CellSystem:
    """Return the system of a release, from memory if it, or that it has too many cells, is known.

    Raises `Unsupported` for too many cells, `Inconclusive` when time is up. Cost: pieces times blocks.
    """
    known = release.derived.part(KnownSystem)
    if known.system is not None:
        return known.system
    if known.refusal is not None and limits.cells <= known.cells:
        raise known.refusal
    begun = limits.remaining()
    try:
        known.system = _build(release, limits)
    except Unsupported as error:
        known.cells, known.refusal = limits.cells, error
        raise
    except Inconclusive as error:
        if not limits.stop.is_set():  # whoever has no more time than was too short need not begin
            release.derived.part(TooShort).note(limits.spent(begun), str(error))
        raise
    return known.system


def cells_fit(release: Release, limits: Limits) -> bool:
    """Return whether the cells of a release can be written down."""
    try:
        system_of(release, limits)
    except Unsupported:
        return False
    return True


def keep_system(release: Release, system: CellSystem) -> None:
    """Remember a system of a release with tighter bounds in the place of the one that is known."""
    release.derived.part(KnownSystem).system = system


def cells_known(release: Release) -> bool:
    """Return whether the system of a release was worked out before; nothing is done for it."""
    return release.derived.part(KnownSystem).system is not None


def _build(release: Release, limits: Limits) -> CellSystem:
    """Return the system, anew; see `system_of`."""
    refined, index, total = refine(release, limits), StatementIndex(release), _total_row(release)
    linear, cell = assemble(index, refined, total, limits)
    maximum = release.rows.high if release.rows.high is not None else DOUBLE
    longest = int(np.bincount(linear.row).max(initial=0))
    stated = np.concatenate([linear.low[linear.low > -UNBOUNDED], linear.high[linear.high < UNBOUNDED], [0]])
    far = max(int(np.abs(linear.coef).max(initial=0)) * max(1, maximum) * longest, int(np.abs(stated).max()))
    if far >= MAX_SUM:
        raise Unsupported("sums over all cells of values times rows may exceed 2^59")
    limits.check(PHASE)
    piece_sizes = refined.layout.sizes(refined.words)
    limits.check(PHASE)
    bounds = propagated(linear, index, maximum, limits)
    limits.report(f"{linear.columns:,} live cells, {int(bounds.fixed.sum()):,} fixed by propagation")
    return CellSystem(
        release, Space.of(release, limits), refined.layout, refined.words, cell,
        tuple(piece_sizes.tolist()), _cell_sizes(piece_sizes, cell, linear.columns), linear, index.choices, bounds,
        index.rows if total else None, release.coarse,
    )  # fmt: skip


def propagated(linear: SparseStatements, index: StatementIndex, maximum: int, limits: Limits) -> Propagated:
    """Return what the unconditional statements leave of cells of at most so many rows."""
    always = linear.take(index.unconditional[: len(linear)]) if index.choices else linear
    start = np.zeros(linear.columns, dtype=np.int64)
    return propagate(always, start, np.full(linear.columns, maximum, dtype=np.int64), limits.expired)


def _cell_sizes(pieces: NDArray[Any], cell: Ints, cells: int) -> tuple[int, ...]:
    """Return the sum of the pieces' sizes per cell, exactly."""
    out = [0] * cells
    for c, size in zip(cell.tolist(), pieces.tolist(), strict=True):
        out[c] += size
    return tuple(out)


def _total_row(release: Release) -> bool:
    """Return whether the number of rows must be stated: no partition of exact counts implies it."""
    return not any(
        bool((b.low == b.high).all()) and release.rows.exact and int(b.low.sum()) == release.rows.low
        for b in release.partitions.values()
    )


def assemble(index: StatementIndex, refined: Refinement, total: bool, limits: Limits) -> tuple[SparseStatements, Ints]:
    """Return the statements over cells, and the cell of every piece; `total`: the number of rows is a statement too.

    Pieces that count alike in every statement are one cell.
    """
    n = len(refined.words)
    limits.report(f"{n:,} pieces of cells: {PHASE}")
    none, held = np.zeros(0, dtype=np.int64), n
    entries, keys = [(none, none, none)], [np.zeros((n, 0), dtype=np.int64)]
    for cut, value in refined.values(limits):
        entries.append(cut.entries(value))
        held += len(entries[-1][0])
        hold(held, limits)
        if isinstance(cut, PartitionCut):
            keys.append(value[:, None])
    row, piece, coef = joined_entries(entries, refined.cuts)
    limits.check(PHASE)
    # Of partitions alone the statements of a piece are a row of a matrix: to compare these takes less.
    whole = len(keys) == len(entries)
    first, cell = same_rows(np.concatenate(keys, axis=1)) if whole else same_columns(row, piece, coef, n)
    limits.check(PHASE)
    chosen = np.zeros(n, dtype=bool)
    chosen[first] = True
    kept = chosen[piece]
    row, col, coef = row[kept], cell[piece[kept]], coef[kept]
    if total:
        row = np.concatenate([row, np.full(len(first), index.rows, dtype=np.int64)])
        col = np.concatenate([col, np.arange(len(first), dtype=np.int64)])
        coef = np.concatenate([coef, np.ones(len(first), dtype=np.int64)])
    end = index.rows + total
    made = SparseStatements.of(row, col, coef, (index.low[:end], index.high[:end]), len(first))
    limits.keep(made, made.row.nbytes + made.col.nbytes + made.coef.nbytes)
    return made, cell
