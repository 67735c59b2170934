"""Reads a table of counts: one line per group, a column per attribute, one with the number of rows.

An attribute's cell that is empty or says total, all, any, sum or * leaves the attribute free, so that margins can stand
among the cells. Counts may be hidden: `<10`, `5-9`, or a mark such as `*` or `..` (nothing is known then).
Categories that are ranges of numbers (`65-69`, `under 65`) are tests on a numeric attribute (`encoders.domain.bands`).

Source: Hundepool et al., "Statistical Disclosure Control", 2012, ch. 4 (margins, primary suppression).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from encoders.domain.bands import banded, bands_of, finest
from encoders.domain.domain import Condition
from encoders.domain.values import AnyAttribute, Categorical, Test, Value, equals, exact, plain_number
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Statistic, Table, UnusedPublication
from encoders.parts.base import MAX_ROWS
from encoders.parts.statistics import numeric
from recon.io.files.opening import table_options, table_read_as
from recon.io.files.sheets import Sheet, text_sheet
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.printed.console_tables import has_rules, looks_printed, printed_sheet
from recon.readers.formats.tables.cells import CountCell, NumberForm, count_like, is_number
from recon.readers.formats.tables.counted import CountedTable, TableLine, counted_table
from recon.readers.formats.tables.dialects import dialects
from recon.readers.formats.tables.hierarchies import hierarchies_of
from recon.readers.formats.tables.status_tables import argus_sheet, without_unsafe
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import collector_paused
from solvers.statements.release import RowCount

FORMAT = "table of counts"
HEAD = 4096  # letters that tell a printed table
ANYTHING = frozenset({"", "total", "all", "any", "sum", "*"})
INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,14})")
DECIMAL = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
MAX_LINES = 1_000_000
ONLY_THESE = "where no domain is declared, the attributes have the values that occur in the table and no others"
FinestTests = tuple[list[Test], bool]  # of an attribute: those that hold no other, and whether they are everybody
SHARE = "the counts imply it"
ALL_CELLS = "the table has a line for every combination of its values, so all rows are in it"


def looks_like_count_table(head: str) -> bool:
    """Return whether a text has a table of counts, parted by a sign or printed in columns of blanks."""
    return _parted(head) or has_rules(head) or looks_printed(head)


def _parted(head: str) -> bool:
    """Return whether lines of a text have as many cells as the one before, and some hold a number or a hidden one."""
    rows = text_sheet(head.rpartition("\n")[0] or head).rows
    wide = [b for a, b in pairwise(rows) if 1 < len(a.cells) in {len(b.cells), len(b.cells) - 1}]
    return any(count_like(cell) for row in wide for cell in row.cells[1:])


def read_count_table(text: str) -> Draft:
    """Return the figures of a table of counts in a text: see `draft_of_sheet`."""
    options = table_options()
    with collector_paused():
        if options.metadata is None:
            head = text[:HEAD]
            printed = has_rules(head) or (not _parted(head) and looks_printed(head))
            return draft_of_sheet(printed_sheet(text) if printed else text_sheet(text))
        sheet, known = argus_sheet(text, options)
        with table_read_as(known):
            draft = draft_of_sheet(sheet)
    return replace(draft, heeded=draft.heeded | {"metadata"})


def draft_of_sheet(sheet: Sheet) -> Draft:
    """Return the figures of a table of counts. Cost: linear in the cells.

    Raises `ReleaseError` naming the place for cells that are no counts, `TooLarge` beyond 1,000,000 lines.
    """
    table = counted_table(without_unsafe(sheet))
    names, lines = list(table.names), table.lines
    beside = {
        name: SHARE if _is_share(cells, [line.count for line in lines]) else "figures beside counts"
        for name, cells in table.figures.items()
    }
    columns, hints, notes = dict[str, list[Test | None]](), dict[str, AnyAttribute](), list[str]()
    texts = {name: [line.cells[k] for line in lines] for k, name in enumerate(names)}
    options = table_options()
    trees, parents_of = hierarchies_of(options.hierarchies, names, texts, ANYTHING, options.missing_codes)
    for name, cells in texts.items():
        if name in trees:
            columns[name], hints[name] = trees[name].column(cells, ANYTHING)
            continue
        column = _column(cells)
        hint, assumed = _hint_of(name, column)
        if hint is not None:
            narrow = {id(test): _narrowing(test, hint) for test in {id(test): test for test in column}.values()}
            hints[name], columns[name] = hint, [narrow[id(test)] for test in column]
            notes += [assumed] if assumed else []
    figures = []
    for i, line in enumerate(lines):
        condition = tuple((name, test) for name, tests in columns.items() if (test := tests[i]) is not None)
        figures.append(_figure_of(condition, line))
    if not hints:
        raise ReleaseError("no line of the table is about an attribute's value")
    parts = {name: finest(hint, [t for t in columns[name] if t is not None]) for name, hint in hints.items()}
    listed = hints
    hints, further = _with_further_values(figures, hints, {n: some for n, some in parts.items() if n not in trees})
    parts = {n: (tests, whole and hints[n] is listed[n]) for n, (tests, whole) in parts.items()}
    rows, complete = _rows_of(figures, parts)
    means, told = _means_of(table, [figure.condition for figure in figures])
    beside |= told
    unused = [name for name in names if name not in hints]
    for one in parents_of:
        hints.setdefault(one.parent, Categorical(one.parent, tuple(dict.fromkeys(one.parents.values()))))
    assumptions = (ONLY_THESE, *notes, *((ALL_CELLS,) if complete else ()))
    notes = [*further, *table.notes]
    notes += [
        f"'{name}' holds figures of the lines, no value of an attribute: it is set apart"
        for name in beside
        if name not in told
    ]
    notes += [f"'{name}': {why}" for name, why in told.items()]
    notes += [f"'{name}' is free in every line, so that the table says nothing about it" for name in unused]
    if any(f.suppressed for f in figures):
        hidden = sum(f.suppressed is not None for f in figures)
        notes.append("1 count is hidden" if hidden == 1 else f"{hidden:,} counts are hidden")
    return TableDraft(
        Provenance(
            FORMAT,
            ("exact",),
            assumptions,
            unused=tuple(
                UnusedPublication(name if name.startswith("lines whose") else f"the column '{name}'", why)
                for name, why in (*beside.items(), *table.unread)
                if why != SHARE
            ),
            understood=table.understood,
        ),
        tuple(Feature(name, name) for name in hints),
        (Table(tuple(figures)),),
        rows=rows,
        hints=hints,
        groups=True,
        impossible=tuple(condition for one in parents_of for condition in one.impossible()),
        reader_notes=tuple(notes),
        heeded=table.heeded,
        means=means,
    )


@dataclass(frozen=True)
class TableDraft(Draft):
    """A table of counts, and means beside them of columns that a declared domain may have, by the table's column."""

    means: tuple[tuple[str, PublishedFigure], ...] = ()

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the table over a domain, with the means of the attributes that it has and whose values add up."""
        used, figures = set[str](), []
        for column, figure in self.means:
            try:
                numeric(binder.domain, figure.statistic.of if figure.statistic is not None else "")
            except ReleaseError:
                continue
            used.add(f"the column '{column}'")
            figures.append(replace(figure, condition=binder.translate(figure.condition)))
        (table,) = super().bound(binder)
        if not figures or not isinstance(table, Table):
            return (table,)
        origin = replace(self.origin, unused=tuple(one for one in self.origin.unused if one.what not in used))
        return (replace(table, statements=(*table.statements, *figures), origin=origin),)


def _means_of(
    table: CountedTable, conditions: Sequence[Condition]
) -> tuple[tuple[tuple[str, PublishedFigure], ...], dict[str, str]]:
    """Return the means beside counts with their columns, and of each such column why it may be unused.

    A mean is off by half of its last digit that is not 0 in every line. Of cells that may be thousands or thousandths
    none is used.
    """
    out, told = list[tuple[str, PublishedFigure]](), dict[str, str]()
    for column, cells in table.figures.items():
        found = dialects().like("figures", "mean", column)
        of = next((name for name in (found.groups() if found else ()) if name), "")
        shown = [(cell, line.place) for cell, line in zip(cells, table.lines, strict=True) if is_number(cell)]
        ends = [m for cell, _ in shown if (m := re.search(r"([.,])(\d+)$", cell))]
        signs = {m[1] for m in ends if len(m[2]) != 3}
        if not of or not shown:
            continue
        if ends and len(signs) != 1:
            told[column] = "its signs may part thousands or thousandths, so that its means are not used"
            continue
        if any("%" in cell or "e" in cell for cell, _ in shown):
            told[column] = "percent signs and powers of ten leave open how exact its means are, which are not used"
            continue
        form = NumberForm(*((".", ",") if "," in signs else (",", ".")))
        values = {place: form.exact(cell.replace("\u2212", "-")) for cell, place in shown}
        unit = Fraction(1, 10 ** max((len(m[2]) for m in ends if m[1] == form.decimal), default=0))
        while unit >= 1 and any(values.values()) and all(v % (10 * unit) == 0 for v in values.values()):
            unit *= 10
        told[column] = f"its means are used where a declared domain (--domain) has a numeric attribute '{of}'"
        for line, condition in zip(table.lines, conditions, strict=True):
            if line.place in values and not (line.count.exact and not line.count.low):
                mean = Statistic("mean", of, plain_number(values[line.place]), plain_number(unit / 2))
                out.append((column, PublishedFigure(condition, statistic=mean, name=f"{line.place}, {column}")))
    return tuple(out), told


def _is_share(cells: Sequence[str], counts: Sequence[CountCell]) -> bool:
    """Return whether cells are the counts' shares or percentages of their total, as far as their digits show."""
    if not all(c.exact for c in counts) or not (total := sum(c.low for c in counts)):
        return False
    texts = [cell.rstrip("%") for cell in cells]
    if not all(map(DECIMAL.fullmatch, texts)):
        return False
    off = [Fraction(6, 10 ** (len(t.partition(".")[2]) + 1)) for t in texts]
    return any(
        all(abs(Fraction(t) - Fraction(whole * n.low, total)) <= o for t, n, o in zip(texts, counts, off, strict=True))
        for whole in (1, 100)
    )


def _column(cells: Sequence[str]) -> list[Test | None]:
    """Return what an attribute's cells ask for, None where it is free.

    Numbers or booleans where all cells are, ranges of numbers where some are and the others are numbers.
    """
    given = {cell for cell in cells if cell.lower() not in ANYTHING}
    values: dict[str, Value] = {cell: cell for cell in given}
    if all(INTEGER.fullmatch(cell) for cell in given):
        values = {cell: int(cell) for cell in given}
    elif all(DECIMAL.fullmatch(cell) and not re.match(r"-?0\d", cell) for cell in given):
        values = {cell: int(cell) if INTEGER.fullmatch(cell) else float(cell) for cell in given}
    elif given <= {"True", "False"}:
        values = {cell: cell == "True" for cell in given}
    elif (bands := bands_of(given)) is not None:
        return [bands.get(cell) for cell in cells]
    if len(set(values.values())) < len(given):  # "1.0" and "1" are of two groups, whatever these are
        values = {cell: cell for cell in given}
    tests = {cell: equals(value) for cell, value in values.items()}  # one for all cells that say the same
    return [tests.get(cell) for cell in cells]


def _hint_of(name: str, tests: Sequence[Test | None]) -> tuple[AnyAttribute | None, str]:
    """Return the attribute of the values that occur, None where none does, and what it assumes ("").

    Numbers ascend, text stands as it appears.
    """
    seen = [test for test in dict.fromkeys(tests) if test is not None]
    if not seen:
        return None, ""
    if any(test.values is None for test in seen):
        return banded(name, seen)
    values = list(dict.fromkeys(value for test in seen for value in test.values or ()))
    return Categorical(name, tuple(values if isinstance(values[0], str) else sorted(values, key=exact))), ""


def _narrowing(test: Test | None, hint: AnyAttribute) -> Test | None:
    """Return a test, None where every value passes it: "0 and over" says nothing."""
    return None if test is None or (hint.ranges(test) == (hint.span,) and not isinstance(hint, Categorical)) else test


def _with_further_values(
    figures: Sequence[PublishedFigure], hints: dict[str, AnyAttribute], finest_tests: Mapping[str, FinestTests]
) -> tuple[dict[str, AnyAttribute], list[str]]:
    """Return the attributes with a value more where a total exceeds the values listed beside it, and a note on each.

    That is text for all values that the table leaves out. Numbers and truths stay as they are: which others there are
    only a declared domain says. Cost: linear in the cells of the table.
    """
    counts = {frozenset(f.condition): int(f.count) for f in figures if f.count is not None}
    finest_sets = {(name, test) for name, (tests, _) in finest_tests.items() for test in tests}
    parts: dict[tuple[frozenset[tuple[str, Test]], str], list[int]] = {}
    for condition, count in counts.items():
        for one in condition & finest_sets:
            parts.setdefault((condition - {one}, one[0]), []).append(count)
    listed = {name: len(tests) for name, (tests, _) in finest_tests.items() if isinstance(hints[name], Categorical)}
    sums = {key: sum(each) for key, each in parts.items() if len(each) == listed.get(key[1])}
    out, notes = dict(hints), []
    for (rest, name), total in sums.items():
        missing = counts.get(rest, total) - total
        if missing <= 0 or out[name] is not hints[name]:
            continue
        values = _values_of(hints[name])
        if not isinstance(values[0], str):
            notes.append(
                f"{missing:,} rows have a value of '{name}' that the table leaves out: declare it with --domain"
            )
            continue
        other = next(text for text in ("other", "not listed", *map(str, range(len(values) + 1))) if text not in values)
        out[name] = Categorical(name, (*values, other))
        notes.append(f"'{name}' has a further value '{other}': the values listed are {missing:,} rows short of a total")
    return out, notes


def _figure_of(condition: Condition, line: TableLine) -> PublishedFigure:
    """Return the figure of a line."""
    count, name = line.count, line.place
    if count.exact:
        return PublishedFigure(condition, count=count.low, name=name)
    if not count.mark:
        return PublishedFigure(condition, low=count.low, high=count.high, name=name)
    if count.high is None:
        return PublishedFigure(condition, low=count.low or None, suppressed="unknown", name=name)
    return PublishedFigure(condition, low=count.low, high=count.high, suppressed="primary", name=name)


def _rows_of(figures: Sequence[PublishedFigure], parts: Mapping[str, FinestTests]) -> tuple[RowCount | None, bool]:
    """Return how many rows there are, and whether that is because every combination of values has a line.

    A line about everybody says it; else the lines about single combinations bound it from below.
    """
    everybody = next((f.count for f in figures if not f.condition and f.count is not None), None)
    if everybody is not None:
        return RowCount(int(everybody), int(everybody)), False
    if (total := _total_of_parts(figures, parts)) is not None:
        return RowCount(total, total), True
    of_parts = {(name, test) for name, (tests, _) in parts.items() for test in tests}
    cells = {f.condition: f for f in figures if len(f.condition) == len(parts) and of_parts.issuperset(f.condition)}
    low = sum(int(f.count or f.low or 0) for f in cells.values())
    if low > MAX_ROWS:
        raise ReleaseError("the counts sum to more than 2^53 rows")
    product = math.prod(len(tests) for tests, _ in parts.values())
    if len(cells) < product or not all(whole for _, whole in parts.values()):
        return (RowCount(low, None) if low else None), False
    highs = [f.count if f.count is not None else f.high for f in cells.values()]
    high = None if None in highs else sum(int(h) for h in highs if h is not None)
    return RowCount(low, high), True


def _total_of_parts(figures: Sequence[PublishedFigure], parts: Mapping[str, FinestTests]) -> int | None:
    """Return the rows of everybody as a sum of counts of all values of attributes, None where some are not counted.

    Raises `ReleaseError` where two such sums of single attributes differ.
    """
    counts = {frozenset(f.condition): int(f.count) for f in figures if f.count is not None}
    known: dict[frozenset[tuple[str, Test]], int | None] = dict(counts)
    each_of = {name: [(name, test) for test in tests] for name, (tests, whole) in parts.items() if whole}
    if math.prod(1 + len(each) for each in each_of.values()) > MAX_LINES:
        return None

    def rows(fixed: frozenset[tuple[str, Test]]) -> int | None:
        if fixed not in known:
            known[fixed] = None
            taken = {name for name, _ in fixed}
            for name in (one for one in each_of if one not in taken):
                found = [rows(fixed | {one}) for one in each_of[name]]
                if None not in found:
                    known[fixed] = sum(n for n in found if n is not None)
                    break
        return known[fixed]

    margins = {n: [counts.get(frozenset([one])) for one in each] for n, each in each_of.items()}
    sums = {n: sum(filter(None, each)) for n, each in margins.items() if None not in each}
    if len(set(sums.values())) > 1:
        (first, a), (second, b) = sorted(sums.items(), key=lambda one: one[1])[:: len(sums) - 1]
        raise ReleaseError(f"the counts by '{first}' add up to {a:,} rows, those by '{second}' to {b:,}: not both hold")
    return rows(frozenset())


def _values_of(hint: AnyAttribute) -> list[Value]:
    """Return the values of an attribute that occur in the table."""
    return [value for i in range(hint.span[1]) if (value := hint.value(i)) is not None]
