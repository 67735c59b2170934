"""What every kind of model has to offer: its conditions, its statements, its number of rows.

Which positions pass the conditions of a release: one by one, and those of trees by the table they stand in.

A threshold on a continuous attribute, the test that forests have by the hundred thousand, stays a float until its
attribute is cut; any other test becomes ranges of positions at once.

A declared domain cut into parts where the released conditions need it: conditions become boxes.

Published counts per region turned into the arrays of one partition.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from encoders.domain.domain import AttributeCuts, Condition, Domain, Thresholds
from encoders.domain.values import Continuous, Position, Ranges, Test, exact
from encoders.models.nodes import CountTable, Nodes, Support
from solvers.foundation.errors import ReleaseError
from solvers.foundation.structures import Derived
from solvers.statements.boxes import Attribute, Box, Boxes
from solvers.statements.boxes import RowSpace as SolverDomain
from solvers.statements.gradients.boosted import Boosted
from solvers.statements.release import ANY_LABEL, Block, Observed, Partition, RowCount, TreeBags

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
    """Refuse a count that is not a number of rows."""
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


Resolved = dict[int, Ranges]  # attribute -> the positions that pass


@dataclass(frozen=True)
class CutDomain:
    """A declared domain cut into parts: conditions become boxes.

    `single`: every condition is a test on 32-bit numbers, so that thresholds can be said shorter than they are written.
    """

    domain: Domain
    cuts: tuple[AttributeCuts, ...]
    single: bool = field(default=False, compare=False)
    derived: Derived = field(init=False, default_factory=Derived, repr=False, compare=False)

    @cached_property
    def solver(self) -> SolverDomain:
        """Return the row space as the engines see it."""
        return SolverDomain(
            tuple(Attribute(c.attribute.name, c.sizes) for c in self.cuts),
            label=None if self.domain.label is None else len(self.cuts) - 1,
            relative=bool(self.domain.continuous),
        )

    @property
    def unsized(self) -> tuple[str, ...]:
        """Return the attributes that are distinguished and have no end: no region has a share of the row space.

        Their parts weigh alike in `sizes`, so that no figure that depends on sizes may be given.
        """
        return tuple(c.attribute.name for c in self.cuts if c.unsized)

    def box(self, resolved: Resolved) -> Box:
        """Return the box of resolved conditions; attributes that allow everything are left out."""
        pairs = ((k, self.cuts[k].mask(ranges)) for k, ranges in resolved.items())
        return Box.of((k, m) for k, m in pairs if m != (1 << len(self.cuts[k].sizes)) - 1)


WRITTEN = 1 << 53  # whole numbers up to here are floats


@dataclass(frozen=True, eq=False)
class SplitTable:
    """The conditions of trees by their numbers: each tests one `attribute` (-1: not resolved).

    Where `threshold` is a number, what lies below it passes (`below`) or what lies above; else the `ranges`.
    """

    conditions: tuple[Condition, ...]
    attribute: NDArray[np.int32]
    threshold: Thresholds
    below: NDArray[np.bool_]
    ranges: dict[int, Ranges] = field(default_factory=dict)

    @classmethod
    def of(cls, conditions: tuple[Condition, ...]) -> SplitTable:
        """Return a table in which nothing is resolved."""
        n = len(conditions)
        nowhere = np.full(n, complex(math.nan, 0))
        return cls(conditions, np.full(n, -1, dtype=np.int32), nowhere, np.zeros(n, dtype=bool))

    def resolve(self, nodes: Nodes, domain: Domain, place: str) -> None:
        """Resolve what the nodes test; `ReleaseError` naming the node for what the domain does not have."""
        written = _written_ends(domain)
        codes: list[int] = []
        found: list[Threshold] = []
        for code, i in nodes.first_nodes():
            if self.attribute[code] >= 0:
                continue
            condition = nodes.conditions[code]
            ends = written.get(condition[0][0]) if len(condition) == 1 else None
            threshold = None if ends is None else _threshold_of(ends, condition[0][1])
            if threshold is not None:
                codes.append(code)
                found.append(threshold)
                continue
            ((k, self.ranges[code]),) = domain.resolve(condition, f"{place}.nodes[{i}].if").items()
            self.attribute[code] = k
        if codes:
            attributes, thresholds, below = zip(*found, strict=True)
            self.attribute[codes], self.threshold[codes], self.below[codes] = attributes, thresholds, below

    def runs(
        self, codes: NDArray[np.int64], cuts: tuple[AttributeCuts, ...]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return (codes, 2), the first part that passes each test and the one behind the last, and which are runs."""
        out = np.zeros((len(codes), 2), dtype=np.int64)
        written = ~np.isnan(self.threshold[codes].real)
        single = written.copy()
        for at in np.flatnonzero(~written).tolist():
            ranges = self.ranges[int(codes[at])]
            if len(ranges) == 1:
                out[at], single[at] = cuts[int(self.attribute[codes[at]])].run(ranges[0]), True
        for k in np.unique(self.attribute[codes[written]]).tolist():
            own = np.flatnonzero(written & (self.attribute[codes] == k))
            part, below = cuts[k].starting_at(self.threshold[codes[own]]), self.below[codes[own]]
            out[own, 0] = np.where(below, 0, part)
            out[own, 1] = np.where(below, part, len(cuts[k].inner) + 1)
        return out, single

    def masks(self, codes: NDArray[np.int64], cuts: tuple[AttributeCuts, ...]) -> list[int]:
        """Return the parts that pass each test as bits."""
        ends, single = self.runs(codes, cuts)
        return [
            (1 << end) - (1 << start) if run else cuts[int(self.attribute[code])].mask(self.ranges[code])
            for code, (start, end), run in zip(codes.tolist(), ends.tolist(), single.tolist(), strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Resolutions(Mapping[Condition, Resolved]):
    """What was resolved: positions by condition, and a table per list of conditions that trees share."""

    conditions: dict[Condition, Resolved] = field(default_factory=dict)
    tables: dict[int, SplitTable] = field(default_factory=dict)

    def __getitem__(self, condition: Condition) -> Resolved:
        return self.conditions[condition]

    def __iter__(self) -> Iterator[Condition]:
        return iter(self.conditions)

    def __len__(self) -> int:
        return len(self.conditions)

    def add(self, conditions: Iterable[tuple[Condition, str]], domain: Domain) -> None:
        """Resolve conditions that are not known yet; `ReleaseError` naming the place they stand at."""
        for condition, place in conditions:
            if condition not in self.conditions:
                self.conditions[condition] = domain.resolve(condition, place)

    def add_nodes(self, nodes: Nodes, domain: Domain, place: str) -> None:
        """Resolve what the nodes of a tree test; `ReleaseError` naming the node."""
        key = id(nodes.conditions)
        if key not in self.tables:  # which keeps the conditions, so that no others ever get this id
            self.tables[key] = SplitTable.of(nodes.conditions)
        self.tables[key].resolve(nodes, domain, place)

    def table(self, nodes: Nodes) -> SplitTable:
        """Return the table of the conditions of a tree that was added."""
        return self.tables[id(nodes.conditions)]

    def cut(self, domain: Domain, positions: dict[int, set[Position]]) -> tuple[AttributeCuts, ...]:
        """Return every attribute of the domain cut where the conditions need it, and at the given positions."""
        thresholds: dict[int, list[Thresholds]] = {}
        for one in self.conditions.values():
            domain.cut_points(one, positions)
        for table in self.tables.values():
            for code, ranges in table.ranges.items():
                domain.cut_points({int(table.attribute[code]): ranges}, positions)
            written = ~np.isnan(table.threshold.real)
            for k in np.unique(table.attribute[written]).tolist():
                thresholds.setdefault(k, []).append(table.threshold[written & (table.attribute == k)])
        return tuple(
            AttributeCuts.at(a, positions.get(k, set()), np.concatenate(thresholds[k]) if k in thresholds else None)
            for k, a in enumerate(domain.all)
        )


Threshold = tuple[int, complex, bool]  # attribute, threshold, True where what lies below passes


def _written_ends(domain: Domain) -> dict[str, tuple[int, float, float]]:
    """Return the number and ends of the attributes whose thresholds may stay floats: continuous, never missing.

    Only those whose ends are floats as they are written, so that floats compare with them as the numbers do.
    """
    found = {}
    for name, k in domain.place.items():
        attribute = domain.all[k]
        if not isinstance(attribute, Continuous) or attribute.missing:
            continue
        low, high = (x if isinstance(x, float) else _as_float(x) for x, _ in attribute.span)
        if low is not None and high is not None:
            found[name] = (k, low, high)
    return found


def _as_float(x: Fraction) -> float | None:
    """Return the float that is written as this number, None where there is none."""
    try:
        return float(x) if exact(float(x)) == x else None
    except OverflowError:
        return None


def _threshold_of(ends: tuple[int, float, float], test: Test) -> Threshold | None:
    """Return a test for what lies on one side of a number within the ends; None for any other test."""
    k, low, high = ends
    if test.values is not None or test.missing or (test.low is None) == (test.high is None):
        return None
    x = test.high if test.low is None else test.low
    if not (isinstance(x, float) or (isinstance(x, int) and abs(x) <= WRITTEN)):
        return None
    if not low <= x <= high or math.isinf(x):
        return None
    if test.low is None:
        return k, complex(x, not test.high_open), True
    return k, complex(x, test.low_open), False


M = TypeVar("M")


def weighed_cuts(
    domain: Domain,
    resolved: Resolutions,
    positions: dict[int, set[Position]],
    weights: Mapping[int, Mapping[int, int]],
) -> tuple[AttributeCuts, ...]:
    """Return the attributes cut where conditions and an adversary's weights need it, the parts with their weights.

    `weights`: by attribute and position, -1 for every other value.
    """
    for k, by_position in weights.items():
        positions.setdefault(k, set()).update(end for at in by_position for end in (at, at + 1))
    return tuple(c.weighted(weights.get(k)) for k, c in enumerate(resolved.cut(domain, positions)))


class Encoder(ABC, Generic[M]):
    """What each kind of model must tell: its conditions (to cut the domain) and its block."""

    @abstractmethod
    def check(self, model: M, domain: Domain, place: str) -> None:
        """Refuse a malformed model with `ReleaseError`, naming the place."""

    def conditions(self, model: M, place: str) -> Iterable[tuple[Condition, str]]:
        """Return every condition, at least once, with a place it stands at (of kinds without trees)."""
        return ()

    def resolve(self, model: M, domain: Domain, place: str, into: Resolutions) -> None:
        """Add the positions of every condition; `ReleaseError` naming the place for what the domain does not have."""
        into.add(self.conditions(model, place), domain)

    @abstractmethod
    def blocks(self, model: M, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str) -> tuple[Block, ...]:
        """Return the statements; `resolved` has the positions of every condition, `rows` what is known of them."""

    @abstractmethod
    def total(self, model: M) -> int | None:
        """Return the number of rows the model itself publishes, None where it leaves it open."""

    def observed(
        self, model: M, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> list[tuple[Block, Observed | None]]:
        """Return the blocks, each with the noisy figures behind it (None: exact)."""
        return [(block, None) for block in self.blocks(model, cut, resolved, rows, place)]

    def bags(self, model: M, blocks: Sequence[Block], first: int, cut: CutDomain) -> tuple[TreeBags, ...]:
        """Return what trees on known resamples count; `blocks` are the model's own, numbered from `first`."""
        return ()

    def boosted(self, model: M, blocks: Sequence[Block], first: int) -> tuple[Boosted, ...]:
        """Return what leaf values say beside counts; `blocks` are the model's own, numbered from `first`."""
        return ()

    def least(self, model: M) -> int:
        """Return how many rows there are at least, by the model alone."""
        return self.total(model) or 0

    def further_cuts(self, model: M, domain: Domain) -> Mapping[int, set[Position]]:
        """Return positions per attribute where it is cut beyond the conditions (statistics of its values)."""
        return {}

    def assumes(self, model: M) -> tuple[str, ...]:
        """Return what every answer assumes about a model of this kind."""
        return ()

    def evidence(self, model: M, minimum: int) -> str:
        """Return why there are that many rows (`total`, `least`), as a clause that follows "but"."""
        return f"the counts sum to {minimum}"

    def loosens(self, model: M) -> tuple[str, ...]:
        """Return what the statements leave out of what the model publishes, so that more worlds meet them than it."""
        return ()
