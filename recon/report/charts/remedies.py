"""What remedies change: bits left per person and people pinned down, new beside old."""

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
    number,
    rectangle,
    width_of,
)

SHOWN = 14  # remedies that are drawn
MARGIN, LEFT, RIGHT = 6.0, 108.0, 352.0
OUTCOMES = {"met": "meets the policy", "violated": "does not meet it", "inconclusive": "not decided"}
ROWS = (("bits left", "bits_left_per_person", "--accent"), ("pinned down", "pinned", "--exposure-3"))
Ends = Sequence[float | None]


def remedy_bars(remedies: Sequence[Mapping[str, Any]]) -> str:
    """Return the bars as inline SVG, "" where no remedy has figures to compare.

    `remedies`: as the document has them, the release as published first; `bits_left_per_person` and `pinned` are
    [least, most] or None (not known).
    """
    if len(remedies) < 2 or not any(one.get(key) for one in remedies[1:] for _, key, _ in ROWS):
        return ""
    old, new = remedies[0], [one for one in remedies[1:] if any(one.get(key) for _, key, _ in ROWS)]
    scales = {key: greatest([old, *new[:SHOWN]], key) for _, key, _ in ROWS}
    key, y = legend_of()
    parts = [key]
    for one in new[:SHOWN]:
        parts.append(group(one, old, y, scales))
        y += 88
    if len(new) > SHOWN:
        parts.append(label(MARGIN, y + 12, f"and {len(new) - SHOWN:,} more remedies", fill="--muted", size=12.5))
        y += 20
    title = "What would help: bits left per person and people pinned down, after and before"
    return framed("chart-remedies", NARROW, y + 2, title, described(old, new), parts, 600)


def greatest(remedies: Sequence[Mapping[str, Any]], key: str) -> float:
    """Return the greatest figure that is drawn."""
    ends = [float(end) for one in remedies for end in one.get(key) or () if end is not None]
    return max(ends, default=0.0) or 1.0


def legend_of() -> tuple[str, float]:
    """Return the key, and its height."""
    edge = f' stroke="{colour("--muted")}" stroke-width="0.8"'
    return "".join(
        [
            rectangle(MARGIN, 8, 20, 9, "--accent", radius=2),
            rectangle(MARGIN + 24, 8, 20, 9, "--exposure-3", radius=2),
            label(MARGIN + 50, 17, "with the remedy", fill="--muted", size=12.5),
            rectangle(190, 8, 20, 9, "--exposure-0", more=edge, radius=2),
            label(216, 17, "as published", fill="--muted", size=12.5),
        ]
    ), 30


def group(one: Mapping[str, Any], old: Mapping[str, Any], y: float, scales: Mapping[str, float]) -> str:
    """Return the bars of one remedy."""
    outcome = OUTCOMES.get(str(one.get("outcome")), "")
    room = NARROW - 2 * MARGIN - (width_of(outcome) + 16 if outcome else 0)
    parts = [label(MARGIN, y + 13, fitted(one["remedy"], room / BOLD), bold=True)]
    if outcome:
        parts.append(label(NARROW - MARGIN, y + 13, outcome, anchor="end", fill="--muted"))
    for i, (word, key, paint) in enumerate(ROWS):
        top = y + 22 + 30 * i
        parts.append(label(MARGIN, top + 15, word, size=12.5, fill="--muted"))
        text, before = figure(one.get(key), key), figure(old.get(key), key)
        tip = f"{clipped(one['remedy'], 200)}: {word} {text}, as published {before}"
        parts.append(pair(one.get(key), old.get(key), top, scales[key], paint, tip))
        parts.append(label(RIGHT + 10, top + 15, fitted(text, NARROW - RIGHT - 12, 12.5), size=12.5))
    return f"<g>{''.join(parts)}</g>"


def pair(new: Ends | None, old: Ends | None, y: float, scale: float, paint: str, tip: str) -> str:
    """Return the new bar above the old one; between least and most a bar is lighter."""
    unit = (RIGHT - LEFT) / scale
    out = []
    edge = f' stroke="{colour("--muted")}" stroke-width="0.8"'
    for ends, top, fill, more in ((new, y, paint, ""), (old, y + 12, "--exposure-0", edge)):
        if ends is None:
            continue
        low = float(ends[0] or 0)
        high = scale if ends[1] is None else float(ends[1])
        if high > low:
            pale = f' fill-opacity="0.25" stroke="{colour("--muted")}" stroke-width="0.8" stroke-dasharray="3 2"'
            out.append(rectangle(LEFT, top, high * unit, 10, fill, more=pale, tip=tip, radius=2))
        out.append(rectangle(LEFT, top, max(1.5, low * unit), 10, fill, more=more, tip=tip, radius=2))
    return "".join(out)


def figure(ends: Ends | None, key: str) -> str:
    """Return [least, most] in words."""
    if ends is None:
        return "not known"
    low, high = float(ends[0] or 0), ends[1]
    whole = key == "pinned"
    text = [f"{x:,.0f}" if whole else number(x) for x in (low, *([] if high is None else [float(high)]))]
    if high is None:
        return f"at least {text[0]}"
    return text[0] if text[0] == text[1] else f"{text[0]} to {text[1]}"


def described(old: Mapping[str, Any], new: Sequence[Mapping[str, Any]]) -> str:
    """Return the chart in words."""

    def both(one: Mapping[str, Any]) -> str:
        left, pinned = (figure(one.get(key), key) for _, key, _ in ROWS)
        return f"{left} bits left per person, {pinned} people pinned down"

    some = "; ".join(f"{clipped(one['remedy'], 60)}: {both(one)}" for one in new[:4])
    return f"{count(len(new), 'remedy', 'remedies')} beside the release as published ({both(old)}). {some}."
