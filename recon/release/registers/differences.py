"""Small groups that only several releases together single out: differencing, secondary disclosure.

A release that counts a group and another that counts a part of it also count the rest. What is looked at are the cells
of the joined release: its groups cut by each other, as finely as the releases cut them.
Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (secondary suppression, linked tables).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from encoders.encode.encoder import EncodedRelease
from recon.queries.measures.figures import Measures
from recon.release.registers.groups import RegisteredGroups
from solvers.engines.figures.system import SystemFigures
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import Release

SMALL = 10  # rows: smaller groups are pointed out (the usual minimum cell count)
MOST = 100  # of them are written out
NAMES = 3  # published groups that a name puts together
WORK = 300_000_000  # statements times cells that are looked through


@dataclass(frozen=True)
class Difference:
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

    groups: tuple[Difference, ...] = ()
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
        return Differences()
    try:
        system = SystemFigures.of(joined.statements, limits)
        if sum(len(b) for b in joined.statements.blocks) * len(system.sizes) > WORK:
            return Differences(in_all=None, note="differences were not looked for: too many statements and cells")
        groups = RegisteredGroups.of(joined, names, system, earlier, limits)
        known = {(one.where, one.size): one for part in apart if part.of_cells for one in lines_of(part)}
        single = {
            frozenset((one.cell,)): Difference(named_by(groups.around(one.cell)), one.where, (one.rows, one.most))
            for one in lines_of(found)
            if one.rows > 0 and one.most < SMALL and not one.told_by(known.get(one.key))
            and not groups.told(frozenset((one.cell,)), one.rows, one.most)
        }  # fmt: skip
        held = {frozenset((one.cell,)) for one in lines_of(found)}
        for rest in groups.rests(SMALL, limits):
            if rest.cells not in held and rest.cells not in single:  # of single cells more is known
                single[rest.cells] = Difference(rest.name, rest.where, (rest.low, rest.high))
    except (Inconclusive, Unsupported) as error:
        return Differences(in_all=None, note=f"differences were not looked for: {error}")
    new = sorted(single.values(), key=lambda one: (one.rows[::-1], one.where))
    return Differences(tuple(new[:MOST]), len(new))


def lines_of(found: Measures) -> list[CellLine]:
    """Return the cells that surely hold rows, as the exposure has them."""
    names = ("region", "where", "worlds_per_row", "rows", "rows_most")
    columns = [found.exposure[name].tolist() for name in names]
    return [CellLine(*values) for values in zip(*columns, strict=True)]


def named_by(sources: Sequence[str]) -> str:
    """Return a group's name: the published groups that it lies in."""
    shown = sources[:NAMES]
    more = f" and {len(sources) - NAMES} more groups" if len(sources) > NAMES else ""
    return " and ".join(shown) + more if shown else "outside every published group"
