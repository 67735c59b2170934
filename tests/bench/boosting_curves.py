"""Pictures of docs/boosting.md: what boosted models give back, over trees and over decimals.

They are drawn from tests/bench/results/leaf_values.json:

    python tests/bench/leaf_values.py --lines rounded trees
    python tests/bench/boosting_curves.py trees > docs/boosting-trees.svg
    python tests/bench/boosting_curves.py rounded > docs/boosting-rounded.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #222; }
  .head { font-weight: 600; } .small { font-size: 10px; fill: #666; }
  .axis { stroke: #888; fill: none; } .grid { stroke: #ddd; }
  .curve { fill: none; stroke-width: 2; } .label { stroke-dasharray: 3 4; stroke-width: 1.5; }
  .l0 { color: #2b6cb0; } .l1 { color: #d98324; } .l2 { color: #2f855a; }
  .curve, circle { stroke: currentColor; } .dot { fill: currentColor; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; } .small { fill: #aaa; } .grid { stroke: #3a3a3a; }
    .l0 { color: #63a4f0; } .l1 { color: #f0a64a; } .l2 { color: #5fc48f; }
  }
"""
WIDE, HIGH, LEFT, TOP, GAP = 300, 170, 44, 40, 60
ABOUT = {
    "trees": ("Share of rows given back over the number of trees", "rows in cells", "whole rows with label", 0, 2),
    "rounded": ("Share of rows given back over published decimals", "rows in cells", "rows with label", 0, 1),
}
SHARES = ("known %", "with label %", "whole %")
Line = tuple[str, list[tuple[float, ...]]]


def table(name: str) -> tuple[list[str], dict[str, list[Line]]]:
    """Return the points across, and per set of rows the lines of a section: who, and a point's shares in percent."""
    found: dict[str, list[Line]] = {}
    across: list[str] = []
    text = (Path(__file__).parent / "results" / "leaf_values.json").read_text(encoding="utf-8")
    points: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {}
    for line, one in json.loads(text)["lines"].items():
        if line.startswith(f"{name} "):
            job, _, at = line.partition(": ")
            _, rows, who = job.split(" ", 2)
            points.setdefault((rows, who), {})[at] = tuple(one["more"][share] for share in SHARES)
    for (rows, who), each in sorted(points.items()):
        across = sorted(each, key=order, reverse=name == "rounded")
        found.setdefault(rows, []).append((who, [each[at] for at in across if at in each]))
    return across, found


def order(at: str) -> float:
    """Return the number of trees or decimals of a point."""
    return float("inf") if at == "as published" else float(at.partition(" ")[0])


def draw(name: str) -> None:
    """Print a picture: a panel per number of rows, a curve per library and share."""
    across, found = table(name)
    title, *meant, first, second = ABOUT[name]
    width, height = LEFT + len(found) * (WIDE + GAP), TOP + HIGH + 84
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">')
    print(f"<title>{title}</title>\n<style>{STYLE}</style>")
    for at, (rows, lines) in enumerate(found.items()):
        panel(LEFT + at * (WIDE + GAP), rows, across, lines, (int(first), int(second)))
    below = TOP + HIGH + 44
    for k, (who, _) in enumerate(next(iter(found.values()))):
        print(f'<path class="curve l{k}" d="M{LEFT + 130 * k} {below}h28"/>')
        print(f'<text x="{LEFT + 130 * k + 36}" y="{below + 4}">{who}</text>')
    print(f'<text class="small" x="{LEFT}" y="{below + 26}">solid: {meant[0]}; dotted: {meant[1]}; all proved</text>')
    print("</svg>")


def panel(x: int, rows: str, across: list[str], lines: list[Line], parts: tuple[int, int]) -> None:
    """Print one panel: points stand at equal distances."""
    print(f'<text class="head" x="{x}" y="{TOP - 14}">{rows} rows</text>')
    for share in (0, 50, 100):
        y = TOP + HIGH * (1 - share / 100)
        print(f'<path class="grid" d="M{x} {y:.1f}h{WIDE}"/>')
        print(f'<text class="small" x="{x - 6}" y="{y + 4:.1f}" text-anchor="end">{share} %</text>')
    places = [x + WIDE * k / (len(across) - 1) for k in range(len(across))]
    for at, text in zip(places, across, strict=True):
        said = text.replace(" trees", "").replace(" decimals", "").replace("as published", "all")
        print(f'<path class="axis" d="M{at:.1f} {TOP + HIGH}v4"/>')
        print(f'<text class="small" x="{at:.1f}" y="{TOP + HIGH + 16}" text-anchor="middle">{said}</text>')
    for k, (_, shares) in enumerate(lines):
        for part, kind in zip(parts, ("", " label"), strict=True):
            spots = [(at, TOP + HIGH * (1 - s[part] / 100)) for at, s in zip(places, shares, strict=False)]
            print(f'<path class="curve l{k}{kind}" d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in spots)}"/>')
            if not kind:
                for a, b in spots:
                    print(f'<circle class="l{k} dot" cx="{a:.1f}" cy="{b:.1f}" r="2.5" stroke-width="1.5"/>')


if __name__ == "__main__":
    draw(sys.argv[1])
