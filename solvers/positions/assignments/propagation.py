"""Propagation on one problem: its state, its steps so far, and what is done in which order.

Values tried one by one: what leads to a row without values is removed, with the steps that show it.

Labels by position: what the trees' class totals leave of them, by linear programming, proved in whole numbers.

Of every tree the multiplicities of the rows with a label add up to what the tree counts of it, and the number of
different ones to what its leaves say. With one unknown in [0, 1] per row and label that is a linear program, and for
random multiplicities its only point is the true labelling as long as unknown labels are fewer than about twice the
equations. A point inside says which rows may be settled, a second program how far these can be from it; its duals,
rounded, prove that they are not (`proves`).

Source: Donoho, Tanner, "Counting the faces of randomly-projected hypercubes and orthants, with applications", Discrete
& Computational Geometry 43, 2010 (when a binary vector is the only point of a box that meets random equations);
Neumaier, Shcherbina, "Safe bounds in linear and mixed-integer linear programming", Mathematical Programming 99, 2004.

The queue: rows revised, counts bounded, flows filtered, until nothing changes, and every removal as a step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.foundation.errors import Inconclusive
from solvers.foundation.exact import EXACT, magnitude
from solvers.foundation.limits import Limits, ended
from solvers.kernel.claims import Labelled, Removal, ValueRemoval
from solvers.positions.assignments.domains import Domains, DomainState, ProblemTables, pack_bits, values_left
from solvers.positions.assignments.loops import RowLoops, fastest
from solvers.programs.dual_bounds import integer_duals, rounded_duals
from solvers.programs.linear_program import LinearProgram, ProgramSolution, by_column
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import Meetings, RowProblem

WORK = 1 << 27  # words that may be looked at between two looks at the clock
PER_WORD = 5e-9  # of work


def propagate(
    loops: RowLoops, tables: ProblemTables, state: DomainState, steps: list[Removal], limits: Limits
) -> bool | None:
    """Remove what follows until nothing changes; the steps are added to `steps` in order.

    Returns whether every row has a value left in every tree that saw it, None where the time ended before that was
    settled: `state` then says what is open, and another call goes on from there.
    """
    budget = max(1, WORK // tables.look)
    while True:
        settled: bool | None = None
        while settled is None:
            if limits.expired():
                return None
            found, settled = loops.narrow(tables, state, budget)
            limits.charge(PER_WORD * WORK if settled is None else 0.0)
            steps += found
        if not settled:
            return False
        for t in np.flatnonzero(state.flows).tolist():
            if limits.expired():
                return None
            found, contradicted = loops.flow(tables, state, t)
            steps += found
            if contradicted:
                return False
            if state.counts[t]:
                break
        if not (state.changed.any() or state.counts.any() or state.flows.any()):
            return True


SETTLED = 1e-3  # how near to 1 the unknown of a label comes at a point inside where it can be nothing else
MOVED = 1e-5  # by how much a row must leave its label to count as one that may
STATE_BYTES, STATE_WORK = 40, 2e-8  # of a statement and an unknown, while the program is written down
LARGE = 200_000  # entries of a program that is solved only where it may pay
PAYS = 0.4  # equations per unknown bit below which nothing was ever settled (0.5 is where all is, for two labels)
ROUNDS = 30  # rows that turn out to be open are left out so often
SINGLE = 12  # rows tried one by one where none are settled together
FINE = (1 << 30, 1 << 40)  # denominators of multipliers, where coarse ones do not do


@dataclass(frozen=True, eq=False)
class Totals:
    """What trees count of every label: the multiplicities of its rows add up to `weight[t, k]` (trees, labels).

    Between `low[t, k]` and `high[t, k]` different rows of the bag have label k. `usable[t]`: the tree tells labels.
    """

    weight: Ints
    low: Ints
    high: Ints
    usable: Bits


@dataclass(frozen=True, eq=False)
class LabelStatements:
    """Statements on the labels of rows: statement s is on label `label[s]` and the rows of tree `tree[s]`.

    Its rows count by multiplicity, or (`distinct[s]`) once each, and add up to between `low[s]` and `high[s]`.
    """

    tree: Ints
    label: Ints
    distinct: Bits
    low: Ints
    high: Ints


def label_steps(problem: RowProblem, domains: Domains, limits: Limits) -> Iterator[Labelled]:
    """Yield proofs of labels that are still open: one of many rows, or where there is none some of one row each.

    Each follows from the labels that are left at the start, so that any of them may be used. Where the totals
    contradict each other, a step gives a row a label that it cannot have, if some row has one. Cost: two linear
    programs with an unknown per open row and label, then up to `SINGLE` more; at most half of the time left.
    """
    left, known = domains.labels(), _totals(problem)
    open_rows = np.flatnonzero(left.sum(axis=1) > 1)
    if not len(open_rows) or known is None or not left.any(axis=1).all() or limits.expired():
        return
    size = len(_statements(problem, known).tree) * (int(left[open_rows].sum()) - len(open_rows))
    if not limits.fits(STATE_BYTES * size) or not limits.pay(STATE_WORK * size):
        return
    search = LabelSearch(problem, known, left, open_rows)
    if search.worthwhile():
        with suppress(Inconclusive):
            yield from search.steps(limits.stage("labels"))


def _totals(problem: RowProblem) -> Totals | None:
    """Return what the trees count of every label, None where no tree tells labels. Cost: linear in the values."""
    labels = problem.release.domain.labels
    usable = np.ones(problem.trees, dtype=bool)
    usable[problem.tree[problem.label == ANY_LABEL]] = False
    if problem.release.domain.label is None or labels < 2 or not usable.any():
        return None
    sums = np.zeros((3, problem.trees, labels), dtype=np.int64)
    told = np.flatnonzero(usable[problem.tree])
    for out, value in zip(sums, (problem.weight, problem.low, problem.high), strict=True):
        np.add.at(out, (problem.tree[told], problem.label[told]), value[told])
    return Totals(sums[0], sums[1], sums[2], usable)


def _statements(problem: RowProblem, known: Totals) -> LabelStatements:
    """Return the statements on labels, without those that the others imply (a row has exactly one label)."""
    found: list[tuple[int, int, bool, int, int]] = []
    for t in np.flatnonzero(known.usable).tolist():
        times = problem.times[t]
        weight, low, high = known.weight[t], known.low[t], known.high[t]
        implied = int(weight.sum()) == int(times.sum(dtype=np.int64))
        found += [(t, k, False, int(weight[k]), int(weight[k])) for k in range(int(implied), len(weight))]
        if times.max(initial=0) > 1:
            implied = bool((low == high).all()) and int(low.sum()) == int((times > 0).sum())
            found += [(t, k, True, int(low[k]), int(high[k])) for k in range(int(implied), len(weight))]
    tree, label, distinct, low, high = (np.array(x, dtype=np.int64) for x in zip(*found, strict=True))
    return LabelStatements(tree, label, distinct.astype(bool), low, high)


def _leaves_no_exception(problem: RowProblem, known: Totals, left: Bits, step: Labelled) -> bool:
    """Return what `proves` does, of totals and labels left (rows, labels) that are at hand."""
    rows, labels = step.rows, step.labels
    if step.over < 1 or len(set(rows)) != len(rows) or len(labels) != len(rows) or not rows:
        return False
    if not (min(rows) >= 0 and max(rows) < problem.rows and min(labels) >= 0 and max(labels) < left.shape[1]):
        return False
    large = max((abs(y) for _, _, _, y in step.weights), default=0)
    most = int(max(problem.times.max(initial=1), magnitude(known.weight), magnitude(known.high), 1))
    fits = (large * most * (len(step.weights) + 1) + step.over) * (problem.rows + 1) < EXACT
    kind = np.int64 if fits else object
    score = np.zeros(left.shape, dtype=kind)
    total = 0
    for t, k, distinct, y in step.weights:
        if not (0 <= t < problem.trees and 0 <= k < left.shape[1] and known.usable[t]):
            return False
        times = problem.times[t] > 0 if distinct else problem.times[t]
        score[:, k] -= y * times.astype(kind)
        low, high = (known.low, known.high) if distinct else (known.weight, known.weight)
        total += y * int(high[t, k] if y > 0 else low[t, k])
    chosen = np.array(rows)
    score[chosen] += step.over
    score[chosen, np.array(labels)] -= step.over
    if not left.any(axis=1).all():
        return False
    best = [max(line[held].tolist()) for line, held in zip(score, left, strict=True)]
    return bool(total + sum(best) < step.over)


class LabelSearch:
    """The linear program of the labels that are open, and the steps that its solutions suggest.

    Per open row one unknown for every label left but the first, which is 1 minus the others.
    """

    def __init__(self, problem: RowProblem, known: Totals, left: Bits, open_rows: Ints) -> None:
        self.problem, self.totals, self.left, self.open = problem, known, left, open_rows
        held = left[open_rows]
        self.first = held.argmax(axis=1).astype(np.int64)
        unknown = held.copy()
        unknown[np.arange(len(open_rows)), self.first] = False
        self.place, self.label = (x.astype(np.int64) for x in np.nonzero(unknown))  # of every unknown: its row, a label
        self._state(_statements(problem, known))

    def _state(self, given: LabelStatements) -> None:
        """Write the statements about the open rows down as (row, column, coefficient)."""
        times = self.problem.times[given.tree]
        times = np.where(given.distinct[:, None], times > 0, times).astype(np.int64)
        told = self.left.sum(axis=1) == 1
        base = np.array(
            [int(row[told & self.left[:, k]].sum()) for row, k in zip(times, given.label.tolist(), strict=True)]
        )
        own = times[:, self.open]
        as_first = own * (self.first[None, :] == given.label[:, None])  # rows whose first label the statement is on
        base = base + as_first.sum(axis=1)
        coef = own[:, self.place] * (self.label[None, :] == given.label[:, None]) - as_first[:, self.place]
        used = coef.any(axis=1)
        row, column = np.nonzero(coef[used])
        several = np.flatnonzero(np.bincount(self.place, minlength=len(self.open)) > 1)
        order = np.full(len(self.open), -1, dtype=np.int64)
        order[several] = np.arange(len(several)) + int(used.sum())
        one_label = np.flatnonzero(order[self.place] >= 0)
        self.statements = LabelStatements(
            given.tree[used], given.label[used], given.distinct[used], given.low[used], given.high[used]
        )
        self.low = np.concatenate([(given.low - base)[used], np.full(len(several), -1)]).astype(np.float64)
        self.high = np.concatenate([(given.high - base)[used], np.ones(len(several))]).astype(np.float64)
        self.entries = by_column(
            np.concatenate([row, order[self.place[one_label]]]),
            np.concatenate([column, one_label]),
            np.concatenate([coef[used][row, column], np.ones(len(one_label), dtype=np.int64)]),
            len(self.place),
        )

    def worthwhile(self) -> bool:
        """Return False for a large program with so few equations that it settles nothing."""
        bits = float(np.log2(self.left[self.open].sum(axis=1)).sum())
        return len(self.entries[1]) <= LARGE or len(self.statements.tree) >= PAYS * bits

    def steps(self, limits: Limits) -> Iterator[Labelled]:
        """Yield proofs of open labels, each valid before the others and after. Raises `Inconclusive`: HiGHS hangs."""
        limits.report(f"labels: a linear program of {len(self.open):,} rows, {len(self.statements.tree):,} equations")
        inside = self.solved(np.zeros(len(self.place)), limits)
        if inside.infeasible:
            yield from self.refuting(limits)
        if not inside.optimal:
            return
        shares = self.shares(inside.x)
        label, share = shares.argmax(axis=1), shares.max(axis=1)
        chosen, found = np.flatnonzero(share > 1 - SETTLED), None
        for _ in range(ROUNDS):
            if not len(chosen) or limits.expired():
                break
            found, moved = self.tried(chosen, label, self.solved(self.costs(chosen, label), limits))
            if found is not None:
                yield found
                break
            if not len(moved):
                break
            chosen = np.setdiff1d(chosen, moved)
        if found is None:
            yield from self.one_by_one(np.argsort(-share, kind="stable")[:SINGLE], label, limits)

    def one_by_one(self, rows: Ints, label: Ints, limits: Limits) -> Iterator[Labelled]:
        """Yield proofs of single rows, whose other labels no point of the program reaches whole."""
        program = self.program(np.zeros(len(self.place)), "simplex")
        for i in rows.tolist():
            chosen = np.array([i], dtype=np.int64)
            program.price(self.costs(chosen, label))
            found, _ = self.tried(chosen, label, program.run(limits))
            if found is not None:
                yield found

    def shares(self, x: Floats) -> Floats:
        """Return (open rows, labels): how much of every label a point gives to a row; less than nothing for others."""
        out = np.where(self.left[self.open], 0.0, -1.0)
        out[self.place, self.label] = x
        each = np.arange(len(self.open))
        out[each, self.first] = 1 - np.bincount(self.place, weights=x, minlength=len(self.open))
        return out

    def costs(self, chosen: Ints, label: Ints) -> Floats:
        """Return costs that are least where as few rows as possible have their label."""
        own = np.isin(self.place, chosen)
        given, first = label[self.place], self.first[self.place]
        return np.where(own & (given == self.label), 1.0, 0.0) - np.where(own & (given == first), 1.0, 0.0)

    def tried(self, chosen: Ints, label: Ints, found: ProgramSolution) -> tuple[Labelled | None, Ints]:
        """Return what a solution for `costs` proves of rows and their labels, or None and the rows that have others."""
        if not found.optimal:
            return None, np.zeros(0, dtype=np.int64)
        exceptions = 1 - self.shares(found.x)[chosen, label[chosen]]
        if float(exceptions.sum()) < 1 - MOVED:
            step = self.proof(found.duals, self.open[chosen], label[chosen])
            if step is not None:
                return step, np.zeros(0, dtype=np.int64)
        return None, chosen[exceptions > MOVED]

    def proof(self, duals: Floats, rows: Ints, labels: Ints) -> Labelled | None:
        """Return a step whose weights are rounded duals (positive for lower sides), None where none is a proof."""
        given = self.statements
        known = duals[: len(given.tree)]
        fine = ((over, integer_duals(known, over)) for over in FINE)
        for over, y in (*rounded_duals(known, given.low, given.high), *fine):
            weights = tuple(
                (int(given.tree[s]), int(given.label[s]), bool(given.distinct[s]), -int(y[s]))
                for s in np.flatnonzero(y).tolist()
            )
            step = Labelled(tuple(rows.tolist()), tuple(labels.tolist()), over, weights)
            if _leaves_no_exception(self.problem, self.totals, self.left, step):
                return step
        return None

    def refuting(self, limits: Limits) -> Iterator[Labelled]:
        """Yield a step that gives some row a label that it cannot have, where no labelling meets the totals."""
        barred = np.argwhere(~self.left)
        row, label = barred[0] if len(barred) else (self.open[0], self.first[0])
        many = len(self.low)
        each = np.arange(many, dtype=np.int64)
        slack = np.arange(2 * many + 1, dtype=np.int64), np.repeat(each, 2), np.tile([1.0, -1.0], many)
        program = self.program(np.zeros(len(self.place)), "simplex")
        program.add(np.ones(2 * many), (np.zeros(2 * many), np.full(2 * many, np.inf)), slack)
        found = program.run(limits)
        step = self.proof(found.duals, np.array([row]), np.array([label])) if found.optimal else None
        if step is not None:
            yield step

    def program(self, costs: Floats, solver: str) -> LinearProgram:
        """Return the program with some costs."""
        program = LinearProgram(self.low, self.high)
        program.option("solver", solver)
        program.option("run_crossover", "off")
        program.add(costs, (np.zeros(len(costs)), np.ones(len(costs))), self.entries)
        return program

    def solved(self, costs: Floats, limits: Limits) -> ProgramSolution:
        """Return the least costs: a point inside the optimal face, where the interior point method ends well."""
        found = self.program(costs, "ipm").run(limits)
        return found if found.optimal else self.program(costs, "simplex").run(limits)


WIDEST = 5  # values left of a row in a tree that is tried
BUDGET = 2_000  # rows and trees that one trial may look at
WINDOW, YIELD = 2_000, 0.01  # trials looked back at, and the part of the values that could go that they must remove


@dataclass(slots=True, eq=False)
class Prober:
    """Tries values on a state at its fixpoint, and goes on from there where something is removed."""

    loops: RowLoops
    tables: ProblemTables
    state: DomainState
    steps: list[Removal]

    def run(self, limits: Limits) -> bool | None:
        """Try values while it pays; return whether every row has a value left, None where the time ended.

        Rows and trees with the fewest values left come first. Stops where the last `WINDOW` trials, with what followed
        from them, removed less than the part `YIELD` of the values left beyond one each.
        """
        gains: list[int] = []
        spare = self.left() - int((self.tables.times > 0).sum())
        while True:
            before = len(gains)
            for i, t, v in self.smallest():
                if limits.expired():
                    return None
                if v not in (own := values_left(self.tables, self.state.words[i], t)) or len(own) < 2:
                    continue
                left = self.left()
                if self.refuted(i, t, v):
                    settled = propagate(self.loops, self.tables, self.state, self.steps, limits)
                    if not settled:
                        return settled
                gains.append(left - self.left())
                spare -= gains[-1]
                if len(gains) >= WINDOW and sum(gains[-WINDOW:]) < YIELD * spare:
                    return True
            if not sum(gains[before:]):
                return True

    def left(self) -> int:
        """Return how many values are left in all."""
        return int(np.bitwise_count(self.state.words).sum())

    def smallest(self) -> list[tuple[int, int, int]]:
        """Return (row, tree, value) of rows with two to `WIDEST` values left in a tree, the fewest first."""
        word = self.tables.word
        counts = np.cumsum(np.bitwise_count(self.state.words), axis=1, dtype=np.int64)
        ends = np.concatenate([np.zeros((len(counts), 1), dtype=np.int64), counts], axis=1)[:, word]
        sizes: Ints = np.diff(ends, axis=1)
        i, t = np.nonzero((sizes >= 2) & (sizes <= WIDEST))
        order = np.argsort(sizes[i, t], kind="stable")
        found = zip(i[order].tolist(), t[order].tolist(), strict=True)
        return [(i, t, v) for i, t in found for v in values_left(self.tables, self.state.words[i], t).tolist()]

    def refuted(self, i: int, t: int, v: int) -> bool:
        """Try a value; where it leads to a row without values, remove it and note the steps."""
        word, bit = divmod(int(self.tables.at[v]), 64)
        one = np.uint64(1) << np.uint64(bit)
        trial = self.state.copy()
        trial.words[i, int(self.tables.word[t]) : int(self.tables.word[t + 1])] = 0
        trial.words[i, word] = one
        trial.changed[i, t] = trial.counts[t] = True
        found, settled = self.loops.narrow(self.tables, trial, BUDGET)
        if settled is not False:
            return False
        self.steps.append(ValueRemoval(i, v, tuple(found)))
        self.state.words[i, word] &= ~one
        self.state.changed[i, t] = self.state.counts[t] = self.state.flows[t] = True
        return True


SMALL = 100_000  # rows times values below which numba takes longer to load than it saves
MANY = 400  # trials, likewise
UNTRIED = "values were not tried one by one"


class Propagation:
    """What follows on one problem so far: `domains`, and the `steps` that removed the rest, in order.

    `contradicted`: there is no world. `complete`: nothing more is tried. `note`: why it is not complete.
    """

    def __init__(self, problem: RowProblem, loops: RowLoops | None = None) -> None:
        self.problem = problem
        self.domains = Domains(problem)
        self.steps: list[Removal] = []
        self.contradicted = self.domains.contradicted()
        self.complete = self.contradicted
        self.note = ""
        self._tables: ProblemTables | None = None
        self._state: DomainState | None = None
        self._given = loops
        self._trials = 0.0  # seconds that values were tried for
        self._labels: tuple[int, float] | None = None  # labels left when they were last tried in vain, in how much time

    def run(self, limits: Limits, tries: bool = True) -> None:
        """Go on from the state reached, to the end or to the limits; without `tries` no value is tried by itself."""
        if self.complete:
            return
        try:
            tables, state = self._prepared(limits)
            settled = self._worked_out(tables, state, limits, tries)
        except Inconclusive as error:
            self.note = str(error)
            return
        if settled is None:
            self.note = f"{ended(limits)} while rows were distinguished"
        elif settled and not tables.compared:
            room, most = Meetings.room(self.problem) >> 20, limits.memory >> 20
            self.note = f"leaves of different trees are not compared: that takes {room:,} MB of memory, above {most:,}"
        elif settled and not tries:
            self.note = UNTRIED
        else:
            self.complete, self.contradicted, self.note = True, not settled, ""
            self._tables = self._state = None

    def _prepared(self, limits: Limits) -> tuple[ProblemTables, DomainState]:
        """Return the tables and the state, made where they are not there yet or memory now allows more."""
        if self._tables is not None and not self._tables.compared and Meetings.room(self.problem) <= limits.room:
            self._tables = self._state = None
        if self._tables is None:
            self._tables = ProblemTables.of(self.problem, limits)
        if self._state is None:
            self._state = DomainState.of(self.domains.words, self._tables)
        return self._tables, self._state

    def _worked_out(self, tables: ProblemTables, state: DomainState, limits: Limits, tries: bool) -> bool | None:
        """Propagate, settle labels as long as that settles some, then try values; see `propagate` for the result."""
        loops = self._loops(self._large, limits)
        tried = not tables.compared or not tries
        while True:
            settled = propagate(loops, tables, state, self.steps, limits)
            if not settled:
                return settled
            steps = self._label_steps(limits)
            if tried and not steps:
                return True
            for step in steps:
                self.steps.append(step)
                if not _labelled(tables, state, self.problem, step):
                    return False
            if not steps:
                tried = True
                settled = self._tried(tables, state, limits)
                if not settled:
                    return settled

    @property
    def _large(self) -> bool:
        """Return whether the problem itself is much work."""
        return self.problem.rows * len(self.problem.tree) >= SMALL

    def _loops(self, much: bool, limits: Limits) -> RowLoops:
        """Return the loops for much work, or for less than it takes to load compiled ones."""
        return self._given or (fastest(limits) if much else RowLoops())

    def _label_steps(self, limits: Limits) -> list[Labelled]:
        """Return proofs of labels; none where fewer were open, or more time was left, when none was found."""
        left, begun = int(self.domains.labels().sum()), limits.remaining()
        if self._labels is not None and self._labels[0] <= left and self._labels[1] >= begun[0]:
            return []
        steps = list(label_steps(self.problem, self.domains, limits))
        self._labels = None if steps else (left, limits.spent(begun))
        return steps

    def _tried(self, tables: ProblemTables, state: DomainState, limits: Limits) -> bool | None:
        """Try values with a part of the time, that spent on it before taken off: nobody waits for it twice."""
        sizes = self.domains.sizes()
        loops = self._loops(self._large or int(sizes[(sizes > 1) & (sizes <= WIDEST)].sum()) >= MANY, limits)
        share = limits.stage("values tried")
        before = share.work_left()
        own = before - self._trials
        settled = Prober(loops, tables, state, self.steps).run(limits if math.isinf(own) else limits.lasting(own))
        self._trials += 0.0 if math.isinf(own) else before - share.work_left()
        return settled


def _labelled(tables: ProblemTables, state: DomainState, problem: RowProblem, step: Labelled) -> bool:
    """Remove what gives rows other labels; return whether every row has a value left in every tree that saw it."""
    rows, label = np.array(step.rows, dtype=np.int64), np.array(step.labels, dtype=np.int64)
    for k in np.unique(label).tolist():
        bits = np.zeros((1, len(tables.owner) * 64), dtype=bool)
        bits[:, tables.at] = (problem.label == k) | (problem.label == ANY_LABEL)
        own = rows[label == k]
        left = state.words[own] & pack_bits(bits)
        for i, lost in zip(own.tolist(), left != state.words[own], strict=True):
            trees = np.unique(tables.owner[lost])
            state.changed[i, trees] = state.counts[trees] = state.flows[trees] = True
        state.words[own] = left
    found = np.zeros(state.changed.shape, dtype=bool)
    for t in range(len(tables.most)):
        found[:, t] = state.words[:, int(tables.word[t]) : int(tables.word[t + 1])].any(axis=1)
    return bool((found | (tables.times.T == 0)).all())
