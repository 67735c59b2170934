"""All histograms of a system as branches without any freedom, where CP-SAT can list them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import Presolve
from solvers.cells.linear_system import Propagated
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import EngineError, Unsupported
from solvers.foundation.limits import Limits
from solvers.histograms.branches import HistogramBranch
from solvers.programs.cell_model import CellModel

MAX_LISTED = 2_000
MAX_FREE = 400  # free cells; with more, histograms are listed only for releases with alternatives
MAX_ROWS = 60  # rows; below, sums of values are listed row by row


def listed(system: CellSystem, limits: Limits) -> tuple[HistogramBranch, ...] | str:
    """Return one branch per histogram, () where there is none, or why they are too many to list.

    Raises `Inconclusive` when its share of the time is up.
    """
    if not system.choices and len(system.free) > MAX_FREE:
        return f"{len(system.free):,} free cells are too many to list histograms"
    own = limits.stage("listed histograms")
    found: dict[bytes, Ints] = {}
    try:
        for z in histograms(system, own):
            found.setdefault(z.tobytes(), z)
            if len(found) > MAX_LISTED:
                return f"more than {MAX_LISTED:,} histograms"
    except Unsupported as error:
        return str(error)
    nothing = Presolve(len(system.sizes), len(system.sizes), len(system.linear), 0, ())
    kept = 0 if system.release.rows.exact else 1
    return tuple(
        HistogramBranch(Propagated(z, z), (), np.array([[z.sum()] * kept], dtype=np.int64), nothing)
        for z in found.values()
    )


def histograms(system: CellSystem, limits: Limits) -> Iterator[Ints]:
    """Yield every histogram; row by row for few rows under sums of values, else over cells."""
    summed = any(system.linear.coef != 1)
    if summed and system.release.rows.exact and system.release.rows.low <= MAX_ROWS:
        from solvers.programs.row_model import RowModel

        for rows in RowModel(system.release, limits).every():
            yield histogram_of(system, rows)
    else:
        yield from CellModel(system, limits).every(limits)


def histogram_of(system: CellSystem, rows: NDArray[np.int64]) -> Ints:
    """Return the histogram of rows given by their parts (-1: an attribute that no statement names)."""
    z = np.zeros(len(system.sizes), dtype=np.int64)
    layout = system.layout
    for row in rows:
        inside = np.ones(len(system.words), dtype=bool)
        for k, part in enumerate(row.tolist()):
            if part >= 0:
                word = system.words[:, layout.at[k] + part // 64]
                inside &= (word >> np.uint64(part % 64) & np.uint64(1)).astype(bool)
        z[system.cell[np.flatnonzero(inside)[:1]]] += 1
    if not system.satisfied(z):
        raise EngineError("CP-SAT gave rows that break a statement")
    return z
