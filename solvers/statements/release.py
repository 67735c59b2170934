"""The intermediate representation: a release as statements about one unknown dataset.

A row is a tuple of finite attributes; an attribute is cut into *parts* that no statement tells apart inside.
A box allows some parts of some attributes; what a rule captures is a box minus boxes. Blocks are backed by
arrays, so that a forest with hundreds of thousands of statements costs no more than its numbers; a
`Statement` object is a view, made when a message or a certificate names it.

Source: Ferry et al., "Probabilistic Dataset Reconstruction from Interpretable Models", SaTML 2024 (possible
worlds, captured rows); Suciu et al., "Probabilistic Databases", 2011.

What trees on known resamples (bags) count: rows distinguished by their position in the training file.

Position i stands `times[t, i]` times in the bag of tree t. Leaf j of tree t then says, for every class k that it
counts, that the multiplicities of the positions in it with that class add up to the published count, and where
`distinct` is published, how many positions of the bag lie in the leaf. What no bag holds is free.

`Release.blocks` has the statements on unordered rows that follow (lower bounds); the bags say strictly more.

Source: Breiman, "Bagging predictors", Machine Learning 24, 1996; docs/mathematics.md, "Resampled forests".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.structures import Derived
from solvers.statements.boxes import Attribute, Box, Boxes, Region, RowSpace
from solvers.statements.gradients.boosted import Boosted

if TYPE_CHECKING:
    from solvers.statements.noise.laws import NoiseLaw

UNPUBLISHED = -1


@dataclass(frozen=True, eq=False)
class KnownValues:
    """What is known of rows by position beside the release: row i has attribute `attributes[j]` in one of some parts.

    These are `allowed[j][codes[j, i]]`: (patterns, parts) each, codes (attributes, rows). Of an attribute of which
    nothing is known of a row, all parts.
    """

    attributes: tuple[int, ...]
    codes: Ints
    allowed: tuple[Bits, ...]

    def of(self, k: int | None) -> Bits | None:
        """Return (rows, parts): which parts rows can have of attribute k by what is known; None where nothing is."""
        if k not in self.attributes:
            return None
        j = self.attributes.index(k)
        return np.asarray(self.allowed[j][self.codes[j]])

    def joined(self, other: KnownValues) -> KnownValues:
        """Return what both say."""
        attributes = tuple(dict.fromkeys((*self.attributes, *other.attributes)))
        codes, allowed = [], []
        for k in attributes:
            both = [one for one in (self.of(k), other.of(k)) if one is not None]
            distinct, number = np.unique(np.logical_and.reduce(both), axis=0, return_inverse=True)
            codes.append(number.reshape(-1))
            allowed.append(distinct)
        return KnownValues(attributes, np.array(codes, dtype=np.int64), tuple(allowed)) if attributes else NOTHING


NOTHING = KnownValues((), np.zeros((0, 0), dtype=np.int64), ())


@dataclass(frozen=True, eq=False)
class BagCounts:
    """The leaves of one tree: disjoint `boxes` that cover the row space, and what they count of its bag.

    Count s: the rows in box `region[s]` with label `label[s]` (ANY_LABEL: any) weigh `count[s]`; in box j lie
    `distinct[j]` different positions of the bag (UNPUBLISHED: not said). `names` are those of the leaves.
    """

    kind: str
    boxes: Boxes
    region: NDArray[np.int32]
    label: NDArray[np.int32]
    count: NDArray[np.int64]
    distinct: NDArray[np.int64]
    names: tuple[str, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class TreeBags:
    """Trees over one training file: `times` (trees, rows) int32, and what each tree counts.

    `blocks`: the numbers of the release's blocks that follow from the bags. `known`: of these rows beside the release.
    """

    name: str
    times: NDArray[np.int32]
    trees: tuple[BagCounts, ...]
    blocks: tuple[int, ...] = ()
    known: KnownValues = NOTHING

    @property
    def left_out(self) -> str:
        """Return what the statements on unordered rows leave out, as a line beside an answer from them."""
        return f"{self.name}: not all is used of the bags that are known (multiplicities)"

    @property
    def rows(self) -> int:
        """Return the number of positions."""
        return int(self.times.shape[1])


ANY_LABEL = -1
NO_COUNT = "no count is near enough to the published one"  # an interval around a noisy count that holds none
UNBOUNDED = int(np.iinfo(np.int64).max)


Factor = tuple[int, tuple[int, ...]]  # an attribute, and the whole number of each of its parts


@dataclass(frozen=True, slots=True)
class Summand:
    """What each row of a region adds: `times`, times the number of its part of every attribute in `factors`."""

    region: Region
    times: int = 1
    factors: tuple[Factor, ...] = ()

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Return the box of the region, then those that are taken out of it."""
        return (self.region.box, *self.region.minus)

    @property
    def mentioned(self) -> set[int]:
        """Return the attributes that the region and the factors name."""
        return {k for box in self.boxes for k, _ in box.literals} | {k for k, _ in self.factors}

    @property
    def extremes(self) -> tuple[int, int]:
        """Return the least and the greatest that a row of the region adds, by any parts of the factors' attributes."""
        low = high = self.times
        for _, coefs in self.factors:
            ends = [x * y for x in (low, high) for y in (min(coefs), max(coefs))]
            low, high = min(ends), max(ends)
        return low, high

    def weight(self, parts: Ints) -> Ints:
        """Return what rows in the region add, given by their parts (rows, attributes)."""
        out = np.full(len(parts), self.times, dtype=np.int64)
        for k, coefs in self.factors:
            out *= np.array(coefs, dtype=np.int64)[parts[:, k]]
        return out

    def of_one_factor(self) -> Iterator[Summand]:
        """Yield the same sum as summands of at most one factor, `times` within it: a region per number of the others.

        Cost: the product of the numbers of different values of all attributes but the one with the most.
        """
        if not self.factors:
            yield self
            return
        *others, (k, coefs) = sorted(self.factors, key=lambda factor: len(set(factor[1])))
        if not others:
            yield Summand(self.region, 1, ((k, tuple(self.times * c for c in coefs)),))
            return
        for weight, region in replace(self, factors=tuple(others)).counted():
            yield from Summand(region, weight, ((k, coefs),)).of_one_factor()

    def counted(self) -> Iterator[tuple[int, Region]]:
        """Yield the same sum as disjoint regions, each with what its rows add (never 0)."""
        found = [(self.times, self.region)]
        for k, coefs in self.factors:
            masks: dict[int, int] = {}
            for part, c in enumerate(coefs):
                masks[c] = masks.get(c, 0) | 1 << part
            found = [
                (weight * c, Region(region.box & Box(((k, mask),)), region.minus))
                for weight, region in found
                for c, mask in masks.items()
                if c
            ]
        yield from ((weight, region) for weight, region in found if weight and not region.box.empty)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, `low <= Σ over the rows of what the summands add <= high`, and where it comes from.

    A count is one summand that adds 1 (`region` is then its region). Regions of several summands may overlap. `low`
    -UNBOUNDED and `high` UNBOUNDED are no bounds. `coarse`: a part holds several values and its number is their least
    or greatest, so that the statement is implied by the published one but says less.
    """

    summands: tuple[Summand, ...]
    low: int
    high: int
    source: str
    coarse: bool = False

    @classmethod
    def count(cls, region: Region, low: int, high: int, source: str) -> Statement:
        """Return that low..high rows lie in a region."""
        return cls((Summand(region),), low, high, source)

    @classmethod
    def sum(
        cls, region: Region, low: int, high: int, source: str, of: int, coefs: tuple[int, ...], coarse: bool = False
    ) -> Statement:
        """Return that the numbers of the rows in a region, one per part of attribute `of`, sum to low..high."""
        return cls((Summand(region, 1, ((of, coefs),)),), low, high, source, coarse)

    @property
    def region(self) -> Region | None:
        """Return the region whose rows are counted; None where rows add anything but 1."""
        one = self.summands[0]
        return one.region if len(self.summands) == 1 and one.times == 1 and not one.factors else None

    @property
    def mentioned(self) -> set[int]:
        """Return the attributes that the statement names: in its regions, and whose values it sums."""
        return set[int]().union(*(one.mentioned for one in self.summands))

    @property
    def boxes(self) -> tuple[Box, ...]:
        """Return the boxes of all regions, those taken out of them included."""
        return tuple(box for one in self.summands for box in one.boxes)

    @property
    def largest(self) -> int:
        """Return a number that no row adds more than, or takes away more than."""
        return sum(max(map(abs, one.extremes)) for one in self.summands)

    @property
    def nonnegative(self) -> bool:
        """Return whether no summand ever takes anything away."""
        return all(one.extremes[0] >= 0 for one in self.summands)

    def within(self, box: Box) -> Statement:
        """Return the statement about the rows of a box alone."""
        here = (replace(one, region=Region(one.region.box & box, one.region.minus)) for one in self.summands)
        return replace(self, summands=tuple(here))


class Block(Protocol):
    """What every block of statements offers, be it a `Partition`, a `Choice` or `Loose` statements.

    Statements are numbered from 0 within their block; `solvers.statements.observations` numbers those of a whole
    release.
    """

    @property
    def low(self) -> NDArray[np.int64]:
        """Return the lower bound of every statement."""

    @property
    def high(self) -> NDArray[np.int64]:
        """Return the upper bound of every statement."""

    @property
    def coarse(self) -> bool:
        """Return True if some statement says less than was published."""

    def __len__(self) -> int:
        """Return the number of statements."""

    def source(self, s: int) -> str:
        """Return a human-readable source of statement s."""

    def statement(self, s: int, domain: RowSpace) -> Statement:
        """Return the view of statement s."""

    def mentioned(self, domain: RowSpace) -> set[int]:
        """Return the attributes that the block names, the label included."""

    def bounded(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Block:
        """Return the block with other bounds on its statements."""


class _ListedBlock:
    """A block whose statements are held one by one, in the order of `members`."""

    members: tuple[Statement, ...]

    @cached_property
    def low(self) -> NDArray[np.int64]:
        """Return the lower bound of every statement."""
        return np.array([s.low for s in self.members], dtype=np.int64)

    @cached_property
    def high(self) -> NDArray[np.int64]:
        """Return the upper bound of every statement."""
        return np.array([s.high for s in self.members], dtype=np.int64)

    @cached_property
    def coarse(self) -> bool:
        """Return True if some statement says less than was published."""
        return any(s.coarse for s in self.members)

    def __len__(self) -> int:
        return len(self.members)

    def source(self, s: int) -> str:
        """Return a human-readable source of statement s."""
        return self.members[s].source

    def statement(self, s: int, domain: RowSpace) -> Statement:
        """Return statement s."""
        return self.members[s]

    def mentioned(self, domain: RowSpace) -> set[int]:
        """Return the attributes that the statements name."""
        return set[int]().union(*(s.mentioned for s in self.members))

    def rebounded(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Iterator[Statement]:
        """Yield the statements with other bounds."""
        for s, a, b in zip(self.members, low.tolist(), high.tolist(), strict=True):
            yield s if (s.low, s.high) == (a, b) else replace(s, low=a, high=b)


@dataclass(frozen=True)
class Loose(_ListedBlock):
    """Statements that each hold by themselves: what a table or a rule set counts or sums."""

    members: tuple[Statement, ...]

    def __iter__(self) -> Iterator[Statement]:
        return iter(self.members)

    def bounded(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Loose:
        """Return the statements with other bounds."""
        return Loose(tuple(self.rebounded(low, high)))


@dataclass(frozen=True)
class Choice(_ListedBlock):
    """Exactly one of the alternatives holds, each a conjunction of statements; no dataset fits two of them.

    The median of an even number of rows is such a choice, over its two middle values. `name` says where it comes from.
    """

    alternatives: tuple[tuple[Statement, ...], ...]
    name: str
    members: tuple[Statement, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """List the statements of the alternatives, one alternative after the other."""
        object.__setattr__(self, "members", tuple(s for alternative in self.alternatives for s in alternative))

    def bounded(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Choice:
        """Return the choice with other bounds on the statements of its alternatives."""
        found = self.rebounded(low, high)
        return Choice(tuple(tuple(islice(found, len(a))) for a in self.alternatives), self.name)


@dataclass(frozen=True, eq=False)
class BootstrapCounts:
    """What a tree on a bag that nobody knows counted, where a partition has what follows for the rows.

    The draws (with replacement, or without: then as many as different rows) of statement s are `count[s]`; in region
    j are `distinct[j]` different rows of the bag (-1: not said). It makes some worlds likelier than others, none
    impossible beyond the statements.
    """

    count: NDArray[np.int64]
    distinct: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Regions that are disjoint and cover the row space, with counts, as arrays.

    Region j is box j (`first_match` False, the boxes are disjoint), or box j minus the boxes before it
    (`first_match` True, a rule list). Statement s says: between `low[s]` and `high[s]` rows lie in region
    `region[s]` and have label index `label[s]` (ANY_LABEL: any). Every region has either one statement for
    any label or one per label, so the statements are disjoint cells that cover the row space too. `draws`: what the
    statements follow from, where a tree counted a bag that nobody knows.
    """

    kind: str
    boxes: Boxes
    first_match: bool
    region: NDArray[np.int32]
    label: NDArray[np.int32]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    names: tuple[str, ...]
    labels: tuple[str, ...] = ()
    draws: BootstrapCounts | None = None

    def __len__(self) -> int:
        return len(self.region)

    @cached_property
    def by_region(self) -> dict[int, list[int]]:
        """Return region -> its statements."""
        found: dict[int, list[int]] = {}
        for s, j in enumerate(self.region.tolist()):
            found.setdefault(j, []).append(s)
        return found

    @property
    def coarse(self) -> bool:
        """Return False: counts say all that was published."""
        return False

    @cached_property
    def open_counts(self) -> int:
        """Return how many counts are not exact."""
        return int((self.low != self.high).sum())

    def by_label(self, labels: int) -> NDArray[np.int64]:
        """Return (regions, labels): the statement that counts the rows of a region with a label."""
        out = np.zeros((len(self.boxes), labels), dtype=np.int64)
        for label in range(labels):
            at = np.flatnonzero((self.label == label) | (self.label == ANY_LABEL))
            out[self.region[at], label] = at
        return out

    def source(self, s: int) -> str:
        """Return a human-readable source of statement s."""
        name = f"{self.kind}, {self.names[int(self.region[s])]}"
        label = int(self.label[s])
        return name if label == ANY_LABEL else f"{name}, class {self.labels[label]}"

    def region_of(self, j: int) -> Region:
        """Return region j, label not included."""
        return Region(self.boxes[j], tuple(self.boxes[h] for h in range(j)) if self.first_match else ())

    def statement(self, s: int, domain: RowSpace) -> Statement:
        """Return the view of statement s, its label folded into the box."""
        region = self.region_of(int(self.region[s]))
        if int(self.label[s]) != ANY_LABEL and domain.label is not None:
            at = Box(((domain.label, 1 << int(self.label[s])),))
            region = Region(region.box & at, region.minus)
        return Statement.count(region, int(self.low[s]), int(self.high[s]), self.source(s))

    def mentioned(self, domain: RowSpace) -> set[int]:
        """Return the attributes that the regions name, and the label where classes are counted."""
        seen = set(np.unique(self.boxes.attribute).tolist())
        if domain.label is not None and bool((self.label != ANY_LABEL).any()):
            seen.add(domain.label)
        return seen

    def bounded(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> Partition:
        """Return the partition with other bounds on its counts."""
        return replace(self, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Observed:
    """The noisy figures behind a block: the law of the noise, and per statement what was published (None: no noise)."""

    law: NoiseLaw
    published: tuple[Fraction | None, ...]


@dataclass(frozen=True, slots=True)
class RowCount:
    """The number of rows: exact (`low == high`), an interval, or unbounded above (`high` None)."""

    low: int = 0
    high: int | None = None

    @property
    def exact(self) -> bool:
        """Return whether the number of rows is known."""
        return self.low == self.high


@dataclass(frozen=True, eq=False)
class Release:
    """Everything that was released: domain, number of rows, blocks of statements, impossible boxes.

    `observed` has one entry per block where counts carry noise, () elsewhere. The bounds of noisy statements are joint
    intervals at `confidence` (over the noise, with the data fixed; 1: what bounded noise makes certain, None: nothing
    is noisy). `rows` are those that these intervals leave, `certain_rows` what is known of them whatever the noise
    (None: nothing but `rows`): whoever leaves the intervals must leave their rows too. `loosened` says what was
    published and is not in the statements: the worlds that they leave are the true ones and others.
    `bags`: what trees on known resamples count, by position of the training file; `blocks` has what follows from them
    for unordered rows, which is less (`unstated`).
    `boosted`: what trees of boosted models publish beside counts; blocks have their counts. `settled`: what the last
    block was proved from, where it is not published. `relations`: how the data sets of the rows are related, in words
    (where they are several); statements that clash do so under these.
    `derived` keeps what was worked out about it (cells, systems) as long as the release itself lives, no longer: it is
    not a field that `dataclasses.replace` carries along, so that no release ever answers from another one's cells.
    """

    domain: RowSpace
    rows: RowCount
    blocks: tuple[Block, ...]
    impossible: tuple[Box, ...] = ()
    assumptions: tuple[str, ...] = ()
    observed: tuple[Observed | None, ...] = ()
    confidence: Fraction | None = None
    loosened: tuple[str, ...] = ()
    certain_rows: RowCount | None = None
    bags: tuple[TreeBags, ...] = ()
    boosted: tuple[Boosted, ...] = ()
    settled: AddedBlocks | None = None
    relations: tuple[str, ...] = ()
    derived: Derived = field(init=False, default_factory=Derived, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make blocks of plain tuples of statements."""
        blocks = (Loose(block) if isinstance(block, tuple) else block for block in self.blocks)
        object.__setattr__(self, "blocks", tuple(blocks))

    @cached_property
    def partitions(self) -> dict[int, Partition]:
        """Return the partitions, by the number of their block."""
        return {b: block for b, block in enumerate(self.blocks) if isinstance(block, Partition)}

    @cached_property
    def choices(self) -> dict[int, Choice]:
        """Return the choices, by the number of their block."""
        return {b: block for b, block in enumerate(self.blocks) if isinstance(block, Choice)}

    @cached_property
    def loose(self) -> dict[int, Loose]:
        """Return the blocks of loose statements, by the number of their block."""
        return {b: block for b, block in enumerate(self.blocks) if isinstance(block, Loose)}

    @property
    def single(self) -> Partition | None:
        """Return the only block, None unless it is a partition."""
        return self.partitions.get(0) if len(self.blocks) == 1 else None

    @property
    def coarse(self) -> bool:
        """Return True if some statement says less than was published, so that what meets them may be no world."""
        return any(block.coarse for block in self.blocks)

    @property
    def unstated(self) -> tuple[str, ...]:
        """Return what was published and is not in `blocks`: `loosened`, bags and leaf values, which few engines use."""
        return (*self.loosened, *(x.left_out for x in self.boosted), *(bags.left_out for bags in self.bags))

    def statements(self) -> Iterator[Statement]:
        """Yield every statement as a view, block by block."""
        return (block.statement(s, self.domain) for block in self.blocks for s in range(len(block)))

    def mentioned(self) -> frozenset[int]:
        """Return the attributes that a block or an impossible box names, label statements included."""
        return frozenset(k for box in self.impossible for k, _ in box.literals).union(
            *(block.mentioned(self.domain) for block in self.blocks)
        )


@dataclass(frozen=True, eq=False)
class AddedBlocks:
    """A release before its last blocks were added, and the proof of these from boosted model number `model`.

    `steps` are those of `solvers.kernel.claims.LeafValues`, made when they are asked for. `surplus`
    is how many figures were left over to check the model's assumptions with, `worst` the part of its interval that the
    farthest of them used (at most 1). `note`: what would have been tried as well, and why it was not ("": nothing).
    """

    before: Release
    model: int
    steps: Sequence[Any] = field(repr=False)
    surplus: int
    worst: float
    note: str = ""


@dataclass(frozen=True, eq=False)
class RowWorld:
    """One possible world: rows and how often each occurs (a row may be listed more than once).

    `values` is (k, attributes), the raw value index of every attribute (0..total-1, parts in order); int64, or
    object where an attribute has more than 2^62 values. `times` is (k,) int64 with Σ times = rows. `unique` says
    whether no other world exists (None: not known), `note` how the world was found or what else is known, `figures`
    the same as named numbers where there are some.
    """

    values: NDArray[Any]
    times: NDArray[np.int64]
    unique: bool | None = None
    note: str = field(default="")
    figures: Mapping[str, Any] = field(default_factory=dict)


__all__ = [
    "ANY_LABEL",
    "NO_COUNT",
    "UNBOUNDED",
    "AddedBlocks",
    "Attribute",
    "Block",
    "BootstrapCounts",
    "Box",
    "Boxes",
    "Choice",
    "Loose",
    "Observed",
    "Partition",
    "Region",
    "Release",
    "RowCount",
    "RowSpace",
    "RowWorld",
    "Statement",
    "Summand",
]
