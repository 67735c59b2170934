"""Attributes as people declare them: listed values, integers, decimal grids, continuous ranges.

Every attribute is a line of *positions*: a test ("at most 25", "one of a, b") is a union of half-open ranges of
positions. Listed and gridded attributes use the index of the value; a continuous attribute uses pairs
(x, side), where side 0 stands just below x and side 1 just above, so that "below x" and "at most x" differ.
Where cells may be empty, "missing" is one more position behind all values.

Binary columns as views of attributes.
"""

from __future__ import annotations

import contextlib
import math
import sys
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeGuard

from solvers.foundation.errors import ReleaseError

Value = int | float | str | bool
Cell = Value | None  # None: missing
LARGEST = int(sys.float_info.max)
MISSING = "missing"  # how profiles ask for a missing value
Position = Any  # int, or (Fraction, 0 | 1) for continuous attributes; only compared with its own kind
Ranges = tuple[tuple[Position, Position], ...]


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a finite number (booleans are 0 and 1)."""
    return isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))


def exact(value: Value) -> Fraction:
    """Return the number as it was written: 0.1 is one tenth, not the nearest binary fraction.

    Raises `ReleaseError` for a whole number that no float is near: models and tables compare with it as one.
    """
    if not isinstance(value, float):
        if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
            raise ReleaseError("a number of more than 308 digits is given, and no model compares with one")
        return Fraction(value)
    text = repr(float(value))
    before, _, after = text.partition(".")
    if after.isdigit():  # no exponent: twice as fast as having a text parsed
        return Fraction(int(before + after), 10 ** len(after))
    return Fraction(text)


def plain_number(value: Fraction | int) -> int | float:
    """Return an int where the number is whole, else the nearest float."""
    return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True, slots=True)
class Test:
    """A test on one attribute or column: one of `values`, or a range with open or closed ends.

    `missing`: a missing value passes too, and nothing else where there are neither values nor ends. Without it no
    missing value passes.
    """

    __test__ = False  # not a pytest class

    values: tuple[Value, ...] | None = None
    low: Value | None = None
    high: Value | None = None
    low_open: bool = False
    high_open: bool = False
    missing: bool = False

    @property
    def bare(self) -> bool:
        """Return whether the test names no value: it asks for missing alone, or for any value."""
        return not self.values and self.low is None and self.high is None and (self.missing or self.values is None)

    def __str__(self) -> str:
        if self.bare:
            return "is missing" if self.missing else "is not missing"
        low = "" if self.low is None else f"{'>' if self.low_open else '>='} {self.low}"
        high = "" if self.high is None else f"{'<' if self.high_open else '<='} {self.high}"
        text = " and ".join(part for part in (low, high) if part)
        if self.values is not None:
            text = f"= {self.values[0]}" if len(self.values) == 1 else f"in {list(self.values)}"
        return f"{text} (or missing)" if self.missing else text


def equals(value: Value) -> Test:
    """Return the test for one value."""
    return Test(values=(value,))


def cell_text(cell: Cell) -> str:
    """Return a value or "missing" in words."""
    return MISSING if cell is None else str(cell)


def normal(ranges: list[tuple[Position, Position]]) -> Ranges:
    """Return the ranges sorted, merged and without empty ones."""
    merged: list[tuple[Position, Position]] = []
    for start, end in sorted(r for r in ranges if r[0] < r[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def complement(ranges: Ranges, span: tuple[Position, Position]) -> Ranges:
    """Return the positions of `span` that are in none of the ranges."""
    cursor, out = span[0], []
    for start, end in ranges:
        out.append((cursor, start))
        cursor = end
    return normal([*out, (cursor, span[1])])


def intersection(a: Ranges, b: Ranges) -> Ranges:
    """Return the positions in both."""
    if not a or not b:
        return ()
    return normal([(max(s, t), min(e, f)) for s, e in a for t, f in b])


@dataclass(frozen=True)
class AttributeBase(ABC):
    """What all attributes share: a name, whether it may be missing, positions, tests turned into ranges."""

    name: str
    missing: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def known(self) -> tuple[Position, Position]:
        """Return the first position of a value and the one after the last."""

    @property
    def gap(self) -> tuple[Position, Position]:
        """Return the range of "missing", behind all values; empty where no value may be missing."""
        end = self.known[1]
        return end, end + self.missing

    @cached_property
    def span(self) -> tuple[Position, Position]:
        """Return the first position and the one after the last, "missing" included."""
        return self.known[0], self.gap[1]

    @abstractmethod
    def point(self, value: Value) -> tuple[Position, Position]:
        """Return the range of one value; `ReleaseError` when the attribute has no such value."""

    @abstractmethod
    def cut(self, x: Value, above: bool) -> Position:
        """Return the position just above or just below the threshold x."""

    @abstractmethod
    def value_at(self, position: Position) -> Value:
        """Return the value at a position that is not "missing"."""

    def value(self, position: Position) -> Cell:
        """Return the value at a position, None where it is "missing"."""
        return None if self.missing and position >= self.known[1] else self.value_at(position)

    def ranges(self, test: Test) -> Ranges:
        """Return the positions that pass the test; "missing" only where the test says so."""
        if test.missing and not self.missing:
            why = "is asked for missing values, which it cannot have"
            raise ReleaseError(f"attribute '{self.name}' ({self.describe()}) {why}: declare it with \"missing\": true")
        passed: list[tuple[Position, Position]] = []
        if test.values is not None:
            passed = [self.point(v) for v in test.values]
        elif not (test.bare and test.missing):
            start = self.known[0] if test.low is None else self.cut(test.low, test.low_open)
            end = self.known[1] if test.high is None else self.cut(test.high, not test.high_open)
            passed = [(start, end)]
        return normal([*passed, self.gap] if test.missing else passed)

    def refuse(self, value: object, why: str) -> ReleaseError:
        """Return the refusal of a value, naming it and the attribute."""
        return ReleaseError(f"{value!r} {why} attribute '{self.name}' ({self.describe()})")

    def describe(self) -> str:
        """Return the values in a few words."""
        return f"{self.values_text()}{', or missing' if self.missing else ''}"

    @abstractmethod
    def values_text(self) -> str:
        """Return the values in a few words, "missing" left out."""


@dataclass(frozen=True)
class Categorical(AttributeBase):
    """Finitely many values, ordered as listed; numbers ascending."""

    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ReleaseError(f"attribute '{self.name}' has no values")
        if len(self.index) != len(self.values):
            double = next(v for i, v in enumerate(self.values) if v in self.values[:i])
            raise ReleaseError(f"attribute '{self.name}' lists the value {double!r} twice")
        if self.numeric and any(b < a for a, b in zip(self.numbers, self.numbers[1:], strict=False)):
            raise ReleaseError(f"the numbers of attribute '{self.name}' must ascend")
        if self.missing and MISSING in self.index:
            raise ReleaseError(f"attribute '{self.name}' may be missing and lists the value '{MISSING}': rename that")

    @cached_property
    def index(self) -> dict[Value, int]:
        """Return value -> index; 1, 1.0 and true are the same value, "1" is not."""
        return {v: i for i, v in enumerate(self.values)}

    @cached_property
    def numeric(self) -> bool:
        """Return whether all values are numbers."""
        return all(is_number(v) for v in self.values)

    @cached_property
    def numbers(self) -> list[Fraction]:
        """Return the values as exact numbers (numeric attributes only)."""
        return [exact(v) for v in self.values]

    @property
    def known(self) -> tuple[int, int]:
        """Return (0, number of values)."""
        return 0, len(self.values)

    def point(self, value: Value) -> tuple[int, int]:
        """Return the range of one value."""
        i = self.index.get(value)
        if i is None:
            raise self.refuse(value, "is not a value of")
        return i, i + 1

    def cut(self, x: Value, above: bool) -> int:
        """Return how many values are below x (at most x, when `above`)."""
        if not self.numeric:
            i = self.index.get(x)
            if i is None:
                raise self.refuse(x, "is not a value to order by: it is not listed in")
            return i + above
        if not is_number(x) or not self.numbers[0] <= exact(x) <= self.numbers[-1]:
            raise self.refuse(x, "is a threshold outside the range of")
        return (bisect_right if above else bisect_left)(self.numbers, exact(x))

    def value_at(self, position: int) -> Value:
        """Return the value with this index."""
        return self.values[position]

    def values_text(self) -> str:
        """Return the values, shortened."""
        shown = ", ".join(repr(v) for v in self.values[:6])
        return f"values {shown}{', ...' if len(self.values) > 6 else ''}"


@dataclass(frozen=True)
class Grid(AttributeBase):
    """The numbers minimum + k * step for k = 0..count-1; integers have step 1."""

    minimum: Fraction
    step: Fraction
    count: int

    @classmethod
    def between(cls, name: str, low: Value, high: Value, step: Value = 1, missing: bool = False) -> Grid:
        """Return the grid from low to high, both on it; `ReleaseError` otherwise."""
        lo, hi, by = exact(low), exact(high), exact(step)
        if by <= 0:
            near = ", or nearer to 0 than a number can be (4.9e-324)" if step == 0 and isinstance(step, float) else ""
            raise ReleaseError(f"attribute '{name}': the resolution {step} is not positive{near}")
        if hi < lo:
            raise ReleaseError(f"attribute '{name}': max {high} is below min {low}")
        if ((hi - lo) / by).denominator != 1:
            raise ReleaseError(f"attribute '{name}': max {high} is not on the grid {low} + k * {step}")
        return cls(name, lo, by, int((hi - lo) / by) + 1, missing=missing)

    @property
    def maximum(self) -> Fraction:
        """Return the last number."""
        return self.minimum + self.step * (self.count - 1)

    @property
    def known(self) -> tuple[int, int]:
        """Return (0, number of values)."""
        return 0, self.count

    def point(self, value: Value) -> tuple[int, int]:
        """Return the range of one value."""
        if not is_number(value):
            raise self.refuse(value, "is not a number of")
        steps = (exact(value) - self.minimum) / self.step
        if steps.denominator != 1 or not 0 <= steps < self.count:
            raise self.refuse(value, "is not a value of")
        return int(steps), int(steps) + 1

    def cut(self, x: Value, above: bool) -> int:
        """Return how many values are below x (at most x, when `above`)."""
        if not is_number(x) or not self.minimum <= exact(x) <= self.maximum:
            raise self.refuse(x, "is a threshold outside the range of")
        steps = (exact(x) - self.minimum) / self.step
        return math.floor(steps) + 1 if above else math.ceil(steps)

    def value_at(self, position: int) -> Value:
        """Return the number with this index."""
        return plain_number(self.minimum + self.step * position)

    def values_text(self) -> str:
        """Return the range and the step."""
        step = "" if self.step == 1 else f" in steps of {plain_number(self.step)}"
        return f"{plain_number(self.minimum)} to {plain_number(self.maximum)}{step}"


@dataclass(frozen=True)
class Continuous(AttributeBase):
    """All real numbers between minimum and maximum: no grid, so only relative figures.

    An end of None is not known: the numbers run on without end, and no part of them has a share of the whole. "Missing"
    has no length of its own: where it is possible it weighs as much as the whole range.
    """

    minimum: Fraction | None = None
    maximum: Fraction | None = None

    def __post_init__(self) -> None:
        if self.minimum is not None and self.maximum is not None and self.maximum <= self.minimum:
            raise ReleaseError(f"attribute '{self.name}': max must be above min where resolution is null")

    @property
    def bounded(self) -> bool:
        """Return whether both ends are known, so that a part has a share of the whole range."""
        return self.minimum is not None and self.maximum is not None

    @property
    def known(self) -> tuple[Position, Position]:
        """Return the positions of both ends; infinity, which compares with every fraction, for an open one."""
        low, high = self.minimum, self.maximum
        return (-math.inf if low is None else low, 0), (math.inf if high is None else high, 1)

    @property
    def gap(self) -> tuple[Position, Position]:
        """Return the range of "missing": a side of its own behind the maximum."""
        last = self.known[1][0]
        return (last, 1), (last, 1 + self.missing)

    def holds(self, x: Fraction) -> bool:
        """Return whether a number lies in the range."""
        return (self.minimum is None or self.minimum <= x) and (self.maximum is None or x <= self.maximum)

    def inside(self, x: Value) -> Fraction:
        """Return x as an exact number; `ReleaseError` outside the range."""
        if not is_number(x):
            raise self.refuse(x, "is not a number of")
        if not self.holds(found := exact(x)):
            raise self.refuse(x, "is outside the range of")
        return found

    def point(self, value: Value) -> tuple[Position, Position]:
        """Return the (zero-length) range of one number."""
        x = self.inside(value)
        return (x, 0), (x, 1)

    def cut(self, x: Value, above: bool) -> Position:
        """Return the position just below or just above x."""
        return self.inside(x), int(above)

    def ranges(self, test: Test) -> Ranges:
        """Return the positions that pass a range test; equality is refused."""
        if test.values:
            raise self.refuse(list(test.values), "is tested for equality: give a 'resolution' to")
        return super().ranges(test)

    def value_at(self, position: Position) -> Value:
        """Return the number at a position."""
        return plain_number(position[0])

    def values_text(self) -> str:
        """Return the range."""
        low, high = (None if end is None else plain_number(end) for end in (self.minimum, self.maximum))
        if low is None:
            return "any number, continuous" if high is None else f"at most {high}, continuous"
        return f"at least {low}, continuous" if high is None else f"{low} to {high}, continuous"


AnyAttribute = Categorical | Grid | Continuous


TRAINING_DATA = "training data"


@dataclass(frozen=True, slots=True)
class View:
    """A binary column: 1 where the test on the attribute holds, else 0."""

    attribute: str
    test: Test


def from_text(text: str, attribute: AnyAttribute) -> Value:
    """Return a CSV cell as a value of the attribute: a listed text first, then a number or true/false."""
    if isinstance(attribute, Categorical) and text in attribute.index:
        return text
    if "_" in text:  # Python's own spelling of numbers
        return text
    if text.lower() in {"true", "false"}:
        return int(text.lower() == "true")
    with contextlib.suppress(ValueError):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text
