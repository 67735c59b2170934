"""A table of counts as CSV, a column per attribute, the count last, hidden counts as marks; and as files of τ-ARGUS.

The text is what `recon.readers.formats.printed.count_table` reads; whoever writes it has to see that it is read back.

Source: RFC 4180 (CSV); `recon.readers.formats.tables.status_tables` (.tab, .rda, .hrc).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from encoders.domain.domain import Domain
from encoders.domain.values import Test
from encoders.models.models import PublishedFigure, Table
from recon.readers.formats.tables.hierarchies import CategoryTree
from recon.readers.formats.tables.status_tables import (
    SENSITIVE,
    SHOWN,
    TOTAL,
    SdcProblem,
    WrittenVariable,
    sdc_files,
    table_files,
)
from solvers.foundation.errors import Unsupported

HIDDEN_MARK, EVERYBODY = "*", "total"


def table_text(table: Table, domain: Domain, trees: Mapping[str, CategoryTree] | None = None) -> str:
    """Return a table as CSV; `Unsupported` for groups of values that have no name, in `trees` neither."""
    named = {name for figure in table.statements for name, _ in figure.condition}
    columns = [a.name for a in domain.all if a.name in named]
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([*columns, "count"])
    cells = [_codes(table, name, (trees or {}).get(name), EVERYBODY) for name in columns]
    for k, figure in enumerate(table.statements):
        lines.writerow([*(each[k] for each in cells), _count(figure)])
    return out.getvalue()


def argus_files(
    table: Table, hidden: Table, domain: Domain, trees: Mapping[str, CategoryTree], stem: str
) -> dict[str, str]:
    """Return a complete table as files of τ-ARGUS by their ends, with the status U where `hidden` has no count.

    They hold the hidden counts: they are the office's own. `trees`: the hierarchies that name groups of values, `stem`:
    the name of the .tab file without its end. Raises `Unsupported` where a count is not there to be written.
    """
    codes, counts = _complete(table, domain, trees, "τ-ARGUS")
    columns = [WrittenVariable(n, ("<RECODEABLE>", f'<TOTCODE> "{TOTAL}"'), cells) for n, cells in codes.items()]
    status = ["U" if figure.count is None else "S" for figure in hidden.statements]
    columns += [WrittenVariable("Freq", ("<FREQUENCY>",), counts), WrittenVariable("Status", ("<STATUS>",), status)]
    return table_files(columns, [tree for name, tree in trees.items() if name in codes], stem)


def sdctable_files(
    table: Table, hidden: Table, domain: Domain, trees: Mapping[str, CategoryTree], stem: str
) -> dict[str, str]:
    """Return a complete table as files of sdcTable by their ends; see `argus_files`. Hidden cells have the status u."""
    codes, counts = _complete(table, domain, trees, "sdcTable")
    status = [SENSITIVE if figure.count is None else SHOWN for figure in hidden.statements]
    totals = (TOTAL,) * len(codes)
    return sdc_files([SdcProblem(tuple(codes), totals, list(codes.values()), counts, {}, status, trees)], stem)


def _complete(
    table: Table, domain: Domain, trees: Mapping[str, CategoryTree], reader: str
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the codes of a table by attribute, and its counts; `Unsupported` where one is not there."""
    if any(figure.count is None for figure in table.statements):
        raise Unsupported(f"{reader} needs the hidden counts too: give the complete table, or write .csv")
    named = {name for figure in table.statements for name, _ in figure.condition}
    columns = [a.name for a in domain.all if a.name in named]
    codes = {name: _codes(table, name, trees.get(name), TOTAL) for name in columns}
    return codes, [str(figure.count) for figure in table.statements]


def _codes(table: Table, name: str, tree: CategoryTree | None, everybody: str) -> list[str]:
    """Return the code of every line for an attribute; `Unsupported` where a value is called as everybody is."""
    groups = {} if tree is None else {frozenset(under): code for code, under in tree.leaves().items()}
    out = []
    for test in (dict(figure.condition).get(name) for figure in table.statements):
        if test is None:
            out.append(everybody)
            continue
        group = None if test.values is None else groups.get(frozenset(map(str, test.values)))
        out.append(group or _category(name, test))
        if out[-1] == everybody:
            raise Unsupported(f"'{everybody}' is a value of '{name}' and would stand for all of them: write .json")
    return out


def _category(name: str, test: Test) -> str:
    """Return the text of a category: a value, or a range of numbers."""
    if test.values is not None and test.missing and not test.values:
        return "unknown"
    if test.values is not None:
        if len(test.values) != 1 or test.missing:
            raise Unsupported(f"the group '{name} {test}' has no name of its own in CSV: write .json")
        return str(test.values[0])
    if test.low is None or test.high is None:
        low = "" if test.low is None else f"{'>' if test.low_open else '>='}{test.low}"
        return low or f"{'<' if test.high_open else '<='}{test.high}"
    if test.low_open or test.high_open:
        return f"{'(' if test.low_open else '['}{test.low},{test.high}{')' if test.high_open else ']'}"
    return f"{test.low}-{test.high}" if test.low != test.high else str(test.low)


def _count(figure: PublishedFigure) -> str:
    """Return the text of a count, of an interval, or the mark of a hidden one."""
    if figure.count is not None:
        return str(figure.count)
    if figure.low is None and figure.high is None:
        return HIDDEN_MARK
    if figure.high is None:
        return f">={figure.low}"
    return f"<={figure.high}" if not figure.low else f"{figure.low}-{figure.high}"
