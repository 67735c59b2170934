"""Worlds that local search finds, verified and remembered; where trees had bags nobody knows, likely ones.

What is found is evaluated anew in whole numbers. Nothing of the search is used there: the sums are those that the
checker of proofs takes (`solvers.kernel.cells`).

Source: `solvers.programs.local_search.loops`, `solvers.programs.local_search.finding`.

Worlds under which trees on unknown bags count what they counted: Metropolis over worlds, cooled.

A bag of c draws from n rows, each as likely as any, gives the leaves l their counts c_lk of classes k and their
numbers d_l of different rows with probability (c! / Π c_lk!) n^-c Π_l F_l, where F_l counts the ways to give the draws
of leaf l to its r_lk rows: Σ over splits d_l = Σ_k d_lk of Π_k C(r_lk, d_lk) surj(c_lk, d_lk). Only F depends on the
world. With one class F = C(r, d) surj(c, d); where d is not published F = Π_k r_k^c_k.

The worth of a world is Σ log F, over trees and leaves. Leaves of several classes have tables of all their rows; where
these are too large (ENTRIES), F is taken without d, Π_k r_k^c_k, which guides the search no less surely to worlds.

Sources: Kirkpatrick, Gelatt, Vecchi, Science 220, 1983; surjections by Stirling numbers of the second kind, Graham,
Knuth, Patashnik, "Concrete Mathematics", section 6.1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import CertificateError, EngineError, Inconclusive, TooLarge
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements, statement_sums
from solvers.programs.local_search.compiled import EFFORT, LoopFunctions, searched, work_of_move, zeros
from solvers.programs.local_search.loops import Climb, LeafWorths, LoopState
from solvers.programs.local_search.problem import SearchProblem, SearchTables, as_int_array, problem_of
from solvers.statements.release import ANY_LABEL, BootstrapCounts, Choice, Partition, Release

UNIT = 1 << 20  # of a nat
BARS = 1 << 12
HOT, COLD = 1.0, 0.02  # temperatures, in nats
LEVELS = 256
MOVES, MOST_MOVES = 1 << 14, 1 << 20  # per row, and of all
CHUNK = 32  # moves between two looks at the clock where nothing is compiled
ENTRIES = 1 << 21  # of tables of leaves of several classes, all together
DRAWS = 400  # of one class, up to which surjections are counted
FIGURE_BYTES, FIGURE_WORK = 64, 1.5e-6  # of a figure in a table: of memory with its copy, of work; measured

Group = tuple[tuple[int, ...], int]  # counts above 0 of the classes of a leaf, and its different rows (-1: not said)


def _drawn_blocks(release: Release) -> list[tuple[Partition, BootstrapCounts]]:
    """Return the partitions that trees on unknown bags left, with what these counted."""
    return [(block, block.draws) for block in release.partitions.values() if block.draws is not None]


@dataclass(slots=True)
class LeafWorthTables:
    """The tables of `LeafWorths` as they grow: one for every kind of leaf."""

    rows: int
    limits: Limits
    value: list[int] = field(default_factory=list)
    begin: dict[tuple[Group, tuple[int, ...]], int] = field(default_factory=dict)
    entries: int = 0

    def table(self, group: Group, most: tuple[int, ...]) -> int | None:
        """Return where the table of a kind of leaf begins, None where it has no room; `most`: rows of its classes.

        Raises `TooLarge` or `Inconclusive` where all tables take more memory or work than there is, before one is made.
        """
        key = group, most
        if key not in self.begin:
            counts, _ = group
            size = math.prod(m + 1 for m in most)
            if len(counts) > 1:
                if max(counts) > DRAWS or self.entries + size > ENTRIES:
                    return None
                self.entries += size
            self.limits.hold(FIGURE_BYTES * (len(self.value) + size), "tables of what rows in leaves are worth")
            if not self.limits.pay(FIGURE_WORK * size):
                raise Inconclusive("too little time for tables of what rows in leaves are worth")
            self.begin[key] = len(self.value)
            found = _log_ways(group, most).reshape(-1)
            least = found[np.isfinite(found)].min(initial=0.0)  # where statements are broken they say so themselves
            self.value += [round(x * UNIT) for x in np.where(np.isfinite(found), found, least).tolist()]
        return self.begin[key]


def _log_ways(group: Group, most: Sequence[int]) -> Floats:
    """Return (most[0] + 1, most[1] + 1, ...) log F of a leaf for all numbers of rows of its classes, -inf for none.

    With one class the constant log surj(c, d) is left out.
    """
    counts, different = group
    with np.errstate(divide="ignore"):
        if different < 0:
            out = np.zeros(())
            for c, m in zip(counts, most, strict=True):
                out = np.add.outer(out, c * np.log(np.arange(m + 1, dtype=float)))
            return out
        if len(counts) == 1:
            return np.array([_log_choose(r, different) for r in range(most[0] + 1)])
        sums = np.full((1, different + 1), -np.inf)  # (rows so far, different rows so far)
        sums[0, 0] = 0.0
        for c, m in zip(counts, most, strict=True):
            more = np.full((len(sums), m + 1, different + 1), -np.inf)
            for d in range(1, min(c, different) + 1):
                ways = np.array([_log_choose(r, d) for r in range(m + 1)]) + _log_surjections(c)[d]
                new = sums[:, None, : different + 1 - d] + ways[None, :, None]
                more[:, :, d:] = np.logaddexp(more[:, :, d:], new)
            sums = more.reshape(-1, different + 1)
    return sums[:, different].reshape([m + 1 for m in most])


def _log_choose(r: int, d: int) -> float:
    """Return log C(r, d), -inf for 0."""
    return -math.inf if r < d else math.lgamma(r + 1) - math.lgamma(d + 1) - math.lgamma(r - d + 1)


@cache
def _log_surjections(c: int) -> tuple[float, ...]:
    """Return for d = 0..c the log of the number of ways to draw d different things, each once at least, c times."""
    ways = [1]
    for _ in range(c):
        ways = [0, *(d * (a + b) for d, (a, b) in enumerate(pairwise([*ways, 0]), 1))]
    return tuple(math.log(x) if x else -math.inf for x in ways)


def _drawn_tables(problem: SearchProblem, limits: Limits) -> tuple[LeafWorths, Ints]:
    """Return what rows in leaves are worth, and where the figure of every cell stands without rows.

    Regions are numbered as in `problem.tables`: partitions first come in the order of the blocks.
    """
    release, labels = problem.release, problem.tables.sizes[2]
    figures, at, first = LeafWorthTables(problem.rows, limits), list[int](), 0
    cell = np.full(len(problem.tables.statement), -1, dtype=np.int64)
    stride = np.zeros(len(cell), dtype=np.int64)
    most = [problem.rows] * labels if problem.free else list(problem.classes)
    for block in release.blocks:
        if not isinstance(block, Partition):
            first += 2 * len(block)
            continue
        if block.draws is not None:
            for j, group in enumerate(_groups(block, block.draws)):
                _place_leaf(figures, at, (first + j) * labels, group, most, (cell, stride))
        first += len(block.boxes)
    return LeafWorths(cell, stride, as_int_array(figures.value)), as_int_array(at)


def _groups(block: Partition, draws: BootstrapCounts) -> list[tuple[list[int], list[int], int]]:
    """Return per leaf the labels with a count above 0 (ANY_LABEL: all), these counts, and the different rows."""
    out: list[tuple[list[int], list[int], int]] = [([], [], d) for d in draws.distinct.tolist()]
    for j, label, count in zip(block.region.tolist(), block.label.tolist(), draws.count.tolist(), strict=True):
        if count:
            out[j][0].append(label)
            out[j][1].append(count)
    return out


def _place_leaf(
    figures: LeafWorthTables,
    at: list[int],
    slot: int,
    group: tuple[list[int], list[int], int],
    most: Sequence[int],
    out: tuple[Ints, Ints],
) -> None:
    """Add the figures of a leaf, whose labels' slots begin at `slot`, to the cells."""
    named, counts, different = group
    if not named:
        return
    everybody = named == [ANY_LABEL]
    room = tuple(figures.rows if everybody else most[k] for k in named)
    apart = different < 0 and len(named) > 1
    begin = None if apart else figures.table((tuple(counts), different), room)
    if begin is None:  # each class by itself
        for k, c in zip(named, counts, strict=True):
            _place_leaf(figures, at, slot, ([k], [c], -1), most, out)
        return
    step = 1
    for k, m in reversed(list(zip(named, room, strict=True))):
        chosen = slice(slot, slot + len(most)) if everybody else slice(slot + k, slot + k + 1)
        out[0][chosen], out[1][chosen] = len(at), step
        step *= m + 1
    at.append(begin)


def _climb(
    problem: SearchProblem, state: LoopState, tables: SearchTables, made: LoopFunctions, limits: Limits
) -> tuple[Ints, Ints, tuple[int, int]]:
    """Return the likeliest world met and the last one, from a state that is a world, and the worth of both.

    The first are no less likely than those of the state. The same state gives the same rows, compiled or not, unless
    the time ends the search first. Cost: `MOVES` per row, `MOST_MOVES`
    at most; a part of the time left ("likelier worlds" of `STAGES`).
    """
    limits = limits.stage("likelier worlds")
    drawn, begins = _drawn_tables(problem, limits)
    counters, labels = int(problem.tables.sizes[0]), int(problem.tables.sizes[2])
    at = begins.copy()
    rows = np.array(state.rows).reshape(problem.rows, -1)
    label = rows[:, int(problem.tables.sizes[3])] if problem.tables.sizes[3] >= 0 else np.zeros(problem.rows, np.int64)
    slots = (np.array(state.region).reshape(problem.rows, counters) * labels + label[:, None]).reshape(-1)
    slots = slots[drawn.cell[slots] >= 0]
    np.add.at(at, drawn.cell[slots], drawn.stride[slots])
    climber = Climb(at, zeros(2), zeros(BARS))
    climber.worth[0] = int(drawn.value[at].sum())
    if not made.machine:
        drawn, climber = LeafWorths(*(x.tolist() for x in drawn)), Climb(*(x.tolist() for x in climber))
    best = last = int(climber.worth[0])
    rows_then = rows_last = list(state.rows)
    dice = -np.log((np.arange(BARS) + 0.5) / BARS)
    moves = max(1, min(MOST_MOVES, MOVES * problem.rows) // LEVELS)
    each = work_of_move(problem, bool(made.machine))
    for level in range(LEVELS):
        bars = (-HOT * (COLD / HOT) ** (level / LEVELS) * UNIT * dice).astype(np.int64)
        climber.bar[:] = bars if made.machine else bars.tolist()
        for done in range(0, moves, moves if made.machine else CHUNK):
            made.sway(tables, drawn, state, climber, moves if made.machine else min(CHUNK, moves - done))
            limits.charge(each * (moves if made.machine else CHUNK))
            if limits.expired():
                break
        if state.numbers[1] == 0:
            last, rows_last = int(climber.worth[0]), list(state.rows)
            if last > best:
                best, rows_then = last, rows_last
        if limits.expired():
            break
        limits.report(f"likely worlds of unknown bags: {level + 1} of {LEVELS} temperatures")
    ends: list[Any] = [np.array(x, dtype=np.int64).reshape(problem.rows, -1) for x in (rows_then, rows_last)]
    return ends[0], ends[1], (best, last)


def log_likelihood(release: Release, rows: Ints) -> float:
    """Return Σ log F of (rows, attributes) parts, -1: any; -inf where no bags give the counts. All from the start.

    Nothing of the search is used. Cost: rows times leaves.
    """
    total = 0.0
    for block, draws in _drawn_blocks(release):
        for j, (named, counts, different) in enumerate(_groups(block, draws)):
            inside = np.ones(len(rows), dtype=bool)
            for k, mask in block.boxes[j].literals:
                inside &= np.array([p < 0 or bool(mask >> p & 1) for p in rows[:, k].tolist()], dtype=bool)
            label = release.domain.label
            held = [
                int(inside.sum()) if y == ANY_LABEL or label is None else int((inside & (rows[:, label] == y)).sum())
                for y in named
            ]
            if named:
                total += _log_ways_of(tuple(counts), different, held)
    return total


def _log_ways_of(counts: tuple[int, ...], different: int, held: Sequence[int]) -> float:
    """Return log F of one leaf, its constant included, in whole numbers up to the last step."""
    if different < 0:
        return sum(c * math.log(r) if r else -math.inf for c, r in zip(counts, held, strict=True))
    ways = [1]  # by different rows so far
    for c, r in zip(counts, held, strict=True):
        some, surjections = [0] * (different + 1), _surjective(c)
        for d in range(1, min(c, r, different) + 1):
            for before, w in enumerate(ways[: different + 1 - d]):
                some[before + d] += w * math.comb(r, d) * surjections[d]
        ways = some
    return math.log(ways[different]) if len(ways) > different and ways[different] else -math.inf


@cache
def _surjective(c: int) -> tuple[int, ...]:
    """Return for d = 0..c how many ways there are to draw all of d things in c draws: Σ (-1)^j C(d, j) (d - j)^c."""
    return tuple(sum((-1) ** j * math.comb(d, j) * (d - j) ** c for j in range(d + 1)) for d in range(c + 1))


@dataclass(slots=True)
class SearchedWorlds:
    """Worlds that were found, by seed, and how many seconds a search took that found none."""

    rows: dict[int, Ints] = field(default_factory=dict)
    seconds: float = 0.0


def known_rows(release: Release, seed: int, limits: Limits) -> Ints:
    """Return (rows, attributes) parts of a world, -1 where nothing names an attribute; from memory if known.

    Every statement has been evaluated anew on them. Raises `Inconclusive` where none is found.
    """
    remembered = release.derived.part(SearchedWorlds)
    if seed in remembered.rows:
        return remembered.rows[seed]
    begun = _left_for(remembered, limits)
    problem = problem_of(release, limits)
    found = searched(problem, seed, limits)
    if found.world is None:
        remembered.seconds = limits.spent(begun) if not limits.stop.is_set() else 0.0
        raise _missing(found.off)
    rows = _verified_rows(problem, found.world)
    remembered.rows[seed] = rows
    return rows


def likely_rows(release: Release, seed: int, limits: Limits, effort: int = EFFORT) -> tuple[Ints, bool]:
    """Return (rows, attributes) parts of a world that makes the bags' counts likely, and whether another was met.

    Raises `Inconclusive` where none is found; a search of less than full effort leaves it to others to find one.
    """
    remembered = release.derived.part(SearchedWorlds)
    begun = _left_for(remembered, limits)
    problem = problem_of(release, limits)
    found = searched(problem, seed, limits, effort, likely=True)
    if found.world is None:
        if effort == EFFORT and not limits.stop.is_set():
            remembered.seconds = limits.spent(begun)
        raise _missing(found.off)
    first = _verified_rows(problem, found.world)
    try:
        best, last, _ = _climb(problem, *found.end, limits)
    except (TooLarge, Inconclusive):  # what rows are worth takes more than there is: the first world stands
        return first, False
    rows = _verified_rows(problem, best)
    others = [first] if _same(first, rows) is False else [_verified_rows(problem, last)]
    return rows, not all(_same(rows, other) for other in others)


def _left_for(remembered: SearchedWorlds, limits: Limits) -> tuple[float, float]:
    """Return what is left; raises `Inconclusive` where a search with as much of it found nothing."""
    if limits.work_left() <= remembered.seconds:
        raise Inconclusive("no world was found in more time than is left")
    return limits.remaining()


def _missing(off: int) -> Inconclusive:
    """Return what is raised where no world was found."""
    return Inconclusive(f"no world was found, and none was excluded (at best {off:,} rows off)")


def _verified_rows(problem: SearchProblem, found: Ints) -> Ints:
    """Return rows over all attributes, every statement evaluated anew on them."""
    release = problem.release
    rows = np.full((problem.rows, len(release.domain.attributes)), -1, dtype=np.int64)
    rows[:, problem.attributes] = found
    if (wrong := _broken_statement(release, rows)) is not None:
        raise EngineError(f"local search found rows that are no world: {wrong}")
    return rows


def _same(some: Ints, others: Ints) -> bool:
    """Return whether two lists hold the same rows in whatever order."""
    return Counter(map(tuple, some.tolist())) == Counter(map(tuple, others.tolist()))


def _broken_statement(release: Release, rows: Ints) -> str | None:
    """Return what a dataset does not meet, None for a possible world. `rows`: (rows, attributes) parts, -1: any.

    Raises `NotVerified` where the memory does not hold the walk. Cost: rows times statements' boxes.
    """
    facts = NumberedStatements(release, Limits())  # a found world is checked even when the time is up
    often = Counter(map(tuple, np.maximum(rows, 0).tolist()))
    for box in release.impossible:
        if any(all(mask >> row[k] & 1 for k, mask in box.literals) for row in often):
            return "a row that is declared impossible"
    try:
        sums = statement_sums(facts, tuple(often), tuple(often.values()))
    except CertificateError as error:
        return str(error)
    met = (sums >= facts.low) & (sums <= facts.high)
    for s in np.flatnonzero(facts.unconditional & ~met).tolist():
        return f"{facts.source(s)}: {int(sums[s])} rows"
    for b, block in enumerate(release.blocks):
        if isinstance(block, Choice) and sum(bool(met[a].all()) for a in facts.alternatives(b)) != 1:
            return block.name
    return None
