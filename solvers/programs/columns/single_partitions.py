"""Where the cells are too many: what every partition alone says, and a world of rows that were found by their parts.

What both together say of the number of worlds is here too.

Shared by the engines that write rows out.

Source: one partition has cells that are known without the others: Ferry et al., SaTML 2024 (captured rows; eq. 9 for
the number of worlds).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.cells.partition_cells import cells_of
from solvers.cells.worlds import RandomSource, draw_box
from solvers.foundation.errors import Unsupported
from solvers.foundation.exact import log2_multinomial, log2_worlds
from solvers.foundation.limits import Limits
from solvers.histograms.partition_membership import PriorMembership, decide
from solvers.statements.boxes import Box
from solvers.statements.questions.answers import CountAnswer, DecideAnswer
from solvers.statements.questions.query import Convention, Decide
from solvers.statements.regions.row_space import Space
from solvers.statements.release import ANY_LABEL, Release, RowWorld
from solvers.statements.row_problem import exact_partitions


def partition_releases(release: Release) -> list[Release]:
    """Return every partition with exact counts, cross-tables too, as a release of its own (more worlds).

    Each keeps its cells.
    """
    known = release.derived.part(Partitions)
    if known.releases is None:
        known.releases = [
            Release(release.domain, release.rows, (block,), release.impossible) for block in exact_partitions(release)
        ]
    return known.releases


@dataclass(slots=True)
class Partitions:
    """The partitions of a release with exact counts, each a release of its own."""

    releases: list[Release] | None = None


def decide_apart(release: Release, query: Decide, limits: Limits) -> DecideAnswer:
    """Return the best bounds that any partition alone gives on the rows of every selection."""
    found: list[DecideAnswer] = []
    for one in partition_releases(release):
        limits.report(f"one tree at a time: {len(found)}")
        cells = cells_of(one, limits)
        found.append(decide(cells, cells.vectors, query))
        if limits.expired():
            break
    if not found:
        raise Unsupported("no partition with exact counts")
    low, high = np.max([f.low for f in found], axis=0), np.min([f.high for f in found], axis=0)
    return DecideAnswer.of(low, high, (found[0].before, found[0].expected_before))


def decide_without_cells(release: Release, query: Decide, limits: Limits) -> DecideAnswer:
    """Return what every partition alone says, or, where none has exact counts, what the number of rows says."""
    return (decide_apart if partition_releases(release) else decide_by_rows)(release, query, limits)


def decide_by_rows(release: Release, query: Decide, limits: Limits) -> DecideAnswer:
    """Return what the number of rows alone says about every selection."""
    none, before = np.zeros(len(query.selections), dtype=np.int64), None
    if release.rows.exact:
        rows = {ANY_LABEL: release.rows.low}
        prior = PriorMembership(Space.of(release, limits), query.selections, query.convention, {ANY_LABEL})
        before = -np.expm1(prior.log_absent(rows)), prior.expected(rows)
    return DecideAnswer.of(none, none + (release.rows.high or 0), before)


def world_of(release: Release, rows: NDArray[np.int64], random: RandomSource, note: str) -> RowWorld:
    """Return a world of rows given by their parts, free attributes drawn with the dice; `note` says how found."""
    values = [
        draw_box(release.domain, Box(tuple((k, 1 << p) for k, p in enumerate(row) if p >= 0)), 1, random)
        for row in rows.tolist()
    ]
    width = len(release.domain.attributes)
    return RowWorld(
        np.concatenate(values) if values else np.zeros((0, width), dtype=np.int64),
        np.ones(len(rows), dtype=np.int64),
        note=note,
    )


def world_bounds(
    release: Release, convention: Convention, rows: NDArray[np.int64] | None, note: str, limits: Limits, found: bool
) -> CountAnswer:
    """Return bounds on log2 of the number of worlds: no more than any partition alone allows.

    No less than one where one was `found`, and than the orders of its rows where they are known.
    """
    n = release.rows.low
    upper = n * math.log2(max(1, Space.of(release, limits).size))
    for done, one in enumerate(partition_releases(release)):
        if done and limits.expired():  # some of them bound it too
            break
        cells = cells_of(one, limits)
        upper = min(upper, log2_worlds(cells.high, cells.block.low, convention))
    if upper == -math.inf:  # a partition counts rows where none can be
        return CountAnswer("unsat", convention=convention)
    lower = -math.inf
    if found and not release.coarse:
        lower = 0.0
        if (
            rows is not None and convention == "ordered"
        ):  # the orders of one dataset of distinct rows, or of equal ones where they must be
            groups = Counter(map(tuple, rows.tolist()))
            lower = log2_multinomial(list(groups.values()))
    return CountAnswer(
        "bounds",
        convention=convention,
        bounds=(lower, upper),
        relative=release.domain.relative,
        trail=(note,) if note else (),
    )
