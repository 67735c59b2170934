"""Rigorous bounds on regions that were too much to count.

From above: only some of the earlier boxes are subtracted. From below: the lopsided local lemma. In a product
space box i becomes *more* likely given box h unless some variable's masks are not nested (a clash), so with
P(A_i) ≤ x_i Π_{h clashes with i} (1 − x_h) for every earlier box i, P(¬A_i | no A_h, h ∈ S) ≥ 1 − x_i for
every set S: the boxes not yet subtracted leave at least the share Π (1 − x_i). Where no such x exists, literals
that make boxes impossible are assumed first (a sub-box). The x are found in floats and checked in integers.

Source: Erdős, Spencer, "Lopsided Lovász local lemma and latin transversals", 1991, with the coupling that
replaces X_v by a fresh draw inside the mask where it is outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

import numpy as np
from oxidd.util import DDMemoryError

from solvers.foundation.limits import STAGES, Limits
from solvers.statements.regions.diagram import Diagram, Function, Measure, RegionBounds, choose
from solvers.statements.regions.first_match import Cut, FirstMatch, Task, Weights, as_bits, bits, weight

WIDTHS = (1 << 11, 1 << 15)  # nodes of the diagrams that bounds are found with, pass by pass
SHIFT = 40  # the x of the local lemma are multiples of 2^-SHIFT
ROUNDS = 60
HOPELESS = 0.9  # an x this large: assume a literal instead

LITERAL = 5e-6  # of work: of a box in one step of the local lemma, measured
STEP = 4e-7  # seconds a node costs when a box is intersected with a diagram and counted, measured

Base = tuple[int, Function, int]  # t, in none of the boxes before t that are needed, its nodes
Shares = dict[int, int]  # earlier box -> its x · 2^SHIFT


def _odds(reduced: FirstMatch, sizes: Weights, left: Cut, h: int) -> tuple[int, int]:
    """Return the probability of box h inside the box `left`, as a fraction."""
    num, den = 1, 1
    for v, mask in (reduced.cuts[h] or {}).items():
        if mask & left[v] != left[v]:
            num *= weight(sizes[v], mask & left[v])
            den *= weight(sizes[v], left[v])
    return num, den


def _fixed_point(odds: dict[int, tuple[int, int]], clashes: Sequence[int]) -> tuple[Shares | None, int]:
    """Return shares x that satisfy the lemma, or None and a box with too large an x."""
    events = list(odds)
    place = {h: i for i, h in enumerate(events)}
    present = as_bits(events)
    near = [[place[i] for i in bits(clashes[h] & present)] for h in events]
    owner = np.array([i for i, n in enumerate(near) for _ in n], dtype=np.int64)
    other = np.array([k for n in near for k in n], dtype=np.int64)
    p = np.array([num / den for num, den in odds.values()])
    x = p.copy()
    for _ in range(ROUNDS):
        if float(x.max()) >= HOPELESS:
            return None, events[int(np.argmax(x))]
        moved = p * np.exp(-np.bincount(owner, weights=np.log1p(-x[other]), minlength=len(p)))
        done = bool((moved - x < 1e-9).all())
        x = moved
        if done:
            break
    worst = events[int(np.argmax(x))]
    if float(x.max()) >= HOPELESS:
        return None, worst
    one = 1 << SHIFT
    rounded = [int(value * (1 + 1e-5) * one) + 1 for value in x]
    for i, h in enumerate(events):
        num, den = odds[h]
        room = rounded[i] * math.prod(one - rounded[k] for k in near[i]) * den
        if num << SHIFT * (1 + len(near[i])) > room:
            return None, worst
    return dict(zip(events, rounded, strict=True)), -1


def _local_lemma(
    reduced: FirstMatch, sizes: Weights, left: Cut, rest: Sequence[int], over: Callable[[], bool]
) -> tuple[Cut, Shares] | None:
    """Return a sub-box of `left` and the shares of the boxes of `rest` that meet it; None where none is found."""
    left = dict(left)
    assumed: Cut = {}
    odds: dict[int, tuple[int, int]] = {}
    for h in rest:
        if reduced.cuts[h] is not None:
            odds[h] = _odds(reduced, sizes, left, h)
    while True:
        odds = {h: pair for h, pair in odds.items() if pair[0]}
        certain = [h for h, pair in odds.items() if pair[0] == pair[1]]
        if certain or over():
            return None
        if not odds:
            return assumed, {}
        shares, worst = _fixed_point(odds, reduced.clashes)
        if shares is not None:
            return assumed, shares
        present = as_bits(odds)
        literal = choose(left, [reduced.cuts[worst] or {}], sizes, _falsified(reduced, present))
        if literal is None:
            return None
        v, mask = literal
        left[v] = assumed[v] = mask
        touched = [h for h in odds if v in (reduced.cuts[h] or {})]
        odds |= {h: _odds(reduced, sizes, left, h) for h in touched}


def _falsified(reduced: FirstMatch, pending: int) -> Callable[[int, int], int]:
    return lambda v, mask: (pending & ~reduced.meets(v, mask)).bit_count()


def _share(size: int, shares: Shares, pending: int) -> int:
    """Return a lower bound on what is left of `size` rows once the pending boxes are subtracted."""
    if size == 0:
        return 0
    one, factors = 1 << SHIFT, [x for h, x in shares.items() if pending >> h & 1]
    # A positive share of rows is at least one row.
    return max(1, size * math.prod(one - x for x in factors) >> SHIFT * len(factors))


def _space(reduced: FirstMatch, measure: Measure, task: Task) -> Cut | None:
    """Return the groups of positive size that the task's box leaves, per variable; None when it is empty."""
    live = reduced.live(task)
    left: Cut = {}
    for v, sizes in enumerate(measure.sizes):
        left[v] = as_bits(g for g in bits(task.cut.get(v, live[v])) if sizes[g])
        if left[v] == 0:
            return None
    return left


def bound_plain(reduced: FirstMatch, measure: Measure, task: Task, over: Callable[[], bool]) -> tuple[int, int]:
    """Return bounds on a region without a diagram: the local lemma, and independent boxes subtracted."""
    left = _space(reduced, measure, task)
    size = 0 if left is None else measure.product(task.cut, task.after)
    if left is None or size == 0:
        return 0, 0
    odds = {h: _odds(reduced, measure.sizes, left, h) for h in task.rest if reduced.cuts[h] is not None}
    used: set[int] = set()
    high = size
    # Boxes on disjoint variables are independent: their complements multiply.
    for h, (num, den) in sorted(odds.items(), key=lambda item: (-item[1][0] / item[1][1], item[0])):
        names = (reduced.cuts[h] or {}).keys()
        if num and used.isdisjoint(names):
            used.update(names)
            high = -(-high * (den - num) // den)
    found = _local_lemma(reduced, measure.sizes, left, list(odds), over)
    if found is None:
        return 0, high
    assumed, shares = found
    return _share(measure.product(task.cut | assumed, task.after), shares, -1), high


def bound_all(
    reduced: FirstMatch,
    measure: Measure,
    counts: RegionBounds,
    which: Sequence[int],
    bases: Sequence[Base],
) -> None:
    """Tighten the bounds of the regions `which` while time lasts; sound at any moment."""
    limits = counts.limits
    # Some bounds without diagrams are worth more than to be punctual with nothing: so much work, whatever the clock.
    grace = limits.meter.used + STAGES["plain bounds"].floor

    def late(boxes: int) -> bool:
        limits.charge(LITERAL * boxes)
        return limits.late() and limits.meter.used > grace

    for j in which:
        task = reduced.tasks[j]
        if task is None or late(1):
            break
        low, high = bound_plain(reduced, measure, task, partial(late, len(task.rest)))
        counts.lower[j], counts.upper[j] = max(counts.lower[j], low), min(counts.upper[j], high)
    diagram = counts.diagram
    if not bases or diagram is None:
        return
    # First the furthest base that there is time for, then smaller ones with more boxes subtracted one by one.
    ready = [b for b in bases if b[2] * STEP * len(which) < limits.work_left() / 2]
    passes = [(max(ready, key=lambda b: b[0]), 0)] if ready else []
    passes += [(max((b for b in bases if b[2] <= width or b[0] == 0), key=lambda b: b[0]), width) for width in WIDTHS]
    for base, width in passes:
        for place, j in enumerate(which):
            if limits.expired():
                return
            if j >= reduced.unfinished or counts.lower[j] == counts.upper[j]:
                continue
            some = limits.share(1 / (len(which) - place))
            try:
                _bound_by_diagram(reduced, measure, counts, j, base, width, some)
            except DDMemoryError:
                diagram.manager.gc()


def _bound_by_diagram(
    reduced: FirstMatch,
    measure: Measure,
    counts: RegionBounds,
    j: int,
    base: Base,
    width: int,
    limits: Limits,
) -> None:
    """Subtract earlier boxes while the diagram stays below `width` nodes; the local lemma bounds the others."""
    diagram, task = counts.diagram, reduced.tasks[j]
    assert diagram is not None
    assert task is not None
    left = _space(reduced, measure, task)
    if left is None:
        return
    high, pending = _subtract(reduced, diagram, left, task, base, width, limits)
    outside = measure.outside(task, diagram.first)
    maximum = diagram.count(high) * outside
    if maximum <= counts.upper[j]:
        counts.upper[j] = maximum
        counts.kept[j] = (high if pending == 0 else diagram.false, high)
    if pending == 0:
        counts.lower[j] = maximum
        return
    found = _local_lemma(reduced, measure.sizes, left, list(task.rest), limits.expired)
    if found is None:
        return
    assumed, shares = found
    low = diagram.count(high & diagram.box(assumed)) * outside
    counts.lower[j] = max(counts.lower[j], _share(low, shares, pending))


def _subtract(
    reduced: FirstMatch,
    diagram: Diagram,
    left: Cut,
    task: Task,
    base: Base,
    width: int,
    limits: Limits,
) -> tuple[Function, int]:
    """Return the region without the boxes still pending, and those as bits."""
    narrowed = {v: left[v] for v in diagram.order if left[v] != reduced.grid.full[v]}
    f = diagram.meet(base[1], diagram.box(narrowed))
    pending = as_bits(h for h in task.rest if h >= base[0])
    for v, mask in narrowed.items():
        pending &= reduced.meets(v, mask)
    for h in list(islice(bits(pending), len(reduced.cuts))):
        if limits.expired() or (nodes := f.node_count()) > width:
            break
        limits.charge(STEP * nodes)
        f = diagram.meet(f, ~diagram.box(reduced.cuts[h] or {}))
        pending ^= 1 << h
    return f, pending
