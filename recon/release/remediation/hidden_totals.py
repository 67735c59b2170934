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
from solvers.foundation.errors import ReleaseError, Unsupported
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
)
from solvers.suppression.table_lines import relations_of

ROOM = 4  # a hidden total may be so many times that of everybody, and its level more
SEARCHED = 3_000  # cells: of more, the pattern is made cell by cell


@dataclass(frozen=True, eq=False)
class TotalsTask:
    """What is asked of a pattern of a table of totals: the task, each line's cell, each line's level and rules.

    `out`: which lines earlier tables show, and which they hide.
    """

    table: MagnitudeTable
    task: SuppressionTask
    places: Ints
    levels: Ints
    rules: Mapping[str, Bits]
    out: tuple[Bits, Bits]

    def hidden_lines(self, hidden: Bits) -> Bits:
        """Return which lines of the table are hidden where these cells are."""
        return hidden[self.places]


def totals_task(
    table: MagnitudeTable, rules: Mapping[str, SensitivityRule], limits: Limits, inside: bool = False,
    out: tuple[Bits, Bits] | None = None,
) -> TotalsTask:  # fmt: skip
    """Return the task of hiding what rules call sensitive, and what is hidden already.

    `out`: which lines earlier tables show (none of these can be hidden) and hide (what is sensitive of these stays
    open). `inside`: no sensitive cell may follow for a respondent who knows an own hidden cell either. Raises
    `ReleaseError` where totals are not the sums of their parts, naming the cells.
    """
    space, boxes = table.boxes()
    values, levels = table.totals, levels_of(rules, table.contributions)
    most = ROOM * int(np.abs(values).max(initial=0)) + int(levels[0].max(initial=0)) + 1
    known: dict[Box, tuple[int, int]] = {Box(): (0, most)}
    met = set[Box]()
    for cell, (box, total) in enumerate(zip(boxes, values.tolist(), strict=True)):
        if known.setdefault(box, (total, total)) != (total, total):
            if box != Box() or known[box] != (0, most) or box in met:
                raise ReleaseError(f"{table.named(cell)} is {table.number(total)}, and another total of the same cells")
            known[box] = (total, total)
        met.add(box)
    shown = linked_cells(space, {**known, Box(): (0, most)})
    places = np.array([shown.place[box] for box in boxes], dtype=np.int64)
    listed = np.zeros(len(shown), dtype=bool)
    listed[places] = True
    true = _with_unlisted(table, shown, places, limits, most)
    least = np.full(len(shown), 0 if table.shadow is None else -most, dtype=np.int64)
    open_ends = replace(shown, low=least, high=np.full(len(shown), most, dtype=np.int64))
    empty = ~listed & (true == 0)  # what a table leaves out and nobody is in
    nothing = np.zeros(len(places), dtype=bool)
    said = (nothing, nothing) if out is None else out
    own, known_already, hidden_out, gone = (
        _of_cells(places, one, len(shown)) > 0
        for one in (table.ours, *said, nothing if table.hidden is None else table.hidden)
    )
    level = _of_cells(places, levels[0], len(shown))
    sensitive = ~known_already & (((own | hidden_out) & (level > 0)) | gone)
    apart = np.where(sensitive, level, 0)
    need = np.where(sensitive, np.maximum(1, apart + np.minimum(apart, true - least)), 0)
    alone = _of_cells(places, table.contributions.contributors == 1, len(shown)) > 0
    task = SuppressionTask(
        open_ends, true, own & ~known_already & ~sensitive & (true != 0), sensitive,
        ~own & ~known_already & ~sensitive & ~empty, np.maximum(1, np.abs(true)), need, apart,
        alone if inside else None,
    )  # fmt: skip
    return TotalsTask(table, task, places, levels[0], levels[1], said)


def _of_cells(places: Ints, each: np.ndarray, cells: int) -> Ints:
    """Return the greatest of what lines say of each cell, 0 of one without a line."""
    out = np.zeros(cells, dtype=np.int64)
    np.maximum.at(out, places, each.astype(np.int64))
    return out


def _with_unlisted(table: MagnitudeTable, cells: LinkedCells, places: Ints, limits: Limits, most: int) -> Ints:
    """Return the totals of all cells, those that the table leaves out among them; `ReleaseError` where sums are off."""
    low, high = cells.low.copy(), cells.high.copy()
    if table.shadow is not None:  # any number would do for what is left out: 0 where that is one
        low, high = np.zeros_like(low), np.zeros_like(high)
    low[places] = high[places] = table.totals
    line = {int(place): i for i, place in enumerate(places)}
    for members, first in zip(relations_of(cells.relations), cells.relations.start, strict=False):
        if all(int(c) in line for c in members):
            signs = cells.relations.coef[first : first + len(members)]
            parent = next(int(c) for c, sign in zip(members, signs, strict=True) if sign < 0)
            parts = int(low[members][signs > 0].sum())
            if parts != int(low[parent]):
                named = table.named(line[parent])
                both = f"{table.number(int(low[parent]))}, its parts add up to {table.number(parts)}"
                step = "give totals that add up (of rounded ones those before rounding, which say more)"
                raise ReleaseError(f"the total of {named} is {both}: {step}")
    values = solution_of(replace(cells, low=low, high=np.minimum(high, most)), limits)
    if values is None and table.shadow is not None:
        low, high = np.full_like(low, -most), np.full_like(high, most)
        low[places] = high[places] = table.totals
        values = solution_of(replace(cells, low=low, high=high), limits)
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
    lines = np.flatnonzero(table.ours | (asked.out[1] & (asked.levels > 0)))
    cells = []
    for line, place in zip(lines.tolist(), asked.places[lines].tolist(), strict=True):
        cells.append(
            TotalCell(
                table.named(line), int(table.totals[line]), bool(hidden[place]),
                (int(found.met[0][place]), int(found.met[1][place])), (int(found.low[place]), int(found.high[place])),
            )
        )  # fmt: skip
    signed = table.shadow is not None
    return TotalCells(tuple(cells), table.contributions.of(lines), table.decimals, tuple(from_inside.items()), signed)


def _alone(asked: TotalsTask) -> Bits:
    """Return which cells have one contributor."""
    one = (asked.table.contributions.contributors == 1).astype(np.int64)
    return _of_cells(asked.places, one, len(asked.task.values)) > 0


def hidden_already(asked: TotalsTask) -> Bits:
    """Return which cells the file calls hidden."""
    gone = asked.table.hidden
    said = np.zeros(len(asked.places)) if gone is None else gone
    own = _of_cells(asked.places, asked.table.ours, len(asked.task.values)) > 0
    return (_of_cells(asked.places, said, len(asked.task.values)) > 0) | (asked.task.sensitive & ~own)


def pattern_of_totals(asked: TotalsTask, limits: Limits, method: str = "cheapest") -> SuppressionPattern:
    """Return a pattern that leaves every sensitive total its room, of least cost (its totals) where that is proved.

    Raises `Unsupported` where no pattern is enough, and where sensitive totals are out already.
    """
    task = asked.task
    if known := int((asked.table.ours & asked.out[0] & (asked.levels > 0)).sum()):
        raise Unsupported(f"no pattern is enough: {known:,} sensitive totals are out already")
    if method == "cheapest" and len(task.values) <= SEARCHED:
        return cheapest_pattern(task, limits)
    cube = method == "hypercube"
    hidden = hypercube_pattern(task, limits) if cube else incremental_pattern(task, limits)
    how = "hypercubes" if cube else "a flow for each sensitive cell"
    return SuppressionPattern(hidden, task.cost_of(hidden), 0, task.attackable(hidden, limits), how)
