"""The question `positions`: one line per training position and attribute, what is proved about its value.

Source: Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML 2024 (what trees on bags give away).

What the learner's midpoints add: values of numbers narrowed, some of them to the last bit that the trees saw.

What is proved by position, in words and as an object ready for JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.domain.domain import AttributeCuts
from encoders.domain.values import Categorical, Continuous, Grid, cell_text
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Forest
from recon.io.console.guarding import stripped_name, suggestion
from recon.queries.answers.counting import no_positions_reason
from recon.queries.certificates.issuing import position_certificate
from recon.queries.located.against_truth import compared
from recon.queries.located.placed_rows import (
    ClassFigures,
    Floats,
    PlacedRows,
    PositionColumn,
    Ranges,
    attributes,
    between,
    columns_of,
    known_ranges,
    of_spans,
    unplaced_notes,
)
from recon.readers.loading.known_positions import Table, contradicting, with_known_positions
from recon.readers.loading.loading import Released, single_release_of
from solvers.engines.chain import ask
from solvers.foundation.displayed import many
from solvers.foundation.errors import ContradictionError, Inconclusive, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.assignments.world import assigned
from solvers.positions.midpoints.alternating import locate_in_turn
from solvers.positions.midpoints.locating import ASSUMES, LocatedRows
from solvers.positions.midpoints.splits import TreeSplits, raw_ends
from solvers.statements.questions.answers import LocatedAnswer
from solvers.statements.questions.query import Locate
from solvers.statements.row_problem import bags_with_most

if TYPE_CHECKING:
    import pandas as pd

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


def _percent(share: float | None) -> str:
    """Return a share as a percentage that never rounds up to all of it, or down to none."""
    if share is None:
        return "not defined"
    text = f"{100 * share:.1f}"
    if text == "100.0" and share < 1:
        text = "99.9"
    return f"{'less than 0.1' if text == '0.0' and share > 0 else text.removesuffix('.0')} %"


def _gives_back(found: PlacedRows) -> str:
    """Return the one line on what the file gives back by position."""
    narrowed = f"values to {_width_text(found.width)} of their range on average"
    if found.status == "unknown":
        return f"nothing is proved by position about the {found.rows:,} training rows"
    if found.label is None and not found.rows_known:
        return f"this file narrows, by position, {narrowed}, for each of {found.rows:,} training rows"
    rows = f" {found.rows_known:,} of {found.rows:,} whole rows" if found.rows_known else ""
    labels = _labels_text(found, ", " if rows else " ")
    return f"this file reveals{rows}{labels} by position, and narrows {narrowed}{_worst_off(found)}"


def _worst_off(found: PlacedRows) -> str:
    """Return which class is most exposed, and what is proved of its rows; "" where no row has a proved label."""
    told = [one for one in found.classes if one.labels_known]
    if len(found.classes) < 2 or not told:
        return ""
    return f"; most exposed is {class_text(told[0])}"


def class_text(one: ClassFigures) -> str:
    """Return what is proved of the rows of one class, in words."""
    most = f"{one.rows_most:,}" if one.labels_known == one.rows_most else f"at most {one.rows_most:,}"
    width = "" if one.mean_width is None else f", values narrowed to {_width_text(one.mean_width)}"
    whole = f", every leaf known of {many(one.boxes_whole, 'row')}" if one.mean_width is not None else ""
    leaves = f"{_percent(one.share_leaves_known)} of leaves"
    return f"class {cell_text(one.value)}: {one.labels_known:,} of {most} labels, {leaves}{width}{whole}"


def _class_lines(found: PlacedRows) -> list[str]:
    """Return one line per class, the worst-off class first; none where the rows have one class at most."""
    if len(found.classes) < 2 or found.status == "unknown":
        return []
    shown = [f"  {class_text(one)}" for one in found.classes[:SHOWN_CLASSES]]
    more = len(found.classes) - len(shown)
    rest = [f"  and {more:,} more classes"] if more else []
    return [
        "by class, the most exposed first:",
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
    spread = [0.5 * np.log2(2 * math.pi * math.e * max(1.0, 2 * open_rows * p * (1 - p))) for p in mean.tolist()]
    told = 2 * len(totals) * (sum(spread) - max(spread, default=0.0))
    text = (
        f"{open_rows:,} labels are open: they have about {labels:,.0f} bits, the class totals of {len(totals):,} trees "
    )
    text += f"publish at most about {told:,.0f} bits"
    if told < labels:
        text += ": no method can find them all from these alone; that would take more trees, or known values"
    elif found.complete:
        text += ": they may follow, but not by propagation and linear programs; more trees, or known values, would help"
    time = "more time changes nothing" if found.complete else "more time (--time) may prove more"
    return f"{text}; {time}"


def _labels_text(found: PlacedRows, before: str) -> str:
    """Return how many labels are proved, "" without a label."""
    if found.label is None:
        return ""
    given = int(found.given[:, found.label].sum())
    told = f" ({given:,} of them known before)" if given else ""
    return f"{before}{found.labels_known:,} of {found.rows:,} labels{told}"


def _width_text(width: float) -> str:
    """Return a width as a percentage, with one digit below 10 %, rounded up: never less than what is proved."""
    digits = 2 if width >= 0.1 else 3
    return f"{math.ceil(width * 10**digits - 1e-9) / 10 ** (digits - 2):.{digits - 2}f} %"


def _figure_lines(found: PlacedRows) -> list[str]:
    """Return the lines on the figures: leaves, rows, widths, what was assumed and whether more follows."""
    assumed = "" if found.learner == "none" else f", learner: {found.learner}"
    lines = [
        f"leaves proved: {_percent(found.answer.leaves_proved)}; values proved: {_percent(found.values_known)}; rows "
        f"fully known: {found.rows_known:,} of {found.rows:,}{assumed}",
        f"on average each value is narrowed to {_width_text(found.width)} {WIDTHS[found.width_of]} (0 %: known; "
        "100 %: no narrower than the domain)",
    ]
    if not found.complete:
        why = found.answer.trail[-1] if found.answer.trail else "the time was up"
        lines.append(f"the limits ended the work ({why}): this is what was proved by then, more may follow")
    if reason := why_open(found):
        lines.append(reason)
    return [*lines, *found.notes]


def _first_rows(found: PlacedRows, rows: int = SHOWN_ROWS) -> list[str]:
    """Return the first positions in words, of each what is known best."""
    names = [a.name for a in found.release.domain.all]
    lines = []
    for i in range(min(rows, found.rows)):
        order = sorted(range(len(found.data)), key=lambda k: float(found.columns[k].width[i]))
        kept = sorted(k for k in order[:SHOWN_VALUES] if found.columns[k].width[i] < 1)
        said = [f"{names[k]} {_cell(found, k, i)}" for k in kept]
        if found.label is not None:
            said = [f"{names[found.label]} {_cell(found, found.label, i)}", *said]
        more = sum(1 for k in order[SHOWN_VALUES:] if found.columns[k].width[i] < 1)
        rest = f", and {more} more" if more else ""
        lines.append(f"position {i}: {', '.join(said) or 'nothing'}{rest}")
    return lines


def _cell(found: PlacedRows, k: int, i: int) -> str:
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
    rows = [f"  {line}" for line in _first_rows(found)] if found.status != "unknown" else []
    figures = [*_class_lines(found), *_figure_lines(found)]
    return [_gives_back(found), *figures, *([f"the first positions ({ORDER}):"] if rows else []), *rows]


def truth_position_lines(truth: Mapping[str, Any]) -> list[str]:
    """Return the lines on the true rows beside what is proved."""
    if truth["inside"]:
        lines = ["the true rows: every true value is among those left"]
    else:
        first = truth["first_outside"]
        left = first["values"] if first["values"] is not None else f"{first['low']} to {first['high']}"
        lines = [
            f"the true rows are NOT inside ({truth['outside']:,} values are outside their ranges): another file, or "
            f"other rows or another order than fit got? first at position {first['position']}: {first['attribute']} is "
            f"{first['value']}, left is {left}"
        ]
    if truth["labels_right"] is not None:
        lines.append(f"of the labels proved, right: {truth['labels_right']:,}")
    for one in truth["classes"][:SHOWN_CLASSES]:
        beside = f"{_width_text(one['mean_width'])} (true leaves {_width_text(one['mean_width_true_leaves'])})"
        lines.append(
            f"  class {cell_text(one['class'])}, {one['rows']:,} rows: {one['labels_right']:,} labels, "
            f"values narrowed to {beside}, rows as narrow as the truth allows: {one['boxes_as_tight']:,}"
        )
    lines.append(
        f"of the true columns' ranges, values are narrowed to {_width_text(truth['mean_width'])} on average, to "
        f"{_width_text(truth['mean_width_true_leaves'])} if every true leaf were known; the marginals alone leave 100 %"
    )
    lines.append(
        f"values right if the middle of each range is taken (numbers within 1 %): {_percent(truth['values_right'])}; "
        f"by rows drawn from the true marginals: {_percent(truth['values_right_marginals'])}"
    )
    if truth["mean_error"] is not None:
        lines.append(
            f"mean distance of numbers, as a share of their range: {truth['mean_error']:.3f}; by rows drawn from the "
            f"true marginals: {truth['mean_error_marginals']:.3f}"
        )
    return lines


STAY = "the labels are stored in the file by position, with and without seeds: quantiles are read off them"


def _remedy(found: PlacedRows) -> str:
    """Return how to take out what follows by position, and what is left then; "" where nothing follows."""
    release = found.release
    if found.status == "unknown":
        return ""
    stored = any(isinstance(model, Forest) and model.labels is not None for model in release.models)
    after = "" if found.label is None or stored else f"0 of {found.rows:,} labels and "
    if all(model.origin is None or not model.origin.format for model in release.models):
        return f"remedy: without multiplicities (recon convert --without-bags) {after}no values follow by position"
    file = release.file or "FILE"
    strip = f"{suggestion('inspect', [file], {'--strip': stripped_name(file)})} writes such a copy"
    return (
        f"remedy: without the stored seeds {after}no values follow by position: {strip}; a guessed seed "
        f"(random_state=0, 42) draws the same bags again: fit without one{f'; {STAY}' if stored else ''}"
    )


def audit_lines(found: PlacedRows, truth: Mapping[str, Any] | None, opens: str = "") -> list[str]:
    """Return the lines with which a report opens: what is given back by position, and how to take it out.

    `opens`: the line on which columns, known of everybody, open more.
    """
    beside = [*([] if truth is None else truth_position_lines(truth)), *([opens] if opens else [])]
    listing = suggestion("positions", [found.release.file or "FILE"], {"--out": "ROWS.csv"})
    more = f"{listing} lists every position and value"
    after = _remedy(found)
    return [*position_lines(found), *beside, *([more, after] if after else [])]


def audit_json(
    found: PlacedRows, truth: Mapping[str, Any] | None, opens: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Return what is given back by position as an object ready for JSON: the figures, not the rows."""
    out = {
        "summary": _gives_back(found),
        "open": why_open(found),
        **found.figures(),
        "notes": list(found.notes),
        "remedy": _remedy(found),
        **({"which_columns": list(opens)} if opens else {}),
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


def frame_as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the lines as a file holds them: values as text ("{a, b}"), empty cells for ends that are not known."""
    texts = ["" if one is None else "{" + ", ".join(map(cell_text, one)) + "}" for one in frame["values"]]
    return without_infinity(frame).assign(values=texts)


MAX_VALUES = 100_000  # of an attribute that is narrowed value by value


def _with_midpoints(found: PlacedRows, limits: Limits) -> PlacedRows:
    """Return what is proved where thresholds are midpoints: an assumption, which every figure then names.

    Where no threshold is known to be one, or they contradict the leaves: what was found before, with a note on that.
    """
    from encoders.encode.learner_facts import learnt_splits

    release = found.release
    state = assigned(release.statements, limits)
    if state is None:
        return found
    try:
        splits = learnt_splits(release, state.problem)
    except Unsupported as error:
        return replace(found, notes=(*found.notes, str(error)))
    as_seen = [_is_as_seen(found, splits, c) for c in range(len(splits.attribute))]
    limits.report("midpoints")
    ranges = _ranges_of(found, splits, as_seen)
    narrowed, _ = locate_in_turn(state.problem, state.domains, splits, ranges, limits)
    if narrowed.contradiction:
        return replace(found, notes=(*found.notes, f"midpoints are not used: {narrowed.contradiction}"))
    columns = list(found.columns)
    edges = splits.edges(state.problem)
    for c, k in enumerate(splits.attribute.tolist()):
        ends = narrowed.low[:, c], narrowed.high[:, c]
        columns[k] = _by_parts(release.cut.cuts[k], columns[k], edges[c], ends)
        if as_seen[c]:
            columns[k] = _by_values(found, k, columns[k], ends)
    notes = _notes_of(splits, as_seen, narrowed)
    return replace(
        found,
        columns=tuple(columns),
        assumes=(*found.assumes, ASSUMES),
        notes=(*found.notes, *notes),
        complete=found.complete and narrowed.complete,
        learner="midpoints",
    )


def _notes_of(splits: TreeSplits, as_seen: list[bool], narrowed: LocatedRows) -> list[str]:
    """Return what is to be said of columns that a pipeline transformed."""
    names = [name for name, same in zip(splits.names, as_seen, strict=True) if not same]
    if not names:
        return []
    exact = int(narrowed.exact[:, [not same for same in as_seen]].sum())
    shown = ", ".join(dict.fromkeys(names[:3])) + (", ..." if len(names) > 3 else "")
    text = f"the trees saw {shown} transformed: of the values before it, intervals are proved"
    return [f"{text} ({exact:,} transformed values are known to the last bit)"]


def _is_as_seen(found: PlacedRows, splits: TreeSplits, c: int) -> bool:
    """Return whether a column of the trees is its attribute in single precision: then its cuts are the thresholds."""
    cuts = found.release.cut.cuts[int(splits.attribute[c])]
    own = splits.column == c
    last, part = splits.last_left[own], splits.part[own]
    if isinstance(cuts.attribute, Continuous):
        numbers = np.array([float(edge[0]) for edge in cuts.edges])
        return bool((raw_ends(last, last)[1] == numbers[part]).all())
    values = _single_values(cuts)
    if values is None:
        return False
    edges = np.array(cuts.edges)[part]
    inner = (edges > 0) & (edges < len(values))
    edges, last = edges[inner], last[inner]
    return bool(((values[edges - 1] <= last) & (last < values[edges])).all())


def _single_values(cuts: AttributeCuts) -> Floats | None:
    """Return the values of an attribute of numbers in single precision, None for others and for too many."""
    attribute = cuts.attribute
    if attribute.known[1] > MAX_VALUES or attribute.missing:
        return None
    if isinstance(attribute, Grid) or (isinstance(attribute, Categorical) and attribute.numeric):
        values = [float(attribute.value_at(i)) for i in range(attribute.known[1])]
        return np.array(values, dtype=np.float64).astype(np.float32).astype(np.float64)
    return None


def _ranges_of(found: PlacedRows, splits: TreeSplits, as_seen: list[bool]) -> Floats:
    """Return (columns, 2) the least and greatest values that are given, as the trees saw them; NaN where not known.

    Of columns that a pipeline transformed where they are the ends of the domain.
    """
    from encoders.encode.learner_facts import seen_ranges

    out = seen_ranges(found.release, splits, found.ranges.given)
    for c, name in enumerate(splits.names):
        if as_seen[c] and name in found.ranges.given:
            out[c] = np.array(found.ranges.given[name], dtype=np.float64).astype(np.float32)
    return out


def _by_parts(
    cuts: AttributeCuts, column: PositionColumn, edges: tuple[Floats, Floats], ends: tuple[Floats, Floats]
) -> PositionColumn:
    """Return an attribute of any numbers narrowed to the parts whose values, as the trees saw them, are still left."""
    if not isinstance(cuts.attribute, Continuous):
        return column
    least, most = edges
    first = np.searchsorted(most, ends[0])
    behind = np.searchsorted(least, ends[1], side="right")
    numbers = np.array([float(min(edge, cuts.attribute.known[1])[0]) for edge in cuts.edges])
    low = np.maximum(column.low, numbers[np.minimum(first, len(most) - 1)])
    high = np.minimum(column.high, numbers[np.maximum(behind, 1)])
    return _narrower(column, low, high)


def _narrower(column: PositionColumn, low: Floats, high: Floats) -> PositionColumn:
    """Return an attribute of any numbers with closer ends; its width shrinks with the interval, where both have one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shrunk = (high - low) / (column.high - column.low)
    width = column.width * np.where(np.isfinite(shrunk), np.clip(shrunk, 0.0, 1.0), 1.0)
    return replace(column, low=low, high=high, width=width, middle=between(low, high))


def _by_values(found: PlacedRows, k: int, column: PositionColumn, ends: tuple[Floats, Floats]) -> PositionColumn:
    """Return a column narrowed to the values that single precision rounds into the intervals.

    Of any numbers: `exact` where one number of single precision is left, which `values` has; low and high are the
    numbers that round to it.
    """
    cuts = found.release.cut.cuts[k]
    if not isinstance(cuts.attribute, Continuous):
        return _finite_values(cuts, column, ends)
    least, most = raw_ends(*ends)
    made = _narrower(column, np.maximum(column.low, least), np.minimum(column.high, most))
    known = ends[0] == ends[1]
    values = np.unique(ends[0][known])
    place = np.where(known, np.searchsorted(values, ends[0]), len(values))
    texts = (*((float(v),) for v in values), None)
    return replace(made, exact=column.exact | known, width=np.where(known, 0.0, made.width), values=texts,
                   values_of=place, left=np.where(known, 1, 0))  # fmt: skip


def _finite_values(cuts: AttributeCuts, column: PositionColumn, ends: tuple[Floats, Floats]) -> PositionColumn:
    """Return a column of single values without those outside of the intervals."""
    single = _single_values(cuts)
    if single is None:
        return column
    attribute = cuts.attribute
    first, behind = np.searchsorted(single, ends[0]), np.searchsorted(single, ends[1], side="right")
    keys = np.stack([column.values_of, first, behind], axis=1)
    different, at, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    spans = []
    for (pattern, a, b), row in zip(different.tolist(), at.tolist(), strict=True):
        values = column.values[pattern]
        if values is None:  # a run of a grid
            held = [
                (
                    attribute.point(_plain_number(column.low[row]))[0],
                    attribute.point(_plain_number(column.high[row]))[1],
                )
            ]
        else:
            held = [attribute.point(value) for value in values]
        kept = [(max(start, a), min(end, b)) for start, end in held]
        spans.append([one for one in kept if one[0] < one[1]] or held)
    return of_spans(cuts, spans, back.reshape(-1))


def _plain_number(x: float) -> int | float:
    """Return a whole number as one."""
    return int(x) if x.is_integer() else float(x)


LEARNERS = ("none", "midpoints")


def locate_rows(release: EncodedRelease, limits: Limits, tries: bool = True) -> LocatedAnswer:
    """Return what is left for the row at every position, in parts of the domain's attributes.

    `tries`: see `Locate`.
    Where the limits end the work it is what was proved by then (`complete` False). Raises `Inconclusive` where rows
    have no position, or nothing was found in time, `ContradictionError` where there is no world.
    """
    if why := no_positions_reason(release):
        raise Inconclusive(why)
    limits.report("rows are located")
    return ask(release.statements, Locate(tries), LocatedAnswer, limits)


def positions(
    release: Released,
    learner: str = "none",
    ranges: Ranges = None,
    truth: pd.DataFrame | None = None,
    limits: Limits | None = None,
    certificates: bool = False,
    known: Table | None = None,
) -> pd.DataFrame:
    """Return what is proved about the row at every position of the training file, a line per attribute and label.

    Positions count from 0 in the order in which `fit` got the rows. Columns: position, attribute, low, high (the
    least and the greatest value that are possible, as floats; infinite where no end is known, NaN where values have no
    order), exact (one value is left: it is proved), values (those left of an attribute with single values, None where
    they are more than 100 numbers of a grid, or any numbers); where values may be missing also `missing`. For an
    attribute of any numbers, low and high are edges of the proved interval: the value is at most `high`, and above
    `low` where that is a tree's threshold (trees send x <= threshold to the left).

    `learner`: "midpoints" also uses that scikit-learn's best splitter puts thresholds halfway between two training
    values; an assumption that every figure names. `ranges`: attribute -> (least, greatest value of the training rows),
    a file of them (attribute, min, max), or "attained": the ends of the domain are values of training rows. `truth`:
    the true rows in the same order, to compare with (`attrs["truth"]`). `known`: what is known of rows by position
    beside the file, a table (or its path) of `position`, any attributes and the label, empty cells not known; the frame
    then has a column `given`, and figures leave these values out.

    `attrs`: status ("exact", "bounds", "unknown": nothing is proved), complete (nothing more follows; else a limit was
    met), the figures of `PlacedRows.figures`, assumptions, notes, engine, seconds, and with `certificates` a
    certificate of all that rests on the statements alone (`recon.verify` accepts it; a replay of the proof). Raises
    `Inconclusive` where rows have no position, which says why, `ContradictionError` where there is no world, naming the
    values known that leave none.

    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> forest = RandomForestClassifier(2, max_depth=1, random_state=0).fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(forest, recon.Domain.from_frame(rows, "ill"))
    >>> recon.positions(release).query("exact and position > 1")[["position", "attribute", "values"]]
        position attribute values
    6          2    smoker    [1]
    8          2       ill    [0]
    9          3    smoker    [1]
    10         3       old    [1]
    11         3       ill    [1]
    """
    release = single_release_of(release, limits)
    if known is not None:
        release = with_known_positions(release, known)
    found = position_results(release, learner, ranges, limits)
    frame = found.to_frame()
    frame.attrs.update(attributes(found))
    if certificates:
        frame.attrs["certificate"] = position_certificate(release, limits)
    if truth is not None:
        frame.attrs["truth"] = compared(found, truth)
    return frame


def position_results(
    release: EncodedRelease, learner: str = "none", ranges: Ranges = None, limits: Limits | None = None
) -> PlacedRows:
    """Return what is proved about every position; see `positions`."""
    if learner not in LEARNERS:
        raise ReleaseError(f"there is no learner '{learner}': choose {' or '.join(LEARNERS)}")
    limits = limits or Limits()
    _refuse_unplaced(release)
    known = known_ranges(release.domain, ranges)
    try:
        answer = locate_rows(release, limits)
    except ContradictionError:
        if release.beside is None:
            raise
        raise contradicting(release, limits) from None
    columns = tuple(columns_of(release, answer, known))
    _refuse_empty(release, columns)
    assumed = [f"the least and the greatest value of {name} are known" for name in list(known.given)[:1]]
    if len(known.given) > 1:
        assumed = [f"the least and the greatest value of {len(known.given)} attributes are known"]
    cut = (*(() if answer.complete else limits.cut_short()), *unplaced_notes(release))
    found = PlacedRows(release, answer, columns, known, assumes=tuple(assumed), complete=answer.complete, notes=cut)
    if learner == "midpoints":
        found = _with_midpoints(found, limits)
    return found


def _refuse_unplaced(release: EncodedRelease) -> None:
    """Refuse what an adversary knows of rows without an order: positions do not follow from it here."""
    known = release.knowledge
    if known is not None and (known.models or known.weighed or release.known is not None):
        raise Unsupported(
            f"{known.file}: of an adversary positions take rows with a 'position' alone: statements, columns, weights "
            "and populations are about rows without an order (recon certify, recon labels)"
        )


def _refuse_empty(release: EncodedRelease, columns: tuple[PositionColumn, ...]) -> None:
    """Refuse ranges that leave a position no value."""
    for attribute, column in zip(release.domain.all, columns, strict=True):
        empty = np.flatnonzero(column.low > column.high)
        if len(empty):
            i = int(empty[0])
            raise ReleaseError(
                f"the range given for '{attribute.name}' is not that of the training rows: position {i} has a value "
                f"between {column.high[i]:g} and {column.low[i]:g}",
                place="ranges",
            )
