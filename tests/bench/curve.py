"""Where rows can be distinguished: shares proved of default forests, over rows and trees; and a picture of them.

    python tests/bench/curve.py [--quick | --lines BEGINNING ...] [--check]
    python tests/bench/curve.py --draw > docs/positions-curve.svg
    python tests/bench/curve.py --table

Forests as in tests/bench/positions.py (`made`: `make_classification`, 20 columns), each up to SECONDS seconds of the
processor (what is proved by then is proved: "incomplete"). The true leaf of every row is asserted to be left. "meet":
the share of pairs of leaves of different trees, of the same class, whose boxes meet, on 20,000 random pairs. The
picture and the table are those of tests/bench/results/curve.json. Needs scikit-learn and, for COMPAS and Adult, the
data folder (RECON_DATA). What a line says: harness.py.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import Job, Line, main, measured, stopping

SECONDS = 15.0  # of the processor, for one forest
SIZES = {
    "compas14": (50, 100, 200, 300, 500, 1_000),
    "adult19": (50, 100, 200, 300, 500, 1_000),
    "diabetes": (50, 100, 200, 300, 442),
    "breast_cancer": (50, 100, 200, 300, 569),
    "made": (50, 100, 200, 300, 500, 1_000),
}
TREES = (10, 30, 100, 200)
PAIRS = 20_000
NAMES = {
    "compas14": "COMPAS14",
    "adult19": "Adult19",
    "diabetes": "diabetes",
    "breast_cancer": "breast cancer",
    "made": "make_classification",
}


def meeting(problem: Any) -> float:
    """Return the share of random pairs of leaves of different trees, of the same class, whose boxes meet."""
    import numpy as np

    rng = np.random.default_rng(0)
    a, b = rng.integers(len(problem.tree), size=(2, 20 * PAIRS))
    kept = (problem.tree[a] != problem.tree[b]) & (problem.label[a] == problem.label[b])
    a, b = a[kept][:PAIRS], b[kept][:PAIRS]
    meet = np.ones(len(a), dtype=bool)
    for k in range(len(problem.parts)):
        if k == problem.release.domain.label:
            continue
        if k in problem.sets:
            meet &= (problem.sets[k][a] & problem.sets[k][b]).any(axis=1)
        else:
            meet &= np.maximum(problem.start[a, k], problem.start[b, k]) < np.minimum(
                problem.end[a, k], problem.end[b, k]
            )
    return float(meet.mean())


def points(job: str, name: str, trees: int) -> list[Line]:
    """Return the lines of one data set and one number of trees."""
    import positions as bench

    from solvers.foundation.limits import Limits
    from solvers.positions.assignments.world import assigned

    bench.warm()
    out = []
    for n in SIZES[name]:
        with bench.stored(name, n, trees) as case:
            release = case.load().statements
        with stopping(SECONDS) as stop:
            limits = Limits(seconds=6 * SECONDS, memory=bench.MEMORY, stop=stop)
            work = measured(lambda release=release, limits=limits: assigned(release, limits), repeats=1)
        found, problem = work.found, work.found.problem
        seen, true = problem.times.T > 0, bench.true_values(problem, case.fit.found, case.table, case.label)
        for i in range(problem.rows):
            left = set(found.domains.of_row(i).tolist())
            assert set(true[i][true[i] >= 0].tolist()) <= left, "a true leaf is excluded"
        more = {"leaves": round(float((found.domains.sizes()[seen] == 1).mean()), 4)}
        more |= {"labels": round(float((found.domains.labels().sum(axis=1) == 1).mean()), 4)}
        more |= {"ended": "complete" if found.complete else "incomplete"}
        said = {"meet": round(meeting(problem), 3), "values": len(problem.tree)}
        out.append(Line(f"{job}: {n} rows", work, "fit of the forest", case.fit, more=more, said=said))
    return out


def kept() -> dict[str, dict[int, dict[int, dict[str, Any]]]]:
    """Return the results by data set, number of trees and number of rows."""
    text = (Path(__file__).parent / "results" / "curve.json").read_text(encoding="utf-8")
    found: dict[str, dict[int, dict[int, dict[str, Any]]]] = {name: {} for name in SIZES}
    for line, one in json.loads(text)["lines"].items():
        job, _, rows = line.partition(": ")
        name, _, trees = job.partition(" x ")
        found[name].setdefault(int(trees), {})[int(rows.partition(" ")[0])] = one["more"] | one["said"]
    return {name: {trees: dict(sorted(p.items())) for trees, p in sorted(f.items())} for name, f in found.items() if f}


def table() -> None:
    """Print the shares as a table: leaves proved / labels proved in percent, `+` where time ended it."""
    for name, each in kept().items():
        sizes = sorted({n for points in each.values() for n in points})
        some = each.get(100, next(iter(each.values())))
        meet = f"{some.get(100, some[min(some)])['meet']:.2f}".removeprefix("0")
        print(f"| {NAMES[name]} ({meet}) | " + " | ".join(f"{n:,} rows" for n in sizes) + " |")
        print("|---|" + "--:|" * len(sizes))
        for trees, own in each.items():
            cells = [shown(own[n]) if n in own else "" for n in sizes]
            print(f"| {trees} trees | " + " | ".join(cells) + " |")
        print()


def shown(p: dict[str, Any]) -> str:
    """Return one cell of the table."""
    return f"{100 * p['leaves']:.0f} / {100 * p['labels']:.0f}" + ("" if p["ended"] == "complete" else " +")


STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #222; }
  .head { font-weight: 600; } .small { font-size: 10px; fill: #666; }
  .axis { stroke: #888; fill: none; } .grid { stroke: #ddd; }
  .curve { fill: none; stroke-width: 2; } .label { stroke-dasharray: 3 4; stroke-width: 1.5; }
  .t10 { color: #8a9096; } .t30 { color: #d98324; } .t100 { color: #2b6cb0; } .t200 { color: #2f855a; }
  .curve, circle { stroke: currentColor; }
  .dot { fill: currentColor; } .cut { fill: #fff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; } .small { fill: #aaa; } .grid { stroke: #3a3a3a; } .cut { fill: #111; }
    .t30 { color: #f0a64a; } .t100 { color: #63a4f0; } .t200 { color: #5fc48f; }
  }
"""
WIDE, HIGH, LEFT, TOP, GAP = 200, 150, 40, 40, 56
PANELS = 3  # side by side


def draw() -> None:
    """Print the picture: a panel per data set, share of leaves proved over rows, a curve per number of trees."""
    found = kept()
    width, panels = LEFT + PANELS * (WIDE + GAP), [name for name in SIZES if name in found]
    height = TOP + math.ceil((len(panels) + 1) / PANELS) * (HIGH + GAP)
    head(width, height, "Share of leaves and labels proved by position, over rows and trees")
    for at, name in enumerate(panels):
        x, y = LEFT + at % PANELS * (WIDE + GAP), TOP + at // PANELS * (HIGH + GAP)
        panel(x, y, NAMES[name], ROWS, found[name])
    at = len(panels)
    said = ("solid: leaves proved; dotted: labels proved", f"ring: ended after {SECONDS:.0f} s of CPU", "across: rows")
    colours = {trees: f"{trees} trees" for trees in TREES}
    legend(LEFT + at % PANELS * (WIDE + GAP), TOP + at // PANELS * (HIGH + GAP), colours, *said)
    print("</svg>")


def head(width: int, height: int, title: str) -> None:
    """Print how a picture begins."""
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">')
    print(f"<title>{title}</title>")
    print(f"<style>{STYLE}</style>")


@dataclass(frozen=True)
class Across:
    """The axis across: logarithmic from `first` to `last`, `ticks` and what is written at each and below all."""

    first: float
    last: float
    ticks: dict[float, str]
    caption: str = ""

    def part(self, value: float) -> float:
        """Return where a value lies, 0 at the left end."""
        return math.log(value / self.first) / math.log(self.last / self.first)


ROWS = Across(50, 1_000, {rows: f"{rows:,}" for rows in (50, 100, 200, 500, 1_000)})


def panel(x: int, y: int, name: str, across: Across, each: dict[int, dict[float, dict[str, Any]]]) -> None:
    """Print one panel: of each colour by its number, leaves and labels proved over the values across."""

    def place(value: float, share: float) -> tuple[float, float]:
        return x + WIDE * across.part(value), y + HIGH * (1 - share)

    print(f'<text class="head" x="{x}" y="{y - 10}">{name}</text>')
    for share in (0.0, 0.5, 1.0):
        _, at = place(across.first, share)
        print(f'<path class="grid" d="M{x} {at:.1f}h{WIDE}"/>')
        print(f'<text class="small" x="{x - 6}" y="{at + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>')
    for tick, text in across.ticks.items():
        left, _ = place(tick, 0)
        print(f'<path class="axis" d="M{left:.1f} {y + HIGH}v4"/>')
        print(f'<text class="small" x="{left:.1f}" y="{y + HIGH + 16}" text-anchor="middle">{text}</text>')
    print(f'<path class="axis" d="M{x} {y}V{y + HIGH}H{x + WIDE}"/>')
    if across.caption:
        place_below = f'x="{x + WIDE // 2}" y="{y + HIGH + 34}"'
        print(f'<text class="small" {place_below} text-anchor="middle">{across.caption}</text>')
    for colour, points in sorted(each.items()):
        for what, kind in (("labels", " label"), ("leaves", "")):
            spots = [place(n, p[what]) for n, p in points.items()]
            path = "L".join(f"{a:.1f} {b:.1f}" for a, b in spots)
            print(f'<path class="curve t{colour}{kind}" d="M{path}"/>')
        for n, p in points.items():
            a, b = place(n, p["leaves"])
            kind = "dot" if p["ended"] == "complete" else "cut"
            print(f'<circle class="t{colour} {kind}" cx="{a:.1f}" cy="{b:.1f}" r="2.5" stroke-width="1.5"/>')


def legend(x: int, y: int, colours: dict[int, str], *said: str) -> None:
    """Print what the colours and lines mean."""
    for at, (colour, text) in enumerate(colours.items()):
        print(f'<path class="curve t{colour}" d="M{x} {y + 18 * at}h28"/>')
        print(f'<text x="{x + 36}" y="{y + 18 * at + 4}">{text}</text>')
    for at, text in enumerate(said):
        print(f'<text class="small" x="{x}" y="{y + 84 + 16 * at}">{text}</text>')


NAMED = {f"{name} x {trees}": (name, trees) for name in SIZES for trees in TREES}
JOBS = {job: Job(points, (job, *case), quick=case == ("compas14", 10)) for job, case in NAMED.items()}

if __name__ == "__main__":
    if sys.argv[1:] in (["--draw"], ["--table"]):
        (draw if sys.argv[1] == "--draw" else table)()
        sys.exit()
    main("curve", JOBS)
