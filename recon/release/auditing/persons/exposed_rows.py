"""The training rows beside the release: whom it exposes most, by position, and which groups of people.

Rows are told by their position in the data, from 0 as `recon positions` counts them; their values only where asked for.

What is left of the row at every position of the training file, where known bags tell rows apart.

Rows that no statement tells apart, so that many thousand of them are looked at once: numbers by gap, equal rows.

Exposure by group of a protected attribute: a column of the training data, whether or not the model knows it.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Fig. 4: models tell
more about some people than about others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from recon.queries.certificates.issuing import json_value
from recon.queries.located.against_truth import compared
from recon.queries.located.placed_rows import PlacedRows
from recon.queries.measures.figures import Measures
from recon.readers.frames.describe import named_like
from recon.readers.frames.selections import cell_ranges, columns_by_attribute, frame_ranges, missing, whole_rows
from recon.readers.frames.world import TrueRows, demand_attributes, violations
from recon.readers.loading.settled import as_released
from recon.release.auditing.persons.row_groups import RowGroups, row_groups
from solvers.foundation.displayed import quote
from solvers.foundation.errors import ReleaseError
from solvers.foundation.exact import level_text
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

LISTED_VALUES = 12  # different numbers up to which each is a group of its own
MOST_GROUPS = 100  # groups that a table can show, and that still are groups of people
FEW_ROWS = 10  # in a group: its figures are then about single people
PROTECTED_SHOWN = 8  # names of columns in a refusal
MISSING = "(missing)"


def _protected_column(release: EncodedRelease, data: pd.DataFrame, renamed: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return the value of every row in a column of the data, or in an attribute that several columns of it spell out.

    `renamed` are the same data by the names of the domain. Raises `ReleaseError` where there is neither.
    """
    for frame in (data, renamed):
        at = [i for i, column in enumerate(frame.columns) if str(column) == name]
        if at:
            return data.iloc[:, at[0]]
    k = release.domain.place.get(name)
    if k is not None and not isinstance(release.domain.all[k], Continuous):
        return _spelled_out(release, renamed, k)
    listed = ", ".join(f"'{quote(column)}'" for column in data.columns[:PROTECTED_SHOWN])
    more = ", ..." if len(data.columns) > PROTECTED_SHOWN else ""
    message = f"the data have no column '{quote(name)}' (--protected); their columns are {listed}{more}"
    raise ReleaseError(message, file=data.attrs.get("file", ""))


def _spelled_out(release: EncodedRelease, renamed: pd.DataFrame, k: int) -> pd.Series[Any]:
    """Return the values of an attribute whose columns (one-hot, or thresholds) the data have.

    A row that they leave several values of gets all of them in one text ("18-20 or 21-22").
    """
    import pandas as pd

    attribute = release.domain.all[k]
    names = list(renamed.columns)
    mine = [i for i, one in enumerate(names) if str(one) in release.domain.columns]
    kept = [i for i in mine if release.domain.view_ranges(str(names[i]))[0] == k]
    frame = renamed.iloc[:, kept]
    frame.attrs.update(renamed.attrs)
    codes, every = frame_ranges(frame, release.domain)[k]
    texts = []
    for ranges in every:
        indices = [i for start, end in ranges for i in range(start, min(end, start + MOST_GROUPS))]
        texts.append(" or ".join("" if (v := attribute.value(i)) is None else str(v) for i in indices))
    return pd.Series(np.array(texts, dtype=object)[codes])


def _people_in_groups(column: pd.Series[Any], name: str, file: str = "") -> tuple[NDArray[np.int64], list[str], str]:
    """Return the group of every row, the names of the groups, and what was done to numbers ("": nothing).

    Numbers with more than 12 different values are cut at their quartiles; empty cells are a group of their own. Raises
    `ReleaseError` for texts with more than 100 different values: they single people out instead of grouping them.
    """
    import pandas as pd

    empty = (column.isna() | (column == "")).to_numpy(dtype=bool)
    held = column[~empty]
    numbers = pd.to_numeric(held, errors="coerce") if held.dtype != bool else held.astype(np.int64)
    numeric = bool(len(held)) and not numbers.isna().any()
    texts = numbers if numeric else held.map(str)
    note, group = "", np.full(len(column), -1, dtype=np.int64)
    if numeric and texts.nunique() > LISTED_VALUES:
        group[~empty], names = _quartiles(texts.to_numpy(dtype=np.float64))
        note = f"'{quote(name)}' has {texts.nunique():,} different numbers: it was cut at its quartiles"
    else:
        codes, values = pd.factorize(texts, sort=True)
        if len(values) > MOST_GROUPS:
            message = f"the column '{quote(name)}' (--protected) has {len(values):,} different values"
            raise ReleaseError(f"{message}: give one that groups people, with at most {MOST_GROUPS}", file=file)
        group[~empty] = codes
        names = [_number_text(value) if numeric else str(value) for value in values.tolist()]
    if empty.any():
        group[empty] = len(names)
        names = [*names, MISSING]
    return group, names, note


def _quartiles(values: NDArray[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the quarter of every number and the quarters in words; equal numbers are in one quarter.

    The ends are values of the data (inverse of the empirical distribution); quarters that would be empty are left out.
    """
    ends = np.unique(np.quantile(values, (0.25, 0.5, 0.75), method="inverted_cdf"))
    ends = ends[ends < values.max()]
    words = [_number_text(end) for end in ends.tolist()]
    between = [f"above {low} to {high}" for low, high in pairwise(words)]
    names = [f"at most {words[0]}", *between, f"above {words[-1]}"] if words else ["all"]
    return np.searchsorted(ends, values, side="left").astype(np.int64), names


def _number_text(value: Any) -> str:
    """Return a number as people write it: whole numbers without a point."""
    return f"{int(value):d}" if float(value).is_integer() else f"{float(value):g}"


def by_group(found: RowGroups, column: pd.Series[Any], name: str, file: str = "") -> tuple[dict[str, Any], list[str]]:
    """Return the `by_group` object, the most exposed group first, and what has to be known to read it.

    Of each group: rows; mean bits left and mean share left over its rows with a figure (None: no row has one); pinned
    rows; least bits left of one of its rows.
    """
    group, names, note = _people_in_groups(column, name, file)
    known = ~np.isnan(found.bits_left)
    lines: list[dict[str, Any]] = []
    for g, value in enumerate(names):
        here = group == g
        told = here & known
        lines.append(
            {
                "value": value,
                "rows": int(here.sum()),
                "mean_bits_left": float(found.bits_left[told].mean()) if told.any() else None,
                "mean_share_left": float(found.share_left[told].mean()) if told.any() else None,
                "pinned": int(found.pinned[here].sum()),
                "least_bits_left": float(found.bits_left[told].min()) if told.any() else None,
            }
        )
    lines.sort(key=lambda line: (line["mean_bits_left"] is None, line["mean_bits_left"] or 0.0))
    notes = [note] if note else []
    few = sum(0 < line["rows"] < FEW_ROWS for line in lines)
    if few:
        which = "1 group has" if few == 1 else f"{few} groups have"
        notes.append(f"{which} fewer than {FEW_ROWS} rows: these figures are about single people")
    if not known.all():
        notes.append("means by group are over the rows that have a figure")
    return {"attribute": name, "groups": lines}, notes


def _by_gap(release: EncodedRelease, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with every number of a continuous attribute replaced by the first one in the same gap.

    A gap lies between two thresholds of the release: no statement tells its numbers apart. Left as they are: numbers
    outside the domain, columns that share an attribute, and everything where a table publishes means or totals.
    Cost: sorting, and a look at one number per threshold and halving.
    """
    if any(model.figures() for model in release.models):
        return frame
    out = frame.copy(deep=False)
    out.attrs.update(frame.attrs)
    for k, columns in columns_by_attribute(frame, release.domain).items():
        alone = len(columns) == 1 and isinstance(release.domain.all[k], Continuous)
        if alone and str(frame.columns[columns[0]]) in release.domain.place:
            cells = _first_of_gap(release, k, frame.iloc[:, columns[0]], bool(frame.attrs.get("text")))
            if cells is not None:
                out.isetitem(columns[0], cells)
    return out


def _first_of_gap(release: EncodedRelease, k: int, column: pd.Series[Any], text: bool) -> NDArray[Any] | None:
    """Return the column with the first cell of every gap in place of all; None where some cell is no plain number."""
    import pandas as pd

    try:
        numbers = pd.to_numeric(column) if text else column
    except (ValueError, TypeError):
        return None
    if numbers.dtype.kind not in "iuf" or not len(column) or not np.isfinite(numbers.to_numpy()).all():
        return None
    distinct, first, back = np.unique(numbers.to_numpy(), return_index=True, return_inverse=True)
    cells = column.to_numpy()
    cuts, name = release.cut.cuts[k], str(column.name)

    def part(j: int) -> int:
        return cuts.part(cell_ranges(release.domain, name, cells[first[j]], text)[1][0][0])

    last = len(distinct) - 1
    parts = np.zeros(len(distinct), dtype=np.int64)
    try:
        near = np.searchsorted(distinct, [float(x) for x, _ in cuts.inner])  # where parts change, but for rounding
        looked = np.unique(np.clip([0, last, *(near - 1), *near, *(near + 1)], 0, last)).tolist()
        ends = [(0, part(0)), (last, part(last)), *((j, part(j)) for j in looked[1:-1])]
    except (OverflowError, ReleaseError):
        return None  # the careful way says which cells are outside
    spans = [(low, high, a, b) for (low, a), (high, b) in pairwise(sorted(ends))]
    while spans:
        low, high, at_low, at_high = spans.pop()
        if at_low == at_high:
            parts[low : high + 1] = at_low
        elif high - low == 1:
            parts[low], parts[high] = at_low, at_high
        else:
            middle = (low + high) // 2
            at = part(middle)
            spans += [(low, middle, at_low, at), (middle, high, at, at_high)]
    _, start, gap = np.unique(parts, return_index=True, return_inverse=True)
    return np.asarray(cells[first[start]][gap.reshape(-1)][back.reshape(-1)])


def _equal_rows(frame: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the distinct rows (the first of each), and per row which of them it is.

    Cells are equal as they stand. Cost: linear in cells.
    """
    import pandas as pd

    key = np.zeros(len(frame), dtype=np.int64)
    for i in range(frame.shape[1]):
        codes, values = pd.factorize(frame.iloc[:, i])
        key = pd.factorize(key * (len(values) + 1) + codes + 1)[0].astype(np.int64)
    first = np.unique(key, return_index=True)[1]
    return first.astype(np.int64), key


Floats = NDArray[np.float64]
IN_ORDER = (
    "the file distinguishes rows by position: bits left are at most those of the row at each position; "
    "{known:,} of {rows:,} rows are fully known"
)
OUT_OF_ORDER = (
    "the file distinguishes rows by position, but the data are not in the order in which the model was fitted: "
    "give them in that order"
)


def _with_positions(groups: RowGroups, found: PlacedRows, rows: pd.DataFrame) -> tuple[RowGroups, str]:
    """Return what is known about every row with what is proved of its position, and a note on that.

    `rows` are the training rows in the order of the data. Where some true value is not among those left at its position
    the data stand in another order: nothing is added. Cost: linear in rows times parts.
    """
    if len(groups) != found.rows or not compared(found, rows)["inside"]:
        return groups, OUT_OF_ORDER
    whole = np.asarray(np.stack([column.exact for column in found.columns]).all(axis=0))
    bits, before = _bits_at_positions(found)
    bits[whole] = 0.0
    fewer = ~np.isnan(bits) & ~(groups.bits_left <= bits)
    share = np.where(whole | (before == 0), 0.0, bits / before if before else bits)
    note = IN_ORDER.format(known=int(whole.sum()), rows=found.rows)
    return replace(
        groups,
        bits_left=np.where(fewer, bits, groups.bits_left),
        share_left=np.where(fewer, share, groups.share_left),
        pinned=groups.pinned | whole,
        by_position=fewer,
        width=np.mean([column.width for column in found.columns], axis=0),
    ), note


def _bits_at_positions(found: PlacedRows) -> tuple[Floats, float]:
    """Return the bits left of the row at every position, at most, and those before.

    NaN with an attribute of any numbers. Attributes are counted one by one: that some of their combinations are
    excluded only leaves fewer bits.
    """
    domain, answer = found.release.statements.domain, found.answer
    if found.release.domain.continuous:
        return np.full(found.rows, np.nan), 0.0
    bits, before = np.zeros(found.rows), 0.0
    for k, attribute in enumerate(domain.attributes):
        if k in answer.sets:
            values = np.asarray(answer.sets[k].astype(np.float64) @ np.array(attribute.sizes, dtype=np.float64))
        else:
            ends = np.array(attribute.ends, dtype=np.float64)
            values = ends[answer.end[:, k]] - ends[answer.start[:, k]]
        exact = found.columns[k].exact
        bits += np.log2(np.where(exact, 1.0, np.maximum(values, 1.0)))
        before += float(np.log2(attribute.total))
    return bits, before


SHOWN = 5  # names of columns in a sentence
UNSIZED = "an attribute has no values that could be counted: declare a domain (--domain)"


def exposed_rows(
    release: EncodedRelease,
    measures: Measures,
    data: pd.DataFrame,
    label: str | None,
    protected: str | None = None,
    show_rows: bool = False,
    limits: Limits | None = None,
    top: int = 20,
    positions: PlacedRows | None = None,
) -> dict[str, Any]:
    """Return the `persons` object of an audit: the most exposed training rows, and exposure by group; ready for JSON.

    `measures` are those of the release; `label` is the data's name for the domain's label. `most_exposed`: at most
    `top` rows, fewest bits left first, then rows of small groups, then by position (from 0); `bits_left` is given the
    row's leaf or rule and class (or cell), None where no figure is known. `protected`: a column of the data, of the
    model or not. Columns that the model does not know are left out, which the notes say. `show_rows`: with the values
    of the rows listed, by the names of the domain. `positions`: what is proved of every position of the training file
    (of forests whose bags are known); used where the data stand in the order of `fit`. Raises `ReleaseError` where the
    data are no possible world of the release (positions would lie), leave a cell empty, lack an attribute, or have a
    value outside the domain; `Inconclusive` when time is up. Cost: linear in cells of the data, and rows times regions
    in bits.
    """
    limits = limits or Limits()
    renamed, notes = named_like(data, release.domain, label)
    rows, unknown = _known_columns(renamed, release)
    rows = whole_rows(rows, release.domain)
    _refuse_gaps(rows)
    people = rows
    rows = _by_gap(release, rows)
    limits.check("the training data beside the release")
    demand_attributes(release, rows)
    seen = TrueRows.of(release, rows)
    _refuse_others(release, rows, seen)
    found = row_groups(release, measures, seen, limits)
    if positions is not None:
        found, said_of_order = _with_positions(found, positions, people)
        notes = [*notes, said_of_order]
    groups: dict[str, Any] | None = None
    if protected is not None:
        groups, said = by_group(
            found, _protected_column(release, data, renamed, protected), protected, data.attrs.get("file", "")
        )
        notes = [*notes, *said]
    unknown = [name for name in unknown if name != protected]
    notes = [*notes, *_figure_notes(found, measures), *_data_notes(people, unknown)]
    own = label if label is not None else None if release.domain.label is None else release.domain.label.name
    return {
        "label": own,
        "most_exposed": [_line(found, i, people if show_rows else None) for i in found.order()[:top].tolist()],
        "in_all": len(found),
        "by_group": groups,
        "notes": notes,
    }


def _known_columns(frame: pd.DataFrame, release: EncodedRelease) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns that the domain knows, and the names of the others."""
    domain = release.domain
    names = [str(column) for column in frame.columns]
    kept = [i for i, name in enumerate(names) if name in domain.place or name in domain.columns]
    out = frame.iloc[:, kept]
    out.attrs.update(frame.attrs)
    return out, [name for i, name in enumerate(names) if i not in set(kept)]


def _refuse_gaps(rows: pd.DataFrame) -> None:
    """Raise `ReleaseError` for an empty cell of an attribute that is never missing: its row has no group."""
    for i, name in enumerate(map(str, rows.columns)):
        column = rows.iloc[:, i]
        empty = (column.isna() | (column == "")).to_numpy(dtype=bool)
        if empty.any():
            at = int(np.flatnonzero(empty)[0])
            message = f"the cell is empty: fill it in, or declare that '{quote(name)}' may be missing"
            place = f"row {at + 1}, column '{quote(name)}'"
            raise ReleaseError(message, place=place, file=rows.attrs.get("file", ""))


def _refuse_others(release: EncodedRelease, rows: pd.DataFrame, seen: TrueRows) -> None:
    """Raise `ReleaseError` where the data are no possible world of the release, with the first statement they break."""
    broken = violations(as_released(release), rows, seen)
    if not broken:
        return
    more = f" (and {len(broken) - 1:,} more)" if len(broken) > 1 else ""
    if release.noisy and not release.certain:
        level = level_text(release.confidence)
        message = (
            f"the noise would lie outside its intervals at confidence {level}: {broken[0]}{more}; give the training "
        )
        message += "data, or a higher --confidence"
    else:
        message = f"these are not the rows that the model was learned from: {broken[0]}{more}; give its training data"
    raise ReleaseError(message, file=rows.attrs.get("file", ""))


def _line(found: RowGroups, i: int, shown: pd.DataFrame | None) -> dict[str, Any]:
    """Return what is said of the row at a position; with its values where they are `shown`."""
    worlds, bits = found.worlds_per_row(i), float(found.bits_left[i])
    least, most = int(found.least[i]), int(found.most[i])
    out: dict[str, Any] = {
        "position": i,
        "group": found.name(i),
        "bits_left": bits if math.isfinite(bits) else None,
        "worlds_per_row": None if worlds is None else str(worlds),
        "group_rows": None if least < 0 else [least, most],
        "pinned": bool(found.pinned[i]),
    }
    return out if shown is None else out | {"row": values(shown, i)}


def values(data: pd.DataFrame, i: int) -> dict[str, Any]:
    """Return a row as an object column -> value, None for empty cells and for numbers that JSON does not have."""
    out = {}
    for name, cell in zip(map(str, data.columns), data.iloc[i].tolist(), strict=True):
        value = None if missing(cell) else json_value(cell)
        plain = isinstance(value, str | int | bool) or (isinstance(value, float) and math.isfinite(value))
        out[name] = value if value is None or plain else str(value)
    return out


def _figure_notes(found: RowGroups, measures: Measures) -> list[str]:
    """Return what has to be known to read the figures: what they are given, and of how many rows there are none."""
    where = "cell (combination of regions)" if measures.of_cells else "leaf or rule, and class,"
    notes = [f"bits left: what is still not known about a person once that person's {where} is known"]
    without = np.isnan(found.bits_left)
    if without.any():
        notes.append(f"{int(without.sum()):,} of {len(found):,} rows have no figure: {_no_figure(found, measures)}")
    given = int(found.given_back.sum())
    if given:
        notes.append(f"leaf values reveal {given:,} of the rows")
    return notes


def _no_figure(found: RowGroups, measures: Measures) -> str:
    """Return why rows have no figure."""
    if measures.counted.relative:
        return UNSIZED
    if (found.line[np.isnan(found.bits_left)] < 0).all():
        return "the release proves of no cell of theirs that it holds rows"
    return "the sizes of their groups are only known between bounds"


def _data_notes(rows: pd.DataFrame, unknown: Iterable[str]) -> list[str]:
    """Return what is to be said of the data: people with equal rows, columns that the model does not know."""
    _, back = _equal_rows(rows)
    alike = int((np.bincount(back)[back] > 1).sum())
    notes = [f"{alike:,} of {len(rows):,} rows equal another row in every column that the model knows"] if alike else []
    others = list(unknown)
    if others:
        listed = ", ".join(f"'{quote(name)}'" for name in others[:SHOWN]) + (", ..." if len(others) > SHOWN else "")
        many = "1 column is" if len(others) == 1 else f"{len(others):,} columns are"
        notes.append(f"{many} not in the model and not used: {listed}")
    return notes
