"""Figures of one kind about nodes of a tree, and all of a tree put together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.models.models import TreeSums
from recon.readers.formats.sklearn.boosting.rounding import Floats


@dataclass(frozen=True, eq=False)
class GradientFigures:
    """Figures about nodes `at`: low <= gradient Σg + hessian Σh + square Σg² <= high; numbers stand for all alike."""

    what: str
    at: NDArray[np.int64]
    gradient: Floats | float
    hessian: Floats | float
    square: Floats | float
    low: Floats
    high: Floats


def stacked(tree: tuple[int, int, Floats], *kinds: GradientFigures) -> TreeSums:
    """Return the sums of a tree, given its round, its score and the steps of its leaves."""

    def joined(name: str) -> Floats:
        return np.concatenate([np.broadcast_to(getattr(k, name), len(k.at)).astype(np.float64) for k in kinds])

    node = np.concatenate([k.at for k in kinds]).astype(np.int64)
    what = tuple(k.what for k in kinds for _ in range(len(k.at)))
    gradient, hessian, square = joined("gradient"), joined("hessian"), joined("square")
    return TreeSums(*tree, node, gradient, hessian, square, joined("low"), joined("high"), what)
