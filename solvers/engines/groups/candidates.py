"""Few cells that are enough for a world: those of vertices of the linear relaxation, where rows gather in few items.

A vertex has no more cells with rows than there are statements. Costs that fall where rows lie already gather them
(Candès, Wakin, Boyd, "Enhancing sparsity by reweighted l1 minimization", J. Fourier Anal. Appl. 14, 2008). A world over
these cells is a world; that there is none says nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import simplified
from solvers.cells.linear_system import propagate
from solvers.engines.groups.items import Items
from solvers.foundation.limits import Limits
from solvers.programs.linear_program import CellProgram

ROUNDS = 4  # programs from each start, every one with costs from the rows of the one before
SCALE = 1_000
AVOIDED = 10 * SCALE
Mask = NDArray[np.bool_]


class CandidateCells:
    """The cells of vertices found so far; more starts give more."""

    def __init__(self, items: Items, limits: Limits) -> None:
        """Presolve the system; raises `Inconclusive` when time is up."""
        bounds, self.items, self.limits = items.system.bounds, items, limits
        linear = simplified(items.system, limits)
        self.program = CellProgram(linear, bounds.lower, bounds.upper, again=True)
        self.held = bounds.lower > 0
        self.random = np.random.default_rng(len(linear))

    def widened(self, starts: int, avoided: Mask | None = None) -> Items | None:
        """Return the items with no cells but those of the items that some vertex fills, after so many more starts.

        None where propagation shows that these hold no world: programs over them rest on bounds that do not conflict.
        `avoided`: a mask of cells that vertices leave empty where they can; those of earlier starts are forgotten.
        """
        items, bounds = self.items, self.items.system.bounds
        beside = 0 if avoided is None else avoided * AVOIDED
        self.held = bounds.lower > 0 if avoided is not None else self.held
        for _ in range(starts):
            costs = self.random.integers(0, SCALE, len(self.held)).astype(np.int64)
            for _ in range(ROUNDS):
                self.limits.check("cells for a world were chosen")
                found = self.program.solve(costs + beside, self.limits)
                if found is None:
                    break
                z = bounds.lower.astype(np.float64)
                z[self.program.free] += found.x
                self.held |= z > 0.5
                rows = np.zeros(len(items))
                np.add.at(rows, items.item, z)
                noise = self.random.integers(0, SCALE // 30, len(costs))
                costs = (SCALE / (1 + np.maximum(rows, 0)))[items.item].astype(np.int64) + noise
        chosen = np.isin(items.item, items.item[self.held])
        upper = np.where(chosen, bounds.upper, bounds.lower)
        linear = items.system.linear.take(items.system.always)
        narrowed = propagate(linear, bounds.lower, upper, self.limits.expired, trace=False)
        if narrowed.conflict is not None:
            return None
        return Items(replace(items.system, bounds=narrowed), items.item)
