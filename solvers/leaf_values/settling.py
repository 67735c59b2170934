"""What leaf values prove about cells: the entry of the room.

Cells are refined tree by tree; at every level weighted sums of counts, figures and earlier facts fix numbers of rows
(`solvers.leaf_values.peeling`), cells without rows are dropped, and what fits into one level is tried at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from solvers.foundation.array_types import Ints
from solvers.foundation.errors import TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.kernel.claims import Form, Refined
from solvers.leaf_values.cells import (
    AssumptionError,
    Batch,
    CellLevel,
    ColumnSystem,
    CutCells,
    add_facts,
    base_blocks,
    behind,
    compact,
    counts,
    figures,
    first_cells,
    flat,
    hold_numbers,
    level_work,
    with_trees,
)
from solvers.leaf_values.combining import IntegerStatements, evaluated
from solvers.leaf_values.lattice import MAX_LATTICE_COLUMNS, reduced, unavailable
from solvers.leaf_values.peeling import affordable, peel
from solvers.statements.boxes import Boxes
from solvers.statements.observations import StatementIndex
from solvers.statements.questions.answers import Status, StrengthenedAnswer
from solvers.statements.release import Release

MOST_CELLS = 10_000  # there
GROWTH = 1.3  # of the cells from level to level
MAX_OPEN_NUMBERS = 100  # open numbers of a lattice before the last level
SOON = 200  # columns of a lattice, before levels tree by tree were tried
SHRUNK = 0.9  # of what was open: lattices are reduced again where less is left
MIN_ADDED_CELLS = 64  # cells that a level may have more than the one before, whatever its size


class Steps(Sequence[Refined | Form]):
    """The steps of a proof, made from arrays when they are asked for."""

    def __init__(self, parts: Sequence[Refined | Batch]) -> None:
        self.parts = tuple(parts)
        sizes = [1 if isinstance(p, Refined) else len(p) for p in self.parts]
        self.first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def __len__(self) -> int:
        return int(self.first[-1])

    @overload
    def __getitem__(self, i: int) -> Refined | Form: ...
    @overload
    def __getitem__(self, i: slice) -> tuple[Refined | Form, ...]: ...
    def __getitem__(self, i: int | slice) -> Refined | Form | tuple[Refined | Form, ...]:
        """Return step i, or those of a slice."""
        if isinstance(i, slice):
            return tuple(self[j] for j in range(*i.indices(len(self))))
        i = range(len(self))[i]
        p = int(np.searchsorted(self.first, i, side="right")) - 1
        part = self.parts[p]
        return part if isinstance(part, Refined) else _form(part, i - int(self.first[p]))

    def outlines(self) -> Iterator[Refined | tuple[Form, int]]:
        """Yield the steps, forms without their multipliers but with how many there are: much cheaper."""
        for part in self.parts:
            if isinstance(part, Refined):
                yield part
                continue
            sizes = np.diff(part.weights.indptr).tolist()
            start, low, high = part.start.tolist(), part.low.tolist(), part.high.tolist()
            terms = list(zip(part.column.tolist(), part.coefficient.tolist(), strict=True))
            for i, size in enumerate(sizes):
                yield Form(tuple(terms[start[i] : start[i + 1]]), 1, (), int(low[i]), int(high[i])), size

    def __iter__(self) -> Iterator[Refined | Form]:
        for part in self.parts:
            if isinstance(part, Refined):
                yield part
            else:
                yield from (_form(part, i) for i in range(len(part)))


def _form(batch: Batch, i: int) -> Form:
    """Return form i of a batch, its weights as whole numbers over a power of two."""
    span = slice(int(batch.start[i]), int(batch.start[i + 1]))
    terms = tuple(zip(batch.column[span].tolist(), batch.coefficient[span].tolist(), strict=True))
    row = batch.weights[[i]]
    ratios = [float(w).as_integer_ratio() for w in row.data.tolist()]
    over = max((q for _, q in ratios), default=1)
    pairs = zip(batch.source[row.indices].tolist(), ratios, strict=True)
    found = sorted((s, p * (over // q)) for s, (p, q) in pairs if p)
    return Form(terms, over, tuple(found), int(batch.low[i]), int(batch.high[i]))


def strengthened_counts(release: Release, model: int, limits: Limits, lattices: bool = True) -> StrengthenedAnswer:
    """Return bounds on the rows per cell and label of boosted model number `model`, with their proof.

    `lattices`: they are reduced for what weighted sums leave open; without, it takes much less.
    Where the figures contradict what they assume (all rows, none weighted), `failed` says so. Raises `Unsupported` for
    real targets and noisy counts, `TooLarge` for more than `limits.cells` cells. Cost: per level a decomposition of its
    statements by its cells.
    """
    boosted = release.boosted[model]
    if not boosted.labels:
        raise Unsupported("the target is a number: rows have no classes to be counted")
    if release.observed:
        raise Unsupported("leaf values are not used together with noisy counts")
    if release.domain.label is None:
        raise Unsupported("the domain has no label")
    work = Strengthening(release, model, limits, lattices)
    try:
        return work.answer()
    except AssumptionError as error:
        reason = "rows were weighted or drawn, or training was continued or set up otherwise than the file says"
        return StrengthenedAnswer("unknown", failed=f"{error}: {reason}")


@dataclass(frozen=True, eq=False)
class LevelOutcome:
    """What a sequence of levels came to."""

    cells: CutCells
    level: CellLevel
    parts: list[Refined | Batch]


class Strengthening:
    """The levels of one boosted model."""

    def __init__(self, release: Release, model: int, limits: Limits, lattices: bool = True) -> None:
        self.release, self.boosted, self.limits = release, release.boosted[model], limits
        self.lattices = lattices
        self.index = StatementIndex(release)
        self.base = base_blocks(release)
        self.labels = release.domain.labels
        self.most = limits.cells

    def answer(self) -> StrengthenedAnswer:
        """Return what is proved: all trees at once where they fit, then tree by tree where something is left open."""
        last = len(self.boosted.trees)
        best, few = None, False
        start = first_cells(self.release, self.base, self.most)
        with suppress(TooLarge):
            cells, _ = with_trees(self.release, self.boosted, start, last, min(self.most, MOST_CELLS))
            few = len(cells) <= _room_after(len(start))  # tree by tree is the same then
            leaves = sum(len(tree.step) for tree in self.boosted.trees)
            if affordable(leaves + len(self.boosted), len(cells), self.limits.stage("all trees at once")):
                best = self.through([last], MAX_LATTICE_COLUMNS if few else SOON)
        again = self.lattices and not few and not self.limits.expired()
        if best is None or (again and best.level.open.any()):
            other = self.through(None, MAX_LATTICE_COLUMNS)
            if best is None or _known_rows(other) > _known_rows(best):
                best = other
        return self.finished(best)

    def through(self, levels: list[int] | None, columns: int) -> LevelOutcome:
        """Return what the given levels (numbers of trees; None: as many as there should be) come to.

        `columns`: so many open numbers the lattice of the last level may have.
        """
        cells = first_cells(self.release, self.base, self.most)
        top = self.release.rows.high
        if top is None:
            raise Unsupported("nobody knows the number of rows")
        shape = (len(cells), len(self.boosted.labels))
        low, high = np.zeros(shape, dtype=np.int64), np.full(shape, top, dtype=np.int64)
        facts = ColumnSystem.joined([], len(self.boosted.labels))
        after = len(self.index) + len(self.boosted)
        parts: list[Refined | Batch] = []
        done, spent = 0, 0.0
        level = self.level(cells, low, high, facts, after)
        while done < len(self.boosted.trees):
            if self.limits.expired() and done:
                break
            try:
                finer, bounds, refined = self.refined(cells, level, levels)
                work = level_work(self.release, self.boosted, self.base, finer, bounds.given.middle.size, self.limits)
            except TooLarge as error:  # what was proved before stands
                if not done:
                    raise
                self.limits.report(f"leaf values: {done} of {len(self.boosted.trees)} trees: {error}")
                break
            if done and not self.limits.affords(work):  # the first is made in any time
                break
            self.limits.charge(work)
            level = bounds  # what the level before said goes, before as much is said anew
            del bounds
            level = self.level(finer, level.lower, level.upper, level.given, level.next)
            cells, done = finer, finer.leaves.shape[1]
            parts.append(refined)
            self.limits.report(f"leaf values: {done} of {len(self.boosted.trees)} trees, {len(cells):,} cells")
            peel(level, self.limits)
            last = done == len(self.boosted.trees)
            most, part = (columns, "last lattices") if last else (MAX_OPEN_NUMBERS, "early lattices")
            begun = self.limits.meter.used
            while self.lattices and level.open.sum() <= most:
                used = (0.0 if last else spent) + self.limits.meter.used - begun
                if not _by_lattice(level, self.limits.stage(part, used)):
                    break
                peel(level, self.limits)
            spent += self.limits.meter.used - begun
            parts += level.batches
        return LevelOutcome(cells, level, parts)

    def level(self, cells: CutCells, lower: Ints, upper: Ints, facts: ColumnSystem, after: int) -> CellLevel:
        """Return what is said of cells before anything is worked out."""
        count = counts(self.index, self.boosted, self.base, cells)
        given = ColumnSystem.joined(
            [count, figures(self.boosted, cells.leaves, len(self.index)), facts], lower.shape[1]
        )
        columns = np.arange(len(cells))[:, None] * self.labels + np.array(self.boosted.labels)[None]
        return CellLevel(given, lower, upper, after, columns, self.source)

    def source(self, s: int) -> str:
        """Return what statement s is, in words."""
        if s < len(self.index):
            return self.index.source(s)
        s -= len(self.index)
        for tree in self.boosted.trees:
            if s < len(tree):
                return tree.names[s]
            s -= len(tree)
        return "a fact"

    def refined(
        self, cells: CutCells, level: CellLevel, levels: list[int] | None
    ) -> tuple[CutCells, CellLevel, Refined]:
        """Return the cells that can hold rows, cut by the next trees, what is known of them, and the step taken."""
        alive = np.flatnonzero((level.upper > 0).any(axis=1))
        old = cells.kept(alive)
        done, last = cells.leaves.shape[1], len(self.boosted.trees)
        if levels is not None:
            trees = next(t for t in levels if t > done)
            finer, origin = with_trees(self.release, self.boosted, old, trees, self.most)
        else:
            trees = done + 1
            finer, origin = with_trees(self.release, self.boosted, old, trees, self.most)
            room = _room_after(len(old))
            while trees < last and len(finer) <= room:
                try:
                    more, of = with_trees(self.release, self.boosted, finer, trees + 1, room)
                except TooLarge:
                    break
                finer, origin, trees = more, origin[of], trees + 1
        lower, upper = level.lower[alive][origin], level.upper[alive][origin].copy()
        parts = np.bincount(origin, minlength=len(old))
        lower = np.where((parts == 1)[origin][:, None], lower, 0)
        carried = self.carried(level, alive, origin, parts)
        after = level.next + len(old) * self.labels
        return finer, replace(level, given=carried, lower=lower, upper=upper, next=after, batches=[]), Refined(trees)

    def carried(self, level: CellLevel, alive: Ints, origin: Ints, parts: Ints) -> ColumnSystem:
        """Return what is known of old cells as statements on their parts: columns, and facts of several columns.

        Raises `TooLarge` where they do not fit into the memory beside what the level says.
        """
        classes, given = level.lower.shape[1], level.given
        lower, upper = level.lower[alive], level.upper[alive]
        c, k = np.nonzero((parts > 1)[:, None] & (upper > 0))
        row = np.full(lower.shape, -1)
        row[c, k] = np.arange(len(c))
        e, label = np.nonzero(row[origin] >= 0)
        # facts proved before: about the parts of their cells; those of columns alone are above
        first = len(self.index) + len(self.boosted)
        facts = given.source >= first
        mapped = np.full(len(level.lower), -1)
        mapped[alive] = np.arange(len(alive))
        several = np.bincount(given.row, (given.middle != 0).sum(axis=1), minlength=len(given)) > 1
        rows = facts & several
        number = np.where(rows, np.cumsum(rows) - 1, -1)
        kept = np.flatnonzero(rows[given.row] & (mapped[given.cell] >= 0))
        by_old = np.argsort(origin, kind="stable")
        begin = np.concatenate([[0], np.cumsum(parts)])
        old = mapped[given.cell[kept]]
        times = parts[old]
        hold_numbers(given.middle.size + classes * (len(e) + int(times.sum())), len(origin), self.limits)
        middle = np.zeros((len(e), classes))
        middle[np.arange(len(e)), label] = 1.0
        order = np.argsort(row[origin[e], label], kind="stable")
        source = level.next + c * self.labels + np.array(self.boosted.labels)[k]
        ends = lower[c, k].astype(np.float64), upper[c, k].astype(np.float64)
        found = ColumnSystem(row[origin[e], label][order], e[order], middle[order], 0 * middle, *ends, source)
        within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        cell = by_old[np.repeat(begin[old], times) + within]
        again = np.repeat(kept, times)
        older = ColumnSystem(
            number[given.row[again]],
            cell,
            given.middle[again],
            given.radius[again],
            given.low[rows],
            given.high[rows],
            given.source[rows],
        )
        return ColumnSystem.joined([found, older], classes)

    def finished(self, found: LevelOutcome) -> StrengthenedAnswer:
        """Return the answer, after every figure was evaluated on what is known."""
        level = found.level
        alive = np.flatnonzero((level.upper > 0).any(axis=1))
        cells, lower, upper = found.cells.kept(alive), level.lower[alive], level.upper[alive]
        parts = evaluated(self.boosted, cells.leaves, lower, upper)
        worst = max((float(p.max(initial=0.0)) for p, _ in parts), default=0.0)
        if worst > 1.0:
            t = int(np.argmax([p.max(initial=0.0) for p, _ in parts]))
            name = self.boosted.trees[t].names[int(np.argmax(parts[t][0]))]
            raise AssumptionError(f"{name} misses by {worst:.1e} times its bound")
        surplus = sum(int(fixed.sum()) for _, fixed in parts) - int((lower == upper).sum())
        low = np.zeros((len(alive), self.labels), dtype=np.int64)
        high = np.zeros_like(low)
        low[:, list(self.boosted.labels)], high[:, list(self.boosted.labels)] = lower, upper
        status: Status = (
            "exact" if bool((low == high).all()) and cells.leaves.shape[1] == len(self.boosted.trees) else "bounds"
        )
        steps = Steps(found.parts)
        least, most = self.totals(level)
        return StrengthenedAnswer(
            status,
            boxes=Boxes.of(cells.boxes()),
            low=low,
            high=high,
            steps=steps,
            surplus=max(0, surplus),
            worst=worst,
            total_low=least[alive],
            total_high=most[alive],
            trail=(unavailable(),) if status != "exact" and unavailable() else (),
        )

    def totals(self, level: CellLevel) -> tuple[Ints, Ints]:
        """Return bounds on the rows of every cell, whatever their class: as the kernel's replay works them out.

        Sums of bounds, the number of rows, and proved forms that are about all classes of one cell, once each.
        """
        given, classes = level.given, level.lower.shape[1]
        low, high = level.lower.sum(axis=1), np.minimum(level.upper.sum(axis=1), self.release.rows.high or 0)
        entries = np.bincount(given.row, (given.middle != 0).any(axis=1), minlength=len(given))
        whole = (given.middle == 1).all(axis=1) & (entries[given.row] == 1) & (classes > 1)
        at = np.flatnonzero(whole & (given.source >= len(self.index) + len(self.boosted))[given.row])
        row, cell = given.row[at], given.cell[at]
        np.maximum.at(low, cell, np.minimum(given.low[row], self.release.rows.high or 0).astype(np.int64))
        np.minimum.at(high, cell, np.maximum(given.high[row], -1).astype(np.int64))
        return low, high


def _room_after(cells: int) -> int:
    """Return how many cells the level after one of so many cells may have, if it is to be several trees at once."""
    return max(int(GROWTH * cells), cells + MIN_ADDED_CELLS)


def _known_rows(found: LevelOutcome) -> int:
    """Return how many rows are known with their class."""
    level: CellLevel = found.level
    return int(level.lower[~level.open].sum())


def _by_lattice(level: CellLevel, limits: Limits) -> bool:
    """Take over what lattice reduction proves of few open numbers; return whether bounds on them shrank by much."""
    from scipy.sparse import csr_matrix

    given, is_open = level.given, level.open
    x = np.flatnonzero(is_open.ravel())
    if not 1 < len(x) <= MAX_LATTICE_COLUMNS or limits.expired():
        return False
    rows = np.zeros(len(given), dtype=bool)
    rows[given.row[(is_open[given.cell] & (given.middle != 0)).any(axis=1)]] = True
    middle, radius = flat(given, is_open, rows, compact(rows))
    low, high = behind(level, rows)
    source = given.source[rows]
    lower, upper = level.lower.ravel()[x], level.upper.ravel()[x]
    most = abs(middle[:, x]) @ upper
    said = np.flatnonzero((low > -most) | (high < most))
    dense = middle[:, x].toarray()[said], radius[:, x].toarray()[said]
    statements = IntegerStatements(*dense, *_finite(low[said], high[said], most[said]), source[said], x, lower, upper)
    found = reduced(statements, limits)
    if not found:
        return False
    if found[-1].low > found[-1].high:
        raise AssumptionError("no whole numbers of rows are left")
    size = len(said) + len(found)
    weights = np.zeros((len(found), size))
    for i, one in enumerate(found):
        weights[i, : len(one.weights)] = one.weights
    start = np.concatenate([[0], np.cumsum([len(one.terms) for one in found])]).astype(np.int64)
    column = x[np.array([j for one in found for j, _ in one.terms], dtype=np.int64)]
    coefficient = np.array([v for one in found for _, v in one.terms], dtype=np.int64)
    ends = np.array([one.low for one in found]), np.array([one.high for one in found])
    numbers = np.arange(level.next, level.next + len(found), dtype=np.int64)
    proof = csr_matrix(weights)
    batch = Batch(
        start, level.columns.ravel()[column], coefficient, *ends, proof, np.concatenate([source[said], numbers])
    )
    level.record(batch)
    flat_lower, flat_upper = level.lower.ravel(), level.upper.ravel()
    before = int((flat_upper - flat_lower).sum())
    for i in np.flatnonzero((np.diff(start) == 1) & (coefficient[start[:-1]] == 1)).tolist():
        j = column[start[i]]
        flat_lower[j], flat_upper[j] = max(flat_lower[j], ends[0][i]), min(flat_upper[j], ends[1][i])
    add_facts(level, batch, numbers, column)
    return int((flat_upper - flat_lower).sum()) < SHRUNK * before


def _finite(
    low: NDArray[np.float64], high: NDArray[np.float64], most: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return intervals without infinite ends: no sum is beyond `most`."""
    far = np.nextafter(most * (1 + 2.0**-40), np.inf)
    return np.maximum(low, -far), np.minimum(high, far)
