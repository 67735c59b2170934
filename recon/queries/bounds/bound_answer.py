"""Bounds on a statistic over all worlds, as users read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recon.readers.frames.world import World
from solvers.foundation.display.displayed import Displayed, DisplayFacts, text
from solvers.foundation.errors import Unsupported
from solvers.questions.answers import Answer

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.display.plots import Axes


@dataclass(frozen=True, repr=False)
class BoundAnswer(Displayed, Answer):
    """Least, greatest and mean value of a statistic over the worlds of a convention.

    `min` and `max` are attained where `status` is exact, else outer bounds; None where no world has the statistic (a
    mean of nobody). `expectation` is None where it is not exact. `distribution()` and `attained(greatest)` are
    computed when asked. `informative` tells whether the answer says more than the domain and the number of rows by
    themselves; None where that was not found out.
    """

    min: float | None = 0
    max: float | None = 0
    expectation: float | None = None
    convention: str = ""
    assumptions: tuple[str, ...] = field(default=())
    informative: bool | None = None
    _more: Later | None = None

    def _facts(self) -> DisplayFacts:
        ends = "no world has it" if self.min is None else text(self.min)
        ends += "" if self.max is None or self.min == self.max else f" to {text(self.max)}"
        mean = "" if self.expectation is None else f", {text(self.expectation)} expected"
        names = ("status", "min", "max", "expectation", "convention", "informative", "guarantee", "engine", "seconds")
        pairs = [(name, getattr(self, name)) for name in names]
        notes = self.conflict or self.assumptions
        return DisplayFacts(
            f"{ends}{mean}, {self.status} ({self.convention})", pairs, notes=notes, more="to_frame(), plot()"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the answer as one line: min, max, expectation, status, convention, informative, engine, seconds."""
        import pandas as pd

        names = ("min", "max", "expectation", "status", "convention", "informative", "engine", "seconds")
        return pd.DataFrame([{name: getattr(self, name) for name in names}])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Return axes with the interval from the least to the greatest value, the mean over worlds in it.

        Raises `Unsupported` without matplotlib, and where there is no finite interval.
        """
        from solvers.foundation.display.plots import interval

        if self.min is None or self.max is None or not (math.isfinite(self.min) and math.isfinite(self.max)):
            raise Unsupported("there is nothing to draw: no finite bounds are known")
        title = f"Over all worlds ({self.status}; diamond: mean)" if self.expectation is not None else "Over all worlds"
        return interval(self.min, self.max, title, "value", self.expectation, ax)

    def attained(self, greatest: bool) -> World:
        """Return a world with the least (greatest) value. Raises `Unsupported` where none is known."""
        if self._more is None:
            raise Unsupported("no world is known for this bound")
        return self._more.attained(greatest)

    def distribution(self) -> dict[float, float]:
        """Return value -> share of worlds, ascending. Raises `Unsupported` where worlds cannot be counted."""
        if self._more is None:
            raise Unsupported("the distribution of this figure is not computed")
        return self._more.distribution()


@dataclass(frozen=True, eq=False)
class Later:
    """What is computed only when asked."""

    attained: Callable[[bool], World]
    distribution: Callable[[], dict[float, float]]
