"""What is proved by position, in words and as an object ready for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from encoders.domain.values import cell_text
from recon.io.console.suggesting import stripped_name, suggestion
from recon.queries.located.placed_rows import ClassFigures, PlacedRows
from solvers.statements.row_problem import bags_with_most

SHOWN_ROWS = 3
SHOWN_CLASSES = 5
SHOWN_VALUES = 4  # of a row that is shown: those that are known, then the narrowest
LISTED_VALUES = 4  # values of one attribute written out
ORDER = "positions count from 0, in the order in which fit got the rows"
WIDTHS = {
    "range": "of the column's range",
    "gaps": "of the column's gaps between thresholds",
    "range or gaps": "of the column's range, or of its gaps between thresholds where no range is known",
}


def percent(share: float | None) -> str:
    """Return a share as a percentage that never rounds up to all of it, or down to none."""
    if share is None:
        return "not defined"
    text = f"{100 * share:.1f}"
    if text == "100.0" and share < 1:
        text = "99.9"
    return f"{'less than 0.1' if text == '0.0' and share > 0 else text.removesuffix('.0')} %"


def gives_back(found: PlacedRows) -> str:
    """Return the one line on what the file gives back by position."""
    boxes = f"boxes of mean width {rounded(found.width)}"
    if found.status == "unknown":
        return f"nothing is proved by position about the {found.rows:,} training rows"
    if found.label is None and not found.rows_known:
        return f"this file gives back by position {boxes}, for each of {found.rows:,} training rows"
    rows = f" {found.rows_known:,} of {found.rows:,} rows whole" if found.rows_known else ""
    labels = labels_text(found, ", " if rows else " ")
    return f"this file gives back{rows}{labels} by position, and {boxes}{worst_off(found)}"


def worst_off(found: PlacedRows) -> str:
    """Return which class is worst off, and what is proved of its rows; "" where no row has a proved label."""
    told = [one for one in found.classes if one.labels_known]
    if len(found.classes) < 2 or not told:
        return ""
    return f"; worst off is {class_text(told[0])}"


def class_text(one: ClassFigures) -> str:
    """Return what is proved of the rows of one class, in words."""
    most = f"{one.rows_most:,}" if one.labels_known == one.rows_most else f"at most {one.rows_most:,}"
    width = "" if one.mean_width is None else f", boxes of mean width {rounded(one.mean_width)}"
    whole = f", {one.boxes_whole:,} of them whole" if one.mean_width is not None else ""
    leaves = f"{percent(one.share_leaves_known)} of leaves"
    return f"class {cell_text(one.value)}: {one.labels_known:,} of {most} labels, {leaves}{width}{whole}"


def class_lines(found: PlacedRows) -> list[str]:
    """Return one line per class, the worst-off class first; none where the rows have one class at most."""
    if len(found.classes) < 2 or found.status == "unknown":
        return []
    shown = [f"  {class_text(one)}" for one in found.classes[:SHOWN_CLASSES]]
    more = len(found.classes) - len(shown)
    rest = [f"  and {more:,} more classes"] if more else []
    return [
        "by class, the worst-off first (a box is whole where its row's leaf in every tree is known):",
        *shown,
        *rest,
    ]


def why_open(found: PlacedRows) -> str:
    """Return why labels are open and whether time or another method could help; "" where none is, or none is told.

    A bound by counting: labels have rows x entropy bits, and a sum that a tree publishes of a class tells no more than
    about the entropy of such a sum, of multiplicities and of different rows. The classes' shares are those of the bags.
    """
    open_rows = 0 if found.label is None else found.rows - int(found.labels_known or 0)
    bags = bags_with_most(found.release.statements.bags)
    totals = [np.bincount(tree.label, tree.count) for tree in bags.trees if (tree.label >= 0).all() and len(tree.label)]
    if not open_rows or not totals:
        return ""
    shares = [share / share.sum() for share in totals if share.sum()]
    classes = max(map(len, shares), default=0)
    mean = np.mean([np.pad(share, (0, classes - len(share))) for share in shares], axis=0)
    mean = mean[(mean > 0) & (mean < 1)]
    labels = open_rows * float(-(mean * np.log2(mean)).sum())
    spread = [0.5 * np.log2(2 * np.pi * np.e * max(1.0, 2 * open_rows * p * (1 - p))) for p in mean.tolist()]
    told = 2 * len(totals) * (sum(spread) - max(spread, default=0.0))
    text = (
        f"{open_rows:,} labels are open: they have about {labels:,.0f} bits, the class totals of {len(totals):,} trees "
    )
    text += f"tell about {told:,.0f} at most"
    if told < labels:
        text += ": from these alone no method can tell them all, the trees would have to be more or something be known"
    elif found.complete:
        text += (
            ": they might be told, but not by propagation and linear programs; more trees, or values known, would help"
        )
    time = "more time changes nothing" if found.complete else "more time (--time) may prove more"
    return f"{text}; {time}"


def labels_text(found: PlacedRows, before: str) -> str:
    """Return how many labels are proved, "" without a label."""
    if found.label is None:
        return ""
    given = int(found.given[:, found.label].sum())
    told = f" ({given:,} of them known before)" if given else ""
    return f"{before}{found.labels_known:,} of {found.rows:,} labels{told}"


def rounded(width: float) -> str:
    """Return a width with two digits, three below 0.1, rounded up: never less than what is proved."""
    digits = 2 if width >= 0.1 else 3
    return f"{math.ceil(width * 10**digits - 1e-9) / 10**digits:.{digits}f}"


def figure_lines(found: PlacedRows) -> list[str]:
    """Return the lines on the figures: leaves, rows, widths, what was assumed and whether more follows."""
    assumed = "" if found.learner == "none" else f", learner: {found.learner}"
    lines = [
        f"leaves proved: {percent(found.answer.leaves_proved)}; values proved: {percent(found.values_known)}; rows "
        f"wholly known: {found.rows_known:,} of {found.rows:,}{assumed}",
        f"mean width of what is left: {rounded(found.width)} {WIDTHS[found.width_of]} (0: known; 1: the domain alone)",
    ]
    if not found.complete:
        why = found.answer.trail[-1] if found.answer.trail else "the time was up"
        lines.append(f"the limits ended the work ({why}): this is what was proved by then, more may follow")
    if reason := why_open(found):
        lines.append(reason)
    return [*lines, *found.notes]


def first_rows(found: PlacedRows, rows: int = SHOWN_ROWS) -> list[str]:
    """Return the first positions in words, of each what is known best."""
    names = [a.name for a in found.release.domain.all]
    lines = []
    for i in range(min(rows, found.rows)):
        order = sorted(range(len(found.data)), key=lambda k: float(found.columns[k].width[i]))
        kept = sorted(k for k in order[:SHOWN_VALUES] if found.columns[k].width[i] < 1)
        said = [f"{names[k]} {cell(found, k, i)}" for k in kept]
        if found.label is not None:
            said = [f"{names[found.label]} {cell(found, found.label, i)}", *said]
        more = sum(1 for k in order[SHOWN_VALUES:] if found.columns[k].width[i] < 1)
        rest = f", and {more} more" if more else ""
        lines.append(f"position {i}: {', '.join(said) or 'nothing'}{rest}")
    return lines


def cell(found: PlacedRows, k: int, i: int) -> str:
    """Return what is left of one value in words: "= 1", "in {a, b}", "in 0.5..0.75", "> 0.5"."""
    column = found.columns[k]
    low, high, values = float(column.low[i]), float(column.high[i]), column.values[int(column.values_of[i])]
    if values is not None and len(values) == 1:
        return f"= {cell_text(values[0])}"
    if values is not None and (len(values) <= LISTED_VALUES or len(values) - 1 != high - low):
        more = f", ... {len(values):,} values" if len(values) > LISTED_VALUES else ""
        return "in {" + ", ".join(map(cell_text, values[:LISTED_VALUES])) + more + "}"
    if low == high:
        return f"= {low:.9g}"
    if math.isinf(low):
        return f"at most {high:.6g}" if math.isfinite(high) else "any"
    return f"above {low:.6g}" if math.isinf(high) else f"in {low:.6g}..{high:.6g}"


def position_lines(found: PlacedRows) -> list[str]:
    """Return everything that a report says first: what is given back, the figures, the first positions."""
    rows = [f"  {line}" for line in first_rows(found)] if found.status != "unknown" else []
    figures = [*class_lines(found), *figure_lines(found)]
    return [gives_back(found), *figures, *([f"the first positions ({ORDER}):"] if rows else []), *rows]


def truth_position_lines(truth: Mapping[str, Any]) -> list[str]:
    """Return the lines on the true rows beside what is proved."""
    if truth["inside"]:
        lines = ["the true rows: every true value is among those left"]
    else:
        first = truth["first_outside"]
        left = first["values"] if first["values"] is not None else f"{first['low']} to {first['high']}"
        lines = [
            f"the true rows are NOT inside ({truth['outside']:,} values are not among those left): another file, or "
            f"other rows or another order than fit got? first at position {first['position']}: {first['attribute']} is "
            f"{first['value']}, left is {left}"
        ]
    if truth["labels_right"] is not None:
        lines.append(f"of the labels proved, right: {truth['labels_right']:,}")
    for one in truth["classes"][:SHOWN_CLASSES]:
        beside = f"{rounded(one['mean_width'])} (true leaves {rounded(one['mean_width_true_leaves'])})"
        lines.append(
            f"  class {cell_text(one['class'])}, {one['rows']:,} rows: {one['labels_right']:,} labels, "
            f"mean width {beside}, boxes as tight as the truth allows: {one['boxes_as_tight']:,}"
        )
    lines.append(
        f"mean width, of the true columns' ranges: {rounded(truth['mean_width'])} proved, "
        f"{rounded(truth['mean_width_true_leaves'])} if every true leaf were known, 1 from the marginals alone"
    )
    lines.append(
        f"values right by the middle of what is left (numbers within 1 %): {percent(truth['values_right'])}; by rows "
        f"drawn from the true marginals: {percent(truth['values_right_marginals'])}"
    )
    if truth["mean_error"] is not None:
        lines.append(
            f"mean distance of numbers, as a share of their range: {truth['mean_error']:.3f}; by rows drawn from the "
            f"true marginals: {truth['mean_error_marginals']:.3f}"
        )
    return lines


def remedy(found: PlacedRows) -> str:
    """Return how to take out what follows by position, and what is left then; "" where nothing follows."""
    release = found.release
    if found.status == "unknown":
        return ""
    after = "" if found.label is None else f"0 of {found.rows:,} labels and "
    if all(model.origin is None or not model.origin.format for model in release.models):
        return (
            f"remedy: without multiplicities (recon convert --without-bags) {after}no boxes are given back by position"
        )
    file = release.file or "FILE"
    strip = f"{suggestion('inspect', [file], {'--strip': stripped_name(file)})} writes such a copy"
    return (
        f"remedy: without the stored seeds {after}no boxes are given back by position: {strip}; who guesses the seed "
        "(random_state=0, 42) draws the same bags again: fit without one"
    )


def audit_lines(found: PlacedRows, truth: Mapping[str, Any] | None) -> list[str]:
    """Return the lines with which a report opens: what is given back by position, and how to take it out."""
    beside = [] if truth is None else truth_position_lines(truth)
    listing = suggestion("positions", [found.release.file or "FILE"], {"--out": "ROWS.csv"})
    more = f"{listing} lists every position and value"
    after = remedy(found)
    return [*position_lines(found), *beside, *([more, after] if after else [])]


def audit_json(found: PlacedRows, truth: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what is given back by position as an object ready for JSON: the figures, not the rows."""
    out = {
        "summary": gives_back(found),
        "open": why_open(found),
        **found.figures(),
        "notes": list(found.notes),
        "remedy": remedy(found),
    }
    return out if truth is None else out | {"truth": dict(truth)}


def position_json(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the object that `recon positions --json` prints: the figures in `attrs`, then the lines, `positions`."""
    from recon.io.console.output import records

    return {**{str(k): v for k, v in frame.attrs.items()}, "positions": records(without_infinity(frame))}


def without_infinity(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with empty cells for ends that are not known."""
    ends = {name: frame[name].where(~frame[name].abs().eq(math.inf)) for name in ("low", "high")}
    return frame.assign(**ends)


def written(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the lines as a file holds them: values as text ("{a, b}"), empty cells for ends that are not known."""
    texts = ["" if one is None else "{" + ", ".join(map(cell_text, one)) + "}" for one in frame["values"]]
    return without_infinity(frame).assign(values=texts)
