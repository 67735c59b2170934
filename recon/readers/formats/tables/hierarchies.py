"""Hierarchies of a table's categories: which codes lie in which (districts in regions, occupations in groups).

A code above others asks for all values below it, so that a parent's cell is the union of its children's. Where the
parents stand in a column of their own, what cannot be (a district with another region) is said to be impossible.

Source: the files of τ-ARGUS (de Wolf et al., "τ-ARGUS user's manual", 2014, section 4.2: .hrc, a code per line with a
sign for each level) and sdcTable (Meindl, `hier_convert`: columns level and name); tables of child and parent.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from encoders.domain.domain import Condition
from encoders.domain.values import Categorical, Test, equals
from recon.io.files.opening import current, open_regular
from solvers.foundation.errors import ReleaseError

LONGEST = 1 << 26  # bytes of a file
PARENT = {"parent", "parent code", "parent_code", "elternteil", "in"}


@dataclass(frozen=True)
class CategoryTree:
    """Codes of one column below others; `parents` maps each code to the one that it lies in (None: none)."""

    name: str
    file: str
    parents: Mapping[str, str | None]

    @classmethod
    def of(cls, name: str, file: str, parents: Mapping[str, str | None]) -> CategoryTree:
        """Return the tree; `ReleaseError` naming the codes of a loop."""
        known = dict(parents) | {p: None for p in parents.values() if p is not None and p not in parents}
        sure: set[str] = set()
        for code in known:
            path: list[str] = []
            at: str | None = code
            while at is not None and at not in sure:
                if at in path:
                    loop = " in ".join(f"'{one}'" for one in [*path[path.index(at) :], at][:9])
                    raise ReleaseError(f"the hierarchy of '{name}' has a loop: {loop}", file=file)
                path.append(at)
                at = known[at]
            sure.update(path)
        return cls(name, file, known)

    def leaves(self) -> dict[str, list[str]]:
        """Return the lowest codes below each code, itself for one of these."""
        inner = {parent for parent in self.parents.values() if parent is not None}
        out: dict[str, list[str]] = {code: [] for code in self.parents}
        for code in self.parents:
            at: str | None = None if code in inner else code
            while at is not None:
                out[at].append(code)
                at = self.parents[at]
        return out

    def column(self, cells: Sequence[str], free: frozenset[str]) -> tuple[list[Test | None], Categorical]:
        """Return what cells ask for, and the attribute: the lowest codes. `ReleaseError` for a code not in the tree."""
        below = self.leaves()
        lowest = [code for code, under in below.items() if under == [code]]
        out: list[Test | None] = []
        for cell in cells:
            if cell not in below and cell.lower() not in free:
                raise ReleaseError(f"'{cell[:60]}' of '{self.name}' is not in the hierarchy {self.file}")
            under = below.get(cell)
            out.append(None if under is None or len(under) == len(lowest) else Test(values=tuple(under)))
        return out, Categorical(self.name, tuple(lowest))


@dataclass(frozen=True)
class ParentColumn:
    """A column whose categories lie in those of another column: `parents` maps the ones to the others."""

    name: str
    parent: str
    parents: Mapping[str, str]

    def impossible(self) -> Iterator[Condition]:
        """Yield what cannot be: a parent with categories that do not lie in it."""
        for parent in dict.fromkeys(self.parents.values()):
            others = tuple(child for child, at in self.parents.items() if at != parent)
            if others:
                yield ((self.parent, equals(parent)), (self.name, Test(values=others)))


def hierarchies_of(
    options: Sequence[str],
    names: Sequence[str],
    columns: Mapping[str, Sequence[str]],
    free: frozenset[str],
    missing: Sequence[tuple[str, str]] = (),
) -> tuple[dict[str, CategoryTree], list[ParentColumn]]:
    """Return the trees of columns, and the columns of parents, that options "COLUMN=FILE" or "COLUMN=COLUMN" name.

    Those about columns that a table has not are left out: they are about another table. `missing`: codes of columns
    that lie in no other, where they occur. Raises `ReleaseError` for what is no hierarchy, naming file, line and code.
    """
    trees: dict[str, CategoryTree] = {}
    parents: list[ParentColumn] = []
    for option in options:
        name, _, source = option.partition("=")
        if name not in names:
            continue
        if source in names:
            parents.append(_parents_in_table(name, source, columns, free))
            continue
        text = read_text_file(source)
        if source.lower().endswith(".hrc"):
            trees[name] = CategoryTree.of(name, source, _levels(text.splitlines(), source))
            continue
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=_sign(text))]
        rows = [row for row in rows if any(row)]
        if len(rows) < 2 or len(rows[0]) < 2:
            raise ReleaseError("is no hierarchy: columns of a code and of what it lies in are needed", file=source)
        if all(row[0].strip("@") == "" and row[0] for row in rows[1:]):
            trees[name] = CategoryTree.of(name, source, _levels([row[0][2:] + row[1] for row in rows[2:]], source))
        elif rows[0][1].lower() in PARENT or (rows[0][1] not in names and _stand_together(rows, columns[name])):
            trees[name] = CategoryTree.of(name, source, _pairs(rows, source, name))
        else:
            found = {child: parent for child, parent in _pairs(rows, source, name).items() if parent is not None}
            parents.append(ParentColumn(name, rows[0][1], found))
    for name, code in missing:
        if name in trees and code in columns[name] and code not in trees[name].parents:
            trees[name] = CategoryTree.of(name, trees[name].file, {**trees[name].parents, code: None})
    return trees, parents


def _stand_together(rows: Sequence[Sequence[str]], cells: Sequence[str]) -> bool:
    """Return whether parents are codes of the column too, in the table or in the file itself."""
    parents = {row[1] for row in rows[1:] if len(row) > 1 and row[1]}
    return not parents.isdisjoint({*cells, *(row[0] for row in rows[1:])})


def read_text_file(path: str) -> str:
    """Return the text of a file; `ReleaseError` where it is none."""
    with open_regular(path) as (file, size):
        if size > LONGEST:
            raise ReleaseError(f"has {size:,} bytes, no hierarchy has more than {LONGEST:,}", file=path)
        current().bytes(size, path)
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ReleaseError(f"is not UTF-8 text (byte {error.start})", file=path) from None


def _sign(text: str) -> str:
    """Return what parts the cells of a text: a tab, a semicolon or a comma."""
    first = text.partition("\n")[0]
    return max("\t;,", key=first.count)


def _levels(lines: Sequence[str], file: str) -> dict[str, str | None]:
    """Return code -> parent of lines that begin with one sign for each level below the first."""
    out: dict[str, str | None] = {}
    above: list[str] = []
    sign = next((line[0] for line in lines if line.strip() and not line[0].isalnum() and line[0] not in " \t"), "@")
    for number, line in enumerate(lines, start=1):
        code = line.strip().lstrip(sign)
        if not code:
            continue
        level = len(line.strip()) - len(code)
        if level > len(above):
            before = f"the code before it {len(above) - 1}" if above else "and no code stands before it"
            why = f"'{code[:60]}' is {level} levels deep, {before}: one '{sign}' more at most than the line above"
            raise ReleaseError(why, file=file, place=f"line {number}")
        if code in out:
            raise ReleaseError(f"the code '{code[:60]}' stands twice", file=file, place=f"line {number}")
        above[level:] = [code]
        out[code] = above[level - 1] if level else None
    return out


def _pairs(rows: Sequence[Sequence[str]], file: str, name: str) -> dict[str, str | None]:
    """Return child -> parent of the lines of a table; `ReleaseError` for a child of two parents."""
    out: dict[str, str | None] = {}
    for number, row in enumerate(rows[1:], start=2):
        child, parent = row[0], (row[1] if len(row) > 1 and row[1] else None)
        if not child:
            raise ReleaseError("a code is missing", file=file, place=f"line {number}")
        if out.setdefault(child, parent) != parent:
            why = f"'{child[:60]}' of '{name}' lies in '{out[child]}' and in '{parent}'"
            raise ReleaseError(why, file=file, place=f"line {number}")
    return out


def _parents_in_table(
    name: str, parent: str, columns: Mapping[str, Sequence[str]], free: frozenset[str]
) -> ParentColumn:
    """Return which category stands beside which in a table; `ReleaseError` where one stands beside two."""
    out: dict[str, str] = {}
    for child, above in zip(columns[name], columns[parent], strict=True):
        if child.lower() in free or above.lower() in free:
            continue
        if out.setdefault(child, above) != above:
            why = f"lies in '{out[child][:60]}' and in '{above[:60]}': '{name}' is no part of '{parent}'"
            raise ReleaseError(f"'{child[:60]}' {why}")
    return ParentColumn(name, parent, out)
