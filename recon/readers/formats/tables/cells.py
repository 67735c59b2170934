"""A cell of a count: a number in the manner of some country, a range, or a mark that hides it.

The language of numbers is that of the whole table: 1.234 is a thousand in Berlin and no count in London.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.parts.base import MAX_ROWS
from recon.io.files.opening import TableOptions
from recon.readers.formats.tables.dialects import comparable, dialects
from solvers.foundation.errors import ReleaseError

BLANKS = " \u00a0\u202f\u2009'\u2019"
_POWER = r"[1-9](?:\.\d{1,14})?e\+\d\d"  # of R, which writes 100000 so; with a capital E digits may be lost (Excel)
_NUMBER = rf"\d{{1,3}}(?:[,.{BLANKS}]\d{{3}}){{1,6}}|{_POWER}|\d{{1,17}}"
_NOTE = r"\[note \d+\]|\(\d\)|[¹²³⁴⁵]+"
_SHOWN = re.compile(
    rf"(?P<sign>[-+\u2212]?)(?P<number>{_NUMBER})(?P<decimals>[.,]\d{{1,12}})?\s?(?P<flag>\D{{0,4}}|{_NOTE})"
)
_COUNT = rf"({_NUMBER})"
_RANGES = tuple(
    (re.compile(form.format(n=_COUNT)), ends)
    for form, ends in (
        (r"<\s*{n}", "<"),
        (r"(?:<=|=<|≤)\s*{n}", "<="),
        (r">\s*{n}", ">"),
        (r"(?:>=|=>|≥)\s*{n}|{n}\s*\+", ">="),
        (
            r"(?:less|fewer|lower|smaller) than {n}|under {n}|below {n}|unter {n}"
            r"|weniger als {n}|moins de {n}|minder dan {n}|färre än {n}",
            "<",
        ),
        (
            r"(?:up to|at most|no more than|höchstens|bis zu|au plus|hoogstens|högst) {n}"
            r"|{n} or (?:fewer|less)|{n} oder weniger",
            "<=",
        ),
        (r"(?:more|greater) than {n}|over {n}|above {n}|mehr als {n}|plus de {n}|meer dan {n}", ">"),
        (r"at least {n}|{n} or more|{n} und mehr|mindestens {n}", ">="),
        (r"(?:between )?{n}\s*(?:[-\u2013\u2014]|to|and|bis|à|through|\.\.)\s*{n}", "[]"),
    )
)
NOISY = "noisy counts belong into a release file that declares the noise"


@dataclass(frozen=True, slots=True)
class CountCell:
    """What a cell says: at least `low` and at most `high` rows (None: no end), and the mark where it hides them."""

    low: int
    high: int | None
    mark: str = ""
    place: str = ""

    @property
    def exact(self) -> bool:
        """Return whether the count is shown, as one number."""
        return not self.mark and self.low == self.high

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        return "?" if not self.low and self.high is None else f"{self.low}..{'' if self.high is None else self.high}"


def count_like(text: str) -> bool:
    """Return whether a cell looks like a count: a number, a range of them, or a mark that hides one."""
    if not text:
        return False
    return _SHOWN.fullmatch(text) is not None or _range_of(text) is not None or comparable(text) in dialects().marks


def is_number(text: str) -> bool:
    """Return whether a cell is a number in some country's manner, with a percent sign or flag behind it or not."""
    return re.fullmatch(rf"[-+\u2212]?(?:{_NUMBER})(?:[.,]\d+)?\s?%?", text) is not None


def _range_of(text: str) -> tuple[str, list[str]] | None:
    said = comparable(text)
    for form, ends in _RANGES:
        if found := form.fullmatch(said):
            return ends, [group for group in found.groups() if group is not None]
    return None


@dataclass(frozen=True)
class NumberForm:
    """How a table writes numbers: what parts thousands ("": nothing), and what decimals."""

    thousands: str = ""
    decimal: str = "."

    def exact(self, text: str) -> Fraction:
        """Return a number as it is written, without sign and flag. Raises `ValueError` where it is none."""
        if "e+" in text:
            return Fraction(text)
        for mark in (*BLANKS, *([self.thousands] if self.thousands else [])):
            text = text.replace(mark, "")
        return Fraction(text.replace(self.decimal, "."))


def _marks_in(*numbers: str) -> list[str]:
    """Return the points and commas in numbers, without the point of a power of ten."""
    return [c for number in numbers if "e+" not in number for c in number if c in ",."]


def number_form(cells: Sequence[tuple[str, str]]) -> NumberForm:
    """Return how numbers are written in cells of counts, given with their places.

    A point or comma before three digits parts thousands, as counts are whole; where every number has it before three
    zeros it is a decimal sign. Raises `ReleaseError` where cells follow two countries' manners.
    """
    thousands: dict[str, tuple[str, str]] = {}
    decimals: dict[str, tuple[str, str]] = {}
    zeros: dict[str, tuple[str, str]] = {}
    whole = False
    for text, place in cells:
        shown = _SHOWN.fullmatch(text)
        if shown is None:  # a range is of whole numbers
            for mark in _marks_in(*(_range_of(text) or ("", []))[1]):
                thousands.setdefault(mark, (text, place))
            continue
        number, rest = shown["number"], shown["decimals"] or ""
        marks = _marks_in(number)
        if (rest and len(rest) != 4) or (rest and marks):
            decimals.setdefault(rest[0], (text, place))
        if marks:
            every_zero = len(marks) == 1 and number.endswith("000") and not rest
            (zeros if every_zero else thousands).setdefault(marks[0], (text, place))
        whole = whole or (not marks and not rest)
    for mark, one in zeros.items():
        if whole or mark in thousands or mark == "," or ({",", "."} - {mark}) & decimals.keys():
            thousands.setdefault(mark, one)
        else:
            decimals.setdefault(mark, one)
    clash = [
        (thousands[a], b)
        for a, b in ((".", thousands.get(",")), (".", decimals.get(".")), (",", decimals.get(",")))
        if a in thousands and b
    ]
    if clash:
        (text, place), (other, where) = clash[0]
        raise ReleaseError(
            f"the count '{text}' and '{other}' ({where}) are written in the manner of two languages", place=place
        )
    part = next(iter(thousands), "")
    return NumberForm(part, "," if part == "." or ("," in decimals and part != ",") else ".")


def count_cell(text: str, place: str, form: NumberForm, options: TableOptions, scale: int = 1) -> CountCell:
    """Return what a cell of a count says; `scale`: of how many rows its numbers are ("in thousands").

    Raises `ReleaseError` with place and value for a number that is no count, and for what is neither number, range nor
    a mark that is known to hide one: nothing that is not understood is counted as 0.
    """
    own = options.range_of(text) if text and any(h.mark.lower() == text.lower() for h in options.hidden) else None
    if own is not None:
        return CountCell(own.low, own.high, "" if own.low == own.high == 0 else text, place)
    if scale == 1 and len(text) < 16 and text.isascii() and text.isdecimal():
        return CountCell(int(text), int(text), "", place)
    if found := _SHOWN.fullmatch(text):
        return _shown_count(text, found, place, form, scale)
    if ranged := _range_of(text):
        ends, numbers = ranged
        return _ranged_count(text, ends, [form.exact(n) * scale for n in numbers], place, scale - 1)
    if not text or comparable(text) in dialects().marks:
        rule = options.range_of(text)
        return (
            CountCell(0, None, text or "(empty)", place)
            if rule is None
            else CountCell(rule.low, rule.high, text or "(empty)", place)
        )
    if text.isdecimal():
        raise ReleaseError(f"the count has {len(text):,} digits: no table counts so many", place=place)
    message = (
        f"the cell '{text[:40]}' is neither a count nor a mark that is known to hide one: say what it stands for "
        f"(--suppressed '{text[:20]}=1..4' for 1 to 4, '{text[:20]}=0' for nobody, '{text[:20]}=0..' for any number)"
    )
    raise ReleaseError(message, place=place)


def _shown_count(text: str, found: re.Match[str], place: str, form: NumberForm, scale: int) -> CountCell:
    flag, known = comparable(found["flag"]), dialects().words["flags"]
    try:
        number = form.exact(found["number"] + (found["decimals"] or ""))
    except ValueError:
        raise ReleaseError(f"the count '{text[:40]}' is not a number", place=place) from None
    number *= scale
    if found["sign"] in {"-", "\u2212"} and number:
        raise ReleaseError(f"the count '{text[:40]}' is negative: {NOISY}", place=place)
    if number.denominator != 1:
        raise ReleaseError(
            f"the count '{text[:40]}' is not a whole number: shares and means are no counts, and {NOISY}", place=place
        )
    count = int(number)
    if count > MAX_ROWS:
        raise ReleaseError(f"the count {text} is more than 2^53", place=place)
    off = max(0, scale // 10 ** (len(found["decimals"] or ".") - 1) - 1)  # what the last digit of thousands leaves open
    if flag == "+":
        return CountCell(max(0, count - off), None, "", place)
    if flag in known["estimated"]:
        return CountCell(0, None, text, place)
    if flag and flag not in known["exact"] and not re.fullmatch(_NOTE, flag):
        raise ReleaseError(
            f"the count '{text[:40]}' has a sign behind it that is not understood: '{found['flag']}'", place=place
        )
    return CountCell(max(0, count - off), count + off, "", place)


def _ranged_count(text: str, ends: str, numbers: list[Fraction], place: str, off: int) -> CountCell:
    """Return what a range leaves open; `off`: how far a count may be from the number that it was rounded to."""
    if any(n.denominator != 1 for n in numbers):
        raise ReleaseError(f"the count '{text}' is not a whole number: {NOISY}", place=place)
    first, last = int(numbers[0]), int(numbers[-1])
    if max(first, last) > MAX_ROWS:
        raise ReleaseError(f"the count '{text}' is more than 2^53", place=place)
    if ends == "<" and not first:
        raise ReleaseError(f"the count '{text}' is impossible", place=place)
    if ends == "[]":
        if first > last:
            raise ReleaseError(f"the count '{text}' is not an interval", place=place)
        return CountCell(max(0, first - off), last + off, "", place)
    if ends[0] == "<":
        return CountCell(0, first - 1 if ends == "<" else first + off, text, place)
    return CountCell(first + 1 if ends == ">" else max(0, first - off), None, "", place)


def rounded_cell(cell: CountCell, base: int, nearest: bool, share: bool = False) -> CountCell:
    """Return what a shown count leaves open that was rounded to a multiple of `base`, up or down or to the nearest.

    `share`: it is the share of a count that was rounded so, and is off by as much at most.
    """
    if base <= 1 or cell.mark or cell.high is None or not (cell.exact or share):
        return cell
    off = base // 2 if nearest else base - 1
    return replace(cell, low=max(0, cell.low - off), high=cell.high + off)


def are_shares(told: Sequence[str], counts: Sequence[Sequence[str]]) -> bool:
    """Return whether each cell of a column is what its own digits show of one count of its line by another.

    Or by the sum of the counts of its line; as a number or a percentage.
    """
    for cell, line in zip(told, counts, strict=True):
        text, shown = cell.rstrip("% ").replace(",", "."), [re.sub(r"\D", "", one) for one in line]
        if not re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", text) or not all(shown):
            return False
        numbers, off = [int(one) for one in shown], Fraction(6, 10 ** (len(text.partition(".")[2]) + 1))
        pairs = [(a, b) for a in numbers for b in (*numbers, sum(numbers)) if b]
        if not any(abs(Fraction(text) - Fraction(whole * a, b)) <= off for a, b in pairs for whole in (1, 100)):
            return False
    return bool(told)
