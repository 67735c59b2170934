"""The share of people with at most a given share of their bits left, as steps.

Attributes by the bits that a release reveals of them: what there was to know, and what of it is known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from recon.report.charts.svg import (
    BOLD,
    NARROW,
    bits,
    clipped,
    colour,
    count,
    fitted,
    framed,
    label,
    line,
    number,
    percent,
    rectangle,
    width_of,
    wrapped,
)

SHOWN = 25  # attributes that are drawn
NAMED = 8  # of those without bits that are named
MARGIN, WIDTH = 6.0, NARROW - 12.0


def attribute_bars(attribute_bits: Sequence[Mapping[str, Any]] | None) -> str:
    """Return the bars as inline SVG, "" where there is nothing to draw.

    `attribute_bits`: `name`, `bits_before`, `bits_revealed` per person and `forced_rows` of every attribute (bits None:
    not known, with a reason in `why`), the most revealed first; `is` "at least" marks a lower bound.
    """
    attribute_bits = attribute_bits or ()
    known = [one for one in attribute_bits if one.get("bits_revealed") is not None]
    unknown = [one for one in attribute_bits if one.get("bits_revealed") is None]
    if not known and not unknown:
        return ""
    scale = max((float(one["bits_before"]) for one in known), default=0.0)
    parts, y = [], 4.0
    for one in known[:SHOWN]:
        drawn, height = _bar(one, y, scale)
        parts.append(drawn)
        y += height
    for text in _remarks(known[SHOWN:], unknown):
        for row in wrapped(text, WIDTH, 3, 12.5):
            parts.append(label(MARGIN, y + 14, row, fill="--muted", size=12.5))
            y += 18
        y += 4
    title = "Attributes by the bits that are revealed of them, per person on average"
    return framed("chart-attributes", NARROW, y + 4, title, _described(known, unknown), parts, 600)


def _bar(one: Mapping[str, Any], y: float, scale: float) -> tuple[str, float]:
    """Return the lines and the bar of one attribute, and their height."""
    before, revealed = float(one["bits_before"]), max(0.0, float(one["bits_revealed"]))
    figure = f"{_at_least(one)}{revealed:,.2f} of {bits(before)}"
    room = WIDTH - width_of(figure) - 14
    tip = f"{clipped(one['name'], 300)}: {_revealed_text(one)}"
    unit = WIDTH / scale if scale else 0.0
    edge = f' stroke="{colour("--muted")}" stroke-width="0.8"'
    parts = [
        label(MARGIN, y + 13, fitted(one["name"], room / BOLD), bold=True),
        label(NARROW - MARGIN, y + 13, figure, anchor="end"),
        rectangle(MARGIN, y + 20, max(2.0, before * unit), 11, "--exposure-0", more=edge, tip=tip, radius=2),
    ]
    if revealed:
        filled = max(1.2, min(before, revealed) * unit)
        parts.append(rectangle(MARGIN, y + 20, filled, 11, "--accent", tip=tip, radius=2))
    forced = int(one.get("forced_rows") or 0)
    if forced:
        text = f"the value is certain for {count(forced, 'person', 'people')}"
        parts.append(label(MARGIN, y + 46, text, fill="--muted", size=12.5))
    return f"<g>{''.join(parts)}</g>", 60 if forced else 44


def _at_least(one: Mapping[str, Any]) -> str:
    """Return "at least " before a lower bound."""
    return "at least " if one.get("bits_status", one.get("is")) == "at least" else ""


def _revealed_text(one: Mapping[str, Any]) -> str:
    """Return in words what is revealed of an attribute."""
    before, revealed = float(one["bits_before"]), max(0.0, float(one["bits_revealed"]))
    share = f" ({percent(min(1.0, revealed / before))})" if before else ""
    return f"{_at_least(one)}{revealed:,.2f} of {bits(before)}{share}"


def _remarks(further: Sequence[Mapping[str, Any]], unknown: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is said below the bars: attributes that are not drawn, and those without a number of bits."""
    out = []
    if further:
        most = max(0.0, float(further[0]["bits_revealed"]))
        out.append(f"{count(len(further), 'more attribute', 'more attributes')} with {bits(most)} or less each")
    by_reason: dict[str, list[str]] = {}
    for one in unknown:
        by_reason.setdefault(str(one.get("why") or "not known"), []).append(clipped(one["name"], 24))
    for why, names in by_reason.items():
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        out.append(f"Without bits ({clipped(why)}): {', '.join(names[:NAMED])}{more}")
    return out


def _described(known: Sequence[Mapping[str, Any]], unknown: Sequence[Mapping[str, Any]]) -> str:
    """Return the chart in words."""
    most = "; ".join(f"{clipped(one['name'], 60)}: {_revealed_text(one)}" for one in known[:3])
    text = f"Bars of {count(len(known), 'attribute', 'attributes')}, the most revealed first. {most}." if known else ""
    left = f"{count(len(unknown), 'attribute has', 'attributes have')} no number of bits." if unknown else ""
    return f"{text} {left}".strip()


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
    reading = _curve_sentences(points)
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
    x = _least_share(points, 0.5)
    if x is None:
        return ""
    dashes = ' stroke-dasharray="4 4" stroke-width="1.3"'
    return (
        line(LEFT, _down(0.5), _across(x), _down(0.5), stroke="--accent", more=dashes)
        + line(_across(x), _down(0.5), _across(x), BOTTOM, stroke="--accent", more=dashes)
        + f'<circle cx="{number(_across(x))}" cy="{number(_down(0.5))}" r="4.2" fill="{colour("--accent")}"'
        + f' stroke="{colour("--paper")}" stroke-width="1.5"/>'
    )


def _least_share(points: Sequence[Point], share: float) -> float | None:
    """Return the least share of bits that at least so many people have at most; None where so many are not known."""
    return next((x for x, y in points if y >= share - 1e-12), None)


def _curve_sentences(points: Sequence[Point]) -> str:
    """Return the reading of the curve in words."""
    found = []
    nothing = next((y for x, y in reversed(points) if x <= 0), 0.0)
    if nothing > 0:
        found.append(f"{percent(nothing)} of the people have no bit left: everything about them is known")
    if (x := _least_share(points, 0.5)) is not None and x > 0:
        found.append(f"half of the people have at most {percent(x)} of their bits left")
    if (x := _least_share(points, 1.0)) is not None:
        found.append(f"all have at most {percent(x)} of their bits left")
    else:
        found.append(f"for {percent(points[-1][1])} of the people it is known how much is left")
    text = "; ".join(found)
    return f"{text[:1].upper()}{text[1:]}."
