"""What is left for every row in every tree: packed bits, and the boxes that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.statements.meetings import WORD, Packing
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import RowProblem

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
