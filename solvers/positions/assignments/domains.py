"""What is left for every row in every tree: packed bits, and the boxes that follow from them.

What propagation looks up: which values meet, as packed bits, and the ways to make a weight of multiplicities.

What changes while removals are worked out: the values left, and what has to be looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import WORD, Meetings, Packing, RowProblem, Words

GATHERED = 1 << 22  # numbers that are held at a time


@dataclass(frozen=True, eq=False)
class Places:
    """Where every row can be. `start`, `end` (rows, attributes): the first part and the one behind the last.

    `sets[k]` (rows, parts): the parts left of attribute k where they need not be a run. The label is an attribute.
    """

    start: Ints
    end: Ints
    sets: dict[int, Bits]


class Domains:
    """The values left: `words` (rows, words) uint64, changed in place. Trees that did not see a row have no bits."""

    def __init__(self, problem: RowProblem) -> None:
        self.problem = problem
        self.packing = Packing.of(problem)
        self.words: NDArray[np.uint64] = np.zeros((problem.rows, self.packing.words), dtype=np.uint64)
        for t in range(problem.trees):
            values = np.array(problem.values(t), dtype=np.int64)
            times = problem.times[t].astype(np.int64)
            allowed = (times[:, None] > 0) & (times[:, None] <= (problem.weight - problem.low + 1)[values][None, :])
            if problem.slot is not None:
                own = (problem.slot >= problem.first[t]) & (problem.slot < problem.first[t + 1])
                allowed[own] &= problem.slot[own][:, None] == values[None, :]
            if problem.known.attributes:
                allowed &= problem.agreeing(values)
            self.set_tree(t, allowed)

    def copy(self) -> Domains:
        """Return the same values left, to be changed apart."""
        out = object.__new__(Domains)
        out.problem, out.packing, out.words = self.problem, self.packing, self.words.copy()
        return out

    def set_tree(self, t: int, allowed: Bits) -> None:
        """Set what every row has left in a tree; `allowed` (rows, values of the tree)."""
        first, end = int(self.packing.first[t]), int(self.packing.first[t + 1])
        padded = np.zeros((len(allowed), (end - first) * WORD), dtype=bool)
        padded[:, : allowed.shape[1]] = allowed
        self.words[:, first:end] = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)

    def of_tree(self, t: int, rows: Ints | None = None) -> Bits:
        """Return (rows, values of the tree): which values every row, or each of some, has left."""
        words = self.words[:, int(self.packing.first[t]) : int(self.packing.first[t + 1])]
        own = np.ascontiguousarray(words if rows is None else words[rows])
        bits = np.unpackbits(own.view(np.uint8), axis=1, bitorder="little")
        return bits[:, : len(self.problem.values(t))].astype(bool)

    def of_row(self, i: int) -> Ints:
        """Return the values that a row has left, in all trees."""
        p = self.packing
        found: Ints = np.flatnonzero(self.words[i, p.word] >> p.bit & np.uint64(1)).astype(np.int64)
        return found

    def sizes(self) -> Ints:
        """Return (rows, trees): how many values are left; 0 where the tree did not see the row."""
        out = np.zeros((self.problem.rows, self.problem.trees), dtype=np.int64)
        for t in range(self.problem.trees):
            own = self.words[:, int(self.packing.first[t]) : int(self.packing.first[t + 1])]
            out[:, t] = np.bitwise_count(own).sum(axis=1, dtype=np.int64)
        return out

    def contradicted(self) -> bool:
        """Return whether some row has no value left in a tree that saw it: there is no world."""
        return bool(((self.sizes() == 0) & (self.problem.times.T > 0)).any())

    def labels(self) -> Bits:
        """Return (rows, labels): the labels that the values of all trees leave every row."""
        problem = self.problem
        out = problem.labels()
        for t in range(problem.trees):
            values = np.array(problem.values(t), dtype=np.int64)
            held, label = self.of_tree(t), problem.label[values]
            seen = problem.times[t] > 0
            if (label == ANY_LABEL).all():
                continue
            for k in range(out.shape[1]):
                out[seen, k] &= held[seen][:, (label == k) | (label == ANY_LABEL)].any(axis=1)
        return out

    def places(self) -> Places:
        """Return where every row can be: what the values left in each tree cover, in all trees at once.

        Cost: values left times attributes, tree by tree.
        """
        problem = self.problem
        parts = np.array(problem.parts, dtype=np.int64)
        start, end, sets = problem.ends()
        for t in range(problem.trees):
            seen = np.flatnonzero(problem.times[t] > 0)
            if not len(seen) or not len(problem.values(t)):
                continue
            words = np.ascontiguousarray(self.words[seen, int(self.packing.first[t]) : int(self.packing.first[t + 1])])
            alike = words.view(np.dtype((np.void, words.itemsize * words.shape[1]))).reshape(-1)
            _, one, back = np.unique(alike, return_index=True, return_inverse=True)  # rows with the same values left
            low, high = np.zeros((len(one), len(parts)), dtype=np.int64), np.tile(parts, (len(one), 1))
            held = {k: np.ones((len(one), problem.parts[k]), dtype=bool) for k in problem.sets}
            step = max(1, GATHERED // max(1, len(problem.values(t)) * len(parts)))
            for some in np.split(np.arange(len(one)), range(step, len(one), step)):
                at, left = np.nonzero(self.of_tree(t, seen[one[some]]))
                first = np.flatnonzero(np.diff(at, prepend=-1))
                at, left = some[at[first]], left + problem.first[t]
                if not len(at):
                    continue
                low[at] = np.minimum.reduceat(problem.start[left], first, axis=0)
                high[at] = np.maximum.reduceat(problem.end[left], first, axis=0)
                for k, allowed in problem.sets.items():
                    held[k][at] = np.logical_or.reduceat(allowed[left], first, axis=0)
            back = back.reshape(-1)
            start[seen], end[seen] = np.maximum(start[seen], low[back]), np.minimum(end[seen], high[back])
            for k, kept in held.items():
                sets[k][seen] &= kept[back]
        return Places(start, end, sets)


EXACT = 24  # weights up to which all ways to make them are looked through
MOST_SUMS = 64  # values of c that weighted sums are taken with
CHECKED = 8  # values taken together before it is looked whether all that a row has left is met


class ProblemTables(NamedTuple):
    """A problem as the inner loops see it.

    `word` (trees + 1): the first word of every tree; `value` (trees + 1): its first value; `owner` (words): the tree of
    a word; `at` (values): the place of every value's bit in a row's unpacked bits. `meet` (values, words): the values
    that every value meets, of its own tree itself alone. `parts` (values, words of parts): the parts that a
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

    @property
    def look(self) -> int:
        """Return the words that one look at a row takes, about: of most trees it ends after some values."""
        values, words = self.meet.shape
        return max(1, min(int(values), CHECKED * len(self.times)) * int(words))

    @property
    def compared(self) -> bool:
        """Return whether it is known which values meet."""
        return len(self.meet) == len(self.weight)

    @classmethod
    def of(cls, problem: RowProblem, limits: Limits) -> ProblemTables:
        """Return the tables of a problem; `Inconclusive` where the time ends. Memory: `Meetings.room`, mostly.

        Where that is above the limit, `meet` is empty, and rows are not revised.
        """
        packing = Packing.of(problem)
        owner = np.repeat(np.arange(problem.trees), np.diff(packing.first))
        at = packing.at
        most = np.maximum(problem.times.max(axis=1, initial=0), 0).astype(np.int64)
        parts, part = _packed_sets(problem)
        ways, way = _ways_to_weigh(int(most.max(initial=1)))
        meet = np.zeros((0, packing.words), dtype=np.uint64)
        if Meetings.room(problem) <= limits.room:
            meet = Meetings(problem).met(limits)
            limits.keep(meet, meet.nbytes)
        numbers = [np.array(x, dtype=np.int64) for x in (problem.weight, problem.low, problem.high)]
        times = np.array(problem.times, dtype=np.int32, order="C")
        weight, low, high = numbers
        word, value = packing.first.copy(), problem.first.copy()
        return cls(
            word, value, owner.astype(np.int64), at, meet, parts, part, times, most, weight, low, high, ways, way
        )


def pack_bits(bits: Bits) -> Words:
    """Return (rows, bits) as (rows, words), bits counted from the lowest; one word at least."""
    padded = np.zeros((len(bits), max(1, -(-bits.shape[1] // WORD)) * WORD), dtype=bool)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def _packed_sets(problem: RowProblem) -> tuple[Words, Ints]:
    """Return (values, words) the parts that values allow of the attributes in `problem.sets`, and where each begins."""
    tables = [pack_bits(allowed) for _, allowed in sorted(problem.sets.items())]
    starts = np.cumsum([0, *(table.shape[1] for table in tables)]).astype(np.int64)
    empty = np.zeros((len(problem.tree), 0), dtype=np.uint64)
    return np.ascontiguousarray(np.concatenate([empty, *tables], axis=1)), starts


def _ways_to_weigh(most: int) -> tuple[NDArray[np.int32], Ints]:
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


class DomainState(NamedTuple):
    """The values left, `words` (rows, words), and what is open.

    `changed` (rows, trees): row i has lost values of tree t since it was last revised. `counts`, `flows` (trees): the
    tree lost values since its counts were bounded, since its flows were filtered. `match` (trees, rows): the value
    (from 0 in its tree) that the last flow gave every row, -1: none; a start for the next. The arrays are changed in
    place; a tuple, so that compiled loops can take it.
    """

    words: Words
    changed: Bits
    counts: Bits
    flows: Bits
    match: NDArray[np.int32]

    @classmethod
    def of(cls, words: Words, tables: ProblemTables) -> DomainState:
        """Return the state before anything was looked at."""
        seen = tables.times.T > 0
        every = np.ones(tables.trees, dtype=bool)
        match = np.full(tables.times.shape, -1, dtype=np.int32)
        return cls(words, np.array(seen, order="C"), every, every.copy(), match)

    def copy(self) -> DomainState:
        """Return a copy that can be changed apart."""
        return DomainState(
            self.words.copy(), self.changed.copy(), self.counts.copy(), self.flows.copy(), self.match.copy()
        )


def values_left(tables: ProblemTables, row: Words, t: int) -> Ints:
    """Return the values that a row has left in a tree."""
    words = row[int(tables.word[t]) : int(tables.word[t + 1])]
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    found: Ints = np.flatnonzero(bits) + tables.value[t]
    return found
