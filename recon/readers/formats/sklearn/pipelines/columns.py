"""Columns on their way through a pipeline: the raw attribute behind each, and what every step makes of its values.

Each step is one map of a cell (None: missing), in the arithmetic of scikit-learn: 64-bit floats, one operation after
the other. A chain of maps is a `Feature`: what the model compares for a raw value. For continuous attributes tests are
turned back by bisection over all 64-bit floats, so that rounding falls as it does in the library.
"""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from encoders.domain.values import Cell, Test, Value, is_number
from recon.readers.formats.drafts.binding import Feature, passes, single_ends, single_limits
from recon.readers.formats.drafts.binding import single as rounded
from solvers.foundation.errors import ReleaseError

LARGEST = 1.7976931348623157e308
QUANTILE_ENDS = 1e-7  # how near to the first and the last quantile a value counts as one of them, where it is normal


class Map(ABC):
    """What one step makes of a cell."""

    @property
    def direction(self) -> int:
        """Return 1 where the result never falls as the value grows, -1 where it never rises.

        0: neither is known, so that numeric attributes must be gone through value by value.
        """
        return 1

    @abstractmethod
    def __call__(self, value: Cell) -> Cell:
        """Return what becomes of a value, None for missing."""


def _number(value: Value) -> float:
    """Return a value as the 64-bit float that scikit-learn makes of it."""
    if not isinstance(value, (bool, int, float)):
        raise ReleaseError(f"the pipeline takes numbers where the domain has {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ReleaseError(f"the value {str(value)[:20]}... is too large for a 64-bit number") from None


@dataclass(frozen=True)
class ScaledMap(Map):
    """(x - subtract) / divide * multiply + add, clipped; None: that operation is left out."""

    subtract: float | None = None
    divide: float | None = None
    multiply: float | None = None
    add: float | None = None
    clip: tuple[float, float] | None = None

    def __call__(self, value: Cell) -> Cell:
        """Return the scaled number."""
        if value is None:
            return None
        x = _number(value)
        if self.subtract is not None:
            x -= self.subtract
        if self.divide is not None:
            x /= self.divide
        if self.multiply is not None:
            x *= self.multiply
        if self.add is not None:
            x += self.add
        return x if self.clip is None else min(max(x, self.clip[0]), self.clip[1])


@dataclass(frozen=True)
class Binned(Map):
    """The number of inner edges at or below the value; before scikit-learn 1.1 values were pushed up a little first."""

    edges: tuple[float, ...]
    pushed: bool = False

    def __call__(self, value: Cell) -> Cell:
        """Return the number of the bin."""
        if value is None:
            return None
        x = _number(value)
        return float(bisect_right(self.edges, x + (1e-8 + 1e-5 * abs(x)) if self.pushed else x))


@dataclass(frozen=True)
class ByQuantiles(Map):
    """Where a value lies among quantiles, as a share or (`normal`) as a number of the normal distribution.

    Source: `QuantileTransformer._transform_col`, sklearn/preprocessing/_data.py, versions 1.0 to 1.9.
    """

    quantiles: tuple[float, ...]
    places: tuple[float, ...]
    normal: bool = False

    def __call__(self, value: Cell) -> Cell:
        """Return the share of rows, or the normal number."""
        if value is None:
            return None
        x, known, at = _number(value), np.array(self.quantiles), np.array(self.places)
        below = x - QUANTILE_ENDS < known[0] if self.normal else x <= known[0]
        above = x + QUANTILE_ENDS > known[-1] if self.normal else x >= known[-1]
        if below or above:
            share = float(not below)
        else:
            share = float(0.5 * (np.interp(x, known, at) - np.interp(-x, -known[::-1], -at[::-1])))
        if not self.normal:
            return share
        from scipy.special import ndtri

        low, high = float(ndtri(QUANTILE_ENDS - np.spacing(1))), float(ndtri(1 - (QUANTILE_ENDS - np.spacing(1))))
        return min(max(float(ndtri(share)), low), high)


@dataclass(frozen=True)
class Above(Map):
    """1 above the threshold, else 0."""

    threshold: float

    def __call__(self, value: Cell) -> Cell:
        """Return 0 or 1."""
        return None if value is None else float(_number(value) > self.threshold)


@dataclass(frozen=True)
class InBin(Map):
    """1 for one bin, else 0."""

    bin: int
    of: int

    @property
    def direction(self) -> int:
        """Return 1 for the last bin, -1 for the first."""
        return 1 if self.bin == self.of - 1 else -1 if self.bin == 0 else 0

    def __call__(self, value: Cell) -> Cell:
        """Return 0 or 1."""
        return None if value is None else float(value == self.bin)


@dataclass(frozen=True)
class Imputed(Map):
    """`fill` where the value is missing, or (`mark`) where it is the value that marks missing ones.

    `constant`: the user chose what is filled in, so that it need not be a value of the raw data.
    """

    fill: Cell
    mark: Cell = None
    constant: bool = False

    @property
    def direction(self) -> int:
        """Return 1 unless a value in the middle becomes another."""
        return 1 if self.mark is None else 0

    def __call__(self, value: Cell) -> Cell:
        """Return the value, or what stands for missing ones."""
        return self.fill if value == self.mark else value


@dataclass(frozen=True)
class GapIndicator(Map):
    """1 where the value is missing (is `mark`), else 0."""

    mark: Cell = None

    @property
    def direction(self) -> int:
        """Return 0: it is told from others value by value."""
        return 0

    def __call__(self, value: Cell) -> Cell:
        """Return 0 or 1."""
        return float(value == self.mark)


@dataclass(frozen=True)
class Coded(Map):
    """A number per category; `missing` and `other` for what is none (None: missing stays missing).

    Categories that are numbers keep their order, and what lies between two is coded between them (`ordered`).
    """

    codes: dict[Value, float]
    missing: float | None
    other: float | None
    ordered: tuple[float, ...] | None = None

    @property
    def direction(self) -> int:
        """Return 1 where the codes ascend with the numbers."""
        return 0 if self.ordered is None else 1

    def __call__(self, value: Cell) -> Cell:
        """Return the code."""
        if value is None:
            return self.missing
        found = self.codes.get(value)
        if found is None and self.ordered is not None and is_number(value):
            return bisect_right(self.ordered, _number(value)) - 0.5
        return self.other if found is None else found


@dataclass(frozen=True)
class OneOf(Map):
    """1 for certain categories, else 0; `missing`: also for missing values, `other`: also for what is no category."""

    inside: frozenset[Value]
    known: frozenset[Value]
    missing: bool = False
    other: bool = False

    @property
    def direction(self) -> int:
        """Return 0: it is told from others value by value."""
        return 0

    def __call__(self, value: Cell) -> Cell:
        """Return 0 or 1."""
        if value is None:
            return float(self.missing)
        return float(value in self.inside or (self.other and value not in self.known))


@dataclass(frozen=True, slots=True)
class OutsideTest(Test):
    """Everything but the range, as a test that no attribute knows: a tree says it by the other branch."""


@dataclass(frozen=True)
class StepColumn:
    """A column of the table that a step gets: its name, the raw column behind it, the maps passed so far."""

    name: str
    source: int
    maps: tuple[Map, ...] = ()

    def then(self, step: Map, name: str | None = None) -> StepColumn:
        """Return the column after one more map."""
        return StepColumn(self.name if name is None else name, self.source, (*self.maps, step))

    @property
    def direction(self) -> int:
        """Return 1 where the column never falls as the raw value grows, -1 where it never rises, 0: not known."""
        return math.prod(m.direction for m in self.maps)

    @property
    def tells_missing(self) -> bool:
        """Return whether the column only says whether the raw value is missing."""
        return any(isinstance(m, GapIndicator) and m.mark is None for m in self.maps)

    @property
    def near(self) -> bool:
        """Return whether only gaps were filled: what a step stores of the column it stores of the raw values."""
        return all(isinstance(m, Imputed) for m in self.maps)

    @property
    def lets_gaps_through(self) -> bool:
        """Return whether the model is given NaN where the raw value is missing."""
        found = self.make(None)
        return isinstance(found, float) and math.isnan(found)

    def make(self, value: Cell) -> Value:
        """Return what the model is given for a raw value, NaN for missing."""
        found: Cell = None if isinstance(value, float) and math.isnan(value) else value
        for step in self.maps:
            found = step(found)
        return math.nan if found is None else found

    @property
    def linear(self) -> tuple[Fraction, Fraction] | None:
        """Return a and b where the model is given a x + b for every number x; None where that is not so."""
        times, plus = Fraction(1), Fraction(0)
        for step in self.maps:
            if isinstance(step, Imputed):
                continue
            if not isinstance(step, ScaledMap) or step.clip is not None:
                return None
            plus -= Fraction(step.subtract or 0)
            factor = Fraction(1 if step.multiply is None else step.multiply)
            factor /= Fraction(1 if step.divide is None else step.divide)
            times, plus = times * factor, plus * factor + Fraction(step.add or 0)
        return (times, plus) if times else None

    def feature(self, name: str, attribute: str, single: bool) -> Feature:
        """Return the column as a feature of a model; `single`: it compares 32-bit floats."""
        if not self.maps:
            return Feature(name, attribute)
        return Feature(name, attribute, self.make, self.inverse(name, attribute, single))

    def inverse(self, name: str, attribute: str, single: bool) -> Callable[[Test], Test]:
        """Return what turns a test on the column into one on the raw numbers."""

        def compare(value: Cell) -> Value:
            with np.errstate(over="ignore"):
                return rounded(self.make(value)) if single else self.make(value)

        def invert(test: Test) -> Test:
            if test.bare or (self.near and self.direction):  # numbers stand as they are, as without a pipeline
                return single_ends(test) if single else test
            if self.tells_missing:
                return Test() if passes(test, compare(0.0)) else Test(values=())
            if self.direction == 0 or test.values is not None:
                found = None if test.values is not None else self.around_bin(test, compare, name, attribute)
                if found is None:
                    why = f"the model's test '{name}' {test} is no range of '{attribute}'"
                    raise ReleaseError(f"{why}: declare a domain (--domain) that gives it a 'resolution'")
                return found
            rising, ends = self.direction > 0, dict[str, Value | bool]()
            for upper, end, strict in ((True, test.high, test.high_open), (False, test.low, test.low_open)):
                if end is not None:
                    at = self.border(_last_below(_number(end), upper != strict, single), rising)
                    if at is None:
                        raise ReleaseError(
                            f"the model's test '{name}' {test} does not tell values of '{attribute}' apart"
                        )
                    ends |= _side_of(at, upper == rising)
            return Test(missing=test.missing, **ends)  # type: ignore[arg-type]

        return invert

    def around_bin(self, test: Test, compare: Callable[[Cell], Value], name: str, attribute: str) -> Test | None:
        """Return the range of one bin, or what lies outside it; None where the column is about no single bin."""
        place = next((i for i, m in enumerate(self.maps) if isinstance(m, InBin)), None)
        before = StepColumn(self.name, self.source, self.maps[:place])
        if place is None or not before.direction or any(m.direction == 0 for m in self.maps[place + 1 :]):
            return None
        step = self.maps[place]
        assert isinstance(step, InBin)
        inside = before.inverse(name, attribute, False)(Test(low=step.bin - 0.5, high=step.bin + 0.5))
        assert inside.high is not None  # an end that is not found is refused
        middle = math.nextafter(_number(inside.high), -math.inf) if inside.high_open else inside.high
        if passes(test, compare(middle)) == passes(test, compare(-LARGEST)):
            raise ReleaseError(f"the model's test '{name}' {test} does not tell values of '{attribute}' apart")
        found = replace(inside, missing=test.missing)
        if passes(test, compare(middle)):
            return found
        return OutsideTest(None, found.low, found.high, found.low_open, found.high_open, found.missing)

    def border(self, cut: float, rising: bool) -> float | None:
        """Return the last raw number whose column is on the lower side of a cut, None where none or all are there.

        Looked for around where plain arithmetic puts it, else by bisection: at most 130 numbers are tried.
        """

        def lower(place: int) -> bool:
            return (self.make(_double(place)) <= cut) == rising  # type: ignore[operator]

        first, last, guess = _ordinal(-LARGEST), _ordinal(LARGEST), self.back(cut)
        low, high, step = first, last, 1
        if guess is not None:
            low = high = _ordinal(min(max(guess, -LARGEST), LARGEST))
            while low > first and not lower(low):
                low, high, step = max(first, low - step), low, step * 4
            while high < last and lower(high):
                low, high, step = high, min(last, high + step), step * 4
        if not lower(low) or lower(high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if lower(middle) else (low, middle)
        return _double(low)

    def back(self, value: float) -> float | None:
        """Return about which raw number becomes a value, None where steps are not all arithmetic."""
        for step in reversed(self.maps):
            if isinstance(step, ScaledMap):
                value = (value - (step.add or 0.0)) / (step.multiply or 1.0) * (step.divide or 1.0) + (
                    step.subtract or 0.0
                )
            elif not isinstance(step, Imputed):
                return None
        return value


def _side_of(last: float, below: bool) -> dict[str, Value | bool]:
    """Return the end of a range that is up to a number, or beyond it: by the next number where that is shorter."""
    after = math.nextafter(last, math.inf)
    if len(repr(after)) < len(repr(last)):
        return {"high": after, "high_open": True} if below else {"low": after}
    return {"high": last} if below else {"low": last, "low_open": True}


def _last_below(threshold: float, closed: bool, single: bool) -> float:
    """Return the last 64-bit float that is below a threshold (`closed`: or at it), `single`: as a 32-bit float."""
    if not single:
        return threshold if closed else math.nextafter(threshold, -math.inf)
    with np.errstate(over="ignore"):  # 32-bit floats end at 3.4e38
        near = np.float32(threshold)
    if not closed and float(near) == threshold:
        threshold = float(np.nextafter(near, np.float32(-np.inf)))
    return float(single_limits(np.array([threshold]))[0])


def _ordinal(x: float) -> int:
    """Return the place of a 64-bit float in their order."""
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return int(bits) if bits >= 0 else -(int(bits) & (1 << 63) - 1)


def _double(place: int) -> float:
    """Return the 64-bit float at a place in their order."""
    (found,) = struct.unpack("<d", struct.pack("<q", abs(place)))
    return float(found) if place >= 0 else -float(found)
