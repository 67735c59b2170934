"""Looks for a proof over cells: propagation, weighted sums, cases; then writes down only what matters.

Source: as in `solvers.kernel.claims`; branching on the number of rows in a cell as in branch and bound (Land, Doig
1960).

Derivations of bounds on cells, and the part of one that a conclusion rests on.

Source: implication graphs followed backwards (Marques-Silva, Sakallah, "GRASP", ICCAD 1996).
"""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from solvers.cells.linear_system import Propagated, SparseStatements, propagate
from solvers.foundation.array_types import Ints
from solvers.foundation.limits import Limits
from solvers.kernel.cells import Live, NumberedStatements
from solvers.kernel.checker import CellReplay, Goal, goal_of
from solvers.kernel.claims import BoundStep, Cases, CaseSplit, OverCells, OverRows, ProofStep, Sum
from solvers.programs.linear_program import SumSearch

Bound = tuple[int, bool]  # a cell, and whether its upper bound is meant


class Trace:
    """Steps (cell, upper, reason) in order, after those of a parent, which then must not grow any more.

    Step numbers run on from the parent's.
    """

    def __init__(self, linear: SparseStatements, parent: Trace | None = None) -> None:
        self.linear, self.parent = linear, parent
        self.first: int = 0 if parent is None else parent.first + len(parent.steps)
        self.steps: list[tuple[int, bool, int]] = []
        self._at: dict[Bound, list[int]] = {}
        self._rests_on: dict[int, tuple[int, ...]] = {}

    def add(self, cell: int, upper: bool, reason: int, rests_on: Iterable[int] | None = None) -> int:
        """Append a step and return its number; `rests_on` are the steps behind it where its reason is no statement."""
        number = self.first + len(self.steps)
        self.steps.append((cell, upper, reason))
        self._at.setdefault((cell, upper), []).append(number)
        if rests_on is not None:
            self._rests_on[number] = tuple(rests_on)
        return number

    def extend(self, found: Propagated) -> None:
        """Append every step of a propagation."""
        for sweep in found.trace:
            for cell, statement in zip(sweep.cell.tolist(), sweep.statement.tolist(), strict=True):
                self.add(cell, sweep.upper, statement)

    def last(self, bound: Bound, before: int) -> int | None:
        """Return the last step that moved a bound before a step, None where none did."""
        numbers = self._at.get(bound, [])
        i = bisect_left(numbers, before)
        if i:
            return numbers[i - 1]
        return None if self.parent is None else self.parent.last(bound, before)

    def rests_on(self, number: int) -> tuple[int, ...]:
        """Return the steps that a step uses directly."""
        if number < self.first and self.parent is not None:
            return self.parent.rests_on(number)
        if number not in self._rests_on:
            cell, upper, reason = self.steps[number - self.first]
            self._rests_on[number] = tuple(self.behind(reason, cell, upper, number))
        return self._rests_on[number]

    def behind(self, statement: int, cell: int, upper: bool, before: int) -> list[int]:
        """Return the steps from which a statement implies a bound on a cell."""
        span = slice(int(self.linear.start[statement]), int(self.linear.start[statement + 1]))
        cells, plus = self.linear.col[span], self.linear.coef[span] > 0
        here = bool(plus[np.flatnonzero(cells == cell)[0]])
        # An upper bound by a positive coefficient is what the others' least leaves of the statement's high.
        sides = plus != (upper == here)
        found = [
            self.last((c, side), before) for c, side in zip(cells.tolist(), sides.tolist(), strict=True) if c != cell
        ]
        return [n for n in found if n is not None]

    def behind_bounds(self, bounds: Iterable[Bound]) -> list[int]:
        """Return the last steps that moved these bounds."""
        end = self.first + len(self.steps)
        found = [self.last(b, end) for b in bounds]
        return [n for n in found if n is not None]

    def closure(self, numbers: Iterable[int], kept: dict[Trace, set[int]]) -> None:
        """Note in `kept`, trace by trace, the steps and all that they rest on."""
        stack = [n for n in numbers if self._keep(n, kept)]
        while stack:
            stack += [n for n in self.rests_on(stack.pop()) if self._keep(n, kept)]

    def _keep(self, number: int, kept: dict[Trace, set[int]]) -> bool:
        """Note one step; tell whether it was not noted before."""
        if number < self.first and self.parent is not None:
            return self.parent._keep(number, kept)
        here = kept.setdefault(self, set())
        if number in here:
            return False
        here.add(number)
        return True


MAX_NODES = 400
MAX_FIXED = 2_000  # cells whose bounds one weighted sum may move


@dataclass(eq=False)
class ProofNode:
    """A node under construction: what propagation found there, its own steps, and how it ends."""

    linear: SparseStatements
    found: Propagated
    trace: Trace
    open: tuple[int, ...]  # choices not yet taken apart
    sum: int | None = None
    branch: tuple[int, int] | None = None
    choice: int | None = None
    inner: list[ProofNode] = field(default_factory=list)


class Base:
    """The cells of some blocks with what propagation says about them: the start of every proof about them."""

    def __init__(self, facts: NumberedStatements, live: Live, blocks: tuple[int, ...], limits: Limits) -> None:
        self.facts, self.live, self.blocks = facts, live, blocks
        maximum = int(facts.release.rows.high or 0)
        self.usable = facts.within(blocks) & facts.unconditional
        self.linear = live.linear.take(self.usable)
        start = np.zeros(live.cells, dtype=np.int64)
        self.found = propagate(self.linear, start, np.full(live.cells, maximum, dtype=np.int64), limits.expired)
        self.trace = Trace(live.linear)
        self.trace.extend(self.found)
        self.choices = tuple(b for b in blocks if b in facts.release.choices)
        self._claims = 0
        self._warm: SumSearch | None = None

    def sums(self) -> SumSearch:
        """Return where sums are looked for at the start of a proof: from the second claim on the same, kept warm."""
        self._claims += 1
        found = self._warm or SumSearch(self.linear, self.found.lower, self.found.upper, again=self._claims > 1)
        self._warm = found if self._claims > 1 else None
        return found

    def within(self, facts: NumberedStatements) -> Base:
        """Return the same base for statements that are read within other limits."""
        other = copy.copy(self)
        other.facts = facts
        return other


class ProofSearch:
    """One claim's proof over the cells of a base."""

    def __init__(self, base: Base, claim: OverRows, limits: Limits) -> None:
        self.base, self.limits = base, limits
        self.goal: Goal = goal_of(base.facts, base.live, claim)
        self.sums: list[Sum] = []
        self.kept: dict[Trace, set[int]] = {}
        self.nodes = 0
        self.replay = CellReplay(base.facts, base.live, OverCells(base.blocks, (), (), ProofStep()), limits)

    def proof(self, branching: bool) -> OverCells | None:
        """Return a proof, None where none was found; `branching` allows cases on the rows in a cell."""
        base = self.base
        root = ProofNode(base.linear, base.found, Trace(base.live.linear, base.trace), base.choices)
        return Writer(self, root).proof() if self.close(root, self.base.usable, branching) else None

    def close(self, draft: ProofNode, usable: NDArray[np.bool_], branching: bool) -> bool:
        """Find how a node ends; tell whether it was found."""
        self.nodes += 1
        if self.nodes > MAX_NODES or self.limits.expired():
            return False
        if draft.found.conflict is not None:
            self.end_in_conflict(draft)
            return True
        self.replay.usable = usable
        while True:
            if self.ends_in_bounds(draft) or self.ends_in_sum(draft):
                return True
            if self.goal.target is None or not self.moves_many(draft):
                break
        if draft.open:
            return self.close_choice(draft, usable, branching)
        return branching and self.close_branch(draft, usable, branching)

    def keep(self, draft: ProofNode, bounds: Iterable[Bound]) -> None:
        """Keep what these bounds rest on."""
        draft.trace.closure(draft.trace.behind_bounds(bounds), self.kept)

    def end_in_conflict(self, draft: ProofNode) -> None:
        """End a node whose bounds cross, after one more step where a statement cannot be met within them."""
        found, linear = draft.found, draft.linear
        crossed = np.flatnonzero(found.lower > found.upper)
        if len(crossed):
            self.keep(draft, [(int(crossed[0]), True), (int(crossed[0]), False)])
            return
        s = int(found.conflict or 0)
        span = slice(int(linear.start[s]), int(linear.start[s + 1]))
        cells, coef = linear.col[span], linear.coef[span]
        if not len(cells):  # a statement that counts rows where none can be
            y = int(found.upper.sum()) + abs(self.goal.maximum) + 1
            draft.sum = self.add_sum(Sum(1, ((s, -y if int(linear.low[s]) > 0 else y),)))
            return
        minimum = int(np.minimum(coef * found.lower[cells], coef * found.upper[cells]).sum())
        cell, upper = int(cells[0]), (minimum > int(linear.high[s])) == (int(coef[0]) > 0)
        draft.trace.add(cell, upper, s)
        self.keep(draft, [(cell, True), (cell, False)])

    def ends_in_bounds(self, draft: ProofNode) -> bool:
        """Return whether the bounds alone settle the claim."""
        lower, upper, goal = draft.found.lower, draft.found.upper, self.goal
        if goal.target is not None:
            if not (np.array_equal(lower, goal.target) and np.array_equal(upper, goal.target)):
                return False
            self.keep(draft, [(c, side) for c in range(len(lower)) for side in (True, False)])
            return True
        if int((goal.weights * np.where(goal.weights > 0, upper, lower)).sum()) > goal.maximum:
            return False
        at = np.flatnonzero(goal.weights)
        self.keep(draft, zip(at.tolist(), (goal.weights[at] > 0).tolist(), strict=True))
        return True

    def ends_in_sum(self, draft: ProofNode) -> bool:
        """Return whether a weighted sum of statements settles the claim, found by linear programming."""
        if not (draft.found.lower < draft.found.upper).any():
            return False
        start = draft.found is self.base.found
        program = self.base.sums() if start else SumSearch(draft.linear, draft.found.lower, draft.found.upper)
        about = bool(self.goal.weights.any())
        sums = program.bounding(self.goal.weights, self.limits) if about else None
        if sums is None:
            scale = int(draft.found.upper.sum()) + abs(self.goal.maximum) + 1 if about else 1
            sums = program.refuting(scale, self.limits)
        found = None if sums is None else self.first_sum(draft, sums, self.goal.weights, self.goal.maximum)
        if found is None:
            return False
        draft.sum = self.add_sum(found)
        self.keep(draft, self.used(found, self.goal.weights))
        return True

    def first_sum(self, draft: ProofNode, sums: Iterable[Sum], weights: Ints, maximum: int) -> Sum | None:
        """Return the first sum that proves weights @ z <= most within the bounds of a node."""
        self.replay.lower, self.replay.upper = draft.found.lower, draft.found.upper
        for one in sums:
            if self.replay.by_sum(weights, one, self.replay.combine(one)) <= maximum:
                return one
        return None

    def used(self, one: Sum, weights: Ints) -> list[Bound]:
        """Return the bounds on cells that a sum makes use of."""
        rest = weights.astype(object) * one.over - self.replay.combine(one)
        at = np.flatnonzero(rest != 0)
        return [(c, bool(rest[c] > 0)) for c in at.tolist()]

    def add_sum(self, one: Sum) -> int:
        """Note a sum; return its number."""
        self.sums.append(one)
        return len(self.sums) - 1

    def moves_many(self, draft: ProofNode) -> bool:
        """Fix cells at the bound where the world has them, all by one weighted sum; tell whether any was fixed.

        If Σ (z_c - lower_c) <= 0 over some cells follows, then z_c <= lower_c follows for each of them alone.
        """
        found, target = draft.found, self.goal.target
        if target is None:
            return False
        free = found.lower < found.upper
        weights = np.where(free & (target == found.lower), 1, np.where(free & (target == found.upper), -1, 0))
        cells = np.flatnonzero(weights)
        if not 0 < len(cells) <= MAX_FIXED:
            return False
        sums = SumSearch(draft.linear, found.lower, found.upper).bounding(weights, self.limits)
        one = None if sums is None else self.first_sum(draft, sums, weights, int(weights @ target))
        if one is None:
            return False
        number = self.add_sum(one)
        behind = draft.trace.behind_bounds(self.used(one, weights))
        lower, upper = found.lower.copy(), found.upper.copy()
        for c in cells.tolist():
            draft.trace.add(c, bool(weights[c] > 0), -1 - number, behind)
        upper[weights > 0], lower[weights < 0] = target[weights > 0], target[weights < 0]
        draft.found = propagate(draft.linear, lower, upper, self.limits.expired)
        draft.trace.extend(draft.found)
        return True

    def close_choice(self, draft: ProofNode, usable: NDArray[np.bool_], branching: bool) -> bool:
        """End a node in one node per alternative of a choice."""
        draft.choice = draft.open[0]
        for numbers in self.base.facts.alternatives(draft.choice):
            holds = usable.copy()
            holds[numbers] = True
            linear = self.base.live.linear.take(holds)
            inner = self.child(draft, linear, (draft.found.lower, draft.found.upper), draft.open[1:])
            if not self.close(inner, holds, branching):
                return False
        return True

    def close_branch(self, draft: ProofNode, usable: NDArray[np.bool_], branching: bool) -> bool:
        """End a node in two: few and many rows in a cell."""
        found, target = draft.found, self.goal.target
        room = found.upper - found.lower
        if not room.any():
            return False
        asked = (room > 0) & (self.goal.weights != 0)
        candidates = np.flatnonzero(asked if asked.any() else room > 0)
        cell = int(candidates[np.argmin(room[candidates])])
        value = int(found.lower[cell] + found.upper[cell]) // 2
        if target is not None and found.lower[cell] <= target[cell] <= found.upper[cell]:
            value = int(target[cell]) - (1 if target[cell] > found.lower[cell] else 0)
        draft.branch = cell, value
        for below in (True, False):
            lower, upper = found.lower.copy(), found.upper.copy()
            if below:
                upper[cell] = value
            else:
                lower[cell] = value + 1
            if not self.close(self.child(draft, draft.linear, (lower, upper), draft.open), usable, branching):
                return False
        return True

    def child(
        self, draft: ProofNode, linear: SparseStatements, bounds: tuple[Ints, Ints], choices: tuple[int, ...]
    ) -> ProofNode:
        """Return a node below another, propagated."""
        found = propagate(linear, *bounds, self.limits.expired)
        inner = ProofNode(linear, found, Trace(self.base.live.linear, draft.trace), choices)
        inner.trace.extend(inner.found)
        draft.inner.append(inner)
        return inner


class Writer:
    """Writes a search's drafts down as a proof: kept steps with the values that they imply, in order."""

    def __init__(self, search: ProofSearch, root: ProofNode) -> None:
        self.search, self.base, self.root = search, search.base, root
        self.named: dict[int, int] = {}
        for trace, numbers in search.kept.items():
            for n in numbers:
                self.named.setdefault(trace.steps[n - trace.first][0], len(self.named))
        stack = [root]
        while stack:
            draft = stack.pop()
            stack += draft.inner
            if draft.branch is not None:
                self.named.setdefault(draft.branch[0], len(self.named))
        cells = _rows_in(self.base.live, list(self.named))
        self.shell = OverCells(self.base.blocks, cells, tuple(search.sums), ProofStep())
        self.replay = CellReplay(self.base.facts, self.base.live, self.shell, search.limits)

    def proof(self) -> OverCells:
        """Return the proof."""
        return replace(self.shell, tree=self.node(self.root, self.base.trace))

    def node(self, draft: ProofNode, *before: Trace) -> ProofStep:
        """Return a node; the replay stands at its start."""
        steps = []
        for trace in (*before, draft.trace):
            for n in sorted(self.search.kept.get(trace, ())):
                cell, upper, reason = trace.steps[n - trace.first]
                value = self.replay.implied(cell, upper, reason)
                bound = self.replay.upper if upper else self.replay.lower
                if value is not None and (value < bound[cell] if upper else value > bound[cell]):
                    bound[cell] = value
                    steps.append(BoundStep(self.named[cell], upper, value, reason))
        if draft.choice is not None:
            alternatives = self.base.facts.alternatives(draft.choice)
            pairs = zip(draft.inner, alternatives, strict=True)
            return ProofStep(
                tuple(steps), Cases(draft.choice, tuple(self.case(inner, holds) for inner, holds in pairs))
            )
        if draft.branch is not None:
            cell, value = draft.branch
            below = self.case(draft.inner[0], (), (cell, True, value))
            above = self.case(draft.inner[1], (), (cell, False, value + 1))
            return ProofStep(tuple(steps), CaseSplit(self.named[cell], value, below, above))
        return ProofStep(tuple(steps), draft.sum)

    def case(
        self, draft: ProofNode, holds: Sequence[int] | Ints, bound: tuple[int, bool, int] | None = None
    ) -> ProofStep:
        """Return a case, where some statements hold or a bound does; the replay is put back where it was."""
        replay = self.replay
        saved = replay.lower.copy(), replay.upper.copy(), replay.usable.copy()
        replay.usable[list(holds)] = True
        if bound is not None:
            (replay.upper if bound[1] else replay.lower)[bound[0]] = bound[2]
        out = self.node(draft)
        replay.lower, replay.upper, replay.usable = saved
        return out


def _rows_in(live: Live, cells: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return a row of each cell: the first part that its first piece has of every attribute."""
    if not cells:
        return ()
    first = np.full(live.cells, -1, dtype=np.int64)
    first[live.cell[::-1]] = np.arange(len(live.cell))[::-1]
    words = live.words[first[list(cells)]]
    found = [np.argmax(live.layout.parts(words, k), axis=1) for k in range(len(live.layout.domain.attributes))]
    return tuple(map(tuple, np.stack(found, axis=1).tolist()))
