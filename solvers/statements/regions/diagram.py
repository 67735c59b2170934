"""A binary decision diagram over the raw values of the variables, so that its model count is a number of rows.

A variable with T raw values takes ⌈log2 T⌉ bits, most significant first; a set of groups is a union of
intervals of raw values (comparators), and codes ≥ T are excluded by `valid`. Sizes are first divided by their
greatest common divisor, which keeps a grid of a million equal values at the width of its number of groups.

Source: Bryant, "Graph-based algorithms for Boolean function manipulation", 1986; OxiDD, Husung et al. 2024.

Sizes of boxes in a reduced list, and counts of regions by inclusion and exclusion.

Source: eq. 13-16 of Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from oxidd.bcdd import BCDDFunction, BCDDManager
from oxidd.util import DDMemoryError

from solvers.foundation.limits import Limits
from solvers.foundation.native import make_room
from solvers.statements.regions.first_match import Cut, FirstMatch, Task, Weights, runs, shrink, weight

Function = BCDDFunction
NODE_BYTES = 40  # measured: node, unique table and its share of the cache
SMALLEST = 1 << 12
STACK = 3 << 29  # bytes that a manager's thread maps for its stack, and as much again as half of it


def below(n: int, rng: np.random.Generator) -> int:
    """Return an integer drawn exactly uniformly from 0..n-1, of any size (rejection on random bits)."""
    width = (n - 1).bit_length()
    if width == 0:
        return 0
    if width < 63:
        return int(rng.integers(0, n))
    size = (width + 7) // 8
    while True:
        drawn = int.from_bytes(rng.bytes(size), "little") >> (8 * size - width)
        if drawn < n:
            return drawn


class Diagram:
    """The manager, the encoding of the variables in `order`, and functions over them.

    Every method that builds a function may raise `DDMemoryError` at `capacity` nodes.
    """

    def __init__(self, sizes: Mapping[int, Sequence[int]], order: Sequence[int], capacity: int) -> None:
        capacity = max(SMALLEST, capacity)
        self.capacity = capacity
        make_room(STACK)
        self.manager = BCDDManager(capacity, max(SMALLEST, capacity // 4), 1)
        self.order = tuple(order)
        self.sizes = sizes
        self.unit = {v: math.gcd(*sizes[v]) for v in order}
        self.scale = math.prod(self.unit.values())
        self.total = {v: sum(sizes[v]) // self.unit[v] for v in order}
        self.width = {v: (self.total[v] - 1).bit_length() for v in order}
        self.first: dict[int, int] = {}
        self.starts: dict[int, list[int]] = {}
        self.bits = 0
        for v in order:
            self.first[v] = self.bits
            self.bits += self.width[v]
            start = [0]
            for size in sizes[v]:
                start.append(start[-1] + size // self.unit[v])
            self.starts[v] = start
        self.manager.add_vars(self.bits)
        self.true, self.false = self.manager.true(), self.manager.false()
        self._masks: dict[tuple[int, int], Function] = {}
        valid = self.true
        for v in reversed(self.order):
            if self.total[v] != 1 << self.width[v]:
                valid = self._less(v, self.total[v]) & valid
        self.valid = valid

    def _less(self, v: int, bound: int) -> Function:
        """Return "the raw value of v is below `bound`"."""
        if bound >= 1 << self.width[v]:
            return self.true
        result = self.false
        for k in range(self.width[v]):  # least significant bit first: from the bottom of the diagram up
            zero = self.manager.not_var(self.first[v] + self.width[v] - 1 - k)
            result = zero | result if bound >> k & 1 else zero & result
        return result

    def _between(self, v: int, low: int, high: int) -> Function:
        above = self._less(v, high)
        return above if low == 0 else above & ~self._less(v, low)

    def mask(self, v: int, mask: int) -> Function:
        """Return "the group of v is in `mask`"."""
        found = self._masks.get((v, mask))
        if found is None:
            found, start = self.false, self.starts[v]
            for low, high in runs(mask):
                found = found | self._between(v, start[low], start[high])
            self._masks[(v, mask)] = found
        return found

    def box(self, cut: Mapping[int, int]) -> Function:
        """Return the box over the variables of the diagram; others are ignored."""
        result = None
        for v in sorted([v for v in cut if v in self.first], key=self.first.__getitem__, reverse=True):
            literal = self.mask(v, cut[v])
            result = literal if result is None else literal & result
        return self.true if result is None else result

    def meet(self, f: Function, g: Function) -> Function:
        """Return f ∧ g; collects garbage and tries once more before it gives up."""
        try:
            return f & g
        except DDMemoryError:
            self.manager.gc()
            return f & g

    def count(self, f: Function) -> int:
        """Return the number of rows of f over the variables of the diagram; f must imply `valid`."""
        return f.sat_count(self.bits) * self.scale

    def limits(self, v: int, sizes: Sequence[int]) -> list[tuple[Function, int, int]]:
        """Return terms (f, p, q) so that rows with group sizes `sizes` on v number Σ count(· ∧ f)·p/q."""
        unit, start = self.unit[v], self.starts[v]
        ratios: dict[tuple[int, int], int] = {}
        for g, (new, old) in enumerate(zip(sizes, self.sizes[v], strict=True)):
            if new:
                common = math.gcd(new, old)
                key = (new // common, old // common)
                ratios[key] = ratios.get(key, 0) | 1 << g
        if len(ratios) <= 1 or any(s % unit for s in sizes):
            return [(self.mask(v, mask), p, q) for (p, q), mask in ratios.items()]
        some = self.false
        for g, size in enumerate(sizes):
            if size:
                some = some | self._between(v, start[g], start[g] + size // unit)
        return [(some, 1, 1)]

    def counts(self, f: Function) -> dict[Function, int]:
        """Return for every node below f its model count over all bits of the diagram. Cost: its nodes."""
        full = 1 << self.bits
        known: dict[Function, int] = {}
        stack = [f]
        while stack:
            node = stack[-1]
            if node in known:
                stack.pop()
                continue
            children = node.cofactors()
            if children is None:
                known[node] = full if node.valid() else 0
                stack.pop()
                continue
            missing = [c for c in children if c not in known]
            if missing:
                stack += missing
            else:
                known[node] = (known[children[0]] + known[children[1]]) >> 1
                stack.pop()
        return known

    def draw(self, f: Function, counts: Mapping[Function, int], rng: np.random.Generator) -> dict[int, int]:
        """Return the group of every variable for one row drawn exactly uniformly from f."""
        codes = dict.fromkeys(self.order, 0)
        node = f
        for v in self.order:
            code = 0
            for level in range(self.first[v], self.first[v] + self.width[v]):
                if node.node_level() == level:
                    children = node.cofactors()
                    assert children is not None
                    yes, no = counts[children[0]], counts[children[1]]
                    bit = below(yes + no, rng) < yes
                    node = children[0] if bit else children[1]
                else:
                    bit = bool(rng.integers(0, 2))  # the bit is free here
                code = 2 * code + bit
            codes[v] = code
        return {v: bisect_right(self.starts[v], codes[v]) - 1 for v in self.order}


def choose(
    left: Mapping[int, int],
    pending: Iterable[Mapping[int, int]],
    sizes: Weights,
    falsified: Callable[[int, int], int],
) -> tuple[int, int] | None:
    """Return the literal (variable, mask) that makes most pending boxes impossible per bit of size it costs.

    A pending box with a single open variable forces its literal (unit propagation); one with none cannot be
    made impossible any more: None.
    """
    best, winner = -1.0, None
    tried: set[tuple[int, int]] = set()
    for other in pending:
        literals = [(v, keep) for v, mask in other.items() if (keep := left[v] & ~mask)]
        if len(literals) < 2:
            return literals[0] if literals else None
        for v, keep in literals:
            if (v, keep) in tried:
                continue
            tried.add((v, keep))
            # Only a choice among literals: a rounding error here cannot make a bound wrong.
            cost = _log2(weight(sizes[v], left[v])) - _log2(weight(sizes[v], keep))
            score = falsified(v, keep) / max(cost, 1e-9)
            if score > best:
                best, winner = score, (v, keep)
    return winner


def _log2(n: int) -> float:
    """Return log2 of a positive integer of any size."""
    shift = max(0, n.bit_length() - 60)
    return math.log2(n >> shift) + shift


def capacity_for(memory: int) -> int:
    """Return how many nodes fit into `memory` bytes, with room left to count models (about 100 bytes a node)."""
    return max(0, memory) * 7 // (10 * NODE_BYTES)


def support(cuts: Iterable[Collection[int]]) -> list[int]:
    """Return the variables that occur in some box, sorted."""
    return sorted({v for cut in cuts for v in cut})


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


def region_size(measure: Measure, reduced: FirstMatch, task: Task) -> int:
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
