"""Figures as data, and one way to draw them: SVG by matplotlib, the same bytes for the same figures."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from solvers.foundation.errors import Unsupported

COLOURS = ("#0b6e99", "#c44e00", "#3f7d20", "#8e3b9e", "#7a5c00", "#b0183a", "#4a4a4a", "#009392", "#d16ba5", "#2a3d8f")
OWN_LEGEND = 4  # lines; where a panel has more, and others mostly the same, one legend for all of them stands below
COORDINATES = re.compile(r' (?:d|x|y)="[^"]*"')
FEW = 10  # values on an axis that are all named
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")  # no divisor of the colours: pairs repeat late


@dataclass(frozen=True)
class Line:
    """One series. `low`, `high`: an interval around y, drawn as a band; `hollow`: points whose y is not certified.

    `like`: the label of a series whose colour it takes, because both are about the same.
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
class Panel:
    """One plot with its axes; scales are "linear", "log" or "symlog"."""

    title: str
    x: str
    y: str
    lines: Sequence[Line]
    x_scale: str = "linear"
    y_scale: str = "linear"


@dataclass(frozen=True)
class Figure:
    """Panels side by side, `columns` in a row; `about`: what is drawn and in which units, for those who cannot see."""

    name: str
    about: str
    panels: Sequence[Panel]
    columns: int = 2


def svg(figure: Figure) -> str:
    """Return the figure as SVG; `Unsupported` without matplotlib."""
    try:
        import matplotlib
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise Unsupported("figures need an extra: pip install 'recon-worlds[plots]'") from None
    across = min(figure.columns, len(figure.panels)) or 1
    down = -(-len(figure.panels) // across) or 1
    with matplotlib.rc_context({"svg.hashsalt": figure.name, "svg.fonttype": "none", "font.size": 9}):
        canvas = Canvas(figsize=(4.6 * across, 3.3 * down), layout="constrained")
        places = canvas.subplots(down, across, squeeze=False)
        known, most = labels(figure), max((len(panel.lines) for panel in figure.panels), default=0)
        one_legend = most > OWN_LEGEND and len(known) <= 1.5 * most
        for place, panel in zip(places.flat, figure.panels, strict=False):
            draw(place, panel, known)
            if not one_legend and any(line.label for line in panel.lines):
                place.legend(fontsize=7)
        for place in list(places.flat)[len(figure.panels) :]:
            place.set_axis_off()
        if one_legend:
            drawn: dict[str, Any] = {}
            for place in places.flat:
                drawn = dict(zip(*reversed(place.get_legend_handles_labels()), strict=True)) | drawn
            names = [name for name in known if name in drawn]
            handles = [drawn[name] for name in names]
            canvas.legend(handles, names, fontsize=8, ncols=4, loc="outside lower center")
        out = io.StringIO()
        canvas.savefig(out, format="svg", metadata={"Date": None, "Title": figure.name, "Description": figure.about})
    return slim(out.getvalue())


def labels(figure: Figure) -> dict[str, int]:
    """Return the labels of all lines, numbered: a label looks the same in every panel."""
    found = dict.fromkeys(line.label for panel in figure.panels for line in panel.lines)
    return {label: k for k, label in enumerate(found)}


def slim(text: str) -> str:
    """Return SVG without white space between elements, coordinates to a hundredth of a point: fewer bytes."""
    text = re.sub(r">\s+<", "><", text)
    return COORDINATES.sub(lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), text)


def draw(place: Any, panel: Panel, numbers: Mapping[str, int]) -> None:
    """Draw one panel into matplotlib's axes, its lines as the numbers of their labels say."""
    place.set_xscale(panel.x_scale)  # before anything is drawn: margins are of the scale that is there
    place.set_yscale(panel.y_scale)
    for line in panel.lines:
        k = numbers[line.label]
        colour, marker = COLOURS[numbers.get(line.like, k) % len(COLOURS)], MARKERS[k % len(MARKERS)]
        style = {"line": "-", "dashed": "--", "points": "none", "step": "-"}[line.style]
        place.plot(line.x, line.y, linestyle=style, color=colour, label=line.label, linewidth=1.3,
                   marker="" if line.style == "step" else marker, markersize=4,
                   drawstyle="steps-post" if line.style == "step" else "default")  # fmt: skip
        if line.low is not None and line.high is not None:
            place.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)
        if line.hollow is not None and any(line.hollow):
            at = [i for i, hollow in enumerate(line.hollow) if hollow]
            place.plot([line.x[i] for i in at], [line.y[i] for i in at], linestyle="none", marker=marker,
                       markersize=4.5, markerfacecolor="white", markeredgecolor=colour)  # fmt: skip
    place.set_title(panel.title, fontsize=9)
    place.set_xlabel(panel.x)
    place.set_ylabel(panel.y)
    if panel.x_scale == "log":
        mark(place, sorted({float(x) for line in panel.lines for x in line.x}))
    place.grid(visible=True, alpha=0.25)


def mark(place: Any, values: Sequence[float]) -> None:
    """Name the values on a logarithmic axis themselves where they are few: powers of ten may not be among them."""
    if 0 < len(values) <= FEW:
        place.set_xticks(values, [f"{value:g}" for value in values])
        place.minorticks_off()
