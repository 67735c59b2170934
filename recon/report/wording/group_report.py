"""What reports say of groups of rows: the most exposed ones, and what published groups give away by themselves.

What `recon bound` prints: the least and greatest value of a statistic over all worlds.

What a report says where the true rows are given: is the truth a world, how much is given back.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.counting import plain_reasons
from recon.queries.bounds.disclosure import IntervalCells, ValueDisclosure
from recon.queries.measures.attribute_bits import worst_first
from recon.queries.measures.figures import Measures, groups_left_out, published_cells
from recon.release.auditing.findings import AuditFindings, GroupDisclosure, TruthCheck
from recon.report.wording.headline import finite, number
from solvers.foundation.displayed import escape_text

if TYPE_CHECKING:
    import pandas as pd

    from recon.queries.bounds.placed import BoundAnswer

SHOWN = 8
WIDE = 24  # characters of a column; what is longer stands out of it
SMALL_GROUP = 10  # rows; the same as in the audit
LISTED = 10_000  # groups written into JSON; a forest has hundreds of thousands


def exposure_lines(m: Measures) -> list[str]:
    """Return the lines on the most exposed leaves or rules."""
    held = m.exposure[m.exposure["rows"] > 0]
    rows = "unknown" if m.rows is None else f"{m.rows:,}"
    minimum, maximum = ("at least ", "at most ") if m.figures == "bounds" else ("", "")
    undefined = "NOT ASSESSED" if m.counted.relative else "not known" if m.figures == "bounds" else "not defined"
    determined = undefined if m.determined_rows is None else f"{minimum}{m.determined_rows:,}"
    if minimum and m.determined_rows == 0:
        determined = "none proved"
    of_rows = f" (of {rows})" if m.counted.relative else f" of {rows}"
    lines = [
        f"rows determined completely: {determined}{of_rows}; fewest raw rows that fit a published row: "
        f"{undefined if m.smallest_region is None else maximum + _power_of(m.smallest_region)}"
    ]
    return [*lines, *_group_table(m, held)]


def _group_table(m: Measures, held: pd.DataFrame) -> list[str]:
    """Return a table of the most exposed leaves, rules or cells, one line each, and below it their condition.

    Columns: name, rows, what a row of it is one of, bits left, share left, share of rows that have as little left; so
    that each line can be read by itself where blanks are not kept. The first line says their order.
    """
    worst = worst_first(held).drop_duplicates("region").head(SHOWN)
    if not len(worst):
        return []
    unsized = bool(worst["entropy_reduction_ratio"].isna().all())
    placed = "" if (held["rows"] == held["rows_most"]).all() else " (rows: those placed for certain)"
    order = f"groups of one row first, then the most exposed, then the fewest rows{placed}"
    if unsized:
        why = "not defined" if m.counted.relative else "only known between bounds"
        order = f"bits left of a row: {why}; groups are listed from the smallest to the largest"
    cells, places = [], []
    for line in worst.to_dict("records"):
        of_region = held[held["region"] == line["region"]]
        rows = _rows_between(int(of_region["rows"].sum()), int(of_region["rows_most"].sum()))
        cells.append([str(line["name"]), rows, *([] if unsized else _what_is_left(m, line, of_region))])
        places.append(str(line["where"]))
    return [
        order,
        *(text for line, where in zip(_aligned(cells), places, strict=True) for text in (line, f"  {where}")),
    ]


def _what_is_left(m: Measures, line: dict[Hashable, Any], of_region: pd.DataFrame) -> list[str]:
    """Return what is left of a row in a leaf, rule or cell, as columns of the table."""
    ratio, left, removed = line["entropy_reduction_ratio"], line["bits_left"], line["bits_removed"]
    if ratio is None or math.isnan(ratio):
        return ["size only known between bounds"]
    if m.counted.relative:
        return [f"{number(removed, 2)} bits removed"]
    if line["worlds_per_row"] == 1:
        return [_known_row(line, of_region)]
    return [
        f"one of {_power_of(line['worlds_per_row'])}",
        f"{number(left, 2)} of {number(left + removed, 2)} bits left",
        f"{100 * ratio:.0f} % left",
        f"{100 * line['share_of_rows_at_most']:.1f} % of rows as exposed",
    ]


def _aligned(table: list[list[str]]) -> list[str]:
    """Return the lines of a table with columns below each other; long texts push theirs to the right."""
    width = [max(len(line[j]) for line in table if j < len(line)) for j in range(max(map(len, table)))]
    places = [min(one, WIDE) + 2 for one in width]
    return ["".join(f"{text + ', ':<{places[j]}}" for j, text in enumerate(line[:-1])) + line[-1] for line in table]


def _known_row(line: dict[Hashable, Any], of_region: pd.DataFrame) -> str:
    """Return what is known of a cell with only one raw row: the row, and how many such rows unless that is open."""
    removed = f"{number(line['bits_removed'], 2)} bits removed"
    if (of_region["rows"] == of_region["rows_most"]).all():
        return f"known exactly, {removed}"
    return f"each is known exactly, how many there are is not: {removed}"


def group_json(groups: GroupDisclosure) -> dict[str, Any]:
    """Return what the groups give away as an object ready for JSON; lists hold at most `LISTED` entries."""
    out: dict[str, Any] = {
        "class_disclosure": f"not defined: {groups.undefined}" if groups.undefined else "evaluated",
        "pure_regions": [
            {"name": n, "class": c, "rows": minimum, "rows_most": maximum}
            for n, c, minimum, maximum in sorted(groups.pure, key=_by_rows)[:LISTED]
        ],
        "pure_regions_in_all": len(groups.pure),
        "rows_in_pure_regions": None if groups.undefined else groups.rows_in_pure,
    }
    if groups.models > 1 and not groups.undefined:
        out["rows_in_pure_regions_summed_over_models"] = groups.rows_in_pure_summed
    return out | {
        "zero_cells": [{"name": n, "class": c} for n, c in groups.zeros[:LISTED]],
        "zero_cells_in_all": len(groups.zeros),
        "small_groups": _small_json(groups.small),
        "small_groups_in_all": len(groups.small),
        "perhaps_small_groups": _small_json(groups.perhaps_small),
        "perhaps_small_groups_in_all": len(groups.perhaps_small),
        "smallest_group": groups.smallest,
        "small_class_counts": [{"name": n, "class": c, "rows": k} for n, c, k in groups.small_cells[:LISTED]],
        "small_class_counts_in_all": len(groups.small_cells),
        "target_disclosed": _values_json(groups.values),
    }


def _small_json(groups: tuple[tuple[str, int, int], ...]) -> list[dict[str, Any]]:
    """Return groups with the least and most rows that they can have: equal where the count was published."""
    return [{"name": n, "rows": minimum, "rows_most": maximum} for n, minimum, maximum in groups[:LISTED]]


def _values_json(values: ValueDisclosure) -> dict[str, Any]:
    """Return the values given away as an object; `rows` is null where the release has no figures of numbers."""
    listed = values.groups[:LISTED]
    return {
        "rows": values.rows,
        "groups": [{"name": one.name, "of": one.of, "rows": one.rows, "value": one.value} for one in listed],
        "groups_in_all": len(values.groups),
        "rows_alone_in_a_leaf": values.alone,
    }


def group_lines(found: AuditFindings) -> list[str]:
    """Return the lines on group disclosure; what was not evaluated is said, with the reason."""
    groups, cells = found.groups, published_cells(found.release)
    evaluated, why = groups_left_out(found.release)
    values = _value_lines(groups.values, found.measures.rows)
    left_out = [f"not evaluated: {why}"] if why else []
    if not evaluated and not cells:
        return [*values, *left_out]
    smallest = min((n for n in (groups.smallest, *(k for _, k in cells)) if n is not None), default=None)
    exact = "smallest published group"
    if smallest is None and (groups.small or groups.perhaps_small):
        exact = "smallest group with an exact count"
    lines = [f"{exact}: {'none' if smallest is None else _rows_text(smallest)}", *values]
    if evaluated:
        lines += _class_lines(groups, found.release)
    lines += _small_lines(found, cells)
    if groups.small_cells:
        first = ", ".join(f"{n}, class {c} ({k})" for n, c, k in groups.small_cells[:SHOWN])
        rows = f"counts of one class below {SMALL_GROUP} rows, in larger groups"
        lines.append(f"{rows}: {len(groups.small_cells):,}: {first}")
    if cells and not evaluated:
        return [*lines, f"groups of one class only (class disclosure): not defined ({why})"]
    return [*lines, *left_out]


def _small_lines(found: AuditFindings, published: list[tuple[str, int]]) -> list[str]:
    """Return the lines on groups that are, or may be, below SMALL_GROUP rows, each with the interval of its rows."""
    hidden = [(one.name, *one.feasible) for one in found.intervals.cells]
    surely = [*found.groups.small, *((n, k, k) for n, k in published if k < SMALL_GROUP)]
    surely += [one for one in hidden if 0 < one[1] <= one[2] < SMALL_GROUP]
    perhaps = {one[0]: one for one in found.groups.perhaps_small}
    perhaps |= {one[0]: one for one in hidden if one[2] and (not one[1] or one[1] < SMALL_GROUP <= one[2])}
    lines = []
    for text, groups in (("groups below", surely), ("groups that may be below", list(perhaps.values()))):
        first = sorted(groups, key=lambda one: one[1:])[:SHOWN]
        named = ", ".join(f"{n} ({a if a == b else f'{a:,} to {b:,}'})" for n, a, b in first)
        if groups or groups is surely:
            lines.append(f"{text} {SMALL_GROUP} rows: {f'{len(groups):,}: {named}' if groups else 'none'}")
    return lines


def interval_lines(cells: IntervalCells) -> list[str]:
    """Return one line per suppressed or interval cell: as published, what is left of it, and whether it is recovered.

    The narrowest first; nothing where there are none.
    """
    if not cells.cells:
        return []
    noun = "cell" if len(cells.cells) == 1 else "cells"
    lines = [
        f"{len(cells.cells):,} {noun} without an exact count; recovered, because only one count is left: "
        f"{cells.recovered:,}"
    ]
    for one in sorted(cells.cells, key=lambda one: one.width)[:LISTED]:
        low, high = one.published
        text = f"{low or 0:,} or more" if high is None else f"{low or 0:,} to {high:,}"
        text = f"nothing ({one.suppressed} suppression)" if (low, high) == (None, None) else text
        minimum, maximum = one.feasible
        left = f"RECOVERED: {_rows_text(minimum)} in every world"
        if not one.recovered:
            outer = "" if one.tight else ", proved outer bounds: it may be narrower"
            left = f"{minimum:,} to {_rows_text(maximum)} (width {one.width:,}{outer})"
        lines.append(f"{one.name}: published {text}; feasible {left}")
    if cells.left_out:
        lines.append(f"and {cells.left_out:,} more that were not evaluated")
    return lines


def _class_lines(groups: GroupDisclosure, release: EncodedRelease) -> list[str]:
    """Return the lines on groups of one class, and on cells without rows."""
    text = "groups of one class only (class disclosure)"
    if groups.undefined:
        return [f"{text}: not defined ({groups.undefined})"]
    zeros = f"(group, class) cells with no row (says who is not there): {len(groups.zeros):,}"
    if not groups.pure:
        return [f"{text}: none", zeros]
    first = sorted(groups.pure, key=_by_rows)[:SHOWN]
    named = ", ".join(f"{n} ({_rows_between(a, b)}, all class {c})" for n, c, a, b in first)
    rows, where = _rows_text(groups.rows_in_pure), ""
    if any(minimum < maximum for _, _, minimum, maximum in groups.pure):
        rows = f"at least {rows}"
    if groups.models > 1:
        trees = all(model.members() or model.figures() for model in release.models)
        what = f"{groups.models:,} {'trees' if trees else 'models'}"
        rows = f"at least {_rows_text(groups.rows_in_pure)} in one of them (they are about the same rows)"
        where = f" in {what}"
    return [f"{text}: {len(groups.pure):,}{where}, {rows}: {named}", zeros]


def _value_lines(values: ValueDisclosure, rows: int | None) -> list[str]:
    """Return the lines on values that means, totals and medians give away; none where there are no such figures."""
    text = "rows whose value is published exactly (target disclosure)"
    if values.rows is None:
        if not values.alone:
            return []
        alone = f"{values.alone:,}{'' if rows is None else f' of {rows:,}'}"
        return [f"{text}: not read; {alone} are alone in a leaf of one tree, whose stored value is then their target"]
    if not values.groups:
        return [f"{text}: none"]
    named = ", ".join(f"{one.name} ({_rows_text(one.rows)}, {one.of} = {one.value})" for one in values.groups[:SHOWN])
    return [f"{text}: at least {values.rows:,}{'' if rows is None else f' of {rows:,}'}: {named}"]


def _by_rows(pure: tuple[str, str, int, int]) -> tuple[int, int]:
    """Return what groups of one class are sorted by: fewest rows first, at least and at most."""
    return pure[2], pure[3]


def _rows_text(n: int) -> str:
    """Return a number of rows for people."""
    return "1 row" if n == 1 else f"{n:,} rows"


def _rows_between(minimum: int, maximum: int) -> str:
    """Return a number of rows for people, as an interval where it is one."""
    return _rows_text(maximum) if minimum == maximum else f"{minimum:,} to {_rows_text(maximum)}"


def _power_of(value: int) -> str:
    """Return a size for people."""
    return f"{value:,}" if value < 10**9 else f"about 2^{math.log2(value):.1f}"


def bound_json(found: BoundAnswer) -> dict[str, Any]:
    """Return the object that `recon bound --json` prints."""
    keys = ("min", "max", "expectation", "status", "convention", "engine")
    why = {"why_bounds": plain_reasons(found.trail)} if found.status == "bounds" and found.trail else {}
    out = {k: getattr(found, k) for k in keys} | {"assumptions": list(found.assumptions), "trail": list(found.trail)}
    out["informative"] = found.informative
    return out | why


def bound_line(found: BoundAnswer, of: str | None) -> str:
    """Return the line that `recon bound` prints."""
    if found.min is None or found.max is None:
        return f"in no world is there a figure to bound   [{found.convention}; {found.status}]"
    text, of = f"   [{found.convention}; {found.status}]", None if of is None else escape_text(of)
    if found.informative is False:
        text += "\nthis says no more than the domain and the number of rows do by themselves"
    if found.status == "bounds" and found.trail:
        text += f"\nwhy bounds only: {escape_text(plain_reasons(found.trail))}"
    if of is None:
        if found.min == found.max:
            return f"{_rows_text(int(found.min))} in every world{text}"
        return f"between {found.min:,} and {_rows_text(int(found.max))}{_expected_text(found)}{text}"
    what = "correlation" if "," in of else "mean"
    if found.min == found.max:
        return f"{what} of {of}: {number(found.min)} in every world that has one{text}"
    return f"{what} of {of}: between {number(found.min)} and {number(found.max)}{_expected_text(found)}{text}"


def _expected_text(found: BoundAnswer) -> str:
    """Return the mean over worlds for people, and that there is none where it is not known."""
    known = found.expectation
    return ", expected value not known" if known is None else f", {number(known)} expected"


def truth_json(check: TruthCheck) -> dict[str, Any]:
    """Return the truth check as an object ready for JSON."""
    out: dict[str, Any] = {"is_world": check.is_world, "violated": list(check.violated), "note": check.note}
    out |= {"trail": list(check.trail)} if check.trail else {}
    if check.comparison is not None:
        match = check.comparison.match
        out["reconstruction"] = {
            "rows_right": match.rows_right,
            "share_right": match.share_right,
            "cells_right": finite(match.cells_right),
            "unique_rows": match.unique_rows,
            "unique_right": match.unique_right,
            "unique_proved": check.proved,
        }
        out["baselines"] = [
            {"name": b.name, "share_right": b.share_right, "cells_right": finite(b.cells_right)}
            for b in check.comparison.baselines
        ]
    return out


def truth_lines(check: TruthCheck) -> list[str]:
    """Return the lines on the truth."""
    lines = ["the true rows are a possible world" if check.is_world else "the true rows are NOT a possible world:"]
    lines += list(check.violated[:SHOWN])
    if check.comparison is None:
        return [*lines, check.note]

    def shares(rows: float, cells: float | None) -> str:
        return f"{100 * rows:.1f} % of rows, {'-' if cells is None else f'{100 * cells:.1f} %'} of cells right"

    match = check.comparison.match
    lines.append(f"one reconstruction: {shares(match.share_right, match.cells_right)}")
    lines += [f"baseline, {b.name}: {shares(b.share_right, b.cells_right)}" for b in check.comparison.baselines]
    lines += [match.note] if match.note else []
    proved = "not decided" if check.proved is None else f"{check.proved:,}"
    lines.append(
        f"rows that occur once in the truth: {match.unique_rows:,}; reconstructed: {match.unique_right:,}; "
        f"in every possible world: {proved}"
    )
    return lines
