"""What the names of binary columns say: shared prefixes, values, and tests on one line of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, islice, pairwise

from solvers.foundation.errors import ReleaseError
from solvers.foundation.exact import exact_number

Pattern = tuple[bool, ...]

MANY_READINGS = 64  # how many ways of misnamed thresholds are tried
BREAK = re.compile(r"(?:[:=_<>|/ ≤≥]|(?<!\d)[-.]|[-.](?!\d))+")
NUMBER = r"-?\d+(?:\.\d+)?"
NUMERIC = re.compile(rf"(?P<op><=|>=|≤|≥|<|>|==?)?\s*(?P<low>{NUMBER})(?:\s*-\s*(?P<high>{NUMBER})|(?P<plus>\+))?\s*")


def bases(name: str) -> list[str]:
    """Return the prefixes of a column name that end before a separator or operator, shortest first."""
    return [name[: m.start()] for m in BREAK.finditer(name) if m.start() > 0 and m.end() < len(name)]


def common_base(names: Sequence[str]) -> str:
    """Return the longest prefix that `bases` gives for all names, "" if there is none."""
    shared = set(bases(names[0])).intersection(*(bases(name) for name in names[1:]))
    return max(shared, key=len, default="")


def suffix(name: str, base: str) -> str:
    """Return what stands after the base and its separators: "priors:=0" -> "0", "priors:>3" -> ">3"."""
    rest = name[len(base) :] if base else name
    text = rest.lstrip(":=_ |/") if base else rest
    signed = len(text) < len(rest) and text[1:2].isdigit()  # "t_-5" is minus five, "t-5" is five
    return text.lstrip("-. ") if base and text[:1] in {"-", "."} and not signed else text


def value_names(names: Sequence[str], base: str) -> tuple[str, ...]:
    """Return one value per column: its suffix, or its whole name where suffixes are empty or equal."""
    short = tuple(suffix(name, base) for name in names)
    return short if len(set(short)) == len(short) and all(short) else tuple(names)


def quoted(names: Sequence[str]) -> str:
    """Return names for a sentence, shortened: 'a', 'b', 'c', ... (5)."""
    shown = ", ".join(f"'{name}'" for name in names[:4])
    return shown if len(names) <= 4 else f"{shown}, ... ({len(names)})"


@dataclass(frozen=True, slots=True)
class PassingNumbers:
    """The numbers that pass the test in a column's name; None is an open end."""

    low: Fraction | None
    high: Fraction | None
    low_open: bool = False
    high_open: bool = False

    @property
    def one_sided(self) -> bool:
        """Return whether the test is a threshold."""
        return self.low is None or self.high is None

    @property
    def order(self) -> tuple[bool, Fraction, bool, Fraction]:
        """Return a key that sorts tests by where they begin, then by where they end."""
        zero = Fraction(0)
        return self.low is not None, self.low or zero, self.low_open, self.high or zero

    def mirrored(self) -> PassingNumbers:
        """Return "at least x" for "at most x" and the like."""
        return PassingNumbers(self.high, self.low, self.high_open, self.low_open)


def span(text: str) -> PassingNumbers | None:
    """Return the numbers a suffix such as "18-20", "0", ">3" or "65+" stands for, None if it is no such test."""
    match = NUMERIC.fullmatch(text)
    if match is None:
        return None
    try:
        op, low = match["op"] or "=", exact_number(match["low"])
        high = exact_number(match["high"]) if match["high"] else None
    except ReleaseError:  # a name with a thousand digits is a name
        return None
    if op in {"=", "=="}:
        if match["plus"]:
            return PassingNumbers(low, None)
        return PassingNumbers(low, low if high is None else high) if high is None or low <= high else None
    if high is not None or match["plus"]:
        return None
    return (
        PassingNumbers(low, None, op == ">")
        if op in {">", ">=", "≥"}
        else PassingNumbers(None, low, high_open=op == "<")
    )


@dataclass(frozen=True, slots=True)
class NumberLine:
    """The number line cut at the marks: position 2j+1 is mark j, position 2j lies below it, 2m above all.

    `whole`: only integers exist, so there is nothing between neighbouring marks.
    """

    marks: tuple[Fraction, ...]
    whole: bool

    def bounds(self, test: PassingNumbers) -> tuple[int, int]:
        """Return the first and the last position that pass a test."""
        start = 0 if test.low is None else 2 * self.marks.index(test.low) + 1 + test.low_open
        end = 2 * len(self.marks) if test.high is None else 2 * self.marks.index(test.high) + 1 - test.high_open
        return start, end

    def regions(self, spans: Sequence[PassingNumbers]) -> list[tuple[int, int, Pattern]]:
        """Return (first position, last position, pattern) of the stretches where no test changes, ascending."""
        gaps = {2 * j + 2 for j, (a, b) in enumerate(pairwise(self.marks)) if self.whole and b - a == 1}
        bounds = [self.bounds(test) for test in spans]
        out: list[tuple[int, int, Pattern]] = []
        for position in range(2 * len(self.marks) + 1):
            if position not in gaps:
                pattern = tuple(first <= position <= last for first, last in bounds)
                if out and out[-1][2] == pattern:
                    out[-1] = (out[-1][0], position, pattern)
                else:
                    out.append((position, position, pattern))
        return out

    def text(self, first: int, last: int) -> str:
        """Return a stretch of positions in words: "21-22", "<25", ">=45", "(0.5, 1]"."""
        top = 2 * len(self.marks)
        low, high = self.marks[max(first - 1, 0) // 2], self.marks[min(last, top - 1) // 2]
        if first == 0 or last == top:
            below = f"{'<=' if last % 2 else '<'}{number_text(high)}" if last < top else ""
            above = f"{'>=' if first % 2 else '>'}{number_text(low)}" if first > 0 else ""
            return below or above or "any"
        if self.whole:
            low, high = low + (first % 2 == 0), high - (last % 2 == 0)
        if low == high:
            return number_text(low)
        if self.whole:
            return (
                f"{number_text(low)}-{number_text(high)}" if low >= 0 else f"{number_text(low)} to {number_text(high)}"
            )
        return f"{'[' if first % 2 else '('}{number_text(low)}, {number_text(high)}{']' if last % 2 else ')'}"


def number_text(number: Fraction) -> str:
    """Return a number as people write it."""
    return str(int(number)) if number.denominator == 1 else str(float(number))


def readings(
    spans: Sequence[PassingNumbers],
) -> Iterator[tuple[NumberLine, tuple[PassingNumbers, ...], tuple[int, ...]]]:
    """Yield (line, tests, mirrored columns): integers before reals, names as written before misnamed ones."""
    marks = tuple(sorted({x for s in spans for x in (s.low, s.high) if x is not None}))
    whole = all(x.denominator == 1 for x in marks)
    lines = [NumberLine(marks, True), NumberLine(marks, False)] if whole else [NumberLine(marks, False)]
    sided = [i for i, s in enumerate(spans) if s.one_sided]
    subsets = chain.from_iterable(combinations(sided, size) for size in range(len(sided) + 1))
    below = tuple(i for i in sided if spans[i].low is None)
    above = tuple(i for i in sided if spans[i].high is None)
    for mirrored in chain(islice(subsets, MANY_READINGS), (below, above, tuple(sided))):
        tests = tuple(s.mirrored() if i in mirrored else s for i, s in enumerate(spans))
        for line in lines:
            yield line, tests, mirrored


def values_of(
    line: NumberLine, regions: list[tuple[int, int, Pattern]], seen: set[Pattern]
) -> list[tuple[str, Pattern]]:
    """Return (name, pattern) ascending: what was seen and what lies between; every column is 1 somewhere."""
    places: dict[Pattern, list[int]] = {}
    for i, region in enumerate(regions):
        places.setdefault(region[2], []).append(i)
    sure = [places[p][0] for p in seen if len(places[p]) == 1] or [places[p][0] for p in seen]
    low, high = min(sure), max(sure)
    for column in range(len(regions[0][2])):
        if not any(p[column] for p in seen) and not any(r[2][column] for r in regions[low : high + 1]):
            ones = [i for i, region in enumerate(regions) if region[2][column]]
            nearest = min(ones, key=lambda i: max(low - i, i - high))
            low, high = min(low, nearest), max(high, nearest)
    out: dict[Pattern, str] = {}
    for i, (_, _, pattern) in enumerate(regions):
        inside = [j for j in places[pattern] if low <= j <= high]
        if pattern not in out and (inside[:1] == [i] or (not inside and pattern in seen)):
            out[pattern] = " or ".join(line.text(*regions[j][:2]) for j in inside or places[pattern])
    return [(text, pattern) for pattern, text in out.items()]
