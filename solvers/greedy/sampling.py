"""Worlds drawn uniformly from those in which a greedy learner could have chosen its tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.limits import Limits
from solvers.greedy.chosen import ChosenTree, GreedyRule


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws columns independently, each uniformly among its fillings under the rule.

    `exact`: whether the draws are exactly uniform (integers); otherwise `variation` bounds the total variation
    distance of one whole world from uniform. Rows stand in the order of `leaf_of_row` and `class_of_row` (rows,).
    """

    exact: bool
    variation: float
    leaf_of_row: NDArray[np.int64]
    class_of_row: NDArray[np.int64]

    @classmethod
    def of(cls, tree: ChosenTree, columns: int, rule: GreedyRule, limits: Limits) -> Sampler:
        """Return a sampler; raises `ContradictionError` where the rule leaves some column no filling."""
        raise NotImplementedError

    def column(self, column: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return states (nodes, 2): ones of each class among each node's rows, of one filling of a column."""
        raise NotImplementedError

    def filling(self, column: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return one filling (rows,) of a column, uniform among those under the rule."""
        raise NotImplementedError

    def world(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return one world (rows, columns), uniform among those under the rule."""
        raise NotImplementedError
