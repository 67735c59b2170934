"""Why there is no world: an irreducible set of published statements that contradict each other, in words.

Partitions that are not needed go first, then what propagation did not use, then statement by statement, at last
the sides (at least, at most) that do not matter.

Source: Junker, "QuickXplain: preferred explanations and relaxations for over-constrained problems", AAAI 2004.

Subsets of a release's statements: each as a system over its own cells, and whether it has a world.

Statements outside a subset are unbounded, blocks without a statement in it are left out. Only rows that some
statement asks for are looked at: a row that nothing asks for may as well be absent.

Source: docs/mathematics.md, "Cells and histograms"; Liffiton, Sakallah, "Algorithms for computing minimal unsatisfiable
subsets of constraints", JAR 40, 2008 (subsets judged one by one).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import compress, pairwise

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import Covering, WordLayout, Words, meeting, minus, pack_rows, split_pieces
from solvers.cells.system import CellSystem, Space, assemble, propagated, refine
from solvers.foundation.array_types import Ints
from solvers.foundation.errors import Inconclusive, Unsupported
from solvers.foundation.exact import MAX_SUM
from solvers.foundation.limits import Limits
from solvers.programs.dual_bounds import combined
from solvers.programs.linear_program import Feasibility, verdict
from solvers.statements.boxes import Box, Boxes
from solvers.statements.observations import StatementIndex
from solvers.statements.release import (
    ANY_LABEL,
    NO_COUNT,
    UNBOUNDED,
    Block,
    Choice,
    Loose,
    Partition,
    Release,
    RowCount,
    Statement,
)

MAX_ROWS = 1 << 40  # looked for where values are summed and nothing bounds the number of rows
MAX_BOXES = 500  # regions looked at one by one; beyond, the whole row space is
MAX_CUT_REGIONS = 16  # so few regions of a partition are cut out of the rest, which stays whole

Mask = NDArray[np.bool_]  # (statements, 2): is the lower side, is the upper side, part of a subset?


class Book(StatementIndex):
    """The statements of a release and their subsets.

    A subset is a `Mask` over their sides. A choice is told by the lower side of its first statement.
    """

    @cached_property
    def stated(self) -> Mask:
        """Return the sides that say something."""
        low = self.low > 0
        for b, block in self.release.loose.items():
            summed = np.array([s.region is None for s in block], dtype=bool)
            low[self.span(b)] |= summed & (block.low > -UNBOUNDED)
        out = np.stack([low, self.high < UNBOUNDED], axis=1)
        for b in self.release.choices:
            out[self.span(b)] = False
            out[self.first[b], 0] = True
        return out

    @cached_property
    def unit(self) -> Ints:
        """Return the number of the first statement that was published together with each."""
        out = np.arange(len(self.low), dtype=np.int64)
        for b, block in self.release.loose.items():
            for i, (before, statement) in enumerate(pairwise(block.members), start=self.first[b] + 1):
                if _published_together(before, statement):
                    out[i] = out[i - 1]
        return out

    def groups(self, on: Mask) -> list[Ints]:
        """Return the sides of a subset as flat indices, one array per published statement, preferred ones first.

        Preferred in a conflict: the number of rows, then tables and rule sets, then partitions: short ones.
        """
        sides = np.flatnonzero(on)
        key, n = self.unit[sides // 2], len(on)
        key = key - np.where(key == self.rows, 3 * n, np.where(self.partitioned[key], 0, 2 * n))
        order = np.argsort(key, kind="stable")
        return np.split(sides[order], np.flatnonzero(np.diff(key[order])) + 1) if len(sides) else []

    def mask(self, groups: Sequence[Ints]) -> Mask:
        """Return the subset of groups of sides."""
        out = np.zeros((len(self.low), 2), dtype=bool)
        if groups:
            out.reshape(-1)[np.concatenate(groups)] = True
        return out

    def whole(self, on: Mask) -> Mask:
        """Return the subset with all sides of the published statements that it has a side of."""
        return self.stated & np.isin(self.unit, self.unit[on.any(axis=1)])[:, None]

    def lines(self, on: Mask) -> tuple[str, ...]:
        """Return every statement of a subset in words, with the sides that matter; each line once."""
        notes = [self.line(s, on[s]) for s in np.flatnonzero(on.any(axis=1)).tolist()]
        return tuple(dict.fromkeys([*notes[-1:], *notes[:-1]] if on[self.rows].any() else notes))

    def line(self, s: int, sides: Mask) -> str:
        """Return statement s in words; of values that are summed the source says what was published."""
        source = self.source(s)
        if s != self.rows and (not self.unconditional[s] or self.statement(s).region is None):
            return source
        low, high = int(self.low[s]), int(self.high[s])
        if low > high:
            return f"{source}: {NO_COUNT}"
        if sides.all() and low < high:
            text = f"{low} to {high}"
        elif sides.all() or (sides[1] and high == 0):
            text = str(high)
        else:
            text = f"at least {low}" if sides[0] else f"at most {high}"
        if s == self.rows:
            return f"{source}: {text}"
        return f"{source}: {text} {'row' if text.split()[-1] == '1' else 'rows'}"


def _published_together(a: Statement, b: Statement) -> bool:
    """Return whether two loose statements were published as one: a mean from both sides, and that it is of somebody."""
    if a.source == b.source:
        return True
    somebody = (a.low, a.high) == (1, UNBOUNDED) and b.region is None and a.region == b.summands[0].region
    return somebody and a.source.partition(" (")[0] == b.source.partition(" (")[0]


def _row_space(release: Release) -> Words:
    """Return the row space without impossible rows."""
    layout = WordLayout(release.domain)
    return minus(layout, layout.full[None].copy(), release.impossible)


def _asked_for(book: Book, on: Mask) -> Words | None:
    """Return disjoint boxes that hold every row a subset asks for, None for the whole row space.

    A row outside them helps no statement: whatever world there is, it is one without that row.
    """
    release, layout = book.release, WordLayout(book.release.domain)
    if on[book.rows, 0]:
        return None
    boxes: list[Box] = []
    for b, block in enumerate(release.blocks):
        sides = on[book.span(b)]
        wanted = sides[:, 0].copy()
        if b in release.choices:
            wanted[:] = sides.any()
        elif b in release.loose:
            wanted |= sides[:, 1] & [s.region is None for s in release.loose[b]]
        elif wanted.sum() > MAX_BOXES:
            return None
        each = (block.statement(s, release.domain) for s in np.flatnonzero(wanted).tolist())
        boxes += [one.region.box for statement in each for one in statement.summands]
    boxes = list(dict.fromkeys(boxes))
    if len(boxes) > MAX_BOXES:
        return None
    words = layout.rows(Boxes.of(boxes))
    found = [words[:0]]
    for i in range(len(boxes)):
        common = np.logical_or.reduceat((words[:i] & words[i]) != 0, layout.at[:-1], axis=1).all(axis=1)
        before = [boxes[j] for j in np.flatnonzero(common).tolist()]
        found.append(minus(layout, words[i : i + 1], [*release.impossible, *before]))
    return np.concatenate(found)


def _part_of(book: Book, on: Mask) -> tuple[Release, Ints]:
    """Return the release of a subset, and the number of each of its statements (-1: one that says nothing)."""
    low = np.where(on[:, 0], book.low, -UNBOUNDED)
    high = np.where(on[:, 1], book.high, UNBOUNDED)
    blocks: list[Block] = []
    numbers: list[Ints] = []
    for b, block in enumerate(book.release.blocks):
        at = book.span(b)
        every, active = np.arange(at.start, at.stop, dtype=np.int64), on[at, 0] | on[at, 1]
        if not active.any():
            continue
        if b in book.release.partitions:
            stated = book.release.partitions[b].bounded(np.maximum(low[at], 0), high[at])
            made, of = _coarsened(stated, active)
            blocks.append(made)
            numbers.append(np.where(of < 0, -1, of + at.start))
        elif b in book.release.choices:
            blocks.append(block)
            numbers.append(every)
        else:
            bounded = book.release.loose[b].bounded(low[at], high[at])
            blocks.append(Loose(tuple(compress(bounded, active.tolist()))))
            numbers.append(every[active])
    minimum = int(low[-1]) if on[-1, 0] else 0
    maximum = int(high[-1]) if on[-1, 1] else _enough(blocks, minimum)
    release = replace(book.release, rows=RowCount(minimum, maximum), blocks=tuple(blocks), assumptions=())
    return release, np.concatenate([*numbers, np.array([book.rows])]).astype(np.int64)


def _coarsened(block: Partition, active: Mask) -> tuple[Partition, Ints]:
    """Return a partition with its inactive regions as one, where the active ones are few, and its statements' numbers.

    The new statement, about the rest, has the number -1.
    """
    regions = np.unique(block.region[active])
    if len(regions) > max(MAX_CUT_REGIONS, len(block.boxes) // 8):
        return block, np.arange(len(block), dtype=np.int64)
    if block.first_match:
        regions = np.arange(regions[-1] + 1, dtype=regions.dtype)  # what a rule captures depends on those before it
    kept = np.flatnonzero(np.isin(block.region, regions))
    boxes = Boxes.of([*(block.boxes[j] for j in regions.tolist()), Box()])
    region = np.append(np.searchsorted(regions, block.region[kept]), len(regions)).astype(np.int32)
    label = np.append(block.label[kept], ANY_LABEL).astype(np.int32)
    low, high = np.append(block.low[kept], 0), np.append(block.high[kept], UNBOUNDED)
    made = Partition(block.kind, boxes, True, region, label, low, high, (), block.labels)
    return made, np.append(kept, -1).astype(np.int64)


def _enough(blocks: Sequence[Block], minimum: int) -> int:
    """Return a number of rows that suffices: if the blocks and at least `minimum` rows have a world, so with no more.

    Counts ask for no more than the sum of their lower sides. Where values are summed, it is merely large.
    """
    listed = [s for block in blocks if isinstance(block, Choice | Loose) for s in block.members]
    if any(isinstance(block, Choice) for block in blocks) or any(s.region is None for s in listed):
        return MAX_ROWS
    return max(1, minimum + sum(int(np.maximum(block.low, 0).sum()) for block in blocks))


def _system_of(book: Book, on: Mask, limits: Limits) -> tuple[CellSystem, Ints]:
    """Return the system of a subset and its statements' numbers in the release, the number of rows last.

    Sizes are left out, and the number of rows is a statement like any other. Raises `Unsupported` for too many
    cells, `Inconclusive` when time is up.
    """
    release, numbers = _part_of(book, on)
    words = _asked_for(book, on)
    refined, index = refine(release, limits, _row_space(release) if words is None else words), StatementIndex(release)
    linear, cell = assemble(index, refined, True, limits)
    n = linear.columns
    maximum, far = release.rows.high or 0, MAX_SUM // (max(1, n) * int(np.abs(linear.coef).max(initial=1)))
    if maximum > far and on[book.rows, 1]:
        raise Unsupported("sums of values times rows exceed 2^62")
    maximum = min(maximum, far)
    linear = replace(linear, high=np.append(linear.high[:-1], maximum if on[book.rows, 1] else UNBOUNDED))
    return CellSystem(
        release, Space(release.domain, None), refined.layout, refined.words, cell, (), (), linear, index.choices,
        propagated(linear, index, maximum, limits), None, False,
    ), numbers  # fmt: skip


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
    if (core := _used_mask(oracle, on, test)).sum() < on.sum():
        on = core
    elif (blocks := _conflicting_blocks(oracle, on, test)) is not None:
        on = _used_mask(oracle, blocks, test)
    else:
        return ()
    if cheap or oracle.core(on) is None:
        on = book.mask(_quickxplain(test, book.groups(on), book.mask))
    # Propagation does not see every contradiction, nor the sides left out so far: less may do.
    on = book.whole(on)
    on, proved = _without_idle(oracle, on, book.groups(on))
    if oracle.impossible(on):
        on = _used_mask(oracle, on, oracle.impossible)
    several = [group for group in book.groups(on) if len(group) > 1]
    on, _ = _without_idle(oracle, on, [np.array([side]) for group in several for side in group])
    return (*book.lines(on), *(() if proved else (UNPROVEN,)))


def _quickxplain(test: Test, groups: list[Ints], mask: Callable[[Sequence[Ints]], Mask]) -> list[Ints]:
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


def _conflicting_blocks(oracle: FeasibilityOracle, on: Mask, test: Test) -> Mask | None:
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
                kept = _quickxplain(lambda part: test(on & (part | book.mask([base]))), some, book.mask)
                return on & book.mask([base, *kept])
        if width >= len(groups):
            return None
        width *= 2


def _used_mask(oracle: FeasibilityOracle, on: Mask, test: Test) -> Mask:
    """Return the part of a contradiction from which it was derived, as long as that gets smaller."""
    while (core := oracle.core(on)) is not None and core.sum() < on.sum() and test(core):
        on = core
    return on


def _without_idle(oracle: FeasibilityOracle, on: Mask, groups: Sequence[Ints]) -> tuple[Mask, bool]:
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
                    self.part = _system_of(self.book, on, self.limits)
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
        for s, side in _derivation(system, len(numbers) - 1, multipliers):
            out[numbers[s], side] = True
        out[_barring(self.book, on, out), 1] = True
        return out & on


def _derivation(system: CellSystem, rows: int, multipliers: Ints | None) -> list[tuple[int, int]]:
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


def _barring(book: Book, on: Mask, core: Mask) -> Ints:
    """Return few statements of partitions that allow no row and together bar every row that can be barred.

    Only rows that the core asks for matter. Greedy cover, largest volume first. Cost: candidates times boxes left.
    """
    layout, words = WordLayout(book.release.domain), _asked_for(book, core)
    left = _row_space(book.release) if words is None else words
    boxes = _bars(book, on, left)
    numbers, rows = list(boxes), layout.rows(Boxes.of(list(boxes.values())))
    queue = [(-_volume(layout, left, row), i) for i, row in enumerate(rows)]
    heapify(queue)
    out: list[int] = []
    while queue:
        _, i = heappop(queue)
        gain = _volume(layout, left, rows[i])
        if gain and queue and -gain > queue[0][0]:
            heappush(queue, (-gain, i))  # gains only fall: one that is still the largest is the largest
        elif gain:
            out.append(numbers[i])
            if len(left) <= MAX_LEFT:
                _, _, left, _ = split_pieces(layout, left, boxes[numbers[i]])
    return np.array(out, dtype=np.int64)


def _bars(book: Book, on: Mask, words: Words) -> dict[int, Box]:
    """Return the box of every statement of a subset that allows no row and meets one of the given boxes.

    Rule lists are left out: what a rule captures is not a box.
    """
    release, layout, out = book.release, WordLayout(book.release.domain), dict[int, Box]()
    for b, loose in release.loose.items():
        zero = np.flatnonzero(on[book.span(b), 1] & (loose.high <= 0))
        counts = [(s, loose.members[s].region) for s in zero.tolist()]
        boxes = {book.first[b] + s: region.box for s, region in counts if region is not None and not region.minus}
        out |= {s: box for s, box in boxes.items() if meeting(layout, words, box).any()}
    for b, block in release.partitions.items():
        if block.first_match:
            continue
        zero = np.flatnonzero(on[book.span(b), 1] & (block.high == 0))
        regions = np.unique(block.region[zero])
        if not len(zero) or not len(words):
            continue
        covering = Covering(layout, Boxes.of([block.boxes[j] for j in regions.tolist()]))
        alive = pack_rows(np.ones((1, len(regions)), dtype=bool)).repeat(len(words), axis=0)
        met = regions[np.unique(covering.meet(words, alive)[1])]
        for s in zero[np.isin(block.region[zero], met)].tolist():
            out[book.first[b] + s] = block.statement(s, release.domain).summands[0].region.box
    return out


def _volume(layout: WordLayout, words: Words, row: Words) -> float:
    """Return how many combinations of parts of the given boxes lie in a box too."""
    held = np.add.reduceat(np.bitwise_count(words & row), layout.at[:-1], axis=1, dtype=np.float64)
    return float(held.prod(axis=1).sum())
