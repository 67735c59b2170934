"""Tables of totals (turnover by region and branch) with what is behind each cell, from rows or τ-ARGUS's files.

Such a table is the office's own: its policy rules look at who contributed how much, which no published table says.
Values are whole numbers of the last decimal that stands anywhere in the file.

Source: de Wolf, Hundepool, Giessing, Salazar, Castro, "τ-ARGUS user's manual", version 4.1, 2014, section 5.2 (NUMERIC,
FREQUENCY, MAXSCORE; holdings); Hundepool et al., "Statistical Disclosure Control", Wiley 2012, section 4.1.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product

import numpy as np

from recon.readers.formats.tables.hierarchies import CategoryTree, hierarchies_of, read_text_file
from recon.readers.formats.tables.status_tables import (
    TOTAL,
    WrittenVariable,
    cells_of_lines,
    hierarchies_in,
    metadata_of,
    table_files,
)
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import ReleaseError, TooLarge
from solvers.statements.boxes import Attribute, Box, RowSpace
from solvers.suppression.dominance import Contributions, contributions_of

FREE = ""  # the code of everybody
MOST_DECIMALS = 6
MOST_CELLS = 400_000
LARGEST = 1 << 50  # of a value in units: sums of them are exact
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,9})?")


@dataclass(frozen=True, eq=False)
class MagnitudeTable:
    """Cells by their codes (`FREE`: all), with their contributions, and which are hidden already (None: nothing says).

    `trees`: the hierarchies of columns, `decimals`: how many digits of the values are behind the point.
    """

    value: str
    names: tuple[str, ...]
    codes: tuple[tuple[str, ...], ...]
    contributions: Contributions
    decimals: int
    trees: Mapping[str, CategoryTree] = field(default_factory=dict)
    hidden: Bits | None = None

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


def table_of_rows(
    columns: Mapping[str, Sequence[str]], tables: Sequence[Sequence[str]], value: str, holding: str | None,
    hierarchies: Sequence[str], most: int, file: str,
) -> MagnitudeTable:  # fmt: skip
    """Return the cells of one or several linked tables of a value, by the columns of each, with all totals.

    `columns`: rows of respondents as texts; rows of one `holding` are one contributor. `most`: how many of the largest
    contributions are kept. Raises `ReleaseError` naming line and value. Cost: rows times the cells that each is in.
    """
    names = list(dict.fromkeys(name for one in tables for name in one))
    for name in (*names, value, *([holding] if holding else [])):
        if name not in columns:
            shown = ", ".join(f"'{one}'" for one in list(columns)[:9])
            raise ReleaseError(f"there is no column '{name}': there are {shown}", file=file)
    trees = _trees(hierarchies, names, {name: columns[name] for name in names}, file)
    ups = [_above(name, columns[name], trees.get(name), file) for name in names]
    decimals, units = _in_units([(text, f"line {i}") for i, text in enumerate(columns[value], start=2)], value, file)
    place: dict[tuple[str, ...], int] = {}
    records = []
    members = [[k for k, name in enumerate(names) if name in one] for one in tables]
    for i, unit in enumerate(units):
        own = [ups[k][columns[name][i]] for k, name in enumerate(names)]
        cells = set[int]()
        for some in members:
            for chosen in product(*(own[k] if k in some else (FREE,) for k in range(len(names)))):
                cells.add(place.setdefault(chosen, len(place)))
        if len(place) > MOST_CELLS:
            raise TooLarge(f"the tables have more than {MOST_CELLS:,} cells")
        records.append((tuple(cells), columns[holding][i] if holding else str(i), unit))
    if not place:
        raise ReleaseError("has no row", file=file)
    found = contributions_of(records, len(place), most)
    return MagnitudeTable(value, tuple(names), tuple(place), found, decimals, trees)


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
                   {n: [code[k] for code in codes] for k, n in enumerate(names)}, metadata)  # fmt: skip
    for k, name in enumerate(names):
        strange = (code[k] for code in codes if name in trees and code[k] not in {FREE, *trees[name].parents})
        if (one := next(strange, None)) is not None:
            raise ReleaseError(f"'{one[:60]}' of '{name}' is not in the hierarchy {trees[name].file}", file=file)
    numbers = [wanted, *largest]
    texts = [(cells[at[n]], f"line {number}") for number, cells in lines for n in numbers]
    decimals, units = _in_units(texts, wanted, file)
    whole = [(cells[at[counts[0]]], f"line {number}") for number, cells in lines]
    none, contributors = _in_units(whole, counts[0], file)
    if none:
        raise ReleaseError(f"'{counts[0]}' holds numbers that are not whole", file=file)
    each = np.array(units, dtype=np.int64).reshape(len(lines), len(numbers))
    falls = (np.diff(each[:, 1:], axis=1) <= 0).all(axis=1) & (each[:, 1:].sum(axis=1) <= each[:, 0])
    if not falls.all():
        why = "the largest contributions do not fall, or are more than the total"
        raise ReleaseError(why, file=file, place=f"line {lines[int(np.argmin(falls))][0]}")
    gone = [bool(status) and cells[at[status[0]]] not in said.safe for _, cells in lines]
    found = Contributions(each[:, 0], np.array(contributors, dtype=np.int64), each[:, 1:])
    return MagnitudeTable(wanted, tuple(names), tuple(codes), found, decimals, trees,
                          np.array(gone) if status else None)  # fmt: skip


def table_csv(table: MagnitudeTable, hidden: Bits) -> str:
    """Return a table as CSV to publish: codes and totals, hidden ones as a mark."""
    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([*table.names, table.value])
    for k, codes in enumerate(table.codes):
        total = "*" if hidden[k] else table.number(table.contributions.totals[k])
        lines.writerow([*(code or TOTAL for code in codes), total])
    return out.getvalue()


def argus_files(table: MagnitudeTable, hidden: Bits, levels: Ints, stem: str) -> dict[str, str]:
    """Return a table as files of τ-ARGUS by their ends: totals, counts, contributions, status, protection levels.

    They hold what is hidden: they are the office's own. `stem`: the name of the .tab file without its end.
    """
    own, codes = table.contributions, []
    for k, name in enumerate(table.names):
        every = {code[k] for code in table.codes}
        total = next(one for one in (TOTAL, "All", "_T", *(f"Total{i}" for i in range(len(every)))) if one not in every)
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


def _trees(
    hierarchies: Sequence[str], names: Sequence[str], columns: Mapping[str, Sequence[str]], file: str
) -> dict[str, CategoryTree]:
    """Return the hierarchies of columns; `ReleaseError` for one of a column that there is not, or of two columns."""
    for one in hierarchies:
        if one.partition("=")[0] not in names:
            shown = ", ".join(f"'{name}'" for name in names)
            raise ReleaseError(f"--hierarchy {one} has no effect: the table is by {shown}", file=file)
    trees, parents = hierarchies_of(hierarchies, names, columns, frozenset({FREE}))
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


def _in_units(texts: Sequence[tuple[str, str]], name: str, file: str) -> tuple[int, list[int]]:
    """Return how many digits stand behind the point, and each number in units of the last; `ReleaseError` with place.

    Numbers below 0 are refused: the rules are about shares of a total.
    """
    found = []
    for text, place in texts:
        if _NUMBER.fullmatch(text) is None:
            raise ReleaseError(f"'{text[:40]}' is no number of '{name}'", file=file, place=place)
        if text.startswith("-") and Decimal(text):
            why = f"'{text}' of '{name}' is below 0: the rules are about shares of a total"
            raise ReleaseError(why, file=file, place=place)
        found.append(Decimal(text).copy_abs())
    decimals = max((-int(one.normalize().as_tuple().exponent) for one in found), default=0)
    decimals = max(0, decimals)
    if decimals > MOST_DECIMALS or sum(found) * 10**decimals > LARGEST:
        why = f"'{name}' has more than {MOST_DECIMALS} decimals, or adds up to more than 2^50 of the last: round it"
        raise ReleaseError(why, file=file)
    return decimals, [int(one.scaleb(decimals)) for one in found]
