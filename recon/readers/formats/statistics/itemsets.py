"""Frequent itemsets and association rules: supports are counts of rows, and what is not listed has fewer.

Read are the tables that mlxtend (CSV, JSON, pickle), arules (`write`, `inspect`) and Spark (JSON lines, pandas) make,
and SPMF's text. A list that has every part of each of its sets is that of all sets above a threshold: a set of which
all parts are listed, itself not, counts fewer rows than every listed one (the negative border), as far as the longest
set listed goes; longer ones may have been left out whatever they count.

Sources: Agrawal, Srikant, "Fast algorithms for mining association rules", VLDB 1994; Mannila, Toivonen, "Levelwise
search and borders of theories in knowledge discovery", Data Mining and Knowledge Discovery 1, 1997.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from encoders.domain.domain import Condition, Domain
from encoders.domain.values import Categorical, equals
from encoders.models.models import AnyModel, Provenance, PublishedFigure, Table, UnusedPublication
from recon.io.files.opening import current, parsed_json
from recon.io.files.sheets import text_sheet
from recon.readers.formats.drafts.binding import Binder, Feature
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.statistics.shares import (
    SCALE,
    Interval,
    TableCells,
    column_name,
    count_of,
    csv_cells,
    intervals,
    precision_of,
    rows_of,
    whole_cell,
)
from recon.readers.stored.objects.arrays import resolve
from recon.readers.stored.objects.pandas_tables import frame_columns
from recon.readers.stored.objects.raw import RawThing
from solvers.foundation.errors import ReleaseError, TooLarge
from solvers.foundation.exact import short_number
from solvers.statements.release import RowCount


def check_order(figures: Sequence[tuple[frozenset[str], Interval, str]], said: str, more: str = "") -> None:
    """Raise `ReleaseError` where a group has more rows than a wider one: conditions, figure and place of each.

    Compared are groups with those that have one condition less. `said`, `more`: the words around a figure.
    """
    known = {conditions: (figure, place) for conditions, figure, place in figures}
    for conditions, figure, place in figures:
        for one in sorted(conditions):  # the same one in every process
            wider = known.get(conditions - {one})
            if wider is not None and wider[0][1] < figure[0]:
                here, there = (f"{float(sum(one)) / 2:,.10g}" for one in (figure, wider[0]))
                message = f"{set_text(conditions)} {said} {here}{more}, {set_text(conditions - {one})} only {there}"
                raise ReleaseError(f"{message} ({wider[1]}): a group has no more rows than a wider one", place=place)


def set_text(items: Iterable[str]) -> str:
    """Return items in braces, long ones cut."""
    text = ", ".join(sorted(items))
    return "{" + (text if len(text) <= 80 else text[:77] + "...") + "}"


FORMAT = "table of counts: frequent itemsets"
RULES = "table of counts: association rules"
Items = frozenset[str]
MAX_CELL = 20_000  # characters
MAX_ITEM = 200
MAX_BORDER = 200_000  # sets that are not listed
SETS = {"itemsets": 0, "itemset": 0, "items": 0, "antecedents": 1, "antecedent": 1, "lhs": 1,
        "consequents": 2, "consequent": 2, "rhs": 2, "rules": 3, "rule": 3}  # fmt: skip
COUNTS = ("count", "freq", "frequency")
INDEX = ("", "unnamed: 0", "index")
LISTED_ALL = (
    "every set of items above the threshold is listed up to the longest one: of a list cut off otherwise "
    "(the first lines, chosen sets) sets not listed may count as many rows"
)
NO_BORDER = "parts of listed sets are not listed, so that nothing is concluded from sets that are not listed"
MORE_ROWS = "the file does not say how many rows there are, and its shares do not: give --rows"


@dataclass(frozen=True)
class ItemsetDraft(Draft):
    """Itemsets or rules before the number of rows is known: groups by items, with a count or a share each.

    `listed`: the items, the count (None: a share alone), the share, the place. `whole`: every part of a set is listed.
    """

    listed: tuple[tuple[Items, int | None, Interval | None, str], ...] = ()
    whole: bool = False

    def of_rows(self, rows: int | None) -> ItemsetDraft:
        """Return the draft of so many rows. Raises `ReleaseError` where the file's figures are of other rows.

        None: nobody says how many, and every set has a count.
        """
        counts = _itemset_counts(self.listed, rows)
        figures = [] if rows is None else [PublishedFigure((), count=rows, name="all rows")]
        figures += [PublishedFigure(_condition(items), count=n, name=set_text(items)) for items, n in counts.items()]
        notes: tuple[str, ...] = ()
        if self.whole:
            least = min(counts.values())
            border = negative_border(list(counts))
            names = ((_condition(items), f"{set_text(items)}, not listed") for items in border)
            figures += [PublishedFigure(where, high=max(least - 1, 0), low=0, name=name) for where, name in names]
            notes = (LISTED_ALL,) if border else ()
        origin = replace(self.origin, notes=tuple(dict.fromkeys((*self.origin.notes, *notes))))
        table = Table(tuple(figures), "itemsets" if self.whole else "sets of items")
        known = RowCount(max(counts.values())) if rows is None else RowCount(rows, rows)
        return replace(self, origin=origin, models=(table,), rows=known)

    def bound(self, binder: Binder) -> tuple[AnyModel, ...]:
        """Return the table over a domain; items called NAME=VALUE are found among its attributes' values."""
        if not self.models:
            raise ReleaseError(MORE_ROWS + _if_exact(self.listed))
        places = _values_of(self, binder.domain)
        rest = Binder(replace(self, features=tuple(f for f in self.features if f.name not in places)), binder.domain)
        table, out = self.models[0], []
        assert isinstance(table, Table)
        for figure in table.statements:
            kept = rest.translate(tuple(pair for pair in figure.condition if pair[0] not in places))
            found = tuple(dict.fromkeys((*kept, *(places[name] for name, _ in figure.condition if name in places))))
            if all(binder.domain.resolve(found).values()):
                out.append(replace(figure, condition=found))
            elif figure.count:  # of items of one attribute that exclude each other, none of them is listed
                raise ReleaseError(f"{figure.name} counts {figure.count:,} rows, but the domain has no such row")
        return (replace(table, statements=tuple(out), origin=self.origin),)


def _if_exact(listed: Iterable[tuple[Items, int | None, Interval | None, str]]) -> str:
    """Return of how many rows shares of few digits are, unless they were rounded: those have every last digit."""
    shares = [share for _, _, share, _ in listed if share is not None]
    rows = math.lcm(*((sum(share, Fraction(0)) / 2).denominator for share in shares))
    steps = max((round(1 / (high - low)) for low, high in shares), default=0)  # of the last digit within 1
    return f" (unless its shares were rounded, {rows:,} or a multiple)" if 4 * rows <= steps else ""


def _condition(items: Items) -> Condition:
    return tuple((item, equals(1)) for item in sorted(items))


def _values_of(draft: Draft, domain: Domain) -> dict[str, tuple[str, Any]]:
    """Return what items called NAME=VALUE ask of a domain that has NAME and no column of the item's own name."""
    out: dict[str, tuple[str, Any]] = {}
    for feature in draft.features:
        if feature.attribute in domain.place or feature.attribute in domain.columns:
            continue
        for at in re.finditer("[=:_]", feature.attribute):
            name, value = feature.attribute[: at.start()].strip(), feature.attribute[at.end() :].strip()
            attribute = domain.all[domain.place[name]] if name in domain.place else None
            if (
                isinstance(attribute, Categorical)
                and (v := {str(x): x for x in attribute.values}.get(value)) is not None
            ):
                out[feature.name] = (name, equals(v))
                break
    return out


def looks_like_itemsets(head: str) -> bool:
    """Return whether a text starts as SPMF's, or with a header of sets of items and their supports."""
    first, _, rest = head.lstrip("\ufeff \r\n").partition("\n")
    if "#SUP:" in first or _is_printed(first, rest):
        return True
    names = [column_name(cell) for row in text_sheet(first).rows for cell in row.cells]
    wanted = {SETS[name] for name in names if name in SETS}
    figures = "support" in names or any(name in names for name in COUNTS)
    return figures and bool(wanted & {0, 1, 3}) and bool(re.search(r"frozenset|[\[{(]", rest.partition("\n")[0]))


def looks_like_itemset_json(head: str) -> bool:
    """Return whether JSON begins as Spark's lines and pandas' records of itemsets or rules do, or pandas' columns."""
    names = [column_name(n) for n in re.findall(r'"([^"]{1,40})"\s*:', head[:1000])]
    figures = {"support", "confidence", *COUNTS}
    return any(n in SETS for n in names[:12]) and (not figures.isdisjoint(names[:12]) or head[1:].lstrip()[:1] == '"')


def is_itemset_json(found: Mapping[str, Any]) -> bool:
    """Return whether parsed JSON has columns of itemsets or rules and their supports."""
    names = {column_name(n) for n, values in found.items() if isinstance(values, dict)}
    return not names.isdisjoint(SETS) and not names.isdisjoint(("support", *COUNTS))


def read_itemsets(text: str) -> Draft:
    """Return the counts of a text of itemsets or rules. Cost: linear in it, and in the sets that are not listed.

    Raises `ReleaseError` naming the line for what is no set or support, and for supports that contradict each other.
    """
    text = text.lstrip("\ufeff")
    first, _, rest = text.lstrip().partition("\n")
    if "#SUP:" in first:
        return _draft_of(list(_spmf_lines(text)), "SPMF")
    if _is_printed(first, rest):
        return _draft_of(_printed_lines(text), "printed by arules")
    return _draft_of(csv_cells(text), "CSV")


def read_itemset_json(text: str) -> Draft:
    """Return the counts of itemsets or rules as JSON lines (Spark), records or columns (pandas)."""
    parsed_json(text)
    return _draft_of(list(_json_lines(text)), "JSON")


def read_itemset_frame(thing: RawThing, form: str) -> Draft | None:
    """Return the counts of a stored DataFrame of itemsets or rules, None for one of other columns."""
    try:
        columns = frame_columns(thing)
    except ReleaseError:
        return None
    names = [column_name(name) for name in columns]
    if not is_itemset_json({name: {} for name in names}) or len(set(names)) != len(names):
        return None
    cells = [[_cell(one) for one in held] for held in columns.values()]
    lines = [
        TableCells(f"row {i}", dict(zip(names, row, strict=True))) for i, row in enumerate(zip(*cells, strict=True))
    ]
    return _draft_of(lines, form)


def _cell(value: Any) -> Any:
    """Return a cell of a stored table as those of a text: items as a list, numbers as they are written."""
    if isinstance(value, frozenset | set | tuple):
        return list(value)
    if isinstance(found := resolve(value), np.ndarray):  # Spark's arrays in pandas
        return found.tolist()
    return "" if value is None else repr(value) if isinstance(value, float) else value


def _spmf_lines(text: str) -> Iterator[TableCells]:
    """Yield the lines of SPMF: "a b c #SUP: 12", or "a ==> b #SUP: 12 #CONF: 0.5"."""
    for i, raw in enumerate(text.splitlines(), 1):
        if not raw.strip():
            continue
        items, *tags = raw.split("#")
        cells: dict[str, Any] = {}
        for tag in tags:
            name, _, value = tag.partition(":")
            cells[{"sup": "count", "conf": "confidence"}.get(column_name(name), column_name(name))] = value.strip()
        if "count" not in cells:
            raise ReleaseError("has no '#SUP: number'", place=f"line {i}")
        parts = [part.split() for part in items.split("==>")]
        if any("-1" in part or "-2" in part for part in parts) or len(parts) > 2:
            raise ReleaseError(
                "is not a set of items (sequences, with -1 between sets, are not read)", place=f"line {i}"
            )
        names = ("antecedents", "consequents") if len(parts) == 2 else ("itemsets",)
        yield TableCells(f"line {i}", cells | dict(zip(names, parts, strict=True)))


def _is_printed(first: str, rest: str) -> bool:
    """Return whether lines begin as `inspect` of arules prints sets or rules."""
    return first.split()[:1] in (["items"], ["lhs"]) and rest.lstrip().startswith("[1]")


def _printed_lines(text: str) -> list[TableCells]:
    """Return the lines that `inspect` of arules printed; what did not fit its width stands in a table below."""
    out: dict[str, TableCells] = {}
    header: list[str] = []
    for i, raw in enumerate(text.splitlines(), 1):
        number, _, rest = raw.strip().partition("]")
        if not number.startswith("["):
            header = [column_name(name) for name in raw.split()] or header
            continue
        kinds, names = [n for n in header if n in SETS], [n for n in header if n not in SETS]
        cells = rest.rsplit(None, len(names)) if names else [rest]
        sets = re.split(r"(?<=\})\s+=>\s+(?=\{)", cells.pop(0).strip()) if kinds else []
        if len(cells) != len(names) or len(sets) != len(kinds):
            raise ReleaseError(f"has other cells than the header: {', '.join(header)[:80]}", place=f"line {i}")
        known = out[number].cells if number in out else {}
        out[number] = TableCells(f"line {i}", {**known, **dict(zip(kinds, sets, strict=True)),
                                               **dict(zip(names, cells, strict=True))})  # fmt: skip
    return list(out.values())


def _json_lines(text: str) -> Iterator[TableCells]:
    """Yield the records of JSON lines, of a list of records, or of columns by row."""
    from recon.readers.formats.release.reading import no_doubles

    def parsed(part: str, place: str) -> Any:
        try:
            return json.loads(part, object_pairs_hook=no_doubles, parse_float=_ItemText, parse_int=_ItemText)
        except (ValueError, RecursionError) as error:
            raise ReleaseError(f"is not JSON of itemsets or rules ({error})", place=place) from None

    lines = [(f"line {i}", line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    several = len(lines) > 1 and all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for _, line in lines)
    found = [(place, parsed(line, place)) for place, line in lines] if several else [("", parsed(text, "JSON"))]
    content = found[0][1]
    if not several and isinstance(content, list):
        found = [(f"[{i}]", one) for i, one in enumerate(content)]
    elif not several and isinstance(content, dict) and all(isinstance(v, dict) for v in content.values()):
        keys = list(dict.fromkeys(k for v in content.values() for k in v))
        found = [(f"row {k}", {name: v.get(k) for name, v in content.items()}) for k in keys]
    for place, one in found:
        if not isinstance(one, dict):
            raise ReleaseError("is not a record of a set of items and its support", place=place)
        yield TableCells(place, {column_name(name): value for name, value in one.items()})


class _ItemText(str):
    """A number as it is written in JSON."""

    __slots__ = ()


def _items(cell: Any, place: str) -> Items:
    """Return the items of a cell: a list, Python's frozenset({'a'}) and lists, R's {a,b}."""
    every = list(cell) if isinstance(cell, list) else _items_of_text(str(cell).strip(), place)
    texts = [str(item).strip() for item in every]
    for item, text in zip(every, texts, strict=True):
        if isinstance(item, (list, dict, tuple, set)) or item is None or not text or len(text) > MAX_ITEM:
            raise ReleaseError(f"the item '{text[:40]}' is none: a name of 1 to {MAX_ITEM} characters", place=place)
    if len(set(texts)) != len(texts):
        raise ReleaseError(f"{set_text(texts)} has an item twice", place=place)
    return frozenset(texts)


_QUOTED = re.compile(r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")(?=\s+['\"])")


def _items_of_text(text: str, place: str) -> list[Any]:
    """Return the items of a set in words."""
    plain = re.sub(r"np\.\w{1,12}\(([^()]{0,200})\)", r"\1", text)
    plain = re.sub(r"^(?:frozenset|set)\((.*)\)$", r"\1", plain, flags=re.DOTALL)
    if len(text) > MAX_CELL or plain[:1] + plain[-1:] not in ("{}", "[]", "()"):
        raise ReleaseError(f"'{text[:40]}' is not a set of items", place=place)
    if re.fullmatch(r"\[[\d\s.+-]*\]", plain):  # numbers of numpy, which prints no commas
        return plain[1:-1].split()
    plain = _QUOTED.sub(r"\g<0>,", plain)  # texts of numpy, which Python would put together
    try:
        found = ast.literal_eval(plain)
        if isinstance(found, (set, list, tuple)):
            return list(found)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        pass
    inside = plain[1:-1].strip()
    cuts, closed = [len(inside)], False
    for at in range(len(inside) - 1, -1, -1):  # a comma that a bracket closes behind is part of an item: age=[18,30)
        closed = inside[at] in "])" or (closed and inside[at] not in "[(")
        if inside[at] == "," and not closed:
            cuts.append(at)
    starts = [0, *(at + 1 for at in cuts[:0:-1])]
    return [inside[a:b].strip() for a, b in zip(starts, cuts[::-1], strict=True)] if inside else []


def _sets_of(line: TableCells, kinds: Mapping[str, int]) -> tuple[Items, ...]:
    """Return the set of a line, of a rule both sides."""
    by_kind = {kind: line.cells.get(name) for name, kind in kinds.items()}
    if 0 in by_kind:
        return (_items(by_kind[0], line.place),)
    if 3 in by_kind:
        left, arrow, right = str(by_kind[3]).partition("=>")
        if not arrow:
            raise ReleaseError(f"'{left[:40]}' is not a rule {{...}} => {{...}}", place=line.place)
        sides = (_items(left, line.place), _items(right, line.place))
    else:
        sides = (_items(by_kind[1], line.place), _items(by_kind[2], line.place))
    if sides[0] & sides[1]:
        raise ReleaseError(f"{set_text(sides[0] & sides[1])} is on both sides of the rule", place=line.place)
    return sides


# What a table of rules says beside supports, by the supports s of both sides, a and c of each.
MEASURES: Mapping[str, Callable[[float, float, float], float]] = {
    "antecedent support": lambda s, a, c: a,
    "coverage": lambda s, a, c: a,
    "consequent support": lambda s, a, c: c,
    "rhssupport": lambda s, a, c: c,
    "confidence": lambda s, a, c: s / a,
    "lift": lambda s, a, c: s / (a * c),
    "leverage": lambda s, a, c: s - a * c,
    "conviction": lambda s, a, c: math.inf if s >= a else (1 - c) / (1 - s / a),
    "zhangs metric": lambda s, a, c: (s - a * c) / (max(s * (1 - a), a * (c - s)) or math.inf),
    "jaccard": lambda s, a, c: s / (a + c - s),
    "certainty": lambda s, a, c: 0.0 if c >= 1 else (s / a - c) / (1 - c),
    "kulczynski": lambda s, a, c: (s / a + s / c) / 2,
    "representativity": lambda s, a, c: 1.0,
}
EITHER = {"antecedent support": 1, "coverage": 1, "consequent support": 2, "rhssupport": 2}
NEAR = 1e-6  # how near measures are to those of the supports, in parts of themselves


def _draft_of(lines: Sequence[TableCells], how: str) -> Draft:
    """Return the draft of the lines of a file."""
    if not lines:
        raise ReleaseError("the table has no lines")
    names = list(lines[0].cells)
    kinds = {name: SETS[name] for name in names if name in SETS}
    if sorted(kinds.values()) not in ([0], [1, 2], [3]):
        raise ReleaseError("needs one column of itemsets, or antecedents and consequents", place=lines[0].place)
    for line in lines:
        if list(line.cells) != names:
            raise ReleaseError(f"has other columns than {lines[0].place}", place=line.place)
    sets = [_sets_of(line, kinds) for line in lines]
    current().bytes(500 * len(lines))
    counts = next((name for name in COUNTS if name in names), None)
    groups: list[tuple[Items, int | None, Interval | None, str]] = []
    shares = _column(lines, "support") if "support" in names else None
    for i, (line, found) in enumerate(zip(lines, sets, strict=True)):
        number = None if counts is None else whole_cell(line.cells[counts], line.place)
        groups.append((frozenset().union(*found), number, None if shares is None else shares[i], line.place))
    if all(number is None and share is None for _, number, share, _ in groups):
        raise ReleaseError("has no column 'support' or 'count'", place=lines[0].place)
    groups += _sides(lines, sets, names, shares)
    _check_shares(groups)
    whole = 0 in kinds.values() and _is_whole({items for items, *_ in groups})
    used = {*kinds, "support", *COUNTS[: COUNTS.index(counts) + 1 if counts else 0], *INDEX, *EITHER}
    unused = [] if counts is None else [n for n in COUNTS if n in names and n != counts]
    unused += [n for n in names if n not in used and n not in unused and not _follows(n, lines, sets, groups)]
    items = sorted(frozenset().union(*(one[0] for one in groups)))
    if not items:
        raise ReleaseError("no line has an item")
    draft = ItemsetDraft(
        Provenance(
            f"{FORMAT if 0 in kinds.values() else RULES} ({how})",
            ("exact",),
            unused=tuple(UnusedPublication(f"the column '{name}'", "figures beside supports") for name in unused),
        ),
        tuple(Feature(item, item) for item in items),
        hints={item: Categorical(item, (0, 1)) for item in items},
        reader_notes=() if whole or 0 not in kinds.values() else (NO_BORDER,),
        listed=tuple(dict.fromkeys(groups)),
        groups=True,
        whole=whole,
    )
    rows = _rows_of(draft.listed)
    if rows is None:
        return draft if any(number is None for _, number, _, _ in draft.listed) else draft.of_rows(None)
    whole_draft = draft.of_rows(rows)
    notes = (SCALE,) if counts is None else ()
    return replace(whole_draft, origin=replace(whole_draft.origin, notes=(*notes, *whole_draft.origin.notes)))


FULL = 15  # significant digits of a double that nothing was rounded of


def _column(lines: Sequence[TableCells], name: str) -> list[Interval]:
    """Return the figures of a column; where a column of measures shows all digits of doubles, all have them."""
    names = [n for n in lines[0].cells if n == "support" or n in MEASURES]
    precision = precision_of(str(line.cells[n]).strip() for n in names for line in lines)
    figures = [(str(line.cells[name]).strip(), f"{line.place}, {name}") for line in lines]
    return intervals(figures, precision if precision[1] >= FULL else None)


def _sides(
    lines: Sequence[TableCells], sets: Sequence[tuple[Items, ...]], names: Sequence[str], shares: list[Interval] | None
) -> list[tuple[Items, int | None, Interval | None, str]]:
    """Return what rules say of each side: its share, or that of both sides divided by the confidence (by the lift)."""
    if len(sets[0]) == 1:
        return []
    out: list[tuple[Items, int | None, Interval | None, str]] = []
    given = {name: _column(lines, name) for name in (*EITHER, "confidence", "lift") if name in names}
    for name, side in EITHER.items():
        for line, found, share in zip(lines, sets, given.get(name, ()), strict=name in given):
            if found[side - 1]:
                out.append((found[side - 1], None, share, f"{line.place}, {name}"))
    if shares is None:
        return out + _counted_sides(lines, sets, given)
    if "confidence" not in given:
        return out
    for i, (line, (left, right)) in enumerate(zip(lines, sets, strict=True)):
        (low, high), (least, most) = shares[i], given["confidence"][i]
        if left and least > 0 and not {"antecedent support", "coverage"} & given.keys():
            out.append((left, None, (low / most, high / least), f"{line.place}, confidence"))
        if right and "lift" in given and not {"consequent support", "rhssupport"} & given.keys():
            lift = given["lift"][i]
            if lift[0] > 0:
                out.append((right, None, (least / lift[1], most / lift[0]), f"{line.place}, lift"))
    return out


def _counted_sides(
    lines: Sequence[TableCells], sets: Sequence[tuple[Items, ...]], given: Mapping[str, list[Interval]]
) -> list[tuple[Items, int | None, Interval | None, str]]:
    """Return what rules with counts and no shares say (SPMF).

    A confidence counts the left side, a lift all rows where both sides are counted, and then the right side; nothing
    where several numbers are so near. Raises `ReleaseError` where no number has the figure.
    """
    counted = next((name for name in COUNTS if name in lines[0].cells), None)
    if counted is None:
        return []
    both = [whole_cell(line.cells[counted], line.place) for line in lines]
    known = {left | right: n for n, (left, right) in zip(both, sets, strict=True)}
    out: list[tuple[Items, int | None, Interval | None, str]] = []

    def found(items: Items, low: Fraction, high: Fraction, place: str) -> None:
        least, most = math.ceil(low), math.floor(high)
        if least > most:
            raise ReleaseError("no whole number of rows has this figure", place=place)
        if least == most:
            out.append((items, least, None, place))
            known.setdefault(items, least)

    for line, (left, _), n, (low, high) in zip(lines, sets, both, given.get("confidence", ()), strict=False):
        if left and low > 0:
            found(left, n / high, n / low, f"{line.place}, confidence")
    lifts = [one for one in zip(lines, sets, both, given.get("lift", ()), strict=False) if one[2] and one[3][0] > 0]
    for line, (left, right), n, (low, high) in lifts:
        if left in known and right in known:
            times = Fraction(known[left] * known[right], n)
            found(frozenset(), low * times, high * times, f"{line.place}, lift")
    for line, (left, right), n, (low, high) in lifts if frozenset() in known else ():
        if left in known and known[left] and right:
            times = Fraction(n * known[frozenset()], known[left])
            found(right, times / high, times / low, f"{line.place}, lift")
    return out


def _follows(name: str, lines: Sequence[TableCells], sets: Sequence[tuple[Items, ...]], groups: Any) -> bool:
    """Return whether all cells of a column are the measure of that name, as the supports of a rule's sides give it."""
    if name == "length":
        return all(str(line.cells[name]) == str(sum(map(len, found))) for line, found in zip(lines, sets, strict=True))
    rows = next((number for items, number, *_ in groups if not items and number), 1)
    shares = {items: number / rows for items, number, share, _ in groups if share is None}
    shares |= {frozenset(): 1.0} | {items: float(sum(share) / 2) for items, _, share, _ in groups if share is not None}
    measure = MEASURES.get(name)
    if measure is None or len(sets[0]) == 1:
        return False
    for line, (left, right) in zip(lines, sets, strict=True):
        try:
            value = measure(*(shares.get(items, math.nan) for items in (left | right, left, right)))
            cell = float(line.cells[name])
        except (ValueError, TypeError, ZeroDivisionError):
            return False
        if not (value == cell or abs(value - cell) <= NEAR * max(1e-3, abs(value))):
            return False
    return True


def _rows_of(groups: Sequence[tuple[Items, int | None, Interval | None, str]]) -> int | None:
    """Return the number of rows: a count over its share, else the common denominator of the shares."""
    for items, number, share, place in groups:
        if not items and number is not None:
            return number
        if number and share is not None:
            low, high = math.ceil(number / share[1]), math.floor(number / share[0])
            if low == high:
                return low
            if low > high:
                raise ReleaseError(
                    f"{number:,} rows are no share {short_number(sum(share) / 2, 10)} of any", place=place
                )
    return rows_of(share for _, _, share, _ in groups if share is not None)


def _itemset_counts(
    groups: Sequence[tuple[Items, int | None, Interval | None, str]], rows: int | None
) -> dict[Items, int]:
    """Return the count of every set, each once. Raises `ReleaseError` where two figures contradict each other."""
    out: dict[Items, tuple[int, str]] = {}
    for items, number, share, place in groups:
        found = number if share is None or rows is None else count_of(share, rows, place)
        assert found is not None
        if number is not None and number != found:
            raise ReleaseError(
                f"{set_text(items)} counts {number:,} rows, its share is {found:,} of {rows}", place=place
            )
        known = out.setdefault(items, (found, place))
        if known[0] != found:
            raise ReleaseError(f"{set_text(items)} counts {found:,} rows, but {known[0]:,} in {known[1]}", place=place)
    for items, (n, place) in out.items():
        if rows is not None and n > rows:
            raise ReleaseError(f"{set_text(items)} counts {n:,} of {rows:,} rows", place=place)
    every = [(items, (Fraction(n), Fraction(n)), place) for items, (n, place) in out.items()]
    check_order(every, "counts", " rows")
    return {items: n for items, (n, _) in out.items() if items}


def _check_shares(groups: Iterable[tuple[Items, int | None, Interval | None, str]]) -> None:
    """Raise `ReleaseError` where shares contradict each other whatever the number of rows."""
    out: dict[Items, tuple[Interval, str]] = {}
    for items, _, share, place in groups:
        if share is not None:
            known = out.setdefault(items, (share, place))
            text = f"{set_text(items)} has the share {short_number(sum(share) / 2, 10)}"
            if share[0] > 1:
                raise ReleaseError(f"{text}, more than all rows", place=place)
            if share[0] > known[0][1] or share[1] < known[0][0]:
                raise ReleaseError(f"{text}, but {short_number(sum(known[0]) / 2, 10)} in {known[1]}", place=place)
    check_order([(items, *one) for items, one in out.items()], "has the share")


def _is_whole(sets: set[Items]) -> bool:
    """Return whether every part of each set, with one item less, is among them."""
    return all(len(one) == 1 or one - {item} in sets for one in sets for item in one)


def negative_border(sets: Sequence[Items]) -> list[Items]:
    """Return the sets that are not listed, all of whose parts are, no longer than the longest one listed.

    `sets` has every part of each of them. Raises `TooLarge` beyond 200,000. Cost: linear in pairs of sets that differ
    in their last item.
    """
    known, longest = set(sets), max(map(len, sets), default=0)
    out: list[Items] = []
    for size in range(2, longest + 1):
        level = sorted(sorted(one) for one in known if len(one) == size - 1)
        begin: dict[tuple[str, ...], list[str]] = {}
        for one in level:
            begin.setdefault(tuple(one[:-1]), []).append(one[-1])
        for first, lasts in begin.items():
            current().check()
            for pair in combinations(lasts, 2):
                found = frozenset((*first, *pair))
                if found not in known and all(found - {item} in known for item in first):
                    out.append(found)
                    if len(out) > MAX_BORDER:
                        raise TooLarge(f"more than {MAX_BORDER:,} sets are not listed although all their parts are")
    return out
