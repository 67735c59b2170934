"""What is left of the figures where numbers run on without an end: no region has a share of what could be.

Counts, verdicts and worlds' existence need no sizes; bits removed, probabilities and expected counts do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from recon.measures.measures import Measures

PER_ROW = ("bits_left", "bits_removed", "entropy_reduction_ratio", "share_of_rows_at_most")


def without_shares(found: Measures) -> Measures:
    """Return the measures without the figures that depend on the sizes of regions; those of whole worlds have none."""
    lines = found.exposure.copy()
    for name in PER_ROW:
        if name in lines:
            lines[name] = np.nan
    if "worlds_per_row" in lines:
        lines["worlds_per_row"] = pd.Series([None] * len(lines), index=lines.index, dtype=object)
    return replace(found, bits_removed_per_row=None, bits_due_to_order=None, exposure=lines)


def settled_only(out: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of `attribute` with probabilities only where no size matters: 1 where certain, 0 where none.

    Where no row meets the profile in any world there is no probability, as before.
    """
    most = out["max_count"].astype("Float64").fillna(np.inf)  # open numbers of rows have no most
    some = (most.groupby(out["profile"]).transform("max") > 0).to_numpy(dtype=bool)
    none = some & (most == 0).to_numpy(dtype=bool)
    sure = np.where(out["certain"].to_numpy(dtype=bool), 1.0, np.where(none, 0.0, np.nan))
    return out.assign(probability=sure, probability_before=np.nan, leave_one_out=np.nan)
