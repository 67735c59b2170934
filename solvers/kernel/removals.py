"""Replays removals: values that rows distinguished cannot have, taken away step by step, and what the rest settles.

Every step is repeated on our own record of the values left, from the release alone: whole numbers, no search, no flow.
Whoever wrote the steps only says where to look. A step can take away more here than where it was written, never less
is right: what is left only shrinks, and each rule holds for whatever is left.

Source: docs/certificates.md, "Removals: rows distinguished"; Mackworth, "Consistency in networks of relations",
Artificial Intelligence 8, 1977 (arc consistency); Harvey, Stuckey, "Improving linear constraint propagation",
Constraints 8, 2003 (bounds of sums); Regin, "Generalized arc consistency for global cardinality
constraint", AAAI 1996 (filled sets).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import CertificateError, NotVerified
from solvers.foundation.limits import Limits
from solvers.kernel.claims import CountRevision, Hall, Labelled, Removal, Revised, ValueRemoval
from solvers.kernel.proof_format import printable
from solvers.statements.release import ANY_LABEL
from solvers.statements.row_problem import Meetings, Words

MOST_LISTED = 24  # a weight up to which the ways to make it up are listed; there are at most 1,575
MOST_TIMES = 64  # values of c that are looked at
FEW_VALUES, MANY_VALUES = 4, 1 << 60  # values left in a tree
Range = tuple[int, int]


class NothingLeftError(Exception):
    """A row has no value left in a tree that saw it: there is no such world."""


class RemainingDomains:
    """The values left: `words` (rows, words) as `Meetings` packs them; `stale` (rows, trees): changed since revised."""

    def __init__(self, meetings: Meetings, limits: Limits) -> None:
        self.meetings, self.problem, self.limits = meetings, meetings.problem, limits
        self.words: Words = meetings.start.copy()
        self.seen: Bits = self.problem.times.T > 0
        self.stale: Bits = self.seen.copy()
        self.over = False

    def copy(self) -> RemainingDomains:
        """Return the same values left, to be changed apart."""
        out = RemainingDomains.__new__(RemainingDomains)
        out.meetings, out.problem, out.limits = self.meetings, self.problem, self.limits
        out.words, out.stale, out.seen, out.over = self.words.copy(), self.stale.copy(), self.seen, self.over
        return out

    def replay(self, steps: Sequence[Removal]) -> None:
        """Take away what the steps say, in their order; `over` is set where a row has nothing left."""
        try:
            self.follow(steps)
        except NothingLeftError:
            self.over = True

    def follow(self, steps: Sequence[Removal]) -> None:
        """Take away what the steps say; raise `NothingLeftError` as soon as a row has nothing left."""
        if (self.seen & ~self.meetings.by_tree(self.words)).any():
            raise NothingLeftError
        for step in steps:
            self.look()
            self.step(step)

    def look(self) -> None:
        """Look at the clock."""
        if self.limits.expired():
            raise NotVerified("not verified: the time was up")

    def step(self, step: Removal) -> None:
        """Take away what one step says."""
        if isinstance(step, Revised):
            self.revise(self.row(step.row))
        elif isinstance(step, CountRevision):
            self.count(self.value(step.value))
        elif isinstance(step, Hall):
            self.fill(step)
        elif isinstance(step, Labelled):
            self.label(step)
        else:
            self.assume(step)

    def row(self, i: int) -> int:
        """Return the number of a row."""
        if not 0 <= i < self.problem.rows:
            raise CertificateError(f"there is no row {printable(i)}")
        return i

    def value(self, v: int) -> int:
        """Return the number of a value."""
        if not 0 <= v < len(self.problem.tree):
            raise CertificateError(f"there is no value {printable(v)}")
        return v

    def keep(self, rows: Ints, t: int, kept: Words) -> None:
        """Leave some rows only these of a tree's values (packed as the tree's words)."""
        span = self.meetings.span(t)
        before = self.words[rows, span]
        after = before & kept
        changed = rows[(before != after).any(axis=1)]
        if len(changed):
            self.words[rows, span] = after
            self.stale[changed, t] = True
        if not after.any(axis=1).all():
            raise NothingLeftError

    def keep_of_row(self, i: int, kept: Words) -> bool:
        """Leave a row only these of its values, in all trees; tell whether any is taken away."""
        changed = self.meetings.by_tree(self.words[i] & ~kept)
        if not changed.any():
            return False
        self.words[i] &= kept
        self.stale[i] |= changed
        if (self.seen[i] & ~self.meetings.by_tree(self.words[i])).any():
            raise NothingLeftError
        return True

    # ------------------------------------------------------------ one row

    def revise(self, i: int) -> None:
        """Take away each value of a row that misses all that some tree left it, until nothing changes.

        Then what misses, in an attribute whose allowed parts are no single run, all that the trees together leave: for
        runs that follows from meeting pairwise (Helly).
        """
        while True:
            sizes = np.where(self.stale[i], self.meetings.sizes(self.words[i]), MANY_VALUES)
            trees = np.flatnonzero(self.stale[i] & (sizes <= max(FEW_VALUES, 2 * int(sizes.min(initial=MANY_VALUES)))))
            self.stale[i, trees] = False  # trees with few values left first: they leave others fewer
            kept = self.meetings.supported(i, self.words[i], trees)
            if not len(trees) and self.problem.sets:
                kept = self.within_parts(i)
            if not self.keep_of_row(i, kept) and not len(trees):
                return

    def within_parts(self, i: int) -> Words:
        """Return the values that meet what all trees together leave of a row, per attribute without runs."""
        held = self.meetings.unpacked(self.words[i])
        at = np.flatnonzero(held)
        first = np.searchsorted(self.problem.tree[at], np.flatnonzero(self.seen[i]))
        for allowed in self.problem.sets.values():
            if len(first):
                parts = np.logical_or.reduceat(allowed[at], first, axis=0).all(axis=0)
                held &= (allowed & parts).any(axis=1)
        return self.meetings.packed(held)

    # ------------------------------------------------------------ one tree

    def having(self, v: int) -> tuple[Bits, Bits]:
        """Return (rows,): which rows have a value left, and which have no other left in its tree."""
        t = int(self.problem.tree[v])
        here = self.meetings.column(self.words, v)
        return here, here & (np.bitwise_count(self.words[:, self.meetings.span(t)]).sum(axis=1) == 1)

    def bounds(self, v: int) -> list[tuple[int, int, int, int]]:
        """Return per multiplicity: rows fixed to a value, the least and the most that it can have, rows able."""
        t = int(self.problem.tree[v])
        times, group = self.meetings.multiplicities(t)
        fixed, able = (tuple(np.bincount(group[x], minlength=len(times)).tolist()) for x in reversed(self.having(v)))
        ends = int(self.problem.weight[v]), int(self.problem.low[v]), int(self.problem.high[v])
        found = tightened(times, fixed, able, *ends)
        if found is None:
            raise NothingLeftError
        return [(q, *ends, p) for q, ends, p in zip(fixed, found, able, strict=True)]

    def count(self, v: int) -> None:
        """Take a value away from rows beyond those it can have, and all others from rows that it needs."""
        t = int(self.problem.tree[v])
        here, alone = self.having(v)
        only, group = self.meetings.mask(t, [v]), self.meetings.multiplicities(t)[1]
        for g, (fixed, least, most, able) in enumerate(self.bounds(v)):
            if fixed < able and most == fixed:
                self.keep(np.flatnonzero(here & ~alone & (group == g)), t, ~only)
            if fixed < able and least == able:
                self.keep(np.flatnonzero(here & (group == g)), t, only)

    def fill(self, step: Hall) -> None:
        """Take values away that a set of rows fills, or all others from the rows that a set of values needs."""
        if not 0 <= step.tree < self.problem.trees:
            raise CertificateError(f"there is no tree {printable(step.tree)}")
        t, values = step.tree, list(step.values)
        if len(set(values)) != len(values) or any(v not in self.problem.values(t) for v in values):
            raise CertificateError(f"tree {t} does not have the values that a step names, or one stands twice")
        times, group = self.meetings.multiplicities(t)
        if step.times not in times:
            raise CertificateError(f"tree {t} counts no row {printable(step.times)} times")
        g = times.index(step.times)
        rows, chosen = np.flatnonzero(group == g), self.meetings.mask(t, values)
        ends = [self.bounds(v)[g] for v in values]
        left = self.words[rows, self.meetings.span(t)]
        inside, outside = (left & chosen).any(axis=1), (left & ~chosen).any(axis=1)
        if step.full:
            held, room = int((inside & ~outside).sum()), sum(most for _, _, most, _ in ends)
            if held < room:
                raise CertificateError(f"{held} rows do not fill the values of tree {t}, which take up to {room}")
            if held > room:
                raise NothingLeftError
            self.keep(rows[inside & outside], t, ~chosen)
            return
        able, need = int(inside.sum()), sum(least for _, least, _, _ in ends)
        if able > need:
            raise CertificateError(f"{able} rows can use the values of tree {t}, which need no more than {need}")
        if able < need:
            raise NothingLeftError
        self.keep(rows[inside & outside], t, chosen)

    # ------------------------------------------------------------ labels, assumptions

    def label(self, step: Labelled) -> None:
        """Fix the labels of rows: with any other the weighted class totals of the trees cannot be met."""
        problem, labels = self.problem, self.problem.release.domain.labels
        rows = [self.row(i) for i in step.rows]
        if len(set(rows)) != len(rows) or len(step.labels) != len(rows):
            raise CertificateError("a step does not give each of its rows one label")
        if step.over < 1 or any(not 0 <= k < labels for k in step.labels):
            raise CertificateError("a step divides by no positive number, or names a label that does not exist")
        gain = np.zeros((problem.rows, labels), dtype=object)
        gain[rows] = step.over
        gain[rows, list(step.labels)] = 0
        total = 0
        for t, k, distinct, y in step.weights:
            self.look()
            low, high = self.total(t, k, distinct)
            total += y * (high if y > 0 else low)
            times = (self.seen[:, t] if distinct else problem.times[t]).astype(object)
            gain[:, k] -= y * times
        left = self.meetings.labels(self.words)
        if not left.any(axis=1).all():
            raise NothingLeftError
        most = sum(max(row[held].tolist()) for row, held in zip(gain, left, strict=True))
        if total + most >= step.over:
            raise CertificateError("the weighted class totals leave room for other labels than a step gives")
        for t in range(problem.trees):
            for k in range(labels):
                at = np.array([i for i, own in zip(rows, step.labels, strict=True) if own == k], dtype=np.int64)
                own = [v for v in problem.values(t) if problem.label[v] in (k, ANY_LABEL)]
                at = at[self.seen[at, t]]
                if len(at):
                    self.keep(at, t, self.meetings.mask(t, own))

    def total(self, t: int, k: int, distinct: bool) -> Range:
        """Return the least and the greatest that a tree can count of a class: by multiplicity, or each row once."""
        problem = self.problem
        if not 0 <= t < problem.trees or not 0 <= k < problem.release.domain.labels:
            raise CertificateError(f"there is no class {printable(k)} of a tree {printable(t)}")
        span = slice(int(problem.first[t]), int(problem.first[t + 1]))
        if (problem.label[span] == ANY_LABEL).any():
            raise CertificateError(f"tree {t} does not count by classes")
        of = np.flatnonzero(problem.label[span] == k) + span.start
        if distinct:
            return sum(problem.low[of].tolist()), sum(problem.high[of].tolist())
        weight = sum(problem.weight[of].tolist())
        return weight, weight

    def assume(self, step: ValueRemoval) -> None:
        """Take a value away from a row that leads, by some steps on a copy, to a row without any value left."""
        i, v = self.row(step.row), self.value(step.value)
        t = int(self.problem.tree[v])
        only, at = self.meetings.mask(t, [v]), np.array([i], dtype=np.int64)
        if not (self.words[i, self.meetings.span(t)] & only).any():
            return
        inner = self.copy()
        inner.keep(at, t, only)
        inner.replay(step.steps)
        if not inner.over:
            raise CertificateError(f"that row {i} has value {v} does not lead to a contradiction")
        self.keep(at, t, ~only)


# ---------------------------------------------------------------- how many rows a value has


@lru_cache(1 << 14)
def tightened(
    times: tuple[int, ...], fixed: tuple[int, ...], able: tuple[int, ...], weight: int, low: int, high: int
) -> tuple[Range, ...] | None:
    """Return the least and the greatest number of rows of each multiplicity in a value; None: it cannot be counted.

    Their numbers n_m lie between `fixed` and `able`; sum n_m is between `low` and `high`, sum m n_m is `weight`.
    Bounds propagation on sum (m - c) n_m for every c up to the greatest m; small weights by listing every way.
    """
    sums = [([1] * len(times), low, high)]
    most = min(max(times, default=0), MOST_TIMES)
    sums += [([m - c for m in times], weight - c * high, weight - c * low) for c in range(most + 1)]
    ends: list[Range] = list(zip(fixed, able, strict=True))
    before: list[Range] | None = None
    while ends != before:
        before = list(ends)
        for coefs, least, greatest in sums:
            _narrowed(coefs, least, greatest, ends)
            if any(a > b for a, b in ends):
                return None
    if not times and weight:
        return None
    if weight <= MOST_LISTED:
        ways = list(_weight_partitions(times, ends, weight, low, high))
        return tuple((min(x), max(x)) for x in zip(*ways, strict=True)) if ways else None
    return tuple(ends)


def _narrowed(coefs: Sequence[int], least: int, greatest: int, ends: list[Range]) -> None:
    """Narrow the ends of whole numbers whose weighted sum lies between two bounds, once each."""
    low = sum(min(a * x, a * y) for a, (x, y) in zip(coefs, ends, strict=True))
    high = sum(max(a * x, a * y) for a, (x, y) in zip(coefs, ends, strict=True))
    for j, a in enumerate(coefs):
        x, y = ends[j]
        up, down = greatest - low + min(a * x, a * y), least - high + max(a * x, a * y)  # what is left for a * n
        if a > 0:
            ends[j] = max(x, -(-down // a)), min(y, up // a)
        elif a < 0:
            ends[j] = max(x, -(up // -a)), min(y, -down // -a)
        low += min(a * ends[j][0], a * ends[j][1]) - min(a * x, a * y)
        high += max(a * ends[j][0], a * ends[j][1]) - max(a * x, a * y)


def _weight_partitions(
    times: Sequence[int], ends: Sequence[Range], weight: int, low: int, high: int
) -> Iterator[tuple[int, ...]]:
    """Yield every way to make up a weight: numbers within their ends, in all between `low` and `high`."""
    if not times:
        if weight == 0 and low <= 0 <= high:
            yield ()
        return
    m, (least, most) = times[-1], ends[-1]
    if len(times) == 1:
        least, most = max(least, -(-weight // m)), min(most, weight // m)
    for n in range(least, min(most, weight // m) + 1):
        for rest in _weight_partitions(times[:-1], ends[:-1], weight - n * m, low - n, high - n):
            yield (*rest, n)
