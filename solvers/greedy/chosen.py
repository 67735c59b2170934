"""A tree that a greedy learner chose, the learner's rule, and the answer: how much of the worlds the rule leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.errors import Unsupported


@dataclass(frozen=True, eq=False)
class ChosenTree:
    """A tree over binary columns with the class counts of every node; node 0 is the root.

    `then` and `otherwise` (nodes,): children by node, -1 at leaves; `then` takes the rows whose column is 1
    (scikit-learn's right child). `column` (nodes,): the column an inner node splits on, -1 at leaves. `counts`
    (nodes, classes): rows of each class. `open_leaf` (nodes,): impure leaves that no limit stopped (not the depth,
    `min_samples_split`, twice `min_samples_leaf`, the weight, nor the number of leaves), so that only the lack of an
    admissible split can have.
    """

    then: NDArray[np.int64]
    otherwise: NDArray[np.int64]
    column: NDArray[np.int64]
    counts: NDArray[np.int64]
    open_leaf: NDArray[np.bool_]


@dataclass(frozen=True)
class GreedyRule:
    """How a greedy learner compares splits; rows are unweighted and every column is a candidate at every node.

    `rows`: in all, at the root. `min_samples_leaf`: least rows of a child (a least weight fraction of the rows,
    rounded up to whole rows, is the same limit). `arithmetic`: "float64", scikit-learn's own expressions in its own
    order without fused multiplications, "exact": gains as they are, an upper bound on what floats can have chosen.
    """

    rows: int
    criterion: Literal["gini", "entropy"] = "gini"
    min_samples_leaf: int = 1
    min_impurity_decrease: float = 0.0
    arithmetic: Literal["float64", "exact"] = "float64"


@dataclass(frozen=True)
class RuleShare:
    """The share of a release's worlds (`assigned`) in which the learner could have chosen the model, in bits.

    `log2`: bounds [low, high] on its logarithm, at most 0; -inf where no world is left. `by_column` (columns): the
    same of each column alone; the share is their product. `by_node` (nodes): bounds on the bits, 0 or more, that the
    condition at an inner node or the rule of an open leaf takes away, given the conditions at the nodes below it,
    summed over the columns; they add up to -`log2`. `nothing_at`: the (node, column) where the lowest condition leaves
    no filling of a column, None where every column has one. `exact`: whether the set counted is just the set of the
    worlds in which some sequence of draws chooses the model, otherwise it contains that set.
    """

    log2: tuple[float, float]
    by_column: list[tuple[float, float]]
    by_node: list[tuple[float, float]]
    nothing_at: tuple[int, int] | None
    exact: bool = True


def two_classes(counts: NDArray[np.int64]) -> None:
    """Raise `Unsupported` where (nodes, classes) counts have more than two classes: states would be too many."""
    if counts.ndim != 2 or counts.shape[1] != 2:
        raise Unsupported(f"exact counts under the learner's rule need two classes, there are {counts.shape[-1]}")
