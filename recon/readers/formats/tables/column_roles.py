"""Columns of a table that are about its lines, not about people: units, measures, times, codes that repeat a label."""

from __future__ import annotations

import re

from recon.io.files.table_options import Sheet, TableOptions
from recon.readers.formats.tables.bodies import TableBody
from recon.readers.formats.tables.dialects import Dialects, comparable
from solvers.foundation.errors import ReleaseError


def counted_units(
    body: TableBody,
    sheet: Sheet,
    names: list[str],
    left: list[int],
    cells: list[list[str]],
    known: Dialects,
    apart: dict[str, str],
) -> set[int]:
    """Return the lines whose unit is persons; units are set apart, with what they say of other lines."""
    kept = set(range(len(cells)))
    for k in [k for k in left if known.like("apart", "unit", names[k])]:
        values = {comparable(line[k]) for line in cells}
        scalar = comparable(names[k]) in {"scalar_factor", "unit_mult"}
        counted = {v for v in values if v in known.words["apart"]["numbers"] or known.counts(v)}
        if not scalar and values and not counted and not (values <= set(known.words["apart"]["thousands"])):
            if not values & {"pc", "percent", "%", "rate", *known.words["apart"]["money"]}:
                continue  # an attribute that is called so
            raise ReleaseError(
                f"'{names[k]}' is {sorted(values)[0]!r} in every line: no line counts people",
                place=sheet.place(body.rows[0].number, k),
            )
        if not scalar and values - counted and counted:
            kept -= {i for i, line in enumerate(cells) if comparable(line[k]) not in counted}
            apart[f"lines whose '{names[k]}' is {', '.join(sorted(values - counted)[:5])}"] = "no counts of people"
        apart[names[k]] = "the unit of the lines"
        left.remove(k)
    for k in [k for k in left if known.like("apart", "measure", names[k]) and len(left) > 1]:
        measures = {line[k] for line in cells}
        others = {one for one in measures if known.figure(one)}
        if len(measures) == 1:
            apart[names[k]] = f"it is {measures.pop()} in every line"
            left.remove(k)
        elif others and len(measures - others) == 1:
            kept -= {i for i, line in enumerate(cells) if line[k] in others}
            apart[f"lines whose '{names[k]}' is {', '.join(sorted(others)[:5])}"] = "no counts of people"
            apart[names[k]] = f"it is {(measures - others).pop()} in every line that is left"
            left.remove(k)
    return kept


def scale_of_units(names: list[str], left: list[int], cells: list[list[str]], known: Dialects) -> int:
    """Return of how many rows the numbers are, as a column of units says: 1 or 1,000."""
    for k, name in enumerate(names):
        values = {comparable(line[k]) for line in cells}
        if known.like("apart", "unit", name) and values <= {*known.words["apart"]["thousands"], "3"} and values:
            return 1_000
    return 1


def without_times(
    body: TableBody,
    sheet: Sheet,
    names: list[str],
    left: list[int],
    cells: list[list[str]],
    known: Dialects,
    apart: dict[str, str],
) -> list[int]:
    """Return the columns without one of times; `ReleaseError` where it has several: those are other people."""
    out = []
    for k in left:
        if not known.like("apart", "time", names[k]) or len(left) == 1:
            out.append(k)
            continue
        values = list(dict.fromkeys(line[k] for line in cells))
        stamps = all(re.fullmatch(r"\d{4}.*|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*|[AMQ]", v) for v in values if v)
        if len(values) > 1:
            if not stamps:
                out.append(k)
                continue
            raise ReleaseError(
                f"'{names[k]}' has several times ({', '.join(values[:3])}, ...): counts of other times are not of the "
                f"same people: keep the lines of one ('{values[0]}', for instance)",
                place=sheet.place(body.head[-1].number),
            )
        apart[names[k]] = f"it is {values[0]} in every line"
    return out


def without_codes(
    names: list[str],
    left: list[int],
    cells: list[list[str]],
    known: Dialects,
    apart: dict[str, str],
    options: TableOptions,
) -> list[int]:
    """Return the columns without those of codes that say the same as another column, or nothing.

    A column is one of codes by its name, or where a label of its own stands beside every total of the other's.
    """
    out = list(left)
    for k in left:
        if len(out) < 2:
            continue
        named = bool(known.like("apart", "codes", names[k]))
        for j in [j for j in out if j != k and not known.like("apart", "codes", names[j])]:
            pairs = {(line[j], line[k]) for line in cells}
            same = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
            if same and (named or _codes_totals(pairs, known, options)):
                apart[names[k]] = f"it says the same as '{names[j]}'"
                out.remove(k)
                break
        else:
            if named and comparable(names[k]) in {"dguid", "vector", "coordinate", "uom_id", "scalar_id"}:
                apart[names[k]] = "codes of the lines"
                out.remove(k)
    return out


def _codes_totals(pairs: set[tuple[str, str]], known: Dialects, options: TableOptions) -> bool:
    """Return whether some label is a total, and its code is not: read as a value, it would be of further people."""

    def whole(label: str) -> bool:
        return known.total(label) or label in options.total_labels

    return len(pairs) > 1 and any(whole(label) and not whole(code) for label, code in pairs)
