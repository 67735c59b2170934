"""Exact answers for one partition with exact counts: every statement is a cell, so worlds multiply.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, eq. 9, 11, 16;
`ordered` and `multiset` as in design.md, section 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells import Cells, cells_of
from solvers.draws import Dice, RowList, Runs, draw_rows, index_type, multisets, random_multiset
from solvers.engine import Engine
from solvers.limits import Limits
from solvers.membership import decide, leave_one_out
from solvers.numbers import Factor, log2_worlds, multinomial_factors, multiset_factors
from solvers.query import (
    Answer,
    Convention,
    Count,
    CountAnswer,
    Decide,
    Enumerate,
    LeaveOneOut,
    MostLikely,
    Query,
    Sample,
    WorldsAnswer,
)
from solvers.release import UNBOUNDED, Partition, Release, World

MOST_ROW_COUNTS = 10_000
MOST_FACTORED = 100_000_000  # rows whose factorials are taken apart into primes (a sieve of so many bytes)


class KindEngine(Engine):
    """One partition, exact counts (at most one count left open by the number of rows)."""

    name = "closed_form"
    rank = 0
    answers = (Count, Decide, LeaveOneOut, Enumerate, Sample, MostLikely)
    needs = ("oxidd",)
    about = "one partition (a tree or a rule list) with exact counts: closed formulas over exact cell sizes"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why the release is not one partition with exact counts, or None."""
        if len(release.blocks) != 1 or not isinstance(release.blocks[0], Partition):
            return f"{len(release.blocks)} blocks of statements instead of one partition"
        block = release.blocks[0]
        loose = np.flatnonzero(block.low != block.high)
        if len(loose) > 1:
            return f"{len(loose)} counts are not exact"
        if len(loose) and int(block.high[loose[0]]) == UNBOUNDED:
            return "the number of rows is unbounded"
        if len(loose) and int(block.high[loose[0]] - block.low[loose[0]]) >= MOST_ROW_COUNTS:
            return f"the number of rows can take more than {MOST_ROW_COUNTS} values"
        if isinstance(query, Count) and query.convention != "assigned" and int(block.low.sum()) > MOST_FACTORED:
            return f"'{query.convention}' counts of more than {MOST_FACTORED:,} rows are not taken apart exactly"
        if release.domain.relative and isinstance(query, Enumerate | Sample | MostLikely):
            return "a continuous attribute has no 'resolution': there are no discrete worlds"
        return None

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the exact answer, or bounds where the size of a cell stays between bounds."""
        cells = cells_of(release, limits)
        if conflict := empty_but_counted(cells):
            if isinstance(query, Count):
                return CountAnswer("unsat", convention=query.convention, conflict=conflict)
            return Answer("unsat", conflict=conflict)
        if isinstance(query, Count):
            return count(cells, query.convention)
        if isinstance(query, Decide):
            return decide(cells, cells.vectors, query)
        if isinstance(query, LeaveOneOut):
            return leave_one_out(cells, cells.vectors, query)
        if not cells.exact:
            why = "" if cells.captures is None else f" ({cells.captures.note})"
            open_sizes = f"the sizes of some cells are only known between bounds{why}: allow more --time or --memory"
            return Answer("unknown", trail=(open_sizes,))
        if isinstance(query, Enumerate):
            return WorldsAnswer("exact", worlds=enumerate_worlds(cells))
        if isinstance(query, Sample):
            return WorldsAnswer("exact", worlds=sample_worlds(cells, query))
        return WorldsAnswer("exact", worlds=iter([most_likely(cells, query.seed)]))


def empty_but_counted(cells: Cells) -> tuple[str, ...]:
    """Return the sources of statements that count rows where no row can be."""
    block = cells.block
    empty = [s for s in range(len(block)) if cells.high[s] == 0 and block.low[s] > 0]
    return tuple(f"{block.source(s)}: {int(block.low[s])} rows, but no row can be there" for s in empty)


def count(cells: Cells, convention: Convention) -> CountAnswer:
    """Return the number of worlds; bounds on its log2 where sizes are bounds."""
    vectors = cells.vectors
    low = {int(v.sum()): log2_worlds(cells.low, v, convention) for v in vectors}
    high = low if cells.exact else {int(v.sum()): log2_worlds(cells.high, v, convention) for v in vectors}

    def factors() -> dict[int, list[Factor]]:
        return {int(v.sum()): world_factors(cells.low, v, convention) for v in vectors}

    return CountAnswer(
        "exact" if cells.exact else "bounds",
        convention=convention,
        bounds=(log2_sum(list(low.values())), log2_sum(list(high.values()))),
        per_rows=factors,
        log2_per_rows=low,
        relative=cells.release.domain.relative,
        trail=() if cells.exact or cells.captures is None else (cells.captures.note,),
    )


def log2_sum(logs: list[float]) -> float:
    """Return log2 Σ 2^x."""
    top = max(logs)
    return top if len(logs) == 1 or math.isinf(top) else top + math.log2(math.fsum(2.0 ** (x - top) for x in logs))


def world_factors(sizes: tuple[int, ...], counts: NDArray[np.int64], convention: Convention) -> list[Factor]:
    """Return the number of worlds with these counts as (base, exponent) pairs."""
    filled = [(sizes[s], c) for s, c in enumerate(counts.tolist()) if c]
    if convention == "multiset":
        return [f for size, c in filled for f in multiset_factors(size, c)]
    arrangements = multinomial_factors([c for _, c in filled]) if convention == "ordered" else []
    return [(size, c) for size, c in filled if size != 1] + arrangements


def enumerate_worlds(cells: Cells) -> Iterator[World]:
    """Yield every world once up to row order, lazily: an odometer over the cells' multisets."""
    for counts in cells.vectors:
        filled = [(s, c) for s, c in enumerate(counts.tolist()) if c]
        lists = [RowList(cells, s) for s, _ in filled]
        wheels = [multisets(rows.size, c) for rows, (_, c) in zip(lists, filled, strict=True)]
        shown = [next(wheel) for wheel in wheels]
        while True:
            yield assemble(cells, [s for s, _ in filled], lists, shown)
            i = len(wheels) - 1
            while i >= 0 and (turned := next(wheels[i], None)) is None:
                wheels[i] = multisets(lists[i].size, filled[i][1])
                shown[i] = next(wheels[i])
                i -= 1
            if i < 0:
                break
            shown[i] = turned if turned is not None else shown[i]


def assemble(cells: Cells, at: list[int], lists: list[RowList], shown: list[Runs]) -> World:
    """Return the world of the given runs."""
    rows = [rows[i] for rows, runs in zip(lists, shown, strict=True) for i, _ in runs]
    values: NDArray[Any] = np.empty((len(rows), len(cells.release.domain.attributes)), dtype=index_type(cells))
    for i, row in enumerate(rows):
        values[i] = row
    times = np.array([t for runs in shown for _, t in runs], dtype=np.int64)
    region = [int(cells.block.region[s]) for s, runs in zip(at, shown, strict=True) for _ in runs]
    return World(values, times, np.array(region, dtype=np.int32))


def sample_worlds(cells: Cells, query: Sample) -> Iterator[World]:
    """Yield k worlds drawn independently and uniformly.

    `assigned` and `ordered`: rows independent and uniform inside their cells. `multiset`: a Pólya urn per cell.
    Where the number of rows is open it is drawn uniformly first.
    """
    dice = Dice(query.seed)
    vectors = cells.vectors
    for _ in range(query.k):
        counts = vectors[dice.exact.randrange(len(vectors))]
        pieces, regions = [], []
        for s, c in enumerate(counts.tolist()):
            if not c:
                continue
            if query.convention == "multiset":
                fresh, chosen = random_multiset(cells.low[s], c, dice)
                pieces.append(draw_rows(cells, s, fresh, dice)[chosen])
            else:
                pieces.append(draw_rows(cells, s, c, dice))
            regions.append(np.full(c, cells.block.region[s], dtype=np.int32))
        yield pack(cells, pieces, regions)


def pack(cells: Cells, pieces: list[NDArray[Any]], regions: list[NDArray[np.int32]]) -> World:
    """Return the world of drawn rows, one entry per row."""
    width = len(cells.release.domain.attributes)
    values = np.concatenate(pieces) if pieces else np.empty((0, width), dtype=index_type(cells))
    region = np.concatenate(regions) if regions else np.empty(0, dtype=np.int32)
    return World(values, np.ones(len(values), dtype=np.int64), region)


def most_likely(cells: Cells, seed: int) -> World:
    """Return a world whose rows are spread as evenly as they can be: among equals the heaviest histogram.

    All worlds agree equally with exact counts. A cell with at least as many rows as raw rows gets each of them
    equally often (up to one); a larger cell gets distinct rows, drawn with the seed.
    """
    dice = Dice(seed)
    vectors = cells.vectors
    counts = vectors[-1]
    pieces, times, regions = [], [], []
    unique = len(vectors) == 1
    for s, c in enumerate(counts.tolist()):
        if not c:
            continue
        size = cells.low[s]
        unique = unique and size == 1
        if size <= 4 * c:
            rows = RowList(cells, s)
            taken = range(size) if size <= c else sorted(dice.exact.sample(range(size), c))
            piece: NDArray[Any] = np.array([rows[i] for i in taken], dtype=index_type(cells))
        else:
            piece = distinct_rows(cells, s, c, dice)
        base, extra = divmod(c, len(piece))
        pieces.append(piece)
        times.append(np.array([base + (i < extra) for i in range(len(piece))], dtype=np.int64))
        regions.append(np.full(len(piece), cells.block.region[s], dtype=np.int32))
    world = pack(cells, pieces, regions)
    return replace(world, times=np.concatenate(times) if times else world.times, unique=unique)


def distinct_rows(cells: Cells, s: int, k: int, dice: Dice) -> NDArray[Any]:
    """Return k distinct rows of a cell with more than 4k rows."""
    found: dict[tuple[object, ...], None] = {}
    while len(found) < k:
        for row in draw_rows(cells, s, k - len(found), dice).tolist():
            found.setdefault(tuple(row))
    return np.array(list(found), dtype=index_type(cells))
