"""From the rows of a sheet to lines of counts: title and notes apart, headers over columns, long tables and pivots.

A long table has a column of counts; a pivot has counts under the values of an attribute, or of several, one header row
each. Whatever the form, a line says which attributes have which values ("" where one is free) and how many rows that
is. What is set apart is said, with the reason; what is not understood is refused with its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from recon.io.files.opening import TableOptions
from recon.io.files.sheets import IN_PARTS, MAX_LINES, Sheet, SheetRow
from recon.io.files.tables import NUMBERED, counts_rows
from recon.readers.formats.tables.bodies import YEAR, RawLine, RawTable, TableBody, body_of, cells_of
from recon.readers.formats.tables.cells import are_shares, count_like, is_number
from recon.readers.formats.tables.column_roles import FIGURES, TEXTS, ColumnRoles, note_of, of_years
from recon.readers.formats.tables.dialects import Dialects, comparable, dialects
from recon.readers.formats.tables.sections import (
    HeaderRow,
    SectionColumns,
    are_sexes,
    header_row,
    indented_columns,
    named_by_itself,
    names_in_title,
    rows_with_names,
    section_columns,
    without_units,
)
from solvers.foundation.errors import ReleaseError, TooLarge

NAMES_SHOWN = 9
NOTES = re.compile(r"(?<=\S)\s*\[notes? ?\d+(?:[,;] ?(?:note )?\d+)*\]$", re.IGNORECASE)
DATE = rf"{YEAR}(?:-\d\d(?:-\d\d)?)?|\d{{1,2}}[./]\d{{1,2}}[./]{YEAR}"
UNNAMED = "column"  # what the attribute over the columns of a pivot is called where nothing names it
FIGURE = r"[\W\d_]+(?:[eE][-+]\d+)?|-?[iI]nf"  # what stands in a column of figures, where its name says that
MOST_FREE = 1.5  # combinations of labels and codes, of those that a cross table has: of counts hardly any is there


def raw_table(sheet: Sheet, options: TableOptions) -> RawTable:
    """Return the lines of a sheet. Raises `ReleaseError` naming the place of what is not understood."""
    body = body_of(sheet, options) if sheet.rows else None
    if body is None or not body.rows:
        raise ReleaseError("the table has no lines")
    known, body = dialects(), _body_without_notes(body)
    options = replace(options, count_columns=tuple(map(_without_note, options.count_columns)))
    sheet, body, notes = indented_columns(sheet, body, known, _shown_number)
    head = [cell for row in body.head for cell in row.cells]
    others = [cell for cell in head if "margin of error" in comparable(cell)]
    others += [line for line in body.title if known.found("said", "rate", line) and not any(map(known.figure, head))]
    if others and not options.count_columns:
        message = f"'{others[0][:60]}': its numbers are estimates or rates: a table of counts of people is needed"
        raise ReleaseError(message, place=sheet.place(body.head[0].number))
    long = _count_columns(sheet, body, options, known)
    found = _long_table(sheet, body, long, options, known) if long else _pivot_table(sheet, body, options, known)
    found.title, found.below = body.title, body.below
    found.notes += (*notes, *sheet.notes)
    return found


def _without_note(cell: str) -> str:
    """Return a name or a label without the "[note 1]" behind it; behind a count it stays a sign of that."""
    return re.sub(NOTES, "", cell) if cell[-1:] == "]" and not cell[0].isdigit() else cell


def _body_without_notes(body: TableBody) -> TableBody:
    """Return a table whose names and labels are without the numbers of notes."""
    head, rows = (
        [replace(row, cells=tuple(map(_without_note, row.cells))) for row in part] for part in (body.head, body.rows)
    )
    return replace(body, head=head, rows=rows, title=list(map(_without_note, body.title)))


def _count_columns(sheet: Sheet, body: TableBody, options: TableOptions, known: Dialects) -> list[int]:
    """Return the column of the counts of a long table, [] where the table is none.

    Raises `ReleaseError` where several may be it, or a column that was named is not there.
    """
    names = list(body.head[-1].cells)
    place = sheet.place(body.head[-1].number)
    asked = options.count_columns
    every = [cell for row in body.head for cell in row.cells]
    if missing := [name for name in asked if name not in every]:
        shown = ", ".join(f"'{n}'" for n in names[:NAMES_SHOWN] if n)
        raise ReleaseError(f"there is no column '{missing[0]}' (--count-column): there are {shown}", place=place)
    if len(asked) > 1 or len(body.head) > 1:
        return []
    if asked:
        return [names.index(asked[0])]
    # A long table has no value of an attribute in its header: a total, or the names of sexes, say that it is a pivot.
    sexes = sum(known.listed("totals", "sexes", name) for name in names[1:])
    found = [
        k
        for k, name in enumerate(names)
        if known.counts(name)
        and any(count_like(row.cells[k]) for row in body.rows)
        and not known.like("apart", "codes", name)
    ]
    found = found if len(found) < 2 else [k for k in found if not known.figure(names[k])] or found
    events = [k for k in found if comparable(names[k]) in known.words["count"]["events"]]
    if len(events) == 1 and len(found) > 1:
        beside = [k for k in found if k not in events]
        if all(comparable(names[k]) in known.words["count"]["denominators"] for k in beside):
            return events
    if len(found) > 1:
        wide = {_without_unit(names[k]) for k in found}
        if not sexes and not any(known.total(names[k]) for k in found) and wide & set(names):
            which = ", ".join(f"'{names[k]}'" for k in found[:NAMES_SHOWN])
            message = f"{which} may all be counts: name the one that is (--count-column '{names[found[0]]}')"
            raise ReleaseError(message, place=place)
        return []
    shares = sum(bool(known.like("figures", "percent", n) and not known.like("figures", "of_line", n)) for n in names)
    if len(found) == 1 and shares > 1 and known.like("figures", "base", names[found[0]]):
        return []
    if len(found) == 1 and (sexes > 1 or (known.total(names[found[0]]) and _numeric_columns(body, known) > 1)):
        return []
    if len(found) == 1 and any(
        k not in found and name and known.total(name) and _all_counts(body, k) for k, name in enumerate(names)
    ):
        return []
    return found


def _all_counts(body: TableBody, k: int) -> bool:
    cells = [row.cells[k] for row in body.rows if row.cells[k]]
    return any(map(is_number, cells)) and all(map(count_like, cells))


def _numeric_columns(body: TableBody, known: Dialects) -> int:
    return sum(
        any(is_number(row.cells[k]) for row in body.rows)
        and not of_years(body.head[-1].cells[k], [row.cells[k] for row in body.rows if row.cells[k]], known)
        and all(not row.cells[k] or count_like(row.cells[k]) for row in body.rows)
        for k in range(1, len(body.head[-1].cells))
    )


def _long_table(sheet: Sheet, body: TableBody, columns: list[int], options: TableOptions, known: Dialects) -> RawTable:
    """Return a table with a column of counts."""
    names, at = list(body.head[-1].cells), columns[0]
    place = sheet.place(body.head[-1].number)
    cells = [list(row.cells) for row in body.rows]
    apart: dict[str, str] = {}
    left = [k for k in range(len(names)) if k != at]
    if left and left[0] == 0 and names[0] in NUMBERED and counts_rows(names[0], [line[0] for line in cells]):
        apart[names[0] or "the first column"] = "it counts the rows (written by pandas or R)"
        left = left[1:]
    double = next((n for k, n in enumerate(names) if k in left and (not n or n in names[:k])), None)
    if double is not None:
        raise ReleaseError(f"the column '{double}' stands twice" if double else "a column has no name", place=place)
    counts = [line[at] for line in cells]
    roles = ColumnRoles(sheet, body, names, cells, left, known, apart)
    roles.take_named()
    roles.take_units()
    scale = roles.scale()
    roles.take_statuses(counts)
    roles.take_notes()
    roles.take_times()
    left = roles.left
    figures = {}
    for k in [
        k for k in left if known.figure(names[k]) or comparable(names[k]) in known.words["count"]["denominators"]
    ]:
        numbers = [line[k] for line in cells if line[k]]
        if (
            len(left) > 1
            and all(re.fullmatch(FIGURE, n) or comparable(n) in (*known.marks, "unreliable") for n in numbers)
            and roles.told_apart(k)
        ):
            figures[names[k]] = [line[k] for i, line in enumerate(cells) if i in roles.kept]
            left.remove(k)
    roles.take_codes(options)
    if not left:
        raise ReleaseError("has a column of counts alone: no attribute says of whom", place=place)
    notes: list[str] = []
    keys = _repeated(sheet, [[line[k] for k in left] for line in cells], body.rows, notes, free=True)
    lines = [RawLine(tuple(keys[i]), counts[i], sheet.place(body.rows[i].number, at)) for i in sorted(roles.kept)]
    return RawTable([names[k] for k in left], lines, "long", names[at], apart, figures, notes=notes, scale=scale)


def combined_first_column(sheet: Sheet) -> Sheet:
    """Return Eurostat's TSV with the parts of its first column ("sex,geo" and times) in columns of their own."""
    first = sheet.rows[0].cells[0] if sheet.rows else ""
    if sheet.delimiter != "\t" or "\\" not in first or "," not in first:
        return sheet
    width = first.count(",") + 1
    rows = []
    for row in sheet.rows:
        parts = row.cells[0].split(",", width - 1)
        if len(parts) != width:
            raise ReleaseError(
                f"'{row.cells[0][:40]}' has not {width} parts, as the header has", place=sheet.place(row.number)
            )
        rows.append(SheetRow(row.number, (*(p.strip() for p in parts), *row.cells[1:])))
    return replace(sheet, rows=tuple(rows))


def _pivot_table(sheet: Sheet, body: TableBody, options: TableOptions, known: Dialects) -> RawTable:
    """Return a table whose columns are values of attributes."""
    rows, head = body.rows, body.head
    width, place = len(head[0].cells), sheet.place(head[-1].number)
    values = _value_columns(body, options)
    if not values:
        raise _no_counts(body, [], place)
    apart = _columns_of_notes(sheet, body, values, known) if not options.count_columns else {}
    if len(rows) * len(values) > MAX_LINES:
        many = f"the table has {len(rows) * len(values):,} counts, more than {MAX_LINES:,}"
        raise TooLarge(f"{many}: {IN_PARTS}")
    stubs = [k for k in range(width) if k < values[0]]
    if not stubs:
        raise ReleaseError("has columns of counts alone: no column says of whom a line is", place=place)
    _refuse_hidden_attribute(body, stubs, values, known, place)
    names_row = head[-1] if len(head) > 1 and not any(head[-1].cells[k] for k in values) else None
    levels: list[HeaderRow] = []
    for row in head if names_row is None else head[:-1]:
        levels.append(header_row(row, values, stubs, levels))
    levels, scale = without_units(levels, known, place)
    columns, levels, base = _measures(values, levels, rows, apart, known)
    base = _base_in_title(sheet, body, columns, levels, known) if base is None else base
    levels = rows_with_names(levels)
    stub_names = _stub_names(names_row or head[-1], stubs, levels)
    if dated := next((n for n in stub_names if re.fullmatch(DATE, n)), ""):
        apart[dated] = "a date in the header"
        stub_names[stub_names.index(dated)] = ""
    sections = section_columns(rows, stubs[0], values, known.total, _shown_number) if len(stubs) == 1 else None
    if sections is not None:
        rows = list(sections.rows)
        stub_names = [*sections.names, *(stub_names if sections.labelled else [])]
    stub_names, levels = _with_names(body.title, stub_names, levels, sections, known)
    _refuse_raw_data(sheet, body, options, known, levels, columns, place)
    notes: list[str] = []
    stub_cells = [[row.cells[k] for k in stubs] for row in rows]
    stub_cells = _repeated(sheet, stub_cells, rows, notes) if sections is None else sections.beside(stub_cells, notes)
    levels = _of_one_time(levels, apart, place)
    alone = len(columns) == len(levels) == 1 and levels[0]
    count_name = alone.labels[0] if alone and (alone.name == UNNAMED or known.counts(alone.labels[0])) else ""
    levels = [] if count_name else levels
    lines = _pivot_lines(sheet, rows, head[-1], columns, levels, stub_cells, base)
    names = [*stub_names, *(level.name for level in levels)]
    if (double := next((n for k, n in enumerate(names) if n in names[:k]), None)) is not None:
        raise ReleaseError(f"two attributes are called '{double}'", place=place)
    names, lines = _stub_roles(sheet, body, names, lines, len(stub_names), known, apart, options)
    return RawTable(names, lines, "long" if count_name else "pivot", count_name, apart, notes=notes, scale=scale)


def _with_names(
    title: Sequence[str],
    stub_names: list[str],
    levels: list[HeaderRow],
    sections: SectionColumns | None,
    known: Dialects,
) -> tuple[list[str], list[HeaderRow]]:
    """Return the names of the columns before the counts, and the levels, with names from the title."""
    title_names = names_in_title(title, known)
    free = [name for name in title_names if comparable(name) not in {comparable(n) for n in stub_names if n}]
    levels = [named_by_itself(level, free, known) for level in levels]
    blank = [k for k, n in enumerate(stub_names) if not n]
    unnamed = [k for k, level in enumerate(levels) if not level.name]
    if len(free) > len(blank) + len(unnamed):
        free = [name for name in free if not any(known.like("apart", key, name) for key in ("measure", "time"))]
    if len(free) == len(blank) + len(unnamed):
        for k in blank:
            stub_names[k] = free.pop(0)
        for k in unnamed:
            levels[k] = replace(levels[k], name=free.pop(0))
    if sections is not None and not stub_names[0]:
        stub_names[0] = _name_of_sections(sections.cells, free, known)
    for k, level in enumerate(levels):
        if not level.name and are_sexes(level, known):
            levels[k] = replace(level, name="sex")
    stub_names = [n or ("row" if k == 0 else f"row {k + 1}") for k, n in enumerate(stub_names)]
    levels = [
        replace(level, name=level.name or (UNNAMED if k == 0 else f"{UNNAMED} {k + 1}"))
        for k, level in enumerate(levels)
    ]
    return stub_names, levels


def _pivot_lines(
    sheet: Sheet,
    rows: Sequence[SheetRow],
    head: SheetRow,
    columns: Sequence[int],
    levels: Sequence[HeaderRow],
    stub_cells: Sequence[Sequence[str]],
    base: int | None,
) -> list[RawLine]:
    """Return a line for every cell of the columns of counts."""
    lines = []
    for i, row in enumerate(rows):
        for c, k in enumerate(columns):
            if not row.cells[k] and not any(row.cells[j] for j in columns):
                raise ReleaseError(
                    f"'{' '.join(cells_of(row))[:40]}' stands alone: write a heading over lines in a column of its own",
                    place=sheet.place(row.number),
                )
            where = (
                sheet.place(row.number, k)
                if sheet.name
                else f"line {row.number}, column '{head.cells[k] or (levels[-1].labels[c] if levels else '')}'"
            )
            labels = (*stub_cells[i], *(level.labels[c] for level in levels))
            lines.append(RawLine(labels, row.cells[k], where, "" if base is None else row.cells[base]))
    return lines


def _shown_number(cell: str) -> int | None:
    """Return the count that a cell shows, None where it is hidden or no plain number."""
    plain = re.fullmatch(r"\d{1,15}|\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+", cell)
    return int(re.sub(r"\D", "", cell)) if plain else None


def _name_of_sections(cells: Sequence[Sequence[str]], free: Sequence[str], known: Dialects) -> str:
    """Return what the attribute of headings is called: sex where they are sexes, else the name that the title says."""
    if all(known.listed("totals", "sexes", line[0]) for line in cells if not known.total(line[0])):
        return "sex"
    return free[0] if len(free) == 1 else "section"


def _of_one_time(levels: Sequence[HeaderRow], apart: dict[str, str], place: str) -> list[HeaderRow]:
    """Return the levels without years, which are set apart; counts of several years are refused."""
    kept = []
    for level in levels:
        if not level.labels or not all(re.fullmatch(YEAR, label.strip()) for label in level.labels):
            kept.append(level)
            continue
        years = list(dict.fromkeys(level.labels))
        if len(years) > 1:
            raise ReleaseError(
                f"has counts of several times ({', '.join(years[:3])}, ...): other times are other people: keep one",
                place=place,
            )
        apart[level.name] = f"it is {years[0]} in every line"
    return kept


def _value_columns(body: TableBody, options: TableOptions) -> list[int]:
    """Return the columns of a pivot that hold counts: those named, else those that hold counts and nothing else."""
    width, said = len(body.head[0].cells), {comparable(one.mark) for one in options.hidden}
    if options.count_columns:
        return [k for k in range(width) if any(row.cells[k] in options.count_columns for row in body.head)]
    out: list[int] = []
    known = dialects()
    for k in range(1, width):
        cells = [row.cells[k] for row in body.rows if row.cells[k]]
        name = body.head[-1].cells[k]
        # Codes, before any count, and years are numbers of the lines.
        if len(body.head) == 1 and (
            (not out and re.search(r"\bcodes?$", comparable(name))) or of_years(name, cells, known)
        ):
            continue
        if cells and all(count_like(c) or comparable(c) in said for c in cells) and any(map(is_number, cells)):
            out.append(k)
    numbers = {comparable(row.cells[k]) for row in body.rows for k in out}
    hidden = []  # columns in which every count is hidden; before the first of the counts they may be labels
    for k in [k for k in range(1, width) if out and k not in out]:
        marks = {comparable(row.cells[k]) for row in body.rows if row.cells[k]}
        signs = marks <= known.marks.keys() and (
            len(marks) == 1 or marks <= numbers or not any(map(str.isalpha, marks))
        )
        if marks and (signs or (k > out[0] and all(not row.cells[k] or count_like(row.cells[k]) for row in body.rows))):
            hidden.append(k)
    blank = [
        k for k in range(1, width) if out and body.head[-1].cells[k] and not any(row.cells[k] for row in body.rows)
    ]
    for k in reversed(blank):  # beside counts: a value of which all are hidden
        if k > out[0] or k + 1 in (*out, *hidden):
            hidden.append(k)
    values = sorted([*out, *hidden])
    first = _first_of_counts(body, values) if values else 0
    return [k for k in values if k >= first]


def _first_of_counts(body: TableBody, values: Sequence[int]) -> int:
    """Return the first column of counts: numbers before it are codes, where labels occur once only with them.

    A cross table of several attributes in its lines has all of them before the counts, and most of their combinations;
    a last column of totals says which columns it adds up.
    """
    labels = [row.cells[values[-1]] for row in body.head]
    if any(label and dialects().total(label) for label in labels):
        shown = [[_shown_number(row.cells[k]) for k in values] for row in body.rows]
        for c, k in enumerate(values[:-1]):
            if all(None not in line[c:] and sum(x or 0 for x in line[c:-1]) == line[-1] for line in shown):
                return k
            if any(row.cells[k] and line[c] is None for row, line in zip(body.rows, shown, strict=True)):
                break  # a mark stands for a count, not for a code
    lines = [row.cells[: values[0]] for row in body.rows]
    for k in range(values[0], values[-1]):
        if len(set(lines)) == len(lines):
            return k
        codes = [row.cells[k] for row in body.rows]
        longer = [(*line, code) for line, code in zip(lines, codes, strict=True)]
        possible = len(set(lines)) * len(set(filter(None, codes)))
        if possible > MOST_FREE * len(set(longer)):
            break
        lines = longer
    return values[0]


def _columns_of_notes(sheet: Sheet, body: TableBody, values: Sequence[int], known: Dialects) -> dict[str, str]:
    """Return the columns beside the counts that hold no count; `ReleaseError` for a cell that bars one from being read.

    A column that shows numbers, and is none of figures or notes by its name, holds counts.
    """
    apart: dict[str, str] = {}
    for k in [k for k in range(values[0] + 1, len(body.head[0].cells)) if k not in values]:
        name = " ".join(row.cells[k] for row in body.head if row.cells[k])
        cells = [(row, row.cells[k]) for row in body.rows if row.cells[k]]
        bad = next((row for row, cell in cells if not count_like(cell)), None)
        named = any(known.figure(row.cells[k]) or known.like("apart", "notes", row.cells[k]) for row in body.head)
        if bad is not None and not named and 2 * sum(is_number(cell) for _, cell in cells) >= len(cells):
            told = f"'{bad.cells[k][:40]}' of the column '{name}' is neither a count nor a mark that hides one"
            step = f"say what it stands for (--suppressed '{bad.cells[k][:40]}=0..' for any number)"
            raise ReleaseError(f"{told}: {step}, or take the column out", place=sheet.place(bad.number, k))
        if cells:
            apart[name or "a column without a name"] = note_of(name, known, "no counts")
    return apart


def _refuse_hidden_attribute(
    body: TableBody, stubs: list[int], values: Sequence[int], known: Dialects, place: str
) -> None:
    """Refuse a column behind the first count that alone tells lines apart: it is no note, but an attribute."""
    every = [tuple(row.cells[k] for k in stubs) for row in body.rows]
    if len(set(every)) == len(every):
        return
    for k in (k for k in range(values[0], len(body.head[0].cells)) if k not in values):
        name = body.head[-1].cells[k]
        if not known.figure(name) and len(
            {(*key, row.cells[k]) for key, row in zip(every, body.rows, strict=True)}
        ) == len(every):
            raise ReleaseError(
                f"the column '{name}' distinguishes lines but is behind counts: move it before them", place=place
            )


def _measures(
    values: list[int], levels: list[HeaderRow], rows: Sequence[SheetRow], apart: dict[str, str], known: Dialects
) -> tuple[list[int], list[HeaderRow], int | None]:
    """Return the columns that are read, the levels that are about people, and the column of which they are percentages.

    None: they are counts; other columns of figures are then set apart.
    """
    kinds = [[_kind_of(label, known) for label in level.labels] for level in levels]
    measured = [m for m, each in enumerate(kinds) if all(each) and ("count" in each or len(levels) > 1)]
    figures = [c for c in range(len(values)) if any(each[c] == "figure" for each in kinds)]
    keep = [c for c in range(len(values)) if c not in figures]
    labels = [level.labels for level in levels]
    bases = [c for c in keep if len(levels) == 1 and known.like("figures", "base", labels[0][c])]
    percent = [c for c in figures if any(known.like("figures", "percent", each[c]) for each in labels)]
    if len(keep) == 1 and bases == keep and len(percent) > 1 and percent == figures:
        found = [_without_unit(labels[0][c]) for c in percent]
        return [values[c] for c in percent], [HeaderRow(levels[0].name, found)], values[keep[0]]
    counts = [[row.cells[values[c]] for c in keep] for row in rows]
    for c in figures:
        shares = are_shares([row.cells[values[c]] for row in rows], counts)
        name = " ".join(dict.fromkeys(each[c] for each in labels if each[c]))
        apart[name] = "shares of the counts" if shares else FIGURES
    left = [level for m, level in enumerate(levels) if m not in measured]
    found_rows = [HeaderRow(level.name, [_without_unit(level.labels[c]) for c in keep]) for level in left]
    return [values[c] for c in keep], found_rows, None


def _kind_of(label: str, known: Dialects) -> str:
    """Return of what a label over a column is: "figure", "count", or "" of a value of an attribute."""
    if known.total(label):
        return ""
    return "figure" if known.figure(label) else "count" if known.counts(_without_unit(label)) else ""


def _base_in_title(
    sheet: Sheet, body: TableBody, columns: list[int], levels: list[HeaderRow], known: Dialects
) -> int | None:
    """Return the column of the base where the title says that the others are percentages, None where they are counts.

    The column and its label are taken out of `columns` and `levels`. Raises `ReleaseError` where there is no base.
    """
    said = [
        line for line in body.title if known.found("said", "percent", line) and not known.found("said", "number", line)
    ]
    if not said or not levels:
        return None
    at = [
        c
        for c, label in enumerate(levels[-1].labels)
        if known.like("figures", "base", label) and not known.total(label)
    ]
    if len(at) != 1:
        message = f"the table says '{said[0][:60]}': percentages are no counts without a column of their base (n)"
        raise ReleaseError(message, place=sheet.place(body.head[-1].number))
    for level in levels:
        del level.labels[at[0]]
    return columns.pop(at[0])


def _without_unit(label: str) -> str:
    """Return a label without what says of what its figures are: "Males (number)" and "Males %" are "Males"."""
    units = r"\((?:number|count|n|no\.?|persons|anzahl|nombre|aantal|antal|%)\)|%"
    return re.sub(rf"(?:{units})$|^%\s+(?:of\s+)?", "", label, flags=re.IGNORECASE).rstrip()


def _stub_names(row: SheetRow, stubs: list[int], levels: list[HeaderRow]) -> list[str]:
    """Return the names of the columns before the counts; what follows a backslash in one names a header row."""
    names = [row.cells[k] for k in stubs]
    last = names[-1]
    before, _, behind = (part.strip() for part in last.partition("\\"))
    if before and behind and levels:
        names[-1] = before
        levels[-1] = replace(levels[-1], name=behind)
    elif levels:  # the name in the header's row is that of the stub, not of the row's labels, if no other row has it
        levels[-1] = replace(levels[-1], name="" if levels[-1].name == last else levels[-1].name)
    return names


def _refuse_raw_data(
    sheet: Sheet,
    body: TableBody,
    options: TableOptions,
    known: Dialects,
    levels: list[HeaderRow],
    columns: list[int],
    place: str,
) -> None:
    """Refuse columns of numbers of which nothing says that they are counts: they may be rows of people."""
    if options.count_columns or len(body.head) > 1:
        return
    labels = [label for level in levels for label in level.labels]
    cells = [row.cells[k] for row in body.rows for k in columns]
    stubs = [cell for row in body.rows for cell in row.cells[: columns[0]]] if columns else []
    said = (
        any(known.total(label) for label in (*labels, *stubs))
        or any(cell and not is_number(cell) for cell in cells)
        or sum(known.listed("totals", "sexes", label) for label in labels) > 1
        or {"yes", "no"} <= set(map(comparable, labels))
        or any(
            known.found("said", "by", line)
            or re.search(r"\b(?:number|count|persons|people|anzahl|nombre)\b", comparable(line))
            for line in body.title
        )
        or any(known.counts(label) for label in labels)
    )
    if not said:
        raise _no_counts(body, columns, place)


def _no_counts(body: TableBody, columns: list[int], place: str) -> ReleaseError:
    """Return why a table without counts is refused; `columns`: those of numbers that may be counts after all."""
    shown = ", ".join(repr(cell) for cell in body.head[-1].cells[:NAMES_SHOWN] if cell)
    named = " ".join(f"--count-column '{body.head[-1].cells[k]}'" for k in columns[:3])
    counts = f"; if its numbers are numbers of people, name the columns ({named})" if named else ""
    return ReleaseError(
        "is of no format that is read: it has no column of counts (count, n, freq, ...), which a table of counts has, "
        f"but {shown}; if its lines are people, it is no release but data: recon audit MODEL --domain DATA.csv{counts}",
        place=place,
    )


def _repeated(
    sheet: Sheet, cells: list[list[str]], rows: Sequence[SheetRow], notes: list[str], free: bool = False
) -> list[list[str]]:
    """Return the cells of lines where an empty one below a label, with a label behind it, repeats the one above.

    Where both this and "all values" leave no two lines alike, a sheet repeats (a merged cell is empty but for its
    first), a long table in a text has free cells (`free`), and of other texts it is asked what is meant.
    """
    filled: list[list[str]] = []
    changed = None
    for i, line in enumerate(cells):
        out = list(line)
        for k in range(len(line) - 1):
            if not line[k] and i and any(line[k + 1 :]) and all(line[j] in ("", filled[-1][j]) for j in range(k)):
                out[k] = filled[-1][k]
                changed = changed if changed is not None or not out[k] else i
        filled.append(out)
    if changed is None:
        return cells
    as_is, repeated = (len(set(map(tuple, one))) == len(cells) for one in (cells, filled))
    if as_is and free and not sheet.name:
        return cells
    if as_is and repeated and not sheet.name:
        message = "the first cell is empty: write the value above it again, or 'total'"
        raise ReleaseError(message, place=sheet.place(rows[changed].number))
    if repeated:
        notes.append(f"empty cells repeat the label above them ({sheet.place(rows[changed].number)} and others)")
    return filled if repeated else cells


def _stub_roles(
    sheet: Sheet,
    body: TableBody,
    names: list[str],
    lines: list[RawLine],
    stubs: int,
    known: Dialects,
    apart: dict[str, str],
    options: TableOptions,
) -> tuple[list[str], list[RawLine]]:
    """Return attributes and lines without columns before the counts that count rows, or are codes, times, units."""
    cells = [list(line.cells) for line in lines]
    roles = ColumnRoles(sheet, body, names, cells, list(range(stubs)), known, apart)
    if stubs > 1 and counts_rows(body.head[-1].cells[0], [row.cells[0] for row in body.rows]):
        apart["the first column"] = "it counts the rows (written by pandas or R)"
        roles.left.remove(0)
    marks = [k for k in roles.left if known.like("apart", "notes", names[k])]
    apart |= {names[k]: note_of(names[k], known, TEXTS) for k in marks}
    roles.left = [k for k in roles.left if k not in marks]
    if len(roles.left) > 1:
        roles.take_named()
        roles.take_units()
        roles.take_times()
    roles.take_codes(options)
    left = [*roles.left, *range(stubs, len(names))]
    return [names[k] for k in left], [
        replace(line, cells=tuple(line.cells[k] for k in left)) for i, line in enumerate(lines) if i in roles.kept
    ]
