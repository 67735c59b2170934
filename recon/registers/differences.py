"""Small groups that only several releases together single out: differencing, secondary disclosure.

A release that counts a group and another that counts a part of it also count the rest. What is looked at are the cells
of the joined release: its groups cut by each other, as finely as the releases cut them.
Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012 (secondary suppression, linked tables).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from encoders.encode.encoder import EncodedRelease
from recon.measures.figures import Measures
from solvers.figures.system import SystemFigures
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import Block, Release

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


class Line(NamedTuple):
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

    def told_by(self, other: Line | None) -> bool:
        """Return whether the same cell of a part says as much."""
        return other is not None and other.rows >= self.rows and other.most <= self.most


@dataclass(frozen=True)
class Differences:
    """The groups that were found, fewest rows first, capped; how many there are in all (None: `note` says why)."""

    groups: tuple[Difference, ...] = ()
    in_all: int | None = 0
    note: str = ""


def differences(
    joined: EncodedRelease, found: Measures, apart: Sequence[Measures], names: Release, limits: Limits
) -> Differences:
    """Return the groups below `SMALL` rows that the joined release singles out, and none of its parts does.

    `apart` are the measures of the parts (the earlier releases together, the new one), `names` the same statements as
    they are called in sentences. A group counts as published where one statement counts exactly its rows at least as
    closely, or a part's own cells do. Unions of cells are not looked for. Cost: statements times cells.
    """
    if not found.of_cells:
        return Differences()
    try:
        system = SystemFigures.of(joined.statements, limits)
        if sum(len(b) for b in joined.statements.blocks) * len(system.sizes) > WORK:
            return Differences(in_all=None, note="differences were not looked for: too many statements and cells")
        known = {(one.where, one.size): one for part in apart if part.of_cells for one in lines_of(part)}
        left = [
            one for one in lines_of(found) if one.rows > 0 and one.most < SMALL and not one.told_by(known.get(one.key))
        ]
        inside = published(joined, names, system, left, limits)
    except (Inconclusive, Unsupported) as error:
        return Differences(in_all=None, note=f"differences were not looked for: {error}")
    new = sorted((one.most, one.rows, one.where, one.cell) for one in left if inside[one.cell] is not None)
    groups = (Difference(named_by(inside[cell] or []), where, (rows, most)) for most, rows, where, cell in new[:MOST])
    return Differences(tuple(groups), len(new))


def lines_of(found: Measures) -> list[Line]:
    """Return the cells that surely hold rows, as the exposure has them."""
    names = ("region", "where", "worlds_per_row", "rows", "rows_most")
    columns = [found.exposure[name].tolist() for name in names]
    return [Line(*values) for values in zip(*columns, strict=True)]


def published(
    joined: EncodedRelease, names: Release, system: SystemFigures, cells: Sequence[Line], limits: Limits
) -> dict[int, list[str] | None]:
    """Return per cell the published groups that it lies in; None where one of them counts its rows and no others."""
    inside: dict[int, list[str] | None] = {one.cell: [] for one in cells}
    for b, block in enumerate(joined.statements.blocks):
        limits.check("differences of releases were looked for")
        for s in range(len(block)) if cells else ():
            counts = system.statement(b, s)
            held = [one for one in cells if counts[one.cell]]
            alone = len(held) == 1 and np.count_nonzero(counts) == 1 and counted(block, s, joined)
            for one in held:
                sources = inside[one.cell]
                if alone and int(block.low[s]) >= one.rows and int(block.high[s]) <= one.most:
                    inside[one.cell] = None
                elif sources is not None:
                    sources.append((names.blocks[b] if b < len(names.blocks) else block).source(s))
    return inside


def counted(block: Block, s: int, joined: EncodedRelease) -> bool:
    """Return whether a statement counts rows, and does not sum their values."""
    return block.statement(s, joined.statements.domain).of is None


def named_by(sources: Sequence[str]) -> str:
    """Return a group's name: the published groups that it lies in."""
    shown = sources[:NAMES]
    more = f" and {len(sources) - NAMES} more groups" if len(sources) > NAMES else ""
    return " and ".join(shown) + more if shown else "outside every published group"
