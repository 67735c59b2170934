"""Lower bounds on the weighted number of histograms: blocks of cells that each keep their own sums.

Around one histogram, cells fall into blocks; the rows of each block may be spread anew wherever every statement
keeps its sum inside the block. Blocks do not see each other, so their exact counts multiply, and every product of
choices is another histogram of the whole. Blocks grow along short moves (two cells up, two down, no sum changed).

Source: 2x2 moves of contingency tables (Diaconis, Sturmfels, "Algebraic algorithms for sampling from conditional
distributions", Ann. Statist. 26, 1998); exact counts by `solvers.histograms.decision_diagram`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Component
from solvers.cells.linear_system import HASHES
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.branches import weights_of
from solvers.histograms.decision_diagram import EDGE_BYTES, layers_of
from solvers.statements.questions.query import Convention

MAX_PAIRS = 1_500  # cells whose pairs are compared
PAIR_BYTES = 100  # of a pair
PAIR_WORK = 3e-7  # of a pair: sorted, and looked for, about
TRIED_WORK = 5e-5  # of a pair with up to 40 partners, about
MAX_MOVES = 50_000
MAX_EDGES = 30_000  # of a block's graph
MAX_CELLS = 40  # of a block
WINDOW = 24  # a cell strays at most this far from its count, and further only with its square root
MEMORY = MAX_EDGES * EDGE_BYTES
FAILURES = 25  # merges refused before a block is left as it is


@dataclass(frozen=True, eq=False)
class HistogramNeighbourhood:
    """A component and one of its histograms y; `sizes` and `least` of its cells, the convention of the weights."""

    part: Component
    y: Ints
    sizes: tuple[int, ...]
    minimum: Ints
    convention: Convention

    @property
    def matrix(self) -> NDArray[np.int64]:
        """Return the statements' coefficients."""
        if self.part.matrix is None:
            raise TypeError("the component has no matrix")
        return self.part.matrix

    def window(self, cell: int) -> tuple[int, int]:
        """Return how far down and up a cell may go: a window of its room, which only lowers the bound."""
        y, reach = int(self.y[cell]), WINDOW + int(6 * math.sqrt(int(self.y[cell]) + int(self.minimum[cell])))
        return max(0, y - reach), min(int(self.part.room[cell]), y + reach)

    def block(self, cells: Sequence[int]) -> Component:
        """Return the component of a block: its cells within their windows, all sums as they are."""
        at = np.array(cells, dtype=np.int64)
        sub = self.matrix[:, at]
        rows = np.flatnonzero(sub.any(axis=1)).astype(np.int64)
        spans = np.array([self.window(c) for c in cells], dtype=np.int64)
        sums = sub[rows] @ (self.y[at] - spans[:, 0])
        return Component(at, spans[:, 1] - spans[:, 0], rows, sub[rows], sums, sums)

    def weights(self, cells: Sequence[int]) -> list[list[int]]:
        """Return the exact weights of the block's cells, whole numbers up to a factor common to a cell."""
        out = []
        for c in cells:
            low, high = self.window(c)
            out.append(weights_of(self.sizes[c], int(self.minimum[c]) + low, high - low, self.convention))
        return out

    def own(self, cells: Sequence[int]) -> int:
        """Return the weight of y itself in a block, by the same factors as `weights`."""
        weights = self.weights(cells)
        return math.prod(w[int(self.y[c]) - self.window(c)[0]] for c, w in zip(cells, weights, strict=True))


def log2_ratio(above: int, below: int) -> tuple[float, float]:
    """Return bounds (low, high) of log2(above / below) for above >= below > 0; at least 59 bits of it are kept.

    The whole part of the shifted ratio is off by less than 2^-58 of itself, its log2 by less than 2^-50 of itself.
    """
    shift = max(0, 64 - (above.bit_length() - below.bit_length()))
    whole = (above << shift) // below
    cut = max(0, whole.bit_length() - 60)
    found = math.log2(whole >> cut) - shift + cut
    slack = 2.0**-50 * abs(found) + 2.0**-44
    return max(0.0, found - slack), found + slack


def moves_of(around: HistogramNeighbourhood, limits: Limits) -> list[tuple[int, ...]]:
    """Return moves (cells a, b, c, d): a and c up, b and d down leaves every sum; best score first.

    Pairs of cells whose columns differ alike, found by hashing (a hash that errs costs a try, never a wrong count), of
    as many cells as memory and work allow for.
    """
    count = around.y + around.minimum
    usable = np.flatnonzero(around.part.room > 0)
    most = min(limits.room / PAIR_BYTES, limits.work_left() / PAIR_WORK, MAX_PAIRS**2)
    usable = usable[np.argsort(-count[usable], kind="stable")][: math.isqrt(int(most))]
    limits.charge(PAIR_WORK * len(usable) ** 2)
    with np.errstate(over="ignore"):
        hashes = np.resize(HASHES, len(around.matrix))
        keys = around.matrix[:, usable].T.copy().view(np.uint64) @ hashes
        active = np.flatnonzero(around.y[usable] > 0)  # b and d go down: they need rows
        up = np.tile(np.arange(len(usable)), len(active))
        down = np.repeat(active, len(usable))
        differ = up != down
        up, down = up[differ], down[differ]
        change = keys[up] - keys[down]
    order = np.argsort(change, kind="stable")
    change, up, down = change[order], up[order], down[order]
    # The partner of (a up, b down) has the opposite change: c up, d down.
    with np.errstate(over="ignore"):
        opposite = np.zeros(len(change), dtype=np.uint64) - change
    first, last = np.searchsorted(change, opposite, "left"), np.searchsorted(change, opposite, "right")
    found: list[tuple[float, tuple[int, int, int, int]]] = []
    hits = np.flatnonzero(last > first)
    for i in hits[np.argsort(-count[usable[down[hits]]], kind="stable")].tolist():
        for j in range(int(first[i]), min(int(last[i]), int(first[i]) + 40)):
            a, b, c, d = (int(usable[k]) for k in (up[i], down[i], up[j], down[j]))
            if i < j and len({a, b, c, d}) == 4:
                found.append((_score(around, (a, b, c, d)), (a, b, c, d)))
        limits.charge(TRIED_WORK)
        if len(found) >= MAX_MOVES or limits.late():
            break
    return [move for _, move in sorted(found, key=lambda m: (-m[0], m[1]))]


def _score(around: HistogramNeighbourhood, move: tuple[int, int, int, int]) -> float:
    """Return about how much of the weight of y one step of the move keeps, the larger the freer."""
    z = around.y + around.minimum
    a, b, c, d = (int(z[i]) for i in move)
    sizes = [around.sizes[i] for i in move]
    if around.convention == "multiset":
        return b * d / ((b + sizes[1]) * (d + sizes[3])) * (a + sizes[0]) * (c + sizes[2]) / ((a + 1) * (c + 1))
    return b * d / ((a + 1) * (c + 1)) * min(1e6, sizes[0] * sizes[2] / (sizes[1] * sizes[3])) + min(a, b, c, d)


class Blocks:
    """A partition of cells into countable blocks, growing; `log2` is what it adds to the weight of y, at least."""

    def __init__(self, around: HistogramNeighbourhood) -> None:
        """Start with every cell by itself, which adds nothing."""
        self.around = around
        self.of: dict[int, tuple[int, ...]] = {}
        self.gains: dict[tuple[int, ...], float] = {}
        self.failed: dict[tuple[int, ...], int] = {}

    @property
    def log2(self) -> float:
        """Return log2 of the product of the blocks' counts over the weight of y, rounded downward."""
        total = math.fsum(self.gains.values())
        return total * (1.0 - 2.0**-50)

    def grow(self, moves: Sequence[tuple[int, ...]], limits: Limits) -> None:
        """Merge blocks along the moves, best first, as long as they stay countable and there is time."""
        for move in moves:
            if limits.expired():
                return
            parts = {self.of.get(c, (c,)) for c in move}
            if len(parts) == 1 or any(self.failed.get(p, 0) >= FAILURES for p in parts):
                continue
            merged = tuple(sorted({c for p in parts for c in p}))
            if len(merged) > MAX_CELLS:
                continue
            gain = self.count(merged, limits)
            before = math.fsum(self.gains.get(p, 0.0) for p in parts)
            if gain is None or gain <= before:
                for p in parts:
                    self.failed[p] = self.failed.get(p, 0) + 1
                continue
            for p in parts:
                self.gains.pop(p, None)
            self.gains[merged] = gain
            self.of.update(dict.fromkeys(merged, merged))

    def count(self, cells: tuple[int, ...], limits: Limits) -> float | None:
        """Return what a block adds, None where it is too large."""
        within = replace(limits, memory=min(limits.memory, MEMORY), progress=None)
        try:
            graph = layers_of(self.around.block(cells), within)
            if graph is None:
                raise AssertionError("a block lost its own histogram")
            return log2_ratio(graph.count(self.around.weights(cells))[0], self.around.own(cells))[0]
        except (Unsupported, Inconclusive):
            return None
