"""The exact size of a box minus boxes, and what every rule of an ordered list captures.

Capt(j) = number of rows in box j and in no box before j. Lists are reduced first
(`solvers.statements.regions.first_match`); what is not a product then is counted by splitting (few boxes) or by one
incremental decision diagram, U_j = U_{j-1} ∧ ¬box_j, capture_j = #(U_{j-1} ∧ box_j). Where time or memory end, the
boxes not reached get rigorous bounds: an upper one from the last diagrams, a lower one from a sub-box that rules most
earlier boxes out. All figures are Python integers.

Source: eq. 12-16 of Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.foundation.numeric_limits import EXACT
from solvers.statements.boxes import Box
from solvers.statements.regions.capture_counts import count_tasks, region_diagram, within_counts
from solvers.statements.regions.diagram import below
from solvers.statements.regions.first_match import Cut, FirstMatch, Task, bits, shrink
from solvers.statements.regions.inclusion_exclusion import Measure, RegionBounds

ACCEPTANCE = 200  # a rejection sampler may need this many tries per row before a walk is used
NO_LIMITS = Limits()
BATCH = 1 << 22  # cells drawn at a time


def minus_size(
    part_sizes: Sequence[Sequence[int]], box: Box, minus: Sequence[Box], limits: Limits = NO_LIMITS
) -> tuple[int, int]:
    """Return rigorous bounds (lower, upper) on the rows of the full row space in `box` and in none of `minus`.

    Equal when exact. `part_sizes[a][p]` is the number of raw values of part p of attribute a. Cost: see
    `captures`, for one box.
    """
    reduced = FirstMatch(part_sizes, [*minus, box], True, limits.expired)
    counts = count_tasks(reduced, limits)
    return counts.lower[-1], counts.upper[-1]


def captures(part_sizes: Sequence[Sequence[int]], boxes: Sequence[Box], limits: Limits = NO_LIMITS) -> Captures:
    """Return the capture sizes of an ordered list of boxes, one pair (lower, upper) per box.

    Sizes are over the full row space: attributes that no box names are a factor. Cost: linear in the literals
    for disjoint boxes (trees) and boxes on one attribute; else the size of a decision diagram, at most
    `limits.memory`; stops at `limits.seconds` with rigorous bounds.

    Source: Ferry et al., SaTML 2024, eq. 13-16.
    """
    reduced = FirstMatch(part_sizes, boxes, False, limits.expired)
    counts = count_tasks(reduced, limits)
    return Captures(tuple(counts.lower), tuple(counts.upper), counts.method, counts.note, reduced, counts)


@dataclass(frozen=True, eq=False)
class Captures:
    """The capture sizes of an ordered list: rigorous `lower` and `upper` per box, equal where exact.

    `method` is "product", "split", "bdd" or "bounds"; `note` says why a figure is not exact.
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    method: str
    note: str
    _list: FirstMatch
    _counts: RegionBounds

    @property
    def exact(self) -> bool:
        """Return whether every capture size is known."""
        return self.lower == self.upper

    def within(self, smaller: Mapping[int, Sequence[int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return capture sizes (lower, upper) if attribute a had only smaller[a][p] values in part p.

        Exact whenever `self.exact`. Only the boxes that meet the smaller space are counted. Cost: a restriction
        and a count of the diagram of each such box.
        """
        return within_counts(self._list, self._counts, smaller)

    def sample(self, j: int, k: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return part indices (k, attributes) of k rows drawn independently, exactly uniformly from region j.

        Rejection from the box where at least one row in `ACCEPTANCE` is accepted, else a walk through the
        diagram of the region guided by exact counts.

        Raises: ValueError when the region is empty; Inconclusive when that is not known or no diagram fits.
        """
        task = self._list.tasks[j]
        if task is None or self.upper[j] == 0:
            raise ValueError(f"region {j} is empty: no row to draw")
        live = self._list.live(task)
        left = [task.cut.get(v, live[v]) for v in range(len(live))]
        around = Measure.of(self._list).product(task.cut, task.after)
        if not task.rest:
            groups = _draw_box(self._list, left, k, rng)
        elif self.lower[j] * ACCEPTANCE >= around:
            groups = _reject(self._list, task, left, k, rng)
        else:
            groups = self._walk(j, task, left, k, rng)
        return _refine(self._list, groups, rng)

    def _walk(self, j: int, task: Task, left: Sequence[int], k: int, rng: np.random.Generator) -> NDArray[np.int32]:
        if self._counts.walks.get(j) is None:
            found = region_diagram(self._list, task, self._counts.limits)
            if found is None:
                raise Inconclusive(f"region {j}: no diagram of it fits into the memory limit")
            self._counts.walks[j] = (*found, found[0].counts(found[1]))
        diagram, f, counts = self._counts.walks[j]
        if not f.satisfiable():
            raise ValueError(f"region {j} is empty: no row to draw")
        groups = _draw_box(self._list, left, k, rng)
        for i in range(k):
            for v, g in diagram.draw(f, counts, rng).items():
                groups[i, v] = g
        return groups

    def boxes(self, j: int) -> Iterator[Box]:
        """Yield disjoint boxes of positive size whose union is region j, one at a time.

        Nothing is built before it is asked for; their number can be exponential in the list.
        """
        task = self._list.tasks[j]
        if task is None:
            return
        cuts, live = self._list.cuts, self._list.live(task)
        base = {v: mask for v, mask in enumerate(live) if mask != self._list.grid.full[v]}
        stack: list[tuple[Cut, Sequence[int]]] = [(dict(task.cut), task.rest)]
        while stack:
            found = shrink(*stack.pop(), cuts, live)
            if found is None:
                continue
            cut, rest = found
            if not rest:
                yield self._list.grid.box(base | cut)
                continue
            pivot = min(rest, key=lambda h: (_constrained(cuts[h] or {}, cut, live), h))
            others = [h for h in rest if h != pivot]
            inside = dict(cut)
            for v, mask in (cuts[pivot] or {}).items():
                have = inside.get(v, live[v])
                if have & ~mask:
                    stack.append((inside | {v: have & ~mask}, others))
                    inside[v] = have & mask


def _constrained(other: Cut, cut: Cut, live: Sequence[int]) -> int:
    """Return how many variables of `cut` the other box constrains."""
    return sum(1 for v, mask in other.items() if cut.get(v, live[v]) & ~mask)


def _choices(sizes: Sequence[int], k: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return k indices drawn with probability exactly proportional to `sizes`."""
    if len(sizes) == 1:
        return np.zeros(k, dtype=np.int64)
    ends, total = [], 0
    for size in sizes:
        total += size
        ends.append(total)
    if total < EXACT:
        drawn = rng.integers(0, total, size=k)
        return np.searchsorted(np.array(ends, dtype=np.int64), drawn, side="right").astype(np.int64)
    table = np.array(ends, dtype=object)
    values = np.array([below(total, rng) for _ in range(k)], dtype=object)
    return np.searchsorted(table, values, side="right").astype(np.int64)


def _draw_box(reduced: FirstMatch, left: Sequence[int], k: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """Return groups (k, variables) of k uniform rows of the box that allows `left[v]` on variable v."""
    groups = np.empty((k, len(left)), dtype=np.int32)
    for v, mask in enumerate(left):
        allowed = list(bits(mask))
        sizes = reduced.grid.sizes[v]
        groups[:, v] = np.array(allowed, dtype=np.int32)[_choices([sizes[g] for g in allowed], k, rng)]
    return groups


def _reject(
    reduced: FirstMatch, task: Task, left: Sequence[int], k: int, rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return the first k rows, drawn uniformly from the box, that are in no earlier box."""
    tests = []
    for h in task.rest:
        cut = reduced.cuts[h] or {}
        tests.append(
            [
                (v, np.array([mask >> g & 1 for g in range(len(reduced.grid.sizes[v]))], dtype=bool))
                for v, mask in cut.items()
            ]
        )
    found: list[NDArray[np.int32]] = []
    missing, batch = k, k + 16
    while missing > 0:
        rows = _draw_box(reduced, left, min(batch, BATCH // max(1, len(left)) + 1), rng)
        free = np.ones(len(rows), dtype=bool)
        for test in tests:
            inside = free.copy()
            for v, allowed in test:
                inside &= allowed[rows[:, v]]
            free &= ~inside
        found.append(rows[free][:missing])
        missing -= len(found[-1])
        batch *= 2
    return np.concatenate(found) if found else np.empty((0, len(left)), dtype=np.int32)


def _refine(reduced: FirstMatch, groups: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
    """Return parts (k, attributes) for groups (k, variables): within a group by size, elsewhere freely."""
    grid, k = reduced.grid, len(groups)
    rows = np.zeros((k, len(grid.part_sizes)), dtype=np.int32)
    for a, sizes in enumerate(grid.part_sizes):
        v = grid.variable.get(a)
        if v is None:
            if len(sizes) > 1:
                rows[:, a] = _choices(sizes, k, rng)
            continue
        for g, mask in enumerate(grid.groups[v]):
            parts = list(bits(mask))
            at = np.flatnonzero(groups[:, v] == g)
            drawn = _choices([sizes[p] for p in parts], len(at), rng)
            rows[at, a] = np.array(parts, dtype=np.int32)[drawn]
    return rows
