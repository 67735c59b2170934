"""What a release leaves, in the few figures by which releases are compared: before, alone, and all together.

Datasets are counted without an order of rows (convention `multiset`), so that one tree and a tree joined with another
are counted alike. Source: docs/mathematics.md, "Possible worlds and their conventions".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.bounds.disclosure import tells
from recon.loading.settled import as_released, settled_release
from recon.measures.figures import Measures
from recon.measures.measures import measure
from recon.measures.unordered import bits_left
from solvers.figures.system import SystemFigures
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import UNBOUNDED

Interval = tuple[float, float | None]  # least and most; most None: no upper bound is known
Counts = tuple[int, int | None]


@dataclass(frozen=True)
class Left:
    """What some releases leave, least and most; None where a figure is not known or does not apply.

    log2_datasets: of the number of datasets without an order. bits_left_per_person: on average. pinned: people whose
    every attribute is known in every possible world. least_bits_left: bits left of the most exposed person, given the
    group (leaf and class, cell) that she is in. smallest_group: rows of the smallest published group that is not empty.
    status: exact, bounds, unsat (no dataset fits), empty (none at this confidence) or unknown, `note` says why;
    `conflict` are the statements that clash. `measures` is what they are taken from.
    """

    status: str
    log2_datasets: Interval | None = None
    bits_left_per_person: Interval | None = None
    pinned: Counts | None = None
    least_bits_left: Interval | None = None
    smallest_group: Counts | None = None
    note: str = ""
    conflict: tuple[str, ...] = ()
    measures: Measures | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON, intervals as [least, most]."""
        names = ("log2_datasets", "bits_left_per_person", "pinned", "least_bits_left", "smallest_group")
        given = {name: getattr(self, name) for name in names}
        found = {name: None if ends is None else list(ends) for name, ends in given.items()}
        return {**found, "status": self.status, "note": self.note}


def left_by(release: EncodedRelease, limits: Limits, measures: Measures | None = None) -> Left:
    """Return what a release leaves; measures already at hand (of any convention) may be given.

    A limit that is met, and a release whose datasets cannot be counted, make the status "unknown" with the reason.
    Cost: that of `measure`.
    """
    try:
        release = settled_release(release, limits)
        found = measures or measure(release, "multiset", limits)
        if found.status == "unsat":
            note = "no dataset fits: the statements contradict each other"
            return Left("unsat", note=note, conflict=found.counted.conflict, measures=found)
        return figures_of(release, found, limits)
    except EmptyConfidenceSet as error:
        return Left("empty", note=str(error), conflict=error.clashing)
    except (Inconclusive, Unsupported) as error:
        return Left("unknown", smallest_group=smallest_group(release), note=str(error))


def figures_of(release: EncodedRelease, found: Measures, limits: Limits) -> Left:
    """Return the figures that measures give, whatever their convention."""
    people, bits = found.rows, bits_left(found)
    system = (
        SystemFigures.of(release.statements, limits) if found.of_cells and found.determined_rows is not None else None
    )
    logs = None if found.datasets is None or found.datasets.relative else log_ends(found, bits)
    each = (bits[0] / people, bits[1] / people) if bits is not None and people and math.isfinite(bits[1]) else None
    return Left(
        found.status if found.datasets is None else found.datasets.status,
        logs,
        each,
        pinned(release, found, system),
        least_bits(release, found, system),
        smallest_group(release),
        measures=found,
    )


def log_ends(found: Measures, bits: tuple[float, float] | None) -> Interval | None:
    """Return log2 of the number of datasets, least and most; a dataset exists, so that the least is 0."""
    assert found.datasets is not None
    low, high = found.datasets.bounds
    if found.rows is not None and bits is not None:
        high = min(high, bits[1])
    return max(0.0, low), (max(0.0, high) if math.isfinite(high) else None)


def pinned(release: EncodedRelease, found: Measures, system: SystemFigures | None) -> Counts | None:
    """Return how many people have every attribute known, least and most; None where regions have no size.

    They lie in cells of one raw row, so that no more of them are pinned down than such cells can hold.
    """
    if found.determined_rows is None:
        return None
    if found.cells_exact if found.of_cells else found.figures == "exact":
        return found.determined_rows, found.determined_rows
    if system is None:
        return found.determined_rows, release.rows.high
    held = sum(upper for size, upper in zip(system.sizes, system.upper.tolist(), strict=True) if size == 1)
    most = held if release.rows.high is None else min(held, release.rows.high)
    return found.determined_rows, max(found.determined_rows, most)


def least_bits(release: EncodedRelease, found: Measures, system: SystemFigures | None) -> Interval | None:
    """Return the bits left of the most exposed person: of groups that surely hold rows at most, of others at least."""
    lines = found.exposure
    if release.cut.unsized or (not len(lines) and system is None):
        return None
    bits, rows, most = (lines[name].to_numpy(dtype=np.float64) for name in ("bits_left", "rows", "rows_most"))
    if not np.isfinite(bits[most > 0]).all():
        return None
    high = min(bits[rows > 0].tolist(), default=None)
    if system is None:
        low = min(bits[most > 0].tolist(), default=None)
        return None if low is None else (low, high)
    # Cells that may hold rows, or not, are no lines of the exposure.
    live = [size for size, upper in zip(system.sizes, system.upper.tolist(), strict=True) if upper > 0 and size > 0]
    lowest = math.log2(min(live)) if live and high != 0.0 else 0.0
    return (lowest if high is None else min(lowest, high)), high


def smallest_group(release: EncodedRelease) -> Counts | None:
    """Return the rows of the smallest published group that is not empty (leaf, rule, table cell), least and most.

    Groups of trees on unknown resamples are left out where their counts leave the number of training rows open.
    """
    statements = as_released(release).statements
    everybody = release.rows.high
    groups: list[tuple[int, int]] = []
    for block in statements.partitions.values():
        if tells(block) or release.noisy:
            members = block.by_region.values()
            groups += [(int(block.low[s].sum()), int(min(sum(block.high[s].tolist()), UNBOUNDED))) for s in members]
    for loose in statements.loose.values():
        groups += [(s.low, s.high) for s in loose if s.of is None]
    filled = [(max(1, low), high) for low, high in groups if high > 0]
    if not filled:
        return None
    most = min((high for low, high in groups if low > 0), default=UNBOUNDED)
    high = most if everybody is None else min(most, everybody)
    return min(low for low, _ in filled), None if high >= UNBOUNDED else high
