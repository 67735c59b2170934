"""Tables as offices publish them: the corpus in tests/tables, each with its right reading or its true refusal."""

from __future__ import annotations

import csv
import io
import tomllib
from pathlib import Path

import pytest

from recon.io.files.sheets import text_sheet, workbook_sheet
from recon.io.files.table_options import TableOptions, table_read_as
from recon.readers.formats.tables.counted import counted_table
from solvers.foundation.errors import ReconError

CORPUS = [
    one | {"file": path.stem}
    for path in sorted(Path(__file__).with_name("tables").glob("*.toml"))
    for one in tomllib.loads(path.read_text(encoding="utf-8"))["table"]
]
LISTS = ("count_column", "suppressed", "total_label")


def options_of(said):
    given = {}
    for name, value in zip(said[::2], said[1::2], strict=True):
        key = name.removeprefix("--").replace("-", "_")
        given[key] = [*given.get(key, []), value] if key in LISTS else value
    return TableOptions.said(**given)


def written(case, text):
    """Return the bytes of a case: its text, or a workbook of it (merged cells are "<" and "^")."""
    text = text.removeprefix("\n")
    if case.get("delimiter") == "tab":
        text = "\n".join(line.replace("|", "\t") for line in text.split("\n"))
    if case.get("form") not in {"xlsx", "ods"}:
        return text.encode()
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Table"
    for i, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        for k, cell in enumerate(row, start=1):
            if cell in {"<", "^"}:
                continue
            value = int(cell) if cell.isdecimal() else cell or None
            sheet.cell(i, k, value)
    for span in case.get("merged", []):
        sheet.merge_cells(span)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def read(case):
    data = written(case, case["text"])
    with table_read_as(options_of(case.get("options", []))):
        return counted_table(workbook_sheet(data) if case.get("form") == "xlsx" else text_sheet(data.decode()))


def reading(names, lines):
    return {
        (frozenset((n.lower(), c) for n, c in zip(names, cells, strict=True) if c), count) for cells, count in lines
    }


def right(case):
    header, *rows = csv.reader(io.StringIO(case["right"].strip()))
    return reading(header[:-1], [([c if c != "total" else "" for c in row[:-1]], row[-1]) for row in rows])


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: f"{case['file']}-{case['name']}")
def test_tables_are_read_right_or_refused_with_what_helps(case):
    if "refused" in case:
        with pytest.raises(ReconError) as error:
            read(case)
        assert case["refused"] in str(error.value)
        return
    found = read(case)
    assert reading(found.names, [(line.cells, str(line.count)) for line in found.lines]) == right(case)
