"""Pricing: the possible row that a set of multipliers values most, with a proved bound on every other row.

The rows that statements tell apart are far too many to write down, but one row is a small problem: one part per
attribute, one region per partition. A vectorised Gibbs search over the parts finds good rows; CP-SAT over the boxes
(`solvers.programs.columns.pricing`) finds the best and proves that it is.

Source: column generation, Gilmore and Gomory, "A linear programming approach to the cutting-stock problem", Operations
Research 9, 1961; the one-row problem over trees: Mišić, "Optimization of tree ensembles", Operations Research 68, 2020.

One possible row as a CP-SAT model over the boxes of a release: the best row for given multipliers, and the proof.

Source: the one-row problem over trees: Mišić, "Optimization of tree ensembles", Operations Research 68, 2020; CP-SAT
(Google OR-Tools).

Which statements count a row: the incidence of rows and statements, for pricing.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from solvers.cells.cutting import WordLayout
from solvers.foundation.array_types import Floats, Ints
from solvers.foundation.errors import EngineError, Inconclusive, TooLarge, Unsupported
from solvers.foundation.limits import Limits
from solvers.foundation.native import one_thread
from solvers.programs.cpsat import refuse, rounded_bound, run
from solvers.programs.row_model import RowLiterals
from solvers.statements.boxes import Box, Boxes
from solvers.statements.observations import StatementIndex
from solvers.statements.release import ANY_LABEL, UNBOUNDED, Partition, Release, Statement

LARGEST = 1 << 20  # statements with larger coefficients are left out, which only loosens
EVERYWHERE, UNLIMITED = Box(), Limits()
HELD_BYTES = 3  # per part and box
GIBBS_BYTES, INSIDE_BYTES = 16, 4  # per row and box


@dataclass(frozen=True, eq=False)
class Priceable:
    """A statement outside partitions, with its number and, per summand, the boxes of its region among all boxes."""

    statement: Statement
    number: int
    box: tuple[int, ...]
    minus: tuple[tuple[int, ...], ...]


class Incidence:
    """Which statements count a row, and how often; statements are numbered by `solvers.statements.observations`.

    Rows are (m, attributes), the part of every attribute.
    Statements of alternatives and those with very large coefficients count no row: leaving them out only loosens.
    """

    def __init__(self, release: Release, limits: Limits = UNLIMITED) -> None:
        """Give statements their numbers; raises `TooLarge` where what the boxes hold does not fit into the memory."""
        self.release, self.layout, self.memory = release, WordLayout(release.domain), limits.room
        self.partitions: list[tuple[Partition, int, int]] = []  # block, first box, first statement
        self.loose: list[Priceable] = []
        tables: list[Boxes] = []
        self.index, boxes = StatementIndex(release), 0
        for b, partition in release.partitions.items():
            self.partitions.append((partition, boxes, self.index.first[b]))
            tables.append(partition.boxes)
            boxes += len(partition.boxes)
        for b, block in release.loose.items():
            for number, s in enumerate(block, start=self.index.first[b]):
                if s.largest <= LARGEST:
                    first = [boxes, *(boxes + n for n in accumulate(len(one.boxes) for one in s.summands))]
                    minus = tuple(tuple(range(a + 1, b)) for a, b in pairwise(first))
                    self.loose.append(Priceable(s, number, tuple(first[:-1]), minus))
                    tables.append(Boxes.of(s.boxes))
                    boxes = first[-1]
        self.impossible = range(boxes, boxes + len(release.impossible))
        self.boxes, self.total = boxes + len(release.impossible), self.index.rows
        parts = sum(len(a.sizes) for a in release.domain.attributes)
        if self.boxes * parts * HELD_BYTES > limits.room:
            raise TooLarge(f"{self.boxes:,} boxes over {parts:,} parts do not fit into the memory (--memory)")
        words = [self.layout.rows(t) for t in (*tables, Boxes.of(release.impossible))]
        every = range(len(release.domain.attributes))
        spans = [np.concatenate([self.layout.parts(w, k) for w in words]) for k in every]
        self.held = {k: held.T.copy() for k, held in enumerate(spans) if not held.all()}  # k -> (parts, boxes)
        self.tables = [first + p.by_label(release.domain.labels) for p, _, first in self.partitions]

    @cached_property
    def bounds(self) -> tuple[list[int | None], list[int | None]]:
        """Return the least and greatest sum of every statement, None where there is none."""
        counted = self.index.partitioned.copy()
        counted[[self.total, *(x.number for x in self.loose)]] = True
        none = (-UNBOUNDED, UNBOUNDED)
        low, high = (
            [None if x in none or not c else x for x, c in zip(ends.tolist(), counted.tolist(), strict=True)]
            for ends in (self.index.low, self.index.high)
        )
        return low, high

    @cached_property
    def empty(self) -> NDArray[np.bool_]:
        """Return which statements leave no room for any row that they count."""
        out = np.array([h is not None and h <= 0 for h in self.bounds[1]])
        for x in self.loose:
            out[x.number] &= x.statement.nonnegative
        out[self.total] = False
        return out

    @cached_property
    def labelled(self) -> bool:
        """Return whether some partition counts per class."""
        return any(bool((p.label != ANY_LABEL).any()) for p, _, _ in self.partitions)

    def labels(self, rows: Ints) -> Ints:
        """Return the label of every row (0: it does not matter)."""
        k = self.release.domain.label
        return rows[:, k] if k is not None and self.labelled else np.zeros(len(rows), dtype=np.int64)

    def inside(self, rows: Ints) -> NDArray[np.bool_]:
        """Return (rows, boxes): which boxes hold each row."""
        out = np.ones((len(rows), self.boxes), dtype=bool)
        for k, held in self.held.items():
            out &= held[rows[:, k]]
        return out

    def chunks(self, rows: Ints, size: int) -> list[Ints]:
        """Return the rows in chunks of which every row may take `size` bytes per box."""
        step = max(1, self.memory // max(1, size * self.boxes))
        return [rows[i : i + step] for i in range(0, len(rows), step)]

    def columns(self, rows: Ints) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """Return (statements, coefs, possible), the first two (rows, counted) with coefs 0 where none counts."""
        if len(some := self.chunks(rows, INSIDE_BYTES)) > 1:
            parts = list(zip(*map(self.columns, some), strict=True))
            return np.concatenate(parts[0]), np.concatenate(parts[1]), np.concatenate(parts[2])
        held, labels = self.inside(rows), self.labels(rows)
        possible = ~held[:, list(self.impossible)].any(axis=1)
        statements, coefs = [], []
        for (block, first, _), table in zip(self.partitions, self.tables, strict=True):
            region = np.argmax(held[:, first : first + len(block.boxes)], axis=1)
            statements.append(table[region, labels])
            coefs.append(np.ones(len(rows), dtype=np.int64))
        for x in self.loose:
            total = np.zeros(len(rows), dtype=np.int64)
            for one, box, minus in zip(x.statement.summands, x.box, x.minus, strict=True):
                total += (held[:, box] & ~held[:, list(minus)].any(axis=1)) * one.weight(rows)
            statements.append(np.full(len(rows), x.number, dtype=np.int64))
            coefs.append(total)
        statements.append(np.full(len(rows), self.total, dtype=np.int64))
        coefs.append(np.ones(len(rows), dtype=np.int64))
        found, times = np.stack(statements, axis=1), np.stack(coefs, axis=1)
        possible &= ~(self.empty[found] & (times > 0)).any(axis=1)
        return found, times, possible


MAX_WEIGHT = 1 << 58  # what all multipliers together may weigh of one row


class OneRow(RowLiterals):
    """One possible row as a CP-SAT model: an integer per attribute, a Boolean per region; the label may be given."""

    def __init__(self, incidence: Incidence, label: int, limits: Limits) -> None:
        """Make the model; raises `Inconclusive` when time is up."""
        from ortools.sat.python import cp_model

        domain = incidence.release.domain
        super().__init__(cp_model.CpModel(), domain, range(len(domain.attributes)))
        self.incidence, self.label = incidence, max(0, label)
        if label != ANY_LABEL and domain.label is not None:
            self.model.add(self.parts[domain.label] == label)
        self.terms: list[list[tuple[int, int, Any]]] = []  # groups of which one counts: (statement, coef, literal)
        for box in incidence.release.impossible:
            self.model.add_bool_or([~x for x in self.halves(box)])
        for (block, _, _), table in zip(incidence.partitions, incidence.tables, strict=True):
            if limits.expired():
                raise Inconclusive("the time was up while the model of one row was made")
            self.terms.append(self._ordered(block, table) if block.first_match else self._covering(block, table))
        for loose in incidence.loose:
            self.terms.append(self._loose(loose))

    def _covering(self, block: Partition, table: Ints) -> list[tuple[int, int, Any]]:
        """Add disjoint boxes: exactly one holds the row; those that share a side exclude what is beyond it together."""
        out, sides = list[tuple[int, int, Any]](), dict[int, tuple[Any, list[Any]]]()
        for box, s in zip(block.boxes, table[:, self.label].tolist(), strict=True):
            if self.incidence.empty[s] or box.empty:
                continue
            leaf = self.model.new_bool_var("")
            out.append((s, 1, leaf))
            for literal in self.halves(box):
                sides.setdefault(literal.index, (literal, []))[1].append(leaf)
        self.model.add_exactly_one([leaf for _, _, leaf in out])
        for literal, leaves in sides.values():
            self.model.add_at_most_one([~literal, *leaves])
        return out

    def _ordered(self, block: Partition, table: Ints) -> list[tuple[int, int, Any]]:
        """Add a rule list: the first box that holds the row."""
        out, free = list[tuple[int, int, Any]](), self.model.new_constant(1)
        for box, s in zip(block.boxes, table[:, self.label].tolist(), strict=True):
            hit = self.every([free, *self.halves(box)])
            if self.incidence.empty[s]:
                self.model.add_bool_or([~hit])
            out.append((s, 1, hit))
            free = self.every([free, ~hit])
        self.model.add_bool_or([~free])
        return out

    def _loose(self, x: Priceable) -> list[tuple[int, int, Any]]:
        """Add a statement of its own, by regions of rows that add alike."""
        out = []
        for c, region in (pair for one in x.statement.summands for pair in one.counted()):
            counted = self.every([*self.halves(region.box), *(~self.every(self.halves(b)) for b in region.minus)])
            if self.incidence.empty[x.number]:
                self.model.add_bool_or([~counted])
            out.append((x.number, c, counted))
        return out

    def best(
        self, weights: Ints, box: Box | None, inside: bool, minimum: int | None, limits: Limits
    ) -> tuple[Ints | None, int]:
        """Return the row inside (outside) the box of greatest -Σ weights a(row) and a proved bound on that worth.

        With `minimum`, only rows worth at least so much are looked for; `minimum` - 1 as bound says that there is none.
        """
        from ortools.sat.python import cp_model

        base, partitions = -int(weights[self.incidence.total]), len(self.incidence.partitions)
        priced = [[(-int(weights[s]) * c, x) for s, c, x in group] for group in self.terms]
        bound = base + sum(max([w for w, _ in g], default=0) for g in priced[:partitions])
        bound += sum(max(0, w) for g in priced[partitions:] for w, _ in g)
        if minimum is not None and bound < minimum:
            return None, minimum - 1
        literals = [] if box is None else self.halves(box)  # made before the model is copied
        model = self.model.clone()
        if box is not None and inside:
            model.add_bool_and(literals)
        elif box is not None:
            model.add_bool_or([~x for x in literals])
        flat = [(w, x) for g in priced for w, x in g if w]
        worth = cp_model.LinearExpr.weighted_sum([x for _, x in flat], [w for w, _ in flat]) + base
        if minimum is not None:
            model.add(worth >= minimum)
        model.maximize(worth)
        seen: list[float] = []  # an UNKNOWN status comes with a bound of 0, which means nothing
        options: dict[str, Any] = {"stop_after_first_solution": minimum is not None, "best_bound_callback": seen.append}
        status, solver = run(model, limits, **options)
        refuse(model, status)
        if status == cp_model.INFEASIBLE:
            return None, -MAX_WEIGHT if minimum is None else minimum - 1
        bound = min([bound, *(rounded_bound(b, True) for b in seen)])
        if status == cp_model.UNKNOWN:
            return None, bound if minimum is None else max(bound, minimum - 1)
        row = np.array([solver.value(x) for x in self.parts.values()], dtype=np.int64)
        return row, min(bound, rounded_bound(solver.best_objective_bound, True))


HEATS = (0.3, 0.1, 0.03, 0.003)  # temperatures of the sweeps, in units of the largest multiplier


@dataclass(frozen=True, eq=False)
class Priced:
    """The best row found (None: none), what it is worth, and a proved bound on the worth of every possible row."""

    row: Ints | None
    value: int
    bound: int


def rows_within(rows: Ints, box: Box) -> NDArray[np.bool_]:
    """Return which rows a box holds."""
    out = np.ones(len(rows), dtype=bool)
    for k, mask in box.literals:
        allowed = np.array([bool(mask >> p & 1) for p in range(int(rows[:, k].max(initial=0)) + 1)])
        out &= allowed[rows[:, k]]
    return out


class Pricer:
    """Finds rows of great value: bonus [row in box] - Σ_j weights_j (how often statement j counts the row)."""

    def __init__(self, release: Release, limits: Limits = UNLIMITED) -> None:
        self.incidence = Incidence(release, limits)
        self.random = np.random.default_rng(0)
        self._models: dict[int, OneRow] = {}

    def copied(self) -> Pricer:
        """Return one that draws as this one would, and shares nothing with it that changes."""
        other = copy.copy(self)
        other.random, other._models = copy.deepcopy(self.random), {}
        return other

    def worth(self, rows: Ints, weights: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Return -Σ_j weights_j a_j(row), exactly, and which rows are possible."""
        statements, coefs, possible = self.incidence.columns(rows)
        return -(weights[statements] * coefs).sum(axis=1), possible

    def fits(self, weights: Ints) -> bool:
        """Return whether sums with these multipliers stay exact in 64 bits."""
        x = self.incidence
        maximum = sum(int(np.abs(weights[f : f + len(p)]).max(initial=0)) for p, _, f in x.partitions)
        maximum += sum(abs(int(weights[y.number])) * y.statement.largest for y in x.loose)
        return maximum + abs(int(weights[x.total])) < MAX_WEIGHT

    def best(self, weights: Ints, bonus: int, box: Box, above: int | None, limits: Limits) -> Priced:
        """Return the best row by CP-SAT and a proved bound on the worth of every possible row.

        With `above`, the first row found to be worth more will do (the bound then may be as weak as 2^58), and a bound
        equal to it says that there is none. Raises `Unsupported` where sums may exceed 64 bits.
        """
        if not self.fits(weights) or abs(bonus) >= MAX_WEIGHT:
            raise Unsupported("multipliers of one row may exceed 2^58")
        sides: list[tuple[Box | None, bool, int]] = [(None, True, 0)]
        if bonus > 0:  # a row in the box has it; to ask for rows outside it as well would bind more than it helps
            sides = [(box, True, bonus), (None, True, 0)]
        elif bonus:
            sides = [(box, False, 0), (box, True, bonus)]
        k, found = self.incidence.release.domain.label, list[Priced]()
        labels = [ANY_LABEL]
        if k is not None and self.incidence.labelled:
            labels = list(range(len(self.incidence.release.domain.attributes[k].sizes)))
        for label, (where, inside, extra) in product(labels, sides):
            if label not in self._models:
                self._models[label] = OneRow(self.incidence, label, limits)
            minimum = None if above is None else above + 1 - extra
            row, bound = self._models[label].best(weights, where, inside, minimum, limits)
            found.append(Priced(row, self._checked(row, weights) + extra, bound + extra))
            if above is not None and row is not None:
                return Priced(row, found[-1].value, MAX_WEIGHT)
        top = max((f for f in found if f.row is not None), key=lambda f: f.value, default=Priced(None, 0, 0))
        return Priced(top.row, top.value, max(f.bound for f in found))

    def _checked(self, row: Ints | None, weights: Ints) -> int:
        """Return what a row that CP-SAT gave is worth, exactly, after making sure that it is possible."""
        if row is None:
            return 0
        value, possible = self.worth(row[None], weights)
        if not possible[0]:
            raise EngineError("CP-SAT gave a row that a statement excludes")
        return int(value[0])

    def improve(
        self, rows: Ints, weights: Ints, penalty: int, box: Box, kept: Box = EVERYWHERE, limits: Limits = UNLIMITED
    ) -> Ints:
        """Return rows near the given ones that are worth more, not all possible: Gibbs search, attribute by attribute.

        A penalty applies to rows inside the box, and stay in `kept` if they are there. Only for disjoint boxes (trees)
        and counts of boxes, where the worth adds up; else the rows as they are. Ends early, no worse, when time is up.
        """
        if len(some := self.incidence.chunks(rows, GIBBS_BYTES)) > 1:
            return np.concatenate([self.improve(part, weights, penalty, box, kept, limits) for part in some])
        terms = self._terms(weights, -penalty, box)
        if terms is None or not len(rows):
            return rows
        held, worth = terms
        rows, labels = rows.copy(), self.incidence.labels(rows)
        scale = float(np.abs(weights[:-1]).max(initial=1)) + penalty
        value = (worth / scale).astype(np.float32)[:, labels]  # (boxes, rows), which makes rows of memory to gather
        fixed = self.incidence.release.domain.label if self.incidence.labelled else None
        at = {k: np.flatnonzero(~h.all(axis=0)) for k, h in held.items()}  # the boxes that name attribute k
        out = {k: (~h[:, at[k]]).T.astype(np.int16) for k, h in held.items()}  # (at, parts): which parts they exclude
        gain = {k: h[:, at[k]].astype(np.float32) for k, h in held.items()}
        wrong = np.zeros(value.shape, dtype=np.int16)  # how many attributes keep each row out of each box
        for k in held:
            wrong[at[k]] += out[k][:, rows[:, k]]
        barred = {k: [p for p in range(len(held[k])) if not m >> p & 1] for k, m in kept.literals if k in held}
        order = [
            (temperature, k)
            for temperature in HEATS
            for k in self.random.permutation([k for k in held if k != fixed]).tolist()
        ]
        with one_thread():
            for temperature, k in order:
                if limits.expired():
                    break
                others = wrong[at[k]] - out[k][:, rows[:, k]]
                score = gain[k] @ np.where(others == 0, value[at[k]], np.float32(0))
                noise = self.random.random(score.shape, dtype=np.float32) + np.float32(1e-9)
                score -= np.log(-np.log(noise)) * np.float32(temperature)
                score[barred.get(k, [])] = -np.inf
                rows[:, k] = np.argmax(score, axis=0)
                wrong[at[k]] = others + out[k][:, rows[:, k]]
        return rows

    def _terms(self, weights: Ints, bonus: int, box: Box) -> tuple[dict[int, NDArray[np.bool_]], Floats] | None:
        """Return (attribute -> (parts, boxes), worth (boxes, labels)) where worth adds up over boxes, else None."""
        x = self.incidence
        ordered = any(p.first_match for p, _, _ in x.partitions)
        if ordered or any(any(y.minus) or y.statement.region is None for y in x.loose):
            return None
        worth = np.zeros((x.boxes + 1, x.release.domain.labels))
        bar = 4.0 * (float(np.abs(weights[:-1]).max(initial=1)) + abs(bonus))  # what an impossible row loses
        for (block, first, _), table in zip(x.partitions, x.tables, strict=True):
            worth[first : first + len(block.boxes)] = np.where(x.empty[table], -bar, -weights[table])
        for y in x.loose:
            worth[y.box[0]] = -bar if x.empty[y.number] else -weights[y.number]
        worth[list(x.impossible)] = -bar
        worth[x.boxes] = bonus
        held = {k: np.concatenate([h, np.ones((len(h), 1), dtype=bool)], axis=1) for k, h in x.held.items()}
        for k, mask in box.literals if bonus else ():
            sizes = x.release.domain.attributes[k].sizes
            base = held.get(k, np.ones((len(sizes), x.boxes + 1), dtype=bool))
            base[:, x.boxes] = [bool(mask >> p & 1) for p in range(len(sizes))]
            held[k] = base
        return held, worth
