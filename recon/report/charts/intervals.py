"""Suppressed and interval cells: the interval that was published, and the one that other figures leave of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from recon.report.charts.svg import (
    BOLD,
    NARROW,
    clipped,
    colour,
    count,
    fitted,
    framed,
    label,
    line,
    number,
    rectangle,
    width_of,
)
from solvers.foundation.displayed import html

SHOWN = 30  # cells that are drawn
MARGIN, LEFT, RIGHT = 6.0, 14.0, 466.0


def interval_bars(interval_cells: Sequence[Mapping[str, Any]] | None) -> str:
    """Return the intervals as inline SVG, "" where there are none.

    `interval_cells`: `name`, `published` [least, most] (None: no such end), `feasible` [least, most], `recovered`,
    `tight`, as the document has them. Recovered cells stand first, then the narrowest.
    """
    if not interval_cells:
        return ""
    cells = sorted(interval_cells, key=lambda cell: (not cell["recovered"], cell["feasible"][1] - cell["feasible"][0]))
    shown = cells[:SHOWN]
    ends = [end for cell in shown for end in (*cell["published"], *cell["feasible"]) if end is not None]
    most = max(1, *ends)
    key, y = _legend_of()
    parts = [key]
    parts.append(_axis(most, y))
    y += 26
    for cell in shown:
        parts.append(_bars(cell, y, most))
        y += 46
    if len(cells) > len(shown):
        parts.append(label(MARGIN, y + 12, f"and {len(cells) - len(shown):,} more cells", fill="--muted", size=12.5))
        y += 20
    title = "Suppressed and interval cells: what was published, and what they can still be"
    return framed("chart-intervals", NARROW, y + 4, title, _described(cells), parts, 600)


def _place(x: float, most: float) -> float:
    """Return where a count lies from left to right."""
    return LEFT + (RIGHT - LEFT) * x / most


def _legend_of() -> tuple[str, float]:
    """Return the key, and its height."""
    edge = f' stroke="{colour("--muted")}" stroke-width="0.8"'
    parts = [
        rectangle(MARGIN, 6, 22, 12, "--exposure-0", more=edge, radius=2),
        label(MARGIN + 28, 16, "published", fill="--muted", size=12.5),
        rectangle(126, 9, 22, 6, "--accent", radius=2),
        label(154, 16, "still possible", fill="--muted", size=12.5),
        _diamond(270, 12),
        label(282, 16, "recovered: one count is left", fill="--muted", size=12.5),
    ]
    return "".join(parts), 28


def _axis(most: float, y: float) -> str:
    """Return the scale: no rows, and the most that is drawn."""
    ends = (0, LEFT, "start"), (most, RIGHT, "end")
    texts = [label(x, y + 12, count(n), fill="--muted", size=12, anchor=side) for n, x, side in ends]
    return "".join(texts) + line(LEFT, y + 18, RIGHT, y + 18)


def _bars(cell: Mapping[str, Any], y: float, most: float) -> str:
    """Return the lines and bars of one cell."""
    low, high = cell["feasible"]
    start, end = cell["published"]
    figure = _words(cell)
    tip = f"{clipped(cell['name'], 300)}: published {_published_words(cell)}; {figure}"
    edge = f' stroke="{colour("--muted")}" stroke-width="0.8"' + (' stroke-dasharray="4 3"' if end is None else "")
    left, right = _place(start or 0, most), _place(most if end is None else end, most)
    a, b = _place(low, most), _place(high, most)
    name = fitted(cell["name"], (NARROW - 2 * MARGIN - width_of(figure) - 14) / BOLD)
    strong = (
        _diamond((a + b) / 2, y + 26, tip)
        if cell["recovered"]
        else rectangle(a, y + 22.5, max(3.0, b - a), 7, "--accent", tip=tip, radius=2)
    )
    return (
        "<g>"
        + label(MARGIN, y + 13, name, bold=True)
        + label(NARROW - MARGIN, y + 13, figure, anchor="end")
        + rectangle(left, y + 19, max(3.0, right - left), 14, "--exposure-0", more=edge, tip=tip, radius=2)
        + strong
        + "</g>"
    )


def _diamond(x: float, y: float, tip: str = "") -> str:
    """Return the mark of a recovered cell."""
    head = f'<path d="M{number(x)} {number(y - 7)}l7 7-7 7-7-7z" fill="{colour("--exposure-4")}"'
    return f"{head}><title>{html(tip)}</title></path>" if tip else f"{head}/>"


def _words(cell: Mapping[str, Any]) -> str:
    """Return what a cell can still be, in words."""
    low, high = cell["feasible"]
    if cell["recovered"]:
        return f"recovered: {count(low)}"
    return f"{'' if cell.get('tight') else 'within '}{low:,} to {count(high)}"


def _published_words(cell: Mapping[str, Any]) -> str:
    start, end = cell["published"]
    if start is None and end is None:
        return "nothing"
    if end is None:
        return f"at least {count(start)}"
    return f"at most {count(end)}" if start is None else f"{start:,} to {count(end)}"


def _described(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the chart in words."""
    recovered = sum(bool(cell["recovered"]) for cell in cells)
    some = "; ".join(f"{clipped(cell['name'], 60)}: {_words(cell)}" for cell in cells[:3])
    return (
        f"{count(len(cells), 'cell', 'cells')} whose count was not published, {recovered:,} of them recovered. {some}."
    )
