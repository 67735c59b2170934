"""Exact answers for one partition with exact counts: every statement is a cell, so worlds multiply.

Where every statement is of one column, by itself or in a class, worlds multiply over columns, and are counted too.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, eq. 9, 11, 16;
`ordered` and `multiset` as in docs/mathematics.md, "Possible worlds and their conventions".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import PartitionCells, cells_of, no_closed_form
from solvers.cells.worlds import (
    CellRows,
    RandomSource,
    cell_boxes,
    draw_rows,
    draw_world,
    list_worlds,
    spread_world,
)
from solvers.engines.separate_columns import columns_apart, count_by_columns
from solvers.foundation.exact import Factor, log2_sum, log2_worlds, multinomial_factors, multiset_factors
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import decide, leave_one_out, share_of_counts
from solvers.statements.questions.answers import (
    Answer,
    CountAnswer,
    DecideAnswer,
    ShareAnswer,
    WorldsAnswer,
    each_once,
    refuted,
)
from solvers.statements.questions.engine import Engine, unanswered
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
from solvers.statements.release import Release, RowWorld


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
