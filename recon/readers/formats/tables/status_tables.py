"""Tables of τ-ARGUS and sdcTable, whose files say of each cell whether it may be published.

A table file (.tab) of τ-ARGUS has no header and a line per cell: codes, then what its metadata (.rda) names. A cell
whose status is none of the safe ones is hidden, whatever number stands in it: the file is the office's own. So is one
that the column sdcStatus of sdcTable calls u (sensitive), x (hidden beside these) or w.

Source: de Wolf, Hundepool, Giessing, Salazar, Castro, "τ-ARGUS user's manual", version 4.1, 2014, sections 4.3 and 5.2
(tabular input: SEPARATOR, RECODABLE, TOTCODE, HIERCODELIST, FREQUENCY, STATUS, SAFE); Meindl, sdcTable 0.32, `getInfo`,
`makeProblem` (a complete table, levels as signs and codes), `change_cellstatus`.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from recon.io.files.opening import TableOptions
from recon.io.files.sheets import Sheet, SheetRow
from recon.readers.formats.tables.hierarchies import CategoryTree, read_text_file
from solvers.foundation.errors import ReleaseError, Unsupported

TOTAL = "Total"
STATUS, SUPPRESSED = "sdcstatus", frozenset({"u", "x", "w"})
_R_HEAD = (
    "library(sdcTable)",
    "lowest <- function(dim) dim$codes[c(nchar(dim$levels)[-1], 0) <= nchar(dim$levels)]",
    "innermost <- function(cells, dims) {",
    "  cells[Reduce(`&`, lapply(names(dims), function(name) cells[[name]] %in% lowest(dims[[name]]))), ]",
    "}",
    "problems <- list()",
)
_TAG = re.compile(r"<([A-Za-z]+)>\s*([^<]*)")
EMPTY = "E"  # the status of a cell of nobody, which is published as such
QUOTES = '"“”'
_OTHER = frozenset({"COST", "COSTVAR", "LOWERPL", "UPPERPL", "WEIGHT", "SHADOW", "HOLDING", "REQUEST"})
SENSITIVE, SECONDARY, SHOWN = "u", "x", "s"  # of sdcTable
RESERVED = frozenset({"id", "freq", "Freq", "sdcStatus"})  # by sdcTable
SEPARATORS = (",", ";", "|", "\t")


@dataclass
class TableVariable:
    """A variable of a table file: what it is, its total code and hierarchy.

    `kind`: "code", "count", "value" (a total of contributions), "largest" (one of the largest of these), "status" or
    "other". `missing`: codes that stand for missing ones, and lie in no other.
    """

    name: str
    kind: str = "other"
    total: str = TOTAL
    hierarchy: str | None = None
    missing: tuple[str, ...] = ()


@dataclass
class TableMetadata:
    """What an .rda file says of a table file: its separator, its variables in order, and which status is published.

    That is safe, or protected from being suppressed.
    """

    separator: str = ","
    variables: list[TableVariable] = field(default_factory=list)
    safe: str = "S"
    protected: str = "P"

    def names(self, kind: str) -> list[str]:
        """Return the names of the variables of a kind."""
        return [one.name for one in self.variables if one.kind == kind]

    def missing(self) -> list[tuple[str, str]]:
        """Return the codes of missing ones, each with its variable."""
        return [(one.name, code) for one in self.variables if one.kind == "code" for code in one.missing]

    def hidden(self, cells: Sequence[str], number: str) -> bool:
        """Return whether the status in a line's cells says that its number is not published."""
        at = next((k for k, one in enumerate(self.variables) if one.kind == "status"), None)
        if at is None or cells[at] in {self.safe, self.protected}:
            return False
        return not (cells[at] == EMPTY and re.fullmatch(r"0+(?:[.,]0+)?", number))


def metadata_of(text: str, file: str, values: bool = False) -> TableMetadata:
    """Return what the metadata says; `ReleaseError` naming the line for what is none of a table with counts.

    `values`: of a table of totals too, which need not have counts.
    """
    out = TableMetadata()
    for number, line in enumerate(text.splitlines(), start=1):
        plain = line.strip()
        if not plain:
            continue
        tags = _TAG.findall(plain)
        if not plain.startswith("<"):
            name, *codes = plain.split()
            out.variables.append(TableVariable(name, missing=tuple(code.strip(QUOTES) for code in codes)))
        for tag, value in ((tag.upper(), value.strip().strip(QUOTES)) for tag, value in tags):
            if tag == "SEPARATOR":
                out.separator = {"TAB": "\t", "\\t": "\t"}.get(value, value) or ","
            elif tag == "SAFE":
                out.safe = value
            elif tag == "PROTECT":
                out.protected = value
            elif tag in {"UNSAFE", "DECIMALS", "CODELIST", "HIERARCHICAL"}:
                continue
            elif not out.variables:
                raise ReleaseError(f"<{tag}> stands before any variable", file=file, place=f"line {number}")
            elif tag == "HIERLEVELS":
                why = "<HIERLEVELS> is not read: give the hierarchy as a file (<HIERCODELIST>)"
                raise ReleaseError(why, file=file, place=f"line {number}")
            else:
                _tagged(out.variables[-1], tag, value)
    if not values and not out.names("count"):  # sdcTable writes a table of counts so
        for one in out.variables:
            one.kind = "count" if one.kind == "value" and one.name.lower() == "freq" else one.kind
    if values and not out.names("value"):
        raise ReleaseError("names no table of totals: a <NUMERIC> variable is needed", file=file)
    if not out.names("code") or (len(out.names("count")) != 1 and not values):
        raise ReleaseError("names no table of counts: <RECODABLE> variables and one <FREQUENCY> are needed", file=file)
    return out


def _tagged(variable: TableVariable, tag: str, value: str) -> None:
    """Note what a tag says of a variable; unknown ones say nothing of counts."""
    if tag in {"RECODABLE", "RECODEABLE"}:
        variable.kind = "code"
    elif tag == "FREQUENCY":
        variable.kind = "count"
    elif tag == "STATUS":
        variable.kind = "status"
    elif tag == "TOTCODE":
        variable.total = value
    elif tag == "HIERCODELIST":
        variable.hierarchy = value
    elif tag == "NUMERIC" and variable.kind == "other":
        variable.kind = "value"
    elif tag == "MAXSCORE":
        variable.kind = "largest"
    elif tag in _OTHER:
        variable.kind = "other"


def cells_of_lines(metadata: TableMetadata, text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line; `ReleaseError` for one that has not a cell for each variable."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        cells = [cell.strip().strip('"') for cell in line.split(metadata.separator)]
        if len(cells) != len(metadata.variables):
            why = f"has {len(cells)} cells, the metadata {len(metadata.variables)} variables"
            raise ReleaseError(why, file=file, place=f"line {number}")
        yield number, cells


def table_lines(metadata: TableMetadata, text: str, file: str) -> Iterator[list[str]]:
    """Yield the header and the lines of a table with its codes and counts: totals by name, unsafe cells as a mark."""
    at = {one.name: k for k, one in enumerate(metadata.variables)}
    codes = [one for one in metadata.variables if one.kind == "code"]
    (count,) = metadata.names("count")
    yield [*(one.name for one in codes), "count"]
    for _, cells in cells_of_lines(metadata, text, file):
        labels = ["total" if cells[at[one.name]] == one.total else cells[at[one.name]] for one in codes]
        yield [*labels, "*" if metadata.hidden(cells, cells[at[count]]) else cells[at[count]]]


def hierarchies_in(metadata: TableMetadata, folder: str) -> Sequence[str]:
    """Return the hierarchies of the metadata as options "VARIABLE=FILE", files in the folder of the metadata."""
    named = [(one.name, one.hierarchy) for one in metadata.variables if one.kind == "code" and one.hierarchy]
    return [f"{name}={os.path.join(folder, os.path.basename(path.replace(chr(92), '/')))}" for name, path in named]


def argus_sheet(text: str, options: TableOptions) -> tuple[Sheet, TableOptions]:
    """Return a table file as a sheet by the metadata that the options name, and the options with its hierarchies."""
    file = options.metadata or ""
    metadata = metadata_of(read_text_file(file), file)
    rows = tuple(SheetRow(k, tuple(cells)) for k, cells in enumerate(table_lines(metadata, text, ""), start=0))
    known = (*options.hierarchies, *hierarchies_in(metadata, os.path.dirname(file)))
    missing = tuple(metadata.missing())
    return Sheet(rows), replace(options, hierarchies=known, count_columns=("count",), missing_codes=missing)


def without_unsafe(sheet: Sheet) -> Sheet:
    """Return a table of sdcTable without the counts that its column sdcStatus calls suppressed, and without this one.

    Other tables stay as they are. `ReleaseError` where no column of counts stands beside it.
    """
    if not sheet.rows or STATUS not in (names := [cell.lower() for cell in sheet.rows[0].cells]):
        return sheet
    at = names.index(STATUS)
    counts = [k for k, name in enumerate(names) if name in {"freq", "count", "n", "frequency"}]
    if len(counts) != 1:
        raise ReleaseError(
            "a column of counts called freq is needed beside sdcStatus", place=f"line {sheet.rows[0].number}"
        )
    rows = [sheet.rows[0]]
    for row in sheet.rows[1:]:
        gone = len(row.cells) > at and row.cells[at].lower() in SUPPRESSED
        cells = tuple("*" if gone and k == counts[0] else cell for k, cell in enumerate(row.cells))
        rows.append(replace(row, cells=cells))
    left = [replace(row, cells=row.cells[:at] + row.cells[at + 1 :]) for row in rows]
    return replace(sheet, rows=tuple(left))


@dataclass(frozen=True)
class WrittenVariable:
    """A column of a table file: its name, its tags beside it in the metadata, and what stands in each line."""

    name: str
    tags: tuple[str, ...]
    cells: Sequence[str]


def table_files(columns: Sequence[WrittenVariable], trees: Sequence[CategoryTree], stem: str) -> dict[str, str]:
    """Return the files of a table by their ends: ".tab" and ".rda", and a ".hrc" for each hierarchy.

    `stem`: the name of the table file without its end. Raises `Unsupported` for codes with each of the separators.
    """
    names = [one.name.replace(" ", "_") for one in columns]
    if len(set(names)) < len(names):
        double = next(name for k, name in enumerate(names) if name in names[:k])
        raise Unsupported(f"two variables of the .tab file would be called '{double}': rename the column")
    every = [cell for one in columns for cell in one.cells]
    mark = next((m for m in SEPARATORS if not any(m in cell for cell in every)), None)
    if mark is None or any('"' in cell or "\n" in cell for cell in every):
        raise Unsupported(
            "codes with commas, semicolons, bars and tabs, or with quotes, cannot be written to a .tab file"
        )
    known = {one.name: f"-{k}.hrc" if k else ".hrc" for k, one in enumerate(trees)}
    said = [f'<SEPARATOR> "{chr(92) + "t" if mark == chr(9) else mark}"', '<SAFE> "S"', '<UNSAFE> "U"', '<PROTECT> "P"']
    for name, one in zip(names, columns, strict=True):
        said += [name, *(f"  {tag}" for tag in one.tags)]
        if one.name in known:
            own = f'  <HIERCODELIST> "{stem}{known[one.name]}"'
            said += ["  <HIERARCHICAL>", own, '  <HIERLEADSTRING> "@"']
    lines = [mark.join(line) for line in zip(*(one.cells for one in columns), strict=True)]
    texts = {known[tree.name]: "".join(f"{line}\n" for line in _hierarchy_lines(tree)) for tree in trees}
    return {".tab": "".join(f"{line}\n" for line in lines), ".rda": "".join(f"{line}\n" for line in said), **texts}


def _hierarchy_lines(tree: CategoryTree) -> Iterator[str]:
    """Yield the codes of a hierarchy, each below the one that it lies in, with a sign for each level."""
    below: dict[str | None, list[str]] = {}
    for code, parent in tree.parents.items():
        below.setdefault(parent, []).append(code)
    left = [(code, 0) for code in reversed(below.get(None, []))]
    while left:
        code, level = left.pop()
        yield "@" * level + code
        left += [(one, level + 1) for one in reversed(below.get(code, []))]


@dataclass(frozen=True)
class SdcProblem:
    """A complete table as a problem of sdcTable: its codes, one code for all of each variable, what stands in lines.

    `codes`: a list per variable; `counts`: of contributors, or of people; `numbers`: totals by their name; `status`: u,
    x or s; `trees`: the hierarchies of variables.
    """

    names: tuple[str, ...]
    totals: tuple[str, ...]
    codes: Sequence[Sequence[str]]
    counts: Sequence[str]
    numbers: Mapping[str, Sequence[str]]
    status: Sequence[str]
    trees: Mapping[str, CategoryTree]


def sdc_files(problems: Sequence[SdcProblem], stem: str) -> dict[str, str]:
    """Return files by their ends: an R script that makes the problems, their cells and dimensions as CSV.

    `stem`: the name of the script without its end. Raises `Unsupported` for names that sdcTable keeps for itself.
    """
    files, script = dict[str, str](), [*_R_HEAD]
    for number, one in enumerate(problems, start=1):
        if taken := [name for name in (*one.names, *one.numbers) if name in RESERVED]:
            raise Unsupported(f"sdcTable keeps the name '{taken[0]}' for itself: rename the column")
        end = f"-cells{number if len(problems) > 1 else ''}.csv"
        cells = zip(*one.codes, *one.numbers.values(), one.counts, one.status, strict=True)
        files[end] = _csv([[*one.names, *one.numbers, "freq", "sdcStatus"], *cells])
        kinds = ", ".join(f"{_r_text(name)} = 'character'" for name in (*one.names, "sdcStatus"))
        script.append(f"cells <- read.csv({_r_text(stem + end)}, check.names = FALSE, colClasses = c({kinds}))")
        script.append("dims <- list()")
        for k, name in enumerate(one.names):
            own = end.replace("cells", f"dim{k + 1}-" if len(problems) > 1 else f"dim{k + 1}")
            files[own] = _csv([["levels", "codes"], *_dimension(one, k)])
            script.append(f"dims[[{_r_text(name)}]] <- read.csv({_r_text(stem + own)}, colClasses = 'character')")
        numeric = f", numVarInd = c({', '.join(map(_r_text, one.numbers))})" if one.numbers else ""
        _refuse_missing(one)
        script += [
            f"problem <- makeProblem(data = innermost(cells, dims), dimList = dims, freqVarInd = 'freq'{numeric})",
            f"for (status in c('{SENSITIVE}', '{SECONDARY}')) {{",
            "  those <- cells[cells$sdcStatus == status, names(dims), drop = FALSE]",
            "  if (nrow(those) > 0) problem <- change_cellstatus(problem, specs = those, rule = status)",
            "}",
            f"problems[[{number}]] <- problem",
        ]
    return {".R": "".join(f"{line}\n" for line in script), **files}


def _refuse_missing(problem: SdcProblem) -> None:
    """Refuse a table whose lowest cells are not all listed: sdcTable adds them up to the others."""
    lowest = []
    for k, name in enumerate(problem.names):
        inner = set() if (tree := problem.trees.get(name)) is None else set(tree.parents.values())
        lowest.append([code not in inner and code != problem.totals[k] for code in problem.codes[k]])
    inmost = [all(line) for line in zip(*lowest, strict=True)]
    everybody = [codes == problem.totals for codes in zip(*problem.codes, strict=True)]
    for name, cells in (problem.numbers or {"freq": problem.counts}).items():
        whole = [Decimal(cell) for cell, all_of_it in zip(cells, everybody, strict=True) if all_of_it]
        if whole and sum(Decimal(cell) for cell, one in zip(cells, inmost, strict=True) if one) != whole[0]:
            why = "sdcTable needs all of the lowest cells, and those of"
            raise Unsupported(f"{why} '{name}' do not add up to everybody's: give them, or write .tab")


def _dimension(problem: SdcProblem, k: int) -> Iterator[tuple[str, str]]:
    """Yield levels and codes of a variable from the top, everybody the first."""
    name, total = problem.names[k], problem.totals[k]
    yield "@", total
    tree = problem.trees.get(name)
    own = [code for code in dict.fromkeys(problem.codes[k]) if code != total]
    for line in own if tree is None else _hierarchy_lines(tree):
        code = line.lstrip("@") if tree is not None else line
        yield "@" * (len(line) - len(code) + 2), code


def _csv(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as CSV."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _r_text(text: str) -> str:
    """Return a text as R writes it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
