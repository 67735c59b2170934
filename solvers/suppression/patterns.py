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
from itertools import product

import numpy as np

from solvers.cells.linear_system import SparseStatements
from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.cpsat import run, state
from solvers.programs.dual_bounds import DENOMINATORS, combined, integer_duals
from solvers.programs.linear_program import CellProgram, LinearProgram, by_column
from solvers.statements.boxes import Box
from solvers.suppression.intervals import CellIntervals, cell_intervals, components_of
from solvers.suppression.linked_cells import LinkedCells

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
        least, most = self.audited(hidden, limits).met
        over, under = self.levels
        wide = (most - least >= self.need) & (most >= self.values + over) & (least <= self.values - under)
        return np.flatnonzero(self.sensitive & ~wide).astype(np.int64)

    def beside(self, insider: int) -> SuppressionTask:
        """Return what is asked where one hidden cell is known: that no other sensitive one follows from it."""
        low, high = self.cells.low.copy(), self.cells.high.copy()
        low[insider] = high[insider] = self.values[insider]
        sensitive = self.sensitive & (np.arange(len(low)) != insider)
        known = replace(self.cells, low=low, high=high)
        return replace(
            self, cells=known, sensitive=sensitive, need=sensitive.astype(np.int64), apart=None, insiders=None
        )

    def from_inside(self, hidden: Bits, limits: Limits) -> Iterator[tuple[int, Ints]]:
        """Yield (insider, sensitive cells that follow) of every cell whose value somebody alone knows.

        What is known of one cell changes those alone that hang together with it. Cost: linear programs over these.
        """
        unseen = hidden | self.nowhere
        insiders = [] if self.insiders is None else np.flatnonzero(unseen & self.insiders).tolist()
        if not insiders:
            return
        low, high = self.ends(hidden)
        seen = replace(self.cells, low=low, high=high)
        group, anyway = components_of(seen, limits), self._following(seen, self.sensitive, limits)
        for insider in insiders:
            low, high = seen.low.copy(), seen.high.copy()
            low[insider] = high[insider] = self.values[insider]
            asked = self.sensitive & ~anyway & (group == group[insider])
            asked[insider] = False
            lost = anyway | self._following(replace(seen, low=low, high=high), asked, limits)
            lost[insider] = False
            if lost.any():
                yield insider, np.flatnonzero(lost).astype(np.int64)

    def _following(self, cells: LinkedCells, asked: Bits, limits: Limits) -> Bits:
        """Return which of the cells that are asked about are not proved to have two values."""
        least, most = cell_intervals(cells, np.flatnonzero(asked), limits, self.values, differing=True).met
        return asked & (least >= most)

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


def relations_of(linear: SparseStatements) -> Iterator[Ints]:
    """Yield the cells of every relation."""
    for r in range(len(linear)):
        yield linear.col[linear.start[r] : linear.start[r + 1]]


def incremental_pattern(task: SuppressionTask, limits: Limits) -> Bits:
    """Return a pattern made cell by cell: each sensitive cell gets its room by the cheapest flow of further cells.

    Cost: a linear program for each sensitive cell, and for those that still lack room another.
    """
    hidden, n, linear = task.sensitive.copy(), len(task.values), task.cells.relations
    up, down = (task.cells.high - task.values).astype(np.float64), (task.values - task.cells.low).astype(np.float64)
    shown = ~(task.sensitive | task.open | task.nowhere)
    up[shown] = down[shown] = 0.0
    nothing = np.zeros(len(linear))
    program = LinearProgram(nothing, nothing)
    entries = by_column(
        np.concatenate([linear.row, linear.row]), np.concatenate([linear.col, linear.col + n]),
        np.concatenate([linear.coef, -linear.coef]), 2 * n,
    )  # fmt: skip
    program.add(np.zeros(2 * n), (np.zeros(2 * n), np.concatenate([up, down])), entries)
    free = hidden | task.nowhere
    order = np.flatnonzero(task.sensitive)
    for p in order[np.argsort(-task.need[order], kind="stable")].tolist():
        need = float(task.need[p])
        ways = [(column, need) for column, room in ((p, up[p]), (n + p, down[p])) if room >= need][:1]
        if task.levels[0][p]:
            ways = [(p, float(task.levels[0][p])), (n + p, float(task.levels[1][p]))]
        for column, least in ways:
            price = np.where(free, 0.0, task.cost / max(1.0, need))
            program.price(np.concatenate([price, price]))
            program.between(column, least, float(np.concatenate([up, down])[column]))
            program.between((column + n) % (2 * n), 0.0, 0.0)
            found = program.run(limits)
            program.between(column, 0.0, float(np.concatenate([up, down])[column]))
            other = (column + n) % (2 * n)
            program.between(other, 0.0, float(np.concatenate([up, down])[other]))
            if found.optimal:
                used = (found.x[:n] > 1e-6) | (found.x[n:] > 1e-6)
                hidden |= used & task.open
                free = hidden | task.nowhere
    return _repaired(task, hidden, limits)


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
    cells, hidden = task.cells, task.sensitive.copy()
    lines = _Lines(cells)
    done: set[tuple[int, int]] = set()
    queue = [(int(task.need[p]), p) for p in np.flatnonzero(task.sensitive).tolist()]
    queue.sort(reverse=True)
    while queue and not limits.late():
        need, p = queue.pop(0)
        for corners in lines.boxes_of(p, task, hidden, need, done):
            fresh = [c for c in corners if not hidden[c] and not task.nowhere[c]]
            hidden[fresh] = True
            queue += [(need, c) for c in fresh]
    return hidden


class _Lines:
    """The relations of cells as lines of tables: which cells stand beside a cell along an attribute."""

    def __init__(self, cells: LinkedCells) -> None:
        self.cells, linear = cells, cells.relations
        self.named = [dict(box.literals) for box in cells.boxes]
        self.of: dict[int, list[tuple[int, Ints, Ints]]] = {}
        for r, members in enumerate(relations_of(linear)):
            signs = linear.coef[linear.start[r] : linear.start[r + 1]]
            first, second = (self.named[c] for c in members[:2].tolist())
            axis = next(k for k in {*first, *second} if first.get(k) != second.get(k))
            for c in members.tolist():
                self.of.setdefault(c, []).append((axis, members, signs))

    def boxes_of(
        self, p: int, task: SuppressionTask, hidden: Bits, need: int, done: set[tuple[int, int]]
    ) -> Iterator[list[int]]:
        """Yield the corners of the cheapest box of each group of lines through a cell, one along each attribute."""
        for number, table in enumerate(self.cells.tables):
            axes = [
                [line for line in self.of.get(p, ()) if line[0] == k and self._in_table(line, table)]
                for k in sorted(table)
            ]
            if not table.issuperset(self.named[p]) or not all(axes) or (p, number) in done:
                continue
            done.add((p, number))
            for lines in product(*axes):
                found = self._cheapest(p, lines, task, hidden, need)
                if found:
                    yield found

    def _in_table(self, line: tuple[int, Ints, Ints], table: frozenset[int]) -> bool:
        """Return whether the cells of a line name no attribute beside those of a table."""
        return table.issuperset(self.named[int(line[1][-1])]) and table.issuperset(self.named[int(line[1][0])])

    def _cheapest(
        self, p: int, lines: Sequence[tuple[int, Ints, Ints]], task: SuppressionTask, hidden: Bits, need: int
    ) -> list[int]:
        """Return the corners of the cheapest box through a cell that has the room that is needed; [] for none."""
        best, found = -1, list[int]()
        own = [int(signs[members == p][0]) for _, members, signs in lines]
        others = [
            [(int(c), int(s)) for c, s in zip(members, signs, strict=True) if c != p] for _, members, signs in lines
        ]
        for chosen in product(*others):
            corners = self._corners(p, [line[0] for line in lines], chosen, own)
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

    def _corners(
        self, p: int, axes: Sequence[int], chosen: Sequence[tuple[int, int]], own: Sequence[int]
    ) -> list[tuple[int, int]] | None:
        """Return the corners of the box between a cell and others along some attributes, and which way each moves."""
        out = []
        for take in product((False, True), repeat=len(axes)):
            named, way = dict(self.named[p]), 1
            for k, (c, sign), mine, other in zip(axes, chosen, own, take, strict=True):
                if other:
                    named.pop(k, None)
                    if k in self.named[c]:
                        named[k] = self.named[c][k]
                    way *= -mine * sign
            at = self.cells.place.get(Box(tuple(sorted(named.items()))))
            if at is None:
                return None
            out.append((at, way))
        return out
