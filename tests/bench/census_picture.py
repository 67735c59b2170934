"""Draws docs/figures/census-by-size.svg: what tables give away by size of block, from stored points.

    python tests/bench/census_picture.py

Points: what tests/bench/census.py measured (tests/bench/results/census.json) on made-up tracts and on 28 real ones,
and what Abowd et al. published of all blocks of the United States.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "docs" / "figures" / "census-by-size.svg"
SIZES = {
    "1": "1-9",
    "10": "10-49",
    "50": "50-99",
    "100": "100-249",
    "250": "250-499",
    "500": "500-999",
    "1000": "1,000+",
}
PUBLISHED = dict(zip(SIZES, (99.5, 78.5, 32.6, 12.6, 2.9, 0.8, 1.1), strict=True))


def points() -> dict[str, dict[str, float]]:
    """Return percentages by the least number of people of a size, by what they are of."""
    lines = json.loads((ROOT / "tests" / "bench" / "results" / "census.json").read_text(encoding="utf-8"))["lines"]
    names = [name for name in lines if name.startswith("tables of tracts, ") and name.endswith(" x 100")]
    tracts = max(int(name.split()[3]) for name in names)
    by_way = _said(lines[f"tables of tracts, {tracts} x 100"], "0 by people, %")
    return {
        "published: blocks with radius 0 (relaxed), United States": PUBLISHED,
        **{f"blocks with width 0, {way}, {tracts} made-up": by_way[way] for way in ("alone", "coupled")},
        "people certain, single years, 28 selected real tracts": _said(
            lines["28 tracts: years"], "certain by people, %"
        ),
    }


def _said(line: dict[str, Any], name: str) -> Any:
    return line["said"][name]


def drawn() -> None:
    """Write the picture; the same points give the same bytes."""
    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    with matplotlib.rc_context({"svg.hashsalt": "census", "svg.fonttype": "none", "font.size": 9}):
        figure, ax = plt.subplots(figsize=(7, 3.6))
        for (name, shares), mark in zip(points().items(), ("o-", "s--", "^--", "d:"), strict=True):
            at = [k for k, size in enumerate(SIZES) if size in shares]
            ax.plot(at, [shares[size] for size in SIZES if size in shares], mark, label=name, markersize=4)
        ax.set_xticks(range(len(SIZES)), list(SIZES.values()))
        ax.set_xlabel("people in the block")
        ax.set_ylabel("%")
        ax.set_ylim(0, 103)
        ax.legend(frameon=False)
        figure.tight_layout()
        figure.savefig(OUT, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    drawn()
