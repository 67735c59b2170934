"""What is known of the cells of a boosted model, as blocks of a release: partitions that proofs count statements of.

Source: docs/certificates.md, "Leaf values"; whoever searches numbers statements by the same blocks.
"""

from __future__ import annotations

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.statements.boxes import Boxes
from solvers.statements.release import ANY_LABEL, Partition, Release, RowSpace

KIND = "leaf values"
TOTALS = "leaf values, rows"


def cells_blocks(release: Release, boxes: Boxes, low: Ints, high: Ints, totals: tuple[Ints, Ints]) -> list[Partition]:
    """Return the partition of cells (the last box is everything else) with bounds per label (cells, labels).

    And a second one with bounds on the rows of every cell, where these say more anywhere than the sums of the former,
    or the number of rows.
    """
    out = [_cells_block(release.domain, boxes, low, high)]
    if say_more(totals, low, high, release.rows.high):
        out.append(_totals_block(boxes, *totals))
    return out


def say_more(totals: tuple[Ints, Ints], low: Ints, high: Ints, rows: int | None) -> bool:
    """Return whether bounds on the rows of cells say more anywhere than those per label, and the number of rows."""
    most = high.sum(axis=1)
    return bool(
        (totals[0] > low.sum(axis=1)).any() or (totals[1] < np.minimum(most, most if rows is None else rows)).any()
    )


def _cells_block(domain: RowSpace, boxes: Boxes, low: Ints, high: Ints) -> Partition:
    """Return the partition of cells (the last box is everything else) with bounds per label (cells, labels)."""
    k, labels = low.shape
    region = np.append(np.repeat(np.arange(k), labels), k).astype(np.int32)
    label = np.append(np.tile(np.arange(labels), k), ANY_LABEL).astype(np.int32)
    if domain.label is None:
        label[:] = ANY_LABEL
    ends = np.append(low.reshape(-1), 0), np.append(high.reshape(-1), 0)
    return Partition(KIND, boxes, True, region, label, *ends, _cell_names(k), tuple(map(str, range(labels))))


def _totals_block(boxes: Boxes, low: Ints, high: Ints) -> Partition:
    """Return the partition of cells with bounds (cells,) on their rows, whatever the label."""
    k = len(low)
    label = np.full(k + 1, ANY_LABEL, dtype=np.int32)
    region = np.arange(k + 1, dtype=np.int32)
    return Partition(TOTALS, boxes, True, region, label, np.append(low, 0), np.append(high, 0), _cell_names(k), ())


def _cell_names(cells: int) -> tuple[str, ...]:
    """Return the names of cells, and of everything else."""
    return (*(f"cell {i}" for i in range(cells)), "any other")
