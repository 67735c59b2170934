"""The share of people with at most a given share of their bits left, as steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from recon.report.charts.svg import NARROW, colour, framed, label, line, number, percent, wrapped

LEFT, TOP, RIGHT, BOTTOM = 48, 30, 12, 258
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
Point = tuple[float, float]


def exposure_curve(curve: Sequence[Sequence[float]] | None) -> str:
    """Return the curve as inline SVG, "" where there is nothing to draw.

    `curve`: [share of bits left, share of people with at most so much], both from 0 to 1, increasing.
    """
    points = [(float(x), float(y)) for x, y in curve or () if math.isfinite(x) and math.isfinite(y)]
    points = sorted((min(1.0, max(0.0, x)), min(1.0, max(0.0, y))) for x, y in points)
    if not points:
        return ""
    reading = _read(points)
    parts = [_grid(), _area(points), _steps(points), _half(points)]
    parts.append(label(LEFT - 34, 16, "Share of people ...", fill="--muted", size=12.5))
    across_label = "... with at most this share of their bits left"
    parts.append(label(NARROW - RIGHT, BOTTOM + 38, across_label, fill="--muted", size=12.5, anchor="end"))
    lines = wrapped(reading, NARROW - 24, 4)
    parts += [label(12, BOTTOM + 66 + 19 * i, text) for i, text in enumerate(lines)]
    title = "How much is left to find out, and about how many people"
    return framed("chart-curve", NARROW, BOTTOM + 60 + 19 * len(lines), title, reading, parts, 600)


def _across(x: float) -> float:
    """Return where a share of bits lies from left to right."""
    return LEFT + x * (NARROW - LEFT - RIGHT)


def _down(y: float) -> float:
    """Return where a share of people lies from top to bottom."""
    return BOTTOM - y * (BOTTOM - TOP)


def _grid() -> str:
    """Return the axes with their ticks."""
    out = []
    for tick in TICKS:
        out.append(line(LEFT, _down(tick), NARROW - RIGHT, _down(tick), stroke="--muted" if not tick else "--line"))
        out.append(label(LEFT - 7, _down(tick) + 4.5, percent(tick), size=12, fill="--muted", anchor="end"))
        anchor = "start" if not tick else "end" if tick == 1 else "middle"
        out.append(label(_across(tick), BOTTOM + 18, percent(tick), size=12, fill="--muted", anchor=anchor))
    return "".join(out)


def _path(points: Sequence[Point]) -> str:
    """Return the steps as the data of a path: nobody has less than the first share, and from the last on it is flat."""
    out, y = [f"M{number(_across(0))} {number(_down(0))}"], 0.0
    for x, share in points:
        out.append(f"H{number(_across(x))}")
        if share != y:
            out.append(f"V{number(_down(share))}")
        y = share
    out.append(f"H{number(_across(1))}")
    return "".join(out)


def _steps(points: Sequence[Point]) -> str:
    """Return the line of the curve."""
    pen = f'stroke="{colour("--accent")}" stroke-width="2.4" stroke-linejoin="round"'
    return f'<path d="{_path(points)}" fill="none" {pen}/>'


def _area(points: Sequence[Point]) -> str:
    """Return what lies below the curve, lightly filled."""
    return f'<path d="{_path(points)}V{number(_down(0))}Z" fill="{colour("--accent")}" fill-opacity="0.12"/>'


def _half(points: Sequence[Point]) -> str:
    """Return the mark where half of the people are reached, "" where they are not."""
    x = _reached(points, 0.5)
    if x is None:
        return ""
    dashes = ' stroke-dasharray="4 4" stroke-width="1.3"'
    return (
        line(LEFT, _down(0.5), _across(x), _down(0.5), stroke="--accent", more=dashes)
        + line(_across(x), _down(0.5), _across(x), BOTTOM, stroke="--accent", more=dashes)
        + f'<circle cx="{number(_across(x))}" cy="{number(_down(0.5))}" r="4.2" fill="{colour("--accent")}"'
        + f' stroke="{colour("--paper")}" stroke-width="1.5"/>'
    )


def _reached(points: Sequence[Point], share: float) -> float | None:
    """Return the least share of bits that at least so many people have at most; None where so many are not known."""
    return next((x for x, y in points if y >= share - 1e-12), None)


def _read(points: Sequence[Point]) -> str:
    """Return the reading of the curve in words."""
    found = []
    nothing = next((y for x, y in reversed(points) if x <= 0), 0.0)
    if nothing > 0:
        found.append(f"{percent(nothing)} of the people have no bit left: everything about them is known")
    if (x := _reached(points, 0.5)) is not None and x > 0:
        found.append(f"half of the people have at most {percent(x)} of their bits left")
    if (x := _reached(points, 1.0)) is not None:
        found.append(f"all have at most {percent(x)} of their bits left")
    else:
        found.append(f"for {percent(points[-1][1])} of the people it is known how much is left")
    text = "; ".join(found)
    return f"{text[:1].upper()}{text[1:]}."
