"""What a release leaves, in the few figures by which releases are compared: before, alone, and all together.

Datasets are counted without an order of rows (convention `multiset`), so that one tree and a tree joined with another
are counted alike. Source: docs/mathematics.md, "Possible worlds and their conventions".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from encoders.encode.encoder import EncodedRelease
from recon.queries.bounds.disclosure import tells
from recon.queries.measures.attribute_bits import Counts, Interval, least_bits, pinned, system_of
from recon.queries.measures.figures import Measures, bits_left
from recon.queries.measures.measures import measure
from recon.readers.loading.settled import as_released, strengthened_release
from solvers.foundation.errors import EmptyConfidenceSet, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import UNBOUNDED

LONGEST = 500_000  # bits of numbers of data sets that are compared to the last


@dataclass(frozen=True)
class RemainingUncertainty:
    """What some releases leave, least and most; None where a figure is not known or does not apply.

    log2_datasets: of the number of datasets without an order. bits_left_per_person: on average. pinned: people whose
    every attribute is known in every possible world. least_bits_left: bits left of the most exposed person, given the
    group (leaf and class, cell) of that person. smallest_group: rows of the smallest published group that is not empty.
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

    def as_many_as(self, other: RemainingUncertainty) -> bool:
        """Return whether as many data sets are left, to the last: not decided (False) where that takes long to say."""
        counts = [one.measures.datasets for one in (self, other) if one.measures is not None]
        if len(counts) < 2 or any(c is None or c.log2 is None or c.log2 > LONGEST for c in counts):
            return False
        first, second = (c.value for c in counts if c is not None)
        return first is not None and first == second

    def to_json(self) -> dict[str, Any]:
        """Return the figures as JSON, intervals as [least, most]."""
        names = ("log2_datasets", "bits_left_per_person", "pinned", "least_bits_left", "smallest_group")
        given = {name: getattr(self, name) for name in names}
        found = {name: None if ends is None else list(ends) for name, ends in given.items()}
        return {**found, "status": self.status, "note": self.note}


def left_by(release: EncodedRelease, limits: Limits, measures: Measures | None = None) -> RemainingUncertainty:
    """Return what a release leaves; measures already at hand (of any convention) may be given.

    A limit that is met, and a release whose datasets cannot be counted, make the status "unknown" with the reason.
    Cost: that of `measure`.
    """
    try:
        release = strengthened_release(release, limits)
        found = measures or measure(release, "multiset", limits)
        if found.status == "unsat":
            note = "no dataset fits: the statements contradict each other"
            return RemainingUncertainty("unsat", note=note, conflict=found.counted.conflict, measures=found)
        return _figures_of(release, found, limits)
    except EmptyConfidenceSet as error:
        return RemainingUncertainty("empty", note=str(error), conflict=error.clashing)
    except (Inconclusive, Unsupported) as error:
        return RemainingUncertainty("unknown", smallest_group=smallest_group(release), note=str(error))


def _figures_of(release: EncodedRelease, found: Measures, limits: Limits) -> RemainingUncertainty:
    """Return the figures that measures give, whatever their convention."""
    people, bits = found.rows, bits_left(found)
    system = system_of(release, found, limits)
    logs = None if found.datasets is None else _log_ends(found, bits)
    each = (bits[0] / people, bits[1] / people) if bits is not None and people and math.isfinite(bits[1]) else None
    return RemainingUncertainty(
        found.status if found.datasets is None else found.datasets.status,
        logs,
        each,
        pinned(release, found, system),
        least_bits(release, found, system),
        smallest_group(release),
        measures=found,
    )


def mutual_bounds(
    alone: RemainingUncertainty, before: RemainingUncertainty, after: RemainingUncertainty
) -> tuple[RemainingUncertainty, RemainingUncertainty, RemainingUncertainty]:
    """Return figures of two parts and of all together, each bounded by the others.

    What fits all of them fits each part, so that all together leave no more data sets and pin down no fewer people than
    a part does, and a group of a part is one that they cut further.
    """
    if after.status not in ("exact", "bounds"):
        return alone, before, after
    parts = [one for one in (alone, before) if one.status in ("exact", "bounds")]
    found: dict[str, Any] = {}
    for name in ("log2_datasets", "bits_left_per_person", "least_bits_left"):
        highs = [ends[1] for one in (*parts, after) if (ends := getattr(one, name)) is not None and ends[1] is not None]
        ends = getattr(after, name)
        if ends is not None and highs:
            found[name] = min(ends[0], *highs), min(highs)
    pins = [one.pinned[0] for one in (*parts, after) if one.pinned is not None]
    if after.pinned is not None:
        low, high = max(pins), after.pinned[1]
        found["pinned"] = low, high if high is None else max(low, high)
    after = replace(after, **found)
    return _raised(alone, after), _raised(before, after), after


def _raised(part: RemainingUncertainty, whole: RemainingUncertainty) -> RemainingUncertainty:
    """Return the figures of a part, whose data sets are at least those that fit all."""
    found: dict[str, Any] = {}
    for name in ("log2_datasets", "bits_left_per_person"):
        ends, least = getattr(part, name), getattr(whole, name)
        if part.status == "bounds" and ends is not None and least is not None:
            found[name] = max(ends[0], least[0]), ends[1]
    return replace(part, **found)


def _log_ends(found: Measures, bits: tuple[float, float] | None) -> Interval | None:
    """Return log2 of the number of datasets, least and most; a dataset exists, so that the least is 0."""
    assert found.datasets is not None
    low, high = found.datasets.bounds
    if found.rows is not None and bits is not None:
        high = min(high, bits[1])
    return max(0.0, low), (max(0.0, high) if math.isfinite(high) else None)


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
        groups += [(s.low, s.high) for s in loose if s.region is not None]
    filled = [(max(1, low), high) for low, high in groups if high > 0]
    if not filled:
        return None
    most = min((high for low, high in groups if low > 0), default=UNBOUNDED)
    high = most if everybody is None else min(most, everybody)
    return min(low for low, _ in filled), None if high >= UNBOUNDED else high
