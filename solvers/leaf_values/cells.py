"""Cells of a boosted model, the leaves of its first trees crossed, and what the release says about their rows.

Cells are boxes: the regions of other partitions with disjoint boxes, then a leaf of every tree, in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import Covering, WordLayout, Words, pack_rows, split_pieces
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits
from solvers.leaf_values.combining import moved_intervals
from solvers.statements.boxes import Box, Boxes
from solvers.statements.gradients.boosted import Boosted, by_tree, entries
from solvers.statements.observations import StatementIndex
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition, Release

Floats = NDArray[np.float64]
NUMBER_BYTES = 120  # of memory, per class of an entry: as it is made and looked through; measured
MADE, TURN = 1.5e-7, 4.5e-7  # of work: of such a number as it is made, and as often as it is looked through


def base_blocks(release: Release) -> list[int]:
    """Return the partitions that cut cells before any tree: no tree of a model, regions that are disjoint boxes."""
    trees = {b for one in release.boosted for b in one.blocks}
    layout = WordLayout(release.domain)
    return [b for b, block in release.partitions.items() if b not in trees and _boxes_of(layout, block) is not None]


def _boxes_of(layout: WordLayout, block: Partition) -> Boxes | None:
    """Return the disjoint boxes that rows can be in, by region; None where regions are no disjoint boxes.

    Of regions that are tried in order the last may be anything if it has no rows (`known_rows`).
    """
    if not block.first_match:
        return block.boxes
    last = block.region == len(block.boxes) - 1
    if bool((block.high[last] > 0).any()) or not last.any():
        return None
    boxes = Boxes.of([block.boxes[j] for j in range(len(block.boxes) - 1)])
    piece, _ = Covering(layout, boxes).meet(layout.rows(boxes), _everything(len(boxes), len(boxes)))
    return boxes if len(piece) == len(boxes) else None


def _everything(pieces: int, boxes: int) -> Words:
    """Return (pieces, words): all boxes are allowed everywhere."""
    return np.repeat(pack_rows(np.ones((1, boxes), dtype=bool)), pieces, axis=0)


@dataclass(frozen=True, eq=False)
class CutCells:
    """Boxes as `words`, the region of every base block (cells, blocks), and the leaf of every tree cut so far."""

    layout: WordLayout
    words: Words
    base: Ints
    leaves: Ints

    def __len__(self) -> int:
        return len(self.words)

    def kept(self, at: Ints) -> CutCells:
        """Return some of the cells."""
        return CutCells(self.layout, self.words[at], self.base[at], self.leaves[at])

    def boxes(self) -> list[Box]:
        """Return the cells as boxes."""
        return self.layout.boxes(self.words)


def _cut_cells(cells: CutCells, boxes: Boxes, impossible: Sequence[Box], most: int) -> tuple[CutCells, Ints, Ints]:
    """Return the parts of cells in disjoint boxes, their cells, and their boxes; raises `TooLarge` above `most`."""
    covering = Covering(cells.layout, boxes)
    piece, box = covering.meet(cells.words, _everything(len(cells), len(boxes)))
    if len(piece) > most:
        raise TooLarge(f"more than {most:,} cells (--max-cells)")
    words = covering.cut(cells.words, piece, box)
    at = _possible(cells.layout, words, impossible)
    piece, box = piece[at], box[at]
    return CutCells(cells.layout, words[at], cells.base[piece], cells.leaves[piece]), piece, box


def _possible(layout: WordLayout, words: Words, impossible: Sequence[Box]) -> Ints:
    """Return the boxes that are not made up of impossible rows."""
    of = np.arange(len(words), dtype=np.int64)
    for box in impossible:
        _, _, words, outside = split_pieces(layout, words, box)
        of = of[outside]
    return np.unique(of)


def first_cells(release: Release, base: Sequence[int], most: int) -> CutCells:
    """Return the cells of the base blocks."""
    layout, impossible = WordLayout(release.domain), release.impossible
    none = np.zeros((1, 0), dtype=np.int64)
    found = CutCells(layout, layout.full[None], none, none)
    for b in base:
        boxes = _boxes_of(layout, release.partitions[b])
        assert boxes is not None
        found, _, box = _cut_cells(found, boxes, impossible, most)
        found = CutCells(layout, found.words, np.column_stack([found.base, box]), found.leaves)
    return found.kept(_possible(layout, found.words, impossible))


def with_trees(release: Release, model: Boosted, cells: CutCells, trees: int, most: int) -> tuple[CutCells, Ints]:
    """Return the cells cut by further trees, those before number `trees`, and the cell that each comes from."""
    origin = np.arange(len(cells), dtype=np.int64)
    for tree in model.trees[cells.leaves.shape[1] : trees]:
        cells, of, leaf = _cut_cells(cells, release.partitions[tree.block].boxes, release.impossible, most)
        cells = CutCells(cells.layout, cells.words, cells.base, np.column_stack([cells.leaves, leaf]))
        origin = origin[of]
    return cells, origin


@dataclass(frozen=True, eq=False)
class ColumnSystem:
    """m statements low <= Σ coefficient x <= high over x[cell, class]: an entry per row and cell, a number per class.

    Coefficients are `middle` ± `radius`; `source` numbers the statements as proofs do. Rows ascend over entries.
    """

    row: Ints
    cell: Ints
    middle: Floats
    radius: Floats
    low: Floats
    high: Floats
    source: Ints

    def __len__(self) -> int:
        return len(self.low)

    @staticmethod
    def joined(parts: Sequence[ColumnSystem], classes: int) -> ColumnSystem:
        """Return the statements of several systems, one after the other."""
        first = np.cumsum([0, *(len(p) for p in parts)])
        empty, none = np.zeros((0, classes)), np.zeros(0, dtype=np.int64)
        return ColumnSystem(
            np.concatenate([none, *(p.row + f for p, f in zip(parts, first, strict=False))]),
            np.concatenate([none, *(p.cell for p in parts)]),
            np.concatenate([empty, *(p.middle for p in parts)]),
            np.concatenate([empty, *(p.radius for p in parts)]),
            np.concatenate([empty[:, 0] if classes else none, *(p.low for p in parts)]).astype(np.float64),
            np.concatenate([empty[:, 0] if classes else none, *(p.high for p in parts)]).astype(np.float64),
            np.concatenate([none, *(p.source for p in parts)]),
        )


def counts(index: StatementIndex, model: Boosted, base: Sequence[int], cells: CutCells) -> ColumnSystem:
    """Return what the blocks of the release count over the cells."""
    found, classes = [], len(model.labels)
    blocks = [*base, *model.blocks[: cells.leaves.shape[1]]]
    regions = np.column_stack([cells.base, cells.leaves])
    for i, b in enumerate(blocks):
        block = index.release.partitions[b]
        table = block.by_label(index.release.domain.labels)[:, list(model.labels)]
        statement = table[regions[:, i]]  # (cells, classes)
        together = block.label[statement[:, 0]] == ANY_LABEL
        parts = [(np.flatnonzero(together), np.ones(classes), 0)]
        parts += [(np.flatnonzero(~together), np.eye(classes)[k], k) for k in range(classes)]
        for at, weights, k in parts:
            numbers, row = np.unique(statement[at, k], return_inverse=True)
            order = np.argsort(row.reshape(-1), kind="stable")
            middle = np.repeat(weights[None], len(at), axis=0)
            low, high = block.low[numbers].astype(np.float64), block.high[numbers].astype(np.float64)
            high[block.high[numbers] >= UNBOUNDED] = np.inf
            source = numbers + index.first[b]
            found.append(ColumnSystem(row.reshape(-1)[order], at[order], middle, 0 * middle, low, high, source))
    top, n = index.high[index.rows], len(cells)
    if top < UNBOUNDED:
        ones = np.ones((n, classes))
        ends = np.array([float(index.low[index.rows])]), np.array([float(top)])
        last = np.array([index.rows], dtype=np.int64)
        found.append(ColumnSystem(np.zeros(n, dtype=np.int64), np.arange(n), ones, 0 * ones, *ends, last))
    return ColumnSystem.joined(found, classes)


def figures(model: Boosted, leaves: Ints, first: int) -> ColumnSystem:
    """Return the figures of the first trees over cells by their leaves (cells, trees); sources from `first` on."""
    found = []
    for t, (tree, rows) in enumerate(by_tree(model, leaves)):
        given = entries(tree, rows, leaves[:, t])
        source = np.arange(first, first + len(tree), dtype=np.int64)
        first += len(tree)
        found.append(ColumnSystem(given.figure, given.point, given.middle, given.radius, tree.low, tree.high, source))
    return ColumnSystem.joined(found, len(model.labels))


def level_work(
    release: Release, model: Boosted, base: Sequence[int], cells: CutCells, facts: int, limits: Limits
) -> float:
    """Return the work of what counts and figures say over the cells, beside so many numbers in facts, not yet made.

    Raises `TooLarge` where it does not fit into the memory, with what looks through it.
    """
    classes, numbers = len(model.labels), facts
    for b in (*base, *model.blocks[: cells.leaves.shape[1]]):
        together = bool((release.partitions[b].label == ANY_LABEL).all())
        numbers += len(cells) * classes * (1 if together else classes)
    for t, tree in enumerate(model.trees[: cells.leaves.shape[1]]):
        held = np.bincount(tree.leaf, minlength=len(tree.step))  # figures about each leaf
        numbers += classes * int(held[cells.leaves[:, t]].sum())
    hold_numbers(numbers, len(cells), limits)
    return numbers * MADE


def hold_numbers(numbers: int, cells: int, limits: Limits) -> None:
    """Raise `TooLarge` where so many numbers of statements over cells, about to be made, do not fit into the memory."""
    limits.hold(numbers * NUMBER_BYTES, f"statements of leaf values over {cells:,} cells")


class AssumptionError(Exception):
    """No numbers of rows agree with the statements: an assumption about the training fails. `str` says which."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Forms i: Σ coefficient * x[column] over start[i]..start[i + 1] is in low[i]..high[i], by (k, sources) weights."""

    start: Ints
    column: Ints
    coefficient: Ints
    low: Ints
    high: Ints
    weights: Any
    source: Ints

    def __len__(self) -> int:
        return len(self.low)


@dataclass(eq=False)
class CellLevel:
    """What is known about the rows x[cell, class] of the cells at a level; grows by facts, its bounds shrink.

    `given` are counts and figures, then the facts of earlier levels; `added` those found here. `next` is the number
    that the next fact has as a source.
    """

    given: ColumnSystem
    lower: Ints
    upper: Ints
    next: int
    columns: Ints  # (cells, classes): numbers in proofs
    names: Any  # source -> what a statement is, in words
    batches: list[Batch] = field(default_factory=list)

    @property
    def open(self) -> NDArray[np.bool_]:
        """Return (cells, classes): which numbers are not known."""
        return self.lower < self.upper

    def record(self, batch: Batch) -> Ints:
        """Keep a batch of forms and return their source numbers."""
        self.batches.append(batch)
        first = self.next
        self.next += len(batch)
        return np.arange(first, self.next, dtype=np.int64)


def compact(kept: NDArray[np.bool_]) -> Ints:
    """Return the number of each among those kept, -1 for others."""
    return np.where(kept, np.cumsum(kept) - 1, -1)


def flat(given: ColumnSystem, use: NDArray[np.bool_], rows: NDArray[np.bool_], number: Ints) -> tuple[Any, Any]:
    """Return the coefficients and radii of some statements over the columns used, as sparse matrices by columns."""
    from scipy.sparse import csr_matrix

    kept = rows[given.row]
    e, k = np.nonzero(use[given.cell] & kept[:, None] & ((given.middle != 0) | (given.radius != 0)))
    index = number[given.row[e]], given.cell[e] * use.shape[1] + k
    shape = (int(rows.sum()), use.size)
    return csr_matrix((given.middle[e, k], index), shape=shape), csr_matrix((given.radius[e, k], index), shape=shape)


def behind(level: CellLevel, rows: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the intervals of some statements less what is known, rounded outwards."""
    given, fixed = level.given, ~level.open
    middle, radius = flat(given, fixed & (level.lower > 0), rows, compact(rows))
    return moved_intervals(middle, radius, level.lower.ravel(), given.low[rows], given.high[rows])


def add_facts(level: CellLevel, batch: Batch, numbers: Ints, column: Ints) -> None:
    """Add the forms of several columns to the statements of a level; `column` counts (cell, class) pairs."""
    classes, several = level.lower.shape[1], np.diff(batch.start) > 1
    if not several.any():
        return
    form = np.repeat(np.arange(len(batch)), np.diff(batch.start))
    at = np.flatnonzero(several[form])
    key = compact(several)[form[at]] * len(level.lower) + column[at] // classes
    pairs, place = np.unique(key, return_inverse=True)
    middle = np.zeros((len(pairs), classes))
    np.add.at(middle, (place.reshape(-1), column[at] % classes), batch.coefficient[at].astype(np.float64))
    ends = batch.low[several].astype(np.float64), batch.high[several].astype(np.float64)
    row, cell = np.divmod(pairs, len(level.lower))
    facts = ColumnSystem(row, cell, middle, np.zeros_like(middle), *ends, numbers[several])
    level.given = ColumnSystem.joined([level.given, facts], classes)
