"""Leaves out of a proof by leaf values the steps that claims do not rest on, and shortens the numbers of the others.

The steps are gone through once, believed, and each bound of a column is noted with the step that made it. Then, from
what the claims need back to the start, each step that is needed names the bounds it rests on: of a weighted sum only
those without which it says less than is claimed, mostly none. What is found is always verified anew.

Source: Wetzler, Heule, Hunt, "DRAT-trim", SAT 2014 (the walk back from what is claimed).

Sources of a proof by leaf values that determine every column by themselves, and forms as sums of these.

Source: Golub, Van Loan, "Matrix Computations", 4th edition, 2013, section 3.4 (elimination with row pivoting).

Bounds on columns with the steps behind them, what it costs to know less, and steps without their long numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import padded
from solvers.foundation.array_types import Bits, Floats, Ints
from solvers.foundation.limits import Limits
from solvers.kernel.cells import NumberedStatements
from solvers.kernel.claims import AnyClaim, AtLeast, AtMost, Form, Refined
from solvers.kernel.leaf_values.coefficients import SourceWeights
from solvers.kernel.leaf_values.cutting import LeafCells
from solvers.kernel.leaf_values.replay import UNITS, LeafValueReplay, ProvedSum
from solvers.statements.boxes import Box
from solvers.statements.gradients.enclosed import BITS

FEW_MULTIPLIERS = 4  # multipliers of a form that is cheap to keep
ROUND = 0.2  # of what a sum leaves, given up for multipliers of fewer digits
Steps = Sequence[Refined | Form]


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """Bounds on all columns, and the steps behind them (-1: none)."""

    lower: Ints
    upper: Ints
    by_lower: Ints
    by_upper: Ints

    def copy(self) -> ColumnBounds:
        """Return a copy that can be changed."""
        return ColumnBounds(self.lower.copy(), self.upper.copy(), self.by_lower.copy(), self.by_upper.copy())

    def parts(self, came: Ints, alone: Bits) -> ColumnBounds:
        """Return those of the parts of columns."""
        return ColumnBounds(
            np.where(alone, self.lower[came], 0),
            self.upper[came],
            np.where(alone, self.by_lower[came], -1),
            self.by_upper[came],
        )

    def behind(self, columns: Ints | Bits, low: bool = True, high: bool = True) -> set[int]:
        """Return the steps behind the bounds of some columns."""
        found = set(self.by_lower[columns].tolist()) if low else set()
        return (found | (set(self.by_upper[columns].tolist()) if high else set())) - {-1}


def _outlines(steps: Steps) -> Iterable[Refined | tuple[Form, int]]:
    """Return the steps, forms with how many multipliers they have: without these where making them is the cost."""
    light = getattr(steps, "outlines", None)
    if light is not None:
        found: Iterable[Refined | tuple[Form, int]] = light()
        return found
    return (step if isinstance(step, Refined) else (step, len(step.multipliers)) for step in steps)


def _cost(
    up: Floats, down: Floats, loose: tuple[Ints, Ints], tight: tuple[Ints, Ints], room: tuple[float, float]
) -> Floats:
    """Return per column which part of the room it takes to know only the loose bounds."""
    above = up * (np.where(up > 0, loose[1], loose[0]) - np.where(up > 0, tight[1], tight[0]))
    below = down * (np.where(down < 0, loose[1], loose[0]) - np.where(down < 0, tight[1], tight[0]))
    return np.asarray(np.maximum(above / room[0], -below / room[1]), dtype=np.float64)


def _shorter(form: Form, slack: float, size: float) -> Form:
    """Return a form with multipliers of fewer digits: rounding them moves its sum by less than a part of the slack.

    `size`: what the sources add up to at most, each weighed by 1.
    """
    if len(form.multipliers) <= FEW_MULTIPLIERS or not slack > 0 or not math.isfinite(slack):
        return form
    bits = max(8, math.ceil(math.log2(max(size, 1.0) / (ROUND * slack))))
    if form.over <= 1 << bits:
        return form
    pairs = ((s, ((y << bits + 1) + form.over) // (2 * form.over)) for s, y in form.multipliers)
    return replace(form, over=1 << bits, multipliers=tuple((s, y) for s, y in pairs if y))


MAX_MATRIX_NUMBERS = 1 << 25  # numbers in the matrix that a basis is chosen from
MATRIX_BYTES = 48  # of each, with copies and factors
SINGULAR = 1e-10  # of the greatest pivot: what is smaller determines nothing
GRID = 60  # binary digits of weights


@dataclass(frozen=True, eq=False)
class Basis:
    """As many sources as there are columns (those that can hold rows), which determine them: weights are solved for."""

    sources: list[int]
    columns: Ints
    place: dict[int, int]
    matrix: Floats
    factors: Any

    def form(self, form: Form) -> Form:
        """Return a form by these sources: weights as they were solved for, and once more for what is left."""
        from scipy.linalg import lu_solve

        wanted = np.zeros(len(self.columns))
        for c, a in form.terms:
            if c in self.place:
                wanted[self.place[c]] = a
        y = lu_solve(self.factors, wanted, trans=1)
        y = y + lu_solve(self.factors, wanted - y @ self.matrix, trans=1)
        whole = [(s, round(x * 2.0**GRID)) for s, x in zip(self.sources, y.tolist(), strict=True) if np.isfinite(x)]
        return replace(form, over=1 << GRID, multipliers=tuple((s, x) for s, x in whole if x))


def _basis_of(replay: LeafValueReplay, columns: Ints) -> Basis | None:
    """Return sources that determine some columns, all others without rows, by elimination; None where they do not.

    Nor where the matrix is too large. Cost: sources times columns squared.
    """
    from scipy.linalg import lu, lu_factor

    facts, figures = replay.facts, replay.figures
    cut = set(replay.cutter.blocks[: replay.cells.regions.shape[1]])
    stated = [s for s in range(len(facts)) if s == facts.rows or facts.block_of(s) in cut]
    sources = [*stated, *(len(facts) + i for i in range(int(figures.first[replay.cells.trees])))]
    if not len(columns) <= len(sources) <= MAX_MATRIX_NUMBERS // max(1, len(columns)):
        return None
    if not replay.limits.fits(MATRIX_BYTES * len(sources) * (len(columns) + 1)):
        return None
    place_of = np.full(len(replay.upper), len(columns))  # the last column of the matrix takes what is not asked for
    place_of[columns] = np.arange(len(columns))
    matrix = np.zeros((len(sources), len(columns) + 1))
    for i, s in enumerate(sources):
        row = replay.row(s)
        matrix[i, place_of[row.columns]] = (row.low + row.high).astype(np.float64) / 2.0**UNITS
        replay.limits.check("a basis is looked for")
    matrix = np.ascontiguousarray(matrix[:, :-1])
    place, _, upper = lu(matrix, p_indices=True)
    diagonal = np.abs(np.diag(upper))
    if not diagonal.min() > SINGULAR * diagonal.max():
        return None
    chosen = np.flatnonzero(place < len(columns))
    places = {c: j for j, c in enumerate(columns.tolist())}
    return Basis([sources[i] for i in chosen.tolist()], columns, places, matrix[chosen], lu_factor(matrix[chosen]))


LOOSE = (
    0.3  # of what a sum leaves between what it shows and what is claimed: given up for bounds that it need not rest on
)
TINY = 1e-9  # rows: where a sum has no room
AHEAD = 64  # sums worked out together


@dataclass(frozen=True, eq=False)
class CuttingStage:
    """What stood before the cells were cut: at step `at`."""

    at: int
    cells: LeafCells
    ancestor: list[Ints]
    now: ColumnBounds
    cheap: ColumnBounds
    dropped: Ints
    first: int  # number of the first fact that the cut made


class TracedReplay(LeafValueReplay):
    """A replay that believes every step, and notes what each bound rests on.

    `cheap` are the bounds by short sums alone, before any long one was used.
    """

    def __init__(self, facts: NumberedStatements, model: int, steps: Steps, limits: Limits) -> None:
        super().__init__(facts, model, limits)
        self.steps = steps
        none = np.full(len(self.upper), -1, dtype=np.int64)
        self.now = ColumnBounds(self.lower, self.upper, none, none.copy())
        self.cheap, self.short = self.now.copy(), True
        self.stages: list[CuttingStage] = []
        self.origin: list[tuple[int, int]] = []  # per fact: the step that made it, and the column it is about
        self.changes: list[tuple[int, int, int, int, int, int]] = []
        self._rows: dict[int, SourceWeights] = {}
        self._sizes: dict[int, float] = {}
        self._basis: list[Basis | None] = []
        for i, step in enumerate(limits.paced(_outlines(steps), "steps are gone through")):
            if isinstance(step, Refined):
                self.cut(step, i)
            else:
                self.believe(*step, i)

    def row(self, s: int) -> SourceWeights:
        """Return the coefficients of a source over the present columns, remembered."""
        if s not in self._rows:
            self._rows[s] = super().row(s)
        return self._rows[s]

    def cut(self, step: Refined, i: int) -> None:
        """Cut the cells, and note what stood before."""
        alive = self.alive
        old, columns = np.flatnonzero(alive), np.arange(len(self.upper), dtype=np.int64).reshape(-1, self.labels)
        first = len(self.known)
        self.stages.append(
            CuttingStage(i, self.cells, self.ancestor, self.now, self.cheap, columns[~alive].reshape(-1), first)
        )
        self.refine(step, i)
        parent = self.cells.parent
        came = columns[old[parent]].reshape(-1)
        alone = np.repeat((np.bincount(parent, minlength=len(old)) == 1)[parent], self.labels)
        self.origin += [(i, j) for j in columns[alive].reshape(-1).tolist()]
        self.now, self.cheap, self.short = self.now.parts(came, alone), self.cheap.parts(came, alone), True
        self.lower, self.upper = self.now.lower, self.now.upper
        self._rows, self._sizes, self._basis = {}, {}, []

    def believe(self, form: Form, multipliers: int, i: int) -> None:
        """Take over what a form with so many multipliers says."""
        columns = np.array([c for c, _ in form.terms], dtype=np.int64)
        terms = np.array([a for _, a in form.terms], dtype=object)
        self.known.append(ProvedSum(len(self.ancestor) - 1, columns, terms, form.low, form.high))
        self.origin.append((i, -1))
        self.short &= multipliers <= FEW_MULTIPLIERS
        if len(form.terms) > 1 or form.terms[0][1] != 1:
            return
        j, now = form.terms[0][0], self.now
        self.changes.append((i, j, int(now.lower[j]), int(now.upper[j]), int(now.by_lower[j]), int(now.by_upper[j])))
        for bounds in (now, self.cheap) if self.short else (now,):
            if form.low > bounds.lower[j]:
                bounds.lower[j], bounds.by_lower[j] = form.low, i
            if form.high < bounds.upper[j]:
                bounds.upper[j], bounds.by_upper[j] = form.high, i

    @property
    def start(self) -> ColumnBounds:
        """Return the bounds that columns have without any step."""
        none = np.full(len(self.upper), -1, dtype=np.int64)
        labels = [not self.boosted.labels or k in self.boosted.labels for k in range(self.labels)]
        top = np.where(np.tile(labels, len(self.cells)), self.maximum, 0)
        return ColumnBounds(np.zeros_like(top), top, none, none)

    @property
    def basis(self) -> Basis | None:
        """Return sources that determine every column by themselves, worked out once per stage; None where none do."""
        if not self._basis:
            self._basis = [_basis_of(self, np.flatnonzero(self.start.upper > 0))]
        return self._basis[0]

    def size(self, s: int) -> float:
        """Return how much a source can add up to whatever is known of columns, in units of 1."""
        if s not in self._sizes:
            row, ends = self.row(s), self.ends(s)
            most = np.array([float(max(abs(a), abs(b))) for a, b in zip(row.low, row.high, strict=True)])
            total = float(most.sum()) * self.maximum / 2.0**BITS
            self._sizes[s] = total + float(max(abs(ends[0]), abs(ends[1]))) / 2.0**UNITS
        return self._sizes[s]

    # ------------------------------------------------------------ what claims rest on

    def behind(self, claim: AnyClaim) -> set[int] | None:
        """Return the steps behind bounds that settle a claim by themselves; None where they do not."""
        now = self.now
        if isinstance(claim, AtMost):
            met = self.touching(claim.box)
            if int(now.upper[met].sum()) <= claim.rows:
                return now.behind(met, low=False)
        if isinstance(claim, AtLeast):
            chosen = self.enough(claim)
            if int(now.lower[chosen].sum()) >= claim.rows:
                return now.behind(chosen, high=False)
        return self.behind_totals(claim)

    def behind_totals(self, claim: AnyClaim) -> set[int] | None:
        """Return the steps behind bounds on the rows of cells, whatever their label, that settle a claim, or None."""
        cells = self.whole_cells(claim)
        if cells is None:
            return None
        side = 0 if isinstance(claim, AtLeast) else 1
        facts = self.totals()[2 + side][cells]
        columns = (cells[facts < 0][:, None] * self.labels + np.arange(self.labels)).reshape(-1)
        return {self.origin[f][0] for f in facts[facts >= 0].tolist()} | self.now.behind(columns, side == 0, side == 1)

    def whole_cells(self, claim: AnyClaim) -> Ints | None:
        """Return the cells whose bounds on rows, whatever their label, settle a claim; None where these do not."""
        least, most, _, _ = self.totals()
        if isinstance(claim, AtMost):
            cells = np.flatnonzero(self.touching(claim.box).reshape(-1, self.labels).any(axis=1))
            return cells if int(most[cells].sum()) <= claim.rows else None
        if isinstance(claim, AtLeast):
            cells = np.flatnonzero(self.within(claim.box).reshape(-1, self.labels).all(axis=1))
            return cells if int(least[cells].sum()) >= claim.rows else None
        return None

    def behind_all(self) -> set[int]:
        """Return the steps behind all that is left after the last one: bounds per label, and on rows."""
        every = self.now.behind(np.arange(len(self.lower)))
        facts = {f for by in self.totals()[2:] for f in by.tolist()} - {-1}
        return every | {self.origin[f][0] for f in facts}

    def enough(self, claim: AtLeast) -> Ints:
        """Return columns inside the box that hold enough rows, as few as will do; all where they do not."""
        lower = self.now.lower
        inside = np.flatnonzero(self.within(claim.box) & (lower > 0))
        inside = inside[np.argsort(-lower[inside], kind="stable")]
        return inside[: int(np.searchsorted(np.cumsum(lower[inside]), claim.rows)) + 1]

    def touching(self, box: Box) -> Bits:
        """Return the columns that share a possible row with a box."""
        pieces, labels = self.split(box)
        met = np.ones(len(self.cells.words), dtype=bool)
        for span, mask in pieces:
            met &= (self.cells.words[:, span] & mask).any(axis=1)
        cells = np.zeros(len(self.cells), dtype=bool)
        cells[self.cells.of[met]] = True
        return np.asarray((cells[:, None] & labels).reshape(-1))

    def within(self, box: Box) -> Bits:
        """Return the columns all of whose rows lie in a box."""
        pieces, labels = self.split(box)
        beyond = np.zeros(len(self.cells.words), dtype=bool)
        for span, mask in pieces:
            beyond |= (self.cells.words[:, span] & ~mask).any(axis=1)
        cells = np.ones(len(self.cells), dtype=bool)
        cells[self.cells.of[beyond]] = False
        return np.asarray((cells[:, None] & labels).reshape(-1))

    def split(self, box: Box) -> tuple[list[tuple[slice, NDArray[np.uint64]]], Bits]:
        """Return what a box allows of the attributes, and which labels."""
        layout, label = self.cutter.layout, self.facts.release.domain.label
        labels = np.ones(self.labels, dtype=bool)
        out = []
        for k, mask in box.literals:
            if k == label:
                labels &= np.array([bool(mask >> i & 1) for i in range(self.labels)])
            else:
                span = layout.span(k)
                out.append((span, padded(mask, span.stop - span.start)))
        return out, labels


class StepWalk:
    """The way back: which steps are needed, and what is kept of each."""

    def __init__(self, traced: TracedReplay) -> None:
        self.traced, self.limits = traced, traced.limits
        self.kept: dict[int, Refined | Form] = {}
        self.needed: set[int] = set()
        self.facts: dict[int, set[int]] = {}
        self._sums: dict[int, tuple[Any, Any]] = {}
        self._direct: dict[int, Form | None] = {}
        self._made: dict[int, Form] = {}
        self.first_fact = len(traced.facts) + len(traced.figures)  # the number that the first fact has as a source

    def back(self, needed: Iterable[int]) -> tuple[Refined | Form, ...]:
        """Return the steps that the needed ones rest on and these, renumbered. The traced steps are used up."""
        traced = self.traced
        self.needed = set(needed)
        for i in range(len(traced.steps) - 1, -1, -1):
            if i % AHEAD == 0:
                self.limits.check("steps are left out")
            if traced.stages and traced.stages[-1].at == i:
                self.uncut(i)
                continue
            if traced.changes and traced.changes[-1][0] == i:
                _, j, *before = traced.changes.pop()
                now = traced.now
                now.lower[j], now.upper[j], now.by_lower[j], now.by_upper[j] = before
            if i in self.needed:
                self.kept[i] = self.form(i)
        return self.renumbered()

    def uncut(self, i: int) -> None:
        """Go back before the cells were cut: what dropped cells and facts rest on is needed."""
        traced = self.traced
        stage = traced.stages.pop()
        self.kept[i] = traced.steps[i]
        traced.cells, traced.ancestor, traced.now, traced.cheap = stage.cells, stage.ancestor, stage.now, stage.cheap
        traced.lower, traced.upper = stage.now.lower, stage.now.upper
        traced._rows, traced._sizes, traced._basis = {}, {}, []
        self._sums, self._direct = {}, {}
        traced.figures.over(traced.cells)
        self.needed |= stage.now.behind(stage.dropped, low=False)
        self.needed |= stage.now.behind(np.array(sorted(self.facts.pop(i, set())), dtype=np.int64))

    def form(self, i: int) -> Form:
        """Return what is kept of a form, with as few digits as will do; what it rests on is needed."""
        traced = self.traced
        form = self.step(i)
        self._made.pop(i)
        if len(form.multipliers) > FEW_MULTIPLIERS:
            if i not in self._direct:
                self.directly(i)
            if (found := self._direct.pop(i)) is not None:
                return found
        if i not in self._sums:
            self.look_ahead(i)
        least, most = traced.rest(form, *self._sums.pop(i))
        lower, upper, slack = self.relaxed(form, most, least)
        for s, _ in form.multipliers:
            if s >= self.first_fact:
                at, column = traced.origin[s - self.first_fact]
                self.needed |= {at} if column < 0 else set()
                if column >= 0:
                    self.facts.setdefault(at, set()).add(column)
        if len(form.terms) == 1:  # an end that moves no bound is not claimed
            j = form.terms[0][0]
            low = form.low if form.low > traced.now.lower[j] else int(lower[j])
            form = replace(form, low=low, high=form.high if form.high < traced.now.upper[j] else int(upper[j]))
        return _shorter(form, slack, sum(map(traced.size, (s for s, _ in form.multipliers))))

    def step(self, i: int) -> Form:
        """Return form i, made once while it is worked with."""
        if i not in self._made:
            found = self.traced.steps[i]
            assert isinstance(found, Form)
            self._made[i] = found
        return self._made[i]

    def ahead(self, i: int, done: Mapping[int, Any]) -> list[int]:
        """Return this form and some of those needed before it in the same stage."""
        start = self.traced.stages[-1].at if self.traced.stages else -1
        return [n for n in sorted(self.needed, reverse=True) if start < n <= i and n not in done][:AHEAD]

    def directly(self, i: int) -> None:
        """Try to show this form, and some needed before it, from sources alone, whatever is known of columns."""
        traced, some, made = self.traced, self.ahead(i, self._direct), dict[int, Form]()
        self._direct |= dict.fromkeys(some)
        if traced.basis is None:
            return
        for n in some:
            form = self.step(n)
            if len(form.multipliers) > FEW_MULTIPLIERS:
                made[n] = traced.basis.form(form)
        if not made:
            return
        middle, radius = traced.combined(list(made.values()))
        saved, start = (traced.lower, traced.upper), traced.start
        traced.lower, traced.upper = start.lower, start.upper
        for k, (n, form) in enumerate(made.items()):
            bottom, top = traced.reach(form, *traced.rest(form, middle[k], radius[k]))
            unit = form.over << UNITS
            slack = min((form.high + 1) * unit - top, bottom - (form.low - 1) * unit) / unit
            if slack > TINY:
                self._direct[n] = _shorter(form, slack, sum(map(traced.size, (s for s, _ in form.multipliers))))
        traced.lower, traced.upper = saved

    def look_ahead(self, i: int) -> None:
        """Work out the sums of this form and of those needed before it in the same stage."""
        some = self.ahead(i, self._sums)
        middle, radius = self.traced.combined([self.step(n) for n in some])
        self._sums |= {n: (middle[k], radius[k]) for k, n in enumerate(some)}

    def relaxed(self, form: Form, most: Any, least: Any) -> tuple[Ints, Ints, float]:
        """Return bounds that the form needs to be shown, the steps behind them added, and what is left over.

        Every column has its start, its cheap or its present bounds: the least that leaves the form within its ends.
        """
        traced, unit = self.traced, float(form.over) * 2.0**UNITS
        now, cheap = traced.now, traced.cheap
        columns = [c for c, _ in form.terms]
        up, down = (np.array([float(x) for x in ends.tolist()]) / unit for ends in (most, least))
        room = self.room(form, most, least)
        free = np.array([x in self.needed or x < 0 for x in now.by_upper.tolist()])
        free &= np.array([x in self.needed or x < 0 for x in now.by_lower.tolist()])
        top = traced.start.upper
        lower, upper = np.where(free, now.lower, 0), np.where(free, now.upper, top)
        if len(columns) > 1:  # ends of sums may be what the bounds say: they stay
            free[columns] = True
            lower[columns], upper[columns] = now.lower[columns], now.upper[columns]
            self.needed |= now.behind(np.array(columns))
        for better, share in ((cheap, LOOSE / 2), (now, LOOSE)):
            price = _cost(up, down, (lower, upper), (now.lower, now.upper), room)
            order = np.argsort(price)
            tight = order[np.cumsum(price[order]) > share]
            lower[tight], upper[tight] = better.lower[tight], better.upper[tight]
        self.needed |= cheap.behind(
            np.flatnonzero((lower == cheap.lower) & (upper == cheap.upper) & ~free & ((lower > 0) | (upper < top)))
        )
        exact = ~free & ((lower != cheap.lower) | (upper != cheap.upper)) & ((lower > 0) | (upper < top))
        self.needed |= now.behind(np.flatnonzero(exact))
        used = float(_cost(up, down, (lower, upper), (now.lower, now.upper), room).sum())
        return lower, upper, max(0.0, 1.0 - used) * min(room)

    def room(self, form: Form, most: Any, least: Any) -> tuple[float, float]:
        """Return by how many rows a sum may grow on each side before it says less; infinite where it moves none."""
        traced, now = self.traced, self.traced.now
        unit = form.over << UNITS
        bottom, top = traced.reach(form, least, most)
        above, below = ((form.high + 1) * unit - top) / unit, (bottom - (form.low - 1) * unit) / unit
        if len(form.terms) == 1:
            j = form.terms[0][0]
            above = math.inf if form.high >= now.upper[j] else above
            below = math.inf if form.low <= now.lower[j] else below
        return max(above, TINY), max(below, TINY)

    def renumbered(self) -> tuple[Refined | Form, ...]:
        """Return the kept steps in order, facts by their new numbers."""
        made: dict[int, list[int]] = {}
        for number, (i, _) in enumerate(self.traced.origin):
            made.setdefault(i, []).append(number)
        new, out = dict[int, int](), list[Refined | Form]()
        for i in sorted(self.kept):
            step = self.kept[i]
            if isinstance(step, Form):
                pairs = (
                    (s if s < self.first_fact else new[s - self.first_fact] + self.first_fact, y)
                    for s, y in step.multipliers
                )
                step = replace(step, multipliers=tuple(pairs))
            out.append(step)
            for number in made[i]:
                new[number] = len(new)
        return tuple(out)
