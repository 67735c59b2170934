"""Figures as data, and one way to draw them: SVG by matplotlib, the same bytes for the same figures.

A quantity has one colour and one marker in all figures: those that several experiments show have theirs by name
(`ALIKE`), the others in the order in which an experiment names them. Dashed lines are references, grey and unmarked.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Any, Literal

from solvers.foundation.errors import Unsupported, installing

COLOURS = ("#0b6e99", "#c44e00", "#3f7d20", "#8e3b9e", "#7a5c00", "#b0183a", "#4a4a4a", "#1fb89a", "#d16ba5", "#e0a800")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")  # no divisor of the colours: pairs repeat late
GREYS = ("#222222", "#777777", "#a0a0a0")
DASHES: tuple[Any, ...] = ("--", ":", "-.", (0, (7, 2, 1, 2, 1, 2)))
ALIKE = (  # what several experiments show under these names, in the order of their looks
    ("greedy trees", "greedy tree"),
    ("optimal trees", "optimal tree"),
    ("greedy rule lists", "greedy rule list", "GreedyRL", "greedy, width 1"),
    ("optimal rule lists", "optimal rule list", "optimal, width 1"),
    ("full-grown tree", "DT"),
    ("TREPAN-RF", "TREPAN of a forest"),
    ("TREPAN-NN", "TREPAN of a network"),
    ("LORE-RF", "LORE tree of a forest"),
    ("mia", "AUC of mia"),
    ("label-only", "AUC of label-only"),
)
ACROSS = 2  # panels in a row
SHARED = 8  # quantities of a figure that stand in one legend below it, also where no two panels have the same
COORDINATES = re.compile(r' (?:d|x|y)="[^"]*"')
MAX_MARKED = 12  # values on an axis that are all marked, and marks on a line of many points
CHARACTER = 5.2  # points that a character of a tick label takes
WIDTH = 250.0  # points that the axis of a panel takes
MAX_SHORT_LABEL = 4  # characters of a value on a linear axis that is named itself
TICKS = 6  # intervals of other linear axes, at most
TITLE = 60  # characters of a title in a line
SHADE = 0.3  # of all bands of a panel together


@dataclass(frozen=True)
class PlotLine:
    """One series. `low`, `high`: an interval around y, drawn as a band; `hollow`: points whose y is not certified.

    Points are joined in the order given, which is that of the parameter behind them. "dashed": a reference, grey and
    without markers. `like`: the label of a series whose colour the line takes, because both are about the same; its
    points are crosses: what others published of it.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    hollow: Sequence[bool] | None = None
    style: Literal["line", "dashed", "points", "step"] = "line"
    like: str = ""


@dataclass(frozen=True)
class Heat:
    """Values (rows of y, columns of x) over cells given by their middles; None where there is none.

    `low`, `high`: the ends of the colours, the same in all panels that are compared.
    """

    x: Sequence[float]
    y: Sequence[float]
    values: Sequence[Sequence[float | None]]
    low: float = 0.0
    high: float = 1.0


@dataclass(frozen=True)
class Ranks:
    """A critical-difference diagram: treatments by mean rank, joined where Nemenyi's test does not tell them apart.

    `pairs`: the p of each pair, in the order of the names; `apart`: the critical difference at .05.
    """

    names: Sequence[str]
    ranks: Sequence[float]
    pairs: Sequence[Sequence[float]]
    apart: float


@dataclass(frozen=True)
class Panel:
    """One plot with its axes; scales are "linear", "log" or "symlog". A `heat` or `ranks` stand in place of lines.

    `unit`: whether y is a share of rows that is drawn from 0 to 1. `names`: what stands at values of x in their place.
    """

    title: str
    x: str
    y: str
    lines: Sequence[PlotLine] = ()
    x_scale: str = "linear"
    y_scale: str = "linear"
    heat: Heat | None = None
    ranks: Ranks | None = None
    unit: bool = False
    names: Mapping[float, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PanelFigure:
    """Panels, two in a row; `about`: what is drawn and in which units, for those who cannot see."""

    name: str
    about: str
    panels: Sequence[Panel]


Look = tuple[str, str]  # colour and marker


def svg(figure: PanelFigure, others: Sequence[PanelFigure] = ()) -> str:
    """Return the figure as SVG, quantities looking as in `others`; `Unsupported` without matplotlib."""
    out = io.StringIO()
    with _rendering(figure):
        _canvas(figure, others).savefig(
            out, format="svg", metadata={"Date": None, "Title": figure.name, "Description": figure.about}
        )
    text = re.sub(r">\s+<", "><", out.getvalue())  # fewer bytes: coordinates to a hundredth of a point
    return COORDINATES.sub(lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), text)


def _rendering(figure: PanelFigure) -> Any:
    """Return the settings under which a figure is drawn, as a context."""
    try:
        import matplotlib
    except ImportError:
        raise Unsupported(f"figures need an extra: {installing('plots')}") from None
    return matplotlib.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.size": 9})


def _canvas(figure: PanelFigure, others: Sequence[PanelFigure] = ()) -> Any:
    """Return the figure drawn by matplotlib, not shown."""
    from matplotlib.figure import Figure as Canvas

    across = min(ACROSS, len(figure.panels)) or 1
    down = -(-len(figure.panels) // across) or 1
    drawn = Canvas(figsize=(4.6 * across, 3.3 * down), layout="constrained")
    places = drawn.subplots(down, across, squeeze=False)
    own = _labels([figure])
    known, most = _looks([*others, figure]), max((len(panel.lines) for panel in figure.panels), default=0)
    one_legend = len(own) <= max(SHARED, 1.5 * most)
    for place, panel in zip(places.flat, figure.panels, strict=False):
        _draw(place, panel, known)
        if not one_legend and any(line.label for line in panel.lines):
            place.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for place in list(places.flat)[len(figure.panels) :]:
        place.set_axis_off()
    if one_legend and own:
        handles: dict[str, Any] = {}
        for place in places.flat:
            handles = dict(zip(*reversed(place.get_legend_handles_labels()), strict=True)) | handles
        names = [name for name in own if name in handles]
        drawn.legend([handles[name] for name in names], names, fontsize=8, ncols=2 * across, loc="outside lower center")
    return drawn


def _labels(figures: Sequence[PanelFigure]) -> list[str]:
    """Return the labels of all lines in order."""
    return list(dict.fromkeys(line.label for figure in figures for panel in figure.panels for line in panel.lines))


def _quantities(figures: Sequence[PanelFigure]) -> list[str]:
    """Return the labels that have a look of their own: no references, and nothing that is like another."""
    panels = [panel for figure in figures for panel in figure.panels]
    names = [line.label for panel in panels for line in panel.lines if line.style != "dashed" and not line.like]
    return list(dict.fromkeys([*names, *(name for panel in panels if panel.ranks for name in panel.ranks.names)]))


def _looks(figures: Sequence[PanelFigure]) -> dict[str, Look]:
    """Return the colour and marker of every quantity of some figures: other colours in one figure, or one panel."""
    known = {name: k for k, names in enumerate(ALIKE) for name in names}
    series = _quantities(figures)
    numbers = {name: known[name] for name in series if name in known}
    free = [k for k in range(len(COLOURS) * len(MARKERS)) if k not in numbers.values()]
    panels = [replace(figure, panels=[panel]) for figure in figures for panel in figure.panels]
    together = [[set(_quantities([one])) for one in some] for some in (figures, panels)]
    for name in series:
        if name not in numbers:
            used = [{numbers[other] % len(COLOURS) for names in some if name in names for other in names & set(numbers)}
                    for some in together]  # fmt: skip
            numbers[name] = next((k for beside in used for k in free if k % len(COLOURS) not in beside), free[0])
            free.remove(numbers[name])
    return {name: (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]) for name, k in numbers.items()}


def _draw(place: Any, panel: Panel, known: Mapping[str, Look]) -> None:
    """Draw one panel into matplotlib's axes."""
    place.set_title(fill(panel.title, TITLE), fontsize=9)
    if panel.ranks is not None:
        _draw_ranks(place, panel.ranks, known)
        return
    place.set_xlabel(panel.x)
    place.set_ylabel(panel.y)
    if panel.heat is not None:
        _draw_heat(place, panel.heat)
        return
    place.set_xscale(panel.x_scale)  # before anything is drawn: margins are of the scale that is there
    place.set_yscale(panel.y_scale)
    references, bands = 0, sum(line.low is not None for line in panel.lines)
    for line in panel.lines:
        if line.style == "dashed" and not line.like:
            place.plot(line.x, line.y, linestyle=DASHES[references % len(DASHES)], label=line.label, linewidth=1.2,
                       color=GREYS[references % len(GREYS)])  # fmt: skip
            references += 1
        else:
            _draw_series(place, line, known, SHADE / max(2, bands))
    if panel.unit:
        place.set_ylim(-0.02, 1.02)
    _mark_x(place.xaxis, panel)
    if panel.y_scale != "linear":
        _mark_y(place.yaxis, [float(v) for line in panel.lines for v in line.y if v > 0])
    place.grid(visible=True, alpha=0.25)


def _draw_series(place: Any, line: PlotLine, known: Mapping[str, Look], shade: float) -> None:
    """Draw one series with its band and its hollow points; of many points only some are marked."""
    colour, marker = known[line.like or line.label]
    marker, size = ("x", 5) if line.like else (marker, 4)
    style = {"line": "-", "dashed": "--", "points": "none", "step": "-"}[line.style]
    every = len(line.x) // MAX_MARKED if line.style == "line" and len(line.x) > 2 * MAX_MARKED else 1
    place.plot(line.x, line.y, linestyle=style, color=colour, label=line.label, linewidth=1.3, markevery=every,
               marker="" if line.style in {"step", "dashed"} else marker, markersize=size,
               drawstyle="steps-post" if line.style == "step" else "default")  # fmt: skip
    if line.low is not None and line.high is not None:
        place.fill_between(line.x, line.low, line.high, color=colour, alpha=shade, linewidth=0)
    if line.hollow is not None and any(line.hollow):
        at = [i for i, hollow in enumerate(line.hollow) if hollow]
        place.plot([line.x[i] for i in at], [line.y[i] for i in at], linestyle="none", marker=marker,
                   markersize=4.5, markerfacecolor="white", markeredgecolor=colour)  # fmt: skip


def _draw_heat(place: Any, heat: Heat) -> None:
    """Draw coloured cells and the bar that explains them."""
    import numpy as np

    values = np.array([[np.nan if v is None else v for v in row] for row in heat.values], dtype=np.float64)
    drawn = place.pcolormesh(list(heat.x), list(heat.y), values, vmin=heat.low, vmax=heat.high, cmap="viridis",
                             shading="nearest", rasterized=True)  # fmt: skip
    place.set_aspect("equal")
    place.figure.colorbar(drawn, ax=place, shrink=0.9)


def _draw_ranks(place: Any, ranks: Ranks, known: Mapping[str, Look]) -> None:
    """Draw a critical-difference diagram, and the critical difference below it."""
    try:
        from scikit_posthocs import critical_difference_diagram
    except ImportError:
        raise Unsupported(f"ranks over data sets need scikit-posthocs: {installing('attacks')}") from None
    import pandas as pd

    names = list(ranks.names)
    pairs = pd.DataFrame([list(row) for row in ranks.pairs], index=names, columns=names)
    place.set_xlim(0, len(names) + 1)  # room for the names on either side
    drawn = critical_difference_diagram(pd.Series(list(ranks.ranks), index=names), pairs, ax=place, text_h_margin=0.15,
                                label_fmt_left="{label} ({rank:.1f})", label_fmt_right="{label} ({rank:.1f})",
                                color_palette={name: known[name][0] for name in names},
                                label_props={"fontsize": 8})  # fmt: skip
    for bar in (line for bars in drawn["crossbars"] for line in bars):
        bar.set_xdata(sorted(bar.get_xdata()))  # theirs come out of a set, in another order in every process
    place.set_xticks(range(1, len(names) + 1))
    low, high = place.get_ylim()  # below the diagram: how far apart is far enough
    place.set_ylim(low - 0.15 * (high - low), high)
    below = low - 0.08 * (high - low)
    place.plot([1, 1 + ranks.apart], [below, below], color=GREYS[0], linewidth=2.5)
    place.text(1.1 + ranks.apart, below, f"critical difference {ranks.apart:.1f}", va="center", fontsize=8)


def _mark_x(axis: Any, panel: Panel) -> None:
    """Name the values of x themselves where they are few, those in between left out where names would overlap.

    On a linear axis only where a line has all of them and they are no means: whole, or below 1 in few characters. Else
    there are so many ticks as have room.
    """
    from matplotlib.ticker import MaxNLocator, NullFormatter, NullLocator

    lines = [line for line in panel.lines if line.style != "dashed"]
    values = sorted({float(x) for line in lines for x in line.x})
    named = [panel.names.get(value, f"{value:g}") for value in values]
    log = panel.x_scale == "log"
    shared = max((len(set(line.x)) for line in lines), default=0) == len(values) > 1
    short = max(map(len, named), default=0) <= MAX_SHORT_LABEL and all(
        value < 1 or value == int(value) for value in values
    )
    if not 0 < len(values) <= MAX_MARKED or not (log or (shared and short)):
        if log:
            axis.set_major_formatter(_digit_formatter())
            axis.set_minor_formatter(NullFormatter())
        else:
            axis.set_major_locator(MaxNLocator(TICKS, steps=[1, 2, 5, 10]))
        return
    scaled = [math.log(value) if log else value for value in values]
    span, end = scaled[-1] - scaled[0] or 1.0, -math.inf
    for i, at in enumerate(scaled):
        middle, half = WIDTH * (at - scaled[0]) / span, CHARACTER * (len(named[i]) + 1) / 2
        named[i] = named[i] if middle - half >= end else ""
        end = middle + half if named[i] else end
    axis.set_ticks(values, named)
    axis.set_minor_locator(NullLocator())


def _mark_y(axis: Any, values: Sequence[float]) -> None:
    """Write numbers of a logarithmic axis out, also those between powers of ten where there is but one of these."""
    from matplotlib.ticker import NullFormatter

    axis.set_major_formatter(_digit_formatter())
    few = max(values, default=1) < 10 * min(values, default=1)
    axis.set_minor_formatter(_digit_formatter() if few else NullFormatter())


def _digit_formatter() -> Any:
    """Return what writes ticks in digits."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: f"{value:g}")
