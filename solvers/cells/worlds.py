"""From histograms to worlds: inside its cell every row is chosen freely, so worlds are listed, drawn and spread.

Source: Ferry et al., SaTML 2024, eq. 9 (rows are independent given their cells); docs/mathematics.md, "Possible worlds
and their conventions".

Rows of one cell: drawn uniformly, listed lazily, and multisets of them, without building the cell.

Rows are raw value indices (0..total-1 per attribute, parts in order), int64 or Python integers where an attribute
has more than 2^62 values.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import PartitionCells
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Unsupported
from solvers.foundation.exact import EXACT
from solvers.statements.boxes import Box, RowSpace
from solvers.statements.questions.query import Convention
from solvers.statements.release import RowWorld

MAX_ENTRIES = 400_000_000  # 3 GB of indices


def index_type(domain: RowSpace) -> type:
    """Return int64, or object where an attribute is too large for it."""
    return object if any(a.total > EXACT for a in domain.attributes) else np.int64


class RandomSource:
    """Seeded randomness: numpy's generator for what fits into 62 bits, Python's for longer integers."""

    def __init__(self, seed: int) -> None:
        self.exact = random.Random(seed)
        self.fast = np.random.default_rng(self.exact.getrandbits(128))

    def below(self, total: int, k: int) -> NDArray[Any]:
        """Return k independent integers uniform in 0..total-1, exact for totals of any length."""
        if total <= EXACT:
            return self.fast.integers(0, total, size=k, dtype=np.int64)
        return np.array([self.exact.randrange(total) for _ in range(k)], dtype=object)


def _pick(sizes: Sequence[int], mask: int, draws: NDArray[Any]) -> NDArray[Any]:
    """Return the raw indices of the draws-th values among the parts in `mask`."""
    starts = [0, *accumulate(sizes)]
    parts = [p for p, s in enumerate(sizes) if mask >> p & 1 and s]
    reached = list(accumulate(sizes[p] for p in parts))
    shift = [starts[p] - (reached[i] - sizes[p]) for i, p in enumerate(parts)]
    if draws.dtype == object or starts[-1] > EXACT:
        return np.array([d + shift[bisect_right(reached, d)] for d in draws.tolist()], dtype=object)
    where = np.searchsorted(np.array(reached, dtype=np.int64), draws, side="right")
    out: NDArray[Any] = draws + np.array(shift, dtype=np.int64)[where]
    return out


def _empty_rows(domain: RowSpace, k: int) -> NDArray[Any]:
    """Return room for k rows; `Unsupported` where they do not fit into memory."""
    if k * len(domain.attributes) > MAX_ENTRIES:
        raise Unsupported(f"a world of {k} rows x {len(domain.attributes)} attributes does not fit into memory")
    return np.empty((k, len(domain.attributes)), dtype=index_type(domain))


def draw_box(domain: RowSpace, box: Box, k: int, random: RandomSource) -> NDArray[Any]:
    """Return (k, attributes) raw indices of k rows drawn independently and uniformly from a box.

    Attributes that the box does not name and that have equally many values are drawn together.
    """
    rows, named = _empty_rows(domain, k), dict(box.literals)
    alike: dict[int, list[int]] = {}
    for a, attribute in enumerate(domain.attributes):
        if a in named:
            rows[:, a] = _pick(attribute.sizes, named[a], random.below(attribute.weight(named[a]), k))
        else:
            alike.setdefault(attribute.total, []).append(a)
    for total, columns in alike.items():
        rows[:, columns] = random.below(total, k * len(columns)).reshape(k, len(columns))
    return rows


def draw_boxes(
    domain: RowSpace, boxes: Sequence[Box], sizes: Sequence[int], k: int, random: RandomSource
) -> NDArray[Any]:
    """Return k rows drawn independently and uniformly from disjoint boxes of the given sizes."""
    if len(boxes) == 1:
        return draw_box(domain, boxes[0], k, random)
    reached = list(accumulate(sizes))
    tickets = random.below(reached[-1], k).tolist()
    which = np.array([bisect_right(reached, t) for t in tickets], dtype=np.int64)
    rows = _empty_rows(domain, k)
    for i in np.unique(which).tolist():
        at = np.flatnonzero(which == i)
        rows[at] = draw_box(domain, boxes[i], len(at), random)
    return rows


def draw_rows(cells: PartitionCells, s: int, k: int, random: RandomSource) -> NDArray[Any]:
    """Return (k, attributes) raw indices of k rows drawn independently and uniformly from cell s."""
    domain = cells.release.domain
    if cells.captures is None or cells.product(s):
        return draw_box(domain, cells.tight[s], k, random)
    rows, parts = _empty_rows(domain, k), _region_parts(cells, s, k, random)
    for a, attribute in enumerate(domain.attributes):
        single = len(attribute.sizes) == 1
        rows[:, a] = random.below(attribute.total, k) if single else _inside_parts(attribute.sizes, parts[:, a], random)
    return rows


def _inside_parts(sizes: Sequence[int], parts: NDArray[np.int32], random: RandomSource) -> NDArray[Any]:
    """Return raw indices uniform inside the given parts, one per row."""
    starts = [0, *accumulate(sizes)]
    big = starts[-1] > EXACT
    out: NDArray[Any] = np.array(starts, dtype=object if big else np.int64)[parts]
    if max(sizes) > 1:
        for p in np.unique(parts).tolist():
            at = np.flatnonzero(parts == p)
            out[at] += random.below(sizes[p], len(at))
    return out


def _region_parts(cells: PartitionCells, s: int, k: int, random: RandomSource) -> NDArray[np.int32]:
    """Return (k, attributes) part indices of rows uniform in cell s: rows of its region with its label."""
    found, label_at = cells.captures, cells.release.domain.label
    if found is None:
        raise TypeError("the cells are boxes")
    region, label = cells.skipped + int(cells.block.region[s]), int(cells.block.label[s])
    if label < 0 or label_at is None:
        return found.sample(region, k, random.fast)
    kept: list[NDArray[np.int32]] = []
    have = 0
    tied = any(a == label_at for b in cells.release.impossible for a, _ in b.literals)
    while have < k:
        drawn = found.sample(region, (k - have) * (2 * cells.release.domain.labels if tied else 1) + 8, random.fast)
        if tied:
            drawn = drawn[drawn[:, label_at] == label]
        else:
            drawn[:, label_at] = label
        kept.append(drawn[: k - have])
        have += len(kept[-1])
    return np.concatenate(kept)


class RowList:
    """The rows of disjoint boxes (`size` in all) by number, the boxes pulled as rows are asked for."""

    def __init__(self, domain: RowSpace, boxes: Iterable[Box], size: int) -> None:
        self.size = size
        self._sizes = domain.part_sizes
        self._source = iter(boxes)
        self._boxes: list[Box] = []
        self._reached: list[int] = []

    def __getitem__(self, i: int) -> tuple[int, ...]:
        """Return row i as raw value indices, 0 <= i < size."""
        while not self._reached or i >= self._reached[-1]:
            box = next(self._source)
            named = dict(box.literals)
            size = 1
            for a, sizes in enumerate(self._sizes):
                size *= sum(z for p, z in enumerate(sizes) if named.get(a, -1) >> p & 1)
            self._boxes.append(box)
            self._reached.append((self._reached[-1] if self._reached else 0) + size)
        at = bisect_right(self._reached, i)
        named = dict(self._boxes[at].literals)
        rest, row = i - (self._reached[at - 1] if at else 0), []
        for a in range(len(self._sizes) - 1, -1, -1):
            sizes, mask = self._sizes[a], named.get(a, -1)
            rest, digit = divmod(rest, sum(z for p, z in enumerate(sizes) if mask >> p & 1))
            for p, z in enumerate(sizes):
                if mask >> p & 1:
                    if digit < z:
                        row.append(sum(sizes[:p]) + digit)
                        break
                    digit -= z
        return tuple(reversed(row))


def cell_boxes(cells: PartitionCells, s: int) -> Iterator[Box]:
    """Yield disjoint boxes that make up cell s."""
    if cells.captures is None or cells.product(s):
        yield cells.tight[s]
        return
    label, k = int(cells.block.label[s]), cells.release.domain.label
    for box in cells.captures.boxes(cells.skipped + int(cells.block.region[s])):
        kept = box if label < 0 or k is None else box & Box(((k, 1 << label),))
        if not kept.empty:
            yield kept


Runs = tuple[tuple[int, int], ...]  # (row number, how often), row numbers ascending


def _multisets(size: int, count: int) -> Iterator[Runs]:
    """Yield every multiset of `count` numbers below `size` as runs, in lexicographic order, one at a time."""
    if count == 0:
        yield ()
        return
    if size == 0:
        return
    runs = [(0, count)]
    while True:
        yield tuple(runs)
        last, times = runs[-1]
        tail = 0
        if last == size - 1:
            tail = times
            runs.pop()
            if not runs:
                return
            last, times = runs[-1]
        runs.pop()
        if times > 1:
            runs.append((last, times - 1))
        runs.append((last + 1, tail + 1))


def _random_multiset(size: int, count: int, random: RandomSource) -> tuple[int, list[int]]:
    """Return how many fresh uniform rows a uniform multiset needs, and each row's index among them.

    A Pólya urn: draw i takes a fresh uniform row with probability size / (size + i), else repeats one of the i
    rows before; the result is uniform over the C(size + count - 1, count) multisets.
    """
    fresh, chosen = 0, []
    for i in range(count):
        ticket = random.exact.randrange(size + i)
        if ticket < size:
            chosen.append(fresh)
            fresh += 1
        else:
            chosen.append(chosen[ticket - size])
    return fresh, chosen


@dataclass(frozen=True, eq=False)
class CellRows:
    """The raw rows of one cell: how many, the disjoint boxes they make up, and how to draw k of them uniformly."""

    domain: RowSpace
    size: int
    boxes: Callable[[], Iterator[Box]]
    draw: Callable[[int, RandomSource], NDArray[Any]]

    def rows(self) -> RowList:
        """Return the rows by number."""
        return RowList(self.domain, self.boxes(), self.size)

    def distinct(self, k: int, random: RandomSource) -> NDArray[Any]:
        """Return k distinct rows, drawn uniformly."""
        if self.size <= 4 * k:
            rows = self.rows()
            taken = range(self.size) if self.size <= k else sorted(random.exact.sample(range(self.size), k))
            return np.array([rows[i] for i in taken], dtype=index_type(self.domain))
        found: dict[tuple[object, ...], None] = {}
        while len(found) < k:
            for row in self.draw(k - len(found), random).tolist():
                found.setdefault(tuple(row))
        return np.array(list(found), dtype=index_type(self.domain))


def filled_cells(system: CellSystem, z: Ints) -> list[tuple[CellRows, int]]:
    """Return the cells of a histogram that hold rows, with how many."""
    domain = system.release.domain

    def rows(c: int) -> CellRows:
        boxes = [system.boxes[i] for i in system.pieces[c]]
        sizes = [system.piece_sizes[i] for i in system.pieces[c]]
        draw = partial(draw_boxes, domain, boxes, sizes)
        return CellRows(domain, system.sizes[c], partial(iter, boxes), draw)

    return [(rows(c), int(z[c])) for c in np.flatnonzero(z).tolist()]


Filled = Sequence[tuple[CellRows, int]]  # cells that hold rows, and how many


def list_worlds(domain: RowSpace, filled: Filled) -> Iterator[RowWorld]:
    """Yield every world of a histogram once up to row order, lazily: an odometer over the cells' multisets."""
    lists = [cell.rows() for cell, _ in filled]
    wheels = [_multisets(cell.size, c) for cell, c in filled]
    shown = [next(wheel) for wheel in wheels]
    while True:
        yield _assemble(domain, lists, shown)
        i = len(wheels) - 1
        while i >= 0 and (turned := next(wheels[i], None)) is None:
            wheels[i] = _multisets(lists[i].size, filled[i][1])
            shown[i] = next(wheels[i])
            i -= 1
        if i < 0:
            break
        shown[i] = turned if turned is not None else shown[i]


def _assemble(domain: RowSpace, lists: list[RowList], shown: list[Runs]) -> RowWorld:
    """Return the world of the given runs."""
    rows = [rows[i] for rows, runs in zip(lists, shown, strict=True) for i, _ in runs]
    values: NDArray[Any] = np.empty((len(rows), len(domain.attributes)), dtype=index_type(domain))
    for i, row in enumerate(rows):
        values[i] = row
    return RowWorld(values, np.array([t for runs in shown for _, t in runs], dtype=np.int64))


def draw_world(domain: RowSpace, filled: Filled, convention: Convention, random: RandomSource) -> RowWorld:
    """Return a world of a histogram, uniform in the convention's sense.

    `assigned` and `ordered`: rows independent and uniform inside their cells. `multiset`: a Pólya urn per cell.
    """
    pieces = []
    for cell, c in filled:
        if convention == "multiset":
            fresh, chosen = _random_multiset(cell.size, c, random)
            pieces.append(cell.draw(fresh, random)[chosen])
        else:
            pieces.append(cell.draw(c, random))
    values = _joined_rows(domain, pieces)
    return RowWorld(values, np.ones(len(values), dtype=np.int64))


def spread_world(domain: RowSpace, filled: Filled, random: RandomSource) -> RowWorld:
    """Return a world of a histogram whose rows are spread as evenly as they can be: the heaviest one.

    A cell with at least as many rows as raw rows gets each of them equally often (up to one); a larger cell gets
    distinct rows, drawn with the dice.
    """
    pieces, times = [], []
    for cell, c in filled:
        piece = cell.distinct(c, random)
        base, extra = divmod(c, len(piece))
        pieces.append(piece)
        times.append(np.array([base + (i < extra) for i in range(len(piece))], dtype=np.int64))
    return RowWorld(_joined_rows(domain, pieces), np.concatenate(times) if times else np.zeros(0, dtype=np.int64))


def _joined_rows(domain: RowSpace, pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Return drawn rows as one array."""
    return np.concatenate(pieces) if pieces else np.empty((0, len(domain.attributes)), dtype=index_type(domain))
