"""All histograms of a release: one branch per combination of alternatives, one layered graph per component.

Branches exclude each other, components are independent, so that counts add over branches and multiply over
components, and every mean over worlds is a mixture over branches.

Source: Ferry et al., SaTML 2024 (possible worlds, equally likely); docs/mathematics.md, "Possible worlds and their
conventions".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Component, Presolve, known_presolve, presolve
from solvers.cells.linear_system import Propagated, propagate
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.exact import (
    Factor,
    factorial_ratio,
    log2_factorial_ratio,
    log2_multisets,
    log2_product,
    multiset_factors,
)
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.pieces import STARTING, completed
from solvers.histograms.decision_diagram import EdgeProbabilities, Layers, layers_of
from solvers.statements.questions.query import Convention

MAX_BRANCHES = 2_000  # combinations of alternatives tried
MAX_COMBINED = 20_000  # combinations before propagation drops some
MAX_FACTORS = 100_000  # of one binomial coefficient: four seconds of a processor
Final = tuple[int, int]  # branch, final state


@dataclass(frozen=True, eq=False)
class HistogramBranch:
    """The histograms of one combination of alternatives: fixed cells, and a graph per component of free ones.

    `totals` (final states, kept statements) are the sums of the kept statements; with nothing kept, one state.
    """

    bounds: Propagated
    graphs: tuple[Layers, ...]
    totals: NDArray[np.int64]
    presolved: Presolve

    @cached_property
    def place(self) -> dict[int, tuple[int, int]]:
        """Return cell -> (graph, position in its component) for the free cells."""
        return {c: (g, i) for g, graph in enumerate(self.graphs) for i, c in enumerate(graph.part.cells.tolist())}

    @classmethod
    def single(cls, system: CellSystem, z: Ints) -> HistogramBranch:
        """Return the branch of one histogram of a system."""
        nothing = Presolve(len(system.sizes), len(system.sizes), len(system.linear), 0, ())
        kept = 0 if system.release.rows.exact else 1
        return cls(Propagated(z, z), (), np.array([[z.sum()] * kept], dtype=np.int64), nothing)

    def hear(self, limits: Limits) -> None:
        """Let every pass over the graphs look at these limits from here on."""
        for graph in self.graphs:
            graph.clock.limits = limits

    def final(self, graph: int, state: int) -> int:
        """Return the final state of a graph: only the graph with kept statements has several."""
        return state if self.graphs[graph].part.keep else 0


def branches_of(system: CellSystem, limits: Limits, keep: tuple[int, ...] = ()) -> tuple[HistogramBranch, ...]:
    """Return every branch that has a histogram; none where the statements contradict each other.

    `keep` are statements whose sums distinguish final states; the number of rows is kept first where it is open.
    Raises `Unsupported` where graphs or combinations are too many, `Inconclusive` when time is up.
    """
    if not system.release.rows.exact and system.total is not None:
        keep = (system.total, *keep)
    out = []
    for tried, (bounds, active) in enumerate(_combinations(system, limits), start=1):
        if tried > MAX_BRANCHES:
            raise Unsupported(f"more than {MAX_BRANCHES:,} combinations of alternatives (medians of even groups)")
        if (branch := _branch_of(system, bounds, active, keep, limits)) is not None:
            out.append(branch)
    return tuple(out)


def _combinations(system: CellSystem, limits: Limits) -> Iterator[tuple[Propagated, NDArray[np.bool_]]]:
    """Yield (bounds, active statements) for every combination of alternatives that propagation does not refute."""
    order = sorted(system.choices, key=len)
    visited = 0
    if math.prod(map(len, order)) > MAX_COMBINED:
        raise Unsupported(f"{math.prod(map(len, order)):,} combinations of alternatives (medians of even groups)")

    def below(i: int, bounds: Propagated, active: NDArray[np.bool_]) -> Iterator[tuple[Propagated, NDArray[np.bool_]]]:
        nonlocal visited
        if i == len(order):
            yield bounds, active
            return
        for alternative in order[i]:
            visited += 1
            if visited > 4 * MAX_BRANCHES:
                raise Unsupported(f"more than {4 * MAX_BRANCHES:,} alternatives to try (medians of even groups)")
            if limits.expired():
                raise Inconclusive("the time was up while alternatives were tried")
            chosen = active.copy()
            chosen[list(alternative)] = True
            found = propagate(system.linear.take(chosen), bounds.lower, bounds.upper, limits.expired, trace=False)
            if found.conflict is None:
                yield from below(i + 1, found, chosen)

    if system.bounds.conflict is None:
        yield from below(0, system.bounds, system.always)


def _branch_of(
    system: CellSystem, bounds: Propagated, active: NDArray[np.bool_], keep: tuple[int, ...], limits: Limits
) -> HistogramBranch | None:
    """Return the branch of one combination, None where it has no histogram."""
    linear = system.linear if active.all() else system.linear.take(active)
    same = bounds is system.bounds and not keep and not system.choices
    found = known_presolve(system, limits) if same else presolve(linear, bounds, keep, limits)
    limits.report(str(found))
    graphs = _graphs_of(found.components, limits)
    if graphs is None:
        return None
    base = linear.sums(bounds.lower)
    totals = np.array([[base[s] for s in keep]], dtype=np.int64)
    for graph in graphs:
        if graph.part.keep:  # at most one: the sums asked for are in one component
            totals = np.repeat(totals, len(graph.totals), axis=0)
            totals[:, [keep.index(s) for s in graph.part.asked]] += graph.totals
    return HistogramBranch(bounds, graphs, totals, found)


def _graphs_of(parts: Sequence[Component], limits: Limits) -> tuple[Layers, ...] | None:
    """Return the graph of every component, None where one has no histogram; on the processes that limits allow.

    A process has its part of the memory only: a component too large for that is done here, with all of it.
    """
    found: dict[int, Layers] = {}
    if len(parts) > 1 and (limits.workers > 1 or limits.cluster):
        order = sorted(range(len(parts)), key=lambda i: -len(parts[i].cells))
        done = completed(graph_of, [parts[i] for i in order], limits, what="components", alone=STARTING)
        for k, graph in done:
            if graph is None:
                return None
            if not isinstance(graph, TooLarge):
                graph.clock.limits = limits
                limits.keep(graph, graph.bytes)
                found[order[k]] = graph
    for i, part in enumerate(parts):
        if i not in found:
            graph = layers_of(part, limits)
            if graph is None:
                return None
            found[i] = graph
    return tuple(found[i] for i in range(len(parts)))


def graph_of(part: Component, limits: Limits) -> Layers | TooLarge | None:
    """Return what `layers_of` returns, or, as it is asked elsewhere with less memory, raises of a size."""
    try:
        return layers_of(part, limits)
    except TooLarge as error:
        return error


def extreme_histogram(branches: Sequence[HistogramBranch], coefs: Ints, greatest: bool) -> tuple[int, Ints]:
    """Return the least or greatest coefs @ z over all histograms of the branches, and one that attains it."""
    best: tuple[int, Ints] | None = None
    for branch in branches:
        z = branch.bounds.lower.copy()
        for graph in branch.graphs:
            costs = [
                int(coefs[c]) * np.arange(room + 1, dtype=np.int64)
                for c, room in zip(graph.part.cells.tolist(), graph.part.room.tolist(), strict=True)
            ]
            if any(cost.any() for cost in costs):
                z[graph.part.cells] += graph.extreme(costs, greatest)[1]
            else:
                z[graph.part.cells] += next(graph.paths())
        value = int(coefs @ z)
        if best is None or (value > best[0] if greatest else value < best[0]):
            best = value, z
    if best is None:
        raise ValueError("there is no branch")
    return best


def weights_of(size: int, low: int, room: int, convention: Convention) -> list[int]:
    """Return the weights of low + y rows in a cell, y = 0..room, whole numbers up to a factor common to all.

    `ordered`: size^y (low + room)! / (low + y)!; `multiset`: C(size + low + y - 1, low + y), `TooLarge` where these are
    numbers of more than `MAX_FACTORS` factors.
    """
    if convention == "multiset":
        if (factors := min(size - 1, low + room)) > MAX_FACTORS:
            raise TooLarge(f"multisets of {low + room:,} rows in a cell are numbers of {factors:,} factors")
        found = [math.comb(size + low - 1, low)]
        for k in range(low + 1, low + room + 1):  # each from the one before: a multiplication, no new product
            found.append(found[-1] * (size + k - 1) // k)
        return found
    out, factor = [1] * (room + 1), 1
    for y in range(room, -1, -1):
        out[y] = size**y * factor
        factor *= low + y
    return out


def _logs_of(size: int, low: int, room: int, convention: Convention) -> Floats:
    """Return natural logs of the weights of low + y rows, y = 0..room, up to a constant; sums of exact steps."""
    steps = np.arange(low, low + room, dtype=np.float64)
    if convention == "multiset":
        gain = np.array([math.log(size + i) for i in range(low, low + room)])
    else:
        gain = np.full(room, math.log(size))
    return np.concatenate([[0.0], np.cumsum(gain - np.log(steps + 1.0))])


@dataclass(frozen=True, eq=False)
class WeightedHistograms:
    """All histograms of a system, weighted by how many worlds of a convention each stands for."""

    system: CellSystem
    branches: tuple[HistogramBranch, ...]
    convention: Convention
    _counts: dict[tuple[int, int], list[int]] = field(init=False, default_factory=dict, compare=False)
    _weighed: dict[tuple[int, int], EdgeProbabilities] = field(init=False, default_factory=dict, compare=False)
    _marginals: dict[tuple[int, int, int], list[Floats]] = field(init=False, default_factory=dict, compare=False)

    @property
    def open_rows(self) -> bool:
        """Return whether the number of rows is open; the first kept sum then is the number of rows."""
        return not self.system.release.rows.exact

    def rows(self, final: Final) -> int:
        """Return the number of rows in a final state."""
        b, f = final
        branch = self.branches[b]
        return int(branch.totals[f, 0]) if self.open_rows and branch.totals.shape[1] else int(self.known_rows)

    @property
    def known_rows(self) -> int:
        """Return the exact number of rows."""
        return self.system.release.rows.low

    @cached_property
    def finals(self) -> list[Final]:
        """Return every final state of every branch."""
        return [(b, f) for b, branch in enumerate(self.branches) for f in range(len(branch.totals))]

    def weights(self, b: int, g: int) -> list[list[int]]:
        """Return the exact weights of every cell of a graph."""
        branch, graph = self.branches[b], self.branches[b].graphs[g]
        lower, held, out = branch.bounds.lower, 0.0, []
        for c, room in zip(graph.part.cells.tolist(), graph.part.room.tolist(), strict=True):
            graph.clock.check("worlds were weighed")
            size, low = self.system.sizes[c], int(lower[c])
            most = min(size - 1, low + room) if self.convention == "multiset" else room / 2  # factors of a number
            held += (room + 1) * most * max(size, low + room).bit_length() / 8
            graph.make_room(held)
            out.append(weights_of(size, low, room, self.convention))
        return out

    def counts(self, b: int, g: int) -> list[int]:
        """Return the exact weighted number of paths of a graph per final state."""
        if (b, g) not in self._counts:
            self._counts[b, g] = self.branches[b].graphs[g].count(self.weights(b, g))
        return self._counts[b, g]

    def _parts(self, final: Final) -> tuple[list[Factor], list[tuple[int, int]], list[int]]:
        """Return the factors of the worlds that end in a final state but multisets and orders of rows, and these.

        Multisets as (size, rows) of cells whose number of rows is known; the rows of all cells whose orders count.
        """
        b, f = final
        branch = self.branches[b]
        out = [(self.counts(b, g)[branch.final(g, f)], 1) for g in range(len(branch.graphs))]
        lower, upper = branch.bounds.lower, branch.bounds.upper
        if self.convention == "multiset":
            fixed = np.flatnonzero((lower == upper) & (lower > 0)).tolist()
            return out, [(self.system.sizes[c], int(lower[c])) for c in fixed], []
        held = np.flatnonzero(lower > 0).tolist()
        out += [(self.system.sizes[c], int(lower[c])) for c in held if self.system.sizes[c] != 1]
        return out, [], upper[upper > 0].tolist()

    def factors(self, final: Final) -> list[Factor]:
        """Return the number of worlds that end in a final state as (base, exponent) pairs, exactly."""
        out, multisets, ordered = self._parts(final)
        out += [x for size, rows in multisets for x in multiset_factors(size, rows)]
        if self.convention != "multiset":
            out += factorial_ratio(self.rows(final), ordered)
        return [x for x in out if x[0] != 1]

    @cached_property
    def log2(self) -> dict[Final, float]:
        """Return log2 of the number of worlds per final state."""
        return {final: self._log2_of(final) for final in self.finals}

    def _log2_of(self, final: Final) -> float:
        out, multisets, ordered = self._parts(final)
        logs = [log2_multisets(size, rows) for size, rows in multisets]
        if self.convention != "multiset":
            logs.append(log2_factorial_ratio(self.rows(final), ordered))
        return math.fsum([log2_product(out), *logs])

    @cached_property
    def shares(self) -> dict[Final, float]:
        """Return the share of worlds per final state; every possible number of rows is taken as equally likely."""
        by_rows: dict[int, list[Final]] = {}
        for final in self.finals:
            by_rows.setdefault(self.rows(final), []).append(final)
        out = {}
        for finals in by_rows.values():
            top = max(self.log2[f] for f in finals)
            terms = {f: 2.0 ** (self.log2[f] - top) for f in finals}
            whole = math.fsum(terms.values()) * len(by_rows)
            out.update({f: t / whole for f, t in terms.items()})
        return out

    def weighed(self, b: int, g: int) -> EdgeProbabilities:
        """Return a graph with the shares of its edges."""
        if (b, g) in self._weighed:
            return self._weighed[b, g]
        branch = self.branches[b]
        part = branch.graphs[g].part
        logs = [
            _logs_of(self.system.sizes[c], int(branch.bounds.lower[c]), room, self.convention)
            for c, room in zip(part.cells.tolist(), part.room.tolist(), strict=True)
        ]
        found = self._weighed[b, g] = branch.graphs[g].weighed(logs)
        return found

    def marginals(self, b: int, g: int, state: int) -> list[Floats]:
        """Return, per cell of a graph, the share of worlds with y rows more than its least, given a final state."""
        key = (b, g, state)
        if key not in self._marginals:
            self._marginals[key] = self.weighed(b, g).marginals(state)
        return self._marginals[key]

    @cached_property
    def means(self) -> Floats:
        """Return the mean number of rows of every cell over all worlds."""
        out = np.zeros(len(self.system.sizes))
        for (b, f), share in self.shares.items():
            out += share * self.branch_means(b, f)
        return out

    def branch_means(self, b: int, f: int) -> Floats:
        """Return the mean number of rows of every cell given a final state."""
        branch = self.branches[b]
        out = branch.bounds.lower.astype(np.float64)
        for g, graph in enumerate(branch.graphs):
            for c, p in zip(graph.part.cells.tolist(), self.marginals(b, g, branch.final(g, f)), strict=True):
                out[c] += float(p @ np.arange(len(p)))
        return out
