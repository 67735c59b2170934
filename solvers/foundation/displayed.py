"""What a value says of itself in a line and in a notebook, made of what it already holds.

Names and values that others wrote are shown as text that cannot act (`solvers.foundation.escaping`), cut to a length
that leaves the line readable. Nothing is computed: a forest, a world of a million rows or a number of worlds with a
million digits is shown in milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction

from solvers.foundation.escaping import html, named

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
        return f"<{type(self).__name__}: {named(self._facts().line, LINE)}>"

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
        return _whole(value)
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < MANTISSA else f"{value:.6g}"
    return named(value, maximum)


def _whole(value: int) -> str:
    """Return a whole number, of a long one its power of ten."""
    if value.bit_length() <= BITS:
        return f"{value:,}"
    power = (value.bit_length() - 1) * LOG10_2
    return f"{'-' if value < 0 else ''}about 10^{power:,.0f}"


def many(count: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{_whole(count)} {singular if count == 1 else plural or singular + 's'}"


def short(name: object) -> str:
    """Return a name for a line."""
    return f"'{named(name, NAME)}'"


def _page(kind: str, facts: DisplayFacts) -> str:
    """Return facts as HTML. Typesetting of formulas is off: a $ in a name is a $."""
    pieces = [f"<p><b>{html(kind)}</b> <bdi>{html(named(facts.line, LINE))}</bdi></p>"]
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
