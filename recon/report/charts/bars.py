"""Attributes by the bits that a release reveals of them: what there was to know, and what of it is known."""

from __future__ import annotations

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
    figure = f"{_least(one)}{revealed:,.2f} of {bits(before)}"
    room = WIDTH - width_of(figure) - 14
    tip = f"{clipped(one['name'], 300)}: {_told(one)}"
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


def _least(one: Mapping[str, Any]) -> str:
    """Return "at least " before a lower bound."""
    return "at least " if one.get("is") == "at least" else ""


def _told(one: Mapping[str, Any]) -> str:
    """Return in words what is revealed of an attribute."""
    before, revealed = float(one["bits_before"]), max(0.0, float(one["bits_revealed"]))
    share = f" ({percent(min(1.0, revealed / before))})" if before else ""
    return f"{_least(one)}{revealed:,.2f} of {bits(before)}{share}"


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
    most = "; ".join(f"{clipped(one['name'], 60)}: {_told(one)}" for one in known[:3])
    text = f"Bars of {count(len(known), 'attribute', 'attributes')}, the most revealed first. {most}." if known else ""
    left = f"{count(len(unknown), 'attribute has', 'attributes have')} no number of bits." if unknown else ""
    return f"{text} {left}".strip()
