"""Rigorous bounds on regions that were too much to count: a superset from above, a sub-box from below."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import islice

from oxidd.util import DDMemoryError

from solvers.diagram import Diagram, Function, choose
from solvers.grid import FirstMatch, Task, as_bits, bits
from solvers.measure import Counts, Measure

WIDTHS = (1 << 10, 1 << 13)  # nodes of the diagrams that bounds are found with, pass by pass
CANDIDATES = 256  # pending boxes looked at for the next literal of a sub-box


def bound_all(
    reduced: FirstMatch,
    measure: Measure,
    counts: Counts,
    which: Sequence[int],
    base: tuple[int, Function] | None,
) -> None:
    """Tighten the bounds of the regions `which` while time lasts; sound at any moment."""
    limits = counts.limits
    late = (limits.seconds or 0.0) * 1.05 + 0.2
    for j in which:
        if limits.seconds is not None and limits.elapsed() > late:
            return
        _bound_plain(reduced, measure, counts, j)
    diagram = counts.diagram
    if base is None or diagram is None:
        return
    for width in WIDTHS:
        for place, j in enumerate(which):
            task = reduced.tasks[j]
            if limits.expired():
                return
            if task is None or j >= reduced.unfinished or counts.lower[j] == counts.upper[j]:
                continue
            until = time.monotonic() + limits.left() / (len(which) - place)
            try:
                low, high = _narrow(reduced, diagram, task, base, width, lambda: time.monotonic() >= until)  # noqa: B023
                outside = measure.outside(task, diagram.first)
                least, most = diagram.count(low) * outside, diagram.count(high) * outside
            except DDMemoryError:
                diagram.manager.gc()
                continue
            counts.upper[j] = min(counts.upper[j], most)
            if least >= counts.lower[j]:
                counts.lower[j] = least
                counts.kept[j] = (low, high)


def _bound_plain(reduced: FirstMatch, measure: Measure, counts: Counts, j: int) -> None:
    """Bound region j without a diagram: a sub-box that no earlier box meets, and one box subtracted."""
    task = reduced.tasks[j]
    assert task is not None
    live = reduced.live(task)
    left = {v: task.cut.get(v, live[v]) for v in range(len(live))}
    cut, pending = dict(task.cut), as_bits(task.rest)
    for h in islice(task.rest, CANDIDATES):
        met = {v: mask & left[v] for v, mask in (reduced.cuts[h] or {0: 0}).items()}
        if all(met.values()):
            most = measure.product(task.cut, task.after) - measure.product(task.cut | met, task.after)
            counts.upper[j] = min(counts.upper[j], most)
    while pending:
        near = (reduced.cuts[h] or {} for h in islice(bits(pending), CANDIDATES))
        literal = choose(left, near, reduced.grid.sizes, _falsified(reduced, pending))
        if literal is None:
            return
        left[literal[0]] = cut[literal[0]] = literal[1]
        pending &= reduced.meets(*literal)
    size = measure.product(cut, task.after)
    if size > counts.lower[j]:
        counts.lower[j], counts.subs[j] = size, cut


def _falsified(reduced: FirstMatch, pending: int) -> Callable[[int, int], int]:
    return lambda v, mask: (pending & ~reduced.meets(v, mask)).bit_count()


def _narrow(
    reduced: FirstMatch,
    diagram: Diagram,
    task: Task,
    base: tuple[int, Function],
    width: int,
    over: Callable[[], bool],
) -> tuple[Function, Function]:
    """Return (low, high) with low ⊆ region ⊆ high, equal where the diagrams stay below `width` nodes.

    Earlier boxes are subtracted one by one; once the diagram is too wide, the literal that makes most of
    those still pending impossible is assumed, so `low` is the region inside a sub-box.
    """
    live = reduced.live(task)
    left = {v: task.cut.get(v, live[v]) for v in diagram.order}
    f = base[1] & diagram.box({v: m for v, m in left.items() if m != reduced.grid.full[v]})
    rest = [h for h in task.rest if h >= base[0]]
    pending = as_bits(rest)
    for v, mask in left.items():
        if mask != reduced.grid.full[v]:
            pending &= reduced.meets(v, mask)
    high, whole = f, True
    while pending:
        h = (pending & -pending).bit_length() - 1
        late = over()
        if late or f.node_count() > width:
            near = (reduced.cuts[i] or {} for i in islice(bits(pending), CANDIDATES))
            literal = choose(left, near, reduced.grid.sizes, _falsified(reduced, pending))
            whole = False
            if literal is not None:
                smaller = f & diagram.mask(*literal)
                if smaller.satisfiable():
                    f, left[literal[0]] = smaller, literal[1]
                    pending &= reduced.meets(*literal)
                    continue
            if late:
                return ~diagram.true, high
        f = f & ~diagram.box(reduced.cuts[h] or {})
        pending &= pending - 1
        high = f if whole else high
    return f, high
