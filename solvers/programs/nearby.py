"""Worlds near a known one: a linear program moves as few rows as it can so that a cell gets a row, or loses all it has.

What moves no statement is mostly whole, or becomes whole times a small number (the moves between two-way tables with
the same margins are +1, -1, -1, +1: Diaconis, Sturmfels, "Algebraic algorithms for sampling from conditional
distributions", Annals of Statistics 26, 1998). Every world is checked; that none is found proves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.cells.linear_system import FREE, SparseStatements
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.limits import Limits
from solvers.programs.linear.linear_program import LinearProgram, by_column

TIMES = (1, 2, 3, 4, 6, 12)  # moves are tried so many times, as fractions of halves, thirds, ... need
TRIED = 3  # cells of one selection


class Nearby:
    """Moves from a world, each by the same linear program with other bounds on a few columns.

    `base` is the world where the next move starts: the last one found by `reaching`.
    """

    def __init__(self, system: CellSystem, linear: SparseStatements, base: Ints, spare: int, seed: int = 0) -> None:
        """Set up the program; `linear` are the statements, those left out are checked at the end only.

        `spare`: so many rows stay in a cell that has them, so that moves lead to worlds with rows in ever more cells.
        `seed`: 0, or rows of some cells cost more to move than those of others, so that other moves are found.
        """
        self.system, self.linear, self.base, self.spare = system, linear, base, spare
        n, room = linear.columns, self._room()
        start, row, coef = by_column(linear.row, linear.col, linear.coef, n)
        self.program = LinearProgram(*self._ends())
        costs = np.random.default_rng(seed).uniform(1, 2, n) if seed else np.ones(n)
        for sign, most in zip((1.0, -1.0), room, strict=True):
            self.program.add(costs, (np.zeros(n), most), (start, row, sign * coef))

    def reaching(self, cells: Sequence[int], limits: Limits) -> Ints | None:
        """Return a world with a row in one of the cells, None where none was found."""
        room = self._room()[0]
        for c in [c for c in cells if room[c] >= 1][:TRIED]:
            found = self._moved({c: 1.0}, 0, limits)
            if found is not None:
                self._walk(found)
                return found
        return None

    def leaving(self, cells: Sequence[int], limits: Limits) -> Ints | None:
        """Return a world without a row in the cells, None where none was found."""
        rows = {c: float(self.base[c]) for c in cells if self.base[c]}
        if any(self.system.bounds.lower[c] > 0 for c in rows):
            return None
        return self._moved(rows, 1, limits)

    def _room(self) -> tuple[Floats, Floats]:
        """Return how many rows every cell can take, and give."""
        bounds = self.system.bounds
        gives = np.maximum(0, self.base - np.maximum(bounds.lower, np.minimum(self.base, self.spare)))
        return (bounds.upper - self.base).astype(np.float64), gives.astype(np.float64)

    def _ends(self) -> tuple[Floats, Floats]:
        """Return how much every statement lets its sum fall (not above 0), and rise."""
        sums, low, high = self.linear.sums(self.base), self.linear.low, self.linear.high
        return np.where(low <= -FREE, -np.inf, low - sums), np.where(high >= FREE, np.inf, high - sums)

    def _moved(self, least: dict[int, float], side: int, limits: Limits) -> Ints | None:
        """Return the world after the smallest move with at least so many rows more (side 1: fewer) in some cells."""
        first, room = side * len(self.base), self._room()[side]
        for c, rows in least.items():
            self.program.between(first + c, rows, max(rows, float(room[c])))
        try:
            found = self.program.run(limits)
        except Inconclusive:
            return None
        for c in least:
            self.program.between(first + c, 0.0, float(room[c]))
        return self._world(found.x, TIMES if side == 0 else TIMES[:1]) if found.optimal else None

    def _world(self, x: Floats, times: Sequence[int]) -> Ints | None:
        """Return the world after a move, or after several times that move where only these are whole."""
        bounds, n = self.system.bounds, len(self.base)
        for k in times:
            z = self.base + np.rint(k * (x[:n] - x[n:])).astype(np.int64)
            if bool(((z >= bounds.lower) & (z <= bounds.upper)).all()) and self.system.satisfied(z):
                return z
        return None

    def _walk(self, z: Ints) -> None:
        """Go on from another world."""
        changed, ends = np.flatnonzero(z != self.base), self._ends()
        self.base = z
        for first, room in zip((0, len(z)), self._room(), strict=True):
            for c in changed.tolist():
                self.program.between(first + c, 0.0, float(room[c]))
        low, high = self._ends()
        for r in np.flatnonzero((low != ends[0]) | (high != ends[1])).tolist():
            self.program.state(r, float(low[r]), float(high[r]))
