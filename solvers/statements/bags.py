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

from solvers.statements.boxes import Boxes

UNPUBLISHED = -1


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
class Bags:
    """Trees over one training file: `times` (trees, rows) int32, and what each tree counts.

    `blocks`: the numbers of the release's blocks that follow from the bags.
    """

    name: str
    times: NDArray[np.int32]
    trees: tuple[BagCounts, ...]
    blocks: tuple[int, ...] = ()

    @property
    def left_out(self) -> str:
        """Return what the statements on unordered rows leave out, as a line beside an answer from them."""
        return f"{self.name}: not all is used of the bags that are known (multiplicities)"

    @property
    def rows(self) -> int:
        """Return the number of positions."""
        return int(self.times.shape[1])
