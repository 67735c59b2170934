"""Other ways than hiding: counts rounded so that sums still hold, and counts adjusted as little as possible.

Controlled rounding takes each count to one of the two multiples of a base beside it, such that parents stay the sums
of their children; where there is no such table, to the next ones. Adjustment moves each sensitive count by what it
needs at least, up or down, and others as little as sums need. Both are integer programs; what they publish is that no
count was moved by a number or more, and the audit is of the intervals that this leaves.

Source: Cox and Ernst, "Controlled rounding", INFOR 20, 1982; Dandekar and Cox, "Synthetic tabular data: an alternative
to complementary cell suppression", 2002 (controlled tabular adjustment); Hundepool et al. 2012, sections 4.5 and 5.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import run, state
from solvers.suppression.intervals import cell_intervals
from solvers.suppression.patterns import SuppressionTask
from solvers.suppression.table_lines import relations_of

SEARCH = 120.0  # of deterministic time
FURTHER = 3  # multiples of the base, beyond the two beside a count, that are tried


@dataclass(frozen=True, eq=False)
class MovedCounts:
    """Counts that are published in place of the true ones, all moved by less than `below`; `total` of all moves.

    `attackable`: sensitive cells to which the intervals leave too little room; `least`: the narrowest. `bound`: the
    least total of all such tables, as far as proved.
    """

    counts: Ints
    below: int
    total: int
    bound: int
    attackable: Ints
    least: int | None


def rounded_counts(task: SuppressionTask, base: int, limits: Limits) -> MovedCounts:
    """Return counts in multiples of a base that add up; `Unsupported` where there are none near the true ones.

    Cost: an integer program with a variable for each published cell.
    """
    cells = np.flatnonzero(task.open | task.sensitive | task.fixed)
    floor = task.values[cells] // base
    for further in range(FURTHER):
        exact = (task.values[cells] % base == 0) if not further else np.zeros(len(cells), dtype=bool)
        low, high = np.maximum(0, floor - further), floor + np.where(exact, 0, 1 + further)
        found = _nearest_counts(task, cells, low, high, base, limits)
        if found is not None:
            return _audited(task, cells, found[0], base * (1 + further), found[1], limits)
    raise Unsupported(f"no table of multiples of {base} near the counts adds up")


def adjusted_counts(task: SuppressionTask, limits: Limits) -> MovedCounts:
    """Return counts that add up, each sensitive one moved by what it needs; `Unsupported` where there are none.

    No count is moved further than the greatest need. Cost: an integer program with two variables for each cell.
    """
    cells = np.flatnonzero(task.open | task.sensitive | task.fixed)
    most = int(task.need.max(initial=0))
    low = np.where(task.fixed[cells], task.values[cells], np.maximum(0, task.values[cells] - most))
    high = np.where(task.fixed[cells], task.values[cells], task.values[cells] + most)
    found = _nearest_counts(task, cells, low, high, 1, limits, apart=True)
    if found is None:
        raise Unsupported(f"no table adds up whose sensitive counts are moved, and no count by more than {most}")
    return _audited(task, cells, found[0], most + 1, found[1], limits)


def audited_counts(task: SuppressionTask, moved: MovedCounts, limits: Limits) -> MovedCounts:
    """Return moved counts with the exact audit of what another task asks of them."""
    cells = np.flatnonzero(task.open | task.sensitive | task.fixed)
    return _audited(task, cells, moved.counts, moved.below, moved.bound, limits)


def _nearest_counts(
    task: SuppressionTask, cells: Ints, low: Ints, high: Ints, base: int, limits: Limits, apart: bool = False
) -> tuple[Ints, int] | None:
    """Return counts nearest to the true ones, and a bound on their distance; None where there are none.

    `apart`: sensitive counts are moved by at least what they need.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    column = np.full(len(task.values), -1, dtype=np.int64)
    counts = [model.new_int_var(a, b, "") for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    column[cells] = [x.index for x in counts]
    moves = []
    for x, c in zip(counts, cells.tolist(), strict=True):
        true = int(task.values[c])
        moves.append(model.new_int_var(0, 1 << 40, ""))
        model.add(moves[-1] >= base * x - true)
        model.add(moves[-1] >= true - base * x)
        if apart and task.sensitive[c]:
            up = model.new_bool_var("")
            model.add(base * x - true >= int(task.need[c])).only_enforce_if(up)
            model.add(true - base * x >= int(task.need[c])).only_enforce_if(~up)
    linear = task.cells.relations
    for r, members in enumerate(relations_of(linear)):
        if (column[members] >= 0).all():
            signs = linear.coef[linear.start[r] : linear.start[r + 1]]
            state(model, column[members].tolist(), signs.tolist(), (0, 0))
    model.minimize(cp_model.LinearExpr.sum(moves))
    status, solver = run(model, limits, max_deterministic_time=SEARCH, linearization_level=2)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    out = task.values.copy()
    out[cells] = [base * solver.value(x) for x in counts]
    return out, int(np.ceil(solver.best_objective_bound - 1e-6))


def _audited(task: SuppressionTask, cells: Ints, counts: Ints, below: int, bound: int, limits: Limits) -> MovedCounts:
    """Return moved counts with the exact audit of what they leave: intervals of less than so much around them."""
    own = np.zeros(len(counts), dtype=bool)
    own[cells] = True
    low = np.where(own, np.maximum(task.cells.low, counts - below + 1), task.cells.low)
    high = np.where(own, np.minimum(task.cells.high, counts + below - 1), task.cells.high)
    at = np.flatnonzero(task.sensitive)
    found = cell_intervals(replace(task.cells, low=low, high=high), at, limits, task.values)
    width = np.where(found.tight, found.high - found.low, -1)[at]
    attackable = at[width < task.need[at]].astype(np.int64)
    total = int(np.abs(counts - task.values)[cells].sum())
    return MovedCounts(counts, below, total, bound, attackable, int(width.min()) if len(width) else None)
