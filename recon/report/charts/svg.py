"""What all charts share: colours, levels of exposure, text that is inert and fits, the frame of an SVG.

A chart is a picture in a page: it has no script and fetches nothing, its title and description say in words what it
shows, and what a colour says is said by a pattern or a text as well.
Source: W3C, "Web Content Accessibility Guidelines 2.2", 2023 (1.1.1, 1.4.1, 1.4.3, 1.4.11).

What remedies change: bits left per person and people fully known, new beside old.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from solvers.foundation.displayed import escape_text, html

# What the page defines as custom properties: name -> (light, dark). Charts fall back on the light ones. Text stands in
# --ink on levels 0 to 2 and in --paper on 3 and 4; every such pair, and --muted and --accent on --paper, has a contrast
# of at least 4.5 in both modes (WCAG AA).
PALETTE: dict[str, tuple[str, str]] = {
    "--paper": ("#ffffff", "#16191d"),
    "--ink": ("#1b1f24", "#e8eaed"),
    "--muted": ("#565e68", "#a6aeb8"),
    "--line": ("#cfd5dc", "#3b424b"),
    "--accent": ("#1f5f8b", "#7fb8e0"),
    "--exposure-0": ("#eef1f4", "#2a3037"),
    "--exposure-1": ("#f9dcc4", "#553f2c"),
    "--exposure-2": ("#f0a878", "#8a4f26"),
    "--exposure-3": ("#bf4a26", "#f0996a"),
    "--exposure-4": ("#7d1d1d", "#ffd9c7"),
}
SIZE = 13.0  # of text, in the units of a chart
NARROW = 480  # units across of a chart that a telephone shows whole
LEVELS = (0.75, 0.5, 0.3, 0.1)  # shares of bits left up to which the exposure is of level 1, 2, 3, 4
ROW_LEVELS = (20, 10, 5, 1)  # the same by rows of a group, where bits are not known
LEVEL_WORDS = ("more than 75 %", "50 to 75 %", "30 to 50 %", "10 to 30 %", "at most 10 %")
ROW_WORDS = ("more than 20 rows", "11 to 20 rows", "6 to 10 rows", "2 to 5 rows", "1 row")
ON_PAPER = "@media print{.chart-scroll>svg{min-width:0!important}}"  # a printed page cannot be scrolled
BOLD = 1.13  # how much wider bold text is
THIN, WIDE, CAPITAL, USUAL = 0.37, 1.05, 0.74, 0.6  # widths of characters, in parts of the size of text


def colour(name: str) -> str:
    """Return a colour of the palette as the page defines it, with the light one where it does not."""
    return f"var({name},{PALETTE[name][0]})"


def level(share: float | None) -> int:
    """Return the level of exposure, 0 to 4 (most exposed), of a share of bits left; 0 where it is not known."""
    return 0 if share is None else sum(share <= end for end in LEVELS)


def row_level(rows: float) -> int:
    """Return the level of exposure, 0 to 4 (most exposed), of a group of so many rows."""
    return sum(rows <= end for end in ROW_LEVELS)


def on_level(number: int) -> str:
    """Return the colour of text on a level of exposure."""
    return colour("--ink" if number < 3 else "--paper")


def number(x: float, digits: int = 2) -> str:
    """Return a coordinate or figure without needless zeros."""
    text = f"{x:.{digits}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def percent(share: float) -> str:
    """Return a share in words; neither what is little becomes 0 %, nor what is nearly all 100 %."""
    if 0 < share < 0.001:
        return "under 0.1 %"
    if 0.999 < share < 1:
        return "over 99.9 %"
    if 0 < share < 0.1 or 0.99 < share < 1:
        return f"{number(100 * share, 1)} %"
    return f"{number(100 * share, 0)} %"


def bits(x: float) -> str:
    """Return a number of bits in words, two digits behind the point."""
    return "under 0.01 bits" if 0 < x < 0.005 else f"{x:,.2f} bits"


def count(n: float, word: str = "row", words: str = "rows") -> str:
    """Return how many, in words."""
    return f"{n:,} {word if n == 1 else words}"


def interval(ends: Sequence[float | None], word: str = "row", words: str = "rows") -> str:
    """Return [least, most] in words (most None: no upper bound is known)."""
    low, high = ends[0] or 0, ends[1]
    if low == high:
        return count(low, word, words)
    return f"at least {count(low, word, words)}" if high is None else f"{low:,} to {count(high, word, words)}"


def width_of(text: str, size: float = SIZE) -> float:
    """Return about how wide a line of text is, in the units of its size: rather too wide than too narrow."""
    return size * sum(map(_width, text))


def _width(character: str) -> float:
    if character in "iljtfr.,:;'|!()[] ":
        return THIN
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return WIDE
    if unicodedata.combining(character):
        return 0.0
    return CAPITAL if character.isupper() or character in "mwMW@%" else USUAL


def fitted(text: object, width: float, size: float = SIZE) -> str:
    """Return text that is no wider than `width`: what is hidden or would act spelled out, the rest cut with "…"."""
    line = escape_text(str(text)[:400])  # what is cut is not looked at: names can be as long as files
    if width_of(line, size) <= width:
        return line
    kept: list[str] = []
    used = width_of("…", size)
    for character in line:
        used += size * _width(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…" if width_of("…", size) <= width else ""


def wrapped(text: object, width: float, lines: int, size: float = SIZE) -> list[str]:
    """Return text in at most so many lines, broken at blanks where there are some; what is too long is cut with "…"."""
    rest = escape_text(str(text)[:400])
    out: list[str] = []
    while rest and len(out) < lines - 1 and width_of(rest, size) > width:
        head = fitted(rest, width, size).rstrip("…")
        at = head.rfind(" ")
        cut = at if at > len(head) // 3 else len(head)
        if not cut:
            break
        out.append(rest[:cut])
        rest = rest[cut:].lstrip()
    return [*out, fitted(rest, width, size)] if rest else out


def clipped(text: object, characters: int = 120) -> str:
    """Return text for a tooltip or description: one line, inert, of at most so many characters."""
    found = str(text)
    return escape_text(found if len(found) <= characters else f"{found[: characters - 1]}…")


def label(
    x: float, y: float, text: object, *, size: float = SIZE, fill: str = "--ink", anchor: str = "", bold: bool = False
) -> str:
    """Return a line of text at a point (its baseline); it is made inert."""
    more = f' text-anchor="{anchor}"' if anchor else ""
    more += ' font-weight="600"' if bold else ""
    more += f' font-size="{number(size)}"' if size != SIZE else ""
    paint = colour(fill) if fill.startswith("--") else fill
    return f'<text x="{number(x)}" y="{number(y)}" fill="{paint}"{more}>{html(text)}</text>'


def rectangle(
    x: float, y: float, width: float, height: float, fill: str, *, more: str = "", tip: object = "", radius: float = 0
) -> str:
    """Return a rectangle, with a tooltip where there is one."""
    paint = colour(fill) if fill.startswith("--") else fill
    corners = f' rx="{number(radius)}"' if radius else ""
    head = (
        f'<rect x="{number(x)}" y="{number(y)}" width="{number(max(0.0, width))}" height="{number(height)}"'
        f'{corners} fill="{paint}"{more}'
    )
    return f"{head}><title>{html(tip)}</title></rect>" if tip else f"{head}/>"


def line(x1: float, y1: float, x2: float, y2: float, *, stroke: str = "--line", more: str = "") -> str:
    """Return a straight line."""
    ends = f'x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}"'
    return f'<line {ends} stroke="{colour(stroke)}"{more}/>'


def hatches(prefix: str) -> str:
    """Return the patterns of the five levels of exposure, `url(#PREFIX-e0)` to `url(#PREFIX-e4)`.

    They are distinguished without colour too: dots, one way, the other way, both ways, full.
    """
    strokes = (
        "",
        '<circle cx="4" cy="4" r="0.8"/>',
        '<path d="M-2 2 2 -2M0 8 8 0M6 10 10 6"/>',
        '<path d="M-2 6 2 10M0 0 8 8M6 -2 10 2"/>',
        "",
    )
    out = []
    for i, shape in enumerate(strokes):
        ink = on_level(i)
        over = (
            f'<g fill="{ink if i == 1 else "none"}" stroke="{ink}" stroke-opacity="0.28" fill-opacity="0.3">{shape}</g>'
        )
        out.append(
            f'<pattern id="{prefix}-e{i}" width="8" height="8" patternUnits="userSpaceOnUse">'
            f'<rect width="8" height="8" fill="{colour(f"--exposure-{i}")}"/>{over if shape else ""}</pattern>'
        )
    return f"<defs>{''.join(out)}</defs>"


def legend(
    prefix: str, x: float, y: float, width: float, words: Sequence[str], size: float = 12.0
) -> tuple[str, float]:
    """Return the key of the levels of exposure, and the height that it takes."""
    parts, at, down = [], x, y
    for i in range(len(words) - 1, -1, -1):
        needed = 19 + width_of(words[i], size) + 14
        if at + needed > x + width and at > x:
            at, down = x, down + 20
        edge = f' stroke="{colour("--muted")}" stroke-width="0.8"'
        parts.append(rectangle(at, down, 14, 12, f"url(#{prefix}-e{i})", more=edge))
        parts.append(label(at + 19, down + 10.5, words[i], size=size, fill="--muted"))
        at += needed
    return "".join(parts), down - y + 20


def framed(
    prefix: str, width: float, height: float, title: object, description: object, parts: Iterable[str], most: int
) -> str:
    """Return the whole SVG: named and described in words, as wide as the page lets it be, at most `most` pixels."""
    return (
        f'<svg class="chart" role="img" aria-labelledby="{prefix}-title {prefix}-desc"'
        f' viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" height="{number(height)}"'
        f' style="width:100%;max-width:{most}px;height:auto;display:block" font-size="{number(SIZE)}"'
        f' font-family="system-ui,sans-serif" xmlns="http://www.w3.org/2000/svg">'
        f'<title id="{prefix}-title">{html(title)}</title><desc id="{prefix}-desc">{html(description)}</desc>'
        f"{''.join(parts)}</svg>"
    )


def scrolled(svg: str, least: int, name: object) -> str:
    """Return a wide SVG that is never narrower than `least` pixels: a narrow page scrolls it, by keyboard too."""
    wide = svg.replace('style="width:100%;', f'style="width:100%;min-width:{least}px;', 1)
    wide = wide.replace("<defs>", f"<style>{ON_PAPER}</style><defs>", 1)
    opening = f'<div class="chart-scroll" role="region" tabindex="0" aria-label="{html(name)}" style="overflow-x:auto">'
    return f"{opening}{wide}</div>"


SHOWN = 14  # remedies that are drawn
MARGIN, LEFT, RIGHT = 6.0, 108.0, 352.0
OUTCOMES = {"met": "meets the policy", "violated": "does not meet it", "inconclusive": "not decided"}
ROWS = (("bits left", "bits_left_per_person", "--accent"), ("fully known", "pinned", "--exposure-3"))
Ends = Sequence[float | None]


def remedy_bars(remedies: Sequence[Mapping[str, Any]] | None) -> str:
    """Return the bars as inline SVG, "" where no remedy has figures to compare.

    `remedies`: as the document has them, the release as published first; `bits_left_per_person` and `pinned` are
    [least, most] or None (not known).
    """
    if not remedies or len(remedies) < 2 or not any(one.get(key) for one in remedies[1:] for _, key, _ in ROWS):
        return ""
    old, new = remedies[0], [one for one in remedies[1:] if any(one.get(key) for _, key, _ in ROWS)]
    scales = {key: _greatest([old, *new[:SHOWN]], key) for _, key, _ in ROWS}
    key, y = _legend_of()
    parts = [key]
    for one in new[:SHOWN]:
        parts.append(_group(one, old, y, scales))
        y += 102
    if len(new) > SHOWN:
        parts.append(label(MARGIN, y + 12, f"and {len(new) - SHOWN:,} more remedies", fill="--muted", size=12.5))
        y += 20
    title = "What would help: bits left per person and people fully known, after and before"
    return framed("chart-remedies", NARROW, y + 2, title, _described(old, new), parts, 600)


def _greatest(remedies: Sequence[Mapping[str, Any]], key: str) -> float:
    """Return the greatest figure that is drawn."""
    ends = [float(end) for one in remedies for end in one.get(key) or () if end is not None]
    return max(ends, default=0.0) or 1.0


def _legend_of() -> tuple[str, float]:
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


def _group(one: Mapping[str, Any], old: Mapping[str, Any], y: float, scales: Mapping[str, float]) -> str:
    """Return the bars of one remedy."""
    outcome = OUTCOMES.get(str(one.get("outcome")), "")
    room = NARROW - 2 * MARGIN - (width_of(outcome) + 16 if outcome else 0)
    parts = [label(MARGIN, y + 13, fitted(one["remedy"], room / BOLD), bold=True)]
    if outcome:
        parts.append(label(NARROW - MARGIN, y + 13, outcome, anchor="end", fill="--muted"))
    for i, (word, key, paint) in enumerate(ROWS):
        top = y + 22 + 36 * i
        parts.append(label(MARGIN, top + 15, word, size=12.5, fill="--muted"))
        text, before = _figure(one.get(key), key), _figure(old.get(key), key)
        tip = f"{clipped(one['remedy'], 200)}: {word} {text}, as published {before}"
        parts.append(_pair(one.get(key), old.get(key), top, scales[key], paint, tip))
        room = NARROW - RIGHT - 12
        parts.append(label(RIGHT + 8, top + 10, fitted(text, room, 12.5), size=12.5))
        parts.append(label(RIGHT + 8, top + 24, fitted(f"was {before}", room, 12), size=12, fill="--muted"))
    return f"<g>{''.join(parts)}</g>"


def _pair(new: Ends | None, old: Ends | None, y: float, scale: float, paint: str, tip: str) -> str:
    """Return the new bar above the old one; between least and most a bar is lighter."""
    unit = (RIGHT - LEFT) / scale
    out = []
    edge = f' stroke="{colour("--muted")}" stroke-width="0.8"'
    for ends, top, fill, more in ((new, y, paint, ""), (old, y + 14, "--exposure-0", edge)):
        if ends is None:
            continue
        low = float(ends[0] or 0)
        high = scale if ends[1] is None else float(ends[1])
        if high > low:
            pale = f' fill-opacity="0.25" stroke="{colour("--muted")}" stroke-width="0.8" stroke-dasharray="3 2"'
            out.append(rectangle(LEFT, top, high * unit, 10, fill, more=pale, tip=tip, radius=2))
        if low:
            out.append(rectangle(LEFT, top, max(1.5, low * unit), 10, fill, more=more, tip=tip, radius=2))
    return "".join(out)


def _figure(ends: Ends | None, key: str) -> str:
    """Return [least, most] in words."""
    if ends is None:
        return "not known"
    low, high = float(ends[0] or 0), ends[1]
    whole = key == "pinned"
    text = [f"{x:,.0f}" if whole else number(x) for x in (low, *([] if high is None else [float(high)]))]
    if high is None:
        return f"at least {text[0]}"
    return text[0] if text[0] == text[1] else f"{text[0]} to {text[1]}"


def _described(old: Mapping[str, Any], new: Sequence[Mapping[str, Any]]) -> str:
    """Return the chart in words."""

    def both(one: Mapping[str, Any]) -> str:
        left, pinned = (_figure(one.get(key), key) for _, key, _ in ROWS)
        return f"{left} bits left per person, {pinned} people fully known"

    some = "; ".join(f"{clipped(one['remedy'], 60)}: {both(one)}" for one in new[:4])
    return f"{count(len(new), 'remedy', 'remedies')} beside the release as published ({both(old)}). {some}."
