"""Totals, means and medians of an attribute as whole-number statements about the values of rows.

A total is linear in the values; a mean is: the deviations from its bounds sum to at least (at most) 0. A median is
a disjunction: over its value where that is a value itself, over the two middle values where their number is even.

Source: Dick et al., "Confidence-ranked reconstruction of census microdata from published statistics", PNAS 2023
(published figures as constraints on rows); Hyndman, Fan, "Sample quantiles in statistical packages", 1996 (the
median of an even number is the midpoint).

The values of an attribute as a learner of 32-bit floats sees them: which lie around a threshold, which are alike.

Source: scikit-learn, tree/_splitter.pyx (`node_split_best`: a threshold is lo/2 + hi/2 in double precision) and
tree/_partitioner.pyx (`next_p`: a value within FEATURE_THRESHOLD of the one before is not told from it).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.domain.values import AnyAttribute, Categorical, Continuous, Grid, Position, Ranges, exact
from encoders.models.models import Statistic
from encoders.parts.base import CutDomain
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.boxes import Box, Region
from solvers.statements.release import UNBOUNDED, Choice, RowCount, Statement

Singles = NDArray[np.float32]
Positions = NDArray[np.int64]
FEATURE_THRESHOLD = np.float32(1e-7)
SINGLE_VALUES_MAX_VALUES = 1_000_000  # values of an attribute that are looked at one by one


def singles(attribute: AnyAttribute) -> Singles | None:
    """Return the values by position in single precision; None where they are no numbers, without a grid or too many."""
    if isinstance(attribute, Continuous) or (isinstance(attribute, Categorical) and not attribute.numeric):
        return None
    if attribute.known[1] > SINGLE_VALUES_MAX_VALUES:
        return None
    values = np.array([float(attribute.value_at(p)) for p in range(attribute.known[1])])
    with np.errstate(over="ignore"):
        found = values.astype(np.float32)
    return found if np.isfinite(found).all() else None


def positions_in(ranges: Ranges, attribute: AnyAttribute) -> Positions:
    """Return the positions of values in the ranges of a finite attribute, "missing" left out, ascending."""
    end = attribute.known[1]
    parts = [np.arange(a, min(b, end), dtype=np.int64) for a, b in ranges]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def as_ranges(positions: Positions) -> Ranges:
    """Return ascending positions as ranges."""
    if not len(positions):
        return ()
    breaks = np.flatnonzero(np.diff(positions) != 1)
    first, last = positions[np.append(0, breaks + 1)], positions[np.append(breaks, len(positions) - 1)]
    return tuple((int(a), int(b) + 1) for a, b in zip(first, last, strict=True))


def _alike(before: Singles, after: Singles) -> NDArray[np.bool_]:
    """Return which values the learner does not tell from the ones before, as it compares them (single precision)."""
    found: NDArray[np.bool_] = after <= before + FEATURE_THRESHOLD
    return found


def chains(values: Singles) -> Positions:
    """Return a number per ascending value, the same for values that a chain of gaps that are too small joins."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    return np.append(0, np.cumsum(~_alike(values[:-1], values[1:]))).astype(np.int64)


def threshold_ranges(low: Singles, high: Singles, threshold: float) -> list[tuple[np.float32, np.float32]]:
    """Return the pairs of a lower and a higher value that give the threshold, nearest first.

    `low` and `high`: distinct values at most, and above, the threshold, ascending. Each pair is distinguished by the
    learner, and has lo/2 + hi/2 == threshold in double precision. Cost: linear in `low`, up to a logarithm.
    """
    if not len(low) or not len(high):
        return []
    a, b = low.astype(np.float64), high.astype(np.float64)
    wanted = 2 * (threshold - a / 2)
    slack = 4 * np.finfo(np.float64).eps * (np.abs(a) + abs(threshold)) + np.finfo(np.float64).tiny
    first, last = np.searchsorted(b, wanted - slack), np.searchsorted(b, wanted + slack, "right")
    width = last - first
    i = np.repeat(np.arange(len(a)), width)
    j = np.repeat(first - (np.cumsum(width) - width), width) + np.arange(int(width.sum()))
    held = (a[i] / 2 + b[j] / 2 == threshold) & ~_alike(low[i], high[j])
    i, j = i[held], j[held]
    order = np.argsort(b[j] - a[i], kind="stable")
    return [(low[x], high[y]) for x, y in zip(i[order].tolist(), j[order].tolist(), strict=True)]


MAX_VALUES = 2_000  # an attribute with more values stays coarse
MAX_ALTERNATIVES = 20_000
MAX_COEFFICIENTS = 5_000_000  # alternatives times parts: about 100 MB
LARGEST = 1 << 62  # sums of coefficients over all rows stay in 64 bits


def numeric(domain: Domain, name: str) -> int:
    """Return the attribute behind a name whose values are numbers: itself, or that of a binary column (0 and 1).

    Raises `ReleaseError` for an unknown name, text values, and continuous attributes.
    """
    if name in domain.columns:
        return domain.view_ranges(name)[0]
    k = domain.place.get(name)
    if k is None:
        raise ReleaseError(f"'{name}' is neither an attribute nor a column of the domain")
    attribute = domain.all[k]
    if isinstance(attribute, Continuous):
        raise attribute.refuse(name, "has no grid, so that its values cannot be summed: give a 'resolution' to")
    if isinstance(attribute, Categorical) and not attribute.numeric:
        raise ReleaseError(f"'{name}' is not numeric ({attribute.describe()})")
    return k


def value_cuts(domain: Domain, names: Iterable[str]) -> dict[int, set[Position]]:
    """Return every value of numeric attributes (of at most 2,000), and the ends of columns, as cut positions."""
    out: dict[int, set[Position]] = {}
    for name in names:
        k = numeric(domain, name)
        if name in domain.columns:
            domain.cut_points(dict([domain.view_ranges(name)]), out)
        elif domain.all[k].known[1] <= MAX_VALUES:
            out.setdefault(k, set()).update(range(*domain.all[k].span))
        else:
            out.setdefault(k, set()).add(domain.all[k].known[1])
    return out


def number(attribute: Categorical | Grid, position: int) -> Fraction:
    """Return the value at a position as an exact number."""
    return (
        attribute.numbers[position]
        if isinstance(attribute, Categorical)
        else attribute.minimum + attribute.step * position
    )


@dataclass(frozen=True, eq=False)
class PartNumbers:
    """The least and greatest number that each part of attribute `of` holds, times `scale`: whole numbers.

    `missing` is the part of missing values, if there is one: it has no number (0 stands there).
    """

    of: int
    scale: int
    least: tuple[int, ...]
    greatest: tuple[int, ...]
    missing: int | None = None

    def refuse_missing(self, box: Box, source: str) -> None:
        """Refuse a statistic of the rows of a box where some may be missing: a mean over them is not defined."""
        if self.missing is not None and dict(box.literals).get(self.of, -1) >> self.missing & 1:
            ask = 'leave them out by the condition, such as {"missing": false}'
            raise ReleaseError(f"{source}: a mean, total or median over missing values is not defined: {ask}")


def numbers_of(cut: CutDomain, name: str) -> PartNumbers:
    """Return the numbers behind a `numeric` name, per part of its attribute."""
    k = numeric(cut.domain, name)
    cuts = cut.cuts[k]
    if name in cut.domain.columns:
        ones = cuts.mask(cut.domain.view_ranges(name)[1])
        bits = tuple(ones >> p & 1 for p in range(len(cuts.sizes)))
        return PartNumbers(k, 1, bits, bits)
    if isinstance(cuts.attribute, Continuous):
        raise TypeError("a continuous attribute has no numbers")
    missing = len(cuts.sizes) - 1 if cuts.attribute.missing else None
    edges = cuts.edges if missing is None else cuts.edges[:-1]  # a part of missing values has no numbers
    none = [] if missing is None else [Fraction(0)]
    minimum = [*(number(cuts.attribute, edge) for edge in edges[:-1]), *none]
    greatest = [*(number(cuts.attribute, edge - 1) for edge in edges[1:]), *none]
    scale = math.lcm(*(v.denominator for v in chain(minimum, greatest)))
    return PartNumbers(
        k, scale, tuple(int(v * scale) for v in minimum), tuple(int(v * scale) for v in greatest), missing
    )


def bounds(statistic: Statistic) -> tuple[Fraction, Fraction]:
    """Return the closed interval that a published figure stands for."""
    value, within = exact(statistic.value), exact(statistic.within)
    return value - within, value + within


@dataclass(frozen=True, eq=False)
class StatisticGroup:
    """The rows of a box that a statistic is about; `inside` says which parts of the attribute the box allows."""

    region: Region
    numbers: PartNumbers
    inside: tuple[bool, ...]
    rows: RowCount
    source: str

    @classmethod
    def of(cls, box: Box, numbers: PartNumbers, rows: RowCount, source: str) -> StatisticGroup:
        """Return the rows of a box; `source` is how messages name the figure."""
        mask = dict(box.literals).get(numbers.of, -1)
        return cls(Region(box), numbers, tuple(mask >> p & 1 == 1 for p in range(len(numbers.least))), rows, source)

    @property
    def coarse(self) -> bool:
        """Return whether some part inside holds several numbers."""
        every = zip(self.numbers.least, self.numbers.greatest, self.inside, strict=True)
        return any(inside and a != b for a, b, inside in every)

    def statement(self, low: int, high: int, coefs: Sequence[int]) -> Statement:
        """Return a statement about the sum of coefficients; `ReleaseError` where that may not fit in 64 bits."""
        maximum = max(map(abs, coefs), default=0) * max(1, self.rows.high or 1)
        far = max((abs(b) for b in (low, high) if abs(b) != UNBOUNDED), default=0)
        if max(maximum, far) >= LARGEST:
            bits = max(maximum, far).bit_length() - 1  # in bits: it may be beyond all doubles
            raise ReleaseError(f"{self.source}: the sum over the rows may be 2^{bits} or more, beyond 2^62")
        return Statement.sum(self.region, low, high, self.source, self.numbers.of, tuple(coefs))

    def sum_between(self, values: Sequence[int], low: Fraction | None, high: Fraction | None) -> Statement:
        """Return that the numbers of the rows sum to low..high, in the smallest whole numbers; 0 outside the box."""
        inside = [v if i else 0 for v, i in zip(values, self.inside, strict=True)]
        unit = math.gcd(*inside) or 1
        lower = -UNBOUNDED if low is None else math.ceil(low / unit)
        upper = UNBOUNDED if high is None else math.floor(high / unit)
        return replace(self.statement(lower, upper, [v // unit for v in inside]), coarse=self.coarse)


def statements_of(statistic: Statistic, group: StatisticGroup, odd: bool) -> Choice | list[Statement]:
    """Return the statements of a mean, total or median; `odd`: the number of rows is known to be odd."""
    group.numbers.refuse_missing(group.region.box, group.source)
    low, high = bounds(statistic)
    if statistic.kind == "total":
        return _total(group, low, high)
    if statistic.kind == "mean":
        return _mean(group, low, high)
    alternatives = _median(group, low, high, odd)
    if not alternatives:
        about = f"{statistic.value}" + (f" ± {statistic.within}" if statistic.within else "")
        message = f"no value and no two values of '{statistic.of}' there have the median {about}"
        raise ReleaseError(f"{group.source}: {message}")
    return list(alternatives[0]) if len(alternatives) == 1 else Choice(tuple(alternatives), group.source)


def _total(group: StatisticGroup, low: Fraction, high: Fraction) -> list[Statement]:
    """Return the statements of a total between low and high; coarse parts bound it from both sides."""
    found = group.numbers
    low, high = low * found.scale, high * found.scale
    if not group.coarse:
        return [group.sum_between(found.least, low, high)]
    return [group.sum_between(found.least, None, high), group.sum_between(found.greatest, low, None)]


def _mean(group: StatisticGroup, low: Fraction, high: Fraction) -> list[Statement]:
    """Return the statements of a mean between low and high: deviations from low sum to 0 or more, from high or less."""
    found, zero = group.numbers, Fraction(0)
    if low == high and not group.coarse:
        return [group.sum_between(_deviations(found.least, low, found.scale), zero, zero)]
    return [
        group.sum_between(_deviations(found.greatest, low, found.scale), zero, None),
        group.sum_between(_deviations(found.least, high, found.scale), None, zero),
    ]


def _deviations(values: Sequence[int], bound: Fraction, scale: int) -> list[int]:
    """Return the deviations of numbers (given times scale) from a bound, as whole numbers."""
    common = math.lcm(scale, bound.denominator)
    times, at = common // scale, int(bound * common)
    return [v * times - at for v in values]


def _median(group: StatisticGroup, low: Fraction, high: Fraction, odd: bool) -> list[tuple[Statement, ...]]:
    """Return the alternatives of a median between low and high, one per middle value or two.

    They exclude each other and leave none out: a value m that is the middle one (or both), or two values a < b,
    the lower half at most a and the upper half at least b; these only where the number of rows may be even.
    Raises `Unsupported` where there are too many.
    """
    found = group.numbers
    if group.coarse:
        message = f"the median of an attribute with more than {MAX_VALUES:,} values is not encoded"
        raise Unsupported(f"{group.source}: {message}")
    low, high = low * found.scale, high * found.scale
    values = sorted({v for v, inside in zip(found.least, group.inside, strict=True) if inside})
    middle = [i for i, v in enumerate(values) if low <= v <= high]
    spans = [] if odd else [_span(values, a, low, high) for a in values]
    many = len(middle) + sum(max(0, end - start) for start, end in spans)
    if many > MAX_ALTERNATIVES or many * len(found.least) > MAX_COEFFICIENTS:
        message = f"the median leaves {many:,} choices of middle values, more than this version encodes"
        raise Unsupported(f"{group.source}: {message}")
    middles = Middles(group, values)
    pairs = ((a, b) for a, (start, end) in enumerate(spans) for b in range(start, end))
    return [*(middles.one(m) for m in middle), *(middles.two(a, b) for a, b in pairs)]


def _span(values: Sequence[int], a: int, low: Fraction, high: Fraction) -> tuple[int, int]:
    """Return the indices of the values above a whose midpoint with a lies between low and high."""
    return max(bisect_right(values, a), bisect_left(values, 2 * low - a)), bisect_right(values, 2 * high - a)


class Middles:
    """The alternatives of a median; values are named by their rank among those inside the group's box."""

    def __init__(self, group: StatisticGroup, values: Sequence[int]) -> None:
        rank = {v: i for i, v in enumerate(values)}
        inside = group.inside
        self.group = group
        self.inside = np.array(inside, dtype=bool)
        self.rank = np.array([rank[v] if i else -1 for v, i in zip(group.numbers.least, inside, strict=True)])
        self.some: dict[int, Statement] = {}

    def statement(self, low: int, high: int, plus: NDArray[np.bool_], minus: NDArray[np.bool_] | bool) -> Statement:
        """Return a statement about the rows `plus` less the rows `minus`."""
        coefs = np.where(self.inside, plus.astype(np.int64) - minus, 0)
        return self.group.statement(low, high, coefs.tolist())

    def at(self, rank: int) -> Statement:
        """Return that some row has this value; one object per value."""
        if rank not in self.some:
            self.some[rank] = self.statement(1, UNBOUNDED, self.rank == rank, False)
        return self.some[rank]

    def one(self, m: int) -> tuple[Statement, ...]:
        """Return that the middle value, or both of them, are m: fewer than half of the rows on either side."""
        below, above = self.rank < m, self.rank > m
        return self.statement(-UNBOUNDED, -1, below, ~below), self.statement(-UNBOUNDED, -1, above, ~above)

    def two(self, a: int, b: int) -> tuple[Statement, ...]:
        """Return that the two middle values are a and b: half of the rows up to a, half from b on, some at each."""
        found = [self.statement(0, 0, self.rank <= a, self.rank >= b), self.at(a), self.at(b)]
        if b > a + 1:
            found.append(self.statement(0, 0, (self.rank > a) & (self.rank < b), False))
        return tuple(found)
