"""Boxes in words.

Thresholds are said by the shortest decimal that does the same (`recon.readers.frames.describe` says what holds
of it), binary columns of one attribute together (`recon.readers.frames.describe`). Nothing is computed with these
words: the exact numbers stand in the files.

Binary columns that are called like one attribute and a value of it (city_Oslo, x0=b, race:other), said together.

Without a declared domain such columns are independent: nothing says that only one of them is 1. The words keep to that:
columns that are all 0 are "city is none of Oslo, Rome", and beside one that is 1 the others are said to be 0, too.

Thresholds in short decimals: the words are for people, the exact numbers stay in the files.

Models that compare 32-bit numbers (scikit-learn, and what says of itself that its numbers are such) cannot tell the
numbers of one gap apart, between two neighbouring 32-bit numbers. Any decimal of the gap then says the same as the
threshold; the one with the fewest digits is shown. What holds of the shown test instead of the exact one:

- 32-bit numbers x pass both or neither, where x and the decimal s are compared as 32-bit numbers; where they are
  compared as 64-bit numbers as well, unless s is "the name" of a 32-bit number: the only decimal of up to 6 digits that
  is rounded to it (26.1 for 26.10000038). Then that one number is s for people, and a little off for a computer that
  widens it.
- Decimals of up to 6 significant digits, kept in 64 bits, pass both or neither: no two of them lie in one gap, nor
  are rounded to the same 32-bit number (of normal size).
- Whole numbers up to 2^24 are 32-bit numbers. Thresholds beyond are shown exactly, because 64-bit whole numbers lie in
  the gaps there.
- Other 64-bit numbers may differ in the seventh digit.

Other models compare 64-bit numbers. Their thresholds are shown as they are, but for last digits that arithmetic left
next to a short decimal (LightGBM's 39.50000000000001): decimals of up to 15 digits pass both or neither, other 64-bit
numbers may differ in the sixteenth.

Source: D. W. Matula, "In-and-out conversions", Communications of the ACM 11, 1968 (10^6 < 2^23: 6
digits survive 32 bits; 10^15 < 2^52: 15 digits survive 64).

Which column of a table is which of the domain, where their names differ: the label, changed names, no names.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.domain.domain import GUESSED, AttributeCuts, Domain
from encoders.domain.values import MISSING, AnyAttribute, Categorical, Grid, Position, cell_text, plain_number
from encoders.encode.encoder import EncodedRelease
from encoders.parts.base import CutDomain
from recon.io.console.output import print_lines
from recon.readers.formats.drafts.drafts import alike, matching_notes
from recon.readers.frames.selections import read_table
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import Box, spans

if TYPE_CHECKING:
    import pandas as pd

Shown = tuple[str, int]  # the number, and the side of the cut: 1 "at most", 0 "below"

SURVIVE, LONGER = 6, 15  # decimal digits that survive 32 and 64 bits
NOISE = 4  # digits that must go, for a 64-bit threshold not to be shown in full
MAX_FLOAT32_WHOLE = 2.0**24  # up to here whole numbers are 32-bit numbers
MIN_POWER_TEXT = 10**16  # from here on whole numbers are written with a power of ten
FAR = 10**300  # beyond all 32-bit numbers, and still a 64-bit one
DIGITS = 9  # decimal digits that tell every 32-bit number from the next


def _edge_text(cuts: AttributeCuts, edge: int, single: bool) -> Shown:
    """Return the number to show for an edge between the parts of a continuous attribute, and its side.

    `single`: every threshold is one of 32-bit numbers. The texts of one attribute's edges are different and in order,
    whatever they are. "" at an open end. Cost: O(1); some microseconds.
    """
    x, side = cuts.edges[edge]
    if isinstance(x, float):
        return "", side
    side = min(int(side), 1)
    if not 0 < edge < len(cuts.edges) - 1 or abs(x) > MAX_FLOAT32_WHOLE:
        return _in_full(x), side
    if not single:
        alone = all(_edge_number(cuts.edges[e]) != _edge_number((x, side)) for e in (edge - 1, edge + 1))
        return without_noise(x, side) if alone else (_in_full(x), side)
    found = _shortest(float(x), side, _position(cuts.edges[edge - 1]), _position(cuts.edges[edge + 1]))
    return (_in_full(x), side) if found is None else (_number_text(found[0]), found[1])


def _edge_number(edge: Position) -> float:
    """Return the number of an edge to 15 digits."""
    return float(f"{_position(edge)[0]:.{LONGER}g}")


def without_noise(x: Fraction, side: int) -> Shown:
    """Return the test that passes the same decimals of 15 digits as one at x, where it is much shorter; else that one.

    The decimal of 15 digits nearest to x is the last one below x, or the first above.
    """
    full, near = _in_full(x), _edge_number((x, side))
    short = _number_text(near)
    if len(short) > len(full) - NOISE:
        return full, side
    return short, int(Fraction(repr(near)) < x)


def _in_full(x: Fraction) -> str:
    """Return a number as it was written: whole ones in digits, or with a power of ten where they are longer."""
    number = plain_number(x)
    if MIN_POWER_TEXT <= abs(number) < FAR and Fraction(repr(float(number))) == x:
        return repr(float(number))
    return str(number)


def _position(edge: Position) -> tuple[float, int]:
    """Return an edge with its number as the 64-bit number that it was read from; far beyond 32 bits, any such."""
    return float(max(-FAR, min(FAR, edge[0]))), int(edge[1])


def _number_text(number: float) -> str:
    """Return a number in digits, whole ones without a point."""
    return str(int(number)) if number.is_integer() else repr(number)


def _shortest(x: float, side: int, before: tuple[float, int], after: tuple[float, int]) -> tuple[float, int] | None:
    """Return number and side (1: at most it, 0: below it) of the shortest test that passes the same 32-bit numbers.

    `x` and `side`: the test; `before` and `after`: the neighbouring edges. None where another edge lies in the same
    gap, or where the gap has an end at infinity.
    """
    low, high = _gap(x, side)
    if not (math.isfinite(low) and math.isfinite(high)) or before >= (low, 1) or after <= (high, 0):
        return None
    last, first = (x, math.nextafter(x, math.inf)) if side else (math.nextafter(x, -math.inf), x)
    most, below = _decimal_in(low, last), _decimal_in(first, high)
    options = [(*found, at) for found, at in ((most, 1), (below, 0)) if found is not None]
    if all(digits > SURVIVE for digits, _, _ in options) and _single(last) == low and _single(first) == high:
        # The test is float32(value) <= low for every value: low, or high, may have a name just outside of the gap.
        for named, at, alone in ((low, 1, before <= (_step(low, -1), 0)), (high, 0, after >= (_step(high, 1), 1))):
            name = named if not alone else float(f"{named:.{SURVIVE}g}")
            if alone and _single(name) == named:
                options.append((SURVIVE, name, at))
    if not options:
        return None
    _, number, at = min(options, key=lambda one: (one[0], one[2] != side))
    return number, at


def _gap(x: float, side: int) -> tuple[float, float]:
    """Return the neighbouring 32-bit numbers of which one passes the test (at most x; side 0: below x), one not."""
    near = _single(x)
    passes = near <= x if side else near < x
    return (near, _step(near, 1)) if passes else (_step(near, -1), near)


def _single(x: float) -> float:
    """Return the nearest 32-bit number."""
    with np.errstate(over="ignore"):  # beyond the greatest lies infinity
        return float(np.float32(x))


def _step(x: float, way: int) -> float:
    """Return the 32-bit number above (way 1) or below (-1) a 32-bit number."""
    with np.errstate(over="ignore", under="ignore"):
        return float(np.nextafter(np.float32(x), np.float32(way * math.inf)))


def _decimal_in(low: float, high: float) -> tuple[int, float] | None:
    """Return the decimal of fewest digits in [low, high] and its digits; None where it has more than 9 digits.

    A decimal of so many digits lies in the interval only if the one nearest to its middle does.
    """
    if low > high:
        return None
    if low <= 0 <= high:
        return 0, 0.0
    middle = low / 2 + high / 2
    for digits in range(1, DIGITS + 1):
        found = float(f"{middle:.{digits - 1}e}")
        if low <= found <= high:
            return digits, found
    return None


SEPARATOR = re.compile(r"[_:=]+")
TESTS = ("<", ">", "!", "≤", "≥")  # "age<=30" is a threshold, not a value
PREFIXES = 8  # of one name that are tried


@dataclass(frozen=True, slots=True)
class OneHot:
    """The place of a binary column in a group: the name before the separator, and what stands behind it."""

    base: str
    value: str


def _one_hot_groups(attributes: Sequence[AnyAttribute]) -> dict[int, OneHot]:
    """Return index -> group of the attributes that are 0 or 1 and share a prefix with another; the largest groups.

    Names alone say so: it is good for words, not for figures. Cost: linear in the names, sorting apart.
    """
    members: dict[str, dict[int, str]] = {}
    for k, attribute in enumerate(attributes):
        if isinstance(attribute, Categorical) and not attribute.missing and attribute.values == (0, 1):
            for base, value in _readings(attribute.name):
                members.setdefault(base, {})[k] = value
    out: dict[int, OneHot] = {}
    for base, values in sorted(members.items(), key=lambda one: (-len(one[1]), -len(one[0]), one[0])):
        free = {k: value for k, value in values.items() if k not in out}
        if len(free) > 1 and len(set(free.values())) == len(free):
            out |= {k: OneHot(base, value) for k, value in free.items()}
    return out


def _readings(name: str) -> Iterator[tuple[str, str]]:
    """Yield the ways to read a name as an attribute and a value, the shortest attribute first."""
    for found in islice(SEPARATOR.finditer(name), PREFIXES):
        base, value = name[: found.start()], name[found.end() :]
        if any(map(str.isalnum, base)) and value.strip() and not base.endswith(TESTS) and not value.startswith(TESTS):
            yield base, value


def _folded(
    groups: Mapping[int, OneHot], attributes: Sequence[AnyAttribute], bits: Mapping[int, int]
) -> dict[int, str]:
    """Return the words for columns of groups, at the first column of each; "" for those that are said there.

    `bits`: attribute -> 0 or 1, as the condition wants it. Columns that are said by themselves are left out.
    """
    by_base: dict[str, list[int]] = {}
    for k in bits:
        if k in groups:
            by_base.setdefault(groups[k].base, []).append(k)
    out: dict[int, str] = {}
    for base, found in by_base.items():
        ones, zeros = [k for k in found if bits[k]], [k for k in found if not bits[k]]
        if len(found) < 2 or len(ones) > 1:
            continue
        others = ", ".join(groups[k].value for k in zeros)
        text = f"{attributes[ones[0]].name} = 1 (not {others})" if ones else f"{base} is none of {others}"
        out |= dict.fromkeys(found, "") | {found[0]: text}
    return out


MAX_LISTED_VALUES = 4  # values that are listed one by one; more are said as a range, or by those that are not meant


@dataclass(frozen=True)
class Words:
    """The words for boxes over one cut domain; what is worked out once for many boxes."""

    cut: CutDomain
    known: dict[tuple[int, int], Shown] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def attributes(self) -> tuple[AnyAttribute, ...]:
        """Return the attributes, the label last."""
        return tuple(cuts.attribute for cuts in self.cut.cuts)

    @cached_property
    def groups(self) -> dict[int, OneHot]:
        """Return which binary columns are said together; the label is none."""
        label = self.cut.domain.label is not None
        return _one_hot_groups(self.attributes[:-1] if label else self.attributes)

    def condition(self, box: Box) -> str:
        """Return a box in words; "everybody" for the whole row space. Cost: linear in its literals."""
        if not box.literals:
            return "everybody"
        bits = {k: m - 1 for k, m in box.literals if m in {1, 2} and self.binary(k)}
        said = _folded(self.groups, self.attributes, bits) if len(bits) > 1 else {}
        texts = []
        for k, mask in box.literals:
            if k not in said:
                either = self.either(k, mask)
                text = " or ".join(either)
                texts.append(f"({text})" if len(either) > 1 and len(box.literals) > 1 else text)
            elif said[k]:
                texts.append(said[k])
        return " and ".join(texts)

    def binary(self, k: int) -> bool:
        """Return whether an attribute is 0 or 1, cut in two, and never missing."""
        attribute = self.attributes[k]
        return isinstance(attribute, Categorical) and attribute.values == (0, 1) and len(self.cut.cuts[k].sizes) == 2

    def either(self, k: int, mask: int) -> list[str]:
        """Return an attribute's allowed values in words, one text per range of real numbers: "age = 30", "x <= 2"."""
        attribute = self.attributes[k]
        if isinstance(attribute, Categorical):
            return [self.listed(attribute, k, mask)]
        if isinstance(attribute, Grid):
            return [self.gridded(attribute, k, mask)]
        return self.ranges(k, mask, attribute.name)

    def listed(self, attribute: Categorical, k: int, mask: int) -> str:
        """Return listed values: one by one where they are few, else as a range or by those that are not meant."""
        inside, name = self.positions(k, mask), attribute.name
        values = [attribute.value(i) for i in inside]
        if values == [None] and attribute.missing:
            return f"{name} is {MISSING}"
        if len(values) > MAX_LISTED_VALUES:
            if attribute.numeric and None not in values and inside[-1] - inside[0] == len(inside) - 1:
                if inside[-1] == len(attribute.values) - 1:
                    return f"{name} >= {values[0]}"
                return f"{f'{values[0]} <= ' if inside[0] else ''}{name} <= {values[-1]}"
            others = [cell_text(attribute.value(i)) for i in self.positions(k, ~mask)]
            if 0 < len(others) < len(values):
                return f"{name} is not {others[0]}" if len(others) == 1 else f"{name} is none of {', '.join(others)}"
        texts = [cell_text(v) for v in values]
        return f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} in {{{', '.join(texts)}}}"

    def positions(self, k: int, mask: int) -> list[int]:
        """Return the positions of some parts of a listed attribute."""
        cuts = self.cut.cuts[k]
        runs = spans(mask & ((1 << len(cuts.sizes)) - 1))
        return [i for a, b in runs for i in range(cuts.bounds(a)[0], cuts.bounds(b - 1)[1])]

    def gridded(self, attribute: Grid, k: int, mask: int) -> str:
        """Return values of a grid as a range with both ends, or a set of such ranges."""
        text = self.values(k, mask)
        if text == f"{{{MISSING}}}" and attribute.missing:
            return f"{attribute.name} is {MISSING}"
        single = text.startswith("{") and ", " not in text
        return f"{attribute.name} {'= ' + text[1:-1] if single else 'in ' + text}"

    def values(self, k: int, mask: int) -> str:
        """Return the values of some parts of an attribute without its name: a set, or ranges."""
        cuts, attribute = self.cut.cuts[k], self.attributes[k]
        if isinstance(attribute, Categorical):
            return "{" + ", ".join(cell_text(attribute.value(i)) for i in self.positions(k, mask)) + "}"
        if not isinstance(attribute, Grid):
            ranges = self.ranges(k, mask, "")
            return ranges[0] if len(ranges) == 1 and ranges[0] != MISSING else "{" + ", ".join(ranges) + "}"
        pieces: list[str] = []
        for a, b in spans(mask & ((1 << len(cuts.sizes)) - 1)):
            start, end = cuts.bounds(a)[0], min(cuts.bounds(b - 1)[1], attribute.known[1])
            if start < end:
                first, last = attribute.value(start), attribute.value(end - 1)
                pieces.append(str(first) if first == last else f"{first}..{last}")
            if cuts.bounds(b - 1)[1] > end:
                pieces.append(MISSING)
        return "{" + ", ".join(pieces) + "}" if len(pieces) != 1 or ".." not in pieces[0] else pieces[0]

    def ranges(self, k: int, mask: int, name: str) -> list[str]:
        """Return parts of a continuous attribute as ranges: "x <= 2", "1 < x <= 2"; without a name "..2", "1..2"."""
        cuts, attribute = self.cut.cuts[k], self.attributes[k]
        last, out = attribute.known[1], list[str]()
        for a, b in spans(mask & ((1 << len(cuts.sizes)) - 1)):
            if cuts.bounds(a)[0] < last:
                out.append(_ranged(name, self.edge(k, a), self.edge(k, b)))
            if attribute.missing and cuts.bounds(b - 1)[1] > last:
                out.append(f"{name} is {MISSING}" if name else MISSING)
        return out

    def edge(self, k: int, edge: int) -> Shown:
        """Return the number to show for an edge of a continuous attribute, and its side."""
        if (found := self.known.get((k, edge))) is None:
            found = self.known[k, edge] = _edge_text(self.cut.cuts[k], edge, self.cut.single)
        return found


def _ranged(name: str, start: Shown, end: Shown) -> str:
    """Return a range of real numbers; side 1 stands just above a number, side 0 just below."""
    (low, above), (high, to) = start, end
    if not name:  # cells of tables, which programs read
        return f"{low}..{high}"
    if not low or not high:
        pieces = [f"{'>' if above else '>='} {low}"] if low else []
        pieces += [f"{'<=' if to else '<'} {high}"] if high else []
        return f"{name} {', '.join(pieces)}" if pieces else f"{name} is any number"
    return f"{low} {'<' if above else '<='} {name} {'<=' if to else '<'} {high}"


class ConditionText:
    """The words for one cut domain, kept with it."""

    words: Words | None = None


def _words_of(cut: CutDomain) -> Words:
    """Return the words for a cut domain, made once."""
    said = cut.derived.part(ConditionText)
    if said.words is None:
        said.words = Words(cut)
    return said.words


def values_text(cut: CutDomain, k: int, mask: int) -> str:
    """Return the values of some parts of an attribute, without its name: a set, or ranges."""
    return _words_of(cut).values(k, mask)


def condition_text(cut: CutDomain, box: Box) -> str:
    """Return a box in words; "everybody" for the whole row space. Cost: linear in its literals."""
    return _words_of(cut).condition(box)


def condition_json(cut: CutDomain, box: Box) -> dict[str, Any] | None:
    """Return a box as a condition of the release file (`recon bound --where`), None where it takes several of them."""
    words, out = _words_of(cut), dict[str, Any]()
    for k, mask in box.literals:
        attribute, runs = words.attributes[k], spans(mask & ((1 << len(cut.cuts[k].sizes)) - 1))
        first, last = cut.cuts[k].bounds(runs[0][0])[0], cut.cuts[k].bounds(runs[-1][1] - 1)[1]
        if isinstance(attribute, Categorical):
            values = [attribute.value(i) for i in words.positions(k, mask)]
            out[attribute.name] = {"in": values} if len(values) > 1 else values[0]
        elif len(runs) > 1 or (attribute.missing and last > attribute.known[1]):
            return None
        elif isinstance(attribute, Grid):
            ends = attribute.value(first), attribute.value(last - 1)
            out[attribute.name] = {"at_least": _number(ends[0]), "at_most": _number(ends[1])}
        else:
            (low, above), (high, to) = words.edge(k, runs[0][0]), words.edge(k, runs[-1][1])
            test = {"above" if above else "at_least": float(low)} if low else {}
            out[attribute.name] = test | ({"at_most" if to else "below": float(high)} if high else {})
    return out


def _number(value: Any) -> int | float:
    """Return a number of a grid as JSON has it."""
    return int(value) if int(value) == value else float(value)


NUMBERED = re.compile(r"(|.*[^\d\n])(\d+)")


def named_like(frame: pd.DataFrame, domain: Domain, label: str | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with its columns called as in the domain, and what was matched by more than equal names.

    `label`: the table's name for the domain's label. Names that differ in signs only are matched where they are the
    only pair; the columns of a model that only numbers its features are taken in order where there are as many.
    Unknown names stay, to be refused. Raises `ReleaseError` for a label that is said twice, or is an attribute.
    """
    import pandas as pd

    names, file = [str(c) for c in frame.columns], frame.attrs.get("file", "")
    own = _label_name(domain)
    renamed = {} if label is None else _label_column(names, domain, label, file)
    rest = [name for name in names if name not in renamed]
    known = [name for name in (*domain.place, *domain.columns) if name != own or label is None]
    notes: list[str] = []
    if numbered := _in_order([name for name in rest if name != own], domain):
        renamed |= numbered
        notes = [f"the model only numbers its features: the {len(numbered)} columns were taken in order"]
    else:
        found = alike(rest, known)
        renamed |= found
        notes = matching_notes(found, "columns", "attributes of the domain")
    if not renamed:
        return frame, []
    out = frame.copy(deep=False)
    out.columns = pd.Index([renamed.get(name, name) for name in names])
    out.attrs.update(frame.attrs)
    return out, notes


def _label_name(domain: Domain) -> str | None:
    """Return the name of the domain's label, None without one."""
    return None if domain.label is None else domain.label.name


def column_like(name: str, domain: Domain, label: str | None) -> str:
    """Return the domain's name for one column of a table; see `named_like`."""
    own = _label_name(domain)
    if own is not None and name == label and name not in domain.place:
        return own
    return alike([name], [*domain.place, *domain.columns]).get(name, name)


def table_like(release: EncodedRelease, path: str | None, label: str | None) -> Any:
    """Return a table read from a file with its columns called as in the release's domain; None without a path.

    What was matched by more than equal names is said on standard error.
    """
    if path is None:
        return None
    frame, notes = named_like(read_table(path), release.domain, label)
    for note in notes:
        print_lines(f"{path}: {note}", file=sys.stderr)
    return frame


def _label_column(names: list[str], domain: Domain, label: str, file: str) -> dict[str, str]:
    """Return the label's column with the domain's name for it, {} where it has that name or is not in the table."""
    if domain.label is None:
        raise ReleaseError(f"the domain has no label that '{label}' could be (--label)", file=file)
    own = domain.label.name
    if label == own or label not in names:  # profiles may leave the label open
        return {}
    if own in names:
        raise ReleaseError(f"the label is said twice, as '{own}' and as '{label}' (--label)", file=file)
    if label in domain.place or label in domain.columns:
        raise ReleaseError(f"'{label}' (--label) is an attribute or column of the domain, not its label", file=file)
    return {label: own}


def _in_order(names: list[str], domain: Domain) -> dict[str, str]:
    """Return table column -> attribute in order, of a model file that only numbers its features; {} otherwise."""
    attributes = [a.name for a in domain.attributes]
    if domain.source != GUESSED or len(names) != len(attributes) or set(names) & set(attributes):
        return {}
    found = [NUMBERED.fullmatch(name) for name in attributes]
    parts = [(m.group(1), int(m.group(2))) for m in found if m is not None]
    first = parts[0][1] if parts else 0
    counted = bool(parts) and first in (0, 1) and parts == [(parts[0][0], first + i) for i in range(len(attributes))]
    return dict(zip(names, attributes, strict=True)) if counted else {}
