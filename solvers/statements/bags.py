"""What trees on known resamples (bags) count: rows told apart by their position in the training file.

Position i stands `times[t, i]` times in the bag of tree t. Leaf j of tree t then says, for every class k that it
counts, that the multiplicities of the positions in it with that class add up to the published count, and where
`distinct` is published, how many positions of the bag lie in the leaf. What no bag holds is free.

`Release.blocks` has the statements on unordered rows that follow (lower bounds); the bags say strictly more.

Source: Breiman, "Bagging predictors", Machine Learning 24, 1996; docs/mathematics.md, "Resampled forests".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.statements.boxes import Boxes

UNPUBLISHED = -1


@dataclass(frozen=True, eq=False)
class KnownValues:
    """What is known of rows by position beside the release: row i has attribute `attributes[j]` in one of some parts.

    These are `allowed[j][codes[j, i]]`: (patterns, parts) each, codes (attributes, rows). Of an attribute of which
    nothing is known of a row, all parts.
    """

    attributes: tuple[int, ...]
    codes: Ints
    allowed: tuple[Bits, ...]

    def of(self, k: int | None) -> Bits | None:
        """Return (rows, parts): which parts rows can have of attribute k by what is known; None where nothing is."""
        if k not in self.attributes:
            return None
        j = self.attributes.index(k)
        return np.asarray(self.allowed[j][self.codes[j]])


NOTHING = KnownValues((), np.zeros((0, 0), dtype=np.int64), ())


@dataclass(frozen=True, eq=False)
class BagCounts:
    """The leaves of one tree: disjoint `boxes` that cover the row space, and what they count of its bag.

    Count s: the rows in box `region[s]` with label `label[s]` (ANY_LABEL: any) weigh `count[s]`; in box j lie
    `distinct[j]` different positions of the bag (UNPUBLISHED: not said). `names` are those of the leaves.
    """

    kind: str
    boxes: Boxes
    region: NDArray[np.int32]
    label: NDArray[np.int32]
    count: NDArray[np.int64]
    distinct: NDArray[np.int64]
    names: tuple[str, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TreeBags:
    """Trees over one training file: `times` (trees, rows) int32, and what each tree counts.

    `blocks`: the numbers of the release's blocks that follow from the bags. `known`: of these rows beside the release.
    """

    name: str
    times: NDArray[np.int32]
    trees: tuple[BagCounts, ...]
    blocks: tuple[int, ...] = ()
    known: KnownValues = NOTHING

    @property
    def left_out(self) -> str:
        """Return what the statements on unordered rows leave out, as a line beside an answer from them."""
        return f"{self.name}: not all is used of the bags that are known (multiplicities)"

    @property
    def rows(self) -> int:
        """Return the number of positions."""
        return int(self.times.shape[1])
