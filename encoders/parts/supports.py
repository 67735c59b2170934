"""Published counts per region turned into the arrays of one partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import Domain
from encoders.models.nodes import CountTable, Support
from solvers.foundation.errors import ReleaseError
from solvers.statements.boxes import Boxes
from solvers.statements.release import ANY_LABEL, Partition

MAX_ROWS = 1 << 53  # sums of counts stay exact in double precision


@dataclass(frozen=True, eq=False)
class PartitionSupports:
    """The statements of one partition: region, label (ANY_LABEL: any), low and high, one entry each."""

    region: NDArray[np.int32]
    label: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]

    @classmethod
    def of(cls, published: CountTable) -> PartitionSupports:
        """Return the statements of regions 0, 1, ...: one per class where there are counts, else one."""
        region = published.owner
        label = np.where(published.by_class[region], np.arange(len(region)) - published.start[region], ANY_LABEL)
        values = published.values.astype(np.int64, copy=False)
        return cls(region.astype(np.int32), label.astype(np.int32), values, values)

    def between(self, region: int, low: int, high: int) -> PartitionSupports:
        """Return the statements and one more, for any label."""
        return PartitionSupports(
            np.append(self.region, np.int32(region)),
            np.append(self.label, np.int32(ANY_LABEL)),
            np.append(self.low, np.int64(low)),
            np.append(self.high, np.int64(high)),
        )


def partition(
    kind: str, boxes: Boxes, supports: PartitionSupports, names: Sequence[str], domain: Domain, first_match: bool
) -> Partition:
    """Return the partition block of the boxes; `kind` and the names say in words where a statement stands."""
    return Partition(
        kind,
        boxes,
        first_match,
        supports.region,
        supports.label,
        supports.low,
        supports.high,
        numbered_names(names, "region"),
        label_texts(domain),
    )


def label_texts(domain: Domain) -> tuple[str, ...]:
    """Return the values of the label as text, none without a label."""
    label = domain.label
    return () if label is None else tuple(str(label.value(i)) for i in range(label.span[1]))


def numbered_names(names: Sequence[str], word: str) -> tuple[str, ...]:
    """Return the names, a number added where one stands more than once."""
    often = Counter(names)
    if len(often) == len(names):
        return tuple(names)
    return tuple(n if often[n] == 1 else f"{n} ({word} {j})" for j, n in enumerate(names))


def check_support(support: Support, domain: Domain, place: str) -> None:
    """Refuse counts that do not fit the label, or negative ones."""
    if support.counts is not None:
        if domain.label is None:
            raise ReleaseError("counts per class need a label in the domain; use 'count' without one", place=place)
        if len(support.counts) != domain.label.span[1]:
            raise ReleaseError(
                f"{len(support.counts)} counts for {domain.label.span[1]} values of the label '{domain.label.name}'",
                place=f"{place}.counts",
            )
    published = support.counts if support.counts is not None else (support.count,)
    for count in published:
        if count is not None:
            check_count(int(count), place)


def check_count(count: int, place: str) -> None:
    """Refuse a count that is no number of rows."""
    if not 0 <= count <= MAX_ROWS:
        raise ReleaseError(f"the count {count_text(count, 3)} is not between 0 and 2^53", place=place)


def count_text(count: float, digits: int = 12) -> str:
    """Return a count in so many digits; one that no float holds, in words."""
    try:
        return f"{count:.{digits}g}"
    except OverflowError:
        return "of more than 300 digits"


def fits(published: CountTable, domain: Domain) -> bool:
    """Return True if `check_support` has nothing to refuse (quickly: forests have hundreds of thousands)."""
    widths = np.unique(published.width[published.by_class]).tolist()
    classes = [] if domain.label is None else [domain.label.span[1]]
    values = published.values
    return set(widths) <= set(classes) and (not len(values) or (values.min() >= 0 and values.max() <= MAX_ROWS))
