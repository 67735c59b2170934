"""What follows from sums and their parts: sums that say nothing more, and regions that hold no row.

The number of rows follows from that of every county, and ties cells that are otherwise independent. Where the parts
that are listed add up to the whole, nobody is in the rest of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.cells.bit_boxes import WordLayout, Words
from solvers.cells.linear_system import SparseStatements
from solvers.foundation.array_types import Ints
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.numbering import StatementIndex
from solvers.statements.release import UNBOUNDED

COMPARED, PAIRS = 20_000_000, 1 << 20  # pairs of a whole and a part that are looked at, and at a time
LARGEST, ENTRIES = 32, 10_000_000  # sums that are looked at, and entries looked at for all of them, about
VISITS = 50_000  # parts that are looked at


def groups_of(row: Ints, col: Ints, rows: int, columns: int, tied: tuple[int, ...] = ()) -> Ints:
    """Return a number per column, then per row: equal where entries tie them; the `tied` rows are tied as well."""
    from scipy.sparse import coo_matrix  # what only bars rows does without
    from scipy.sparse.csgraph import connected_components

    nodes, kept = columns + rows, columns + np.array(tied, dtype=np.int64)
    ends = np.concatenate([col, kept[:-1]]), np.concatenate([columns + row, kept[1:]])
    graph = coo_matrix((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(nodes, nodes))
    found: Ints = connected_components(graph, directed=False)[1].astype(np.int64)
    return found


def separating_sums(linear: SparseStatements, keep: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which statements are sums of others and tie what is independent without them; never one to `keep`.

    Such a statement and its parts are equations with coefficients 1, the parts are disjoint, each smaller than it, and
    their sums add up to its own (where they do not, it stays: there is no solution). So what is left out follows from
    what stays. Not all are found: the `LARGEST` statements are compared with the first parts that fit together.
    """
    sizes = np.bincount(linear.row, minlength=len(linear))
    ones = np.bincount(linear.row, weights=linear.coef == 1, minlength=len(linear)) == sizes
    sums = ones & (linear.low == linear.high) & (sizes > 0)
    wholes = sums & (sizes > 1)
    wholes[list(keep)] = False
    order = np.flatnonzero(wholes)
    number = min(LARGEST, 1 + ENTRIES // max(1, len(linear.row)))
    order = order[np.argsort(-sizes[order], kind="stable")][:number]
    implied, visits = np.zeros(len(linear), dtype=bool), VISITS
    for whole in order.tolist():
        implied[whole], visits = _added_up(linear, sums, sizes, whole, visits)
        if sizes[whole] == linear.columns and not implied[whole]:
            break  # it ties all cells, and stays
    if implied.any():
        stays = ~implied[linear.row]
        group = groups_of(linear.row[stays], linear.col[stays], len(linear), linear.columns, keep)
        for whole in np.flatnonzero(implied).tolist():
            cells = linear.col[linear.start[whole] : linear.start[whole + 1]]
            implied[whole] = len(np.unique(group[cells])) > 1
    return implied


def _added_up(
    linear: SparseStatements, sums: NDArray[np.bool_], sizes: NDArray[np.int64], whole: int, visits: int
) -> tuple[bool, int]:
    """Return whether the first disjoint parts inside a statement add up to it, and how many visits are left."""
    open_cells = np.zeros(linear.columns, dtype=bool)
    open_cells[linear.col[linear.start[whole] : linear.start[whole + 1]]] = True
    inside = np.bincount(linear.row, weights=open_cells[linear.col], minlength=len(linear)) == sizes
    parts = np.flatnonzero(inside & sums & (sizes < sizes[whole])).tolist()
    covered = total = 0
    for part in parts[:visits]:
        cells = linear.col[linear.start[part] : linear.start[part + 1]]
        if open_cells[cells].all():
            open_cells[cells] = False
            covered += int(sizes[part])
            total += int(linear.low[part])
            if covered == sizes[whole]:
                break
    same = covered == int(sizes[whole]) and total == int(linear.low[whole])
    return same, max(0, visits - len(parts))


@dataclass(frozen=True, eq=False)
class LooseCounts:
    """Loose counts of boxes over the same attributes, one per box, with their least and greatest rows."""

    boxes: list[Box]
    words: Words
    low: Ints
    high: Ints

    def take(self, kept: NDArray[np.bool_]) -> LooseCounts:
        """Return some of them."""
        boxes = [box for box, stays in zip(self.boxes, kept.tolist(), strict=True) if stays]
        return LooseCounts(boxes, self.words[kept], self.low[kept], self.high[kept])


def implied_zeros(index: StatementIndex) -> list[Region]:
    """Return regions that no row can lie in: a whole without parts of it whose least counts add up to its greatest.

    Wholes are the number of rows and loose counts, parts are loose counts over more attributes, all over the same ones,
    which are disjoint: what a table lists. Not all are found. Cost: pairs of wholes and parts.
    """
    layout, groups = WordLayout(index.release.domain), _counts_by_attributes(index)
    wholes = {names: counts.take((counts.high > 0) & (counts.high < UNBOUNDED)) for names, counts in groups.items()}
    parts = {names: counts.take(counts.low > 0) for names, counts in groups.items()}
    out, pairs = list[Region](), COMPARED
    for outer, some in wholes.items():
        for inner, listed in parts.items():
            if some.boxes and listed.boxes and set(outer) < set(inner):
                pairs -= len(some.boxes) * len(listed.boxes)
                out += _rests(layout, some, listed) if pairs >= 0 else ()
    return out


def _counts_by_attributes(index: StatementIndex) -> dict[tuple[int, ...], LooseCounts]:
    """Return the loose counts of boxes, and the number of rows, by the attributes that they name."""
    layout = WordLayout(index.release.domain)
    groups: dict[tuple[int, ...], dict[Box, int]] = {(): {Box(): index.rows}}
    for b, block in index.release.loose.items():
        for s, one in enumerate(block, start=index.first[b]):
            if one.of is None and not one.region.minus:
                groups.setdefault(tuple(k for k, _ in one.region.box.literals), {}).setdefault(one.region.box, s)
    out = {}
    for names, boxes in groups.items():
        numbers, every = list(boxes.values()), list(boxes)
        out[names] = LooseCounts(every, layout.rows(Boxes.of(every)), index.low[numbers], index.high[numbers])
    return out


def _rests(layout: WordLayout, wholes: LooseCounts, parts: LooseCounts) -> list[Region]:
    """Return what the parts of wholes leave of them where nobody is there."""
    out, step = list[Region](), max(1, PAIRS // len(parts.boxes))
    for first in range(0, len(wholes.boxes), step):
        chunk = slice(first, first + step)
        within = np.ones((len(wholes.boxes[chunk]), len(parts.boxes)), dtype=bool)
        for w in range(layout.at[-1]):
            within &= (parts.words[None, :, w] & ~wholes.words[chunk, None, w]) == 0
        enough = np.flatnonzero(within @ parts.low.astype(np.float64) >= wholes.high[chunk])
        for i in enough.tolist():
            box, high = wholes.boxes[first + i], int(wholes.high[first + i])
            chosen = _disjoint(layout, parts.words, np.flatnonzero(within[i]))
            boxes = [parts.boxes[j] for j in chosen.tolist()]
            left = box.size(layout.domain) - sum(one.size(layout.domain) for one in boxes)
            if sum(parts.low[chosen].tolist()) >= high and left:
                out.append(Region(box, tuple(boxes)))
    return out


def _disjoint(layout: WordLayout, words: Words, candidates: Ints) -> Ints:
    """Return the first of some boxes, each disjoint from those before."""
    kept = list[int]()
    for i in candidates.tolist():
        common = np.logical_or.reduceat((words[kept] & words[i]) != 0, layout.at[:-1], axis=1).all(axis=1)
        if not common.any():
            kept.append(i)
    return np.array(kept, dtype=np.int64)
