"""Which values of rows distinguished meet: packed bits for what each row can have, and for what goes with what.

Two values of different trees meet where their boxes share a part of every attribute; the label is an attribute, into
whose parts each class is cut, so that values of different classes do not meet.

Tree t has words `first[t]` to `first[t + 1]` of a row; its values are the lowest bits, in their order, the rest is 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.limits import Limits
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import RowProblem

WORD = 64
BLOCK = 1 << 24  # bits that are held at a time
GATHERED = 1 << 17  # words that are gathered at a time, for the cache's sake
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Packing:
    """Where the values of a problem stand in packed words: tree t has words `first[t]` to `first[t + 1]`, padded.

    Value v is bit `bit[v]` of word `word[v]` (`bit` counts from the lowest).
    """

    first: Ints
    word: Ints
    bit: NDArray[np.uint64]

    @classmethod
    def of(cls, problem: RowProblem) -> Packing:
        """Return the packing of a problem's values."""
        sizes = np.diff(problem.first)
        first = np.concatenate([[0], np.cumsum(np.maximum(1, -(-sizes // WORD)))]).astype(np.int64)
        place = np.arange(len(problem.tree)) - problem.first[problem.tree]
        return cls(first, first[problem.tree] + place // WORD, (place % WORD).astype(np.uint64))

    @property
    def at(self) -> Ints:
        """Return the place of every value's bit among all bits of a row."""
        return self.word * WORD + self.bit.astype(np.int64)

    @property
    def words(self) -> int:
        """Return the number of words of a row."""
        return int(self.first[-1])


class Meetings:
    """The values of a problem on rows, packed: what each row starts with, and which values meet which."""

    def __init__(self, problem: RowProblem) -> None:
        self.problem = problem
        packing = Packing.of(problem)
        self.first: Ints = packing.first
        self.bit: Ints = packing.at
        self._supports: dict[tuple[int, bytes], Words] = {}
        self._groups: dict[int, tuple[tuple[int, ...], Ints]] = {}

    @staticmethod
    def room(problem: RowProblem) -> int:
        """Return about how many bytes the bits of a problem take."""
        width = int(np.maximum(1, -(-np.diff(problem.first) // WORD)).sum())
        return 8 * width * (len(problem.tree) + 4 * problem.rows) + 8 * GATHERED

    @property
    def width(self) -> int:
        """Return the number of words of a row."""
        return int(self.first[-1])

    def span(self, t: int) -> slice:
        """Return the words of a tree."""
        return slice(int(self.first[t]), int(self.first[t + 1]))

    def packed(self, held: Bits) -> Words:
        """Return values, (..., values), as words."""
        out = np.zeros((*held.shape[:-1], self.width * WORD), dtype=bool)
        out[..., self.bit] = held
        return np.packbits(out, axis=-1, bitorder="little").view(np.uint64)

    def unpacked(self, words: Words) -> Bits:
        """Return the values of one row, (values,)."""
        bits = np.unpackbits(words.view(np.uint8), bitorder="little")
        return bits[self.bit].astype(bool)

    def unpacked_tree(self, words: Words, t: int) -> Bits:
        """Return (rows, values of the tree): which of them each row has."""
        own = np.ascontiguousarray(words[:, self.span(t)]).view(np.uint8)
        return np.unpackbits(own, axis=1, bitorder="little")[:, : len(self.problem.values(t))].astype(bool)

    def mask(self, t: int, values: Iterable[int]) -> Words:
        """Return some values of a tree as its words."""
        out = np.zeros((self.first[t + 1] - self.first[t]) * WORD, dtype=bool)
        out[self.bit[list(values)] - self.first[t] * WORD] = True
        return np.packbits(out, bitorder="little").view(np.uint64)

    def by_tree(self, words: Words) -> Bits:
        """Return (..., trees): whether a tree has any bit."""
        found: Bits = np.bitwise_or.reduceat(words, self.first[:-1], axis=-1) != 0
        return found

    def sizes(self, words: Words) -> Ints:
        """Return (..., trees): how many values a row has."""
        counts = np.bitwise_count(words).astype(np.int64)
        return np.add.reduceat(counts, self.first[:-1], axis=-1).astype(np.int64)

    def column(self, words: Words, v: int) -> Bits:
        """Return (rows,): which rows have a value."""
        word, bit = divmod(int(self.bit[v]), WORD)
        return (words[:, word] >> np.uint64(bit) & np.uint64(1)).astype(bool)

    def multiplicities(self, t: int) -> tuple[tuple[int, ...], Ints]:
        """Return how often a tree counts rows, ascending, and of each row which of them; -1: it did not see it."""
        if t not in self._groups:
            times = self.problem.times[t]
            found = np.unique(times[times > 0])
            self._groups[t] = tuple(found.tolist()), np.where(times > 0, np.searchsorted(found, times), -1)
        return self._groups[t]

    @cached_property
    def start(self) -> Words:
        """Return (rows, words): the values that a row can have by how often it is counted, its slot and what is known.

        The other different rows of a value, at least `low` - 1, count once each.
        """
        problem = self.problem
        out = np.zeros((problem.rows, self.width), dtype=np.uint64)
        most = problem.weight - problem.low + 1
        for t in range(problem.trees):
            own = slice(int(problem.first[t]), int(problem.first[t + 1]))
            times, group = self.multiplicities(t)
            for g, m in enumerate(times):
                out[group == g, self.span(t)] = self.mask(t, np.flatnonzero(most[own] >= m) + own.start)
        if problem.slot is not None:
            for i, v in enumerate(problem.slot.tolist()):
                t = int(problem.tree[v])
                out[i, self.span(t)] &= self.mask(t, [v])
        for t in range(problem.trees) if problem.known.attributes else ():
            held = np.zeros((problem.rows, int(self.first[t + 1] - self.first[t]) * WORD), dtype=bool)
            values = np.array(problem.values(t), dtype=np.int64)
            held[:, self.bit[values] - self.first[t] * WORD] = problem.agreeing(values)
            out[:, self.span(t)] &= np.packbits(held, axis=1, bitorder="little").view(np.uint64)
        return out

    @cached_property
    def meet(self) -> Words:
        """Return (values, words): the values that meet each. Cost: values times words times tested attributes."""
        return self.met(Limits())

    def met(self, limits: Limits) -> Words:
        """Return what `meet` does, not kept; `Inconclusive` where the time ends."""
        problem = self.problem
        out: Words = np.full((len(problem.tree), self.width), ~np.uint64(0))
        for k, parts in enumerate(problem.parts):
            if k in problem.sets:
                self._narrow_by_sets(out, problem.sets[k], limits)
                continue
            start, end = problem.start[:, k], problem.end[:, k]
            self._narrow(out, end, np.flatnonzero(end < parts), start, np.less, limits)
            self._narrow(out, start, np.flatnonzero(start > 0), end, np.greater, limits)
        return out

    def _narrow(
        self,
        out: Words,
        ends: NDArray[np.int32],
        values: Ints,
        others: NDArray[np.int32],
        compared: np.ufunc,
        limits: Limits,
    ) -> None:
        """Leave some values only those whose other ends compare with their own."""
        found, at = np.unique(ends[values], return_inverse=True)
        order = np.argsort(at, kind="stable")
        values, at = values[order], at[order]
        step = max(1, BLOCK // max(1, self.width * WORD))
        for a in range(0, len(found), step):
            limits.check("it was looked for which leaves meet")
            table = self.packed(compared(others, found[a : a + step, None]))
            here = slice(*np.searchsorted(at, [a, a + step]).tolist())
            self._leave(out, values[here], table, at[here] - a)

    def _leave(self, out: Words, values: Ints, table: Words, at: Ints) -> None:
        """Leave each of some values what its row of a table has, some at a time."""
        step = max(1, GATHERED // max(1, self.width))
        for a in range(0, len(values), step):
            out[values[a : a + step]] &= table[at[a : a + step]]

    def _narrow_by_sets(self, out: Words, allowed: Bits, limits: Limits) -> None:
        """Leave each value only those that share an allowed part of an attribute."""
        masks, at = np.unique(allowed, axis=0, return_inverse=True)
        for j, mask in enumerate(masks):
            limits.check("it was looked for which leaves meet")
            values = np.flatnonzero(at.reshape(-1) == j)
            self._leave(out, values, self.packed((allowed & mask).any(axis=1))[None, :], np.zeros_like(values))

    def supported(self, i: int, words: Words, trees: Ints) -> Words:
        """Return the values that meet, in each of some trees, one of those that row i has there (none: no value)."""
        out: Words = np.full(self.width, ~np.uint64(0))
        changed = self.by_tree(words ^ self.start[i])[trees]
        for t in trees[~changed].tolist():  # rows start alike: their first revision is the same
            key = t, words[self.span(t)].tobytes()
            if key not in self._supports:
                self._supports[key] = self._support(words, np.array([t]))
            out &= self._supports[key]
        return out & self._support(words, trees[changed]) if changed.any() else out

    def _support(self, words: Words, trees: Ints) -> Words:
        """Return the values that meet, in each of some trees, one of those that a row has there."""
        tree = self.problem.tree
        chosen = np.zeros(self.problem.trees, dtype=bool)
        chosen[trees] = True
        at = np.flatnonzero(self.unpacked(words) & chosen[tree])
        first = np.searchsorted(tree[at], trees)
        if len(at) * self.width <= GATHERED:
            each = np.bitwise_or.reduceat(self.meet[at], first, axis=0)
        else:
            each = np.array([np.bitwise_or.reduce(self.meet[piece], axis=0) for piece in np.split(at, first[1:])])
        found: Words = np.bitwise_and.reduce(each, axis=0)
        return found

    def labels(self, words: Words) -> Bits:
        """Return (rows, labels): the labels that the values of all trees leave every row."""
        problem = self.problem
        out = problem.labels()
        for t in range(problem.trees):
            label = problem.label[int(problem.first[t]) : int(problem.first[t + 1])]
            if (label == ANY_LABEL).all():
                continue
            held, seen = self.unpacked_tree(words, t), problem.times[t] > 0
            for k in range(out.shape[1]):
                out[seen, k] &= held[seen][:, (label == k) | (label == ANY_LABEL)].any(axis=1)
        return out
