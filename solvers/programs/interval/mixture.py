"""Mixtures of sets of independent columns: which cells the others determine.

For the bounds of `solvers.programs.interval.lagrangian_dual`.

A tableau over a prime field holds one basis of the columns; the heaviest basis is reached by exchanging columns
(optimal in a matroid). Independence modulo the prime implies independence, so every set is proved by its tableau.

Source: Edmonds, "Matroids and the greedy algorithm", Math. Programming 1, 1971; Frank, Wolfe, "An algorithm for
quadratic programming", Naval Res. Logist. Quart. 3, 1956 (the mixture).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Floats, Ints
from solvers.programs.interval.lagrangian_dual import MIN_SHARE, SHARES, Tilt

PRIME = (1 << 31) - 1  # products of two residues fit into 63 bits
STEPS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005)
ENOUGH = 0.05  # nats: the mixture is within this of the best


class Tableau:
    """Columns modulo a prime, reduced so that those of `basis` (row -> column) are unit vectors."""

    def __init__(self, matrix: NDArray[np.int64], weight: Floats, expired: Callable[[], bool]) -> None:
        """Reduce with the heaviest columns first: the basis of greatest weight. Cost: rank² times columns.

        Out of time, the columns found so far stand; they are independent too.
        """
        self.table: NDArray[np.int64] = matrix % PRIME
        chosen: list[int] = []
        used = np.zeros(len(matrix), dtype=bool)
        rows: list[int] = []
        for c in np.argsort(-weight, kind="stable").tolist():
            candidates = np.flatnonzero((self.table[:, c] != 0) & ~used)
            if len(candidates):
                row = int(candidates[0])
                self.pivot(row, c)
                used[row] = True
                rows.append(row)
                chosen.append(c)
                if used.all() or expired():
                    break
        self.table, self.basis = self.table[rows], np.array(chosen, dtype=np.int64)

    def circuits(self) -> list[tuple[int, ...]]:
        """Return, per column outside the basis, itself and the basis columns that it depends on, shortest first."""
        inside = set(self.basis.tolist())
        outside = [c for c in range(self.table.shape[1]) if c not in inside]
        found = [(c, *self.basis[np.flatnonzero(self.table[:, c])].tolist()) for c in outside]
        return sorted((tuple(sorted(f)) for f in found), key=lambda f: (len(f), f))

    def pivot(self, row: int, column: int) -> None:
        """Make a column the unit vector of a row."""
        scale = pow(int(self.table[row, column]), -1, PRIME)
        self.table[row] = self.table[row] * scale % PRIME
        others = np.flatnonzero(self.table[:, column])
        others = others[others != row]
        along = np.flatnonzero(self.table[row])
        factor = self.table[others, column]
        at = np.ix_(others, along)
        self.table[at] = (self.table[at] + (PRIME - factor)[:, None] * self.table[row, along]) % PRIME

    def improve(self, weight: Floats, expired: Callable[[], bool]) -> Ints:
        """Return the basis of greatest weight, by exchanges that each gain the most (any basis, should time be up)."""
        while not expired():
            inside = weight[self.basis]
            lightest = np.where(self.table != 0, inside[:, None], np.inf).min(axis=0, initial=np.inf)
            gain = weight - lightest
            gain[self.basis] = 0.0
            column = int(np.argmax(gain))
            if gain[column] <= 1e-9:
                break
            hit = np.flatnonzero(self.table[:, column])
            row = int(hit[np.argmin(inside[hit])])
            self.pivot(row, column)
            self.basis[row] = column
        return self.basis.copy()


class Mixture:
    """A growing mixture of bases; `share` is, per cell, the share of bases that leave it out."""

    def __init__(self, tilt: Tilt, slope: Floats, alive: NDArray[np.bool_], expired: Callable[[], bool]) -> None:
        """Start with the basis of the cells with the greatest entropy; `alive` are the cells worth a place in it."""
        if tilt.part.matrix is None:
            raise TypeError("the component has no matrix")
        self.tilt = tilt
        self.cells = np.flatnonzero(alive)
        equal = tilt.part.low == tilt.part.high
        self.tableau = Tableau(tilt.part.matrix[equal][:, self.cells], tilt.peaks(slope)[self.cells], expired)
        self.sets: list[Ints] = [self.cells[self.tableau.basis]]
        self.weights = np.ones(1)

    @property
    def share(self) -> Floats:
        """Return s per cell."""
        out = np.ones(self.tilt.cells)
        for members, weight in zip(self.sets, self.weights.tolist(), strict=True):
            out[members] -= weight
        return np.clip(out, 0.0, 1.0)

    @property
    def whole_share(self) -> Ints:
        """Return s times SHARES in whole numbers: an exact mixture of the sets, weights rounded to multiples."""
        parts = np.floor(self.weights * SHARES).astype(np.int64)
        parts[0] += SHARES - parts.sum()
        out = np.full(self.tilt.cells, SHARES, dtype=np.int64)
        for members, part in zip(self.sets, parts.tolist(), strict=True):
            out[members] -= part
        return out

    def grow(self, slope: Floats, steps: int, expired: Callable[[], bool]) -> None:
        """Mix in bases that lower the bound (Frank-Wolfe steps with a line search). Cost: a basis per step."""
        share = self.share
        for _ in range(steps):
            clipped = np.maximum(share, MIN_SHARE)
            value, rate = self.tilt.rates(slope, clipped)
            basis = self.cells[self.tableau.improve(rate[self.cells], expired)]
            corner = np.ones(len(share))
            corner[basis] = 0.0
            if expired() or float(rate @ (share - corner)) < ENOUGH:
                break
            tried = [(self.tilt.rates(slope, np.maximum((1 - a) * share + a * corner, MIN_SHARE))[0], a) for a in STEPS]
            best, a = min(tried)
            if best >= value:
                break
            self.sets.append(basis)
            self.weights = np.append(self.weights * (1 - a), a)
            share = (1 - a) * share + a * corner
