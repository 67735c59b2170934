"""Counts of the regions of a reduced list: products, splitting, one incremental diagram, rigorous bounds.

Source: eq. 13-16 of Ferry et al., SaTML 2024; the diagram holds U_j = "in none of the first j boxes".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from oxidd.util import DDMemoryError

from solvers.foundation.limits import Limits
from solvers.statements.regions.capture_bounds import Base, bound_all, bound_plain
from solvers.statements.regions.diagram import Diagram, Function, capacity_for, support
from solvers.statements.regions.first_match import FirstMatch, Task, as_bits, bits
from solvers.statements.regions.inclusion_exclusion import Measure, RegionBounds, split
from solvers.statements.regions.variable_order import estimate, good_order

SPLIT_TERMS = 48  # a diagram is set up in the time of about this many terms
LARGEST = 6  # one diagram may fill one in this many nodes
KEEP_SHARE = 3  # captures are kept for `within` while they fill at most one in this many nodes


def count_tasks(reduced: FirstMatch, limits: Limits) -> RegionBounds:
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
            counts.lower[j] = counts.upper[j] = split(measure, reduced, task)
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
        self._limits, self._before, self.late = limits, limits.left(), False

    def over(self) -> bool:
        left = self._limits.left()
        step, self._before = 0.0 if math.isinf(left) else self._before - left, left
        self.late = self._limits.expired() or left <= 2 * step
        return self.late


def ended(limits: Limits) -> str:
    """Return the reason for stopping where time is up: the clock, or somebody who asked to stop."""
    return "stopped" if limits.stop.is_set() else "time limit"


def _count_by_diagram(reduced: FirstMatch, measure: Measure, counts: RegionBounds) -> None:
    limits = counts.limits
    hard = [j for j in counts.hard if j < reduced.unfinished]
    tasks = [task for j in hard if (task := reduced.tasks[j]) is not None]
    ceiling = capacity_for(limits.memory)
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
        reason = ended(limits) if limits.expired() else "memory limit"
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
    full = capacity_for(counts.limits.memory) <= diagram.capacity
    try:
        for j, region, none in _sweep(reduced, diagram, plan.needed, hard, start):
            if region is None:
                nodes = none.node_count()
                bases[nodes.bit_length() // 2] = (j, none, nodes)
                # Counting the models of a larger diagram would not fit beside it.
                if pace.over() or (full and nodes * LARGEST > diagram.capacity):
                    counts.note = ended(counts.limits) if pace.late else "memory limit"
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


def region_diagram(reduced: FirstMatch, task: Task, limits: Limits) -> tuple[Diagram, Function] | None:
    """Return a diagram of one region over the variables of its subtracted boxes, None where it does not fit."""
    plan = _plan(reduced, [task], Limits())
    ceiling = capacity_for(limits.memory)
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


def within_counts(
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
                low[j] = high[j] = split(measure, reduced, task)
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
        counts.diagram = Diagram(old.sizes, old.order, max(old.capacity, capacity_for(counts.limits.memory)))
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
