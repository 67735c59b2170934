"""What the trees of a boosted model publish beside counts: sums of gradients over rows, in intervals.

A row's gradient and hessian in a round follow from its label and its raw scores, the sums of what the leaves of earlier
trees added. A leaf's value is a function of the sums over its rows, so that it is a linear statement on the numbers of
rows per cell (one leaf of every tree) and label, with coefficients that the file itself determines.

Source: Friedman, "Greedy function approximation", Annals of Statistics 29, 2001; Chen, Guestrin, "XGBoost", KDD 2016,
eq. 5; docs/mathematics.md, "Boosted models".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Loss = Literal["log_loss", "softmax", "squared_error"]
Precision = Literal["float64", "float32"]


@dataclass(frozen=True, slots=True)
class Gradients:
    """How a library computes a row's gradient g and hessian h from its raw scores F and label y.

    `log_loss` (one score, labels 0 and 1): p = 1 / (1 + exp(-scale F)), g = scale (p - y), h = factor scale² p (1 - p).
    `softmax` (a score per class): p = softmax(F)_k, g_k = p_k - [y = k], h_k = factor p_k (1 - p_k).
    `squared_error` (a real target): g = F - y, h = 1.

    What is computed lies within `relative` times its size plus `absolute` of the true g and h, and is then rounded to
    the nearest number of `rounded` precision. Scores add up in `scores` precision, each sum rounded; `score_error` is
    how far a score may be off by then (what the file does not hold to the last bit), `start_error` one before the
    first round.

    `stages` float32 (log loss, scale and factor 1): the numbers are those of single precision, rounded step by step:
    e = exp(min(-F, 88.7)), within `relative` of its size before it is rounded; p = 1 / (1 + e), g = p - y,
    h = max(p (1 - p), 1e-16). `absolute` and `rounded` are not used.
    """

    loss: Loss
    scores: Precision = "float64"
    rounded: Precision = "float64"
    scale: float = 1.0
    factor: float = 1.0
    relative: float = 0.0
    absolute: float = 0.0
    score_error: float = 0.0
    start_error: float = 0.0
    stages: Precision = "float64"


@dataclass(frozen=True, eq=False)
class BoostedTree:
    """One tree: the leaves are the regions of the partition that is block `block` of the release, in its order.

    `step[j]` is what leaf j adds to score number `of` (regression, two classes: 0) when round `round` ends; trees of
    one round see the scores before it. Figure i is about the rows in leaves `leaf[start[i]:start[i + 1]]`:
    low[i] <= gradient[i] Σg + hessian[i] Σh + square[i] Σg² <= high[i], exactly as these doubles stand.
    """

    block: int
    round: int
    of: int
    step: NDArray[np.float64]
    start: NDArray[np.int64]
    leaf: NDArray[np.int32]
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]
    square: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.low)

    def members(self, i: int) -> NDArray[np.int32]:
        """Return the leaves that figure i is about."""
        return self.leaf[self.start[i] : self.start[i + 1]]


@dataclass(frozen=True, eq=False)
class Boosted:
    """A boosted model over all the rows, none of them weighted; trees in the order of their rounds.

    `start`: the scores (one, or one per class) from which the gradients of the first round follow; `base`: those to
    which steps add up (LightGBM's first tree contains the start: 0). `labels[k]`: the label index of class k (two
    classes: of 0 and 1), no row has another label; () where the target is a number. `left_out`: a line beside answers
    that do not use it.
    """

    name: str
    gradients: Gradients
    start: tuple[float, ...]
    base: tuple[float, ...]
    labels: tuple[int, ...]
    trees: tuple[BoostedTree, ...]

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """Return the blocks of the trees."""
        return tuple(tree.block for tree in self.trees)

    @property
    def left_out(self) -> str:
        """Return what answers from counts alone leave out."""
        return f"{self.name}: the leaf values say more than what is used of them"

    def __len__(self) -> int:
        return sum(map(len, self.trees))
