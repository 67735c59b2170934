"""What the parts of a report are made of, the same for every format: first page, tables, lines, pairs, drawings.

Figures in words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from solvers.foundation.displayed import escape_text, quote, short_condition, whole_sentences

Document = Mapping[str, Any]
Ends = Sequence[float | None] | None
Rows = list[tuple[str, ...]]
NAME, WHERE, SENTENCE, COMMAND = 90, 320, 600, 400  # characters shown of a name, a condition, ...
FIRST = 25  # rows of a table that are always open; the others fold away on a page, and are not printed
LISTED = 1000  # rows of one table
NOT_KNOWN = "not known"
OPEN = 2**62  # rows: so many stand for no upper end


@dataclass(frozen=True)
class Number:
    """One of the three numbers: what it is, the figure, what stands beside it, and what it means."""

    label: str
    value: str
    beside: str
    note: str

    @property
    def line(self) -> str:
        """Return the number as one line."""
        return f"{self.label}: {self.value}{f' {self.beside}' if self.beside else ''}"


@dataclass(frozen=True)
class AdviceStep:
    """What to do, and the command for it ("" where there is none)."""

    text: str
    command: str = ""


@dataclass(frozen=True)
class FirstPage:
    """The verdict and why, three numbers, what to do, what was audited; `assessed`: there was a policy."""

    tone: str
    verdict: str
    against: str
    policy: str
    reasons: list[tuple[str, str]]
    more_reasons: str
    numbers: list[Number]
    steps: list[AdviceStep]
    audited: list[tuple[str, str]]
    stored: list[str]
    confidential: str
    assessed: bool


@dataclass(frozen=True)
class TableBlock:
    """Rows under headings; the first column names the row. `figures`: the columns with numbers, from 0."""

    caption: str
    head: tuple[str, ...]
    rows: Rows
    figures: frozenset[int] = frozenset()
    wide: frozenset[int] = frozenset()
    more: str = ""

    @property
    def open(self) -> Rows:
        """Return the rows that are always shown."""
        return self.rows[:FIRST]

    @property
    def folded(self) -> Rows:
        """Return the others."""
        return self.rows[FIRST:]


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, what it shows of an entry; figures stand right, wide ones have room."""

    title: str
    cell: Callable[[Any], str]
    figures: bool = False
    wide: bool = False
    shown: bool = True


@dataclass(frozen=True)
class SentenceBlock:
    """Sentences, one each; `title` may be empty."""

    title: str
    lines: list[str]


@dataclass(frozen=True)
class PairBlock:
    """Terms with what they mean or are."""

    title: str
    pairs: list[tuple[str, str]]


@dataclass(frozen=True)
class CommandList:
    """Commands to type, each with what it is for."""

    title: str
    commands: list[tuple[str, str]]


@dataclass(frozen=True)
class ChartBlock:
    """A chart as inline SVG, and in words what it shows; `told`: the words say what no table does."""

    title: str
    svg: str
    caption: str
    told: bool = False


Block = FirstPage | TableBlock | SentenceBlock | PairBlock | CommandList | ChartBlock


@dataclass(frozen=True)
class PagePart:
    """A part of the report under its own heading."""

    key: str
    title: str
    intro: str
    blocks: list[Block] = field(default_factory=list)


def section_parts(sections: Iterable[tuple[str, list[str]]]) -> list[PagePart]:
    """Return sections, titles with lines, as parts; a line that begins with a blank belongs to the one before."""
    return [PagePart(f"part-{at}", title, "", [SentenceBlock("", lines)]) for at, (title, lines) in enumerate(sections)]


def table(
    caption: str, listed: Sequence[Any], columns: Sequence[Column], in_all: object = None, more: str = "",
    most: int = LISTED,
) -> TableBlock:  # fmt: skip
    """Return the first entries of a list as a table; `in_all`: how many there are, for the note on the others."""
    shown = [one for one in columns if one.shown]
    rows = _folded_rows([tuple(one.cell(entry) for one in shown) for entry in listed[:most]])
    figures, wide = (frozenset(j for j, one in enumerate(shown) if getattr(one, key)) for key in ("figures", "wide"))
    head = tuple(one.title for one in shown)
    return TableBlock(caption, head, rows, figures, wide, more or more_of(min(len(listed), most), in_all))


def _folded_rows(rows: Rows) -> Rows:
    """Return rows, of those that follow each other and are alike the first alone, with how many there are."""
    alike = [list(some) for _, some in groupby(rows)]
    return [some[0] if len(some) == 1 else (f"{some[0][0]} ({len(some):,} alike)", *some[0][1:]) for some in alike]


def text_column(title: str, key: str, maximum: int = NAME, wide: bool = False, shown: bool = True) -> Column:
    """Return the column of a name or text of each entry."""
    return Column(title, lambda one: name_of(one.get(key), maximum), wide=wide, shown=shown)


def figure_column(title: str, key: str, form: Callable[..., str], *more: Any) -> Column:
    """Return the column of a figure of each entry: what `form` makes of it."""
    return Column(title, lambda one: form(one.get(key), *more), figures=True)


def name_of(text: object, maximum: int = NAME) -> str:
    """Return a name as a table shows it, without hidden characters and not too long; "-" for none."""
    return "-" if text is None or text == "" else quote(text, maximum)


def path_of(text: object, maximum: int = 60) -> str:
    """Return a path as a first page shows it; of a long one its end, where the file's name is."""
    path = quote(text, 10**6)
    return path if len(path) <= maximum else f"…{path[1 - maximum :]}"


def shortened(text: object, maximum: int) -> str:
    """Return the first characters of a text where there is no room for more; all of it stands elsewhere."""
    said = escape_text(str(text).strip())
    return said if len(said) <= maximum else f"{said[: maximum - 1].rstrip()}…"


def sentence_of(text: object, maximum: int = SENTENCE) -> str:
    """Return sentences as a report shows them: whole ones, about so many characters of them."""
    return whole_sentences(text, maximum)


def where_of(one: Mapping[str, Any], maximum: int = WHERE) -> str:
    """Return the condition of a place as a report shows it, whole tests; "" for none."""
    return short_condition(one["where"], maximum) if one.get("where") else ""


def command_of(text: object) -> str:
    """Return a command to type, "" for none; one longer than anybody types would have to be cut, and be another."""
    return sentence_of(text, COMMAND) if text and len(str(text)) <= COMMAND else ""


def amount(value: float, places: int = 0) -> str:
    """Return a number for people."""
    return f"{value:,.{places}f}" if math.isfinite(value) else NOT_KNOWN


def _outwards(ends: Sequence[float | None], places: int) -> tuple[str, str | None]:
    """Return both ends rounded outwards, so that what is said stays true."""
    least, most, scale = ends[0] or 0, ends[1], 10**places
    lower = amount(math.floor(least * scale + 1e-9) / scale, places)
    return lower, None if most is None else amount(math.ceil(most * scale - 1e-9) / scale, places)


def ends_of(ends: Ends, places: int = 0, ceiling: float | None = None) -> str:
    """Return an interval in words: the figure, "at least", "at most", both, or that it is not known.

    `ceiling`: what the figure cannot exceed anyway (people, bits before); to be told that says nothing.
    """
    if ends is None:
        return NOT_KNOWN
    least, most = ends[0] or 0, ends[1]
    if most is not None and (least == most or most - least < 10**-9):
        return amount(least, places)
    lower, upper = _outwards((least, most), places)
    says_least = least > 0
    says_most = upper is not None and (ceiling is None or (most or 0) < ceiling)
    if says_least and says_most:
        return f"at least {lower}, at most {upper}"
    if says_least:
        return f"at least {lower}"
    return f"at most {upper}" if says_most else NOT_KNOWN


def span_of(ends: Ends, places: int = 0) -> str:
    """Return an interval as a table shows it: 7.90, 7.90 to 8.40, at least 8.30, at most 3."""
    if ends is None or ends[1] is None or not (ends[0] or 0) < ends[1] or not ends[0]:
        return ends_of(ends, places)
    return " to ".join(map(str, _outwards(ends, places)))


def rows_of(ends: Ends) -> str:
    """Return a number of rows as a table shows it: 12, 3 to 5, or 3 or more."""
    if ends is None:
        return NOT_KNOWN
    least, most = ends[0] or 0, ends[1]
    if most is None or most >= OPEN:
        return f"{amount(least)} or more"
    return amount(least) if least == most else f"{amount(least)} to {amount(most)}"


def people(ends: Ends, noun: str = "row") -> str:
    """Return a number of rows for sentences: 1 row, 3 to 5 rows."""
    text = rows_of(ends)
    return text if text == NOT_KNOWN else f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def whole_text(value: int | None) -> str:
    """Return a whole number for a table."""
    return NOT_KNOWN if value is None else amount(value)


def bits(value: float | None) -> str:
    """Return bits for a table."""
    return NOT_KNOWN if value is None else amount(value, 2)


def percent(share: float | None, places: int = 0) -> str:
    """Return a share for a table; never 0 % or 100 % by rounding."""
    if share is None or not math.isfinite(share):
        return NOT_KNOWN
    text = f"{100 * share:.{places}f}"
    if share > 0 and float(text) == 0:
        return f"< {10**-places:g} %"
    if share < 1 and float(text) == 100:
        return f"> {100 - 10**-places:g} %"
    return f"{text} %"


def possible_rows(text: str | None) -> str:
    """Return how many raw rows are possible, a decimal string of any length, for people."""
    if text is None:
        return NOT_KNOWN
    if not (text.isascii() and text.isdigit()):
        return quote(text, 30)
    digits = text.lstrip("0") or "0"
    if len(digits) <= 7:
        return f"{int(digits):,}"
    return f"about 2^{(math.log10(float(f'0.{digits[:15]}')) + len(digits)) * math.log2(10):.1f}"


def check_sentence(check: Document, maximum: int = SENTENCE) -> str:
    """Return what a check says without where its threshold comes from, which has a column of its own."""
    said = str(check["sentence"])
    kept = said.partition(" (source: ")[0].rstrip(" ,.;")
    return sentence_of(said if kept == said.rstrip(" ,.;") else f"{kept}.", maximum)


def more_of(shown: int, in_all: object) -> str:
    """Return the note under a list that was cut, "" where it was not."""
    if not isinstance(in_all, int) or in_all <= shown:
        return ""
    return f"{shown:,} of {in_all:,} are listed."


GROUP, PLACE, ROWS = (
    text_column("Group", "name"),
    Column("Where", lambda one: where_of(one) or "-", wide=True),
    figure_column("Rows", "rows", rows_of),
)
