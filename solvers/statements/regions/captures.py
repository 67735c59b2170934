"""The exact size of a box minus boxes, and what every rule of an ordered list captures.

Capt(j) = number of rows in box j and in no box before j. Lists are reduced first
(`solvers.statements.regions.first_match`); what is not a product then is counted by splitting (few boxes) or by one
incremental decision diagram, U_j = U_{j-1} ∧ ¬box_j, capture_j = #(U_{j-1} ∧ box_j). Where time or memory end, the
boxes not reached get rigorous bounds: an upper one from the last diagrams, a lower one from a sub-box that rules most
earlier boxes out. All figures are Python integers.

Source: eq. 12-16 of Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024.

Counts of the regions of a reduced list: products, splitting, one incremental diagram, rigorous bounds.

Source: eq. 13-16 of Ferry et al., SaTML 2024; the diagram holds U_j = "in none of the first j boxes".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from oxidd.util import DDMemoryError

from solvers.foundation.errors import Inconclusive
from solvers.foundation.exact import EXACT
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.regions.capture_bounds import Base, bound_all, bound_plain
from solvers.statements.regions.diagram import (
    Diagram,
    Function,
    Measure,
    RegionBounds,
    below,
    capacity_for,
    region_size,
    support,
)
from solvers.statements.regions.first_match import Cut, FirstMatch, Task, as_bits, bits, shrink
from solvers.statements.regions.variable_order import estimate, good_order

SPLIT_TERMS = 48  # a diagram is set up in the time of about this many terms
LARGEST = 6  # one diagram may fill one in this many nodes
KEEP_SHARE = 3  # captures are kept for `within` while they fill at most one in this many nodes


def _count_tasks(reduced: FirstMatch, limits: Limits) -> RegionBounds:
    """Return bounds on the size of every region of the list, exact where limits allow."""
    measure = Measure.of(reduced)
    counts = RegionBounds([], [], limits)
    for j in range(len(reduced.cuts)):
        if j >= len(reduced.tasks):
            cut = reduced.cuts[j]
            # Time ended before the list was reduced: every earlier box is still to subtract.
            reduced.tasks.append(None if cut is None else Task(cut, range(j), 0))
        task = reduced.tasks[j]
        size = 0 if task is None else measure.product(task.cut, task.after)
        counts.lower.append(0 if task is not None and task.rest else size)
        counts.upper.append(size)
        if task is not None and task.rest and size:
            counts.hard.append(j)
    if not counts.hard:
        return counts
    tasks = [(j, task) for j in counts.hard if (task := reduced.tasks[j]) is not None]
    if reduced.unfinished == len(reduced.cuts) and sum(1 << min(len(t.rest), 40) for _, t in tasks) <= SPLIT_TERMS:
        counts.method = "split"
        for j, task in tasks:
            counts.lower[j] = counts.upper[j] = region_size(measure, reduced, task)
        return counts
    _count_by_diagram(reduced, measure, counts)
    if counts.lower == counts.upper:
        counts.method = "bdd"
    else:
        counts.method = "bounds"
    return counts


@dataclass(frozen=True)
class _Plan:
    """The boxes that a diagram must hold, the order of their variables and the nodes expected."""

    needed: list[int]
    order: list[int]
    nodes: float


def _plan(reduced: FirstMatch, tasks: Sequence[Task], limits: Limits) -> _Plan:
    needed = sorted({h for t in tasks for h in t.rest})
    variables = support(reduced.cuts[h] or {} for h in needed)
    at = {v: i for i, v in enumerate(variables)}
    edges = [[at[v] for v in (reduced.cuts[h] or {})] for h in needed]
    order = good_order(len(variables), edges, limits)
    return _Plan(needed, [variables[i] for i in order], estimate(order, edges))


def _sweep(
    reduced: FirstMatch, diagram: Diagram, needed: Sequence[int], hard: Sequence[int], start: Function
) -> Iterator[tuple[int, Function | None, Function]]:
    """Yield (j, region j, in none of the boxes before j) for each j in `hard`, in order.

    After each subtraction (t, None, in none of the boxes before t) comes between them: a place to stop.
    """
    none = start
    subtract, count = set(needed), set(hard)
    singles = {j: (v, mask) for j, v, mask in reduced.events if v in diagram.first}
    for j in sorted(subtract | count | singles.keys()):
        task = reduced.tasks[j]
        if j in count and task is not None:
            yield j, diagram.meet(none, diagram.box(task.cut)), none
            if j == hard[-1]:
                return
        if j in singles:
            none = diagram.meet(none, diagram.mask(*singles[j]))
        elif j in subtract:
            none = diagram.meet(none, ~diagram.box(reduced.cuts[j] or {}))
            yield j + 1, None, none


class _Pace:
    """Decides when to stop: when the limits end, or two more such steps would pass them."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._before, self.late = limits, limits.meter.used, False

    def over(self) -> bool:
        used = self._limits.meter.used
        step, self._before = used - self._before, used
        self.late = self._limits.expired() or not self._limits.affords(2 * step)
        return self.late


def _ended(limits: Limits) -> str:
    """Return the reason for stopping where time is up: the clock, or somebody who asked to stop."""
    return "stopped" if limits.stop.is_set() else "time limit"


def _count_by_diagram(reduced: FirstMatch, measure: Measure, counts: RegionBounds) -> None:
    limits = counts.limits
    hard = [j for j in counts.hard if j < reduced.unfinished]
    tasks = [task for j in hard if (task := reduced.tasks[j]) is not None]
    ceiling = capacity_for(limits.room)
    bases: list[Base] = []
    if tasks and ceiling >= 1 << 10 and not limits.expired():
        plan = _plan(reduced, tasks, limits)
        pace = _Pace(limits.stage("exact captures"))
        capacity = int(min(ceiling, max(1 << 15, 4 * plan.nodes)))
        # A restart that loses seconds is worse than a manager of full size (0.1 s).
        capacity = ceiling if capacity > 1 << 20 else capacity
        while True:
            try:
                counts.diagram = Diagram({v: reduced.grid.sizes[v] for v in plan.order}, plan.order, capacity)
                bases = _incremental(reduced, measure, counts, plan, hard, pace)
                break
            except DDMemoryError:
                # Small managers keep small lists fast; restart with room for more.
                counts.kept.clear()
                counts.diagram = None
                if capacity >= ceiling:
                    counts.note = counts.note or "memory limit"
                    break
                capacity = min(ceiling, 16 * capacity)
    open_ = [j for j in counts.hard if j >= counts.swept]
    if open_:
        reason = _ended(limits) if limits.expired() else "memory limit"
        counts.note = f"{counts.note or reason} at box {open_[0]} of {len(reduced.cuts)}"
        bound_all(reduced, measure, counts, open_, bases)


def _incremental(
    reduced: FirstMatch, measure: Measure, counts: RegionBounds, plan: _Plan, hard: Sequence[int], pace: _Pace
) -> list[Base]:
    """Count region after region; return some of (t, in none of the needed boxes before t) to start bounds from.

    At most one per power of four of nodes is kept, the last one of each size.

    Raises: DDMemoryError when the manager is full and may grow.
    """
    diagram = counts.diagram
    assert diagram is not None
    start = diagram.valid
    alone = reduced.tasks[hard[0]] if len(hard) == 1 else None
    if alone is not None:
        start = start & diagram.box(alone.cut)
    bases: dict[int, Base] = {0: (0, start, start.node_count())}
    keep = True
    counts.swept = 0
    full = capacity_for(counts.limits.room) <= diagram.capacity
    try:
        for j, region, none in _sweep(reduced, diagram, plan.needed, hard, start):
            if region is None:
                nodes = none.node_count()
                bases[nodes.bit_length() // 2] = (j, none, nodes)
                # Counting the models of a larger diagram would not fit beside it.
                if pace.over() or (full and nodes * LARGEST > diagram.capacity):
                    counts.note = _ended(counts.limits) if pace.late else "memory limit"
                    break
                continue
            task = reduced.tasks[j]
            assert task is not None
            counts.lower[j] = counts.upper[j] = diagram.count(region) * measure.outside(task, diagram.first)
            counts.swept = j + 1
            stored = diagram.manager.approx_num_inner_nodes()
            if keep and full and stored * 2 > diagram.capacity:
                diagram.manager.gc()
                stored = diagram.manager.num_inner_nodes()
                if stored * KEEP_SHARE > diagram.capacity:
                    keep = False
                    counts.kept.clear()
            if keep:
                counts.kept[j] = (region, region)
            counts.limits.report(f"box {j + 1} of {len(reduced.cuts)}")
    except DDMemoryError:
        if not full:
            raise
        counts.note = "memory limit"
        diagram.manager.gc()
    if counts.swept > hard[-1]:
        counts.swept, counts.note = len(reduced.cuts), ""
    return list(bases.values())


def _region_diagram(reduced: FirstMatch, task: Task, limits: Limits) -> tuple[Diagram, Function] | None:
    """Return a diagram of one region over the variables of its subtracted boxes, None where it does not fit."""
    plan = _plan(reduced, [task], Limits())
    ceiling = capacity_for(limits.room)
    capacity = int(min(ceiling, max(1 << 15, 4 * plan.nodes)))
    live = reduced.live(task)
    while capacity > 0:
        try:
            diagram = Diagram({v: reduced.grid.sizes[v] for v in plan.order}, plan.order, capacity)
            f = diagram.valid & diagram.box({v: task.cut.get(v, live[v]) for v in plan.order})
            for h in plan.needed:
                f = diagram.meet(f, ~diagram.box(reduced.cuts[h] or {}))
        except DDMemoryError:
            if capacity >= ceiling:
                return None
            capacity = min(ceiling, 16 * capacity)
        else:
            return diagram, f
    return None


def _within_counts(
    reduced: FirstMatch, counts: RegionBounds, smaller: Mapping[int, Sequence[int]]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return bounds on every region when the attributes in `smaller` have only those part sizes."""
    sizes, factor = reduced.weights(smaller)
    measure = Measure(reduced, sizes, factor)
    low, high = [0] * len(reduced.cuts), [0] * len(reduced.cuts)
    changed = [v for a in smaller if (v := reduced.grid.variable.get(a)) is not None]
    alive = (1 << len(reduced.cuts)) - 1
    for v in changed:
        alive &= reduced.meets(v, as_bits([g for g, s in enumerate(sizes[v]) if s]))
    todo: list[tuple[int, Task]] = []
    for j in bits(alive):
        task = reduced.tasks[j]
        if task is not None and (size := measure.product(task.cut, task.after)):
            high[j] = size
            if not task.rest:
                low[j] = size
            elif counts.method == "split":
                low[j] = high[j] = region_size(measure, reduced, task)
            else:
                todo.append((j, task))
                if j >= counts.swept:
                    low[j], high[j] = bound_plain(reduced, measure, task, lambda: False)
    if todo and counts.diagram is not None:
        try:
            _within_diagram(reduced, counts, measure, changed, todo, (low, high))
        except DDMemoryError:
            _within_again(reduced, counts, measure, changed, todo, (low, high))
    return tuple(low), tuple(high)


def _within_again(
    reduced: FirstMatch,
    counts: RegionBounds,
    measure: Measure,
    changed: Sequence[int],
    todo: Sequence[tuple[int, Task]],
    into: tuple[list[int], list[int]],
) -> None:
    """Count in a fresh manager of full size that keeps no diagram; bounds where even that is too small."""
    old = counts.diagram
    assert old is not None
    counts.kept.clear()
    try:
        counts.diagram = Diagram(old.sizes, old.order, max(old.capacity, capacity_for(counts.limits.room)))
        _within_diagram(reduced, counts, measure, changed, todo, into)
    except DDMemoryError:
        for j, task in todo:
            into[0][j], into[1][j] = bound_plain(reduced, measure, task, lambda: False)


def _within_diagram(
    reduced: FirstMatch,
    counts: RegionBounds,
    measure: Measure,
    changed: Sequence[int],
    todo: Sequence[tuple[int, Task]],
    into: tuple[list[int], list[int]],
) -> None:
    """Count the regions `todo` inside the smaller space: restrict the diagrams kept, or sweep again."""
    diagram = counts.diagram
    assert diagram is not None
    low, high = into
    minimum, maximum = dict.fromkeys((j for j, _ in todo), 0), dict.fromkeys((j for j, _ in todo), 0)
    inside = [v for v in changed if v in diagram.first]
    again = [j for j, _ in todo if j not in counts.kept and j < counts.swept]
    unknown = {j for j, _ in todo if j not in counts.kept and j >= counts.swept}
    for terms in product(*(diagram.limits(v, measure.sizes[v]) for v in inside)):
        space, p, q = diagram.true, 1, 1
        for f, up, down in terms:
            space, p, q = space & f, p * up, q * down
        for j, _ in todo:
            if j in counts.kept:
                lower, upper = counts.kept[j]
                found = diagram.count(lower & space) * p
                minimum[j] += found // q
                maximum[j] += (found if lower == upper else diagram.count(upper & space) * p) // q
        if again:
            needed = sorted({h for j in again for h in (reduced.tasks[j] or Task({}, (), 0)).rest})
            for j, region, _ in _sweep(reduced, diagram, needed, again, diagram.valid & space):
                if region is None:
                    continue
                found = diagram.count(region) * p // q
                minimum[j], maximum[j] = minimum[j] + found, maximum[j] + found
    for j, task in todo:
        if j not in unknown:
            outside = measure.outside(task, diagram.first)
            low[j] = max(low[j], minimum[j] * outside)
            high[j] = min(high[j], maximum[j] * outside)


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
    counts = _count_tasks(reduced, limits)
    return counts.lower[-1], counts.upper[-1]


def captures(part_sizes: Sequence[Sequence[int]], boxes: Sequence[Box], limits: Limits = NO_LIMITS) -> Captures:
    """Return the capture sizes of an ordered list of boxes, one pair (lower, upper) per box.

    Sizes are over the full row space: attributes that no box names are a factor. Cost: linear in the literals
    for disjoint boxes (trees) and boxes on one attribute; else the size of a decision diagram, at most
    `limits.memory`; stops at `limits.seconds` with rigorous bounds.

    Source: Ferry et al., SaTML 2024, eq. 13-16.
    """
    reduced = FirstMatch(part_sizes, boxes, False, limits.expired)
    counts = _count_tasks(reduced, limits)
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
        return _within_counts(self._list, self._counts, smaller)

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
            found = _region_diagram(self._list, task, self._counts.limits)
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
