"""Groups that are proved by position, where known bags tell the rows of the training file apart.

In every world the row at position i lies in its box B_i, a product of values that are left. So of rows in B_i there
are, in every world, at least as many as there are boxes inside B_i, and at most as many as there are that meet it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from recon.queries.located.placed_rows import PlacedRows
from recon.readers.frames.describe import condition_text
from solvers.foundation.array_types import Bits, Ints
from solvers.statements.boxes import Box

MOST_COMPARED = 1 << 30  # pairs of positions
NAMED = 1_000  # groups that are listed, the smallest first


@dataclass(frozen=True)
class PositionGroups:
    """Groups that are proved by position; every one has a row in every world.

    `groups`: name, where, rows [least, most], the smallest first; `cells`: rows of one class in a group, with `class`.
    `disclosed`: how many rows lie in a group all of whose possible members have one proved class.
    """

    groups: tuple[dict[str, Any], ...] = ()
    cells: tuple[dict[str, Any], ...] = ()
    disclosed: int = 0


def groups_at_positions(found: PlacedRows) -> PositionGroups:
    """Return the groups that positions prove, the `NAMED` smallest of each kind.

    Cost: positions x rows x attributes, and at most `MOST_COMPARED` pairs: beyond, the narrowest boxes alone.
    """
    answer, label = found.answer, found.label
    data = [k for k in range(answer.start.shape[1]) if k != label]
    parts = np.array([len(found.release.cut.cuts[k].inner) + 1 for k in data], dtype=np.int64)
    sets = {i: answer.sets[k] for i, k in enumerate(data) if k in answer.sets}
    boxes = RowBoxes(answer.start[:, data].astype(np.int64), answer.end[:, data].astype(np.int64), parts, sets)
    left = found.labels_left
    rows, cells, disclosed = boxes.counted(left)
    names = () if label is None else [str(found.release.domain.all[label].value(j)) for j in range(left.shape[1])]

    def group(i: int, ends: tuple[int, int]) -> dict[str, Any]:
        literals = tuple((data[k], mask) for k, mask in boxes.masks(i))
        where = condition_text(found.release.cut, Box(literals))
        return {"name": f"who is at position {i} of the training file", "where": where, "rows": [*ends]}

    smallest = sorted(rows.items(), key=lambda one: (one[1][1], one[1][0]))[:NAMED]
    classes = sorted(cells.items(), key=lambda one: (one[1][1], one[1][0]))[:NAMED]
    return PositionGroups(
        tuple(group(i, ends) for i, ends in smallest),
        tuple(group(i, ends) | {"class": names[int(np.argmax(left[i]))]} for i, ends in classes),
        disclosed,
    )


@dataclass(frozen=True, eq=False)
class RowBoxes:
    """Boxes of parts, (rows, attributes) from `start` to before `end`; `sets[attribute]` (rows, parts): of those, left.

    `parts` (attributes,): how many there are.
    """

    start: Ints
    end: Ints
    parts: Ints
    sets: Mapping[int, Bits]

    def counted(self, left: Bits) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]], int]:
        """Return least and most rows in each different box, and in each with its class where it is proved.

        Boxes, and boxes with a class, by the first row that has them. Last: how many rows have a class that all share
        who may be in their box. `left` (rows, labels): the labels that each row may have.
        """
        narrow = np.log2(np.maximum(self.end - self.start, 1) / self.parts)
        order = np.argsort(narrow.sum(axis=1), kind="stable")[: max(1, MOST_COMPARED // max(1, len(narrow)))]
        rows: dict[int, tuple[int, int]] = {}
        cells: dict[int, tuple[int, int]] = {}
        known, seen, done = left.sum(axis=1) == 1, {}, set()
        disclosed = 0
        for i in order.tolist():
            key = self.start[i].tobytes() + self.end[i].tobytes() + b"".join(s[i].tobytes() for s in self.sets.values())
            if key not in seen:
                seen[key] = self.near(i, np.argsort(narrow[i], kind="stable").tolist())
                rows[i] = int(seen[key][1].sum()), len(seen[key][0])
            if not known[i]:
                continue
            at, inside = seen[key]
            may = (left[at] & left[i]).any(axis=1)
            disclosed += bool((may & known[at]).all())
            if (key, left[i].tobytes()) not in done:
                done.add((key, left[i].tobytes()))
                cells[i] = int((inside & may & known[at]).sum()), int(may.sum())
        return rows, cells, disclosed

    def near(self, i: int, order: Sequence[int]) -> tuple[Ints, Bits]:
        """Return the rows whose boxes meet the one of row i, and which of these boxes lie inside it."""
        at: Ints = np.arange(len(self.start))
        for k in order:
            at = at[(self.start[at, k] < self.end[i, k]) & (self.end[at, k] > self.start[i, k])]
            if k in self.sets:
                at = at[(self.own(at, k) & self.own(i, k)).any(axis=1)]
        inside: Bits = ((self.start[at] >= self.start[i]) & (self.end[at] <= self.end[i])).all(axis=1)
        for k in self.sets:
            inside &= ~(self.own(at, k) & ~self.own(i, k)).any(axis=1)
        return at, inside

    def own(self, at: int | Ints, k: int) -> Bits:
        """Return the parts of attribute k, one of `sets`, that are left of a row, or of each of several."""
        place = np.arange(self.parts[k])
        first, behind = np.asarray(self.start[at, k])[..., None], np.asarray(self.end[at, k])[..., None]
        return np.asarray(self.sets[k][at] & (place >= first) & (place < behind))

    def masks(self, i: int) -> list[tuple[int, int]]:
        """Return the box of a row as attributes with bit masks of parts; those that leave all parts not."""
        out = []
        for k, full in enumerate(self.parts.tolist()):
            if k in self.sets:
                mask = sum(1 << int(p) for p in np.flatnonzero(self.own(i, k)))
            else:
                mask = (1 << int(self.end[i, k])) - (1 << int(self.start[i, k]))
            if mask != (1 << full) - 1:
                out.append((k, mask))
        return out
