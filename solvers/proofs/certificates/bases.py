"""Sources of a proof by leaf values that determine every column by themselves, and forms as sums of these.

Source: Golub, Van Loan, "Matrix Computations", 4th edition, 2013, section 3.4 (elimination with row pivoting).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lu, lu_factor, lu_solve

from solvers.foundation.array_types import Floats, Ints
from solvers.kernel.claims import Form
from solvers.kernel.leaf_values.replay import UNITS, LeafValueReplay

MOST = 1 << 25  # numbers in the matrix that a basis is chosen from
SINGULAR = 1e-10  # of the greatest pivot: what is smaller determines nothing
GRID = 60  # binary digits of weights


@dataclass(frozen=True, eq=False)
class Basis:
    """As many sources as there are columns (those that can hold rows), which determine them: weights are solved for."""

    sources: list[int]
    columns: Ints
    place: dict[int, int]
    matrix: Floats
    factors: Any

    def form(self, form: Form) -> Form:
        """Return a form by these sources: weights as they were solved for, and once more for what is left."""
        wanted = np.zeros(len(self.columns))
        for c, a in form.terms:
            if c in self.place:
                wanted[self.place[c]] = a
        y = lu_solve(self.factors, wanted, trans=1)
        y = y + lu_solve(self.factors, wanted - y @ self.matrix, trans=1)
        whole = [(s, round(x * 2.0**GRID)) for s, x in zip(self.sources, y.tolist(), strict=True) if np.isfinite(x)]
        return replace(form, over=1 << GRID, multipliers=tuple((s, x) for s, x in whole if x))


def basis_of(replay: LeafValueReplay, columns: Ints) -> Basis | None:
    """Return sources that determine some columns, all others without rows, by elimination; None where they do not.

    Nor where the matrix is too large. Cost: sources times columns squared.
    """
    facts, figures = replay.facts, replay.figures
    cut = set(replay.cutter.blocks[: replay.cells.regions.shape[1]])
    stated = [s for s in range(len(facts)) if s == facts.rows or facts.block_of(s) in cut]
    sources = [*stated, *(len(facts) + i for i in range(int(figures.first[replay.cells.trees])))]
    if not len(columns) <= len(sources) <= MOST // max(1, len(columns)):
        return None
    whole = np.zeros((len(sources), len(replay.upper)))
    for i, s in enumerate(sources):
        row = replay.row(s)
        whole[i, row.columns] = (row.low + row.high).astype(np.float64) / 2.0**UNITS
        replay.limits.check("a basis is looked for")
    matrix = np.ascontiguousarray(whole[:, columns])
    place, _, upper = lu(matrix, p_indices=True)
    diagonal = np.abs(np.diag(upper))
    if not diagonal.min() > SINGULAR * diagonal.max():
        return None
    chosen = np.flatnonzero(place < len(columns))
    places = {c: j for j, c in enumerate(columns.tolist())}
    return Basis([sources[i] for i in chosen.tolist()], columns, places, matrix[chosen], lu_factor(matrix[chosen]))
