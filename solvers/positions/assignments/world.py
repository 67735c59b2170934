"""One dataset that the rows distinguished allow: a value for every open row and tree, then a point of their boxes.

Whatever found it, a world is one only once every statement of the release has been evaluated on its rows
(`check_rows`). What is fixed is substituted first, what is open is searched depth first with the loops of propagation,
then goes to CP-SAT (`solvers.positions.assignments.world_model`). Decided is the pair of a row and a tree with the
fewest values left for the contradictions that it led to; its value is that of the best state so far, else the one that
most of its candidates must take. Restarts keep weights and values.

Source: docs/mathematics.md, "Possible worlds and their conventions"; boxes that meet pairwise share a point (Helly's
theorem for axis-parallel boxes), which fails for sets of parts and impossible boxes, so that every row has a witness.
Boussemart et al., "Boosting systematic search by weighting constraints", ECAI 2004 (weights of failures); Demirović,
Chu, Stuckey, "Solution-based phase saving for CP", CP 2018 (values of the best state).

What follows for every row of a release whose rows can be distinguished: propagation to its end, remembered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from solvers.foundation.array_types import Bits, Ints
from solvers.foundation.errors import CertificateError, ContradictionError, Inconclusive, NotVerified, TooLarge
from solvers.foundation.limits import Limits, ended
from solvers.kernel.cells import NumberedStatements, statement_sums
from solvers.kernel.claims import Removal
from solvers.positions.assignments.domains import Domains, DomainState, Places, ProblemTables
from solvers.positions.assignments.loops import fastest
from solvers.positions.assignments.propagation import PER_WORD, WORK, Propagation
from solvers.statements.boxes import Boxes, spans
from solvers.statements.release import ANY_LABEL, UNPUBLISHED, BagCounts, Choice, Release, TreeBags
from solvers.statements.row_problem import WORD, Meetings, RowProblem, Words, problem_of, slot_trees

COPIES = 3  # of what is left: as it is, as it was found before, and what is worked with beside
BOUNDS = 16  # numbers that are held per value of a tree and multiplicity up to the greatest
FREE = 1 << 20  # bytes of them that are not looked at


@dataclass(frozen=True, eq=False)
class Assigned:
    """What is left for every row, and the steps that removed the rest.

    `contradicted`: some row has nowhere to be, there is no world. `complete`: nothing more follows by propagation; else
    a limit was met on the way, and what is removed is removed all the same. `note` says which.
    """

    problem: RowProblem
    domains: Domains
    steps: tuple[Removal, ...]
    contradicted: bool
    complete: bool
    note: str = ""

    @cached_property
    def places(self) -> Places:
        """Return where every row can be."""
        return self.domains.places()


@dataclass(slots=True)
class Remembered:
    """The problem on rows of a release, what followed from it, and how far propagation is."""

    problem: RowProblem | None = None
    assigned: Assigned | None = None
    propagation: Propagation | None = None


def _row_problem(release: Release) -> RowProblem | None:
    """Return a release as a problem on rows, remembered; None where rows cannot be distinguished."""
    known = release.derived.part(Remembered)
    if known.problem is None:
        known.problem = problem_of(release)
    return known.problem


def room(release: Release) -> int:
    """Return the bytes that what is left for every row takes, copies included; nothing is built for it."""
    slots = [] if release.bags else [int(np.count_nonzero(tree.low)) for tree in slot_trees(release)]
    alike = COPIES * WORD // 8 * sum(-(-values // WORD) for values in slots) * release.rows.low
    return max((COPIES * WORD // 8 * _words_of(bags) + _bounds_of(bags) for bags in release.bags), default=alike)


def _words_of(bags: TreeBags) -> int:
    """Return the words of what is left for all rows of a training file."""
    return sum(-(-int((tree.count > 0).sum()) // WORD) for tree in bags.trees) * bags.rows


def _bounds_of(bags: TreeBags) -> int:
    """Return the bytes that counting takes in the tree where it takes most: a row may be drawn millions of times."""
    most = bags.times.max(axis=1, initial=0).tolist()
    values = [int((tree.count > 0).sum()) for tree in bags.trees]
    found = 8 * BOUNDS * max((v * m for v, m in zip(values, most, strict=True)), default=0)
    return found if found > FREE else 0


def assigned(release: Release, limits: Limits, tries: bool = True) -> Assigned | None:
    """Return what follows for every row, None where no bags are known, or all that is left outgrows the memory.

    Remembered with the release: where a run met its limits, the next call goes on from the state that it reached.
    Without `tries` what is remembered, or as much as follows before values are tried one by one.
    """
    known = release.derived.part(Remembered)
    if known.propagation is None and room(release) > limits.room:
        return None
    if (known.assigned is None or not known.assigned.complete) and (problem := _row_problem(release)) is not None:
        if (found := known.propagation) is None:
            found = known.propagation = Propagation(problem)
            limits.keep(found, room(release))
        before = len(found.steps)
        found.run(limits, tries)
        if known.assigned is None or found.complete or len(found.steps) > before:
            known.assigned = _snapshot(found)
    return known.assigned


def _snapshot(found: Propagation) -> Assigned:
    """Return what propagation found so far; it may go on without changing this."""
    domains = found.domains if found.complete else found.domains.copy()
    return Assigned(found.problem, domains, tuple(found.steps), found.contradicted, found.complete, found.note)


TRIES = 20_000  # boxes that the search for a row outside all impossible ones may look at
Allowed = list[Ints]  # per attribute the parts that a row may have


@dataclass(frozen=True, eq=False)
class AssignedWorld:
    """A world by its rows' parts, (rows, attributes) int64, or None and why there is none.

    `contradicted`: there is no world at all, as far as propagation and CP-SAT are to be trusted.
    """

    parts: Ints | None
    reason: str = ""
    contradicted: bool = False


def find_world(state: Assigned, limits: Limits, seed: int = 0) -> AssignedWorld:
    """Return one dataset that meets every statement of the release, rows in the order of their positions.

    The same for the same seed, where time does not end a search. Free attributes lie in the middle of what the row's
    leaves leave. Cost: nothing where propagation fixed all leaves, else some seconds of depth-first search, then CP-SAT
    over the pairs of a row and a tree that are open, as long as there is time.
    """
    if state.contradicted:
        return AssignedWorld(None, "the statements contradict each other", True)
    domains, problem, reason = state.domains, state.problem, ""
    searches = [_single] if not (domains.sizes() > 1).any() else [dived, by_program]
    for search in searches:
        try:
            chosen = search(state, limits, seed)
            if chosen is None:
                continue
            parts = _rows_in(problem, chosen, limits)
            check_rows(problem.release, parts, limits)
            return AssignedWorld(parts)
        except ContradictionError as error:
            return AssignedWorld(None, str(error), True)
        except (Inconclusive, TooLarge, CertificateError, NotVerified) as error:
            reason = str(error)
    return AssignedWorld(None, reason or f"{ended(limits)} before a world was found")


def _single(state: Assigned, limits: Limits, seed: int) -> Ints:
    """Return (rows, trees): the only value left, -1 where there are several or none."""
    problem = state.problem
    chosen = np.full((problem.rows, problem.trees), -1, dtype=np.int64)
    for t in range(problem.trees):
        held = state.domains.of_tree(t)
        own = held.sum(axis=1) == 1
        chosen[own, t] = held[own].argmax(axis=1) + int(problem.first[t])
    return chosen


def dived(state: Assigned, limits: Limits, seed: int) -> Ints | None:
    """Return (rows, trees) values that a depth-first search of some seconds finds, None for none."""
    own = limits.stage("depth-first search")
    own.report("one world: depth-first search")
    return Dive(state.domains, state.complete, own, seed).run()


def by_program(state: Assigned, limits: Limits, seed: int) -> Ints | None:
    """Return (rows, trees) values that CP-SAT finds, None for none in time; `ContradictionError`: there are none."""
    from solvers.positions.assignments.world_model import solve_assignment

    found, contradicted = solve_assignment(state.domains, state.places, limits, seed)
    if contradicted:
        raise ContradictionError("no leaves are left for the rows that are open which fill all counts (CP-SAT)", ())
    if found is None:
        return None
    chosen = _single(state, limits, seed)
    for (i, t), v in found.items():
        chosen[i, t] = v
    return chosen


def _rows_in(problem: RowProblem, chosen: Ints, limits: Limits) -> Ints:
    """Return rows (rows, attributes) of parts, each in the boxes of its values and in no impossible one.

    Raises `CertificateError` where a row has no such point. Cost: rows times trees times attributes.
    """
    impossible = [dict(box.literals) for box in problem.release.impossible]
    out = np.zeros((problem.rows, len(problem.parts)), dtype=np.int64)
    for i in limits.paced(range(problem.rows), "rows of a world were placed", 16):
        values = chosen[i][chosen[i] >= 0]
        start = problem.start[values].max(axis=0, initial=0)
        end = np.minimum(problem.end[values].min(axis=0, initial=1 << 30), problem.parts)
        allowed = [np.arange(a, b, dtype=np.int64) for a, b in zip(start.tolist(), end.tolist(), strict=True)]
        for k, sets in problem.sets.items():
            allowed[k] = np.flatnonzero(sets[values].all(axis=0)).astype(np.int64)
        found = part_outside(allowed, impossible, [TRIES])
        if found is None:
            raise CertificateError(f"row {i} of the world found would have no place outside what is impossible")
        out[i] = found
    return out


def part_outside(allowed: Allowed, impossible: Sequence[dict[int, int]], tries: list[int]) -> list[int] | None:
    """Return a part per attribute, the middle one where it can be, in none of some boxes; None where there is none.

    Depth-first: some attribute must be outside the box that holds the middle. `tries` are counted down.
    """
    tries[0] -= 1
    if tries[0] < 0 or any(not len(parts) for parts in allowed):
        return None
    middle = [int(parts[(len(parts) - 1) // 2]) for parts in allowed]
    hit = next((box for box in impossible if all(mask >> middle[k] & 1 for k, mask in box.items())), None)
    if hit is None:
        return middle
    for k, mask in hit.items():
        rest = np.array([p for p in allowed[k].tolist() if not mask >> p & 1], dtype=np.int64)
        found = part_outside([*allowed[:k], rest, *allowed[k + 1 :]], impossible, tries)
        if found is not None:
            return found
    return None


# ---------------------------------------------------------------- what makes it a world


def check_rows(release: Release, parts: Ints, limits: Limits | None = None) -> None:
    """Refuse rows (rows, attributes) in the order of their positions that break a statement: `CertificateError`.

    All statements are evaluated in whole numbers, bags by position; nothing of the search is used. Raises
    `NotVerified` where limits end it. Cost: rows times leaves.
    """
    n = len(parts)
    if parts.ndim != 2 or parts.shape[1] != len(release.domain.attributes):
        raise CertificateError(f"a row has not the {len(release.domain.attributes)} attributes of the domain")
    if n < release.rows.low or (release.rows.high is not None and n > release.rows.high):
        raise CertificateError(f"the world has {n:,} rows, the release has another number")
    if len(release.bags) > 1:
        raise CertificateError("several training files have bags: which of their rows are the same is not known")
    rows, times = np.unique(parts, axis=0, return_counts=True)
    facts = NumberedStatements(release, limits)
    sums = statement_sums(facts, [tuple(row) for row in rows.tolist()], times.tolist())
    met = (sums >= facts.low) & (sums <= facts.high)
    for s in np.flatnonzero(facts.unconditional & ~met)[:1].tolist():
        raise CertificateError(f"the world has {sums[s]} where {facts.statement(s).source} says otherwise")
    for b, block in enumerate(release.blocks):
        if isinstance(block, Choice) and sum(bool(met[a].all()) for a in facts.alternatives(b)) != 1:
            raise CertificateError(f"the world does not meet {block.name}")
        if block.coarse:
            raise CertificateError("sums over values are stated in part only: which rows meet them is not checked")
    for box in release.impossible:
        for i in np.flatnonzero(rows_inside(parts, box.literals))[:1].tolist():
            raise CertificateError(f"row {i} of the world is impossible")
    for bags in release.bags:
        _check_bags(bags, parts, release.domain.label)


def _check_bags(bags: TreeBags, parts: Ints, label: int | None) -> None:
    """Refuse rows that some tree on a known bag would not count as it does, with `CertificateError`."""
    if bags.rows != len(parts):
        raise CertificateError(f"the bags are of {bags.rows:,} rows, the world has {len(parts):,}")
    for t, tree in enumerate(bags.trees):
        region = _regions(tree.boxes, parts)
        seen = np.flatnonzero(bags.times[t] > 0)
        different = np.bincount(region[seen], minlength=len(tree.boxes))
        for j in np.flatnonzero((tree.distinct != UNPUBLISHED) & (different != tree.distinct))[:1].tolist():
            raise CertificateError(f"{counts(tree, j)}: {different[j]} different rows, {tree.distinct[j]} published")
        if int(tree.count.sum()) != int(bags.times[t].sum(dtype=np.int64)):
            raise CertificateError(f"{tree.kind} counts {tree.count.sum():,} rows, its bag has another number")
        labels = np.zeros(len(parts), dtype=np.int64) if label is None else parts[:, label]
        weight = np.zeros((len(tree.boxes), int(labels.max(initial=0)) + 1), dtype=np.int64)
        np.add.at(weight, (region, labels), bags.times[t])
        for j, k, count in zip(tree.region.tolist(), tree.label.tolist(), tree.count.tolist(), strict=True):
            if k == ANY_LABEL:
                found = int(weight[j].sum())
            else:
                found = int(weight[j, k]) if label is not None and k < weight.shape[1] else 0
            if found != count:
                raise CertificateError(f"{counts(tree, j)}: {found} rows, {count} published")


def counts(tree: BagCounts, j: int) -> str:
    """Return the name of a leaf."""
    return f"{tree.kind}, {tree.names[j]}"


def _regions(boxes: Boxes, parts: Ints) -> Ints:
    """Return the box that holds every row; raises `CertificateError` where that is none or several."""
    out, often = np.zeros(len(parts), dtype=np.int64), np.zeros(len(parts), dtype=np.int64)
    for j, box in enumerate(boxes):
        held = rows_inside(parts, box.literals)
        out[held] = j
        often += held
    if (often != 1).any():
        raise CertificateError(f"row {int(np.flatnonzero(often != 1)[0])} of the world is in no leaf or in several")
    return out


def rows_inside(parts: Ints, literals: Sequence[tuple[int, int]]) -> Bits:
    """Return which rows are in a box."""
    out = np.ones(len(parts), dtype=bool)
    for k, mask in literals:
        column, held = parts[:, k], np.zeros(len(parts), dtype=bool)
        for first, end in spans(mask):
            held |= (column >= first) & (column < end)
        out &= held
    return out


FIRST, LONGER = 100, 1.3  # contradictions before the first restart, and by how much more before every next one


class Dive:
    """A depth-first search on what propagation left; `state` is at a fixpoint between two decisions."""

    def __init__(self, domains: Domains, complete: bool, limits: Limits, seed: int) -> None:
        """Make the tables; raises `Inconclusive` when time is up, `TooLarge` where they would not fit in memory."""
        self.problem, self.limits = domains.problem, limits
        if Meetings.room(self.problem) > limits.room:
            raise TooLarge(f"which values meet takes more than {limits.memory >> 20:,} MB (--memory)")
        self.tables, self.loops = ProblemTables.of(self.problem, limits), fastest(limits)
        self.state = DomainState.of(domains.words.copy(), self.tables)
        if complete:
            self.settle()
        self.budget = max(1, WORK // self.tables.look)
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
