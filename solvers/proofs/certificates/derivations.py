"""Derivations of bounds on cells, and the part of one that a conclusion rests on.

Source: implication graphs followed backwards (Marques-Silva, Sakallah, "GRASP", ICCAD 1996).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import numpy as np

from solvers.cells.linear_system import Propagated, SparseStatements

Bound = tuple[int, bool]  # a cell, and whether its upper bound is meant


class Trace:
    """Steps (cell, upper, reason) in order, after those of a parent, which then must not grow any more.

    Step numbers run on from the parent's.
    """

    def __init__(self, linear: SparseStatements, parent: Trace | None = None) -> None:
        self.linear, self.parent = linear, parent
        self.first: int = 0 if parent is None else parent.first + len(parent.steps)
        self.steps: list[tuple[int, bool, int]] = []
        self._at: dict[Bound, list[int]] = {}
        self._rests_on: dict[int, tuple[int, ...]] = {}

    def add(self, cell: int, upper: bool, reason: int, rests_on: Iterable[int] | None = None) -> int:
        """Append a step and return its number; `rests_on` are the steps behind it where its reason is no statement."""
        number = self.first + len(self.steps)
        self.steps.append((cell, upper, reason))
        self._at.setdefault((cell, upper), []).append(number)
        if rests_on is not None:
            self._rests_on[number] = tuple(rests_on)
        return number

    def extend(self, found: Propagated) -> None:
        """Append every step of a propagation."""
        for sweep in found.trace:
            for cell, statement in zip(sweep.cell.tolist(), sweep.statement.tolist(), strict=True):
                self.add(cell, sweep.upper, statement)

    def last(self, bound: Bound, before: int) -> int | None:
        """Return the last step that moved a bound before a step, None where none did."""
        numbers = self._at.get(bound, [])
        i = bisect_left(numbers, before)
        if i:
            return numbers[i - 1]
        return None if self.parent is None else self.parent.last(bound, before)

    def rests_on(self, number: int) -> tuple[int, ...]:
        """Return the steps that a step uses directly."""
        if number < self.first and self.parent is not None:
            return self.parent.rests_on(number)
        if number not in self._rests_on:
            cell, upper, reason = self.steps[number - self.first]
            self._rests_on[number] = tuple(self.behind(reason, cell, upper, number))
        return self._rests_on[number]

    def behind(self, statement: int, cell: int, upper: bool, before: int) -> list[int]:
        """Return the steps from which a statement implies a bound on a cell."""
        span = slice(int(self.linear.start[statement]), int(self.linear.start[statement + 1]))
        cells, plus = self.linear.col[span], self.linear.coef[span] > 0
        here = bool(plus[np.flatnonzero(cells == cell)[0]])
        # An upper bound by a positive coefficient is what the others' least leaves of the statement's high.
        sides = plus != (upper == here)
        found = [
            self.last((c, side), before) for c, side in zip(cells.tolist(), sides.tolist(), strict=True) if c != cell
        ]
        return [n for n in found if n is not None]

    def behind_bounds(self, bounds: Iterable[Bound]) -> list[int]:
        """Return the last steps that moved these bounds."""
        end = self.first + len(self.steps)
        found = [self.last(b, end) for b in bounds]
        return [n for n in found if n is not None]

    def closure(self, numbers: Iterable[int], kept: dict[Trace, set[int]]) -> None:
        """Note in `kept`, trace by trace, the steps and all that they rest on."""
        stack = [n for n in numbers if self._keep(n, kept)]
        while stack:
            stack += [n for n in self.rests_on(stack.pop()) if self._keep(n, kept)]

    def _keep(self, number: int, kept: dict[Trace, set[int]]) -> bool:
        """Note one step; tell whether it was not noted before."""
        if number < self.first and self.parent is not None:
            return self.parent._keep(number, kept)
        here = kept.setdefault(self, set())
        if number in here:
            return False
        here.add(number)
        return True
