"""What is left of the figures where numbers run on without an end: no region has a share of what could be.

Counts, verdicts and worlds' existence need no sizes; bits removed, probabilities and expected counts do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from recon.measures.figures import Measures

PER_ROW = ("bits_left", "bits_removed", "entropy_reduction_ratio", "share_of_rows_at_most")


def without_shares(found: Measures) -> Measures:
    """Return the measures without the figures that depend on the sizes of regions; those of whole worlds have none."""

    def lines() -> pd.DataFrame:
        return unshared(found.exposure)

    return replace(found, bits_removed_per_row=None, bits_due_to_order=None, exposures=lines)


def unshared(lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines of exposure without the figures that depend on sizes."""
    import pandas as pd

    lines = lines.copy()
    for name in PER_ROW:
        if name in lines:
            lines[name] = np.nan
    if "worlds_per_row" in lines:
        lines["worlds_per_row"] = pd.Series([None] * len(lines), index=lines.index, dtype=object)
    return lines
