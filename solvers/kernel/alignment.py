"""Two sequences of rows of which some left and some came: which rows of one can be which rows of the other.

Rows that stayed keep their order. An alignment is a path: a row of both (their boxes meet), a row that left, or a row
that came. Dynamic programming forwards and backwards over prefix, rows that left and rows that came so far: what is
possible is on some path, what is sure on all of them. n (k + 1) (a + 1) states for n rows, k that left and a that came.

Source: Needleman, Wunsch, "A general method applicable to the search for similarities in the amino acid sequence of two
proteins", Journal of Molecular Biology 48, 1970 (alignment of sequences); here without scores, all paths at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from solvers.foundation.array_types import Bits, Ints

Meeting = Callable[[int], Bits]  # d -> (rows before,): whether row p can be row p + d of the other sequence
NOBODY = -1  # where a row has no place in a sequence


@dataclass(frozen=True, eq=False)
class PlacedBoxes:
    """Where rows of two sequences are: `start`, `end` (rows, attributes), the first part left and that behind the last.

    `sets[attribute]` (rows, parts): the parts left, where that says more. `before`, `after` (rows,): the places of a
    row in both sequences, -1 in one that it is not known to be in.
    """

    start: Ints
    end: Ints
    sets: Mapping[int, Bits]
    before: Ints
    after: Ints

    def meeting(self, d: int) -> Bits:
        """Return of every row before whether it can be the row d places on after: whether their boxes meet."""
        line, other = _rows_in_order(self.before), _rows_in_order(self.after)
        out = np.zeros(len(line), dtype=bool)
        first, end = max(0, -d), min(len(line), len(other) - d)
        if first >= end:
            return out
        p, q = line[first:end], other[first + d : end + d]
        start, behind = np.maximum(self.start[p], self.start[q]), np.minimum(self.end[p], self.end[q])
        met = (start < behind).all(axis=1)
        for k, held in self.sets.items():
            place = np.arange(held.shape[1])
            inside = (place >= start[:, k, None]) & (place < behind[:, k, None])
            met &= (held[p] & held[q] & inside).any(axis=1)
        out[first:end] = met
        return out


def _rows_in_order(place: Ints) -> Ints:
    """Return the rows that have a place, by their places."""
    held = np.flatnonzero(place != NOBODY)
    found: Ints = held[np.argsort(place[held])]
    return found


@dataclass(frozen=True, eq=False)
class Alignment:
    """What all alignments say: `left`, `stayed` (rows before) and `came` (rows after): what is possible of each.

    `partner` (rows before): the row after that it surely is, -1 where that is not known or it left.
    """

    left: Bits
    stayed: Bits
    came: Bits
    partner: Ints


def align(before: int, after: int, removed: int, added: int, meeting: Meeting) -> Alignment | None:
    """Return how `before` rows, `removed` of which left, and `after` rows, `added` of which came, can be aligned.

    None where no alignment is possible, also where the numbers do not add up.

    >>> rows, later = np.array([3, 1, 4, 1, 5]), np.array([3, 1, 1, 5])
    >>> found = align(5, 4, 1, 0, lambda d: np.array([0 <= p + d < 4 and rows[p] == later[p + d] for p in range(5)]))
    >>> found.left.nonzero()[0].tolist(), found.partner.tolist()
    ([2], [0, 1, -1, 2, 3])
    """
    if before - removed + added != after or min(removed, added) < 0 or removed > before:
        return None
    meets = {d: _existing_pairs(meeting(d), d, after) for d in range(-removed, added + 1)}
    backwards = {added - removed - d: one[::-1] for d, one in meets.items()}
    forth, back = _prefixes(before, removed, added, meets), _prefixes(before, removed, added, backwards)
    if not forth[removed, added][before]:
        return None
    left, came = np.zeros(before, dtype=bool), np.zeros(after, dtype=bool)
    pairs = {d: np.zeros(before, dtype=bool) for d in meets}
    for i, j in product(range(removed + 1), range(added + 1)):
        here = forth[i, j]
        pairs[j - i] |= here[:-1] & meets[j - i] & back[removed - i, added - j][::-1][1:]
        if i < removed:
            left |= here[:-1] & back[removed - i - 1, added - j][::-1][1:]
        if j < added:
            places = np.flatnonzero(here & back[removed - i, added - j - 1][::-1]) + j - i
            came[places[(places >= 0) & (places < after)]] = True
    number = np.sum(list(pairs.values()), axis=0)
    which = np.sum([np.where(bits, np.arange(before) + d, 0) for d, bits in pairs.items()], axis=0)
    partner = np.where((number == 1) & ~left, which, NOBODY)
    return Alignment(left, number > 0, came, partner.astype(np.int64))


def _existing_pairs(meets: Bits, d: int, after: int) -> Bits:
    """Return which rows can be the row d places on, none where there is no such row."""
    place = np.arange(len(meets)) + d
    return np.asarray(meets, dtype=bool) & (place >= 0) & (place < after)


def _prefixes(rows: int, removed: int, added: int, meets: dict[int, Bits]) -> dict[tuple[int, int], Bits]:
    """Return, by rows that left and came so far, (rows + 1,): whether so long a prefix can be aligned."""
    out: dict[tuple[int, int], Bits] = {}
    place = np.arange(rows + 1)
    for i, j in product(range(removed + 1), range(added + 1)):
        begun = np.zeros(rows + 1, dtype=bool)
        begun[0] = i == j == 0
        if i:
            begun[1:] |= out[i - 1, j][:-1]
        if j:
            begun |= out[i, j - 1]
        last = np.maximum.accumulate(np.where(begun, place, -1))
        broken = np.concatenate([[-1], np.maximum.accumulate(np.where(meets[j - i], -1, place[:-1]))])
        out[i, j] = last > broken
    return out
