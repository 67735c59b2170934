"""Exposure by group of a protected attribute: a column of the training data, whether or not the model knows it.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024, Fig. 4: models tell
more about some people than about others.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from recon.readers.frames.selections import frame_ranges
from recon.release.auditing.persons.row_groups import RowGroups
from solvers.foundation.errors import ReleaseError
from solvers.foundation.escaping import named

if TYPE_CHECKING:
    import pandas as pd

LISTED_VALUES = 12  # different numbers up to which each is a group of its own
MOST_GROUPS = 100  # groups that a table can show, and that still are groups of people
FEW_ROWS = 10  # in a group: its figures are then about single people
SHOWN = 8  # names of columns in a refusal
MISSING = "(missing)"


def protected_column(release: EncodedRelease, data: pd.DataFrame, renamed: pd.DataFrame, name: str) -> pd.Series[Any]:
    """Return the value of every row in a column of the data, or in an attribute that several columns of it spell out.

    `renamed` are the same data by the names of the domain. Raises `ReleaseError` where there is neither.
    """
    for frame in (data, renamed):
        at = [i for i, column in enumerate(frame.columns) if str(column) == name]
        if at:
            return data.iloc[:, at[0]]
    k = release.domain.place.get(name)
    if k is not None and not isinstance(release.domain.all[k], Continuous):
        return spelled_out(release, renamed, k)
    listed = ", ".join(f"'{named(column)}'" for column in data.columns[:SHOWN])
    more = ", ..." if len(data.columns) > SHOWN else ""
    message = f"the data have no column '{named(name)}' (--protected); their columns are {listed}{more}"
    raise ReleaseError(message, file=data.attrs.get("file", ""))


def spelled_out(release: EncodedRelease, renamed: pd.DataFrame, k: int) -> pd.Series[Any]:
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


def people_in_groups(column: pd.Series[Any], name: str, file: str = "") -> tuple[NDArray[np.int64], list[str], str]:
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
        group[~empty], names = quartiles(texts.to_numpy(dtype=np.float64))
        note = f"'{named(name)}' has {texts.nunique():,} different numbers: it was cut at its quartiles"
    else:
        codes, values = pd.factorize(texts, sort=True)
        if len(values) > MOST_GROUPS:
            message = f"the column '{named(name)}' (--protected) has {len(values):,} different values"
            raise ReleaseError(f"{message}: give one that groups people, with at most {MOST_GROUPS}", file=file)
        group[~empty] = codes
        names = [number_text(value) if numeric else str(value) for value in values.tolist()]
    if empty.any():
        group[empty] = len(names)
        names = [*names, MISSING]
    return group, names, note


def quartiles(values: NDArray[Any]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the quarter of every number and the quarters in words; equal numbers are in one quarter.

    The ends are values of the data (inverse of the empirical distribution); quarters that would be empty are left out.
    """
    ends = np.unique(np.quantile(values, (0.25, 0.5, 0.75), method="inverted_cdf"))
    ends = ends[ends < values.max()]
    words = [number_text(end) for end in ends.tolist()]
    between = [f"above {low} to {high}" for low, high in pairwise(words)]
    names = [f"at most {words[0]}", *between, f"above {words[-1]}"] if words else ["all"]
    return np.searchsorted(ends, values, side="left").astype(np.int64), names


def number_text(value: Any) -> str:
    """Return a number as people write it: whole numbers without a point."""
    return f"{int(value):d}" if float(value).is_integer() else f"{float(value):g}"


def by_group(found: RowGroups, column: pd.Series[Any], name: str, file: str = "") -> tuple[dict[str, Any], list[str]]:
    """Return the `by_group` object, the most exposed group first, and what has to be known to read it.

    Of each group: rows; mean bits left and mean share left over its rows with a figure (None: no row has one); pinned
    rows; least bits left of one of its rows.
    """
    group, names, note = people_in_groups(column, name, file)
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
