"""Values for the rows that propagation left open, by depth-first search with the loops of propagation.

Decided is the pair of a row and a tree with the fewest values left for the contradictions that it led to; its value is
that of the best state so far, else the one that most of its candidates must take. Restarts keep weights and values.

Source: Boussemart et al., "Boosting systematic search by weighting constraints", ECAI 2004 (weights of failures);
Demirović, Chu, Stuckey, "Solution-based phase saving for CP", CP 2018 (values of the best state).
"""

from __future__ import annotations

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import TooLarge
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Domains
from solvers.positions.assignments.propagation.fixpoint import PER_WORD, WORK, fastest
from solvers.positions.assignments.propagation.tables import DomainState, ProblemTables
from solvers.statements.bags import UNPUBLISHED
from solvers.statements.meetings import WORD, Meetings, Words
from solvers.statements.row_problem import RowProblem

FIRST, LONGER = 100, 1.3  # contradictions before the first restart, and by how much more before every next one


class Dive:
    """A depth-first search on what propagation left; `state` is at a fixpoint between two decisions."""

    def __init__(self, domains: Domains, complete: bool, limits: Limits, seed: int) -> None:
        """Make the tables; raises `Inconclusive` when time is up, `TooLarge` where they would not fit in memory."""
        self.problem, self.limits = domains.problem, limits
        if Meetings.room(self.problem) > limits.memory:
            raise TooLarge(f"which values meet takes more than {limits.memory >> 20:,} MB (--memory)")
        self.tables, self.loops = ProblemTables.of(self.problem, limits), fastest(limits)
        self.state = DomainState.of(domains.words.copy(), self.tables)
        if complete:
            self.settle()
        self.budget = max(1, WORK // max(1, self.tables.meet.size))
        self.mixed = _mixed_leaves(self.problem)
        self.random = np.random.default_rng(seed)
        self.failed = np.ones((self.problem.rows, self.problem.trees))
        self.best = np.full((self.problem.rows, self.problem.trees), -1, dtype=np.int64)
        self.least = self.problem.rows * self.problem.trees + 1  # open pairs of the best state
        self.trail: list[tuple[Ints, Words, int, int, int]] = []  # rows changed, their words before, the decision

    def run(self) -> Ints | None:
        """Return (rows, trees) values for all rows (-1: not seen), or None: time is up, or there are none."""
        going = self.narrowed()
        allowed, since = float(FIRST), 0
        while not self.limits.expired():
            if going:
                if since > allowed:
                    self.restart()
                    allowed, since = allowed * LONGER, 0
                sizes = self.sizes()
                if not (sizes > 1).any():
                    return self.single(sizes)
                going = self.decide(sizes)
                since += not going
            elif not self.trail:
                return None
            else:
                going = self.retract()
                since += not going
        return None

    def settle(self) -> None:
        """Note that nothing has to be looked at again."""
        for flags in (self.state.changed, self.state.counts, self.state.flows):
            flags[:] = False

    def narrowed(self) -> bool:
        """Work out what follows; return False where some row has no value left, or time is up."""
        settled: bool | None = None
        while not settled and not self.limits.expired():
            _, settled = self.loops.narrow(self.tables, self.state, self.budget)
            self.limits.charge(PER_WORD * WORK if settled is None else 0.0)
            if settled:
                settled = all(self.counted(t) for t in self.mixed)
            if settled is False:
                break
            if self.state.counts.any():
                settled = None
        self.settle()
        return bool(settled)

    def counted(self, t: int) -> bool:
        """Bound how many different rows lie in a tree's leaves of several classes; return False where none can."""
        members, different = self.mixed[t]
        held = self.held(t)
        may = held.astype(np.int64) @ members.T > 0
        must = may & ~(held.astype(np.int64) @ ~members.T > 0)
        least, most = must.sum(axis=0), may.sum(axis=0)
        if ((least > different) | (most < different)).any():
            return False
        kept = held.copy()
        for j in np.flatnonzero((least == different) & (most > different)).tolist():
            kept[~must[:, j]] &= ~members[j]
        for j in np.flatnonzero((most == different) & (least < different)).tolist():
            kept[may[:, j]] &= members[j]
        changed = (kept != held).any(axis=1)
        if changed.any():
            padded = np.zeros((len(kept), int(self.tables.word[t + 1] - self.tables.word[t]) * WORD), dtype=bool)
            padded[:, : kept.shape[1]] = kept
            words = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
            self.state.words[:, int(self.tables.word[t]) : int(self.tables.word[t + 1])] = words
            self.state.changed[changed, t] = self.state.counts[t] = True
        return bool((kept.any(axis=1) | ~held.any(axis=1)).all())

    def sizes(self) -> Ints:
        """Return (rows, trees): how many values are left."""
        counts = np.cumsum(np.bitwise_count(self.state.words), axis=1, dtype=np.int64)
        none = np.zeros((len(counts), 1), dtype=np.int64)
        out: Ints = np.diff(np.concatenate([none, counts], axis=1)[:, self.tables.word], axis=1)
        return out

    def held(self, t: int) -> Bits:
        """Return (rows, values of the tree): which values are left."""
        words = np.ascontiguousarray(self.state.words[:, int(self.tables.word[t]) : int(self.tables.word[t + 1])])
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
        return bits[:, : len(self.problem.values(t))].astype(bool)

    def single(self, sizes: Ints) -> Ints:
        """Return (rows, trees): the only value left, -1 where there is no such."""
        out = np.full(sizes.shape, -1, dtype=np.int64)
        for t in range(self.problem.trees):
            own = np.flatnonzero(sizes[:, t] == 1)
            out[own, t] = self.held(t)[own].argmax(axis=1) + int(self.tables.value[t])
        return out

    def decide(self, sizes: Ints) -> bool:
        """Give a row a value in a tree; return whether no contradiction follows."""
        score = np.where(sizes > 1, sizes / self.failed, np.inf)
        ties = np.flatnonzero(score <= score.min() * (1 + 1e-9))
        i, t = divmod(int(ties[self.random.integers(len(ties))]), self.problem.trees)
        v = self.value(i, t)
        word, bit = divmod(int(self.tables.at[v]), WORD)
        before = self.state.words.copy()
        self.state.words[i, int(self.tables.word[t]) : int(self.tables.word[t + 1])] = 0
        self.state.words[i, word] = np.uint64(1) << np.uint64(bit)
        going = self.follow(i, t)
        rows = np.flatnonzero((before != self.state.words).any(axis=1)).astype(np.int64)
        self.trail.append((rows, before[rows], i, t, v))
        return going

    def value(self, i: int, t: int) -> int:
        """Return the value to try: that of the best state, else the one with most demand for its candidates."""
        held = self.held(t)
        if self.best[i, t] >= 0 and held[i, self.best[i, t] - int(self.tables.value[t])]:
            return int(self.best[i, t])
        times, fixed = self.problem.times[t].astype(np.int64), held.sum(axis=1) == 1
        left = np.flatnonzero(held[i])
        need = self.problem.weight[left + int(self.tables.value[t])] - times[fixed] @ held[fixed][:, left]
        demand = need / np.maximum(1, times[~fixed] @ held[~fixed][:, left])
        return int(left[int(demand.argmax())]) + int(self.tables.value[t])

    def follow(self, i: int, t: int) -> bool:
        """Work out what follows from a change of a row's values in a tree; note where a contradiction came from."""
        self.state.changed[i, t] = self.state.counts[t] = True
        going = self.narrowed()
        self.failed[i, t] += not going
        return going

    def retract(self) -> bool:
        """Take the last decision back and remove its value; return whether no contradiction follows."""
        rows, before, i, t, v = self.trail.pop()
        self.state.words[rows] = before
        if (open_pairs := int(((sizes := self.sizes()) > 1).sum())) < self.least:
            self.least = open_pairs
            self.best = np.maximum(self.single(sizes), -1)
        word, bit = divmod(int(self.tables.at[v]), WORD)
        kept = self.state.words.copy()
        self.state.words[i, word] &= ~(np.uint64(1) << np.uint64(bit))
        going = self.follow(i, t)
        if self.trail:  # so that taking back what came before restores this too
            self.extend(kept)
        return going

    def extend(self, before: Words) -> None:
        """Add the rows that differ from `before` to the last decision's."""
        rows, words, i, t, v = self.trail[-1]
        new = np.setdiff1d(np.flatnonzero((before != self.state.words).any(axis=1)), rows)
        self.trail[-1] = np.concatenate([rows, new]), np.concatenate([words, before[new]]), i, t, v

    def restart(self) -> None:
        """Take all decisions back."""
        while self.trail:
            rows, before, *_ = self.trail.pop()
            self.state.words[rows] = before


def _mixed_leaves(problem: RowProblem) -> dict[int, tuple[Bits, Ints]]:
    """Return tree -> (leaves, values of the tree): the values of leaves with several, and their different rows."""
    out: dict[int, tuple[Bits, Ints]] = {}
    for t in range(problem.trees):
        leaf = problem.region[list(problem.values(t))]
        several = [j for j in np.flatnonzero(np.bincount(leaf) > 1).tolist() if problem.distinct[t][j] != UNPUBLISHED]
        if several:
            out[t] = leaf[None, :] == np.array(several)[:, None], problem.distinct[t][several].astype(np.int64)
    return out
