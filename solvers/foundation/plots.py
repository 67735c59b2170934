"""Plots by matplotlib, an extra: axes made where none are given, texts drawn as they stand, never as formulas.

How a number of worlds shows itself: by its log2, which is known, never by its digits, which may be millions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from solvers.foundation.displayed import DisplayFacts, quote
from solvers.foundation.errors import Unsupported, installing

if TYPE_CHECKING:
    import pandas as pd

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes as MatplotlibAxes
    from matplotlib.axis import Axis
    from numpy.typing import NDArray

    Axes: TypeAlias = MatplotlibAxes

LABEL = 30  # characters of a name on an axis
BARS = 40  # bars that are drawn
MARKS = 12  # bars side by side that are named
COLOUR = "#1f6f8b"
SECOND = "#c8553d"


def _axes(ax: Axes | None, title: str, across: str = "", up: str = "", high: float = 3.2) -> Axes:
    """Return the axes given, or new ones (`high` in inches), with their title and the names of both directions.

    Raises `Unsupported` where matplotlib is missing.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise Unsupported(f"plots need matplotlib: {installing('plots')}") from None
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, high), layout="constrained")
    _plainly([ax.set_title(_glyphs(title, 3 * LABEL), fontsize="medium")])
    _plainly([ax.set_xlabel(_glyphs(across)), ax.set_ylabel(_glyphs(up))])
    return ax


def _plainly(texts: Iterable[object]) -> None:
    """Make texts stand as they are: a $ in a name starts no formula."""
    for one in texts:
        one.set_parse_math(False)  # type: ignore[attr-defined]  # matplotlib has no types here


def lying_bars(
    names: Sequence[object], lengths: Sequence[float], title: str, across: str, ax: Axes | None = None
) -> Axes:
    """Return axes with a bar per name from the top down, the first `BARS` of them."""
    shown = min(len(names), BARS)
    if shown < len(names):
        title = f"{title} (the first {shown:,} of {len(names):,})"
    ax = _axes(ax, title, across, high=max(2.0, 0.28 * shown + 1.0))
    ax.barh(range(shown), [x if math.isfinite(x) else 0.0 for x in lengths[:shown]], color=COLOUR)
    ax.set_yticks(range(shown), [_glyphs(name) for name in names[:shown]])
    _plainly(ax.get_yticklabels())
    ax.invert_yaxis()
    _count_ticks(ax.xaxis, lengths)
    return ax


def standing_bars(
    names: Sequence[object], heights: Sequence[float], title: str, across: str, up: str, ax: Axes | None = None
) -> Axes:
    """Return axes with a bar per name from left to right; of many bars some are named."""
    ax = _axes(ax, title, across, up)
    ax.bar(range(len(names)), list(heights), color=COLOUR)
    named_bars = range(0, len(names), -(-len(names) // MARKS) or 1)
    ax.set_xticks(named_bars, [_glyphs(names[i]) for i in named_bars])
    _plainly(ax.get_xticklabels())
    _count_ticks(ax.yaxis, heights)
    return ax


def _count_ticks(axis: Axis, figures: Sequence[float]) -> None:
    """Put the marks of an axis at whole numbers where all its figures are whole."""
    from matplotlib.ticker import MaxNLocator

    if all(float(x).is_integer() for x in figures):
        axis.set_major_locator(MaxNLocator(integer=True))


def interval(
    low: float, high: float, title: str, across: str, mark: float | None = None, ax: Axes | None = None
) -> Axes:
    """Return axes with an interval as a thick line, the point `mark` in it; a single point where both ends are one."""
    ax = _axes(ax, title, across, high=1.6)
    ax.plot([low, high], [0, 0], color=COLOUR, linewidth=6, solid_capstyle="butt", marker="|", markersize=16)
    if mark is not None:
        ax.plot([mark], [0], color=SECOND, marker="D", linestyle="none")
    ax.set_yticks([])
    return ax


def curve(
    across: NDArray[np.float64], up: NDArray[np.float64], title: str, name: str, side: str, ax: Axes | None = None
) -> Axes:
    """Return axes with shares (0 to 1) that ascend in steps, from 0 on."""
    ax = _axes(ax, title, name, side)
    last = max(1.0, float(across[-1]))
    ax.step([0.0, *across.tolist(), last], [0.0, *up.tolist(), float(up[-1])], where="post", color=COLOUR)
    ax.set_ylim(0.0, 1.05)
    return ax


def picture(
    shares: NDArray[np.float64], names: Sequence[object], title: str, rows: int, ax: Axes | None = None
) -> Axes:
    """Return axes with a table of shares (0 to 1) as colours, `names` below its columns, lines spread over `rows`."""
    ax = _axes(ax, title, "", "row", high=4.2)
    ax.imshow(shares, aspect="auto", interpolation="nearest", vmin=0.0, vmax=1.0, cmap="viridis",
              extent=(-0.5, len(names) - 0.5, max(rows, 1), 0))  # fmt: skip
    ax.set_xticks(range(len(names)), [_glyphs(name) for name in names], rotation=90 if len(names) > 6 else 0)
    _plainly(ax.get_xticklabels())
    return ax


def _glyphs(name: object, maximum: int = LABEL) -> str:
    """Return a name for a plot: short, and with what matplotlib's font cannot draw written as a number."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties()))
    shown = quote(name, 4 * maximum)
    shown = shown if len(shown) <= maximum else f"{shown[: maximum - 3]}..."
    return "".join(c if font.get_char_index(ord(c)) else f"\\u{ord(c):04x}" for c in shown)


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


def _power(log2: float) -> str:
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
        known = "" if low <= 0 else f"at least {_power(low)}, "
        return f"{known}at most {_power(high)} worlds" if math.isfinite(high) else f"{known}no upper bound of worlds"
    return f"{_power(low)} world{'' if low == 0 else 's'}"


def _log2_bounds(found: WorldCount) -> tuple[float, float] | tuple[None, None]:
    """Return bounds on log2 of the number, None where there is none."""
    return (None, None) if found.relative or found.status == "unsat" else found.bounds


def count_facts(found: WorldCount) -> DisplayFacts:
    """Return what is shown of a number of worlds."""
    low, high = _log2_bounds(found)
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

    low, high = _log2_bounds(found)
    line = {
        "convention": found.convention, "status": found.status, "log2": found.log2, "log2_lower": low,
        "log2_upper": high, "guarantee": found.guarantee, "engine": found.engine, "seconds": found.seconds,
    }  # fmt: skip
    return pd.DataFrame([line])


def count_plot(found: WorldCount, ax: Axes | None = None) -> Axes:
    """Return axes with log2 of a number of worlds; `Unsupported` where there is none, or no upper bound."""
    low, high = _log2_bounds(found)
    if low is None or high is None or not math.isfinite(high):
        raise Unsupported(f"there is nothing to draw: {worlds_words(found)}")
    title = f"Worlds that agree ({found.convention}; {found.status})"
    if len(found.log2_per_rows) > 1:
        bits = sorted(found.log2_per_rows.items())
        return standing_bars([n for n, _ in bits], [b for _, b in bits], title, "rows", "log2 of worlds", ax)
    ax = interval(max(low, 0.0), high, title, "log2 of the number of worlds", ax=ax)
    ax.set_xlim(left=0.0)
    return ax
