"""The lines of exposure in the order that people read them: the most exposed group first; and the curve of all rows.

At the same exposure the fewest rows come first: about one person in a leaf a release says more than about a crowd.
Where numbers run on without an end no region has a share of what could be: counts, verdicts and worlds' existence need
no sizes; bits removed, probabilities and expected counts do. Groups then are ordered by their rows alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from solvers.foundation.exact import decimal

if TYPE_CHECKING:
    import pandas as pd

    from recon.queries.measures.figures import Measures

PER_ROW = ("bits_left", "bits_removed", "entropy_reduction_ratio", "share_of_rows_at_most")


def without_shares(found: Measures) -> Measures:
    """Return the measures without the figures that depend on the sizes of regions; those of whole worlds have none."""

    def lines() -> pd.DataFrame:
        return _unshared(found.exposure)

    return replace(found, bits_removed_per_row=None, bits_due_to_order=None, exposures=lines)


def without_bits_left(found: Measures) -> Measures:
    """Return the measures without the bits left of single rows: in a continuous range there is no number of values."""

    def lines() -> pd.DataFrame:
        return _unshared(found.exposure, ("bits_left",))

    return replace(found, exposures=lines)


def _unshared(lines: pd.DataFrame, names: Sequence[str] = PER_ROW) -> pd.DataFrame:
    """Return lines of exposure without the figures, by default all, that depend on sizes."""
    import pandas as pd

    lines = lines.copy()
    for name in names:
        if name in lines:
            lines[name] = np.nan
    if "worlds_per_row" in lines:
        lines["worlds_per_row"] = pd.Series([None] * len(lines), index=lines.index, dtype=object)
    return lines


def worst_first(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of exposure that surely hold rows, the most exposed first, then the fewest rows first.

    Rows are those of the whole leaf, rule or cell, whose classes stay together. Lines without a figure come last.
    """
    held = lines[lines["rows"] > 0] if len(lines) else lines
    if not len(held):
        return held
    region = held["region"]
    whole = held.groupby("region")[["rows", "rows_most"]].transform("sum")
    keys = (held["rows"], region, whole["rows_most"], whole["rows"], held["entropy_reduction_ratio"])
    return held.iloc[np.lexsort([one.to_numpy() for one in keys])]  # the last key counts first, and NaN is last


def exposed_groups(measures: Measures, most: int = 1000) -> list[dict[str, Any]]:
    """Return the most exposed groups, worst first, as objects ready for JSON: one per leaf, rule or cell and class.

    Keys: name, where (in words), class (None: any), rows (least and most), worlds_per_row (a decimal text), bits_left,
    bits_removed, share_left (0: known wholly, 1: nothing learnt), share_of_rows_at_most; None where not defined. `most`
    groups at most; `exposed_in_all` says how many there are. Cost: sorting.
    """
    return [
        {
            "name": line["name"],
            "where": line["where"],
            "class": line["class"],
            "rows": [int(line["rows"]), int(line["rows_most"])],
            "worlds_per_row": None if line["worlds_per_row"] is None else decimal(int(line["worlds_per_row"])),
            "bits_left": _figure(line["bits_left"]),
            "bits_removed": _figure(line["bits_removed"]),
            "share_left": _figure(line["entropy_reduction_ratio"]),
            "share_of_rows_at_most": _figure(line["share_of_rows_at_most"]),
        }
        for line in worst_first(measures.exposure).head(most).to_dict("records")
    ]


def exposed_in_all(measures: Measures) -> int:
    """Return how many groups surely hold rows: leaves, rules or cells, each class by itself."""
    lines = measures.exposure
    return int((lines["rows"] > 0).sum()) if len(lines) else 0


def _figure(value: Any) -> float | None:
    """Return a finite number, None for none."""
    return None if value is None or not math.isfinite(value) else float(value)


def curve_points(measures: Measures, most: int = 200) -> list[list[float]]:
    """Return points [share of bits left, share of people at most], both increasing: a staircase, right at every point.

    Between two points nothing is said to happen but a rise, somewhere; each point is one of the true curve. The first
    and the last step are always kept, in between every so many-th. Empty where no share is defined.
    """
    lines = measures.exposure
    if not len(lines):
        return []
    held = lines[(lines["rows"] > 0) & np.isfinite(lines["entropy_reduction_ratio"])]
    steps = held.drop_duplicates("entropy_reduction_ratio").sort_values("entropy_reduction_ratio")
    points = steps[["entropy_reduction_ratio", "share_of_rows_at_most"]].to_numpy(dtype=np.float64)
    if len(points) > most:
        points = points[np.unique(np.linspace(0, len(points) - 1, most).round().astype(np.int64))]
    return [[float(x), float(y)] for x, y in points]
