"""What propagation looks up: which values meet, as packed bits, and the ways to make a weight of multiplicities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.assignments.domains import WORD, Packing
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import RowProblem

Words = NDArray[np.uint64]
EXACT = 24  # weights up to which all ways to make them are looked through
MOST_SUMS = 64  # values of c that weighted sums are taken with
BLOCK = 1 << 25  # bits of a table that are made at once


class Tables(NamedTuple):
    """A problem as the inner loops see it.

    `word` (trees + 1): the first word of every tree; `value` (trees + 1): its first value; `owner` (words): the tree of
    a word; `at` (values): the place of every value's bit in a row's unpacked bits. `meet` (values, words): the values
    that every value meets, those of its own tree being itself alone. `parts` (values, words of parts): the parts that a
    value allows of the attributes in `problem.sets`, `part` (sets + 1) where each begins. `ways` lists the numbers
    of rows of multiplicity 1, 2, ... that weigh w, at `way[w]` to `way[w + 1]`. `most` (trees): the greatest
    multiplicity. All are in C order and can be written, so that loops are compiled once.
    """

    word: Ints
    value: Ints
    owner: Ints
    at: Ints
    meet: Words
    parts: Words
    part: Ints
    times: NDArray[np.int32]
    most: Ints
    weight: Ints
    low: Ints
    high: Ints
    ways: NDArray[np.int32]
    way: Ints

    @property
    def trees(self) -> int:
        """Return the number of trees."""
        return len(self.times)

    @classmethod
    def of(cls, problem: RowProblem, limits: Limits) -> Tables:
        """Return the tables of a problem; `Inconclusive` where the time ends. Memory: `meet_bytes`, mostly."""
        packing = Packing.of(problem)
        owner = np.repeat(np.arange(problem.trees), np.diff(packing.first))
        at = packing.word * WORD + packing.bit.astype(np.int64)
        most = np.maximum(problem.times.max(axis=1, initial=0), 0).astype(np.int64)
        parts, part = packed_sets(problem)
        ways, way = ways_to_weigh(int(most.max(initial=1)))
        meet = meetings(problem, packing, at, limits)
        numbers = [np.array(x, dtype=np.int64) for x in (problem.weight, problem.low, problem.high)]
        times = np.array(problem.times, dtype=np.int32, order="C")
        weight, low, high = numbers
        word, value = packing.first.copy(), problem.first.copy()
        return cls(
            word, value, owner.astype(np.int64), at, meet, parts, part, times, most, weight, low, high, ways, way
        )


def meet_bytes(problem: RowProblem) -> int:
    """Return how many bytes the table of meeting values takes."""
    sizes = np.diff(problem.first)
    return int(len(problem.tree) * (-(-sizes // WORD)).sum() * 8)


def packed(bits: Bits) -> Words:
    """Return (rows, bits) as (rows, words), bits counted from the lowest."""
    padded = np.zeros((len(bits), -(-bits.shape[1] // WORD) * WORD), dtype=bool)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def meetings(problem: RowProblem, packing: Packing, at: Ints, limits: Limits) -> Words:
    """Return (values, words): the values of other trees whose boxes and labels every value meets, and itself.

    Per attribute, the values that begin before a part and those that end behind it are packed once per part.
    Cost: values times words times attributes.
    """
    count, words = len(problem.tree), packing.words
    out = np.full((count, words), ~np.uint64(0), dtype=np.uint64)
    for k in range(problem.start.shape[1]):
        start, end = problem.start[:, k], problem.end[:, k]
        if k in problem.sets:
            for rows, table in meeting_sets(problem.sets[k], at, words, limits):
                out[rows] &= table
            continue
        for bound, of, below in ((end, start, True), (start, end, False)):
            edges, place = np.unique(bound, return_inverse=True)
            order = np.argsort(place, kind="stable")
            step = max(1, BLOCK // max(1, words * WORD))
            for first in range(0, len(edges), step):
                limits.check("values that meet were looked for")
                edge = edges[first : first + step, None]
                table = np.zeros((len(edge), words * WORD), dtype=bool)
                table[:, at] = of[None, :] < edge if below else of[None, :] > edge
                some = order[np.searchsorted(place[order], first) : np.searchsorted(place[order], first + len(edge))]
                out[some] &= np.packbits(table, axis=1, bitorder="little").view(np.uint64)[place[some] - first]
    for label in np.unique(problem.label[problem.label != ANY_LABEL]).tolist():
        table = np.zeros((1, words * WORD), dtype=bool)
        table[:, at] = (problem.label == label) | (problem.label == ANY_LABEL)
        out[problem.label == label] &= np.packbits(table, axis=1, bitorder="little").view(np.uint64)
    for t in range(problem.trees):  # of its own tree a value meets itself alone; what pads a tree's words stays empty
        values = slice(int(problem.first[t]), int(problem.first[t + 1]))
        size = values.stop - values.start
        out[values, int(packing.first[t]) : int(packing.first[t + 1])] = packed(np.eye(size, dtype=bool))
    present = np.zeros((1, words * WORD), dtype=bool)
    present[:, at] = True
    out &= np.packbits(present, axis=1, bitorder="little").view(np.uint64)
    return out


def meeting_sets(allowed: Bits, at: Ints, words: int, limits: Limits) -> Iterator[tuple[Ints, Words]]:
    """Yield values and the packed values whose allowed parts meet theirs; `allowed` (values, parts)."""
    masks, which = np.unique(allowed, axis=0, return_inverse=True)
    which = which.reshape(-1)
    shared = (masks.astype(np.float32) @ masks.T.astype(np.float32)) > 0
    for first in range(len(masks)):
        limits.check("values that meet were looked for")
        table = np.zeros((1, words * WORD), dtype=bool)
        table[:, at] = shared[first][which]
        yield np.flatnonzero(which == first), np.packbits(table, axis=1, bitorder="little").view(np.uint64)


def packed_sets(problem: RowProblem) -> tuple[Words, Ints]:
    """Return (values, words) the parts that values allow of the attributes in `problem.sets`, and where each begins."""
    tables = [packed(allowed) for _, allowed in sorted(problem.sets.items())]
    starts = np.cumsum([0, *(table.shape[1] for table in tables)]).astype(np.int64)
    empty = np.zeros((len(problem.tree), 0), dtype=np.uint64)
    return np.ascontiguousarray(np.concatenate([empty, *tables], axis=1)), starts


def ways_to_weigh(most: int) -> tuple[NDArray[np.int32], Ints]:
    """Return all (n_1, n_2, ...) with Σ m n_m = w for w = 0 to `EXACT`, and where those of each w begin.

    Multiplicities above `EXACT` have no column: no row of theirs fits.
    """
    most = min(most, EXACT)
    found: list[list[tuple[int, ...]]] = [[()] if w == 0 else [] for w in range(EXACT + 1)]
    for m in range(1, most + 1):
        longer: list[list[tuple[int, ...]]] = [[] for _ in range(EXACT + 1)]
        for w, ways in enumerate(found):
            for n in range((EXACT - w) // m + 1):
                longer[w + m * n] += [(*way, n) for way in ways]
        found = longer
    starts = np.cumsum([0, *map(len, found)]).astype(np.int64)
    flat = [way for ways in found for way in ways]
    return np.array(flat, dtype=np.int32).reshape(len(flat), most), starts
