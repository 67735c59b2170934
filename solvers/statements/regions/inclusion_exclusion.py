"""Sizes of boxes in a reduced list, and counts of regions by inclusion and exclusion.

Source: eq. 13-16 of Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from solvers.foundation.limits import Limits
from solvers.statements.regions.diagram import Diagram, Function
from solvers.statements.regions.first_match import Cut, FirstMatch, Task, runs, shrink, weight


class Measure:
    """Sizes of boxes for given group sizes; boxes on one variable shrink the space as the list goes on."""

    def __init__(self, reduced: FirstMatch, sizes: Sequence[Sequence[int]], factor: int) -> None:
        self.sizes = sizes
        self._sums: dict[int, list[int]] = {}
        self._total = [sum(s) for s in sizes]
        self._when: dict[int, list[int]] = {}
        self._left: dict[int, list[int]] = {}
        base = factor * math.prod(self._total)
        self._bases = [base]
        for k, (_, v, mask) in enumerate(reduced.events):
            old, new = self.live(v, k), weight(sizes[v], mask)
            base = base // old * new if base else 0
            self._bases.append(base)
            self._when.setdefault(v, []).append(k)
            self._left.setdefault(v, []).append(new)
        self._outside: dict[int, int] = {}

    @classmethod
    def of(cls, reduced: FirstMatch) -> Measure:
        """Return the measure of the row space itself."""
        return cls(reduced, reduced.grid.sizes, reduced.grid.factor)

    def weigh(self, v: int, mask: int) -> int:
        """Return the size of the groups of variable v in `mask`."""
        if len(self.sizes[v]) <= 4:
            return weight(self.sizes[v], mask)
        sums = self._sums.get(v)
        if sums is None:
            sums = self._sums[v] = list(accumulate(self.sizes[v], initial=0))
        return sum(sums[high] - sums[low] for low, high in runs(mask))

    def live(self, v: int, after: int) -> int:
        """Return the size of variable v after that many events."""
        when = self._when.get(v)
        k = bisect_left(when, after) if when else 0
        return self._left[v][k - 1] if k else self._total[v]

    def product(self, cut: Mapping[int, int], after: int) -> int:
        """Return the number of rows of the box `cut` inside the space left after that many events."""
        base = self._bases[after]
        if base == 0 or not cut:
            return base
        below = math.prod(self.live(v, after) for v in cut)
        return base // below * math.prod(self.weigh(v, mask) for v, mask in cut.items())

    def outside(self, task: Task, variables: Mapping[int, int] | Sequence[int]) -> int:
        """Return the number of rows of the task's box over all attributes but the given variables.

        The variables must be the same in every call.
        """
        base = self._bases[task.after]
        if base == 0:
            return 0
        found = self._outside.get(task.after)
        if found is None:
            found = base // math.prod(self.live(v, task.after) for v in variables)
            self._outside[task.after] = found
        inside = set(variables)
        for v, mask in task.cut.items():
            if v not in inside:
                found = found // self.live(v, task.after) * self.weigh(v, mask)
        return found


@dataclass(eq=False)
class RegionBounds:
    """What was found: bounds per box, how, and the functions kept for smaller spaces."""

    lower: list[int]
    upper: list[int]
    limits: Limits
    method: str = "product"
    note: str = ""
    diagram: Diagram | None = None
    kept: dict[int, tuple[Function, Function]] = field(default_factory=dict)
    swept: int = 0  # the diagram counts the regions below this index exactly
    walks: dict[int, tuple[Diagram, Function, dict[Function, int]]] = field(default_factory=dict)
    hard: list[int] = field(default_factory=list)


def split(measure: Measure, reduced: FirstMatch, task: Task) -> int:
    """Return the rows of a region by inclusion and exclusion, one box at a time, with pruning."""
    live = reduced.live(task)
    total = 0
    stack: list[tuple[int, Cut, Sequence[int]]] = [(1, task.cut, task.rest)]
    while stack:
        sign, cut, pending = stack.pop()
        found = shrink(cut, pending, reduced.cuts, live)
        if found is None:
            continue
        cut, rest = found
        if not rest:
            total += sign * measure.product(cut, task.after)
            continue
        first = reduced.cuts[rest[0]] or {}
        met = cut | {v: mask & cut.get(v, live[v]) for v, mask in first.items()}
        stack.append((sign, cut, rest[1:]))
        stack.append((-sign, met, rest[1:]))
    return total
