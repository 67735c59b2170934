"""Numbers of rows in values bounded, and single bits of words: functions that run as they are written, or compiled.

Numbers of mixed sign would become floats: words and shifts are uint64 throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.positions.assignments.domains import EXACT, MOST_SUMS, DomainState, ProblemTables
from solvers.statements.row_problem import Words

F = TypeVar("F", bound=Callable[..., Any])
COMPILABLE: dict[str, Callable[..., Any]] = {}  # by their names, which mean the compiled ones where they are compiled
ONE, NONE, SHIFT = np.uint64(1), np.uint64(0), np.uint64(58)
DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
LOWEST = np.zeros(64, dtype=np.int64)  # the number of the lowest bit, by the upper six bits of its product
for _bit in range(64):
    LOWEST[(0x03F79D71B4CB0A89 << _bit & (1 << 64) - 1) >> 58] = _bit


def compilable(function: F) -> F:
    """Return a function as it is, noted as one that is compiled as part of what calls it."""
    COMPILABLE[function.__name__] = function
    return function


def lowest(x: np.uint64) -> int:
    """Return the number of the lowest set bit."""
    bits = int(x)
    return (bits & -bits).bit_length() - 1


def lowest_compiled(x: np.uint64) -> int:
    """Return the same by what compiles to a few instructions."""
    return LOWEST[((x & (~x + ONE)) * DE_BRUIJN) >> SHIFT]  # type: ignore[no-any-return]


@compilable
def has_any(row: Words, first: int, end: int) -> bool:
    """Return whether some of these words has a bit."""
    for w in range(first, end):  # noqa: SIM110 - a generator is not compiled
        if row[w] != NONE:
            return True
    return False


@compilable
def _by_all_ways(tables: ProblemTables, v: int, q: Ints, p: Ints, low: Ints, high: Ints) -> bool:
    """Store the least and greatest n_m over all ways to make a value's weight; return whether there is one."""
    most, columns = len(q), tables.ways.shape[1]
    found = False
    for m in range(columns, most):
        if q[m] > 0:
            return False
    for at in range(tables.way[tables.weight[v]], tables.way[tables.weight[v] + 1]):
        size, fits = 0, True
        for m in range(columns):
            n = tables.ways[at, m]
            size += n
            if (m >= most and n > 0) or (m < most and (n < q[m] or n > p[m])):
                fits = False
                break
        if not fits or size < tables.low[v] or size > tables.high[v]:
            continue
        for m in range(most):
            n = tables.ways[at, m] if m < columns else 0
            low[m] = min(low[m], n) if found else n
            high[m] = max(high[m], n) if found else n
        found = True
    return found


@compilable
def _by_sum(weights: Ints, below: int, above: int, low: Ints, high: Ints) -> int:
    """Tighten bounds on n by Σ weights n in [below, above]; return -1: no solution, 0: nothing changed, 1: changed."""
    least = greatest = 0
    for m in range(len(low)):
        a = weights[m]
        least += a * low[m] if a > 0 else a * high[m]
        greatest += a * high[m] if a > 0 else a * low[m]
    if least > above or greatest < below:
        return -1
    changed = 0
    for m in range(len(low)):
        a = weights[m]
        if a == 0:
            continue
        room = above - least + (a * low[m] if a > 0 else a * high[m])
        need = below - greatest + (a * high[m] if a > 0 else a * low[m])
        upper = room // a if a > 0 else need // a
        lower = -(-need // a) if a > 0 else -(-room // a)
        if upper < high[m]:
            if a > 0:
                greatest -= a * (high[m] - upper)
            else:
                least -= a * (high[m] - upper)
            high[m], changed = upper, 1
        if lower > low[m]:
            if a > 0:
                least += a * (lower - low[m])
            else:
                greatest += a * (lower - low[m])
            low[m], changed = lower, 1
        if low[m] > high[m]:
            return -1
    return changed


@compilable
def tightened(tables: ProblemTables, v: int, q: Ints, p: Ints, low: Ints, high: Ints) -> bool:
    """Store bounds on n_m for a value between q and p, the rows of multiplicity m that surely and possibly lie in it.

    With w, low and high of the value: Σ n_m in [low, high] and Σ (m - c) n_m in [w - c high, w - c low] for every c
    from 0 to the greatest multiplicity (`MOST_SUMS` at most), to the fixpoint; for w <= `EXACT` from all solutions.
    Returns whether there is one.
    """
    w, most = tables.weight[v], len(q)
    if w <= EXACT:
        return _by_all_ways(tables, v, q, p, low, high)
    low[:], high[:] = q, p
    weights = np.empty(most, dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for c in range(min(most, MOST_SUMS) + 1):
            for m in range(most):
                weights[m] = m + 1 - c
            found = _by_sum(weights, w - c * tables.high[v], w - c * tables.low[v], low, high)
            if found < 0:
                return False
            changed |= found == 1
        weights[:] = 1
        found = _by_sum(weights, tables.low[v], tables.high[v], low, high)
        if found < 0:
            return False
        changed |= found == 1
    return True


@compilable
def occupied(tables: ProblemTables, state: DomainState, t: int, q: Ints, p: Ints, single: Ints) -> None:
    """Store the rows that surely and possibly lie in every value (values, multiplicities), and rows of one value."""
    q[:], p[:] = 0, 0
    for i in range(len(single)):
        single[i] = -1
        m = tables.times[t, i] - 1
        if m < 0:
            continue
        left, last = 0, 0
        for w in range(tables.word[t], tables.word[t + 1]):
            bits = state.words[i, w]
            while bits != NONE:
                last = (w - tables.word[t]) * 64 + lowest(bits)
                bits &= bits - ONE
                p[last, m] += 1
                left += 1
        if left == 1:
            single[i] = last
            q[last, m] += 1


@compilable
def _fix_multiplicity(
    tables: ProblemTables, state: DomainState, t: int, v: int, m: int, keep: bool, single: Ints
) -> bool:
    """Fix (`keep`) the open rows of a multiplicity to a value, or remove it from them; return whether all have one."""
    word, bit = tables.word[t] + v // 64, ONE << np.uint64(v % 64)
    for i in range(len(single)):
        if tables.times[t, i] != m or single[i] >= 0 or state.words[i, word] & bit == NONE:
            continue
        state.changed[i, t] = True
        if keep:
            state.words[i, tables.word[t] : tables.word[t + 1]] = NONE
            state.words[i, word] = bit
        else:
            state.words[i, word] &= ~bit
            if not has_any(state.words[i], tables.word[t], tables.word[t + 1]):
                return False
    return True


@compilable
def count_tree(tables: ProblemTables, state: DomainState, t: int) -> tuple[Ints, bool]:
    """Bound the numbers of rows in every value of a tree, and remove and fix rows, to the fixpoint.

    Returns the values whose bounds removed something, in order, and whether the last of them is contradicted.
    """
    values, most = tables.value[t + 1] - tables.value[t], tables.most[t]
    q, p = np.empty((values, most), dtype=np.int64), np.empty((values, most), dtype=np.int64)
    low, high = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    single = np.empty(tables.times.shape[1], dtype=np.int64)
    found, count = np.empty(values + 1, dtype=np.int64), 0
    again = True
    while again:
        again = False
        occupied(tables, state, t, q, p, single)
        for v in range(values):
            found = roomy(found, count)
            found[count] = tables.value[t] + v
            if not tightened(tables, tables.value[t] + v, q[v], p[v], low, high):
                return found[: count + 1], True
            some = False
            for m in range(most):
                if q[v, m] < p[v, m] and (high[m] == q[v, m] or low[m] == p[v, m]):
                    some = state.flows[t] = True
                    if not _fix_multiplicity(tables, state, t, v, m + 1, high[m] != q[v, m], single):
                        return found[: count + 1], True
            if some:
                again = True
                count += 1
    state.counts[t] = False
    return found[:count], False


@compilable
def roomy(found: Ints, count: int) -> Ints:
    """Return an array with the same numbers and room behind the first `count`."""
    return np.concatenate((found, found)) if count >= len(found) else found
