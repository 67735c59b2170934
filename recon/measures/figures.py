"""The figures of a release as frozen values, and what they are made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from encoders.encode.encoder import EncodedRelease
from solvers.questions.query import Convention, CountAnswer

if TYPE_CHECKING:
    import pandas as pd

    from recon.noisy.posterior import Posterior

EXPOSURE = (
    "name",
    "region",
    "where",
    "class",
    "rows",
    "rows_most",
    "worlds_per_row",
    "bits_left",
    "bits_removed",
    "entropy_reduction_ratio",
)


@dataclass(frozen=True)
class Measures:
    """The figures of one release in one convention; None where a figure is undefined or not exact.

    entropy_bits: log2 of the number of worlds (with the number of rows open: of its uniform prior and the worlds
    given it). uninformed_bits: the same before the release. dist_g: their ratio, 1 for a release that says
    nothing, smaller = more revealed. bits_removed_per_row: their difference per row. dist_g_mentioned: Dist_G over
    the attributes that the release names. dist: Def. 2, where rows are products of attributes (`assigned`).
    bits_due_to_order: Σ_j C_j (log2 num(f_j) - log2 Capt(f_j)) of a rule list. determined_rows: rows whose every
    attribute is known. smallest_region: the fewest raw rows that fit a published row; smallest_group: the fewest
    published rows in one cell. exposure (made when asked for): one line per leaf or rule; with
    `of_cells` (more than one partition) one per cell that surely holds rows. datasets: the count of datasets without
    an order of rows (None: not asked, of continuous attributes), unordered_before the bits before the release without
    it; see `recon.measures.unordered`. cells_exact: whether the least rows of every cell, on which determined_rows and
    smallest_region rest, are exact.
    """

    convention: Convention
    status: str
    rows: int | None
    entropy_bits: float | None
    uninformed_bits: float | None
    bits_removed_per_row: float | None
    dist_g: float | None
    dist_g_mentioned: float | None
    dist: float | None
    bits_due_to_order: float | None
    determined_rows: int | None
    smallest_region: int | None
    smallest_group: int | None
    exposures: Callable[[], pd.DataFrame]
    counted: CountAnswer
    assumptions: tuple[str, ...] = field(default=())
    of_cells: bool = False
    datasets: CountAnswer | None = None
    posterior: Posterior | None = None
    cells_exact: bool = True
    unordered_before: float | None = None

    @cached_property
    def exposure(self) -> pd.DataFrame:
        """Return the lines on leaves, rules or cells, most of them with figures of their own."""
        return self.exposures()

    @property
    def figures(self) -> Literal["exact", "bounds"]:
        """Return whether determined_rows (at least) and smallest_region (at most) are figures or bounds on them."""
        return "bounds" if self.status == "bounds" or not self.cells_exact else "exact"

    @property
    def entropy_bounds(self) -> tuple[float, float] | None:
        """Return the least and most bits left where worlds are only bounded (least 0: a world may be all there is).

        None where the number is exact, not defined, or of an open number of rows.
        """
        if self.status != "bounds" or self.counted.relative or self.rows is None or self.uninformed_bits is None:
            return None
        lower, upper = self.counted.bounds
        return max(0.0, lower), min(upper, self.uninformed_bits)

    @property
    def removed_bounds(self) -> tuple[float, float] | None:
        """Return the least and most bits removed per row that bounds on the bits left imply; None where none are."""
        left, before = self.entropy_bounds, self.uninformed_bits
        if left is None or before is None or not self.rows:
            return None
        return (before - left[1]) / self.rows, (before - left[0]) / self.rows

    @property
    def dist_g_bounds(self) -> tuple[float, float] | None:
        """Return the least and greatest Dist_G that bounds on the bits left imply; None where there are none."""
        left, before = self.entropy_bounds, self.uninformed_bits
        return None if left is None or not before else (left[0] / before, left[1] / before)


def empty(release: EncodedRelease, convention: Convention, answer: CountAnswer) -> Measures:
    """Return the measures of a release without a world: none."""
    rows = release.rows.low if release.rows.exact else None
    nothing = (None,) * 10
    return Measures(convention, answer.status, rows, *nothing, nowhere, answer, release.assumptions)


def nowhere() -> pd.DataFrame:
    """Return no lines at all, of a release without a world."""
    import pandas as pd

    return pd.DataFrame()


def exposure_frame(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the lines as a frame, with the share of rows that are as exposed or more."""
    import pandas as pd

    # As objects: pandas would turn None into NaN, and overflow on long integers.
    frame = pd.DataFrame(lines, columns=EXPOSURE, dtype=object)
    numeric = ("bits_left", "bits_removed", "entropy_reduction_ratio")
    frame = frame.astype(dict.fromkeys(("region", "rows", "rows_most"), np.int64) | dict.fromkeys(numeric, np.float64))
    rows, ratio = frame["rows"].to_numpy(), frame["entropy_reduction_ratio"].to_numpy()
    order = np.argsort(ratio, kind="stable")  # where no ratio is known (NaN), no row is known to be as exposed
    below = np.concatenate(([0], np.cumsum(rows[order])))
    upto = np.where(np.isnan(ratio), 0, np.searchsorted(ratio[order], ratio, side="right"))
    total = int(rows.sum())
    frame["share_of_rows_at_most"] = [n / total if total else math.nan for n in below[upto].tolist()]
    return frame
