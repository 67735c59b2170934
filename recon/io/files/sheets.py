"""What a person says of a table that the file does not: which column counts, what hides a cell, how it was rounded.

Tables as rows of texts, whatever wrote them: CSV in any country's form, sheets of xlsx and ods files.

A spreadsheet is opened without its macros and formulas: a cell is what was stored for it. Percentages are shown as such
("40%"), whole numbers without a point, so that a sheet and the CSV of it are read alike. Sizes are taken from the
running budget before a part of the file is unpacked.
"""

from __future__ import annotations

import csv
import datetime
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from recon.io.files.archives import archive_names
from recon.io.files.opening import current, table_options
from solvers.foundation.errors import ReleaseError, TooLarge, installing

MAX_LINES = 1_000_000
IN_PARTS = "cut it by one attribute into files with their own totals and audit each: what a part reveals is revealed"
MAX_COLUMNS = 1_000
WORKBOOKS = (".xlsx", ".xlsm", ".ods")
DELIMITERS = ";,|"
SNIFFED = 200  # lines that show what parts the cells
CELL = 90  # bytes of a cell beside its letters
UNPACKED = 3  # bytes that a byte of a sheet's XML takes while it is read
ODS_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
ODS_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
ODS_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row that is not empty: its number in the file, from 1, its cells as texts, how far its first is indented."""

    number: int
    cells: tuple[str, ...]
    indent: int = 0


@dataclass(frozen=True)
class Sheet:
    """A table as it stands in a file: the sheet's name ("" of a text), its rows, what its reader has to say.

    `made`: how many of its first columns the file does not have.
    """

    rows: tuple[SheetRow, ...]
    name: str = ""
    notes: tuple[str, ...] = ()
    delimiter: str = ""
    made: int = 0

    def place(self, number: int, column: int | None = None) -> str:
        """Return where a row or a cell stands: "line 3", or "sheet 'T1', row 3, column C"."""
        if not self.name:
            return f"line {number}"
        where = "" if column is None else f", column {letters(max(0, column - self.made))}"
        return f"sheet '{self.name}', row {number}{where}"


def letters(column: int) -> str:
    """Return the letters of a spreadsheet's column, counted from 0: "A", "AB"."""
    out = ""
    while column >= 0:
        out, column = chr(65 + column % 26) + out, column // 26 - 1
    return out


def delimiter_of(text: str) -> str:
    """Return what parts the cells of a table: a tab, a semicolon, a comma or a bar; of R's `write.table` a blank.

    The one by which most of the first lines have as many cells as each other, and more than one.
    """
    lines = [line for line in text[: 1 << 16].splitlines()[:SNIFFED] if line.strip()]
    if 2 * sum("\t" in line for line in lines) > len(lines):  # it stands in no text
        return "\t"
    if lines and re.fullmatch(r'"[^"]*"(?: "[^"]*")+', lines[0]):
        return " "
    best, found = (0, 0), ""
    for mark in DELIMITERS:
        with suppress(csv.Error):
            widths = Counter(len(cells) for cells in csv.reader(lines, delimiter=mark) if len(cells) > 1)
            if widths:
                width, times = widths.most_common(1)[0]
                best, found = max((best, found), ((times, width), mark), key=lambda one: one[0])
    return found or ","


def text_sheet(text: str) -> Sheet:
    """Return the rows of a text that has a table. Raises `ReleaseError` naming the line for quotes that do not end."""
    text = text.lstrip("\ufeff")
    if '"' not in text and "\n\n" not in text and "\n\r" not in text:  # else lines may be parts of cells, or empty
        _bound(text.count("\n"), 0)
    mark = delimiter_of(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=mark == " ")
    rows, begun = [], 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                indent = len(cells[0]) - len(cells[0].lstrip()) if cells[0].strip() else 0
                rows.append(SheetRow(begun, tuple(cell.strip() for cell in cells), indent))
                _bound(len(rows), len(cells))
            begun = reader.line_num + 1
    except csv.Error as error:
        raise ReleaseError(f"is not a table ({error})", place=f"line {reader.line_num}") from None
    return Sheet(tuple(rows), delimiter=mark)


def _bound(rows: int, columns: int) -> None:
    if rows > MAX_LINES:
        raise TooLarge(f"the table has more than {MAX_LINES:,} lines: {IN_PARTS}")
    if columns > MAX_COLUMNS:
        raise ReleaseError(f"has {columns:,} columns, more than {MAX_COLUMNS:,}")


def is_workbook(data: bytes) -> bool:
    """Return whether bytes are those of a spreadsheet (xlsx, xlsm, ods), told by the names in the archive."""
    names = archive_names(data)
    return "xl/workbook.xml" in names or ("content.xml" in names and "mimetype" in names)


def workbook_sheet(data: bytes) -> Sheet:
    """Return the sheet of a spreadsheet that --sheet names, else its only one that has a table.

    Raises `ReleaseError` where there are several (it names them), none of that name, or the file is broken, `TooLarge`
    where a sheet takes more memory than there is, and where openpyxl is not installed.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            if "xl/workbook.xml" in names:
                return _excel_sheet(data, archive)
            if b"macro" in archive.read("mimetype")[:200] or b"spreadsheet" not in archive.read("mimetype")[:200]:
                raise ReleaseError("is not a spreadsheet: save the table as xlsx, ods or CSV")
            return _ods_sheet(archive)
    except ImportError:
        raise ReleaseError(f"spreadsheets need an extra: {installing('sheets')}") from None
    except ReleaseError:  # a ValueError too
        raise
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, AttributeError, OSError, EOFError) as error:
        raise ReleaseError(f"is not a spreadsheet that can be read ({str(error)[:100]})") from None


def _take_bytes(archive: zipfile.ZipFile, names: Iterable[str], what: str) -> None:
    """Take from the budget what parts of an archive need when they are unpacked; what they say is what is unpacked."""
    current().bytes(UNPACKED * sum(archive.getinfo(name).file_size for name in names), what)
    current().check()


def _chosen_sheet(names: list[str], full: list[str]) -> str:
    """Return the sheet to read: the one asked for, the only one, or the only one that has numbers beside texts."""
    asked = table_options().sheet
    if asked is not None:
        if asked in names:
            return asked
        if asked.isdigit() and 1 <= int(asked) <= len(names):
            return names[int(asked) - 1]
        raise ReleaseError(f"there is no sheet '{asked}': there are {_quoted(names)}")
    if len(full) != 1:
        said = (
            f"holds {len(full)} sheets with a table ({_quoted(full)}): name one (--sheet '{full[0]}')" if full else ""
        )
        raise ReleaseError(said or f"none of its sheets ({_quoted(names)}) has a row of a text and a number")
    return full[0]


def _quoted(names: list[str]) -> str:
    more = f" and {len(names) - 9} more" if len(names) > 9 else ""
    return ", ".join(f"'{name}'" for name in names[:9]) + more


def _others(names: list[str], chosen: str, macros: bool = False) -> tuple[str, ...]:
    left = [name for name in names if name != chosen]
    notes = [f"the sheet '{chosen}' was read, {_quoted(left)} not"] if left else []
    return (*notes, *(["its macros were not run"] if macros else []))


def _excel_sheet(data: bytes, archive: zipfile.ZipFile) -> Sheet:
    import openpyxl

    names = archive.namelist()
    shared = [n for n in names if n in {"xl/workbook.xml", "xl/sharedStrings.xml", "xl/styles.xml"}]
    _take_bytes(archive, shared, "the spreadsheet")
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    sheets = [one for one in book.worksheets if hasattr(one, "iter_rows")]
    titles = [str(one.title) for one in sheets]
    part = {str(one.title): str(one._worksheet_path) for one in sheets}
    if table_options().sheet is None and len(titles) > 1:
        full = []
        for one in sheets:
            _take_bytes(archive, [part[one.title]], "the spreadsheet")
            if _has_table(row.cells for row in _excel_rows(one, None)):
                full.append(str(one.title))
        chosen = _chosen_sheet(titles, full)
    else:
        chosen = _chosen_sheet(titles, titles)
        _take_bytes(archive, [part[chosen]], "the spreadsheet")
    formulas = None
    if re.search(rb"<f[ >]", archive.read(part[chosen])):  # a formula without a stored value is no empty cell
        formulas = openpyxl.load_workbook(io.BytesIO(data), read_only=True, keep_links=False)[chosen]
    rows = list(_excel_rows(book[chosen], formulas, chosen))
    return Sheet(tuple(rows), chosen, _others(titles, chosen, any(n.endswith("vbaProject.bin") for n in names)))


def _excel_rows(sheet: Any, formulas: Any, name: str = "") -> Iterator[SheetRow]:
    """Yield the rows that are not empty; `ReleaseError` for a formula without a value, and a value that is an error."""
    sheet.reset_dimensions()  # what the file says of its size need not be true
    budget, met = current(), 0
    asked = None
    if formulas is not None:
        formulas.reset_dimensions()
        asked = formulas.iter_rows()
    for number, row in enumerate(sheet.iter_rows(), start=1):
        other = None if asked is None else next(asked)
        cells = []
        for k, cell in enumerate(row):
            value = cell.value
            if value is None and other is not None and k < len(other) and other[k].value is not None:
                shown = str(other[k].value)[:40]
                place = f"sheet '{name}', row {number}, column {letters(k)}"
                raise ReleaseError(
                    f"the formula '{shown}' has no stored value: open the file in a spreadsheet and save it",
                    place=place,
                )
            cells.append(_cell_text(value, getattr(cell, "number_format", None)))
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            met += 1
            _bound(met, len(cells))
            budget.entries(1, "the table", CELL * len(cells) + sum(map(len, cells)))
            text = row[0].value if isinstance(row[0].value, str) else ""
            styled = int(getattr(getattr(row[0], "alignment", None), "indent", 0) or 0) if text else 0
            yield SheetRow(number, tuple(cells), styled + len(text) - len(text.lstrip()))


def _cell_text(value: Any, form: str | None) -> str:
    """Return a stored cell as the CSV of a spreadsheet would have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        percent = form is not None and "%" in form
        number = float(value) * 100 if percent else float(value)
        shown = str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(round(number, 10))
        return f"{shown}%" if percent else shown
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return " ".join(str(value).split())


def _has_table(rows: Iterable[tuple[str, ...]]) -> bool:
    """Return whether some row of the first ones has a text and a number behind it."""
    for k, row in enumerate(rows):
        given = [cell for cell in row if cell]
        if len(given) > 1 and not _number(given[0]) and any(map(_number, given[1:])):
            return True
        if k > SNIFFED:
            break
    return False


def _number(text: str) -> bool:
    return re.fullmatch(r"[-+]?[\d.,' \u00a0\u202f]*\d%?", text) is not None


def _ods_sheet(archive: zipfile.ZipFile) -> Sheet:
    from defusedxml.ElementTree import iterparse

    _take_bytes(archive, ["content.xml"], "the spreadsheet")
    tables: dict[str, list[SheetRow]] = {}
    with archive.open("content.xml") as content:
        number, name = 0, ""
        for event, element in iterparse(content, events=("start", "end")):
            if event == "start":
                if element.tag == f"{ODS_TABLE}table":
                    name, number = element.get(f"{ODS_TABLE}name") or f"Sheet{len(tables) + 1}", 0
                    tables[name] = []
                continue
            if element.tag == f"{ODS_TABLE}table-row":
                try:
                    cells = _ods_cells(element)
                except ReleaseError as error:
                    raise ReleaseError(
                        error.message, place=f"sheet '{name}', row {number + 1}, {error.place}"
                    ) from None
                times = int(element.get(f"{ODS_TABLE}number-rows-repeated") or 1)
                if cells:
                    _bound(len(tables[name]) + times, len(cells))
                    current().entries(times, "the table", CELL * len(cells) + sum(map(len, cells)))
                    tables[name] += [SheetRow(number + k, cells) for k in range(1, times + 1)]
                number += times
                element.clear()
    names = list(tables)
    chosen = _chosen_sheet(
        names, [n for n in names if _has_table(row.cells for row in tables[n])] if len(names) > 1 else names
    )
    return Sheet(tuple(tables[chosen]), chosen, _others(names, chosen))


def _ods_cells(row: Any) -> tuple[str, ...]:
    """Return the cells of a row; those that a merged one covers are empty."""
    out: list[str] = []
    for cell in row:
        if cell.tag not in {f"{ODS_TABLE}table-cell", f"{ODS_TABLE}covered-table-cell"}:
            continue
        kind = cell.get(f"{ODS_OFFICE}value-type")
        said = cell.get(f"{ODS_OFFICE}value")
        if kind in {"float", "percentage"} and said is not None:
            text = _cell_text(float(said), "%" if kind == "percentage" else None)
        elif kind == "boolean":
            text = str(cell.get(f"{ODS_OFFICE}boolean-value") == "true")
        else:
            text = " ".join(" ".join("".join(p.itertext()) for p in cell.iter(f"{ODS_TEXT}p")).split())
        if not text and cell.get(f"{ODS_TABLE}formula"):
            shown = f"the formula '{cell.get(f'{ODS_TABLE}formula')[:40]}' has no stored value"
            raise ReleaseError(
                f"{shown}: open the file in a spreadsheet and save it", place=f"column {letters(len(out))}"
            )
        times = int(cell.get(f"{ODS_TABLE}number-columns-repeated") or 1)
        out += [text] * (times if text else min(times, MAX_COLUMNS))
        if len(out) > 20 * MAX_COLUMNS:
            raise ReleaseError(f"has more than {MAX_COLUMNS:,} columns")
    while out and not out[-1]:
        out.pop()
    return tuple(out)


def is_table(path: str) -> bool:
    """Return whether a path is called like a table: a domain is read off its rows."""
    return path.lower().endswith((".csv", ".csv.gz", ".tsv", ".parquet", *WORKBOOKS))
