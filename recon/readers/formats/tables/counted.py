"""Lines of counts as what they leave open: marks, totals, nil, rounding; and the table read back to the person.

A mark hides a count between 0 and any number unless somebody says the office's rule. Totals of which every one is the
sum of the cells that are shown beside hidden ones count those alone (acro's tables). Counts that are all multiples of
one number, and totals that are not the sums of their parts, were rounded: each is an interval.

Source: Hundepool et al., "Statistical Disclosure Control", 2012, ch. 4 and 5 (suppression, rounding).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from encoders.domain.bands import bands_of, disjoint
from recon.io.files.opening import ALL, SHOWN, HiddenRange, TableOptions, current, table_options
from recon.io.files.sheets import Sheet
from recon.readers.formats.tables.bodies import RawLine, RawTable
from recon.readers.formats.tables.cells import (
    NOISY,
    CountCell,
    NumberForm,
    count_cell,
    is_number,
    number_form,
    rounded_cell,
)
from recon.readers.formats.tables.column_roles import UNREAD
from recon.readers.formats.tables.dialects import comparable, dialects
from recon.readers.formats.tables.layout import combined_first_column, raw_table
from solvers.foundation.errors import ReleaseError

BASES = (10, 5, 3)  # to multiples of which offices round
FEWEST = 3  # counts that show that all are multiples of a number
# One in so many tables has multiples alone by chance: believed beside sums that are off, said, asked.
LIKELY, CHANCE, SURE = 100, 1_000, 1_000_000
LABELS_SHOWN, TEXTS_SHOWN = 8, 3
EACH = 1_000  # bytes of memory for a count, until it is a figure of a release
FREE = ""
NUMBERS = {"three": 3, "five": 5, "ten": 10}


@dataclass(frozen=True, slots=True)
class TableLine:
    """A line of the table: where it stands, its attributes' cells ("": free), its count."""

    place: str
    cells: tuple[str, ...]
    count: CountCell


@dataclass(frozen=True)
class CountedTable:
    """A table as it was understood: attributes, lines, figures beside counts, notes.

    `unread`: columns and lines that were set apart and say more than the counts, with the reason.

    `heeded`: which of the options that are about some tables alone (`TableOptions.of_some`) were about this one.
    """

    names: tuple[str, ...]
    lines: tuple[TableLine, ...]
    figures: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    understood: tuple[str, ...]
    heeded: frozenset[str] = frozenset()
    unread: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Total:
    """A line and the lines that are its parts by one attribute; whether every label of the attribute is among them."""

    line: int
    parts: tuple[int, ...]
    complete: bool


def counted_table(sheet: Sheet, options: TableOptions | None = None) -> CountedTable:
    """Return the counts of a sheet. Raises `ReleaseError` naming the place and, where one helps, the option to give.

    Cost: linear in the cells.
    """
    options = table_options() if options is None else options
    raw = raw_table(combined_first_column(sheet), options)
    current().entries(len(raw.lines), "the table", EACH)
    scale = _scale_of(raw)
    form = number_form([(line.base or line.count, line.place) for line in raw.lines])
    options = replace(options, hidden=(*options.hidden, *_ranges_of_format(raw, options)))
    _unstack(raw)
    raw.lines = _with_bases(raw)
    counts = [_count_of(line, form, options, scale) for line in raw.lines]
    cells, labels = _with_totals(raw, options)
    lines = [TableLine(r.place, c, n) for r, c, n in zip(raw.lines, cells, counts, strict=True)]
    _refuse_doubles(raw, lines)
    totals = list(_totals_of(lines, len(raw.names)))
    notes = list(raw.notes)
    lines = _with_nil(raw, lines, totals, options, notes)
    _ask_for_sums(raw, lines, totals, labels, options)
    lines = _rounded_lines(raw, lines, totals, options, notes)
    lines = _with_totals_of_shown(lines, totals, options, notes)
    if scale > 1:
        notes.append(f"counts are in {scale:,}s, as the table says: each is read as what its last digit leaves open")
    if not any(line.count.mark for line in lines) and any(not one.mark for one in options.hidden):
        notes.append("--suppressed changes nothing: no count is hidden")
    told = (*_understood(sheet, raw, lines, labels, form.thousands), *notes)
    kept = {name: tuple(cells) for name, cells in raw.figures.items()}
    heeded = {f"mark {text.lower()}" for line in raw.lines for text in (line.count, line.base) if text}
    heeded |= {f"label {one}" for each in labels for one in each} | {f"column {name}" for name in raw.names}
    heeded |= {"sheet"} if sheet.name else set()
    some = frozenset(heeded & options.of_some().keys())
    unread = tuple((name, why) for name, why in raw.apart.items() if why in UNREAD)
    return CountedTable(tuple(raw.names), tuple(lines), kept, tuple(notes), told, some, unread)


def _scale_of(raw: RawTable) -> int:
    """Return of how many people one is, as the texts around a table and its columns say; `ReleaseError` for two."""
    known = dialects()
    said = {known.scale(line, title=True) for line in raw.said} | {known.scale(raw.count_name), raw.scale}
    if len(said - {1}) > 1:
        several = " and ".join(f"{one:,}s" for one in sorted(said - {1}))
        raise ReleaseError(f"the table says that its counts are in {several}: leave one of them")
    return max(said)


def _unstack(raw: RawTable) -> None:
    """Make attributes of a column that names one in each line, beside a column of its value.

    Each person is counted once for every attribute. Raises `ReleaseError` for a line without a value.
    """
    stacked = dialects().stacked(raw.names)
    if stacked is None:
        return
    at, of = stacked
    if bare := next((line for line in raw.lines if not (line.cells[at] and line.cells[of])), None):
        raise ReleaseError(f"'{raw.names[at]}' and '{raw.names[of]}' say no value here", place=bare.place)
    found = list(dict.fromkeys(line.cells[at] for line in raw.lines))
    others = [k for k in range(len(raw.names)) if k not in (at, of)]
    if double := next((name for name in found if name in [raw.names[k] for k in others]), None):
        raise ReleaseError(f"'{double}' is a column and a value of '{raw.names[at]}'", place=raw.lines[0].place)
    raw.lines = [
        replace(line, cells=(*(line.cells[k] for k in others),
                             *(line.cells[of] if name == line.cells[at] else FREE for name in found)))
        for line in raw.lines
    ]  # fmt: skip
    raw.notes.append(
        f"'{raw.names[at]}' names attributes, '{raw.names[of]}' their values: everybody is in each of them"
    )
    raw.names = [*(raw.names[k] for k in others), *found]


PERCENTAGE = r"\d{1,3}(?:\.\d{1,9})?"
WHOLE = r"\d{1,12}|\d{1,3}(?:[ ,.]\d{3}){1,3}"


def _count_of(line: RawLine, form: NumberForm, options: TableOptions, scale: int) -> CountCell:
    """Return what a line says of its count: of a percentage how many of its base it leaves open."""
    if not line.base:
        return count_cell(line.count, line.place, form, options, scale)
    base, text = count_cell(line.base, line.place, form, options, scale), line.count.rstrip("% ").replace(",", ".")
    if not re.fullmatch(PERCENTAGE, text):
        return replace(base, low=0, mark=line.count or "(empty)")  # none of the base is above it
    if Fraction(text) > 100:
        why = f"'{line.count}' is no percentage of '{line.base}', as it is more than 100: write * where it is not known"
        raise ReleaseError(why, place=line.place)
    half = Fraction(1, 2 * 10 ** len(text.partition(".")[2]))
    low, high = Fraction(text) - half, Fraction(text) + half
    most = None if base.high is None else min(base.high, math.floor(high * base.high / 100))
    return CountCell(max(0, math.ceil(low * base.low / 100)), most, base.mark, line.place)


def _with_bases(raw: RawTable) -> list[RawLine]:
    """Return the lines of a table of percentages beside a base, not beside counts, and a line per base.

    The base is the same, and the percentages add up to a hundred, over the values of an attribute.
    """
    known, lines = dialects(), raw.lines
    if raw.form == "pivot":
        bases = {line.cells[: len(raw.names) - 1]: line for line in lines if line.base}
        made = [RawLine((*cells, FREE), line.base, line.place) for cells, line in bases.items()]
        return [*(line for line in lines if not (line.base and known.total(line.cells[-1]))), *made]
    for name in [
        n for n in raw.figures if known.like("figures", "percent", n) and known.like("figures", "base", raw.count_name)
    ]:
        shares = [cell.rstrip("% ").replace(",", ".") for cell in raw.figures[name]]
        if not all(re.fullmatch(PERCENTAGE, share) for share in shares):
            _refuse_base(raw, name, shares)
            continue
        for k in range(len(raw.names)):
            groups = _alike_but(lines, k)
            same = (len(g) > 1 and len({lines[i].count for i in g}) == 1 for g in groups.values())
            if all(same) and all(_hundred([shares[i] for i in g]) for g in groups.values()):
                each = [replace(line, count=share, base=line.count) for line, share in zip(lines, shares, strict=True)]
                made = [RawLine(cells, lines[g[0]].count, lines[g[0]].place) for cells, g in groups.items()]
                raw.notes.append(
                    f"'{raw.count_name}' is the base of '{name}': the percentages are read as counts of it"
                )
                del raw.figures[name]
                return [*each, *made]
        _refuse_base(raw, name, shares)
    return lines


def _alike_but(lines: Sequence[RawLine], k: int) -> dict[tuple[str, ...], list[int]]:
    """Return the numbers of the lines that differ in one attribute alone, by their cells without it."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, line in enumerate(lines):
        groups.setdefault((*line.cells[:k], FREE, *line.cells[k + 1 :]), []).append(i)
    return groups


def _refuse_base(raw: RawTable, name: str, shares: Sequence[str]) -> None:
    """Refuse counts that are alike over the values of an attribute beside percentages that are no shares of them.

    What people of several answers were asked is the base of each, and no number of people who gave it.
    """
    counts = [int(re.sub(r"\D", "", line.count)) if re.fullmatch(WHOLE, line.count) else None for line in raw.lines]
    if None in counts:
        return
    wholes, alike = {*counts, sum(filter(None, counts))}, False
    for k in range(len(raw.names)):
        groups = [[counts[i] or 0 for i in each] for each in _alike_but(raw.lines, k).values()]
        wholes |= set(map(sum, groups))
        alike = alike or all(len(group) > 1 and len({*group}) == 1 for group in groups)
    for line, count, share in zip(raw.lines, counts, shares, strict=True):
        if alike and count and re.fullmatch(PERCENTAGE, share):
            off = Fraction(1, 2 * 10 ** len(share.partition(".")[2]))
            if all(abs(Fraction(100 * count, whole) - Fraction(share)) > off for whole in wholes if whole):
                raise ReleaseError(
                    f"'{raw.count_name}' is {count:,}, of which '{name}' ({share}) is no share: it may say how many "
                    f"were asked, not how many answered so: put the counts in its place, or leave '{name}' out",
                    place=line.place,
                )


def _hundred(shares: Sequence[str]) -> bool:
    """Return whether percentages add up to a hundred, as far as their digits show, and are not all alike."""
    off = sum((Fraction(1, 2 * 10 ** len(share.partition(".")[2])) for share in shares), Fraction(0))
    return abs(sum(map(Fraction, shares), Fraction(-100))) <= off and len(set(shares)) > 1


def _ranges_of_format(raw: RawTable, options: TableOptions) -> list[HiddenRange]:
    """Return what marks hide where the format of the file says it."""
    said = comparable(" ".join(raw.said))
    found = []
    for one in dialects().words["range"]:
        if re.search(one["where"], said) and options.range_of(one["mark"]) is None:
            found.append(HiddenRange(one["mark"], one["low"], one["high"]))
    return found


def _with_totals(raw: RawTable, options: TableOptions) -> tuple[list[tuple[str, ...]], list[list[str]]]:
    """Return the lines' cells with "" for labels that stand for all, and those labels per attribute."""
    known, labels = dialects(), list[list[str]]()
    for k in range(len(raw.names)):
        every = list(dict.fromkeys(line.cells[k] for line in raw.lines))
        sexes = any(known.listed("totals", "sexes", label) for label in every)
        total = [
            label
            for label in every
            if label in options.total_labels
            or known.total(label)
            or (sexes and known.listed("totals", "everybody", label))
        ]
        labels.append(total if len(total) < len(every) or total == [FREE] else [t for t in total if t == FREE])
    cells = [tuple(FREE if c in labels[k] else c for k, c in enumerate(line.cells)) for line in raw.lines]
    return cells, labels


def _refuse_doubles(raw: RawTable, lines: Sequence[TableLine]) -> None:
    """Refuse two lines about the same people that count them differently."""
    met: dict[tuple[str, ...], TableLine] = {}
    for line in lines:
        other = met.setdefault(line.cells, line)
        if (other.count.low, other.count.high) == (line.count.low, line.count.high):
            continue
        who = " and ".join(f"{n} = {c}" for n, c in zip(raw.names, line.cells, strict=True) if c) or "everybody"
        raise ReleaseError(
            f"{who} stands here with {line.count}, and in {other.place} with {other.count}", place=line.place
        )


def _totals_of(lines: Sequence[TableLine], width: int) -> Iterator[_Total]:
    """Yield every line that is a total by some attribute, with its parts."""
    at = {line.cells: i for i, line in enumerate(lines)}
    for k in range(width):
        labels = {line.cells[k] for line in lines} - {FREE}
        parts: dict[tuple[str, ...], list[int]] = {}
        for i, line in enumerate(lines):
            if line.cells[k]:
                parts.setdefault((*line.cells[:k], FREE, *line.cells[k + 1 :]), []).append(i)
        for key, found in parts.items():
            if key in at:
                yield _Total(at[key], tuple(found), len({lines[i].cells[k] for i in found}) == len(labels))


def _sum_of(lines: Sequence[TableLine], total: _Total) -> tuple[int, int] | None:
    """Return a total and the sum of its parts, None where one of them is not shown as one number."""
    each = [lines[i].count for i in (total.line, *total.parts)]
    if not all(one.exact for one in each):
        return None
    return each[0].low, sum(one.low for one in each[1:])


def _with_nil(
    raw: RawTable, lines: list[TableLine], totals: Sequence[_Total], options: TableOptions, notes: list[str]
) -> list[TableLine]:
    """Return the lines with what a dash means: what the notes say, what totals show; `ReleaseError` that asks else."""
    known = dialects()
    dashes = [
        i for i, line in enumerate(lines) if comparable(line.count.mark) in known.asked and line.count.high is None
    ]
    dashes = [i for i in dashes if options.range_of(lines[i].count.mark) is None]
    if not dashes:
        return lines
    mark = lines[dashes[0]].count.mark
    meaning = _legend(raw.said, mark)
    if not meaning:
        shown: dict[int, int] = {}
        for total in totals:
            open_ones = [i for i in total.parts if not lines[i].count.exact]
            if total.complete and len(open_ones) == 1 and open_ones[0] in dashes and lines[total.line].count.exact:
                rest = sum(lines[i].count.low for i in total.parts if i != open_ones[0])
                shown[open_ones[0]] = lines[total.line].count.low - rest
        if any(shown.values()):
            meaning = "hidden"
        elif len(shown) == len(dashes):
            meaning = "nil"
    if not meaning:
        said = (
            f"'{mark}' is nil in some offices and hides a count in others: say which "
            f"(--suppressed '{mark}=0' for nobody, '{mark}=0..' for hidden)"
        )
        raise ReleaseError(said, place=lines[dashes[0]].place)
    if meaning == "hidden":
        return lines
    notes.append(
        f"'{mark}' is nobody: {'the notes of the table say it' if _legend(raw.said, mark) else 'the totals show it'}"
    )
    return [
        replace(line, count=replace(line.count, low=0, high=0, mark="")) if i in set(dashes) else line
        for i, line in enumerate(lines)
    ]


def _legend(said: Sequence[str], mark: str) -> str:
    """Return what the texts around a table say of a mark: "nil", "hidden", or ""."""
    words = dialects().words["legend"]
    for line in said:
        if found := re.search(
            rf"(?:^|[\s;,(\"'“]){re.escape(mark)}[\"'”]?\s*(?:=|:|\bis\b|\bmeans\b|\bdenotes\b|\brepresents\b|-|–)\s*(.+)",
            line,
        ):
            meaning = comparable(found[1])
            if any(word in meaning for word in words["hidden"]):
                return "hidden"
            if any(re.search(rf"\b{re.escape(word)}\b", meaning) for word in words["nil"]):
                return "nil"
    return ""


def _ask_for_sums(
    raw: RawTable,
    lines: Sequence[TableLine],
    totals: Sequence[_Total],
    labels: Sequence[Sequence[str]],
    options: TableOptions,
) -> None:
    """Ask whether a label is a total whose every count is the sum of those of all other labels."""
    if "none" in options.total_labels:
        return
    for k, name in enumerate(raw.names):
        bands = bands_of({line.cells[k] for line in lines if line.cells[k]}) or {}
        groups: dict[tuple[str, ...], list[TableLine]] = {}
        for line in lines:
            if line.cells[k] and not (labels[k] and any(labels[k])):
                groups.setdefault((*line.cells[:k], *line.cells[k + 1 :]), []).append(line)
        met: Counter[str] = Counter()
        for group in groups.values():
            exact = [line for line in group if line.count.exact]
            if len(exact) < len(group) or len(group) < 3:
                continue
            total = sum(line.count.low for line in group)
            met.update(line.cells[k] for line in group if line.count.low and 2 * line.count.low == total)
        for label, times in met.items():
            if any(disjoint(bands[label], other) for other in bands.values()):
                continue  # a band is no total of those outside it
            asked = [
                g
                for g in groups.values()
                if all(line.count.exact for line in g) and len(g) > 2 and any(line.count.low for line in g)
            ]
            weight = sum(line.count.low for g in asked for line in g if line.cells[k] == label)
            if times == len(asked) and (times > 1 or weight >= 20):
                raise ReleaseError(
                    f"'{label}' is the sum of the other values of '{name}' wherever all are shown: say that it is "
                    f"their total (--total-label '{label}'), or that no other label is one (--total-label none)"
                )


def _rounded_lines(
    raw: RawTable, lines: list[TableLine], totals: Sequence[_Total], options: TableOptions, notes: list[str]
) -> list[TableLine]:
    """Return the lines with intervals where counts were rounded: as somebody says, the table says, or its sums show."""
    known = dialects()
    said = [text for text in raw.said if known.like("said", "rounded", text)]
    adjusted = [text for text in raw.said if known.like("said", "adjusted", text)]
    sampled = [text for text in raw.said if known.like("said", "estimated", text)]
    base, nearest, why = options.rounding, options.nearest, "as was said (--rounding)"
    shown = [line.count.low for line in lines if line.count.exact and line.count.low]
    parts = {i for total in totals for i in (total.line,)}
    inner = [line.count.low for i, line in enumerate(lines) if line.count.exact and line.count.low and i not in parts]
    common = next((b for b in BASES if len(shown) >= FEWEST and all(n % b == 0 for n in shown)), None)
    if base is None and sampled:
        raise ReleaseError(
            f"the table says '{sampled[0][:80]}': its numbers are estimates, no counts of people: {NOISY}"
        )
    if base is None and (said or adjusted):
        word = next((m for text in (*said, *adjusted) if (m := known.found("said", "base", text))), None)
        if word is None or (adjusted and common is None):
            raise ReleaseError(
                f"the table says '{(said or adjusted)[0][:80]}': give --rounding N where no cell is off by N or more "
                "(3 for a cell that moves by 2 at most)"
            )
        base, why = int(NUMBERS.get(word[1], word[1])), "as the table says"
    sums = [(t, found) for t in totals if (found := _sum_of(lines, t)) is not None]
    off = [(t, found) for t, found in sums if (t.complete and found[0] != found[1]) or found[0] < found[1]]
    if base is None and off and common is not None:
        near = all(abs(a - b) < common * (len(t.parts) + 1) for t, (a, b) in off)
        if near and (any(a < b for _, (a, b) in off) or common ** len(inner) > LIKELY):
            base, why = (
                common,
                f"all are multiples of {common}, and {len(off)} of {len(sums)} totals are not the sums of their parts",
            )
    if base is None and common is not None and common ** len(inner) > SURE:
        raise ReleaseError(
            f"all {len(shown)} counts are multiples of {common}: say that they were rounded (--rounding {common}), or "
            "that they were not (--rounding 1)"
        )
    if base is None:
        if common is not None and common ** len(inner) > CHANCE:
            notes.append(
                f"all counts are multiples of {common}: read as exact (--rounding {common} where they were rounded)"
            )
        for total in totals if not options.hierarchies else ():
            count = lines[total.line].count
            parts_sum = sum(lines[i].count.low for i in total.parts if not lines[i].count.mark)
            if count.exact and count.low < parts_sum:
                over = f"the total {count.low:,} is less than the sum of its parts, {parts_sum:,}"
                step = "--rounding N reads cells that were rounded or adjusted by less than N, --hierarchy groups"
                notes.append(f"{lines[total.line].place}: {over}: {step}")
                break
        return lines
    if base > 1:
        how = f"rounded {'to the nearest' if nearest else 'up or down'} to multiples of {base}"
        if any(count % base for count in shown):
            how = f"off by {base // 2 if nearest else base - 1} at most"
        notes.append(f"counts are {how}, {why}: each is read as an interval")
    return [
        replace(line, count=rounded_cell(line.count, base, nearest, bool(told.base)))
        for told, line in zip(raw.lines, lines, strict=True)
    ]


def _with_totals_of_shown(
    lines: list[TableLine], totals: Sequence[_Total], options: TableOptions, notes: list[str]
) -> list[TableLine]:
    """Return the lines with totals as least counts where totals add up what is shown only, said so or seen.

    Seen: every total beside a hidden part is the sum of its shown parts, exactly.
    """
    if options.totals == ALL:
        return lines
    above = _lines_above_hidden(lines, totals)
    if options.totals == SHOWN and not above:
        notes.append("--totals shown changes nothing: no total stands over a hidden count")
    if options.totals != SHOWN:
        beside = []
        for total in totals:
            count, parts = lines[total.line].count, [lines[i].count for i in total.parts]
            hidden = [p for p in parts if p.mark]
            if count.exact and hidden and all(p.mark or p.exact for p in parts):
                beside.append(count.low == sum(p.low for p in parts if not p.mark) and count.low > 0)
        if not beside or not all(beside):
            return lines
    if above:
        seen = (
            "as was said"
            if options.totals == SHOWN
            else "each beside a hidden cell is the sum of the shown ones; --totals all where they count all"
        )
        notes.append(f"{len(above):,} totals leave hidden cells out ({seen}): each is read as a least count")
    return [
        replace(line, count=replace(line.count, high=None)) if i in above and not line.count.mark else line
        for i, line in enumerate(lines)
    ]


def _lines_above_hidden(lines: Sequence[TableLine], totals: Sequence[_Total]) -> set[int]:
    """Return the lines that are totals, of any number of attributes, of a line that hides its count."""
    over: dict[int, list[int]] = {}
    for total in totals:
        for i in total.parts:
            over.setdefault(i, []).append(total.line)
    found: set[int] = set()
    left = [i for i, line in enumerate(lines) if line.count.mark]
    while left:
        for up in over.get(left.pop(), ()):
            if up not in found:
                found.add(up)
                left.append(up)
    return found


def _understood(
    sheet: Sheet, raw: RawTable, lines: Sequence[TableLine], labels: Sequence[Sequence[str]], thousands: str
) -> Iterator[str]:
    """Yield how the table was understood, a line per thing."""
    where = f"sheet '{sheet.name}', " if sheet.name else ""
    counts = f"counts in column '{raw.count_name}'" if raw.form == "long" else "counts under the values of its columns"
    yield f"{where}{len(lines):,} counts; a {raw.form} table, {counts}"
    if raw.title:
        yield f"above it: {'; '.join(raw.title[:TEXTS_SHOWN])}"
    for k, name in enumerate(raw.names):
        every = [label for label in dict.fromkeys(line.cells[k] for line in lines) if label]
        more = f", and {len(every) - LABELS_SHOWN:,} more" if len(every) > LABELS_SHOWN else ""
        total = [f"'{label}'" if label else "an empty cell" for label in labels[k]]
        free = f"; all together: {', '.join(total[:LABELS_SHOWN])}" if total else ""
        yield f"attribute '{name}': {', '.join(every[:LABELS_SHOWN]) or 'free in every line'}{more}{free}"
    hidden: dict[str, list[CountCell]] = {}
    for line in lines:
        if line.count.mark:
            hidden.setdefault(line.count.mark, []).append(line.count)
    for mark, cells in hidden.items():
        one = cells[0]
        says = (
            "any number"
            if one.high is None and not one.low
            else f"{one.low} to {'any number' if one.high is None else one.high}"
        )
        yield f"'{mark}' hides {len(cells):,} {'count' if len(cells) == 1 else 'counts'}: {says}" + (
            " (--suppressed 1..4 says a rule)" if one.high is None else ""
        )
    if not hidden:
        yield "no count is hidden"
    for name, why in raw.apart.items():
        yield f"{name if name.startswith(('lines', 'the first')) else repr(name)} is set apart: {why}"
    if thousands:
        yield f"'{thousands}' parts thousands"
    if raw.below:
        yield f"below it: {'; '.join(raw.below[:TEXTS_SHOWN])}"


__all__ = ["CountedTable", "TableLine", "counted_table", "is_number"]
