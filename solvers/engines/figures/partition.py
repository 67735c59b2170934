"""Figures of a release that is one partition with exact counts: what its cells say by themselves.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Def. 2 (eq. 1),
Def. 4 (eq. 2-3), eq. 9, 11, 16.

Bits of rows before and after a release, and bounds on them that need no count.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Def. 2 and 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import PartitionCells, cells_of
from solvers.cells.system import Space
from solvers.foundation.exact import Factor, log2_multisets, log2_sum, log2_worlds
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import PriorMembership, Rows
from solvers.statements.boxes import Box, RowSpace
from solvers.statements.questions.answers import CountAnswer, DecideAnswer
from solvers.statements.questions.query import Convention, Selections
from solvers.statements.release import ANY_LABEL, Release

if TYPE_CHECKING:
    from solvers.cells.worlds import RowList

MAX_STEPS = 10_000_000  # rows up to which C(S + n - 1, n) is computed (8 bytes each); above, S^n bounds it
MAX_STEPS_OF_DIST = 1_000_000  # boxes x parts of attributes that marginals are summed over: a second
MAX_LEAVES = 100_000  # leaves of trees whose bounds are computed even when the time is up: a second


def bits_of(space: Space, numbers: Sequence[int], convention: Convention) -> float:
    """Return the bits of which of the possible numbers of rows it is (uniform), and of so many rows of a space."""
    return math.log2(len(numbers)) + mean([uninformed(space, {ANY_LABEL: n}, convention) for n in numbers])


def bits_of_types(release: Release, numbers: Sequence[int], convention: Convention, limits: Limits) -> float:
    """Return the bits of rows of several types, so many of each, before a release with an attribute of these types.

    `multiset`: a multiset of each type; else a sequence in which every row has its type.
    """
    size = Space.of(release, limits).size // len(numbers)
    if convention == "multiset":
        return math.fsum(log2_multisets(size, n) for n in numbers)
    orders = math.lgamma(sum(numbers) + 1) - math.fsum(math.lgamma(n + 1) for n in numbers)
    return orders / math.log(2) + sum(numbers) * math.log2(size)


def mean(values: Sequence[float]) -> float:
    """Return the arithmetic mean; exactly the value where there is one."""
    return values[0] if len(values) == 1 else math.fsum(values) / len(values)


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole, None where there was nothing to know (whole 0)."""
    return part / whole if whole > 0 else None


def uninformed(space: Space, rows: Rows, convention: Convention, factor: int = 1) -> float:
    """Return the bits of rows (label or ANY_LABEL -> how many) before the release, in a space smaller by `factor`.

    `assigned`: n log2 S, the label left out for rows whose cell names it; `ordered`: n log2 S; `multiset`:
    log2 C(S + n - 1, n).
    """
    n = sum(rows.values())
    if n == 0:
        return 0.0
    if convention == "multiset":
        return log2_multisets(space.size // factor, n)
    return math.fsum(c * math.log2(size // factor) for label, c in rows.items() if (size := space.labelled(label)))


def dist_of_mixture(domain: RowSpace, cells: Iterable[tuple[int, Sequence[Box]]]) -> float | None:
    """Return Dist (Def. 2) of rows in no known order: the mean over attributes of H(marginal) / H(attribute).

    `cells`: rows, the same number in every world, and disjoint boxes of each cell. Any row may be in any cell, so that
    all have one marginal: the mixture of the cells' by their shares of the rows. Attributes with one value stay out.
    None without rows, where nothing was unknown, and where the boxes are too many to be summed over.
    """
    held = [(rows, boxes) for rows, boxes in cells if rows]
    everybody, parts = sum(rows for rows, _ in held), sum(len(a.sizes) for a in domain.attributes)
    if not everybody or sum(len(boxes) for _, boxes in held) * parts > MAX_STEPS_OF_DIST:
        return None
    share = [np.zeros(len(a.sizes)) for a in domain.attributes]
    for rows, boxes in held:
        sizes = [box.size(domain) for box in boxes]
        for box, size in zip(boxes, sizes, strict=True):
            named, inside = dict(box.literals), rows / everybody * (size / sum(sizes))
            for k, a in enumerate(domain.attributes):
                mask = named.get(k, (1 << len(a.sizes)) - 1)
                weight = [w if mask >> p & 1 else 0 for p, w in enumerate(a.sizes)]
                total = sum(weight)  # of any size: quotients alone are floats
                share[k] += inside * np.array([w / total for w in weight])
    terms = []
    for mass, a in zip(share, domain.attributes, strict=True):
        if a.total > 1:
            known, bits = mass > 0, np.array([math.log2(size) if size else 0.0 for size in a.sizes])
            left = mass[known] * (bits[known] - np.log2(mass[known]))
            terms.append(min(1.0, max(0.0, float(left.sum()) / math.log2(a.total))))
    return mean(terms) if terms else None


def unnamed_factor(release: Release) -> int:
    """Return how many values the attributes that no statement names have together."""
    domain = release.domain
    return domain.size // math.prod(domain.attributes[k].total for k in release.mentioned())


def log2_alone(release: Release, convention: Convention, limits: Limits) -> float:
    """Return an upper bound of log2 of the datasets: what the most telling partition alone leaves, rounded up.

    Infinite where none has exact counts, minus infinity where one counts rows that cannot be. Cost: linear in the
    leaves; of partitions whose sizes take longer, and beyond MAX_LEAVES, only as many as there is time for.
    """
    from solvers.programs.columns.master import partition_releases

    found, leaves = math.inf, 0
    for one in partition_releases(release) if release.rows.exact and release.single is None else ():
        leaves += sum(map(len, one.partitions.values()))
        boxes = not release.impossible and not any(b.first_match for b in one.partitions.values())
        if limits.expired() and not (boxes and leaves <= MAX_LEAVES):
            break
        cells = cells_of(one, limits)
        bits = log2_worlds(cells.high, cells.block.low, convention)
        found = min(found, bits * (1.0 + 2.0**-50))
    return found


def log2_before(release: Release, convention: Convention, limits: Limits) -> float:
    """Return an upper bound of log2 of the datasets before the release: S^n, of multisets C(S + n - 1, n).

    With n open, the greatest n as often as there are numbers. Rounded up; infinite where n is unbounded.
    """
    low, n = release.rows.low, release.rows.high
    if n is None:
        return math.inf
    space = Space.of(release, limits)
    size = max(1, release.domain.size if space.found is None else space.found.upper[-1])
    found = log2_multisets(size, n) if convention == "multiset" and n <= MAX_STEPS else n * math.log2(size)
    found += math.log2(n - low + 1)
    return found * (1.0 + 2.0**-50)


def without_rows(release: Release, chosen: Selections, limits: Limits) -> NDArray[np.bool_]:
    """Return which selections hold no row of the domain, whatever was released.

    Raises `Inconclusive` or `EngineError` where the sizes are only known between bounds.
    """
    space = Space.of(release, limits)
    empty: NDArray[np.bool_] = PriorMembership(space, chosen, "ordered", {ANY_LABEL}).expected({ANY_LABEL: 1}) == 0.0
    return empty


def bits_before(release: Release, numbers: Sequence[int], convention: Convention, limits: Limits) -> float:
    """Return the bits before the release: which of the possible numbers of rows it is, and of so many rows."""
    return bits_of(Space.of(release, limits), numbers, convention)


def row_bits(release: Release, limits: Limits) -> float:
    """Return the bits of one row before the release; 0 where no row is possible."""
    space = Space.of(release, limits)
    return math.log2(space.size) if space.size else 0.0


Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PartitionCell:
    """One cell: its statement, its own box, the raw rows that fit (None: only bounds are known) of how many."""

    region: int
    name: str
    box: Box
    label: int
    size: int | None
    space: int
    minimum: int
    maximum: int

    @property
    def bits_left(self) -> float | None:
        """Return the bits left of one of its rows; None where the size is not exact or 0."""
        return math.log2(self.size) if self.size else None

    @property
    def bits_before(self) -> float:
        """Return the bits of such a row before the release."""
        return math.log2(self.space) if self.space else 0.0


@dataclass(frozen=True, eq=False)
class PartitionFigures:
    """The figures of one partition; `vectors` are the counts per cell, one vector per possible number of rows."""

    _cells: PartitionCells = field(repr=False)

    @classmethod
    def of(cls, release: Release, limits: Limits) -> PartitionFigures:
        """Return the figures of a release; see `refusal` for which have them. Raises `Inconclusive` out of time."""
        return cls(cells_of(release, limits))

    @property
    def vectors(self) -> list[Counts]:
        """Return the counts per cell, one vector per possible number of rows."""
        return self._cells.vectors

    @property
    def sizes(self) -> Sequence[int]:
        """Return the raw rows of every cell (proved lower bounds where `exact` is False)."""
        return self._cells.low

    @property
    def exact(self) -> bool:
        """Return whether all sizes are exact."""
        return self._cells.exact

    @cached_property
    def minimum(self) -> Counts:
        """Return the least count of every cell over the numbers of rows."""
        return np.array(np.min(self.vectors, axis=0), dtype=np.int64)

    @cached_property
    def maximum(self) -> Counts:
        """Return the greatest count of every cell over the numbers of rows."""
        return np.array(np.max(self.vectors, axis=0), dtype=np.int64)

    @property
    def numbers(self) -> list[int]:
        """Return the possible numbers of rows."""
        return [int(v.sum()) for v in self.vectors]

    def cell(self, s: int) -> PartitionCell:
        """Return cell s."""
        block, at = self._cells.block, int(self._cells.block.region[s])
        low, high, label = self._cells.low[s], self._cells.high[s], int(block.label[s])
        size = low if low == high else None
        space = self._cells.space.labelled(label)
        return PartitionCell(
            at, block.names[at], block.boxes[at], label, size, space, int(self.minimum[s]), int(self.maximum[s])
        )

    def label_text(self, label: int) -> object:
        """Return the name of a label, None for any."""
        return None if label == ANY_LABEL else self._cells.block.labels[label]

    def uninformed(self, convention: Convention) -> float:
        """Return the mean bits of the rows before the release, over the possible numbers of rows."""
        space = self._cells.space
        return mean([uninformed(space, self._cells.known_rows(v, convention), convention) for v in self.vectors])

    def unordered(self) -> float | None:
        """Return the bits before the release without the order of rows."""
        return bits_of(self._cells.space, self.numbers, "multiset") if self.numbers else None

    def worlds_bits(self, counts: Counts, convention: Convention) -> float:
        """Return log2 of the worlds with these counts per cell."""
        return log2_worlds(list(self._cells.low), counts, convention)

    def datasets(self) -> CountAnswer:
        """Return how many datasets there are; see `datasets_of`."""
        return _datasets_of(self._cells)

    def mentioned(self, convention: Convention, spread: float) -> float | None:
        """Return Dist_G over the attributes that the release names; `spread`: bits of the number of rows."""
        return _mentioned(self._cells, self.vectors, convention, spread)

    def dist(self, convention: Convention) -> float | None:
        """Return Dist of the first count vector: see `dist` and, of rows in no known order, `dist_of_mixture`.

        None in the convention `multiset`: there are no rows to distinguish.
        """
        from solvers.cells.worlds import cell_boxes

        if convention == "ordered":
            cells, counts = self._cells, self.vectors[0].tolist()
            boxes = ((c, list(cell_boxes(cells, s))) for s, c in enumerate(counts) if c)
            return dist_of_mixture(cells.release.domain, boxes)
        return _dist(self._cells, self.vectors[0]) if convention == "assigned" else None

    def order_bits(self) -> float | None:
        """Return the bits that the order of a rule list removes, None for a tree."""
        return _order_bits(self._cells, self.vectors[0])

    def determined(self) -> int:
        """Return how many published rows have only one possible value in every attribute (in every world)."""
        return _determined(self._cells, self.vectors)

    def smallest_region(self) -> int | None:
        """Return the fewest raw rows that a published row can be."""
        return _smallest(self._cells, self.vectors)

    def smallest_group(self) -> int | None:
        """Return the smallest positive count that is known."""
        return _smallest_known(self._cells, self.vectors)

    def tight(self, s: int) -> Box:
        """Return the smallest box that holds the rows of cell s."""
        return self._cells.tight[s]

    def product(self, s: int) -> bool:
        """Return whether every combination of the values that cell s leaves is one of its rows."""
        return self._cells.product(s)

    def rows(self, s: int) -> RowList:
        """Return the raw rows of a cell whose size is exact, by number."""
        from solvers.cells.worlds import RowList, cell_boxes

        return RowList(self._cells.release.domain, cell_boxes(self._cells, s), self._cells.low[s])

    def excluded(self, s: int) -> list[Box]:
        """Return what is taken out of the box of cell s: impossible boxes and earlier rules that meet it."""
        cells, block = self._cells, self._cells.block
        earlier = [block.boxes[h] for h in range(int(block.region[s]))] if block.first_match else []
        return [b for b in (*cells.release.impossible, *earlier) if not (b & cells.boxes[s]).empty]

    def sizes_within(self, chosen: Selections, codes: Sequence[int]) -> Sequence[int]:
        """Return how many raw rows of every cell the selection with these codes holds (lower bounds if not exact)."""
        return self._cells.sizes_within({k: chosen.sizes[k][c] for k, c in enumerate(codes) if c})[0]

    def shares(self, chosen: Selections) -> NDArray[np.float64]:
        """Return (selections, cells): the share of each cell's raw rows that a selection holds."""
        distinct, back = chosen.distinct()
        out = np.zeros((len(distinct), len(self.sizes)))
        for i, codes in enumerate(distinct.codes.tolist()):
            held = self.sizes_within(chosen, codes)
            out[i] = [a / b if b else 0.0 for a, b in zip(held, self.sizes, strict=True)]
        return out[back]


def decide_in_intervals(release: Release, chosen: Selections, limits: Limits) -> DecideAnswer | None:
    """Return bounds on the rows of every selection where one partition's counts lie in intervals; None elsewhere.

    They are exact sums: cells that a selection meets can have all their rows in it, those that it holds must.
    Cost: linear in distinct selections times cells. Raises `Inconclusive` out of time.
    """
    block, rows = release.single, release.rows
    if block is None or rows.high is None:
        return None
    figures = PartitionFigures.of(release, limits)
    possible = np.array([size > 0 for size in figures.sizes])
    minimum, maximum = block.low, np.where(possible, np.minimum(block.high, rows.high), 0)
    fits = int(minimum.sum()) <= rows.high and int(maximum.sum()) >= rows.low and bool((minimum <= maximum).all())
    if not fits or not figures.exact:
        return None
    distinct, back = chosen.distinct()
    low, high = np.zeros(len(distinct), dtype=np.int64), np.zeros(len(distinct), dtype=np.int64)
    for i, codes in enumerate(distinct.codes.tolist()):
        inside = figures.sizes_within(chosen, codes)
        met = np.array([size > 0 for size in inside])
        whole = np.array([a == b for a, b in zip(inside, figures.sizes, strict=True)])
        low[i] = max(int(minimum[whole].sum()), rows.low - int(maximum[~whole].sum()))
        high[i] = min(int(maximum[met].sum()), rows.high - int(minimum[~met].sum()))
    return DecideAnswer.of(low, high, status="exact", open=np.zeros(len(low), dtype=bool)).at(back)


def _mentioned(
    cells: PartitionCells, vectors: list[NDArray[np.int64]], convention: Convention, spread: float
) -> float | None:
    """Return Dist_G over the attributes that the release names: the others' factor taken out of every size."""
    factor = unnamed_factor(cells.release)
    sizes = [size // factor for size in cells.low]
    after = mean([log2_worlds(sizes, v, convention) for v in vectors])
    before = [uninformed(cells.space, cells.known_rows(v, convention), convention, factor) for v in vectors]
    return ratio(spread + after, spread + mean(before))


def _dist(cells: PartitionCells, counts: NDArray[np.int64]) -> float | None:
    """Return Dist (Def. 2): the mean over rows and attributes of H(cell | release) / H(attribute).

    None where some published row's cell is no product of attributes, or nothing was unknown. Attributes with one
    value stay out; the label counts as an attribute only for rows whose class was not published.
    """
    domain, terms, places = cells.release.domain, [], 0
    for s in np.flatnonzero(counts).tolist():
        if not cells.product(s):
            return None
        named, c, labelled = dict(cells.tight[s].literals), int(counts[s]), int(cells.block.label[s]) != ANY_LABEL
        for k, a in enumerate(domain.attributes):
            if a.total == 1 or (k == domain.label and labelled):
                continue
            places += c
            terms.append(c * math.log2(a.weight(named[k])) / math.log2(a.total) if k in named else float(c))
    return math.fsum(terms) / places if places else None


def _order_bits(cells: PartitionCells, counts: NDArray[np.int64]) -> float | None:
    """Return the bits that the order of a rule list removes, None for a tree."""
    if not cells.block.first_match:
        return None
    domain, bits = cells.release.domain, []
    for s in np.flatnonzero(counts).tolist():
        alone = cells.boxes[s].size(domain)
        if cells.release.impossible:
            from solvers.statements.regions.captures import minus_size

            alone = minus_size(domain.part_sizes, cells.boxes[s], cells.release.impossible)[0]
        bits.append(int(counts[s]) * (math.log2(alone) - math.log2(cells.low[s])))
    return math.fsum(bits)


def _determined(cells: PartitionCells, vectors: list[NDArray[np.int64]]) -> int:
    """Return how many published rows have only one possible value in every attribute (in every world)."""
    alone = np.array([size == 1 for size in cells.low])
    return min(int(v[alone].sum()) for v in vectors)


def _smallest(cells: PartitionCells, vectors: list[NDArray[np.int64]]) -> int | None:
    """Return the fewest raw rows that a published row can be."""
    return min((cells.low[s] for v in vectors for s in np.flatnonzero(v).tolist()), default=None)


def _smallest_known(cells: PartitionCells, vectors: list[NDArray[np.int64]]) -> int | None:
    """Return the smallest positive count that is known: one that an open number of rows leaves open is none."""
    low, high = np.min(vectors, axis=0), np.max(vectors, axis=0)
    return min((int(c) for c in low[(low == high) & (low > 0)]), default=None)


def _datasets_of(cells: PartitionCells) -> CountAnswer:
    """Return how many datasets one partition leaves: per cell the multisets of its rows.

    Bounds where sizes are bounds; not defined ("relative") with a continuous attribute. Cost: linear in cells and rows.
    """
    vectors, low = cells.vectors, {}
    for v in vectors:
        low[int(v.sum())] = log2_worlds(cells.low, v, "multiset")
    high = low if cells.exact else {int(v.sum()): log2_worlds(cells.high, v, "multiset") for v in vectors}

    def factors() -> dict[int, list[Factor]]:
        out = {}
        for v in vectors:
            filled = [(size, c) for size, c in zip(cells.low, v.tolist(), strict=True) if c]
            out[int(v.sum())] = [(math.prod(math.comb(size + c - 1, c) for size, c in filled), 1)]
        return out

    return CountAnswer(
        "exact" if cells.exact else "bounds",
        convention="multiset",
        bounds=(log2_sum(list(low.values())), log2_sum(list(high.values()))),
        per_rows=factors,
        log2_per_rows=low,
        relative=cells.release.domain.relative,
    )
