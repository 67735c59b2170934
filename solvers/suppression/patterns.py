"""Which further cells of linked tables to hide, so that what is shown leaves every sensitive cell wide open.

A pattern of least cost is searched by CP-SAT over which cells are hidden. Attacks are added lazily: where the shown
cells leave a sensitive cell too little room, the multipliers of the attacker's linear program say which cells, hidden,
would give more. With deviations y = z - a of the attacker's solution z from the true cells a, M y = 0 and d = e_p - g M
for any multipliers g, y_p = d y <= the sum of d_c U_c over hidden cells with d_c > 0 and of -d_c L_c over those with
d_c < 0: that must be at least the room that p needs. Multipliers are rounded to whole numbers before, so that each cut
is exact.

The hypercube heuristic, beside it: every hidden cell is made a corner of a box of hidden cells with enough in them.

Source: Fischetti and Salazar, "Models and algorithms for optimizing cell suppression in tabular data with linear
constraints", Journal of the American Statistical Association 95, 2000; Giessing and Repsilber, "Tools and strategies to
protect multiple tables with the GHQUAR cell suppression engine", 2002 (hypercubes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import run, state
from solvers.programs.dual_bounds import DENOMINATORS, combined, integer_duals
from solvers.programs.linear_program import CellProgram, LinearProgram, by_column
from solvers.suppression.insiders import followed
from solvers.suppression.intervals import CellIntervals, cell_intervals
from solvers.suppression.linked_cells import LinkedCells
from solvers.suppression.table_lines import TableLine, TableLines, relations_of

ROUNDS = 200  # of attacks on patterns
GAP = 0.0  # of the cost of a pattern: how far above the proved bound CP-SAT may end
SEARCH = 10.0  # of deterministic time: of CP-SAT about one pattern
TRIED = 40_000  # hidden cells that are tried shown at the end, times cells


@dataclass(frozen=True, eq=False)
class SuppressionTask:
    """Cells with their true `values`, and what is asked of a pattern.

    `cells`: their `low` and `high` are what is known of a hidden cell. Those that are `open` can be hidden at `cost`;
    `sensitive` ones are, and their interval has to be `need` wide and, where `apart` is given, to reach so far over and
    under the true value. Others are shown, or, `nowhere`, not published.
    `insiders`: cells whose value somebody alone knows (one respondent): no sensitive cell may follow beside one.
    """

    cells: LinkedCells
    values: Ints
    open: Bits
    sensitive: Bits
    nowhere: Bits
    cost: Ints
    need: Ints
    apart: Ints | None = None
    insiders: Bits | None = None

    @property
    def levels(self) -> tuple[Ints, Ints]:
        """Return how far over, and under, its true value each sensitive cell's interval has to reach."""
        over = np.zeros(len(self.values), dtype=np.int64) if self.apart is None else self.apart
        return over, np.minimum(over, np.maximum(0, self.values - self.cells.low))

    @property
    def fixed(self) -> Bits:
        """Return which cells are shown whatever the pattern."""
        return ~(self.open | self.sensitive | self.nowhere)

    def ends(self, hidden: Bits) -> tuple[Ints, Ints]:
        """Return what is known of each cell where these are hidden."""
        unknown = hidden | self.nowhere
        return np.where(unknown, self.cells.low, self.values), np.where(unknown, self.cells.high, self.values)

    def audited(self, hidden: Bits, limits: Limits) -> CellIntervals:
        """Return the exact intervals of the sensitive cells where these are hidden."""
        low, high = self.ends(hidden)
        return cell_intervals(
            replace(self.cells, low=low, high=high), np.flatnonzero(self.sensitive), limits, self.values
        )

    def attackable(self, hidden: Bits, limits: Limits) -> Ints:
        """Return the sensitive cells that are not proved to have the room that they need."""
        narrow = np.flatnonzero(self.sensitive)
        narrow = narrow[~self.wide_by_boxes(narrow, hidden)]
        if not len(narrow):
            return narrow.astype(np.int64)
        low, high = self.ends(hidden)
        over, under = self.levels
        enough = self.need, self.values - under, self.values + over
        found = cell_intervals(replace(self.cells, low=low, high=high), narrow, limits, self.values, enough)
        least, most = found.met
        wide = (most - least >= self.need) & (most >= self.values + over) & (least <= self.values - under)
        return narrow[~wide[narrow]].astype(np.int64)

    @cached_property
    def lines(self) -> TableLines:
        """Return the lines of the tables."""
        return TableLines(self.cells)

    def wide_by_boxes(self, asked: Ints, hidden: Bits) -> Bits:
        """Return which of some cells boxes of hidden cells alone leave the room that they need; others may have it."""
        (over, under), loose = self.levels, hidden | self.nowhere
        up, down = self.cells.high - self.values, self.values - self.cells.low
        out = np.zeros(len(asked), dtype=bool)
        for k, p in enumerate(asked.tolist()):
            rise = fall = 0
            for _, more, less in self.lines.moves(p, loose, up, down):
                rise, fall = max(rise, more), max(fall, less)
                if rise >= over[p] and fall >= under[p] and rise + fall >= self.need[p]:
                    out[k] = True
                    break
        return out

    def beside(self, insider: int) -> SuppressionTask:
        """Return what is asked where one hidden cell is known: that no other sensitive one follows from it."""
        low, high = self.cells.low.copy(), self.cells.high.copy()
        low[insider] = high[insider] = self.values[insider]
        sensitive = self.sensitive & (np.arange(len(low)) != insider)
        known = replace(self.cells, low=low, high=high)
        return replace(
            self, cells=known, sensitive=sensitive, need=sensitive.astype(np.int64), apart=None, insiders=None
        )

    def from_inside(self, hidden: Bits, limits: Limits, audited: bool = True) -> Iterator[tuple[int, Ints]]:
        """Yield (insider, sensitive cells that follow) of every cell whose value somebody alone knows."""
        if self.insiders is None:
            return
        low, high = self.ends(hidden)
        seen = replace(self.cells, low=low, high=high)
        yield from followed(seen, self.values, self.sensitive, self.insiders, self.lines, limits, audited)

    def holds(self, hidden: Bits, limits: Limits) -> bool:
        """Return whether no attack succeeds, neither from outside nor by one respondent."""
        return not len(self.attackable(hidden, limits)) and next(self.from_inside(hidden, limits), None) is None

    def cost_of(self, hidden: Bits) -> int:
        """Return what the hidden cells that need not be cost."""
        return int(self.cost[hidden & self.open].sum())


@dataclass(frozen=True, eq=False)
class SuppressionPattern:
    """Which cells are hidden, what that costs, and the least that any pattern costs, as far as proved.

    `attackable`: sensitive cells that have too little room, by the exact audit; `how`: what found it; `attacks`: cuts.
    """

    hidden: Bits
    cost: int
    bound: int
    attackable: Ints
    how: str
    attacks: int = 0

    @property
    def gap(self) -> float:
        """Return how much of its cost a pattern may have too much, 0 for the cheapest."""
        return 0.0 if self.cost <= self.bound else (self.cost - self.bound) / self.cost


def cheapest_pattern(task: SuppressionTask, limits: Limits) -> SuppressionPattern:
    """Return a pattern that leaves every sensitive cell the room that it needs, of least cost where that is proved.

    Raises `Unsupported` where hiding all that may be hidden is not enough, naming how many cells.
    """
    everything = task.sensitive | task.open
    lost = task.attackable(everything, limits)
    if not len(lost):
        lost = np.array(sorted({c for _, some in task.from_inside(everything, limits) for c in some.tolist()}))
    if len(lost):
        many = f"{len(lost):,} of {int(task.sensitive.sum()):,} sensitive cells"
        raise Unsupported(f"no pattern is enough: {many} stay too narrow even where all cells are hidden")
    search = _PatternSearch(task, limits)
    best = _reduced(task, incremental_pattern(task, limits), limits)
    bound = 0
    for _ in range(ROUNDS):
        found = search.next_pattern(best)
        if found is None:
            break
        hidden, bound, proved = found[0], max(bound, found[1]), found[2]
        if task.cost_of(best) <= bound:
            break
        before, attacked = search.cuts, search.attacks(hidden) or search.attacks_from_inside(hidden)
        if not attacked or search.cuts == before:
            if task.holds(hidden, limits):
                best = hidden if task.cost_of(hidden) < task.cost_of(best) else best
                if proved:
                    break
            search.forbid(hidden)
    bound = min(bound, task.cost_of(best))
    return SuppressionPattern(
        best, task.cost_of(best), bound, task.attackable(best, limits), "CP-SAT with attacks", search.cuts
    )


class _Attacker:
    """The linear program of whoever sees a pattern: how far a cell can be from its true value."""

    def __init__(self, task: SuppressionTask, hidden: Bits, limits: Limits) -> None:
        self.task, self.limits = task, limits
        self.program = CellProgram(task.cells.relations, *task.ends(hidden), again=True)
        self.low, self.high = task.values.astype(np.float64), task.values.astype(np.float64)

    def wide(self, p: int) -> bool:
        """Return whether solutions met so far leave cell p the room that it needs."""
        reached = self.reaches(p)
        enough = all(far >= level[p] for far, level in zip(reached, self.task.levels, strict=True))
        return bool(enough and sum(reached) >= self.task.need[p])

    def reaches(self, p: int) -> tuple[int, int]:
        """Return how far over and under its true value solutions met so far take cell p."""
        true = self.task.values[p]
        return int(np.floor(self.high[p] + 1e-6) - true), int(true - np.ceil(self.low[p] - 1e-6))

    def reach(self, p: int, sign: int) -> tuple[int, Ints] | None:
        """Go as far as possible from the true value; return (over, y), multipliers of the relations that end it."""
        costs = np.zeros(len(self.low), dtype=np.int64)
        costs[p] = -sign
        found = self.program.solve(costs, self.limits)
        if found is None:
            return None
        z, free = self.task.values.astype(np.float64), self.program.free
        z[free] = self.program.ends[0][free] + found.x
        np.minimum(self.low, z, out=self.low)
        np.maximum(self.high, z, out=self.high)
        duals = self.program.spread(found.duals)
        for over in DENOMINATORS:
            y = integer_duals(duals, over)
            if np.abs(y - duals * over).max(initial=0.0) < 1e-6 * over:
                return over, y
        return DENOMINATORS[-1], integer_duals(duals, DENOMINATORS[-1])


class _PatternSearch:
    """CP-SAT's model of patterns: which open cells are hidden, and what attacks ask for."""

    def __init__(self, task: SuppressionTask, limits: Limits) -> None:
        from ortools.sat.python import cp_model

        self.task, self.limits, self.cuts = task, limits, 0
        self.model = cp_model.CpModel()
        self.column = np.full(len(task.values), -1, dtype=np.int64)
        self.open = np.flatnonzero(task.open)
        self.variables = [self.model.new_bool_var("") for _ in self.open]
        self.column[self.open] = np.arange(len(self.open))
        self.model.minimize(cp_model.LinearExpr.weighted_sum(self.variables, task.cost[self.open].tolist()))
        self.up = np.maximum(task.cells.high - task.values, 0)
        self.down = np.maximum(task.values - task.cells.low, 0)
        for cells in relations_of(task.cells.relations):
            self._companions(cells)

    def _companions(self, cells: Ints) -> None:
        """State that no cell of a relation is hidden alone in it, and that others give a sensitive one its room."""
        task = self.task
        if task.nowhere[cells].any():
            return
        for c in cells[(task.open | task.sensitive)[cells]].tolist():
            others = cells[cells != c]
            if task.sensitive[c]:
                self._cut((self.up + self.down)[others], others, int(task.need[c]))
            elif not task.sensitive[others].any():
                some = self.column[others[task.open[others]]].tolist()
                state(self.model, [*some, int(self.column[c])], [1] * len(some) + [-1], (0, None))

    def _cut(self, room: Ints, cells: Ints, need: int) -> None:
        """State that hidden cells add up to the room that is needed; cells that are hidden anyway count."""
        at = np.flatnonzero(room > 0)
        room, cells = np.minimum(room[at], need), cells[at]
        anyway = (self.task.sensitive | self.task.nowhere)[cells]
        left = need - int(room[anyway].sum())
        if left > 0:
            free = self.task.open[cells]
            coefs = np.minimum(room[free], left)
            state(self.model, self.column[cells[free]].tolist(), coefs.tolist(), (left, None))
            self.cuts += 1

    def next_pattern(self, best: Bits) -> tuple[Bits, int, bool] | None:
        """Return the cheapest pattern of the cuts so far, a bound on the cost of any, and whether it is cheapest."""
        from ortools.sat.python import cp_model

        if self.limits.late():
            return None
        self.model.clear_hints()  # type: ignore[no-untyped-call]
        for variable, at in zip(self.variables, self.open.tolist(), strict=True):
            self.model.add_hint(variable, bool(best[at]))
        status, solver = run(
            self.model, self.limits, max_deterministic_time=SEARCH, linearization_level=2, relative_gap_limit=GAP
        )
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return None
        hidden = self.task.sensitive.copy()
        hidden[self.open] = [bool(solver.value(variable)) for variable in self.variables]
        return hidden, int(np.ceil(solver.best_objective_bound - 1e-6)), status == cp_model.OPTIMAL

    def attacks(self, hidden: Bits) -> int:
        """Add a cut for every sensitive cell that has too little room in a pattern; return how many."""
        attacker, found = _Attacker(self.task, hidden, self.limits), 0
        for p in np.flatnonzero(self.task.sensitive).tolist():
            if attacker.wide(p):
                continue
            proofs = [(sign, attacker.reach(p, sign)) for sign in (1, -1)]
            if attacker.wide(p) or any(proof is None for _, proof in proofs):
                continue
            every, both = np.arange(len(self.column)), np.zeros(len(self.column), dtype=np.int64)
            ends = zip(proofs, attacker.reaches(p), self.task.levels, strict=True)
            for (sign, proof), reached, level in ends:
                room = self._room(p, sign, *proof) if proof is not None else both
                both = both + room
                if reached < level[p]:
                    self._cut(room, every, int(level[p]))
            if sum(attacker.reaches(p)) < self.task.need[p]:
                self._cut(both, every, int(self.task.need[p]))
            found += 1
        return found

    def attacks_from_inside(self, hidden: Bits) -> int:
        """Add a cut for every sensitive cell that follows for whoever knows one hidden cell; return how many."""
        found = 0
        for insider, _ in self.task.from_inside(hidden, self.limits):
            inside = _PatternSearch.__new__(_PatternSearch)
            inside.__dict__.update(self.__dict__, task=self.task.beside(insider))
            inside.up, inside.down = self.up.copy(), self.down.copy()
            inside.up[insider] = inside.down[insider] = 0
            found += inside.attacks(hidden)
            self.cuts = inside.cuts
        return found

    def _room(self, p: int, sign: int, over: int, y: Ints) -> Ints:
        """Return how much room every cell gives cell p in one direction where it is hidden, by these multipliers."""
        reduced = -combined(self.task.cells.relations, y)
        reduced[p] += -sign * over
        room = np.where(reduced < 0, -reduced.astype(object) * self.up, reduced.astype(object) * self.down)
        return np.array([min(-(-x // over), int(self.task.need[p])) for x in room.tolist()], dtype=np.int64)

    def forbid(self, hidden: Bits) -> None:
        """State that a pattern that whole numbers undo needs a further hidden cell."""
        more = np.flatnonzero(self.task.open & ~hidden)
        state(self.model, self.column[more].tolist(), [1] * len(more), (1, None))


def incremental_pattern(task: SuppressionTask, limits: Limits) -> Bits:
    """Return a pattern made cell by cell: each sensitive cell gets its room by the cheapest flow of further cells.

    Where somebody knows a hidden cell and another follows, that one gets a flow beside the known one. Cost: a linear
    program for each sensitive cell that has not its room by then, and for those that still lack it another.
    """
    flows, sensitive = _CheapestFlows(task), np.flatnonzero(task.sensitive)
    over, under = task.levels
    for p in sensitive[np.argsort(-task.need[sensitive], kind="stable")].tolist():
        if flows.wide(p):
            continue
        need = int(task.need[p])
        ways = [(sign, need) for sign, room in ((1, flows.up[p]), (-1, flows.down[p])) if room >= need][:1]
        for sign, least in [(1, int(over[p])), (-1, int(under[p]))] if over[p] else ways:
            if least:
                flows.hide(p, sign, least, limits)
    for _ in range(ROUNDS):
        before = int(flows.hidden.sum())
        for insider, lost in task.from_inside(flows.hidden, limits, audited=False):
            for p in lost.tolist():
                flows.hide(p, 1 if flows.up[p] else -1, 1, limits, insider)
        if int(flows.hidden.sum()) == before or limits.late():
            break
    return _repaired(task, flows.hidden, limits)


class _CheapestFlows:
    """The linear program of the cheapest further cells whose hiding lets one cell move, and what is hidden so far."""

    def __init__(self, task: SuppressionTask) -> None:
        self.task, self.hidden = task, task.sensitive.copy()
        shown, linear, n = task.fixed, task.cells.relations, len(task.values)
        self.up, self.down = (
            np.where(shown, 0, room) for room in (task.cells.high - task.values, task.values - task.cells.low)
        )
        self.rise, self.fall = np.zeros(n), np.zeros(n)  # how far flows so far move each cell
        self.room = np.concatenate([self.up, self.down]).astype(np.float64)
        nothing = np.zeros(len(linear))
        self.program = LinearProgram(nothing, nothing)
        entries = by_column(
            np.concatenate([linear.row, linear.row]), np.concatenate([linear.col, linear.col + n]),
            np.concatenate([linear.coef, -linear.coef]), 2 * n,
        )  # fmt: skip
        self.program.add(np.zeros(2 * n), (np.zeros(2 * n), self.room), entries)

    def wide(self, p: int) -> bool:
        """Return whether flows so far, or boxes of hidden cells, leave a cell its room: both stay hidden."""
        (over, under), rise, fall = self.task.levels, self.rise[p] + 1e-6, self.fall[p] + 1e-6
        if rise >= over[p] and fall >= under[p] and rise + fall >= self.task.need[p]:
            return True
        return bool(self.task.wide_by_boxes(np.array([p]), self.hidden)[0])

    def hide(self, p: int, sign: int, least: int, limits: Limits, fixed: int | None = None) -> None:
        """Hide the cheapest cells that let cell p move so far, without the cell that is `fixed`."""
        n, task = len(self.task.values), self.task
        column, other = (p, n + p) if sign > 0 else (n + p, p)
        price = np.where(self.hidden | task.nowhere, 0.0, task.cost / max(1.0, float(task.need[p])))
        self.program.price(np.concatenate([price, price]))
        held = [other] if fixed is None else [other, fixed, fixed + n]
        for one in held:
            self.program.close(one)
        self.program.between(column, float(least), self.room[column])
        found = self.program.run(limits)
        for one in (column, *held):
            self.program.between(one, 0.0, self.room[one])
        if found.optimal:
            self.hidden |= ((found.x[:n] > 1e-6) | (found.x[n:] > 1e-6)) & task.open
            step = found.x[:n] - found.x[n:]
            np.maximum(self.rise, step, out=self.rise)
            np.maximum(self.fall, -step, out=self.fall)


def _repaired(task: SuppressionTask, hidden: Bits, limits: Limits) -> Bits:
    """Return a pattern with all open cells of the relations of what still lacks room hidden, until nothing does."""
    hidden = hidden.copy()
    reached = np.zeros(len(hidden), dtype=bool)
    while True:
        lost = {*task.attackable(hidden, limits).tolist()}
        if not lost:
            lost = {c for insider, some in task.from_inside(hidden, limits) for c in (insider, *some.tolist())}
        if not lost:
            break
        reached[list(lost)] = True
        for cells in relations_of(task.cells.relations):
            if reached[cells].any():
                hidden[cells] |= task.open[cells]
        if not (task.open & ~hidden).any() or limits.late():
            break
        reached |= hidden
    return hidden


def _reduced(task: SuppressionTask, hidden: Bits, limits: Limits) -> Bits:
    """Return a pattern without hidden cells that can be shown, the dearest first; a part of them is tried."""
    extra = np.flatnonzero(hidden & task.open)
    for c in extra[np.argsort(-task.cost[extra], kind="stable")][: max(10, TRIED // len(task.values))].tolist():
        if limits.late():
            break
        fewer = hidden.copy()
        fewer[c] = False
        if task.holds(fewer, limits):
            hidden = fewer
    return hidden


def hypercube_pattern(task: SuppressionTask, limits: Limits) -> Bits:
    """Return a pattern in which every hidden cell is a corner of a box of hidden cells of each table that it is in.

    The cheapest box whose corners have the room that is needed; corners of 0 are none. A heuristic: neither cheapest
    nor proof against every attack. Cost: cells of two lines of a table, for every hidden cell.
    """
    hidden, lines = task.sensitive.copy(), task.lines
    done: set[tuple[int, int]] = set()
    queue = [(int(task.need[p]), p) for p in np.flatnonzero(task.sensitive).tolist()]
    queue.sort(reverse=True)
    while queue and not limits.late():
        need, p = queue.pop(0)
        groups = [(number, some) for number, some in lines.through(p) if (p, number) not in done]
        done |= {(p, number) for number, _ in groups}
        for _, some in groups:
            corners = _cheapest_box(lines, p, some, task, hidden, need)
            fresh = [c for c in corners if not hidden[c] and not task.nowhere[c]]
            hidden[fresh] = True
            queue += [(need, c) for c in fresh]
    return hidden


def _cheapest_box(
    lines_of: TableLines, p: int, lines: Sequence[TableLine], task: SuppressionTask, hidden: Bits, need: int
) -> list[int]:
    """Return the corners of the cheapest box through a cell that has the room that is needed; [] for none."""
    best, found = -1, list[int]()
    own = [int(signs[members == p][0]) for _, members, signs in lines]
    others = [[(int(c), int(s)) for c, s in zip(members, signs, strict=True) if c != p] for _, members, signs in lines]
    for chosen in product(*others):
        corners = lines_of.corners(p, [line[0] for line in lines], chosen, own)
        if corners is None:
            continue
        price, room_up, room_down = 0, 1 << 62, 1 << 62
        for c, way in corners:
            up, down = int(task.cells.high[c] - task.values[c]), int(task.values[c] - task.cells.low[c])
            room_up, room_down = min(room_up, up if way > 0 else down), min(room_down, down if way > 0 else up)
            blocked = not (hidden[c] or task.nowhere[c]) and (not task.open[c] or not task.values[c])
            price += (1 << 60) if blocked else 0 if hidden[c] or task.nowhere[c] else int(task.cost[c])
        enough = room_up + room_down >= need and room_up >= task.levels[0][p] and room_down >= task.levels[1][p]
        if enough and price < 1 << 60 and (best < 0 or price < best):
            best, found = price, [c for c, _ in corners]
    return found
