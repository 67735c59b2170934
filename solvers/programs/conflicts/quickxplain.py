"""Why there is no world: an irreducible set of published statements that contradict each other, in words.

Partitions that are not needed go first, then what propagation did not use, then statement by statement, at last
the sides (at least, at most) that do not matter.

Source: Junker, "QuickXplain: preferred explanations and relaxations for over-constrained problems", AAAI 2004.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from heapq import heapify, heappop, heappush

import numpy as np

from solvers.cells.bit_boxes import Covering, WordLayout, Words, meeting, packed, split
from solvers.cells.system import CellSystem
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.programs.conflicts.subsets import Book, Mask, asked_for, system_of, whole
from solvers.programs.feasibility import Feasibility, verdict
from solvers.programs.linear.dual_bounds import combined
from solvers.statements.boxes import Box, Boxes
from solvers.statements.release import Release

MAX_LEFT = 20_000  # boxes left over while rows are barred
UNPROVEN = "(the set may not be minimal: a limit was met before every statement was shown to be needed)"

Test = Callable[[Mask], bool]


def conflict_of(release: Release, limits: Limits) -> tuple[str, ...]:
    """Return the statements of an irreducible conflict, one line each; () where no conflict is proved.

    The statements contradict each other and any of them left out leaves a world; a last line says so where that
    was not proved within the limits. Domain and impossible boxes are given. Cost: some hundred small systems.
    """
    oracle = FeasibilityOracle(Book(release), limits.stage("conflict"))
    book, on = oracle.book, oracle.book.stated
    # Propagation is cheap: where it refutes all statements it is trusted to show what is not needed, for a start.
    cheap = oracle.refuted(on)
    test = oracle.refuted if cheap else oracle.impossible
    if (core := used(oracle, on, test)).sum() < on.sum():
        on = core
    elif (blocks := conflicting_blocks(oracle, on, test)) is not None:
        on = used(oracle, blocks, test)
    else:
        return ()
    if cheap or oracle.core(on) is None:
        on = book.mask(quickxplain(test, book.groups(on), book.mask))
    # Propagation does not see every contradiction, nor the sides left out so far: less may do.
    on = book.whole(on)
    on, proved = without_idle(oracle, on, book.groups(on))
    if oracle.impossible(on):
        on = used(oracle, on, oracle.impossible)
    several = [group for group in book.groups(on) if len(group) > 1]
    on, _ = without_idle(oracle, on, [np.array([side]) for group in several for side in group])
    return (*book.lines(on), *(() if proved else (UNPROVEN,)))


def quickxplain(test: Test, groups: list[Ints], mask: Callable[[Sequence[Ints]], Mask]) -> list[Ints]:
    """Return groups that contradict each other, none of which the test finds superfluous; all of them do.

    Junker's QuickXplain; `mask` makes a subset of groups. Cost: about 2 k log2(n / k) tests for k of n groups.
    """

    def below(base: list[Ints], fresh: bool, rest: list[Ints]) -> list[Ints]:
        if fresh and test(mask(base)):
            return []
        if len(rest) <= 1:
            return rest
        one, two = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        kept = below(base + one, True, two)
        return below(base + kept, bool(kept), one) + kept

    return below([], True, groups)


def conflicting_blocks(oracle: FeasibilityOracle, on: Mask, test: Test) -> Mask | None:
    """Return a subset that contradicts itself and lies in few partitions, the others left out; None: none found.

    Two trees often contradict each other whatever the others say, so pairs are tried first, then twice as many, at
    last all; those that propagation used before others. Statements outside partitions stay.
    """
    book, inside = oracle.book, list(oracle.book.release.partitions)
    hints = oracle.core(on)
    used_by = {b: int(hints[book.span(b)].sum()) if hints is not None else 0 for b in inside}
    order = sorted(inside, key=lambda b: (-used_by[b], b))
    base = np.flatnonzero(np.repeat(~book.partitioned, 2))
    groups = [np.arange(2 * book.span(b).start, 2 * book.span(b).stop) for b in order]
    width = 2
    while True:
        for i in range(0, max(1, len(groups)), width):
            some = groups[i : i + width]
            if test(on & book.mask([base, *some])):
                kept = quickxplain(lambda part: test(on & (part | book.mask([base]))), some, book.mask)
                return on & book.mask([base, *kept])
        if width >= len(groups):
            return None
        width *= 2


def used(oracle: FeasibilityOracle, on: Mask, test: Test) -> Mask:
    """Return the part of a contradiction from which it was derived, as long as that gets smaller."""
    while (core := oracle.core(on)) is not None and core.sum() < on.sum() and test(core):
        on = core
    return on


def without_idle(oracle: FeasibilityOracle, on: Mask, groups: Sequence[Ints]) -> tuple[Mask, bool]:
    """Return the subset without the groups that are not needed, and whether all others were shown to be."""
    proved = True
    for group in groups:
        less = on & ~oracle.book.mask([group])
        found = oracle.feasible(less)
        if found is False:
            on = less
        proved &= found is not None
    return on, proved


class FeasibilityOracle:
    """Decides whether a subset of statements has a world; remembers the last subset."""

    def __init__(self, book: Book, limits: Limits) -> None:
        self.book, self.limits = book, limits
        self.key = b""
        self.part: tuple[CellSystem, Ints] | None = None
        self.found: Feasibility | None = None

    def refuted(self, on: Mask) -> bool:
        """Return whether propagation alone refutes a subset."""
        part = self.system(on)
        return part is not None and part[0].bounds.conflict is not None

    def impossible(self, on: Mask) -> bool:
        """Return whether a subset is proved to have no world."""
        return self.feasible(on) is False

    def feasible(self, on: Mask) -> bool | None:
        """Return whether a subset has a world, None where the limits leave that open."""
        part = self.system(on)
        if part is None:
            return None
        if self.found is None:
            self.found = verdict(part[0], self.limits)
        return self.found.solvable

    def system(self, on: Mask) -> tuple[CellSystem, Ints] | None:
        """Return the system of a subset and the numbers of its statements; None where it is too large."""
        key = np.packbits(on).tobytes()
        if self.key != key:
            self.key, self.part, self.found = key, None, None
            if not self.limits.expired():
                with suppress(Unsupported, Inconclusive):
                    self.part = system_of(self.book, on, self.limits)
        return self.part

    def core(self, on: Mask) -> Mask | None:
        """Return the sides from which a subset's contradiction was derived; None where no derivation is known.

        Rows that were dropped while cells were derived leave no trace: statements that allow no row are added. The
        core is a guess until it is tested.
        """
        part = self.system(on)
        if part is None:
            return None
        system, numbers = part
        multipliers = None if self.found is None else self.found.multipliers
        if system.bounds.conflict is None and multipliers is None:
            return None
        out = np.zeros_like(on)
        for s, side in derivation(system, len(numbers) - 1, multipliers):
            out[numbers[s], side] = True
        out[barring(self.book, on, out), 1] = True
        return out & on


def derivation(system: CellSystem, rows: int, multipliers: Ints | None) -> list[tuple[int, int]]:
    """Return the (statement, side) pairs behind a contradiction, the trace followed backwards.

    Without a contradiction in the trace, multipliers refute what it left.
    `rows` is the statement on the number of rows, which bounds every cell before propagation starts.
    """
    bounds, linear = system.bounds, system.linear
    wanted = np.zeros((linear.columns, 2), dtype=bool)  # whose lower, upper bound is still to be explained
    out: set[tuple[int, int]] = set()

    def use(s: int, side: int, but: int = -1) -> None:
        out.add((s, side))
        span = slice(int(linear.start[s]), int(linear.start[s + 1]))
        cells, plus = linear.col[span], linear.coef[span] > 0
        others = cells != but
        wanted[cells[others], np.where(plus, 1 - side, side)[others]] = True

    crossed = np.flatnonzero(bounds.lower > bounds.upper)
    if multipliers is not None:
        out.update((s, int(multipliers[s] < 0)) for s in np.flatnonzero(multipliers).tolist())
        weight = combined(system.linear, multipliers)
        wanted[weight < 0, 0] = wanted[weight > 0, 1] = True
    elif len(crossed):
        wanted[crossed[0]] = True
    elif bounds.conflict is not None:
        s = bounds.conflict
        span = slice(int(linear.start[s]), int(linear.start[s + 1]))
        cells, coef = linear.col[span], linear.coef[span]
        minimum = int(np.minimum(coef * bounds.lower[cells], coef * bounds.upper[cells]).sum())
        use(s, 1 if minimum > int(linear.high[s]) else 0)
    for step in reversed(bounds.trace):
        side = int(step.upper)
        for i in np.flatnonzero(wanted[step.cell, side]).tolist():
            c, s = int(step.cell[i]), int(step.statement[i])
            wanted[c, side] = False
            span = slice(int(linear.start[s]), int(linear.start[s + 1]))
            plus = bool(linear.coef[span][linear.col[span] == c][0] > 0)
            use(s, side if plus else 1 - side, c)
    if wanted[:, 1].any():
        out.add((rows, 1))
    return sorted(out)


def barring(book: Book, on: Mask, core: Mask) -> Ints:
    """Return few statements of partitions that allow no row and together bar every row that can be barred.

    Only rows that the core asks for matter. Greedy cover, largest volume first. Cost: candidates times boxes left.
    """
    layout, words = WordLayout(book.release.domain), asked_for(book, core)
    left = whole(book.release) if words is None else words
    boxes = bars(book, on, left)
    numbers, rows = list(boxes), layout.rows(Boxes.of(list(boxes.values())))
    queue = [(-volume(layout, left, row), i) for i, row in enumerate(rows)]
    heapify(queue)
    out: list[int] = []
    while queue:
        _, i = heappop(queue)
        gain = volume(layout, left, rows[i])
        if gain and queue and -gain > queue[0][0]:
            heappush(queue, (-gain, i))  # gains only fall: one that is still the largest is the largest
        elif gain:
            out.append(numbers[i])
            if len(left) <= MAX_LEFT:
                _, _, left, _ = split(layout, left, boxes[numbers[i]])
    return np.array(out, dtype=np.int64)


def bars(book: Book, on: Mask, words: Words) -> dict[int, Box]:
    """Return the box of every statement of a subset that allows no row and meets one of the given boxes.

    Rule lists are left out: what a rule captures is no box.
    """
    release, layout, out = book.release, WordLayout(book.release.domain), dict[int, Box]()
    for b, loose in release.loose.items():
        zero = np.flatnonzero(on[book.span(b), 1] & (loose.high <= 0))
        counts = [(s, loose.members[s]) for s in zero.tolist()]
        boxes = {book.first[b] + s: one.region.box for s, one in counts if one.of is None and not one.region.minus}
        out |= {s: box for s, box in boxes.items() if meeting(layout, words, box).any()}
    for b, block in release.partitions.items():
        if block.first_match:
            continue
        zero = np.flatnonzero(on[book.span(b), 1] & (block.high == 0))
        regions = np.unique(block.region[zero])
        if not len(zero) or not len(words):
            continue
        covering = Covering(layout, Boxes.of([block.boxes[j] for j in regions.tolist()]))
        alive = packed(np.ones((1, len(regions)), dtype=bool)).repeat(len(words), axis=0)
        met = regions[np.unique(covering.meet(words, alive)[1])]
        for s in zero[np.isin(block.region[zero], met)].tolist():
            out[book.first[b] + s] = block.statement(s, release.domain).region.box
    return out


def volume(layout: WordLayout, words: Words, row: Words) -> float:
    """Return how many combinations of parts of the given boxes lie in a box too."""
    held = np.add.reduceat(np.bitwise_count(words & row), layout.at[:-1], axis=1, dtype=np.float64)
    return float(held.prod(axis=1).sum())
