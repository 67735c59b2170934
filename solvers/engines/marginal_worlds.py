"""People fully known beside figures of single columns: worlds that have all counts and all these figures.

Rows are first laid out over a few boxes, by programs that know of every attribute how many rows have which value in
boxes that allow the same values; then the values of one attribute after the other are chosen, box by box; then they are
put together into rows. Every world is checked
row by row against every statement, whatever way it was found. Whoever is pinned down is in all of them.

Source: docs/policy.md, "Met and violated".

The values of one attribute, box by box, so that its figures come out: a linear program, then a few boxes exactly.

A vertex of the program gives all rows of a box one value but in about as many boxes as there are figures; there, and
in a few boxes more, whole numbers are searched for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from solvers.cells.components import simplified
from solvers.cells.cutting import distinct_words
from solvers.cells.linear_system import SparseStatements, propagate
from solvers.cells.system import CellSystem, system_of
from solvers.engines.groups.disclosure import PinnedPeople
from solvers.engines.groups.smallest import IN_ALL, MAX_CELLS, WorkLeft
from solvers.engines.marginal_statements import AllowedValues, Marginal, MarginalColumn, Mask, columns_of
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import CertificateError, Inconclusive, Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.assignments.world import check_rows
from solvers.programs.cell_model import CellModel
from solvers.programs.cpsat import FOUND, run, state
from solvers.programs.linear_program import CellProgram, LinearProgram, by_column
from solvers.statements.release import UNBOUNDED, Release

CHOOSING_COSTS = 1_000
FREED = (2, 6, 20, 60)  # boxes that are chosen anew in whole numbers beside those that the program splits
WORK = 1.0  # of CP-SAT, deterministic, for each
WHOLE_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class ValueChoice:
    """The choice of values of one attribute."""

    column: MarginalColumn
    allowed: AllowedValues

    def values(
        self, boxes: Ints, rows: Ints, avoided: Mask, random: np.random.Generator, limits: Limits
    ) -> list[Ints] | None:
        """Return the values of so many rows in each of some boxes, None where no choice was found.

        `avoided` (boxes, classes): the classes that are to be left out where that can be.
        """
        box, kind = np.nonzero(self.allowed.classes[self.allowed.of[boxes]])
        costs = random.integers(0, CHOOSING_COSTS, len(box)) + 2 * CHOOSING_COSTS * avoided[box, kind]
        x = self.vertex(box, kind, rows, costs, limits)
        y = None if x is None else self.whole(box, kind, rows, x, random, limits)
        if y is None:
            return None
        ends = np.searchsorted(box, np.arange(len(boxes) + 1))
        own = [slice(*pair) for pair in pairwise(ends.tolist())]
        return [np.repeat(self.members(b, kind[at], random), y[at]) for b, at in zip(boxes.tolist(), own, strict=True)]

    def members(self, box: int, kinds: Ints, random: np.random.Generator) -> Ints:
        """Return a value of every class that the box allows."""
        held = self.allowed.values[self.allowed.of[box]]
        return np.array([random.choice(np.flatnonzero(held & (self.column.of == c))) for c in kinds.tolist()], np.int64)

    def vertex(self, box: Ints, kind: Ints, rows: Ints, costs: Ints, limits: Limits) -> Floats | None:
        """Return rows of every class in every box that have the figures at least cost, not in whole numbers."""
        k, column, classes = len(rows), self.column, len(box)
        low = np.concatenate([rows, column.low]).astype(np.float64)
        high = np.concatenate([rows, column.high]).astype(np.float64)
        program = LinearProgram(low, high, presolve=True)
        figures, at = np.nonzero(column.weights[:, kind])
        entries = by_column(
            np.concatenate([box, k + figures]), np.concatenate([np.arange(classes), at]),
            np.concatenate([np.ones(classes), column.weights[figures, kind[at]].astype(np.float64)]), classes,
        )  # fmt: skip
        program.add(costs, (np.zeros(classes), rows[box].astype(np.float64)), entries)
        found = program.run(limits)
        return found.x if found.optimal else None

    def whole(
        self, box: Ints, kind: Ints, rows: Ints, x: Floats, random: np.random.Generator, limits: Limits
    ) -> Ints | None:
        """Return whole numbers of rows near a vertex that have the figures exactly."""
        y: Ints = np.rint(x).astype(np.int64)
        split = np.zeros(len(rows), dtype=bool)
        split[box[np.abs(x - y) > WHOLE_TOLERANCE]] = True
        split |= np.bincount(box, weights=y, minlength=len(rows)) != rows
        if not split.any() and self.meets(kind, y):
            return y
        width = np.bincount(box, minlength=len(rows))
        order = np.lexsort((random.random(len(rows)), -np.minimum(rows, 50), -np.minimum(width, 8)))
        for more in FREED:
            free = split.copy()
            free[order[~split[order]][:more]] = True
            found = self.solved(box, kind, rows, np.where(free[box], 0, y), free, limits)
            if found is not None:
                return found
            if free.all():
                break
        return None

    def solved(self, box: Ints, kind: Ints, rows: Ints, y: Ints, free: Mask, limits: Limits) -> Ints | None:
        """Return whole numbers in the free boxes that have the figures together with the other boxes."""
        from ortools.sat.python import cp_model

        model, at = cp_model.CpModel(), np.flatnonzero(free[box])
        variables = [model.new_int_var(0, int(rows[box[i]]), "") for i in at.tolist()]
        index = np.array([v.index for v in variables], dtype=np.int64)
        for b in np.flatnonzero(free).tolist():
            own = index[box[at] == b]
            state(model, own.tolist(), [1] * len(own), (int(rows[b]), int(rows[b])))
        for weights, low, high in zip(
            self.column.weights, self.column.low.tolist(), self.column.high.tolist(), strict=True
        ):
            base = int(weights[kind] @ y)
            state(model, index.tolist(), weights[kind[at]].tolist(), (low - base, high - base))
        status, solver = run(model, limits, workers=1, max_deterministic_time=WORK)
        if status not in FOUND:
            return None
        out = y.copy()
        out[at] = [solver.value(v) for v in variables]
        return out

    def meets(self, kind: Ints, y: Ints) -> bool:
        """Return whether the figures come out."""
        sums: NDArray[np.int64] = self.column.weights[:, kind] @ y
        return bool(((sums >= self.column.low) & (sums <= self.column.high)).all())


WORLDS = 30  # looked for
TRIES = 80
SOME = 0.5  # of the values of rows that all worlds have, avoided
WAYS = 6  # to put the values of a box together
STARTS = 2  # programs whose boxes are enough for a world
COSTS, AVOIDED = 1_000, 10_000
REACH = (2, 8, 40)  # rows by which a box may differ from what a program laid out
FILLED = 0.05  # rows: boxes with less stay empty
MAX_ROWS, MAX_TOTAL = 2_000_000, 1 << 62
OPEN = "more people than those in every world that was found may be fully known"
NONE = "no world with the figures of single columns was found"


def pinned_beside(release: Release, marginals: Sequence[Marginal], most: int, limits: Limits) -> PinnedPeople:
    """Return how many people are pinned down by counts and marginals, at least so far that it is more than `most`.

    `high` is proved by `worlds` worlds, or because everybody could have other values of attributes that no marginal is
    about (0 worlds); nothing is proved from below (0). Cost: that of the cells, and for each of at
    most `WORLDS` worlds one solve over boxes, and a linear program and a solve per attribute.
    """
    everybody = UNBOUNDED if release.rows.high is None else release.rows.high
    try:
        exact = not (release.coarse or release.loosened)
        if exact and _everywhere_others(system_of(release, limits), marginals):
            return PinnedPeople(0, 0)
        if release.unstated or release.coarse or release.choices or not release.rows.exact:
            raise Unsupported("some of what is published is in no statement on the rows")
        if everybody > MAX_ROWS or any(a.total >= MAX_TOTAL for a in release.domain.attributes):
            raise Unsupported(f"{everybody:,} rows are too many, or an attribute's values, to be written out")
        search = MarginalWorlds(MarginalBoxes.of(system_of(release, limits), marginals, limits), limits)
    except (Unsupported, Inconclusive) as error:
        return PinnedPeople(0, everybody, why=str(error))
    why = OPEN
    try:
        for _ in range(TRIES):
            search.further()
            if search.worlds == WORLDS or (search.worlds and search.shared <= most):
                break
    except (Unsupported, Inconclusive) as error:
        why = str(error)
    if not search.worlds:
        return PinnedPeople(0, everybody, why=NONE if why == OPEN else why)
    return PinnedPeople(0, search.shared, search.worlds, "" if search.shared == 0 else why)


def _everywhere_others(system: CellSystem, marginals: Sequence[Marginal]) -> bool:
    """Return whether no statement and no marginal tells all rows of a box apart that can hold some.

    Rows of one box can be exchanged where their values of the attributes of marginals are the same.
    """
    rest = np.array(system.piece_sizes, dtype=object)
    for k in {one.attribute for one in marginals}:
        distinct, back = distinct_words(system.words[:, system.layout.span(k)])
        sizes = np.array(system.release.domain.attributes[k].sizes, dtype=object)
        held = np.array([sum(sizes[np.array(parts, dtype=bool)]) for parts in system.layout.parts_of(distinct, k)])
        rest = rest // held[back]
    return bool(((rest > 1) | (system.bounds.upper[system.cell] == 0)).all())


@dataclass(frozen=True, eq=False)
class MarginalBoxes:
    """The boxes of a system's cells as cells of their own, and the attributes that marginals are about."""

    system: CellSystem
    columns: list[MarginalColumn]
    allowed: list[AllowedValues]
    marginals: Sequence[Marginal]

    @classmethod
    def of(cls, system: CellSystem, marginals: Sequence[Marginal], limits: Limits) -> MarginalBoxes:
        """Return the boxes of a system; raises `Unsupported` where there are too many, or no dataset fits."""
        if len(system.cell) > MAX_CELLS:
            raise Unsupported(f"{len(system.cell):,} boxes are too many for figures of single columns")
        columns = columns_of(system, marginals)
        allowed = [column.allowed(system) for column in columns]
        linear = _counted_values(_by_box(system), columns, allowed)
        alone = np.bincount(system.cell, minlength=len(system.sizes))[system.cell] == 1
        live = np.ones(len(system.cell), dtype=bool)
        for one in allowed:
            live &= one.live
        lower = np.where(alone, system.bounds.lower[system.cell], 0)
        upper = np.where(live, system.bounds.upper[system.cell], 0)
        if (lower > upper).any():
            raise Unsupported(NONE)
        bounds = propagate(linear, lower, upper, limits.expired, trace=False)
        if bounds.conflict is not None:
            raise Unsupported(NONE)
        every = np.arange(len(system.cell), dtype=np.int64)
        own = replace(system, cell=every, sizes=system.piece_sizes, linear=linear, bounds=bounds)
        return cls(own, columns, allowed, marginals)

    def is_world(self, values: Ints, limits: Limits) -> bool:
        """Return whether rows of values meet every count and every marginal: evaluated, not derived."""
        if not all(one.met(values[:, one.attribute], np.ones(len(values), dtype=np.int64)) for one in self.marginals):
            return False
        parts = np.zeros_like(values)
        for k, attribute in enumerate(self.system.release.domain.attributes):
            parts[:, k] = np.searchsorted(np.cumsum(np.array(attribute.sizes, dtype=np.int64)), values[:, k], "right")
        try:
            check_rows(self.system.release, parts, limits)
        except CertificateError:
            return False
        return True


class MarginalWorlds:
    """Worlds found one after the other: how many, and the rows that all of them have, with the box of each."""

    def __init__(self, boxes: MarginalBoxes, limits: Limits) -> None:
        self.boxes, self.limits, self.worlds = boxes, limits, 0
        self.common: dict[bytes, tuple[int, int]] = {}  # row -> rows that all worlds have of it, box
        self.random = np.random.default_rng(len(boxes.marginals))
        self.choices = [ValueChoice(c, allowed) for c, allowed in zip(boxes.columns, boxes.allowed, strict=True)]
        self.system, self.work = boxes.system, WorkLeft(IN_ALL)

    @property
    def shared(self) -> int:
        """Return how many people are in all worlds."""
        return sum(times for times, _ in self.common.values())

    def further(self) -> None:
        """Look for one more world, of other rows than all before where that can be."""
        z = self.histogram()
        if z is None:
            return
        filled = np.flatnonzero(z)
        chosen: dict[int, list[Ints]] = {}
        for choice in self.choices:
            found = choice.values(filled, z[filled], self.avoided(choice.column, filled), self.random, self.limits)
            if found is None:
                return
            chosen[choice.column.attribute] = found
        rows = [self.rows(i, b, int(z[b]), chosen) for i, b in enumerate(filled.tolist())]
        if self.boxes.is_world(np.concatenate(rows), self.limits):
            own = {r: (t, b) for b, one in zip(filled.tolist(), rows, strict=True) for r, t in _row_counts(one).items()}
            before = own if not self.worlds else self.common
            self.common = {r: (min(t, own[r][0]), b) for r, (t, b) in before.items() if r in own}
            self.worlds += 1

    def histogram(self) -> Ints | None:
        """Return rows per box that meet the counts, near the middle of what allows all figures; None: not found.

        Boxes of rows that all worlds have are avoided if possible.
        """
        system, limits = self.system, self.limits
        if not len(system.free):
            return system.bounds.lower
        middle = self.middle()
        if middle is None:
            return None
        bounds = system.bounds
        held = (middle > FILLED) | (bounds.lower > 0)
        for reach in REACH:
            least = np.where(held, np.maximum(bounds.lower, np.floor(middle).astype(np.int64) - reach), bounds.lower)
            most = np.where(held, np.minimum(bounds.upper, np.ceil(middle).astype(np.int64) + reach), bounds.lower)
            near = replace(system, bounds=replace(bounds, lower=least, upper=most))
            model = CellModel(near, limits)
            status, solver = self.work.run(model.model, limits)
            if status in FOUND:
                return model.histogram(solver.value)
        return None

    def middle(self) -> Floats | None:
        """Return rows of a few boxes, not whole numbers, inside of what counts and figures allow; None: not found."""
        bounds = self.system.bounds
        used = np.zeros(len(bounds.lower), dtype=np.int64)
        used[[b for _, b in self.common.values()]] = AVOIDED
        held = bounds.lower > 0
        for _ in range(STARTS):
            found = _relaxed(self.boxes, self.random.integers(0, COSTS, len(used)) + used, bounds.upper, self.limits)
            if found is None:
                return None
            held |= found > FILLED
        return _relaxed(self.boxes, 0 * used, np.where(held, bounds.upper, bounds.lower), self.limits)

    def avoided(self, column: MarginalColumn, filled: Ints) -> Mask:
        """Return the classes of values (boxes, classes) that rows in all worlds have, some of them."""
        out = np.zeros((len(filled), column.weights.shape[1]), dtype=bool)
        at = {b: i for i, b in enumerate(filled.tolist())}
        for row, (_, box) in self.common.items():
            if box in at and self.random.random() < SOME:
                out[at[box], column.of[np.frombuffer(row, dtype=np.int64)[column.attribute]]] = True
        return out

    def rows(self, i: int, box: int, number: int, chosen: dict[int, list[Ints]]) -> Ints:
        """Return so many rows of a box with the values chosen of each attribute: of several ways the best."""
        best, least = None, number + 1
        for way in range(WAYS):
            out = np.zeros((number, len(self.system.release.domain.attributes)), dtype=np.int64)
            for k, attribute in enumerate(self.system.release.domain.attributes):
                if k in chosen:
                    run = chosen[k][i]
                    out[:, k] = np.roll(run, int(self.random.integers(number)) if way % 2 else way * number // WAYS)
                else:
                    (parts,) = self.system.layout.parts_of(self.system.words[[box], self.system.layout.span(k)], k)
                    out[:, k] = _nth_value(parts, attribute.sizes, self.worlds + way)
            met = sum(min(t, self.common[r][0]) for r, t in _row_counts(out).items() if r in self.common)
            if met < least:
                best, least = out, met
            if not met:
                break
        assert best is not None
        return best


def _row_counts(rows: Ints) -> dict[bytes, int]:
    """Return how often each row occurs."""
    unique, times = np.unique(rows, axis=0, return_counts=True)
    return {row.tobytes(): t for row, t in zip(unique, times.tolist(), strict=True)}


def _relaxed(boxes: MarginalBoxes, costs: Ints, upper: Ints, limits: Limits) -> Floats | None:
    """Return rows per box of least cost that counts and figures allow, not in whole numbers; None: not found.

    Boxes that allow the same values of an attribute share its rows per value, which is exact. An interior point is
    wanted: from there, whole numbers are near.
    """
    system = boxes.system
    cells = CellProgram(simplified(system, limits), system.bounds.lower, upper)
    start, row, coef = cells.entries
    column = np.repeat(np.arange(len(cells.free), dtype=np.int64), np.diff(start))
    parts = [(row, column, coef)]
    low, high = [cells.low], [cells.high]
    rows, columns = len(cells.low), len(cells.free)
    for one, allowed in zip(boxes.columns, boxes.allowed, strict=True):
        sets, kind = np.nonzero(allowed.classes)
        own = np.arange(columns, columns + len(kind), dtype=np.int64)
        parts.append((rows + sets, own, np.ones(len(kind))))
        parts.append((rows + allowed.of[cells.free], np.arange(len(cells.free)), -np.ones(len(cells.free))))
        held = np.bincount(allowed.of, weights=system.bounds.lower, minlength=len(allowed.classes))
        rows += len(allowed.classes)
        figures, at = np.nonzero(one.weights[:, kind])
        parts.append((rows + figures, own[at], one.weights[figures, kind[at]].astype(np.float64)))
        low += [held, one.low.astype(np.float64)]
        high += [held, one.high.astype(np.float64)]
        rows, columns = rows + len(one.low), columns + len(kind)
    program = LinearProgram(np.concatenate(low), np.concatenate(high), presolve=True)
    program.option("solver", "ipm")
    program.option("run_crossover", "off")
    price = np.concatenate([costs[cells.free], np.zeros(columns - len(cells.free), dtype=np.int64)])
    most = np.concatenate([cells.room, np.full(columns - len(cells.free), np.inf)])
    where = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    program.add(price, (np.zeros(columns), most), by_column(where[0], where[1], where[2], columns))
    found = program.run(limits)
    if not found.optimal:
        return None
    out = system.bounds.lower.astype(np.float64)
    out[cells.free] += found.x[: len(cells.free)]
    return out


def _nth_value(parts: Sequence[bool], sizes: Sequence[int], number: int) -> int:
    """Return a value that some parts hold, another for each number as long as there are any."""
    rest = number % sum(size for size, held in zip(sizes, parts, strict=True) if held)
    first = 0
    for size, held in zip(sizes, parts, strict=True):
        if held and rest < size:
            return first + rest
        first, rest = first + size, rest - size if held else rest
    raise ValueError("a box without values")


def _by_box(system: CellSystem) -> SparseStatements:
    """Return the statements over boxes instead of cells."""
    linear = system.linear
    order = np.argsort(system.cell, kind="stable")
    count = np.bincount(system.cell, minlength=len(system.sizes))
    first = np.concatenate([[0], np.cumsum(count)])
    often = count[linear.col]
    at = np.repeat(first[linear.col], often) + np.arange(int(often.sum())) - np.repeat(np.cumsum(often) - often, often)
    return SparseStatements.of(
        np.repeat(linear.row, often),
        order[at],
        np.repeat(linear.coef, often),
        (linear.low, linear.high),
        len(system.cell),
    )


def _counted_values(
    linear: SparseStatements, columns: Sequence[MarginalColumn], allowed: Sequence[AllowedValues]
) -> SparseStatements:
    """Return the statements, and what figures that count values (of weights 0 and 1) leave room for in the boxes.

    Boxes of one value each fix such a figure. Of other figures the program tells what rows it lays out.
    """
    row, col, coef = [linear.row], [linear.col], [linear.coef]
    low, high = linear.low.tolist(), linear.high.tolist()
    for column, one in zip(columns, allowed, strict=True):
        for weights, least, most in zip(column.weights, column.low.tolist(), column.high.tolist(), strict=True):
            if not set(weights.tolist()) <= {0, 1}:
                continue
            always = ~(one.classes & (weights == 0)).any(axis=1) & one.classes.any(axis=1)
            ever = (one.classes & (weights == 1)).any(axis=1)
            for held, ends in ((always, (-UNBOUNDED, most)), (ever, (least, UNBOUNDED))):
                at = np.flatnonzero(held[one.of])
                row.append(np.full(len(at), len(low), dtype=np.int64))
                col.append(at)
                coef.append(np.ones(len(at), dtype=np.int64))
                low.append(ends[0])
                high.append(ends[1])
    where = [np.concatenate(arrays) for arrays in (row, col, coef)]
    bounds = np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
    return SparseStatements.of(where[0], where[1], where[2], bounds, linear.columns)
