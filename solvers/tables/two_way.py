"""Two-way tables of whole numbers with given margins: how many there are, and what is the same in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.tables.atoms import Ints

MAX_STATES = 100_000
WORD = 1 << 62


def least_entries(rows: Ints, columns: Ints) -> Ints:
    """Return (rows, columns): the least value of every entry over all tables, max(0, r + c - n), which is attained."""
    out: Ints = np.maximum(0, rows[:, None] + columns[None, :] - int(columns.sum()))
    return out


def number(rows: Sequence[int], columns: Sequence[int], states: int = MAX_STATES) -> int | None:
    """Return how many tables have these margins, exactly; None where more than `states` are needed.

    The margin whose remainders take fewer states is held as "how many lines have so much left", the other one is handed
    out line by line.
    """
    return _number(tuple(sorted(r for r in rows if r)), tuple(sorted(c for c in columns if c)), states)


@lru_cache(maxsize=100_000)
def _number(rows: tuple[int, ...], columns: tuple[int, ...], states: int) -> int | None:
    if len(rows) <= 1 or len(columns) <= 1:
        return int(sum(rows) == sum(columns))
    by_cost = sorted(((rows, columns), (columns, rows)), key=lambda pair: _states(pair[0]))
    return next((n for held, dealt in by_cost if (n := _dealt(held, dealt, states)) is not None), None)


def _states(held: tuple[int, ...]) -> int:
    return prod(comb(m + s, s) for s, m in Counter(held).items())


def table_count_bound(rows: Sequence[int], columns: Sequence[int], lines: int = 0) -> int:
    """Return a number that is at least that of the tables: each line of one margin spread freely over the other.

    `rows` [] with `lines`: so many rows of which nothing is known.
    """
    rows, columns = [r for r in rows if r], [c for c in columns if c]
    by_column = prod(comb(c + (len(rows) or lines or 1) - 1, c) for c in columns)
    return min(by_column, prod(comb(r + len(columns) - 1, r) for r in rows)) if rows and columns else by_column


def _dealt(held: tuple[int, ...], dealt: tuple[int, ...], states: int) -> int | None:
    """Return the number of tables: state = for every s >= 1 how many lines of `held` have s left, in mixed radix."""
    top = max(held)
    if top >= WORD.bit_length():  # every radix is at least 2
        return None
    radix = [1 + sum(r >= s for r in held) for s in range(1, top + 1)]
    place = [prod(radix[:s]) for s in range(top)]  # of m_{s+1}
    if prod(radix) * (max(dealt) + 1) >= WORD:
        return None
    code = np.array([sum(place[s - 1] * m for s, m in Counter(held).items())], np.int64)
    ways = np.ones(1, np.int64 if table_count_bound(held, dealt) < WORD else object)
    for amount in sorted(dealt, reverse=True):
        left = np.full(len(code), amount, np.int64)
        for s in range(1, top + 1):
            for d in range(1, min(s, amount) + 1):
                change = (place[s - d - 1] if d < s else 0) - place[s - 1]
                there = code // place[s - 1] % radix[s - 1]
                code, left, ways = _next_states((code, left, ways), there, (d, change, amount))
                if len(code) > states:
                    return None
        done = left == 0
        code, ways = code[done], ways[done]
    return int(ways.sum()) if len(ways) else 0


States = tuple[Ints, Ints, NDArray[Any]]  # code, what is left of the line that is dealt, ways: whole numbers


def _next_states(states: States, there: Ints, step: tuple[int, int, int]) -> States:
    """Return the states after k = 0, 1, ... of `there` lines took d each; equal states are merged."""
    (code, left, ways), (d, change, amount) = states, step
    kept, lefts, many = [code], [left], [ways]
    for k in range(1, amount // d + 1):
        at = np.flatnonzero((there >= k) & (left >= k * d))
        if not len(at):
            break
        chosen, inverse = np.unique(there[at], return_inverse=True)
        factor = np.array([comb(int(m), k) for m in chosen], ways.dtype)[inverse]
        kept.append(code[at] + k * change)
        lefts.append(left[at] - k * d)
        many.append(ways[at] * factor)
    if len(kept) == 1:
        return states
    key, total = np.concatenate(kept) * (amount + 1) + np.concatenate(lefts), np.concatenate(many)
    order = np.argsort(key, kind="stable")
    key, total = key[order], total[order]
    starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    return key[starts] // (amount + 1), key[starts] % (amount + 1), np.add.reduceat(total, starts)
