"""How a number of worlds shows itself: by its log2, which is known, never by its digits, which may be millions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from solvers.foundation.display.displayed import DisplayFacts
from solvers.foundation.display.plots import interval, standing_bars
from solvers.foundation.errors import Unsupported

if TYPE_CHECKING:
    import pandas as pd

    from solvers.foundation.display.plots import Axes

SURE_BITS = 30  # of a whole number up to which its log2, a float, determines it


class WorldCount(Protocol):
    """A number of worlds, or bounds on its log2."""

    @property
    def status(self) -> str:
        """Return exact, bounds, unsat or unknown."""

    @property
    def convention(self) -> str:
        """Return what counts as one world."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Return bounds on log2 of the number."""

    @property
    def relative(self) -> bool:
        """Return whether no number exists."""

    @property
    def log2(self) -> float | None:
        """Return log2 of the number where it is exact."""

    @property
    def log2_per_rows(self) -> Mapping[int, float]:
        """Return log2 of the number for every number of rows."""

    @property
    def estimate(self) -> int | None:
        """Return a number that nobody proved."""

    @property
    def guarantee(self) -> str:
        """Return what the answer rests on."""

    @property
    def engine(self) -> str:
        """Return who answered."""

    @property
    def seconds(self) -> float:
        """Return how long it took."""

    @property
    def trail(self) -> tuple[str, ...]:
        """Return why others did not answer."""

    @property
    def conflict(self) -> tuple[str, ...]:
        """Return statements that contradict each other."""


def power(log2: float) -> str:
    """Return a number by its log2: its digits where they are sure, else a power of ten."""
    return f"{round(2**log2):,}" if log2 <= SURE_BITS else f"about 10^{log2 * math.log10(2):,.2f}"


def worlds_words(found: WorldCount) -> str:
    """Return the number of worlds for a line of text; nothing is multiplied."""
    low, high = found.bounds
    if found.status == "unsat":
        return "0 worlds"
    if found.relative:
        return "worlds not countable (a column can be any number: give a domain that says which)"
    if found.status != "exact":
        known = "" if low <= 0 else f"at least {power(low)}, "
        return f"{known}at most {power(high)} worlds" if math.isfinite(high) else f"{known}no upper bound of worlds"
    return f"{power(low)} world{'' if low == 0 else 's'}"


def ends(found: WorldCount) -> tuple[float, float] | tuple[None, None]:
    """Return bounds on log2 of the number, None where there is none."""
    return (None, None) if found.relative or found.status == "unsat" else found.bounds


def count_facts(found: WorldCount) -> DisplayFacts:
    """Return what is shown of a number of worlds."""
    low, high = ends(found)
    pairs = [
        ("status", found.status), ("convention", found.convention), ("log2, at least", low), ("log2, at most", high),
        ("guarantee", found.guarantee), ("engine", found.engine), ("seconds", found.seconds),
        ("numbers of rows", len(found.log2_per_rows) or None), ("estimate", found.estimate),
    ]  # fmt: skip
    notes = found.conflict or (found.trail if found.status != "exact" else ())
    line = f"{worlds_words(found)}, {found.status} ({found.convention})"
    return DisplayFacts(line, pairs, notes=notes, more="to_frame(), plot()")


def count_frame(found: WorldCount) -> pd.DataFrame:
    """Return a number of worlds as one line."""
    import pandas as pd

    low, high = ends(found)
    line = {
        "convention": found.convention, "status": found.status, "log2": found.log2, "log2_lower": low,
        "log2_upper": high, "guarantee": found.guarantee, "engine": found.engine, "seconds": found.seconds,
    }  # fmt: skip
    return pd.DataFrame([line])


def count_plot(found: WorldCount, ax: Axes | None = None) -> Axes:
    """Return axes with log2 of a number of worlds; `Unsupported` where there is none, or no upper bound."""
    low, high = ends(found)
    if low is None or high is None or not math.isfinite(high):
        raise Unsupported(f"there is nothing to draw: {worlds_words(found)}")
    title = f"Worlds that agree ({found.convention}; {found.status})"
    if len(found.log2_per_rows) > 1:
        bits = sorted(found.log2_per_rows.items())
        return standing_bars([n for n, _ in bits], [b for _, b in bits], title, "rows", "log2 of worlds", ax)
    ax = interval(max(low, 0.0), high, title, "log2 of the number of worlds", ax=ax)
    ax.set_xlim(left=0.0)
    return ax
