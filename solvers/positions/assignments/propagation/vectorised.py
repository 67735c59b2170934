"""The inner loops of propagation in numpy: what runs where compiled loops are not installed, with the same results.

How many rows of each multiplicity a value has: bounds from its weight and its number of different rows.

Rows to values as a flow: which values no assignment within the bounds gives a row, with the sets that show it.

Rows of one multiplicity in one tree each take one value, value v takes `low[v]` to `high[v]` of them. The residual
graph is kept over values alone: v leads to u where some row in v has u left. A row's value u is impossible where u does
not lead back to the row's value (the sink, which takes up what values have to spare, included).

Source: Régin, "Generalized arc consistency for global cardinality constraint", AAAI 1996.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.kernel.claims import Hall, Removal
from solvers.positions.assignments.domains import EXACT, MOST_SUMS, DomainState, ProblemTables, pack_bits
from solvers.statements.meetings import WORD, Words


def _tightened(tables: ProblemTables, values: Ints, q: Ints, p: Ints) -> tuple[Ints, Ints, Bits]:
    """Return bounds on n_m for some values of a tree, and for which there is no solution.

    `q`, `p` (values, multiplicities from 1): the rows that surely and possibly lie in a value. With w, low and high of
    the value: Σ n_m in [low, high] and Σ (m - c) n_m in [w - c high, w - c low] for every c from 0 to the greatest
    multiplicity (`MOST_SUMS` at most), to the fixpoint; for w <= `EXACT` from all solutions.
    """
    low, high = q.copy(), p.copy()
    none = np.zeros(len(values), dtype=bool)
    weight = tables.weight[values]
    for w in np.unique(weight[weight <= EXACT]).tolist():
        some = np.flatnonzero(weight == w)
        low[some], high[some], none[some] = _by_all_ways(tables, w, values[some], q[some], p[some])
    some = np.flatnonzero(weight > EXACT)
    if len(some):
        low[some], high[some], none[some] = _by_sums(
            weight[some], tables.low[values[some]], tables.high[values[some]], q[some], p[some]
        )
    return low, high, none


def _by_all_ways(tables: ProblemTables, w: int, values: Ints, q: Ints, p: Ints) -> tuple[Ints, Ints, Bits]:
    """Return the least and greatest n_m over all ways to make the weight `w` that the bounds admit."""
    ways: NDArray[np.int32] = tables.ways[int(tables.way[w]) : int(tables.way[w + 1])]
    width = min(q.shape[1], ways.shape[1])  # of greater multiplicities no row fits
    ways = ways[(ways[:, width:] == 0).all(axis=1), :width]
    size = ways.sum(axis=1)
    fits = (size >= tables.low[values][:, None]) & (size <= tables.high[values][:, None])
    fits &= (q[:, width:] == 0).all(axis=1)[:, None]
    for m in range(width):
        fits &= (ways[:, m] >= q[:, m, None]) & (ways[:, m] <= p[:, m, None])
    none: Bits = np.asarray(~fits.any(axis=1))
    low, high = np.zeros_like(q), np.zeros_like(p)
    low[none], high[none] = EXACT + 1, -1
    for m in range(width):
        low[:, m] = np.where(fits, ways[:, m], EXACT + 1).min(axis=1, initial=EXACT + 1)
        high[:, m] = np.where(fits, ways[:, m], -1).max(axis=1, initial=-1)
    return low, high, none


def _by_sums(w: Ints, least: Ints, greatest: Ints, q: Ints, p: Ints) -> tuple[Ints, Ints, Bits]:
    """Return bounds on n_m by the weighted sums of `tightened`, to the fixpoint."""
    most = q.shape[1]
    m = np.arange(1, most + 1)
    sums = [(m - c, w - c * greatest, w - c * least) for c in range(min(most, MOST_SUMS) + 1)]
    sums.append((np.ones(most, dtype=np.int64), least, greatest))
    low, high = q.copy(), p.copy()
    none: Bits = np.asarray((low > high).any(axis=1))
    while True:
        before = low.copy(), high.copy()
        for a, below, above in sums:
            up, down = np.flatnonzero(a > 0), np.flatnonzero(a < 0)
            smallest = np.where(a > 0, a * low, a * high)
            greatest_part = np.where(a > 0, a * high, a * low)
            room = above[:, None] - (smallest.sum(axis=1)[:, None] - smallest)
            need = below[:, None] - (greatest_part.sum(axis=1)[:, None] - greatest_part)
            none[(smallest.sum(axis=1) > above) | (greatest_part.sum(axis=1) < below)] = True
            high[:, up] = np.minimum(high[:, up], room[:, up] // a[up])
            low[:, up] = np.maximum(low[:, up], -(-need[:, up] // a[up]))
            high[:, down] = np.minimum(high[:, down], need[:, down] // a[down])
            low[:, down] = np.maximum(low[:, down], -(-room[:, down] // a[down]))
            none[(low > high).any(axis=1)] = True
        if none.any():  # without a solution bounds may cross for ever
            low[none], high[none] = q[none], p[none]
        if np.array_equal(low, before[0]) and np.array_equal(high, before[1]):
            return low, high, none


def _revise(tables: ProblemTables, state: DomainState, rows: Ints) -> tuple[list[int], bool]:
    """Revise rows against the trees that changed, each to its fixpoint.

    Returns the rows that lost values, in order, and whether the last of them has no value left in some tree.
    """
    found = []
    for i in rows.tolist():
        before = state.words[i].copy()
        alive = _revised_row(tables, state, i)
        state.changed[i] = False
        lost = before != state.words[i]
        if lost.any():
            found.append(i)
            trees = np.unique(tables.owner[lost])
            state.counts[trees] = state.flows[trees] = True
        if not alive:
            return found, True
    return found, False


def _revised_row(tables: ProblemTables, state: DomainState, i: int) -> bool:
    """Revise a row to its fixpoint; return whether every tree that saw it has a value left."""
    if not tables.compared:
        return True
    row, seen = state.words[i], tables.times[:, i] > 0
    pending = state.changed[i] & seen
    while True:
        while pending.any():
            s = int(pending.argmax())
            pending[s] = False
            kept = row & np.bitwise_or.reduce(tables.meet[values_left(tables, row, s)], axis=0)
            lost = kept != row
            if lost.any():
                row[:] = kept
                pending[tables.owner[lost]] = True
                if not _living(tables, row)[seen].all():
                    return False
        lost_trees = _miss_common_parts(tables, row) if tables.parts.shape[1] else np.zeros(0, dtype=np.int64)
        if not len(lost_trees):
            return True
        if not _living(tables, row)[seen].all():
            return False
        pending[lost_trees] = True


def _living(tables: ProblemTables, row: Words) -> Bits:
    """Return (trees,): whether a row has a value left in every tree."""
    return np.bincount(tables.owner[row != 0], minlength=tables.trees) > 0


def values_left(tables: ProblemTables, row: Words, t: int) -> Ints:
    """Return the values that a row has left in a tree."""
    words = row[int(tables.word[t]) : int(tables.word[t + 1])]
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    found: Ints = np.flatnonzero(bits) + tables.value[t]
    return found


def _miss_common_parts(tables: ProblemTables, row: Words) -> Ints:
    """Remove the values that miss, in some attribute, the parts that all trees leave; return the trees that lost."""
    left = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")[tables.at])
    tree = tables.owner[tables.at[left] // WORD]
    starts = np.flatnonzero(np.diff(tree, prepend=-1))
    if not len(starts):
        return starts
    allowed = tables.parts[left]
    common = np.bitwise_and.reduce(np.bitwise_or.reduceat(allowed, starts, axis=0), axis=0)
    misses = ~np.logical_or.reduceat((allowed & common) != 0, tables.part[:-1], axis=1).all(axis=1)
    at = tables.at[left[misses]]
    np.bitwise_and.at(row, at // WORD, ~(np.uint64(1) << (at % WORD).astype(np.uint64)))
    return np.unique(tree[misses])


def of_tree(tables: ProblemTables, state: DomainState, t: int) -> Bits:
    """Return (rows, values of the tree): which values every row has left."""
    words = np.ascontiguousarray(state.words[:, int(tables.word[t]) : int(tables.word[t + 1])])
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return bits[:, : int(tables.value[t + 1] - tables.value[t])].astype(bool)


def store_domains(tables: ProblemTables, state: DomainState, t: int, held: Bits) -> bool:
    """Store what the rows have left in a tree; note what changed, and return whether some row has nothing left."""
    span = slice(int(tables.word[t]), int(tables.word[t + 1]))
    words = pack_bits(held)
    lost = (words != state.words[:, span]).any(axis=1)
    state.words[:, span] = words
    state.changed[lost, t] = True
    if lost.any():
        state.counts[t] = state.flows[t] = True
    return bool((~held.any(axis=1) & (tables.times[t] > 0)).any())


def bounds(tables: ProblemTables, t: int, held: Bits) -> tuple[Ints, Ints, Ints, Ints, Bits]:
    """Return q, p, the least and the greatest n_m (values, multiplicities from 1), and which values have no n_m."""
    times, single = tables.times[t], held.sum(axis=1) == 1
    most = int(tables.most[t])
    q = np.zeros((held.shape[1], most), dtype=np.int64)
    p = np.zeros_like(q)
    for m in np.unique(times[times > 0]).tolist():
        p[:, m - 1] = held[times == m].sum(axis=0)
        q[:, m - 1] = held[(times == m) & single].sum(axis=0)
    values = np.arange(int(tables.value[t]), int(tables.value[t + 1]))
    return q, p, *_tightened(tables, values, q, p)


def _count(tables: ProblemTables, state: DomainState, t: int) -> tuple[list[int], bool]:
    """Bound the numbers of rows in every value of a tree, and remove and fix rows, to the fixpoint.

    Returns the values whose bounds removed something, in order, and whether the last of them is contradicted.
    """
    found: list[int] = []
    times, offset = tables.times[t], int(tables.value[t])
    while True:
        state.counts[t] = False
        held = of_tree(tables, state, t)
        single = held.sum(axis=1) == 1
        q, p, low, high, none = bounds(tables, t, held)
        if none.any():
            return [*found, offset + int(none.argmax())], True
        settled: Bits = np.asarray((q < p) & ((high == q) | (low == p)))
        if not settled.any():
            return found, False
        for v in np.flatnonzero(settled.any(axis=1)).tolist():
            found.append(offset + v)
            for m in np.flatnonzero(settled[v]).tolist():
                rows = np.flatnonzero(held[:, v] & (times == m + 1) & ~single)
                if high[v, m] == q[v, m]:
                    held[rows, v] = False
                else:
                    held[rows] = False
                    held[rows, v] = True
            if (~held.any(axis=1) & (times > 0)).any():
                break
        if store_domains(tables, state, t, held):
            return found, True


def narrow(tables: ProblemTables, state: DomainState, budget: int) -> tuple[list[tuple[bool, int]], bool | None]:
    """Revise rows and bound counts until nothing changes, or `budget` rows and trees were looked at.

    Returns the steps in order, (whether it is a row, row or value), and whether every row has a value left in every
    tree that saw it; None where the budget ended first.
    """
    steps: list[tuple[bool, int]] = []
    unit = tables.look  # to count a tree is many looks, to go through all rows as well
    while True:
        rows = np.flatnonzero(state.changed.any(axis=1))[: max(1, budget)]
        budget -= len(rows) + state.changed.size // unit
        found, contradicted = _revise(tables, state, rows)
        steps += [(True, i) for i in found]
        if contradicted:
            return steps, False
        if budget <= 0:
            return steps, None
        for t in np.flatnonzero(state.counts).tolist():
            if budget <= 0:
                return steps, None
            budget -= 1 + len(state.changed) * int(tables.value[t + 1] - tables.value[t]) // unit
            found, contradicted = _count(tables, state, t)
            steps += [(False, v) for v in found]
            if contradicted:
                return steps, False
        if not state.changed.any():
            return steps, True
        if budget <= 0:
            return steps, None


def flow(tables: ProblemTables, state: DomainState, t: int) -> tuple[list[Removal], bool]:
    """Filter a tree's values by the flow of every multiplicity.

    Returns the sets that removed something, in order, and whether the last of them is contradicted.
    """
    state.flows[t] = False
    held = of_tree(tables, state, t)
    _, _, low, high, none = bounds(tables, t, held)
    if none.any():  # what `count` will say
        state.counts[t] = True
        return [], False
    found: list[Removal] = []
    for m in np.unique(tables.times[t][tables.times[t] > 0]).tolist():
        rows = np.flatnonzero(tables.times[t] == m)
        one = Assignment(held[rows], low[:, m - 1], high[:, m - 1], state.match[t, rows].astype(np.int64))
        violated = one.complete()
        state.match[t, rows] = one.match
        if violated is not None:
            return [*found, _hall(tables, t, m, *violated)], True
        for full, values in one.closed_sets():
            members = np.zeros(held.shape[1], dtype=bool)
            members[values] = True
            inside = one.held & members
            if full:
                out = inside & (one.held & ~members).any(axis=1, keepdims=True)
            else:
                out = one.held & ~members & inside.any(axis=1, keepdims=True)
            if out.any():
                one.held &= ~out
                found.append(_hall(tables, t, m, full, values))
        held[rows] = one.held
    return found, store_domains(tables, state, t, held)


def _hall(tables: ProblemTables, t: int, m: int, full: bool, values: Ints) -> Hall:
    """Return a set of a tree's values, numbered as in the problem."""
    return Hall(t, m, full, tuple((np.sort(values) + tables.value[t]).tolist()))


class Assignment:
    """Rows of one multiplicity and the values of one tree: `held` (rows, values), `match` (rows,), made complete."""

    def __init__(self, held: Bits, low: Ints, high: Ints, match: Ints) -> None:
        self.held, self.low, self.high = held, low, high
        self.match = np.full(len(held), -1, dtype=np.int64)
        self.taken = np.zeros(len(low), dtype=np.int64)
        for i in np.flatnonzero(match >= 0).tolist():
            v = int(match[i])
            if held[i, v] and self.taken[v] < high[v]:
                self.match[i] = v
                self.taken[v] += 1

    def complete(self) -> tuple[bool, Ints] | None:
        """Give every row a value within the bounds, or return the set that shows that there is none."""
        for i in np.flatnonzero(self.match < 0).tolist():
            if (reached := self.place(i)) is not None:
                return True, reached
        while (short := np.flatnonzero(self.taken < self.low)).size:
            if (reached := self.fill(int(short[0]))) is not None:
                return False, reached
        return None

    def place(self, i: int) -> Ints | None:
        """Give a row a value, others moving on; return the values that are all full where there is none."""
        came = np.full(len(self.low), -1, dtype=np.int64)  # the row that would move there
        queue = np.flatnonzero(self.held[i])
        came[queue] = i
        at = 0
        while at < len(queue):
            v = int(queue[at])
            at += 1
            if self.taken[v] < self.high[v]:
                self.taken[v] += 1
                while True:
                    row = int(came[v])
                    before, self.match[row] = int(self.match[row]), v
                    if row == i:
                        return None
                    v = before
            for row in np.flatnonzero(self.match == v).tolist():
                new = np.flatnonzero(self.held[row] & (came < 0))
                came[new] = row
                queue = np.concatenate([queue, new])
        return queue

    def fill(self, v: int) -> Ints | None:
        """Move a row to a value that needs one; return the values that need all their rows where there is none."""
        row_of, to = np.full(len(self.low), -1, dtype=np.int64), np.full(len(self.low), -1, dtype=np.int64)
        reached, queue, at = np.zeros(len(self.low), dtype=bool), [v], 0
        reached[v] = True
        while at < len(queue):
            u = queue[at]
            at += 1
            if self.taken[u] > self.low[u]:
                self.taken[u] -= 1
                self.taken[v] += 1
                while u != v:
                    self.match[row_of[u]] = to[u]
                    u = int(to[u])
                return None
            for row in np.flatnonzero(self.held[:, u]).tolist():
                x = int(self.match[row])
                if not reached[x]:
                    reached[x] = True
                    row_of[x], to[x] = row, u
                    queue.append(x)
        return np.flatnonzero(reached)

    def closed_sets(self) -> list[tuple[bool, Ints]]:
        """Return the sets of values that remove something: what a component leads to, or what does not lead there."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import breadth_first_order, connected_components

        count = len(self.low)
        sink = count
        graph = np.zeros((count + 1, count + 1), dtype=bool)
        for v in np.unique(self.match).tolist():
            graph[v, :count] = self.held[self.match == v].any(axis=0)
        graph[:count, sink] = self.taken < self.high
        graph[sink, :count] = self.taken > self.low
        sparse = csr_matrix(graph)
        _, part = connected_components(sparse, directed=True, connection="strong")
        crossing = np.unique(part[np.nonzero(self.held & (part[self.match][:, None] != part[:count]))[1]])
        found = []
        for c in crossing.tolist():
            reached = np.zeros(count + 1, dtype=bool)
            reached[breadth_first_order(sparse, int(np.flatnonzero(part == c)[0]), return_predecessors=False)] = True
            full = not reached[sink]
            found.append((full, np.flatnonzero(reached[:count] if full else ~reached[:count])))
        return found
