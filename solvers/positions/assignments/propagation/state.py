"""What changes while removals are worked out: the values left, and what has to be looked at again."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits
from solvers.positions.assignments.propagation.tables import ProblemTables
from solvers.statements.meetings import Words


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
