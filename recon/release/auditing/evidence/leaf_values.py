"""Groups that leaf values of boosted models prove: cells of the leaves of all trees, with the rows of each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.readers.frames.describe import condition_text
from recon.readers.loading.settled import proofs
from solvers.foundation.array_types import Ints
from solvers.statements.release import AddedBlocks, Partition, Release

Place = Mapping[str, Any]
LISTED = 1_000  # of each kind, the smallest first


@dataclass(frozen=True)
class ValueGroups:
    """Groups and cells (with `class`) that surely have rows, the smallest first; `disclosed`: rows in pure cells.

    `least`: the fewest rows of a group and of a cell, where leaf values say of all of them how many rows they have.
    """

    groups: tuple[Place, ...] = ()
    cells: tuple[Place, ...] = ()
    disclosed: int = 0
    least: tuple[int, int] | None = None


def groups_by_leaf_values(release: EncodedRelease) -> tuple[ValueGroups, ...]:
    """Return what the leaf values of each model prove, in a release that has it. Linear in cells times labels."""
    return tuple(of_block(release, one, block) for one, block in proofs(release.statements))


def of_block(release: EncodedRelease, settled: AddedBlocks, block: Partition) -> ValueGroups:
    """Return the cells of one model; the last box of a block is everything else, where nobody is."""
    k, labels = len(block.boxes) - 1, max(1, len(block.labels))
    low, high = (ends[: k * labels].reshape(k, labels) for ends in (block.low, block.high))
    least, most = totals(release.statements, settled, block, low, high)
    name = settled.before.boosted[settled.model].name
    value = None if release.domain.label is None else release.domain.label.value

    def place(j: int, ends: tuple[int, int], label: int | None = None) -> dict[str, Any]:
        where = condition_text(release.cut, block.boxes[j])
        found = {"name": f"{name}, leaf values", "where": where, "rows": [*ends]}
        return found if label is None or value is None else found | {"class": str(value(label))}

    rows = [(int(least[j]), int(most[j])) for j in range(k)]
    groups = sorted((j for j in range(k) if rows[j][0] > 0), key=lambda j: rows[j][::-1])[:LISTED]
    filled = [(int(j), int(c)) for j, c in np.argwhere(low > 0)]
    ends = {(j, c): (int(low[j, c]), int(min(high[j, c], most[j]))) for j, c in filled}
    cells = sorted(filled, key=lambda one: ends[one][::-1])[:LISTED]
    alone = (high > 0).sum(axis=1) == 1
    exact = bool((low == high).all())
    return ValueGroups(
        tuple(place(j, rows[j]) for j in groups),
        tuple(place(j, ends[j, c], c) for j, c in cells),
        int(least[alone].sum()),
        (int(least[least > 0].min()), int(low[low > 0].min())) if exact and low.any() else None,
    )


def totals(release: Release, settled: AddedBlocks, block: Partition, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Return bounds on the rows of every cell: sums by label, what all others leave, and the block of totals."""
    everybody = settled.before.rows
    least, most = low.sum(axis=1), high.sum(axis=1)
    if everybody.high is not None:
        most = np.minimum(most, everybody.high)
    least = np.maximum(least, everybody.low - (high.sum() - high.sum(axis=1)))
    after = release.blocks.index(block) + 1 if block in release.blocks else len(release.blocks)
    further = release.blocks[after] if after < len(release.blocks) else None
    if isinstance(further, Partition) and further.boxes is block.boxes:
        least, most = np.maximum(least, further.low[: len(least)]), np.minimum(most, further.high[: len(most)])
    return least, most
