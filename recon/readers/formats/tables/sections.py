"""Pivots in sections: a line with a label alone stands over the lines below it, up to the next.

Where lines of several sections have the same labels, the headings are values of an attribute of their own ("Males",
"Females"). Where no label is in two sections and every section adds up to the same counts, each heading is the name of
an attribute ("Sex", "Age") and the labels below it are its values. What is neither is left to whoever asks: a line
without counts may be one whose counts are missing.

Labels that are indented lie in the line above them that is indented less: each depth is an attribute of its own.

Header rows over columns: each is the labels of an attribute, named by itself, by another row or by the title.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from recon.io.files.sheets import Sheet, SheetRow
from recon.readers.formats.tables.bodies import YEAR, TableBody
from recon.readers.formats.tables.dialects import Dialects, comparable
from solvers.foundation.errors import ReleaseError

EVERYBODY = "total"
FEWEST = 20  # people of whom two sections add up to the same counts by chance seldom
YEAR_NAMES, SEX_NAMES = r"years?|jahre?|années?|año|år", r"sex|gender|geschlecht|sexe|sexo|genre|kön|kjønn|køn"
Number = Callable[[str], int | None]


@dataclass(frozen=True)
class SectionColumns:
    """Columns that headings make: their names ("": none says it), and their cells for each line that is left.

    `rows`: the lines without headings; `labelled`: whether the labels of the lines stay a column of their own.
    """

    names: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    rows: tuple[SheetRow, ...]
    labelled: bool

    def beside(self, labels: Sequence[Sequence[str]], notes: list[str]) -> list[list[str]]:
        """Return the cells of all lines, labels behind those of headings, and note how headings were read."""
        what = "the values of an attribute" if self.labelled else "the names of attributes"
        notes.append(f"lines without counts are headings of the lines below them: {what}")
        return [[*cells, *(labels[i] if self.labelled else ())] for i, cells in enumerate(self.cells)]


def section_columns(
    rows: Sequence[SheetRow], stub: int, values: Sequence[int], is_total: Callable[[str], bool], number: Number
) -> SectionColumns | None:
    """Return the columns of the sections of a pivot with its labels in one column; None where it has no two sections.

    `number`: the count in a cell, None where it is hidden. Cost: linear in the cells.
    """
    parts: list[tuple[str, list[SheetRow]]] = []
    for row in rows:
        if not any(row.cells[k] for k in values):
            parts.append((row.cells[stub], []))
        elif not parts:
            return None
        else:
            parts[-1][1].append(row)
    headings = [heading for heading, _ in parts]
    if len(parts) < 2 or not all(some for _, some in parts) or len(set(headings)) < len(parts) or not all(headings):
        return None
    last = parts[-1][1][-1]
    alone = is_total(last.cells[stub]) and sum(is_total(row.cells[stub]) for _, some in parts for row in some) == 1
    whole = [parts[-1][1].pop()] if alone and len(parts[-1][1]) > 1 else []
    labels = [{row.cells[stub] for row in some if not is_total(row.cells[stub])} for _, some in parts]
    left = tuple(row for _, some in parts for row in some) + tuple(whole)
    if set.intersection(*labels):
        cells = [(heading,) for heading, some in parts for _ in some] + [(EVERYBODY,) for _ in whole]
        return SectionColumns(("",), tuple(cells), left, True)
    apart = sum(map(len, labels)) == len(set.union(*labels))
    sums = [_sums(some, stub, values, is_total, number) for _, some in parts]
    if not apart or len(set(sums)) > 1 or min(map(len, labels)) < 2:
        return None
    said = {tuple(number(row.cells[k]) for k in values) for row in whole}
    if said - {sums[0]} or (not said and sum(sums[0] or ()) < FEWEST):
        return None
    filled = []
    for at, (_, some) in enumerate(parts):
        for row in some:
            label = EVERYBODY if is_total(row.cells[stub]) else row.cells[stub]
            filled.append(tuple(label if k == at else EVERYBODY for k in range(len(parts))))
    return SectionColumns(tuple(headings), (*filled, *((EVERYBODY,) * len(parts) for _ in whole)), left, False)


def _sums(
    rows: Sequence[SheetRow], stub: int, values: Sequence[int], is_total: Callable[[str], bool], number: Number
) -> tuple[int, ...] | None:
    """Return the sum of each column of counts over the lines that are no totals, None where one is hidden."""
    each = [[number(row.cells[k]) for k in values] for row in rows if not is_total(row.cells[stub])]
    if any(count is None for line in each for count in line):
        return None
    return tuple(sum(count or 0 for count in column) for column in zip(*each, strict=True))


def indented_columns(
    sheet: Sheet, body: TableBody, known: Dialects, number: Number
) -> tuple[Sheet, TableBody, list[str]]:
    """Return a table with a column for each depth to which its labels are indented, and what is to be said of it.

    Believed where lines add up to the one that they lie in, or where two of them have parts of the same labels; left
    alone where parts are more than the whole. Raises `ReleaseError` where the counts show neither.
    """
    rows, depths = body.rows, sorted({row.indent for row in body.rows})
    if len(depths) < 2 or any(not row.cells[0] or not any(row.cells[1:]) for row in rows):
        return sheet, body, []
    above: list[int] = []
    parts: dict[int, list[int]] = {}
    cells = []
    for i, row in enumerate(rows):
        while above and rows[above[-1]].indent >= row.indent:
            above.pop()
        if above:
            parts.setdefault(above[-1], []).append(i)
        above.append(i)
        path = [rows[j].cells[0].rstrip(": ") for j in above]
        cells.append([EVERYBODY if known.total(label) else label for label in path])
    width = max(map(len, cells))
    cells = [[*path, *[EVERYBODY] * (width - len(path))] for path in cells]
    if not parts or len(set(map(tuple, cells))) < len(cells):
        return sheet, body, []
    believed = _adds_up(rows, parts, number)
    if believed is None:
        whole, first = (rows[i] for i in next((k, v[0]) for k, v in parts.items()))
        raise ReleaseError(
            f"'{first.cells[0][:40]}' is indented below '{whole.cells[0][:40]}', and no sum shows that it is a part of "
            "it: write a column for each level, or take the indents out",
            place=sheet.place(first.number),
        )
    if not believed:
        return sheet, body, []
    kept = [k for k in range(width) if any(line[k] != EVERYBODY for line in cells)]
    name = body.head[-1].cells[0]
    names = []
    for at, k in enumerate(kept):
        level = HeaderRow("", [line[k] for line in cells if line[k] != EVERYBODY])
        names.append("sex" if are_sexes(level, known) else name if not at else name and f"{name} {at + 1}")
    head = [replace(row, cells=(*[""] * len(kept), *row.cells[1:])) for row in body.head[:-1]]
    head.append(replace(body.head[-1], cells=(*names, *body.head[-1].cells[1:])))
    made = [replace(r, cells=(*(c[k] for k in kept), *r.cells[1:])) for r, c in zip(rows, cells, strict=True)]
    notes = ["labels that are indented lie in the line above them that is indented less"]
    return replace(sheet, made=len(kept) - 1), replace(body, head=head, rows=made), notes


def _adds_up(rows: Sequence[SheetRow], parts: Mapping[int, Sequence[int]], number: Number) -> bool | None:
    """Return whether lines are the sums of those indented below them; None where nothing shows it."""
    exact = 0
    for whole, some in parts.items():
        for k in range(1, len(rows[whole].cells)):
            said, each = number(rows[whole].cells[k]), [number(rows[i].cells[k]) for i in some]
            if not said:
                continue
            shown = sum(count or 0 for count in each)
            exact += None not in each and shown == said
            given = [said, *(count for count in each if count)]
            base = next((b for b in (10, 5, 3) if all(count % b == 0 for count in given)), 0)
            if shown > said + base * len(given):  # counts may be rounded
                return False
    labels = [frozenset(rows[i].cells[0] for i in some) for some in parts.values()]
    return True if exact or len(set(labels)) < len(labels) else None


@dataclass(frozen=True)
class HeaderRow:
    """A row of a pivot's header: its name, and the label over each column of counts."""

    name: str
    labels: list[str]


def header_row(row: SheetRow, values: list[int], stubs: list[int], above: Sequence[HeaderRow] = ()) -> HeaderRow:
    """Return the labels of a header row over the columns of counts; one that spans several stands over all of them.

    None spans from below one label of a row `above` to below the next: "Persons", beside sexes by age, is of all ages.
    """
    labels, last = list[str](), ""
    for c, k in enumerate(values):
        beside = not c or all(level.labels[c] == level.labels[c - 1] for level in above)
        last = row.cells[k] or (last if beside else "")
        labels.append(last)
    names = [row.cells[k] for k in stubs if row.cells[k]]  # pandas writes that of a level over the first column
    return HeaderRow(names[0] if len(names) == 1 else row.cells[stubs[-1]] if stubs else "", labels)


def without_units(levels: list[HeaderRow], known: Dialects, place: str) -> tuple[list[HeaderRow], int]:
    """Return the levels without a row of units, and of how many people one is by what stands over all columns."""
    each = {max(map(known.scale, labels)) for labels in zip(*(level.labels for level in levels), strict=True)} or {1}
    if len(each) > 1:
        raise ReleaseError("some columns are in thousands or the like, others are not: keep those of one", place=place)
    units = [len(set(level.labels)) == 1 and known.scale(level.labels[0]) > 1 for level in levels]
    return [level for level, unit in zip(levels, units, strict=True) if not unit or len(levels) == 1], each.pop()


def rows_with_names(levels: list[HeaderRow]) -> list[HeaderRow]:
    """Return the levels; one whose single label stands over all columns is the name of the one below it."""
    out: list[HeaderRow] = []
    name = ""
    for k, level in enumerate(levels):
        label = set(level.labels)
        if len(label) == 1 and k < len(levels) - 1 and not re.fullmatch(YEAR, next(iter(label)).strip()):
            name = next(iter(label))
            continue
        out.append(HeaderRow(name or level.name if k == len(levels) - 1 or name else level.name, level.labels))
        name = ""
    return out


def named_by_itself(level: HeaderRow, free: list[str], known: Dialects) -> HeaderRow:
    """Return a level with the name that its labels ask for, taken out of the title's names: sexes, or one year."""
    values = [label for label in level.labels if label and not known.total(label)]
    years = bool(values) and all(re.fullmatch(YEAR, label.strip()) for label in values)
    if level.name or not (years or are_sexes(level, known)):
        return level
    found = next((name for name in free if re.fullmatch(YEAR_NAMES if years else SEX_NAMES, comparable(name))), "")
    if found:
        free.remove(found)
    return replace(level, name=found or ("year" if years else ""))


def are_sexes(level: HeaderRow, known: Dialects) -> bool:
    """Return whether the labels of a level are sexes."""
    values = [label for label in level.labels if label and not known.total(label)]
    return bool(values) and all(known.listed("totals", "sexes", label) for label in values)


def names_in_title(title: Sequence[str], known: Dialects) -> list[str]:
    """Return the names of attributes in a title: "Deaths by area and sex, England" has area and sex."""
    for line in title:
        parts = re.split(known.words["said"]["by"], line, maxsplit=1, flags=re.IGNORECASE)
        if len(parts) == 2:
            told = " ".join(parts[1].split())
            said = re.split(r" (?:in|for|im|en|at|on) |[:(]|, ?(?:[A-ZÄÖÜ0-9])", told, maxsplit=1)[0]
            names = re.split(r" ?, ?| (?:and|und|et|och|en|by|nach|selon) ", said.strip())
            return [re.sub(r"^(?:the|le|la|l'|les|der|die|das)\s+", "", n.strip()) for n in names if n.strip()]
    return []
