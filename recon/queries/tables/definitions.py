"""Published cells from a table of definitions, one a line: who each of them counts.

Columns: `cell` (its name), `table`, `level`; then, per attribute, a column with its name (the value that the cell
counts, several with "|", empty: any), or `start_NAME` and `end_NAME` (numbers, both inclusive). A column `two` with the
entry "two" counts those with a Y in at least two of the columns left of it that hold Y and N; everybody has one there.
`title` is not read.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Grid, Listed, Test
from solvers.foundation.errors import ReleaseError

if TYPE_CHECKING:
    import pandas as pd

    from encoders.domain.values import AnyAttribute

NOT_READ = {"cell", "table", "level", "title", "two"}
ONE_OF_THEM = "everybody has a Y in one of the columns {}: what is 'two' counts two or more of them"


@dataclass(frozen=True)
class Cell:
    """A published cell: whom it counts (one of the conditions holds), its table, the kind of areas it is given for."""

    name: str
    conditions: tuple[Condition, ...]
    table: str = ""
    level: str = ""


def defined(frame: pd.DataFrame, domain: Domain | None, file: str = "") -> tuple[list[Cell], Domain]:
    """Return the cells of a table of definitions, and their domain: as given, or read off the definitions.

    Raises `ReleaseError` naming file, line and value.
    """
    lines = frame.fillna("").astype(str)
    names = [str(c) for c in lines.columns]
    if "cell" not in names:
        raise ReleaseError(
            f"the definitions have no column 'cell': their columns are {', '.join(names[:10])}", file=file
        )
    ranges = [n.removeprefix("start_") for n in names if n.startswith("start_") and f"end_{n[6:]}" in names]
    ends = {f"{end}_{n}" for n in ranges for end in ("start", "end")}
    plain = [n for n in names if n not in NOT_READ and n not in ends]
    values = {
        n: [v for v in dict.fromkeys(x for cell in lines[n].unique() for x in cell.split("|")) if v] for n in plain
    }
    yes_no = [
        n
        for n in plain
        if "two" in names and names.index(n) < names.index("two") and values[n] and set(values[n]) <= {"Y", "N"}
    ]
    found = domain if domain is not None else _domain(lines, values, ranges, yes_no, file)
    cells = []
    columns = {n: lines[n].tolist() for n in [*names]}
    for i in range(len(lines)):
        try:
            pairs = [(n, _test(columns[n][i], found, n)) for n in plain if columns[n][i]]
            pairs += [(n, _between(columns[f"start_{n}"][i], columns[f"end_{n}"][i])) for n in ranges
                      if columns[f"start_{n}"][i] or columns[f"end_{n}"][i]]  # fmt: skip
        except ReleaseError as error:
            raise ReleaseError(error.message, place=f"line {i + 2}", file=file) from None
        told = columns.get("two", [""] * len(lines))[i]
        if told not in {"", "two"}:
            raise ReleaseError(f"'two' is empty or \"two\", not {told!r}", place=f"line {i + 2}", file=file)
        further = itertools.combinations(yes_no, 2) if told else [()]
        conditions = tuple((*pairs, *((n, Test(values=("Y",))) for n in some)) for some in further)
        cells.append(
            Cell(columns["cell"][i], conditions, *(columns[k][i] if k in columns else "" for k in ("table", "level")))
        )
    return cells, found


def _test(text: str, domain: Domain, name: str) -> Test:
    from recon.readers.frames.selections import from_text

    k = domain.place.get(name)
    if k is None:
        raise ReleaseError(f"the column '{name}' is no attribute of the domain")
    return Test(values=tuple(from_text(part, domain.all[k]) for part in text.split("|")))


def _between(start: str, end: str) -> Test:
    try:
        return Test(low=None if not start else int(start), high=None if not end else int(end))
    except ValueError:
        raise ReleaseError(f"'{start}' to '{end}' is no range of whole numbers") from None


def _domain(
    lines: pd.DataFrame, values: dict[str, list[str]], ranges: list[str], yes_no: list[str], file: str
) -> Domain:
    attributes: list[AnyAttribute] = []
    for n, found in values.items():
        if not found:
            raise ReleaseError(f"no cell says anything of '{n}': give the domain, or leave the column out", file=file)
        attributes.append(Listed(n, ("N", "Y") if set(found) <= {"N", "Y"} else tuple(found)))
    for n in ranges:
        try:
            numbers = [int(x) for end in ("start", "end") for x in lines[f"{end}_{n}"] if x]
        except ValueError:
            raise ReleaseError(f"start_{n} and end_{n} are not all whole numbers", file=file) from None
        attributes.append(Grid.between(n, min(numbers), max(numbers)))
    impossible = (tuple((n, Test(values=("N",))) for n in yes_no),) if yes_no else ()
    notes = (ONE_OF_THEM.format(", ".join(yes_no)),) if yes_no else ()
    return Domain(tuple(attributes), None, {}, impossible, "declared", notes)
