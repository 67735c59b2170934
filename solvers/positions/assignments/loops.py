"""The inner loops of propagation: rows revised, counts bounded, rows assigned to values as a flow.

One source: it runs as it is written, on small problems and where numba is not installed, or compiled by numba (extra
`fast`), a hundred times as fast.

Rows of one multiplicity in one tree each take one value, value v takes `low[v]` to `high[v]` of them. The residual
graph is kept over values alone: v leads to u where some row in v has u left. A row's value u is impossible where u does
not lead back to the row's value (the sink, which takes up what values have to spare, included).

Source: Régin, "Generalized arc consistency for global cardinality constraint", AAAI 1996.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.foundation.native import cached_compiled, fingerprint, installed, ready_to_call
from solvers.kernel.claims import CountRevision, Hall, Removal, Revised
from solvers.positions.assignments import counts
from solvers.positions.assignments.counts import (
    COMPILABLE,
    NONE,
    ONE,
    compilable,
    count_tree,
    has_any,
    lowest,
    lowest_compiled,
    occupied,
    roomy,
    tightened,
)
from solvers.positions.assignments.domains import CHECKED, DomainState, ProblemTables
from solvers.statements.row_problem import Words


@compilable
def _has(words: Words, v: int) -> bool:
    """Return whether bit v is set."""
    return words[v // 64] >> np.uint64(v % 64) & ONE != NONE  # type: ignore[no-any-return]


@compilable
def _roomiest(held: Words, r: int, taken: Ints, low: Ints, high: Ints) -> int:
    """Return a value of row r that needs a row, else one that has room for it, -1 for none."""
    found = -1
    for w in range(held.shape[1]):
        bits = held[r, w]
        while bits != NONE:
            v = w * 64 + lowest(bits)
            bits &= bits - ONE
            if taken[v] < low[v]:
                return v
            if found < 0 and taken[v] < high[v]:
                found = v
    return found


@compilable
def _place(held: Words, r: int, match: Ints, taken: Ints, high: Ints, came: Ints, queue: Ints) -> int:
    """Give row r a value, others moving on; return 0, or the length of the set in `queue` that is all full."""
    came[:] = -1
    end = 0
    for w in range(held.shape[1]):
        bits = held[r, w]
        while bits != NONE:
            queue[end] = w * 64 + lowest(bits)
            came[queue[end]] = r
            bits &= bits - ONE
            end += 1
    at = 0
    while at < end:
        v = queue[at]
        at += 1
        if taken[v] < high[v]:
            taken[v] += 1
            while True:
                row = came[v]
                before = match[row]
                match[row] = v
                if row == r:
                    return 0
                v = before
        for row in range(len(match)):
            if match[row] != v:
                continue
            for w in range(held.shape[1]):
                bits = held[row, w]
                while bits != NONE:
                    u = w * 64 + lowest(bits)
                    bits &= bits - ONE
                    if came[u] < 0:
                        came[u] = row
                        queue[end] = u
                        end += 1
    return end


@compilable
def _fill(held: Words, v: int, match: Ints, taken: Ints, low: Ints, came: Ints, queue: Ints) -> int:
    """Move rows so that v has one more; return 0, or the length of the set in `queue` that needs all its rows."""
    came[:] = -1
    to = np.full(len(low), -1, dtype=np.int64)
    queue[0], at, end = v, 0, 1
    to[v] = v
    while at < end:
        u = queue[at]
        at += 1
        if taken[u] > low[u]:
            taken[u] -= 1
            taken[v] += 1
            while u != v:
                match[came[u]] = to[u]
                u = to[u]
            return 0
        for row in range(len(match)):
            x = match[row]
            if to[x] < 0 and _has(held[row], u):
                to[x], came[x] = u, row
                queue[end] = x
                end += 1
    return end


@compilable
def _components(graph: Words) -> Ints:
    """Return the strongly connected component of every node; `graph` (nodes, words): where each leads.

    Source: Tarjan, "Depth-first search and linear graph algorithms", SIAM Journal on Computing 1, 1972.
    """
    n = len(graph)
    part, number, link = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64), np.empty(n, dtype=np.int64)
    stack, path = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    left = graph.copy()  # arcs not yet followed
    height = depth = parts = visited = 0
    for root in range(n):
        if number[root] >= 0:
            continue
        path[0], depth = root, 1
        number[root] = link[root] = visited
        stack[height], visited, height = root, visited + 1, height + 1
        while depth > 0:
            v = path[depth - 1]
            w = 0
            while w < graph.shape[1] and left[v, w] == NONE:
                w += 1
            if w < graph.shape[1]:
                u = w * 64 + lowest(left[v, w])
                left[v, w] &= left[v, w] - ONE
                if number[u] < 0:
                    path[depth], depth = u, depth + 1
                    number[u] = link[u] = visited
                    stack[height], visited, height = u, visited + 1, height + 1
                elif part[u] < 0:
                    link[v] = min(link[v], number[u])
                continue
            depth -= 1
            if depth > 0:
                link[path[depth - 1]] = min(link[path[depth - 1]], link[v])
            if link[v] == number[v]:
                while True:
                    height -= 1
                    part[stack[height]] = parts
                    if stack[height] == v:
                        break
                parts += 1
    return part


@compilable
def _residual(held: Words, match: Ints, taken: Ints, low: Ints, high: Ints) -> Words:
    """Return where every value leads in the residual graph, packed; the last node is the sink."""
    count = len(low)
    graph = np.zeros((count + 1, count // 64 + 1), dtype=np.uint64)
    for r in range(len(match)):
        for w in range(held.shape[1]):
            graph[match[r], w] |= held[r, w]
    for v in range(count):
        if taken[v] < high[v]:
            graph[v, count // 64] |= ONE << np.uint64(count % 64)
        if taken[v] > low[v]:
            graph[count, v // 64] |= ONE << np.uint64(v % 64)
    return graph


@compilable
def _led_to(graph: Words, v: int, queue: Ints) -> Words:
    """Return the nodes that v leads to, itself included, packed."""
    reached = np.zeros(graph.shape[1], dtype=np.uint64)
    reached[v // 64] |= ONE << np.uint64(v % 64)
    queue[0], at, end = v, 0, 1
    while at < end:
        u = queue[at]
        at += 1
        for w in range(graph.shape[1]):
            bits = graph[u, w] & ~reached[w]
            reached[w] |= bits
            while bits != NONE:
                queue[end] = w * 64 + lowest(bits)
                bits &= bits - ONE
                end += 1
    return reached


@compilable
def _remove(held: Words, members: Words, full: bool) -> bool:
    """Remove what a set of values rules out (`solvers.kernel.claims.Hall`); return whether that was anything."""
    some = False
    for r in range(len(held)):
        inside = outside = False
        for w in range(held.shape[1]):
            inside |= held[r, w] & members[w] != NONE
            outside |= held[r, w] & ~members[w] != NONE
        if inside and outside:
            some = True
            for w in range(held.shape[1]):
                held[r, w] &= ~members[w] if full else members[w]
    return some


@compilable
def _crossed(held: Words, match: Ints, part: Ints) -> Bits:
    """Return which components have a value that some row of another component has left."""
    out = np.zeros(len(part), dtype=np.bool_)
    for r in range(len(match)):
        for w in range(held.shape[1]):
            bits = held[r, w]
            while bits != NONE:
                u = w * 64 + lowest(bits)
                bits &= bits - ONE
                if part[u] != part[match[r]]:
                    out[part[u]] = True
    return out


@compilable
def _assign(held: Words, match: Ints, taken: Ints, low: Ints, high: Ints, queue: Ints) -> tuple[int, bool]:
    """Make an assignment complete; return 0, or the length of the set in `queue` that contradicts, and its side."""
    came = np.empty(len(low), dtype=np.int64)
    for r in range(len(match)):
        v, match[r] = match[r], -1
        if v >= 0 and _has(held[r], v) and taken[v] < high[v]:
            match[r] = v
            taken[v] += 1
    for r in range(len(match)):
        if match[r] < 0:
            match[r] = _roomiest(held, r, taken, low, high)
            if match[r] >= 0:
                taken[match[r]] += 1
    for r in range(len(match)):
        end = _place(held, r, match, taken, high, came, queue) if match[r] < 0 else 0
        if end > 0:
            return end, True
    for v in range(len(low)):
        while taken[v] < low[v]:
            end = _fill(held, v, match, taken, low, came, queue)
            if end > 0:
                return end, False
    return 0, True


@compilable
def _filtered(held: Words, match: Ints, low: Ints, high: Ints, members: Words, full: Bits) -> tuple[int, bool]:
    """Filter the values of rows of one multiplicity; sets that removed something are stored in `members` and `full`.

    Returns how many, and whether the last of them is contradicted.
    """
    count = len(low)
    taken, queue = np.zeros(count, dtype=np.int64), np.empty(count + 1, dtype=np.int64)
    end, side = _assign(held, match, taken, low, high, queue)
    if end > 0:
        members[0, :] = NONE
        full[0] = side
        for v in queue[:end]:
            members[0, v // 64] |= ONE << np.uint64(v % 64)
        return 1, True
    graph = _residual(held, match, taken, low, high)
    part = _components(graph)
    crossing = _crossed(held, match, part)
    found = 0
    for c in range(len(crossing)):
        if not crossing[c]:
            continue
        first = 0
        while part[first] != c:
            first += 1
        reached = _led_to(graph, first, queue)
        spare = _has(reached, count)
        for w in range(members.shape[1]):
            members[found, w] = ~reached[w] if spare else reached[w]
        if count % 64:
            members[found, members.shape[1] - 1] &= (ONE << np.uint64(count % 64)) - ONE
        full[found] = not spare
        if _remove(held, members[found], not spare):
            found += 1
    return found, False


@compilable
def _flow_tree(tables: ProblemTables, state: DomainState, t: int) -> tuple[Ints, Bits, Words, bool]:
    """Filter a tree's values; return multiplicity, side and values (packed) of the sets."""
    values, most = tables.value[t + 1] - tables.value[t], tables.most[t]
    first, end = tables.word[t], tables.word[t + 1]
    n = tables.times.shape[1]
    times, full = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.bool_)
    members = np.empty((0, end - first), dtype=np.uint64)
    q, p = np.empty((values, most), dtype=np.int64), np.empty((values, most), dtype=np.int64)
    low, high = np.empty((values, most), dtype=np.int64), np.empty((values, most), dtype=np.int64)
    occupied(tables, state, t, q, p, np.empty(n, dtype=np.int64))
    state.flows[t] = False
    for v in range(values):
        if not tightened(tables, tables.value[t] + v, q[v], p[v], low[v], high[v]):
            state.counts[t] = True
            return times, full, members, False
    sets, sides = np.empty((values + 1, end - first), dtype=np.uint64), np.empty(values + 1, dtype=np.bool_)
    for m in range(1, most + 1):
        rows = np.flatnonzero(tables.times[t] == m)
        if len(rows) == 0:
            continue
        held, match = np.empty((len(rows), end - first), dtype=np.uint64), np.empty(len(rows), dtype=np.int64)
        for r in range(len(rows)):
            held[r] = state.words[rows[r], first:end]
            match[r] = state.match[t, rows[r]]
        lows, highs = np.ascontiguousarray(low[:, m - 1]), np.ascontiguousarray(high[:, m - 1])
        found, contradicted = _filtered(held, match, lows, highs, sets, sides)
        if found > 0:
            times = np.concatenate((times, np.full(found, m, dtype=np.int64)))
            full = np.concatenate((full, sides[:found]))
            members = np.concatenate((members, sets[:found]))
        if contradicted:
            return times, full, members, True
        _store(state, t, rows, held, match, first)
    return times, full, members, False


@compilable
def _store(state: DomainState, t: int, rows: Ints, held: Words, match: Ints, first: int) -> None:
    """Store what rows have left in a tree, and note what changed."""
    for r in range(len(rows)):
        state.match[t, rows[r]] = match[r]
        for w in range(held.shape[1]):
            if held[r, w] != state.words[rows[r], first + w]:
                state.words[rows[r], first + w] = held[r, w]
                state.changed[rows[r], t] = state.counts[t] = state.flows[t] = True


@compilable
def _met_by(tables: ProblemTables, row: Words, s: int, met: Words) -> bool:
    """Store in `met` what the values left in tree s meet; return whether that misses something of the row."""
    met[:] = NONE
    taken = 0
    for w in range(tables.word[s], tables.word[s + 1]):
        bits = row[w]
        while bits != NONE:
            v = tables.value[s] + (w - tables.word[s]) * 64 + lowest(bits)
            bits &= bits - ONE
            met |= tables.meet[v]
            taken += 1
            if taken % CHECKED == 0:
                missing = False
                for x in range(len(row)):
                    if row[x] & ~met[x] != NONE:
                        missing = True
                        break
                if not missing:
                    return False
    return True


@compilable
def _miss_common_parts(tables: ProblemTables, row: Words, pending: Bits) -> bool:
    """Remove the values that miss, in some attribute, the parts that all trees leave; note the trees that lost."""
    width = tables.parts.shape[1]
    common, own = np.empty(width, dtype=np.uint64), np.empty(width, dtype=np.uint64)
    common[:] = ~NONE
    for t in range(len(tables.most)):
        own[:] = NONE
        some = False
        for w in range(tables.word[t], tables.word[t + 1]):
            bits = row[w]
            while bits != NONE:
                own |= tables.parts[tables.value[t] + (w - tables.word[t]) * 64 + lowest(bits)]
                bits &= bits - ONE
                some = True
        if some:
            common &= own
    lost = False
    for t in range(len(tables.most)):
        for w in range(tables.word[t], tables.word[t + 1]):
            bits = row[w]
            while bits != NONE:
                low = bits & (~bits + ONE)
                v = tables.value[t] + (w - tables.word[t]) * 64 + lowest(bits)
                bits &= bits - ONE
                for k in range(len(tables.part) - 1):
                    shared = NONE
                    for x in range(tables.part[k], tables.part[k + 1]):
                        shared |= tables.parts[v, x] & common[x]
                    if shared == NONE:
                        row[w] &= ~low
                        pending[t] = lost = True
                        break
    return lost


@compilable
def _revised_row(tables: ProblemTables, state: DomainState, i: int, met: Words) -> bool:
    """Revise a row to its fixpoint; return whether every tree that saw it has a value left."""
    if len(tables.meet) == 0:
        return True
    row, trees = state.words[i], len(tables.most)
    pending = state.changed[i].copy()
    while True:
        while pending.any():
            for s in range(trees):
                if not pending[s]:
                    continue
                pending[s] = False
                if not _met_by(tables, row, s, met):
                    continue
                for t in range(trees):
                    lost = False
                    for w in range(tables.word[t], tables.word[t + 1]):
                        if row[w] & ~met[w] != NONE:
                            row[w] &= met[w]
                            lost = True
                    if lost:
                        pending[t] = state.counts[t] = state.flows[t] = True
                        if not has_any(row, tables.word[t], tables.word[t + 1]):
                            return False
        if tables.parts.shape[1] == 0 or not _miss_common_parts(tables, row, pending):
            return True
        for t in range(trees):
            if pending[t]:
                state.counts[t] = state.flows[t] = True
                if not has_any(row, tables.word[t], tables.word[t + 1]):
                    return False


@compilable
def _revise_rows(tables: ProblemTables, state: DomainState, rows: Ints) -> tuple[Ints, bool]:
    """Revise rows; return those that lost values, and whether the last of them has none left in some tree."""
    found, count = np.empty(len(rows), dtype=np.int64), 0
    met, before = np.empty(state.words.shape[1], dtype=np.uint64), np.empty(state.words.shape[1], dtype=np.uint64)
    for i in rows:
        before[:] = state.words[i]
        alive = _revised_row(tables, state, i, met)
        state.changed[i, :] = False
        for w in range(len(before)):
            if before[w] != state.words[i, w]:
                found[count] = i
                count += 1
                break
        if not alive:
            return found[:count], True
    return found[:count], False


DONE, CONTRADICTED, ENDED = 0, 1, 2


@compilable
def _narrow(tables: ProblemTables, state: DomainState, budget: int) -> tuple[Ints, int]:
    """Revise rows and bound counts until nothing changes, or `budget` rows and trees were looked at.

    Returns the steps (a row i as i, a value v as -1 - v) and how it ended.
    """
    steps, length = np.empty(64, dtype=np.int64), 0
    n, trees = state.changed.shape
    unit = max(1, min(tables.meet.shape[0], CHECKED * trees) * tables.meet.shape[1])  # as `ProblemTables.look`
    while True:
        rows, open_rows = np.empty(n, dtype=np.int64), 0
        for i in range(n):
            if state.changed[i].any() and open_rows < max(1, budget):
                rows[open_rows] = i
                open_rows += 1
        budget -= open_rows + n * trees // unit
        found, contradicted = _revise_rows(tables, state, rows[:open_rows])
        for i in found:
            steps = roomy(steps, length)
            steps[length] = i
            length += 1
        if contradicted:
            return steps[:length], CONTRADICTED
        if budget <= 0:
            return steps[:length], ENDED
        for t in range(trees):
            if not state.counts[t]:
                continue
            if budget <= 0:
                return steps[:length], ENDED
            budget -= 1 + n * (tables.value[t + 1] - tables.value[t]) // unit
            found, contradicted = count_tree(tables, state, t)
            for v in found:
                steps = roomy(steps, length)
                steps[length] = -1 - v
                length += 1
            if contradicted:
                return steps[:length], CONTRADICTED
        if not state.changed.any():
            return steps[:length], DONE
        if budget <= 0:
            return steps[:length], ENDED


SOURCES = tuple(Path(__file__).parent.glob("*.py"))


OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class RowLoops:
    """The inner loops as they are written, or compiled."""

    def __init__(self, compiled: bool = False) -> None:
        self.kept: tuple[Any, ...] = ()
        self._narrowed: Any = _narrow
        self._filtered: Any = _flow_tree
        if not compiled:
            return
        sources, names = fingerprint(SOURCES), _compiled_functions()

        def narrowed(tables: ProblemTables, state: DomainState, budget: int) -> tuple[Ints, int]:
            return _narrow(tables, state, budget) if sources else (np.empty(0, dtype=np.int64), ENDED)

        def filtered(tables: ProblemTables, state: DomainState, t: int) -> tuple[Ints, Bits, Words, bool]:
            return _flow_tree(tables, state, t if sources else -1)

        self.kept = tuple(cached_compiled(_with_names(each, names), **OPTIONS) for each in (narrowed, filtered))
        self._narrowed, self._filtered = self.kept

    def ready(self, limits: Limits) -> bool:
        """Return whether they can be called: compiled before, or time enough to do it now."""
        return ready_to_call(self.kept, limits)

    def narrow(self, tables: ProblemTables, state: DomainState, budget: int) -> tuple[list[Removal], bool | None]:
        """Revise rows and bound counts until nothing changes or `budget` rows and trees were looked at.

        Returns the steps in order, and whether every row has a value left in every tree that saw it, None where the
        budget ended before that was settled. The last step is the one that showed that there is none.
        """
        found, end = self._narrowed(tables, state, budget)
        steps: list[Removal] = [Revised(x) if x >= 0 else CountRevision(-1 - x) for x in found.tolist()]
        return steps, None if end == ENDED else end == DONE

    def flow(self, tables: ProblemTables, state: DomainState, t: int) -> tuple[list[Removal], bool]:
        """Filter a tree's values by flows; return the sets that removed something, and whether the last contradicts."""
        times, full, members, contradicted = self._filtered(tables, state, t)
        steps: list[Removal] = []
        for m, side, words in zip(times.tolist(), full.tolist(), members, strict=True):
            values = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")) + tables.value[t]
            steps.append(Hall(t, m, side, tuple(values.tolist())))
        return steps, contradicted


def _compiled_functions() -> dict[str, Any]:
    """Return the names of the loops' code with the compiled functions that they mean: the same code, compiled."""
    from numba import njit

    names = {**vars(counts), **globals()}
    names |= {name: njit(**OPTIONS)(_with_names(one, names)) for name, one in COMPILABLE.items()}
    names["lowest"] = njit(**OPTIONS)(lowest_compiled)
    return names


def _with_names(function: Any, names: dict[str, Any]) -> FunctionType:
    """Return a function whose names mean these things."""
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)


@cache
def compiled_loops() -> RowLoops:
    """Return the compiled loops, read from disk once in a process."""
    return RowLoops(compiled=True)


def fastest(limits: Limits) -> RowLoops:
    """Return the compiled loops where numba is installed (extra `fast`), else those as they are written.

    These also where the others were never compiled and the time is short.
    """
    if not installed():
        return RowLoops()
    made = compiled_loops()
    return made if made.ready(limits) else RowLoops()
