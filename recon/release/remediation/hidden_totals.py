"""Tables of totals: what a pattern of hidden cells leaves of the sensitive ones, and which further cells to hide.

Of a hidden total nothing is known but what the shown ones say: it is not below 0. The intervals are those of
`solvers.suppression` in units of the last decimal, so that an end is exact where a table of such numbers reaches it.

Source: Hundepool et al., "Statistical Disclosure Control", Wiley 2012, sections 4.2 to 4.4; Fischetti and Salazar,
Journal of the American Statistical Association 95, 2000.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from recon.readers.formats.tables.magnitudes import MagnitudeTable
from recon.release.policies.magnitudes import TotalCell, TotalCells
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box
from solvers.suppression.dominance import SensitivityRule, levels_of
from solvers.suppression.intervals import solution_of
from solvers.suppression.linked_cells import LinkedCells, linked_cells
from solvers.suppression.patterns import (
    SuppressionPattern,
    SuppressionTask,
    cheapest_pattern,
    hypercube_pattern,
    incremental_pattern,
    relations_of,
)

ROOM = 4  # a hidden total may be so many times that of everybody, and its level more
SEARCHED = 3_000  # cells: of more, the pattern is made cell by cell


@dataclass(frozen=True, eq=False)
class TotalsTask:
    """What is asked of a pattern of a table of totals: the task, each line's cell, each line's level and rules."""

    table: MagnitudeTable
    task: SuppressionTask
    places: Ints
    levels: Ints
    rules: Mapping[str, Bits]

    def hidden_lines(self, hidden: Bits) -> Bits:
        """Return which lines of the table are hidden where these cells are."""
        return hidden[self.places]


def totals_task(
    table: MagnitudeTable, rules: Mapping[str, SensitivityRule], limits: Limits, inside: bool = False
) -> TotalsTask:
    """Return the task of hiding what rules call sensitive, and what is hidden already.

    `inside`: no sensitive cell may follow for a respondent who knows an own hidden cell either. Raises `ReleaseError`
    where totals are not the sums of their parts, naming the cells.
    """
    space, boxes = table.boxes()
    values, levels = table.contributions.totals, levels_of(rules, table.contributions)
    most = ROOM * int(values.max(initial=0)) + int(levels[0].max(initial=0)) + 1
    known: dict[Box, tuple[int, int]] = {Box(): (0, most)}
    for cell, (box, total) in enumerate(zip(boxes, values.tolist(), strict=True)):
        if known.setdefault(box, (total, total)) != (total, total):
            if box != Box() or known[box] != (0, most):
                raise ReleaseError(f"{table.named(cell)} is {table.number(total)}, and another total of the same cells")
            known[box] = (total, total)
    shown = linked_cells(space, {**known, Box(): (0, most)})
    places = np.array([shown.place[box] for box in boxes], dtype=np.int64)
    listed = np.zeros(len(shown), dtype=bool)
    listed[places] = True
    true = _with_unlisted(table, shown, places, limits, most)
    open_ends = replace(shown, low=np.zeros(len(shown), dtype=np.int64), high=np.full(len(shown), most, dtype=np.int64))
    empty = ~listed & (true == 0)  # what a table leaves out and nobody is in
    own = _of_cells(places, levels[0], len(shown))
    gone = _of_cells(
        places, np.zeros(len(places)) if table.hidden is None else table.hidden.astype(np.int64), len(shown)
    )
    sensitive = listed & ((own > 0) | (gone > 0))
    apart = np.where(sensitive, own, 0)
    need = np.where(sensitive, np.maximum(1, apart + np.minimum(apart, true)), 0)
    alone = _of_cells(places, (table.contributions.contributors == 1).astype(np.int64), len(shown)) > 0
    task = SuppressionTask(
        open_ends, true, listed & ~sensitive & (true > 0), sensitive, ~listed & ~empty, np.maximum(1, true), need,
        apart, alone if inside else None,
    )  # fmt: skip
    return TotalsTask(table, task, places, levels[0], levels[1])


def _of_cells(places: Ints, each: np.ndarray, cells: int) -> Ints:
    """Return the greatest of what lines say of each cell, 0 of one without a line."""
    out = np.zeros(cells, dtype=np.int64)
    np.maximum.at(out, places, each.astype(np.int64))
    return out


def _with_unlisted(table: MagnitudeTable, cells: LinkedCells, places: Ints, limits: Limits, most: int) -> Ints:
    """Return the totals of all cells, those that the table leaves out among them; `ReleaseError` where sums are off."""
    low, high = cells.low.copy(), cells.high.copy()
    low[places] = high[places] = table.contributions.totals
    line = {int(place): i for i, place in enumerate(places)}
    for members, first in zip(relations_of(cells.relations), cells.relations.start, strict=False):
        if all(int(c) in line for c in members):
            signs = cells.relations.coef[first : first + len(members)]
            parent = next(int(c) for c, sign in zip(members, signs, strict=True) if sign < 0)
            parts = int(low[members][signs > 0].sum())
            if parts != int(low[parent]):
                named = table.named(line[parent])
                both = f"{table.number(int(low[parent]))}, its parts add up to {table.number(parts)}"
                raise ReleaseError(f"the total of {named} is {both}: give totals that add up")
    values = solution_of(replace(cells, low=low, high=np.minimum(high, most)), limits)
    if values is None:
        raise ReleaseError("the totals do not add up: no table agrees with all of them")
    return values


def checked_totals(asked: TotalsTask, hidden: Bits, limits: Limits) -> TotalCells:
    """Return what a pattern leaves of every sensitive cell, and which ones a respondent could work out."""
    task, table = asked.task, asked.table
    found = task.audited(hidden, limits)
    inside = replace(task, insiders=_alone(asked))
    from_inside: dict[str, str] = {}
    for insider, lost in inside.from_inside(hidden, limits):
        for cell in lost.tolist():
            who = table.named(int(np.flatnonzero(asked.places == insider)[0]))
            from_inside.setdefault(table.named(int(np.flatnonzero(asked.places == cell)[0])), who)
    cells = []
    for line, place in enumerate(asked.places.tolist()):
        own = table.contributions
        cells.append(
            TotalCell(
                table.named(line), int(own.totals[line]), int(own.contributors[line]), own.largest[line].tolist(),
                bool(hidden[place]), (int(found.met[0][place]), int(found.met[1][place])),
                (int(found.low[place]), int(found.high[place])),
            )
        )  # fmt: skip
    return TotalCells(tuple(cells), table.decimals, tuple(from_inside.items()))


def _alone(asked: TotalsTask) -> Bits:
    """Return which cells have one contributor."""
    one = (asked.table.contributions.contributors == 1).astype(np.int64)
    return _of_cells(asked.places, one, len(asked.task.values)) > 0


def hidden_already(asked: TotalsTask) -> Bits:
    """Return which cells the file calls hidden."""
    gone = asked.table.hidden
    return _of_cells(asked.places, np.zeros(len(asked.places)) if gone is None else gone, len(asked.task.values)) > 0


def pattern_of_totals(asked: TotalsTask, limits: Limits, method: str = "cheapest") -> SuppressionPattern:
    """Return a pattern that leaves every sensitive total its room, of least cost (its totals) where that is proved.

    Raises `Unsupported` where no pattern is enough.
    """
    task = asked.task
    if method == "cheapest" and len(task.values) <= SEARCHED:
        return cheapest_pattern(task, limits)
    cube = method == "hypercube"
    hidden = hypercube_pattern(task, limits) if cube else incremental_pattern(task, limits)
    how = "hypercubes" if cube else "a flow for each sensitive cell"
    return SuppressionPattern(hidden, task.cost_of(hidden), 0, task.attackable(hidden, limits), how)
