"""Shares of rows as whole counts: which number of rows they are of, as far as their digits show.

A library divides a count by the number of rows in double precision, and a file writes the quotient with some digits:
the share lies in a small interval. The simplest fraction of each interval (Stern-Brocot) has a denominator that divides
the number of rows; the least common multiple of all is that number, or a divisor of it where all counts share a factor.

Source: Graham, Knuth, Patashnik, "Concrete Mathematics", 2nd ed. 1994, section 4.5 (Stern-Brocot tree).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from encoders.parts.base import MAX_ROWS
from recon.io.files.sheets import text_sheet
from solvers.foundation.errors import ReleaseError, TooLarge

MAX_LINES = 500_000
SCALE = "the number of rows is the common denominator of the shares, not a multiple of it (--rows says another)"
Interval = tuple[Fraction, Fraction]
DOUBLE = Fraction(1, 1 << 50)  # a quotient and a product in double precision, relative
FEWEST = 6  # different shares of which all have a common factor by chance once in 64 times at most
MANY = 10  # the squared number of rows is so much smaller than what the digits tell apart
_DECIMAL = re.compile(r"\+?(\d*)(?:\.(\d*))?(?:[eE][+-]?\d{1,3})?")
# Columns of standard errors, in lower case.
ERRORS = {"std. error", "std error", "std err", "std.err.", "std. err.", "stderr", "bse", "se", "standard error"}


def precision_of(texts: Iterable[str]) -> tuple[int, int]:
    """Return the most decimals and the most significant digits that numbers are written with, what is none left out.

    The numbers of a file show together to how many digits all were rounded, zeros at their ends left out.
    """
    each = [_digits(text)[:2] for text in texts if _number(text)]
    return max((d for d, _ in each), default=0), max((s for _, s in each), default=0)


def intervals(figures: Sequence[tuple[str, str]], precision: tuple[int, int] | None = None) -> list[Interval]:
    """Return between which numbers figures lie, given with their places; `precision` of the file (None: their own).

    Raises `ReleaseError` for what is not a number from 0 on.
    """
    for text, place in figures:
        if not _number(text):
            raise ReleaseError(f"the figure '{text[:40]}' is not a number from 0 on", place=place)
    decimals, significant = precision or precision_of(text for text, _ in figures)
    out = []
    for text, _ in figures:
        value = Fraction(text)
        leading = 0 if not value else math.floor(math.log10(value)) + 1
        half = max(Fraction(10) ** -decimals, Fraction(10) ** (leading - significant)) / 2
        off = half + value * DOUBLE  # the double that was printed is rounded, too
        out.append((value - off, value + off))
    return out


def _number(text: str) -> bool:
    """Return whether a text is a number from 0 on."""
    found = _DECIMAL.fullmatch(text)
    return found is not None and bool(found[1] or found[2])


def _digits(text: str) -> tuple[int, int]:
    """Return the decimals and the significant digits of a number."""
    mantissa, _, power = text.lower().partition("e")
    whole, _, rest = mantissa.partition(".")
    return len(rest) - int(power or 0), len((whole + rest).lstrip("+0"))


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction of the least denominator between two numbers, neither below 0."""
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Fraction(whole)
    floor = low.numerator // low.denominator
    return floor + 1 / simplest(1 / (high - floor), 1 / (low - floor))


def rows_of(shares: Iterable[Interval]) -> int | None:
    """Return the common denominator of shares, None where they are too few or have too few digits to say it.

    It is the number of rows, or a divisor of it. Cost: linear in the shares.
    """
    every = set(shares)
    found = 1
    for low, high in every:
        found = math.lcm(found, simplest(max(low, Fraction(0)), high).denominator)
        if found > MAX_ROWS:
            return None
    wide = max((high - low for low, high in every), default=Fraction(1))
    return found if len(every) >= FEWEST and MANY * found * found * wide < 1 else None


def count_of(share: Interval, rows: int, place: str) -> int:
    """Return the whole number of rows that a share of so many rows is.

    Raises `ReleaseError` where there is none, or its digits leave several.
    """
    low, high = math.ceil(share[0] * rows), math.floor(share[1] * rows)
    if low == high and (rows or share[0] <= 0):
        return low
    value = float(sum(share) / 2)
    if low > high or not rows:
        why = f"the share {value:.10g} of {rows:,} rows is not a whole number: rows were weighted, or are others"
        raise ReleaseError(f"{why} (--rows)", place=place)
    raise ReleaseError(f"the share {value:.10g} has too few digits for {rows:,} rows", place=place)


@dataclass(frozen=True)
class TableCells:
    """A line of the file: its place, its cells by name (lower case, blanks for underscores)."""

    place: str
    cells: Mapping[str, Any]


def column_name(cell: str) -> str:
    """Return the name of a column in lower case, blanks for underscores."""
    return cell.strip(' "\r').lower().replace("_", " ")


def csv_cells(text: str) -> list[TableCells]:
    """Return the lines of a table; R leaves the name of its row names out, pandas those of indices."""
    sheet = text_sheet(text)
    names = [column_name(cell) for cell in sheet.rows[0].cells] if sheet.rows else []
    lines = sheet.rows[1:]
    if lines and len(lines[0].cells) == len(names) + 1:
        names = ["", *names]
    names = [name or ("" if "" not in names[:i] else f"unnamed: {i}") for i, name in enumerate(names)]
    for line in lines:
        if len(line.cells) != len(names):
            raise ReleaseError(f"has {len(line.cells)} cells, the header {len(names)}", place=sheet.place(line.number))
    if len(lines) > MAX_LINES:
        raise TooLarge(f"the table has more than {MAX_LINES:,} lines")
    double = next((n for i, n in enumerate(names) if n in names[:i]), None)
    if double is not None:
        raise ReleaseError(f"the column '{double}' stands twice", place="line 1")
    return [TableCells(sheet.place(line.number), dict(zip(names, line.cells, strict=True))) for line in lines]


def whole_cell(cell: Any, place: str) -> int:
    """Return the number of rows in a cell. Raises `ReleaseError` for what is not a whole number."""
    text = str(cell).strip()
    if text.isdecimal() and len(text) > 15:
        raise ReleaseError(f"the count has {len(text)} digits: no table counts so many", place=place)
    if not re.fullmatch(r"\d{1,15}(?:\.0+)?", text):
        raise ReleaseError(f"the count '{text[:40]}' is not a whole number of rows", place=place)
    return int(Fraction(text))
