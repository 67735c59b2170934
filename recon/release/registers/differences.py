"""Small groups that only several releases together single out: differencing, secondary disclosure.

A release that counts a group and another that counts a part of it also count the rest. What is looked at are the cells
of the joined release: its groups cut by each other, as finely as the releases cut them.
Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (secondary suppression, linked tables).

The groups that a joined release publishes as sets of its cells, and those that follow by subtracting some of others.

Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (differencing, secondary suppression).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.encode.encoder import EncodedRelease
from encoders.kinds.known_rows import NOT_PUBLISHED
from recon.queries.measures.figures import Measures
from recon.readers.frames.describe import condition_text
from solvers.engines.figures.system import SystemFigures
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import Partition, Region, Release

if TYPE_CHECKING:
    from scipy.sparse import csr_array

WORDED = 3  # groups taken away that a condition spells out


@dataclass(frozen=True)
class RegisteredGroup:
    """One published group: its block and statement (-1: a whole region), the region, least and most rows, its name."""

    block: int
    statement: int
    region: Region
    low: int
    high: int
    name: str


@dataclass(frozen=True)
class Rest:
    """What is left of a group without others: its cells, least and most rows, its name and condition in words."""

    cells: frozenset[int]
    low: int
    high: int
    name: str
    where: str


@dataclass(frozen=True, eq=False)
class RegisteredGroups:
    """The published groups of a joined release, and the cells of each (`held`: groups × cells, 1 where it has one).

    The first `earlier` blocks are those of the earlier releases.
    """

    release: EncodedRelease
    groups: tuple[RegisteredGroup, ...]
    held: csr_array
    earlier: int

    @classmethod
    def of(
        cls, joined: EncodedRelease, names: Release, system: SystemFigures, earlier: int, limits: Limits
    ) -> RegisteredGroups:
        """Return the groups; `names` are the same blocks as they are called in sentences. Cost: groups × cells."""
        from scipy.sparse import csr_array

        groups: list[RegisteredGroup] = []
        cells: list[NDArray[np.intp]] = []
        for b, block in enumerate(joined.statements.blocks):
            limits.check("differences of releases were looked for")
            if isinstance(block, Partition) and block.kind in NOT_PUBLISHED:
                continue
            called = names.blocks[b] if b < len(names.blocks) else block
            first = len(groups)
            for s in range(len(block)):
                seen = block.statement(s, joined.statements.domain)
                if (region := seen.region) is not None:
                    groups.append(RegisteredGroup(b, s, region, seen.low, seen.high, called.source(s)))
                    cells.append(np.flatnonzero(system.statement(b, s)))
            if not isinstance(block, Partition) or not isinstance(called, Partition):
                continue
            for j, members in block.by_region.items():
                if len(members) > 1:
                    low, high = (sum(getattr(groups[first + s], end) for s in members) for end in ("low", "high"))
                    name = f"{called.kind}, {called.names[j]}"
                    groups.append(RegisteredGroup(b, -1, block.region_of(j), low, high, name))
                    cells.append(np.unique(np.concatenate([cells[first + s] for s in members])))
        start = np.cumsum([0, *map(len, cells)])
        flat = np.concatenate([*cells, np.zeros(0, dtype=np.intp)])
        held = csr_array((np.ones(len(flat), dtype=np.int32), flat, start), shape=(len(cells), len(system.sizes)))
        return cls(joined, tuple(groups), held, earlier)

    @cached_property
    def sizes(self) -> NDArray[Any]:
        """Return how many cells every group has."""
        return np.diff(self.held.indptr)

    def cells(self, g: int) -> frozenset[int]:
        """Return the cells of a group."""
        return frozenset(self.held.indices[self.held.indptr[g] : self.held.indptr[g + 1]].tolist())

    def told(self, cells: frozenset[int], low: int, high: int) -> bool:
        """Return whether groups of one block make up these cells, and their counts add up to as much or more.

        Groups that overlap are taken the largest first; another choice of them may make up the cells all the same.
        """
        inside: dict[int, list[int]] = {}
        for g in sorted({g for c in cells for g in self.of_cell(c)}):
            if self.cells(g) <= cells:
                inside.setdefault(self.groups[g].block, []).append(g)
        for members in inside.values():
            left, ends = cells, [0, 0]
            for g in sorted(members, key=lambda g: -self.sizes[g]):
                if (own := self.cells(g)) <= left:
                    left, ends = left - own, [ends[0] + self.groups[g].low, ends[1] + self.groups[g].high]
            if not left and ends[0] >= low and ends[1] <= high:
                return True
        return False

    def of_cell(self, cell: int) -> list[int]:
        """Return the groups that a cell lies in."""
        found: list[int] = self.by_cell.indices[self.by_cell.indptr[cell] : self.by_cell.indptr[cell + 1]].tolist()
        return found

    def around(self, cell: int) -> list[str]:
        """Return the names of the groups that a cell lies in, of each statement."""
        return [self.groups[g].name for g in sorted(self.of_cell(cell)) if self.groups[g].statement >= 0]

    @cached_property
    def by_cell(self) -> Any:
        """Return the groups of every cell."""
        return self.held.tocsc()

    def rests(self, small: int, limits: Limits) -> Iterator[Rest]:
        """Yield what is left of a group of one side without those of the other side inside it, if that surely is small.

        One side are the earlier releases, the other the new one. Of a partition (tree, rule list) all groups inside are
        taken away together, else one group at a time. Yielded are rests of at least 1 and fewer than `small` rows.
        """
        for outer, inner in self.nested(limits):
            whole = self.groups[outer]
            low = whole.low - sum(self.groups[s].high for s in inner)
            high = whole.high - sum(self.groups[s].low for s in inner)
            cells = self.cells(outer).difference(*map(self.cells, inner))
            if not 1 <= low <= high < small or self.told(cells, low, high):
                continue
            more = f" and {len(inner) - 1} more" if len(inner) > 1 else ""
            yield Rest(cells, low, high, f"{whole.name} without {self.groups[inner[0]].name}{more}",
                       self.worded(outer, inner))  # fmt: skip

    def nested(self, limits: Limits) -> Iterator[tuple[int, list[int]]]:
        """Yield groups with groups of the other side that lie in them: those of one partition, or single ones."""
        block = np.array([g.block for g in self.groups], dtype=np.int64)
        sides = [np.flatnonzero(block < self.earlier), np.flatnonzero(block >= self.earlier)]
        for one, other in (sides, sides[::-1]):
            met = (self.held[one] @ self.held[other].T).tocoo()
            outer, inner = one[met.row], other[met.col]
            within = (met.data == self.sizes[inner]) & (self.sizes[inner] < self.sizes[outer])
            found: dict[tuple[int, int, int], list[int]] = {}
            for t, s in limits.paced(zip(outer[within].tolist(), inner[within].tolist(), strict=True), "differences"):
                if self.groups[s].statement < 0:
                    continue  # its classes are taken away one by one
                whole = isinstance(self.release.statements.blocks[self.groups[s].block], Partition)
                found.setdefault((t, self.groups[s].block, -1 if whole else s), []).append(s)
            yield from ((t, members) for (t, _, _), members in found.items())

    def worded(self, outer: int, inner: list[int]) -> str:
        """Return the condition of a group without others in words."""
        out = [f"not ({self.condition(s)})" for s in inner[:WORDED]]
        more = [f"not in {len(inner) - WORDED} more groups"] if len(inner) > WORDED else []
        return " and ".join([self.condition(outer), *out, *more])

    def condition(self, g: int) -> str:
        """Return the condition of a group in words; of a rule list it is what earlier rules leave of it."""
        region = self.groups[g].region
        text = condition_text(self.release.cut, region.box)
        return f"{text}, and no earlier rule" if region.minus else text


SMALL = 10  # rows: smaller groups are pointed out (the usual minimum cell count)
MAX_LISTED = 100  # of them are written out
NAMES = 3  # published groups that a name puts together
NOT_LOOKED = "differences were not looked for"
WORK = 300_000_000  # statements times cells that are looked through


@dataclass(frozen=True)
class GroupDifference:
    """A group of few rows that only the releases together single out: the published groups it lies in, its condition.

    `rows`: least and most over all possible worlds.
    """

    name: str
    where: str
    rows: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """Return the group as JSON."""
        return {"name": self.name, "where": self.where, "rows": list(self.rows)}


class CellLine(NamedTuple):
    """One cell that surely holds rows: its number, condition, raw rows, and least and most rows of the data."""

    cell: int
    where: str
    size: int
    rows: int
    most: int

    @property
    def key(self) -> tuple[str, int]:
        """Return what makes it the same cell in another release over the same domain."""
        return self.where, self.size

    def told_by(self, other: CellLine | None) -> bool:
        """Return whether the same cell of a part says as much."""
        return other is not None and other.rows >= self.rows and other.most <= self.most


@dataclass(frozen=True)
class Differences:
    """The groups that were found, fewest rows first, capped; how many there are in all (None: `note` says why)."""

    groups: tuple[GroupDifference, ...] = ()
    in_all: int | None = 0
    note: str = ""


def differences(
    joined: EncodedRelease, found: Measures, apart: Sequence[Measures], names: Release, earlier: int, limits: Limits
) -> Differences:
    """Return the groups below `SMALL` rows that the joined release singles out, and none of its parts does.

    `apart` are the measures of the parts (the earlier releases together, the new one), `names` the same statements as
    they are called in sentences, of which the first `earlier` blocks are the earlier releases'. They are single cells,
    and what is left of one side's group without groups of the other side. A group counts as published where a statement
    counts exactly its rows at least as closely, or a part's own cells do. Cost: statements times cells.
    """
    if not found.of_cells:
        why = "; ".join(found.counted.trail) or "the data sets were not counted"
        return Differences() if found.status == "exact" else Differences(in_all=None, note=f"{NOT_LOOKED}: {why}")
    try:
        system = SystemFigures.of(joined.statements, limits)
        if sum(len(b) for b in joined.statements.blocks) * len(system.sizes) > WORK:
            return Differences(in_all=None, note=f"{NOT_LOOKED}: too many statements and cells")
        groups = RegisteredGroups.of(joined, names, system, earlier, limits)
        known = {(one.where, one.size): one for part in apart if part.of_cells for one in _lines_of(part)}
        single = {
            frozenset((one.cell,)): GroupDifference(_named_by(groups.around(one.cell)), one.where, (one.rows, one.most))
            for one in _lines_of(found)
            if one.rows > 0 and one.most < SMALL and not one.told_by(known.get(one.key))
            and not groups.told(frozenset((one.cell,)), one.rows, one.most)
        }  # fmt: skip
        held = {frozenset((one.cell,)) for one in _lines_of(found)}
        for rest in groups.rests(SMALL, limits):
            if rest.cells not in held and rest.cells not in single:  # of single cells more is known
                single[rest.cells] = GroupDifference(rest.name, rest.where, (rest.low, rest.high))
    except (Inconclusive, Unsupported) as error:
        return Differences(in_all=None, note=f"{NOT_LOOKED}: {error}")
    new = sorted(single.values(), key=lambda one: (one.rows[::-1], one.where))
    return Differences(tuple(new[:MAX_LISTED]), len(new))


def _lines_of(found: Measures) -> list[CellLine]:
    """Return the cells that surely hold rows, as the exposure has them."""
    names = ("region", "where", "worlds_per_row", "rows", "rows_most")
    columns = [found.exposure[name].tolist() for name in names]
    return [CellLine(*values) for values in zip(*columns, strict=True)]


def _named_by(sources: Sequence[str]) -> str:
    """Return a group's name: the published groups that it lies in."""
    shown = sources[:NAMES]
    more = f" and {len(sources) - NAMES} more groups" if len(sources) > NAMES else ""
    return " and ".join(shown) + more if shown else "outside every published group"
