"""The part of a sheet that is the table: header rows and rows of counts, without the texts above and below."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from recon.io.files.opening import TableOptions
from recon.io.files.sheets import Sheet, SheetRow
from recon.readers.formats.tables.cells import count_like, is_number
from recon.readers.formats.tables.dialects import comparable, dialects
from solvers.foundation.errors import ReleaseError

HEAD_ROWS = 4  # of a header at most
YEAR = r"(?:19|20)\d\d"


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of counts: its attributes' cells ("": free), the text of its count, and where it stands.

    `base`: the text of the number of people of whom the count is a percentage; "" of a count.
    """

    cells: tuple[str, ...]
    count: str
    place: str
    base: str = ""


@dataclass
class RawTable:
    """A table taken apart: names of attributes, lines, columns set apart with the reason, what is said around it."""

    names: list[str]
    lines: list[RawLine]
    form: str
    count_name: str = ""
    apart: dict[str, str] = field(default_factory=dict)
    figures: dict[str, list[str]] = field(default_factory=dict)  # cells per line of a column of figures
    title: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scale: int = 1

    @property
    def said(self) -> list[str]:
        """Return the texts around the table."""
        return [*self.title, *self.below]


@dataclass(frozen=True)
class TableBody:
    """The part of a sheet that is the table: header rows and rows of data, all as wide; texts above and below."""

    head: list[SheetRow]
    rows: list[SheetRow]
    title: list[str]
    below: list[str]


def cells_of(row: SheetRow) -> list[str]:
    """Return the cells of a row that are not empty."""
    return [cell for cell in row.cells if cell]


def body_of(sheet: Sheet, options: TableOptions) -> TableBody:
    """Return the table in a sheet, without title, unit and source lines above and below it."""
    rows = list(sheet.rows)
    cut = next(
        (
            k
            for k, row in enumerate(rows)
            if k and cells_of(row)[:1] and re.fullmatch(r"-{3,}|_{3,}", cells_of(row)[0]) and len(cells_of(row)) == 1
        ),
        len(rows),
    )
    below, rows = [" ".join(cells_of(row)) for row in rows[cut + 1 :]], rows[:cut]
    wide: dict[int, int] = {}
    for row in rows:
        wide[_width(row)] = wide.get(_width(row), 0) + 1
    width = max(wide, key=lambda w: (wide[w] * (w > 1), w))

    def around(row: SheetRow, below: bool = False) -> bool:
        """Return whether a row is text beside the table: of one cell, or in a text of fewer fields."""
        given = cells_of(row)
        if below and (any(map(is_number, given[1:])) or (given[0] == row.cells[0] and _is_label(given[0]))):
            return not sheet.name and len(row.cells) < width and not _is_label(given[0])
        if len(given) == 1 and (row.cells[0] or len(given[0]) > 60) and width > 1:
            return not row.cells[0] or not count_like(given[0]) or width > 2
        return not sheet.name and len(row.cells) < width and _width(row) != width and len(given) <= max(2, width // 2)

    first = 0
    while first < len(rows) and around(rows[first]):
        first += 1
    # A line of names and values above the table ("date","2021"), which a blank line parts from it.
    for k in range(first + 1, min(len(rows), first + 12)):
        apart = rows[k].number > rows[k - 1].number + 1
        if (
            apart
            and len(cells_of(rows[k])) > max(len(cells_of(row)) for row in rows[first:k])
            and not any(len(cells_of(row)) > 2 for row in rows[first:k])
        ):
            first = k
            while first < len(rows) and around(rows[first]):
                first += 1
            break
    last = _end_of_counts(sheet, rows, first, width)
    while last > first:
        row = rows[last - 1]
        gap = last > 1 and row.number > rows[last - 2].number + 1
        if not (around(row, below=not gap) or _is_note(row, width, gap)):
            break
        last -= 1
    title = [" ".join(cells_of(row)) for row in rows[:first]]
    below = [" ".join(cells_of(row)) for row in rows[last:]] + below
    table = _squared(sheet, rows[first:last], width)
    heads = _head_rows(table, options)
    return TableBody(table[:heads], table[heads:], title, below)


def _end_of_counts(sheet: Sheet, rows: list[SheetRow], first: int, width: int) -> int:
    """Return behind which row the texts begin that a gap parts from the last count: each alone in its row."""
    end = len(rows)
    while (
        end > first and len(cells_of(rows[end - 1])) == 1 and (sheet.name or len(rows[end - 1].cells) < min(width, 3))
    ):
        end -= 1
    gap = first < end < len(rows) and rows[end].number > rows[end - 1].number + 1
    return end if gap and width > 1 else len(rows)


def _is_label(text: str) -> bool:
    """Return whether a text may be the label of a line: up to three words, without the signs of a note.

    A mark before words is a legend: "..C confidential".
    """
    first, _, rest = text.partition(" ")
    if rest and comparable(first) in dialects().marks:
        return False
    return len(text.split()) <= 3 and not re.search(r"[:=;©*]|\.$|^(?:note|source|quelle|info)", text, re.IGNORECASE)


def _is_note(row: SheetRow, width: int, gap: bool) -> bool:
    """Return whether a last row has no number and stands behind a gap, or is no label with marks beside it."""
    given = cells_of(row)
    if len(given) > 2 or any(map(is_number, given)) or (_is_label(given[0]) and not gap):
        return False
    return len(row.cells) != width or not any(map(count_like, given[1:]))


def _width(row: SheetRow) -> int:
    cells = list(row.cells)
    while cells and not cells[-1]:
        cells.pop()
    return len(cells)


def _squared(sheet: Sheet, rows: list[SheetRow], width: int) -> list[SheetRow]:
    """Return rows of one width; `ReleaseError` for one that has another number of cells than the header says."""
    if not rows:
        return rows
    wide = max(_width(row) for row in rows[:HEAD_ROWS])
    wide = max(wide, width)
    names = [cell for row in rows[:1] for cell in row.cells]
    shift = not sheet.name and len(rows) > 1 and all(len(row.cells) == len(names) + 1 for row in rows[1:])
    out = []
    for k, row in enumerate(rows):
        cells = row.cells if not (shift and k == 0) else ("", *row.cells)  # R leaves the name of row names out
        ends = len(cells)
        while ends > wide and not cells[ends - 1]:
            ends -= 1
        short = not sheet.name and len(row.cells) < wide and (k >= HEAD_ROWS or any(map(is_number, cells[1:])))
        if ends > wide or (k and short):
            raise ReleaseError(
                f"has {len(row.cells)} cell{'s' * (len(row.cells) != 1)}, the header {len(names)}: this "
                "is not a table, or a text with a separator in it is not in quotes",
                place=sheet.place(row.number),
            )
        out.append(replace(row, cells=(*cells[:ends], *[""] * (wide - ends))))
    empty = [k for k in range(wide) if not any(row.cells[k] for row in out)]
    return (
        [replace(row, cells=tuple(c for k, c in enumerate(row.cells) if k not in empty)) for row in out]
        if empty and not sheet.name
        else out
    )


def _head_rows(rows: list[SheetRow], options: TableOptions) -> int:
    """Return how many of the first rows are a header: the first, and those after it before the first count."""
    if not rows:
        return 0
    heads = 1
    if any(_names_counts(cell, options) for cell in rows[0].cells) and all(rows[0].cells):
        return 1
    alone = [k for k, row in enumerate(rows) if k and _names_alone(row.cells)]
    while heads < min(HEAD_ROWS, len(rows) - 1):
        row = rows[heads]
        given = row.cells[1:]
        names_only = alone == [heads] and any(rows[heads - 1].cells[1:])
        spanned = (
            not rows[heads - 1].cells[0]
            or not all(rows[heads - 1].cells[1:])
            or len(set(rows[heads - 1].cells[1:])) < len(rows[heads - 1].cells[1:])
        )
        over = alone == [heads + 1]
        if (
            names_only
            or over
            or (spanned and not any(is_number(cell) or comparable(cell) in dialects().marks for cell in given if cell))
            or (not row.cells[0] and any(given) and all(re.fullmatch(YEAR, cell) for cell in given if cell))
        ):
            heads += 1
            continue
        break
    return heads


def _names_alone(cells: Sequence[str]) -> bool:
    """Return whether a row has the names of its first columns and nothing else, or the first cell alone."""
    given = [cell for cell in cells if cell]
    names = len(given) == 1 or (0 < 2 * len(given) <= len(cells) and not any(map(is_number, given)))
    return names and list(cells[: len(given)]) == given


def _names_counts(cell: str, options: TableOptions) -> bool:
    return cell in options.count_columns or comparable(cell) in dialects().words["count"]["names"]
