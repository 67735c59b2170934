"""Worlds and entropy in words: first what is left beyond the order of rows, then the convention that was asked for.

What kind of counts a release holds and where they were read from, for reports and for people who convert.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from encoders.domain.domain import GUESSED
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import MEANING, CountKind, Provenance, kinds_of
from recon.io.console.suggesting import suggestion
from recon.queries.answers.undecided import plain_reasons
from recon.queries.measures.figures import Measures, bits_left, dist_g, removed_per_row, row_order
from recon.readers.formats.drafts.suggesting import WANTING
from recon.readers.inspection.findings.findings import is_counting
from recon.report.rendering import DIGITS, number
from solvers.foundation.exact import decimal
from solvers.statements.questions.answers import CountAnswer
from solvers.statements.questions.query import Convention

if TYPE_CHECKING:
    from recon.readers.inspection.inspecting import Inspection

SCREEN = 20  # lines of one screen
MODELS_SHOWN = 5
NOTES_SHOWN = 12
GRAVE = ("critical", "high", "unknown")  # what is about single training rows, or may be


def provenance_json(release: EncodedRelease) -> list[dict[str, Any]]:
    """Return one object per model: its kind, the format it was read from (null: a release file), kinds of counts."""
    return [
        {"model": m.name, "format": (m.origin and m.origin.format) or None, "counts": list(kinds_of(m))}
        | ({"understood": list(m.origin.understood)} if m.origin and m.origin.understood else {})
        for m in release.models
    ]


def understood_sections(release: EncodedRelease) -> list[tuple[str, list[str]]]:
    """Return the section on how tables of counts were understood, one screen at most; none where there are none."""
    tables = [m for m in release.models if m.origin is not None and m.origin.understood]
    lines = []
    for model in tables:
        told = list(model.origin.understood) if model.origin is not None else []
        shown = told[: max(2, SCREEN // len(tables))]
        more = [f"and {len(told) - len(shown):,} more lines: --show-table"] if len(told) > len(shown) else []
        lines += [f"{model.name}: {line}" for line in (*shown, *more)] if len(tables) > 1 else [*shown, *more]
    return [
        ("The table as it is understood" if len(tables) == 1 else "The tables as they are understood", lines)
    ] * bool(lines)


def provenance_lines(release: EncodedRelease) -> list[str]:
    """Return where the models were read from, what their counts are, and what their readers have to say."""
    found: dict[tuple[Provenance | None, tuple[CountKind, ...]], list[str]] = {}
    for model in release.models:
        found.setdefault((model.origin, kinds_of(model)), []).append(model.name)
    lines = []
    for (origin, kinds), names in list(found.items())[:MODELS_SHOWN]:
        what = "; ".join(f"{kind}: {MEANING[kind]}" for kind in kinds) or "none"
        source = (origin and origin.format) or "a release file"
        lines.append(f"{names[0] if len(names) == 1 else f'{len(names)} models'}, read from {source}; counts {what}")
    if len(found) > MODELS_SHOWN:
        lines.append(f"and {len(found) - MODELS_SHOWN} more kinds of models")
    return [*lines, *release.reader_notes]


def stored_lines(found: Inspection) -> list[str]:
    """Return what a file stores about single training rows, one line each, and how much else.

    Not its counts: what they say of single rows is the rest of the report.
    """
    if found.format.startswith("not inspected"):
        return [f"{found.file}: {found.format}"]
    grave = [one for one in found.findings if one.level in GRAVE and not is_counting(one.rule)]
    lines = [f"{one.level}: {one.path}: {one.follows}" for one in grave]
    counted = any(is_counting(one.rule) for one in found.findings)
    others = sum(1 for one in found.findings if one.level == "medium" and not is_counting(one.rule))
    kinds = "1 kind" if others == 1 else f"{others} kinds"
    further = ["counts of training rows: what they reveal is the rest of this report"] if counted else []
    further += [f"{kinds} of other exact statistics of the training set (means, extremes, ...)"] if others else []
    remedy = ", and how to take it out" if grave else ""
    return [*lines, "; ".join([*further, f"{suggestion('inspect', [found.file])} lists everything{remedy}"])]


def assumption_lines(release: EncodedRelease) -> list[str]:
    """Return the assumptions, the notes on the domain in one line (`recon domain` and --json give them whole)."""
    notes = release.domain.notes
    kept = [a for a in release.assumptions if a not in notes]
    if release.domain.source != GUESSED or not notes:
        return kept + ([f"the domain makes {len(notes)} further assumptions, listed by --json"] if notes else [])
    more = f"; and {len(notes) - NOTES_SHOWN} more, listed by --json" if len(notes) > NOTES_SHOWN else ""
    return [*kept, "; ".join(notes[:NOTES_SHOWN]).replace(f"; {WANTING}", "; ") + more]


def doubts(release: EncodedRelease) -> list[str]:
    """Return what else may be wrong where no training set fits: the guessed domain."""
    guess = "nobody declared a domain: the guessed one may exclude the training rows (give --domain)"
    return [guess] if release.domain.source == GUESSED else []


LOG2_10 = math.log2(10)
LEGEND: dict[Convention, str] = {
    "multiset": "[multiset: 1 = nothing revealed, 0 = everything]",
    "population": "[population: 1 = nothing revealed, 0 = who is in the data, with all values]",
    "ordered": "[ordered, row order included: 1 = nothing revealed, 0 = every row and its place]",
    "assigned": "[assigned, order inside leaves or rules included: 1 = nothing revealed but classes, 0 = every row]",
}

NO_DIST: dict[Convention, str] = {  # why there is none of an exact count
    "multiset": "not defined (there are no rows to distinguish)",
    "population": "not defined (people of a list are distinguished already)",
    "ordered": "not known (how rows spread over cells differs between worlds)",
    "assigned": "not defined (the rows of a leaf or rule are no product of values)",
}


def worlds_text(answer: CountAnswer, digits: int = DIGITS) -> str | None:
    """Return the number of worlds in decimal, None where not exact or longer than `digits`."""
    if answer.status == "unsat":
        return "0"
    if answer.log2 is None or answer.log2 / LOG2_10 > digits:
        return None
    value = answer.value
    return None if value is None else decimal(value)


def finite(x: float | None) -> float | None:
    """Return x, None where JSON has no number for it."""
    return x if x is not None and math.isfinite(x) else None


def _power(answer: CountAnswer) -> str:
    """Return the number of worlds for people: digits if few, else a power of ten."""
    if answer.status == "unsat":
        return "0"
    if answer.relative:
        return "not countable (a continuous attribute has no resolution)"
    lower, upper = answer.bounds
    if answer.status != "exact" and math.isinf(lower):
        return f"at most 10^{upper / LOG2_10:,.2f} (no world was found)"
    if answer.status != "exact":
        minimum = f"10^{lower / LOG2_10:,.2f}" if lower > 0 else "1"
        return f"between {minimum} and 10^{upper / LOG2_10:,.2f}"
    text = worlds_text(answer, 24)
    return f"{int(text):,}" if text else f"about 10^{lower / LOG2_10:,.2f}"


def _datasets_text(found: CountAnswer) -> str:
    """Return the number of datasets for people."""
    text = _power(found)
    if text.endswith(")"):  # in brackets stands what else is to be said
        return " datasets (".join(text.rsplit(" (", 1))
    return "1 dataset" if text == "1" else f"{text} datasets"


def _ends_text(ends: tuple[float, float] | None, places: int = 1) -> str:
    """Return a figure, or what is proved of it where its least and greatest value differ, rounded outwards."""
    if ends is None:
        return "not known"
    scale = 10**places
    minimum, maximum = math.floor(ends[0] * scale) / scale, math.ceil(ends[1] * scale) / scale
    if ends[0] == ends[1]:
        return number(ends[0], places)
    upper = number(maximum, places)
    return f"at most {upper}" if minimum <= 0 else f"between {number(minimum, places)} and {upper}"


def headline_lines(m: Measures) -> list[str]:
    """Return a report's first figures: datasets without an order, bits left beyond it, rows known.

    They are the same whatever convention was asked for, so that any two releases of the same rows can be compared.
    """
    if m.datasets is None:
        return []
    known = "not known" if m.determined_rows is None else f"{m.determined_rows:,}"
    if m.figures == "bounds" and m.determined_rows is not None:
        known = f"at least {known}" if m.determined_rows else "none proved"
    everybody = "" if m.rows is None else f" of {m.rows:,}"
    left, before = bits_left(m), m.unordered_before
    per_row = ""
    if left is not None and before is not None and m.rows and left[0] == left[1]:
        per_row = f" ({number(left[0] / m.rows, 2)} of {number(before / m.rows, 2)} bits per row)"
    of_all = "" if before is None else f" of {number(before, 1)}"
    bits = _ends_text(left)
    if left is not None and before is not None and left[0] <= 0 < before <= left[1]:
        bits = "at most all"  # not more than all of them by rounding
    share = dist_g(m)
    shown = "not defined" if share is None else "not known" if share[0] < 1 <= share[1] else _ends_text(share, 4)
    return [
        f"datasets that agree, whatever the order of their rows: {_power(m.datasets)}   [multiset; "
        f"{m.datasets.status}]",
        f"bits left beyond the order of rows: {bits}{of_all}{per_row}",
        f"rows known completely, in every one of them: {known}{everybody}",
        f"Dist_G without the order of rows: {shown}   {LEGEND['multiset']}",
    ]


def headline_json(m: Measures, digits: int = DIGITS) -> dict[str, Any]:
    """Return the same figures as an object ready for JSON; intervals where a figure is not exact."""
    left, share, removed = bits_left(m), dist_g(m), removed_per_row(m)
    status = None if m.datasets is None else m.datasets.status
    out: dict[str, Any] = {
        "convention": "multiset",
        "datasets_status": status,
        "datasets_are": status,  # the earlier name, for one version
        "datasets": None if m.datasets is None else worlds_text(m.datasets, digits),
        "log2_datasets": None if m.datasets is None else [finite(x) for x in m.datasets.bounds],
        "bits_before": finite(m.unordered_before),
    }
    for key, ends in (("bits_left", left), ("bits_removed_per_row", removed), ("dist_g", share)):
        out[key] = _exactly(ends)
        out[f"{key}_bounds"] = _open_range(ends)
    known = None if m.determined_rows is None else "exact" if m.figures == "exact" else "at least"
    out |= {"rows_known": m.determined_rows, "rows_known_status": known, "rows": m.rows}
    return out | {"rows_known_is": known}  # the earlier name, for one version


def _exactly(ends: tuple[float, float] | None) -> float | None:
    """Return a figure whose least and greatest value are one, else None."""
    return None if ends is None or ends[0] < ends[1] else finite(ends[0])


def _open_range(ends: tuple[float, float] | None) -> list[float | None] | None:
    """Return the least and greatest value of a figure that is not exact, None where it is, or nothing is known."""
    return None if ends is None or ends[0] >= ends[1] else [finite(x) for x in ends]


def order_json(m: Measures) -> dict[str, Any]:
    """Return how many of the bits left are the order of rows, and bounds on it where it is not exact."""
    ends = row_order(m)
    return {"bits_of_row_order": _exactly(ends), "bits_of_row_order_bounds": _open_range(ends)}


def _dist_text(m: Measures) -> str:
    """Return the line on Dist_G and Dist; where worlds are bounded, the greatest Dist_G that is possible."""
    shown = number(m.dist_g)
    if m.dist_g_bounds is not None:
        maximum = math.ceil(10**4 * m.dist_g_bounds[1]) / 10**4
        shown = f"at most {number(maximum)}" if maximum < 1 else "not known"
    known = number(m.dist) if m.dist is not None or m.status == "bounds" else NO_DIST[m.convention]
    rest = f"over the attributes the release names {number(m.dist_g_mentioned)}; Dist {known}"
    return f"Dist_G {shown}; {rest}   {LEGEND[m.convention]}"


def worlds_lines(m: Measures, stated: bool = False) -> list[str]:
    """Return the lines on worlds and entropy in the convention asked for; `stated`: those without an order are said."""
    order = (
        [] if m.bits_due_to_order is None else [f"bits due to the order of the rules: {number(m.bits_due_to_order, 1)}"]
    )
    per_row = (
        ""
        if not m.rows or m.entropy_bits is None or m.uninformed_bits is None
        else (f" ({number(m.entropy_bits / m.rows, 2)} of {number(m.uninformed_bits / m.rows, 2)} bits per row)")
    )
    without_order = None if m.convention == "multiset" else m.datasets
    sets = rows = []
    if without_order is not None:
        sets = [f"the same without the order of rows: {_datasets_text(without_order)}   [multiset]"]
        rows = [f"part of that is the order of rows: {_ends_text(row_order(m))} bits"]
    why = plain_reasons(m.counted.trail) if m.status == "bounds" else ""
    if m.counted.relative:
        removed = "NOT ASSESSED" if m.bits_removed_per_row is None else number(m.bits_removed_per_row)
        return [
            f"training sets that agree with the release: {_power(m.counted)}   [convention: {m.convention}; "
            f"{m.status}]",
            f"uncertainty left, Dist_G and Dist: NOT ASSESSED; bits removed per row: {removed}",
            *([f"why bounds only: {why}"] if why else []),
            *order,
        ]
    return [
        f"training sets that agree with the release: {_power(m.counted)}   [convention: {m.convention}; {m.status}]",
        *([] if stated else sets),
        f"uncertainty left: {_bits_text(m)} of {number(m.uninformed_bits, 1)} bits{per_row}",
        *rows,
        f"bits removed per row: {_removed_text(m)}",
        _dist_text(m),
        *([f"why bounds only: {why}"] if why else []),
        *order,
    ]


def _bits_text(m: Measures) -> str:
    """Return the bits left, as an interval where sizes are bounds."""
    if m.status != "bounds" or m.counted.relative:
        return number(m.entropy_bits, 1)
    lower, upper = (number(x, 1) for x in m.counted.bounds)
    return f"at most {upper}" if math.isinf(m.counted.bounds[0]) else f"between {lower} and {upper}"


def _removed_text(m: Measures) -> str:
    """Return the bits removed per row; where worlds are bounded, the bounds that follow, rounded outwards."""
    if m.removed_bounds is None:
        return number(m.bits_removed_per_row)
    minimum, maximum = (10**4 * x for x in m.removed_bounds)
    lower = f"at least {number(math.floor(minimum) / 10**4)}" if math.floor(minimum) > 0 else "0 or more"
    return lower if math.isinf(m.counted.bounds[0]) else f"{lower}, at most {number(math.ceil(maximum) / 10**4)}"
