"""Where rows can be told apart: shares proved of default forests, over rows and trees; figures as CSV, and a picture.

    python tests/bench/curve.py [compas14 adult19 diabetes breast_cancer made] > figures.csv
    python tests/bench/curve.py --draw figures.csv > docs/positions-curve.svg
    python tests/bench/curve.py --table figures.csv

Forests as in tests/bench/positions.py (`made`: `make_classification`, 20 columns), each up to SECONDS seconds of the
processor (what is proved by then is proved: `complete` False). The true leaf of every row is asserted to be left.
`meet`: the share of pairs of leaves of different trees, of the same class, whose boxes meet, on 20,000 random pairs.
Needs scikit-learn and, for COMPAS and Adult, the data folder (RECON_DATA).
"""

from __future__ import annotations

import csv
import gc
import math
import multiprocessing
import sys
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

SECONDS = 15.0  # of the processor, for one forest
SIZES = {
    "compas14": (50, 100, 200, 300, 500, 1_000),
    "adult19": (50, 100, 200, 300, 500, 1_000),
    "diabetes": (50, 100, 200, 300, 442),
    "breast_cancer": (50, 100, 200, 300, 569),
    "made": (50, 100, 200, 300, 500, 1_000),
}
TREES = (10, 30, 100, 200)
FIELDS = ("data", "rows", "trees", "leaves", "meet", "leaves_proved", "labels_proved", "complete", "cpu_s", "wall_s")
PAIRS = 20_000
NAMES = {
    "compas14": "COMPAS14",
    "adult19": "Adult19",
    "diabetes": "diabetes",
    "breast_cancer": "breast cancer",
    "made": "make_classification",
}


def watch(event: threading.Event, end: float) -> None:
    """Set an event once this process has used so many seconds of the processor."""
    while not event.is_set():
        if time.process_time() >= end:
            event.set()
        time.sleep(0.05)


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


def point(name: str, n: int, trees: int) -> dict[str, Any]:
    """Return the figures of one forest."""
    import positions as bench

    from solvers.assignments.solving import assigned
    from solvers.foundation.limits import Limits

    release, forest, table, label = bench.read(name, n, trees, True)
    stop = threading.Event()
    begun, wall = time.process_time(), time.perf_counter()
    threading.Thread(target=watch, args=(stop, begun + SECONDS), daemon=True).start()
    found = assigned(release, Limits(seconds=6 * SECONDS, memory=bench.MEMORY, stop=stop))
    stop.set()
    took, wall = time.process_time() - begun, time.perf_counter() - wall
    problem, seen = found.problem, found.problem.times.T > 0
    true = bench.true_values(problem, forest, table, label)
    for i in range(problem.rows):
        assert set(true[i][true[i] >= 0].tolist()) <= set(found.domains.of_row(i).tolist()), "a true leaf is excluded"
    proved, labels = (found.domains.sizes()[seen] == 1).mean(), (found.domains.labels().sum(axis=1) == 1).mean()
    told = (f"{meeting(problem):.3f}", f"{proved:.4f}", f"{labels:.4f}", found.complete, f"{took:.2f}", f"{wall:.2f}")
    return dict(zip(FIELDS, (name, n, trees, len(problem.tree), *told), strict=True))


def forests(name: str, trees: int) -> None:
    """Print the lines of one data set and one number of trees."""
    import positions as bench

    bench.warm()
    out = csv.DictWriter(sys.stdout, FIELDS, lineterminator="\n")
    for n in SIZES[name]:
        out.writerow(point(name, n, trees))
        sys.stdout.flush()
        gc.collect()


def measure(names: list[str]) -> None:
    """Print the figures as CSV, each line of forests in a process of its own."""
    print(",".join(FIELDS), flush=True)
    context = multiprocessing.get_context("spawn")
    for name in names:
        for trees in TREES:
            process = context.Process(target=forests, args=(name, trees))
            process.start()
            process.join()


def lines_of(path: str) -> dict[str, dict[int, list[dict[str, str]]]]:
    """Return the figures of a file by data set and number of trees, in the order of rows."""
    found: dict[str, dict[int, list[dict[str, str]]]] = {}
    with open(path, newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            found.setdefault(line["data"], {}).setdefault(int(line["trees"]), []).append(line)
    for each in found.values():
        for points in each.values():
            points.sort(key=lambda p: int(p["rows"]))
    return found


def table(path: str) -> None:
    """Print the shares as a table: leaves proved / labels proved in percent, `+` where time ended it."""
    found = lines_of(path)
    for name, each in found.items():
        sizes = sorted({int(p["rows"]) for points in each.values() for p in points})
        meet = next(p["meet"] for p in each.get(100, next(iter(each.values()))) if int(p["rows"]) >= 100)
        print(f"| {NAMES[name]} (.{meet[2:4]}) | " + " | ".join(f"{n:,} rows" for n in sizes) + " |")
        print("|---|" + "--:|" * len(sizes))
        for trees, points in sorted(each.items()):
            own = {int(p["rows"]): p for p in points}
            cells = [shown(own[n]) if n in own else "" for n in sizes]
            print(f"| {trees} trees | " + " | ".join(cells) + " |")
        print()


def shown(p: dict[str, str]) -> str:
    """Return one cell of the table."""
    leaves, labels = 100 * float(p["leaves_proved"]), 100 * float(p["labels_proved"])
    return f"{leaves:.0f} / {labels:.0f}" + ("" if p["complete"] == "True" else " +")


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


def draw(path: str) -> None:
    """Print the picture: a panel per data set, share of leaves proved over rows, a curve per number of trees."""
    found = lines_of(path)
    width, panels = LEFT + PANELS * (WIDE + GAP), [name for name in SIZES if name in found]
    height = TOP + math.ceil((len(panels) + 1) / PANELS) * (HIGH + GAP)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">')
    print("<title>Share of leaves and labels proved by position, over rows and trees</title>")
    print(f"<style>{STYLE}</style>")
    for at, name in enumerate(panels):
        x, y = LEFT + at % PANELS * (WIDE + GAP), TOP + at // PANELS * (HIGH + GAP)
        panel(x, y, NAMES[name], found[name])
    at = len(panels)
    legend(LEFT + at % PANELS * (WIDE + GAP), TOP + at // PANELS * (HIGH + GAP))
    print("</svg>")


def place(x: int, y: int, rows: float, share: float) -> tuple[float, float]:
    """Return the point of a panel for a number of rows (50 to 1,000, by its logarithm) and a share."""
    return x + WIDE * math.log(rows / 50) / math.log(20), y + HIGH * (1 - share)


def panel(x: int, y: int, name: str, each: dict[int, list[dict[str, str]]]) -> None:
    """Print one panel."""
    print(f'<text class="head" x="{x}" y="{y - 10}">{name}</text>')
    for share in (0.0, 0.5, 1.0):
        _, at = place(x, y, 50, share)
        print(f'<path class="grid" d="M{x} {at:.1f}h{WIDE}"/>')
        print(f'<text class="small" x="{x - 6}" y="{at + 4:.1f}" text-anchor="end">{100 * share:.0f} %</text>')
    for rows in (50, 100, 200, 500, 1_000):
        across, _ = place(x, y, rows, 0)
        print(f'<path class="axis" d="M{across:.1f} {y + HIGH}v4"/>')
        print(f'<text class="small" x="{across:.1f}" y="{y + HIGH + 16}" text-anchor="middle">{rows:,}</text>')
    print(f'<path class="axis" d="M{x} {y}V{y + HIGH}H{x + WIDE}"/>')
    for trees, points in sorted(each.items()):
        for what, kind in (("labels_proved", " label"), ("leaves_proved", "")):
            spots = [place(x, y, int(p["rows"]), float(p[what])) for p in points]
            path = "L".join(f"{a:.1f} {b:.1f}" for a, b in spots)
            print(f'<path class="curve t{trees}{kind}" d="M{path}"/>')
        for p in points:
            a, b = place(x, y, int(p["rows"]), float(p["leaves_proved"]))
            kind = "dot" if p["complete"] == "True" else "cut"
            print(f'<circle class="t{trees} {kind}" cx="{a:.1f}" cy="{b:.1f}" r="2.5" stroke-width="1.5"/>')


def legend(x: int, y: int) -> None:
    """Print what the lines mean."""
    for at, trees in enumerate(TREES):
        print(f'<path class="curve t{trees}" d="M{x} {y + 18 * at}h28"/>')
        print(f'<text x="{x + 36}" y="{y + 18 * at + 4}">{trees} trees</text>')
    said = ("solid: leaves proved; dotted: labels proved", f"ring: ended after {SECONDS:.0f} s of CPU", "across: rows")
    for at, text in enumerate(said):
        print(f'<text class="small" x="{x}" y="{y + 84 + 16 * at}">{text}</text>')


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked[:1] in (["--draw"], ["--table"]) and len(asked) == 2:
        (draw if asked[0] == "--draw" else table)(asked[1])
    elif unknown := [name for name in asked if name not in SIZES]:
        sys.exit(f"there is no data set '{unknown[0]}': choose from {', '.join(SIZES)}")
    else:
        measure(asked or list(SIZES))
