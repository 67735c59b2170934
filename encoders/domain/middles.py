"""One number for every part of a continuous attribute: what stands for its numbers where a single one is wanted.

Near the middle, and exact in single precision where the part holds such a number: what learners that read 32-bit
floats (scikit-learn, XGBoost) walk it by is then the number itself.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from encoders.domain.cuts import AttributeCuts
from encoders.domain.values import Position

Middle = float | None  # None: missing


def middles(cuts: AttributeCuts) -> tuple[Middle, ...]:
    """Return a number inside every part of a continuous attribute, None for a part of missing cells alone.

    A part that holds no float at all gets one of its ends (`narrow` names those parts).
    """
    ends = [x for x, _ in cuts.edges if math.isfinite(x)]
    width = float((ends[-1] - ends[0]) / max(1, len(ends) - 1)) if len(ends) > 1 else 1.0
    return tuple(middle(cuts, low, high, width) for low, high in pairwise(cuts.edges))


def middle(cuts: AttributeCuts, low: Position, high: Position, width: float) -> Middle:
    """Return the number that stands for the positions from `low` to before `high`; `width`: how far open ends reach."""
    last = cuts.attribute.known[1]
    if low >= last:
        return None
    high = min(high, last)
    left, right = float(low[0]), float(high[0])
    if math.isinf(left):
        left = (0.0 if math.isinf(right) else right) - 2 * max(width, abs(right) / 1024 if math.isfinite(right) else 0)
    if math.isinf(right):
        right = left + 2 * max(width, abs(left) / 1024)
    wanted = left / 2 + right / 2
    single = np.float32(wanted)
    for at in (
        single, np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-np.inf)),
        np.float64(wanted), np.float64(right), np.float64(left),
    ):  # fmt: skip
        if holds(low, high, float(at)):
            return float(at)
    return wanted


def holds(low: Position, high: Position, x: float) -> bool:
    """Return whether a float lies between two positions; compared as floats, which is how they are written."""
    above = (x, 0) >= (float(low[0]), low[1])
    return math.isfinite(x) and above and (x, 1) <= (float(high[0]), high[1])


def narrow(cuts: AttributeCuts) -> int:
    """Return the parts that hold no number of single precision, as bits; a number of them cannot be given."""
    out = 0
    for part, (x, (low, high)) in enumerate(zip(middles(cuts), pairwise(cuts.edges), strict=True)):
        if x is not None and not (float(np.float32(x)) == x and holds(low, min(high, cuts.attribute.known[1]), x)):
            out |= 1 << part
    return out
