"""Capture sizes of random rule lists (rules x width x columns, five seeds), beside the paper's formula as printed.

    python tests/bench/captures.py [--quick | --lines BEGINNING ...] [--check]

A line is of the slowest seed, or of the middle ratio to the formula. That takes 2^r - 1 calls for r rules: it is run
for 18. What a line says: harness.py.
"""

from __future__ import annotations

import statistics

import numpy as np
from harness import Job, Line, main, measured

from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.statements.regions.captures import captures

SIZES = ((24, 18, 2), (24, 22, 2), (100, 50, 3), (200, 100, 3), (1000, 300, 3), (500, 200, 4))
SECONDS, MEMORY = 30.0, 1 << 30
SEEDS, PLAIN = 5, 18


def random_list(d: int, rules: int, width: int, seed: int) -> list[Box]:
    """Return `rules` boxes, each on `width` of d binary columns, columns and values drawn uniformly."""
    rng = np.random.default_rng(seed)
    return [
        Box.of((int(a), 1 << int(rng.integers(0, 2))) for a in rng.choice(d, size=width, replace=False))
        for _ in range(rules)
    ]


def plain(d: int, boxes: list[Box]) -> list[int]:
    """Return the captures by Capt(f_l, f_j) = num(f_l ∧ f_j) − Σ_{h<l} Capt(f_h, f_l ∧ f_j), eq. 13-16 as printed."""

    def num(box: Box) -> int:
        return 0 if box.empty else 1 << (d - len(box.literals))

    def capture(last: int, box: Box) -> int:
        met = boxes[last] & box
        return num(met) - sum(capture(h, met) for h in range(last))

    return [capture(j, boxes[j]) for j in range(len(boxes))]


def plain_bits(d: int, boxes: list[Box], prune: bool) -> list[int]:
    """Return the same by the fastest Python there is for it: a conjunction is two integers (ones, zeros).

    With `prune` the recursion is cut where f_l ∧ f_j is empty.
    """
    rules = []
    for box in boxes:
        ones = sum(1 << a for a, mask in box.literals if mask == 2)
        zeros = sum(1 << a for a, mask in box.literals if mask == 1)
        rules.append((ones, zeros))

    def capture(last: int, ones: int, zeros: int) -> int:
        ones, zeros = ones | rules[last][0], zeros | rules[last][1]
        size = 0 if ones & zeros else 1 << (d - (ones | zeros).bit_count())
        if prune and size == 0:
            return 0
        return size - sum([capture(h, ones, zeros) for h in range(last)])

    return [capture(j, 0, 0) for j in range(len(boxes))]


def seeds(job: str, d: int, rules: int, width: int) -> list[Line]:
    """Work out the captures of five random lists; the baseline is feasible for their first rules only."""
    works, exact, gaps = [], 0, list[float]()
    for seed in range(SEEDS):
        boxes = random_list(d, rules, width, seed)
        limits = Limits(seconds=SECONDS, memory=MEMORY)
        work = measured(lambda boxes=boxes, limits=limits: captures([[1, 1]] * d, boxes, limits), repeats=1)
        works.append(work)
        exact += work.found.exact
        pairs = zip(work.found.lower, work.found.upper, strict=True)
        gaps += [float(high.bit_length() - low.bit_length()) for low, high in pairs if high > low > 0]
    few = random_list(d, PLAIN, width, 0)
    beside = measured(lambda: plain(d, few), repeats=3)
    worst = max(works, key=lambda work: work.cpu)
    said = {"CPU s of each": [float(f"{work.cpu:.2g}") for work in works], "peak MB": max(work.peak for work in works)}
    said |= {"bits wide": f"median {statistics.median(gaps)}, worst {max(gaps)}"} if gaps else {}
    baseline = f"eq. 13-16 as printed of {PLAIN} rules"
    return [Line(job, worst, baseline, beside, more={"exact": exact}, said=said)]


def printed(job: str, d: int = 24, rules: int = PLAIN, width: int = 2) -> list[Line]:
    """Compare with the plain recursions, list by list."""
    ways = {
        "as printed": plain,
        "on bit masks": lambda d, boxes: plain_bits(d, boxes, False),
        "on bit masks, empty branches cut": lambda d, boxes: plain_bits(d, boxes, True),
    }
    lists = [random_list(d, rules, width, seed) for seed in range(SEEDS)]
    works = [measured(lambda boxes=boxes: captures([[1, 1]] * d, boxes), repeats=21) for boxes in lists]
    out = []
    for name, way in ways.items():
        besides = [measured(lambda boxes=boxes, way=way: way(d, boxes), repeats=1) for boxes in lists]
        pairs = sorted(zip(works, besides, strict=True), key=lambda pair: pair[1].cpu / pair[0].cpu)
        assert all(beside.found == list(work.found.lower) and work.found.exact for work, beside in pairs)
        said = {"times faster": [round(beside.cpu / work.cpu) for work, beside in pairs]}
        work, beside = pairs[SEEDS // 2]
        out.append(Line(f"{job}: {name}", work, f"eq. 13-16 {name}", beside, said=said))
    return out


JOBS = {"18 rules beside eq. 13-16": Job(printed, ("18 rules beside eq. 13-16",))} | {
    f"{rules} x {width} x {d}": Job(seeds, (f"{rules} x {width} x {d}", d, rules, width), rules < 200)
    for d, rules, width in SIZES
}

if __name__ == "__main__":
    main("captures", JOBS)
