"""How much of every part of an attribute some ranges of positions hold."""

from __future__ import annotations

from encoders.domain.values import Continuous, Ranges
from encoders.parts.cut_domain import CutDomain


def part_sizes(cut: CutDomain, k: int, ranges: Ranges) -> tuple[int, ...]:
    """Return how many values of each part of attribute k the ranges hold.

    A single number of a continuous attribute has no length; it counts as one unit of its part, so that "in
    some world" stays right while shares are not given.
    """
    cuts = cut.cuts[k]
    if isinstance(cuts.attribute, Continuous):
        return continuous_sizes(cut, k, ranges)
    sizes = [0] * len(cuts.sizes)
    for start, end in ranges:
        for part in range(cuts.part(start), cuts.part(end - 1) + 1):
            low, high = cuts.bounds(part)
            sizes[part] += int(min(end, high) - max(start, low))
    return tuple(sizes)


def continuous_sizes(cut: CutDomain, k: int, ranges: Ranges) -> tuple[int, ...]:
    """Return the scaled lengths of the ranges inside each part: 1 or more where touched, all only where whole."""
    cuts = cut.cuts[k]
    (first, _), (last, side) = cuts.attribute.span
    bounded = isinstance(cuts.attribute, Continuous) and cuts.attribute.bounded  # without an end there is no length
    whole = last - first if bounded else 0
    scale = sum(cuts.sizes) / (whole * (2 if side == 2 else 1)) if whole else 0  # "missing" weighs as much
    sizes = [0] * len(cuts.sizes)
    for start, end in ranges:
        for part in range(cuts.part(start), min(cuts.part(end), len(sizes) - 1) + 1):
            low, high = cuts.bounds(part)
            a, b = max(start, low), min(end, high)
            if (a, b) == (low, high):
                sizes[part] = cuts.sizes[part]
            elif a < b:
                gaps = (b[1] == 2) - (a[1] == 2)
                length = max(1, int((b[0] - a[0] + gaps * whole) * scale)) if bounded else 1
                sizes[part] = min(cuts.sizes[part] - 1, sizes[part] + length)
    return tuple(sizes)
