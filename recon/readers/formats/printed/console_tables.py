"""Tables as statistical programs print them, in columns of blanks: R's tables and frames, pandas, Stata's `tabulate`.

A count ends where the label of its column ends: so a column ends where a word of the header does, some cell does, and
none goes on. A table in two or more ways becomes a line for every count, with the names that are printed: R's
`print(table(...))` in pages and wrapped parts, `ftable` and `write.ftable`, pandas' `crosstab`, Stata's `tabulate`.
Others are refused with the step that writes the table as CSV.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from recon.io.files.sheets import Sheet, SheetRow
from recon.readers.formats.tables.cells import count_like
from solvers.foundation.errors import ReleaseError

FROM_R = "write.csv(as.data.frame(TABLE), 'counts.csv', row.names = FALSE)"
FROM_STATA = "contract VARIABLES, freq(n), then export delimited using counts.csv"
FROM_SAS = "TABLES ... / OUT=counts, then PROC EXPORT DATA=counts OUTFILE='counts.csv' DBMS=CSV"
# What is known and not read: words that tell it, who prints it, what to do instead.
REFUSED = (
    (r"The FREQ Procedure|^[ \t]*Frequency[ \t]*\|", "a listing of SAS's PROC FREQ", FROM_SAS),
    (r"^[ \t]*\+-+\+[ \t]*\n[ \t]*\| Key\s", "a table of Stata's tabulate with several figures in a cell", FROM_STATA),
    (r"^[ \t]*# A tibble:", "a tibble as R prints it", FROM_R),
)
PROMPT = re.compile(r"[>.+] \S")  # of R and Stata, before what was typed
RULE = re.compile(r"[ |]*---[-+| ]*")
PAGE = re.compile(r", , (.+)")
Columns = list[int]  # where each ends


class _ConsoleLine(NamedTuple):
    """A line of the text: its number, from 1, and what stands in it."""

    number: int
    text: str


class _ConsoleTable(NamedTuple):
    """Names of attributes, and lines of their values, the count and the number of the line."""

    names: tuple[str, ...]
    lines: Sequence[tuple[tuple[str, ...], str, int]]


def looks_printed(head: str) -> bool:
    """Return whether a known program's words are in a text, or counts end where words of the line above them end."""
    if any(re.search(known, head, re.MULTILINE) for known, _, _ in REFUSED):
        return True
    lines = [_unruled(line) for line in head.splitlines() if not RULE.fullmatch(line)]
    lines[:1] = [lines[0].rjust(len(lines[1]))] if len(lines) > 1 else lines  # the head was stripped
    for above, below in pairwise(lines):
        words = list(re.finditer(r"\S+", below))
        counts = list(takewhile(lambda word: count_like(word[0]), reversed(words)))
        label = below[: counts[-1].start()] if counts else ""
        ended = {word.end() for word in counts} <= set(_word_ends(above)) and len(below) == len(above)
        if counts and ended and len(words) > 1 and not re.search(r"[()<>=:]", label):
            return True
    return False


def has_rules(head: str) -> bool:
    """Return whether lines of dashes with a cross or bar in them part a table, as Stata and SAS print it."""
    return any(RULE.fullmatch(line) and ("-+-" in line or "|" in line) for line in head.splitlines()[1:])


def printed_sheet(text: str) -> Sheet:
    """Return the rows of a table that a program printed. Cost: linear in the text.

    Raises `ReleaseError` with the step that writes it as CSV where it is of a kind that is not read, or its columns
    cannot be told.
    """
    for known, what, step in REFUSED:
        if re.search(known, text, re.MULTILINE):
            raise ReleaseError(f"is {what}, which is not read: write the counts as CSV ({step})")
    lines = [_ConsoleLine(i, line.rstrip()) for i, line in enumerate(text.splitlines(), 1)]
    while lines and (PROMPT.match(lines[0].text) or (not lines[0].text and len(lines) > 1 and not lines[1].text)):
        del lines[0]
    while lines and (not lines[-1].text or PROMPT.match(lines[-1].text)):
        del lines[-1]
    rules = [i for i, line in enumerate(lines) if RULE.fullmatch(line.text)]
    if rules:
        bar = next((line.text.find("|") for line in lines if "|" in line.text), -1)
        head = [_ConsoleLine(n, _unruled(t)) for n, t in lines[: rules[0]] if t]
        data = [_ConsoleLine(n, _unruled(t)) for n, t in lines[rules[0] :] if t and not RULE.fullmatch(t)]
        found = _of_stata(head, data, bar)
    else:
        readers: tuple[Callable[[list[_ConsoleLine]], _ConsoleTable | list[SheetRow] | None], ...]
        readers = (_one_way, _pages, _flat, _crossed, _frame)
        found = next((table for read in readers if (table := read(lines))), None)
    rows = tuple(found if isinstance(found, list) else _melted(found)) if found else ()
    labels = [cell for i, row in enumerate(rows) for cell in (row.cells[:-1] if i else row.cells)]
    if not rows or any(re.search(r"(?:^|\s)(?:\.{2,3}|…)$", label) for label in labels):  # lines left out
        raise ReleaseError(
            "is of no format that is read: it looks like a table that a program printed, and its columns cannot be "
            f"told: keep the lines of one table, or write it as CSV (R: {FROM_R}; pandas: TABLE.to_csv('counts.csv'); "
            f"Stata: {FROM_STATA})"
        )
    return Sheet(rows, delimiter=" ")


def _unruled(line: str) -> str:
    return line.replace("|", " ").rstrip()


def _word_ends(line: str) -> Columns:
    return [word.end() for word in re.finditer(r"\S+", line)]


def _columns(head: str, data: Sequence[_ConsoleLine], after: int = 0) -> Columns:
    """Return where columns end behind a place: at words of the header where some cell ends and none goes on."""
    found = [e for e in _word_ends(head) if e > after and any(line.text[e - 1 : e].strip() for line in data)]
    found = [e for e in found if not any(line.text[e : e + 1].strip() for line in data)]
    whole = bool(found) and max(len(head), *(len(line.text) for line in data)) <= found[-1]
    return found if whole else []


def _cells_ending(line: str, start: int, ends: Columns) -> list[str]:
    """Return the texts that end at places, the first from a place on, without blanks and quotes around them."""
    return [line[a:b].strip(' "') for a, b in pairwise([start, *ends])]


def _stub_width(data: Sequence[_ConsoleLine], first: int) -> int:
    """Return how wide the labels before the first column of counts are, which ends at a place."""
    before = [line.text[:first] for line in data]
    labels = [re.sub(r"\S+$", "", text) if len(text) == first and text[-1] != " " else text for text in before]
    return max(len(label.rstrip()) for label in labels)


def _are_counts(cells: Sequence[str]) -> bool:
    return all(not cell or count_like(cell) for cell in cells) and any(cells)


def _melted(table: _ConsoleTable) -> Iterator[SheetRow]:
    """Yield the rows of a long table: its names, and a row for every count."""
    names: list[str] = []
    for k, name in enumerate(table.names):
        free = name or ("row" if not k else "column")
        names.append(free if free not in names else f"{free} {k + 1}")
    yield SheetRow(table.lines[0][2] - 1, (*names, "count"))
    for labels, count, number in table.lines:
        yield SheetRow(number, (*labels, count or "NA"))


def _one_way(lines: list[_ConsoleLine]) -> _ConsoleTable | None:
    """Return R's table in one way: its name or a blank line, then labels and counts below them, as often as needed."""
    if len(lines) < 3 or len(lines) % 2 == 0 or lines[0].text.startswith(" "):
        return None
    out = []
    for labels, counts in zip(lines[1::2], lines[2::2], strict=True):
        ends = _word_ends(counts.text)
        told = _cells_ending(labels.text, 0, ends)
        if not _are_counts(counts.text.split()) or len(labels.text) != len(counts.text) or not all(told):
            return None
        out += [((label,), count, counts.number) for label, count in zip(told, counts.text.split(), strict=True)]
    return _ConsoleTable((lines[0].text,), out)


def _pages(lines: list[_ConsoleLine]) -> _ConsoleTable | None:
    """Return R's table in three ways or more: tables in two ways below ", , NAME = VALUE, ..."."""
    starts = [i for i, line in enumerate(lines) if PAGE.match(line.text)]
    if not starts or starts[0]:
        return None
    names, out = tuple[str, ...](), []
    for begin, end in pairwise([*starts, len(lines)]):
        page = PAGE.match(lines[begin].text)
        said = [part.partition(" = ") for part in re.split(r", (?=[^,=]* = )", page[1] if page else "")]
        part = lines[begin + 1 : end]
        while part and not part[-1].text:
            part.pop()
        found = _crossed(part[1:])
        if found is None:
            return None
        names = (*found.names, *(name.strip() for name, _, _ in said))
        out += [((*labels, *(value for _, _, value in said)), count, n) for labels, count, n in found.lines]
    return _ConsoleTable(names, out)


def _crossed(lines: list[_ConsoleLine]) -> _ConsoleTable | None:
    """Return a table in two ways: R's, or pandas' with the names of its columns and of its index in two lines."""
    if len(lines) < 3:
        return None
    again = [i for i, line in enumerate(lines) if line.text == lines[0].text]
    parts = [found for a, b in pairwise([*again, len(lines)]) if (found := _crossed_part(lines[a:b]))]
    return (
        _ConsoleTable(parts[0].names, [line for part in parts for line in part.lines])
        if len(parts) == len(again)
        else None
    )


def _crossed_part(lines: list[_ConsoleLine]) -> _ConsoleTable | None:
    over, head, data = lines[0].text, lines[1].text, lines[2:]
    if re.fullmatch(r"\S+", head) and over[:1].strip() and len(head) < len(over):  # pandas, with one index
        if any(line.text.startswith(" ") for line in data):
            return None
        ends = _columns(over, data)
        name = re.match(r"\S+(?: \S+)*", over)  # two blanks part columns
        start = max(len(head), name.end() if name else 0, _stub_width(data, ends[0])) if ends else 0
        return _cells(head, over[:start].strip(), over, data, start, ends)
    start = len(over) - len(over.lstrip())
    if (not start and over) or not all(line.text.startswith("  ") for line in data):
        return None
    ends = _columns(head, data, start)
    start = start or (_stub_width(data, ends[0]) if ends else 0)
    return _cells(head[:start].strip(), over.strip(), head, data, start, ends)


def _cells(
    name: str, over: str, head: str, data: Sequence[_ConsoleLine], start: int, ends: Columns
) -> _ConsoleTable | None:
    """Return the counts of a table in two ways: a name for its lines and one for its columns."""
    if not ends:
        return None
    labels, out = _cells_ending(head, start, ends), []
    for line in data:
        stub, cells = line.text[:start].strip(), _cells_ending(line.text, start, ends)
        if not stub or not _are_counts(cells):
            return None
        out += [((stub, label), cell, line.number) for label, cell in zip(labels, cells, strict=True)]
    return _ConsoleTable((name, over), out) if all(labels) and len(set(labels)) == len(labels) else None


def _flat(lines: list[_ConsoleLine]) -> _ConsoleTable | None:
    """Return R's flat table: a line with a name and labels for each attribute over it, one with the others' names."""
    over = next((i for i, line in enumerate(lines[:9]) if line.text and not line.text.startswith(" ")), 0)
    place = len(lines[0].text) - len(lines[0].text.lstrip()) if lines else 0
    if not over or len(lines) < over + 2 or len(lines[over].text) > place:
        return None
    head, stubs, data = lines[:over], lines[over].text, lines[over + 1 :]
    ends = _columns(head[-1].text, data, place)
    if not ends:
        return None
    names, levels = [], []
    for line in head:
        first = re.split(r"\s{2,}", line.text[place : ends[0]].strip())
        first = first if len(first) > 1 else line.text[place : ends[0]].split()
        if line.text[:place].strip() or len(first) != 2:
            return None
        names.append(first[0].strip('"'))
        labels = [first[1].strip('"')]
        for label in _cells_ending(line.text, ends[0], ends[1:]):
            labels.append(label or labels[-1])
        levels.append(labels)
    blank = [k for k in range(place) if not any(line.text[k : k + 1].strip() for line in data)]
    starts = [0, *(m.start() for m in re.finditer(r"(?<= )\S+", stubs) if m.start() - 1 in blank)]
    out, last = [], [""] * len(starts)
    for line in data:
        given = _cells_ending(line.text[:place], 0, [*starts[1:], place])
        at = next((k for k, label in enumerate(given) if label), 0)  # blanks before it repeat what is above
        filled = [*last[:at], *given[at:]]
        cells = _cells_ending(line.text, place, ends)
        if not all(filled) or not _are_counts(cells):
            return None
        out += [((*filled, *(level[k] for level in levels)), cell, line.number) for k, cell in enumerate(cells)]
        last = filled
    return _ConsoleTable((*_cells_ending(stubs, 0, [*starts[1:], place]), *names), out)


def _frame(lines: list[_ConsoleLine]) -> list[SheetRow] | None:
    """Return the rows of a frame or a matrix as R and pandas print it: a line of names, all cells below their ends."""
    if len(lines) < 3 or not all(line.text for line in lines):
        return None
    head, data = lines[0].text, lines[1:]
    ends = [e for e in _columns(head, data) if all(line.text[e - 1 : e].strip() for line in data)]
    if not ends or max(len(line.text) for line in lines) > ends[-1]:
        return None
    first = [line.text[: ends[0]] for line in data]
    numbered = [re.fullmatch(r"\s*(\d+)\s+(\S.*)", text) for text in first]
    told = [n[2] for n in numbered if n]
    if [n[1] for n in numbered if n] in [[str(k + i) for k in range(len(data))] for i in (0, 1)] and not _are_counts(
        told
    ):
        cells = [[label] for label in told]  # behind the numbers of rows
    elif all(len(text.split()) > 1 and count_like(text.split()[-1]) for text in first):
        start = _stub_width(data, ends[0])
        if re.match(r"\S\S", head[max(0, start - 1) :]):  # a word of the header would be cut
            return None
        cells = [[text[:start].strip(), text[start:].strip()] for text in first]
        return _rows(lines, [head[:start].strip(), head[start : ends[0]].strip()], cells, ends)
    else:
        cells = [[text.strip()] for text in first]
    return _rows(lines, [head[: ends[0]].strip()], cells, ends)


def _rows(lines: list[_ConsoleLine], names: list[str], first: list[list[str]], ends: Columns) -> list[SheetRow] | None:
    """Return rows with the first cells given, and the others cut."""
    cut = [_cells_ending(line.text, ends[0], ends[1:]) for line in lines]
    found = [[*before, *others] for before, others in zip([names, *first], cut, strict=True)]
    counted = any(all(count_like(row[k]) for row in found[1:]) for k in range(1, len(found[0])))
    return [SheetRow(line.number, tuple(cells)) for line, cells in zip(lines, found, strict=True)] if counted else None


def _of_stata(head: list[_ConsoleLine], data: list[_ConsoleLine], bar: int) -> _ConsoleTable | list[SheetRow] | None:
    """Return Stata's table in one way or two, the bars taken out; `bar`: where the first stood."""
    if bar < 1 or not 1 <= len(head) <= 2 or not data:
        return None
    ends = _columns(head[-1].text, data, bar)
    name = head[-1].text[:bar].strip()
    if len(head) == 2:
        return _cells(name, head[0].text.strip(), head[-1].text, data, bar, ends)
    cells = [[line.text[:bar].strip(), line.text[bar : ends[0]].strip()] for line in data] if ends else []
    return _rows([*head, *data], [name, head[0].text[bar : ends[0]].strip()], cells, ends) if ends else None
