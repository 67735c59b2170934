"""All histograms of one component as a layered graph: a path is a histogram, a state what the statements saw so far.

Cell by cell, states that agree on every statement still open are one state. The graph is built once; counting,
marginals, bounds, listing and drawing are passes over its edges. States that cannot be completed by what the
remaining cells could still add are never made.

Source: dynamic programming over the constraint graph's frontier; docs/engines.md, "Coupled worlds, exactly".

In which order the cells of a component are settled, so that few statements are open at a time.

A statement is open from its first cell to its last; the states of `solvers.histograms.decision_diagram` multiply over
the open ones, so the greatest number of them at once (the width) decides whether histograms can be counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Component
from solvers.cells.linear_system import HASHES
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.exact import OPEN
from solvers.foundation.limits import Clock, Limits

WINDOW = 2_048  # candidates compared for one place; of wider statements those that open fewest others
EVERY = 256  # places between two looks at the clock
CLOSED = OPEN


def elimination_order(matrix: Ints, limits: Limits | None = None) -> list[int]:
    """Return the cells (columns of `matrix`, one row per statement) in an order of small width.

    Greedy: of the cells of the open statement with fewest cells left, the one that opens fewest new statements.
    Raises `Inconclusive` when time is up. Cost: the entries that are not 0, plus per cell the statements and at most
    `WINDOW` candidates.
    """
    greedy, order = Greedy(matrix), []
    for place in range(matrix.shape[1]):
        if limits is not None and place % EVERY == 0:
            if limits.expired():
                raise Inconclusive(f"the time was up while cells were put in order ({place:,} of {matrix.shape[1]:,})")
            limits.report(f"order of cells: {place:,} of {matrix.shape[1]:,}")
        order.append(greedy.take())
    return order


def width(matrix: Ints, order: list[int]) -> int:
    """Return the greatest number of statements open at once when the cells are settled in an order."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    used = matrix != 0
    first, last = np.where(used, place, len(order)).min(axis=1), np.where(used, place, -1).max(axis=1)
    change = np.zeros(len(order) + 1, dtype=np.int64)
    np.add.at(change, first[last >= 0], 1)
    np.add.at(change, last[last >= 0], -1)
    return int(np.cumsum(change).max())


class Greedy:
    """What is open, and what every cell would open; each entry of the matrix is looked at a fixed number of times."""

    def __init__(self, matrix: Ints) -> None:
        used = matrix != 0
        self.left: Ints = used.sum(axis=1)
        self.length: Ints = np.full(len(matrix), CLOSED)  # cells left of the open statements
        self.cells = [np.flatnonzero(row) for row in used]
        by_cell, row = np.nonzero(np.ascontiguousarray(used.T))
        self.rows = np.split(row, np.searchsorted(by_cell, np.arange(1, matrix.shape[1])))
        # Statements that a cell would open, less those that it would end; CLOSED and above: it is settled.
        self.price: Ints = used.sum(axis=0) - used[self.left == 1].sum(axis=0)
        self.opened = np.zeros(len(matrix), dtype=bool)
        self.every = EliminationWindow(np.arange(matrix.shape[1]))
        self.of: dict[int, EliminationWindow] = {}

    def take(self) -> int:
        """Return the next cell."""
        candidates = self.every
        if len(self.length) and self.length[r := int(self.length.argmin())] < CLOSED:
            candidates = self.of[r]
        c = candidates.best(self.price)
        self.price[c] = CLOSED
        rows = self.rows[c]
        for s in rows[~self.opened[rows]].tolist():
            self.price[self.cells[s]] -= 1
            self.of[s] = EliminationWindow(self.cells[s])
        self.opened[rows] = True
        self.left[rows] -= 1
        left = self.left[rows]
        self.length[rows] = np.where(left > 0, left, CLOSED)
        for s in rows[left == 1].tolist():
            last = self.cells[s]
            self.price[last[self.price[last] < CLOSED // 2]] -= 1
        for s in rows[left == 0].tolist():
            del self.of[s]
        return c


class EliminationWindow:
    """The cells of one statement that are not settled; of many only a window is compared, renewed when half is gone."""

    def __init__(self, cells: Ints) -> None:
        self.cells = self.window = cells
        self.taken = 0
        self.wide = len(cells) > WINDOW

    def best(self, price: Ints) -> int:
        """Return the cell of the lowest price, the first of equals."""
        if self.wide and self.taken % (WINDOW // 2) == 0:
            self.renew(price)
        found = self.window[int(price[self.window].argmin())]
        if price[found] >= CLOSED // 2:  # the others of the statement were settled as cells of others
            self.renew(price)
            found = self.window[int(price[self.window].argmin())]
        self.taken += 1
        return int(found)

    def renew(self, price: Ints) -> None:
        """Compare the cells that open fewest statements from here on."""
        self.cells = self.cells[price[self.cells] < CLOSED // 2]
        self.wide, self.window = len(self.cells) > WINDOW, self.cells
        if self.wide:
            self.window = np.sort(self.cells[np.argpartition(price[self.cells], WINDOW)[:WINDOW]])


EDGE_BYTES = 48  # an edge, its place in both orders, and its share of the states
MAX_STATES = 400_000
EARLY = 0.02  # of them in the first layers, where states only multiply: what will not fit is given up soon
CHECKED = 1 << 24  # state entries compared at a time
MIN_FORESEEN_EDGES = 1 << 18  # edges of one cell: from here on their time and memory are foreseen
STEP_BYTES = 96  # of an edge while its layer is made
STEP_WORK, OPEN_WORK = 2e-7, 8e-8  # of an edge, and per statement that is open there, measured
AT_ONCE = 1 << 14  # edges along which long integers are multiplied between two looks at the clock
REMEMBERED = 1 / 8  # of the memory: what is kept of final states asked about before
SAMPLE = 64  # states whose numbers are looked at to tell how long they have become
PHASE = "histograms were counted"


@dataclass(frozen=True, eq=False)
class DiagramLayer:
    """The edges of one cell: from state `source` by `y` more rows to state `target`; ordered by source.

    `by_target` sorts the edges by target, `first` says where each target's edges then begin.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    y: NDArray[np.int32]
    by_target: NDArray[np.int32]
    first: NDArray[np.int32]
    sources: int

    def forward(self, values: NDArray[Any], weight: NDArray[Any], clock: Clock, add: Any = np.add) -> NDArray[Any]:
        """Return Σ values[source] * weight[y] per target (`add` np.add), or the min or max of sums."""
        clock.check(PHASE)
        if values.dtype != object or len(self.y) <= AT_ONCE:
            along = self.combine(values[self.source], weight[self.y], add)
            return np.asarray(add.reduceat(along[self.by_target], self.first))
        out = []
        found = np.unique(np.searchsorted(self.first, np.arange(0, len(self.y), AT_ONCE)))
        cuts = found[found < len(self.first)].tolist()  # of targets: whole ones, each of any number of edges
        for a, b in zip(cuts, [*cuts[1:], len(self.first)], strict=True):
            clock.check(PHASE)
            start, end = int(self.first[a]), int(self.first[b]) if b < len(self.first) else len(self.y)
            edges = self.by_target[start:end]
            along = self.combine(values[self.source[edges]], weight[self.y[edges]], add)
            out.append(np.asarray(add.reduceat(along, self.first[a:b] - start)))
        return np.concatenate(out)

    @staticmethod
    def combine(values: NDArray[Any], weight: NDArray[Any], add: Any) -> NDArray[Any]:
        """Return products for sums, sums for minima and maxima."""
        return np.asarray(values * weight if add is np.add else values + weight)


@dataclass(frozen=True, eq=False)
class Layers:
    """The layered graph of a component: `order` are its cells (positions in `part.cells`) layer by layer.

    `totals` (final states, kept statements) are what the free cells add to `part.keep`, one final state for each.
    """

    part: Component
    order: tuple[int, ...]
    layers: tuple[DiagramLayer, ...]
    totals: NDArray[np.int64]
    clock: Clock = field(default_factory=Clock)

    @property
    def edges(self) -> int:
        """Return the number of edges."""
        return sum(len(layer.y) for layer in self.layers)

    @property
    def bytes(self) -> int:
        """Return about how many bytes the graph takes."""
        return self.edges * EDGE_BYTES

    def count(self, weights: Sequence[Sequence[int]]) -> list[int]:
        """Return, per final state, the exact sum over paths of the product of `weights[cell][y]`."""
        values: NDArray[Any] = np.array([1], dtype=object)
        for cell, layer in zip(self.order, self.layers, strict=True):
            values = layer.forward(values, _objects(weights[cell]), self.clock)
            self.make_room(_numbers_bytes(values))
        return list(values)

    def make_room(self, held: float) -> None:
        """Refuse numbers that do not fit into the memory."""
        if held > self.clock.limits.room:
            raise TooLarge(f"counts of histograms of about {held / 1e6:,.0f} MB (--memory)")

    def prefixes(self, weights: Sequence[Sequence[int]]) -> list[NDArray[Any]]:
        """Return the exact counts of the paths to every state, layer by layer (the start first)."""
        out: list[NDArray[Any]] = [np.array([1], dtype=object)]
        held = 0.0
        for cell, layer in zip(self.order, self.layers, strict=True):
            out.append(layer.forward(out[-1], _objects(weights[cell]), self.clock))
            held += _numbers_bytes(out[-1])
            self.make_room(held)
        return out

    def weighed(self, logs: Sequence[Floats]) -> EdgeProbabilities:
        """Return the share of every edge among the edges into its target, `logs[cell][y]` natural logs of weights.

        The pass adds logarithms, so that no weight is too small or too large for it.
        """
        values, shares = np.zeros(1), []
        for cell, layer in zip(self.order, self.layers, strict=True):
            self.clock.check(PHASE)
            along = values[layer.source] + logs[cell][layer.y]
            top = np.maximum.reduceat(along[layer.by_target], layer.first)
            base = np.where(np.isfinite(top), top, 0.0)  # a state that only weights of 0 lead to
            part = np.exp(along - base[layer.target])
            whole = np.add.reduceat(part[layer.by_target], layer.first)
            shares.append(part / np.where(whole > 0.0, whole, 1.0)[layer.target])
            with np.errstate(divide="ignore"):
                values = base + np.log(whole)
        return EdgeProbabilities(self, tuple(shares))

    def extreme(self, costs: Sequence[NDArray[Any]], greatest: bool, final: int | None = None) -> tuple[Any, Ints]:
        """Return the least (greatest) sum of `costs[cell][y]` over all paths, and a histogram y that attains it.

        `final`: only paths to this final state.
        """
        add = np.maximum if greatest else np.minimum
        values = [np.zeros(1, dtype=costs[0].dtype)]
        for cell, layer in zip(self.order, self.layers, strict=True):
            values.append(layer.forward(values[-1], costs[cell], self.clock, add))
        state = final
        if state is None:
            state = int(np.argmax(values[-1]) if greatest else np.argmin(values[-1]))
        best, y = values[-1][state], np.zeros(len(self.order), dtype=np.int64)
        for i in range(len(self.layers) - 1, -1, -1):
            layer, cell = self.layers[i], self.order[i]
            edges = incoming(layer, state)
            sums = values[i][layer.source[edges]] + costs[cell][layer.y[edges]]
            at = edges[int(np.argmax(sums) if greatest else np.argmin(sums))]
            y[cell], state = layer.y[at], int(layer.source[at])
        return best, y

    def extent(self, cells: Iterable[int], greatest: bool) -> int:
        """Return the least (greatest) number of rows more that some cells hold together, over all paths.

        Only the layers from the first of the cells to the last are passed: paths reach each state of the first layer,
        and go on from each state that is alive.
        """
        wanted = set(cells)
        depths = [self.depth[c] for c in wanted]
        first, end = min(depths), max(depths) + 1
        add = np.maximum if greatest else np.minimum
        values = np.zeros(self.layers[first].sources, dtype=np.int64)
        for cell, layer in zip(self.order[first:end], self.layers[first:end], strict=True):
            rows = np.arange(int(self.part.room[cell]) + 1) * (cell in wanted)
            values = layer.forward(values, rows, self.clock, add)
        left = values[self.alive[end]]
        return int(left.max() if greatest else left.min())

    def paths(self) -> Iterator[Ints]:
        """Yield every histogram y once, in lexicographic order of `order`."""
        alive = self.alive
        y = np.zeros(len(self.order), dtype=np.int64)
        stack: list[Iterator[int]] = [iter(_outgoing(self.layers[0], 0))] if self.layers else []
        if not self.layers:
            yield y.copy()
        while stack:
            depth = len(stack) - 1
            edge = next(stack[-1], None)
            if edge is None:
                stack.pop()
                continue
            layer, target = self.layers[depth], int(self.layers[depth].target[edge])
            if not alive[depth + 1][target]:
                continue
            y[self.order[depth]] = layer.y[edge]
            if depth + 1 == len(self.layers):
                yield y.copy()
            else:
                stack.append(iter(_outgoing(self.layers[depth + 1], target)))

    def ranges(self) -> tuple[Ints, Ints]:
        """Return, per cell of the component, the least and greatest y of any histogram."""
        alive, out = self.alive, np.zeros((2, len(self.order)), dtype=np.int64)
        for i, (cell, layer) in enumerate(zip(self.order, self.layers, strict=True)):
            held = layer.y[alive[i + 1][layer.target]]
            out[:, cell] = held.min(), held.max()
        return out[0], out[1]

    @cached_property
    def depth(self) -> dict[int, int]:
        """Return the layer of every cell."""
        return {cell: i for i, cell in enumerate(self.order)}

    @cached_property
    def alive(self) -> list[NDArray[np.bool_]]:
        """Return, per layer, which states some complete path passes."""
        out = [np.ones(len(self.totals), dtype=bool)]
        for layer in reversed(self.layers):
            self.clock.check(PHASE)
            here = np.zeros(layer.sources, dtype=bool)
            here[layer.source[out[-1][layer.target]]] = True
            out.append(here)
        return out[::-1]


@dataclass(frozen=True, eq=False)
class EdgeProbabilities:
    """A graph with, per edge, its share of the weight of its target: what a backward walk takes as probabilities."""

    graph: Layers
    shares: tuple[Floats, ...]
    _masses: dict[int, list[Floats]] = field(init=False, default_factory=dict, compare=False)

    def masses(self, final: int) -> list[Floats]:
        """Return, layer by layer, the share of weight that passes every state on its way to a final state.

        Those of several final states are remembered while they take a small part of the memory.
        """
        if final not in self._masses:
            held = 8 * (len(self._masses) + 1) * sum(layer.sources for layer in self.graph.layers)
            if held > self.graph.clock.limits.room * REMEMBERED:
                self._masses.clear()
            mass = np.zeros(len(self.graph.totals))
            mass[final] = 1.0
            out: list[Floats] = [mass]
            for i in range(len(self.graph.layers) - 1, -1, -1):
                out.append(self._before(i, self._along(i, out[-1])))
            self._masses[final] = out[::-1]
        return self._masses[final]

    def _along(self, i: int, mass: Floats) -> Floats:
        """Return the share of weight along every edge of a layer, from the share of its targets."""
        self.graph.clock.check(PHASE)
        return np.asarray(self.shares[i] * mass[self.graph.layers[i].target])

    def _before(self, i: int, along: Floats) -> Floats:
        """Return the share of weight of every source of a layer, from that along its edges."""
        layer = self.graph.layers[i]
        return np.bincount(layer.source, along, minlength=layer.sources).astype(np.float64)

    def marginals(self, final: int) -> list[Floats]:
        """Return, per cell of the component, the share of weight with y rows more, y = 0..room, given a final state."""
        masses = self.masses(final)
        out: list[Floats] = [np.zeros(0)] * len(self.graph.order)
        for i, (cell, layer) in enumerate(zip(self.graph.order, self.graph.layers, strict=True)):
            room = int(self.graph.part.room[cell])
            along = self._along(i, masses[i + 1])
            out[cell] = np.bincount(layer.y, along, minlength=room + 1).astype(np.float64)
        return out

    def mean_product(self, ratios: dict[int, Floats], final: int) -> float:
        """Return the mean, over paths to a final state, of the product of `ratios[cell][y]`.

        Cost: the layers from the first of the cells to the last.
        """
        depths = [self.graph.depth[c] for c in ratios]
        first, last = min(depths), max(depths)
        mass = self.masses(final)[last + 1]
        for i in range(last, first - 1, -1):
            along = self._along(i, mass)
            if (cell := self.graph.order[i]) in ratios:
                along = along * ratios[cell][self.graph.layers[i].y]
            mass = self._before(i, along)
        return math.fsum(mass.tolist())

    def mean_rows(self, cell: int, gain: Floats, cells: Iterable[int], final: int) -> dict[int, float]:
        """Return, for each of some cells, the mean of gain[y of `cell`] times its own y, given a final state.

        Cost: the layers from the first of the cells to the last, and those to `cell`.
        """
        depth, masses, wanted = self.graph.depth, self.masses(final), set(cells)
        at = depth[cell]
        first, last = min(at, *map(depth.__getitem__, wanted)), max(at, *map(depth.__getitem__, wanted))
        out: dict[int, float] = {}
        layer = self.graph.layers[at]
        along = self._along(at, masses[at + 1]) * gain[layer.y]
        if cell in wanted:
            out[cell] = float(along @ layer.y)
        for i in range(at - 1, first - 1, -1):  # cells before: the weight that is left flows back
            along = self._along(i, self._before(i + 1, along))
            if self.graph.order[i] in wanted:
                out[self.graph.order[i]] = float(along @ self.graph.layers[i].y)
        part = self.shares[at] * gain[layer.y]
        for i in range(at + 1, last + 1):  # cells after: the mean gain of the paths to every state
            self.graph.clock.check(PHASE)
            mean = np.add.reduceat(part[layer.by_target], layer.first)
            layer = self.graph.layers[i]
            part = self.shares[i] * mean[layer.source]
            if self.graph.order[i] in wanted:
                out[self.graph.order[i]] = float((part * masses[i + 1][layer.target]) @ layer.y)
        return out


def _objects(weights: Sequence[int]) -> NDArray[Any]:
    """Return Python integers as an array of objects."""
    out = np.empty(len(weights), dtype=object)
    out[:] = weights
    return out


def _numbers_bytes(values: NDArray[Any]) -> float:
    """Return about how many bytes whole numbers of any length take, from some of them."""
    some = values[:: max(1, len(values) // SAMPLE)]
    return len(values) * (40 + max((int(v).bit_length() for v in some), default=0) / 8)


def incoming(layer: DiagramLayer, target: int) -> NDArray[np.int32]:
    """Return the edges into a state."""
    end = layer.first[target + 1] if target + 1 < len(layer.first) else len(layer.y)
    return layer.by_target[layer.first[target] : end]


def _outgoing(layer: DiagramLayer, source: int) -> range:
    """Return the edges out of a state, fewest rows first."""
    return range(*np.searchsorted(layer.source, [source, source + 1]).tolist())


def layers_of(part: Component, limits: Limits, order: list[int] | None = None) -> Layers | None:
    """Return the layered graph of a component, None where no histogram meets its statements.

    `order`: its cells as they are settled, by default that of `elimination_order`. Raises `Unsupported` when states or
    edges exceed the limits, `Inconclusive` when time is up. Cost: linear in edges; their number depends on how far the
    statements overlap, not on the number of rows.
    """
    if part.matrix is None:
        raise TooLarge(f"a component of {len(part.cells):,} cells and {len(part.statements):,} statements")
    order = elimination_order(part.matrix, limits) if order is None else order
    builder, made, edges = Builder(part, order), [], 0
    maximum = limits.room // EDGE_BYTES
    for i in range(len(order)):
        layer = builder.step(i, maximum - edges, limits)
        if layer is None:
            return None
        edges += len(layer.y)
        made.append(layer)
        if i % 16 == 0:
            limits.report(f"counting: cell {i} of {len(order)}, {len(builder.states):,} states")
        if limits.expired():
            raise Inconclusive("the time was up while histograms were counted")
    totals = builder.states[:, [builder.open.index(r) for r in part.keep]]
    found = Layers(part, tuple(order), tuple(made), totals, Clock(limits))
    limits.keep(found, found.bytes)
    return found


class Builder:
    """Grows the states of a component cell by cell."""

    def __init__(self, part: Component, order: list[int]) -> None:
        if part.matrix is None:
            raise TypeError("the component has no matrix")
        self.part, self.matrix, self.order = part, part.matrix, order
        self.states: NDArray[np.int64] = np.zeros((1, 0), dtype=np.int64)
        self.open: list[int] = []
        added = self.matrix * part.room
        self.minimum, self.maximum = np.minimum(added, 0).sum(axis=1), np.maximum(added, 0).sum(axis=1)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        used = self.matrix != 0
        # Kept statements stay open behind the last cell.
        self.last = np.where(used.any(axis=1), np.where(used, place, -1).max(axis=1), -1)
        self.last[list(part.keep)] = len(order)

    def step(self, i: int, maximum: int, limits: Limits) -> DiagramLayer | None:
        """Return the layer of the i-th cell, the states moved behind it; None where no state can go on."""
        c = self.order[i]
        rows = np.flatnonzero(self.matrix[:, c])
        for r in rows.tolist():
            if r not in self.open:
                self.open.append(r)
                self.states = np.concatenate([self.states, np.zeros((len(self.states), 1), dtype=np.int64)], axis=1)
            self.minimum[r] -= min(0, int(self.matrix[r, c] * self.part.room[c]))
            self.maximum[r] -= max(0, int(self.matrix[r, c] * self.part.room[c]))
        first, last = self.span(c, rows)
        times = np.maximum(last - first + 1, 0)
        total = int(times.sum())
        if not total:
            return None
        if total > maximum:
            raise TooLarge(f"more than {maximum:,} edges of histograms at cell {i} of {len(self.order)} (--memory)")
        if total > MIN_FORESEEN_EDGES and total * STEP_BYTES > limits.room:
            raise TooLarge(f"{total:,} edges of histograms at cell {i} of {len(self.order)} (--memory)")
        work = total * (STEP_WORK + OPEN_WORK * len(self.open))
        if total > MIN_FORESEEN_EDGES and not limits.affords(work):
            raise Inconclusive(f"too little time for {total:,} edges of histograms at cell {i} of {len(self.order)}")
        limits.charge(work)
        source = np.repeat(np.arange(len(times), dtype=np.int32), times)
        start = np.cumsum(times) - times
        y = np.arange(total, dtype=np.int64) - np.repeat(start - first, times)
        return self.merge(i, c, rows, source, y)

    def span(self, c: int, rows: Ints) -> tuple[Ints, Ints]:
        """Return, per state, the least and greatest y of cell c that can still be completed."""
        first = np.zeros(len(self.states), dtype=np.int64)
        last = np.full(len(self.states), int(self.part.room[c]), dtype=np.int64)
        for r in rows.tolist():
            a, x = int(self.matrix[r, c]), self.states[:, self.open.index(r)]
            up, down = int(self.part.high[r] - self.minimum[r]) - x, int(self.part.low[r] - self.maximum[r]) - x
            if a > 0:
                last = np.minimum(last, up // a)
                first = np.maximum(first, -((-down) // a))
            else:
                last = np.minimum(last, (-down) // -a)
                first = np.maximum(first, -(up // -a))
        return first, last

    def merge(self, i: int, c: int, rows: Ints, source: NDArray[np.int32], y: Ints) -> DiagramLayer:
        """Return the layer of the given edges; equal states become one."""
        closing = [k for k, r in enumerate(self.open) if self.last[r] == i]
        kept = [k for k in range(len(self.open)) if k not in closing]
        moves = np.zeros(len(self.open), dtype=np.int64)
        moves[[self.open.index(r) for r in rows.tolist()]] = self.matrix[rows, c]
        hashes = np.resize(HASHES, len(self.open))[kept]
        with np.errstate(over="ignore"):
            keys = (self.states[:, kept].view(np.uint64) @ hashes)[source]
            keys = keys + y.view(np.uint64) * (moves[kept].view(np.uint64) @ hashes)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        maximum = int(MAX_STATES * min(1.0, EARLY + 1.5 * i / len(self.order)))
        if len(first) > maximum:
            raise TooLarge(f"more than {maximum:,} states of histograms at cell {i} of {len(self.order)}")
        fresh = self.states[source[first]][:, kept] + y[first, None] * moves[kept]
        self.verify(source, y, group, fresh, kept, moves[kept])
        sources = len(self.states)
        self.states, self.open = np.ascontiguousarray(fresh), [self.open[k] for k in kept]
        by_target = np.argsort(group, kind="stable").astype(np.int32)
        starts = np.searchsorted(group[by_target], np.arange(len(first))).astype(np.int32)
        return DiagramLayer(source, group.astype(np.int32), y.astype(np.int32), by_target, starts, sources)

    def verify(self, source: Any, y: Ints, group: Ints, fresh: Any, kept: list[int], moves: Ints) -> None:
        """Check that edges with equal hashes lead to equal states, so that no hash can falsify a count."""
        step = max(1, CHECKED // max(1, len(kept)))
        before = self.states[:, kept]
        for i in range(0, len(y), step):
            part = slice(i, i + step)
            if not np.array_equal(before[source[part]] + y[part, None] * moves, fresh[group[part]]):
                raise Unsupported("two states have the same hash")
