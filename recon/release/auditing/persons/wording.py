"""Who, in words: verdicts on given people and the most exposed training rows, as lines of the audit's text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from solvers.foundation.displayed import quote

SHOWN = 10  # people, rows and groups written out
LEAST_GAP = 0.005  # bits; less is written as none
LEAST_ROWS = 30  # of a group whose mean is compared with others': means of fewer rows say little
ORDER = ("certain", "unknown", "possible", "outside", "impossible")
MEANS = {
    "certain": "certainly in the training data",
    "unknown": "not decided",
    "possible": "possibly in the training data",
    "outside": "like no row of the domain",
    "impossible": "certainly not in the training data",
}


def who_lines(profiles: Mapping[str, Any] | None, persons: Mapping[str, Any] | None) -> list[str]:
    """Return the lines on people, from the `profiles` and `persons` objects of an audit; [] where both are None.

    A line that begins with a blank belongs to the one before.
    """
    return [*(_profile_lines(profiles) if profiles else []), *(_person_lines(persons) if persons else [])]


def _profile_lines(profiles: Mapping[str, Any]) -> list[str]:
    """Return how many of the given people have each verdict, and the gravest ones one by one."""
    rows, total = profiles["rows"], profiles["rows_in_all"]
    if not total:
        return ["no profiles were given"]
    counts = Counter(one["verdict"] for one in rows)
    listed = [f"{counts[verdict]:,} {MEANS[verdict]}" for verdict in ORDER if counts[verdict]]
    cut = "" if len(rows) == total else f" (the {len(rows):,} most serious)"
    out = [f"of {total:,} given {'person' if total == 1 else 'people'}{cut}: {', '.join(listed)}"]
    for one in rows[:SHOWN]:
        likely = one["probability"]
        share = "" if likely is None or one["verdict"] != "possible" else f", probability {_percent(likely)}"
        known = _values(one.get("profile_values"))
        proof = f"; certificate {one['certificate'][:16]}" if one["certificate"] else ""
        out.append(f"  {_person(one)}: {quote(one['verdict'])}{share}: {quote(one['why'], 1_000)}{proof}{known}")
    if total > SHOWN:
        out.append(f"  and {total - SHOWN:,} more")
    conventions = dict.fromkeys(one["convention"] for one in rows if one["convention"] and one["verdict"] == "possible")
    if conventions:
        out.append(
            f"probability: share of possible data sets that have such a row ({'; '.join(map(quote, conventions))})"
        )
    return out


def _person(one: Mapping[str, Any]) -> str:
    """Return what a person is called: by position, and by name where names are shown."""
    return f"profile {one['position']}" + (f" ({quote(one['name'])})" if one["name"] is not None else "")


def _percent(share: float) -> str:
    """Return a share as a percentage that is never rounded to all or nothing."""
    text = f"{100 * share:.1f} %"
    if share < 1.0 and text == "100.0 %":
        return "above 99.9 %"
    return "below 0.1 %" if share > 0.0 and text == "0.0 %" else text


def _person_lines(persons: Mapping[str, Any]) -> list[str]:
    """Return the most exposed training rows by position, and the exposure of groups of people."""
    rows, out = persons["most_exposed"], list[str]()
    if rows:
        out.append(f"the most exposed of {persons['in_all']:,} training rows, by position from 0:")
        out += [f"  {line}" for line in _alike_rows(rows)]
    groups = persons["by_group"]
    if groups:
        out.append(f"exposure by '{quote(groups['attribute'])}', the most exposed group first:")
        out += [f"  {_group_text(one)}" for one in groups["groups"][:SHOWN]]
        if len(groups["groups"]) > SHOWN:
            out.append(f"  and {len(groups['groups']) - SHOWN:,} more groups")
        if gap := widest_gap(groups["groups"]):
            out.append(gap)
    return [*out, *(f"note: {quote(note, 1_000)}" for note in persons["notes"])]


def _alike_rows(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what is said of the first training rows, rows of one group with the same figure in one line."""
    alike = [list(some) for _, some in groupby(rows, lambda one: _row_text({**one, "position": ""}))]
    return [_row_text(some[0], [one["position"] for one in some]) for some in alike[:SHOWN]]


def _row_text(one: Mapping[str, Any], places: Sequence[int] = ()) -> str:
    """Return what is said of one training row, or of several at such positions."""
    where = "" if one["group"] is None else f" in {quote(one['group'])}"
    held = one["group_rows"]
    size = "" if held is None else f" ({_rows_text(*held)})"
    bits = one["bits_left"]
    open_ = "no figure" if bits is None else f"{bits:,.2f} bits left"
    left = "fully known" if one["pinned"] else open_
    listed = ", ".join(map(str, places[:SHOWN])) + (f" and {len(places) - SHOWN:,} more" if len(places) > SHOWN else "")
    at = f"positions {listed}" if len(places) > 1 else f"position {one['position']}"
    return f"{at}{where}{size}: {left}{_values(one.get('row'))}"


def _values(row: Mapping[str, Any] | None) -> str:
    """Return the values of a person where they were asked for, "" else."""
    if not row:
        return ""
    return ": " + ", ".join(f"{quote(name, 60)} = {quote(str(value), 60)}" for name, value in row.items())


def _rows_text(least: int, most: int) -> str:
    """Return a number of rows in words, or between which two it lies."""
    if least == most:
        return f"{least:,} row" if least == 1 else f"{least:,} rows"
    return f"{least:,} to {most:,} rows"


def _group_text(one: Mapping[str, Any]) -> str:
    """Return what is said of one group of people."""
    mean, least = one["mean_bits_left"], one["least_bits_left"]
    left = (
        "no figure"
        if mean is None
        else f"{mean:,.2f} bits left per person on average, {least:,.2f} of the most exposed"
    )
    return f"{quote(one['value'])}: {_rows_text(one['rows'], one['rows'])}, {left}, {one['pinned']:,} fully known"


def widest_gap(groups: list[Mapping[str, Any]]) -> str:
    """Return by how much the most and the least exposed of the larger groups differ, "" where they hardly do."""
    known = [one for one in groups if one["mean_bits_left"] is not None and one["rows"] >= LEAST_ROWS]
    gap = known[-1]["mean_bits_left"] - known[0]["mean_bits_left"] if known else 0.0
    if gap < LEAST_GAP:
        return ""
    first, last = quote(known[0]["value"]), quote(known[-1]["value"])
    said = f"the model leaves {gap:,.2f} bits fewer about a person of '{first}' than about one of '{last}', on average"
    return f"{said} (of groups with {LEAST_ROWS} rows or more)"
