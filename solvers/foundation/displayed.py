"""What a value says of itself in a line and in a notebook, made of what it already holds.

Names and values that others wrote are shown as text that cannot act (`solvers.foundation.displayed`), cut to a length
that leaves the line readable. Nothing is computed: a forest, a world of a million rows or a number of worlds with a
million digits is shown in milliseconds.

Text that others wrote, shown so that it can be nothing but text: no control, no direction, no hidden character.

Names, values, paths and places stand in the sentences that recon prints. Whoever chose them must not be able to start a
line of output, move the cursor, or turn the direction of what stands beside them ("Trojan Source", Boucher and
Anderson, USENIX Security 2023). Everything that people read passes `shown` or one of its kin, line by line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from html import escape

LONGEST = 200  # characters of a name or value that a sentence about a certificate spells out
# C0 and C1 controls, soft hyphen, bidirectional and zero-width characters, fillers without a shape, line and paragraph
# separators, halves of surrogate pairs, noncharacters, tags.
HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
SENTENCE_END = re.compile(r"[^.]([.!?]) (?=[A-Z“\"])")
LONGEST_SENTENCE = 2_000  # characters: what is longer was made to be
SPACES = re.compile(r"(?<=\s)\s|^\s|\s$")
MARKED = re.compile(r"[\\`*<>&|~$\[\]#@]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|(?<=[A-Za-z]):(?=//)|(?<=www)\.")
START = re.compile(r"(\s*)([-+=]|[0-9]{1,9}(?=[.)]))")


def _escape_of(found: re.Match[str]) -> str:
    r"""Return a character as \xNN, \uNNNN or \UNNNNNNNN."""
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape_text(text: object) -> str:
    r"""Return one line of text for people: what is hidden, or would act, is written \xNN, \uNNNN or \UNNNNNNNN.

    Line ends and tabs are escaped too: whoever prints several lines escapes each by itself.
    """
    return HIDDEN.sub(_escape_of, str(text))


def shown_lines(lines: Iterable[object]) -> str:
    """Return lines of text joined by line ends, the only ones in it."""
    return "\n".join(map(escape_text, lines))


def quote(text: object, maximum: int = LONGEST) -> str:
    r"""Return a name or value inside a sentence: as `shown`, at most so many characters of it.

    White space at its ends or behind other white space is escaped as well, because long runs of it push what follows
    to the start of the next line of a terminal.
    """
    sentence = escape_text(text)
    kept = sentence if len(sentence) <= maximum else f"{sentence[:maximum]}... ({len(sentence):,} characters)"
    return SPACES.sub(_escape_of, kept)


def short_condition(text: object, maximum: int = LONGEST) -> str:
    """Return a condition inside a sentence: as many whole tests as have room (the first always), and how many more."""
    tests = [quote(one, maximum) for one in str(text).split(" and ")]
    room, kept = maximum, 0
    while kept < len(tests) and (not kept or len(tests[kept]) <= room):
        room -= len(tests[kept]) + len(" and ")
        kept += 1
    more = [many(len(tests) - kept, "more condition")] if kept < len(tests) else []
    return " and ".join([*tests[:kept], *more])


def whole_sentences(text: object, maximum: int) -> str:
    """Return as many whole sentences of a text as have room, the first always; one longer than any is cut."""
    said = escape_text(str(text).strip())
    if len(said) <= maximum:
        return said
    ends = [found.end(1) for found in SENTENCE_END.finditer(said)]
    kept = said[: max((end for end in ends if end <= maximum), default=(ends or [len(said)])[0])]
    return kept if len(kept) <= LONGEST_SENTENCE else f"{said[:maximum]}... ({len(said):,} characters)"


def html(line: object) -> str:
    """Return a line of text as a page shows it, as text and in attributes."""
    return escape(escape_text(line))


def markdown(line: object) -> str:
    """Return a line of text as Markdown shows it, with no markup, HTML, link or formula of its own."""
    text = MARKED.sub(lambda found: f"\\{found[0]}", escape_text(line))
    if (start := START.match(text)) is None:
        return text
    at = start.end() if start[2].isdigit() else start.start(2)
    return f"{text[:at]}\\{text[at:]}"


def json_shown(text: str) -> str:
    r"""Return JSON text with what is hidden written as \uNNNN, which reads back the same.

    Such characters stand in JSON's strings only, line ends between its values excepted.
    """
    return HIDDEN.sub(lambda found: found[0] if found[0] == "\n" else _json_escape(ord(found[0])), text)


def _json_escape(code: int) -> str:
    r"""Return a character as JSON's \uNNNN, beyond 0xffff as a pair of surrogates."""
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\u{0xD800 + (code - 0x10000 >> 10):04x}\\u{0xDC00 + (code - 0x10000 & 0x3FF):04x}"


NAME = 40  # characters of a name in a line
CELL = 120  # characters of a cell
LINE = 300  # characters of the whole line
LINES = 20  # rows of a preview
WIDTH = 12  # columns of a preview
NOTES = 5
BITS = 64  # of a whole number that is written out
MANTISSA = 1 << 53
LOG10_2 = math.log10(2)


@dataclass(frozen=True, slots=True)
class DisplayFacts:
    """What is shown of a value: a line, pairs of a name and a figure, the head of a table, notes, what to ask for more.

    `lines` makes the head of the table when a page is shown, `total` is how many lines there are; what is shown is cut
    at `LINES` lines and `WIDTH` columns.
    """

    line: str
    pairs: Sequence[tuple[str, object]] = ()
    columns: Sequence[str] = ()
    lines: Callable[[], Sequence[Sequence[object]]] = list
    total: int = 0
    notes: Sequence[str] = ()
    more: str = ""


class Displayed:
    """A value with a short `repr` and an HTML table for notebooks; `_facts` says what is in them."""

    __slots__ = ()

    def _facts(self) -> DisplayFacts:
        """Return what is shown: by default the figures and short texts among a dataclass's fields."""
        pairs = _scalars(self)
        known = [(name, text(value, NAME)) for name, value in pairs]
        return DisplayFacts(", ".join(f"{name} {value}" for name, value in known if value), pairs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {quote(self._facts().line, LINE)}>"

    def _repr_html_(self) -> str:
        """Return the value as HTML for notebooks: a heading and tables, without scripts or styles."""
        return _page(type(self).__name__, self._facts())


def _scalars(value: object) -> list[tuple[str, object]]:
    """Return the public fields of a dataclass that are numbers, texts or nothing."""
    if not is_dataclass(value):
        return []
    found = ((one.name, getattr(value, one.name)) for one in fields(value) if not one.name.startswith("_"))
    return [(name, x) for name, x in found if x is None or isinstance(x, bool | int | float | Fraction | str)]


def text(value: object, maximum: int = CELL) -> str:
    """Return a value in a cell: numbers short, huge ones as a power of ten, texts escaped and cut."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return _integer_text(value)
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < MANTISSA else f"{value:.6g}"
    return quote(value, maximum)


def _integer_text(value: int) -> str:
    """Return a whole number, of a long one its power of ten."""
    if value.bit_length() <= BITS:
        return f"{value:,}"
    power = (value.bit_length() - 1) * LOG10_2
    return f"{'-' if value < 0 else ''}about 10^{power:,.0f}"


def many(count: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{_integer_text(count)} {singular if count == 1 else plural or singular + 's'}"


def short(name: object) -> str:
    """Return a name for a line."""
    return f"'{quote(name, NAME)}'"


def _page(kind: str, facts: DisplayFacts) -> str:
    """Return facts as HTML. Typesetting of formulas is off: a $ in a name is a $."""
    pieces = [f"<p><b>{html(kind)}</b> <bdi>{html(quote(facts.line, LINE))}</bdi></p>"]
    known = [(name, text(value)) for name, value in facts.pairs]
    body = "".join(f'<tr><th scope="row">{html(n)}</th><td>{_cell(v)}</td></tr>' for n, v in known if v)
    pieces += [f"<table><tbody>{body}</tbody></table>"] if body else []
    if facts.columns:
        pieces.append(_preview(facts))
    if facts.notes:
        left = len(facts.notes) - NOTES
        notes = [*(text(one, LINE) for one in facts.notes[:NOTES]), *([f"and {left:,} more"] if left > 0 else [])]
        pieces.append(f"<ul>{''.join(f'<li>{_cell(one)}</li>' for one in notes)}</ul>")
    if facts.more:
        pieces.append(f"<p><i>{html(facts.more)}</i></p>")
    return f'<div class="recon tex2jax_ignore mathjax_ignore">{"".join(pieces)}</div>'


def _preview(facts: DisplayFacts) -> str:
    """Return the head of a table as HTML, its caption saying what is left out."""
    shown, wide = facts.lines()[:LINES], facts.columns[:WIDTH]
    left = [f"the first {len(shown):,} of {facts.total:,} lines"] if facts.total > len(shown) else []
    left += [f"the first {len(wide):,} of {len(facts.columns):,} columns"] if len(facts.columns) > len(wide) else []
    caption = f"<caption>{html(', '.join(left))}</caption>" if left else ""
    head = "".join(f'<th scope="col">{_cell(text(name, NAME))}</th>' for name in wide)
    body = "".join(f"<tr>{_cells(line)}</tr>" for line in shown)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cells(line: Iterable[object]) -> str:
    """Return one line's cells."""
    return "".join(f"<td>{_cell(text(value))}</td>" for value in list(line)[:WIDTH])


def _cell(shown: str) -> str:
    """Return a text as HTML, its direction kept to itself."""
    return f"<bdi>{html(shown)}</bdi>"
