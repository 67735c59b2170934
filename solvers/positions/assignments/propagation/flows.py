"""Rows to values as a flow: which values no assignment within the bounds gives a row, with the sets that show it.

Rows of one multiplicity in one tree each take one value, value v takes `low[v]` to `high[v]` of them. The residual
graph is kept over values alone: v leads to u where some row in v has u left. A row's value u is impossible where u does
not lead back to the row's value (the sink, which takes up what values have to spare, included).

Source: Régin, "Generalized arc consistency for global cardinality constraint", AAAI 1996.
"""

from __future__ import annotations

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.kernel.claims import Hall, Removal
from solvers.positions.assignments.propagation.tables import DomainState, ProblemTables
from solvers.positions.assignments.propagation.vectorised import bounds, of_tree, store_domains


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
