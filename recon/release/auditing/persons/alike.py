"""Rows that no statement tells apart, so that many thousand of them are looked at once: numbers by gap, equal rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from encoders.domain.values import Continuous
from encoders.encode.encoder import EncodedRelease
from encoders.models.models import Table
from recon.readers.frames.selections import cell_ranges, columns_by_attribute
from solvers.foundation.errors import ReleaseError

if TYPE_CHECKING:
    import pandas as pd


def by_gap(release: EncodedRelease, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with every number of a continuous attribute replaced by the first one in the same gap.

    A gap lies between two thresholds of the release: no statement tells its numbers apart. Left as they are: numbers
    outside the domain, columns that share an attribute, and everything where a table publishes means or totals.
    Cost: sorting, and a look at one number per threshold and halving.
    """
    if any(isinstance(model, Table) for model in release.models):
        return frame
    out = frame.copy(deep=False)
    out.attrs.update(frame.attrs)
    for k, columns in columns_by_attribute(frame, release.domain).items():
        alone = len(columns) == 1 and isinstance(release.domain.all[k], Continuous)
        if alone and str(frame.columns[columns[0]]) in release.domain.place:
            cells = first_of_gap(release, k, frame.iloc[:, columns[0]], bool(frame.attrs.get("text")))
            if cells is not None:
                out.isetitem(columns[0], cells)
    return out


def first_of_gap(release: EncodedRelease, k: int, column: pd.Series[Any], text: bool) -> NDArray[Any] | None:
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


def equal_rows(frame: pd.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
