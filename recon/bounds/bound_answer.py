"""Bounds on a statistic over all worlds, as users read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from recon.frames.world import World
from solvers.foundation.errors import Unsupported
from solvers.questions.query import Answer


@dataclass(frozen=True)
class BoundAnswer(Answer):
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
