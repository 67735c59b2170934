"""A table of counts as CSV: a column per attribute, the count last, hidden counts as marks.

The text is what `recon.readers.formats.printed.count_table` reads; whoever writes it has to see that it is read back.

Source: RFC 4180 (CSV).
"""

from __future__ import annotations

import csv
import io

from encoders.domain.domain import Domain
from encoders.domain.values import Test
from encoders.models.models import PublishedFigure, Table
from solvers.foundation.errors import Unsupported

HIDDEN_MARK, EVERYBODY = "*", "total"


def table_text(table: Table, domain: Domain) -> str:
    """Return a table as CSV; `Unsupported` for groups of values that have no name."""
    named = {name for figure in table.statements for name, _ in figure.condition}
    columns = [a.name for a in domain.all if a.name in named]
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([*columns, "count"])
    for figure in table.statements:
        tests = dict(figure.condition)
        lines.writerow([*(_category(name, tests.get(name)) for name in columns), _count(figure)])
    return out.getvalue()


def _category(name: str, test: Test | None) -> str:
    """Return the text of a category: a value, a range of numbers, or everybody."""
    if test is None:
        return EVERYBODY
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
