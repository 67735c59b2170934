"""Leaves out of a proof by removals the steps that its claims do not rest on; and reads off where rows are.

The removals are replayed once, and each value taken away is noted; then, from what the claims need back to the start,
each that is needed names the values whose absence its own removal needs. What is found is always verified anew.

Source: Wetzler, Heule, Hunt, "DRAT-trim", SAT 2014 (the walk back from what is claimed).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import CertificateError
from solvers.foundation.limits import Limits
from solvers.kernel.claims import (
    AtLeast,
    AtMost,
    Claim,
    CountRevision,
    Hall,
    Labelled,
    Removal,
    Removals,
    Revised,
    RowLocation,
    ValueRemoval,
)
from solvers.kernel.located import LocatedValues
from solvers.kernel.removals import RemainingDomains, tightened
from solvers.statements.boxes import Box
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import Meetings, Words

NEVER = 1 << 60


def places_left(settled: LocatedValues, rows: Sequence[int]) -> RowLocation | None:
    """Return in which boxes rows are by what is left; open attributes are left out, None where all are."""
    start, end = settled.hulls
    found, boxes = list[int](), list[Box]()
    for i in rows:
        literals = []
        for k, size in enumerate(settled.problem.parts):
            if k in settled.sets:
                bits = np.packbits(settled.sets[k][i], bitorder="little")
                mask = int.from_bytes(bits.tobytes(), "little")
            else:
                mask = (1 << int(end[i, k])) - (1 << int(start[i, k]))
            if mask != (1 << size) - 1:
                literals.append((k, mask))
        if literals:
            found.append(i)
            boxes.append(Box(tuple(literals)))
    return RowLocation(tuple(found), tuple(boxes)) if found else None


def trim_removals(whole: LocatedValues, proof: Removals, claims: Sequence[Claim], limits: Limits) -> Removals:
    """Return the steps that some claims rest on, in order; all of them where time is up. `whole`: after all steps.

    Cost: another replay, and per removal that is needed the values that meet it.
    """
    traced = TracedDomains(whole.meetings, limits)
    try:
        traced.replay(proof.steps)
        kept = DomainWalk(traced, limits).kept(proof.steps, claims)
    except CertificateError:
        return proof
    return proof if kept is None else Removals(kept)


class TracedDomains(RemainingDomains):
    """What is left, and per change: the step, its rows, the words and the bits that fell."""

    def __init__(self, meetings: Meetings, limits: Limits) -> None:
        super().__init__(meetings, limits)
        self.at = -1
        self.fallen: list[tuple[int, Ints, slice, Words]] = []

    def step(self, step: Removal) -> None:
        """Take away what one step says, and note which step it is."""
        self.at += 1
        super().step(step)

    def keep(self, rows: Ints, t: int, kept: Words) -> None:
        """Leave some rows only these of a tree's values, and note what fell."""
        span = self.meetings.span(t)
        gone = self.words[rows, span] & ~kept
        changed = gone.any(axis=1)
        if changed.any():
            self.fallen.append((self.at, rows[changed], span, gone[changed]))
        super().keep(rows, t, kept)

    def keep_of_row(self, i: int, kept: Words) -> bool:
        """Leave a row only these of its values, and note what fell."""
        gone = self.words[i] & ~kept
        if gone.any():
            self.fallen.append((self.at, np.array([i]), slice(None), gone[None]))
        return super().keep_of_row(i, kept)


class DomainWalk:
    """The way back: `words` are what was left then, `needed` the values whose absence is still to be explained."""

    def __init__(self, traced: TracedDomains, limits: Limits) -> None:
        self.traced, self.meetings, self.problem, self.limits = traced, traced.meetings, traced.problem, limits
        self.settled, self.shorter = LocatedValues(traced), dict[int, Removal]()
        self.words, self.start, self.seen = traced.words.copy(), traced.meetings.start, traced.seen
        self.needed = np.zeros_like(self.words)
        self.tree_of_word = np.repeat(np.arange(self.problem.trees), np.diff(self.meetings.first))

    def kept(self, steps: Sequence[Removal], claims: Sequence[Claim]) -> tuple[Removal, ...] | None:
        """Return the steps that are needed; None where the time is up."""
        traced, kept = self.traced, set[int]()
        if not traced.over:
            for claim in claims:
                self.claim(claim)
        fallen, at = traced.fallen, len(traced.fallen)
        last = traced.at if traced.over and traced.at >= 0 else -1
        if last >= 0:
            kept.add(last)
            before = self.words.copy()
            for s, rows, span, gone in reversed(fallen):
                if s < last:
                    break
                before[rows, span] |= gone
            self.words, after = before, self.words
            self.everything(steps[last], last)
            self.words = after
        while at:
            end, s = at, fallen[at - 1][0]
            while at and fallen[at - 1][0] == s:
                at -= 1
            if self.limits.expired():
                return None
            if self.undo(steps[s], s, fallen[at:end]):
                kept.add(s)
        return tuple(self.shorter.get(s, steps[s]) for s in sorted(kept))

    def undo(self, step: Removal, s: int, fallen: Sequence[tuple[int, Ints, slice, Words]]) -> bool:
        """Take a step back; where some of its removals are needed, so is what it rests on."""
        used = False
        if isinstance(step, Revised):
            for _, rows, span, gone in reversed(fallen):
                hit = self.needed[step.row] & gone[0]
                self.words[rows, span] |= gone
                if hit.any():
                    used = True
                    self.needed[step.row] &= ~gone[0]
                    self.by_meeting(step.row, hit)
            return used
        hits = [self.needed[rows, span] & gone for _, rows, span, gone in fallen]
        for _, rows, span, gone in fallen:
            self.words[rows, span] |= gone
            self.needed[rows, span] &= ~gone
        for (_, rows, _, _), hit in zip(fallen, hits, strict=True):
            if hit.any():
                used = True
                self.reasons(step, s, rows[hit.any(axis=1)])
        return used

    # ------------------------------------------------------------ what a removal rests on

    def by_meeting(self, i: int, gone: Words) -> None:
        """Need, per value of a row that fell, the absence of all that it meets in some tree: of the fewest more."""
        values = np.flatnonzero(self.meetings.unpacked(gone))
        met = self.meetings.meet[values] & self.start[i]
        cost = self.meetings.sizes(met & ~self.needed[i])
        cost[self.meetings.by_tree(met & self.words[i]) | ~self.seen[i]] = NEVER
        tree = cost.argmin(axis=1)
        if (cost.min(axis=1) == NEVER).any():  # by what all trees together leave
            self.needed[i] |= self.start[i] & ~self.words[i]
            return
        self.needed[i] |= np.bitwise_or.reduce(np.where(self.tree_of_word == tree[:, None], met, np.uint64(0)), axis=0)

    def reasons(self, step: Removal, s: int, rows: Ints) -> None:
        """Need what a step on one tree, or on labels, rests on for some rows that lost values."""
        if isinstance(step, CountRevision):
            t = int(self.problem.tree[step.value])
            for g in np.unique(self.meetings.multiplicities(t)[1][rows]).tolist():
                self.of_group(t, g, step.value)
            self.of_bounds(t, [step.value])
        else:
            self.everything(step, s)

    def of_group(self, t: int, g: int, v: int) -> None:
        """Need that rows of a multiplicity have only a value left, and that others do not have it."""
        span, only = self.meetings.span(t), self.meetings.mask(t, [v])
        rows = np.flatnonzero(self.meetings.multiplicities(t)[1] == g)
        left, start = self.words[rows, span], self.start[rows, span]
        here, alone = (left & only).any(axis=1), ~(left & ~only).any(axis=1)
        self.needed[rows[here & alone], span] |= start[here & alone] & ~only
        self.needed[rows[~here], span] |= start[~here] & only

    def of_bounds(self, t: int, values: Sequence[int]) -> None:
        """Need what the numbers of rows of some values rest on beyond the start, where they rest on more."""
        times = self.meetings.multiplicities(t)[0]
        for v in values:
            ends = int(self.problem.weight[v]), int(self.problem.low[v]), int(self.problem.high[v])
            now, first = self.counted(t, v, self.words), self.counted(t, v, self.start)
            if tightened(times, *now, *ends) != tightened(times, *first, *ends):
                for g in range(len(times)):
                    self.of_group(t, g, v)

    def counted(self, t: int, v: int, words: Words) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return per multiplicity the rows with no other value left, and those with the value left."""
        times, group = self.meetings.multiplicities(t)
        here = self.meetings.column(words, v)
        alone = here & (np.bitwise_count(words[:, self.meetings.span(t)]).sum(axis=1) == 1)
        fixed, able = (tuple(np.bincount(group[x], minlength=len(times)).tolist()) for x in (alone, here))
        return fixed, able

    def everything(self, step: Removal, s: int) -> None:
        """Need all that a step can have looked at before it; of an assumption what its own steps need."""
        gone = self.start & ~self.words
        if isinstance(step, Revised):
            self.needed[step.row] |= gone[step.row]
        elif isinstance(step, CountRevision | Hall):
            t = step.tree if isinstance(step, Hall) else int(self.problem.tree[step.value])
            self.needed[:, self.meetings.span(t)] |= gone[:, self.meetings.span(t)]
        elif isinstance(step, Labelled):
            self.of_labels()
        else:
            self.of_assumption(step, s)

    def of_assumption(self, step: ValueRemoval, s: int) -> None:
        """Need what the steps below an assumption need, and leave out those that do not lead to its contradiction."""
        t = int(self.problem.tree[step.value])
        inner = TracedDomains(self.meetings, self.limits)
        inner.words = self.words.copy()
        inner.words[step.row, self.meetings.span(t)] &= self.meetings.mask(t, [step.value])
        inner.replay(step.steps)
        walk = DomainWalk(inner, self.limits)
        kept = walk.kept(step.steps, ()) if inner.over else None
        if kept is None:
            self.needed |= self.start & ~self.words
            return
        walk.needed[step.row, self.meetings.span(t)] = 0  # that is what was assumed
        self.needed |= walk.needed
        self.shorter[s] = ValueRemoval(step.row, step.value, kept)

    def of_labels(self) -> None:
        """Need, per row and label that was gone, that some tree has no value of it."""
        problem = self.problem
        left = self.meetings.labels(self.words)
        for k in range(left.shape[1]):
            of_class = self.meetings.packed((problem.label == k) | (problem.label == ANY_LABEL))
            for i in np.flatnonzero(~left[:, k]).tolist():
                self.absent(i, of_class)

    def absent(self, i: int, some: Words) -> bool:
        """Need that a row has none of some values in the tree of the fewest more; tell whether one has none."""
        found = self.start[i] & some
        cost = self.meetings.sizes(found & ~self.needed[i])
        cost[self.meetings.by_tree(self.words[i] & some) | ~self.seen[i]] = NEVER
        t = int(cost.argmin())
        if cost[t] == NEVER:
            return False
        span = self.meetings.span(t)
        self.needed[i, span] |= found[span]
        return True

    # ------------------------------------------------------------ what a claim rests on

    def claim(self, claim: Claim) -> None:
        """Need what a claim rests on."""
        settled = self.settled
        if isinstance(claim, AtMost):
            met = self.meetings.packed(settled.values_meeting(claim.box))
            missing = np.flatnonzero(~settled.meeting(claim.box)).tolist()
            for i in missing[: self.problem.rows - claim.rows]:
                if not self.absent(i, met):
                    self.needed[i] |= self.start[i] & ~self.words[i]
        elif isinstance(claim, AtLeast):
            for i in np.flatnonzero(settled.within(claim.box))[: claim.rows].tolist():
                self.located(i, claim.box)
        elif isinstance(claim, RowLocation):
            for i, box in zip(claim.rows, claim.boxes, strict=True):
                self.located(i, box)

    def located(self, i: int, box: Box) -> None:
        """Need what puts a row into a box, attribute by attribute: the trees whose values left end there."""
        problem, settled = self.problem, self.settled
        for k, _ in box.literals:
            if k in settled.sets:
                allowed = problem.sets.get(k)
                for p in np.flatnonzero(~settled.sets[k][i]).tolist():
                    some = problem.label == p if allowed is None else allowed[:, p]
                    if not self.absent(i, self.meetings.packed(some)):
                        self.needed[i] |= self.start[i] & ~self.words[i]
            else:
                start, end = (int(x[i, k]) for x in settled.hulls)
                self.absent(i, self.meetings.packed(problem.start[:, k] < start))
                self.absent(i, self.meetings.packed(problem.end[:, k] > end))
