"""Bounds on columns with the steps behind them, what it costs to know less, and steps without their long numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.kernel.claims import Form, Refined

FEW = 4  # multipliers of a form that is cheap to keep
ROUND = 0.2  # of what a sum leaves, given up for multipliers of fewer digits
Steps = Sequence[Refined | Form]


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Bounds on all columns, and the steps behind them (-1: none)."""

    lower: Ints
    upper: Ints
    by_lower: Ints
    by_upper: Ints

    def copy(self) -> ColumnBounds:
        """Return a copy that can be changed."""
        return ColumnBounds(self.lower.copy(), self.upper.copy(), self.by_lower.copy(), self.by_upper.copy())

    def parts(self, came: Ints, alone: Bits) -> ColumnBounds:
        """Return those of the parts of columns."""
        return ColumnBounds(
            np.where(alone, self.lower[came], 0),
            self.upper[came],
            np.where(alone, self.by_lower[came], -1),
            self.by_upper[came],
        )

    def behind(self, columns: Ints | Bits, low: bool = True, high: bool = True) -> set[int]:
        """Return the steps behind the bounds of some columns."""
        found = set(self.by_lower[columns].tolist()) if low else set()
        return (found | (set(self.by_upper[columns].tolist()) if high else set())) - {-1}


def outlines(steps: Steps) -> Iterable[Refined | tuple[Form, int]]:
    """Return the steps, forms with how many multipliers they have: without these where making them is the cost."""
    light = getattr(steps, "outlines", None)
    if light is not None:
        found: Iterable[Refined | tuple[Form, int]] = light()
        return found
    return (step if isinstance(step, Refined) else (step, len(step.multipliers)) for step in steps)


def cost(
    up: Floats, down: Floats, loose: tuple[Ints, Ints], tight: tuple[Ints, Ints], room: tuple[float, float]
) -> Floats:
    """Return per column which part of the room it takes to know only the loose bounds."""
    above = up * (np.where(up > 0, loose[1], loose[0]) - np.where(up > 0, tight[1], tight[0]))
    below = down * (np.where(down < 0, loose[1], loose[0]) - np.where(down < 0, tight[1], tight[0]))
    return np.asarray(np.maximum(above / room[0], -below / room[1]), dtype=np.float64)


def shorter(form: Form, slack: float, size: float) -> Form:
    """Return a form with multipliers of fewer digits: rounding them moves its sum by less than a part of the slack.

    `size`: what the sources add up to at most, each weighed by 1.
    """
    if len(form.multipliers) <= FEW or not slack > 0 or not math.isfinite(slack):
        return form
    bits = max(8, math.ceil(math.log2(max(size, 1.0) / (ROUND * slack))))
    if form.over <= 1 << bits:
        return form
    pairs = ((s, ((y << bits + 1) + form.over) // (2 * form.over)) for s, y in form.multipliers)
    return replace(form, over=1 << bits, multipliers=tuple((s, y) for s, y in pairs if y))
