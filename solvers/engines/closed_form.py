"""Exact answers for one partition with exact counts: every statement is a cell, so worlds multiply.

Where every statement is of one column, by itself or in a class, worlds multiply over columns, and are counted too.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, eq. 9, 11, 16;
`ordered` and `multiset` as in docs/mathematics.md, "Possible worlds and their conventions".

Exact numbers of worlds where every statement is about one column alone, or one column among the rows of one class.

Rows in order are then chosen column by column: the number of worlds is n! over the factorials of the rows of each
class, times, for every column and class, the number of sequences of values that have the published sums. These are
counted row by row: a table over what was added up so far, with all that is beyond a bound cut off. Small tables are of
whole numbers. Large ones are of shares of sequences in floats, where every step only adds and multiplies numbers that
are not negative: after m rows of p parts the share is off by at most m (p + 3) roundings, and the count stays between
bounds.

Source: Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed. 2002, section 3.1 (products and sums of
numbers that are not negative).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import PartitionCells, cells_of
from solvers.cells.worlds import (
    CellRows,
    RandomSource,
    cell_boxes,
    draw_rows,
    draw_world,
    list_worlds,
    spread_world,
)
from solvers.engines.chain import no_closed_form
from solvers.foundation.errors import Unsupported
from solvers.foundation.exact import MAX_BITS, Factor, log2_sum, log2_worlds, multinomial_factors, multiset_factors
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import decide, leave_one_out, share_of_counts
from solvers.statements.questions.answers import (
    Answer,
    CountAnswer,
    DecideAnswer,
    Engine,
    ShareAnswer,
    WorldsAnswer,
    each_once,
    no_coupling,
    refuted,
    unanswered,
)
from solvers.statements.questions.query import (
    Convention,
    Count,
    Decide,
    Enumerate,
    LeaveOneOut,
    MostLikely,
    Query,
    Sample,
    Selections,
    ShareQuery,
)
from solvers.statements.release import Loose, Release, RowWorld, Statement

WHOLE_WORK = 3_000_000  # additions of whole numbers; with more, shares in floats
FEW_CELLS = 200_000  # up to which engines over cells are asked for numbers without the order of rows
MAX_STATES = 2_000_000  # entries of a table
MAX_WORK = 20_000_000_000  # additions of floats
TINY = 2.0**-900  # below, shares of sequences may have lost what no float holds
STEP_WORK = 4e-10  # units of work for each addition of floats

Table = NDArray[Any]


def columns_apart(release: Release, query: Query) -> SeparateColumns | str:
    """Return the columns of a release by class, or why they are not counted one by one."""
    if (reason := no_coupling(release, query)) is not None:
        return reason
    if not isinstance(query, Count):
        return "columns by themselves are counted only"
    if (
        release.unstated
        or release.coarse
        or release.domain.relative
        or any(seen is not None for seen in release.observed)
    ):
        return "what is published of single columns is not all that was published, or not exact"
    if not release.rows.exact or release.impossible or not all(isinstance(b, Loose) for b in release.blocks):
        return "statements that are not of single columns, or an open number of rows"
    cells = math.prod(len(release.domain.attributes[k].sizes) for k in release.mentioned())
    if query.convention == "multiset" and cells <= FEW_CELLS:
        return "engines over cells count histograms"
    return separate_columns(release)


def count_by_columns(columns: SeparateColumns, query: Count, limits: Limits) -> Answer:
    """Return the number of worlds: exact, or to some twelve digits where tables are of floats.

    Without the order of rows between that number over n! and that number. Raises `Unsupported` for too large tables.
    """
    memory = columns.release.derived.part(_CountedColumns)
    if memory.count is None:
        memory.count = columns.count(limits)
    count, rows = memory.count, columns.release.rows.low
    if count.factors == [(0, 1)]:
        return refuted(query)
    if query.convention == "multiset":
        orders = math.lgamma(rows + 1) / math.log(2) * (1 + 1e-12)
        return CountAnswer("bounds", convention="multiset", bounds=(max(0.0, count.low - orders), count.high))
    if count.factors is not None:
        return CountAnswer.of_rows(query.convention, rows, count.factors)
    return CountAnswer("bounds", convention=query.convention, bounds=(count.low, count.high))


@dataclass(frozen=True)
class _SequenceCount:
    """Bounds on log2 of a number of worlds; `factors` where it is exact."""

    low: float
    high: float
    factors: list[tuple[int, int]] | None


@dataclass(slots=True)
class _CountedColumns:
    """The number of worlds of a release, once it was worked out."""

    count: _SequenceCount | None = None


@dataclass(frozen=True)
class ColumnSums:
    """What so many rows add up to in one column: `weights` (statements, parts) between `low` and `high`."""

    rows: int
    sizes: tuple[int, ...]
    weights: tuple[tuple[int, ...], ...]
    low: tuple[int, ...]
    high: tuple[int, ...]

    def capped(self) -> tuple[NDArray[np.int64], list[int], list[tuple[int, int]]]:
        """Return weights from 0 on, the most of each sum that is kept, and the ends that are asked for.

        Each statement is divided by what its weights share, and turned around where that leaves fewer sums.
        """
        weights, caps, ends = [], [], []
        for w, low, high in zip(self.weights, self.low, self.high, strict=True):
            least, most = min(w), max(w)
            room = self.rows * (most - least)
            a, b = max(0, low - self.rows * least), min(room, high - self.rows * least)
            shared = math.gcd(*(v - least for v in w)) or 1
            room, a, b = room // shared, -(-a // shared), b // shared
            turned = room - a < b
            weights.append([(most - v if turned else v - least) // shared for v in w])
            a, b = (room - b, room - a) if turned else (a, b)
            caps.append(b)
            ends.append((a, b))
        return np.array(weights, dtype=np.int64).reshape(len(weights), len(self.sizes)), caps, ends


def separate_columns(release: Release) -> SeparateColumns | str:
    """Return the columns of a release by class, or why its statements are not of single columns."""
    label, n = release.domain.label, release.rows.low
    classes: dict[int, int] = {}
    found: dict[tuple[int, int | None], list[tuple[tuple[int, ...], int, int]]] = {}
    for one in release.statements():
        read = _of_one_column(one, release)
        if isinstance(read, str):
            return read
        part, k, weights = read
        if k is not None:
            found.setdefault((k, part), []).append((weights, one.low, one.high))
        elif part is not None:
            if one.low != one.high or weights != (1,):
                return "the rows of a class are not known"
            classes[part] = one.low
        elif not one.low <= n * weights[0] <= one.high:
            return "the number of rows contradicts a statement"
    split = {k for k, part in found if part is not None}
    if split & {k for k, part in found if part is None}:
        return "a column is summed in all rows and in a class"
    if classes or split:
        assert label is not None
        parts = range(len(release.domain.attributes[label].sizes))
        if sum(p not in classes for p in parts) == 1:
            rest = next(p for p in parts if p not in classes)
            classes[rest] = n - sum(classes.values())
        if set(classes) != set(parts) or sum(classes.values()) != n or min(classes.values()) < 0:
            return "the rows of a class are not known"
        if any(k == label for k, _ in found):
            return "the label is summed"
    return SeparateColumns(release, classes, found, split)


def _of_one_column(one: Statement, release: Release) -> tuple[int | None, int | None, tuple[int, ...]] | str:
    """Return the class and the column that a statement is about (None: any, none) and a weight per part of it."""
    label, classes, columns = release.domain.label, set[int | None](), set[int]()
    for summand in one.summands:
        if summand.region.minus:
            return "a group less others is counted"
        masks = dict(summand.region.box.literals)
        mask = None if label is None else masks.pop(label, None)
        if mask is not None and mask.bit_count() != 1:
            return "several classes are counted together"
        classes.add(None if mask is None else mask.bit_length() - 1)
        columns |= {*masks, *(k for k, _ in summand.factors)}
    if len(columns) > 1 or len(classes) > 1 or label in columns:
        return "a statement is about several columns"
    part = next(iter(classes))
    if not columns:
        return part, None, (sum(s.times for s in one.summands),)
    (k,) = columns
    weights = [0] * len(release.domain.attributes[k].sizes)
    for summand in one.summands:
        mask = dict(summand.region.box.literals).get(k, -1)
        for p in range(len(weights)):
            if mask >> p & 1:
                weights[p] += summand.times * math.prod(coefs[p] for _, coefs in summand.factors)
    return part, k, tuple(weights)


@dataclass(frozen=True, eq=False)
class SeparateColumns:
    """The columns of a release: rows of each class, and by column and class (None: all rows) what they add up to."""

    release: Release
    classes: dict[int, int]
    sums: dict[tuple[int, int | None], list[tuple[tuple[int, ...], int, int]]]
    split: set[int] = field(default_factory=set)

    def groups(self) -> list[ColumnSums]:
        """Return what is added up in each column and class."""
        out = []
        for (k, part), stated in self.sums.items():
            rows = self.release.rows.low if part is None else self.classes[part]
            weights, low, high = zip(*stated, strict=True)
            out.append(ColumnSums(rows, self.release.domain.attributes[k].sizes, weights, low, high))
        return out

    def count(self, limits: Limits) -> _SequenceCount:
        """Return the number of worlds. Raises `Unsupported` where a table, or the number itself, is too large."""
        n, attributes, label = self.release.rows.low, self.release.domain.attributes, self.release.domain.label
        bits = n * math.log2(max(2, n)) + sum(n * math.log2(max(2, a.total)) for a in attributes)
        if bits > MAX_BITS:
            raise Unsupported(f"the number of worlds may have {bits:,.0f} bits, more than are written out")
        factors: list[tuple[int, int]] = []
        free = dict.fromkeys(range(len(attributes)), n)
        if self.classes:
            assert label is not None
            factors.append((math.factorial(n), 1))
            for one, rows in self.classes.items():
                factors += [(math.factorial(rows), -1), (attributes[label].sizes[one], rows)]
            free[label] = 0
        for k, part in self.sums:
            free[k] -= n if part is None else self.classes[part]
        factors += [(attributes[k].total, rows) for k, rows in free.items() if rows]
        low = high = 0.0
        exact = True
        for group in self.groups():
            found = sequences(group, limits)
            if isinstance(found, int):
                if not found:
                    return _SequenceCount(-math.inf, -math.inf, [(0, 1)])
                factors.append((found, 1))
            else:
                low, high, exact = low + found[0], high + found[1], False
        product = _written_out(factors)
        bits = _log2(product)
        if exact:
            return _SequenceCount(bits * (1 - 1e-12), bits * (1 + 1e-12), [(product, 1)])
        return _SequenceCount(max(0.0, (low + bits) * (1 - 1e-12)), (high + bits) * (1 + 1e-12), None)


def _written_out(factors: Sequence[tuple[int, int]]) -> int:
    """Return the product of powers, a whole number."""
    above = math.prod(int(base**power) for base, power in factors if power > 0)
    return above // math.prod(int(base**-power) for base, power in factors if power < 0)


def _log2(number: int) -> float:
    """Return log2 of a positive whole number of any length."""
    shift = max(0, number.bit_length() - 1_000)
    return math.log2(number >> shift) + shift


def sequences(group: ColumnSums, limits: Limits) -> int | tuple[float, float]:
    """Return in how many sequences of values rows have their sums: exactly, or bounds on its log2.

    Raises `Unsupported` where the table of sums has more than `MAX_STATES` entries.
    """
    weights, caps, ends = group.capped()
    if any(b < a for a, b in ends):
        return 0
    states = math.prod(cap + 1 for cap in caps)
    work = group.rows * len(group.sizes) * states
    whole = work <= WHOLE_WORK
    if not whole and (states > MAX_STATES or work > MAX_WORK):
        raise Unsupported(f"sums of a column have {states:,} combinations, more than are gone through")
    limits.charge(work * STEP_WORK)
    total = sum(group.sizes)
    table: Table = np.zeros((1,) * len(caps), dtype=object if whole else np.float64)
    table[...] = 1
    start = np.zeros(len(caps), dtype=np.int64)
    for _ in range(group.rows):
        limits.check("sequences of values are counted")
        table, start = _row_more(table, start, weights, caps, [s if whole else s / total for s in group.sizes])
        if not table.size:
            return 0
    inside = tuple(
        slice(max(0, a - int(s)), max(0, b - int(s) + 1)) for (a, b), s in zip(ends, start.tolist(), strict=True)
    )
    found = table[inside].sum() if table[inside].size else 0
    if whole:
        return int(found)
    if not found > TINY:
        raise Unsupported("the share of sequences with the published sums is too small for floats")
    off = (group.rows * (len(group.sizes) + 3) + table.size) * 2.0**-52
    bits = group.rows * math.log2(total) + math.log2(float(found))
    return bits - off - abs(bits) * 1e-14, bits + off + abs(bits) * 1e-14


def _row_more(
    table: Table, start: NDArray[np.int64], weights: NDArray[np.int64], caps: Sequence[int], sizes: Sequence[float]
) -> tuple[Table, NDArray[np.int64]]:
    """Return the table after one more row, without the sums that nothing reaches, and where it starts."""
    shape = [
        min(cap - int(s), extent - 1 + int(w.max(initial=0))) + 1
        for cap, s, extent, w in zip(caps, start.tolist(), table.shape, weights, strict=True)
    ]
    out = np.zeros(shape, dtype=table.dtype)
    for p, size in enumerate(sizes):
        step = weights[:, p].tolist()
        kept = [min(extent, length - w) for extent, length, w in zip(table.shape, shape, step, strict=True)]
        if size and min(kept, default=1) > 0:
            into = tuple(slice(w, w + length) for w, length in zip(step, kept, strict=True))
            out[into] += table[tuple(slice(0, length) for length in kept)] * size
    held = np.nonzero(out)
    if held and not len(held[0]):
        return out[:0] if out.ndim else out, start
    spans = [(int(x.min()), int(x.max()) + 1) for x in held]
    return out[tuple(slice(a, b) for a, b in spans)], start + np.array([a for a, _ in spans], dtype=np.int64)


class ClosedFormEngine(Engine):
    """One partition, exact counts (at most one count left open by the number of rows)."""

    name = "closed_form"
    answers = (Count, Decide, LeaveOneOut, ShareQuery, Enumerate, Sample, MostLikely)
    needs, extra = ("oxidd",), ""
    about = "one partition (a tree or a rule list) with exact counts: closed formulas over exact cell sizes"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why the release is not one partition with exact counts, or None."""
        if (reason := no_closed_form(release)) is not None:
            return None if not isinstance(columns_apart(release, query), str) else reason
        if release.domain.relative and query.lists_worlds:
            return "a continuous attribute has no 'resolution': there are no discrete worlds"
        return None

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the exact answer, or bounds where the size of a cell stays between bounds."""
        if no_closed_form(release) is not None and isinstance(query, Count):
            columns = columns_apart(release, query)
            assert not isinstance(columns, str)
            return count_by_columns(columns, query, limits)
        cells = cells_of(release, limits)
        if conflict := _empty_but_counted(cells):
            return refuted(query, conflict)
        if query.lists_worlds and not cells.exact:
            why = "" if cells.captures is None else f" ({cells.captures.note})"
            open_sizes = f"the sizes of some cells are only known between bounds{why}: allow more --time or --memory"
            return Answer("unknown", trail=(open_sizes,))
        return _answer(query, cells, limits)


@singledispatch
def _answer(query: Query, cells: PartitionCells, limits: Limits) -> Answer:
    """Return what the cells say to a question; `Unsupported` of a kind that is not registered here."""
    raise unanswered(query, ClosedFormEngine.name)


@_answer.register(Count)
def _(query: Count, cells: PartitionCells, limits: Limits) -> Answer:
    return _count(cells, query.convention)


@_answer.register(Decide)
def _(query: Decide, cells: PartitionCells, limits: Limits) -> DecideAnswer:
    return decide(cells, cells.vectors, query, limits)


@_answer.register(LeaveOneOut)
def _(query: LeaveOneOut, cells: PartitionCells, limits: Limits) -> Answer:
    return leave_one_out(cells, cells.vectors, query)


@_answer.register(ShareQuery)
def _(query: ShareQuery, cells: PartitionCells, limits: Limits) -> Answer:
    def counts(some: Selections) -> DecideAnswer:
        return decide(cells, cells.vectors, Decide(some, "ordered"), limits)

    lower, upper = share_of_counts(each_once(query.inner, counts), each_once(query.other, counts))
    return ShareAnswer("exact" if cells.exact else "bounds", lower=lower, upper=upper)


@_answer.register(Enumerate)
def _(query: Enumerate, cells: PartitionCells, limits: Limits) -> Answer:
    return WorldsAnswer("exact", worlds=_enumerate_worlds(cells))


@_answer.register(Sample)
def _(query: Sample, cells: PartitionCells, limits: Limits) -> Answer:
    return WorldsAnswer("exact", worlds=_sample_worlds(cells, query))


@_answer.register(MostLikely)
def _(query: MostLikely, cells: PartitionCells, limits: Limits) -> Answer:
    return WorldsAnswer("exact", worlds=iter([_most_likely(cells, query.seed)]))


def _empty_but_counted(cells: PartitionCells) -> tuple[str, ...]:
    """Return the sources of statements that count rows where no row can be."""
    block = cells.block
    empty = [s for s in range(len(block)) if cells.high[s] == 0 and block.low[s] > 0]
    return tuple(f"{block.source(s)}: {int(block.low[s])} rows, but no row can be there" for s in empty)


def _count(cells: PartitionCells, convention: Convention) -> CountAnswer:
    """Return the number of worlds; bounds on its log2 where sizes are bounds."""
    vectors = cells.vectors
    low = {int(v.sum()): log2_worlds(cells.low, v, convention) for v in vectors}
    high = low if cells.exact else {int(v.sum()): log2_worlds(cells.high, v, convention) for v in vectors}

    def factors() -> dict[int, list[Factor]]:
        return {int(v.sum()): _world_factors(cells.low, v, convention) for v in vectors}

    return CountAnswer(
        "exact" if cells.exact else "bounds",
        convention=convention,
        bounds=(log2_sum(list(low.values())), log2_sum(list(high.values()))),
        per_rows=factors,
        log2_per_rows=low,
        relative=cells.release.domain.relative,
        trail=() if cells.exact or cells.captures is None else (cells.captures.note,),
    )


def _world_factors(sizes: tuple[int, ...], counts: NDArray[np.int64], convention: Convention) -> list[Factor]:
    """Return the number of worlds with these counts as (base, exponent) pairs."""
    filled = [(sizes[s], c) for s, c in enumerate(counts.tolist()) if c]
    if convention == "multiset":
        return [f for size, c in filled for f in multiset_factors(size, c)]
    arrangements = multinomial_factors([c for _, c in filled]) if convention == "ordered" else []
    return [(size, c) for size, c in filled if size != 1] + arrangements


def _filled(cells: PartitionCells, counts: NDArray[np.int64]) -> list[tuple[CellRows, int]]:
    """Return the cells that hold rows, with how many."""

    def rows(s: int) -> CellRows:
        return CellRows(
            cells.release.domain,
            cells.low[s],
            lambda: cell_boxes(cells, s),
            lambda k, random: draw_rows(cells, s, k, random),
        )

    return [(rows(s), c) for s, c in enumerate(counts.tolist()) if c]


def _enumerate_worlds(cells: PartitionCells) -> Iterator[RowWorld]:
    """Yield every world once up to row order, lazily."""
    for counts in cells.vectors:
        yield from list_worlds(cells.release.domain, _filled(cells, counts))


def _sample_worlds(cells: PartitionCells, query: Sample) -> Iterator[RowWorld]:
    """Yield k worlds drawn independently and uniformly; an open number of rows is drawn uniformly first."""
    random = RandomSource(query.seed)
    vectors = cells.vectors
    for _ in range(query.k):
        counts = vectors[random.exact.randrange(len(vectors))]
        yield draw_world(cells.release.domain, _filled(cells, counts), query.convention, random)


def _most_likely(cells: PartitionCells, seed: int) -> RowWorld:
    """Return a world whose rows are spread as evenly as they can be: among equals the heaviest histogram.

    All worlds agree equally with exact counts.
    """
    counts = cells.vectors[-1]
    world = spread_world(cells.release.domain, _filled(cells, counts), RandomSource(seed))
    alone = len(cells.vectors) == 1 and all(cells.low[s] == 1 for s in np.flatnonzero(counts).tolist())
    return replace(world, unique=alone)
