"""Tables of totals (turnover by region and branch) with what is behind each cell, from rows or τ-ARGUS's files.

Such a table is the office's own: its policy rules look at who contributed how much, which no published table says.
Values are whole numbers of the last decimal that stands anywhere in the file.

A total that is published already is read from CSV: codes, and the total or a mark that hides it.

Source: de Wolf, Hundepool, Giessing, Salazar, Castro, "τ-ARGUS user's manual", version 4.1, 2014, section 5.2 (NUMERIC,
FREQUENCY, MAXSCORE; holdings, weights, shadow and request variables); Hundepool et al., "Statistical Disclosure
Control", Wiley 2012, section 4.1.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Context, Decimal
from itertools import product

import numpy as np

from recon.io.files.sheets import text_sheet
from recon.readers.formats.tables.dialects import comparable, dialects
from recon.readers.formats.tables.hierarchies import CategoryTree, hierarchies_of, read_text_file
from recon.readers.formats.tables.status_tables import (
    SECONDARY,
    SENSITIVE,
    SHOWN,
    TOTAL,
    SdcProblem,
    WrittenVariable,
    cells_of_lines,
    hierarchies_in,
    metadata_of,
    table_files,
)
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import ReleaseError, TooLarge, Unsupported
from solvers.statements.boxes import Attribute, Box, RowSpace
from solvers.suppression.dominance import Contributions, RecordNotes, contributions_of

FREE = ""  # the code of everybody
MOST_DECIMALS = 6
MOST_CELLS = 400_000
LARGEST = 1 << 50  # of a value in units: sums of them are exact
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?(?:e\+\d\d)?")
_EXACT = Context(prec=60)  # digits of such a number
REQUESTS = {"": 0, "0": 0, "no": 0, "false": 0, "n": 0, "1": 1, "yes": 1, "true": 1, "y": 1, "2": 2}


@dataclass(frozen=True, eq=False)
class MagnitudeTable:
    """Cells by their codes (`FREE`: all), with their contributions, and which are hidden already (None: nothing says).

    `trees`: the hierarchies of columns, `decimals`: how many digits of the values are behind the point. `shadow`: the
    totals, where the rules look at the contributions to another value; these may be below 0. `tables`: the columns of
    each table, `own`: the cells that are in one of them, and not in an earlier table alone.
    """

    value: str
    names: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    contributions: Contributions
    decimals: int
    trees: Mapping[str, CategoryTree] = field(default_factory=dict)
    hidden: Bits | None = None
    shadow: Ints | None = None
    tables: tuple[tuple[str, ...], ...] = ()
    own: Bits | None = None

    @property
    def totals(self) -> Ints:
        """Return the total of each cell."""
        return self.contributions.totals if self.shadow is None else self.shadow

    @property
    def ours(self) -> Bits:
        """Return which cells are in a table that is to be published."""
        return np.ones(len(self.codes), dtype=bool) if self.own is None else self.own

    def of(self, cells: Ints, names: Sequence[str]) -> MagnitudeTable:
        """Return some cells as a table of these columns."""
        kept = [k for k, name in enumerate(self.names) if name in names]
        codes = tuple(tuple(self.codes[c][k] for k in kept) for c in cells.tolist())
        hidden = None if self.hidden is None else self.hidden[cells]
        shadow = None if self.shadow is None else self.shadow[cells]
        trees = {name: tree for name, tree in self.trees.items() if name in names}
        return replace(
            self, names=tuple(self.names[k] for k in kept), codes=codes, contributions=self.contributions.of(cells),
            hidden=hidden, shadow=shadow, trees=trees, own=None,
        )  # fmt: skip

    def published(self) -> tuple[MagnitudeTable, Ints]:
        """Return what is to be published of it, and which cells these are."""
        cells = np.flatnonzero(self.ours)
        named = {name for one in self.tables for name in one} or set(self.names)
        return self.of(cells, [name for name in self.names if name in named]), cells

    def boxes(self) -> tuple[RowSpace, list[Box]]:
        """Return the finest codes of all columns as a space, and each cell's place in it."""
        masks: list[dict[str, int]] = []
        attributes = []
        for k, name in enumerate(self.names):
            own = list(dict.fromkeys(code[k] for code in self.codes if code[k] != FREE))
            below = self.trees[name].leaves() if name in self.trees else {code: [code] for code in own}
            used = [leaf for leaf in below if below[leaf] == [leaf]]
            at = {leaf: 1 << i for i, leaf in enumerate(used)}
            masks.append({code: sum(at[leaf] for leaf in below[code]) for code in below} | {FREE: (1 << len(used)) - 1})
            attributes.append(Attribute(name, (1,) * len(used)))
        full = [one[FREE] for one in masks]
        places = (tuple((k, masks[k][c]) for k, c in enumerate(code) if masks[k][c] != full[k]) for code in self.codes)
        return RowSpace(tuple(attributes)), [Box(place) for place in places]

    def named(self, cell: int) -> str:
        """Return a cell in words."""
        told = [f"{name} = {code}" for name, code in zip(self.names, self.codes[cell], strict=True) if code != FREE]
        return " and ".join(told) or "everybody"

    def number(self, units: int) -> str:
        """Return a number of units as it stands in the file."""
        return f"{Decimal(int(units)).scaleb(-self.decimals):f}"


@dataclass(frozen=True)
class RespondentColumns:
    """Which columns of rows of respondents say what: the value that is added up, and what the rules look at beside it.

    `holding`: rows of one are one contributor. `weight`: how many respondents a row stands for. `shadow`: the value
    whose contributions the rules look at in place of the value's own, which may then be below 0. `request`: which
    request for protection the respondent made (nothing, 1 or 2).
    """

    value: str
    holding: str | None = None
    weight: str | None = None
    shadow: str | None = None
    request: str | None = None

    def named(self) -> list[str]:
        """Return the names of the columns."""
        every = (self.value, self.holding, self.weight, self.shadow, self.request)
        return [name for name in every if name is not None]


@dataclass(frozen=True)
class _RowNumbers:
    """What rows say in units of `decimals` digits: their values, and those that the rules look at."""

    decimals: int
    values: list[int]
    measured: list[int]
    notes: RecordNotes


def table_of_rows(
    columns: Mapping[str, Sequence[str]], tables: Sequence[Sequence[str]], what: RespondentColumns,
    hierarchies: Sequence[str], most: int, file: str, earlier: Sequence[Sequence[str]] = (),
) -> MagnitudeTable:  # fmt: skip
    """Return the cells of one or several linked tables of a value, by the columns of each, with all totals.

    `columns`: rows of respondents as texts. `most`: how many of the largest contributions are kept; `earlier`: the
    columns of tables that are out already. Raises `ReleaseError` naming line and value. Cost: rows times the cells that
    each is in.
    """
    names = list(dict.fromkeys(name for one in (*tables, *earlier) for name in one))
    for name in (*names, *what.named()):
        if name not in columns:
            shown = ", ".join(f"'{one}'" for one in list(columns)[:9])
            raise ReleaseError(f"there is no column '{name}': there are {shown}", file=file)
    trees = _trees(hierarchies, names, {name: columns[name] for name in names}, file)
    ups = [_above(name, columns[name], trees.get(name), file) for name in names]
    said = _numbers_of_rows(columns, what, file)
    place: dict[tuple[str, ...], int] = {}
    own, records, values = set[int](), [], []
    members = [[k for k, name in enumerate(names) if name in one] for one in (*tables, *earlier)]
    for i, unit in enumerate(said.measured):
        above = [ups[k][columns[name][i]] for k, name in enumerate(names)]
        cells = set[int]()
        for number, some in enumerate(members):
            for chosen in product(*(above[k] if k in some else (FREE,) for k in range(len(names)))):
                cells.add(at := place.setdefault(chosen, len(place)))
                if number < len(tables):
                    own.add(at)
        if len(place) > MOST_CELLS:
            raise TooLarge(f"the tables have more than {MOST_CELLS:,} cells")
        records.append((tuple(cells), columns[what.holding][i] if what.holding else str(i), unit))
        values.append((tuple(cells), "", said.values[i] * (said.notes.weights or {i: 1})[i]))
    if not place:
        raise ReleaseError("has no row", file=file)
    found = replace(contributions_of(records, len(place), most, said.notes), unit=10**said.decimals)
    shadow = None if what.shadow is None else contributions_of(values, len(place), 0).totals
    listed = np.isin(np.arange(len(place)), sorted(own))
    return MagnitudeTable(
        what.value, tuple(names), tuple(place), found, said.decimals, trees, None, shadow,
        tuple(tuple(one) for one in tables), listed,
    )  # fmt: skip


def _numbers_of_rows(columns: Mapping[str, Sequence[str]], what: RespondentColumns, file: str) -> _RowNumbers:
    """Return the numbers of rows in units; `ReleaseError` naming line and value for what is none."""

    def units(name: str, below: bool = False) -> tuple[int, list[int]]:
        return _in_units([(text, f"line {i}") for i, text in enumerate(columns[name], start=2)], name, file, below)

    decimals, values = units(what.value, what.shadow is not None)
    finer, measured = (decimals, values) if what.shadow is None else units(what.shadow)
    most = max(decimals, finer)
    values, measured = [x * 10 ** (most - decimals) for x in values], [x * 10 ** (most - finer) for x in measured]
    weights, digits, asks = None, 0, None
    if what.weight is not None:
        if what.holding is not None:
            why = "weights and holdings are not read together: multiply the value by the weight, and leave --weight out"
            raise ReleaseError(why, file=file)
        digits, weights = units(what.weight)
        if (none := next((i for i, w in enumerate(weights) if not w), None)) is not None:
            why = f"'{columns[what.weight][none][:40]}' of '{what.weight}' is no weight: a number above 0 is"
            raise ReleaseError(why, file=file, place=f"line {none + 2}")
        if max(sum(map(abs, x)) for x in (values, measured)) * max(weights, default=1) > LARGEST:
            why = f"'{what.value}' times '{what.weight}' may add up to more than 2^50 of the last decimal: round them"
            raise ReleaseError(why, file=file)
    if what.request is not None:
        asks = [_request_of(text, f"line {i}", what.request, file) for i, text in enumerate(columns[what.request], 2)]
    return _RowNumbers(most + digits, values, measured, RecordNotes(weights, 10**digits, asks))


def _request_of(text: str, place: str, name: str, file: str) -> int:
    """Return which request a cell says; `ReleaseError` with its place for another text."""
    found = REQUESTS.get({"nan": ""}.get(text.strip().lower(), text.strip().lower().removesuffix(".0")))
    if found is None:
        why = f"'{text[:40]}' of '{name}' is no request: empty, 0 or no (none), 1 or yes, 2 are read"
        raise ReleaseError(why, file=file, place=place)
    return found


@dataclass(frozen=True)
class EarlierTotals:
    """A table of totals that is out: its columns, and the codes and the total of each line (None: hidden), by place."""

    file: str
    names: tuple[str, ...]
    lines: tuple[tuple[str, tuple[str, ...], str | None], ...]


def earlier_totals(text: str, value: str, file: str) -> EarlierTotals:
    """Return the table of totals in a CSV text, as it was published: a column per attribute, and the value.

    Raises `ReleaseError` naming line and value for what is neither a number nor a mark that hides one.
    """
    rows = text_sheet(text).rows
    names = rows[0].cells if rows else ()
    if value not in names or len(names) < 2:
        raise ReleaseError(f"is no table of totals: columns of codes and one called '{value}' are needed", file=file)
    at, known, out = names.index(value), dialects(), []
    for row in rows[1:]:
        place = f"line {row.number}"
        if len(row.cells) != len(names):
            raise ReleaseError(f"has {len(row.cells)} cells, the first line {len(names)}", file=file, place=place)
        codes = tuple(FREE if known.total(c) else c for k, c in enumerate(row.cells) if k != at)
        total = row.cells[at]
        if _NUMBER.fullmatch(total) is None and total and comparable(total) not in known.marks:
            raise ReleaseError(f"'{total[:40]}' is neither a total nor a mark that hides one", file=file, place=place)
        out.append((place, codes, total if _NUMBER.fullmatch(total) else None))
    return EarlierTotals(file, tuple(name for k, name in enumerate(names) if k != at), tuple(out))


def lines_of_earlier(table: MagnitudeTable, earlier: Sequence[EarlierTotals]) -> tuple[Bits, Bits]:
    """Return which cells of a table earlier ones show, and which they hide.

    Raises `ReleaseError` for a column or code that the table has not, and for another total: the tables are then not
    about the same respondents.
    """
    at = {codes: k for k, codes in enumerate(table.codes)}
    shown, gone = np.zeros(len(at), dtype=bool), np.zeros(len(at), dtype=bool)
    for one in earlier:
        if strange := [name for name in one.names if name not in table.names]:
            why = f"has a column '{strange[0]}' that the new table has not: give the rows of respondents (--by)"
            raise ReleaseError(why, file=one.file)
        for place, codes, total in one.lines:
            said = dict(zip(one.names, codes, strict=True))
            cell = at.get(tuple(said.get(name, FREE) for name in table.names))
            if cell is None and (total is None or Decimal(total)):
                named = " and ".join(f"{name} = {code}" for name, code in said.items() if code)
                why = f"nobody is in {named or 'the table'}: is it about the same respondents and codes (--hierarchy)?"
                raise ReleaseError(why, file=one.file, place=place)
            if cell is None:
                continue
            if total is not None and Decimal(total) != Decimal(table.number(table.totals[cell])):
                why = f"{table.named(cell)} is {total} here and {table.number(table.totals[cell])} in the new table"
                raise ReleaseError(f"{why}: the tables are not about the same respondents", file=one.file, place=place)
            (gone if total is None else shown)[cell] = True
    return shown, gone & ~shown


def table_of_argus(file: str, metadata: str, value: str | None, hierarchies: Sequence[str]) -> MagnitudeTable:
    """Return the table in a .tab file by its metadata: totals, counts, the largest contributions, status.

    `value`: which of several <NUMERIC> variables. Raises `ReleaseError` naming file, line and value.
    """
    said = metadata_of(read_text_file(metadata), metadata, values=True)
    names, values = said.names("code"), said.names("value")
    if value is None and len(values) > 1:
        raise ReleaseError(f"has {len(values)} values ({', '.join(values)}): name one (--value)", file=metadata)
    wanted = values[0] if value is None else value
    if wanted not in values:
        raise ReleaseError(f"has no value '{wanted}': there are {', '.join(values)}", file=metadata)
    at = {one.name: k for k, one in enumerate(said.variables)}
    counts, status, largest = said.names("count"), said.names("status"), said.names("largest")
    if not counts:
        raise ReleaseError("has no <FREQUENCY>: how many contribute to a cell is not known", file=metadata)
    totals = {one.name: one.total for one in said.variables}
    lines = [(number, cells) for number, cells in cells_of_lines(said, read_text_file(file), file)]
    codes = [tuple(FREE if cells[at[n]] == totals[n] else cells[at[n]] for n in names) for _, cells in lines]
    if len(set(codes)) < len(codes):
        double = next(i for i, code in enumerate(codes) if code in codes[:i])
        raise ReleaseError("the cell stands twice", file=file, place=f"line {lines[double][0]}")
    trees = _trees((*hierarchies, *hierarchies_in(said, os.path.dirname(metadata))), names,
                   {n: [code[k] for code in codes] for k, n in enumerate(names)}, metadata, said.missing())  # fmt: skip
    for k, name in enumerate(names):
        strange = (code[k] for code in codes if name in trees and code[k] not in {FREE, *trees[name].parents})
        if (one := next(strange, None)) is not None:
            raise ReleaseError(f"'{one[:60]}' of '{name}' is not in the hierarchy {trees[name].file}", file=file)
    numbers = [wanted, *largest]
    comma = said.separator != ","  # numbers may have a decimal comma then
    texts = [(_with_point(cells[at[n]], comma), f"line {number}") for number, cells in lines for n in numbers]
    decimals, units = _in_units(texts, wanted, file)
    whole = [(_with_point(cells[at[counts[0]]], comma), f"line {number}") for number, cells in lines]
    none, contributors = _in_units(whole, counts[0], file)
    if none:
        raise ReleaseError(f"'{counts[0]}' holds numbers that are not whole", file=file)
    each = np.array(units, dtype=np.int64).reshape(len(lines), len(numbers))
    falls = (np.diff(each[:, 1:], axis=1) <= 0).all(axis=1) & (each[:, 1:].sum(axis=1) <= each[:, 0])
    if not falls.all():
        why = "the largest contributions do not fall, or are more than the total"
        raise ReleaseError(why, file=file, place=f"line {lines[int(np.argmin(falls))][0]}")
    gone = [said.hidden(cells, cells[at[wanted]]) for _, cells in lines]
    found = Contributions(each[:, 0], np.array(contributors, dtype=np.int64), each[:, 1:], None, 10**decimals)
    return MagnitudeTable(wanted, tuple(names), tuple(codes), found, decimals, trees,
                          np.array(gone) if status else None)  # fmt: skip


def table_csv(table: MagnitudeTable, hidden: Bits) -> str:
    """Return a table as CSV to publish: codes and totals, hidden ones as a mark."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([*table.names, table.value])
    for k, codes in enumerate(table.codes):
        total = "*" if hidden[k] else table.number(table.totals[k])
        lines.writerow([*(code or TOTAL for code in codes), total])
    return out.getvalue()


def argus_files(table: MagnitudeTable, hidden: Bits, levels: Ints, stem: str) -> dict[str, str]:
    """Return a table as files of τ-ARGUS by their ends: totals, counts, contributions, status, protection levels.

    They hold what is hidden: they are the office's own. `stem`: the name of the .tab file without its end. Raises
    `Unsupported` where the rules looked at another value, whose contributions are none to the totals.
    """
    if table.shadow is not None:
        raise Unsupported("a .tab file has the largest contributions to the totals themselves: write .csv or .R")
    own, codes = table.contributions, []
    for k, name in enumerate(table.names):
        total = _total_code(table, k)
        tags = ("<RECODEABLE>", f'<TOTCODE> "{total}"')
        codes.append(WrittenVariable(name, tags, [code[k] or total for code in table.codes]))
    digits = f"<DECIMALS> {table.decimals}"

    def numbers(name: str, tag: str, each: Ints) -> WrittenVariable:
        return WrittenVariable(name, (tag, digits), [table.number(x) for x in each])

    largest = [numbers(f"Max{i + 1}", "<MAXSCORE>", own.largest[:, i]) for i in range(own.largest.shape[1])]
    under = np.minimum(levels, own.totals)
    columns = [
        *codes, numbers(table.value, "<NUMERIC>", own.totals),
        WrittenVariable("Freq", ("<FREQUENCY>",), [str(n) for n in own.contributors.tolist()]), *largest,
        WrittenVariable("Status", ("<STATUS>",), ["U" if gone else "S" for gone in hidden.tolist()]),
        numbers("LPL", "<LOWERPL>", under), numbers("UPL", "<UPPERPL>", levels),
    ]  # fmt: skip
    return table_files(columns, list(table.trees.values()), stem)


def _total_code(table: MagnitudeTable, k: int) -> str:
    """Return a code of everybody that is none of a column."""
    every = {code[k] for code in table.codes}
    return next(one for one in (TOTAL, "All", "_T", *(f"Total{i}" for i in range(len(every)))) if one not in every)


def sdc_problems(table: MagnitudeTable, hidden: Bits, levels: Ints) -> list[SdcProblem]:
    """Return a problem of sdcTable for each table; they hold what is hidden."""
    out = []
    for named in table.tables or (table.names,):
        free = [k for k, name in enumerate(table.names) if name not in named]
        cells = np.array([c for c, codes in enumerate(table.codes) if not any(codes[k] for k in free)], dtype=np.int64)
        own = table.of(cells, named)
        totals = [_total_code(own, k) for k in range(len(own.names))]
        codes = [[code[k] or total for code in own.codes] for k, total in enumerate(totals)]
        status = [
            SENSITIVE if gone and level else SECONDARY if gone else SHOWN
            for gone, level in zip(hidden[cells].tolist(), levels[cells].tolist(), strict=True)
        ]
        numbers = {table.value: [table.number(x) for x in own.totals]}
        counts = [str(n) for n in own.contributions.contributors.tolist()]
        out.append(SdcProblem(own.names, tuple(totals), codes, counts, numbers, status, own.trees))
    return out


def _with_point(text: str, comma: bool) -> str:
    """Return a number with a decimal point."""
    return text.replace(",", ".") if comma else text


def _trees(
    hierarchies: Sequence[str],
    names: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    file: str,
    missing: Sequence[tuple[str, str]] = (),
) -> dict[str, CategoryTree]:
    """Return the hierarchies of columns; `ReleaseError` for one of a column that there is not, or of two columns."""
    for one in hierarchies:
        if one.partition("=")[0] not in names:
            shown = ", ".join(f"'{name}'" for name in names)
            raise ReleaseError(f"--hierarchy {one} has no effect: the table is by {shown}", file=file)
    trees, parents = hierarchies_of(hierarchies, names, columns, frozenset({FREE}), missing)
    if parents:
        raise ReleaseError(f"the hierarchy of '{parents[0].name}' is needed as .hrc or as code and parent", file=file)
    return trees


def _above(name: str, cells: Iterable[str], tree: CategoryTree | None, file: str) -> dict[str, tuple[str, ...]]:
    """Return each code of a column with those that it lies in, everybody the last."""
    out: dict[str, tuple[str, ...]] = {}
    for code in dict.fromkeys(cells):
        if not code:
            raise ReleaseError(f"a code of '{name}' is missing", file=file)
        if tree is not None and (code not in tree.parents or tree.leaves()[code] != [code]):
            raise ReleaseError(f"'{code[:60]}' is none of the lowest codes of {tree.file}", file=file)
        path, at = [code], None if tree is None else tree.parents[code]
        while at is not None and tree is not None:
            path.append(at)
            at = tree.parents[at]
        out[code] = (*path, FREE)
    return out


def _in_units(texts: Sequence[tuple[str, str]], name: str, file: str, below: bool = False) -> tuple[int, list[int]]:
    """Return how many digits stand behind the point, and each number in units of the last; `ReleaseError` with place.

    `below`: numbers below 0 are read; else they are refused, as the rules are about shares of a total.
    """
    found = []
    for text, place in texts:
        if _NUMBER.fullmatch(text) is None:
            raise ReleaseError(f"'{text[:40]}' is no number of '{name}'", file=file, place=place)
        if text.startswith("-") and Decimal(text) and not below:
            why = (
                f"'{text}' of '{name}' is below 0, and the rules are about shares of a total: give rows with a column "
                "of what they shall look at, such as the values without their sign (--shadow COLUMN)"
            )
            raise ReleaseError(why, file=file, place=place)
        found.append(Decimal(text) if below else Decimal(text).copy_abs())
    decimals = max((0, *(-int(one.normalize(_EXACT).as_tuple().exponent) for one in found)))
    if decimals > MOST_DECIMALS or sum(map(abs, found)) * 10**decimals > LARGEST:
        why = f"'{name}' has more than {MOST_DECIMALS} decimals, or adds up to more than 2^50 of the last: round it"
        raise ReleaseError(why, file=file)
    return decimals, [int(one.scaleb(decimals)) for one in found]
