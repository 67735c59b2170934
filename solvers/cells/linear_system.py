"""Sparse integer systems `low <= A z <= high` over cells, and what bounds on every z follow from them.

Bound propagation alone often fixes every cell, which proves that a world is the only one. What it did is kept as
a trace: whoever replays it, in order, with the statement named beside each step, has checked it.

Source: bounds consistency of linear constraints (Harvey, Stuckey, "Improving linear constraint propagation by
changing constraint representation", Constraints 8, 2003, section 2); docs/mathematics.md, "Cells and histograms".

What follows from sums and their parts: sums that say nothing more, and regions that hold no row.

The number of rows follows from that of every county, and ties cells that are otherwise independent. Where the parts
that are listed add up to the whole, nobody is in the rest of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import WordLayout, Words
from solvers.foundation.array_types import Ints
from solvers.foundation.exact import OPEN
from solvers.statements.boxes import Box, Boxes, Region
from solvers.statements.observations import StatementIndex
from solvers.statements.release import UNBOUNDED

FREE = OPEN  # the slack of a side without a bound
MAX_SWEEPS = 2_000
HASHES = np.random.default_rng(20031).integers(1, 1 << 63, size=4096, dtype=np.uint64) | np.uint64(1)


@dataclass(frozen=True, eq=False)
class SparseStatements:
    """Statements as sparse rows: entry e says that row `row[e]` counts column `col[e]` `coef[e]` times.

    Entries are sorted by row. `low` -UNBOUNDED and `high` UNBOUNDED are no bounds.
    """

    row: Ints
    col: Ints
    coef: Ints
    low: Ints
    high: Ints
    columns: int

    @classmethod
    def of(cls, row: Ints, col: Ints, coef: Ints, bounds: tuple[Ints, Ints], columns: int) -> SparseStatements:
        """Return the system of entries in any order; zero coefficients are dropped."""
        kept = np.flatnonzero(coef != 0)
        kept = kept[np.argsort(row[kept], kind="stable")]
        return cls(row[kept], col[kept], coef[kept], *bounds, columns)

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def start(self) -> Ints:
        """Return where each row's entries start; row r has the entries start[r]..start[r+1]."""
        out: Ints = np.searchsorted(self.row, np.arange(len(self) + 1)).astype(np.int64)
        return out

    def take(self, rows: NDArray[np.bool_]) -> SparseStatements:
        """Return the system with only the rows where the mask holds; the others stay, empty and unbounded."""
        kept = rows[self.row]
        low, high = np.where(rows, self.low, -UNBOUNDED), np.where(rows, self.high, UNBOUNDED)
        return SparseStatements(self.row[kept], self.col[kept], self.coef[kept], low, high, self.columns)

    def sums(self, values: Ints) -> Ints:
        """Return A z, one sum per row."""
        return add_up(self.coef * values[self.col], self.row, len(self))

    def broken(self, values: Ints) -> Ints:
        """Return the rows that the values do not meet."""
        found = self.sums(values)
        return np.flatnonzero((found < self.low) | (found > self.high)).astype(np.int64)


def add_up(values: Ints, rows: Ints, length: int) -> Ints:
    """Return the exact sum of the values of each row; `rows` is sorted."""
    out = np.zeros(length, dtype=np.int64)
    if len(values):
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        out[rows[first]] = np.add.reduceat(values, first)
    return out


def _hashes(width: int) -> NDArray[np.uint64]:
    """Return as many odd weights, always the same, for the hash of a row: its product with them in 64 bits."""
    if width <= len(HASHES):
        return HASHES[:width]
    return np.random.default_rng(width).integers(1, 1 << 63, size=width, dtype=np.uint64) | np.uint64(1)


def same_rows(matrix: NDArray[np.int64]) -> tuple[Ints, Ints]:
    """Return (first, group): the first of every distinct row, and the group of each row. Exact.

    Rows are grouped by a 64-bit hash; every row is then compared with its group's first, and sorted as a whole
    should a hash ever collide.
    """
    if matrix.shape[1] == 0:
        return np.zeros(min(1, len(matrix)), dtype=np.int64), np.zeros(len(matrix), dtype=np.int64)
    weights = _hashes(matrix.shape[1])
    with np.errstate(over="ignore"):
        keys = np.ascontiguousarray(matrix).view(np.uint64) @ weights
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(matrix[first][group], matrix):
        _, first, group = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), group.reshape(-1).astype(np.int64)


def same_columns(row: Ints, col: Ints, coef: Ints, columns: int) -> tuple[Ints, Ints]:
    """Return (first, group) of the columns as `same_rows` does of rows, from sparse entries, at most one per place.

    Columns are grouped by a 64-bit hash; every one is then compared with its group's first, entry by entry.
    """
    order = np.lexsort((row, col))
    order = order[coef[order] != 0]
    row, col, coef = row[order], col[order], coef[order]
    weights = _hashes(int(row.max(initial=0)) + 1)
    keys, start = np.zeros(columns, dtype=np.uint64), np.searchsorted(col, np.arange(columns + 1))
    with np.errstate(over="ignore"):
        np.add.at(keys, col, weights[row] * coef.astype(np.uint64))
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    group, length = group.reshape(-1), np.diff(start)
    other = first[group]
    at = np.arange(len(row)) - np.repeat(start[:-1] - start[:-1][other], length)  # the same entry of the group's first
    same = bool((length == length[other]).all())
    if not (same and np.array_equal(row[at], row) and np.array_equal(coef[at], coef)):
        names = [row[i:j].tobytes() + coef[i:j].tobytes() for i, j in pairwise(start.tolist())]
        _, first, group = np.unique(np.array(names, dtype=object), return_index=True, return_inverse=True)
    return first.astype(np.int64), group.reshape(-1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class BoundSweep:
    """One sweep: each of these cells got a new bound (`upper` or lower) by the statement beside it."""

    upper: bool
    cell: Ints
    value: Ints
    statement: Ints


@dataclass(frozen=True, eq=False)
class Propagated:
    """Bounds on every cell; `conflict` is a statement that cannot be met within them (None: none found)."""

    lower: Ints
    upper: Ints
    trace: tuple[BoundSweep, ...] = field(default=())
    conflict: int | None = None

    @property
    def fixed(self) -> NDArray[np.bool_]:
        """Return which cells have only one value left."""
        out: NDArray[np.bool_] = self.lower == self.upper
        return out


def propagate(
    system: SparseStatements, lower: Ints, upper: Ints, expired: Callable[[], bool] = lambda: False, trace: bool = True
) -> Propagated:
    """Return the bounds that follow, each sweep from the one before, until nothing changes or time is up.

    Every bound is implied by the statements, whenever the sweeps end. Entries of fixed cells leave the sweeps.
    Cost: linear in the entries of cells that are not fixed, per sweep.
    """
    low, up = lower.copy(), upper.copy()
    row, col, coef = system.row, system.col, system.coef
    done = np.zeros(len(system), dtype=np.int64)
    steps: list[BoundSweep] = []
    for sweep in range(MAX_SWEEPS):
        if sweep:
            fixed = low[col] == up[col]
            if fixed.any():
                done += add_up((coef * low[col])[fixed], row[fixed], len(system))
                row, col, coef = row[~fixed], col[~fixed], coef[~fixed]
        at_l, at_u = coef * low[col], coef * up[col]
        plus = coef > 0
        minimum, maximum = np.where(plus, at_l, at_u), np.where(plus, at_u, at_l)
        below = add_up(minimum, row, len(system)) + done
        above = add_up(maximum, row, len(system)) + done
        wrong = np.flatnonzero((below > system.high) | (above < system.low))
        if len(wrong):
            return Propagated(low, up, tuple(steps), int(wrong[0]))
        to_high = np.where(system.high == UNBOUNDED, FREE, system.high - np.where(system.high == UNBOUNDED, 0, below))
        to_low = np.where(system.low == -UNBOUNDED, FREE, above - np.where(system.low == -UNBOUNDED, 0, system.low))
        size = np.abs(coef)
        room, need = to_high[row] // size, to_low[row] // size
        new_u = low[col] + np.where(plus, room, need)
        new_l = up[col] - np.where(plus, need, room)
        changed = _tighten(up, col, new_u, row, True, steps if trace else None)
        changed |= _tighten(low, col, new_l, row, False, steps if trace else None)
        crossed = np.flatnonzero(low > up)
        if len(crossed):
            at = int(crossed[0])
            culprit = row[(col == at) & (new_u < low[at])]
            return Propagated(low, up, tuple(steps), int(culprit[0]) if len(culprit) else int(row[col == at][0]))
        if not changed:
            return Propagated(low, up, tuple(steps))
        if expired():
            break
    # Stopped half-way: what the last sweep fixed may still break a statement.
    coef, col = system.coef, system.col
    below = add_up(np.where(coef > 0, coef * low[col], coef * up[col]), system.row, len(system))
    above = add_up(np.where(coef > 0, coef * up[col], coef * low[col]), system.row, len(system))
    wrong = np.flatnonzero((below > system.high) | (above < system.low))
    return Propagated(low, up, tuple(steps), int(wrong[0]) if len(wrong) else None)


def _tighten(bound: Ints, col: Ints, new: Ints, row: Ints, upper: bool, steps: list[BoundSweep] | None) -> bool:
    """Move the bounds in place where the new ones are tighter, and note which statement said so."""
    better = np.flatnonzero(new < bound[col]) if upper else np.flatnonzero(new > bound[col])
    if not len(better):
        return False
    cells, values = col[better], new[better]
    (np.minimum if upper else np.maximum).at(bound, cells, values)
    if steps is not None:
        best = np.flatnonzero(bound[cells] == values)
        distinct, first = np.unique(cells[best], return_index=True)
        steps.append(BoundSweep(upper, distinct, bound[distinct], row[better[best[first]]]))
    return True


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
            if (region := one.region) is not None and not region.minus:
                groups.setdefault(tuple(k for k, _ in region.box.literals), {}).setdefault(region.box, s)
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
