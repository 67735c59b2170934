"""The checker of "one data set only": statements applied in turn, each once, until every count is fixed.

It searches for nothing: a step is the number of a statement, and says that every count in it lies where the bounds of
the others leave it. It trusts `solvers.tables` alone: definitions, and the sums made of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.foundation.errors import CertificateError
from solvers.tables.atoms import Ints, LiveCounts

LARGEST = 1 << 36


def replayed(live: LiveCounts, steps: Sequence[int]) -> Ints:
    """Return the only counts that fit, once the steps prove it; `CertificateError` where they do not.

    Cost: the entries of the statements applied.
    """
    rows = live.rows
    low, high = np.zeros(len(live.leaf), np.int64), np.full(len(live.leaf), LARGEST, np.int64)
    for r in steps:
        if not 0 <= r < len(rows):
            raise CertificateError(f"there is no statement {r}")
        at = rows.columns[rows.starts[r] : rows.starts[r + 1]]
        least, most, value = low[at], high[at], int(rows.value[r])
        high[at] = np.minimum(most, value - (int(least.sum()) - least))
        low[at] = np.maximum(least, value - (int(most.sum()) - most))
        if (low[at] > high[at]).any():
            raise CertificateError(f"nothing fits once statement {r} is applied")
    if len(at := np.flatnonzero(low != high)):
        raise CertificateError(f"{len(at):,} counts are not fixed, the first of them of area {_area(live, int(at[0]))}")
    owner = np.repeat(np.arange(len(rows)), np.diff(rows.starts))
    if not np.array_equal(np.bincount(owner, low[rows.columns], len(rows)).astype(np.int64), rows.value):
        raise CertificateError("the counts that are fixed do not fit all statements")
    return low


def _area(live: LiveCounts, variable: int) -> str:
    return live.top.names[int(live.leaf[variable])]
