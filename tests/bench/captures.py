"""Capture sizes of random rule lists: seconds, peak memory, method; and the ratio to a plain eq. 13-16.

Run: python tests/bench/captures.py [small]. Every size runs in a process of its own, five seeds each.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from solvers.foundation.limits import Limits
from solvers.regions.captures import captures
from solvers.statements.boxes import Box

SIZES = ((24, 18, 2), (24, 22, 2), (100, 50, 3), (200, 100, 3), (1000, 300, 3), (500, 200, 4))
SECONDS, MEMORY = 30.0, 1 << 30


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


def one(d: int, rules: int, width: int, seed: int) -> str:
    """Return one line: seconds, peak resident memory of the process, method, widest interval in bits."""
    boxes = random_list(d, rules, width, seed)
    started = time.perf_counter()
    found = captures([[1, 1]] * d, boxes, Limits(seconds=SECONDS, memory=MEMORY))
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    gaps = [
        np.inf if low == 0 else float(high.bit_length() - low.bit_length())
        for low, high in zip(found.lower, found.upper, strict=True)
        if high > low
    ]
    state = (
        "exact"
        if found.exact
        else (f"{len(gaps)} intervals, bits wide: median {statistics.median(gaps)}, worst {max(gaps)}; {found.note}")
    )
    return f"{rules:4} x {width} x {d:4}  seed {seed}  {seconds:8.3f} s  {peak:5} MB  {found.method:7} {state}"


def ratio(seed: int = 0, d: int = 24, rules: int = 18, width: int = 2) -> float:
    """Return how many times faster than the plain recursion a warm run is (median of 20); prints all figures."""
    boxes = random_list(d, rules, width, seed)
    times = []
    for _ in range(21):
        started = time.perf_counter()
        found = captures([[1, 1]] * d, boxes)
        times.append(time.perf_counter() - started)
    assert found.exact
    fast = statistics.median(times[1:])
    parts = []
    ways = (
        ("plain", lambda: plain(d, boxes)),
        ("on bit masks", lambda: plain_bits(d, boxes, False)),
        ("on bit masks, empty branches cut", lambda: plain_bits(d, boxes, True)),
    )
    ratios = []
    for name, way in ways:
        started = time.perf_counter()
        assert way() == list(found.lower)
        seconds = time.perf_counter() - started
        ratios.append(seconds / fast)
        parts.append(f"{name} {seconds:.3f} s ({seconds / fast:.0f}x)")
    print(f"{rules} x {width} x {d}  seed {seed}: {1e3 * fast:.3f} ms; eq. 13-16 " + ", ".join(parts))
    return ratios[0]


def main() -> None:
    """Print the table and the ratio."""
    for seed in range(5):
        ratio(seed)
    chosen = SIZES[:3] if "small" in sys.argv else SIZES
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for size in chosen:
            for seed in range(5):
                print(pool.apply(one, (*size, seed)), flush=True)


if __name__ == "__main__":
    main()
