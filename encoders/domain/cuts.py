"""An attribute cut into parts where conditions need it: the values of a part are distinguished by no statement.

One number for every part of a continuous attribute: what stands for its numbers where a single one is wanted.

Near the middle, and exact in single precision where the part holds such a number: what learners that read 32-bit
floats (scikit-learn, XGBoost) walk it by is then the number itself.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import AnyAttribute, Continuous, Position, Ranges, exact, plain_number

UNITS = 1 << 64  # a continuous part is at least so many times longer than one number


def _rough(p: Position) -> Any:
    """Return what sorts like a position and is compared faster: floats are never in a wrong order, only equal."""
    if not isinstance(p, tuple):
        return p
    try:
        return float(p[0]), p
    except OverflowError:
        return (math.inf if p[0] > 0 else -math.inf), p


def _key(p: Position) -> object:
    """Return what is equal for equal positions and hashed faster than a fraction."""
    if not isinstance(p, tuple) or isinstance(p[0], float):  # a float: the open end of an unbounded range
        return p
    return p[0].numerator, p[0].denominator, p[1]


Thresholds = NDArray[np.complex128]  # positions x + side·i of a continuous attribute: they sort as positions do


def _as_written(threshold: complex) -> Position:
    """Return the position of a threshold: the number exactly as it is written, and the side."""
    return exact(threshold.real), int(threshold.imag)


@dataclass(frozen=True)
class AttributeCuts:
    """One attribute cut into parts: inner cut positions in order; part p lies between cuts p-1 and p.

    `numbers`: all edges once more as floats, where every cut is a threshold that was written as one (None: not so).
    `weights`: what one value of each part weighs, as an adversary's prior says (None: all alike).
    """

    attribute: AnyAttribute
    inner: tuple[Position, ...]
    numbers: Thresholds | None = field(default=None, compare=False)
    weights: tuple[int, ...] | None = None

    def weighted(self, weights: Mapping[int, int] | None) -> AttributeCuts:
        """Return the attribute with a whole weight per value, cut at every value that has one of its own.

        `weights`: by position, -1 for every other value. Sizes of parts are then sums of weights.
        """
        if weights is None:
            return self
        return replace(self, weights=tuple(weights.get(int(a), weights[-1]) for a in self.edges[:-1]))

    @classmethod
    def at(
        cls, attribute: AnyAttribute, positions: set[Position], thresholds: Thresholds | None = None
    ) -> AttributeCuts:
        """Return the attribute cut at the positions and thresholds strictly inside its span.

        Thresholds are sorted as floats: two different ones are written as different numbers, in the same order.
        """
        start, end = attribute.span
        if thresholds is not None and positions <= {start, end}:
            ends = np.array([complex(float(x), side) for x, side in (start, end)])
            cut = np.unique(thresholds)
            cut = cut[np.searchsorted(cut, ends[0], "right") : np.searchsorted(cut, ends[1])]
            numbers = np.concatenate([ends[:1], cut, ends[1:]])
            return cls(attribute, tuple(map(_as_written, cut.tolist())), numbers)
        if thresholds is not None:
            positions = positions | set(map(_as_written, thresholds.tolist()))
        ordered: list[Position] = sorted(positions, key=_rough)
        return cls(attribute, tuple(ordered[bisect_right(ordered, start) : bisect_left(ordered, end)]))

    def starting_at(self, thresholds: Thresholds) -> NDArray[np.int64]:
        """Return the part that begins at each threshold; all of them must be cuts or ends."""
        if self.numbers is not None:
            return np.searchsorted(self.numbers, thresholds).astype(np.int64)
        places = (self._place[_key(_as_written(one))] for one in thresholds.tolist())
        return np.fromiter(places, np.int64, len(thresholds))

    @property
    def unsized(self) -> bool:
        """Return whether the numbers of a range without an end are distinguished: no part has a share of it."""
        a = self.attribute
        return isinstance(a, Continuous) and not a.bounded and any(p < a.known[1] for p in self.inner)

    def bounds(self, part: int) -> tuple[Position, Position]:
        """Return the first position of a part and the one after its last."""
        return self.edges[part], self.edges[part + 1]

    @cached_property
    def edges(self) -> tuple[Position, ...]:
        """Return all parts + 1 edges."""
        return (self.attribute.span[0], *self.inner, self.attribute.span[1])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Return the size of every part; lengths of continuous attributes become whole numbers of tiny units.

        The units leave room between one number (one unit) and the shortest part. Raises `ReleaseError` where
        two thresholds differ by a single number, because such a part has no length. A range without an end has no
        lengths: its parts weigh alike, to be distinguished and no more (`unsized`).
        """
        if not isinstance(self.attribute, Continuous):
            weights = self.weights or (1,) * (len(self.inner) + 1)
            return tuple((b - a) * w for (a, b), w in zip(pairwise(self.edges), weights, strict=True))
        if not self.attribute.bounded:
            return (UNITS,) * (len(self.inner) + 1)
        one = math.lcm(*{x.denominator for x, _ in self.edges})
        places = [x.numerator * (one // x.denominator) for x, _ in self.edges]
        lengths = [b - a for a, b in pairwise(places)]
        if self.attribute.missing:
            lengths[-1] += places[-1] - places[0]
        if 0 in lengths:
            x = plain_number(self.edges[lengths.index(0)][0])
            raise self.attribute.refuse(x, "is told from the numbers around it: give a 'resolution' to")
        common = math.gcd(one, *lengths)
        return tuple(x // common * UNITS for x in lengths)

    @cached_property
    def _place(self) -> dict[object, int]:
        """Return the part that begins at each edge: comparing fractions is slow, looking one up is not."""
        return {_key(p): i for i, p in enumerate(self.edges)}

    def part(self, position: Position) -> int:
        """Return the part that a position lies in."""
        return bisect_right(self.inner, position)

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        """Return the raw index behind each part."""
        return tuple(accumulate(self.sizes))

    def position_of_raw(self, index: int) -> int:
        """Return the position that a raw index of a world stands for: as many stand for a value as it weighs."""
        if self.weights is None:
            return index
        part = self.part_of_raw(index)
        before = self._ends[part - 1] if part else 0
        return int(self.edges[part]) + (index - before) // self.weights[part]

    def part_of_raw(self, index: int) -> int:
        """Return the part that a raw index of a world lies in; of any numbers it is not a position, it counts units."""
        return bisect_right(self._ends, index)

    def last_part(self, end: Position) -> int:
        """Return the part that holds the positions just before an end."""
        return bisect_left(self.inner, end)

    def mask(self, ranges: Ranges) -> int:
        """Return the parts inside the ranges, as bits; every end of a range must be a cut or an end."""
        mask = 0
        for one in ranges:
            start, end = self.run(one)
            mask |= (1 << end) - (1 << start)
        return mask

    def run(self, span: tuple[Position, Position]) -> tuple[int, int]:
        """Return the first part inside a range and the one behind its last; both ends must be cuts or ends."""
        return self._place[_key(span[0])], self._place[_key(span[1])]


Middle = float | None  # None: missing


def middles(cuts: AttributeCuts) -> tuple[Middle, ...]:
    """Return a number inside every part of a continuous attribute, None for a part of missing cells alone.

    A part that holds no float at all gets one of its ends (`narrow` names those parts).
    """
    ends = [x for x, _ in cuts.edges if math.isfinite(x)]
    width = float((ends[-1] - ends[0]) / max(1, len(ends) - 1)) if len(ends) > 1 else 1.0
    return tuple(_middle(cuts, low, high, width) for low, high in pairwise(cuts.edges))


def _middle(cuts: AttributeCuts, low: Position, high: Position, width: float) -> Middle:
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
        if _holds(low, high, float(at)):
            return float(at)
    return wanted


def _holds(low: Position, high: Position, x: float) -> bool:
    """Return whether a float lies between two positions; compared as floats, which is how they are written."""
    above = (x, 0) >= (float(low[0]), low[1])
    return math.isfinite(x) and above and (x, 1) <= (float(high[0]), high[1])


def narrow(cuts: AttributeCuts) -> int:
    """Return the parts that hold no number of single precision, as bits; a number of them cannot be given."""
    out = 0
    for part, (x, (low, high)) in enumerate(zip(middles(cuts), pairwise(cuts.edges), strict=True)):
        if x is not None and not (float(np.float32(x)) == x and _holds(low, min(high, cuts.attribute.known[1]), x)):
            out |= 1 << part
    return out
