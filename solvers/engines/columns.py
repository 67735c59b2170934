"""Rigorous outer bounds where the cells are too many: linear programming over columns that pricing brings in.

Source: column generation, Lübbecke and Desrosiers, "Selected topics in column generation", 2005; see
solvers.programs.columns.master.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from solvers.cells.system import cells_fit
from solvers.engines.figures.system import sharpened
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.columns.single_partitions import decide_without_cells
from solvers.statements.questions.answers import Answer, BoxMultipliers, DecideAnswer, Side, refuted
from solvers.statements.questions.engine import FEW_CELLS, Engine, no_coupling, unanswered
from solvers.statements.questions.query import Count, Decide, Query, Selections
from solvers.statements.release import Release


class ColumnsEngine(Engine):
    """Outer bounds on numbers of rows without cells; never a world, never a share."""

    name = "columns"
    answers = (Decide, Count)
    needs = ("ortools", "highspy")
    about = "where the cells are too many: rigorous outer bounds by column generation, and contradictions"
    cells = "many"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why there is nothing to bound, or None."""
        return no_coupling(release, query)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return outer bounds, or that there is no world."""
        limits = limits.limited()
        if cells_fit(release, limits):
            raise Unsupported(FEW_CELLS)
        if isinstance(query, Count):
            from solvers.programs.columns.master import MasterProgram

            if MasterProgram.of(release, limits).refutes(limits.stage("contradiction by columns")) is not None:
                return refuted(query)
            raise Unsupported("column generation does not count worlds, and found no contradiction")
        if not isinstance(query, Decide):
            raise unanswered(query, self.name)
        begun = sharpened(release, query.selections, decide_without_cells(release, query, limits), settled=True)
        found = _tighter(release, query.selections, begun, limits)
        return Answer("unsat") if found is None else found


def _tighter(release: Release, chosen: Selections, known: DecideAnswer, limits: Limits) -> DecideAnswer | None:
    """Return the bounds on selections made tighter where their verdict is open, None where no world exists.

    The nearest to a verdict come first. Ends with what is proved when time is up.
    """
    from solvers.programs.columns.master import MasterProgram

    low, high = known.low.copy(), known.high.copy()
    left = np.flatnonzero(known.open)[np.argsort(known.high[known.open], kind="stable")].tolist()
    if not left or limits.expired():
        return known
    try:
        master, boxes = MasterProgram.of(release, limits), chosen.boxes()
        if master.refutes(limits.stage("fractional world")) is not None:
            return None
    except (Inconclusive, TooLarge) as error:  # what single partitions say stands
        return replace(known, trail=(*known.trail, f"columns: {error}"))
    master, multipliers, trail = master.copied(), dict[Side, BoxMultipliers](), dict[str, None]()
    for done, q in enumerate(left):
        limits.report(f"column generation: {done} of {len(left)} open profiles")
        for box, greatest, sides in ((boxes[q][0], True, 1), (boxes[q][1], False, 2)):
            if limits.expired():
                break
            if box.empty or (low[q] > 0 or high[q] <= 0) or master.hopeless(box, greatest):
                continue
            some = limits.stage("side of a box", parts=2 * (len(left) - done) + 1 - sides)
            try:
                bound = master.bound(box, greatest, some, verdict=True)
            except (Inconclusive, Unsupported) as error:  # what is proved by then stands
                trail[f"columns: {error}"] = None
                continue
            multipliers[box, greatest], value = BoxMultipliers(bound.multipliers, bound.scale), bound.value
            low[q], high[q] = (low[q], min(high[q], value)) if greatest else (max(low[q], value), high[q])
            if low[q] > high[q]:
                return None
    before = known.before, known.expected_before
    return DecideAnswer.of(low, high, before, multipliers=multipliers, trail=(*known.trail, *trail))
