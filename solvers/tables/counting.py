"""How many whole-number solutions the open counts of one component have: states of what is left of every statement."""

from __future__ import annotations

import heapq
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from solvers.tables.atoms import Ints, Rows
from solvers.tables.distances import MAX_MEETINGS, OpenCounts, nested, telescoped

if TYPE_CHECKING:
    import scipy.sparse as sp

MAX_STATES, MAX_VISITED = 1_000_000, 40_000_000  # at a time, in all
MAX_BEGUN = 4_000_000  # states before equal ones are merged: some 200 MB
FEW_CHOICES = 8  # of a count: states are copied for each of them
WORD, MAX_WAYS = 62, 2.0**61  # bits of a word of states; ways that are added in 64 bits
FEW, MAX_BEGINNINGS = 12, 6  # counts; columns that orders begin with


def differences(rows: Rows, low: Ints, high: Ints) -> Rows | None:
    """Return what statements with open counts leave outside of the largest other one that lies in them; None: nothing.

    "Everybody" minus "women" is "men", who may have been published nowhere.
    """
    found = OpenCounts.of(rows, low, high)
    if float((np.bincount(found.matrix.indices).astype(float) ** 2).sum()) > MAX_MEETINGS:
        return None
    inner, outer = nested(found.matrix)
    if not len(inner):
        return None
    less = (found.matrix[outer] - found.matrix[inner]).tocsr()
    less.eliminate_zeros()
    value = (found.left[outer] - found.left[inner]) + less @ low[found.at]
    return Rows(less.indptr.astype(np.int64), found.at[less.indices], value.astype(np.int64))


def components(rows: Rows, low: Ints, high: Ints) -> list[tuple[sp.csr_matrix, Ints, Ints]]:
    """Return the components of the open counts: a matrix (statements, counts), what is left of each, the counts."""
    s, out = OpenCounts.of(rows, low, high), []
    for k in range(int(s.part.max(initial=-1)) + 1):
        columns, mine = np.flatnonzero(s.part == k), s.row_part == k
        matrix = s.less[0][mine][:, columns].tocsr()
        out.append((matrix, s.less[1][mine] + matrix @ low[s.at[columns]], s.at[columns]))
    return out


def listed_solutions(matrix: sp.csr_matrix, left: Ints, low: Ints, high: Ints, most: int) -> Ints | None:
    """Return (solutions, counts): every whole vector between `low` and `high` with `matrix x = left`.

    None where more than `most` are begun on the way.
    """
    left = left - matrix @ low
    columns = matrix.tocsc()
    order = _order(matrix)
    state, found = left[None, :].astype(np.int64), np.repeat(low[None, :], 1, axis=0)
    last = _last(columns, order)
    for t, j in enumerate(order):
        mine = columns.indices[columns.indptr[j] : columns.indptr[j + 1]]
        room = np.minimum(state[:, mine].min(axis=1), high[j] - low[j]) if len(mine) else np.zeros(len(state), np.int64)
        if float(room.sum(dtype=float)) + len(room) > most:
            return None
        owner, z = _choices(room)
        state, found = state[owner], found[owner]
        state[:, mine] -= z[:, None]
        found[:, j] += z
        fits = (state[:, np.flatnonzero(last == t)] == 0).all(axis=1)
        state, found = state[fits], found[fits]
    return found


def _choices(room: Ints) -> tuple[Ints, Ints]:
    """Return every state as often as a count has choices in it, and these: 0 to the room of the state."""
    owner = np.repeat(np.arange(len(room)), room + 1)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(room + 1) - room - 1, room + 1)


def _last(columns: sp.csc_matrix, order: list[int]) -> Ints:
    last = np.full(columns.shape[0], -1)
    for t, j in enumerate(order):
        last[columns.indices[columns.indptr[j] : columns.indptr[j + 1]]] = t
    return last


def number(matrix: sp.csr_matrix, left: Ints, low: Ints, high: Ints, states: int = MAX_STATES) -> int | None:
    """Return how many whole vectors between `low` and `high` have `matrix x = left`; None above so many states.

    Counts are taken in an order that closes statements soon; equal remainders are one state. Statements are taken less
    those that lie in them, which gives orders with far fewer states. None, too, above `MAX_VISITED` states in all.
    """
    left, visited = left - matrix @ low, 0
    if matrix.shape[1] > FEW:
        less = telescoped(matrix, left)
        if less is None or (less[1] < 0).any():
            return 0
        matrix, left = less[:2]
    columns = matrix.tocsc()
    order = _best_order(matrix, left)
    last = _last(columns, order)
    fields, words = _Fields(left), [np.zeros(1, np.int64)]
    ways: NDArray[Any] = np.ones(1, np.int64)
    for t, j in enumerate(order):
        mine = columns.indices[columns.indptr[j] : columns.indptr[j + 1]].tolist()
        for r in mine:
            fields.opened(r, words)
        room = np.full(len(ways), int(high[j] - low[j]))
        for r in mine:
            room = np.minimum(room, fields.of(r, words))
        steps = [sum(1 << fields.place[r][1] for r in mine if fields.place[r][0] == k) for k in range(len(words))]
        closing, most = [r for r in mine if last[r] == t], int(room.max(initial=0))
        if closing:  # all that is left of a statement is this count's
            taken = fields.of(closing[0], words)
            owner = np.flatnonzero(taken <= room)
            words, ways = [w[owner] - taken[owner] * step for w, step in zip(words, steps, strict=True)], ways[owner]
        elif float(room.sum(dtype=float)) + len(room) > MAX_BEGUN:
            return None
        elif most > FEW_CHOICES:
            owner, taken = _choices(room)
            words, ways = [w[owner] - taken * step for w, step in zip(words, steps, strict=True)], ways[owner]
        else:  # whole arrays are copied faster than states one by one
            some = [(z, np.flatnonzero(room >= z)) for z in range(1, most + 1)]
            words = [
                np.concatenate([w, *(w[on] - z * step for z, on in some)]) for w, step in zip(words, steps, strict=True)
            ]
            ways = np.concatenate([ways, *(ways[on] for _, on in some)])
        done = np.flatnonzero(last == t).tolist()
        fits = np.ones(len(ways), bool)
        for r in done:
            fits &= fields.of(r, words) == 0
        words, ways = _merged_states([w[fits] for w in words], ways[fits])
        visited += len(ways)
        if len(ways) > states or visited > MAX_VISITED:
            return None
        for r in done:
            fields.closed(r)
    return sum(map(int, ways.tolist()))


class _Fields:
    """Where in whole words what is left of each open statement stands: (word, shift, bits)."""

    def __init__(self, left: Ints) -> None:
        self.left = left.tolist()
        self.place: dict[int, tuple[int, int, int]] = {}
        self.free = [(0, 0, WORD)]

    def opened(self, r: int, words: list[Ints]) -> None:
        """Give statement r a field, in every state the same number, where it has none."""
        if r in self.place:
            return
        bits = max(1, int(self.left[r]).bit_length())
        k = min((k for k, one in enumerate(self.free) if one[2] >= bits), key=lambda k: self.free[k][2], default=None)
        if k is None:
            words.append(np.zeros_like(words[0]))
            word, shift, size = len(words) - 1, 0, WORD
        else:
            word, shift, size = self.free.pop(k)
        if size > bits:
            self.free.append((word, shift + bits, size - bits))
        self.place[r] = word, shift, bits
        words[word] += self.left[r] << shift

    def of(self, r: int, words: list[Ints]) -> Ints:
        """Return what is left of statement r in every state."""
        word, shift, bits = self.place[r]
        found: Ints = (words[word] >> shift) & ((1 << bits) - 1)
        return found

    def closed(self, r: int) -> None:
        """Take the field of a statement of which nothing is left; neighbours that are free become one."""
        word, shift, size = self.place[r]
        for one in [x for x in self.free if x[0] == word and (x[1] + x[2] == shift or x[1] == shift + size)]:
            self.free.remove(one)
            shift, size = min(shift, one[1]), size + one[2]
        self.free.append((word, shift, size))


def _merged_states(words: list[Ints], ways: NDArray[Any]) -> tuple[list[Ints], NDArray[Any]]:
    """Return every state once, with the sum of its ways: whole numbers of 64 bits while they fit."""
    if len(ways) < 2:
        return words, ways
    order = np.lexsort(words) if len(words) > 1 else np.argsort(words[0], kind="stable")
    words, ways = [w[order] for w in words], ways[order]
    first = np.flatnonzero(np.concatenate([[True], np.any([np.diff(w) != 0 for w in words], axis=0)]))
    if ways.dtype != object and float(ways.sum(dtype=float)) >= MAX_WAYS:
        ways = ways.astype(object)
    return [w[first] for w in words], np.add.reduceat(ways, first)


def _order(matrix: sp.csr_matrix, start: int | None = None) -> list[int]:
    """Return the columns so that few statements are open at a time: the next one opens fewest, closes most."""
    columns = _lists(matrix.tocsc())
    rows = _lists(matrix.tocsr())
    left, begun = [len(r) for r in rows], [False] * len(rows)
    cost = [len(c) - sum(left[r] == 1 for r in c) for c in columns]  # opened less closed
    out, used, heap = list[int](), [False] * len(columns), list[tuple[int, int]]()
    fresh = iter(sorted(range(len(columns)), key=lambda j: (j != start, cost[j], j)))
    while len(out) < len(columns):
        j = next((k for c, k in iter(lambda: heapq.heappop(heap) if heap else None, None)
                  if not used[k] and c == cost[k]), -1)  # fmt: skip
        if j < 0:
            j = next(k for k in fresh if not used[k])
        used[j] = True
        out.append(j)
        for r in columns[j]:
            left[r] -= 1
            for k in rows[r] if not begun[r] or left[r] == 1 else ():
                if not used[k]:
                    cost[k] -= (not begun[r]) + (left[r] == 1)
                    heapq.heappush(heap, (cost[k], k))
            begun[r] = True
    return out


def _lists(matrix: Any) -> list[list[int]]:
    indices = matrix.indices.tolist()
    return [indices[a:b] for a, b in pairwise(matrix.indptr.tolist())]


def _best_order(matrix: sp.csr_matrix, left: Ints) -> list[int]:
    """Return, of orders with several beginnings, the one whose states are told by the fewest bits at once."""
    n, columns = matrix.shape[1], _lists(matrix.tocsc())
    bits = np.log2(1.0 + left).tolist()
    best, fewest = list[int](), inf
    for start in [None, *range(0, n, max(1, n // MAX_BEGINNINGS))] if n > FEW else [None]:
        order = _order(matrix, start)
        last, open_bits, most = {r: t for t, j in enumerate(order) for r in columns[j]}, 0.0, 0.0
        begun = set[int]()
        for t, j in enumerate(order):
            open_bits += sum(bits[r] for r in columns[j] if r not in begun)
            begun.update(columns[j])
            most = max(most, open_bits)
            open_bits -= sum(bits[r] for r in columns[j] if last[r] == t)
        if most < fewest:
            best, fewest = order, most
    return best
